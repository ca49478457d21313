"""The rows that are evaluated, with their slices: one lazy relation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import chain, pairwise
from math import inf
from typing import Any, Literal

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.counts import patterns
from clfeval.counts.clusters_and_weights import merge_equal_rows
from clfeval.counts.group_rows import (
    lacks_score,
    most_probable_class,
    predicts_positive,
    score_column,
    score_columns,
    slice_column,
)
from clfeval.counts.settings import CountSettings
from clfeval.errors import DataError
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass
from clfeval.tables.columns import KEY, Mode
from clfeval.tables.csv import SAMPLE_ROWS
from clfeval.tables.frames import (
    Frame,
    as_text,
    collect,
    concatenate_frames,
    is_missing,
    natural_sort_key,
    nw,
    with_shortest_decimals,
)
from clfeval.tables.input import FILE_NAME, ColumnNames, find_column

Facets = tuple[tuple[str, ...], ...]  # each: the columns whose values together define a slice


def slice_label(by: tuple[str, ...], values: Iterable[Any]) -> str:
    """Return the name of a slice: `site=A`, `site=A, sex=f` of crossed columns, or `file=A`."""
    texts = ("(missing)" if is_missing(value) else as_text(value) for value in values)
    names = ("file" if column == FILE_NAME else column for column in by)
    return ", ".join(f"{column}={text}" for column, text in zip(names, texts, strict=True))


def facet_of(label: str, facets: Facets) -> tuple[str, ...]:
    """Return the columns of a slice's name; if several match, the longest list."""

    def matches(first_column: str, *other_columns: str) -> bool:
        in_label = (f", {name}=" in label for name in other_columns)
        return label.startswith(f"{first_column}=") and all(in_label)

    return max((columns for columns in facets if matches(*columns)), key=len, default=())


# the value of a slice that is a bin of numbers: `under 40`, `40 to <65`, `65 or more`
_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_BIN = re.compile(rf"under {_NUMBER}|({_NUMBER}) (?:to <{_NUMBER}|or more)")


def slice_sort_key(label: str) -> tuple[tuple[int, float, tuple[Any, ...]], ...]:
    """Return the key that sorts the slices of a facet: bins by their numbers, others naturally."""
    parts = (part.partition("=") for part in label.split(", "))
    return tuple(_value_sort_key(value if separator else name) for name, separator, value in parts)


def _value_sort_key(value: str) -> tuple[int, float, tuple[Any, ...]]:
    """Return the key of a value: that of a bin is its lowest number."""
    matched = _BIN.fullmatch(value)
    if matched is None:
        return 1, 0.0, natural_sort_key(value)
    return 0, -inf if matched[1] is None else float(matched[1]), ()


def is_binned(label: str) -> bool:
    """Return whether a slice is of a bin of numbers, alone or crossed with other columns."""
    values = (part.partition("=")[2] for part in label.split(", "))
    return any(_BIN.fullmatch(value) is not None for value in values)


def slice_rows(facets: Facets, columns: Mapping[str, Sequence[Any]]) -> dict[str, Ints]:
    """Return row indices of each slice, ascending; columns: the values of each row."""

    def labels_and_codes() -> Iterator[tuple[list[str], Ints]]:
        for names in facets:
            combined = list(zip(*(columns[name] for name in names), strict=True))
            code_of_values = {values: i for i, values in enumerate(dict.fromkeys(combined))}
            code = np.fromiter(map(code_of_values.__getitem__, combined), np.int64, len(combined))
            yield [slice_label(names, values) for values in code_of_values], code

    return _rows_by_label(labels_and_codes())


