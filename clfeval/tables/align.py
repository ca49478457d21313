"""Join of the rows of several files on their ids, and the errors of files that do not match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from clfeval.errors import (
    MAX_PROBLEMS,
    DataError,
    Problem,
    bad_option,
    list_names,
    unknown_column_error,
)
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, field, replace
from clfeval.tables.columns import Columns, ModelColumns
from clfeval.tables.csv import inspect_structure
from clfeval.tables.frames import engine_errors, in_polars, pl, unreadable_frame_error
from clfeval.tables.input import FILE_NAME, JOIN_ROWS, InputOptions
from clfeval.tables.profiles import ColumnProfile
from clfeval.tables.readings.candidate_columns import kind_of_cells
from clfeval.tables.readings.labels import known_labels
from clfeval.tables.readings.names import tags_of
from clfeval.tables.readings.truths import named_truth
from clfeval.tables.scan import CellReading, Origin, TableFile, scan, unreadable_error

QUALIFIED_NAME = "{}:{}"  # a column, or one model of several, of a file


@dataclass(frozen=True, slots=True)
class JoinedFile:
    """One of the joined files: its name, its columns, and their names in the joined table."""

    name: str
    is_named: bool  # by the user, not by its name
    file: TableFile
    columns: Columns
    profiles: Mapping[str, ColumnProfile]
    names: Mapping[str, str]

    @property
    def id(self) -> str:
        """The column of its ids; `row` where rows are joined by their numbers."""
        return self.columns.id or JOIN_ROWS

    def model(
        self, model: ModelColumns, one_per_file: bool, name_counts: Counter[str]
    ) -> ModelColumns:
        """Return a model, renamed for the joined table.

        one_per_file: each file has one model. name_counts: number of models by name.
        """
        name = QUALIFIED_NAME.format(self.name, model.name)
        if len(self.columns.models) == 1 and (self.is_named or one_per_file):
            name = self.name
        elif not self.is_named and name_counts[model.name] == 1:
            name = model.name
        columns = tuple(self.names[column] for column in model.columns)
        label_column = model.label_column and self.names[model.label_column]
        return replace(model, name=name, columns=columns, label_column=label_column)


def file_stem(name: str) -> str:
    """Return the file name without the suffixes of its format."""
    for suffix in (".gz", ".zst", ".zstd"):
        name = name.removesuffix(suffix)
    stem, dot, _suffix = name.rpartition(".")
    return stem if dot and stem else name.strip("<>")


def refuse_unjoinable(
    files: Sequence[tuple[str | None, TableFile]], input_options: InputOptions
) -> None:
    """Raise for files and options that cannot be joined, before anything is read."""
    if len(files) < 2:
        message = f"{OPTION}--join{END} needs several files, but only one is given"
        raise bad_option(message, "name all files: new=FILE old=FILE")
    if input_options.id not in (None, input_options.join):
        raise bad_option(
            f"{OPTION}--join{END} '{input_options.join}' and "
            f"{OPTION}--id '{input_options.id}'{END} both name the rows",
            f"leave {OPTION}--id{END} out",
        )
    if input_options.run is not None:
        option = "--run-files" if input_options.run == FILE_NAME else "--run"
        raise bad_option(f"{OPTION}{option}{END} and {OPTION}--join{END} cannot be combined")
    if input_options.layout in ("long", "counts"):
        raise bad_option(
            f"{OPTION}--join{END} needs files with one row per id, not "
            f"{OPTION}--layout {input_options.layout}{END}"
        )


def find_keys(files: Sequence[TableFile], join: str) -> list[str | None]:
    """Return the column of each file on which rows are joined; None: the number of the row.

    join: a column of all files, `A+B` of which each file has one, or `row`.
    """
    all_columns = {name for file in files for name in file.columns}
    if join == JOIN_ROWS and join not in all_columns:
        return [None for _ in files]
    key_names = [join] if join in all_columns else join.split("+")
    key_columns: list[str | None] = []
    for file in files:
        file_keys = [name for name in key_names if name in file.columns]
        if not file_keys:
            raise unknown_column_error(file.name, join, file.columns)
        if len(file_keys) > 1:
            message = (
                f"{OPTION}--join{END} '{join}' names two columns of {file.name}: "
                f"{list_names(file_keys)}"
            )
            raise bad_option(message, "name one column of each file")
        key_columns.append(file_keys[0])
    return key_columns


def refuse_equal_names(joined_files: Sequence[JoinedFile], model_names: Sequence[str]) -> None:
    """Raise for two models, or two columns, that would have the same name."""
    shared_names = {
        str(joined_files[0].columns.id),
        *(joined_file.columns.truth for joined_file in joined_files),
    } - {""}
    column_counts = Counter[str]()
    for joined_file in joined_files:
        model_columns = {
            name
            for model in joined_file.columns.models
            for name in (*model.columns, model.label_column)
        }
        column_counts.update(joined_file.names[name] for name in model_columns if name is not None)
        shared_names |= {
            full_name for name, full_name in joined_file.names.items() if name not in model_columns
        }
    column_counts.update(shared_names)
    for noun, name_counts in (("models", Counter(model_names)), ("columns", column_counts)):
        repeated_names = [name for name, count in name_counts.items() if count > 1]
        if repeated_names:
            hint = "give the files different names: new=FILE old=FILE"
            raise bad_option(f"two {noun} would have the name {list_names(repeated_names)}", hint)


def find_lone_truth(
    profiles: Mapping[str, ColumnProfile],
    file_name: str,
    id_column: str | None,
    input_options: InputOptions,
    used_columns: set[str],
) -> str | None:
    """Return the truth column of a file without models, of ids, truth and texts; else None.

    Properties of the rows by their names, such as ages, are like texts. id_column: of the file.
    used_columns: those with another role.
    """
    excluded_names = {id_column, *used_columns}
    free_profiles = {
        name: profile
        for name, profile in profiles.items()
        if not {name, QUALIFIED_NAME.format(file_name, name)} & excluded_names
    }
    truth_column = named_truth(free_profiles, input_options)
    if truth_column is None or truth_column not in free_profiles:
        return None
    classes = known_labels(free_profiles[truth_column].texts, input_options)
    other_profiles = (
        profile
        for name, profile in free_profiles.items()
        if name != truth_column and not tags_of(name) & {"covariate", "date"}
    )
    cell_kinds = {kind_of_cells(profile, classes) for profile in other_profiles}
    return truth_column if cell_kinds <= {"text", "empty"} else None


def joined_profiles(
    joined_files: Sequence[JoinedFile], columns: Iterable[str], truth_column: str
) -> dict[str, ColumnProfile]:
    """Return the profile of each column of the joined table; that of truth from all files.

    columns: of the joined table; its row numbers have no profile.
    """
    profiles: dict[str, ColumnProfile] = {}
    for joined_file in reversed(joined_files):
        for name, column_profile in joined_file.profiles.items():
            profiles[joined_file.names.get(name, name)] = column_profile
    truth_profiles = [
        joined_file.profiles[joined_file.columns.truth]
        for joined_file in joined_files
        if joined_file.columns.truth
    ]
    profiles[truth_column] = replace(
        truth_profiles[0], texts=frozenset().union(*(profile.texts for profile in truth_profiles))
    )
    return {name: profiles[name] for name in columns if name in profiles}


ID, ROW = "__clfeval_id", "__clfeval_row"
EXACT_BELOW = 2**53  # below it whole numbers in a column of floats are exact
MISSING = f"fill in the cells, or add {OPTION}--missing drop{END} to drop these rows"


@dataclass(frozen=True, slots=True)
class AlignedRows:
    """The joined rows of all files.

    lost: ids excluded, missing in some file. nameless: rows excluded without an id. place: file,
    row and column of a cell.
    """

    frame: pl.DataFrame
    place: Origin
    lost: int = 0
    nameless: int = 0


@dataclass(slots=True)
class _Problems:
    """Problems (the first of each kind) with totals by code.

    truths_differ: whether the truths of each row differ. drop_missing: missing values are none.
    """

    drop_missing: bool
    problems: list[Problem] = field(default_factory=list)
    totals: Counter[str] = field(default_factory=Counter)
    truths_differ: pl.Series | None = None

    def add(self, code: str, file: str, column: str, problem_rows: pl.DataFrame) -> None:
        """Count the rows of `problem_rows`, each a number and a message; add the first ones."""
        if problem_rows.height and not (self.drop_missing and code == "missing-value"):
            self.totals[code] += problem_rows.height
            for row, message in problem_rows.head(MAX_PROBLEMS).iter_rows():
                self.problems.append(Problem(message, code, file, row, column))

    def check(self, hints_by_code: Mapping[str, str]) -> None:
        """Raise DataError if there are problems, with the hint on the code of the first."""
        if self.problems:
            hint = hints_by_code[self.problems[0].code]
            raise DataError(self.problems[:MAX_PROBLEMS], hint=hint, totals=self.totals)


def align_rows(joined_files: Sequence[JoinedFile], *, drop_missing: bool) -> AlignedRows:
    """Join the rows of files on their ids, or their numbers; DataError with all mismatches.

    drop_missing: exclude ids missing in some file. The result is sorted by id.
    """
    frames = _with_common_id_type([_read_file(joined_file) for joined_file in joined_files])
    if joined_files[0].columns.id is None:
        _check_equal_numbers_of_rows(joined_files, frames)
    problems = _Problems(drop_missing)
    for joined_file, frame in zip(joined_files, frames, strict=True):
        rows_without_id = frame.filter(pl.col(ID).is_null()).select(ROW, message=pl.lit("missing"))
        problems.add("missing-value", joined_file.file.name, joined_file.id, rows_without_id)
    problems.check({"missing-value": MISSING})
    nameless_count = sum(frame[ID].null_count() for frame in frames)
    frames = [_order_by_id(frame.filter(pl.col(ID).is_not_null())) for frame in frames]
    for joined_file, frame in zip(joined_files, frames, strict=True):
        is_repetition = frame[ID] == frame[ID].shift()
        if is_repetition.any():
            repeated_ids = frame.filter(is_repetition)[ID]
            later_rows = _later_rows(joined_file.file.name, frame, repeated_ids)
            problems.add("duplicate-id", joined_file.file.name, joined_file.id, later_rows)
    problems.check({"duplicate-id": "each id must occur once in each file"})
    lost_count = 0
    if not all(frame[ID].equals(frames[0][ID]) for frame in frames[1:]):
        common_ids = frames[0][ID]
        for frame in frames[1:]:
            common_ids = common_ids.filter(common_ids.is_in(frame[ID].implode()))
        has_common_ids = bool(len(common_ids))
        if not (drop_missing and has_common_ids):
            raise _unequal_ids_error(joined_files, frames, has_common_ids=has_common_ids)
        lost_count = pl.concat([frame[ID] for frame in frames]).n_unique() - len(common_ids)
        frames = [frame.filter(pl.col(ID).is_in(common_ids.implode())) for frame in frames]
    merged = _merge_columns(joined_files, frames, drop_missing=drop_missing)
    return replace(merged, lost=lost_count, nameless=nameless_count)


def _later_rows(file: str, frame: pl.DataFrame, repeated_ids: pl.Series) -> pl.DataFrame:
    """Return number and message of each row whose id an earlier row of the file has."""
    first_row = pl.col(ROW).min().over(ID)
    message = pl.format("'{}' is already in {}:{}", ID, pl.lit(file), first_row)
    rows = (
        frame.filter(pl.col(ID).is_in(repeated_ids.implode()))
        .select(ROW, message=message, is_later=pl.col(ROW) != first_row)
        .sort(ROW)
    )
    return rows.filter("is_later").drop("is_later")


def _check_equal_numbers_of_rows(
    joined_files: Sequence[JoinedFile], frames: Sequence[pl.DataFrame]
) -> None:
    """Raise DataError for files of different lengths, whose rows are joined by their numbers."""
    row_count = frames[0].height
    for joined_file, frame in zip(joined_files, frames, strict=True):
        if frame.height != row_count:
            message = f"{frame.height:,} rows, but {joined_files[0].file.name} has {row_count:,}"
            hint = "rows are joined by number; name the rows in each file, and join on the names"
            raise DataError.new(message, "unequal-ids", joined_file.file.name, hint=hint)


def _read_file(joined_file: JoinedFile) -> pl.DataFrame:
    """Read the used columns of a file with the number of each row, without blank lines."""
    file, columns = joined_file.file, joined_file.columns
    readings: dict[str, CellReading] = columns.readings("plain")
    readings |= {
        model.label_column: columns.label(columns.truth)
        for model in columns.models
        if model.label_column
    }
    try:
        return _read_with_row_numbers(joined_file, readings)
    except engine_errors():  # some cell is not a number: read as text, it is reported later
        try:
            return _read_with_row_numbers(joined_file, dict.fromkeys(readings, "text"))
        except engine_errors() as error:
            if file.source is None:
                raise unreadable_frame_error(file.name, error) from error
            if file.head is not None:
                inspect_structure(file.source, file.columns)
            raise unreadable_error(file.name, file.source.format, error) from error


def _read_with_row_numbers(
    joined_file: JoinedFile, readings: Mapping[str, CellReading]
) -> pl.DataFrame:
    """Read columns, ids as ID and row numbers as ROW (the header is row 1).

    readings: of the columns; that of ids is read as text if it is not among them.
    """
    file = joined_file.file
    id_column = joined_file.columns.id
    all_readings: dict[str, CellReading] = dict(readings)
    if id_column is not None:
        all_readings[id_column] = readings.get(id_column, "text")
    if file.numbered:
        all_readings[ROW] = "integer"
    frame = in_polars(scan(file, all_readings, null_values=joined_file.columns.null_values))
    if not file.numbered:
        frame = frame.with_row_index(ROW, offset=file.head.header_row + 1 if file.head else 1)
    if id_column is not None:
        frame = frame.with_columns(pl.col(id_column).alias(ID))
    if file.head is not None:
        frame = frame.filter(~pl.all_horizontal(pl.col(name).is_null() for name in all_readings))
    if id_column is None:
        frame = frame.with_row_index(ID, offset=1)
    numbered_rows = frame.select(ROW, ID, *readings).collect(engine="streaming")
    ids = numbered_rows[ID]
    if ids.dtype.is_nested() or ids.dtype == pl.Binary:
        message = f"holds {ids.dtype}, not single values"
        raise DataError.new(message, "bad-type", file.name, None, joined_file.id)
    return (
        numbered_rows.with_columns(pl.col(ID).fill_nan(None))
        if ids.dtype.is_float()
        else numbered_rows
    )


def _with_common_id_type(frames: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """Return the frames with ids of one type: integers if all are, else text as written."""
    integer_ids = [_integer_ids(frame[ID]) for frame in frames]
    common_type = pl.String if any(ids is None for ids in integer_ids) else pl.Int64
    return [
        frame.with_columns((frame[ID] if ids is None else ids).cast(common_type).alias(ID))
        for frame, ids in zip(frames, integer_ids, strict=True)
    ]


def _integer_ids(ids: pl.Series) -> pl.Series | None:
    """Return ids as integers; None if some are written differently."""
    dtype = ids.dtype
    if not (dtype.is_integer() or dtype.is_float() or dtype == pl.String):
        return None
    if dtype.is_float() and not ((ids == ids.round()) & (ids.abs() < EXACT_BELOW)).all():
        return None
    integers = ids.cast(pl.Int64, strict=False)
    if integers.null_count() != ids.null_count():
        return None
    is_same_text = dtype != pl.String or bool((integers.cast(pl.String) == ids).all())
    return integers if is_same_text else None


def _order_by_id(frame: pl.DataFrame) -> pl.DataFrame:
    """Sort rows by id; text ids by their hashes, which is faster."""
    if frame[ID].dtype != pl.String:
        return frame.sort(ID, ROW)
    hashes = frame[ID].hash()
    row_order = hashes.arg_sort()
    sorted_hashes = hashes[row_order]
    if (sorted_hashes == sorted_hashes.shift()).any():  # equal ids, or different ones by chance
        return frame.sort(hashes, ID, ROW)
    return frame[row_order]


def _unequal_ids_error(
    joined_files: Sequence[JoinedFile], frames: Sequence[pl.DataFrame], has_common_ids: bool
) -> DataError:
    """Build the error of ids missing in some file; has_common_ids: other ids are in all files."""
    problems: list[Problem] = []
    spelling_hint = None
    for joined_file, frame in zip(joined_files, frames, strict=True):
        for other_file, other_frame in zip(joined_files, frames, strict=True):
            lacking_rows = frame.filter(~pl.col(ID).is_in(other_frame[ID].implode())).sort(ROW)
            if not lacking_rows.height:
                continue
            row, first_id = lacking_rows.select(ROW, ID).row(0)
            further_count = lacking_rows.height - 1
            ids_text = f"'{first_id}', one of {frame.height:,} ids, is"
            if further_count:
                ids_text = f"'{first_id}' and {further_count:,} more of {frame.height:,} ids are"
            other_ids_text = f"the {other_frame.height:,} ids of {other_file.file.name}"
            message = f"{ids_text} not among {other_ids_text}"
            problems.append(
                Problem(message, "unequal-ids", joined_file.file.name, row, joined_file.id)
            )
            spelling_hint = spelling_hint or _similar_id_hint(
                lacking_rows[ID], other_frame, other_file.file.name
            )
    hint = f"add {OPTION}--missing drop{END} to drop ids that are not in all files"
    if not has_common_ids:
        hint = f"no id is in all files: is '{joined_files[0].id}' the id column of each?"
    return DataError(problems, hint=spelling_hint or hint)


def _similar_id_hint(ids: pl.Series, other_frame: pl.DataFrame, other_file: str) -> str | None:
    """Return the hint on an id that another file spells differently, if it does."""
    if ids.dtype != pl.String:
        return None
    as_number = pl.col(ID).cast(pl.Float64, strict=False)
    in_lower_case = pl.col(ID).str.strip_chars().str.to_lowercase()
    for normalised_id in (as_number, in_lower_case):
        first_ids = ids.to_frame().select(ID, normalised=normalised_id).drop_nulls()
        other_ids = other_frame.select(ROW, normalised=normalised_id, other_id=ID).drop_nulls()
        pairs = first_ids.join(other_ids, on="normalised")
        differing_pairs = pairs.filter(pl.col(ID) != pl.col("other_id")).sort(ROW)
        if differing_pairs.height:
            first_id, other_id, row = differing_pairs.select(ID, "other_id", ROW).row(0)
            return (
                f"ids are compared as text: write '{first_id}' and '{other_id}' "
                f"({other_file}:{row}) the same way in all files"
            )
    return None


def _merge_columns(
    joined_files: Sequence[JoinedFile], frames: Sequence[pl.DataFrame], *, drop_missing: bool
) -> AlignedRows:
    """Put the columns next to one another; values given by several files have to agree."""
    id_name = joined_files[0].id
    truth_column = next(
        joined_file.columns.truth for joined_file in joined_files if joined_file.columns.truth
    )
    merged_columns = {id_name: frames[0][ID].alias(id_name)}
    sources = {id_name: (0, id_name)}
    problems = _Problems(drop_missing)
    for file_index, (joined_file, frame) in enumerate(zip(joined_files, frames, strict=True)):
        for name in _merged_names(joined_file):
            is_truth = name == joined_file.columns.truth
            merged_name = truth_column if is_truth else joined_file.names[name]
            if merged_name not in merged_columns:
                merged_columns[merged_name] = frame[name].alias(merged_name)
                sources[merged_name] = (file_index, name)
                continue
            first_index, first_name = sources[merged_name]
            compared_cells = {
                ID: frame[ID],
                "earlier_row": frames[first_index][ROW],
                ROW: frame[ROW],
                "earlier": frames[first_index][first_name],
                "current": frame[name],
            }
            _compare(
                problems,
                pl.DataFrame(compared_cells),
                (joined_file.file.name, joined_files[first_index].file.name),
                name,
                is_truth=is_truth,
            )
            if is_truth and frame[name].null_count():  # such rows are dropped, or refused
                known_truth = (
                    pl.when(frame[name].is_not_null())
                    .then(merged_columns[merged_name])
                    .alias(merged_name)
                )
                merged_columns[merged_name] = pl.select(known_truth).to_series()
    problems.check(_conflict_hints(problems, frames[0].height))
    return AlignedRows(
        pl.DataFrame([*merged_columns.values()]), _place_finder(joined_files, frames, sources)
    )


def _merged_names(joined_file: JoinedFile) -> list[str]:
    """Return the columns of a file that go into the joined table, each once."""
    model_columns = [
        name
        for model in joined_file.columns.models
        for name in (*model.columns, model.label_column)
        if name
    ]
    return list(dict.fromkeys((*joined_file.columns.constants, *model_columns)))


def _conflict_hints(problems: _Problems, n: int) -> dict[str, str]:
    """Return the hint for each kind of problem, of n ids."""
    different_count = 0 if problems.truths_differ is None else int(problems.truths_differ.sum())
    truth_hint = "no id has the same truth in all files: are the labels written the same way?"
    if different_count < n:
        truth_hint = (
            f"{different_count:,} of {n:,} ids have a different truth: correct the wrong file"
        )
    return {
        "missing-value": MISSING,
        "conflicting-truth": truth_hint,
        "conflicting-value": "slices, weights and clusters of an id must be the same in "
        "all files that have them",
    }


def _place_finder(
    joined_files: Sequence[JoinedFile],
    frames: Sequence[pl.DataFrame],
    sources: Mapping[str, tuple[int, str]],
) -> Callable[[int | None, str | None], tuple[str, int | None, str | None] | None]:
    """Return the function from a row and column of the joined table to file, row and column.

    sources: the index of the file, and the name there, of each joined column.
    """
    row_numbers = [frame[ROW] for frame in frames]

    def place(row: int | None, column: str | None) -> tuple[str, int | None, str | None] | None:
        if column not in sources:
            return None
        file_index, name = sources[str(column)]
        file_row = row and row_numbers[file_index][row - 1]  # None for the whole column
        return joined_files[file_index].file.name, file_row, name

    return place


def _compare(
    problems: _Problems,
    cells: pl.DataFrame,
    file_names: tuple[str, str],
    column: str,
    *,
    is_truth: bool,
) -> None:
    """Add the rows in which a column differs from that of an earlier file.

    cells: the ids, and of the column here (`current`) and there (`earlier`) the values and the row
    numbers. file_names: of the file and of the earlier one. A missing truth is no conflict.
    """
    file_name, earlier_name = file_names
    earlier_cells, current_cells = cells["earlier"], cells["current"]
    are_numbers = earlier_cells.dtype.is_numeric() and current_cells.dtype.is_numeric()
    if earlier_cells.dtype != current_cells.dtype and not are_numbers:
        earlier_cells = earlier_cells.cast(pl.String)
        current_cells = current_cells.cast(pl.String)
    differs = earlier_cells.ne_missing(current_cells)
    if not differs.any():
        return
    if is_truth:
        truths_differ = differs & earlier_cells.is_not_null() & current_cells.is_not_null()
        problems.truths_differ = (
            truths_differ
            if problems.truths_differ is None
            else problems.truths_differ | truths_differ
        )
    current_text, earlier_text = (
        pl.when(texts.is_null()).then(pl.lit("missing")).otherwise(pl.format("'{}'", texts))
        for texts in (current_cells.cast(pl.String), earlier_cells.cast(pl.String))
    )
    earlier_place = (pl.lit(earlier_name), "earlier_row")
    message = pl.format(
        "{} for id '{}', but {} in {}:{}", current_text, ID, earlier_text, *earlier_place
    )
    is_missing = (earlier_cells.is_null() | current_cells.is_null()) & is_truth
    rows = cells.select(ROW, message=message, is_missing=is_missing).filter(differs).sort(ROW)
    code = "conflicting-truth" if is_truth else "conflicting-value"
    conflicts = rows.filter(~pl.col("is_missing")).drop("is_missing")
    problems.add(code, file_name, column, conflicts)
    problems.add("missing-value", file_name, column, rows.filter("is_missing").drop("is_missing"))
