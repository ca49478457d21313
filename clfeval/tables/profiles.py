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
        decimal_sign: str,
        *,
        typed_number: bool = False,
        floating: bool = False,
    ) -> ColumnProfile:
        """Build the profile of a column from its texts, with `decimal_sign` as their decimal sign.

        typed_number: its type is numeric. floating: its type is a float.
        """
        counts = Counter(text for text in column if text is not None)
        rows = len(column)
        missing = rows - counts.total()
        is_distinct = len(counts) == counts.total() > 1
        texts = frozenset(counts)
        if typed_number:
            return cls(
                texts,
                counts=counts,
                rows=rows,
                missing=missing,
                typed_number=True,
                pointed=floating,
                distinct=is_distinct,
                mostly_numeric=True,
                sample=column,
                all_numbers=True,
            )
        has_percents = _most_match(_PERCENT, "%", texts)
        has_commas = decimal_sign == "." and _most_match(_COMMA, ",", texts)
        plain_counts, sample = counts, column
        if has_percents or decimal_sign == ",":
            plain_of_text = {text: _plain_number(text) for text in texts}
            sample = [None if text is None else plain_of_text[text] for text in column]
            plain_counts = Counter(text for text in sample if text is not None)
            texts = frozenset(plain_counts)
        number_count = count_numbers(texts)
        return cls(
            texts,
            counts=plain_counts,
            rows=rows,
            missing=missing,
            pointed=any(map(_WITH_POINT.search, numbers_of_texts(texts))),
            percent=has_percents,
            commas=has_commas,
            distinct=is_distinct,
            mostly_numeric=2 * number_count > len(texts),
            sample=sample,
            all_numbers=number_count == len(texts),
            example=min(filter(_COMMA.fullmatch, counts), default="") if has_commas else "",
        )

    def with_spelling(self, spelling: Mapping[str, str]) -> ColumnProfile:
        """Return the profile with values spelled as a mapping says."""
        counts = Counter[str]()
        for text, row_count in self.counts.items():
            counts[spelling.get(text, text)] += row_count
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


def _most_match(pattern: re.Pattern[str], sign: str, texts: Collection[str]) -> bool:
    """Return whether most texts match a pattern, in each of whose matches a sign stands."""
    return sum(sign in text and bool(pattern.fullmatch(text)) for text in texts) * 2 > len(texts)


def _plain_number(text: str) -> str:
    """Return a number with a decimal comma or a percent sign as a plain one, other texts as is."""
    if not (_COMMA.fullmatch(text) or _PERCENT.fullmatch(text)):
        return text
    bare_number = text.rstrip("% ").replace(",", ".")
    return repr(float(f"{bare_number}e-2")) if text.endswith("%") else bare_number


