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
from statsmodels.stats.multitest import multipletests

import clfeval
from clfeval.api.result import Result
from clfeval.compare.baseline.changes import Baseline
from clfeval.compare.baseline.read import SETTING_NAMES, EarlierResult
from clfeval.compare.gates.evaluate import evaluate_limits
from clfeval.compare.gates.limits import parse_limit
from clfeval.document import Answer
from clfeval.document.cells import Estimate
from clfeval.methods.command_lookup import command_of
from clfeval.placeholders import fill_for_shell
from clfeval.views.ci import as_junit
from clfeval.views.page import as_html
from clfeval.views.table_layout import baseline_tables
from clfeval.views.terminal import as_text
from tests.gates import gate_of, gates_of
from tests.process.program import clfeval as program
from tests.results import answer_codes, row_of, rows_by, value_of
from tests.texts import check_text, numbers_in

Z = 1.959963984540054
SETTINGS = "cmd:mars|pos:1|data:1111|stats:2222|clfeval:0.1.0"


def mars_result(**models: dict[str, Estimate]) -> Result:
    """Build a result by hand: the measures of each model."""
    rows = [{"slice": None, "model": name, **cells} for name, cells in models.items()]
    return Result("mars", SETTINGS, (), {"level": 0.95}, {}, {"models": rows})


def compared(new: Result, old: Result, name: str = "old.csv") -> Result:
    return Baseline.from_results(new, EarlierResult(old, name)).with_changes(new)


def estimate_within(value: float, se: float) -> Estimate:
    return Estimate(value, value - Z * se, value + Z * se)


def report_result(**models: dict[str, Estimate]) -> Result:
    """Build a report by hand, of 100 rows of which 40 are positive."""
    of = mars_result(**models)
    return replace(
        of,
        command="report",
        summary={"rows": 100, "positives": 40},
        parameters={"level": 0.95, "positive": "b", "negative": ["a"]},
    )


LOW = Estimate(0.5, 0.4, 0.58)
HIGH = Estimate(0.8, 0.77, 0.84)
# measure -> value then, value now, standard error of each
MOVES = {
    "roc_auc": (0.9, 0.89, 0.02),
    "specificity": (0.875, 0.621, 0.02),
    "brier": (0.1, 0.228, 0.02),
    "precision": (0.8, 0.7, 0.02),
    "npv": (0.8, 0.88, 0.02),
    "accuracy": (0.9, 0.846, 0.02),
    "oe_ratio": (1.2, 0.9, 0.05),
    "calibration_slope": (0.9, 1.3, 0.05),
    "f1": (0.9, 0.2, None),
}
OTHERS = {"kappa": (0.8, 0.7, 0.02), "prevalence": (0.4, 0.2, 0.03), "mean_score": (0.4, 0.5, 0.03)}


def measures_on(side: int, more: dict[str, Any] = OTHERS) -> dict[str, Estimate]:
    """Return the measures of then, 0, or of now, 1."""
    return {
        name: Estimate(one[side]) if one[2] is None else estimate_within(one[side], one[2])
        for name, one in {**MOVES, **more}.items()
    }


def test_the_measures_of_the_first_screen_and_all_models_are_one_family() -> None:
    still = {name: (one[0], one[0] + 0.001, one[2]) for name, one in MOVES.items()}
    old = report_result(
        m=measures_on(0), n={name: estimate_within(one[0], 0.03) for name, one in still.items()}
    )
    new = report_result(
        m=measures_on(1), n={name: estimate_within(one[1], 0.03) for name, one in still.items()}
    )
    rows = rows_by(compared(new, old), "comparisons", "model", "measure")
    p = {
        ("m", name): math.erfc(abs(new - old) / (se * 2))
        for name, (old, new, se) in {**MOVES, **OTHERS}.items()
        if se
    }
    p |= {("n", name): math.erfc(0.001 / (0.03 * 2)) for name in still}
    tested = [key for key in p if key[1] in MOVES]
    adjusted = multipletests([p[key] for key in tested], method="fdr_bh")[1]
    for key, wanted in p.items():
        assert rows[key]["p"] == pytest.approx(wanted), key
    for key, wanted in zip(tested, adjusted, strict=True):
        assert rows[key]["p_adjusted"] == pytest.approx(wanted), key
    assert all(rows["m", name]["p_adjusted"] is None for name in OTHERS)  # each by itself
    assert {name: rows["m", name]["verdict"] for name in {**MOVES, **OTHERS}} == {
        # of .054 / hypot(.02, .02) = 1.9 p is .056; both sides of 1 as far off: .1 and .2, +- .14
        "roc_auc": "undecided",
        "specificity": "worse",
        "brier": "worse",
        "precision": "worse",
        "npv": "better",
        "accuracy": "undecided",
        "oe_ratio": "changed",
        "calibration_slope": "worse",
        "f1": "undecided",
        "kappa": "worse",
        "prevalence": "changed",
        "mean_score": "changed",
    }
    assert {row["against"] for row in rows.values()} == {"baseline"}
    assert {row["reference"] for row in rows.values()} == {"old.csv"}
    order = [key[1] for key in rows if key[0] == "m"]  # worse ones first, by size in errors
    assert order[:4] == ["specificity", "calibration_slope", "brier", "precision"]
    assert order[4:6] == ["npv", "oe_ratio"]


