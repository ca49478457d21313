"""Estimates of models on the same rows, by influence or by bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite, nan, sqrt

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints
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

    sums: those of rows, where the influence is that of groups of rows.
    """
    if not influence:
        return None
    values, by_model = zip(*influence.values(), strict=True)
    measure = requested.measure
    fewest = float(sizes[sizes > 0].min())
    flips = None
    steps = np.zeros((len(influence), 0))
    span = measure.high - measure.low
    if measure.interval == "delong":
        steps = np.full((len(influence), len(sizes)), span)
    elif measure.loss is not None and isfinite(span):
        steps = np.full((len(influence), 1), span)
        sizes = np.array([_effective_rows(weights, owners, sizes)])
    elif measure.id in (NET_BENEFIT, AT_RISK):
        weighted = weights is not None and (sampling or owners is not None)
        row = weights.mean() if weights is not None and weighted else 1.0
        # f + NB is 1 of a true positive, - t / (1 - t) of a false positive, 0 of other rows
        steps = np.array([(-(f.min() + nb), f.max() + nb) for nb, f in influence.values()])
        flips = _net_benefit_flips(steps, row, by_model, sums)
        steps = steps * sizes / sizes.sum()  # of negatives, of positives
    if sums is not None:
        errors = sums.errors(sums.mass, sums.mass, fewest, flips)
    else:
        errors = errors_of_rows(
            by_model, weights, owners, sampling=sampling, fewest=fewest, flips=flips
        )
    sizes = sizes if steps.shape[1] else np.zeros(0)
    return label_measures.make_paired_estimates(
        requested, list(influence), np.array(values), errors, fewest, (steps, sizes)
    )


def _effective_rows(weights: Counts | None, owners: Ints | None, sizes: Floats) -> float:
    """Return the number of rows, or the effective number of clusters n² / sum n_c²."""
    if owners is None:
        return float(sizes.sum())
    n = np.bincount(owners, weights)
    return float(n.sum() ** 2 / (n**2).sum())


def _net_benefit_flips(
    steps: Floats, row: float, influence: Sequence[Floats], sums: DifferenceSums | None
) -> Floats:
    """Return the correction of the variance of differences between k net benefits, (k, k).

    steps (k, 2): change by one row of each class; 0 where two models differ in no row.
    """
    squares = (steps**2).sum(axis=1) * row**2
    differ = np.array(
        [[not np.array_equal(first, second) for first in influence] for second in influence]
        if sums is None
        else sums.squares > 0
    )
    return np.where(differ, (squares[:, None] + squares[None]) / 2, 0.0)


def row_score_influence(
    requested: RequestedMeasure,
    threshold: float | None,
    counts: ScoreCounts,
    place: Ints,
    truth: Bools,
) -> tuple[float, Floats] | None:
    """Return a measure of scores and the influence of rows (n,); place, truth: of each row."""
    value_and_influence = score_influence(requested, threshold, counts)
    if value_and_influence is None:
        return None
    value, score_influences = value_and_influence
    scales = small_sample_scales(requested, counts)
    rows = np.empty(len(place))
    at_scores = np.empty(score_influences.m)
    for y in (True, False):
        for start in range(0, score_influences.m, _BLOCK):
            indices = np.arange(start, min(start + _BLOCK, score_influences.m))
            at_scores[start : start + _BLOCK] = score_influences.values_at(indices, y) * scales[y]
        for start in range(0, len(place), _BLOCK):
            places_of_class = np.flatnonzero(truth[start : start + _BLOCK] == y) + start
            rows[places_of_class] = at_scores.take(place.take(places_of_class))
    return value, rows


