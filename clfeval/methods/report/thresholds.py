"""Rows of chosen thresholds, of abstention near a threshold, and of a prevalence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Literal

import numpy as np

from clfeval.arrays import Bools, Floats
from clfeval.counts.clusters_and_weights import largest_weights, table_products
from clfeval.counts.patterns import CELLS, ConfusionCounts
from clfeval.counts.sample import Sample
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import CellsByColumn, Estimate, Row, as_estimate, as_row, cell_number
from clfeval.errors import bad_option
from clfeval.inference.resampling import percentile_limits
from clfeval.measures.calibration import DIGITS, risk_coverage_area
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.record import CLASS_REASONS, Population, undefined_reason
from clfeval.methods.curves import MOST_POINTS, RocPoints, roc_points
from clfeval.methods.estimates import make_estimate
from clfeval.methods.measurement.label_measures import (
    LabelLimitSettings,
    estimate_label_measure,
    float_confusion,
)
from clfeval.methods.measurement.net_benefits import confusions_at
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.options import Interval, IntervalSettings
from clfeval.methods.other_prevalences import (
    UsedThreshold,
    population_cells,
    prevalence_options,
    prevalence_rows,
)
from clfeval.methods.report.options import ReportOptions
from clfeval.methods.report.rules_at_prevalence import (
    EstimatesAtPrevalence,
    rule_costs,
    rules_in_force,
)
from clfeval.methods.report.threshold_rules import (
    ALWAYS,
    FROM,
    NEVER,
    OF_NEGATIVES,
    UNMET,
    AbstentionZone,
)
from clfeval.methods.threshold_optimism import (
    INFINITE,
    ChosenThresholds,
    ThresholdRule,
    extend_limits,
    measure_value,
)
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace

RATES = {
    name: RequestedMeasure(name, CATALOG[name], {})
    for name in ("sensitivity", "specificity", "precision", "npv")
}
FLAGGED_MEASURE = RequestedMeasure("flagged", CATALOG["detection_prevalence"], {})
ROUNDING = 1e-12  # by which a value may be beyond a limit
BLOCK = 2**10  # tables per block of limits


def chosen_thresholds(
    name: str, counts: ScoreCounts, rules: Sequence[ThresholdRule], settings: IntervalSettings
) -> ChosenThresholds:
    """Return the thresholds that rules choose on scores; name: of the random stream."""
    resolved_rules = settle_safe_rules(rules, counts, settings)
    return ChosenThresholds.from_scores(counts, resolved_rules, settings.seed, name)


def settle_safe_rules(
    rules: Sequence[ThresholdRule], counts: ScoreCounts, settings: IntervalSettings
) -> list[ThresholdRule]:
    """Return the rules; of those that keep a limit safely, the limit is on the value."""
    return [_kept_safely(rule, counts, settings) if rule.safe else rule for rule in rules]


def _kept_safely(
    rule: ThresholdRule, counts: ScoreCounts, settings: IntervalSettings
) -> ThresholdRule:
    """Return the rule with the last value whose confidence limit satisfies the limit.

    Fixed-sequence testing of thresholds, from the lowest up for sensitivity, from the highest down
    for specificity: error probability (1 - level) / 2 at most. Source: Angelopoulos et al. 2021,
    arXiv 2110.01052.
    """
    limited_measure, last_value, points = rule.limited, rule.sign * np.inf, roc_points(counts)
    assert limited_measure is not None
    is_ascending = limited_measure.name in OF_NEGATIVES  # the limit constrains predicted negatives
    _, point_indices = np.unique(points.tp if is_ascending else points.fp, return_index=True)
    point_indices = point_indices[::-1] if is_ascending else point_indices
    for start in range(0, len(point_indices), BLOCK):
        block_indices = point_indices[start : start + BLOCK]
        estimates = _estimate_measure(
            limited_measure, confusions_at(counts, points.thresholds[block_indices]), settings
        )
        for estimate in estimates:
            bound = estimate.low if rule.sign > 0 else estimate.high
            if estimate.value is None or bound is None or rule.sign * (bound - rule.limit) < 0:
                return replace(rule, limit=last_value)
            last_value = estimate.value
    return replace(rule, limit=last_value)


def cutoff_rows(
    slice_name: str | None,
    model: str,
    rules: Sequence[ThresholdRule],
    settings: IntervalSettings,
    choice: ChosenThresholds,
    at_prevalence: EstimatesAtPrevalence | None = None,
) -> list[Row]:
    """Return the best threshold by each rule: one row each, as table `cutoffs` has them.

    value: on the rows that chose the threshold. corrected, and the rates: expected on new data,
    less the optimism of the two rates. Limits are those of a fixed threshold, from these rates, and
    include the value here. threshold_low, threshold_high: percentiles of the bootstrap thresholds.
    Undefined without a row of a class, where no threshold satisfies the limit, or in fewer than
    half of the bootstrap tables (limit_seldom_met), of infinite scores, and of one row or cluster
    of a class: the corrected values (too_few_rows, too_few_clusters). at_prevalence: estimates of
    measures that depend on the prevalence, at another one; None for that of the rows.
    """
    rows = list[Row]()
    population = _population_cells(choice.observed, at_prevalence)
    for i, rule in enumerate(rules):
        keys = as_row({"slice": slice_name, "model": model, "chosen_by": rule.name, **population})
        has_point = choice.positions[i] >= 0
        reason = None if has_point else _explain_unmet(rule, choice.points)
        reason = INFINITE if choice.unknown[i] == INFINITE else reason
        if reason is not None:
            rows.append(as_row({**keys, **_unmet_cells(rule, reason)}))
        else:
            rule_tables = _RuleTables(settings, choice, at_prevalence)
            rows.append(as_row({**keys, **_chosen_cells(rule, i, rule_tables)}))
    return rows


def _population_cells(
    table: ConfusionCounts, at_prevalence: EstimatesAtPrevalence | None
) -> CellsByColumn:
    """Return the cells of the population in which chosen thresholds are evaluated."""
    if at_prevalence is not None:
        return population_cells("target", at_prevalence.population)
    return population_cells("sample", sample_population(table))


def sample_population(table: ConfusionCounts) -> Population | None:
    """Return the population of the rows; None without a class."""
    positives = table.positives[0].item()
    negatives = table.negatives[0].item()
    if not (positives and negatives):
        return None
    return Population.from_counts(positives, negatives, table.unit)


@dataclass(frozen=True, slots=True, eq=False)
class _RuleTables:
    """The tables at chosen thresholds, and how measures of them are estimated."""

    settings: IntervalSettings
    choice: ChosenThresholds
    at_prevalence: EstimatesAtPrevalence | None

    def estimates(
        self, i: int, measures: Sequence[RequestedMeasure], apparent_values: Sequence[float]
    ) -> list[Estimate]:
        """Return measures expected on new data at threshold i; apparent_values: on these rows."""
        expected, observed = (
            table.take([i]) for table in (self.choice.expected, self.choice.observed)
        )
        estimates = list[Estimate]()
        for requested, apparent_value in zip(measures, apparent_values, strict=True):
            if self.at_prevalence is None or requested.measure.invariant:
                [estimate] = estimate_measures([requested], expected, self.settings)
                estimates.append(extend_limits(estimate, apparent_value))
            else:
                estimates.append(self.at_prevalence.estimate(requested, expected, observed))
        return estimates

    def values(self, i: int, measures: Sequence[RequestedMeasure]) -> list[float]:
        """Return measures of the rows that chose threshold i."""
        table = float_confusion(self.choice.observed.take([i]))
        odds = None if self.at_prevalence is None else self.at_prevalence.population.ratio
        tuned_table = table if odds is None else table.tuned(odds)
        return [
            float(
                measure_value(requested, table if requested.measure.invariant else tuned_table)[0]
            )
            for requested in measures
        ]


def _unmet_cells(rule: ThresholdRule, reason: str) -> CellsByColumn:
    """Return the cells of a rule that chooses no threshold."""
    undefined = Estimate(None, reason=reason)
    empty_columns = ("threshold", "threshold_low", "threshold_high", "rule", *CELLS)
    return {
        **dict.fromkeys(empty_columns),
        "measure": rule.best.name,
        "value": undefined,
        "corrected": undefined,
        "limited": undefined if rule.limited else None,
        "misses_limit": None,
        **dict.fromkeys((*RATES, "flagged"), undefined),
    }


def _chosen_cells(rule: ThresholdRule, i: int, tables: _RuleTables) -> CellsByColumn:
    """Return the cells of the threshold that rule i chooses."""
    choice, settings = tables.choice, tables.settings
    points, index = choice.points, choice.positions[i].item()
    table = choice.observed.take([i])
    low, high = np.nan, np.nan
    if choice.choices is not None and settings.level is not None:
        limits = percentile_limits(choice.choices.thresholds[i], level=settings.level)
        low, high = (limit.item() for limit in limits[:2])
    limited_measures = [] if rule.limited is None else [_rule_measure(rule.limited)]
    measures = [_rule_measure(rule.best), *limited_measures, *RATES.values(), FLAGGED_MEASURE]
    apparent_values = tables.values(i, measures)
    estimates = _expected_estimates(rule, measures, apparent_values, i, tables)
    # estimates: of the goal, of the limited measure if any, of the rates, of the flagged rows
    rates = estimates[-len(RATES) - 1 : -1]
    return {
        "threshold": _finite_or_none(points.thresholds[index].item()),
        "threshold_low": _finite_or_none(low),
        "threshold_high": _finite_or_none(high),
        "rule": NEVER if index == 0 else ALWAYS if index == len(points.tp) - 1 else FROM,
        **{cell: table.display_units(cell)[0].item() for cell in CELLS},
        "measure": rule.best.name,
        "value": make_estimate(apparent_values[0]),
        "corrected": estimates[0],
        "limited": estimates[1] if rule.limited else None,
        "misses_limit": _misses_limit(rule, estimates[1]) if rule.limited else None,
        **dict(zip(RATES, rates, strict=True)),
        "flagged": estimates[-1],
    }


def _misses_limit(rule: ThresholdRule, expected: Estimate) -> bool | None:
    """Return whether the limited measure, expected on new data, is beyond the limit asked for."""
    if expected.value is None:
        return None
    return rule.sign * (expected.value - rule.limit) < -ROUNDING


def _rule_measure(requested: RequestedMeasure) -> RequestedMeasure:
    """Return the measure of a rule without the prevalence at which the rule evaluates it."""
    measure = CATALOG[requested.measure.id].with_settings(**requested.settings)
    return replace(requested, measure=measure)


def _expected_estimates(
    rule: ThresholdRule,
    measures: Sequence[RequestedMeasure],
    apparent_values: Sequence[float],
    i: int,
    tables: _RuleTables,
) -> list[Estimate]:
    """Return the measures of rule i expected on new data; apparent_values: on these rows."""
    reason = tables.choice.unknown[i]
    if reason is not None:
        return [Estimate(None, reason=reason)] * len(measures)
    estimates = tables.estimates(i, measures, apparent_values)
    if rule.safe and rule.limited is not None:  # the rule promises one of the limits
        estimates = [
            _apply_safe_limit(estimate, rule) if measure.name == rule.limited.name else estimate
            for measure, estimate in zip(measures, estimates, strict=True)
        ]
    return estimates


def _apply_safe_limit(estimate: Estimate, rule: ThresholdRule) -> Estimate:
    """Return an estimate whose confidence limit satisfies the limit of a safe rule."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return estimate
    if rule.sign > 0:
        return replace(estimate, low=min(estimate.value, max(estimate.low, rule.limit)))
    return replace(estimate, high=max(estimate.value, min(estimate.high, rule.limit)))


