"""The lead of the best model and of the best pair: tests, the corrected gain, equal effort."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import compress

import numpy as np

from clfeval.arrays import Bools, Counts, Floats
from clfeval.counts.patterns import TargetCounts, from_units
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Estimate, Row, as_row
from clfeval.inference.influence_and_clusters import count_divisor
from clfeval.inference.proportions import holm
from clfeval.inference.resampling import random_stream, weighted_difference
from clfeval.methods.mars.best_subsets import (
    SubsetScores,
    model_combinations,
    score_subsets,
    target_patterns,
)
from clfeval.methods.mars.options import MarsOptions
from clfeval.methods.mars.selection_bias import CANDIDATES, CandidateSets, why_uncorrected
from clfeval.methods.mars.tables import sign_test_p
from clfeval.methods.measurement.label_measures import share_design
from clfeval.records import dataclass

MODEL, PAIR = "model", "pair"  # kinds of tests
MOST_PAIRS = 100  # that are tested: those that detect most
MOST_RIVALS = 256  # pairs that may win on a bootstrap table: those that detect most on these rows
MOST_ROWS = 200_000  # of a table whose scores are read for thresholds of equal effort
MOST_SCORED = 10  # models with a threshold of equal effort: those that detect most


@dataclass(frozen=True, slots=True, eq=False)
class DetectionRanking:
    """The models of the summary, from the one that detects most; ties: fewest rows flagged.

    counts: of the models that are ranked; constant: models that flag every row and are left out;
    order: indices of the others; covered, effort (k,): target rows detected and rows flagged, in
    units.
    """

    counts: TargetCounts
    constant: tuple[str, ...]
    order: tuple[int, ...]
    covered: Counts
    effort: Counts

    @classmethod
    def from_counts(cls, counts: TargetCounts) -> DetectionRanking:
        """Rank the models; one that flags every row is left out where others do not."""
        is_constant = _constant_models(counts)
        constant = tuple(compress(counts.models, is_constant))
        if constant:
            is_ranked = ~is_constant
            counts = replace(
                counts,
                models=tuple(compress(counts.models, is_ranked)),
                hits=counts.hits[:, is_ranked],
                alarms=counts.alarms[:, is_ranked],
            )
        covered = counts.hit_n @ counts.hits
        effort = covered + counts.alarm_n @ counts.alarms
        order = np.lexsort((effort, -covered)).tolist()
        return cls(counts, constant, tuple(order), covered, effort)

    @property
    def best(self) -> int:
        """The index of the model that detects most."""
        return self.order[0]

    @property
    def detected(self) -> bool:
        """True if some model detects a row of the target class."""
        return bool(self.counts.hits[self.counts.hit_n > 0].any())


def _constant_models(counts: TargetCounts) -> Bools:
    """Return which models flag every row, (k,); none where all do, or without the other class."""
    pattern_flags = np.vstack([counts.hits[counts.hit_n > 0], counts.alarms[counts.alarm_n > 0]])
    flags_all: Bools = np.asarray(pattern_flags.all(axis=0))
    is_informative = bool(counts.alarm_n.any()) and not flags_all.all()
    return flags_all if is_informative else np.zeros(len(flags_all), bool)


def pair_scores(counts: TargetCounts) -> SubsetScores:
    """Return the pairs that detect most, the best one first, at most CANDIDATES."""
    scores = score_subsets(counts, model_combinations(len(counts.models), 2))
    return scores.take(scores.order(-scores.covered, scores.effort)[:CANDIDATES])


def model_test_rows(ranking: DetectionRanking) -> Iterator[Row]:
    """Yield exact sign tests of the other models with the best one, adjusted by Holm's rule."""
    counts = ranking.counts
    best = ranking.best
    single_models = np.eye(len(counts.models), dtype=bool)
    other_sets = single_models[list(ranking.order[1:])]
    yield from _sign_test_rows(counts, other_sets, single_models[best], MODEL)


def pair_test_rows(ranking: DetectionRanking, pairs: SubsetScores) -> Iterator[Row]:
    """Yield exact sign tests of the other pairs with the best one, adjusted by Holm's rule.

    pairs: the best one first.
    """
    other_pairs = pairs.members[1:MOST_PAIRS]
    yield from _sign_test_rows(ranking.counts, other_pairs, pairs.members[0], PAIR)


