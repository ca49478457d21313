"""Scores of a table as rows of a counts file: one by one, or in buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clfeval.counts import read_files
from clfeval.counts.buckets import MOST_DISTINCT, with_buckets
from clfeval.counts.evaluated_rows import EvaluatedRows
from clfeval.counts.scores import ScoreCounts
from clfeval.records import dataclass
from clfeval.tables.columns import ModelColumns
from clfeval.tables.frames import as_text, collect, concatenate_frames, is_missing, nw, pl
from clfeval.tables.layouts.counts_schema import COLUMN_TYPES

ColumnCells = Sequence[str | None] | NDArray[Any]  # of a column


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSource:
    """Evaluated rows with scores, and how these are counted: bits of the buckets, or one by one.

    thresholds: of each model. ranges: lowest and highest score of each model.
    """

    evaluated: EvaluatedRows
    models: Sequence[ModelColumns]
    bits: int | None
    thresholds: Mapping[str, float | None]
    ranges: Mapping[str, tuple[float, float]]


def has_many_scores(evaluated: EvaluatedRows, models: Sequence[ModelColumns]) -> bool:
    """Return whether any model has more than `MOST_DISTINCT` distinct scores."""
    if evaluated.rows <= MOST_DISTINCT:
        return False
    scored_indices = [i for i, model in enumerate(models) if model.kind != "label"]
    for i in scored_indices:
        rows = concatenate_frames(evaluated.frames(scores=(i,))).select(nw.col(f"s{i}"))
        first_rows = rows.head(4 * MOST_DISTINCT)
        if rows.implementation.is_spark_like():  # whose first rows would come to one place
            sample_share = min(1.5 * MOST_DISTINCT / evaluated.rows, 1.0)
            first_rows = nw.from_native(rows.to_native().sample(fraction=sample_share, seed=0))
        row_sets = (first_rows, rows) if evaluated.rows > 4 * MOST_DISTINCT else (rows,)
        for row_set in row_sets:
            if collect(row_set.select(nw.all().n_unique())).item() > MOST_DISTINCT:
                return True
    return False


def score_frame(source: ScoreSource, i: int, by: Sequence[str]) -> pl.DataFrame:
    """Return a row for each combination of slice values, truth and score, or bucket, of a model."""
    rows = concatenate_frames(source.evaluated.frames(scores=(i,), by=True))
    model = source.models[i]
    has_weights = source.evaluated.settled.columns.weight is not None
    weight = nw.col("w").cast(nw.Int64)
    row_count = weight.sum().cast(nw.Int64) if has_weights else nw.len().alias("w")
    if source.bits is None:
        table = collect(rows.group_by("t", f"s{i}", *by).agg(row_count), f"scores of {model.name}")
        scores = table[f"s{i}"].to_numpy()
        cells = {"key": read_files.exact_keys(scores), "lo": scores, "hi": scores}
        return counts_frame(read_files.SCORES, table, by, {"model": model.name}, cells)
    low, high = source.ranges.get(model.name, (-np.inf, np.inf))
    # half: decimals of single precision are a little different
    lowest = -np.inf if model.shares else min(low, 1 - high) / 2
    rows = with_buckets(rows, f"s{i}", source.bits, source.thresholds[model.name], lowest)
    if has_weights:
        rows = rows.with_columns(nw.col("d1", "d2") * weight)
    score = nw.col(f"s{i}")
    sums = [row_count, score.min().alias("lo"), score.max().alias("hi")]
    sums += [nw.col(f"d{power}").sum().cast(nw.Int64).alias(f"m{power}") for power in (1, 2)]
    # a single number is grouped faster than two
    rows = rows.with_columns(key=2 * nw.col("key") + nw.col("t").cast(nw.Int64))
    table = collect(rows.group_by("key", *by).agg(*sums), f"scores of {model.name}")
    cells = {name: table[name].to_numpy() for name in ("key", *read_files.SUMMED[1:])}
    cells |= {"truth": cells["key"] % 2 == 1, "key": cells["key"] // 2}
    return counts_frame(read_files.SCORES, table, by, {"model": model.name}, cells)


def counts_frame(
    block: str,
    table: nw.DataFrame[Any],
    by: Sequence[str],
    texts: Mapping[str, str],
    cells: Mapping[str, ColumnCells],
) -> pl.DataFrame:
    """Return counts with the columns of every counts file.

    table: with rows `w`, and truth `t` unless cells have it; texts: equal in every row.
    """
    type_names = {"block": "String", **dict.fromkeys(by, "String"), **COLUMN_TYPES}
    schema: Any = {name: getattr(pl, type_name) for name, type_name in type_names.items()}
    columns: dict[str, ColumnCells] = {**cells, "n": table["w"].to_numpy().astype(np.int64)}
    for name in by:
        values = table[name].to_list()
        columns[name] = [None if is_missing(value) else as_text(value) for value in values]
    if "t" in table.columns:
        columns["truth"] = table["t"].to_numpy().astype(bool)
    constants = {name: pl.lit(text) for name, text in {"block": block, **texts}.items()}
    frame = pl.DataFrame(columns).with_columns(**constants)
    return pl.concat([pl.DataFrame(schema=schema), frame], how="diagonal_relaxed").cast(schema)


def bucketed_scores(source: ScoreSource, i: int) -> dict[str | None, ScoreCounts]:
    """Return the scores of a model of a table in buckets, in the whole table and each slice."""
    columns = source.evaluated.settled.columns
    short_names = [f"b{j}" for j in range(len(columns.by))]
    table = score_frame(source, i, short_names)
    short_name_of = dict(zip(columns.by, short_names, strict=True))
    return read_files.score_counts_by_slice(table, columns.facets, short_name_of)
