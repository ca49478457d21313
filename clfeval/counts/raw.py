"""Raw counts: how often each combination of raw values occurs, in one pass over wide or long rows.

Written against narwhals: the same lines run on polars (the default, streaming), DuckDB, pandas,
Arrow and Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import narwhals as nw
import numpy as np

from clfeval.arrays import Floats, Ints
from clfeval.tables.peek import is_absent
from clfeval.tables.prediction import ModelColumns
from clfeval.tables.scan import NO_TAIL, TEXT_BYTES

MISSING = 2  # the vote code of an absent score; 0 is negative, 1 is positive


@dataclass(frozen=True, slots=True)
class CountPlan:
    """What to group: columns, thresholds, and the class whose probability counts as the score."""

    truth: str
    models: tuple[ModelColumns, ...]
    thresholds: Mapping[str, float]
    positive: str | None
    by: tuple[str, ...] = ()
    weight: str | None = None
    flags: tuple[str, ...] = ()  # columns of 0/1/2 made by `widen`, grouped as they are


@dataclass(frozen=True, slots=True)
class RawCounts:
    """Distinct combinations of raw values with their counts, all columns of equal length.

    votes: per model the raw labels, or codes 0, 1, MISSING of thresholded scores.
    ranges: per score model the lowest and highest score, of class probabilities over all classes.
    origin: the number of the file each combination was counted in.
    text_bytes, no_tail: bytes in fields read as text, rows without their last field.
    """

    truth: list[Any]
    by: tuple[list[Any], ...]
    votes: tuple[list[Any], ...]
    flags: tuple[list[Any], ...]
    rows: Ints
    n: Floats | Ints
    bad_weights: int
    ranges: Mapping[str, tuple[float, float]]
    ties: Mapping[str, int]
    text_bytes: int
    no_tail: int
    origin: Ints

    @classmethod
    def joined(cls, parts: Sequence[RawCounts]) -> RawCounts:
        """Put the counts of several files under one another, remembering which came from where."""
        ranges: dict[str, tuple[float, float]] = {}
        for part in parts:
            for name, (low, high) in part.ranges.items():
                known = ranges.get(name, (low, high))
                ranges[name] = (min(known[0], low), max(known[1], high))
        return cls(
            truth=_chained(part.truth for part in parts),
            by=tuple(
                _chained(columns) for columns in zip(*(part.by for part in parts), strict=True)
            ),
            votes=tuple(
                _chained(columns) for columns in zip(*(part.votes for part in parts), strict=True)
            ),
            flags=tuple(
                _chained(columns) for columns in zip(*(part.flags for part in parts), strict=True)
            ),
            rows=np.concatenate([part.rows for part in parts]),
            n=np.concatenate([part.n for part in parts]),
            bad_weights=sum(part.bad_weights for part in parts),
            ranges=ranges,
            ties={name: sum(part.ties[name] for part in parts) for name in parts[0].ties},
            text_bytes=sum(part.text_bytes for part in parts),
            no_tail=sum(part.no_tail for part in parts),
            origin=np.repeat(np.arange(len(parts)), [len(part.rows) for part in parts]),
        )


def count_raw(frame: nw.LazyFrame[Any], plan: CountPlan) -> RawCounts:
    """Group the rows of a frame by truth, slices and every model's label or thresholded score."""
    keys = {"t": nw.col(plan.truth)}
    keys |= {f"b{i}": nw.col(name) for i, name in enumerate(plan.by)}
    keys |= {f"f{i}": nw.col(name) for i, name in enumerate(plan.flags)}
    values: dict[str, Any] = {}
    sums = [nw.len().alias("rows")]
    for i, model in enumerate(plan.models):
        keys[f"v{i}"] = vote_expression(model, plan.thresholds[model.name], plan.positive)
        if model.kind != "label":
            scores = [finite(nw.col(name).cast(nw.Float64)) for name in model.columns]
            values[f"s{i}"] = nw.min_horizontal(*scores) if len(scores) > 1 else scores[0]
            values[f"u{i}"] = nw.max_horizontal(*scores) if len(scores) > 1 else scores[0]
            sums += [nw.col(f"s{i}").min().alias(f"lo{i}"), nw.col(f"u{i}").max().alias(f"hi{i}")]
        if model.kind == "classes" and len(model.columns) > 2:
            values[f"e{i}"] = _tied(model).cast(nw.Int64)
            sums.append(nw.col(f"e{i}").sum().alias(f"tie{i}"))
    if plan.weight is not None:
        good = usable_weight(plan.weight)
        values["w"] = nw.when(good).then(nw.col(plan.weight)).cast(nw.Float64)
        values["x"] = nw.when(good).then(nw.lit(0)).otherwise(nw.lit(1)).cast(nw.Int64)
        weight = nw.col(plan.weight).cast(nw.Float64)
        broken = (weight.round(0) != weight).cast(nw.Int64)
        values["y"] = nw.when(good).then(broken).otherwise(nw.lit(0)).cast(nw.Int64)
        sums += [nw.col("w").sum(), nw.col("x").sum(), nw.col("y").sum()]
    columns = frame.collect_schema().names()
    for mark in (TEXT_BYTES, NO_TAIL):
        if mark in columns:
            values[mark] = nw.col(mark)
            sums.append(nw.col(mark).sum())
    picked = [expression.alias(name) for name, expression in {**keys, **values}.items()]
    grouped = collect(counting_rows(frame, plan).select(*picked).group_by(*keys).agg(*sums))
    return _unpacked(grouped, plan)


