"""The one screen of tune-jpt: its length, where the answer stands, what is asked for, marks."""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.document import ResultNote
from clfeval.pages.tune_jpt import PAGE
from clfeval.views.plots import draw_plots
from clfeval.views.table_layout import layout_table, more_table_names, sort_tables
from clfeval.views.terminal import as_text
from tests.cli.golden import ROOT
from tests.results import warning_codes
from tests.texts import check_text
from tests.views.page import layout
from tests.views.tuned import tuned

CANCER = str(ROOT / "fixtures" / "breast-cancer")
COST = "cost:fp=1,fn=10"


@cache
def six(kind: str = "scores", **options: Any) -> Result:
    return clfeval.tune_jpt(f"{CANCER}/{kind}.csv", positive="malignant", **options)


def test_at_a_prevalence_models_stand_in_the_order_of_report_with_its_marks() -> None:
    result = six(prevalence=0.3)
    (main,) = [one for one in sort_tables(result).opened if one.rank == "main"]
    part = layout_table(main, result, wide=False)
    report = clfeval.report(f"{CANCER}/scores.csv", positive="malignant")
    rows = sorted(report.unsliced_rows("models"), key=lambda row: -row["roc_auc"].value)  # type: ignore[union-attr, operator]
    assert [row[0] for row in part.rows] == [row["model"] for row in rows]
    assert part.rows[0][0] == result.answer[0].models[0]
    tied = {row["model"] for row in rows[1:] if row["tied"]}
    marked = [row[0] for row, sign in zip(part.rows, part.signs, strict=True) if sign == "≈"]
    assert {*marked} == tied


def test_of_a_cost_the_least_is_first() -> None:
    result = six(prevalence=0.1, measure=COST)
    (main,) = [one for one in sort_tables(result).opened if one.rank == "main"]
    values = [float(row[2]) for row in layout_table(main, result, wide=False).rows]
    assert values == sorted(values)
    check_text(as_text(result, width=140).splitlines()[-1])


def test_each_target_has_its_own_best() -> None:
    """TAR at 1:3: (.8 + 3 x .95) / 4 = .9125 of specific, (.95 + 3 x .8) / 4 = .8375 of sensitive.

    At 3:1 the other way; one prediction for all rows has .75 at both. Each has 1,000 rows a class:
    the standard error of .075 is .011.
    """
    counts = {"specific": (800, 50, 200, 950), "sensitive": (950, 200, 50, 800)}
    result = clfeval.tune_jpt(counts=counts, prevalence=("1:3", "3:1"), sweep=None)
    (main,) = [one for one in sort_tables(result).opened if one.rank == "main"]
    part = layout_table(main, result, wide=False)
    assert [row[0] for row in part.rows] == ["specific", "sensitive", "sensitive", "specific"]
    assert part.signs == ("*", "", "*", "")


def test_at_a_prevalence_predictive_values_lead() -> None:
    """At 1 % no model is right as often as predicting no positives."""
    result = six(prevalence=0.01)
    main = [one for one in sort_tables(result).opened if one.rank == "main"]
    assert [one.table for one in main] == ["at_prevalence"]
    assert main[0].rows is not None
    assert main[0].rows[0]["model"] == result.answer[0].models[0]


def test_a_single_model_has_the_table_of_its_predictive_values() -> None:
    opened = sort_tables(six(model="svm")).opened
    assert [one.table for one in opened if one.rank == "main"] == ["at_prevalence"]
    opened = sort_tables(six(model="svm", measure="mcc")).opened
    assert [one.table for one in opened if one.rank == "main"] == ["at_prevalence", "models"]


def test_a_cost_names_the_best_labels_at_a_prevalence() -> None:
    """Expected cost at 1:1, FP 1, FN 10: of a (.4 + 10 x 0) / 2 = .2, of b (0 + 10 x .2) / 2 = 1.

    J of b, .8, is larger than that of a, .6.
    """
    counts = {"b": (80, 0, 20, 100), "a": (100, 40, 0, 60)}
    result = clfeval.tune_jpt(counts=counts, prevalence=0.5, sweep=None)
    by_cost = clfeval.tune_jpt(counts=counts, prevalence=0.5, sweep=None, measure=COST)
    for one, best in ((result, "b"), (by_cost, "a")):
        assert one.answer[0].models == (best,)


