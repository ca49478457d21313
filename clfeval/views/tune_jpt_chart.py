"""One chart over the odds: curves with markers, letters on dotted lines, numbers at points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10

from clfeval.views.plots import MARKERS, built, new_figure

HEIGHT = 20
TICKS = 4  # steps of the vertical axis, about
ROOM = 0.08  # of the height, on top, for letters

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """A model's points over log10 of the odds; its parts are not connected."""

    name: str
    parts: Sequence[Sequence[Point]]

    def at(self, x: float) -> float | None:
        """Return the height between two points; None beside the curve."""
        for part in self.parts:
            for (x0, y0), (x1, y1) in pairwise(part):
                if x0 <= x <= x1:
                    return y0 + (y1 - y0) * ((x - x0) / (x1 - x0) if x1 > x0 else 0.0)
        return None


@dataclass(frozen=True, slots=True)
class Mark:
    """A letter at a point, or on top of a dotted line where there is no `y`."""

    letter: str
    x: float
    y: float | None = None


def chart(
    title: str, curves: Sequence[Curve], marks: Sequence[Mark], odds: tuple[str, str], *,
    x_ends: Point, width: int, color: bool, log: bool,
) -> str:  # fmt: skip
    """Draw curves over log10 of the odds, whose ends are written as `odds`.

    log: heights are logarithms too, and written as what they are logarithms of.
    """
    heights = [y for curve in curves for part in curve.parts for _, y in part]
    low, high = min(heights), max(heights)
    if low == high:
        low, high = low - 0.5, high + 0.5
    top = high + ROOM * (high - low)
    figure = new_figure(title, width, HEIGHT)
    for mark in marks:
        if mark.y is None:
            dots = [low + (top - low) * i / (4 * HEIGHT) for i in range(4 * HEIGHT + 1)]
            figure.draw(figure.signal([mark.x] * len(dots), dots, marker="·"))
    for marker, curve in zip(MARKERS, curves, strict=False):
        for part in curve.parts:
            signal = figure.signal([x for x, _ in part], [y for _, y in part], marker=marker)
            signal.lines(True)
            figure.draw(signal)
    for mark in marks:
        figure.draw(figure.text(mark.x, top if mark.y is None else mark.y, mark.letter))
    figure.ruler("x").lim(*x_ends)
    figure.ruler("x").ticks(*odds_ticks(x_ends, odds, width - 12))
    figure.ruler("y").lim(low, top)
    figure.ruler("y").ticks(*height_ticks(low, high, log=log))
    figure.label("positives:negatives", axis="x")
    return built(figure, color)


def odds_ticks(ends: Point, odds: tuple[str, str], room: int) -> tuple[list[float], list[str]]:
    """Return powers of ten as many as have room, or both ends where there are fewer than two."""
    low, high = ceil(ends[0] - 1e-9), floor(ends[1] + 1e-9)
    if high - low < 1:
        return list(ends), list(odds)
    longest = max(len(_power(low)), len(_power(high))) + 3
    step = max(1, ceil((high - low + 1) * longest / max(room, 1)))
    at = [x for x in range(low, high + 1) if x % step == 0]
    return [float(x) for x in at], [_power(x) for x in at]


def _power(x: int) -> str:
    many = f"{10 ** abs(x)}" if abs(x) <= 6 else f"1e{abs(x)}"
    return f"{many}:1" if x > 0 else f"1:{many}"


def height_ticks(low: float, high: float, *, log: bool) -> tuple[list[float], list[str]]:
    """Return a few round heights and how they are written; powers of ten where `log`."""
    if log:
        powers = range(ceil(low), floor(high) + 1)
        at = [float(y) for y in powers[:: ceil(len(powers) / TICKS / 2)]]
    else:
        step = 10.0 ** floor(log10((high - low) / TICKS))
        step *= next(m for m in (1, 2, 2.5, 5, 10) if m * step >= 0.999 * (high - low) / TICKS)
        at = [i * step for i in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]
    return at, [f"{round(10**y if log else y, 12):,.10g}" for y in at]
