"""Counts at distinct scores; losses and skill scores of probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import comb, inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Counts, Floats, Influence, Ints, Number, cache_last_call, divide
from clfeval.measures.record import Measure

MIN_PROBABILITY = 2.0**-52  # smaller ones, of the truth or of either class, count as this one


def distinct_starts(scores: Counts) -> Ints:
    """Return the start index of each distinct score, (d,); ValueError unless scores ascend."""
    score_array = np.asarray(scores)
    if not (score_array[1:] >= score_array[:-1]).all():
        raise ValueError("scores must be sorted, ascending")
    is_start = np.ones(len(score_array), bool)
    np.greater(score_array[1:], score_array[:-1], out=is_start[1:])
    return np.flatnonzero(is_start)


def sum_at_scores(scores: Counts, *counts: Counts) -> tuple[Counts, Counts, Any]:
    """Return the counts summed over equal scores, and the number type of the sums."""
    pos, neg = map(np.asarray, counts)
    number_type: Any = np.float64 if "f" in (pos.dtype.kind, neg.dtype.kind) else np.int64
    if not (np.asarray(scores)[1:] > np.asarray(scores)[:-1]).all():
        starts = distinct_starts(scores)
        pos = np.add.reduceat(pos, starts, axis=-1, dtype=number_type)
        neg = np.add.reduceat(neg, starts, axis=-1, dtype=number_type)
    return pos, neg, number_type


def sum_of_products(a: Counts, b: Counts, kind: type[np.number[Any]]) -> Counts:
    """Return the sum of a b over the last axis, computed in one number type."""
    return np.asarray(np.einsum("...m,...m->...", a, b, dtype=kind, casting="same_kind"))


def bounded_share(numerator: Counts, denominator: Counts) -> Floats:
    """Return numerator / denominator, at most 1 in spite of rounding."""
    return np.asarray(np.minimum(divide(numerator, denominator), 1.0))


def score_positions(scores: Counts) -> Ints:
    """Return the index of each ascending score among the distinct ones: (m,)."""
    starts = distinct_starts(scores)
    if len(starts) == len(scores):
        return starts
    return np.repeat(np.arange(len(starts)), np.diff(starts, append=len(scores)))


def class_totals(positives: Counts, negatives: Counts) -> tuple[Floats, Floats]:
    """Return the number of positives and of negatives, (...), as floats."""
    p = np.asarray(positives.sum(axis=-1), np.float64)
    n = np.asarray(negatives.sum(axis=-1), np.float64)
    return p, n


def check_probabilities(p: ArrayLike) -> Floats:
    """Return an array of probabilities; ValueError for numbers outside 0..1."""
    probabilities = np.asarray(p, np.float64)
    # NaN is neither
    if probabilities.size and not (probabilities.min() >= 0 and probabilities.max() <= 1):
        raise ValueError("probabilities lie between 0 and 1")
    return probabilities


Loss = Callable[[ArrayLike, ArrayLike], Floats]
_BLOCK = 2**15  # scores per block, few enough to stay in the cache
_SAMPLED = 2**10  # scores whose mean loss is near that of all


def clipped_weight(p: ArrayLike, truth: ArrayLike, n: Counts) -> Counts:
    """Return the number, or weight, of rows with a true-class probability below 2**-52, (...)."""
    true_class_p = np.where(np.asarray(truth, bool), p, 1 - np.asarray(p, np.float64))
    return np.asarray(n[..., true_class_p < MIN_PROBABILITY].sum(axis=-1))


def squared_errors(p: ArrayLike, truth: ArrayLike) -> Floats:
    """Return (truth - p)² of each row, (m,), whose mean is the Brier score; 0..1, best 0.

    Of the two classes this is half the sum over both, (1/2) sum (y_k - p_k)². ValueError for
    probabilities outside 0..1.
    Source: Brier 1950, Monthly Weather Review 78:1; Kuhn and Johnson, AML4TD, equation 15.24.
    """
    return np.asarray((np.asarray(truth, bool) - check_probabilities(p)) ** 2)


def log_losses(p: ArrayLike, truth: ArrayLike) -> Floats:
    """Return -ln(probability of the truth) of each row, (m,), whose mean is cross-entropy.

    Range 0..52 ln 2, best 0: probabilities of the truth below 2**-52 count as 2**-52;
    `clipped_weight` counts them. ValueError for probabilities outside 0..1.
    Source: Good 1952, Journal of the Royal Statistical Society B 14:107.
    """
    probabilities = check_probabilities(p)
    is_positive = np.asarray(truth, bool)
    log_p: Floats | float = 0.0
    log_not_p: Floats | float = 0.0
    if is_positive.any():
        log_p = np.log(np.maximum(probabilities, MIN_PROBABILITY))
    if not is_positive.all():
        log_not_p = log_complement(np.minimum(probabilities, 1 - MIN_PROBABILITY))
    if is_positive.ndim:
        return np.asarray(0.0 - np.where(is_positive, log_p, log_not_p))  # never -0.0
    return np.asarray(0.0 - (log_p if is_positive else log_not_p))


def log_complement(p: Floats) -> Floats:
    """Return ln(1 - p) of p below 1 with all its digits, in less than half the time of log1p."""
    complement = 1 - p
    lost_by_rounding = p - (1 - complement)
    return np.asarray(np.log(complement) - lost_by_rounding / complement)


def given_probabilities(p: ArrayLike, _: ArrayLike) -> Floats:
    """Return the probabilities of the positive class of each row, (m,), as a loss."""
    return check_probabilities(p)


def mean_loss(losses: Floats, n: Counts) -> Floats:
    """Return the mean of losses (m,) of n (..., m) rows: sum n x loss / sum n; NaN where n is all
    0.
    """
    # summed row by row: the rounding of a matrix product depends on the number of rows
    return divide((n * losses).sum(axis=-1), n.sum(axis=-1))


def mean_class_loss(loss: Loss, scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the mean of a loss over positives and negatives, (..., m) each, at scores (m,): (...).

    NaN without rows; errors of the loss.
    """
    if np.ndim(positives) == 1 and len(scores) > _SAMPLED:
        sums = loss_sums(loss, scores, positives, negatives)
        rows, deviations, centres = sums[:, 0], sums[:, 1], sums[:, 5]
        return divide((deviations + centres * rows).sum(), rows.sum())
    loss_total: Any = 0.0
    for start in range(0, len(scores), _BLOCK):
        block = slice(start, start + _BLOCK)
        for y, n in ((True, positives), (False, negatives)):
            loss_total = loss_total + (n[..., block] * loss(scores[block], y)).sum(axis=-1)
    return divide(loss_total, np.sum(class_totals(positives, negatives), axis=0))


