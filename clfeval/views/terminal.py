"""The terminal view: tables fitted to the screen, and ticks of axes."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from io import StringIO
from itertools import takewhile, zip_longest
from math import ceil, floor, log10
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from clfeval.compare.gates.kinds import gate_sentence
from clfeval.document import Document
from clfeval.formatting import DIGITS, printable
from clfeval.pages.chart import Point
from clfeval.pages.command_pages import page_of
from clfeval.pages.table_words import describe_tables
from clfeval.placeholders import COMMAND, END, OPTION, fill_for_shell
from clfeval.views import table_layout as layout
from clfeval.views.canvas import shorten_names_apart
from clfeval.views.table_layout import TextColumn, TextTable

TICKS = 4  # steps of an axis, about
TENTHS = 5  # the same where its ends are given

Ticks = tuple[list[float], list[str]]


def odds_ticks(limits: Point, names: Sequence[str], room: int) -> Ticks:
    """Return as many powers of ten as have room, or both limits where there are fewer than two."""
    low = ceil(limits[0] - 1e-9)
    high = floor(limits[1] + 1e-9)
    if high - low < 1:
        return list(limits), list(names)
    longest = max(len(_format_power(low)), len(_format_power(high))) + 3
    step = max(1, ceil((high - low + 1) * longest / max(room, 1)))
    powers = [x for x in range(low, high + 1) if x % step == 0]
    return [float(x) for x in powers], [_format_power(x) for x in powers]


def _format_power(x: int) -> str:
    power = f"{10 ** abs(x)}" if abs(x) <= 6 else f"1e{abs(x)}"
    return f"{power}:1" if x > 0 else f"1:{power}"


def height_ticks(low: float, high: float, *, log: bool, steps: int = TICKS) -> Ticks:
    """Return a few round heights and their labels; powers of ten where `log`."""
    if log:
        powers = range(ceil(low), floor(high) + 1)
        ticks = [float(y) for y in powers[:: ceil(len(powers) / TICKS / 2)]]
    else:
        step = 10.0 ** floor(log10((high - low) / steps))
        step *= next(m for m in (1, 2, 2.5, 5, 10) if m * step >= 0.999 * (high - low) / steps)
        ticks = [i * step for i in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]
    return ticks, [f"{round(10**y if log else y, 12):,.10g}" for y in ticks]


TEXT_WIDTH = 14  # a name is folded to no less than this
SPLIT_WIDTH = 10  # the same where rows have two lines anyway
NAME_WIDTH = 20  # a name is cut to no less than this, before a column is left out
PIPE = 160  # columns of a line in a pipe, unless a name needs more
INDENT = "  "  # of what is said below a table
LEGEND_LENGTH = 78  # characters up to which meanings are joined in one line
UNBOUNDED = 10_000  # a width nothing reaches
# after a letter and a sign, not in a number such as 1e-06
_SIGN_IN_WORD = re.compile(r"(?<=[^\W\d_][_:,/=-])(?!(?<=\de-)\d)")
# a formula of a calibrator, with one level of brackets in it and what follows without a space
_FORMULA = re.compile(
    r"(?:p' =|p_k' proportional to) (?:logit⁻¹\((?:[^()]|\([^()]*\))*\)\S*|p_k\^\S+)"
)
_TIE = "\ud805"  # a space within a formula, at which no line is broken; no text has this surrogate
OFFER = f"{OPTION}--show NAME{END}, or all"
SAYS = {  # of a gate, and in which colour
    "met": ("gate met", "green"),
    "missed": ("gate MISSED", "bold red"),
    "undefined": ("gate MISSED", "bold red"),
    "warned": ("warning", "bold yellow"),
    "skipped": ("gate skipped", "yellow"),
}
COMMANDS_AS_TYPED = {"mlcps": "mlcps --from predictions"}  # of a prediction table


def as_text(
    result: Document,
    *,
    width: int | None = None,
    color: bool = False,
    digits: int = DIGITS,
    plots: str = "",
    names: Collection[str] = (),
    offer: str = OFFER,
) -> str:
    """Render the result for a screen of `width` columns; when it is None no name is cut.

    names: additional tables; offer: how to request them.
    """
    out = StringIO()
    page = layout.sort_tables(result, names, digits)
    console = _new_console(out, width or PIPE, color=color)
    _print_answer(console, result)
    for view in page.opened:
        table = layout.layout_table(view, result, digits, wide=page.wide)
        _print_section(out, table, width, color=color)
    _print_lines(console, layout.undefined_reasons(result, page.opened), style="dim")
    if plots:
        out.write(f"\n{plots}")
    notes = layout.visible_notes(result, page.opened)
    _print_lines(console, [f"note: {text}" for text in notes], style="dim")
    _print_gates(console, result)
    beyond = layout.fill_for_caller(result, page_of(result.command).beyond(result))
    more_tables = describe_tables(layout.more_table_names(result, page, names), offer)
    offers = [beyond, fill_for_shell(more_tables)]
    _print_lines(console, list(filter(None, offers)), style="dim")
    for command, document, tables in layout.other_results(result, names):
        text = as_text(
            document,
            width=width,
            color=color,
            digits=digits,
            names=tables,
            offer=_offer_of_command(command, python=result.python),
        )
        out.write(f"\n{text}")
    return _without_trailing_blanks(out.getvalue())


def put_answer_last(
    text: str, result: Document, *, width: int | None, color: bool, height: int
) -> str:
    """Move the answer to the end of a text that is longer than `height` lines."""
    if not result.answer or text.count("\n") < height:  # the prompt has a line
        return text
    out = StringIO()
    _print_sentences(_new_console(out, width or PIPE, color=color), result)
    answer = _without_trailing_blanks(out.getvalue())
    return f"{text.replace(answer, '', 1)}\n{answer}"


def _print_sentences(console: Console, result: Document) -> None:
    _print_lines(console, [sentence.text for sentence in result.answer])


def _without_trailing_blanks(text: str) -> str:
    lines = text.replace(_TIE, " ").splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _print_lines(console: Console, lines: Sequence[str], *, style: str = "") -> None:
    for line in lines:
        text = _safe_text(line, style=style)
        text.plain = _tie_formulas(text.plain, console.width)
        console.print(text)


def _tie_formulas(text: str, width: int) -> str:
    """Return a text whose formulas are one word each, if they fit a line."""

    def tie(formula: re.Match[str]) -> str:
        has_room = cell_len(formula[0]) <= width
        return formula[0].replace(" ", _TIE) if has_room else formula[0]

    return _FORMULA.sub(tie, text)


def _print_answer(console: Console, result: Document) -> None:
    """Print what was evaluated, the sentences of the answer, and further lines of the headline."""
    first, *further = layout.result_headline(result)
    _print_lines(console, [first], style="bold")
    _print_sentences(console, result)
    _print_lines(console, further, style="dim")


def _print_gates(console: Console, result: Document) -> None:
    """Print the gates, missed ones first, each in the colour of its state."""
    gates, left_out = layout.gates_to_show(result)
    for gate in gates:
        words, style = SAYS[gate.state]
        _print_lines(console, [f"{words}: {gate_sentence(gate)}"], style=style)
    if left_out:
        _print_lines(console, [left_out], style="dim")


def _offer_of_command(command: str, *, python: bool) -> str:
    """Return how to request further tables of another command's result."""
    if python:
        return f"result.methods['{command}'].show(NAME)"
    return f"{COMMAND}clfeval {COMMANDS_AS_TYPED.get(command, command)} --show NAME{END}"


