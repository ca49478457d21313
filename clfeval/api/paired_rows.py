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
    opened_table: OpenedTable | None,
    on_open: OnOpen,
) -> Baseline | None:
    """Return the baseline if it is a table, else None.

    function: the public function that computed `result` from `table` and `options`. opened_table:
    how the table was read. The same function reads the baseline, with the same options. Where both
    have a column of ids, changes are computed on their common rows by a joined report; else for
    independent rows, with a note on the reason. Raises what reading raises.
    """
    baseline = gates.baseline
    if not isinstance(baseline, (str, PathLike)) or reading.baseline_kind(baseline) != "table":
        return None
    baseline_path = fspath(baseline)
    refuse_without_rows(result, options)
    current_read = ReadResult(
        result, opened_table if isinstance(opened_table, Predictions) else None
    )
    earlier_read = read_table_baseline(function, baseline_path, options, result, on_open)
    obstacle = join_obstacle(result, current_read.predictions, earlier_read.predictions)
    if is_read_once(table):
        obstacle = "the table came from a pipe"
    compared_tables = ComparedTables(table, baseline_path, basename(baseline_path))
    return baseline_of_rows(compared_tables, current_read, earlier_read, options, gates, obstacle)


@dataclass(frozen=True, slots=True, eq=False)
class ComparedTables:
    """The tables of a result and of its baseline, and the name of the baseline in sentences."""

    current: object
    earlier: object
    name: str


