"""A small canvas of characters on which a square of data looks square."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from math import ceil, floor

from clfeval.schema import Point

TALL = 2  # a terminal cell is about twice as high as wide
STEEP = 3.0  # lines at least this steep are drawn '|'
FLAT = 0.75  # lines at most this steep take one cell of every column


@dataclass(frozen=True, slots=True)
class Ink:
    """What stands in one cell; higher priority covers lower, `style` is an ANSI code or empty."""

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

    def inside(self, column: int, row: int) -> bool:
        """Say whether a cell is on the canvas."""
        return 0 <= column < self.columns and 0 <= row < self.rows

    def put(self, column: int, row: int, ink: Ink) -> None:
        """Set a cell; what is off the canvas or below something of higher priority is not drawn."""
        if self.inside(column, row):
            there = self.cells.get((column, row))
            if there is None or there.priority <= ink.priority:
                self.cells[column, row] = ink

    def free(self, column: int, row: int, length: int) -> bool:
        """Say whether cells side by side are on the canvas and blank, with a blank on each side."""
        around = ((c, row) for c in range(column - 1, column + length + 1))
        on = self.inside(column, row) and self.inside(column + length - 1, row)
        return on and not any(cell in self.cells for cell in around)

    def text(self, column: int, row: int, text: str, ink: Ink) -> None:
        """Write narrow characters side by side, moved sideways when they would be cut off."""
        start = max(0, min(column, self.columns - len(text)))
        for i, char in enumerate(text):
            if char != " ":
                self.put(start + i, row, Ink(char, ink.priority, ink.style))

    def line(self, a: Point, b: Point, ink: Ink) -> None:
        """Connect two data points with the character that leans as the line does."""
        slope = abs(b[1] - a[1]) / abs(b[0] - a[0]) if a[0] != b[0] else STEEP
        leaning = "/" if (b[0] - a[0]) * (b[1] - a[1]) > 0 else "\\"
        char = "-" if slope <= FLAT else "|" if slope >= STEEP else leaning
        for column, row in self._steps(a, b):
            self.put(column, row, Ink(ink.char or char, ink.priority, ink.style))

    def dots(self, points: Sequence[Point], ink: Ink) -> list[tuple[int, int]]:
        """Draw a dotted line through data points, evenly spaced for the eye; return its cells."""
        drawn = []
        for a, b in pairwise(points):
            flat = _is_flat(a, b)
            for column, row in self._steps(a, b):
                if not flat or column % TALL == 0:
                    self.put(column, row, ink)
                    drawn.append((column, row))
        return drawn

    def trace(self, points: Sequence[Point], ink: Ink) -> list[tuple[int, int]]:
        """Draw a function of x, one character a column, high, middle or low in its cell."""
        drawn: dict[int, int] = {}
        for a, b in pairwise(points):
            (c0, r0), (c1, r1) = self.place(*a), self.place(*b)
            for column in _whole_numbers_between(c0, c1, self.columns):
                exact = r0 + (r1 - r0) * ((column - c0) / (c1 - c0) if c1 != c0 else 1.0)
                row = floor(exact + 0.5)
                third = min(2, int((exact + 0.5 - row) * 3))
                self.put(column, row, Ink("'-."[third], ink.priority, ink.style))
                drawn[column] = row
        return sorted(drawn.items())

    def render(self, *, color: bool = False) -> list[str]:
        """Return the lines without trailing blanks, with ANSI codes only if asked for."""
        lines = []
        for row in range(self.rows):
            inks = (self.cells.get((column, row), Ink(" ")) for column in range(self.columns))
            runs = groupby(inks, lambda ink: ink.style if color else "")
            parts = (add_ansi_style("".join(ink.char for ink in run), style) for style, run in runs)
            lines.append("".join(parts).rstrip())
        return lines

    def _steps(self, a: Point, b: Point) -> Iterator[tuple[int, int]]:
        """Yield the cells of a line: one for each column when it is flat, else one for each row."""
        (c0, r0), (c1, r1) = self.place(*a), self.place(*b)
        if _is_flat(a, b):
            for column in _whole_numbers_between(c0, c1, self.columns):
                part = (column - c0) / (c1 - c0) if c1 != c0 else 0.0
                yield column, round(r0 + (r1 - r0) * part)
        else:
            for row in _whole_numbers_between(r0, r1, self.rows):
                yield round(c0 + (c1 - c0) * (row - r0) / (r1 - r0)), row


def _is_flat(a: Point, b: Point) -> bool:
    return abs(b[1] - a[1]) <= FLAT * abs(b[0] - a[0])


def _whole_numbers_between(a: float, b: float, size: int) -> range:
    """Return the whole numbers from a to b in either order, kept on the canvas."""
    nearly = 1e-9  # an end that is whole but for rounding counts
    return range(max(0, ceil(min(a, b) - nearly)), min(size - 1, floor(max(a, b) + nearly)) + 1)


def add_ansi_style(text: str, style: str) -> str:
    """Wrap text in an ANSI code, if there is one."""
    return f"\x1b[{style}m{text}\x1b[0m" if style else text
