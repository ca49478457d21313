"""Text around a drawing: keys in columns, notes folded to the screen, shortened names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise, zip_longest
from math import ceil, floor

from rich.cells import cell_len, set_cell_size

from clfeval.formatting import printable
from clfeval.pages.chart import Point
from clfeval.records import dataclass, field

GAP = 3
FEW = 8  # entries that stand in one column
NAME = 24  # columns a name may take where entries stand side by side
MIN_NAME_WIDTH = 8
TIE = "\N{NO-BREAK SPACE}"  # becomes a blank after folding
ESCAPES = r"\x1b\[[0-9;]*m"
MARKERS = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
HUES = ("31", "32", "34", "35", "36", "33")


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """One marker of the key: its name and the text of its numbers."""

    marker: str
    name: str
    numbers: tuple[str, ...]


def key_lines(
    headings: Sequence[str], entries: Sequence[KeyEntry], *, width: int, color: bool
) -> list[str]:
    """Return the lines of the key, side by side if many; numbers that do not fit are left out."""
    if not entries:
        return []
    names = [printable(key_entry.name) for key_entry in entries]
    longest_name = max(map(cell_len, (headings[0], *names)))
    number_widths = _number_widths(headings, entries)
    while number_widths and 2 + min(longest_name, MIN_NAME_WIDTH) + sum(number_widths) > width:
        number_widths.pop()
    block_width = 2 + min(longest_name, NAME) + sum(number_widths)
    block_count = min(4, max(1, (width + GAP) // (block_width + GAP))) if len(entries) > FEW else 1
    name_width = max(
        1,
        min(
            longest_name, (width - GAP * (block_count - 1)) // block_count - 2 - sum(number_widths)
        ),
    )
    cut_names = shorten_names_apart([headings[0], *names], name_width)

    def format_line(marker: str, name: str, numbers: Sequence[str]) -> str:
        padded_name = set_cell_size(cut_names[name], name_width)
        padded_numbers = (
            f"{number:>{number_width}}"
            for number, number_width in zip(numbers, number_widths, strict=False)
        )
        styled_marker = (
            add_ansi_style(marker, marker_color(marker)) if color and marker != " " else marker
        )
        return f"{styled_marker} {padded_name}{''.join(padded_numbers)}"

    lines = [
        format_line(key_entry.marker, name, key_entry.numbers)
        for key_entry, name in zip(entries, names, strict=True)
    ]
    lines_per_block = -(-len(lines) // block_count)
    heading_line = format_line(" ", headings[0], headings[1:])
    rows = [[heading_line] * (-(-len(lines) // lines_per_block))]
    rows += [lines[row::lines_per_block] for row in range(lines_per_block)]
    return [(" " * GAP).join(row_lines).rstrip() for row_lines in rows]


def min_key_width(headings: Sequence[str], entries: Sequence[KeyEntry]) -> int:
    """Return the columns a key needs with every number and legible names."""
    return 2 + NAME + sum(_number_widths(headings, entries))


def fold_notes(notes: Iterable[str], *, width: int) -> list[str]:
    """Return the notes folded to the width, further lines indented to their text."""
    lines = []
    for note in notes:
        line = ""
        for full_word in note.split(" "):
            word = shorten_name(full_word, width - 2)
            if line.strip() and cell_len(line) + 1 + cell_len(word) > width:
                lines.append(line)
                line = "  " + word
            else:
                line = f"{line} {word}" if line else word
        lines.append(line)
    return [line.replace(TIE, " ") for line in lines]


def side_by_side_lines(blocks: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return blocks of lines side by side, each `width` columns after the one before."""
    lines = []
    for row_lines in zip_longest(*blocks, fillvalue=""):
        line = ""
        for block_index, block_line in enumerate(row_lines):
            gap = " " * (block_index * width - cell_len(re.sub(ESCAPES, "", line)))
            line += gap + block_line if block_line else ""
        lines.append(line)
    return lines


