"""Plan of a batch: everything that is checked before a run is computed, and their order."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from graphlib import CycleError, TopologicalSorter
from json import dumps
from typing import Any

from clfeval.api.baseline import compute_with_gates
from clfeval.compare.gates import limit_tests
from clfeval.compare.gates.evaluate import gate_evaluation
from clfeval.compare.gates.kinds import KINDS, limit_kind
from clfeval.compare.gates.limits import Gates, Limit
from clfeval.compare.history.file import check_target
from clfeval.document import Cell, Document, Gate, InputFile, Row
from clfeval.errors import (
    ClfevalError,
    ErrorCollector,
    Problem,
    UsageError,
    bad_option,
    list_names,
    suggestion,
)
from clfeval.measures.catalog import CATALOG
from clfeval.options.declaration import as_list, build_group
from clfeval.options.syntax import fill_error, yaml_dialect
from clfeval.output_files import ProtectedFiles
from clfeval.pages.command_pages import page_of
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace
from clfeval.suite.reading import (
    BatchErrors,
    Node,
    input_files,
    path_beside_file,
    read_declaration,
    variables_from_shell,
    with_place,
)
from clfeval.suite.run_options import RunLink, check_inside_folder, fill_for_yaml
from clfeval.suite.runs import Run, build_runs, describe_input
from clfeval.tables.input import Input
from clfeval.tables.source import FRAME
from clfeval.views.files import check_names


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs in order, with the files that define them."""

    runs: Sequence[Run]
    inputs: tuple[InputFile, ...]
    history: HistoryTarget | None = None


def build_plan(
    names: Sequence[str],
    output: type,
    *,
    variables: Sequence[str] = (),
    only: Sequence[str] = (),
    label: str | None = None,
    accept: bool = False,
) -> Plan:
    """Return the plan of YAML files, later ones overriding keys of earlier ones.

    output: the group of options of saving. variables: `NAME=VALUE`, overriding those of files.
    only: names or patterns of runs. label, accept: of the history. Raises UsageError with all
    problems, each with file, line and column.
    """
    wrong = BatchErrors()
    sheet = read_declaration(names, variables_from_shell(variables), wrong)
    runs = build_runs(sheet, output, wrong)
    for run in runs:
        check_without_table(run, wrong)
    check_links(runs, {*sheet.runs} - {run.group for run in runs}, wrong)
    history = None
    if sheet.history or len(sheet.files) == len(names):  # an unreadable file may have one
        history = read_history_target(sheet.history, label, wrong, accept=accept)
    saved: dict[str, Node] = {path: run.given["save"] for run in runs for path in run.save}
    read = dict.fromkeys(path for run in runs for path in (*run.reads, *run.wide))
    check_overwrites(saved, [*names, *read, *([history.file] if history else [])], wrong)
    if wrong.parts:
        try:
            check_tables(select_runs(runs, only), wrong)
        except UsageError as error:
            wrong.take(error)
    wrong.raise_problems()
    runs = order_runs(runs, only)
    return Plan(runs, input_files(sheet, len(runs)), history)


_MODEL = re.compile(r".* (?:of|by) '(.*)'", re.DOTALL)  # role of a model's column in a dry run
SUMMED = ("rows", "positives", "negatives", "found", "missed_by_all", "models", "runs", "classes")


def check_without_table(run: Run, errors: BatchErrors) -> None:
    """Report gates, tables and plots that cannot exist whatever the table holds."""
    gates = build_group(Gates, run.options)
    for limit, (_, text) in zip(gates.limits, gates.written, strict=True):
        node = run.given[limit_kind(limit.kind).option]
        node = dict(node.pairs()).get(text.rpartition("=")[0], node)  # limits may be a mapping
        _collect_refusal(partial(limit_tests.check_ranges, [limit]), run, node, errors)
        _collect_refusal(partial(_check_limit, run, gates, limit), run, node, errors)
    for kind in KINDS:
        if getattr(gates, kind.option) and not kind.applies_to(run.command):
            evaluation = gate_evaluation(_empty_result(run), gates)
            check = partial(list[Gate], kind.check(evaluation))
            _collect_refusal(check, run, run.given[kind.option], errors)
    if names := as_list(run.options.get("show")):
        check_shown = partial(check_names, run.command, names, f"{OPTION}--show{END} ")
        _collect_refusal(check_shown, run, run.given["show"], errors)


