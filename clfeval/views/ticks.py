"""Where an axis has numbers: a few round ones, powers of ten, ratios of classes."""

from __future__ import annotations

from math import ceil, floor, log10

from clfeval.schema import Point

TICKS = 4  # steps of an axis, about
TENTHS = 5  # the same where its ends are given

Ticks = tuple[list[float], list[str]]


def odds_ticks(ends: Point, names: tuple[str, str], room: int) -> Ticks:
    """Return powers of ten as many as have room, or both ends where there are fewer than two."""
    low, high = ceil(ends[0] - 1e-9), floor(ends[1] + 1e-9)
    if high - low < 1:
        return list(ends), list(names)
    longest = max(len(_format_power(low)), len(_format_power(high))) + 3
    step = max(1, ceil((high - low + 1) * longest / max(room, 1)))
    at = [x for x in range(low, high + 1) if x % step == 0]
    return [float(x) for x in at], [_format_power(x) for x in at]


def _format_power(x: int) -> str:
    many = f"{10 ** abs(x)}" if abs(x) <= 6 else f"1e{abs(x)}"
    return f"{many}:1" if x > 0 else f"1:{many}"


def height_ticks(low: float, high: float, *, log: bool, steps: int = TICKS) -> Ticks:
    """Return a few round heights and how they are written; powers of ten where `log`."""
    if log:
        powers = range(ceil(low), floor(high) + 1)
        at = [float(y) for y in powers[:: ceil(len(powers) / TICKS / 2)]]
    else:
        step = 10.0 ** floor(log10((high - low) / steps))
        step *= next(m for m in (1, 2, 2.5, 5, 10) if m * step >= 0.999 * (high - low) / steps)
        at = [i * step for i in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]
    return at, [f"{round(10**y if log else y, 12):,.10g}" for y in at]
