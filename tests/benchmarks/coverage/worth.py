"""How often the report says that one of equal models has the higher net benefit.

Votes of k models of equal sensitivity and specificity, which share half of their luck row by row.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from clfeval.compare.families import adjusted_family, best_set, family_pairs
from clfeval.counts.patterns import PatternCounts
from clfeval.measures.catalog import CATALOG
from clfeval.measures.odds import OutcomeCosts
from clfeval.methods.measurement.label_measures import label_estimates
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from tests.benchmarks.coverage import Line

LEVEL = 0.95
OWN = 0.5  # of the rows, in which a model goes by itself
FOUND, ALARMS = 0.8, 0.1


def lines(replicates: int) -> list[Line]:
    """Return lines by number of models and rows, prevalence and threshold."""
    grid = product((2, 6), (30, 100, 1000), (0.1, 0.5), (0.1, 0.5, 0.9))
    return [_line(*one, replicates) for one in grid]


def _line(k: int, rows: int, prevalence: float, t: float, replicates: int) -> Line:
    rng = np.random.default_rng([17, k, rows, round(100 * prevalence), round(100 * t)])
    models, said = [f"m{i}" for i in range(k)], 0
    asked = RequestedMeasure(
        "net_benefit", CATALOG["net_benefit"].with_settings(stakes=OutcomeCosts(t, 1 - t)), {}
    )
    for _ in range(replicates):
        truth = rng.random(rows) < prevalence
        luck = np.where(rng.random((rows, k)) < OWN, rng.random((rows, k)), rng.random((rows, 1)))
        votes = luck < np.where(truth[:, None], FOUND, ALARMS)
        patterns = PatternCounts.from_votes(models, truth, votes, np.ones(rows, np.int64))
        one = label_estimates(patterns, asked)
        if one is not None:
            family = adjusted_family(one, family_pairs(None, one.models), level=LEVEL, seed=0)
            found = best_set(family, one, level=0.95, seed=0)
            said += found is not None and not found.tied.all()
    setting = f"{k} equal models, {rows} rows, prevalence {prevalence:g}, threshold {t:g}"
    name = "any is not tied by net benefit (false)"
    return Line(name, setting, replicates, said / replicates, most=1 - LEVEL)
