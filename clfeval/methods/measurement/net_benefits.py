"""The 2 x 2 tables of scores at thresholds, and net benefits there with their limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import nan

import numpy as np

from clfeval.arrays import Counts, Floats, Ints, divide
from clfeval.counts.clusters_and_weights import RowWeights, largest_weights
from clfeval.counts.patterns import ConfusionCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Estimate
from clfeval.inference.distributions import critical_value, student_quantile
from clfeval.inference.influence_and_clusters import measure_difference
from clfeval.inference.proportions import score_parts, wilson_limits
from clfeval.inference.resampling import weighted_difference

CONTRIBUTION_DIGITS = 9  # beyond them is rounding


def confusions_at(counts: ScoreCounts, thresholds: Floats) -> ConfusionCounts:
    """Return the 2 x 2 tables at thresholds, (t,), with the cluster sums for intervals."""
    first_positive = np.searchsorted(counts.scores, thresholds)  # scores from there on are positive
    return confusions_between(counts, first_positive, np.full(len(thresholds), len(counts.scores)))


def confusions_between(counts: ScoreCounts, first: Ints, last: Ints) -> ConfusionCounts:
    """Return the 2 x 2 tables, (t,), where scores at indices [first, last) are positive."""
    score_count = len(counts.scores)
    cumulative = counts.running
    tp, fp = cumulative[:, last] - cumulative[:, first]
    positives, negatives = (
        np.full(len(first), cumulative_counts[-1]) for cumulative_counts in cumulative
    )
    product_sums = None
    if isinstance(counts.clusters, RowWeights):
        squares = counts.clusters.squares.reshape(2, score_count)
        cumulative = np.concatenate([np.zeros((2, 1)), squares.cumsum(axis=1)], axis=1)
        class_squares = (
            np.full(len(first), cumulative_counts[-1]) for cumulative_counts in cumulative
        )
        product_sums = _row_products(*(cumulative[:, last] - cumulative[:, first]), *class_squares)
    elif counts.clusters is not None:
        product_sums = counts.clusters.ranges(score_count, first, last)
        product_sums = np.full_like(product_sums, nan) if counts.clusters.too_few else product_sums
    table_names = tuple(map(str, range(len(first))))
    largest_weight = largest_weights(counts.clusters, len(first))
    return ConfusionCounts(
        table_names,
        tp,
        fp,
        positives - tp,
        negatives - fp,
        positives,
        negatives,
        counts.unit,
        product_sums,
        largest_weight,
    )


def net_benefit(counts: ScoreCounts, t: float, level: float | None) -> tuple[Estimate, float]:
    """Return the net benefit at the threshold t, and its standard error.

    NB = TP/M - FP/M t/(1-t)   variance = sum over M rows of (what each adds - NB)² / M²
    Limits are those of `weighted_difference`. In clusters the sum is over cluster totals, times g /
    (g-1) with g = M² / sum M_c²; counts are divided by the design effect, at least 1, and the
    quantile is Student's t with g - 1 degrees of freedom. Weights are clusters of one row.
    Range -t/(1-t)..1, in true positives per row, best high. Undefined unless 0 < t < 1 and without
    rows; no limits with level None, or in one cluster.
    Errors: ValueError unless 0 < level < 1.
    Source: Vickers and Elkin 2006, Medical Decision Making 26:565; the design effect: Korn and
    Graubard 1998, Survey Methodology 24:193; g: Carter, Schnepel and Steigerwald 2017, Review of
    Economics and Statistics 99:698.
    """
    return net_benefit_of_table(confusions_at(counts, np.array([t])), t, level)


def net_benefit_of_table(
    table: ConfusionCounts, t: float, level: float | None
) -> tuple[Estimate, float]:
    """Return the net benefit of a 2 x 2 table at the threshold t, and its standard error."""
    if not 0 < t < 1:
        return Estimate(None, reason="certain_threshold"), nan
    unit = np.ones(1)
    zero = np.zeros(1)
    contributions = (unit, np.array([t / (1 - t)]), zero, zero)
    (estimate,) = net_benefit_estimates(table, contributions, level)
    (error,) = _standard_errors(table, contributions)
    return estimate, float(error)


# of a row to a net benefit: of TP added, of FP subtracted, of TN added, of FN subtracted
RowContributions = tuple[Floats, ...]


def _mean_contributions(tables: ConfusionCounts, contributions: RowContributions) -> Floats:
    """Return the mean contribution of rows, (t,)."""
    true_positive, false_positive, true_negative, false_negative = contributions
    added = true_positive * tables.tp + true_negative * tables.tn
    return divide(
        added - (false_positive * tables.fp + false_negative * tables.fn),
        tables.positives + tables.negatives,
    )


def net_benefit_estimates(
    tables: ConfusionCounts, contributions: RowContributions, level: float | None
) -> list[Estimate]:
    """Return the means of the contributions of rows, (t,), with the limits of `net_benefit`."""
    values = _mean_contributions(tables, contributions)
    if level is None or not (_effective_parts(tables) > 1).all():
        return [Estimate(value) for value in values.tolist()]
    design_effect, z = _design(
        tables, partial(_standard_errors, contributions=contributions), level
    )
    true_positive, false_positive, true_negative, false_negative = contributions
    is_against_all = true_negative > 0  # compared with treat-all only TN and FN differ
    _, low, high = weighted_difference(
        np.where(is_against_all, true_negative, true_positive),
        np.where(is_against_all, tables.tn, tables.tp) / design_effect,
        np.where(is_against_all, false_negative, false_positive),
        np.where(is_against_all, tables.fn, tables.fp) / design_effect,
        (tables.positives + tables.negatives) / design_effect,
        level=level,
        z=z,
    )
    low = np.minimum(low, values)  # despite rounding
    high = np.maximum(high, values)
    values_and_limits = zip(values.tolist(), low.tolist(), high.tolist(), strict=True)
    return [Estimate(*value_and_limits) for value_and_limits in values_and_limits]


def _design(
    tables: ConfusionCounts, standard_errors: Callable[[ConfusionCounts], Floats], level: float
) -> tuple[Floats, Floats | None]:
    """Return divisors of counts, (t,), and Student's t for clusters or weights, else None.

    The design effect, at least 1; where the error is 0, from the sizes of clusters.
    """
    if tables.sums is None:
        return np.ones(len(tables.tp)), None
    unclustered_errors = standard_errors(replace(tables, sums=None))
    design_effect = tables.sums[:, 2:, 2:].sum(axis=(1, 2)) / (tables.positives + tables.negatives)
    design_effect = np.sqrt(design_effect)
    errors = standard_errors(tables)
    has_error = unclustered_errors > 0
    design_effect = np.divide(errors, unclustered_errors, out=design_effect, where=has_error) ** 2
    quantile = student_quantile(_effective_parts(tables) - 1, level=level)
    return np.maximum(design_effect, 1.0), quantile


def standardised_estimates(
    tables: ConfusionCounts, t: Floats, level: float | None
) -> list[Estimate]:
    """Return the standardised net benefits at thresholds, (t,), with their limits.

    TP/P - w FP/P, w = t / (1 - t), by square-and-add of Wilson's limits of TP / P and, of FP / P,
    those of the share FP / (FP + P), of which it is the odds; the two ratios are uncorrelated.
    Clusters and weights as in `net_benefit`.
    Source: Zou and Donner 2008, Statistics in Medicine 27:1693.
    """
    odds = t / (1 - t)
    positives = np.asarray(tables.positives, np.float64)
    tpr = divide(tables.tp, positives)
    fp_ratio = odds * divide(tables.fp, positives)
    values = tpr - fp_ratio
    if level is None or not (_effective_parts(tables) > 1).all():
        return [Estimate(value) for value in values.tolist()]
    design_effect, z = _design(tables, partial(_ratio_errors, odds=odds, values=values), level)
    quantile = critical_value(level) if z is None else z
    tpr_limits = wilson_limits(
        score_parts(tables.tp / design_effect, positives / design_effect), quantile
    )
    lowest_share, highest_share = wilson_limits(
        score_parts(tables.fp / design_effect, (tables.fp + positives) / design_effect), quantile
    )
    fp_ratio_limits = (
        odds * divide(lowest_share, 1 - lowest_share),
        odds * divide(highest_share, 1 - highest_share),
    )
    _, low, high = measure_difference(tpr, *tpr_limits, fp_ratio, *fp_ratio_limits, 0.0)
    low = np.minimum(low, values)  # despite rounding
    high = np.maximum(high, values)
    return [
        Estimate(*value_and_limits)
        for value_and_limits in zip(values.tolist(), low.tolist(), high.tolist(), strict=True)
    ]


def _ratio_errors(tables: ConfusionCounts, odds: Floats, values: Floats) -> Floats:
    """Return the standard errors of (TP - odds FP) / P with these values, (t,)."""
    slopes = np.array([np.ones(len(odds)), -odds, -values, np.zeros(len(odds))])
    return divide(_linear_errors(tables, slopes), tables.positives)


def _effective_parts(tables: ConfusionCounts) -> Floats:
    """Return the effective number of clusters, or of weighted rows, (t,); else infinite."""
    if tables.sums is None:
        return np.full(len(tables.tp), np.inf)
    row_count = (tables.positives + tables.negatives).astype(np.float64)
    return np.round(
        divide(row_count**2, tables.sums[:, 2:, 2:].sum(axis=(1, 2))), CONTRIBUTION_DIGITS
    )


def _standard_errors(tables: ConfusionCounts, contributions: RowContributions) -> Floats:
    """Return the standard errors of the mean contributions, (t,)."""
    true_positive, false_positive, true_negative, false_negative = contributions
    # as sums of TP, FP, P and N
    deviations = np.array(
        [
            true_positive + false_negative,
            -false_positive - true_negative,
            -false_negative,
            true_negative,
        ]
    )
    deviations = (
        deviations - _mean_contributions(tables, contributions) * np.array([0, 0, 1, 1])[:, None]
    )
    return divide(_linear_errors(tables, deviations), tables.positives + tables.negatives)


def _linear_errors(tables: ConfusionCounts, slopes: Floats) -> Floats:
    """Return the standard errors of sums of TP, FP, P and N with these slopes, (4, t): (t,)."""
    cells = (tables.tp, tables.fp, tables.positives, tables.negatives)
    sums = _row_products(*cells) if tables.sums is None else tables.sums
    g = _effective_parts(tables)
    squares = np.einsum("it,tij,jt->t", slopes, sums, slopes)
    squares = squares / (1 - 1 / np.where(g > 1, g, nan))
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def _row_products(tp: Counts, fp: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the sums over rows of products of TP, FP, P and N, (t, 4, 4), of squared weights."""
    # indices of TP and P, and of FP and N
    sums = np.zeros((len(tp), 4, 4))
    for predicted, of_class, predicted_squares, class_squares in (
        (0, 2, tp, positives),
        (1, 3, fp, negatives),
    ):
        sums[:, predicted, predicted] = predicted_squares
        sums[:, predicted, of_class] = predicted_squares
        sums[:, of_class, predicted] = predicted_squares
        sums[:, of_class, of_class] = class_squares
    return sums
