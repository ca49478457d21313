"""Terminal plots, readable without colour: bars, a cell chart of pairs, curves of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotext

from clfeval.result import Result
from clfeval.views.mars import MATRIX_MODELS, exclusive_columns, pair_cells
from clfeval.views.rows import value_of

MARKERS = "ox+*#@%&$=~^"
SHADES = " ▁▂▃▄▅▆▇█"
MOST_BARS = 30


def mars_plots(result: Result, *, width: int = 80, color: bool = False) -> str:
    """Draw what a MARS result has: exclusive finds and misses, pairs, and the sweep's curves."""
    found, missed = exclusive_columns(result)
    models = [row for row in result.tables["models"] if row["slice"] is None]
    names = [str(row["model"]) for row in models]
    parts = []
    for column, title in (
        (found, "Found by one model alone"),
        (missed, "Missed by one model alone"),
    ):
        values = [float(str(row[column])) for row in models]
        parts.append(bars(title, names, values, width=width, color=color))
    if 3 <= len(models) <= MATRIX_MODELS:
        cells = pair_cells(result, "shine_through")
        parts.append(cell_chart("ShineThrough of pairs (taller is more)", names, cells))
    if "sweep" in result.tables:
        parts += _sweep_plots(result, width=width, color=color)
    return "\n".join(parts)


def bars(
    title: str, names: Sequence[str], values: Sequence[float], *, width: int, color: bool
) -> str:
    """Draw horizontal bars, longest first, with the number at each bar's end in its label."""
    order = sorted(range(len(names)), key=lambda i: (-values[i], i))[:MOST_BARS]
    figure = new_figure(title, width, max(len(order), 2) + 4)
    labels = [f"{_short(names[i], width // 3)} {values[i]:g}" for i in reversed(order)]
    places = list(range(1, len(order) + 1))
    bar = figure.bar(
        places, [values[i] for i in reversed(order)], orientation="horizontal", width=0.2
    )
    figure.draw(bar)
    most = max([*values, 1])
    step = max(1, -(-int(most) // 6))
    ticks = list(range(0, int(most) + 1, step))
    figure.ruler("x").lim(0, most)
    figure.ruler("x").ticks(ticks, [str(tick) for tick in ticks])
    # plotext puts the limits in the middle of the first and the last line: one line is one bar
    figure.ruler("y").lim(1, max(len(order), 2))
    figure.ruler("y").ticks(places, labels)
    return built(figure, color)


def curves(
    title: str,
    label: str,
    lines: Sequence[tuple[str, Sequence[float], Sequence[float]]],
    *,
    width: int,
    color: bool,
) -> str:
    """Draw named curves, each with a marker of its own, and a key below the plot."""
    figure = new_figure(title, width, 20)
    for marker, (_, x, y) in zip(MARKERS, lines, strict=False):
        signal = figure.signal(list(x), list(y), marker=marker)
        signal.lines(True)
        figure.draw(signal)
    figure.label(label, axis="x")
    drawn = built(figure, color)
    key = "   ".join(f"{m} {name}" for m, (name, _, _) in zip(MARKERS, lines, strict=False))
    left = len(lines) - len(MARKERS)
    return f"{drawn}{key}{f'   ({left} more not drawn)' if left > 0 else ''}\n"


def cell_chart(title: str, names: Sequence[str], cells: Sequence[Sequence[object]]) -> str:
    """Draw a matrix as blocks whose height is the value, 0 to the largest; the diagonal in [ ]."""
    values = [[value_of(cell) for cell in row] for row in cells]
    top = max((value for row in values for value in row if value is not None), default=0.0)
    wide = max(len(name) for name in names) + 4
    lines = [title, " " * wide + "".join(f"{j + 1:^5}" for j in range(len(names)))]
    for i, (name, row) in enumerate(zip(names, values, strict=True)):
        drawn = ""
        for j, value in enumerate(row):
            block = "?" if value is None else _shade(value, top)
            drawn += f" [{block}] " if i == j else f"  {block}  "
        lines.append(f"{i + 1:>2} {name:<{wide - 3}}{drawn}")
    lines.append(f"{' ' * wide}blank is 0, █ is {top:.3f}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _sweep_plots(result: Result, *, width: int, color: bool) -> list[str]:
    rows = [row for row in result.tables["sweep"] if row["slice"] is None]
    cut = "top" if rows and "top" in rows[0] else "threshold"
    label = "rows taken from the top" if cut == "top" else cut
    parts = []
    for measure, title in (("shine_through", "ShineThrough"), ("occlusion", "Occlusion")):
        points: dict[str, list[tuple[float, float]]] = {}
        for row in rows:
            value = value_of(row[measure])
            if value is not None:
                points.setdefault(str(row["model"]), []).append((float(str(row[cut])), value))
        lines = [(name, *_steps(line, forward=cut == "top")) for name, line in points.items()]
        if lines:
            count = len({row[cut] for row in rows})
            parts.append(curves(f"{title} at {count} cuts", label, lines, width=width, color=color))
    return parts


def _steps(
    points: Sequence[tuple[float, float]], *, forward: bool
) -> tuple[list[float], list[float]]:
    """Draw what lies between two cuts: the value of the upper threshold, or of the fewer rows."""
    x: list[float] = []
    y: list[float] = []
    for i, (cut, value) in enumerate(points):
        other = points[min(i + 1, len(points) - 1)] if forward else points[max(i - 1, 0)]
        x += sorted((cut, other[0]))
        y += [value, value]
    return x, y


def new_figure(title: str, width: int, height: int) -> Any:
    """Return an empty figure of so many columns and lines."""
    plotext.terminal.limit(False, False)
    figure = plotext.figure.clear()
    figure.theme("colorless")
    figure.plot_size(width, height)
    figure.title(title)
    return figure


def built(figure: Any, color: bool) -> str:
    """Return the text of a figure."""
    return str(figure.build().string(colorless=not color))


def _shade(value: float, top: float) -> str:
    if value <= 0 or top <= 0:
        return SHADES[0]
    return SHADES[max(1, round(value / top * (len(SHADES) - 1)))]


def _short(name: str, most: int) -> str:
    """Cut a name in the middle: versions of a model differ at their ends."""
    if len(name) <= most:
        return name
    half = (most - 1) // 2
    return f"{name[: most - 1 - half]}…{name[-half:]}"
