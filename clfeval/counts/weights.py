"""Sampling weights: rows that stand for unlike numbers of others, told by squares of weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, TypeVar, cast

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Influence, Ints, divide
from clfeval.counts.clusters import ClusterCounts
from clfeval.inference.independent import power_sums
from clfeval.inference.resampling import resampled_weights

T = TypeVar("T")
_DIGITS = 9  # of a sum of squares: sums in another order differ beyond
Owners = Sequence[str] | Counts  # the cluster of each entry, or the sum of its squared weights


@dataclass(frozen=True, slots=True, eq=False)
class RowWeights:
    """Sums n (m,) of weights and raw (m,) of squared weights of the rows of each of m patterns."""

    n: Floats
    raw: Floats

    @classmethod
    def from_entries(cls, squares: Floats, place: Ints, n: Counts, m: int) -> RowWeights:
        """Take entries, (r,) each, of rows that show the pattern at `place`, of m."""
        return cls(*(np.bincount(place, one, m).astype(np.float64) for one in (n, squares)))

    @property
    def squares(self) -> Floats:
        """The sums of squared weights, (m,), by rounded effective numbers of rows."""
        whole = self.n**2
        rows = np.divide(whole, self.raw, out=np.ones(len(whole)), where=self.raw > 0)
        power = 10.0 ** np.floor(np.log10(rows))
        return np.where(self.raw > 0, whole / (np.round(rows / power, _DIGITS - 1) * power), 0.0)

    @property
    def size(self) -> float:
        """The effective number of rows (sum w)² / sum w².

        Source: Kish 1965, Survey Sampling, section 11.7.
        """
        squares = float(self.squares.sum())
        return float(self.n.sum()) ** 2 / squares if squares else 0.0

    @property
    def weight(self) -> float:
        """What one of as many rows of one weight would weigh: sum w² / sum w."""
        return float(divide(self.squares.sum(), self.n.sum()))

    def among(self, which: Bools) -> RowWeights:
        """Return the rows of some patterns alone."""
        return RowWeights(self.n[which], self.raw[which])

    def less(self, other: RowWeights, place: Ints) -> RowWeights:
        """Return it without the rows of another, whose pattern i stands at place[i] here."""
        n, raw = self.n.copy(), self.raw.copy()
        n[place] -= other.n
        raw[place] -= other.raw
        return RowWeights(n, np.where(n > 0, raw, 0.0))

    def placed(self, place: Ints, m: int = 0) -> RowWeights:
        """Return the same rows where pattern i stands at place[i], of m; some may share one."""
        return RowWeights.from_entries(
            self.raw, place, self.n, max(m, int(place.max(initial=-1)) + 1)
        )

    def products(self, weights: Floats) -> Floats:
        """Return the sums over rows of products of two of what they add: (w, m): (w, w)."""
        return self.moments(weights)[0]

    def moments(self, weights: Floats | Influence) -> tuple[Floats, Floats]:
        """Return the products, and of each total the kurtosis at rows of one weight, (w,)."""
        squares = self.squares
        products, second, fourth = power_sums(weights, self.n, squares)
        return products, divide(squares.sum() * fourth, second**2)

    def pairs(self, first: Bools) -> float:
        """Return how many pairs of a row of the first patterns and another tell as much."""
        return min(self.among(first).size, self.among(~first).size)

    def shares(self, part: Bools, whole: Bools) -> Floats:
        """Return k, n, and the sums of k², k n, n² of s shares, (5, s): see `share_design`."""
        one, both, all_of = (which.astype(np.float64) for which in (part, part & whole, whole))
        squares = self.squares
        found = (one @ self.n, all_of @ self.n,
                 one @ squares, both @ squares, all_of @ squares)  # fmt: skip
        return np.array(np.broadcast_arrays(*found))

    def drawn(self, which: Floats, *, resamples: int, rng: np.random.Generator) -> Floats:
        """Return bootstrap weights of rows of d disjoint kinds, (d, m): (d, r)."""
        n, squares = which @ self.n, which @ self.squares
        return np.concatenate([*resampled_weights(n, squares, resamples=resamples, rng=rng)]).T

    def redraws(self, _: int, *, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield what the rows of the m patterns weigh when they are drawn again, (b, m) each."""
        return resampled_weights(self.n, self.squares, resamples=resamples, rng=rng)

    def digest(self) -> str:
        """Return the sha256 of what is known of the weights."""
        return sha256(self.squares.astype("<f8").tobytes()).hexdigest()


Owned = ClusterCounts | RowWeights  # what is drawn by itself, where that is not each row alike


def group_owners(owners: Owners | None, place: Ints, n: Counts, m: int) -> Owned | None:
    """Return what is drawn by itself of entries, (r,) each, that show the pattern at `place`."""
    if owners is None:
        return None
    if isinstance(owners, np.ndarray) and owners.dtype.kind == "f":
        return RowWeights.from_entries(owners, place, n, m)
    return ClusterCounts.from_entries(owners, place, n)


def pattern_entries(one: Any, *names: str) -> tuple[list[Any], Counts, Owners | None]:
    """Return columns of a statistic, and counts; of each cluster by itself where there are any."""
    columns, clusters = [getattr(one, name) for name in names], one.clusters
    if isinstance(clusters, ClusterCounts):
        return [column[clusters.place] for column in columns], clusters.n, clusters.owners
    return columns, one.n, None if clusters is None else clusters.raw


def concatenate_statistics(
    one: Any, other: Any, *names: str
) -> tuple[list[Any], Counts, Owners | None]:
    """Return the columns of two statistics, those of the second behind the first."""
    if type(one.clusters) is not type(other.clusters):
        raise ValueError("only one of the two is counted by clusters")
    (mine, n, owners), (theirs, more, others) = (pattern_entries(x, *names) for x in (one, other))
    columns = [np.concatenate(pair) for pair in zip(mine, theirs, strict=True)]
    both: Owners | None = None
    if isinstance(owners, np.ndarray):
        both = np.concatenate([owners, others])
    elif owners is not None and others is not None:
        both = [*owners, *others]
    return columns, np.concatenate([n, more]), both


def subtract_part(one: T, part: T, *names: str) -> T:
    """Return a statistic less that of a part, with columns `names`; empty patterns stay with 0."""
    whole, some = cast("Any", one), cast("Any", part)
    columns = [np.column_stack([getattr(x, name) for name in names]) for x in (whole, some)]
    _, group = np.unique(np.concatenate(columns), axis=0, return_inverse=True)
    here, there = np.split(group.ravel(), [len(whole.n)])
    at = np.empty(len(here), np.int64)
    at[here] = np.arange(len(here))
    n = whole.n.copy()
    n[at[there]] -= some.n
    return cast(
        "T", replace(whole, n=n, clusters=subtract_owners(whole.clusters, some.clusters, at[there]))
    )


def subtract_owners(one: Owned | None, part: Owned | None, place: Ints) -> Owned | None:
    """Return what is drawn by itself without the rows of a part, whose patterns are at `place`."""
    if isinstance(one, ClusterCounts) and isinstance(part, ClusterCounts):
        return one.less(part, place)
    if isinstance(one, RowWeights) and isinstance(part, RowWeights):
        return one.less(part, place)
    return None


def select_owners(owners: Owners | None, which: Ints) -> Owners | None:
    """Return those of some entries."""
    if owners is None or isinstance(owners, np.ndarray):
        return None if owners is None else owners[which]
    return [owners[i] for i in which.tolist()]
