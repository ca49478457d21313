"""What every page must keep to, whatever its command."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from clfeval.api.result import Result
from clfeval.pages.schema import ALL
from clfeval.views.plots import draw_plots
from clfeval.views.table_layout import TextTable, layout_table, sort_tables
from clfeval.views.terminal import as_text


def same_without_colour(result: Result) -> None:
    """Check that colour changes nothing but the codes of colour, and steers nothing else."""
    plain, colored = (
        as_text(result, width=80, color=c, plots=draw_plots(result, width=80, color=c))
        for c in (False, True)
    )
    assert "\x1b" not in plain
    assert "\x07" not in colored
    without = re.sub(r"\x1b\[[\d;]*m", "", colored)
    assert [line.rstrip() for line in without.splitlines()] == plain.splitlines()


class _Texts(HTMLParser):
    """Collects the texts of a page; what is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.found.add(data)


def texts_of(page: str) -> set[str]:
    parser = _Texts()
    parser.feed(page)
    return parser.found


def named_sections(result: Result) -> list[tuple[str, TextTable]]:
    """Return all tables of a page with the names they are asked for by."""
    page = sort_tables(result, (ALL,))
    return [
        (one.name or one.table, layout_table(one, result, wide=page.wide)) for one in page.opened
    ]


def sections(result: Result) -> list[TextTable]:
    return [part for _, part in named_sections(result)]


def section_of(result: Result, name: str, number: int = 0) -> TextTable:
    """Return the first table of a name, or a later one."""
    return [part for found, part in named_sections(result) if found == name][number]


def column(part: TextTable, number: int) -> list[str]:
    return [row[number] for row in part.rows]


def layout(part: TextTable) -> str:
    """Return the words of a table: title, heads of columns, note and legend."""
    heads = " | ".join(head.replace("\n", " ") for head in part.headings)
    return "\n".join(filter(None, [part.title, heads, part.note, *part.legend]))
