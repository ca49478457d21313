"""Tables at the end of what can be: no warning of Python, no interval beyond the range."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import brentq

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Row
from clfeval.measures.catalog import CATALOG
from clfeval.measures.logistic import fit_intercept, log_odds
from clfeval.measures.ranking import auprg
from tests.process.program import shell
from tests.results import estimate_of, limits_of, rows_by, value_and_limits, value_of
from tests.thoroughness import thinned

UP, DOWN = np.linspace(0.6, 0.99, 30).tolist(), np.linspace(0.01, 0.4, 30).tolist()
HALVES = [1] * 30 + [0] * 30
TABLES = {  # truth and scores
    "certain": ([1, 1, 0, 0, 1, 0] * 10, [1.0, 0.0, 0.0, 1.0, 1.0, 0.0] * 10),
    "all equal": ([1, 1, 0, 0, 1, 0] * 10, [0.5] * 60),
    "all zero": ([1, 0] * 20, [0.0] * 40),
    "a row a class": ([1, 0], [0.9, 0.1]),
    "one row": ([1], [0.9]),
    "one class": ([1] * 5, [0.9, 0.1, 0.5, 1.0, 0.0]),
    "separated": (HALVES, [*UP, *DOWN]),
    "perfect and certain": (HALVES, [float(truth) for truth in HALVES]),
    "next to the ends": ([1, 0] * 20, [1e-300] * 20 + [1 - 1e-16] * 20),
    "no probabilities": ([1, 0] * 20, np.linspace(-5, 1e9, 40).tolist()),
}
EVERY = (
    "all",
    "partial_auc",
    "precision@k",
    "recall@k:k=2",
    "lift@k",
    "ece",
    "mce",
    "ece_debiased",
    "hosmer_lemeshow",
    "net_benefit:t=.2",
    "net_benefit_standardised",
    "interventions_avoided",
    "selective_accuracy",
    "f_beta:beta=2",
    "f_odds",
    "ppv_at:prevalence=.1",
    "npv_at:prevalence=.1",
    "expected_cost:fp=1,fn=3",
)
WAYS = ("exact", "bootstrap", "none", "wilson", "jeffreys", "agresti-coull")


def grid(names: Iterable[str]) -> list[Any]:
    """Return each table with each kind of limits: in the gate with the exact ones and another."""
    every = [
        (name, how, (i + j) % len(WAYS) == 0 or how == "exact")
        for i, name in enumerate(names)
        for j, how in enumerate(WAYS)
    ]
    return thinned([one[:2] for one in every], [one[:2] for one in every if one[2]])


@pytest.fixture(autouse=True)
def _strict() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def report_of_table(name: str, how: str = "exact") -> Result:
    truth, scores = TABLES[name]
    frame = pl.DataFrame({"truth": truth, "m": scores})
    return clfeval.report(
        frame, positive="1", threshold=0.5, measure=EVERY, interval=how, resamples=200
    )


@pytest.mark.parametrize(("name", "how"), grid(TABLES))
def test_every_value_and_limit_lies_in_the_range_or_says_why_not(name: str, how: str) -> None:
    result = report_of_table(name, how)
    assert str(result)
    for row in result.tables["measures"]:
        in_range(row)
        if how == "none":
            assert value_and_limits(row["value"])[1:] == (None, None)


def in_range(row: Row) -> None:
    """Check that a value and its limits lie in the range of their measure, or that it says why."""
    value, measure = estimate_of(row["value"]), CATALOG[row["measure"].partition(":")[0]]
    if value.value is None:
        assert value.reason, row
        # what is infinite may have a limit on its other side
        assert value.reason.endswith("infinite") or value.low is value.high is None, row
        return
    low = -np.inf if value.low is None else value.low
    high = np.inf if value.high is None else value.high
    assert low <= value.value <= high, row
    assert low < high, row
    for one in (value.value, value.low, value.high):
        assert one is None or measure.low <= one <= measure.high, row


@pytest.mark.parametrize("how", ["exact", "bootstrap"])
def test_of_a_perfect_classifier_shares_and_the_area_have_limits_below_1(how: str) -> None:
    rows = rows_by(report_of_table("separated", how), "measures", "measure")
    for name in ("roc_auc", "sensitivity", "specificity", "accuracy", "mcc", "f1", "kappa"):
        low, high = limits_of(rows[name]["value"])
        assert value_of(rows[name]["value"]) == 1.0
        assert low < 1.0 == high, name


CLASSES = {  # truth, and the class each row is sure of
    "perfect": ("abc" * 20, "abc" * 20),
    "certain": ("abc" * 20, "abcabb" * 10),
    "one said": ("abc" * 20, "a" * 60),
    "a row a class": ("abc", "bca"),
    "all equal": ("abc" * 20, "?" * 60),
}


@pytest.mark.parametrize(("name", "how"), grid(CLASSES))
def test_many_classes_too(name: str, how: str) -> None:
    truth, said = CLASSES[name]
    sure = {f"m:{k}": [1 / 3 if one == "?" else float(one == k) for one in said] for k in "abc"}
    frame = pl.DataFrame({"truth": [*truth], **sure})
    result = clfeval.report(
        frame,
        classes=["a", "b", "c"],
        measure=("all", "ordinal", "ece"),
        interval=how,
        resamples=200,
    )
    assert str(result)
    for row in result.tables["measures"]:
        in_range(row)
    if name == "perfect" and how != "none":
        rows = rows_by(result, "measures", "measure", estimator="multiclass")
        for metric in ("roc_auc", "accuracy", "balanced_accuracy", "mcc", "kappa"):
            low, high = limits_of(rows[metric]["value"])
            assert low < 1.0 == high, metric


def test_no_warning_reaches_the_shell() -> None:
    """The scores of a class of digits crowd 0 and 1, and part it in one model."""
    python = shlex.quote(sys.executable)
    done = shell(
        f"{python} -W error -m clfeval report fixtures/digits/probabilities.csv "
        "--positive 3 --quiet --measure all"
    )
    assert (done.code, done.err) == (0, "")


def test_the_level_of_crowded_probabilities_is_found() -> None:
    """Newton's step has no end where all chances are 0 or 1: sum n mu = P, by Brent's method."""
    frame = pl.read_csv("fixtures/digits/probabilities.csv", infer_schema_length=None)
    for name in ("3", "8", "0"):
        truth = (frame["truth"].cast(pl.String) == name).to_numpy()
        p, at = np.unique(frame[f"logreg:{name}"].to_numpy(), return_inverse=True)
        pos, neg = (
            np.bincount(at[truth], minlength=len(p)),
            np.bincount(at[~truth], minlength=len(p)),
        )
        x = log_odds(p)

        def beyond(a: float, x=x, pos=pos, neg=neg) -> float:  # type: ignore[no-untyped-def]
            return float(((pos + neg) / (1 + np.exp(-a - x))).sum() - pos.sum())

        root = float(brentq(beyond, -100, 100, xtol=1e-12))
        assert float(fit_intercept(x, pos, neg)) == pytest.approx(root, abs=1e-9)
        assert abs(root) < 1


def test_a_perfect_ranking_has_a_gain_of_1_and_no_more() -> None:
    scores = np.arange(60)
    dice = np.random.default_rng(1)
    drawn = dice.multinomial(60, np.full(60, 1 / 60), 500)
    pos, neg = drawn * (scores >= 30), drawn * (scores < 30)
    assert auprg(scores, pos, neg).max() <= 1.0
