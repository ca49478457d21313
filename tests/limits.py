"""Limits of shares, written apart from those of the program or by another library."""

from __future__ import annotations

import math

from scipy import stats
from statsmodels.stats.proportion import proportion_confint


def wilson(hits: float, rows: float, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's limits of a share: (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n)."""
    z = stats.norm.isf((1 - level) / 2)
    share, part = hits / rows, z * z / rows
    half = z * math.sqrt(share * (1 - share) / rows + part / (4 * rows))
    middle = share + part / 2
    return (middle - half) / (1 + part), (middle + half) / (1 + part)


def wilson_of_statsmodels(hits: int, rows: int, level: float = 0.95) -> tuple[float, float]:
    low, high = proportion_confint(hits, rows, alpha=1 - level, method="wilson")
    return float(low), float(high)


def clopper_pearson(hits: float, rows: float, level: float = 0.95) -> tuple[float, float]:
    """Return Clopper and Pearson's limits of a share, as quantiles of beta distributions."""
    tail = (1 - level) / 2
    low = float(stats.beta.ppf(tail, hits, rows - hits + 1)) if hits > 0 else 0.0
    high = float(stats.beta.isf(tail, hits + 1, rows - hits)) if hits < rows else 1.0
    return low, high
