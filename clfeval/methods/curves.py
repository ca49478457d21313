"""ROC curves, their hulls and areas, curves in the phi-delta plane, and decision curves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import acos, isfinite
from typing import Any, Literal

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints, divide, safe_for_products
from clfeval.counts.clusters_and_weights import RowWeights
from clfeval.counts.patterns import ConfusionCounts, from_units
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Estimate, Row, Rows, as_row
from clfeval.document.rows import deferred_rows
from clfeval.inference.distributions import simultaneous_level
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.convex_hull import upper_hull_vertices
from clfeval.measures.isotonic import isotonic_shares
from clfeval.measures.odds import OutcomeCosts, phi_delta
from clfeval.measures.record import Population
from clfeval.methods.confidence_limits import measure_limits
from clfeval.methods.estimates import Cells, estimate_column, rows_from_columns
from clfeval.methods.measurement.net_benefits import (
    CONTRIBUTION_DIGITS,
    RowContributions,
    confusions_at,
    net_benefit_estimates,
)
from clfeval.methods.measurement.score_measures import estimate_score_measure
from clfeval.methods.options import IntervalSettings
from clfeval.records import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class RocPoints:
    """ROC points (h,) from (0, 0) to (1, 1): thresholds from infinity down, rows at or above."""

    thresholds: Floats
    tp: Counts
    fp: Counts

    @property
    def tables(self) -> Confusion:
        """The 2 x 2 tables, (h,) cells each."""
        tp = self.tp.astype(np.float64)
        fp = self.fp.astype(np.float64)
        return Confusion(tp, fp, tp[-1] - tp, fp[-1] - fp)

    def take(self, places: Ints | Bools | slice) -> RocPoints:
        """Return some of the points."""
        return RocPoints(self.thresholds[places], self.tp[places], self.fp[places])


def roc_points(counts: ScoreCounts) -> RocPoints:
    """Return every point: infinity, then the m distinct scores downward; m + 1 of them."""
    tp, fp = (running_counts[-1] - running_counts[::-1] for running_counts in counts.running)
    return RocPoints(np.append(counts.scores, np.inf)[::-1], tp, fp)


def candidate_points(counts: ScoreCounts) -> RocPoints:
    """Return the ROC points that contain, at every odds, the optimum of every measure.

    They are the corners and the vertices of the upper and lower convex hull: h of m + 1 points, in
    O(m). Along a hull edge every measure but the geometric mean of the rates has its optimum at an
    end, and of equal values the first by `ThresholdRule.places`.
    Below the chance line MCC, EPA and the diagnostic odds ratio, undefined in the corners, can be
    largest between vertices. Where no point lies above that line, the candidates are also all
    points that only a corner exceeds in both rates.
    With one class only, the corners alone are returned.
    """
    points = roc_points(counts)
    return points.take(np.unique(hull_places(points.tp[None], points.fp[None])))


def hull_places(tp: Counts, fp: Counts) -> Ints:
    """Return the indices of `candidate_points` of curves (b, m): (b, h), padded with the last."""
    point_count = tp.shape[1]
    starts, is_candidate = np.zeros((2, *tp.shape), bool)
    starts[:, 0] = is_candidate[:, -1] = True
    # the lower hull is the upper one with the axes exchanged
    upper_vertices, lower_vertices = (
        upper_hull_vertices(vertical.ravel(), horizontal.ravel(), starts.ravel())
        for vertical, horizontal in ((tp, fp), (fp, tp))
    )
    is_candidate.flat[upper_vertices] = is_candidate.flat[lower_vertices] = True
    for curve_index in np.flatnonzero(
        np.bincount(upper_vertices // point_count, minlength=len(tp)) <= 2
    ).tolist():
        if tp[curve_index, -1] and fp[curve_index, -1]:
            is_candidate[curve_index, pareto_points(tp[curve_index], fp[curve_index])] = True
    most_candidates = is_candidate.sum(axis=1).max()
    point_order = np.argsort(~is_candidate, axis=1, kind="stable")[:, :most_candidates]
    return np.where(
        np.take_along_axis(is_candidate, point_order, axis=1), point_order, point_count - 1
    )


def pareto_points(tp: Counts, fp: Counts) -> Ints:
    """Return the indices of the Pareto front of the inner points; tp and fp (n,) ascending."""
    gains_tp = np.diff(tp[1:-1]) > 0
    gains_fp = np.diff(fp[1:-1]) > 0
    is_on_front = np.ones(max(0, len(tp) - 2), bool)
    is_on_front[1:] &= gains_tp
    is_on_front[:-1] &= gains_fp | ~gains_tp
    return np.flatnonzero(is_on_front) + 1


MOST_POINTS = 200  # points of a curve listed by default
_CURVE_COLUMNS = (
    "gini",
    "roc_auc",
    "best_threshold",
    "best_phi",
    "best_delta",
    "break_even_threshold",
    "break_even_delta",
    "points",
)


@dataclass(frozen=True, slots=True, eq=False)
class PhiDeltaCurve:
    """A model's ROC curve, m + 1 points, as phi and delta from (-1, 0) to (1, 0)."""

    points: RocPoints
    phi: Floats
    delta: Floats
    counts: ScoreCounts

    @classmethod
    def from_scores(cls, counts: ScoreCounts) -> PhiDeltaCurve:
        """Build the curve from the highest score down; both classes are required."""
        points = roc_points(counts)
        tp, fp = points.tp, points.fp
        return cls(points, *phi_delta(tp / tp[-1], fp / fp[-1]), counts)

    @property
    def best(self) -> int:
        """The index of the largest delta; ties: the least biased, then the highest threshold."""
        tp, fp = safe_for_products(self.points.tp, self.points.fp)
        positives, negatives = tp[-1], fp[-1]
        gain = tp * negatives - fp * positives  # whole numbers, so that equal means equal
        tied_indices = np.flatnonzero(gain == gain.max())
        return int(
            tied_indices[
                np.abs(
                    tp[tied_indices] * negatives
                    + fp[tied_indices] * positives
                    - positives * negatives
                ).argmin()
            ]
        )

    def break_even(self) -> tuple[float | None, float]:
        """Return the threshold nearest to phi = 0, then of larger delta, and delta interpolated."""
        tp, fp = safe_for_products(self.points.tp, self.points.fp)
        positives, negatives = tp[-1], fp[-1]
        distances = np.abs(tp * negatives + fp * positives - positives * negatives)
        tied_indices = np.flatnonzero(distances == distances.min())
        best_index = int(
            tied_indices[(tp[tied_indices] * negatives - fp[tied_indices] * positives).argmax()]
        )
        threshold = self.points.thresholds[best_index].item()
        delta = float(np.interp(0.0, self.phi, self.delta))
        return threshold if np.isfinite(threshold) else None, delta


