"""The terminal view: rich tables that fit the screen, or whole lines when nobody is watching."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from itertools import takewhile
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from clfeval.pages.write import DIGITS, plain
from clfeval.result import Result
from clfeval.views.render import INTERVAL, Section, Strip, gate_lines, headline, reasons, sections

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
        emoji=False, markup=False, legacy_windows=False, force_jupyter=False,
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
    for number, strips in enumerate(blocks(part, width)):
        if number:
            console.print()
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
        for strip in strips:
            justify: Literal["left", "right"] = "right" if strip.numeric else "left"
            least = None if strip.numeric else min(TEXT_WIDTH, _width(strip.cells))
            table.add_column(
                _text(strip.heading), justify=justify, no_wrap=strip.numeric, overflow="fold",
                min_width=least,
            )  # fmt: skip
        for row in zip(*(strip.cells for strip in strips), strict=True):
            table.add_row(*map(_text, row))
        console.print(table)
    if part.note:
        console.print(_text(f"  {part.note}", style="dim"))


def _text(text: str, style: str = "") -> Text:
    """Return text without markup and without what could steer the terminal; lines stay lines."""
    return Text("\n".join(map(plain, text.split("\n"))), style=style)


def fitted(part: Section, width: int | None) -> Section:
    """Make a table fit: intervals beside their values, else under them, else left out.

    A table that may be split keeps its intervals, and may still be too wide.
    """
    if width is None or _needed(part.strips) <= width:
        return part
    stacked = _stacked(part)
    if part.split:
        return _halved(stacked) if len(stacked.strips) < len(part.strips) else part
    for tried in (stacked, _halved(stacked)):
        if _needed(tried.strips) <= width:
            return tried
    bare = tuple(strip for strip in part.strips if not strip.heading.endswith(INTERVAL))
    note = part.note
    if len(bare) < len(part.strips):
        note = f"{note}; {INTERVALS}" if note else INTERVALS
    if _needed(bare) > width:
        bare = tuple(replace(strip, heading=strip.heading.replace(" ", "\n")) for strip in bare)
    return replace(part, strips=bare, note=note)


def blocks(part: Section, width: int | None) -> list[tuple[Strip, ...]]:
    """Split a table that is still too wide into blocks of columns, each with the names in front."""
    strips = part.strips
    if width is None or _needed(strips, folded=True) <= width or len(strips) < 3:
        return [strips]
    out: list[tuple[Strip, ...]] = []
    keys = tuple(takewhile(lambda strip: not strip.numeric, strips)) or strips[:1]
    here = keys
    for strip in strips[len(keys) :]:
        if len(here) > len(keys) and _needed((*here, strip), folded=True) > width:
            out.append(here)
            here = keys
        here = (*here, strip)
    return [*out, here]


def _needed(strips: Sequence[Strip], *, folded: bool = False) -> int:
    """Return the columns they need on a screen; text is folded where it must be, numbers never."""
    wide = [
        min(_width((strip.heading, *strip.cells)),
            TEXT_WIDTH if folded and not strip.numeric else UNBOUNDED)
        for strip in strips
    ]  # fmt: skip
    return sum(2 + one for one in wide) - 2


def _width(cells: Sequence[str]) -> int:
    return max(cell_len(line) for cell in cells for line in cell.split("\n"))


def _halved(part: Section) -> Section:
    """Break long text near its middle: where intervals stand under values, rows have two lines."""
    if not any("\n" in strip.heading for strip in part.strips):
        return part

    def halve(text: str) -> str:
        spaces = [i for i, character in enumerate(text) if character == " "]
        most = SPLIT_WIDTH if part.split else TEXT_WIDTH
        if cell_len(text) <= most or not spaces or "\n" in text:
            return text
        middle = min(spaces, key=lambda i: abs(2 * i - len(text)))
        return f"{text[:middle]}\n{text[middle + 1 :]}"

    strips = (s if s.numeric else replace(s, cells=tuple(map(halve, s.cells))) for s in part.strips)
    return replace(part, strips=tuple(strips))


def _stacked(part: Section) -> Section:
    """Put each interval under its value instead of beside it."""
    strips: list[Strip] = []
    for strip in part.strips:
        if strips and strip.heading.endswith(INTERVAL):
            over = strips.pop()
            pairs = zip((over.heading, *over.cells), (strip.heading, *strip.cells), strict=True)
            heading, *cells = ("\n".join(pair) for pair in pairs)
            strip = replace(over, heading=heading, cells=tuple(cells))
        strips.append(strip)
    return replace(part, strips=tuple(strips))