def mean_loss_influence(
    loss: Loss, scores: Counts, positives: Counts, negatives: Counts
) -> Influence:
    """Return the influence on the mean of a loss: the loss less its mean."""
    scores_and_counts = scores, positives, negatives
    mean = mean_class_loss(loss, *scores_and_counts)
    return loss_influence(loss, scores_and_counts, 1.0, -mean, -mean)


def loss_influence(
    loss: Loss,
    counts: Sequence[Counts],
    slope: Number,
    positive_shift: Number,
    negative_shift: Number,
) -> Influence:
    """Return the influence slope loss + shift, with a shift of positives and one of negatives.

    counts: scores, positives and negatives, (m,) each.
    """
    scores = counts[0]

    def values_at(indices: Ints | slice, y: bool) -> Floats:
        return np.asarray(
            slope * loss(scores[indices], y) + (positive_shift if y else negative_shift)
        )

    def power_sums() -> Floats:
        powers = loss_powers(loss, counts, slope, positive_shift, negative_shift)
        return np.asarray(powers.sum(axis=0)[2::2])

    return Influence(len(scores), values_at, power_sums)


@cache_last_call
def loss_sums(loss: Loss, scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the sums over rows of (loss - c)^k, k 0 to 4, and c near the mean loss, (2, 6).

    Of each class, positives first; positives and negatives (m,).
    """
    sums = np.zeros((2, 6))
    sample_slice = slice(None, None, 1 + len(scores) // _SAMPLED)
    for class_sums, y, n in zip(sums, (True, False), (positives, negatives), strict=True):
        class_sums[5] = np.nan_to_num(mean_loss(loss(scores[sample_slice], y), n[sample_slice]))
        for start in range(0, len(scores), _BLOCK):
            block = slice(start, start + _BLOCK)
            indices_with_rows = np.flatnonzero(n[block] > 0)
            deviations = np.subtract(loss(scores[block].take(indices_with_rows), y), class_sums[5])
            weighted_powers = n[block].take(indices_with_rows).astype(np.float64)
            class_sums[0] += weighted_powers.sum()
            for k in range(1, 5):
                weighted_powers *= deviations
                class_sums[k] += weighted_powers.sum()
    return sums


def loss_powers(loss: Loss, counts: Sequence[Counts], slope: Number, *shifts: Number) -> Floats:
    """Return the sums over rows of (slope loss + shift)^k, k 0 to 4, by class, (2, 5).

    counts: scores, positives and negatives, (m,) each; shifts: of positives and of negatives.
    """
    sums_and_shifts = zip(loss_sums(loss, *counts), shifts, strict=True)
    # the sums are those of losses less class_sums[5]
    return np.array(
        [
            [sum_of_powers(k, slope * class_sums[5] + shift, slope, class_sums) for k in range(5)]
            for class_sums, shift in sums_and_shifts
        ]
    )


def sum_of_powers(k: int, shift: Number, slope: Number, sums: Floats) -> float:
    """Return the sum over rows of (shift + slope u)^k from the sums of u^j, j 0 to k."""
    return float(sum(comb(k, j) * shift ** (k - j) * slope**j * sums[j] for j in range(k + 1)))


def brier_of_share(share: Floats | float) -> tuple[Floats, Floats]:
    """Return o (1 - o), the Brier score of always forecasting the share o, and its slope in o."""
    return np.asarray(share * (1 - share)), np.asarray(1 - 2 * share)


def log_loss_of_share(share: Floats | float) -> tuple[Floats, Floats]:
    """Return the log loss of always forecasting the share, 0 at 0 and 1, and its slope in it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        negated_losses = [
            np.where(x > 0, x * np.log(x), 0.0) for x in (share, np.subtract(1, share))
        ]
        slope = np.log1p(-np.asarray(share)) - np.log(share)
    of_positives, of_negatives = negated_losses
    return np.asarray(0.0 - (of_positives + of_negatives)), np.asarray(slope)


Prior = Callable[[Any], tuple[Floats, Floats]]  # a loss of a forecast share, and its slope


def skill_score(
    loss: Loss, prior: Prior, scores: Counts, positives: Counts, negatives: Counts
) -> Floats:
    """Return 1 - mean loss / loss of forecasting the sample's share of positives for every row.

    Range: up to 1, best 1; 0 for that forecast, below 0 for worse. NaN without rows of both
    classes, where it has no loss. Errors: those of the loss.
    Source: Murphy 1988, Monthly Weather Review 116:2417; scikit-learn's `d2_log_loss_score`.
    """
    p, n = class_totals(positives, negatives)
    reference_loss, _ = prior(divide(p, p + n))
    has_both_classes = (p > 0) & (n > 0)
    mean = mean_class_loss(loss, scores, positives, negatives)
    return np.asarray(1 - divide(mean, np.where(has_both_classes, reference_loss, np.nan)))


def skill_score_influence(
    loss: Loss, prior: Prior, scores: Counts, positives: Counts, negatives: Counts
) -> Influence:
    """Return the influence on a skill score, a ratio of two losses.

    f = -(f_loss - L / R f_R) / R   f_R = slope(o) (y - o), with L the mean loss, R that of the
    share o of positives. NaN without rows of both classes.
    """
    p, n = class_totals(positives, negatives)
    prevalence = np.where((p > 0) & (n > 0), divide(p, p + n), np.nan)
    reference_loss, slope = prior(prevalence)
    mean = mean_class_loss(loss, scores, positives, negatives)
    shifts = [mean + divide(mean, reference_loss) * slope * (y - prevalence) for y in (True, False)]
    return loss_influence(
        loss, (scores, positives, negatives), *divide([-1, *shifts], reference_loss)
    )


_BRIER = "Brier 1950, Monthly Weather Review 78:1"
_GOOD = "Good 1952, Journal of the Royal Statistical Society B 14:107"


def _mean_measure(
    name: str,
    title: str,
    loss: Loss,
    formula: str,
    source: str,
    aliases: tuple[str, ...] = (),
    **fields: Any,
) -> Measure:
    """Return the record of a measure that is the mean of a loss."""
    return Measure(
        name,
        title,
        partial(mean_class_loss, loss),
        "probabilities",
        ("too_few_rows",),
        "influence",
        formula,
        source,
        aliases,
        loss=loss,
        influence=partial(mean_loss_influence, loss),
        **fields,
    )


def _skill_measure(
    name: str, title: str, loss: Loss, prior: Prior, formula: str, source: str, *aliases: str
) -> Measure:
    """Return the record of a skill score of a loss."""
    influence = partial(skill_score_influence, loss, prior)
    return Measure(
        name,
        title,
        partial(skill_score, loss, prior),
        "probabilities",
        ("single_class",),
        "influence",
        formula,
        source,
        aliases,
        low=-inf,
        scale="log",
        influence=influence,
    )


PROBABILITIES = (
    _mean_measure(
        "brier",
        "Brier",
        squared_errors,
        "mean of sum (y - p)² / 2 over classes",
        _BRIER,
        ("brier_score", "brier_class", "brier_score_loss"),
        best="min",
        scale="logit",
    ),
    _mean_measure(
        "log_loss",
        "log loss",
        log_losses,
        "mean of -ln p, p the predicted probability of the true class",
        _GOOD,
        ("cross_entropy", "logloss", "mn_log_loss"),
        best="min",
        high=inf,
        scale="log",
    ),
    _skill_measure(
        "log_loss_skill",
        "log loss skill",
        log_losses,
        log_loss_of_share,
        "1 - log loss / log loss of the sample's class shares",
        "textbook",
        "d2_log_loss",
        "d2_log_loss_score",
    ),
    _mean_measure(
        "brier_sum",
        "Brier (sum)",
        lambda p, truth: 2 * squared_errors(p, truth),
        "mean of sum (y - p)² over classes",
        _BRIER,
        best="min",
        high=2,
        scale="logit",
    ),
    _skill_measure(
        "brier_skill",
        "Brier skill",
        squared_errors,
        brier_of_share,
        "1 - Brier / Brier of the sample's class shares",
        _BRIER,
        "d2_brier",
        "d2_brier_score",
    ),
    _mean_measure(
        "mean_score",
        "mean score",
        given_probabilities,
        "sum of the probabilities / M",
        "textbook",
        ("mean_risk", "mean_probability"),
        best="none",
        scale="logit",
    ),
)
