"""Quantiles of distributions: normal, beta and Student's t; and bisection.

They are found here rather than taken from `scipy.special`, whose import alone takes half as long as
everything else a small run does; tests hold both against each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Bools, Floats

_HALLEY_STEPS = 5  # each step triples the digits; the start values have two
_ROOT2 = math.sqrt(2)
_ROOT2PI = math.sqrt(2 * math.pi)
_STEPS = 60  # nodes on each side of the middle in the quadrature
_CUT = 45.0  # the density is taken as 0 where it is e**-45 of its peak
_MOST_STEPS = 60  # a bracket halved this often is as narrow as the numbers allow
_SMALL_TAIL = 1e-5
_CHUNK = 4096
_LEAST_DF, _MANY_DF = 2, 10**3  # degrees of freedom between which t is found by beta
_MOST_ERRORS = 38.0  # standard errors beyond which no float tells a level from 1


def normal_quantile(p: float) -> float:
    """Return the x with P(X <= x) = p for a standard normal X.

    Halley steps on P(X > x) = erfc(x / sqrt 2) / 2, next to the middle on erf.

    Range: real, 0 at p = 1/2; as precise as a float for 1e-300 <= p.
    Errors: ValueError unless 0 < p < 1.
    """
    if not 0 < p < 1:
        raise ValueError(f"the probability {p} is not between 0 and 1")
    middle, tail = abs(p - 0.5), min(p, 1 - p)
    near = middle < 0.25  # here the small p - 1/2 holds the digits, further out the small tail
    x = middle * _ROOT2PI if near else _rough_normal(p)
    for _ in range(_HALLEY_STEPS):
        error = math.erf(x / _ROOT2) / 2 - middle if near else tail - math.erfc(x / _ROOT2) / 2
        step = error / (math.exp(-x * x / 2) / _ROOT2PI)
        x -= step / (1 + x * step / 2)
    return math.copysign(x, p - 0.5)


def normal_quantiles(p: Floats) -> Floats:
    """Return `normal_quantile` of many, (q,); of thousands by scipy, whose import takes .2 s."""
    if len(p) < _CHUNK:
        return np.array([normal_quantile(one) for one in p.tolist()])
    from scipy.special import ndtri

    return np.asarray(ndtri(p), np.float64)


def tail_of(level: float) -> float:
    """Return what a two-sided interval leaves out on each side; ValueError unless 0 < level < 1."""
    if not 0 < level < 1:
        raise ValueError(f"the level {level} is not between 0 and 1")
    return (1 - level) / 2


def critical_value(level: float) -> float:
    """Return the z with P(-z <= X <= z) = level for a standard normal X.

    Errors: ValueError unless 0 < level < 1.
    """
    return abs(normal_quantile(tail_of(level)))


def level_together(level: float, *, comparisons: int = 1, turn: float = 0.0) -> float:
    """Return the level of each interval at which all of them hold together at `level`.

    The level P(|X| <= c) of a normal X with comparisons (P(|X| > c) + turn/pi e**(-c²/2)) =
    1 - level.

    comparisons: how many families of intervals there are (Bonferroni). turn: how far, as an angle,
    the direction turns in which the two errors of a family are added up, over all its intervals;
    0 for one interval each. P(max |X(t)| > c) is at most that sum over a path of that length.
    With sensitivity and specificity both wanted, their two differences are always added with
    weights of one sign: at all class ratios together that is a quarter turn, pi/2, at most.

    Range: level..1, `level` for one interval.
    Errors: ValueError unless 0 < level < 1, comparisons >= 1 and turn >= 0.
    Source: Hotelling 1939, American Journal of Mathematics 61:440; Naiman 1986, Annals of
    Statistics 14:896.
    """
    if comparisons < 1 or turn < 0:
        raise ValueError(f"{comparisons} comparisons with a turn of {turn}")
    least = critical_value(level)  # refuses what is no level
    if comparisons == 1 and not turn:
        return level
    tail = (1 - level) / comparisons

    def too_near(c: Floats) -> Bools:
        beyond = math.erfc(float(c) / _ROOT2) + turn / math.pi * math.exp(-(float(c) ** 2) / 2)
        return np.asarray(beyond > tail)

    c, _ = halved(too_near, np.asarray(least), np.asarray(_MOST_ERRORS))
    return 1 - math.erfc(float(c) / _ROOT2)


def _rough_normal(p: float) -> float:
    """Return the distance of the normal quantile from 0, to 0.003.

    Source: Abramowitz and Stegun 1964, 26.2.22.
    """
    t = math.sqrt(-2 * math.log(min(p, 1 - p)))
    return t - (2.30753 + 0.27061 * t) / (1 + 0.99229 * t + 0.04481 * t * t)


def beta_quantiles(
    tail: float, first: tuple[Floats, Floats], second: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Return the quantiles `tail` of Beta(*first), 1 - tail of Beta(*second), parameters from 1 up.

    They are found together, in chunks of bounded memory; tail is below 1/2, below 1e-5 by scipy.
    """
    if tail < _SMALL_TAIL:  # where the error of what follows grows to 1e-5
        from scipy.special import betainccinv, betaincinv

        return betaincinv(*first, tail), betainccinv(*second, tail)
    sizes = [len(first[0]), len(second[0])]
    p = np.repeat([tail, 1 - tail], sizes)
    z = np.repeat([-_rough_normal(tail), _rough_normal(1 - tail)], sizes)
    a, b = map(np.concatenate, zip(first, second, strict=True))
    chunks = [slice(i, i + _CHUNK) for i in range(0, len(a), _CHUNK)]
    found = np.concatenate([np.empty(0), *(_quantiles(p[i], z[i], a[i], b[i]) for i in chunks)])
    return found[: sizes[0]], found[sizes[0] :]


