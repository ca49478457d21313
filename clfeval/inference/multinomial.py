"""Resampled counts: how often each distinct row of a table comes up when its rows are drawn again.

Drawing all N rows with replacement is one multinomial draw over the m distinct ones. What is
measured on a draw is measured on the same rows for every model: differences of models stay paired.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

CELLS = 2**18  # counts drawn at a time
_DRAWN_BY_ROW = 8  # rows per distinct row up to which drawing rows is faster than binomials


def resampled_counts(
    n: ArrayLike, *, resamples: int, rng: np.random.Generator, cells: int = CELLS
) -> Iterator[NDArray[np.int64]]:
    """Yield counts of resampled rows, some replicates at a time: Multinomial(N, n / N), N = sum n.

    Where rows hardly repeat they are drawn one by one, otherwise count by count from binomials: the
    same distribution. The draws depend on the counts and the stream, not on `cells`.

    Shapes: n (m,); yields (b, m), in all `resamples` replicates, each b x m at most `cells` or a
    single replicate. Each replicate sums to N.
    Errors: ValueError unless counts are a vector of whole numbers above 0 and resamples a whole
    number that is not negative.
    Source: Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapter 6.
    """
    given = np.asarray(n)
    whole = (given > 0) & (given < np.inf) & (given == np.floor(given))
    if given.ndim != 1 or not given.size or not whole.all():
        raise ValueError("counts must be a vector of whole numbers above 0")
    if resamples < 0 or int(resamples) != resamples:
        raise ValueError("resamples must be a whole number that is not negative")
    counts = given.astype(np.int64)
    return _draws(counts, int(resamples), rng, max(1, cells // len(counts)))


def _draws(
    counts: NDArray[np.int64], resamples: int, rng: np.random.Generator, most: int
) -> Iterator[NDArray[np.int64]]:
    m, total = len(counts), int(counts.sum())
    for start in range(0, resamples, most):
        b = min(most, resamples - start)
        if total > _DRAWN_BY_ROW * m:
            yield rng.multinomial(total, counts / total, size=b).astype(np.int64, copy=False)
            continue
        drawn = np.empty((b, m), np.int64)
        first = np.cumsum(counts) - counts
        for row in drawn:
            rows = np.bincount(rng.integers(0, total, total), minlength=total)
            row[:] = rows if total == m else np.add.reduceat(rows, first)
        yield drawn
