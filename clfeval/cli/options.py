"""Options with one meaning everywhere, declared once."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from clfeval.cli.complete import (
    complete_class,
    complete_column,
    complete_metric,
    complete_model,
    complete_table,
)

INPUT, ROLES, OUTPUT, GATES = "Input", "Columns", "Output", "Gates"


Format = Literal["table", "json", "csv", "markdown"]
InputFormat = Literal["csv", "tsv", "parquet", "arrow", "ndjson", "json"]
Layout = Literal["wide", "long", "probabilities", "counts"]
Kind = Literal["label", "score"]
Missing = Literal["error", "drop"]
Color = Literal["auto", "always", "never"]

Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE...",
        help="CSV, TSV, Parquet, Arrow IPC or NDJSON (.gz and .zst too); - is standard input; "
        "several files of one schema, or a quoted glob.",
        show_default=False,
    ),
]
InputFormatOption = Annotated[
    InputFormat | None,
    typer.Option(
        "--input-format", help="Instead of guessing by suffix or content.", rich_help_panel=INPUT
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "-d", "--delimiter", help="Of a text table; default a comma.", rich_help_panel=INPUT
    ),
]
LayoutOption = Annotated[
    Layout | None,
    typer.Option(
        "--layout", help="Instead of recognising it from the header.", rich_help_panel=INPUT
    ),
]
MissingOption = Annotated[
    Missing,
    typer.Option(
        "--missing", help="Stop at missing values, or drop their rows.", rich_help_panel=INPUT
    ),
]
NullValue = Annotated[
    list[str],
    typer.Option(
        "--null-value",
        help="Text that means missing; repeat. An empty field always does.",
        rich_help_panel=INPUT,
        show_default=False,
    ),
]
Truth = Annotated[
    str | None,
    typer.Option(
        "--truth",
        help="The true label; default the first of truth, y_true, target, actual, label, "
        "true_label.",
        rich_help_panel=ROLES,
        autocompletion=complete_column,
    ),
]
Model = Annotated[
    list[str],
    typer.Option(
        "--model",
        help="A model's name or a quoted glob; repeat. Default: all other columns.",
        rich_help_panel=ROLES,
        show_default=False,
        autocompletion=complete_model,
    ),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id", help="Names the observation.", rich_help_panel=ROLES, autocompletion=complete_column
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        help="The positive class; all others are negative. Default 1 or true.",
        rich_help_panel=ROLES,
        autocompletion=complete_class,
    ),
]
Labels = Annotated[
    list[str],
    typer.Option(
        "--labels",
        help="Declare a class truth may lack; repeat.",
        rich_help_panel=ROLES,
        show_default=False,
    ),
]
KindOption = Annotated[
    Kind | None,
    typer.Option(
        "--kind",
        help="What model columns hold; default: labels if they are truth's labels, "
        "scores if they are numbers.",
        rich_help_panel=ROLES,
    ),
]
Threshold = Annotated[
    list[str],
    typer.Option(
        "--threshold",
        metavar="T|MODEL=T",
        help="Scores at or above it are positive; repeat. Default 0.5.",
        rich_help_panel=ROLES,
        show_default=False,
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        "--weight",
        help="How often a row counts.",
        rich_help_panel=ROLES,
        autocompletion=complete_column,
    ),
]
By = Annotated[
    list[str],
    typer.Option(
        "--by",
        help="Also compute every slice of this column; repeat.",
        rich_help_panel=ROLES,
        show_default=False,
        autocompletion=complete_column,
    ),
]
FormatOption = Annotated[
    Format,
    typer.Option("-f", "--format", help="What standard output gets.", rich_help_panel=OUTPUT),
]
TableOption = Annotated[
    str | None,
    typer.Option(
        "--table",
        help="Which table CSV holds; default the first.",
        rich_help_panel=OUTPUT,
        autocompletion=complete_table,
    ),
]
Save = Annotated[
    list[str],
    typer.Option(
        "--save",
        metavar="FILE",
        help="Also write .json, .csv, .md, .html or .xml (JUnit); repeat.",
        rich_help_panel=OUTPUT,
        show_default=False,
    ),
]
Digits = Annotated[
    int,
    typer.Option(
        "--digits",
        min=0,
        max=15,
        help="Decimal places shown; files keep all.",
        rich_help_panel=OUTPUT,
    ),
]
Plot = Annotated[
    bool | None,
    typer.Option(
        "--plot/--no-plot",
        help="Draw plots; default on a terminal.",
        rich_help_panel=OUTPUT,
        show_default=False,
    ),
]
ColorOption = Annotated[
    Color,
    typer.Option(
        "--color", help="NO_COLOR and FORCE_COLOR decide for auto.", rich_help_panel=OUTPUT
    ),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "-q",
        "--quiet",
        help="No notes on standard error; missed gates are said all the same.",
        rich_help_panel=OUTPUT,
    ),
]
Verbose = Annotated[
    bool,
    typer.Option("-v", "--verbose", help="List all problems; say more.", rich_help_panel=OUTPUT),
]
FailUnder = Annotated[
    list[str],
    typer.Option(
        "--fail-under",
        metavar="[MODEL:]METRIC[.low]=VALUE",
        help="Exit 1 when below; repeat.",
        rich_help_panel=GATES,
        show_default=False,
        autocompletion=complete_metric,
    ),
]
FailOver = Annotated[
    list[str],
    typer.Option(
        "--fail-over",
        metavar="[MODEL:]METRIC[.high]=VALUE",
        help="Exit 1 when above; repeat.",
        rich_help_panel=GATES,
        show_default=False,
        autocompletion=complete_metric,
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="RESULT.json",
        help="A saved result to compare with.",
        rich_help_panel=GATES,
    ),
]
MaxDrop = Annotated[
    list[str],
    typer.Option(
        "--max-drop",
        metavar="[MODEL:]METRIC=DELTA",
        help="Exit 1 when worse than the baseline by more; repeat.",
        rich_help_panel=GATES,
        show_default=False,
        autocompletion=complete_metric,
    ),
]