def curve_row(
    slice_name: str | None, model: str, curve: PhiDeltaCurve | None, level: float | None
) -> Row:
    """Return Gini, AUC, best point and break-even point of one curve, None with one class only."""
    values: list[Any] = [*[Estimate(None, reason="single_class")] * 2, *[None] * 5, 0]
    bound: Row = as_row({})
    if curve is not None:
        gini, auc = (
            estimate_score_measure(CATALOG[name], curve.counts, IntervalSettings(level), model)
            for name in ("gini", "roc_auc")
        )
        best_index = curve.best
        thresholds = curve.points.thresholds
        threshold = thresholds[best_index].item() if isfinite(thresholds[best_index]) else None
        best_point = (threshold, curve.phi[best_index].item(), curve.delta[best_index].item())
        values = [gini.value, auc.value, *best_point, *curve.break_even(), len(thresholds)]
        bound = as_row({}) if auc.bound is None else as_row({"bound": auc.bound})
    cells = dict(zip(_CURVE_COLUMNS, values, strict=True))
    return as_row({"slice": slice_name, "model": model, **cells, **bound})


def point_rows(
    slice_name: str | None, model: str, curve: PhiDeltaCurve, points: int | Literal["all"] | None
) -> list[Row]:
    """Return the points of a curve, or evenly spaced ones with both ends and the best.

    points: how many at most, or all; None for the default.
    """
    point_count = len(curve.points.thresholds)
    point_limit = MOST_POINTS if points is None else points
    point_indices = np.arange(point_count)
    if point_limit != "all" and point_count > point_limit:
        best_indices = [curve.best] if point_limit > 2 else []
        even_indices = (
            np.linspace(0, point_count - 1, point_limit - len(best_indices))
            .round()
            .astype(np.int64)
        )
        point_indices = np.union1d(even_indices, best_indices).astype(np.int64)
    listed_points = curve.points.take(point_indices)
    unit = curve.counts.unit
    columns = {
        "threshold": [
            threshold if isfinite(threshold) else None
            for threshold in listed_points.thresholds.tolist()
        ],
        "tp": from_units(listed_points.tp, unit).tolist(),
        "fp": from_units(listed_points.fp, unit).tolist(),
        "sensitivity": (listed_points.tp / curve.points.tp[-1].item()).tolist(),
        "specificity": (1 - listed_points.fp / curve.points.fp[-1].item()).tolist(),
        "phi": curve.phi[point_indices].tolist(),
        "delta": curve.delta[point_indices].tolist(),
    }
    return rows_from_columns(columns, slice=slice_name, model=model)


