"""The data of a result: tables of plain rows, the answer and the gates, which all views read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeVar, cast

from clfeval import __version__
from clfeval.document.cells import Cell, CellsByColumn, Estimate, Row, Rows
from clfeval.document.cells import as_estimate as as_estimate
from clfeval.document.cells import as_row as as_row
from clfeval.document.result_schema import DamagedResultError, check_document
from clfeval.document.rows import RowsBySlice, column_values, rows_where
from clfeval.records import field_values, read_record

# history: 1 the first. Adding keys keeps it; removing, renaming or retyping one raises it.
SCHEMA_KIND = "clfeval.result"
SCHEMA_VERSION = 1
SCHEMA = f"{SCHEMA_KIND}/{SCHEMA_VERSION}"

# parts of a signature that are not settings: the data, the version of clfeval, and which measures
# are listed, which changes no value of another measure
UNSIGNED_PARTS = ("data", "stats", "clfeval", "measures")

# second sentences that belong to the first: comparisons, and sentences that limit its claim
TIE_CODES = ("not-significantly-different", "significantly-worse", "untested")
CODES_WITH_FIRST = ("compared", "operating-point", *TIE_CODES)
T = TypeVar("T")


R = TypeVar("R", bound=CellsByColumn)
POPULATIONS = ("target", "sample", "1:1")  # the first of these that is present represents a model


@dataclass(frozen=True, slots=True)
class Answer:
    """A sentence about the numbers, without markup, with the value and interval it is about.

    Files do not hold what shortens an answer: brief: the text with fewer values; harm: whether it
    is on something worse; left_out: sentences that had no room.
    """

    code: str
    text: str
    models: tuple[str, ...] = ()
    measure: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    brief: str = field(default="", compare=False)
    harm: bool = field(default=False, compare=False)
    left_out: tuple[Answer, ...] = field(default=(), compare=False)

    def stored(self) -> dict[str, Any]:
        """Return the fields that files hold."""
        return {part.name: getattr(self, part.name) for part in fields(self) if part.compare}


@dataclass(frozen=True, slots=True)
class InputFile:
    """One input file; `rows` counts the rows used, `dropped` those left out as missing."""

    name: str
    sha256: str | None
    rows: int
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class ResultNote:
    """A warning or note on a result, with its code."""

    code: str
    message: str


def settings_of(signature: str) -> str:
    """Return the settings in a signature that change numbers."""
    settings = signature.split("|")
    return "|".join(
        setting for setting in settings if setting.partition(":")[0] not in UNSIGNED_PARTS
    )


@dataclass(frozen=True, repr=False)
class Document:
    """The result of a command: answer, summary, tables, gates, warnings.

    methods: results of other commands on the same rows, by command. truth: the digest of ids and
    truth, if requested; it does not depend on models. again: read from a file, so nothing more can
    be computed. python: texts name keywords. runs: of a batch. extras: what only files of `count`
    and `recalibrate` hold.
    """

    command: str
    signature: str
    inputs: tuple[InputFile, ...]
    parameters: Mapping[str, Any]
    summary: Mapping[str, Any]
    tables: Mapping[str, Rows]
    gates: tuple[Gate, ...] = ()
    warnings: tuple[ResultNote, ...] = ()
    answer: tuple[Answer, ...] = ()
    version: str = __version__
    methods: Mapping[str, Document] = field(default_factory=dict)
    truth: str | None = None
    again: bool = field(default=False, compare=False)
    python: bool = field(default=False, compare=False)
    runs: Mapping[str, Document] = field(default_factory=dict, compare=False)
    extras: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        """Do nothing; a subclass may complete a new document."""

    @property
    def passed(self) -> bool:
        """True if no gate failed, nothing is ambiguous, and no run of a batch failed."""
        has_problem = bool(self.summary.get("ambiguities") or self.summary.get("failed"))
        return not has_problem and not any(gate.failed for gate in self.gates)

    def unsliced_rows(self, table: str) -> Rows:
        """Return the rows of a table for all rows of the data, without slices."""
        return whole_table_rows(self.tables.get(table, ()))

    def head(self) -> dict[str, Any]:
        """Return everything of the document before its tables, in its order."""
        return {
            "schema": SCHEMA,
            "command": self.command,
            "version": self.version,
            "signature": self.signature,
            "answer": [sentence.stored() for sentence in self.answer],
            "inputs": [asdict(file) for file in self.inputs],
            **({} if self.truth is None else {"truth": self.truth}),
            "parameters": dict(self.parameters),
            "summary": dict(self.summary),
        }

    def tail(self) -> dict[str, Any]:
        """Return everything of the document after its tables, in its order."""
        return {
            "gates": [asdict(gate) for gate in self.gates],
            "passed": self.passed,
            "warnings": [asdict(warning) for warning in self.warnings],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the whole document as plain dictionaries, lists, numbers and text."""
        plain_tables = {
            name: [plain_row(row) for row in rows] for name, rows in self.tables.items()
        }
        content = {**self.head(), "tables": plain_tables, **self.tail()}
        if self.methods:
            content["methods"] = {name: result.to_dict() for name, result in self.methods.items()}
        return content

    def json_lines(self) -> Iterator[str]:
        """Yield the JSON document in pieces, one table row per line (full precision, no NaN)."""
        head_lines = [f"{dumps(key)}: {dumps(value)}" for key, value in self.head().items()]
        yield "{\n  " + ",\n  ".join(head_lines) + ',\n  "tables": {'
        for index, (name, rows) in enumerate(self.tables.items()):
            yield ("," if index else "") + f"\n    {dumps(name)}: ["
            for row_index, row in enumerate(rows):
                yield ("," if row_index else "") + "\n      " + dumps(plain_row(row))
            yield "\n    ]" if len(rows) else "]"
        yield "\n  }"
        for key, value in self.tail().items():
            yield f",\n  {dumps(key)}: {dumps(value)}"
        for index, (name, result) in enumerate(self.methods.items()):
            yield (",\n" if index else ',\n  "methods": {\n') + f"{dumps(name)}: "
            yield from result.json_lines()
        yield "}\n}\n" if self.methods else "\n}\n"

    def to_json(self) -> str:
        """Return the JSON document; equal results give equal bytes."""
        return "".join(self.json_lines())

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Document:
        """Rebuild a Result; ValueError if the document is not a clfeval result of this schema.

        DamagedResultError names the first place that breaks the schema.
        """
        schema_kind, _, version = str(document.get("schema", "")).partition("/")
        if schema_kind != SCHEMA_KIND or not version.isdigit():
            raise ValueError("not a clfeval result: the key 'schema' is missing or unknown")
        if int(version) > SCHEMA_VERSION:
            raise ValueError(
                f"schema {schema_kind}/{version} is too new for this program ({SCHEMA})"
            )
        check_document({**document, "schema": SCHEMA})  # older ones are read as well
        try:
            return cls._from_checked(document)
        except TypeError as error:  # of a key that the schema does not know
            raise DamagedResultError(str(error)) from error

    @classmethod
    def _from_checked(cls, document: Mapping[str, Any]) -> Document:
        """Rebuild a Result that fits its schema."""
        methods = document.get("methods", {})
        plain_names = ("command", "signature", "parameters", "summary", "version", "truth")
        fields_by_name = {
            **{name: document[name] for name in plain_names if name in document},
            "inputs": _read_records(InputFile, document["inputs"]),
            "tables": {
                name: [_restore_row(row) for row in rows]
                for name, rows in document["tables"].items()
            },
            "gates": _read_records(Gate, document["gates"]),
            "warnings": _read_records(ResultNote, document["warnings"]),
            "answer": _read_records(Answer, map(_with_models, document.get("answer", ()))),
            "methods": {
                name: cls._from_checked(method_document)
                for name, method_document in methods.items()
            },
        }
        return read_record(cls, {**fields_by_name, "python": True})

    @classmethod
    def from_json(cls, text: str) -> Document:
        """Rebuild a Result from its JSON text; ValueError if it is not one."""
        document = json.loads(text, parse_constant=refuse_nonfinite)
        if not isinstance(document, dict):
            raise ValueError("not a clfeval result: the document is not an object")
        return cls.from_dict(document)

    def __repr__(self) -> str:
        """Name the command, the inputs and the tables with their rows."""
        tables = ", ".join(f"{name} ({len(rows)})" for name, rows in self.tables.items())
        return (
            f"<Result of {self.command}: {', '.join(file.name for file in self.inputs)}; {tables}>"
        )