def group_estimates(
    predictions: PredictionCounts,
    all_scores: ScoredRows,
    measures: Sequence[RequestedMeasure],
    influence: Mapping[str, GroupInfluence],
    measure_rows: Sequence[Row],
    sizes: Floats,
) -> dict[str, PairedEstimates]:
    """Return paired estimates by measures of counted scores, with the bounds of their values.

    influence: by measure, of each model; measure_rows: of the measures; sizes: rows of each class.
    """
    scores_by_model = {
        predictions.models[i].name: (i, all_scores.ranked(j)[0].scores)
        for j, i in enumerate(all_scores.models)
    }
    rows = {
        (row["model"], row["measure"]): row
        for row in measure_rows
        if row["slice"] is None and as_estimate(row["value"]).value is not None
    }
    defined = {
        name: {model: values for model, values in by_model.items() if (model, name) in rows}
        for name, by_model in influence.items()
    }
    if predictions.stored is None:
        sums = joint_sums(predictions.evaluated, scores_by_model, defined)
    else:
        sums = stored_sums(predictions.stored, defined)
    estimates = dict[str, PairedEstimates]()
    for measure in measures:
        name = measure.name
        if name not in sums:
            continue
        model_rows = {model: rows[model, name] for model in defined[name]}
        values_and_influence = {
            model: (as_estimate(row["value"]).value or 0.0, defined[name][model][1])
            for model, row in model_rows.items()
        }
        paired = score_estimates(
            None, None, measure, values_and_influence, sizes, sampling=False, sums=sums[name]
        )
        if paired is not None:
            bounds = [cell_value(row.get("bound")) or 0.0 for row in model_rows.values()]
            estimates[name] = replace(paired, bounds=np.array(bounds)) if any(bounds) else paired
    return estimates


def identical_columns(columns: Mapping[str, Ints | Floats | Bools]) -> list[list[str]]:
    """Return groups of names of columns that are equal in every row."""
    groups_by_start: dict[bytes, list[list[str]]] = {}
    for name, column in columns.items():
        groups = groups_by_start.setdefault(
            column[:1024].tobytes(), []
        )  # where different ones mostly differ
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
    function = form.compute
    influence_of = form.influence
    if function is None or influence_of is None:
        function = partial(class_average, requested.measure, by="macro")
        influence_of = partial(average_influence, requested.measure, by="macro")
    tables = patterns.tables
    c = len(patterns.classes)
    values = np.array([float(function(table)) for table in tables])
    models = np.flatnonzero(np.isfinite(values)).tolist()
    if not models:
        return None
    influence = np.array([influence_of(tables[i]).reshape(-1)[patterns.cells(i)] for i in models])
    if form.compute is None or requested.measure.id in OVER_CLASSES:
        influence = influence * small_sample_factors(patterns)[patterns.truth]
    row = float(patterns.n.sum() / label_measures.class_sizes(patterns, c).sum())
    f = np.array([influence_of(tables[i] + row / c) for i in models]).reshape(len(models), c, c)
    shares = patterns.tables[0].sum(axis=1) / patterns.n.sum()
    changes = label_measures.RowChanges(f.max(axis=2) - f.min(axis=2), shares, row)
    return label_measures.estimates_from_influence(
        requested, patterns, models, values[models], influence, changes
    )


