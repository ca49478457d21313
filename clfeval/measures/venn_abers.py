"""Venn-Abers prediction: isotonic shares of a new row, as a negative and as a positive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Counts, Floats
from clfeval.measures.probability import check_probabilities, distinct_starts
from clfeval.records import dataclass

_PARAMETERS = ("scores", "p0", "p1")


@dataclass(frozen=True, slots=True, eq=False)
class VennAbersCalibrator:
    """q = p1 / (1 - p0 + p1), with p0 and p1 constant at each place (inductive Venn-Abers).

    scores (k,): strictly ascending. low (2 k + 1,): p0, the isotonic share at a new row that is
    added as a negative: below the lowest score, at it, between it and the next, and so on to above
    the highest. high (2 k + 1,): p1, that of a new row that is added as a positive. Both never
    fall, and low <= high.
    Sources: Vovk and Petej 2014, arXiv 1211.0025; Vovk, Petej and Fedorova 2015, NeurIPS.
    """

    scores: Floats
    low: Floats
    high: Floats

    @property
    def rises(self) -> bool:
        """Whether a higher probability never becomes a lower one: always."""
        return True

    def limits(self, p: ArrayLike) -> tuple[Floats, Floats]:
        """Return p0 and p1 of probabilities of any shape; ValueError outside 0..1."""
        scores = check_probabilities(p)
        positions = sum(np.searchsorted(self.scores, scores, side) for side in ("left", "right"))
        return np.asarray(self.low[positions]), np.asarray(self.high[positions])

    def calibrate(self, p: ArrayLike) -> Floats:
        """Return the recalibrated probabilities of any shape; ValueError outside 0..1."""
        low, high = self.limits(p)
        return np.asarray(high / (1 - low + high))

    @property
    def parameters(self) -> dict[str, list[float]]:
        """The scores, p0 and p1, as a file has them."""
        columns = zip(_PARAMETERS, (self.scores, self.low, self.high), strict=True)
        return {name: column.tolist() for name, column in columns}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Sequence[float]]) -> VennAbersCalibrator:
        """Build from the parameters of a file; ValueError for numbers that make no calibrator."""
        if missing_names := [name for name in _PARAMETERS if name not in parameters]:
            raise ValueError(f"{missing_names[0]} is missing")
        scores, low, high = (np.array(parameters[name], np.float64) for name in _PARAMETERS)
        place_count = 2 * len(scores) + 1
        if not (np.diff(check_probabilities(scores)) > 0).all():
            raise ValueError("scores do not rise from 0 to 1")
        if low.shape != (place_count,) or high.shape != (place_count,):
            raise ValueError(f"p0 and p1 are not {place_count} numbers each")
        limits = check_probabilities([low, high])
        if (np.diff(limits) < 0).any() or (low > high).any():
            raise ValueError("p0 and p1 do not rise, p0 below p1")
        return cls(scores, low, high)


def fit_venn_abers(
    scores: Floats, positives: Counts, negatives: Counts, *, row_weight: float = 1.0
) -> VennAbersCalibrator:
    """Return the Venn-Abers calibrator of counts; scores at which nothing changes are left out.

    row_weight: the weight of the new row, in the units of the counts.

    Shapes: all (m,), scores ascending. ValueError without rows or with scores that fall.
    """
    has_rows = positives + negatives > 0
    if not has_rows.any():
        raise ValueError("Venn-Abers calibration needs rows")
    x = scores[has_rows]
    starts = distinct_starts(x)
    low, high = new_row_shares(
        np.add.reduceat(positives[has_rows], starts),
        np.add.reduceat(negatives[has_rows], starts),
        row_weight=row_weight,
    )
    is_change = (np.diff(low) != 0) | (np.diff(high) != 0)
    is_step = is_change[::2] | is_change[1::2]
    place_indices = np.append(0, np.add.outer(2 * np.flatnonzero(is_step), (1, 2)))
    return VennAbersCalibrator(x[starts][is_step], low[place_indices], high[place_indices])


def new_row_shares(
    positives: Counts, negatives: Counts, *, row_weight: float = 1.0
) -> tuple[Floats, Floats]:
    """Return p0 and p1 below the first score, at it, between it and the next, ...: (2 m + 1,) each.

    O(m) in all: p0 is 1 - p1 of the exchanged classes with scores in reverse.

    Shapes: positives and negatives (m,) at distinct ascending scores, each with rows.
    Source: Vovk, Petej and Fedorova 2015, NeurIPS, algorithms 1 to 4.
    """
    rise, run = _slopes_of_positive(positives, negatives, row_weight)
    reverse_rise, reverse_run = _slopes_of_positive(negatives[::-1], positives[::-1], row_weight)
    low = _rising_share(((reverse_run - reverse_rise) / reverse_run)[::-1])
    high = _rising_share(rise / run)
    return low, np.maximum(low, high)


def _rising_share(shares: Floats) -> Floats:
    """Return shares that rise from 0 to 1 in spite of the rounding of weights."""
    return np.asarray(np.maximum.accumulate(np.clip(shares, 0.0, 1.0)))


def _slopes_of_positive(
    positives: Counts, negatives: Counts, row_weight: float
) -> tuple[Floats, Floats]:
    """Return rise and run of p1 at each place, (2 m + 1,) each."""
    running_rows, running_positives = (
        [0, *accumulate(counts.tolist())] for counts in (positives + negatives, positives)
    )
    first_places, rises, runs = np.array(
        _lines_below(running_rows, running_positives, row_weight)
    ).T
    lengths = np.diff(first_places, append=2 * len(running_rows) - 1).astype(np.int64)
    return np.repeat(rises, lengths), np.repeat(runs, lengths)


def _lines_below(
    rows: Sequence[float], positives: Sequence[float], row_weight: float
) -> list[tuple[int, float, float]]:
    """Return the lines whose slope is p1: the first place of each, its rise and its run.

    rows and positives (m + 1,): running rows and positives, the coordinates of points. A line
    touches from below the points left of the new row, and those right of it, which the new row
    moves. The next line starts at the first point that lies below this one once it is on the left:
    at the latest the point that this one touches on the right.
    """
    next_vertices = _following_vertices(rows, positives)
    lines: list[tuple[int, float, float]] = []
    left_point = right_point = 0
    while True:
        run = rows[right_point] + row_weight - rows[left_point]
        rise = positives[right_point] + row_weight - positives[left_point]
        while vertex := next_vertices[right_point]:
            longer_run = rows[vertex] + row_weight - rows[left_point]
            higher_rise = positives[vertex] + row_weight - positives[left_point]
            if higher_rise * run >= rise * longer_run:
                break
            right_point, run, rise = vertex, longer_run, higher_rise
        lines.append((2 * left_point, rise, run))
        if right_point == left_point:
            return lines
        line_start, left_point = left_point, left_point + 1
        while left_point < right_point and (
            (positives[left_point] - positives[line_start]) * run
            >= rise * (rows[left_point] - rows[line_start])
        ):
            left_point += 1


def _following_vertices(rows: Sequence[float], positives: Sequence[float]) -> list[int]:
    """Return for each point the next vertex of the lower hull of it and all later points.

    It is 0 for the last point.
    """
    next_vertices = [0] * len(rows)
    for point in range(len(rows) - 2, -1, -1):
        vertex = point + 1
        while next_vertex := next_vertices[vertex]:
            turn_product = (positives[vertex] - positives[point]) * (
                rows[next_vertex] - rows[vertex]
            )
            if turn_product < (positives[next_vertex] - positives[vertex]) * (
                rows[vertex] - rows[point]
            ):
                break
            vertex = next_vertex
        next_vertices[point] = vertex
    return next_vertices
