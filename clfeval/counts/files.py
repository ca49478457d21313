"""Counts of a table as a file: one Parquet table with a description."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np

from clfeval.counts import read_files
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.score_tables import counts_frame, score_frame
from clfeval.document import Document
from clfeval.errors import UsageError
from clfeval.tables.frames import collect, concatenate_frames, nw, pl
from clfeval.tables.layouts.counts_file import METADATA
from clfeval.tables.layouts.counts_schema import SCHEMA


def as_counts_file(result: Document) -> bytes:
    """Return the bytes of the counts file of a result of `count`."""
    extras = result.extras
    description = extras["about"]
    keys = [name for name in extras["table"].columns if name not in read_files.SUMMED]
    table = extras["table"].sort(keys)
    description = {**description, "digest": read_files.file_digest(table, description)}
    content = BytesIO()
    table.write_parquet(content, metadata={METADATA: json.dumps(description, sort_keys=True)})
    return content.getvalue()


def count_table(counts: PredictionCounts) -> tuple[pl.DataFrame, Mapping[str, Any]]:
    """Return the counts as a table, sorted, and their description.

    The table has a row for each combination of slice values, truth and predicted labels, and for
    each of slice values, truth and score of a model. parts: digests of the tables that were
    counted, by which one that is counted twice is noticed; none of small ones, which may be equal
    by chance. Raises UsageError for counts that need more than integers.
    """
    if counts.stored is not None:
        return counts.stored.table, counts.stored.description
    refuse_fractions(counts)
    slice_names = [f"b{j}" for j in range(len(counts.evaluated.settled.columns.by))]
    frames = [_pattern_frame(counts, slice_names)]
    scored_indices = [i for i, model in enumerate(counts.models) if model.kind != "label"]
    frames += [score_frame(counts.score_source, i, slice_names) for i in scored_indices]
    table = pl.concat(frames)
    description = _describe(counts)
    table = table.sort([name for name in table.columns if name not in ("n", "lo", "hi")])
    return table, {**description, "parts": read_files.digests(table, description)}


def refuse_fractions(counts: PredictionCounts) -> None:
    """Raise UsageError for fractional weights and for clusters, which are not counts."""
    if counts.patterns.fractional or counts.patterns.clusters is not None:
        message = "counts must be whole numbers"
        raise UsageError.new(message, "needs-predictions", counts.name, hint="give rows, or counts")


def _describe(counts: PredictionCounts) -> dict[str, Any]:
    """Return the metadata of a counts file, without its digest."""
    columns = counts.evaluated.settled.columns
    kinds = {model.name: "label" if model.kind == "label" else "score" for model in counts.models}
    return {
        "schema": SCHEMA,
        "positive": counts.positive,
        "classes": list(counts.classes),
        "models": [{"name": name, "kind": kind} for name, kind in kinds.items()],
        "thresholds": dict(counts.thresholds),
        "uncut": dict(counts.uncut),
        "facets": [list(names) for names in columns.facets],
        "by": list(counts.roles.by),
        "edges": {name: list(edges) for name, edges in columns.edges.items()},
        "missing": counts.roles.missing,
        "threshold": [*counts.roles.threshold.items()],
        "scores": read_files.format_bits(counts.bits),
        "rows": counts.patterns.n.sum().item(),
        "dropped": sum(file.dropped for file in counts.files),
        "joint": {},
        "min_cell": 0,
    }


def _pattern_frame(counts: PredictionCounts, by: Sequence[str]) -> pl.DataFrame:
    """Return a row for each combination of slice values, truth and predicted labels."""
    vote_columns = [f"v{i}" for i in range(len(counts.models))]
    if by:  # one more pass: slices by several columns do not tell which rows they share
        rows = concatenate_frames(counts.evaluated.frames(votes=True, by=True))
        table = collect(rows.group_by("t", *vote_columns, *by).agg(nw.col("w").sum()))
    else:
        patterns = counts.patterns
        columns = dict(zip(vote_columns, patterns.votes.T, strict=True))
        table = nw.from_native(pl.DataFrame({"t": patterns.truth, "w": patterns.n, **columns}))
    bits = np.column_stack([table[name].to_numpy().astype(bool) for name in vote_columns])
    bit_strings = ["".join("01"[bit] for bit in row) for row in bits.tolist()]
    return counts_frame(read_files.PATTERNS, table, by, {}, {"pattern": bit_strings})
