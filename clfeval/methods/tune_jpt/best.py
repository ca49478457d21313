"""The best points of many ROC curves, one a slice, at some odds: found together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from clfeval.arrays import Counts, Floats, Ints
from clfeval.counts.scores import ScoreCounts
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.methods.roc import RocPoints, candidates, ranks_by_delta, unbeaten, vertices
from clfeval.methods.tune_jpt.tables import Formula

TIE = 1e-12  # relative
CELLS = 2**18  # tables measured at a time, few enough to stay in the cache


def of_like_size(sizes: Sequence[int], most: int = CELLS) -> Iterator[list[int]]:
    """Yield the places of some at a time: that many times the largest size is at most `most`."""
    some: list[int] = []
    for place in np.argsort(sizes, kind="stable").tolist():
        if some and (len(some) + 1) * sizes[place] > most:
            yield some
            some = []
        some.append(place)
    if some:
        yield some


def candidates_of(parts: Sequence[ScoreCounts]) -> list[RocPoints]:
    """Return the `roc.candidates` of curves that have rows of both classes."""
    found: dict[int, RocPoints] = {}
    for places in of_like_size([len(one.scores) + 1 for one in parts]):
        if len(places) == 1:  # in blocks where it is long
            found[places[0]] = candidates(parts[places[0]])
            continue
        some = [parts[i] for i in places]
        cuts = np.concatenate([x for one in some for x in ([np.inf], one.scores[::-1])])
        tp = np.concatenate([x for one in some for x in ([0], one.positives[::-1].cumsum())])
        fp = np.concatenate([x for one in some for x in ([0], one.negatives[::-1].cumsum())])
        ends = np.cumsum([len(one.scores) + 1 for one in some])
        first = np.append(0, ends[:-1])
        chosen = hulls(tp, fp, first, ends)
        together = RocPoints(cuts, tp, fp).at(chosen)
        limits = (np.searchsorted(chosen, each).tolist() for each in (first, ends))
        for place, start, stop in zip(places, *limits, strict=True):
            found[place] = together.at(slice(start, stop))
    return [found[i] for i in range(len(parts))]


def hulls(tp: Counts, fp: Counts, first: Ints, ends: Ints) -> Ints:
    """Return the places of the candidates in chains of points (n,), which start at `first`.

    Which they are, and why, says `roc.candidates`. tp and fp rise along each chain from (0, 0);
    between where it `ends` and the next starts its last point may be repeated.
    """
    starts, chosen = np.zeros((2, len(tp)), bool)
    starts[first] = True
    upper = vertices(tp, fp, starts)
    chosen[upper] = chosen[vertices(fp, tp, starts)] = True
    flat = np.diff(np.searchsorted(upper, np.append(first, len(tp)))) <= 2
    for start, end in zip(first[flat].tolist(), ends[flat].tolist(), strict=True):
        chosen[start + unbeaten(tp[start:end], fp[start:end])] = True
    return np.flatnonzero(chosen)  # np.unique would import numpy.ma first


def best_points(
    curves: Sequence[RocPoints], ratios: Floats, measures: Mapping[str, Formula]
) -> dict[str, tuple[Ints, Floats]]:
    """Return, by measure, the best point of s curves at each of g odds: its place, its value.

    Best is largest or smallest as the catalog says; an infinite value beats every other. Values
    equal up to 1e-12 relative are ties: of them the largest delta = tp - fp, then the highest
    threshold is taken. A point where the measure is undefined is never best: where it is so at
    every point the place is -1 and the value NaN. Measures that do not change with the class ratio
    are looked at once. O(g h) for each measure and curve of h points; with those of
    `roc.candidates` the best is that of the whole curve.

    Shapes: ratios (g, s); places and values (g, s).
    """
    place = np.full(ratios.shape, -1)
    found = {name: (place.copy(), np.full(ratios.shape, np.nan)) for name in measures}
    for some in of_like_size([len(one.tp) for one in curves]):
        width = max(len(curves[i].tp) for i in some)
        tp, fp = np.zeros((2, len(some), width), curves[some[0]].tp.dtype)
        for row, i in enumerate(some):
            # what is filled up behind is never positive, as the first point is
            tp[row, : len(curves[i].tp)], fp[row, : len(curves[i].fp)] = curves[i].tp, curves[i].fp
        p, n = (np.array([[getattr(curves[i], side)[-1]] for i in some]) for side in ("tp", "fp"))
        rank = ranks_by_delta(tp, fp, p, n)
        tp, fp, p, n = (one.astype(np.float64) for one in (tp, fp, p, n))
        tables = Confusion(tp, fp, p - tp, n - fp)
        for name, (at, value) in peaks(tables, tables, rank, ratios[:, some], measures).items():
            found[name][0][:, some], found[name][1][:, some] = at, value
    return found


def peaks(
    tables: Confusion, still: Confusion, rank: Ints, ratios: Floats, measures: Mapping[str, Formula]
) -> dict[str, tuple[Ints, Floats]]:
    """Return `best_of` tables (s, h) by measure at the odds of each, (g, s).

    A measure that the odds do not change is looked for once, in `still`.
    """
    step = max(1, CELLS // rank.size)
    parts: dict[str, list[tuple[Ints, Floats]]] = {name: [] for name in measures}
    for start in range(0, len(ratios), step):
        tuned = tables.tuned(ratios[start : start + step, :, None])
        for name, measure in measures.items():
            if not CATALOG[name].invariant:
                parts[name].append(best_of(name, measure(tuned), rank))
            elif not start:
                parts[name] = [best_of(name, measure(still)[None], rank)] * len(ratios)
    found = {}
    for name, blocks in parts.items():
        place, value = (np.concatenate(column) for column in zip(*blocks, strict=True))
        found[name] = place, value
    return found


def at_odds(name: str, table: Confusion, ratios: Floats) -> Confusion:
    """Return the table at the odds, or as it is for a measure that they do not change.

    So the same counts give the same value to the last bit, wherever they are compared.
    """
    return table if CATALOG[name].invariant else table.tuned(ratios)


def best_of(name: str, values: Floats, rank: Ints) -> tuple[Ints, Floats]:
    """Return the place, or -1, and the value of the best along the last axis of (..., h).

    rank (..., h) broadcasts: of ties the one of lowest rank is taken.
    """
    gains = -values if CATALOG[name].best == "min" else values
    top = np.fmax.reduce(gains, axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):  # undefined values are never close
        close = gains >= top - np.where(np.isfinite(top), TIE * np.abs(top), 0.0)
    place = np.where(close, rank, rank.size).argmin(axis=-1)
    value = np.take_along_axis(values, place[..., None], axis=-1)[..., 0]
    none = np.isnan(top[..., 0])
    return np.where(none, -1, place), np.where(none, np.nan, value)
