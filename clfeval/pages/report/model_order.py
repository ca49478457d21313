"""The order of models in tables, and the marks of the best and tied ones."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from clfeval.document import Row, cell_value
from clfeval.schema import Sign

CALIBRATION_TESTS = (
    "calibration_tests", "Calibration tests",
    "model test statistic df p p_adjusted method contradicted groups_off? largest_gap?",
)  # fmt: skip


def sort_models(rows: Sequence[Row], name: str) -> list[Row]:
    """Return models sorted by value, the largest first; those without it last."""
    return sorted(rows, key=lambda row: inf if (x := cell_value(row[name])) is None else -x)


def best_and_tied_signs(rows: Sequence[Row]) -> list[Sign]:
    """Return the signs of the best of several models and those tied with it, where tested."""
    may = [row["tied"] for row in rows]
    if len(may) < 2 or all(one is None for one in may):
        return [""] * len(may)
    first = next((i for i, one in enumerate(may) if one), 0)
    return ["best" if i == first else "equal" if one else "" for i, one in enumerate(may)]
