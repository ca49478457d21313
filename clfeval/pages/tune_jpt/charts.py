"""Charts over the odds on a log axis: a measure of every model, and where to put the threshold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf, log10

from clfeval.measures.catalog import CATALOG
from clfeval.pages.tune_jpt.sections import Look, between, more
from clfeval.pages.write import exact, value_of
from clfeval.result import Cell, Estimate, Result, Row
from clfeval.schema import Axis, Chart, Mark, Note, Point, Series

DRAWN = 12  # curves whose crossings are marked
CROSSINGS = 9  # marked one by one
FEW = 3  # measures drawn one by one
FACTOR = 100  # a measure without upper end that varies more has a log axis


def charts(result: Result) -> Iterator[Chart]:
    """Yield a measure over the swept odds, and the best thresholds, as far as they are there."""
    rows = result.whole("sweep")
    for name in _shown(result, rows):
        yield _measure(name, rows, result)
    rows = [row for row in Look(result).swept("thresholds") if row["slice"] is None]
    rows = [row for row in rows if row["measure"] == rows[0]["measure"]]
    points = [(_x(row), _number(row["threshold"])) for row in rows]
    if any(y is not None for _, y in points):
        curves = tuple(Series(one.name, tuple(map(_steps, one.parts)))
                       for one in _curves(rows, points))  # fmt: skip
        lacking = any(row["threshold"] is None for row in rows)
        key = [Note("gaps: it is best to call nothing positive")] if lacking else []
        title = f"Best threshold for {Look(result).title(str(rows[0]['measure']))}"
        yield _chart(title, result, rows, curves, key=key)


def _measure(name: str, rows: Sequence[Row], result: Result) -> Chart:
    values = [value_of(row[name]) for row in rows]
    known = [value for value in values if value is not None]
    log = CATALOG[name].high == inf and min(known) > 0 and max(known) >= FACTOR * min(known)
    points = [(_x(row), value and log10(value) if log else value)
              for row, value in zip(rows, values, strict=True)]  # fmt: skip
    curves = _curves(rows, points)
    marks, key = _crossings(result, name, curves)
    key += [Note("gaps: infinite or undefined values")] if len(known) < len(values) else []
    title = f"{Look(result).title(name)} over the class ratio"
    return _chart(title, result, rows, curves, marks, key, log=log)


def _shown(result: Result, rows: Sequence[Row]) -> list[str]:
    """Choose the measure models are compared by, and if few were asked for, those that move."""
    wanted = result.parameters.get("crossover")
    names = [name for name, cell in rows[0].items() if isinstance(cell, Estimate)] if rows else []
    moving = [name for name in names if not CATALOG[name].invariant and name != wanted]
    names = [name for name in (wanted,) if name in names] + moving
    drawable = [n for n in names if any(value_of(row[n]) is not None for row in rows)]
    return drawable[: FEW if len(moving) <= FEW else 1]


def _chart(
    title: str, result: Result, rows: Sequence[Row], curves: tuple[Series, ...],
    marks: Sequence[Mark] = (), key: Sequence[Note] = (), *, log: bool = False,
) -> Chart:  # fmt: skip
    """Put the populations on top of the curves: the targets, and the sample if models share it."""
    odds = {_x(row): str(row["odds"]) for row in rows}
    low, high = min(odds), max(odds)
    places: list[Mark] = []
    words = []
    found = [("T", "target", one) for one in result.parameters["targets"]]
    found += [("S", "sample", result.summary)] if result.summary["odds"] is not None else []
    for letter, kind, one in found:
        share = one["prevalence"]
        x = _logit(share)
        inside = low <= x <= high
        places += [Mark(letter, x)] if inside else []
        where = "" if inside else ", outside the plot"
        words.append(Note(f"{letter} {kind} {one['odds']}, prevalence {exact(share)}{where}"))
    axis = Axis("positives:negatives", "odds", (low, high), (odds[low], odds[high]))
    return Chart(
        "lines", title, axis, Axis(scale="log" if log else "linear"), curves,
        (*places, *marks), (*dict.fromkeys(words), *key),
    )  # fmt: skip


def _crossings(
    result: Result, name: str, curves: Sequence[Series]
) -> tuple[list[Mark], list[Note]]:
    """Number the crossings of the curves that are drawn, for the plot and the key."""
    drawn = {curve.name: curve for curve in curves[:DRAWN]}
    marks: list[Mark] = []
    key: list[Note] = []
    left = 0
    for row in result.whole("crossovers"):
        share, names = value_of(row["crossing"]), (str(row["first"]), str(row["second"]))
        if row["measure"] != name or share is None:
            continue
        if not drawn.keys() >= set(names) or len(marks) == CROSSINGS:
            left += 1
            continue
        x = _logit(share)
        marks.append(Mark(str(len(marks) + 1), x, height_at(drawn[names[0]], x)))
        limits = between(row["crossing"])
        at = f"prevalence {exact(share)}{f' {limits}' if limits else ''}, odds {row['odds']}"
        key.append(Note(f"{marks[-1].letter} {{}} = {{}} at {at}", names))
    if left:
        key.append(Note(f"{left} more crossings: {more('crossovers')}"))
    return marks, key


def height_at(curve: Series, x: float) -> float | None:
    """Return the height of a curve between two points; None beside it."""
    for part in curve.parts:
        for (x0, y0), (x1, y1) in pairwise(part):
            if x0 <= x <= x1:
                return y0 + (y1 - y0) * ((x - x0) / (x1 - x0) if x1 > x0 else 0.0)
    return None


def _curves(
    rows: Sequence[Row], points: Sequence[tuple[float, float | None]]
) -> tuple[Series, ...]:
    """Gather the points by model, in parts where some are missing."""
    parts: dict[str, list[list[Point]]] = {}
    for row, (x, y) in zip(rows, points, strict=True):
        here = parts.setdefault(str(row["model"]), [[]])
        if y is None:
            here.append([])
        else:
            here[-1].append((x, y))
    return tuple(
        Series(name, tuple(tuple(part) for part in found if part)) for name, found in parts.items()
    )


def _steps(part: Sequence[Point]) -> tuple[Point, ...]:
    """Change from one threshold to the next halfway between their odds."""
    out = list(part[:1])
    for (x0, y0), (x1, y1) in pairwise(part):
        out += [((x0 + x1) / 2, y0), ((x0 + x1) / 2, y1), (x1, y1)]
    return tuple(out)


def _logit(share: float) -> float:
    return log10(share / (1 - share)) if share < 1 else inf


def _x(row: Mapping[str, Cell]) -> float:
    return log10(float(str(row["ratio"])))


def _number(cell: Cell) -> float | None:
    return float(cell) if isinstance(cell, (int, float)) else None