def _new_console(out: StringIO, width: int, *, color: bool) -> Console:
    return Console(
        file=out,
        width=width,
        height=100,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
        force_jupyter=False,
    )


def _print_section(out: StringIO, table: TextTable, width: int | None, *, color: bool) -> None:
    console = _new_console(out, width or UNBOUNDED, color=color)
    prose = _new_console(out, width or PIPE, color=color)
    console.print()
    prose.print(_safe_text(table.title, style="bold"))
    if not table.rows:
        console.print(_safe_text("  none"))
        return
    table = fit_table(table, width)
    for number, columns in enumerate(column_blocks(table, width)):
        if number:
            console.print()
        grid = Table(
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            show_edge=False,
            padding=(0, 1, 0, 0),
            show_header=any(column.heading for column in columns),
        )
        widths = _column_widths(table, columns, width)
        for column, column_width in zip(columns, widths, strict=True):
            justify: Literal["left", "right"] = "right" if column.numeric else "left"
            grid.add_column(
                _safe_text(break_words(column.heading, column_width)),
                justify=justify,
                no_wrap=column.numeric or table.main,
                overflow="fold",
                width=column_width,
            )
        cells = zip(*(column.cells for column in columns), strict=True)
        for row, sign in zip_longest(cells, table.signs, fillvalue=""):
            grid.add_row(
                *map(_safe_text, map(break_words, row, widths)),
                style="bold" if sign == layout.BEST else None,
            )
        console.print(grid)
    _print_legend(prose, [*table.legend, table.note])


