"""Rows that occur several times: copies of one observation, or other ones with the same values."""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import gcd

from clfeval.errors import DataError, OfferedReading, Problem
from clfeval.tables.frames import in_polars, pl
from clfeval.tables.input import InputOptions
from clfeval.tables.profiles import ColumnProfile, ColumnProfiles, count_rows
from clfeval.tables.readings.names import tags_of
from clfeval.tables.row_selection import COPY, RowFilter
from clfeval.tables.scan import TableFile, scan

FEWEST_KINDS = 20  # different rows; of fewer each may occur several times by chance
FEWEST_PAIRS = 50  # rows that occur twice
FEWEST_CHANGES = 20  # of the values from one row to the next; fewer may be repeated by chance
MARGIN = 10  # by which the inequality has to be broken
LOOKED_AT = 32  # values of a long column that are counted in all rows
SOUGHT_LINES = slice(2, 5)  # lines that are looked for in the rest of a long text


def refuse_copies(
    files: Sequence[TableFile],
    profiles: ColumnProfiles,
    input_options: InputOptions,
    *,
    is_whole: bool,
) -> None:
    """Raise for a table in which most rows occur several times: copies, or other rows?

    Of independent rows with f1 kinds that occur once, f2 twice and f3 three times, 4 f2² is at most
    6 f1 f3 on average, whatever their probabilities are (Cauchy and Schwarz).
    """
    options = (
        input_options.id,
        input_options.cluster,
        input_options.run,
        input_options.weight,
        input_options.join,
    )
    if (
        len(files) > 1
        or any(name is not None for name in options)
        or _is_answered(files[0], input_options)
    ):
        return
    plain_profiles = {name: profile for name, profile in profiles.items() if profile.sample}
    columns = [name for name, profile in plain_profiles.items() if not profile.distinct]
    distinct_columns = [name for name in plain_profiles if name not in columns]
    if any(_names_rows(name, profiles[name]) for name in distinct_columns) or not columns:
        return
    if not is_whole:
        if not _may_repeat(files[0], profiles, columns):
            return
        group_sizes = _group_sizes(files[0], columns)
    else:
        rows = [*zip(*(profiles[name].sample for name in columns), strict=True)]
        group_sizes = [*Counter(rows).values()]
        if _are_repeated_in_order(rows, gcd(*group_sizes)):
            raise _copies_error(files[0], group_sizes)
    if _are_copied(group_sizes):
        raise _copies_error(files[0], group_sizes)


def _is_answered(file: TableFile, input_options: InputOptions) -> bool:
    """Return whether --where says what equal rows are, or the table is read elsewhere."""
    if input_options.engine not in (None, "polars") or COPY in file.columns:
        return True
    if input_options.where is None:
        return False
    row_filter = RowFilter(input_options.where)
    row_filter.parse()
    return COPY in row_filter.columns


def _names_rows(name: str, profile: ColumnProfile) -> bool:
    """Return whether all different values name the observations, and do not only number rows."""
    numbers = profile.numbers
    counts_rows = profile.is_integer and max(numbers) - min(numbers) == profile.rows - 1
    is_score = profile.mostly_numeric and not profile.is_integer
    return not is_score and not (counts_rows or "index" in tags_of(name))


def _may_repeat(file: TableFile, profiles: ColumnProfiles, columns: Sequence[str]) -> bool:
    """Return whether the first values of the finest column all occur again in a long table.

    They are counted only if one of the first rows comes twice, or some lines come again below.
    """
    finest_column = max(columns, key=lambda name: len({*profiles[name].sample}))
    values = [*dict.fromkeys(text for text in profiles[finest_column].sample if text)][:LOOKED_AT]
    if len(values) < LOOKED_AT or file.native is not None:
        return False
    row_counts = Counter(zip(*(profiles[name].sample for name in columns), strict=True))
    if max(row_counts.values()) == 1 and not _lines_come_again(file, profiles):
        return False
    frame = in_polars(scan(file, {finest_column: "text"}))
    selected_rows = frame.filter(pl.col(finest_column).is_in(values))
    counts = selected_rows.group_by(finest_column).agg(pl.len()).collect()["len"]
    return bool((counts > 1).all())


def _lines_come_again(file: TableFile, profiles: ColumnProfiles) -> bool:
    """Return whether some of the first lines of a text all occur again, without row numbers.

    Row numbers stand in the first column. Bytes are searched, which is faster than reading cells.
    """
    if file.source is None or not file.source.text:
        return False
    delimiter = file.source.delimiter.encode()
    first_profile = profiles.get(file.columns[0])
    is_numbered = first_profile is not None and first_profile.distinct
    with file.source.path.open("rb") as stream:
        text = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        with text:
            lines = [text.readline() for _ in range(SOUGHT_LINES.stop)]
            start = text.tell()
            sought_lines = lines[SOUGHT_LINES]
            if is_numbered:
                sought_lines = [delimiter + line.partition(delimiter)[2] for line in sought_lines]
            return all(line.strip() and text.find(line, start) >= 0 for line in sought_lines)


def _group_sizes(file: TableFile, columns: Sequence[str]) -> list[int]:
    """Return how often each different row of some columns occurs."""
    frame = in_polars(scan(file, dict.fromkeys(columns, "text")))
    sizes: list[int] = frame.group_by(*columns).agg(pl.len()).collect()["len"].to_list()
    return sizes


def _are_copied(sizes: Iterable[int]) -> bool:
    """Return whether rows occur several times that often, as they do not by chance."""
    frequencies = Counter(sizes)
    if frequencies.total() < FEWEST_KINDS:
        return False
    if gcd(*frequencies) > 1:
        return True
    once, twice, thrice = (frequencies[size] for size in (1, 2, 3))
    return twice >= FEWEST_PAIRS and 4 * twice**2 > MARGIN * 6 * max(once, 1) * max(thrice, 1)


def _are_repeated_in_order(rows: Sequence[object], repeats: int) -> bool:
    """Return whether all rows come again in the same order, or each several times in a row."""
    if repeats < 2:
        return False
    first_part, every_nth = rows[: len(rows) // repeats], rows[::repeats]
    for single_rows, repeated_rows in (
        (first_part, [*first_part] * repeats),
        (every_nth, [row for row in every_nth for _ in range(repeats)]),
    ):
        change_count = sum(row != next_row for row, next_row in pairwise(single_rows))
        if change_count >= FEWEST_CHANGES and [*rows] == repeated_rows:
            return True
    return False


def _copies_error(file: TableFile, sizes: Sequence[int]) -> DataError:
    """Build the error that offers each row once, or all rows."""
    copies_of_each = gcd(*sizes)
    row_count = sum(sizes)
    repeated_count = sum(size > 1 for size in sizes)
    message = (
        f"every row occurs {copies_of_each} times"
        if copies_of_each > 1
        else (f"{repeated_count:,} of {len(sizes):,} different rows occur several times")
    )
    single_count = row_count // copies_of_each if copies_of_each > 1 else len(sizes)
    meaning = f"{count_rows(single_count)}: equal rows are copies, of which one is counted"
    readings = [
        OfferedReading(meaning, {"where": f"{COPY} = 1"}),
        OfferedReading(
            f"all {count_rows(row_count)}: equal rows are different observations",
            {"where": f"{COPY} >= 1"},
        ),
    ]
    problem = Problem(f"{message}: are they copies?", "repeated-rows", file.name)
    return DataError(problem, readings=readings)
