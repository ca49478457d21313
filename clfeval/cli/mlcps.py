"""`clfeval mlcps`: many metrics, one honest ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clfeval.cli import options as o
from clfeval.cli.complete import complete_ranked
from clfeval.cli.groups import INTERVALS, GateOptions, MetricOptions, OutputOptions
from clfeval.cli.parsing import directions_of, ranges_of, thresholds_of, weights_of
from clfeval.cli.run import opened, run

if TYPE_CHECKING:
    from clfeval.result import Result

SCORE, FIRM = "Score", "How firm"
EXAMPLES = """Examples:

clfeval mlcps metrics.csv

clfeval mlcps metrics.csv --weight recall=2 --rescale mcc=-1:1 --weight-sensitivity

clfeval mlcps cv_results.csv --metric f1 --metric roc_auc --metric precision

clfeval mlcps preds.csv --from predictions --metric f1 --metric mcc --metric roc_auc

clfeval mlcps test.csv --compare train.csv

clfeval mlcps metrics.csv --desirability wishes.yaml --fail-under rf:desirability=0.5
"""

Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE...",
        help="Metrics, one row per model: CSV, TSV, Parquet, Arrow IPC, NDJSON or JSON (.gz and "
        ".zst too), cross-validation results of scikit-learn, or a result of clfeval; - is "
        "standard input; of predictions, several files of one schema, or a quoted glob.",
        show_default=False,
    ),
]


def mlcps_command(
    tables: Tables,
    source: MetricOptions,
    *,
    from_: Annotated[
        Literal["metrics", "predictions"],
        typer.Option(
            "--from",
            rich_help_panel=o.INPUT,
            help="What the table holds: metrics of models, or predictions to measure.",
        ),
    ] = "metrics",
    transpose: Annotated[
        bool,
        typer.Option(
            "--transpose", rich_help_panel=o.INPUT, help="Columns are models, rows are metrics."
        ),
    ] = False,
    metric: Annotated[
        list[str],
        typer.Option(
            "--metric",
            rich_help_panel=SCORE,
            show_default=False,
            autocompletion=complete_ranked,
            help="Score only this one; a name or a quoted glob; repeat, in the order of the rays.",
        ),
    ] = [],  # noqa: B006
    weight: Annotated[
        list[str],
        typer.Option(
            "--weight",
            metavar="METRIC=W|FILE.yaml",
            rich_help_panel=SCORE,
            show_default=False,
            help="Times this weight (default 1; 0 leaves the metric out); repeat.",
        ),
    ] = [],  # noqa: B006
    zero_weight: Annotated[
        Literal["drop", "ray"],
        typer.Option(
            "--zero-weight",
            rich_help_panel=SCORE,
            help="Weight 0 drops the metric, or keeps a ray of length 0 as the R package does.",
        ),
    ] = "drop",
    direction: Annotated[
        list[str],
        typer.Option(
            "--direction",
            metavar="METRIC=max|min",
            rich_help_panel=SCORE,
            show_default=False,
            help="Which way is better, where the name does not say it; repeat.",
        ),
    ] = [],  # noqa: B006
    rescale: Annotated[
        list[str],
        typer.Option(
            "--rescale",
            metavar="METRIC=LOW:HIGH",
            rich_help_panel=SCORE,
            show_default=False,
            help="Map this range to 0..1, for example mcc=-1:1; repeat.",
        ),
    ] = [],  # noqa: B006
    desirability: Annotated[
        str | None,
        typer.Option(
            "--desirability",
            metavar="FILE.yaml",
            rich_help_panel=SCORE,
            help="Rank by what is wanted of each metric: maximize, minimize, target, box, custom.",
        ),
    ] = None,
    weight_sensitivity: Annotated[
        bool,
        typer.Option(
            "--weight-sensitivity",
            rich_help_panel=FIRM,
            help="Who is first under random weights, and the least change that dethrones.",
        ),
    ] = False,
    draws: Annotated[
        int | None,
        typer.Option("--draws", rich_help_panel=FIRM, help="Random weights to draw, 10,000."),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            "--compare",
            metavar="OTHER",
            rich_help_panel=FIRM,
            help="A second table of the same models, such as training: do they rank alike?",
        ),
    ] = None,
    interval: Annotated[
        Literal["bootstrap", "none"],
        typer.Option(
            "--interval",
            rich_help_panel=INTERVALS,
            help="Of predictions: resample the rows, the same for all models, or do not.",
        ),
    ] = "bootstrap",
    level: Annotated[
        float, typer.Option("--level", rich_help_panel=INTERVALS, help="Their confidence level.")
    ] = 0.95,
    resamples: Annotated[
        int | None,
        typer.Option(
            "--resamples", rich_help_panel=INTERVALS, help="Default 1000, fewer for many rows."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", rich_help_panel=INTERVALS, help="Of all that is drawn.")
    ] = 0,
    output: OutputOptions,
    gates: GateOptions,
) -> None:
    """Fold many metrics into one score, and tell how firm the ranking is."""

    def compute() -> Result:
        from clfeval.api.mlcps import mlcps

        return mlcps(
            list(tables),
            **vars(source) | {"threshold": thresholds_of(source.threshold)},
            source=from_,
            metric=metric,
            transpose=transpose,
            weight=weights_of(weight),
            zero_weight=zero_weight,
            direction=directions_of(direction),
            rescale=ranges_of(rescale),
            desirability=desirability,
            compare=compare,
            weight_sensitivity=weight_sensitivity,
            draws=draws,
            interval=interval,
            level=level,
            resamples=resamples,
            seed=seed,
            on_open=opened(output),
        )

    run([*tables, *([compare] if compare else [])], output, gates, compute)
