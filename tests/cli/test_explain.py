"""`--explain`: every column, heading, measure and code has words, and they are words of its own."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from functools import cache
from unittest import mock

import pytest

from clfeval import COMMANDS
from clfeval.api.result import terminal_text
from clfeval.formatting import DIGITS
from clfeval.measures.catalog import CATALOG
from clfeval.methods.measurement.requested_measures import REFUSED
from clfeval.pages import explain
from clfeval.pages.codes import ANSWERS, ERRORS, WARNINGS
from clfeval.pages.command_pages import page_of
from clfeval.pages.explain import (
    EVERYWHERE,
    NAMES_BY_COMMAND,
    WORDS,
    Term,
    _term_names,
    explainable_names,
    find_terms,
    heading_on_one_line,
    page_terms,
)
from clfeval.pages.schema import COMMON, DRY_RUN, HISTORY, SUITE, Column, Table
from clfeval.views import table_layout
from clfeval.views.table_layout import TextTable, layout_table
from tests.cli.golden import CALLS, ROOT
from tests.cli.golden import COMMANDS as SCREENS
from tests.process.program import clfeval
from tests.process.runner import run
from tests.texts import check_text, problem_places
from tests.thoroughness import thinned

LONGEST = 130  # characters of an entry
FEWEST = 2  # words of it
# what a screen says of the data themselves: a cut, a place on the other side of a matrix
DATA = re.compile(r"-?[\d.,]+(?:e-?\d+)?|")
ELSEWHERE = ("model", "rows")  # columns of other tables that views have
ALL_PAGES = (*COMMANDS, DRY_RUN, HISTORY, SUITE)


@cache
def terms_of(command: str) -> tuple[Term, ...]:
    """Return the terms of the page of a command."""
    return tuple(page_terms(page_of(command)))


@cache
def names_of_terms(command: str) -> dict[int, tuple[str, ...]]:
    """Return the names of each term of a page by the identity of the term."""
    page = page_of(command)
    return {id(term): tuple(_term_names(page, term)) for term in terms_of(command)}


@pytest.fixture
def terms_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terms of each page and their names, listed once instead of anew for each name.

    For tests that look up many names; what the program prints comes from its own lists.
    """
    monkeypatch.setattr(explain, "page_terms", lambda page: [*terms_of(page.command)])
    monkeypatch.setattr(
        explain, "_term_names", lambda page, term: names_of_terms(page.command)[id(term)]
    )


def explanation_of(command: str, name: str, columns: int = 80) -> str:
    done = clfeval(command, "--explain", name, COLUMNS=str(columns))
    assert (done.code, done.err) == (0, ""), (name, done.err)
    return done.out


def first_row_of(table: TextTable) -> TextTable:
    """Return a table with its first row only: to print the others would tell no heading more."""
    columns = tuple(replace(column, cells=column.cells[:1]) for column in table.columns)
    return replace(table, columns=columns, signs=table.signs[:1])


@cache
def headings(file: str) -> frozenset[tuple[str, str]]:
    """Return the headings of every table of what an expected output shows, by their tables."""
    found: set[tuple[str, str]] = set()

    def kept(shown: object, *given: object, **more: object) -> TextTable:
        part: TextTable = layout_table(shown, *given, **more)  # type: ignore[arg-type]
        name = shown.table  # type: ignore[attr-defined]
        found.update((name, column.heading) for column in part.columns)
        return first_row_of(part)

    with mock.patch.object(table_layout, "layout_table", kept), contextlib.chdir(ROOT):
        if file in CALLS:
            terminal_text(CALLS[file].result(), ("all",), width=None, digits=DIGITS)
        else:
            done = run([*SCREENS[file][1].split(), "--quiet", "--show", "all"], b"", {})
            assert done.code == 0
    return frozenset(found)


@pytest.mark.usefixtures("terms_listed_once")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_column_of_every_table_is_explained(command: str) -> None:
    page = page_of(command)
    for table in (*page.tables, *COMMON):
        for column in table.columns:
            found = [one for one in find_terms(page, column.name) if table.name in one.tables]
            assert found, (table.name, column.name)
            assert any(one.meaning or one.measure for one in found), (table.name, column.name)