def shorten_name(name: str, most: int) -> str:
    """Return a name cut in the middle to at most `most` columns: versions differ at their ends."""
    if cell_len(name) <= most:
        return name
    tail = _start_that_fits(name[::-1], (most - 1) // 2)[::-1]
    return f"{_start_that_fits(name, most - 1 - cell_len(tail))}…{tail}"


def shorten_names_apart(names: Sequence[str], most: int) -> dict[str, str]:
    """Return names cut as by `shorten_name`; those that would look equal, where they differ."""
    cut_names = {name: shorten_name(name, most) for name in names}
    names_by_text: dict[str, list[str]] = {}
    for name, text in cut_names.items():
        names_by_text.setdefault(text, []).append(name)
    for equal_names in names_by_text.values():
        if len(equal_names) > 1 and most >= MIN_NAME_WIDTH:
            shared_length = max(_shared_length(equal_names) - 1, 0)
            head = f"{_start_that_fits(equal_names[0][:shared_length], most // 3)}…"
            tails = shorten_names_apart(
                [name[shared_length:] for name in equal_names], most - cell_len(head)
            )
            cut_names |= {name: head + tails[name[shared_length:]] for name in equal_names}
    return cut_names


def _shared_length(names: Sequence[str]) -> int:
    """Return how many characters all names have in common at their start."""
    numbered_letters = enumerate(zip(*names, strict=False))
    return next(
        (index for index, letters in numbered_letters if len({*letters}) > 1), min(map(len, names))
    )


def _start_that_fits(text: str, most: int) -> str:
    """Return as much of a text as fits."""
    return next(
        (text[:length] for length in range(len(text)) if cell_len(text[: length + 1]) > most), text
    )


def _number_widths(headings: Sequence[str], entries: Sequence[KeyEntry]) -> list[int]:
    columns = zip(headings[1:], *(key_entry.numbers for key_entry in entries), strict=True)
    return [max(map(len, column)) + 2 for column in columns]


def marker_color(char: str) -> str:
    """Return the ANSI code of the colour of a marker, different from the next one's."""
    index = MARKERS.find(char)
    return "1" if index < 0 else f"1;{HUES[index % len(HUES)]}"


TALL = 2  # a terminal cell is about twice as high as wide
STEEP_SLOPE = 3.0  # lines at least this steep are drawn '|'
FLAT_SLOPE = 0.75  # lines at most this steep take one cell of every column


@dataclass(frozen=True, slots=True)
class Ink:
    """The content of a cell; higher priority covers lower, `style` is an ANSI code or empty."""

    char: str
    priority: int = 0
    style: str = ""


@dataclass(frozen=True, slots=True)
class Canvas:
    """Cells and the one scale for both axes; the middle of the first cell is (left, top)."""

    columns: int
    rows: int
    left: float
    top: float
    scale: float  # columns for one unit of x; one unit of y takes half as many rows
    cells: dict[tuple[int, int], Ink] = field(default_factory=dict)

    def place(self, x: float, y: float) -> Point:
        """Return column and row of a data point, unrounded."""
        return (x - self.left) * self.scale, (self.top - y) * self.scale / TALL

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """Return the cell a data point falls in."""
        column, row = self.place(x, y)
        return round(column), round(row)

    def contains(self, column: int, row: int) -> bool:
        """Return whether a cell is on the canvas."""
        return 0 <= column < self.columns and 0 <= row < self.rows

    def set_cell(self, column: int, row: int, ink: Ink) -> None:
        """Set a cell; nothing is drawn off the canvas or below something of higher priority."""
        if self.contains(column, row):
            covered = self.cells.get((column, row))
            if covered is None or covered.priority <= ink.priority:
                self.cells[column, row] = ink

    def free(self, column: int, row: int, length: int) -> bool:
        """Return whether cells in a row are on the canvas and blank, with a blank on each side."""
        if not (self.contains(column, row) and self.contains(column + length - 1, row)):
            return False
        cells = ((column_near, row) for column_near in range(column - 1, column + length + 1))
        return not any(cell in self.cells for cell in cells)

    def text(self, column: int, row: int, text: str, ink: Ink) -> None:
        """Write narrow characters side by side, shifted where they would be cut off."""
        start = max(0, min(column, self.columns - len(text)))
        for offset, char in enumerate(text):
            if char != " ":
                self.set_cell(start + offset, row, Ink(char, ink.priority, ink.style))

    def line(self, a: Point, b: Point, ink: Ink) -> None:
        """Draw a line between two data points with the character of its slope."""
        slope = abs(b[1] - a[1]) / abs(b[0] - a[0]) if a[0] != b[0] else STEEP_SLOPE
        diagonal = "/" if (b[0] - a[0]) * (b[1] - a[1]) > 0 else "\\"
        char = "-" if slope <= FLAT_SLOPE else "|" if slope >= STEEP_SLOPE else diagonal
        for column, row in self._steps(a, b):
            self.set_cell(column, row, Ink(ink.char or char, ink.priority, ink.style))

    def dots(self, points: Sequence[Point], ink: Ink) -> list[tuple[int, int]]:
        """Draw a dotted line through data points, evenly spaced on the screen; return its cells."""
        cells = []
        for a, b in pairwise(points):
            is_flat = _is_flat(a, b)
            for column, row in self._steps(a, b):
                if not is_flat or column % TALL == 0:
                    self.set_cell(column, row, ink)
                    cells.append((column, row))
        return cells

    def trace(self, points: Sequence[Point], ink: Ink) -> list[tuple[int, int]]:
        """Draw a function of x, one character a column, high, middle or low in its cell."""
        row_of_column: dict[int, int] = {}
        for a, b in pairwise(points):
            c0, r0 = self.place(*a)
            c1, r1 = self.place(*b)
            for column in _whole_numbers_between(c0, c1, self.columns):
                exact_row = r0 + (r1 - r0) * ((column - c0) / (c1 - c0) if c1 != c0 else 1.0)
                row = floor(exact_row + 0.5)
                third_index = min(2, int((exact_row + 0.5 - row) * 3))
                self.set_cell(column, row, Ink("'-."[third_index], ink.priority, ink.style))
                row_of_column[column] = row
        return sorted(row_of_column.items())

    def render(self, *, color: bool = False) -> list[str]:
        """Return the lines without trailing blanks, with ANSI codes only if `color`."""
        lines = []
        for row in range(self.rows):
            inks = (self.cells.get((column, row), Ink(" ")) for column in range(self.columns))
            runs = groupby(inks, lambda ink: ink.style if color else "")
            styled_runs = (
                add_ansi_style("".join(ink.char for ink in run), style) for style, run in runs
            )
            lines.append("".join(styled_runs).rstrip())
        return lines

    def _steps(self, a: Point, b: Point) -> Iterator[tuple[int, int]]:
        """Yield the cells of a line: one for each column when it is flat, else one for each row."""
        c0, r0 = self.place(*a)
        c1, r1 = self.place(*b)
        if _is_flat(a, b):
            for column in _whole_numbers_between(c0, c1, self.columns):
                fraction = (column - c0) / (c1 - c0) if c1 != c0 else 0.0
                yield column, round(r0 + (r1 - r0) * fraction)
        else:
            for row in _whole_numbers_between(r0, r1, self.rows):
                yield round(c0 + (c1 - c0) * (row - r0) / (r1 - r0)), row


def _is_flat(a: Point, b: Point) -> bool:
    return abs(b[1] - a[1]) <= FLAT_SLOPE * abs(b[0] - a[0])


def _whole_numbers_between(a: float, b: float, size: int) -> range:
    """Return the whole numbers from a to b in either order, kept on the canvas."""
    tolerance = 1e-9  # an end that is whole up to rounding is included
    return range(
        max(0, ceil(min(a, b) - tolerance)), min(size - 1, floor(max(a, b) + tolerance)) + 1
    )


def add_ansi_style(text: str, style: str) -> str:
    """Return text wrapped in an ANSI code, if there is one."""
    return f"\x1b[{style}m{text}\x1b[0m" if style else text
