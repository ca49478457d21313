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


def slice_populations(sample: Sample, slice_name: str | None, options: TuneOptions) -> list[Place]:
    """Return kind and population of each row of a slice; swept odds for the whole table only."""
    *_, observed = slice_totals(sample, slice_name)
    return [
        *([("sample", observed)] if observed is not None else []),
        ("1:1", BALANCED),
        *(("target", target) for target in options.populations),
        *(("sweep", population) for population in (options.swept if slice_name is None else ())),
    ]


def expected_rows(tuner: TunedModels, row_count: float) -> list[Row]:
    """Return, per model and population, the expected cells among `row_count` rows, with intervals.

    Intervals of TP, FN, FP and TN are those of sensitivity and specificity, scaled; class totals
    are known. `flagged` is TP + FP, all predicted positive. Range 0..row_count; undefined, with a
    reason, without the class. Intervals: Clopper-Pearson, and for `flagged` square-and-add of
    Wilson limits.
    """
    model_populations = [
        (model_index, kind, population)
        for slice_name in tuner.sample.slices
        for kind, population in slice_populations(tuner.sample, slice_name, tuner.options)
        if kind != "sweep"
        for model_index in (
            model_index
            for model_index, model_slice in enumerate(tuner.labels)
            if model_slice == slice_name
        )
    ]
    model_indices, kinds, populations = zip(*model_populations, strict=True)
    ratios = np.array([population.ratio for population in populations])
    cells = Cells.picked(tuner.counts, model_indices, ratios)
    positives = row_count * np.array([population.prevalence for population in populations])
    negatives = np.where(ratios < 1, row_count - positives, row_count / (1 + ratios))
    estimates = {
        cell_name: tuner.estimates(measure, cells, times=row_total)
        for cell_name, measure, row_total in (
            ("tp", "sensitivity", positives),
            ("fp", "fpr", negatives),
            ("fn", "fnr", positives),
            ("tn", "specificity", negatives),
            ("flagged", "detection_prevalence", row_count),
        )
    }
    return rows_from_columns(
        {
            **tuner.model_columns(model_indices),
            "population": kinds,
            "prevalence": [population.prevalence for population in populations],
            "odds": [population.odds for population in populations],
            "rows": [row_count] * len(model_populations),
            "positives": positives.tolist(),
            "negatives": negatives.tolist(),
            **estimates,
        }
    )


def range_rows(tuner: TunedModels, prevalence_limits: tuple[float, float]) -> list[Row]:
    """Return, per model and measure, the lowest and the highest value over the prevalences.

    Each with its interval and its prevalence; measures invariant to it at the lower limit.
    """
    lowest_odds, highest_odds = (
        Population.from_prevalence(prevalence).ratio for prevalence in prevalence_limits
    )
    prevalence_by_odds = {lowest_odds: prevalence_limits[0], highest_odds: prevalence_limits[1]}
    formulas = tuner.options.formulas
    rows: list[Row] = []
    for model_index, model in enumerate(tuner.counts.models):
        cells = Cells.picked(tuner.counts, [model_index], np.ones(1))
        for measure in tuner.options.measures:
            row: dict[str, Any] = {
                "slice": tuner.labels[model_index],
                "model": model,
                "measure": measure,
            }
            for column, sign in (("lowest", -1), ("highest", 1)):
                extreme_odds = lowest_odds
                if not CATALOG[measure].invariant:
                    extreme_odds = _extreme_odds(
                        formulas[measure], cells, lowest_odds, highest_odds, sign
                    )
                extreme_cells = Cells.picked(tuner.counts, [model_index], np.array([extreme_odds]))
                (row[column],) = tuner.estimates(measure, extreme_cells)
                row[f"{column}_at"] = prevalence_by_odds.get(
                    extreme_odds, extreme_odds / (1 + extreme_odds)
                )
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
    for model_index, model in enumerate(tuner.counts.models):
        rng = random_stream(options.seed, f"prior\0{model}")
        ratios = beta_odds(*prior, draws=DRAWS, rng=rng)
        cells = Cells.picked(tuner.counts, [model_index], np.ones(1))
        tpr, fpr = cells.rates
        if tuner.level is not None and bool(cells.positives[0] and cells.negatives[0]):
            tpr, fpr = _posterior_rates(cells, options.level, len(ratios), rng)
        confusion = Confusion.from_rates(tpr, fpr, ratios)
        for measure in options.measures:
            formula = options.formulas[measure]
            is_undefined = np.isnan(formula(cells.tuned)[0])
            values = np.full(len(ratios), np.nan) if is_undefined else formula(confusion)
            rows.append(
                as_row(
                    {
                        "slice": tuner.labels[model_index],
                        "model": model,
                        "measure": measure,
                        **_distribution_cells(values, options.level),
                    }
                )
            )
    return rows


