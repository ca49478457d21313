"""Whether a saved result is one of ours: each cell of the kind that its page declares."""

from __future__ import annotations

from typing import Any

from clfeval import __version__
from clfeval.pages import page_of
from clfeval.result import Estimate, Result
from clfeval.schema import Column, header, is_wide
from clfeval.words import DIGITS

TEXTS = ("text", "slice", "odds", "measure")
WHOLE = ("count", "rank", "whole")
NULL = ("slice", "rank", "any")  # kinds that may be null though they do not say so
# at most, either side of 0, of kinds that have an end there
MOST = {"p": 1, "part": 1, "level": 1, "prevalence": 1, "correlation": 1, "share": 1, "signed": 1,
        "doubled": 2}  # fmt: skip
FAR = 100  # lengths of an axis
LARGE = 1e100  # numbers beyond are none of ours


def check_whole(result: Result) -> None:
    """Raise ValueError, in words, for the first part of a result that is not as its page has it."""
    if not page_of(result.command).command:
        raise ValueError(f"'{result.command}' is no command")
    if not result.tables:
        raise ValueError("it has no tables")
    for name in result.tables:
        _check_rows(result, name)
    try:
        _check_page(result)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = f"{type(error).__name__} {error}"
        raise ValueError(f"its parts do not fit together: {what:.80}") from error
    for one in result.methods.values():
        check_whole(one)


def _check_rows(result: Result, name: str) -> None:
    """Check the cells of a table; one that another version wrote may lack columns of this one."""
    table, rows = page_of(result.command).table(name), result.tables[name]
    columns = {column.name: column for column in table.columns}
    least = {column.name for column in header(table, result)}
    least = least if result.version == __version__ else set()
    for number, row in enumerate(rows, start=1):
        if row.keys() != rows[0].keys() or not least <= row.keys():
            raise ValueError(f"table '{name}', row {number} has other columns")
        for key, cell in row.items():
            if not _fits(cell, columns.get(key)):
                raise ValueError(f"table '{name}', row {number}: '{key}' is {cell!r:.40}")


def _check_page(result: Result) -> None:
    """Make all that people see of a result; raises whatever comes of parts that are not of one."""
    page = page_of(result.command)
    level = result.parameters.get("level")
    if not _number(level, "level") and (level is not None or _bounded(result)):
        raise ValueError(f"'level' is {level!r:.40}")
    page.headline(result)
    for shown in page.shown(result, DIGITS):
        columns = {} if isinstance(shown.columns, str) else shown.columns
        made = [one for one in columns.values() if not isinstance(one, str)]
        for row in shown.rows or ():
            for source in made:
                source(row)
    for chart in page.charts(result):
        lengths = [len(one.values) for one in chart.series]
        if len({*lengths, *([len(chart.weights)] if chart.weights else [])}) > 1:
            raise ValueError(f"{chart.title} has other values of some than of others")
        points = [at for one in chart.series for part in one.parts for at in part]
        for axis, along in zip((chart.x, chart.y), zip(*points, strict=True), strict=False):
            low, high = axis.ends or (min(along), max(along))
            if max(abs(one - low) for one in along) > FAR * abs(high - low):
                raise ValueError(f"{chart.title} has points far beyond its ends")


def _bounded(result: Result) -> bool:
    """Tell whether an estimate has an interval."""
    cells = (cell for rows in result.tables.values() for row in rows for cell in row.values())
    ends = ((one.low, one.high) for one in cells if isinstance(one, Estimate))
    return any(pair != (None, None) for pair in ends)


def _fits(cell: Any, column: Column | None) -> bool:
    """Tell whether a cell is of the kind of its column; one nobody declared is any cell."""
    if column is None:
        return cell is None or isinstance(cell, (Estimate, str, int, float)) or _texts(cell)
    kind = column.kind.rstrip("?*+")
    if cell is None:
        return "?" in column.kind or kind in NULL or None in column.among
    if "*" in column.kind or "+" in column.kind:
        return isinstance(cell, list) and all(_plain(one, kind) for one in cell)
    if not is_wide(column):
        return _plain(cell, kind)
    if not isinstance(cell, Estimate):
        return False
    known = [one for one in (cell.low, cell.high) if one is not None]
    numbers = all(_number(one, kind) for one in known) and (
        cell.value is None or _number(cell.value, kind)
    )
    return numbers and known == sorted(known)


def _plain(cell: Any, kind: str) -> bool:
    if kind == "any":
        return _fits(cell, None)
    if kind in TEXTS:
        return isinstance(cell, str)
    if kind == "flag":
        return isinstance(cell, bool)
    return _number(cell, kind) and (kind not in WHOLE or isinstance(cell, int))


def _number(cell: Any, kind: str) -> bool:
    number = isinstance(cell, (int, float)) and not isinstance(cell, bool)
    return number and abs(cell) <= MOST.get(kind, LARGE)


def _texts(cell: Any) -> bool:
    return isinstance(cell, list) and all(isinstance(one, str) for one in cell)
