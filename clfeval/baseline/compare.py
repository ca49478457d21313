"""How far a value moved since a baseline, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from clfeval.measures.catalog import CATALOG
from clfeval.measures.record import AIMS
from clfeval.pages import page_of
from clfeval.result import POPULATIONS, Cell, Estimate, Result, Row, Rows, size_of, whole

BETTER, WORSE, OPEN, SAME, MOVED = "better", "worse", "not told apart", "the same", "changed"
NEW, GONE, UNKNOWN = "new", "gone", "undefined"


@dataclass(frozen=True, slots=True)
class Shift:
    """A value then and now, and how far it moved; paired: on the same rows."""

    old: Cell
    new: Cell
    change: Estimate
    paired: bool = False


def labelled(result: Result, part: str | None = None) -> Mapping[str, Row]:
    """Return the rows that speak for models, or features, by label; part: of a slice."""
    rows, tidy = (
        _of_slice(result, table, part)
        for table in ("models" if "models" in result.tables else "features", "metrics")
    )
    several = bool(len(rows)) and rows[0].get("population") == POPULATIONS[0]
    found = {f"{name_of(row)} at {row['odds']}" if several else name_of(row): row for row in rows}
    more = _by_measure(tidy)
    return {label: {**more.get(label, {}), **row} for label, row in found.items()}


def _of_slice(result: Result, table: str, part: str | None) -> Rows:
    if part is None:
        return result.whole(table)
    rows = [row for row in result.tables.get(table, ()) if row.get("slice") == part]
    return whole([{name: cell for name, cell in row.items() if name != "slice"} for row in rows])


def _by_measure(tidy: Rows) -> dict[str, dict[str, Cell]]:
    """Return the values of a table of measures by model, and by the name with its parameters."""
    found: dict[str, dict[str, Cell]] = {}
    for row in tidy:
        if "model" in row:  # other tables of that name are about measures alone
            name = str(row["metric"])
            found.setdefault(str(row["model"]), {}).setdefault(name, row["value"])
    return found


def name_of(row: Row) -> str:
    """Return the name of a model or feature."""
    return str(row.get("model", row.get("feature")))


def verdict(moved: Shift, best: str) -> str:
    """Say whether a value is better or worse than it was: where the interval excludes 0.

    Without intervals, or where the best lies between, it is only the same or changed.
    """
    change = moved.change
    if size_of(change) is None:
        return UNKNOWN
    if change.value == 0:
        return SAME
    if change.low is None or change.high is None:
        return MOVED
    if change.low <= 0 <= change.high:
        return OPEN
    if best in AIMS or best == "none":
        return MOVED
    return BETTER if (change.low > 0) == (best == "max") else WORSE


def moved_between(old: Cell, new: Cell) -> Shift:
    """Return how far a cell moved, as of independent rows; undefined where one is not there."""
    both = [one if isinstance(one, Estimate) else _bare(one) for one in (old, new)]
    if both[0] is None or both[1] is None:
        reason = "not_in_both" if new is None else "not_in_baseline"
        return Shift(old, new, Estimate(None, reason=reason))
    return Shift(old, new, difference(both[0], both[1]))


def _bare(cell: Cell) -> Estimate | None:
    return Estimate(cell) if isinstance(cell, (int, float)) else None


def difference(old: Estimate, new: Estimate) -> Estimate:
    """Return new - old with its interval, each estimate's distances added in squares.

    change = new - old   low = change - sqrt((new - new.low)² + (old.high - old)²)
    high = change + sqrt((new.high - new)² + (old - old.low)²)

    as of two independent samples; where both are of the same rows it is wider than it need be.
    Undefined, without interval, where one of the two is. A limit on the wrong side of its value,
    as a percentile may be, counts as the value.
    Source: Zou and Donner 2008, Statistics in Medicine 27:1693 (MOVER).
    """
    if old.value is None or new.value is None:
        return _endless(old, new)
    value = new.value - old.value
    if None in (old.low, old.high, new.low, new.high):
        return Estimate(value)
    ends = old.low, old.high, new.low, new.high
    low, high, now_low, now_high = (float(end or 0.0) for end in ends)
    down = math.hypot(max(new.value - now_low, 0.0), max(high - old.value, 0.0))
    up = math.hypot(max(now_high - new.value, 0.0), max(old.value - low, 0.0))
    return Estimate(value, value - down, value + up)


def _endless(old: Estimate, new: Estimate) -> Estimate:
    """Return a change without a finite value: to or away from what is infinite, or undefined."""
    before, now = size_of(old), size_of(new)
    if before is None or now is None:
        return Estimate(None, reason=(new if now is None else old).reason or "undefined")
    reasons = {math.inf: "infinite", -math.inf: "minus_infinite"}
    return Estimate(None, reason=reasons.get(now - before, "undefined"))


def best_of(result: Result, metric: str) -> str:
    """Say which way is better: of a measure as it says, of another column as its table says."""
    column, name = page_of(result.command).column(metric), metric.partition(":")[0]
    return CATALOG[name].best if name in CATALOG else (column and column.best) or "max"
