"""What the report says of the probabilities of the best model."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.multitest import multipletests

import clfeval
from clfeval.document.cells import Estimate
from clfeval.measures.logistic import fitted_probabilities
from clfeval.methods.report.calibration_answer import (
    with_calibration_verdicts,
    with_well_calibrated,
)
from tests.methods.report.calibration_sentences import calibration_answer
from tests.results import rows_by, rows_of, value_of
from tests.texts import check_text, numbers_in

X = np.linspace(-4, 4, 4001)


# which kind each text is of is read in fixtures/golden
def checked_sentence(p: Any, truth: Any) -> str:
    """Return the sentence on the calibration of these probabilities, whose words are checked."""
    result = clfeval.report(pl.DataFrame({"truth": truth.astype(int), "m": p}), threshold=0.5)
    text = calibration_answer(result).text
    check_text(text)
    return text


def outcomes(slope: float, level: float = 0.0, times: int = 1) -> Any:
    """Return random classes whose log odds are level + slope x, for x of `X`."""
    x = np.tile(X, times)
    return np.random.default_rng(5).random(len(x)) < fitted_probabilities(x, level, slope)


def test_what_ranks_the_wrong_way_round_is_not_called_too_extreme() -> None:
    checked_sentence(fitted_probabilities(X, 0, 1), outcomes(-1))


def test_what_is_significantly_but_hardly_off_is_called_slight() -> None:
    """400,100 rows tell a slope of .97 from 1, which changes no decision."""
    slight = checked_sentence(
        np.tile(fitted_probabilities(X, 0, 1), 100), outcomes(0.97, times=100)
    )
    clear = checked_sentence(fitted_probabilities(X, 0, 1), outcomes(0.6))
    assert slight.split(":")[0] != clear.split(":")[0]
    # 1,000 times as many rows of two groups that are off by 5 points do matter
    p = np.repeat(np.arange(0.05, 1, 0.1), 20_000)
    came = p + 0.05 * (np.isclose(p, 0.45) * 1.0 - np.isclose(p, 0.55))
    text = checked_sentence(p, np.tile(np.arange(20_000) / 20_000, 10) < came)
    assert text.split(":")[0] == clear.split(":")[0]
    assert {2, 0.05} <= {*numbers_in(text)}  # tenths of the rows, and by how much


def test_a_class_of_probability_0_is_miscalibration_by_itself() -> None:
    """Its rows are in no test, and in no slope."""
    p, truth = fitted_probabilities(X, 0, 1), outcomes(1)
    p[:10], truth[:10] = 0, [True, True, *[False] * 8]
    result = clfeval.report(pl.DataFrame({"truth": truth * 1, "m": p}))
    alone = clfeval.report(pl.DataFrame({"truth": truth[10:] * 1, "m": p[10:]}))
    text = calibration_answer(result).text
    assert {2, 0} <= {*numbers_in(text)}
    check_text(text)
    tests, others = (rows_of(report, "calibration_tests") for report in (result, alone))
    assert [test["contradicted"] for test in tests] == [2, 2]
    assert [test["contradicted"] for test in others] == [0, 0]
    assert [test["statistic"] for test in tests] == [test["statistic"] for test in others]
    slope, slope_alone = (
        value_of(rows_of(report, "models")[0]["calibration_slope"]) for report in (result, alone)
    )
    assert slope == pytest.approx(slope_alone, rel=1e-12)


def test_where_there_is_no_slope_the_answer_says_why() -> None:
    truth = np.tile([True, False], 30)
    ties = np.where(truth, 0.99, 0.01)
    ties[:4] = 0.5
    texts = [
        checked_sentence(p, truth)
        for p in (
            np.where(truth, 0.99, 0.01),
            np.where(truth, 0.8, 0.2),
            np.where(truth, 0.1, 0.9),
            ties,
            truth * 1.0,
            np.full(60, 0.5),
            np.full(60, 0.02),
        )
    ]
    assert len({*texts}) == len(texts)


def test_few_rows_say_less() -> None:
    texts = [
        checked_sentence(fitted_probabilities(X[::step], 0, 1), outcomes(1)[::step])
        for step in (20, 200)
    ]
    assert texts[0] != texts[1]


def test_p_is_adjusted_for_both_tests_and_all_models() -> None:
    truth = outcomes(1)
    p = {f"m{k}": fitted_probabilities(X, 0.02 * k, 1 + 0.03 * k) for k in range(6)}
    table = rows_of(clfeval.report(pl.DataFrame({"truth": truth * 1, **p})), "calibration_tests")
    assert [row["model"] for row in table] == [f"m{k}" for k in range(6) for _ in range(2)]
    both = [min(1, 2 * min(a["p"], b["p"])) for a, b in zip(table[::2], table[1::2], strict=True)]
    expected = multipletests(both, method="holm")[1]
    for i in (0, 1):
        np.testing.assert_allclose([row["p_adjusted"] for row in table[i::2]], expected)


def three_class_answer(sure: float, right: float, rows: int) -> Any:
    """Return the answer on rows as sure as this of their class, of which a share is right."""
    answer = np.arange(rows) % 3
    hits = np.arange(rows) * 37 % 100 < 100 * right  # of each hundred so many
    truth = np.where(hits, answer, (answer + 1) % 3)
    shares = {f"prob_{k}": np.where(answer == k, sure, (1 - sure) / 2) for k in range(3)}
    result = clfeval.report(pl.DataFrame({"truth": truth.astype(str), **shares}))
    return calibration_answer(result)


def test_of_several_classes_being_sure_is_held_against_being_right() -> None:
    over = three_class_answer(0.9, 0.8, 3000)
    assert over.value == pytest.approx(0.9 - 0.8, abs=1e-12)
    # the mean of rows that are all as sure: the error of a share, p (1 - p) / (n - 1)
    reach = 1.96 * (0.8 * 0.2 / 2999) ** 0.5
    assert (over.low, over.high) == pytest.approx((0.1 - reach, 0.1 + reach), abs=2e-4)
    under, near = three_class_answer(0.7, 0.8, 3000), three_class_answer(0.81, 0.8, 300)
    many, few = three_class_answer(0.81, 0.8, 60_000), three_class_answer(0.81, 0.8, 30)
    assert under.value == pytest.approx(0.7 - 0.8, abs=1e-12)
    check_text(one.text for one in (over, under, near, many, few))


def test_too_sure_here_and_not_sure_enough_there_do_not_cancel() -> None:
    """Half of the rows 90 % sure and 60 % right, half 60 % sure and 90 % right."""
    rng, answer, rows = np.random.default_rng(1), np.arange(2000) % 3, np.arange(2000)
    sure = np.where(rows < 1000, 0.9, 0.6)
    truth = np.where(rng.random(2000) < 1.5 - sure, answer, (answer + 1) % 3)
    shares = {f"prob_{k}": np.where(answer == k, sure, (1 - sure) / 2) for k in range(3)}
    result = clfeval.report(pl.DataFrame({"truth": truth.astype(str), **shares}))
    text = calibration_answer(result).text
    assert 2 in numbers_in(text)  # tenths of the rows
    check_text(text)
    line, groups = result.tables["calibration_tests"]
    right = truth == answer
    z = [
        (right[rows // 1000 == k] - sure[rows // 1000 == k]).sum() ** 2 / (1000 * v)
        for k, v in enumerate((0.09, 0.24))
    ]
    assert groups["statistic"] == pytest.approx(sum(z))  # of two scores both tests are one
    assert line["statistic"] == pytest.approx(sum(z))


# slope and calibration-in-the-large with limits, p of both tests, p adjusted, level; the verdict
VERDICTS = [
    ((1.0, 0.80, 1.25), (0.0, -0.25, 0.25), (0.5, 0.4), 0.8, 0.95, "well calibrated"),
    ((1.0, 0.80, 1.26), (0.0, -0.25, 0.25), (0.5, 0.4), 0.8, 0.95, "no miscalibration detected"),
    ((1.0, 0.79, 1.25), (0.0, -0.25, 0.25), (0.5, 0.4), 0.8, 0.95, "no miscalibration detected"),
    ((1.0, 0.80, 1.25), (0.0, -0.26, 0.25), (0.5, 0.4), 0.8, 0.95, "no miscalibration detected"),
    ((1.0, 0.80, 1.25), (0.0, -0.25, 0.26), (0.5, 0.4), 0.8, 0.95, "no miscalibration detected"),
    # 2 x 0.03 is not below 0.05, 2 x 0.02 is, whatever is left of it after the models
    ((1.0, 0.80, 1.25), (0.0, -0.25, 0.25), (0.5, 0.03), 0.3, 0.95, "well calibrated"),
    ((1.0, 0.80, 1.25), (0.0, -0.25, 0.25), (0.5, 0.02), 0.2, 0.95, "no miscalibration detected"),
    ((1.0, 0.80, 1.25), (0.0, -0.25, 0.25), (0.5, 0.02), 0.04, 0.95, "miscalibrated"),
    ((1.1, 1.01, 1.20), (0.0, -0.25, 0.25), (0.5, 0.4), 0.8, 0.95, "undecided"),
    ((1.0, 0.49, 1.51), (0.0, -0.25, 0.25), (0.5, 0.4), 0.8, 0.95, "too few rows"),
    # narrower intervals than of 95% are no reason to claim more
    ((1.0, 0.90, 1.10), (0.0, -0.10, 0.10), (0.5, 0.4), 0.8, 0.90, "no miscalibration detected"),
    ((1.0, 0.90, 1.10), (0.0, -0.10, 0.10), (0.5, 0.4), 0.8, 0.99, "well calibrated"),
]


@pytest.mark.parametrize(("slope", "shift", "p", "adjusted", "level", "verdict"), VERDICTS)
def test_well_calibrated_is_a_claim_of_equivalence(
    slope: Any, shift: Any, p: Any, adjusted: float, level: float, verdict: str
) -> None:
    row: dict[str, Any] = {
        "slice": None,
        "model": "m",
        "calibration_slope": Estimate(*slope),
        "calibration_in_the_large": Estimate(*shift),
        "roc_auc": Estimate(0.8),
    }
    tests = [
        {"model": "m", "p": one, "p_adjusted": adjusted, "contradicted": 0, "largest_gap": 0.1}
        | {"groups_off": 0}
        for one in p
    ]
    judged = with_calibration_verdicts(tests, [row], level)
    assert [test["verdict"] for test in judged] == [verdict, verdict]
    (model,) = with_well_calibrated([row], judged)
    assert model["well_calibrated"] == (verdict == "well calibrated")


# how many half widths lie between slope and limit, of five models; how many are well calibrated.
# One-sided p: 1 half width .025, 1.18 .0104, 1.19 .0098, 1.15 .0121, 1.05 .0198; the largest p is
# compared with .05 / 1, the next one with .05 / 2, and so on
SHARED_LEVELS = [
    ((1.0, 1.0, 1.0, 1.0, 1.0), 5),
    ((1.0, 0.9, 0.9, 0.9, 0.9), 0),
    ((1.18, 0.9, 0.9, 0.9, 0.9), 0),
    ((1.19, 0.9, 0.9, 0.9, 0.9), 1),
    ((1.15, 1.15, 0.9, 0.9, 0.9), 2),
    ((1.05, 1.05, 1.0, 0.9, 0.9), 0),
    ((1.15, 1.05, 1.05, 1.0, 0.9), 4),
]


@pytest.mark.parametrize(("half_widths", "well"), SHARED_LEVELS)
def test_any_of_several_models_is_called_well_calibrated_as_seldom_as_one(
    half_widths: Any, well: int
) -> None:
    models: list[dict[str, Any]] = [
        {
            "slice": None,
            "model": f"m{place}",
            "calibration_slope": Estimate(1.0, 1 - 0.2 / ratio, 1.15),
            "calibration_in_the_large": Estimate(0.0, -0.1, 0.1),
            "roc_auc": Estimate(0.8),
        }
        for place, ratio in enumerate(half_widths)
    ]
    tests = [
        {"model": model["model"], "p": 0.5, "p_adjusted": 1.0, "contradicted": 0}
        for model in models
        for _ in range(2)
    ]
    verdicts = {
        test["model"]: test["verdict"] for test in with_calibration_verdicts(tests, models, 0.95)
    }
    assert [*verdicts.values()] == ["well calibrated"] * well + ["no miscalibration detected"] * (
        5 - well
    )


def test_a_gate_requires_well_calibrated_probabilities() -> None:
    """Ten groups of 4,000 rows with their share of positives, and as many with half of it."""
    p = np.repeat(np.arange(0.05, 1, 0.1), 4000)
    truth = np.tile(np.arange(4000) / 4000, 10) < p
    table = pl.DataFrame({"truth": truth * 1, "good": p, "bad": p / 2})
    result = clfeval.report(table)
    rows = rows_by(result, "models", "model")
    well_calibrated = {model: row["well_calibrated"] for model, row in rows.items()}
    assert well_calibrated == {"good": 1, "bad": 0}
    gates = result.check(fail_under={"well_calibrated": 1}).gates
    assert {gate.model: (gate.passed, gate.value) for gate in gates} == {
        "good": (True, 1),
        "bad": (False, 0),
    }
