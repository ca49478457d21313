"""Weights that are no whole numbers: sums are rounded, and nothing leaves its range for that."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import clfeval
from clfeval.measures.catalog import CATALOG
from tests.methods.phidelta.byhand import EVERY, Cells, cells_shown, model_row, model_rows
from tests.reference import Row
from tests.results import estimate_of, four_cells, value_of
from tests.strategies import frame_of, tables
from tests.thoroughness import examples

rows_of_both = tables(models=(1, 4), rows=(2, 14)).filter(lambda t: len({r.truth for r in t}) == 2)


@examples(60)
@given(rows_of_both, st.lists(st.integers(1, 40), min_size=14, max_size=14))
def test_no_count_is_negative_and_nobody_is_better_than_perfect(
    table: list[Row], tenths: list[int]
) -> None:
    assume(len(table) > 3)
    parts = [tenth / 10 for tenth in tenths[: len(table)]]
    frame = frame_of(table).with_columns(n=pl.Series(parts), oracle="truth")
    for row in model_rows(frame, weight="n", interval="none").values():
        assert min(four_cells(row)) >= 0
        phi, delta = (estimate_of(row[name]).value or 0 for name in ("phi", "delta"))
        assert abs(phi) + abs(delta) <= 1 + 1e-15
        for column in EVERY:
            number = estimate_of(row[column]).value
            if number is not None:
                assert CATALOG[column].low <= number <= CATALOG[column].high, column


@pytest.mark.parametrize("seed", range(8))
def test_the_class_totals_are_the_same_for_every_model(seed: int) -> None:
    """All models answer the same rows, so the sample has one prevalence, and nothing is warned."""
    dice = np.random.default_rng(seed)
    truth, votes = dice.integers(0, 2, 40), dice.integers(0, 2, (40, 5))
    n = dice.integers(1, 30, 40) / 10
    frame = pl.DataFrame({"truth": truth, **{f"m{j}": votes[:, j] for j in range(5)}, "n": n})
    result = clfeval.phidelta(frame, weight="n", interval="none")
    assert result.summary["positives"] == pytest.approx(n[truth == 1].sum() / n.mean())
    assert result.summary["rows"] == pytest.approx(40)
    assert result.summary["prevalence"] == pytest.approx(n[truth == 1].sum() / n.sum())
    assert not result.warnings


def test_quarters_are_exact_and_a_scale_changes_nothing() -> None:
    frame = pl.DataFrame({"truth": [1, 1, 0, 0], "m": [1, 0, 1, 0], "n": [0.75, 0.25, 0.5, 1.5]})
    row = model_rows(frame, weight="n", interval="none")["m"]
    # the mean weight is .75
    assert astuple(cells_shown(row)) == pytest.approx((1, 0.5 / 0.75, 0.25 / 0.75, 2))
    quadrupled = model_row(Cells(3, 2, 1, 6), interval="none")
    for column in EVERY:
        assert value_of(row[column]) == pytest.approx(value_of(quadrupled[column]), abs=1e-15), (
            column
        )
