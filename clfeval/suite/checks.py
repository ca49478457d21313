"""Checks of a run's gates, names and links without its table, and its gates as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from graphlib import CycleError, TopologicalSorter

from clfeval.compare.gates.evaluate import still_best_gates
from clfeval.compare.gates.limit_tests import (
    DIFFERENCE_SUFFIX,
    check_compared,
    check_ranges,
    match_metric,
    match_models,
    match_slices,
)
from clfeval.compare.gates.limits import Gates, Limit
from clfeval.document import Cell, Document, Gate, Row
from clfeval.errors import ErrorCollector, UsageError, list_names, suggestion
from clfeval.measures.catalog import CATALOG
from clfeval.options.declaration import as_list, build_group
from clfeval.options.syntax import reword_error, yaml_dialect
from clfeval.pages.schema import page_of
from clfeval.suite.reading import BatchErrors, Node
from clfeval.suite.runs import Run, RunLink
from clfeval.views.files import check_names

_MODEL = re.compile(r".* (?:of|by) '(.*)'", re.DOTALL)  # role of a model's column in a dry run
SUMMED = ("rows", "positives", "negatives", "found", "missed_by_all", "models", "runs", "classes")


def pending_gates(run: Run) -> tuple[tuple[Gate, ...], tuple[str, ...]]:
    """Return the gates of a run before evaluation, and their texts."""
    gates = build_group(Gates, run.options)
    gate = partial(Gate, value=None, passed=True, run=run.name)
    found, texts = [], [f"{kind} {text}" for kind, text in gates.written]
    for limit in gates.limits:
        metric = limit.metric if limit.part == "value" else f"{limit.metric}.{limit.part}"
        grade = gates.severity(limit.kind)
        found.append(
            gate(limit.kind, metric, limit.model, limit.limit, severity=grade, slice=limit.slices)
        )
    for name, least in gates.required_sizes.items():
        found.append(gate(f"min-{name}", name, None, least))
        texts.append(f"min-{name} {least:,}")
    for model in gates.still_best:
        found.append(gate("still-best", "still-best", model, 1.0))
        texts.append(f"still-best {model}")
    return tuple(found), tuple(texts)


def check_without_table(run: Run, wrong: BatchErrors) -> None:
    """Report gates, tables and plots that cannot exist whatever the table holds."""
    gates = build_group(Gates, run.options)
    for limit, (_, text) in zip(gates.limits, gates.written, strict=True):
        given = run.given[limit.kind.replace("-", "_")]
        given = dict(given.pairs()).get(text.rpartition("=")[0], given)  # limits may be a mapping
        _collect_refusal(partial(check_ranges, [limit]), run, given, wrong)
        _collect_refusal(partial(_check_limit, run, gates, limit), run, given, wrong)
    if gates.still_best and run.command != "report":
        models = partial(still_best_gates, _empty_result(run), gates.still_best)
        _collect_refusal(lambda: [*models()], run, run.given["still_best"], wrong)
    if names := as_list(run.options.get("show")):
        known = partial(check_names, run.command, names, "--show ")
        _collect_refusal(known, run, run.given["show"], wrong)


def check_limits_fit_table(run: Run, reading: Sequence[Row]) -> None:
    """Raise UsageError for limits on models or measures that the table lacks."""
    if not (gates := build_group(Gates, run.options)).limits:
        return
    page = page_of(run.command)
    found = (_MODEL.fullmatch(str(row["taken"])) for row in reading)
    known = [one[1] for one in found if one]
    models: dict[str, Row] = {
        name: {"model": name} for name in (*known, *(run.options.get("group") or ())) if known
    }
    names = {column.name for table in page.tables for column in table.columns}
    names |= {*SUMMED, *as_list(run.options.get("measure"))}
    names |= {*CATALOG} if run.command == "report" else {column.name for column in page.summary}
    cells: dict[str, Cell] = {name + end: 0.0 for name in names for end in ("", DIFFERENCE_SUFFIX)}
    wrong = ErrorCollector()
    for limit in gates.limits:
        with wrong.going_on():
            if models and limit.model is not None and " at " not in limit.model:  # a population's
                match_models(models, limit.model, limit.kind)
            if run.command != "mlcps" and ":" not in limit.metric:
                match_metric(limit, cells, _empty_result(run))
    wrong.raise_problems()


def _empty_result(run: Run) -> Document:
    """Return an empty result of a run's command."""
    return Document(run.command, "", (), {}, {}, {})