def slice_rows_of_tables(
    tables: Sequence[nw.DataFrame[Any]], facets: Facets, by: tuple[str, ...]
) -> dict[str, Ints]:
    """Return row indices of each slice of concatenated tables; by: the columns b0, b1, ..."""

    def labels_and_codes() -> Iterator[tuple[list[str], Ints]]:
        for facet in facets:
            labels, codes = list[str](), [np.empty(0, np.int64)]
            names = [f"b{by.index(name)}" for name in facet]
            for table in tables:
                first_equal = nw.col("i").min().over(*names)  # the first equal row
                first_equal_rows = (
                    table.select(*names).with_row_index("i").select(first_equal)["i"].to_numpy()
                )
                distinct_indices, code = np.unique(first_equal_rows, return_inverse=True)
                codes.append(code + len(labels))
                labels += [
                    slice_label(facet, row) for row in table.select(*names)[distinct_indices].rows()
                ]
            yield labels, np.concatenate(codes)

    return _rows_by_label(labels_and_codes())


def _rows_by_label(labels_and_codes: Iterable[tuple[list[str], Ints]]) -> dict[str, Ints]:
    """Return row indices of each label, in natural order; DataError for a label of two columns.

    labels_and_codes: of each facet its labels, and the index of each row's label.
    """
    rows_by_label: dict[str, Ints] = {}
    for labels, code in labels_and_codes:
        ordered = sorted({*labels}, key=slice_sort_key)
        rank = {label: i for i, label in enumerate(ordered)}
        rank_type = np.uint16 if len(ordered) < 2**16 else np.int64  # 16 bits are sorted faster
        rank_of_rows = np.array([rank[label] for label in labels], rank_type)[code]
        order = np.argsort(rank_of_rows, kind="stable")
        bounds = np.searchsorted(rank_of_rows[order], np.arange(len(ordered) + 1)).tolist()
        row_indices = [order[start:end] for start, end in pairwise(bounds)]
        if repeated_labels := [label for label in ordered if label in rows_by_label]:
            raise DataError.new(
                f"slices of different columns have the name '{repeated_labels[0]}'",
                "same-slice",
                hint=f"run once for each {OPTION}--by{END} column",
            )
        rows_by_label |= dict(zip(ordered, row_indices, strict=True))
    return rows_by_label


Target = Literal["positive", "negative", "all"]
_DISTINCT = 0.95  # share of distinct values in the first rows above which a column is an id


