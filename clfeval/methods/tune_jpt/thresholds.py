"""The threshold that is best for a measure in a population, found on the hull of the ROC points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.counts.patterns import for_products
from clfeval.counts.scores import ScoreCounts
from clfeval.measures.catalog import CATALOG
from clfeval.measures.jpt import Jpt
from clfeval.measures.population import Population
from clfeval.measures.table import Measure
from clfeval.methods.tune_jpt.tables import estimate
from clfeval.result import Estimate, Row

_BLOCK = 2**16  # points pruned at a time, few enough to stay in the cache
_FEW = 64  # points that the plain chain settles quicker than a pass
_PAYS = 16  # a pass pays while it drops one point in so many
_PATIENCE = 32  # passes that do not pay, then the plain chain costs no more


@dataclass(frozen=True, slots=True, eq=False)
class RocPoints:
    """Points of a ROC curve in its order, from "nothing positive" at (0, 0) to (1, 1).

    thresholds (h,) fall from infinity; a score at or above one is positive. tp and fp (h,) count
    the positives and the negatives there; all of them at the last point.
    """

    thresholds: Floats
    tp: Counts
    fp: Counts

    @property
    def tables(self) -> Jpt:
        """The 2 x 2 tables, (h,) cells each."""
        tp, fp = self.tp.astype(np.float64), self.fp.astype(np.float64)
        return Jpt(tp, fp, tp[-1] - tp, fp[-1] - fp)

    @property
    def preference(self) -> Ints:
        """The rank of each point (h,) among ties: larger delta first, then higher threshold."""
        tp, fp = for_products(self.tp, self.fp)
        gain = tp * fp[-1] - fp * tp[-1]  # whole numbers, so that equal means equal
        rank = np.empty(len(gain), np.int64)
        rank[np.argsort(-gain, kind="stable")] = np.arange(len(gain))
        return rank

    def at(self, places: Ints | Bools) -> RocPoints:
        """Return some of the points."""
        return RocPoints(self.thresholds[places], self.tp[places], self.fp[places])


def roc_points(counts: ScoreCounts) -> RocPoints:
    """Return every point: infinity, then the m distinct scores downward; m + 1 of them."""
    return _joined(_blocks(counts, max(1, len(counts.scores))))


def candidates(counts: ScoreCounts, *, block_size: int = _BLOCK) -> RocPoints:
    """Return the points among which, at every odds, the best value of every measure is found.

    They are the corners and the vertices of the upper and of the lower convex hull: h of m + 1
    points, found in O(m). That is enough. Every measure of `measures.table` but phi rises with the
    true and falls with the false positive rate, so no point beats the edge of the upper hull above
    it; and along an edge above the chance line it is largest at an end: TAR, F, J, cost and net
    benefit are linear functions or ratios of them; PPV, NPV and the likelihood ratios are constant
    on rays from a corner; EPA is convex; MCC and the diagnostic odds ratio stay below a value on
    the convex side of an ellipse or a hyperbola through both corners. IC, which rewards the
    perfectly wrong as well, is convex on the whole square: the two hulls together hold its best.
    So they do for a cost that a hit raises. Of equal values the first by `RocPoints.preference` is
    among the candidates too: along an edge delta rises or falls, or stays, and then the higher
    threshold is where the edge begins.

    Below the chance line MCC, EPA and the diagnostic odds ratio, undefined in the corners, can be
    largest between vertices. Where no point lies above that line, the candidates are also all
    points that no other one but a corner beats in both rates.

    With one class only, the corners alone are returned: every measure is undefined there.
    """
    tops, bottoms = [], []
    for block in _blocks(counts, block_size):
        tops.append(block.at(vertices(block.tp, block.fp)))
        bottoms.append(block.at(vertices(block.fp, block.tp)))
    top, bottom = _joined(tops), _joined(bottoms)
    top, bottom = top.at(vertices(top.tp, top.fp)), bottom.at(vertices(bottom.fp, bottom.tp))
    found = [top, bottom]
    if len(top.tp) == 2 and top.tp[-1] and top.fp[-1]:
        whole = roc_points(counts)
        found.append(whole.at(unbeaten(whole.tp, whole.fp)))
    together = _joined(found)
    _, first = np.unique(-together.thresholds, return_index=True)
    return together.at(first)


def vertices(tp: Counts, fp: Counts, starts: Bools | None = None) -> Ints:
    """Return the places of the strict vertices of the upper hull of chains, their ends included.

    tp and fp (n,) rise along each chain; `starts` (n,) marks where chains start, and without it
    there is one. Of equal points in a chain the first stands for all. Repeatedly drops every point
    on or below the line between its current neighbours, for no vertex ever is; whole numbers below
    2**30 are compared exactly. With tp and fp exchanged it is the lower hull.
    """
    y, x = for_products(tp, fp)
    stays = np.zeros(len(x), bool) if starts is None else starts.copy()
    stays[:1] = True
    up, right = y[1:] > y[:-1], x[1:] > x[:-1]
    fresh = stays.copy()
    fresh[1:] |= up | right
    origin = None
    if not fresh.all():
        origin = np.flatnonzero(fresh)
        x, y, stays = x[origin], y[origin], stays[origin]
        up, right = y[1:] > y[:-1], x[1:] > x[:-1]
    stays[:-1] |= stays[1:]  # a chain ends where the next one starts
    stays[-1:] = True
    corner = stays.copy()
    corner[1:-1] |= up[:-1] & right[1:]  # no vertex lacks these, and few other points have them
    places = np.flatnonzero(corner)
    x, y, stays = x[places], y[places], stays[places]
    if origin is not None:
        places = origin[places]
    unpaid = 0
    while len(x) > _FEW and unpaid < _PATIENCE:
        dx, dy = np.diff(x), np.diff(y)
        keep = stays.copy()
        keep[1:-1] |= dx[:-1] * dy[1:] < dy[:-1] * dx[1:]
        dropped = len(x) - np.count_nonzero(keep)
        if not dropped:
            return places
        unpaid += int(dropped * _PAYS < len(x))
        x, y, stays, places = x[keep], y[keep], stays[keep], places[keep]
    return places[_chain(x.tolist(), y.tolist(), stays.tolist())]


def unbeaten(tp: Counts, fp: Counts) -> Ints:
    """Return the places of points between the corners that none of these beats in both rates.

    tp and fp (n,) rise along the one chain.
    """
    more_tp, more_fp = np.diff(tp[1:-1]) > 0, np.diff(fp[1:-1]) > 0
    keep = np.ones(max(0, len(tp) - 2), bool)
    keep[1:] &= more_tp
    keep[:-1] &= more_fp | ~more_tp
    return np.flatnonzero(keep) + 1


def _chain(x: Sequence[float], y: Sequence[float], stays: Sequence[bool]) -> Ints:
    """Walk along the points and take back those that a later one puts on or below a line."""
    kept: list[int] = []
    for i in range(len(x)):
        while kept and not stays[kept[-1]]:
            a, b = kept[-2], kept[-1]
            if (x[b] - x[a]) * (y[i] - y[b]) < (y[b] - y[a]) * (x[i] - x[b]):
                break
            kept.pop()
        kept.append(i)
    return np.array(kept, np.int64)


def _blocks(counts: ScoreCounts, size: int) -> Iterator[RocPoints]:
    """Yield the point at infinity, then the others in blocks."""
    tp, fp = (n[:0].sum(keepdims=True) for n in (counts.positives, counts.negatives))
    yield RocPoints(np.array([np.inf]), tp, fp)
    for stop in range(len(counts.scores), 0, -size):
        part = slice(max(0, stop - size), stop)
        tp = tp[-1] + counts.positives[part][::-1].cumsum()
        fp = fp[-1] + counts.negatives[part][::-1].cumsum()
        yield RocPoints(counts.scores[part][::-1], tp, fp)


def _joined(parts: Iterable[RocPoints]) -> RocPoints:
    columns = zip(*((part.thresholds, part.tp, part.fp) for part in parts), strict=True)
    return RocPoints(*(np.concatenate(column) for column in columns))


_TIE = 1e-12  # relative
_CELLS = 2**18  # tables measured at a time, few enough to stay in the cache


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The best of some points at each of g odds: its place (g,), -1 for none, and its value (g,).

    The value is NaN where the measure is undefined at every point, infinite where it is infinite.
    """

    place: Ints
    value: Floats