def test_the_answer_names_what_changed_most_and_what_did_not_change() -> None:
    still = {name: estimate_within(one[0], 0.02) for name, one in MOVES.items()}
    old = report_result(m=measures_on(0), n=still)
    first = Answer("best", "m is best.", ("m",), "roc_auc")
    new = replace(report_result(m=measures_on(1), n=still), answer=(first,))
    changed = compared(new, old)
    assert answer_codes(changed) == ["baseline", "baseline", "baseline-rows", "best"]
    answers = changed.answer
    # slope .4 / (.05 sqrt 2) = 5.7 errors, p 1.5e-8; Brier .128 / .0283 = 4.5, p 6e-6; NPV .08 /
    # .0283 = 2.8, p .0047, the sixth of 17 tests (9 of n, none smaller): 17 / 6 p = .0133
    check_text(one.text for one in answers)
    worse_and_better = {0.621, 1.3, 0.228, 0.88, 0.8, 0.013, 0.9, 1.2}
    assert worse_and_better <= {*numbers_in(answers[0].text)}
    assert (answers[0].models, answers[0].measure) == (("m",), "specificity")
    assert (answers[0].value, answers[0].low) == (
        pytest.approx(-0.254),
        pytest.approx(-0.254 - Z * math.hypot(0.02, 0.02)),
    )
    # .2 and .1 -+ 1.96 hypot(.03, .03)
    assert {-0.283, -0.117, 0.017, 0.183} <= {*numbers_in(answers[2].text)}
    assert (answers[2].measure, answers[2].value) == ("prevalence", pytest.approx(-0.2))
    nothing = compared(report_result(n=still), report_result(n=still)).answer
    bare = {name: Estimate(one[0]) for name, one in MOVES.items()}
    untested = compared(report_result(n=bare), report_result(n=bare)).answer[0]
    check_text([*(one.text for one in nothing), untested.text])
    many_models = {f"m{i}": measures_on(1) for i in range(5)}
    told = compared(
        report_result(**many_models), report_result(**dict.fromkeys(many_models, measures_on(0)))
    ).answer
    check_text(one.text for one in told[:3])


def test_classes_that_are_new_or_missing_are_named() -> None:
    then, now = (
        replace(
            report_result(m={"accuracy": HIGH}),
            summary={"rows": rows},
            signature=f"cmd:report|classes:{len(classes)}",
            parameters={"level": 0.95, "positive": None, "negative": [], "classes": classes},
        )
        for rows, classes in ((90, ["a", "b", "c, d"]), (80, ["a", "b", "x", "y"]))
    )
    text = compared(now, then).answer[1].text
    check_text(text)
    assert {90, 80} <= {*numbers_in(text)}


def test_models_and_measures_of_one_result_only_have_a_reason() -> None:
    old = mars_result(a={"recall": LOW, "accuracy": LOW}, b={"recall": LOW})
    new = mars_result(a={"recall": LOW, "precision": LOW}, c={"recall": LOW})
    found = {
        (row["model"], row["measure"]): (row["verdict"], row["difference"].reason)
        for row in compared(new, old).tables["comparisons"]
    }
    assert found == {
        ("a", "recall"): ("undecided", None),
        ("a", "accuracy"): (None, "not_in_both"),
        ("a", "precision"): (None, "not_in_baseline"),
        ("b", "recall"): (None, "not_in_both"),
        ("c", "recall"): (None, "not_in_baseline"),
    }
    check_text(fill_for_shell(compared(mars_result(c={"recall": LOW}), old).answer[0].text))


def test_a_change_from_infinity_is_undefined_and_misses_a_limit() -> None:
    endless, finite = Estimate(None, reason="infinite"), Estimate(1.8, 1.4, 2.3)
    new, old = mars_result(a={"lr_pos": finite}), mars_result(a={"lr_pos": endless})
    row = row_of(compared(new, old), "comparisons")
    assert (row["verdict"], row["difference"].reason) == (None, "minus_infinite")
    # LR+ fell from infinity to 1.8: no limit from below is kept
    gate = gate_of(new, "fail-under", "lr_pos.change=-5", old)
    assert (gate.passed, gate.reason) == (False, "minus_infinite")


