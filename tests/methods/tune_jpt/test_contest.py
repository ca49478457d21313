"""Contests of many parts say what each part alone says."""

import numpy as np
import polars as pl
import pytest

from clfeval.api.commands import tune_jpt
from tests.results import rows_of
from tests.thoroughness import thinned

WAYS: list[dict[str, object]] = [
    {},
    {"measure": "mcc"},
    {"cluster": "who"},
    {"margin": {"tar": 0.05}},
]


@pytest.mark.parametrize("more", thinned(WAYS, WAYS[1:3]))
def test_slices_are_compared_as_tables_of_their_own(more: dict[str, object]) -> None:
    rng = np.random.default_rng(3)
    n = 240
    truth, site = rng.random(n) < 0.4, rng.integers(0, 3, n)
    columns = {"truth": truth.astype(int), "site": [f"s{i}" for i in site]}
    if "cluster" in more:
        columns["who"] = [f"p{i}" for i in rng.integers(0, 60, n)]
    for i in range(3):
        columns[f"m{i}"] = np.where(rng.random(n) < 0.15 + 0.1 * i, ~truth, truth).astype(int)
    table = pl.DataFrame(columns)
    together = tune_jpt(table, by=["site"], **more)
    for label in ("s0", "s1", "s2"):
        alone = tune_jpt(table.filter(pl.col("site") == label).drop("site"), sweep=None, **more)
        for name in ("winners", "crossovers"):
            sliced = rows_of(together, name, slice=f"site={label}")
            expected = [row for row in rows_of(alone, name) if row.get("population") != "sweep"]
            assert expected
            assert [{**row, "slice": None} for row in sliced] == expected
