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
    """Return as many powers of ten as have room, or both limits where there are fewer than two.

    limits: logarithms to the base 10. names: of both limits. room: characters for all labels.
    """
    min_power = ceil(limits[0] - 1e-9)
    max_power = floor(limits[1] + 1e-9)
    if max_power - min_power < 1:
        return list(limits), list(names)
    label_width = max(len(_format_power(min_power)), len(_format_power(max_power))) + 3
    step = max(1, ceil((max_power - min_power + 1) * label_width / max(room, 1)))
    powers = [power for power in range(min_power, max_power + 1) if power % step == 0]
    return [float(power) for power in powers], [_format_power(power) for power in powers]


def _format_power(exponent: int) -> str:
    power_text = f"{10 ** abs(exponent)}" if abs(exponent) <= 6 else f"1e{abs(exponent)}"
    return f"{power_text}:1" if exponent > 0 else f"1:{power_text}"


def height_ticks(low: float, high: float, *, log: bool, steps: int = TICKS) -> Ticks:
    """Return a few round heights and their labels; log: these are decimal logarithms."""
    if log:
        exponents = range(ceil(low), floor(high) + 1)
        ticks = [float(y) for y in exponents[:: ceil(len(exponents) / TICKS / 2)]]
    else:
        step = 10.0 ** floor(log10((high - low) / steps))
        step *= next(
            multiple
            for multiple in (1, 2, 2.5, 5, 10)
            if multiple * step >= 0.999 * (high - low) / steps
        )
        ticks = [i * step for i in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]
    return ticks, [f"{round(10**y if log else y, 12):,.10g}" for y in ticks]


