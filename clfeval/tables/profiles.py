"""Profiles of columns: what their cells are, of a sample or of all rows, the same from any source.

A profile is a summary: two of them can be added, and the order of rows changes nothing in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from clfeval.records import dataclass, field, replace
from clfeval.tables.csv import SAMPLE_ROWS
from clfeval.tables.frames import (
    Frame,
    as_text,
    collect,
    collect_together,
    count_texts,
    engine_errors,
    nw,
    pl,
    unreadable_frame_error,
)
from clfeval.tables.scan import CellReading, TableFile, all_distinct, scan, unreadable_error

NEAR_ONE = 1.5  # numbers up to it are probabilities beyond 1 by rounding or by mistake
ROUNDED = 1e-4  # how far scores lie beyond 0 to 1 by rounding, at most
MOST_VALUES = 1000  # different values that a profile keeps with their counts
CELLS_AT_ONCE = 8_000_000  # cells of the columns that are read together
ROWS = "__clfeval_rows"
_NUMBER = r"(?:0|-?(?:[1-9]\d*|(?:0|[1-9]\d*)\.\d*|\.\d+)(?:[eE][+-]?\d+)?|-?inf|nan|NaN)"
_SCORE = rf"(?a){_NUMBER}"
_SCORES = rf"(?a)(?:{_NUMBER}\n)*+{_NUMBER}"  # one a line
_PERCENT = re.compile(r"-?\d+(?:[.,]\d+)?\s*%")
_COMMA = re.compile(r"-?\d+,\d+(?:\s*%)?")
_WITH_POINT = re.compile(r"[.eE]")


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """A summary of the cells of a column, as text.

    texts: the different values; of more than 1,000 some of them, among these the least and the
    greatest number, a fraction and a text that is no number, if there are any. counts: rows of each
    value, empty for more than 1,000. missing: rows without a value. typed_number: of a numeric
    type. pointed: some number is written with a point or an exponent, or the type is a float.
    percent: most values have a percent sign, and are divided by 100. commas: most have an
    undeclared decimal comma. distinct: no value is repeated. sample: the first values in order,
    None where missing. all_numbers: every value is a number. example: a cell with a comma, as it is
    written.
    """

    texts: frozenset[str]
    counts: Mapping[str, int] = field(default_factory=dict)
    rows: int = 0
    missing: int = 0
    typed_number: bool = False
    pointed: bool = False
    percent: bool = False
    commas: bool = False
    distinct: bool = False
    mostly_numeric: bool = False
    sample: Sequence[str | None] = ()
    all_numbers: bool = False
    example: str = ""

    @classmethod
    def from_column(
        cls,
        column: Sequence[str | None],
        decimal: str,
        *,
        typed_number: bool = False,
        floating: bool = False,
    ) -> ColumnProfile:
        """Build the profile of a column from its texts; typed_number, floating: by its type."""
        counts = Counter(text for text in column if text is not None)
        rows = len(column)
        missing = rows - counts.total()
        distinct = len(counts) == counts.total() > 1
        texts = frozenset(counts)
        if typed_number:
            return cls(
                texts,
                counts=counts,
                rows=rows,
                missing=missing,
                typed_number=True,
                pointed=floating,
                distinct=distinct,
                mostly_numeric=True,
                sample=column,
                all_numbers=True,
            )
        percent = _most_match(_PERCENT, "%", texts)
        commas = decimal == "." and _most_match(_COMMA, ",", texts)
        plain, sample = counts, column
        if percent or decimal == ",":
            spelled = {text: _plain_number(text) for text in texts}
            sample = [None if text is None else spelled[text] for text in column]
            plain = Counter(text for text in sample if text is not None)
            texts = frozenset(plain)
        numbers = count_numbers(texts)
        return cls(
            texts,
            counts=plain,
            rows=rows,
            missing=missing,
            pointed=any(map(_WITH_POINT.search, numbers_of_texts(texts))),
            percent=percent,
            commas=commas,
            distinct=distinct,
            mostly_numeric=2 * numbers > len(texts),
            sample=sample,
            all_numbers=numbers == len(texts),
            example=min(filter(_COMMA.fullmatch, counts), default="") if commas else "",
        )

    def with_spelling(self, spelling: Mapping[str, str]) -> ColumnProfile:
        """Return the profile with values spelled as a mapping says."""
        counts = Counter[str]()
        for text, rows in self.counts.items():
            counts[spelling.get(text, text)] += rows
        return replace(
            self,
            texts=frozenset(spelling.get(text, text) for text in self.texts),
            counts=counts,
            sample=[text and spelling.get(text, text) for text in self.sample],
            all_numbers=all(map(is_score, counts)),
        )

    @property
    def is_binary(self) -> bool:
        """True if every value is 0 or 1."""
        return not self.typed_number and bool(self.texts) and self.texts <= {"0", "1"}

    @property
    def number_of_text(self) -> Mapping[str, float]:
        """The numbers among the values, by their texts."""
        return numbers_of_texts(self.texts)

    @property
    def numbers(self) -> Collection[float]:
        """The values that are numbers."""
        return self.number_of_text.values()

    @property
    def is_integer(self) -> bool:
        """True if all values are whole numbers."""
        return len(self.numbers) == len(self.texts) and all(n % 1 == 0 for n in self.numbers)

    @property
    def is_nonnegative(self) -> bool:
        """True if no number is negative."""
        return all(number >= 0 for number in self.numbers)

    @property
    def shares(self) -> bool:
        """True if all numbers lie between 0 and 1."""
        return all(0 <= number <= 1 for number in self.numbers)

    @property
    def classes(self) -> bool:
        """True if the values may be classes: texts, or whole numbers, NaN among them."""
        return all(number % 1 == 0 or number != number for number in self.numbers)


@lru_cache(maxsize=64)
def numbers_of_texts(texts: frozenset[str]) -> Mapping[str, float]:
    """Return the numbers among texts, by the text."""
    if count_numbers(texts) == len(texts):
        return {text: float(text) for text in texts}
    return {text: float(text) for text in texts if is_score(text)}


ColumnProfiles = Mapping[str, ColumnProfile]


def are_mostly_numbers(texts: Collection[str]) -> bool:
    """Return whether most texts are numbers: a bad cell does not turn scores into labels."""
    return 2 * count_numbers(texts) > len(texts)


def count_numbers(texts: Collection[str]) -> int:
    """Return how many texts are numbers: by one match of all, or else by one of each."""
    lines = "\n".join(texts)
    if lines.count("\n") == len(texts) - 1 and re.fullmatch(_SCORES, lines):
        return len(texts)
    return sum(map(is_score, texts))


def is_score(text: str) -> bool:
    """Return whether text is a number as programs write it: `0.3`, `-2`, `1e-5`; not `01`, ` 1`."""
    return bool(re.fullmatch(_SCORE, text))


def _most_match(written: re.Pattern[str], sign: str, texts: Collection[str]) -> bool:
    """Return whether most texts match a pattern, in each of whose matches a sign stands."""
    return sum(sign in text and bool(written.fullmatch(text)) for text in texts) * 2 > len(texts)


def _plain_number(text: str) -> str:
    """Return a number with a decimal comma or a percent sign as a plain one, other texts as is."""
    if not (_COMMA.fullmatch(text) or _PERCENT.fullmatch(text)):
        return text
    bare = text.rstrip("% ").replace(",", ".")
    return repr(float(f"{bare}e-2")) if text.endswith("%") else bare


def profile_sample(
    file: TableFile, null_values: Sequence[str] = (), decimal: str = ".", *, fold: bool = False
) -> dict[str, ColumnProfile]:
    """Return the profile of each column in the first rows; fold: in lower case and stripped.

    Raises DataError.
    """
    nulls = set(null_values)
    if file.head is not None:
        sample = file.head.sample
        cells = zip(*sample, strict=True) if sample else [()] * len(file.columns)
        columns = {
            name: [None if text in nulls else text for text in values]
            for name, values in zip(file.columns, cells, strict=True)
        }
        types: Mapping[str, Any] = {}
    else:
        frame = _first_rows(file)
        types = frame.schema
        columns = {name: _texts(frame[name].to_list(), nulls) for name in file.columns}
    profiles = {}
    for name, texts in columns.items():
        typed, floating = name in types and types[name].is_numeric(), False
        if typed:
            floating = not types[name].is_integer()
        folded = [text and text.strip().lower() for text in texts] if fold else texts
        profiles[name] = ColumnProfile.from_column(
            folded, decimal, typed_number=typed, floating=floating
        )
    return profiles


def sample_is_whole(files: Sequence[TableFile], profiles: Mapping[str, ColumnProfile]) -> bool:
    """Return whether the profiles of the first rows are those of all rows."""
    if len(files) > 1:
        return False
    head = files[0].head
    if head is not None:
        return head.is_whole
    return max((profile.rows for profile in profiles.values()), default=0) < SAMPLE_ROWS


def count_rows(number: int) -> str:
    """Return a number of rows in words: `1 row`, `1,200 rows`."""
    return f"{number:,} row{'s' * (number != 1)}"


def _first_rows(file: TableFile) -> nw.DataFrame[Any]:
    assert file.native is not None
    try:
        native = file.native.head(SAMPLE_ROWS)
        if native.implementation.is_duckdb():  # some types, and infinite dates, are its own
            kinds = native.collect_schema()
            odd = [
                name
                for name, kind in kinds.items()
                if not (kind.is_numeric() or kind.is_nested()) and kind != nw.Boolean
            ]
            native = native.with_columns(nw.col(name).cast(nw.String) for name in odd)
        return collect(native)
    except engine_errors() as error:
        if file.source is None:
            raise unreadable_frame_error(file.name, error) from error
        raise unreadable_error(file.name, file.source.format, error) from error


def _texts(values: Sequence[Any], nulls: Collection[str]) -> list[str | None]:
    """Return values as texts; none for lists and objects."""
    if any(isinstance(value, (list, dict)) for value in values[:1]):
        return []
    floats = {*map(type, values)} == {float}  # faster for many numbers
    texts = (str(v) if v == v else None for v in values) if floats else map(as_text, values)
    return [None if text in nulls else text for text in texts]


def profile_all_rows(
    files: Sequence[TableFile],
    sample: Mapping[str, ColumnProfile],
    null_values: Sequence[str] = (),
    decimal: str = ".",
    *,
    fold: bool = False,
) -> dict[str, ColumnProfile]:
    """Return the profiles of all rows of the files; sample: those of the first rows."""
    cells = {name: first for name, first in sample.items() if _holds_cells(first)}
    if not cells:
        return dict(sample)
    rows_of_files = [_count_all_rows(file) for file in files]
    counts_by_name = _counts_of_few(files, rows_of_files, cells, null_values, fold=fold)
    remaining = {name: first for name, first in cells.items() if name not in counts_by_name}
    profiles = {
        name: _profile_of_few(counts, sum(rows_of_files), cells[name], decimal)
        for name, counts in counts_by_name.items()
    } | _profiles_of_many(files, rows_of_files, remaining, null_values, decimal)
    for name, profile in profiles.items():
        first = cells[name]
        if first.distinct and not profile.counts:
            unique = all_distinct(files, name, null_values, first.texts)
            profiles[name] = replace(profile, distinct=unique)
    return {name: profiles.get(name, first) for name, first in sample.items()}


def _holds_cells(first: ColumnProfile) -> bool:
    """Return whether a column holds single values: not lists and objects."""
    return bool(first.sample or first.rows or first.texts)


def _count_all_rows(file: TableFile) -> int:
    frame = scan(file, {file.columns[0]: "text"})
    return int(collect(frame.select(nw.len().alias("rows")))["rows"].item())


def _batches(names: Iterable[str], rows: int) -> Iterator[list[str]]:
    """Yield names of columns that are read together, as many as memory holds."""
    rest = list(names)
    size = max(1, CELLS_AT_ONCE // max(rows, 1))
    while rest:
        yield rest[:size]
        rest = rest[size:]


def _counts_of_few(
    files: Sequence[TableFile],
    rows_of_files: Sequence[int],
    columns: Mapping[str, ColumnProfile],
    null_values: Sequence[str],
    *,
    fold: bool,
) -> dict[str, Counter[str]]:
    """Return the rows of each value, of the columns that have at most 1,000 values in all files."""
    names = [
        name
        for name, first in columns.items()
        if len(first.texts) <= MOST_VALUES and not (first.distinct and first.rows > MOST_VALUES)
    ]
    counts_by_name = {name: Counter[str]() for name in names}
    for file, rows in zip(files, rows_of_files, strict=True):
        if not names:
            break
        readings: dict[str, CellReading] = dict.fromkeys(names, "folded" if fold else "text")
        frame = scan(file, readings, null_values=null_values)
        names = [name for name in names if _has_few_values(frame, name)]
        for batch in _batches(names, rows):
            queries = [frame.group_by(name).agg(nw.len().alias(ROWS)) for name in batch]
            for name, table in zip(batch, collect_together(queries), strict=True):
                counts_by_name[name] += count_texts(table[name].to_list(), table[ROWS].to_list())
        names = [name for name in names if len(counts_by_name[name]) <= MOST_VALUES]
    return {name: counts_by_name[name] for name in names}


def _profile_of_few(
    counts: Counter[str], rows: int, first: ColumnProfile, decimal: str
) -> ColumnProfile:
    """Return the profile of a column with the rows of each of its values."""
    profile = ColumnProfile.from_column(
        [*counts], decimal, typed_number=first.typed_number, floating=first.pointed
    )
    spelled: Mapping[str, int] = counts
    if len({*profile.sample} - {None}) == len(counts):
        pairs = zip(profile.sample, counts.values(), strict=True)
        spelled = {str(text): number for text, number in pairs}
    return replace(
        profile,
        counts=spelled,
        rows=rows,
        missing=rows - sum(counts.values()),
        distinct=len(counts) == sum(counts.values()) > 1,
        sample=first.sample,
    )


def _has_few_values(frame: Frame, name: str) -> bool:
    """Return whether the values of a column may be brought here from an engine elsewhere."""
    if not (frame.implementation.is_duckdb() or frame.implementation.is_spark_like()):
        return True
    values = collect(frame.select(nw.col(name).n_unique().alias("values")))["values"].item()
    return bool(values <= MOST_VALUES)


@dataclass(slots=True)
class CellSummary:
    """A summary of the cells of a column of many values, of all files so far."""

    texts: set[str]
    rows: int = 0
    missing: int = 0
    numbers: int = 0

    def add(self, rows: int, missing: int, numbers: int, texts: Iterable[str | None]) -> None:
        """Add the summary of a file."""
        self.rows += rows
        self.missing += missing
        self.numbers += numbers
        self.texts |= {text for text in texts if text}

    def profile(self, first: ColumnProfile) -> ColumnProfile:
        """Return the profile of all rows; first: that of the first rows."""
        texts = frozenset(self.texts)
        others = self.rows - self.missing - self.numbers
        is_known = self.rows > 0  # else the cells are in an engine elsewhere
        return replace(
            first,
            texts=texts,
            counts={},
            rows=self.rows or first.rows,
            missing=self.missing,
            pointed=first.pointed or any(map(_WITH_POINT.search, numbers_of_texts(texts))),
            mostly_numeric=self.numbers > others if is_known else first.mostly_numeric,
            all_numbers=others == 0 if is_known else first.all_numbers,
        )


def _profiles_of_many(
    files: Sequence[TableFile],
    rows_of_files: Sequence[int],
    columns: Mapping[str, ColumnProfile],
    null_values: Sequence[str],
    decimal: str,
) -> dict[str, ColumnProfile]:
    """Return the profiles of columns of many values: extremes, and cells of other kinds."""
    if not columns:
        return {}
    summaries = {name: CellSummary({*first.texts}) for name, first in columns.items()}
    for file, rows in zip(files, rows_of_files, strict=True):
        frame = scan(file, dict.fromkeys(columns, "text"), null_values=null_values)
        if not frame.implementation.is_polars():
            for name, summary in summaries.items():
                summary.texts |= {*_extremes_in_engine(frame, name)}
            continue
        for batch in _batches(columns, rows):
            in_batch = {name: summaries[name] for name in batch}
            _add_summaries(frame, in_batch, columns, rows, decimal)
    return {name: summary.profile(columns[name]) for name, summary in summaries.items()}


def _add_summaries(
    frame: Frame,
    summaries: Mapping[str, CellSummary],
    columns: Mapping[str, ColumnProfile],
    rows: int,
    decimal: str,
) -> None:
    """Add the cells of a frame of polars to the summaries of columns, in one pass."""
    expressions = [
        expression.alias(f"{position} {fact}")
        for position, name in enumerate(summaries)
        for fact, expression in _facts_of_cells(name, columns[name], decimal).items()
    ]
    lazy: pl.LazyFrame = frame.to_native()
    facts = lazy.select(expressions).collect().row(0, named=True)
    for position, summary in enumerate(summaries.values()):
        texts = [facts[f"{position} {name}"] for name in TEXT_FACTS]
        summary.add(rows, facts[f"{position} missing"], facts[f"{position} numbers"], texts)


TEXT_FACTS = ("least", "greatest", "fraction", "other")


def _plain_numbers(text: pl.Expr) -> pl.Expr:
    """Return cells as `_plain_number` writes each."""
    in_full = "^(?:{})$"
    has_comma = text.str.contains(in_full.format(_COMMA.pattern))
    is_written = has_comma | text.str.contains(in_full.format(_PERCENT.pattern))
    bare = text.str.strip_chars_end("% ").str.replace(",", ".", literal=True)
    share = (bare.cast(pl.Float64, strict=False) / 100).cast(pl.String)
    written = pl.when(text.str.ends_with("%")).then(share).otherwise(bare)
    return pl.when(is_written).then(written).otherwise(text)


def _facts_of_cells(name: str, first: ColumnProfile, decimal: str) -> dict[str, pl.Expr]:
    """Return missing cells, numbers, and texts: extremes, a fraction, a text that is no number."""
    text = pl.col(name).cast(pl.String)
    plain = _plain_numbers(text) if first.percent or decimal == "," else text
    number = plain.cast(pl.Float64, strict=False)
    is_number = plain.str.contains(rf"^{_NUMBER}$")
    number = pl.when(is_number & number.is_not_nan()).then(number)
    return {
        "missing": text.is_null().sum(),
        "numbers": is_number.sum(),
        "least": plain.gather(number.arg_min()).first(),
        "greatest": plain.gather(number.arg_max()).first(),
        "fraction": plain.filter(number % 1 != 0).min(),
        "other": plain.filter(~is_number).min(),
    }


def _extremes_in_engine(frame: Frame, name: str) -> Iterable[str]:
    """Return the least and greatest number of a numeric column of an engine, as texts."""
    if not frame.collect_schema()[name].is_numeric():
        return
    column = nw.col(name)
    for extreme in (column.min(), column.max()):
        value = collect(frame.select(extreme.alias("value")))["value"].item()
        if (text := as_text(value)) is not None:
            yield text
