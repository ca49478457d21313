"""Rows dealt to folds, from their counts: what is chosen on some is judged on the others."""

from __future__ import annotations

import numpy as np

from clfeval.arrays import Counts, Ints

_MOST = 10**9  # rows that numpy deals exactly


def split_into_folds(counts: Counts, folds: int, rng: np.random.Generator) -> Ints:
    """Deal rows, of which m groups have `counts` (m,), to folds of equal size: (folds, m)."""
    if counts.sum() >= _MOST:
        return rng.multinomial(counts, np.full(folds, 1 / folds)).T
    left, rows, dealt = counts, int(counts.sum()), []
    for others in range(folds, 1, -1):
        size = rows // others
        dealt.append(rng.multivariate_hypergeometric(left, size, method="marginals"))
        left, rows = left - dealt[-1], rows - size
    return np.array([*dealt, left])
