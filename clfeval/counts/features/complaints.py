"""What is wrong with a feature table, row by row: the second look, taken only when needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from clfeval.errors import KEPT, DataError
from clfeval.late import nw, pl
from clfeval.tables.diagnose import (
    PLACE,
    Check,
    bad_number,
    bad_weight,
    missing_label,
    missing_score,
    numbered,
    repeated,
    run_checks,
)
from clfeval.tables.engine import collect
from clfeval.tables.feature import Classes, FeatureTable
from clfeval.tables.scan import Reading, TableFile, scan

_HINTS = {
    "missing-value": "fill the cells, or add --missing drop to leave such rows out",
    "bad-weight": "weights count how often a row stands for itself",
    "duplicate-row": "a row shows a feature once; how often belongs in a value column",
    "duplicate-id": "each observation stands in one row",
    "conflicting-truth": "all entries of one row need the same class",
    "unknown-row": "every row of the features needs its class in --truth-table",
}


def raise_problems(
    files: Sequence[TableFile], checks: Sequence[Check], null_values: Sequence[str]
) -> None:
    """Run the checks over the files and raise what they find; return if that is nothing."""
    if not checks:
        return
    frame = pl.concat([numbered(file, null_values) for file in files])
    problems, totals = run_checks(frame, checks)
    if problems:
        order = [file.name for file in files]
        problems.sort(key=lambda problem: (order.index(str(problem.file)), problem.row or 0))
        first = problems[0]
        hint = _HINTS.get(first.code)
        if first.code == "bad-number" and "'" in first.what:
            value = first.what.split("'")[1]
            hint = f"if '{value}' means missing, add --null-value '{value}'"
        raise DataError(problems[:KEPT], hint=hint, totals=totals)


def complain_wide(table: FeatureTable, kinds: Mapping[str, str]) -> None:
    """Raise everything that is wrong with the rows of a wide table; return if nothing is.

    Columns are looked at row by row only where their counts of empty cells, or of cells that are
    no numbers, say that something is wrong: there may be thousands.
    """
    roles, strict = table.roles, table.roles.missing == "error"
    numbers = [name for name, kind in kinds.items() if kind != "category"]
    empty = _gaps(table, list(kinds), "text")
    absent = _gaps(table, numbers, "loose")
    checks = [missing_label(str(table.truth))] if strict else []
    checks += [bad_weight(roles.weight)] if roles.weight else []
    checks += [bad_number(name) for name in numbers if absent[name] > empty[name]]
    if strict:
        checks += [missing_score(name) for name in numbers if absent[name]]
        checks += [missing_label(name) for name in kinds if name not in absent and empty[name]]
    checks += [repeated(table.id)] if table.id is not None else []
    raise_problems(table.files, checks, roles.null_value)


def _gaps(table: FeatureTable, columns: Sequence[str], reading: Reading) -> dict[str, int]:
    """Count, per column, the cells that are empty, or NaN, when read so."""
    if not columns:
        return {}
    totals = np.zeros(len(columns), np.int64)
    for file in table.files:
        frame = scan(file, dict.fromkeys(columns, reading), null_values=table.roles.null_value)
        schema = frame.collect_schema()
        floats = [name for name in columns if schema[name].is_float()]
        nulls = collect(frame.select(nw.all().null_count())).row(0)
        totals += np.array(nulls, np.int64)
        if floats:
            nans = collect(frame.select(nw.col(*floats).is_nan().sum())).row(0)
            found = dict(zip(floats, nans, strict=True))
            totals += np.array([found.get(name) or 0 for name in columns], np.int64)
    return dict(zip(columns, totals.tolist(), strict=True))


def sparse_checks(table: FeatureTable, *, strict: bool) -> list[Check]:
    """Return what to look for in the entries of a sparse table."""
    row, feature = table.row, table.feature
    pair = pl.struct(row, feature)
    first = pl.col(PLACE).first().over(pair)
    both = pl.col(row).is_not_null() & pl.col(feature).is_not_null()
    checks = [
        Check(
            feature, "duplicate-row", "'{value}' stands in {extra} for this row already",
            (pl.col(PLACE) != first) & both, first,
        )
    ]  # fmt: skip
    needed = [row, feature, *([table.truth] if table.truth else [])]
    if strict:
        checks += [missing_label(name) for name in needed]
    if table.value:
        checks += [bad_number(table.value), *([missing_score(table.value)] if strict else [])]
    if table.truth:
        truth = pl.col(table.truth).cast(pl.String)
        known = truth.drop_nulls().first().over(row)
        what = "'{value}' where an earlier entry of this row has '{extra}'"
        bad = (truth != known) & pl.col(row).is_not_null()
        checks.append(Check(table.truth, "conflicting-truth", what, bad, known))
    return checks


def unknown_rows(table: FeatureTable, classes: Classes) -> list[Check]:
    """Return the check for entries whose row the table of classes does not have."""
    known = pl.concat([numbered(file).select(classes.row) for file in classes.files])
    names = known.select(pl.col(classes.row).cast(pl.String)).collect().to_series()
    bad = (
        ~pl.col(table.row).cast(pl.String).is_in(names.implode()) & pl.col(table.row).is_not_null()
    )
    return [Check(table.row, "unknown-row", "row '{value}' has no class", bad)]
