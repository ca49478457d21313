"""Several files: models of the same rows, to be joined, or parts of one sample."""

from __future__ import annotations

from collections.abc import Sequence

from clfeval.errors import DataError, OfferedReading, Problem, list_names, quote_name
from clfeval.placeholders import END, OPTION
from clfeval.tables import invalid_cells
from clfeval.tables.frames import collect, concatenate_frames, in_polars, nw, pl
from clfeval.tables.input import JOIN_NOTHING, JOIN_ROWS, ColumnNames, InputOptions, find_column
from clfeval.tables.profiles import ColumnProfile, ColumnProfiles, profile_sample
from clfeval.tables.readings.names import tags_of
from clfeval.tables.readings.repeated_rows import are_unique
from clfeval.tables.readings.requirements import MOST_RUNS
from clfeval.tables.readings.truths import named_truth
from clfeval.tables.scan import TableFile, scan

MOST_SHARED = 0.5  # of the ids, in several files
FIRST_ROWS = 1000  # compared before all are
FEWEST_EQUAL = 5  # rows; fewer may have the same truth by chance


def check_same_columns(files: Sequence[TableFile], input_options: InputOptions) -> None:
    """Raise DataError for files whose columns differ; it offers to join models of the same rows."""
    first_file = files[0]
    for other_file in files[1:]:
        if first_file.columns != other_file.columns:
            invalid_cells.refuse_different_delimiters(first_file, other_file)
        lacking_columns = [name for name in first_file.columns if name not in other_file.columns]
        extra_columns = [name for name in other_file.columns if name not in first_file.columns]
        if lacking_columns or extra_columns:
            differences = (
                [f"has no column {list_names(lacking_columns)}"] if lacking_columns else []
            )
            differences += (
                [f"has columns that {first_file.name} lacks: {list_names(extra_columns)}"]
                if extra_columns
                else []
            )
            problem = Problem("; ".join(differences), "different-columns", other_file.name)
            readings = _joined_readings(files, input_options)
            hint = "files read as one table need the same columns"
            if not readings:
                hint += (
                    f"; to join files of one model each by row id, add {OPTION}--join COLUMN{END}"
                )
            raise DataError(problem, hint=hint, readings=readings)


def refuse_rows_in_files(
    files: Sequence[TableFile], profiles: ColumnProfiles, input_options: InputOptions
) -> None:
    """Raise for several files with the same rows: two models, or one sample?"""
    is_declared = (
        input_options.join == JOIN_NOTHING
        or input_options.cluster is not None
        or input_options.run is not None
    )
    is_long = find_column(profiles, ColumnNames.MODEL) is not None
    if len(files) < 2 or is_declared or is_long:
        return
    for name in _row_columns(profiles, input_options):
        columns = [name for _ in files]  # the same in each file
        if not _name_rows(files, columns, input_options):
            continue
        shared_fraction = _shared_values(files, columns, input_options)
        if shared_fraction >= MOST_SHARED:
            raise _same_rows_error(files, name, shared_fraction)
        if shared_fraction == 0 and (tags_of(name) or name == input_options.id):
            return  # the names of other rows
    truth = named_truth(profiles, input_options)
    if truth is not None and _have_equal_truth(files, truth, input_options):
        raise _equal_truth_error(files, truth)


def _same_rows_error(files: Sequence[TableFile], name: str, shared_fraction: float) -> DataError:
    """Build the error of files that share values of a column; shared_fraction: of all values."""
    message = f"{100 * shared_fraction:.3g}% of its values occur in more than one file: "
    message += "has each file another model of the same rows?"
    problem = Problem(message, "duplicate-id", files[1].name, None, name)
    quoted = quote_name(name)
    readings = [
        OfferedReading(f"each file has a model of the rows of {quoted}", {"join": name}),
        OfferedReading(f"one sample, in which {quoted} are clusters", {"cluster": name}),
    ]
    return DataError(problem, readings=readings)


def _equal_truth_error(files: Sequence[TableFile], truth: str) -> DataError:
    """Build the error of files without ids whose columns of truth are equal, row by row."""
    message = f"equals that of {files[0].name}, row by row: "
    message += "has each file another model of the same rows?"
    problem = Problem(message, "repeated-rows", files[1].name, None, truth)
    readings = [
        OfferedReading("each file has a model of the same rows, in one order", {"join": JOIN_ROWS}),
        OfferedReading("one sample: each file has other rows", {"join": JOIN_NOTHING}),
    ]
    return DataError(problem, readings=readings)


