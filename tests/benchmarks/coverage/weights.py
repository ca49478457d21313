"""Sampling weights: rows taken with unequal chances, each with 1 / chance for its weight.

Tables are those of `probabilities`, cut at .5, of which a row is kept with a chance that depends on
its score and on luck (by score: Kish's size is some .7 of the rows), or is 1 for a positive and .2
for a negative (by class). Counts are drawn until there are so many rows. What is asked for is the
measure of the population; limits are found as the report finds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.counts.weights import RowWeights
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.methods.estimates import end_to_end
from clfeval.methods.measured.asked import Asked
from clfeval.methods.measured.decisions import net_benefit
from clfeval.methods.measured.hard import HardLimits
from clfeval.methods.measured.hard import measured as measured_hard
from clfeval.methods.measured.scored import measured
from tests.benchmarks.coverage import Line
from tests.benchmarks.coverage.probabilities import LEAST, LEVEL, _held, _probabilities, _true
from tests.benchmarks.coverage.reporting import SCORED, SURE, _ends

APART, PREVALENCES, SIZES, KEPT = 1.3, (0.5, 0.1), (200, 1000), ("score", "class")
HARD = ("sensitivity", "precision", "accuracy", "mcc", "f1")
UNIT = 1e6
Arrays = Any


def lines(replicates: int) -> list[Line]:
    """Return lines by measure, prevalence, number of rows, and by what rows are kept."""
    return [
        line
        for by in KEPT
        for prevalence in PREVALENCES
        for rows in SIZES
        for line in _lines(by, prevalence, rows, replicates)
    ]


def _lines(by: str, prevalence: float, rows: int, replicates: int) -> Iterator[Line]:
    rng = np.random.default_rng([17, rows, round(100 * prevalence), len(by)])
    scores, patterns = [], []
    for _ in range(replicates):
        p, truth, n = _table(rng, by, prevalence, rows)
        order, none = np.argsort(p), np.zeros(rows, np.int64)
        t, w = truth[order], n[order]
        pos, neg = np.where(t, w, none), np.where(t, none, w)
        both = np.concatenate([pos, neg]).astype(float)
        scores.append(ScoreCounts(p[order], pos, neg, UNIT, RowWeights(both, both**2)))
        votes = (p >= 0.5)[:, None]
        patterns.append(PatternCounts.of(["m"], truth, votes, n, UNIT, owners=n * 1.0 * n))
    setting = (APART, prevalence, prevalence)
    for name in SCORED:
        found = [measured(CATALOG[name], one, SURE, "").value for one in scores]
        yield _held(f"{name}, by {by}", rows, setting, _true(CATALOG[name], *setting[:2]),
                    _ends(found), LEAST)  # fmt: skip
    measure = CATALOG["net_benefit@t"].given(t=prevalence)
    ends = _ends(net_benefit(one, prevalence, LEVEL)[0] for one in scores)
    yield _held(f"net_benefit, by {by}", rows, setting, _true(measure, *setting[:2]), ends, LEAST)
    _, counts = end_to_end(dict(enumerate(map(ConfusionCounts.of_patterns, patterns))))
    size = len(patterns)
    many = [0.0 if one.clusters is None else one.clusters.size for one in patterns]
    sure = HardLimits(SURE, counts.models, [None] * size, many)
    for name in HARD:
        measure = CATALOG[name]

        def of(scores: Arrays, pos: Arrays, neg: Arrays, measure: Any = measure) -> Arrays:
            tp, fp = pos[scores >= 0.5].sum(), neg[scores >= 0.5].sum()
            return measure.function(Confusion(tp, fp, pos.sum() - tp, neg.sum() - fp))

        true = _true(replace(measure, of=of), *setting[:2])
        asked = measured_hard(Asked(name, measure, {}), counts, sure)
        yield _held(f"{name}, by {by}", rows, setting, true, _ends(asked.values), LEAST)


def _table(
    rng: np.random.Generator, by: str, prevalence: float, rows: int
) -> tuple[Arrays, Arrays, Arrays]:
    """Draw probabilities, truth and weights in units of so many rows."""
    many = 12 * rows
    truth = rng.random(many) < prevalence
    z = rng.standard_normal(many) + APART * truth
    chance = np.where(truth, 1.0, 0.2)
    if by == "score":
        chance = 0.1 + 0.9 * ndtr((z + rng.standard_normal(many) - 1) / 1.2)
    kept = np.flatnonzero(rng.random(many) < chance)[:rows]
    p = _probabilities(z[kept], APART, prevalence)
    return p, truth[kept], np.round(UNIT / chance[kept]).astype(np.int64)
