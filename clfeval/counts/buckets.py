"""Buckets of scores: their keys and exact sums by engine, and what they tell of the scores."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.records import dataclass, replace
from clfeval.tables.frames import Frame, nw

LEAST_BITS = 4
BITS = 10  # of a bucket: each halving of the distance from 0 or 1 has 2**BITS of them
MOST_DISTINCT = 2**20  # scores of a model that are counted one by one
OCTAVES = 128
FIXED = 2.0**31  # of a sum of numbers below 1, of up to 2**32 rows
HUNDRED = 100  # every hundredth starts a bucket, so that bins and decision curves are exact


def with_buckets(
    frame: Frame, score: str, bits: int, cut: float | None, lowest: float = -np.inf
) -> Frame:
    """Return rows with the bucket of their score, key, and the terms of its sums, d1 and d2.

    score: column of the scores. lowest: no score is nearer to 0 or 1; where it is negative, scores
    may lie outside 0..1.

    The distance d of a score from the nearer of 0 and 1 is doubled until it is at least 1/2; key
    has the number of doublings and the leading `bits` of d, m1 and m2 are d and d² in units of
    2**-31, rounded down. Scores outside 0..1 are divided by 2**64 first. Hundredths and the
    threshold `cut` start a new bucket. Keys are in the order of the scores. Every operation is
    exact or correctly rounded, so that every engine has the same numbers.
    """
    s = nw.col(score)
    last_octave = nw.lit(OCTAVES - 1, dtype=nw.Int32)
    distance = nw.when(s >= 0.5).then(1 - s).otherwise(s)
    if lowest < 0:
        distance = nw.when((s < 0) | (s > 1)).then(s.abs() * 2.0**-64).otherwise(distance)
    frame = frame.with_columns(octave=last_octave, m=distance)
    m = nw.col("m")
    octave = nw.col("octave")
    for step in (64, 32, 16, 8, 4, 2, 1):
        if lowest >= 2.0**-step:
            continue
        is_small = m < 2.0**-step
        frame = frame.with_columns(
            m=nw.when(is_small).then(m * 2.0**step).otherwise(m),
            octave=nw.when(is_small).then(octave - step).otherwise(octave),
        )
    leading_bits, nearest_hundredth = (m - 0.5) * 2.0 ** (bits + 1), s * HUNDRED + 0.5
    if lowest < 2.0**-OCTAVES:  # else m is below 1, and doubled to at least 1/2
        leading_bits = leading_bits.clip(0, 2**bits - 1)
        nearest_hundredth = nearest_hundredth.clip(0, HUNDRED)
        m = m.clip(0, 1)
    nearest_hundredth = nearest_hundredth.floor().cast(nw.Float64)
    key = (
        nw.when(m == 0)
        .then(0)
        .otherwise(octave * 2**bits + leading_bits.floor().cast(nw.Int64) + 1)
    )
    largest_key = 2 * OCTAVES * 2**bits + 1
    # polars divides by a constant by multiplying with its inverse, which is not exact
    is_below = (s < nearest_hundredth / (nearest_hundredth * 0.0 + HUNDRED)).cast(nw.Float64)
    hundredth_count = (nearest_hundredth - is_below).cast(nw.Int64)
    if cut is not None:
        hundredth_count = hundredth_count + (s >= cut).cast(nw.Int64)
    ordered_key = nw.when(s >= 0.5).then(largest_key - key).otherwise(key)
    if lowest < 0:
        ordered_key = nw.when(s > 1).then(largest_key + key + 1).otherwise(ordered_key)
        ordered_key = nw.when(s < 0).then(-1 - key).otherwise(ordered_key)
    return frame.with_columns(
        key=ordered_key + hundredth_count,
        d1=(m * FIXED).floor().cast(nw.Int64),
        d2=(m * m * FIXED).floor().cast(nw.Int64),
    ).drop("m", "octave")


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """What is known of the scores in m groups: of positives, of negatives, (2, m) each.

    low, high: the lowest and highest score, infinite without rows. m1, m2: sums of distances from
    0, or from 1 where `mirrored` (m,), and of their squares, in units of `unit` (m,) / 2**31, each
    term rounded down; `unit` is infinite where sums are hidden.
    """

    low: Floats
    high: Floats
    m1: Ints
    m2: Ints
    unit: Floats
    mirrored: Bools

    @classmethod
    def from_sums(
        cls, m1: Ints, m2: Ints, low: Floats, high: Floats, *, hidden: bool = False
    ) -> Buckets:
        """Build from the sums of buckets, which tell the unit by any of their scores."""
        any_score = np.minimum(*low)
        mirrored = (any_score >= 0.5) & (any_score <= 1)
        _, exponent = np.frexp(np.where(mirrored, 1 - any_score, any_score))
        unit = np.ldexp(1.0, np.maximum(exponent, 1 - OCTAVES))
        return cls(low, high, m1, m2, np.full_like(unit, np.inf) if hidden else unit, mirrored)

    def __add__(self, other: Buckets) -> Buckets:
        """Return the groups of both, one after the other."""
        pairs = zip(self.parts, other.parts, strict=True)
        return Buckets(*(np.concatenate(pair, axis=-1) for pair in pairs))

    @property
    def parts(self) -> tuple[Any, ...]:
        """All arrays, whose last axis is that of the groups."""
        return self.low, self.high, self.m1, self.m2, self.unit, self.mirrored

    def digest(self) -> str:
        """Return the sha256 of what is known."""
        return sha256(b"".join(part.tobytes() for part in self.parts[:4])).hexdigest()

    def take(self, rows: Ints) -> Buckets:
        """Return some of the groups."""
        return Buckets(*(part[..., rows] for part in self.parts))

    def merge(self, starts: Ints) -> Buckets:
        """Merge neighbours that are equal groups; starts: the first of each."""
        m1 = np.add.reduceat(self.m1, starts, axis=1)
        m2 = np.add.reduceat(self.m2, starts, axis=1)
        low = np.minimum.reduceat(self.low, starts, axis=1)
        high = np.maximum.reduceat(self.high, starts, axis=1)
        return replace(self.take(starts), low=low, high=high, m1=m1, m2=m2)

    def subtract(self, part: Buckets, indices: Ints) -> Buckets:
        """Return the groups less the sums of a part with groups at `indices`; ranges stay."""
        m1 = self.m1.copy()
        m2 = self.m2.copy()
        m1[:, indices] -= part.m1
        m2[:, indices] -= part.m2
        return replace(self, m1=m1, m2=m2)

    @np.errstate(all="ignore")  # of infinite scores
    def moments(self, n: Counts) -> tuple[Floats, Floats, Floats]:
        """Return mean and variance of the scores of each group, and the largest error of the mean.

        n (2, m): rows. The variance is an upper bound, by up to 2**-28 of the unit's square.
        """
        rows = np.maximum(n, 1)
        unit = self.unit / FIXED
        low = np.where(n > 0, self.low, 0.0)
        high = np.where(n > 0, self.high, 0.0)
        mean = (self.m1 + rows / 2) / rows * unit
        variance = (self.m2 + rows) / rows * unit * self.unit - mean**2 + 4 * unit * self.unit
        mean = np.clip(np.where(self.mirrored, 1 - mean, mean), low, high)
        is_hidden = np.isinf(self.unit)
        mean = np.where(is_hidden, np.nan_to_num((low + high) / 2), mean)
        largest_variance = np.nan_to_num((high - mean) * (mean - low))
        variance = np.where(is_hidden, largest_variance, variance)
        error = np.where(high > low, np.minimum(unit + np.spacing(mean), high - low), 0.0)
        error = np.where(is_hidden, np.nan_to_num((high - low) / 2), error)
        return mean, np.clip(variance, 0.0, largest_variance), error

    def points(self, n: Counts) -> tuple[Floats, Counts, Counts]:
        """Return ascending scores (k,) with positives and negatives, of the same moments.

        Of each class of a group two scores within its range, with its mean and variance.
        """
        mean, variance, _ = self.moments(n)
        variance = np.where(np.isinf(self.unit), 0.0, variance)
        low = np.where(n > 0, self.low, 0.0)
        high = np.where(n > 0, self.high, 0.0)
        lower_share = np.divide(high - mean, high - low, out=np.ones_like(mean), where=high > low)
        lower_rows = np.clip(np.rint(lower_share * n), np.minimum(n, 1), np.maximum(n - 1, 0))
        lower_rows = np.where((n > 1) & (variance > 0), lower_rows, n).astype(np.int64)
        upper_rows = n - lower_rows
        ratio = np.sqrt(np.maximum(upper_rows, 1) / np.maximum(lower_rows, 1))
        limit = np.minimum((mean - low) / ratio, (high - mean) * ratio)
        distance = np.where(upper_rows > 0, np.minimum(np.sqrt(variance), limit), 0.0)
        lower_scores = np.maximum(mean - distance * ratio, low)
        upper_scores = np.minimum(mean + distance / ratio, high)
        return _scores_with_rows(
            np.concatenate([lower_scores, upper_scores], axis=1),
            np.concatenate([lower_rows, upper_rows], axis=1),
            np.zeros_like(n)[0, :1],
        )


def _scores_with_rows(scores: Floats, rows: Counts, zero: Counts) -> tuple[Floats, Counts, Counts]:
    """Return the scores (k,) that have rows, with positives and negatives.

    scores, rows (2, m): of positives, and of negatives. zero (1,): a count of 0.
    """
    positive_indices = np.flatnonzero(rows[0])
    negative_indices = np.flatnonzero(rows[1])
    x = np.concatenate([scores[0][positive_indices], scores[1][negative_indices]])
    positives = np.concatenate([rows[0][positive_indices], zero.repeat(len(negative_indices))])
    negatives = np.concatenate([zero.repeat(len(positive_indices)), rows[1][negative_indices]])
    return x, positives, negatives
