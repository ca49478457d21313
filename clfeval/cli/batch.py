"""`clfeval batch suite.yaml`: the runs of a file, one after the other."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any

from clfeval.cli.faults import bug_line, error_lines, gate_lines, wants_json
from clfeval.cli.output import Output, print_notes, print_result
from clfeval.cli.run import run_command
from clfeval.cli.trend import acceptance_note
from clfeval.errors import ExitCode, bad_option
from clfeval.history.options import HistoryOptions
from clfeval.limits import Gates
from clfeval.options import Command, Opt, build_group
from clfeval.pages import SUITE
from clfeval.tables.source import split_named_path
from clfeval.words import format_count

if TYPE_CHECKING:
    from clfeval.document import Document
    from clfeval.suite.running import RunOutcome
    from clfeval.views.annotate import Finding

BATCHES = "Batches"  # panel
MAX_RUN_LINES = 5  # lines of one run on standard error, unless all are asked for


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BatchOptions:
    """Which batch, which of its runs, and what happens when one fails."""

    variables: Annotated[
        tuple[str, ...],
        Opt("Set a variable; repeat.", BATCHES, flags=("--set",), metavar="NAME=VALUE"),
    ] = ()  # fmt: skip
    only: Annotated[
        tuple[str, ...],
        Opt("Run only runs of this name or pattern; repeat.", BATCHES,
            metavar="NAME"),
    ] = ()  # fmt: skip
    fail_fast: Annotated[bool, Opt("Stop at the first run that fails.", BATCHES)] = False
    dry_run: Annotated[bool, Opt("Check everything and compute nothing.", BATCHES)] = False
    label: Annotated[
        str | None,
        Opt("Label of the appended results: a week, a commit.", BATCHES),
    ] = None
    accept: Annotated[bool, Opt("Accept the new results unless a gate is missed.", BATCHES)] = False
    print_schema: Annotated[
        bool, Opt("Print the JSON Schema of a batch file and exit.", BATCHES)
    ] = False


BATCH = Command(
    "batch",
    (BatchOptions,),
    have="a YAML file of runs",
    want="all runs, with gates and history",
    help="Run the commands of a YAML file and check their gates.",
    examples="""clfeval batch suite.yaml
clfeval batch suite.yaml --only weekly --set out=results
clfeval batch suite.yaml production.yaml --dry-run
clfeval batch --print-schema > suite.schema.json
""",
    tables="YAML files; a later file replaces keys of earlier ones.",
    optional=True,
    files="SUITE.yaml",
    brief="set only fail-fast dry-run label accept print-schema show save quiet",
)


def run_batch(_: Command, files: Sequence[str], given: Mapping[str, Any]) -> None:
    """Run the batch as a command is run: files opened first, the result printed once."""
    from clfeval.suite.plan import build_plan
    from clfeval.suite.result import MAX_OUTCOME_LINES, suite_result
    from clfeval.suite.running import execute_runs

    batch, output = build_group(BatchOptions, given), build_group(Output, given)
    if batch.print_schema:
        from clfeval.suite.schema import suite_schema

        print_result([dumps(suite_schema(Output), indent=1, ensure_ascii=False), "\n"],
                     for_people=False)  # fmt: skip
        return
    if not files:
        raise bad_option("batch needs a YAML file", "run clfeval batch suite.yaml")
    dry = batch.dry_run
    plan = build_plan(
        files, Output, variables=batch.variables, only=batch.only, label=batch.label,
        accept=batch.accept,
    )  # fmt: skip
    total = len(plan.runs)

    found: list[Finding] = []

    def compute() -> Document:
        outcomes = []
        hear = print_notes if output.verbose else None
        runs = execute_runs(
            plan.runs, dry=dry, fail_fast=batch.fail_fast, hear=hear, history=plan.history
        )
        for number, one in enumerate(runs, start=1):
            _print_outcome(f"[{number}/{total}] ", one, output)
            if output.annotate:
                found.extend(_findings(one, files[-1]))
            # what is big is not kept: the result has its first lines
            outcomes.append(replace(one, said=one.said[:MAX_OUTCOME_LINES], fault=None))
        if plan.history is not None and plan.history.accept and not (dry or output.quiet):
            fine = not any(one.code for one in outcomes)
            print_notes(acceptance_note(plan.history.file, plan.history.label, accepted=fine))
        return suite_result(plan, outcomes, dry=dry)

    others = [path for one in plan.runs for path in (*one.reads, *one.wide, *one.save)]
    others += [plan.history.file] if plan.history else []
    run_command(
        SUITE,
        [*files, *dict.fromkeys(others)],
        output,
        Gates(),
        compute,
        history=HistoryOptions(),
        dry=dry,
        found=found,
    )


def _findings(one: RunOutcome, config: str) -> list[Finding]:
    """Return what a CI server is to hear of a run; what has no file stands in the YAML file."""
    from clfeval.views.annotate import bug_findings, error_findings, gate_findings

    tables = (split_named_path(path)[1] for path in one.run.files)
    found = gate_findings(one.gates, [*filter(os.path.isfile, tables), config], ())
    if one.fault is not None:
        found += error_findings(one.fault)
    elif one.code == ExitCode.BUG:
        found += bug_findings(one.said[:-1])
    return found


def _json_lines(one: RunOutcome) -> list[str]:
    """Return what is wrong with a run as a program reads it."""
    name = one.run.name
    if one.fault is not None:
        return error_lines(one.fault, run=name)
    if one.code == ExitCode.BUG:
        return [bug_line(one.said[:-1], one.said[-1], run=name)]
    return gate_lines([replace(gate, run=None) for gate in one.gates], run=name)


def _print_outcome(head: str, one: RunOutcome, output: Output) -> None:
    """Say how a run ended: one line, and below it what is wrong with it."""
    from clfeval.pages.suite import DOUBTFUL, FAILED, MET, WAITS, WARNED

    name, fine, failed = one.run.name, not one.code, one.state in (FAILED, DOUBTFUL)
    said = one.said if output.verbose or one.code == ExitCode.BUG else one.said[:MAX_RUN_LINES]
    if not output.quiet or not (fine or wants_json()):
        words = f" ({one.run.place})" if failed else ""
        if said and not failed and (fine or not wants_json()):
            shown = said[:1] if fine and not output.verbose else said
            left = len(one.said) - len(shown)
            words = f"{' ' if one.state == WAITS else ': '}{'; '.join(shown)}"
            words += f"; {left:,} more" if left else ""
        state = (
            f"{MET}, {format_count(one.warned, 'warning')}" if one.state == WARNED else one.state
        )
        print_notes(f"{head}{name}: {state}{words}")
    if wants_json():
        print_notes(*_json_lines(one))
    elif failed:
        print_notes(*(f"{name}: {line}" for line in said))
    if output.verbose:
        print_notes(*(f"{name}: wrote {path}" for path in one.wrote))