def _check_limit(run: Run, gates: Gates, limit: Limit) -> None:
    """Raise for a limit that needs a baseline the run lacks, or slices the table lacks."""
    if gates.baseline is None:
        check_compared(limit)
    sliced = any(run.options.get(name) for name in ("by", "run"))
    if limit.slices is not None and "by" in run.keys.options_by_name and not sliced:
        match_slices(limit, ())


def _collect_refusal(
    check: Callable[[], object], run: Run, given: Node, wrong: BatchErrors
) -> None:
    """Collect the UsageError of a check, reworded for a batch and with its place."""
    try:
        check()
    except UsageError as error:
        reword_error(error, run.keys.options, yaml_dialect(lambda _: given.place))
        told = (replace(one, what=f"{one.what}, in run '{run.group}'") for one in error.problems)
        error.problems = tuple(told)
        wrong.take(error, given)


def check_links(runs: Sequence[Run], broken: Collection[str], wrong: BatchErrors) -> None:
    """Report missing tables of other runs and cycles; broken: runs with errors."""
    known = {run.name: run for run in runs}
    for run in runs:
        if not isinstance(run.input, RunLink):
            continue
        other = known.get(run.input.run)
        if other is None and run.input.run.partition("[")[0] in broken:
            continue
        if other is None:
            inside = [name for name, one in known.items() if one.group == run.input.run]
            hint = f"name one of its runs: {list_names(inside)}" if inside else None
            hint = hint or suggestion(run.input.run, known) or f"runs: {list_names(known)}"
            wrong.add_problem(run.input.given, f"input: no run '{run.input.run}'", hint)
        elif run.input.table is not None:
            tables = [table.name for table in page_of(other.command).tables]
            if run.input.table not in tables:
                hint = suggestion(run.input.table, tables) or f"tables: {list_names(tables, 40)}"
                what = f"input: {other.command} has no table '{run.input.table}'"
                wrong.add_problem(run.input.given, what, hint)
    while True:
        try:
            return _sorter(known).prepare()
        except CycleError as error:
            names = error.args[1][::-1]  # the first is repeated at the end
            link = known.pop(names[0]).input
            assert isinstance(link, RunLink)
            wrong.add_problem(
                link.given, f"input: runs need each other in a cycle: {' -> '.join(names)}"
            )


def order_runs(runs: Sequence[Run], only: Sequence[str]) -> list[Run]:
    """Return the requested runs, and those whose tables they read, in order."""
    known = {run.name: run for run in runs}
    left = names = {run.name for run in select_runs(runs, only)}
    while left:
        left = {one for name in left if (one := known[name].required)} - names
        names = names | left
    sorter = _sorter({name: run for name, run in known.items() if name in names})
    sorter.prepare()
    found: list[Run] = []
    while sorter.is_active():
        ready = {*sorter.get_ready()}
        found += [run for run in runs if run.name in ready]
        sorter.done(*ready)
    return found


def select_runs(runs: Sequence[Run], only: Iterable[str]) -> list[Run]:
    """Return the runs that match names or patterns (brackets are literal); UsageError if none."""
    picked: set[str] = set()
    for pattern in only:
        glob = pattern.replace("[", "[[]")
        found = {run.name for run in runs if pattern in (run.name, run.group)}
        found = found or {run.name for run in runs if fnmatchcase(run.name, glob)}
        if not found:
            names = [*dict.fromkeys(name for run in runs for name in (run.name, run.group))]
            hint = suggestion(pattern, names) or f"runs: {list_names(names)}"
            raise UsageError.new(f"--only '{pattern}' matches no run", "unknown-run", hint=hint)
        picked |= found
    return [run for run in runs if not only or run.name in picked]


def _sorter(runs: Mapping[str, Run]) -> TopologicalSorter[str]:
    links = ((name, run.required) for name, run in runs.items())
    return TopologicalSorter({name: [one] if one and one in runs else [] for name, one in links})
