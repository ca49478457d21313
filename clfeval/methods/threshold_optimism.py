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
        p = tp[..., -1:]
        n = fp[..., -1:]
        table = Confusion(*(cell.astype(np.float64) for cell in (tp, fp, p - tp, n - fp)))
        gains = self.best.measure.sign * measure_value(self.best, table)
        if self.limited is not None:
            slack = self.sign * (measure_value(self.limited, table) - self.limit)
            gains = np.where(slack >= -_TIE, gains, np.nan)
        defined = ~np.isnan(gains)
        most = np.where(defined, gains, -np.inf).max(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore"):
            is_best = defined & ((gains == most) | (gains >= most - _TIE * np.abs(most)))
        hits, false, p, n = safe_for_products(tp, fp, p, n)
        delta = hits * n - false * p  # whole numbers, so that equal means equal
        delta = np.where(is_best, delta, delta.min(axis=-1, keepdims=True) - 1)
        return np.where(defined.any(axis=-1), delta.argmax(axis=-1), -1)


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
        defined = ~np.isnan(gaps)
        mean = np.where(defined, gaps, 0).sum(axis=1) / np.maximum(defined.sum(axis=1), 1)
        return np.asarray(mean / (1 - 1 / e))  # the expected share of distinct rows in a draw


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
        positions = _best_places(rules, points.tp[None], points.fp[None], hull=hull)[:, 0]
        tables = confusions_at(counts, points.thresholds[positions])
        if reason := _explain_unknown(counts):
            return cls(points, positions, tables, tables, None, [reason] * len(positions))
        rng = random_stream(seed, f"cut\0{stream}")
        choices = _bootstrap_choices(counts, rules, rng, hull=hull)
        expected = _expected_tables(rules, tables, choices)
        if tables.sums is not None:
            independent = isinstance(counts.clusters, RowWeights)
            sums = [
                thinned_products(tables.take([i]), expected.take([i]), rows=independent)
                for i in range(len(positions))
            ]
            expected = replace(expected, sums=np.array(sums))
        seldom = np.isnan(choices.thresholds).mean(axis=1) > 0.5
        unknown = [SELDOM if flag else None for flag in seldom]
        return cls(points, positions, tables, expected, choices, unknown)

    def used(self, i: int) -> tuple[float | None, ConfusionCounts, ConfusionCounts]:
        """Return the threshold of a rule, None above every score, and the tables there."""
        cut = self.points.thresholds[self.positions[i]].item()
        return cut if isfinite(cut) else None, self.expected.take([i]), self.observed.take([i])


def _expected_tables(
    rules: Sequence[ThresholdRule], tables: ConfusionCounts, choices: BootstrapChoices
) -> ConfusionCounts:
    """Return the tables of r rules on new data: less the optimism of both rates, where positive."""
    p = tables.positives
    n = tables.negatives
    corrected = np.array(
        [
            tables.tp - choices.optimism(sensitivity) * p,
            tables.fp + choices.optimism(specificity) * n,
        ]
    )
    _correct_limits(rules, tables, choices, corrected)
    tp, fp = np.clip(corrected, 0, [p, n])
    unchanged = (tables.tp + tables.fp == 0) | (tables.fn + tables.tn == 0)
    for i, rule in enumerate(rules):
        table = float_confusion(tables.take([i]))
        new_table = Confusion(tp[i], fp[i], p[i] - tp[i], n[i] - fp[i])
        value = float(measure_value(rule.best, table).ravel()[0])
        new_value = float(measure_value(rule.best, new_table).ravel()[0])
        rises = rule.best.measure.sign * (new_value - value) > 0
        unchanged[i] |= rule.limited is None and rises
    tp = np.where(unchanged, tables.tp, tp)
    fp = np.where(unchanged, tables.fp, fp)
    return replace(tables, tp=tp, fp=fp, fn=p - tp, tn=n - fp)


def _best_places(rules: Sequence[ThresholdRule], tp: Counts, fp: Counts, *, hull: bool) -> Ints:
    """Return the indices of the best points of b curves, (b, h), by r rules: (r, b)."""
    if not hull:
        return np.stack([rule.places(tp, fp) for rule in rules])
    candidates = hull_places(tp, fp)
    tp = np.take_along_axis(tp, candidates, axis=1)
    fp = np.take_along_axis(fp, candidates, axis=1)
    best = np.stack([rule.places(tp, fp) for rule in rules])
    return np.where(best < 0, -1, candidates[np.arange(len(candidates)), best])


def _bootstrap_choices(
    counts: ScoreCounts, rules: Sequence[ThresholdRule], rng: np.random.Generator, *, hull: bool
) -> BootstrapChoices:
    """Return the thresholds of rules on bootstrap tables, of scores in at most 512 groups.

    Source: Efron 1983, Journal of the American Statistical Association 78:316; Noma et al. 2021,
    Statistics in Medicine 40:5691.
    """
    groups = counts.coarser(GROUPS)
    n = np.concatenate([groups.positives, groups.negatives])
    blocks = [
        _choices_of_draws(draws, groups, rules, hull=hull)
        for draws in resample_rows(n, groups.clusters, DRAWS, rng)
    ]
    columns = [np.concatenate(column, axis=1) for column in zip(*blocks, strict=True)]
    thresholds, hits, alarms, p, n, tp, fp = columns
    draw_tables = Confusion(hits, alarms, p - hits, n - alarms)
    (all_tp,), (all_fp,) = (
        _from_above(counts[None]) for counts in (groups.positives, groups.negatives)
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
    (tp,), (fp,) = (_from_above(counts[None]) for counts in (groups.positives, groups.negatives))
    cuts = np.concatenate([[np.inf], groups.scores[::-1]])
    by_class = draws.reshape(len(draws), 2, -1)
    by_class = by_class[(by_class.sum(axis=2) > 0).all(axis=1)]
    hits = _from_above(by_class[:, 0])
    alarms = _from_above(by_class[:, 1])
    place = _best_places(rules, hits, alarms, hull=hull)
    i = np.arange(len(by_class))
    p, n, _ = np.broadcast_arrays(hits[:, -1], alarms[:, -1], place)
    columns = (cuts[place], hits[i, place], alarms[i, place], p, n, tp[place], fp[place])
    return tuple(np.where(place < 0, np.nan, column) for column in columns)


def _correct_limits(
    rules: Sequence[ThresholdRule],
    tables: ConfusionCounts,
    choices: BootstrapChoices,
    counts: Floats,
) -> None:
    """Correct TP and FP, (2, r), for optimism of predictive values; the maximised rate stays."""
    tp, fp = counts
    for i, rule in enumerate(rules):
        limit = rule.limited
        if limit is None or limit.name not in ("precision", "npv", "fdr", "for"):
            continue
        value = float(measure_value(limit, float_confusion(tables.take([i])))[0])
        value -= float(choices.optimism(limit.measure.function)[i])
        wrong_share = min(max(1 - value if limit.measure.sign > 0 else value, 0.0), 1.0)
        p = tables.positives[i]
        n = tables.negatives[i]
        # rows of a positive at the odds of the rule, per row of a negative
        weight = 1.0 if rule.ratio is None else float(rule.ratio * n / p)
        if rule.best.name == "specificity" and n > fp[i]:
            tp[i] = p - divide((n - fp[i]) * wrong_share, (1 - wrong_share) * weight)
        elif rule.best.name == "sensitivity" and tp[i] > 0:
            fp[i] = divide(tp[i] * weight * wrong_share, 1 - wrong_share)


def thinned_products(table: ConfusionCounts, expected: ConfusionCounts, *, rows: bool) -> Floats:
    """Return the sums of products, (4, 4), of a table thinned to the expected TP and FP.

    A row stays with probability a: a² of the squares, a (1 - a) of rows. rows: independent.
    """
    assert table.sums is not None
    sums = table.sums[0]
    thinning = np.eye(4)
    variances = np.zeros(4)
    for i, cell, complement in ((0, "tp", "fn"), (1, "fp", "tn")):
        of_class = np.eye(4)[2 + i]
        thinned = np.eye(4)[i]
        thinned_cell = cell
        if _cell(expected, cell) > _cell(table, cell):  # fewer of the others
            thinned = of_class - thinned
            thinned_cell = complement
        n = _cell(table, thinned_cell)
        expected_n = _cell(expected, thinned_cell)
        stays = expected_n / n if expected_n != n else 1.0
        thinning[i] = stays * thinned if thinned_cell == cell else of_class - stays * thinned
        squares = float(thinned @ sums @ thinned) if rows else n * table.unit
        variances[i] = stays * (1 - stays) * squares
    return np.asarray(thinning @ sums @ thinning.T + np.diag(variances))


def _cell(table: ConfusionCounts, name: str) -> float:
    """Return a cell of a single table."""
    return float(getattr(table, name)[0])


def _explain_unknown(counts: ScoreCounts) -> str | None:
    """Return the reason why optimism cannot be estimated; None if it can."""
    n = np.concatenate([counts.positives, counts.negatives])
    if not np.isfinite(counts.scores).all():
        return INFINITE
    classes = zip(CLASS_REASONS, (counts.positives, counts.negatives), strict=True)
    for reason, class_counts in classes:
        if not class_counts.sum():
            return reason
    if counts.clusters is not None and counts.clusters.too_few:
        return FEW_CLUSTERS
    if smaller_class_size(n, counts.clusters) >= 2:
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
