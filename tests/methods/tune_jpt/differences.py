"""Differences of TAR by hand: what every row adds to them, and half a row more of each kind."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.stats import chi2, norm, t

Pairs = tuple[int, int, int, int]  # both, only the first, only the second, neither says positive


@dataclass(frozen=True)
class Two:
    """Two classifiers of the same positives and negatives."""

    positives: Pairs
    negatives: Pairs

    def counts(self) -> dict[str, tuple[int, int, int, int]]:
        """Return TP, FP, FN, TN of a and of b."""
        (e, f, g, h), (i, j, k, m) = self.positives, self.negatives
        return {"a": (e + f, i + j, g + h, k + m), "b": (e + g, i + k, f + h, j + m)}

    def weighted_rows(self) -> pl.DataFrame:
        """Return the predictions of a and b with how many rows have them."""
        rows = [
            (truth, a, b, n)
            for truth, table in ((1, self.positives), (0, self.negatives))
            for (a, b), n in zip(((1, 1), (1, 0), (0, 1), (0, 0)), table, strict=True)
        ]
        return pl.DataFrame(rows, schema=["truth", "a", "b", "n"], orient="row")


@cache
def everywhere(level: float, pairs: int = 1) -> float:
    """Return the level of one interval of which a sweep's and all pairs' hold together.

    The larger of all a X + b Y, a² + b² = 1 and a, b >= 0 or both <= 0, of two independent normal
    X and Y is above c with probability P(|X| > c) + P(X² + Y² > c²) (pi/2) / pi, no more.
    """

    def beyond(c: float) -> float:
        return float(2 * norm.sf(c) + chi2.sf(c * c, 2) / 2)

    c = brentq(lambda c: beyond(c) - (1 - level) / pairs, 0.1, 30, xtol=1e-13)
    return float(norm.cdf(c) - norm.cdf(-c))


def difference(
    two: Two, r: float, *, paired: bool = True, level: float = 0.95
) -> tuple[float, float, float]:
    """Return TAR of a less that of b at odds r, d -+ t s, with fewest - 1 degrees of freedom.

    A row right in a and wrong in b adds r / (1 + r) / P, or 1 / (1 + r) / N, to d; s² is the sum of
    squares of what rows add beyond the mean of their class, and of what one more of each class
    would add. Rows of their own add for one model only.
    """
    value, squares, half_rows = 0.0, 0.0, 0.0
    total = sum(two.positives) + sum(two.negatives)
    for weight, sign, table in ((r / (1 + r), 1, two.positives), (1 / (1 + r), -1, two.negatives)):
        n = sum(table)
        a, b = (np.repeat(x, table) for x in ([1, 1, 0, 0], [1, 0, 1, 0]))
        value += sign * weight * float((a - b).mean())
        each = [a - b] if paired else [a, b]
        squares += sum(float(((x - x.mean()) ** 2).sum()) for x in each) * (weight / n) ** 2
        half_rows += (weight / (n + 1) * (total + 2) / total) ** 2
    s = math.sqrt((squares + half_rows) * total / (total - 1))
    df = min(sum(two.positives), sum(two.negatives)) - 1
    reach = float(t.isf((1 - level) / 2, df)) * s
    return value, value - reach, value + reach