def best_pair_row(ranking: DetectionRanking, pairs: SubsetScores, options: MarsOptions) -> Row:
    """Return the row of the best pair: compared with the best model, on these rows and new data.

    pairs: the best one first.
    """
    counts = ranking.counts
    best_model = np.eye(len(counts.models), dtype=bool)[ranking.best]
    best_pair = pairs.members[0]
    pair_totals = from_units(np.array([pairs.covered[0], pairs.effort[0]]), counts.unit)
    covered, effort = pair_totals.tolist()
    return as_row(
        {
            **_compared_sets(counts, best_pair, best_model),
            "covered": covered,
            "effort": effort,
            **_numbers_of_rows(counts, *_discordant_patterns(counts, best_pair, best_model)),
            "gain": corrected_gain(ranking, pairs, options),
        }
    )


def _sign_test_rows(
    counts: TargetCounts, members: Bools, reference: Bools, kind: str
) -> Iterator[Row]:
    """Yield sign tests of sets of models (s, k) with one set, adjusted by Holm's rule."""
    discordant_patterns = [_discordant_patterns(counts, subset, reference) for subset in members]
    p_values = [
        sign_test_p(counts, subset_only, reference_only)
        for subset_only, reference_only in discordant_patterns
    ]
    adjusted_p_values = holm(p_values)
    for subset, gained_and_lost, p, p_adjusted in zip(
        members, discordant_patterns, p_values, adjusted_p_values, strict=True
    ):
        yield as_row(
            {
                "kind": kind,
                **_compared_sets(counts, subset, reference),
                **_numbers_of_rows(counts, *gained_and_lost),
                "p": p,
                "p_adjusted": p_adjusted,
            }
        )


def _discordant_patterns(
    counts: TargetCounts, subset: Bools, reference: Bools
) -> tuple[Bools, Bools]:
    """Return the target patterns that only a set detects, and that only the reference detects."""
    subset_detects = counts.hits[:, subset].any(axis=1)
    reference_detects = counts.hits[:, reference].any(axis=1)
    return np.asarray(subset_detects & ~reference_detects), np.asarray(
        reference_detects & ~subset_detects
    )


def _compared_sets(counts: TargetCounts, subset: Bools, reference: Bools) -> Row:
    """Return the cells that name the models of a set and of its reference."""
    return as_row(
        {
            "models": [*compress(counts.models, subset)],
            "reference": [*compress(counts.models, reference)],
        }
    )


def _numbers_of_rows(counts: TargetCounts, subset_only: Bools, reference_only: Bools) -> Row:
    """Return the numbers of target rows that only a set detects, and only its reference."""
    unit_counts = np.array(
        [counts.hit_n[patterns].sum() for patterns in (subset_only, reference_only)]
    )
    first_alone, second_alone = from_units(unit_counts, counts.unit).tolist()
    return as_row({"first_alone": first_alone, "second_alone": second_alone})


def corrected_gain(
    ranking: DetectionRanking, pairs: SubsetScores, options: MarsOptions
) -> Estimate:
    """Return the target rows that the best pair detects more than the best model, on new data.

    gain = detections of the pair - those of the model - the difference of their optimism

    As a number of target rows of a table of this size; never corrected upwards, though the best
    model has the larger optimism in many tables. The interval is that of the difference of two
    shares of the same rows (square-and-add of Wilson's limits), moved by the correction; a pair
    that includes the model detects as much at least. Reason if undefined: too few rows or clusters.
    """
    counts = ranking.counts
    reason = why_uncorrected(counts)
    if reason is not None:
        return Estimate(None, reason=reason)
    optimism = max(_optimism_of_gain(counts, pairs, options.seed), 0.0)
    best_model = np.eye(len(counts.models), dtype=bool)[ranking.best]
    gain, low, high = _gain_interval(counts, pairs.members[0], best_model, options)
    target_count = from_units(counts.hit_n.sum(), counts.unit).item()
    lowest_gain = 0.0 if (pairs.members[0] & best_model).any() else -1.0
    limits = (
        None if limit is None else max(limit - optimism, lowest_gain) * target_count
        for limit in (low, high)
    )
    return Estimate((gain - optimism) * target_count, *limits)


