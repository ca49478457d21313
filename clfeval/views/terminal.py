"""The terminal view: rich tables that fit the screen, or whole lines when nobody is watching."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from itertools import takewhile

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from clfeval.pages.write import DIGITS, plain
from clfeval.result import Result
from clfeval.views.render import INTERVAL, Section, gate_lines, headline, reasons, sections

LINES = box.SIMPLE_HEAD
TEXT_WIDTH = 14  # a name is folded to no less than this
SPLIT_WIDTH = 10  # the same where rows have two lines anyway
UNBOUNDED = 10_000  # a width nothing reaches: piped tables are never cut


INTERVALS = "intervals: a wider screen, or --format json"


def as_text(
    result: Result, *, width: int | None = None, color: bool = False, digits: int = DIGITS,
    plots: str = "",
) -> str:  # fmt: skip
    """Render the result for a screen of `width` columns, or uncut when width is None."""
    out = StringIO()
    console = Console(
        file=out, width=width or UNBOUNDED, height=100, force_terminal=color,
        color_system="standard" if color else None, no_color=not color, highlight=False,
        emoji=False, markup=False, legacy_windows=False,
    )  # fmt: skip
    first, *others = headline(result)
    console.print(_text(first, style="bold"))
    for line in others:
        console.print(_text(line))
    for part in sections(result, digits=digits):
        _print_section(console, part, width)
    for reason in reasons(result):
        console.print(_text(reason, style="dim"))
    if plots:
        console.print()
        out.write(plots)
    for warning in result.warnings:
        console.print(_text(f"note: {warning.message}", style="dim"))
    gates, left_out = gate_lines(result)
    for gate in gates:
        text = f"gate {'met' if gate.passed else 'MISSED'}: {gate}"
        console.print(_text(text, style="green" if gate.passed else "bold red"))
    if left_out:
        console.print(_text(left_out, style="dim"))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _print_section(console: Console, part: Section, width: int | None) -> None:
    console.print()
    console.print(_text(part.title, style="bold"))
    if not part.rows:
        console.print(_text("  none"))
        return
    part = fitted(part, width)
    for number, block in enumerate(blocks(part, width)):
        if number:
            console.print()
        _print_table(console, block)
    if part.note:
        console.print(_text(f"  {part.note}", style="dim"))


def _text(text: str, style: str = "") -> Text:
    """Return text without markup and without what could steer the terminal; lines stay lines."""
    return Text("\n".join(map(plain, text.split("\n"))), style=style)


def _print_table(console: Console, part: Section) -> None:
    headings, rows, numeric = part.headings, part.rows, part.numeric
    table = Table(box=LINES, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for index, (title, right) in enumerate(zip(headings, numeric, strict=True)):
        longest = max(cell_len(line) for row in rows for line in row[index].split("\n"))
        table.add_column(
            _text(title), justify="right" if right else "left", no_wrap=right, overflow="fold",
            min_width=None if right else min(TEXT_WIDTH, longest),
        )  # fmt: skip
    for row in rows:
        table.add_row(*(_text(cell) for cell in row))
    console.print(table)


def fitted(part: Section, width: int | None) -> Section:
    """Make a table fit: intervals beside their values, else under them, else left out.

    A table that may be split keeps its intervals, and may still be too wide.
    """
    if width is None or _needed(part) <= width:
        return part
    stacked = _stacked(part)
    if part.split:
        return _halved(stacked) if len(stacked.headings) < len(part.headings) else part
    for tried in (stacked, _halved(stacked)):
        if _needed(tried) <= width:
            return tried
    keep = [i for i, title in enumerate(part.headings) if not title.endswith(INTERVAL)]
    note = part.note
    if len(keep) < len(part.headings):
        note = f"{note}; {INTERVALS}" if note else INTERVALS
    bare = replace(_some(part, keep), note=note)
    if _needed(bare) <= width:
        return bare
    return replace(bare, headings=tuple(title.replace(" ", "\n") for title in bare.headings))


def blocks(part: Section, width: int | None) -> list[Section]:
    """Split a table that is still too wide into blocks of columns, each with the names in front."""
    if width is None or _needed(part, folded=True) <= width or len(part.headings) < 3:
        return [part]
    out: list[Section] = []
    keys = list(takewhile(lambda i: not part.numeric[i], range(len(part.headings)))) or [0]
    columns = keys
    for i in range(len(keys), len(part.headings)):
        if len(columns) > len(keys) and _needed(_some(part, [*columns, i]), folded=True) > width:
            out.append(_some(part, columns))
            columns = keys
        columns = [*columns, i]
    return [*out, _some(part, columns)]


def _some(part: Section, columns: list[int]) -> Section:
    """Return a table of some of the columns."""
    headings, *rows = (tuple(row[i] for i in columns) for row in (part.headings, *part.rows))
    numeric = tuple(part.numeric[i] for i in columns)
    return replace(part, headings=headings, rows=tuple(rows), numeric=numeric)


def _needed(part: Section, *, folded: bool = False) -> int:
    lines = [cell.split("\n") for line in (part.headings, *part.rows) for cell in line]
    wide = [max(map(cell_len, cell)) for cell in lines]
    columns = len(part.headings)
    # text is folded where it must be; numbers never are
    most = [None if right else TEXT_WIDTH for right in part.numeric]
    fits = [max(wide[i::columns]) for i in range(columns)]
    if folded:
        fits = [min(w, m) if m else w for w, m in zip(fits, most, strict=True)]
    return sum(2 + w for w in fits) - 2


def _halved(part: Section) -> Section:
    """Break long text near its middle: where intervals stand under values, rows have two lines."""
    if part.headings and not any("\n" in title for title in part.headings):
        return part

    most = SPLIT_WIDTH if part.split else TEXT_WIDTH

    def halve(text: str) -> str:
        spaces = [i for i, character in enumerate(text) if character == " "]
        if cell_len(text) <= most or not spaces or "\n" in text:
            return text
        middle = min(spaces, key=lambda i: abs(2 * i - len(text)))
        return f"{text[:middle]}\n{text[middle + 1 :]}"

    rows = tuple(
        tuple(cell if right else halve(cell) for cell, right in zip(row, part.numeric, strict=True))
        for row in part.rows
    )
    return replace(part, rows=rows)


def _stacked(part: Section) -> Section:
    """Put each interval under its value instead of beside it."""
    keep = [i for i, title in enumerate(part.headings) if not title.endswith(INTERVAL)]
    under = {i: i + 1 for i in keep if i + 1 < len(part.headings) and i + 1 not in keep}

    def stack(line: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"{line[i]}\n{line[under[i]]}" if i in under else line[i] for i in keep)

    rows = tuple(stack(row) for row in part.rows)
    numeric = tuple(part.numeric[i] for i in keep)
    return replace(part, headings=stack(part.headings), rows=rows, numeric=numeric)
