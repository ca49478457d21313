"""Files of calibrators: what `recalibrate` saves as JSON, and how it is read back."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from clfeval.errors import DataError, list_names, quote_name, suggestion
from clfeval.measures.calibrators import Calibrator, LogOddsCalibrator, StepCalibrator
from clfeval.measures.class_calibrators import (
    AnyCalibrator,
    ClassCalibrator,
    OneVsRestCalibrator,
    TemperatureCalibrator,
)
from clfeval.measures.venn_abers import VennAbersCalibrator
from clfeval.placeholders import COMMAND, END
from clfeval.records import dataclass, field

SCHEMA = "clfeval.calibrators/1"
CLASS_SCHEMA = "clfeval.class_calibrators/1"  # of more than two classes
JOINT = "+"  # between the names of a model and of a method: gbm+logistic
VERDICTS = ("helps", "harms", "undecided")  # on recalibration
GAIN = ("value", "low", "high", "level")
LOSS_TITLES = {"log_loss": "log loss", "brier": "Brier score"}  # by which it is judged, in words
PARAMETERS = ("intercept", "power", "complement_power")
SAVE_AGAIN = f"write it again: {COMMAND}clfeval recalibrate TABLE --save NAME.calibrator.json{END}"


@dataclass(frozen=True, slots=True)
class StoredGain:
    """The fall of a loss on new rows by a calibrator, its limits at a level, and their verdict."""

    verdict: str
    loss: str
    value: float
    low: float
    high: float
    level: float


@dataclass(frozen=True, slots=True, eq=False)
class StoredCalibrator:
    """The calibrator of a model and its method.

    score_range: the lowest and highest score it was fitted to; digest: of the counts of
    scores, whatever their clusters. scale: what was added to the numbers of the column, and before
    by what they were divided; None where it is unknown, as of counts. log_odds: whether these
    numbers are log odds, of which the probabilities were calibrated. gain: None where its rows did
    not show it, as they were too few or of another prevalence. columns: of more than two classes,
    the column of each class; a class without one has probability 0.
    """

    model: str
    method: str
    calibrator: AnyCalibrator
    score_range: tuple[float, float]
    digest: str
    scale: tuple[float, float] | None = None
    gain: StoredGain | None = None
    log_odds: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def column(self) -> str:
        """The name of the recalibrated model."""
        return f"{self.model}{JOINT}{self.method}"

    @property
    def keeps_ends(self) -> bool:
        """Whether scores of exactly 0 and 1 keep their values."""
        return not isinstance(self.calibrator, StepCalibrator | VennAbersCalibrator)


@dataclass(frozen=True, slots=True, eq=False)
class CalibratorFile:
    """The calibrators of a table, its positive class and its rows; name: of the file.

    classes: in order, of more than two, where no class is positive.
    """

    positive: str
    calibrators: Sequence[StoredCalibrator]
    rows: float
    name: str = ""
    classes: tuple[str, ...] = ()

    @property
    def models(self) -> list[str]:
        """The models that have a calibrator."""
        return [stored.model for stored in self.calibrators]

    @property
    def by_model(self) -> dict[str, AnyCalibrator]:
        """The calibrators by the name of their model."""
        return {stored.model: stored.calibrator for stored in self.calibrators}

    def calibrator_of(self, model: str) -> StoredCalibrator:
        """Return the calibrator of a model; DataError, with the nearest name, if it has none."""
        for stored in self.calibrators:
            if stored.model == model:
                return stored
        message = f"has no calibrator of {quote_name(model)}; it has {list_names(self.models)}"
        hint = suggestion(model, self.models)
        raise DataError.new(message, "no-calibrator", self.name, hint=hint)

    def to_json(self) -> str:
        """Return the file; numbers are the shortest that read back as the same."""
        header: dict[str, Any] = {"schema": SCHEMA, "positive": self.positive}
        if self.classes:
            header = {"schema": CLASS_SCHEMA, "classes": list(self.classes)}
        document = {
            **header,
            "rows": self.rows,
            "calibrators": [
                {
                    "model": stored.model,
                    "method": stored.method,
                    "score_range": list(stored.score_range),
                    "digest": stored.digest,
                    **_source(stored),
                    **_gain_record(stored.gain),
                    **_parameters(stored.calibrator),
                }
                for stored in self.calibrators
            ],
        }
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _gain_record(gain: StoredGain | None) -> dict[str, Any]:
    """Return the verdict on a calibrator, the loss by which it was judged, and the gain."""
    if gain is None:
        return {"verdict": None, "loss": None, "gain": None}
    gain_numbers = {key: getattr(gain, key) for key in GAIN}
    return {"verdict": gain.verdict, "loss": gain.loss, "gain": gain_numbers}


def _source(stored: StoredCalibrator) -> dict[str, Any]:
    """Return the columns of the classes, or of two how the scores were read."""
    if stored.columns:
        return {"columns": [[label, column] for label, column in stored.columns.items()]}
    scale = None if stored.scale is None else list(stored.scale)
    return {"scale": scale, "log_odds": stored.log_odds}


def _parameters(calibrator: AnyCalibrator) -> dict[str, Any]:
    """Return what defines a calibrator."""
    if isinstance(calibrator, TemperatureCalibrator):
        return {"power": calibrator.power}
    if isinstance(calibrator, OneVsRestCalibrator):
        lines = zip(calibrator.intercepts.tolist(), calibrator.powers.tolist(), strict=True)
        return {"lines": [list(line) for line in lines]}
    if isinstance(calibrator, LogOddsCalibrator):
        return {name: getattr(calibrator, name) for name in PARAMETERS}
    if isinstance(calibrator, VennAbersCalibrator):
        return calibrator.parameters
    pairs = zip(calibrator.probabilities.tolist(), calibrator.recalibrated.tolist(), strict=True)
    return {"knots": [list(pair) for pair in pairs]}


def read_calibrator_file(path: str) -> CalibratorFile:
    """Return the calibrators of a JSON file; DataError for a missing or damaged one."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        message = f"cannot read the file of calibrators: {error.strerror}"
        is_missing = isinstance(error, FileNotFoundError)
        file_names = os.listdir(os.path.dirname(path) or os.curdir) if is_missing else []
        message = "no such file of calibrators" if is_missing else message
        hint = suggestion(os.path.basename(path), file_names)
        raise DataError.new(message, "no-such-file", path, hint=hint) from error
    return read_calibrators(Path(path).name, content.decode("utf-8", errors="replace"))


