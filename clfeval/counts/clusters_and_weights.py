"""Cluster counts and sampling weights: sums and products for variances, and their resampling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Influence, Ints, divide
from clfeval.inference.influence_and_clusters import FEWEST_CLUSTERS, power_sums
from clfeval.inference.resampling import (
    CELLS,
    resampled_clusters,
    resampled_counts,
    resampled_weights,
    split_into_folds,
)
from clfeval.records import dataclass, replace


@dataclass(frozen=True, slots=True, eq=False)
class ClusterCounts:
    """Counts of the m patterns of another statistic in each of c clusters; r entries.

    names (c,): the clusters, in order; place (r,): index of the pattern, n (r,): rows or weight;
    starts (c,): first entry of each cluster. Entries are sorted by cluster and pattern.
    """

    names: tuple[str, ...]
    place: Ints
    n: Counts
    starts: Ints

    @classmethod
    def from_entries(cls, names: Sequence[str] | Counts, place: Ints, n: Counts) -> ClusterCounts:
        """Build from entries (r,) of clusters by name or number; equal entries are summed."""
        if isinstance(names, np.ndarray):
            numbers, code = np.unique(names, return_inverse=True)
            texts = [f"{number:019}" for number in numbers.tolist()]  # in the order of the numbers
        else:
            distinct_names, code = np.unique(np.asarray(names, object), return_inverse=True)
            texts = distinct_names.tolist()
        return cls._from_codes(texts, code, place, n)

    @classmethod
    def _from_codes(cls, names: Sequence[str], code: Ints, place: Ints, n: Counts) -> ClusterCounts:
        """Build from entries (r,) of clusters by index among sorted names."""
        first_entries, n, _ = merge_equal_rows([code, place], n)
        starts = np.searchsorted(code[first_entries], np.arange(len(names)))
        return cls(tuple(names), place[first_entries], n, starts)

    def __len__(self) -> int:
        """Return the number of clusters."""
        return len(self.names)

    @property
    def owners(self) -> list[str]:
        """The cluster of each entry, (r,)."""
        return [self.names[i] for i in self._cluster_index.tolist()]

    def renumber(self, place: Ints, _: int = 0) -> ClusterCounts:
        """Return the counts with pattern i renumbered as place[i]; several may share a number."""
        return self._from_codes(self.names, self._cluster_index, place[self.place], self.n)

    def subtract(self, part: ClusterCounts, place: Ints) -> ClusterCounts:
        """Return the counts without those of a part, whose pattern i is place[i] here."""
        key_width = 1 + max(int(places.max(initial=0)) for places in (self.place, place))
        cluster_indices = np.searchsorted(
            np.array(self.names, object), np.array(part.names, object)
        )
        part_keys = cluster_indices[part._cluster_index] * key_width + place[part.place]
        owners = self._cluster_index
        n = self.n.copy()
        n[np.searchsorted(owners * key_width + self.place, part_keys)] -= part.n
        has_rows = n != 0
        remaining, new_owner = np.unique(owners[has_rows], return_inverse=True)
        names = tuple(self.names[i] for i in remaining.tolist())
        starts = np.searchsorted(new_owner, np.arange(len(remaining)))
        return ClusterCounts(names, self.place[has_rows], n[has_rows], starts)

    def shared(self, second: ClusterCounts) -> tuple[Any, Any]:
        """Return the clusters with rows in both statistics: their indices in each of the two."""
        first_names = np.array(self.names, object)
        second_names = np.array(second.names, object)
        _, first_indices, second_indices = np.intersect1d(
            first_names, second_names, assume_unique=True, return_indices=True
        )
        return first_indices, second_indices

    def totals(self, weights: Floats) -> Floats:
        """Return the sums of pattern weights (w, m) over the rows of each cluster, (w, c)."""
        totals = np.zeros((len(weights), len(self)))
        for row, pattern_weights in zip(
            totals, weights, strict=True
        ):  # one at a time to save memory
            if len(self):
                np.add.reduceat(pattern_weights[self.place] * self.n, self.starts, out=row)
        return totals

    @property
    def size(self) -> float:
        """The number of clusters."""
        return float(len(self))

    @property
    def too_few(self) -> bool:
        """True for fewer clusters than a variance between them needs."""
        return len(self) < FEWEST_CLUSTERS

    def products(self, weights: Floats) -> Floats:
        """Return sums over clusters of products of two totals, for weights (w, m): (w, w)."""
        totals = self.totals(weights)
        return np.asarray(totals @ totals.T)

    def ranges(self, m: int, first: Ints, last: Ints) -> Floats:
        """Return sums over clusters of products of TP, FP, P and N in t score ranges, (t, 4, 4).

        Of 2 m patterns, m of positives and then of negatives, TP and FP are those of a range
        of indices, from `first` (t,) up to `last`, P and N those of all.
        """
        edges = np.unique(np.concatenate([first, last]))
        low_edges = np.searchsorted(edges, first)
        high_edges = np.searchsorted(edges, last)
        width = len(edges) + 1
        edges_below = np.searchsorted(edges, self.place % m, side="right")
        # of each entry: cluster, then class, then the number of edges at or below it
        code = (2 * self._cluster_index + (self.place >= m)) * width + edges_below
        bounds = np.append(self.starts, len(self.n))
        sums = np.zeros((len(first), 4, 4))
        block_size = max(1, CELLS // (2 * width))  # in clusters
        for start in range(0, len(self), block_size):
            stop = min(start + block_size, len(self))
            entries = slice(bounds[start], bounds[stop])
            block_codes = code[entries] - 2 * start * width
            rows = np.bincount(block_codes, self.n[entries], 2 * (stop - start) * width)
            totals = _totals_in_ranges(rows.reshape(-1, 2, width), low_edges, high_edges)
            sums += np.einsum("cit,cjt->tij", totals, totals)
        return sums

    def moments(self, weights: Floats | Influence) -> tuple[Floats, Floats]:
        """Return the products, and the kurtosis of each cluster total about 0, (w,)."""
        totals = self.totals(np.atleast_2d(np.asarray(weights)))
        kurtosis = divide(len(self) * (totals**4).sum(axis=1), (totals**2).sum(axis=1) ** 2)
        return np.asarray(totals @ totals.T), kurtosis

    def pairs(self, first: Bools) -> float:
        """Return the number of pairs (first patterns, others) that use each cluster once."""
        has_first, has_others = self.totals(np.array([first, ~first], np.float64)) > 0
        return float(
            (has_first & has_others).sum()
            + min((has_first & ~has_others).sum(), (has_others & ~has_first).sum())
        )

    def shares(self, hit_patterns: Bools, row_patterns: Bools) -> Floats:
        """Return k, n, and the sums of k², k n, n² of s shares, (5, s): see `share_design`."""
        hits, rows = np.broadcast_arrays(
            self.totals(hit_patterns.astype(np.float64)),
            self.totals(row_patterns.astype(np.float64)),
        )
        terms = (hits, rows, hits * hits, hits * rows, rows * rows)
        return np.array([term.sum(axis=1) for term in terms])

    def resample(self, kinds: Floats, *, resamples: int, rng: np.random.Generator) -> Floats:
        """Return counts of d kinds of rows, (d, m), in resampled clusters: (d, resamples)."""
        return resampled_clusters(self.totals(kinds).T, resamples=resamples, rng=rng).T

    def bootstrap_counts(
        self, m: int, *, resamples: int, rng: np.random.Generator
    ) -> Iterator[Floats]:
        """Yield the counts of the m patterns in resampled clusters, (b, m) each."""
        owner = self._cluster_index
        for block in resampled_counts(np.ones(len(self)), resamples=resamples, rng=rng):
            for block_part in np.array_split(block, max(1, len(block) * m // CELLS)):
                yield np.array(
                    [
                        np.bincount(self.place, multiplicities[owner] * self.n, m)
                        for multiplicities in block_part
                    ]
                )

    def split_into_folds(self, m: int, folds: int, rng: np.random.Generator) -> Counts:
        """Return the counts of the m patterns in random folds of whole clusters, (folds, m)."""
        fold = np.empty(len(self), np.int64)
        fold[rng.permutation(len(self))] = np.arange(len(self)) % folds
        fold_and_pattern = fold[self._cluster_index] * m + self.place
        return np.bincount(fold_and_pattern, self.n, folds * m).reshape(folds, m)

    def having(self, patterns: Bools) -> int:
        """Return the number of clusters with rows of some patterns, (m,)."""
        return len(np.unique(self._cluster_index[patterns[self.place]]))

    @property
    def _cluster_index(self) -> Ints:
        """The index of the cluster of each entry, (r,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts, append=len(self.place)))

    def digest(self) -> str:
        """Return the sha256 of the counts in the clusters, independent of cluster names."""
        entries = zip(self.place.tolist(), self.n.tolist(), strict=True)
        texts = [f"{place}:{n!r}" for place, n in entries]
        bounds = np.append(self.starts, len(texts)).tolist()
        lines = sorted(" ".join(texts[start:end]) for start, end in pairwise(bounds))
        return sha256("\n".join(lines).encode()).hexdigest()


