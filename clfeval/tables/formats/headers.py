"""Headers of tools other than one line of names: Orange's three, Weka's, and R's row names."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice, takewhile

from clfeval.records import dataclass, field, replace
from clfeval.tables.csv import CsvHead, skip_comments
from clfeval.tables.formats.frames import with_frame
from clfeval.tables.frames import pl
from clfeval.tables.invalid_cells import ROW
from clfeval.tables.scan import TableFile, refuse_low_memory
from clfeval.tables.source import SourceFile

HEAD_BYTES = 1 << 16
FIRST_ROWS = 50
ROW_NAMES, DISTRIBUTION = "row names", "distribution:"
_TYPES = {"c", "d", "s", "t", "continuous", "discrete", "string", "time", "basket"}
_ROLES = {"", "class", "c", "meta", "m", "ignore", "i", "weight", "w"}
_PARTS = {"class": "class", "c": "class", "meta": "meta", "m": "meta", "weight": "weight"}


@dataclass(frozen=True, slots=True)
class Header:
    """The names of the columns of a text table, and how many records precede its rows.

    options: what the header says of columns. remark: for the line on how the table is read.
    marked: columns with a `*` at the number of the predicted class.
    """

    names: tuple[str, ...]
    records: int
    remark: str
    options: Mapping[str, object] = field(default_factory=dict)
    marked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FirstLines:
    """The first records of a text table; quoted: the first two begin with a quote mark."""

    records: Sequence[Sequence[str]]
    delimiter: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class HeaderFormat:
    """A header that a tool writes; read: returns it, of the first records; None for another."""

    tool: str
    read: Callable[[FirstLines], Header | None]


def open_formatted(source: SourceFile) -> TableFile | None:
    """Return a text table with the header of a tool; None for one line of names."""
    source_below = skip_comments(source)
    delimiters = (
        (source_below.delimiter, " ")
        if source_below.delimiter == ","
        else (source_below.delimiter,)
    )
    for delimiter in delimiters:
        candidate = replace(source_below, delimiter=delimiter)
        lines = _first_lines(candidate)
        for header_format in HEADER_FORMATS:
            header = header_format.read(lines) if len(lines.records) > 1 else None
            if header is not None and (
                delimiter == source_below.delimiter or header.names[0] == ROW_NAMES
            ):
                return _open_rows(candidate, header, header_format.tool)
    return None


def _first_lines(source: SourceFile) -> FirstLines:
    """Return the first records of a text that are not blank; none if it is not delimited text."""
    with source.path.open("rb") as stream:
        stream.seek(len(source.comments))
        head_bytes = stream.read(HEAD_BYTES)
    text = head_bytes.removeprefix(codecs.BOM_UTF8).decode(errors="replace")
    if len(head_bytes) == HEAD_BYTES:
        text = text[: text.rfind("\n") + 1]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=source.delimiter)
    is_quoted = all(line.startswith('"') for line in text.splitlines()[:2])
    try:
        records = [record for record in islice(reader, FIRST_ROWS) if record]
    except csv.Error:
        records = []
    return FirstLines(records, source.delimiter, is_quoted)


def _open_rows(source: SourceFile, header: Header, tool: str) -> TableFile:
    """Return the rows below a header, as text, with their numbers in the file."""
    refuse_low_memory(source)
    with source.path.open("rb") as stream:
        bytes_above = b"".join(islice(stream, source.comments.count(b"\n") + header.records))
    line_count = bytes_above.count(b"\n")
    frame = pl.scan_csv(
        source.path,
        separator=source.delimiter,
        has_header=False,
        schema=dict.fromkeys(header.names, pl.String()),
        skip_lines=line_count,
        glob=False,
    ).with_row_index(ROW, offset=line_count + 1)
    names = header.names
    if header.marked:
        frame = frame.with_columns(pl.col(header.marked).str.strip_prefix("*"))
        new_names = _names_of_distribution(frame, header)
        frame = frame.rename(new_names)
        names = tuple(new_names.get(name, name) for name in names)
    head = CsvHead(names, (), 0, header_row=line_count)
    file = TableFile(source.name, names, replace(source, comments=bytes_above), head=head)
    converted = with_frame(file, frame, names)
    remark = ": ".join(filter(None, [tool, header.remark]))
    return replace(converted, parts=(file,), format=remark, options=header.options)


def _read_orange(first_lines: FirstLines) -> Header | None:
    """Return the header of Orange: names, then types, then roles of the columns."""
    records = first_lines.records
    if len(records) < 4:
        return None
    names, column_types, column_roles = (
        tuple(cell.strip() for cell in record) for record in records[:3]
    )
    if not len(names) == len(column_types) == len(column_roles) or not all(names):
        return None
    role_flags = [role.partition(" ")[0] for role in column_roles]
    if not all(role_flag in _ROLES or "=" in role_flag for role_flag in role_flags):
        return None
    row_cells = {cell for record in records[3:] for cell in record}
    if not all(_is_type(cell, row_cells) for cell in column_types):
        return None
    if not {*column_types} & _TYPES and not {*role_flags} & {"class", "meta"}:
        return None
    part_of_column = {
        name: _PARTS.get(role_flag, role_flag)
        for name, role_flag in zip(names, role_flags, strict=True)
    }
    options = _options_of_roles(part_of_column)
    return Header(names, 3, "rows 2 and 3 are types and roles", options)


def _is_type(cell: str, row_cells: Collection[str]) -> bool:
    """Return whether a cell is a type of Orange, empty, or lists values of a discrete column."""
    return not cell or cell in _TYPES or bool({*cell.split()} & {*row_cells})


def _options_of_roles(part_of_column: Mapping[str, str]) -> dict[str, object]:
    """Return the options that say Orange's roles: features of a table with metas are not used."""
    targets = [name for name, part in part_of_column.items() if part == "class"]
    metas = [name for name, part in part_of_column.items() if part == "meta"]
    weights = [name for name, part in part_of_column.items() if part == "weight"]
    features = [name for name, part in part_of_column.items() if part == ""]
    ignored = [name for name, part in part_of_column.items() if part in ("ignore", "i")]
    options: dict[str, object] = {"ignore": tuple(ignored + (features if metas else []))}
    if len(targets) == 1:
        options["truth"] = targets[0]
    if len(weights) == 1:
        options["weight"] = weights[0]
    return options