def _joined_readings(
    files: Sequence[TableFile], input_options: InputOptions
) -> list[OfferedReading]:
    """Return how files of different columns may be joined: the first way that fits their values."""
    if (
        input_options.join is not None
        or input_options.run is not None
        or input_options.engine not in (None, "polars")
    ):
        return []
    samples = [
        profile_sample(file, input_options.null_value, input_options.decimal) for file in files
    ]
    common_columns = [
        name for name in files[0].columns if all(name in file.columns for file in files)
    ]
    row_columns = _row_columns({name: samples[0][name] for name in common_columns}, input_options)
    key_columns = [[name for _ in files] for name in row_columns]
    first_columns = [next(iter(_row_columns(sample, input_options)), None) for sample in samples]
    id_columns = [name for name in first_columns if name is not None]
    if len(id_columns) == len(files) and len({*id_columns}) > 1:
        key_columns.append(id_columns)
    for columns in key_columns:
        name_rows = _name_rows(files, columns, input_options)
        if name_rows and _shared_values(files, columns, input_options) >= MOST_SHARED:
            join = "+".join(dict.fromkeys(columns))
            meaning = (
                f"each file has a model of the rows of {list_names([*dict.fromkeys(columns)])}"
            )
            return [OfferedReading(meaning, {"join": join})]
    truth = named_truth({name: samples[0][name] for name in common_columns}, input_options)
    if truth is not None and _have_equal_truth(files, truth, input_options):
        meaning = "each file has a model of the same rows, in one order"
        return [OfferedReading(meaning, {"join": JOIN_ROWS})]
    return []


def _row_columns(profiles: ColumnProfiles, input_options: InputOptions) -> list[str]:
    """Return the columns that may number or name the rows, those that are called so first."""
    if input_options.id in profiles:
        return [str(input_options.id)]
    free_columns = [
        name
        for name in profiles
        if name not in (input_options.truth, input_options.weight, *input_options.model)
    ]
    id_column = find_column(free_columns, (*ColumnNames.ID, *ColumnNames.ROW))
    tagged_columns = [
        name for name in free_columns if tags_of(name) & {"id", "like an id", "cluster", "index"}
    ]
    numbering_columns = [
        name
        for name in free_columns
        if name not in tagged_columns and _numbers_rows(profiles[name])
    ]
    return list(
        dict.fromkeys([*([id_column] if id_column else []), *tagged_columns, *numbering_columns])
    )


def _numbers_rows(profile: ColumnProfile) -> bool:
    """Return whether many rows have whole numbers that are mostly different."""
    has_many_values = len(profile.texts) * 4 > profile.rows > MOST_RUNS
    return has_many_values and profile.is_integer


def _name_rows(
    files: Sequence[TableFile], columns: Sequence[str], input_options: InputOptions
) -> bool:
    """Return whether a column of each file has no value twice."""
    pairs = zip(files, columns, strict=True)
    return all(are_unique([file], [name], input_options) for file, name in pairs)


def _shared_values(
    files: Sequence[TableFile], columns: Sequence[str], input_options: InputOptions
) -> float:
    """Return the share of the values, of a column of each file, that occur in several files."""
    frames = [
        scan(file, {name: "text"}, null_values=input_options.null_value).rename({name: columns[0]})
        for file, name in zip(files, columns, strict=True)
    ]
    rows = concatenate_frames(frames).drop_nulls()
    row_counts = collect(rows.group_by(columns[0]).agg(nw.len().alias("__clfeval_rows")))
    return float((row_counts["__clfeval_rows"] > 1).mean())


def _have_equal_truth(files: Sequence[TableFile], truth: str, input_options: InputOptions) -> bool:
    """Return whether files have the same truth of several classes in each row, in order."""
    if input_options.engine not in (None, "polars"):
        return False  # whose rows have no order
    if any(truth not in file.columns for file in files):
        return False  # a name that an option gives, of no column
    lazy_frames = [
        scan(file, {truth: "text"}, null_values=input_options.null_value) for file in files
    ]
    frames = [in_polars(rows).select(pl.col(truth).cast(pl.String)) for rows in lazy_frames]
    first_rows = [frame.head(FIRST_ROWS).collect() for frame in frames]
    if not all(rows.equals(first_rows[0]) for rows in first_rows):
        return False
    tables = [frame.collect() for frame in frames]
    has_classes = tables[0].height >= FEWEST_EQUAL and tables[0][truth].n_unique() > 1
    return has_classes and all(table.equals(tables[0]) for table in tables)
