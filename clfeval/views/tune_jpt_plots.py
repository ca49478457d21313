"""Plots over the odds on a log axis: a measure of every model, and where to put the threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, log10

from clfeval.measures.catalog import CATALOG
from clfeval.result import Cell, Estimate, Result, Row
from clfeval.views.diamond_key import TIE, notes_lines, short
from clfeval.views.plots import MARKERS
from clfeval.views.rows import exact, plain, value_of
from clfeval.views.tune_jpt_chart import Curve, Mark, Point, chart
from clfeval.views.tune_jpt_choice import between
from clfeval.views.tune_jpt_look import Look, more

CROSSINGS = 9  # marked one by one
FEW = 3  # measures drawn one by one
FACTOR = 100  # a measure without upper end that varies more has a log axis


@dataclass(frozen=True, slots=True)
class Places:
    """Populations marked on top of a plot, each with the letter and the words of the key."""

    marks: tuple[Mark, ...]
    words: tuple[str, ...]


def tune_jpt_plots(result: Result, *, width: int = 80, color: bool = False) -> str:
    """Draw a measure over the swept odds, and the best thresholds, as far as the result has them.

    Every curve has a marker of its own, so that nothing depends on colour.
    """
    parts = [*_measures(result, width, color), *_thresholds(result, width, color)]
    return "\n".join(parts)


def _measures(result: Result, width: int, color: bool) -> list[str]:
    rows = [row for row in result.tables.get("sweep", ()) if row["slice"] is None]
    return [_measure(name, rows, result, width, color) for name in _shown(result, rows)]


def _measure(name: str, rows: Sequence[Row], result: Result, width: int, color: bool) -> str:
    values = [value_of(row[name]) for row in rows]
    known = [value for value in values if value is not None]
    log = CATALOG[name].high == inf and min(known) > 0 and max(known) >= FACTOR * min(known)
    points = [(_x(row), value and log10(value) if log else value)
              for row, value in zip(rows, values, strict=True)]  # fmt: skip
    curves = _curves(rows, points)
    marks, words = _crossings(result, name, curves, width)
    if len(known) < len(values):
        words = [*words, "gaps: infinite or undefined values"]
    title = f"{Look.of(result).title(name)} over the class ratio"
    return _chart(title, result, rows, curves, marks, words, width=width, color=color, log=log)


def _shown(result: Result, rows: Sequence[Row]) -> list[str]:
    """Choose the measure models are compared by, and if few were asked for, those that move."""
    wanted = result.parameters.get("crossover")
    names = [name for name, cell in rows[0].items() if isinstance(cell, Estimate)] if rows else []
    moving = [name for name in names if not CATALOG[name].invariant and name != wanted]
    names = [name for name in (wanted,) if name in names] + moving
    drawable = [n for n in names if any(value_of(row[n]) is not None for row in rows)]
    return drawable[: FEW if len(moving) <= FEW else 1]


def _thresholds(result: Result, width: int, color: bool) -> list[str]:
    table = result.tables.get("thresholds", ())
    swept = [row for row in table if row["slice"] is None and row["population"] == "sweep"]
    rows = [row for row in swept if row["measure"] == swept[0]["measure"]]
    points = [(_x(row), _number(row["threshold"])) for row in rows]
    if all(y is None for _, y in points):
        return []
    curves = [Curve(c.name, [_steps(part) for part in c.parts]) for c in _curves(rows, points)]
    words = ["gaps: it is best to call nothing positive"] if any(
        row["threshold"] is None for row in rows
    ) else []  # fmt: skip
    title = f"Best threshold for {Look.of(result).title(str(rows[0]['measure']))}"
    return [_chart(title, result, rows, curves, [], words, width=width, color=color, log=False)]


def _chart(
    title: str, result: Result, rows: Sequence[Row], curves: Sequence[Curve],
    marks: Sequence[Mark], words: Sequence[str], *, width: int, color: bool, log: bool,
) -> str:  # fmt: skip
    """Draw the curves with the populations on top, and the key in sentences below."""
    ends = {_x(row): str(row["odds"]) for row in rows}
    places = _places(result, (min(ends), max(ends)))
    drawn = chart(
        title, curves, [*places.marks, *marks], (ends[min(ends)], ends[max(ends)]),
        x_ends=(min(ends), max(ends)), width=width, color=color, log=log,
    )  # fmt: skip
    left = len(curves) - len(MARKERS)
    named = list(zip(MARKERS, curves, strict=False))
    names = [
        f"{marker} {_short(curve.name, width)}{_covered(curve, named[i + 1 :])}".replace(" ", TIE)
        for i, (marker, curve) in enumerate(named)
    ]
    names += [f"({left} more not drawn)".replace(" ", TIE)] if left > 0 else []
    key = notes_lines(["   ".join(names), *places.words, *words], width=width)
    return drawn + "".join(f"{line.rstrip()}\n" for line in key)


def _places(result: Result, ends: tuple[float, float]) -> Places:
    """Mark the targets and the sample's own odds, where the models share them."""
    marks, words = [], []
    targets = result.parameters["targets"]
    summary = result.summary
    found = [("T", "target", one) for one in targets]
    found += [("S", "sample", summary)] if summary["odds"] is not None else []
    for letter, kind, one in found:
        share = one["prevalence"]
        x = _logit(share)
        inside = ends[0] <= x <= ends[1]
        marks += [Mark(letter, x)] if inside else []
        where = "" if inside else ", outside the plot"
        words.append(f"{letter} {kind} {one['odds']}, prevalence {exact(share)}{where}")
    return Places(tuple(marks), tuple(dict.fromkeys(words)))


