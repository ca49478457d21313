"""Measures of the ranking that scores give, and the influence of one row on them.

They take scores (m,), ascending, or their ranks, with counts of positives and negatives at each,
(..., m), and return (...); ValueError for scores that are not ascending.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf

import numpy as np

from clfeval.arrays import Counts, Floats, Influence, Ints, cache_last_call, divide, running_sums
from clfeval.measures.probability import (
    bounded_share,
    class_totals,
    score_positions,
    sum_at_scores,
    sum_of_products,
)
from clfeval.measures.record import Measure

LOW_FPR = (0.0, 0.1)  # the default range of the partial area


@cache_last_call
def roc_auc(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the area under the ROC curve: P(a positive scores above a negative), ties 1/2.

    sum over scores of positives x (2 negatives below + negatives tied) / (2 P N)

    Range 0..1, best 1, chance 1/2; NaN without positives or without negatives.
    Source: Hanley and McNeil 1982, Radiology 143:29; ties by Bamber 1975, Journal of Mathematical
    Psychology 12:387.
    """
    pos, neg, number_type = sum_at_scores(scores, positives, negatives)
    twice_pairs = 2.0 * pos.sum(axis=-1) * neg.sum(axis=-1)
    if number_type is np.int64 and np.max(twice_pairs, initial=0.0) >= 2.0**63:
        # the pairs exceed 64 bits; a perfect ranking must still lose exactly 0 of them
        negatives_up_to = neg.cumsum(axis=-1, dtype=number_type)
        negatives_above = neg.sum(axis=-1, dtype=number_type, keepdims=True) - negatives_up_to
        tied_pairs, won_pairs, lost_pairs = (
            sum_of_products(pos, negatives_at.astype(np.float64), np.float64)
            for negatives_at in (neg, negatives_up_to - neg, negatives_above)
        )
        return bounded_share(2 * won_pairs + tied_pairs, 2 * (won_pairs + tied_pairs + lost_pairs))
    negatives_up_to = (
        running_sums(pos, neg)[1, 1:] if pos.ndim == 1 else neg.cumsum(axis=-1, dtype=number_type)
    )
    pairs_up_to = sum_of_products(pos, negatives_up_to, number_type)  # tied ones included
    tied_pairs = sum_of_products(pos, neg, number_type)
    return bounded_share(2 * pairs_up_to - tied_pairs, twice_pairs)


