"""Single rows: their scores, and digests that recognise rows again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import reduce
from hashlib import sha256
from itertools import product
from operator import add
from typing import Any, NamedTuple, TypeVar

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints, sort_rows
from clfeval.counts.classes import encode_classes, predicted_labels
from clfeval.counts.clusters_and_weights import (
    Owned,
    Owners,
    clusters_or_weights,
    merge_equal_rows,
    squares_and_weights,
)
from clfeval.counts.evaluated_rows import cluster_numbers, slice_rows_of_tables
from clfeval.counts.patterns import order_by_name
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.sample import Sample
from clfeval.counts.scores import ScoreCounts, is_new_score
from clfeval.document.cells import Row, as_row
from clfeval.records import dataclass, field, replace
from clfeval.tables.frames import (
    Frame,
    as_text,
    collect,
    concatenate_frames,
    natural_sort_key,
    nw,
    pl,
)

K = TypeVar("K")
T = TypeVar("T")
_ODD = np.uint64(0x9E3779B97F4A7C15)  # from the golden ratio
_LEAST_AT_ONCE = 2**15  # rows from which on two models are computed in parallel
_MOST_AT_ONCE = 19_000_000  # rows times models that fit in memory


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
        cls,
        columns: Sequence[Floats | Ints | Bools],
        weights: Counts | None,
        owners: Ints | None,
        *,
        weighed: bool,
    ) -> DistinctRows:
        """Count equal rows of columns (n,); weighed: weights are sampling weights, not counts."""
        n = np.ones(len(columns[0]), np.int64) if weights is None else weights
        owned = owners is not None or weighed
        return cls(*merge_equal_rows(columns, n, _row_owners(n, owners) if owned else None))


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRows:
    """Every row of a table of k scored models.

    models: indices among all models; scores: one (n,) of each; truth (n,); weights (n,) in units,
    or None; slices: row indices of each; owners (n,): clusters, None for independent rows. labels:
    whether requested models without scores predict each row positive, (n,) each.
    """

    models: tuple[int, ...]
    scores: tuple[Floats, ...]
    truth: Bools
    weights: Counts | None
    slices: Mapping[str, Ints]
    owners: Ints | None
    unit: float = 1
    labels: Mapping[str, Bools] = field(default_factory=dict)

    def map_models(self, function: Callable[[int], T]) -> Iterator[T]:
        """Yield the result of a function for each model, in order; in parallel for many rows."""
        return self.map_parts(function, range(len(self.models)))

    def map_parts(self, function: Callable[[K], T], parts: Sequence[K]) -> Iterator[T]:
        """Yield the result of a function for each part, in order; in parallel for many rows."""
        rows = len(self.truth)
        worker_limit = _MOST_AT_ONCE // max(rows, 1)
        if len(parts) < 2 or worker_limit < 2 or rows < _LEAST_AT_ONCE:
            yield from map(function, parts)
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(len(parts), worker_limit, pl.thread_pool_size())) as pool:
            yield from pool.map(function, parts)

    def pair(self, i: int, j: int) -> DistinctRows:
        """Return the joint counts of two models' scores and truth, independent of other models."""
        columns = (self.scores[i], self.scores[j], self.truth)
        return DistinctRows.from_columns(columns, self.weights, self.owners, weighed=self.weighed)

    def ranked(self, j: int) -> tuple[ScoreCounts, Ints]:
        """Return the score counts of a model, and the index of each row's score in them, (n,)."""
        x = self.scores[j]
        order, ordered_scores = sort_rows(x)
        index_type = np.int32 if len(x) < 2**30 else np.int64
        score_index: Ints = np.empty(len(x), index_type)
        score_index[order] = np.cumsum(is_new_score(ordered_scores), dtype=index_type) - 1
        n = None if self.weights is None else self.weights[order]
        counts = ScoreCounts.from_rows(ordered_scores, self.truth.take(order), n, self.unit)
        return counts if self.independent_rows else self._owned(
            counts, score_index, self.truth
        ), score_index

    def slice_scores(
        self, all_counts: ScoreCounts, score_index: Ints, label: str
    ) -> tuple[ScoreCounts, Ints]:
        """Return the score counts of a slice and their indices in `all_counts`; see `ranked`."""
        rows = self.slices[label]
        slice_score_index = score_index.take(rows)
        truth = self.truth.take(rows)
        weights = None if self.weights is None else self.weights[rows]
        owners = None if self.owners is None else self.owners[rows]
        if weights is None:  # sorting numbers takes half the time of sorting indices
            score_class_code = 2 * slice_score_index + truth  # its last bit is the class
            score_class_code = np.sort(
                score_class_code.astype(np.int32) if len(score_index) < 2**30 else score_class_code
            )
            counts = ScoreCounts.from_rows(score_class_code >> 1, score_class_code % 2 == 1, None)
        else:
            counts = ScoreCounts.from_rows(slice_score_index, truth, weights, self.unit)
        indices = counts.scores.astype(np.int64)
        counts = replace(counts, scores=all_counts.scores.take(indices))
        if self.independent_rows:
            return counts, indices
        slice_units = replace(self, weights=weights, owners=owners)
        return slice_units._owned(
            counts, np.searchsorted(indices, slice_score_index), truth
        ), indices

    @property
    def weighed(self) -> bool:
        """True if rows have sampling weights and no clusters."""
        return self.unit != 1 and self.owners is None

    @property
    def independent_rows(self) -> bool:
        """True if rows are independent, and weights only repeat them."""
        return self.owners is None and not self.weighed

    def _owned(self, counts: ScoreCounts, score_index: Ints, truth: Bools) -> ScoreCounts:
        """Return score counts with the cluster counts or row weights of their rows."""
        m = len(counts.scores)
        count_index = np.where(truth, score_index, score_index + m)
        n = np.ones(len(score_index), np.int64) if self.weights is None else self.weights
        return replace(
            counts, clusters=clusters_or_weights(_row_owners(n, self.owners), count_index, n, 2 * m)
        )


