"""A result beside one saved earlier: changes, their intervals and verdicts, and limits on them."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.baseline.beside import Baseline
from clfeval.baseline.compare import difference
from clfeval.baseline.read import CALLED
from clfeval.gates.judge import judge
from clfeval.limits import parse_limit
from clfeval.result import Estimate, Result
from clfeval.views.junit import as_junit
from clfeval.views.terminal import as_text

SETTINGS = "cmd:mars|pos:1|data:1111|stats:2222|clfeval:0.1.0"


def result(**models: dict[str, Estimate]) -> Result:
    """Build a result by hand: the measures of each model."""
    rows = [{"slice": None, "model": name, **cells} for name, cells in models.items()]
    return Result("mars", SETTINGS, (), {"level": 0.95}, {}, {"models": rows})


def baseline_rows(new: Result, old: Result) -> list[Any]:
    return [*Baseline.of(new, old).shown(new).tables["baseline"]]


def verdict(measure: str, old: Estimate, new: Estimate) -> str:
    (row,) = baseline_rows(result(a={measure: new}), result(a={measure: old}))
    return str(row["verdict"])


def gates(of: Result, kind: Any, text: str, baseline: Result | None = None) -> list[Any]:
    return list(judge(of, [parse_limit(kind, text)], baseline).gates)


LOW = Estimate(0.5, 0.4, 0.58)
HIGH = Estimate(0.8, 0.77, 0.84)


def test_a_change_has_the_distances_of_both_added_in_squares() -> None:
    change = difference(LOW, HIGH)
    # down to the new one's low end 0.03 and up to the old one's high end 0.08; up 0.04 and 0.1
    assert change.value == pytest.approx(0.3)
    assert change.low == pytest.approx(0.3 - math.sqrt(0.03**2 + 0.08**2))
    assert change.high == pytest.approx(0.3 + math.sqrt(0.04**2 + 0.1**2))
    back = difference(HIGH, LOW)
    assert (back.low, back.high) == (pytest.approx(-change.high), pytest.approx(-change.low))


def test_what_is_undefined_has_no_change_and_what_lacks_limits_no_interval() -> None:
    nothing = Estimate(None, reason="nothing_found")
    assert difference(LOW, nothing) == Estimate(None, reason="nothing_found")
    assert difference(nothing, LOW) == Estimate(None, reason="nothing_found")
    assert difference(Estimate(0.5), Estimate(0.75)) == Estimate(0.25)


def test_a_change_from_or_to_infinity_has_a_direction() -> None:
    endless, finite = Estimate(None, reason="infinite"), Estimate(1.8, 1.4, 2.3)
    assert difference(endless, finite) == Estimate(None, reason="minus_infinite")
    assert difference(finite, endless) == Estimate(None, reason="infinite")
    assert difference(endless, Estimate(None, reason="minus_infinite")).reason == "minus_infinite"
    assert difference(endless, endless) == Estimate(None, reason="undefined")
    assert (verdict("lr_pos", endless, finite), verdict("lr_pos", endless, endless)) == (
        "changed", "undefined",
    )  # fmt: skip
    # LR+ fell from infinity to 1.8: no limit from below is kept
    new, old = result(a={"lr_pos": finite}), result(a={"lr_pos": endless})
    (gate,) = gates(new, "fail-under", "lr_pos.change=-5", old)
    assert (gate.passed, gate.reason) == (False, "minus_infinite")


def test_a_limit_on_the_wrong_side_of_its_value_reaches_nowhere() -> None:
    # new 0.9 lies below its own limits 0.91 and 0.95: it reaches 0 down and 0.05 up
    change = difference(Estimate(0.5, 0.47, 0.54), Estimate(0.9, 0.91, 0.95))
    assert change.low == pytest.approx(0.4 - 0.04)
    assert change.high == pytest.approx(0.4 + math.hypot(0.05, 0.03))


def test_verdicts_follow_the_interval_and_the_measure() -> None:
    assert verdict("recall", LOW, HIGH) == "better"
    assert verdict("recall", HIGH, LOW) == "worse"
    assert verdict("occlusion", LOW, HIGH) == "worse"  # less of it is better
    assert verdict("occlusion", HIGH, LOW) == "better"
    assert verdict("recall", LOW, Estimate(0.55, 0.45, 0.65)) == "not told apart"
    assert verdict("recall", LOW, LOW) == "the same"
    assert verdict("recall", Estimate(0.5), Estimate(0.9)) == "changed"  # without intervals
    assert verdict("phi", LOW, HIGH) == "changed"  # best at 0, from either side
    assert verdict("calibration_slope", LOW, HIGH) == "changed"  # best at 1
    assert verdict("phi", LOW, Estimate(0.55, 0.45, 0.65)) == "not told apart"
    assert verdict("recall", LOW, Estimate(None, reason="no_positive_truth")) == "undefined"


def test_models_of_one_result_only_are_new_or_gone() -> None:
    old, new = (
        result(a={"recall": LOW}, b={"recall": LOW}),
        result(a={"recall": LOW}, c={"recall": LOW}),
    )
    found = {row["model"]: row["verdict"] for row in baseline_rows(new, old)}
    assert found == {"a": "the same", "c": "new", "b": "gone"}


def test_a_baseline_alone_is_shown_and_fails_nothing(tmp_path: Path) -> None:
    frame = pl.DataFrame({"truth": [1] * 40 + [0] * 4, "m, 1": [1] * 30 + [0] * 14})
    old = clfeval.mars(frame, model="*1")
    old.save(tmp_path / "old.json")
    worse = frame.with_columns(pl.Series("m, 1", [1] * 4 + [0] * 40))
    new = clfeval.mars(worse, model="*1").check(baseline=tmp_path / "old.json")
    assert (new.passed, new.gates) == (True, ())
    recall = next(row for row in new.tables["baseline"] if row["measure"] == "recall")
    assert recall["verdict"] == "worse"  # 30 of 40 then, 4 of 40 now
    assert recall["change"].value == pytest.approx(4 / 40 - 30 / 40)  # type: ignore[union-attr]
    text = as_text(new, width=80)
    assert text.index("Beside the baseline") < text.index("Models, those that find most")
    assert "Beside the baseline" in new._repr_html_()
    assert json.loads(new.to_json())["tables"]["baseline"][0]["model"] == "m, 1"


def test_only_what_is_limited_or_decides_is_shown_of_it() -> None:
    frame = pl.DataFrame({"truth": [1, 1, 0, 0], "a": [1, 0, 0, 0], "b": [1, 1, 1, 0]})
    run = clfeval.mars(frame)
    shown = as_text(run.check(baseline=run), width=100)
    part = shown[shown.index("Beside the baseline") : shown.index("Models, those")]
    assert "recall" in part
    assert "precision" not in part
    shown = as_text(run.check(baseline=run, max_drop={"precision": 0.5}), width=100)
    assert "precision  " in shown[shown.index("Beside the baseline") : shown.index("Models, those")]


def test_a_change_and_its_ends_can_be_limited() -> None:
    new, old = result(a={"recall": HIGH}), result(a={"recall": LOW})
    low = 0.3 - math.sqrt(0.03**2 + 0.08**2)
    (gate,) = gates(new, "fail-under", "recall.change=0.2", old)
    assert (gate.metric, gate.passed, gate.value) == ("recall.change", True, pytest.approx(0.3))
    (gate,) = gates(new, "fail-under", "a:recall.change.low=0.25", old)
    assert (gate.passed, gate.value) == (False, pytest.approx(low))
    new_and_gone = gates(result(b={"recall": HIGH}), "fail-under", "recall.change=-1", old)
    assert [(one.model, one.passed, one.reason) for one in new_and_gone] == [
        ("b", False, "not_in_baseline"), ("a", False, "gone"),
    ]  # fmt: skip
    with pytest.raises(clfeval.UsageError, match="compares with a baseline"):
        gates(new, "fail-under", "recall.change=0")


def test_a_pattern_names_several_models_but_a_name_is_taken_as_it_is() -> None:
    of = result(
        **{"tree [1]": {"recall": LOW}, "tree [2]": {"recall": HIGH}, "svm": {"recall": LOW}}
    )
    assert [g.model for g in gates(of, "fail-under", "tree*:recall=0.6")] == [
        "tree [1]",
        "tree [2]",
    ]
    assert [g.model for g in gates(of, "fail-under", "tree [1]:recall=0.6")] == ["tree [1]"]
    with pytest.raises(clfeval.UsageError, match="no model 'x\\*'"):
        gates(of, "fail-under", "x*:recall=0.6")


def test_differences_from_a_reference_can_be_limited() -> None:
    frame = pl.DataFrame(
        {"truth": [1] * 10 + [0] * 10, "a": [1] * 9 + [0] * 11, "b": [1] * 6 + [0] * 14}
    )
    run = clfeval.phidelta(frame, reference="a")
    # delta 0.9 of a, 0.6 of b; the reference has no difference from itself
    (gate,) = gates(run, "fail-under", "delta_difference=-0.2")
    assert (gate.model, gate.passed, gate.value) == ("b", False, pytest.approx(-0.3))
    assert gates(run, "fail-under", "b:delta_difference.low=-0.9")[0].passed
    with pytest.raises(clfeval.UsageError, match="'delta_difference' is nothing that 'a' has"):
        gates(run, "fail-under", "a:delta_difference=0")


def test_what_only_the_whole_table_has_is_no_limit_of_a_model() -> None:
    frame = pl.DataFrame({"truth": [1, 0], "a": [1, 0], "b": [0, 0]})
    run = clfeval.mars(frame)
    assert gates(run, "fail-under", "found=1")[0].passed
    with pytest.raises(clfeval.UsageError, match="'found' is nothing that 'a' has"):
        gates(run, "fail-under", "a:found=1")


@pytest.mark.parametrize(
    ("kind", "text", "hint"),
    [
        ("fail-under", "recall=70", "70 % is 0.7"),
        ("fail-over", "recall=5", "5 % is 0.05"),
        ("fail-over", "recall=-0.1", None),
        ("fail-under", "recall=-1", None),
        ("max-drop", "recall=2", "2 % is 0.02"),
    ],
)
def test_a_limit_that_the_measure_cannot_reach_is_refused(kind: Any, text: str, hint: Any) -> None:
    of = result(a={"recall": LOW})
    says = "'recall', which lies in 0..1"
    if kind == "max-drop":
        says = "a change of 'recall': it lies in -1..1"
    with pytest.raises(clfeval.UsageError, match=f"is beyond {says}") as caught:
        gates(of, kind, text, of)
    assert caught.value.hint == hint


def test_a_percent_sign_is_no_part_of_a_number() -> None:
    with pytest.raises(clfeval.UsageError, match="bad-gate") as caught:
        parse_limit("fail-under", "recall=70%")
    assert "a share is written as 0.7, not as 70 %" in str(caught.value.hint)


def test_a_gate_says_as_many_digits_as_decide() -> None:
    def told(kind: str, value: float, limit: float) -> str:
        of = result(a={"recall": Estimate(value)})
        base = result(a={"recall": Estimate(0.75)})
        return str(gates(of, kind, f"recall={limit}", base if kind == "max-drop" else None)[0])

    assert told("fail-under", 0.7452830188679245, 0.8) == "a: recall is 0.745, fail-under 0.8"
    assert told("fail-under", 0.79996, 0.8) == "a: recall is 0.79996, fail-under 0.8"
    below = math.nextafter(0.8, 0)
    assert told("fail-under", below, 0.8) == f"a: recall is {below!r}, fail-under 0.8"
    assert told("fail-under", 0.8, 0.8) == "a: recall is 0.8, fail-under 0.8"
    drop = "the baseline by 0.25, max-drop 0.1"
    assert told("max-drop", 0.5, 0.1) == f"a: recall is worse than {drop}"
    assert told("max-drop", 1.0, 0.1) == f"a: recall is better than {drop}"
    assert told("max-drop", 0.75, 0.1) == "a: recall is as in the baseline, max-drop 0.1"


def test_other_settings_are_refused_also_without_limits() -> None:
    old = replace(result(a={"recall": LOW}), signature=SETTINGS.replace("pos:1", "pos:2"))
    with pytest.raises(clfeval.UsageError, match=r"positive='2' there, 1 here"):
        result(a={"recall": LOW}).check(baseline=old)


def test_junit_says_what_was_and_what_is_of_each_judged_model() -> None:
    nothing = Estimate(None, reason="nothing_found")
    now = result(a={"recall": LOW}, b={"recall": HIGH}, c={"recall": nothing}, d={"recall": LOW})
    before = result(a={"recall": HIGH}, b={"recall": HIGH}, c={"recall": HIGH})
    limits = [parse_limit("max-drop", "recall=0.1"), parse_limit("fail-under", "b:recall.low=0.1")]
    judged = judge(now, limits, before)
    cases = ET.fromstring(as_junit(judged)).findall("testsuite/testcase")
    said = [case.findtext("system-out") for case in cases]
    assert [case.attrib["name"].partition(":")[0] for case in cases] == ["a", "b", "c", "d", "b"]
    end = (
        r"change -0.300 [-0.408, -0.215]: worse"  # 0.3 + hypot(0.1, 0.04), 0.3 - hypot(0.08, 0.03)
    )
    assert said[0] == f"old 0.800 [0.770, 0.840], new 0.500 [0.400, 0.580], {end}"
    assert str(said[1]).endswith(": the same")
    assert said[2] == "old 0.800 [0.770, 0.840], new –, change –: undefined"
    assert said[3] == "old –, new 0.500 [0.400, 0.580], change –: new"
    assert said[4] == said[1]
    assert [case.find("failure") is not None for case in cases] == [
        True,
        False,
        False,
        False,
        False,
    ]
    alone = as_junit(judge(now, limits[1:]))
    assert "system-out" not in alone


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_no_screen_leaves_the_verdict_out_or_cuts_a_number(width: int) -> None:
    long = "a model with a name that takes many columns"
    frame = pl.DataFrame({"truth": [1, 1, 1, 0], long: [1, 1, 0, 0], "b": [1, 0, 0, 1]})
    now = clfeval.mars(frame)
    text = as_text(now.check(baseline=now), width=width, only="baseline")
    table = text.partition("  change:")[0]  # the legend has these words too
    assert "verdict" in table
    assert table.count("the same") == len(now.tables["models"]) * 5  # measures of each
    assert table.count("0.667") == 2  # recall 2 of 3, then and now
    assert not re.findall(r"(?<![\d.])[01]\.\d{0,2}(?!\d)", table)
    assert max(map(len, text.splitlines())) <= width


def test_settings_that_differ_are_called_as_users_write_them() -> None:
    """What a signature calls otherwise than the command line stands in one table."""
    commands = [getattr(clfeval, name.replace("-", "_")).command for name in clfeval.COMMANDS]
    options = [option for command in commands for option in command.options()]
    for option in options:
        if option.opt.signed and option.opt.signed != "measures":  # which is no setting
            assert CALLED.get(option.opt.signed, f"--{option.opt.signed}") == option.flag
    flags = {option.flag for option in options}
    assert {name for name in CALLED.values() if name.startswith("--")} <= flags
