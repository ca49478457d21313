"""Small counts hidden in a counts file: neighbouring scores are counted together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from clfeval.arrays import Counts, Floats
from clfeval.counts.read_files import PATTERNS, RUNS, SCORES, digests, exact_keys
from clfeval.errors import DataError, bad_option
from clfeval.tables.frames import pl

LABELS = 0.5  # labels are counted as scores 0 and 1


def hide_small_cells(
    table: pl.DataFrame, about: Mapping[str, Any], least: int, name: str
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return counts of at least `least` rows, from whose sums no smaller one follows.

    Of each model and slice neighbouring scores are joined into runs until either has enough rows of
    each class; sums of scores and combinations of labels are left out, as are slices with too few
    rows of a class.
    """
    by = [name for name in table.columns if name.startswith("b") and name != "block"]
    if len(about["facets"]) > 1:  # each would lack the rows of small slices of the others
        hint = f"cross them: --by '{'*'.join(about['by'])}'"
        raise bad_option("--min-cell takes one --by", hint)
    for one in (one for text in about["by"] for one in text.split("*")):
        column, _, bins = one.rpartition(":")
        if bins.strip().isdecimal() and column.strip() in about["edges"]:
            what = f"--by '{one}' makes groups of equal size, from which small counts follow"
            raise bad_option(what, f"say where to split: --by '{column}:40,65'")
    kept = list[pl.DataFrame]()
    for part in table.partition_by(by) if by else [table]:
        patterns = part.filter(block=PATTERNS)
        sizes = patterns.group_by("truth").agg(pl.col("n").sum())["n"]
        if not (sizes >= least).all():
            continue
        for i, model in enumerate(about["models"]):
            rows, cut = part.filter(block=SCORES, model=model["name"]), LABELS
            if model["kind"] == "label":
                label = pl.col("pattern").str.slice(i, 1).cast(pl.Float64)
                rows = patterns.with_columns(lo=label, hi=label, key=label.cast(pl.Int64))
            elif (cut := about["thresholds"][model["name"]]) is None:
                cut = np.inf
            of = {"block": SCORES, "model": model["name"], **{name: part[name][0] for name in by}}
            runs = pl.DataFrame(_runs(rows, cut, least))
            kept.append(runs.with_columns(**{k: pl.lit(v, pl.String) for k, v in of.items()}))
    if not kept:
        what = f"it has fewer than {least} rows of a class{' in every slice' if by else ''}"
        raise DataError.new(what, "empty-table", name, hint="give a smaller number")
    found = pl.concat([table[:0], *kept], how="diagonal").sort(
        "block", *by, "model", "truth", "key"
    )
    first = found.filter(model=about["models"][0]["name"])
    ends = {name: found.filter(model=name) for name in about["uncut"]}
    about = {
        **about,
        "rows": first["n"].sum(),
        "min_cell": least,
        "scores": RUNS,
        "joint": {},
        "dropped": about["dropped"] if about["dropped"] >= least else 0,
        "uncut": {name: [one["lo"].min(), one["hi"].max()] for name, one in ends.items()},
    }
    return found, {**about, "parts": digests(found, about)}


def _runs(rows: pl.DataFrame, cut: float, least: int) -> dict[str, Any]:
    """Return the runs of the scores of a model: truth, key, n, lo and hi of each.

    Their ends are numbers of four digits, or the threshold, which starts a run where either side of
    it has enough rows; else no label is known.
    """
    key, first, place = np.unique(rows["key"], return_index=True, return_inverse=True)
    side, n = (~rows["truth"].to_numpy()).astype(np.int64), np.zeros((2, len(key)), np.int64)
    np.add.at(n, (side, place), rows["n"].to_numpy())
    low, high = rows["lo"].to_numpy()[first], np.full(len(key), -np.inf)
    np.minimum.at(low, place, rows["lo"].to_numpy())
    np.maximum.at(high, place, rows["hi"].to_numpy())
    above = n[:, low >= cut].sum(axis=1)
    safe = [(one == 0) | (one >= least) for one in (above, n.sum(axis=1) - above)]
    split, edges = bool(np.isfinite(cut) and np.all(safe)), _run_ends()
    if split and cut not in edges:
        edges = np.insert(edges, np.searchsorted(edges, cut), cut)
    start = np.searchsorted(edges, low, side="right") - 1
    stop = np.searchsorted(edges, high, side="right")
    apart = (stop[:-1] <= start[1:]) | rows["m1"].is_not_null().any()  # buckets may share an edge
    first = np.flatnonzero(np.append(True, apart))
    middle = int(np.searchsorted(edges[start[first]], cut)) if split else 0
    starts = first[[*_run_starts(np.add.reduceat(n, first, axis=1), middle, least)]]
    last = np.append(starts[1:], len(key)) - 1
    below = np.append(np.nextafter(edges, -np.inf), np.inf)
    n = np.add.reduceat(n, starts, axis=1)
    side, run = np.nonzero(n)
    ends = edges[start[starts]][run], below[stop[last]][run]
    return {
        "truth": side == 0,
        "key": exact_keys(ends[0]),
        "n": n[side, run],
        "lo": ends[0],
        "hi": ends[1],
    }


def _run_starts(n: Counts, middle: int, least: int) -> Iterator[int]:
    """Yield the first group of each run: n (2, m) of each class; one starts at the middle."""
    for begin, end in ((0, middle), (middle, n.shape[1])):
        needed = np.where(n[:, begin:end].any(axis=1), least, 0).tolist()
        rows, starts = [0, 0], [begin]
        for i, more in enumerate(n[:, begin:end].T.tolist(), begin + 1):
            rows = [rows[0] + more[0], rows[1] + more[1]]
            if rows[0] >= needed[0] and rows[1] >= needed[1]:
                starts.append(i)
                rows = [0, 0]
        yield from starts[:-1]  # the last ones, too few for a run, are in the run before them


@cache
def _run_ends() -> Floats:
    """Return the numbers at which runs can end: of four digits, or that far from 1."""
    each = np.concatenate([np.arange(1000, 10000) / 10.0**place for place in range(33)])
    large = np.concatenate([np.arange(1000, 10000) * 10.0**place for place in range(20)])
    some = np.concatenate([[0.0, np.inf, 1.0, np.nextafter(1, 2)], each, large])
    return np.unique(np.concatenate([some, -some, 1 - each[each < 0.1]])) + 0.0
