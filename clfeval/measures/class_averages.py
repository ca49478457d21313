"""Measures of each of C classes against the rest, and their averages, with influence functions.

Tables n are (..., C, C), rows the truth and columns the predictions, as in `multiclass_table`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from clfeval.arrays import Counts, Floats, divide
from clfeval.measures import confusion
from clfeval.measures.confusion import Confusion, f_parts
from clfeval.measures.record import Measure, Multiclass

# macro     mean over the classes where it is defined
# weighted  mean over these classes, weighted by their true rows
# micro     of the summed cells of all classes; with one label per row micro sensitivity is accuracy
Average = Literal["macro", "weighted", "micro"]
_ROUNDING = 32 * np.finfo(np.float64).eps


def one_vs_rest_tables(n: Counts) -> Confusion:
    """Return the 2 x 2 table of each class against all others; the cells are (..., C)."""
    table = np.asarray(n)
    tp = np.diagonal(table, axis1=-2, axis2=-1)
    m = table.sum(axis=(-2, -1))[..., None]

    def less(whole: Counts, part: Counts) -> Counts:
        left = whole - part  # with fractions, rounding may leave a remainder of 0
        return left if left.dtype.kind != "f" else np.where(left > _ROUNDING * m, left, 0.0)

    truth, said = table.sum(axis=-1), table.sum(axis=-2)
    fn, fp = less(truth, tp), less(said, tp)
    return Confusion(tp, fp, fn, less(m - truth, fp))


def measure_by_class(measure: Measure, n: Counts) -> Floats:
    """Return the measure of each class, (..., C); NaN where it is undefined."""
    return measure.function(one_vs_rest_tables(n))


def class_average(measure: Measure, n: Counts, by: Average) -> Floats:
    """Return an average over the classes, (...); NaN where no class has a value.

    macro: sum S_k / n_defined   weighted: sum t_k S_k / sum t_k, t_k rows of truth
    micro: S of the sums of the cells

    The sums are over the n_defined classes where S is defined.
    """
    if by == "micro":
        each = one_vs_rest_tables(n)
        return measure.function(Confusion(*(cell.sum(axis=-1) for cell in each.cells)))
    values, weights = _values_and_weights(measure, n, by)
    return divide(np.where(weights > 0, values * weights, 0.0).sum(axis=-1), weights.sum(axis=-1))


def average_influence(measure: Measure, n: Counts, by: Average) -> Floats:
    """Return influence values f of an average in the cells, (..., C C); NaN where undefined.

    Errors: ValueError for a measure that is not averaged.
    """
    c, value = np.shape(n)[-1], class_average(measure, n, by)[..., None]
    if by == "micro":
        whole = _denominator_share(measure, n).sum(axis=-1, keepdims=True)
        # a cell is TP of its class or FN of one and FP of another, and TN of all others
        right = np.eye(c, dtype=bool).ravel()
        mine, theirs = (
            np.where(right, one[0] + (c - 1) * one[3], one[1] + one[2] + (c - 2) * one[3])
            for one in _quotient_cells(measure)
        )
        return np.asarray((mine - value * theirs) / np.where(whole > 0, whole, np.nan))
    values, weights = _values_and_weights(measure, n, by)
    summed = _summed_influence(measure, n, values, weights)
    if by == "weighted":  # the weights are shares of rows too
        truth = np.repeat(np.arange(c), c)
        summed = summed + np.where(weights > 0, values - value, 0.0)[..., truth]
    return divide(summed, weights.sum(axis=-1, keepdims=True))


def _summed_influence(measure: Measure, n: Counts, values: Floats, weights: Floats) -> Floats:
    """Return the weighted sum over classes of influence values in the cells, (..., C C).

    A cell is a true negative of all classes but those of its row and its column.
    """
    top, bottom = _quotient_cells(measure)
    some = weights > 0
    share = np.where(some, weights / np.where(some, _denominator_share(measure, n), 1.0), 0.0)
    known = np.where(some, values, 0.0)
    tp, fp, fn, tn = (share * (a - known * b) for a, b in zip(top, bottom, strict=True))
    row, column = (fn - tn)[..., :, None], (fp - tn)[..., None, :]
    c = weights.shape[-1]
    found = np.where(np.eye(c, dtype=bool), (tp - tn)[..., None], row + column)
    found = found + tn.sum(axis=-1)[..., None, None]
    return np.asarray(found.reshape(*weights.shape[:-1], c * c))


def _values_and_weights(measure: Measure, n: Counts, by: Average) -> tuple[Floats, Floats]:
    """Return the value of each class, (..., C), and its weight, 0 where undefined."""
    values, rows = measure_by_class(measure, n), np.asarray(n).sum(axis=-1)
    share = divide(rows, rows.sum(axis=-1, keepdims=True)) if by == "weighted" else 1.0
    return values, np.where(np.isnan(values), 0.0, share)


def _quotient_cells(measure: Measure) -> tuple[Floats, Floats]:
    """Return the coefficients of TP, FP, FN and TN in numerator and denominator of a measure."""
    if measure.classes is None or measure.classes.parts is None:
        raise ValueError(f"{measure.id} is not averaged over classes")
    top, bottom = measure.classes.parts(Confusion(*np.eye(4)))
    return top, bottom


def _denominator_share(measure: Measure, n: Counts) -> Floats:
    """Return the denominator of each class as a share of the rows, (..., C)."""
    cells = np.stack(one_vs_rest_tables(n).cells, axis=-1)
    return divide(cells @ _quotient_cells(measure)[1], cells.sum(axis=-1))


_RATES = (
    "sensitivity", "recall", "specificity", "precision", "npv", "fpr", "fnr", "fdr", "for",
    "jaccard",
)  # fmt: skip

# the measures of each class against the rest, by id
AVERAGED: Mapping[str, Multiclass] = {
    **{
        measure.id: Multiclass(undefined=measure.undefined, parts=measure.share)
        for measure in confusion.MEASURES
        if measure.id in _RATES
    },
    "f1": Multiclass(undefined=("nothing_positive",), parts=f_parts),
    "f_beta": Multiclass(undefined=("nothing_positive",), parts=f_parts, takes=("beta",)),
}
