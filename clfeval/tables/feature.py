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
        parts = [f"{self.files[0].name}: {self.layout} table of features"]
        if self.classes is not None:
            parts.append(f"classes in '{self.classes.truth}' of {self.classes.files[0].name}")
        else:
            parts.append(f"truth in '{self.truth}'")
        if self.layout == "long":
            parts.append(f"rows in '{self.row}', features in '{self.feature}'")
            if self.value:
                parts.append(f"values in '{self.value}'")
            if self.ignored:
                parts.append(f"ignored {list_names(self.ignored)}")
        elif self.id is not None:
            parts.append(f"ids in '{self.id}'")
        for kind in WHY:
            if names := [
                name for name, column_kind in (self.kinds or {}).items() if column_kind == kind
            ]:
                parts.append(f"{len(names):,} {kind}: {list_names(names, 4)}")
        return "; ".join(parts)

    def column_roles(self) -> list[ColumnRole]:
        """Return the role of every column of the files, with the reason."""
        roles = self.roles
        role_of = {
            self.truth: ("class", f"{OPTION}--truth{END}" if roles.truth else "its name"),
            self.id: ("id", f"{OPTION}--id{END}" if roles.id else "its name"),
            self.row: ("row", f"{OPTION}--id{END}" if roles.id else "its name"),
            self.feature: ("feature", "its name"),
            self.value: ("value", "its name"),
            roles.weight: ("weight", f"{OPTION}--weight{END}"),
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
    tables: object, roles: InputOptions, *, features: Sequence[str] = (), truth_table: object = None
) -> Iterator[FeatureTable]:
    """Open paths, or one data frame, as a feature table; `truth_table` likewise."""
    with ExitStack() as stack:
        files = stack.enter_context(open_files(tables, roles))
        sources = [file.source for file in files if file.source is not None]
        refuse_counts(sources, "features need rows: give the table")
        classes = None
        if truth_table is not None:  # it may be of another format
            others = stack.enter_context(open_files(truth_table, replace(roles, input_format=None)))
            classes = _classes(tuple(map(_in_polars, others)), roles)
        yield _recognise_features(tuple(map(_in_polars, files)), roles, tuple(features), classes)


def _in_polars(file: TableFile) -> TableFile:
    """Return a file with a data frame of another library converted to polars."""
    if file.native is None:
        return file
    return replace(file, native=nw.from_native(in_polars(file.native)))


def _recognise_features(
    files: tuple[TableFile, ...],
    roles: InputOptions,
    features: tuple[str, ...],
    classes: ClassTable | None,
) -> FeatureTable:
    first = files[0]
    columns = _columns_without_ignored(first, roles, features, classes)
    truth = None if classes else roles.truth or find_column(columns, ColumnNames.TRUTH)
    rest = [name for name in columns if name != truth]
    row = roles.id or find_column(rest, ColumnNames.ROW)
    feature = find_column(rest, ColumnNames.FEATURE)
    value = find_column(rest, ColumnNames.VALUE)
    excluded = {row, feature, value, truth, find_column(columns, ColumnNames.TRUTH)}
    spare = [name for name in columns if name not in excluded]
    sparse = row and feature and not spare
    # a column named word may be a feature; one named feature hardly is
    feature_name = find_column(rest, ColumnNames.FEATURE[:3]) if classes is None else feature
    if row and feature_name and spare and roles.layout is None:
        message = f"columns '{row}' and '{feature}' look like a sparse table, but what are "
        hint = (
            f"add {OPTION}--layout long{END} to leave them out, or {OPTION}--layout wide{END} to "
            "read every column as a "
        )
        hint += "feature; a column of values is called 'value'"
        raise DataError.new(f"{message}{list_names(spare)}?", "which-layout", first.name, hint=hint)
    is_long = roles.layout == "long" or classes is not None
    if is_long and not (row and feature):
        message = f"not a sparse table; columns: {list_names(columns)}"
        hint = "a sparse table has one line per row and feature: columns row, feature, value"
        raise DataError.new(message, "wrong-layout", first.name, hint=hint)
    if truth is None and classes is None:
        truth = _truth_by_name_or_offer(first, columns, roles, sparse=feature is not None)
    if is_long or (sparse and roles.layout is None):
        if roles.weight:
            raise UsageError.new(
                f"{OPTION}--weight{END} needs a wide table of features", "bad-option"
            )
        return FeatureTable(
            files,
            roles,
            "long",
            truth,
            row=str(row),
            feature=str(feature),
            value=value,
            requested=features,
            classes=classes,
            ignored=tuple(spare),
        )
    return _wide_features(files, roles, truth, columns, features)


