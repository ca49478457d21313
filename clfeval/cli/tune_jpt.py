"""`clfeval tune-jpt`: the same classifiers in another population."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clfeval.cli.complete import complete_measure
from clfeval.cli.groups import (
    INTERVALS,
    POPULATIONS,
    GateOptions,
    IntervalOptions,
    OutputOptions,
    PopulationOptions,
    TableOptions,
)
from clfeval.cli.parsing import counts_of, pair_of, shares_of
from clfeval.cli.run import arguments_of, run

if TYPE_CHECKING:
    from clfeval.result import Result

NUMBERS, MEASURES = "Instead of a table", "Measures"
EXAMPLES = """Examples:

clfeval tune-jpt --counts 67,5,33,95 --odds 1:100 --population 50000

clfeval tune-jpt --counts ccp=67,5,33,95 --counts rf=69,15,31,85 --prevalence-range 0.001..0.02

clfeval tune-jpt preds.csv --positive malignant --prevalence 0.01 --crossover mcc

clfeval tune-jpt scores.parquet --odds 1:1000 --cost 1:50

clfeval tune-jpt scores.parquet -f csv --table cutoffs > cutoffs.csv
"""

Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="[TABLE...]",
        help="Predictions or counts: CSV, TSV, Parquet, Arrow IPC or NDJSON (.gz and .zst too); - "
        "is standard input; several files of one schema, or a quoted glob.",
        show_default=False,
    ),
]


def tune_jpt_command(
    source: TableOptions,
    populations: PopulationOptions,
    *,
    tables: Tables = [],  # noqa: B006
    counts: Annotated[
        list[str],
        typer.Option(
            "--counts",
            metavar="[MODEL=]TP,FP,FN,TN",
            rich_help_panel=NUMBERS,
            show_default=False,
            help="The four numbers of a published table; repeat.",
        ),
    ] = [],  # noqa: B006
    sensitivity: Annotated[
        float | None,
        typer.Option("--sensitivity", rich_help_panel=NUMBERS, help="A rate alone; no intervals."),
    ] = None,
    specificity: Annotated[
        float | None,
        typer.Option("--specificity", rich_help_panel=NUMBERS, help="The rate that goes with it."),
    ] = None,
    sweep: Annotated[
        str,
        typer.Option(
            "--sweep",
            metavar="P:N..P:N|none",
            rich_help_panel=POPULATIONS,
            help="Also at odds between these, evenly in their logarithm.",
        ),
    ] = "1:1000..1000:1",
    points: Annotated[
        int, typer.Option("--points", rich_help_panel=POPULATIONS, help="How many odds that is.")
    ] = 31,
    prevalence_range: Annotated[
        str | None,
        typer.Option(
            "--prevalence-range",
            metavar="LOW..HIGH",
            rich_help_panel=POPULATIONS,
            help="The lowest and highest value of every measure over it.",
        ),
    ] = None,
    prevalence_beta: Annotated[
        str | None,
        typer.Option(
            "--prevalence-beta",
            metavar="A,B",
            rich_help_panel=POPULATIONS,
            help="Every measure when the prevalence is Beta(A, B), by simulation.",
        ),
    ] = None,
    population: Annotated[
        float | None,
        typer.Option(
            "--population",
            metavar="N",
            rich_help_panel=POPULATIONS,
            help="How many of so many rows to expect in each cell, with intervals.",
        ),
    ] = None,
    measure: Annotated[
        list[str],
        typer.Option(
            "--measure",
            rich_help_panel=MEASURES,
            show_default=False,
            autocompletion=complete_measure,
            help="Only this one, such as ppv or mcc; repeat.",
        ),
    ] = [],  # noqa: B006
    ratio: Annotated[
        Literal["matters", "confounds"] | None,
        typer.Option(
            "--ratio",
            rich_help_panel=MEASURES,
            help="The measures for a problem where the class ratio matters (errors add up), or "
            "confounds (each case stands alone).",
        ),
    ] = None,
    beta: Annotated[
        float,
        typer.Option(
            "--beta", rich_help_panel=MEASURES, help="In F, recall counts this many times as much."
        ),
    ] = 1.0,
    crossover: Annotated[
        str | None,
        typer.Option(
            "--crossover",
            metavar="MEASURE",
            rich_help_panel=MEASURES,
            autocompletion=complete_measure,
            help="Compare models by it; default the first measure that moves (tar).",
        ),
    ] = None,
    cost: Annotated[
        str | None,
        typer.Option(
            "--cost",
            metavar="FP:FN",
            rich_help_panel=MEASURES,
            help="What errors cost, for example 1:10: expected cost, net benefit, and thresholds.",
        ),
    ] = None,
    benefit: Annotated[
        str | None,
        typer.Option(
            "--benefit",
            metavar="TP:TN",
            rich_help_panel=MEASURES,
            help="What right answers bring, in the same unit.",
        ),
    ] = None,
    folds: Annotated[
        int,
        typer.Option(
            "--folds",
            rich_help_panel=MEASURES,
            help="Parts in which chosen thresholds are judged on rows they were not chosen on.",
        ),
    ] = 10,
    interval: Annotated[
        Literal["exact", "bootstrap", "none"],
        typer.Option(
            "--interval",
            rich_help_panel=INTERVALS,
            help="By formula, by resampling positives and negatives apart, or none at all.",
        ),
    ] = "exact",
    resamples: Annotated[
        int, typer.Option("--resamples", rich_help_panel=INTERVALS, help="Of the bootstrap.")
    ] = 2000,
    seed: Annotated[
        int, typer.Option("--seed", rich_help_panel=INTERVALS, help="Of folds, bootstrap, draws.")
    ] = 0,
    intervals: IntervalOptions,
    output: OutputOptions,
    gates: GateOptions,
) -> None:
    """Tell what 2 x 2 tables would look like at another share of positives."""

    def compute() -> Result:
        from clfeval.api.tune_jpt import tune_jpt

        return tune_jpt(
            list(tables) or None,
            **arguments_of(source, output),
            counts=counts_of(counts),
            sensitivity=sensitivity,
            specificity=specificity,
            prevalence=shares_of("--prevalence", populations.prevalence),
            odds=populations.odds,
            sweep=None if sweep == "none" else sweep,
            points=points,
            prevalence_range=pair_of("--prevalence-range", prevalence_range, "..", "0.001..0.02"),
            prevalence_beta=pair_of("--prevalence-beta", prevalence_beta, ",", "2,98"),
            population=population,
            measure=measure,
            ratio=ratio,
            beta=beta,
            crossover=crossover,
            cost=pair_of("--cost", cost, ":", "1:10"),
            benefit=pair_of("--benefit", benefit, ":", "5:0"),
            folds=folds,
            interval=interval,
            level=intervals.level,
            resamples=resamples,
            seed=seed,
        )

    run(tables, output, gates, compute)