def baseline_of_rows(
    compared_tables: ComparedTables,
    current_read: ReadResult,
    earlier_read: ReadResult,
    options: Mapping[str, Any],
    gates: Gates,
    obstacle: str | None,
) -> Baseline:
    """Return the baseline with changes on common rows; obstacle: why these are not joined."""
    joined_report = None
    if obstacle is None:
        tables_by_role = {
            NEW: _only_table(compared_tables.current),
            OLD: _only_table(compared_tables.earlier),
        }
        joined_report = _joined_report(tables_by_role, current_read, earlier_read, options, gates)
    ignored_settings = _settings_of_results(current_read.document.command.replace("-", "_"))
    baseline_name = compared_tables.name
    larger_row_count = max(current_read.rows, earlier_read.rows)
    if joined_report is not None and joined_report.rows >= SHARED * larger_row_count:
        return _paired_baseline(
            baseline_name, joined_report, current_read, earlier_read, ignored_settings
        )
    rows_phrase = ""
    shared_changes: dict[SharedKey, Change] = {}
    if obstacle is None and joined_report is None:
        obstacle = "they share no id or no model"
    elif joined_report is not None:
        shared_changes = _changes(joined_report, current_read, earlier_read, paired=False)
        obstacle = f"of {current_read.rows:,} ids here and {earlier_read.rows:,} there "
        obstacle += f"{joined_report.rows:,} are shared"
        rows_phrase = f" ({obstacle}; not paired)"
        obstacle += "; intervals and p-values account for these"
    note_text = f"rows of {baseline_name} and of this table are not paired: {obstacle}"
    notes = (ResultNote("baseline-unpaired", note_text),)
    earlier_result = reading.EarlierResult(earlier_read.document, baseline_name, notes)
    return Baseline.from_results(
        current_read.document,
        earlier_result,
        ignored_settings,
        rows_phrase=rows_phrase,
        shared=shared_changes,
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
    baseline_options = {
        name: value for name, value in options.items() if name not in RESULT_OPTIONS
    }
    if positive := result.parameters.get("positive"):
        baseline_options["positive"] = positive
    return read_table(function, [path], baseline_options, on_open)


def read_table(
    function: PublicFunction,
    table: object,
    options: Mapping[str, Any],
    on_open: OnOpen = lambda _: None,
) -> ReadResult:
    """Return the result of a table, and how its predictions were read."""
    opened_tables: list[OpenedTable] = []

    def note_opened(opened_table: OpenedTable) -> None:
        opened_tables.append(opened_table)
        on_open(opened_table)

    document = function.compute(table, options, note_opened, lambda _: "")
    predictions = [
        opened_table for opened_table in opened_tables if isinstance(opened_table, Predictions)
    ]
    return ReadResult(document, predictions[-1] if predictions else None)


def _settings_of_results(command: str) -> set[str]:
    """Return the settings in the signature of results that do not concern the rows."""
    options = command_of(command).options()
    return {str(option.opt.signed) for option in options if option.name in RESULT_OPTIONS}


def _paired_baseline(
    baseline_name: str,
    joined_report: JoinedReport,
    current_read: ReadResult,
    earlier_read: ReadResult,
    ignored_settings: set[str],
) -> Baseline:
    """Return the baseline with changes on the rows that both tables have."""
    shared_count = joined_report.rows
    unshared_before = earlier_read.rows - shared_count
    unshared_now = current_read.rows - shared_count
    note_text = f"changes are paired on the {shared_count:,} shared rows: {unshared_before:,} of "
    note_text += f"{baseline_name} and {unshared_now:,} of this table are left out"
    has_unshared_rows = current_read.rows + earlier_read.rows > 2 * shared_count
    notes = (ResultNote("baseline-rows", note_text),) if has_unshared_rows else ()
    return Baseline.from_results(
        current_read.document,
        reading.EarlierResult(earlier_read.document, baseline_name, notes),
        ignored_settings,
        rows_phrase=f" on {shared_count:,} shared rows",
        shared=_changes(joined_report, current_read, earlier_read, paired=True),
        changes=_newly_wrong(joined_report),
    )


def join_obstacle(
    result: Document, predictions_now: Predictions | None, predictions_before: Predictions | None
) -> str | None:
    """Return the reason why the rows of two tables cannot be joined; None if they can be."""
    if result.parameters.get("interval") == "none":
        return "intervals are switched off"
    if result.command not in PAIRED or result.summary.get("target", "positive") != "positive":
        return f"{result.command} has no paired changes"
    if predictions_now is None or predictions_before is None:
        return "a table of counts has no rows"
    for predictions in (predictions_now, predictions_before):
        file_name = predictions.files[0].name
        if len(predictions.files) > 1:
            return "a table has several files"
        if predictions.layout.gathers or predictions.layout.expand is not None:
            return f"{file_name} is a {predictions.layout.name} table"
        if predictions.columns.run is not None:
            return "runs may repeat rows"
        input_options = predictions.roles
        if (
            predictions.columns.calibrated
            or input_options.turned
            or input_options.percents
            or input_options.log_odds
        ):
            return f"{OPTION}--model{END} changes scores, which a joined table does not"
        if predictions.columns.id is None:
            return f"{file_name} has no id column (add {OPTION}--id COLUMN{END})"
    id_now = predictions_now.columns.id
    id_before = predictions_before.columns.id
    if id_now != id_before:
        return f"the id columns are '{id_now}' and '{id_before}'"
    return None


def _joined_report(
    tables_by_role: Mapping[str, Any],
    current_read: ReadResult,
    earlier_read: ReadResult,
    options: Mapping[str, Any],
    gates: Gates,
) -> JoinedReport | None:
    """Return a report of the joined tables; None if they share no model or no id.

    tables_by_role: the tables, or their files, as new and old.
    """
    both_predictions = (current_read.predictions, earlier_read.predictions)
    opened_tables = [predictions for predictions in both_predictions if predictions is not None]
    rows_now = reading.rows_by_label(current_read.document)
    rows_before = reading.rows_by_label(earlier_read.document)
    common_models = [model for model in rows_now if model in rows_before]
    if not common_models:
        return None
    joined_names = [
        {
            model: role if len(predictions.columns.models) == 1 else f"{role}:{model}"
            for model in common_models
        }
        for role, predictions in zip((NEW, OLD), opened_tables, strict=True)
    ]
    joined_options = _joined_options(opened_tables, options, gates, joined_names)
    joined_options["measure"] += [
        name
        for name in _estimated_measures([rows_now[model] for model in common_models])
        if name not in joined_options["measure"]
    ]
    new_names, old_names = joined_names
    joined_options["reference"] = f"{OLD}{NAMESAKES}"
    if len(common_models) == 1:
        joined_options["reference"] = old_names[common_models[0]]
    try:
        document: Document = PUBLIC_FUNCTIONS["report"].compute(
            tables_by_role, joined_options, lambda _: None, lambda _: ""
        )
    except DataError as error:
        codes = {problem.code for problem in error.problems}
        if codes == {UNEQUAL_IDS}:  # no id is in both
            return None
        if codes == {"conflicting-truth"}:
            id_column = str(opened_tables[0].columns.id)
            meaning = (
                f"{quote_name(id_column)} only numbers the rows of each file; they are two samples"
            )
            error.readings = (OfferedReading(meaning, {"ignore": (id_column,)}),)
            error.settled = True
        raise
    return JoinedReport(document, {new_name: model for model, new_name in new_names.items()})


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


def _newly_wrong(joined_report: JoinedReport) -> list[Row]:
    """Return the rows that a model predicted correctly in the baseline, and wrongly now."""
    return [
        as_row(
            {
                "model": joined_report.names[row["model"]],
                "id": str(row["id"]),
                "truth": row["truth"],
                "before": row["before"],
                "after": row["after"],
            }
        )
        for row in joined_report.document.tables.get("changes", ())
        if row["before"] == row["truth"]
    ]


def _joined_options(
    opened_tables: Sequence[Predictions],
    options: Mapping[str, Any],
    gates: Gates,
    joined_names: Sequence[Mapping[str, str]],
) -> dict[str, Any]:
    """Return the options of the joined report: on reading, roles, slices and comparisons.

    joined_names: of the new and the old table, the names of its models in the joined table.
    """
    joined_options = {
        name: options[name] for name in ROW_OPTIONS if options.get(name) not in (None, (), [])
    }
    columns = opened_tables[0].columns
    columns_now, columns_before = ({*table.files[0].columns} for table in opened_tables)
    slice_columns = [name for name in columns.by if name in columns_now | columns_before]
    limits_slices = any(limit.compares and limit.slices is not None for limit in gates.limits)
    if limits_slices and {*slice_columns} <= columns_now & columns_before:
        joined_options["by"] = options.get("by")
        slice_columns = []
    # other columns would be models in the joined table
    unused_columns = sorted((columns_now | columns_before) - _columns_with_roles(opened_tables))
    ignored_columns = [*as_list(options.get("ignore")), *slice_columns, *unused_columns]
    compared_measures = [limit.metric for limit in gates.limits if limit.compares]
    requested_measures = dict.fromkeys([*as_list(options.get("measure")), *compared_measures])
    return joined_options | {
        "ignore": [*dict.fromkeys(ignored_columns)],
        "threshold": _joined_thresholds(options.get("threshold"), joined_names),
        "measure": [measure for measure in requested_measures if _is_measure_of_report(measure)],
        "join": columns.id,
        "id": None,
        "missing": "drop",
        "model": [name for names_by_model in joined_names for name in names_by_model.values()],
        "list_changes": MOST_CHANGES,
    }


def _columns_with_roles(opened_tables: Sequence[Predictions]) -> set[str | None]:
    """Return the columns of models, and those that are constant or have one value a row."""
    role_columns: set[str | None] = set()
    for table in opened_tables:
        role_columns |= {*table.columns.constants, *table.columns.row}
        for model in table.columns.models:
            role_columns |= {*model.columns, model.label_column}
    return role_columns


def _joined_thresholds(
    threshold_option: Mapping[str | None, float] | float | None,
    joined_names: Sequence[Mapping[str, str]],
) -> dict[str | None, float]:
    """Return the thresholds of models by their names in the joined table.

    threshold_option: the threshold of each model, or of all. joined_names: of the new and the old
    table, the names of its models in the joined table.
    """
    thresholds: Mapping[str | None, float] = {}
    if isinstance(threshold_option, Mapping):
        thresholds = threshold_option
    elif threshold_option:
        thresholds = {None: threshold_option}
    joined_thresholds: dict[str | None, float] = {}
    for model, threshold in thresholds.items():
        if model is None:
            joined_thresholds[None] = threshold
            continue
        for names_by_model in joined_names:
            if model in names_by_model:
                joined_thresholds[names_by_model[model]] = threshold
    return joined_thresholds


def _changes(
    joined_report: JoinedReport, current_read: ReadResult, earlier_read: ReadResult, *, paired: bool
) -> dict[SharedKey, Change]:
    """Return the changes by model, measure (as in results) and slice.

    paired: on the common rows; otherwise on all rows, with errors correlated by the fraction of
    common rows. The prevalence always is that of all rows: common rows have the same truth.
    """
    comparisons = joined_report.document.tables.get("comparisons", ())
    slice_names = dict.fromkeys(cast("str | None", row["slice"]) for row in comparisons)
    rows_now = {
        slice_name: reading.rows_by_label(current_read.document, slice_name)
        for slice_name in slice_names
    }
    rows_before = {
        slice_name: reading.rows_by_label(earlier_read.document, slice_name)
        for slice_name in slice_names
    }
    level = current_read.document.parameters.get("level") or LEVEL
    shared_fraction = joined_report.rows / math.sqrt(current_read.rows * earlier_read.rows)
    changes = dict[SharedKey, Change]()
    for row in comparisons:
        model = joined_report.names.get(row["model"], "")
        slice_name = cast("str | None", row["slice"])
        new_cells = rows_now[slice_name].get(model, EMPTY_ROW)
        old_cells = rows_before[slice_name].get(model, EMPTY_ROW)
        measure = _name_in(new_cells, row["measure"])
        if measure is None or not old_cells or row["against"] != "reference":
            continue  # only measures of both results are compared, each with its baseline
        change = _change_of_row(row)
        if not paired or measure == "prevalence":
            change = change_of_independent(
                old_cells.get(_name_in(old_cells, measure) or ""),
                new_cells[measure],
                level=level,
                rho=shared_correlation(change, shared_fraction),
            )
        changes[model, measure, slice_name] = change
    return changes


def _name_in(cells: Mapping[str, Cell], measure: str) -> str | None:
    """Return the name of a measure among cells, which may be another one of its names."""
    return next((name for name in equivalent_names(measure) if name in cells), None)


def _change_of_row(row: Row) -> Change:
    """Return the change that a row of comparisons holds."""
    old_estimate, new_estimate, difference = (
        as_estimate(row[name]) for name in ("old", "new", "difference")
    )
    p_value, rows = (cast("float | None", row[name]) for name in ("p", "rows"))
    return Change(old_estimate, new_estimate, difference, p_value, paired=True, rows=rows)


def is_read_once(table: object) -> bool:
    """Return whether a table can be read once only."""
    path = _only_table(table)
    if not isinstance(path, (str, PathLike)):
        return False
    return not os.path.isfile(path) if os.path.exists(path) else path == "-"


def _only_table(table: object) -> Any:
    """Return the single table of a list of one."""
    return table[0] if isinstance(table, (list, tuple)) and len(table) == 1 else table
