"""How often the limits of a gain by recalibrating three classes are on the wrong side of the truth.

Probabilities are a softmax of normal deviates; the truth has them, or their powers, or shares that
favour other classes. The true gain is that of the procedure: the mean over the tables of the gain,
on the whole population, of the calibrator fitted to all rows of a table.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from scipy.special import ndtr

from clfeval.counts.classes import ClassScores
from clfeval.methods.recalibration.assessment import Assessment
from clfeval.methods.recalibration.class_assessment import CLASS_LOSSES, assess_class_methods
from tests.benchmarks.coverage import Line
from tests.benchmarks.coverage.recalibration import LEVEL, SHARED_LUCK, limit_lines

SEED = 20261131  # fixed before the methods were written
CLASSES = ("a", "b", "c")
SPREAD = 1.5  # of the logarithms of the probabilities
SHIFT = np.array([1.0, 0.35, 2.0])  # factors of the classes' probabilities
TRUTHS: dict[str, Callable[[Any], Any]] = {
    "calibrated": lambda p: p,
    "power 0.5": lambda p: p**0.5,
    "power 2": lambda p: p**2,
    "class shift": lambda p: p * SHIFT,
}
SIZES = (200, 1000)
DESIGNS = ("rows", "40 clusters")
METHODS = ("temperature", "one-vs-rest", "auto")
POPULATION = 5_000  # rows whose mean gain is that of the population


def lines(replicates: int) -> list[Line]:
    """Return lines by truth, rows, design, method and loss."""
    return [
        line
        for truth, size, design in product(TRUTHS, SIZES, DESIGNS)
        for line in _setting_lines(truth, size, design, replicates)
    ]


def _setting_lines(truth: str, size: int, design: str, replicates: int) -> list[Line]:
    """Return the lines of one setting, for each method and loss."""
    rng = np.random.default_rng([SEED, [*TRUTHS].index(truth), size, DESIGNS.index(design)])
    tables = [
        assess_class_methods(draw_scores(truth, size, design, rng), METHODS, LEVEL, rng)
        for _ in range(replicates)
    ]
    p = probabilities(np.random.default_rng(SEED).normal(size=(POPULATION, len(CLASSES))))
    return [
        line
        for position, method in enumerate(METHODS)
        for line in _method_lines(
            [table[position] for table in tables], truth, p, f"{method}, {truth}, {size} {design}"
        )
    ]


def _method_lines(tables: list[Assessment], truth: str, p: Any, setting: str) -> list[Line]:
    known = [one for one in tables if one.calibrator is not None and one.gains]
    gains = [true_gains(one.calibrator, truth, p) for one in known]
    lines = list[Line]()
    for loss in CLASS_LOSSES:
        true = float(np.mean([by_loss[loss] for by_loss in gains]))
        lines += limit_lines(known, true, loss, setting)
    return lines


def true_gains(calibrator: Any, truth: str, p: Any) -> dict[str, float]:
    """Return the mean gains of a calibrator in the population of probabilities p."""
    chances = TRUTHS[truth](p)
    chances = chances / chances.sum(axis=1, keepdims=True)
    q = calibrator.calibrate(p)
    sums = dict.fromkeys(CLASS_LOSSES, 0.0)
    for k in range(len(CLASSES)):
        y = np.full(len(p), k)
        for loss, losses in CLASS_LOSSES.items():
            sums[loss] += float(chances[:, k] @ (losses(y, p) - losses(y, q))) / len(p)
    return sums


def probabilities(deviates: Any) -> Any:
    """Return the probabilities (rows, classes) of normal deviates."""
    x = np.exp(SPREAD * deviates)
    return x / x.sum(axis=1, keepdims=True)


def draw_scores(truth: str, size: int, design: str, rng: np.random.Generator) -> ClassScores:
    """Return the class probabilities of a random table of rows, or of clusters."""
    clusters = rng.integers(0, 40, size) if design == "40 clusters" else np.arange(size)
    shared = rng.normal(size=(size, len(CLASSES) + 1))[clusters]
    own = rng.normal(size=(size, len(CLASSES) + 1))
    part = SHARED_LUCK if design == "40 clusters" else 0.0
    deviates = np.sqrt(part) * shared + np.sqrt(1 - part) * own
    p = probabilities(deviates[:, 1:])
    chances = TRUTHS[truth](p)
    chances = chances / chances.sum(axis=1, keepdims=True)
    y = (chances.cumsum(axis=1) < ndtr(deviates[:, :1])).sum(axis=1).clip(0, len(CLASSES) - 1)
    owners = None if design == "rows" else [f"{cluster:02}" for cluster in clusters]
    return ClassScores.from_probabilities(CLASSES, y, p, np.ones(size, np.int64), owners=owners)
