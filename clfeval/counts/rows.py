"""Single rows of several scored models, for statistics of the dependence between models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.counts.clusters_and_weights import Owned, Owners, group_owners, merge_equal_rows
from clfeval.counts.evaluated_rows import EvaluatedRows, cluster_numbers
from clfeval.counts.patterns import order_by_name
from clfeval.counts.scores import ScoreCounts, is_new_score
from clfeval.counts.slices import slice_rows_of_tables
from clfeval.tables.lazy_imports import nw, pl
from clfeval.tables.scan import collect

K = TypeVar("K")
T = TypeVar("T")
_ODD = np.uint64(0x9E3779B97F4A7C15)  # from the golden ratio
_LEAST_AT_ONCE = 2**15  # rows from which on two models are computed in parallel
_MOST_AT_ONCE = 25_000_000  # rows times models that fit in memory


@dataclass(frozen=True, slots=True, eq=False)
class DistinctRows:
    """The m distinct rows of a table, sorted by its columns, and their frequencies.

    first (m,): index of a row of each kind; n (m,): rows or weight; clusters: sampling units.
    """

    first: Ints
    n: Counts
    clusters: Owned | None

    @classmethod
    def from_columns(
        cls, columns: Sequence[Floats | Ints | Bools], weights: Counts | None,
        owners: Ints | None, *, weighed: bool,
    ) -> DistinctRows:  # fmt: skip
        """Count equal rows of columns (n,); weighed: weights are sampling weights, not counts."""
        n = np.ones(len(columns[0]), np.int64) if weights is None else weights
        owned = owners is not None or weighed
        return cls(*merge_equal_rows(columns, n, _row_owners(n, owners) if owned else None))


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRows:
    """Every row of a table of k scored models.

    models: indices among all models; scores: one (n,) of each; truth (n,); weights (n,) in units,
    or None; slices: row indices of each; owners (n,): clusters, None for independent rows.
    """

    models: tuple[int, ...]
    scores: tuple[Floats, ...]
    truth: Bools
    weights: Counts | None
    slices: Mapping[str, Ints]
    owners: Ints | None
    unit: float = 1

    def each(self, one: Callable[[int], T]) -> Iterator[T]:
        """Yield the result of a function for each model, in order; in parallel for many rows."""
        return self.side_by_side(one, range(len(self.models)))

    def side_by_side(self, one: Callable[[K], T], parts: Sequence[K]) -> Iterator[T]:
        """Yield the result of a function for each part, in order; in parallel for many rows."""
        rows = len(self.truth)
        most = _MOST_AT_ONCE // max(rows, 1)
        if len(parts) < 2 or most < 2 or rows < _LEAST_AT_ONCE:
            yield from map(one, parts)
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(len(parts), most, pl.thread_pool_size())) as pool:
            yield from pool.map(one, parts)

    def pair(self, i: int, j: int) -> DistinctRows:
        """Return the joint counts of two models' scores and truth, independent of other models."""
        columns = (self.scores[i], self.scores[j], self.truth)
        return DistinctRows.from_columns(columns, self.weights, self.owners, weighed=self.weighed)

    def ranked(self, j: int) -> tuple[ScoreCounts, Ints]:
        """Return the score counts of a model, and the index of each row's score in them, (n,)."""
        x = self.scores[j]
        order = np.argsort(x)
        ordered = x[order]
        place = np.empty(len(x), np.int64)
        place[order] = np.cumsum(is_new_score(ordered)) - 1
        n = None if self.weights is None else self.weights[order]
        counts = ScoreCounts.from_rows(ordered, self.truth[order], n, self.unit)
        return counts if self.alike else self._owned(counts, place, self.truth), place

    def within(self, whole: ScoreCounts, place: Ints, label: str) -> tuple[ScoreCounts, Ints]:
        """Return the score counts of a slice and their indices in `whole`; see `ranked`."""
        rows = self.slices[label]
        at, truth = place.take(rows), self.truth.take(rows)
        weights, owners = (
            None if one is None else one[rows] for one in (self.weights, self.owners)
        )
        if weights is None:  # sorting numbers takes half the time of sorting indices
            code = 2 * at + truth
            code = np.sort(code.astype(np.int32) if len(place) < 2**30 else code)
            counts = ScoreCounts.from_rows(code >> 1, code % 2 == 1, None)
        else:
            counts = ScoreCounts.from_rows(at, truth, weights, self.unit)
        there = counts.scores.astype(np.int64)
        counts = replace(counts, scores=whole.scores.take(there))
        if self.alike:
            return counts, there
        part = replace(self, weights=weights, owners=owners)
        return part._owned(counts, np.searchsorted(there, at), truth), there

    @property
    def weighed(self) -> bool:
        """True if rows have sampling weights and no clusters."""
        return self.unit != 1 and self.owners is None

    @property
    def alike(self) -> bool:
        """True if rows are independent, and weights only repeat them."""
        return self.owners is None and not self.weighed

    def _owned(self, counts: ScoreCounts, place: Ints, truth: Bools) -> ScoreCounts:
        """Return score counts with the cluster counts or row weights of their rows."""
        m = len(counts.scores)
        at = np.where(truth, place, place + m)
        n = np.ones(len(place), np.int64) if self.weights is None else self.weights
        return replace(counts, clusters=group_owners(_row_owners(n, self.owners), at, n, 2 * m))


def _row_owners(n: Counts, owners: Ints | None) -> Owners:
    """Return the cluster of each row; without clusters its squared weight."""
    return n.astype(np.float64) ** 2 if owners is None else owners


def read_scored_rows(kept: EvaluatedRows) -> ScoredRows:
    """Read the evaluated rows with the scores of all models, sorted by content: one pass."""
    columns = kept.settled.columns
    scored = tuple(i for i, model in enumerate(columns.models) if model.kind != "label")
    owned = columns.cluster is not None
    names = [*(f"s{i}" for i in scored), *(f"b{j}" for j in range(len(columns.by)))]
    picked = [*names, *(["w"] if columns.weight else []), *(["c"] if owned else [])]
    tables = [
        collect(frame.select(*picked, t=nw.col("t").cast(nw.Int8)))
        for frame in kept.frames(scores=scored, by=True, cluster=True)
    ]

    scores = [concatenate_column(tables, f"s{i}") for i in scored]
    truth = concatenate_column(tables, "t").astype(bool)
    weights = concatenate_column(tables, "w").astype(np.int64) if columns.weight else None
    owners = cluster_numbers(tables) if owned else None
    named = order_by_name([columns.models[i].name for i in scored])
    order = canonical_order(
        [truth, *(scores[j] for j in named), *(one for one in (weights, owners) if one is not None)]
    )
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    slices = slice_rows_of_tables(tables, columns.facets, columns.by)
    weights, owners = (None if one is None else one[order] for one in (weights, owners))
    slices = {label: np.sort(place[rows]) for label, rows in slices.items()}
    ordered = tuple(one[order] for one in scores)
    return ScoredRows(scored, ordered, truth[order], weights, slices, owners, kept.settled.unit)


def concatenate_column(tables: Sequence[nw.DataFrame[Any]], name: str) -> Floats:
    """Return a column of several tables, concatenated."""
    parts = [table[name].to_numpy() for table in tables]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def canonical_order(columns: Sequence[Floats | Ints | Bools]) -> Ints:
    """Return row indices ordered by a hash of the content, independent of the order of rows."""
    code = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        code ^= (np.asarray(column, np.float64) + 0.0).view(np.uint64)  # -0.0 is 0.0
        code *= _ODD
        code ^= code >> np.uint64(29)
    return np.argsort(code)
