"""Counts of labels and probabilities of more than two classes, for the whole table and slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np

from clfeval.arrays import Counts, Floats, Ints
from clfeval.counts.clusters_and_weights import (
    Owned,
    Owners,
    merge_equal_rows,
    pattern_entries,
    select_owners,
)
from clfeval.counts.evaluated_rows import EvaluatedRows, cluster_numbers, slice_rows_of_tables
from clfeval.counts.invalid_rows import PatternCheck
from clfeval.counts.patterns import (
    PatternCounts,
    WeightedCounts,
    add_statistics,
    from_units,
    order_by_name,
    sums_of_weights,
)
from clfeval.counts.scores import ScoreCounts
from clfeval.counts.settings import CountSettings
from clfeval.records import dataclass
from clfeval.tables.columns import ModelColumns
from clfeval.tables.frames import (
    Frame,
    as_text,
    collect,
    concatenate_frames,
    distinct_texts,
    natural_sort_key,
    nw,
)
from clfeval.tables.readings.labels import known_labels


@dataclass(frozen=True, slots=True, eq=False)
class ClassPatterns(WeightedCounts):
    """The sufficient statistic of labels of C classes: m distinct rows with the labels of k models.

    classes (C,): in order; truth (m,) and votes (m, k) are indices in it. n (m,): number of equal
    rows, or their weight in units of 1 / `unit`. Rows are distinct and sorted by truth, then the
    votes of the models in the order of their names. clusters: as of `PatternCounts`.
    """

    models: tuple[str, ...]
    classes: tuple[str, ...]
    truth: Ints
    votes: Ints
    n: Counts
    unit: float = 1
    clusters: Owned | None = None

    @classmethod
    def from_labels(
        cls,
        models: Sequence[str],
        classes: Sequence[str],
        truth: Ints,
        votes: Ints,
        n: Counts,
        unit: float = 1,
        *,
        owners: Owners | None = None,
    ) -> ClassPatterns:
        """Merge equal rows, drop rows of count 0 and sort; owners: clusters or squared weights."""
        keys = [truth, *(votes[:, i] for i in order_by_name(models))]
        first_indices, counts, clusters = merge_equal_rows(keys, n, owners)
        models_and_classes = tuple(models), tuple(classes)
        return cls(
            *models_and_classes, truth[first_indices], votes[first_indices], counts, unit, clusters
        )

    @classmethod
    def from_binary_patterns(
        cls, patterns: PatternCounts, classes: Sequence[str], positive: str
    ) -> ClassPatterns:
        """Build the patterns of two classes from votes, with every vote as a label."""
        masks, n, owners = pattern_entries(patterns, "truth", "votes")
        positive_index = tuple(classes).index(positive)  # of two classes, so 1 - it is the other
        truth, votes = (np.where(mask, positive_index, 1 - positive_index) for mask in masks)
        return cls.from_labels(
            patterns.models, classes, truth, votes, n, patterns.unit, owners=owners
        )

    def __add__(self, other: ClassPatterns) -> ClassPatterns:
        """Add the counts of other rows of the same models and classes."""
        build = ClassPatterns.from_labels
        return add_statistics(self, other, build, ("models", "classes"), "truth", "votes")

    @property
    def tables(self) -> Counts:
        """The confusion matrix of each model, (k, C, C) in units: rows truth, columns labels."""
        c = len(self.classes)
        cell_counts = np.zeros((len(self.models), c * c), self.n.dtype)
        for i, table in enumerate(cell_counts):
            np.add.at(table, self.cells(i), self.n)
        return cell_counts.reshape(-1, c, c)

    def cells(self, i: int) -> Ints:
        """Return the index of each pattern's cell in the confusion matrix of model i, (m,)."""
        return np.asarray(self.truth * len(self.classes) + self.votes[:, i])

    def digest(self) -> str:
        """Return the sha256 of the counts, independent of the order of rows and columns."""
        model_order = order_by_name(self.models)
        names_text = repr([*self.classes, *(self.models[i] for i in model_order)])
        return _digest(names_text, [self.truth, *(self.votes[:, i] for i in model_order)], self)


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores(WeightedCounts):
    """The sufficient statistic of one model's probabilities of C classes: m distinct rows.

    classes (C,): in order; truth (m,): indices in it, p (m, C): probabilities, n (m,): number of
    equal rows, or their weight in units of 1 / `unit`. Rows are distinct and
    sorted by truth, then the probabilities. clusters: as of `PatternCounts`.
    """

    classes: tuple[str, ...]
    truth: Ints
    p: Floats
    n: Counts
    unit: float = 1
    clusters: Owned | None = None

    @classmethod
    def from_probabilities(
        cls,
        classes: Sequence[str],
        truth: Ints,
        p: Floats,
        n: Counts,
        unit: float = 1,
        *,
        owners: Owners | None = None,
    ) -> ClassScores:
        """Merge equal rows, drop rows of count 0 and sort."""
        first_indices, counts, clusters = merge_equal_rows([truth, *p.T], n, owners)
        return cls(tuple(classes), truth[first_indices], p[first_indices], counts, unit, clusters)

    def __add__(self, other: ClassScores) -> ClassScores:
        """Add the counts of other rows of the same classes."""
        build = ClassScores.from_probabilities
        return add_statistics(self, other, build, ("classes",), "truth", "p")

    def most_probable(self) -> ScoreCounts:
        """Return the largest probabilities as scores, with correct rows as positives."""
        is_error = self.p.argmax(axis=1) != self.truth
        scores, score_index = np.unique(self.p.max(axis=1), return_inverse=True)
        m = len(scores)
        cell_index = score_index + m * is_error  # m correct cells, then m of errors
        positives, negatives = np.bincount(cell_index, self.n, 2 * m).astype(np.int64).reshape(2, m)
        owned = None if self.clusters is None else self.clusters.renumber(cell_index, 2 * m)
        return ScoreCounts(scores, positives, negatives, self.unit, owned)

    def digest(self) -> str:
        """Return the sha256 of the counts, independent of the order of rows."""
        return _digest(repr(self.classes), [self.truth, *self.p.T], self)


