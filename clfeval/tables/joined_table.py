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

    def joined(self, columns: Columns, names: Mapping[str, str]) -> JoinedFile:
        """Return the file with its recognised columns; names: of these in the joined table."""
        return JoinedFile(self.name, self.is_named, self.file, columns, self.profiles, names)


@dataclass(frozen=True, slots=True)
class SharedRoles:
    """What holds for every file: the options, columns left out, and columns with other roles.

    name_counts: number of files with each column name. side_columns: slices, weight, cluster.
    """

    roles: InputOptions
    ignored: frozenset[str]
    side_columns: Sequence[str]
    name_counts: Counter[str]


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

    joined_file: JoinedFile
    in_file: ModelColumns
    joined: ModelColumns


def join_files(named_files: NamedFiles, input_options: InputOptions) -> Predictions:
    """Join files on their ids, or on the numbers of their rows."""
    refuse_unjoinable(named_files, input_options)
    table_name = _joined_name(named_files)
    file_parts = _file_parts(named_files, input_options)
    column_names = _all_column_names(file_parts)
    facets = parse_facets(input_options, column_names)
    slice_options = replace(input_options, by=tuple(dict.fromkeys(chain(*facets))))
    _refuse_unknown_truth(table_name, file_parts, slice_options)
    shared_roles = _shared_roles(table_name, file_parts, column_names, slice_options)
    joined_files, models = _recognise_files(file_parts, shared_roles)
    selected_models = _selected_models(table_name, models, input_options)
    aligned_rows = align_rows(
        _parts_with_models(joined_files, selected_models),
        drop_missing=input_options.missing == "drop",
    )
    table = TableFile(
        table_name,
        tuple(aligned_rows.frame.columns),
        native=nw.from_native(aligned_rows.frame.lazy()),
        parts=tuple(joined_file.file for joined_file in joined_files),
        lost=aligned_rows.lost + aligned_rows.nameless,
        place=aligned_rows.place,
    )
    edges = row_selection.find_bin_edges(
        (table,), input_options.by, table.columns, input_options.null_value
    )
    joined_columns = replace(
        _joined_columns(joined_files, selected_models, facets, input_options), edges=edges
    )
    return Predictions(
        (table,),
        _layout_of_models(joined_columns.models),
        joined_columns,
        joined_profiles(joined_files, table.columns, joined_columns.truth),
        _resolved_roles(input_options, joined_files, models),
        _joined_text(table_name, aligned_rows, input_options, file_parts),
    )


def _recognise_files(
    file_parts: Sequence[FilePart], shared_roles: SharedRoles
) -> tuple[list[JoinedFile], list[JoinedModel]]:
    """Return the files with the roles of their columns, and their models."""
    file_parts = [_with_lone_truth(file_part, file_parts, shared_roles) for file_part in file_parts]
    truth_source = _truth_source(file_parts, shared_roles.roles)
    joined_files = [
        _recognise_file(file_part, shared_roles, truth_source, file_index)
        for file_index, file_part in enumerate(file_parts)
    ]
    models = _joined_models(joined_files, truth_source)
    refuse_equal_names(joined_files, [model.joined.name for model in models])
    return joined_files, models


def _resolved_roles(
    input_options: InputOptions, joined_files: Sequence[JoinedFile], models: Sequence[JoinedModel]
) -> InputOptions:
    """Return the options of the joined table, with its ids and models."""
    # labels of one file are not stray columns next to scores of another
    one_kind_per_file = all(
        len({model.kind for model in joined_file.columns.models}) <= 1
        for joined_file in joined_files
    )
    model_names = tuple(model.joined.name for model in models) if one_kind_per_file else ()
    return replace(input_options, id=joined_files[0].id, model=input_options.model or model_names)


def _joined_name(named_files: NamedFiles) -> str:
    """Return the name of the joined table: those of its files."""
    name = " + ".join(file.display_name for _, file in named_files[:MAX_FILES_NAMED])
    if len(named_files) > MAX_FILES_NAMED:
        name += f" + {len(named_files) - MAX_FILES_NAMED} more"
    return name