def _print_legend(prose: Console, lines: Sequence[str]) -> None:
    """Print meanings and a note below a table, indented."""
    room = max(prose.width - len(INDENT), 1)
    for line in join_short_lines(lines, min(room, LEGEND_LENGTH)):
        for piece in _safe_text(line).wrap(prose, room):
            prose.print(_safe_text(INDENT, style="dim").append_text(piece))


def join_short_lines(lines: Sequence[str], width: int) -> list[str]:
    """Return lines without empty ones, neighbours joined by a semicolon where `width` has room."""
    joined = list[str]()
    for line in filter(None, lines):
        longer = f"{joined[-1]}; {line}" if joined else line
        if joined and cell_len(longer) <= width:
            joined[-1] = longer
        else:
            joined.append(line)
    return joined


def break_words(text: str, width: int) -> str:
    """Return a text whose words that are wider than a column go on in a new line after a sign.

    The signs are `_`, `-`, `:`, `,`, `/` and `=`; what has none is left to be folded.
    """
    if cell_len(text) <= width:
        return text
    lines = text.split("\n")
    return "\n".join(
        " ".join(_break_word(word, width) for word in line.split(" ")) for line in lines
    )


def _break_word(word: str, width: int) -> str:
    lines = [""]
    for piece in _SIGN_IN_WORD.split(word) if cell_len(word) > width else [word]:
        if lines[-1] and cell_len(lines[-1] + piece) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)


def _safe_text(text: str, style: str = "") -> Text:
    """Return text without markup and control characters; line breaks are kept."""
    return Text("\n".join(map(printable, text.split("\n"))), style=style)


def fit_table(table: TextTable, width: int | None) -> TextTable:
    """Return a table that fits; one of details has intervals next to or under their values."""
    columns = (
        replace(column, cells=tuple(map(printable, column.cells))) for column in table.columns
    )
    table = replace(table, columns=tuple(columns))
    if table.main:
        lines = _in_lines(table, width)
        if width is None or _needed_width(lines.columns) <= width:
            return lines
        table = replace(table, main=False)  # numbers are never cut: then a row has more lines
    if _needed_width(table.columns) <= (width or PIPE):
        return table
    stacked = _stack_intervals(table)
    return _break_text(stacked) if len(stacked.columns) < len(table.columns) else table


def _in_lines(table: TextTable, width: int | None) -> TextTable:
    """Return a table with one line per row: last columns left out, then names shortened."""
    columns = list(table.columns)
    omitted = []
    names = _max_cell_width((columns[0].heading, *columns[0].cells))
    saved = max(names - NAME_WIDTH, 0)  # only names are cut
    while len(columns) > table.fixed_columns and _needed_width(columns) - saved > (width or PIPE):
        omitted.append(columns.pop().heading.replace("\n", " "))
    note = table.note
    if omitted:
        note += f"{'; ' * bool(note)}wider screens also show: {', '.join(omitted[::-1])}"
    excess = 0 if width is None else _needed_width(columns) - width
    if excess > 0:
        room = max(names - excess, min(names, SPLIT_WIDTH))
        cut = shorten_names_apart(columns[0].cells, room)
        columns[0] = replace(columns[0], cells=tuple(cut[name] for name in columns[0].cells))
    return replace(table, columns=tuple(columns), note=note)


