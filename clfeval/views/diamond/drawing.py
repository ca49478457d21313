"""The φ-δ diagrams of a result, drawn in plain characters: one for each population."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import combinations, islice, pairwise
from math import floor

from clfeval.document import Document
from clfeval.pages.chart import Point
from clfeval.pages.phidelta import CORNERS
from clfeval.views.canvas import (
    GAP,
    TALL,
    TIE,
    Canvas,
    Ink,
    add_ansi_style,
    fold_notes,
    key_lines,
    marker_color,
    min_key_width,
    side_by_side_lines,
)
from clfeval.views.diamond.scenes import Diamond, Dot, Scene, scenes

LIGHT, AXIS, OUTLINE, TEXT, CURVE, PRIORITY_BRACKETS, DOT = range(7)
NARROWEST = 24
NARROW = 60  # below this many columns the corners at the sides are named in the key
WIDE = 100  # from this many columns on the diamond is larger
HALVES = (32, 40)  # columns to a unit of φ
SMALL = 20  # the same next to an enlargement
LOOK = 60  # columns that an enlargement next to the diamond needs
MARGIN = 7  # columns next to the diamond, for the names of its corners
MEETING = "*#@&%$=?!"  # several dots in one cell; the first also for those enlarged
DIM = "2"
SHADES = ".:░▒▓█"
EVERY = 12  # columns from one marker of a curve to the next
ALONG = (0.75, 0.25, 0.85, 0.15, 0.65, 0.35, 0.55, 0.45, 1.0, 0.0)  # possible places of a label
# of the enlargement
ROWS = 21
GUTTER = 9  # columns for the ruler of δ
WIDEST = 73
END = 4  # columns for the name of φ at the end of its ruler
REACHES = (0.25, 0.18, 0.12, 0.08, 0.05, 0.03, 0.02, 0.01)  # from one dot to others of its crowd
MOST = 300  # dots that are compared with each other
SHARE = 2 / 3  # of all dots is a crowd
GAIN = 2.5  # least factor of an enlargement
TICK_DISTANCES = (8, 10, 12, 14, 16, 18, 20)  # columns from one tick to the next
STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # from one tick to the next
CLOSE = 3  # columns or half rows between dots that are hard to distinguish


def phidelta_plots(
    result: Document, *, width: int = 80, color: bool = False, every: bool = True
) -> str:
    """Return diagrams of models, runs, curves or features; every: all prevalences, else one."""
    width = max(width, NARROWEST)
    shown, left_out = scenes(result)
    if not every:
        *_, last = islice(shown, 2)
        shown, left_out = iter([last]), 0
    lines: list[str] = []
    for scene in shown:
        lines += ["", *diagram(scene, width=width, color=color)]
    if left_out > 0:
        more = f"{left_out} more prevalence{'s' * (left_out > 1)} not shown"
        lines += ["", *fold_notes([more], width=width)]
    return "\n".join(line.rstrip() for line in lines[1:]) + "\n"


def diagram(scene: Scene, *, width: int, color: bool) -> list[str]:
    """Return one diagram, an enlargement where dots crowd, and the key; side by side if it fits."""
    population = scene.population
    canvas = diamond_canvas(population, width, HALVES[width >= WIDE])
    small = diamond_canvas(population, width, SMALL)
    room = width - small.columns - GAP
    room = room if room >= LOOK else width
    look = None if scene.density else closer_look(scene.dots, room, canvas.scale)
    canvas = small if look else canvas
    canvases = [canvas, *(look[:1] if look else ())]
    seen = [r for r in scene.regions if any(larger_than_a_cell(c, r) for c in canvases)]
    scene = replace(scene, regions=tuple(seen))
    parted = [dot for dot in scene.dots if look and look[0].contains(*look[0].cell(*dot.at))]
    notes = draw_scene(canvas, scene, parted=parted)
    name_corners(canvas, population)
    if look:
        mark_window(canvas, look[0])
    at = f"prevalence {population.prevalence:.4g}, positives : negatives = {population.odds}"
    where = ", independent of the class ratio" if population.balanced else f" at {at}"
    title = f"Youden's J and bias (φ-δ){where}"
    drawn = canvas.render(color=color)

    def key(wide: int) -> list[str]:
        entries = key_lines(scene.headings, scene.entries, width=wide, color=color)
        return [*entries, *fold_notes(_legend_lines(scene, width), width=wide)]

    block = [*drawn, *fold_notes(notes, width=width)]
    if look:
        window, step = look
        times = f"enlarged {window.scale / canvas.scale:.0f} times"
        more = fold_notes(draw_scene(window, scene), width=room)
        head = [" " * GUTTER + line for line in fold_notes([times], width=room - GUTTER)]
        closer = [*head, *render_with_rulers(window, step, population.symbols, color=color), *more]
        if room < width:
            left = [*drawn, *fold_notes(notes, width=canvas.columns)]
            block = side_by_side_lines([left, closer], canvas.columns + GAP)
        else:
            block += ["", *closer]
    elif (room := width - canvas.columns - GAP) >= min_key_width(scene.headings, scene.entries):
        right = [*key(room), "", *fold_notes(notes, width=room)]
        if len(right) + TALL <= canvas.rows:
            both = side_by_side_lines([drawn, [*[""] * TALL, *right]], canvas.columns + GAP)
            return [*fold_notes([title], width=width), *both]
    return [*fold_notes([title], width=width), *block, "", *key(width)]


def _legend_lines(scene: Scene, width: int) -> list[str]:
    """Return notes on dots and lines, and on what the drawing has no room for."""
    notes, population = [], scene.population
    if scene.regions:
        notes.append("· around a marker: the joint region of sensitivity and specificity")
    if not population.balanced:
        named = zip(CORNERS, population.corners, strict=True)
        corners = "; ".join(f"{name} ({x:.3g}, {y:.3g})" for name, (x, y) in named)
        notes += ["| no bias (φ_b = 0)   - no information", f"corners (φ_b, δ_b): {corners}"]
    elif width < NARROW:
        notes.append("left corner: always negative, right corner: always positive")
    values: dict[str, list[str]] = {}
    for line in scene.lines:
        values.setdefault(f"{line.char} {line.measure}", []).append(f"{line.value:g}")
    lines = (f"{name} = {', '.join(some)} at {population.odds}" for name, some in values.items())
    return [*notes, *scene.notes, *lines]


def diamond_canvas(population: Diamond, width: int, half: int) -> Canvas:
    """Return a canvas for the whole diamond: `half` columns to a unit, or as many as fit."""
    margin = MARGIN if width >= NARROW else 0
    half = max(4, min(half, (width - 2 * margin - 1) // 2) // TALL * TALL)
    left = population.corners[3][0] - margin / half
    return Canvas(2 * half + 1 + 2 * margin, half + 3, left, 1 + TALL / half, half)


def draw_diamond(canvas: Canvas, population: Diamond) -> None:
    """Draw the outline, the line of no information and the axis of no bias."""
    top, right, bottom, left = population.corners
    for a, b in pairwise((top, right, bottom, left, top)):
        canvas.line(a, b, Ink("", OUTLINE, DIM))
    for char, at in zip("^>v<", population.corners, strict=True):
        canvas.set_cell(*canvas.cell(*at), Ink(char, OUTLINE, DIM))
    rare = min(population.prevalence, 1 - population.prevalence)
    canvas.line(left, right, Ink("-", AXIS, DIM))
    canvas.line(top, (0.0, 1 - 4 * rare), Ink("|", AXIS, DIM))
    if population.balanced:
        for at in ((0.0, 0.0), (0.5, 0.0), (-0.5, 0.0), (0.0, 0.5), (0.0, -0.5)):
            canvas.set_cell(*canvas.cell(*at), Ink("+", AXIS, DIM))


def draw_scene(canvas: Canvas, scene: Scene, *, parted: Collection[Dot] = ()) -> list[str]:
    """Draw a scene; return notes on dots in one cell, but for those in `parted`."""
    draw_diamond(canvas, scene.population)
    notes = [draw_density(canvas, scene.density)] if scene.density else []
    for region in scene.regions:
        if larger_than_a_cell(canvas, region):
            canvas.dots((*region, region[0]), Ink("·", LIGHT))
            for at in region:
                canvas.set_cell(*canvas.cell(*at), Ink("·", LIGHT))
    dotted = [
        (line, [canvas.dots(points, Ink(line.char, LIGHT)) for points in line.branches])
        for line in scene.lines
    ]
    for index, (marker, points) in enumerate(scene.curves):
        cells = canvas.trace(points, Ink("", CURVE, marker_color(marker)[2:]))
        for column, row in cells:
            if column % EVERY == 5 * index % EVERY:
                canvas.set_cell(column, row, Ink(marker, CURVE, marker_color(marker)))
    notes += _draw_dots(canvas, scene.dots, parted)
    one_measure = len({line.measure for line in scene.lines}) == 1
    for line, branches in dotted:
        label = f"{line.value:g}" if one_measure else f"{line.measure} {line.value:g}"
        _label_line(canvas, max(branches, key=len, default=[]), label)
    return notes


def name_corners(canvas: Canvas, population: Diamond) -> None:
    """Write the names of the corners next to them, and the meanings of the axes if they fit."""
    (column, row), right, (end, last), left = (canvas.cell(*at) for at in population.corners)
    top, bottom = CORNERS[0], CORNERS[2]
    balanced = population.balanced
    if balanced and canvas.columns >= len(bottom) * 3:
        top, bottom = f"{top}  δ = 1", f"{bottom}  δ = -1"
    ink = Ink("", TEXT)
    canvas.text(column - len(CORNERS[0]) // 2, row - 1, top, ink)
    canvas.text(end - len(CORNERS[2]) // 2, last + 1, bottom, ink)
    if left[0] >= MARGIN:
        above = 2 if balanced else 3
        sides = (("always", "always"), ("negative", "positive"), ("φ = -1", "φ = 1"))
        for line, texts in enumerate(sides[: 2 + balanced]):
            inward = 1 if line < 2 else -1
            start = MARGIN + inward - len(texts[0])
            canvas.text(start, max(1, left[1] - above) + line, texts[0], ink)
            start = canvas.columns - MARGIN - inward
            canvas.text(start, min(last, right[1]) - above + line, texts[1], ink)
    if balanced:
        for x, y, text in ((0.0, 0.5, "0.5"), (0.0, -0.5, "-0.5"), (0.0, 0.0, "0")):
            column, row = canvas.cell(x, y)
            _write_if_room(canvas, column + 2, row + (y == 0), text)
        for x, text in ((-0.5, "-0.5"), (0.5, "0.5")):
            column, row = canvas.cell(x, 0.0)
            _write_if_room(canvas, column - len(text) // 2, row + 1, text)
    wide, high = right[0] - left[0], right[1] - left[1]
    cells = [(left[0] + wide * i // 100, left[1] + round(high * i / 100)) for i in range(101)]
    _label_line(canvas, cells, "no information")


def _draw_dots(canvas: Canvas, dots: Sequence[Dot], parted: Collection[Dot]) -> list[str]:
    """Put every dot in its cell, or a sign for several."""
    cells: dict[tuple[int, int], list[Dot]] = {}
    for dot in dots:
        cell = canvas.cell(*dot.at)
        if canvas.contains(*cell):
            cells.setdefault(cell, []).append(dot)
    told: dict[str, list[str]] = {}
    signs = iter(MEETING[1:] if parted else MEETING)
    for (column, row), here in sorted(cells.items(), key=lambda item: item[0][::-1]):
        markers = list(dict.fromkeys(dot.marker for dot in here))
        sign = markers[0]
        if len(markers) > 1:
            if all(dot in parted for dot in here):
                sign, text = MEETING[0], ""
            else:
                sign, text = next(signs, MEETING[-1]), TIE.join(markers)
            told.setdefault(sign, []).append(text)
        canvas.set_cell(column, row, Ink(sign, DOT, marker_color(sign)))
        pairs = [dot.around for dot in here if dot not in parted]
        around = max(pairs, key=lambda pair: (bool(pair), pair == "[]"), default="")
        for side, bracket in zip((-1, 1), around, strict=False):
            canvas.set_cell(column + side, row, Ink(bracket, PRIORITY_BRACKETS, marker_color(sign)))
    return [  # the last sign may be in several cells
        f"{sign} {', '.join(texts)}{', each' * (len(texts) > 1)} at the same place"
        if texts[0]
        else f"{sign} several points in one place; the enlargement separates them"
        for sign, texts in told.items()
    ]


def _label_line(canvas: Canvas, cells: Sequence[tuple[int, int]], text: str) -> None:
    """Write a short text next to a line, where there is room."""
    for share in ALONG if cells else ():
        column, row = cells[int(share * (len(cells) - 1))]
        half = len(text) // 2
        beside = ((column + 2, row), (column - len(text) - 1, row))
        places = ((column - half, row + 1), (column - half, row - 1), *beside)
        if any(_write_if_room(canvas, *at, text) for at in places):
            return


def _write_if_room(canvas: Canvas, column: int, row: int, text: str) -> bool:
    """Write a text where there is room; return whether there is."""
    if free := canvas.free(column, row, len(text)):
        canvas.text(column, row, text, Ink("", TEXT, DIM))
    return free


def larger_than_a_cell(canvas: Canvas, region: Sequence[Point]) -> bool:
    """Return whether a region is larger than a cell, and so visible."""
    places = [canvas.place(*at) for at in region]
    return all(max(along) - min(along) > 1 for along in zip(*places, strict=True))


def shade_limits(most: int) -> list[int]:
    """Return the largest count of each shade: 1 first, then in equal proportions."""
    found, steps = [1], len(SHADES) - 1
    for i in range(1, steps + 1):
        if found[-1] < most:
            found.append(min(most, max(found[-1] + 1, round(most ** (i / steps)))))
    return found


def draw_density(canvas: Canvas, points: Iterable[Point]) -> str:
    """Shade every cell by its number of points; return the legend."""
    cells = Counter(canvas.cell(*at) for at in points)
    upper = shade_limits(max(cells.values(), default=1))
    for cell, count in cells.items():
        canvas.set_cell(*cell, Ink(SHADES[bisect_left(upper, count)], CURVE))
    lower = [1, *(limit + 1 for limit in upper)]
    spans = (f"{a:,}" if a == b else f"{a:,}-{b:,}" for a, b in zip(lower, upper, strict=False))
    legend = "   ".join(f"{char}{TIE}{span}" for char, span in zip(SHADES, spans, strict=False))
    return f"features in a cell:   {legend}"


def closer_look(dots: Sequence[Dot], width: int, scale: float) -> tuple[Canvas, float] | None:
    """Return an enlarged canvas of crowded dots and the distance of its ticks, or None."""
    points: dict[Point, set[str]] = {}
    for dot in dots:
        points.setdefault(dot.at, set()).add(dot.marker)
    found, most = None, 0
    for reach in REACHES if len(points) <= MOST else ():
        around = (
            [at for at in points if abs(at[0] - x) <= reach and abs(at[1] - y) <= reach]
            for x, y in points
        )
        near = max(around, key=len, default=[])
        crowded = len(near) >= max(2, SHARE * len(points)) and any(
            max(abs(a[0] - b[0]), abs(a[1] - b[1])) * scale <= CLOSE and points[a] != points[b]
            for a, b in combinations(near, 2)
        )
        look = _window_canvas(near, width, scale) if crowded else None
        if look:
            cells = {look[0].cell(*at) for at in near}
            if len(cells) > most:
                found, most = look, len(cells)
            if len(cells) == len(near):
                break
    return found


def _window_canvas(
    points: Sequence[Point], width: int, scale: float
) -> tuple[Canvas, float] | None:
    """Return a canvas just large enough for the points, with ticks that fall on cells."""
    columns = min(width - GUTTER - END, WIDEST)
    xs, ys = [at[0] for at in points], [at[1] for at in points]
    wide, high = max(xs) - min(xs), max(ys) - min(ys)
    most = min((columns - 9) / wide if wide else 1e9, TALL * (ROWS - 4) / high if high else 1e9)
    ways = [apart for apart in TICK_DISTANCES if apart <= max(TICK_DISTANCES[0], columns // 3)]
    fits = [(apart / step, step) for step in STEPS for apart in ways if apart / step <= most]
    if columns < TALL * TICK_DISTANCES[0] or not fits or max(fits)[0] < GAIN * scale:
        return None
    finer, step = max(fits)
    left = round((min(xs) + wide / 2) * finer) - columns // 2
    top = round((min(ys) + high / 2) * finer / TALL) + ROWS // 2
    top = min(top, floor(finer / TALL) + 1)  # nothing lies above δ = 1
    return Canvas(columns, ROWS, left / finer, top * TALL / finer, finer), step


def mark_window(overview: Canvas, window: Canvas) -> None:
    """Mark the enlarged part in the overview."""
    right = window.left + (window.columns - 1) / window.scale
    bottom = window.top - (window.rows - 1) * TALL / window.scale
    (c0, r0), (c1, r1) = overview.cell(window.left, window.top), overview.cell(right, bottom)
    for char, column, row in (("┌", c0, r0), ("┐", c1, r0), ("└", c0, r1), ("┘", c1, r1)):
        if (column, max(0, row)) not in overview.cells:
            overview.set_cell(column, max(0, row), Ink(char, TEXT))


def render_with_rulers(
    canvas: Canvas, step: float, names: tuple[str, str], *, color: bool
) -> list[str]:
    """Return the canvas with a ruler of δ at the left and one of φ below."""
    digits = 3 if step < 0.01 else 2 if step < 0.1 else 1
    apart, style = round(step * canvas.scale), DIM if color else ""
    lines = []
    first = round(canvas.top * canvas.scale / TALL)
    for row, drawn in enumerate(canvas.render(color=color)):
        tick = (first - row) * TALL % apart == 0
        value = (first - row) * TALL / canvas.scale
        label = f"{value + 0.0:.{digits}f} +" if tick else f"{names[1]} |" if row == 0 else "|"
        lines.append(add_ansi_style(f"{label:>{GUTTER}}", style) + drawn)
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
    return [*lines, add_ansi_style(edge, style), add_ansi_style("".join(numbers).rstrip(), style)]
