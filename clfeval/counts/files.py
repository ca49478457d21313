"""Counts of a table as a file: one Parquet table with a description."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np

from clfeval.counts import read_files
from clfeval.counts.buckets import MOST_DISTINCT, with_buckets
from clfeval.counts.evaluated_rows import EvaluatedRows
from clfeval.counts.scores import ScoreCounts
from clfeval.errors import UsageError
from clfeval.tables.frames import as_text, collect, concatenate_frames, is_missing, nw, pl
from clfeval.tables.layouts.counts_file import METADATA
from clfeval.tables.layouts.counts_schema import COLUMN_TYPES, SCHEMA


def as_counts_file(result: Any) -> bytes:
    """Return the bytes of the counts file of a result of `count`."""
    counts = result.counted
    description = counts["about"]
    keys = [name for name in counts["table"].columns if name not in read_files.SUMMED]
    table = counts["table"].sort(keys)
    description = {**description, "digest": read_files.file_digest(table, description)}
    out = BytesIO()
    table.write_parquet(out, metadata={METADATA: json.dumps(description, sort_keys=True)})
    return out.getvalue()


def count_table(counted: Any) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the counts as a table, sorted, and their description.

    The table has a row for each combination of slice values, truth and predicted labels, and for
    each of slice values, truth and score of a model. parts: digests of the tables that were
    counted, by which one that is counted twice is noticed; none of small ones, which may be equal
    by chance. Raises UsageError for counts that need more than integers.
    """
    if counted.stored is not None:
        return counted.stored.table, counted.stored.about
    refuse_fractions(counted)
    names = [f"b{j}" for j in range(len(counted.kept.settled.columns.by))]
    frames = [_pattern_frame(counted, names)]
    scored = [i for i, model in enumerate(counted.models) if model.kind != "label"]
    frames += [_score_frame(counted, i, names) for i in scored]
    table, description = pl.concat(frames), _describe(counted)
    table = table.sort([name for name in table.columns if name not in ("n", "lo", "hi")])
    return table, {**description, "parts": read_files.digests(table, description)}


def refuse_fractions(counted: Any) -> None:
    """Raise UsageError for fractional weights and for clusters, which are not counts."""
    if counted.patterns.fractional or counted.patterns.clusters is not None:
        what = "counts must be whole numbers"
        raise UsageError.new(what, "needs-predictions", counted.name, hint="give rows, or counts")


def _describe(counted: Any) -> dict[str, Any]:
    """Return the metadata of a counts file, without its digest."""
    columns = counted.kept.settled.columns
    kinds = {model.name: "label" if model.kind == "label" else "score" for model in counted.models}
    return {
        "schema": SCHEMA,
        "positive": counted.positive,
        "classes": list(counted.classes),
        "models": [{"name": name, "kind": kind} for name, kind in kinds.items()],
        "thresholds": dict(counted.thresholds),
        "uncut": dict(counted.uncut),
        "facets": [list(names) for names in columns.facets],
        "by": list(counted.roles.by),
        "edges": {name: list(edges) for name, edges in columns.edges.items()},
        "missing": counted.roles.missing,
        "threshold": [*counted.roles.threshold.items()],
        "scores": read_files.format_bits(counted.bits),
        "rows": counted.patterns.n.sum().item(),
        "dropped": sum(file.dropped for file in counted.files),
        "joint": {},
        "min_cell": 0,
    }


def _pattern_frame(counted: Any, by: Sequence[str]) -> pl.DataFrame:
    """Return a row for each combination of slice values, truth and predicted labels."""
    votes, whole = [f"v{i}" for i in range(len(counted.models))], counted.patterns
    if by:  # one more pass: slices by several columns do not tell which rows they share
        rows = concatenate_frames(counted.kept.frames(votes=True, by=True))
        table = collect(rows.group_by("t", *votes, *by).agg(nw.col("w").sum()))
    else:
        columns = dict(zip(votes, whole.votes.T, strict=True))
        table = nw.from_native(pl.DataFrame({"t": whole.truth, "w": whole.n, **columns}))
    bits = np.column_stack([table[name].to_numpy().astype(bool) for name in votes])
    patterns = ["".join("01"[bit] for bit in row) for row in bits.tolist()]
    return _frame(read_files.PATTERNS, table, by, pattern=patterns)


