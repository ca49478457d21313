"""Every score of models whose metrics are rays: the area, its kin, and the plain mean and SD."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from clfeval.measures.polygon import area, extremes, greatest, order_free

Floats = NDArray[np.float64]

SCORES = ("mlcps", "normalised", "order_free", "lowest", "highest", "mean", "sd")


def scores_of(d: Floats, weights: Floats) -> Mapping[str, Floats]:
    """Return each score of models, NaN where there is no polygon or no spread.

    mlcps: area of the rays w d in their order; normalised: its share of what d = 1 would get;
    order_free, lowest, highest: mean, least and greatest area over all orders; mean, sd: of the
    metrics themselves, those of weight 0 aside, the standard deviation with n - 1.

    Shapes: d (..., k, n), weights (n,); each score (..., k).
    """
    rays = d * weights
    mlcps = area(rays)
    most = greatest(weights)
    lowest, highest = extremes(rays)
    # rounded each in its own way: they must not part
    free = np.clip(order_free(rays), lowest, highest)
    mean, sd = _mean_and_sd(d[..., weights > 0])
    return {
        "mlcps": mlcps,
        "normalised": mlcps / most if most > 0 else np.full(mlcps.shape, np.nan),
        "order_free": free,
        "lowest": lowest,
        "highest": highest,
        "mean": mean,
        "sd": sd,
    }


def _mean_and_sd(d: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation, NaN of no metrics and of one; the order is no matter."""
    shape, n = d.shape[:-1], d.shape[-1]
    mean, sd = np.full(shape, np.nan), np.full(shape, np.nan)
    if not n:
        return mean, sd
    ordered = np.sort(d, axis=-1)
    # a sum of equal numbers may be off by a rounding, and their SD would not be 0
    constant = ordered[..., 0] == ordered[..., -1]
    mean = np.where(constant, ordered[..., 0], ordered.mean(axis=-1))
    if n > 1:
        sd = np.where(constant, 0.0, ordered.std(axis=-1, ddof=1))
    return mean, sd
