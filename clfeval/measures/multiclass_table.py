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
    correct_rows = _diagonal(n).sum(axis=-1)
    truth_deviation = np.sqrt(_different_class_products(truth))
    predicted_deviation = np.sqrt(_different_class_products(predicted))
    covariance = m * correct_rows - (truth * predicted).sum(axis=-1)
    quotient = divide(covariance, truth_deviation * predicted_deviation)
    is_perfect = (correct_rows == m) & ~np.isnan(quotient)  # 1, not almost 1
    clipped = np.where(is_perfect, 1.0, np.clip(quotient, -1, 1))
    return np.asarray(np.where(clipped < _ROUNDING - 1, -1.0, clipped))


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
    class_count = truth.shape[-1]
    recall = recalls(n)
    row_weights = divide(truth.sum(axis=-1, keepdims=True), class_count * truth)
    # this term makes a table NaN in which a class has no true rows
    undefined_term = np.where((truth == 0).any(axis=-1), np.nan, 0.0)[..., None, None]
    return _flat(
        (np.eye(class_count) - recall[..., None]) * row_weights[..., None] + undefined_term
    )


def kappa_influence(n: Counts, power: int = 0) -> Floats:
    """Return influence values f of kappa, whose mean square over M is its variance.

    (1 - kappa) (1/E (sum_l w_il p_l + sum_k w_kj t_k) - 1) - w_ij / E, with E = sum w_ij t_i p_j,
    t and p the shares of rows and columns.
    Source: Fleiss, Cohen and Everitt 1969, Psychological Bulletin 72:323.
    """
    truth, predicted = _margin_shares(n)
    w = position_distances(truth.shape[-1], power)
    expected_by_row = predicted @ w
    expected_by_column = truth @ w
    e = (expected_by_row * truth).sum(axis=-1)[..., None, None]
    kappa_value = kappa(n, power)[..., None, None]
    relative_disagreement = divide(
        expected_by_row[..., :, None] + expected_by_column[..., None, :], e
    )
    return _flat((1 - kappa_value) * (relative_disagreement - 1) - divide(w, e))


def mcc_influence(n: Counts) -> Floats:
    """Return influence values f of the MCC: its gradient in the cell shares minus its mean.

    (1[i = j] - t_j - p_i) / sqrt(U V) + MCC (t_i / U + p_j / V), with U = 1 - sum t²,
    V = 1 - sum p².
    """
    truth, predicted = _margin_shares(n)
    u = _different_class_products(truth)[..., None, None]
    v = _different_class_products(predicted)[..., None, None]
    mcc_value = mcc(n)[..., None, None]
    row_shares = truth[..., :, None]
    column_shares = predicted[..., None, :]
    covariance_slope = np.eye(truth.shape[-1]) - predicted[..., :, None] - truth[..., None, :]
    gradient = divide(covariance_slope, np.sqrt(u) * np.sqrt(v)) + mcc_value * (
        divide(row_shares, u) + divide(column_shares, v)
    )
    return _flat_deviation(n, gradient)


def ordinal_rmse_influence(n: Counts) -> Floats:
    """Return influence values f of the ordinal RMSE, by the chain rule; NaN at 0."""
    twice_rmse = 2 * ordinal_rmse(n)[..., None]
    mse_influence = _flat_deviation(n, position_distances(np.shape(n)[-1], 2))
    return divide(mse_influence, np.where(twice_rmse > 0, twice_rmse, np.nan))


def expected_cost_influence(n: Counts, costs: ArrayLike) -> Floats:
    """Return influence values f of the expected cost: the cost of the cell minus the mean."""
    return _flat_deviation(n, _check_costs(n, costs))


def _diagonal(n: Counts) -> Counts:
    """Return the cells on the diagonal, (..., C)."""
    return np.asarray(np.diagonal(n, axis1=-2, axis2=-1))


def _total(n: Counts) -> Counts:
    """Return the sum of all cells, (...)."""
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
    """Return the mean over rows of a weight of each cell, (...)."""
    return divide((n * weights).sum(axis=(-2, -1)), _total(n))


def _flat_deviation(n: Counts, slope: Floats) -> Floats:
    """Return the slope in each cell less its mean over rows, (..., C C)."""
    return _flat(slope - _weighted_mean(n, slope)[..., None, None])


def _flat(cells: Floats) -> Floats:
    """Return cells (..., C, C) as (..., C C)."""
    return cells.reshape(*cells.shape[:-2], -1)


