"""Which of truth's labels is the positive class, and which raw values read as a label."""

from __future__ import annotations

from shlex import quote
from typing import Any

from clfeval.errors import DataError, Problem, listing, suggestion
from clfeval.tables.cells import as_text
from clfeval.tables.input import Input
from clfeval.tables.names import BINARY, PARTNERS


def resolve_positive(file: str, classes: tuple[str, ...], roles: Input) -> str:
    """Return the positive class: the named one, or 1 / true of a 0 / 1 or false / true truth."""
    if roles.positive is not None:
        if classes and roles.positive not in {*classes, *roles.labels} and len(classes) > 1:
            raise DataError(
                Problem(
                    f"truth has no class '{roles.positive}'; its classes: {listing(classes)}",
                    "unknown-positive", file,
                ),
                hint=suggestion(roles.positive, classes)
                or f"a class truth happens to lack is declared with --labels {roles.positive}",
            )  # fmt: skip
        return roles.positive
    default = default_positive(classes)
    if default is None:
        raise DataError(
            Problem(
                f"which class is positive? truth has {listing(classes)}", "positive-needed", file
            ),
            hint=f"name it, for example --positive {quote(classes[-1])}; all others are negative",
        )
    return default


def default_positive(classes: tuple[str, ...] | frozenset[str]) -> str | None:
    """Return 1 or true (as it is written) when the classes are 0 / 1 or false / true."""
    folded = {name.casefold(): name for name in classes}
    if len(folded) != len(classes) or not folded:
        return None
    if set(folded) <= BINARY[0]:
        return "1"
    if set(folded) <= BINARY[1]:
        return folded.get("true") or PARTNERS.get(folded["false"], "true")
    return None


def slice_label(by: tuple[str, ...], values: tuple[Any, ...]) -> str:
    """Name a slice: `site=A`, or `site=A, sex=f` for several columns."""
    texts = [as_text(value) for value in values]
    return ", ".join(
        f"{column}={'(missing)' if text is None else text}"
        for column, text in zip(by, texts, strict=True)
    )


def values_of(values: list[Any], label: str) -> tuple[Any, ...]:
    """Return the distinct raw values that read as the label."""
    return tuple(value for value in set(values) if as_text(value) == label)
