"""Plan of a batch: everything that is checked before a run is computed, and their order."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from graphlib import CycleError, TopologicalSorter
from json import dumps
from typing import Any

from clfeval.api.baseline import Listeners, check_with_gates
from clfeval.compare.gates import limit_tests
from clfeval.compare.gates.evaluate import gate_evaluation
from clfeval.compare.gates.kinds import KINDS, limit_kind
from clfeval.compare.gates.limits import Gates, Limit
from clfeval.compare.history.file import check_target
from clfeval.document import Document, Gate, InputFile
from clfeval.document.cells import Cell, Row, as_row
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
from clfeval.tables.input import InputOptions
from clfeval.tables.source import FRAME
from clfeval.views.files import check_names


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs in order, with the files that define them."""

    runs: Sequence[Run]
    inputs: tuple[InputFile, ...]
    history: HistoryTarget | None = None


def build_plan(
    file_names: Sequence[str],
    output_group: type,
    *,
    variables: Sequence[str] = (),
    only: Sequence[str] = (),
    label: str | None = None,
    accept: bool = False,
) -> Plan:
    """Return the plan of YAML files, later ones overriding keys of earlier ones.

    output_group: the group of options on saving. variables: `NAME=VALUE`, overriding those of
    files. only: names or patterns of runs. label, accept: of the history. Raises UsageError with
    all problems, each with file, line and column.
    """
    errors = BatchErrors()
    declaration = read_declaration(file_names, variables_from_shell(variables), errors)
    runs = build_runs(declaration, output_group, errors)
    for run in runs:
        check_without_table(run, errors)
    check_links(runs, {*declaration.runs} - {run.group for run in runs}, errors)
    history = None
    # an unreadable file may have a history
    has_all_files = len(declaration.files) == len(file_names)
    if declaration.history or has_all_files:
        history = read_history_target(declaration.history, label, errors, accept=accept)
    save_nodes: dict[str, Node] = {path: run.nodes["save"] for run in runs for path in run.save}
    protected_paths = [
        *file_names,
        *(path for run in runs for path in (*run.reads, *run.input_patterns)),
    ]
    protected_paths += [history.file] if history else []
    check_overwrites(save_nodes, dict.fromkeys(protected_paths), errors)
    if errors.parts:
        try:
            check_tables(select_runs(runs, only), errors)
        except UsageError as error:
            errors.take(error)
    errors.raise_problems()
    runs = order_runs(runs, only)
    return Plan(runs, input_files(declaration, len(runs)), history)


_MODEL = re.compile(r".* (?:of|by) '(.*)'", re.DOTALL)  # role of a model's column in a dry run
SUMMED = ("rows", "positives", "negatives", "found", "missed_by_all", "models", "runs", "classes")


def check_without_table(run: Run, errors: BatchErrors) -> None:
    """Report gates, tables and plots that cannot exist whatever the table holds."""
    gates = build_group(Gates, run.options)
    for limit, (_, limit_text) in zip(gates.limits, gates.written, strict=True):
        node = run.nodes[limit_kind(limit.kind).option]
        measure_text, _, _ = limit_text.rpartition("=")
        node = dict(node.pairs()).get(measure_text, node)  # limits may be a mapping
        _collect_refusal(partial(limit_tests.check_ranges, [limit]), run, node, errors)
        _collect_refusal(partial(_check_limit, run, gates, limit), run, node, errors)
    for gate_kind in KINDS:
        if getattr(gates, gate_kind.option) and not gate_kind.applies_to(run.command):
            evaluation = gate_evaluation(_empty_result(run), gates)
            check = partial(list[Gate], gate_kind.check(evaluation))
            _collect_refusal(check, run, run.nodes[gate_kind.option], errors)
    shown_names = as_list(run.options.get("show"))
    if shown_names:
        check_shown = partial(check_names, run.command, shown_names, f"{OPTION}--show{END} ")
        _collect_refusal(check_shown, run, run.nodes["show"], errors)


def _empty_result(run: Run) -> Document:
    """Return an empty result of a run's command."""
    return Document(run.command, "", (), {}, {}, {})