def _totals_in_ranges(rows: Counts, low_edges: Ints, high_edges: Ints) -> Counts:
    """Return TP, FP, P and N of clusters in t ranges, (c, 4, t).

    rows (c, 2, e): of each class by edge; low_edges, high_edges (t,): indices of edges.
    """
    rows_below = rows.cumsum(axis=2)  # by edge, all at the last index
    in_range = rows_below[:, :, high_edges] - rows_below[:, :, low_edges]
    return np.concatenate(
        [in_range, np.broadcast_to(rows_below[:, :, -1:], in_range.shape)], axis=1
    )


T = TypeVar("T")
_DIGITS = 9  # of a sum of squares: further digits depend on the order of summation
# the cluster of each entry; or of its weights the sum of squares and the largest, (r, 2)
Owners = Sequence[str] | Counts


@dataclass(frozen=True, slots=True, eq=False)
class RowWeights:
    """Sums n (m,) of weights, raw (m,) of squared weights and the largest weight of m patterns."""

    n: Floats
    raw: Floats
    largest: Floats

    @classmethod
    def from_entries(cls, owners: Floats, place: Ints, n: Counts, m: int) -> RowWeights:
        """Build from entries (r,) of rows with the pattern at index `place`, of m patterns.

        owners (r, 2): the sum of squared weights of each entry, and the largest weight.
        """
        squares, heaviest = owners.T
        largest = np.zeros(m)
        np.maximum.at(largest, place, heaviest)
        total = np.zeros(m, n.dtype)  # whole units add up exactly, in whatever order rows come
        np.add.at(total, place, n)
        raw = np.bincount(place, squares, m).astype(np.float64)
        return cls(total.astype(np.float64), raw, largest)

    @property
    def owners(self) -> Floats:
        """The sum of squared weights and the largest weight of each pattern, (m, 2)."""
        return np.column_stack([self.raw, self.largest])

    @property
    def heaviest(self) -> float:
        """The largest weight of a row."""
        return float(self.largest[self.n > 0].max(initial=0.0))

    @property
    def squares(self) -> Floats:
        """Sums of squared weights, (m,), from effective numbers of rows rounded to 9 digits."""
        squared = self.n**2
        rows = np.divide(squared, self.raw, out=np.ones(len(squared)), where=self.raw > 0)
        power_of_ten = 10.0 ** np.floor(np.log10(rows))
        return np.where(
            self.raw > 0, squared / (np.round(rows / power_of_ten, _DIGITS - 1) * power_of_ten), 0.0
        )

    @property
    def size(self) -> float:
        """The effective number of rows (sum w)² / sum w².

        Source: Kish 1965, Survey Sampling, section 11.7.
        """
        squares = float(self.squares.sum())
        return float(self.n.sum()) ** 2 / squares if squares else 0.0

    @property
    def too_few(self) -> bool:
        """False: few weights have limits of their own."""
        return False

    @property
    def weight(self) -> float:
        """The effective weight of a row: sum w² / sum w."""
        return float(divide(self.squares.sum(), self.n.sum()))

    def among(self, patterns: Bools) -> RowWeights:
        """Return the weights of some patterns only."""
        return RowWeights(self.n[patterns], self.raw[patterns], self.largest[patterns])

    def subtract(self, part: RowWeights, place: Ints) -> RowWeights:
        """Return the weights without those of a part, whose pattern i is place[i] here.

        The largest weight of a pattern that is left may be that of a row of the part.
        """
        n = self.n.copy()
        raw = self.raw.copy()
        n[place] -= part.n
        raw[place] -= part.raw
        return RowWeights(n, np.where(n > 0, raw, 0.0), self.largest)

    def renumber(self, place: Ints, m: int = 0) -> RowWeights:
        """Return the weights with pattern i renumbered as place[i], of m; some may share one."""
        m = max(m, int(place.max(initial=-1)) + 1)
        return RowWeights.from_entries(self.owners, place, self.n, m)

    def products(self, weights: Floats) -> Floats:
        """Return sums over rows of products of two weighted influence values: (w, m): (w, w)."""
        products, _ = self.moments(weights)
        return products

    def moments(self, weights: Floats | Influence) -> tuple[Floats, Floats]:
        """Return the products, and the kurtosis of the terms of each total, (w,).

        A term is a row's influence times its weight. The rows of a pattern count as equally heavy:
        sum w² / sum w each, as many as their effective number.
        """
        row_weights, rows = self.equal_rows()
        if not isinstance(weights, Influence):
            products, second, fourth = power_sums(weights * row_weights, [self.n], [rows])
            return products, divide(rows.sum() * fourth, second**2)
        # of positives and of negatives
        n, second_weights, fourth_weights = (
            np.split(terms, 2) for terms in (self.n, rows * row_weights**2, rows * row_weights**4)
        )
        products, second, _ = power_sums(weights, n, second_weights)
        _, _, fourth = power_sums(weights, n, fourth_weights)
        return products, divide(rows.sum() * fourth, second**2)

    def equal_rows(self) -> tuple[Floats, Floats]:
        """Return the weight of a row of each pattern and the number of rows, as if equally heavy.

        sum w² / sum w, and the effective number of rows (sum w)² / sum w²; 0 without rows.
        """
        row_weights = np.nan_to_num(divide(self.squares, self.n))
        return row_weights, np.nan_to_num(divide(self.n, row_weights))

    def split_into_folds(self, m: int, folds: int, rng: np.random.Generator) -> Counts:
        """Return the weights of the m patterns in random folds of rows, (folds, m).

        The rows of a pattern count as equally heavy.
        """
        _, rows = self.equal_rows()
        row_counts = np.where(self.n > 0, np.maximum(np.round(rows), 1), 0)
        fold_counts = split_into_folds(row_counts.astype(np.int64), folds, rng)
        return np.asarray(fold_counts * np.nan_to_num(divide(self.n, row_counts)))[:, :m]

    def pairs(self, first: Bools) -> float:
        """Return the effective number of pairs of a row of the first patterns and another row."""
        return min(self.among(first).size, self.among(~first).size)

    def shares(self, hit_patterns: Bools, row_patterns: Bools) -> Floats:
        """Return k, n, and the sums of k², k n, n² of s shares, (5, s): see `share_design`."""
        hits = hit_patterns.astype(np.float64)
        rows = row_patterns.astype(np.float64)
        row_hits = (hit_patterns & row_patterns).astype(np.float64)
        n = self.n
        squares = self.squares
        sums = (hits @ n, rows @ n, hits @ squares, row_hits @ squares, rows @ squares)
        return np.array(np.broadcast_arrays(*sums))

    def resample(self, kinds: Floats, *, resamples: int, rng: np.random.Generator) -> Floats:
        """Return bootstrap sums of weights of d disjoint kinds of rows, (d, m): (d, resamples)."""
        n = kinds @ self.n
        squares = kinds @ self.squares
        return np.concatenate([*resampled_weights(n, squares, resamples=resamples, rng=rng)]).T

    def bootstrap_counts(
        self, _: int, *, resamples: int, rng: np.random.Generator
    ) -> Iterator[Floats]:
        """Yield bootstrap sums of weights of the m patterns, (b, m) each."""
        return resampled_weights(self.n, self.squares, resamples=resamples, rng=rng)

    def digest(self) -> str:
        """Return the sha256 of the sums of squared weights, and of the largest weight."""
        numbers = np.append(self.squares, self.heaviest)
        return sha256(numbers.astype("<f8").tobytes()).hexdigest()


