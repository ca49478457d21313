"""Measures of the probabilities of C classes, two or more, and their influence functions.

Of distinct rows: truth (m,) is the number of the true class, p (m, C) the probabilities, n (..., m)
the frequency. A measure is (...), NaN where undefined. Its influence function takes n (m,) and is f
(m,), with sum n f = 0 and theta_hat - theta = (1/M) sum f; NaN where the measure is undefined. All
raise ValueError for probabilities outside 0..1; rows need not sum to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints, divide
from clfeval.measures import calibration
from clfeval.measures.probability import MIN_PROBABILITY, Prior, check_probabilities, mean_loss
from clfeval.measures.record import Measure, Multiclass

_EXACT, _ROUNDING = 2.0**53, 1e-13  # pairs from which on two sums of equal terms may differ

Weighting = Literal["macro", "weighted"]
RowLoss = Callable[[Ints, Floats], Floats]


def log_losses(truth: Ints, p: Floats) -> Floats:
    """Return -ln(probability of the true class) of each row, (m,); 0..52 ln 2, best 0.

    Probabilities below 2**-52 count as 2**-52: see `clipped_weight`.
    Source: Good 1952, Journal of the Royal Statistical Society B 14:107.
    """
    clipped = np.maximum(_true_class_probability(truth, p), MIN_PROBABILITY)
    return np.asarray(0.0 - np.log(clipped))  # never -0.0


def squared_sums(truth: Ints, p: Floats) -> Floats:
    """Return the Brier sum of each row over the classes, sum (y_k - p_k)², (m,); 0..2, best 0.

    Source: Brier 1950, Monthly Weather Review 78:1.
    """
    return np.asarray((_deviations(truth, p) ** 2).sum(axis=1))


def brier_losses(truth: Ints, p: Floats) -> Floats:
    """Return half of `squared_sums`, with two classes (y - p)² of either, (m,); 0..1, best 0.

    Source: Kuhn and Johnson, AML4TD, equation 15.24.
    """
    return np.asarray(squared_sums(truth, p) / 2)


def ranked_squares(truth: Ints, p: Floats) -> Floats:
    """Return the ranked probability score of each row, (m,); 0..1, best 0.

    sum over k < C of (sum_(j<=k) y_j - sum_(j<=k) p_j)² / (C - 1)
    Source: Epstein 1969, Journal of Applied Meteorology 8:985; Kuhn and Johnson, AML4TD, 15.27.
    """
    cumulated_deviations = _deviations(truth, p).cumsum(axis=1)[:, :-1]
    return divide((cumulated_deviations**2).sum(axis=1), p.shape[1] - 1)


def in_top_k(truth: Ints, p: Floats, k: int = 2) -> Floats:
    """Return 1 for rows whose true class is among the k most probable, else 0, (m,).

    Ties go to the class that is earlier in their order.
    """
    true_class_p = _true_class_probability(truth, p)[:, None]
    is_earlier = np.arange(p.shape[1]) < truth[:, None]
    ranks_higher = (p > true_class_p) | ((p == true_class_p) & is_earlier)
    return np.asarray(ranks_higher.sum(axis=1) < k, np.float64)


def excess_confidence(truth: Ints, p: Floats) -> Floats:
    """Return the largest probability, minus 1 where its class is the true one, (m,); -1..1.

    Of equally probable classes the first in their order is predicted.
    """
    probabilities = check_probabilities(p)
    is_right = probabilities.argmax(axis=1) == truth
    return np.asarray(probabilities.max(axis=1) - is_right)


def clipped_weight(truth: Ints, p: Floats, n: Counts) -> Counts:
    """Return the number, or weight, of rows with a true-class probability below 2**-52, (...)."""
    return np.asarray(n[..., _true_class_probability(truth, p) < MIN_PROBABILITY].sum(axis=-1))


def mean_row_loss(
    loss: Callable[..., Floats], truth: Ints, p: Floats, n: Counts, **settings: int
) -> Floats:
    """Return the mean loss over rows."""
    return mean_loss(loss(truth, p, **settings), n)


def mean_row_loss_influence(
    loss: Callable[..., Floats], truth: Ints, p: Floats, n: Counts, **settings: int
) -> Floats:
    """Return influence values f of a mean loss: the loss of a row minus the mean."""
    losses = loss(truth, p, **settings)
    return np.asarray(losses - mean_loss(losses, n))


def _brier_of_shares(share: Floats) -> tuple[Floats, Floats]:
    """Return half the Brier sum of forecasting class shares, (...), and its slope in each share."""
    return (1 - (share**2).sum(axis=-1)) / 2, -share


def _log_loss_of_shares(share: Floats) -> tuple[Floats, Floats]:
    """Return the log loss of forecasting the class shares, (...), and its slope in each share."""
    class_losses = -np.log(np.where(share > 0, share, 1.0))
    return (share * class_losses).sum(axis=-1), class_losses


def row_skill(loss: RowLoss, prior: Prior, truth: Ints, p: Floats, n: Counts) -> Floats:
    """Return 1 - mean loss / loss of forecasting the class shares; best 1, 0 for that forecast.

    prior: gives, for class shares, the loss of forecasting them and its slope in each.
    NaN where all rows are of one class.
    """
    reference_loss, _ = prior(_class_shares(truth, p, n))
    reference_loss = np.where(np.asarray(reference_loss) > 0, reference_loss, np.nan)
    return np.asarray(1 - mean_row_loss(loss, truth, p, n) / reference_loss)


def row_skill_influence(loss: RowLoss, prior: Prior, truth: Ints, p: Floats, n: Counts) -> Floats:
    """Return influence values f of a skill score, a ratio of two losses."""
    reference_loss, slopes = prior(_class_shares(truth, p, n))
    reference_loss = np.where(reference_loss > 0, reference_loss, np.nan)
    ratio = mean_row_loss(loss, truth, p, n) / reference_loss
    row_slopes = slopes[truth]
    reference_influence = row_slopes - (n * row_slopes).sum() / n.sum()
    loss_influence = mean_row_loss_influence(loss, truth, p, n)
    return np.asarray((ratio * reference_influence - loss_influence) / reference_loss)


def roc_auc(truth: Ints, p: Floats, n: Counts) -> Floats:
    """Return the mean ROC AUC over pairs of classes; 0..1, best 1, chance 1/2.

    mean over i < j of (A(i|j) + A(j|i)) / 2, A(i|j) = P(p_i of a row of class i > p_i of one of
    class j), ties 1/2; over the pairs of classes that both have rows. NaN where fewer than two
    classes have rows. Independent of prevalence. Source: Hand and Till 2001, Machine Learning
    45:171.
    """
    areas = _pairwise_areas(truth, p, n)
    is_defined = ~np.isnan(areas)
    area_total = np.where(is_defined, areas, 0.0).sum(axis=(-2, -1))
    return divide(area_total, is_defined.sum(axis=(-2, -1)))


def roc_auc_influence(truth: Ints, p: Floats, n: Counts) -> Floats:
    """Return influence values f of the mean over pairs: mean placements in the pairs of a row."""
    weights = np.where(np.isnan(_pairwise_areas(truth, p, n)), 0.0, 1.0)
    influence = np.zeros(len(n))
    for i, pair_weights in enumerate(weights):
        influence = influence + _placements(p[:, i], truth, i, n, pair_weights)
    return divide(influence, weights.sum())


def roc_auc_by_class(truth: Ints, p: Floats, n: Counts) -> Floats:
    """Return the ROC AUC of each class against all others, (..., C)."""
    # side 0 is the class, side 1 the others
    wins_and_rows = (
        _won_pairs(p[:, k], (truth != k) * 1, winner=0, side_count=2, n=n)
        for k in range(p.shape[1])
    )
    areas = [divide(won[..., 1], rows.prod(axis=-1)) for won, rows in wins_and_rows]
    return np.stack(areas, axis=-1)


def roc_auc_ovr(truth: Ints, p: Floats, n: Counts, by: Weighting = "macro") -> Floats:
    """Return the mean over classes of the ROC AUC of each against the rest; 0..1, best 1.

    macro: over the classes that have rows; weighted: each by its rows. NaN where fewer than two
    have any. Source: Provost and Domingos 2000, NYU Stern IS-00-04.
    """
    areas, weights = _areas_and_weights(truth, p, n, by)
    return divide((np.nan_to_num(areas) * weights).sum(axis=-1), weights.sum(axis=-1))


def roc_auc_ovr_influence(truth: Ints, p: Floats, n: Counts, by: Weighting = "macro") -> Floats:
    """Return influence values f of the mean area: weighted placements, and the class weights."""
    areas, weights = _areas_and_weights(truth, p, n, by)
    influence = np.zeros(len(n))
    for k in np.flatnonzero(weights):
        influence += _placements(p[:, k], (truth != k) * 1, 0, n, np.array([0.0, weights[k]]))
    if by == "weighted":
        mean_area = roc_auc_ovr(truth, p, n, by)
        influence += np.where(weights > 0, np.nan_to_num(areas) - mean_area, 0.0)[truth]
    return divide(influence, weights.sum())


def _areas_and_weights(truth: Ints, p: Floats, n: Counts, by: Weighting) -> tuple[Floats, Floats]:
    """Return the area and the weight of each class, (..., C); weight 0 where it has no area."""
    areas = roc_auc_by_class(truth, p, n)
    share = _class_shares(truth, p, n) if by == "weighted" else 1.0
    return areas, np.where(np.isnan(areas), 0.0, share)


def _pairwise_areas(truth: Ints, p: Floats, n: Counts) -> Floats:
    """Return A(i|j) of every pair of classes, (..., C, C); NaN on the diagonal and without rows."""
    class_count = p.shape[1]
    areas = []
    for i in range(class_count):
        won, rows = _won_pairs(p[:, i], truth, winner=i, side_count=class_count, n=n)
        areas.append(divide(won, rows * rows[..., [i]]))
    area_table = np.stack(areas, -2)
    area_table[..., np.arange(class_count), np.arange(class_count)] = np.nan
    return area_table


def _won_pairs(
    x: Floats, side_of_row: Ints, winner: int, side_count: int, n: Counts
) -> tuple[Floats, Floats]:
    """Return pairs that rows of `winner` win against each side, ties 1/2, and rows, (..., sides).

    side_of_row (m,): 0 to side_count - 1.
    """
    positions, value_count = _positions_among(x, side_of_row == winner)
    won_pairs = np.zeros((*n.shape[:-1], side_count))
    rows = np.zeros((*n.shape[:-1], side_count))
    for index in np.ndindex(n.shape[:-1]):
        rows_below, counts = _rows_below(positions, value_count, side_of_row, side_count, n[index])
        # the rows of the winner are at the odd positions, the values
        won_pairs[index] = counts[1::2, winner] @ rows_below
        rows[index] = counts.sum(axis=0)
    pairs = rows * rows[..., [winner]]
    is_all_won = (pairs >= _EXACT) & np.isclose(won_pairs, pairs, rtol=_ROUNDING, atol=0)
    return np.where(is_all_won, pairs, won_pairs), rows


def _placements(x: Floats, side_of_row: Ints, winner: int, n: Counts, weights: Floats) -> Floats:
    """Return influence values f, (m,), of a weighted sum of the AUCs of `winner` against each side.

    Of a row of the winner: its share of the others below - area; of one of another side, the share
    of the winner above it - area; each over the share of the row's side among all rows.
    side_of_row (m,): as of `_won_pairs`; weights: of each side.
    """
    is_winner = side_of_row == winner
    positions, value_count = _positions_among(x, is_winner)
    rows_below, counts = _rows_below(positions, value_count, side_of_row, len(weights), n)
    winner_counts = counts[:, winner]
    rows = counts.sum(axis=0)
    if not rows[winner]:
        return np.zeros(len(n))
    areas = np.nan_to_num(divide(winner_counts[1::2] @ rows_below, rows * rows[winner]))
    row_weights = np.where(weights > 0, weights / np.where(rows > 0, rows, 1.0), 0.0)
    shares_above = (rows[winner] - winner_counts.cumsum() + winner_counts / 2) / rows[winner]
    influence = (shares_above[positions] - areas[side_of_row]) * row_weights[side_of_row]
    # the positions of the winner are odd: one for each of its values
    winner_influence = (rows_below @ row_weights - areas @ weights) / rows[winner]
    influence[is_winner] = winner_influence[positions[is_winner] // 2]
    return np.asarray(influence * rows.sum())


def _positions_among(x: Floats, is_winner: Bools) -> tuple[Ints, int]:
    """Return the position of each x among the distinct values of the winner's rows, and their
    number.

    2 b + 1 at the value b, 2 b below it and above the one before.
    """
    values = np.unique(check_probabilities(x)[is_winner])
    lower_counts = np.searchsorted(values, x)
    return 2 * lower_counts + (np.append(values, np.nan)[lower_counts] == x), len(values)


def _rows_below(
    positions: Ints, value_count: int, side_of_row: Ints, side_count: int, n: Counts
) -> tuple[Floats, Floats]:
    """Return the rows of each side below each value, ties 1/2, and the counts at each position.

    value_count: the number of distinct values, as of `_positions_among`.
    """
    cell_counts = np.bincount(
        positions * side_count + side_of_row, n, minlength=(2 * value_count + 1) * side_count
    )
    counts: Floats = cell_counts.astype(np.float64).reshape(-1, side_count)
    cumulated = counts.cumsum(axis=0)
    return (cumulated[:-1:2] + cumulated[1::2]) / 2, counts


def _class_shares(truth: Ints, p: Floats, n: Counts) -> Floats:
    """Return the share of each class among the rows, (..., C)."""
    masks: Bools = truth == np.arange(p.shape[1])[:, None]
    rows = np.stack([n[..., mask].sum(axis=-1) for mask in masks], axis=-1)
    return divide(rows, rows.sum(axis=-1, keepdims=True))


def _deviations(truth: Ints, p: Floats) -> Floats:
    """Return y_k - p_k of each row and class, (m, C)."""
    return np.asarray((truth[:, None] == np.arange(p.shape[1])) - check_probabilities(p))


def _true_class_probability(truth: Ints, p: Floats) -> Floats:
    """Return the predicted probability of the true class of each row."""
    return np.asarray(check_probabilities(p)[np.arange(len(truth)), truth])


_SINGLE = ("single_class",)


def _top_share(truth: Ints, p: Floats, n: Counts, k: int = 2) -> tuple[Counts, Counts]:
    """Return the rows whose true class is among the k most probable, and all rows."""
    return n[..., in_top_k(truth, p, k) > 0].sum(axis=-1), n.sum(axis=-1)


def _mean_loss(
    loss: Callable[..., Floats],
    *,
    takes: tuple[str, ...] = (),
    share: Callable[..., tuple[Counts, Counts]] | None = None,
) -> Multiclass:
    """Return the measure that is the mean of a loss of each row."""
    mean = partial(mean_row_loss, loss)
    influence = partial(mean_row_loss_influence, loss)
    return Multiclass(mean, influence, takes=takes, share=share)


def _skill(loss: RowLoss, prior: Prior) -> Multiclass:
    """Return the skill score of a loss."""
    influence = partial(row_skill_influence, loss, prior)
    return Multiclass(partial(row_skill, loss, prior), influence, _SINGLE)


# multiclass versions of the measures of two-class scores, by id
OF_PROBABILITIES: Mapping[str, Multiclass] = {
    "roc_auc": Multiclass(roc_auc, roc_auc_influence, _SINGLE),
    "roc_auc_ovr": Multiclass(roc_auc_ovr, roc_auc_ovr_influence, _SINGLE, takes=("by",)),
    "log_loss": _mean_loss(log_losses),
    "brier": _mean_loss(brier_losses),
    "brier_sum": _mean_loss(squared_sums),
    "log_loss_skill": _skill(log_losses, _log_loss_of_shares),
    "brier_skill": _skill(brier_losses, _brier_of_shares),
    "overconfidence": _mean_loss(excess_confidence),
}

# measures of the probabilities of many classes only
OF_MANY = (
    Measure(
        "brier_per_class",
        "Brier (per class)",
        None,
        "probabilities",
        ("too_few_rows",),
        "influence",
        "mean of sum (y - p)² / C over classes",
        "Brier 1950, Monthly Weather Review 78:1",
        best="min",
        scale="logit",
        classes=_mean_loss(lambda truth, p: squared_sums(truth, p) / p.shape[1]),
    ),
    Measure(
        "rps",
        "RPS",
        None,
        "probabilities",
        ("too_few_rows",),
        "influence",
        "mean of sum (cumulated y - cumulated p)² over classes / (C - 1)",
        "Epstein 1969, Journal of Applied Meteorology 8:985",
        ("ranked_prob_score",),
        best="min",
        scale="logit",
        ordered=True,
        classes=_mean_loss(ranked_squares),
    ),
    Measure(
        "top_k_accuracy",
        "top-k accuracy",
        None,
        "probabilities",
        ("too_few_rows",),
        "share",
        "share of rows whose true class is among the k most probable",
        classes=_mean_loss(in_top_k, takes=("k",), share=_top_share),
    ),
)


def top_label_measure(
    measure: Callable[..., Floats], truth: Ints, p: Floats, n: Counts, **settings: object
) -> Floats:
    """Return a measure of the largest probability, with correct and wrong predictions, (...)."""
    probabilities = check_probabilities(p)
    confidence = probabilities.max(axis=1)
    order = np.argsort(confidence, kind="stable")
    is_right = (probabilities.argmax(axis=1) == truth)[order]
    counts = n[..., order]
    return measure(confidence[order], counts * is_right, counts * ~is_right, **settings)


def _top_label(measure: Callable[..., Floats], *takes: str) -> Multiclass:
    """Return the measure of two classes for the most probable class; takes: its settings."""
    return Multiclass(partial(top_label_measure, measure), takes=takes)


# measures of two classes that apply to the most probable of more, by id
OF_TOP: Mapping[str, Multiclass] = {
    "ece": _top_label(calibration.ece, "bins"),
    "mce": _top_label(calibration.mce, "bins"),
    "ece_debiased": _top_label(calibration.ece_debiased, "bins", "row"),
    "aurc": _top_label(calibration.risk_coverage_area),
    "selective_accuracy": _top_label(calibration.confident_accuracy, "coverage"),
}
