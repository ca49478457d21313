"""Gates: exact at the limit, an undefined value never passes, like is compared with like."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clfeval
from clfeval.api.result import Result
from clfeval.compare.gates.evaluate import evaluate_limits
from clfeval.compare.gates.limits import Gates, parse_limit
from clfeval.document import Gate
from clfeval.document.cells import Estimate
from tests.gates import gate_of, gates_of
from tests.results import problem_codes, warning_codes
from tests.texts import check_text, numbers_in
from tests.thoroughness import examples

SETTINGS = "cmd:mars|target:positive|rule:all|pos:1|cut:none|data:1111|stats:2222|clfeval:0.1.0"


def mars_result(*models: dict[str, Any], signature: str = SETTINGS, **summary: Any) -> Result:
    """Build a Result by hand: rows of the table of models and entries of the summary."""
    rows = [{"slice": None, **row} for row in models]
    return Result("mars", signature, (), {}, summary, {"models": rows})


def rf(**cells: Any) -> dict[str, Any]:
    return {"model": "rf", **cells}


def rf2(**cells: Any) -> dict[str, Any]:
    return {"model": "rf2", **cells}


@examples(60)
@given(st.floats(0, 1).filter(lambda x: x > 0))
def test_exactly_at_the_limit_passes_and_one_ulp_beyond_fails(limit: float) -> None:
    below, above = math.nextafter(limit, -1), math.nextafter(limit, 2)
    for value, under, over in [(limit, True, True), (below, False, True), (above, True, False)]:
        given_ = mars_result(rf(recall=Estimate(value)))
        assert gate_of(given_, "fail-under", f"recall={limit!r}").passed == under
        assert gate_of(given_, "fail-over", f"recall={limit!r}").passed == over


def test_the_gate_says_what_it_judged() -> None:
    judged = evaluate_limits(
        mars_result(rf(recall=Estimate(0.8, 0.7, 0.9))),
        [
            parse_limit("fail-under", "recall=0.75"),
            parse_limit("fail-under", "recall.low=0.75"),
            parse_limit("fail-over", "recall.high=0.9"),
        ],
    )
    assert judged.gates == (
        Gate("fail-under", "recall", "rf", 0.75, 0.8, True),
        Gate("fail-under", "recall.low", "rf", 0.75, 0.7, False),
        Gate("fail-over", "recall.high", "rf", 0.9, 0.9, True),
    )
    assert not judged.passed


def test_every_model_is_judged_unless_one_is_named(paper: Path) -> None:
    run = clfeval.mars(paper / "wide.csv")
    # recalls 3/6, 2/6, 1/6, 4/6
    verdicts = {g.model: g.passed for g in gates_of(run, "fail-under", "recall=0.5")}
    assert verdicts == {"C1": True, "C2": False, "C3": False, "C4": True}
    assert gate_of(run, "fail-under", f"C3:recall={1 / 6!r}").passed
    assert gate_of(run, "fail-under", "C1:RECALL=0.5").passed
    assert gate_of(run, "fail-under", "C1:sensitivity=0.5").metric == "recall", "an alias"
    assert gate_of(run, "fail-over", "C1:fp=2").passed
    assert not gate_of(run, "fail-over", "C2:fp=2").passed  # 1, 3 and 9


def test_numbers_of_the_summary(paper: Path) -> None:
    run = clfeval.mars(paper / "wide.csv")
    assert gate_of(run, "fail-under", "found=6") == Gate("fail-under", "found", None, 6.0, 6, True)
    assert not gate_of(run, "fail-over", "positives=5").passed
    for text, named in (("rule=1", "'rule'"), ("C1:found=1", "'found'")):
        with pytest.raises(clfeval.UsageError, match=named):
            gates_of(run, "fail-under", text)


def test_unknown_names_are_refused_with_a_suggestion(paper: Path) -> None:
    run = clfeval.mars(paper / "wide.csv")
    with pytest.raises(clfeval.UsageError, match="'recall'"):
        gates_of(run, "fail-under", "recal=1")
    with pytest.raises(clfeval.UsageError, match=r"'C9'.*unknown-model"):
        gates_of(run, "fail-under", "C9:recall=1")


def test_a_measure_with_parameters_is_named_with_them_where_there_are_several() -> None:
    of = mars_result(
        rf(**{"f_beta:beta=2": 0.7, "f_beta:beta=0.5": 0.9, "f1": 0.8, "ece:bins=5": 0.1})
    )
    assert [gate_of(of, "fail-under", f"rf:f_beta:beta={b}=0.8").passed for b in (2, 0.5)] == [
        False,
        True,
    ]
    assert gate_of(of, "fail-over", "ece=0.2").metric == "ece:bins=5"
    with pytest.raises(clfeval.UsageError, match="'f_beta'"):
        gate_of(of, "fail-under", "f_beta=0.8")


@pytest.mark.parametrize(
    ("measure", "then", "now", "drop"),
    [
        ("recall", 0.75, 0.5, 0.25),
        ("recall", 0.5, 0.75, -0.25),
        ("recall", 0.5, 0.5, 0),
        ("occlusion", 0.25, 0.5, 0.25),
        ("occlusion", 0.5, 0.25, -0.25),  # better low
        ("calibration_slope", 0.75, 1.25, 0),
        ("calibration_slope", 0.75, 1.5, 0.25),  # best at 1
        ("fp", 3, 9, 6),
        ("fn", 9, 3, -6),
        ("exclusive_fn", 3, 9, 6),  # errors, no measures
        ("missed_by_all", 3, 9, 6),  # of the summary
    ],
)
def test_a_drop_is_how_much_worse_a_value_is(
    measure: str, then: float, now: float, drop: float
) -> None:
    of_all = measure == "missed_by_all"
    old, new = (
        mars_result(missed_by_all=x) if of_all else mars_result(rf(**{measure: x}))
        for x in (then, now)
    )
    at = gate_of(new, "max-drop", f"{measure}={max(drop, 0)}", old)
    assert (at.value, at.limit, at.passed) == (drop, max(drop, 0), True)
    if drop > 0:
        assert not gate_of(new, "max-drop", f"{measure}={math.nextafter(drop, 0)!r}", old).passed


def test_max_drop_with_something_undefined_or_gone() -> None:
    nothing = Estimate(None, reason="nothing_found")
    defined, undefined = mars_result(rf(recall=Estimate(0.5))), mars_result(rf(recall=nothing))
    now = gate_of(undefined, "max-drop", "recall=1", defined)
    assert (now.value, now.passed, now.reason) == (None, False, "nothing_found")
    then = gate_of(defined, "max-drop", "recall=1", undefined)
    assert (then.value, then.passed) == (None, False)
    assert then.reason == "undefined_in_baseline"
    assert gate_of(defined, "max-drop", "recall.low=1", defined).reason == "no_interval"


def test_a_model_that_is_gone_fails_as_one_that_is_new_does() -> None:
    here, there = (
        mars_result(*({"model": name, "recall": Estimate(0.9)} for name in names))
        for names in (("rf", "new"), ("rf", "svm"))
    )
    changed = replace(
        there, tables={"models": [*there.tables["models"], rf2(recall=Estimate(0.5))]}
    )
    judged = evaluate_limits(here, [parse_limit("max-drop", "recall=1")], changed)
    assert [(one.model, one.passed, one.reason) for one in judged.gates] == [
        ("rf", True, None),
        ("new", False, "not_in_baseline"),
        ("svm", False, "gone"),
        ("rf2", False, "gone"),
    ]
    check_text(str(judged.gates[2]))
    assert warning_codes(judged) == ["baseline-models"]
    assert "'svm'" in judged.warnings[0].message


def test_of_models_that_are_gone_those_count_that_a_limit_is_on() -> None:
    here = mars_result(rf(recall=Estimate(0.9)))
    there = mars_result(rf(recall=Estimate(0.9)), rf2(recall=Estimate(0.5), fp=3))

    def models(kind: str, text: str, old: Result = there) -> list[str | None]:
        return [one.model for one in gates_of(here, kind, text, old)]

    assert models("max-drop", "rf*:recall=0") == ["rf", "rf2"]
    assert models("fail-under", "recall.change=0") == ["rf", "rf2"]
    assert models("max-drop", "rf:recall=0") == ["rf"]
    assert models("max-drop", "any:recall=0") == ["rf"], "one that keeps to it is enough"
    renamed = mars_result(rf2(recall=Estimate(0.9), precision=Estimate(0.8)))
    now = mars_result(rf(recall=Estimate(0.9), precision=Estimate(0.8)))
    assert [one.model for one in gates_of(now, "max-drop", "recall=0", renamed)] == ["rf"]


@pytest.mark.parametrize("written", ["f_beta:beta=2", "f_beta:beta=2.0", "f_beta:beta=2e0"])
def test_a_parameter_is_a_number_however_it_is_written(written: str) -> None:
    frame = pl.DataFrame({"truth": [1, 1, 0, 0], "m": [1, 0, 1, 0]})
    result = clfeval.report(frame, measure=["f_beta:beta=2"])
    (gate,) = result.check(fail_under={written: 0.5}).gates
    assert (gate.metric, gate.value) == ("f_beta:beta=2", 0.5)  # 5 / (5 + 4 + 1)
    with pytest.raises(clfeval.UsageError, match="unknown-metric"):
        result.check(fail_under={"f_beta:beta=3": 0.5})


@pytest.mark.parametrize(
    "options",
    [
        {"target": "negative"},
        {"occlusion": "any"},
        {"level": 0.9},
        {"interval": "none"},
        {"threshold": 0.6},
        {"top": 3},
        {"positive": "0"},
        {"missing": "drop"},
        {"threshold": {"C1": 0.6}},
        {"threshold": 0.50000001},
        {"group": {"pair": ["C1", "C2"]}},
    ],
    ids=str,
)
def test_a_baseline_with_other_settings_is_refused(options: dict[str, Any], paper: Path) -> None:
    """Whatever setting changes numbers stands in the signature."""
    here = clfeval.mars(paper / "scores.csv")
    there = clfeval.mars(paper / "scores.csv", **options)
    for one, two in ((here, there), (there, here)):
        with pytest.raises(clfeval.UsageError, match="baseline"):
            evaluate_limits(one, [], two)


def test_a_result_without_models_is_refused_by_name() -> None:
    with pytest.raises(clfeval.UsageError, match="recall"):
        gates_of(mars_result(), "fail-under", "recall=0.5")


@pytest.mark.parametrize(
    "text", ["detection_prevalence=0.1", "recall.gap=0.1", "recall.extremes=0.1", "recall.change=0"]
)
def test_a_drop_of_what_has_no_worse_side_is_refused(text: str) -> None:
    of = mars_result(rf(recall=Estimate(0.5), detection_prevalence=Estimate(0.5)))
    with pytest.raises(clfeval.UsageError, match="bad-gate") as caught:
        gates_of(of, "max-drop", text, of)
    assert "--fail-under" in str(caught.value.hint)


@pytest.mark.parametrize(("reach", "passed"), [(0.1, False), (0.2, True)])
def test_the_drop_of_what_is_best_between_is_that_away_from_its_target(
    reach: float, passed: bool
) -> None:
    """From .75 to 1.5: the drop is .5 - .25, the change .75 -+ hypot(reach, reach).

    It is farther from 1 where .25 is beyond that, .14 or .28.
    """
    then, now = (
        mars_result(rf(calibration_slope=Estimate(x, x - reach, x + reach))) for x in (0.75, 1.5)
    )
    limits = Gates(max_drop=("calibration_slope=0.1",), significant=True)
    (gate,) = evaluate_limits(now, limits.limits, then, limits).gates
    assert (gate.value, gate.passed) == (0.25, passed)
    assert gate.reason == ("not_significant" if passed else None)


def test_all_wrong_limits_are_told_at_once() -> None:
    of = mars_result(rf(recall=Estimate(0.5), precision=Estimate(0.5)))
    with pytest.raises(clfeval.UsageError) as caught:
        evaluate_limits(
            of,
            [
                parse_limit("fail-under", text)
                for text in (
                    "recal=0.1",
                    "recall=70",
                    "precision=0.1",
                    "svm:recall=0.1",
                    "recall=-1",
                )
            ],
        )
    check_text(str(caught.value))
    assert problem_codes(caught.value) == [
        "unknown-metric",
        "bad-gate",
        "unknown-model",
        "bad-gate",
    ]
    with pytest.raises(clfeval.UsageError) as caught:
        _ = Gates(fail_under=("recall", "precision=0.5"), max_drop=("recall=x",)).limits
    assert len(caught.value.problems) == 2


def test_two_names_of_one_measure_are_one_limit_and_both_must_be_exceeded() -> None:
    """3 points and 10 % of 0.5, which is 0.05: 0.46 exceeds the first alone."""
    then, now = mars_result(rf(recall=Estimate(0.5))), mars_result(rf(recall=Estimate(0.46)))
    limits = [parse_limit("max-drop", t) for t in ("rf:sensitivity=0.03", "*:recall=10%")]
    (only,) = evaluate_limits(now, limits, then).gates
    assert (only.passed, only.limit, only.limit_text) == (True, 0.05, "0.03 and 10%")
    lower = mars_result(rf(recall=Estimate(0.44)))
    (only,) = evaluate_limits(lower, limits, then).gates
    check_text(str(only))
    assert {0.06, 0.03, 10, 0.05} <= {*numbers_in(str(only))}
