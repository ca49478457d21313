"""Small tables with fractional weights, and what is counted of them in exact fractions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import inf
from typing import Any

import numpy as np
import polars as pl

from clfeval.document.cells import Estimate

NOTHING = Fraction(0)
SCORES = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True)
class Weighed:
    """One row: truth, the score of every model, its slice, and its weight, as a float and exact.

    n: the exact weight as it is shown, divided by the mean of the table.
    """

    truth: int
    scores: tuple[float, ...]
    site: str
    weight: float
    exact: Fraction
    n: Fraction = NOTHING

    @property
    def votes(self) -> tuple[bool, ...]:
        return tuple(score >= 0.5 for score in self.scores)


def random_weighed_rows(seed: int) -> list[Weighed]:
    """Draw a table; its weights have 1 to 6 decimal places, or are any floats."""
    dice = np.random.default_rng(seed)
    rows, k = int(dice.integers(3, 13)), int(dice.integers(2, 5))
    places = [1, 1, 2, 3, 6, None][dice.integers(6)]
    table = []
    for i in range(rows):
        truth = i if i < 2 else int(dice.integers(2))  # both classes
        # models that are always or never positive, and perfect ones, are common
        scores = [SCORES[place] for place in dice.integers(len(SCORES), size=k)]
        scores[0] = scores[0] if seed % 3 else (0.9 if seed % 2 else 0.1)
        scores[1] = scores[1] if seed % 5 else (0.7 if truth else 0.2)
        weight = float(dice.gamma(1.0) + 0.01)
        exact = Fraction(weight)
        if places is not None:
            weight = max(round(weight, places), 10.0**-places)
            exact = Fraction(repr(weight))
        table.append(Weighed(truth, tuple(scores), "xy"[dice.integers(2)], weight, exact))
    mean = sum((row.exact for row in table), NOTHING) / rows
    return [replace(row, n=row.exact / mean) for row in table]


def frame_of(table: Sequence[Weighed], *, votes: bool = True) -> pl.DataFrame:
    """Write the table with labels, or with scores."""
    k = len(table[0].scores)
    columns: dict[str, Any] = {"truth": [row.truth for row in table]}
    for j in range(k):
        columns[f"m{j}"] = [int(row.votes[j]) if votes else row.scores[j] for row in table]
    columns["w"] = [row.weight for row in table]
    return pl.DataFrame(columns)


def decimal(table: Sequence[Weighed]) -> bool:
    """Tell whether weights are decimals, so that every sum is exact."""
    return all(row.exact == Fraction(repr(row.weight)) for row in table)


def total(rows: Iterable[Weighed]) -> Fraction:
    return sum((row.n for row in rows), NOTHING)


Cells = tuple[Fraction, Fraction, Fraction, Fraction]


def cells_of(table: Sequence[Weighed], says: Callable[[Weighed], bool]) -> Cells:
    """Return TP, FP, FN, TN."""
    return (
        total(row for row in table if row.truth and says(row)),
        total(row for row in table if not row.truth and says(row)),
        total(row for row in table if row.truth and not says(row)),
        total(row for row in table if not row.truth and not says(row)),
    )


def ratio(part: Fraction, whole: Fraction) -> Fraction | float | None:
    """Divide: None for 0/0, infinite for anything else over 0."""
    if whole:
        return part / whole
    return inf if part else None


def coverage_of(
    table: Sequence[Weighed], members: Sequence[int], target: int
) -> dict[str, Fraction]:
    """Return what a set of models detects and flags, and detects or misses unlike the others."""
    k = len(table[0].scores)
    sums = dict.fromkeys(("covered", "effort", "alone", "all", "any"), NOTHING)
    for row in table:
        votes = [vote == bool(target) for vote in row.votes]
        by_set = any(votes[j] for j in members)
        by_rivals = [votes[j] for j in range(k) if j not in members]
        is_target = row.truth == target
        flags = {
            "covered": is_target and by_set,
            "effort": by_set,
            "alone": is_target and by_set and not any(by_rivals),
            "all": is_target and not by_set and bool(by_rivals) and all(by_rivals),
            "any": is_target and not by_set and any(by_rivals),
        }
        for name, is_counted in flags.items():
            sums[name] += row.n if is_counted else NOTHING
    return sums


def subsets(k: int) -> list[tuple[int, ...]]:
    return [members for size in range(1, k + 1) for members in combinations(range(k), size)]


def is_number(cell: Any, expected: Fraction | float | None, *, exactly: bool) -> bool:
    """Tell whether an estimate, or a count, is the expected number, to the last bit if exactly."""
    value, reason = cell, None
    if isinstance(cell, Estimate):
        value, reason = cell.value, cell.reason
    if expected is None:
        return value is None and reason not in ("infinite", "minus_infinite")
    if expected == inf:
        return value is None and reason == "infinite"
    if value is None:
        return False
    if expected in (0, 1, -1) or exactly:
        return bool(value == float(expected))
    return is_close(value, expected)


def is_close(number: Any, expected: Fraction | float) -> bool:
    """Tell whether a number, as a sum of scaled weights, differs by less than rounding does."""
    return bool(abs(Fraction(number) - Fraction(expected)) <= abs(Fraction(expected)) / 10**12)
