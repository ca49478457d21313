"""The threshold that is best for a measure in a population, and what to expect of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clfeval.arrays import Ints, over
from clfeval.counts.count import Sample
from clfeval.counts.patterns import ConfusionCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.counts.weights import RowWeights
from clfeval.lazy import BySlice
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.methods.estimates import Cells, column, end_to_end, estimate
from clfeval.methods.measured.decisions import confusions_at
from clfeval.methods.measured.hard import table_of
from clfeval.methods.roc import RocPoints, candidates
from clfeval.methods.threshold_optimism import (
    SELDOM,
    TIE,
    bootstrap_choices,
    corrected,
    expected_counts,
    why_unknown,
)
from clfeval.methods.tune_jpt.best import OddsRules, at_odds
from clfeval.methods.tune_jpt.options import TuneOptions
from clfeval.methods.tune_jpt.tables import Place, Tuner, formulas, places_of
from clfeval.result import Estimate, Row, Rows

Vertex = tuple[float, float, float]  # threshold, true and false positives


@dataclass(frozen=True, slots=True, eq=False)
class BestThresholds:
    """What r rules, of measures at the class ratios of places, choose on the scores of one model.

    at (r,): which of the points, -1 where none is best. here, expected: the 2 x 2 tables there, on
    these rows and on others. unknown (r,): why nothing is known of others, else None. kept: the
    threshold in use, None for votes of the largest class, and its table.
    """

    label: str | None
    model: str
    places: Sequence[Place]
    rules: OddsRules
    kept: tuple[float | None, Confusion]
    points: RocPoints
    at: Ints
    here: ConfusionCounts
    expected: ConfusionCounts
    unknown: Sequence[str | None]

    @classmethod
    def of(
        cls, who: tuple[str | None, str], counts: ScoreCounts, places: Sequence[Place],
        measures: Mapping[str, Any], kept: tuple[float | None, Confusion], seed: int,
    ) -> BestThresholds:  # fmt: skip
        """Choose, and find out what that owes to the choice."""
        ratios = [np.nan if kind == "sample" else one.ratio for kind, one in places]
        rules, points = OddsRules(measures, np.array(ratios)), candidates(counts)
        ends = points.tp[None, -1:], points.fp[None, -1:]
        at = rules.best(points.tp[None], points.fp[None], *ends)[:, 0]
        here = expected = confusions_at(counts, points.thresholds[at])
        unknown = [why_unknown(counts)] * len(at)
        if unknown[0] is None:
            found = bootstrap_choices(counts, rules.choose, seed, f"{who[1]}\0{who[0] or ''}")
            alone = isinstance(counts.clusters, RowWeights)
            expected = corrected(here, *expected_counts(here, found), rules.gains, alone=alone)
            unknown = [SELDOM if share < 0.5 else None for share in found.chosen.tolist()]
        return cls(*who, places, rules, kept, points, at, here, expected, unknown)


def threshold_tables(
    given: Sample, options: TuneOptions
) -> tuple[dict[str, Rows], list[str], list[str]]:
    """Return the tables of thresholds, the digests of scores, and models with infinite scores.

    One model's scores are held at a time. Where scores are infinite no threshold can be written.
    """
    counted = given.counted
    if counted is None or not options.tuned:
        return {}, [], []
    digests: list[str] = []
    unbounded: list[str] = []
    first: list[BestThresholds] = []
    scored = [i for i, model in enumerate(counted.models) if model.kind != "label"]
    for i in scored:
        name, found = counted.models[i].name, counted.scores(i)[None]
        digests.append(f"{name}{found.digest()}")
        if np.isfinite(found.scores).all():
            first += _best_thresholds(given, options, i, {None: found})
        else:
            unbounded.append(name)
    if not digests:
        return {}, [], []
    known = [i for i in scored if counted.models[i].name not in unbounded]

    def of_slices() -> list[Row]:
        found = [one for i in known for one in _best_thresholds(given, options, i, {
            label: one for label, one in counted.scores(i).items() if label is not None
        })]  # fmt: skip
        place = {label: i for i, label in enumerate(given.slices)}
        found.sort(key=lambda one: place[one.label])
        return threshold_rows(found, given, options)

    rows = threshold_rows(first, given, options)
    tables = {"thresholds": BySlice(rows, of_slices), "cutoffs": cutoff_rows(rows)}
    return tables, sorted(digests), unbounded


def _best_thresholds(
    given: Sample, options: TuneOptions, i: int, scores: Mapping[str | None, ScoreCounts]
) -> Iterator[BestThresholds]:
    """Yield what is chosen for the model of this number in slices that have both classes."""
    every = formulas(options.beta, options.stakes)
    measures = {name: every[name] for name in options.tuned}
    for label, counts in scores.items():
        table, model = given.slices[label].at([i]), given.slices[label].models[i]
        if table.positives[0] and table.negatives[0]:
            kept = given.thresholds.get(model), table_of(table)
            places = places_of(given, label, options)
            yield BestThresholds.of((label, model), counts, places, measures, kept, options.seed)


def threshold_rows(
    found: Sequence[BestThresholds], given: Sample, options: TuneOptions
) -> list[Row]:
    """Return the rows of table `thresholds`: per slice and model, measure and population.

    The value is that of the best threshold on the rows it was chosen on, which flatters it; honest
    is what to expect on others, as `corrected` says, with limits that reach to the value here. The
    loss is how much better the value is than that of the threshold in use, in the unit of the
    measure and never below 0; the honest gain is how much better the honest value is, and below 0
    where moving the threshold would do harm.
    """
    if not found:
        return []
    honest, rows = _honest(found, given, options), list[Row]()
    for one in found:
        (cut, table), points = one.kept, one.points
        where = list(
            zip(*(x.tolist() for x in (points.thresholds, points.tp, points.fp)), strict=True)
        )
        values, place = iter(one.rules.values(table_of(one.here)).tolist()), iter(one.at.tolist())
        for name, of in one.rules.measures.items():
            old = at_odds(name, of, table, one.rules.ratios).tolist()
            for (kind, at), before in zip(one.places, old, strict=True):
                spot, value, judged = next(place), next(values), next(honest)
                best = _value(name, value if spot >= 0 else np.nan, where, spot)
                before = estimate(before, undefined=CATALOG[name].tuned, table=table)
                judged = judged if spot >= 0 else best
                rows.append(
                    {
                        "slice": one.label, "model": one.model, "measure": name,
                        "population": kind, "prevalence": at.prevalence, "odds": at.odds,
                        "ratio": at.ratio, **_threshold(where, spot), "value": best,
                        "fixed_threshold": cut, "fixed_value": before,
                        "loss": _loss(name, best, before), "honest": judged,
                        "honest_gain": _gain(name, judged, before),
                    }
                )  # fmt: skip
    return rows


def _honest(
    found: Sequence[BestThresholds], given: Sample, options: TuneOptions
) -> Iterator[Estimate]:
    """Yield what to expect on other rows of each rule, with limits made for all of them at once."""
    _, tables = end_to_end({i: one.expected for i, one in enumerate(found)})
    tuner = Tuner(given, options, (None,) * len(tables.models), tables)
    names = np.concatenate([np.repeat([*one.rules.measures], len(one.places)) for one in found])
    ratios = np.concatenate([np.tile(one.rules.ratios, len(one.rules.measures)) for one in found])
    here = np.concatenate([one.rules.values(table_of(one.here)) for one in found])
    own = np.isnan(ratios)
    ratios = np.where(own, over(tables.positives, tables.negatives), ratios)
    values: dict[int, Estimate] = {}
    for name, of in found[0].rules.measures.items():
        mine = np.flatnonzero(names == name)
        cells = Cells.picked(tables, mine, ratios[mine], own[mine])
        ends = tuner.limits(name, cells)
        # where all rows are called alike at a known class ratio nothing is uncertain
        sure = ~own[mine] & ((cells.tp + cells.fp == 0) | (cells.fn + cells.tn == 0))
        low, high = (np.where(sure, np.nan, end) for end in ends)
        low, high = np.minimum(low, here[mine]), np.maximum(high, here[mine])
        expected = at_odds(name, of, table_of(cells), np.where(own, np.nan, ratios)[mine])
        made = column(expected, (low, high), cells, CATALOG[name].tuned)
        values |= zip(mine.tolist(), made, strict=True)
    for i, why in enumerate(why for one in found for why in one.unknown):
        yield values[i] if why is None else Estimate(None, reason=why)


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


def _threshold(points: Sequence[Vertex], place: int) -> dict[str, float | str | None]:
    if place < 0:
        return {"threshold": None, "rule": None, "sensitivity": None, "specificity": None}
    (cut, tp, fp), (_, p, n) = points[place], points[-1]
    there = {"sensitivity": tp / p, "specificity": 1 - fp / n}
    if place == 0:
        return {"threshold": None, "rule": "never positive", **there}
    rule = "always positive" if place == len(points) - 1 else "score >= t"
    return {"threshold": cut, "rule": rule, **there}


def _value(name: str, value: float, points: Sequence[Vertex], place: int) -> Estimate:
    if value == value:
        return estimate(value)
    (_, tp, fp), (_, p, n) = points[place], points[-1]
    table = Confusion(tp, fp, p - tp, n - fp)
    return estimate(value, undefined=CATALOG[name].tuned, table=table)


def _loss(name: str, best: Estimate, kept: Estimate) -> Estimate:
    """Return by how much the best value beats the kept one: not at all where they tie."""
    lost = _gain(name, best, kept)
    if lost.value is None or best.value is None:
        return lost
    return Estimate(lost.value if lost.value > TIE * abs(best.value) else 0.0)


def _gain(name: str, new: Estimate, old: Estimate) -> Estimate:
    """Return by how much a value is better than another; two infinite ones are alike."""
    sign = -1 if CATALOG[name].best == "min" else 1
    if new.value is not None and old.value is not None:
        return Estimate(0.0 if new.value == old.value else sign * (new.value - old.value))
    for one in (new, old):
        if one.value is None and one.reason not in _INFINITE:
            return Estimate(None, reason=one.reason)
    a, b = (
        one.value if one.value is not None else _INFINITE[str(one.reason)] for one in (new, old)
    )
    return estimate(0.0 if a == b else sign * (a - b))


_INFINITE = {"infinite": np.inf, "minus_infinite": -np.inf}
