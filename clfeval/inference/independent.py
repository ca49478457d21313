"""What of a sample is drawn by itself: clusters of its rows, or rows that weigh differently."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from clfeval.arrays import Bools, Floats, Influence

_BLOCK = 2**16  # kinds of rows taken at a time, few enough to stay in the cache


class Independent(Protocol):
    """The parts that rows of m kinds make up: what sums over the rows of each do by themselves."""

    @property
    def size(self) -> float:
        """How many parts there are; of unlike ones how many alike would tell as much."""

    def products(self, weights: Floats) -> Floats:
        """Return the sums over parts of products of two of their totals: (w, m): (w, w).

        weights: what a row of each kind counts in each total.
        """

    def moments(self, weights: Floats | Influence) -> tuple[Floats, Floats]:
        """Return the products, and of each total the parts' sum F⁴ size / (sum F²)², (w,)."""

    def pairs(self, first: Bools) -> float:
        """Return how many pairs of a row of the first kinds and another have no part in common."""


def powers(
    values: Floats | Influence, counts: Floats, each: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the sums of q f f', (k, k), of q f² and of q f⁴, (k,), each of them.

    values (k, m), or the Influence on one measure: f; counts (m,): 0 for what no row is, which has
    no say, defined or not; each (m,): q.
    """
    k = 1 if isinstance(values, Influence) else len(values)
    products, second, fourth = np.zeros((k, k)), np.zeros(k), np.zeros(k)
    for f, n in _pieces(values, counts, each):
        squared = f**2  # twice over, for a fourth power takes forty times as long
        weighed = n * squared
        second += weighed.sum(axis=1)
        fourth += (weighed * squared).sum(axis=1)
        # of one, without the threads of a matrix product, which wait for work at full speed
        products += (f * n) @ f.T if k > 1 else weighed.sum()
    return products, second, fourth


def _pieces(
    values: Floats | Influence, counts: Floats, each: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """Yield f (k, b) and q (b,) of some kinds of rows at a time."""
    for start in range(0, len(counts), _BLOCK):
        part = slice(start, start + _BLOCK)
        there = np.flatnonzero(counts[part] > 0)
        if isinstance(values, Influence):
            for y, first in ((True, 0), (False, values.m)):
                some = there[(there + start < values.m) == y]
                if len(some):
                    yield values.at(some + (start - first), y)[None], each[part][some]
        else:
            yield values[:, part][:, there], each[part][there]
