"""Cross-fitted gains: each row is judged by a calibrator that saw neither it nor its cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, Protocol

import numpy as np

from clfeval.arrays import Counts, Floats, divide
from clfeval.counts.scores import ScoreCounts
from clfeval.measures.logistic import fit_line, log_odds, log_odds_slice
from clfeval.measures.logistic_regression import inverse_logit
from clfeval.measures.probability import log_losses, squared_errors
from clfeval.methods.recalibration.method_fits import MethodFitter
from clfeval.methods.recalibration.method_names import Method
from clfeval.methods.recalibration.row_kinds import RowKinds
from clfeval.records import dataclass

LossName = Literal["log_loss", "brier"]
LOSSES: Mapping[LossName, Callable[..., Floats]] = {"log_loss": log_losses, "brier": squared_errors}
REPEATS = 4
MOST_SCORES = 2**12  # groups of scores by which gains are cross-fitted


@dataclass(frozen=True, slots=True, eq=False)
class CrossFittedGains:
    """Gains of one method by loss: loss of the scores less that of the recalibrated ones.

    held_out (k,): mean gain of the rows of each kind, by calibrators fitted without them; apparent:
    mean gain of the calibrator of all rows on these same rows.
    """

    held_out: Mapping[LossName, Floats]
    apparent: Mapping[LossName, float]


class RowJudge(Protocol):
    """What calibrators of several methods gain on rows of k kinds."""

    def held_out_gains(
        self, methods: Sequence[Method], held_out: Counts
    ) -> Iterator[tuple[Method, LossName, Floats]]:
        """Yield the gains of the rows of each kind, summed over folds, (k,), by method and loss.

        held_out (folds, k): the rows of each fold, which calibrators of all other rows judge.
        """

    def apparent_gains(self, methods: Sequence[Method]) -> dict[Method, dict[LossName, float]]:
        """Return the mean gains by calibrators of all rows on these same rows."""


def cross_fit(
    rows: RowKinds, judge: RowJudge, methods: Sequence[Method], rng: np.random.Generator
) -> dict[Method, CrossFittedGains]:
    """Return the gains of methods, cross-fitted over `FOLDS` random folds, repeated.

    Folds hold rows, or whole clusters.
    Source: Stone 1974, Journal of the Royal Statistical Society B 36:111.
    """
    shape = rows.n.shape
    gain_sums = {method: {loss: np.zeros(shape) for loss in LOSSES} for method in methods}
    for held_out in rows.deal_folds(REPEATS, rng):
        for method, loss, gains in judge.held_out_gains(methods, held_out):
            gain_sums[method][loss] += gains
    apparent = judge.apparent_gains(methods)
    judged_rows = REPEATS * rows.n.astype(np.float64)
    return {
        method: CrossFittedGains(
            {
                loss: np.nan_to_num(divide(gain_sum, judged_rows))
                for loss, gain_sum in sums_by_loss.items()
            },
            apparent[method],
        )
        for method, sums_by_loss in gain_sums.items()
    }


@dataclass(frozen=True, slots=True, eq=False)
class ScoreJudge:
    """What calibrators of scores of two classes gain; counts: at the scores of the fitter."""

    counts: ScoreCounts
    fitter: MethodFitter

    def held_out_gains(
        self, methods: Sequence[Method], held_out: Counts
    ) -> Iterator[tuple[Method, LossName, Floats]]:
        """Yield the gains of positives, then negatives, at each score: see `RowJudge`."""
        held_out_by_class = held_out.reshape(len(held_out), 2, -1).transpose(1, 0, 2)
        training_rows = class_rows(self.counts)[:, None] - held_out_by_class
        for method, method_fits in self.fitter.fit_all(methods, *training_rows).items():
            for loss in LOSSES:
                gains = _gains(loss, self.counts.scores, method_fits.probabilities)
                yield method, loss, (held_out_by_class * gains).sum(axis=1).ravel()

    def apparent_gains(self, methods: Sequence[Method]) -> dict[Method, dict[LossName, float]]:
        """Return the mean gains by calibrators of all rows on these same rows."""
        rows = class_rows(self.counts)
        table_fits = self.fitter.fit_all(methods, rows[:1], rows[1:])
        return {
            method: _apparent_gains(self.counts, method_fits.probabilities)
            for method, method_fits in table_fits.items()
        }


def class_rows(counts: ScoreCounts) -> Floats:
    """Return the rows of positives and of negatives at each score, (2, m)."""
    return np.array([counts.positives, counts.negatives], np.float64)


def _gains(loss: LossName, scores: Floats, recalibrated: Floats) -> Floats:
    """Return the gains of positives and of negatives by recalibrated scores: (2, tables, m)."""
    return np.array(
        [
            LOSSES[loss](scores, is_positive) - LOSSES[loss](recalibrated, is_positive)
            for is_positive in (True, False)
        ]
    )


def _apparent_gains(counts: ScoreCounts, recalibrated: Floats) -> dict[LossName, float]:
    """Return the mean gain by the calibrator of all rows on these rows; recalibrated (1, m)."""
    rows = class_rows(counts)
    return {
        loss: float((rows * _gains(loss, counts.scores, recalibrated)[:, 0]).sum() / rows.sum())
        for loss in LOSSES
    }


def design_effect(counts: ScoreCounts) -> float:
    """Return the mean design effect of a logistic recalibration, at least 1 with clusters.

    1 for rows without clusters or weights, and where there is no fit: see `RowKinds`.
    """
    inner_scores = log_odds_slice(counts.scores)
    x = log_odds(counts.scores)
    rows = class_rows(counts)
    line = fit_line(x[inner_scores], *rows[:, inner_scores])
    if counts.clusters is None or np.isnan(line).any():
        return 1.0
    is_inner = np.zeros(len(x))
    is_inner[inner_scores] = 1.0
    fitted = inverse_logit(line[0] + line[1] * x)
    design = np.array([is_inner, is_inner * x])
    score_information = rows.sum(axis=0) * fitted * (1 - fitted)
    residuals = np.concatenate([1 - fitted, -fitted])
    return RowKinds.from_scores(counts).design_effect(
        np.hstack([design, design]) * residuals, (design * score_information) @ design.T
    )
