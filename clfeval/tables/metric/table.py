"""Metric tables: models x metrics, every name given once, each value a finite number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from clfeval.arrays import Bools, Floats
from clfeval.errors import KEPT, DataError, Problem, UsageError, listing
from clfeval.tables.metric.cells import COMMA, PERCENT, Flaw, Grid
from clfeval.tables.metric.grid import read_grid
from clfeval.tables.metric.layouts import lay_out
from clfeval.tables.metric.sheet import (
    FROM_PREDICTIONS,
    Asked,
    Layout,
    Places,
    Sheet,
    kept,
    no_rows,
    truth_among,
    with_models,
    with_whole_splits,
)

MISSING_WORDS = {"na", "n/a", "nan", "null", "none", "-", "?", ".", "missing"}
GAP = Flaw("missing", "missing-value")


def without_missing(grid: Grid, sheet: Sheet) -> tuple[Sheet, int]:
    """Leave out the models that lack a value or a name, and count them."""
    lacking = _missing(sheet).any(axis=1)
    lacking |= np.array([name is None for name in sheet.models])
    if lacking.all():
        raise no_rows(grid, "every model has missing values, and --missing drop left it out")
    return kept(sheet, np.flatnonzero(~lacking)), int(lacking.sum())


def check_names(grid: Grid, sheet: Sheet) -> None:
    """Refuse models without a name and those named twice."""
    if sheet.rows is None:
        return  # columns are models: the header was checked
    if len(set(sheet.models)) == len(sheet.models) and None not in sheet.models:
        return
    first: dict[str, int] = {}
    problems = []
    for row, name in zip(sheet.rows, sheet.models, strict=True):
        place = (grid.name, row, sheet.model_column or None)
        if name is None:
            problems.append(Problem("missing", "missing-value", *place))
        elif first.setdefault(name, row) < row:
            what = f"'{name}' stands in row {first[name]} already"
            problems.append(Problem(what, "duplicate-model", *place))
    hint = "every model needs a name of its own; --missing drop leaves nameless ones out"
    if any(problem.code == "duplicate-model" for problem in problems):
        hint = (
            "each model needs one row: keep one slice, population or run, or join the columns that "
            "tell the rows apart into one name"
        )
        if truth_among(grid.columns):
            hint = FROM_PREDICTIONS
    raise DataError(
        problems[:KEPT], hint=hint, totals=Counter(problem.code for problem in problems)
    )


def check_values(grid: Grid, sheet: Sheet) -> None:
    """Refuse a sheet with a gap, a text or an infinite value; every one of them is named."""
    missing = _missing(sheet)
    if not missing.any() and not sheet.flaws:
        return
    bad = {pair: flaw for pair, flaw in sheet.flaws.items() if flaw.code != "missing-value"}
    totals = Counter(flaw.code for flaw in bad.values())
    totals += Counter({"missing-value": int(missing.sum())})
    gaps = np.argwhere(missing)[:KEPT].tolist()
    pairs = sorted([*list(bad)[:KEPT], *map(tuple, gaps)])[:KEPT]
    if sheet.places.by_model:
        pairs.sort(key=lambda pair: pair[1])
    raise DataError(
        [_problem(grid, sheet, pair) for pair in pairs], hint=_hint(sheet, pairs), totals=totals
    )


def _problem(grid: Grid, sheet: Sheet, pair: tuple[int, int]) -> Problem:
    i, j = pair
    row, column = sheet.places.of(i, j)
    if row is None:
        what = f"model '{sheet.models[i]}' has no '{sheet.metrics[j]}'"
        return Problem(what, "missing-value", grid.name)
    flaw = sheet.flaws.get(pair, GAP)
    return Problem(flaw.what, flaw.code, grid.name, row, column)


def _missing(sheet: Sheet) -> Bools:
    """Tell which values are missing, undefined ones too; text and infinite ones are not."""
    missing = np.isnan(sheet.values)
    for pair, flaw in sheet.flaws.items():
        missing[pair] = flaw.code == "missing-value"
    return missing


def _hint(sheet: Sheet, pairs: Sequence[tuple[int, int]]) -> str:
    """Say what to type next about the first text, else about the first of the others."""
    flaws = [(sheet.flaws.get(pair, GAP), pair) for pair in pairs]
    flaw, pair = next((one for one in flaws if one[0].code == "bad-number"), flaws[0])
    if flaw.code == "missing-value":
        return "fill the cells, or add --missing drop to leave such models out"
    if flaw.code == "infinite-value":
        return "an infinite value has no place on a scale: name the other metrics with --metric"
    value = flaw.what[1:].removesuffix("' is not a number")
    if COMMA.fullmatch(value):
        return f"a decimal comma? write '{value}' as {value.replace(',', '.')}"
    if PERCENT.fullmatch(value):
        bare = value.rstrip("%").rstrip().replace(",", ".")
        metric = sheet.metrics[pair[1]]
        return f"write '{value}' as {bare}; --rescale '{metric}=0:100' then makes it a share"
    null = f"if '{value}' means missing, add --null-value '{value}'"
    if value.casefold() in MISSING_WORDS:
        return null
    return f"{null}; a column that is no metric is left out by naming the others with --metric"


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
    values: Floats
    rows: tuple[int | None, ...]
    splits: tuple[str, ...] = ()
    by_split: Floats | None = None
    sds: Floats | None = None
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
