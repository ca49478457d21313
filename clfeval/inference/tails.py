"""Tails of distributions: Student's t, chi² and the tosses of a coin; the smallest to 13 digits.

They are found here rather than taken from `scipy.special`, whose import alone takes half as long as
everything else a small run does; tests hold both against each other.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Floats

_ENDLESS = 1e20  # degrees of freedom with which no float tells t from a normal variable
_FARTHEST = 1e140  # whose square is a float
_SMALL = 2.0**-17  # whose fourth power is nothing
_MOST = 700.0  # of which exp is a float
_STEP, _END = 0.04, 3.9  # of the quadrature: beyond, what is left is below rounding
_CHUNK = 4096
_FEW = 16  # below, Stirling's series is too rough
_WHOLE = 1000  # tosses whose outcomes are counted in whole numbers
_EXACT = Context(prec=40, Emax=MAX_EMAX, Emin=MIN_EMIN)


def student_tail(df: ArrayLike, t: ArrayLike) -> Floats:
    """Return P(T > t) of Student's t.

    P = x^(df/2) G(x) / G(1) / 2   x = df / (df + t²)
    G(x) = integral over y from 0 to 1 of 1 / sqrt(1 - x y^(2/df))

    That is the incomplete beta function of df/2 and 1/2 with z = x y^(2/df) in its integral.

    Shapes: df and t broadcast; t >= 0, and up to 1e140 or infinite, df above 0, infinite for the
    normal distribution; NaN elsewhere. Range: 0..1/2; to 13 digits down to 1e-300.
    Source: Johnson, Kotz and Balakrishnan 1995, Continuous Univariate Distributions 2, chapter 28.
    """
    free, far = np.broadcast_arrays(np.asarray(df, np.float64), np.asarray(t, np.float64))
    known = (free > 0) & (far >= 0)
    n = np.where(known, np.minimum(free, _ENDLESS), 1.0).ravel()
    x = np.where(known, np.minimum(far, _FARTHEST), 0.0).ravel()
    parts = [slice(i, i + _CHUNK) for i in range(0, len(n), _CHUNK)]
    found = np.concatenate([np.empty(0), *(_student(n[i], x[i]) for i in parts)])
    return np.where(known, np.where(np.isinf(far), 0.0, found.reshape(far.shape)), np.nan)


def _student(n: Floats, t: Floats) -> Floats:
    u = t**2 / n
    w, weights = _logs()
    rest = -np.expm1(-2 * w / n[:, None])  # 1 - y^(2/df)
    # no product of matrices, whose last digits depend on how many rows there are
    whole = (rest**-0.5 * weights).sum(axis=1)
    part = (((u[:, None] + rest) / (1 + u[:, None])) ** -0.5 * weights).sum(axis=1)
    return np.asarray(_power(n, t) * (part / whole) / 2)


def _power(n: Floats, t: Floats) -> Floats:
    """Return (1 + t²/n)^(-n/2), of which rounding 1 + t²/n would take the last digits.

    b^(-n/2) exp(-n/2 log(1 + r)) with b of half the digits, whose products are exact, and
    (1 + r) b = 1 + t²/n, so that r is small; b is 1 where t²/n is.
    """
    u, (t1, t2), (n1, n2) = t**2 / n, _halves(t), _halves(n)
    b = np.where(u < _SMALL, 1.0, _halves(1 + u)[0])
    large, small = t1**2 - (b - 1) * n1, t2 * (t + t1) - (b - 1) * n2
    r = (large + small) / (n * b)
    more = (large + small) * (r / 2 - r**2 / 3 + r**3 / 4) - small
    first, second = (np.exp(np.minimum(one / b / 2, _MOST)) for one in (-large, more))
    return np.asarray(b ** (-n / 2) * first * second)


def _halves(x: Floats) -> tuple[Floats, Floats]:
    """Split numbers into their first 26 bits and the others.

    Source: Dekker 1971, Numerische Mathematik 18:224.
    """
    shifted = (2**27 + 1) * x
    first = shifted - (shifted - x)
    return first, x - first


@cache
def _logs() -> tuple[Floats, Floats]:
    """Return -log y at nodes y on 0..1 of the tanh-sinh rule, and weights, of any sum."""
    steps = round(_END / _STEP)
    at = np.arange(-steps, steps + 1) * _STEP
    inside = np.pi / 2 * np.sinh(at)
    return np.log1p(np.exp(-2 * inside)), np.cosh(at) / np.cosh(inside) ** 2


def chi_square_tail(df: int, x: float) -> float:
    """Return P(X > x) of chi² with df degrees of freedom.

    P = [erfc(sqrt h), of odd df] + e^-h sum of h^a / Gamma(a + 1), h = x / 2, over a = df/2 - 1,
    df/2 - 2 .. above -1/2

    Shapes: df from 1 to 1,000; x >= 0. Range: 0..1; to 13 digits down to 1e-300.
    Source: Abramowitz and Stegun 1964, 26.4.4 and 26.4.5.
    """
    h, odd = x / 2, df % 2
    root = math.exp(-h / 2)  # twice: no term is lost that others make large
    term = root * (2 * math.sqrt(h / math.pi) if odd else 1.0)
    total, a = 0.0, 0.5 if odd else 0.0
    for _ in range((df - odd) // 2):
        total, a = total + term, a + 1
        term *= h / a
    return min(1.0, total * root + (math.erfc(math.sqrt(h)) if odd else 0.0))


def coin_tail(k: int, n: int) -> float:
    """Return P(X <= k) of how often n tosses of a coin show one side.

    P = C(n, k) / 2^n (1 + k / (n - k + 1) (1 + (k - 1) / (n - k + 2) (1 + ...)))

    Shapes: 0 <= k < n / 2. Range: 0..1/2; to 13 digits down to 1e-300.
    """
    if n <= _WHOLE or k < _FEW:
        return math.ldexp(sum(math.comb(n, i) for i in range(k + 1)), -n)
    least = min(k, math.isqrt(25 * n))  # terms: the last is e^-50 of the first, or less
    i = np.arange(least, dtype=np.float64)
    return _coins(k, n) * (1 + float(np.cumprod((k - i) / (n - k + 1 + i)).sum()))


def _coins(k: int, n: int) -> float:
    """Return C(n, k) / 2^n by Stirling's formula: the powers in decimals, which do not overflow.

    Source: Loader 2000, Fast and accurate computation of binomial probabilities.
    """
    others = n - k
    with localcontext(_EXACT):
        powers = float((Decimal(n) / (2 * k)) ** k * (Decimal(n) / (2 * others)) ** others)
    off = _stirling(n) - _stirling(k) - _stirling(others)
    return powers * math.sqrt(n / (2 * math.pi * k * others)) * math.exp(off)


def _stirling(n: int) -> float:
    """Return log n! less that of sqrt(2 pi n) (n / e)^n, n >= 16."""
    q = 1 / n**2
    return (1 / 12 - q * (1 / 360 - q * (1 / 1260 - q * (1 / 1680 - q / 1188)))) / n