def _optimism_of_gain(counts: TargetCounts, pairs: SubsetScores, seed: int) -> float:
    """Return the optimism of the best pair, less that of the best model.

    pairs: the best one first; of pairs beyond MOST_RIVALS none is likely to win.
    """
    rng = random_stream(seed, "gain of the best pair")
    rival_pairs = pairs.take(np.arange(len(pairs)) < MOST_RIVALS)
    single_models = score_subsets(counts, np.eye(len(counts.models), dtype=bool))
    candidates = SubsetScores.joined([rival_pairs, single_models])
    candidate_sets = CandidateSets.from_counts(counts, candidates, rng, alarms=False)
    is_pair = np.arange(len(candidates)) < len(rival_pairs)
    pair_sets = candidate_sets.take(is_pair)
    model_sets = candidate_sets.take(~is_pair)
    pair_optimism = pair_sets.detection_optimism(pair_sets.winners())
    return pair_optimism - model_sets.detection_optimism(model_sets.winners())


def _gain_interval(
    counts: TargetCounts, pair: Bools, model: Bools, options: MarsOptions
) -> tuple[float, float | None, float | None]:
    """Return the difference of the shares of target rows detected, and its limits."""
    discordant_patterns = np.array(_discordant_patterns(counts, pair, model))
    pair_only, model_only = (discordant_patterns @ counts.hit_n).tolist()
    target_total = counts.hit_n.sum().item()
    if options.confidence is None:
        return (pair_only - model_only) / target_total, None, None
    divisor = _effective_divisor(counts, discordant_patterns, options.level)
    limits = weighted_difference(
        1.0,
        pair_only / divisor,
        1.0,
        model_only / divisor,
        target_total / divisor,
        level=options.level,
    )
    difference, low, high = (float(limit) for limit in limits)
    return difference, low, high


def _effective_divisor(counts: TargetCounts, patterns: Bools, level: float) -> float:
    """Return the divisor of counts of dependent rows: of the share that varies most, or 1."""
    if counts.clusters is None:
        return 1.0
    is_target = target_patterns(counts)
    all_patterns = np.zeros((len(patterns), len(is_target)), bool)
    all_patterns[:, : patterns.shape[1]] = patterns
    divisors = count_divisor(
        *share_design(counts.clusters, all_patterns, is_target[None]), level=level
    )
    finite_divisors = divisors[np.isfinite(divisors)]
    return float(finite_divisors.max()) if finite_divisors.size else 1.0


def equal_effort_rows(
    predictions: PredictionCounts, ranking: DetectionRanking, effort: float, target: str
) -> Iterator[Row]:
    """Yield what single models with scores detect at a threshold that flags as many rows as a set.

    effort: rows flagged by the set, in units; each model flags at most as many. Only of tables of
    at most MOST_ROWS rows, whose scores are known.
    """
    if predictions.patterns.rows > MOST_ROWS or predictions.min_cell:
        return
    unit = ranking.counts.unit
    index_by_model = {
        model.name: index
        for index, model in enumerate(predictions.models)
        if model.kind != "label" and model.name in ranking.counts.models
    }
    model_names = [ranking.counts.models[index] for index in ranking.order]
    scored_names = [name for name in model_names if name in index_by_model]
    for model_name in scored_names[:MOST_SCORED]:
        scores = predictions.scores(index_by_model[model_name])[None]
        point = _point_of_effort(scores, effort, target)
        if point is not None:
            threshold, covered, flagged = point
            yield as_row(
                {
                    "model": model_name,
                    "threshold": threshold,
                    "covered": from_units(np.asarray(covered), unit).item(),
                    "effort": from_units(np.asarray(flagged), unit).item(),
                }
            )


def _point_of_effort(
    scores: ScoreCounts, effort: float, target: str
) -> tuple[float, float, float] | None:
    """Return threshold, target rows detected and rows flagged: at most `effort`, in units.

    With negative target a model flags the rows below the threshold, else those from it upwards.
    """
    if target == "positive":
        target_counts, other_counts = scores.positives[::-1], scores.negatives[::-1]
        thresholds: Floats = scores.scores[::-1]
    else:
        target_counts, other_counts = scores.negatives, scores.positives
        thresholds = np.append(scores.scores[1:], np.inf)
    covered = np.cumsum(target_counts)
    flagged = covered + np.cumsum(other_counts)
    point_index = int(np.searchsorted(flagged, effort * (1 + 1e-12), side="right")) - 1
    if point_index < 0:
        return None
    return float(thresholds[point_index]), float(covered[point_index]), float(flagged[point_index])
