"""Limits of means over classes: square-and-add of the limits of the classes, written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta, gamma, norm

import clfeval
from tests.results import Line, limits_of, row_of, value_of, warning_messages

Z = float(norm.ppf(0.975))
TABLE = np.array([[14, 3, 1], [2, 6, 0], [1, 1, 2]])  # rows by true and predicted class


def rows_of_counts(table: Any) -> pl.DataFrame:
    """Return a row of data for each row that a table counts."""
    places = np.argwhere(table > 0)
    rows = np.repeat(places, [table[tuple(place)] for place in places], axis=0)
    names = np.array(["x", "y", "z", "v"])
    return pl.DataFrame({"truth": names[rows[:, 0]], "m": names[rows[:, 1]]})


def measure_row(frame: pl.DataFrame, name: str, estimator: str, **options: Any) -> Line:
    """Return the row of a measure, averaged so, in the report of a table."""
    result = clfeval.report(frame, truth="truth", measure=["all"], **options)
    return row_of(result, "measures", measure=name, estimator=estimator)


def interval_of(row: Line) -> tuple[float, float, float]:
    """Return value, low and high of a row, of which none is undefined."""
    return value_of(row["value"]), *limits_of(row["value"])


def exact(k: Any, n: Any) -> tuple[Any, Any]:
    """Clopper and Pearson's limits, as quantiles of the beta distribution."""
    low = np.where(k > 0, beta.ppf(0.025, k, n - k + 1), 0.0)
    return low, np.where(k < n, beta.ppf(0.975, k + 1, n - k), 1.0)


def f1_of(n: Any) -> Any:
    return 2 * np.diag(n) / (n.sum(axis=0) + n.sum(axis=1))


def precision_of(n: Any) -> Any:
    return np.diag(n) / n.sum(axis=0)


def recall_of(n: Any) -> Any:
    return np.diag(n) / n.sum(axis=1)


def slopes(function: Any, n: Any) -> Any:
    """The derivatives of C measures in the cells of a table, (C, C C), by central differences."""
    each = []
    for place in np.ndindex(n.shape):
        step = np.zeros(n.shape)
        step[place] = 1e-5
        each.append((function(n + step) - function(n - step)) / 2e-5)
    return np.array(each).T


def second_order_bias(function: Any, n: Any, *, fixed: bool) -> Any:
    """Half the sum of second derivatives times covariances of the cells, (C,).

    Cells are Poisson, or multinomial within each true class.
    """
    flat, classes = n.astype(float).ravel(), len(n)
    covariance = np.diag(flat)
    if fixed:
        for k in range(classes):
            some = slice(k * classes, (k + 1) * classes)
            covariance[some, some] -= np.outer(flat[some], flat[some]) / flat[some].sum()
    step = 1e-3
    cells = np.eye(len(flat)) * step
    found = np.zeros(classes)
    for i, j in np.ndindex(covariance.shape):
        ways = [
            sign * other * function((flat + sign * cells[i] + other * cells[j]).reshape(n.shape))
            for sign in (1, -1)
            for other in (1, -1)
        ]
        found += covariance[i, j] * sum(ways) / (4 * step**2) / 2
    return found


def errors_as_counts(name: str, n: Any, whole: Any) -> tuple[float, float]:
    """Fay and Feuer's limits of one minus the weighted sum of all errors, cell by cell."""
    if name == "f1":
        whole = n.sum(axis=0) + n.sum(axis=1)
    weights = np.zeros_like(n)
    for true, predicted in np.ndindex(n.shape):
        if true != predicted:
            missed = 0.0 if name == "precision" else 1 / whole[true]
            false = 0.0 if name == "sensitivity" else 1 / whole[predicted]
            weights[true, predicted] = (missed + false) / 3
    loss, variance, most = (weights * n).sum(), (weights**2 * n).sum(), weights.max()
    low = gamma.ppf(0.025, loss**2 / variance, scale=variance / loss)
    mean, spread = loss + most, variance + most**2
    return 1 - gamma.ppf(0.975, mean**2 / spread, scale=spread / mean), 1 - low


