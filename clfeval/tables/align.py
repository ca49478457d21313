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

    def model(self, model: ModelColumns, alone: bool, name_counts: Counter[str]) -> ModelColumns:
        """Return a model, renamed for the joined table.

        alone: one per file; name_counts: of the models of all files.
        """
        name = QUALIFIED_NAME.format(self.name, model.name)
        if len(self.columns.models) == 1 and (self.is_named or alone):
            name = self.name
        elif not self.is_named and name_counts[model.name] == 1:
            name = model.name
        columns = tuple(self.names[column] for column in model.columns)
        label_column = model.label_column and self.names[model.label_column]
        return replace(model, name=name, columns=columns, label_column=label_column)


def file_stem(name: str) -> str:
    """Return the file name without the suffixes of its format."""
    for ending in (".gz", ".zst", ".zstd"):
        name = name.removesuffix(ending)
    first, dot, _ = name.rpartition(".")
    return first if dot and first else name.strip("<>")


def refuse_unjoinable(files: Sequence[tuple[str | None, TableFile]], roles: InputOptions) -> None:
    """Raise for files and options that cannot be joined, before anything is read."""
    if len(files) < 2:
        message = f"{OPTION}--join{END} needs several files, but only one is given"
        raise bad_option(message, "name all files: new=FILE old=FILE")
    if roles.id not in (None, roles.join):
        raise bad_option(
            f"{OPTION}--join{END} '{roles.join}' and {OPTION}--id '{roles.id}'{END} both name the "
            "rows",
            f"leave {OPTION}--id{END} out",
        )
    if roles.run is not None:
        option = "--run-files" if roles.run == FILE_NAME else "--run"
        raise bad_option(f"{OPTION}{option}{END} and {OPTION}--join{END} cannot be combined")
    if roles.layout in ("long", "counts"):
        raise bad_option(
            f"{OPTION}--join{END} needs files with one row per id, not "
            f"{OPTION}--layout {roles.layout}{END}"
        )


def find_keys(files: Sequence[TableFile], join: str) -> list[str | None]:
    """Return the column of each file on which rows are joined; None: the number of the row.

    join: a column of all files, `A+B` of which each file has one, or `row`.
    """
    columns = {name for file in files for name in file.columns}
    if join == JOIN_ROWS and join not in columns:
        return [None for _ in files]
    choices = [join] if join in columns else join.split("+")
    keys: list[str | None] = []
    for file in files:
        present = [name for name in choices if name in file.columns]
        if not present:
            raise unknown_column_error(file.name, join, file.columns)
        if len(present) > 1:
            message = (
                f"{OPTION}--join{END} '{join}' names two columns of {file.name}: "
                f"{list_names(present)}"
            )
            raise bad_option(message, "name one column of each file")
        keys.append(present[0])
    return keys


def refuse_equal_names(parts: Sequence[JoinedFile], models: Sequence[str]) -> None:
    """Raise for two models, or two columns, that would have the same name."""
    shared = {str(parts[0].columns.id), *(part.columns.truth for part in parts)} - {""}
    columns = Counter[str]()
    for part in parts:
        model_columns = {
            name for model in part.columns.models for name in (*model.columns, model.label_column)
        }
        columns.update(part.names[name] for name in model_columns if name is not None)
        shared |= {full for name, full in part.names.items() if name not in model_columns}
    columns.update(shared)
    for kind, name_counts in (("models", Counter(models)), ("columns", columns)):
        repeated = [name for name, count in name_counts.items() if count > 1]
        if repeated:
            hint = "give the files different names: new=FILE old=FILE"
            raise bad_option(f"two {kind} would have the name {list_names(repeated)}", hint)


