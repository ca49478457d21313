"""The page of mlcps: who is first and how firmly; every number rightly rounded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clfeval.document.cells import Estimate
from clfeval.pages.table_parts import draw_bar
from clfeval.views.table_layout import (
    more_table_names,
    result_headline,
    sort_tables,
    undefined_reasons,
)
from clfeval.views.terminal import as_text
from tests.texts import check_text, numbers_in
from tests.views.page import column, layout, named_sections, section_of
from tests.views.ranked import FIVE, METRICS, RESULTS, ranked


@pytest.mark.parametrize("name", ["five", "weighted", "predictions", "splits", "goals", "compared"])
def test_the_words_of_every_table_and_of_the_headline(name: str) -> None:
    result = RESULTS[name]
    check_text([*result_headline(result), *(layout(part) for _, part in named_sections(result))])


def test_the_headline_names_as_many_metrics_as_a_line_or_two_hold() -> None:
    # 40 characters and a comma and a blank: three are 126 of at most 130
    for length, named in ((39, 3), (99, 2)):
        names = [f"{i}" + length * "x" for i in range(5)]
        line = result_headline(ranked({"a": [0.5] * 5, "b": [0.6] * 5}, names))[1]
        assert [name in line for name in names] == [True] * named + [False] * (5 - named)
        assert {5 - named} <= {*numbers_in(line)}


def test_the_ranking_has_the_best_first_with_a_bar_of_its_share() -> None:
    # of 2, the area of a square: 12 * .49 = 5.88 and 12 * .48 = 5.76 cells, in eighths 7 and 6
    assert section_of(RESULTS["two"], "models").rows == (
        ("svm", "*", "1", "0.980", "0.490", "0.700", "yes", "█████▉······"),
        ("rf", "", "2", "0.960", "0.480", "0.700", "yes", "█████▊······"),
    )
    assert column(section_of(RESULTS["tie"], "models"), 2) == ["1", "1", "2"]
    firm = ranked({"best": (0.9, 0.9, 0.9), "other": (0.6, 0.7, 0.8)}, ("a", "b", "c"))
    assert [row[:2] for row in section_of(firm, "ranks").rows] == [("best", "1"), ("other", "2")]


def test_the_bar_is_of_what_ranks() -> None:
    part = section_of(RESULTS["goals"], "models")
    assert (part.rows[-1][0], part.rows[-1][-1]) == ("knn", "·" * 12)
    assert "0.000" in part.rows[-1]
    firm = section_of(RESULTS["goals"], "firm")
    assert [["roc_auc" in row, "–" in row] for row in firm.rows][-1] == [True, False]


def test_a_sign_marks_the_first_and_whoever_is_not_significantly_different() -> None:
    for name, signs in (
        ("tie", ["*", "*", ""]),
        ("predictions", ["*", "≈", "", "", ""]),
        ("five", ["*", *[""] * 4]),
    ):
        assert column(section_of(RESULTS[name], "models"), 1) == signs


def test_beside_the_answer_there_is_one_table_unless_more_is_asked_for() -> None:
    def opened(name: str, *names: str) -> list[str]:
        return [one.name or one.table for one in sort_tables(RESULTS[name], names).opened]

    assert opened("predictions") == opened("splits") == ["models"]
    assert opened("weighted") == ["weights", "models"]
    assert opened("goals") == ["desirability", "models"]
    assert opened("compared") == ["compared", "agreement", "models"]
    assert opened("goals", "goals") == ["desirability", "goals", "models"]
    assert tuple(more_table_names(RESULTS["goals"], sort_tables(RESULTS["goals"]), ())) == (
        "goals",
        "firm",
        "ranks",
        "metrics",
        "changes",
        "dominance",
        "intervals",
        "plots",
    )


def test_a_narrow_screen_has_one_line_a_model_and_the_interval_of_what_ranks() -> None:
    narrow, wide = (as_text(RESULTS["predictions"], width=width) for width in (80, 140))
    check_text([narrow, wide])
    # rf ½ (.7052 + .697 + .7905 + .7998) = 1.496, half of it .748
    (row,) = (line for line in narrow.splitlines() if line.startswith("rf  "))
    assert row.split()[:7] == ["rf", "*", "1", "1.496", "[1.466,", "1.526]", "0.748"]


@pytest.mark.parametrize(
    ("share", "drawn"),
    [
        (0.0, "····"),
        (1e-9, "▏···"),
        (1 / 32, "▏···"),
        (0.25, "█···"),
        (0.5, "██··"),
        (1 - 1e-9, "███▉"),
        (1.0, "████"),
        (None, ""),
    ],
)
def test_a_bar_is_full_for_1_and_empty_for_0_only(share: float | None, drawn: str) -> None:
    assert draw_bar(share, 4) == drawn


def test_how_firm_the_scores_are() -> None:
    part = section_of(RESULTS["two"], "firm")
    # order-free: ½ (2.8² - 2) / 3; mean .7; SD: .1 each from the mean, over 3
    free, sd = 0.5 * (2.8**2 - 2.0) / 3, (4 * 0.1**2 / 3) ** 0.5
    for row in part.rows:
        assert row[1:] == (f"{free:.3f}", "0.960", "0.980", "0.700", f"{sd:.3f}", "1-2", "yes")
    assert column(section_of(RESULTS["five"], "firm"), 6) == ["1-2", "1-2", "3", "4", "5"]


def test_ranks_are_shown_where_they_differ() -> None:
    part = section_of(RESULTS["five"], "ranks")
    assert [row[:2] for row in part.rows][:2] == [("svm", "1"), ("rf", "2")]
    rows = [
        {**row, "weight_dependent": None, "order_dependent": None if i else False}
        for i, row in enumerate(RESULTS["five"].tables["ranks"])
    ]
    unknown = replace(RESULTS["five"], tables={**RESULTS["five"].tables, "ranks": rows})
    check_text([layout(part), layout(section_of(unknown, "ranks"))])
    assert [("?" in row) for row in section_of(unknown, "ranks").rows].count(True) == 4


def test_without_a_polygon_only_what_exists_is_shown_and_the_rest_explained() -> None:
    result = RESULTS["pair"]
    assert ("–",) * 5 in [column.cells for column in section_of(result, "models").columns]
    # means .76 and .75, D √(.8 * .05) = .2 and √(.5 * .375) = .43
    goals = {"accuracy": (0.5, 1.0), "f1": (0.6, 1.0)}
    other = ranked({"a": (0.9, 0.62), "b": (0.75, 0.75)}, METRICS[:2], goals=goals)
    assert section_of(other, "ranks").rows == (("b", "2", "1", "1"), ("a", "1", "2", "2"))
    check_text(undefined_reasons(result, sort_tables(result, ("all",)).opened))


def test_numbers_next_to_0_and_1_are_not_shown_as_these() -> None:
    near = ranked({"a": (0.9997, 1.0, 1.0), "b": (0.0001, 1.0, 0.0)}, ("x", "y", "z"))
    part = section_of(near, "models")
    assert [row[4] for row in part.rows] == [">0.999", "<0.001"]
    assert column(part, -1) == ["█" * 11 + "▉", "▏" + "·" * 11]
    assert [row[-1] for row in section_of(near, "metrics").rows] == ["0.99970", "1.000", "1.000"]


def test_metrics_stand_in_the_order_of_their_rays_with_those_that_repeat_right_below() -> None:
    part = section_of(RESULTS["thirty"], "metrics")
    assert column(part, 0) == ["1", "2", "3", "4", "5", "6", "7"]
    assert part.rows[4][1] == "brier ↓"
    twins = ranked(
        {name: (*row, row[1]) for name, row in FIVE.items()},
        (*METRICS, "twin"),
        direction={"twin": "max"},
    )
    names = [name for name, _ in named_sections(twins)]
    assert names[names.index("metrics") + 1] == "redundant"
    (repeats,) = section_of(twins, "redundant").rows
    assert repeats[:2] == ("f1", "twin")
    check_text([layout(section_of(twins, "redundant")), repeats[-1]])


def test_what_leaving_out_and_doubling_changes() -> None:
    part = section_of(RESULTS["two"], "changes")
    # twice the areas in units of their triangles, svm against rf: without mcc .64 + .48 + .48
    # and .48 + .36 + .48; with mcc doubled .64 + .96 + .72 + .48 and .48 + .96 + .96 + .48
    metric, without, moved, *doubled = part.rows[2]
    assert (metric, without.split(",")[0], moved, doubled) == ("mcc", "svm", "0", ["rf", "2"])
    same = ranked({"a": (0.9, 0.9, 0.9, 0.9), "b": (0.1, 0.1, 0.1, 0.1)})
    nothing = section_of(same, "changes")
    assert len(nothing.rows) == 1
    check_text([section_of(RESULTS["tie"], "changes").note, *nothing.rows[0]])


def test_a_model_without_score_is_last_and_unranked() -> None:
    five = RESULTS["five"]
    lost = {"mlcps": Estimate(None, reason="missing_component"), "rank": None}
    models = [{**row, **lost} if row["model"] == "svm" else row for row in five.tables["models"]]
    ranks = [
        {**row, "mlcps": None} if row["model"] == "svm" else row for row in five.tables["ranks"]
    ]
    tables = {**five.tables, "models": models, "ranks": ranks}
    result = replace(five, tables=tables, summary={**five.summary, "best": []})
    last = section_of(result, "models").rows[-1]
    assert (last[0], last[2]) == ("svm", "–")
    check_text(undefined_reasons(result, sort_tables(result, ("all",)).opened))
