"""A batch as it is going to run: everything that can be refused without a table is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clfeval.document import InputFile
from clfeval.errors import UsageError
from clfeval.suite.ahead import check_without_table
from clfeval.suite.entries import BatchErrors, Node
from clfeval.suite.order import check_links, order_runs, select_runs
from clfeval.suite.past import HistoryTarget, read_history_target
from clfeval.suite.reading import input_files, read_declaration
from clfeval.suite.running import check_tables
from clfeval.suite.runs import Run, build_runs
from clfeval.suite.saving import check_overwrites
from clfeval.suite.variables import variables_from_shell


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs in their order, and the files that say so."""

    runs: tuple[Run, ...]
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
    if sheet.history or len(sheet.files) == len(names):  # a file that is not read may have one
        history = read_history_target(sheet.history, label, wrong, accept=accept)
    saved: dict[str, Node] = {path: run.given["save"] for run in runs for path in run.save}
    read = dict.fromkeys(path for run in runs for path in (*run.reads, *run.wide))
    check_overwrites(saved, [*names, *read], wrong)
    check_overwrites(saved, [history.file] if history else [], wrong)
    if wrong.parts:
        try:
            check_tables(select_runs(runs, only), wrong)
        except UsageError as error:
            wrong.take(error)
    wrong.stop()
    chosen_runs = order_runs(runs, only)
    return Plan(tuple(chosen_runs), input_files(sheet, len(chosen_runs)), history)
