"""Scores of 32 bits are the decimals they stand for: a Parquet table says what its CSV says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clfeval
from clfeval.api.result import Result
from clfeval.tables.frames import float32_threshold, with_shortest_decimals
from tests.engines import ENGINES
from tests.results import four_cells
from tests.thoroughness import examples

# the table of plain pandas holds 64 bits
SINGLE = [engine for engine in ENGINES if engine != "pandas"]
SEVEN = pl.DataFrame(
    {"truth": [1, 1, 0, 0, 1], "a": [0.7, 0.7, 0.3, 0.6, 0.1], "b": [0.9, 0.7, 0.7, 0.2, 0.3]},
    schema_overrides={"a": pl.Float32, "b": pl.Float32},
)


def statistics_of(result: Result) -> dict[str, Any]:
    """Return a result without its inputs, and with the statistics of its signature only."""
    document: dict[str, Any] = json.loads(result.to_json())
    document["signature"] = document["signature"].partition("stats:")[2]
    return {key: value for key, value in document.items() if key != "inputs"}


@pytest.mark.parametrize("engine", SINGLE)
def test_a_threshold_takes_scores_of_its_own_decimal(engine: str) -> None:
    """The nearest number of 32 bits to 0.7 is 0.699999988."""
    result = clfeval.mars(ENGINES[engine](SEVEN), threshold=0.7, kind="score")
    a, b = result.tables["models"]
    assert four_cells(a) == (2, 0, 1, 2)
    assert four_cells(b) == (2, 1, 1, 1)


@pytest.mark.parametrize("engine", SINGLE)
def test_cuts_are_listed_as_they_are_written(engine: str) -> None:
    options: dict[str, Any] = {"kind": "score", "interval": "none"}
    result = clfeval.mars(ENGINES[engine](SEVEN), sweep="threshold", **options)
    assert {row["threshold"] for row in result.tables["sweep"]} == {0.1, 0.3, 0.7, 0.9}
    result = clfeval.tune_jpt(ENGINES[engine](SEVEN), **options)
    chosen = {row["threshold"] for row in result.tables["thresholds"]} - {None}
    assert chosen <= {0.1, 0.2, 0.3, 0.6, 0.7, 0.9}


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_typed_files_say_what_their_csv_says(tmp_path: Path, form: str) -> None:
    dice = np.random.default_rng(3)
    frame = pl.DataFrame({"truth": dice.integers(0, 2, 300)}).with_columns(
        **{name: pl.Series(dice.random(300).round(3), dtype=pl.Float32) for name in "ab"}
    )
    text, typed = tmp_path / "scores.csv", tmp_path / f"scores.{form}"
    frame.write_csv(text)
    frame.write_parquet(typed) if form == "parquet" else frame.write_ipc(typed)
    metrics = ["roc_auc", "brier", "average_precision"]
    for said in (
        lambda path: clfeval.mars(path, threshold=0.7, sweep="threshold"),
        lambda path: clfeval.mars(path, top="10%", sweep="top"),
        lambda path: clfeval.phidelta(path, threshold=0.35, curve=True, interval="none"),
        lambda path: clfeval.tune_jpt(path, threshold=0.35, interval="none"),
        lambda path: clfeval.mlcps(path, source="predictions", metric=metrics, resamples=100),
    ):
        assert statistics_of(said(typed)) == statistics_of(said(text))


@examples(400)
@given(
    st.one_of(st.floats(0, 1), st.floats(-1e30, 1e30), st.integers(0, 1000).map(lambda n: n / 1000))
)
def test_the_least_number_of_32_bits_that_is_written_at_or_above(threshold: float) -> None:
    least = np.float32(float32_threshold(threshold))
    assert least == float32_threshold(threshold)
    assert float(str(least)) >= threshold
    assert float(str(np.nextafter(least, np.float32(-np.inf)))) < threshold


@pytest.mark.parametrize("end", [float("inf"), float("-inf")])
def test_infinite_thresholds_stay_infinite(end: float) -> None:
    assert float32_threshold(end) == end


def test_numbers_of_32_bits_are_those_of_their_shortest_decimals() -> None:
    """Except ties: 0.314453125 is as near to 0.31445312 as to 0.31445313."""
    dice = np.random.default_rng(0)
    x = np.concatenate(
        [
            dice.random(5000),
            np.arange(10_001) / 1e4,
            dice.normal(size=999) * 30,
            [np.inf, -np.inf, 1e-30, 123456.7],
        ]
    ).astype(np.float32)
    frame = with_shortest_decimals(nw.from_native(pl.LazyFrame({"x": x})), ["x"])
    found = frame.to_native().collect()["x"].to_list()
    for one, y in zip(x, found, strict=True):
        assert np.float32(y) == one
        if 1e-12 <= abs(one) < 1e6 and y != (text := float(str(one))):
            assert abs(y - float(one)) == pytest.approx(abs(text - float(one)), rel=1e-6)
