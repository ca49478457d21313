"""Plots on a terminal, readable without colour: all charts of a page, in characters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import ceil, cos, floor, pi, sin
from typing import Any

from rich.cells import cell_len, set_cell_size

from clfeval.document import Document
from clfeval.formatting import DIGITS, format_count, format_number, printable
from clfeval.pages.chart import FEW_NAMED_CURVES, MOST_NAMED, Chart, Point, Series
from clfeval.pages.command_pages import page_of
from clfeval.pages.schema import ALL, PLOTS
from clfeval.pages.table_parts import draw_bar
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
    one: bool = False,
    width: int | None = None,
    color: bool = False,
) -> str:
    """Return the named plots as text; without names nothing, or with `one` that of `draw_plots`."""
    named = not {ALL, PLOTS, *page_of(result.command).plots}.isdisjoint(names)
    width = max(min(width or USUAL, BROADEST), NARROWEST)
    return draw_plots(result, names, width=width, color=color) if named or one else ""


def draw_chart(chart: Chart, *, width: int, color: bool) -> str:
    """Return one chart as text, as wide as the screen."""
    lines = DRAW[chart.kind](chart, width=width, color=color)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def draw_bars(chart: Chart, *, width: int, color: bool) -> list[str]:
    """Draw horizontal bars, longest first, with the number at each bar's end in its label."""
    named = [(one.name, value) for one in chart.series for value in one.values if value is not None]
    order = sorted(named, key=lambda bar: -bar[1])[:MOST_BARS][::-1]
    values = [value for _, value in order]
    figure = _new_figure(chart.title, width, max(len(order), 2) + 4)
    places = list(range(1, len(order) + 1))
    figure.draw(figure.bar(places, values, orientation="horizontal", width=0.2))
    most = max([*values, 1])
    at = list(range(0, int(most) + 1, max(1, -(-int(most) // 6))))
    _set_axis(figure, "x", (0, most), (at, [str(tick) for tick in at]))
    # plotext puts the limits in the middle of the first and the last line: one line is one bar
    cut = shorten_names_apart([printable(name) for name, _ in order], width // 3)
    labels = [f"{cut[printable(name)]} {value:g}" for name, value in order]
    _set_axis(figure, "y", (1, max(len(order), 2)), (places, labels))
    return _figure_lines(figure, color)


def draw_lines(chart: Chart, *, width: int, color: bool) -> list[str]:
    """Draw named curves, each with its own marker, marks over them, and a key below."""
    heights = [y for one in chart.series for part in one.parts for _, y in part]
    low, high = chart.y.range or (min(heights), max(heights))
    if low == high:
        low, high = low - 0.5, high + 0.5
    top = high if chart.y.range else high + ROOM * (high - low)
    figure = _new_figure(chart.title, width, HEIGHT)
    for mark in chart.marks:
        if mark.y is None:
            dots = [low + (top - low) * i / (4 * HEIGHT) for i in range(4 * HEIGHT + 1)]
            figure.draw(figure.signal([mark.x] * len(dots), dots, marker="·"))
    named, others, references = _mark_curves(chart)
    for marker, one in (*references, *((OTHERS, one) for one in others), *named[::-1]):
        for part in one.parts:
            signal = figure.signal([x for x, _ in part], [y for _, y in part], marker=marker)
            signal.lines(True)
            figure.draw(signal)
    ends = chart.x.range or (0.0, 1.0)
    step, taken = (ends[1] - ends[0]) / max(width - FRAME, 1), set[tuple[int, float]]()
    for mark in chart.marks:  # a letter whose place is taken is put next to it
        x, y = mark.x, top if mark.y is None else mark.y
        line = round(HEIGHT * (y - low) / (top - low))
        while (column := round(x / step), line) in taken:
            x += step if x + step <= ends[1] else -step * len(taken)
        taken.add((column, line))
        figure.draw(figure.text(x, y, mark.letter))
    if chart.x.range:  # else plotext finds round numbers
        across = (
            odds_ticks(ends, chart.x.names, width - 12)
            if chart.x.scale == "odds"
            else height_ticks(*ends, log=False, steps=TENTHS)
        )
        _set_axis(figure, "x", ends, across)
        log, steps = chart.y.scale == "log", TENTHS if chart.y.range else TICKS
        _set_axis(figure, "y", (low, top), height_ticks(low, high, log=log, steps=steps))
    figure.label(chart.x.label, axis="x")
    return [*_figure_lines(figure, color), *_key_lines(chart, width)]


Marked = list[tuple[str, Series]]


def _mark_curves(chart: Chart) -> tuple[Marked, Sequence[Series], Marked]:
    """Return the curves with a marker and a name, the rest, which share one, and references."""
    every = [one for one in chart.series if not one.letter]
    few = len(every) if len(every) <= MOST_NAMED else FEW_NAMED_CURVES
    references = [(one.letter, one) for one in chart.series if one.letter]
    return list(zip(MARKERS, every[:few], strict=False)), every[few:], references


def _key_lines(chart: Chart, width: int) -> list[str]:
    named, others, references = _mark_curves(chart)
    cut = shorten_names_apart([printable(one.name) for _, one in named], width // 3)
    names = []
    for i, (marker, one) in enumerate(named):
        name = f"{marker} {cut[printable(one.name)]}"
        over = [above for above, other in named[:i] if other.parts == one.parts]
        if chart.x.range and not one.parts:
            name += " (no value)"
        elif chart.x.range and over:  # curves that fall into one are drawn over one another
            name += f" (under {over[0]})"
        names.append(name)
    names += [f"{OTHERS} {len(others)} others"] if others else []
    names += [f"{letter} {one.name}" for letter, one in references]
    notes = ["   ".join(name.replace(" ", TIE) for name in names)]
    for note in chart.key:
        short = (shorten_name(printable(name), width // 3) for name in note.names)
        notes.append(note.text.format(*short))
    return fold_notes(notes, width=width)


def draw_points(chart: Chart, *, width: int, color: bool) -> list[str]:
    """Draw a letter for each series at its point; the first of those that share a cell."""
    everywhere = [(at, one) for one in chart.series for part in one.parts for at in part]
    axes: list[Point] = []
    for values in zip(*(at for at, _ in everywhere), strict=True):
        low, high = min(values), max(values)
        room = 0.04 * (high - low) if high > low else 0.01
        axes.append((low - room, high + room))
    ticks = [height_ticks(*ends, log=False) for ends in axes]
    # without the frame: labels of heights at the side, the line of ticks and the label below
    columns = width - max(map(len, ticks[1][1]), default=0) - 2
    sizes = (columns, HEIGHT - 4)

    def cell(at: Point) -> tuple[int, ...]:
        x, y = ((v - a) / (b - a) * (n - 1) for v, (a, b), n in zip(at, axes, sizes, strict=True))
        return round(x), ceil(y - 0.5)  # plotext rounds half a line down, ticks too

    placed: dict[tuple[int, ...], list[Series]] = {}
    for at, one in everywhere:  # those without a name come last, and are covered
        placed.setdefault(cell(at), []).append(one)
    figure = _new_figure("", width, HEIGHT)
    for letter in sorted({here[0].letter for here in placed.values()}):
        cells = [place for place, here in placed.items() if here[0].letter == letter]
        middles = (
            [a + (b - a) * place[i] / (sizes[i] - 1) for place in cells]
            for i, (a, b) in enumerate(axes)
        )
        figure.draw(figure.signal(*middles, marker=letter))
    for axis, ends, labelled in zip("xy", axes, ticks, strict=True):
        _set_axis(figure, axis, ends, labelled)
    figure.label(chart.x.label, axis="x")
    entries = [
        KeyEntry(one.letter, one.name, tuple(format_number(x, DIGITS) for x in one.parts[0][0]))
        for one in chart.series
        if one.name
    ]
    shared = ([one.letter for one in here if one.name] for here in placed.values())
    same = [f"{', '.join(letters)} at the same place" for letters in shared if len(letters) > 1]
    notes = [note.text for note in chart.key]
    notes += [f"{'; '.join(same)} (the first is shown)"] if same else []
    head = ("model", chart.x.label, chart.y.label)
    key = key_lines(head, entries, width=width, color=False)
    above, below = fold_notes([chart.title], width=width), fold_notes(notes, width=width)
    return [*above, *_figure_lines(figure, color), *key, *below]


def _set_axis(
    figure: Any, axis: str, limits: Point, ticks: tuple[Sequence[float], list[str]]
) -> None:
    figure.ruler(axis).lim(*limits)
    figure.ruler(axis).ticks(*ticks)


def _new_figure(title: str, width: int, height: int) -> Any:
    import plotext

    plotext.terminal.limit(False, False)
    figure = plotext.figure.clear()
    figure.theme("colorless")
    figure.plot_size(width, height)
    figure.title(title)
    return figure


def _figure_lines(figure: Any, color: bool) -> list[str]:
    return str(figure.build().string(colorless=not color)).splitlines()


def draw_matrix(chart: Chart, **_: object) -> list[str]:
    """Draw a matrix as blocks whose height is the value, 0 to the largest; the diagonal in [ ]."""
    values = [one.values for one in chart.series]
    top = max((value for row in values for value in row if value is not None), default=0.0)
    wide = max(len(one.name) for one in chart.series) + 4
    lines = [chart.title, " " * wide + "".join(f"{j + 1:^5}" for j in range(len(values)))]
    for i, one in enumerate(chart.series):
        drawn = ""
        for j, value in enumerate(one.values):
            step = max(1, round(value / top * (len(SHADES) - 1))) if value and value > 0 else 0
            block = "?" if value is None else SHADES[step]
            drawn += f" [{block}] " if i == j else f"  {block}  "
        lines.append(f"{i + 1:>2} {one.name:<{wide - 3}}{drawn}")
    return [*lines, f"{' ' * wide}blank is 0, █ is {top:.3f}"]


def draw_profile(chart: Chart, *, width: int, **_: object) -> list[str]:
    """Draw every value as a bar with its number, models side by side."""
    shown = len(chart.series[0].values)
    names = [printable(name) for name in chart.names[:shown]]

    def cell(value: float | None) -> str:
        return "?" if value is None else f"{draw_bar(value, CELLS)} {format_number(value, DIGITS)}"

    cells = {one.name: list(map(cell, one.values)) for one in chart.series}
    widest = max(cell_len(cell) for column in cells.values() for cell in column)
    wide = max(4, min(WIDEST, max(map(cell_len, names)), width - GAP - widest))
    fit = max(1, (width - wide) // (widest + GAP))
    models = list(cells)[: fit * max(1, LINES // (shown + 3))]

    def line(first: str, others: Sequence[str]) -> str:
        cut = [set_cell_size(first, wide), *(set_cell_size(other, widest) for other in others)]
        return (" " * GAP).join(cut)

    lines = fold_notes([chart.title], width=width)
    for start in range(0, len(models), fit):
        here = models[start : start + fit]
        lines += ["", line("", [shorten_name(printable(model), widest) for model in here])]
        lines.append(line("", [f"0{'1':>{CELLS - 1}}" for _ in here]))
        for i, name in enumerate(names):
            lines.append(line(shorten_name(name, wide), [cells[model][i] for model in here]))
    left = [
        (len(chart.names) - shown, "more metric"),
        (chart.left + len(cells) - len(models), "more model"),
    ]
    notes = ", ".join(format_count(count, what) for count, what in left if count)
    return lines + (fold_notes([f"{notes}: {chart.key[0].text}"], width=width) if notes else [])


def draw_radars(chart: Chart, *, width: int, color: bool) -> list[str]:
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
        canvas = draw_radar(values, chart.weights, radius, marker_color(one.letter))
        words = f" {one.words}" if one.words else ""
        name = shorten_name(printable(one.name), canvas.columns - 2 - len(words))
        heads.append(f"{one.letter} {name}{words}")
        panels.append(canvas.render(color=color))
    names = [
        f"{i} {shorten_name(printable(m), width // 2)}".replace(" ", TIE)
        for i, m in enumerate(chart.names, start=1)
    ]
    weighted = ", scaled by weight" if len(set(chart.weights)) > 1 else ""
    key = f"rays, clockwise from the top{weighted}: {'   '.join(names)}"
    wide = room + GAP
    drawn = [line.rstrip() for line in side_by_side_lines(panels, wide)]
    inked = [i for i, line in enumerate(drawn) if line]
    above, below = fold_notes([chart.title], width=width), fold_notes([key], width=width)
    named = side_by_side_lines([[head] for head in heads], wide)
    return [*above, "", *named, *drawn[inked[0] : inked[-1] + 1], *below]


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
    middle, *placed = [
        (2 * column + 1, 2 * row + 1)
        for column, row in (canvas.place(*at) for at in ((0.0, 0.0), *corners))
    ]
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
