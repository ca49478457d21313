"""Measures of the table of many classes: by hand, a book's tables, scikit-learn, two classes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import metrics

from clfeval.arrays import Counts, Floats
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.multiclass_table import (
    Average,
    class_average,
    measure_by_class,
    one_vs_rest_tables,
)
from tests.measures.values import multiclass_value

# Kuhn and Johnson, Applied Machine Learning for Tabular Data: Table 15.5 has rows predicted
# and columns truth: 2, 3, 4, 5, 6, X; X is never true nor predicted
DICE = np.array(
    [
        [10, 2, 0, 0, 0, 0],
        [0, 28, 0, 4, 0, 0],
        [0, 7, 43, 2, 0, 0],
        [0, 0, 2, 13, 3, 0],
        [0, 0, 3, 0, 1, 0],
        [0, 0, 0, 0, 0, 0],
    ]
).T
SIZES = range(2, 13)


def of_class(name: str, n: Counts, by: Average | None = None, **settings: Any) -> Floats:
    measure = CATALOG[name].with_settings(**settings)
    return measure_by_class(measure, n) if by is None else class_average(measure, n, by)


def random_tables() -> Iterator[Counts]:
    """Yield tables of 2 to 12 classes: full and sparse ones, some class absent or never said."""
    for c in SIZES:
        rng = np.random.default_rng(c)
        full = rng.integers(1, 40, (c, c))
        sparse = rng.poisson(0.7, (c, c)) + np.diag(rng.integers(1, 9, c))
        unsaid, untrue, neither = full.copy(), full.copy(), full.copy()
        unsaid[:, c // 2] = 0
        untrue[-1] = 0
        neither[0] = neither[:, 0] = 0
        yield from (full, sparse, unsaid, untrue, neither)


EVERY_TABLE = pytest.mark.parametrize(
    "n",
    [
        pytest.param(n, id=f"{len(n)}", marks=[pytest.mark.slow] * (len(n) not in (2, 5, 12)))
        for n in random_tables()
    ],
)


def weighted_cells(n: Counts) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return truth, prediction and weight of each cell that is not empty."""
    truth, said = np.nonzero(n)
    return truth, said, n[truth, said]


def test_share_of_the_commonest_class() -> None:
    n = np.array([[6, 2, 0], [1, 7, 2], [0, 3, 9]])  # rows 8, 10, 12; 30 in all
    assert multiclass_value("no_information_rate", n) == 12 / 30


def test_positions_and_costs_by_hand() -> None:
    n = np.array([[6, 2, 1], [1, 7, 2], [3, 0, 9]])
    assert multiclass_value("ordinal_mae", n) == (2 + 1 + 2 + 2 * (1 + 3)) / 31
    assert multiclass_value("ordinal_mse", n) == (2 + 1 + 2 + 4 * (1 + 3)) / 31
    assert multiclass_value("ordinal_rmse", n) == math.sqrt(21 / 31)
    assert multiclass_value("accuracy_within_1", n) == 27 / 31
    costs = [[-1, 2, 5], [1, 0, 3], [10, 4, -2]]
    expected = (-6 + 2 * 2 + 5 + 1 + 2 * 3 + 3 * 10 - 2 * 9) / 31
    assert multiclass_value("expected_cost", n, costs=costs) == expected
    for bad in (costs[:2], [[0, 1], [1, 0]], [[0, 1, 2], [1, 0, 3], [1, math.inf, 0]]):
        with pytest.raises(ValueError, match="costs"):
            multiclass_value("expected_cost", n, costs=bad)


