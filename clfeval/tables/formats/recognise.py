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
    sampled_table = FormatTable(file, options, _profile_first_rows, joined)
    whole_table = FormatTable(file, options, profiles_of_file, joined)
    for table_format in FORMATS:
        table = sampled_table if table_format.by_first_rows else whole_table
        converted = _converted(table_format, table)
        if converted is None:
            continue
        new_options = _options_of_parts(table_format, replace(table, file=converted.file))
        if new_options is not None:
            return _formatted(table_format, table, converted, new_options)
    return FormattedTable(file, options)


def _converted(table_format: TableFormat, table: FormatTable) -> Converted | None:
    """Return a table in the columns that its format gives; None if it has another format."""
    columns_by_pattern = table_format.columns_by_pattern(table.names)
    is_elsewhere = table_format.convert is not None and not _is_local(table.file)
    if (
        columns_by_pattern is None
        or is_elsewhere
        or not _has_cells(table_format, columns_by_pattern, table)
    ):
        return None
    return (
        Converted(table.file)
        if table_format.convert is None
        else table_format.convert(table, columns_by_pattern)
    )


def _formatted(
    table_format: TableFormat,
    table: FormatTable,
    converted: Converted,
    format_options: Mapping[str, Any],
) -> FormattedTable:
    """Return a converted table, described, with the options of the user and those of its format."""
    remark = ": ".join(filter(None, [table_format.tool, converted.remark]))
    remark = "; ".join(filter(None, [table.file.format, remark]))
    removed_columns = {*table.file.columns} - {*converted.file.columns}
    ignored_columns = tuple(name for name in table.options.ignore if name not in removed_columns)
    options = replace(table.options, ignore=ignored_columns)
    resolved_options = _with_options(options, {**format_options, **converted.options})
    return FormattedTable(replace(converted.file, format=remark), resolved_options)


def _profile_first_rows(file: TableFile, options: InputOptions) -> Mapping[str, ColumnProfile]:
    return profile_sample(file, options.null_value, options.decimal, fold=options.fold_labels)


def _is_local(file: TableFile) -> bool:
    """Return whether the rows of a table are here, and not in another engine."""
    if file.native is None:
        return True
    kind = file.native.implementation
    return bool(kind.is_polars() or kind.is_pandas_like())


def _has_cells(
    table_format: TableFormat, columns_by_pattern: Mapping[str, Sequence[str]], table: FormatTable
) -> bool:
    """Return whether the columns of each pattern have cells of its kind."""
    return all(
        _are_cells(table, name, table_format.needs[pattern])
        for pattern, names in columns_by_pattern.items()
        for name in names
    )


def _are_cells(table: FormatTable, name: str, cell_kind: FormatCells) -> bool:
    """Return whether the cells of a column are of a kind."""
    if cell_kind == "any":
        return True
    if cell_kind == "vectors":
        return are_vectors(table.file, name)
    profile = table.profiles[name]
    if not profile.texts:
        return False
    is_numeric = profile.mostly_numeric
    are_classes = len(profile.texts) <= MOST_CLASSES and profile.classes
    has_kind: dict[FormatCells, bool] = {
        "labels": are_classes,
        "texts": are_classes and not profile.all_numbers,
        "unit": is_numeric and scale_of(profile) == "unit",
        "numbers": is_numeric,
        "counts": profile.is_integer and profile.is_nonnegative,
    }
    return has_kind[cell_kind]


