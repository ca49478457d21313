"""Binary features: 0/1 columns summed over all rows and over the positives, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from clfeval.counts.feature_counts import FeatureCounts
from clfeval.counts.feature_rows import POSITIVE, WEIGHT, Rows
from clfeval.counts.patterns import Bools
from clfeval.counts.raw import collect
from clfeval.tables.scan import NO_TAIL, Reading


@dataclass(frozen=True, slots=True)
class BinaryPass:
    """What the pass gave: counts of k columns, which of them hold only 0 and 1, short rows."""

    counts: FeatureCounts
    binary: Bools
    no_tail: int | None


def count_binary(columns: Sequence[str], rows: Rows, reading: Reading) -> BinaryPass:
    """Count columns of 0 and 1; those that hold other numbers are marked, their counts void."""
    weighted, drop = rows.table.roles.weight is not None, rows.table.roles.missing == "drop"
    frames = rows.frames(columns, reading, watch=True)
    parts = [_sums(frame, columns, weighted=weighted, drop=drop) for frame in frames]
    names = dict.fromkeys(name for part in parts for name in part)
    nothing = np.zeros(len(columns))
    totals = {name: np.sum([p.get(name, nothing) for p in parts], axis=0) for name in names}
    totals.setdefault("squares", nothing)
    totals.setdefault("plain", nothing)
    low = np.fmin.reduce([part["low"] for part in parts])
    high = np.fmax.reduce([part["high"] for part in parts])
    classes = rows.classes
    k, kind = len(columns), float if classes.fractional else np.int64
    positives = totals.get("known_positive", np.full(k, classes.positives))
    known = totals.get("known", np.full(k, classes.positives + classes.negatives))
    tails = [part["no_tail"] for part in parts if "no_tail" in part]
    missing = totals["missing"]
    if drop:  # a row that counts three times lacks its value three times
        missing = classes.positives + classes.negatives - totals["known"]
    counts = FeatureCounts(
        names=tuple(columns),
        columns=tuple(columns),
        kinds=("binary",) * k,
        cuts=np.full(k, np.nan),
        rules=(None,) * k,
        tp=totals["positive"].astype(kind),
        fp=np.maximum(totals["all"] - totals["positive"], 0).astype(kind),
        positives=positives.astype(kind),
        negatives=np.maximum(known - positives, 0).astype(kind),
        missing=missing.astype(kind),
    )
    binary = ~((low < 0) | (high > 1) | (totals["squares"] != totals["plain"]))
    return BinaryPass(counts, binary, int(sum(t.sum() for t in tails)) if tails else None)


def _sums(
    frame: nw.LazyFrame[Any], columns: Sequence[str], *, weighted: bool, drop: bool
) -> dict[str, NDArray[Any]]:
    schema = frame.collect_schema()
    flags = [name for name in columns if schema[name] == nw.Boolean]
    if flags:
        frame = frame.with_columns(nw.col(*flags).cast(nw.Int8))
    many, positive = nw.col(*columns), nw.col(POSITIVE)
    there = (~many.is_null()).cast(nw.Int8)
    # between 0 and 1 only they are their own squares; whole numbers need no such look
    floats = any(schema[name].is_float() for name in columns)
    if weighted:
        values, known = many * nw.col(WEIGHT), there * nw.col(WEIGHT)
    else:
        values, known = many, there
    wanted = {
        "all": values.sum(),
        "positive": (values * positive).sum(),
        "low": many.min(),
        "high": many.max(),
        "missing": many.null_count(),
    }
    wanted |= {"squares": (many**2).sum(), "plain": many.sum()} if floats else {}
    if drop:
        wanted |= {"known": known.sum(), "known_positive": (known * positive).sum()}
    sums = [expression.name.prefix(f"{name}:") for name, expression in wanted.items()]
    if NO_TAIL in schema:
        sums.append(nw.col(NO_TAIL).sum().name.prefix("no_tail:"))
        wanted["no_tail"] = nw.col(NO_TAIL)
    row = iter(collect(frame.select(*sums)).row(0))
    return {
        name: np.array(
            [next(row) for _ in range(1 if name == "no_tail" else len(columns))], np.float64
        )
        for name in wanted
    }
