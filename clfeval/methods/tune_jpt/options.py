"""Options of tune-jpt, and the measures that they request with their settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from clfeval.errors import UsageError, bad_option
from clfeval.measures.record import Population
from clfeval.methods.options import (
    INTERVALS,
    POPULATIONS,
    RESAMPLES,
    Interval,
    IntervalOptions,
    Level,
    PopulationOptions,
    Seed,
    Totals,
    margin_option,
    reference_option,
)
from clfeval.options import syntax
from clfeval.options.declaration import Command, Opt, as_list
from clfeval.placeholders import COMMAND, END, OPTION
from clfeval.records import dataclass, field, replace

if TYPE_CHECKING:
    from clfeval.arrays import Floats
    from clfeval.measures.confusion import Confusion
    from clfeval.measures.odds import OutcomeCosts
    from clfeval.measures.record import Measure
    from clfeval.methods.measurement.requested_measures import AvailableMeasures

NUMBERS, MEASURED = "Instead of a table", "Measures"  # panels
PYTHON_ONLY: dict[str, Any] = {"is_parameter": True, "shell": False}

TUNED = ("tar", "f_beta", "mcc", "ic", "j_index")  # measures that choose a threshold by default
FULL_SWEEP = "1:1000..1000:1"
ROWS = 1000  # of the tables shown
MADE_OF_SCORES = (
    "tune-jpt has measures of 2 x 2 tables only; clfeval report computes it at the prevalence of "
    "these rows"
)


@cache
def measures_by_ratio_dependence() -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the measures that depend on the class ratio, those that do not, those with costs."""
    from clfeval.measures.catalog import CATALOG
    from clfeval.measures.odds import JPT

    cost_measures = tuple(name for name in JPT if "stakes" in CATALOG[name].takes)
    invariant_measures = tuple(name for name in JPT if CATALOG[name].invariant)
    return (
        tuple(name for name in JPT if name not in (*invariant_measures, *cost_measures)),
        invariant_measures,
        cost_measures,
    )


def sweep_populations(
    sweep_text: str, points: int, targets: Sequence[Population] = ()
) -> tuple[Population, ...]:
    """Return populations at evenly spaced logarithms of their odds, from few positives to many.

    sweep_text: `P:N..P:N`, both included; the full sweep is extended to the targets.
    Errors: UsageError for any other text.
    """
    start_odds, separator, end_odds = sweep_text.partition("..")
    if not separator or end_odds.startswith("."):
        message = f"{OPTION}--sweep{END} '{sweep_text}' is not a range of class ratios"
        hint = f"write {OPTION}--sweep P:N..P:N{END}, as {FULL_SWEEP}"
        raise UsageError.new(message, "bad-odds", hint=hint)
    limits = [Population.from_odds(end, "--sweep") for end in (start_odds, end_odds)]
    if limits[0].ratio == limits[1].ratio:
        raise bad_option(f"{OPTION}--sweep{END} '{sweep_text}' has two equal limits")
    limits += targets if sweep_text == FULL_SWEEP else ()
    first_population, *_, last_population = sorted(limits, key=lambda population: population.ratio)
    log_low = math.log10(first_population.ratio)
    log_high = math.log10(last_population.ratio)
    step = (log_high - log_low) / (points - 1)
    inner_ratios = (
        float(f"{10 ** (log_low + step_number * step):.12g}")
        for step_number in range(1, points - 1)
    )
    return (first_population, *map(Population.from_ratio, inner_ratios), last_population)


@cache
def tunable_measures() -> AvailableMeasures:
    """Return the measures of tune-jpt; of the sets, those of scores are not tuned."""
    from clfeval.measures.odds import TUNABLE
    from clfeval.methods.measurement.requested_measures import AvailableMeasures

    return AvailableMeasures("tune-jpt", TUNABLE, ("default", "hard", "all"))


