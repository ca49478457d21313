"""Change points of a history: the label from which on the mean of a measure differs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from clfeval.arrays import Bools, Floats, Ints
from clfeval.compare.baseline.changes import LEVEL
from clfeval.compare.baseline.read import better_direction, tested_measures
from clfeval.compare.change import Change, changes_of_independent
from clfeval.compare.families import adjusted_fdr
from clfeval.compare.history.file import HistoryLine, HistoryMeasure
from clfeval.document.cells import Estimate, Row, as_row
from clfeval.inference.distributions import critical_value, normal_quantile_array
from clfeval.inference.scipy_special import special
from clfeval.records import dataclass, replace

SMALLEST_P, SMALLEST_WIDTH = 1e-300, 1e-50
MISSING_MEASURE = HistoryMeasure(None)


@dataclass(frozen=True, slots=True, eq=False)
class MeasureSeries:
    """The estimates of a measure in the n lines of a model that have an interval.

    positions: of the lines. limits: value, lower and upper limit, (3, n). weights: 1 / width of
    the interval², (n,). rows: the id of the rows of each line, (n,): see `row_sets`.
    """

    measure: str
    positions: Sequence[int]
    limits: Floats
    weights: Floats
    rows: Ints

    @property
    def independent(self) -> bool:
        """Whether each line has rows of its own."""
        return len(np.unique(self.rows)) == len(self.rows)


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """The change of the mean of a measure of a model at a label.

    until, since: the last line before, and the first one after. change: from the mean of all lines
    before to the mean of all lines after; its p is that of the largest of all possible changes, and
    `adjusted` is for all measures and models. value: of the line `since`.
    """

    measure: str
    first: HistoryLine
    until: HistoryLine
    since: HistoryLine
    last: HistoryLine
    value: float
    change: Change
    level: float

    @property
    def model(self) -> str:
        """The name of the model in the trend."""
        return self.since.name

    @property
    def verdict(self) -> str | None:
        """Whether the measure became better or worse, or changed without a direction."""
        best = better_direction(self.since.command, self.measure)
        return self.change.verdict(self.measure, self.level, best=best)

    def row(self, cause: str) -> Row:
        """Return the row of `steps`; cause: what changed at the label."""
        return as_row(
            {
                "model": self.model,
                "measure": self.measure,
                "since": self.since.label,
                "cause": cause,
                "verdict": self.verdict,
                "first": self.first.label,
                "until": self.until.label,
                "old": self.change.old,
                "new": self.change.new,
                "difference": self.change.difference,
                "p": self.change.p,
                "p_adjusted": self.change.adjusted,
            }
        )


def change_points(
    series: Mapping[str, Sequence[HistoryLine]], label: str, command: str
) -> list[ChangePoint]:
    """Return the significant change points of the measures of the first screen, the worst first.

    series: lines by model, of which those with a line at the label are tested. One
    Benjamini-Hochberg family over models and measures.
    """
    points: list[ChangePoint] = []
    screen_measures = tested_measures(command)
    for lines in series.values():
        if lines[-1].label == label:
            points += _points_of_model(lines, screen_measures)
    adjusted_changes = adjusted_fdr([point.change for point in points])
    adjusted_points = [
        replace(point, change=change)
        for point, change in zip(points, adjusted_changes, strict=True)
    ]
    significant_points = [
        point for point in adjusted_points if point.change.significant(point.level)
    ]
    return sorted(significant_points, key=lambda point: point.change.adjusted or 0.0)


def _points_of_model(
    lines: Sequence[HistoryLine], screen_measures: Collection[str]
) -> Iterator[ChangePoint]:
    """Yield the change point of each measure of a model on the first screen, not adjusted."""
    last_line = lines[-1]
    comparable_lines = [line for line in lines if line.settings == last_line.settings]
    measures = [measure for measure in last_line.measures if measure in screen_measures]
    level = last_line.level or LEVEL
    row_set_ids = row_sets(comparable_lines)
    scales = level_scales(comparable_lines, level)
    candidate_series = (
        measure_series(comparable_lines, measure, row_set_ids, scales) for measure in measures
    )
    all_series = [series for series in candidate_series if series is not None]
    splits = [best_split(series) for series in all_series]
    segments = [
        segment_means(series, split) for series, split in zip(all_series, splits, strict=True)
    ]
    changes = changes_of_independent(segments, level=level)
    for series, split, change in zip(all_series, splits, changes, strict=True):
        if change.p is None:
            continue
        since_index = series.positions[split]
        yield ChangePoint(
            series.measure,
            comparable_lines[series.positions[0]],
            comparable_lines[since_index - 1],
            comparable_lines[since_index],
            last_line,
            float(series.limits[0, split]),
            replace(change, p=largest_change_p(change.p, series)),
            level,
        )


def row_sets(lines: Sequence[HistoryLine]) -> Ints:
    """Return an id of the rows of each line, (n,), the same for lines that have the same rows.

    Lines without a digest have the rows of the same files, or rows of their own.
    """
    ids_by_key: dict[object, int] = {}
    row_set_ids = np.arange(len(lines))
    for line_index, line in enumerate(lines):
        files = line.data if line.data and None not in line.data else None
        row_keys = [row_key for row_key in (line.truth, files) if row_key is not None]
        if row_keys:
            row_set_ids[line_index] = ids_by_key.get(row_keys[0], line_index)
        for row_key in row_keys:
            ids_by_key.setdefault(row_key, int(row_set_ids[line_index]))
    return row_set_ids


def level_scales(lines: Sequence[HistoryLine], level: float) -> Floats:
    """Return the factors (n,) by which intervals of the lines are scaled to a level."""
    levels = {line.level or level for line in lines}
    scale_by_level = {
        line_level: critical_value(level) / critical_value(line_level) for line_level in levels
    }
    return np.array([scale_by_level[line.level or level] for line in lines])


def measure_series(
    lines: Sequence[HistoryLine], measure: str, row_set_ids: Ints, scales: Floats
) -> MeasureSeries | None:
    """Return the estimates of a measure that have an interval; None of fewer than two.

    A line with the rows and the value of the line before is left out: nothing changed.
    row_set_ids (n,): see `row_sets`. scales (n,): see `level_scales`.
    """
    cells = [line.measures.get(measure, MISSING_MEASURE) for line in lines]
    values_and_limits = np.array([(cell.value, cell.low, cell.high) for cell in cells], np.float64)
    with np.errstate(all="ignore"):
        widths = values_and_limits[:, 2] - values_and_limits[:, 1]
    line_indices = np.flatnonzero(
        (widths > 0) & (widths < np.inf) & np.isfinite(values_and_limits[:, 0])
    )
    values = values_and_limits[line_indices, 0]
    is_repeated = (values[1:] == values[:-1]) & (
        row_set_ids[line_indices[1:]] == row_set_ids[line_indices[:-1]]
    )
    line_indices = np.delete(line_indices, 1 + np.flatnonzero(is_repeated))
    if len(line_indices) < 2:
        return None
    value, low, high = values_and_limits[line_indices].T
    scale = scales[line_indices]
    lower = value - scale * np.maximum(value - low, 0.0)
    upper = value + scale * np.maximum(high - value, 0.0)
    widths = np.clip(upper - lower, SMALLEST_WIDTH, 1 / SMALLEST_WIDTH)
    return MeasureSeries(
        measure,
        line_indices.tolist(),
        np.array([value, lower, upper]),
        widths**-2.0,
        row_set_ids[line_indices],
    )


def best_split(series: MeasureSeries) -> int:
    """Return the change point of the mean, by weighted least squares.

    The k that makes (mean of k.. - mean of ..k)² a b / (a + b) largest, a and b the sums of the
    weights of either side. Values are divided by the largest one, whose square may be no float.
    """
    values = series.limits[0] / (np.abs(series.limits[0]).max() or 1.0)
    weights_before, weights_after = _sums_of_sides(series.weights)
    sums_before, sums_after = _sums_of_sides(series.weights * values)
    gains = (
        (sums_after / weights_after - sums_before / weights_before) ** 2
        * weights_before
        * weights_after
        / (weights_before + weights_after)
    )
    return 1 + int(np.argmax(gains))


def _sums_of_sides(numbers: Floats) -> tuple[Floats, Floats]:
    """Return the sums of the numbers before and after each split, (n - 1,) each."""
    return np.cumsum(numbers)[:-1], np.cumsum(numbers[::-1])[-2::-1]


def segment_means(series: MeasureSeries, split: int) -> tuple[Estimate, Estimate]:
    """Return the weighted means before and after a split, with limits.

    limit = mean -+ sqrt(sum of (sum of c d)²), c the share of a line, d its distance to its limit;
    the inner sum is over lines with the same rows, whose errors may be equal.
    """
    sides = np.arange(len(series.weights)) < split
    return _segment_mean(series, sides), _segment_mean(series, ~sides)


def _segment_mean(series: MeasureSeries, in_segment: Bools) -> Estimate:
    weights = series.weights[in_segment] / series.weights[in_segment].sum()
    values, lower, upper = series.limits[:, in_segment]
    _, row_set_indices = np.unique(series.rows[in_segment], return_inverse=True)
    mean = float(weights @ values)
    distance_below = math.hypot(*np.bincount(row_set_indices, weights * (values - lower)).tolist())
    distance_above = math.hypot(*np.bincount(row_set_indices, weights * (upper - values)).tolist())
    return Estimate(mean, mean - distance_below, mean + distance_above)


def largest_change_p(p: float, series: MeasureSeries) -> float:
    """Return an upper bound of P(the largest of all changes between means >= the observed one).

    p: of the observed change alone, 2 Q(h). Z_k is the standardised change at the split k.

    P(max |Z_k| >= h) <= sum P(|Z_k| >= h) - sum P(|Z_k| >= h, |Z_k+1| >= h)
    <= 2 Q(h) + 4 sum T(h, sqrt((1 - r_k) / (1 + r_k)))

    r_k: correlation of Z_k and Z_k+1, T: Owen's function. Where lines share rows their
    correlations are unknown, and the bound is Bonferroni's.
    Source: Worsley 1982, Biometrika 69:297; Owen 1956, Annals of Mathematical Statistics 27:1075.
    """
    split_count = len(series.weights) - 1
    if not series.independent:
        return min(1.0, split_count * p)
    weights_before, weights_after = _sums_of_sides(series.weights)
    correlations = np.sqrt(
        weights_before[:-1] / weights_before[1:] * (weights_after[1:] / weights_after[:-1])
    )
    slopes = np.sqrt((1 - np.minimum(correlations, 1.0)) / (1 + correlations))
    h = abs(float(normal_quantile_array(np.array([max(p, SMALLEST_P) / 2]))[0]))
    return min(1.0, split_count * p, p + 4 * float(special().owens_t(h, slopes).sum()))
