"""The φ-δ diagrams of a result, drawn in plain characters: one for each population."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations, islice, pairwise
from math import floor

from clfeval.document import Document
from clfeval.pages.chart import Point
from clfeval.pages.phidelta.tables import CORNERS
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
MIN_WIDTH = 24
NARROW_WIDTH = 60  # below this many columns the corners at the sides are named in the key
WIDE_WIDTH = 100  # from this many columns on the diamond is larger
UNIT_COLUMNS = (32, 40)  # columns to a unit of φ
OVERVIEW_UNIT = 20  # the same next to an enlargement
MIN_WINDOW_WIDTH = 60  # columns that an enlargement next to the diamond needs
MARGIN = 7  # columns next to the diamond, for the names of its corners
SHARED_CELL_SIGNS = "*#@&%$=?!"  # several dots in one cell; the first also for those enlarged
DIM = "2"
SHADES = ".:░▒▓█"
MARKER_DISTANCE = 12  # columns from one marker of a curve to the next
# of a line, where its label may be
LABEL_FRACTIONS = (0.75, 0.25, 0.85, 0.15, 0.65, 0.35, 0.55, 0.45, 1.0, 0.0)
# of the enlargement
WINDOW_ROWS = 21
RULER_WIDTH = 9  # columns for the ruler of δ
MAX_WINDOW_WIDTH = 73
AXIS_NAME_WIDTH = 4  # columns for the name of φ at the end of its ruler
REACHES = (0.25, 0.18, 0.12, 0.08, 0.05, 0.03, 0.02, 0.01)  # from one dot to others of its crowd
MAX_COMPARED_DOTS = 300  # dots that are compared with each other
MIN_CROWD_SHARE = 2 / 3  # of all dots, which a crowd has at least
MIN_GAIN = 2.5  # least factor of an enlargement
TICK_DISTANCES = (8, 10, 12, 14, 16, 18, 20)  # columns from one tick to the next
TICK_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # from one tick to the next
CLOSE_DISTANCE = 3  # columns or half rows between dots that are hard to distinguish


def phidelta_plots(
    result: Document, *, width: int = 80, color: bool = False, every: bool = True
) -> str:
    """Return diagrams of models, runs, curves or features; every: all prevalences, else one."""
    width = max(width, MIN_WIDTH)
    scenes_to_draw, omitted_count = scenes(result)
    if not every:
        *_, last_scene = islice(scenes_to_draw, 2)
        scenes_to_draw = iter([last_scene])
        omitted_count = 0
    lines: list[str] = []
    for scene in scenes_to_draw:
        lines += ["", *diagram(scene, width=width, color=color)]
    if omitted_count > 0:
        note = f"{omitted_count} more prevalence{'s' if omitted_count > 1 else ''} not shown"
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
    canvas = diamond_canvas(population, width, UNIT_COLUMNS[width >= WIDE_WIDTH])
    overview = diamond_canvas(population, width, OVERVIEW_UNIT)
    enlargement_room = width - overview.columns - GAP
    enlargement_room = enlargement_room if enlargement_room >= MIN_WINDOW_WIDTH else width
    enlargement = (
        None if scene.density else enlarge_crowd(scene.dots, enlargement_room, canvas.scale)
    )
    title_lines = fold_notes([_title(population)], width=width)
    if enlargement:
        scene = _with_visible_regions(scene, (overview, enlargement.canvas))
        drawing_lines = _overview_and_enlargement(
            scene, overview, enlargement, width, enlargement_room, color=color
        )
        return [
            *title_lines,
            *drawing_lines,
            "",
            *_key_and_legend(scene, width, width, color=color),
        ]
    scene = _with_visible_regions(scene, (canvas,))
    dot_notes = draw_scene(canvas, scene)
    name_corners(canvas, population)
    drawing = canvas.render(color=color)
    key_room = width - canvas.columns - GAP
    if key_room >= min_key_width(scene.headings, scene.entries):
        key_and_legend = _key_and_legend(scene, key_room, width, color=color)
        right_lines = [*[""] * TALL, *key_and_legend, "", *fold_notes(dot_notes, width=key_room)]
        if len(right_lines) <= canvas.rows:
            return [*title_lines, *side_by_side_lines([drawing, right_lines], canvas.columns + GAP)]
    key_and_legend = _key_and_legend(scene, width, width, color=color)
    return [*title_lines, *drawing, *fold_notes(dot_notes, width=width), "", *key_and_legend]


def _title(population: Diamond) -> str:
    """Return the title of a diagram, with the prevalence that it is for."""
    if population.balanced:
        return "Youden's J and bias (φ-δ), independent of the class ratio"
    prevalence = f"prevalence {population.prevalence:.4g}"
    return f"Youden's J and bias (φ-δ) at {prevalence}, positives : negatives = {population.odds}"


def _with_visible_regions(scene: Scene, canvases: Sequence[Canvas]) -> Scene:
    """Return a scene without regions that are no larger than a cell of any canvas."""
    visible_regions = [
        region
        for region in scene.regions
        if any(larger_than_a_cell(canvas, region) for canvas in canvases)
    ]
    return replace(scene, regions=tuple(visible_regions))


def _key_and_legend(scene: Scene, room: int, width: int, *, color: bool) -> list[str]:
    """Return the key and the legend in `room` columns of a screen of `width`."""
    key = key_lines(scene.headings, scene.entries, width=room, color=color)
    return [*key, *fold_notes(_legend_lines(scene, width), width=room)]


def _overview_and_enlargement(
    scene: Scene, overview: Canvas, enlargement: Enlargement, width: int, room: int, *, color: bool
) -> list[str]:
    """Return the whole diagram and its enlargement in `room` columns, side by side if it fits."""
    window = enlargement.canvas
    enlarged_dots = [dot for dot in scene.dots if window.contains(*window.cell(*dot.point))]
    overview_notes = draw_scene(overview, scene, enlarged_dots=enlarged_dots)
    name_corners(overview, scene.population)
    mark_window(overview, window)
    drawing = overview.render(color=color)
    factor_text = f"enlarged {window.scale / overview.scale:.0f} times"
    heading = [
        " " * RULER_WIDTH + line for line in fold_notes([factor_text], width=room - RULER_WIDTH)
    ]
    window_notes = fold_notes(draw_scene(window, scene), width=room)
    symbols = scene.population.symbols
    window_lines = render_with_rulers(window, enlargement.step, symbols, color=color)
    enlargement_lines = [*heading, *window_lines, *window_notes]
    if room < width:
        overview_lines = [*drawing, *fold_notes(overview_notes, width=overview.columns)]
        return side_by_side_lines([overview_lines, enlargement_lines], overview.columns + GAP)
    return [*drawing, *fold_notes(overview_notes, width=width), "", *enlargement_lines]


def _legend_lines(scene: Scene, width: int) -> list[str]:
    """Return notes on dots and lines, and on what the drawing has no room for."""
    notes = []
    population = scene.population
    if scene.regions:
        notes.append("· around a marker: the joint region of sensitivity and specificity")
    if not population.balanced:
        named_corners = zip(CORNERS, population.corners, strict=True)
        corners = "; ".join(f"{name} ({x:.3g}, {y:.3g})" for name, (x, y) in named_corners)
        notes += ["| no bias (φ_b = 0)   - no information", f"corners (φ_b, δ_b): {corners}"]
    elif width < NARROW_WIDTH:
        notes.append("left corner: always negative, right corner: always positive")
    values_of_name: dict[str, list[str]] = {}
    for contour in scene.lines:
        values_of_name.setdefault(f"{contour.char} {contour.measure}", []).append(
            f"{contour.value:g}"
        )
    value_lines = (
        f"{name} = {', '.join(value_texts)} at {population.odds}"
        for name, value_texts in values_of_name.items()
    )
    return [*notes, *scene.notes, *value_lines]


def diamond_canvas(population: Diamond, width: int, unit_columns: int) -> Canvas:
    """Return a canvas for the whole diamond: at most `unit_columns` to a unit, as many as fit."""
    margin = MARGIN if width >= NARROW_WIDTH else 0
    unit_columns = max(4, min(unit_columns, (width - 2 * margin - 1) // 2) // TALL * TALL)
    left = population.corners[3][0] - margin / unit_columns
    return Canvas(
        2 * unit_columns + 1 + 2 * margin,
        unit_columns + 3,
        left,
        1 + TALL / unit_columns,
        unit_columns,
    )


def draw_diamond(canvas: Canvas, population: Diamond) -> None:
    """Draw the outline, the line of no information and the axis of no bias."""
    top, right, bottom, left = population.corners
    for start, end in pairwise((top, right, bottom, left, top)):
        canvas.line(start, end, Ink("", OUTLINE, DIM))
    for char, corner in zip("^>v<", population.corners, strict=True):
        canvas.set_cell(*canvas.cell(*corner), Ink(char, OUTLINE, DIM))
    rare_share = min(population.prevalence, 1 - population.prevalence)
    canvas.line(left, right, Ink("-", AXIS, DIM))
    canvas.line(top, (0.0, 1 - 4 * rare_share), Ink("|", AXIS, DIM))
    if population.balanced:
        for point in ((0.0, 0.0), (0.5, 0.0), (-0.5, 0.0), (0.0, 0.5), (0.0, -0.5)):
            canvas.set_cell(*canvas.cell(*point), Ink("+", AXIS, DIM))


def draw_scene(canvas: Canvas, scene: Scene, *, enlarged_dots: Collection[Dot] = ()) -> list[str]:
    """Draw a scene; return notes on its shades and on dots that share a cell.

    enlarged_dots: those that an enlargement separates.
    """
    draw_diamond(canvas, scene.population)
    notes = [draw_density(canvas, scene.density)] if scene.density else []
    for region in scene.regions:
        if larger_than_a_cell(canvas, region):
            canvas.dots((*region, region[0]), Ink("·", LIGHT))
            for corner in region:
                canvas.set_cell(*canvas.cell(*corner), Ink("·", LIGHT))
    branch_cells_of_lines = [
        (contour, [canvas.dots(points, Ink(contour.char, LIGHT)) for points in contour.branches])
        for contour in scene.lines
    ]
    for index, (marker, points) in enumerate(scene.curves):
        cells = canvas.trace(points, Ink("", CURVE, marker_color(marker)[2:]))
        for column, row in cells:
            if column % MARKER_DISTANCE == 5 * index % MARKER_DISTANCE:
                canvas.set_cell(column, row, Ink(marker, CURVE, marker_color(marker)))
    notes += _draw_dots(canvas, scene.dots, enlarged_dots)
    has_one_measure = len({contour.measure for contour in scene.lines}) == 1
    for contour, cells_of_branches in branch_cells_of_lines:
        label_text = (
            f"{contour.value:g}" if has_one_measure else f"{contour.measure} {contour.value:g}"
        )
        _label_line(canvas, max(cells_of_branches, key=len, default=[]), label_text)
    return notes


def name_corners(canvas: Canvas, population: Diamond) -> None:
    """Write the names of the corners next to them, and the meanings of the axes if they fit."""
    top_cell, right_cell, bottom_cell, left_cell = (
        canvas.cell(*corner) for corner in population.corners
    )
    top_name = CORNERS[0]
    bottom_name = CORNERS[2]
    if population.balanced and canvas.columns >= len(CORNERS[2]) * 3:
        top_name += "  δ = 1"
        bottom_name += "  δ = -1"
    ink = Ink("", TEXT)
    canvas.text(top_cell[0] - len(CORNERS[0]) // 2, top_cell[1] - 1, top_name, ink)
    canvas.text(bottom_cell[0] - len(CORNERS[2]) // 2, bottom_cell[1] + 1, bottom_name, ink)
    if left_cell[0] >= MARGIN:
        left_row = max(1, left_cell[1] - (2 if population.balanced else 3))
        right_row = min(bottom_cell[1], right_cell[1]) - (2 if population.balanced else 3)
        _name_sides(canvas, left_row, right_row, with_values=population.balanced)
    if population.balanced:
        _number_axes(canvas)
    width = right_cell[0] - left_cell[0]
    height = right_cell[1] - left_cell[1]
    cells = [
        (left_cell[0] + width * percent // 100, left_cell[1] + round(height * percent / 100))
        for percent in range(101)
    ]
    _label_line(canvas, cells, "no information")


def _name_sides(canvas: Canvas, left_row: int, right_row: int, *, with_values: bool) -> None:
    """Write the names of the left and the right corner in lines from these rows on."""
    ink = Ink("", TEXT)
    lines = [("always", "always", 1), ("negative", "positive", 1)]
    if with_values:
        lines.append(("φ = -1", "φ = 1", -1))
    for line_index, (left_text, right_text, inset) in enumerate(lines):
        start = MARGIN + inset - len(left_text)
        canvas.text(start, left_row + line_index, left_text, ink)
        canvas.text(canvas.columns - MARGIN - inset, right_row + line_index, right_text, ink)


def _number_axes(canvas: Canvas) -> None:
    """Write numbers at the marks of both axes, where there is room."""
    for y, text in ((0.5, "0.5"), (-0.5, "-0.5"), (0.0, "0")):
        column, row = canvas.cell(0.0, y)
        _write_if_room(canvas, column + 2, row + (y == 0), text)
    for x, text in ((-0.5, "-0.5"), (0.5, "0.5")):
        column, row = canvas.cell(x, 0.0)
        _write_if_room(canvas, column - len(text) // 2, row + 1, text)


def _draw_dots(canvas: Canvas, dots: Sequence[Dot], enlarged_dots: Collection[Dot]) -> list[str]:
    """Put every dot in its cell, or a sign for several; return what these signs mean."""
    dots_by_cell: dict[tuple[int, int], list[Dot]] = {}
    for dot in dots:
        cell = canvas.cell(*dot.point)
        if canvas.contains(*cell):
            dots_by_cell.setdefault(cell, []).append(dot)
    texts_by_sign: dict[str, list[str]] = {}
    free_signs = iter(SHARED_CELL_SIGNS[1:] if enlarged_dots else SHARED_CELL_SIGNS)
    for column, row in sorted(dots_by_cell, key=lambda cell: cell[::-1]):
        cell_dots = dots_by_cell[column, row]
        markers = list(dict.fromkeys(dot.marker for dot in cell_dots))
        sign = markers[0]
        if len(markers) > 1:
            are_enlarged = all(dot in enlarged_dots for dot in cell_dots)
            sign = SHARED_CELL_SIGNS[0] if are_enlarged else next(free_signs, SHARED_CELL_SIGNS[-1])
            texts_by_sign.setdefault(sign, []).append("" if are_enlarged else TIE.join(markers))
        canvas.set_cell(column, row, Ink(sign, DOT, marker_color(sign)))
        bracket_pairs = [dot.brackets for dot in cell_dots if dot not in enlarged_dots]
        brackets = max(bracket_pairs, key=lambda pair: (bool(pair), pair == "[]"), default="")
        for side, bracket in zip((-1, 1), brackets, strict=False):
            canvas.set_cell(column + side, row, Ink(bracket, PRIORITY_BRACKETS, marker_color(sign)))
    return [  # the last sign may be in several cells
        f"{sign} {', '.join(texts)}{', each' if len(texts) > 1 else ''} at the same place"
        if texts[0]
        else f"{sign} several points in one place; the enlargement separates them"
        for sign, texts in texts_by_sign.items()
    ]


def _label_line(canvas: Canvas, cells: Sequence[tuple[int, int]], text: str) -> None:
    """Write a short text next to a line, where there is room."""
    for fraction in LABEL_FRACTIONS if cells else ():
        column, row = cells[int(fraction * (len(cells) - 1))]
        middle = column - len(text) // 2
        above_and_below = ((middle, row + 1), (middle, row - 1))
        left_and_right = ((column + 2, row), (column - len(text) - 1, row))
        label_cells = (*above_and_below, *left_and_right)
        if any(_write_if_room(canvas, *label_cell, text) for label_cell in label_cells):
            return


def _write_if_room(canvas: Canvas, column: int, row: int, text: str) -> bool:
    """Write a text where there is room; return whether there is."""
    if has_room := canvas.free(column, row, len(text)):
        canvas.text(column, row, text, Ink("", TEXT, DIM))
    return has_room


def larger_than_a_cell(canvas: Canvas, region: Sequence[Point]) -> bool:
    """Return whether a region is larger than a cell, and so visible."""
    corner_places = [canvas.place(*corner) for corner in region]
    return all(
        max(coordinates) - min(coordinates) > 1 for coordinates in zip(*corner_places, strict=True)
    )


def shade_limits(max_count: int) -> list[int]:
    """Return the largest count of each shade: 1 first, then in equal proportions."""
    limits = [1]
    further_shade_count = len(SHADES) - 1
    for i in range(1, further_shade_count + 1):
        if limits[-1] < max_count:
            limits.append(
                min(max_count, max(limits[-1] + 1, round(max_count ** (i / further_shade_count))))
            )
    return limits


def draw_density(canvas: Canvas, points: Iterable[Point]) -> str:
    """Shade every cell by its number of points; return the legend."""
    count_of_cell = Counter(canvas.cell(*point) for point in points)
    upper_limits = shade_limits(max(count_of_cell.values(), default=1))
    for cell, count in count_of_cell.items():
        canvas.set_cell(*cell, Ink(SHADES[bisect_left(upper_limits, count)], CURVE))
    lower_limits = [1, *(limit + 1 for limit in upper_limits)]
    spans = (
        f"{lower:,}" if lower == upper else f"{lower:,}-{upper:,}"
        for lower, upper in zip(lower_limits, upper_limits, strict=False)
    )
    legend = "   ".join(f"{char}{TIE}{span}" for char, span in zip(SHADES, spans, strict=False))
    return f"features in a cell:   {legend}"


def enlarge_crowd(dots: Sequence[Dot], width: int, scale: float) -> Enlargement | None:
    """Return the enlargement that separates most crowded dots, None where none helps."""
    markers_by_point: dict[Point, set[str]] = {}
    for dot in dots:
        markers_by_point.setdefault(dot.point, set()).add(dot.marker)
    best_enlargement = None
    max_cell_count = 0
    for reach in REACHES if len(markers_by_point) <= MAX_COMPARED_DOTS else ():
        crowd = _largest_crowd(markers_by_point, reach)
        enlargement = None
        if _is_crowded(crowd, markers_by_point, scale):
            enlargement = _window_canvas(crowd, width, scale)
        if enlargement:
            crowd_cells = {enlargement.canvas.cell(*point) for point in crowd}
            if len(crowd_cells) > max_cell_count:
                best_enlargement = enlargement
                max_cell_count = len(crowd_cells)
            if len(crowd_cells) == len(crowd):
                break
    return best_enlargement


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
    return len(crowd) >= max(2, MIN_CROWD_SHARE * len(markers_by_point)) and any(
        max(abs(a[0] - b[0]), abs(a[1] - b[1])) * scale <= CLOSE_DISTANCE
        and markers_by_point[a] != markers_by_point[b]
        for a, b in combinations(crowd, 2)
    )


def _window_canvas(points: Sequence[Point], width: int, scale: float) -> Enlargement | None:
    """Return a canvas just large enough for the points, with ticks that fall on cells."""
    columns = min(width - RULER_WIDTH - AXIS_NAME_WIDTH, MAX_WINDOW_WIDTH)
    xs = [x for x, _ in points]
    ys = [y for _, y in points]
    x_extent = max(xs) - min(xs)
    y_extent = max(ys) - min(ys)
    max_scale = min(
        (columns - 9) / x_extent if x_extent else 1e9,
        TALL * (WINDOW_ROWS - 4) / y_extent if y_extent else 1e9,
    )
    max_distance = max(TICK_DISTANCES[0], columns // 3)
    distances = [distance for distance in TICK_DISTANCES if distance <= max_distance]
    scales = [(distance / step, step) for step in TICK_STEPS for distance in distances]
    possible_scales = [
        (window_scale, step) for window_scale, step in scales if window_scale <= max_scale
    ]
    if (
        columns < TALL * TICK_DISTANCES[0]
        or not possible_scales
        or max(possible_scales)[0] < MIN_GAIN * scale
    ):
        return None
    window_scale, step = max(possible_scales)
    left = round((min(xs) + x_extent / 2) * window_scale) - columns // 2
    top = round((min(ys) + y_extent / 2) * window_scale / TALL) + WINDOW_ROWS // 2
    top = min(top, floor(window_scale / TALL) + 1)  # nothing lies above δ = 1
    return Enlargement(
        Canvas(columns, WINDOW_ROWS, left / window_scale, top * TALL / window_scale, window_scale),
        step,
    )


def mark_window(overview: Canvas, window: Canvas) -> None:
    """Mark the enlarged part in the overview."""
    right = window.left + (window.columns - 1) / window.scale
    bottom = window.top - (window.rows - 1) * TALL / window.scale
    left_column, top_row = overview.cell(window.left, window.top)
    right_column, bottom_row = overview.cell(right, bottom)
    for char, column, row in (
        ("┌", left_column, top_row),
        ("┐", right_column, top_row),
        ("└", left_column, bottom_row),
        ("┘", right_column, bottom_row),
    ):
        if (column, max(0, row)) not in overview.cells:
            overview.set_cell(column, max(0, row), Ink(char, TEXT))


def render_with_rulers(
    canvas: Canvas, step: float, names: tuple[str, str], *, color: bool
) -> list[str]:
    """Return the canvas with a ruler of δ at the left and one of φ below."""
    decimal_places = 3 if step < 0.01 else 2 if step < 0.1 else 1
    tick_distance = round(step * canvas.scale)
    style = DIM if color else ""
    ruled_lines = []
    top_unit = round(canvas.top * canvas.scale / TALL)
    for row, cells in enumerate(canvas.render(color=color)):
        has_tick = (top_unit - row) * TALL % tick_distance == 0
        value = (top_unit - row) * TALL / canvas.scale
        label = (
            f"{value + 0.0:.{decimal_places}f} +"
            if has_tick
            else f"{names[1]} |"
            if row == 0
            else "|"
        )
        ruled_lines.append(add_ansi_style(f"{label:>{RULER_WIDTH}}", style) + cells)
    left_unit = round(canvas.left * canvas.scale)
    ticks = [
        column for column in range(canvas.columns) if (left_unit + column) % tick_distance == 0
    ]
    ruler = "".join("+" if column in ticks else "-" for column in range(canvas.columns))
    text_of_column = {
        column: f"{(left_unit + column) / canvas.scale + 0.0:.{decimal_places}f}"
        for column in ticks
    }
    numbers = _numbers_below(text_of_column, canvas.columns)
    return [
        *ruled_lines,
        add_ansi_style(f"{'+':>{RULER_WIDTH}}{ruler} {names[0]}", style),
        add_ansi_style(numbers, style),
    ]


def _numbers_below(text_of_column: Mapping[int, str], columns: int) -> str:
    """Return the line of numbers below a ruler, each in the middle of its column."""
    line = [" "] * (RULER_WIDTH + columns + AXIS_NAME_WIDTH)
    for column, text in text_of_column.items():
        start = RULER_WIDTH + column - len(text) // 2
        if start + len(text) <= len(line):
            line[start : start + len(text)] = text
    return "".join(line).rstrip()
