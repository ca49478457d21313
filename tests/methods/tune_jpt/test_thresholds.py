"""The best threshold per odds and measure, against a loop over all thresholds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clfeval
from clfeval.arrays import Floats, Ints
from clfeval.document.cells import Estimate
from clfeval.measures.catalog import CATALOG, measure_functions
from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import OutcomeCosts
from clfeval.methods.curves import RocPoints, candidate_points, roc_points
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.measurement.score_measures import Formula
from clfeval.methods.threshold_optimism import ThresholdRule
from clfeval.methods.tune_jpt.tables import _at_odds
from tests.methods.tune_jpt import brute
from tests.results import rows_of
from tests.thoroughness import examples

ODDS = [10 ** (-3 + 6 * i / 19) for i in range(20)]  # 1:1000 .. 1000:1
NAMES = ("tar", "ppv", "npv", "mcc", "ic", "epa", "j_index", "expected_cost", "f_beta")
REST = ("tor", "ppv_odds", "npv_odds", "sensitivity", "specificity", "lr_pos", "lr_neg", "dor")
STAKES = OutcomeCosts(brute.COST_FP, brute.COST_FN)

CANCER = "breast-cancer/scores.csv"
MODELS = ("logreg", "naive_bayes", "knn", "tree", "forest", "svm")
REAL = [
    *((CANCER, model, "malignant", None) for model in MODELS),
    *((CANCER, model, "malignant", 1) for model in ("logreg", "naive_bayes", "svm")),
    *(("wine/probabilities.csv", f".pred_class_{i}", f"class_{i}", None) for i in range(3)),
    ("wine/probabilities.csv", ".pred_class_1", "class_1", 1),
    ("digits/probabilities.csv", "logreg:8", "8", None),
    ("digits/probabilities.csv", "knn:3", "3", None),
    ("digits/probabilities.csv", "forest:1", "1", 2),
    ("digits/probabilities.csv", "forest:9", "4", 2),  # the wrong class: hardly better than chance
]


def best_of(
    points: RocPoints, odds: Sequence[float], measures: Mapping[str, Formula]
) -> dict[str, tuple[Ints, Floats]]:
    """Return, by measure, the places of the best points and the values there."""
    best, tables = {}, points.tables
    for name, formula in measures.items():
        rules = [threshold_rule(name, formula, r) for r in odds]
        places = np.array([rule.places(points.tp, points.fp) for rule in rules])
        values = np.array(
            [
                formula(tables if CATALOG[name].invariant else tables.tuned(r))[place]
                if place >= 0
                else np.nan
                for r, place in zip(odds, places.tolist(), strict=True)
            ]
        )
        best[name] = places, values
    return best


def threshold_rule(name: str, formula: Formula, ratio: float) -> ThresholdRule:
    """Return the rule of a measure that is to be best at odds."""
    compute = formula if CATALOG[name].invariant else partial(_at_odds, formula, ratio)
    return ThresholdRule(name, RequestedMeasure(name, replace(CATALOG[name], compute=compute), {}))


def check_best(
    rows: Sequence[tuple[float, int]], names: Sequence[str], odds: Sequence[float], beta: float = 1
) -> None:
    """Hold the best of the candidates against the best of all thresholds."""
    formulas = measure_functions("confusion", beta=beta, stakes=STAKES)
    points = candidate_points(brute.score_counts(rows))
    best = best_of(points, odds, {name: formulas[name] for name in names})
    every = brute.every_point(rows)
    for name in names:
        for i, r in enumerate(odds):
            value, cut = brute.best_point(every, name, r, beta)
            place, best_value = (numbers[i] for numbers in best[name])
            if cut is None:
                assert place == -1
                assert math.isnan(best_value)
            else:
                assert best_value == pytest.approx(value, rel=1e-12, abs=1e-12), (name, r)
                if points.thresholds[place] == cut:
                    continue
                # IC is the same for (tp, fp) and (1 - tp, 1 - fp), up to its rounding: a tie
                assert name == "ic"
                tp, fp = points.tp[place].item(), points.fp[place].item()
                tied = brute.measure_value(name, tp, fp, *every[-1][1:], r)
                assert tied == pytest.approx(value, rel=1e-12, abs=1e-15), (name, r)


@pytest.mark.parametrize(("file", "column", "positive", "decimals"), REAL)
def test_real_scores(file: str, column: str, positive: str, decimals: int | None) -> None:
    check_best(brute.fixture(file, column, positive, decimals), NAMES, ODDS)


@pytest.mark.parametrize("beta", [0.5, 2.0])
@pytest.mark.parametrize("model", MODELS)
def test_real_scores_with_recall_weighed(model: str, beta: float) -> None:
    check_best(brute.fixture(CANCER, model, "malignant"), ("f_beta",), ODDS, beta)


@pytest.mark.parametrize("model", ["naive_bayes", "tree"])
def test_the_other_measures(model: str) -> None:
    check_best(brute.fixture(CANCER, model, "malignant"), REST, ODDS[::6])


# few distinct scores, so that rows of both classes share them
tables = st.lists(st.tuples(st.integers(0, 7).map(float), st.integers(0, 1)), max_size=14).map(
    lambda rows: [*rows, (3.0, 1), (4.0, 0)]
)


@examples(150)
@given(tables, st.sampled_from([0.001, 0.01, 0.5, 1.0, 2.0, 30.0, 1000.0]))
def test_small_tables_with_ties(rows: list[tuple[float, int]], odds: float) -> None:
    check_best(rows, (*NAMES, *REST), [odds])


# P = 4, N = 4: (tp, fp) is (0, 0), .9 (1, 0), .8 (2, 0), .6 (3, 1), .4 (3, 2), .3 (4, 3), .1 (4, 4)
HAND = [(0.9, 1), (0.8, 1), (0.6, 1), (0.6, 0), (0.4, 0), (0.3, 1), (0.3, 0), (0.1, 0)]


def best_threshold_and_value(name: str, odds: float) -> tuple[float, float]:
    points = candidate_points(brute.score_counts(HAND))
    measures = {name: measure_functions("confusion", beta=1.0, stakes=STAKES)[name]}
    place, value = best_of(points, [odds], measures)[name]
    return points.thresholds[place[0]].item(), value[0].item()


def test_by_hand() -> None:
    """At 1:1 the largest J is 2/4, at .8 and at .6, a tie: the higher threshold is taken.

    At 1:3 a false positive weighs 3/4 / 4, a hit 1/4 / 4: TAR = (2 + 12) / 16 at .8 is best. At
    3:1 it is (3·3 + 3) / 16 at .6, but also (3·4 + 1) / 16 at .3, which is more.
    """
    assert best_threshold_and_value("j_index", 1.0) == (0.8, 0.5)
    assert best_threshold_and_value("tar", 1 / 3) == (0.8, pytest.approx(14 / 16))
    assert best_threshold_and_value("tar", 3.0) == (0.3, pytest.approx(13 / 16))
    # .9 and .8 are never wrong: both infinite, .8 has the larger delta
    assert best_threshold_and_value("ppv_odds", 1.0) == (0.8, math.inf)
    assert best_threshold_and_value("ppv", 1e-6) == (0.8, 1.0)
    # costs 1 and 5 at 1:1, a row: none 5/2, .8 5/4, .6 (1/4 + 5/4)/2, .3 (3/4)/2, all 1/2
    assert best_threshold_and_value("expected_cost", 1.0) == (0.3, pytest.approx(3 / 8))
    # where positives are rare, saying never positive costs 5 r / (1 + r), and .8 half of it
    assert best_threshold_and_value("expected_cost", 1e-3) == (
        0.8,
        pytest.approx(2.5 * 1e-3 / (1 + 1e-3)),
    )


def test_the_work_per_odds_is_that_of_the_hull() -> None:
    """Counting what a measure is handed: h candidates for each odds, not m thresholds."""
    n = 20_000
    rng = np.random.default_rng(1)
    score = np.arange(n) / n
    hit = (rng.random(n) < score**2).astype(np.int64)
    rows = list(zip(score.tolist(), hit.tolist(), strict=True))
    points = candidate_points(brute.score_counts(rows))
    sizes: list[int] = []

    def counting(t: Confusion) -> Floats:
        sizes.append(int(np.size(t.tp)))
        return measure_functions("confusion", beta=1.0)["mcc"](t)

    best_of(points, ODDS, {"mcc": counting})
    assert sum(sizes) == 2 * len(ODDS) * len(points.tp)  # and once more for the values
    assert len(points.tp) < n / 100
    all_points = roc_points(brute.score_counts(rows))
    assert len(all_points.tp) == n + 1


def test_the_row_of_a_best_threshold() -> None:
    """At 1:3 TAR is 14/16 at .8, (3 + 9)/16 at .6; at 3:1 .3 is best, and .6 (9 + 3)/16."""
    frame = pl.DataFrame(HAND, schema=["m", "truth"], orient="row")
    result = clfeval.tune_jpt(
        frame, positive="1", threshold=0.6, prevalence=["1:3", "3:1"], measure="tar", sweep=None
    )
    rows = rows_of(result, "thresholds", population="target", measure="tar")
    expected = ("1:3", 0.8, 0.5, 1, 14), ("3:1", 0.3, 1, 0.25, 13)
    for row, (odds, cut, sensitivity, specificity, right) in zip(rows, expected, strict=True):
        assert (row["odds"], row["threshold"], row["rule"]) == (odds, cut, "score >= t")
        assert (row["sensitivity"], row["specificity"]) == (sensitivity, specificity)
        assert row["value"] == Estimate(pytest.approx(right / 16))
        assert row["fixed_threshold"] == 0.6
        assert row["fixed_value"] == Estimate(pytest.approx(12 / 16))
    cuts = rows_of(result, "cutoffs", measure="tar")
    assert {("1:3", 0.8), ("3:1", 0.3)} <= {(row["odds"], row["threshold"]) for row in cuts}
    # with one score there is nothing between nobody and everybody, where MCC is 0/0
    equal = pl.DataFrame({"truth": [1, 0, 1, 0], "m": [0.5] * 4})
    result = clfeval.tune_jpt(equal, positive="1", measure="mcc", sweep=None, kind="score")
    for row in rows_of(result, "thresholds", measure="mcc"):
        assert (row["threshold"], row["rule"]) == (None, None)
        assert row["value"] == row["corrected"] == Estimate(None, reason="zero_margin")
    assert not rows_of(result, "cutoffs", measure="mcc")
