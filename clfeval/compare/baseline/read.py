"""Reading of baselines: saved results, and the lines of a history to compare with."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from glob import glob
from math import isclose, isfinite
from os import PathLike, fspath
from typing import Literal, NamedTuple
from urllib.parse import unquote

from clfeval.compare.families import CHANGING
from clfeval.compare.gates.kinds import VALUE_LIMIT_KINDS
from clfeval.compare.history.file import CODE, HistoryLine, HistoryMeasure, read_history
from clfeval.document import (
    POPULATIONS,
    SCHEMA,
    Document,
    ResultNote,
    settings_of,
    whole_table_rows,
)
from clfeval.document.cells import Cell, Estimate, Row, Rows, as_row, cell_text
from clfeval.document.result_schema import DamagedResultError
from clfeval.errors import DataError, UsageError, format_command_line, list_names
from clfeval.formatting import join_names
from clfeval.measures.catalog import CATALOG
from clfeval.pages.command_pages import page_of
from clfeval.pages.schema import gateable_names
from clfeval.placeholders import COMMAND, END, OPTION
from clfeval.records import dataclass, replace

Labelled = Mapping[str, Row]


def rows_by_label(result: Document, slice_name: str | None = None) -> Labelled:
    """Return the rows of models, or of features, by label; slice_name: None for all rows."""

    def table_rows(table_name: str) -> Rows:
        if slice_name is None:
            return result.unsliced_rows(table_name)
        rows = [row for row in result.tables.get(table_name, ()) if row.get("slice") == slice_name]
        return whole_table_rows(
            [as_row({name: cell for name, cell in row.items() if name != "slice"}) for row in rows]
        )

    rows = table_rows("models" if "models" in result.tables else "features")
    has_populations = bool(len(rows)) and rows[0].get("population") == POPULATIONS[0]
    row_of_label = {
        f"{subject_name(row)} at {row['odds']}" if has_populations else subject_name(row): row
        for row in rows
    }
    if len(row_of_label) < len(rows):
        repeated_name = Counter(map(subject_name, rows)).most_common(1)[0][0]
        raise UsageError.new(f"the result contains '{repeated_name}' twice", "baseline")
    cells_of_model: dict[str, dict[str, Cell]] = {}  # by model, then by measure with its parameters
    for row in table_rows("measures"):
        if "model" in row:  # other tables of that name are about measures alone
            cells = cells_of_model.setdefault(row["model"], {})
            cells.setdefault(row["measure"], row["value"])
    return {
        label: as_row({**cells_of_model.get(label, {}), **row})
        for label, row in row_of_label.items()
    }


def slice_names(result: Document) -> list[str]:
    """Return the names of the slices, in their order."""
    rows = result.tables.get("models", ())
    return [*dict.fromkeys(cell_text(row["slice"]) for row in rows if row.get("slice") is not None)]


def subject_name(row: Row) -> str:
    """Return the name of a model or feature."""
    return str(row.get("model", row.get("feature")))


def better_direction(command: str, metric: str) -> str:
    """Return the better direction of a measure, or of another column as declared."""
    measure_id = metric.partition(":")[0]
    if measure_id in CATALOG:
        return CATALOG[measure_id].best
    column = page_of(command).column(metric)
    return (column and column.best) or "max"


def tested_measures(command: str) -> Collection[str]:
    """Return the measures whose changes are tested together: those of the first screen."""
    return CHANGING if command == "report" else gateable_names(page_of(command))


BaselineKind = Literal["result", "history", "table"]
_HISTORY = r'"schema":\s*"clfeval\.history/'
SCHEMA_CHARACTERS = 200  # characters in which a saved result names its schema
MAX_LINE_CHARACTERS = 2**20  # characters in which a line of a history is found
_RANDOM_SETTINGS = ("seed",)  # settings that change only confidence limits
# settings that may differ; sentences name the classes that do
FREE_SETTINGS = (*_RANDOM_SETTINGS, "classes")
# the options of the parts of a signature that are not named like their keys
SETTING_NAMES = {
    "cmd": "command",
    "classes": "classes",
    "pos": "--positive",
    "cut": "--threshold",
    "miss": "--missing",
    "dec": "--decimal",
    "fold": "--fold-labels",
    "renorm": "--renormalize",
    "sampling": "--sampling-weights",
    "ci": "--interval",
    "ref": "--reference",
    "best": "--best-threshold",
    "rule": "--occlusion",
    "only": "--feature",
    "range": "--prevalence",
    "prior": "--prevalence-beta",
    "per": "--population",
    "by-measure": "--measure",
    "metrics": "--metric",
    "weights": "--metric-weight",
    "zero": "--zero-weight",
    "less": "--direction",
    "scale": "--rescale",
    "wish": "--desirability",
}


@dataclass(frozen=True, slots=True)
class HistoryBaseline(PathLike[str]):
    """A baseline file, maybe a history, with the run and the excluded label of its lines."""

    path: str
    run: str | None = None
    but: str | None = None

    def __fspath__(self) -> str:
        """Return the path of the file."""
        return self.path


class EarlierResult(NamedTuple):
    """An earlier result, its name, the warnings on it, and why it is the one to compare with."""

    result: Document
    name: str
    notes: tuple[ResultNote, ...] = ()
    choice: str = ""


class NoReferenceError(UsageError):
    """Every line of a history missed a gate, and none is accepted."""


def baseline_kind(name: str | PathLike[str]) -> BaselineKind | None:
    """Return the kind of a baseline, by its name and first bytes; None where there is no file."""
    path = fspath(name)
    if not os.path.exists(path):
        if {*path} & {*"*?"} or glob(path):
            message = f"'{os.path.basename(path)}' is a pattern; a baseline is one file"
            raise UsageError.new(message, "baseline", hint="name the file")
        return None
    if path.endswith(".json"):
        return "result"
    if not path.endswith((".jsonl", ".ndjson")):
        return "table"
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            first_text = stream.read(MAX_LINE_CHARACTERS)
    except OSError as error:
        raise _unreadable_error(path, error) from error
    return "history" if re.search(_HISTORY, first_text) or not first_text.strip() else "table"


def is_history(baseline: object) -> bool:
    """Return whether a baseline is a history, whose lines identify their rows."""
    return isinstance(baseline, (str, PathLike)) and baseline_kind(baseline) == "history"


def read_baseline(
    baseline: str | PathLike[str] | Document, result: Document
) -> EarlierResult | None:
    """Return a saved result, or lines of a history; None without a file or comparable lines.

    Raises UsageError when it is neither, of a newer version, or a table.
    """
    if isinstance(baseline, Document):
        return EarlierResult(baseline, "the baseline")
    path = fspath(baseline)
    kind = baseline_kind(baseline)
    if kind == "history":
        history = baseline if isinstance(baseline, HistoryBaseline) else HistoryBaseline(path)
        return _result_of_history(history, result)
    if kind == "table":
        hint = f"give the result of clfeval.{result.command.replace('-', '_')}() for this table"
        message = "the baseline is a table, and it is unknown how to read it"
        raise UsageError.new(message, "baseline", path, hint=hint)
    if kind is None:
        return None
    document = read_result(
        path, f"save a result as the baseline: {OPTION}--save RESULT.json{END}", "the baseline"
    )
    return EarlierResult(document, os.path.basename(path))


def _result_of_history(history: HistoryBaseline, result: Document) -> EarlierResult | None:
    """Return the comparable lines of a history as a result, or None; UsageError by settings."""
    rows = rows_by_label(result)
    line_of_model = {line.model: line for line in result_lines(result, label="", rows=rows)}
    path = history.path
    lines, same_rows_labels, accepted = baseline_lines(
        path, result.command, line_of_model, run=history.run, but=history.but
    )
    comparable_lines = _comparable_lines(lines, rows, result, path)
    if not comparable_lines:
        return None
    labels = list(dict.fromkeys(line.label for line in comparable_lines.values()))
    name = f"{join_names(labels)} of {os.path.basename(path)}"
    notes = _same_rows_notes(same_rows_labels, labels, name)
    first_labels = [line.label for model, line in comparable_lines.items() if model not in accepted]
    choice = _choice_of_first(list(dict.fromkeys(first_labels)), path, result.command)
    return EarlierResult(lines_to_result(comparable_lines), name, notes, choice)


def _comparable_lines(
    lines: Mapping[str, HistoryLine], rows: Labelled, result: Document, path: str
) -> dict[str, HistoryLine]:
    """Return the lines with the settings of a result; UsageError where a model's line differs.

    rows: of the result, by model. path: of the history.
    """
    comparable_lines = dict[str, HistoryLine]()
    for model, line in lines.items():
        difference_of_setting = differing_settings(result, replace(result, signature=line.settings))
        refused_differences = [
            text for key, text in difference_of_setting.items() if key not in FREE_SETTINGS
        ]
        if not refused_differences:
            comparable_lines[model] = line
        elif model in rows:
            message = f"the line of '{model}' at '{line.label}' has other settings: "
            hint = "use the options of that line, or accept a line with the present options"
            raise UsageError.new(
                message + "; ".join(refused_differences), "baseline", path, hint=hint
            )
    return comparable_lines


def accept_command(path: str, command: str) -> str:
    """Return the command line that accepts a label of a history; command: of the lines."""
    words = ["clfeval", "history", path, "--accept", "--label", "LABEL"]
    words += [] if command == "report" else ["--command", command]
    return f"{COMMAND}{format_command_line(words)}{END}"


def _choice_of_first(labels: Sequence[str], path: str, command: str) -> str:
    """Return the sentence on baselines that are first lines, without its full stop."""
    if not labels:
        return ""
    accept_text = accept_command(os.path.basename(path), command)
    opening = f"No label is accepted, so the baseline is {join_names(labels)}, "
    return f"{opening}the first without a missed gate; accept another with {accept_text}"


def _same_rows_notes(
    same_rows_labels: Sequence[str], labels: Sequence[str], name: str
) -> tuple[ResultNote, ...]:
    """Return the note on labels of the same rows; labels, name: of the baseline."""
    if not same_rows_labels:
        return ()
    compared_labels = [label for label in same_rows_labels if label in labels]
    message = f"the rows are the same as in {join_names(compared_labels or same_rows_labels[-1:])}"
    message += "" if compared_labels else f"; they are compared with {name}"
    return (ResultNote("baseline-same-rows", message),)


def read_result(name: str, hint: str, subject: str = "the result") -> Document:
    """Return a saved result.

    UsageError for other files and newer versions; DataError where it is damaged. subject: what
    messages call it.
    """
    text = ""
    try:
        with open(name, encoding="utf-8") as stream:
            text = stream.read()
        return Document.from_json(text)
    except OSError as error:
        raise _unreadable_error(name, error, subject) from error
    except DamagedResultError as error:
        raise _damaged_error(name, error) from error
    except (ValueError, RecursionError) as error:
        if f'"{SCHEMA}"' in text[:SCHEMA_CHARACTERS]:  # cut short, for example
            raise _damaged_error(name, error) from error
        message = f"cannot use {subject}: {error}"
        raise UsageError.new(message, "baseline", name, hint=hint) from error


def _damaged_error(name: str, error: Exception) -> DataError:
    hint = "save the result again, or restore the file from version control"
    return DataError.new(f"is a damaged result: {error}", "damaged-file", name, hint=hint)


def _unreadable_error(name: str, error: OSError, subject: str = "the baseline") -> UsageError:
    return UsageError.new(f"cannot read {subject}: {error.strerror}", "baseline", name)


def differing_settings(result: Document, earlier: Document) -> dict[str, str]:
    """Return the settings in which two results differ: `--option VALUE before, VALUE now`."""
    settings = _signature_settings(result)
    earlier_settings = _signature_settings(earlier)
    differences = {}
    for key in settings | earlier_settings:
        value = settings.get(key)
        earlier_value = earlier_settings.get(key)
        if value == earlier_value:
            continue
        setting = SETTING_NAMES.get(key, f"--{key}")
        if setting.startswith("--"):
            setting = f"{OPTION}{setting}{END}"
        value_texts = ["not given" if text is None else text for text in (earlier_value, value)]
        differences[key] = f"{setting} {value_texts[0]} before, {value_texts[1]} now"
    return differences


def _signature_settings(result: Document) -> dict[str, str]:
    """Return the settings in the signature of a result, by their keys."""
    settings = {}
    for pair_text in settings_of(result.signature).split("|"):
        key, _, value = pair_text.partition(":")
        settings[key] = unquote(value)
    return settings


def check_comparable(
    result: Document, baseline: Document, but: Collection[str] = ()
) -> Iterator[ResultNote]:
    """Refuse a baseline with other settings, except `but`; yield warnings on random numbers."""
    difference_of_setting = differing_settings(result, baseline)
    if refused_differences := [
        text for key, text in difference_of_setting.items() if key not in (*FREE_SETTINGS, *but)
    ]:
        message = f"the baseline has other settings: {'; '.join(refused_differences)}"
        hint = "make the baseline with the same options"
        raise UsageError.new(message, "baseline", hint=hint)
    for key in _RANDOM_SETTINGS:
        if key in difference_of_setting and key not in but:
            text = f"{difference_of_setting[key]}; this alone changes bootstrap intervals"
            yield ResultNote("baseline-seed", text)


def baseline_lines(
    name: str,
    command: str,
    now: Mapping[str, HistoryLine],
    *,
    run: str | None = None,
    but: str | None = None,
) -> tuple[dict[str, HistoryLine], list[str], Collection[str]]:
    """Return the lines that current ones are compared with, by model.

    The accepted line of each model, else the first that missed no gate, but not one with the same
    rows and values where one of other rows exists. Models missing today count while they are at the
    last accepted label, or the last one. Also the labels of the same rows, and the models with an
    accepted line. now: the current line of each model. run: only lines of that run of a batch. but:
    the label that is being added.
    UsageError where only lines of runs are there, and no run is named, or where every line missed
    a gate.
    """
    history = read_history(name)
    lines = _lines_of_run(history.lines, name, command, run)
    earlier_lines = [line for line in lines if line.label != but]
    repeated_keys = {
        (line.label, line.model)
        for line in earlier_lines
        if line.model in now and same_rows(line, now[line.model])
    }
    first_lines = _first_passing_lines(earlier_lines, now, repeated_keys)
    accepted = {key[2]: line for key, line in history.accepted.items() if key[:2] == (command, run)}
    labels = list(dict.fromkeys(line.label for line in lines if accepted or line.label != but))
    eligible_labels = {line.label for line in accepted.values()} or {*labels}
    last_eligible_label = next(
        (label for label in reversed(labels) if label in eligible_labels), None
    )
    compared_models = {line.model for line in lines if line.label == last_eligible_label} | {*now}
    compared_lines = {
        model: line for model, line in (first_lines | accepted).items() if model in compared_models
    }
    if not compared_lines and any(line.model in now for line in earlier_lines):
        hint = f"accept one: {accept_command(name, command)}"
        raise NoReferenceError.new("every line missed a gate", CODE, name, hint=hint)
    repeated_labels = {label for label, _ in repeated_keys}
    return compared_lines, [label for label in labels if label in repeated_labels], {*accepted}


def _lines_of_run(
    lines: Sequence[HistoryLine], name: str, command: str, run: str | None
) -> list[HistoryLine]:
    """Return the lines of a command and run; UsageError where there are only those of runs."""
    command_lines = [line for line in lines if line.command == command]
    run_lines = [line for line in command_lines if line.run == run]
    if command_lines and not run_lines and run is None:
        runs = list(dict.fromkeys(str(line.run) for line in command_lines))
        message = f"has only lines of batch runs: {list_names(runs)}"
        hint = (
            f"use clfeval batch, or add a line: {OPTION}--append {name}{END} "
            f"{OPTION}--label LABEL{END}"
        )
        raise UsageError.new(message, CODE, name, hint=hint)
    return run_lines


def _first_passing_lines(
    lines: Sequence[HistoryLine],
    now: Mapping[str, HistoryLine],
    repeated_keys: Collection[tuple[str, str]],
) -> dict[str, HistoryLine]:
    """Return the first line of each model that missed no gate.

    now: the current line of each model. repeated_keys: labels and models of lines with the rows of
    now. A line with the values of now as well gives way to the first one of different rows.
    """
    first_lines = dict[str, HistoryLine]()
    first_different_lines = dict[str, HistoryLine]()
    for line in lines:
        if all(line.gates.values()):
            first_lines.setdefault(line.model, line)
            if (line.label, line.model) not in repeated_keys:
                first_different_lines.setdefault(line.model, line)
    for model, line in first_lines.items():
        if (line.label, model) in repeated_keys and same_values(line, now[model]):
            first_lines[model] = first_different_lines.get(model, line)
    return first_lines


VALUE_LIMITS = {kind.name for kind in VALUE_LIMIT_KINDS}


def result_lines(
    result: Document, label: str, rows: Mapping[str, Row], run: str | None = None
) -> Iterator[HistoryLine]:
    """Yield a line for each model of a result.

    rows: of the models, as for gates. Measures are all cells with a value, an interval or a reason.
    """
    standard_errors = {}
    for row in result.unsliced_rows("measures"):
        se = row.get("se")
        if "model" in row and isinstance(se, (int, float)) and isfinite(se):
            standard_errors[row["model"], row["measure"]] = se
    met_of_model: dict[str | None, dict[str, bool]] = {}
    limits_of_model: dict[str | None, dict[str, float]] = {}
    for gate in result.gates:
        if gate.slice is None:  # of a slice it says nothing of the whole
            met_of_measure = met_of_model.setdefault(gate.model, {})
            is_met = met_of_measure.get(gate.measure, True) and not gate.failed
            met_of_measure[gate.measure] = is_met
            if gate.kind in VALUE_LIMITS and gate.metric == gate.measure:
                limits_of_model.setdefault(gate.model, {})[gate.measure] = gate.limit
    for model, row in rows.items():
        measures = {}
        for name, cell in row.items():
            if isinstance(cell, Estimate):
                se = standard_errors.get((model, name))
                measures[name] = HistoryMeasure(cell.value, cell.low, cell.high, se, cell.reason)
        yield HistoryLine(
            result.command,
            label,
            model,
            settings_of(result.signature),
            result.version,
            run,
            tuple(file.sha256 for file in result.inputs),
            result.truth,
            result.summary.get("rows"),
            result.summary.get("positives"),
            result.parameters.get("level"),
            measures,
            met_of_model.get(model, {}),
            limits_of_model.get(model, {}),
        )


VALUE_TOLERANCE = 1e-9  # of a value: sums in another order differ by less


def same_rows(line: HistoryLine, earlier: HistoryLine) -> bool | None:
    """Return whether two lines have the same rows; None where unknown."""
    digests = [truth for truth in (line.truth, earlier.truth) if truth is not None]
    if len(digests) == 2 and len({digest.partition(":")[0] for digest in digests}) == 1:
        return digests[0] == digests[1]
    if (line.rows, line.positives) != (earlier.rows, earlier.positives):
        return False
    has_digests = bool(line.data) and None not in line.data
    return True if has_digests and line.data == earlier.data else None


def same_values(line: HistoryLine, earlier: HistoryLine) -> bool:
    """Return whether all measures that two lines share are equal."""
    return all(
        _equal_measures(measure, earlier.measures[name])
        for name, measure in line.measures.items()
        if name in earlier.measures
    )


def _equal_measures(measure: HistoryMeasure, earlier: HistoryMeasure) -> bool:
    if measure.value is None or earlier.value is None:
        return measure.reason == earlier.reason and measure.value == earlier.value
    return isclose(measure.value, earlier.value, rel_tol=VALUE_TOLERANCE, abs_tol=VALUE_TOLERANCE)


def lines_to_result(lines: Mapping[str, HistoryLine]) -> Document:
    """Return lines of one run, by model, as a saved result with tables `models` and `metrics`."""
    first_line = next(iter(lines.values()))
    model_rows: list[Row] = []
    measure_rows: list[Row] = []
    for model, line in lines.items():
        estimates = {name: measure.estimate for name, measure in line.measures.items()}
        model_rows.append(as_row({"model": model, **estimates}))
        measure_rows += [
            as_row({"model": model, "measure": name, "value": measure.estimate, "se": measure.se})
            for name, measure in line.measures.items()
        ]
    return Document(
        command=first_line.command,
        signature=first_line.settings,
        inputs=(),
        version=first_line.version,
        parameters={} if first_line.level is None else {"level": first_line.level},
        summary={"rows": first_line.rows, "positives": first_line.positives},
        tables={"models": model_rows, "measures": measure_rows},
        truth=first_line.truth,
    )