def test_alarms_per_case_are_one_by_ppv() -> None:
    """At 1:1: of a (.9 + .1) / .9; b predicts no true positive; c no positive."""
    counts = {"a": (90, 10, 10, 90), "b": (0, 30, 100, 70), "c": (0, 0, 100, 100)}
    result = clfeval.tune_jpt(counts=counts, prevalence=0.5, sweep=None)
    (main,) = [one for one in sort_tables(result).opened if one.rank == "main"]
    part = layout_table(main, result, wide=False)
    alarms = {"a": "1.111", "b": "∞", "c": "–"}
    assert alarms in [{row[0]: row[i] for row in part.rows} for i in range(len(part.headings))]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"population": 5000.0, "prevalence": 0.01}, "expected"),
        ({"prevalence": "0.001..0.02"}, "ranges"),
        ({"prevalence_beta": (2, 98)}, "simulated"),
    ],
)
def test_what_an_option_asks_for_stands_under_the_answer(
    options: dict[str, Any], name: str
) -> None:
    result = six("labels", **options)
    opened = sort_tables(result).opened
    assert opened[0].table == name
    assert [one.table for one in opened].count(name) == 1
    # a range has three prevalences of each model
    assert len(as_text(result, width=140).splitlines()) <= (52 if name == "ranges" else 50)


def test_everything_there_is_can_be_asked_for_by_name() -> None:
    result = tuned(population=5000.0)
    default = as_text(result, width=100)
    also = more_table_names(result, sort_tables(result), ())
    for name in (*PAGE.parts, *result.tables):
        if name in ("slices", "cost", "models", "at_prevalence", "sweep"):
            continue
        assert name in also or name in ("expected",), name
        assert len(as_text(result, width=100, names=(name,))) > len(default) or name == "expected"
    for name in PAGE.plots:
        assert draw_plots(result, (name,))


def test_notes_of_what_is_not_shown_come_with_it() -> None:
    result = six(prevalence=0.01)
    codes = {"epa-one-sided", "advice", "chosen-threshold", "small-class"}
    assert codes <= {*warning_codes(result)}
    text, asked = (as_text(result, width=200, names=names) for names in ((), ("odds",)))
    notes = {warning.code: warning.message for warning in result.warnings}
    first = {code: " ".join(text.split()[:4]) for code, text in notes.items()}
    assert (first["epa-one-sided"] in text, first["epa-one-sided"] in asked) == (False, True)
    assert first["small-class"] in text


def test_one_curve_is_drawn_by_default_and_only_of_several_models() -> None:
    assert draw_plots(six(), ()).strip() == draw_plots(six(), ("curves",)).strip() != ""
    assert draw_plots(six(model="svm"), ()) == ""


def test_letters_do_not_stand_on_each_other() -> None:
    """Two targets in one column of the plot stand side by side."""
    drawn = draw_plots(tuned(targets=("1:100", "1:101"), uncertain=False), ("curves",), width=80)
    top = next(line for line in drawn.splitlines() if "T" in line and "│" in line)
    assert top.count("T") == 2


def test_thresholds_of_a_few_models_are_drawn() -> None:
    drawn = draw_plots(six(), ("cuts",), width=80)
    assert "o svm" in drawn
    assert "result.show('cutoffs')" in drawn


def test_notes_stay_in_the_document() -> None:
    assert all(isinstance(one, ResultNote) for one in six().warnings)
    assert '"epa-one-sided"' in six(prevalence=0.01).to_json()


SITES = pl.DataFrame(
    {
        "site": ["n"] * 40 + ["s"] * 40,
        "truth": ([1] * 20 + [0] * 20) * 2,
        "a": [1] * 20 + [0] * 20 + [1] * 10 + [0] * 30,  # right in 40 of 40, in 30 of 40
        "b": [0] * 20 + [1] * 20 + [1] * 10 + [0] * 29 + [1],  # right in none, in 29 of 40
    }
)


def test_slices_that_were_asked_for_have_a_line_each() -> None:
    result = clfeval.tune_jpt(SITES, by="site", sweep=None)
    (part,) = [
        layout_table(one, result) for one in sort_tables(result).opened if one.name == "slices"
    ]
    assert [row[:4] for row in part.rows] == [
        ("site=n", "0.5", "a", "1.000"),
        ("site=s", "0.5", "a", "0.750"),
    ]
    check_text([layout(part), *(row[-1] for row in part.rows)])


def test_slices_of_one_model_have_its_measures() -> None:
    """In the south 10 of 20 positives are found, and no negative is called positive."""
    result = clfeval.tune_jpt(SITES.drop("b"), by="site", sweep=None)
    (part,) = [
        layout_table(one, result, wide=False)
        for one in sort_tables(result).opened
        if one.name == "slices"
    ]
    assert [line[0] for line in part.rows] == ["site=n", "site=s"]
    assert "0.500" in part.rows[1]
