"""Which rows: conditions of `--where`, bins of numeric columns of `--by`, files as runs."""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Literal

import numpy as np

from clfeval.errors import (
    DataError,
    OfferedReading,
    Problem,
    UsageError,
    bad_option,
    format_option,
    join_texts,
    unknown_column_error,
)
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, field, replace
from clfeval.tables.frames import collect, float32_threshold, in_polars, nw, pl
from clfeval.tables.input import ColumnNames, InputOptions, find_column, match_names, parse_bins
from clfeval.tables.invalid_cells import ROW, column_as_number, column_as_text
from clfeval.tables.profiles import ColumnProfile, count_rows
from clfeval.tables.readings.names import is_certain_truth
from clfeval.tables.scan import TableFile, count_distinct_values, scan

_TOKEN = (
    r"""\s*(?:(?P<text>'[^']*(?:''[^']*)*')|(?P<quoted>"[^"]*(?:""[^"]*)*")|"""
    r"""(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))"""
    r"""|(?P<sign><=|>=|!=|<>|==|[=<>(),])|(?P<word>[^\W\d][\w.]*))"""
)
_SIGNS: Mapping[str, Callable[[Any, Any], Any]]
_SIGNS = {"=": eq, "==": eq, "!=": ne, "<>": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
EXAMPLE = "\"split = 'test' and age >= 18\""
COPY = "copy"  # in a condition: the number of the copy, of rows that occur several times
MAX_TERMS = 1000  # comparisons in a condition, values of a list included
MAX_DEPTH = 50  # levels of parentheses and of `not`
GROUP_SIZE = 32  # conditions that are joined at once
MOST_PARTS = 3  # of a table that are offered
MAX_VALUES_LISTED = 5  # values of a column in an error
MOST_COUNTED = 2**20  # values of a column that an engine brings to this machine
TRAIN, TEST = {"train", "training", "development", "derivation"}, {"test", "testing"}
_FLAG_WORDS = {*TRAIN, *TEST, "is", "in", "set", "split"}
_BITS = ({"0", "1"}, {"false", "true"})
_PARTS = TRAIN | TEST | {"val", "valid", "validation", "dev", "holdout", "eval"}
_SPLIT_VALUES = _PARTS.union(*_BITS)


@dataclass(slots=True)
class RowFilter:
    """A condition as an expression, with the columns it names in order.

    types: of the columns, if known. converts: texts become numbers, which only polars does, by null
    where they are none.
    """

    text: str
    types: Mapping[str, Any] = field(default_factory=dict)
    converts: bool = True
    columns: dict[str, None] = field(default_factory=dict)
    _tokens: deque[tuple[str, str]] = field(default_factory=deque)
    _terms: int = 0
    _depth: int = 0

    def parse(self) -> Any:
        """Return the condition as an expression; UsageError for invalid syntax, or too much."""
        position = 0
        text = self.text.rstrip()
        pattern = re.compile(_TOKEN, re.ASCII)
        while position < len(text):
            token = pattern.match(text, position)
            if token is None:
                raise self._refused(f"syntax error at {text[position:].strip()!r:.80}")
            kind = str(token.lastgroup)
            self._tokens.append((kind, token[kind]))
            position = token.end()
        condition = self._any()
        if self._tokens:
            raise self._refused(f"'and' or 'or' is missing before {self._tokens[0][1]}")
        return condition

    def _refused(self, message: str, hint: str | None = None) -> UsageError:
        example = f"for example {OPTION}--where {EXAMPLE}{END}; quote texts"
        return bad_option(f"{OPTION}--where{END}: {message}", hint or example)

    def _take(self, *words: str) -> str | None:
        """Pop the next token if it is one of some words or signs."""
        kind, text = self._tokens[0] if self._tokens else ("", "")
        if kind in ("word", "sign") and text in words:
            self._tokens.popleft()
            return text
        return None

    def _take_any(self) -> tuple[str, str]:
        """Pop the next token: its kind and text; two empty texts at the end."""
        return self._tokens.popleft() if self._tokens else ("", "")

    def _any(self) -> Any:
        """Return the disjunction of conditions that `or` separates."""
        conditions = [self._all()]
        while self._take("or"):
            conditions.append(self._all())
        return self._join(self._disjunction, conditions)

    def _all(self) -> Any:
        """Return the conjunction of conditions that `and` separates."""
        conditions = [self._condition()]
        while self._take("and"):
            conditions.append(self._condition())
        return self._join(self._conjunction, conditions)

    def _join(self, join: Callable[[list[Any]], Any], conditions: list[Any]) -> Any:
        """Join conditions in groups: engines take time by the square of the depth."""
        while len(conditions) > 1:
            groups = (conditions[i : i + GROUP_SIZE] for i in range(0, len(conditions), GROUP_SIZE))
            conditions = [join(group) for group in groups]
        return conditions[0]

    def _disjunction(self, conditions: list[Any]) -> Any:
        if self.converts:
            return pl.any_horizontal(conditions)
        return nw.any_horizontal(conditions, ignore_nulls=False)

    def _conjunction(self, conditions: list[Any]) -> Any:
        if self.converts:  # polars takes conjunctions apart, by the cube of their number
            return ~pl.any_horizontal([~condition for condition in conditions])
        return nw.all_horizontal(conditions, ignore_nulls=False)

    def _condition(self) -> Any:
        """Return a comparison, or what follows `not` or a parenthesis."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            hint = "use fewer parentheses and fewer words 'not'"
            raise self._refused(f"the condition is nested more than {MAX_DEPTH} levels deep", hint)
        if self._take("not"):
            condition = ~self._condition()
        elif self._take("("):
            condition = self._any()
            self._close_parenthesis()
        else:
            condition = self._comparison()
        self._depth -= 1
        return condition

    def _close_parenthesis(self) -> None:
        if not self._take(")"):
            raise self._refused("a parenthesis is not closed")

    def _comparison(self) -> Any:
        """Return the comparison of a column with a value, or with those in a list after `in`."""
        kind, token = self._take_any()
        if kind not in ("word", "quoted"):
            raise self._refused(f"a column name is missing before {token or 'the end'}")
        name = token[1:-1].replace('""', '"') if kind == "quoted" else token
        self.columns[name] = None
        if sign := self._take(*_SIGNS):
            return self._compared(name, sign)
        is_negated = self._take("not")
        if not (self._take("in") and self._take("(")):
            raise self._refused(f"an operator such as '=', '<' or 'in' is missing after '{name}'")
        conditions = [self._compared(name, "=")]
        while self._take(","):
            conditions.append(self._compared(name, "="))
        self._close_parenthesis()
        condition = self._join(self._disjunction, conditions)
        return ~condition if is_negated else condition

    def _compared(self, name: str, sign: str) -> Any:
        """Return the comparison of a column with the next token, by numbers, times or texts."""
        kind, token = self._take_any()
        if kind not in ("number", "text"):
            raise self._refused(f"a number or a text in single quotes is missing after '{name}'")
        self._terms += 1
        if self._terms > MAX_TERMS:
            hint = "write a column with the result into the table, and compare it"
            raise self._refused(f"the condition has more than {MAX_TERMS:,} comparisons", hint)
        compare = _SIGNS[sign]
        plain_text = token if kind == "number" else token[1:-1].replace("''", "'")
        dtype = self.types.get(name)
        if kind == "text" and dtype in (nw.Date, nw.Datetime):
            return compare(*self._times(name, plain_text, dtype))
        if dtype is not None and dtype.is_integer() and re.fullmatch(r"-?\d{1,18}", token):
            column = pl.col(name) if self.converts else nw.col(name)  # exact beyond 2**53
            return compare(column, int(token))
        if self.converts:
            column = column_as_number(name).fill_nan(None)
            return (
                compare(column, float(token))
                if kind == "number"
                else compare(column_as_text(name), plain_text)
            )
        if dtype is not None and kind == "number" and not dtype.is_numeric():
            raise self._refused(f"'{name}' holds no numbers", f"write '{token}'")
        if dtype is not None and kind == "text" and dtype.is_numeric() and not dtype.is_integer():
            raise self._refused(f"'{name}' holds numbers", f"write {plain_text} without quotes")
        if kind == "text":
            return compare(nw.col(name).cast(nw.String), plain_text)
        number = nw.col(name).cast(nw.Float64)
        number = nw.when(~number.is_nan()).then(number)
        if dtype != nw.Float32:
            return compare(number, float(token))
        # their shortest decimals are compared
        lowest_equal = float32_threshold(float(token))
        lowest_greater = float32_threshold(math.nextafter(float(token), math.inf))
        if sign in ("=", "==", "!=", "<>"):
            is_equal = (number >= lowest_equal) & (number < lowest_greater)
            return is_equal if sign in ("=", "==") else ~is_equal
        return compare(
            number,
            lowest_equal if sign in ("<", ">=") else math.nextafter(lowest_greater, -math.inf),
        )

    def _times(self, name: str, time_text: str, dtype: Any) -> tuple[Any, Any]:
        """Return a column of dates or times, and a date or a time written as text, of its type.

        Times without a zone are of UTC.
        """
        try:
            time = datetime.fromisoformat(time_text)
            time = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):
            message, hint = f"'{name}' holds dates or times", "write for example '2024-01-31 12:00'"
            raise self._refused(f"{message}, but '{time_text}' is not one", hint) from None
        if dtype == nw.Date:
            if len(time_text) > len("2024-01-31"):
                message = f"'{name}' holds dates without a time of day"
                raise self._refused(message, f"write '{time.date()}'")
            return (pl.col(name) if self.converts else nw.col(name)), time.date()
        naive_time = time.replace(tzinfo=None)
        fits_nanoseconds = 1678 <= time.year <= 2261  # which nanoseconds of 64 bits hold
        unit: Literal["ns", "us"] = "ns" if dtype.time_unit == "ns" and fits_nanoseconds else "us"
        if self.converts:
            column = pl.col(name).cast(pl.Datetime(unit, dtype.time_zone))
            if dtype.time_zone is not None:
                column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
            return column, pl.lit(naive_time).cast(pl.Datetime(unit))
        if dtype.time_zone is not None:
            return nw.col(name), time
        # sessions of Spark take a time for one of their zone
        time_column = nw.col(name) if fits_nanoseconds else nw.col(name).cast(nw.Datetime("us"))
        return time_column, nw.lit(str(naive_time)).cast(nw.Datetime(unit))


def filtered_rows(file: TableFile, condition_text: str | None) -> TableFile:
    """Return the rows that meet a condition, with their numbers in the file; DataError if none."""
    if condition_text is None:
        return file
    native = file.native
    converts = True
    if native is not None:
        converts = native.implementation.is_polars() or native.implementation.is_pandas_like()
    column_types: Mapping[str, Any] = {} if native is None else native.collect_schema()
    row_filter = RowFilter(condition_text, column_types, converts)
    condition = row_filter.parse()
    counts_copies = COPY in row_filter.columns and COPY not in file.columns and converts
    for name in row_filter.columns:
        if name not in file.columns and not (counts_copies and name == COPY):
            raise unknown_column_error(file.name, name, file.columns)
    if file.head is not None:
        native = scan(file, dict.fromkeys(file.columns, "text"))
    assert native is not None
    if converts:
        frame = in_polars(native)
        first_row = file.head.header_row + 1 if file.head else 1
        numbered_rows = frame if file.numbered else frame.with_row_index(ROW, offset=first_row)
        if counts_copies:
            numbered_rows = _with_copy_numbers(numbered_rows, file.columns)
        selected_rows = nw.from_native(numbered_rows.filter(condition))
        selected_rows = selected_rows.drop(COPY) if counts_copies else selected_rows
    else:
        selected_rows = native.filter(condition)
    if not collect(selected_rows.head(1).select(n=nw.len()))["n"].item():
        raise _no_match_error(file, condition_text, row_filter.columns)
    if not converts:
        return replace(file, native=selected_rows)
    return replace(file, native=selected_rows, head=None, parts=(file,), numbered=True)


def _no_match_error(file: TableFile, condition_text: str, columns: Iterable[str]) -> DataError:
    """Build the error of a condition that no row meets, with the values of its columns."""
    counts = dict[str, Counter[str]]()
    for name in (name for name in columns if name in file.columns):
        with suppress(UsageError):  # too many values
            counts[name] = count_distinct_values([file], name, (), most=MOST_COUNTED)
    hints = (
        f"'{name}' has the values {list_values(value_counts)}"
        for name, value_counts in counts.items()
    )
    message = f"no row matches {format_option('--where', condition_text)}"
    return DataError.new(message, "empty-table", file.name, hint="; ".join(hints))


def _with_copy_numbers(frame: pl.LazyFrame, columns: Sequence[str]) -> pl.LazyFrame:
    """Return rows with the numbers of their copies, from 1 on; columns of different values differ.

    Where every row occurs k times, or a multiple of it, each copy has one k-th of the equal rows.
    """
    row_count, *value_counts = frame.select(
        pl.len(), *(pl.col(name).n_unique() for name in columns)
    ).collect()
    pairs = zip(columns, value_counts, strict=True)
    key_columns = [name for name, value_count in pairs if value_count.item() < row_count.item()]
    if not key_columns:
        return frame.with_columns(pl.lit(1).alias(COPY))
    group_sizes = frame.group_by(*key_columns).agg(pl.len()).collect()["len"]
    copy_count = math.gcd(*group_sizes.unique().to_list())
    group_size = pl.len().over(key_columns)
    group_index = pl.int_range(pl.len()).over(key_columns)
    copy_index = group_index // (group_size // copy_count) if copy_count > 1 else group_index
    return frame.with_columns((copy_index + 1).alias(COPY))


def list_values(counts: Counter[str]) -> str:
    """List the most frequent values with their counts."""
    texts = [f"'{value}' ({rows:,})" for value, rows in counts.most_common(MAX_VALUES_LISTED)]
    further_count = len(counts) - len(texts)
    further_text = f" and {further_count:,} more values" if further_count > 0 else ""
    return join_texts(texts) + further_text


def filter_columns(
    input_options: InputOptions,
    profiles: Mapping[str, ColumnProfile] | None = None,
    used_columns: Iterable[str | None] = (),
) -> list[str]:
    """Return the columns that --where names; with `profiles` only those without a role.

    Columns between 0 and 1 may be models, and ids stay. used_columns: columns of other options.
    """
    if input_options.where is None:
        return []
    row_filter = RowFilter(input_options.where)
    row_filter.parse()
    if profiles is None:
        return list(row_filter.columns)
    free_names = [
        name for name in row_filter.columns if name in profiles and name not in {*used_columns}
    ]
    score_names = {
        name for name in free_names if profiles[name].mostly_numeric and profiles[name].shares
    }
    return [
        name
        for name in free_names
        if name not in score_names and not find_column([name], ColumnNames.ID)
    ]


def _split_values(texts: Iterable[str]) -> set[str]:
    """Return values in lower case if all may mark parts of a split or be flags, else none."""
    values: set[str] = set()
    for text in texts:
        value = text.strip().casefold()
        if value not in _SPLIT_VALUES:
            return set()
        values.add(value)
    return values


def refuse_train_and_test(
    files: Sequence[TableFile], profiles: Mapping[str, ColumnProfile], input_options: InputOptions
) -> None:
    """Raise for a column without a role that separates training from test rows."""
    ignored_columns = match_names(
        files[0].name, list(profiles), input_options.ignore, kind="column"
    )
    columns_with_roles = {
        input_options.truth,
        input_options.id,
        input_options.run,
        input_options.cluster,
        *input_options.by,
        *ignored_columns,
    }
    columns_with_roles.update(filter_columns(input_options))
    for name in profiles:
        split_values = _split_values(profiles[name].texts)
        name_words = {*re.split(r"[\W_]+", name.casefold())}
        # a flag such as is_test
        is_flag = split_values in _BITS and bool(name_words & TRAIN) != bool(name_words & TEST)
        has_part_names = (
            len(split_values) > 1
            and split_values <= _PARTS
            and bool(split_values & {*TRAIN, *TEST})
        )
        if name in columns_with_roles or is_certain_truth(name) or not (is_flag or has_part_names):
            continue
        value_counts = sum(
            (count_distinct_values([file], name, ()) for file in files), Counter[str]()
        )
        test_bits = {"1", "true"} if name_words & TEST else {"0", "false"}
        test_values = [
            value
            for value in value_counts
            if value.strip().casefold() in (test_bits if is_flag else TEST)
        ]
        ordered_values = list(dict.fromkeys([*test_values, *value_counts]))
        is_certain = has_part_names or name_words <= _FLAG_WORDS  # else it may be a model
        message = (
            f"{'marks' if is_certain else 'may mark'} training and test rows: which should be "
        )
        message += f"evaluated? {list_values(value_counts)}"
        problem = Problem(message, "train-and-test", files[0].name, None, name)
        readings = _readings_of_parts(name, ordered_values, value_counts)
        if not is_certain:
            readings.insert(0, OfferedReading(f"'{name}' is a model", {"model": ("*",)}))
        raise DataError(problem, readings=readings)


def _readings_of_parts(
    name: str, split_values: Sequence[str], value_counts: Mapping[str, int]
) -> list[OfferedReading]:
    """Return the readings of the rows of each of the first values, and of all rows together."""
    needs_no_quotes = re.fullmatch(r"[^\W\d][\w.]*", name, re.ASCII)
    column = name if needs_no_quotes else '"{}"'.format(name.replace('"', '""'))
    readings = []
    for split_value in split_values[:MOST_PARTS]:
        rows_text = count_rows(value_counts[split_value])
        condition = "{} = '{}'".format(column, split_value.replace("'", "''"))
        readings.append(
            OfferedReading(f"only the {rows_text} with '{split_value}'", {"where": condition})
        )
    all_rows_text = (
        f"all {sum(value_counts.values()):,} rows together, without the parts of '{name}'"
    )
    return [*readings, OfferedReading(all_rows_text, {"ignore": (name,)})]


MOST_BINS, MOST_SLICES = 20, 1000  # bins of a column, and its values


def refuse_many_slices(name: str, profile: ColumnProfile | None, flag: str) -> None:
    """Raise for slices by a column with too many distinct values in the first rows."""
    is_numeric = profile is not None and profile.mostly_numeric and not profile.classes
    if profile is None or len(profile.texts) <= (MOST_BINS if is_numeric else MOST_SLICES):
        return
    hint = f"use a column with at most {MOST_SLICES} values"
    if is_numeric:
        hint = f"use {format_option('--by', f'{name}:4')} to make four groups"
        hint += f"; then '{name}' is not evaluated as a model" if profile.shares else ""
    noun = "runs" if flag == "--run" else "slices"
    message = f"{OPTION}{flag}{END} '{name}' has too many distinct values for {noun}"
    message += f" ({len(profile.texts)} in the first rows)"
    raise UsageError.new(message, "bad-option" if is_numeric else "too-many-slices", hint=hint)


def find_bin_edges(
    files: Sequence[TableFile],
    by_texts: Sequence[str],
    columns: Collection[str],
    null_values: Sequence[str],
) -> dict[str, tuple[float, ...]]:
    """Return the bin edges of columns of --by.

    A whole number N sets the quantiles 1/N, 2/N, ..., or above the minimum if all equal it; a
    list its numbers. UsageError for other bins, DataError for a cell that is not a number.
    """
    edges: dict[str, tuple[float, ...]] = {}
    for by_text in chain(
        *([column] if column in columns else column.split("*") for column in by_texts)
    ):
        name, bins_text = parse_bins(by_text.strip(), columns)
        if not bins_text:
            continue
        try:
            numbers = [float(number) for number in bins_text.split(",")]
        except ValueError:
            numbers = []
        is_count = "," not in bins_text and bins_text.strip().isdecimal()
        if (
            not numbers
            or numbers != sorted({*numbers})
            or (is_count and not 2 <= numbers[0] <= MOST_BINS)
        ):
            hint = (
                f"use {OPTION}--by '{name}:4'{END} for quarters, or "
                f"{OPTION}--by '{name}:40,65'{END} to split there"
            )
            raise bad_option(
                f"{OPTION}--by{END} '{by_text}' needs 2 to {MOST_BINS} bins, or ascending numbers",
                hint,
            )
        native = files[0].native
        edges[name] = tuple(numbers)
        is_in_engine = native is not None and not native.implementation.is_polars()
        if native is not None and is_in_engine and not is_count:
            dtype = native.collect_schema().get(name)
            if dtype is not None and dtype.is_numeric():
                continue  # every cell is a number, and none need be brought here
        number_counts = _count_numbers(files, name, null_values)
        if is_count:
            edges[name] = _quantile_edges(number_counts, int(numbers[0]))
    return edges


def _count_numbers(
    files: Sequence[TableFile], name: str, null_values: Sequence[str]
) -> Counter[float]:
    """Count the rows of each number of a column; DataError for other cells, or if there is none."""
    number_counts = Counter[float]()
    counts = count_distinct_values(files, name, null_values, most=MOST_COUNTED)
    for text, row_count in counts.items():
        try:
            number_counts[float(text)] += row_count
        except ValueError:
            hint = f"use {OPTION}--by '{name}'{END} for one slice per value"
            message = f"'{text}' is not a number, and {OPTION}--by{END} makes bins of numbers only"
            raise DataError.new(
                message, "bad-number", files[0].name, None, name, hint=hint
            ) from None
    if not number_counts:
        raise DataError.new("it has no numbers", "bad-number", files[0].name, None, name)
    return number_counts


def _quantile_edges(number_counts: Mapping[float, int], group_count: int) -> tuple[float, ...]:
    """Return the quantiles that divide the rows into groups, above the minimum."""
    pairs = zip(*sorted(number_counts.items()), strict=True)
    numbers, row_counts = (np.array(sequence) for sequence in pairs)
    shares = np.cumsum(row_counts) / row_counts.sum()
    quantiles = [numbers[np.searchsorted(shares, k / group_count)] for k in range(1, group_count)]
    minimum = numbers[0]
    # where all equal the minimum, the next number; the minimum itself if it is the only one
    edges = {float(number) for number in quantiles if number > minimum} or {float(numbers[:2][-1])}
    return tuple(sorted(edges))


def run_files(files: Sequence[TableFile]) -> tuple[TableFile, ...]:
    """Return files with their names as runs, numbered if equal; UsageError for a single file."""
    if len(files) < 2:
        message = f"{OPTION}--run-files{END} needs several files, but only one is given"
        raise bad_option(message, f"name several files, or add {OPTION}--run COLUMN{END}")
    name_counts = Counter(file.display_name for file in files)
    copy_numbers = Counter[str]()
    named_files = []
    for file in files:
        copy_numbers[file.display_name] += 1
        suffix = (
            f" ({copy_numbers[file.display_name]})" if name_counts[file.display_name] > 1 else ""
        )
        named_files.append(replace(file, run=f"{file.display_name}{suffix}"))
    return tuple(named_files)