@pytest.mark.filterwarnings("ignore::UserWarning")  # scikit-learn's, of what is undefined
@EVERY_TABLE
def test_scikit_learn_on_the_whole_table(n: Counts) -> None:
    truth, said, w = weighted_cells(n)
    peers = {
        "accuracy": metrics.accuracy_score(truth, said, sample_weight=w),
        "error_rate": metrics.zero_one_loss(truth, said, sample_weight=w),
        "mcc": metrics.matthews_corrcoef(truth, said, sample_weight=w),
        "ordinal_mae": metrics.mean_absolute_error(truth, said, sample_weight=w),
        "ordinal_mse": metrics.mean_squared_error(truth, said, sample_weight=w),
        "ordinal_rmse": metrics.root_mean_squared_error(truth, said, sample_weight=w),
    }
    for name, weights in (
        ("kappa", None),
        ("kappa_linear", "linear"),
        ("kappa_quadratic", "quadratic"),
    ):
        peers[name] = metrics.cohen_kappa_score(
            truth, said, labels=range(len(n)), weights=weights, sample_weight=w
        )
    for name, expected in peers.items():
        found = float(multiclass_value(name, n))
        if math.isnan(found):  # where scikit-learn makes 0 of it
            assert (n.sum(axis=0) > 0).sum() == 1 or (n.sum(axis=1) > 0).sum() == 1, name
        else:
            assert found == pytest.approx(expected, abs=1e-12), name
    if (n.sum(axis=1) > 0).all():
        balanced = metrics.balanced_accuracy_score(truth, said, sample_weight=w)
        assert multiclass_value("balanced_accuracy", n) == pytest.approx(balanced, abs=1e-12)
    else:
        assert np.isnan(multiclass_value("balanced_accuracy", n))
        balanced = metrics.balanced_accuracy_score(truth, said, sample_weight=w)
        assert of_class("recall", n, "macro") == pytest.approx(balanced, abs=1e-12)


@EVERY_TABLE
@pytest.mark.parametrize("by", [None, "macro", "weighted", "micro"])
def test_scikit_learn_class_by_class_and_averaged(n: Counts, by: Average | None) -> None:
    truth, said, w = weighted_cells(n)
    labels = range(len(n))
    for beta in (0.5, 1.0, 2.0):
        peers = metrics.precision_recall_fscore_support(
            truth, said, labels=labels, average=by, beta=beta, sample_weight=w, zero_division=np.nan
        )
        found = [
            of_class("precision", n, by),
            of_class("recall", n, by),
            of_class("f_beta", n, by, beta=beta),
        ]
        for mine, theirs in zip(found, peers, strict=False):
            np.testing.assert_allclose(mine, theirs, atol=1e-12, rtol=0)
    if by == "micro":
        assert of_class("sensitivity", n, by) == multiclass_value("accuracy", n)
        assert of_class("precision", n, by) == multiclass_value("accuracy", n)


@EVERY_TABLE
def test_scikit_learn_one_class_against_the_rest(n: Counts) -> None:
    truth, said, w = weighted_cells(n)
    tables = metrics.multilabel_confusion_matrix(truth, said, labels=range(len(n)), sample_weight=w)
    (tn, fp), (fn, tp) = np.moveaxis(tables, 0, -1)
    mine = one_vs_rest_tables(n)
    for cell, expected in ((mine.tp, tp), (mine.fp, fp), (mine.fn, fn), (mine.tn, tn)):
        np.testing.assert_array_equal(cell, expected)
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = {
            "specificity": tn / (tn + fp),
            "npv": tn / (tn + fn),
            "fpr": fp / (tn + fp),
            "fnr": fn / (tp + fn),
            "fdr": fp / (tp + fp),
            "for": fn / (tn + fn),
            "jaccard": tp / (tp + fp + fn),
        }
    rows = n.sum(axis=1)
    for name, each in expected.items():
        found, some = of_class(name, n), ~np.isnan(each)
        np.testing.assert_allclose(found, each, atol=1e-12, rtol=0)
        mean = each[some].mean()
        assert of_class(name, n, "macro") == pytest.approx(mean, abs=1e-12), name
        heavy = some & (rows > 0)  # a class without rows has no weight, whatever its value
        if heavy.any():
            mean = np.average(each[heavy], weights=rows[heavy])
            assert of_class(name, n, "weighted") == pytest.approx(mean, abs=1e-12), name
        else:
            assert np.isnan(of_class(name, n, "weighted")), name
        pooled = CATALOG[name].function(Confusion(tp.sum(), fp.sum(), fn.sum(), tn.sum()))
        assert of_class(name, n, "micro") == pytest.approx(pooled, abs=1e-12), name
    some = ~np.isnan(expected["jaccard"])
    theirs = metrics.jaccard_score(
        truth, said, labels=np.flatnonzero(some), average=None, sample_weight=w
    )
    np.testing.assert_allclose(of_class("jaccard", n)[some], theirs, atol=1e-12, rtol=0)