def _row_owners(n: Counts, owners: Ints | None) -> Owners:
    """Return the cluster of each row; without clusters its squared weight, and its weight."""
    return squares_and_weights(n) if owners is None else owners


@dataclass(frozen=True, slots=True, eq=False)
class StoredScores(ScoredRows):
    """The scores of counts files in place of rows; a slice is the numbers of the slices in it."""

    counts: Sequence[Mapping[str | None, ScoreCounts]] = ()

    @classmethod
    def from_counted(cls, predictions: PredictionCounts) -> StoredScores:
        """Build from the counts of models, of which no two are known to be the same."""
        scored_indices = tuple(
            i for i, model in enumerate(predictions.models) if model.kind != "label"
        )
        labels = [label for label in predictions.slices if label is not None]
        slices = {label: np.array([slice_index]) for slice_index, label in enumerate(labels)}
        model_markers = tuple(np.array([float(i)]) for i in scored_indices)
        counts = [predictions.scores(i) for i in scored_indices]
        return cls(
            models=scored_indices,
            scores=model_markers,
            truth=np.zeros(0, bool),
            weights=None,
            slices=slices,
            owners=None,
            counts=counts,
        )

    def ranked(self, j: int) -> tuple[ScoreCounts, Ints]:
        """Return the score counts of a model, and its number."""
        return self.counts[j][None], np.array([j])

    def slice_scores(
        self, all_counts: ScoreCounts, score_index: Ints, label: str
    ) -> tuple[ScoreCounts, Ints]:
        """Return the score counts of a slice and their indices in `all_counts`."""
        model_counts = self.counts[score_index.item()]
        labels = [slice_label for slice_label in model_counts if slice_label is not None]
        counts_of_slices = [model_counts[labels[k]] for k in self.slices[label].tolist()]
        slice_counts = reduce(add, counts_of_slices)
        return slice_counts, np.searchsorted(all_counts.scores, slice_counts.scores)


def read_scored_rows(predictions: PredictionCounts, labels: Collection[str] = ()) -> ScoredRows:
    """Read the evaluated rows with the scores of all models, sorted by content: one pass.

    labels: models without scores whose predictions are read too.
    """
    if predictions.stored is not None or predictions.bits is not None:
        return StoredScores.from_counted(predictions)
    evaluated = predictions.evaluated
    columns = evaluated.settled.columns
    scored_indices = tuple(i for i, model in enumerate(columns.models) if model.kind != "label")
    labelled_models = {
        i: model.name for i, model in enumerate(columns.models) if model.name in labels
    }
    tables = _scored_tables(predictions, scored_indices, [*labelled_models])
    scores = [concatenate_column(tables, f"s{i}") for i in scored_indices]
    truth = concatenate_column(tables, "t").astype(bool)
    weights = concatenate_column(tables, "w").astype(np.int64) if columns.weight else None
    owners = cluster_numbers(tables) if columns.cluster is not None else None
    name_order = order_by_name([columns.models[i].name for i in scored_indices])
    weights_and_owners = [column for column in (weights, owners) if column is not None]
    row_order = canonical_order([truth, *(scores[j] for j in name_order), *weights_and_owners])
    rank = np.empty_like(row_order)
    rank[row_order] = np.arange(len(row_order))
    slices = slice_rows_of_tables(tables, columns.facets, columns.by)
    return ScoredRows(
        models=scored_indices,
        scores=tuple(column.take(row_order) for column in scores),  # faster than indexing
        truth=truth.take(row_order),
        weights=None if weights is None else weights[row_order],
        slices={label: np.sort(rank[rows]) for label, rows in slices.items()},
        owners=None if owners is None else owners[row_order],
        unit=evaluated.settled.unit,
        labels={
            name: concatenate_column(tables, f"v{i}").astype(bool).take(row_order)
            for i, name in labelled_models.items()
        },
    )


