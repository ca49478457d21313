"""Numbers of whatever kind callers have, as plain ones; what is none is refused."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

from clfeval.errors import bad_option


def whole(option: str, value: Any) -> int:
    """Return any kind of whole number as an int; UsageError for others."""
    try:
        return index(value)
    except TypeError:
        raise bad_option(f"{option} {value!r} is not a whole number") from None


def number(option: str, value: Any) -> float:
    """Return any kind of number as a float; UsageError for others, text included."""
    try:
        if isinstance(value, (str, bytes, bool)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise bad_option(f"{option} {value!r:.60} is not a number") from None


def pair(option: str, values: Any) -> tuple[float, float] | None:
    """Return two numbers; UsageError for any other count of them."""
    if values is None:
        return None
    listed = [] if isinstance(values, str) or not isinstance(values, Iterable) else list(values)
    if len(listed) != 2:
        raise bad_option(f"{option} takes two numbers, not {values!r}")
    return number(option, listed[0]), number(option, listed[1])