def _file_parts(named_files: NamedFiles, input_options: InputOptions) -> list[FilePart]:
    """Return the files with their names, profiles and keys; UsageError for two of one name."""
    keys = find_keys([file for _, file in named_files], str(input_options.join))
    file_parts = []
    for (given_name, file), key in zip(named_files, keys, strict=True):
        name = given_name or file_stem(file.display_name)
        profiles = profiles_of_file(file, input_options)
        file_parts.append(FilePart(name, name == given_name, file, profiles, key))
    files_by_name = Counter(file_part.name for file_part in file_parts)
    repeated_names = [name for name, count in files_by_name.items() if count > 1]
    if repeated_names:
        first_file = next(
            file_part.file for file_part in file_parts if file_part.name in repeated_names
        )
        hint = f"name each file: {repeated_names[0]}=FILE other=FILE"
        message = f"two files have the name {list_names(repeated_names)}, such as {first_file.name}"
        raise bad_option(message, hint)
    return file_parts


def _all_column_names(file_parts: Sequence[FilePart]) -> list[str]:
    """Return the names of all columns, each also with the name of its file."""
    column_names = []
    for file_part in file_parts:
        for column in file_part.profiles:
            column_names += [column, QUALIFIED_NAME.format(file_part.name, column)]
    return list(dict.fromkeys(column_names))


def _shared_roles(
    table_name: str,
    file_parts: Sequence[FilePart],
    columns: Sequence[str],
    input_options: InputOptions,
) -> SharedRoles:
    """Return the roles that options give to columns; UsageError for columns that no file has."""
    ignored_columns = match_names(table_name, columns, input_options.ignore, kind="column")
    side_columns = [
        name
        for name in (*input_options.by, input_options.weight, input_options.cluster)
        if name is not None
    ]
    bare_names = [name for file_part in file_parts for name in file_part.profiles]
    for name in side_columns:
        if name not in columns:
            raise unknown_column_error(table_name, name, bare_names)
    return SharedRoles(input_options, frozenset(ignored_columns), side_columns, Counter(bare_names))


def _with_lone_truth(
    file_part: FilePart, file_parts: Sequence[FilePart], shared_roles: SharedRoles
) -> FilePart:
    """Return a file with its column of truth, if it has no models; file_parts: all files."""
    qualified_columns = {
        QUALIFIED_NAME.format(other_part.name, name)
        for other_part in file_parts
        for name in shared_roles.side_columns
    }
    used_columns = {*shared_roles.side_columns, *qualified_columns, *shared_roles.ignored}
    lone_truth = find_lone_truth(
        file_part.profiles, file_part.name, file_part.key, shared_roles.roles, used_columns
    )
    return replace(file_part, lone_truth=lone_truth)


def _truth_source(file_parts: Sequence[FilePart], input_options: InputOptions) -> TruthSource:
    """Return the file with truth: one without models, else the first with truth by its name."""
    lone_indices = [
        file_index
        for file_index, file_part in enumerate(file_parts)
        if file_part.lone_truth is not None
    ]
    # files with classes as truth come first: fractions named like truth are scores
    lone_indices.sort(key=lambda file_index: not _lone_profile(file_parts[file_index]).classes)
    truth_columns = [named_truth(file_part.profiles, input_options) for file_part in file_parts]
    if lone_indices:
        first_index = lone_indices[0]
        profile = file_parts[first_index].profiles[str(truth_columns[first_index])]
        return TruthSource(first_index, profile, is_separate=True)
    for file_index, (file_part, truth_column) in enumerate(
        zip(file_parts, truth_columns, strict=True)
    ):
        if truth_column in file_part.profiles:
            return TruthSource(file_index, file_part.profiles[str(truth_column)], is_separate=False)
    return TruthSource(None, None, is_separate=False)


def _lone_profile(file_part: FilePart) -> ColumnProfile:
    return file_part.profiles[str(file_part.lone_truth)]


def _joined_models(
    joined_files: Sequence[JoinedFile], truth_source: TruthSource
) -> list[JoinedModel]:
    """Return the models of all files, with their names in the joined table."""
    model_files = [
        joined_file
        for file_index, joined_file in enumerate(joined_files)
        if not (truth_source.is_separate and file_index == truth_source.file)
    ]
    one_per_file = all(len(joined_file.columns.models) == 1 for joined_file in model_files)
    name_counts = Counter(
        model.name for joined_file in joined_files for model in joined_file.columns.models
    )
    return [
        JoinedModel(joined_file, model, joined_file.model(model, one_per_file, name_counts))
        for joined_file in joined_files
        for model in joined_file.columns.models
    ]


