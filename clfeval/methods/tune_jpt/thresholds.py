"""The threshold that is best for a measure in a population, found on the hull of the ROC points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clfeval.arrays import Floats, Ints
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.population import Population
from clfeval.methods.estimates import estimate
from clfeval.methods.roc import RocPoints
from clfeval.methods.tune_jpt.tables import Formula
from clfeval.result import Estimate, Row

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
    def table(self) -> Confusion:
        """The 2 x 2 table."""
        return Confusion(self.tp, self.fp, self.positives - self.tp, self.negatives - self.fp)


def tunable(name: str) -> bool:
    """Tell whether a measure has a best value to look for: phi has not."""
    return CATALOG[name].best != "zero"


def best_points(
    points: RocPoints, ratios: Floats, measures: Mapping[str, Formula]
) -> dict[str, Best]:
    """Return, by measure, the best of h points at each of g odds `ratios` (g,).

    Best is largest or smallest as the catalog says; an infinite value beats every other. Values
    equal up to 1e-12 relative are ties: of them the largest delta = tp - fp, then the highest
    threshold is taken. A point where the measure is undefined is never best. Measures that do not
    change with the class ratio are looked at once. O(g h) for each measure; with the points of
    `roc.candidates` the best is that of the whole curve.
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
    measures: Mapping[str, Formula],
    fixed: Fixed,
    honest: Mapping[str, Sequence[Estimate]],
) -> list[Row]:
    """Return the rows of table `thresholds` of one slice and model: per measure and population.

    points: the model's `roc.candidates`, or all points; measures that have no best are left out.
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
            best, before = (
                _value(name, value, points, place),
                estimate(old, undefined=CATALOG[name].tuned, table=fixed.table),
            )
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
    (tp, fp), (p, n) = ((points.tp[i].item(), points.fp[i].item()) for i in (place, -1))
    table = Confusion(tp, fp, p - tp, n - fp)
    return estimate(value, undefined=CATALOG[name].tuned, table=table)


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
    return estimate(0.0 if a == b else sign * (a - b))


_INFINITE = {"infinite": np.inf, "minus_infinite": -np.inf}