def _posterior_rates(
    cells: Cells, level: float, draw_count: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return draws of both rates of a model from their posteriors, correlated with clusters."""
    correlation = 0.0
    effective_cells = cells
    if cells.sums is not None:  # divisors for each rate by itself, the correlation for both
        divisors = rate_divisors(
            cells.sums, cells.totals, np.zeros((2, 1)), level=level, largest=cells.largest
        )
        correlation = rate_correlation(cells.sums, cells.totals).item()
        effective_cells = cells.divided(divisors)
    tpr, fpr = (
        rng.beta(counts[0] + 0.5, totals[0] - counts[0] + 0.5, draw_count)
        for counts, totals in (
            (effective_cells.tp, effective_cells.positives),
            (effective_cells.fp, effective_cells.negatives),
        )
    )
    return correlate_draws(tpr, fpr, correlation, rng)


def _distribution_cells(draws: Floats, level: float) -> dict[str, Any]:
    """Return mean, median and percentiles of defined draws, and the number of undefined ones."""
    low, high, undefined_count = (limit.item() for limit in percentile_limits(draws, level=level))
    defined_draws = draws[~np.isnan(draws)]
    median = mean = np.nan
    if defined_draws.size:
        with np.errstate(invalid="ignore", over="ignore"):  # undefined for inf - inf
            median = float(np.median(defined_draws))
            mean = float(defined_draws.mean())
    statistics = {"mean": mean, "median": median, "low": low, "high": high}
    finite_statistics = {
        name: value if np.isfinite(value) else None for name, value in statistics.items()
    }
    return {**finite_statistics, "failed": undefined_count}


def _extreme_odds(
    measure: Formula, cells: Cells, low_odds: float, high_odds: float, sign: int
) -> float:
    """Return the lowest odds of a range at which sign times the measure is greatest.

    It is the low end where the measure is undefined. The grid narrows to the neighbours of the
    best point.
    """
    log_low = np.log(low_odds)
    log_high = np.log(high_odds)
    for step in range(_ZOOMS):
        log_grid = np.linspace(log_low, log_high, _GRID if step == 0 else _ZOOM)
        odds = np.clip(np.exp(log_grid), low_odds, high_odds)
        odds[0] = max(odds[0], low_odds)
        odds[-1] = min(odds[-1], high_odds)
        values = sign * measure(Confusion.from_rates(*cells.rates, odds))
        if np.isnan(values).all():
            return low_odds
        greatest = np.nanmax(values)
        tie_bound = greatest - _EQUAL * abs(greatest) if np.isfinite(greatest) else greatest
        best_index = int(np.flatnonzero(values >= tie_bound)[0])
        if step == 0 and best_index in (0, len(log_grid) - 1):
            return low_odds if best_index == 0 else high_odds
        log_low, log_high = (
            log_grid[max(best_index - 1, 0)],
            log_grid[min(best_index + 1, len(log_grid) - 1)],
        )
    return float(odds[best_index])


@dataclass(frozen=True, slots=True, eq=False)
class BestThresholds:
    """Thresholds of one model by rules at class ratios.

    places: kind and population of the class ratios; rules: of each measure at each place, measure
    by measure. threshold_in_use: the threshold, None for labels, and its 2 x 2 table.
    """

    slice_name: str | None
    model: str
    places: list[Place]
    rules: Sequence[ThresholdRule]
    threshold_in_use: tuple[float | None, Confusion]
    choice: ChosenThresholds


def _at_odds(formula: Formula, ratio: float, confusion: Confusion) -> Floats:
    """Return a measure of a 2 x 2 table at a class ratio."""
    return formula(confusion.tuned(ratio))


def threshold_tables(
    sample: Sample, options: TuneOptions, order: ModelOrder
) -> tuple[dict[str, Rows], list[str], list[str]]:
    """Return the tables of thresholds, the digests of scores, and models with infinite scores."""
    predictions = sample.predictions
    if predictions is None:
        return {"at_prevalence": _usable_threshold_rows(sample, options, (), order)}, [], []
    score_digests = list[str]()
    unbounded_models = list[str]()
    finite_indices = list[int]()  # models without infinite scores
    best_thresholds = list[BestThresholds]()
    for model_index, model in enumerate(predictions.models):
        if model.kind == "label":
            continue  # without scores
        scores = predictions.scores(model_index)[None]
        score_digests.append(f"{model.name}{scores.digest()}")
        if np.isfinite(scores.scores).all():
            best_thresholds += _best_thresholds(
                sample, options, model_index, {None: scores}, swept=False
            )
            finite_indices.append(model_index)
        else:
            unbounded_models.append(model.name)
    tables: dict[str, Rows] = {
        "at_prevalence": _usable_threshold_rows(sample, options, best_thresholds, order)
    }
    if not score_digests:
        return tables, [], []
    # slow at all odds of the sweep, and rarely requested
    rule_columns = _rule_columns(best_thresholds, sample, options)
    rows_of = partial(_threshold_rows_of, sample, options, predictions, finite_indices)
    whole_table_rows = deferred_rows(
        len(rule_columns["slice"]), partial(rows_of, whole_table=True), rule_columns
    )
    tables |= {
        "thresholds": RowsBySlice(whole_table_rows, partial(rows_of, whole_table=False)),
        # computed when requested
        "cutoffs": RowsBySlice((), lambda: cutoff_rows(whole_table_rows)),
    }
    return tables, sorted(score_digests), unbounded_models


def _rule_columns(
    best_thresholds: Sequence[BestThresholds], sample: Sample, options: TuneOptions
) -> dict[str, list[Any]]:
    """Return the columns that name the rows of the whole table: model, measure and population."""
    places = slice_populations(sample, None, options)
    rule_keys = [
        (None, model_thresholds.model, measure, kind, population.ratio)
        for model_thresholds, measure, (kind, population) in product(
            best_thresholds, options.threshold_measures, places
        )
    ]
    column_names = ("slice", "model", "measure", "population", "ratio")
    return {
        column: [rule_key[i] for rule_key in rule_keys] for i, column in enumerate(column_names)
    }


def _threshold_rows_of(
    sample: Sample,
    options: TuneOptions,
    predictions: PredictionCounts,
    model_indices: Sequence[int],
    *,
    whole_table: bool,
) -> list[Row]:
    """Return the `threshold_rows` of models, by index, of the whole table or of its slices."""
    best_thresholds = list[BestThresholds]()
    for model_index in model_indices:
        scores = {
            slice_name: score_counts
            for slice_name, score_counts in predictions.scores(model_index).items()
            if (slice_name is None) is whole_table
        }
        best_thresholds += _best_thresholds(sample, options, model_index, scores, swept=True)
    slice_order = {slice_name: i for i, slice_name in enumerate(sample.slices)}
    best_thresholds.sort(key=lambda model_thresholds: slice_order[model_thresholds.slice_name])
    return threshold_rows(best_thresholds, sample, options)


def _usable_threshold_rows(
    sample: Sample,
    options: TuneOptions,
    best_thresholds: Sequence[BestThresholds],
    order: ModelOrder,
) -> list[Row]:
    """Return the `prevalence_rows` of each model at its usable threshold, in the order of a report.

    That is the threshold given, else that of the lowest expected cost, else the one in force, else
    that of the largest J; of labels the table itself. tied: see `ModelOrder`. Net benefit: by the
    costs, else of probabilities at a target, with the threshold as the threshold probability.
    """
    counts = sample.slices[None]
    rule = options.usable_rule
    has_costs = options.outcome_costs is not None
    thresholds_by_model = {
        model_thresholds.model: model_thresholds
        for model_thresholds in best_thresholds
        if not sample.roles.has_threshold(model_thresholds.model)
        and (has_costs or sample.thresholds.get(model_thresholds.model) is None)
    }
    probability_models = _models_with_probabilities(sample)
    rows = list[Row]()
    places = slice_populations(sample, None, options)
    for place_index, place in enumerate(place for place in places if place[0] != "sweep"):
        used_thresholds = list[UsedThreshold]()
        for model in order.values:
            model_counts = counts.take([counts.models.index(model)])
            threshold = UsedThreshold(
                model, None, sample.thresholds.get(model), model_counts, model_counts
            )
            if model in thresholds_by_model:
                threshold = (
                    _threshold_by_rule(thresholds_by_model[model], rule, place_index) or threshold
                )
            if place[0] == "target" and model in probability_models and not has_costs:
                threshold = threshold._replace(risk=threshold.threshold)
            used_thresholds.append(threshold)
        rows += [
            as_row({**row, "tied": order.ties.get(row["model"])})
            for row in prevalence_rows(sample, options, [place], used_thresholds)
        ]
    return rows


def _threshold_by_rule(
    thresholds: BestThresholds, rule: str, place_index: int
) -> UsedThreshold | None:
    """Return the threshold of a rule in a population, by index; None if it is unknown."""
    rule_names = [best_rule.name for best_rule in thresholds.rules]
    rule_index = rule_names.index(rule) + place_index
    if thresholds.choice.unknown[rule_index] is not None:
        return None
    return UsedThreshold(thresholds.model, rule, *thresholds.choice.used(rule_index))


def _models_with_probabilities(sample: Sample) -> set[str]:
    """Return the models whose scores are probabilities: these have a net benefit at a threshold."""
    if sample.predictions is None:
        return set()
    models = set[str]()
    for model_index, model in enumerate(sample.predictions.models):
        if model.kind == "label":
            continue  # without scores
        sorted_scores = sample.predictions.scores(model_index)[None].scores
        if len(sorted_scores) and sorted_scores[0] >= 0 and sorted_scores[-1] <= 1:
            models.add(model.name)
    return models


def _best_thresholds(
    sample: Sample,
    options: TuneOptions,
    model_index: int,
    scores: Mapping[Any, ScoreCounts],
    *,
    swept: bool,
) -> Iterator[BestThresholds]:
    """Yield the thresholds of a model in slices with both classes; swept: also at swept odds."""
    for slice_name, score_counts in scores.items():
        model_counts = sample.slices[slice_name].take([model_index])
        model = sample.slices[slice_name].models[model_index]
        if not (model_counts.positives[0] and model_counts.negatives[0]):
            continue  # rates need both classes
        places = slice_populations(sample, slice_name, options)
        places = [place for place in places if swept or place[0] != "sweep"]
        rules = _rules_at(places, options)
        stream = f"{model}\0{slice_name or ''}"
        choice = ChosenThresholds.from_scores(score_counts, rules, options.seed, stream, hull=True)
        threshold_in_use = (sample.thresholds.get(model), float_confusion(model_counts))
        yield BestThresholds(slice_name, model, places, rules, threshold_in_use, choice)


def _rules_at(places: Sequence[Place], options: TuneOptions) -> list[ThresholdRule]:
    """Return the rules that optimise each measure in each population, measure by measure."""
    measures = dict.fromkeys((*options.threshold_measures, options.usable_rule))
    formulas = options.formulas
    rules = []
    for measure_id, (kind, population) in product(measures, places):
        formula = formulas[measure_id]
        if kind != "sample" and not CATALOG[measure_id].invariant:
            formula = partial(_at_odds, formula, population.ratio)
        measure = RequestedMeasure(measure_id, replace(CATALOG[measure_id], compute=formula), {})
        rules.append(ThresholdRule(measure_id, measure))
    return rules


def threshold_rows(
    best_thresholds: Sequence[BestThresholds], sample: Sample, options: TuneOptions
) -> list[Row]:
    """Return the rows of table `thresholds`: per slice and model, measure and population.

    value: on the rows that chose the threshold; corrected: expected on new data.
    """
    if not best_thresholds:
        return []
    corrected_estimates = _corrected_estimates(best_thresholds, sample, options)
    rows: list[Row] = []
    for model_thresholds in best_thresholds:
        rule_estimates = [next(corrected_estimates) for _ in model_thresholds.rules]
        rows += _rule_rows(model_thresholds, rule_estimates, options.threshold_measures)
    return rows


def _rule_rows(
    thresholds: BestThresholds, corrected_estimates: Sequence[Estimate], measures: Sequence[str]
) -> Iterator[Row]:
    """Yield the rows of the rules of one model that choose by one of the measures."""
    points = thresholds.choice.points
    places = thresholds.places
    columns = (point_values.tolist() for point_values in (points.thresholds, points.tp, points.fp))
    curve = list(zip(*columns, strict=True))
    confusion = float_confusion(thresholds.choice.observed)
    for rule_index, rule in enumerate(thresholds.rules):
        if rule.name not in measures:  # that of the best usable threshold alone
            continue
        kind, population = places[rule_index % len(places)]
        point_index = int(thresholds.choice.positions[rule_index])
        rule_confusion = Confusion(
            confusion.tp[rule_index],
            confusion.fp[rule_index],
            confusion.fn[rule_index],
            confusion.tn[rule_index],
        )
        best_estimate = _best_estimate(rule, rule_confusion, curve, point_index)
        yield as_row(
            {
                "slice": thresholds.slice_name,
                "model": thresholds.model,
                "measure": rule.name,
                "population": kind,
                "prevalence": population.prevalence,
                "odds": population.odds,
                "ratio": population.ratio,
                **_threshold_cells(curve, point_index),
                "value": best_estimate,
                **_fixed_threshold_cells(rule, *thresholds.threshold_in_use),
                "corrected": corrected_estimates[rule_index] if point_index >= 0 else best_estimate,
            }
        )


def _best_estimate(
    rule: ThresholdRule,
    confusion: Confusion,
    curve: Sequence[tuple[float, float, float]],
    point_index: int,
) -> Estimate:
    """Return the measure of a rule at its threshold; point_index: in the curve, -1 for none."""
    value = float(measure_value(rule.best, confusion)) if point_index >= 0 else np.nan
    _, tp, fp = curve[point_index]
    _, positives, negatives = curve[-1]
    reasons = CATALOG[rule.name].undefined_at_odds
    return make_estimate(
        value, undefined=reasons, table=Confusion(tp, fp, positives - tp, negatives - fp)
    )


def _fixed_threshold_cells(
    rule: ThresholdRule, threshold: float | None, confusion: Confusion
) -> dict[str, Any]:
    """Return the cells of the threshold in use, with the measure of a rule there."""
    value = float(measure_value(rule.best, confusion).ravel()[0])
    reasons = CATALOG[rule.name].undefined_at_odds
    estimate = make_estimate(value, undefined=reasons, table=confusion)
    return {"fixed_threshold": threshold, "fixed_value": estimate}


def _corrected_estimates(
    best_thresholds: Sequence[BestThresholds], sample: Sample, options: TuneOptions
) -> Iterator[Estimate]:
    """Yield the values of each rule expected on new data, with limits computed together."""
    choices = {i: model_thresholds.choice for i, model_thresholds in enumerate(best_thresholds)}
    _, expected_counts = concatenate_counts({i: choice.expected for i, choice in choices.items()})
    _, observed_counts = concatenate_counts({i: choice.observed for i, choice in choices.items()})
    tuner = TunedModels(sample, options, (None,) * len(expected_counts.models), expected_counts)
    rule_names = np.array(
        [rule.name for model_thresholds in best_thresholds for rule in model_thresholds.rules]
    )
    ratios = _ratios_of_rules(best_thresholds)
    estimates: dict[int, Estimate] = {}
    for measure in dict.fromkeys(rule_names.tolist()):
        rule_indices = np.flatnonzero(rule_names == measure)
        cells = (
            Cells.at_odds(expected_counts, rule_indices, ratios[rule_indices]),
            Cells.at_odds(observed_counts, rule_indices, ratios[rule_indices]),
        )
        estimates |= zip(rule_indices.tolist(), tuner.estimates(measure, *cells), strict=True)
    reasons = (reason for choice in choices.values() for reason in choice.unknown)
    for rule_index, reason in enumerate(reasons):
        yield estimates[rule_index] if reason is None else Estimate(None, reason=reason)


def _ratios_of_rules(best_thresholds: Sequence[BestThresholds]) -> Floats:
    """Return the class ratio of each rule of the models, NaN for that of the rows."""
    ratios = list[float]()
    for model_thresholds in best_thresholds:
        rule_places = model_thresholds.places * (
            len(model_thresholds.rules) // len(model_thresholds.places)
        )
        ratios += [
            np.nan if kind == "sample" else population.ratio for kind, population in rule_places
        ]
    return np.array(ratios)


def cutoff_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of table `cutoffs`: per model and measure, thresholds by class ratio."""
    columns = ("model", "measure", "odds", "threshold", "rule")
    rows_by_measure: dict[tuple[str, str], dict[float, Row]] = {}
    for row in rows:
        if row["slice"] is None and row["rule"] is not None:
            rows_by_ratio = rows_by_measure.setdefault((row["model"], row["measure"]), {})
            cells = {column: row[column] for column in columns}
            rows_by_ratio.setdefault(cell_number(row["ratio"]), as_row(cells))
    return [
        rows_by_ratio[ratio]
        for rows_by_ratio in rows_by_measure.values()
        for ratio in sorted(rows_by_ratio)
    ]


def _threshold_cells(
    curve: Sequence[tuple[float, float, float]], point_index: int
) -> dict[str, float | str | None]:
    """Return the cells of a threshold; curve: threshold, true and false positives."""
    if point_index < 0:
        return {"threshold": None, "rule": None, "sensitivity": None, "specificity": None}
    (threshold, tp, fp) = curve[point_index]
    (_, positives, negatives) = curve[-1]
    rule = "always positive" if point_index == len(curve) - 1 else "score >= t"
    cells = {
        "threshold": threshold if point_index else None,
        "rule": rule if point_index else "never positive",
    }
    return {**cells, "sensitivity": tp / positives, "specificity": 1 - fp / negatives}
