"""The φ-δ diagrams of a result, drawn in plain characters: one for each population."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations, islice, pairwise
from math import floor

from clfeval.document import Document
from clfeval.pages.chart import Point
from clfeval.pages.phidelta import CORNERS
from clfeval.records import dataclass, replace
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
    scenes_to_draw, left_out = scenes(result)
    if not every:
        *_, last = islice(scenes_to_draw, 2)
        scenes_to_draw = iter([last])
        left_out = 0
    lines: list[str] = []
    for scene in scenes_to_draw:
        lines += ["", *diagram(scene, width=width, color=color)]
    if left_out > 0:
        note = f"{left_out} more prevalence{'s' * (left_out > 1)} not shown"
        lines += ["", *fold_notes([note], width=width)]
    return "\n".join(line.rstrip() for line in lines[1:]) + "\n"


@dataclass(frozen=True, slots=True)
class Enlargement:
    """An enlarged part of a diagram; step: from one tick of its rulers to the next."""

    canvas: Canvas
    step: float


def diagram(scene: Scene, *, width: int, color: bool) -> list[str]:
    """Return one diagram, an enlargement where dots crowd, and the key; side by side if it fits."""
    population = scene.population
    canvas = diamond_canvas(population, width, HALVES[width >= WIDE])
    overview = diamond_canvas(population, width, SMALL)
    room = width - overview.columns - GAP
    room = room if room >= LOOK else width
    enlargement = None if scene.density else enlarge_crowd(scene.dots, room, canvas.scale)
    title = fold_notes([_title(population)], width=width)
    if enlargement:
        scene = _with_visible_regions(scene, (overview, enlargement.canvas))
        block = _overview_and_enlargement(scene, overview, enlargement, width, room, color=color)
        return [*title, *block, "", *_key_and_legend(scene, width, width, color=color)]
    scene = _with_visible_regions(scene, (canvas,))
    notes = draw_scene(canvas, scene)
    name_corners(canvas, population)
    drawing = canvas.render(color=color)
    key_room = width - canvas.columns - GAP
    if key_room >= min_key_width(scene.headings, scene.entries):
        key = _key_and_legend(scene, key_room, width, color=color)
        right = [*[""] * TALL, *key, "", *fold_notes(notes, width=key_room)]
        if len(right) <= canvas.rows:
            return [*title, *side_by_side_lines([drawing, right], canvas.columns + GAP)]
    key = _key_and_legend(scene, width, width, color=color)
    return [*title, *drawing, *fold_notes(notes, width=width), "", *key]


def _title(population: Diamond) -> str:
    """Return the title of a diagram, with the prevalence that it is for."""
    if population.balanced:
        return "Youden's J and bias (φ-δ), independent of the class ratio"
    prevalence = f"prevalence {population.prevalence:.4g}"
    return f"Youden's J and bias (φ-δ) at {prevalence}, positives : negatives = {population.odds}"


def _with_visible_regions(scene: Scene, canvases: Sequence[Canvas]) -> Scene:
    """Return a scene without regions that are no larger than a cell of any canvas."""
    visible = [
        region
        for region in scene.regions
        if any(larger_than_a_cell(canvas, region) for canvas in canvases)
    ]
    return replace(scene, regions=tuple(visible))


def _key_and_legend(scene: Scene, room: int, width: int, *, color: bool) -> list[str]:
    """Return the key and the legend in `room` columns of a screen of `width`."""
    key = key_lines(scene.headings, scene.entries, width=room, color=color)
    return [*key, *fold_notes(_legend_lines(scene, width), width=room)]


def _overview_and_enlargement(
    scene: Scene, overview: Canvas, enlargement: Enlargement, width: int, room: int, *, color: bool
) -> list[str]:
    """Return the whole diagram and its enlargement in `room` columns, side by side if it fits."""
    window = enlargement.canvas
    parted = [dot for dot in scene.dots if window.contains(*window.cell(*dot.point))]
    notes = draw_scene(overview, scene, parted=parted)
    name_corners(overview, scene.population)
    mark_window(overview, window)
    drawing = overview.render(color=color)
    factor = f"enlarged {window.scale / overview.scale:.0f} times"
    heading = [" " * GUTTER + line for line in fold_notes([factor], width=room - GUTTER)]
    window_notes = fold_notes(draw_scene(window, scene), width=room)
    symbols = scene.population.symbols
    rendered = render_with_rulers(window, enlargement.step, symbols, color=color)
    enlarged = [*heading, *rendered, *window_notes]
    if room < width:
        left = [*drawing, *fold_notes(notes, width=overview.columns)]
        return side_by_side_lines([left, enlarged], overview.columns + GAP)
    return [*drawing, *fold_notes(notes, width=width), "", *enlarged]


def _legend_lines(scene: Scene, width: int) -> list[str]:
    """Return notes on dots and lines, and on what the drawing has no room for."""
    notes = []
    population = scene.population
    if scene.regions:
        notes.append("· around a marker: the joint region of sensitivity and specificity")
    if not population.balanced:
        points = zip(CORNERS, population.corners, strict=True)
        corners = "; ".join(f"{name} ({x:.3g}, {y:.3g})" for name, (x, y) in points)
        notes += ["| no bias (φ_b = 0)   - no information", f"corners (φ_b, δ_b): {corners}"]
    elif width < NARROW:
        notes.append("left corner: always negative, right corner: always positive")
    values: dict[str, list[str]] = {}
    for line in scene.lines:
        values.setdefault(f"{line.char} {line.measure}", []).append(f"{line.value:g}")
    lines = (f"{name} = {', '.join(texts)} at {population.odds}" for name, texts in values.items())
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
    for char, corner in zip("^>v<", population.corners, strict=True):
        canvas.set_cell(*canvas.cell(*corner), Ink(char, OUTLINE, DIM))
    rare = min(population.prevalence, 1 - population.prevalence)
    canvas.line(left, right, Ink("-", AXIS, DIM))
    canvas.line(top, (0.0, 1 - 4 * rare), Ink("|", AXIS, DIM))
    if population.balanced:
        for point in ((0.0, 0.0), (0.5, 0.0), (-0.5, 0.0), (0.0, 0.5), (0.0, -0.5)):
            canvas.set_cell(*canvas.cell(*point), Ink("+", AXIS, DIM))


def draw_scene(canvas: Canvas, scene: Scene, *, parted: Collection[Dot] = ()) -> list[str]:
    """Draw a scene; return notes on dots in one cell, but for those in `parted`."""
    draw_diamond(canvas, scene.population)
    notes = [draw_density(canvas, scene.density)] if scene.density else []
    for region in scene.regions:
        if larger_than_a_cell(canvas, region):
            canvas.dots((*region, region[0]), Ink("·", LIGHT))
            for corner in region:
                canvas.set_cell(*canvas.cell(*corner), Ink("·", LIGHT))
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
    upper, right, lower, left = (canvas.cell(*corner) for corner in population.corners)
    top = CORNERS[0]
    bottom = CORNERS[2]
    if population.balanced and canvas.columns >= len(CORNERS[2]) * 3:
        top += "  δ = 1"
        bottom += "  δ = -1"
    ink = Ink("", TEXT)
    canvas.text(upper[0] - len(CORNERS[0]) // 2, upper[1] - 1, top, ink)
    canvas.text(lower[0] - len(CORNERS[2]) // 2, lower[1] + 1, bottom, ink)
    if left[0] >= MARGIN:
        left_row = max(1, left[1] - (2 if population.balanced else 3))
        right_row = min(lower[1], right[1]) - (2 if population.balanced else 3)
        _name_sides(canvas, left_row, right_row, with_values=population.balanced)
    if population.balanced:
        _number_axes(canvas)
    wide = right[0] - left[0]
    high = right[1] - left[1]
    cells = [(left[0] + wide * i // 100, left[1] + round(high * i / 100)) for i in range(101)]
    _label_line(canvas, cells, "no information")


def _name_sides(canvas: Canvas, left_row: int, right_row: int, *, with_values: bool) -> None:
    """Write the names of the left and the right corner in lines from these rows on."""
    ink = Ink("", TEXT)
    lines = [("always", "always", 1), ("negative", "positive", 1)]
    if with_values:
        lines.append(("φ = -1", "φ = 1", -1))
    for line, (left_text, right_text, inward) in enumerate(lines):
        start = MARGIN + inward - len(left_text)
        canvas.text(start, left_row + line, left_text, ink)
        canvas.text(canvas.columns - MARGIN - inward, right_row + line, right_text, ink)


def _number_axes(canvas: Canvas) -> None:
    """Write numbers at the marks of both axes, where there is room."""
    for y, text in ((0.5, "0.5"), (-0.5, "-0.5"), (0.0, "0")):
        column, row = canvas.cell(0.0, y)
        _write_if_room(canvas, column + 2, row + (y == 0), text)
    for x, text in ((-0.5, "-0.5"), (0.5, "0.5")):
        column, row = canvas.cell(x, 0.0)
        _write_if_room(canvas, column - len(text) // 2, row + 1, text)


def _draw_dots(canvas: Canvas, dots: Sequence[Dot], parted: Collection[Dot]) -> list[str]:
    """Put every dot in its cell, or a sign for several; return what these signs mean."""
    dots_by_cell: dict[tuple[int, int], list[Dot]] = {}
    for dot in dots:
        cell = canvas.cell(*dot.point)
        if canvas.contains(*cell):
            dots_by_cell.setdefault(cell, []).append(dot)
    texts_by_sign: dict[str, list[str]] = {}
    signs = iter(MEETING[1:] if parted else MEETING)
    for column, row in sorted(dots_by_cell, key=lambda cell: cell[::-1]):
        meeting = dots_by_cell[column, row]
        markers = list(dict.fromkeys(dot.marker for dot in meeting))
        sign = markers[0]
        if len(markers) > 1:
            enlarged = all(dot in parted for dot in meeting)
            sign = MEETING[0] if enlarged else next(signs, MEETING[-1])
            texts_by_sign.setdefault(sign, []).append("" if enlarged else TIE.join(markers))
        canvas.set_cell(column, row, Ink(sign, DOT, marker_color(sign)))
        pairs = [dot.brackets for dot in meeting if dot not in parted]
        brackets = max(pairs, key=lambda pair: (bool(pair), pair == "[]"), default="")
        for side, bracket in zip((-1, 1), brackets, strict=False):
            canvas.set_cell(column + side, row, Ink(bracket, PRIORITY_BRACKETS, marker_color(sign)))
    return [  # the last sign may be in several cells
        f"{sign} {', '.join(texts)}{', each' * (len(texts) > 1)} at the same place"
        if texts[0]
        else f"{sign} several points in one place; the enlargement separates them"
        for sign, texts in texts_by_sign.items()
    ]


def _label_line(canvas: Canvas, cells: Sequence[tuple[int, int]], text: str) -> None:
    """Write a short text next to a line, where there is room."""
    for share in ALONG if cells else ():
        column, row = cells[int(share * (len(cells) - 1))]
        middle = column - len(text) // 2
        above_and_below = ((middle, row + 1), (middle, row - 1))
        left_and_right = ((column + 2, row), (column - len(text) - 1, row))
        places = (*above_and_below, *left_and_right)
        if any(_write_if_room(canvas, *place, text) for place in places):
            return


def _write_if_room(canvas: Canvas, column: int, row: int, text: str) -> bool:
    """Write a text where there is room; return whether there is."""
    if free := canvas.free(column, row, len(text)):
        canvas.text(column, row, text, Ink("", TEXT, DIM))
    return free


def larger_than_a_cell(canvas: Canvas, region: Sequence[Point]) -> bool:
    """Return whether a region is larger than a cell, and so visible."""
    places = [canvas.place(*corner) for corner in region]
    return all(max(axis) - min(axis) > 1 for axis in zip(*places, strict=True))


def shade_limits(most: int) -> list[int]:
    """Return the largest count of each shade: 1 first, then in equal proportions."""
    limits = [1]
    steps = len(SHADES) - 1
    for i in range(1, steps + 1):
        if limits[-1] < most:
            limits.append(min(most, max(limits[-1] + 1, round(most ** (i / steps)))))
    return limits


def draw_density(canvas: Canvas, points: Iterable[Point]) -> str:
    """Shade every cell by its number of points; return the legend."""
    cells = Counter(canvas.cell(*point) for point in points)
    upper = shade_limits(max(cells.values(), default=1))
    for cell, count in cells.items():
        canvas.set_cell(*cell, Ink(SHADES[bisect_left(upper, count)], CURVE))
    lower = [1, *(limit + 1 for limit in upper)]
    spans = (f"{a:,}" if a == b else f"{a:,}-{b:,}" for a, b in zip(lower, upper, strict=False))
    legend = "   ".join(f"{char}{TIE}{span}" for char, span in zip(SHADES, spans, strict=False))
    return f"features in a cell:   {legend}"


def enlarge_crowd(dots: Sequence[Dot], width: int, scale: float) -> Enlargement | None:
    """Return the enlargement that separates most crowded dots, None where none helps."""
    markers_by_point: dict[Point, set[str]] = {}
    for dot in dots:
        markers_by_point.setdefault(dot.point, set()).add(dot.marker)
    best = None
    most_cells = 0
    for reach in REACHES if len(markers_by_point) <= MOST else ():
        crowd = _largest_crowd(markers_by_point, reach)
        enlargement = None
        if _is_crowded(crowd, markers_by_point, scale):
            enlargement = _window_canvas(crowd, width, scale)
        if enlargement:
            cells = {enlargement.canvas.cell(*point) for point in crowd}
            if len(cells) > most_cells:
                best = enlargement
                most_cells = len(cells)
            if len(cells) == len(crowd):
                break
    return best


def _largest_crowd(points: Collection[Point], reach: float) -> list[Point]:
    """Return the points within reach of the one that has the most of them."""
    crowds = (
        [point for point in points if abs(point[0] - x) <= reach and abs(point[1] - y) <= reach]
        for x, y in points
    )
    return max(crowds, key=len, default=[])


def _is_crowded(
    crowd: Sequence[Point], markers_by_point: Mapping[Point, set[str]], scale: float
) -> bool:
    """Return whether a crowd has most points, and two of different models that are too close."""
    return len(crowd) >= max(2, SHARE * len(markers_by_point)) and any(
        max(abs(a[0] - b[0]), abs(a[1] - b[1])) * scale <= CLOSE
        and markers_by_point[a] != markers_by_point[b]
        for a, b in combinations(crowd, 2)
    )


def _window_canvas(points: Sequence[Point], width: int, scale: float) -> Enlargement | None:
    """Return a canvas just large enough for the points, with ticks that fall on cells."""
    columns = min(width - GUTTER - END, WIDEST)
    xs = [x for x, _ in points]
    ys = [y for _, y in points]
    wide = max(xs) - min(xs)
    high = max(ys) - min(ys)
    most = min((columns - 9) / wide if wide else 1e9, TALL * (ROWS - 4) / high if high else 1e9)
    longest = max(TICK_DISTANCES[0], columns // 3)
    distances = [distance for distance in TICK_DISTANCES if distance <= longest]
    scales = [(distance / step, step) for step in STEPS for distance in distances]
    possible = [(finer, step) for finer, step in scales if finer <= most]
    if columns < TALL * TICK_DISTANCES[0] or not possible or max(possible)[0] < GAIN * scale:
        return None
    finer, step = max(possible)
    left = round((min(xs) + wide / 2) * finer) - columns // 2
    top = round((min(ys) + high / 2) * finer / TALL) + ROWS // 2
    top = min(top, floor(finer / TALL) + 1)  # nothing lies above δ = 1
    return Enlargement(Canvas(columns, ROWS, left / finer, top * TALL / finer, finer), step)


def mark_window(overview: Canvas, window: Canvas) -> None:
    """Mark the enlarged part in the overview."""
    right = window.left + (window.columns - 1) / window.scale
    bottom = window.top - (window.rows - 1) * TALL / window.scale
    c0, r0 = overview.cell(window.left, window.top)
    c1, r1 = overview.cell(right, bottom)
    for char, column, row in (("┌", c0, r0), ("┐", c1, r0), ("└", c0, r1), ("┘", c1, r1)):
        if (column, max(0, row)) not in overview.cells:
            overview.set_cell(column, max(0, row), Ink(char, TEXT))


def render_with_rulers(
    canvas: Canvas, step: float, names: tuple[str, str], *, color: bool
) -> list[str]:
    """Return the canvas with a ruler of δ at the left and one of φ below."""
    digits = 3 if step < 0.01 else 2 if step < 0.1 else 1
    tick_distance = round(step * canvas.scale)
    style = DIM if color else ""
    lines = []
    first = round(canvas.top * canvas.scale / TALL)
    for row, cells in enumerate(canvas.render(color=color)):
        has_tick = (first - row) * TALL % tick_distance == 0
        value = (first - row) * TALL / canvas.scale
        label = f"{value + 0.0:.{digits}f} +" if has_tick else f"{names[1]} |" if row == 0 else "|"
        lines.append(add_ansi_style(f"{label:>{GUTTER}}", style) + cells)
    start = round(canvas.left * canvas.scale)
    ticks = [c for c in range(canvas.columns) if (start + c) % tick_distance == 0]
    ruler = "".join("+" if c in ticks else "-" for c in range(canvas.columns))
    texts = {c: f"{(start + c) / canvas.scale + 0.0:.{digits}f}" for c in ticks}
    numbers = _numbers_below(texts, canvas.columns)
    return [
        *lines,
        add_ansi_style(f"{'+':>{GUTTER}}{ruler} {names[0]}", style),
        add_ansi_style(numbers, style),
    ]


def _numbers_below(text_of_column: Mapping[int, str], columns: int) -> str:
    """Return the line of numbers below a ruler, each in the middle of its column."""
    line = [" "] * (GUTTER + columns + END)
    for column, text in text_of_column.items():
        start = GUTTER + column - len(text) // 2
        if start + len(text) <= len(line):
            line[start : start + len(text)] = text
    return "".join(line).rstrip()
