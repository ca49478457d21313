"""Tables of tune-jpt: expected cells, extreme and simulated values, and best thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from clfeval.arrays import Floats
from clfeval.counts.sample import Sample
from clfeval.counts.scores import ScoreCounts
from clfeval.document import Estimate, Row, Rows
from clfeval.document.rows import RowsBySlice, deferred_rows
from clfeval.inference.influence_and_clusters import rate_correlation, rate_divisors
from clfeval.inference.resampling import (
    beta_odds,
    correlate_draws,
    percentile_limits,
    random_stream,
)
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.record import BALANCED, Population
from clfeval.methods.estimates import Cells, concatenate_counts, make_estimate, rows_from_columns
from clfeval.methods.measurement.label_measures import float_confusion
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.measurement.score_measures import Formula
from clfeval.methods.model_order import ModelOrder
from clfeval.methods.other_prevalences import Place, TunedModels, UsedThreshold, prevalence_rows
from clfeval.methods.provenance import slice_totals
from clfeval.methods.threshold_optimism import ChosenThresholds, ThresholdRule, measure_value
from clfeval.methods.tune_jpt.options import TuneOptions
from clfeval.records import dataclass, replace

_GRID = 401  # odds at first, evenly in the logarithm
_ZOOM = 17  # odds inside a bracket, which becomes 8 times narrower each time
_ZOOMS = 12
_EQUAL = 1e-12  # relative; a smaller difference is rounding
DRAWS = 10_000  # of simulations


def slice_populations(given: Sample, label: str | None, options: TuneOptions) -> list[Place]:
    """Return the populations of a slice by kind; swept odds for the whole table only."""
    sample = slice_totals(given, label)[-1]
    return [
        *([("sample", sample)] if sample is not None else []),
        ("1:1", BALANCED),
        *(("target", target) for target in options.populations),
        *(("sweep", one) for one in (options.swept if label is None else ())),
    ]


def expected_rows(tuner: TunedModels, rows: float) -> list[Row]:
    """Return, per model and population, the expected cells among `rows` rows, with intervals.

    Intervals of TP, FN, FP and TN are those of sensitivity and specificity, scaled; class totals
    are known. `called` is TP + FP, all predicted positive. Range 0..rows; undefined, with a reason,
    without the class. Intervals: Clopper-Pearson, and for `called` square-and-add of Wilson limits.
    """
    places = [
        (i, kind, one)
        for label in tuner.given.slices
        for kind, one in slice_populations(tuner.given, label, tuner.options)
        if kind != "sweep"
        for i in (i for i, its in enumerate(tuner.labels) if its == label)
    ]
    models, kinds, populations = zip(*places, strict=True)
    ratios, p = (
        np.array([getattr(one, name) for one in populations]) for name in ("ratio", "prevalence")
    )
    cells, p = Cells.picked(tuner.counts, models, ratios), rows * p
    n = np.where(ratios < 1, rows - p, rows / (1 + ratios))
    found = {
        cell: tuner.estimates(name, cells, times=total)
        for cell, name, total in (
            ("tp", "sensitivity", p),
            ("fp", "fpr", n),
            ("fn", "fnr", p),
            ("tn", "specificity", n),
            ("flagged", "detection_prevalence", rows),
        )
    }
    return rows_from_columns(
        {
            **tuner.who(models),
            "population": kinds,
            "prevalence": [one.prevalence for one in populations],
            "odds": [one.odds for one in populations],
            "rows": [rows] * len(places),
            "positives": p.tolist(),
            "negatives": n.tolist(),
            **found,
        }
    )


def range_rows(tuner: TunedModels, ends: tuple[float, float]) -> list[Row]:
    """Return, per model and measure, the lowest and the highest value over the prevalences.

    Each with its interval and its prevalence; measures invariant to it at the lower end.
    """
    low, high = (Population.from_prevalence(end).ratio for end in ends)
    at_end, options = {low: ends[0], high: ends[1]}, tuner.options
    rows: list[Row] = []
    known = options.formulas
    for i, model in enumerate(tuner.counts.models):
        one = Cells.picked(tuner.counts, [i], np.ones(1))
        for name in options.measures:
            still = CATALOG[name].invariant
            row: dict[str, Any] = {"slice": tuner.labels[i], "model": model, "measure": name}
            for side, sign in (("lowest", -1), ("highest", 1)):
                ratio = low if still else _extreme_odds(known[name], one, low, high, sign)
                here = Cells.picked(tuner.counts, [i], np.array([ratio]))
                row[side] = tuner.estimates(name, here)[0]
                row[f"{side}_at"] = at_end.get(ratio, ratio / (1 + ratio))
            rows.append(row)
    return rows


def simulated_rows(tuner: TunedModels, prior: tuple[float, float]) -> list[Row]:
    """Return, per model and measure, its distribution when the prevalence is Beta(a, b).

    Each draw takes a prevalence from the prior and, of counted rows, both rates from their
    posteriors Beta(k + 1/2, n - k + 1/2) (Jeffreys). Undefined where the measure of the rows is.
    Mean, median and percentiles are of defined draws, None if infinite or undefined.
    """
    options = tuner.options
    rows: list[Row] = []
    for i, model in enumerate(tuner.counts.models):
        rng = random_stream(options.seed, f"prior\0{model}")
        ratios = beta_odds(*prior, draws=DRAWS, rng=rng)
        cells = Cells.picked(tuner.counts, [i], np.ones(1))
        tp, fp = cells.rates
        if tuner.level is not None and bool(cells.positives[0] and cells.negatives[0]):
            tp, fp = _posterior_rates(cells, options.level, len(ratios), rng)
        tables = Confusion.from_rates(tp, fp, ratios)
        for name in options.measures:
            formula = options.formulas[name]
            undefined = np.isnan(formula(cells.tuned)[0])
            values = np.full(len(ratios), np.nan) if undefined else formula(tables)
            rows.append(
                {
                    "slice": tuner.labels[i],
                    "model": model,
                    "measure": name,
                    **_distribution_cells(values, options.level),
                }
            )
    return rows


def _posterior_rates(
    cells: Cells, level: float, draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return draws of both rates of a model from their posteriors, correlated with clusters."""
    correlation, effective = 0.0, cells
    if cells.sums is not None:  # each rate by itself, then together
        divisors = rate_divisors(
            cells.sums, cells.totals, np.zeros((2, 1)), level=level, largest=cells.largest
        )
        correlation = rate_correlation(cells.sums, cells.totals).item()
        effective = cells.divided(divisors)
    tp, fp = (
        rng.beta(k[0] + 0.5, n[0] - k[0] + 0.5, draws)
        for k, n in ((effective.tp, effective.positives), (effective.fp, effective.negatives))
    )
    return correlate_draws(tp, fp, correlation, rng)


