"""A line of a history: the measures of one model in one run, as JSON with sorted keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import isclose, isfinite
from typing import Any

from clfeval.document import Document, Estimate, Row, refuse_nonfinite, settings_of
from clfeval.records import dataclass, field, fields, read_record

# history: 1 the first. Adding keys keeps it; removing, renaming or retyping one raises it.
LINE_KIND = "clfeval.history"
LINE_VERSION = 1
LINE = f"{LINE_KIND}/{LINE_VERSION}"


class NewerVersionError(ValueError):
    """A line of a later version of this program."""


@dataclass(frozen=True, slots=True)
class HistoryMeasure:
    """A measure: the fields of an `Estimate`, and its standard error where known."""

    value: float | None
    low: float | None = None
    high: float | None = None
    se: float | None = None
    reason: str | None = None

    @property
    def estimate(self) -> Estimate:
        """The value with its interval."""
        return Estimate(self.value, self.low, self.high, self.reason)


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """The line of one model of one run.

    run: its name in a batch. settings: the signature without the data. data: the sha256 of the
    files. truth: the digest of ids and truth. rows, positives: None where models differ. gates:
    measures of gates, and whether all were met or only warn.
    """

    command: str
    label: str
    model: str
    settings: str = ""
    version: str = ""
    run: str | None = None
    data: tuple[str | None, ...] = ()
    truth: str | None = None
    rows: float | None = None
    positives: float | None = None
    level: float | None = None
    measures: Mapping[str, HistoryMeasure] = field(default_factory=dict)
    gates: Mapping[str, bool] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name in the trend: the model, after its run if it has one."""
        return self.model if self.run is None else f"{self.run}: {self.model}"

    def text(self) -> str:
        """Return the line with its newline."""
        measures = {name: _field_values(cell) for name, cell in self.measures.items()}
        return _json_line({**_field_values(self), "measures": measures})


@dataclass(frozen=True, slots=True)
class AcceptedLabel:
    """An accepted label: its lines so far are the baseline of later lines of the command."""

    command: str
    accepted: str

    def text(self) -> str:
        """Return the line with its newline."""
        return _json_line(_field_values(self))


HistoryEntry = HistoryLine | AcceptedLabel


def _field_values(record: Any) -> dict[str, Any]:
    """Return a record by its fields, without the deep copies of `asdict`, which take ten times."""
    return {one.name: getattr(record, one.name) for one in fields(record)}


def _json_line(said: Mapping[str, Any]) -> str:
    found = {"schema": LINE, **said}
    text = json.dumps(found, sort_keys=True, allow_nan=False, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a name with an unpaired surrogate
        text = json.dumps(found, sort_keys=True, allow_nan=False)
    return f"{text}\n"


def result_lines(
    result: Document, label: str, rows: Mapping[str, Row], run: str | None = None
) -> Iterator[HistoryLine]:
    """Yield a line for each model of a result.

    rows: of the models, as for gates. Measures are all cells with a value, an interval or a reason.
    """
    errors = {}
    for row in result.whole("measures"):
        if "model" in row and isinstance(se := row.get("se"), (int, float)) and isfinite(se):
            errors[row["model"], row["measure"]] = se
    met: dict[str | None, dict[str, bool]] = {}
    for gate in result.gates:
        if gate.slice is None:  # of a slice it says nothing of the whole
            mine = met.setdefault(gate.model, {})
            mine[gate.measure] = mine.get(gate.measure, True) and not gate.failed
    for model, row in rows.items():
        found = {}
        for name, cell in row.items():
            if isinstance(cell, Estimate):
                error = errors.get((model, name))
                found[name] = HistoryMeasure(cell.value, cell.low, cell.high, error, cell.reason)
        yield HistoryLine(
            result.command, label, model, settings_of(result.signature), result.version, run,
            tuple(one.sha256 for one in result.inputs), result.truth, result.summary.get("rows"),
            result.summary.get("positives"), result.parameters.get("level"), found,
            met.get(model, {}),
        )  # fmt: skip


VALUE_TOLERANCE = 1e-9  # of a value: sums in another order differ by less


def same_rows(one: HistoryLine, other: HistoryLine) -> bool | None:
    """Return whether two lines have the same rows; None where unknown."""
    digests = [line.truth for line in (one, other) if line.truth is not None]
    if len(digests) == 2 and len({digest.partition(":")[0] for digest in digests}) == 1:
        return digests[0] == digests[1]
    if (one.rows, one.positives) != (other.rows, other.positives):
        return False
    return True if one.data and None not in one.data and one.data == other.data else None


def same_values(one: HistoryLine, other: HistoryLine) -> bool:
    """Return whether all measures that two lines share are equal."""
    return all(
        _equal_measures(cell, other.measures[name])
        for name, cell in one.measures.items() if name in other.measures
    )  # fmt: skip


def _equal_measures(one: HistoryMeasure, other: HistoryMeasure) -> bool:
    if one.value is None or other.value is None:
        return one.reason == other.reason and one.value == other.value
    return isclose(one.value, other.value, rel_tol=VALUE_TOLERANCE, abs_tol=VALUE_TOLERANCE)


def parse_line(text: str) -> HistoryEntry:
    """Return the parsed line; ValueError, in words, where it is invalid or of a newer version."""
    try:
        said = json.loads(text, parse_constant=refuse_nonfinite)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error.msg} at column {error.colno}") from None
    if not isinstance(said, dict):
        raise ValueError("is not a line of a history")
    kind, _, number = str(said.get("schema", "")).partition("/")
    if kind != LINE_KIND or not (number.isascii() and number.isdigit()):
        raise ValueError("is not a line of a history: the key 'schema' is missing or unknown")
    if int(number) > LINE_VERSION:
        raise NewerVersionError(f"{kind}/{number} is too new for this program ({LINE})")
    record: type[AcceptedLabel | HistoryLine] = AcceptedLabel if "accepted" in said else HistoryLine
    least = ("accepted",) if record is AcceptedLabel else ("label", "model", "measures")
    for name in ("command", *least):
        if name not in said:
            raise ValueError(f"lacks the key '{name}'")
    wanted: dict[str, type] = {"data": list, "measures": dict, "gates": dict}
    for name, of in wanted.items():
        if not isinstance(said.get(name, of()), of):
            raise ValueError(f"'{name}' is {said[name]!r:.40}")
    try:
        parts = dict(said)
        if record is HistoryLine:
            parts["data"] = tuple(said.get("data", ()))
            parts["settings"] = settings_of(said.get("settings", ""))
            measures = said["measures"].items()
            parts["measures"] = {name: read_record(HistoryMeasure, one) for name, one in measures}
            if any(type(one) is not bool for one in said.get("gates", {}).values()):
                raise TypeError("'gates' must hold true or false only")
        return read_record(record, parts)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(str(error)) from None


def lines_to_result(lines: Mapping[str, HistoryLine]) -> Document:
    """Return lines of one run, by model, as a saved result with tables `models` and `metrics`."""
    first, models, measures = next(iter(lines.values())), list[Row](), list[Row]()
    for name, line in lines.items():
        cells = {measure: one.estimate for measure, one in line.measures.items()}
        models.append({"model": name, **cells})
        measures += [
            {"model": name, "measure": measure, "value": one.estimate, "se": one.se}
            for measure, one in line.measures.items()
        ]
    return Document(
        command=first.command, signature=first.settings, inputs=(), version=first.version,
        parameters={} if first.level is None else {"level": first.level},
        summary={"rows": first.rows, "positives": first.positives},
        tables={"models": models, "measures": measures}, truth=first.truth,
    )  # fmt: skip