def _check_limit(run: Run, gates: Gates, limit: Limit) -> None:
    """Raise for a limit that needs a baseline the run lacks, or slices the table lacks."""
    if gates.baseline is None:
        limit_tests.check_compared(limit)
    has_slices = any(run.options.get(name) for name in ("by", "run"))
    if limit.slices is not None and "by" in run.keys.options_by_name and not has_slices:
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
            replace(problem, message=f"{problem.message}, in run '{run.group}'")
            for problem in error.problems
        )
        errors.take(error, node)


def check_limits_fit_table(run: Run, reading_rows: Sequence[Row]) -> None:
    """Raise UsageError for limits on models or measures that the table lacks.

    reading_rows: how the columns of the table are read, as a dry run says.
    """
    gates = build_group(Gates, run.options)
    if not gates.limits:
        return
    page = page_of(run.command)
    model_matches = (_MODEL.fullmatch(str(row["taken"])) for row in reading_rows)
    model_names = [match[1] for match in model_matches if match]
    models: dict[str, Row] = {}
    if model_names:  # else the models are not columns, and not known before the rows are read
        group_names = run.options.get("group") or ()
        models = {name: as_row({"model": name}) for name in (*model_names, *group_names)}
    limited_names = {column.name for table in page.tables for column in table.columns}
    limited_names |= {*SUMMED, *as_list(run.options.get("measure"))}
    limited_names |= (
        {*CATALOG} if run.command == "report" else {column.name for column in page.summary}
    )
    cells: dict[str, Cell] = {
        name + suffix: 0.0
        for name in limited_names
        for suffix in ("", limit_tests.DIFFERENCE_SUFFIX)
    }
    errors = ErrorCollector()
    for limit in gates.limits:
        with errors.going_on():
            if models and limit.model is not None and " at " not in limit.model:  # a population's
                limit_tests.match_models(models, limit.model, limit.kind)
            if run.command != "mlcps" and ":" not in limit.metric:
                limit_tests.match_metric(limit, cells, _empty_result(run))
    errors.raise_problems()


MAX_CHECKED_TABLES = 100  # runs whose tables are checked if a YAML file has errors, at most
NUMBER_TYPES = (int, float)


def check_tables(runs: Sequence[Run], errors: BatchErrors) -> None:
    """Report ambiguities of the tables of runs, in addition to the errors of the files."""
    dry_results: dict[str, Document] = {}
    for run in runs[:MAX_CHECKED_TABLES]:
        if not run.files:  # no table, or that of another run
            continue
        try:
            result = read_run_table(run, dry_results)
            ambiguities: Sequence[Any] = result.tables["ambiguities"]
            for row in ambiguities:
                code = row["code"]
                if run.valid or code.startswith(("unknown-", "no-such-")):  # else a consequence
                    problem = Problem(row["text"], code, row["file"], row["row"], row["column"])
                    message = str(problem).removesuffix(f" [{code}]")
                    ambiguity = UsageError.new(message, code, run.place, hint=row["hint"])
                    errors.take(fill_for_run(ambiguity, run))
            if not ambiguities:
                check_limits_fit_table(run, result.tables["reading"])
        except ClfevalError as error:
            for part in fill_for_run(error, run).parts or (error,):
                errors.take(part)


def read_run_table(run: Run, dry_results: dict[str, Document]) -> Document:
    """Return how a run's table is read; dry_results: cache by options on reading."""
    command = run.keys.command
    reading_names = {option.name for option in command.options_of(InputOptions)}
    reading_names |= {
        option.name
        for option in command.options()
        if type(run.options.get(option.name)) not in NUMBER_TYPES
    }
    reading_options = {name: value for name, value in run.options.items() if name in reading_names}
    cache_key = repr((run.command, run.files, reading_options))
    if cache_key not in dry_results:
        dry_results[cache_key] = check_with_gates(
            command,
            list(run.files) or None,
            {**run.options, "dry_run": True},
            Gates(),
            Listeners(_ignore, _ignore, partial(keys_to_add, run)),
        )
    return dry_results[cache_key]


def _ignore(_: object) -> None:
    """Receive what a run reports while it reads, and show none of it."""


