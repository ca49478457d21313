"""One pass over the rows: how often each combination of raw values occurs.

Written against narwhals: the same lines run on polars (the default, streaming), DuckDB, pandas,
Arrow and Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from clfeval.arrays import Floats, Ints
from clfeval.counts.settle import Settled, check_structure
from clfeval.errors import DataError, Problem, listing
from clfeval.late import nw
from clfeval.tables.cells import is_absent
from clfeval.tables.csv import FingerprintTask
from clfeval.tables.prediction import WRONG, Mode, ModelColumns
from clfeval.tables.scan import NO_TAIL, TEXT_BYTES, Frame, TableFile, collect, engine_errors

MISSING = 2  # the vote code of an absent score; 0 is negative, 1 is positive


@dataclass(frozen=True, slots=True)
class Grouped:
    """Distinct combinations of raw values with their counts, all columns of equal length.

    votes: per model the raw labels, or codes 0, 1, MISSING of thresholded scores.
    ranges: per score model the lowest and highest score, of class probabilities over all classes.
    origin: the number of the file each combination was counted in.
    bad_weights: rows whose weight is none; wrong: observations whose rows contradict each other.
    text_bytes, no_tail: bytes in fields read as text, rows without their last field.
    """

    truth: list[Any]
    by: tuple[list[Any], ...]
    votes: tuple[list[Any], ...]
    rows: Ints
    n: Floats | Ints
    bad_weights: int
    wrong: int
    ranges: Mapping[str, tuple[float, float]]
    ties: Mapping[str, int]
    text_bytes: int
    no_tail: int
    origin: Ints
    mode: Mode = "plain"

    @classmethod
    def joined(cls, parts: Sequence[Grouped]) -> Grouped:
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
            rows=np.concatenate([part.rows for part in parts]),
            n=np.concatenate([part.n for part in parts]),
            bad_weights=sum(part.bad_weights for part in parts),
            wrong=sum(part.wrong for part in parts),
            ranges=ranges,
            ties={name: sum(part.ties[name] for part in parts) for name in parts[0].ties},
            text_bytes=sum(part.text_bytes for part in parts),
            no_tail=sum(part.no_tail for part in parts),
            origin=np.repeat(np.arange(len(parts)), [len(part.rows) for part in parts]),
        )


def group(settled: Settled) -> Grouped:
    """Count the raw values of all files: the fastest reading first, a slower one where it fails.

    Raises what the last reading tried raised.
    """
    error: Exception | None = None
    for model in settled.columns.models:
        if model.kind == "classes" and settled.positive not in model.classes:
            raise DataError(
                Problem(
                    f"model '{model.name}' has no probability column for the positive class "
                    f"'{settled.positive}'; it has {listing(model.classes)}",
                    "no-class-column",
                    settled.name,
                )
            )
    files, tasks = settled.files, settled.tasks
    modes: tuple[Mode, ...] = ("fast", "plain", "loose")
    for mode in modes:
        if mode == "fast" and not _all_bits(settled):
            continue
        try:
            frames = settled.layout.rows(files, settled.columns, mode, "watch")
            parts = [count_raw(frame, settled) for frame in frames]
        except engine_errors() as refused:
            error = refused
            continue
        if mode == "fast" and not all(map(_single_bytes, files, parts, tasks)):
            continue
        grouped = replace(Grouped.joined(parts), mode=mode)
        short = None if settled.layout.gathers else grouped.no_tail > 0
        for file, task in zip(files, tasks, strict=True):
            check_structure(file, task, short_rows=short)
        return grouped
    raise error or RuntimeError("no reading was tried")


def count_raw(frame: Frame, settled: Settled) -> Grouped:
    """Group the rows of a frame by truth, slices and every model's label or thresholded score."""
    what = settled.columns
    keys = {"t": nw.col(what.truth)}
    keys |= {f"b{i}": nw.col(name) for i, name in enumerate(what.by)}
    values: dict[str, Any] = {}
    sums = [nw.len().alias("rows")]
    for i, model in enumerate(what.models):
        keys[f"v{i}"] = _vote_or_label(model, settled)
        if model.kind != "label":
            scores = [_finite(nw.col(name).cast(nw.Float64)) for name in model.columns]
            values[f"s{i}"] = nw.min_horizontal(*scores) if len(scores) > 1 else scores[0]
            values[f"u{i}"] = nw.max_horizontal(*scores) if len(scores) > 1 else scores[0]
            sums += [nw.col(f"s{i}").min().alias(f"lo{i}"), nw.col(f"u{i}").max().alias(f"hi{i}")]
        if model.kind == "classes" and len(model.columns) > 2:
            values[f"e{i}"] = _tied(model).cast(nw.Int64)
            sums.append(nw.col(f"e{i}").sum().alias(f"tie{i}"))
    if what.weight is not None:
        good = usable_weight(what.weight)
        values["w"] = nw.when(good).then(nw.col(what.weight)).cast(nw.Float64)
        values["x"] = nw.when(good).then(nw.lit(0)).otherwise(nw.lit(1)).cast(nw.Int64)
        weight = nw.col(what.weight).cast(nw.Float64)
        broken = (weight.round(0) != weight).cast(nw.Int64)
        values["y"] = nw.when(good).then(broken).otherwise(nw.lit(0)).cast(nw.Int64)
        sums += [nw.col("w").sum(), nw.col("x").sum(), nw.col("y").sum()]
        # rows of weight 0 stand for no row; unusable weights stay, to be named
        frame = frame.filter((nw.col(what.weight) != 0) | nw.col(what.weight).is_null())
    known = frame.collect_schema().names()
    for mark in (name for name in (TEXT_BYTES, NO_TAIL, WRONG) if name in known):
        values[mark] = nw.col(mark).cast(nw.Int64)
        sums.append(nw.col(mark).sum())
    picked = [expression.alias(name) for name, expression in {**keys, **values}.items()]
    return _unpacked(collect(frame.select(*picked).group_by(*keys).agg(*sums)), settled)