@pytest.mark.parametrize("command", COMMANDS)
def test_an_entry_is_words_of_its_own_and_belongs_to_something(command: str) -> None:
    page = page_of(command)
    for term in terms_of(command):
        if term.meaning:
            words = term.meaning
            assert len(words.split()) >= FEWEST, term
            assert len(words) <= LONGEST, term
            assert not words.endswith("."), term
            assert "\n" not in words, term
            assert words.casefold() not in (
                term.name,
                heading_on_one_line(term.heading).casefold(),
            ), term
        else:
            assert term.measure is not None, term
    assert {*page.headings.values()} <= {*page.glossary}


@pytest.mark.parametrize("command", ALL_PAGES)
def test_a_glossary_has_words_and_measures_but_no_other_columns(command: str) -> None:
    page = page_of(command)
    column_names = {column.name for table in page.every for column in table.columns}
    assert [word for word in page.glossary if word in column_names - {*CATALOG}] == []


# the first file of those with the same tables and headings
SAME = ("-140.", "-colour.", "-piped.")
TEXTS = [file for file in (*SCREENS, *CALLS) if file.endswith(".txt")]
OWN = ("tune-cost-140.txt", "mlcps-140.txt", "mlcps-piped.txt")


@pytest.mark.usefixtures("terms_listed_once")
@pytest.mark.parametrize(
    "file",
    thinned(TEXTS, [one for one in TEXTS if one in OWN or not any(end in one for end in SAME)]),
)
def test_every_heading_of_every_screen_is_explained(file: str) -> None:
    command = CALLS[file].command if file in CALLS else SCREENS[file][1].partition(" ")[0]
    page = page_of(command)
    for table, heading in headings(file):
        if not DATA.fullmatch(heading):
            found = find_terms(page, heading)
            assert found, (table, heading)
            here = [one for one in found if not one.tables or table in one.tables]
            # a view made of another table may name models and measures that the table does not
            assert here or any(one.measure or one.name in ELSEWHERE for one in found), (
                table,
                heading,
            )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_name_that_show_takes_is_explained(command: str) -> None:
    page = page_of(command)
    for name in {*page.names} - {"all", "measures"}:  # which lists them
        assert name in explanation_of(command, name).splitlines()
    assert {*NAMES_BY_COMMAND[command], *EVERYWHERE} == {*page.names}


def test_words_of_sentences_and_refused_measures_are_told_too() -> None:
    for name in WORDS:
        assert name in explanation_of("report", name).splitlines()
    for name, instead in REFUSED.items():
        done = clfeval("mars", "--explain", name)
        assert (done.code, done.out, instead in done.err) == (2, "", True)
        assert problem_places(done.err) == ["--explain: [refused-measure]"]


@pytest.mark.parametrize("command", COMMANDS)
def test_all_has_every_column_measure_and_code(command: str) -> None:
    text, page = explanation_of(command, "all"), page_of(command)
    flat = " ".join(text.split())
    for table in (*page.tables, *COMMON):
        assert f"table {table.name} " in flat
        for column in table.columns:
            assert re.search(rf"(?<!\w){re.escape(column.name)}(?!\w)", flat), column.name
            # a prevalence that is asked for is not that of the rows
            if column.name in CATALOG and CATALOG[column.name].best != "none":
                assert " ".join(CATALOG[column.name].formula.split()) in flat
    for code, sentence in (ERRORS | WARNINGS | ANSWERS).items():
        assert code in flat
        assert sentence in flat
    assert max(map(len, text.splitlines())) <= 80
    assert explanation_of(command, "ALL") == text


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_lines_are_folded_to_the_screen(columns: int) -> None:
    text = explanation_of("tune-jpt", "lr_pos", columns)
    assert max(map(len, text.splitlines())) <= columns
    assert "sensitivity / (1 - specificity)" in " ".join(text.split())


def test_a_measure_is_told_by_id_alias_or_title_also_where_no_table_has_it() -> None:
    assert (
        explanation_of("tune-jpt", "lr_pos")
        == explanation_of("tune-jpt", "LR+")
        == explanation_of("tune-jpt", "LR+ ↑")
    )
    assert explanation_of("mars", "auc") == explanation_of("mars", "ROC AUC")
    assert "c_statistic, auc, auroc" in explanation_of("mars", "auc")
    assert explanation_of("tune-jpt", "F2 odds") == explanation_of("tune-jpt", "f_odds")
    names = {"tune-jpt": "lr_pos", "mars": "auc", "mlcps": "brier", "phidelta": "φ"}
    check_text(explanation_of(command, name) for command, name in names.items())
    check_text(explanation_of("report", name) for name in ("f1", "net_benefit", "J"))


