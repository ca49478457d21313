"""Options that commands share, in groups: what is read, what is shown and saved, what must hold.

Nobody compares or prints a group, and methods for that would be compiled at every start.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

import typer

from clfeval.cli import options as o
from clfeval.cli.complete import complete_column

INTERVALS, POPULATIONS = "Intervals", "Populations"
PREDICTIONS = "With --from predictions"


@dataclass(frozen=True, eq=False, repr=False)
class TableOptions:
    """How to read the table, and which column is what; named as the public functions name them."""

    input_format: o.InputFormatOption = None
    delimiter: o.Delimiter = None
    layout: o.LayoutOption = None
    missing: o.MissingOption = "error"
    null_value: o.NullValue = field(default_factory=list)
    truth: o.Truth = None
    model: o.Model = field(default_factory=list)
    id: o.Id = None
    positive: o.Positive = None
    labels: o.Labels = field(default_factory=list)
    kind: o.KindOption = None
    threshold: o.Threshold = field(default_factory=list)
    weight: o.Weight = None
    by: o.By = field(default_factory=list)


@dataclass(frozen=True, eq=False, repr=False)
class MetricOptions:
    """How to read the table, and what the columns of a prediction table are."""

    input_format: o.InputFormatOption = None
    delimiter: o.Delimiter = None
    layout: o.LayoutOption = None
    missing: Annotated[
        Literal["error", "drop"],
        typer.Option(
            "--missing",
            rich_help_panel=o.INPUT,
            help="Stop at missing values, or leave their models (or rows of predictions) out.",
        ),
    ] = "error"
    null_value: o.NullValue = field(default_factory=list)
    model: Annotated[
        list[str],
        typer.Option(
            "--model",
            rich_help_panel=o.ROLES,
            show_default=False,
            help="Rank only this model; a name or a quoted glob; repeat.",
        ),
    ] = field(default_factory=list)
    id: Annotated[
        str | None,
        typer.Option(
            "--id",
            rich_help_panel=o.ROLES,
            autocompletion=complete_column,
            help="The column that names the models; default model, classifier, ..., else the "
            "first of text.",
        ),
    ] = None
    truth: Annotated[
        str | None,
        typer.Option(
            "--truth",
            rich_help_panel=PREDICTIONS,
            autocompletion=complete_column,
            help="The true label.",
        ),
    ] = None
    positive: Annotated[
        str | None,
        typer.Option("--positive", rich_help_panel=PREDICTIONS, help="The positive class."),
    ] = None
    labels: Annotated[
        list[str],
        typer.Option(
            "--labels",
            rich_help_panel=PREDICTIONS,
            show_default=False,
            help="Declare a class truth may lack; repeat.",
        ),
    ] = field(default_factory=list)
    kind: Annotated[
        Literal["label", "score"] | None,
        typer.Option("--kind", rich_help_panel=PREDICTIONS, help="What model columns hold."),
    ] = None
    threshold: Annotated[
        list[str],
        typer.Option(
            "--threshold",
            metavar="T|MODEL=T",
            rich_help_panel=PREDICTIONS,
            show_default=False,
            help="Scores at or above it are positive; repeat. Default 0.5.",
        ),
    ] = field(default_factory=list)
    row_weight: Annotated[
        str | None,
        typer.Option(
            "--row-weight",
            metavar="COLUMN",
            rich_help_panel=PREDICTIONS,
            autocompletion=complete_column,
            help="How often a row counts.",
        ),
    ] = None


@dataclass(frozen=True, eq=False, repr=False)
class IntervalOptions:
    """Whether values come with intervals, and how sure those are."""

    interval: Annotated[
        Literal["exact", "none"],
        typer.Option(
            "--interval",
            rich_help_panel=INTERVALS,
            help="Exact (Clopper-Pearson) for shares of rows, or none at all.",
        ),
    ] = "exact"
    level: Annotated[
        float, typer.Option("--level", rich_help_panel=INTERVALS, help="Their confidence level.")
    ] = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class PopulationOptions:
    """Which other class ratios to look at."""

    prevalence: Annotated[
        list[str],
        typer.Option(
            "--prevalence",
            metavar="SHARE",
            rich_help_panel=POPULATIONS,
            show_default=False,
            help="At this share of positives: 0.005, 0.5% or 1/200; repeat.",
        ),
    ] = field(default_factory=list)
    odds: Annotated[
        list[str],
        typer.Option(
            "--odds",
            metavar="P:N",
            rich_help_panel=POPULATIONS,
            show_default=False,
            help="The same as positives:negatives, for example 1:100; repeat.",
        ),
    ] = field(default_factory=list)


@dataclass(frozen=True, eq=False, repr=False)
class OutputOptions:
    """What is printed, saved and said."""

    format: o.FormatOption = "table"
    table: o.TableOption = None
    save: o.Save = field(default_factory=list)
    digits: o.Digits = 3
    plot: o.Plot = None
    color: o.ColorOption = "auto"
    quiet: o.Quiet = False
    verbose: o.Verbose = False  # read at the boundary, where errors are printed


@dataclass(frozen=True, eq=False, repr=False)
class GateOptions:
    """What the result must keep to, else the program exits with 1."""

    fail_under: o.FailUnder = field(default_factory=list)
    fail_over: o.FailOver = field(default_factory=list)
    baseline: o.Baseline = None
    max_drop: o.MaxDrop = field(default_factory=list)
