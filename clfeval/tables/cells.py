"""Single cells, whatever table they stand in: which are missing, and their text."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

FRAME = "<frame>"  # the name of a table that is no file
_MISSING_WORDS = {"", "na", "n/a", "nan", "null", "none", "-", "?", ".", "missing"}


def is_absent(value: object) -> bool:
    """Tell whether a cell is missing: None, NaN, or pandas' NA (which refuses to be compared)."""
    if value is None or type(value).__name__ == "NAType":
        return True
    return not isinstance(value, np.ndarray) and value != value


def as_text(value: object) -> str | None:
    """Write a label as text: True is true, 1 is 1, 1.0 is 1.0; None and NaN are missing."""
    if is_absent(value):
        return None
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return str(value)


def distinct_texts(values: Iterable[object]) -> set[str]:
    """Return the distinct values as text, the missing ones left out."""
    return {text for text in map(as_text, set(values)) if text is not None}


def means_missing(text: str) -> str | None:
    """Return the hint for a word that programs write for a missing value."""
    return null_hint(text) if text.casefold() in _MISSING_WORDS else None


def null_hint(text: str) -> str:
    """Say how a text is made to mean missing."""
    return f"if '{text}' means missing, add --null-value '{text}'"