def _read_weka(first_lines: FirstLines) -> Header | None:
    """Return the header of Weka's distributions, of which only the first column has a name.

    The columns are named by the classes, which labels such as `2:cat` number.
    """
    header = list(first_lines.records[0])
    if "distribution" not in header or "actual" not in header or "predicted" not in header:
        return None
    distribution_index = header.index("distribution")
    rows = first_lines.records[1:]
    if len({len(row) for row in rows}) > 1:
        return None
    labels = [row[header.index(name)] for row in rows for name in ("actual", "predicted")]
    label_of_number = _labels_by_number(labels)
    blank_count = sum(1 for _ in takewhile(lambda name: not name, header[distribution_index + 1 :]))
    # the columns of the distribution: its name, blank names, and cells beyond the header
    class_count = 1 + len(rows[0]) - len(header) + blank_count
    if not label_of_number or max(label_of_number) > class_count or class_count < 2:
        return None
    class_columns = [f"{DISTRIBUTION}{i}" for i in range(1, class_count + 1)]
    names = (
        *header[:distribution_index],
        *class_columns,
        *header[distribution_index + 1 + blank_count :],
    )
    remark = "the distribution has a column for each class"
    return Header(names, 1, remark, marked=tuple(class_columns))


def _labels_by_number(labels: Iterable[str]) -> dict[int, str]:
    """Return labels such as `2:cat` by their numbers."""
    return {int(label.partition(":")[0]): label for label in labels if re.match(r"\d+:", label)}


def _names_of_distribution(frame: pl.LazyFrame, header: Header) -> dict[str, str]:
    """Return the names of the columns of a distribution, with the labels of all rows."""
    label_frame = frame.select(
        pl.concat_list("actual", "predicted").explode().unique().alias("label")
    )
    label_of_number = _labels_by_number(label_frame.collect()["label"].drop_nulls().to_list())
    return {
        name: f"{DISTRIBUTION}{label_of_number[number]}"
        for number, name in enumerate(header.marked, start=1)
        if number in label_of_number
    }


def _read_row_names(first_lines: FirstLines) -> Header | None:
    """Return the header of R's write.table, which does not name the column of row names.

    Without quote marks these are the numbers of the rows; with commas they would be ambiguous, as
    decimal commas make rows too long as well.
    """
    header, *rows = first_lines.records
    if any(len(row) != len(header) + 1 for row in rows) or not all(header):
        return None
    row_names = [row[0] for row in rows]
    if len({*row_names}) < len(row_names) or not any(row[-1] for row in rows):
        return None
    are_row_numbers = row_names == [str(number) for number in range(1, len(rows) + 1)]
    if not first_lines.quoted and (first_lines.delimiter == "," or not are_row_numbers):
        return None
    return Header((ROW_NAMES, *header), 1, "the first column has row names")


HEADER_FORMATS = (
    HeaderFormat("Orange", _read_orange),
    HeaderFormat("Weka", _read_weka),
    HeaderFormat("R", _read_row_names),
)
