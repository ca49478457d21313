"""The page of tune-jpt: every number rightly rounded, every population with odds and prevalence."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len

from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from clfeval.measures.catalog import CATALOG
from clfeval.pages.schema import TableView
from clfeval.pages.table_parts import column_title
from clfeval.pages.tune_jpt.main_table import PLACE
from clfeval.views.documents import CUT, markdown_lines
from clfeval.views.page import as_page
from clfeval.views.plots import draw_plots
from clfeval.views.table_layout import layout_table, result_headline, sort_tables
from clfeval.views.terminal import as_text
from tests.results import estimate_of
from tests.texts import check_text, numbers_in
from tests.thoroughness import thinned
from tests.views.page import (
    layout,
    named_sections,
    same_without_colour,
    section_of,
    sections,
    texts_of,
)
from tests.views.tuned import MODELS, ORDER, Counts, tuned

ONE = {"anti-CCP": MODELS["anti-CCP"]}
NAMES = ["a b", "[red]x[/red]", "a|b", "c" * 90, "wide 日本語", "\\", "-"]
AWKWARD: dict[str, Counts] = {name: (i + 1, 3, 9 - i, 7) for i, name in enumerate(NAMES)}
CASES: dict[str, dict[str, Any]] = {
    "full": {"measure": "cost:fp=1,fn=50,tp=2,tn=0"},
    "slices": {"slices": ("north", "a rather long name of a hospital"), "points": 7},
    "one model": {"models": ONE},
    "no sweep": {"sweep": None},
    "labels": {"scores": False},
    "counts": {"models": {**ONE, "small": (40, 2, 20, 38)}, "sweep": None, "uncertain": False},
    "no intervals": {"interval": "none", "uncertain": False},
    "no targets": {"targets": ()},
    "extreme": {"targets": ("1:1000000", "1000000:1"), "population": 1e9},
    "empty cells": {
        "models": {
            "none": (0, 0, 5, 5),
            "all": (5, 5, 0, 0),
            "right": (5, 0, 0, 5),
            "wrong": (0, 5, 5, 0),
        }
    },
    "awkward": {"models": AWKWARD, "scores": False},
    "forty": {
        "models": {f"model {i}": (i, 40 - i, 50, 60) for i in range(40)},
        "points": 5,
        "interval": "none",
        "measure": "mcc",
    },
}


def result_of_case(name: str) -> Result:
    return tuned(**CASES[name])


def rounded(text: str, value: float) -> bool:
    """Say whether a text is the number, rounded to the places it has."""
    bare = float(text.strip("<>[]").replace(",", ""))
    if text[0] in "<>":
        return value < bare if text[0] == "<" else value > bare
    return abs(bare - value) <= 0.5 * 10.0 ** -len(text.partition(".")[2]) * (1 + 1e-9)


@pytest.mark.parametrize("name", ["full", "extreme", "empty cells", "counts", "labels"])
def test_every_measure_of_every_population_is_shown_rightly_rounded(name: str) -> None:
    result, seen = result_of_case(name), 0
    kept = ("moving", "unmoved", "odds", "cost")
    parts = {
        head: (name, part, i)
        for name, part in named_sections(result)
        if name in kept
        for i, head in enumerate(part.headings)
        if head[-1:] in ("↑", "↓", "0")
    }
    for measure in result.parameters["measures"]:
        best = CATALOG[measure].arrow
        title = column_title(measure, 1.0).removesuffix(" (accuracy)")
        place, part, i = parts[f"{title} {best}"]
        rows = list(result.tables["models"])
        if CATALOG[measure].invariant:
            assert place == "unmoved"
            rows = [row for row in rows if row["population"] == rows[0]["population"]]
        assert len(part.rows) == len(rows)
        for line, row in zip(part.rows, rows, strict=True):
            cell = estimate_of(row[measure])
            if cell.value is None:
                assert line[i] == {"infinite": "∞", "minus_infinite": "-∞"}.get(cell.reason, "–")
            else:
                assert rounded(line[i], cell.value), (measure, line[i], cell.value)
            if cell.low is not None and cell.high is not None:
                low, high = line[i + 1].strip("[]").split(", ")
                assert rounded(low, cell.low)
                assert rounded(high, cell.high)
            seen += 1
    assert seen >= len(result.parameters["measures"])


def test_expected_rows_are_rounded_and_counted_ones_whole() -> None:
    part = section_of(result_of_case("full"), "cells")
    rows = result_of_case("full").tables["models"]
    for line, row in zip(part.rows, rows, strict=True):
        for i, name in enumerate(("tp", "fp", "fn", "tn"), start=-4):
            value = float(str(row[name]))
            assert rounded(line[i], value)
            assert line[i].isdigit() == (row["population"] == "sample")
    # of 1000 rows at 1:1000 1000/1001 are ill: .67 of them found; .05 of the others called ill
    target = part.rows[3]
    assert target[1:] == ("target", "1:1000", "0.000999", "0.669", "50.0", "0.330", "949.1")
    assert part.rows[0][2:4] == ("600:400", "0.6")


def test_a_slice_without_a_class_has_no_odds_and_nothing_tuned() -> None:
    nothing = dict.fromkeys(("tp", "fp", "fn", "tn"))
    undefined = {name: Estimate(None, reason="no_positive_truth") for name in ORDER[:-2]}
    rows = [
        {
            **row,
            **undefined,
            **(
                nothing
                if row["population"] != "sample"
                else {"prevalence": None, "odds": None, "tp": 0, "fn": 0}
            ),
        }
        for row in tuned(ONE).tables["models"]
    ]
    result = replace(result_of_case("one model"), tables={"models": rows})
    parts = [section_of(result, name) for name in ("cells", "moving")]
    assert parts[0].rows[0][2:] == ("–", "–", "0", "20", "0", "380")
    assert parts[0].rows[1][-4:] == ("–",) * 4
    assert parts[1].rows[0][2:] == ("–",) * 6
    check_text(as_text(result))


@pytest.mark.parametrize("name", thinned([*CASES][:-2], [*CASES][::2]))
def test_the_words_of_every_table_and_of_the_headline(name: str) -> None:
    """All that is about populations has their odds and prevalence."""
    result = result_of_case(name)
    check_text([*result_headline(result), *(layout(part) for _, part in named_sections(result))])
    for part in sections(result):
        if PLACE in part.headings:
            i = part.headings.index(PLACE)
            assert all(re.search(r"\d:[\d.]+ \([\d.e-]+\)", line[i]) for line in part.rows)


@pytest.mark.parametrize("width", thinned([80, 140], [80]))
@pytest.mark.parametrize("name", thinned(CASES, [*CASES][::3]))
def test_every_line_fits_the_screen_and_no_number_is_lost(name: str, width: int) -> None:
    result = result_of_case(name)
    drawn = draw_plots(result, width=width, color=False)
    text = as_text(result, width=width, plots=drawn, names=("all",))
    assert max(map(cell_len, text.splitlines())) <= width
    whole, there = (
        Counter(re.findall(r"[\d.,:∞-]*\d[\d.,:]*", t))
        for t in (as_text(result, names=("all",)), text)
    )
    if name not in ("awkward", "slices", "forty"):  # names of theirs are folded
        assert not whole - there


@pytest.mark.parametrize("name", thinned(CASES, ["full", "counts", "awkward", "empty cells"]))
def test_colour_tells_nothing(name: str) -> None:
    same_without_colour(result_of_case(name))


def test_names_are_shown_as_they_are() -> None:
    text = as_text(result_of_case("awkward"))
    assert all(name in text for name in AWKWARD)
    page = "".join(markdown_lines(result_of_case("awkward")))
    rows = [line.replace("\\|", "") for line in page.splitlines() if line.startswith("| ")]
    tables = Counter(line.count("|") for line in rows)
    assert all(count > 1 for count in tables.values())
    assert "\\[red\\]x" in page


@pytest.mark.parametrize("name", thinned(CASES, [*CASES][::2]))
def test_html_and_markdown_have_the_same_tables(name: str) -> None:
    texts = texts_of(as_page(result_of_case(name)))
    page = "".join(markdown_lines(result_of_case(name)))
    every = sort_tables(result_of_case(name), ("all",)).opened
    for one in every:
        part = layout_table(one, result_of_case(name), wide=one.rank == "detail")
        assert part.title in texts
        assert {cell for line in part.rows for cell in line if cell} <= texts
    assert page.count("\n|:--") == len(every) or CUT in page


def test_long_tables_are_cut_with_the_way_to_the_rest() -> None:
    listed = TableView("models", "", "").most or 0
    part = section_of(result_of_case("forty"), "cells")
    assert len(part.rows) == listed
    # 40 models, each in the sample, at 1:1, at two targets, and at three points of a range
    assert {40 * 7 - listed} <= {*numbers_in(part.note)}


def test_the_headline_says_what_was_read_and_where_it_is_put() -> None:
    many = tuned(targets=[f"1:{n}" for n in range(2, 8)], uncertain=False, interval="none")
    assert 0.6 in numbers_in(result_headline(many)[1])  # the prevalence of the rows
    mixed = replace(result_of_case("full"), summary=dict.fromkeys(result_of_case("full").summary))
    check_text([*result_headline(many), *result_headline(mixed)])