def read_calibrators(name: str, text: str) -> CalibratorFile:
    """Return the calibrators of a JSON file.

    DataError: `other-schema` for another kind of file, `damaged-file` with the place in the file.
    """
    try:
        document = json.loads(text)
        schema = document.get("schema") if isinstance(document, dict) else None
        if schema not in (SCHEMA, CLASS_SCHEMA):
            message = f"is not a file of calibrators of schema {SCHEMA}"
            raise DataError.new(message, "other-schema", name, hint=SAVE_AGAIN)
        classes = _read_classes(document) if schema == CLASS_SCHEMA else ()
        records = _cell(document, "calibrators", list, "")
        calibrators = [
            _read_calibrator(record, f"calibrators[{index}]", classes)
            for index, record in enumerate(records)
        ]
        model_names = [stored.model for stored in calibrators]
        if len({*model_names}) < len(model_names):
            raise ValueError("calibrators: a model has several")
        positive = "" if classes else _cell(document, "positive", str, "")
        return CalibratorFile(positive, calibrators, _number(document, "rows", ""), name, classes)
    except (ValueError, RecursionError) as error:
        message = f"is a damaged file of calibrators: {error}"
        raise DataError.new(message, "damaged-file", name, hint=SAVE_AGAIN) from error


def _cell(record: object, key: str, expected_type: type, record_path: str) -> Any:
    """Return the value of a key of an object; ValueError, with the place, for another type.

    record_path: where the record is in the file, such as `calibrators[0]`; "" for the whole file.
    """
    location = f"{record_path}.{key}".lstrip(".")
    if not isinstance(record, Mapping):
        raise ValueError(f"{record_path} is not an object")
    if key not in record:
        raise ValueError(f"{location} is missing")
    if not isinstance(record[key], expected_type):
        raise ValueError(f"{location} is not a {'text' if expected_type is str else 'list'}")
    return record[key]


def _number(record: Mapping[str, Any], key: str, record_path: str) -> float:
    """Return the finite number of a key; ValueError with the place."""
    location = f"{record_path}.{key}".lstrip(".")
    if key not in record:
        raise ValueError(f"{location} is missing")
    number = record[key]
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not isfinite(number):
        raise ValueError(f"{location} is not a finite number")
    return float(number)


def _pair(record: Mapping[str, Any], key: str, record_path: str) -> tuple[float, float]:
    """Return the two numbers of a key; ValueError with the place."""
    location = f"{record_path}.{key}"
    numbers = _cell(record, key, list, record_path)
    if len(numbers) != 2:
        raise ValueError(f"{location} is not a pair of numbers")
    first, second = (_number({location: number}, location, "") for number in numbers)
    return first, second


def _pairs(record: Mapping[str, Any], key: str, record_path: str) -> list[tuple[float, float]]:
    """Return a list of pairs of numbers in 0 to 1; ValueError with the place."""
    pairs = list[tuple[float, float]]()
    for pair_index, pair in enumerate(_cell(record, key, list, record_path)):
        location = f"{record_path}.{key}[{pair_index}]"
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError(f"{location} is not a pair of numbers")
        probability, recalibrated = (_number({location: number}, location, "") for number in pair)
        if not (0 <= probability <= 1 and 0 <= recalibrated <= 1):
            raise ValueError(f"{location} is not in 0 to 1")
        if pairs and not (probability > pairs[-1][0] and recalibrated >= pairs[-1][1]):
            raise ValueError(f"{location} does not rise above the one before it")
        pairs.append((probability, recalibrated))
    if not pairs:
        raise ValueError(f"{record_path}.{key} is empty")
    return pairs


