"""Results with gates: baselines that are tables or histories, and lines appended to a history."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from os import PathLike, fspath
from os.path import basename
from typing import Any, cast

import clfeval
from clfeval.api.commands import add_gate_measures, report
from clfeval.api.questions import Offer, OnOpen
from clfeval.compare.baseline import read as reading
from clfeval.compare.baseline.changes import LEVEL, Baseline
from clfeval.compare.change import Change, change_of_independent, shared_correlation
from clfeval.compare.families import CALIBRATION
from clfeval.compare.gates.limits import Gates
from clfeval.compare.history import file as history
from clfeval.document import Document, ResultNote, Row, as_estimate
from clfeval.errors import (
    DataError,
    OfferedReading,
    UsageError,
    bad_option,
    list_names,
    quote_name,
    suggestion,
)
from clfeval.formatting import NAMESAKES
from clfeval.measures.catalog import equivalent_names, find_measure
from clfeval.methods.command_lookup import command_of
from clfeval.options.declaration import Command, as_list
from clfeval.pages.schema import MOST_CHANGES
from clfeval.tables.columns import OpenedTable
from clfeval.tables.input import JOIN_NOTHING
from clfeval.tables.predictions import Predictions


def history_entries(
    result: Document, label: str, run: str | None = None
) -> list[history.HistoryEntry]:
    """Return a history line for each model of a result; run: of a batch. UsageError if none."""
    entries: list[history.HistoryEntry] = [
        *reading.result_lines(result, label, reading.rows_by_label(result), run)
    ]
    if not entries:
        raise UsageError.new("the result has no model to append", history.CODE)
    return entries


def history_trend(
    name: str, command: str | None = None, *, accept: bool = False, label: str | None = None
) -> Document:
    """Return how measures of a command, by default report, changed over a history.

    label: the last label to show. accept: mark this label, or else the last, as the one later
    results are compared with, and show all labels. Raises UsageError.
    """
    from clfeval.compare.history.trend import trend_result

    past = history.read_history(name)
    there = dict.fromkeys(line.command for line in past.lines)
    command = command or next((one for one in ("report", *there) if one in there), "report")
    labels = past.labels(command)
    if label is not None and label not in labels:
        hint = suggestion(label, labels) or f"labels: {list_names(labels)}"
        raise UsageError.new(f"--label: there is no label '{label}'", history.CODE, name, hint=hint)
    if accept:
        chosen = label or labels[-1]
        now = [one for one in past.lines if (one.command, one.label) == (command, chosen)]
        if not all(past.accepted.get(history.series_key(one)) == one for one in now):
            history.append_entries(name, [history.AcceptedLabel(command, chosen)])
            past = history.read_history(name)
    elif label is not None:
        past = past.upto(command, label)
    return trend_result(past, command)


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


def compute_with_gates(
    command: Command,
    table: Any,
    given: Mapping[str, Any],
    gates: Gates,
    on_open: tuple[OnOpen, OnOpen],
    offer: Offer,
    *,
    label: str | None,
    run: str | None = None,
    dry: bool = False,
) -> Document:
    """Return the result of a command with its gates, judged against the baseline if there is one.

    on_open: of the table, and of a baseline that is a table. label: of the lines that will be
    appended to a history, if any. run: of a batch. dry: check the limits of gates only.
    """
    name = command.name.replace("-", "_")
    home = import_module(clfeval._HOMES[name])  # type: ignore[attr-defined]
    function = getattr(home, name)  # without its documentation, which takes time
    heard: list[OpenedTable] = []

    def hear(one: OpenedTable) -> None:
        heard.append(one)
        on_open[0](one)

    given = add_gate_measures(command, table, given, gates)
    truth = label is not None or reading.is_history(gates.baseline)
    result: Document = function.asked(table, given, hear, offer, truth=truth)
    if not gates.any and gates.baseline is None:
        return result
    if dry:
        from clfeval.compare.gates.limit_tests import check_ranges

        check_ranges(gates.limits)
        return result
    from clfeval.compare.gates.evaluate import evaluate_gates

    read = heard[-1] if heard else None
    try:
        beside = table_baseline(function, table, given, gates, result, read, on_open[1])
    except DataError as error:
        error.add_commands(offer)
        raise
    if isinstance(gates.baseline, (str, PathLike)):
        past = reading.HistoryBaseline(fspath(gates.baseline), run, label)
        gates = replace(gates, baseline=past)
    return evaluate_gates(result, gates, beside)


def table_baseline(
    called: Any,
    table: Any,
    given: Mapping[str, Any],
    gates: Gates,
    result: Document,
    read: OpenedTable | None,
    on_open: OnOpen,
) -> Baseline | None:
    """Return the baseline if it is a table, else None.

    called: the public function that computed `result` from `table` and `given`. read: how
    the table was read. The same function reads the baseline, with the same options. Where both have
    a column of ids, changes are computed on their common rows by a joined report; else for
    independent rows, with a note on the reason. Raises what reading raises.
    """
    path = gates.baseline
    if not isinstance(path, (str, PathLike)) or reading.baseline_kind(path) != "table":
        return None
    if result.again:
        what = "--baseline names a table, but a saved result has no rows to compare"
        raise bad_option(what, "give a saved result: --baseline RESULT.json")
    if given.get("join") not in (None, JOIN_NOTHING):
        hint = "save the earlier result and compare with it: --baseline RESULT.json"
        raise bad_option("--baseline TABLE cannot be used with --join", hint)
    command = command_of(called.__name__)
    seen: list[OpenedTable] = []

    def hear(one: OpenedTable) -> None:
        seen.append(one)
        on_open(one)

    then = {name: value for name, value in given.items() if name not in RESULT_OPTIONS}
    if positive := result.parameters.get("positive"):
        then["positive"] = positive
    before: Document = called.asked([fspath(path)], then, hear, lambda _: "")
    name = basename(fspath(path))
    but = {str(one.opt.signed) for one in command.options() if one.name in RESULT_OPTIONS}
    known = read if isinstance(read, Predictions) else None
    was = next((one for one in reversed(seen) if isinstance(one, Predictions)), None)
    why = _join_obstacle(result, known, was)
    why = "the table came from a pipe" if _is_read_once(table) else why
    why = "intervals are switched off" if given.get("interval") == "none" else why
    how, shared = "", dict[SharedKey, Change]()
    if why is None:
        assert known is not None
        assert was is not None
        tables = dict(zip((NEW, OLD), map(_only_table, (table, fspath(path))), strict=True))
        joined, names = _joined_report(tables, (known, was), given, gates, result, before)
        rows = 0 if joined is None else joined.inputs[0].rows
        here, there = (sum(file.rows for file in one.inputs) for one in (result, before))
        if joined is not None and rows >= SHARED * max(here, there):
            left = f"{there - rows:,} of {name} and {here - rows:,} of this table are left out"
            text = f"changes are paired on the {rows:,} shared rows: {left}"
            notes = (ResultNote("baseline-rows", text),) if here + there > 2 * rows else ()
            earlier = reading.EarlierResult(before, name, notes)
            return Baseline.from_results(
                result,
                earlier,
                but,
                how=f" on {rows:,} shared rows",
                shared=_changes(joined, (result, before), names),
                changes=_newly_wrong(joined, names),
            )
        why = "they share no id or no model"
        if joined is not None:
            share = rows / math.sqrt(here * there)
            shared = _changes(joined, (result, before), names, share)
            why = f"of {here:,} ids here and {there:,} there {rows:,} are shared"
            how = f" ({why}; not paired)"
            why += "; intervals and p-values account for these"
    text = f"rows of {name} and of this table are not paired: {why}"
    earlier = reading.EarlierResult(before, name, (ResultNote("baseline-unpaired", text),))
    return Baseline.from_results(result, earlier, but, how=how, shared=shared)


def _join_obstacle(
    result: Document, now: Predictions | None, then: Predictions | None
) -> str | None:
    """Return the reason why the rows of two tables cannot be joined; None if they can be."""
    if result.command not in PAIRED or result.summary.get("target", "positive") != "positive":
        return f"{result.command} has no paired changes"
    if now is None or then is None:
        return "a table of counts has no rows"
    for one in (now, then):
        if len(one.files) > 1:
            return "a table has several files"
        if one.layout.gathers or one.layout.expand is not None:
            return f"{one.files[0].name} is a {one.layout.name} table"
        if one.columns.run is not None:
            return "runs may repeat rows"
        if one.columns.id is None:
            return f"{one.files[0].name} has no id column (add --id COLUMN)"
    if now.columns.id != then.columns.id:
        return f"the id columns are '{now.columns.id}' and '{then.columns.id}'"
    return None


def _joined_report(
    tables: Mapping[str, Any],
    reads: Sequence[Predictions],
    given: Mapping[str, Any],
    gates: Gates,
    result: Document,
    before: Document,
) -> tuple[Document | None, dict[str, str]]:
    """Return a report of the joined tables, and the current models' names by their names in it.

    None if they share no model.
    """
    models = [[one.name for one in read.columns.models] for read in reads]
    cells = [reading.rows_by_label(one) for one in (result, before)]
    both = [one for one in cells[0] if one in cells[1]]
    if not both:
        return None, {}
    called = [
        {one: word if len(names) == 1 else f"{word}:{one}" for one in both}
        for word, names in zip((NEW, OLD), models, strict=True)
    ]
    options = _joined_options(reads, given, gates, called)
    options["measure"] += [
        name
        for name in (*CALIBRATION, "mean_score")
        if any(as_estimate(row.get(name)).value is not None for row in cells[0].values())
    ]
    options["reference"] = f"{OLD}{NAMESAKES}" if len(both) > 1 else called[1][both[0]]
    try:
        joined: Document = report.asked(  # type: ignore[attr-defined]
            tables, options, lambda _: None, lambda _: ""
        )
    except DataError as error:
        if {one.code for one in error.problems} == {UNEQUAL_IDS}:  # no id is in both
            return None, {}
        if {one.code for one in error.problems} == {"conflicting-truth"}:
            ids = str(reads[0].columns.id)
            words = f"{quote_name(ids)} only numbers the rows of each file; they are two samples"
            error.readings = (OfferedReading(words, {"ignore": (ids,)}),)
            error.settled = True
        raise
    return joined, {new: one for one, new in called[0].items()}


def _newly_wrong(joined: Document, names: Mapping[str, str]) -> list[Row]:
    """Return the rows that a model predicted correctly in the baseline, and wrongly now."""
    return [
        {
            "model": names[str(row["model"])],
            "id": str(row["id"]),
            "truth": row["truth"],
            "before": row["before"],
            "after": row["after"],
        }
        for row in joined.tables.get("changes", ())
        if row["before"] == row["truth"]
    ]


def _joined_options(
    reads: Sequence[Predictions],
    given: Mapping[str, Any],
    gates: Gates,
    called: Sequence[Mapping[str, str]],
) -> dict[str, Any]:
    """Return the options of the joined report: on reading, roles, slices and comparisons."""
    options = {name: given[name] for name in ROW_OPTIONS if given.get(name) not in (None, (), [])}
    columns, names = reads[0].columns, [{*read.files[0].columns} for read in reads]
    known = names[0] | names[1]
    by = [name for name in columns.by if name in known]
    inside = any(one.compares and one.slices is not None for one in gates.limits)
    if inside and {*by} <= names[0] & names[1]:
        options["by"], by = given.get("by"), []
    found = (name for one in reads for name in (*one.columns.constants, *one.columns.row))
    roles: set[str | None] = {*found}
    for model in (model for one in reads for model in one.columns.models):
        roles |= {*model.columns, model.beside}
    others = known - roles  # in the joined table they would be models
    options["ignore"] = [*dict.fromkeys([*as_list(given.get("ignore")), *by, *sorted(others)])]
    cuts = given.get("threshold") or {}
    cuts = cuts if isinstance(cuts, Mapping) else {None: cuts}
    options["threshold"] = {
        new: cut
        for model, cut in cuts.items()
        for new in ([None] if model is None else [one[model] for one in called if model in one])
    }
    wanted = [*as_list(given.get("measure")), *(one.metric for one in gates.limits if one.compares)]
    options["measure"] = [
        one for one in dict.fromkeys(wanted) if find_measure(one.partition(":")[0]) is not None
    ]
    models = [name for names in called for name in names.values()]
    return options | {
        "join": columns.id,
        "id": None,
        "missing": "drop",
        "model": models,
        "list_changes": MOST_CHANGES,
    }


def _changes(
    joined: Document,
    both: tuple[Document, Document],
    names: Mapping[str, str],
    share: float | None = None,
) -> dict[SharedKey, Change]:
    """Return the changes on common rows, by model, measure (as in results) and slice.

    share: that of common rows; then changes are of all rows, with errors correlated accordingly.
    """
    rows = joined.tables.get("comparisons", ())
    parts = dict.fromkeys(cast("str | None", row["slice"]) for row in rows)
    cells = {part: [reading.rows_by_label(one, part) for one in both] for part in parts}
    level, found = both[0].parameters.get("level") or LEVEL, dict[SharedKey, Change]()
    for row in rows:
        model, part = names.get(str(row["model"]), ""), cast("str | None", row["slice"])
        now, then = (one.get(model, {}) for one in cells[part])
        metric = next((one for one in equivalent_names(str(row["measure"])) if one in now), None)
        if metric is not None and then and row["against"] == "reference":
            old, new, difference = (as_estimate(row[name]) for name in ("old", "new", "difference"))
            p, size = (cast("float | None", row[name]) for name in ("p", "rows"))
            change = Change(old, new, difference, p, paired=True, rows=size)
            if share is not None:
                was = next((then[one] for one in equivalent_names(metric) if one in then), None)
                rho = shared_correlation(change, share)
                change = change_of_independent(was, now[metric], level=level, rho=rho)
            found[model, metric, part] = change
    return found


def _is_read_once(table: Any) -> bool:
    """Return whether a table can be read once only."""
    one = _only_table(table)
    named = isinstance(one, (str, PathLike))
    return named and (not os.path.isfile(one) if os.path.exists(one) else one == "-")


def _only_table(table: Any) -> Any:
    """Return the single table of a list of one."""
    return table[0] if isinstance(table, (list, tuple)) and len(table) == 1 else table
