"""Assessment of recalibration methods: calibrators of all rows, gains on new rows, verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from clfeval.arrays import Counts
from clfeval.counts.scores import ScoreCounts
from clfeval.measures.calibrators import PARAMETERS, Calibrator
from clfeval.measures.logistic import log_odds_slice
from clfeval.methods.recalibration.cross_fitting import (
    LOSSES,
    MOST_SCORES,
    CrossFittedGains,
    LossName,
    class_rows,
    cross_fitted_gains,
    design_effect,
    rows_in_effect,
)
from clfeval.methods.recalibration.gain import (
    Gain,
    Verdict,
    auto_gain,
    estimate_gain,
    gain_verdict,
    highest_limit,
    one_sided_quantile,
)
from clfeval.methods.recalibration.method_fits import MethodFitter, TableFits
from clfeval.methods.recalibration.method_names import Method
from clfeval.records import dataclass

FEWEST_FOR_LIMITS = 16  # rows of the rarer class, from which limits of a gain were simulated


@dataclass(frozen=True, slots=True)
class GainEstimate:
    """The gain in one loss with its confidence limits, each of one side of the level."""

    value: float
    low: float
    high: float

    @property
    def verdict(self) -> Verdict:
        """Whether recalibration helps, harms, or is undecided by this loss."""
        return gain_verdict(self.low, self.high)


@dataclass(frozen=True, slots=True, eq=False)
class Assessment:
    """One method: the calibrator of all rows, None without a fit, and its gains on new rows.

    selected: the method itself, or the one that `auto` selects. gains: empty with a reason.
    """

    method: Method
    selected: Method
    calibrator: Calibrator | None
    gains: Mapping[LossName, GainEstimate]
    reason: str | None = None


def assess_methods(
    counts: ScoreCounts, methods: Sequence[Method], level: float, rng: np.random.Generator
) -> list[Assessment]:
    """Return the assessment of each method on score counts with both classes.

    Gains are cross-fitted; of more than `MOST_SCORES` scores, neighbours are merged for them.
    """
    effect = design_effect(counts)
    fitter = MethodFitter(counts.scores, rows_in_effect(counts), effect, counts.unit)
    rows = class_rows(counts)
    gains: Mapping[Method, Mapping[LossName, GainEstimate]] = {}
    table_reason = _why_no_limits(counts)
    if table_reason is None:
        grouped = counts.coarser(MOST_SCORES)
        gains = _estimated_gains(grouped, replace_scores(fitter, grouped), methods, level, rng)
    table_fits = fitter.fit_all(methods, rows[:1], rows[1:])
    return [
        _assess_method(method, fit, gains.get(method, {}), table_reason)
        for method, fit in table_fits.items()
    ]


def _assess_method(
    method: Method, fit: TableFits, gains: Mapping[LossName, GainEstimate], table_reason: str | None
) -> Assessment:
    """Return the assessment of a method by its fit to one table, of all rows.

    table_reason: why no method has a gain of these rows, None where they have.
    """
    calibrator = fit.calibrators[0]
    reason = _why_no_gain(calibrator) or table_reason
    return Assessment(method, fit.selected[0], calibrator, {} if reason else gains, reason)


def _why_no_limits(counts: ScoreCounts) -> str | None:
    """Return why no gain of these rows has limits that hold; None if they have."""
    if counts.clusters is not None and counts.clusters.too_few:
        return "few_clusters"
    rarer = class_rows(counts).sum(axis=1).min() / counts.unit
    return "too_few_rows" if rarer < FEWEST_FOR_LIMITS else None


def _why_no_gain(calibrator: Calibrator | None) -> str | None:
    """Return why a calibrator cannot be used; None if it can."""
    if calibrator is None:
        return "separation"
    return None if calibrator.rises else "reversed_scores"


def replace_scores(fitter: MethodFitter, counts: ScoreCounts) -> MethodFitter:
    """Return the fitter for counts of merged scores."""
    return MethodFitter(counts.scores, fitter.rows, fitter.effect, fitter.row_weight)


def contradicted_rows(counts: ScoreCounts) -> float:
    """Return the rows whose class had probability 0, by which the log loss is infinite."""
    inner = log_odds_slice(counts.scores)
    lost: Counts = counts.positives[: inner.start].sum() + counts.negatives[inner.stop :].sum()
    return float(lost / counts.unit)


def _estimated_gains(
    counts: ScoreCounts,
    fitter: MethodFitter,
    methods: Sequence[Method],
    level: float,
    rng: np.random.Generator,
) -> dict[Method, dict[LossName, GainEstimate]]:
    """Return the gain of each method in each loss, with limits."""
    needed = dict.fromkeys(methods)
    if "auto" in needed:
        needed |= dict.fromkeys(fitter.candidates)
    needed.pop("none", None)  # it gains nothing
    cross_fitted = cross_fitted_gains(counts, fitter, [*needed], rng)
    quantile = one_sided_quantile(counts, level)
    by_loss = {
        loss: _gains_in_loss(counts, fitter, cross_fitted, loss, quantile) for loss in LOSSES
    }
    return {method: {loss: by_loss[loss][method] for loss in LOSSES} for method in methods}


def _gains_in_loss(
    counts: ScoreCounts,
    fitter: MethodFitter,
    cross_fitted: Mapping[Method, CrossFittedGains],
    loss: LossName,
    quantile: float,
) -> dict[Method, GainEstimate]:
    """Return the gain of each cross-fitted method in one loss."""
    parts: dict[Method, Gain] = {
        method: estimate_gain(counts, gains, loss, PARAMETERS.get(method, 0))
        for method, gains in cross_fitted.items()
    }
    if "auto" in parts:
        fitted = [method for method in fitter.candidates[1:] if parts[method].variance > 0]
        largest = fitted[-1] if fitted else "auto"
        parts["auto"] = auto_gain(parts["auto"], parts[largest])
    limits = {method: part.limits(quantile) for method, part in parts.items()}
    if "auto" in limits:
        candidates = [limits[method] for method in fitter.candidates if method in limits]
        limits["auto"] = (limits["auto"][0], highest_limit(candidates))
    estimates: dict[Method, GainEstimate] = {"none": GainEstimate(0.0, 0.0, 0.0)}
    return estimates | {
        method: GainEstimate(part.estimate, *limits[method]) for method, part in parts.items()
    }