def student_quantile(df: ArrayLike, *, level: float) -> Floats:
    """Return the quantile of Student's t that `critical_value` is of the normal distribution.

    T = sqrt(df) (B - 1/2) / sqrt(B (1 - B)) has it where B is of Beta(df/2, df/2).

    Shapes: as df, above 0, infinite for the normal one; NaN elsewhere. To 12 digits; from 10**3
    degrees of freedom on by five terms of Cornish and Fisher, with fewer than 2 by scipy.
    Errors: ValueError unless 0 < level < 1.
    Source: Johnson, Kotz and Balakrishnan 1995, Continuous Univariate Distributions 2, chapter 28.
    """
    given, tail = np.asarray(df, np.float64), tail_of(level)
    free = given.ravel()
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(free > 0, np.polyval(_expansion(level), 1 / free), np.nan)
    some, few = (free >= _LEAST_DF) & (free < _MANY_DF), (free > 0) & (free < _LEAST_DF)
    if some.any():
        each, place = np.unique(free[some], return_inverse=True)
        half = each / 2
        none = half[:0], half[:0]
        x, _ = beta_quantiles(tail, (half, half), none) if len(half) > 1 else _middle(*half, tail)
        found[some] = (np.sqrt(each) * (0.5 - x) / np.sqrt(x * (1 - x)))[place.ravel()]
    if few.any():  # their tails are longer than the method reaches
        from scipy.special import stdtrit

        found[few] = -stdtrit(free[few], tail)
    return np.asarray(found.reshape(given.shape))


@lru_cache(2**12)
def _middle(half: float, tail: float) -> tuple[Floats, Floats]:
    """Return the quantile `tail` of Beta(half, half), and none: of 1,000 models all ask for it."""
    both = np.array([half])
    return beta_quantiles(tail, (both, both), (both[:0], both[:0]))


@cache
def _expansion(level: float) -> tuple[float, ...]:
    """Return Cornish and Fisher's polynomial of 1 / df, the highest power first."""
    z = critical_value(level)
    each = ((27, 339, 930, -1782, -765, 17955), (79, 776, 1482, -1920, -945), (3, 19, 17, -15),
            (5, 16, 3), (1, 1), (1,))  # fmt: skip
    parts = (368640, 92160, 384, 96, 4, 1)
    return tuple(
        z * float(np.polyval(one, z**2)) / part for one, part in zip(each, parts, strict=True)
    )


