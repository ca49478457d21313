"""What only a command line asks for: what is printed and saved, and what must hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from clfeval.options import Opt

OUTPUT, GATES = "Output", "Gates"  # panels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Output:
    """What is printed, saved and said."""

    format: Annotated[
        Literal["table", "json", "csv", "markdown"],
        Opt("What standard output gets.", OUTPUT, flags=("-f", "--format")),
    ] = "table"
    table: Annotated[
        str | None, Opt("Which table CSV holds; default the first.", OUTPUT, completes="table")
    ] = None
    save: Annotated[
        tuple[str, ...],
        Opt("Also write .json, .csv, .md, .html or .xml (JUnit); repeat.", OUTPUT, metavar="FILE"),
    ] = ()
    digits: Annotated[
        int, Opt("Decimal places shown; files keep all.", OUTPUT, least=0, most=15)
    ] = 3
    plot: Annotated[
        bool | None,
        Opt("Draw plots; default on a terminal.", OUTPUT, flags=("--plot/--no-plot",)),
    ] = None
    color: Annotated[
        Literal["auto", "always", "never"], Opt("NO_COLOR and FORCE_COLOR decide for auto.", OUTPUT)
    ] = "auto"
    quiet: Annotated[
        bool,
        Opt("No notes on standard error; missed gates are said all the same.", OUTPUT,
            flags=("-q", "--quiet")),
    ] = False  # fmt: skip
    verbose: Annotated[  # read at the boundary, where errors are printed
        bool, Opt("List all problems; say more.", OUTPUT, flags=("-v", "--verbose"))
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Gates:
    """What the result must keep to, else the program exits with 1."""

    fail_under: Annotated[
        tuple[str, ...],
        Opt("Exit 1 when below; repeat.", GATES, metavar="[MODEL:]METRIC[.low]=VALUE",
            completes="metric"),
    ] = ()  # fmt: skip
    fail_over: Annotated[
        tuple[str, ...],
        Opt("Exit 1 when above; repeat.", GATES, metavar="[MODEL:]METRIC[.high]=VALUE",
            completes="metric"),
    ] = ()  # fmt: skip
    baseline: Annotated[
        str | None, Opt("A saved result to compare with.", GATES, metavar="RESULT.json")
    ] = None
    max_drop: Annotated[
        tuple[str, ...],
        Opt("Exit 1 when worse than the baseline by more; repeat.", GATES,
            metavar="[MODEL:]METRIC=DELTA", completes="metric"),
    ] = ()  # fmt: skip