def _distribution_cells(values: Floats, level: float) -> dict[str, Any]:
    """Return mean, median and percentiles of defined draws, and the number of others."""
    low, high, failed = (limit.item() for limit in percentile_limits(values, level=level))
    defined = values[~np.isnan(values)]
    median = mean = np.nan
    if defined.size:
        with np.errstate(invalid="ignore", over="ignore"):  # undefined for inf - inf
            median = float(np.median(defined))
            mean = float(defined.mean())
    numbers = {"mean": mean, "median": median, "low": low, "high": high}
    finite = {name: x if np.isfinite(x) else None for name, x in numbers.items()}
    return {**finite, "failed": failed}


def _extreme_odds(measure: Formula, one: Cells, low: float, high: float, sign: int) -> float:
    """Return the odds in low..high where sign times the measure is greatest, the lowest such."""
    a, b = np.log(low), np.log(high)
    for step in range(_ZOOMS):
        grid = np.linspace(a, b, _GRID if step == 0 else _ZOOM)
        ratios = np.clip(np.exp(grid), low, high)
        ratios[0], ratios[-1] = max(ratios[0], low), min(ratios[-1], high)
        values = sign * measure(Confusion.from_rates(*one.rates, ratios))
        if np.isnan(values).all():
            return low
        top = np.nanmax(values)
        nearly = top - _EQUAL * abs(top) if np.isfinite(top) else top
        best = int(np.flatnonzero(values >= nearly)[0])
        if step == 0 and best in (0, len(grid) - 1):
            return low if best == 0 else high
        a, b = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    return float(ratios[best])


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
    given: Sample, options: TuneOptions, order: ModelOrder
) -> tuple[dict[str, Rows], list[str], list[str]]:
    """Return the tables of thresholds, the digests of scores, and models with infinite scores."""
    digests, unbounded, first = list[str](), list[str](), list[BestThresholds]()
    counted, known = given.counted, list[int]()
    if counted is None:
        return {"at_prevalence": _usable_threshold_rows(given, options, (), order)}, [], []
    for i, model in enumerate(counted.models):
        if model.kind == "label":
            continue
        scores = counted.scores(i)[None]
        digests.append(f"{model.name}{scores.digest()}")
        if np.isfinite(scores.scores).all():
            first += _best_thresholds(given, options, i, {None: scores}, swept=False)
            known.append(i)
        else:
            unbounded.append(model.name)
    tables: dict[str, Rows] = {
        "at_prevalence": _usable_threshold_rows(given, options, first, order)
    }
    if not digests:
        return tables, [], []

    def chosen(whole: bool) -> list[Row]:
        found = [
            one
            for i in known
            for one in _best_thresholds(
                given,
                options,
                i,
                {
                    label: one
                    for label, one in counted.scores(i).items()
                    if (label is None) is whole
                },
                swept=True,
            )
        ]
        place = {label: i for i, label in enumerate(given.slices)}
        found.sort(key=lambda one: place[one.label])
        return threshold_rows(found, given, options)

    # slow at all odds of the sweep, and rarely requested
    each = product(first, options.threshold_measures, slice_populations(given, None, options))
    who = [(None, one.model, name, kind, there.ratio) for one, name, (kind, there) in each]
    names = ("slice", "model", "measure", "population", "ratio")
    columns = {name: [one[i] for one in who] for i, name in enumerate(names)}
    rows = deferred_rows(len(who), partial(chosen, True), columns)
    tables |= {
        "thresholds": RowsBySlice(rows, partial(chosen, False)),
        "cutoffs": RowsBySlice((), lambda: cutoff_rows(rows)),  # computed when requested
    }
    return tables, sorted(digests), unbounded


