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
    tp, fp = (below[-1] - below[::-1] for below in counts.running)
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
    width = tp.shape[1]
    starts, is_candidate = np.zeros((2, *tp.shape), bool)
    starts[:, 0] = is_candidate[:, -1] = True
    tops, bottoms = (
        upper_hull_vertices(rising.ravel(), running.ravel(), starts.ravel())
        for rising, running in ((tp, fp), (fp, tp))
    )
    is_candidate.flat[tops] = is_candidate.flat[bottoms] = True
    for row in np.flatnonzero(np.bincount(tops // width, minlength=len(tp)) <= 2).tolist():
        if tp[row, -1] and fp[row, -1]:
            is_candidate[row, pareto_points(tp[row], fp[row])] = True
    most = is_candidate.sum(axis=1).max()
    order = np.argsort(~is_candidate, axis=1, kind="stable")[:, :most]
    return np.where(np.take_along_axis(is_candidate, order, axis=1), order, width - 1)


def pareto_points(tp: Counts, fp: Counts) -> Ints:
    """Return the indices of the Pareto front of the inner points; tp and fp (n,) ascending."""
    more_tp = np.diff(tp[1:-1]) > 0
    more_fp = np.diff(fp[1:-1]) > 0
    keep = np.ones(max(0, len(tp) - 2), bool)
    keep[1:] &= more_tp
    keep[:-1] &= more_fp | ~more_tp
    return np.flatnonzero(keep) + 1


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
        p, n = tp[-1], fp[-1]
        gain = tp * n - fp * p  # whole numbers, so that equal means equal
        ties = np.flatnonzero(gain == gain.max())
        return int(ties[np.abs(tp[ties] * n + fp[ties] * p - p * n).argmin()])

    def break_even(self) -> tuple[float | None, float]:
        """Return the threshold nearest to phi = 0, then of larger delta, and delta interpolated."""
        tp, fp = safe_for_products(self.points.tp, self.points.fp)
        p, n = tp[-1], fp[-1]
        distance = np.abs(tp * n + fp * p - p * n)
        ties = np.flatnonzero(distance == distance.min())
        best = int(ties[(tp[ties] * n - fp[ties] * p).argmax()])
        threshold = self.points.thresholds[best].item()
        delta = float(np.interp(0.0, self.phi, self.delta))
        return threshold if np.isfinite(threshold) else None, delta


def curve_row(
    label: str | None, model: str, curve: PhiDeltaCurve | None, level: float | None
) -> Row:
    """Return Gini, AUC, best point and break-even point of one curve, None with one class only."""
    values: list[Any] = [*[Estimate(None, reason="single_class")] * 2, *[None] * 5, 0]
    bound: Row = as_row({})
    if curve is not None:
        gini, auc = (
            estimate_score_measure(CATALOG[name], curve.counts, IntervalSettings(level), model)
            for name in ("gini", "roc_auc")
        )
        best = curve.best
        thresholds = curve.points.thresholds
        cut = thresholds[best].item() if isfinite(thresholds[best]) else None
        best_point = (cut, curve.phi[best].item(), curve.delta[best].item())
        values = [gini.value, auc.value, *best_point, *curve.break_even(), len(thresholds)]
        bound = as_row({}) if auc.bound is None else as_row({"bound": auc.bound})
    cells = dict(zip(_CURVE_COLUMNS, values, strict=True))
    return as_row({"slice": label, "model": model, **cells, **bound})


def point_rows(
    label: str | None, model: str, curve: PhiDeltaCurve, points: int | Literal["all"] | None
) -> list[Row]:
    """Return the points of a curve, or evenly spaced ones with both ends and the best."""
    m = len(curve.points.thresholds)
    limit = MOST_POINTS if points is None else points
    places = np.arange(m)
    if limit != "all" and m > limit:
        best = [curve.best] if limit > 2 else []
        even = np.linspace(0, m - 1, limit - len(best)).round().astype(np.int64)
        places = np.union1d(even, best).astype(np.int64)
    selected = curve.points.take(places)
    unit = curve.counts.unit
    columns = {
        "threshold": [cut if isfinite(cut) else None for cut in selected.thresholds.tolist()],
        "tp": from_units(selected.tp, unit).tolist(),
        "fp": from_units(selected.fp, unit).tolist(),
        "sensitivity": (selected.tp / curve.points.tp[-1].item()).tolist(),
        "specificity": (1 - selected.fp / curve.points.fp[-1].item()).tolist(),
        "phi": curve.phi[places].tolist(),
        "delta": curve.delta[places].tolist(),
    }
    return rows_from_columns(columns, slice=label, model=model)


def isotonic_rows(label: str | None, model: str, counts: ScoreCounts) -> Rows:
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
    rows = len(blocks.shares)
    return deferred_rows(rows, lambda: rows_from_columns(columns, slice=label, model=model))


GRID = np.arange(1, 100) / 100  # threshold probabilities of a decision curve


def decision_rows(
    label: str | None,
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
        rows = _decision_curve(label, model, curve, level, counts)
        return deferred_rows(len(rows), lambda: rows)
    return deferred_rows(len(GRID), lambda: _decision_curve(label, model, curve, level))


def _decision_curve(
    label: str | None,
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
    simultaneous = zip(*curve.estimates(joint_level), strict=True)
    population: dict[str, float] = {}
    if curve.population is not None:
        population["prevalence"] = curve.population.prevalence
    columns: dict[str, Sequence[Any]] = {
        "threshold": GRID.tolist(),
        "flagged": divide(tables.tp + tables.fp, tables.positives + tables.negatives).tolist(),
        "net_benefit": benefits,
        "treat_all": treat_all,
        "gain": gains,
        "helps": [_both_above(*pair) for pair in simultaneous],
    }
    return rows_from_columns(columns, slice=label, model=model, **population)


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
        rows = tables.positives + tables.negatives
        return divide(tables.positives - self.odds * tables.negatives, rows)

    def estimates(self, level: float | None) -> tuple[Sequence[Estimate], Sequence[Estimate]]:
        """Return the net benefit, and its gain over treat-all."""
        if self.population is None:
            of_model, treated = self._contributions
            benefit = net_benefit_estimates(self.tables, of_model, level)
            return benefit, net_benefit_estimates(self.tables, treated, level)
        ratio = np.full(len(GRID), self.population.ratio)
        cells = Cells.at_odds(self.tables, np.arange(len(GRID)), ratio)
        zero = np.zeros(len(GRID))
        costs = OutcomeCosts(GRID, 1 - GRID)  # type: ignore[arg-type]  # of each threshold
        gain_costs = OutcomeCosts(zero, zero + 1, zero, self.odds)  # type: ignore[arg-type]
        lost = _estimates_with_costs("expected_cost", cells, gain_costs, level)
        over_all = [loss.negative() for loss in lost]
        return _estimates_with_costs("net_benefit", cells, costs, level), over_all

    @property
    def _contributions(self) -> tuple[RowContributions, RowContributions]:
        """The contributions of TP, FP, TN and FN to net benefit, and to its gain over treat-all."""
        full = np.ones(len(GRID))
        zero = np.zeros(len(GRID))
        return (full, self.odds, zero, zero), (zero, zero, self.odds, full)

    def simultaneous_level(self, counts: ScoreCounts | None, level: float) -> float:
        """Return the level at which confidence limits hold at all thresholds together."""
        of_model, treated = self._contributions
        better = self.treat_all > 0
        hit, false, right, miss = (
            np.where(better, *pair) for pair in zip(treated, of_model, strict=True)
        )
        if self.population is None:
            contributions = (hit, false, right, miss)
            return _simultaneous_level(counts, self.tables, contributions, level)
        # rows of a class count as often as its share of the population
        p = self.population.prevalence
        positive = divide(p, self.tables.positives[0])
        negative = divide(1 - p, self.tables.negatives[0])
        weighted = (hit * positive, false * negative, right * negative, miss * positive)
        return _simultaneous_level(counts, self.tables, weighted, level, by_class=True)


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

    by_class: the class totals are fixed, as they are at another prevalence.
    """
    m = len(tables.tp)
    hit, false, right, miss = (values[:, None] for values in contributions)
    flagged = np.arange(m + 1) > np.arange(m)[:, None]  # from each threshold on, rows between two
    rows = np.hstack([np.where(flagged, hit, -miss), np.where(flagged, -false, right)])
    n = np.concatenate(
        [
            -np.diff(tables.tp, prepend=tables.positives[0], append=0),
            -np.diff(tables.fp, prepend=tables.negatives[0], append=0),
        ],
        dtype=np.float64,
    )
    for block in (slice(0, m + 1), slice(m + 1, 2 * m + 2)) if by_class else (slice(0, None),):
        rows[:, block] -= divide(rows[:, block] @ n[block], np.full(m, n[block].sum()))[:, None]
    scale = float(np.abs(rows).max()) if by_class else 1.0
    rows = np.round(rows / (scale or 1.0), CONTRIBUTION_DIGITS)
    turn = _total_turn(_independent_parts(rows, n, counts))
    return min(simultaneous_level(level, turn=turn), simultaneous_level(level, comparisons=m))


def _independent_parts(rows: Floats, n: Floats, counts: ScoreCounts | None) -> Iterable[Floats]:
    """Return, per threshold, contributions of independent rows or clusters, for correlations.

    rows (m, 2 m + 2): contributions of rows between two thresholds, positives first; n: their
    number; counts: the scores, if rows have clusters or weights.
    """
    clusters = None if counts is None else counts.clusters
    if counts is None or clusters is None:
        return rows * np.sqrt(n)
    interval = np.searchsorted(GRID, counts.scores, side="right")
    place = np.concatenate([interval, interval + len(rows) + 1])
    if isinstance(clusters, RowWeights):
        return rows * np.sqrt(np.bincount(place, clusters.squares, len(n)))
    return (clusters.totals(row[place][None])[0] for row in rows)


def _total_turn(vectors: Iterable[Floats]) -> float:
    """Return the sum of the angles between neighbouring vectors; those of length 0 are left out."""
    turn = 0.0
    previous = None
    for vector in vectors:
        if size := float(np.sqrt(vector @ vector)):
            unit = vector / size
            if previous is not None:
                turn += acos(min(1.0, max(-1.0, float(unit @ previous))))
            previous = unit
    return turn