def _quantiles(p: Floats, z: Floats, a: Floats, b: Floats) -> Floats:
    """Solve area(left..x) / area(left..right) = p by Newton steps kept inside a bracket.

    z are rough normal quantiles, from which the search starts.
    """
    mode = np.where(a + b > 2, (a - 1) / np.maximum(a + b - 2, 1e-300), 0.5)
    left, right = _edge(a, b, mode, 0.0), _edge(a, b, mode, 1.0)
    whole = _area(a, b, mode, left, mode) + _area(a, b, mode, mode, right)
    mean = a / (a + b)
    guess = mean + z * np.sqrt(mean * (1 - mean) / (a + b + 1))
    low, high = left.copy(), right.copy()
    done = np.zeros(len(a), bool)
    x = np.where((guess > left) & (guess < right), guess, mode)
    for _ in range(_MOST_STEPS):
        below = _area(a, b, mode, left, np.minimum(x, mode))
        below += np.where(x > mode, _area(a, b, mode, mode, np.maximum(x, mode)), 0.0)
        error = below / whole - p
        low, high = np.where(error < 0, x, low), np.where(error < 0, high, x)
        slope = np.exp(_log_density(a, b, mode, x)) / whole
        step = x - error / np.where(slope > 0, slope, np.inf)
        inside = (step >= low) & (step <= high) & (slope > 0)
        new = np.where(inside, step, (low + high) / 2)
        # Newton doubles the digits: after a step this small the error is below rounding
        settled = np.abs(new - x) <= 1e-9 * new
        x = np.where(done, x, new)  # what has settled stays, whatever else is in the chunk
        done |= settled
        if done.all():
            break
    return x


def _log_density(a: Floats, b: Floats, mode: Floats, x: Floats) -> Floats:
    """Return the log density of Beta(a, b) at x relative to its mode; precise near the mode."""
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(a > 1, (a - 1) * np.log1p((x - mode) / mode), 0.0)
        right = np.where(b > 1, (b - 1) * np.log1p((mode - x) / (1 - mode)), 0.0)
    return np.asarray(left + right)


def _edge(a: Floats, b: Floats, mode: Floats, end: float) -> Floats:
    """Return where, between the mode and `end`, the density has fallen to e**-_CUT of its peak."""
    inner, outer = mode.copy(), np.full_like(mode, end)
    wide = np.ones(len(mode), bool)
    for _ in range(80):
        middle = (inner + outer) / 2
        alive = _log_density(a, b, mode, middle) > -_CUT
        inner = np.where(wide & alive, middle, inner)
        outer = np.where(wide & ~alive, middle, outer)
        # the window need not be exact, only wide enough; each element stops by itself
        wide &= np.abs(outer - inner) > 0.01 * np.abs(outer - mode)
        if not wide.any():
            break
    return outer


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Return nodes and weights on -1..1 of the tanh-sinh rule."""
    t = np.arange(-_STEPS, _STEPS + 1) * (3.2 / _STEPS)
    inside = np.pi / 2 * np.sinh(t)
    weights = (3.2 / _STEPS) * np.pi / 2 * np.cosh(t) / np.cosh(inside) ** 2
    return np.tanh(inside), weights


def _area(a: Floats, b: Floats, mode: Floats, start: Floats, stop: Floats) -> Floats:
    """Integrate the density relative to its peak between start and stop."""
    nodes, weights = _nodes()
    half = (stop - start) / 2
    x = (start + half)[:, None] + half[:, None] * nodes
    density = np.exp(_log_density(a[:, None], b[:, None], mode[:, None], x))
    return np.asarray((density * weights).sum(axis=1) * half)


def halved(
    holds: Callable[[Floats], Bools], near: Floats, far: Floats, *, times: int = _MOST_STEPS
) -> tuple[Floats, Floats]:
    """Return the brackets around where `holds`, true at `near`, comes to be false before `far`.

    Shapes: near and far broadcast, and `holds` treats every element by itself.
    """
    for _ in range(times):
        middle = (near + far) / 2
        yes = holds(middle)
        near, far = np.where(yes, middle, near), np.where(yes, far, middle)
    return near, far