def probability_estimates(
    predictions: PredictionCounts, patterns: ClassPatterns, measures: Sequence[RequestedMeasure]
) -> dict[str, PairedEstimates]:
    """Return paired estimates of models with class probabilities by measures of these."""
    influence: dict[str, dict[str, tuple[float, Floats]]] = {
        measure.name: {} for measure in measures
    }
    first: ProbabilityRows | None = None
    for i, model in enumerate(predictions.models):
        if model.kind != "classes":
            continue
        rows = predictions.probability_rows(i)
        first = rows if first is None else first
        if not np.array_equal(rows.truth, first.truth):
            raise RuntimeError("the second pass has a different row order")
        factors = small_sample_factors(patterns)[rows.truth]
        for measure in measures:
            value_and_influence = _probability_influence(measure, rows, factors)
            if value_and_influence is not None:
                influence[measure.name][model.name] = value_and_influence
    if first is None:
        return {}
    sizes = label_measures.effective_class_sizes(patterns, len(patterns.classes))
    estimates = dict[str, PairedEstimates]()
    for measure in measures:
        paired = score_estimates(
            first.weights,
            first.owners,
            measure,
            influence[measure.name],
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
Measuring = Callable[[Counts], list[Floats]]  # of draws (b, m): (b,) each


def bootstrap_estimates(
    all_scores: ScoredRows,
    names: Sequence[str],
    measures: Sequence[RequestedMeasure],
    values: Observed,
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
        places = [names.index(model) for model in pair]
        kinds = all_scores.pair(*places)
        truth = all_scores.truth[kinds.first]
        sides = [
            _of_scores(all_scores.scores[i][kinds.first], truth, drawn_measures) for i in places
        ]
        return _draw_differences(pair, kinds, sides, settings)

    return _estimates_from_draws(
        drawn_measures,
        names,
        values,
        reference,
        label_measures.smallest_class_size(patterns),
        settings,
        lambda pairs: all_scores.map_parts(draw_differences, pairs),
    )


def class_bootstrap_estimates(
    predictions: PredictionCounts,
    measures: Sequence[RequestedMeasure],
    values: Observed,
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
        first, second = (predictions.probability_rows(model_index[name]) for name in pair)
        weighed = patterns.fractional and first.owners is None
        columns = (*first.p.T, *second.p.T, first.truth)
        kinds = DistinctRows.from_columns(columns, first.weights, first.owners, weighed=weighed)
        truth = first.truth[kinds.first]
        sides = [
            _of_classes(rows.p[kinds.first], truth, drawn_measures) for rows in (first, second)
        ]
        return _draw_differences(pair, kinds, sides, settings)

    fewest = label_measures.smallest_class_size(patterns, len(patterns.classes))
    return _estimates_from_draws(
        drawn_measures,
        [*model_index],
        values,
        reference,
        fewest,
        settings,
        lambda pairs: map(draw_differences, pairs),
    )


def _estimates_from_draws(
    measures: Sequence[RequestedMeasure],
    names: Sequence[str],
    values: Observed,
    reference: str | None,
    fewest: float,
    settings: IntervalSettings,
    draw_differences: Callable[[Sequence[ModelPair]], Iterable[Floats]],
) -> dict[str, PairedEstimates]:
    """Return paired estimates by measure from bootstrap differences, (measures, r) of each pair."""
    none = Estimate(None)
    models = {
        measure.name: [
            name for name in names if values.get((name, measure.name), none).value is not None
        ]
        for measure in measures
    }
    pairs = {name: family_pairs(reference, members) for name, members in models.items()}
    distinct = dict.fromkeys(
        _by_name(members[i], members[j]) for name, members in models.items() for i, j in pairs[name]
    )
    draws = dict(zip(distinct, draw_differences([*distinct]), strict=True))
    estimates = dict[str, PairedEstimates]()
    for k, measure in enumerate(measures):
        name = measure.name
        if pairs[name]:
            numbers = {model: values[model, name].value for model in models[name]}
            measure_draws = {pair: differences[k] for pair, differences in draws.items()}
            estimates[name] = _estimates_of_measure(
                measure, numbers, pairs[name], measure_draws, fewest, settings
            )
    return estimates


def _estimates_of_measure(
    requested: RequestedMeasure,
    numbers: Mapping[str, float | None],
    pairs: PairPositions,
    draws: Mapping[ModelPair, Floats],
    fewest: float,
    settings: IntervalSettings,
) -> PairedEstimates:
    """Return paired estimates by a measure; numbers: of the models; draws: differences, (r,)."""
    names = tuple(numbers)
    values = np.array(list(numbers.values()), np.float64)
    level = settings.level or 0.95
    shape = (len(names), len(names))
    errors = np.full(shape, nan)
    df = np.full(shape, 0.0)
    low = np.full(shape, nan)
    high = np.full(shape, nan)
    methods = dict[tuple[int, int], str]()
    for i, j in pairs:
        sign = 1 if names[i] < names[j] else -1
        differences = sign * draws[_by_name(names[i], names[j])]
        size = float(np.abs(values[[i, j]]).max())
        errors[i, j], df[i, j], low[i, j], high[i, j] = bootstrap_difference(
            float(values[i] - values[j]), differences, size, level=level, fewest=fewest
        )
        undefined = int(np.isnan(differences).sum())
        methods[i, j] = describe_resampling(len(differences), undefined, settings)
    return PairedEstimates(
        requested.name,
        requested.measure,
        names,
        values,
        DifferenceErrors(errors, df),
        fewest,
        np.zeros((len(names), 0)),
        np.zeros(0),
        PairLimits(low, high, level, methods),
    )


def bootstrap_difference(
    difference: float, draws: Floats, size: float, *, level: float, fewest: float
) -> tuple[float, float, float, float]:
    """Return standard error, degrees of freedom and limits of a difference from r draws, (r,).

    error = sqrt(m / (m - 1)) the standard deviation of the draws, m = fewest rows of a class, or
    clusters; limits: the outer ones of d -+ t error, with min(m, r) - 1 degrees of freedom, and of
    the percentiles.
    size: scale of the values, for rounding. NaN draws are left out; with more than half of them, or
    one row of a class, there are 0 degrees of freedom.
    Source: Efron 1979, Annals of Statistics 7:1; Hesterberg 2015, American Statistician 69:371.
    """
    low, high, _ = (float(limit) for limit in percentile_limits(draws, level=level))
    df = min(fewest, len(draws)) - 1
    if not (df > 0 and low <= high):
        return nan, 0.0, nan, nan
    error = float(np.nanstd(draws, ddof=1)) * sqrt(fewest / (fewest - 1))
    if error <= 1e-12 * size:  # a smaller spread of draws is rounding
        return 0.0, df, nan, nan
    reach = float(student_quantile(df, level=level)) * error
    return error, df, min(low, difference - reach), max(high, difference + reach)


def _by_name(first: str, second: str) -> ModelPair:
    return (first, second) if first < second else (second, first)


def _draw_differences(
    pair: ModelPair, kinds: DistinctRows, sides: Sequence[Measuring], settings: IntervalSettings
) -> Floats:
    """Return the bootstrap differences of two models by each measure: (k, r)."""
    name = "difference\0{}\0{}".format(*pair)
    first, second = sides
    return np.concatenate(
        [
            np.array(first(draws)) - np.array(second(draws))
            for draws in draw_resamples(kinds.n, kinds.clusters, settings, name, numbers=8)
        ],
        axis=1,
    )


def _of_scores(x: Floats, truth: Bools, measures: Sequence[RequestedMeasure]) -> Measuring:
    """Return the function from draws of kinds of rows to measures of scores x, truth (m,)."""
    order = np.argsort(x, kind="stable")
    starts = distinct_starts(x[order])
    scores = x[order][starts]
    hit = truth[order]

    def measure_draws(draws: Counts) -> list[Floats]:
        ordered = draws[:, order]
        positives = np.add.reduceat(ordered * hit, starts, axis=1)
        n = np.add.reduceat(ordered, starts, axis=1)
        parts = (scores, positives, n - positives)
        return [
            np.broadcast_to(measure.measure.function(*parts), len(draws)) for measure in measures
        ]

    return measure_draws


def _of_classes(p: Floats, truth: Ints, measures: Sequence[RequestedMeasure]) -> Measuring:
    """Return the function from draws of kinds of rows to measures of probabilities p (m, C)."""
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
    thresholds = {*sample.thresholds.values()} - {None}
    threshold = thresholds.pop() if len(thresholds) == 1 else None
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
    scored = [row for row in rows if as_estimate(row.get(NET_BENEFIT)).value is not None]
    if options.confidence is None or len({row["threshold"] for row in scored}) != 1:
        return None
    models = [row["model"] for row in scored]
    estimates = net_benefit_estimates(sample, models).get(NET_BENEFIT)
    return None if estimates is None else best_of_all_pairs(estimates, options)


def best_of_all_pairs(estimates: PairedEstimates, options: ReportOptions) -> BestSet | None:
    """Return the best set by a measure, adjusted for all pairs of models."""
    pairs = family_pairs(None, estimates.models)
    family = adjusted_family(estimates, pairs, level=options.level, seed=options.seed)
    return best_set(family, estimates, level=options.level, seed=options.seed)