def whole_table_rows(rows: Sequence[R]) -> Sequence[R]:
    """Return the rows for the whole table, without slices.

    With several populations those of the target, else of the sample, else of balanced classes.
    """
    if isinstance(rows, RowsBySlice):
        rows = cast("Sequence[R]", rows.first)
    rows = rows_where(rows, "slice", None)
    populations = {*column_values(rows, "population")}
    first_population = next((name for name in POPULATIONS if name in populations), None)
    return rows_where(rows, "population", first_population)


def comparable_rows(rows: Sequence[R]) -> Sequence[R]:
    """Return whole-table rows at the same odds for all models: 1:1 if the sample's differ."""
    unsliced_rows = whole_table_rows(rows)
    if len(unsliced_rows) and unsliced_rows[0].get("population") == "sample":
        odds = {row["odds"] for row in unsliced_rows}
        if len(odds) > 1 or None in odds:  # models with rows of a single class have no odds
            return [row for row in rows if row["slice"] is None and row["population"] == "1:1"]
    return unsliced_rows


def short_answer(answer: Sequence[Answer]) -> str:
    """Return the first sentence of an answer, and the second if it qualifies the first."""
    qualifying_sentences = [
        sentence for sentence in answer[1:2] if sentence.code in CODES_WITH_FIRST
    ]
    return " ".join(sentence.text for sentence in (*answer[:1], *qualifying_sentences))