def parse_tuned_measures(flag: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return measures by id and parameters without duplicates; UsageError if not tunable."""
    from clfeval.measures.catalog import CATALOG
    from clfeval.measures.odds import JPT
    from clfeval.methods.measurement.requested_measures import SETS

    measures: dict[str, None] = {}
    available_measures = tunable_measures()
    for name in names:
        set_name = name.strip().casefold()
        if set_name not in SETS:
            measures[_parse_measure_name(flag, name)] = None
            continue
        if set_name not in available_measures.sets:
            message = f"{OPTION}{flag}{END}: set '{set_name}' has no measure of a 2 x 2 table alone"
            raise UsageError.new(message, "unknown-measure", hint=MADE_OF_SCORES)
        set_measures = (
            name for name in available_measures.ids if "stakes" not in CATALOG[name].takes
        )
        measures |= dict.fromkeys(
            name for name in set_measures if name in JPT or set_name != "default"
        )
    return tuple(measures)


def _parse_measure_name(flag: str, text: str) -> str:
    """Return a measure by id and parameters; UsageError if it is not tunable."""
    from clfeval.measures.catalog import CATALOG, match_measure
    from clfeval.measures.other_names import plain_heading
    from clfeval.methods.measurement import requested_measures as requested

    name, _, settings_text = plain_heading(text).partition(":")
    requested.refuse_measure(name, flag)
    measure = requested.find_measure_by_name(name)
    available_measures = tunable_measures()
    if measure is None:
        hint = requested.suggest_measure(text, available_measures, flag)
        raise UsageError.new(
            f"{OPTION}{flag}{END}: '{name}' is not a measure", "unknown-measure", hint=hint
        )
    tuned_id = match_measure(name, available_measures.ids) or match_measure(
        measure.id, available_measures.ids
    )
    if tuned_id is None or (settings_text and measure.takes and not CATALOG[tuned_id].takes):
        message = f"{OPTION}{flag}{END}: {measure.id} is not available in tune-jpt"
        raise UsageError.new(message, "unknown-measure", hint=_explain_unavailable(measure))
    tuned_measure = CATALOG[tuned_id]
    settings = (
        requested.parse_measure_settings(text, settings_text, tuned_measure, flag=flag)
        if settings_text
        else {}
    )
    return requested.format_measure_name(tuned_measure, settings)


def _explain_unavailable(measure: Measure) -> str:
    """Return the hint for a measure that is not tuned."""
    from clfeval.methods.measurement.requested_measures import AT_RISK, NEEDS

    if "prevalence" in measure.takes:
        return f"use {OPTION}--measure {measure.id[:3]}{END} {OPTION}--prevalence 0.01{END}"
    if measure.id == AT_RISK:
        return (
            f"for threshold probability 0.1 use {OPTION}--measure net_benefit:fp=1,fn=9{END} (odds "
            "1 to 9)"
        )
    if measure.best == "none":
        return (
            f"it does not rate a model; {OPTION}--population N{END} shows the number of flagged "
            "rows"
        )
    if measure.needs == "scores" and measure.invariant:
        return "it is the same at every class ratio; clfeval report computes it"
    if measure.needs not in NEEDS["all"]:
        return f"for the available measures: {COMMAND}clfeval tune-jpt --explain measures{END}"
    return MADE_OF_SCORES


def options_from_measures(measure_names: Sequence[str]) -> dict[str, Any]:
    """Return the options set by the parameters of measures; UsageError if two differ."""
    from clfeval.measures.catalog import CATALOG
    from clfeval.methods.measurement.requested_measures import parse_measure_settings

    options: dict[str, Any] = {}
    for measure_name in measure_names:
        measure_id, _, settings_text = measure_name.partition(":")
        settings = (
            parse_measure_settings(measure_name, settings_text, CATALOG[measure_id])
            if settings_text
            else {}
        )
        option_values: dict[str, Any] = {"beta": settings["beta"]} if "beta" in settings else {}
        for option, parameter_names in (("cost", ("fp", "fn")), ("benefit", ("tp", "tn"))):
            if {*parameter_names} & {*settings}:
                option_values[option] = tuple(
                    settings.get(parameter, 0.0) for parameter in parameter_names
                )
        for option, value in option_values.items():
            if options.setdefault(option, value) != value:
                message = (
                    f"{OPTION}--measure{END} {measure_name} has a different {option} than an "
                    "earlier measure"
                )
                raise bad_option(message, f"use one {option} per run")
    return options


def _accept_measures(flag: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, (Iterable, type(None))):
        raise bad_option(f"{OPTION}{flag}{END} {value!r} is not a name or a list of names")
    return parse_tuned_measures(flag, [str(name) for name in as_list(value)])


def _tables_by_model(flag: str, value: object) -> dict[str, Sequence[float]]:
    """Return four numbers per model; UsageError for other syntax."""
    numbers_by_model = value if isinstance(value, Mapping | None) else {"model": value}
    counts_by_model: dict[str, Sequence[float]] = {}
    for model, numbers in (numbers_by_model or {}).items():
        if isinstance(numbers, str) or not isinstance(numbers, Iterable):
            message = "four numbers (TP, FP, FN, TN), or a mapping of models to four numbers"
            raise bad_option(f"{OPTION}{flag}{END}: {message}")
        counts_by_model[str(model)] = tuple(as_list(numbers))
    return {model: counts for model, counts in counts_by_model.items() if counts}


def _rate_option(rate_title: str, other_flag: str) -> Opt:
    """Return the declaration of an option with a rate that needs the other rate."""
    help_text = f"{rate_title} of a published test, with {OPTION}{other_flag}{END}."
    return Opt(help_text, NUMBERS, parse=syntax.parse_share)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TuneOptions(IntervalOptions, PopulationOptions):
    """Populations, measures, costs and intervals of tune-jpt."""

    counts: Annotated[
        Mapping[str, Sequence[float]],
        Opt(
            "TP,FP,FN,TN of a published 2 x 2 table; repeat.",
            NUMBERS,
            metavar="TP,FP,FN,TN",
            parse=syntax.parse_counts,
            accept=_tables_by_model,
            takes=Mapping[str, Sequence[float]] | Sequence[float] | None,
        ),
    ] = field(default_factory=dict)
    sensitivity: Annotated[float | None, _rate_option("Sensitivity", "--specificity")] = None
    specificity: Annotated[float | None, _rate_option("Specificity", "--sensitivity")] = None
    sweep: Annotated[
        str | None,
        Opt(
            "Evaluate class ratios in this range, evenly spaced on the log scale.",
            POPULATIONS,
            metavar="P:N..P:N|none",
            shell=False,
        ),
    ] = FULL_SWEEP
    points: Annotated[
        int,
        Opt(
            "Number of class ratios in the range.",
            POPULATIONS,
            minimum=2,
            maximum=10_000,
            shell=False,
        ),
    ] = 31
    prevalence_beta: Annotated[
        tuple[float, float] | None,
        Opt(
            "Simulate every measure for a prevalence of Beta(A, B).",
            POPULATIONS,
            metavar="A,B",
            shell=False,
        ),
    ] = None
    population: Annotated[
        float | None,
        Opt(
            "Show expected counts in a population of N.",
            POPULATIONS,
            metavar="N",
            above=0,
            below=math.inf,
            bounds_error="is not a number above 0",
            signed="per",
            is_parameter=True,
        ),
    ] = None
    measure: Annotated[
        tuple[str, ...],
        Opt(
            "Add a measure: ppv, cost:fp=1,fn=10; repeat.",
            MEASURED,
            metavar="MEASURE",
            accept=_accept_measures,
            is_parameter=True,
            signed="measures",
            completes="measure",
        ),
    ] = ()
    reference: Annotated[str | None, reference_option()] = None
    resamples: Annotated[
        int,
        Opt("Number of bootstrap resamples.", INTERVALS, minimum=100, maximum=10**6, **PYTHON_ONLY),
    ] = RESAMPLES
    seed: Seed = 0
    interval: Interval = "exact"
    level: Level = 0.95
    margin: Annotated[Mapping[str, float], margin_option(needs=None)] = field(default_factory=dict)
    totals: Totals = "random"
    beta: float = 1.0  # by the parameters of measures, as the next two
    cost: tuple[float, float] | None = None
    benefit: tuple[float, float] | None = None

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures shown, in the order of columns."""
        from clfeval.measures.odds import TUNABLE

        ratio_dependent, invariant, cost_measures = measures_by_ratio_dependence()
        shown_names = (*ratio_dependent, *invariant, *self.measure)
        if self.outcome_costs is not None:
            shown_names = (*shown_names, *cost_measures)
        return tuple(name for name in TUNABLE if name in shown_names)

    @property
    def threshold_measures(self) -> tuple[str, ...]:
        """The measures that choose thresholds: the requested ones, else a few common ones."""
        from clfeval.measures.catalog import CATALOG

        *_, cost_measures = measures_by_ratio_dependence()
        threshold_names = {*TUNED, *self.measure, *cost_measures}
        # the best threshold of g_mean need not lie on the hull of the ROC points
        threshold_names -= {"g_mean"}
        return tuple(
            name for name in self.measures if CATALOG[name].sign and name in threshold_names
        )

    @property
    def compared(self) -> str | None:
        """The measure that compares models over the odds: the first requested, or the cost."""
        from clfeval.measures.catalog import CATALOG

        measures = {name: CATALOG[name] for name in self.measures}
        requested_names = [
            *self.measure,
            *(("expected_cost",) if self.outcome_costs is not None else ()),
        ]
        ratio_dependent = [name for name, measure in measures.items() if not measure.invariant]
        return next(
            (name for name in (*requested_names, *ratio_dependent) if CATALOG[name].best != "zero"),
            "j_index",
        )

    @property
    def usable_rule(self) -> str:
        """The measure that chooses a threshold to use where none is in force, or costs are."""
        return "j_index" if self.outcome_costs is None else "expected_cost"

    @property
    def least_difference(self) -> float | None:
        """The smallest difference that matters, of the measure that compares models."""
        return self.margin.get(str(self.compared))

    @property
    def prevalence_range(self) -> tuple[float, float] | None:
        """The prevalences between which the lowest and highest values are sought."""
        ranges = [
            (low_population.prevalence, high_populations[0].prevalence)
            for low_population, *high_populations in self.spans
            if high_populations
        ]
        if len(ranges) > 1:
            raise bad_option(
                f"{OPTION}--prevalence{END} has more than one range", "give one range per run"
            )
        return ranges[0] if ranges else None

    @property
    def swept(self) -> tuple[Population, ...]:
        """The populations of the sweep; the default range is extended to the targets."""
        sweep = self.sweep
        return sweep_populations(sweep, self.points, self.populations) if sweep is not None else ()

    @property
    def outcome_costs(self) -> OutcomeCosts | None:
        """The costs of errors and benefits of correct predictions; None if not given."""
        if self.cost is None:
            return None
        from clfeval.measures.odds import OutcomeCosts

        return OutcomeCosts(*self.cost, *(self.benefit or ()))

    @property
    def formulas(self) -> Mapping[str, Callable[[Confusion], Floats]]:
        """The functions of measures, with beta and costs filled in."""
        from clfeval.measures.catalog import measure_functions

        return measure_functions("confusion", beta=self.beta, stakes=self.outcome_costs)

    def settled(self) -> TuneOptions:
        """Return the options with those that parameters of measures set."""
        if not self.margin and not any(":" in name for name in self.measure):
            return self
        measure_ids = tuple(dict.fromkeys(name.partition(":")[0] for name in self.measure))
        margins = {
            _accept_measures("--margin", [name])[0]: margin_value
            for name, margin_value in self.margin.items()
        }
        return replace(
            self, measure=measure_ids, margin=margins, **options_from_measures(self.measure)
        )

    def check(self) -> None:
        """Raise UsageError for invalid or contradictory options."""
        settled_options = self.settled()
        # each of these properties may raise
        _ = settled_options.populations, settled_options.prevalence_range, settled_options.swept
        settled_options._check_costs()
        settled_options._check_comparison()

    def _check_costs(self) -> None:
        """Raise UsageError for costs that are missing, or that one prediction for all avoids."""
        fp, fn = self.cost or (0.0, 0.0)
        tp, tn = self.benefit or (0.0, 0.0)
        if self.cost is None and self.benefit is not None:
            message = f"{OPTION}--measure{END} cost has benefits tp and tn without costs fp and fn"
            raise bad_option(
                message, f"add fp and fn, for example {OPTION}--measure cost:fp=1,fn=10,tp=1{END}"
            )
        if self.cost is not None and not (fp + tn > 0 and fn + tp > 0):
            message = (
                f"{OPTION}--measure cost:fp={fp:g},fn={fn:g}{END}: if one kind of error is free, "
                "predicting "
            )
            message += "one class for every row is optimal"
            raise bad_option(message, "give both errors a cost above 0")
        *_, cost_measures = measures_by_ratio_dependence()
        for name in cost_measures:
            if self.cost is None and name in self.measure:
                hint = (
                    f"add {OPTION}--measure cost:fp=1,fn=10{END} if a miss costs ten times a false "
                    "positive"
                )
                message = f"{name} needs the costs of errors"
                raise UsageError.new(message, "needs-cost", hint=hint)

    def _check_comparison(self) -> None:
        """Raise UsageError for a margin of a measure not compared, or an invalid distribution."""
        uncompared_measure = next((name for name in self.margin if name != self.compared), None)
        if uncompared_measure is not None:
            message = (
                f"{OPTION}--margin{END} {uncompared_measure} does not apply: models are compared "
                f"by {self.compared}"
            )
            raise bad_option(message, f"add {OPTION}--measure {uncompared_measure}{END}")
        prior = self.prevalence_beta
        if prior is not None and not all(0.001 <= parameter <= 1e18 for parameter in prior):
            prior_text = ",".join(f"{parameter:g}" for parameter in prior)
            message = (
                f"{OPTION}--prevalence-beta{END} {prior_text} is not two numbers from 0.001 to 1e18"
            )
            raise bad_option(message, f"for example {OPTION}--prevalence-beta 2,98{END}")


TUNE_JPT = Command(
    "tune-jpt",
    (TuneOptions,),
    have="predictions, 2 x 2 tables",
    want="PPV and NPV at another prevalence",
    help="Compute PPV, NPV and other measures at other prevalences.",
    examples="""clfeval tune-jpt --counts 67,5,33,95 --prevalence 1:100 --population 50000
clfeval tune-jpt --counts a=67,5,33,95 --counts b=69,15,31,85 --prevalence 2%
clfeval tune-jpt preds.csv --positive malignant --prevalence 0.001..0.02
clfeval tune-jpt preds.csv --positive malignant --measure mcc --reference lr
clfeval tune-jpt scores.parquet --prevalence 0.1% --measure cost:fp=1,fn=50
clfeval tune-jpt scores.parquet -f csv --show cutoffs > cutoffs.csv
""",
    brief="counts sensitivity specificity prevalence population truth "
    "positive threshold measure reference margin show save",
    tables="Predictions or counts: CSV, TSV, Parquet, Arrow IPC or NDJSON (.gz and .zst too); - "
    "is standard input; several files of one schema, or a quoted glob; "
    "with --join NAME=FILE, one file per model.",
    optional=True,
    unused_fields=("spark_conf",),
)
