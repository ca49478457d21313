"""Options of report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from clfeval.errors import bad_option, suggestion
from clfeval.methods import options
from clfeval.options import syntax
from clfeval.options.declaration import Command, Opt, as_list, to_float
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, field

if TYPE_CHECKING:
    from clfeval.measures.record import Population
    from clfeval.methods.report.threshold_rules import AbstentionZone
    from clfeval.methods.threshold_optimism import ThresholdRule

MEASURES, CURVES, CUTTING = "Measures", "Curves", "Thresholds"  # panels
METHODS = ("mars", "phidelta", "tune-jpt", "mlcps")


def numbers_by_measure(
    numbers: Mapping[str, float], table_names_of: Callable[[str], Iterable[str]]
) -> dict[str, float]:
    """Return numbers by names of measures in tables; table_names_of: those of an option's text."""
    return {
        table_name: number
        for option_text, number in numbers.items()
        for table_name in table_names_of(option_text)
    }


def _accept_thresholds(flag: str, value: object) -> int | Literal["all"] | tuple[float, ...]:
    """Return a count, `all`, or thresholds; UsageError for other syntax."""
    if value is None:
        return 19
    if isinstance(value, str) and value == "all":
        return "all"
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 1:
            raise bad_option(f"{OPTION}{flag}{END} {value} is not a whole number of at least 1")
        return value
    thresholds = tuple(to_float(flag, threshold) for threshold in as_list(value))
    if not thresholds:
        raise bad_option(f"{OPTION}{flag}{END} lists no threshold")
    return thresholds


