"""Assessment of recalibration methods on class probabilities: calibrators, gains, verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from clfeval.arrays import Counts, Floats, Ints
from clfeval.counts.classes import ClassScores
from clfeval.measures.class_calibrators import ClassCalibrator, RelativeLogs, fit_temperatures
from clfeval.measures.multiclass_scores import brier_losses, log_losses
from clfeval.methods.recalibration.assessment import (
    Assessment,
    assess_method,
    needed_methods,
    why_no_limits,
)
from clfeval.methods.recalibration.class_fits import ClassFitter
from clfeval.methods.recalibration.cross_fitting import MOST_SCORES, LossName, cross_fit
from clfeval.methods.recalibration.gain import GainEstimate, estimated_gains
from clfeval.methods.recalibration.method_names import Method
from clfeval.methods.recalibration.row_kinds import RowKinds
from clfeval.records import dataclass

CLASS_LOSSES: Mapping[LossName, Callable[[Ints, Floats], Floats]] = {
    "log_loss": log_losses,
    "brier": brier_losses,
}


@dataclass(frozen=True, slots=True, eq=False)
class ClassJudge:
    """What calibrators of class probabilities gain on the rows of the fitter: a `RowJudge`."""

    fitter: ClassFitter

    def held_out_gains(
        self, methods: Sequence[Method], held_out: Counts
    ) -> Iterator[tuple[Method, LossName, Floats]]:
        """Yield the gains of each kind of row by calibrators fitted to the other folds."""
        training_rows = self.fitter.scores.n - held_out
        for method, class_fits in self.fitter.fit_all(methods, training_rows).items():
            gain_sums = {loss: np.zeros(held_out.shape[1]) for loss in CLASS_LOSSES}
            for calibrator, fold_rows in zip(class_fits.calibrators, held_out, strict=True):
                row_indices = np.flatnonzero(fold_rows)
                for loss, gains in self._gains(calibrator, row_indices).items():
                    gain_sums[loss][row_indices] += fold_rows[row_indices] * gains
            yield from ((method, loss, gains) for loss, gains in gain_sums.items())

    def apparent_gains(self, methods: Sequence[Method]) -> dict[Method, dict[LossName, float]]:
        """Return the mean gains by calibrators of all rows on these same rows."""
        n = self.fitter.scores.n
        all_indices = np.arange(len(n))
        return {
            method: {
                loss: float((n * gains).sum() / n.sum())
                for loss, gains in self._gains(class_fits.calibrators[0], all_indices).items()
            }
            for method, class_fits in self.fitter.fit_all(methods, n[None]).items()
        }

    def _gains(
        self, calibrator: ClassCalibrator | None, row_indices: Ints
    ) -> dict[LossName, Floats]:
        """Return the gains of some rows; 0 without a calibrator, as they keep their scores."""
        if calibrator is None or not calibrator.rises:
            return {loss: np.zeros(len(row_indices)) for loss in CLASS_LOSSES}
        truth = self.fitter.scores.truth[row_indices]
        p = self.fitter.scores.p[row_indices]
        calibrated = calibrator.calibrate(p)
        return {
            loss: losses(truth, p) - losses(truth, calibrated)
            for loss, losses in CLASS_LOSSES.items()
        }


def assess_class_methods(
    scores: ClassScores, methods: Sequence[Method], level: float, rng: np.random.Generator
) -> list[Assessment]:
    """Return the assessment of each method on class probabilities of rows of several classes.

    For gains, the probabilities of a class are merged with neighbours if more than `MOST_SCORES`.
    """
    rows = RowKinds.from_classes(scores)
    logs = RelativeLogs.from_probabilities(scores.truth, scores.p)
    mean_design_effect = class_design_effect(rows, logs)
    fitter = ClassFitter.from_scores(scores, rows.in_effect, logs, mean_design_effect)
    gains: Mapping[Method, Mapping[LossName, GainEstimate]] = {}
    table_reason = why_no_limits(rows, rows_of_other_classes(scores))
    if table_reason is None:
        grouped_fitter = fitter.with_groups(MOST_SCORES)
        method_list = needed_methods(methods, fitter.candidates)
        cross_fitted = cross_fit(rows, ClassJudge(grouped_fitter), method_list, rng)
        gains = estimated_gains(rows, cross_fitted, fitter.parameters, fitter.candidates, level)
    return [
        assess_method(
            method, fit.selected[0], fit.calibrators[0], gains.get(method, {}), table_reason
        )
        for method, fit in fitter.fit_all(methods, scores.n[None]).items()
    ]


def rows_of_other_classes(scores: ClassScores) -> float:
    """Return the rows, in units, that are not of the most frequent class."""
    class_sizes = np.bincount(scores.truth, scores.n, len(scores.classes))
    return float(class_sizes.sum() - class_sizes.max())


def class_design_effect(rows: RowKinds, logs: RelativeLogs) -> float:
    """Return the mean design effect of a temperature, 1 where there is no fit."""
    (power,) = fit_temperatures(logs, rows.n[None])
    if rows.clusters is None or not power > 0:
        return 1.0
    _, slopes, curvatures = logs.row_terms(float(power))
    return rows.design_effect(slopes[None], np.array([[(rows.n * curvatures).sum()]]))