def isotonic_rows(slice_name: str | None, model: str, counts: ScoreCounts) -> Rows:
    """Return the isotonic calibration curve: scores from, to, their rows, and share of positives.

    The shares rise with the score and have the least squared error of all that do. They are the
    slopes of the upper hull of the ROC points. Scores must be probabilities. Sources: Ayer et al.
    1955, Annals of Mathematical Statistics 26:641; Fawcett and Niculescu-Mizil 2007, Machine
    Learning 68:97.
    """
    blocks = isotonic_shares(counts.scores, counts.positives, counts.negatives)
    columns = {
        "from": counts.scores[blocks.starts].tolist(),
        "to": counts.highest[blocks.stops - 1].tolist(),
        "rows": from_units(blocks.rows, counts.unit).tolist(),
        "isotonic": blocks.shares.tolist(),
    }
    row_count = len(blocks.shares)
    return deferred_rows(
        row_count, lambda: rows_from_columns(columns, slice=slice_name, model=model)
    )


GRID = np.arange(1, 100) / 100  # threshold probabilities of a decision curve


def decision_rows(
    slice_name: str | None,
    model: str,
    counts: ScoreCounts,
    level: float | None,
    population: Population | None = None,
) -> Rows:
    """Return the decision curve: net benefit at each threshold probability t, and its gain.

    NB = TP/M - FP/M t/(1-t); treating all has pi - (1-pi) t/(1-t), treating none 0. gain: NB less
    the larger of these two, which is TN/M t/(1-t) - FN/M or NB. helps: NB, and NB less that of
    treating all, lie above 0 by confidence limits simultaneous for all thresholds (see
    `_simultaneous_level`). Limits are those of `net_benefit`. Scores must be probabilities.
    population: of another prevalence pi, where NB = pi sens - (1-pi) (1-spec) t/(1-t), with the
    rates of these rows.
    Source: Vickers and Elkin 2006, Medical Decision Making 26:565.
    """
    tables = confusions_at(counts, GRID)
    if population is not None and not (tables.positives[0] and tables.negatives[0]):
        population = None
    curve = _NetBenefitCurve(tables, population)
    if counts.clusters is not None:  # needs all scores, which are not kept
        rows = _decision_curve(slice_name, model, curve, level, counts)
        return deferred_rows(len(rows), lambda: rows)
    return deferred_rows(len(GRID), lambda: _decision_curve(slice_name, model, curve, level))