def estimate_measures(
    measures: Sequence[RequestedMeasure], table: ConfusionCounts, settings: IntervalSettings
) -> list[Estimate]:
    """Return measures of a table, with the limits that each has by its record."""
    return [_estimate_measure(measure, table, settings)[0] for measure in measures]


def _estimate_measure(
    measure: RequestedMeasure, tables: ConfusionCounts, settings: IntervalSettings
) -> list[Estimate]:
    """Return a measure of tables of the same rows, with the limits that it has by its record."""
    m = len(tables.models)  # without the standard errors, which need the number of clusters
    label_settings = LabelLimitSettings(
        replace(settings, method="exact"), tables.models, [None] * m, [0.0] * m
    )
    return [estimate.value for estimate in estimate_label_measure(measure, tables, label_settings)]


def _explain_unmet(rule: ThresholdRule, points: RocPoints) -> str:
    """Return the reason why no threshold is best."""
    measure, tables = rule.best.measure, points.tables
    last_table = Confusion(*(cell[-1:] for cell in (tables.tp, tables.fp, tables.fn, tables.tn)))
    class_reason = next(
        (
            reason
            for reason in CLASS_REASONS
            if undefined_reason((reason, ""), last_table) == reason
        ),
        None,
    )
    if class_reason is not None:
        return class_reason
    return undefined_reason(measure.undefined, last_table) if rule.limited is None else UNMET


