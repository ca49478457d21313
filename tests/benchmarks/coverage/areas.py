"""Areas under the ROC curve: near an end, with few rows, of classes spread unalike."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import ndtr

from clfeval.inference.rank_statistics import delong_auc
from tests.benchmarks.coverage import Line

LEVEL, LEAST = 0.95, 0.92
SIZES = (60, 150, 300)
# prevalence, distance of the normal scores, standard deviation of the positives (negatives 1)
SETTINGS = (
    (0.15, 2.9, 1.0),
    (0.5, 3.93, 1.0),
    (0.3, 2.0, 1.0),
    (0.3, 0.8, 1.0),
    (0.15, 4.5, 2.0),
    (0.85, 2.25, 0.5),
)


def lines(replicates: int) -> list[Line]:
    """Return a line per setting and number of rows."""
    return [_line(rows, *setting, replicates) for setting, rows in product(SETTINGS, SIZES)]


def _line(rows: int, prevalence: float, far: float, spread: float, replicates: int) -> Line:
    rng, ends = np.random.default_rng([6, rows]), list[tuple[float, float]]()
    area = float(ndtr(far / np.hypot(1, spread)))
    while len(ends) < replicates:
        truth = rng.random(rows) < prevalence
        if not 1 < truth.sum() < rows - 1:
            continue  # with one row of a class there is no interval
        scores = rng.standard_normal(rows) * np.where(truth, spread, 1) + far * truth
        positive = truth[np.argsort(scores)]
        found = delong_auc(positive, ~positive, level=LEVEL)
        ends.append((found.low, found.high))
    setting = f"{rows} rows, prevalence {prevalence:g}, area {area:.3f}, spread {spread:g} to 1"
    return Line.of("ROC AUC", setting, ends, area, LEAST)
