"""Plots of a ranking, readable without colour: profiles as bars, radars, spread against score."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from clfeval.result import Result, Row
from clfeval.views.diamond_key import notes_lines, short
from clfeval.views.mlcps_look import ARROWS, Best, bar, many, rays
from clfeval.views.rows import DIGITS, number, plain, value_of

LETTERED = 26  # models with a letter
MODELS = 8  # in the profile
METRICS = 40
LINES = 45  # of all blocks of the profile, about
CELLS = 10  # of a bar
WIDEST = 28  # columns for the name of a metric, at most
GAP = 2


def mlcps_plots(result: Result, *, width: int = 80, color: bool = False) -> str:
    """Draw what the ranking rests on; every model has a letter, so that nothing needs colour."""
    from clfeval.views.mlcps_radar import radars
    from clfeval.views.mlcps_scatter import scatter

    best = Best.of(result, LETTERED)
    parts = [
        profile(result, best, width=width),
        radars(result, best, width=width, color=color),
        scatter(result, best, width=width, color=color),
    ]
    return "\n".join(part for part in parts if part)


def profile(result: Result, best: Best, *, width: int) -> str:
    """Draw every metric of the best models as a bar with its number, models side by side."""
    best = best.few(MODELS)
    columns = best.blocks(result.tables["profile"])
    wanted = rays(result)
    if not wanted or not best.rows:
        return ""
    metrics = [_metric(result, name) for name in wanted[:METRICS]]
    cells = {name: _cells(rows, wanted[:METRICS]) for name, rows in columns.items()}
    widest = max(cell_len(cell) for column in cells.values() for cell in column)
    wide = max(4, min(WIDEST, max(map(cell_len, metrics)), width - GAP - widest))
    fit = max(1, (width - wide) // (widest + GAP))
    names = list(columns)[: fit * max(1, LINES // (len(metrics) + 3))]
    lines = notes_lines(["Metrics as they enter the score: 0 to 1, higher is better"], width=width)
    for start in range(0, len(names), fit):
        lines += ["", *_block(names[start : start + fit], metrics, cells, wide, widest)]
    notes = []
    if len(wanted) > METRICS:
        notes.append(f"{many(len(wanted) - METRICS, 'more metric')}")
    if result.summary["models"] > len(names):
        notes.append(f"{many(result.summary['models'] - len(names), 'more model')}")
    if notes:
        left = f"{', '.join(notes)}: --format csv --table profile"
        lines += notes_lines([left], width=width)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _block(
    names: Sequence[str],
    metrics: Sequence[str],
    cells: dict[str, list[str]],
    wide: int,
    widest: int,
) -> list[str]:
    """Draw the models that fit side by side, with a scale under their names."""
    gap = " " * GAP

    def line(first: str, others: Sequence[str]) -> str:
        return gap.join([set_cell_size(first, wide), *(set_cell_size(o, widest) for o in others)])

    scale = f"0{'1':>{CELLS - 1}}"
    return [
        line("", [short(plain(name), widest) for name in names]),
        line("", [scale for _ in names]),
        *(line(short(metric, wide), [cells[name][i] for name in names])
          for i, metric in enumerate(metrics)),
    ]  # fmt: skip


def _cells(rows: Sequence[Row], metrics: Sequence[str]) -> list[str]:
    values = {str(row["metric"]): _share(row) for row in rows}
    return [_cell(values.get(metric)) for metric in metrics]


def _cell(value: float | None) -> str:
    return f"{bar(value, CELLS)} {number(value, DIGITS)}" if value is not None else "?"


def _share(row: Row) -> float | None:
    cell = row["d"]
    return float(cell) if isinstance(cell, (int, float)) else value_of(cell)


def _metric(result: Result, name: str) -> str:
    """Name a metric; one that was flipped stands here as 1 - value, so it is marked."""
    way = result.parameters["directions"].get(name, "max")
    return f"{plain(name)}{' ' + ARROWS['min'] + ' flipped' if way == 'min' else ''}"
