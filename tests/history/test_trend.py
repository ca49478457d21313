"""What a history says: rows told from models, since when, how surely, with numbers written out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from clfeval.history.line import Accepted, PastEntry, PastLine, PastMeasure
from clfeval.inference.chance import benjamini_hochberg
from clfeval.result import Answer, Estimate, Result, Row, estimate
from clfeval.trend.judge import chance_of_none, changed_at, marks_of, same_rows
from clfeval.trend.result import trend_result
from tests.history.lines import Z, line, measured, past

AUC, LESS = measured(0.8, 0.01), measured(0.7, 0.01)


def trend(*entries: PastEntry) -> Result:
    """Return the trend of these lines."""
    return trend_result(past(entries), "report")


def row(result: Result, model: str = "rf", measure: str = "roc_auc") -> Row:
    """Return the change of a measure of a model."""
    (found,) = (
        one
        for one in result.tables["changes"]
        if (one["model"], one["measure"]) == (model, measure)
    )
    return found


def texts(answer: Sequence[Answer]) -> list[str]:
    return [one.text for one in answer]


MARKED: dict[str, tuple[PastLine, PastLine, tuple[str, ...]]] = {
    "nothing": (line("a", roc_auc=AUC), line("b", roc_auc=AUC), ()),
    "sums in another order": (
        line("a", roc_auc=AUC), line("b", roc_auc=measured(0.8 + 1e-12, 0.01)), ()
    ),
    "model": (line("a", roc_auc=AUC), line("b", roc_auc=LESS), ("model",)),
    "rows": (line("a", roc_auc=AUC), line("b", truth="ids:bb", roc_auc=LESS), ("rows",)),
    "rows, alike in number": (
        line("a", roc_auc=AUC), line("b", truth="ids:bb", roc_auc=AUC), ("rows",)
    ),
    "rows of no known digest": (
        line("a", truth=None, roc_auc=AUC), line("b", rows=101, roc_auc=AUC), ("rows",)
    ),
    "the same files": (
        line("a", truth=None, roc_auc=AUC), line("b", truth=None, roc_auc=LESS), ("model",)
    ),
    "settings": (
        line("a", roc_auc=AUC), line("b", settings="cmd:report|pos:0", roc_auc=LESS), ("settings",)
    ),
    "settings and rows": (
        line("a", roc_auc=AUC), line("b", truth="ids:b", settings="x", roc_auc=LESS),
        ("settings", "rows"),
    ),
    "another version": (
        line("a", roc_auc=AUC), line("b", version="2", roc_auc=LESS), ("model or program",)
    ),
    "undefined since": (
        line("a", roc_auc=AUC), line("b", roc_auc=measured(None, reason="single_class")),
        ("model",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MARKED)
def test_what_changed_from_line_to_line(case: str) -> None:
    before, now, wanted = MARKED[case]
    assert marks_of([before, now]) == [(), wanted]


def test_digests_of_two_kinds_say_nothing() -> None:
    one, other = line("a", truth="ids:aa"), line("b", truth="rows:aa")
    assert same_rows(one, other) is True  # the files are the same
    files = PastLine("report", "c", "rf", data=("11",), truth="rows:bb", rows=100, positives=40)
    assert same_rows(one, files) is None
    assert marks_of([one, files]) == [(), ("settings",)]


def test_the_change_is_that_of_two_independent_samples() -> None:
    # .70 - .80 = -.10, of standard error sqrt(.01² + .01²)
    found = row(trend(line("W1", roc_auc=AUC), line("W2", "rf", "ids:bb", roc_auc=LESS)))
    change, se = estimate(found["change"]), math.sqrt(0.01**2 + 0.01**2)
    assert change.value == pytest.approx(-0.1)
    assert change.low == pytest.approx(-0.1 - Z * se)
    assert change.high == pytest.approx(-0.1 + Z * se)
    # two-sided tail of a normal at .1 / se
    assert found["p"] == pytest.approx(math.erfc(0.1 / se / math.sqrt(2)))
    assert (found["reference"], found["verdict"]) == ("W1", "worse")
    assert (found["since"], found["cause"]) == ("W2", "rows")


def test_p_is_where_the_interval_ends_at_0() -> None:
    se = 0.03
    for z in (0.0, 1.0, Z, 3.0):
        d = z * se
        p = chance_of_none(Estimate(d, d - Z * se, d + Z * se), 0.95)
        assert p == pytest.approx(math.erfc(z / math.sqrt(2)))
    # of limits that are not as far apart, the one on the side of 0 counts
    assert chance_of_none(Estimate(0.1, 0.0, 0.5), 0.95) == pytest.approx(0.05)
    assert chance_of_none(Estimate(-0.1, -0.5, 0.0), 0.95) == pytest.approx(0.05)
    assert chance_of_none(Estimate(0.1, 0.1, 0.1), 0.95) == 0.0
    assert chance_of_none(Estimate(0.1), 0.95) is None


def test_all_are_judged_together_but_what_gates_name() -> None:
    # z of 2.2 alone: p = .0278; among four it takes .05 / 4 for the smallest
    apart = {f"m{i}": measured(0.5, 0.1) for i in range(3)}
    old = line("W1", roc_auc=measured(0.8, 0.01), **apart)
    moved = measured(0.8 - 2.2 * math.hypot(0.01, 0.01), 0.01)
    found = trend(old, line("W2", truth="ids:bb", roc_auc=moved, **apart))
    p = [one["p"] for one in found.tables["changes"]]
    assert sorted(p) == pytest.approx([math.erfc(2.2 / math.sqrt(2)), 1, 1, 1])  # type: ignore[type-var]
    assert row(found)["q"] == pytest.approx(4 * math.erfc(2.2 / math.sqrt(2)))
    assert row(found)["verdict"] == "not told apart"
    held = line("W2", truth="ids:bb", gates={"roc_auc": False}, roc_auc=moved, **apart)
    found = trend(old, held)
    assert (row(found)["q"], row(found)["verdict"]) == (None, "worse")


@pytest.mark.parametrize(
    ("measure", "value", "verdict"),
    [("roc_auc", 0.9, "better"), ("roc_auc", 0.7, "worse"), ("brier", 0.9, "worse"),
     ("brier", 0.7, "better"), ("calibration_slope", 0.9, "changed"), ("roc_auc", 0.8, "the same"),
     ("roc_auc", 0.801, "not told apart")],
)  # fmt: skip
def test_which_way_is_better_is_the_measures_own(measure: str, value: float, verdict: str) -> None:
    new = line("W2", **{measure: measured(value, 0.01)})
    assert row(trend(line("W1", **{measure: AUC}), new), measure=measure)["verdict"] == verdict


def test_the_accepted_line_is_what_others_are_held_to() -> None:
    steps = [line(f"W{i}", truth=f"ids:{i}", roc_auc=measured(0.8 - 0.02 * i, 0.01)) for i in
             range(4)]  # fmt: skip
    slow = trend(*steps)
    assert (row(slow)["reference"], row(slow)["verdict"]) == ("W2", "not told apart")
    held = trend(*steps, Accepted("report", "W0"))
    assert (row(held)["reference"], row(held)["verdict"]) == ("W0", "worse")
    assert estimate(row(held)["change"]).value == pytest.approx(-0.06)


def test_of_an_accepted_last_line_there_is_nothing_to_say() -> None:
    found = trend(line("W1", roc_auc=AUC), line("W2", roc_auc=LESS), Accepted("report", "W2"))
    assert found.tables["changes"] == []
    assert texts(found.answer)[0] == "W2 is accepted, and nothing came after it."


def test_new_gone_and_other_settings_are_said() -> None:
    found = trend(
        line("W1", roc_auc=AUC), line("W1", "old", roc_auc=AUC),
        line("W2", settings="other", roc_auc=AUC), line("W2", "new", roc_auc=AUC),
    )  # fmt: skip
    assert row(found)["verdict"] == "other settings"
    assert estimate(row(found)["change"]) == Estimate(None, reason="other_settings")
    assert row(found, "new")["verdict"] == "new"
    assert texts(found.answer) == [
        "The settings of rf at W2 are others: nothing is compared.", "old has no line at W2.",
    ]  # fmt: skip


def test_the_place_of_a_step_is_that_of_least_squares() -> None:
    values = [0.80, 0.81, 0.79, 0.80, 0.70, 0.71, 0.69]
    path = [line(f"W{i}", m=measured(value, 0.02)) for i, value in enumerate(values)]

    def squares(k: int) -> float:
        return sum(
            (x - np.mean(part)) ** 2 for part in (values[:k], values[k:]) for x in part
        )  # fmt: skip

    assert changed_at(path, "m") == min(range(1, 7), key=squares) == 4
    # a line nobody can be sure of weighs little: of se 1 beside .02 one part in 2,500
    path[1] = line("W1", m=measured(0.2, 1.0))
    assert changed_at(path, "m") == 4
    path[1] = line("W1", m=PastMeasure(0.2))  # and as much as others where no se is known
    assert changed_at(path, "m") == 2
    assert changed_at(path[:1], "m") is None


def test_standard_errors_are_taken_from_intervals_where_none_is_kept() -> None:
    kept = [
        line(f"W{i}", m=measured(value, se))
        for i, (value, se) in enumerate([(0.8, 0.01), (0.9, 0.4), (0.8, 0.01), (0.7, 0.01)])
    ]
    bare = [line(one.label, m=PastMeasure(m.value, m.low, m.high))
            for one in kept for m in [one.measures["m"]]]  # fmt: skip
    assert changed_at(bare, "m") == changed_at(kept, "m") == 3


def test_fifty_weeks_tell_a_change_of_rows_from_one_of_the_model() -> None:
    """Rows are others from week 20 on, which moves little; the model from week 35 on."""
    entries: list[PastEntry] = []
    for week in range(1, 51):
        truth = "ids:old" if week < 20 else "ids:new"
        auc = 0.85 if week < 20 else 0.86 if week < 35 else 0.78
        entries.append(line(f"W{week:02}", truth=truth, roc_auc=measured(auc, 0.012)))
        other = 0.84 if week < 20 else 0.85
        entries.append(line(f"W{week:02}", "svm", truth=truth, roc_auc=measured(other, 0.012)))
        if week == 10:
            entries.append(Accepted("report", "W10"))
    found = trend(*entries)
    assert found.tables["events"] == [
        {"label": "W20", "model": "rf", "changed": "rows"},
        {"label": "W20", "model": "svm", "changed": "rows"},
        {"label": "W35", "model": "rf", "changed": "model"},
    ]
    assert texts(found.answer) == [
        "roc_auc of rf at W50 is worse, beside W10, which was accepted: 0.780, was 0.850 (change "
        "-0.070 [-0.103, -0.037]), since W35, where the model changed and the rows did not.",
        "The rows changed at W20 and rf itself at W35.",
    ]
    assert (row(found)["since"], row(found)["cause"]) == ("W35", "model")
    assert row(found, "svm")["verdict"] == "not told apart"
    history = found.tables["history"]
    assert len(history) == 50 * 2
    marked = [(one["label"], one["model"], one["marks"]) for one in history if one["marks"]]
    assert marked == [("W20", "rf", ["rows"]), ("W20", "svm", ["rows"]), ("W35", "rf", ["model"])]
    assert [one["label"] for one in history if one["accepted"]] == ["W10", "W10"]


def test_a_sentence_that_opens_with_a_model_keeps_its_name() -> None:
    found = trend(line("W1", roc_auc=AUC), line("W2", roc_auc=LESS))
    assert "rf itself changed at W2." in texts(found.answer)


def test_where_rows_change_always_nobody_is_told_that_a_model_did() -> None:
    found = trend(*(line(f"W{i}", truth=f"ids:{i}", roc_auc=AUC) for i in range(4)))
    assert texts(found.answer)[-1] == (
        "The rows change at every label, so nobody can tell whether a model changed too."
    )


def test_of_the_same_rows_it_is_said_that_pairs_would_see_more() -> None:
    found = trend(line("W1", roc_auc=AUC), line("W2", roc_auc=measured(0.79, 0.01)))
    assert found.answer[-1].code == "not-paired"


@pytest.mark.parametrize("years", [4, pytest.param(100, marks=pytest.mark.slow)])
def test_equal_models_are_told_apart_in_no_more_weeks_than_the_level(years: int) -> None:
    """20 measures and 50 weeks: alarms in at most 5 % of weeks, up to two standard errors.

    Estimates are drawn of one model as of normal errors, measures of a week alike by half: each
    week is held against the accepted first one. The intervals alone would alarm far more often.
    """
    rng = np.random.default_rng(7)
    told, alone, weeks = [], [], 49 * years
    for _ in range(years):
        common = rng.normal(size=(50, 1)) * math.sqrt(0.5)
        drawn = 0.7 + 0.02 * (common + math.sqrt(0.5) * rng.normal(size=(50, 20)))
        lines = [
            line(f"W{week}", truth=f"ids:{week}",
                 **{f"m{j}": measured(float(x), 0.02) for j, x in enumerate(values)})
            for week, values in enumerate(drawn)
        ]  # fmt: skip
        for week in range(1, 50):
            found = trend_of(lines[0], lines[week])
            told.append(any(one["verdict"] in ("better", "worse") for one in found))
            alone.append(any((one["p"] or 0) <= 0.05 for one in found))  # type: ignore[operator]
    slack = 2 * math.sqrt(0.05 * 0.95 / years)  # weeks of a year share the first: count years
    assert sum(told) / weeks <= 0.05 + slack
    assert sum(alone) > 4 * sum(told)


def trend_of(first: PastLine, last: PastLine) -> Sequence[Row]:
    from clfeval.trend.judge import changes_of

    return changes_of({"rf": [first, last]}, {"rf": first}, last.label)


def test_the_rule_over_all_is_that_of_benjamini_and_hochberg() -> None:
    p = [0.01, 0.02, 0.03, 0.5]
    assert benjamini_hochberg(np.array(p)) == pytest.approx([0.04, 0.04, 0.04, 0.5])
