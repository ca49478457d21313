"""Random small tables of mixed kinds for hypothesis, and what METHODS makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from hypothesis import strategies as st

from tests.methods.features import brute
from tests.methods.features.brute import Placed
from tests.results import Line, four_cells, value_of

NUMBERS = (-2.5, -1.0, 0.0, 0.25, 0.5, 1.0, 1.5, 4.0)  # few, so that many tie
TEXTS = ("red", "green", "blue = 1", "x,y")
MixedRow = tuple[int, Any, Any, Any, Any, int]  # truth, bit, flag, number, colour, weight
KINDS = {"bit": pl.Int64, "flag": pl.Boolean, "number": pl.Float64, "colour": pl.String}


@st.composite
def mixed_rows(
    draw: st.DrawFn, *, missing: bool = False, size: tuple[int, int] = (0, 12)
) -> list[MixedRow]:
    """Draw rows of both classes with one cell of each kind, perhaps missing, and a weight."""

    def perhaps(cell: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(st.none(), cell, cell) if missing else cell

    def row_of_class(truth: st.SearchStrategy[int]) -> st.SearchStrategy[MixedRow]:
        return st.tuples(
            truth,
            perhaps(st.integers(0, 1)),
            perhaps(st.booleans()),
            perhaps(st.sampled_from(NUMBERS)),
            perhaps(st.sampled_from(TEXTS)),
            st.integers(1, 4),
        )

    required = [draw(row_of_class(st.just(truth))) for truth in (1, 0)]
    further = draw(st.lists(row_of_class(st.integers(0, 1)), min_size=size[0], max_size=size[1]))
    return draw(st.permutations(required + further))


def wide_frame(table: Sequence[MixedRow], *, weight: bool = False) -> pl.DataFrame:
    """Return the rows as a typed wide table; with `weight` the last cell is the column n."""
    columns = list(zip(*table, strict=True))
    series = [pl.Series("truth", columns[0], pl.Int64)]
    series += [
        pl.Series(name, columns[i], kind) for i, (name, kind) in enumerate(KINDS.items(), start=1)
    ]
    return pl.DataFrame([*series, *([pl.Series("n", columns[5], pl.Int64)] if weight else [])])


def repeated(table: Sequence[MixedRow]) -> list[MixedRow]:
    """Return every row as often as its weight says."""
    return [row for row in table for _ in range(row[5])]


def expected(table: Sequence[MixedRow], cut: Any) -> dict[str, Placed]:
    """Return where METHODS puts every feature of the table."""
    truth = [row[0] == 1 for row in table]
    bits, flags, numbers, colours = ([row[i] for row in table] for i in (1, 2, 3, 4))
    features = {
        "bit": brute.binary(truth, bits),
        "flag": brute.binary(truth, flags),
        "number": brute.numeric(truth, numbers, cut),
    }
    texts = sorted({text for text in colours if text is not None})
    for text in texts:
        features[f"colour={text}"] = brute.category(truth, colours, text)
    if not texts:
        features["colour"] = brute.tally(truth, [None] * len(truth))
    return features


def agree(row: Line, placed: Placed) -> None:
    """Assert that a row of the result is what METHODS says."""
    assert (row["rows"], row["missing"]) == (placed.positives + placed.negatives, placed.missing)
    if not placed.scaled:
        assert four_cells(row) == (None, None, None, None)
        assert (row["phi"].value, row["phi"].reason) == (None, "constant_feature")
        return
    if placed.rule != "soft":
        assert four_cells(row) == placed.cells
        assert (row["cut"], row["rule"]) == (placed.cut, placed.rule)
    else:
        assert all(abs(a - b) < 1e-9 for a, b in zip(four_cells(row), placed.cells, strict=True))
    if placed.phi is None:
        assert row["phi"].value is None
        assert row["delta"].value is None
        assert row["phi"].reason
        assert row["role"] is None
        return
    assert abs(value_of(row["phi"]) - float(placed.phi)) < 1e-12
    assert abs(value_of(row["delta"]) - float(placed.delta or 0)) < 1e-12
    assert abs(value_of(row["phi"])) + abs(value_of(row["delta"])) <= 1 + 1e-12
