"""What tests read off a result: rows by what their columns hold, estimates, codes and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clfeval.api.result import Result
from clfeval.document import Answer
from clfeval.document.cells import Estimate
from clfeval.errors import ClfevalError

Line = dict[str, Any]  # a row whose cells a test may compare without asking for their type


def rows_of(result: Result, table: str, **where: object) -> list[Line]:
    """Return the rows of a table in which these columns have these values."""
    return [
        dict(row)
        for row in result.tables[table]
        if all(row[column] == cell for column, cell in where.items())
    ]


def row_of(result: Result, table: str, **where: object) -> Line:
    """Return the one row in which these columns have these values."""
    rows = rows_of(result, table, **where)
    assert len(rows) == 1, f"{len(rows)} rows of {table} have {where}"
    return rows[0]


def rows_by(result: Result, table: str, *columns: str, **where: object) -> dict[Any, Line]:
    """Return rows of a table by the cell of a column, or by the cells of several; none is lost."""
    rows = rows_of(result, table, **where)
    named = {
        row[columns[0]] if len(columns) == 1 else tuple(row[column] for column in columns): row
        for row in rows
    }
    assert len(named) == len(rows), f"two rows of {table} have the same {columns}"
    return named


def estimate_of(cell: object) -> Estimate:
    """Return a cell that is an estimate, of a value or of none."""
    assert isinstance(cell, Estimate), cell
    return cell


def value_of(cell: object) -> float:
    """Return the value of an estimate that is defined."""
    estimate = estimate_of(cell)
    assert estimate.value is not None, estimate.reason
    return estimate.value


def limits_of(cell: object) -> tuple[float, float]:
    """Return both limits of an estimate."""
    estimate = estimate_of(cell)
    assert estimate.low is not None, estimate
    assert estimate.high is not None, estimate
    return estimate.low, estimate.high


def value_and_limits(cell: object) -> tuple[float | None, float | None, float | None]:
    """Return value, low and high of an estimate, each None where there is none."""
    estimate = estimate_of(cell)
    return estimate.value, estimate.low, estimate.high


def four_cells(row: Mapping[str, Any]) -> tuple[Any, Any, Any, Any]:
    """Return tp, fp, fn, tn of a row."""
    return row["tp"], row["fp"], row["fn"], row["tn"]


def warning_codes(result: Result) -> list[str]:
    """Return the codes of the warnings, in their order."""
    return [warning.code for warning in result.warnings]


def warning_messages(result: Result, code: str) -> list[str]:
    """Return the messages of the warnings that have this code."""
    return [warning.message for warning in result.warnings if warning.code == code]


def answer_codes(result: Result) -> list[str]:
    """Return the codes of the sentences of the answer, in their order."""
    return [answer.code for answer in result.answer]


def answers_of(result: Result, code: str) -> list[Answer]:
    """Return the sentences of the answer that have this code."""
    return [answer for answer in result.answer if answer.code == code]


def sentences_by_code(result: Result) -> dict[str, Answer]:
    """Return the sentences of the answer by their codes, none of which there is twice."""
    sentences = {answer.code: answer for answer in result.answer}
    assert len(sentences) == len(result.answer)
    return sentences


def problem_codes(error: ClfevalError) -> list[str]:
    """Return the codes of the problems that an error names, in their order."""
    return [problem.code for problem in error.problems]
