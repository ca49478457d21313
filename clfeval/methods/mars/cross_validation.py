"""Cross-validated detections and yield of chosen sets of models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import comb

import numpy as np

from clfeval.arrays import Bools
from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.counts.patterns import TargetCounts
from clfeval.document import Estimate
from clfeval.inference.slice_complement import split_into_folds
from clfeval.methods.mars.best_subsets import (
    ENUMERATED,
    GREEDY,
    ChosenSubset,
    best_subsets,
    best_within_effort,
    score_subsets,
)
from clfeval.methods.mars.target_slices import target_patterns

FOLDS, REPEATS = 10, 5  # with few candidate subsets
# candidate subsets up to which it is repeated, and up to which it has all folds; else folds
FEW, FULL_FOLD_SUBSETS, FEWER = 2**12, 2**15, 5


def cross_validate_best(
    counts: TargetCounts, choices: Sequence[ChosenSubset], sizes: int, rng: np.random.Generator
) -> list[tuple[Estimate, Estimate]]:
    """Return cross-validated detections and yield of each set of --best; none if greedy."""
    sizes = min(sizes, len(counts.models))

    def choose(rest: TargetCounts) -> Bools:
        found = best_subsets(rest, sizes)
        return np.vstack([one.scores.members for one in found if one.method != GREEDY])

    never = Estimate(None, reason="too_many_subsets")
    best = [one for one in choices if one.method != GREEDY]
    if len(best) != sizes:
        return [(never, never)] * len(choices)
    subsets = sum(comb(len(counts.models), size) for size in range(1, sizes + 1))
    found = iter(_cross_validated_estimates(counts, best, choose, subsets, rng))
    return [(never, never) if one.method == GREEDY else next(found) for one in choices]


def cross_validate_within_effort(
    counts: TargetCounts, choice: ChosenSubset, effort: float, rng: np.random.Generator
) -> tuple[Estimate, Estimate]:
    """Return cross-validated detections and yield of the set of --max-effort."""
    rows, k = counts.hit_n.sum() + counts.alarm_n.sum(), len(counts.models)

    def choose(rest: TargetCounts) -> Bools:
        part = (rest.hit_n.sum() + rest.alarm_n.sum()) / rows
        found = best_within_effort(rest, effort * part)
        return np.zeros((1, k), bool) if found is None else found.scores.members

    (one,) = _cross_validated_estimates(counts, [choice], choose, 2**k, rng)
    return one


def _cross_validated_estimates(
    counts: TargetCounts, choices: Sequence[ChosenSubset], choose: Callable[[TargetCounts], Bools],
    subsets: int, rng: np.random.Generator,
) -> list[tuple[Estimate, Estimate]]:  # fmt: skip
    """Return cross-validated detections and yield of the sets of `choose`, or why undefined.

    Folds are stratified by class, and whole clusters by whether they have target rows. Per fold
    sets (s, k) are chosen on the other folds; detections and flagged rows are summed over folds and
    averaged over repeats. The estimate is of the choice from a share 1 - 1/folds of the rows.
    Source: Stone 1974, Journal of the Royal Statistical Society B 36:111.
    """
    reason, clusters = None, counts.clusters
    if counts.fractional:
        reason = "fractional_weights"
    elif counts.hit_n.sum() < 2:
        reason = "too_few_rows"
    elif isinstance(clusters, ClusterCounts) and clusters.having(target_patterns(counts)) < 2:
        reason = "too_few_clusters"
    elif any(one.method != ENUMERATED for one in choices):
        reason = "too_many_subsets"  # another search for each fold would take too long
    if reason:
        never = Estimate(None, reason=reason)
        return [(never, never)] * len(choices)
    most = max(counts.hit_n.sum().item(), counts.alarm_n.sum().item())
    if isinstance(clusters, ClusterCounts):
        most = len(clusters)
    folds = min(FOLDS if subsets <= FULL_FOLD_SUBSETS else FEWER, most)
    repeats = REPEATS if subsets <= FEW else 1
    covered, effort = np.zeros(1), np.zeros(1)
    for _ in range(repeats):
        if isinstance(clusters, ClusterCounts):
            dealt = clusters.dealt(folds, target_patterns(counts), rng)
            parts = np.split(dealt, [len(counts.hit_n)], axis=1)
        else:  # one class from the first fold on, the other from the last
            parts = [split_into_folds(n, folds, rng) for n in (counts.hit_n, counts.alarm_n)]
            parts[1] = parts[1][::-1]
        for hits, alarms in zip(*parts, strict=True):
            held = replace(counts, hit_n=hits, alarm_n=alarms, clusters=None)
            rest = replace(held, hit_n=counts.hit_n - hits, alarm_n=counts.alarm_n - alarms)
            found = score_subsets(held, choose(rest))
            covered, effort = covered + found.covered, effort + found.effort
    none = Estimate(None, reason="no_positive_prediction")
    totals = zip((covered / repeats).tolist(), (effort / repeats).tolist(), strict=True)
    return [
        (Estimate(hits), Estimate(hits / called) if called else none) for hits, called in totals
    ]
