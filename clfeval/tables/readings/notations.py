"""Notations of cells: decimal commas, separators of thousands, and words for missing values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from clfeval.errors import DataError, OfferedReading, Problem, format_option, join_texts
from clfeval.placeholders import END, OPTION
from clfeval.tables.input import InputOptions
from clfeval.tables.profiles import ColumnProfile
from clfeval.tables.readings.labels import known_labels

COMMA = "has a comma that may be a decimal sign or a thousands separator"
_EITHER = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}\s*%?")
# marks of missing values: of R, pandas, SQL and Hive, spreadsheets (and their errors), and by hand
_MARKS = {""}.union(
    ["na", "n/a", "n.a.", "nan", "<na>", "nat", "null", "(null)", "\\n", "nil"],
    ["?", ".", "..", "--", "---", "_"],
    ["#n/a", "#na", "#nv", "#null!", "#value!", "#div/0!", "#ref!", "#num!", "#name?"],
)
_WORDS = {"none", "missing", "-"}  # they may be classes too


def means_missing(text: str) -> bool:
    """Return whether a text usually means a missing value."""
    return text.strip().casefold() in _MARKS | _WORDS


def is_mark(text: str) -> bool:
    """Return whether a text means a missing value, and can hardly be the name of a class."""
    return text.strip().casefold() in _MARKS


def comma_hint(texts: Sequence[str]) -> str | None:
    """Return a hint on commas that may be decimal or thousands separators, None if unambiguous."""
    if not texts or not all(map(_EITHER.fullmatch, map(str.strip, texts))):
        return None
    first_text = texts[0].strip()
    decimal = first_text.replace(",", ".")
    integer = first_text.replace(",", "")
    return (
        f"add {OPTION}--decimal ','{END} to read '{first_text}' as {decimal}; if it is {integer}, "
        "remove the comma"
    )


def null_value_hint(text: str, *other_texts: str, drop: bool = False) -> str:
    """Return the hint on the option that makes texts missing values; drop: and drops their rows."""
    texts = [text, *other_texts]
    options = [format_option("--null-value", word) for word in texts]
    if drop:
        options.append(f"{OPTION}--missing drop{END}")
    quoted_texts = join_texts([f"'{word}'" for word in texts])
    verb = "mean" if other_texts else "means"
    return f"if {quoted_texts} {verb} missing, add {' '.join(options)}"


def refuse_decimal_commas(
    file: str,
    names: Iterable[str],
    truth: str,
    profiles: Mapping[str, ColumnProfile],
    input_options: InputOptions,
) -> None:
    """Raise for predictions in the named columns, or weights, with a decimal comma."""
    labels = known_labels(profiles[truth].texts, input_options) if truth in profiles else set()
    distinct_names = dict.fromkeys((*names, input_options.weight or ""))
    prediction_columns = [name for name in distinct_names if name and name in profiles]
    comma_columns = [
        name
        for name in prediction_columns
        if profiles[name].commas and not profiles[name].texts <= labels
    ]
    if not comma_columns:
        return
    ambiguity_hint = comma_hint(
        sorted(text for name in comma_columns for text in profiles[name].texts if "," in text)
    )
    if ambiguity_hint and any(_has_whole_numbers(profiles[name]) for name in comma_columns):
        _raise_commas(
            file, comma_columns, profiles, f"'{{}}' {THOUSANDS}", "write it without commas"
        )
    if ambiguity_hint:
        example = profiles[comma_columns[0]].example
        meaning = f"commas are decimal signs: '{example}' is {example.replace(',', '.')}"
        hint = "if they separate thousands, write the numbers without them"
        # weights would be 1000 times larger
        offered = (
            []
            if input_options.weight in comma_columns
            else [OfferedReading(meaning, {"decimal": ","})]
        )
        _raise_commas(file, comma_columns, profiles, f"'{{}}' {COMMA}", hint, readings=offered)
    message = "numbers with a decimal comma, such as '{}'"
    hint = f"add {OPTION}--decimal ','{END} to read them"
    _raise_commas(file, comma_columns, profiles, message, hint, fixes={"decimal": ","})


THOUSANDS = "has commas that separate thousands, as other numbers of the column have none"


def _has_whole_numbers(profile: ColumnProfile) -> bool:
    """Return whether some cells are whole numbers below 1,000, next to others with commas."""
    return any(text.isdecimal() and len(text) <= 3 for text in profile.texts)


def _raise_commas(
    file: str,
    names: Sequence[str],
    profiles: Mapping[str, ColumnProfile],
    message: str,
    hint: str,
    *,
    fixes: Mapping[str, Any] | None = None,
    readings: Sequence[OfferedReading] = (),
) -> NoReturn:
    """Raise the error of columns with commas, with an example of each."""
    problems = [
        Problem(message.format(profiles[name].example), "decimal-comma", file, None, name)
        for name in names
    ]
    raise DataError(problems, hint=hint, fixes=fixes or {}, readings=readings)