def find_lone_truth(
    profiles: Mapping[str, ColumnProfile],
    file_name: str,
    key: str | None,
    roles: InputOptions,
    used: set[str],
) -> str | None:
    """Return the truth column of a file without models, of ids, truth and texts; else None.

    Properties of the rows by their names, such as ages, are like texts. key: its column of ids.
    """
    used_names = {key, *used}
    free = {
        name: profile
        for name, profile in profiles.items()
        if not {name, QUALIFIED_NAME.format(file_name, name)} & used_names
    }
    truth = named_truth(free, roles)
    if truth is None or truth not in free:
        return None
    classes = known_labels(free[truth].texts, roles)
    others = (
        profile
        for name, profile in free.items()
        if name != truth and not tags_of(name) & {"covariate", "date"}
    )
    kinds = {kind_of_cells(profile, classes) for profile in others}
    return truth if kinds <= {"text", "empty"} else None


def joined_profiles(
    parts: Sequence[JoinedFile], columns: Iterable[str], truth: str
) -> dict[str, ColumnProfile]:
    """Return the profile of each column of the joined table; that of truth from all files."""
    profiles: dict[str, ColumnProfile] = {}
    for part in reversed(parts):
        for name, column_profile in part.profiles.items():
            profiles[part.names.get(name, name)] = column_profile
    truths = [part.profiles[part.columns.truth] for part in parts if part.columns.truth]
    profiles[truth] = replace(
        truths[0], texts=frozenset().union(*(profile.texts for profile in truths))
    )
    return {name: profiles[name] for name in columns if name in profiles}  # but numbers of rows