def _finite_or_none(threshold: float) -> float | None:
    return threshold if isfinite(threshold) else None


ESTIMATED = ("coverage", "accuracy", "accuracy_of_all", *RATES)
ABSTENTION_COLUMNS = (
    *("threshold", "low", "high", "coverage", *CELLS, *ESTIMATED[1:]),
    *("cost", "cost_of_all", "aurc"),
)
ANSWERED = {"accuracy": RequestedMeasure("accuracy", CATALOG["accuracy"], {}), **RATES}


def abstention_rows(
    slice_name: str | None,
    model: str,
    counts: ScoreCounts,
    threshold_in_force: float | None,
    zones: Sequence[AbstentionZone],
    settings: IntervalSettings,
) -> list[Row]:
    """Return the measures of predictions outside each zone, as table `abstentions` has them.

    Of a share, the zone holds the scores nearest the threshold, equal distances together. Of costs
    it is Chow's rule: abstain where p fn and (1 - p) fp are both more than abstention costs; the
    threshold without a zone is fp / (fp + fn). Scores in [low, high) abstain, those >= high are
    positive.
    Undefined without a threshold (needs_threshold), of infinite scores, and by costs of scores that
    are no probabilities.
    Source: Chow 1970, IEEE Transactions on Information Theory 16:41; El-Yaniv and Wiener 2010,
    Journal of Machine Learning Research 11:1605.
    """
    rows: list[Row] = []
    for zone in zones:
        name_cells = {"slice": slice_name, "model": model, "chosen_by": zone.name}
        zone_threshold, reason = _zone_threshold(zone, counts, threshold_in_force)
        if zone_threshold is None:
            undefined = Estimate(None, reason=reason)
            cells: CellsByColumn = {
                key: undefined if key in ESTIMATED else None for key in ABSTENTION_COLUMNS
            }
        else:
            cells = _zone_columns(zone, counts, zone_threshold, settings)
        rows.append(as_row({**name_cells, **cells}))
    return rows


