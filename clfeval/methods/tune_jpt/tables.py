"""Tables of tune-jpt: expected cells, extreme and simulated values, and best thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from clfeval.arrays import Floats
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.sample import Sample
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Estimate, Row, Rows, as_row, cell_number
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


def slice_populations(sample: Sample, label: str | None, options: TuneOptions) -> list[Place]:
    """Return the populations of a slice by kind; swept odds for the whole table only."""
    observed = slice_totals(sample, label)[-1]
    return [
        *([("sample", observed)] if observed is not None else []),
        ("1:1", BALANCED),
        *(("target", target) for target in options.populations),
        *(("sweep", population) for population in (options.swept if label is None else ())),
    ]


def expected_rows(tuner: TunedModels, rows: float) -> list[Row]:
    """Return, per model and population, the expected cells among `rows` rows, with intervals.

    Intervals of TP, FN, FP and TN are those of sensitivity and specificity, scaled; class totals
    are known. `called` is TP + FP, all predicted positive. Range 0..rows; undefined, with a reason,
    without the class. Intervals: Clopper-Pearson, and for `called` square-and-add of Wilson limits.
    """
    places = [
        (i, kind, population)
        for label in tuner.sample.slices
        for kind, population in slice_populations(tuner.sample, label, tuner.options)
        if kind != "sweep"
        for i in (i for i, model_label in enumerate(tuner.labels) if model_label == label)
    ]
    models, kinds, populations = zip(*places, strict=True)
    ratios = np.array([population.ratio for population in populations])
    cells = Cells.picked(tuner.counts, models, ratios)
    p = rows * np.array([population.prevalence for population in populations])
    n = np.where(ratios < 1, rows - p, rows / (1 + ratios))
    estimates = {
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
            **tuner.model_columns(models),
            "population": kinds,
            "prevalence": [population.prevalence for population in populations],
            "odds": [population.odds for population in populations],
            "rows": [rows] * len(places),
            "positives": p.tolist(),
            "negatives": n.tolist(),
            **estimates,
        }
    )


def range_rows(tuner: TunedModels, limits: tuple[float, float]) -> list[Row]:
    """Return, per model and measure, the lowest and the highest value over the prevalences.

    Each with its interval and its prevalence; measures invariant to it at the lower limit.
    """
    low, high = (Population.from_prevalence(prevalence).ratio for prevalence in limits)
    at_limit = {low: limits[0], high: limits[1]}
    formulas = tuner.options.formulas
    rows: list[Row] = []
    for i, model in enumerate(tuner.counts.models):
        cells = Cells.picked(tuner.counts, [i], np.ones(1))
        for name in tuner.options.measures:
            row: dict[str, Any] = {"slice": tuner.labels[i], "model": model, "measure": name}
            for side, sign in (("lowest", -1), ("highest", 1)):
                ratio = low
                if not CATALOG[name].invariant:
                    ratio = _extreme_odds(formulas[name], cells, low, high, sign)
                extreme_cells = Cells.picked(tuner.counts, [i], np.array([ratio]))
                row[side] = tuner.estimates(name, extreme_cells)[0]
                row[f"{side}_at"] = at_limit.get(ratio, ratio / (1 + ratio))
            rows.append(as_row(row))
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
                as_row(
                    {
                        "slice": tuner.labels[i],
                        "model": model,
                        "measure": name,
                        **_distribution_cells(values, options.level),
                    }
                )
            )
    return rows


def _posterior_rates(
    cells: Cells, level: float, draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return draws of both rates of a model from their posteriors, correlated with clusters."""
    correlation = 0.0
    effective = cells
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


def _extreme_odds(measure: Formula, cells: Cells, low: float, high: float, sign: int) -> float:
    """Return the odds in low..high where sign times the measure is greatest, the lowest such."""
    a = np.log(low)
    b = np.log(high)
    for step in range(_ZOOMS):
        grid = np.linspace(a, b, _GRID if step == 0 else _ZOOM)
        ratios = np.clip(np.exp(grid), low, high)
        ratios[0] = max(ratios[0], low)
        ratios[-1] = min(ratios[-1], high)
        values = sign * measure(Confusion.from_rates(*cells.rates, ratios))
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
    """Thresholds of one model by rules at class ratios; fixed: the one in use and its table."""

    label: str | None
    model: str
    places: list[Place]
    rules: Sequence[ThresholdRule]
    fixed: tuple[float | None, Confusion]
    choice: ChosenThresholds


def _at_odds(formula: Formula, ratio: float, table: Confusion) -> Floats:
    return formula(table.tuned(ratio))


