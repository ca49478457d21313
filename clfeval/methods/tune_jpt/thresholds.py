"""Best thresholds for measures in populations, with the values expected on new data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from clfeval.arrays import Floats
from clfeval.counts.count import Sample
from clfeval.counts.scores import ScoreCounts
from clfeval.document import Estimate, Row, Rows, sort_value
from clfeval.document.rows import RowsBySlice, deferred_rows
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.methods.estimates import Cells, concatenate_counts, make_estimate
from clfeval.methods.measurement.label_measures import float_confusion
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.measurement.score_measures import Formula
from clfeval.methods.predictive_values import UsedThreshold, prevalence_rows
from clfeval.methods.threshold_optimism import ChosenThresholds, ThresholdRule, measure_value
from clfeval.methods.tune_jpt.options import TuneOptions
from clfeval.methods.tune_jpt.tables import Place, TunedModels, measure_formulas, slice_populations
from clfeval.records import dataclass, replace

Vertex = tuple[float, float, float]  # threshold, true and false positives


@dataclass(frozen=True, slots=True, eq=False)
class BestThresholds:
    """Thresholds of one model by rules at class ratios; kept: the one in use and its table."""

    label: str | None
    model: str
    places: list[Place]
    rules: Sequence[ThresholdRule]
    kept: tuple[float | None, Confusion]
    chosen: ChosenThresholds


def _at_odds(of: Formula, ratio: float, table: Confusion) -> Floats:
    return of(table.tuned(ratio))


def threshold_tables(
    given: Sample, options: TuneOptions
) -> tuple[dict[str, Rows], list[str], list[str]]:
    """Return the tables of thresholds, the digests of scores, and models with infinite scores."""
    digests, unbounded, first = list[str](), list[str](), list[BestThresholds]()
    counted, known = given.counted, list[int]()
    for i, model in enumerate(
        counted.models if counted is not None and options.threshold_measures else ()
    ):
        if counted is None or model.kind == "label":
            continue
        scores = counted.scores(i)[None]
        digests.append(f"{model.name}{scores.digest()}")
        if np.isfinite(scores.scores).all():
            first += _best_thresholds(given, options, i, {None: scores}, swept=False)
            known.append(i)
        else:
            unbounded.append(model.name)
    tables: dict[str, Rows] = {"at_prevalence": _usable_threshold_rows(given, options, first)}
    if counted is None or not digests:
        return tables, [], []

    def chosen(whole: bool) -> list[Row]:
        found = [one for i in known for one in _best_thresholds(given, options, i, {
            label: one for label, one in counted.scores(i).items() if (label is None) is whole
        })]  # fmt: skip
        place = {label: i for i, label in enumerate(given.slices)}
        found.sort(key=lambda one: place[one.label])
        return threshold_rows(found, given, options)

    # slow at all odds of the sweep, and rarely requested
    who = [
        (None, one.model, name, kind, there.ratio)
        for one in first
        for name in options.threshold_measures
        for kind, there in slice_populations(given, None, options)
    ]
    names = ("slice", "model", "measure", "population", "ratio")
    columns = {name: [one[i] for one in who] for i, name in enumerate(names)}
    rows = deferred_rows(len(who), partial(chosen, True), columns)
    tables |= {
        "thresholds": RowsBySlice(rows, partial(chosen, False)),
        "cutoffs": RowsBySlice((), lambda: cutoff_rows(rows)),  # computed when requested
    }
    return tables, sorted(digests), unbounded


def _usable_threshold_rows(
    given: Sample, options: TuneOptions, found: Sequence[BestThresholds]
) -> list[Row]:
    """Return the `prevalence_rows` of each model at its best usable threshold.

    That is the threshold given, else that of the lowest expected cost, else of the largest J; of
    labels the table itself. Of each population the highest net benefit, or else J, is first.
    """

    def place_of(row: Row) -> float:
        benefit = sort_value(row["net_benefit"])
        rates = [sort_value(row[name]) or 0.0 for name in ("sensitivity", "specificity")]
        return -sum(rates) if benefit is None else -benefit

    counts, rule = given.slices[None], options.usable_rule
    best = {one.model: one for one in found if not given.roles.has_threshold(one.model)}
    rows, places = list[Row](), slice_populations(given, None, options)
    for j, place in enumerate(place for place in places if place[0] != "sweep"):
        used = list[UsedThreshold]()
        for i, model in enumerate(counts.models):
            table, one = counts.take([i]), best.get(model)
            used.append(UsedThreshold(model, None, given.thresholds.get(model), table, table))
            if one is not None:
                r = [each.name for each in one.rules].index(rule) + j
                if one.chosen.unknown[r] is None:
                    used[-1] = UsedThreshold(model, rule, *one.chosen.used(r))
        rows += sorted(prevalence_rows(given, options, [place], used), key=place_of)
    return rows


def _best_thresholds(
    given: Sample,
    options: TuneOptions,
    i: int,
    scores: Mapping[Any, ScoreCounts],
    *,
    swept: bool = True,
) -> Iterator[BestThresholds]:
    """Yield the thresholds of model i in slices with both classes; swept: also at swept odds."""
    names = list(dict.fromkeys((*options.threshold_measures, options.usable_rule)))
    every = measure_formulas(options.beta, options.outcome_costs)
    for label, counts in scores.items():
        table, model = given.slices[label].take([i]), given.slices[label].models[i]
        if not (table.positives[0] and table.negatives[0]):
            continue
        places = slice_populations(given, label, options)
        places = [place for place in places if swept or place[0] != "sweep"]
        rules = []  # measure by measure
        for name, (kind, one) in product(names, places):
            of = every[name]
            if kind != "sample" and not CATALOG[name].invariant:
                of = partial(_at_odds, of, one.ratio)
            measure = RequestedMeasure(name, replace(CATALOG[name], of=of), {})
            rules.append(ThresholdRule(name, measure))
        who = f"{model}\0{label or ''}"
        chosen = ChosenThresholds.from_scores(counts, rules, options.seed, who, hull=True)
        kept = given.thresholds.get(model), float_confusion(table)
        yield BestThresholds(label, model, places, rules, kept, chosen)


def threshold_rows(
    found: Sequence[BestThresholds], given: Sample, options: TuneOptions
) -> list[Row]:
    """Return the rows of table `thresholds`: per slice and model, measure and population.

    value: on the rows that chose the threshold; honest: expected on new data.
    """
    if not found:
        return []
    honest, rows = _corrected_estimates(found, given, options), list[Row]()
    for one in found:
        (cut, table), points, here = one.kept, one.chosen.points, float_confusion(one.chosen.here)
        columns = (x.tolist() for x in (points.thresholds, points.tp, points.fp))
        where, g = list(zip(*columns, strict=True)), len(one.places)
        for i, (rule, at) in enumerate(zip(one.rules, one.chosen.at.tolist(), strict=True)):
            (kind, there), name, judged = one.places[i % g], rule.name, next(honest)
            if name not in options.threshold_measures:  # that of the best usable threshold alone
                continue
            mine = Confusion(here.tp[i], here.fp[i], here.fn[i], here.tn[i])
            value = float(measure_value(rule.best, mine)) if at >= 0 else np.nan
            (_, tp, fp), (_, p, n) = where[at], where[-1]
            why = CATALOG[name].undefined_at_odds
            best = make_estimate(value, undefined=why, table=Confusion(tp, fp, p - tp, n - fp))
            before = float(measure_value(rule.best, table).ravel()[0])
            rows.append({
                "slice": one.label, "model": one.model, "measure": name, "population": kind,
                "prevalence": there.prevalence, "odds": there.odds, "ratio": there.ratio,
                **_threshold_cells(where, at), "value": best, "fixed_threshold": cut,
                "fixed_value": make_estimate(before, undefined=why, table=table),
                "corrected": judged if at >= 0 else best,
            })  # fmt: skip
    return rows


def _corrected_estimates(
    found: Sequence[BestThresholds], given: Sample, options: TuneOptions
) -> Iterator[Estimate]:
    """Yield the values of each rule expected on new data, with limits computed together."""
    tables, here = (
        concatenate_counts({i: getattr(one.chosen, name) for i, one in enumerate(found)})[1]
        for name in ("expected", "here")
    )
    tuner = TunedModels(given, options, (None,) * len(tables.models), tables)
    names = np.array([rule.name for one in found for rule in one.rules])
    ratios = np.array([
        np.nan if kind == "sample" else there.ratio for one in found
        for kind, there in one.places * (len(one.rules) // len(one.places))
    ])  # fmt: skip
    values: dict[int, Estimate] = {}
    for name in dict.fromkeys(names.tolist()):
        mine = np.flatnonzero(names == name)
        expected, chosen = (Cells.at_odds(one, mine, ratios[mine]) for one in (tables, here))
        values |= zip(mine.tolist(), tuner.estimates(name, expected, chosen), strict=True)
    for i, why in enumerate(why for one in found for why in one.chosen.unknown):
        yield values[i] if why is None else Estimate(None, reason=why)


def cutoff_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of table `cutoffs`: per model and measure, thresholds by class ratio."""
    names = ("model", "measure", "odds", "threshold", "rule")
    found: dict[tuple[str, str], dict[float, Row]] = {}
    for row in rows:
        if row["slice"] is None and row["rule"] is not None:
            by_ratio = found.setdefault((str(row["model"]), str(row["measure"])), {})
            by_ratio.setdefault(float(str(row["ratio"])), {name: row[name] for name in names})
    return [by_ratio[ratio] for by_ratio in found.values() for ratio in sorted(by_ratio)]


def _threshold_cells(points: Sequence[Vertex], place: int) -> dict[str, float | str | None]:
    if place < 0:
        return {"threshold": None, "rule": None, "sensitivity": None, "specificity": None}
    (cut, tp, fp), (_, p, n) = points[place], points[-1]
    rule = "always positive" if place == len(points) - 1 else "score >= t"
    where = {"threshold": cut if place else None, "rule": rule if place else "never positive"}
    return {**where, "sensitivity": tp / p, "specificity": 1 - fp / n}