def average_precision(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the average precision: the sum of (R_i - R_(i-1)) P_i over descending scores.

    P_i and R_i are precision and recall of all rows at or above distinct score i, not interpolated.
    Range 0..1, best 1, chance the prevalence; NaN without positives.
    Source: Manning, Raghavan and Schuetze 2008, Introduction to Information Retrieval, section 8.4.
    """
    pos, neg, _ = sum_at_scores(scores, positives, negatives)
    pos, neg = pos[..., ::-1], neg[..., ::-1]
    true_positives = pos.cumsum(axis=-1, dtype=np.float64)
    predicted_positives = neg.cumsum(axis=-1, dtype=np.float64)
    predicted_positives += true_positives
    # scores above the first resampled row have neither precision nor new recall
    precision = np.divide(
        true_positives, predicted_positives, out=true_positives, where=predicted_positives > 0
    )
    precision *= pos
    # summed in the same way, so that a perfect ranking has exactly 1
    return bounded_share(precision.sum(axis=-1), (pos * 1.0).sum(axis=-1))


def ks(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the Kolmogorov-Smirnov statistic: max |tpr - fpr| over all thresholds; 0..1, best 1.

    NaN without positives or without negatives.
    Source: Conover 1999, Practical Nonparametric Statistics, section 6.3.
    """
    pos, neg, number_type = sum_at_scores(scores, positives, negatives)
    p, n = (counts.sum(axis=-1, dtype=number_type).astype(np.float64) for counts in (pos, neg))
    scaled_difference = pos.cumsum(axis=-1, dtype=number_type) * n[..., None]
    scaled_difference -= neg.cumsum(axis=-1, dtype=number_type) * p[..., None]
    return bounded_share(
        np.abs(scaled_difference, out=scaled_difference).max(axis=-1, initial=0.0), p * n
    )


def pr_auc(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the area under the precision-recall curve by trapezoids, from recall 0, precision 1.

    sum (R_i - R_(i-1)) (P_i + P_(i-1)) / 2 over the distinct scores from the highest down, P_0 = 1

    Range 0..1, best 1; NaN without positives.
    Source: the convention of yardstick and of scikit-learn's `auc` over its curve; Davis and
    Goadrich 2006, ICML 23:233, on the interpolation.
    """
    pos, neg, _ = sum_at_scores(scores, positives, negatives)
    precision, _ = _precision_from_above(pos, neg)
    twice_area = (pos * (precision + _next_higher(precision, 1.0))).sum(axis=-1)
    return bounded_share(twice_area, 2.0 * pos.sum(axis=-1, dtype=np.float64))


def partial_auc(
    scores: Counts, positives: Counts, negatives: Counts, fpr: Sequence[float] = LOW_FPR
) -> Floats:
    """Return the ROC AUC over a range of false positive rates, standardised: 1/2 chance, 1 best.

    (1 + (A - chance) / (b - a - chance)) / 2   chance = (b² - a²) / 2

    with A the area below the curve between the false positive rates a and b, its points joined by
    lines. Of 0..1 it is the whole area. Below 0 only for rankings worse than chance; NaN without
    positives or without negatives. ValueError unless 0 <= a < b <= 1.
    Source: McClish 1989, Medical Decision Making 9:190.
    """
    low, high = map(float, fpr)
    if not 0 <= low < high <= 1:
        raise ValueError(f"{low:g} to {high:g} is not a range between 0 and 1")
    pos, neg, _ = sum_at_scores(scores, positives, negatives)
    p, n = class_totals(pos, neg)
    tpr = divide(_from_above(pos), p[..., None])
    point_fpr = divide(_from_above(neg), n[..., None])
    area = _area_within(point_fpr, tpr, low, high)
    chance = (high**2 - low**2) / 2
    return np.asarray((1 + (area - chance) / (high - low - chance)) / 2)


def _area_within(fpr: Floats, tpr: Floats, low: float, high: float) -> Floats:
    """Return the area (...) below lines that join ROC points (..., m), of FPR from low to high."""
    # each line joins a point to the one at the next higher score
    lower_tpr = _next_higher(tpr, 0.0)
    lower_fpr = _next_higher(fpr, 0.0)
    start_fpr = np.clip(lower_fpr, low, high)
    stop_fpr = np.clip(fpr, low, high)
    slope = np.divide(
        tpr - lower_tpr, fpr - lower_fpr, out=np.zeros_like(tpr), where=fpr > lower_fpr
    )
    start_tpr = lower_tpr + slope * (start_fpr - lower_fpr)
    stop_tpr = lower_tpr + slope * (stop_fpr - lower_fpr)
    return np.asarray(((stop_fpr - start_fpr) * (start_tpr + stop_tpr) / 2).sum(axis=-1))


def auprg(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the area under the precision-recall-gain curve, from a recall gain of 0 to 1.

    precision gain = 1 - r FP / TP   recall gain = 1 - r FN / TP   r = P / N

    Range up to 1, best 1, chance 0; NaN without positives or without negatives.
    Source: Flach and Kull 2015, NeurIPS 28:838.
    """
    pos, neg, _ = sum_at_scores(scores, positives, negatives)
    tp = _from_above(pos)
    fp = _from_above(neg)
    p, n = (total[..., None] for total in class_totals(positives, negatives))
    higher_tp = _next_higher(tp, 0.0)
    higher_fp = _next_higher(fp, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        start_tp = np.maximum(higher_tp, p * p / (p + n))  # where the recall gain is 0
        line_fraction = np.where(tp > higher_tp, (start_tp - higher_tp) / (tp - higher_tp), 0.0)
        start_fp = higher_fp + line_fraction * (fp - higher_fp)
        precision_gain_sum = (1 - p / n * fp / tp) + (1 - p / n * start_fp / start_tp)
        recall_gain_width = p / n * p * (1 / start_tp - 1 / tp)
        area = np.where(tp > start_tp, recall_gain_width * precision_gain_sum / 2, 0.0).sum(axis=-1)
    # rounded sums for a perfect ranking may exceed 1 by a last digit
    return np.where((p * n)[..., 0] > 0, np.minimum(area, 1.0), np.nan)


def _from_above(counts: Counts) -> Floats:
    """Return the number of rows with at least each score, along the last axis."""
    # integers take a tenth of the time of floats
    descending_total = counts[..., ::-1].cumsum(axis=-1)
    return np.asarray(descending_total[..., ::-1], np.float64)


def _precision_from_above(positives: Counts, negatives: Counts) -> tuple[Floats, Floats]:
    """Return precision and number of the rows with at least each score; 1 where there are none."""
    true_positives = _from_above(positives)
    predicted_positives = _from_above(positives + negatives)
    precision = np.divide(
        true_positives,
        predicted_positives,
        out=np.ones_like(true_positives),
        where=predicted_positives > 0,
    )
    return precision, predicted_positives


def _next_higher(values: Floats, highest_value: float) -> Floats:
    """Return the value at the next higher score; `highest_value` at the highest."""
    shifted = np.full_like(values, highest_value)
    shifted[..., :-1] = values[..., 1:]
    return shifted


def roc_auc_influence(scores: Counts, positives: Counts, negatives: Counts) -> Influence:
    """Return the influence on the area under the ROC curve, by DeLong's placements.

    of a positive: (share of negatives below it, ties 1/2, - AUC) M / P
    of a negative: (share of positives above it, ties 1/2, - AUC) M / N

    NaN without positives or without negatives.
    Source: DeLong, DeLong and Clarke-Pearson 1988, Biometrics 44:837.
    """
    pos, neg, _ = sum_at_scores(scores, positives, negatives)
    p, n = class_totals(pos, neg)
    area = roc_auc(scores, positives, negatives)
    pos_below, neg_below = running_sums(pos, neg)[:, :-1]
    inverse_shares = {True: divide(p + n, p), False: divide(p + n, n)}
    positions = None if len(pos) == len(scores) else score_positions(scores)

    def values_at(indices: Ints | slice, y: bool) -> Floats:
        if positions is not None:
            indices = positions[indices]
        if y:
            won_share = divide(neg_below[indices] + neg[indices] / 2, n)
        else:
            won_share = divide(p - pos_below[indices] - pos[indices] / 2, p)
        return np.asarray((won_share - area) * inverse_shares[y])

    return Influence(len(scores), values_at)


def gini_influence(scores: Counts, positives: Counts, negatives: Counts) -> Influence:
    """Return the influence on 2 AUC - 1, twice that on the area."""
    area = roc_auc_influence(scores, positives, negatives)
    return Influence(area.m, lambda indices, y: 2 * area.values_at(indices, y))


def average_precision_influence(
    scores: Counts,
    positives: Counts,
    negatives: Counts,
    parts: Sequence[tuple[float, int]] = ((1.0, 0),),
) -> Influence:
    """Return the influence on the average precision, E[Prec(S) | positive].

    f(y, s) = (y (Prec(s) - AP) + sum over scores u <= s of p(u) (y - Prec(u)) / B(u)) / pi

    with p(u) the share of rows that are positive at score u, B(u) of those that score at least u
    and pi of positives. NaN without positives. parts: of a mean of precisions the weight and step
    of each, at the score (0) or at the next higher one (1): half of both for trapezoids.
    Source: the derivative of the measure along the share of each kind of row.
    """
    pos, neg = sum_at_scores(scores, positives, negatives)[:2]
    p, n = class_totals(pos, neg)
    if not p:
        return Influence.from_arrays(*np.full((2, len(np.asarray(scores))), np.nan))
    precision, predicted_positives = _precision_from_above(pos, neg)
    influence = np.zeros((2, len(pos)))
    mean_precision = np.zeros(())
    for weight, step in parts:
        step_precision = precision
        step_rows = predicted_positives
        if step:
            step_precision = _next_higher(precision, 1.0)
            step_rows = _next_higher(predicted_positives, 0.0)
        mean_precision = mean_precision + weight * (pos * step_precision).sum() / p
        # the contribution of each score up to that of a row
        positive_shares = np.divide(
            pos, step_rows, out=np.zeros_like(step_rows), where=step_rows > 0
        )
        contributions = np.array(
            [
                (positive_shares * (1 - step_precision)).cumsum(),
                (-positive_shares * step_precision).cumsum(),
            ]
        )
        if step:
            contributions = np.concatenate([np.zeros((2, 1)), contributions[:, :-1]], axis=1)
        influence += weight * contributions
        influence[0] += weight * step_precision
    influence[0] -= mean_precision
    return Influence.from_arrays(*((p + n) / p * influence[:, score_positions(scores)]))


_TRAPEZOIDS = partial(average_precision_influence, parts=((0.5, 0), (0.5, 1)))


TOP = 0.1  # the default share of the rows


def recall_at_k(
    scores: Counts, positives: Counts, negatives: Counts, k: float = TOP, row: float = 1
) -> Floats:
    """Return the recall at k, the share of positives among the top k rows: cumulative gain.

    k up to 1 is a share of the rows, above 1 a number of rows. Ties at rank k are counted in
    expectation over their order. row: counts per row. Range 0..1, best 1, chance k as a share; NaN
    without positives, and with fewer than k rows. ValueError unless k > 0.
    Source: Jarvelin and Kekalainen 2002, ACM TOIS 20:422, cumulative gain; the ties: McSherry and
    Najork 2008, ECIR 30:414.
    """
    true_positives, _ = _positives_in_top_k(scores, positives, negatives, k, row)
    return bounded_share(true_positives, class_totals(positives, negatives)[0])


def precision_at_k(
    scores: Counts, positives: Counts, negatives: Counts, k: float = TOP, row: float = 1
) -> Floats:
    """Return the precision at k, the share of positives among the top k rows; chance the
    prevalence.

    NaN without rows, and with fewer than k. Else as `recall_at_k`.
    """
    return bounded_share(*_positives_in_top_k(scores, positives, negatives, k, row))


def lift_at_k(
    scores: Counts, positives: Counts, negatives: Counts, k: float = TOP, row: float = 1
) -> Floats:
    """Return the lift at k: the share of positives among the top k rows over that of all rows.

    From 0 up, best high, chance 1. Else as `recall_at_k`.
    """
    p, n = class_totals(positives, negatives)
    precision = precision_at_k(scores, positives, negatives, k, row)
    return divide(precision, divide(p, np.where(p > 0, p + n, p)))


def _positives_in_top_k(
    scores: Counts, positives: Counts, negatives: Counts, k: float, row: float
) -> tuple[Floats, Floats]:
    """Return the expected positives among the top k rows, and the number of these rows."""
    if not k > 0:
        raise ValueError(f"k {k:g} is not above 0")
    pos, neg, _ = sum_at_scores(scores, positives, negatives)
    descending_pos = pos[..., ::-1] * 1.0
    rows_at_scores = (pos[..., ::-1] + neg[..., ::-1]) * 1.0
    total_rows = rows_at_scores.sum(axis=-1)
    top_rows = k * total_rows if k <= 1 else np.where(total_rows >= k * row, k * row, np.nan)
    rows_above = rows_at_scores.cumsum(axis=-1) - rows_at_scores
    with np.errstate(invalid="ignore"):
        included_rows = np.clip(top_rows[..., None] - rows_above, 0, rows_at_scores)
    included_shares = np.divide(
        included_rows, rows_at_scores, out=np.zeros_like(rows_at_scores), where=rows_at_scores > 0
    )
    return np.asarray((descending_pos * included_shares).sum(axis=-1)), np.asarray(top_rows)


_TIES = "Jarvelin and Kekalainen 2002, ACM TOIS 20:422"
_TAKES, _FILLS = ("k",), ("row",)

RANKING = (
    Measure(
        "roc_auc",
        "ROC AUC",
        roc_auc,
        "scores",
        ("single_class",),
        "delong",
        "P(score of a positive > score of a negative), ties ½",
        "Hanley and McNeil 1982, Radiology 143:29",
        ("c_statistic", "auc", "auroc"),
        invariant=True,
        influence=roc_auc_influence,
        scale="logit",
    ),
    Measure(
        "gini",
        "Gini",
        lambda *counts: np.asarray(2 * roc_auc(*counts) - 1),
        "scores",
        ("single_class",),
        "delong",
        "2 AUC - 1, the area between the φ-δ curve and the φ axis",
        "Armano 2015, Information Sciences 325:466",
        ("gain_capture",),
        low=-1,
        invariant=True,
        influence=gini_influence,
        scale="fisher",
    ),
    Measure(
        "average_precision",
        "average precision",
        average_precision,
        "scores",
        ("no_positive_truth",),
        "influence",
        "sum (R_i - R_(i-1)) P_i over distinct scores",
        aliases=("pr_auc_step", "ap"),
        influence=average_precision_influence,
        scale="logit",
    ),
    Measure(
        "ks",
        "KS",
        ks,
        "scores",
        ("single_class",),
        "permuted",
        "largest |TPR - FPR| over thresholds",
        "Kolmogorov-Smirnov distance of two samples",
        invariant=True,
    ),
    Measure(
        "roc_auc_ovr",
        "ROC AUC (one class against the rest)",
        None,
        "scores",
        ("single_class",),
        "delong",
        "mean over classes of the ROC AUC of the class",
        "Provost and Domingos 2000, NYU Stern IS-00-04",
        scale="logit",
    ),
    Measure(
        "partial_auc",
        "partial AUC",
        partial_auc,
        "scores",
        ("single_class",),
        "drawn",
        "area over a range of false positive rates, standardised",
        "McClish 1989, Medical Decision Making 9:190",
        takes=("fpr",),
        invariant=True,
    ),
    Measure(
        "pr_auc",
        "PR AUC",
        pr_auc,
        "scores",
        ("no_positive_truth",),
        "influence",
        "area under the precision-recall curve, by trapezoids",
        influence=_TRAPEZOIDS,
        scale="logit",
        caveat="linear interpolation is too optimistic; prefer average precision",
    ),
    Measure(
        "auprg",
        "AUPRG",
        auprg,
        "scores",
        ("single_class",),
        "drawn",
        "area under the precision-recall gain curve, 0 at chance",
        "Flach and Kull 2015, NeurIPS 28:838",
        ("pr_gain_auc",),
        low=-inf,
    ),
    Measure(
        "precision@k",
        "precision at k",
        precision_at_k,
        "scores",
        ("too_few_rows",),
        "drawn",
        "share of positives in the top k",
        _TIES,
        ("precision_at_k",),
        takes=_TAKES,
        fills=_FILLS,
    ),
    Measure(
        "recall@k",
        "recall at k",
        recall_at_k,
        "scores",
        ("no_positive_truth", "too_few_rows"),
        "drawn",
        "share of all positives in the top k",
        _TIES,
        ("recall_at_k",),
        takes=_TAKES,
        fills=_FILLS,
    ),
    Measure(
        "gain@k",
        "gain at k",
        recall_at_k,
        "scores",
        ("no_positive_truth", "too_few_rows"),
        "drawn",
        "share of all positives in the top k",
        _TIES,
        ("gain_at_k", "cumulative_gain"),
        twin="recall@k",
        takes=_TAKES,
        fills=_FILLS,
    ),
    Measure(
        "lift@k",
        "lift at k",
        lift_at_k,
        "scores",
        ("no_positive_truth", "too_few_rows"),
        "drawn",
        "share of positives among the top k / share of positives",
        _TIES,
        ("lift_at_k",),
        high=inf,
        takes=_TAKES,
        fills=_FILLS,
    ),
)
