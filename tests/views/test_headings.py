"""Headings: not cut inside a word, terms of papers after common names, further tables in words."""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from rich.cells import cell_len

from clfeval.document import Document
from clfeval.pages.pictures import pictures_of
from clfeval.pages.schema import ALL
from clfeval.pages.table_words import LENGTH, TABLE_WORDS, describe_tables
from clfeval.views import terminal
from clfeval.views.table_layout import layout_table, more_table_names, sort_tables
from tests.process.runner import run

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
SCORES = "FIXTURES/breast-cancer/scores.csv --positive malignant"
TWO = "--model svm --model naive_bayes"
LABELS = "FIXTURES/breast-cancer/labels.csv --positive malignant"
METRICS = "FIXTURES/metrics/test.csv"
COMMANDS = (
    f"report {SCORES}",
    f"report {LABELS}",
    f"report {SCORES} {TWO} --reference svm --prevalence 0.01 --best-threshold sens>=.9",
    f"report {SCORES} {TWO} --baseline {SCORES.split()[0]}",
    "report FIXTURES/digits/probabilities.csv --reference forest",
    f"mars {SCORES}",
    f"mars {LABELS} --subsets 2 --best 3 --max-effort 100 --reference svm",
    f"phidelta {SCORES} --curve --prevalence 1:100 --reference svm",
    f"phidelta {SCORES} --features --cut best",
    "phidelta FIXTURES/armano/runs.csv --run run",
    f"tune-jpt {SCORES} {TWO} --prevalence 0.01 --measure epa --measure tor",
    f"tune-jpt {LABELS} {TWO} --prevalence 0.001..0.02",
    f"mlcps {METRICS}",
    f"mlcps {SCORES} --from predictions --reference svm",
    f"count {SCORES}",
    "history FIXTURES/history/weeks.jsonl",
)
PAPER_TERMS = re.compile(r"\b(?:TAR|TOR|EPA|MARS|ShineThrough|Occlusion)\b|φ-δ")


@cache
def result_of(command: str) -> Document:
    words = command.replace("FIXTURES", str(FIXTURES)).split()
    done = run([*words, "--format", "json"], b"", {})
    assert done.code == 0, done.err
    return Document.from_json(done.out)


def pieces(heading: str) -> list[str]:
    """Return what may not be cut: the parts of a heading between blanks and signs."""
    return [piece for piece in re.split(r"\s+|(?<=[_:,/=-])", heading) if piece]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_heading_is_cut_inside_a_word(command: str) -> None:
    result = result_of(command)
    page = sort_tables(result)
    views = (*page.opened, *page.folded)
    cut = []
    for view, wide in product(views, (False, True)):
        laid_out = layout_table(view, result, wide=wide)
        for width in (60, 80, 100, 140):
            table = terminal.fit_table(laid_out, width)
            for columns in terminal.column_blocks(table, width):
                widths = terminal._column_widths(table, columns, width)
                for column, room in zip(columns, widths, strict=True):
                    lines = terminal.break_words(column.heading, room).split("\n")
                    words = " ".join(lines).split()
                    cut += [
                        (width, view.title, column.heading, room)
                        for word in words
                        if cell_len(word) > room and word not in pieces(column.heading)
                    ]
                    cut += [
                        (width, view.title, column.heading, room)
                        for piece in pieces(column.heading)
                        if cell_len(piece) > room
                    ]
    assert cut == []


@pytest.mark.parametrize(
    ("text", "width", "broken"),
    [
        ("balanced_accuracy", 16, "balanced_\naccuracy"),
        ("calibration_slope of svm", 15, "calibration_\nslope of svm"),
        ("positives:negatives", 13, "positives:\nnegatives"),
        ("sensitivity", 5, "sensitivity"),  # no sign: it is folded
        ("a_b_c_d", 4, "a_b_\nc_d"),
        ("short_name", 10, "short_name"),
        ("0.18,0.8:1", 4, "0.18,0.8:1"),  # numbers are not broken
        ("(1e-06)", 5, "(1e-06)"),
        ("positives:\nnegatives", 12, "positives:\nnegatives"),  # lines are long by themselves
        ("a_b_c_d\na_b", 4, "a_b_\nc_d\na_b"),
    ],
)
def test_long_words_go_on_after_a_sign(text: str, width: int, broken: str) -> None:
    assert terminal.break_words(text, width) == broken


@pytest.mark.parametrize("command", COMMANDS)
def test_terms_of_papers_stand_after_a_common_name(command: str) -> None:
    result = result_of(command)
    page = sort_tables(result)
    titles = [view.title for view in (*page.opened, *page.folded)]
    titles += [chart.title for charts in pictures_of(result).values() for chart in charts]
    titles.append(terminal.as_text(result).split("\n", 1)[0])
    bare = [title for title in titles if PAPER_TERMS.search(re.sub(r"\([^()]*\)", "", title))]
    assert bare == []


@pytest.mark.parametrize("command", COMMANDS)
def test_further_tables_are_described_on_at_most_two_lines(command: str) -> None:
    result = result_of(command)
    names = more_table_names(result, sort_tables(result), ())
    assert {*names} <= {*TABLE_WORDS}
    lines = terminal.as_text(result, width=80).splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("more tables ")]
    assert len(starts) == bool(names)
    for start in starts:
        assert len(lines[start:]) == 1
        assert names[0] in lines[start]
    assert more_table_names(result, sort_tables(result, (ALL,)), (ALL,)) == []


def test_names_without_room_are_counted() -> None:
    names = [*TABLE_WORDS]
    text = describe_tables(names, "--show NAME, or all")
    assert len(text) <= LENGTH
    listed = text.partition(": ")[2].split("), ")
    assert listed[-1] == f"{len(names) - len(listed) + 1} others"
    assert describe_tables([], "") == ""
    assert (
        describe_tables(["pairs"], "--show NAME") == "more tables (--show NAME): pairs (of models)"
    )
