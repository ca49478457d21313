"""Cross-fitted gains: each row is judged by a calibrator that saw neither it nor its cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from clfeval.arrays import Counts, Floats, divide
from clfeval.counts.clusters_and_weights import ClusterCounts, RowWeights
from clfeval.counts.scores import ScoreCounts
from clfeval.inference.resampling import split_into_folds
from clfeval.measures.logistic import fit_line, log_odds, log_odds_slice
from clfeval.measures.logistic_regression import inverse_logit
from clfeval.measures.probability import log_losses, squared_errors
from clfeval.methods.recalibration.method_fits import MethodFitter
from clfeval.methods.recalibration.method_names import Method
from clfeval.records import dataclass

LossName = Literal["log_loss", "brier"]
LOSSES: Mapping[LossName, Callable[..., Floats]] = {"log_loss": log_losses, "brier": squared_errors}
FOLDS = 10
REPEATS = 4
MOST_SCORES = 2**12  # groups of scores by which gains are cross-fitted


@dataclass(frozen=True, slots=True, eq=False)
class CrossFittedGains:
    """Gains of one method by loss: loss of the scores less that of the recalibrated ones.

    held_out (2, m): mean gain of positives and of negatives at each score, by calibrators fitted
    without them; apparent: mean gain of the calibrator of all rows on these same rows.
    """

    held_out: Mapping[LossName, Floats]
    apparent: Mapping[LossName, float]


def cross_fitted_gains(
    counts: ScoreCounts, fitter: MethodFitter, methods: Sequence[Method], rng: np.random.Generator
) -> dict[Method, CrossFittedGains]:
    """Return the gains of methods, cross-fitted over `FOLDS` random folds, repeated.

    Folds hold rows, or whole clusters. counts: those at the scores of the fitter.
    Source: Stone 1974, Journal of the Royal Statistical Society B 36:111.
    """
    rows = class_rows(counts)
    sums = {method: {name: np.zeros(rows.shape) for name in LOSSES} for method in methods}
    for held_out in deal_folds(counts, REPEATS, rng):
        training = rows[:, None] - held_out
        for method, fitted in fitter.fit_all(methods, *training).items():
            for name in LOSSES:
                gains = _gains(name, counts.scores, fitted.probabilities)
                sums[method][name] += (held_out * gains).sum(axis=1)
    of_all_rows = fitter.fit_all(methods, rows[:1], rows[1:])
    return {
        method: CrossFittedGains(
            {name: np.nan_to_num(divide(total, REPEATS * rows)) for name, total in by_loss.items()},
            _apparent_gains(counts, of_all_rows[method].probabilities),
        )
        for method, by_loss in sums.items()
    }


def class_rows(counts: ScoreCounts) -> Floats:
    """Return the rows of positives and of negatives at each score, (2, m)."""
    return np.array([counts.positives, counts.negatives], np.float64)


def rows_in_effect(counts: ScoreCounts) -> float:
    """Return the number of rows, of weighted ones the effective number."""
    if isinstance(counts.clusters, RowWeights):
        return counts.clusters.size
    return float((counts.positives.sum() + counts.negatives.sum()) / counts.unit)


def deal_folds(counts: ScoreCounts, repeats: int, rng: np.random.Generator) -> Iterator[Counts]:
    """Yield the rows held out of each fold, (2, folds, m), for each repeat.

    There are `FOLDS` folds, or as many as clusters if these are fewer.
    """
    m = len(counts.scores)
    owned = counts.clusters
    folds = min(FOLDS, len(owned)) if isinstance(owned, ClusterCounts) else FOLDS
    class_counts = np.concatenate([counts.positives, counts.negatives])
    for _ in range(repeats):
        if owned is None:
            dealt = split_into_folds(class_counts, folds, rng)
        else:
            dealt = owned.split_into_folds(2 * m, folds, rng)
        yield dealt.reshape(folds, 2, m).transpose(1, 0, 2)


def _gains(loss: LossName, scores: Floats, fitted: Floats) -> Floats:
    """Return the gains of positives and of negatives by recalibrated scores: (2, tables, m)."""
    return np.array([LOSSES[loss](scores, y) - LOSSES[loss](fitted, y) for y in (True, False)])


def _apparent_gains(counts: ScoreCounts, fitted: Floats) -> dict[LossName, float]:
    """Return the mean gain by the calibrator of all rows on these rows; fitted (1, m)."""
    rows = class_rows(counts)
    return {
        name: float((rows * _gains(name, counts.scores, fitted)[:, 0]).sum() / rows.sum())
        for name in LOSSES
    }


def design_effect(counts: ScoreCounts) -> float:
    """Return the mean design effect of a logistic recalibration, at least 1 with clusters.

    Half the trace of A^-1 B: A the information of intercept and slope, B the sum over sampling
    units of squared scores. 1 for rows without clusters or weights, and where there is no fit.
    Source: Rao and Scott 1984, Annals of Statistics 12:46.
    """
    inner = log_odds_slice(counts.scores)
    x = log_odds(counts.scores)
    rows = class_rows(counts)
    line = fit_line(x[inner], *rows[:, inner])
    if counts.clusters is None or np.isnan(line).any():
        return 1.0
    is_inner = np.zeros(len(x))
    is_inner[inner] = 1.0
    fitted = inverse_logit(line[0] + line[1] * x)
    design = np.array([is_inner, is_inner * x])
    weight = rows.sum(axis=0) * fitted * (1 - fitted)
    information = (design * weight) @ design.T
    residuals = np.concatenate([1 - fitted, -fitted])
    products = counts.clusters.products(np.hstack([design, design]) * residuals)
    effect = float(np.trace(np.linalg.solve(information, products))) / 2
    return max(effect, 1.0) if isinstance(counts.clusters, ClusterCounts) else effect
