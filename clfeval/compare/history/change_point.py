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
    the interval², (n,). rows: the number of the set of rows of each line, (n,).
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
    screen = tested_measures(command)
    for lines in series.values():
        if lines[-1].label == label:
            points += _points_of_model(lines, screen)
    adjusted = adjusted_fdr([point.change for point in points])
    tested = [replace(point, change=change) for point, change in zip(points, adjusted, strict=True)]
    significant = [point for point in tested if point.change.significant(point.level)]
    return sorted(significant, key=lambda point: point.change.adjusted or 0.0)


def _points_of_model(
    lines: Sequence[HistoryLine], screen: Collection[str]
) -> Iterator[ChangePoint]:
    """Yield the change point of each tested measure of a model, not adjusted."""
    last = lines[-1]
    path = [line for line in lines if line.settings == last.settings]
    measures = [measure for measure in last.measures if measure in screen]
    level = last.level or LEVEL
    rows = row_sets(path)
    scales = level_scales(path, level)
    candidates = (measure_series(path, measure, rows, scales) for measure in measures)
    series = [estimates for estimates in candidates if estimates is not None]
    splits = [best_split(estimates) for estimates in series]
    segments = [
        segment_means(estimates, split) for estimates, split in zip(series, splits, strict=True)
    ]
    changes = changes_of_independent(segments, level=level)
    for estimates, split, change in zip(series, splits, changes, strict=True):
        if change.p is None:
            continue
        position = estimates.positions[split]
        yield ChangePoint(
            estimates.measure,
            path[estimates.positions[0]],
            path[position - 1],
            path[position],
            last,
            float(estimates.limits[0, split]),
            replace(change, p=largest_change_p(change.p, estimates)),
            level,
        )


def row_sets(lines: Sequence[HistoryLine]) -> Ints:
    """Return the number of the set of rows of each line, (n,), equal where two have the same rows.

    Lines without a digest have the rows of the same files, or rows of their own.
    """
    numbers: dict[object, int] = {}
    sets = np.arange(len(lines))
    for position, line in enumerate(lines):
        files = line.data if line.data and None not in line.data else None
        keys = [key for key in (line.truth, files) if key is not None]
        if keys:
            sets[position] = numbers.get(keys[0], position)
        for key in keys:
            numbers.setdefault(key, int(sets[position]))
    return sets


def level_scales(lines: Sequence[HistoryLine], level: float) -> Floats:
    """Return the factors (n,) by which intervals of the lines are scaled to a level."""
    levels = {line.level or level for line in lines}
    factors = {
        line_level: critical_value(level) / critical_value(line_level) for line_level in levels
    }
    return np.array([factors[line.level or level] for line in lines])


def measure_series(
    path: Sequence[HistoryLine], measure: str, rows: Ints, scales: Floats
) -> MeasureSeries | None:
    """Return the estimates of a measure that have an interval; None of fewer than two.

    A line with the rows and the value of the line before is left out: nothing changed. rows (n,):
    number of the set of rows of each line. scales (n,): of the intervals.
    """
    cells = [line.measures.get(measure, MISSING_MEASURE) for line in path]
    limits = np.array([(cell.value, cell.low, cell.high) for cell in cells], np.float64)
    with np.errstate(all="ignore"):
        widths = limits[:, 2] - limits[:, 1]
    positions = np.flatnonzero((widths > 0) & (widths < np.inf) & np.isfinite(limits[:, 0]))
    values = limits[positions, 0]
    repeated = (values[1:] == values[:-1]) & (rows[positions[1:]] == rows[positions[:-1]])
    positions = np.delete(positions, 1 + np.flatnonzero(repeated))
    if len(positions) < 2:
        return None
    value, low, high = limits[positions].T
    scale = scales[positions]
    lower = value - scale * np.maximum(value - low, 0.0)
    upper = value + scale * np.maximum(high - value, 0.0)
    widths = np.clip(upper - lower, SMALLEST_WIDTH, 1 / SMALLEST_WIDTH)
    return MeasureSeries(
        measure, positions.tolist(), np.array([value, lower, upper]), widths**-2.0, rows[positions]
    )


def best_split(series: MeasureSeries) -> int:
    """Return the change point of the mean, by weighted least squares.

    The k that makes (mean of k.. - mean of ..k)² a b / (a + b) largest, a and b the sums of the
    weights of either side. Values are divided by the largest one, whose square may be no float.
    """
    values = series.limits[0] / (np.abs(series.limits[0]).max() or 1.0)
    left, right = _sums_of_sides(series.weights)
    left_total, right_total = _sums_of_sides(series.weights * values)
    gains = (right_total / right - left_total / left) ** 2 * left * right / (left + right)
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


def _segment_mean(series: MeasureSeries, side: Bools) -> Estimate:
    shares = series.weights[side] / series.weights[side].sum()
    values, lower, upper = series.limits[:, side]
    _, sets = np.unique(series.rows[side], return_inverse=True)
    mean = float(shares @ values)
    below = math.hypot(*np.bincount(sets, shares * (values - lower)).tolist())
    above = math.hypot(*np.bincount(sets, shares * (upper - values)).tolist())
    return Estimate(mean, mean - below, mean + above)


def largest_change_p(p: float, series: MeasureSeries) -> float:
    """Return an upper bound of P(the largest of all changes between means >= the observed one).

    p: of the observed change alone, 2 Q(h). Z_k is the standardised change at the split k.

    P(max |Z_k| >= h) <= sum P(|Z_k| >= h) - sum P(|Z_k| >= h, |Z_k+1| >= h)
    <= 2 Q(h) + 4 sum T(h, sqrt((1 - r_k) / (1 + r_k)))

    r_k: correlation of Z_k and Z_k+1, T: Owen's function. Where lines share rows their
    correlations are unknown, and the bound is Bonferroni's.
    Source: Worsley 1982, Biometrika 69:297; Owen 1956, Annals of Mathematical Statistics 27:1075.
    """
    splits = len(series.weights) - 1
    if not series.independent:
        return min(1.0, splits * p)
    left, right = _sums_of_sides(series.weights)
    correlations = np.sqrt(left[:-1] / left[1:] * (right[1:] / right[:-1]))
    slopes = np.sqrt((1 - np.minimum(correlations, 1.0)) / (1 + correlations))
    h = abs(float(normal_quantile_array(np.array([max(p, SMALLEST_P) / 2]))[0]))
    return min(1.0, splits * p, p + 4 * float(special().owens_t(h, slopes).sum()))
