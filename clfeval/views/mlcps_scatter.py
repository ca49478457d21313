"""Spread against score: every model where its MLcps and the SD of its metrics put it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from clfeval.result import Result
from clfeval.views.diamond_key import Entry, key_lines, notes_lines
from clfeval.views.mlcps_look import Best, estimate, many
from clfeval.views.mlcps_radar import LETTERS
from clfeval.views.plots import built, new_figure
from clfeval.views.rows import DIGITS, number
from clfeval.views.tune_jpt_chart import height_ticks

HEIGHT = 20
DOT = "."
DOTS = 5000  # models without a letter that are drawn
TITLE = "SD of the metrics over MLcps: good and even models are at the lower right"
ROOM = 0.04  # of an axis, beyond the outermost points
ALIKE = 0.01  # half an axis where all values are the same

Point = tuple[float, float]


def scatter(result: Result, best: Best, *, width: int, color: bool) -> str:
    """Draw one letter for each model, the best first; beyond the letters there are dots."""
    lettered = [(letter, row, at) for letter, row in zip(LETTERS, best.rows, strict=False)
                if (at := _point(row))]  # fmt: skip
    if len(lettered) < 2:
        return ""
    table = result.tables["models"]
    points = [at for _, _, at in lettered]
    more = len(table) - len(best.rows)
    step = -(-more // DOTS) or 1
    others = range(0, len(table), step) if more else range(0)
    everywhere = points + [at for i in others if (at := _point(table[i]))]
    frame = Frame(everywhere, width)
    shared: dict[tuple[int, int], list[str]] = {}
    for letter, _, at in lettered:
        shared.setdefault(frame.cell(at), []).append(letter)
    marks = dict.fromkeys(map(frame.cell, everywhere), DOT)
    marks |= {cell: letters[0] for cell, letters in shared.items()}
    entries = [
        Entry(letter, str(row["model"]), tuple(number(value, DIGITS) for value in at))
        for letter, row, at in lettered
    ]
    same = [f"{', '.join(letters)} in one place" for letters in shared.values() if len(letters) > 1]
    sample = f", one of {step} drawn" if step > 1 else ""
    notes = [f"{DOT} {many(more, 'more model')}{sample}"] if more else []
    notes += [f"{'; '.join(same)} (the first is drawn)"] if same else []
    key = [*key_lines(("model", "MLcps", "SD"), entries, width=width, color=False),
           *notes_lines(notes, width=width)]  # fmt: skip
    title = "\n".join(notes_lines([TITLE], width=width))
    lines = [title, *frame.draw(marks, color).splitlines(), *key]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _point(row: Any) -> Point | None:
    x, y = estimate(row, "mlcps"), estimate(row, "sd")
    return None if x is None or y is None else (x, y)


class Frame:
    """The axes, and how many cells there are between them."""

    def __init__(self, points: Sequence[Point], width: int) -> None:
        """Fit the axes to the points."""
        self.width = width
        self.x = _ends([x for x, _ in points])
        self.y = _ends([y for _, y in points])
        empty = self.draw({}, color=False)
        top = re.search("┌(─+)┐", empty)
        self.columns = len(top[1]) if top else 2
        self.rows = max(2, len(re.findall(r"^ *[\d., ]*[│┤]", empty, re.MULTILINE)))

    def cell(self, at: Point) -> tuple[int, int]:
        """Return column and row, from the corner at the lower left."""
        (x0, x1), (y0, y1) = self.x, self.y
        column = round((at[0] - x0) / (x1 - x0) * (self.columns - 1))
        return column, round((at[1] - y0) / (y1 - y0) * (self.rows - 1))

    def draw(self, marks: dict[tuple[int, int], str], color: bool) -> str:
        """Draw marks in the middle of their cells."""
        figure = new_figure("", self.width, HEIGHT)
        (x0, x1), (y0, y1) = self.x, self.y
        for char in sorted(set(marks.values())):
            cells = [cell for cell, mark in marks.items() if mark == char]
            xs = [x0 + (x1 - x0) * column / (self.columns - 1) for column, _ in cells]
            ys = [y0 + (y1 - y0) * row / (self.rows - 1) for _, row in cells]
            figure.draw(figure.signal(xs, ys, marker=char))
        for axis, limits in (("x", self.x), ("y", self.y)):
            figure.ruler(axis).lim(*limits)
            figure.ruler(axis).ticks(*height_ticks(*limits, log=False))
        figure.label("MLcps", axis="x")
        return built(figure, color)


def _ends(values: Sequence[float]) -> Point:
    low, high = min(values), max(values)
    room = ROOM * (high - low) if high > low else ALIKE
    return low - room, high + room
