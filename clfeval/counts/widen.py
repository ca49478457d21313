"""Long to wide: one row per observation, with flags for what a wide table cannot show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw


def widen(
    frame: nw.LazyFrame[Any],
    *,
    row_id: str,
    model: str,
    prediction: str,
    models: Sequence[str],
    constants: Sequence[str],
    run: str | None = None,
) -> tuple[nw.LazyFrame[Any], tuple[str, ...]]:
    """Turn a long table into a wide one, with flag columns for what a wide one cannot show.

    With `run` an observation of each run is a row of its own.

    Columns: p0.. the prediction of each model, k0.. the constants (truth, slices, weight);
    truth is missing if any row of the id lacks it. Blank lines are left out.
    Flags: c0.. how often each model has the id (0, 1, or 2 for more), d0.. 1 where a constant
    differs within the id, nameless 1 where a row lacks its id or its model.
    """
    marks = [nw.col(model) == name for name in models]
    blank = nw.col(row_id).is_null() & nw.col(model).is_null() & nw.col(prediction).is_null()
    chosen = nw.col(model).is_in(list(models)) | nw.col(model).is_null()
    keys = ["id"] if run is None else ["id", "run"]
    spread = frame.filter(~blank & chosen).select(
        nw.col(row_id).alias("id"),
        *([] if run is None else [nw.col(run).alias("run")]),
        *[nw.when(mark).then(nw.col(prediction)).alias(f"p{i}") for i, mark in enumerate(marks)],
        *[mark.cast(nw.Int32).alias(f"c{i}") for i, mark in enumerate(marks)],
        *[nw.col(name).alias(f"k{i}") for i, name in enumerate(constants)],
        *[nw.col(name).is_null().cast(nw.Int32).alias(f"g{i}") for i, name in enumerate(constants)],
        nw.col(model).is_null().cast(nw.Int32).alias("nobody"),
    )
    gathered = spread.group_by(*keys).agg(
        *[nw.col(f"p{i}").max() for i in range(len(models))],
        *[nw.col(f"c{i}").sum() for i in range(len(models))],
        *[nw.col(f"k{i}").min().alias(f"l{i}") for i in range(len(constants))],
        *[nw.col(f"k{i}").max().alias(f"h{i}") for i in range(len(constants))],
        *[nw.col(f"g{i}").sum() for i in range(len(constants))],
        nw.col("nobody").sum(),
        nw.len().alias("rows"),
    )
    counts = [f"c{i}" for i in range(len(models))]
    differs = [f"d{i}" for i in range(len(constants))]
    wide = gathered.select(
        "id",
        *[nw.col(f"p{i}") for i in range(len(models))],
        *[
            nw.when(nw.col(name) > 1).then(nw.lit(2)).otherwise(nw.col(name)).alias(name)
            for name in counts
        ],
        *[_differs(i, here_and_there=i > 0).alias(name) for i, name in enumerate(differs)],
        nw.when(nw.col("id").is_null() | (nw.col("nobody") > 0))
        .then(nw.lit(1))
        .otherwise(nw.lit(0))
        .cast(nw.Int8)
        .alias("nameless"),
        nw.when(nw.col("g0") == 0).then(nw.col("h0")).alias("k0"),
        *[nw.col(f"h{i}").alias(f"k{i}") for i in range(1, len(constants))],
    )
    return wide, (*counts, *differs, "nameless")


def _differs(constant: int, *, here_and_there: bool) -> nw.Expr:
    """Return 1 where a constant has two values, or one that only some rows of the id give."""
    low, high, gaps = nw.col(f"l{constant}"), nw.col(f"h{constant}"), nw.col(f"g{constant}")
    two = nw.when(low.is_null()).then(nw.lit(0)).otherwise((low != high).cast(nw.Int8))
    if not here_and_there:
        return two.cast(nw.Int8)
    some = (gaps > 0) & (gaps < nw.col("rows"))
    return nw.when(some).then(nw.lit(1)).otherwise(two).cast(nw.Int8)
