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
MOST_BARS = 30
OTHERS, HEIGHT = ".", 20  # of curves without a name
USUAL, BROADEST, NARROWEST = 80, 120, 20  # default columns; at most, at least
FRAME = 10  # columns next to a plot, about
ROOM = 0.08  # of the height, on top, for letters
SHADES = " ▁▂▃▄▅▆▇█"
LINES = 45  # of all blocks of a profile, about
CELLS = 10  # of a bar
WIDEST = 28  # columns for the name of a metric, at most
LARGEST, SMALLEST = 16, 8  # columns from the middle of a radar to its rim
MARGIN = 3  # columns next to the rim, for the numbers of the rays
QUARTERS = " ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"  # by which quarters of a cell are filled: 1 2 above, 4 8 below
GAP = 2


def draw_plots(
    result: Document, names: Collection[str] = (PLOTS,), *, width: int = 80, color: bool = False
) -> str:
    """Return the plots with these names; without names the first that adds to the tables."""
    page = page_of(result.command)
    every = not {ALL, PLOTS}.isdisjoint(names)
    if page.command == "phidelta":
        from clfeval.views.diamond.drawing import phidelta_plots

        every = every or not set(page.plots).isdisjoint(names)
        return phidelta_plots(result, width=width, color=color, every=every)
    charts: Iterable[Chart] = page.charts(result)
    if not every and set(page.plots).isdisjoint(names):
        charts = islice((chart for chart in charts if chart.rank != "detail"), 1)
    elif not every:
        charts = (chart for chart in charts if chart.name in names)
    parts = []
    for chart in charts:
        key = tuple(replace(note, text=fill_for_caller(result, note.text)) for note in chart.key)
        parts.append(draw_chart(replace(chart, key=key), width=width, color=color))
    return "\n".join(filter(None, parts))


