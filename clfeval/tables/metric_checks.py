"""The checks of a sheet: names given once, numbers everywhere, and what is said otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clfeval.errors import KEPT, DataError, Problem
from clfeval.tables.metric_cells import COMMA, PERCENT, Flaw, Grid
from clfeval.tables.metric_sheet import FROM_PREDICTIONS, Sheet, kept, no_rows, truth_among

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


def _missing(sheet: Sheet) -> NDArray[np.bool_]:
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
