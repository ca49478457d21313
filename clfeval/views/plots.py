"""Plots on a terminal, readable without colour: all charts of a page, in characters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from math import ceil, cos, floor, pi, sin
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from clfeval.document import Document
from clfeval.formatting import DIGITS, format_count, format_number, printable
from clfeval.pages.chart import FEW_NAMED_CURVES, MOST_NAMED, Chart, Point, Series
from clfeval.pages.command_pages import page_of
from clfeval.pages.schema import ALL, PLOTS
from clfeval.pages.table_parts import draw_bar
from clfeval.records import dataclass
from clfeval.views.canvas import (
    TIE,
    Canvas,
    Ink,
    KeyEntry,
    fold_notes,
    key_lines,
    marker_color,
    shorten_name,
    shorten_names_apart,
    side_by_side_lines,
)
from clfeval.views.table_layout import fill_for_caller
from clfeval.views.terminal import TENTHS, TICKS, height_ticks, odds_ticks

if TYPE_CHECKING:
    from plotext._plotter import plot as plotext_plot

MARKERS = "ox+*#@%&$=~^"
MAX_BARS = 30
UNNAMED_MARKER, HEIGHT = ".", 20  # the marker of curves without a name; lines of a plot
DEFAULT_WIDTH, MAX_WIDTH, MIN_WIDTH = 80, 120, 20  # default columns; at most, at least
FRAME_WIDTH = 10  # columns next to a plot, about
LETTER_ROOM = 0.08  # of the height, on top, for letters
SHADES = " ▁▂▃▄▅▆▇█"
PROFILE_LINES = 45  # of all blocks of a profile, about
BAR_CELLS = 10  # of a bar
MAX_NAME_WIDTH = 28  # columns for the name of a metric, at most
MAX_RADIUS, MIN_RADIUS = 16, 8  # columns from the middle of a radar to its rim
MARGIN = 3  # columns next to the rim, for the numbers of the rays
QUARTERS = " ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"  # by which quarters of a cell are filled: 1 2 above, 4 8 below
GAP = 2


def draw_plots(
    result: Document, names: Collection[str] = (PLOTS,), *, width: int = 80, color: bool = False
) -> str:
    """Return the plots with these names; without names the first that adds to the tables."""
    page = page_of(result.command)
    draw_every = not {ALL, PLOTS}.isdisjoint(names)
    if page.command == "phidelta":
        from clfeval.views.diamond.drawing import phidelta_plots

        draw_every = draw_every or not set(page.plots).isdisjoint(names)
        return phidelta_plots(result, width=width, color=color, every=draw_every)
    charts: Iterable[Chart] = page.charts(result)
    if not draw_every and set(page.plots).isdisjoint(names):
        charts = islice((chart for chart in charts if chart.rank != "detail"), 1)
    elif not draw_every:
        charts = (chart for chart in charts if chart.name in names)
    drawn_charts = []
    for chart in charts:
        key_notes = tuple(
            replace(note, text=fill_for_caller(result, note.text)) for note in chart.key
        )
        drawn_charts.append(draw_chart(replace(chart, key=key_notes), width=width, color=color))
    return "\n".join(filter(None, drawn_charts))


def draw_requested_plots(
    result: Document,
    names: Collection[str],
    *,
    by_default: bool = False,
    width: int | None = None,
    color: bool = False,
) -> str:
    """Return the named plots as text; without names nothing, or that of `draw_plots` by default."""
    is_requested = not {ALL, PLOTS, *page_of(result.command).plots}.isdisjoint(names)
    if not is_requested and not by_default:
        return ""
    width = max(min(width or DEFAULT_WIDTH, MAX_WIDTH), MIN_WIDTH)
    return draw_plots(result, names, width=width, color=color)


def draw_chart(chart: Chart, *, width: int, color: bool) -> str:
    """Return one chart as text, as wide as the screen."""
    lines = DRAW[chart.kind](chart, width=width, color=color)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def draw_bars(chart: Chart, *, width: int, color: bool) -> list[str]:
    """Draw horizontal bars, longest first, with the number at each bar's end in its label."""
    bars = [
        (series.name, value)
        for series in chart.series
        for value in series.values
        if value is not None
    ]
    rising_bars = sorted(bars, key=lambda bar: -bar[1])[:MAX_BARS][::-1]
    bar_lengths = [value for _, value in rising_bars]
    figure = _new_figure(chart.title, width, max(len(rising_bars), 2) + 4)
    y_positions = list(range(1, len(rising_bars) + 1))
    figure.draw(figure.bar(y_positions, bar_lengths, orientation="horizontal", width=0.2))
    longest_value = max([*bar_lengths, 1])
    ticks = list(range(0, int(longest_value) + 1, max(1, -(-int(longest_value) // 6))))
    _set_axis(figure, "x", (0, longest_value), (ticks, [str(tick) for tick in ticks]))
    # plotext puts the limits in the middle of the first and the last line: one line is one bar
    cut_names = shorten_names_apart([printable(name) for name, _ in rising_bars], width // 3)
    labels = [f"{cut_names[printable(name)]} {value:g}" for name, value in rising_bars]
    _set_axis(figure, "y", (1, max(len(rising_bars), 2)), (y_positions, labels))
    return _figure_lines(figure, color)


def draw_lines(chart: Chart, *, width: int, color: bool) -> list[str]:
    """Draw named curves, each with its own marker, marks over them, and a key below."""
    low, high = _height_limits(chart)
    top = high if chart.y.range else high + LETTER_ROOM * (high - low)
    figure = _new_figure(chart.title, width, HEIGHT)
    for mark in chart.marks:
        if mark.y is None:
            dot_heights = [low + (top - low) * i / (4 * HEIGHT) for i in range(4 * HEIGHT + 1)]
            figure.draw(figure.signal([mark.x] * len(dot_heights), dot_heights, marker="·"))
    _draw_curves(figure, chart)
    _draw_letters(figure, chart, (low, top), width)
    if chart.x.range:  # else plotext finds round numbers
        x_ticks = (
            odds_ticks(chart.x.range, chart.x.names, width - 12)
            if chart.x.scale == "odds"
            else height_ticks(*chart.x.range, log=False, steps=TENTHS)
        )
        _set_axis(figure, "x", chart.x.range, x_ticks)
        steps = TENTHS if chart.y.range else TICKS
        y_ticks = height_ticks(low, high, log=chart.y.scale == "log", steps=steps)
        _set_axis(figure, "y", (low, top), y_ticks)
    figure.label(chart.x.label, axis="x")
    return [*_figure_lines(figure, color), *_key_lines(chart, width)]


def _height_limits(chart: Chart) -> Point:
    """Return the limits of the vertical axis: its range, else the lowest and highest point."""
    points = chain.from_iterable(_points_of(series) for series in chart.series)
    heights = [y for _, y in points]
    low, high = chart.y.range or (min(heights), max(heights))
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _points_of(series: Series) -> Iterator[Point]:
    """Return the points of all parts of a series."""
    return chain.from_iterable(series.parts)


def _draw_curves(figure: plotext_plot.plot_class, chart: Chart) -> None:
    """Draw references first, then curves without a name, and the best named one last."""
    labelled_curves, unnamed_curves, references = _mark_curves(chart)
    dotted_curves = [(UNNAMED_MARKER, curve) for curve in unnamed_curves]
    for marker, curve in (*references, *dotted_curves, *labelled_curves[::-1]):
        for curve_part in curve.parts:
            signal = figure.signal(
                [x for x, _ in curve_part], [y for _, y in curve_part], marker=marker
            )
            signal.lines(True)
            figure.draw(signal)


def _draw_letters(
    figure: plotext_plot.plot_class, chart: Chart, height_limits: Point, width: int
) -> None:
    """Draw the letter of each mark at its point, or on top; next to a letter that is there."""
    x_start, x_end = chart.x.range or (0.0, 1.0)
    low, top = height_limits
    column_width = (x_end - x_start) / max(width - FRAME_WIDTH, 1)
    letter_cells: set[tuple[int, int]] = set()
    for mark in chart.marks:
        x = mark.x
        y = top if mark.y is None else mark.y
        text_line = round(HEIGHT * (y - low) / (top - low))
        while (round(x / column_width), text_line) in letter_cells:
            x += column_width if x + column_width <= x_end else -column_width * len(letter_cells)
        letter_cells.add((round(x / column_width), text_line))
        figure.draw(figure.text(x, y, mark.letter))


Marked = list[tuple[str, Series]]


def _mark_curves(chart: Chart) -> tuple[Marked, Sequence[Series], Marked]:
    """Return curves with their own marker and a name, curves that share one, and references."""
    curves = [series for series in chart.series if not series.letter]
    references = [(series.letter, series) for series in chart.series if series.letter]
    named_count = len(curves) if len(curves) <= MOST_NAMED else FEW_NAMED_CURVES
    labelled_curves = list(zip(MARKERS, curves[:named_count], strict=False))
    return labelled_curves, curves[named_count:], references


def _key_lines(chart: Chart, width: int) -> list[str]:
    """Return the lines below curves: what each marker means, and the notes."""
    labelled_curves, unnamed_curves, references = _mark_curves(chart)
    cut_names = shorten_names_apart(
        [printable(curve.name) for _, curve in labelled_curves], width // 3
    )
    meanings = []
    for index, (marker, curve) in enumerate(labelled_curves):
        meaning = f"{marker} {cut_names[printable(curve.name)]}"
        covering_markers = [
            marker_on_top
            for marker_on_top, curve_on_top in labelled_curves[:index]
            if curve_on_top.parts == curve.parts
        ]
        if chart.x.range and not curve.parts:
            meaning += " (no value)"
        elif chart.x.range and covering_markers:
            # curves that fall into one are drawn over one another
            meaning += f" (under {covering_markers[0]})"
        meanings.append(meaning)
    meanings += [f"{UNNAMED_MARKER} {len(unnamed_curves)} others"] if unnamed_curves else []
    meanings += [f"{letter} {reference.name}" for letter, reference in references]
    notes = ["   ".join(meaning.replace(" ", TIE) for meaning in meanings)]
    for note in chart.key:
        short_names = (shorten_name(printable(name), width // 3) for name in note.names)
        notes.append(note.text.format(*short_names))
    return fold_notes(notes, width=width)


@dataclass(frozen=True, slots=True)
class PointGrid:
    """The cells of a plot of points: the limits of each axis, and how many cells it has."""

    limits: Sequence[Point]
    sizes: tuple[int, int]

    def cell(self, point: Point) -> tuple[int, int]:
        """Return column and line of a point; plotext rounds half a line down, ticks too."""
        x, y = (
            (value - low) / (high - low) * (size - 1)
            for value, (low, high), size in zip(point, self.limits, self.sizes, strict=True)
        )
        return round(x), ceil(y - 0.5)

    def middles(self, cells: Sequence[tuple[int, int]], axis: int) -> list[float]:
        """Return the values on an axis, 0 or 1, in the middle of cells."""
        low, high = self.limits[axis]
        return [low + (high - low) * cell[axis] / (self.sizes[axis] - 1) for cell in cells]


def draw_points(chart: Chart, *, width: int, color: bool) -> list[str]:
    """Draw a letter for each series at its point; the first of those that share a cell."""
    points = [(point, series) for series in chart.series for point in _points_of(series)]
    limits = [
        _limits_with_room(values) for values in zip(*(point for point, _ in points), strict=True)
    ]
    ticks = [height_ticks(*axis_limits, log=False) for axis_limits in limits]
    # without the frame: labels of heights at the side, the line of ticks and the label below
    column_count = width - max(map(len, ticks[1][1]), default=0) - 2
    grid = PointGrid(limits, (column_count, HEIGHT - 4))
    series_by_cell: dict[tuple[int, int], list[Series]] = {}
    for point, series in points:  # those without a name come last, and are covered
        series_by_cell.setdefault(grid.cell(point), []).append(series)
    figure = _new_figure("", width, HEIGHT)
    _draw_cells(
        figure, grid, {cell: cell_series[0].letter for cell, cell_series in series_by_cell.items()}
    )
    for axis, axis_limits, axis_ticks in zip("xy", limits, ticks, strict=True):
        _set_axis(figure, axis, axis_limits, axis_ticks)
    figure.label(chart.x.label, axis="x")
    title = fold_notes([chart.title], width=width)
    notes = fold_notes(_notes_of_points(chart, series_by_cell.values()), width=width)
    return [*title, *_figure_lines(figure, color), *_key_of_points(chart, width), *notes]


def _draw_cells(
    figure: plotext_plot.plot_class, grid: PointGrid, letter_of_cell: Mapping[tuple[int, int], str]
) -> None:
    """Draw letters in the middle of their cells."""
    for letter in sorted({*letter_of_cell.values()}):
        cells = [cell for cell, cell_letter in letter_of_cell.items() if cell_letter == letter]
        signal = figure.signal(grid.middles(cells, 0), grid.middles(cells, 1), marker=letter)
        figure.draw(signal)


def _limits_with_room(values: Sequence[float]) -> Point:
    """Return the limits of an axis with some room around its values."""
    low = min(values)
    high = max(values)
    room = 0.04 * (high - low) if high > low else 0.01
    return low - room, high + room


def _key_of_points(chart: Chart, width: int) -> list[str]:
    """Return the lines that say which model each letter is, with the coordinates of its point."""
    entries = []
    for series in chart.series:
        if series.name:
            numbers = tuple(format_number(value, DIGITS) for value in series.parts[0][0])
            entries.append(KeyEntry(series.letter, series.name, numbers))
    headings = ("model", chart.x.label, chart.y.label)
    return key_lines(headings, entries, width=width, color=False)


def _notes_of_points(chart: Chart, series_of_cells: Iterable[Sequence[Series]]) -> list[str]:
    """Return the notes of a chart of points, and which letters share a cell."""
    notes = [note.text for note in chart.key]
    letters_by_cell = (
        [series.letter for series in cell_series if series.name] for cell_series in series_of_cells
    )
    shared_cell_texts = [
        f"{', '.join(letters)} at the same place" for letters in letters_by_cell if len(letters) > 1
    ]
    if shared_cell_texts:
        notes.append(f"{'; '.join(shared_cell_texts)} (the first is shown)")
    return notes


def _set_axis(
    figure: plotext_plot.plot_class,
    axis: str,
    limits: Point,
    ticks: tuple[Sequence[float], list[str]],
) -> None:
    figure.ruler(axis).lim(*limits)
    figure.ruler(axis).ticks(*ticks)


def _new_figure(title: str, width: int, height: int) -> plotext_plot.plot_class:
    import plotext

    plotext.terminal.limit(False, False)
    figure = plotext.figure.clear()
    figure.theme("colorless")
    figure.plot_size(width, height)
    figure.title(title)
    return figure


def _figure_lines(figure: plotext_plot.plot_class, color: bool) -> list[str]:
    return str(figure.build().string(colorless=not color)).splitlines()


def draw_matrix(chart: Chart, **_: object) -> list[str]:
    """Draw a matrix as blocks whose height is the value, 0 to the largest; the diagonal in [ ]."""
    values = (value for row in chart.series for value in row.values)
    largest_value = max((value for value in values if value is not None), default=0.0)
    name_width = max(len(row.name) for row in chart.series) + 4
    column_numbers = "".join(f"{column_index + 1:^5}" for column_index in range(len(chart.series)))
    lines = [chart.title, " " * name_width + column_numbers]
    for row_index, row in enumerate(chart.series):
        row_text = ""
        for column_index, value in enumerate(row.values):
            shade_index = (
                max(1, round(value / largest_value * (len(SHADES) - 1)))
                if value and value > 0
                else 0
            )
            block = "?" if value is None else SHADES[shade_index]
            row_text += f" [{block}] " if row_index == column_index else f"  {block}  "
        lines.append(f"{row_index + 1:>2} {row.name:<{name_width - 3}}{row_text}")
    return [*lines, f"{' ' * name_width}blank is 0, █ is {largest_value:.3f}"]


def draw_profile(chart: Chart, *, width: int, **_: object) -> list[str]:
    """Draw every value as a bar with its number, models side by side."""
    metric_count = len(chart.series[0].values)
    names = [printable(name) for name in chart.names[:metric_count]]
    cells_of_model = {
        series.name: list(map(_profile_cell, series.values)) for series in chart.series
    }
    cell_width = max(cell_len(cell) for column in cells_of_model.values() for cell in column)
    name_width = max(4, min(MAX_NAME_WIDTH, max(map(cell_len, names)), width - GAP - cell_width))
    models_per_block = max(1, (width - name_width) // (cell_width + GAP))
    models = list(cells_of_model)[: models_per_block * max(1, PROFILE_LINES // (metric_count + 3))]

    def format_line(name: str, row_cells: Sequence[str]) -> str:
        padded_cells = [set_cell_size(name, name_width)]
        padded_cells += [set_cell_size(cell, cell_width) for cell in row_cells]
        return (" " * GAP).join(padded_cells)

    lines = fold_notes([chart.title], width=width)
    for block_start in range(0, len(models), models_per_block):
        block_models = models[block_start : block_start + models_per_block]
        lines += [
            "",
            format_line("", [shorten_name(printable(model), cell_width) for model in block_models]),
        ]
        lines.append(format_line("", [f"0{'1':>{BAR_CELLS - 1}}" for _ in block_models]))
        for metric_index, name in enumerate(names):
            row_cells = [cells_of_model[model][metric_index] for model in block_models]
            lines.append(format_line(shorten_name(name, name_width), row_cells))
    omitted_counts = {
        "more metric": len(chart.names) - metric_count,
        "more model": chart.left + len(cells_of_model) - len(models),
    }
    omission_note = ", ".join(
        format_count(count, noun) for noun, count in omitted_counts.items() if count
    )
    return lines + (
        fold_notes([f"{omission_note}: {chart.key[0].text}"], width=width) if omission_note else []
    )


def _profile_cell(value: float | None) -> str:
    """Return a value of a profile as a bar with its number."""
    return "?" if value is None else f"{draw_bar(value, BAR_CELLS)} {format_number(value, DIGITS)}"


def draw_radars(chart: Chart, *, width: int, color: bool) -> list[str]:
    """Draw a radar for each of the first models, as many as fit."""
    max_radars = (width + GAP) // (2 * (MIN_RADIUS + MARGIN) + 1 + GAP)
    models = chart.series[:max_radars]
    if not models:
        return []
    panel_width = (width + GAP) // len(models) - GAP
    radius = min(MAX_RADIUS, (panel_width - 1) // 2 - MARGIN)
    headings = []
    panels = []
    for model in models:
        ray_values = [value or 0.0 for value in model.values]
        canvas = draw_radar(ray_values, chart.weights, radius, marker_color(model.letter))
        suffix = f" {model.words}" if model.words else ""
        name = shorten_name(printable(model.name), canvas.columns - 2 - len(suffix))
        headings.append([f"{model.letter} {name}{suffix}"])
        panels.append(canvas.render(color=color))
    lines = [line.rstrip() for line in side_by_side_lines(panels, panel_width + GAP)]
    inked_rows = [row_index for row_index, line in enumerate(lines) if line]
    return [
        *fold_notes([chart.title], width=width),
        "",
        *side_by_side_lines(headings, panel_width + GAP),
        *lines[inked_rows[0] : inked_rows[-1] + 1],
        *fold_notes([_key_of_rays(chart, width)], width=width),
    ]


def _key_of_rays(chart: Chart, width: int) -> str:
    """Return the sentence that says which metric each ray of a radar is."""
    names = [
        f"{number} {shorten_name(printable(metric), width // 2)}".replace(" ", TIE)
        for number, metric in enumerate(chart.names, start=1)
    ]
    scaling_note = ", scaled by weight" if len(set(chart.weights)) > 1 else ""
    return f"rays, clockwise from the top{scaling_note}: {'   '.join(names)}"


def draw_radar(
    fractions: Sequence[float], lengths: Sequence[float], radius: int, style: str = ""
) -> Canvas:
    """Draw one polygon: rays of these lengths, 1 the longest, each filled up to its fraction."""
    columns = 2 * (radius + MARGIN) + 1
    canvas = Canvas(columns, radius + 3, -(radius + MARGIN) / radius, 1 + 2 / radius, radius)
    rim_corners = [_point_on_ray(ray, len(fractions), length) for ray, length in enumerate(lengths)]
    filled_lengths = [
        length * fraction for length, fraction in zip(lengths, fractions, strict=True)
    ]
    filled_corners = [
        _point_on_ray(ray, len(fractions), length) for ray, length in enumerate(filled_lengths)
    ]
    canvas.dots([*rim_corners, rim_corners[0]], Ink("·"))
    for (column, row), quarters in _filled_quarters(canvas, filled_corners).items():
        canvas.set_cell(column, row, Ink(QUARTERS[quarters], 1, style))
    for ray, length in enumerate(lengths):
        column, row = canvas.cell(*_point_on_ray(ray, len(fractions), length + 2.5 / radius))
        ray_number = str(ray + 1)
        canvas.text(column - len(ray_number) // 2, row, ray_number, Ink("", 2))
    return canvas


def _filled_quarters(canvas: Canvas, corners: Sequence[Point]) -> dict[tuple[int, int], int]:
    """Return which quarters of which cells lie in a polygon around the middle, or on its rays."""
    quarters_of_cell: dict[tuple[int, int], int] = {}

    def fill_quarter(x: int, y: int) -> None:
        cell = x // 2, y // 2
        quarters_of_cell[cell] = quarters_of_cell.get(cell, 0) | 1 << (x % 2 + 2 * (y % 2))

    # coordinates are counted in quarters from here on
    center, *vertices = [
        (2 * column + 1, 2 * row + 1)
        for column, row in (canvas.place(*point) for point in ((0.0, 0.0), *corners))
    ]
    sides = list(zip(vertices, [*vertices[1:], vertices[0]], strict=True))
    for y in range(2 * canvas.rows):
        for x in range(2 * canvas.columns):
            crossings = [
                side_start[0]
                + (side_end[0] - side_start[0])
                * (y + 0.5 - side_start[1])
                / (side_end[1] - side_start[1])
                for side_start, side_end in sides
                if (side_start[1] > y + 0.5) != (side_end[1] > y + 0.5)
            ]
            if sum(crossing > x + 0.5 for crossing in crossings) % 2:
                fill_quarter(x, y)
    for vertex in vertices:
        step_count = ceil(max(abs(vertex[0] - center[0]), abs(vertex[1] - center[1]), 1))
        for i in range(step_count + 1):
            fill_quarter(
                *(
                    floor(start + (stop - start) * i / step_count)
                    for start, stop in zip(center, vertex, strict=True)
                )
            )
    return quarters_of_cell


def _point_on_ray(ray: int, rays: int, length: float) -> Point:
    """Return a point on a ray; the first ray is vertical, the others follow clockwise."""
    angle = pi / 2 - 2 * pi * ray / rays
    return length * cos(angle), length * sin(angle)


DRAW: Mapping[str, Callable[..., list[str]]] = {
    "bars": draw_bars,
    "lines": draw_lines,
    "points": draw_points,
    "cells": draw_matrix,
    "profile": draw_profile,
    "radar": draw_radars,
}