def draw_requested_plots(
    result: Document,
    names: Collection[str],
    *,
    by_default: bool = False,
    width: int | None = None,
    color: bool = False,
) -> str:
    """Return the named plots as text; without names nothing, or that of `draw_plots` by default."""
    requested = not {ALL, PLOTS, *page_of(result.command).plots}.isdisjoint(names)
    if not requested and not by_default:
        return ""
    width = max(min(width or USUAL, BROADEST), NARROWEST)
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
    rising = sorted(bars, key=lambda bar: -bar[1])[:MOST_BARS][::-1]
    values = [value for _, value in rising]
    figure = _new_figure(chart.title, width, max(len(rising), 2) + 4)
    places = list(range(1, len(rising) + 1))
    figure.draw(figure.bar(places, values, orientation="horizontal", width=0.2))
    longest = max([*values, 1])
    ticks = list(range(0, int(longest) + 1, max(1, -(-int(longest) // 6))))
    _set_axis(figure, "x", (0, longest), (ticks, [str(tick) for tick in ticks]))
    # plotext puts the limits in the middle of the first and the last line: one line is one bar
    cut = shorten_names_apart([printable(name) for name, _ in rising], width // 3)
    labels = [f"{cut[printable(name)]} {value:g}" for name, value in rising]
    _set_axis(figure, "y", (1, max(len(rising), 2)), (places, labels))
    return _figure_lines(figure, color)


def draw_lines(chart: Chart, *, width: int, color: bool) -> list[str]:
    """Draw named curves, each with its own marker, marks over them, and a key below."""
    low, high = _height_limits(chart)
    top = high if chart.y.range else high + ROOM * (high - low)
    figure = _new_figure(chart.title, width, HEIGHT)
    for mark in chart.marks:
        if mark.y is None:
            dots = [low + (top - low) * i / (4 * HEIGHT) for i in range(4 * HEIGHT + 1)]
            figure.draw(figure.signal([mark.x] * len(dots), dots, marker="·"))
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
    labelled, others, references = _mark_curves(chart)
    unnamed = [(OTHERS, curve) for curve in others]
    for marker, curve in (*references, *unnamed, *labelled[::-1]):
        for part in curve.parts:
            signal = figure.signal([x for x, _ in part], [y for _, y in part], marker=marker)
            signal.lines(True)
            figure.draw(signal)


def _draw_letters(
    figure: plotext_plot.plot_class, chart: Chart, heights: Point, width: int
) -> None:
    """Draw the letter of each mark at its point, or on top; next to a letter that is there."""
    start, end = chart.x.range or (0.0, 1.0)
    low, top = heights
    column_width = (end - start) / max(width - FRAME, 1)
    cells: set[tuple[int, int]] = set()
    for mark in chart.marks:
        x = mark.x
        y = top if mark.y is None else mark.y
        line = round(HEIGHT * (y - low) / (top - low))
        while (round(x / column_width), line) in cells:
            x += column_width if x + column_width <= end else -column_width * len(cells)
        cells.add((round(x / column_width), line))
        figure.draw(figure.text(x, y, mark.letter))


Marked = list[tuple[str, Series]]


def _mark_curves(chart: Chart) -> tuple[Marked, Sequence[Series], Marked]:
    """Return the curves with a marker and a name, the rest, which share one, and references."""
    curves = [series for series in chart.series if not series.letter]
    references = [(series.letter, series) for series in chart.series if series.letter]
    with_name = len(curves) if len(curves) <= MOST_NAMED else FEW_NAMED_CURVES
    labelled = list(zip(MARKERS, curves[:with_name], strict=False))
    return labelled, curves[with_name:], references


def _key_lines(chart: Chart, width: int) -> list[str]:
    """Return the lines below curves: what each marker means, and the notes."""
    labelled, others, references = _mark_curves(chart)
    cut = shorten_names_apart([printable(curve.name) for _, curve in labelled], width // 3)
    meanings = []
    for i, (marker, curve) in enumerate(labelled):
        meaning = f"{marker} {cut[printable(curve.name)]}"
        covering = [above for above, better in labelled[:i] if better.parts == curve.parts]
        if chart.x.range and not curve.parts:
            meaning += " (no value)"
        elif chart.x.range and covering:  # curves that fall into one are drawn over one another
            meaning += f" (under {covering[0]})"
        meanings.append(meaning)
    meanings += [f"{OTHERS} {len(others)} others"] if others else []
    meanings += [f"{letter} {reference.name}" for letter, reference in references]
    notes = ["   ".join(meaning.replace(" ", TIE) for meaning in meanings)]
    for note in chart.key:
        short = (shorten_name(printable(name), width // 3) for name in note.names)
        notes.append(note.text.format(*short))
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
    columns = width - max(map(len, ticks[1][1]), default=0) - 2
    grid = PointGrid(limits, (columns, HEIGHT - 4))
    series_by_cell: dict[tuple[int, int], list[Series]] = {}
    for point, series in points:  # those without a name come last, and are covered
        series_by_cell.setdefault(grid.cell(point), []).append(series)
    figure = _new_figure("", width, HEIGHT)
    _draw_cells(figure, grid, {cell: sharing[0].letter for cell, sharing in series_by_cell.items()})
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
        cells = [cell for cell, shown_letter in letter_of_cell.items() if shown_letter == letter]
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
    shared = ([series.letter for series in sharing if series.name] for sharing in series_of_cells)
    hidden = [f"{', '.join(letters)} at the same place" for letters in shared if len(letters) > 1]
    if hidden:
        notes.append(f"{'; '.join(hidden)} (the first is shown)")
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
    top = max((value for value in values if value is not None), default=0.0)
    name_width = max(len(row.name) for row in chart.series) + 4
    column_numbers = "".join(f"{j + 1:^5}" for j in range(len(chart.series)))
    lines = [chart.title, " " * name_width + column_numbers]
    for i, row in enumerate(chart.series):
        blocks = ""
        for j, value in enumerate(row.values):
            step = max(1, round(value / top * (len(SHADES) - 1))) if value and value > 0 else 0
            block = "?" if value is None else SHADES[step]
            blocks += f" [{block}] " if i == j else f"  {block}  "
        lines.append(f"{i + 1:>2} {row.name:<{name_width - 3}}{blocks}")
    return [*lines, f"{' ' * name_width}blank is 0, █ is {top:.3f}"]


def draw_profile(chart: Chart, *, width: int, **_: object) -> list[str]:
    """Draw every value as a bar with its number, models side by side."""
    metrics = len(chart.series[0].values)
    names = [printable(name) for name in chart.names[:metrics]]
    cells = {series.name: list(map(_profile_cell, series.values)) for series in chart.series}
    cell_width = max(cell_len(cell) for column in cells.values() for cell in column)
    name_width = max(4, min(WIDEST, max(map(cell_len, names)), width - GAP - cell_width))
    fit = max(1, (width - name_width) // (cell_width + GAP))
    models = list(cells)[: fit * max(1, LINES // (metrics + 3))]

    def line(name: str, row: Sequence[str]) -> str:
        aligned = [set_cell_size(name, name_width)]
        aligned += [set_cell_size(cell, cell_width) for cell in row]
        return (" " * GAP).join(aligned)

    lines = fold_notes([chart.title], width=width)
    for start in range(0, len(models), fit):
        block = models[start : start + fit]
        lines += ["", line("", [shorten_name(printable(model), cell_width) for model in block])]
        lines.append(line("", [f"0{'1':>{CELLS - 1}}" for _ in block]))
        for i, name in enumerate(names):
            row = [cells[model][i] for model in block]
            lines.append(line(shorten_name(name, name_width), row))
    not_drawn = {
        "more metric": len(chart.names) - metrics,
        "more model": chart.left + len(cells) - len(models),
    }
    notes = ", ".join(format_count(count, noun) for noun, count in not_drawn.items() if count)
    return lines + (fold_notes([f"{notes}: {chart.key[0].text}"], width=width) if notes else [])


def _profile_cell(value: float | None) -> str:
    """Return a value of a profile as a bar with its number."""
    return "?" if value is None else f"{draw_bar(value, CELLS)} {format_number(value, DIGITS)}"


def draw_radars(chart: Chart, *, width: int, color: bool) -> list[str]:
    """Draw a radar for each of the first models, as many as fit."""
    fit = (width + GAP) // (2 * (SMALLEST + MARGIN) + 1 + GAP)
    models = chart.series[:fit]
    if not models:
        return []
    room = (width + GAP) // len(models) - GAP
    radius = min(LARGEST, (room - 1) // 2 - MARGIN)
    headings = []
    panels = []
    for model in models:
        lengths = [value or 0.0 for value in model.values]
        canvas = draw_radar(lengths, chart.weights, radius, marker_color(model.letter))
        words = f" {model.words}" if model.words else ""
        name = shorten_name(printable(model.name), canvas.columns - 2 - len(words))
        headings.append([f"{model.letter} {name}{words}"])
        panels.append(canvas.render(color=color))
    lines = [line.rstrip() for line in side_by_side_lines(panels, room + GAP)]
    inked = [i for i, line in enumerate(lines) if line]
    return [
        *fold_notes([chart.title], width=width),
        "",
        *side_by_side_lines(headings, room + GAP),
        *lines[inked[0] : inked[-1] + 1],
        *fold_notes([_key_of_rays(chart, width)], width=width),
    ]


def _key_of_rays(chart: Chart, width: int) -> str:
    """Return the sentence that says which metric each ray of a radar is."""
    names = [
        f"{i} {shorten_name(printable(metric), width // 2)}".replace(" ", TIE)
        for i, metric in enumerate(chart.names, start=1)
    ]
    weighted = ", scaled by weight" if len(set(chart.weights)) > 1 else ""
    return f"rays, clockwise from the top{weighted}: {'   '.join(names)}"


def draw_radar(
    d: Sequence[float], lengths: Sequence[float], radius: int, style: str = ""
) -> Canvas:
    """Draw one polygon: rays of the lengths given, 1 the longest, each filled up to its d."""
    columns = 2 * (radius + MARGIN) + 1
    canvas = Canvas(columns, radius + 3, -(radius + MARGIN) / radius, 1 + 2 / radius, radius)
    rim = [_point_on_ray(i, len(d), length) for i, length in enumerate(lengths)]
    filled = [length * x for length, x in zip(lengths, d, strict=True)]
    corners = [_point_on_ray(i, len(d), length) for i, length in enumerate(filled)]
    canvas.dots([*rim, rim[0]], Ink("·"))
    for (column, row), quarters in _filled_quarters(canvas, corners).items():
        canvas.set_cell(column, row, Ink(QUARTERS[quarters], 1, style))
    for i, length in enumerate(lengths):
        column, row = canvas.cell(*_point_on_ray(i, len(d), length + 2.5 / radius))
        text = str(i + 1)
        canvas.text(column - len(text) // 2, row, text, Ink("", 2))
    return canvas


def _filled_quarters(canvas: Canvas, corners: Sequence[Point]) -> dict[tuple[int, int], int]:
    """Return which quarters of which cells lie in a polygon around the middle, or on its rays."""
    cells: dict[tuple[int, int], int] = {}

    def fill(x: int, y: int) -> None:
        cell = x // 2, y // 2
        cells[cell] = cells.get(cell, 0) | 1 << (x % 2 + 2 * (y % 2))

    # counted in quarters
    middle, *vertices = [
        (2 * column + 1, 2 * row + 1)
        for column, row in (canvas.place(*point) for point in ((0.0, 0.0), *corners))
    ]
    sides = list(zip(vertices, [*vertices[1:], vertices[0]], strict=True))
    for y in range(2 * canvas.rows):
        for x in range(2 * canvas.columns):
            crossings = [
                a[0] + (b[0] - a[0]) * (y + 0.5 - a[1]) / (b[1] - a[1])
                for a, b in sides
                if (a[1] > y + 0.5) != (b[1] > y + 0.5)
            ]
            if sum(crossing > x + 0.5 for crossing in crossings) % 2:
                fill(x, y)
    for end in vertices:
        steps = ceil(max(abs(end[0] - middle[0]), abs(end[1] - middle[1]), 1))
        for i in range(steps + 1):
            fill(*(floor(m + (e - m) * i / steps) for m, e in zip(middle, end, strict=True)))
    return cells


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
