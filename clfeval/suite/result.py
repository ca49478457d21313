"""The result of a batch: small tables over all runs, not the runs' own, to limit memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import zip_longest

from clfeval import __version__
from clfeval.document import Answer, Document, ResultNote, Row, short_answer
from clfeval.errors import ExitCode, list_names
from clfeval.formatting import format_count
from clfeval.pages.batches import DOUBTFUL, FAILED, LEFT_OUT, MET, MISSED, WARNED
from clfeval.pages.schema import SUITE
from clfeval.suite.keys import names_a_file
from clfeval.suite.running import Plan, RunOutcome, describe_input, display_path
from clfeval.suite.runs import RunLink
from clfeval.tables.input import split_path

GATE_COLUMNS = "kind metric model slice limit limit_text value among severity state passed reason"
MAX_OUTCOME_LINES = 100  # lines of errors of one run, at most


def suite_result(plan: Plan, outcomes: Sequence[RunOutcome], *, dry: bool) -> Document:
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
            for one in outcomes for said in one.answer
        ]  # fmt: skip
    tables["gates"] = [row for one in outcomes for row in _gates(one)]
    tables["problems"] = [
        {"run": one.run.name, "text": line}
        for one in outcomes if one.state in (FAILED, LEFT_OUT,
                                             DOUBTFUL) for line in one.said[:MAX_OUTCOME_LINES]
    ]  # fmt: skip
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
    )


def _row(one: RunOutcome) -> Row:
    said = one.said[0] if one.said else short_answer(one.answer)
    return {
        "run": one.run.name, "command": one.run.command, "input": describe_input(one.run) or None,
        "state": one.state, "code": int(one.code), "rows": one.rows, "gates": len(one.gates),
        "missed": len(one.missed_gates), "warnings": one.warned, "answer": said or None,
    }  # fmt: skip


def _gates(one: RunOutcome) -> list[Row]:
    """Return rows of the gates of a run; of a dry run as requested."""
    rows: list[Row] = []
    for gate, text in zip_longest(one.gates, one.written):
        row = {name: getattr(gate, name) for name in GATE_COLUMNS.split()}
        row |= {"state": None, "passed": None} if text else {}
        text = text or str(replace(gate, run=None))
        rows.append({"run": one.run.name, **row, "text": text})
    return rows


def _files(one: RunOutcome, plan: Plan) -> list[Row]:
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