def threshold_tables(
    sample: Sample, options: TuneOptions, order: ModelOrder
) -> tuple[dict[str, Rows], list[str], list[str]]:
    """Return the tables of thresholds, the digests of scores, and models with infinite scores."""
    predictions = sample.predictions
    if predictions is None:
        return {"at_prevalence": _usable_threshold_rows(sample, options, (), order)}, [], []
    digests = list[str]()
    unbounded = list[str]()
    finite = list[int]()  # positions of models
    models = list[BestThresholds]()
    for i, model in enumerate(predictions.models):
        if model.kind == "label":
            continue
        scores = predictions.scores(i)[None]
        digests.append(f"{model.name}{scores.digest()}")
        if np.isfinite(scores.scores).all():
            models += _best_thresholds(sample, options, i, {None: scores}, swept=False)
            finite.append(i)
        else:
            unbounded.append(model.name)
    tables: dict[str, Rows] = {
        "at_prevalence": _usable_threshold_rows(sample, options, models, order)
    }
    if not digests:
        return tables, [], []
    # slow at all odds of the sweep, and rarely requested
    columns = _rule_columns(models, sample, options)
    rows_of = partial(_threshold_rows_of, sample, options, predictions, finite)
    rows = deferred_rows(len(columns["slice"]), partial(rows_of, whole_table=True), columns)
    tables |= {
        "thresholds": RowsBySlice(rows, partial(rows_of, whole_table=False)),
        "cutoffs": RowsBySlice((), lambda: cutoff_rows(rows)),  # computed when requested
    }
    return tables, sorted(digests), unbounded


def _rule_columns(
    models: Sequence[BestThresholds], sample: Sample, options: TuneOptions
) -> dict[str, list[Any]]:
    """Return the columns that name the rows of the whole table: model, measure and population."""
    places = slice_populations(sample, None, options)
    keys = [
        (None, thresholds.model, name, kind, population.ratio)
        for thresholds, name, (kind, population) in product(
            models, options.threshold_measures, places
        )
    ]
    names = ("slice", "model", "measure", "population", "ratio")
    return {name: [key[i] for key in keys] for i, name in enumerate(names)}


def _threshold_rows_of(
    sample: Sample,
    options: TuneOptions,
    predictions: PredictionCounts,
    positions: Sequence[int],
    *,
    whole_table: bool,
) -> list[Row]:
    """Return the `threshold_rows` of models, by position, of the whole table or of its slices."""
    models = list[BestThresholds]()
    for i in positions:
        scores = {
            label: counts
            for label, counts in predictions.scores(i).items()
            if (label is None) is whole_table
        }
        models += _best_thresholds(sample, options, i, scores, swept=True)
    position = {label: i for i, label in enumerate(sample.slices)}
    models.sort(key=lambda thresholds: position[thresholds.label])
    return threshold_rows(models, sample, options)


def _usable_threshold_rows(
    sample: Sample, options: TuneOptions, models: Sequence[BestThresholds], order: ModelOrder
) -> list[Row]:
    """Return the `prevalence_rows` of each model at its usable threshold, in the order of a report.

    That is the threshold given, else that of the lowest expected cost, else the one in force, else
    that of the largest J; of labels the table itself. tied: see `ModelOrder`. Net benefit: by the
    costs, else of probabilities at a target, with the threshold as the threshold probability.
    """
    counts = sample.slices[None]
    rule = options.usable_rule
    costs = options.outcome_costs is not None
    best = {
        thresholds.model: thresholds
        for thresholds in models
        if not sample.roles.has_threshold(thresholds.model)
        and (costs or sample.thresholds.get(thresholds.model) is None)
    }
    probabilities = _models_with_probabilities(sample)
    rows = list[Row]()
    places = slice_populations(sample, None, options)
    for j, place in enumerate(place for place in places if place[0] != "sweep"):
        used = list[UsedThreshold]()
        for model in order.values:
            table = counts.take([counts.models.index(model)])
            threshold = UsedThreshold(model, None, sample.thresholds.get(model), table, table)
            if model in best:
                threshold = _threshold_by_rule(best[model], rule, j) or threshold
            if place[0] == "target" and model in probabilities and not costs:
                threshold = threshold._replace(risk=threshold.threshold)
            used.append(threshold)
        rows += [
            as_row({**row, "tied": order.ties.get(row["model"])})
            for row in prevalence_rows(sample, options, [place], used)
        ]
    return rows


def _threshold_by_rule(thresholds: BestThresholds, rule: str, place: int) -> UsedThreshold | None:
    """Return the threshold of a rule in a population, by position; None if it is unknown."""
    names = [best_rule.name for best_rule in thresholds.rules]
    i = names.index(rule) + place
    if thresholds.choice.unknown[i] is not None:
        return None
    return UsedThreshold(thresholds.model, rule, *thresholds.choice.used(i))


def _models_with_probabilities(sample: Sample) -> set[str]:
    """Return the models whose scores are probabilities: these have a net benefit at a threshold."""
    if sample.predictions is None:
        return set()
    models = set[str]()
    for i, model in enumerate(sample.predictions.models):
        if model.kind == "label":
            continue
        scores = sample.predictions.scores(i)[None].scores
        if len(scores) and scores[0] >= 0 and scores[-1] <= 1:
            models.add(model.name)
    return models


