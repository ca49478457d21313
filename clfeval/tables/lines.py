"""Why texts do not read as a table: another delimiter, words above the names, other columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from clfeval.errors import DataError, list_names
from clfeval.shell import format_option
from clfeval.tables.csv import HEAD_BYTES, other_delimiter
from clfeval.tables.input import ColumnNames, find_column
from clfeval.tables.scan import TableFile
from clfeval.tables.source import SourceFile

LOOKED_AT = 50  # lines


def with_delimiter(error: DataError, other: str, columns: Sequence[str]) -> DataError:
    """Return an error with the delimiter that the text seems to have."""
    shown = r"\t" if other == "\t" else other
    found = "there is only one column; " if len(columns) == 1 else ""
    hint = f"{found}if the delimiter is different, add {format_option('--delimiter', shown)}"
    return DataError(error.problems, hint=hint, totals=error.totals, fixes={"delimiter": shown})


def check_same_columns(files: Sequence[TableFile]) -> None:
    """Raise DataError for files that have other columns than the first."""
    first = files[0]
    for other in files[1:]:
        if first.columns != other.columns and (apart := _delimiters_differ(first, other)):
            raise apart
        ours, theirs = set(first.columns), set(other.columns)
        missing = [name for name in first.columns if name not in theirs]
        extra = [name for name in other.columns if name not in ours]
        if missing or extra:
            parts = [f"has no column {list_names(missing)}"] if missing else []
            parts += [f"has columns that {first.name} lacks: {list_names(extra)}"] if extra else []
            hint = "files read as one table need the same columns; to join files of one model each "
            hint += "by row id, add --join COLUMN"
            common = [name for name in first.columns if name in theirs]
            key = find_column(common, ColumnNames.ID) or next(
                (n for n in common if n.endswith("_id")), None
            )
            raise DataError.new(
                "; ".join(parts),
                "different-columns",
                other.name,
                hint=hint,
                fixes={"join": key} if key else {},
            )


def _delimiters_differ(first: TableFile, other: TableFile) -> DataError | None:
    """Return the error of two files, one of which has another delimiter than both are read with."""
    texts = [file.source for file in (first, other) if file.source and file.source.text]
    if len(texts) < 2:
        return None
    found = [other_delimiter(file.source, file.columns) for file in (first, other) if file.source]
    if found[0] == found[1]:
        return None
    ours, theirs = (sign or text.delimiter for sign, text in zip(found, texts, strict=True))
    what = f"its delimiter is {_delimiter_name(theirs)}, but that of {first.name} is "
    what += _delimiter_name(ours)
    hint = "files read as one table need the same delimiter; .tsv files are read with tabs"
    return DataError.new(what, "different-columns", other.name, hint=hint)


def _delimiter_name(delimiter: str) -> str:
    return "a tab" if delimiter == "\t" else f"'{delimiter}'"


def with_delimiter_hint(file: TableFile, error: DataError) -> DataError:
    """Return the error of a table without its columns as one of its delimiter, if that is why."""
    if not file.source or not file.source.text:
        return error
    other = other_delimiter(file.source, file.columns)
    if other is not None:
        shown = r"\t" if other == "\t" else other
        hint = f"if the delimiter is different, add {format_option('--delimiter', shown)}"
        return DataError(error.problems, hint=hint, fixes={"delimiter": shown})
    if title := title_error(file.source):
        return title
    if len(file.columns) == 1:
        hint = f"there is only one column: {list_names(file.columns)}"
        return DataError(error.problems, hint=error.hint or hint, fixes=error.fixes)
    return error


def title_error(source: SourceFile) -> DataError | None:
    """Return the error of a text with a title or comments above its names; None without them."""
    with source.path.open("rb") as stream:
        data = stream.read(HEAD_BYTES)
    lines = data.decode("utf-8-sig", errors="replace").splitlines()[:LOOKED_AT]
    for delimiter in dict.fromkeys((source.delimiter, ",", ";", "\t", "|")):
        records = list(_records(lines, delimiter))
        heads = [  # several names, and no comment
            n for n, (_, cells) in enumerate(records)
            if sum(map(bool, map(str.strip, cells))) > 1 and not cells[0].lstrip().startswith("#")
        ]  # fmt: skip
        if delimiter == source.delimiter and heads[:1] == [0] and _has_equal_lengths(records):
            return None
        if not heads or heads[0] == 0 or len(records) < heads[0] + 2:
            continue
        row, _ = records[heads[0]]
        if _has_equal_lengths(records[heads[0] :]):
            first = records[0]
            what = (
                f"{list_names([next(filter(None, first[1]))])} is a title or comment, not a header"
            )
            hint = f"the column names are in row {row}: tail -n +{row} FILE > NEW"
            return DataError.new(what, "no-header", source.name, first[0], hint=hint)
    return None


def _has_equal_lengths(records: Sequence[tuple[int, list[str]]]) -> bool:
    """Tell whether all lines have as many cells as the first."""
    return len({len(cells) for _, cells in records}) == 1


def _records(lines: Sequence[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error:
        return
