"""`clfeval phidelta`: classifiers, runs and features in the phi-delta diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from clfeval.cli import options as o
from clfeval.cli.complete import complete_column, complete_model
from clfeval.cli.groups import (
    GateOptions,
    IntervalOptions,
    OutputOptions,
    PopulationOptions,
    TableOptions,
)
from clfeval.cli.parsing import count_of, cut_of, isometrics_of, only_one, shares_of
from clfeval.cli.run import arguments_of, run

if TYPE_CHECKING:
    from clfeval.result import Result

PLANE, CLASSIFIERS, FEATURES = "Diamond", "Classifiers and runs", "Features"
EXAMPLES = """Examples:

clfeval phidelta preds.csv --positive malignant --reference logreg

clfeval phidelta scores.parquet --curve --odds 1:100 --isometrics precision=0.5,0.8

clfeval phidelta cv.csv --run fold --train-fraction 0.8

clfeval phidelta table.csv --features --truth outcome --cut best --select --top 20

clfeval phidelta terms.parquet --features --truth-table classes.csv -f csv > features.csv
"""


def phidelta_command(
    tables: o.Tables,
    source: TableOptions,
    populations: PopulationOptions,
    *,
    isometrics: Annotated[
        list[str],
        typer.Option(
            "--isometrics",
            metavar="MEASURE=V,V",
            rich_help_panel=PLANE,
            show_default=False,
            help="Lines of equal sensitivity, specificity, accuracy, precision, npv or "
            "mutual_information; repeat.",
        ),
    ] = [],  # noqa: B006
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference",
            metavar="MODEL",
            rich_help_panel=CLASSIFIERS,
            autocompletion=complete_model,
            help="Compare the others with it, on the same rows or runs.",
        ),
    ] = None,
    curve: Annotated[
        bool,
        typer.Option(
            "--curve",
            rich_help_panel=CLASSIFIERS,
            help="Every threshold: the ROC curve in the diamond, Gini, largest δ, break-even.",
        ),
    ] = False,
    points: Annotated[
        str | None,
        typer.Option(
            "--points",
            metavar="N|all",
            rich_help_panel=CLASSIFIERS,
            help="How many points of a curve are listed; default up to 500.",
        ),
    ] = None,
    run_: Annotated[
        list[str],
        typer.Option(
            "--run",
            metavar="COLUMN",
            rich_help_panel=CLASSIFIERS,
            show_default=False,
            autocompletion=complete_column,
            help="Rows are of several runs, told apart by this column.",
        ),
    ] = [],  # noqa: B006
    run_files: Annotated[
        bool,
        typer.Option("--run-files", rich_help_panel=CLASSIFIERS, help="Every file is a run."),
    ] = False,
    train_fraction: Annotated[
        float | None,
        typer.Option(
            "--train-fraction",
            metavar="F",
            rich_help_panel=CLASSIFIERS,
            help="Share of rows each run was trained on: corrected intervals and tests.",
        ),
    ] = None,
    features: Annotated[
        bool,
        typer.Option(
            "--features",
            rich_help_panel=FEATURES,
            help="Columns are features, or rows are entries row, feature[, value].",
        ),
    ] = False,
    feature: Annotated[
        list[str],
        typer.Option(
            "--feature",
            rich_help_panel=FEATURES,
            show_default=False,
            autocompletion=complete_column,
            help="A feature's name or a quoted glob; repeat. Default: all.",
        ),
    ] = [],  # noqa: B006
    truth_table: Annotated[
        str | None,
        typer.Option(
            "--truth-table",
            metavar="FILE",
            rich_help_panel=FEATURES,
            help="The class of each row of a sparse table.",
        ),
    ] = None,
    cut: Annotated[
        str | None,
        typer.Option(
            "--cut",
            metavar="median|mean|best|soft|VALUE",
            rich_help_panel=FEATURES,
            help="Where a numeric feature turns true; default median.",
        ),
    ] = None,
    select: Annotated[
        bool,
        typer.Option(
            "--select",
            rich_help_panel=FEATURES,
            help="Keep features that discriminate, best first.",
        ),
    ] = False,
    phi_max: Annotated[
        float | None,
        typer.Option(
            "--phi-max", rich_help_panel=FEATURES, help="Select |φ| below this; default 0.95."
        ),
    ] = None,
    delta_min: Annotated[
        float | None,
        typer.Option(
            "--delta-min",
            rich_help_panel=FEATURES,
            help="Select |φ| + |δ|/this of 1 or more; default 0.1.",
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top", metavar="N", rich_help_panel=FEATURES, help="Select at most N features."
        ),
    ] = None,
    intervals: IntervalOptions,
    output: OutputOptions,
    gates: GateOptions,
) -> None:
    """Show how well classifiers or features discriminate (δ), and which way they lean (φ)."""

    def compute() -> Result:
        from clfeval.api.phidelta import phidelta

        return phidelta(
            tables,
            **arguments_of(source, output),
            **vars(intervals),
            prevalence=shares_of("--prevalence", populations.prevalence),
            odds=populations.odds,
            isometrics=isometrics_of(isometrics),
            reference=reference,
            curve=curve,
            points=count_of("points", points),
            run=only_one("--run", run_),
            run_files=run_files,
            train_fraction=train_fraction,
            features=features,
            feature=feature,
            truth_table=truth_table,
            cut=cut_of(cut),
            select=select,
            phi_max=phi_max,
            delta_min=delta_min,
            top=top,
        )

    read = tables if truth_table is None else [*tables, truth_table]
    run(read, output, gates, compute)
