"""What of a sample is drawn by itself: clusters of its rows, or rows that weigh differently."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from clfeval.arrays import Bools, Floats, Influence

_BLOCK = 2**16  # kinds of rows taken at a time, few enough to stay in the cache


class SamplingUnits(Protocol):
    """The parts that rows of m kinds make up: what sums over the rows of each do by themselves."""

    @property
    def size(self) -> float:
        """How many parts there are; of unlike ones how many alike would tell as much."""

    def products(self, weights: Floats) -> Floats:
        """Return the sums over parts of products of two totals, (w, w); weights (w, m) by kind."""

    def moments(self, weights: Floats | Influence) -> tuple[Floats, Floats]:
        """Return the products, and of each total the parts' sum F⁴ size / (sum F²)², (w,)."""

    def pairs(self, first: Bools) -> float:
        """Return how many pairs of a row of the first kinds and another have no part in common."""


def power_sums(
    values: Floats | Influence, counts: Floats, each: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the sums of q f f', (k, k), of q f² and of q f⁴, (k,), each of them.

    values (k, m), or the Influence on one measure: f; counts (m,), kinds of 0 are ignored; each
    (m,): q.
    """
    k = 1 if isinstance(values, Influence) else len(values)
    products, second, fourth = np.zeros((k, k)), np.zeros(k), np.zeros(k)
    for f, n in _value_blocks(values, counts, each):
        squared = f * f
        weighed = n * squared
        sums = weighed.sum(axis=1)
        second += sums
        fourth += np.multiply(weighed, squared, out=squared).sum(axis=1)
        # of one, without the threads of a matrix product, which wait for work at full speed
        products += (f * n) @ f.T if k > 1 else sums
    return products, second, fourth


def _value_blocks(
    values: Floats | Influence, counts: Floats, each: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """Yield f (k, b) and q (b,) of some kinds of rows at a time."""
    m = values.m if isinstance(values, Influence) else len(counts)
    for first in range(0, len(counts), max(m, 1)):  # of an Influence the positives, the negatives
        for start in range(first, first + m, _BLOCK):
            part = slice(start, min(start + _BLOCK, first + m))
            there = np.flatnonzero(counts[part] > 0)
            if not len(there):
                continue
            if isinstance(values, Influence):
                yield values.at(there + (start - first), not first)[None], each[part][there]
            else:
                yield values[:, part][:, there], each[part][there]
