"""Recognition of formats: the first record that fits a table gives its columns and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clfeval.records import dataclass, replace
from clfeval.tables.formats.record import (
    ColumnPart,
    Converted,
    FormatCells,
    FormatTable,
    TableFormat,
)
from clfeval.tables.formats.tools import FORMATS
from clfeval.tables.formats.vectors import are_vectors
from clfeval.tables.input import InputOptions
from clfeval.tables.profiles import ColumnProfile, profile_sample
from clfeval.tables.readings.candidate_columns import scale_of
from clfeval.tables.readings.names import Tag, tags_of
from clfeval.tables.readings.pair_facts import PairFacts
from clfeval.tables.readings.truths import named_truth
from clfeval.tables.recognition import profiles_of_file
from clfeval.tables.scan import TableFile

MOST_CLASSES = 20
OF_ROWS: frozenset[Tag] = frozenset({"id", "weight", "count", "run", "cluster"})


@dataclass(frozen=True, slots=True)
class FormattedTable:
    """A table as the layouts read it, and the options with what its format adds."""

    file: TableFile
    options: InputOptions


def read_format(file: TableFile, options: InputOptions, *, joined: bool = False) -> FormattedTable:
    """Return a table in the columns that layouts read, with the options that its format gives.

    Options of the user come first. joined: other files are joined to this one.
    """
    options = _with_options(options, file.options)
    first_rows = FormatTable(file, options, _profile_first_rows, joined)
    all_rows = FormatTable(file, options, profiles_of_file, joined)
    for record in FORMATS:
        table = first_rows if record.by_first_rows else all_rows
        converted = _converted(record, table)
        if converted is None:
            continue
        added = _options_of_parts(record, replace(table, file=converted.file))
        if added is not None:
            return _formatted(record, table, converted, added)
    return FormattedTable(file, options)


def _converted(record: TableFormat, table: FormatTable) -> Converted | None:
    """Return a table in the columns that its format gives; None if it has another format."""
    columns = record.columns_by_pattern(table.names)
    is_elsewhere = record.convert is not None and not _is_local(table.file)
    if columns is None or is_elsewhere or not _has_cells(record, columns, table):
        return None
    return Converted(table.file) if record.convert is None else record.convert(table, columns)


def _formatted(
    record: TableFormat, table: FormatTable, converted: Converted, added: Mapping[str, Any]
) -> FormattedTable:
    """Return a converted table, described, with the options of the user and those of its format."""
    remark = ": ".join(filter(None, [record.tool, converted.remark]))
    remark = "; ".join(filter(None, [table.file.format, remark]))
    removed = {*table.file.columns} - {*converted.file.columns}
    remaining = tuple(name for name in table.options.ignore if name not in removed)
    options = replace(table.options, ignore=remaining)
    resolved = _with_options(options, {**added, **converted.options})
    return FormattedTable(replace(converted.file, format=remark), resolved)


def _profile_first_rows(file: TableFile, options: InputOptions) -> Mapping[str, ColumnProfile]:
    return profile_sample(file, options.null_value, options.decimal, fold=options.fold_labels)


def _is_local(file: TableFile) -> bool:
    """Return whether the rows of a table are here, and not in another engine."""
    if file.native is None:
        return True
    kind = file.native.implementation
    return bool(kind.is_polars() or kind.is_pandas_like())


def _has_cells(
    record: TableFormat, columns: Mapping[str, Sequence[str]], table: FormatTable
) -> bool:
    """Return whether the columns of each pattern have cells of its kind."""
    return all(
        _are_cells(table, name, record.needs[pattern])
        for pattern, names in columns.items()
        for name in names
    )


def _are_cells(table: FormatTable, name: str, kind: FormatCells) -> bool:
    """Return whether the cells of a column are of a kind."""
    if kind == "any":
        return True
    if kind == "vectors":
        return are_vectors(table.file, name)
    profile = table.profiles[name]
    if not profile.texts:
        return False
    is_number = profile.mostly_numeric
    are_classes = len(profile.texts) <= MOST_CLASSES and profile.classes
    holds: dict[FormatCells, bool] = {
        "labels": are_classes,
        "texts": are_classes and not profile.all_numbers,
        "unit": is_number and scale_of(profile) == "unit",
        "numbers": is_number,
        "counts": profile.is_integer and profile.is_nonnegative,
    }
    return holds[kind]


def _options_of_parts(record: TableFormat, table: FormatTable) -> dict[str, Any] | None:
    """Return the options that say the parts of columns; None if these do not fit together."""
    names: dict[ColumnPart, list[str]] = {}
    for name in table.names:
        part = record.part_of(name)
        if part is not None:
            names.setdefault(part, []).append(name)
    labels = names.get("labels", [])
    truth = table.options.truth or next(iter(names.get("truth", [])), None)
    if truth is None and "outcome" in names:
        likely = _outcomes(table, names["outcome"], labels)
        if len(likely) != 1:
            return {}
        truth = likely[0]
    unused = [name for part in ("unused", "setting") for name in names.get(part, [])]
    unused += [name for name in names.get("outcome", []) if not tags_of(name) & OF_ROWS]
    row_id = next(iter(names.get("id", [])), None)
    repeats = row_id is not None and _is_resampled(table, record, row_id, truth)
    added: dict[str, Any] = {
        "id": None if repeats else row_id,
        "cluster": row_id if repeats else next(iter(names.get("cluster", [])), None),
        "weight": next(iter(names.get("count", [])), None),
    }
    if "confidence" in names and truth is not None:
        options = _options_of_confidences(table, truth, labels, names["confidence"])
        if options is None:
            return None
        unused += options.pop("unused", [])
        added |= options
    return {**added, "truth": truth, "ignore": tuple(name for name in unused if name != truth)}


def _is_resampled(table: FormatTable, record: TableFormat, row_id: str, truth: str | None) -> bool:
    """Return whether ids repeat, as in repeated cross-validation, and no setting has two values."""
    if table.profiles[row_id].distinct or len(table.profiles[row_id].texts) < 2:
        return False
    classes = table.classes([truth]) if truth is not None else frozenset()
    settings = [
        name
        for name in table.names
        if record.part_of(name) in (None, "outcome", "setting") and name not in {truth, *classes}
    ]
    return all(len(table.profiles[name].texts) < 2 for name in settings)


def _options_of_confidences(
    table: FormatTable, truth: str, labels: Sequence[str], confidences: Sequence[str]
) -> dict[str, Any] | None:
    """Return the options of labels with confidences, which do not rank more than two classes."""
    if len(table.classes([truth, *labels])) > 2:
        return {"unused": list(confidences)}
    if len(labels) != 1 or len(confidences) != 1 or table.options.model:
        return None
    if not _are_confidences(table, labels[0], confidences[0]):
        return None
    return {"confidences": True, "model": (f"{labels[0]}+{confidences[0]}",)}


def _outcomes(table: FormatTable, names: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Return the columns that have classes of the predicted labels; those called truth first."""
    predicted = table.classes(labels)
    possible = [
        name
        for name in names
        if table.profiles[name].texts & predicted
        and len(table.profiles[name].texts) <= MOST_CLASSES
        and table.profiles[name].classes
    ]
    truth = named_truth({name: table.profiles[name] for name in possible}, InputOptions())
    return [truth] if truth is not None else possible


def _are_confidences(table: FormatTable, labels: str, confidences: str) -> bool:
    """Return whether numbers may be probabilities of the predicted one of two classes."""
    numbers = table.profiles[confidences].numbers
    facts = PairFacts(table.profiles)
    in_range = bool(numbers) and min(numbers) >= 0.5 and max(numbers) <= 1
    return in_range and facts.upper_label(labels, confidences) is None


def _with_options(options: InputOptions, added: Mapping[str, Any]) -> InputOptions:
    """Return options with those of a format where the user gives none."""
    columns = {options.truth, options.id, options.weight, options.cluster, options.run}
    used = {*columns, *options.by, *options.model, *options.named_models}
    free = {
        name: value
        for name, value in added.items()
        if value is not None and name != "ignore" and not getattr(options, name)
        if name == "confidences" or isinstance(value, tuple) or value not in columns
    }
    if options.kind is not None:
        free.pop("confidences", None)
        free.pop("model", None)
    ignored = [name for name in added.get("ignore", ()) if name not in used]
    return replace(options, **free, ignore=(*options.ignore, *ignored))