def _digest(header: str, columns: Iterable[Any], statistic: ClassPatterns | ClassScores) -> str:
    """Return the sha256 of a header, columns (m,), and the counts and clusters of a statistic."""
    hasher = sha256(header.encode("utf-8", "surrogatepass"))
    for column in (*columns, from_units(statistic.n, statistic.unit)):
        hasher.update(column.astype(f"<{column.dtype.kind}8").tobytes())
    if statistic.clusters is not None:
        hasher.update(statistic.clusters.digest().encode())
    return hasher.hexdigest()


def label_patterns(
    models: Sequence[str],
    classes: tuple[str, ...],
    labels: Sequence[Ints],
    n: Counts,
    unit: float,
    slices: Mapping[str, Ints],
    owners: Owners | None,
) -> dict[str | None, ClassPatterns]:
    """Return the patterns of the whole table (None) and of each slice, from rows of labels.

    labels: class indices (m,) of truth, then of each model; n (m,): counts; slices: row indices of
    each; owners (m,): the cluster, or sum of squared weights, of each row, or None.
    """
    truth, *model_labels = labels
    votes = np.column_stack(model_labels) if model_labels else np.zeros((len(n), 0), np.int64)

    def count_labels(slice_n: Counts) -> ClassPatterns:
        return ClassPatterns.from_labels(
            models, classes, truth, votes, slice_n, unit, owners=owners
        )

    return {None: count_labels(n)} | {
        label: count_labels(_only(n, rows)) for label, rows in slices.items()
    }


