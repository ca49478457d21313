"""By what models of more than two classes are compared, and how sure that is."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn import metrics as sk

import clfeval
from clfeval.counts.count import count_predictions
from clfeval.measures.catalog import CATALOG
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.report.model_estimates import probability_estimates
from clfeval.tables.input import InputOptions
from clfeval.tables.prediction_files import open_predictions
from tests.methods.report.test_classes import estimate, measure_row
from tests.results import rows_by, value_of
from tests.texts import check_text

NAMES = ("no", "01", "a | b")


def scored(rows: int = 90, *, models: int = 3) -> tuple[pl.DataFrame, Any, list[Any]]:
    """Class probabilities of models that share half of their noise; with ties."""
    rng = np.random.default_rng(rows)
    truth = np.concatenate([np.arange(3), rng.integers(0, 3, rows - 3)])
    shared = rng.normal(size=(rows, 3))
    columns: dict[str, Any] = {"truth": [NAMES[i] for i in truth]}
    every = []
    for i in range(models):
        z = shared + rng.normal(size=(rows, 3))
        z[np.arange(rows), truth] += 1 + 0.4 * i
        p = np.round(np.exp(z) / np.exp(z).sum(axis=1, keepdims=True), 1)
        p /= p.sum(axis=1, keepdims=True)
        every.append(p)
        columns |= {f"m {i}:{name}": p[:, k] for k, name in enumerate(NAMES)}
    return pl.DataFrame(columns), truth, every


def area(truth: Any, p: Any) -> float:
    return float(sk.roc_auc_score(truth, p, multi_class="ovo", labels=range(p.shape[1])))


def area_of_pairs(truth: Any, p: Any) -> float:
    """Return the same as `area`, by counting pairs of rows of any two classes."""
    shares = []
    for first, second in permutations(range(p.shape[1]), 2):
        x, y = (p[truth == k, first][:, None] for k in (first, second))
        shares.append(((x > y.T) + (x == y.T) / 2).mean())
    return float(np.mean(shares))


def test_the_covariance_of_areas_is_that_of_the_jackknife() -> None:
    table, truth, every = scored()
    with open_predictions(table, InputOptions(several=True)) as opened:
        counted = count_predictions(opened)
        asked = RequestedMeasure("roc_auc", CATALOG["roc_auc"], {})
        found = probability_estimates(counted, counted.labels()[None], [asked])["roc_auc"]
    values, covariance = found.values, found.pair_errors.covariance
    assert values == pytest.approx([area(truth, p) for p in every], abs=1e-12)
    assert values == pytest.approx([area_of_pairs(truth, p) for p in every], abs=1e-12)
    rows = np.arange(len(truth))
    m = len(rows)
    left = np.array([[area_of_pairs(truth[rows != i], p[rows != i]) for i in rows] for p in every])
    apart = left - left.mean(axis=1, keepdims=True)
    jackknife = (m - 1) / m * apart @ apart.T
    assert covariance == pytest.approx(jackknife, rel=0.08)


@pytest.mark.parametrize("weights", [False, True])
def test_models_with_probabilities_are_compared_by_their_areas(weights: bool) -> None:
    """Weights are repeated rows, and rows in clusters of their own are rows."""
    table = scored()[0].with_columns(w=pl.Series([1, 2, 3] * 30))
    each = table.select(pl.exclude("w").repeat_by("w").explode())
    options: dict[str, Any] = {}
    if weights:
        each, options = table, {"weight": "w"}
    result = clfeval.report(each, **options)
    rows = rows_by(result, "models", "model")
    areas = {model: value_of(row["roc_auc"]) for model, row in rows.items()}
    first = result.answer[0]
    assert first.measure == "roc_auc"
    assert first.models == (max(areas, key=areas.__getitem__),)
    tied = [one["tied"] for one in result.tables["models"]]
    assert tied[-1] is True
    if not weights:
        owned = each.with_columns(patient=pl.Series(range(len(each))).cast(pl.String))
        alone = clfeval.report(owned, cluster="patient")
        assert [one["tied"] for one in alone.tables["models"]] == tied
        assert alone.answer[0].value == first.value


def test_else_they_are_compared_by_labels() -> None:
    table = scored(models=1)[0]
    mixed = table.with_columns(h=pl.col("truth"))
    assert clfeval.report(mixed).answer[0].measure == "balanced_accuracy"
    wide = table.with_columns(**{"m 0:other": pl.lit(0.0)})
    assert clfeval.report(wide, classes=["other"]).answer[0].measure == "accuracy"
    assert clfeval.report(table, interval="none").answer[0].measure == "roc_auc"


def test_limits_of_a_perfect_area_are_the_score_limits_of_two_classes() -> None:
    """That vary alike: where 1 - A is z standard errors as Hanley and McNeil have them.

    Of three classes of 30 rows, c² k / (2 sum 1 / n_c (1 + (k - 1) / 4)) with k = 4 areas each.
    """
    certain = {f"m:{k}": [float(k == one) for one in "abc"] * 30 for k in "abc"}
    table = pl.DataFrame({"truth": [*"abc"] * 30, **certain})
    rows = 9 * 4 / (2 * 3 / 30 * (1 + 3 / 4))
    z, s = norm.ppf(0.975), rows - 1

    def beyond(a: float) -> float:
        more = 1 + s * (1 - a) / (2 - a) + s * a / (1 + a)
        return float((1 - a) ** 2 - z**2 * a * (1 - a) / rows**2 * more)

    result = clfeval.report(table)
    interval = estimate(result, "roc_auc")
    assert (interval.value, interval.high) == (1.0, 1.0)
    assert interval.low == pytest.approx(brentq(beyond, 0.5, 1 - 1e-9), abs=1e-9)
    check_text(str(measure_row(result, "roc_auc")["method"]))