def _unpacked(grouped: nw.DataFrame[Any], plan: CountPlan) -> RawCounts:
    def column(name: str) -> list[Any]:
        return [None if is_absent(value) else value for value in grouped[name].to_list()]

    rows = np.array(column("rows"), np.int64)
    n: Any = rows
    if plan.weight is not None:
        n = np.array([value or 0.0 for value in column("w")], np.float64)
        if not sum(column("y")):
            n = n.astype(np.int64)
    ranges = {}
    for i, model in enumerate(plan.models):
        if model.kind != "label":
            lows = [v for v in column(f"lo{i}") if v is not None]
            highs = [v for v in column(f"hi{i}") if v is not None]
            if lows:
                ranges[model.name] = (min(lows), max(highs))
    return RawCounts(
        truth=column("t"),
        by=tuple(column(f"b{i}") for i in range(len(plan.by))),
        votes=tuple(column(f"v{i}") for i in range(len(plan.models))),
        flags=tuple(column(f"f{i}") for i in range(len(plan.flags))),
        rows=rows,
        n=n,
        bad_weights=sum(column("x")) if plan.weight is not None else 0,
        ranges=ranges,
        ties={
            model.name: sum(column(f"tie{i}"))
            for i, model in enumerate(plan.models)
            if f"tie{i}" in grouped.columns
        },
        text_bytes=sum(column(TEXT_BYTES)) if TEXT_BYTES in grouped.columns else 0,
        no_tail=sum(column(NO_TAIL)) if NO_TAIL in grouped.columns else 0,
        origin=np.zeros(len(rows), np.int64),
    )


def _chained(columns: Iterable[list[Any]]) -> list[Any]:
    return list(chain.from_iterable(columns))


def collect(frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """Run the lazy frame, on polars with the streaming engine."""
    if frame.implementation.is_polars():
        return frame.collect(engine="streaming")
    return frame.collect()


def counting_rows(frame: nw.LazyFrame[Any], plan: CountPlan) -> nw.LazyFrame[Any]:
    """Leave out rows of weight 0, which stand for no row; unusable weights stay, to be named."""
    if plan.weight is None:
        return frame
    weight = nw.col(plan.weight)
    return frame.filter((weight != 0) | weight.is_null())


def score_column(model: ModelColumns, positive: str | None) -> nw.Expr:
    """Return the column with the score of the positive class."""
    index = model.classes.index(str(positive)) if model.kind == "classes" else 0
    return nw.col(model.columns[index]).cast(nw.Float64)


def finite(score: nw.Expr) -> nw.Expr:
    """Turn NaN into null: polars orders NaN above every number."""
    return nw.when(~_absent(score)).then(score)


def vote_expression(model: ModelColumns, threshold: float, positive: str | None) -> nw.Expr:
    """Return the raw label, or 1 / 0 / MISSING: score at or above the threshold, or largest class.

    A threshold of NaN asks for the largest class probability; ties go to the first class.
    """
    if model.kind == "label":
        return nw.col(model.columns[0])
    if threshold == threshold:
        score = score_column(model, positive)
        vote = nw.when(score >= threshold).then(nw.lit(1)).otherwise(nw.lit(0))
        absent = _absent(score)
    else:
        index = model.classes.index(str(positive))
        own = nw.col(model.columns[index])
        beaten = [
            own <= nw.col(other) if position < index else own < nw.col(other)
            for position, other in enumerate(model.columns)
            if position != index
        ]
        lost = nw.any_horizontal(*beaten, ignore_nulls=True)
        vote = nw.when(lost).then(nw.lit(0)).otherwise(nw.lit(1))
        absent = nw.any_horizontal(
            *[_absent(nw.col(name)) for name in model.columns], ignore_nulls=True
        )
    return nw.when(absent).then(nw.lit(MISSING)).otherwise(vote).cast(nw.Int8)


def usable_weight(column: str) -> nw.Expr:
    """True for weights that are numbers, finite and not negative."""
    weight = nw.col(column)
    return ~_absent(weight) & (weight >= 0) & (weight < float("inf"))


def _tied(model: ModelColumns) -> nw.Expr:
    best = nw.max_horizontal(*[nw.col(name) for name in model.columns])
    ties = [(nw.col(name) == best).cast(nw.Int64) for name in model.columns]
    return nw.sum_horizontal(*ties) > 1


def _absent(score: nw.Expr) -> nw.Expr:
    return score.is_null() | score.cast(nw.Float64).is_nan()


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
