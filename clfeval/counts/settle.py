"""What a pass over the rows needs beforehand: hashed files, models, kinds, the positive class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any, TypeAlias

from clfeval.errors import DataError, Problem, listing, suggestion
from clfeval.late import nw
from clfeval.tables.cells import BINARY, PARTNERS, as_text, known_labels, natural
from clfeval.tables.csv import FingerprintTask, inspect_structure, looks_ragged, start_fingerprint
from clfeval.tables.input import Input, Kind
from clfeval.tables.prediction import Columns, Layout, ModelColumns, Predictions
from clfeval.tables.scan import (
    NO_TAIL,
    TEXT_BYTES,
    Peek,
    TableFile,
    collect,
    distinct_of,
    is_score,
    scan,
    unreadable,
)


def resolve_positive(file: str, classes: tuple[str, ...], roles: Input) -> str:
    """Return the positive class: the named one, or 1 / true of a 0 / 1 or false / true truth."""
    if roles.positive is not None:
        if classes and roles.positive not in {*classes, *roles.labels} and len(classes) > 1:
            raise DataError(
                Problem(
                    f"truth has no class '{roles.positive}'; its classes: {listing(classes)}",
                    "unknown-positive", file,
                ),
                hint=suggestion(roles.positive, classes)
                or f"a class truth happens to lack is declared with --labels {roles.positive}",
            )  # fmt: skip
        return roles.positive
    default = default_positive(classes)
    if default is None:
        raise DataError(
            Problem(
                f"which class is positive? truth has {listing(classes)}", "positive-needed", file
            ),
            hint=f"name it, for example --positive {quote(classes[-1])}; all others are negative",
        )
    return default


def default_positive(classes: tuple[str, ...] | frozenset[str]) -> str | None:
    """Return 1 or true (as it is written) when the classes are 0 / 1 or false / true."""
    folded = {name.casefold(): name for name in classes}
    if len(folded) != len(classes) or not folded:
        return None
    if set(folded) <= BINARY[0]:
        return "1"
    if set(folded) <= BINARY[1]:
        return folded.get("true") or PARTNERS.get(folded["false"], "true")
    return None


def slice_label(by: tuple[str, ...], values: tuple[Any, ...]) -> str:
    """Name a slice: `site=A`, or `site=A, sex=f` for several columns."""
    texts = [as_text(value) for value in values]
    return ", ".join(
        f"{column}={'(missing)' if text is None else text}"
        for column, text in zip(by, texts, strict=True)
    )


def values_of(values: list[Any], label: str) -> tuple[Any, ...]:
    """Return the distinct raw values that read as the label."""
    return tuple(value for value in set(values) if as_text(value) == label)


Tasks: TypeAlias = "Sequence[FingerprintTask | None]"


@dataclass(frozen=True, slots=True)
class FileCount:
    """What one file contributed: observations counted and observations left out."""

    name: str
    sha256: str | None
    rows: int
    dropped: int


def fingerprints(files: Sequence[TableFile]) -> tuple[FingerprintTask | None, ...]:
    """Start to read the bytes of every file beside the counting."""
    return tuple(start_fingerprint(file.source) if file.source else None for file in files)


def file_count(
    file: TableFile, task: FingerprintTask | None, rows: int, dropped: int = 0
) -> FileCount:
    """Say what a file contributed."""
    return FileCount(file.shown, task.result().sha256 if task else None, rows, dropped)


def check_structure(
    file: TableFile, task: FingerprintTask | None, *, short_rows: bool | None = None
) -> None:
    """Raise for ragged rows, NUL bytes and wrong encodings.

    `short_rows` tells whether some row lacks its last field; None if no pass has read every field.
    Byte counts then settle tables without quote marks, where no row was refused as too long.
    """
    if file.head is None or file.source is None or task is None:
        return
    fingerprint = task.result()
    suspect = fingerprint.damaged or looks_ragged(fingerprint, len(file.columns))
    if not suspect and short_rows is None:
        every = scan(file, {}, watch=True).select(nw.col(NO_TAIL).sum(), nw.col(TEXT_BYTES).sum())
        short_rows = bool(collect(every)[NO_TAIL].item())
    if fingerprint.quotes and short_rows:
        suspect = True
    if suspect:
        inspect_structure(file.source, file.columns)


def explained(files: Sequence[TableFile], error: Exception) -> DataError:
    """Turn a reader's refusal into the rows to blame, or at least the file and the reason."""
    for file in files:
        if file.head and file.source:
            inspect_structure(file.source, file.columns)
    if files[0].source:
        return unreadable(files[0].source, error)
    return DataError.of(f"cannot be read: {error}", "bad-file", files[0].name)


