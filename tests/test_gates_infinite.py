"""Gates on what has no finite value, or no finite limit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import clfeval
from clfeval.gates.judge import judge
from clfeval.limits import parse_limit
from clfeval.result import Estimate, Gate, Result

NO_ALARM, FAIR, WRONG = (67, 0, 33, 100), (67, 5, 33, 95), (0, 100, 100, 0)


def tuned(counts: Any, **options: Any) -> Result:
    return clfeval.tune_jpt(counts=counts, **{"sweep": None, **options})


def gate(of: Result, kind: Any, text: str, baseline: Result | None = None) -> Gate:
    (only,) = judge(of, [parse_limit(kind, text)], baseline).gates
    return only


def test_the_lower_limit_of_an_infinite_value_is_a_number() -> None:
    """67 of 100 found, 0 of 100 alarmed: EPA is infinite, the low end of its interval is not.

    Its PPV odds alone would need a false positive rate below .67 / 100 to keep EPA above 50, and
    0 of 100 leaves rates up to 3.7 % plausible (Wilson: z² / (100 + z²), z = 1.96).
    """
    result = tuned(NO_ALARM)
    judged = gate(result, "fail-under", "epa.low=50")
    assert judged.passed is False
    low = result.tables["models"][0]["epa"].low
    assert judged.value == low
    assert 0 < low < 50
    assert gate(result, "fail-over", "epa.low=50").passed


def test_minus_infinity_is_less_than_every_number() -> None:
    """Once: DP of a classifier that is always wrong: fail-over dp=0 fails as "undefined"."""
    result = tuned(WRONG)
    under, over = (gate(result, kind, "dp=0") for kind in ("fail-under", "fail-over"))
    assert not under.passed
    assert over.passed
    assert gate(result, "max-drop", "dp=0", result).passed, "a run against itself"
    assert not gate(result, "max-drop", "dp=9", tuned(FAIR)).passed
    assert gate(tuned(FAIR), "max-drop", "dp=0", result).passed


def test_an_upper_limit_without_end_is_infinite() -> None:
    """Once: PPV odds finite, high null for no limit: fail-over says no_interval."""
    result = tuned((60, 1, 1, 60), interval="bootstrap", measure="ppv_odds")
    (row, *_) = result.tables["models"]
    assert row["ppv_odds"].low is not None
    assert row["ppv_odds"].high is None
    assert gate(result, "fail-over", "ppv_odds.high=1").reason == "infinite"


def test_the_label_that_is_said_may_be_asked_for() -> None:
    """Once: 'model at 1:10' stands in messages and JSON, and as MODEL: it is unknown."""
    result = tuned({"a": FAIR, "b": FAIR}, prevalence=["1:100", "1:10"])
    found = judge(result, [parse_limit("fail-under", "a at 1:10:ppv=0.5")]).gates
    assert [one.model for one in found] == ["a at 1:10"]


def test_a_summary_that_differs_by_model_is_said_to() -> None:
    """Once: 'rows' is no number [bad-gate]: it is, for each model."""
    result = tuned({"a": FAIR, "b": (60, 5, 3, 95)})
    with pytest.raises(clfeval.UsageError, match="'positives'"):
        judge(result, [parse_limit("fail-under", "positives=10")])


def test_a_measure_with_both_ends_is_never_infinite() -> None:
    endless = Estimate(None, reason="infinite")
    found = replace(tuned(FAIR), tables={"models": [{"model": "m", "roc_auc": endless}]})
    judged = gate(found, "fail-under", "roc_auc=0.9")
    assert (judged.passed, judged.value, judged.reason) == (False, None, "infinite")


def test_a_saved_result_with_a_model_twice_is_refused() -> None:
    twice = replace(tuned(FAIR), tables={"models": [{"model": "m", "recall": 1.0}] * 2})
    with pytest.raises(clfeval.UsageError, match="'m'"):
        gate(twice, "fail-under", "recall=0.9")


@pytest.mark.parametrize("limit", ["recall=\uff11", "recall=0.\u0661"])
def test_digits_that_are_not_ascii_are_no_limit(limit: str) -> None:
    with pytest.raises(clfeval.UsageError, match="bad-gate"):
        parse_limit("fail-under", limit)


def test_an_empty_baseline_is_no_file_that_is_not_there_yet() -> None:
    with pytest.raises(clfeval.UsageError, match="baseline"):
        tuned(FAIR).check(baseline="")
