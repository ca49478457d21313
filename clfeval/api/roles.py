"""What callers may pass for names, labels and thresholds, brought into one form and checked."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from clfeval.errors import Problem, UsageError
from clfeval.tables.cells import as_text
from clfeval.tables.roles import Roles

Names = str | Sequence[str]
Thresholds = float | Mapping[str | None, float] | None


def roles_of(
    *,
    model: Names = (),
    positive: object = None,
    labels: Sequence[object] = (),
    threshold: Thresholds = None,
    by: Names = (),
    null_value: Names = (),
    **others: Any,
) -> Roles:
    """Build the roles of a table; `others` are fields of Roles that need no conversion."""
    roles = Roles(
        models=strings(model),
        positive=as_text(positive),
        labels=tuple(text for text in map(as_text, _items(labels)) if text is not None),
        thresholds=_thresholds(threshold),
        by=strings(by),
        null_values=strings(null_value),
        **others,
    )
    roles.check()
    return roles


def tables_of(table: Any) -> Any:
    """Return a list of paths, or the data frame as it is; UsageError for an empty list."""
    if isinstance(table, (str, os.PathLike)):
        table = [table]
    if isinstance(table, (list, tuple)) and not table:
        raise UsageError(Problem("no table given", "no-input"))
    return table


def strings(names: Names) -> tuple[str, ...]:
    """Return one name or several as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


def _items(values: object) -> Sequence[object]:
    return (values,) if isinstance(values, str) else tuple(values)  # type: ignore[arg-type]


def _thresholds(threshold: Thresholds) -> dict[str | None, float]:
    if threshold is None:
        return {}
    chosen: dict[str | None, float] = {}
    chosen.update(threshold if isinstance(threshold, Mapping) else {None: threshold})
    for value in chosen.values():
        if not math.isfinite(value):
            raise UsageError(Problem(f"the threshold {value} is no finite number", "bad-option"))
    return chosen