def column_blocks(table: TextTable, width: int | None) -> list[tuple[TextColumn, ...]]:
    """Return a table that is still too wide in blocks of columns, each with the names in front."""
    columns = table.columns
    width = width or PIPE
    if table.main or _needed_width(columns, folded=TEXT_WIDTH) <= width or len(columns) < 3:
        return [columns]
    blocks: list[tuple[TextColumn, ...]] = []
    keys = tuple(takewhile(lambda column: column.cut or not column.numeric, columns)) or columns[:1]
    block = keys
    for column in columns[len(keys) :]:
        if len(block) > len(keys) and _needed_width((*block, column), folded=TEXT_WIDTH) > width:
            blocks.append(block)
            block = keys
        block = (*block, column)
    is_lone_column = len(block) == len(keys) + 1
    if blocks and is_lone_column and len(blocks[-1]) > len(keys) + 2:
        block = (*keys, blocks[-1][-1], block[-1])
        blocks[-1] = blocks[-1][:-1]
    return [*blocks, block]


def _needed_width(columns: Sequence[TextColumn], *, folded: int = UNBOUNDED) -> int:
    """Return the width of columns on a screen, text being folded or cut; numbers never are."""
    return sum(2 + _min_column_width(column, folded) for column in columns) - 2


def _column_widths(table: TextTable, columns: Sequence[TextColumn], width: int | None) -> list[int]:
    """Return the widths of columns: folded text shares what the others leave, whole words first."""
    full = [_min_column_width(column, UNBOUNDED) for column in columns]
    if width is None or table.main:
        return full
    widths = [_min_column_width(column, TEXT_WIDTH) for column in columns]
    room = width - _needed_width(columns, folded=TEXT_WIDTH)
    texts = [i for i, column in enumerate(columns) if not column.numeric]
    longest_words = [_max_cell_width([*" ".join(column.cells).split(), ""]) for column in columns]
    for most in (longest_words, full):
        while room > 0 and (growing := [i for i in texts if widths[i] < most[i]]):
            widths[min(growing, key=lambda i: widths[i])] += 1
            room -= 1
    while room < 0 and (shrinking := [i for i in texts if widths[i] > 1]):
        widths[max(shrinking, key=lambda i: widths[i])] -= 1
        room += 1
    return widths


def _min_column_width(column: TextColumn, folded: int) -> int:
    """Return the least width of a column: text folded to `folded`, the heading to its words."""
    full = _max_cell_width((column.heading, *column.cells))
    longest_word = _max_cell_width([*column.heading.split(), ""])
    return full if column.numeric else min(full, max(folded, longest_word))


def _max_cell_width(cells: Sequence[str]) -> int:
    return max(cell_len(line) for cell in cells for line in cell.split("\n"))


def _break_text(table: TextTable) -> TextTable:
    """Return a table with long text broken near its middle, as rows have two lines."""
    if not any("\n" in column.heading for column in table.columns):
        return table

    def halve(text: str) -> str:
        spaces = [i for i, character in enumerate(text) if character == " "]
        if cell_len(text) <= SPLIT_WIDTH or not spaces or "\n" in text:
            return text
        middle = min(spaces, key=lambda i: abs(2 * i - len(text)))
        return f"{text[:middle]}\n{text[middle + 1 :]}"

    columns = (
        column if column.numeric else replace(column, cells=tuple(map(halve, column.cells)))
        for column in table.columns
    )
    return replace(table, columns=tuple(columns))


def _stack_intervals(table: TextTable) -> TextTable:
    """Return a table with each interval under its value instead of next to it."""
    columns: list[TextColumn] = []
    for column in table.columns:
        if columns and column.heading.endswith(layout.INTERVAL):
            values = columns.pop()
            pairs = zip(
                (values.heading, *values.cells), (column.heading, *column.cells), strict=True
            )
            heading, *cells = ("\n".join(pair) for pair in pairs)
            column = replace(values, heading=heading, cells=tuple(cells))
        columns.append(column)
    return replace(table, columns=tuple(columns))