Owned = ClusterCounts | RowWeights  # sampling units other than equal rows


def table_products(owned: Owned, kinds: Floats) -> Floats:
    """Return the products over sampling units for limits of tables; NaN of too few clusters."""
    products = owned.products(kinds)
    return np.full_like(products, np.nan) if owned.too_few else products


def squares_and_weights(n: Counts) -> Floats:
    """Return the owners of rows of weights n (r,): squared weights and weights, (r, 2)."""
    weights = np.asarray(n, np.float64)
    return np.column_stack([weights**2, weights])


def largest_weights(owned: Owned | None, k: int) -> Floats | None:
    """Return the largest weight of a row for each of k tables, (k,); None without weights."""
    return np.full(k, owned.heaviest) if isinstance(owned, RowWeights) else None


def clusters_or_weights(owners: Owners | None, place: Ints, n: Counts, m: int) -> Owned | None:
    """Return cluster counts or row weights of entries (r,) with patterns at `place`; else None."""
    if owners is None:
        return None
    if isinstance(owners, np.ndarray) and owners.dtype.kind == "f":
        return RowWeights.from_entries(owners, place, n, m)
    return ClusterCounts.from_entries(owners, place, n)


def merge_equal_rows(
    keys: Sequence[Any], n: Counts, owners: Owners | None = None
) -> tuple[Ints, Counts, Owned | None]:
    """Return the first of each set of equal rows of count > 0, sorted, with counts and owners.

    Rows are equal where all keys (r,) are, and sorted by these; n (r,): their numbers or weight.
    """
    entry_indices = np.arange(len(n))
    if not (n > 0).all():
        entry_indices = np.flatnonzero(n > 0)
        keys = [key[entry_indices] for key in keys]
        n = n[entry_indices]
        owners = select_owners(owners, entry_indices)
    order = np.lexsort(keys[::-1])
    is_new = np.zeros(len(order), bool)
    is_new[:1] = True
    for key in keys:
        ordered_key = key[order]
        is_new[1:] |= ordered_key[1:] != ordered_key[:-1]
    starts = np.flatnonzero(is_new)
    totals = np.add.reduceat(n[order], starts) if len(order) else n
    clusters = None
    if owners is not None:
        row_index = np.empty(len(order), np.int64)
        row_index[order] = np.cumsum(is_new) - 1
        clusters = clusters_or_weights(owners, row_index, n, len(starts))
    return entry_indices[order[starts]], totals, clusters


