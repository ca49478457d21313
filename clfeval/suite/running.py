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
from clfeval.api.baseline import Listeners, compute_with_gates, history_entries
from clfeval.api.result import Result
from clfeval.api.texts import fill_result
from clfeval.compare.gates.kinds import KINDS, gate_sentence
from clfeval.compare.gates.limits import Gates
from clfeval.compare.history.file import AcceptedLabel, HistoryEntry, append_entries
from clfeval.document import Answer, Document, Gate, ResultNote, short_answer
from clfeval.document.cells import Row, as_row
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
Listener = Callable[[str], None]  # receives how a table was read


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The outcome of a run. lines: errors or missed gates.

    written: of a dry run, its gates as requested. fault: the error behind `lines`.
    """

    run: Run
    state: str
    code: ExitCode
    lines: tuple[str, ...] = ()
    gates: tuple[Gate, ...] = ()
    written: tuple[str, ...] = ()
    answer: tuple[Answer, ...] = ()
    rows: int | None = None
    signature: str = ""
    saved: tuple[str, ...] = ()
    reading: tuple[Row, ...] = field(default=())
    fault: ClfevalError | None = None
    entries: tuple[HistoryEntry, ...] = ()  # lines for a history
    result: Document | None = None  # where the page of the batch is to show it

    @property
    def page(self) -> str | None:
        """The page that it saved."""
        return next((path for path in self.saved if path.lower().endswith(".html")), None)

    @property
    def warned(self) -> int:
        """Number of missed gates that only warn."""
        return sum(gate.state == "warned" for gate in self.gates)


def execute_runs(
    runs: Sequence[Run],
    *,
    dry: bool = False,
    fail_fast: bool = False,
    listener: Listener | None = None,
    history: planning.HistoryTarget | None = None,
    keep: bool = False,
) -> Iterator[RunOutcome]:
    """Yield the outcome of each run, in order, as soon as it is done.

    dry: only its table is opened. fail_fast: stop after a failure. keep: yield the results of runs
    that write no page, too. Results are kept while later
    runs need them. history: receives the lines of all computed runs at the end, accepted,
    if requested, if all runs passed. Raises UsageError where it cannot be written.
    """
    waiting_counts = Counter(run.required for run in runs)  # runs that need a run's tables
    saved_paths = frozenset(os.path.abspath(path) for run in runs for path in run.save)
    results_by_name: dict[str, Document] = {}
    exit_codes_of_failed: dict[str, ExitCode] = {}
    history_lines: list[HistoryEntry] = []
    any_failed = False
    dry_results: dict[str, Document] = {}
    for run in runs:
        outcome = _uncomputed_outcome(
            run, exit_codes_of_failed, stopped=fail_fast and any_failed, dry=dry
        )
        if outcome is None:
            outcome, result = _execute_run(
                run, results_by_name, saved_paths, dry_results if dry else None, listener, history
            )
            if result is not None and waiting_counts[run.name]:
                results_by_name[run.name] = result
            outcome = replace(outcome, result=result if keep and not outcome.page else None)
        if outcome.state in (FAILED, LEFT_OUT):
            exit_codes_of_failed[run.name] = outcome.code
        history_lines += outcome.entries
        any_failed = any_failed or outcome.code != ExitCode.OK
        waiting_counts[run.required] -= 1
        if run.required and not waiting_counts[run.required]:
            results_by_name.pop(run.required, None)
        yield replace(outcome, entries=())
    if history is not None and history_lines:
        _append_to_history(history, history_lines, accept=history.accept and not any_failed)


def _uncomputed_outcome(
    run: Run, exit_codes_of_failed: Mapping[str, ExitCode], *, stopped: bool, dry: bool
) -> RunOutcome | None:
    """Return the outcome of a run that is left out or waits for another; None if it has to run.

    exit_codes_of_failed: of the runs without result, by name. stopped: an earlier run failed,
    which stops the batch.
    """
    if stopped:
        reason = fill_for_shell(f"an earlier run failed ({OPTION}--fail-fast{END})")
        return RunOutcome(run, LEFT_OUT, ExitCode.OK, (reason,))
    if run.required is not None and run.required in exit_codes_of_failed:
        reason = f"run '{run.required}' was not computed"
        return RunOutcome(run, LEFT_OUT, exit_codes_of_failed[run.required], (reason,))
    if dry and isinstance(run.input, RunLink):
        reason = f"for run '{run.input.run}'"
        gates, gate_texts = pending_gates(run)
        return RunOutcome(run, WAITS, ExitCode.OK, (reason,), gates, gate_texts)
    return None


def _append_to_history(
    history: planning.HistoryTarget, history_lines: Sequence[HistoryEntry], *, accept: bool
) -> None:
    """Append the lines of runs to a history, after them, if accepted, their label by command."""
    commands = dict.fromkeys(line.command for line in history_lines) if accept else ()
    accepted_labels = [AcceptedLabel(command, history.label) for command in commands]
    _make_folder(history.file)
    append_entries(history.file, [*history_lines, *accepted_labels])


def _execute_run(
    run: Run,
    results_by_name: Mapping[str, Document],
    saved_paths: Collection[str],
    dry_results: dict[str, Document] | None,
    listener: Listener | None,
    history: planning.HistoryTarget | None,
) -> tuple[RunOutcome, Document | None]:
    """Execute one run; return its outcome, and its result if it was computed.

    results_by_name: of earlier runs. saved_paths: files that any run saves. dry_results: the cache
    of a dry run, else None.
    """
    try:
        if dry_results is not None:
            return _dry_run_outcome(run, saved_paths, dry_results), None
        result, written_paths, history_lines = _compute_run(run, results_by_name, listener, history)
    except ClfevalError as error:
        error_lines = tuple(planning.fill_for_run(error, run).lines())
        return RunOutcome(run, FAILED, error.exit_code, error_lines, fault=error), None
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # a panic of an engine too: it is a bug, and other runs continue
        error_lines = (
            *traceback.format_exc().splitlines(),
            "this is a bug in clfeval; please report it",
        )
        return RunOutcome(run, FAILED, ExitCode.BUG, error_lines), None
    outcome = _computed_outcome(run, result)
    return replace(outcome, saved=tuple(written_paths), entries=tuple(history_lines)), result


def _computed_outcome(run: Run, result: Document) -> RunOutcome:
    """Return the outcome of a computed run: its state by its gates, and the lines on these."""
    failure_sentences = [gate_sentence(gate) for gate in result.gates if gate.failed]
    warning_sentences = [gate_sentence(gate) for gate in result.gates if gate.state == "warned"]
    skipped_sentences = [
        SKIPPED.format(gate.metric) for gate in result.gates if gate.state == "skipped"
    ]
    state = MET if len(result.gates) > len(skipped_sentences) else COMPUTED
    if failure_sentences:
        state = MISSED
    elif warning_sentences:
        state = WARNED
    prefix = "warning: " if failure_sentences else ""
    return RunOutcome(
        run,
        state,
        ExitCode.OK if result.passed else ExitCode.GATE_MISSED,
        (
            *failure_sentences,
            *(f"{prefix}{sentence}" for sentence in warning_sentences),
            *skipped_sentences,
        ),
        tuple(replace(gate, run=run.name) for gate in result.gates),
        answer=result.answer,
        rows=sum(file.rows for file in result.inputs),
        signature=result.signature,
    )


def _compute_run(
    run: Run,
    results_by_name: Mapping[str, Document],
    listener: Listener | None,
    history: planning.HistoryTarget | None,
) -> tuple[Document, Sequence[str], Sequence[HistoryEntry]]:
    """Compute, gate and save a run; return its result, names of files, and history lines."""
    gates = build_group(Gates, run.options)
    output_options: Any = build_group(run.keys.output, run.options)
    table: Any = list(run.files) or None
    if isinstance(run.input, RunLink):
        source_result = results_by_name[run.input.run]
        table = Result.from_document(source_result).frame(
            table_or_first(source_result, run.input.table)
        )
    for path in run.save:
        _make_folder(path)
    input_name = describe_input(run)
    label = history.label if history else None

    def listen(opened_table: OpenedTable) -> None:
        if listener is not None:
            listener(f"{run.name}: {opened_table.described().replace(FRAME, input_name)}")

    refuse_method_without_sql(run.save, run.options.get("method"))
    request = OutputRequest.from_options(run.command, output_options)
    if run.options.get("calibrator") is not None:
        refuse_unsaved_rows(run.save)
        request = replace(request, rows=True)
    with SavedFiles(
        run.save,
        inputs=run.reads,
        gates=gates.any,
        option=f"{OPTION}--save{END} ",
        command=run.command,
        request=request,
    ) as saved_files:
        computed_result = compute_with_gates(
            run.keys.command,
            table,
            run.options,
            gates,
            Listeners(listen, lambda _: None, partial(planning.keys_to_add, run)),
            label=label,
            run=run.name,
        )
        named_inputs = (
            replace(file, name=input_name) if file.name == FRAME else file
            for file in computed_result.inputs
        )
        named_result = replace(computed_result, inputs=tuple(named_inputs))
        result = fill_result(named_result, fill_for_shell, saved_files.notes)
        table_or_first(result, request.table)
        history_lines = [] if label is None else history_entries(result, label, run.name)
        return result, saved_files.write(result, request), history_lines


def _make_folder(path: str) -> None:
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder or ".", exist_ok=True)
    except OSError as error:
        raise UsageError.new(f"cannot write '{path}': {error.strerror}", "output") from error


def _dry_run_outcome(
    run: Run, saved_paths: Collection[str], dry_results: dict[str, Document]
) -> RunOutcome:
    """Return the outcome of a dry run, which reads the table; saved_paths: files to be written."""
    result = fill_result(planning.read_run_table(run, dry_results), fill_for_shell)
    ambiguities = tuple(row["text"] for row in result.tables["ambiguities"])
    if not ambiguities:
        planning.check_limits_fit_table(run, result.tables["reading"])
    baseline_path = run.options.get("baseline")
    skips_missing = run.options.get("baseline_missing") == "skip"
    baseline_lines: tuple[str, ...] = ()
    if baseline_path and not _is_available(baseline_path, saved_paths):
        baseline_name = os.path.basename(baseline_path)
        missed_line = f"baseline '{baseline_name}' is missing: gate missed"
        baseline_lines = (SKIPPED.format(baseline_name) if skips_missing else missed_line,)
    is_ready = not ambiguities and (skips_missing or not baseline_lines)
    state, code = (READY, ExitCode.OK) if is_ready else (DOUBTFUL, ExitCode.DATA)
    reading_rows = tuple(as_row({"run": run.name, **row}) for row in result.tables["reading"])
    gates, gate_texts = pending_gates(run)
    return RunOutcome(
        run, state, code, (*ambiguities, *baseline_lines), gates, gate_texts, reading=reading_rows
    )


def _is_available(path: str, saved_paths: Collection[str]) -> bool:
    """Return whether a file exists, or another run will save it."""
    return os.path.exists(path) or os.path.abspath(path) in saved_paths


def pending_gates(run: Run) -> tuple[tuple[Gate, ...], tuple[str, ...]]:
    """Return the gates of a run before evaluation, and their texts."""
    gate_options = build_group(Gates, run.options)
    gate_text_pairs = [
        gate_text_pair for kind in KINDS for gate_text_pair in kind.pending(gate_options)
    ]
    gates = tuple(replace(gate, run=run.name) for gate, _ in gate_text_pairs)
    return gates, tuple(text for _, text in gate_text_pairs)


GATE_COLUMNS = "kind metric model slice limit limit_text value among severity state passed reason"
MAX_OUTCOME_LINES = 100  # lines of errors of one run, at most


def suite_result(plan: planning.Plan, outcomes: Sequence[RunOutcome], *, dry: bool) -> Document:
    """Return the result of a batch.

    Tables: `answers` (run code text), `gates` (run, fields of the gate, and its text),
    `problems` (run text), `runs` (run command input state code rows gates missed answer); of a dry
    run `reading` (run column taken why) and `files` (run file use) too. summary: how many runs,
    how many of them missed a gate or were not computed, and the worst exit code.
    """
    tables: dict[str, list[Row]] = {"runs": [_row(outcome) for outcome in outcomes]}
    if dry:
        tables["reading"] = [row for outcome in outcomes for row in outcome.reading]
        tables["files"] = [row for outcome in outcomes for row in _files(outcome, plan)]
    else:
        tables["answers"] = [
            as_row({"run": outcome.run.name, "code": sentence.code, "text": sentence.text})
            for outcome in outcomes
            for sentence in outcome.answer
        ]
    tables["gates"] = [row for outcome in outcomes for row in _gates(outcome)]
    tables["problems"] = [
        as_row({"run": outcome.run.name, "text": line})
        for outcome in outcomes
        if outcome.state in (FAILED, LEFT_OUT, DOUBTFUL)
        for line in outcome.lines[:MAX_OUTCOME_LINES]
    ]
    runs_digest = sha256(
        "\n".join(f"{outcome.run.name} {outcome.signature}" for outcome in outcomes).encode()
    )
    uncomputed_outcomes = [outcome for outcome in outcomes if outcome.state in (FAILED, LEFT_OUT)]
    return Document(
        command=SUITE,
        signature=f"cmd:{SUITE}|runs:{len(outcomes)}|of:{runs_digest.hexdigest()[:8]}"
        f"|clfeval:{__version__}",
        inputs=plan.inputs,
        parameters={"dry_run": dry or None, "offer": None},
        summary={
            "runs": len(outcomes),
            "missed": sum(outcome.state == MISSED for outcome in outcomes),
            "failed": len(uncomputed_outcomes),
            "ambiguities": sum(outcome.state == DOUBTFUL for outcome in outcomes),
            "code": int(max((outcome.code for outcome in outcomes), default=ExitCode.OK)),
        },
        tables=tables,
        gates=() if dry else tuple(gate for outcome in outcomes for gate in outcome.gates),
        answer=tuple(_answer(outcomes, dry=dry)),
        warnings=tuple(_replaced_gates_note(run) for run in plan.runs if run.replaced_gates),
        runs={
            outcome.run.name: outcome.result for outcome in outcomes if outcome.result is not None
        },
    )


def _replaced_gates_note(run: Run) -> ResultNote:
    """Return the note that a run overrides gates of the defaults."""
    gates_text = " and ".join(run.replaced_gates)
    return ResultNote("gates-replaced", f"run '{run.name}' replaces {gates_text} of defaults")


def _row(outcome: RunOutcome) -> Row:
    """Return the row of a run in the table `runs`."""
    answer_text = outcome.lines[0] if outcome.lines else short_answer(outcome.answer)
    return as_row(
        {
            "run": outcome.run.name,
            "command": outcome.run.command,
            "input": describe_input(outcome.run) or None,
            "state": outcome.state,
            "code": int(outcome.code),
            "rows": outcome.rows,
            "gates": len(outcome.gates),
            "missed": sum(gate.failed for gate in outcome.gates),
            "warnings": outcome.warned,
            "answer": answer_text or None,
            "page": outcome.page,
        }
    )


def _gates(outcome: RunOutcome) -> list[Row]:
    """Return rows of the gates of a run; of a dry run as requested."""
    rows: list[Row] = []
    for gate, text in zip_longest(outcome.gates, outcome.written):
        cells = {name: getattr(gate, name) for name in GATE_COLUMNS.split()}
        cells |= {"state": None, "passed": None} if text else {}
        text = text or gate_sentence(replace(gate, run=None))
        rows.append(as_row({"run": outcome.run.name, **cells, "text": text}))
    return rows


def _files(outcome: RunOutcome, plan: planning.Plan) -> list[Row]:
    """Return rows of the files that a run would read and write."""
    run = outcome.run
    read_paths = [describe_input(run)] if isinstance(run.input, RunLink) else []
    read_paths += [display_path(run, path) for _, path in map(split_path, run.files)]
    for option_name, value in run.options.items():
        if names_a_file(run.keys.option(option_name)) and isinstance(value, str):
            read_paths.append(display_path(run, value))
    use_path_pairs = [("read", path) for path in read_paths]
    use_path_pairs += [("write", display_path(run, path)) for path in run.save]
    if plan.history is not None:
        use_path_pairs.append(("append", display_path(run, plan.history.file)))
    return [as_row({"run": run.name, "use": use, "file": path}) for use, path in use_path_pairs]


def _answer(outcomes: Sequence[RunOutcome], *, dry: bool) -> list[Answer]:
    """Return the sentences on how many runs passed, and which did not."""
    sentences = [_counts_sentence(outcomes, dry=dry)]
    if sentences[0].code == "wrong" and all(outcome.state == MISSED for outcome in outcomes):
        return sentences
    for code, lead_clause, state in (
        ("gates-missed", "Gates were missed in", MISSED),
        ("warned", "Warnings occurred in", WARNED),
        ("not-computed", "These runs were not computed:", FAILED),
        ("left-out", "These runs were left out:", LEFT_OUT),
        ("ambiguous", "These runs are not ready:", DOUBTFUL),
    ):
        run_names = [outcome.run.name for outcome in outcomes if outcome.state == state]
        if run_names:
            sentences.append(Answer(code, f"{lead_clause} {list_names(run_names, 5)}."))
    return sentences


def _counts_sentence(outcomes: Sequence[RunOutcome], *, dry: bool) -> Answer:
    """Return the sentence on how many runs there are, and how many of them passed."""
    total_text = format_count(len(outcomes), "run")
    failure_count = sum(outcome.code != ExitCode.OK for outcome in outcomes)
    if dry:
        remark = (
            f"{failure_count} of them would not be computed"
            if failure_count
            else "nothing is ambiguous"
        )
        return Answer("planned", f"The plan has {total_text}; {remark}.")
    if not outcomes:
        return Answer("none", "No run was requested.")
    if not failure_count:
        met_count = sum(outcome.state == MET for outcome in outcomes)
        gates_clause = (
            f"; {met_count} met all {'its' if met_count == 1 else 'their'} gates"
            if met_count
            else ""
        )
        verb = "were" if len(outcomes) > 1 else "was"
        return Answer("fine", f"{total_text} {verb} computed{gates_clause}.")
    if all(outcome.state == MISSED for outcome in outcomes):
        text = f"All {total_text} missed a gate." if len(outcomes) > 1 else "The run missed a gate."
        return Answer("wrong", text)
    successful_outcomes = [outcome for outcome in outcomes if outcome.code == ExitCode.OK]
    clean_count = sum(outcome.state not in (LEFT_OUT, WARNED) for outcome in successful_outcomes)
    return Answer(
        "wrong", f"{clean_count} of {total_text} ended without error, missed gate or warning."
    )