@pytest.mark.parametrize("seed", range(20))
def test_two_classes_are_many_of_two(seed: int) -> None:
    """One id, one value: of the 2 x 2 table, and of the same table with the negatives first."""
    rng = np.random.default_rng(seed)
    tn, fp, fn, tp = rng.integers(0, 9, 4) if seed % 2 else rng.random(4)
    n, table = np.array([[tn, fp], [fn, tp]]), Confusion(tp, fp, fn, tn)
    for name in ("accuracy", "error_rate", "balanced_accuracy", "kappa", "mcc"):
        expected = CATALOG[name].function(table)
        np.testing.assert_allclose(multiclass_value(name, n), expected, atol=1e-12, rtol=0)
    for name, measure in CATALOG.items():
        if measure.classes is not None and measure.classes.parts is not None:
            one = measure.with_settings(beta=2.0)
            found, expected = measure_by_class(one, n)[1], one.function(table)
            if seed % 2:  # of rows, to the last bit
                np.testing.assert_array_equal(found, expected, err_msg=name)
            np.testing.assert_allclose(found, expected, atol=1e-12, rtol=0, err_msg=name)
            assert one.classes is not None
            assert one.classes.parts is not None
            top, bottom = one.classes.parts(table)
            quotient = top / bottom if bottom else np.nan
            np.testing.assert_allclose(one.function(table), quotient, rtol=1e-14)


def test_undefined() -> None:
    nothing, alike = np.zeros((3, 3), np.int64), np.diag([5, 0, 0])
    whole = [
        "accuracy",
        "error_rate",
        "balanced_accuracy",
        "mcc",
        "kappa",
        "kappa_linear",
        "ordinal_mae",
        "ordinal_rmse",
        "accuracy_within_1",
        "no_information_rate",
    ]
    assert all(np.isnan(multiclass_value(name, nothing)) for name in whole)
    undefined = {name for name in whole if np.isnan(multiclass_value(name, alike))}
    assert undefined == {"balanced_accuracy", "mcc", "kappa", "kappa_linear"}
    assert CATALOG["balanced_accuracy"].classes is not None
    assert CATALOG["balanced_accuracy"].classes.undefined == ("class_absent",)
    np.testing.assert_array_equal(of_class("precision", alike), [1, np.nan, np.nan])
    assert np.isnan(of_class("precision", nothing, "macro"))
    assert np.isnan(of_class("f1", nothing, "weighted"))


def test_shares_that_do_not_add_up_to_the_last_digit() -> None:
    """An empty margin of shares is empty, though 1 - .1 - .2 - .3 - .4 is not 0 in floats."""
    n = np.array([[0.1, 0.2, 0.3, 0.4], [0] * 4, [0] * 4, [0] * 4]) / 3
    found = of_class("specificity", n)
    np.testing.assert_allclose(found, [np.nan, 0.8, 0.7, 0.6], rtol=1e-14)
    np.testing.assert_array_equal(of_class("npv", n.T), found)


def test_products_of_large_counts_do_not_wrap_around() -> None:
    n = np.array([[6, 2, 0], [1, 7, 2], [0, 3, 9]])
    for name in ("mcc", "kappa", "kappa_quadratic"):
        assert multiclass_value(name, n * 10**14) == pytest.approx(
            multiclass_value(name, n), abs=1e-12
        )


def test_many_tables_at_once_are_each_by_itself() -> None:
    rng = np.random.default_rng(0)
    n = rng.integers(0, 9, (2, 5, 4, 4))
    for name, measure in CATALOG.items():
        form = measure.with_settings(costs=rng.random((4, 4)), beta=2.0).classes
        if form is None or measure.needs not in ("confusion", "classes"):
            continue
        if form.parts is None:
            assert form.compute is not None
            each = [[form.compute(one) for one in row] for row in n]
            np.testing.assert_allclose(form.compute(n), each, rtol=1e-13, err_msg=name)
        else:
            for by in ("macro", "weighted", "micro"):
                each = [[of_class(name, one, by, beta=2.0) for one in row] for row in n]
                found = of_class(name, n, by, beta=2.0)
                np.testing.assert_allclose(found, each, rtol=1e-13, err_msg=name)
