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
    expanded = list[str]()
    for path in paths:
        matches = [path]
        if not os.path.exists(path) and glob.has_magic(path):
            matches = sorted(glob.glob(path, recursive=True))
        groups = (parquet_files_of(name) if os.path.isdir(name) else [name] for name in matches)
        files = list(chain.from_iterable(groups))
        if not files or not all(map(os.path.exists, files)):
            message = "no Parquet file is there"
            hint = "name a file, a folder or a table"
            if path == "-":
                message = "standard input is read by polars only"
                hint = f"leave {OPTION}--engine{END} out"
            raise DataError.new(message, "no-such-file", path, hint=hint)
        # DuckDB takes `~` for the home folder
        expanded += [os.path.abspath(file) if file[0] == "~" else file for file in files]
    times = Counter(expanded)
    for file in expanded:
        if not _is_parquet(file):
            hint = f"move it out of the folder; text tables are read without {OPTION}--engine{END}"
            raise DataError.new("is not a Parquet file", "wrong-format", file, hint=hint)
        if times[file] > 1:
            raise DataError.new("is named twice, or is in a folder named", "repeated-file", file)
    return expanded


def _partition_keys(paths: Sequence[str], files: Sequence[str]) -> list[str]:
    """Return the columns that parts of paths below a folder are, `site` of `site=A`."""
    if len(paths) > 1 or not os.path.isdir(paths[0]):
        return []
    below = [os.path.relpath(file, paths[0]) for file in files]
    for path in below:
        if any(part.count("=") > 1 for part in path.split(os.sep)[:-1]):
            message = "a part of this path has two '='"
            hint = "write '=' in a value as %3D"
            raise DataError.new(message, "bad-file", os.path.join(paths[0], path), hint=hint)
    keys = {tuple(_keys(path)) for path in below}
    if len(keys) > 1:
        message = "its files have different partitions, such as site=A"
        raise DataError.new(message, "bad-file", paths[0], hint="name files of one kind")
    return list(keys.pop())


def refuse_partition_signs(engine: str, path: str, signs: str) -> None:
    """Raise DataError for a path with a partition such as `site=A?` that an engine misreads."""
    parts = [part for part in path.split(os.sep)[:-1] if "=" in part]
    for sign in signs:
        if any(sign in part for part in parts):
            message = f"{engine} cannot read '{sign}' in a partition such as site=A"
            hint = f"write it as %{ord(sign):02X}"
            raise DataError.new(message, "bad-file", path, hint=hint)


def read_parquet_files(
    paths: Sequence[str],
    roles: InputOptions,
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
    above = [key for key in _keys(files[0]) if keys and key not in keys]
    parts, types = _files_by_schema(files, keys, above)
    ignored = match_names(paths[0], [*types, *keys], roles.ignore, kind="column")
    drifting = {name: kinds for name, kinds in types.items() if name not in keys}
    casts = _common_types(drifting, ignored)
    if roles.engine == "spark":  # which has no numbers of 64 bits without a sign
        casts |= {name: nw.Int64 for name, kinds in types.items() if {*kinds} == {pl.UInt64}}
    frames = list[Frame]()
    for schema, part_files in parts.items():
        frame = nw.from_native(read(part_files, keys, above)).lazy()
        part_casts = {name: casts[name] for name, _ in schema if name in casts}
        frames.append(_with_types(frame, part_casts, ignored))
    return nw.concat(frames, how="diagonal") if len(frames) > 1 else frames[0]


def _files_by_schema(
    files: Sequence[str], keys: Sequence[str], above: Sequence[str]
) -> tuple[dict[Any, list[str]], dict[str, dict[Any, str]]]:
    """Return the files of each schema, without keys, and by column a file of each type.

    above: the parts of the path above the folder.
    """
    parts = dict[Any, list[str]]()
    types = dict[str, dict[Any, str]]()
    first_names = {key.lower(): key for key in keys}
    for file in files:
        columns = _schema(file)
        for name, kind in columns:
            _refuse_equal_name(file, name, first_names.setdefault(name.lower(), name), above)
            types.setdefault(name, {}).setdefault(kind, file)
        schema = tuple((name, kind) for name, kind in columns if name not in keys)
        parts.setdefault(schema, []).append(file)
    return parts, types


def _with_types(frame: Frame, casts: Mapping[str, Any], ignored: Collection[str]) -> Frame:
    """Return a frame with columns of other types; those that are ignored are empty texts."""
    if not casts:
        return frame
    return with_shortest_decimals(frame, casts).with_columns(
        nw.lit("").alias(name) if name in ignored else nw.col(name).cast(kind)
        for name, kind in casts.items()
    )


def _common_types(
    types: Mapping[str, Mapping[Any, str]], ignored: Collection[str]
) -> dict[str, Any]:
    """Return one type for each column of several; types: a file of each type, by column."""
    return {
        name: nw.String if name in ignored else _common_type(name, files)
        for name, files in types.items()
        if len(files) > 1
    }


def _refuse_equal_name(file: str, name: str, first_name: str, above: Sequence[str]) -> None:
    """Raise DataError for a column that differs from an earlier one in case only, or is in a path.

    above: the parts of the path above the folder.
    """
    if first_name != name:
        message = f"has the same letters as '{first_name}', and case does not count"
    elif name in above:
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


def _common_type(name: str, kinds: Mapping[Any, str]) -> Any:
    """Return the type of a column that has several, in the files given; DataError if none fits."""
    choices: tuple[tuple[Any, Callable[[Any], bool]], ...] = (
        (nw.Int64, lambda kind: kind.is_integer() and kind != pl.UInt64),
        (nw.Float64, lambda kind: kind.is_numeric()),
        (nw.String, lambda kind: kind in (pl.String, pl.Categorical, pl.Enum)),
        (nw.Datetime("us"), lambda kind: kind == pl.Datetime and kind.time_zone is None),
    )
    unfit = [
        [kind for kind in kinds if kind != pl.Null and not is_suitable(kind)]
        for _, is_suitable in choices
    ]
    if [] in unfit:
        return choices[unfit.index([])][0]
    odd_kind = min(unfit, key=len)[0]
    kind = next(kind for kind in kinds if kind != odd_kind)
    message = f"holds {odd_kind}, but {kind} in {kinds[kind]}"
    reading = OfferedReading(f"without {quote_name(name)}", {"ignore": (name,)})
    problem = Problem(message, "bad-type", kinds[odd_kind], None, name)
    raise DataError(problem, hint="write both with one type", readings=[reading])


def _keys(path: str) -> list[str]:
    """Return the columns that parts of a path are, `site` of `site=A`; two `=` make none."""
    parts = path.split(os.sep)[:-1]
    return [part.partition("=")[0] for part in parts if part.count("=") == 1]


def read_by_polars(paths: Sequence[str], options: InputOptions) -> Frame:
    """Return Parquet files as one frame of polars; see `read_parquet_files`."""

    def read(files: list[str], keys: list[str], above: list[str]) -> pl.LazyFrame:
        for file in files if keys else []:
            refuse_partition_signs("polars", os.path.relpath(file, paths[0]), "*")
        schema = dict.fromkeys([*above, *keys], pl.String) if keys else None
        rows = pl.scan_parquet(
            [literal_path(file) for file in files],
            glob=False,
            hive_partitioning=bool(keys),
            hive_schema=schema,
        )
        return rows.drop(above)

    return read_parquet_files(paths, options, read)
