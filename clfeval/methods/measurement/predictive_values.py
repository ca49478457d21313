"""Differences of predictive values of two models, which may flag few rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clfeval.arrays import Bools, Floats, divide
from clfeval.compare.change import square_and_add
from clfeval.compare.paired_estimates import PairedEstimates, PairLimits
from clfeval.counts.patterns import ConfusionCounts
from clfeval.inference.proportions import ENOUGH, clopper_pearson, wilson
from clfeval.measures.catalog import CATALOG
from clfeval.measures.record import Measure
from clfeval.methods.confidence_limits import effective_share_counts, measure_limits
from clfeval.methods.estimates import Cells, Limits
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.records import replace

PREDICTIVE_VALUES = (
    "precision",
    "npv",
    "fdr",
    "for",
    "ppv",
    "ppv_at",
    "npv_at",
    "precision_u",
    "npv_u",
)
SQUARE_AND_ADD = "square-and-add of the limits of both"
PAIR_LEVEL = 0.95  # of these limits; others are proportional to the normal quantile
EQUAL_CLASSES = 0.5  # the prevalence of unbiased measures


def with_predictive_limits(
    paired: PairedEstimates,
    requested: RequestedMeasure,
    counts: ConfusionCounts,
    models: Sequence[int],
) -> PairedEstimates:
    """Return the estimates of some models by a predictive value, with limits of differences.

    By square-and-add of the limits of both models with the correlation of their influence values,
    which give unreliable standard errors where few rows are flagged. Without covariances the
    estimates themselves. models: their indices in `counts`.
    Source: Zou and Donner 2008, Statistics in Medicine 27:1693.
    """
    covariance = paired.pair_errors.covariance
    if covariance is None:
        return paired
    errors = np.sqrt(np.diag(covariance))
    rho = np.clip(np.nan_to_num(divide(covariance, errors[:, None] * errors)), -1, 1)
    low, high = _limits_of_models(requested, counts)
    values_and_limits = np.array([paired.values, low[models], high[models]])
    _, lower, upper = square_and_add(values_and_limits[:, :, None], values_and_limits[:, None], rho)
    methods = dict.fromkeys(np.ndindex(rho.shape), SQUARE_AND_ADD)
    return replace(paired, limits=PairLimits(lower, upper, PAIR_LEVEL, methods, normal=True))


def _limits_of_models(requested: RequestedMeasure, counts: ConfusionCounts) -> Limits:
    """Return the limits of a predictive value of each model, (k,).

    At the class ratio of the rows Wilson's limits; of fewer than 30 flagged rows the exact ones, by
    which 2 of 2 rows do not differ significantly from 0 of 2. At another ratio the limits of the
    measure; of few flagged rows the outer ones of these and of the exact ones at that ratio.
    """
    measure = requested.measure
    cells = Cells.at_prevalence(counts)
    if measure.share is not None:
        (exact_low, exact_high), is_small = _exact_limits(measure, cells)
        usual_low, usual_high = wilson(
            *effective_share_counts(measure, cells, PAIR_LEVEL), level=PAIR_LEVEL
        )
        return np.where(is_small, exact_low, usual_low), np.where(is_small, exact_high, usual_high)
    ppv_or_npv = CATALOG["npv" if measure.id.startswith("npv") else "ppv"]
    usual_low, usual_high = _limits_at_prevalence(requested, ppv_or_npv, counts)
    prevalence = requested.settings.get("prevalence", EQUAL_CLASSES)
    odds_factor = divide(counts.negatives, counts.positives) * prevalence / (1 - prevalence)
    exact_interval, is_small = _exact_limits(ppv_or_npv, cells)
    exact_low, exact_high = (
        _multiply_odds(limit, odds_factor, ppv_or_npv) for limit in exact_interval
    )
    return np.where(is_small, np.fmin(exact_low, usual_low), usual_low), np.where(
        is_small, np.fmax(exact_high, usual_high), usual_high
    )


def _limits_at_prevalence(
    requested: RequestedMeasure, ppv_or_npv: Measure, counts: ConfusionCounts
) -> Limits:
    """Return the limits of a predictive value at another prevalence, by the measure's method."""
    if requested.measure.id.endswith("_at"):
        cells = Cells.at_prevalence(counts, requested.settings["prevalence"])
        return measure_limits(ppv_or_npv.id, cells, level=PAIR_LEVEL)
    return measure_limits(requested.measure.id, Cells.at_prevalence(counts), level=PAIR_LEVEL)


def _exact_limits(measure: Measure, cells: Cells) -> tuple[Limits, Bools]:
    """Return the exact limits of a share of flagged rows, and where these are fewer than 30."""
    numerator, denominator = effective_share_counts(measure, cells, PAIR_LEVEL)
    return clopper_pearson(numerator, denominator, level=PAIR_LEVEL), np.asarray(
        denominator < ENOUGH
    )


def _multiply_odds(limit: Floats, factor: Floats, share: Measure) -> Floats:
    """Return a limit at other class odds, `factor` times those of the rows, (k,) each."""
    share_factor = 1 / factor if share.id == "npv" else factor
    return np.asarray(limit * share_factor / (limit * share_factor + 1 - limit))
