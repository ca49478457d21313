"""A closer look at the part of the diamond where the dots crowd, with rulers of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import floor

from clfeval.views.canvas import TALL, Canvas, Ink, Point, styled
from clfeval.views.diamond.draw import DIM, TEXT
from clfeval.views.diamond.scene import Dot

ROWS = 21
GUTTER = 9  # columns for the ruler of δ
WIDEST = 73
END = 4  # columns for the name of φ at the end of its ruler
REACHES = (
    0.25,
    0.18,
    0.12,
    0.08,
    0.05,
    0.03,
    0.02,
    0.01,
)  # how far from one dot the others of its crowd may lie
MOST = 300  # dots that are compared with each other
SHARE = 2 / 3  # of all dots is a crowd
GAIN = 2.5  # times larger at least, or a closer look is not worth its lines
APART = (8, 10, 12, 14, 16, 18, 20)  # columns from one tick to the next
STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # from one tick to the next
CLOSE = 3  # columns or half rows between dots that are hard to tell apart


def closer_look(dots: Sequence[Dot], width: int, scale: float) -> tuple[Canvas, float] | None:
    """Return a canvas that tells crowding dots apart and the distance of its ticks, if one helps.

    The widest crowd is taken whose dots get a cell each; failing that the one with most cells.
    """
    points: dict[Point, set[str]] = {}
    for dot in dots:
        points.setdefault(dot.at, set()).add(dot.marker)
    found, most = None, 0
    for reach in REACHES if len(points) <= MOST else ():
        near = max((_around(middle, points, reach) for middle in points), key=len, default=[])
        crowded = len(near) >= max(2, SHARE * len(points)) and any(
            max(abs(a[0] - b[0]), abs(a[1] - b[1])) * scale <= CLOSE and points[a] != points[b]
            for a, b in combinations(near, 2)
        )
        look = _window(near, width, scale) if crowded else None
        if look:
            cells = {look[0].cell(*at) for at in near}
            if len(cells) > most:
                found, most = look, len(cells)
            if len(cells) == len(near):
                break
    return found


def _around(middle: Point, points: Iterable[Point], reach: float) -> list[Point]:
    x, y = middle
    return [at for at in points if abs(at[0] - x) <= reach and abs(at[1] - y) <= reach]


def _window(points: Sequence[Point], width: int, scale: float) -> tuple[Canvas, float] | None:
    """Return a canvas just large enough for the points, with ticks that fall on cells."""
    columns = min(width - GUTTER - END, WIDEST)
    xs, ys = [at[0] for at in points], [at[1] for at in points]
    wide, high = max(xs) - min(xs), max(ys) - min(ys)
    most = min((columns - 9) / wide if wide else 1e9, TALL * (ROWS - 4) / high if high else 1e9)
    ways = [apart for apart in APART if apart <= max(APART[0], columns // 3)]
    fits = [(apart / step, step) for step in STEPS for apart in ways if apart / step <= most]
    if columns < TALL * APART[0] or not fits or max(fits)[0] < GAIN * scale:
        return None
    finer, step = max(fits)
    left = round((min(xs) + wide / 2) * finer) - columns // 2
    top = round((min(ys) + high / 2) * finer / TALL) + ROWS // 2
    top = min(top, floor(finer / TALL) + 1)  # nothing lies above δ = 1
    return Canvas(columns, ROWS, left / finer, top * TALL / finer, finer), step


def mark_window(overview: Canvas, window: Canvas) -> None:
    """Mark in the overview which part the closer look shows."""
    right = window.left + (window.columns - 1) / window.scale
    bottom = window.top - (window.rows - 1) * TALL / window.scale
    (c0, r0), (c1, r1) = overview.cell(window.left, window.top), overview.cell(right, bottom)
    for char, column, row in (("┌", c0, r0), ("┐", c1, r0), ("└", c0, r1), ("┘", c1, r1)):
        if (column, max(0, row)) not in overview.cells:
            overview.put(column, max(0, row), Ink(char, TEXT))


def ruled(canvas: Canvas, step: float, names: tuple[str, str], *, color: bool) -> list[str]:
    """Return the canvas with a ruler of δ at the left and one of φ below."""
    digits = 3 if step < 0.01 else 2 if step < 0.1 else 1
    apart = round(step * canvas.scale)
    lines = []
    first = round(canvas.top * canvas.scale / TALL)
    for row, drawn in enumerate(canvas.render(color=color)):
        tick = (first - row) * TALL % apart == 0
        value = (first - row) * TALL / canvas.scale
        label = f"{value + 0.0:.{digits}f} +" if tick else f"{names[1]}  " if row == 0 else " "
        if row == 0 and not tick:
            label = f"{names[1]} |"
        elif not tick:
            label = "|"
        lines.append(styled(f"{label:>{GUTTER}}", DIM if color else "") + drawn)
    start = round(canvas.left * canvas.scale)
    ticks = [c for c in range(canvas.columns) if (start + c) % apart == 0]
    ruler = "".join("+" if c in ticks else "-" for c in range(canvas.columns))
    numbers = [" "] * (GUTTER + canvas.columns + END)
    for column in ticks:
        text = f"{(start + column) / canvas.scale + 0.0:.{digits}f}"
        at = GUTTER + column - len(text) // 2
        if at + len(text) <= len(numbers):
            numbers[at : at + len(text)] = text
    edge = f"{'+':>{GUTTER}}{ruler} {names[0]}"
    style = DIM if color else ""
    return [*lines, styled(edge, style), styled("".join(numbers).rstrip(), style)]
