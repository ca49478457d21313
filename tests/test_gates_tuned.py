"""Gates on tuned tables: which rows they look at, what these are called, infinite values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.compare.gates.evaluate import evaluate_limits
from clfeval.compare.gates.limits import parse_limit
from clfeval.document import Gate
from clfeval.document.cells import Estimate
from tests.gates import gate_of, gates_of
from tests.results import estimate_of, warning_codes

CCP, RF = (67, 5, 33, 95), (69, 15, 31, 85)
BOTH = {"ccp": CCP, "rf": RF}
RESULTS: dict[str, Result] = {}
NO_ALARM, NO_ALARM_NO_HIT, WRONG = (67, 0, 33, 100), (0, 0, 100, 100), (0, 100, 100, 0)


def tuned(counts: Any, **options: Any) -> Result:
    """Return the result of a request, computed once: nothing in it can be changed."""
    asked = repr((counts, options))
    if asked not in RESULTS:
        RESULTS[asked] = clfeval.tune_jpt(counts=counts, **{"sweep": None, **options})
    return RESULTS[asked]


def gates_by_model(
    of: Result, kind: Any, text: str, baseline: Result | None = None
) -> dict[Any, Gate]:
    gates = gates_of(of, kind, text, baseline)
    assert len({gate.model for gate in gates}) == len(gates), "two gates of one name"
    return {gate.model: gate for gate in gates}


def ppv(counts: tuple[int, int, int, int], ratio: float) -> float:
    tp, fp, fn, tn = counts
    return ratio * tp / (tp + fn) / (ratio * tp / (tp + fn) + fp / (fp + tn))


def test_without_a_target_the_sample_is_judged() -> None:
    found = gates_by_model(tuned(BOTH), "fail-under", "ppv=0.9")
    assert {name: (one.value, one.passed) for name, one in found.items()} == {
        "ccp": (67 / 72, True),
        "rf": (69 / 84, False),
    }


@pytest.mark.parametrize(
    ("typed", "stored", "value"),
    [
        ("J", "j_index", 67 / 100 - 5 / 100),
        ("δ", "delta", 67 / 100 - 5 / 100),
        ("LR+", "lr_pos", (67 / 100) / (5 / 100)),
        ("PPV", "ppv", 67 / 72),
        ("precision", "ppv", 67 / 72),
        ("f1", "f_beta", 2 * 67 / (2 * 67 + 5 + 33)),
        ("PPV odds", "ppv_odds", 67 / 5),
        ("recall", "sensitivity", 67 / 100),
    ],
)
def test_what_the_screen_shows_can_be_typed(typed: str, stored: str, value: float) -> None:
    found = gate_of(tuned({"ccp": CCP}), "fail-under", f"{typed}=0.1")
    assert (found.metric, found.passed) == (stored, True)
    assert found.value == pytest.approx(value, rel=1e-14)


def test_with_two_targets_the_odds_stand_beside_the_model() -> None:
    result = tuned(BOTH, prevalence=["1:100", "1:10"])
    found = gates_by_model(result, "fail-under", "ppv=0.1")
    known = {f"{name} at 1:{n}": ppv(one, 1 / n) for name, one in BOTH.items() for n in (100, 10)}
    assert {name: one.value for name, one in found.items()} == pytest.approx(known, rel=1e-14)
    assert [one.passed for one in found.values()] == [True, True, False, True]


def test_a_model_is_named_without_its_odds_and_judged_at_each() -> None:
    result = tuned(BOTH, prevalence=["1:100", 0.5])
    assert set(gates_by_model(result, "fail-under", "rf:ppv=0")) == {"rf at 1:1", "rf at 1:100"}
    with pytest.raises(clfeval.UsageError, match="'rf'"):
        gates_by_model(result, "fail-under", "RF:ppv=0")


def test_rates_without_rows_are_judged_at_equal_classes() -> None:
    result = clfeval.tune_jpt(sensitivity=0.67, specificity=0.95)
    judged = gate_of(result, "fail-under", "ppv=0.9")
    assert (judged.model, judged.passed) == ("model", True)
    assert judged.value == pytest.approx(0.67 / 0.72, rel=1e-14)
    low = gate_of(result, "fail-under", "ppv.low=0")
    assert (low.value, low.passed, low.reason) == (None, False, "no_interval")


def test_slices_and_sweeps_are_not_judged() -> None:
    import polars as pl

    frame = pl.DataFrame({"truth": [1, 1, 0], "a": [1, 0, 0], "site": ["x", "y", "x"]})
    result = clfeval.tune_jpt(frame, by="site", prevalence="1:3", sweep="1:9..9:1")
    assert set(gates_by_model(result, "fail-under", "sensitivity=0.5")) == {"a at 1:3"}
    assert gate_of(result, "fail-under", "sensitivity=0.5").value == 1 / 2


def test_cells_are_those_of_a_thousand_rows_of_the_target() -> None:
    judged = gate_of(tuned(CCP, prevalence="1:99"), "fail-over", "fp=49.5")
    assert judged.value == pytest.approx(1000 * 0.99 * 0.05, rel=1e-14)
    assert gate_of(tuned(CCP), "fail-over", "fp=4").value == 5


@pytest.mark.parametrize("measure", ["ppv_odds", "epa", "lr_pos", "dor", "dp"])
def test_an_infinite_value_is_more_than_every_number(measure: str) -> None:
    result = tuned(NO_ALARM, prevalence="1:100")
    under, over = (
        gate_of(result, kind, f"{measure}=1e300") for kind in ("fail-under", "fail-over")
    )
    assert (under.value, under.passed, under.reason) == (None, True, "infinite")
    assert (over.value, over.passed, over.reason) == (None, False, "infinite")


@pytest.mark.parametrize("kind", ["fail-under", "fail-over"])
@pytest.mark.parametrize(
    ("measure", "reason"),
    [
        ("ppv", "no_positive_prediction"),
        ("epa", "no_positive_prediction"),
        ("lr_pos", "no_positive_prediction"),
        ("mcc", "zero_margin"),
        ("dp", "zero_margin"),
    ],
)
def test_an_undefined_value_fails_and_says_why(kind: str, measure: str, reason: str) -> None:
    limit = "0" if kind == "fail-under" else "1"
    judged = gate_of(tuned(NO_ALARM_NO_HIT, prevalence="1:100"), kind, f"{measure}={limit}")
    assert (judged.value, judged.passed, judged.reason) == (None, False, reason)


def test_a_model_without_positives_fails_at_the_target() -> None:
    result = tuned({"a": CCP, "b": (0, 5, 0, 95)}, prevalence="1:100")
    found = gates_by_model(result, "fail-under", "tar=0")
    assert {name: (one.passed, one.reason) for name, one in found.items()} == {
        "a at 1:100": (True, None),
        "b at 1:100": (False, "no_positive_truth"),
    }


@pytest.mark.parametrize(
    ("now", "before", "passed", "reason"),
    [
        (NO_ALARM, CCP, True, "minus_infinite"),
        (CCP, NO_ALARM, False, "infinite"),
        (NO_ALARM_NO_HIT, NO_ALARM, False, "no_positive_prediction"),
        (NO_ALARM_NO_HIT, CCP, False, "no_positive_prediction"),
    ],
)
def test_a_drop_from_or_to_infinity(now: Any, before: Any, passed: bool, reason: str) -> None:
    judged = gate_of(tuned(now), "max-drop", "ppv_odds=1000000", tuned(before))
    assert (judged.value, judged.passed, judged.reason) == (None, passed, reason)


def test_a_drop_of_what_is_better_low() -> None:
    """LR- of a classifier that is always wrong is 1 / 0."""
    wrong, fair = tuned((0, 100, 100, 0)), tuned(CCP)
    assert gate_of(wrong, "fail-over", "lr_neg=9").reason == "infinite"
    assert not gate_of(wrong, "max-drop", "lr_neg=9", fair).passed
    assert gate_of(fair, "max-drop", "lr_neg=0", wrong).passed
    assert gate_of(wrong, "max-drop", "lr_neg=0", wrong).passed
    # LR-: 33/95 against 31/85
    judged = gate_of(tuned(RF), "max-drop", "lr_neg=0.01", tuned(CCP))
    assert judged.value == pytest.approx(31 / 85 - 33 / 95, rel=1e-12)
    assert not judged.passed


def test_a_bias_may_grow_to_neither_side() -> None:
    judged = gate_of(tuned(CCP), "max-drop", "phi=0", tuned((95, 33, 5, 67)))
    assert judged.value == pytest.approx(0, abs=1e-15)  # -.28 is no farther from 0 than .28
    assert not gate_of(tuned(CCP), "max-drop", "phi=0.1", tuned((67, 33, 33, 67))).passed


def test_a_drop_is_judged_row_by_row() -> None:
    now, before = (tuned(c, prevalence=["1:100", "1:10"]) for c in (RF, CCP))
    found = gates_by_model(now, "max-drop", "ppv=0.1", before)
    drops = {f"model at 1:{n}": ppv(CCP, 1 / n) - ppv(RF, 1 / n) for n in (100, 10)}
    assert {name: one.value for name, one in found.items()} == pytest.approx(drops, rel=1e-12)
    assert {name: one.passed for name, one in found.items()} == {
        name: drop <= 0.1 for name, drop in drops.items()
    }


@pytest.mark.parametrize(
    "options",
    [
        {"prevalence": "1:99"},
        {"prevalence": ["1:100", "1:10"]},
        {},
        {"prevalence": "1:100", "measure": "f_beta:beta=2"},
        {"prevalence": "1:100", "level": 0.9},
        {"prevalence": "1:100", "interval": "bootstrap"},
        {"prevalence": "1:100", "measure": "cost:fp=1,fn=2"},
        {"prevalence": "1:100", "measure": "ppv"},
        {"prevalence": "1:100", "totals": "fixed"},
        {"prevalence": "1:100", "positive": "ill"},
        {"prevalence": "1:100", "sweep": "1:9..9:1"},
        {"prevalence": "1:100", "population": 50_000},
        {"prevalence": ["1:100", "0.1..0.2"]},
        {"prevalence": "1:100", "prevalence_beta": (1, 2)},
    ],
    ids=str,
)
def test_a_baseline_of_other_settings_is_refused(options: dict[str, Any], paper: Path) -> None:
    here, there = tuned(CCP, prevalence="1:100"), tuned(CCP, **options)
    for one, other in ((here, there), (there, here)):
        with pytest.raises(clfeval.UsageError, match="baseline"):
            evaluate_limits(one, [], other)
    with pytest.raises(clfeval.UsageError, match="tune-jpt"):
        evaluate_limits(here, [], clfeval.mars(paper / "wide.csv"))


def test_another_seed_is_compared_and_said() -> None:
    here, there = tuned(CCP, prevalence="1:100", seed=2), tuned(CCP, prevalence="1:100", seed=1)
    judged = evaluate_limits(here, [parse_limit("max-drop", "mcc=0")], there)
    assert judged.passed
    assert warning_codes(judged).count("baseline-seed") == 1


def test_a_run_against_itself_saved_and_read_again() -> None:
    run = tuned({**BOTH, "keen": NO_ALARM}, prevalence=["1:100", "1:10"], measure="cost:fp=1,fn=10")
    saved = Result.from_json(run.to_json())
    names = [name for name, cell in run.tables["models"][0].items() if isinstance(cell, Estimate)]
    judged = evaluate_limits(run, [parse_limit("max-drop", f"{name}=0") for name in names], saved)
    assert len(names) == 22
    assert len(judged.gates) == 22 * 3 * 2
    assert judged.passed
    assert Result.from_json(judged.to_json()).gates == judged.gates


def test_unknown_measures_are_refused_with_a_suggestion() -> None:
    result = tuned(CCP, prevalence="1:100")
    with pytest.raises(clfeval.UsageError, match="expected_cost"):
        gates_by_model(result, "fail-over", "expected_cost=1")
    assert gate_of(tuned(CCP, measure="cost:fp=1,fn=10"), "fail-over", "expected_cost=1.675").passed
    with pytest.raises(clfeval.UsageError, match="'kappa'"):
        gates_by_model(tuned(CCP, measure="g_mean"), "fail-under", "kappa=0")


def test_the_lower_limit_of_an_infinite_value_is_a_number() -> None:
    """67 of 100 found, 0 of 100 alarmed: EPA is infinite, the low end of its interval is not.

    Its PPV odds alone would need a false positive rate below .67 / 100 to keep EPA above 50, and
    0 of 100 leaves rates up to 3.7 % plausible (Wilson: z² / (100 + z²), z = 1.96).
    """
    result = tuned(NO_ALARM)
    judged = gate_of(result, "fail-under", "epa.low=50")
    assert judged.passed is False
    low = estimate_of(result.tables["models"][0]["epa"]).low
    assert low is not None
    assert judged.value == low
    assert 0 < low < 50
    assert gate_of(result, "fail-over", "epa.low=50").passed


def test_minus_infinity_is_less_than_every_number() -> None:
    """Once: DP of a classifier that is always wrong: fail-over dp=0 fails as "undefined"."""
    result = tuned(WRONG)
    under, over = (gate_of(result, kind, "dp=0") for kind in ("fail-under", "fail-over"))
    assert not under.passed
    assert over.passed
    assert gate_of(result, "max-drop", "dp=0", result).passed, "a run against itself"
    assert not gate_of(result, "max-drop", "dp=9", tuned(CCP)).passed
    assert gate_of(tuned(CCP), "max-drop", "dp=0", result).passed


def test_an_upper_limit_without_end_is_infinite() -> None:
    """Once: PPV odds finite, high null for no limit: fail-over says no_interval."""
    result = tuned((60, 1, 1, 60), interval="bootstrap", measure="ppv_odds")
    (row, *_) = result.tables["models"]
    assert row["ppv_odds"].low is not None
    assert row["ppv_odds"].high is None
    assert gate_of(result, "fail-over", "ppv_odds.high=1").reason == "infinite"


def test_the_label_that_is_said_may_be_asked_for() -> None:
    """Once: 'model at 1:10' stands in messages and JSON, and as MODEL: it is unknown."""
    result = tuned({"a": CCP, "b": CCP}, prevalence=["1:100", "1:10"])
    found = evaluate_limits(result, [parse_limit("fail-under", "a at 1:10:ppv=0.5")]).gates
    assert [one.model for one in found] == ["a at 1:10"]


def test_a_summary_that_differs_by_model_is_said_to() -> None:
    """Once: 'rows' is no number [bad-gate]: it is, for each model."""
    result = tuned({"a": CCP, "b": (60, 5, 3, 95)})
    with pytest.raises(clfeval.UsageError, match="'positives'"):
        evaluate_limits(result, [parse_limit("fail-under", "positives=10")])


def test_a_measure_with_both_ends_is_never_infinite() -> None:
    endless = Estimate(None, reason="infinite")
    found = replace(tuned(CCP), tables={"models": [{"model": "m", "roc_auc": endless}]})
    judged = gate_of(found, "fail-under", "roc_auc=0.9")
    assert (judged.passed, judged.value, judged.reason) == (False, None, "infinite")


def test_a_saved_result_with_a_model_twice_is_refused() -> None:
    twice = replace(tuned(CCP), tables={"models": [{"model": "m", "recall": 1.0}] * 2})
    with pytest.raises(clfeval.UsageError, match="'m'"):
        gate_of(twice, "fail-under", "recall=0.9")


def test_an_empty_baseline_is_no_file_that_is_not_there_yet() -> None:
    with pytest.raises(clfeval.UsageError, match="baseline"):
        tuned(CCP).check(baseline="")
