"""Runs of a batch computed in order, where an error stops no other run, and the result of all."""

from __future__ import annotations

import os
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from itertools import zip_longest
from typing import Any

from clfeval import __version__
from clfeval.api.baseline import compute_with_gates, history_entries
from clfeval.api.result import Result
from clfeval.api.texts import fill_result
from clfeval.compare.gates.kinds import KINDS, gate_sentence
from clfeval.compare.gates.limits import Gates
from clfeval.compare.history.file import AcceptedLabel, HistoryEntry, append_entries
from clfeval.document import Answer, Document, Gate, ResultNote, Row, short_answer
from clfeval.errors import ClfevalError, ExitCode, UsageError, list_names
from clfeval.formatting import format_count
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
from clfeval.pages.schema import SUITE
from clfeval.placeholders import END, OPTION, fill_for_shell
from clfeval.records import dataclass, field, replace
from clfeval.suite import plan as planning
from clfeval.suite.run_options import RunLink
from clfeval.suite.runs import Run, describe_input, display_path
from clfeval.suite.schema import names_a_file
from clfeval.tables.columns import OpenedTable
from clfeval.tables.input import split_path
from clfeval.tables.source import FRAME
from clfeval.views.files import (
    OutputRequest,
    SavedFiles,
    refuse_method_without_sql,
    refuse_unsaved_rows,
    table_or_first,
)

SKIPPED = "baseline '{}' is missing: skipped"
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
    result: Document | None = None  # where the page of the batch is to show it

    @property
    def page(self) -> str | None:
        """The page that it wrote."""
        return next((path for path in self.wrote if path.lower().endswith(".html")), None)

    @property
    def warned(self) -> int:
        """Number of missed gates that only warn."""
        return sum(gate.state == "warned" for gate in self.gates)