def plain_row(row: Row) -> dict[str, Any]:
    """Return a row with estimates as dictionaries."""
    return {
        key: field_values(cell) if isinstance(cell, Estimate) else cell for key, cell in row.items()
    }


def dumps(value: object) -> str:
    """Encode a value as JSON; ValueError for NaN and infinity, which are bugs here."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def _read_records(record: type[T], dictionaries: Iterable[Mapping[str, Any]]) -> tuple[T, ...]:
    return tuple(read_record(record, values) for values in dictionaries)


def _with_models(sentence: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**sentence, "models": tuple(sentence["models"])}


def refuse_nonfinite(word: str) -> Any:
    """Raise ValueError for NaN and infinite numbers, which JSON does not have."""
    raise ValueError(f"holds {word}, which is not a JSON number")


def _restore_row(row: Mapping[str, object]) -> Row:
    """Return a row with its estimates."""
    return as_row({name: _restore_estimate(cell) for name, cell in row.items()})


def _restore_estimate(cell: object) -> Cell:
    """Turn `{"value", "low", "high", "reason"}` back into an Estimate."""
    if isinstance(cell, dict) and set(cell) == {"value", "low", "high", "reason"}:
        return read_record(Estimate, cell)
    return cast("Cell", cell)


Bounds = str | Sequence[str] | Mapping[str, float | str | Sequence[float | str]]
Severity = Literal["fail", "warn"]
NO_BASELINE = "baseline_missing"  # reason of the gate of a baseline whose file does not exist
GateState = Literal["met", "missed", "undefined", "warned", "skipped"]
# part of a measure that is limited: confidence limit, change, gap or extremes between slices,
# excess over the mean under perfect calibration
Part = Literal[
    "value",
    "low",
    "high",
    "change",
    "change.low",
    "change.high",
    "gap",
    "gap.low",
    "gap.high",
    "extremes",
    "extremes.low",
    "extremes.high",
    "excess",
]
PARTS: tuple[Part, ...] = (
    "change.low",
    "change.high",
    "change",
    "gap.low",
    "gap.high",
    "gap",
    "extremes.low",
    "extremes.high",
    "extremes",
    "excess",
    "low",
    "high",
)


@dataclass(frozen=True, slots=True)
class Gate:
    """One limit and whether it was met, judged on unrounded values.

    limit: of a drop in absolute terms; `limit_text`: as given, where a share of the baseline's
    value. slice: None for the whole table. among: number of models of which any one may meet it.
    run: of a batch.
    """

    kind: str  # the name of one of compare/gates/kinds.py
    metric: str
    model: str | None
    limit: float
    value: float | None
    passed: bool
    reason: str | None = None
    severity: Severity = "fail"
    slice: str | None = None
    limit_text: str | None = None
    among: int | None = None
    run: str | None = None
    p: float | None = None

    @property
    def failed(self) -> bool:
        """True if the gate was missed and is more than a warning."""
        return not self.passed and self.severity == "fail"

    @property
    def state(self) -> GateState:
        """The outcome: `skipped` without a baseline, `undefined` if missed without a value."""
        if self.passed:
            return "skipped" if self.reason == NO_BASELINE else "met"
        if not self.failed:
            return "warned"
        is_known = self.value is not None or self.reason == NO_BASELINE
        return "missed" if is_known else "undefined"

    @property
    def measure(self) -> str:
        """The measure the gate limits, without the part of it."""
        suffixes = (f".{part}" for part in PARTS if self.metric.endswith(f".{part}"))
        return self.metric.removesuffix(next(suffixes, ""))

    @property
    def subject(self) -> str:
        """The subject of the gate: run, model, measure, slice and part."""
        prefix = "".join(f"{name}: " for name in (self.run, self.model) if name)
        prefix = f"any of {self.among}: {prefix}" if self.among else prefix
        if self.slice is None:
            return f"{prefix}{self.metric}"
        return f"{prefix}{self.measure}[{self.slice}]{self.metric.removeprefix(self.measure)}"

    @property
    def bound(self) -> str:
        """The limit with its kind: `fail-under 0.8`."""
        return f"{self.kind} {self.limit_text or repr(self.limit)}"
