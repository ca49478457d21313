"""Calibrators as files: JSON that is read back, and one SQL expression a model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from clfeval.document import Document
from clfeval.errors import DataError, UsageError
from clfeval.measures.calibrators import Calibrator, LogOddsCalibrator, StepCalibrator
from clfeval.measures.venn_abers import VennAbersCalibrator
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass

SCHEMA = "clfeval.calibrators/1"
JOINT = "+"  # between the names of a model and of a method: gbm+logistic
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, eq=False)
class StoredCalibrator:
    """The calibrator of a model and its method.

    score_range: the lowest and highest score it was fitted to; digest: of the counts of scores.
    """

    model: str
    method: str
    calibrator: Calibrator
    score_range: tuple[float, float]
    digest: str

    @property
    def column(self) -> str:
        """The name of the recalibrated model."""
        return f"{self.model}{JOINT}{self.method}"


@dataclass(frozen=True, slots=True, eq=False)
class CalibratorFile:
    """The calibrators of a table, its positive class and its rows."""

    positive: str
    calibrators: Sequence[StoredCalibrator]
    rows: float

    @property
    def by_model(self) -> dict[str, Calibrator]:
        """The calibrators by the name of their model."""
        return {stored.model: stored.calibrator for stored in self.calibrators}

    def to_json(self) -> str:
        """Return the file; numbers are the shortest that read back as the same."""
        document = {
            "schema": SCHEMA,
            "positive": self.positive,
            "rows": self.rows,
            "calibrators": [
                {
                    "model": stored.model,
                    "method": stored.method,
                    "score_range": list(stored.score_range),
                    "digest": stored.digest,
                    **_parameters(stored.calibrator),
                }
                for stored in self.calibrators
            ],
        }
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _parameters(calibrator: Calibrator) -> dict[str, Any]:
    """Return what defines a calibrator."""
    if isinstance(calibrator, LogOddsCalibrator):
        names = ("intercept", "power", "complement_power")
        return {name: getattr(calibrator, name) for name in names}
    if isinstance(calibrator, VennAbersCalibrator):
        return calibrator.parameters
    pairs = zip(calibrator.probabilities.tolist(), calibrator.recalibrated.tolist(), strict=True)
    return {"knots": [list(pair) for pair in pairs]}


def as_calibrators(result: Document) -> Iterator[str]:
    """Yield the JSON file of the calibrators of a result of `recalibrate`."""
    yield stored_calibrators(result).to_json()


def as_sql(result: Document) -> Iterator[str]:
    """Yield a SELECT list with one expression a model, the same in DuckDB and Spark."""
    expressions = [
        f"{sql_expression(stored)} AS {_sql_name(stored.model)}_{stored.method}"
        for stored in stored_calibrators(result).calibrators
    ]
    yield ",\n".join(expressions) + "\n"


def stored_calibrators(result: Document) -> CalibratorFile:
    """Return the calibrators of a result; UsageError if none could be fitted."""
    file: CalibratorFile = result.extras["calibrators"]
    if not file.calibrators:
        message = "no calibrator is saved, as none could be fitted"
        raise UsageError.new(message, "no-calibrator", hint="the table says why for each model")
    return file


def sql_expression(stored: StoredCalibrator) -> str:
    """Return one expression of the recalibrated score; NULL stays NULL.

    Numbers have an exponent, so that DuckDB and Spark read them as doubles.
    """
    name = _sql_name(stored.model)
    calibrator = stored.calibrator
    if isinstance(calibrator, LogOddsCalibrator):
        logit = f"{_number(calibrator.intercept)} + {_number(calibrator.power)} * ln({name})"
        logit += f" - {_number(calibrator.complement_power)} * ln(1 - {name})"
        condition = f"{name} > 0 AND {name} < 1"
        return f"CASE WHEN {condition} THEN 1 / (1 + exp(-({logit}))) ELSE {name} END"
    if isinstance(calibrator, VennAbersCalibrator):
        message = f"the {stored.method} calibrator of '{stored.model}' has no SQL expression"
        hint = f"use {OPTION}--save NAME.calibrator.json{END} or {OPTION}--method isotonic{END}"
        raise UsageError.new(message, "no-sql", hint=hint)
    return _step_expression(name, calibrator)


def _step_expression(name: str, calibrator: StepCalibrator) -> str:
    """Return the expression of linear interpolation between knots."""
    x = calibrator.probabilities
    q = calibrator.recalibrated
    slopes = np.diff(q) / np.diff(x)
    cases = [
        f"WHEN {name} IS NULL THEN NULL",
        f"WHEN {name} <= {_number(x[0])} THEN {_number(q[0])}",
    ]
    for position, slope in enumerate(slopes.tolist()):
        value = f"{_number(q[position])} + {_number(slope)} * ({name} - {_number(x[position])})"
        cases.append(f"WHEN {name} <= {_number(x[position + 1])} THEN {value}")
    return f"CASE {' '.join(cases)} ELSE {_number(q[-1])} END"


def _number(value: float) -> str:
    """Return a number as a double of SQL, with an exponent."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def _sql_name(name: str) -> str:
    """Return the name of a column that needs no quotes, as engines quote differently."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    message = f"'{name}' needs quotes in SQL, which DuckDB and Spark write differently"
    hint = f"rename the column, or save {OPTION}--save NAME.calibrator.json{END}"
    raise UsageError.new(message, "bad-name", hint=hint)


def read_calibrators(name: str, text: str) -> CalibratorFile:
    """Return the calibrators of a JSON file; DataError `damaged-file` with the place."""
    try:
        document = json.loads(text)
        if document["schema"] != SCHEMA:
            raise DataError.new(
                f"is not a file of calibrators of schema {SCHEMA}", "other-schema", name
            )
        calibrators = [_read_calibrator(record) for record in document["calibrators"]]
        return CalibratorFile(str(document["positive"]), calibrators, float(document["rows"]))
    except (ValueError, KeyError, TypeError) as error:
        message = f"is a damaged file of calibrators: {error}"
        raise DataError.new(message, "damaged-file", name, hint="save it again") from error


def _read_calibrator(record: Mapping[str, Any]) -> StoredCalibrator:
    """Return one calibrator of a file; ValueError for numbers that make none."""
    calibrator: Calibrator
    if "knots" in record:
        x, q = np.array(record["knots"], np.float64).T
        ordered = (np.diff(x) > 0).all() and (np.diff(q) >= 0).all()
        if not ordered or min(x[0], q[0]) < 0 or max(x[-1], q[-1]) > 1:
            raise ValueError("knots do not rise from 0 to 1")
        calibrator = StepCalibrator(x, q)
    elif "p0" in record:
        calibrator = VennAbersCalibrator.from_parameters(record)
    else:
        names = ("intercept", "power", "complement_power")
        numbers = [float(record[name]) for name in names]
        calibrator = LogOddsCalibrator(*numbers)
        if not np.isfinite(numbers).all() or not calibrator.rises:
            raise ValueError("parameters are not those of a rising calibrator")
    low, high = (float(end) for end in record["score_range"])
    return StoredCalibrator(
        str(record["model"]), str(record["method"]), calibrator, (low, high), str(record["digest"])
    )
