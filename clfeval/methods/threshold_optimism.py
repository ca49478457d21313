"""Thresholds chosen by rules, and the optimism of evaluating them on the same rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import e, isfinite

import numpy as np

from clfeval.arrays import Counts, Floats, Ints, divide, safe_for_products
from clfeval.counts.clusters_and_weights import ClusterCounts, RowWeights
from clfeval.counts.patterns import ConfusionCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Estimate
from clfeval.inference.influence_and_clusters import FEW_CLUSTERS, smaller_class_size
from clfeval.inference.resampling import random_stream
from clfeval.measures.confusion import Confusion, sensitivity, specificity
from clfeval.measures.record import CLASS_REASONS
from clfeval.methods.curves import RocPoints, candidate_points, hull_places, roc_points
from clfeval.methods.estimates import make_estimate
from clfeval.methods.measurement.label_measures import float_confusion
from clfeval.methods.measurement.net_benefits import confusions_at
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.measurement.score_measures import resample_rows
from clfeval.records import dataclass, replace

DRAWS = 400  # bootstrap tables
GROUPS = 2**9  # groups of scores on bootstrap tables
SELDOM, INFINITE = "limit_seldom_met", "infinite_scores"
_TIE = 1e-12  # relative tolerance of ties
CORRECTED_LIMITS = ("precision", "npv", "fdr", "for")  # predictive values


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdRule:
    """A measure to optimise within a limit."""

    name: str  # as in tables
    best: RequestedMeasure
    limited: RequestedMeasure | None = None  # the measure of the limit
    limit: float = 0.0  # the limit
    sign: int = 1  # 1 for a lower, -1 for an upper limit
    safe: bool = False  # a confidence limit must satisfy it
    ratio: float | None = None  # odds at which its measures hold; None for those of the rows

    def places(self, tp: Counts, fp: Counts) -> Ints:
        """Return the indices of optimal points, -1 for none; ties by tpr - fpr, then threshold.

        Shapes: tp and fp (..., h), from nothing positive to everything; result (...).
        """
        positives = tp[..., -1:]
        negatives = fp[..., -1:]
        table = Confusion(
            *(cell.astype(np.float64) for cell in (tp, fp, positives - tp, negatives - fp))
        )
        gains = self.best.measure.sign * measure_value(self.best, table)
        if self.limited is not None:
            slack = self.sign * (measure_value(self.limited, table) - self.limit)
            gains = np.where(slack >= -_TIE, gains, np.nan)
        is_defined = ~np.isnan(gains)
        largest_gain = np.where(is_defined, gains, -np.inf).max(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore"):
            is_best = is_defined & (
                (gains == largest_gain) | (gains >= largest_gain - _TIE * np.abs(largest_gain))
            )
        tp_products, fp_products, positives, negatives = safe_for_products(
            tp, fp, positives, negatives
        )
        # tpr - fpr as whole numbers, so that equal means equal
        rate_differences = tp_products * negatives - fp_products * positives
        rate_differences = np.where(
            is_best, rate_differences, rate_differences.min(axis=-1, keepdims=True) - 1
        )
        return np.where(is_defined.any(axis=-1), rate_differences.argmax(axis=-1), -1)


def measure_value(requested: RequestedMeasure, table: Confusion) -> Floats:
    """Return a measure of tables."""
    with np.errstate(all="ignore"):
        return np.asarray(requested.measure.function(table), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class BootstrapChoices:
    """Thresholds of r rules on b draws, (r, b), or NaN; tables there of the draw, of all rows."""

    thresholds: Floats
    draw_tables: Confusion
    row_tables: Confusion

    def optimism(self, formula: Callable[[Confusion], Floats]) -> Floats:
        """Return the bootstrap optimism of a measure at the chosen thresholds, (r,).

        mean over draws (measure of the draw - measure of all rows) / (1 - 1/e)
        """
        gaps = np.asarray(formula(self.draw_tables) - formula(self.row_tables))
        is_defined = ~np.isnan(gaps)
        mean_gap = np.where(is_defined, gaps, 0).sum(axis=1) / np.maximum(is_defined.sum(axis=1), 1)
        return np.asarray(mean_gap / (1 - 1 / e))  # the expected share of distinct rows in a draw


@dataclass(frozen=True, slots=True, eq=False)
class ChosenThresholds:
    """Thresholds that r rules choose among the points of a ROC curve."""

    points: RocPoints
    positions: Ints  # the points, (r,), -1 for none
    observed: ConfusionCounts  # on these rows
    expected: ConfusionCounts  # on new data
    choices: BootstrapChoices | None  # of bootstrap tables
    unknown: Sequence[str | None]  # why `expected` is unknown, (r,)

    @classmethod
    def from_scores(
        cls,
        counts: ScoreCounts,
        rules: Sequence[ThresholdRule],
        seed: int,
        stream: str,
        *,
        hull: bool = False,
    ) -> ChosenThresholds:
        """Choose thresholds and estimate their optimism, with the random stream `stream`.

        hull: search `candidate_points` only. Expected: less positive optimism of both rates.
        """
        points = candidate_points(counts) if hull else roc_points(counts)
        point_indices = _best_places(rules, points.tp[None], points.fp[None], hull=hull)[:, 0]
        tables = confusions_at(counts, points.thresholds[point_indices])
        if reason := _explain_unknown(counts):
            return cls(points, point_indices, tables, tables, None, [reason] * len(point_indices))
        rng = random_stream(seed, f"cut\0{stream}")
        choices = _bootstrap_choices(counts, rules, rng, hull=hull)
        expected = _expected_tables(rules, tables, choices)
        if tables.sums is not None:
            are_independent = isinstance(counts.clusters, RowWeights)
            sums = [
                thinned_products(
                    tables.take([rule_index]), expected.take([rule_index]), rows=are_independent
                )
                for rule_index in range(len(point_indices))
            ]
            expected = replace(expected, sums=np.array(sums))
        is_seldom_met = np.isnan(choices.thresholds).mean(axis=1) > 0.5
        unknown_reasons = [SELDOM if is_seldom else None for is_seldom in is_seldom_met]
        return cls(points, point_indices, tables, expected, choices, unknown_reasons)

    def used(self, rule_index: int) -> tuple[float | None, ConfusionCounts, ConfusionCounts]:
        """Return the threshold of a rule, None above every score, and the tables there."""
        threshold = self.points.thresholds[self.positions[rule_index]].item()
        return (
            threshold if isfinite(threshold) else None,
            self.expected.take([rule_index]),
            self.observed.take([rule_index]),
        )


def _expected_tables(
    rules: Sequence[ThresholdRule], tables: ConfusionCounts, choices: BootstrapChoices
) -> ConfusionCounts:
    """Return the tables of r rules on new data: less the optimism of both rates, where positive."""
    positives = tables.positives
    negatives = tables.negatives
    corrected = np.array(
        [
            tables.tp - choices.optimism(sensitivity) * positives,
            tables.fp + choices.optimism(specificity) * negatives,
        ]
    )
    _correct_limits(rules, tables, choices, corrected)
    tp, fp = np.clip(corrected, 0, [positives, negatives])
    is_unchanged = (tables.tp + tables.fp == 0) | (tables.fn + tables.tn == 0)
    for rule_index, rule in enumerate(rules):
        observed_table = float_confusion(tables.take([rule_index]))
        new_table = Confusion(
            tp[rule_index],
            fp[rule_index],
            positives[rule_index] - tp[rule_index],
            negatives[rule_index] - fp[rule_index],
        )
        observed_value = float(measure_value(rule.best, observed_table).ravel()[0])
        new_value = float(measure_value(rule.best, new_table).ravel()[0])
        improves = rule.best.measure.sign * (new_value - observed_value) > 0
        is_unchanged[rule_index] |= rule.limited is None and improves
    tp = np.where(is_unchanged, tables.tp, tp)
    fp = np.where(is_unchanged, tables.fp, fp)
    return replace(tables, tp=tp, fp=fp, fn=positives - tp, tn=negatives - fp)


def _best_places(rules: Sequence[ThresholdRule], tp: Counts, fp: Counts, *, hull: bool) -> Ints:
    """Return the indices of the best points of b curves, (b, h), by r rules: (r, b)."""
    if not hull:
        return np.stack([rule.places(tp, fp) for rule in rules])
    candidates = hull_places(tp, fp)
    tp = np.take_along_axis(tp, candidates, axis=1)
    fp = np.take_along_axis(fp, candidates, axis=1)
    best_candidates = np.stack([rule.places(tp, fp) for rule in rules])
    return np.where(
        best_candidates < 0, -1, candidates[np.arange(len(candidates)), best_candidates]
    )


def _bootstrap_choices(
    counts: ScoreCounts, rules: Sequence[ThresholdRule], rng: np.random.Generator, *, hull: bool
) -> BootstrapChoices:
    """Return the thresholds of rules on bootstrap tables, of scores in at most 512 groups.

    Source: Efron 1983, Journal of the American Statistical Association 78:316; Noma et al. 2021,
    Statistics in Medicine 40:5691.
    """
    groups = counts.coarser(GROUPS)
    class_counts = np.concatenate([groups.positives, groups.negatives])
    blocks = [
        _choices_of_draws(draws, groups, rules, hull=hull)
        for draws in resample_rows(class_counts, groups.clusters, DRAWS, rng)
    ]
    choice_columns = [
        np.concatenate(column_blocks, axis=1) for column_blocks in zip(*blocks, strict=True)
    ]
    thresholds, draw_tp, draw_fp, draw_positives, draw_negatives, tp, fp = choice_columns
    draw_tables = Confusion(draw_tp, draw_fp, draw_positives - draw_tp, draw_negatives - draw_fp)
    (all_tp,), (all_fp,) = (
        _from_above(group_counts[None]) for group_counts in (groups.positives, groups.negatives)
    )
    return BootstrapChoices(
        thresholds, draw_tables, Confusion(tp, fp, all_tp[-1] - tp, all_fp[-1] - fp)
    )


def _choices_of_draws(
    draws: Counts, groups: ScoreCounts, rules: Sequence[ThresholdRule], *, hull: bool
) -> tuple[Floats, ...]:
    """Return thresholds, TP, FP, P and N of draws (b, 2 m), and TP and FP of all rows, (r, b) each.

    Draws without a class are left out; all are NaN where a rule has no threshold.
    """
    (row_tp,), (row_fp,) = (
        _from_above(group_counts[None]) for group_counts in (groups.positives, groups.negatives)
    )
    thresholds = np.concatenate([[np.inf], groups.scores[::-1]])
    class_draws = draws.reshape(len(draws), 2, -1)
    class_draws = class_draws[(class_draws.sum(axis=2) > 0).all(axis=1)]
    draw_tp = _from_above(class_draws[:, 0])
    draw_fp = _from_above(class_draws[:, 1])
    point_indices = _best_places(rules, draw_tp, draw_fp, hull=hull)
    draw_indices = np.arange(len(class_draws))
    draw_positives, draw_negatives, _ = np.broadcast_arrays(
        draw_tp[:, -1], draw_fp[:, -1], point_indices
    )
    choice_columns = (
        thresholds[point_indices],
        draw_tp[draw_indices, point_indices],
        draw_fp[draw_indices, point_indices],
        draw_positives,
        draw_negatives,
        row_tp[point_indices],
        row_fp[point_indices],
    )
    return tuple(np.where(point_indices < 0, np.nan, column) for column in choice_columns)


def _correct_limits(
    rules: Sequence[ThresholdRule],
    tables: ConfusionCounts,
    choices: BootstrapChoices,
    counts: Floats,
) -> None:
    """Correct TP and FP, counts (2, r), in place for optimism of limited predictive values.

    The maximised rate stays.
    """
    tp, fp = counts
    for rule_index, rule in enumerate(rules):
        limited_measure = rule.limited
        if limited_measure is None or limited_measure.name not in CORRECTED_LIMITS:
            continue
        value = float(measure_value(limited_measure, float_confusion(tables.take([rule_index])))[0])
        value -= float(choices.optimism(limited_measure.measure.function)[rule_index])
        wrong_share = min(max(1 - value if limited_measure.measure.sign > 0 else value, 0.0), 1.0)
        positives = tables.positives[rule_index]
        negatives = tables.negatives[rule_index]
        # rows of a positive at the odds of the rule, per row of a negative
        weight = 1.0 if rule.ratio is None else float(rule.ratio * negatives / positives)
        if rule.best.name == "specificity" and negatives > fp[rule_index]:
            tp[rule_index] = positives - divide(
                (negatives - fp[rule_index]) * wrong_share, (1 - wrong_share) * weight
            )
        elif rule.best.name == "sensitivity" and tp[rule_index] > 0:
            fp[rule_index] = divide(tp[rule_index] * weight * wrong_share, 1 - wrong_share)


def thinned_products(table: ConfusionCounts, expected: ConfusionCounts, *, rows: bool) -> Floats:
    """Return the sums of products, (4, 4), of a table thinned to the expected TP and FP.

    A row stays with probability a: a² of the squares, a (1 - a) of rows. rows: whether independent.
    """
    assert table.sums is not None
    sums = table.sums[0]
    thinning = np.eye(4)
    variances = np.zeros(4)
    for cell_index, cell_name, complement_name in ((0, "tp", "fn"), (1, "fp", "tn")):
        class_unit = np.eye(4)[2 + cell_index]
        cell_unit = np.eye(4)[cell_index]
        thinned_name = cell_name
        if _cell(expected, cell_name) > _cell(table, cell_name):  # fewer of the others
            cell_unit = class_unit - cell_unit
            thinned_name = complement_name
        row_count = _cell(table, thinned_name)
        expected_count = _cell(expected, thinned_name)
        keep_probability = expected_count / row_count if expected_count != row_count else 1.0
        thinning[cell_index] = (
            keep_probability * cell_unit
            if thinned_name == cell_name
            else class_unit - keep_probability * cell_unit
        )
        squares = float(cell_unit @ sums @ cell_unit) if rows else row_count * table.unit
        variances[cell_index] = keep_probability * (1 - keep_probability) * squares
    return np.asarray(thinning @ sums @ thinning.T + np.diag(variances))


def _cell(table: ConfusionCounts, name: str) -> float:
    """Return a cell of a single table."""
    return float(getattr(table, name)[0])


def _explain_unknown(counts: ScoreCounts) -> str | None:
    """Return the reason why optimism cannot be estimated; None if it can."""
    row_counts = np.concatenate([counts.positives, counts.negatives])
    if not np.isfinite(counts.scores).all():
        return INFINITE
    classes = zip(CLASS_REASONS, (counts.positives, counts.negatives), strict=True)
    for reason, class_counts in classes:
        if not class_counts.sum():
            return reason
    if counts.clusters is not None and counts.clusters.too_few:
        return FEW_CLUSTERS
    if smaller_class_size(row_counts, counts.clusters) >= 2:
        return None
    return "too_few_clusters" if isinstance(counts.clusters, ClusterCounts) else "too_few_rows"


def extend_limits(estimate: Estimate, value: float) -> Estimate:
    """Return an estimate whose limits, if any, are extended to include a value."""
    if estimate.value is None or estimate.low is None or estimate.high is None or value != value:
        return estimate
    return make_estimate(estimate.value, min(estimate.low, value), max(estimate.high, value))


def _from_above(counts: Counts) -> Counts:
    """Return the counts at or above each threshold, (b, m + 1), of ascending scores (b, m)."""
    above = np.zeros((len(counts), counts.shape[1] + 1), counts.dtype)
    np.cumsum(counts[:, ::-1], axis=1, out=above[:, 1:])
    return above
