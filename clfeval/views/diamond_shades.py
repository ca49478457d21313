"""Counts in cells as characters, darker for more, with a legend that gives the counts back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from clfeval.views.canvas import Canvas, Ink, Point
from clfeval.views.diamond_key import TIE

SHADES = ".:░▒▓█"


def counts(canvas: Canvas, points: Iterable[Point]) -> Counter[tuple[int, int]]:
    """Count the points in each cell."""
    return Counter(canvas.cell(x, y) for x, y in points)


def limits(most: int) -> list[int]:
    """Return the largest count each shade stands for: 1 first, then in equal proportions."""
    steps = len(SHADES) - 1
    found = [1]
    for i in range(1, steps + 1):
        if found[-1] < most:
            found.append(min(most, max(found[-1] + 1, round(most ** (i / steps)))))
    return found


def draw_density(canvas: Canvas, points: Iterable[Point], priority: int) -> str:
    """Shade every cell by its count; return the legend."""
    cells = counts(canvas, points)
    upper = limits(max(cells.values(), default=1))
    for cell, count in cells.items():
        shade = next(i for i, limit in enumerate(upper) if count <= limit)
        canvas.put(*cell, Ink(SHADES[shade], priority))
    lower = [1, *(limit + 1 for limit in upper)]
    spans = (f"{a:,}" if a == b else f"{a:,}-{b:,}" for a, b in zip(lower, upper, strict=False))
    legend = "   ".join(f"{char}{TIE}{span}" for char, span in zip(SHADES, spans, strict=False))
    return f"features in a cell:   {legend}"