ID, ROW = "__clfeval_id", "__clfeval_row"
EXACT = 2**53  # below it whole numbers in a column of floats are exact
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

    differing: rows whose truths differ; drop: missing values are none.
    """

    drop: bool
    problems: list[Problem] = field(default_factory=list)
    totals: Counter[str] = field(default_factory=Counter)
    differing: pl.Series | None = None

    def add(self, code: str, file: str, column: str, rows: pl.DataFrame) -> None:
        """Add a problem for each row of a frame of row numbers and messages, in its order."""
        if rows.height and not (self.drop and code == "missing-value"):
            self.totals[code] += rows.height
            for row, message in rows.head(MAX_PROBLEMS).iter_rows():
                self.problems.append(Problem(message, code, file, row, column))

    def check(self, hints: Mapping[str, str]) -> None:
        """Raise DataError if there are problems; hints: by the code of the first."""
        if self.problems:
            hint = hints[self.problems[0].code]
            raise DataError(self.problems[:MAX_PROBLEMS], hint=hint, totals=self.totals)


def align_rows(sides: Sequence[JoinedFile], *, drop: bool) -> AlignedRows:
    """Join the rows of files on their ids, or their numbers; DataError with all mismatches.

    drop: exclude ids missing in some file. The result is sorted by id.
    """
    frames = _with_common_id_type([_read_file(side) for side in sides])
    if sides[0].columns.id is None:
        _check_equal_numbers_of_rows(sides, frames)
    problems = _Problems(drop)
    for side, frame in zip(sides, frames, strict=True):
        rows = frame.filter(pl.col(ID).is_null()).select(ROW, what=pl.lit("missing"))
        problems.add("missing-value", side.file.name, side.id, rows)
    problems.check({"missing-value": MISSING})
    nameless = sum(frame[ID].null_count() for frame in frames)
    frames = [_order_by_id(frame.filter(pl.col(ID).is_not_null())) for frame in frames]
    for side, frame in zip(sides, frames, strict=True):
        again = frame[ID] == frame[ID].shift()
        if again.any():
            twice = frame.filter(pl.col(ID).is_in(frame.filter(again)[ID].implode()))
            first = pl.col(ROW).min().over(ID)
            message = pl.format("'{}' is already in {}:{}", ID, pl.lit(side.file.name), first)
            rows = twice.select(ROW, what=message, later=pl.col(ROW) != first).sort(ROW)
            problems.add(
                "duplicate-id", side.file.name, side.id, rows.filter("later").drop("later")
            )
    problems.check({"duplicate-id": "each id must occur once in each file"})
    lost = 0
    if not all(frame[ID].equals(frames[0][ID]) for frame in frames[1:]):
        common = frames[0][ID]
        for frame in frames[1:]:
            common = common.filter(common.is_in(frame[ID].implode()))
        if not (drop and len(common)):
            raise _unequal_ids_error(sides, frames, bool(len(common)))
        lost = pl.concat([frame[ID] for frame in frames]).n_unique() - len(common)
        frames = [frame.filter(pl.col(ID).is_in(common.implode())) for frame in frames]
    return replace(_merge_columns(sides, frames, drop=drop), lost=lost, nameless=nameless)


def _check_equal_numbers_of_rows(
    sides: Sequence[JoinedFile], frames: Sequence[pl.DataFrame]
) -> None:
    """Raise DataError for files of different lengths, whose rows are joined by their numbers."""
    rows = frames[0].height
    for side, frame in zip(sides, frames, strict=True):
        if frame.height != rows:
            message = f"{frame.height:,} rows, but {sides[0].file.name} has {rows:,}"
            hint = "rows are joined by number; name the rows in each file, and join on the names"
            raise DataError.new(message, "unequal-ids", side.file.name, hint=hint)


def _read_file(side: JoinedFile) -> pl.DataFrame:
    """Read the used columns of a file with the number of each row, without blank lines."""
    file, columns = side.file, side.columns
    readings: dict[str, CellReading] = columns.readings("plain")
    readings |= {
        model.label_column: columns.label(columns.truth)
        for model in columns.models
        if model.label_column
    }
    try:
        return _read_with_row_numbers(side, readings)
    except engine_errors():  # some cell is not a number: read as text, it is reported later
        try:
            return _read_with_row_numbers(side, dict.fromkeys(readings, "text"))
        except engine_errors() as error:
            if file.source is None:
                raise unreadable_frame_error(file.name, error) from error
            if file.head is not None:
                inspect_structure(file.source, file.columns)
            raise unreadable_error(file.name, file.source.format, error) from error


def _read_with_row_numbers(side: JoinedFile, readings: Mapping[str, CellReading]) -> pl.DataFrame:
    """Read columns, ids as ID and row numbers as ROW (the header is row 1)."""
    file = side.file
    key = side.columns.id
    column_readings: dict[str, CellReading] = dict(readings)
    if key is not None:
        column_readings[key] = readings.get(key, "text")
    if file.numbered:
        column_readings[ROW] = "integer"
    frame = in_polars(scan(file, column_readings, null_values=side.columns.null_values))
    if not file.numbered:
        frame = frame.with_row_index(ROW, offset=file.head.header_row + 1 if file.head else 1)
    if key is not None:
        frame = frame.with_columns(pl.col(key).alias(ID))
    if file.head is not None:
        frame = frame.filter(~pl.all_horizontal(pl.col(name).is_null() for name in column_readings))
    if key is None:
        frame = frame.with_row_index(ID, offset=1)
    numbered_rows = frame.select(ROW, ID, *readings).collect(engine="streaming")
    ids = numbered_rows[ID]
    if ids.dtype.is_nested() or ids.dtype == pl.Binary:
        message = f"holds {ids.dtype}, not single values"
        raise DataError.new(message, "bad-type", file.name, None, side.id)
    return (
        numbered_rows.with_columns(pl.col(ID).fill_nan(None))
        if ids.dtype.is_float()
        else numbered_rows
    )


def _with_common_id_type(frames: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """Return the frames with ids of one type: integers if all are, else text as written."""
    integer_ids = [_integer_ids(frame[ID]) for frame in frames]
    kind = pl.String if any(ids is None for ids in integer_ids) else pl.Int64
    return [
        frame.with_columns((frame[ID] if ids is None else ids).cast(kind).alias(ID))
        for frame, ids in zip(frames, integer_ids, strict=True)
    ]


def _integer_ids(ids: pl.Series) -> pl.Series | None:
    """Return ids as integers; None if some are written differently."""
    kind = ids.dtype
    if not (kind.is_integer() or kind.is_float() or kind == pl.String):
        return None
    if kind.is_float() and not ((ids == ids.round()) & (ids.abs() < EXACT)).all():
        return None
    numbers = ids.cast(pl.Int64, strict=False)
    if numbers.null_count() != ids.null_count():
        return None
    is_equal = kind != pl.String or bool((numbers.cast(pl.String) == ids).all())
    return numbers if is_equal else None


def _order_by_id(frame: pl.DataFrame) -> pl.DataFrame:
    """Sort rows by id; text ids by their hashes, which is faster."""
    if frame[ID].dtype != pl.String:
        return frame.sort(ID, ROW)
    hashes = frame[ID].hash()
    order = hashes.arg_sort()
    ordered = hashes[order]
    if (ordered == ordered.shift()).any():
        return frame.sort(hashes, ID, ROW)
    return frame[order]


def _unequal_ids_error(
    files: Sequence[JoinedFile], frames: Sequence[pl.DataFrame], has_shared: bool
) -> DataError:
    """Build the error of ids missing in some file; has_shared: other ids occur in all files."""
    problems: list[Problem] = []
    spelling_hint = None
    for file, frame in zip(files, frames, strict=True):
        for second_file, second_frame in zip(files, frames, strict=True):
            lacking = frame.filter(~pl.col(ID).is_in(second_frame[ID].implode())).sort(ROW)
            if not lacking.height:
                continue
            row, key = lacking.select(ROW, ID).row(0)
            further = lacking.height - 1
            ids = f"'{key}' and {further:,} more of" if further else f"'{key}', one of"
            message = (
                f"{ids} {frame.height:,} ids{' are' if further else ', is'} not among the "
                f"{second_frame.height:,} ids of {second_file.file.name}"
            )
            problems.append(Problem(message, "unequal-ids", file.file.name, row, file.id))
            spelling_hint = spelling_hint or _similar_id_hint(
                lacking[ID], second_frame, second_file.file.name
            )
    hint = f"add {OPTION}--missing drop{END} to drop ids that are not in all files"
    if not has_shared:
        hint = f"no id is in all files: is '{files[0].id}' the id column of each?"
    return DataError(problems, hint=spelling_hint or hint)


def _similar_id_hint(ids: pl.Series, second_frame: pl.DataFrame, file: str) -> str | None:
    """Return the hint on an id that another file spells differently, if it does."""
    if ids.dtype != pl.String:
        return None
    ways = (
        pl.col(ID).cast(pl.Float64, strict=False),
        pl.col(ID).str.strip_chars().str.to_lowercase(),
    )
    for plain in ways:
        first_ids = ids.to_frame().select(ID, plain=plain).drop_nulls()
        second_ids = second_frame.select(ROW, plain=plain, second_id=ID).drop_nulls()
        pairs = first_ids.join(second_ids, on="plain")
        differing = pairs.filter(pl.col(ID) != pl.col("second_id")).sort(ROW)
        if differing.height:
            first_id, second_id, row = differing.select(ID, "second_id", ROW).row(0)
            return (
                f"ids are compared as text: write '{first_id}' and '{second_id}' ({file}:{row}) "
                "the same way in all files"
            )
    return None


def _merge_columns(
    sides: Sequence[JoinedFile], frames: Sequence[pl.DataFrame], *, drop: bool
) -> AlignedRows:
    """Put the columns next to one another; values given by several files have to agree."""
    key = sides[0].id
    truth = next(side.columns.truth for side in sides if side.columns.truth)
    table = {key: frames[0][ID].alias(key)}
    sources = {key: (0, key)}
    problems = _Problems(drop)
    for i, (side, frame) in enumerate(zip(sides, frames, strict=True)):
        for name in _merged_names(side):
            is_truth = name == side.columns.truth
            target = truth if is_truth else side.names[name]
            if target not in table:
                table[target] = frame[name].alias(target)
                sources[target] = (i, name)
                continue
            j, first_name = sources[target]
            cells = {
                ID: frame[ID],
                "first": frames[j][ROW],
                ROW: frame[ROW],
                "a": frames[j][first_name],
                "b": frame[name],
            }
            _compare(
                problems,
                pl.DataFrame(cells),
                (side.file.name, sides[j].file.name),
                name,
                is_truth=is_truth,
            )
            if is_truth and frame[name].null_count():  # such rows are dropped, or refused
                filled = pl.when(frame[name].is_not_null()).then(table[target]).alias(target)
                table[target] = pl.select(filled).to_series()
    problems.check(_conflict_hints(problems, frames[0].height))
    return AlignedRows(pl.DataFrame([*table.values()]), _place_finder(sides, frames, sources))


def _merged_names(side: JoinedFile) -> list[str]:
    """Return the columns of a file that go into the joined table, each once."""
    models = [
        name
        for model in side.columns.models
        for name in (*model.columns, model.label_column)
        if name
    ]
    return list(dict.fromkeys((*side.columns.constants, *models)))


def _conflict_hints(problems: _Problems, n: int) -> dict[str, str]:
    """Return the hint for each kind of problem, of n ids."""
    different = 0 if problems.differing is None else int(problems.differing.sum())
    truth_hint = "no id has the same truth in all files: are the labels written the same way?"
    if different < n:
        truth_hint = f"{different:,} of {n:,} ids have a different truth: correct the wrong file"
    return {
        "missing-value": MISSING,
        "conflicting-truth": truth_hint,
        "conflicting-value": "slices, weights and clusters of an id must be the same in "
        "all files that have them",
    }


def _place_finder(
    sides: Sequence[JoinedFile],
    frames: Sequence[pl.DataFrame],
    sources: Mapping[str, tuple[int, str]],
) -> Callable[[int | None, str | None], tuple[str, int | None, str | None] | None]:
    """Return the function from a row and column of the joined table to file, row and column.

    sources: file and name of each column.
    """
    rows = [frame[ROW] for frame in frames]

    def place(row: int | None, column: str | None) -> tuple[str, int | None, str | None] | None:
        if column not in sources:
            return None
        k, name = sources[str(column)]
        return sides[k].file.name, row and rows[k][row - 1], name

    return place


def _compare(
    problems: _Problems, cells: pl.DataFrame, files: tuple[str, str], column: str, *, is_truth: bool
) -> None:
    """Add the rows in which a column differs from that of an earlier file, given as b and a.

    files: the name of the file and of the earlier one. A missing truth is no conflict.
    """
    a, b = cells["a"], cells["b"]
    if a.dtype != b.dtype and not (a.dtype.is_numeric() and b.dtype.is_numeric()):
        a = a.cast(pl.String)
        b = b.cast(pl.String)
    differs = a.ne_missing(b)
    if not differs.any():
        return
    if is_truth:
        two_truths = differs & a.is_not_null() & b.is_not_null()
        problems.differing = (
            two_truths if problems.differing is None else problems.differing | two_truths
        )
    this_cell, earlier_cell = (
        pl.when(cell.is_null()).then(pl.lit("missing")).otherwise(pl.format("'{}'", cell))
        for cell in (b.cast(pl.String), a.cast(pl.String))
    )
    message = pl.format(
        "{} for id '{}', but {} in {}:{}", this_cell, ID, earlier_cell, pl.lit(files[1]), "first"
    )
    rows = cells.select(ROW, what=message, lacking=(a.is_null() | b.is_null()) & is_truth)
    rows = rows.filter(differs).sort(ROW)
    code = "conflicting-truth" if is_truth else "conflicting-value"
    problems.add(code, files[0], column, rows.filter(~pl.col("lacking")).drop("lacking"))
    problems.add("missing-value", files[0], column, rows.filter("lacking").drop("lacking"))
