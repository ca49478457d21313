"""Paired bootstrap estimates of two models at a time, by measures without influence values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import nan, sqrt

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.compare.families import family_pairs
from clfeval.compare.paired_estimates import BootstrapLimits, DifferenceErrors, PairedEstimates
from clfeval.counts.classes import ClassPatterns
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.rows import DistinctRows, ScoredRows
from clfeval.document import Estimate
from clfeval.inference.distributions import student_quantile
from clfeval.inference.resampling import percentile_limits
from clfeval.measures.probability import distinct_starts
from clfeval.methods.design_effects import smallest_class_size
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.measurement.resampled_limits import describe_resampling, draw_resamples
from clfeval.methods.options import IntervalSettings
from clfeval.methods.report.comparisons import Observed

ModelPair = tuple[str, str]  # two models, by name
Measuring = Callable[[Counts], list[Floats]]  # of draws (b, m): (b,) each


def bootstrap_estimates(
    every: ScoredRows, names: Sequence[str], held: Sequence[RequestedMeasure], values: Observed,
    patterns: PatternCounts, reference: str | None, wanted: IntervalSettings,
) -> dict[str, PairedEstimates]:  # fmt: skip
    """Return paired estimates by bootstrap for measures of scores without influence values."""
    some = [one for one in held if one.needs in ("scores", "probabilities")
            and one.measure.influence is None]  # fmt: skip

    def drawn(pair: ModelPair) -> Floats:
        places = [names.index(one) for one in pair]
        kinds = every.pair(*places)
        truth = every.truth[kinds.first]
        sides = [_of_scores(every.scores[i][kinds.first], truth, some) for i in places]
        return _draw_differences(pair, kinds, sides, wanted)

    return _estimates_from_draws(
        some, names, values, reference, smallest_class_size(patterns), wanted,
        lambda pairs: every.side_by_side(drawn, pairs),
    )  # fmt: skip


def class_bootstrap_estimates(
    counted: PredictionCounts, held: Sequence[RequestedMeasure], values: Observed,
    patterns: ClassPatterns,
    reference: str | None, wanted: IntervalSettings,
) -> dict[str, PairedEstimates]:  # fmt: skip
    """Return paired estimates by bootstrap for measures of class probabilities."""
    some = [
        one for one in held
        if one.needs == "probabilities" and one.measure.classes is not None
        and one.measure.classes.of is not None and one.measure.classes.influence is None
    ]  # fmt: skip
    at = {model.name: i for i, model in enumerate(counted.models) if model.kind == "classes"}

    def drawn(pair: ModelPair) -> Floats:
        one, other = (counted.class_rows(at[name]) for name in pair)
        weighed = patterns.fractional and one.owners is None
        columns = (*one.p.T, *other.p.T, one.truth)
        kinds = DistinctRows.from_columns(columns, one.weights, one.owners, weighed=weighed)
        truth = one.truth[kinds.first]
        sides = [_of_classes(rows.p[kinds.first], truth, some) for rows in (one, other)]
        return _draw_differences(pair, kinds, sides, wanted)

    least = smallest_class_size(patterns, len(patterns.classes))
    return _estimates_from_draws(
        some, [*at], values, reference, least, wanted, lambda pairs: map(drawn, pairs)
    )


def _estimates_from_draws(
    held: Sequence[RequestedMeasure], names: Sequence[str], values: Observed, reference: str | None,
    least: float, wanted: IntervalSettings,
    drawn: Callable[[Sequence[ModelPair]], Iterable[Floats]],
) -> dict[str, PairedEstimates]:  # fmt: skip
    """Return paired estimates by measure from bootstrap differences, (measures, r) of each pair."""
    none, level = Estimate(None), wanted.level or 0.95
    models = {
        one.name: [name for name in names if values.get((name, one.name), none).value is not None]
        for one in held
    }
    pairs = {name: family_pairs(reference, some) for name, some in models.items()}
    both = dict.fromkeys(
        _by_name(some[i], some[j]) for name, some in models.items() for i, j in pairs[name]
    )
    draws, found = dict(zip(both, drawn([*both]), strict=True)), dict[str, PairedEstimates]()
    for place, one in enumerate(held):
        mine = models[one.name]
        value = np.array([values[name, one.name].value for name in mine], np.float64)
        errors, df, low, high = (np.full((len(mine),) * 2, fill) for fill in (nan, 0.0, nan, nan))
        how = dict[tuple[int, int], str]()
        for i, j in pairs[one.name]:
            turn = 1 if mine[i] < mine[j] else -1
            each = turn * draws[_by_name(mine[i], mine[j])][place]
            size = float(np.abs(value[[i, j]]).max())
            errors[i, j], df[i, j], low[i, j], high[i, j] = bootstrap_difference(
                float(value[i] - value[j]), each, size, level=level, fewest=least
            )
            how[i, j] = describe_resampling(len(each), int(np.isnan(each).sum()), wanted)
        if how:
            found[one.name] = PairedEstimates(
                one.name, one.measure, tuple(mine), value, DifferenceErrors(errors, df), least,
                np.zeros((len(mine), 0)), np.zeros(0), BootstrapLimits(low, high, level, how),
            )  # fmt: skip
    return found


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
    low, high, _ = (float(one) for one in percentile_limits(draws, level=level))
    df = min(fewest, len(draws)) - 1
    if not (df > 0 and low <= high):
        return nan, 0.0, nan, nan
    error = float(np.nanstd(draws, ddof=1)) * sqrt(fewest / (fewest - 1))
    if error <= 1e-12 * size:  # a smaller spread of draws is rounding
        return 0.0, df, nan, nan
    reach = float(student_quantile(df, level=level)) * error
    return error, df, min(low, difference - reach), max(high, difference + reach)


def _by_name(one: str, other: str) -> ModelPair:
    return (one, other) if one < other else (other, one)


def _draw_differences(
    pair: ModelPair, kinds: DistinctRows, sides: Sequence[Measuring], wanted: IntervalSettings
) -> Floats:
    """Return the bootstrap differences of two models by each measure: (k, r)."""
    name = "difference\0{}\0{}".format(*pair)
    one, other = sides
    return np.concatenate([
        np.array(one(draws)) - np.array(other(draws))
        for draws in draw_resamples(kinds.n, kinds.clusters, wanted, name, each=8)
    ], axis=1)  # fmt: skip


def _of_scores(x: Floats, truth: Bools, held: Sequence[RequestedMeasure]) -> Measuring:
    """Return the function from draws of kinds of rows to measures of scores x, truth (m,)."""
    order = np.argsort(x, kind="stable")
    starts = distinct_starts(x[order])
    scores, hit = x[order][starts], truth[order]

    def measured(draws: Counts) -> list[Floats]:
        ordered = draws[:, order]
        positives, n = (np.add.reduceat(one, starts, axis=1) for one in (ordered * hit, ordered))
        parts = (scores, positives, n - positives)
        return [np.broadcast_to(one.measure.function(*parts), len(draws)) for one in held]

    return measured


def _of_classes(p: Floats, truth: Ints, held: Sequence[RequestedMeasure]) -> Measuring:
    """Return the function from draws of kinds of rows to measures of probabilities p (m, C)."""
    forms = [one.measure.classes for one in held]

    def measured(draws: Counts) -> list[Floats]:
        return [np.broadcast_to(form.of(truth, p, draws), len(draws))
                for form in forms if form is not None and form.of is not None]  # fmt: skip

    return measured
