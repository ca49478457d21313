"""Assessment of recalibration methods: calibrators of all rows, gains on new rows, verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from clfeval.arrays import Counts
from clfeval.counts.scores import ScoreCounts
from clfeval.measures.calibrators import PARAMETERS
from clfeval.measures.class_calibrators import AnyCalibrator
from clfeval.measures.logistic import log_odds_slice
from clfeval.methods.recalibration.cross_fitting import (
    MOST_SCORES,
    LossName,
    ScoreJudge,
    class_rows,
    cross_fit,
    design_effect,
)
from clfeval.methods.recalibration.gain import GainEstimate, estimated_gains
from clfeval.methods.recalibration.method_fits import MethodFitter
from clfeval.methods.recalibration.method_names import Method
from clfeval.methods.recalibration.row_kinds import RowKinds
from clfeval.records import dataclass

FEWEST_FOR_LIMITS = 16  # rows of the rarer class, from which limits of a gain were simulated


@dataclass(frozen=True, slots=True, eq=False)
class Assessment:
    """One method: the calibrator of all rows, None without a fit, and its gains on new rows.

    selected: the method itself, or the one that `auto` selects. gains: empty with a reason.
    """

    method: Method
    selected: Method
    calibrator: AnyCalibrator | None
    gains: Mapping[LossName, GainEstimate]
    reason: str | None = None


def assess_methods(
    counts: ScoreCounts, methods: Sequence[Method], level: float, rng: np.random.Generator
) -> list[Assessment]:
    """Return the assessment of each method on score counts with both classes.

    Gains are cross-fitted; of more than `MOST_SCORES` scores, neighbours are merged for them.
    """
    mean_design_effect = design_effect(counts)
    effective_rows = RowKinds.from_scores(counts).in_effect
    fitter = MethodFitter(counts.scores, effective_rows, mean_design_effect, counts.unit)
    rows_by_class = class_rows(counts)
    gains: Mapping[Method, Mapping[LossName, GainEstimate]] = {}
    table_reason = why_no_limits(RowKinds.from_scores(counts), rows_by_class.sum(axis=1).min())
    if table_reason is None:
        grouped_counts = counts.coarser(MOST_SCORES)
        gains = _estimated_gains(
            grouped_counts, replace_scores(fitter, grouped_counts), methods, level, rng
        )
    table_fits = fitter.fit_all(methods, rows_by_class[:1], rows_by_class[1:])
    return [
        assess_method(
            method,
            method_fits.selected[0],
            method_fits.calibrators[0],
            gains.get(method, {}),
            table_reason,
        )
        for method, method_fits in table_fits.items()
    ]


def assess_method(
    method: Method,
    selected: Method,
    calibrator: AnyCalibrator | None,
    gains: Mapping[LossName, GainEstimate],
    table_reason: str | None,
) -> Assessment:
    """Return the assessment of a method by its calibrator of all rows.

    table_reason: why no method has a gain of these rows, None where they have.
    """
    reason = _why_no_gain(calibrator) or table_reason
    return Assessment(method, selected, calibrator, {} if reason else gains, reason)


def why_no_limits(rows: RowKinds, rarer_rows: float) -> str | None:
    """Return why no gain of these rows has limits that hold; None if they have.

    rarer_rows: in units, of the rarer class, or of all classes but the most frequent one.
    """
    if rows.has_few_clusters:
        return "few_clusters"
    return "too_few_rows" if rarer_rows / rows.unit < FEWEST_FOR_LIMITS else None


def _why_no_gain(calibrator: AnyCalibrator | None) -> str | None:
    """Return why a calibrator cannot be used; None if it can."""
    if calibrator is None:
        return "separation"
    return None if calibrator.rises else "reversed_scores"


def replace_scores(fitter: MethodFitter, counts: ScoreCounts) -> MethodFitter:
    """Return the fitter for counts of merged scores."""
    return MethodFitter(counts.scores, fitter.rows, fitter.effect, fitter.row_weight)


def contradicted_rows(counts: ScoreCounts) -> float:
    """Return the rows whose class had probability 0, by which the log loss is infinite."""
    inner_scores = log_odds_slice(counts.scores)
    contradicted: Counts = (
        counts.positives[: inner_scores.start].sum() + counts.negatives[inner_scores.stop :].sum()
    )
    return float(contradicted / counts.unit)


def needed_methods(methods: Sequence[Method], candidates: Sequence[Method]) -> list[Method]:
    """Return the methods whose gains are needed, those too among which `auto` chooses."""
    methods_in_order = dict.fromkeys(methods)
    if "auto" in methods_in_order:
        methods_in_order |= dict.fromkeys(candidates)
    methods_in_order.pop("none", None)  # it gains nothing
    return [*methods_in_order]


def _estimated_gains(
    counts: ScoreCounts,
    fitter: MethodFitter,
    methods: Sequence[Method],
    level: float,
    rng: np.random.Generator,
) -> dict[Method, dict[LossName, GainEstimate]]:
    """Return the gain of each method in each loss, with limits."""
    rows = RowKinds.from_scores(counts)
    method_list = needed_methods(methods, fitter.candidates)
    cross_fitted = cross_fit(rows, ScoreJudge(counts, fitter), method_list, rng)
    return estimated_gains(rows, cross_fitted, PARAMETERS, fitter.candidates, level)
