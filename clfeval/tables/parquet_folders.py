"""Parquet files, folders and patterns as one table, with partitions, and files that differ."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any

from clfeval.errors import DataError, OfferedReading, Problem, UsageError, quote_name
from clfeval.placeholders import END, OPTION
from clfeval.tables.frames import Frame, nw, pl, with_shortest_decimals
from clfeval.tables.input import InputOptions, match_names
from clfeval.tables.layouts.counts_file import METADATA
from clfeval.tables.scan import unreadable_error

MOST_PATHS = 200_000  # files and folders in a folder


def parquet_files_of(folder: str) -> list[str]:
    """Return the files of a folder and of those in it, in order; none if none is Parquet.

    UsageError for the whole file system, or for a folder that seems to be most of it.
    """
    entries = glob.iglob(f"{glob.escape(folder)}/**/*", recursive=True)
    is_root = os.path.realpath(folder) == os.sep
    paths = [] if is_root else [*islice(entries, MOST_PATHS + 1)]
    if is_root or len(paths) > MOST_PATHS:
        message = f"the folder is the whole file system, or has more than {MOST_PATHS:,} files"
        raise UsageError.new(message, "whole-disk", folder, hint="name a folder of Parquet files")
    # names with _ or . in front are of jobs that are not complete
    files = [
        path
        for path in sorted(paths)
        if os.path.isfile(path) and not re.search(r"(^|/)[._]", os.path.relpath(path, folder))
    ]
    return files if any(map(_begins_as_parquet, files)) else []


def literal_path(file: str) -> str:
    """Return a path that no engine takes for an address such as `http://HOST`."""
    return file if os.path.isabs(file) else os.path.join(os.curdir, file)


def _is_parquet(file: str) -> bool:
    """Return whether a file begins as Parquet does; DataError if it cannot be read."""
    try:
        with open(file, "rb") as stream:
            return stream.read(4) == b"PAR1"
    except OSError as error:
        raise DataError.new(f"cannot be read: {error.strerror}", "not-readable", file) from error


def _begins_as_parquet(file: str) -> bool:
    """Return whether a file can be read and is Parquet; those of the system may wait for ever."""
    with suppress(DataError, OSError):
        return os.stat(file).st_size > 4 and _is_parquet(file)
    return False


def _expand(paths: Sequence[str]) -> list[str]:
    """Return the Parquet files of folders and patterns, in order; DataError if there are none."""
    expanded_paths = list[str]()
    for path in paths:
        matches = [path]
        if not os.path.exists(path) and glob.has_magic(path):
            matches = sorted(glob.glob(path, recursive=True))
        file_groups = (
            parquet_files_of(name) if os.path.isdir(name) else [name] for name in matches
        )
        files = list(chain.from_iterable(file_groups))
        if not files or not all(map(os.path.exists, files)):
            message = "no Parquet file is there"
            hint = "name a file, a folder or a table"
            if path == "-":
                message = "standard input is read by polars only"
                hint = f"leave {OPTION}--engine{END} out"
            raise DataError.new(message, "no-such-file", path, hint=hint)
        # DuckDB takes `~` for the home folder
        expanded_paths += [os.path.abspath(file) if file[0] == "~" else file for file in files]
    path_counts = Counter(expanded_paths)
    for file in expanded_paths:
        if not _is_parquet(file):
            hint = f"move it out of the folder; text tables are read without {OPTION}--engine{END}"
            raise DataError.new("is not a Parquet file", "wrong-format", file, hint=hint)
        if path_counts[file] > 1:
            raise DataError.new("is named twice, or is in a folder named", "repeated-file", file)
    return expanded_paths


def _partition_keys(paths: Sequence[str], files: Sequence[str]) -> list[str]:
    """Return the columns that parts of paths below a folder are, `site` of `site=A`."""
    if len(paths) > 1 or not os.path.isdir(paths[0]):
        return []
    relative_paths = [os.path.relpath(file, paths[0]) for file in files]
    for path in relative_paths:
        if any(path_part.count("=") > 1 for path_part in path.split(os.sep)[:-1]):
            message = "a part of this path has two '='"
            hint = "write '=' in a value as %3D"
            raise DataError.new(message, "bad-file", os.path.join(paths[0], path), hint=hint)
    key_sets = {tuple(_keys(path)) for path in relative_paths}
    if len(key_sets) > 1:
        message = "its files have different partitions, such as site=A"
        raise DataError.new(message, "bad-file", paths[0], hint="name files of one kind")
    return list(key_sets.pop())


def refuse_partition_signs(engine: str, path: str, signs: str) -> None:
    """Raise DataError for a path with a partition such as `site=A?` that an engine misreads."""
    partition_parts = [path_part for path_part in path.split(os.sep)[:-1] if "=" in path_part]
    for sign in signs:
        if any(sign in path_part for path_part in partition_parts):
            message = f"{engine} cannot read '{sign}' in a partition such as site=A"
            hint = f"write it as %{ord(sign):02X}"
            raise DataError.new(message, "bad-file", path, hint=hint)


def read_parquet_files(
    paths: Sequence[str],
    input_options: InputOptions,
    read: Callable[[list[str], list[str], list[str]], Any],
) -> Frame:
    """Return Parquet files as one frame.

    `read` reads files of equal columns, with the partitions that are columns, and without those of
    the path above the folder.

    A column of different types is of whole numbers, of numbers, or of text; one that some files
    lack is null there. Raises DataError for other types, and for names that differ in case only.
    """
    files = _expand(paths)
    keys = _partition_keys(paths, files)
    outer_keys = [key for key in _keys(files[0]) if keys and key not in keys]
    files_by_schema, types_by_column = _files_by_schema(files, keys, outer_keys)
    ignored_columns = match_names(
        paths[0], [*types_by_column, *keys], input_options.ignore, kind="column"
    )
    file_columns = {
        name: file_of_type for name, file_of_type in types_by_column.items() if name not in keys
    }
    casts = _common_types(file_columns, ignored_columns)
    if input_options.engine == "spark":  # which has no numbers of 64 bits without a sign
        casts |= {
            name: nw.Int64
            for name, file_of_type in types_by_column.items()
            if {*file_of_type} == {pl.UInt64}
        }
    frames = list[Frame]()
    for schema, schema_files in files_by_schema.items():
        frame = nw.from_native(read(schema_files, keys, outer_keys)).lazy()
        schema_casts = {name: casts[name] for name, _ in schema if name in casts}
        frames.append(_with_types(frame, schema_casts, ignored_columns))
    return nw.concat(frames, how="diagonal") if len(frames) > 1 else frames[0]


def _files_by_schema(
    files: Sequence[str], keys: Sequence[str], outer_keys: Sequence[str]
) -> tuple[dict[Any, list[str]], dict[str, dict[Any, str]]]:
    """Return the files of each schema, without keys, and by column a file of each type.

    outer_keys: the partition keys in the path above the folder.
    """
    files_by_schema = dict[Any, list[str]]()
    types_by_column = dict[str, dict[Any, str]]()
    first_names = {key.lower(): key for key in keys}
    for file in files:
        columns = _schema(file)
        for name, dtype in columns:
            _refuse_equal_name(file, name, first_names.setdefault(name.lower(), name), outer_keys)
            types_by_column.setdefault(name, {}).setdefault(dtype, file)
        schema = tuple((name, dtype) for name, dtype in columns if name not in keys)
        files_by_schema.setdefault(schema, []).append(file)
    return files_by_schema, types_by_column


def _with_types(frame: Frame, casts: Mapping[str, Any], ignored_columns: Collection[str]) -> Frame:
    """Return a frame with columns of other types; those that are ignored are empty texts."""
    if not casts:
        return frame
    return with_shortest_decimals(frame, casts).with_columns(
        nw.lit("").alias(name) if name in ignored_columns else nw.col(name).cast(dtype)
        for name, dtype in casts.items()
    )


def _common_types(
    types_by_column: Mapping[str, Mapping[Any, str]], ignored_columns: Collection[str]
) -> dict[str, Any]:
    """Return one type for each column of several; types_by_column: a file of each of its types."""
    return {
        name: nw.String if name in ignored_columns else _common_type(name, file_of_type)
        for name, file_of_type in types_by_column.items()
        if len(file_of_type) > 1
    }


def _refuse_equal_name(file: str, name: str, first_name: str, outer_keys: Sequence[str]) -> None:
    """Raise DataError for a column that differs from an earlier one in case only, or is in a path.

    outer_keys: the partition keys in the path above the folder.
    """
    if first_name != name:
        message = f"has the same letters as '{first_name}', and case does not count"
    elif name in outer_keys:
        message = "is a column, and a part of the path above the folder"
    else:
        return
    raise DataError.new(message, "duplicate-column", file, None, name, hint="rename one")


def _schema(file: str) -> list[tuple[str, Any]]:
    """Return columns and types of a Parquet file; DataError if it is damaged, or holds counts."""
    try:
        path = literal_path(file)
        schema = [*pl.scan_parquet(path, glob=False).collect_schema().items()]
        if "block" in dict(schema) and METADATA in pl.read_parquet_metadata(path):
            message = "holds counts, for which no engine is needed"
            hint = f"clfeval report {file}"
            raise DataError.new(message, "holds-counts", file, hint=hint)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable_error(file, "parquet", error) from error
    return schema


def _common_type(name: str, file_of_type: Mapping[Any, str]) -> Any:
    """Return the type of a column that has several; DataError if none fits.

    file_of_type: a file of each of its types.
    """
    choices: tuple[tuple[Any, Callable[[Any], bool]], ...] = (
        (nw.Int64, lambda dtype: dtype.is_integer() and dtype != pl.UInt64),
        (nw.Float64, lambda dtype: dtype.is_numeric()),
        (nw.String, lambda dtype: dtype in (pl.String, pl.Categorical, pl.Enum)),
        (nw.Datetime("us"), lambda dtype: dtype == pl.Datetime and dtype.time_zone is None),
    )
    unfit_types = [
        [dtype for dtype in file_of_type if dtype != pl.Null and not is_suitable(dtype)]
        for _, is_suitable in choices
    ]
    for (common_type, _), unfit in zip(choices, unfit_types, strict=True):
        if not unfit:
            return common_type
    odd_type = min(unfit_types, key=len)[0]
    other_type = next(dtype for dtype in file_of_type if dtype != odd_type)
    message = f"holds {odd_type}, but {other_type} in {file_of_type[other_type]}"
    reading = OfferedReading(f"without {quote_name(name)}", {"ignore": (name,)})
    problem = Problem(message, "bad-type", file_of_type[odd_type], None, name)
    raise DataError(problem, hint="write both with one type", readings=[reading])


def _keys(path: str) -> list[str]:
    """Return the columns that parts of a path are, `site` of `site=A`; two `=` make none."""
    path_parts = path.split(os.sep)[:-1]
    return [path_part.partition("=")[0] for path_part in path_parts if path_part.count("=") == 1]


def read_by_polars(paths: Sequence[str], input_options: InputOptions) -> Frame:
    """Return Parquet files as one frame of polars; see `read_parquet_files`."""

    def read(files: list[str], keys: list[str], outer_keys: list[str]) -> pl.LazyFrame:
        """Return the rows of files; keys: their partitions, which become columns of text."""
        for file in files if keys else []:
            refuse_partition_signs("polars", os.path.relpath(file, paths[0]), "*")
        key_types = dict.fromkeys([*outer_keys, *keys], pl.String) if keys else None
        rows = pl.scan_parquet(
            [literal_path(file) for file in files],
            glob=False,
            hive_partitioning=bool(keys),
            hive_schema=key_types,
        )
        return rows.drop(outer_keys)

    return read_parquet_files(paths, input_options, read)
