"""Feature tables: wide with one column per feature, or sparse with one row per present feature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Literal

from clfeval.errors import (
    DataError,
    OfferedReading,
    Problem,
    UsageError,
    list_names,
    quote_name,
    unknown_column_error,
)
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace
from clfeval.tables.columns import ColumnRole
from clfeval.tables.frames import in_polars, nw
from clfeval.tables.input import (
    ColumnNames,
    InputOptions,
    find_column,
    match_names,
    refuse_ignored_columns,
)
from clfeval.tables.invalid_cells import with_delimiter_hint
from clfeval.tables.layouts.counts_file import refuse_counts
from clfeval.tables.prediction_files import open_files
from clfeval.tables.profiles import profile_sample
from clfeval.tables.readings.pair_facts import PairFacts
from clfeval.tables.readings.reading import MOST_OFFERED
from clfeval.tables.readings.truths import truth_candidates
from clfeval.tables.scan import TableFile

# binary    0 and 1, or booleans: true is 1
# numeric   numbers, dichotomised at a threshold
# category  text, one feature for each of its values
FeatureKind = Literal["binary", "numeric", "category"]


@dataclass(frozen=True, slots=True)
class ClassTable:
    """A separate table of classes, with the columns of row ids and of classes."""

    files: tuple[TableFile, ...]
    row: str
    truth: str


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """Feature tables of one schema, and the roles of their columns.

    wide: `kinds` of the feature columns; long: `row`, `feature` and optional `value` columns of a
    sparse table, `requested`: globs of features.
    """

    files: tuple[TableFile, ...]
    roles: InputOptions
    layout: Literal["wide", "long"]
    truth: str | None
    id: str | None = None
    kinds: Mapping[str, FeatureKind] | None = None
    row: str = ""
    feature: str = ""
    value: str | None = None
    requested: tuple[str, ...] = ()
    classes: ClassTable | None = None
    ignored: tuple[str, ...] = ()

    def described(self) -> str:
        """Return one line on how the table was read."""
        phrases = [f"{self.files[0].name}: {self.layout} table of features"]
        if self.classes is not None:
            phrases.append(f"classes in '{self.classes.truth}' of {self.classes.files[0].name}")
        else:
            phrases.append(f"truth in '{self.truth}'")
        if self.layout == "long":
            phrases.append(f"rows in '{self.row}', features in '{self.feature}'")
            if self.value:
                phrases.append(f"values in '{self.value}'")
            if self.ignored:
                phrases.append(f"ignored {list_names(self.ignored)}")
        elif self.id is not None:
            phrases.append(f"ids in '{self.id}'")
        for kind in WHY:
            if names := [
                name for name, column_kind in (self.kinds or {}).items() if column_kind == kind
            ]:
                phrases.append(f"{len(names):,} {kind}: {list_names(names, 4)}")
        return "; ".join(phrases)

    def column_roles(self) -> list[ColumnRole]:
        """Return the role of every column of the files, with the reason."""
        input_options = self.roles
        role_of = {
            self.truth: ("class", f"{OPTION}--truth{END}" if input_options.truth else "its name"),
            self.id: ("id", f"{OPTION}--id{END}" if input_options.id else "its name"),
            self.row: ("row", f"{OPTION}--id{END}" if input_options.id else "its name"),
            self.feature: ("feature", "its name"),
            self.value: ("value", "its name"),
            input_options.weight: ("weight", f"{OPTION}--weight{END}"),
        }
        role_of |= {
            name: (f"{kind} feature", WHY[kind]) for name, kind in (self.kinds or {}).items()
        }
        default_role = ("not used", "no option names it")
        return [
            ColumnRole(name, *role_of.get(name, default_role)) for name in self.files[0].columns
        ]


WHY: Mapping[FeatureKind, str] = {
    "binary": "its values are 0 and 1",
    "numeric": "its values are numbers",
    "category": "its values are text",
}


@contextmanager
def open_features(
    tables: object,
    input_options: InputOptions,
    *,
    features: Sequence[str] = (),
    truth_table: object = None,
) -> Iterator[FeatureTable]:
    """Open paths, or one data frame, as a feature table; `truth_table` likewise."""
    with ExitStack() as stack:
        files = stack.enter_context(open_files(tables, input_options))
        sources = [file.source for file in files if file.source is not None]
        refuse_counts(sources, "features need rows: give the table")
        class_table = None
        if truth_table is not None:  # it may be of another format
            truth_files = stack.enter_context(
                open_files(truth_table, replace(input_options, input_format=None))
            )
            class_table = _classes(tuple(map(_in_polars, truth_files)), input_options)
        yield _recognise_features(
            tuple(map(_in_polars, files)), input_options, tuple(features), class_table
        )


def _in_polars(file: TableFile) -> TableFile:
    """Return a file with a data frame of another library converted to polars."""
    if file.native is None:
        return file
    return replace(file, native=nw.from_native(in_polars(file.native)))


def _recognise_features(
    files: tuple[TableFile, ...],
    input_options: InputOptions,
    feature_patterns: tuple[str, ...],
    class_table: ClassTable | None,
) -> FeatureTable:
    """Return the table, wide or sparse, with the roles of its columns."""
    first_file = files[0]
    columns = _columns_without_ignored(first_file, input_options, feature_patterns, class_table)
    truth_column = (
        None if class_table else input_options.truth or find_column(columns, ColumnNames.TRUTH)
    )
    other_columns = [name for name in columns if name != truth_column]
    row_column = input_options.id or find_column(other_columns, ColumnNames.ROW)
    feature_column = find_column(other_columns, ColumnNames.FEATURE)
    value_column = find_column(other_columns, ColumnNames.VALUE)
    columns_with_roles = {
        row_column,
        feature_column,
        value_column,
        truth_column,
        find_column(columns, ColumnNames.TRUTH),
    }
    spare_columns = [name for name in columns if name not in columns_with_roles]
    is_sparse = row_column and feature_column and not spare_columns
    # a column named word may be a feature; one named feature hardly is
    certain_feature = (
        find_column(other_columns, ColumnNames.FEATURE[:3])
        if class_table is None
        else feature_column
    )
    if row_column and certain_feature and spare_columns and input_options.layout is None:
        raise _unclear_layout_error(first_file.name, row_column, str(feature_column), spare_columns)
    is_long = input_options.layout == "long" or class_table is not None
    if is_long and not (row_column and feature_column):
        message = f"not a sparse table; columns: {list_names(columns)}"
        hint = "a sparse table has one line per row and feature: columns row, feature, value"
        raise DataError.new(message, "wrong-layout", first_file.name, hint=hint)
    if truth_column is None and class_table is None:
        truth_column = _truth_by_name_or_offer(
            first_file, columns, input_options, is_sparse=feature_column is not None
        )
    if is_long or (is_sparse and input_options.layout is None):
        if input_options.weight:
            raise UsageError.new(
                f"{OPTION}--weight{END} needs a wide table of features", "bad-option"
            )
        return FeatureTable(
            files,
            input_options,
            "long",
            truth_column,
            row=str(row_column),
            feature=str(feature_column),
            value=value_column,
            requested=feature_patterns,
            classes=class_table,
            ignored=tuple(spare_columns),
        )
    return _wide_features(files, input_options, truth_column, columns, feature_patterns)


def _unclear_layout_error(
    file: str, row_column: str, feature_column: str, spare_columns: Sequence[str]
) -> DataError:
    """Build the error of a table that may be sparse, but has more columns than such a table."""
    message = (
        f"columns '{row_column}' and '{feature_column}' look like a sparse table, but what are "
        f"{list_names(spare_columns)}?"
    )
    hint = (
        f"add {OPTION}--layout long{END} to leave them out, or {OPTION}--layout wide{END} to "
        "read every column as a feature; a column of values is called 'value'"
    )
    return DataError.new(message, "which-layout", file, hint=hint)


def _columns_without_ignored(
    file: TableFile,
    input_options: InputOptions,
    feature_patterns: Sequence[str],
    class_table: ClassTable | None,
) -> list[str]:
    """Return the columns that --ignore leaves; DataError for options that name no column."""
    columns = list(file.columns)
    ignored_columns = match_names(file.name, columns, input_options.ignore, kind="column")
    columns_of_flag = {
        "--id": [input_options.id],
        "--weight": [input_options.weight],
        "--truth": [input_options.truth],
    }
    refuse_ignored_columns(ignored_columns, {**columns_of_flag, "--feature": feature_patterns})
    columns = [name for name in columns if name not in ignored_columns]
    for name in (
        input_options.id,
        input_options.weight,
        None if class_table else input_options.truth,
    ):
        if name is not None and name not in columns:
            raise unknown_column_error(file.name, name, columns)
    return columns


def _wide_features(
    files: tuple[TableFile, ...],
    input_options: InputOptions,
    truth_column: str | None,
    columns: Sequence[str],
    feature_patterns: tuple[str, ...],
) -> FeatureTable:
    """Return the table whose columns are features, but for truth, ids and weights."""
    first_file = files[0]
    other_columns = [name for name in columns if name != truth_column]
    row_id = input_options.id or find_column(other_columns, ColumnNames.ID)
    feature_names = [
        name for name in other_columns if name not in (row_id, input_options.weight, "")
    ]
    if feature_patterns:
        feature_names = match_names(
            first_file.name, feature_names, feature_patterns, kind="feature"
        )
    if not feature_names:
        message = f"no feature columns; columns: {list_names(columns)}"
        hint = "every column except class, id and weight is a feature"
        raise DataError.new(message, "no-features", first_file.name, hint=hint)
    kinds = _kinds(first_file, feature_names, input_options.null_value)
    return FeatureTable(
        files, input_options, "wide", truth_column, row_id, kinds, requested=feature_patterns
    )


def _truth_by_name_or_offer(
    file: TableFile, columns: Sequence[str], input_options: InputOptions, *, is_sparse: bool
) -> str:
    """Return the only column that is named like truth; DataError with those that may be it."""
    message = f"no class column; columns: {list_names(columns)}"
    if is_sparse:
        hint = f"name it with {OPTION}--truth COLUMN{END}"
        hint += f", or its file with {OPTION}--truth-table FILE{END} (Python, batches)"
        raise with_delimiter_hint(file, DataError.new(message, "no-truth", file.name, hint=hint))
    profiles = profile_sample(file, input_options.null_value)
    candidates_by_name = {name: profiles[name] for name in columns}
    candidates = truth_candidates(candidates_by_name, input_options, PairFacts(candidates_by_name))
    if len(candidates) == 1 and candidates[0].claim == "likely":
        return candidates[0].name
    readings = [
        OfferedReading(f"{quote_name(candidate.name)} is the class", {"truth": candidate.name})
        for candidate in candidates[:MOST_OFFERED]
    ]
    unread_hint = None if readings else f"name it with {OPTION}--truth COLUMN{END}"
    problem = Problem(message, "no-truth", file.name)
    raise with_delimiter_hint(file, DataError(problem, hint=unread_hint, readings=readings))


def _classes(files: tuple[TableFile, ...], input_options: InputOptions) -> ClassTable:
    """Recognise the row and class columns of a table of classes; of two the second is the class."""
    first_file = files[0]
    columns = list(first_file.columns)
    if input_options.truth is not None and input_options.truth not in columns:
        raise unknown_column_error(first_file.name, input_options.truth, columns)
    row_column = (
        input_options.id if input_options.id in columns else find_column(columns, ColumnNames.ROW)
    )
    row_column = row_column or (columns[0] if len(columns) == 2 else None)
    other_columns = [name for name in columns if name != row_column]
    truth_column = input_options.truth or find_column(other_columns, ColumnNames.TRUTH)
    truth_column = truth_column or (other_columns[0] if len(other_columns) == 1 else None)
    if row_column is None or truth_column is None or row_column == truth_column:
        message = f"which columns are row and class? columns: {list_names(columns)}"
        hint = f"name them with {OPTION}--id COLUMN{END} and {OPTION}--truth COLUMN{END}"
        raise DataError.new(message, "no-truth", first_file.name, hint=hint)
    return ClassTable(files, row_column, truth_column)


def _kinds(
    file: TableFile, names: Sequence[str], null_values: Sequence[str]
) -> dict[str, FeatureKind]:
    """Guess each column's kind; counting detects a wrong guess."""
    if file.native is not None:
        schema = file.native.select(*names).collect_schema()
        binary_names = {
            name for name in names if schema[name] == nw.Boolean or schema[name].is_integer()
        }
        numeric_names = {name for name in names if schema[name].is_numeric()}
    else:
        profiles = profile_sample(file, null_values)
        binary_names = {name for name in names if profiles[name].is_binary}
        numeric_names = {name for name in names if profiles[name].mostly_numeric}
    return {
        name: "binary"
        if name in binary_names
        else "numeric"
        if name in numeric_names
        else "category"
        for name in names
    }
