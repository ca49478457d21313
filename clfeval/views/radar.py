"""Radars side by side: the polygon whose area is the score, ray by ray."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, cos, floor, pi, sin

from clfeval.pages.write import plain
from clfeval.schema import Chart, Point
from clfeval.views.canvas import Canvas, Ink
from clfeval.views.text import TIE, beside, hue, notes_lines, short

LARGEST = 16  # columns from the middle to the rim
SMALLEST = 8
MARGIN = 3  # columns beside the rim, for the numbers of the rays
GAP = 2
QUARTERS = " ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"  # by which quarters of a cell are filled: 1 2 above, 4 8 below


def radars(chart: Chart, *, width: int, color: bool) -> list[str]:
    """Draw a radar for each of the first models, as many as fit."""
    fit = (width + GAP) // (2 * (SMALLEST + MARGIN) + 1 + GAP)
    series = chart.series[:fit]
    if not series:
        return []
    room = (width + GAP) // len(series) - GAP
    radius = min(LARGEST, (room - 1) // 2 - MARGIN)
    heads, panels = [], []
    for one in series:
        values = [value or 0.0 for value in one.values]
        canvas = radar(values, chart.weights, radius, hue(one.letter))
        words = f" {one.words}" if one.words else ""
        name = short(plain(one.name), canvas.columns - 2 - len(words))
        heads.append(f"{one.letter} {name}{words}")
        panels.append(canvas.render(color=color))
    names = [f"{i} {short(plain(m), width // 2)}".replace(" ", TIE)
             for i, m in enumerate(chart.names, start=1)]  # fmt: skip
    weighted = ", as long as their weights" if len(set(chart.weights)) > 1 else ""
    key = f"rays, clockwise from the top{weighted}: {'   '.join(names)}"
    wide = room + GAP
    drawn = [line.rstrip() for line in beside(panels, wide)]
    inked = [i for i, line in enumerate(drawn) if line]
    above, below = notes_lines([chart.title], width=width), notes_lines([key], width=width)
    named = beside([[head] for head in heads], wide)
    return [*above, "", *named, *drawn[inked[0] : inked[-1] + 1], *below]


def radar(d: Sequence[float], lengths: Sequence[float], radius: int, style: str = "") -> Canvas:
    """Draw one polygon: rays of the lengths given, 1 the longest, each filled up to its d."""
    columns = 2 * (radius + MARGIN) + 1
    canvas = Canvas(columns, radius + 3, -(radius + MARGIN) / radius, 1 + 2 / radius, radius)
    rim = [_at(i, len(d), length) for i, length in enumerate(lengths)]
    corners = [
        _at(i, len(d), length * x) for i, (length, x) in enumerate(zip(lengths, d, strict=True))
    ]
    canvas.dots([*rim, rim[0]], Ink("·"))
    filled = _inside(canvas, corners)
    for (column, row), quarters in filled.items():
        canvas.put(column, row, Ink(QUARTERS[quarters], 1, style))
    for i, length in enumerate(lengths):
        column, row = canvas.cell(*_at(i, len(d), length + 2.5 / radius))
        text = str(i + 1)
        canvas.text(column - len(text) // 2, row, text, Ink("", 2))
    return canvas


def _inside(canvas: Canvas, corners: Sequence[Point]) -> dict[tuple[int, int], int]:
    """Return which quarters of which cells lie in a polygon around the middle, or on its rays."""
    cells: dict[tuple[int, int], int] = {}

    def fill(x: int, y: int) -> None:
        cell = x // 2, y // 2
        cells[cell] = cells.get(cell, 0) | 1 << (x % 2 + 2 * (y % 2))

    def place(at: Point) -> Point:  # counted in quarters
        column, row = canvas.place(*at)
        return 2 * column + 1, 2 * row + 1

    placed, middle = [place(corner) for corner in corners], place((0.0, 0.0))
    sides = list(zip(placed, [*placed[1:], placed[0]], strict=True))
    for y in range(2 * canvas.rows):
        for x in range(2 * canvas.columns):
            crossed = [
                a[0] + (b[0] - a[0]) * (y + 0.5 - a[1]) / (b[1] - a[1])
                for a, b in sides
                if (a[1] > y + 0.5) != (b[1] > y + 0.5)
            ]
            if sum(at > x + 0.5 for at in crossed) % 2:
                fill(x, y)
    for end in placed:
        steps = ceil(max(abs(end[0] - middle[0]), abs(end[1] - middle[1]), 1))
        for i in range(steps + 1):
            fill(*(floor(m + (e - m) * i / steps) for m, e in zip(middle, end, strict=True)))
    return cells


def _at(ray: int, rays: int, length: float) -> Point:
    """Return a point on a ray; the first stands upright, the others follow clockwise."""
    angle = pi / 2 - 2 * pi * ray / rays
    return length * cos(angle), length * sin(angle)