class Statistic(Protocol):
    """A statistic of rows: n counts (or weights) of patterns, and their sampling units."""

    @property
    def n(self) -> Counts:
        """The rows of each pattern, or their weight."""
        ...

    @property
    def clusters(self) -> Owned | None:
        """The sampling units other than equal rows."""
        ...


def pattern_entries(statistic: Statistic, *names: str) -> tuple[list[Any], Counts, Owners | None]:
    """Return columns, counts and owners of a statistic, by cluster if it has clusters."""
    columns = [getattr(statistic, name) for name in names]
    clusters = statistic.clusters
    if isinstance(clusters, ClusterCounts):
        return [column[clusters.place] for column in columns], clusters.n, clusters.owners
    return columns, statistic.n, None if clusters is None else clusters.owners


def concatenate_statistics(
    first: Statistic, second: Statistic, *names: str
) -> tuple[list[Any], Counts, Owners | None]:
    """Return columns, counts and owners of two statistics, concatenated."""
    if type(first.clusters) is not type(second.clusters):
        raise ValueError("only one of the two is counted by clusters")
    first_columns, first_n, first_owners = pattern_entries(first, *names)
    second_columns, second_n, second_owners = pattern_entries(second, *names)
    columns = [np.concatenate(pair) for pair in zip(first_columns, second_columns, strict=True)]
    owners: Owners | None = None
    if isinstance(first_owners, np.ndarray):
        owners = np.concatenate([first_owners, second_owners])
    elif first_owners is not None and second_owners is not None:
        owners = [*first_owners, *second_owners]
    return columns, np.concatenate([first_n, second_n]), owners