def _crossings(
    result: Result, name: str, curves: Sequence[Curve], width: int
) -> tuple[list[Mark], list[str]]:
    """Number the crossings of the curves that are drawn, for the plot and the key."""
    drawn = {curve.name: curve for curve in curves[: len(MARKERS)]}
    marks: list[Mark] = []
    words, left = [], 0
    for row in result.tables.get("crossovers", ()):
        share = value_of(row["crossing"])
        curve = drawn.get(str(row["first"]))
        if row["slice"] is not None or row["measure"] != name or share is None:
            continue
        if curve is None or row["second"] not in drawn or len(marks) == CROSSINGS:
            left += 1
            continue
        x = _logit(share)
        marks.append(Mark(str(len(marks) + 1), x, curve.at(x)))
        limits = between(row["crossing"])
        both = " = ".join(_short(str(row[which]), width) for which in ("first", "second"))
        at = f"prevalence {exact(share)}{f' {limits}' if limits else ''}, odds {row['odds']}"
        words.append(f"{marks[-1].letter} {both} at {at}")
    if left:
        words.append(f"{left} more crossings: {more('crossovers')}")
    return marks, words


def _curves(rows: Sequence[Row], points: Sequence[tuple[float, float | None]]) -> list[Curve]:
    """Gather the points by model, in parts where some are missing."""
    parts: dict[str, list[list[Point]]] = {}
    for row, (x, y) in zip(rows, points, strict=True):
        here = parts.setdefault(str(row["model"]), [[]])
        if y is None:
            here.append([])
        else:
            here[-1].append((x, y))
    return [Curve(name, [part for part in found if part]) for name, found in parts.items()]


def _steps(part: Sequence[Point]) -> list[Point]:
    """Change from one threshold to the next halfway between their odds."""
    out = list(part[:1])
    for (x0, y0), (x1, y1) in pairwise(part):
        out += [((x0 + x1) / 2, y0), ((x0 + x1) / 2, y1), (x1, y1)]
    return out


def _short(name: str, width: int) -> str:
    return short(plain(name), width // 3)


def _covered(curve: Curve, later: Sequence[tuple[str, Curve]]) -> str:
    """Say which marker stands in a curve's place where two are the same."""
    if not curve.parts:
        return " (no value)"
    over = [marker for marker, other in later if other.parts == curve.parts]
    return f" (under {over[-1]})" if over else ""


def _logit(share: float) -> float:
    return log10(share / (1 - share)) if share < 1 else inf


def _x(row: Mapping[str, Cell]) -> float:
    return log10(float(str(row["ratio"])))


def _number(cell: Cell) -> float | None:
    return float(cell) if isinstance(cell, (int, float)) else None
