"""More than two classes in clusters, and with sampling weights: what `clfeval report` prints of it.

Of three classes (.6, .3 and .1 of the rows) and of ten alike, a model has a score for each, normal,
higher by `APART` for the true one; its log odds are 1.25 times as far apart as they should be. By
clusters of ten rows classes are alike by an ICC of .3, scores by .5. Weights are as in `weights`,
the last class for the positive one. The truth is that of a million rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from clfeval.counts.classes import ClassPatterns, ClassScores
from clfeval.counts.clusters_and_weights import squares_and_weights
from clfeval.document.cells import Estimate, as_estimate
from clfeval.methods.measurement.requested_measures import parse_multiclass_measures
from clfeval.methods.report.multiclass_estimates import (
    CLASSES,
    multiclass_label_rows,
    multiclass_probability_rows,
)
from clfeval.methods.report.options import ReportOptions
from tests.benchmarks.coverage import Line
from tests.benchmarks.coverage.reporting import CLUSTERS, LEAST, MEMBERS, Owning
from tests.benchmarks.coverage.weights import SIZES, UNIT, _chance

APART, EXTREME, MANY = 1.8, 1.25, 1_000_000
PREVALENCES = {3: (0.6, 0.3, 0.1), 10: (0.1,) * 10}
WANTED = {
    "balanced_accuracy": CLASSES,
    "accuracy": CLASSES,
    "kappa": CLASSES,
    "mcc": CLASSES,
    "f1": "macro",
    "roc_auc": CLASSES,
    "log_loss": CLASSES,
}
DRAWN = {"": 1.0, "score": 2.3, "class": 3.0}  # rows drawn for one that is kept
Arrays = Any


def lines(replicates: int) -> list[Line]:
    """Return lines by measure and number of classes: by clusters, by weights, and by both."""
    found: list[Line] = []
    for classes in PREVALENCES:
        everyone = _rows(np.random.default_rng([19, classes]), classes, None, MANY)
        ones = np.ones(MANY, np.int64)
        true = {name: one.value or 0.0 for name, one in _measured(*everyone, ones, None, 1)}
        for by in DRAWN:
            for clusters in CLUSTERS:
                found += _lines(classes, by, clusters, 0, true, replicates)
            for rows in SIZES if by else ():
                found += _lines(classes, by, 0, rows, true, replicates)
    return found


def _lines(
    classes: int, by: str, clusters: int, rows: int, true: dict[str, float], replicates: int
) -> Iterator[Line]:
    """Yield the coverage in so many clusters, or rows."""
    rng = np.random.default_rng([20, classes, clusters, rows, len(by)])
    ends: dict[str, list[tuple[float, float]]] = {name: [] for name in WANTED}
    for _ in range(replicates):
        for name, one in _measured(*_table(rng, classes, by, clusters, rows)):
            if one.low is not None and one.high is not None:
                ends[name].append((one.low, one.high))
    told = f"{clusters} clusters" if clusters else f"{rows} rows"
    told = f"{classes} classes, {told}{f', by {by}' if by else ''}"
    for name, both in ends.items():
        yield Line.of(name, f"{told}, at {true[name]:.3f}", both, true[name], LEAST)


def _measured(
    truth: Arrays, odds: Arrays, n: Arrays, owners: Owning, unit: float
) -> Iterator[tuple[str, Estimate]]:
    """Yield what the report says of a table by default."""
    names, wanted = tuple(map(str, range(odds.shape[1]))), ReportOptions().interval_settings
    asked = [
        one for one in parse_multiclass_measures((), names, ordered=False) if one.name in WANTED
    ]
    said = odds.argmax(axis=1)[:, None]
    patterns = ClassPatterns.from_labels(["m"], names, truth, said, n, unit, owners=owners)
    p = np.exp(odds - odds.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    scores = ClassScores.from_probabilities(names, truth, p, n, unit, owners=owners)
    for row in (
        *multiclass_label_rows(None, patterns, asked, wanted),
        *multiclass_probability_rows(None, "m", scores, asked, wanted),
    ):
        if row["estimator"] == WANTED[str(row["measure"])]:
            yield str(row["measure"]), as_estimate(row["value"])


def _rows(
    rng: np.random.Generator, classes: int, owner: Arrays, many: int
) -> tuple[Arrays, Arrays]:
    """Draw the classes of rows, and the log odds of all classes; those of one owner are alike."""
    prevalence = np.array(PREVALENCES[classes])
    z, shares = rng.standard_normal((many, classes)), np.cumsum(prevalence)[None]
    if owner is not None:
        clusters = owner.max() + 1
        shares = np.cumsum(rng.dirichlet(prevalence / 0.3 * 0.7, clusters), axis=1)[owner]
        z = (z + rng.standard_normal((clusters, classes))[owner]) / np.sqrt(2)
    truth = np.minimum((rng.random(many)[:, None] > shares).sum(axis=1), classes - 1)
    z[np.arange(many), truth] += APART
    return truth, EXTREME * (APART * z + np.log(prevalence))


def _table(
    rng: np.random.Generator, classes: int, by: str, clusters: int, rows: int
) -> tuple[Arrays, Arrays, Arrays, Owning, float]:
    """Draw truth, log odds, weights in units, whose rows they are or squared weights, the unit."""
    owner = np.repeat(np.arange(clusters), round(MEMBERS * DRAWN[by])) if clusters else None
    many = 6 * rows if owner is None else len(owner)
    truth, odds = _rows(rng, classes, owner, many)
    if not by:
        return truth, odds, np.ones(many, np.int64), list(map(str, owner)), 1
    last, score = truth == classes - 1, odds[:, -1] / EXTREME / APART
    chance = _chance(rng, by, last, score - np.median(score))
    kept = np.flatnonzero(rng.random(many) < chance)[: rows or None]
    n = np.round(UNIT / chance[kept]).astype(np.int64)
    owners = squares_and_weights(n) if owner is None else list(map(str, owner[kept]))
    return truth[kept], odds[kept], n, owners, UNIT
