"""What a history says: rows told from models, since when, how surely, with numbers written out."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clfeval.api.result import Result
from clfeval.compare.baseline.changes import SIGNIFICANT
from clfeval.compare.baseline.read import same_rows
from clfeval.compare.families import CALIBRATION, ON_SCREEN
from clfeval.compare.history.file import AcceptedLabel, HistoryEntry, HistoryLine
from clfeval.compare.history.trend import line_changes, measure_changes
from clfeval.document.cells import Estimate, Row
from tests.history.lines import Z, answer_texts, history_measure, line, trend_of
from tests.results import answer_codes, limits_of, row_of, rows_by, value_of
from tests.texts import check_text, numbers_in

AUC, LESS = history_measure(0.8, 0.01), history_measure(0.7, 0.01)


def change_of(result: Result, model: str = "rf", measure: str = "roc_auc") -> Row:
    """Return the change of a measure of a model, with its step if it has one."""
    row = row_of(result, "comparisons", model=model, measure=measure)
    step = rows_by(result, "steps", "model", "measure").get((model, measure), {})
    return {**row, "since": step.get("since"), "cause": step.get("cause")}


# what differs from a line of 100 rows and AUC, then and now, and the marks of it
MARKED: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]] = {
    "nothing": ({}, {}, ()),
    "sums in another order": ({}, {"roc_auc": history_measure(0.8 + 1e-12, 0.01)}, ()),
    "model": ({}, {"roc_auc": LESS}, ("model",)),
    "rows": ({}, {"truth": "ids:bb", "roc_auc": LESS}, ("rows",)),
    "rows, alike in number": ({}, {"truth": "ids:bb"}, ("rows",)),
    "rows of no known digest": ({"truth": None}, {"rows": 101}, ("rows",)),
    "the same files": ({"truth": None}, {"truth": None, "roc_auc": LESS}, ("model",)),
    "settings": ({}, {"settings": "cmd:report|pos:0", "roc_auc": LESS}, ("settings",)),
    "settings and rows": ({}, {"truth": "ids:b", "settings": "x"}, ("settings", "rows")),
    "another version": ({}, {"version": "2", "roc_auc": LESS}, ("model or program",)),
    "undefined since": ({}, {"roc_auc": history_measure(None, reason="single_class")}, ("model",)),
}


@pytest.mark.parametrize("case", MARKED)
def test_marks_name_what_changed_from_line_to_line(case: str) -> None:
    before, now, wanted = MARKED[case]
    lines = [line(label, **{"roc_auc": AUC, **one}) for label, one in (("a", before), ("b", now))]
    assert line_changes(lines) == [(), wanted]


def test_digests_of_two_kinds_say_nothing() -> None:
    one, other = line("a", truth="ids:aa"), line("b", truth="rows:aa")
    assert same_rows(one, other) is True  # the files are the same
    files = HistoryLine("report", "c", "rf", data=("11",), truth="rows:bb", rows=100, positives=40)
    assert same_rows(one, files) is None
    assert line_changes([one, files]) == [(), ("settings",)]


def test_the_change_is_that_of_two_independent_samples() -> None:
    # .70 - .80 = -.10, of standard error sqrt(.01² + .01²)
    found = change_of(trend_of(line("W1", roc_auc=AUC), line("W2", "rf", "ids:bb", roc_auc=LESS)))
    se = math.sqrt(0.01**2 + 0.01**2)
    assert value_of(found["difference"]) == pytest.approx(-0.1)
    assert limits_of(found["difference"]) == pytest.approx((-0.1 - Z * se, -0.1 + Z * se))
    # two-sided tail of a normal at .1 / se
    assert found["p"] == pytest.approx(math.erfc(0.1 / se / math.sqrt(2)))
    assert (found["against"], found["reference"], found["verdict"]) == ("label", "W1", "worse")
    assert (found["since"], found["cause"]) == ("W2", "rows")


def test_measures_of_the_first_screen_are_adjusted_together_and_no_gate_takes_one_out() -> None:
    # z of 2.2 alone: p = .0278; among four it takes .05 / 4 for the smallest
    apart = {name: history_measure(0.5, 0.1) for name in ("brier", "mcc", "f1", "kappa")}
    old = line("W1", roc_auc=history_measure(0.8, 0.01), **apart)
    moved = history_measure(0.8 - 2.2 * math.hypot(0.01, 0.01), 0.01)
    new = line("W2", truth="ids:bb", gates={"roc_auc": False}, roc_auc=moved, **apart)
    found = trend_of(old, new)
    p = math.erfc(2.2 / math.sqrt(2))
    assert change_of(found)["p"] == pytest.approx(p)
    assert change_of(found)["p_adjusted"] == pytest.approx(4 * p)
    assert (change_of(found)["verdict"], found.tables["steps"]) == ("undecided", [])
    assert change_of(found, measure="kappa")["p_adjusted"] is None
    check_text(answer_texts(found))


@pytest.mark.parametrize(
    ("measure", "value", "verdict"),
    [
        ("roc_auc", 0.9, "better"),
        ("roc_auc", 0.7, "worse"),
        ("brier", 0.9, "worse"),
        ("brier", 0.7, "better"),
        ("calibration_slope", 0.9, "better"),
        ("roc_auc", 0.8, "undecided"),
        ("calibration_slope", 0.7, "worse"),
        ("roc_auc", 0.801, "undecided"),
    ],
)
def test_which_way_is_better_is_the_measures_own(measure: str, value: float, verdict: str) -> None:
    new = line("W2", **{measure: history_measure(value, 0.01)})
    assert (
        change_of(trend_of(line("W1", **{measure: AUC}), new), measure=measure)["verdict"]
        == verdict
    )


def test_the_accepted_line_is_what_others_are_held_to() -> None:
    steps = [
        line(f"W{i}", truth=f"ids:{i}", roc_auc=history_measure(0.8 - 0.02 * i, 0.01))
        for i in range(4)
    ]
    slow = trend_of(*steps)
    assert (change_of(slow)["reference"], change_of(slow)["verdict"]) == ("W0", "worse")
    assert value_of(change_of(slow)["difference"]) == pytest.approx(-0.06)
    held = trend_of(*steps, AcceptedLabel("report", "W2"))
    assert (change_of(held)["reference"], change_of(held)["verdict"]) == ("W2", "undecided")


def test_of_an_accepted_last_line_there_is_nothing_to_say() -> None:
    found = trend_of(
        line("W1", roc_auc=AUC), line("W2", roc_auc=LESS), AcceptedLabel("report", "W2")
    )
    assert found.tables["comparisons"] == []
    check_text(answer_texts(found))


def test_new_gone_and_other_settings_are_said() -> None:
    found = trend_of(
        line("W1", roc_auc=AUC),
        line("W1", "old", roc_auc=AUC),
        line("W2", settings="other", roc_auc=AUC),
        line("W2", "new", roc_auc=AUC),
    )
    assert change_of(found)["verdict"] is None
    assert change_of(found)["difference"] == Estimate(None, reason="other_settings")
    check_text(answer_texts(found))


def test_a_change_of_rows_differs_from_one_of_the_model_in_fifty_weeks() -> None:
    """Rows are others from week 20 on, which moves little; the model from week 35 on."""
    entries: list[HistoryEntry] = []
    for week in range(1, 51):
        truth = "ids:old" if week < 20 else "ids:new"
        auc = 0.85 if week < 20 else 0.86 if week < 35 else 0.78
        entries.append(line(f"W{week:02}", truth=truth, roc_auc=history_measure(auc, 0.012)))
        other = 0.84 if week < 20 else 0.85
        entries.append(
            line(f"W{week:02}", "svm", truth=truth, roc_auc=history_measure(other, 0.012))
        )
        if week == 10:
            entries.append(AcceptedLabel("report", "W10"))
    found = trend_of(*entries)
    assert found.tables["events"] == [
        {"label": "W20", "model": "rf", "changed": "rows"},
        {"label": "W20", "model": "svm", "changed": "rows"},
        {"label": "W35", "model": "rf", "changed": "model"},
    ]
    check_text(answer_texts(found))
    assert numbers_in(answer_texts(found)[0])[-3:] == [0.855, 0.78, 0.001]
    assert (change_of(found)["since"], change_of(found)["cause"]) == ("W35", "model")
    assert change_of(found, "svm")["verdict"] == "undecided"
    history = found.tables["history"]
    assert len(history) == 50 * 2
    marked = [(one["label"], one["model"], one["marks"]) for one in history if one["marks"]]
    assert marked == [("W20", "rf", ["rows"]), ("W20", "svm", ["rows"]), ("W35", "rf", ["model"])]
    assert [one["label"] for one in history if one["accepted"]] == ["W10", "W10"]


def test_where_rows_change_always_no_model_is_said_to_change() -> None:
    found = trend_of(*(line(f"W{i}", truth=f"ids:{i}", roc_auc=AUC) for i in range(4)))
    check_text(answer_texts(found))


def test_of_the_same_rows_it_is_said_that_pairs_would_see_more() -> None:
    found = trend_of(line("W1", roc_auc=AUC), line("W2", roc_auc=history_measure(0.79, 0.01)))
    assert answer_codes(found)[-2:] == ["not-paired", "history-reference"]


@pytest.mark.parametrize("years", [4, pytest.param(100, marks=pytest.mark.slow)])
def test_equal_models_differ_in_no_more_weeks_than_the_level(years: int) -> None:
    """14 measures and 50 weeks: alarms in at most 5 % of weeks, up to two standard errors.

    Estimates are drawn of one model as of normal errors, measures of a week alike by half: each
    week is held against the accepted first one. The intervals alone would alarm far more often.
    """
    rng = np.random.default_rng(7)
    told, alone, weeks = [], [], 49 * years
    names = (*ON_SCREEN, *CALIBRATION)
    for _ in range(years):
        common = rng.normal(size=(50, 1)) * math.sqrt(0.5)
        drawn = 0.7 + 0.02 * (common + math.sqrt(0.5) * rng.normal(size=(50, len(names))))
        lines = [
            replace(
                line(f"W{week}", truth=f"ids:{week}"),
                measures={
                    name: history_measure(x, 0.02) for name, x in zip(names, values, strict=True)
                },
            )
            for week, values in enumerate(drawn.tolist())
        ]
        for week in range(1, 50):
            series = {"rf": [lines[0], lines[week]]}
            found = measure_changes(series, {"rf": lines[0]}, "report")
            told.append(any(one["verdict"] in SIGNIFICANT for one in found))
            alone.append(any((one["p"] or 0) <= 0.05 for one in found))  # type: ignore[operator]
    slack = 2 * math.sqrt(0.05 * 0.95 / years)  # weeks of a year share the first: count years
    assert sum(told) / weeks <= 0.05 + slack
    assert sum(alone) > 4 * sum(told)