def keys_to_add(run: Run, fixes: Mapping[str, Any]) -> str:
    """Write the hint on keys to add to a run, as JSON, which YAML can read."""
    pair_texts = (
        f"{name.replace('_', '-')}: {dumps(value, ensure_ascii=False)}"
        for name, value in fixes.items()
    )
    return f"at {run.place} add {', '.join(pair_texts)}"


def fill_for_run(error: ClfevalError, run: Run) -> ClfevalError:
    """Reword an error for a batch; name another run's table, and the place of other problems."""
    fill_for_yaml(error, run.keys, run.nodes)
    for part in (error, *error.parts):
        problems = [_name_frame(problem, run) for problem in part.problems]
        if isinstance(part, UsageError):
            problems = [with_place(problem, run.place) for problem in problems]
        part.problems = tuple(problems)
    return error


def _name_frame(problem: Problem, run: Run) -> Problem:
    """Return a problem with the name of the other run's table in place of a data frame."""
    return replace(problem, file=describe_input(run)) if problem.file == FRAME else problem


def check_links(runs: Sequence[Run], broken_groups: Collection[str], errors: BatchErrors) -> None:
    """Report missing tables of other runs and cycles; broken_groups: runs with errors."""
    runs_by_name = {run.name: run for run in runs}
    for run in runs:
        if not isinstance(run.input, RunLink):
            continue
        source_run = runs_by_name.get(run.input.run)
        source_group, _, _ = run.input.run.partition("[")
        if source_run is None and source_group in broken_groups:
            continue  # the errors of that run are reported
        if source_run is None:
            run_names = [
                name for name, batch_run in runs_by_name.items() if batch_run.group == run.input.run
            ]
            hint = f"name one of its runs: {list_names(run_names)}" if run_names else None
            hint = (
                hint
                or suggestion(run.input.run, runs_by_name)
                or f"runs: {list_names(runs_by_name)}"
            )
            errors.add_problem(run.input.node, f"input: no run '{run.input.run}'", hint)
        elif run.input.table is not None:
            table_names = [table.name for table in page_of(source_run.command).tables]
            if run.input.table not in table_names:
                hint = (
                    suggestion(run.input.table, table_names)
                    or f"tables: {list_names(table_names, 40)}"
                )
                message = f"input: {source_run.command} has no table '{run.input.table}'"
                errors.add_problem(run.input.node, message, hint)
    while True:
        try:
            return _sorter(runs_by_name).prepare()
        except CycleError as error:
            cycle_names = error.args[1][::-1]  # the first is repeated at the end
            broken_link = runs_by_name.pop(cycle_names[0]).input
            assert isinstance(broken_link, RunLink)
            errors.add_problem(
                broken_link.node,
                f"input: runs need each other in a cycle: {' -> '.join(cycle_names)}",
            )


def order_runs(runs: Sequence[Run], only: Sequence[str]) -> list[Run]:
    """Return the requested runs, and those whose tables they read, in order."""
    runs_by_name = {run.name: run for run in runs}
    required_names = {run.name for run in select_runs(runs, only)}
    unvisited_names = required_names
    while unvisited_names:
        source_names = {runs_by_name[name].required for name in unvisited_names}
        unvisited_names = {name for name in source_names if name} - required_names
        required_names = required_names | unvisited_names
    sorter = _sorter({name: run for name, run in runs_by_name.items() if name in required_names})
    sorter.prepare()
    sorted_runs: list[Run] = []
    while sorter.is_active():
        ready_names = {*sorter.get_ready()}
        sorted_runs += [run for run in runs if run.name in ready_names]
        sorter.done(*ready_names)
    return sorted_runs


def select_runs(runs: Sequence[Run], patterns: Iterable[str]) -> list[Run]:
    """Return the runs that match names or patterns (brackets are literal); UsageError if none."""
    selected_names: set[str] = set()
    for pattern in patterns:
        glob_pattern = pattern.replace("[", "[[]")
        matching_names = {run.name for run in runs if pattern in (run.name, run.group)}
        matching_names = matching_names or {
            run.name for run in runs if fnmatchcase(run.name, glob_pattern)
        }
        if not matching_names:
            known_names = [*dict.fromkeys(name for run in runs for name in (run.name, run.group))]
            hint = suggestion(pattern, known_names) or f"runs: {list_names(known_names)}"
            raise UsageError.new(
                f"{OPTION}--only{END} '{pattern}' matches no run", "unknown-run", hint=hint
            )
        selected_names |= matching_names
    return [run for run in runs if not patterns or run.name in selected_names]


