"""Small cells hidden in a counts file: scores joined into runs, rare combinations together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clfeval.arrays import Floats
from clfeval.counts.buckets import BITS, FIXED, Buckets
from clfeval.counts.read_files import (
    OTHER,
    PATTERNS,
    RUNS,
    SCORES,
    digests,
    exact_keys,
    fold_scores,
)
from clfeval.errors import DataError
from clfeval.tables.frames import pl


def hide_small_cells(
    table: pl.DataFrame, about: Mapping[str, Any], least: int, name: str
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return counts of `least` rows or more, from whose sums no smaller one follows.

    Neighbouring buckets of a model are joined until both classes have enough rows, combinations of
    labels until their sum is enough, and a slice with too few rows of a class is left out. hidden:
    the rows left out, None for few.
    """
    table = fold_scores(table, BITS, about["thresholds"])
    by = [name for name in table.columns if name.startswith("b") and name != "block"]
    kept = list[pl.DataFrame]()
    for part in table.partition_by(by) if by else [table]:
        patterns = part.filter(block=PATTERNS)
        sizes = dict(patterns.group_by("truth").agg(pl.col("n").sum()).rows())
        if any(0 < n < least for n in sizes.values()):
            continue
        kept += [_rare_together(patterns.filter(truth=y), least) for y in sizes]
        for rows in part.filter(block=SCORES).partition_by("model"):
            kept.append(_runs(rows, least, about["thresholds"][rows["model"][0]]))
    if not kept:
        what = f"no part of the table has {least} rows of each class"
        raise DataError.new(what, "empty-table", name, hint="count without --min-cell")
    found = pl.concat(kept).sort([one for one in table.columns if one not in ("n", "lo", "hi")])
    shown = found.filter(block=PATTERNS)["n"].sum()
    hidden, dropped = about["rows"] - shown, about["dropped"]
    more = {"rows": shown, "min_cell": least, "scores": RUNS, "uncut": _ranges(found, about),
            "hidden": hidden if hidden == 0 or hidden >= least else None,
            "dropped": dropped if dropped >= least else 0}  # fmt: skip
    about = {**about, **more, "joint": {}}
    return found, {**about, "parts": digests(found, about)}


def _ranges(table: pl.DataFrame, about: Mapping[str, Any]) -> dict[str, list[float]]:
    """Return the range of the runs of models without a threshold."""
    mine = {name: table.filter(model=name).select("lo", "hi") for name in about["uncut"]}
    return {name: [one.to_numpy().min(), one.to_numpy().max()] for name, one in mine.items()}


def _rare_together(patterns: pl.DataFrame, least: int) -> pl.DataFrame:
    """Return the combinations of labels of a class, the rarest of them as one, if any is rare."""
    patterns = patterns.sort("n", "pattern")
    sums = patterns["n"].cum_sum().to_list()
    k = int((patterns["n"] < least).sum())
    while 0 < k < len(sums) and sums[k - 1] < least:
        k += 1
    if not k:
        return patterns
    other = patterns[:1].with_columns(pattern=pl.lit(OTHER), n=pl.lit(sums[k - 1], pl.Int64))
    return pl.concat([other, patterns[k:]])


def _runs(rows: pl.DataFrame, least: int, cut: float | None) -> pl.DataFrame:
    """Return runs of the buckets of a model in a slice, with `least` rows of each class there is.

    Its ends are those of buckets. No run ends at the threshold: with the labels it would tell how
    many rows of the rare combinations are predicted positive.
    """
    truth, n, key = (rows[name].to_numpy() for name in ("truth", "n", "key"))
    pairs = {name: np.array([rows[name].to_numpy()] * 2) for name in ("m1", "m2", "lo", "hi")}
    mean, spread, _ = Buckets.from_sums(*pairs.values()).moments(np.array([n, n]))
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    low, high = _bucket_ends(pairs["lo"][0][first])
    counts = np.zeros((2, len(first)), np.int64)
    np.add.at(counts, ((~truth).astype(int), place), n)
    needed, have, run = least * (counts.sum(axis=1) > 0), np.zeros(2, np.int64), [0]
    for i in range(len(first) - 1):
        have += counts[:, i]
        closes = (have >= needed).all() and high[i] < low[i + 1]
        closes = closes and not (cut is not None and low[i] < cut <= low[i + 1])
        run.append(run[-1] + int(closes))
        have = have * (not closes)
    number = np.array(run)
    if (have + counts[:, -1] < needed).any():  # the last one is joined with the one before
        number = np.minimum(number, max(run[-1] - 1, 0))
    starts = np.searchsorted(number, np.arange(number[-1] + 1))
    ends = low[starts], np.maximum.reduceat(high, starts)
    sums = np.zeros((3, 2, len(starts)))
    at = (~truth).astype(int), number[place]
    for into, one in zip(sums, (n, n * mean[0], n * (spread[0] + mean[0] ** 2)), strict=True):
        np.add.at(into, at, one)
    inside = ends[0][0] >= 0 and ends[1][-1] <= 1
    fixed = np.floor(sums[1:] * FIXED).astype(np.int64) if inside else np.zeros_like(sums[1:], int)
    side, which = np.nonzero(sums[0])
    made = pl.DataFrame({
        "truth": side == 0, "pattern": [repr(end) for end in ends[1][which].tolist()],
        "key": exact_keys(ends[0][which]), "n": sums[0][side, which].astype(np.int64),
        "m1": fixed[0][side, which], "m2": fixed[1][side, which],
        "lo": ends[0][which], "hi": ends[1][which],
    })  # fmt: skip
    same = [name for name in rows.columns if name not in made.columns]
    return made.join(rows[:1].select(same), how="cross").select(rows.columns)


def _bucket_ends(x: Floats) -> tuple[Floats, Floats]:
    """Return the lowest and the highest number in the buckets of scores, hundredths aside."""
    mirrored = (x >= 0.5) & (x <= 1)
    distance = np.where(mirrored, 1 - x, x)
    part, exponent = np.frexp(distance)
    place, size = np.floor(part * 2.0 ** (BITS + 1)), 2.0 ** (BITS + 1)
    near, far = (np.ldexp(one / size, exponent) for one in (place, place + 1))
    low = np.where(mirrored, np.nextafter(1 - far, np.inf), near)
    high = np.where(mirrored, 1 - near, np.nextafter(far, -np.inf))
    single = distance == 0
    return np.where(single, x, low), np.where(single, x, high)
