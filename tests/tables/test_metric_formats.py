"""Metric tables in every layout and format: the same models, metrics and values come out."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.tables.door import packed
from tests.tables.metric_door import (
    FILES,
    FRAMES,
    WAYS,
    Shown,
    metric_content,
    metric_table_of,
    problem_rows,
    read_metrics,
)

MODELS, METRICS = ("rf", "no", "01"), ("f1", "acc", "mcc")
VALUES = [[0.9, 0.8, -0.25], [0.7, 0.6, 0.5], [1.0, 0.0, 1e-5]]
EXPECTED: Shown = (MODELS, METRICS, VALUES)

CELLS = {name: [row[j] for row in VALUES] for j, name in enumerate(METRICS)}
WIDE = pl.DataFrame({"model": MODELS, **CELLS})
LONG = WIDE.unpivot(METRICS, index="model", variable_name="metric")
CV = pl.DataFrame(
    {
        "mean_fit_time": [0.1, 0.2, 0.3],
        "param_who": MODELS,
        **{f"mean_test_{name}": cells for name, cells in CELLS.items()},
    }
)
ENDS: dict[str, Any] = {
    "low": [0.0] * 3,
    "high": [1.0] * 3,
    "reason": pl.Series([None] * 3, dtype=pl.String),
}
RESULT = pl.DataFrame({"model": MODELS, "tp": [3, 4, 5]}).with_columns(
    *(
        pl.Series(f"{name}_{end}" if end else name, ENDS[end] if end else CELLS[name])
        for name in METRICS
        for end in ("", *ENDS)
    )
)
TRANSPOSED = pl.DataFrame({"metric": METRICS, **{name: VALUES[i] for i, name in enumerate(MODELS)}})
LAYOUTS = {"wide": WIDE, "long": LONG, "cv": CV, "result": RESULT}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_in_every_format_is_the_same_table(layout: str, way: str) -> None:
    table = read_metrics(WAYS[way](LAYOUTS[layout]))
    named = [f"who={name}" for name in MODELS] if layout == "cv" else MODELS
    assert metric_content(table) == (tuple(named), METRICS, VALUES)
    assert table.layout == layout
    assert (table.dropped, table.ignored) == (0, ())


@pytest.mark.parametrize("way", WAYS)
def test_columns_that_are_models_in_every_format(way: str) -> None:
    table = read_metrics(WAYS[way](TRANSPOSED), transpose=True)
    assert metric_content(table) == EXPECTED
    assert len(set(problem_rows(table))) == 1  # that of the metric


@pytest.mark.parametrize("way", FRAMES)
def test_a_frame_has_no_name_and_no_hash(way: str) -> None:
    table = read_metrics(WAYS[way](WIDE))
    assert (table.name, table.display, table.sha256) == ("<frame>", "<frame>", None)
    assert problem_rows(table) == (1, 2, 3)


@pytest.mark.parametrize("packing", [None, "gzip", "zstd"])
@pytest.mark.parametrize("way", FILES)
def test_a_file_is_named_and_hashed_as_given(way: str, packing: str | None) -> None:
    (name,) = WAYS[way](WIDE)
    content = Path(name).read_bytes()
    if packing is not None:
        content = packed(content, packing)
        name += ".gz" if packing == "gzip" else ".zst"
    table = metric_table_of(content, name)
    assert metric_content(table) == EXPECTED
    assert (table.name, table.display, table.sha256) == (name, name, sha256(content).hexdigest())


@pytest.mark.parametrize("way", [way for way in FILES if way != "tsv"])
def test_standard_input_is_known_by_its_first_bytes(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (name,) = WAYS[way](WIDE)
    content = Path(name).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    table = read_metrics(["-"])
    assert metric_content(table) == EXPECTED
    assert (table.name, table.display) == ("<stdin>", "<stdin>")
    assert table.sha256 == sha256(content).hexdigest()


def test_input_format_and_delimiter_outrank_the_name() -> None:
    assert (
        metric_content(metric_table_of(WIDE.write_csv(), "t.json", input_format="csv")) == EXPECTED
    )
    assert (
        metric_content(metric_table_of(WIDE.write_csv(separator=";"), "t.csv", delimiter=";"))
        == EXPECTED
    )


def test_no_frame_is_changed() -> None:
    frame = WIDE.to_pandas().set_index("model")
    frame["flag"] = [True, None, False]
    copy = frame.copy(deep=True)
    table = read_metrics(frame, null_value=["0.8"], missing="drop")
    table.values[:] = -1
    pd.testing.assert_frame_equal(frame, copy)
    native = WIDE.clone()
    read_metrics(WIDE, wanted=["acc"]).values[:] = -1
    assert WIDE.equals(native)
    arrow = WIDE.to_arrow()
    read_metrics(arrow).values[:] = -1
    assert arrow.equals(WIDE.to_arrow())


F1 = {"f1": [0.5, 1.0]}
NAMED = {"model": ["rf", "svm"], **F1}
PAIRS = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
INDEXED: dict[str, Callable[[], Any]] = {
    "text": lambda: pd.DataFrame(F1, index=["rf", "svm"]),
    "named": lambda: pd.DataFrame(F1, index=pd.Index(["rf", "svm"], name="clf")),
    "after all": lambda: pa.Table.from_pandas(INDEXED["text"]()),
    "read back": lambda: pd.read_csv(io.StringIO(INDEXED["text"]().to_csv())),
    "numbers": lambda: pd.DataFrame(NAMED, index=[7, 9]),
    "pairs": lambda: pd.DataFrame(NAMED, index=PAIRS),
    **{
        f"row numbers '{name}'": lambda name=name: pl.DataFrame({name: [0, 1], **NAMED})  # type: ignore[misc]
        for name in ("", "Unnamed: 0", "__index_level_0__")
    },
}


@pytest.mark.parametrize("how", INDEXED)
def test_names_may_stand_in_the_index_and_row_numbers_are_no_metric(how: str) -> None:
    table = read_metrics(INDEXED[how]())
    assert metric_content(table) == (("rf", "svm"), ("f1",), [[0.5], [1.0]])
    assert table.ignored == ()


NULLABLE = {
    "pandas": pd.array([0.5, None], dtype="Float64"),
    "integers": pd.array([1, None], dtype="Int64"),
    "arrow": pd.array([0.5, None], dtype="double[pyarrow]"),
    "objects": pd.array([0.5, pd.NA], dtype=object),
    "times": pd.array([0.5, pd.NaT], dtype=object),
}


@pytest.mark.parametrize("how", NULLABLE)
def test_every_kind_of_nothing_is_missing(how: str) -> None:
    frame = pd.DataFrame({"model": ["rf", "svm"], "f1": NULLABLE[how]})
    table = read_metrics(frame, missing="drop")
    assert (table.models, table.dropped) == (("rf",), 1)


def test_typed_columns_of_numbers_are_read_as_numbers() -> None:
    frame = pl.DataFrame(
        {
            "model": pl.Series(["rf", "svm"], dtype=pl.Categorical),
            "a": pl.Series([1, 2], dtype=pl.Int8),
            "b": pl.Series([0.5, 0.25], dtype=pl.Float32),
            "c": pl.Series(["0.5", "0.75"]).cast(pl.Decimal(4, 2)),
            "d": pl.Series(["0.5", "0.75"]),
            "flag": [True, False],
        }
    )
    table = read_metrics(frame)
    values = [[1, 0.5, 0.5, 0.5], [2, 0.25, 0.75, 0.75]]
    assert metric_content(table) == (("rf", "svm"), ("a", "b", "c", "d"), values)
    assert table.ignored == ("flag",)


def test_names_that_are_numbers_are_written_as_they_were() -> None:
    frame = pl.DataFrame({"model": [1, 20], "f1": [0.5, 0.25]})
    assert read_metrics(frame).models == ("1", "20")