def _columns_without_ignored(
    file: TableFile, roles: InputOptions, features: Sequence[str], classes: ClassTable | None
) -> list[str]:
    """Return the columns that --ignore leaves; DataError for options that name no column."""
    columns = list(file.columns)
    ignored = match_names(file.name, columns, roles.ignore, kind="column")
    columns_of_flag = {"--id": [roles.id], "--weight": [roles.weight], "--truth": [roles.truth]}
    refuse_ignored_columns(ignored, {**columns_of_flag, "--feature": features})
    columns = [name for name in columns if name not in ignored]
    for name in (roles.id, roles.weight, None if classes else roles.truth):
        if name is not None and name not in columns:
            raise unknown_column_error(file.name, name, columns)
    return columns


def _wide_features(
    files: tuple[TableFile, ...],
    roles: InputOptions,
    truth: str | None,
    columns: Sequence[str],
    features: tuple[str, ...],
) -> FeatureTable:
    """Return the table whose columns are features, but for truth, ids and weights."""
    first = files[0]
    rest = [name for name in columns if name != truth]
    row_id = roles.id or find_column(rest, ColumnNames.ID)
    names = [name for name in rest if name not in (row_id, roles.weight, "")]
    if features:
        names = match_names(first.name, names, features, kind="feature")
    if not names:
        message = f"no feature columns; columns: {list_names(columns)}"
        hint = "every column except class, id and weight is a feature"
        raise DataError.new(message, "no-features", first.name, hint=hint)
    kinds = _kinds(first, names, roles.null_value)
    return FeatureTable(files, roles, "wide", truth, row_id, kinds, requested=features)


def _truth_by_name_or_offer(
    file: TableFile, columns: Sequence[str], roles: InputOptions, *, sparse: bool
) -> str:
    """Return the only column that is named like truth; DataError with those that may be it."""
    message = f"no class column; columns: {list_names(columns)}"
    if sparse:
        hint = f"name it with {OPTION}--truth COLUMN{END}"
        hint += f", or its file with {OPTION}--truth-table FILE{END} (Python, batches)"
        raise with_delimiter_hint(file, DataError.new(message, "no-truth", file.name, hint=hint))
    profiles = profile_sample(file, roles.null_value)
    candidates_by_name = {name: profiles[name] for name in columns}
    candidates = truth_candidates(candidates_by_name, roles, PairFacts(candidates_by_name))
    if len(candidates) == 1 and candidates[0].claim == "likely":
        return candidates[0].name
    readings = [
        OfferedReading(f"{quote_name(candidate.name)} is the class", {"truth": candidate.name})
        for candidate in candidates[:MOST_OFFERED]
    ]
    unread_hint = None if readings else f"name it with {OPTION}--truth COLUMN{END}"
    problem = Problem(message, "no-truth", file.name)
    raise with_delimiter_hint(file, DataError(problem, hint=unread_hint, readings=readings))


def _classes(files: tuple[TableFile, ...], roles: InputOptions) -> ClassTable:
    """Recognise the row and class columns of a table of classes; of two the second is the class."""
    first = files[0]
    columns = list(first.columns)
    if roles.truth is not None and roles.truth not in columns:
        raise unknown_column_error(first.name, roles.truth, columns)
    row = roles.id if roles.id in columns else find_column(columns, ColumnNames.ROW)
    row = row or (columns[0] if len(columns) == 2 else None)
    rest = [name for name in columns if name != row]
    truth = roles.truth or find_column(rest, ColumnNames.TRUTH)
    truth = truth or (rest[0] if len(rest) == 1 else None)
    if row is None or truth is None or row == truth:
        message = f"which columns are row and class? columns: {list_names(columns)}"
        hint = f"name them with {OPTION}--id COLUMN{END} and {OPTION}--truth COLUMN{END}"
        raise DataError.new(message, "no-truth", first.name, hint=hint)
    return ClassTable(files, row, truth)


def _kinds(
    file: TableFile, names: Sequence[str], null_values: Sequence[str]
) -> dict[str, FeatureKind]:
    """Guess each column's kind; counting detects a wrong guess."""
    if file.native is not None:
        schema = file.native.select(*names).collect_schema()
        binary = {n for n in names if schema[n] == nw.Boolean or schema[n].is_integer()}
        numeric = {n for n in names if schema[n].is_numeric()}
    else:
        profiles = profile_sample(file, null_values)
        binary = {n for n in names if profiles[n].is_binary}
        numeric = {n for n in names if profiles[n].mostly_numeric}
    return {
        name: "binary" if name in binary else "numeric" if name in numeric else "category"
        for name in names
    }
