"""Intervals of more than two classes by drawing rows, or clusters of them, again."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn import metrics as sk

import clfeval
from clfeval import UsageError
from clfeval.methods.measurement import score_measures
from tests.methods.report.test_classes import class_probabilities, estimate, measure_row
from tests.results import limits_of, value_of
from tests.texts import check_text, numbers_in

WIDE = 0.02  # four Monte Carlo errors of a limit of 600 draws of these tables


@pytest.mark.slow
def test_limits_are_the_quantiles_of_drawn_rows() -> None:
    """Of the macro F1 and of Hand and Till's area, by scikit-learn on rows drawn by hand."""
    table, truth, p = class_probabilities(2)
    result = clfeval.report(table, interval="bootstrap", resamples=4000)
    said = p.argmax(axis=1)
    rng, f1, area = np.random.default_rng(4), list[float](), list[float]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(600):
            at = rng.integers(0, len(truth), len(truth))
            f1.append(sk.f1_score(truth[at], said[at], average="macro"))
            if i % 3 == 0:
                area.append(sk.roc_auc_score(truth[at], p[at], multi_class="ovo"))
    for metric, by, draws in (("f1", "macro", f1), ("roc_auc", "multiclass", area)):
        limits = limits_of(estimate(result, metric, by))
        expected = np.quantile(draws, [0.025, 0.975])
        assert limits == pytest.approx(tuple(expected), abs=WIDE), metric
        assert measure_row(result, metric, by)["method"] == "bootstrap"


def test_what_is_not_smooth_is_drawn_unasked_and_lost_draws_are_counted() -> None:
    """One row of k3: e^-1 of the draws are without it, and have no balanced accuracy."""
    table = pl.DataFrame(
        {"truth": ["k1", "k2"] * 30 + ["k3"], "m": ["k1", "k2", "k1", "k1"] * 15 + ["k3"]}
    )
    result = clfeval.report(table, interval="bootstrap", resamples=1000)
    method = str(measure_row(result, "balanced_accuracy")["method"])
    lost, of = sorted(numbers_in(method))
    assert (lost, of) == (pytest.approx(1000 * (60 / 61) ** 61, abs=60), 1000)
    check_text(method)
    scored = clfeval.report(
        class_probabilities(0)[0], measure=["aurc", "selective_accuracy:coverage=.5"]
    )
    for metric in ("aurc", "selective_accuracy:coverage=0.5"):
        interval = estimate(scored, metric)
        low, high = limits_of(interval)
        assert low < value_of(interval) < high
        assert measure_row(scored, metric)["method"] == "bootstrap and t"


def test_limits_of_a_risk_coverage_area_reach_as_far_as_those_of_t() -> None:
    """Student's t of the clusters of wrong predictions, on the logit scale, against the draws.

    The error is the standard deviation of the draws times sqrt(g / (g - 1)), with g = W² / sum W_c²
    of W_c wrong predictions in each of 12 clusters.
    """
    table, truth, p = class_probabilities(2, decimals=9)
    owners = np.arange(len(truth)) % 12
    result = clfeval.report(
        table.with_columns(who=owners), cluster="who", measure="aurc", resamples=4000
    )
    wrong = p.argmax(axis=1) != truth
    confidence = p.max(axis=1)
    rng, draws = np.random.default_rng(5), []
    for _ in range(1500):
        often = np.bincount(rng.integers(0, 12, 12), minlength=12)[owners]
        draws.append(_risk_coverage_area(confidence, wrong, often))
    value_ = _risk_coverage_area(confidence, wrong, np.ones(len(truth), int))
    errors = np.bincount(owners, wrong, 12)
    g = errors.sum() ** 2 / (errors**2).sum()
    error = np.std(draws, ddof=1) * np.sqrt(g / (g - 1)) / (value_ * (1 - value_))
    reach = error * stats.t.ppf(0.975, g - 1)
    odds = value_ / (1 - value_) * np.exp([-reach, reach])
    low, high = odds / (1 + odds)
    interval = estimate(result, "aurc")
    assert interval.value == pytest.approx(value_)
    percentiles = np.quantile(draws, [0.025, 0.975])
    expected = (min(low, percentiles[0]), max(high, percentiles[1]))
    assert limits_of(interval) == pytest.approx(expected, abs=WIDE / 2)
    assert measure_row(result, "aurc")["method"] == "bootstrap and t"


def _risk_coverage_area(confidence: Any, wrong: Any, often: Any) -> float:
    """Return the mean error rate over coverages, of rows that occur so often, by a loop."""
    risks, rows, errors = list[float](), 0, 0
    for i in np.argsort(-confidence, kind="stable"):
        rows, errors = rows + often[i], errors + often[i] * wrong[i]
        if often[i]:
            risks.append(errors / rows)
    return float(np.mean(risks))


def test_fewer_draws_than_asked_for_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_measures, "MOST_DRAWN", 90 * 4 * 300)
    result = clfeval.report(class_probabilities(2)[0], interval="bootstrap", resamples=4000)
    assert numbers_in(str(measure_row(result, "roc_auc")["method"])) == [300]


def test_how_many_classes_are_on_top_is_a_whole_number() -> None:
    for k in ("0.5", "0", "1.5"):
        with pytest.raises(UsageError) as caught:
            clfeval.report(class_probabilities(0)[0], measure=f"top_k_accuracy:k={k}")
    check_text(str(caught.value))