def class_order(check: PatternCheck, settings: CountSettings) -> tuple[str, ...]:
    """Return the classes of truth, --classes and columns, in declared, then natural order."""
    models = settings.columns.models
    input_options = settings.roles
    class_names = {*check.classes, *input_options.classes, settings.positive}
    class_names |= {label for model in models if model.kind == "classes" for label in model.classes}
    # the other class of a pair such as 0 and 1 counts too, if a model predicts it
    likely_classes = known_labels(check.classes, input_options) - class_names
    if likely_classes:
        predicted_texts = distinct_texts(
            label
            for model, votes in zip(models, check.grouped.votes, strict=True)
            if model.kind == "label"
            for label in votes
        )
        class_names |= likely_classes & predicted_texts
    if len(class_names) < 2:
        class_names.add(f"not {settings.positive}")
    declared_classes = tuple(dict.fromkeys(input_options.classes))
    return (
        *declared_classes,
        *sorted(class_names.difference(declared_classes), key=natural_sort_key),
    )


def grouped_labels(
    check: PatternCheck, settings: CountSettings, classes: tuple[str, ...]
) -> Callable[[], dict[str | None, ClassPatterns]] | None:
    """Return the count of labels of more than two classes; None if a model has probabilities."""
    patterns = check.grouped
    models = settings.columns.models
    if len(classes) < 3 or any(model.kind == "classes" for model in models):
        return None
    evaluated_indices, slices = check.evaluated_slices(settings)
    votes_by_model = {
        model.name: votes
        for model, votes in zip(models, patterns.votes, strict=True)
        if model.kind == "label"
    }
    class_indices = [
        encode_classes([column[i] for i in evaluated_indices.tolist()], classes)
        for column in (patterns.truth, *votes_by_model.values())
    ]
    owners = select_owners(check.owners, evaluated_indices)
    n = patterns.n[evaluated_indices]
    models_and_classes = [*votes_by_model], classes
    return partial(
        label_patterns, *models_and_classes, class_indices, n, settings.unit, slices, owners
    )


def read_labels(
    evaluated: EvaluatedRows, classes: tuple[str, ...]
) -> dict[str | None, ClassPatterns]:
    """Count labels, or most probable classes (first of ties), of all models: one more pass."""
    models = evaluated.settled.columns.models
    model_indices = [i for i, model in enumerate(models) if model.kind != "score"]
    frames = evaluated.frames(labels=model_indices, by=True, cluster=True)
    keys = ["y", *(f"y{i}" for i in model_indices)]
    table, n, owners, slices = _count_equal_rows(evaluated, keys, frames)
    model_labels = (predicted_labels(models[i], table[f"y{i}"]) for i in model_indices)
    labels = [encode_classes(column, classes) for column in (table["y"].to_list(), *model_labels)]
    names = [models[i].name for i in model_indices]
    return label_patterns(names, classes, labels, n, evaluated.settled.unit, slices, owners)


def read_class_scores(
    evaluated: EvaluatedRows, i: int, classes: tuple[str, ...]
) -> Mapping[str | None, ClassScores]:
    """Count the class probabilities of model i by slice: one pass; 0 for a missing column."""
    model = evaluated.settled.columns.models[i]
    if model.kind != "classes":
        raise ValueError(f"{model.name} has no class probabilities")
    keys = ["y", *(f"p{k}" for k in range(len(model.classes)))]
    frames = evaluated.frames(shares=i, by=True, cluster=True)
    table, n, owners, slices = _count_equal_rows(evaluated, keys, frames)
    p = _probabilities(table, model, classes)
    truth = encode_classes(table["y"].to_list(), classes)

    def count_scores(slice_n: Counts) -> ClassScores:
        unit = evaluated.settled.unit
        return ClassScores.from_probabilities(classes, truth, p, slice_n, unit, owners=owners)

    return {None: count_scores(n)} | {
        label: count_scores(_only(n, rows)) for label, rows in slices.items()
    }


