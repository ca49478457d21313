"""Measures of the C x C confusion matrix, C two or more, and their influence functions.

A table n is (..., C, C): rows are the truth, columns the predictions; whole numbers, weights or
shares. A measure of it is (...), NaN where undefined (0/0). Its influence function is (..., C C),
of the cells row by row: f with sum n f = 0 and theta_hat - theta = (1/M) sum f; NaN where the
measure is undefined or not differentiable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Counts, Floats, divide
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
    truth, said = _row_and_column_sums(n)
    w = position_distances(truth.shape[-1], power)
    seen = (n * w).sum(axis=(-2, -1)) * truth.sum(axis=-1)
    return np.asarray(1 - divide(seen, ((truth @ w) * said).sum(axis=-1)))


def mcc(n: Counts) -> Floats:
    """Return the MCC, the correlation of truth and prediction as C indicators; -1..1, best 1.

    (M sum n_kk - sum t_k p_k) / sqrt((M² - sum t_k²) (M² - sum p_k²)), t rows and p columns summed.

    NaN where all truth or all predictions are of one class. For C > 2 the least value is above -1.
    Source: Gorodkin 2004, Computational Biology and Chemistry 28:367.
    """
    truth, said = _row_and_column_sums(n)
    m, right = truth.sum(axis=-1), _diagonal(n).sum(axis=-1)
    spread = [np.sqrt(_different_class_products(margin)) for margin in (truth, said)]
    found = divide(m * right - (truth * said).sum(axis=-1), spread[0] * spread[1])
    perfect = (right == m) & ~np.isnan(found)  # 1, not almost 1
    return np.asarray(np.where(perfect, 1.0, np.clip(found, -1, 1)))


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
    place = np.arange(classes)
    apart = np.abs(place[:, None] - place).astype(np.float64)
    return np.asarray(np.where(apart > 0, apart**power, 0.0))


def accuracy_influence(n: Counts) -> Floats:
    """Return influence values f of the accuracy: 1 on the diagonal and 0 off it, minus the mean."""
    return _flat_deviation(n, np.eye(np.shape(n)[-1]))


def balanced_accuracy_influence(n: Counts) -> Floats:
    """Return influence values f of balanced accuracy: (1[i = j] - recall_i) / (C share_i)."""
    truth, _ = _row_and_column_sums(n)
    c, recall = truth.shape[-1], recalls(n)
    each = divide(truth.sum(axis=-1, keepdims=True), c * truth)
    # undefined for a table in which a class has no true rows
    lacking = np.where((truth == 0).any(axis=-1), np.nan, 0.0)[..., None, None]
    return _flat((np.eye(c) - recall[..., None]) * each[..., None] + lacking)


def kappa_influence(n: Counts, power: int = 0) -> Floats:
    """Return influence values f of kappa, whose mean square over M is its variance.

    (1 - kappa) (1/E (sum_l w_il p_l + sum_k w_kj t_k) - 1) - w_ij / E, with E = sum w_ij t_i p_j,
    t and p the shares of rows and columns.
    Source: Fleiss, Cohen and Everitt 1969, Psychological Bulletin 72:323.
    """
    truth, said = _cell_shares(n)
    w = position_distances(truth.shape[-1], power)
    by_row, by_column = said @ w, truth @ w
    e = (by_row * truth).sum(axis=-1)[..., None, None]
    value = kappa(n, power)[..., None, None]
    mixed = divide(by_row[..., :, None] + by_column[..., None, :], e)
    return _flat((1 - value) * (mixed - 1) - divide(w, e))


def mcc_influence(n: Counts) -> Floats:
    """Return influence values f of the MCC: its gradient in the cell shares minus its mean.

    (1[i = j] - t_j - p_i) / sqrt(U V) + MCC (t_i / U + p_j / V), with U = 1 - sum t²,
    V = 1 - sum p².
    """
    truth, said = _cell_shares(n)
    u, v = (_different_class_products(margin)[..., None, None] for margin in (truth, said))
    value = mcc(n)[..., None, None]
    row, column = truth[..., :, None], said[..., None, :]
    hits = np.eye(truth.shape[-1]) - said[..., :, None] - truth[..., None, :]
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


def _cell_shares(n: Counts) -> tuple[Floats, Floats]:
    truth, said = _row_and_column_sums(n)
    m = truth.sum(axis=-1, keepdims=True)
    return divide(truth, m), divide(said, m)


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
    given = np.asarray(costs, np.float64)
    if given.shape != np.shape(n)[-2:] or not np.isfinite(given).all():
        raise ValueError(f"costs must be finite and {np.shape(n)[-2:]}, not {given.shape}")
    return given


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
    name: str, title: str, form: Multiclass, formula: str, source: str = "textbook",
    interval: IntervalKind = "influence", scale: ScaleKind = "log", **more: Any,
) -> Measure:  # fmt: skip
    return Measure(name, title, form.of, "classes", form.undefined, interval, formula, source,
                   ordered=True, scale=scale, classes=form, **more)  # fmt: skip


def _weighted_kappa(power: int) -> Multiclass:
    functions = partial(kappa, power=power), partial(kappa_influence, power=power)
    return Multiclass(*functions, _EXPECTED_AGREEMENT_ONE)


_COHEN = "Cohen 1968, Psychological Bulletin 70:213"

# measures of C x C tables only; ordered: of classes with a declared order
TABLES = (
    _ordinal_measure("kappa_linear", "linear kappa", _weighted_kappa(1),
                     "1 - sum w n / sum w e, w the distance of the classes", _COHEN,
                     scale="fisher", low=-1),
    _ordinal_measure("kappa_quadratic", "quadratic kappa", _weighted_kappa(2),
                     "1 - sum w n / sum w e, w the squared distance of the classes", _COHEN,
                     scale="fisher", low=-1),
    _ordinal_measure("ordinal_mae", "ordinal MAE", _mean_distance(1),
                     "mean distance of class positions", best="min", high=inf),
    _ordinal_measure("ordinal_mse", "ordinal MSE", _mean_distance(2),
                     "mean squared distance of class positions", best="min", high=inf),
    _ordinal_measure("ordinal_rmse", "ordinal RMSE",
                     Multiclass(ordinal_rmse, ordinal_rmse_influence),
                     "square root of the ordinal MSE", best="min", high=inf),
    _ordinal_measure("accuracy_within_1", "accuracy within 1", _share_definition(
                         lambda n: ((n * _within_one_cells(n)).sum(axis=(-2, -1)), _total(n)),
                         lambda n: _flat_deviation(n, _within_one_cells(n))),
                     "share of rows at most one class off", interval="share", scale="logit"),
)  # fmt: skip
