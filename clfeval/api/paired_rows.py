"""Baselines of rows: tables and results whose rows are joined by id with those of a result."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from os.path import basename
from typing import Any, cast

from clfeval.api.questions import PUBLIC_FUNCTIONS, OnOpen, PublicFunction
from clfeval.compare.baseline import read as reading
from clfeval.compare.baseline.changes import LEVEL, Baseline
from clfeval.compare.change import Change, change_of_independent, shared_correlation
from clfeval.compare.gates.limits import Gates
from clfeval.document import Document, ResultNote
from clfeval.document.cells import EMPTY_ROW, Cell, Estimate, Row, as_estimate, as_row
from clfeval.errors import DataError, OfferedReading, bad_option, quote_name
from clfeval.formatting import NAMESAKES
from clfeval.measures.catalog import equivalent_names, find_measure
from clfeval.methods.command_lookup import command_of
from clfeval.methods.measurement.requested_measures import OF_TWO_CLASSES
from clfeval.options.declaration import as_list
from clfeval.pages.schema import MOST_CHANGES
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass
from clfeval.tables.columns import OpenedTable
from clfeval.tables.input import JOIN_NOTHING
from clfeval.tables.predictions import Predictions

NEW, OLD = "new", "old"  # names of the two tables in the joined table
# options of this result only, not of the baseline
RESULT_OPTIONS = ("reference", "margin", "resolution", "list_changes", "methods")
# options on reading rows and on intervals, which joined tables are compared with
ROW_OPTIONS = (
    "input_format",
    "delimiter",
    "layout",
    "null_value",
    "decimal",
    "fold_labels",
    "renormalize",
    "truth",
    "where",
    "positive",
    "classes",
    "kind",
    "weight",
    "sampling_weights",
    "cluster",
    "level",
    "interval",
    "seed",
    "totals",
)
UNEQUAL_IDS = "unequal-ids"
SHARED = 0.8  # share of common rows above which changes are paired
PAIRED = ("mars", "report")  # commands with paired comparisons of measures
SharedKey = tuple[str, str, str | None]  # model, measure and slice


@dataclass(frozen=True, slots=True, eq=False)
class ReadResult:
    """A result, and how the predictions were read; None where there are no rows."""

    document: Document
    predictions: Predictions | None

    @property
    def rows(self) -> int:
        """The number of rows of its tables."""
        return sum(file.rows for file in self.document.inputs)


@dataclass(frozen=True, slots=True, eq=False)
class JoinedReport:
    """A report of two joined tables; names: of models now, by their names in it."""

    document: Document
    names: Mapping[str, str]

    @property
    def rows(self) -> int:
        """The number of rows that both tables have."""
        return self.document.inputs[0].rows


def table_baseline(
    function: PublicFunction,
    table: object,
    options: Mapping[str, Any],
    gates: Gates,
    result: Document,
    opened: OpenedTable | None,
    on_open: OnOpen,
) -> Baseline | None:
    """Return the baseline if it is a table, else None.

    function: the public function that computed `result` from `table` and `options`. opened: how the
    table was read. The same function reads the baseline, with the same options. Where both have
    a column of ids, changes are computed on their common rows by a joined report; else for
    independent rows, with a note on the reason. Raises what reading raises.
    """
    path = gates.baseline
    if not isinstance(path, (str, PathLike)) or reading.baseline_kind(path) != "table":
        return None
    refuse_without_rows(result, options)
    current = ReadResult(result, opened if isinstance(opened, Predictions) else None)
    earlier = read_table_baseline(function, fspath(path), options, result, on_open)
    obstacle = join_obstacle(result, current.predictions, earlier.predictions)
    if is_read_once(table):
        obstacle = "the table came from a pipe"
    compared = ComparedTables(table, fspath(path), basename(fspath(path)))
    return baseline_of_rows(compared, current, earlier, options, gates, obstacle)


@dataclass(frozen=True, slots=True, eq=False)
class ComparedTables:
    """The tables of a result and of its baseline, and the name of the baseline in sentences."""

    current: object
    earlier: object
    name: str


def baseline_of_rows(
    compared: ComparedTables,
    current: ReadResult,
    earlier: ReadResult,
    options: Mapping[str, Any],
    gates: Gates,
    obstacle: str | None,
) -> Baseline:
    """Return the baseline with changes on common rows; obstacle: why these are not joined."""
    joined = None
    if obstacle is None:
        tables = {NEW: _only_table(compared.current), OLD: _only_table(compared.earlier)}
        joined = _joined_report(tables, current, earlier, options, gates)
    ignored_settings = _settings_of_results(current.document.command.replace("-", "_"))
    name = compared.name
    if joined is not None and joined.rows >= SHARED * max(current.rows, earlier.rows):
        return _paired_baseline(name, joined, current, earlier, ignored_settings)
    pairing = ""
    shared: dict[SharedKey, Change] = {}
    if obstacle is None and joined is None:
        obstacle = "they share no id or no model"
    elif joined is not None:
        shared = _changes(joined, current, earlier, paired=False)
        obstacle = f"of {current.rows:,} ids here and {earlier.rows:,} there {joined.rows:,} "
        obstacle += "are shared"
        pairing = f" ({obstacle}; not paired)"
        obstacle += "; intervals and p-values account for these"
    text = f"rows of {name} and of this table are not paired: {obstacle}"
    notes = (ResultNote("baseline-unpaired", text),)
    earlier_result = reading.EarlierResult(earlier.document, name, notes)
    return Baseline.from_results(
        current.document, earlier_result, ignored_settings, rows_phrase=pairing, shared=shared
    )


def refuse_without_rows(result: Document, options: Mapping[str, Any]) -> None:
    """Raise UsageError for a saved result, and for joined tables: these are not joined again."""
    if result.again:
        message = (
            f"{OPTION}--baseline{END} names a table, but a saved result has no rows to compare"
        )
        raise bad_option(message, f"give a saved result: {OPTION}--baseline RESULT.json{END}")
    if options.get("join") not in (None, JOIN_NOTHING):
        hint = f"save the earlier result and compare with it: {OPTION}--baseline RESULT.json{END}"
        raise bad_option(
            f"{OPTION}--baseline TABLE{END} cannot be used with {OPTION}--join{END}", hint
        )


def read_table_baseline(
    function: PublicFunction,
    path: str,
    options: Mapping[str, Any],
    result: Document,
    on_open: OnOpen,
) -> ReadResult:
    """Return the result of the baseline, by the same function and options."""
    usable = {name: value for name, value in options.items() if name not in RESULT_OPTIONS}
    if positive := result.parameters.get("positive"):
        usable["positive"] = positive
    return read_table(function, [path], usable, on_open)


def read_table(
    function: PublicFunction,
    table: object,
    options: Mapping[str, Any],
    on_open: OnOpen = lambda _: None,
) -> ReadResult:
    """Return the result of a table, and how its predictions were read."""
    opened_tables: list[OpenedTable] = []

    def hear(opened: OpenedTable) -> None:
        opened_tables.append(opened)
        on_open(opened)

    document = function.compute(table, options, hear, lambda _: "")
    predictions = [opened for opened in opened_tables if isinstance(opened, Predictions)]
    return ReadResult(document, predictions[-1] if predictions else None)


def _settings_of_results(command: str) -> set[str]:
    """Return the settings in the signature of results that do not concern the rows."""
    options = command_of(command).options()
    return {str(option.opt.signed) for option in options if option.name in RESULT_OPTIONS}


def _paired_baseline(
    name: str,
    joined: JoinedReport,
    current: ReadResult,
    earlier: ReadResult,
    ignored_settings: set[str],
) -> Baseline:
    """Return the baseline with changes on the rows that both tables have."""
    rows = joined.rows
    text = f"changes are paired on the {rows:,} shared rows: {earlier.rows - rows:,} of {name} "
    text += f"and {current.rows - rows:,} of this table are left out"
    are_left_out = current.rows + earlier.rows > 2 * rows
    notes = (ResultNote("baseline-rows", text),) if are_left_out else ()
    return Baseline.from_results(
        current.document,
        reading.EarlierResult(earlier.document, name, notes),
        ignored_settings,
        rows_phrase=f" on {rows:,} shared rows",
        shared=_changes(joined, current, earlier, paired=True),
        changes=_newly_wrong(joined),
    )


def join_obstacle(
    result: Document, now: Predictions | None, then: Predictions | None
) -> str | None:
    """Return the reason why the rows of two tables cannot be joined; None if they can be."""
    if result.parameters.get("interval") == "none":
        return "intervals are switched off"
    if result.command not in PAIRED or result.summary.get("target", "positive") != "positive":
        return f"{result.command} has no paired changes"
    if now is None or then is None:
        return "a table of counts has no rows"
    for predictions in (now, then):
        name = predictions.files[0].name
        if len(predictions.files) > 1:
            return "a table has several files"
        if predictions.layout.gathers or predictions.layout.expand is not None:
            return f"{name} is a {predictions.layout.name} table"
        if predictions.columns.run is not None:
            return "runs may repeat rows"
        roles = predictions.roles
        if predictions.columns.calibrated or roles.turned or roles.percents or roles.log_odds:
            return f"{OPTION}--model{END} changes scores, which a joined table does not"
        if predictions.columns.id is None:
            return f"{name} has no id column (add {OPTION}--id COLUMN{END})"
    if now.columns.id != then.columns.id:
        return f"the id columns are '{now.columns.id}' and '{then.columns.id}'"
    return None


def _joined_report(
    tables: Mapping[str, Any],
    current: ReadResult,
    earlier: ReadResult,
    options: Mapping[str, Any],
    gates: Gates,
) -> JoinedReport | None:
    """Return a report of the joined tables; None if they share no model or no id."""
    opened = [read for read in (current.predictions, earlier.predictions) if read is not None]
    rows_now = reading.rows_by_label(current.document)
    rows_before = reading.rows_by_label(earlier.document)
    common_models = [model for model in rows_now if model in rows_before]
    if not common_models:
        return None
    joined_names = [
        {
            model: word if len(read.columns.models) == 1 else f"{word}:{model}"
            for model in common_models
        }
        for word, read in zip((NEW, OLD), opened, strict=True)
    ]
    joined_options = _joined_options(opened, options, gates, joined_names)
    joined_options["measure"] += [
        name
        for name in _estimated_measures([rows_now[model] for model in common_models])
        if name not in joined_options["measure"]
    ]
    old_names = joined_names[1]
    joined_options["reference"] = f"{OLD}{NAMESAKES}"
    if len(common_models) == 1:
        joined_options["reference"] = old_names[common_models[0]]
    try:
        document: Document = PUBLIC_FUNCTIONS["report"].compute(
            tables, joined_options, lambda _: None, lambda _: ""
        )
    except DataError as error:
        codes = {problem.code for problem in error.problems}
        if codes == {UNEQUAL_IDS}:  # no id is in both
            return None
        if codes == {"conflicting-truth"}:
            ids = str(opened[0].columns.id)
            words = f"{quote_name(ids)} only numbers the rows of each file; they are two samples"
            error.readings = (OfferedReading(words, {"ignore": (ids,)}),)
            error.settled = True
        raise
    return JoinedReport(document, {new: model for model, new in joined_names[0].items()})


def _estimated_measures(model_rows: Sequence[Row]) -> list[str]:
    """Return the measures of report that have a value in any row of a model."""
    names = dict.fromkeys(name for row in model_rows for name in row)
    return [
        name
        for name in names
        if _is_measure_of_report(name) and any(_has_estimate(row.get(name)) for row in model_rows)
    ]


def _is_measure_of_report(name: str) -> bool:
    """Return whether report computes a measure, with its parameters, for two classes."""
    measure = find_measure(name.partition(":")[0])
    return measure is not None and measure.id in OF_TWO_CLASSES.ids


def _has_estimate(cell: Cell) -> bool:
    """Return whether a cell is an estimate with a value."""
    return isinstance(cell, Estimate) and cell.value is not None


def _newly_wrong(joined: JoinedReport) -> list[Row]:
    """Return the rows that a model predicted correctly in the baseline, and wrongly now."""
    return [
        as_row(
            {
                "model": joined.names[row["model"]],
                "id": str(row["id"]),
                "truth": row["truth"],
                "before": row["before"],
                "after": row["after"],
            }
        )
        for row in joined.document.tables.get("changes", ())
        if row["before"] == row["truth"]
    ]


def _joined_options(
    opened: Sequence[Predictions],
    options: Mapping[str, Any],
    gates: Gates,
    joined_names: Sequence[Mapping[str, str]],
) -> dict[str, Any]:
    """Return the options of the joined report: on reading, roles, slices and comparisons."""
    joined_options = {
        name: options[name] for name in ROW_OPTIONS if options.get(name) not in (None, (), [])
    }
    columns = opened[0].columns
    names_now, names_before = ({*read.files[0].columns} for read in opened)
    slice_columns = [name for name in columns.by if name in names_now | names_before]
    limits_slices = any(limit.compares and limit.slices is not None for limit in gates.limits)
    if limits_slices and {*slice_columns} <= names_now & names_before:
        joined_options["by"] = options.get("by")
        slice_columns = []
    # other columns would be models in the joined table
    unused = sorted((names_now | names_before) - _columns_with_roles(opened))
    ignored = [*as_list(options.get("ignore")), *slice_columns, *unused]
    compared = [limit.metric for limit in gates.limits if limit.compares]
    measures = dict.fromkeys([*as_list(options.get("measure")), *compared])
    return joined_options | {
        "ignore": [*dict.fromkeys(ignored)],
        "threshold": _joined_thresholds(options.get("threshold"), joined_names),
        "measure": [measure for measure in measures if _is_measure_of_report(measure)],
        "join": columns.id,
        "id": None,
        "missing": "drop",
        "model": [name for names in joined_names for name in names.values()],
        "list_changes": MOST_CHANGES,
    }


def _columns_with_roles(opened: Sequence[Predictions]) -> set[str | None]:
    """Return the columns of models, and those that are constant or have one value a row."""
    roles: set[str | None] = set()
    for read in opened:
        roles |= {*read.columns.constants, *read.columns.row}
        for model in read.columns.models:
            roles |= {*model.columns, model.label_column}
    return roles


def _joined_thresholds(
    option: Mapping[str | None, float] | float | None, joined_names: Sequence[Mapping[str, str]]
) -> dict[str | None, float]:
    """Return the thresholds of models by their names in the joined table.

    option: the threshold of each model, or of all.
    """
    thresholds: Mapping[str | None, float] = {}
    if isinstance(option, Mapping):
        thresholds = option
    elif option:
        thresholds = {None: option}
    joined_thresholds: dict[str | None, float] = {}
    for model, threshold in thresholds.items():
        if model is None:
            joined_thresholds[None] = threshold
            continue
        for names in joined_names:
            if model in names:
                joined_thresholds[names[model]] = threshold
    return joined_thresholds


def _changes(
    joined: JoinedReport, current: ReadResult, earlier: ReadResult, *, paired: bool
) -> dict[SharedKey, Change]:
    """Return the changes by model, measure (as in results) and slice.

    paired: on the common rows; otherwise on all rows, with errors correlated by the share of common
    rows. The prevalence always is that of all rows: common rows have the same truth.
    """
    comparisons = joined.document.tables.get("comparisons", ())
    labels = dict.fromkeys(cast("str | None", row["slice"]) for row in comparisons)
    rows_now = {label: reading.rows_by_label(current.document, label) for label in labels}
    rows_before = {label: reading.rows_by_label(earlier.document, label) for label in labels}
    level = current.document.parameters.get("level") or LEVEL
    share = joined.rows / math.sqrt(current.rows * earlier.rows)
    changes = dict[SharedKey, Change]()
    for row in comparisons:
        model = joined.names.get(row["model"], "")
        label = cast("str | None", row["slice"])
        new_values = rows_now[label].get(model, EMPTY_ROW)
        old_values = rows_before[label].get(model, EMPTY_ROW)
        metric = _name_in(new_values, row["measure"])
        if metric is None or not old_values or row["against"] != "reference":
            continue
        change = _change_of_row(row)
        if not paired or metric == "prevalence":
            change = change_of_independent(
                old_values.get(_name_in(old_values, metric) or ""),
                new_values[metric],
                level=level,
                rho=shared_correlation(change, share),
            )
        changes[model, metric, label] = change
    return changes


def _name_in(values: Mapping[str, Cell], measure: str) -> str | None:
    """Return the name of a measure among values, which may be another one of its names."""
    return next((name for name in equivalent_names(measure) if name in values), None)


def _change_of_row(row: Row) -> Change:
    """Return the change that a row of comparisons holds."""
    old, new, difference = (as_estimate(row[name]) for name in ("old", "new", "difference"))
    p_value, rows = (cast("float | None", row[name]) for name in ("p", "rows"))
    return Change(old, new, difference, p_value, paired=True, rows=rows)


def is_read_once(table: object) -> bool:
    """Return whether a table can be read once only."""
    path = _only_table(table)
    if not isinstance(path, (str, PathLike)):
        return False
    return not os.path.isfile(path) if os.path.exists(path) else path == "-"


def _only_table(table: object) -> Any:
    """Return the single table of a list of one."""
    return table[0] if isinstance(table, (list, tuple)) and len(table) == 1 else table