def _score_frame(counted: Any, i: int, by: Sequence[str]) -> pl.DataFrame:
    """Return a row for each combination of slice values, truth and score, or bucket, of a model."""
    rows, score = concatenate_frames(counted.kept.frames(scores=(i,), by=True)), nw.col(f"s{i}")
    model, weighted = counted.models[i].name, counted.kept.settled.columns.weight is not None
    rows_of = nw.col("w").cast(nw.Int64).sum().cast(nw.Int64) if weighted else nw.len().alias("w")
    if counted.bits is None:
        table = collect(rows.group_by("t", f"s{i}", *by).agg(rows_of), f"scores of {model}")
        scores = table[f"s{i}"].to_numpy()
        return _frame(
            read_files.SCORES,
            table,
            by,
            model=model,
            key=read_files.exact_keys(scores),
            lo=scores,
            hi=scores,
        )
    low, high = counted.ranges.get(model, (-np.inf, np.inf))
    # half: decimals of single precision are a little different
    least = -np.inf if counted.models[i].shares else min(low, 1 - high) / 2
    rows = with_buckets(rows, f"s{i}", counted.bits, counted.thresholds[model], least)
    if weighted:
        rows = rows.with_columns(nw.col("d1", "d2") * nw.col("w").cast(nw.Int64))
    sums = [rows_of, score.min().alias("lo"), score.max().alias("hi")]
    sums += [nw.col(f"d{i}").sum().cast(nw.Int64).alias(f"m{i}") for i in (1, 2)]
    # a single number is grouped faster than two
    rows = rows.with_columns(key=2 * nw.col("key") + nw.col("t").cast(nw.Int64))
    table = collect(rows.group_by("key", *by).agg(*sums), f"scores of {model}")
    given = {name: table[name].to_numpy() for name in ("key", *read_files.SUMMED[1:])}
    given |= {"truth": given["key"] % 2 == 1, "key": given["key"] // 2}
    return _frame(read_files.SCORES, table, by, model=model, **given)


def has_many_scores(counted: Any) -> bool:
    """Return whether any model has more than `MOST_DISTINCT` distinct scores."""
    kept: EvaluatedRows = counted.kept
    if kept.rows <= MOST_DISTINCT:
        return False
    for i in (i for i, model in enumerate(counted.models) if model.kind != "label"):
        rows = concatenate_frames(kept.frames(scores=(i,))).select(nw.col(f"s{i}"))
        first = rows.head(4 * MOST_DISTINCT)
        if rows.implementation.is_spark_like():  # whose first rows would come to one place
            share = min(1.5 * MOST_DISTINCT / kept.rows, 1.0)
            first = nw.from_native(rows.to_native().sample(fraction=share, seed=0))
        for part in (first, rows) if kept.rows > 4 * MOST_DISTINCT else (rows,):
            if collect(part.select(nw.all().n_unique())).item() > MOST_DISTINCT:
                return True
    return False


def _frame(block: str, table: Any, by: Sequence[str], **more: Any) -> pl.DataFrame:
    """Return counts with the columns of every counts file; more: texts, or columns."""
    types = {"block": "String", **dict.fromkeys(by, "String"), **COLUMN_TYPES}
    kinds: Any = {name: getattr(pl, kind) for name, kind in types.items()}
    more |= {
        name: [None if is_missing(v) else as_text(v) for v in table[name].to_list()] for name in by
    }
    more |= {"block": block, "n": table["w"].to_numpy().astype(np.int64)}
    if "t" in table.columns:
        more["truth"] = table["t"].to_numpy().astype(bool)
    made = pl.DataFrame({name: one for name, one in more.items() if not isinstance(one, str)})
    made = made.with_columns(**{k: pl.lit(v) for k, v in more.items() if isinstance(v, str)})
    return pl.concat([pl.DataFrame(schema=kinds), made], how="diagonal_relaxed").cast(kinds)


def bucketed_scores(counted: Any, i: int) -> dict[str | None, ScoreCounts]:
    """Return the scores of a model of a table in buckets, in the whole table and each slice."""
    columns = counted.kept.settled.columns
    names = [f"b{j}" for j in range(len(columns.by))]
    table = _score_frame(counted, i, names)
    return read_files.score_counts_by_slice(
        table, columns.facets, dict(zip(columns.by, names, strict=True))
    )
