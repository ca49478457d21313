"""Paired differences of TAR by hand: Wilson limits, square and add, with their correlation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from scipy.optimize import brentq
from scipy.stats import chi2, norm
from statsmodels.stats.proportion import proportion_confint

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

    def frame(self) -> pl.DataFrame:
        rows = [
            (truth, a, b, n)
            for truth, table in ((1, self.positives), (0, self.negatives))
            for (a, b), n in zip(((1, 1), (1, 0), (0, 1), (0, 0)), table, strict=True)
        ]
        return pl.DataFrame(rows, schema=["truth", "a", "b", "n"], orient="row")


def everywhere(level: float, pairs: int = 1) -> float:
    """Return the level of one interval of which a sweep's and all pairs' hold together.

    The larger of all a X + b Y, a² + b² = 1 and a, b >= 0 or both <= 0, of two independent normal
    X and Y is above c with probability P(|X| > c) + P(X² + Y² > c²) (pi/2) / pi, no more.
    """

    def beyond(c: float) -> float:
        return float(2 * norm.sf(c) + chi2.sf(c * c, 2) / 2)

    c = brentq(lambda c: beyond(c) - (1 - level) / pairs, 0.1, 30, xtol=1e-13)
    return float(norm.cdf(c) - norm.cdf(-c))


def tar(counts: Sequence[int], r: float, level: float) -> tuple[float, float, float]:
    """Return p TP/P + n TN/N and its limits."""
    tp, fp, fn, tn = counts
    p, n = r / (1 + r), 1 / (1 + r)
    x, y = tp / (tp + fn), tn / (fp + tn)
    l1, u1 = proportion_confint(tp, tp + fn, 1 - level, "wilson")
    l2, u2 = proportion_confint(tn, fp + tn, 1 - level, "wilson")
    value = p * x + n * y
    down, up = math.hypot(p * (x - l1), n * (y - l2)), math.hypot(p * (u1 - x), n * (u2 - y))
    return value, value - down, value + up


def association(table: Pairs) -> float:
    """Return the correlation of two answers, a positive one less n/2 (Newcombe 1998, method 10)."""
    e, f, g, h = table
    top = e * h - f * g
    if top > 0:
        top = max(top - sum(table) / 2, 0)
    margins = (e + f) * (g + h) * (e + g) * (f + h)
    return top / math.sqrt(margins) if margins else 0.0


def correlation(two: Two, r: float) -> float:
    """Return the correlation of the TARs: the classes are independent, each shares its rows."""
    shared, own = 0.0, [0.0, 0.0]
    for weight, table in ((r, two.positives), (1.0, two.negatives)):
        n = sum(table)
        says = (table[0] + table[1]) / n, (table[0] + table[2]) / n
        spread = [weight**2 * q * (1 - q) / n for q in says]
        shared += association(table) * math.sqrt(spread[0] * spread[1])
        own = [one + more for one, more in zip(own, spread, strict=True)]
    return shared / math.sqrt(own[0] * own[1]) if own[0] * own[1] else 0.0


def difference(
    two: Two, r: float, *, paired: bool = True, level: float = 0.95
) -> tuple[float, float, float]:
    """Return TAR of a less that of b at odds r, and its limits."""
    both = two.counts()
    (f1, l1, u1), (f2, l2, u2) = (tar(both[name], r, level) for name in "ab")
    rho = correlation(two, r) if paired else 0.0

    def side(d: float, e: float) -> float:
        return math.sqrt(max(d * d - 2 * rho * d * e + e * e, 0))

    return f1 - f2, f1 - f2 - side(f1 - l1, u2 - f2), f1 - f2 + side(u1 - f1, f2 - l2)
