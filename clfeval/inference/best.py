"""Which of several estimates may be the best, and how much too good the best one looks."""

from __future__ import annotations

from dataclasses import dataclass
from math import erf, sqrt

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Bools, Floats, Ints
from clfeval.inference.special import student_quantile, tail_of

DRAWS = 10_000
POWER = 0.8
_ROUNDING = 1e-12  # of a variance, relative: two estimates that never differ
_EQUAL = 1e-9  # of how far draws lie apart: the same


@dataclass(frozen=True, slots=True, eq=False)
class Leaders:
    """What is known of which of k estimates is the largest.

    may_be_best (k,): whether it may be. first (k,): how often it is, of samples like this one.
    low_rank, high_rank (k,): the limits of its place, 1 the largest, in such samples.
    winner: the place of the largest, second of the next. optimism: how much too large the largest
    is expected to be. error: the standard error of their difference; NaN for one estimate.
    """

    may_be_best: Bools
    first: Floats
    low_rank: Ints
    high_rank: Ints
    winner: int
    second: int
    optimism: float
    error: float


def contest(
    values: ArrayLike, covariance: ArrayLike, *, level: float, rng: np.random.Generator,
    df: float = np.inf, draws: int = DRAWS,
) -> Leaders:  # fmt: skip
    """Return which of k estimates may be the largest, and what its being chosen adds to it.

    Z ~ N(0, V)   d_i = the quantile at `level` of max_j (Z_j - Z_i) / s_ij
    i may be the best where x_i - x_j + d_i s_ij >= 0 for all j, s_ij² = V_ii + V_jj - 2 V_ij
    optimism = mean of (x + Z)_w - x_w, w the largest of the draw
    first = share of draws x + Z in which it is the largest, equal ones in equal parts; ranks: their
    quantiles at (1 - level) / 2 and (1 + level) / 2, equal ones at the best of their places

    The set holds the largest true value with probability `level` at least. Where two estimates
    cannot differ (s_ij = 0), the larger one is larger. df: degrees of freedom of the covariance: d
    becomes that quantile of Student's t which it is of the normal distribution; with none any may
    be the best.
    In simulations of areas of 3 and 10 equal models, 50 to 1,000 rows, 5 to 50 % of them positive,
    with those of the smaller class less 1 the set held a given model in 94 % at least, without in
    as few as 82 %.

    Shapes: values (k,), covariance (k, k). The set is never empty: the largest is in it.
    Errors: ValueError unless 0 < level < 1, and for values that are not finite.
    Source: Hsu 1981, Annals of Statistics 9:1026 (multiple comparisons with the best); the
    optimism: Efron 2011, Journal of the American Statistical Association 106:1602, by draws.
    """
    tail_of(level)
    x, v = np.asarray(values, np.float64), np.asarray(covariance, np.float64)
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all() or not np.isfinite(v).all():
        raise ValueError("values and covariances must be finite")
    k, winner = len(x), int(x.argmax())
    variance = np.diag(v)
    squares = variance[:, None] + variance[None] - 2 * v
    least = _ROUNDING * (variance[:, None] + variance[None])
    apart = np.sqrt(np.where(squares > least, squares, 0.0))
    z = _normal(v, draws, rng)
    may = np.empty(k, bool)
    for i in range(k):
        s = apart[i]
        moves = s > 0
        known = x[i] >= x[~moves]  # of what it cannot differ from
        reach = 0.0
        if moves.any():
            most = ((z[:, moves] - z[:, i : i + 1]) / s[moves]).max(axis=1)
            reach = max(0.0, float(np.quantile(most, level)))
            if reach:
                within = erf(reach / sqrt(2))
                reach = float(student_quantile(df, level=within)) if df > 0 else np.inf
        may[i] = bool(known.all() and (x[i] - x[moves] + reach * s[moves] >= 0).all())
    drawn = x + z
    at = drawn.argmax(axis=1)
    optimism = float((drawn[np.arange(draws), at] - x[at]).mean()) if k > 1 else 0.0
    second = int(np.where(np.arange(k) == winner, -np.inf, x).argmax())
    error = float(apart[winner, second]) if k > 1 else float("nan")
    first, low, high = _places(drawn, level)
    return Leaders(may, first, low, high, winner, second, max(0.0, optimism), error)


def _places(drawn: Floats, level: float) -> tuple[Floats, Ints, Ints]:
    """Return how often each of k is the largest of draws (d, k), and limits of its place."""
    step = _EQUAL * float(np.abs(drawn - drawn.mean(axis=0)).max(initial=0.0)) or 1.0
    least = np.round(-drawn / step)  # two that never differ are equal
    order = np.argsort(least, axis=1, kind="stable")
    ordered = np.take_along_axis(least, order, axis=1)
    new = np.ones(ordered.shape, bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=new[:, 1:])
    at = np.arange(1, drawn.shape[1] + 1)
    place = np.empty(drawn.shape, np.int64)
    np.put_along_axis(place, order, np.maximum.accumulate(np.where(new, at, 1), axis=1), axis=1)
    largest = place == 1
    first = (largest / largest.sum(axis=1, keepdims=True)).mean(axis=0)
    ends = np.quantile(place, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf")
    low, high = ends.astype(np.int64)
    return first, low, high


def detectable(error: float, *, level: float, df: float = np.inf, power: float = POWER) -> float:
    """Return the smallest true difference that is found with a probability of `power`.

    (t at (1 + level) / 2 + t at power) x standard error of the difference, Student's t with so
    many degrees of freedom

    Source: Cohen 1988, Statistical Power Analysis for the Behavioral Sciences, chapter 2.
    """
    both = (student_quantile(df, level=one) for one in (level, 2 * power - 1))
    return float(sum(both)) * error


def _normal(covariance: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Draw from N(0, V), (draws, k), also of a V that is singular."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(rng.standard_normal((draws, len(values))) @ root.T)
