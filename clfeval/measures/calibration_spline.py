"""The calibration curve as a restricted cubic spline, and its distances from the diagonal.

P(positive) = 1 / (1 + exp(-b' s(x)))   x = ln(p / (1 - p)), s(x) = (1, x, cubic terms)

by maximum likelihood, with Harrell's basis, linear beyond the outer knots. Knots are quantiles of x
over rows: five from 200 rows of the rarer class, three from 50, none below, where it is logistic.
Scores of 0 and 1 have no x: their value is the share of positives there, as that of every score
where there are at most 20 distinct ones.

Scores (m,), ascending, are distinct probabilities of the positive class, with positives and
negatives (..., m) at each; results are (...). ValueError for scores outside 0..1. row: how many
counts make a row.
Source: Harrell 2015, Regression Modeling Strategies, section 2.4; Austin and Steyerberg 2019,
Statistics in Medicine 38:4051.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints, cache_last_call, divide
from clfeval.measures.logistic import log_odds, log_odds_slice
from clfeval.measures.logistic_regression import (
    combine_functions,
    fit_logistic,
    inverse_logit,
    log_likelihood,
)
from clfeval.measures.probability import check_probabilities
from clfeval.measures.record import Measure
from clfeval.records import dataclass

QUANTILES: Mapping[int, Sequence[float]] = {5: (0.05, 0.275, 0.5, 0.725, 0.95), 3: (0.1, 0.5, 0.9)}
ROWS_OF_KNOTS = {5: 200, 3: 50}  # of the rarer class, from which there are so many
_DIGITS = 7  # of running rows: weights that are alike have whole ones but for rounding
LEVELS = 20  # distinct scores up to which each has its share of positives
_FITTED_AT_ONCE = 2**15  # scores of tables that are fitted together


def row_quantiles(values: Floats, rows: Counts, shares: Floats, row: float = 1) -> Floats:
    """Return quantiles (r, k) of ascending values with so many rows (r, m) each, as of single rows.

    values: (r, m), or (m,) where they are the same in all r tables. shares: (k,). Linear between
    the rows around (rows - 1) x share, as numpy's default.
    """
    cumulated_rows = np.round(np.cumsum(rows, axis=1, dtype=np.float64) / row, _DIGITS)
    position = np.round(shares * np.maximum(cumulated_rows[:, -1:] - 1, 0.0), _DIGITS)
    lower_position = np.floor(position)
    table_values = np.broadcast_to(values, rows.shape)
    lower, upper = (
        np.take_along_axis(
            table_values, _indices_of_rows(rows, cumulated_rows, lower_position + step), axis=1
        )
        for step in (0, 1)
    )
    return np.asarray(lower + (position - lower_position) * (upper - lower))


def _indices_of_rows(rows: Counts, cumulated_rows: Floats, positions: Floats) -> Ints:
    """Return the indices of the values of rows at positions (r, k), at most the last with rows."""
    indices = np.empty(positions.shape, np.int64)
    for table, cumulated in enumerate(cumulated_rows):
        indices[table] = np.searchsorted(cumulated, positions[table], side="right")
    last_indices = rows.shape[1] - 1 - (rows > 0)[:, ::-1].argmax(axis=1)
    return np.asarray(np.minimum(indices, last_indices[:, None]))


def spline_basis(x: Floats, knots: Floats) -> Floats:
    """Return Harrell's basis at x (m,): rows 1, x and a cubic term for all knots but two.

    Shapes: knots (k,) and the basis (q, m), or those of several tables, (r, k) and (r, q, m).
    Terms are divided by (last knot - first knot)²; without knots 1 and x.
    """
    shape = (*knots.shape[:-1], len(x))
    terms = [np.ones(shape), np.broadcast_to(x, shape)]
    if knots.shape[-1]:
        *lower_knots, second_last_knot, last_knot = np.moveaxis(knots, -1, 0)[..., None]
        *lower_cubes, second_last_cube, last_cube = (
            np.maximum(x - knot, 0) ** 3 for knot in (*lower_knots, second_last_knot, last_knot)
        )
        for knot, cube in zip(lower_knots, lower_cubes, strict=True):
            # so that the curve is linear beyond the last knot
            correction = (
                (second_last_knot - knot) * last_cube - (last_knot - knot) * second_last_cube
            ) / (last_knot - second_last_knot)
            terms.append((cube + correction) / (last_knot - lower_knots[0]) ** 2)
    return np.stack(terms, axis=-2)


def choose_knots(
    x: Floats, rows: Counts, rarer: Floats, row: float, most_knots: int | None
) -> list[Floats]:
    """Return the knots of log odds x (m,), (k,) for each of r tables.

    They are fewer, or none, where quantiles or scores are equal. rows (r, m): at each of the log
    odds. rarer (r,): rows of the rarer class, which decide how many unless `most_knots` is given.
    """
    knots = [np.zeros(0)] * len(rows)
    scores_with_rows = (rows > 0).sum(axis=1)
    is_undecided = np.ones(len(rows), bool)
    for knot_count, quantiles in QUANTILES.items():
        is_allowed = (
            rarer >= ROWS_OF_KNOTS[knot_count] if most_knots is None else most_knots >= knot_count
        )
        tables = np.flatnonzero(is_undecided & is_allowed & (scores_with_rows >= knot_count - 1))
        table_quantiles = row_quantiles(x, rows[tables], np.array(quantiles), row)
        are_distinct = (np.diff(table_quantiles) > 0).all(axis=1)
        is_undecided[tables[are_distinct]] = False
        for i in np.flatnonzero(are_distinct):
            knots[tables[i]] = table_quantiles[i]
    return knots


@dataclass(frozen=True, slots=True, eq=False)
class SplineFit:
    """A calibration curve of one table: knots (k,), coefficients (q,) and curvature (q, q)."""

    knots: Floats
    coefficients: Floats
    curvature: Floats

    def log_odds(self, x: Floats) -> Floats:
        """Return the log odds of the curve at log odds x of scores, (m,)."""
        return np.asarray(self.coefficients @ spline_basis(x, self.knots))


def fit_spline(
    x: Floats, positives: Counts, negatives: Counts, row: float = 1, knots: int | None = None
) -> SplineFit:
    """Return the spline of scores with log odds x (m,), at least two of them with rows.

    knots: how many at most, by default by the rows of the rarer class. The curvature is that of the
    log likelihood of the counts.
    """
    tables = positives[None], negatives[None]
    rarer = _rows_of_rarer_class(*tables, row)
    (knot_positions,) = choose_knots(x, (positives + negatives)[None], rarer, row, knots)
    basis = spline_basis(x, knot_positions)
    coefficients = fit_logistic(basis, *tables)
    _, _, curvature = log_likelihood(basis, *tables, coefficients)
    return SplineFit(knot_positions, coefficients[0], curvature[0])


def curve_values(
    scores: Counts, positives: Counts, negatives: Counts, row: float = 1, knots: int | None = None
) -> Floats:
    """Return the calibration curve at each score, (..., m); NaN for a table without both classes.

    By level, where at most LEVELS scores have rows, unless `knots` is given.
    """
    p = check_probabilities(scores)
    pos, neg = (np.reshape(class_counts, (-1, len(p))) for class_counts in (positives, negatives))
    rows = pos + neg
    curve = _level_shares(pos, neg)
    inner_slice = log_odds_slice(p)
    x = log_odds(p)[inner_slice]
    is_smooth = ((rows > 0).sum(axis=1) > LEVELS) | (knots is not None)
    is_smooth &= _can_be_smooth(pos, neg, inner_slice)
    tables = np.flatnonzero(is_smooth)
    if len(tables):
        have_equal_rows = (rows[tables] == rows[tables[0]]).all()
        smooth_values = _smooth_values if have_equal_rows else _smooth_values_of_each
        curve[tables, inner_slice] = smooth_values(
            x, pos[tables, inner_slice], neg[tables, inner_slice], row, knots
        )
    return np.asarray(curve.reshape(np.shape(positives)))


def _level_shares(positives: Counts, negatives: Counts) -> Floats:
    """Return the share of positives at each score of tables (r, m), NaN without both classes."""
    rows = positives + negatives
    shares = divide(positives, np.maximum(rows, 1e-300))  # scores without rows weigh nothing
    shares[~_has_both_classes(positives, negatives)] = np.nan
    return shares


def _has_both_classes(positives: Counts, negatives: Counts) -> Bools:
    """Return whether tables (r, m) have rows of both classes, (r,)."""
    return np.asarray((positives.sum(axis=1) != 0) & (negatives.sum(axis=1) != 0))


def _can_be_smooth(positives: Counts, negatives: Counts, inner_slice: slice) -> Bools:
    """Return whether tables (r, m) have both classes, and rows at two scores but 0 and 1, (r,).

    inner_slice: the scores that are neither 0 nor 1.
    """
    rows = positives[:, inner_slice] + negatives[:, inner_slice]
    scores_with_rows = (rows > 0).sum(axis=1)
    return np.asarray(_has_both_classes(positives, negatives) & (scores_with_rows > 1))


def _rows_of_rarer_class(positives: Counts, negatives: Counts, row: float) -> Floats:
    """Return the rows of the rarer class of tables (r, m), (r,)."""
    return np.asarray(np.minimum(positives.sum(axis=1), negatives.sum(axis=1)) / row)


def _smooth_values(
    x: Floats, positives: Counts, negatives: Counts, row: float, knots: int | None
) -> Floats:
    """Return the spline at each score of tables (r, m) with equal rows, by their knots."""
    rows = positives[:1] + negatives[:1]
    rarer = _rows_of_rarer_class(positives, negatives, row)
    values = np.empty(positives.shape)
    # how many of the limits the rows of the rarer class reach
    row_limits = sorted(ROWS_OF_KNOTS.values())
    knot_choices = np.searchsorted(row_limits, rarer, side="right")
    for knot_choice in np.unique(knot_choices):
        tables = np.flatnonzero(knot_choices == knot_choice)
        (knot_positions,) = choose_knots(x, rows, rarer[tables[:1]], row, knots)
        basis = spline_basis(x, knot_positions)
        values[tables] = _fitted_values(basis, positives[tables], negatives[tables])
    return values


def _smooth_values_of_each(
    x: Floats, positives: Counts, negatives: Counts, row: float, knots: int | None
) -> Floats:
    """Return the spline at each score of tables (r, m), each with knots at quantiles of its own."""
    block_size = max(1, _FITTED_AT_ONCE // len(x))
    starts = range(0, len(positives), block_size)
    blocks = [slice(start, start + block_size) for start in starts]
    return np.concatenate(
        [_smooth_block(x, positives[block], negatives[block], row, knots) for block in blocks]
    )


def _smooth_block(
    x: Floats, positives: Counts, negatives: Counts, row: float, knots: int | None
) -> Floats:
    """Return the splines of a block of tables (r, m), those with equally many knots at once."""
    rarer = _rows_of_rarer_class(positives, negatives, row)
    knot_positions = choose_knots(x, positives + negatives, rarer, row, knots)
    knot_counts = np.array([len(table_knots) for table_knots in knot_positions])
    values = np.empty(positives.shape)
    for knot_count in np.unique(knot_counts):
        tables = np.flatnonzero(knot_counts == knot_count)
        basis = spline_basis(x, np.stack([knot_positions[table] for table in tables]))
        values[tables] = _fitted_values(basis, positives[tables], negatives[tables])
    return values


def _fitted_values(basis: Floats, positives: Counts, negatives: Counts) -> Floats:
    """Return the fitted probabilities of tables (r, m) on the basis of all, or of each."""
    return inverse_logit(combine_functions(fit_logistic(basis, positives, negatives), basis))


def curve_distances(
    scores: Counts, positives: Counts, negatives: Counts, row: float = 1, knots: int | None = None
) -> Floats:
    """Return |p - c(p)| at each score, (..., m): the distance of the curve from the diagonal."""
    if row == 1 and knots is None:
        return _default_distances(scores, positives, negatives)
    return np.asarray(np.abs(curve_values(scores, positives, negatives, row, knots) - scores))


@cache_last_call  # ICI, E50 and E90 take the same distances
def _default_distances(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    return np.asarray(np.abs(curve_values(scores, positives, negatives) - scores))


def ici(
    scores: Counts, positives: Counts, negatives: Counts, row: float = 1, knots: int | None = None
) -> Floats:
    """Return the integrated calibration index, the mean over rows of |p - c(p)|; 0..1, best 0.

    Biased upwards; NaN without rows of both classes.
    """
    rows = positives + negatives
    distances = curve_distances(scores, positives, negatives, row, knots)
    return divide((rows * distances).sum(axis=-1), rows.sum(axis=-1))


def distance_quantile(
    share: float,
    scores: Counts,
    positives: Counts,
    negatives: Counts,
    row: float = 1,
    knots: int | None = None,
) -> Floats:
    """Return a quantile over rows of |p - c(p)|; share 0.5: E50, 0.9: E90, 1: Emax; as `ici`."""
    rows = np.reshape(positives + negatives, (-1, len(scores)))
    distances = curve_distances(scores, positives, negatives, row, knots).reshape(rows.shape)
    has_rows = rows > 0
    is_defined = has_rows.any(axis=1) & ~(has_rows & np.isnan(distances)).any(axis=1)
    order = np.argsort(distances[is_defined], axis=1, kind="stable")
    sorted_distances, sorted_rows = (
        np.take_along_axis(table_values[is_defined], order, axis=1)
        for table_values in (distances, rows)
    )
    quantiles = np.full(len(rows), np.nan)
    quantiles[is_defined] = row_quantiles(sorted_distances, sorted_rows, np.array([share]), row)[
        :, 0
    ]
    return quantiles.reshape(np.shape(positives)[:-1])


_AUSTIN = "Austin and Steyerberg 2019, Statistics in Medicine 38:4051"
_CURVE = "c(p) a restricted cubic spline of up to 5 knots on the log odds"
_BIASED = "biased upwards: compare it with its mean under perfect calibration"


def _distance_measure(name: str, title: str, summary_noun: str) -> Measure:
    """Return the record of a summary of the distances from the diagonal.

    summary_noun: what the summary is, in the formula.
    """
    quantile = {"e50": 0.5, "e90": 0.9}.get(name)
    return Measure(
        name,
        title,
        ici if quantile is None else partial(distance_quantile, quantile),
        "probabilities",
        ("single_class",),
        "null",
        f"{summary_noun} of |p - c(p)| over rows, {_CURVE}",
        _AUSTIN,
        ("integrated_calibration_index",) if quantile is None else (),
        best="min",
        fills=("row",),
        caveat=_BIASED,
    )


DISTANCES = ("ici", "e50", "e90")
CURVE_DISTANCES = (
    _distance_measure("ici", "ICI", "mean"),
    _distance_measure("e50", "E50", "median"),
    _distance_measure("e90", "E90", "90 % point"),
)