def _texts(cells: Sequence[object], list_path: str) -> tuple[str, ...]:
    """Return different texts; ValueError, with the place, for other cells."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    if len(texts) < len(cells) or len({*texts}) < len(texts):
        raise ValueError(f"{list_path} is not a list of different texts")
    return tuple(texts)


def _read_classes(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the classes of a file; ValueError for less than three different texts."""
    classes = _texts(_cell(document, "classes", list, ""), "classes")
    if len(classes) < 3:
        raise ValueError("classes has less than three")
    return classes


def _read_calibrator(
    record: Mapping[str, Any], record_path: str, classes: Sequence[str]
) -> StoredCalibrator:
    """Return one calibrator of a file; ValueError, with the place, for what makes none."""
    model, method, digest = (
        _cell(record, key, str, record_path) for key in ("model", "method", "digest")
    )
    low, high = _pair(record, "score_range", record_path)
    if not 0 <= low <= high <= 1:
        raise ValueError(f"{record_path}.score_range is not a range within 0 to 1")
    if classes:
        columns = _read_columns(record, record_path, classes)
        calibrator = _read_class_calibrator(record, record_path, classes)
        return StoredCalibrator(
            model,
            method,
            calibrator,
            (low, high),
            digest,
            gain=_read_gain(record, record_path),
            columns=columns,
        )
    scale = None if record.get("scale") is None else _pair(record, "scale", record_path)
    if scale is not None and not scale[1]:
        raise ValueError(f"{record_path}.scale divides by 0")
    gain = _read_gain(record, record_path)
    log_odds = record.get("log_odds", False)
    if not isinstance(log_odds, bool):
        raise ValueError(f"{record_path}.log_odds is not true or false")
    score_calibrator = _read_score_calibrator(record, record_path)
    return StoredCalibrator(
        model, method, score_calibrator, (low, high), digest, scale, gain, log_odds
    )


def _read_gain(record: Mapping[str, Any], record_path: str) -> StoredGain | None:
    """Return the gain of a calibrator, None without a verdict; ValueError with the place."""
    if record.get("verdict") is None:
        return None
    for key, known_words in (("verdict", VERDICTS), ("loss", LOSS_TITLES)):
        if _cell(record, key, str, record_path) not in known_words:
            raise ValueError(f"{record_path}.{key} is none of {', '.join(known_words)}")
    gain_numbers = record.get("gain")
    if not isinstance(gain_numbers, Mapping):
        raise ValueError(f"{record_path}.gain is not an object")
    gain_values = [_number(gain_numbers, key, f"{record_path}.gain") for key in GAIN]
    return StoredGain(record["verdict"], record["loss"], *gain_values)


def _read_score_calibrator(record: Mapping[str, Any], record_path: str) -> Calibrator:
    """Return the calibrator of scores of two classes; ValueError with the place."""
    if "knots" in record:
        return StepCalibrator(*np.array(_pairs(record, "knots", record_path)).T)
    if "p0" in record:
        return VennAbersCalibrator.from_parameters(record)
    calibrator = LogOddsCalibrator(*(_number(record, name, record_path) for name in PARAMETERS))
    if not calibrator.rises:
        raise ValueError(f"{record_path}.power: the calibrator does not rise")
    return calibrator


def _read_columns(
    record: Mapping[str, Any], record_path: str, classes: Sequence[str]
) -> dict[str, str]:
    """Return the column of each class that has one; ValueError with the place."""
    location = f"{record_path}.columns"
    pairs = _cell(record, "columns", list, record_path)
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise ValueError(f"{location} is not a list of pairs")
    labels = _texts([pair[0] for pair in pairs], location)
    columns = _texts([pair[1] for pair in pairs], location)
    if not labels or not {*labels} <= {*classes}:
        raise ValueError(f"{location} has none of the classes, or another one")
    return dict(zip(labels, columns, strict=True))


def _read_class_calibrator(
    record: Mapping[str, Any], record_path: str, classes: Sequence[str]
) -> ClassCalibrator:
    """Return the calibrator of several classes; ValueError with the place.

    Lines have an intercept and a power each.
    """
    calibrator: ClassCalibrator
    if "lines" in record:
        lines = _cell(record, "lines", list, record_path)
        if len(lines) != len(classes):
            raise ValueError(f"{record_path}.lines does not have one line a class")
        line_pairs = [
            _pair({location: line}, location, record_path)
            for location, line in (
                (f"lines[{line_index}]", line) for line_index, line in enumerate(lines)
            )
        ]
        calibrator = OneVsRestCalibrator(*np.array(line_pairs).T)
    else:
        calibrator = TemperatureCalibrator(_number(record, "power", record_path))
    if not calibrator.rises:
        raise ValueError(f"{record_path}: the calibrator does not rise")
    return calibrator