def _decision_curve(
    slice_name: str | None,
    model: str,
    curve: _NetBenefitCurve,
    level: float | None,
    counts: ScoreCounts | None = None,
) -> list[Row]:
    """Return the rows of a decision curve; counts: the scores, if limits need them."""
    tables = curve.tables
    joint_level = None if level is None else curve.simultaneous_level(counts, level)
    treat_all = curve.treat_all.tolist()
    benefits, gains_over_all = curve.estimates(level)
    gains = [
        over_all if all_benefit > 0 else benefit
        for all_benefit, over_all, benefit in zip(treat_all, gains_over_all, benefits, strict=True)
    ]
    joint_estimates = zip(*curve.estimates(joint_level), strict=True)
    population: dict[str, float] = {}
    if curve.population is not None:
        population["prevalence"] = curve.population.prevalence
    columns: dict[str, Sequence[Any]] = {
        "threshold": GRID.tolist(),
        "flagged": divide(tables.tp + tables.fp, tables.positives + tables.negatives).tolist(),
        "net_benefit": benefits,
        "treat_all": treat_all,
        "gain": gains,
        "helps": [_both_above(*benefit_and_gain) for benefit_and_gain in joint_estimates],
    }
    return rows_from_columns(columns, slice=slice_name, model=model, **population)


def _both_above(benefit: Estimate, over_all: Estimate) -> bool | None:
    """Return whether both lower limits lie above 0; None without limits."""
    if benefit.low is None or over_all.low is None:
        return None
    return min(benefit.low, over_all.low) > 0


@dataclass(frozen=True, slots=True, eq=False)
class _NetBenefitCurve:
    """Net benefit at the thresholds of `GRID`; population: of another prevalence."""

    tables: ConfusionCounts
    population: Population | None

    @property
    def odds(self) -> Floats:
        """The exchange rate t / (1 - t)."""
        return np.asarray(GRID / (1 - GRID))

    @property
    def treat_all(self) -> Floats:
        """The net benefit of treat-all."""
        if self.population is not None:
            prevalence = self.population.prevalence
            return np.asarray(prevalence - (1 - prevalence) * self.odds)
        tables = self.tables
        row_count = tables.positives + tables.negatives
        return divide(tables.positives - self.odds * tables.negatives, row_count)

    def estimates(self, level: float | None) -> tuple[Sequence[Estimate], Sequence[Estimate]]:
        """Return the net benefit, and its gain over treat-all."""
        if self.population is None:
            model_contributions, gain_contributions = self._contributions
            benefit = net_benefit_estimates(self.tables, model_contributions, level)
            return benefit, net_benefit_estimates(self.tables, gain_contributions, level)
        ratio = np.full(len(GRID), self.population.ratio)
        cells = Cells.at_odds(self.tables, np.arange(len(GRID)), ratio)
        zero = np.zeros(len(GRID))
        benefit_costs = OutcomeCosts(GRID, 1 - GRID)  # type: ignore[arg-type]  # of each threshold
        gain_costs = OutcomeCosts(zero, zero + 1, zero, self.odds)  # type: ignore[arg-type]
        losses = _estimates_with_costs("expected_cost", cells, gain_costs, level)
        gains = [loss.negative() for loss in losses]
        return _estimates_with_costs("net_benefit", cells, benefit_costs, level), gains

    @property
    def _contributions(self) -> tuple[RowContributions, RowContributions]:
        """The contributions of TP, FP, TN and FN to net benefit, and to its gain over treat-all."""
        full = np.ones(len(GRID))
        zero = np.zeros(len(GRID))
        return (full, self.odds, zero, zero), (zero, zero, self.odds, full)

    def simultaneous_level(self, counts: ScoreCounts | None, level: float) -> float:
        """Return the level at which confidence limits hold at all thresholds together."""
        model_contributions, gain_contributions = self._contributions
        treats_all = self.treat_all > 0
        tp_values, fp_values, tn_values, fn_values = (
            np.where(treats_all, *contribution_pair)
            for contribution_pair in zip(gain_contributions, model_contributions, strict=True)
        )
        if self.population is None:
            contributions = (tp_values, fp_values, tn_values, fn_values)
            return _simultaneous_level(counts, self.tables, contributions, level)
        # rows of a class count as often as its share of the population
        prevalence = self.population.prevalence
        positive_weight = divide(prevalence, self.tables.positives[0])
        negative_weight = divide(1 - prevalence, self.tables.negatives[0])
        weighted_contributions = (
            tp_values * positive_weight,
            fp_values * negative_weight,
            tn_values * negative_weight,
            fn_values * positive_weight,
        )
        return _simultaneous_level(
            counts, self.tables, weighted_contributions, level, by_class=True
        )


