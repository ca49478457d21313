"""Plots on a terminal: every chart of a page, drawn with what is needed to draw it."""

from __future__ import annotations

from clfeval.pages import page_of
from clfeval.result import Result
from clfeval.schema import Chart


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
        from clfeval.views import blocks

        return blocks.cells(chart) if chart.kind == "cells" else blocks.profile(chart, width=width)
    if chart.kind == "radar":
        from clfeval.views.radar import radars

        return radars(chart, width=width, color=color)
    from clfeval.views import chart as plotted

    draw = {"bars": plotted.bars, "lines": plotted.lines, "points": plotted.points}[chart.kind]
    return draw(chart, width=width, color=color)
