"""Counts larger than a table of rows: whole populations, and whole numbers up to 2**63."""

from __future__ import annotations

from pathlib import Path

import pytest

import clfeval
from tests.methods.phidelta.byhand import (
    EVERY,
    Cells,
    cells_shown,
    counts_frame,
    model_row,
    rows_by_model,
)
from tests.results import row_of, value_of

HAND = Cells(40, 10, 20, 90)


@pytest.mark.parametrize("factor", [10**3, 10**6, 10**7, 10**8, 10**9, 10**14])
def test_no_product_of_counts_overflows(factor: int) -> None:
    """METHODS names the trap for MCC; phi, delta and accuracy_u multiply counts of rows too.

    At 10**8 times this table P N is 6e9 * 1e10, more than 2**63.
    """
    row, expected = model_row(HAND.times(factor, factor)), HAND.values()
    assert cells_shown(row) == HAND.times(factor, factor)
    for column in EVERY:
        assert value_of(row[column]) == pytest.approx(expected[column], rel=1e-12), column


def test_one_class_much_larger() -> None:
    cells = Cells(4, 10**12, 1, 9 * 10**12)
    result = clfeval.phidelta(counts_frame({"m": cells}), prevalence="1:1")
    row = rows_by_model(result)["m"]
    assert value_of(row["delta"]) == pytest.approx(4 / 5 - 1 / 10, rel=1e-12)
    assert value_of(row["precision"]) == pytest.approx(4 / (10**12 + 4), rel=1e-12)
    assert value_of(row["mcc"]) == pytest.approx(cells.values()["mcc"], rel=1e-9)


def test_a_count_is_read_to_its_last_digit(tmp_path: Path) -> None:
    """METHODS 0: counts are exact integers; 2**53 + 1 is no float."""
    path = tmp_path / "counts.csv"
    path.write_text("model,tp,fp,fn,tn\nm,9007199254740993,1,2,3\n")
    assert row_of(clfeval.phidelta(path), "models")["tp"] == 9007199254740993