def _accept_methods(flag: str, value: object) -> tuple[str, ...]:
    """Return the requested other commands in a fixed order; UsageError if unknown."""
    requested_names = {str(name).replace("_", "-") for name in as_list(value)}
    if unknown_names := sorted(requested_names - {*METHODS, "all"}):
        hint = suggestion(unknown_names[0], METHODS) or f"one of {', '.join(METHODS)}, or all"
        raise bad_option(f"{OPTION}{flag}{END} '{unknown_names[0]}' is not another command", hint)
    return tuple(name for name in METHODS if name in requested_names or "all" in requested_names)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReportOptions(options.RunOptions, options.IntervalOptions, options.PopulationOptions):
    """Options of report: measures, intervals, comparisons, thresholds and curves."""

    measure: Annotated[tuple[str, ...], options.measure_option(MEASURES)] = ()
    methods: Annotated[
        tuple[str, ...],
        Opt(
            "Run other commands too: mars,phidelta,tune-jpt,mlcps, or all.",
            MEASURES,
            flags=("--with",),
            metavar="COMMAND,...",
            parse=syntax.parse_words,
            accept=_accept_methods,
            takes=str | Sequence[str] | None,
        ),
    ] = ()
    thresholds: Annotated[
        int | Literal["all"] | tuple[float, ...],
        Opt(
            "Thresholds to list: a number of them, all, or values (0.1,0.2).",
            CURVES,
            metavar="N|all|LIST",
            accept=_accept_thresholds,
            takes=int | Literal["all"] | Sequence[float] | None,
            shell=False,
        ),
    ] = 19
    points: Annotated[int | Literal["all"] | None, options.curve_points_option(CURVES)] = None
    reference: Annotated[
        str | None, options.reference_option("Compare with MODEL, the best, or all-pairs.")
    ] = None
    margin: Annotated[Mapping[str, float], options.margin_option()] = field(default_factory=dict)
    list_changes: Annotated[
        int | None,
        Opt(
            "List N rows that a model got newly right, and N newly wrong.",
            options.COMPARING,
            metavar="N",
            minimum=1,
            bounds_error="is not a whole number of at least 1",
            shell=False,
            needs=("reference", "lists rows that a model and the reference predict differently"),
        ),
    ] = None
    resolution: Annotated[
        Mapping[str, float],
        options.margin_option(
            "Sample size needed to detect a difference (roc_auc=0.01).", "resolution", shell=False
        ),
    ] = field(default_factory=dict)
    best_threshold: Annotated[
        tuple[str, ...],
        Opt(
            "Choose a threshold: f1, 'sens>=.9', cost:fp=1,fn=5.",
            CUTTING,
            metavar="RULE",
            completes="measure",
        ),
    ] = ()
    abstain: Annotated[
        tuple[str, ...],
        Opt(
            "Abstain near the threshold: 5%, or cost:fp=1,fn=5,abstain=0.2.",
            CUTTING,
            metavar="SHARE|cost:...",
        ),
    ] = ()
    dummies: Annotated[
        bool,
        Opt(
            "Show baselines of each measure: permuted truth and constant models.",
            options.COMPARING,
            shell=False,
        ),
    ] = False
    interval: options.Interval = "exact"
    level: options.Level = 0.95
    totals: options.Totals = "random"
    resamples: Annotated[
        int,
        Opt(
            "Number of bootstrap resamples.",
            options.INTERVALS,
            minimum=100,
            maximum=10**6,
            signed="resamples",
            shell=False,
        ),
    ] = options.RESAMPLES
    seed: options.Seed = 0

    @property
    def compared(self) -> tuple[str, ...]:
        """The measures named by options of comparisons."""
        return (*self.margin, *self.resolution)

    @property
    def uses_thresholds(self) -> bool:
        """True if thresholds are to be chosen, or predictions to be withheld."""
        return bool(self.best_threshold or self.abstain)

    @property
    def rules(self) -> tuple[ThresholdRule, ...]:
        """The rules that choose thresholds."""
        if not self.best_threshold:
            return ()
        from clfeval.methods.report.threshold_rules import parse_rules

        return parse_rules(self.best_threshold)

    @property
    def single_population(self) -> Population | None:
        """The population of the requested prevalence; None without one, or with several."""
        populations = self.populations
        return populations[0] if len(populations) == 1 else None

    @property
    def zones(self) -> tuple[AbstentionZone, ...]:
        """The abstention zones."""
        if not self.abstain:
            return ()
        from clfeval.methods.report.threshold_rules import parse_zones

        return parse_zones(self.abstain)

    @property
    def interval_settings(self) -> options.IntervalSettings:
        """Settings of the confidence intervals of measures."""
        return options.IntervalSettings(
            self.confidence, self.interval, self.totals, self.resamples, self.seed
        )

    def check(self) -> None:
        """Raise UsageError for invalid measures and rules, before anything is counted."""
        if self.measure or self.compared:
            from clfeval.methods.measurement.requested_measures import check_measure_names

            check_measure_names(self.measure)
            check_measure_names(self.compared, "--margin" if self.margin else "--resolution")
        self.check_runs()
        _ = self.zones, self.populations
        if self.confidence is None and any(rule.safe for rule in self.rules):
            raise bad_option(
                f"a limit is kept safely by intervals: leave {OPTION}--interval none{END} out"
            )
        if self.reference is not None and self.confidence is None:
            raise bad_option(
                f"{OPTION}--reference{END} compares by intervals: leave "
                f"{OPTION}--interval none{END} out"
            )


REPORT = Command(
    "report",
    (ReportOptions,),
    have="predictions of models",
    want="ranking, calibration, costs, errors",
    help="""Evaluate a table of predictions: ranking, calibration, decisions, errors.

    It shows the best model and models tied with it, and whether the best one is well calibrated.
    It also shows at which thresholds net benefit is higher than treat-all and treat-none.
    """,
    examples="""clfeval report preds.csv --positive malignant
clfeval report scores.parquet --threshold 0.2 --measure average_precision
clfeval report preds.csv --show decision --show thresholds
clfeval report preds.csv --best-threshold 'sens>=.9'
clfeval report preds.csv --by site -f json | jq .tables.models
clfeval report preds.csv --with mars,phidelta
clfeval report new=new.csv old=old.csv --join id --reference old
clfeval report preds.csv --fail-under 'new:roc_auc.low=0.8'
clfeval report new.csv --id id --baseline old.csv --max-drop roc_auc=0.01
clfeval report saved.json --fail-under roc_auc.low=0.8
""",
    brief="truth positive ignore id threshold by cluster "
    "measure reference best-threshold fail-under baseline show save",
    tables="CSV, TSV, Parquet, Arrow IPC or NDJSON (.gz and .zst too); - is standard input; "
    "several files of one schema, or a quoted glob; with --join NAME=FILE, one file per model.",
    unused_fields=("spark_conf",),
)