def _usable_threshold_rows(
    given: Sample, options: TuneOptions, found: Sequence[BestThresholds], order: ModelOrder
) -> list[Row]:
    """Return the `prevalence_rows` of each model at its usable threshold, in the order of a report.

    That is the threshold given, else that of the lowest expected cost, else the one in force, else
    that of the largest J; of labels the table itself. tied: see `ModelOrder`. Net benefit: by the
    costs, else of probabilities at a target, with the threshold as the threshold probability.
    """
    counts, rule = given.slices[None], options.usable_rule
    costs = options.outcome_costs is not None
    best = {
        one.model: one
        for one in found
        if not given.roles.has_threshold(one.model)
        and (costs or given.thresholds.get(one.model) is None)
    }
    probabilities = _models_with_probabilities(given)
    rows, places = list[Row](), slice_populations(given, None, options)
    for j, place in enumerate(place for place in places if place[0] != "sweep"):
        used = list[UsedThreshold]()
        for model in order.values:
            table = counts.take([counts.models.index(model)])
            one = best.get(model)
            threshold = UsedThreshold(model, None, given.thresholds.get(model), table, table)
            if one is not None:
                r = [each.name for each in one.rules].index(rule) + j
                if one.chosen.unknown[r] is None:
                    threshold = UsedThreshold(model, rule, *one.chosen.used(r))
            if place[0] == "target" and model in probabilities and not costs:
                threshold = threshold._replace(risk=threshold.threshold)
            used.append(threshold)
        rows += [
            {**row, "tied": order.ties.get(str(row["model"]))}
            for row in prevalence_rows(given, options, [place], used)
        ]
    return rows


def _models_with_probabilities(sample: Sample) -> set[str]:
    """Return the models whose scores are probabilities: these have a net benefit at a threshold."""
    if sample.counted is None:
        return set()
    models = set[str]()
    for i, model in enumerate(sample.counted.models):
        if model.kind == "label":
            continue
        scores = sample.counted.scores(i)[None].scores
        if len(scores) and scores[0] >= 0 and scores[-1] <= 1:
            models.add(model.name)
    return models