def _scored_tables(
    predictions: PredictionCounts, scored_indices: Sequence[int], labelled_indices: Sequence[int]
) -> list[nw.DataFrame[Any]]:
    """Read the scores or labels of models, truth, slices, weights and clusters of each file.

    scored_indices, labelled_indices: indices of the models whose scores, or labels, are read.
    """
    columns = predictions.evaluated.settled.columns
    column_names = [*(f"s{i}" for i in scored_indices), *(f"b{j}" for j in range(len(columns.by)))]
    column_names += [f"v{i}" for i in labelled_indices]
    column_names += [
        *(["w"] if columns.weight else []),
        *(["c"] if columns.cluster is not None else []),
    ]
    return [
        collect(frame.select(*column_names, t=nw.col("t").cast(nw.Int8)))
        for frame in predictions.evaluated.frames(
            votes=bool(labelled_indices), scores=scored_indices, by=True, cluster=True
        )
    ]


def concatenate_column(tables: Sequence[nw.DataFrame[Any]], name: str) -> Floats:
    """Return a column of several tables, concatenated."""
    parts = [table[name].to_numpy() for table in tables]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def canonical_order(columns: Sequence[Floats | Ints | Bools]) -> Ints:
    """Return row indices ordered by a hash of the content, independent of the order of rows."""
    hash_code = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        hash_code ^= (np.asarray(column, np.float64) + 0.0).view(np.uint64)  # -0.0 is 0.0
        hash_code *= _ODD
        hash_code ^= hash_code >> np.uint64(29)
    order, _ = sort_rows(hash_code)
    return order


_AT_ONCE = 2**16  # rows


def truth_digest(sample: Sample) -> str | None:
    """Return the sha256 of the rows without predictions; None for rates.

    `ids:` of id, truth, weight and cluster of each row, in the order of ids: one pass more.
    `rows:` of the same without ids, in the order of the table. `counts:` of a table of counts:
    positives and negatives of each slice.
    """
    predictions = sample.predictions
    if predictions is None and not sample.sampled:
        return None
    if predictions is None or predictions.stored is not None:
        return f"counts:{sha256(_class_totals(sample)).hexdigest()}"
    columns = predictions.evaluated.settled.columns
    is_multiclass = predictions.multiclass
    has_ids = columns.id is not None
    frames = predictions.evaluated.frames(
        key=has_ids, cluster=True, labels=(0,) if is_multiclass else ()
    )
    column_names = [*(["key"] if has_ids else []), "y" if is_multiclass else "t"]
    column_names += [*(["w"] if columns.weight else []), *(["c"] if columns.cluster else [])]
    rows = collect(concatenate_frames([frame.select(column_names) for frame in frames]))
    if has_ids or predictions.evaluated.settled.layout.gathers:
        rows = rows.sort(*column_names)
    hasher = sha256(f"{predictions.positive!r} {column_names!r}\n".encode("utf-8", "surrogatepass"))
    for start in range(0, len(rows), _AT_ONCE):
        row_block = rows[start : start + _AT_ONCE]
        for name in column_names:
            texts = map(repr, map(as_text, row_block[name].to_list()))
            hasher.update("\n".join(texts).encode("utf-8", "surrogatepass"))
    return f"{'ids' if has_ids else 'rows'}:{hasher.hexdigest()}"


def _class_totals(sample: Sample) -> bytes:
    """Return positives and negatives of each slice and run, as text to be hashed."""
    lines = set[str]()
    for label, counts in (*sample.slices.items(), *sample.runs.items()):
        totals = zip(counts.positives.tolist(), counts.negatives.tolist(), strict=True)
        lines |= {f"{label!r} {positives} {negatives}" for positives, negatives in totals}
    return "\n".join(sorted(lines)).encode("utf-8", "surrogatepass")


_FIRST = 2**14  # rows read first, which usually have enough changes


