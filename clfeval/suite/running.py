"""Runs of a batch in order: an error of one run does not stop the others."""

from __future__ import annotations

import os
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from json import dumps
from pathlib import Path
from typing import Any

from clfeval.api.baseline import compute_with_gates, history_entries
from clfeval.api.result import Result
from clfeval.compare.gates.limits import Gates
from clfeval.compare.history.file import AcceptedLabel, HistoryEntry, append_entries
from clfeval.document import Answer, Document, Gate, InputFile, Row
from clfeval.errors import ClfevalError, ExitCode, Problem, UsageError
from clfeval.options.declaration import build_group
from clfeval.pages.batches import (
    COMPUTED,
    DOUBTFUL,
    FAILED,
    LEFT_OUT,
    MET,
    MISSED,
    READY,
    WAITS,
    WARNED,
)
from clfeval.records import dataclass, field, replace
from clfeval.suite.checks import (
    check_limits_fit_table,
    check_links,
    check_without_table,
    order_runs,
    pending_gates,
    select_runs,
)
from clfeval.suite.keys import reword_for_yaml
from clfeval.suite.outputs import HistoryTarget, check_overwrites, read_history_target
from clfeval.suite.reading import (
    BatchErrors,
    Node,
    input_files,
    read_declaration,
    variables_from_shell,
    with_place,
)
from clfeval.suite.runs import Run, RunLink, build_runs
from clfeval.tables.cells import FRAME
from clfeval.tables.columns import OpenedTable
from clfeval.tables.input import Input
from clfeval.tables.source import display_name, split_path
from clfeval.views.files import OutputRequest, SavedFiles, table_or_first

