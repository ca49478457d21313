"""Labels: which values count as classes, and the pairs that need no declaration."""

from __future__ import annotations

import re
from collections.abc import Iterable

from clfeval.tables.roles import Roles

BINARY = ({"0", "1"}, {"false", "true"})
PARTNERS = {"0": "1", "false": "true", "False": "True", "FALSE": "TRUE"}
PARTNERS |= {name: partner for partner, name in PARTNERS.items()}


def known_labels(classes: Iterable[str], roles: Roles) -> set[str]:
    """Return truth's labels, the declared ones, and both of a pair like 0 / 1."""
    known = {*classes, *roles.labels}
    if roles.positive is not None:
        known.add(roles.positive)
    if known <= set(PARTNERS):
        known |= {PARTNERS[name] for name in known}
    return known


def natural(text: str) -> tuple[tuple[int, float, str], ...]:
    """Order text with numbers by their value: 2 before 10, fold9 before fold10."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return tuple(
        (0, float(part), part) if index % 2 else (1, 0.0, part)
        for index, part in enumerate(parts)
        if part
    )
