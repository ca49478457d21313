"""Many columns: counted block by block, and tables of 20 000 features."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from clfeval.counts.features import wide
from tests.methods.features.door import features, rows_by_feature, table_text
from tests.results import four_cells

COLUMNS, ROWS = 20_000, 2_000
NAMES = [f"x{j}" for j in range(COLUMNS)]
Bits = NDArray[np.int8]


@cache
def classes_and_bits() -> tuple[Bits, Bits]:
    """Return the class of every row, and its bits (ROWS, COLUMNS), common ones and rare ones."""
    dice = np.random.default_rng(5)
    bits = dice.random((ROWS, COLUMNS), np.float32) < dice.random(COLUMNS, np.float32)
    return (dice.random(ROWS) < 0.4).astype(np.int8), bits.astype(np.int8)


pytestmark = pytest.mark.usefixtures("folder")


@pytest.mark.parametrize("cells_at_once", [1, 40, 1 << 24])
@pytest.mark.parametrize("cut", ["median", "mean", "best", "soft", 0.5])
def test_the_size_of_a_block_changes_nothing(
    cells_at_once: int, cut: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = np.random.default_rng(2)
    numbers = {f"x{j}": dice.normal(size=30).round(1) for j in range(7)}
    words = {f"w{j}": dice.choice(["a", "b", "c"], 30).tolist() for j in range(5)}
    frame = pl.DataFrame({"truth": [1, 0, 0] * 10} | numbers | words)
    whole = table_text(features(frame, cut=cut))
    monkeypatch.setattr(wide, "CELLS", cells_at_once)
    assert table_text(features(frame, cut=cut)) == whole


def cells_by_feature(bits: Bits) -> dict[str, tuple[int, ...]]:
    """Return tp, fp, fn, tn of every column."""
    positive = classes_and_bits()[0] == 1
    tp, fp = (bits[rows].sum(axis=0, dtype=np.int64) for rows in (positive, ~positive))
    four = np.column_stack([tp, fp, positive.sum() - tp, (~positive).sum() - fp])
    return dict(zip(NAMES, map(tuple, four.tolist()), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["csv", "parquet"])
def test_a_wide_table_of_20_000_columns(how: str) -> None:
    truth, bits = classes_and_bits()
    frame = pl.DataFrame(bits, schema=NAMES).insert_column(0, pl.Series("truth", truth))
    frame.write_csv("t.csv") if how == "csv" else frame.write_parquet("t.parquet")
    found = {name: four_cells(row) for name, row in rows_by_feature(f"t.{how}").items()}
    assert found == cells_by_feature(bits)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["csv", "parquet"])
def test_a_sparse_table_of_20_000_features(how: str) -> None:
    truth, bits = classes_and_bits()
    chosen = bits * (np.random.default_rng(6).random(bits.shape, np.float32) < 0.01)
    chosen[0, :] = 1  # every feature occurs
    row, feature = chosen.nonzero()
    frame = pl.DataFrame({"row": row, "feature": np.array(NAMES)[feature]})
    owners = pl.DataFrame({"row": np.arange(ROWS), "truth": truth})
    frame.write_csv("t.csv") if how == "csv" else frame.write_parquet("t.parquet")
    found = {
        name: four_cells(row)
        for name, row in rows_by_feature(f"t.{how}", truth_table=owners).items()
    }
    assert found == cells_by_feature(chosen)
