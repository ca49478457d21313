"""Tables of mlcps that an option asks for, and what holds for every page of it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from statistics import mean, stdev

import pytest
from rich.cells import cell_len

from clfeval.formatting import escape_control_characters
from clfeval.formatting import join_words as named
from clfeval.views.documents import csv_lines, markdown_lines
from clfeval.views.page import as_page
from clfeval.views.plots import draw_plots
from clfeval.views.table_layout import layout_table, sort_tables, undefined_reasons
from clfeval.views.terminal import as_text
from tests.texts import check_text, numbers_in
from tests.thoroughness import thinned
from tests.views.page import column, same_without_colour, section_of, sections, texts_of
from tests.views.ranked import FIVE, METRICS, NAMES, OFF, RESULTS, crowd, ranked


def test_splits_weights_and_desirability() -> None:
    # ½ Σ (x + c) (y + c) is 1.368 + 3.31 c + 2 c²
    areas = [1.368 + 3.31 * c + 2 * c**2 for c in OFF]
    shown = f"{mean(areas):.3f}", f"{stdev(areas):.3f}"
    assert section_of(RESULTS["splits"], "splits").rows[0] == ("svm", *shown, "5")
    # knn: (.6 - .5) / .5, (.79 - .6) / .4, (.31 - .3) / .6, (.66 - .66) / .34
    part = section_of(RESULTS["goals"], "desirability")
    assert part.rows[-1] == ("knn", "0.000", "0.200", "0.475", "0.017", "✗ 0.000")
    wanted = section_of(RESULTS["goals"], "goals").rows[0]
    assert (wanted[0], numbers_in(wanted[1]), wanted[2]) == ("accuracy", [0.5, 1], "1")


def test_names_with_commas_in_a_list_cannot_mislead() -> None:
    models = {"a, b": (0.9, 0.9, 0.9), "c": (0.8, 0.8, 0.8), "d": (0.7, 0.7, 0.7)}
    (c, d) = section_of(ranked(models, ("x", "y", "z")), "dominance").rows
    assert (c, d[0]) == (("c", "'a, b'"), "d")
    assert d[1].startswith("'a, b' ")


def test_another_table_is_compared_model_by_model() -> None:
    part = section_of(RESULTS["compared"], "compared")
    assert column(part, 0) == ["svm", "rf", "lda", "tree", "knn"]
    # there rf is as tree: 1, 3, 2, 3, 4
    assert [numbers_in(row[-1]) for row in part.rows] == [[], [1], [1], [1], [1]]
    check_text(row[-1] for row in part.rows)
    assert column(section_of(RESULTS["compared"], "agreement"), 0)[3:] == [*METRICS]
    flat = ranked(compare=dict.fromkeys(FIVE, FIVE["rf"]))
    check_text(undefined_reasons(flat, sort_tables(flat, ("all",)).opened))


@pytest.mark.parametrize("width", thinned([80, 140], [80]))
@pytest.mark.parametrize("name", RESULTS)
def test_every_line_fits_the_screen_and_no_number_is_lost(name: str, width: int) -> None:
    result = RESULTS[name]
    drawn = draw_plots(result, width=width, color=False)
    text = as_text(result, width=width, plots=drawn)
    assert max(map(cell_len, text.splitlines())) <= width
    every = [as_text(result, width=w, names=("all",)) for w in (None, width)]
    assert max(map(cell_len, every[1].splitlines())) <= width
    whole, there = (Counter(re.findall(r"[\d.]*\d", t)) for t in every)
    if name not in ("awkward", "thirty"):  # names of theirs are folded
        assert not whole - there


@pytest.mark.parametrize("name", RESULTS)
def test_colour_tells_nothing(name: str) -> None:
    same_without_colour(RESULTS[name])


def test_names_are_shown_as_they_are_but_cannot_steer_the_terminal() -> None:
    text = as_text(RESULTS["awkward"], names=("all",))
    assert all(name.strip() in text for name in NAMES[:4])
    assert "\\x07\\x1b[31m\\-" in text


@pytest.mark.parametrize("name", RESULTS)
def test_html_and_markdown_have_the_same_tables(name: str) -> None:
    result = RESULTS[name]
    texts, page = texts_of(as_page(result)), sort_tables(result)
    parts = [layout_table(one, result, wide=False) for one in page.opened]
    parts += [layout_table(one, result) for one in page.folded]
    assert {part.title for part in parts} == {part.title for part in sections(result)}
    for part in parts:
        assert part.title in texts
        assert {
            escape_control_characters(cell) for row in part.rows for cell in row if cell
        } <= texts
    lines = [line.replace("\\|", "") for line in "".join(markdown_lines(result)).splitlines()]
    assert sum(bool(re.fullmatch(r"\|(:?---:?\|)+", line)) for line in lines) == len(parts)
    wide = [line.count("|") - 1 for line in lines if line.startswith("| ")]
    expected = [len(part.headings) for part in parts for _ in range(len(part.rows) + 1)]
    assert wide == expected


def test_long_tables_are_cut_with_the_way_to_the_rest() -> None:
    for name in ("models", "weights"):
        part = section_of(RESULTS["thirty"], name)
        assert (len(part.rows), numbers_in(part.note)[0]) == (20, 10)
    assert named(["a"]) == "a"
    check_text([named(["a", "b", "c"], word="or"), named(list("abcdefg"))])


@pytest.mark.slow
def test_of_a_hundred_thousand_models_only_those_shown_are_made() -> None:
    result, made = crowd(RESULTS["five"], 100_000)
    text = as_text(result, width=80)
    assert ("100,000" in text, "m99999" in text) == (True, True)
    part = section_of(result, "models")
    assert column(part, 0) == [f"m{99_999 - i}" for i in range(20)]
    assert {99_980} <= {*numbers_in(part.note)}
    assert made[0] < 2000
    drawn = draw_plots(result, width=80, color=False)
    assert "99,974" in drawn
    assert made[0] < 8000


@pytest.mark.parametrize("name", ["redundant", "dominance"])
def test_an_empty_table_has_the_columns_of_one_with_rows(name: str) -> None:
    result = RESULTS["compared"]
    full = next(iter(csv_lines(result, name)))
    assert list(csv_lines(replace(result, tables={name: []}), name)) == [full]
