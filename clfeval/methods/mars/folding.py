"""What a chosen set of models is worth on rows it was not chosen on, by cross-fitting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np

from clfeval.arrays import Bools, Counts, Floats
from clfeval.counts.clusters import ClusterCounts
from clfeval.counts.patterns import TargetCounts
from clfeval.inference.folds import deal
from clfeval.methods.mars.clustered import on_target
from clfeval.methods.mars.coverage import (
    ENUMERATED,
    GREEDY,
    Choice,
    best_subsets,
    best_within_effort,
    score_subsets,
)
from clfeval.result import Estimate

FOLDS, REPEATS = 10, 5  # where few subsets are chosen from
FEW, SOME, FEWER = 2**12, 2**15, 5  # subsets up to which it is repeated, and has all its folds
Choose = Callable[[TargetCounts], Bools]


@dataclass(frozen=True, slots=True, eq=False)
class Elsewhere:
    """Rows found and called by sets chosen on other rows, (s,) each; as many rows as there are."""

    covered: Floats
    effort: Floats


def cross_fitted(
    counts: TargetCounts, choose: Choose, *, folds: int, repeats: int, rng: np.random.Generator
) -> Elsewhere:
    """Judge what `choose` returns, (s, k) members, on rows it has not seen.

    The set that finds most on some rows flatters on the same rows. So rows of the target class and
    others are dealt to folds, each class by itself and as evenly as can be; per fold sets are
    chosen on the other folds, and what they find and call in the fold is added up over the folds,
    and averaged over the repeats, each with a new deal. Rows that share clusters are dealt by whole
    clusters, those with rows of the target class by themselves.

    The sets of two folds differ: this is the worth of choosing so, from a share of 1 - 1/folds of
    the rows, not of one set.
    Errors: ValueError unless folds >= 2, repeats >= 1 and counts are whole.
    Source: Stone 1974, Journal of the Royal Statistical Society B 36:111.
    """
    if folds < 2 or repeats < 1 or counts.fractional:
        raise ValueError("cross-fitting needs whole rows, two folds and one repeat")
    covered, effort = np.zeros(1), np.zeros(1)
    for _ in range(repeats):
        for hits, alarms in zip(*_dealt(counts, folds, rng), strict=True):
            held = replace(counts, hit_n=hits, alarm_n=alarms, clusters=None)
            rest = replace(held, hit_n=counts.hit_n - hits, alarm_n=counts.alarm_n - alarms)
            found = score_subsets(held, choose(rest))
            covered, effort = covered + found.covered, effort + found.effort
    return Elsewhere(covered / repeats, effort / repeats)


def _dealt(counts: TargetCounts, folds: int, rng: np.random.Generator) -> tuple[Counts, Counts]:
    """Return the rows of both classes in each fold, (folds, p) and (folds, q)."""
    if not isinstance(counts.clusters, ClusterCounts):
        return deal(counts.hit_n, folds, rng), deal(counts.alarm_n, folds, rng)[::-1]
    dealt = counts.clusters.dealt(folds, on_target(counts), rng)
    return dealt[:, : len(counts.hit_n)], dealt[:, len(counts.hit_n) :]


def judged_best(
    counts: TargetCounts, choices: Sequence[Choice], sizes: int, rng: np.random.Generator
) -> list[tuple[Estimate, Estimate]]:
    """Return, for each chosen set of --best, what such a one finds elsewhere, and its yield.

    Of a greedy set that stands beside the best one nothing is said.
    """
    sizes = min(sizes, len(counts.models))

    def choose(rest: TargetCounts) -> Bools:
        found = (one for one in best_subsets(rest, sizes) if one.method != GREEDY)
        return np.vstack([one.scores.members for one in found])

    never = Estimate(None, reason="too_many_subsets")
    best = [one for one in choices if one.method != GREEDY]
    if len(best) != sizes:
        return [(never, never)] * len(choices)
    k = len(counts.models)
    judged = _judged(counts, best, choose, sum(comb(k, s) for s in range(1, sizes + 1)), rng)
    found = iter(judged)
    return [(never, never) if one.method == GREEDY else next(found) for one in choices]


def judged_within(
    counts: TargetCounts, choice: Choice, effort: float, rng: np.random.Generator
) -> tuple[Estimate, Estimate]:
    """Return what a set chosen as that of --max-effort finds elsewhere, and its yield.

    On part of the rows the effort is that part of it. Where nothing stays within it, nothing is
    found.
    """
    rows, k = counts.hit_n.sum() + counts.alarm_n.sum(), len(counts.models)

    def choose(rest: TargetCounts) -> Bools:
        part = (rest.hit_n.sum() + rest.alarm_n.sum()) / rows
        found = best_within_effort(rest, effort * part)
        return np.zeros((1, k), bool) if found is None else found.scores.members

    (one,) = _judged(counts, [choice], choose, 2**k, rng)
    return one


def _judged(
    counts: TargetCounts, choices: Sequence[Choice], choose: Choose, subsets: int,
    rng: np.random.Generator,
) -> list[tuple[Estimate, Estimate]]:  # fmt: skip
    """Return rows found and yield, or why there are none."""
    reason = None
    if counts.fractional:
        reason = "fractional_weights"
    elif counts.hit_n.sum() < 2:
        reason = "too_few_rows"
    elif (
        isinstance(counts.clusters, ClusterCounts) and counts.clusters.having(on_target(counts)) < 2
    ):
        reason = "too_few_clusters"
    elif any(one.method != ENUMERATED for one in choices):
        reason = "too_many_subsets"  # another search for each fold would take too long
    if reason:
        never = Estimate(None, reason=reason)
        return [(never, never)] * len(choices)
    folds = FOLDS if subsets <= SOME else FEWER
    most = max(counts.hit_n.sum().item(), counts.alarm_n.sum().item())
    if isinstance(counts.clusters, ClusterCounts):
        most = len(counts.clusters)
    found = cross_fitted(
        counts, choose, folds=min(folds, most), repeats=REPEATS if subsets <= FEW else 1, rng=rng
    )
    none = Estimate(None, reason="no_positive_prediction")
    return [
        (Estimate(hits), Estimate(hits / called) if called else none)
        for hits, called in zip(found.covered.tolist(), found.effort.tolist(), strict=True)
    ]