def subtract_part(statistic: T, part: T, *names: str) -> T:
    """Return a statistic without the counts of a part; patterns without rows keep count 0."""
    minuend: Any = statistic
    subtrahend: Any = part
    columns = [
        np.column_stack([getattr(counts, name) for name in names])
        for counts in (minuend, subtrahend)
    ]
    _, pattern = np.unique(np.concatenate(columns), axis=0, return_inverse=True)
    pattern, part_pattern = np.split(pattern.ravel(), [len(minuend.n)])
    index_of_pattern = np.empty(len(pattern), np.int64)
    index_of_pattern[pattern] = np.arange(len(pattern))
    part_indices = index_of_pattern[part_pattern]
    n = minuend.n.copy()
    n[part_indices] -= subtrahend.n
    owners = subtract_owners(minuend.clusters, subtrahend.clusters, part_indices)
    return cast("T", replace(minuend, n=n, clusters=owners))


def subtract_owners(owners: Owned | None, part: Owned | None, place: Ints) -> Owned | None:
    """Return cluster counts or row weights without those of a part with patterns at `place`."""
    return None if owners is None or part is None else cast("Any", owners).subtract(part, place)


def select_owners(owners: Owners | None, indices: Ints) -> Owners | None:
    """Return the owners of some entries."""
    if owners is None:
        return None
    return (
        owners[indices] if isinstance(owners, np.ndarray) else [owners[i] for i in indices.tolist()]
    )
