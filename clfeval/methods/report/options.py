"""What the report is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Literal

from clfeval import notation
from clfeval.errors import bad_option, suggestion
from clfeval.methods.options import (
    INTERVALS,
    RESAMPLES,
    Certainty,
    Level,
    Populations,
    RunOptions,
    Sure,
    Totals,
    also_measured,
    curve_points,
)
from clfeval.options import READING, Command, Opt, listed, mapping, number

if TYPE_CHECKING:
    from clfeval.methods.report.cutting.zones import Zone
    from clfeval.methods.threshold_optimism import CutRule

MEASURES, CURVES, COMPARING = "Measures", "Curves", "Comparing"  # panels
CUTTING = "Thresholds"
METHODS = ("mars", "phidelta", "tune-jpt", "mlcps")
ALSO = {"jpt": "tune-jpt", "tune_jpt": "tune-jpt"}


def by_measure(
    given: Mapping[str, float], called: Callable[[str], Iterable[str]]
) -> dict[str, float]:
    """Return numbers by what measures are called in tables; called: what a name means there."""
    return {name: most for text, most in given.items() for name in called(text)}


def _margins(flag: str, given: Any) -> dict[str, float]:
    """Return the smallest difference that matters of each measure; UsageError for others."""
    named = mapping(flag, given, "measures to differences")
    found = {name: number(flag, value) for name, value in named.items()}
    for name, value in found.items():
        if not 0 < value < inf:
            raise bad_option(f"{flag} {name}={value:g} is not a number above 0")
    return found


def _by_measure(text: str, key: str, what: str) -> Opt:
    """Return an option of differences by measure, which a reference needs."""
    return Opt(
        text, COMPARING, metavar="MEASURE=DELTA", parse=notation.margins, accept=_margins,
        takes=Mapping[str, float] | None, signed=key, stated=True, needs=("reference", what),
    )  # fmt: skip


def _cuts(flag: str, given: Any) -> int | Literal["all"] | tuple[float, ...]:
    """Return a count, `all`, or thresholds in order; UsageError for what is none."""
    if given is None:
        return 19
    if isinstance(given, str) and given == "all":
        return "all"
    if isinstance(given, int) and not isinstance(given, bool):
        if given < 1:
            raise bad_option(f"{flag} {given} is not a number of thresholds from 1 up")
        return given
    cuts = tuple(number(flag, one) for one in listed(given))
    if not cuts:
        raise bad_option(f"{flag} lists no threshold")
    return cuts


def _methods(flag: str, given: Any) -> tuple[str, ...]:
    """Return the other commands in their order, each once; UsageError for what is none."""
    asked = {ALSO.get(str(one), str(one)) for one in listed(given)}
    if unknown := sorted(asked - {*METHODS, "all"}):
        hint = suggestion(unknown[0], METHODS) or f"one of {', '.join(METHODS)}, or all"
        raise bad_option(f"{flag} '{unknown[0]}' is no other command", hint)
    return tuple(one for one in METHODS if one in asked or "all" in asked)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReportOptions(RunOptions, Sure, Populations):
    """Which measures, how sure they are to be, and how much of each curve is listed."""

    measure: Annotated[tuple[str, ...], also_measured(MEASURES)] = ()
    methods: Annotated[
        tuple[str, ...],
        Opt(
            "Also the answer and tables of these commands, of the same count: "
            "mars,phidelta,tune-jpt,mlcps, or all.",
            MEASURES, flags=("--with",), also=("with",), metavar="COMMAND,...",
            parse=notation.words, accept=_methods, takes=str | Sequence[str] | None, common=True,
        ),
    ] = ()  # fmt: skip
    from_result: Annotated[
        bool,
        Opt("The files are saved results: shown, joined, held to gates, without their data.",
            READING),
    ] = False  # fmt: skip
    thresholds: Annotated[
        int | Literal["all"] | tuple[float, ...],
        Opt(
            "Thresholds of that table: so many, every score, or these (0.1,0.2).",
            CURVES, metavar="N|all|LIST", parse=notation.count_all_or_list, accept=_cuts,
            takes=int | Literal["all"] | Sequence[float] | None,
        ),
    ] = 19  # fmt: skip
    points: Annotated[int | Literal["all"] | None, curve_points(CURVES)] = None
    reference: Annotated[
        str | None,
        Opt(
            "Compare the others with it on the same rows; best: with the best; all-pairs: any two.",
            COMPARING, metavar="MODEL|best|all-pairs", signed="ref", stated=True,
            completes="model", common=True,
        ),
    ] = None  # fmt: skip
    margin: Annotated[
        Mapping[str, float],
        _by_measure(
            "The smallest difference of a measure that matters (roc_auc=0.02): verdicts by it; "
            "repeat.",
            "margin", "judges differences from a reference",
        ),
    ] = field(default_factory=dict)  # fmt: skip
    list_changes: Annotated[
        int | None,
        Opt(
            "List so many rows that a model has wrong and the reference right, and as many the "
            "other way round.",
            COMPARING, metavar="N", least=1, outside="is not a whole number of rows from 1 up",
            needs=("reference", "lists rows that models answer otherwise than a reference"),
        ),
    ] = None  # fmt: skip
    resolution: Annotated[
        Mapping[str, float],
        _by_measure(
            "How many rows it takes to see so large a difference of a measure (roc_auc=0.01); "
            "repeat.",
            "resolution", "is about differences from a reference",
        ),
    ] = field(default_factory=dict)  # fmt: skip
    best_threshold: Annotated[
        tuple[str, ...],
        Opt(
            "The threshold best by this measure, and its worth on other rows: f1, mcc, "
            "cost:fp=1,fn=5, net_benefit:t=0.1; or within a limit: 'sens>=.9', 'ppv>=.8'; repeat.",
            CUTTING, metavar="RULE", completes="measure", common=True,
        ),
    ] = ()  # fmt: skip
    abstain: Annotated[
        tuple[str, ...],
        Opt(
            "No answer for this share of rows (5%), those nearest the threshold; or where one "
            "costs less: cost:fp=1,fn=5,abstain=0.2; repeat.",
            CUTTING, metavar="SHARE|cost:...",
        ),
    ] = ()  # fmt: skip
    dummies: Annotated[
        bool,
        Opt("What each measure is worth without information: truth dealt anew, p, constants.",
            COMPARING),
    ] = False  # fmt: skip
    interval: Annotated[
        Literal[
            "exact", "wilson", "jeffreys", "agresti-coull", "influence", "bootstrap", "none"
        ],
        Opt(
            "Of shares: exact, wilson, jeffreys or agresti-coull; influence or bootstrap for "
            "every measure; or none at all.",
            INTERVALS, signed="ci", stated=True,
        ),
    ] = "exact"  # fmt: skip
    level: Level = 0.95
    totals: Totals = "random"
    resamples: Annotated[
        int, Opt("Of what is resampled.", INTERVALS, least=100, most=10**6, signed="resamples")
    ] = RESAMPLES
    seed: Annotated[
        int, Opt("Of all that is drawn.", INTERVALS, least=0, most=2**63, stated=True)
    ] = 0

    @property
    def compared(self) -> tuple[str, ...]:
        """The measures that options of comparisons name."""
        return (*self.margin, *self.resolution)

    @property
    def cuts(self) -> bool:
        """True where thresholds are to be chosen, or rows to be left without an answer."""
        return bool(self.best_threshold or self.abstain)

    @property
    def rules(self) -> tuple[CutRule, ...]:
        """What thresholds are chosen by."""
        if not self.best_threshold:
            return ()
        from clfeval.methods.report.cutting.rules import rules_of

        return rules_of(self.best_threshold)

    @property
    def zones(self) -> tuple[Zone, ...]:
        """Where no answer is given."""
        if not self.abstain:
            return ()
        from clfeval.methods.report.cutting.zones import zones_of

        return zones_of(self.abstain)

    @property
    def certainty(self) -> Certainty:
        """How sure the measures are to be."""
        return Certainty(self.confidence, self.interval, self.totals, self.resamples, self.seed)

    def check(self) -> None:
        """Refuse measures and rules that are none, before anything is counted; UsageError."""
        if self.measure or self.compared:
            from clfeval.methods.report.asked_classes import check_names

            check_names(self.measure)
            check_names(self.compared, "--margin" if self.margin else "--resolution")
        self.check_runs()
        _ = self.zones, self.populations
        if self.confidence is None and any(rule.safe for rule in self.rules):
            raise bad_option("a limit is kept safely by intervals: leave --interval none out")
        if self.reference is not None and self.confidence is None:
            raise bad_option("--reference compares by intervals: leave --interval none out")


REPORT = Command(
    "report",
    (ReportOptions,),
    have="predictions of models",
    want="everything that matters, at first sight",
    help="""Assess a table of predictions: ranking, probabilities, decisions and errors.

    Who may be the best, how sure that is, whether its probabilities are calibrated, and where
    acting on them helps.
    """,
    examples="""clfeval report preds.csv --positive malignant
clfeval report scores.parquet --threshold 0.2 --measure average_precision
clfeval report preds.csv --show decision --show thresholds
clfeval report preds.csv --best-threshold 'sens>=.9' --abstain 5%
clfeval report preds.csv --by site -f json | jq .tables.models
clfeval report preds.csv --with mars,phidelta
clfeval report new=new.csv old=old.csv --join id --reference old
clfeval report preds.csv --fail-under 'new:roc_auc.low=0.8'
clfeval report new.csv --id id --baseline old.csv --max-drop roc_auc=0.01
clfeval report --from-result monday.json tuesday.json
""",
    tables="CSV, TSV, Parquet, Arrow IPC or NDJSON (.gz and .zst too); - is standard input; "
    "several files of one schema, or a quoted glob; with --join NAME=FILE, one file per model.",
)
