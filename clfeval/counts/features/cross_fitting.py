"""The best threshold of a feature, and its cross-fitted counts on rows not used to choose it."""

from __future__ import annotations

import numpy as np

from clfeval.arrays import Counts
from clfeval.counts.patterns import safe_for_products
from clfeval.inference.slice_complement import split_into_folds

_SEED, _DIVISIONS = 0, 5


UNDEALT = (np.inf, np.inf)


def cross_fitted_counts(positives: Counts, negatives: Counts) -> tuple[float, float]:
    """Return the cross-fitted numbers of positives and negatives above the best threshold.

    Two stratified folds: the best threshold of each half is applied to the other. The mean of five
    divisions, with one seed for every feature.

    Shapes: (values,) each, whole numbers. `UNDEALT` with fewer than two rows of a class.
    Source: cross-fitting; Stone 1974, Journal of the Royal Statistical Society B 36:111.
    """
    if min(positives.sum(), negatives.sum()) < 2:
        return UNDEALT
    rng = np.random.default_rng(_SEED)
    tp = fp = 0
    for _ in range(_DIVISIONS):
        half = split_into_folds(positives, 2, rng)[0], split_into_folds(negatives, 2, rng)[0]
        rest = positives - half[0], negatives - half[1]
        for chosen, judged in ((half, rest), (rest, half)):
            first = best_cut_position(*chosen)
            tp, fp = tp + judged[0][first:].sum().item(), fp + judged[1][first:].sum().item()
    return tp / _DIVISIONS, fp / _DIVISIONS


def best_cut_position(positives: Counts, negatives: Counts) -> int:
    """Return the index of the best threshold; integers are compared exactly, without division."""
    positives, negatives, p, n = safe_for_products(
        positives, negatives, positives.sum(), negatives.sum()
    )
    tp, fp = positives[::-1].cumsum()[::-1], negatives[::-1].cumsum()[::-1]
    gain = np.abs(tp * n - fp * p)
    most = np.flatnonzero(gain == gain.max())
    return int(most[np.abs(tp * n + fp * p - p * n)[most].argmin()])