@dataclass(frozen=True, slots=True)
class Fixed:
    """The threshold in use, None for votes of the largest class, and what it was counted to do.

    tp of `positives` and fp of `negatives` are called positive; rates with totals of 1 do as well.
    """

    threshold: float | None
    tp: float
    fp: float
    positives: float
    negatives: float

    @property
    def table(self) -> Jpt:
        """The 2 x 2 table."""
        return Jpt(self.tp, self.fp, self.positives - self.tp, self.negatives - self.fp)


def tunable(name: str) -> bool:
    """Tell whether a measure has a best value to look for: phi has not."""
    return CATALOG[name].best != "zero"


def best_points(
    points: RocPoints, ratios: Floats, measures: Mapping[str, Measure]
) -> dict[str, Best]:
    """Return, by measure, the best of h points at each of g odds `ratios` (g,).

    Best is largest or smallest as the catalog says; an infinite value beats every other. Values
    equal up to 1e-12 relative are ties: of them the largest delta = tp - fp, then the highest
    threshold is taken. A point where the measure is undefined is never best. Measures that do not
    change with the class ratio are looked at once. O(g h) for each measure; with the points of
    `hull.candidates` the best is that of the whole curve.
    """
    tables, rank = points.tables, points.preference
    step = max(1, _CELLS // len(rank))
    parts: dict[str, list[tuple[Ints, Floats]]] = {name: [] for name in measures}
    for start in range(0, len(ratios), step):
        tuned = tables.tuned(ratios[start : start + step, None])
        for name, measure in measures.items():
            if not CATALOG[name].invariant:
                parts[name].append(best_of(name, measure(tuned), rank))
            elif not start:
                parts[name].append(best_of(name, measure(tables)[None], rank))
    found = {}
    for name, rows in parts.items():
        place, value = (np.concatenate(column) for column in zip(*rows, strict=True))
        shape = (len(ratios),)
        found[name] = Best(np.broadcast_to(place, shape), np.broadcast_to(value, shape))
    return found


def at_odds(name: str, table: Jpt, ratios: Floats) -> Jpt:
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
        close = gains >= top - np.where(np.isfinite(top), _TIE * np.abs(top), 0.0)
    place = np.where(close, rank, rank.size).argmin(axis=-1)
    value = np.take_along_axis(values, place[..., None], axis=-1)[..., 0]
    none = np.isnan(top[..., 0])
    return np.where(none, -1, place), np.where(none, np.nan, value)


def threshold_rows(
    label: str | None,
    model: str,
    points: RocPoints,
    populations: Sequence[tuple[str, Population]],
    measures: Mapping[str, Measure],
    fixed: Fixed,
    honest: Mapping[str, Sequence[Estimate]],
) -> list[Row]:
    """Return the rows of table `thresholds` of one slice and model: per measure and population.

    points: the model's `hull.candidates`, or all points; measures that have no best are left out.
    populations: pairs of the kind ("sample", "1:1", "target", "sweep") and the population.
    honest: by measure an estimate per population, from `crossfit.honest_estimates`.

    The value is that of the best threshold on the rows it was chosen on, which flatters it. The
    loss is how much better that is than the fixed threshold, in the unit of the measure and never
    below 0; the honest gain is how much better the cross-fitted value is, and below 0 where moving
    the threshold would do harm.
    """
    ratios = np.array([population.ratio for _, population in populations])
    chosen = {name: measure for name, measure in measures.items() if tunable(name)}
    found = best_points(points, ratios, chosen)
    rows: list[Row] = []
    for name, measure in chosen.items():
        kept = np.broadcast_to(measure(at_odds(name, fixed.table, ratios)), ratios.shape)
        columns = (populations, *(x.tolist() for x in (found[name].place, found[name].value, kept)))
        for (kind, at), place, value, old, judged in zip(*columns, honest[name], strict=True):
            best, before = _value(name, value, points, place), _fixed_value(name, old, fixed)
            rows.append(
                {
                    "slice": label,
                    "model": model,
                    "measure": name,
                    "population": kind,
                    "prevalence": at.prevalence,
                    "odds": at.odds,
                    "ratio": at.ratio,
                    **_threshold(points, place),
                    "value": best,
                    "fixed_threshold": fixed.threshold,
                    "fixed_value": before,
                    "loss": _loss(name, best, before),
                    "honest": judged,
                    "honest_gain": _gain(name, judged, before),
                }
            )
    return rows


def cutoff_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of table `cutoffs`: per model and measure, the whole table's thresholds.

    From few positives to many, each class ratio once. A threshold of None is above every score.
    """
    names = ("model", "measure", "odds", "threshold", "rule")
    found: dict[tuple[str, str], dict[float, Row]] = {}
    for row in rows:
        if row["slice"] is None and row["rule"] is not None:
            by_ratio = found.setdefault((str(row["model"]), str(row["measure"])), {})
            by_ratio.setdefault(float(str(row["ratio"])), {name: row[name] for name in names})
    return [by_ratio[ratio] for by_ratio in found.values() for ratio in sorted(by_ratio)]


def _threshold(points: RocPoints, place: int) -> dict[str, float | str | None]:
    if place < 0:
        return {"threshold": None, "rule": None, "sensitivity": None, "specificity": None}
    tp, fp = (n[place].item() / n[-1].item() for n in (points.tp, points.fp))
    there = {"sensitivity": tp, "specificity": 1 - fp}
    if place == 0:
        return {"threshold": None, "rule": "never positive", **there}
    rule = "always positive" if place == len(points.tp) - 1 else "score >= t"
    return {"threshold": points.thresholds[place].item(), "rule": rule, **there}


def _value(name: str, value: float, points: RocPoints, place: int) -> Estimate:
    totals = points.tp[-1].item(), points.fp[-1].item()
    answers = (points.tp[place].item(), points.fp[place].item())
    return estimate(name, value, np.nan, np.nan, classes=totals, answers=answers)


def _fixed_value(name: str, value: float, fixed: Fixed) -> Estimate:
    classes, answers = (fixed.positives, fixed.negatives), (fixed.tp, fixed.fp)
    return estimate(name, value, np.nan, np.nan, classes=classes, answers=answers)


def _loss(name: str, best: Estimate, kept: Estimate) -> Estimate:
    """Return by how much the best value beats the kept one: not at all where they tie."""
    lost = _gain(name, best, kept)
    if lost.value is None or best.value is None:
        return lost
    return Estimate(lost.value if lost.value > _TIE * abs(best.value) else 0.0)


def _gain(name: str, new: Estimate, old: Estimate) -> Estimate:
    """Return by how much a value is better than another; two infinite ones are alike."""
    for one in (new, old):
        if one.value is None and one.reason not in _INFINITE:
            return Estimate(None, reason=one.reason)
    sign = -1 if CATALOG[name].best == "min" else 1
    a, b = (
        one.value if one.value is not None else _INFINITE[str(one.reason)] for one in (new, old)
    )
    return estimate(name, 0.0 if a == b else sign * (a - b), np.nan, np.nan)


_INFINITE = {"infinite": np.inf, "minus_infinite": -np.inf}