def _unpacked(grouped: nw.DataFrame[Any], settled: Settled) -> Grouped:
    what = settled.columns

    def column(name: str) -> list[Any]:
        return [None if is_absent(value) else value for value in grouped[name].to_list()]

    def total(name: str) -> int:
        return sum(column(name)) if name in grouped.columns else 0

    rows = np.array(column("rows"), np.int64)
    n: Any = rows
    if what.weight is not None:
        n = np.array([value or 0.0 for value in column("w")], np.float64)
        if not total("y"):
            n = n.astype(np.int64)
    ranges = {}
    for i, model in enumerate(what.models):
        if model.kind != "label":
            lows = [v for v in column(f"lo{i}") if v is not None]
            highs = [v for v in column(f"hi{i}") if v is not None]
            if lows:
                ranges[model.name] = (min(lows), max(highs))
    return Grouped(
        truth=column("t"),
        by=tuple(column(f"b{i}") for i in range(len(what.by))),
        votes=tuple(column(f"v{i}") for i in range(len(what.models))),
        rows=rows,
        n=n,
        bad_weights=total("x"),
        wrong=total(WRONG),
        ranges=ranges,
        ties={
            model.name: total(f"tie{i}")
            for i, model in enumerate(what.models)
            if f"tie{i}" in grouped.columns
        },
        text_bytes=total(TEXT_BYTES),
        no_tail=total(NO_TAIL),
        origin=np.zeros(len(rows), np.int64),
    )


def _chained(columns: Iterable[list[Any]]) -> list[Any]:
    return list(chain.from_iterable(columns))


def _vote_or_label(model: ModelColumns, settled: Settled) -> nw.Expr:
    """Return the raw label, or 1 / 0 / MISSING."""
    if model.kind == "label":
        return nw.col(model.columns[0])
    vote = nw.when(says_positive(model, settled)).then(nw.lit(1)).otherwise(nw.lit(0))
    lacking = lacks(model, settled)
    return nw.when(lacking).then(nw.lit(MISSING)).otherwise(vote).cast(nw.Int8)


def score_column(model: ModelColumns, positive: str | None) -> nw.Expr:
    """Return the column with the score of the positive class."""
    index = model.classes.index(str(positive)) if model.kind == "classes" else 0
    return nw.col(model.columns[index]).cast(nw.Float64)


def says_positive(model: ModelColumns, settled: Settled) -> nw.Expr:
    """True where the score is at or above the threshold, or the positive class the likeliest.

    A threshold of NaN asks for the largest class probability; ties go to the first class.
    """
    threshold = settled.thresholds[model.name]
    if threshold == threshold:
        return score_column(model, settled.positive) >= threshold
    index = model.classes.index(settled.positive)
    own = nw.col(model.columns[index])
    beaten = [
        own <= nw.col(other) if position < index else own < nw.col(other)
        for position, other in enumerate(model.columns)
        if position != index
    ]
    return ~nw.any_horizontal(*beaten, ignore_nulls=True)


def lacks(model: ModelColumns, settled: Settled) -> nw.Expr:
    """True where a model has no score to vote by."""
    threshold = settled.thresholds[model.name]
    if threshold == threshold:
        return _absent(score_column(model, settled.positive))
    lacking = [_absent(nw.col(name)) for name in model.columns]
    return nw.any_horizontal(*lacking, ignore_nulls=True)


def usable_weight(column: str) -> nw.Expr:
    """True for weights that are numbers, finite and not negative."""
    weight = nw.col(column)
    return ~_absent(weight) & (weight >= 0) & (weight < float("inf"))


def _finite(score: nw.Expr) -> nw.Expr:
    """Turn NaN into null: polars orders NaN above every number."""
    return nw.when(~_absent(score)).then(score)


def _tied(model: ModelColumns) -> nw.Expr:
    best = nw.max_horizontal(*[nw.col(name) for name in model.columns])
    ties = [(nw.col(name) == best).cast(nw.Int64) for name in model.columns]
    return nw.sum_horizontal(*ties) > 1


def _absent(score: nw.Expr) -> nw.Expr:
    return score.is_null() | score.cast(nw.Float64).is_nan()


def _all_bits(settled: Settled) -> bool:
    """Tell whether the sample shows only 0 and 1 in truth and in every model's column."""
    columns, peeks = settled.columns, settled.peeks or {}
    if (
        settled.layout.gathers
        or not all(file.head for file in settled.files)
        or columns.weight
        or columns.null_values
    ):
        return False
    labels = all(model.kind == "label" for model in columns.models)
    names = [columns.truth, *map(columns.source, columns.models)]
    return labels and all(peeks[name].bit for name in names)


def _single_bytes(file: TableFile, grouped: Grouped, task: FingerprintTask | None) -> bool:
    """Prove that every field read as an integer was one byte long, so that no 01 passed as 1.

    The bytes that are neither header, delimiter, line end nor in a text column must be exactly
    one for each such field that is not empty.
    """
    if task is None or file.head is None:
        return True
    fingerprint = task.result()
    if fingerprint.quotes or not fingerprint.ascii:
        return False
    absent = sum(
        int(grouped.rows[[value is None for value in column]].sum())
        for column in (grouped.truth, *grouped.votes)
    )
    fields = int(grouped.rows.sum()) * (1 + len(grouped.votes)) - absent
    return fingerprint.field_bytes - file.head.header_bytes - grouped.text_bytes == fields