def _empty_result(run: Run) -> Document:
    """Return an empty result of a run's command."""
    return Document(run.command, "", (), {}, {}, {})


def _check_limit(run: Run, gates: Gates, limit: Limit) -> None:
    """Raise for a limit that needs a baseline the run lacks, or slices the table lacks."""
    if gates.baseline is None:
        limit_tests.check_compared(limit)
    sliced = any(run.options.get(name) for name in ("by", "run"))
    if limit.slices is not None and "by" in run.keys.options_by_name and not sliced:
        limit_tests.match_slices(limit, ())


def _collect_refusal(
    check: Callable[[], object], run: Run, node: Node, errors: BatchErrors
) -> None:
    """Collect the UsageError of a check, filled for a batch and with its place."""
    try:
        check()
    except UsageError as error:
        fill_error(error, run.keys.options, yaml_dialect(lambda _: node.place))
        error.problems = tuple(
            replace(problem, what=f"{problem.what}, in run '{run.group}'")
            for problem in error.problems
        )
        errors.take(error, node)


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
    cells: dict[str, Cell] = {
        name + end: 0.0 for name in names for end in ("", limit_tests.DIFFERENCE_SUFFIX)
    }
    wrong = ErrorCollector()
    for limit in gates.limits:
        with wrong.going_on():
            if models and limit.model is not None and " at " not in limit.model:  # a population's
                limit_tests.match_models(models, limit.model, limit.kind)
            if run.command != "mlcps" and ":" not in limit.metric:
                limit_tests.match_metric(limit, cells, _empty_result(run))
    wrong.raise_problems()


LOOKED_AT = 100  # runs whose tables are checked if a YAML file has errors, at most
NUMBERS = (int, float)


def check_tables(runs: Sequence[Run], wrong: BatchErrors) -> None:
    """Report ambiguities of the tables of runs, in addition to the errors of the files."""
    seen: dict[str, Document] = {}
    for run in runs[:LOOKED_AT]:
        if not run.files:
            continue
        try:
            result = read_run_table(run, seen)
            doubts: Sequence[Any] = result.tables["ambiguities"]
            for row in doubts:
                code = row["code"]
                if run.whole or code.startswith(("unknown-", "no-such-")):  # else a consequence
                    one = Problem(row["text"], code, row["file"], row["row"], row["column"])
                    said = str(one).removesuffix(f" [{code}]")
                    found = UsageError.new(said, code, run.place, hint=row["hint"])
                    wrong.take(fill_for_run(found, run))
            if not doubts:
                check_limits_fit_table(run, result.tables["reading"])
        except ClfevalError as error:
            for part in fill_for_run(error, run).parts or (error,):
                wrong.take(part)


def read_run_table(run: Run, seen: dict[str, Document]) -> Document:
    """Return how a run's table is read; seen: cache by options on reading."""
    command, files = run.keys.command, list(run.files) or None
    reads = {one.name for one in command.options_of(Input)}
    texts = {
        one.name for one in command.options() if type(run.options.get(one.name)) not in NUMBERS
    }
    kept = {k: v for k, v in run.options.items() if k in reads | texts}
    key = repr((run.command, run.files, kept))
    if key not in seen:
        dry, silent = {**run.options, "dry_run": True}, (lambda _: None,) * 2
        offer = partial(keys_to_add, run)
        seen[key] = compute_with_gates(command, files, dry, Gates(), silent, offer, label=None)
    return seen[key]


def keys_to_add(run: Run, fixes: Mapping[str, Any]) -> str:
    """Write the hint on keys to add to a run, as JSON, which YAML can read."""
    pairs = (f"{k.replace('_', '-')}: {dumps(v, ensure_ascii=False)}" for k, v in fixes.items())
    return f"at {run.place} add {', '.join(pairs)}"


