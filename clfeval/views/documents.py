"""Files of a result as text: Markdown, CSV of its tables, and JSON of metrics."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import zip_longest
from typing import Any

from clfeval.compare.baseline.read import rows_by_label
from clfeval.compare.gates.kinds import gate_sentence
from clfeval.document import Document, dumps, settings_of
from clfeval.document.cells import Cell, Estimate, cell_value
from clfeval.formatting import DIGITS, escape_control_characters, format_count
from clfeval.pages.command_pages import page_of
from clfeval.pages.schema import TableView, certain_columns, holds_estimates
from clfeval.placeholders import ADD, END, OPTION
from clfeval.views import table_layout as layout

ROWS = 60  # of a table, where its page does not say how many
LONGEST = 64_000  # characters; a comment on GitHub has 65,536, and a bot adds some
CUT = "\n*Shortened to fit a comment; JSON and HTML have everything*\n"
OPENED, CLOSED = "\n<details><summary>More tables</summary>\n", "\n</details>\n"
GAP = "\u200b"  # as wide as nothing: what GitHub takes for a name or link is none with it inside
# @mentions, #1 and GH-1, links, :emoji: - which GitHub makes whatever a backslash says
_MEANT = re.compile(r"@(?=\w)|#(?=\d)|\bGH(?=-\d)|:(?=//)|\bwww(?=\.)|:(?=[\w+-]+:)", re.IGNORECASE)
_BLOCK = re.compile(r"^(\d{0,9})([-+.)])(?![\w.])")  # opens a list, or is a rule


def comment_marker(result: Document) -> str:
    """Return the first line, by which a bot identifies its earlier comment.

    It has the command and a key of input names and settings, not of content, gates or version.
    """
    settings = settings_of(result.signature).split("|")
    key = "\n".join([result.command, *settings, *(file.name for file in result.inputs)])
    return f"<!-- clfeval:{result.command} {sha256(key.encode()).hexdigest()[:8]} -->\n"


def markdown_lines(
    result: Document, *, digits: int = DIGITS, names: Collection[str] = ()
) -> Iterator[str]:
    """Yield the Markdown document in pieces, shortened to what a comment on GitHub holds."""
    yield from pieces_that_fit([comment_marker(result), *_document_pieces(result, digits, names)])


def pieces_that_fit(pieces: Iterable[str], most: int = LONGEST) -> Iterator[str]:
    """Yield the whole pieces that fit into `most` characters, and a note where some do not.

    Unfolded pieces get room first; folded ones, between two tags, get the room that these leave.
    """
    flagged_pieces: list[tuple[str, bool]] = []
    is_folded = False
    for piece in pieces:
        is_folded = is_folded or piece == OPENED
        flagged_pieces.append((piece, is_folded))
        is_folded = is_folded and piece != CLOSED
    tags = (OPENED, CLOSED)
    room = most - 2 * len(CUT) - sum(len(piece) for piece, _ in flagged_pieces if piece in tags)
    unfolded_length = sum(len(piece) for piece, is_folded in flagged_pieces if not is_folded)
    room_left = {False: room, True: room - unfolded_length}
    shortened_flags: set[bool] = set()
    for piece, is_folded in flagged_pieces:
        if piece not in tags:
            room_left[is_folded] -= len(piece)
        if piece in tags or room_left[is_folded] >= 0:
            yield piece
        elif is_folded not in shortened_flags:
            shortened_flags.add(is_folded)
            yield CUT


def _document_pieces(result: Document, digits: int, names: Collection[str]) -> Iterator[str]:
    """Yield the Markdown of a result, and of those of other commands, in pieces."""
    page_tables = layout.sort_tables(result, names, digits)
    yield from _heading_pieces(result)
    for view in page_tables.opened:
        yield from _table_pieces(view, result, digits, wide=page_tables.wide)
    if names:
        from clfeval.views.plots import draw_requested_plots

        if text := draw_requested_plots(result, names):
            fence = _backtick_fence(text, 3)
            yield f"\n{fence}text\n{text}{fence}\n"
    if page_tables.folded:
        yield OPENED
        for view in page_tables.folded:
            yield from _table_pieces(view, result, digits)
        yield CLOSED
    for reason in layout.undefined_reasons(result, (*page_tables.opened, *page_tables.folded)):
        yield f"\n{escape_markdown(reason)}\n"
    for warning in result.warnings:
        yield f"\n> {escape_markdown(warning.message)}\n"
    signature_fence = _backtick_fence(result.signature, 1)
    yield f"\n{signature_fence}{result.signature}{signature_fence}\n"
    for _, document, document_names in layout.other_results(result, names):
        yield "\n"
        yield from _document_pieces(document, digits, document_names)


def _heading_pieces(result: Document) -> Iterator[str]:
    """Yield the headline, the answer and the gates."""
    title, *lines = layout.result_headline(result)
    yield f"**{escape_markdown(title)}**\n\n"
    for sentence in result.answer:
        yield f"{escape_markdown(sentence.text)}\n\n"
    for line in lines:
        yield f"- {escape_markdown(line)}\n"
    yield "\n"
    gates, omission_note = layout.gates_to_show(result)
    for gate in gates:
        yield f"- {layout.GATE_SIGNS[gate.state]} {escape_markdown(gate_sentence(gate))}\n"
    if omission_note:
        yield f"- {escape_markdown(omission_note)}\n"


def _table_pieces(
    view: TableView, result: Document, digits: int, *, wide: bool = True
) -> Iterator[str]:
    """Yield the Markdown of a table, line by line; wide: with all intervals."""
    table = layout.layout_table(view, result, digits, wide=wide)
    title = f"\n{escape_markdown(table.title)}\n\n"
    if not table.rows:
        yield f"{title}none\n"
        return
    alignments = "|".join("---:" if column.numeric else ":---" for column in table.columns)
    yield f"{title}| {' | '.join(map(escape_markdown, table.headings))} |\n|{alignments}|\n"
    rows = [*zip_longest(table.rows, table.signs)]
    for row, sign in rows[:ROWS]:
        cells = [escape_markdown(cell).strip() for cell in row]
        if sign == layout.BEST:
            cells = [f"**{cell}**" if cell else "" for cell in cells]
        yield f"| {' | '.join(cells)} |\n"
    omission_note = ""
    if (omitted_count := len(rows) - ROWS) > 0:
        omission_note = (
            f"{format_count(omitted_count, 'row')} not shown; for all, {ADD} "
            f"{OPTION}--format csv --show {view.table}{END}"
        )
    for line in filter(
        None, (layout.fill_for_caller(result, omission_note), *table.legend, table.note)
    ):
        yield f"\n{escape_markdown(line)}\n"


def _backtick_fence(text: str, min_length: int) -> str:
    """Return a fence of more backticks than any run of them in a text."""
    return "`" * max(min_length, *(len(backticks) + 1 for backticks in re.findall("`+", text)), 0)


def escape_markdown(text: str) -> str:
    """Return user text with Markdown, HTML, control characters and mentions escaped."""
    text = escape_control_characters(text).replace("\n", " ")
    text = _MEANT.sub(lambda match: match[0] + GAP, text)
    for character in "\\`*_{}[]<>|#~$":
        text = text.replace(character, f"\\{character}")
    text = _BLOCK.sub(r"\1\\\2", text)
    return text.replace("&", "&amp;").replace(GAP, f"&#{ord(GAP)};")


COLUMN_SUFFIXES = ("", "_low", "_high", "_reason")  # of an estimate's columns
TEXTS = ("text", "slice", "odds", "measure")  # kinds of columns
_PLAIN = (float, str, int)


class _Echo:
    def write(self, text: str) -> str:
        return text


def csv_lines(result: Document, table: str) -> Iterator[str]:
    """Yield the CSV lines of one table of the result; without rows its header alone."""
    rows = result.tables[table]
    is_estimate_of_column = _estimate_columns(result, table)
    if not is_estimate_of_column:
        return
    write = csv.writer(_Echo(), lineterminator="\n").writerow
    columns = list(is_estimate_of_column.items())
    yield write(name + suffix for name, is_estimate in columns for suffix in _suffixes(is_estimate))
    for row in rows:
        cells: list[Any] = []
        for name, is_estimate in columns:
            cell = row[name]
            if type(cell) in _PLAIN and not is_estimate:  # most cells of long tables
                cells.append(cell)
            elif isinstance(cell, bool):
                cells += _cell_parts(str(cell).lower(), is_estimate)
            else:
                cells += _cell_parts(cell, is_estimate)
        yield write(cells)


def table_columns(result: Document, table: str) -> dict[str, list[Any]]:
    """Return the columns of the CSV of a table, with true and false unchanged."""
    rows = result.tables[table]
    columns_by_name: dict[str, list[Any]] = {}
    for name, is_estimate in _estimate_columns(result, table).items():
        cell_columns = zip(*(_cell_parts(row[name], is_estimate) for row in rows), strict=True)
        suffixes = _suffixes(is_estimate)
        columns = list(map(list, cell_columns)) if len(rows) else [[] for _ in suffixes]
        for suffix, column in zip(suffixes, columns, strict=True):
            columns_by_name[name + suffix] = column
    return columns_by_name


def text_columns(result: Document, table: str) -> set[str]:
    """Return the columns that hold text, also where every cell is empty."""
    columns = page_of(result.command).table(table).columns
    text_names = {column.name for column in columns if column.kind.rstrip("?*+") in TEXTS}
    return text_names | {
        f"{column.name}{COLUMN_SUFFIXES[3]}" for column in columns if holds_estimates(column)
    }


def _estimate_columns(result: Document, table: str) -> dict[str, bool]:
    """Return the columns of a table, and whether each holds estimates."""
    rows = result.tables[table]
    declared = page_of(result.command).table(table)
    columns = declared.columns if len(rows) else certain_columns(declared, result)
    holds_estimate = {column.name: holds_estimates(column) for column in columns}
    if not len(rows):
        return holds_estimate
    return {
        name: holds_estimate.get(name, False) if cell is None else isinstance(cell, Estimate)
        for name, cell in rows[0].items()
    }


def _suffixes(is_estimate: bool) -> Sequence[str]:
    return COLUMN_SUFFIXES if is_estimate else COLUMN_SUFFIXES[:1]


def _cell_parts(cell: Cell, is_estimate: bool) -> list[Any]:
    if isinstance(cell, Estimate):
        return [cell.value, cell.low, cell.high, cell.reason]
    if isinstance(cell, list):
        cell = " + ".join(cell)
    return [cell, None, None, None] if is_estimate else [cell]


def as_metrics(result: Document) -> str:
    """Return `{model: {measure: value}}` as JSON, of the measures that gates can name.

    Values are unrounded; undefined and infinite ones are left out, as `dvc metrics` requires.
    """
    models = {
        label: {
            name: value
            for name, cell in row.items()
            if not isinstance(cell, bool) and (value := cell_value(cell)) is not None
        }
        for label, row in rows_by_label(result).items()
    }
    lines = [f"{dumps(label)}: {dumps(measures)}" for label, measures in models.items()]
    return "{\n  " + ",\n  ".join(lines) + "\n}\n" if lines else "{}\n"