def _zone_columns(
    zone: AbstentionZone, counts: ScoreCounts, threshold: float, settings: IntervalSettings
) -> CellsByColumn:
    """Return the measures of predictions outside a zone around a threshold."""
    first_index, end_index, low, high = _zone_ends(zone, counts, threshold)
    score_indices = np.arange(len(counts.scores))
    is_outside = (score_indices < first_index) | (score_indices >= end_index)
    outside_table = _confusion_table(counts, score_indices >= end_index, is_outside)
    full_table = _confusion_table(counts, counts.scores >= threshold, score_indices >= 0)
    accuracy, *rates = estimate_measures([*ANSWERED.values()], outside_table, settings)
    # rows outside the zone count as predicted positive
    coverage_table = _confusion_table(counts, is_outside, score_indices >= 0)
    return {
        "threshold": threshold,
        "low": low,
        "high": high,
        "coverage": estimate_measures([FLAGGED_MEASURE], coverage_table, settings)[0],
        **{cell: outside_table.display_units(cell)[0].item() for cell in CELLS},
        "accuracy": accuracy,
        "accuracy_of_all": estimate_measures([ANSWERED["accuracy"]], full_table, settings)[0],
        **dict(zip(RATES, rates, strict=True)),
        "cost": _mean_cost(outside_table, counts, zone),
        "cost_of_all": _mean_cost(full_table, counts, zone),
        "aurc": float(risk_coverage_area(*_distances_and_errors(counts, threshold))),
    }


def risk_rows(
    slice_name: str | None,
    model: str,
    counts: ScoreCounts,
    threshold: float | None,
    max_points: int | Literal["all"] | None,
) -> Iterator[Row]:
    """Yield the risk-coverage curve: the share of errors among rows farthest from the threshold."""
    if threshold is None or not len(counts.scores) or not np.isfinite(counts.scores).all():
        return
    distances, correct, errors = _distances_and_errors(counts, threshold)
    negative_distances, distance_indices = np.unique(-distances, return_inverse=True)
    distance_count = len(negative_distances)
    cumulative_errors = np.bincount(distance_indices, errors, distance_count).cumsum()
    cumulative_rows = np.bincount(distance_indices, correct + errors, distance_count).cumsum()
    point_limit = MOST_POINTS if max_points is None else max_points
    point_indices = np.arange(distance_count)
    if point_limit != "all" and len(point_indices) > point_limit:
        row_steps = np.linspace(cumulative_rows[0], cumulative_rows[-1], point_limit)
        point_indices = np.unique(np.searchsorted(cumulative_rows, row_steps))
    for i in np.minimum(point_indices, distance_count - 1).tolist():
        yield as_row(
            {
                "slice": slice_name,
                "model": model,
                "distance": float(-negative_distances[i]),
                "coverage": float(cumulative_rows[i] / cumulative_rows[-1]),
                "risk": float(cumulative_errors[i] / cumulative_rows[i]),
            }
        )


