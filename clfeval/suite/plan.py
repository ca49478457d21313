"""A batch as it is going to run: everything that can be refused without a table is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clfeval.document import InputFile
from clfeval.errors import UsageError
from clfeval.suite.ahead import check_ahead
from clfeval.suite.entries import Node, Wrong
from clfeval.suite.order import check_links, chosen, ordered
from clfeval.suite.past import KeptIn, kept_in
from clfeval.suite.reading import as_inputs, read_declared
from clfeval.suite.running import check_tables
from clfeval.suite.runs import Run, runs_of
from clfeval.suite.saving import check_kept
from clfeval.suite.variables import given_in_shell


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs in their order, and the files that say so."""

    runs: tuple[Run, ...]
    inputs: tuple[InputFile, ...]
    history: KeptIn | None = None


def planned(
    names: Sequence[str], output: type, *, variables: Sequence[str] = (), only: Sequence[str] = (),
    label: str | None = None, accept: bool = False,
) -> Plan:  # fmt: skip
    """Return the plan of YAML files, later ones overriding keys of earlier ones.

    output: the group of options of saving. variables: `NAME=VALUE`, overriding those of files.
    only: names or patterns of runs. label, accept: of the history. Raises UsageError with all
    problems, each with file, line and column.
    """
    wrong = Wrong()
    sheet = read_declared(names, given_in_shell(variables), wrong)
    runs = runs_of(sheet, output, wrong)
    for run in runs:
        check_ahead(run, wrong)
    check_links(runs, {*sheet.runs} - {run.group for run in runs}, wrong)
    history = None
    if sheet.history or len(sheet.files) == len(names):  # a file that is not read may have one
        history = kept_in(sheet.history, label, wrong, accept=accept)
    saved: dict[str, Node] = {path: run.given["save"] for run in runs for path in run.save}
    read = dict.fromkeys(path for run in runs for path in (*run.reads, *run.wide))
    check_kept(saved, [*names, *read], wrong)
    check_kept(saved, [history.file] if history else [], wrong)
    if wrong.parts:
        try:
            check_tables(chosen(runs, only), wrong)
        except UsageError as error:
            wrong.take(error)
    wrong.stop()
    chosen_runs = ordered(runs, only)
    return Plan(tuple(chosen_runs), as_inputs(sheet, len(chosen_runs)), history)
