"""Selection bias of the best set of models: the bootstrap optimism of its detections."""

from __future__ import annotations

from math import comb

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, divide
from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.counts.patterns import TargetCounts, from_units, limit_in_units
from clfeval.document.cells import Estimate
from clfeval.inference.influence_and_clusters import FEW_CLUSTERS
from clfeval.inference.resampling import resampled_counts
from clfeval.methods.mars.best_subsets import (
    ENUMERATED,
    EXACT_MODELS,
    ChosenSubset,
    SubsetScores,
    model_combinations,
    overlap_counts,
    score_all_subsets,
    score_subsets,
    target_patterns,
)
from clfeval.records import dataclass

DRAWS = 400  # bootstrap tables
CANDIDATES = 1024  # sets that may win on a bootstrap table: those that detect most on these rows
_MOST_SETS = 2**20  # of one size, of which the candidates are taken


@dataclass(frozen=True, slots=True, eq=False)
class CandidateSets:
    """Sets of models among which the best is chosen: on these rows and on r bootstrap tables.

    scores: of s sets on these rows, in units; detected, flagged (s, r): on the bootstrap tables;
    targets (r,): their rows of the target class; rows (r,): all their rows.
    """

    scores: SubsetScores
    detected: Floats
    flagged: Floats
    targets: Floats
    rows: Floats

    @classmethod
    def from_counts(
        cls,
        counts: TargetCounts,
        scores: SubsetScores,
        rng: np.random.Generator,
        *,
        alarms: bool = True,
    ) -> CandidateSets:
        """Evaluate the sets on bootstrap tables of rows by class, of clusters, or of weights.

        alarms: False counts rows of the target class only, which are then all rows.
        """
        target_flags = _flags_and_rows(counts.hits, scores.members)
        other_flags = _flags_and_rows(counts.alarms, scores.members) if alarms else None
        target_totals, other_totals = _bootstrap_totals(counts, target_flags, other_flags, rng)
        all_totals = target_totals + other_totals  # of the sets; the last column: of all rows
        return cls(
            scores,
            target_totals[:, :-1].T,
            all_totals[:, :-1].T,
            target_totals[:, -1],
            all_totals[:, -1],
        )

    def take(self, index: Bools) -> CandidateSets:
        """Return some of the sets."""
        return CandidateSets(
            self.scores.take(index),
            self.detected[index],
            self.flagged[index],
            self.targets,
            self.rows,
        )

    def winners(self, most_flagged: float | None = None) -> Bools:
        """Return which sets win on each bootstrap table, with all ties, (s, r).

        most_flagged: the share of all rows that a set may flag.
        """
        detected = self.detected
        if most_flagged is not None:
            is_within_limit = self.flagged <= most_flagged * self.rows * (1 + 1e-12)
            detected = np.where(is_within_limit, detected, -1.0)
        greatest = detected.max(axis=0)
        return np.asarray((detected == greatest) & (greatest >= 0))

    def detection_optimism(self, winners: Bools) -> float:
        """Return the mean excess of the share that winners detect where they win, ties averaged.

        mean over tables of (share of the winner there - its mean share over all tables)
        Source: Efron 2011, Journal of the American Statistical Association 106:1602, by draws.
        """
        return _mean_excess(divide(self.detected, self.targets), winners)

    def yield_optimism(self, winners: Bools) -> float:
        """Return the same of the yield, detected / flagged rows."""
        return _mean_excess(divide(self.detected, self.flagged), winners)


def _mean_excess(shares: Floats, winners: Bools) -> float:
    """Return the mean over tables of the winners' shares less their own means; shares (s, r)."""
    is_defined = np.isfinite(shares)
    defined_shares = np.where(is_defined, shares, 0.0)
    set_means = divide(defined_shares.sum(axis=1), is_defined.sum(axis=1))[:, None]
    is_defined_winner = winners & is_defined
    excess = np.where(is_defined_winner, defined_shares - set_means, 0.0)
    table_means = divide(excess.sum(axis=0), is_defined_winner.sum(axis=0))
    has_winner = np.isfinite(table_means)
    return float(table_means[has_winner].mean()) if has_winner.any() else 0.0


def _flags_and_rows(patterns: Bools, members: Bools) -> Floats:
    """Return which patterns (p, k) the sets (s, k) flag, then a column of ones: (p, s + 1)."""
    columns = np.ones((len(patterns), len(members) + 1))
    columns[:, :-1] = (overlap_counts(patterns, members) > 0).T
    return columns


