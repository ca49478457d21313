"""Means over runs: folds whose models share training rows, and seeds that share test rows.

Folds: a linear discriminant of 5 normal features, .6 apart in the first two, trained on all folds
but one; what is to be held is the mean area of such models of so many training rows. Seeds: normal
scores of the same rows with noise of their own in each run. The plain t is S / sqrt(J) alone.
"""

from __future__ import annotations

from itertools import product
from math import sqrt
from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import t as student

from clfeval.document.cells import Estimate
from clfeval.inference.rank_statistics import delong_auc
from clfeval.methods.measurement.run_means import FOLDS, REPEATS, Runs, mean_over_runs
from tests.benchmarks.coverage import Line

LEVEL, LEAST = 0.95, 0.92
FEATURES, APART = 5, 0.6
NOISE = 0.5  # of a seed, beside 1 of the row
Arrays = Any


def lines(replicates: int) -> list[Line]:
    """Return lines of the corrected, or joined, and the plain interval of a mean AUC."""
    found: list[Line] = []
    for rows, k in product((100, 400), (5, 10)):
        found += _held(f"{k} folds of {rows} rows", *_folds(rows, k, replicates))
    for rows, runs in product((100, 400), (3, 10)):
        found += _held(f"{runs} seeds of {rows} rows", *_seeds(rows, runs, replicates))
    return found


def _held(setting: str, both: Arrays, true: float) -> list[Line]:
    return [
        Line.of(name, setting, ends, true, least)
        for name, ends, least in zip(
            ("mean over runs", "plain t"), both, (LEAST, None), strict=True
        )
    ]


def _folds(rows: int, k: int, replicates: int) -> tuple[list[list[Arrays]], float]:
    rng, ends, true = np.random.default_rng([31, rows, k]), list[Arrays](), list[float]()
    plain = list[Arrays]()
    runs = Runs([f"{i}" for i in range(k)], FOLDS, rows, 1 - 1 / k, 1)
    shift = np.zeros(FEATURES)
    shift[:2] = APART
    for _ in range(replicates):
        y, place = np.arange(rows) % 2 == 0, np.arange(rows) // 2 % k  # both classes in each fold
        x = rng.standard_normal((rows, FEATURES)) + np.outer(y, shift)
        values = []
        for fold in range(k):
            test = place == fold
            line = _discriminant(x[~test], y[~test])
            true.append(float(ndtr(line @ shift / sqrt(2 * line @ line))))
            values.append(_area(x[test] @ line, y[test]))
        _, _, low, high, _ = mean_over_runs(values, runs, LEVEL)
        ends.append((low, high))
        plain.append(_plain(np.array([one.value for one in values])))
    return [ends, plain], float(np.mean(true))


def _seeds(rows: int, many: int, replicates: int) -> tuple[list[list[Arrays]], float]:
    rng, ends, plain = np.random.default_rng([37, rows, many]), list[Arrays](), list[Arrays]()
    runs = Runs([f"{i}" for i in range(many)], REPEATS, rows, 0.0, many)
    for _ in range(replicates):
        y = np.arange(rows) % 2 == 0
        score = y * 1.3 + rng.standard_normal(rows)
        found = [_area(score + NOISE * rng.standard_normal(rows), y) for _ in range(many)]
        values = np.array([one.value for one in found])
        _, _, low, high, _ = mean_over_runs(found, runs, LEVEL)
        ends.append((low, high))
        plain.append(_plain(values))
    return [ends, plain], float(ndtr(1.3 / sqrt(2 * (1 + NOISE**2))))


def _plain(values: Arrays) -> tuple[float, float]:
    j = len(values)
    reach = student.ppf((1 + LEVEL) / 2, j - 1) * values.std(ddof=1) / sqrt(j)
    return values.mean() - reach, values.mean() + reach


def _discriminant(x: Arrays, y: Arrays) -> Arrays:
    within = x - np.where(y[:, None], x[y].mean(axis=0), x[~y].mean(axis=0))
    return np.linalg.solve(within.T @ within, x[y].mean(axis=0) - x[~y].mean(axis=0))


def _area(scores: Arrays, y: Arrays) -> Estimate:
    """Return the area of scores that do not tie, with its limits."""
    positive = y[np.argsort(scores)]
    found = delong_auc(positive, ~positive, level=LEVEL)
    return Estimate(found.value, found.low, found.high)
