"""Metric tables: models x metrics from a file or a data frame, each value a finite number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from clfeval.errors import Problem, UsageError, listing
from clfeval.tables.metric_checks import check_names, check_values, without_missing
from clfeval.tables.metric_grid import read_grid
from clfeval.tables.metric_layout import lay_out
from clfeval.tables.metric_sheet import Asked, Layout, Places, with_models, with_whole_splits

__all__ = ["Layout", "MetricTable", "read_metrics"]

_NOWHERE = Places(np.zeros((1, 1), np.int64), ("",))


@dataclass(frozen=True, slots=True, eq=False)
class MetricTable:
    """Raw values (k, n) of models by metrics, all finite, and where each of them stands.

    `rows` are those of the models in the file, its header row 1; None where columns are models.
    by_split: (s, k, n) of cross-validation splits; sds: (k, n), NaN where a metric has none.
    """

    name: str
    display: str
    sha256: str | None
    layout: Layout
    models: tuple[str, ...]
    metrics: tuple[str, ...]
    values: NDArray[np.float64]
    rows: tuple[int | None, ...]
    splits: tuple[str, ...] = ()
    by_split: NDArray[np.float64] | None = None
    sds: NDArray[np.float64] | None = None
    dropped: int = 0
    ignored: tuple[str, ...] = ()
    named_by: str = ""
    notes: tuple[str, ...] = ()
    places: Places = field(default=_NOWHERE)

    def described(self) -> str:
        """Say in one line how the table was read."""
        parts = [f"{self.name}: {self.layout} metrics", *([self.named_by] if self.named_by else [])]
        count = len(self.metrics)
        parts.append(f"{count:,} metric{'s' * (count != 1)}: {listing(self.metrics, 4)}")
        if self.splits:
            parts.append(f"means over {len(self.splits)} splits")
        parts += self.notes
        if self.dropped:
            models = f"model{'s' * (self.dropped > 1)}"
            parts.append(f"{self.dropped:,} {models} with missing values left out")
        if self.ignored:
            parts.append(f"ignored {listing(self.ignored)}")
        return "; ".join(parts)

    def problem(self, i: int, j: int, what: str, code: str) -> Problem:
        """Build the problem of the value of model i and metric j, where it stands in the file."""
        row, column = self.places.of(i, j)
        return Problem(what, code, self.name, row, column)


def read_metrics(
    table: Any,
    *,
    wanted: Sequence[str] = (),
    models: Sequence[str] = (),
    id: str | None = None,  # noqa: A002
    transpose: bool = False,
    layout: Literal["wide", "long"] | None = None,
    missing: Literal["error", "drop"] = "error",
    null_values: Sequence[str] = (),
    input_format: str | None = None,
    delimiter: str | None = None,
) -> MetricTable:
    """Read a list of one path, or a data frame (never changed), as a metric table.

    Values (k, n) in the order of the table, or of `wanted`: names or globs of metrics; `models` are
    names or globs of the models to keep. `id` is the column of the models' names, of the metrics'
    when `transpose` says that columns are models. A missing value is an error, or with
    `missing="drop"` leaves its model out. Raises UsageError and DataError.
    """
    _check_words(missing, layout)
    asked = Asked(tuple(wanted), id, transpose, layout, missing)
    grid = read_grid(
        table,
        id_column=id,
        null_values=null_values,
        input_format=input_format,
        delimiter=delimiter,
    )
    sheet = with_models(grid, lay_out(grid, asked), models)
    dropped = 0
    if missing == "drop":
        sheet, dropped = without_missing(grid, sheet)
    check_names(grid, sheet)
    check_values(grid, sheet)
    sheet = with_whole_splits(sheet)
    return MetricTable(
        name=grid.name,
        display=grid.display,
        sha256=grid.sha256,
        layout=sheet.layout,
        models=tuple(map(str, sheet.models)),
        metrics=sheet.metrics,
        values=sheet.values,
        rows=(None,) * len(sheet.models) if sheet.rows is None else tuple(sheet.rows),
        splits=sheet.splits,
        by_split=sheet.by_split,
        sds=sheet.sds,
        dropped=dropped,
        ignored=sheet.ignored,
        named_by=sheet.named_by,
        notes=sheet.notes,
        places=sheet.places,
    )


def _check_words(missing: str, layout: str | None) -> None:
    for option, value, known in (
        ("--missing", missing, ("error", "drop")),
        ("--layout", layout, (None, "wide", "long")),
    ):
        if value not in known:
            names = " or ".join(name for name in known if name)
            raise UsageError(Problem(f"{option} is {names}, not '{value}'", "bad-option"))
