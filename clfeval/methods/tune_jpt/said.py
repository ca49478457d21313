"""How what tune-jpt answers is worded: places, shares, expected rows, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from clfeval.result import Cell, Estimate, Row, size_of
from clfeval.words import between, close, exact, named, percent, quoted

NAMES = 6  # said in one sentence
NEAR = 1e-9  # relative; closer values are one


def with_verb(names: Sequence[str]) -> str:
    """Write names with the verb."""
    if len(names) == 1:
        return f"{quoted(names[0])} has"
    return f"{named(names, most=NAMES)} have"


def at_place(row: Row) -> str:
    """Write where a row is, to begin a sentence."""
    share = exact(float(str(row["prevalence"])))
    if row["population"] == "sample":
        return f"At the prevalence of these rows ({share})"
    return f"At prevalence {share} ({row['odds']})"


def with_ends(cell: Estimate) -> str:
    """Write a value with its interval, infinite ones included."""
    if cell.value is not None:
        return between(cell.value, cell.low, cell.high, close)
    return "∞" if cell.low is None else f"∞ [{close(cell.low, 3)}, ∞]"


def how_right(ppv: Estimate) -> str | None:
    """Write how many of 100 positive answers are right; None where there are none."""
    if ppv.value is None:
        return None
    verb = "is" if percent(ppv.value) == "1" else "are"
    return f"{percent(ppv.value)} {verb} right{in_brackets(ppv, percent)}"


def in_brackets(cell: Estimate, write: Any) -> str:
    """Write an interval's ends."""
    if cell.low is None or cell.high is None:
        return ""
    return f" ({write(cell.low)} to {write(cell.high)})"


def moves(row: Row) -> bool:
    """Say whether another threshold does better on other rows too."""
    gain = size_of(row["honest_gain"])  # above 0 where the measure is better, whichever way it goes
    return gain is not None and gain > 0 and row["rule"] is not None


def worth_of(row: Row) -> float | None:
    """Return what to expect on other rows with the better of two thresholds."""
    size = size_of(row["honest"] if moves(row) else row["fixed_value"])
    return size if size is not None and abs(size) < inf else None


def to_do(row: Row) -> str:
    """Write what to do with the threshold."""
    calls = {"never positive": "call no row positive", "always positive": "call every row positive"}
    return calls.get(str(row["rule"]), f"use {threshold_text(row['threshold'])}")


def with_rule(row: Row) -> str:
    """Write the better of two thresholds of a model."""
    if not moves(row):
        return f"with {threshold_text(row['fixed_threshold'])}"
    calls = {"never positive": "if no row is called positive", "always positive": "if every row is"}
    return calls.get(str(row["rule"]), f"with {threshold_text(row['threshold'])}")


def rounded(value: float) -> str:
    """Write a value, infinite ones included."""
    return close(value, 3) if abs(value) < inf else "∞" if value > 0 else "-∞"


def threshold_text(cell: Cell) -> str:
    """Write a threshold in force."""
    return (
        "the votes of the largest class" if cell is None else f"threshold {exact(float(str(cell)))}"
    )


def expected(rows: float, *, of: float | None = None) -> str:
    """Write expected rows: with more decimals the fewer rows the class they are of has."""
    whole = rows if of is None else of
    if whole >= 100 or abs(rows - round(rows)) < NEAR:
        return f"{rows:,.0f}"
    return f"{rows:.1f}" if whole >= 10 else f"{rows:.2f}" if rows >= 0.1 else f"{rows:.2g}"
