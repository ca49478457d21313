"""Runs of a batch, one after the other: what fails says so and harms none of the others."""

from __future__ import annotations

import os
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any

from clfeval.api.gated import with_gated
from clfeval.errors import ClfevalError, ExitCode, UsageError
from clfeval.history.file import append
from clfeval.history.line import Accepted, PastEntry
from clfeval.limits import Gates
from clfeval.options import taken
from clfeval.pages.suite import (
    COMPUTED,
    DOUBTFUL,
    FAILED,
    LEFT_OUT,
    MET,
    MISSED,
    READY,
    WAITS,
)
from clfeval.result import Answer, Gate, Result, Row
from clfeval.suite.entries import with_place
from clfeval.suite.inputs import Link
from clfeval.suite.keys import SAVED, in_yaml
from clfeval.suite.order import needs
from clfeval.suite.past import KeptIn
from clfeval.suite.runs import Run
from clfeval.tables.source import display_of, named
from clfeval.tables.taken import Read
from clfeval.views.files import SavedFiles, Wanted, check_names, known_table

Hear = Callable[[str], None]  # how a table was read


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a run. said: why it was not computed, or the gates it missed, line by line.

    fault: what `said` is told of where the run was at fault, by which a program hears of it.
    """

    run: Run
    state: str
    code: ExitCode
    said: tuple[str, ...] = ()
    gates: tuple[Gate, ...] = ()
    answer: tuple[Answer, ...] = ()
    rows: int | None = None
    signature: str = ""
    wrote: tuple[str, ...] = ()
    reading: tuple[Row, ...] = field(default=())
    fault: ClfevalError | None = None
    entries: tuple[PastEntry, ...] = ()  # for a history

    @property
    def missed(self) -> list[Gate]:
        """The gates it missed."""
        return [gate for gate in self.gates if gate.failed]


def carried_out(
    runs: Sequence[Run], *, dry: bool = False, fail_fast: bool = False, hear: Hear | None = None,
    history: KeptIn | None = None,
) -> Iterator[Ended]:  # fmt: skip
    """Yield what becomes of each run, in their order, when it is done.

    dry: only its table is opened. fail_fast: what comes after a failure is left out. Tables that
    other runs take are kept until the last of them has, and nothing else is. history: where the
    lines of every run that is computed are added, of all at once after the last of them; they are
    accepted, if that is asked for, where all runs are fine. Raises UsageError where it cannot be.
    """
    waiting = Counter(name for run in runs for name in needs(run))
    kept: dict[str, Result] = {}
    failed: dict[str, ExitCode] = {}
    entries: list[PastEntry] = []
    stopped = wrong = False
    for run in runs:
        lost = next((name for name in needs(run) if name in failed), None)
        if stopped:
            done = Ended(run, LEFT_OUT, ExitCode.OK, ("a run before it failed: --fail-fast",))
        elif lost is not None:
            done = Ended(run, LEFT_OUT, failed[lost], (f"run '{lost}' was not computed",))
        elif dry and isinstance(run.input, Link):
            done = Ended(run, WAITS, ExitCode.OK, (f"for run '{run.input.run}'",))
        else:
            done, result = _one(run, kept, dry=dry, hear=hear, history=history)
            if result is not None and waiting[run.name]:
                kept[run.name] = result
        if done.state in (FAILED, LEFT_OUT):
            failed[run.name] = done.code
        entries += done.entries
        wrong = wrong or done.code != ExitCode.OK
        stopped = fail_fast and wrong
        for name in needs(run):
            waiting[name] -= 1
            if not waiting[name]:
                kept.pop(name, None)
        yield replace(done, entries=())
    if history is not None and entries:
        accepted = dict.fromkeys(one.command for one in entries) if history.accept else ()
        marks = [] if wrong else [Accepted(command, history.label) for command in accepted]
        append(history.file, [*entries, *marks])


def _one(
    run: Run, kept: Mapping[str, Result], *, dry: bool, hear: Hear | None, history: KeptIn | None
) -> tuple[Ended, Result | None]:
    """Carry one run out; whatever happens in it is its outcome."""
    try:
        if dry:
            return _opened(run), None
        result, wrote, entries = _computed(run, kept, hear, history)
    except ClfevalError as error:
        in_yaml(error, run.keys, run.given)
        _place(error, run)
        return Ended(run, FAILED, error.exit_code, tuple(error.lines()), fault=error), None
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # a panic of an engine too: the fault is ours, and not of other runs
        lines = (*traceback.format_exc().splitlines(), "this is a bug in clfeval; please report it")
        return Ended(run, FAILED, ExitCode.BUG, lines), None
    gates = tuple(replace(gate, run=run.name) for gate in result.gates)
    missed = tuple(str(replace(gate, run=None)) for gate in gates if gate.failed)
    warned = (replace(gate, run=None) for gate in gates if gate.state == "warned")
    said = (*missed, *(f"warning: {gate}" for gate in warned))
    state = MISSED if missed else MET if gates else COMPUTED
    code = ExitCode.OK if result.passed else ExitCode.GATE_MISSED
    rows = sum(one.rows for one in result.inputs)
    return Ended(
        run, state, code, said, gates, result.answer, rows, result.signature, tuple(wrote),
        entries=tuple(entries),
    ), result  # fmt: skip


def _place(error: ClfevalError, run: Run) -> None:
    """Name the run's line where a message about its settings tells no place."""
    if isinstance(error, UsageError):
        error.problems = tuple(with_place(one, run.place) for one in error.problems)


