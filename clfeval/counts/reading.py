"""One pass over the files: the fastest reading first, a slower one where a guess proves wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import narwhals as nw

from clfeval.counts.raw import CountPlan, RawCounts, collect, count_raw, widen
from clfeval.errors import HEADER_ONLY, DataError, Problem
from clfeval.tables.csv import FingerprintTask, inspect_structure, looks_ragged
from clfeval.tables.names import known_labels, match_names, natural
from clfeval.tables.peek import distinct_texts
from clfeval.tables.prediction import ModelColumns, Predictions, guess_kind
from clfeval.tables.scan import (
    ENGINE_ERRORS,
    NO_TAIL,
    TEXT_BYTES,
    Reading,
    TableFile,
    scan,
    unreadable,
)

# fast   0/1 columns as integers, proved exact by counting bytes
# plain  labels as text, scores as numbers
# loose  as plain, but what is no number becomes null for the second pass to name
Mode = Literal["fast", "plain", "loose"]


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass over all files gave."""

    raw: RawCounts
    mode: Mode

    @property
    def loose(self) -> bool:
        """True when text that is no number was read as missing."""
        return self.mode == "loose"


def run_pass(
    predictions: Predictions, plan: CountPlan, tasks: Sequence[FingerprintTask | None]
) -> Pass:
    """Count the raw values of all files; raises what the last reading tried raised."""
    error: Exception | None = None
    modes: tuple[Mode, ...] = ("fast", "plain", "loose")
    for mode in modes:
        if mode == "fast" and not _all_bits(predictions, plan):
            continue
        try:
            parts = [count_raw(frame, plan) for frame in frames(predictions, mode, watch=True)]
        except ENGINE_ERRORS as refused:
            error = refused
            continue
        if mode == "fast" and not all(map(_single_bytes, predictions.files, parts, tasks)):
            continue
        raw = RawCounts.joined(parts)
        short = None if predictions.layout.name == "long" else raw.no_tail > 0
        for file, task in zip(predictions.files, tasks, strict=True):
            check_structure(file, task, short_rows=short)
        return Pass(raw, mode)
    raise error or RuntimeError("no reading was tried")


def explained(predictions: Predictions, error: Exception) -> DataError:
    """Turn a reader's refusal into the rows to blame, or at least the file and the reason."""
    for file in predictions.files:
        if file.head and file.source:
            inspect_structure(file.source, file.columns)
    file = predictions.files[0]
    if file.source:
        return unreadable(file.source, error)
    return DataError(Problem(f"cannot be read: {error}", "bad-file", file.name))


def distinct_of(predictions: Predictions, column: str) -> set[str]:
    """Return the distinct values of one column of all files, as text."""
    values: set[str] = set()
    for file in predictions.files:
        frame = scan(file, {column: "text"}, null_values=predictions.roles.null_values)
        found = collect(frame.group_by(column).agg(nw.len().alias("n")))
        values |= distinct_texts(found[column].to_list())
    return values


def readings(predictions: Predictions, mode: Mode) -> dict[str, Reading]:
    """Decide how each used column is read."""
    number: Reading = "loose" if mode == "loose" else "number"
    label: Reading = "bit" if mode == "fast" else "text"
    layout, roles = predictions.layout, predictions.roles
    chosen: dict[str, Reading] = dict.fromkeys(predictions.columns_used, "text")
    chosen[layout.truth] = label
    if layout.name == "long":
        chosen[layout.prediction] = "text" if layout.models[0].kind == "label" else number
    else:
        for model in layout.models:
            for column in model.columns:
                chosen[column] = label if model.kind == "label" else number
    if roles.weight:
        chosen[roles.weight] = number
    return chosen


def frames(
    predictions: Predictions, mode: Mode, *, keep_id: bool = False, watch: bool = False
) -> list[nw.LazyFrame[Any]]:
    """Return the lazy frames to count, one per file; a long table becomes a single wide one."""
    layout, roles = predictions.layout, predictions.roles
    chosen = readings(predictions, mode)
    if keep_id and layout.id is not None:
        chosen.setdefault(layout.id, "text")
    scans = [
        scan(file, chosen, null_values=roles.null_values, watch=watch) for file in predictions.files
    ]
    if layout.name != "long":
        return scans
    wide, _ = widen(
        nw.concat(scans) if len(scans) > 1 else scans[0],
        row_id=str(layout.id),
        model=layout.model_column,
        prediction=layout.prediction,
        models=[model.name for model in layout.models],
        constants=constants(predictions),
        run=roles.run,
    )
    return [wide]


def constants(predictions: Predictions) -> list[str]:
    """Columns that hold one value per observation: truth, slices, weight."""
    roles = predictions.roles
    return [predictions.layout.truth, *roles.by, *([roles.weight] if roles.weight else [])]


def find_long_models(predictions: Predictions) -> Predictions:
    """List the models of a long table, ordered by name, and keep the selected ones."""
    layout, roles = predictions.layout, predictions.roles
    names = distinct_of(predictions, layout.model_column)
    name, ordered = predictions.files[0].name, sorted(names, key=natural)
    if not names:
        raise DataError(Problem("no rows to evaluate", "empty-table", name), hint=HEADER_ONLY)
    chosen = match_names(name, ordered, roles.models or ordered)
    classes = frozenset(known_labels(predictions.peeks[layout.truth].texts, roles))
    kind = roles.kind or guess_kind(predictions.peeks[layout.prediction], classes)
    models = tuple(ModelColumns(name, kind, (f"p{i}",)) for i, name in enumerate(chosen))
    return replace(predictions, layout=replace(layout, models=models))


def _all_bits(predictions: Predictions, plan: CountPlan) -> bool:
    """Tell whether the sample shows only 0 and 1 in truth and in every model's column."""
    if (
        predictions.layout.name != "wide"
        or not all(file.head for file in predictions.files)
        or predictions.roles.weight
        or predictions.roles.null_values
    ):
        return False
    labels = all(model.kind == "label" for model in plan.models)
    columns = [plan.truth, *(model.columns[0] for model in plan.models)]
    return labels and all(predictions.peeks[name].bit for name in columns)


def _single_bytes(file: TableFile, raw: RawCounts, task: FingerprintTask | None) -> bool:
    """Prove that every field read as an integer was one byte long, so that no 01 passed as 1.

    The bytes that are neither header, delimiter, line end nor in a text column must be exactly
    one for each such field that is not empty.
    """
    if task is None or file.head is None:
        return True
    fingerprint = task.result()
    if fingerprint.quotes or not fingerprint.ascii:
        return False
    absent = sum(
        int(raw.rows[[value is None for value in column]].sum())
        for column in (raw.truth, *raw.votes)
    )
    fields = int(raw.rows.sum()) * (1 + len(raw.votes)) - absent
    return fingerprint.field_bytes - file.head.header_bytes - raw.text_bytes == fields


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
    suspect = fingerprint.has_nul or fingerprint.bad_utf8
    suspect = suspect or looks_ragged(fingerprint, len(file.columns))
    if not suspect and short_rows is None:
        every = scan(file, {}, watch=True).select(nw.col(NO_TAIL).sum(), nw.col(TEXT_BYTES).sum())
        short_rows = bool(collect(every)[NO_TAIL].item())
    if fingerprint.quotes and short_rows:
        suspect = True
    if suspect:
        inspect_structure(file.source, file.columns)
