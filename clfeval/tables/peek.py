"""Peeks: the first values of every column, and whether they are numbers, classes or ids."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from clfeval.tables.cells import as_text
from clfeval.tables.csv import SAMPLE_ROWS
from clfeval.tables.scan import TableFile, engine_errors, unreadable_error

_SCORE = re.compile(
    r"0|-?(?:[1-9]\d*|(?:0|[1-9]\d*)\.\d*|\.\d+)(?:[eE][+-]?\d+)?|-?inf|nan|NaN", re.ASCII
)


FIRST = 30  # values kept in row order
_PERCENT = re.compile(r"-?\d+(?:[.,]\d+)?\s*%")
_COMMA = re.compile(r"-?\d+,\d+(?:\s*%)?")


@dataclass(frozen=True, slots=True)
class ColumnPeek:
    """The distinct values of a column's sample, as text.

    typed_number: of a numeric type. percent: most values have a percent sign, and are divided by
    100. commas: most have an undeclared decimal comma. distinct: no value is repeated. first: the
    first values in order, None where missing.
    """

    texts: frozenset[str]
    typed_number: bool = False
    percent: bool = False
    commas: bool = False
    distinct: bool = False
    mostly_numeric: bool = False
    first: tuple[str | None, ...] = ()

    @classmethod
    def from_column(
        cls, column: Sequence[str | None], decimal: str, *, typed_number: bool = False
    ) -> ColumnPeek:
        """Build the peek of a column from its texts."""
        values = [text for text in column if text is not None]
        texts, first = frozenset(values), tuple(column[:FIRST])
        distinct = len(values) == len(texts) > 1
        if typed_number:
            return cls(texts, typed_number, distinct=distinct, mostly_numeric=True, first=first)
        percent = _most_match(_PERCENT, texts)
        commas = decimal == "." and _most_match(_COMMA, texts)
        if percent or decimal == ",":
            known = (_COMMA, _PERCENT)

            def plain(text: str) -> str:
                if not any(one.fullmatch(text) for one in known):
                    return text
                bare = text.rstrip("% ").replace(",", ".")
                return repr(float(f"{bare}e-2")) if text.endswith("%") else bare

            texts = frozenset(map(plain, texts))
            first = tuple(text and plain(text) for text in first)
        return cls(texts, typed_number, percent, commas, distinct, are_mostly_numbers(texts), first)

    def in_bits(self, pair: str) -> ColumnPeek:
        """Return the peek with 0/1 values spelled as a pair such as `False/True`."""
        no, yes = pair.split("/")
        written = {text: yes if text.casefold() in ("1", "true") else no for text in self.texts}
        first = tuple(text and written.get(text, text) for text in self.first)
        return replace(self, texts=frozenset(written.values()), first=first)

    @property
    def bit(self) -> bool:
        """True if every value is 0 or 1."""
        return not self.typed_number and bool(self.texts) and self.texts <= {"0", "1"}

    @property
    def whole(self) -> bool:
        """True if all values are whole numbers."""
        return all(is_score(text) and float(text) % 1 == 0 for text in self.texts)

    @property
    def positive(self) -> bool:
        """True if no number is negative."""
        return all(float(text) >= 0 for text in self.texts if is_score(text))

    @property
    def shares(self) -> bool:
        """True if all numbers lie between 0 and 1."""
        return all(0 <= float(text) <= 1 for text in self.texts if is_score(text))

    @property
    def classes(self) -> bool:
        """True if the values may be classes: texts, or whole numbers."""
        return all(not is_score(text) or float(text) % 1 == 0 for text in self.texts)


def are_mostly_numbers(texts: Collection[str]) -> bool:
    """Return whether most texts are numbers: a bad cell does not turn scores into labels."""
    return 2 * sum(map(is_score, texts)) > len(texts)


def _most_match(written: re.Pattern[str], texts: Collection[str]) -> bool:
    return sum(written.fullmatch(text) is not None for text in texts) * 2 > len(texts)


def peek_columns(
    file: TableFile, null_values: Sequence[str] = (), decimal: str = ".", *, fold: bool = False
) -> dict[str, ColumnPeek]:
    """Return the peek of each column; fold: in lower case and stripped. Raises DataError."""
    without = set(null_values)
    if file.head is not None:
        sample = file.head.sample
        columns = zip(*sample, strict=True) if sample else [()] * len(file.columns)
        found = {
            name: ([None if v in without else v for v in values], False)
            for name, values in zip(file.columns, columns, strict=True)
        }
    else:
        assert file.native is not None
        try:
            frame = file.native.head(SAMPLE_ROWS).collect()
        except engine_errors() as error:
            if file.source is None:
                raise
            raise unreadable_error(file.name, file.source.format, error) from error
        found = {
            name: (_texts(frame[name].to_list(), without), frame.schema[name].is_numeric())
            for name in file.columns
        }
    return {
        name: ColumnPeek.from_column(
            [text and text.strip().lower() for text in values] if fold else values, decimal,
            typed_number=typed,
        )
        for name, (values, typed) in found.items()
    }  # fmt: skip


def _texts(values: Sequence[Any], without: Collection[str]) -> list[str | None]:
    """Return values as texts; none for lists and objects."""
    if any(isinstance(value, (list, dict)) for value in values[:1]):
        return []
    floats = {*map(type, values)} == {float}  # faster for many numbers
    texts = (str(v) if v == v else None for v in values) if floats else map(as_text, values)
    return [None if text in without else text for text in texts]


def is_score(text: str) -> bool:
    """Return whether text is a number as programs write it: `0.3`, `-2`, `1e-5`; not `01`, ` 1`."""
    return bool(_SCORE.fullmatch(text))


@dataclass(frozen=True, slots=True)
class ColumnRole:
    """The role of a column of a table, with the reason."""

    column: str
    role: str
    why: str


class Read(Protocol):
    """An opened table that describes how it was read."""

    def described(self) -> str:
        """Return one line on how the table was read."""

    def taken(self) -> Sequence[ColumnRole]:
        """Return the role of every column, with the reason."""


Facts = Mapping[str, object]  # counts of rows, models, classes etc. by name
