"""The table of several files whose rows are joined: one or more models of each file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from clfeval.errors import (
    DataError,
    OfferedReading,
    Problem,
    bad_option,
    list_names,
    unknown_column_error,
)
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace
from clfeval.tables import invalid_cells, row_selection
from clfeval.tables.align import (
    QUALIFIED_NAME,
    AlignedRows,
    JoinedFile,
    align_rows,
    file_stem,
    find_keys,
    find_lone_truth,
    joined_profiles,
    refuse_equal_names,
    refuse_unjoinable,
)
from clfeval.tables.columns import Columns, ModelColumns
from clfeval.tables.frames import nw
from clfeval.tables.input import InputOptions, match_names, parse_facets
from clfeval.tables.layouts import wide
from clfeval.tables.predictions import Layout, Predictions
from clfeval.tables.profiles import ColumnProfile
from clfeval.tables.readings.names import tags_of
from clfeval.tables.readings.pair_facts import PairFacts
from clfeval.tables.readings.reading import MOST_OFFERED
from clfeval.tables.readings.truths import named_truth, truth_candidates
from clfeval.tables.recognition import Recognised, profiles_of_file, recognise
from clfeval.tables.scan import TableFile

TRUTH_ELSEWHERE = "__clfeval_truth"  # name of the truth column of another file
MAX_FILES_NAMED = 3  # files named in the name of the joined table
Profiles = Mapping[str, ColumnProfile]
NamedFiles = Sequence[tuple[str | None, TableFile]]  # each with the name the user gave it, or None


@dataclass(frozen=True, slots=True)
class FilePart:
    """One of the files before its columns are recognised.

    name: of its model. is_named: by the user, not by its file name. key: its column of ids; None if
    rows are numbered. lone_truth: its column of truth, where it has no models.
    """

    name: str
    is_named: bool
    file: TableFile
    profiles: Profiles
    key: str | None
    lone_truth: str | None = None

    @property
    def qualified_names(self) -> dict[str, str]:
        """The names of its columns by those with the name of the file."""
        return {QUALIFIED_NAME.format(self.name, column): column for column in self.profiles}

    def column_called(self, name: str) -> str | None:
        """Return its column of this name, bare or with the name of the file."""
        return name if name in self.profiles else self.qualified_names.get(name)


@dataclass(frozen=True, slots=True)
class SharedRoles:
    """What holds for every file: the options, columns left out, and columns with other roles.

    files_with: number of files with each column name. side_columns: slices, weight, cluster.
    """

    roles: InputOptions
    ignored: frozenset[str]
    side_columns: Sequence[str]
    files_with: Counter[str]


@dataclass(frozen=True, slots=True)
class TruthSource:
    """Where truth is: the number of the file and its profile; None if each file has its own.

    is_separate: that file has no models.
    """

    file: int | None
    profile: ColumnProfile | None
    is_separate: bool


@dataclass(frozen=True, slots=True)
class JoinedModel:
    """A model of a file as it is there, and as it is in the joined table."""

    part: JoinedFile
    in_file: ModelColumns
    joined: ModelColumns


def join_files(files: NamedFiles, roles: InputOptions) -> Predictions:
    """Join files on their ids, or on the numbers of their rows."""
    refuse_unjoinable(files, roles)
    table_name = _joined_name(files)
    file_parts = _file_parts(files, roles)
    columns = _all_column_names(file_parts)
    facets = parse_facets(roles, columns)
    with_slices = replace(roles, by=tuple(dict.fromkeys(chain(*facets))))
    _refuse_unknown_truth(table_name, file_parts, with_slices)
    shared = _shared_roles(table_name, file_parts, columns, with_slices)
    parts, models = _recognise_files(file_parts, shared)
    selected = _selected_models(table_name, models, roles)
    rows = align_rows(_parts_with_models(parts, selected), drop=roles.missing == "drop")
    table = TableFile(
        table_name,
        tuple(rows.frame.columns),
        native=nw.from_native(rows.frame.lazy()),
        parts=tuple(part.file for part in parts),
        lost=rows.lost + rows.nameless,
        place=rows.place,
    )
    edges = row_selection.find_bin_edges((table,), roles.by, table.columns, roles.null_value)
    joined_columns = replace(_joined_columns(parts, selected, facets, roles), edges=edges)
    return Predictions(
        (table,),
        _layout_of_models(joined_columns.models),
        joined_columns,
        joined_profiles(parts, table.columns, joined_columns.truth),
        _resolved_roles(roles, parts, models),
        _joined_text(table_name, rows, roles, file_parts),
    )


def _recognise_files(
    file_parts: Sequence[FilePart], shared: SharedRoles
) -> tuple[list[JoinedFile], list[JoinedModel]]:
    """Return the files with the roles of their columns, and their models."""
    file_parts = [_with_lone_truth(part, file_parts, shared) for part in file_parts]
    truth = _truth_source(file_parts, shared.roles)
    parts = [
        _recognise_file(part, shared, truth, position) for position, part in enumerate(file_parts)
    ]
    models = _joined_models(parts, truth)
    refuse_equal_names(parts, [model.joined.name for model in models])
    return parts, models


def _resolved_roles(
    roles: InputOptions, parts: Sequence[JoinedFile], models: Sequence[JoinedModel]
) -> InputOptions:
    """Return the options of the joined table, with its ids and models."""
    # labels of one file are not stray columns next to scores of another
    are_models = all(len({model.kind for model in part.columns.models}) <= 1 for part in parts)
    names = tuple(model.joined.name for model in models) if are_models else ()
    return replace(roles, id=parts[0].id, model=roles.model or names)


def _joined_name(files: NamedFiles) -> str:
    """Return the name of the joined table: those of its files."""
    name = " + ".join(file.display_name for _, file in files[:MAX_FILES_NAMED])
    if len(files) > MAX_FILES_NAMED:
        name += f" + {len(files) - MAX_FILES_NAMED} more"
    return name


def _file_parts(files: NamedFiles, roles: InputOptions) -> list[FilePart]:
    """Return the files with their names, profiles and keys; UsageError for two of one name."""
    keys = find_keys([file for _, file in files], str(roles.join))
    parts = []
    for (user_name, file), key in zip(files, keys, strict=True):
        name = user_name or file_stem(file.display_name)
        profiles = profiles_of_file(file, roles)
        parts.append(FilePart(name, name == user_name, file, profiles, key))
    files_by_name = Counter(part.name for part in parts)
    repeated = [name for name, count in files_by_name.items() if count > 1]
    if repeated:
        first = next(part.file for part in parts if part.name in repeated)
        hint = f"name each file: {repeated[0]}=FILE other=FILE"
        message = f"two files have the name {list_names(repeated)}, such as {first.name}"
        raise bad_option(message, hint)
    return parts


def _all_column_names(parts: Sequence[FilePart]) -> list[str]:
    """Return the names of all columns, each also with the name of its file."""
    names = []
    for part in parts:
        for column in part.profiles:
            names += [column, QUALIFIED_NAME.format(part.name, column)]
    return list(dict.fromkeys(names))


def _shared_roles(
    table_name: str, parts: Sequence[FilePart], columns: Sequence[str], roles: InputOptions
) -> SharedRoles:
    """Return the roles that options give to columns; UsageError for columns that no file has."""
    ignored = match_names(table_name, columns, roles.ignore, kind="column")
    side_columns = [name for name in (*roles.by, roles.weight, roles.cluster) if name is not None]
    bare_names = [name for part in parts for name in part.profiles]
    for name in side_columns:
        if name not in columns:
            raise unknown_column_error(table_name, name, bare_names)
    return SharedRoles(roles, frozenset(ignored), side_columns, Counter(bare_names))


def _with_lone_truth(part: FilePart, parts: Sequence[FilePart], shared: SharedRoles) -> FilePart:
    """Return a file with its column of truth, if it has no models."""
    side_columns = {
        QUALIFIED_NAME.format(file_part.name, name)
        for file_part in parts
        for name in shared.side_columns
    }
    used = {*shared.side_columns, *side_columns, *shared.ignored}
    lone_truth = find_lone_truth(part.profiles, part.name, part.key, shared.roles, used)
    return replace(part, lone_truth=lone_truth)


def _truth_source(parts: Sequence[FilePart], roles: InputOptions) -> TruthSource:
    """Return the file with truth: one without models, else the first with truth by its name."""
    lone = [position for position, part in enumerate(parts) if part.lone_truth is not None]
    # fractions named like truth are the scores of another file
    lone.sort(key=lambda position: not _lone_profile(parts[position]).classes)
    truths = [named_truth(part.profiles, roles) for part in parts]
    if lone:
        part = parts[lone[0]]
        return TruthSource(lone[0], part.profiles[str(truths[lone[0]])], is_separate=True)
    for position, (part, truth) in enumerate(zip(parts, truths, strict=True)):
        if truth in part.profiles:
            return TruthSource(position, part.profiles[str(truth)], is_separate=False)
    return TruthSource(None, None, is_separate=False)


def _lone_profile(part: FilePart) -> ColumnProfile:
    return part.profiles[str(part.lone_truth)]


def _joined_models(parts: Sequence[JoinedFile], truth: TruthSource) -> list[JoinedModel]:
    """Return the models of all files, with their names in the joined table."""
    files_of_models = [
        part
        for position, part in enumerate(parts)
        if not (truth.is_separate and position == truth.file)
    ]
    are_single = all(len(part.columns.models) == 1 for part in files_of_models)
    files_with = Counter(model.name for part in parts for model in part.columns.models)
    return [
        JoinedModel(part, model, part.model(model, are_single, files_with))
        for part in parts
        for model in part.columns.models
    ]


def _selected_models(
    table_name: str, models: Sequence[JoinedModel], roles: InputOptions
) -> list[JoinedModel]:
    """Return the models that --model names, in that order; all without it."""
    models_by_name = {model.joined.name: model for model in models}
    names = list(models_by_name)
    if roles.model:
        names = match_names(table_name, names, roles.model)
    return [models_by_name[name] for name in names]


def _parts_with_models(
    parts: Sequence[JoinedFile], selected: Sequence[JoinedModel]
) -> list[JoinedFile]:
    """Return the files with the selected models only."""
    reduced = []
    for part in parts:
        models = tuple(model.in_file for model in selected if model.part is part)
        reduced.append(replace(part, columns=replace(part.columns, models=models)))
    return reduced


def _joined_columns(
    parts: Sequence[JoinedFile],
    selected: Sequence[JoinedModel],
    facets: tuple[tuple[str, ...], ...],
    roles: InputOptions,
) -> Columns:
    """Return the roles of the columns of the joined table."""
    ignored = [
        QUALIFIED_NAME.format(part.name, name) for part in parts for name in part.columns.ignored
    ]
    written = [part.names.get(name, name) for part in parts for name in part.columns.written]
    scaled = {
        part.names.get(name, name): scale
        for part in parts
        for name, scale in part.columns.scaled.items()
    }
    return Columns(
        next(part.columns.truth for part in parts if part.columns.truth),
        parts[0].id,
        tuple(model.joined for model in selected),
        ignored=tuple(ignored),
        facets=facets,
        weight=roles.weight,
        cluster=roles.cluster,
        null_values=roles.null_value,
        written=frozenset(written),
        scaled=scaled,
        fold=roles.fold_labels,
    )


def _layout_of_models(models: Sequence[ModelColumns]) -> Layout:
    """Return the layout of a joined table."""
    has_sets = any(model.kind == "classes" for model in models)
    return replace(wide.PROBABILITIES if has_sets else wide.LAYOUT, joined=True)


def _joined_text(
    table_name: str, rows: AlignedRows, roles: InputOptions, parts: Sequence[FilePart]
) -> str:
    """Return how many rows were joined on what, in words."""
    by_number = parts[0].key is None
    joined_on = "rows joined by number" if by_number else f"ids joined on '{roles.join}'"
    text = f"{table_name}: {rows.frame.height:,} {joined_on}"
    if rows.lost:
        text += f", {rows.lost:,} dropped that are not in all files"
    if rows.nameless:
        text += f", rows without an id dropped: {rows.nameless:,}"
    return text


def _refuse_unknown_truth(table_name: str, parts: Sequence[FilePart], roles: InputOptions) -> None:
    """Raise with the columns that may be truth, where no file has one by its name.

    Those of files without predictions come first.
    """
    is_known = any(named_truth(part.profiles, roles) is not None for part in parts)
    if roles.truth is not None or is_known:
        return
    candidates: list[tuple[bool, str]] = []
    for part in parts:
        free = {name: profile for name, profile in part.profiles.items() if name != part.key}
        predicts = any(tags_of(name) & {"prediction", "model"} for name in free)
        for candidate in truth_candidates(free, roles, PairFacts(free)):
            candidates.append((predicts, candidate.name))
    candidates.sort(key=lambda candidate: candidate[0])
    names = list(dict.fromkeys(name for _, name in candidates))
    if not names:
        return
    columns = dict.fromkeys(name for part in parts for name in part.profiles)
    problem = Problem(f"no truth column; columns: {list_names(columns)}", "no-truth", table_name)
    offered = [OfferedReading(f"'{name}' is truth", {"truth": name}) for name in names]
    left = names[MOST_OFFERED:]
    further = f"{len(left)} more: {OPTION}--truth{END} with {list_names(left, 5)}" if left else None
    raise DataError(problem, readings=offered[:MOST_OFFERED], further=further)


def _recognise_file(
    part: FilePart, shared: SharedRoles, truth: TruthSource, position: int
) -> JoinedFile:
    """Recognise the columns of one file; position: its number."""
    side_columns = _side_columns_of(part, shared)
    left_out = tuple(
        column
        for full_name, column in part.qualified_names.items()
        if {full_name, column} & shared.ignored
    )
    roles = replace(
        shared.roles,
        id=part.key,
        model=(),
        ignore=left_out,
        by=tuple(side_columns[name] for name in shared.roles.by if name in side_columns),
        weight=side_columns.get(shared.roles.weight or ""),
        cluster=side_columns.get(shared.roles.cluster or ""),
    )
    names = {column: name for name, column in side_columns.items()}
    if truth.is_separate and position == truth.file:
        columns = _columns_of_truth(part, roles)
        return JoinedFile(part.name, part.is_named, part.file, columns, part.profiles, names)
    profile = truth.profile if position != truth.file else None
    recognised = _recognise_with_truth(part, roles, profile, is_separate=truth.is_separate)
    columns = replace(recognised.columns, id=part.key)
    for model in columns.models:
        for name in (*model.columns, *([model.label_column] if model.label_column else [])):
            is_unique = shared.files_with[name] == 1
            names[name] = name if is_unique else QUALIFIED_NAME.format(part.name, name)
    return JoinedFile(part.name, part.is_named, part.file, columns, part.profiles, names)


def _side_columns_of(part: FilePart, shared: SharedRoles) -> dict[str, str]:
    """Return the columns of a file for slices, weight and cluster, by their names in options."""
    columns: dict[str, str] = {}
    for name in shared.side_columns:
        column = part.column_called(name)
        if column is not None:
            columns[name] = column
    if len({*columns.values()}) < len(columns):
        message = f"two of {list_names(columns)} are one column of {part.file.name}"
        raise bad_option(message, "name it once")
    return columns


def _columns_of_truth(part: FilePart, roles: InputOptions) -> Columns:
    """Return the columns of a file of truth only."""
    return Columns(
        str(part.lone_truth),
        part.key,
        ignored=roles.ignore,
        facets=tuple((name,) for name in roles.by),
        weight=roles.weight,
        cluster=roles.cluster,
        null_values=roles.null_value,
        fold=roles.fold_labels,
    )


def _recognise_with_truth(
    part: FilePart, roles: InputOptions, truth: ColumnProfile | None, *, is_separate: bool
) -> Recognised:
    """Recognise the columns of a file of models; truth: of another file, where it has none.

    is_separate: truth has a file of its own.
    """
    columns = {name for name in part.profiles if name not in roles.ignore}
    has_own_truth = part.lone_truth is None and named_truth(part.profiles, roles) in columns
    try:
        if truth is None or has_own_truth:
            recognised = recognise(part.file.name, part.profiles, roles)
        else:
            profiles = {TRUTH_ELSEWHERE: truth, **part.profiles}
            with_truth = replace(roles, truth=TRUTH_ELSEWHERE)
            recognised = recognise(part.file.name, profiles, with_truth)
            if len(recognised.columns.models) != 1 and not is_separate:
                # one of its columns may be truth
                recognised = recognise(part.file.name, part.profiles, roles)
            else:
                columns_without = replace(recognised.columns, truth="")
                recognised = replace(recognised, columns=columns_without)
    except DataError as error:
        raise invalid_cells.with_delimiter_hint(part.file, error) from error
    layout = recognised.layout
    if layout.gathers or layout.expand is not None:
        message = (
            f"a {layout.name} table; {OPTION}--join{END} needs one row per id and one column per "
            "model"
        )
        hint = None
        if layout.gathers:
            hint = f"leave out {OPTION}--join{END} to read long tables with the same columns as one"
        raise DataError.new(message, "wrong-layout", part.file.name, hint=hint)
    return recognised