def _zone_threshold(
    zone: AbstentionZone, counts: ScoreCounts, threshold_in_force: float | None
) -> tuple[float | None, str | None]:
    """Return the threshold without abstention, or the reason why there is none."""
    if not len(counts.scores):
        return None, "too_few_rows"
    if not np.isfinite(counts.scores).all():
        return None, INFINITE
    if zone.costs is None:
        return threshold_in_force, "needs_threshold"
    if counts.scores[0] < 0 or counts.scores[-1] > 1:
        return None, "not_probabilities"
    fp, fn, _ = zone.costs
    return fp / (fp + fn), None


def _zone_ends(
    zone: AbstentionZone, counts: ScoreCounts, threshold: float
) -> tuple[int, int, float, float | None]:
    """Return the range of indices of the scores in a zone, and its two thresholds."""
    if zone.costs is not None:
        fp, fn, abstention_cost = zone.costs
        low, high = abstention_cost / fn, 1 - abstention_cost / fp
        if not low < high:
            low = high = threshold
        return *np.searchsorted(counts.scores, [low, high]).tolist(), low, high
    n = (counts.positives + counts.negatives).astype(np.float64)
    score_distances = _distances(counts.scores, threshold)
    distinct_distances, distance_indices = np.unique(score_distances, return_inverse=True)
    cumulative_rows = np.concatenate([[0.0], np.bincount(distance_indices, n).cumsum()])
    distance_count = int(np.argmin(np.abs(cumulative_rows - zone.share * n.sum())))
    if not distance_count:
        first_index = int(np.searchsorted(counts.scores, threshold))
        return first_index, first_index, threshold, threshold
    zone_indices = np.flatnonzero(score_distances <= distinct_distances[distance_count - 1])
    first_index = int(zone_indices[0])
    end_index = int(zone_indices[-1]) + 1
    end_score = counts.scores[end_index].item() if end_index < len(counts.scores) else None
    return first_index, end_index, counts.scores[first_index].item(), end_score


def _distances(scores: Floats, threshold: float) -> Floats:
    """Return the distances of scores from a threshold, rounded so that equal ones tie."""
    distances = np.abs(scores - threshold)
    scale = distances.max() or 1.0
    return np.asarray(np.round(distances / scale, DIGITS) * scale)


def _distances_and_errors(counts: ScoreCounts, threshold: float) -> tuple[Floats, Floats, Floats]:
    """Return distances from the threshold, and correct and wrong rows at each score."""
    is_positive = counts.scores >= threshold
    correct = np.where(is_positive, counts.positives, counts.negatives)
    errors = np.where(is_positive, counts.negatives, counts.positives)
    return (
        _distances(counts.scores, threshold),
        correct.astype(np.float64),
        errors.astype(np.float64),
    )


def _confusion_table(
    counts: ScoreCounts, is_positive: Bools, is_evaluated: Bools
) -> ConfusionCounts:
    """Return the 2 x 2 table of some scores, and of their clusters."""
    class_rows = (counts.positives, counts.negatives)
    tp, fp = (np.array([rows[is_positive].sum()]) for rows in class_rows)
    p, n = (np.array([rows[is_evaluated].sum()]) for rows in class_rows)
    cluster_sums = None
    if counts.clusters is not None:
        zeros = np.zeros(len(is_positive))
        indicators = [
            np.concatenate(pair)
            for pair in (
                (is_positive, zeros),
                (zeros, is_positive),
                (is_evaluated, zeros),
                (zeros, is_evaluated),
            )
        ]
        cluster_sums = table_products(counts.clusters, np.array(indicators, np.float64))[None]
    largest = largest_weights(counts.clusters, 1)
    return ConfusionCounts(("",), tp, fp, p - tp, n - fp, p, n, counts.unit, cluster_sums, largest)


