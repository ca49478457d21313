"""`clfeval mars`: what each classifier finds or misses that the others do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clfeval.cli import options as o
from clfeval.cli.output import SavedFiles, note, print_result, screen_for, stdout_pieces
from clfeval.cli.parsing import count_of, groups_of, thresholds_of
from clfeval.cli.progress import stop_at_once, waiting
from clfeval.errors import ExitCode

if TYPE_CHECKING:
    from clfeval.tables.prediction import Predictions

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
Interval = Literal["exact", "none"]
Sweep = Literal["threshold", "top"]


def mars_command(
    tables: o.Tables,
    input_format: o.InputFormatOption = None,
    delimiter: o.Delimiter = None,
    layout: o.LayoutOption = None,
    missing: o.MissingOption = "error",
    null_value: o.NullValue = [],  # noqa: B006
    truth: o.Truth = None,
    model: o.Model = [],  # noqa: B006
    id: o.Id = None,  # noqa: A002
    positive: o.Positive = None,
    labels: o.Labels = [],  # noqa: B006
    kind: o.KindOption = None,
    threshold: o.Threshold = [],  # noqa: B006
    weight: o.Weight = None,
    by: o.By = [],  # noqa: B006
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
    interval: Annotated[
        Interval,
        typer.Option(
            "--interval",
            rich_help_panel=ANALYSIS,
            help="Exact (Clopper-Pearson) intervals, or none.",
        ),
    ] = "exact",
    level: Annotated[
        float,
        typer.Option("--level", rich_help_panel=ANALYSIS, help="Confidence level of intervals."),
    ] = 0.95,
    format: o.FormatOption = "table",  # noqa: A002
    table: o.TableOption = "models",
    save: o.Save = [],  # noqa: B006
    digits: o.Digits = 3,
    plot: o.Plot = None,
    color: o.ColorOption = "auto",
    fail_under: o.FailUnder = [],  # noqa: B006
    fail_over: o.FailOver = [],  # noqa: B006
    baseline: o.Baseline = None,
    max_drop: o.MaxDrop = [],  # noqa: B006
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Show what each classifier finds or misses that the others do not.

    ShineThrough of a model: of the positives that some model finds, the share that it alone finds.
    Occlusion: the share that it misses and every other model finds.
    """  # fmt: skip
    del verbose  # read at the boundary, where errors are printed
    from clfeval.cli.gating import finished, limits_of, missed_gates

    limits = limits_of(fail_under, fail_over, max_drop, baseline)
    screen = screen_for(color=color, plot=plot, digits=digits)
    with SavedFiles(save, inputs=tables, gates=bool(limits)) as files:
        with waiting(tables):
            from clfeval.api import mars

            stop_at_once()
            result = mars(
                tables,
                truth=truth, model=model, id=id, positive=positive, labels=labels,
                kind=kind,
                threshold=thresholds_of(threshold),
                weight=weight, by=by, missing=missing, null_value=null_value,
                layout=layout,
                input_format=input_format,
                delimiter=delimiter,
                target=target, occlusion=occlusion, level=level,
                interval=interval,
                subsets=count_of("subsets", subsets), best=best, max_effort=max_effort,
                top=top, sweep=sweep,
                points=count_of("points", points),
                lists=list_,  # checked there, with all else
                groups=groups_of(group),
                on_open=None if quiet else _say_columns,
            )  # fmt: skip
        result = finished(result, limits, baseline)
        written = files.write(result, table=table, digits=digits)
        pieces = stdout_pieces(result, format, table=table, screen=screen)
        print_result(pieces, for_people=format == "table")
    if not quiet:
        for warning in result.warnings if format != "table" else ():
            note(f"note: {warning.message} [{warning.code}]")
        for name in written:
            note(f"wrote {name}")
    if format != "table" or not screen.tty:  # whoever watches has read them in the table
        for line in missed_gates(result):
            note(line)
    if not result.passed:
        raise typer.Exit(int(ExitCode.GATE_MISSED))


def _say_columns(predictions: Predictions) -> None:
    note(predictions.described())
