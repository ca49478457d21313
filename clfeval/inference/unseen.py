"""Posterior draws of counts with prior mass for errors that no row of the sample shows.

Every class has half a row more that every model predicts correctly, and half a row wrongly.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Bools, Floats
from clfeval.inference.resampling import CELLS

MASS = 1.0  # rows added to a class, shared by all answers that there may be
MIN_PRIOR_ROWS = 64  # rows that share it


def prior_error_patterns(models: int, least: int = MIN_PRIOR_ROWS) -> Bools:
    """Return which models err in each of m rows of prior mass, (m, models).

    Every model errs in half of the rows, and every two agree in half of them: columns of a
    Hadamard matrix, an orthogonal array of strength 2. m is the least power of 2 above the number
    of models, and at least `least`.

    Errors: ValueError without a model.
    Source: Sylvester 1867, Philosophical Magazine 34:461; Plackett and Burman 1946, Biometrika
    33:305.
    """
    if models < 1:
        raise ValueError("at least one model is needed")
    rows = 1
    while rows < max(least, models + 1):
        rows *= 2
    # the parity of the bits that place and column share; column 0 is constant
    shared = np.arange(rows)[:, None] & np.arange(1, models + 1)
    odd = np.zeros(shared.shape, bool)
    while shared.any():
        odd ^= (shared & 1).astype(bool)
        shared >>= 1
    return odd


def dirichlet_counts(
    shapes: ArrayLike, positive: ArrayLike, *, resamples: int, rng: np.random.Generator
) -> Iterator[Floats]:
    """Yield posterior weights of rows, in batches of draws.

    Within a class the weights are Dirichlet with the shapes; the share of positives is
    Beta(P + 1/2, N + 1/2). With shapes that are the counts, and MASS more in each class, half right
    and half wrong, this is Perks' posterior, and the rate of each model is Beta(hits + 1/2, misses
    + 1/2), Jeffreys' distribution. No weight is 0 where it matters.

    Shapes: shapes and positive (m,); yields (b, m), in all `resamples` draws. Each adds up to
    M = P + N, the shapes less MASS in each class; a class of no rows has none.
    Errors: ValueError unless shapes are a vector of positive numbers.
    Source: Perks 1947, Journal of the Institute of Actuaries 73:285; Jeffreys 1946, Proceedings of
    the Royal Society A 186:453; Rubin 1981, Annals of Statistics 9:130 (without MASS).
    """
    a, truth = np.asarray(shapes, np.float64), np.asarray(positive, bool)
    if a.ndim != 1 or not a.size or not ((a > 0) & (a < np.inf)).all():
        raise ValueError("shapes must be a vector of numbers above 0")
    classes = [one for one in (truth, ~truth) if one.any()]
    n = np.array([a[one].sum() - MASS for one in classes])
    every, m, most = np.concatenate([a, n + MASS / 2]), len(a), max(1, CELLS // len(a))
    for start in range(0, resamples, most):
        # a draw at a time, so that it is the same however many there are
        drawn = rng.standard_gamma(every, (min(most, resamples - start), len(every)))
        weights, sizes = drawn[:, :m], drawn[:, m:]
        sizes *= n.sum() / sizes.sum(axis=1, keepdims=True)
        for one, size in zip(classes, sizes.T, strict=True):
            weights[:, one] *= (size / weights[:, one].sum(axis=1))[:, None]
        yield weights