def test_a_baseline_alone_is_shown_and_fails_nothing(tmp_path: Path) -> None:
    frame = pl.DataFrame({"truth": [1] * 40 + [0] * 4, "m, 1": [1] * 30 + [0] * 14})
    old = clfeval.mars(frame, model="*1")
    old.save(tmp_path / "old.json")
    worse = frame.with_columns(pl.Series("m, 1", [1] * 4 + [0] * 40))
    new = clfeval.mars(worse, model="*1").check(baseline=tmp_path / "old.json")
    assert (new.passed, new.gates) == (True, ())
    recall = row_of(new, "comparisons", measure="recall")
    assert recall["verdict"] == "worse"  # 30 of 40 then, 4 of 40 now
    assert value_of(recall["difference"]) == pytest.approx(4 / 40 - 30 / 40)
    (changed,) = baseline_tables(new, every=False)
    text = as_text(new, width=80)
    assert (changed.title in text, changed.title in as_html(new)) == (True, True)
    again = Result.from_json(new.to_json()).check(baseline=tmp_path / "old.json")
    assert (again.tables, again.answer) == (new.tables, new.answer)  # nothing is said twice


def test_all_of_the_family_and_what_is_limited_is_shown_the_worst_first() -> None:
    old, new = (
        report_result(m=measures_on(0), n=measures_on(0)),
        report_result(m=measures_on(1), n=measures_on(1)),
    )
    judged = evaluate_limits(new, [parse_limit("max-drop", "kappa=0.5")], old)

    (first,), (every,) = (baseline_tables(judged, every=one) for one in (False, True))
    rows = [(row["model"], row["measure"]) for row in every.rows or ()]
    assert {*rows} == {
        (model, name) for model in "mn" for name in (*MOVES, "kappa") if name != "f1"
    }
    assert rows[:2] == [("m", "specificity"), ("n", "specificity")]
    assert (first.most, every.most, first.total) == (15, None, 2 * len({**MOVES, **OTHERS}))


def test_a_change_and_its_ends_can_be_limited() -> None:
    new, old = mars_result(a={"recall": HIGH}), mars_result(a={"recall": LOW})
    low = 0.3 - math.sqrt(0.03**2 + 0.08**2)
    gate = gate_of(new, "fail-under", "recall.change=0.2", old)
    assert (gate.metric, gate.passed, gate.value) == ("recall.change", True, pytest.approx(0.3))
    gate = gate_of(new, "fail-under", "a:recall.change.low=0.25", old)
    assert (gate.passed, gate.value) == (False, pytest.approx(low))
    new_and_gone = gates_of(mars_result(b={"recall": HIGH}), "fail-under", "recall.change=-1", old)
    assert [(one.model, one.passed, one.reason) for one in new_and_gone] == [
        ("b", False, "not_in_baseline"),
        ("a", False, "gone"),
    ]
    with pytest.raises(clfeval.UsageError, match="bad-gate"):
        gates_of(new, "fail-under", "recall.change=0")


def test_a_pattern_names_several_models_but_a_name_is_taken_as_it_is() -> None:
    of = mars_result(
        **{"tree [1]": {"recall": LOW}, "tree [2]": {"recall": HIGH}, "svm": {"recall": LOW}}
    )
    for text, names in (("tree*", ["tree [1]", "tree [2]"]), ("tree [1]", ["tree [1]"])):
        assert [g.model for g in gates_of(of, "fail-under", f"{text}:recall=0.6")] == names
    with pytest.raises(clfeval.UsageError, match="unknown-model"):
        gates_of(of, "fail-under", "x*:recall=0.6")


@pytest.mark.parametrize(
    ("kind", "text", "share"),
    [
        ("fail-under", "recall=70", 0.7),
        ("fail-over", "recall=5", 0.05),
        ("fail-over", "recall=-0.1", None),
        ("max-drop", "recall=2", 0.02),
    ],
)
def test_a_limit_that_the_measure_cannot_reach_is_refused(kind: Any, text: str, share: Any) -> None:
    of = mars_result(a={"recall": LOW})
    with pytest.raises(clfeval.UsageError) as caught:
        gates_of(of, kind, text, of)
    check_text(str(caught.value))
    assert share is None or share in numbers_in(caught.value.hint or "")


def test_a_percent_sign_is_no_part_of_a_number() -> None:
    with pytest.raises(clfeval.UsageError, match="bad-gate") as caught:
        parse_limit("fail-under", "recall=70%")
    assert 0.7 in numbers_in(str(caught.value.hint))