@pytest.mark.parametrize("name", ["sensitivity", "precision", "f1"])
def test_a_macro_average_has_limits_of_its_classes_with_their_covariance(name: str) -> None:
    n, diagonal = TABLE.astype(float), np.diag(TABLE)
    function = {"sensitivity": recall_of, "precision": precision_of, "f1": f1_of}[name]
    union = n.sum(axis=0) + n.sum(axis=1) - diagonal
    whole = {"sensitivity": n.sum(axis=1), "precision": n.sum(axis=0), "f1": union}[name]
    values = function(n)
    low, high = exact(diagonal, whole)
    if name == "f1":  # a function of TP / (TP + FP + FN)
        low, high = 2 * low / (1 + low), 2 * high / (1 + high)
    each = slopes(function, n)
    covariance = each @ np.diag(n.ravel()) @ each.T
    rho = np.maximum(covariance / np.sqrt(np.outer(np.diag(covariance), np.diag(covariance))), 0)
    rho = np.where(np.abs(rho) < 1e-6, 0, rho)
    factors = whole / (whole - 1)
    errors = np.sqrt(np.diag(covariance) * factors)
    below, above, linear = (
        np.sqrt(x @ rho @ x) / 3 for x in (values - low, high - values, Z * errors)
    )
    biases = [
        (second_order_bias(function, n, fixed=fixed) * factors * whole)[whole > 2].mean()
        * (1 / whole).mean()
        for fixed in (False, True)
    ]
    value, low, high = interval_of(measure_row(rows_of_counts(TABLE), name, "macro"))
    mean = values.mean()
    least, most = errors_as_counts(name, n, whole)
    lower = max(mean - max(below, linear), least) - max(0, *biases)
    upper = min(mean + max(above, linear), most) - min(0, *biases)
    assert value == pytest.approx(mean, abs=1e-12)
    assert low == pytest.approx(lower, abs=1e-5)
    assert high == pytest.approx(min(1, upper), abs=1e-5)


def test_classes_without_errors_have_the_exact_limit_of_no_error_at_all() -> None:
    """Of thirty rows that each weigh 1/30 none is wrong: at most -ln .025 of them."""
    row = measure_row(rows_of_counts(np.diag([10, 10, 10])), "balanced_accuracy", "multiclass")
    value, low, high = interval_of(row)
    assert (value, high) == (1.0, 1.0)
    assert low == pytest.approx(1 + np.log(0.025) / 30, abs=1e-12)
    assert row["method"] == "square-and-add of classes"


def test_a_class_that_is_predicted_once_widens_the_macro_precision() -> None:
    # z is predicted once, and rightly; the wrong rows of the others weigh little
    table = np.array([[178, 2, 0], [2, 112, 0], [3, 2, 1]])
    value, low, _ = interval_of(measure_row(rows_of_counts(table), "precision", "macro"))
    assert value - (1 - 0.025) / 3 - 0.05 < low < value - 0.25


def test_the_balanced_accuracy_has_the_limits_of_the_macro_recall() -> None:
    frame = rows_of_counts(TABLE)
    recall = interval_of(measure_row(frame, "sensitivity", "macro"))
    assert interval_of(measure_row(frame, "balanced_accuracy", "multiclass")) == recall


def test_macro_precision_is_the_mean_over_the_predicted_classes() -> None:
    table = np.array([[14, 4, 0], [2, 6, 0], [1, 3, 0]])
    value, low, high = interval_of(measure_row(rows_of_counts(table), "precision", "macro"))
    assert value == pytest.approx((14 / 17 + 6 / 13) / 2)
    below, above = exact(np.array([14, 6]), np.array([17, 13]))
    shares = np.array([14 / 17, 6 / 13])
    assert low == pytest.approx(value - np.hypot(*(shares - below)) / 2, abs=0.02)
    assert high == pytest.approx(value + np.hypot(*(above - shares)) / 2, abs=0.02)
    result = clfeval.report(rows_of_counts(table), truth="truth")
    note = "macro precision of a model is the mean over the classes that it predicts"
    assert note in warning_messages(result, "never-predicted")


def test_clusters_of_equal_rows_widen_a_macro_average() -> None:
    frame = rows_of_counts(TABLE).with_columns(patient=pl.Series([f"p{i}" for i in range(30)]))
    alone = interval_of(measure_row(frame, "f1", "macro", cluster="patient"))
    twice = interval_of(measure_row(pl.concat([frame, frame]), "f1", "macro", cluster="patient"))
    assert alone[0] == twice[0]
    # with every row twice, the clusters are the rows
    assert twice[2] - twice[1] == pytest.approx(alone[2] - alone[1], rel=0.05)
    rows = interval_of(measure_row(frame, "f1", "macro"))
    assert rows[2] - rows[1] <= alone[2] - alone[1]
