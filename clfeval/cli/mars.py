"""`clfeval mars`: what each classifier finds or misses that the others do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clfeval.cli import options as o
from clfeval.cli.groups import GateOptions, IntervalOptions, OutputOptions, TableOptions
from clfeval.cli.parsing import count_of, groups_of
from clfeval.cli.run import arguments_of, run

if TYPE_CHECKING:
    from clfeval.result import Result

ANALYSIS = "Analysis"
EXAMPLES = """Examples:

clfeval mars preds.csv --positive malignant

clfeval mars scores.parquet --threshold 0.3 --subsets 2 --best 3

cat preds.csv | clfeval mars - -f json | jq .tables.models

clfeval mars preds.csv --list found -f csv --table exclusive

clfeval mars preds.csv --fail-under 'new:shine_through.low=0.01'
"""


Rule = Literal["all", "any"]
Target = Literal["positive", "negative"]
Sweep = Literal["threshold", "top"]


def mars_command(
    tables: o.Tables,
    source: TableOptions,
    *,
    occlusion: Annotated[
        Rule,
        typer.Option(
            "--occlusion",
            rich_help_panel=ANALYSIS,
            help="A miss counts when all, or any, of the others find it.",
        ),
    ] = "all",
    target: Annotated[
        Target,
        typer.Option("--target", rich_help_panel=ANALYSIS, help="Count finds of this class."),
    ] = "positive",
    group: Annotated[
        list[str],
        typer.Option(
            "--group",
            metavar="NAME=A,B",
            rich_help_panel=ANALYSIS,
            show_default=False,
            help="Treat models as one that finds what any of them finds; repeat.",
        ),
    ] = [],  # noqa: B006
    subsets: Annotated[
        str | None,
        typer.Option(
            "--subsets",
            metavar="K|all",
            rich_help_panel=ANALYSIS,
            help="Every subset of up to K models.",
        ),
    ] = None,
    best: Annotated[
        int | None,
        typer.Option(
            "--best",
            metavar="K",
            rich_help_panel=ANALYSIS,
            help="The subsets of 1..K models that find most, with the gain of each step.",
        ),
    ] = None,
    max_effort: Annotated[
        float | None,
        typer.Option(
            "--max-effort",
            metavar="N",
            rich_help_panel=ANALYSIS,
            help="The subset that finds most while claiming at most N rows.",
        ),
    ] = None,
    top: Annotated[
        str | None,
        typer.Option(
            "--top",
            metavar="FRACTION|COUNT",
            rich_help_panel=ANALYSIS,
            help="Positive are each model's own top rows: 200, 0.05 or 5%.",
        ),
    ] = None,
    sweep: Annotated[
        Sweep | None,
        typer.Option(
            "--sweep",
            rich_help_panel=ANALYSIS,
            help="The measures at every cut of the scores, or of the ranks.",
        ),
    ] = None,
    points: Annotated[
        str | None,
        typer.Option(
            "--points",
            metavar="N|all",
            rich_help_panel=ANALYSIS,
            help="How many cuts a sweep lists; default all up to 2000.",
        ),
    ] = None,
    list_: Annotated[
        list[str],
        typer.Option(
            "--list",
            metavar="found|missed",
            rich_help_panel=ANALYSIS,
            show_default=False,
            help="List what one model alone finds, or misses; repeat.",
        ),
    ] = [],  # noqa: B006
    intervals: IntervalOptions,
    output: OutputOptions,
    gates: GateOptions,
) -> None:
    """Show what each classifier finds or misses that the others do not.

    ShineThrough of a model: of the positives that some model finds, the share that it alone finds.
    Occlusion: the share that it misses and every other model finds.
    """  # fmt: skip

    def compute() -> Result:
        from clfeval.api.mars import mars

        return mars(
            tables, **arguments_of(source, output),
            **vars(intervals), target=target, occlusion=occlusion,
            subsets=count_of("subsets", subsets), best=best, max_effort=max_effort,
            top=top, sweep=sweep,
            points=count_of("points", points),
            lists=list_,  # checked there, with all else
            groups=groups_of(group),
        )  # fmt: skip

    run(tables, output, gates, compute)
