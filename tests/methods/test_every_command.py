"""What every command does with every kind of rows: one property for each, in place of copies.

Rows in another order, in two files, twice or with the weight 2, in clusters of one row, in slices,
and without intervals. Each is compared with the plain table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Estimate, Row
from tests.results import rows_of
from tests.samples import logistic

ROWS = 120
MODELS = ("m0", "m1", "m2")
Options = dict[str, Any]
Tables = dict[str, list[dict[str, Any]]]


def scored_rows() -> pl.DataFrame:
    """Return two classes with the scores of three models, and two sites."""
    dice = np.random.default_rng(3)
    truth = (dice.random(ROWS) < 0.4).astype(int)
    scores = {name: logistic(1.2 * truth - 0.6 - dice.normal(0, 1, ROWS), 3) for name in MODELS}
    return pl.DataFrame({"truth": truth, **scores, "site": [f"s{i % 2}" for i in range(ROWS)]})


def labelled_rows() -> pl.DataFrame:
    return scored_rows().with_columns((pl.col(*MODELS) > 0.5).cast(int))


def rows_of_classes() -> pl.DataFrame:
    """Return three classes with the labels of three models, and two sites."""
    dice = np.random.default_rng(4)
    truth = dice.choice([*"xyz"], ROWS)
    labels = {
        name: np.where(dice.random(ROWS) < 0.7, truth, dice.choice([*"xyz"], ROWS))
        for name in MODELS
    }
    return pl.DataFrame({"truth": truth, **labels, "site": [f"s{i % 2}" for i in range(ROWS)]})


Case = tuple[Callable[..., Result], Callable[[], pl.DataFrame], Options]
POLYGON: Options = {"source": "predictions", "metric": ["roc_auc", "f1", "mcc"], "threshold": 0.5}
CASES: Mapping[str, Case] = {
    "report, scores": (clfeval.report, scored_rows, {"reference": "m0"}),
    "report, labels": (clfeval.report, labelled_rows, {"reference": "best"}),
    "report, classes": (clfeval.report, rows_of_classes, {"reference": "all-pairs"}),
    "mars, scores": (clfeval.mars, scored_rows, {"threshold": 0.5, "best": 2}),
    "mars, labels": (clfeval.mars, labelled_rows, {"subsets": 2, "reference": "m0"}),
    "phidelta, scores": (clfeval.phidelta, scored_rows, {"curve": True}),
    "phidelta, labels": (clfeval.phidelta, labelled_rows, {"reference": "m0"}),
    "phidelta, features": (clfeval.phidelta, scored_rows, {"features": True, "cut": "best"}),
    "tune-jpt": (
        clfeval.tune_jpt,
        labelled_rows,
        {"prevalence": 0.1, "reference": "m0", "points": 5},
    ),
    "mlcps": (clfeval.mlcps, scored_rows, POLYGON),
    "recalibrate": (clfeval.recalibrate, scored_rows, {}),
}
EVERY = pytest.mark.parametrize("case", CASES)
OF_ROWS = ("mlcps", "recalibrate", "phidelta, features")  # without clusters, slices, or both
WITH_BOOTSTRAP = ("mlcps", "first")  # a share of bootstrap tables


def tables_of(case: str, table: Any, **options: Any) -> Tables:
    """Return the tables of a result as dictionaries."""
    function, _, own_options = CASES[case]
    result = function(table, **{**own_options, **options})
    return {name: rows_of(result, name) for name in result.tables}


def plain_rows(case: str) -> pl.DataFrame:
    return CASES[case][1]().drop("site")


@cache
def plain_tables(case: str) -> Tables:
    """Return the tables of the plain rows, computed once."""
    return tables_of(case, plain_rows(case))


def rounded(tables: Tables) -> Tables:
    """Return tables with ten significant digits: sums over rows depend on their order."""
    return {
        name: [{key: _rounded(row[key]) for key in row} for row in tables[name]] for name in tables
    }


def _rounded(cell: Any) -> Any:
    if isinstance(cell, Estimate):
        return tuple(map(_rounded, (cell.value, cell.low, cell.high, cell.reason)))
    return float(f"{cell:.10g}") + 0.0 if isinstance(cell, float) else cell


def values(rows: list[dict[str, Any]], *names: str) -> dict[tuple[Any, ...], float | None]:
    """Return the values of estimates, without limits, by the cells that name a row."""
    return {
        (name, *(row.get(key) for key in names)): None
        if cell.value is None
        else float(f"{cell.value:.10g}")
        for row in rows
        for name, cell in row.items()
        if isinstance(cell, Estimate)
    }


NAMES = ("model", "feature", "measure", "estimator", "class", "population", "odds")


def main_values(tables: Tables) -> dict[tuple[Any, ...], float | None]:
    """Return the values of the tables of models and measures, or of features, in all rows."""
    return {
        (table, *key): value
        for table in ("models", "measures", "features")
        for key, value in values(
            [row for row in tables.get(table, []) if row.get("slice") is None], *NAMES
        ).items()
    }


@EVERY
@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_rows_is_no_matter(case: str, seed: int) -> None:
    rows = plain_rows(case)
    shuffled = rows.sample(fraction=1, shuffle=True, seed=seed)
    assert rounded(tables_of(case, shuffled)) == rounded(plain_tables(case))


@EVERY
def test_files_are_one_table(case: str, tmp_path: Path) -> None:
    rows = plain_rows(case)
    for number in (0, 1):
        half = rows.slice(number * ROWS // 2, ROWS // 2)
        half.write_csv(tmp_path / f"part{number}.csv")
    parts = tables_of(case, f"{tmp_path}/part*.csv")
    rows.write_csv(tmp_path / "whole.csv")
    assert rounded(parts) == rounded(tables_of(case, tmp_path / "whole.csv"))


@EVERY
def test_a_row_of_weight_two_is_the_row_twice(case: str) -> None:
    rows = plain_rows(case)
    twice = tables_of(case, pl.concat([rows, rows]), where="copy >= 1")
    assert rounded(tables_of(case, rows.with_columns(n=2), weight="n")) == rounded(twice)


@pytest.mark.parametrize("case", sorted({*CASES}.difference(OF_ROWS)))
def test_clusters_of_one_row_change_no_value(case: str) -> None:
    """Limits may change: a sandwich of clusters has C / (C - 1), and shares have another method."""
    rows = plain_rows(case)
    clustered = tables_of(case, rows.with_row_index("row"), cluster="row")
    plain = main_values(plain_tables(case))
    assert plain
    assert main_values(clustered) == plain


@pytest.mark.parametrize("case", sorted(CASES.keys() - {"recalibrate"}))
def test_values_need_no_intervals(case: str) -> None:
    rows = plain_rows(case)
    with_reference = "reference" in CASES[case][2]
    options: Options = {"reference": None} if with_reference else {}
    plain = main_values(tables_of(case, rows, **options) if options else plain_tables(case))
    without = tables_of(case, rows, **options, interval="none")
    assert plain
    assert main_values(without) == {
        key: value for key, value in plain.items() if (case, key[1]) != WITH_BOOTSTRAP
    }
    assert not [*_limits(without)]


def _limits(tables: Tables) -> Iterator[tuple[str, Row, str]]:
    for table in ("models", "measures", "features"):
        for row in tables.get(table, []):
            for name, cell in row.items():
                if isinstance(cell, Estimate) and cell.low is not None:
                    yield table, row, name  # type: ignore[misc]


@pytest.mark.parametrize("case", sorted({*CASES}.difference(OF_ROWS)))
def test_a_slice_has_the_values_of_its_rows(case: str) -> None:
    rows = CASES[case][1]()
    sliced = tables_of(case, rows, by="site")
    for site in ("s0", "s1"):
        part = tables_of(case, rows.filter(pl.col("site") == site).drop("site"))
        expected = main_values(part)
        slice_values = {
            (table, *key): value
            for table in ("models", "measures", "features")
            for key, value in values(
                [row for row in sliced.get(table, []) if row.get("slice") == f"site={site}"], *NAMES
            ).items()
        }
        assert slice_values
        assert slice_values == {
            key: value for key, value in expected.items() if key in slice_values
        }