def _probabilities(table: nw.DataFrame[Any], model: ModelColumns, classes: Sequence[str]) -> Floats:
    """Return the probabilities p0, p1, ... of a model by class, (n, C); 0 for a missing column."""
    p = np.zeros((len(table), len(classes)), order="F")
    for k, label in enumerate(model.classes):
        p[:, classes.index(label)] = table[f"p{k}"].to_numpy()
    return p


def _count_equal_rows(
    evaluated: EvaluatedRows, keys: Sequence[str], frames: Sequence[Frame]
) -> tuple[nw.DataFrame[Any], Counts, Owners | None, dict[str, Ints]]:
    """Return the rows with distinct keys, with counts, clusters or squared weights, and slices.

    keys: columns of the frames, to which those of slices and clusters are added.
    """
    columns = evaluated.settled.columns
    group_keys = [*keys, *(f"b{j}" for j in range(len(columns.by)))]
    group_keys += ["c"] if columns.cluster is not None else []
    sums = [nw.col("w").sum()]
    if evaluated.settled.weighed:
        sums += sums_of_weights()
    table = collect(concatenate_frames(frames).group_by(*group_keys).agg(*sums))
    owners: Owners | None = None
    if evaluated.settled.weighed:
        owners = np.column_stack([table["q"].to_numpy(), table["h"].to_numpy()])
    elif columns.cluster is not None:
        owners = [str(as_text(value)) for value in table["c"].to_list()]
    slices = slice_rows_of_tables([table], columns.facets, columns.by)
    return table, table["w"].to_numpy().astype(np.int64), owners, slices


def _only(n: Counts, rows: Ints) -> Counts:
    """Return counts that are 0 outside some rows."""
    counts_within = np.zeros_like(n)
    counts_within[rows] = n[rows]
    return counts_within


def encode_classes(values: Sequence[Any], classes: Sequence[str]) -> Ints:
    """Return the class index of each raw value."""
    class_index = {label: k for k, label in enumerate(classes)}
    index_of_value = {value: class_index[str(as_text(value))] for value in set(values)}
    return np.array([index_of_value[value] for value in values], np.int64)


def predicted_labels(model: ModelColumns, column: nw.Series[Any]) -> list[Any]:
    """Return labels; of class probabilities the classes at the indices of the largest."""
    labels: list[Any] = column.to_list()
    return [model.classes[int(k)] for k in labels] if model.kind == "classes" else labels


@dataclass(frozen=True, slots=True, eq=False)
class ProbabilityRows:
    """Every row of a table with one model's probabilities of C classes.

    truth (n,): indices of classes; p (n, C): probabilities; weights (n,) or None; owners (n,): the
    cluster of each row, None where rows are independent.
    """

    truth: Ints
    p: Floats
    weights: Counts | None
    owners: Ints | None

    @property
    def n(self) -> Counts:
        """Weight of each row, 1 without weights."""
        return np.ones(len(self.truth), np.int64) if self.weights is None else self.weights


def read_probability_rows(
    evaluated: EvaluatedRows, i: int, classes: tuple[str, ...]
) -> ProbabilityRows:
    """Read the evaluated rows with the class probabilities of model i, sorted by any ids."""
    columns = evaluated.settled.columns
    has_ids = columns.id is not None
    model = columns.models[i]
    column_names = ["y", *(["w"] if columns.weight else []), *(["c"] if columns.cluster else [])]
    column_names += [*(["key"] if has_ids else []), *(f"p{k}" for k in range(len(model.columns)))]
    frames = evaluated.frames(shares=i, cluster=True, key=has_ids)
    table = nw.concat([collect(frame.select(*column_names)) for frame in frames])
    table = table.sort("key") if has_ids else table
    truth = encode_classes(table["y"].to_list(), classes)
    p = _probabilities(table, model, classes)
    weights = table["w"].to_numpy().astype(np.int64) if columns.weight else None
    owners = cluster_numbers([table]) if columns.cluster else None
    return ProbabilityRows(truth, p, weights, owners)
