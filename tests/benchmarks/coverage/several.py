"""More than two classes in clusters, and with sampling weights: what `clfeval report` prints of it.

Of three classes (.6, .3 and .1 of the rows) and of ten alike, a model has a score for each, normal,
higher by `APART` for the true one; its log odds are 1.25 times as far apart as they should be. By
clusters of ten rows classes are alike by an ICC of .3, scores by .5. Weights are those of `weights`,
the last class for the positive one. The truth is that of a million rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from clfeval.counts.classes import ClassPatterns, ClassScores
from clfeval.methods.measured.asked import Asked
from clfeval.methods.report.asked_classes import asked_of_classes
from clfeval.methods.report.classes import label_rows, probability_rows
from clfeval.methods.report.options import ReportOptions
from clfeval.result import estimate
from tests.benchmarks.coverage import Line
from tests.benchmarks.coverage.probabilities import CLUSTERS, LEAST, MEMBERS
from tests.benchmarks.coverage.reporting import Owning
from tests.benchmarks.coverage.weights import KEPT, SIZES, UNIT, _chance

APART, MANY = 1.8, 1_000_000
PREVALENCES = {3: (0.6, 0.3, 0.1), 10: (0.1,) * 10}
WANTED = ("balanced_accuracy", "accuracy", "kappa", "mcc", "f1", "roc_auc", "log_loss")
MEAN = "f1"  # over the classes
EACH = {"score": 2.3, "class": 3.0}  # rows drawn for one that is kept
Arrays = Any
Table = tuple[Arrays, Arrays, Arrays, Owning]  # truth, log odds, weights in units, whose rows


def lines(replicates: int) -> list[Line]:
    """Return lines by measure and number of classes: by clusters, by weights, and by both."""
    found: list[Line] = []
    for classes in PREVALENCES:
        rng = np.random.default_rng([19, classes])
        truth, z = _rows(rng, np.zeros(MANY, int), classes, alone=True)
        true = {
            name: value for name, value, _ in _measured(classes, (truth, z, truth * 0 + 1, None), 1)
        }
        settings: list[tuple[str, float, Callable[[np.random.Generator], Table]]] = []
        for c in CLUSTERS:
            settings.append((f"{c} clusters", 1, lambda rng, c=c: _clustered(rng, classes, c)))
        for by in KEPT:
            for m in SIZES:
                settings.append(
                    (
                        f"by {by}, {m} rows",
                        UNIT,
                        lambda rng, by=by, m=m: _weighed(rng, classes, by, m),
                    )
                )
            for c in CLUSTERS:
                settings.append(
                    (
                        f"by {by}, {c} clusters",
                        UNIT,
                        lambda rng, by=by, c=c: _clustered(rng, classes, c, by),
                    )
                )
        for told, unit, drawn in settings:
            found += _lines(classes, told, unit, drawn, true, replicates)
    return found


def _lines(classes, told, unit, drawn, true, replicates) -> Iterator[Line]:
    rng = np.random.default_rng([20, classes, *map(ord, told)])
    ends: dict[str, list[Any]] = {name: [] for name in WANTED}
    for _ in range(replicates):
        for name, _, limits in _measured(classes, drawn(rng), unit):
            ends[name].append(limits)
    for name, both in ends.items():
        low, high = np.array([one for one in both if None not in one], float).T
        inside = (low <= true[name]) & (true[name] <= high)
        yield Line(
            name,
            f"{classes} classes, {told}, at {true[name]:.3f}",
            len(low),
            float(inside.mean()),
            LEAST,
            width=float(np.median(high - low)),
        )


def _measured(classes: int, table: Table, unit: float):
    """Yield what the report says of a table: each measure, its value and its limits."""
    truth, z, n, owners = table
    names, options = tuple(map(str, range(classes))), ReportOptions()
    asked = [one for one in asked_of_classes((), names, ordered=False) if one.name in WANTED]
    patterns = ClassPatterns.of(["m"], names, truth, z.argmax(1)[:, None], n, unit, owners=owners)
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    scores = ClassScores.of(names, truth, p, n, unit, owners=owners)
    for row in (
        *label_rows(None, patterns, asked, options),
        *probability_rows(None, "m", scores, asked, options),
    ):
        name, value = str(row["metric"]), estimate(row["value"])
        if row["estimator"] == ("macro" if name == MEAN else "multiclass"):
            yield name, value.value, (value.low, value.high)


def _rows(rng, owner, classes, alone=False):
    """Draw the classes of rows, and the log odds of all classes; those of one owner are alike."""
    prevalence = np.array(PREVALENCES[classes])
    many = owner.max() + 1
    own = rng.standard_normal((len(owner), classes))
    if alone:
        shares = np.cumsum(prevalence)[None]
    else:
        shares = np.cumsum(rng.dirichlet(prevalence / 0.3 * 0.7, many), axis=1)[owner]
        own = (own + rng.standard_normal((many, classes))[owner]) / np.sqrt(2)
    truth = np.minimum((rng.random(len(owner))[:, None] > shares).sum(1), classes - 1)
    own[np.arange(len(owner)), truth] += APART
    return truth, 1.25 * (APART * own + np.log(prevalence))


def _clustered(rng, classes, clusters, by=None) -> Table:
    owner = np.repeat(np.arange(clusters), round(MEMBERS * EACH.get(by, 1)))
    truth, z = _rows(rng, owner, classes)
    return _kept(rng, truth, z, by, owner)


def _weighed(rng, classes, by, rows) -> Table:
    truth, z = _rows(rng, np.zeros(6 * rows, int), classes, alone=True)
    return _kept(rng, truth, z, by, None, rows)


def _kept(rng, truth, z, by, owner, rows=None) -> Table:
    last = z.shape[1] - 1
    if by is None:
        return truth, z, np.ones(len(truth), int), list(map(str, owner))
    score = z[:, last] / 1.25 / APART
    chance = _chance(rng, by, truth == last, score - np.median(score))
    kept = np.flatnonzero(rng.random(len(truth)) < chance)[:rows]
    n = np.round(UNIT / chance[kept]).astype(np.int64)
    return truth[kept], z[kept], n, n * 1.0 * n if owner is None else list(map(str, owner[kept]))