@dataclass(frozen=True, slots=True)
class EvaluatedRows:
    """The evaluated rows, and how their values are read.

    positive_values, vote_values: raw values of the positive class in truth, and in each label
    model. complete: no row lacks a value. rows: in all.
    """

    settled: CountSettings
    mode: Mode
    positive_values: tuple[Any, ...]
    vote_values: tuple[tuple[Any, ...], ...]
    complete: bool
    rows: int

    def frames(  # noqa: PLR0913 - one for each kind of column
        self,
        *,
        votes: bool = False,
        scores: Sequence[int] = (),
        labels: Sequence[int] = (),
        shares: int | None = None,
        by: bool = False,
        cluster: bool = False,
        key: bool = False,
        target: Target = "all",
    ) -> list[Frame]:
        """Return the rows of each file: truth t, weight w, votes v0.., scores s.., slices b0.., c.

        `labels`: y, the raw truth, and y0.., the raw label of models or the place of their largest
        class probability. `shares`: y, and p0.., the class probabilities of a model. A layout that
        gathers rows has one frame for all files. `key` names the observation: its id, or its row
        (header is row 1). `target` leaves out the other class.
        """
        settings = self.settled
        columns = settings.columns
        expressions = {"w": nw.lit(1.0)}
        if columns.weight is not None:
            expressions["w"] = patterns.in_units(nw.col(columns.weight), settings.weight_unit)
        if labels or shares is not None:
            expressions["y"] = nw.col(columns.truth)
        if key:
            expressions["key"] = nw.col(KEY).cast(nw.String)
        if cluster and columns.cluster is not None:
            expressions["c"] = nw.col(columns.cluster)
        files = settings.layout.rows(
            settings.files, columns, self.mode, "key" if key else "nothing"
        )
        frames = []
        score_models = [columns.models[i] for i in (*scores, *([] if shares is None else [shares]))]
        for file_rows in files:
            frame = self._among(file_rows, target)
            frame = with_shortest_decimals(
                frame, [name for model in score_models for name in model.columns]
            )
            truth = _one_of(frame, columns.truth, self.positive_values)
            if by and columns.by:
                types = frame.collect_schema()
                expressions |= {
                    f"b{j}": slice_column(name, types) for j, name in enumerate(columns.by)
                }
            predictions = self._predictions(frame, votes, scores, labels, shares)
            frames.append(frame.select(t=truth, **expressions, **predictions))
        return frames

    def _predictions(
        self,
        frame: Frame,
        votes: bool,
        scores: Sequence[int],
        labels: Sequence[int],
        shares: int | None,
    ) -> dict[str, nw.Expr]:
        """Return the votes, scores, labels and probabilities of the models in a frame."""
        settings = self.settled
        types = frame.collect_schema()
        predictions = dict[str, nw.Expr]()
        for i, model in enumerate(settings.columns.models if votes else ()):
            if model.kind == "label":
                predictions[f"v{i}"] = _one_of(frame, model.columns[0], self.vote_values[i])
            else:
                predictions[f"v{i}"] = predicts_positive(model, settings, types)
        for i in scores:
            predictions[f"s{i}"] = score_column(settings.columns.models[i], settings.positive)
        for i in labels:
            model = settings.columns.models[i]
            predictions[f"y{i}"] = (
                nw.col(model.columns[0]) if model.kind == "label" else most_probable_class(model)
            )
        if shares is not None:
            class_scores = score_columns(settings.columns.models[shares])
            predictions |= {f"p{k}": score for k, score in enumerate(class_scores)}
        return predictions

    def runs_of_rows(self) -> tuple[int, list[int]]:
        """Return the numbers of ids, and of rows by run; DataError if truth differs by run."""
        rows = collect(concatenate_frames(self.frames(key=True, by=True)).select("key", "b0", "t"))
        conflicts = rows.group_by("key").agg(nw.col("t").n_unique()).filter(nw.col("t") > 1)
        if len(conflicts):
            message = f"'{conflicts['key'].min()}' has a different truth in another run"
            message += f", as have {len(conflicts):,} ids in all" if len(conflicts) > 1 else ""
            hint = "all rows of an id must have the same truth"
            column = self.settled.columns.id
            name = self.settled.name
            raise DataError.new(message, "conflicting-truth", name, None, column, hint=hint)
        return rows["key"].n_unique(), rows.group_by("b0").agg(nw.len())["len"].to_list()

    def likely_cluster(self) -> str | None:
        """Return an unused column that is named like clusters and has repeated values, or None."""
        settings = self.settled
        columns = settings.columns
        used_columns = {columns.id, columns.naming, columns.answer, *columns.constants}
        used_columns |= {name for model in columns.models for name in model.columns}
        unused_columns = [name for name in settings.profiles if name not in used_columns]
        name = find_column(unused_columns, ColumnNames.CLUSTER)
        rows_each = len(columns.models) if settings.layout.models else 1  # rows of an observation
        observations = min(self.rows, SAMPLE_ROWS // rows_each)
        is_repeated = (
            name is not None and len(settings.profiles[name].texts) < _DISTINCT * observations
        )
        return name if is_repeated else None

    def _among(self, frame: Frame, target: Target) -> Frame:
        """Keep rows without missing values, of weight above 0, and of the target class."""
        columns = self.settled.columns
        conditions = [nw.col(columns.weight) != 0] if columns.weight is not None else []
        if not self.complete:  # if complete, further columns need not be read
            schema = frame.collect_schema()
            labels = [model.columns[0] for model in columns.models if model.kind == "label"]
            for name in (columns.truth, *labels):
                conditions.append(~nw.col(name).is_null())
                conditions += [~nw.col(name).is_nan()] if schema[name].is_float() else []
            scored = [model for model in columns.models if model.kind != "label"]
            conditions += [~lacks_score(model, self.settled) for model in scored]
        if target != "all":
            positive = _one_of(frame, columns.truth, self.positive_values)
            conditions.append(positive if target == "positive" else ~positive)
        return frame.filter(*conditions) if conditions else frame


def _one_of(frame: Frame, column: str, values: tuple[Any, ...]) -> nw.Expr:
    """True where a column holds one of the values; values are compared with the column's type."""
    if len({isinstance(value, str) for value in values}) > 1:
        is_text = frame.collect_schema()[column] == nw.String
        values = tuple(value for value in values if isinstance(value, str) == is_text)
    return nw.col(column).is_in(list(values)) if values else nw.col(column).is_null()


def cluster_numbers(tables: Sequence[nw.DataFrame[Any]]) -> Ints:
    """Return the cluster of each row of some tables, column c, numbered from 0."""
    texts = [as_text(value) for table in tables for value in table["c"].to_list()]
    _, numbers = np.unique(np.array(texts, object), return_inverse=True)
    return np.asarray(numbers)


@dataclass(frozen=True, slots=True, eq=False)
class JointCounts(patterns.WeightedCounts):
    """The sufficient statistic of several models evaluated together: m distinct rows of a table.

    truth (m,) and votes (m, k) are True for the positive class; scores (m, k) are NaN in the
    columns of models that hold labels, None where no score is counted; n (m,) is the number of
    equal rows, or their weight in units of 1 / `unit`. Rows are distinct and sorted by truth,
    then the votes and then the scores of the models in the order of their names.
    """

    models: tuple[str, ...]
    truth: Bools
    votes: Bools
    scores: Floats | None
    n: Counts
    unit: float = 1

    @classmethod
    def from_rows(
        cls,
        models: tuple[str, ...],
        truth: Bools,
        votes: Bools,
        scores: Floats | None,
        n: Counts,
        unit: float = 1,
    ) -> JointCounts:
        """Merge equal rows, and sort them."""
        model_order = patterns.order_by_name(models)
        keys: list[Any] = [truth, *(votes[:, i] for i in model_order)]
        if scores is not None:  # NaN fills whole columns, which do not distinguish rows
            keys += [scores[:, i] for i in model_order if not np.isnan(scores[:, i]).all()]
        first_indices, counts, _ = merge_equal_rows(keys, n)
        scores = None if scores is None else scores[first_indices]
        return cls(models, truth[first_indices], votes[first_indices], scores, counts, unit)

    def __add__(self, other: JointCounts) -> JointCounts:
        """Add the counts of other rows of the same models."""
        if self.models != other.models or (self.scores is None) != (other.scores is None):
            raise ValueError(f"different models: {self.models} and {other.models}")
        truth, votes, n = patterns.stack_arrays(self, other, "truth", "votes", "n")
        scores: Floats | None = None
        if self.scores is not None:
            (scores,) = patterns.stack_arrays(self, other, "scores")
        unit = patterns.common_unit(self, other)
        return JointCounts.from_rows(self.models, truth, votes, scores, n, unit)

    def digest(self) -> str:
        """Return the sha256 of the counts, independent of the order of rows and columns."""
        model_order = patterns.order_by_name(self.models)
        hasher = sha256(
            repr([self.models[i] for i in model_order]).encode("utf-8", "surrogatepass")
        )
        hasher.update(np.packbits(self.truth).tobytes())
        for i in model_order:
            hasher.update(np.packbits(self.votes[:, i]).tobytes())
            if self.scores is not None:
                hasher.update(self.scores[:, i].astype("<f8").tobytes())
        n = patterns.from_units(self.n, self.unit)
        hasher.update(n.astype(f"<{n.dtype.kind}8").tobytes())
        return hasher.hexdigest()


def joint_counts(evaluated: EvaluatedRows) -> JointCounts:
    """Count the distinct rows of the whole table, with scores of all models: one more pass."""
    models = tuple(model.name for model in evaluated.settled.columns.models)
    scored_indices = [
        i for i, model in enumerate(evaluated.settled.columns.models) if model.kind != "label"
    ]
    model_order = patterns.order_by_name(models)
    keys = [
        "t",
        *(f"v{i}" for i in model_order),
        *(f"s{i}" for i in model_order if i in scored_indices),
    ]
    rows = concatenate_frames(evaluated.frames(votes=True, scores=scored_indices))
    table = collect(rows.group_by(*keys).agg(nw.col("w").sum()).sort(*keys))
    m = len(table)
    k = len(models)
    # column-major, as they are used column by column
    votes = np.empty((m, k), bool, order="F")
    scores = np.full((m, k), np.nan, order="F")
    for i in range(k):
        votes[:, i] = table[f"v{i}"].to_numpy()
    for i in scored_indices:
        scores[:, i] = table[f"s{i}"].to_numpy()
    truth = table["t"].to_numpy().astype(bool)
    n = table["w"].to_numpy().astype(np.int64)
    return JointCounts(models, truth, votes, scores, n, evaluated.settled.unit)


def list_exclusive(
    evaluated: EvaluatedRows,
    kinds: Sequence[str],
    *,
    target: Target,
    rule: str,
    groups: Mapping[str, tuple[str, ...]],
) -> list[dict[str, Any]]:
    """List the target rows that only one model detects (`found`) or misses (`missed`).

    A row names model, list and file, and its id or row. Missed: while every other model (rule
    `all`) or some other (rule `any`) detects it. Order: model, kind, then the order of the table
    (of the ids, for a long table).
    """
    settings = evaluated.settled
    key_name = "row" if settings.columns.id is None else "id"
    models = [model.name for model in settings.columns.models]
    members = patterns.group_members(models, groups)
    rows_of_lists = {(model, kind): list[dict[str, Any]]() for model in members for kind in kinds}
    for file_name, row_keys, detections in _hits_by_file(evaluated, target, members):
        for kind in kinds:
            is_exclusive = _exclusive_rows(detections, kind, rule)
            for j, model in enumerate(members):
                rows_of_lists[model, kind] += [
                    {
                        "model": model,
                        "list": kind,
                        "file": file_name,
                        key_name: int(value) if key_name == "row" else as_text(value) or "",
                    }
                    for value in row_keys[is_exclusive[:, j]].tolist()
                ]
    if settings.layout.gathers:  # a long table has no order of its observations
        for rows in rows_of_lists.values():
            rows.sort(key=lambda row: natural_sort_key(row["id"]))
    return list(chain.from_iterable(rows_of_lists.values()))


def _hits_by_file(
    evaluated: EvaluatedRows, target: Target, members: Mapping[str, Sequence[int]]
) -> Iterator[tuple[str, Any, Bools]]:
    """Yield, of each file, its name, the keys of its target rows, and who detects them (m, k)."""
    settings = evaluated.settled
    columns = [f"v{i}" for i in range(len(settings.columns.models))]
    frames = evaluated.frames(votes=True, key=True, target=target)
    for file, frame in zip(settings.files, frames, strict=not settings.layout.gathers):
        table = collect(frame)
        votes = np.column_stack([table[name].to_numpy() for name in columns])
        detections = patterns.merge_member_votes(votes == (target == "positive"), members)
        yield file.display_name, table["key"].to_numpy(), detections


def _exclusive_rows(detections: Bools, kind: str, rule: str) -> Bools:
    """Return which rows (m, k) only a model detects, or misses while all or any others do not."""
    detector_counts = detections.sum(axis=1)
    if kind != "missed":
        return np.asarray(detections & (detector_counts == 1)[:, None])
    n_others = detections.shape[1] - 1
    is_detected = detector_counts == n_others if rule == "all" else detector_counts > 0
    return np.asarray(~detections & (is_detected & (n_others > 0))[:, None])