def _check_costs(n: Counts, costs: ArrayLike) -> Floats:
    """Return costs as an array; ValueError for another shape, or costs that are not finite."""
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
    """Return 1 for the cells at most one class off the diagonal, else 0, (C, C)."""
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
    definition: Multiclass,
    formula: str,
    interval: IntervalKind = "influence",
    scale: ScaleKind = "log",
    **fields: Any,
) -> Measure:
    """Return the record of a measure of ordered classes."""
    return Measure(
        name,
        title,
        definition.compute,
        "classes",
        definition.undefined,
        interval,
        formula,
        ordered=True,
        scale=scale,
        classes=definition,
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

    def subtract(totals: Counts, cells: Counts) -> Counts:
        """Return the difference, 0 where it is what rounding leaves of fractions."""
        difference = totals - cells
        if difference.dtype.kind != "f":
            return difference
        return np.where(difference > _ROUNDING * m, difference, 0.0)

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
    class_count = np.shape(n)[-1]
    value = class_average(measure, n, by)[..., None]
    if by == "micro":
        denominator = _denominator_share(measure, n).sum(axis=-1, keepdims=True)
        numerator_slopes, denominator_slopes = (
            _micro_coefficients(coefficients, class_count)
            for coefficients in _quotient_cells(measure)
        )
        denominator = np.where(denominator > 0, denominator, np.nan)
        return np.asarray((numerator_slopes - value * denominator_slopes) / denominator)
    values, weights = _values_and_weights(measure, n, by)
    class_sum = _summed_influence(measure, n, values, weights)
    if by == "weighted":  # the weights are shares of rows too
        true_class_of_cell = np.repeat(np.arange(class_count), class_count)
        class_sum = class_sum + np.where(weights > 0, values - value, 0.0)[..., true_class_of_cell]
    return divide(class_sum, weights.sum(axis=-1, keepdims=True))


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
    class_count = weights.shape[-1]
    cell_sums = np.where(np.eye(class_count, dtype=bool), (tp - tn)[..., None], row + column)
    cell_sums = cell_sums + tn.sum(axis=-1)[..., None, None]
    return np.asarray(cell_sums.reshape(*weights.shape[:-1], class_count * class_count))


def _outcome_influence(
    measure: Measure, n: Counts, values: Floats, weights: Floats
) -> tuple[Floats, ...]:
    """Return weighted influence values of TP, FP, FN and TN on each class, (..., C) each."""
    numerator, denominator = _quotient_cells(measure)
    is_defined = weights > 0
    factors = np.where(
        is_defined, weights / np.where(is_defined, _denominator_share(measure, n), 1.0), 0.0
    )
    defined_values = np.where(is_defined, values, 0.0)
    return tuple(
        factors * (numerator_slope - defined_values * denominator_slope)
        for numerator_slope, denominator_slope in zip(numerator, denominator, strict=True)
    )


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
    error_products = squares * fn[:, None] * fp  # errors of one class for another
    products = error_products + error_products.T
    squares_by_class = one_vs_rest_tables(squares)
    variances = (
        squares_by_class.tp * tp**2 + squares_by_class.fp * fp**2 + squares_by_class.fn * fn**2
    )
    np.fill_diagonal(products, variances)
    return np.asarray(products / float(n.sum()) ** 2)


def mean_error_weights(measure: Measure, n: Counts) -> Floats:
    """Return the weight of each error in the mean of 1 - V over the classes, (C, C).

    V = N / D is the measure of a class, of a loss V itself; row and column are the true and the
    predicted class, 0 on the diagonal. For a measure that ignores true negatives.
    """
    numerator, denominator = _quotient_cells(measure)
    loss_coefficients = numerator if measure.sign < 0 else denominator - numerator
    cells = np.stack(one_vs_rest_tables(n).cells)
    is_defined = ~np.isnan(measure_by_class(measure, n))
    class_weights = divide(
        is_defined / is_defined.sum(), np.where(is_defined, denominator @ cells, 1.0)
    )
    _, fp_loss, fn_loss, _ = loss_coefficients
    weights = (fn_loss * class_weights)[:, None] + fp_loss * class_weights
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
    numerator, denominator = _quotient_cells(measure)
    rows = np.asarray(n).sum(axis=1)
    cells = np.stack(one_vs_rest_tables(n).cells)
    # V D - N by the coefficients of each cell, (4, C)
    excess = np.outer(denominator, measure_by_class(measure, n)) - numerator[:, None]
    random_totals_bias = (excess * denominator[:, None] * cells)[:3].sum(axis=0)
    # fixed totals leave out the variance between true classes: of the class itself and of others
    true_cells = [0, 2]  # TP and FN, the rows of the class
    own_products = (excess[true_cells] * cells[true_cells]).sum(axis=0) * (
        denominator[true_cells] @ cells[true_cells]
    )
    off_diagonal = np.where(np.eye(len(rows), dtype=bool), 0.0, n)
    squares = np.nan_to_num(divide(off_diagonal**2, rows[:, None])).sum(axis=0)
    own_part = np.nan_to_num(divide(own_products, rows))
    fixed_totals_bias = random_totals_bias - (own_part + excess[1] * denominator[1] * squares)
    biases = np.stack([random_totals_bias, fixed_totals_bias])
    return divide(biases, (denominator @ cells) ** 2)


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
    numerator, denominator = measure.classes.parts(Confusion(*np.eye(4)))
    return numerator, denominator


def _denominator_share(measure: Measure, n: Counts) -> Floats:
    """Return the denominator of each class as a share of the rows, (..., C)."""
    cells = np.stack(one_vs_rest_tables(n).cells, axis=-1)
    _, denominator = _quotient_cells(measure)
    return divide(cells @ denominator, cells.sum(axis=-1))


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