def profile_sample(
    file: TableFile, null_values: Sequence[str] = (), decimal_sign: str = ".", *, fold: bool = False
) -> dict[str, ColumnProfile]:
    """Return the profile of each column in the first rows; fold: in lower case and stripped.

    Raises DataError.
    """
    null_texts = set(null_values)
    if file.head is not None:
        sample = file.head.sample
        columns = zip(*sample, strict=True) if sample else [()] * len(file.columns)
        texts_of_column = {
            name: [None if text in null_texts else text for text in cells]
            for name, cells in zip(file.columns, columns, strict=True)
        }
        column_types: Mapping[str, Any] = {}  # all are text
    else:
        frame = _first_rows(file)
        column_types = frame.schema
        texts_of_column = {name: _texts(frame[name].to_list(), null_texts) for name in file.columns}
    profiles = {}
    for name, texts in texts_of_column.items():
        is_numeric = name in column_types and column_types[name].is_numeric()
        is_float = is_numeric and not column_types[name].is_integer()
        folded_texts = [text and text.strip().lower() for text in texts] if fold else texts
        profiles[name] = ColumnProfile.from_column(
            folded_texts, decimal_sign, typed_number=is_numeric, floating=is_float
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


def count_rows(row_count: int) -> str:
    """Return a number of rows in words: `1 row`, `1,200 rows`."""
    return f"{row_count:,} row" if row_count == 1 else f"{row_count:,} rows"


def _first_rows(file: TableFile) -> nw.DataFrame[Any]:
    """Return the first rows of typed data; DataError if they cannot be read."""
    assert file.native is not None
    try:
        native = file.native.head(SAMPLE_ROWS)
        if native.implementation.is_duckdb():  # some types, and infinite dates, are its own
            column_types = native.collect_schema()
            special_names = [
                name
                for name, dtype in column_types.items()
                if not (dtype.is_numeric() or dtype.is_nested()) and dtype != nw.Boolean
            ]
            native = native.with_columns(nw.col(name).cast(nw.String) for name in special_names)
        return collect(native)
    except engine_errors() as error:
        if file.source is None:
            raise unreadable_frame_error(file.name, error) from error
        raise unreadable_error(file.name, file.source.format, error) from error


def _texts(values: Sequence[Any], null_texts: Collection[str]) -> list[str | None]:
    """Return values as texts; none for lists and objects."""
    if any(isinstance(value, (list, dict)) for value in values[:1]):
        return []
    are_floats = {*map(type, values)} == {float}  # faster for many numbers
    texts = (
        (str(value) if value == value else None for value in values)
        if are_floats
        else map(as_text, values)
    )
    return [None if text in null_texts else text for text in texts]


def profile_all_rows(
    files: Sequence[TableFile],
    sample: Mapping[str, ColumnProfile],
    null_values: Sequence[str] = (),
    decimal_sign: str = ".",
    *,
    fold: bool = False,
) -> dict[str, ColumnProfile]:
    """Return the profiles of all rows of the files; sample: those of the first rows."""
    sample_profiles = {
        name: sample_profile
        for name, sample_profile in sample.items()
        if _holds_cells(sample_profile)
    }
    if not sample_profiles:
        return dict(sample)
    row_counts = [_count_all_rows(file) for file in files]
    counts_by_name = _counts_of_few(files, row_counts, sample_profiles, null_values, fold=fold)
    other_profiles = {
        name: sample_profile
        for name, sample_profile in sample_profiles.items()
        if name not in counts_by_name
    }
    profiles = {
        name: _profile_of_few(counts, sum(row_counts), sample_profiles[name], decimal_sign)
        for name, counts in counts_by_name.items()
    } | _profiles_of_many(files, row_counts, other_profiles, null_values, decimal_sign)
    for name, profile in profiles.items():
        sample_profile = sample_profiles[name]
        if sample_profile.distinct and not profile.counts:
            is_distinct = all_distinct(files, name, null_values, sample_profile.texts)
            profiles[name] = replace(profile, distinct=is_distinct)
    return {name: profiles.get(name, sample_profile) for name, sample_profile in sample.items()}


def _holds_cells(sample_profile: ColumnProfile) -> bool:
    """Return whether a column holds single values: not lists and objects."""
    return bool(sample_profile.sample or sample_profile.rows or sample_profile.texts)


def _count_all_rows(file: TableFile) -> int:
    frame = scan(file, {file.columns[0]: "text"})
    return int(collect(frame.select(nw.len().alias("rows")))["rows"].item())


def _batches(names: Iterable[str], row_count: int) -> Iterator[list[str]]:
    """Yield names of columns that are read together, as many as memory holds."""
    remaining_names = list(names)
    batch_size = max(1, CELLS_AT_ONCE // max(row_count, 1))
    while remaining_names:
        yield remaining_names[:batch_size]
        remaining_names = remaining_names[batch_size:]


def _counts_of_few(
    files: Sequence[TableFile],
    row_counts: Sequence[int],
    sample_profiles: Mapping[str, ColumnProfile],
    null_values: Sequence[str],
    *,
    fold: bool,
) -> dict[str, Counter[str]]:
    """Return the rows of each value, of the columns that have at most 1,000 values in all files."""
    names = [
        name
        for name, sample_profile in sample_profiles.items()
        if len(sample_profile.texts) <= MOST_VALUES
        and not (sample_profile.distinct and sample_profile.rows > MOST_VALUES)
    ]
    counts_by_name = {name: Counter[str]() for name in names}
    for file, row_count in zip(files, row_counts, strict=True):
        if not names:
            break
        readings: dict[str, CellReading] = dict.fromkeys(names, "folded" if fold else "text")
        frame = scan(file, readings, null_values=null_values)
        names = [name for name in names if _has_few_values(frame, name)]
        for batch in _batches(names, row_count):
            queries = [frame.group_by(name).agg(nw.len().alias(ROWS)) for name in batch]
            for name, value_table in zip(batch, collect_together(queries), strict=True):
                counts_by_name[name] += count_texts(
                    value_table[name].to_list(), value_table[ROWS].to_list()
                )
        names = [name for name in names if len(counts_by_name[name]) <= MOST_VALUES]
    return {name: counts_by_name[name] for name in names}


def _profile_of_few(
    counts: Counter[str], row_count: int, sample_profile: ColumnProfile, decimal_sign: str
) -> ColumnProfile:
    """Return the profile of a column with the rows of each of its values."""
    profile = ColumnProfile.from_column(
        [*counts],
        decimal_sign,
        typed_number=sample_profile.typed_number,
        floating=sample_profile.pointed,
    )
    plain_counts: Mapping[str, int] = counts
    if len({*profile.sample} - {None}) == len(counts):
        pairs = zip(profile.sample, counts.values(), strict=True)
        plain_counts = {str(text): count for text, count in pairs}
    return replace(
        profile,
        counts=plain_counts,
        rows=row_count,
        missing=row_count - sum(counts.values()),
        distinct=len(counts) == sum(counts.values()) > 1,
        sample=sample_profile.sample,
    )


def _has_few_values(frame: Frame, name: str) -> bool:
    """Return whether the values of a column may be brought here from an engine elsewhere."""
    if not (frame.implementation.is_duckdb() or frame.implementation.is_spark_like()):
        return True
    distinct_count = collect(frame.select(nw.col(name).n_unique().alias("values")))["values"].item()
    return bool(distinct_count <= MOST_VALUES)


@dataclass(slots=True)
class CellSummary:
    """A summary of the cells of a column of many values, of all files so far."""

    texts: set[str]
    rows: int = 0
    missing: int = 0
    numbers: int = 0

    def add(
        self, row_count: int, missing_count: int, number_count: int, texts: Iterable[str | None]
    ) -> None:
        """Add the summary of a file."""
        self.rows += row_count
        self.missing += missing_count
        self.numbers += number_count
        self.texts |= {text for text in texts if text}

    def profile(self, sample_profile: ColumnProfile) -> ColumnProfile:
        """Return the profile of all rows; sample_profile: that of the first rows."""
        texts = frozenset(self.texts)
        text_count = self.rows - self.missing - self.numbers
        is_summarised = self.rows > 0  # else the cells are in an engine elsewhere
        return replace(
            sample_profile,
            texts=texts,
            counts={},
            rows=self.rows or sample_profile.rows,
            missing=self.missing,
            pointed=sample_profile.pointed or any(map(_WITH_POINT.search, numbers_of_texts(texts))),
            mostly_numeric=self.numbers > text_count
            if is_summarised
            else sample_profile.mostly_numeric,
            all_numbers=text_count == 0 if is_summarised else sample_profile.all_numbers,
        )


def _profiles_of_many(
    files: Sequence[TableFile],
    row_counts: Sequence[int],
    sample_profiles: Mapping[str, ColumnProfile],
    null_values: Sequence[str],
    decimal_sign: str,
) -> dict[str, ColumnProfile]:
    """Return the profiles of columns of many values: extremes, and cells of other kinds."""
    if not sample_profiles:
        return {}
    summaries = {
        name: CellSummary({*sample_profile.texts})
        for name, sample_profile in sample_profiles.items()
    }
    for file, row_count in zip(files, row_counts, strict=True):
        frame = scan(file, dict.fromkeys(sample_profiles, "text"), null_values=null_values)
        if not frame.implementation.is_polars():
            for name, summary in summaries.items():
                summary.texts |= {*_extremes_in_engine(frame, name)}
            continue
        for batch in _batches(sample_profiles, row_count):
            batch_summaries = {name: summaries[name] for name in batch}
            _add_summaries(frame, batch_summaries, sample_profiles, row_count, decimal_sign)
    return {name: summary.profile(sample_profiles[name]) for name, summary in summaries.items()}


def _add_summaries(
    frame: Frame,
    summaries: Mapping[str, CellSummary],
    sample_profiles: Mapping[str, ColumnProfile],
    row_count: int,
    decimal_sign: str,
) -> None:
    """Add the cells of a frame of polars to the summaries of columns, in one pass."""
    expressions = [
        expression.alias(f"{index} {fact}")
        for index, name in enumerate(summaries)
        for fact, expression in _facts_of_cells(name, sample_profiles[name], decimal_sign).items()
    ]
    native: pl.LazyFrame = frame.to_native()
    cell_facts = native.select(expressions).collect().row(0, named=True)
    for index, summary in enumerate(summaries.values()):
        texts = [cell_facts[f"{index} {fact}"] for fact in TEXT_FACTS]
        missing_count = cell_facts[f"{index} missing"]
        summary.add(row_count, missing_count, cell_facts[f"{index} numbers"], texts)


TEXT_FACTS = ("least", "greatest", "fraction", "other")


def _plain_numbers(text: pl.Expr) -> pl.Expr:
    """Return cells as `_plain_number` writes each."""
    full_match = "^(?:{})$"
    has_comma = text.str.contains(full_match.format(_COMMA.pattern))
    is_formatted = has_comma | text.str.contains(full_match.format(_PERCENT.pattern))
    bare_number = text.str.strip_chars_end("% ").str.replace(",", ".", literal=True)
    fraction = (bare_number.cast(pl.Float64, strict=False) / 100).cast(pl.String)
    plain_number = pl.when(text.str.ends_with("%")).then(fraction).otherwise(bare_number)
    return pl.when(is_formatted).then(plain_number).otherwise(text)


def _facts_of_cells(
    name: str, sample_profile: ColumnProfile, decimal_sign: str
) -> dict[str, pl.Expr]:
    """Return missing cells, numbers, and texts: extremes, a fraction, a text that is no number."""
    text = pl.col(name).cast(pl.String)
    plain_text = _plain_numbers(text) if sample_profile.percent or decimal_sign == "," else text
    number = plain_text.cast(pl.Float64, strict=False)
    is_number = plain_text.str.contains(rf"^{_NUMBER}$")
    number = pl.when(is_number & number.is_not_nan()).then(number)
    return {
        "missing": text.is_null().sum(),
        "numbers": is_number.sum(),
        "least": plain_text.gather(number.arg_min()).first(),
        "greatest": plain_text.gather(number.arg_max()).first(),
        "fraction": plain_text.filter(number % 1 != 0).min(),
        "other": plain_text.filter(~is_number).min(),
    }


def _extremes_in_engine(frame: Frame, name: str) -> Iterable[str]:
    """Return the least and greatest number of a numeric column of an engine, as texts."""
    if not frame.collect_schema()[name].is_numeric():
        return
    column = nw.col(name)
    for extreme_expr in (column.min(), column.max()):
        extreme_value = collect(frame.select(extreme_expr.alias("value")))["value"].item()
        if (text := as_text(extreme_value)) is not None:
            yield text