def _best_thresholds(
    given: Sample, options: TuneOptions, i: int, scores: Mapping[Any, ScoreCounts], *, swept: bool
) -> Iterator[BestThresholds]:
    """Yield the thresholds of model i in slices with both classes; swept: also at swept odds."""
    names = list(dict.fromkeys((*options.threshold_measures, options.usable_rule)))
    every = options.formulas
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
            measure = RequestedMeasure(name, replace(CATALOG[name], compute=of), {})
            rules.append(ThresholdRule(name, measure))
        who = f"{model}\0{label or ''}"
        chosen = ChosenThresholds.from_scores(counts, rules, options.seed, who, hull=True)
        kept = given.thresholds.get(model), float_confusion(table)
        yield BestThresholds(label, model, places, rules, kept, chosen)


def threshold_rows(
    models: Sequence[BestThresholds], sample: Sample, options: TuneOptions
) -> list[Row]:
    """Return the rows of table `thresholds`: per slice and model, measure and population.

    value: on the rows that chose the threshold; corrected: expected on new data.
    """
    if not models:
        return []
    corrected = _corrected_estimates(models, sample, options)
    rows: list[Row] = []
    for thresholds in models:
        estimates = [next(corrected) for _ in thresholds.rules]
        rows += _rule_rows(thresholds, estimates, options.threshold_measures)
    return rows


def _rule_rows(
    thresholds: BestThresholds, corrected: Sequence[Estimate], measures: Sequence[str]
) -> Iterator[Row]:
    """Yield the rows of the rules of one model that choose by one of the measures."""
    points, places = thresholds.chosen.points, thresholds.places
    columns = (numbers.tolist() for numbers in (points.thresholds, points.tp, points.fp))
    curve = list(zip(*columns, strict=True))
    tables = float_confusion(thresholds.chosen.here)
    for i, rule in enumerate(thresholds.rules):
        if rule.name not in measures:  # that of the best usable threshold alone
            continue
        kind, population = places[i % len(places)]
        place = int(thresholds.chosen.at[i])
        table = Confusion(tables.tp[i], tables.fp[i], tables.fn[i], tables.tn[i])
        best = _best_estimate(rule, table, curve, place)
        yield {
            "slice": thresholds.label,
            "model": thresholds.model,
            "measure": rule.name,
            "population": kind,
            "prevalence": population.prevalence,
            "odds": population.odds,
            "ratio": population.ratio,
            **_threshold_cells(curve, place),
            "value": best,
            **_fixed_threshold_cells(rule, *thresholds.kept),
            "corrected": corrected[i] if place >= 0 else best,
        }


def _best_estimate(
    rule: ThresholdRule, table: Confusion, curve: Sequence[tuple[float, float, float]], place: int
) -> Estimate:
    """Return the measure of a rule at its threshold; place: in the curve, below 0 for none."""
    value = float(measure_value(rule.best, table)) if place >= 0 else np.nan
    _, tp, fp = curve[place]
    _, p, n = curve[-1]
    reasons = CATALOG[rule.name].undefined_at_odds
    return make_estimate(value, undefined=reasons, table=Confusion(tp, fp, p - tp, n - fp))


def _fixed_threshold_cells(
    rule: ThresholdRule, threshold: float | None, table: Confusion
) -> dict[str, Any]:
    """Return the cells of the threshold in use, with the measure of a rule there."""
    value = float(measure_value(rule.best, table).ravel()[0])
    reasons = CATALOG[rule.name].undefined_at_odds
    estimate = make_estimate(value, undefined=reasons, table=table)
    return {"fixed_threshold": threshold, "fixed_value": estimate}


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
    ratios = np.array(
        [
            np.nan if kind == "sample" else there.ratio
            for one in found
            for kind, there in one.places * (len(one.rules) // len(one.places))
        ]
    )
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


def _threshold_cells(
    points: Sequence[tuple[float, float, float]], place: int
) -> dict[str, float | str | None]:
    """Return the cells of a threshold; points: threshold, true and false positives."""
    if place < 0:
        return {"threshold": None, "rule": None, "sensitivity": None, "specificity": None}
    (cut, tp, fp), (_, p, n) = points[place], points[-1]
    rule = "always positive" if place == len(points) - 1 else "score >= t"
    where = {"threshold": cut if place else None, "rule": rule if place else "never positive"}
    return {**where, "sensitivity": tp / p, "specificity": 1 - fp / n}