def _bootstrap_totals(
    counts: TargetCounts, target_flags: Floats, other_flags: Floats | None, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return sums of rows of the target class and of other rows on bootstrap tables, (r, c) each.

    target_flags (p, c), other_flags (q, c): the patterns of each sum; without the latter, zeros.
    Some tables are drawn at a time, so that no array has a row for each table and pattern.
    """
    totals = np.zeros((2, DRAWS, target_flags.shape[1]))
    if counts.clusters is None:
        totals[0] = _bootstrap_class_totals(counts.hit_n, target_flags, rng)
        if other_flags is not None:
            totals[1] = _bootstrap_class_totals(counts.alarm_n, other_flags, rng)
        return totals[0], totals[1]
    target_pattern_count = len(counts.hit_n)
    pattern_count = target_pattern_count + len(counts.alarm_n)
    start = 0
    for block in counts.clusters.bootstrap_counts(pattern_count, resamples=DRAWS, rng=rng):
        stop = start + len(block)
        totals[0, start:stop] = block[:, :target_pattern_count] @ target_flags
        if other_flags is not None:
            totals[1, start:stop] = block[:, target_pattern_count:] @ other_flags
        start = stop
    return totals[0], totals[1]


def _bootstrap_class_totals(row_counts: Counts, flags: Floats, rng: np.random.Generator) -> Floats:
    """Return the sums (r, c) of resampled rows of the patterns flagged (p, c) in a class."""
    is_present = row_counts > 0
    if not is_present.any():
        return np.zeros((DRAWS, flags.shape[1]))
    resampled_blocks = resampled_counts(row_counts[is_present], resamples=DRAWS, rng=rng)
    return np.concatenate([block @ flags[is_present] for block in resampled_blocks])


def candidates_of_size(counts: TargetCounts, size: int) -> SubsetScores | None:
    """Return the sets of a size that detect most, at most CANDIDATES; None if there are too many.

    Of models beyond the candidates none is likely to win on a bootstrap table.
    """
    k = len(counts.models)
    if comb(k, size) > _MOST_SETS:
        return None
    return _most_detecting(score_subsets(counts, model_combinations(k, size)))


def _most_detecting(scores: SubsetScores) -> SubsetScores:
    """Return the sets that detect most, at most CANDIDATES; of ties those that flag fewest rows."""
    order = scores.order(-scores.covered, scores.effort)
    return scores.take(order[:CANDIDATES])


@dataclass(frozen=True, slots=True, eq=False)
class CorrectedSet:
    """Detections, in units, and yield expected on new data from a set chosen this way."""

    detected: Estimate
    yield_: Estimate


def undefined_correction(reason: str) -> CorrectedSet:
    """Return a correction that is undefined for a reason."""
    return CorrectedSet(Estimate(None, reason=reason), Estimate(None, reason=reason))


def correct_best_set(
    counts: TargetCounts, choice: ChosenSubset, share: Estimate, rng: np.random.Generator
) -> CorrectedSet:
    """Return what to expect on new data of the set of its size that detects most.

    share: the share of target rows that the set detects here, with its interval.
    """
    reason = why_uncorrected(counts)
    size = int(choice.scores.sizes[0])
    candidate_scores = None if reason else candidates_of_size(counts, size)
    if candidate_scores is None:
        return undefined_correction(reason or "too_many_subsets")
    candidate_sets = CandidateSets.from_counts(counts, candidate_scores, rng)
    return _corrected(counts, choice, share, candidate_sets, candidate_sets.winners())


def correct_set_within_effort(
    counts: TargetCounts,
    choice: ChosenSubset,
    share: Estimate,
    effort: float,
    rng: np.random.Generator,
) -> CorrectedSet:
    """Return what to expect on new data of the set that detects most within a limit of rows.

    On a bootstrap table the limit is the same share of all rows.
    """
    reason = why_uncorrected(counts)
    if choice.method != ENUMERATED or len(counts.models) > EXACT_MODELS:
        reason = "too_many_subsets"
    if reason:
        return undefined_correction(reason)
    scores = score_all_subsets(counts)
    row_total = counts.hit_n.sum() + counts.alarm_n.sum()
    effort_limit = limit_in_units(effort, counts.unit)
    # sets that flag far more than the limit cannot fit on a bootstrap table either
    may_fit = scores.members.any(axis=1) & (
        scores.effort <= effort_limit + 6 * np.sqrt(effort_limit + 1)
    )
    candidate_sets = CandidateSets.from_counts(counts, _most_detecting(scores.take(may_fit)), rng)
    return _corrected(
        counts,
        choice,
        share,
        candidate_sets,
        candidate_sets.winners(float(effort_limit / row_total)),
    )


def why_uncorrected(counts: TargetCounts) -> str | None:
    """Return why the selection bias is unknown: with fewer than two target rows, or clusters."""
    if counts.hit_n.sum() < 2 * counts.unit:
        return "too_few_rows"
    clusters = counts.clusters
    if clusters is not None and clusters.too_few:
        return FEW_CLUSTERS
    if isinstance(clusters, ClusterCounts) and clusters.having(target_patterns(counts)) < 2:
        return "too_few_clusters"
    if counts.fractional and clusters is None:
        return "fractional_weights"
    return None


def _corrected(
    counts: TargetCounts,
    choice: ChosenSubset,
    share: Estimate,
    candidate_sets: CandidateSets,
    winners: Bools,
) -> CorrectedSet:
    """Return detections and yield less their optimism; the interval reaches down by as much."""
    target_total = counts.hit_n.sum()
    optimism = candidate_sets.detection_optimism(winners)
    target_count = from_units(target_total, counts.unit).item()
    low, value = (
        None if limit is None else float(np.clip(limit - optimism, 0, 1)) * target_count
        for limit in (share.low, share.value)
    )
    high = None if share.high is None else share.high * target_count
    flagged_count = choice.scores.effort[0].item()
    if not flagged_count:
        return CorrectedSet(
            Estimate(value, low, high), Estimate(None, reason="no_positive_prediction")
        )
    apparent_yield = choice.scores.covered[0].item() / flagged_count
    corrected_yield = apparent_yield - candidate_sets.yield_optimism(winners)
    return CorrectedSet(Estimate(value, low, high), Estimate(float(np.clip(corrected_yield, 0, 1))))
