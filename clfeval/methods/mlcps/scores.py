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
    plain = d[..., weights > 0]
    nothing = np.full(mlcps.shape, np.nan)
    # in order, so that the order of columns changes no digit
    ordered = np.sort(plain, axis=-1)
    return {
        "mlcps": mlcps,
        "normalised": mlcps / most if most > 0 else nothing,
        "order_free": order_free(rays),
        "lowest": lowest,
        "highest": highest,
        "mean": ordered.mean(axis=-1) if ordered.shape[-1] else nothing,
        "sd": ordered.std(axis=-1, ddof=1) if ordered.shape[-1] > 1 else nothing,
    }
