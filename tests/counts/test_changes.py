"""Rows that one of two models alone has right, in a table whose first rows do not show them."""

from __future__ import annotations

import polars as pl
import pytest

import clfeval
from clfeval.counts import rows as changes


@pytest.mark.parametrize("first", [1, 4, 6, 7, 100])
def test_what_the_first_rows_do_not_show_is_found(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: b is newly wrong in rows 2, 5 and 7, newly right in rows 6 and 8."""
    monkeypatch.setattr(changes, "_FIRST", first)
    truth = [1, 1, 0, 1, 0, 1, 0, 1, 0]
    a, b = [1, 1, 0, 1, 0, 0, 0, 0, 0], [1, 0, 0, 1, 1, 1, 1, 1, 0]
    table = pl.DataFrame({"truth": truth, "a": a, "b": b})
    rows = clfeval.report(table, reference="a", list_changes=2).tables["changes"]
    found = [(row["row"], row["truth"], row["before"], row["after"]) for row in rows]
    assert found == [(2, "1", "1", "0"), (5, "0", "0", "1"), (6, "1", "0", "1"), (8, "1", "0", "1")]
    assert {(row["model"], row["reference"]) for row in rows} == {("b", "a")}