@dataclass(frozen=True, slots=True)
class Settled:
    """A table that can be counted: how every column is read, and which class is positive.

    thresholds: per model; NaN asks for the largest class probability.
    classes: truth's labels, where they were looked up beforehand.
    strange: per label model, values of the first rows that are no label and no number either.
    reread: models whose first rows looked like labels and which hold scores.
    """

    columns: Columns
    positive: str
    thresholds: Mapping[str, float]
    roles: Input
    layout: Layout
    files: tuple[TableFile, ...] = ()
    tasks: Tasks = ()
    peeks: Mapping[str, Peek] | None = None
    classes: tuple[str, ...] = ()
    strange: Mapping[str, frozenset[str]] | None = None
    reread: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Return what the table is called in messages."""
        return self.files[0].name if self.files else ""

    def texts(self, model: ModelColumns) -> frozenset[str]:
        """Return the first values of a model's answers."""
        return (self.peeks or {})[self.columns.source(model)].texts


def settle(opened: Predictions, cuts: Mapping[str, float]) -> Settled:
    """Settle what the first values leave open, with one look at the whole truth where they do.

    `cuts` replaces thresholds by model. Label columns whose first values are no labels of the whole
    truth are found strange here, before a column of free text makes every row a group of its own.
    """
    files, columns, roles = opened.files, opened.columns, opened.roles
    if opened.layout.models is not None:
        columns = opened.layout.models(files, columns, opened.peeks, roles)
    found = opened.peeks[columns.truth].texts
    settled = Settled(
        columns=columns,
        positive=str(roles.positive or default_positive(found)),
        thresholds=_thresholds(columns, roles) | dict(cuts),
        roles=roles,
        layout=opened.layout,
        files=files,
        tasks=fingerprints(files),
        peeks=opened.peeks,
    )
    unsure = _maybe_labels(settled)
    if not (unsure or _strange(settled, tuple(found))) and (
        roles.positive or default_positive(found)
    ):
        return settled
    everywhere = distinct_of(files, columns.truth, columns.null_values)
    classes = tuple(sorted(everywhere, key=natural))
    if classes:
        settled = replace(settled, positive=resolve_positive(settled.name, classes, roles))
    labels = known_labels(classes, roles)
    strange = _strange(settled, classes)
    kinds: dict[str, Kind] = {name: "label" for name, texts in unsure.items() if texts <= labels}
    return replace(with_kinds(settled, kinds), classes=classes, strange=strange)


def with_kinds(settled: Settled, kinds: Mapping[str, Kind]) -> Settled:
    """Return the table with models read as another kind: all of them, if they share a column."""
    if not kinds:
        return settled
    columns = settled.columns
    if columns.answer:
        kinds = dict.fromkeys((model.name for model in columns.models), next(iter(kinds.values())))
    models = tuple(
        replace(model, kind=kinds[model.name]) if model.name in kinds else model
        for model in columns.models
    )
    return replace(settled, columns=replace(columns, models=models))


def _thresholds(columns: Columns, roles: Input) -> dict[str, float]:
    """Return the cut of each model: more than two classes vote by the largest, unless asked."""
    return {
        model.name: float("nan")
        if len(model.columns) > 2 and not roles.has_threshold(model.name)
        else roles.threshold_of(model.name)
        for model in columns.models
    }


def _maybe_labels(settled: Settled) -> dict[str, frozenset[str]]:
    """Return score columns of whole numbers: classes of a truth whose first rows lack them?"""
    if settled.roles.kind is not None:
        return {}
    unsure = {}
    for model in settled.columns.models:
        texts = settled.texts(model)
        if model.kind == "score" and all(is_score(t) and float(t) % 1 == 0 for t in texts):
            unsure[model.name] = texts
    return unsure


def _strange(settled: Settled, classes: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """Return, per label model, values of the first rows that are no label and no number either."""
    roles = settled.roles
    known = known_labels(classes, roles) | set(settled.columns.null_values)
    strange = {}
    for model in settled.columns.models:
        texts = settled.texts(model)
        if model.kind == "label" and not (texts <= known or all(map(is_score, texts))):
            strange[model.name] = frozenset(texts - known)
    return strange