def _selected_models(
    table_name: str, models: Sequence[JoinedModel], input_options: InputOptions
) -> list[JoinedModel]:
    """Return the models that --model names, in that order; all without it."""
    models_by_name = {model.joined.name: model for model in models}
    names = list(models_by_name)
    if input_options.model:
        names = match_names(table_name, names, input_options.model)
    return [models_by_name[name] for name in names]


def _parts_with_models(
    joined_files: Sequence[JoinedFile], selected_models: Sequence[JoinedModel]
) -> list[JoinedFile]:
    """Return the files with the selected models only."""
    reduced_files = []
    for joined_file in joined_files:
        models = tuple(
            model.in_file for model in selected_models if model.joined_file is joined_file
        )
        reduced_files.append(
            replace(joined_file, columns=replace(joined_file.columns, models=models))
        )
    return reduced_files


def _joined_columns(
    joined_files: Sequence[JoinedFile],
    selected_models: Sequence[JoinedModel],
    facets: tuple[tuple[str, ...], ...],
    input_options: InputOptions,
) -> Columns:
    """Return the roles of the columns of the joined table."""
    ignored_columns = [
        QUALIFIED_NAME.format(joined_file.name, name)
        for joined_file in joined_files
        for name in joined_file.columns.ignored
    ]
    written_columns = [
        joined_file.names.get(name, name)
        for joined_file in joined_files
        for name in joined_file.columns.written
    ]
    scale_of_column = {
        joined_file.names.get(name, name): scale
        for joined_file in joined_files
        for name, scale in joined_file.columns.scaled.items()
    }
    truth_columns = (joined_file.columns.truth for joined_file in joined_files)
    return Columns(
        next(filter(None, truth_columns)),
        joined_files[0].id,
        tuple(model.joined for model in selected_models),
        ignored=tuple(ignored_columns),
        facets=facets,
        weight=input_options.weight,
        cluster=input_options.cluster,
        null_values=input_options.null_value,
        written=frozenset(written_columns),
        scaled=scale_of_column,
        fold=input_options.fold_labels,
    )


def _layout_of_models(models: Sequence[ModelColumns]) -> Layout:
    """Return the layout of a joined table."""
    has_probabilities = any(model.kind == "classes" for model in models)
    return replace(wide.PROBABILITIES if has_probabilities else wide.LAYOUT, joined=True)


def _joined_text(
    table_name: str,
    aligned_rows: AlignedRows,
    input_options: InputOptions,
    file_parts: Sequence[FilePart],
) -> str:
    """Return how many rows were joined on what, in words."""
    is_by_number = file_parts[0].key is None
    basis_text = (
        "rows joined by number" if is_by_number else f"ids joined on '{input_options.join}'"
    )
    text = f"{table_name}: {aligned_rows.frame.height:,} {basis_text}"
    if aligned_rows.lost:
        text += f", {aligned_rows.lost:,} dropped that are not in all files"
    if aligned_rows.nameless:
        text += f", rows without an id dropped: {aligned_rows.nameless:,}"
    return text


def _refuse_unknown_truth(
    table_name: str, file_parts: Sequence[FilePart], input_options: InputOptions
) -> None:
    """Raise with the columns that may be truth, where no file has one by its name.

    Those of files without predictions come first.
    """
    is_known = any(
        named_truth(file_part.profiles, input_options) is not None for file_part in file_parts
    )
    if input_options.truth is not None or is_known:
        return
    candidates: list[tuple[bool, str]] = []
    for file_part in file_parts:
        free_profiles = {
            name: profile for name, profile in file_part.profiles.items() if name != file_part.key
        }
        has_predictions = any(tags_of(name) & {"prediction", "model"} for name in free_profiles)
        for candidate in truth_candidates(free_profiles, input_options, PairFacts(free_profiles)):
            candidates.append((has_predictions, candidate.name))
    candidates.sort(key=lambda candidate: candidate[0])
    names = list(dict.fromkeys(name for _, name in candidates))
    if not names:
        return
    columns = dict.fromkeys(name for file_part in file_parts for name in file_part.profiles)
    problem = Problem(f"no truth column; columns: {list_names(columns)}", "no-truth", table_name)
    offered_readings = [OfferedReading(f"'{name}' is truth", {"truth": name}) for name in names]
    further_names = names[MOST_OFFERED:]
    further_text = (
        f"{len(further_names)} more: {OPTION}--truth{END} with {list_names(further_names, 5)}"
        if further_names
        else None
    )
    raise DataError(problem, readings=offered_readings[:MOST_OFFERED], further=further_text)