def _estimates_with_costs(
    measure: str, cells: Cells, costs: OutcomeCosts, level: float | None
) -> Sequence[Estimate]:
    """Return a measure of tables in another population, with the costs of each."""
    record = CATALOG[measure].with_settings(stakes=costs)
    limits = None if level is None else measure_limits(measure, cells, level=level, stakes=costs)
    return estimate_column(record.function(cells.tuned), limits, cells, record.undefined_at_odds)


def _simultaneous_level(
    counts: ScoreCounts | None,
    tables: ConfusionCounts,
    contributions: RowContributions,
    level: float,
    *,
    by_class: bool = False,
) -> float:
    """Return the level for joint coverage by arccos(correlation) of neighbours, or Bonferroni's.

    counts: the scores, if rows have clusters or weights. contributions: of TP, FP, TN and FN.
    by_class: the class totals are fixed, as they are at another prevalence.
    """
    threshold_count = len(tables.tp)
    tp_values, fp_values, tn_values, fn_values = (
        cell_values[:, None] for cell_values in contributions
    )
    # whether, at each threshold, the rows of each interval between thresholds are flagged
    is_flagged = np.arange(threshold_count + 1) > np.arange(threshold_count)[:, None]
    row_contributions = np.hstack(
        [np.where(is_flagged, tp_values, -fn_values), np.where(is_flagged, -fp_values, tn_values)]
    )
    row_counts = np.concatenate(
        [
            -np.diff(tables.tp, prepend=tables.positives[0], append=0),
            -np.diff(tables.fp, prepend=tables.negatives[0], append=0),
        ],
        dtype=np.float64,
    )
    class_slices: list[slice] = [slice(0, None)]
    if by_class:
        class_slices = [slice(0, threshold_count + 1), slice(threshold_count + 1, None)]
    for class_slice in class_slices:
        mean_contributions = divide(
            row_contributions[:, class_slice] @ row_counts[class_slice],
            np.full(threshold_count, row_counts[class_slice].sum()),
        )
        row_contributions[:, class_slice] -= mean_contributions[:, None]
    scale = float(np.abs(row_contributions).max()) if by_class else 1.0
    row_contributions = np.round(row_contributions / (scale or 1.0), CONTRIBUTION_DIGITS)
    total_turn = _total_turn(_independent_parts(row_contributions, row_counts, counts))
    return min(
        simultaneous_level(level, turn=total_turn),
        simultaneous_level(level, comparisons=threshold_count),
    )


def _independent_parts(
    contributions: Floats, row_counts: Floats, counts: ScoreCounts | None
) -> Iterable[Floats]:
    """Return, per threshold, contributions of independent rows or clusters, for correlations.

    contributions (m, 2 m + 2): of rows between two thresholds, positives first; row_counts: their
    number; counts: the scores, if rows have clusters or weights.
    """
    clusters = None if counts is None else counts.clusters
    if counts is None or clusters is None:
        return contributions * np.sqrt(row_counts)
    interval_indices = np.searchsorted(GRID, counts.scores, side="right")
    column_indices = np.concatenate([interval_indices, interval_indices + len(contributions) + 1])
    if isinstance(clusters, RowWeights):
        return contributions * np.sqrt(
            np.bincount(column_indices, clusters.squares, len(row_counts))
        )
    return (
        clusters.totals(threshold_contributions[column_indices][None])[0]
        for threshold_contributions in contributions
    )


def _total_turn(vectors: Iterable[Floats]) -> float:
    """Return the sum of the angles between neighbouring vectors; those of length 0 are left out."""
    total_angle = 0.0
    previous_direction = None
    for vector in vectors:
        if length := float(np.sqrt(vector @ vector)):
            direction = vector / length
            if previous_direction is not None:
                total_angle += acos(min(1.0, max(-1.0, float(direction @ previous_direction))))
            previous_direction = direction
    return total_angle
