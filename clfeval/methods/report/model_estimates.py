"""Estimates of models on the same rows, by influence or by bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite, nan, sqrt

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints, constant_arrays
from clfeval.compare.change import DifferenceErrors, DifferenceSums, errors_of_rows
from clfeval.compare.families import BestSet, PairPositions, adjusted_family, best_set, family_pairs
from clfeval.compare.paired_estimates import PairedEstimates, PairLimits
from clfeval.counts.classes import ClassPatterns, ProbabilityRows
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.rows import DistinctRows, ScoredRows
from clfeval.counts.sample import Sample
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Estimate, Row, as_estimate, cell_value
from clfeval.inference.distributions import student_quantile
from clfeval.inference.resampling import percentile_limits
from clfeval.measures.catalog import CATALOG
from clfeval.measures.multiclass_table import average_influence, class_average
from clfeval.measures.odds import OutcomeCosts
from clfeval.measures.probability import distinct_starts
from clfeval.methods.measurement import label_measures
from clfeval.methods.measurement.joint_sums import (
    GroupInfluence,
    joint_sums,
    score_influence,
    small_sample_scales,
    stored_sums,
)
from clfeval.methods.measurement.requested_measures import AT_RISK, NET_BENEFIT, RequestedMeasure
from clfeval.methods.measurement.score_measures import describe_resampling, draw_resamples
from clfeval.methods.options import IntervalSettings
from clfeval.methods.report.multiclass_estimates import OVER_CLASSES, small_sample_factors
from clfeval.methods.report.options import ReportOptions

_BLOCK = 2**15

Observed = Mapping[tuple[str, str], Estimate]


def score_estimates(
    weights: Counts | None,
    owners: Ints | None,
    requested: RequestedMeasure,
    influence: Mapping[str, tuple[float, Floats]],
    sizes: Floats,
    *,
    sampling: bool,
    sums: DifferenceSums | None = None,
) -> PairedEstimates | None:
    """Return paired estimates by a measure of scores; influence: value, influence of rows (n,).

    owners: the cluster of each row; sizes (c,): rows, or effective clusters, of each class;
    sampling: weights are sampling weights; sums: of rows, where the influence is that of groups.
    """
    if not influence:
        return None
    values, row_influences = zip(*influence.values(), strict=True)
    measure = requested.measure
    smallest_size = float(sizes[sizes > 0].min())
    flips = None
    steps = np.zeros((len(influence), 0))
    step_sizes = np.zeros(0)
    measure_range = measure.high - measure.low
    if measure.interval == "delong":
        steps = np.full((len(influence), len(sizes)), measure_range)
        step_sizes = sizes
    elif measure.loss is not None and isfinite(measure_range):
        steps = np.full((len(influence), 1), measure_range)
        step_sizes = np.array([_effective_rows(weights, owners, sizes)])
    elif measure.id in (NET_BENEFIT, AT_RISK):
        is_weighted = weights is not None and (sampling or owners is not None)
        row_weight = weights.mean() if weights is not None and is_weighted else 1.0
        # f + NB is 1 of a true positive, - t / (1 - t) of a false positive, 0 of other rows
        steps = np.array([(-(f.min() + nb), f.max() + nb) for nb, f in influence.values()])
        flips = _net_benefit_flips(steps, row_weight, row_influences, sums)
        steps = steps * sizes / sizes.sum()  # of negatives, of positives
        step_sizes = sizes
    if sums is not None:
        errors = sums.errors(sums.mass, sums.mass, smallest_size, flips)
    else:
        errors = errors_of_rows(
            row_influences, weights, owners, sampling=sampling, fewest=smallest_size, flips=flips
        )
    return label_measures.make_paired_estimates(
        requested, list(influence), np.array(values), errors, smallest_size, (steps, step_sizes)
    )


def _effective_rows(weights: Counts | None, owners: Ints | None, sizes: Floats) -> float:
    """Return the number of rows, or the effective number of clusters n² / sum n_c²."""
    if owners is None:
        return float(sizes.sum())
    n = np.bincount(owners, weights)
    return float(n.sum() ** 2 / (n**2).sum())


def _net_benefit_flips(
    steps: Floats, row_weight: float, row_influences: Sequence[Floats], sums: DifferenceSums | None
) -> Floats:
    """Return the correction of the variance of differences between k net benefits, (k, k).

    steps (k, 2): change by one row of each class; 0 where two models differ in no row, that is
    where their influence values f and g are equal.
    """
    squares = (steps**2).sum(axis=1) * row_weight**2
    is_different = np.array(
        [[not np.array_equal(f, g) for f in row_influences] for g in row_influences]
        if sums is None
        else sums.squares > 0
    )
    return np.where(is_different, (squares[:, None] + squares[None]) / 2, 0.0)


def row_score_influence(
    requested: RequestedMeasure,
    threshold: float | None,
    counts: ScoreCounts,
    score_indices: Ints,
    truth: Bools,
) -> tuple[float, Floats] | None:
    """Return a measure of scores and the influence of rows, (n,); None where it is undefined.

    score_indices, truth (n,): the index of the score of each row in `counts`, and its class.
    """
    value_and_influence = score_influence(requested, threshold, counts)
    if value_and_influence is None:
        return None
    value, score_influences = value_and_influence
    scales = small_sample_scales(requested, counts)
    row_influence = np.empty(len(score_indices))
    influence_by_score = np.empty(score_influences.m)
    for is_positive in (True, False):
        for start in range(0, score_influences.m, _BLOCK):
            indices = np.arange(start, min(start + _BLOCK, score_influences.m))
            block_influence = score_influences.values_at(indices, is_positive)
            influence_by_score[start : start + _BLOCK] = block_influence * scales[is_positive]
        for start in range(0, len(score_indices), _BLOCK):
            row_indices = np.flatnonzero(truth[start : start + _BLOCK] == is_positive) + start
            row_influence[row_indices] = influence_by_score.take(score_indices.take(row_indices))
    return value, row_influence


def group_estimates(
    predictions: PredictionCounts,
    all_scores: ScoredRows,
    measures: Sequence[RequestedMeasure],
    influence: Mapping[str, GroupInfluence],
    measure_rows: Sequence[Row],
    sizes: Floats,
) -> dict[str, PairedEstimates]:
    """Return paired estimates by measures of counted scores, with the bounds of their values.

    influence: by measure, of each model; measure_rows: rows of the table of measures; sizes: rows
    of each class.
    """
    scores_by_model = {
        predictions.models[i].name: (i, all_scores.ranked(j)[0].scores)
        for j, i in enumerate(all_scores.models)
    }
    defined_rows = {
        (row["model"], row["measure"]): row
        for row in measure_rows
        if row["slice"] is None and as_estimate(row["value"]).value is not None
    }
    defined_influence = {
        name: {
            model: value_and_influence
            for model, value_and_influence in by_model.items()
            if (model, name) in defined_rows
        }
        for name, by_model in influence.items()
    }
    if predictions.stored is None:
        sums = joint_sums(predictions.evaluated, scores_by_model, defined_influence)
    else:
        sums = stored_sums(predictions.stored, defined_influence)
    estimates = dict[str, PairedEstimates]()
    for measure in measures:
        name = measure.name
        if name not in sums:
            continue
        model_rows = {model: defined_rows[model, name] for model in defined_influence[name]}
        values_and_influence = {
            model: (as_estimate(model_rows[model]["value"]).value or 0.0, group_influence)
            for model, (_, group_influence) in defined_influence[name].items()
        }
        paired = score_estimates(
            None, None, measure, values_and_influence, sizes, sampling=False, sums=sums[name]
        )
        if paired is not None:
            bounds = [cell_value(row.get("bound")) or 0.0 for row in model_rows.values()]
            estimates[name] = replace(paired, bounds=np.array(bounds)) if any(bounds) else paired
    return estimates


def identical_columns(columns: Mapping[str, Ints | Floats | Bools]) -> list[list[str]]:
    """Return groups of names of columns (n,) that are equal in every row."""
    groups_by_start: dict[bytes, list[list[str]]] = {}
    for name, column in columns.items():
        start = column[:1024].tobytes()  # different columns mostly differ here
        groups = groups_by_start.setdefault(start, [])
        equal_names = next(
            (names for names in groups if np.array_equal(columns[names[0]], column)), None
        )
        if equal_names is None:
            groups.append([name])
        else:
            equal_names.append(name)
    return [names for groups in groups_by_start.values() for names in groups if len(names) > 1]


def class_label_estimates(
    patterns: ClassPatterns, requested: RequestedMeasure
) -> PairedEstimates | None:
    """Return paired estimates by a measure of C x C tables, or its mean over classes."""
    form = requested.measure.classes
    if form is None or (form.compute is not None and form.influence is None):
        return None
    compute = form.compute
    influence_of = form.influence
    if compute is None or influence_of is None:
        compute = partial(class_average, requested.measure, by="macro")
        influence_of = partial(average_influence, requested.measure, by="macro")
    tables = patterns.tables
    c = len(patterns.classes)
    values = np.array([float(compute(table)) for table in tables])
    defined_models = np.flatnonzero(np.isfinite(values)).tolist()
    if not defined_models:
        return None
    influence = np.array(
        [influence_of(tables[i]).reshape(-1)[patterns.cells(i)] for i in defined_models]
    )
    if form.compute is None or requested.measure.id in OVER_CLASSES:
        influence = influence * small_sample_factors(patterns)[patterns.truth]
    row_weight = float(patterns.n.sum() / label_measures.class_sizes(patterns, c).sum())
    # influence of each cell, where one row more is spread over the predictions of its class
    extended_influence = np.array(
        [influence_of(tables[i] + row_weight / c) for i in defined_models]
    ).reshape(len(defined_models), c, c)
    jumps = extended_influence.max(axis=2) - extended_influence.min(axis=2)
    class_shares = tables[0].sum(axis=1) / patterns.n.sum()
    row_changes = label_measures.RowChanges(jumps, class_shares, row_weight)
    return label_measures.estimates_from_influence(
        requested, patterns, defined_models, values[defined_models], influence, row_changes
    )


def probability_estimates(
    predictions: PredictionCounts, patterns: ClassPatterns, measures: Sequence[RequestedMeasure]
) -> dict[str, PairedEstimates]:
    """Return paired estimates of models with class probabilities by measures of these."""
    influence_by_measure: dict[str, dict[str, tuple[float, Floats]]] = {
        measure.name: {} for measure in measures
    }
    first_rows: ProbabilityRows | None = None
    for model_index, model in enumerate(predictions.models):
        if model.kind != "classes":
            continue
        rows = predictions.probability_rows(model_index)
        first_rows = rows if first_rows is None else first_rows
        if not np.array_equal(rows.truth, first_rows.truth):
            raise RuntimeError("the second pass has a different row order")
        factors = small_sample_factors(patterns)[rows.truth]
        for measure in measures:
            value_and_influence = _probability_influence(measure, rows, factors)
            if value_and_influence is not None:
                influence_by_measure[measure.name][model.name] = value_and_influence
    if first_rows is None:
        return {}
    sizes = label_measures.effective_class_sizes(patterns, len(patterns.classes))
    estimates = dict[str, PairedEstimates]()
    for measure in measures:
        paired = score_estimates(
            first_rows.weights,
            first_rows.owners,
            measure,
            influence_by_measure[measure.name],
            sizes[sizes > 0],
            sampling=predictions.patterns.fractional,
        )
        if paired is not None:
            estimates[measure.name] = paired
    return estimates


def _probability_influence(
    requested: RequestedMeasure, rows: ProbabilityRows, factors: Floats
) -> tuple[float, Floats] | None:
    """Return a measure of class probabilities and the influence of rows, (n,).

    factors (n,): of rows of small classes. None without influence, or where it is undefined.
    """
    form = requested.measure.classes
    macro = None if form is None else form.with_settings(by="macro")
    if form is None or macro is None or macro.compute is None or macro.influence is None:
        return None
    value = float(macro.compute(rows.truth, rows.p, rows.n))
    if not isfinite(value):
        return None
    influence = macro.influence(rows.truth, rows.p, rows.n)
    if "by" in form.takes or requested.measure.id in OVER_CLASSES:
        influence = influence * factors
    return value, influence


ModelPair = tuple[str, str]  # two models, by name
DrawsMeasurer = Callable[[Counts], list[Floats]]  # draws (b, m) of kinds of rows to (b,) each


def bootstrap_estimates(
    all_scores: ScoredRows,
    model_names: Sequence[str],
    measures: Sequence[RequestedMeasure],
    observed: Observed,
    patterns: PatternCounts,
    reference: str | None,
    settings: IntervalSettings,
) -> dict[str, PairedEstimates]:
    """Return paired estimates by bootstrap for measures of scores without influence values."""
    drawn_measures = [
        measure
        for measure in measures
        if measure.needs in ("scores", "probabilities") and measure.measure.influence is None
    ]

    def draw_differences(pair: ModelPair) -> Floats:
        model_indices = [model_names.index(model) for model in pair]
        row_kinds = all_scores.pair(*model_indices)
        truth = all_scores.truth[row_kinds.first]
        model_measurers = [
            _score_measurer(all_scores.scores[i][row_kinds.first], truth, drawn_measures)
            for i in model_indices
        ]
        return _draw_differences(pair, row_kinds, model_measurers, settings)

    return _estimates_from_draws(
        drawn_measures,
        model_names,
        observed,
        reference,
        label_measures.smallest_class_size(patterns),
        settings,
        lambda pairs: all_scores.map_parts(draw_differences, pairs),
    )


def class_bootstrap_estimates(
    predictions: PredictionCounts,
    measures: Sequence[RequestedMeasure],
    observed: Observed,
    patterns: ClassPatterns,
    reference: str | None,
    settings: IntervalSettings,
) -> dict[str, PairedEstimates]:
    """Return paired estimates by bootstrap for measures of class probabilities."""
    drawn_measures = [
        measure
        for measure in measures
        if measure.needs == "probabilities"
        and measure.measure.classes is not None
        and measure.measure.classes.compute is not None
        and measure.measure.classes.influence is None
    ]
    model_index = {
        model.name: i for i, model in enumerate(predictions.models) if model.kind == "classes"
    }

    def draw_differences(pair: ModelPair) -> Floats:
        rows, other_rows = (predictions.probability_rows(model_index[name]) for name in pair)
        weighed = patterns.fractional and rows.owners is None
        columns = (*rows.p.T, *other_rows.p.T, rows.truth)
        row_kinds = DistinctRows.from_columns(columns, rows.weights, rows.owners, weighed=weighed)
        truth = rows.truth[row_kinds.first]
        model_measurers = [
            _probability_measurer(model_rows.p[row_kinds.first], truth, drawn_measures)
            for model_rows in (rows, other_rows)
        ]
        return _draw_differences(pair, row_kinds, model_measurers, settings)

    smallest_size = label_measures.smallest_class_size(patterns, len(patterns.classes))
    return _estimates_from_draws(
        drawn_measures,
        [*model_index],
        observed,
        reference,
        smallest_size,
        settings,
        lambda pairs: map(draw_differences, pairs),
    )


def _estimates_from_draws(
    measures: Sequence[RequestedMeasure],
    model_names: Sequence[str],
    observed: Observed,
    reference: str | None,
    fewest: float,
    settings: IntervalSettings,
    draw_differences: Callable[[Sequence[ModelPair]], Iterable[Floats]],
) -> dict[str, PairedEstimates]:
    """Return paired estimates by measure from bootstrap differences, (measures, r) of each pair."""
    undefined = Estimate(None)
    model_lists = {
        measure.name: [
            name
            for name in model_names
            if observed.get((name, measure.name), undefined).value is not None
        ]
        for measure in measures
    }
    pairs = {name: family_pairs(reference, models) for name, models in model_lists.items()}
    distinct_pairs = dict.fromkeys(
        _sorted_pair(models[i], models[j])
        for name, models in model_lists.items()
        for i, j in pairs[name]
    )
    draws_by_pair = dict(zip(distinct_pairs, draw_differences([*distinct_pairs]), strict=True))
    estimates = dict[str, PairedEstimates]()
    for k, measure in enumerate(measures):
        name = measure.name
        if pairs[name]:
            values_by_model = {model: observed[model, name].value for model in model_lists[name]}
            measure_draws = {pair: draws[k] for pair, draws in draws_by_pair.items()}
            estimates[name] = _estimates_of_measure(
                measure, values_by_model, pairs[name], measure_draws, fewest, settings
            )
    return estimates


def _estimates_of_measure(
    requested: RequestedMeasure,
    values_by_model: Mapping[str, float | None],
    pairs: PairPositions,
    draws_by_pair: Mapping[ModelPair, Floats],
    fewest: float,
    settings: IntervalSettings,
) -> PairedEstimates:
    """Return paired estimates by a measure; draws_by_pair: bootstrap differences, (r,) each."""
    models = tuple(values_by_model)
    values = np.array(list(values_by_model.values()), np.float64)
    level = settings.level or 0.95
    shape = (len(models), len(models))
    errors, low, high = (np.full(shape, nan) for _ in range(3))
    df = np.zeros(shape)
    methods = dict[tuple[int, int], str]()
    for i, j in pairs:
        sign = 1 if models[i] < models[j] else -1  # draws are of pairs in the order of names
        differences = sign * draws_by_pair[_sorted_pair(models[i], models[j])]
        value_scale = float(np.abs(values[[i, j]]).max())
        errors[i, j], df[i, j], low[i, j], high[i, j] = bootstrap_difference(
            float(values[i] - values[j]), differences, value_scale, level=level, fewest=fewest
        )
        undefined_count = int(np.isnan(differences).sum())
        methods[i, j] = describe_resampling(len(differences), undefined_count, settings)
    return PairedEstimates(
        requested.name,
        requested.measure,
        models,
        values,
        DifferenceErrors(errors, df),
        fewest,
        np.zeros((len(models), 0)),
        np.zeros(0),
        PairLimits(low, high, level, methods),
    )


def bootstrap_difference(
    difference: float, draws: Floats, value_scale: float, *, level: float, fewest: float
) -> tuple[float, float, float, float]:
    """Return standard error, degrees of freedom and limits of a difference from r draws, (r,).

    error = sqrt(m / (m - 1)) the standard deviation of the draws, m = fewest rows of a class, or
    clusters; limits: the outer ones of d -+ t error, with min(m, r) - 1 degrees of freedom, and of
    the percentiles.
    value_scale: size of the values, for rounding. NaN draws are left out; with more than half of
    them, or one row of a class, there are 0 degrees of freedom.
    Source: Efron 1979, Annals of Statistics 7:1; Hesterberg 2015, American Statistician 69:371.
    """
    low, high, _ = (float(limit) for limit in percentile_limits(draws, level=level))
    df = min(fewest, len(draws)) - 1
    if not (df > 0 and low <= high):
        return nan, 0.0, nan, nan
    error = float(np.nanstd(draws, ddof=1)) * sqrt(fewest / (fewest - 1))
    if error <= 1e-12 * value_scale:  # a smaller spread of draws is rounding
        return 0.0, df, nan, nan
    half_width = float(student_quantile(df, level=level)) * error
    return error, df, min(low, difference - half_width), max(high, difference + half_width)


def _sorted_pair(model: str, other_model: str) -> ModelPair:
    """Return two models in the order of their names."""
    return (model, other_model) if model < other_model else (other_model, model)


def _draw_differences(
    pair: ModelPair,
    row_kinds: DistinctRows,
    measurers: Sequence[DrawsMeasurer],
    settings: IntervalSettings,
) -> Floats:
    """Return bootstrap differences (k, r) of two models by k measures; measurers: of each model."""
    stream_name = "difference\0{}\0{}".format(*pair)
    measure_first, measure_second = measurers
    return np.concatenate(
        [
            np.array(measure_first(draws)) - np.array(measure_second(draws))
            for draws in draw_resamples(
                row_kinds.n, row_kinds.clusters, settings, stream_name, numbers=8
            )
        ],
        axis=1,
    )


def _score_measurer(
    scores: Floats, truth: Bools, measures: Sequence[RequestedMeasure]
) -> DrawsMeasurer:
    """Return the function from draws (b, m) of kinds of rows to measures; scores, truth (m,)."""
    order = np.argsort(scores, kind="stable")
    starts = distinct_starts(scores[order])
    distinct_scores = scores[order][starts]
    ordered_truth = truth[order]

    def measure_draws(draws: Counts) -> list[Floats]:
        ordered_draws = draws[:, order]
        positives = np.add.reduceat(ordered_draws * ordered_truth, starts, axis=1)
        totals = np.add.reduceat(ordered_draws, starts, axis=1)
        score_counts = constant_arrays(distinct_scores, positives, totals - positives)
        return [
            np.broadcast_to(measure.measure.function(*score_counts), len(draws))
            for measure in measures
        ]

    return measure_draws


def _probability_measurer(
    p: Floats, truth: Ints, measures: Sequence[RequestedMeasure]
) -> DrawsMeasurer:
    """Return the function from draws (b, m) of kinds of rows to measures; p (m, C), truth (m,)."""
    forms = [measure.measure.classes for measure in measures]

    def measure_draws(draws: Counts) -> list[Floats]:
        return [
            np.broadcast_to(form.compute(truth, p, draws), len(draws))
            for form in forms
            if form is not None and form.compute is not None
        ]

    return measure_draws


def thresholds_differ(sample: Sample) -> bool:
    """Return whether models with scores have different thresholds."""
    return len({*sample.thresholds.values()} - {None}) > 1


def net_benefit_estimates(
    sample: Sample, models: Collection[str] = ()
) -> dict[str, PairedEstimates]:
    """Return paired estimates by net benefit of labels at the common threshold of all scores."""
    patterns = sample.patterns.get(None)
    distinct_thresholds = {*sample.thresholds.values()} - {None}
    threshold = next(iter(distinct_thresholds)) if len(distinct_thresholds) == 1 else None
    if patterns is None or threshold is None or not 0 < threshold < 1:
        return {}
    costs = OutcomeCosts(threshold, 1 - threshold)
    measure = RequestedMeasure(NET_BENEFIT, CATALOG[NET_BENEFIT].with_settings(stakes=costs), {})
    excluded = {name for name in patterns.models if models and name not in models}
    estimates = label_measures.label_estimates(patterns, measure, excluded)
    return {} if estimates is None else {NET_BENEFIT: estimates}


def best_by_net_benefit(
    sample: Sample, rows: Sequence[Row], options: ReportOptions
) -> BestSet | None:
    """Return the best set by net benefit at the common threshold of all models with scores."""
    scored_rows = [row for row in rows if as_estimate(row.get(NET_BENEFIT)).value is not None]
    if options.confidence is None or len({row["threshold"] for row in scored_rows}) != 1:
        return None
    models = [row["model"] for row in scored_rows]
    estimates = net_benefit_estimates(sample, models).get(NET_BENEFIT)
    return None if estimates is None else best_of_all_pairs(estimates, options)


def best_of_all_pairs(estimates: PairedEstimates, options: ReportOptions) -> BestSet | None:
    """Return the best set by a measure, adjusted for all pairs of models."""
    pairs = family_pairs(None, estimates.models)
    family = adjusted_family(estimates, pairs, level=options.level, seed=options.seed)
    return best_set(family, estimates, level=options.level, seed=options.seed)
