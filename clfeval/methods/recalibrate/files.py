"""Calibrators of a result as files: JSON that is read back, and one SQL expression a model."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from clfeval.document import Document
from clfeval.errors import UsageError
from clfeval.formatting import format_count, with_interval
from clfeval.measures.calibrators import LogOddsCalibrator, StepCalibrator
from clfeval.measures.venn_abers import VennAbersCalibrator
from clfeval.placeholders import END, OPTION
from clfeval.tables.calibrator_files import LOSS_TITLES, CalibratorFile, StoredCalibrator
from clfeval.tables.columns import AS_WRITTEN

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = frozenset(
    {
        "all",
        "and",
        "any",
        "as",
        "asc",
        "case",
        "cast",
        "check",
        "column",
        "create",
        "default",
        "desc",
        "distinct",
        "else",
        "end",
        "false",
        "for",
        "from",
        "group",
        "having",
        "in",
        "is",
        "join",
        "left",
        "limit",
        "not",
        "null",
        "on",
        "or",
        "order",
        "right",
        "select",
        "table",
        "then",
        "to",
        "true",
        "union",
        "unique",
        "user",
        "using",
        "when",
        "where",
        "with",
    }
)


def as_calibrators(result: Document) -> Iterator[str]:
    """Yield the JSON file of the calibrators of a result of `recalibrate`.

    UsageError for class probabilities that are not those of the table, such as percentages.
    """
    calibrator_file = stored_calibrators(result)
    for model in result.extras.get("computed", ()) if calibrator_file.classes else ():
        message = f"the probabilities of '{model}' are computed from other numbers in the table"
        hint = "write probabilities that sum to 1 into the table, one column a class"
        raise UsageError.new(message, "no-calibrator", hint=hint)
    yield calibrator_file.to_json()


def as_sql(result: Document) -> Iterator[str]:
    """Yield a SELECT list with one expression a model, the same in DuckDB and Spark.

    Above each is a comment with the verdict on it.
    """
    if stored_calibrators(result).classes:
        message = "an SQL expression is of one column, but these calibrators are of more than two "
        message += "classes"
        hint = f"use {OPTION}--save NAME.calibrator.json{END}"
        raise UsageError.new(message, "no-sql", hint=hint)
    for model in result.extras.get("combined", ()):
        message = f"the scores of '{model}' are made of several columns, so no expression has them"
        hint = f"use {OPTION}--save NAME.calibrator.json{END}"
        raise UsageError.new(message, "no-sql", hint=hint)
    calibrator_file = stored_calibrators(result)
    expressions = [
        f"/* {_verdict_comment(stored, calibrator_file.rows)} */\n"
        f"{sql_expression(stored)} AS {_sql_name(stored.model)}_{stored.method}"
        for stored in calibrator_file.calibrators
    ]
    yield ",\n".join(expressions) + "\n"


def _verdict_comment(stored: StoredCalibrator, row_count: float) -> str:
    """Return whether a calibrator helps, by its gain, and from how many rows that is known."""
    fit_clause = f"fitted to {format_count(row_count, 'row')}"
    gain = stored.gain
    if gain is None:
        return f"no verdict; {fit_clause}"
    gain_text = with_interval(gain.value, gain.low, gain.high, gain.level)
    loss_name = LOSS_TITLES[gain.loss]
    return f"{gain.verdict}: the {loss_name} of new rows falls by {gain_text}; {fit_clause}"


def stored_calibrators(result: Document) -> CalibratorFile:
    """Return the calibrators of a result; UsageError if none could be fitted."""
    calibrator_file: CalibratorFile = result.extras["calibrators"]
    if not calibrator_file.calibrators:
        message = "no calibrator is saved, as none could be fitted"
        raise UsageError.new(message, "no-calibrator", hint="the table says why for each model")
    return calibrator_file


def sql_expression(stored: StoredCalibrator) -> str:
    """Return one expression of the recalibrated score; NULL stays NULL.

    Numbers have an exponent, so that DuckDB and Spark read them as doubles.
    """
    score = _sql_score(stored)
    calibrator = stored.calibrator
    if isinstance(calibrator, LogOddsCalibrator):
        logit = f"{_number(calibrator.intercept)} + {_number(calibrator.power)} * ln({score})"
        logit += f" - {_number(calibrator.complement_power)} * ln(1 - {score})"
        condition = f"{score} > 0 AND {score} < 1"
        return f"CASE WHEN {condition} THEN 1 / (1 + exp(-({logit}))) ELSE {score} END"
    if isinstance(calibrator, VennAbersCalibrator):
        message = f"the {stored.method} calibrator of '{stored.model}' has no SQL expression"
        hint = f"use {OPTION}--save NAME.calibrator.json{END} or {OPTION}--method isotonic{END}"
        raise UsageError.new(message, "no-sql", hint=hint)
    assert isinstance(calibrator, StepCalibrator)
    return _step_expression(score, calibrator)


def _sql_score(stored: StoredCalibrator) -> str:
    """Return the score as it was evaluated: the column, divided and reversed as for the fit."""
    score = _sql_name(stored.model)
    if stored.scale is not None and stored.scale != AS_WRITTEN:
        offset, divisor = stored.scale
        score = f"({_number(offset)} + {score} / {_number(divisor)})"
    return f"(1 / (1 + exp(-{score})))" if stored.log_odds else score


def _step_expression(score: str, calibrator: StepCalibrator) -> str:
    """Return the expression of linear interpolation between knots."""
    x = calibrator.probabilities
    q = calibrator.recalibrated
    slopes = np.diff(q) / np.diff(x)
    cases = [
        f"WHEN {score} IS NULL THEN NULL",
        f"WHEN {score} <= {_number(x[0])} THEN {_number(q[0])}",
    ]
    for i, slope in enumerate(slopes.tolist()):
        line = f"{_number(q[i])} + {_number(slope)} * ({score} - {_number(x[i])})"
        cases.append(f"WHEN {score} <= {_number(x[i + 1])} THEN {line}")
    return f"CASE {' '.join(cases)} ELSE {_number(q[-1])} END"


def _number(value: float) -> str:
    """Return a number as a double of SQL, with an exponent."""
    digits = repr(float(value))
    return digits if "e" in digits else f"{digits}e0"


def _sql_name(name: str) -> str:
    """Return the name of a column that needs no quotes, as engines quote differently."""
    if _PLAIN_NAME.fullmatch(name) and name.casefold() not in _RESERVED:
        return name
    message = f"'{name}' needs quotes in SQL, which DuckDB and Spark write differently"
    hint = f"rename the column, or use {OPTION}--save NAME.calibrator.json{END}"
    raise UsageError.new(message, "bad-name", hint=hint)