LOOKED_AT = 100  # runs whose tables are checked if a YAML file has errors, at most
SKIPPED = "baseline '{}' is missing: skipped"
NUMBERS = (int, float)
Hear = Callable[[str], None]  # receives how a table was read


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The outcome of a run. said: errors or missed gates, by line.

    written: of a dry run, its gates as requested. fault: the error behind `said`.
    """

    run: Run
    state: str
    code: ExitCode
    said: tuple[str, ...] = ()
    gates: tuple[Gate, ...] = ()
    written: tuple[str, ...] = ()
    answer: tuple[Answer, ...] = ()
    rows: int | None = None
    signature: str = ""
    wrote: tuple[str, ...] = ()
    reading: tuple[Row, ...] = field(default=())
    fault: ClfevalError | None = None
    entries: tuple[HistoryEntry, ...] = ()  # lines for a history

    @property
    def missed_gates(self) -> list[Gate]:
        """The gates it missed."""
        return [gate for gate in self.gates if gate.failed]

    @property
    def warned(self) -> int:
        """Number of missed gates that only warn."""
        return sum(gate.state == "warned" for gate in self.gates)


def execute_runs(
    runs: Sequence[Run], *, dry: bool = False, fail_fast: bool = False, hear: Hear | None = None,
    history: HistoryTarget | None = None,
) -> Iterator[RunOutcome]:  # fmt: skip
    """Yield the outcome of each run, in order, as soon as it is done.

    dry: only its table is opened. fail_fast: stop after a failure. Results are kept while later
    runs need them. history: receives the lines of all computed runs at the end, accepted,
    if requested, if all runs passed. Raises UsageError where it cannot be written.
    """
    waiting = Counter(run.required for run in runs)
    saves = frozenset(os.path.abspath(path) for run in runs for path in run.save)
    kept: dict[str, Document] = {}
    failed: dict[str, ExitCode] = {}
    entries: list[HistoryEntry] = []
    wrong = False
    seen: dict[str, Document] = {}
    for run in runs:
        lost = run.required if run.required in failed else None
        if fail_fast and wrong:
            done = RunOutcome(run, LEFT_OUT, ExitCode.OK, ("an earlier run failed (--fail-fast)",))
        elif lost is not None:
            done = RunOutcome(run, LEFT_OUT, failed[lost], (f"run '{lost}' was not computed",))
        elif dry and isinstance(run.input, RunLink):
            said = (f"for run '{run.input.run}'",)
            done = RunOutcome(run, WAITS, ExitCode.OK, said, *pending_gates(run))
        else:
            done, result = _execute_run(run, kept, saves, seen if dry else None, hear, history)
            if result is not None and waiting[run.name]:
                kept[run.name] = result
        if done.state in (FAILED, LEFT_OUT):
            failed[run.name] = done.code
        entries += done.entries
        wrong = wrong or done.code != ExitCode.OK
        waiting[run.required] -= 1
        if run.required and not waiting[run.required]:
            kept.pop(run.required, None)
        yield replace(done, entries=())
    if history is not None and entries:
        accepted = dict.fromkeys(one.command for one in entries) if history.accept else ()
        marks = [] if wrong else [AcceptedLabel(command, history.label) for command in accepted]
        _make_folder(history.file)
        append_entries(history.file, [*entries, *marks])


def _execute_run(
    run: Run, kept: Mapping[str, Document], saves: Collection[str],
    seen: dict[str, Document] | None, hear: Hear | None, history: HistoryTarget | None,
) -> tuple[RunOutcome, Document | None]:  # fmt: skip
    """Execute one run; saves: files of all runs; seen: cached dry results, in a dry run."""
    try:
        if seen is not None:
            return _dry_run_outcome(run, saves, seen), None
        result, wrote, entries = _compute_run(run, kept, hear, history)
    except ClfevalError as error:
        lines = tuple(_in_words(error, run).lines())
        return RunOutcome(run, FAILED, error.exit_code, lines, fault=error), None
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # a panic of an engine too: it is a bug, and other runs continue
        lines = (*traceback.format_exc().splitlines(), "this is a bug in clfeval; please report it")
        return RunOutcome(run, FAILED, ExitCode.BUG, lines), None
    gates = tuple(replace(gate, run=run.name) for gate in result.gates)
    missed = tuple(str(replace(gate, run=None)) for gate in gates if gate.failed)
    warned = tuple(str(replace(gate, run=None)) for gate in gates if gate.state == "warned")
    skipped = (SKIPPED.format(gate.metric) for gate in gates if gate.state == "skipped")
    told = tuple(f"warning: {one}" for one in warned) if missed else warned
    said = (*missed, *told, *skipped)
    judged = any(gate.state != "skipped" for gate in gates)
    state = MISSED if missed else WARNED if warned else MET if judged else COMPUTED
    code = ExitCode.OK if result.passed else ExitCode.GATE_MISSED
    rows = sum(one.rows for one in result.inputs)
    return RunOutcome(
        run, state, code, said, gates, (), result.answer, rows, result.signature, tuple(wrote),
        entries=tuple(entries),
    ), result  # fmt: skip


def _yaml_call(run: Run, fixes: Mapping[str, Any]) -> str:
    """Write the hint on keys to add to a run, as JSON, which YAML can read."""
    pairs = (f"{k.replace('_', '-')}: {dumps(v, ensure_ascii=False)}" for k, v in fixes.items())
    return f"at {run.place} add {', '.join(pairs)}"


def _compute_run(
    run: Run, kept: Mapping[str, Document], hear: Hear | None, history: HistoryTarget | None
) -> tuple[Document, Sequence[str], Sequence[HistoryEntry]]:
    """Compute, gate and save a run; return its result, names of files, and history lines."""
    gates = build_group(Gates, run.options)
    output: Any = build_group(run.keys.output, run.options)
    table: Any = list(run.files) or None
    if isinstance(run.input, RunLink):
        before = kept[run.input.run]
        table = Result.from_document(before).frame(table_or_first(before, run.input.table))
    for path in run.save:
        _make_folder(path)
    named, label = describe_input(run), history.label if history else None

    def listen(read: OpenedTable) -> None:
        if hear is not None:
            hear(f"{run.name}: {read.described().replace(FRAME, named)}")

    with SavedFiles(run.save, inputs=run.reads, gates=gates.any, said="--save ") as files:
        result = compute_with_gates(
            run.keys.command, table, run.options, gates, (listen, _be_silent),
            partial(_yaml_call, run), label=label, run=run.name,
        )  # fmt: skip
        inputs = (replace(one, name=named) if one.name == FRAME else one for one in result.inputs)
        result = replace(result, inputs=tuple(inputs))
        wanted = OutputRequest.from_names(run.command, output.show, output.digits)
        table_or_first(result, wanted.table)
        entries = [] if label is None else history_entries(result, label, run.name)
        return result, files.write(result, wanted), entries


def _be_silent(_: OpenedTable) -> None:
    """Do not say how a table was read."""


def _make_folder(path: str) -> None:
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder or ".", exist_ok=True)
    except OSError as error:
        raise UsageError.new(f"cannot write '{path}': {error.strerror}", "output") from error


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
        dry, silent = {**run.options, "dry_run": True}, (_be_silent, _be_silent)
        offer = partial(_yaml_call, run)
        seen[key] = compute_with_gates(command, files, dry, Gates(), silent, offer, label=None)
    return seen[key]


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
                    wrong.take(_in_words(found, run))
            if not doubts:
                check_limits_fit_table(run, result.tables["reading"])
        except ClfevalError as error:
            for part in _in_words(error, run).parts or (error,):
                wrong.take(part)


def _in_words(error: ClfevalError, run: Run) -> ClfevalError:
    """Reword an error for a batch; name another run's table, and the place of other problems."""
    reword_for_yaml(error, run.keys, run.given)
    for part in (error, *error.parts):
        problems = []
        for one in part.problems:
            named = replace(one, file=describe_input(run)) if one.file == FRAME else one
            usage = isinstance(part, UsageError)
            problems.append(with_place(named, run.place) if usage else named)
        part.problems = tuple(problems)
    return error


