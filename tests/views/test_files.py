"""CSV, Markdown, HTML and JUnit keep every name as it is and every number the file promises."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from html.parser import HTMLParser

import polars as pl
import pytest

import clfeval
from clfeval.views.documents import csv_lines, escape_markdown, markdown_lines
from clfeval.views.page import as_html, as_page
from clfeval.views.terminal import as_text
from tests.texts import check_text

NAMES = ["[red]", "<b>x</b>", "a|b", "a,b", 'say "hi"', "two\nlines", "café", "`c`", "_i_ *b*"]


@pytest.fixture(scope="module")
def result() -> clfeval.Result:
    votes = {name: [1, 0, index % 2] for index, name in enumerate(NAMES)}
    return clfeval.mars(pl.DataFrame({"truth": [1, 0, 1], **votes}))


def test_the_terminal_shows_names_as_they_are(result: clfeval.Result) -> None:
    text = as_text(result)
    for name in NAMES:
        assert all(line in text for line in name.split("\n")), name


def test_csv_keeps_four_columns_where_a_cell_is_no_estimate(result: clfeval.Result) -> None:
    cells = (clfeval.Estimate(0.5, 0.25, 0.75), None, 0.125, clfeval.Estimate(None, reason="x"))
    rows = [
        {"model": name, "share": cell, "last": 1} for name, cell in zip("abcd", cells, strict=True)
    ]
    lines = "".join(csv_lines(replace(result, tables={"models": rows}), "models")).splitlines()
    assert lines == [
        "model,share,share_low,share_high,share_reason,last",
        "a,0.5,0.25,0.75,,1",
        "b,,,,,1",
        "c,0.125,,,,1",
        "d,,,,x,1",
    ]


def test_csv_reads_back(result: clfeval.Result) -> None:
    rows = list(csv.DictReader(io.StringIO("".join(csv_lines(result, "models")), newline="")))
    assert [row["model"] for row in rows] == NAMES
    assert float(rows[0]["recall"]) == 1 / 2
    assert rows[0]["recall_reason"] == ""
    # Clopper-Pearson for 1 of 2: low solves 1 - (1 - p)^2 = .025
    assert float(rows[0]["recall_low"]) == pytest.approx(1 - (1 - 0.025) ** 0.5, rel=1e-12)


def test_markdown_escapes_names(result: clfeval.Result) -> None:
    text = "".join(markdown_lines(result))
    assert re.match("<!-- clfeval:mars [0-9a-f]{8} -->\n", text)
    assert "<b>" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    bars = rows[0].replace("\\|", "").count("|")
    assert all(line.replace("\\|", "").count("|") == bars for line in rows[:10])
    assert escape_markdown("a|b\n<i>") == "a\\|b \\<i\\>"


class Cells(HTMLParser):
    """Collects the text of table cells and every tag."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: list[str] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag in ("td", "th"):
            self.inside = True
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.cells[-1] += data


def test_html_shows_names_as_text_and_runs_nothing(result: clfeval.Result) -> None:
    parser = Cells()
    parser.feed(as_page(result))
    assert set(NAMES) <= set(parser.cells)
    assert not {"script", "b", "link", "img", "iframe"} & set(parser.tags)
    assert "http" not in as_html(result)


def test_a_screen_too_narrow_for_a_column_says_which_it_leaves_out(result: clfeval.Result) -> None:
    narrow = as_text(result, width=50)
    check_text([narrow, as_text(result, width=140)])
    assert all(len(line) <= 50 for line in narrow.splitlines())


def test_a_notebook_gets_the_text_in_one_piece(
    result: clfeval.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rich, where it sees a notebook, shows each line by itself and returns nothing."""
    before = str(result)
    assert len(before.splitlines()) > 5
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert str(result) == before


STEERS = "a\x1b[31m\x07\x7f\x9b31m\u202eb\u2028"


@pytest.mark.parametrize("command", ["mars", "phidelta", "tune_jpt"])
def test_no_page_passes_on_what_steers_a_terminal(command: str) -> None:
    rows = {"truth": [1, 0, 1, 0], STEERS: [1, 1, 1, 0], "b\tc": [1, 0, 0, 1]}
    given = {"prevalence": "1:1"} if command == "tune_jpt" else {}
    result = getattr(clfeval, command)(pl.DataFrame(rows), **given)
    markdown = "".join(markdown_lines(result, names=["all"]))
    for text in (as_page(result), as_html(result), markdown, as_text(result, width=None)):
        assert r"\x1b" in text
        assert [c for c in text if not c.isprintable() and c not in "\n\u00a0"] == []