TEXT_WIDTH = 14  # a name is folded to no less than this
SPLIT_WIDTH = 10  # the same where rows have two lines anyway
NAME_WIDTH = 20  # a name is cut to no less than this, before a column is left out
PIPE_WIDTH = 160  # columns of a line in a pipe, unless a name needs more
INDENT = "  "  # of what is said below a table
LEGEND_LENGTH = 78  # characters up to which meanings are joined in one line
UNBOUNDED_WIDTH = 10_000  # a width nothing reaches
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
    page_tables = layout.sort_tables(result, names, digits)
    console = _new_console(out, width or PIPE_WIDTH, color=color)
    _print_answer(console, result)
    for view in page_tables.opened:
        table = layout.layout_table(view, result, digits, wide=page_tables.wide)
        _print_section(out, table, width, color=color)
    _print_lines(console, layout.undefined_reasons(result, page_tables.opened), style="dim")
    if plots:
        out.write(f"\n{plots}")
    note_texts = layout.visible_notes(result, page_tables.opened)
    _print_lines(console, [f"note: {text}" for text in note_texts], style="dim")
    _print_gates(console, result)
    further_options = layout.fill_for_caller(result, page_of(result.command).beyond(result))
    more_tables = describe_tables(layout.more_table_names(result, page_tables, names), offer)
    closing_lines = [further_options, fill_for_shell(more_tables)]
    _print_lines(console, list(filter(None, closing_lines)), style="dim")
    for command, document, table_names in layout.other_results(result, names):
        text = as_text(
            document,
            width=width,
            color=color,
            digits=digits,
            names=table_names,
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
    _print_sentences(_new_console(out, width or PIPE_WIDTH, color=color), result)
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

    def tie_words(formula: re.Match[str]) -> str:
        has_room = cell_len(formula[0]) <= width
        return formula[0].replace(" ", _TIE) if has_room else formula[0]

    return _FORMULA.sub(tie_words, text)


def _print_answer(console: Console, result: Document) -> None:
    """Print what was evaluated, the sentences of the answer, and further lines of the headline."""
    title, *other_lines = layout.result_headline(result)
    _print_lines(console, [title], style="bold")
    _print_sentences(console, result)
    _print_lines(console, other_lines, style="dim")


def _print_gates(console: Console, result: Document) -> None:
    """Print the gates, missed ones first, each in the colour of its state."""
    gates, omission_note = layout.gates_to_show(result)
    for gate in gates:
        state_text, style = SAYS[gate.state]
        _print_lines(console, [f"{state_text}: {gate_sentence(gate)}"], style=style)
    if omission_note:
        _print_lines(console, [omission_note], style="dim")


def _offer_of_command(command: str, *, python: bool) -> str:
    """Return how to request further tables of another command's result."""
    if python:
        return f"result.methods['{command}'].show(NAME)"
    return f"{COMMAND}clfeval {COMMANDS_AS_TYPED.get(command, command)} --show NAME{END}"


def _new_console(out: StringIO, width: int, *, color: bool) -> Console:
    """Return a console that writes plain or coloured text into `out`."""
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
    """Print a table with its title, in blocks if it is too wide, and its legend."""
    table_console = _new_console(out, width or UNBOUNDED_WIDTH, color=color)
    prose_console = _new_console(out, width or PIPE_WIDTH, color=color)
    table_console.print()
    prose_console.print(_safe_text(table.title, style="bold"))
    if not table.rows:
        table_console.print(_safe_text("  none"))
        return
    table = fit_table(table, width)
    for block_index, columns in enumerate(column_blocks(table, width)):
        if block_index:
            table_console.print()
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
        rows = zip(*(column.cells for column in columns), strict=True)
        for row, sign in zip_longest(rows, table.signs, fillvalue=""):
            grid.add_row(
                *map(_safe_text, map(break_words, row, widths)),
                style="bold" if sign == layout.BEST else None,
            )
        table_console.print(grid)
    _print_legend(prose_console, [*table.legend, table.note])


def _print_legend(prose: Console, lines: Sequence[str]) -> None:
    """Print meanings and a note below a table, indented."""
    room = max(prose.width - len(INDENT), 1)
    for line in join_short_lines(lines, min(room, LEGEND_LENGTH)):
        for wrapped_line in _safe_text(line).wrap(prose, room):
            prose.print(_safe_text(INDENT, style="dim").append_text(wrapped_line))


def join_short_lines(lines: Sequence[str], width: int) -> list[str]:
    """Return lines without empty ones, neighbours joined by a semicolon where `width` has room."""
    joined_lines = list[str]()
    for line in filter(None, lines):
        candidate = f"{joined_lines[-1]}; {line}" if joined_lines else line
        if joined_lines and cell_len(candidate) <= width:
            joined_lines[-1] = candidate
        else:
            joined_lines.append(line)
    return joined_lines


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
    printable_columns = (
        replace(column, cells=tuple(map(printable, column.cells))) for column in table.columns
    )
    table = replace(table, columns=tuple(printable_columns))
    if table.main:
        one_line_table = _in_lines(table, width)
        if width is None or _needed_width(one_line_table.columns) <= width:
            return one_line_table
        table = replace(table, main=False)  # numbers are never cut: then a row has more lines
    if _needed_width(table.columns) <= (width or PIPE_WIDTH):
        return table
    stacked_table = _stack_intervals(table)
    return _break_text(stacked_table) if len(stacked_table.columns) < len(table.columns) else table


def _in_lines(table: TextTable, width: int | None) -> TextTable:
    """Return a table with one line per row: the last columns omitted, then names shortened."""
    columns = list(table.columns)
    omitted_headings = []
    names_width = _max_cell_width((columns[0].heading, *columns[0].cells))
    max_saving = max(names_width - NAME_WIDTH, 0)  # only names are cut
    while len(columns) > table.fixed_columns and _needed_width(columns) - max_saving > (
        width or PIPE_WIDTH
    ):
        omitted_headings.append(columns.pop().heading.replace("\n", " "))
    note = table.note
    if omitted_headings:
        separator = "; " if note else ""
        note += f"{separator}wider screens also show: {', '.join(omitted_headings[::-1])}"
    excess_width = 0 if width is None else _needed_width(columns) - width
    if excess_width > 0:
        name_width = max(names_width - excess_width, min(names_width, SPLIT_WIDTH))
        cut_names = shorten_names_apart(columns[0].cells, name_width)
        columns[0] = replace(columns[0], cells=tuple(cut_names[name] for name in columns[0].cells))
    return replace(table, columns=tuple(columns), note=note)


def column_blocks(table: TextTable, width: int | None) -> list[tuple[TextColumn, ...]]:
    """Return a table that is still too wide in blocks of columns, each with the names in front."""
    columns = table.columns
    width = width or PIPE_WIDTH
    if table.main or _needed_width(columns, text_width=TEXT_WIDTH) <= width or len(columns) < 3:
        return [columns]
    blocks: list[tuple[TextColumn, ...]] = []
    key_columns = (
        tuple(takewhile(lambda column: column.cut or not column.numeric, columns)) or columns[:1]
    )
    block = key_columns
    for column in columns[len(key_columns) :]:
        if (
            len(block) > len(key_columns)
            and _needed_width((*block, column), text_width=TEXT_WIDTH) > width
        ):
            blocks.append(block)
            block = key_columns
        block = (*block, column)
    is_lone_column = len(block) == len(key_columns) + 1
    if blocks and is_lone_column and len(blocks[-1]) > len(key_columns) + 2:
        block = (*key_columns, blocks[-1][-1], block[-1])
        blocks[-1] = blocks[-1][:-1]
    return [*blocks, block]


def _needed_width(columns: Sequence[TextColumn], *, text_width: int = UNBOUNDED_WIDTH) -> int:
    """Return the width of columns on a screen, with text folded to `text_width`, numbers never."""
    return sum(2 + _min_column_width(column, text_width) for column in columns) - 2


def _column_widths(table: TextTable, columns: Sequence[TextColumn], width: int | None) -> list[int]:
    """Return the widths of columns: folded text shares what the others leave, whole words first."""
    full_widths = [_min_column_width(column, UNBOUNDED_WIDTH) for column in columns]
    if width is None or table.main:
        return full_widths
    widths = [_min_column_width(column, TEXT_WIDTH) for column in columns]
    room = width - _needed_width(columns, text_width=TEXT_WIDTH)
    text_indices = [i for i, column in enumerate(columns) if not column.numeric]
    longest_words = [_max_cell_width([*" ".join(column.cells).split(), ""]) for column in columns]
    for max_widths in (longest_words, full_widths):
        while room > 0 and (
            growing_indices := [i for i in text_indices if widths[i] < max_widths[i]]
        ):
            widths[min(growing_indices, key=lambda i: widths[i])] += 1
            room -= 1
    while room < 0 and (shrinking_indices := [i for i in text_indices if widths[i] > 1]):
        widths[max(shrinking_indices, key=lambda i: widths[i])] -= 1
        room += 1
    return widths


def _min_column_width(column: TextColumn, text_width: int) -> int:
    """Return the least width of a column: text folded to `text_width`, the heading to its words."""
    full_width = _max_cell_width((column.heading, *column.cells))
    longest_word = _max_cell_width([*column.heading.split(), ""])
    return full_width if column.numeric else min(full_width, max(text_width, longest_word))


def _max_cell_width(cells: Sequence[str]) -> int:
    return max(cell_len(line) for cell in cells for line in cell.split("\n"))


def _break_text(table: TextTable) -> TextTable:
    """Return a table with long text broken near its middle, as rows have two lines."""
    if not any("\n" in column.heading for column in table.columns):
        return table

    def halve(text: str) -> str:
        spaces = [index for index, character in enumerate(text) if character == " "]
        if cell_len(text) <= SPLIT_WIDTH or not spaces or "\n" in text:
            return text
        middle = min(spaces, key=lambda index: abs(2 * index - len(text)))
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
        stacked = column
        if columns and column.heading.endswith(layout.INTERVAL):
            value_column = columns.pop()
            cell_pairs = zip(
                (value_column.heading, *value_column.cells),
                (column.heading, *column.cells),
                strict=True,
            )
            heading, *cells = ("\n".join(cell_pair) for cell_pair in cell_pairs)
            stacked = replace(value_column, heading=heading, cells=tuple(cells))
        columns.append(stacked)
    return replace(table, columns=tuple(columns))
