"""Measures of a confusion matrix of several classes, and averages over classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Counts, Floats, divide
from clfeval.measures import confusion
from clfeval.measures.confusion import Confusion, f_parts
from clfeval.measures.record import IntervalKind, Measure, Multiclass, ScaleKind


def recalls(n: Counts) -> Floats:
    """Return the recall of each class, (..., C); NaN for a class without true rows."""
    return divide(_diagonal(n), np.asarray(n).sum(axis=-1))


def balanced_accuracy(n: Counts) -> Floats:
    """Return the mean recall of the C classes; 0..1, best 1.

    NaN where truth lacks one of them: the macro recall is the mean over those it has.
    """
    return np.asarray(recalls(n).mean(axis=-1))


def kappa(n: Counts, power: int = 0) -> Floats:
    """Return Cohen's kappa, 1 - sum w n / sum w e, e as expected by chance; -1..1, best 1.

    w = 1 off the diagonal for power 0; else the distance of the classes' positions to that power:
    1 for linear, 2 for quadratic weights. NaN where truth and predictions are all of one class.
    Source: Cohen 1960, Educational and Psychological Measurement 20:37; weights by Cohen 1968,
    Psychological Bulletin 70:213.
    """
    truth, predicted = _row_and_column_sums(n)
    w = position_distances(truth.shape[-1], power)
    observed = (n * w).sum(axis=(-2, -1)) * truth.sum(axis=-1)
    expected = ((truth @ w) * predicted).sum(axis=-1)
    return np.asarray(1 - divide(observed, expected))


def mcc(n: Counts) -> Floats:
    """Return the MCC, the correlation of truth and prediction as C indicators; -1..1, best 1.

    (M sum n_kk - sum t_k p_k) / sqrt((M² - sum t_k²) (M² - sum p_k²)), t rows and p columns summed.

    NaN where all truth or all predictions are of one class. For C > 2 the least value is above -1.
    Source: Gorodkin 2004, Computational Biology and Chemistry 28:367.
    """
    truth, predicted = _row_and_column_sums(n)
    m = truth.sum(axis=-1)
    right = _diagonal(n).sum(axis=-1)
    truth_deviation = np.sqrt(_different_class_products(truth))
    predicted_deviation = np.sqrt(_different_class_products(predicted))
    covariance = m * right - (truth * predicted).sum(axis=-1)
    quotient = divide(covariance, truth_deviation * predicted_deviation)
    is_perfect = (right == m) & ~np.isnan(quotient)  # 1, not almost 1
    value = np.where(is_perfect, 1.0, np.clip(quotient, -1, 1))
    return np.asarray(np.where(value < _ROUNDING - 1, -1.0, value))


def ordinal_rmse(n: Counts) -> Floats:
    """Return the square root of the mean squared distance of positions; 0..C - 1, best 0."""
    return np.asarray(np.sqrt(_weighted_mean(n, position_distances(np.shape(n)[-1], 2))))


def expected_cost(n: Counts, costs: ArrayLike) -> Floats:
    """Return the mean cost of a row, sum n c / M, with costs c (C, C); best low.

    Errors: ValueError for costs of another shape, or that are not finite.
    """
    return _weighted_mean(n, _check_costs(n, costs))


def no_information_rate(n: Counts) -> Floats:
    """Return the accuracy of always predicting the most frequent true class; 1/C..1."""
    truth, _ = _row_and_column_sums(n)
    return divide(truth.max(axis=-1), truth.sum(axis=-1))


def position_distances(classes: int, power: int) -> Floats:
    """Return |i - j|**power, (C, C); for power 0 it is 1 off the diagonal and 0 on it."""
    positions = np.arange(classes)
    distances = np.abs(positions[:, None] - positions).astype(np.float64)
    return np.asarray(np.where(distances > 0, distances**power, 0.0))


def accuracy_influence(n: Counts) -> Floats:
    """Return influence values f of the accuracy: 1 on the diagonal and 0 off it, minus the mean."""
    return _flat_deviation(n, np.eye(np.shape(n)[-1]))


def balanced_accuracy_influence(n: Counts) -> Floats:
    """Return influence values f of balanced accuracy: (1[i = j] - recall_i) / (C share_i)."""
    truth, _ = _row_and_column_sums(n)
    c = truth.shape[-1]
    recall = recalls(n)
    row_weights = divide(truth.sum(axis=-1, keepdims=True), c * truth)
    # undefined for a table in which a class has no true rows
    lacking = np.where((truth == 0).any(axis=-1), np.nan, 0.0)[..., None, None]
    return _flat((np.eye(c) - recall[..., None]) * row_weights[..., None] + lacking)


def kappa_influence(n: Counts, power: int = 0) -> Floats:
    """Return influence values f of kappa, whose mean square over M is its variance.

    (1 - kappa) (1/E (sum_l w_il p_l + sum_k w_kj t_k) - 1) - w_ij / E, with E = sum w_ij t_i p_j,
    t and p the shares of rows and columns.
    Source: Fleiss, Cohen and Everitt 1969, Psychological Bulletin 72:323.
    """
    truth, predicted = _margin_shares(n)
    w = position_distances(truth.shape[-1], power)
    by_row = predicted @ w
    by_column = truth @ w
    e = (by_row * truth).sum(axis=-1)[..., None, None]
    value = kappa(n, power)[..., None, None]
    mixed = divide(by_row[..., :, None] + by_column[..., None, :], e)
    return _flat((1 - value) * (mixed - 1) - divide(w, e))


def mcc_influence(n: Counts) -> Floats:
    """Return influence values f of the MCC: its gradient in the cell shares minus its mean.

    (1[i = j] - t_j - p_i) / sqrt(U V) + MCC (t_i / U + p_j / V), with U = 1 - sum t²,
    V = 1 - sum p².
    """
    truth, predicted = _margin_shares(n)
    u = _different_class_products(truth)[..., None, None]
    v = _different_class_products(predicted)[..., None, None]
    value = mcc(n)[..., None, None]
    row = truth[..., :, None]
    column = predicted[..., None, :]
    hits = np.eye(truth.shape[-1]) - predicted[..., :, None] - truth[..., None, :]
    slope = divide(hits, np.sqrt(u) * np.sqrt(v)) + value * (divide(row, u) + divide(column, v))
    return _flat_deviation(n, slope)


def ordinal_rmse_influence(n: Counts) -> Floats:
    """Return influence values f of the ordinal RMSE, by the chain rule; NaN at 0."""
    twice = 2 * ordinal_rmse(n)[..., None]
    squared = _flat_deviation(n, position_distances(np.shape(n)[-1], 2))
    return divide(squared, np.where(twice > 0, twice, np.nan))


def expected_cost_influence(n: Counts, costs: ArrayLike) -> Floats:
    """Return influence values f of the expected cost: the cost of the cell minus the mean."""
    return _flat_deviation(n, _check_costs(n, costs))


def _diagonal(n: Counts) -> Counts:
    return np.asarray(np.diagonal(n, axis1=-2, axis2=-1))


def _total(n: Counts) -> Counts:
    return np.asarray(np.asarray(n).sum(axis=(-2, -1)))


def _row_and_column_sums(n: Counts) -> tuple[Floats, Floats]:
    """Return the row and column sums as floats, whose products do not overflow."""
    table = np.asarray(n)
    return table.sum(axis=-1).astype(np.float64), table.sum(axis=-2).astype(np.float64)


def _margin_shares(n: Counts) -> tuple[Floats, Floats]:
    """Return the shares of the rows and of the columns among all rows."""
    truth, predicted = _row_and_column_sums(n)
    m = truth.sum(axis=-1, keepdims=True)
    return divide(truth, m), divide(predicted, m)


def _different_class_products(margin: Floats) -> Floats:
    """Return (sum)² - sum of squares without cancellation, exactly 0 for a single class."""
    return np.asarray((margin * (margin.sum(axis=-1, keepdims=True) - margin)).sum(axis=-1))


def _weighted_mean(n: Counts, weights: Floats) -> Floats:
    return divide((n * weights).sum(axis=(-2, -1)), _total(n))


def _flat_deviation(n: Counts, slope: Floats) -> Floats:
    return _flat(slope - _weighted_mean(n, slope)[..., None, None])


def _flat(cells: Floats) -> Floats:
    return cells.reshape(*cells.shape[:-2], -1)


def _check_costs(n: Counts, costs: ArrayLike) -> Floats:
    matrix = np.asarray(costs, np.float64)
    if matrix.shape != np.shape(n)[-2:] or not np.isfinite(matrix).all():
        raise ValueError(f"costs must be finite and {np.shape(n)[-2:]}, not {matrix.shape}")
    return matrix


def _share_definition(
    share: Callable[[Counts], tuple[Counts, Counts]],
    influence: Callable[[Counts], Floats] | None = None,
) -> Multiclass:
    """Return the definition of a share of the rows."""
    return Multiclass(lambda n: divide(*share(n)), influence, share=share)


def _mean_distance(power: int) -> Multiclass:
    """Return the definition of the mean distance of the positions of truth and prediction."""
    return Multiclass(
        lambda n: _weighted_mean(n, position_distances(np.shape(n)[-1], power)),
        lambda n: _flat_deviation(n, position_distances(np.shape(n)[-1], power)),
    )


def _within_one_cells(n: Counts) -> Floats:
    return np.asarray(position_distances(np.shape(n)[-1], 1) <= 1, np.float64)


_EXPECTED_AGREEMENT_ONE = ("expected_agreement_one",)
# multiclass versions of the measures of 2 x 2 tables, by id; for others see `class_averages`
OF_TABLES: Mapping[str, Multiclass] = {
    "accuracy": _share_definition(
        lambda n: (_diagonal(n).sum(axis=-1), _total(n)), accuracy_influence
    ),
    "error_rate": _share_definition(
        lambda n: (_total(n) - _diagonal(n).sum(axis=-1), _total(n)),
        lambda n: -accuracy_influence(n),
    ),
    "balanced_accuracy": Multiclass(
        balanced_accuracy, balanced_accuracy_influence, ("class_absent",)
    ),
    "mcc": Multiclass(mcc, mcc_influence, ("zero_margin",)),
    "kappa": Multiclass(kappa, kappa_influence, _EXPECTED_AGREEMENT_ONE),
    "expected_cost": Multiclass(expected_cost, expected_cost_influence, takes=("costs",)),
    "no_information_rate": Multiclass(
        no_information_rate, share=lambda n: (np.asarray(n).sum(axis=-1).max(axis=-1), _total(n))
    ),
}


def _ordinal_measure(
    name: str,
    title: str,
    form: Multiclass,
    formula: str,
    interval: IntervalKind = "influence",
    scale: ScaleKind = "log",
    **fields: Any,
) -> Measure:
    """Return the record of a measure of ordered classes."""
    return Measure(
        name,
        title,
        form.compute,
        "classes",
        form.undefined,
        interval,
        formula,
        ordered=True,
        scale=scale,
        classes=form,
        **fields,
    )


def _weighted_kappa(power: int) -> Multiclass:
    functions = partial(kappa, power=power), partial(kappa_influence, power=power)
    return Multiclass(*functions, _EXPECTED_AGREEMENT_ONE)


_COHEN = "Cohen 1968, Psychological Bulletin 70:213"

# measures of C x C tables only; ordered: of classes with a declared order
TABLES = (
    _ordinal_measure(
        "kappa_linear",
        "linear kappa",
        _weighted_kappa(1),
        "1 - sum w n / sum w e, w the distance of the classes",
        source=_COHEN,
        scale="fisher",
        low=-1,
    ),
    _ordinal_measure(
        "kappa_quadratic",
        "quadratic kappa",
        _weighted_kappa(2),
        "1 - sum w n / sum w e, w the squared distance of the classes",
        source=_COHEN,
        scale="fisher",
        low=-1,
    ),
    _ordinal_measure(
        "ordinal_mae",
        "ordinal MAE",
        _mean_distance(1),
        "mean distance of class positions",
        best="min",
        high=inf,
    ),
    _ordinal_measure(
        "ordinal_mse",
        "ordinal MSE",
        _mean_distance(2),
        "mean squared distance of class positions",
        best="min",
        high=inf,
    ),
    _ordinal_measure(
        "ordinal_rmse",
        "ordinal RMSE",
        Multiclass(ordinal_rmse, ordinal_rmse_influence),
        "square root of the ordinal MSE",
        best="min",
        high=inf,
    ),
    _ordinal_measure(
        "accuracy_within_1",
        "accuracy within 1",
        _share_definition(
            lambda n: ((n * _within_one_cells(n)).sum(axis=(-2, -1)), _total(n)),
            lambda n: _flat_deviation(n, _within_one_cells(n)),
        ),
        "share of rows at most one class off",
        interval="share",
        scale="logit",
    ),
)


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

    def subtract(total: Counts, cell: Counts) -> Counts:
        left = total - cell  # with fractions, rounding may leave a remainder of 0
        return left if left.dtype.kind != "f" else np.where(left > _ROUNDING * m, left, 0.0)

    truth = table.sum(axis=-1)
    fn = subtract(truth, tp)
    fp = subtract(table.sum(axis=-2), tp)
    return Confusion(tp, fp, fn, subtract(m - truth, fp))


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
        tables = one_vs_rest_tables(n)
        return measure.function(Confusion(*(cell.sum(axis=-1) for cell in tables.cells)))
    values, weights = _values_and_weights(measure, n, by)
    return divide(np.where(weights > 0, values * weights, 0.0).sum(axis=-1), weights.sum(axis=-1))


def average_influence(measure: Measure, n: Counts, by: Average) -> Floats:
    """Return influence values f of an average in the cells, (..., C C); NaN where undefined.

    Errors: ValueError for a measure that is not averaged.
    """
    c = np.shape(n)[-1]
    value = class_average(measure, n, by)[..., None]
    if by == "micro":
        denominator = _denominator_share(measure, n).sum(axis=-1, keepdims=True)
        top, bottom = (_micro_coefficients(cells, c) for cells in _quotient_cells(measure))
        denominator = np.where(denominator > 0, denominator, np.nan)
        return np.asarray((top - value * bottom) / denominator)
    values, weights = _values_and_weights(measure, n, by)
    summed = _summed_influence(measure, n, values, weights)
    if by == "weighted":  # the weights are shares of rows too
        truth = np.repeat(np.arange(c), c)
        summed = summed + np.where(weights > 0, values - value, 0.0)[..., truth]
    return divide(summed, weights.sum(axis=-1, keepdims=True))


def _micro_coefficients(coefficients: Floats, c: int) -> Floats:
    """Return what a row of each cell of C classes adds to a micro sum, (C C,).

    A cell is TP of its class or FN of one and FP of another, and TN of all others.
    """
    tp, fp, fn, tn = coefficients
    on_diagonal = np.eye(c, dtype=bool).ravel()
    return np.asarray(np.where(on_diagonal, tp + (c - 1) * tn, fp + fn + (c - 2) * tn))


def _summed_influence(measure: Measure, n: Counts, values: Floats, weights: Floats) -> Floats:
    """Return the weighted sum over classes of influence values in the cells, (..., C C).

    A cell is a true negative of all classes but those of its row and its column.
    """
    tp, fp, fn, tn = _outcome_influence(measure, n, values, weights)
    row, column = (fn - tn)[..., :, None], (fp - tn)[..., None, :]
    c = weights.shape[-1]
    cells = np.where(np.eye(c, dtype=bool), (tp - tn)[..., None], row + column)
    cells = cells + tn.sum(axis=-1)[..., None, None]
    return np.asarray(cells.reshape(*weights.shape[:-1], c * c))


def _outcome_influence(
    measure: Measure, n: Counts, values: Floats, weights: Floats
) -> tuple[Floats, ...]:
    """Return weighted influence values of TP, FP, FN and TN on each class, (..., C) each."""
    top, bottom = _quotient_cells(measure)
    defined = weights > 0
    share = np.where(defined, weights / np.where(defined, _denominator_share(measure, n), 1.0), 0.0)
    numbers = np.where(defined, values, 0.0)
    return tuple(share * (a - numbers * b) for a, b in zip(top, bottom, strict=True))


def class_influence(measure: Measure, n: Counts) -> tuple[Floats, ...]:
    """Return influence values of TP, FP, FN and TN on the measure of each class, (C,) each.

    0 for a class whose measure is undefined.
    """
    return _outcome_influence(measure, n, *_values_and_weights(measure, n, "macro"))


def ignores_true_negatives(measure: Measure) -> bool:
    """Return whether a measure of each class against the rest does not count true negatives."""
    return not any(part[3] for part in _quotient_cells(measure))


def class_covariance(measure: Measure, n: Counts, squares: Counts) -> Floats:
    """Return the covariances of the measure of all classes, (C, C), by influence values.

    sum over cells of q f_k f_l / M²   q (C, C): sums of squared weights, n itself for equal rows

    f_k is 0 but in the row and the column of class k: of a measure that ignores true negatives.
    """
    tp, fp, fn, _ = class_influence(measure, n)
    errors = squares * fn[:, None] * fp  # of one class for another
    products = errors + errors.T
    outcomes = one_vs_rest_tables(squares)
    variances = outcomes.tp * tp**2 + outcomes.fp * fp**2 + outcomes.fn * fn**2
    np.fill_diagonal(products, variances)
    return np.asarray(products / float(n.sum()) ** 2)


def mean_error_weights(measure: Measure, n: Counts) -> Floats:
    """Return the weight of each error in the mean of 1 - V over the classes, (C, C).

    V = N / D is the measure of a class, of a loss V itself; row and column are the true and the
    predicted class, 0 on the diagonal. For a measure that ignores true negatives.
    """
    top, bottom = _quotient_cells(measure)
    losses = top if measure.sign < 0 else bottom - top
    cells = np.stack(one_vs_rest_tables(n).cells)
    defined = ~np.isnan(measure_by_class(measure, n))
    shares = divide(defined / defined.sum(), np.where(defined, bottom @ cells, 1.0))
    weights = (losses[2] * shares)[:, None] + losses[1] * shares
    np.fill_diagonal(weights, 0.0)
    return np.asarray(weights)


def class_biases(measure: Measure, n: Counts) -> Floats:
    """Return the biases of the measure of each class, (2, C): of random and of fixed class totals.

    (V var(D) - cov(N, D)) / D²   V = N / D, a numerator and a denominator of counts of rows

    With random totals counts are Poisson; with fixed ones the variances are those within true
    classes. It is 0 for a share of random totals, below 0 for F1, and above 0 for the precision
    with fixed totals: they predict rare classes more often where they are right. For a measure
    that ignores true negatives.
    Source: the bias of a ratio, Cochran 1977, Sampling Techniques, section 6.8.
    """
    top, bottom = _quotient_cells(measure)
    rows = np.asarray(n).sum(axis=1)
    cells = np.stack(one_vs_rest_tables(n).cells)
    excess = np.outer(bottom, measure_by_class(measure, n)) - top[:, None]  # V b - a, (4, C)
    random = (excess * bottom[:, None] * cells)[:3].sum(axis=0)
    true = [0, 2]  # TP and FN, the rows of the class
    explained = (excess[true] * cells[true]).sum(axis=0) * (bottom[true] @ cells[true])
    errors = np.where(np.eye(len(rows), dtype=bool), 0.0, n)
    squares = np.nan_to_num(divide(errors**2, rows[:, None])).sum(axis=0)
    explained = np.nan_to_num(divide(explained, rows)) + excess[1] * bottom[1] * squares
    return divide(np.stack([random, random - explained]), (bottom @ cells) ** 2)


def _values_and_weights(measure: Measure, n: Counts, by: Average) -> tuple[Floats, Floats]:
    """Return the value of each class, (..., C), and its weight, 0 where undefined."""
    values = measure_by_class(measure, n)
    rows = np.asarray(n).sum(axis=-1)
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
    "sensitivity",
    "recall",
    "specificity",
    "precision",
    "npv",
    "fpr",
    "fnr",
    "fdr",
    "for",
    "jaccard",
)

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
