"""Single cells, whatever table they stand in: which are missing, their text, what is a class."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from clfeval.shell import format_option
from clfeval.tables.input import Input
from clfeval.tables.positive import binary_pair

FRAME = "<frame>"  # the name of a table that is no file
COMMA = "has a comma that may be a decimal sign or a thousands separator"
_EITHER = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}\s*%?")
_MISSING_WORDS = {"", "na", "n/a", "nan", "null", "none", "-", "?", ".", "missing"}


def is_missing(value: object) -> bool:
    """Tell whether a cell is missing: None, NaN, or pandas' NA (which refuses to be compared)."""
    if value is None or type(value).__name__ == "NAType":
        return True
    return not isinstance(value, np.ndarray) and value != value


def as_text(value: object) -> str | None:
    """Write a label as text: True is true, 1 is 1, 1.0 is 1.0; None and NaN are missing."""
    if is_missing(value):
        return None
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return str(value)


def distinct_texts(values: Iterable[object]) -> set[str]:
    """Return the distinct values as text, the missing ones left out."""
    return {text for text in map(as_text, set(values)) if text is not None}


def count_texts(values: Iterable[object], counts: Iterable[int]) -> Counter[str]:
    """Return how often each value stands somewhere, as text, the missing ones left out."""
    found: Counter[str] = Counter()
    for value, count in zip(values, counts, strict=True):
        text = as_text(value)
        if text is not None:
            found[text] += count
    return found


def missing_word_hint(text: str) -> str | None:
    """Return the hint for a word that programs write for a missing value."""
    return null_value_hint(text) if text.casefold() in _MISSING_WORDS else None


def comma_hint(texts: Sequence[str]) -> str | None:
    """Return a hint on commas that may be decimal or thousands separators, None if unambiguous."""
    if not texts or not all(map(_EITHER.fullmatch, map(str.strip, texts))):
        return None
    first = texts[0].strip()
    decimal, whole = first.replace(",", "."), first.replace(",", "")
    return f"add --decimal ',' to read '{first}' as {decimal}; if it is {whole}, remove the comma"


def null_value_hint(text: str) -> str:
    """Say how a text is made to mean missing."""
    return f"if '{text}' means missing, add {format_option('--null-value', text)}"


def known_labels(classes: Iterable[str], roles: Input) -> set[str]:
    """Return truth's labels, the declared ones, and both of a pair like 0 / 1."""
    known = {*classes, *roles.classes}
    if roles.positive is not None:
        known.add(roles.positive)
    return known | binary_pair(known)


def natural_sort_key(text: str) -> tuple[tuple[int, float, str], ...]:
    """Order text with numbers by their value: 2 before 10, fold9 before fold10."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return tuple(
        (0, float(part), part) if index % 2 else (1, 0.0, part)
        for index, part in enumerate(parts)
        if part
    )
