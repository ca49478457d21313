"""`clfeval report --config suite.yaml`: a batch of runs, in the place of one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any

from clfeval.cli.output import Output, note, print_result
from clfeval.cli.run import run, unsaid
from clfeval.errors import ExitCode, bad_option
from clfeval.history.options import History
from clfeval.limits import Gates
from clfeval.options import Command, Opt, options_of, taken

if TYPE_CHECKING:
    from clfeval.result import Result
    from clfeval.suite.running import Ended

BATCHES = "Batches"  # panel
SAID = 5  # lines of one run on standard error, unless all are asked for


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Batch:
    """Which batch, which of its runs, and what happens when one fails."""

    config: Annotated[
        tuple[str, ...],
        Opt("Runs of a YAML file in place of a table; repeat: the later file wins.", BATCHES,
            metavar="SUITE.yaml", common=True, instead=True),
    ] = ()  # fmt: skip
    variables: Annotated[
        tuple[str, ...],
        Opt("A variable of the batch; repeat.", BATCHES, flags=("--set",), metavar="NAME=VALUE"),
    ] = ()
    only: Annotated[
        tuple[str, ...],
        Opt("Runs of this name or quoted glob, and those they take tables of; repeat.", BATCHES,
            metavar="NAME"),
    ] = ()  # fmt: skip
    fail_fast: Annotated[
        bool,
        Opt("Stop at the first run that fails, or go on to the last.", BATCHES,
            flags=("--fail-fast/--keep-going",)),
    ] = False  # fmt: skip
    print_schema: Annotated[
        bool, Opt("Print the JSON Schema of such YAML files, and leave.", BATCHES, instead=True)
    ] = False

    def check(self) -> None:
        """Refuse what is of a batch where there is none; UsageError."""
        for flag, given in (("--set", self.variables), ("--only", self.only)):
            if given and not self.config:
                raise bad_option(f"{flag} is of a batch: add --config SUITE.yaml")


def batch_of(command: Command, tables: Sequence[str], given: Mapping[str, Any]) -> bool:
    """Carry a batch out if one is asked for; UsageError for what it takes no other way."""
    batch = taken(Batch, given)
    if batch.print_schema:
        from clfeval.suite.schema import suite_schema

        print_result([dumps(suite_schema(Output), indent=1, ensure_ascii=False), "\n"],
                     for_people=False)  # fmt: skip
        return True
    if not batch.config:
        return False
    if tables:
        raise bad_option("--config says which tables are read", "leave the tables out")
    for option in (*command.options(), *options_of(Gates)):
        if option.field != "dry_run" and not unsaid(option, given[option.name]):
            what = f"{option.flag} is of one run, and --config has several"
            raise bad_option(what, f"write {option.flag[2:]} into the file, under defaults")
    for name in ("append", "history"):
        if given[name] is not None:
            raise bad_option(f"--{name} is of one run", "write history: FILE into the file")
    _carried_out(batch, taken(Output, given), given)
    return True


def _carried_out(batch: Batch, output: Output, given: Mapping[str, Any]) -> None:
    """Run the batch as a command is run: files opened first, the result printed once."""
    from clfeval.pages import SUITE
    from clfeval.suite.plan import planned
    from clfeval.suite.result import suite_result
    from clfeval.suite.running import carried_out

    dry = bool(given["dry_run"])
    plan = planned(
        batch.config, Output, variables=batch.variables, only=batch.only, label=given["label"],
        accept=bool(given["accept"]),
    )  # fmt: skip
    total = len(plan.runs)

    def compute() -> Result:
        outcomes = []
        hear = note if output.verbose else None
        runs = carried_out(
            plan.runs, dry=dry, fail_fast=batch.fail_fast, hear=hear, history=plan.history
        )
        for number, one in enumerate(runs, start=1):
            _say(f"[{number}/{total}] ", one, output)
            # what is big is not kept: the result has its first lines
            outcomes.append(replace(one, said=one.said[:KEPT]))
        return suite_result(plan, outcomes, dry=dry)

    read = [path for one in plan.runs for path in one.files]
    run(
        SUITE,
        [*batch.config, *read],
        output,
        Gates(),
        compute,
        history=History(),
        dry=dry,
        batch=True,
    )


KEPT = 100  # lines of one run that its row, or the table of problems, may show


def _say(head: str, one: Ended, output: Output) -> None:
    """Say how a run ended: one line, and below it what is wrong with it."""
    name = one.run.name
    fine = not one.code
    if fine and output.quiet:
        return
    said = one.said[: None if output.verbose else SAID]
    if one.code == ExitCode.GATE_MISSED:
        left = len(one.said) - len(said)
        more = f"; {left:,} more" if left else ""
        note(f"{head}{name}: gate missed: {'; '.join(said)}{more}")
        return
    words = one.said[0] if fine and one.said else ""
    note(f"{head}{name}: {one.state}{' ' if words else ''}{words}")
    if not fine:
        note(*(f"{name}: {line}" for line in (one.said if one.code == ExitCode.BUG else said)))
    if output.verbose:
        note(*(f"{name}: wrote {path}" for path in one.wrote))