def _mean_cost(table: ConfusionCounts, counts: ScoreCounts, zone: AbstentionZone) -> float | None:
    """Return the mean cost of a row, abstentions included; None for a zone without costs."""
    if zone.costs is None:
        return None
    fp, fn, abstention_cost = zone.costs
    rows = float((counts.positives + counts.negatives).sum())
    abstained_rows = rows - float((table.positives + table.negatives)[0])
    total = fp * float(table.fp[0]) + fn * float(table.fn[0]) + abstention_cost * abstained_rows
    return total / rows


def threshold_tables(
    slice_name: str | None, model: str, counts: ScoreCounts, sample: Sample, options: ReportOptions
) -> Iterator[tuple[str, list[Row]]]:
    """Yield the requested tables with their names."""
    threshold = sample.thresholds.get(model)
    settings = options.interval_settings
    if options.best_threshold:
        rules = rules_in_force(options)
        choice = chosen_thresholds(f"{model}\0{slice_name or ''}", counts, rules, settings)
        at_prevalence = estimates_elsewhere(sample, options)
        yield "cutoffs", cutoff_rows(slice_name, model, rules, settings, choice, at_prevalence)
        if slice_name is None and choice.choices is not None:
            used_thresholds = _used_thresholds(model, rules, choice, counts)
            yield "at_prevalence", _prevalence_rows(sample, options, used_thresholds)
    if zones := options.zones:
        yield "abstentions", abstention_rows(slice_name, model, counts, threshold, zones, settings)
        yield "risk", [*risk_rows(slice_name, model, counts, threshold, options.points)]


def estimates_elsewhere(sample: Sample, options: ReportOptions) -> EstimatesAtPrevalence | None:
    """Return the estimates at the requested prevalence; None without one, or with several."""
    population = options.single_population
    return None if population is None else EstimatesAtPrevalence(sample, options, population)


def _used_thresholds(
    model: str, rules: Sequence[ThresholdRule], choice: ChosenThresholds, counts: ScoreCounts
) -> list[UsedThreshold]:
    """Return the thresholds that rules choose, with the threshold probability of net benefit."""
    are_probabilities = counts.scores[0] >= 0 and counts.scores[-1] <= 1
    used_thresholds = list[UsedThreshold]()
    for i, rule in enumerate(rules):
        if choice.positions[i] < 0:
            continue
        costs = rule_costs(rule)
        threshold, expected, observed = choice.used(i)
        risk = threshold if are_probabilities else None
        risk = risk if costs is None else costs.probability
        used_thresholds.append(UsedThreshold(model, rule.name, threshold, expected, observed, risk))
    return used_thresholds


def prevalence_table(sample: Sample, options: ReportOptions, rows: Sequence[Row]) -> list[Row]:
    """Return PPV, NPV and alarms of labels; UsageError without predicted positives or rule.

    rows: of models on the first screen.
    """
    labelled_indices = [i for i, row in enumerate(rows) if row["tp"] is not None]
    if not labelled_indices and not options.best_threshold:
        message = f"{OPTION}--prevalence{END} needs predicted positives, but no threshold is known"
        raise bad_option(
            message, f"add {OPTION}--threshold T{END} or {OPTION}--best-threshold RULE{END}"
        )
    used_thresholds = list[UsedThreshold]()
    for i in labelled_indices:
        row, table = rows[i], sample.slices[None].take([i])
        threshold = None if row["threshold"] is None else cell_number(row["threshold"])
        risk = threshold if as_estimate(row.get("net_benefit")).value is not None else None
        used_thresholds.append(UsedThreshold(row["model"], None, threshold, table, table, risk))
    return _prevalence_rows(sample, options, used_thresholds)


def _prevalence_rows(
    sample: Sample, options: ReportOptions, thresholds: Sequence[UsedThreshold]
) -> list[Row]:
    """Return the rows of thresholds at the requested prevalences, else at that of the rows."""
    interval: Interval = "none" if options.confidence is None else "exact"
    tune_options = prevalence_options(options.prevalence, options.level, options.totals, interval)
    populations = [("target", population) for population in options.populations]
    rows_population = sample_population(sample.slices[None].take([0]))
    if not populations and rows_population is not None:
        populations = [("sample", rows_population)]
    if not (thresholds and populations):
        return []
    return prevalence_rows(sample, tune_options, populations, thresholds)