def test_a_gate_says_as_many_digits_as_decide() -> None:
    def gate_text(kind: str, value: float, limit: float) -> str:
        of = mars_result(a={"recall": Estimate(value)})
        base = mars_result(a={"recall": Estimate(0.75)})
        return str(gate_of(of, kind, f"recall={limit}", base if kind == "max-drop" else None))

    below = math.nextafter(0.8, 0)
    for value, shown in ((0.74528, 0.745), (0.79996, 0.79996), (below, below), (0.8, 0.8)):
        assert {shown, 0.8} <= {*numbers_in(gate_text("fail-under", value, 0.8))}
    drops = [gate_text("max-drop", value, 0.1) for value in (0.5, 1.0, 0.75)]
    check_text(drops)
    assert [*map(numbers_in, drops)] == [[0.25, 0.1], [0.25, 0.1], [0.1]]


def test_junit_says_what_was_and_what_is_of_each_judged_model() -> None:
    nothing = Estimate(None, reason="nothing_found")
    now = mars_result(
        a={"recall": LOW}, b={"recall": HIGH}, c={"recall": nothing}, d={"recall": LOW}
    )
    before = mars_result(a={"recall": HIGH}, b={"recall": HIGH}, c={"recall": HIGH})
    limits = [parse_limit("max-drop", "recall=0.1"), parse_limit("fail-under", "b:recall.low=0.1")]
    judged = evaluate_limits(now, limits, before)
    cases = ET.fromstring(as_junit(judged)).findall("testsuite/testcase")
    said = [case.findtext("system-out") for case in cases]
    assert [case.attrib["name"].partition(":")[0] for case in cases] == ["a", "b", "c", "d", "b"]
    check_text(str(one) for one in said)
    # 0.3 + hypot(0.1, 0.04), 0.3 - hypot(0.08, 0.03)
    assert {-0.3, -0.408, -0.215, 0.001} <= {*numbers_in(said[0] or "")}
    assert ("nothing_found" in said[2], "not_in_baseline" in said[3]) == (True, True)  # type: ignore[operator]
    assert said[4] == said[1]
    assert [case.find("failure") is not None for case in cases] == [True, *[False] * 4]
    alone = as_junit(evaluate_limits(now, limits[1:]))
    assert "system-out" not in alone


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_no_screen_leaves_the_verdict_out_or_cuts_a_number(width: int) -> None:
    long = "a model with a name that takes many columns"
    frame = pl.DataFrame({"truth": [1, 1, 1, 0], long: [1, 1, 0, 0], "b": [1, 0, 0, 1]})
    now = clfeval.mars(frame)
    text = as_text(now.check(baseline=now), width=width)
    check_text(text)
    assert text.count("0.667") >= 2  # recall 2 of 3, then and now
    assert not re.findall(r"(?<![\d.])[01]\.\d{0,2}(?!\d)", text)
    assert max(map(len, text.splitlines())) <= width


def test_settings_that_differ_are_called_as_users_write_them() -> None:
    """What a signature calls otherwise than the command line stands in one table."""
    commands = [command_of(name) for name in clfeval.COMMANDS]
    options = [option for command in commands for option in command.options()]
    for option in options:
        if option.opt.signed and option.opt.signed != "measures":  # which is no setting
            assert SETTING_NAMES.get(option.opt.signed, f"--{option.opt.signed}") == option.flag
    flags = {option.flag for option in options}
    assert {name for name in SETTING_NAMES.values() if name.startswith("--")} <= flags


def test_least_rows_are_those_that_changes_are_judged_on(tmp_path: Path) -> None:
    rows = [(i, i % 2, (i * 7 % 10) / 10 + i % 2) for i in range(200)]
    old, new = (
        pl.DataFrame(part, ["id", "truth", "m"], orient="row") for part in (rows[:190], rows[10:])
    )
    old.write_csv(tmp_path / "old.csv")
    new.write_csv(tmp_path / "new.csv")
    for least, met in ((180, True), (181, False)):  # 190 rows each, 180 in both
        (tmp_path / "suite.yaml").write_text(
            "version: 1\nruns: {a: {command: report, input: new.csv, threshold: 1, "
            "baseline: old.csv, max-drop: {'m:roc_auc': 0.5}, "
            f"min-rows: {least}, save: a.json}}}}\n"
        )
        done = program("batch", f"{tmp_path}/suite.yaml", "-q")
        assert done.code < 2, done.err
        found = json.loads((tmp_path / "a.json").read_text())["gates"]
        (gate,) = [one for one in found if one["kind"] == "min-rows"]
        assert (gate["value"], gate["passed"], done.code) == (180, met, 0 if met else 1)
