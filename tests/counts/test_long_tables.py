"""Long to wide on every engine: predictions, constants, and the flags for what is wrong."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import pandas as pd
import polars as pl
import pytest

import clfeval
from clfeval.tables.columns import KEY, Columns, ModelColumns
from clfeval.tables.frames import collect
from clfeval.tables.layouts.long import DIFFERS, NAMELESS, TIMES, widen
from tests.engines import ENGINES

LONG = pl.DataFrame(
    {
        "id": ["1", "1", "2", "2", "3", "4", "4", "4", "4", "5", "5"],
        "model": ["a", "b", "b", "a", "a", "a", "b", "a", "a", "a", "b"],
        "said": ["1", "0", "1", "0", "1", "0", "1", "1", "0", None, "0"],
        "truth": ["1", "1", "0", "0", "1", "1", "1", "1", "1", "0", "1"],
        "site": ["x", "x", "y", "y", "x", None, None, None, None, "z", "z"],
    }
)
# id: a says, b says, how often a and b have it, whether truth and site differ, truth, site
WIDE: dict[str, tuple[Any, ...]] = {
    "1": ("1", "0", 1, 1, 0, 0, "1", "x"),
    "2": ("0", "1", 1, 1, 0, 0, "0", "y"),
    "3": ("1", None, 1, 0, 0, 0, "1", "x"),  # b lacks it
    "4": ("1", "1", 3, 1, 0, 0, "1", None),  # a has it three times
    "5": (None, "0", 1, 1, 1, 0, "1", "z"),  # truth is 0 in one row and 1 in the other
}
FLAGS = [*(TIMES.format(i) for i in (0, 1)), *(DIFFERS.format(i) for i in (0, 1))]
COLUMNS = ["p0", "p1", *FLAGS, "truth", "site"]


def widened_rows(native: Any, models: list[str]) -> tuple[dict[str, tuple[Any, ...]], list[str]]:
    said = tuple(ModelColumns(name, "label", (f"p{i}",)) for i, name in enumerate(models))
    columns = Columns("truth", "id", said, naming="model", answer="said", facets=(("site",),))
    table = collect(widen(nw.from_native(native).lazy(), columns))
    columns = [name for name in COLUMNS if name in table.columns]
    cells = [[None if pd.isna(v) else v for v in table[name].to_list()] for name in columns]
    flags = [name for name in table.columns if name in (*FLAGS, NAMELESS)]
    return dict(zip(table[KEY].to_list(), zip(*cells, strict=True), strict=True)), flags


@pytest.mark.parametrize("engine", ENGINES)
def test_every_observation_becomes_one_row(engine: str) -> None:
    rows, flags = widened_rows(ENGINES[engine](LONG), ["a", "b"])
    assert flags == [*FLAGS, NAMELESS]
    assert rows == WIDE


@pytest.mark.parametrize("engine", ENGINES)
def test_models_left_out_do_not_count(engine: str) -> None:
    rows, flags = widened_rows(ENGINES[engine](LONG), ["b"])
    assert flags == [FLAGS[0], *FLAGS[2:], NAMELESS]
    assert {key: row[:2] for key, row in rows.items()} == {
        key: (row[1], row[3])
        for key, row in WIDE.items()
        if key != "3"  # only the model left out answered it
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_a_constant_missing_throughout_an_observation_is_no_conflict(engine: str) -> None:
    long = pl.DataFrame(
        {
            "id": ["1", "1", "2", "2", "3", "3"],
            "model": ["a", "b"] * 3,
            "prediction": ["1", "0", "1", "1", "0", "1"],
            "truth": ["1", "1", "0", "0", None, None],
            "site": ["x", "x", None, None, "y", "y"],
        }
    )
    result = clfeval.mars(ENGINES[engine](long), by="site", missing="drop")
    assert [(row["slice"], row["rows"]) for row in result.tables["slices"]] == [
        ("site=(missing)", 1),
        ("site=x", 1),
    ]
    assert result.inputs[0].dropped == 1
