"""What a φ-δ diagram shows, whatever the table: dots, curves, regions, lines, a population."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isclose

from clfeval.result import Cell, Estimate, Result
from clfeval.views.canvas import Point
from clfeval.views.text import MARKERS

REST = "•"  # everything beyond the markers
DOTTED = "·:,`~"
MOST_POPULATIONS = 3
CORNERS = ("oracle", "always positive", "anti-oracle", "always negative")


@dataclass(frozen=True, slots=True)
class Diamond:
    """A share of positives, and where it puts the corners: top, right, bottom, left."""

    prevalence: float = 0.5
    odds: str = "1:1"
    corners: tuple[Point, ...] = ((0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0))

    @property
    def balanced(self) -> bool:
        """True for one positive to one negative, where φ and δ themselves are drawn."""
        return isclose(self.prevalence, 0.5)

    def move(self, at: Point) -> Point:
        """Return where a point (φ, δ) lies in this population's diamond, (φ_b, δ_b)."""
        tilt = 1 - 2 * self.prevalence
        return at[0] + tilt * (1 - at[1]), at[1] - tilt * at[0]


@dataclass(frozen=True, slots=True)
class Dot:
    """One place in the diagram; `around` is a pair of brackets beside the marker, or empty."""

    marker: str
    at: Point
    around: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A dotted line of equal value, in one or more branches."""

    char: str
    label: str
    branches: tuple[tuple[Point, ...], ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """All there is to draw in one diagram."""

    population: Diamond
    dots: tuple[Dot, ...] = ()
    curves: tuple[tuple[str, tuple[Point, ...]], ...] = ()
    regions: tuple[tuple[Point, ...], ...] = ()
    lines: tuple[Line, ...] = ()
    density: tuple[Point, ...] = ()


def populations(result: Result) -> tuple[list[Diamond], int]:
    """Return the populations to draw, the balanced one first, and how many are left out."""
    corners: dict[tuple[float, str], dict[str, Point]] = {}
    for row in result.tables.get("corners", ()):
        at = decimal(row["phi_b"]), decimal(row["delta_b"])
        prevalence = decimal(row["prevalence"])
        if at[0] is not None and at[1] is not None and prevalence is not None:
            block = corners.setdefault((prevalence, str(row["odds"])), {})
            block[str(row["corner"])] = at[0], at[1]
    others = [
        Diamond(prevalence, odds, tuple(block[name] for name in CORNERS))
        for (prevalence, odds), block in corners.items()
        if not isclose(prevalence, 0.5)
    ]
    return [Diamond(), *others[:MOST_POPULATIONS]], max(0, len(others) - MOST_POPULATIONS)


def isometrics(result: Result, population: Diamond, chars: Iterable[str]) -> list[Line]:
    """Return the lines of equal value that hold for a population, each measure dotted its way."""
    suffix = "" if population.balanced else "_b"
    found: dict[tuple[str, float], dict[int, list[Point]]] = {}
    for row in result.tables.get("isometrics", ()):
        value, x, y = (decimal(row[key]) for key in ("value", f"phi{suffix}", f"delta{suffix}"))
        prevalence = decimal(row["prevalence"])
        if value is None or x is None or y is None or prevalence is None:
            continue
        if isclose(prevalence, population.prevalence):
            branches = found.setdefault((str(row["measure"]), value), {})
            branches.setdefault(int(decimal(row["branch"]) or 0), []).append((x, y))
    measures = list(dict.fromkeys(measure for measure, _ in found))
    ways = list(chars)
    char = {measure: ways[i % len(ways)] for i, measure in enumerate(measures)}
    return [
        Line(
            char[measure],
            f"{value:g}" if len(measures) == 1 else f"{measure.replace('_', ' ')} {value:g}",
            tuple(tuple(points) for points in branches.values()),
        )
        for (measure, value), branches in found.items()
    ]


def isometric_notes(result: Result, population: Diamond, chars: Iterable[str]) -> list[str]:
    """Name the dotted lines and their class ratio: `· precision = 0.5, 0.8 at 1:1`."""
    ways = list(chars)
    values: dict[str, dict[float, None]] = {}
    for row in result.tables.get("isometrics", ()):
        prevalence, value = decimal(row["prevalence"]), decimal(row["value"])
        if value is not None and isclose(prevalence or 0.0, population.prevalence):
            values.setdefault(str(row["measure"]), {})[value] = None
    return [
        f"{ways[i % len(ways)]} {name.replace('_', ' ')} = "
        f"{', '.join(f'{v:g}' for v in some)} at {population.odds}"
        for i, (name, some) in enumerate(values.items())
    ]


def marker(index: int) -> str:
    """Return the marker of the i-th model."""
    return MARKERS[index] if index < len(MARKERS) else REST


def decimal(cell: Cell) -> float | None:
    """Return a cell's number, or None when it has none."""
    if isinstance(cell, Estimate):
        return cell.value
    return float(cell) if isinstance(cell, (int, float)) else None


def pair(phi: Cell, delta: Cell) -> Point | None:
    """Return a point when both its coordinates are defined."""
    x, y = decimal(phi), decimal(delta)
    return None if x is None or y is None else (x, y)
