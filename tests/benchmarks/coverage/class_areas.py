"""Mean ROC AUC over classes, some of which have few rows, as `clfeval report` prints it.

Scores of three kinds: a normal score for each class, higher for the true one; the same, but three
rows of ten are drawn as if they had no class; and one latent number, on which classes lie in order.
Probabilities follow from scores by Bayes' rule of the first kind, or of the third. The truth is
that of 800,000 rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clfeval.counts.classes import ClassScores
from clfeval.document.cells import as_estimate
from clfeval.measures.multiclass_scores import roc_auc, roc_auc_ovr
from clfeval.methods.measurement.requested_measures import parse_multiclass_measures
from clfeval.methods.report.multiclass_estimates import multiclass_probability_rows
from clfeval.methods.report.options import ReportOptions
from tests.benchmarks.coverage import Line

LEAST, POPULATION = 0.93, 800_000
NAMES = ("roc_auc", "roc_auc_ovr")
Arrays = Any
Draw = Callable[[np.random.Generator, int, Arrays, float], tuple[Arrays, Arrays]]


def _separate(
    rng: np.random.Generator, rows: int, shares: Arrays, distance: float, hard: float = 0.0
) -> tuple[Arrays, Arrays]:
    truth = rng.choice(len(shares), rows, p=shares)
    scores = rng.standard_normal((rows, len(shares)))
    scores[np.arange(rows), truth] += distance * (rng.random(rows) >= hard)
    odds = shares * np.exp(distance * scores)
    return truth, odds / odds.sum(axis=1, keepdims=True)


def _with_hard_rows(
    rng: np.random.Generator, rows: int, shares: Arrays, distance: float
) -> tuple[Arrays, Arrays]:
    return _separate(rng, rows, shares, distance, hard=0.3)


def _ordered(
    rng: np.random.Generator, rows: int, shares: Arrays, distance: float
) -> tuple[Arrays, Arrays]:
    truth = rng.choice(len(shares), rows, p=shares)
    latent = rng.standard_normal(rows) + distance * truth
    odds = shares * np.exp(-((latent[:, None] - distance * np.arange(len(shares))) ** 2) / 2)
    return truth, odds / odds.sum(axis=1, keepdims=True)


RARE, EQUAL, TEN = (0.60, 0.38, 0.02), (1 / 3,) * 3, (0.1,) * 10
SETTINGS: tuple[tuple[str, Draw, Sequence[float], int, float], ...] = (
    ("separate", _separate, RARE, 300, 1.8),
    ("separate", _separate, RARE, 300, 1.0),
    ("separate", _separate, RARE, 300, 3.0),
    ("separate", _separate, (0.3, 0.3, 0.3, 0.08, 0.02), 300, 1.8),
    ("separate", _separate, (0.70, 0.25, 0.05), 200, 1.8),
    ("separate", _separate, EQUAL, 30, 1.0),
    ("separate", _separate, EQUAL, 60, 3.0),
    ("separate", _separate, TEN, 30, 1.8),
    ("separate", _separate, TEN, 100, 1.8),
    ("separate", _separate, TEN, 100, 3.0),
    ("hard rows", _with_hard_rows, RARE, 300, 1.8),
    ("hard rows", _with_hard_rows, (0.25,) * 4, 40, 1.5),
    ("ordered", _ordered, RARE, 300, 2.5),
    ("ordered", _ordered, (0.49, 0.02, 0.49), 300, 1.5),
    ("ordered", _ordered, EQUAL, 60, 4.0),
)


def lines(replicates: int) -> list[Line]:
    """Return a line for each measure and setting."""
    return [
        line
        for number, setting in enumerate(SETTINGS)
        for line in _lines(np.random.default_rng([51, number]), *setting, replicates)
    ]


def _lines(
    rng: np.random.Generator,
    kind: str,
    draw: Draw,
    shares: Sequence[float],
    rows: int,
    distance: float,
    replicates: int,
) -> list[Line]:
    probabilities = np.array(shares)
    truth, p = draw(rng, POPULATION, probabilities, distance)
    once = np.ones(POPULATION, np.int64)
    population = {"roc_auc": roc_auc(truth, p, once), "roc_auc_ovr": roc_auc_ovr(truth, p, once)}
    limits: dict[str, list[tuple[float, float]]] = {name: [] for name in NAMES}
    while len(limits["roc_auc"]) < replicates:
        truth, p = draw(rng, rows, probabilities, distance)
        if len(np.unique(truth)) < len(shares):
            continue  # the mean over fewer classes is another one
        for name, interval in _reported(truth, p).items():
            limits[name].append(interval)
    sizes = ", ".join(f"{share:.2g}" for share in dict.fromkeys(shares))
    setting = f"{kind}, {len(shares)} classes of {sizes}, {rows} rows, distance {distance:g}"
    return [
        Line.of(name, f"{setting}, at {float(population[name]):.3f}", intervals, true, LEAST)
        for name, intervals in limits.items()
        for true in [float(population[name])]
    ]


def _reported(truth: Arrays, p: Arrays) -> dict[str, tuple[float, float]]:
    """Return the limits of a report by measure; of the mean over one against the rest, macro."""
    classes = tuple(map(str, range(p.shape[1])))
    once = np.ones(len(truth), np.int64)
    scores = ClassScores.from_probabilities(classes, truth, p, once)
    requested = parse_multiclass_measures(NAMES, classes, ordered=False)
    settings = ReportOptions().interval_settings
    limits = {}
    for row in multiclass_probability_rows(None, "m", scores, requested, settings):
        estimate = as_estimate(row["value"])
        if row["measure"] in NAMES and row["estimator"] != "weighted":
            low = np.nan if estimate.low is None else estimate.low
            high = np.nan if estimate.high is None else estimate.high
            limits[row["measure"]] = (low, high)
    return limits