def list_changes(
    predictions: PredictionCounts, pairs: Sequence[tuple[str, str]], most: int
) -> Iterator[Row]:
    """Yield, for each pair of model and reference, the rows newly wrong, then those newly right.

    At most `most` of each, in the order of the table (of ids in a long table). A row has its id, or
    file and row; truth, prediction of the reference (before) and of the model (after).
    """
    settings = predictions.evaluated.settled
    models = [model.name for model in settings.columns.models]
    index_pairs = [(models.index(model), models.index(reference)) for model, reference in pairs]
    if predictions.multiclass:
        changes_of_pairs = [[*_changes_of_classes(predictions, *pair)] for pair in index_pairs]
    else:
        changes_of_pairs = _changes_of_two_classes(predictions, index_pairs, most)
    key_name = "row" if settings.columns.id is None else "id"
    for (model, reference), changes in zip(pairs, changes_of_pairs, strict=True):
        if settings.layout.gathers:
            changes.sort(key=lambda change: natural_sort_key(change.key))
        for is_right in (False, True):
            for change in [change for change in changes if change.right is is_right][:most]:
                key: int | str = as_text(change.key) or ""
                if key_name == "row":
                    key = int(change.key)
                yield as_row(
                    {
                        "model": model,
                        "reference": reference,
                        "file": change.file,
                        key_name: key,
                        "truth": change.truth,
                        "before": change.old,
                        "after": change.new,
                    }
                )


class _Change(NamedTuple):
    """A row whose prediction is newly right or newly wrong."""

    file: str
    right: bool
    truth: str
    key: str
    old: str
    new: str


def _changes_of_two_classes(
    predictions: PredictionCounts, pairs: Sequence[tuple[int, int]], most: int
) -> list[list[_Change]]:
    """Return the rows that only one model of each pair predicts correctly, of two classes."""
    changes_of_pairs: list[list[_Change]] = [[] for _ in pairs]
    evaluated = predictions.evaluated
    class_names = _class_names(predictions)
    gathers = evaluated.settled.layout.gathers
    frames = evaluated.frames(votes=True, key=True)
    for file, frame in zip(evaluated.settled.files, frames, strict=not gathers):
        first_rows = None if gathers else collect(frame.head(_FIRST))
        for pair_index, is_right in product(range(len(pairs)), (False, True)):
            for key, *votes in _changed_rows(
                frame, first_rows, pairs[pair_index], is_right, most
            ).rows():
                truth, old, new = (class_names[bool(vote)] for vote in votes)
                changes_of_pairs[pair_index].append(
                    _Change(file.display_name, is_right, truth, key, old, new)
                )
    return changes_of_pairs


def _class_names(predictions: PredictionCounts) -> dict[bool, str]:
    """Return the names of the positive class, True, and of the other ones."""
    negatives = [name for name in predictions.order if name != predictions.positive]
    negative = negatives[0] if len(negatives) == 1 else f"not {predictions.positive}"
    return {True: predictions.positive, False: negative}


def _changed_rows(
    frame: Frame,
    first_rows: nw.DataFrame[Any] | None,
    pair: tuple[int, int],
    is_right: bool,
    most: int,
) -> nw.DataFrame[Any]:
    """Return key, truth and votes of the rows that a model predicts newly right, or newly wrong.

    pair: the indices of the model and its reference. first_rows: the first rows of the frame, which
    usually have `most` of these; None to return all of these from the whole frame.
    """
    new, old = (nw.col(f"v{i}") for i in pair)
    is_changed = (new != old) & ((new if is_right else old) == nw.col("t"))
    columns = {"t": nw.col("t"), "old": old, "new": new}
    if first_rows is None:
        return collect(frame.filter(is_changed).select("key", **columns))
    table = first_rows.filter(is_changed).select("key", **columns).head(most)
    if len(table) < most and len(first_rows) == _FIRST:
        return collect(frame.filter(is_changed).select("key", **columns).head(most))
    return table


def _changes_of_classes(predictions: PredictionCounts, i: int, j: int) -> Iterator[_Change]:
    """Yield the rows that only one of two models predicts correctly, of more than two classes."""
    evaluated = predictions.evaluated
    classes = predictions.order
    frames = evaluated.frames(labels=(i, j), key=True)
    for file, frame in zip(
        evaluated.settled.files, frames, strict=not evaluated.settled.layout.gathers
    ):
        table = collect(frame.select("key", "y", f"y{i}", f"y{j}"))
        keys = table["key"].to_list()
        truth = encode_classes(table["y"].to_list(), classes)
        new, old = (
            encode_classes(
                predicted_labels(evaluated.settled.columns.models[k], table[f"y{k}"]), classes
            )
            for k in (i, j)
        )
        is_changed = (new != old) & ((new == truth) | (old == truth))
        (changed_rows,) = is_changed.nonzero()
        for row in changed_rows.tolist():
            yield _Change(
                file.display_name,
                bool(new[row] == truth[row]),
                classes[truth[row]],
                keys[row],
                classes[old[row]],
                classes[new[row]],
            )