def _best_thresholds(
    sample: Sample, options: TuneOptions, i: int, scores: Mapping[Any, ScoreCounts], *, swept: bool
) -> Iterator[BestThresholds]:
    """Yield the thresholds of model i in slices with both classes; swept: also at swept odds."""
    for label, counts in scores.items():
        table = sample.slices[label].take([i])
        model = sample.slices[label].models[i]
        if not (table.positives[0] and table.negatives[0]):
            continue
        places = slice_populations(sample, label, options)
        places = [place for place in places if swept or place[0] != "sweep"]
        rules = _rules_at(places, options)
        stream = f"{model}\0{label or ''}"
        choice = ChosenThresholds.from_scores(counts, rules, options.seed, stream, hull=True)
        fixed = (sample.thresholds.get(model), float_confusion(table))
        yield BestThresholds(label, model, places, rules, fixed, choice)


def _rules_at(places: Sequence[Place], options: TuneOptions) -> list[ThresholdRule]:
    """Return the rules that optimise each measure in each population, measure by measure."""
    names = dict.fromkeys((*options.threshold_measures, options.usable_rule))
    formulas = options.formulas
    rules = []
    for name, (kind, population) in product(names, places):
        formula = formulas[name]
        if kind != "sample" and not CATALOG[name].invariant:
            formula = partial(_at_odds, formula, population.ratio)
        measure = RequestedMeasure(name, replace(CATALOG[name], compute=formula), {})
        rules.append(ThresholdRule(name, measure))
    return rules


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
    points = thresholds.choice.points
    places = thresholds.places
    columns = (numbers.tolist() for numbers in (points.thresholds, points.tp, points.fp))
    curve = list(zip(*columns, strict=True))
    tables = float_confusion(thresholds.choice.observed)
    for i, rule in enumerate(thresholds.rules):
        if rule.name not in measures:  # that of the best usable threshold alone
            continue
        kind, population = places[i % len(places)]
        place = int(thresholds.choice.positions[i])
        table = Confusion(tables.tp[i], tables.fp[i], tables.fn[i], tables.tn[i])
        best = _best_estimate(rule, table, curve, place)
        yield as_row(
            {
                "slice": thresholds.label,
                "model": thresholds.model,
                "measure": rule.name,
                "population": kind,
                "prevalence": population.prevalence,
                "odds": population.odds,
                "ratio": population.ratio,
                **_threshold_cells(curve, place),
                "value": best,
                **_fixed_threshold_cells(rule, *thresholds.fixed),
                "corrected": corrected[i] if place >= 0 else best,
            }
        )


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
    models: Sequence[BestThresholds], sample: Sample, options: TuneOptions
) -> Iterator[Estimate]:
    """Yield the values of each rule expected on new data, with limits computed together."""
    choices = {i: thresholds.choice for i, thresholds in enumerate(models)}
    expected = concatenate_counts({i: choice.expected for i, choice in choices.items()})[1]
    observed = concatenate_counts({i: choice.observed for i, choice in choices.items()})[1]
    tuner = TunedModels(sample, options, (None,) * len(expected.models), expected)
    names = np.array([rule.name for thresholds in models for rule in thresholds.rules])
    ratios = _ratios_of_rules(models)
    estimates: dict[int, Estimate] = {}
    for name in dict.fromkeys(names.tolist()):
        rules = np.flatnonzero(names == name)
        cells = (
            Cells.at_odds(expected, rules, ratios[rules]),
            Cells.at_odds(observed, rules, ratios[rules]),
        )
        estimates |= zip(rules.tolist(), tuner.estimates(name, *cells), strict=True)
    reasons = (reason for choice in choices.values() for reason in choice.unknown)
    for i, reason in enumerate(reasons):
        yield estimates[i] if reason is None else Estimate(None, reason=reason)


def _ratios_of_rules(models: Sequence[BestThresholds]) -> Floats:
    """Return the class ratio of each rule of the models, NaN for that of the rows."""
    ratios = list[float]()
    for thresholds in models:
        places = thresholds.places * (len(thresholds.rules) // len(thresholds.places))
        ratios += [np.nan if kind == "sample" else population.ratio for kind, population in places]
    return np.array(ratios)


def cutoff_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of table `cutoffs`: per model and measure, thresholds by class ratio."""
    names = ("model", "measure", "odds", "threshold", "rule")
    cutoffs: dict[tuple[str, str], dict[float, Row]] = {}
    for row in rows:
        if row["slice"] is None and row["rule"] is not None:
            by_ratio = cutoffs.setdefault((row["model"], row["measure"]), {})
            cells = {name: row[name] for name in names}
            by_ratio.setdefault(cell_number(row["ratio"]), as_row(cells))
    return [by_ratio[ratio] for by_ratio in cutoffs.values() for ratio in sorted(by_ratio)]


def _threshold_cells(
    points: Sequence[tuple[float, float, float]], place: int
) -> dict[str, float | str | None]:
    """Return the cells of a threshold; points: threshold, true and false positives."""
    if place < 0:
        return {"threshold": None, "rule": None, "sensitivity": None, "specificity": None}
    (threshold, tp, fp) = points[place]
    (_, p, n) = points[-1]
    rule = "always positive" if place == len(points) - 1 else "score >= t"
    cells = {"threshold": threshold if place else None, "rule": rule if place else "never positive"}
    return {**cells, "sensitivity": tp / p, "specificity": 1 - fp / n}