def _recognise_file(
    file_part: FilePart, shared_roles: SharedRoles, truth_source: TruthSource, file_index: int
) -> JoinedFile:
    """Recognise the columns of one file; file_index: its index among all files."""
    side_columns = _side_columns_of(file_part, shared_roles)
    ignored_columns = tuple(
        column
        for full_name, column in file_part.qualified_names.items()
        if {full_name, column} & shared_roles.ignored
    )
    file_options = replace(
        shared_roles.roles,
        id=file_part.key,
        model=(),
        ignore=ignored_columns,
        by=tuple(side_columns[name] for name in shared_roles.roles.by if name in side_columns),
        weight=side_columns.get(shared_roles.roles.weight or ""),
        cluster=side_columns.get(shared_roles.roles.cluster or ""),
    )
    joined_names = {column: name for name, column in side_columns.items()}
    if truth_source.is_separate and file_index == truth_source.file:
        columns = _columns_of_truth(file_part, file_options)
        return file_part.joined(columns, joined_names)
    truth_profile = truth_source.profile if file_index != truth_source.file else None
    recognised = _recognise_with_truth(
        file_part, file_options, truth_profile, is_separate=truth_source.is_separate
    )
    columns = replace(recognised.columns, id=file_part.key)
    for model in columns.models:
        for name in (*model.columns, *([model.label_column] if model.label_column else [])):
            is_unique = shared_roles.name_counts[name] == 1
            joined_names[name] = name if is_unique else QUALIFIED_NAME.format(file_part.name, name)
    return file_part.joined(columns, joined_names)


def _side_columns_of(file_part: FilePart, shared_roles: SharedRoles) -> dict[str, str]:
    """Return the columns of a file for slices, weight and cluster, by their names in options."""
    columns: dict[str, str] = {}
    for name in shared_roles.side_columns:
        column = file_part.column_called(name)
        if column is not None:
            columns[name] = column
    if len({*columns.values()}) < len(columns):
        message = f"two of {list_names(columns)} are one column of {file_part.file.name}"
        raise bad_option(message, "name it once")
    return columns


def _columns_of_truth(file_part: FilePart, input_options: InputOptions) -> Columns:
    """Return the columns of a file of truth only."""
    return Columns(
        str(file_part.lone_truth),
        file_part.key,
        ignored=input_options.ignore,
        facets=tuple((name,) for name in input_options.by),
        weight=input_options.weight,
        cluster=input_options.cluster,
        null_values=input_options.null_value,
        fold=input_options.fold_labels,
    )


def _recognise_with_truth(
    file_part: FilePart,
    input_options: InputOptions,
    truth_profile: ColumnProfile | None,
    *,
    is_separate: bool,
) -> Recognised:
    """Recognise the columns of a file of models; truth_profile: of truth in another file, if any.

    is_separate: truth has a file of its own.
    """
    columns = {name for name in file_part.profiles if name not in input_options.ignore}
    has_own_truth = (
        file_part.lone_truth is None and named_truth(file_part.profiles, input_options) in columns
    )
    try:
        if truth_profile is None or has_own_truth:
            recognised = recognise(file_part.file.name, file_part.profiles, input_options)
        else:
            profiles = {TRUTH_ELSEWHERE: truth_profile, **file_part.profiles}
            truth_options = replace(input_options, truth=TRUTH_ELSEWHERE)
            recognised = recognise(file_part.file.name, profiles, truth_options)
            if len(recognised.columns.models) != 1 and not is_separate:
                # one of its columns may be truth
                recognised = recognise(file_part.file.name, file_part.profiles, input_options)
            else:
                columns_in_file = replace(recognised.columns, truth="")
                recognised = replace(recognised, columns=columns_in_file)
    except DataError as error:
        raise invalid_cells.with_delimiter_hint(file_part.file, error) from error
    layout = recognised.layout
    if layout.gathers or layout.expand is not None:
        message = (
            f"a {layout.name} table; {OPTION}--join{END} needs one row per id and one column per "
            "model"
        )
        hint = None
        if layout.gathers:
            hint = f"leave out {OPTION}--join{END} to read long tables with the same columns as one"
        raise DataError.new(message, "wrong-layout", file_part.file.name, hint=hint)
    return recognised