def _sorter(runs: Mapping[str, Run]) -> TopologicalSorter[str]:
    required_pairs = ((name, run.required) for name, run in runs.items())
    return TopologicalSorter(
        {
            name: [required] if required and required in runs else []
            for name, required in required_pairs
        }
    )


def check_overwrites(
    save_nodes: Mapping[str, Node], paths: Iterable[str], errors: BatchErrors
) -> None:
    """Report outputs that would overwrite inputs or the history; save_nodes: by path."""
    protected = ProtectedFiles(paths)
    for path, node in save_nodes.items():
        if path in protected:
            message = f"save: '{path}' would overwrite a file that the batch reads or appends to"
            errors.add_problem(node, message, "choose another name")


HISTORY_KEYS = ("file", "label", "accept")


@dataclass(frozen=True, slots=True)
class HistoryTarget:
    """A history file, the label of new lines, and whether these become the reference."""

    file: str
    label: str
    accept: bool


def can_make_folder(path: str) -> bool:
    """Return whether the folder of a file is missing, and can be created."""
    folder = os.path.dirname(os.path.abspath(path))
    parent = folder  # the nearest one that exists
    while not os.path.lexists(parent):
        parent = os.path.dirname(parent)
    return parent != folder and os.path.isdir(parent) and os.access(parent, os.W_OK)


def read_history_target(
    node: Node | None, label: str | None, errors: BatchErrors, *, accept: bool
) -> HistoryTarget | None:
    """Return the history of `history: FILE` or `{file:, label:, accept:}`; arguments override."""
    if node is None:
        is_given_by_flag = {"--label": label is not None, "--accept": accept}
        for flag in [flag for flag, is_given in is_given_by_flag.items() if is_given]:
            hint = "add history: FILE at the top level of the YAML file"
            errors.take(
                bad_option(f"{OPTION}{flag}{END} needs a history, and the batch has none", hint)
            )
        return None
    file_node, label_node, accept_node = _history_nodes(node, errors)
    file_name = file_node.value if file_node else None
    if not isinstance(file_name, str) or not file_name.strip() or "\0" in file_name:
        hint = "write history: history.jsonl"
        errors.add_problem(file_node or node, "history must name a file", hint)
        return None
    if accept_node is not None and not isinstance(accept_node.value, bool):
        errors.add_problem(accept_node, "history: accept must be true or false")
    if label_node is not None and not isinstance(label_node.value, str):
        hint = f"label: '{label_node.written or label_node.value}'"
        errors.add_problem(label_node, "history: the label must be text", hint)
        return None
    label = label or (str(label_node.value) if label_node is not None else "")
    if not label.strip():
        hint = f"add {OPTION}--label 2026-W47{END}, or history: {{file: FILE, label: TEXT}}"
        errors.add_problem(node, "history: the label is missing", hint)
        return None
    path = _history_path(file_node or node, file_name, errors)
    return HistoryTarget(path, label, accept or bool(accept_node and accept_node.value))


def _history_nodes(node: Node, errors: BatchErrors) -> Iterator[Node | None]:
    """Return the nodes of the keys of a history, which may be the name of its file."""
    nodes: Mapping[str, Node] = {"file": node}
    if isinstance(node.value, dict):
        nodes = dict(node.pairs())
    for key, child in nodes.items():
        if key not in HISTORY_KEYS:
            hint = suggestion(key, HISTORY_KEYS) or f"keys: {', '.join(HISTORY_KEYS)}"
            errors.add_problem(child, f"history: unknown key '{key}'", hint)
    return (nodes.get(key) for key in HISTORY_KEYS)


def _history_path(node: Node, file_name: str, errors: BatchErrors) -> str:
    """Return the path of a history, named relative to its YAML file; report an unusable one."""
    check_inside_folder(node, "history", file_name, errors)
    path = path_beside_file(node, file_name)
    try:
        if not can_make_folder(path):
            check_target(path, ())
    except ClfevalError as error:
        errors.take(error, node)
    return path
