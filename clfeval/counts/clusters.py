"""Rows that belong together, patients or documents: how often each pattern occurs in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Influence, Ints, divide
from clfeval.inference.resampling import CELLS, resampled_clusters, resampled_counts


@dataclass(frozen=True, slots=True, eq=False)
class ClusterCounts:
    """How often the m patterns of another statistic occur in each of c clusters; r entries.

    names (c,): the clusters, in order; place (r,): index of the pattern, n (r,): rows or weight;
    starts (c,): first entry of each cluster. Entries are sorted by cluster and pattern.
    """

    names: tuple[str, ...]
    place: Ints
    n: Counts
    starts: Ints

    @classmethod
    def from_entries(cls, names: Sequence[str] | Counts, place: Ints, n: Counts) -> ClusterCounts:
        """Take entries, (r,) each, of clusters by name or number; equal ones are added up."""
        if not isinstance(names, np.ndarray):
            known, code = np.unique(np.asarray(names, object), return_inverse=True)
            return cls._from_codes(known.tolist(), code, place, n)
        numbers, code = np.unique(names, return_inverse=True)
        texts = [f"{number:019}" for number in numbers.tolist()]  # in the order of the numbers
        return cls._from_codes(texts, code, place, n)

    @classmethod
    def _from_codes(cls, names: Sequence[str], code: Ints, place: Ints, n: Counts) -> ClusterCounts:
        """Take entries, (r,) each, of clusters by their place among sorted names."""
        order = np.lexsort((place, code))
        code, place, n = code[order], place[order], n[order]
        new = np.ones(len(n), bool)
        new[1:] = (code[1:] != code[:-1]) | (place[1:] != place[:-1])
        first = np.flatnonzero(new)
        n = np.add.reduceat(n, first) if len(n) else n
        code, place = code[first], place[first]
        return cls(tuple(names), place, n, np.searchsorted(code, np.arange(len(names))))

    def __len__(self) -> int:
        """Return the number of clusters."""
        return len(self.names)

    @property
    def owners(self) -> list[str]:
        """The cluster of each entry, (r,)."""
        return [self.names[i] for i in self._entry.tolist()]

    def placed(self, place: Ints, _: int = 0) -> ClusterCounts:
        """Return the same rows where pattern i stands at place[i]; several may stand at one."""
        return self._from_codes(self.names, self._entry, place[self.place], self.n)

    def less(self, other: ClusterCounts, place: Ints) -> ClusterCounts:
        """Return it without the rows of another, whose pattern i stands at place[i] here."""
        width = 1 + max(int(one.max(initial=0)) for one in (self.place, place))
        code = np.searchsorted(np.array(self.names, object), np.array(other.names, object))
        taken = code[other._entry] * width + place[other.place]
        n, entry = self.n.copy(), self._entry
        n[np.searchsorted(entry * width + self.place, taken)] -= other.n
        left = n != 0
        there, code = np.unique(entry[left], return_inverse=True)
        names = tuple(self.names[i] for i in there.tolist())
        starts = np.searchsorted(code, np.arange(len(there)))
        return ClusterCounts(names, self.place[left], n[left], starts)

    def shared(self, other: ClusterCounts) -> tuple[Any, Any]:
        """Return which clusters have rows in both: their numbers here, and there."""
        mine, theirs = (np.array(one.names, object) for one in (self, other))
        _, here, there = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
        return here, there

    def totals(self, weights: Floats) -> Floats:
        """Return the sums of pattern weights (w, m) over the rows of each cluster, (w, c)."""
        found = np.zeros((len(weights), len(self)))
        for row, each in zip(found, weights, strict=True):  # one at a time: clusters may be many
            if len(self):
                np.add.reduceat(each[self.place] * self.n, self.starts, out=row)
        return found

    @property
    def size(self) -> float:
        """The number of clusters."""
        return float(len(self))

    def products(self, weights: Floats) -> Floats:
        """Return the sums over clusters of products of two of their totals: (w, m): (w, w)."""
        each = self.totals(weights)
        return np.asarray(each @ each.T)

    def ranges(self, m: int, first: Ints, last: Ints) -> Floats:
        """Return the sums over clusters of products of TP, FP, P and N in t ranges, (t, 4, 4).

        Of 2 m patterns, m places of positives and then of negatives: TP and FP are those of a range
        of places, from `first` (t,) up to `last`, P and N those of all.
        """
        ends = np.unique(np.concatenate([first, last]))
        low, high = np.searchsorted(ends, first), np.searchsorted(ends, last)
        side, entry, width = self.place >= m, self._entry, len(ends) + 1
        passed = np.searchsorted(ends, self.place % m, side="right")  # ends up to each entry
        bounds, sums = np.append(self.starts, len(self.n)), np.zeros((len(first), 4, 4))
        most = max(1, CELLS // (2 * width))  # clusters at a time
        for start in range(0, len(self), most):
            stop = min(start + most, len(self))
            part = slice(bounds[start], bounds[stop])
            code = (2 * (entry[part] - start) + side[part]) * width + passed[part]
            rows = np.bincount(code, self.n[part], 2 * (stop - start) * width)
            below = rows.reshape(-1, 2, width).cumsum(axis=2)  # each end, and all in the last place
            inside = below[:, :, high] - below[:, :, low]
            each = np.concatenate([inside, np.broadcast_to(below[:, :, -1:], inside.shape)], axis=1)
            sums += np.einsum("cit,cjt->tij", each, each)
        return sums

    def moments(self, weights: Floats | Influence) -> tuple[Floats, Floats]:
        """Return the products, and the kurtosis of each total about 0, (w,)."""
        each = self.totals(np.atleast_2d(np.asarray(weights)))
        kurtosis = divide(len(self) * (each**4).sum(axis=1), (each**2).sum(axis=1) ** 2)
        return np.asarray(each @ each.T), kurtosis

    def pairs(self, first: Bools) -> float:
        """Return how many pairs of a row of the first patterns and another share no cluster."""
        has, others = self.totals(np.array([first, ~first], np.float64)) > 0
        return float((has & others).sum() + min((has & ~others).sum(), (others & ~has).sum()))

    def shares(self, part: Bools, whole: Bools) -> Floats:
        """Return k, n, and the sums of k², k n, n² of s shares, (5, s): see `share_design`."""
        hits, rows = np.broadcast_arrays(
            *(self.totals(which.astype(np.float64)) for which in (part, whole))
        )
        products = (hits, rows, hits * hits, hits * rows, rows * rows)
        return np.array([one.sum(axis=1) for one in products])

    def drawn(self, which: Floats, *, resamples: int, rng: np.random.Generator) -> Floats:
        """Return how many rows are of each of d kinds, (d, m), in resampled clusters: (d, r)."""
        return resampled_clusters(self.totals(which).T, resamples=resamples, rng=rng).T

    def redraws(self, m: int, *, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield how often the m patterns occur in resampled clusters, (b, m) each."""
        entry = self._entry
        for block in resampled_counts(np.ones(len(self)), resamples=resamples, rng=rng):
            for some in np.array_split(block, max(1, len(block) * m // CELLS)):
                yield np.array([np.bincount(self.place, n[entry] * self.n, m) for n in some])

    def having(self, which: Bools) -> int:
        """Return how many clusters have rows of some patterns, (m,)."""
        return len(np.unique(self._entry[which[self.place]]))

    def fold_of(self, folds: int, which: Bools, rng: np.random.Generator) -> Ints:
        """Return the fold of each cluster, (c,), stratified by rows of `which` patterns (m,)."""
        some = np.zeros(len(self), bool)
        some[self._entry[which[self.place]]] = True
        fold = np.empty(len(self), np.int64)
        fold[np.lexsort((rng.random(len(self)), some))] = np.arange(len(self)) % folds
        return fold

    def dealt(self, folds: int, which: Bools, rng: np.random.Generator) -> Counts:
        """Deal whole clusters to folds, as `fold_of` says: how often patterns occur, (folds, m)."""
        fold = self.fold_of(folds, which, rng)
        found = np.zeros((folds, len(which)), self.n.dtype)
        np.add.at(found, (fold[self._entry], self.place), self.n)
        return found

    @property
    def _entry(self) -> Ints:
        """The number of the cluster of each entry, (r,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts, append=len(self.place)))

    def digest(self) -> str:
        """Return the sha256 of what is in the clusters, whatever they are called."""
        ends = np.append(self.starts, len(self.place)).tolist()
        place, n = self.place.tolist(), self.n.tolist()
        lines = sorted(
            " ".join(f"{place[i]}:{n[i]!r}" for i in range(start, end))
            for start, end in pairwise(ends)
        )
        return sha256("\n".join(lines).encode()).hexdigest()