def execute_runs(
    runs: Sequence[Run],
    *,
    dry: bool = False,
    fail_fast: bool = False,
    hear: Hear | None = None,
    history: planning.HistoryTarget | None = None,
    keep: bool = False,
) -> Iterator[RunOutcome]:
    """Yield the outcome of each run, in order, as soon as it is done.

    dry: only its table is opened. fail_fast: stop after a failure. keep: yield the results of runs
    that write no page, too. Results are kept while later
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
            reason = fill_for_shell(f"an earlier run failed ({OPTION}--fail-fast{END})")
            done = RunOutcome(run, LEFT_OUT, ExitCode.OK, (reason,))
        elif lost is not None:
            done = RunOutcome(run, LEFT_OUT, failed[lost], (f"run '{lost}' was not computed",))
        elif dry and isinstance(run.input, RunLink):
            said = (f"for run '{run.input.run}'",)
            done = RunOutcome(run, WAITS, ExitCode.OK, said, *pending_gates(run))
        else:
            done, result = _execute_run(run, kept, saves, seen if dry else None, hear, history)
            if result is not None and waiting[run.name]:
                kept[run.name] = result
            done = replace(done, result=result if keep and not done.page else None)
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
    run: Run,
    kept: Mapping[str, Document],
    saves: Collection[str],
    seen: dict[str, Document] | None,
    hear: Hear | None,
    history: planning.HistoryTarget | None,
) -> tuple[RunOutcome, Document | None]:
    """Execute one run; saves: files of all runs; seen: cached dry results, in a dry run."""
    try:
        if seen is not None:
            return _dry_run_outcome(run, saves, seen), None
        result, wrote, entries = _compute_run(run, kept, hear, history)
    except ClfevalError as error:
        lines = tuple(planning.fill_for_run(error, run).lines())
        return RunOutcome(run, FAILED, error.exit_code, lines, fault=error), None
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # a panic of an engine too: it is a bug, and other runs continue
        lines = (*traceback.format_exc().splitlines(), "this is a bug in clfeval; please report it")
        return RunOutcome(run, FAILED, ExitCode.BUG, lines), None
    outcome = _computed_outcome(run, result)
    return replace(outcome, wrote=tuple(wrote), entries=tuple(entries)), result


def _computed_outcome(run: Run, result: Document) -> RunOutcome:
    """Return the outcome of a computed run: its state by its gates, and the lines on these."""
    failures = [gate_sentence(gate) for gate in result.gates if gate.failed]
    warnings = [gate_sentence(gate) for gate in result.gates if gate.state == "warned"]
    skipped = [SKIPPED.format(gate.metric) for gate in result.gates if gate.state == "skipped"]
    state = MET if len(result.gates) > len(skipped) else COMPUTED
    if failures:
        state = MISSED
    elif warnings:
        state = WARNED
    prefix = "warning: " if failures else ""
    return RunOutcome(
        run,
        state,
        ExitCode.OK if result.passed else ExitCode.GATE_MISSED,
        (*failures, *(f"{prefix}{sentence}" for sentence in warnings), *skipped),
        tuple(replace(gate, run=run.name) for gate in result.gates),
        answer=result.answer,
        rows=sum(file.rows for file in result.inputs),
        signature=result.signature,
    )


def _compute_run(
    run: Run,
    kept: Mapping[str, Document],
    hear: Hear | None,
    history: planning.HistoryTarget | None,
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

    refuse_method_without_sql(run.save, run.options.get("method"))
    wanted = OutputRequest.from_options(run.command, output)
    if run.options.get("calibrator") is not None:
        refuse_unsaved_rows(run.save)
        wanted = replace(wanted, rows=True)
    with SavedFiles(
        run.save,
        inputs=run.reads,
        gates=gates.any,
        said=f"{OPTION}--save{END} ",
        command=run.command,
        wanted=wanted,
    ) as files:
        computed = compute_with_gates(
            run.keys.command,
            table,
            run.options,
            gates,
            (listen, lambda _: None),
            partial(planning.keys_to_add, run),
            label=label,
            run=run.name,
        )
        inputs = (replace(one, name=named) if one.name == FRAME else one for one in computed.inputs)
        named_result = replace(computed, inputs=tuple(inputs))
        result = fill_result(named_result, fill_for_shell, files.notes)
        table_or_first(result, wanted.table)
        entries = [] if label is None else history_entries(result, label, run.name)
        return result, files.write(result, wanted), entries


def _make_folder(path: str) -> None:
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder or ".", exist_ok=True)
    except OSError as error:
        raise UsageError.new(f"cannot write '{path}': {error.strerror}", "output") from error


def _dry_run_outcome(run: Run, saves: Collection[str], seen: dict[str, Document]) -> RunOutcome:
    """Return the outcome of a dry run, which reads the table; saves: files to be written."""
    result = fill_result(planning.read_run_table(run, seen), fill_for_shell)
    doubts = tuple(str(row["text"]) for row in result.tables["ambiguities"])
    if not doubts:
        planning.check_limits_fit_table(run, result.tables["reading"])
    baseline, skips = run.options.get("baseline"), run.options.get("baseline_missing") == "skip"
    said: tuple[str, ...] = ()
    if baseline and not os.path.exists(baseline) and os.path.abspath(baseline) not in saves:
        name = os.path.basename(baseline)
        said = (SKIPPED.format(name) if skips else f"baseline '{name}' is missing: gate missed",)
    fine = not doubts and (skips or not said)
    state, code = (READY, ExitCode.OK) if fine else (DOUBTFUL, ExitCode.DATA)
    reading = tuple({"run": run.name, **row} for row in result.tables["reading"])
    return RunOutcome(run, state, code, (*doubts, *said), *pending_gates(run), reading=reading)


def pending_gates(run: Run) -> tuple[tuple[Gate, ...], tuple[str, ...]]:
    """Return the gates of a run before evaluation, and their texts."""
    options = build_group(Gates, run.options)
    pending = [pair for kind in KINDS for pair in kind.pending(options)]
    gates = tuple(replace(gate, run=run.name) for gate, _ in pending)
    return gates, tuple(text for _, text in pending)


GATE_COLUMNS = "kind metric model slice limit limit_text value among severity state passed reason"
MAX_OUTCOME_LINES = 100  # lines of errors of one run, at most


def suite_result(plan: planning.Plan, outcomes: Sequence[RunOutcome], *, dry: bool) -> Document:
    """Return the result of a batch.

    Tables: `answers` (run code text), `gates` (run, fields of the gate, and its text),
    `problems` (run text), `runs` (run command input state code rows gates missed answer); of a dry
    run `reading` (run column taken why) and `files` (run file use) too. summary: how many runs,
    how many of them missed a gate or were not computed, and the worst exit code.
    """
    tables: dict[str, list[Row]] = {"runs": [_row(one) for one in outcomes]}
    if dry:
        tables["reading"] = [row for one in outcomes for row in one.reading]
        tables["files"] = [row for one in outcomes for row in _files(one, plan)]
    else:
        tables["answers"] = [
            {"run": one.run.name, "code": said.code, "text": said.text}
            for one in outcomes
            for said in one.answer
        ]
    tables["gates"] = [row for one in outcomes for row in _gates(one)]
    tables["problems"] = [
        {"run": one.run.name, "text": line}
        for one in outcomes
        if one.state in (FAILED, LEFT_OUT, DOUBTFUL)
        for line in one.said[:MAX_OUTCOME_LINES]
    ]
    signed = sha256("\n".join(f"{one.run.name} {one.signature}" for one in outcomes).encode())
    failed = [one for one in outcomes if one.state in (FAILED, LEFT_OUT)]
    return Document(
        command=SUITE,
        signature=f"cmd:{SUITE}|runs:{len(outcomes)}|of:{signed.hexdigest()[:8]}"
        f"|clfeval:{__version__}",
        inputs=plan.inputs,
        parameters={"dry_run": dry or None, "offer": None},
        summary={
            "runs": len(outcomes),
            "missed": sum(one.state == MISSED for one in outcomes),
            "failed": len(failed),
            "ambiguities": sum(one.state == DOUBTFUL for one in outcomes),
            "code": int(max((one.code for one in outcomes), default=ExitCode.OK)),
        },
        tables=tables,
        gates=() if dry else tuple(gate for one in outcomes for gate in one.gates),
        answer=tuple(_answer(outcomes, dry=dry)),
        warnings=tuple(
            ResultNote("gates-replaced", f"run '{name}' replaces {' and '.join(lost)} of defaults")
            for name, lost in ((run.name, run.lost) for run in plan.runs)
            if lost
        ),
        runs={one.run.name: one.result for one in outcomes if one.result is not None},
    )


def _row(one: RunOutcome) -> Row:
    said = one.said[0] if one.said else short_answer(one.answer)
    return {
        "run": one.run.name,
        "command": one.run.command,
        "input": describe_input(one.run) or None,
        "state": one.state,
        "code": int(one.code),
        "rows": one.rows,
        "gates": len(one.gates),
        "missed": sum(gate.failed for gate in one.gates),
        "warnings": one.warned,
        "answer": said or None,
        "page": one.page,
    }


def _gates(outcome: RunOutcome) -> list[Row]:
    """Return rows of the gates of a run; of a dry run as requested."""
    rows: list[Row] = []
    for gate, text in zip_longest(outcome.gates, outcome.written):
        row = {name: getattr(gate, name) for name in GATE_COLUMNS.split()}
        row |= {"state": None, "passed": None} if text else {}
        text = text or gate_sentence(replace(gate, run=None))
        rows.append({"run": outcome.run.name, **row, "text": text})
    return rows


def _files(one: RunOutcome, plan: planning.Plan) -> list[Row]:
    """Return rows of the files that a run would read and write."""
    run, history = one.run, plan.history
    reads = [describe_input(run)] if isinstance(run.input, RunLink) else []
    reads += [display_path(run, split_path(path)[1]) for path in run.files]
    beside = [v for k, v in run.options.items() if names_a_file(run.keys.option(k))]
    reads += [display_path(run, path) for path in beside if isinstance(path, str)]
    pairs = [("read", path) for path in reads]
    pairs += [("write", display_path(run, path)) for path in run.save]
    pairs += [("append", display_path(run, history.file))] if history else []
    return [{"run": run.name, "use": use, "file": path} for use, path in pairs]


def _answer(outcomes: Sequence[RunOutcome], *, dry: bool) -> list[Answer]:
    """Return the sentences on how many runs passed, and which did not."""
    total = format_count(len(outcomes), "run")
    wrong = [one for one in outcomes if one.code != ExitCode.OK]
    if dry:
        left = f"{len(wrong)} of them would not be computed" if wrong else "nothing is ambiguous"
        said = [Answer("planned", f"The plan has {total}; {left}.")]
    elif not outcomes:
        said = [Answer("none", "No run was requested.")]
    elif not wrong:
        held = [one for one in outcomes if one.state == MET]
        their, were = ("its" if len(held) == 1 else "their"), ("was", "were")[len(outcomes) > 1]
        gates = f"; {len(held)} met all {their} gates" if held else ""
        said = [Answer("fine", f"{total} {were} computed{gates}.")]
    else:
        bad = (LEFT_OUT, WARNED)
        fine = sum(one.code == ExitCode.OK and one.state not in bad for one in outcomes)
        said = [Answer("wrong", f"{fine} of {total} ended without error, missed gate or warning.")]
        if all(one.state == MISSED for one in outcomes):
            text = f"All {total} missed a gate." if len(outcomes) > 1 else "The run missed a gate."
            return [Answer("wrong", text)]
    for code, words, states in (
        ("gates-missed", "Gates were missed in", (MISSED,)),
        ("warned", "Warnings occurred in", (WARNED,)),
        ("not-computed", "These runs were not computed:", (FAILED,)),
        ("left-out", "These runs were left out:", (LEFT_OUT,)),
        ("ambiguous", "These runs are not ready:", (DOUBTFUL,)),
    ):
        names = [one.run.name for one in outcomes if one.state in states]
        if names:
            said.append(Answer(code, f"{words} {list_names(names, 5)}."))
    return said