def _dry_run_outcome(run: Run, saves: Collection[str], seen: dict[str, Document]) -> RunOutcome:
    """Return the outcome of a dry run, which reads the table; saves: files to be written."""
    result = read_run_table(run, seen)
    doubts = tuple(str(row["text"]) for row in result.tables["ambiguities"])
    if not doubts:
        check_limits_fit_table(run, result.tables["reading"])
    baseline, skips = run.options.get("baseline"), run.options.get("baseline_missing") == "skip"
    said: tuple[str, ...] = ()
    if baseline and not os.path.exists(baseline) and os.path.abspath(baseline) not in saves:
        name = os.path.basename(baseline)
        said = (SKIPPED.format(name) if skips else f"baseline '{name}' is missing: gate missed",)
    fine = not doubts and (skips or not said)
    state, code = (READY, ExitCode.OK) if fine else (DOUBTFUL, ExitCode.DATA)
    reading = tuple({"run": run.name, **row} for row in result.tables["reading"])
    return RunOutcome(run, state, code, (*doubts, *said), *pending_gates(run), reading=reading)


def describe_input(run: Run) -> str:
    """Return the text on the input of a run: files relative to the YAML file, or by name."""
    if isinstance(run.input, RunLink):
        return f"{run.input.run}: {run.input.table or 'its first table'}"
    shown = [display_path(run, split_path(path)[1]) for path in run.files]
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")


def display_path(run: Run, path: str) -> str:
    """Return a path relative to the folder of the YAML file; of files outside it the name."""
    whole, home = Path(os.path.abspath(path)), os.path.abspath(run.home)
    if not whole.is_relative_to(home):
        return display_name(path)
    return whole.relative_to(home).as_posix().encode(errors="replace").decode()


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs in order, with the files that define them."""

    runs: Sequence[Run]
    inputs: tuple[InputFile, ...]
    history: HistoryTarget | None = None


def build_plan(
    names: Sequence[str], output: type, *, variables: Sequence[str] = (), only: Sequence[str] = (),
    label: str | None = None, accept: bool = False,
) -> Plan:  # fmt: skip
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
