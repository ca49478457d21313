"""Plots on a terminal: every chart of a page, drawn with what is needed to draw it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from clfeval.pages import page_of
from clfeval.pages.write import DIGITS, bar, many, number, plain
from clfeval.result import Result
from clfeval.schema import Chart
from clfeval.views.text import notes_lines, short

SHADES = " ▁▂▃▄▅▆▇█"
LINES = 45  # of all blocks of a profile, about
CELLS = 10  # of a bar
WIDEST = 28  # columns for the name of a metric, at most
GAP = 2


def plots(result: Result, *, width: int = 80, color: bool = False) -> str:
    """Draw the command's plots; a drawing library is loaded only where one is needed."""
    if result.command == "phidelta":
        from clfeval.views.diamond import phidelta_plots

        return phidelta_plots(result, width=width, color=color)
    charts = page_of(result.command).charts(result)
    parts = (drawn(chart, width=width, color=color) for chart in charts)
    return "\n".join(part for part in parts if part)


def drawn(chart: Chart, *, width: int, color: bool) -> str:
    """Draw one chart, as wide as the screen."""
    if chart.kind in ("cells", "profile"):
        return cells(chart) if chart.kind == "cells" else profile(chart, width=width)
    if chart.kind == "radar":
        from clfeval.views.radar import radars

        return radars(chart, width=width, color=color)
    from clfeval.views import chart as plotted

    draw = {"bars": plotted.bars, "lines": plotted.lines, "points": plotted.points}[chart.kind]
    return draw(chart, width=width, color=color)


def cells(chart: Chart) -> str:
    """Draw a matrix as blocks whose height is the value, 0 to the largest; the diagonal in [ ]."""
    values = [one.values for one in chart.series]
    top = max((value for row in values for value in row if value is not None), default=0.0)
    wide = max(len(one.name) for one in chart.series) + 4
    lines = [chart.title, " " * wide + "".join(f"{j + 1:^5}" for j in range(len(values)))]
    for i, one in enumerate(chart.series):
        drawn = ""
        for j, value in enumerate(one.values):
            block = "?" if value is None else _shade(value, top)
            drawn += f" [{block}] " if i == j else f"  {block}  "
        lines.append(f"{i + 1:>2} {one.name:<{wide - 3}}{drawn}")
    lines.append(f"{' ' * wide}blank is 0, █ is {top:.3f}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _shade(value: float, top: float) -> str:
    if value <= 0 or top <= 0:
        return SHADES[0]
    return SHADES[max(1, round(value / top * (len(SHADES) - 1)))]


def profile(chart: Chart, *, width: int) -> str:
    """Draw every value as a bar with its number, models side by side."""
    shown = len(chart.series[0].values)
    names = [plain(name) for name in chart.names[:shown]]
    cells = {one.name: list(map(_bar, one.values)) for one in chart.series}
    widest = max(cell_len(cell) for column in cells.values() for cell in column)
    wide = max(4, min(WIDEST, max(map(cell_len, names)), width - GAP - widest))
    fit = max(1, (width - wide) // (widest + GAP))
    models = list(cells)[: fit * max(1, LINES // (shown + 3))]

    def line(first: str, others: Sequence[str]) -> str:
        cut = [set_cell_size(first, wide), *(set_cell_size(other, widest) for other in others)]
        return (" " * GAP).join(cut)

    lines = notes_lines([chart.title], width=width)
    for start in range(0, len(models), fit):
        here = models[start : start + fit]
        lines += ["", line("", [short(plain(model), widest) for model in here])]
        lines.append(line("", [f"0{'1':>{CELLS - 1}}" for _ in here]))
        for i, name in enumerate(names):
            lines.append(line(short(name, wide), [cells[model][i] for model in here]))
    left = [(len(chart.names) - shown, "more metric"),
            (chart.left + len(cells) - len(models), "more model")]  # fmt: skip
    notes = ", ".join(many(count, what) for count, what in left if count)
    lines += notes_lines([f"{notes}: {chart.key[0].text}"], width=width) if notes else []
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _bar(value: float | None) -> str:
    return f"{bar(value, CELLS)} {number(value, DIGITS)}" if value is not None else "?"