def test_a_heading_is_asked_for_as_it_stands_on_the_screen() -> None:
    assert (
        explanation_of("phidelta", "δ")
        == explanation_of("phidelta", "δ ↑")
        == explanation_of("phidelta", "delta")
    )
    page = page_of("mars")
    (head,) = {one.heading for one in page_terms(page) if one.name == "exclusive_tp"}
    assert {one.name for one in find_terms(page, head)} == {"exclusive_tp"}
    assert explanation_of("mlcps", "d of a metric called f1") == explanation_of(
        "mlcps", "d of brier"
    )


def test_case_decides_only_where_both_are_there() -> None:
    assert explanation_of("mars", "SHINETHROUGH") == explanation_of("mars", "shine_through")
    assert explanation_of("mlcps", "D").startswith("desirability (D)\n")
    assert explanation_of("mlcps", "d").startswith("d\n")


def test_one_name_may_mean_several_things_each_in_its_tables() -> None:
    text = " ".join(explanation_of("mars", "found").split())
    assert [one for one in find_terms(page_of("mars"), "found") if one.meaning not in text] == []
    check_text([text, explanation_of("mars", "fractional-weights")])


@pytest.mark.parametrize(
    ("command", "table", "column", "words"),
    [
        ("report", "comparisons", "se", "of the difference"),
        ("report", "measures", "se", "of the value"),
        ("phidelta", "measures", "value", "value of the measure"),
        ("phidelta", "isometrics", "value", "on the line"),
        ("recalibrate", "comparisons", "verdict", "significant after adjustment"),
        ("recalibrate", "methods", "verdict", "limits of the gain"),
        ("report", "distribution", "class", "true class"),
        ("report", "measures", "class", "class of the measure"),
        ("history", "comparisons", "measure", "compared"),
    ],
)
def test_no_column_has_the_meaning_of_a_namesake_in_another_table(
    command: str, table: str, column: str, words: str
) -> None:
    page = page_of(command)
    assert words in page.meaning(column, table)
    assert all(words in term.meaning for term in find_terms(page, column) if table in term.tables)


def test_a_meaning_is_that_of_the_table_else_of_the_word_else_of_another_table() -> None:
    first = Table("first", (Column("a", "number", meaning="of first"), Column("f1", "share")))
    second = Table(
        "second",
        (Column("a", "number", "A", meaning="of second", headings=("as",)), Column("b", "text")),
    )
    page = replace(
        page_of("count"),
        tables=(first, second),
        glossary={"b": "a word", "f1": "in words"},
        headings={"F": "f1"},
    )
    assert [page.meaning("a", table) for table in ("first", "second", "")] == [
        "of first",
        "of second",
        "of first",
    ]
    assert [page.meaning(name, "second") for name in ("A", "as", "b")] == [
        "of second",
        "of second",
        "a word",
    ]
    assert {page.meaning(name, "first") for name in ("f1", "F")} == {"in words"}
    assert page.meaning("as", "first") == "of second"
    assert page.meaning("unknown", "first") == ""


def test_what_stands_on_the_page_of_a_history_is_told_too() -> None:
    for column in (one for table in page_of(HISTORY).tables for one in table.columns):
        assert column.name in explanation_of("report", column.name)
    check_text([explanation_of("report", "q"), explanation_of("report", "cause")])
    assert "'since'" in clfeval("report", "--explain", "sinse").err


def test_an_unknown_name_is_refused_with_what_is_close() -> None:
    done = clfeval("mars", "--explain", "shinethrugh")
    assert (done.code, done.out, "'ShineThrough'" in done.err) == (2, "", True)
    unknown = clfeval("mars", "--explain", "qqqqqq")
    assert "clfeval mars --explain all" in unknown.err
    check_text([done.err, unknown.err])


@pytest.mark.usefixtures("terms_listed_once")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_name_that_completion_offers_is_explained(command: str) -> None:
    page = page_of(command)
    names = explainable_names(page)
    assert {"all", "interval", "bad-csv", "lr_pos"} <= {*names}
    assert [name for name in names if name != "all" and not find_terms(page, name)] == []