def _options_of_parts(table_format: TableFormat, table: FormatTable) -> dict[str, Any] | None:
    """Return the options that say the parts of columns; None if these do not fit together."""
    columns_of_part: dict[ColumnPart, list[str]] = {}
    for name in table.names:
        part = table_format.part_of(name)
        if part is not None:
            columns_of_part.setdefault(part, []).append(name)
    first_column = {part: names[0] for part, names in columns_of_part.items()}
    label_columns = columns_of_part.get("labels", [])
    truth_column = table.options.truth or first_column.get("truth")
    if truth_column is None and "outcome" in columns_of_part:
        possible_truths = _outcomes(table, columns_of_part["outcome"], label_columns)
        if len(possible_truths) != 1:
            return {}  # the layouts find truth
        truth_column = possible_truths[0]
    unused_columns = [
        name for part in ("unused", "setting") for name in columns_of_part.get(part, [])
    ]
    unused_columns += [
        name for name in columns_of_part.get("outcome", []) if not tags_of(name) & OF_ROWS
    ]
    row_id = first_column.get("id")
    is_resampled = row_id is not None and _is_resampled(table, table_format, row_id, truth_column)
    new_options: dict[str, Any] = {
        "id": None if is_resampled else row_id,
        "cluster": row_id if is_resampled else first_column.get("cluster"),
        "weight": first_column.get("count"),
    }
    if "confidence" in columns_of_part and truth_column is not None:
        confidence_options = _options_of_confidences(
            table, truth_column, label_columns, columns_of_part["confidence"]
        )
        if confidence_options is None:
            return None
        unused_columns += confidence_options.pop("unused", [])
        new_options |= confidence_options
    return {
        **new_options,
        "truth": truth_column,
        "ignore": tuple(name for name in unused_columns if name != truth_column),
    }


def _is_resampled(
    table: FormatTable, table_format: TableFormat, row_id: str, truth_column: str | None
) -> bool:
    """Return whether ids repeat, as in repeated cross-validation, and no setting has two values."""
    if table.profiles[row_id].distinct or len(table.profiles[row_id].texts) < 2:
        return False
    classes = table.classes([truth_column]) if truth_column is not None else frozenset()
    setting_columns = [
        name
        for name in table.names
        if table_format.part_of(name) in (None, "outcome", "setting")
        and name not in {truth_column, *classes}
    ]
    return all(len(table.profiles[name].texts) < 2 for name in setting_columns)


def _options_of_confidences(
    table: FormatTable,
    truth_column: str,
    label_columns: Sequence[str],
    confidence_columns: Sequence[str],
) -> dict[str, Any] | None:
    """Return the options of labels with confidences, which do not rank more than two classes."""
    if len(table.classes([truth_column, *label_columns])) > 2:
        return {"unused": list(confidence_columns)}
    if len(label_columns) != 1 or len(confidence_columns) != 1 or table.options.model:
        return None
    if not _are_confidences(table, label_columns[0], confidence_columns[0]):
        return None
    return {"confidences": True, "model": (f"{label_columns[0]}+{confidence_columns[0]}",)}


def _outcomes(table: FormatTable, names: Sequence[str], label_columns: Sequence[str]) -> list[str]:
    """Return the columns that have classes of the predicted labels; those called truth first."""
    predicted_classes = table.classes(label_columns)
    possible_truths = [
        name
        for name in names
        if table.profiles[name].texts & predicted_classes
        and len(table.profiles[name].texts) <= MOST_CLASSES
        and table.profiles[name].classes
    ]
    truth_column = named_truth(
        {name: table.profiles[name] for name in possible_truths}, InputOptions()
    )
    return [truth_column] if truth_column is not None else possible_truths


def _are_confidences(table: FormatTable, label_column: str, confidence_column: str) -> bool:
    """Return whether numbers may be probabilities of the predicted one of two classes."""
    numbers = table.profiles[confidence_column].numbers
    facts = PairFacts(table.profiles)
    are_in_range = bool(numbers) and min(numbers) >= 0.5 and max(numbers) <= 1
    return are_in_range and facts.upper_label(label_column, confidence_column) is None


def _with_options(options: InputOptions, format_options: Mapping[str, Any]) -> InputOptions:
    """Return options with those of a format where the user gives none."""
    columns = {options.truth, options.id, options.weight, options.cluster, options.run}
    used_columns = {*columns, *options.by, *options.model, *options.named_models}
    free_options = {
        name: value
        for name, value in format_options.items()
        if value is not None and name != "ignore" and not getattr(options, name)
        if name == "confidences" or isinstance(value, tuple) or value not in columns
    }
    if options.kind is not None:
        free_options.pop("confidences", None)
        free_options.pop("model", None)
    ignored = [name for name in format_options.get("ignore", ()) if name not in used_columns]
    return replace(options, **free_options, ignore=(*options.ignore, *ignored))