def fill_for_run(error: ClfevalError, run: Run) -> ClfevalError:
    """Reword an error for a batch; name another run's table, and the place of other problems."""
    fill_for_yaml(error, run.keys, run.given)
    for part in (error, *error.parts):
        problems = []
        for one in part.problems:
            named = replace(one, file=describe_input(run)) if one.file == FRAME else one
            usage = isinstance(part, UsageError)
            problems.append(with_place(named, run.place) if usage else named)
        part.problems = tuple(problems)
    return error


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
            raise UsageError.new(
                f"{OPTION}--only{END} '{pattern}' matches no run", "unknown-run", hint=hint
            )
        picked |= found
    return [run for run in runs if not only or run.name in picked]


def _sorter(runs: Mapping[str, Run]) -> TopologicalSorter[str]:
    links = ((name, run.required) for name, run in runs.items())
    return TopologicalSorter({name: [one] if one and one in runs else [] for name, one in links})


def check_overwrites(saved: Mapping[str, Node], read: Iterable[str], wrong: BatchErrors) -> None:
    """Report outputs that would overwrite inputs or the history; saved: nodes by path."""
    spared = ProtectedFiles(read)
    for path, given in saved.items():
        if path in spared:
            what = f"save: '{path}' would overwrite a file that the batch reads or appends to"
            wrong.add_problem(given, what, "choose another name")


KEYS = ("file", "label", "accept")


@dataclass(frozen=True, slots=True)
class HistoryTarget:
    """A history file, the label of new lines, and whether these become the reference."""

    file: str
    label: str
    accept: bool


def can_make_folder(path: str) -> bool:
    """Return whether the folder of a file is missing, and can be created."""
    folder = missing = os.path.dirname(os.path.abspath(path))
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    return folder != missing and os.path.isdir(folder) and os.access(folder, os.W_OK)


def read_history_target(
    given: Node | None, label: str | None, wrong: BatchErrors, *, accept: bool
) -> HistoryTarget | None:
    """Return the history of `history: FILE` or `{file:, label:, accept:}`; arguments override."""
    if given is None:
        for flag in ["--label"] * (label is not None) + ["--accept"] * accept:
            hint = "add history: FILE at the top level of the YAML file"
            wrong.take(
                bad_option(f"{OPTION}{flag}{END} needs a history, and the batch has none", hint)
            )
        return None
    parts: Mapping[str, Node] = {"file": given}
    if isinstance(given.value, dict):
        parts = dict(given.pairs())
        for key, one in parts.items():
            if key not in KEYS:
                hint = suggestion(key, KEYS) or f"keys: {', '.join(KEYS)}"
                wrong.add_problem(one, f"history: unknown key '{key}'", hint)
    file, said, accepts = (parts.get(key) for key in KEYS)
    name = file.value if file else None
    if not isinstance(name, str) or not name.strip() or "\0" in name:
        wrong.add_problem(file or given, "history must name a file", "write history: history.jsonl")
        return None
    if accepts is not None and not isinstance(accepts.value, bool):
        wrong.add_problem(accepts, "history: accept must be true or false")
    if said is not None and not isinstance(said.value, str):
        wrong.add_problem(
            said, "history: the label must be text", f"label: '{said.written or said.value}'"
        )
        return None
    label = label or (str(said.value) if said is not None else "")
    if not label.strip():
        hint = f"add {OPTION}--label 2026-W47{END}, or history: {{file: FILE, label: TEXT}}"
        wrong.add_problem(given, "history: the label is missing", hint)
        return None
    check_inside_folder(file or given, "history", name, wrong)
    path = path_beside_file(file or given, name)
    try:
        if not can_make_folder(path):
            check_target(path, ())
    except ClfevalError as error:
        wrong.take(error, file or given)
    return HistoryTarget(path, label, accept or bool(accepts and accepts.value))
