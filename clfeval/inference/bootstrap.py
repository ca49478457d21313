"""Resampling of counts: streams of random numbers, resampled rates, percentile limits.

A measure of a 2 x 2 table is a function of its counts, and so is each of its replicates: no row of
data is drawn, only how many of the positives and of the negatives are called positive.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_LEAST_SHAPE, _GREATEST_SHAPE = 1e-3, 1e18  # of a beta distribution whose odds fit a float
_GREATEST_LOGIT = 1022 * math.log(2)


def stream(seed: int, name: str) -> np.random.Generator:
    """Return the random numbers of a name: one independent stream for every seed and name.

    The state is that of PCG64 from the 256 bits of SHA-256 of "seed:name", so that a model's draws
    depend on no other model, on no order and on no machine. Any whole number is a seed.

    Errors: ValueError when the seed is no whole number.
    Source: O'Neill 2014, PCG (Harvey Mudd College HMC-CS-2014-0905); numpy's SeedSequence.
    """
    text = f"{seed:d}:{name}".encode("utf-8", "surrogatepass")
    words = np.frombuffer(hashlib.sha256(text).digest(), "<u4")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words.tolist())))


def resampled_rates(
    tp: float,
    positives: float,
    fp: float,
    negatives: float,
    *,
    resamples: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return the true and false positive rates of resampled positives and resampled negatives.

    Each class is resampled by itself, its size stays. Drawing P rows with replacement from P rows
    of which TP are called positive is a multinomial draw over two counts: Binomial(P, TP / P),
    and likewise Binomial(N, FP / N).

    Shapes: (resamples,) each. Range 0..1; all NaN for a class without rows.
    Errors: ValueError unless counts are whole with 0 <= tp <= positives and 0 <= fp <= negatives
    (rows of fractional weight cannot be drawn), and resamples is whole and at least 1.
    Source: Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapter 8 (two samples).
    """
    draws = _whole(resamples, "resamples")
    if draws < 1:
        raise ValueError("at least one resample is needed")
    rates = []
    for hits, rows in ((tp, positives), (fp, negatives)):
        k, n = _whole(hits, "counts"), _whole(rows, "counts")
        if not 0 <= k <= n:
            raise ValueError("k must lie between 0 and n")
        rates.append(rng.binomial(n, k / n, draws) / n if n else np.full(draws, np.nan))
    return rates[0], rates[1]


def percentiles(values: ArrayLike, *, level: float) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return the percentile limits of replicates and how many of them are undefined.

    Of m sorted values, numbered from 0, the low limit is the one at h = (m-1) (1-level) / 2,
    between two neighbours on the straight line from one to the other (numpy's default quantile);
    the high limit is the one as far from the upper end. From or to an infinite neighbour there is
    no line: then the outer neighbour is the limit, the lower one below and the upper one above.

    Shapes: values (r, ...), replicates first; the limits and `failed` (...). NaN replicates are
    left out and counted in `failed`; limits are NaN where fewer than half of all are defined.
    Errors: ValueError unless 0 < level < 1, or for values without an axis.
    Source: Efron 1979, Annals of Statistics 7:1; Hyndman and Fan 1996, American Statistician
    50:361, definition 7.
    """
    if not 0 < level < 1:
        raise ValueError(f"the level {level} is not between 0 and 1")
    given = np.asarray(values, np.float64)
    if not given.ndim:
        raise ValueError("replicates need an axis")
    replicates = len(given)
    failed = np.asarray(np.isnan(given).sum(axis=0), np.int64)
    defined = replicates - failed
    if not replicates:
        return np.full(failed.shape, np.nan), np.full(failed.shape, np.nan), failed
    enough = 2 * defined >= replicates
    tail = (1 - level) / 2
    low = _from_below(np.sort(given, axis=0), defined, tail)
    high = 0.0 - _from_below(np.sort(-given, axis=0), defined, tail)  # never -0.0
    return np.where(enough, low, np.nan), np.where(enough, high, np.nan), failed


def beta_odds(a: float, b: float, *, draws: int, rng: np.random.Generator) -> Floats:
    """Return draws of the odds p / (1-p) of a proportion p of distribution Beta(a, b).

    odds = X / Y with X of distribution Gamma(a), Y of Gamma(b), independent

    which keeps the digits where p is next to 1. The ratio is taken of logarithms, for X and Y may
    be too small for a float where their ratio is not. A draw is made again when its odds or their
    inverse would not fit a float, so the distribution is that of p given that they fit: all but
    one in e**350 with a and b from 1/2 on, half of all at 0.001, where p is mostly 0 or 1.

    Shapes: (draws,). Range 2**-1022 to 2**1022.
    Errors: ValueError unless 0.001 <= a, b <= 10**18, or when draws is not whole or negative.
    Source: Devroye 1986, Non-Uniform Random Variate Generation, sections IX.3.5 and IX.4.1.
    """
    count = _whole(draws, "draws")
    if count < 0:
        raise ValueError("draws must not be negative")
    for shape in (a, b):
        if not _LEAST_SHAPE <= shape <= _GREATEST_SHAPE:
            raise ValueError(f"a and b must lie between {_LEAST_SHAPE} and {_GREATEST_SHAPE}")
    logits = np.empty(count)
    again = np.arange(count)
    while again.size:
        with np.errstate(invalid="ignore"):
            logits[again] = _log_gamma(a, again.size, rng) - _log_gamma(b, again.size, rng)
        again = again[~(np.abs(logits[again]) <= _GREATEST_LOGIT)]  # NaN too
    return np.exp(logits)


def _log_gamma(shape: float, draws: int, rng: np.random.Generator) -> Floats:
    """Return logarithms of gamma variables: Gamma(s) is Gamma(s+1) U**(1/s), U uniform on 0..1."""
    with np.errstate(divide="ignore"):
        if shape >= 1:
            return np.log(rng.standard_gamma(shape, draws))
        lift = rng.standard_exponential(draws) / shape
        return np.log(rng.standard_gamma(shape + 1, draws)) - lift


def _from_below(ordered: Floats, defined: NDArray[np.int64], tail: float) -> Floats:
    """Return the low limit of sorted replicates, NaN last, of which so many are defined."""
    place = np.maximum(defined - 1, 0) * tail
    nearest = np.rint(place)
    # (1 - level) / 2 is off by a rounding: a whole place is meant to be one
    place = np.where(np.abs(place - nearest) < 1e-9, nearest, place)
    before = np.floor(place).astype(np.int64)
    after = np.minimum(before + 1, np.maximum(defined - 1, 0))
    lower = np.take_along_axis(ordered, before[None], axis=0)[0]
    upper = np.take_along_axis(ordered, after[None], axis=0)[0]
    with np.errstate(invalid="ignore", over="ignore"):
        between = lower + (place - before) * (upper - lower)
    return np.asarray(np.where(np.isfinite(lower) & np.isfinite(upper), between, lower))


def _whole(number: float, what: str) -> int:
    """Return a whole number as int."""
    if not float(number).is_integer():
        raise ValueError(f"{what} must be whole numbers, not {number}")
    return int(number)