def _function(run: Run) -> tuple[Any, dict[str, Any]]:
    """Return the function of a run's command, and its options."""
    word = run.command.replace("-", "_")
    function = getattr(import_module(f"clfeval.api.{word}"), word)
    known = {option.name for option in run.keys.command.options()}
    return function, {name: value for name, value in run.options.items() if name in known}


def _offered(run: Run, fixes: Mapping[str, Any]) -> str:
    """Write what a run needs beside what it says."""
    plain = ((name, [*one] if isinstance(one, tuple) else one) for name, one in fixes.items())
    pairs = ", ".join(f"{name.replace('_', '-')}: {value!r}" for name, value in plain)
    return f"at {run.place}, {pairs}"


def _group(run: Run, group: type, names: Sequence[str] = ()) -> Any:
    given = {k: v for k, v in run.options.items() if not names or k in names}
    return taken(group, given)


def _computed(
    run: Run, kept: Mapping[str, Result], hear: Hear | None, history: KeptIn | None
) -> tuple[Result, Sequence[str], Sequence[PastEntry]]:
    """Compute, judge and save a run; its files are whole, or are not there.

    Return what it found, the names of its files, and its lines for a history.
    """
    gates = _group(run, Gates)
    output = _group(run, run.keys.output, SAVED)
    check_names(run.command, output.show)
    table: Any = list(run.files) or None
    if isinstance(run.input, Link):
        before = kept[run.input.run]
        table = before.frame(known_table(before, run.input.table))
    for path in run.save:
        _make_folder(path)
    limited = gates.any
    heard: list[Read] = []
    function, options = _function(run)
    given = with_gated(run.keys.command, options, gates)

    def listen(read: Read) -> None:
        heard.append(read)
        if hear is not None:
            hear(f"{run.name}: {read.described()}")

    paths = [named(path)[1] for path in run.files]
    with SavedFiles(run.save, inputs=paths, gates=limited, said="--save ") as files:
        result = function.asked(
            table, given, listen, partial(_offered, run), truth=history is not None
        )
        if limited or gates.baseline is not None:
            from clfeval.api.baseline import table_baseline
            from clfeval.api.history import held_against
            from clfeval.gates.judge import judged

            last = heard[-1] if heard else None
            beside = table_baseline(function, table, given, gates, result, last, lambda _: None)
            against = held_against(gates, run.name, history.label if history else None)
            result = judged(result, against, beside)
        known_table(result, output.table)
        entries: Sequence[PastEntry] = ()
        if history is not None:
            from clfeval.api.history import entries_of

            entries = entries_of(result, history.label, run.name)
        wrote = files.write(result, Wanted(output.table, output.show, output.digits))
        return result, wrote, entries


def _make_folder(path: str) -> None:
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder or ".", exist_ok=True)
    except OSError as error:
        raise UsageError.of(f"cannot write '{path}': {error.strerror}", "output") from error


def _opened(run: Run) -> Ended:
    """Read a run's table as it would, and compute nothing."""
    from clfeval.gates.judge import check_ranges

    limits = _group(run, Gates).limits
    check_ranges(limits)
    function, given = _function(run)
    result = function.asked(
        list(run.files) or None, {**given, "dry_run": True}, lambda _: None, partial(_offered, run)
    )
    gates = tuple(
        Gate(
            one.kind,
            one.metric if one.part == "value" else f"{one.metric}.{one.part}",
            one.model,
            one.limit,
            None,
            True,
            run=run.name,
        )
        for one in limits
    )
    doubts = tuple(str(row["text"]) for row in result.tables["doubts"])
    state, code = (DOUBTFUL, ExitCode.DATA) if doubts else (READY, ExitCode.OK)
    reading = tuple({"run": run.name, **row} for row in result.tables["reading"])
    return Ended(run, state, code, doubts, gates, reading=reading)


def input_of(run: Run) -> str:
    """Say what a run reads, without folders."""
    if isinstance(run.input, Link):
        return f"{run.input.run}: {run.input.table or 'its first table'}"
    shown = [display_of(named(path)[1]) for path in run.files]
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")
