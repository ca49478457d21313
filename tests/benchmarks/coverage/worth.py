"""How often the report says of a model as good as all others that its net benefit is surely less.

Votes of k models of equal sensitivity and specificity, which share half of their luck row by row.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from clfeval.counts.patterns import PatternCounts
from clfeval.methods.report.together import by_worth
from tests.benchmarks.coverage import Line

LEVEL = 0.975  # that of the report's default, at half the error
OWN = 0.5  # of the rows, in which a model goes by itself
FOUND, ALARMS = 0.8, 0.1


def lines(replicates: int) -> list[Line]:
    """Return lines by number of models and rows, prevalence and threshold."""
    grid = product((2, 6), (30, 100, 1000), (0.1, 0.5), (0.1, 0.5, 0.9))
    return [_line(*one, replicates) for one in grid]


def _line(k: int, rows: int, prevalence: float, t: float, replicates: int) -> Line:
    rng = np.random.default_rng([17, k, rows, round(100 * prevalence), round(100 * t)])
    models, said = [f"m{i}" for i in range(k)], 0
    for _ in range(replicates):
        truth = rng.random(rows) < prevalence
        luck = np.where(rng.random((rows, k)) < OWN, rng.random((rows, k)), rng.random((rows, 1)))
        votes = luck < np.where(truth[:, None], FOUND, ALARMS)
        patterns = PatternCounts.of(models, truth, votes, np.ones(rows, np.int64))
        found = by_worth(patterns, t, models)
        if found is not None:
            said += not found.race(level=LEVEL, seed=0).found.may_be_best[0]
    setting = f"{k} equal models, {rows} rows, prevalence {prevalence:g}, threshold {t:g}"
    name = "surely not the largest net benefit (false)"
    return Line(name, setting, replicates, said / replicates, most=1 - LEVEL)
