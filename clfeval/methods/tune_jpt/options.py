"""What tune-jpt is asked for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from clfeval import notation
from clfeval.errors import UsageError, bad_option
from clfeval.measures.population import Population
from clfeval.methods.options import (
    INTERVALS,
    POPULATIONS,
    RESAMPLES,
    Level,
    Margin,
    Populations,
    Sure,
    Totals,
)
from clfeval.options import Command, Opt, listed

if TYPE_CHECKING:
    from clfeval.measures.odds import Stakes

NUMBERS, MEASURED = "Instead of a table", "Measures"  # panels

TUNED = ("tar", "f_beta", "mcc", "ic", "j_index")  # measures that choose a threshold, unless asked
BENT = ("g_mean",)  # the best need not lie on the hull of the ROC points, where it is looked for
FULL_SWEEP = "1:1000..1000:1"
ROWS = 1000  # of the tables shown


@cache
def kinds() -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return which measures move with the class ratio, which do not, which ask for stakes."""
    from clfeval.measures.catalog import CATALOG
    from clfeval.measures.odds import JPT

    staked = tuple(name for name in JPT if "stakes" in CATALOG[name].takes)
    fixed = tuple(name for name in JPT if CATALOG[name].invariant)
    return tuple(n for n in JPT if n not in (*fixed, *staked)), fixed, staked


def sweep(text: str, points: int, targets: Sequence[Population] = ()) -> tuple[Population, ...]:
    """Return populations at evenly spaced logarithms of their odds, from few positives to many.

    text: `P:N..P:N`, both among them; the full sweep is stretched as far as the targets lie.
    Errors: UsageError for any other text.
    """
    left, dots, right = text.partition("..")
    if not dots or right.startswith("."):
        what, hint = "is not two odds with .. between", f"for example --sweep {FULL_SWEEP}"
        raise UsageError.of(f"--sweep '{text}' {what}", "bad-odds", hint=hint)
    ends = [Population.of_odds(end, "--sweep") for end in (left, right)]
    if ends[0].ratio == ends[1].ratio:
        raise bad_option(f"--sweep '{text}' starts where it ends")
    ends += targets if text == FULL_SWEEP else ()
    first, *_, last = sorted(ends, key=lambda one: one.ratio)
    low, high = math.log10(first.ratio), math.log10(last.ratio)
    step = (high - low) / (points - 1)
    inner = (float(f"{10 ** (low + i * step):.12g}") for i in range(1, points - 1))
    return (first, *map(Population.of_ratio, inner), last)


def _measures(flag: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, (Iterable, type(None))):
        raise bad_option(f"{flag} {given!r} is not text")
    from clfeval.methods.tune_jpt.asked import tuned_names

    return tuned_names(flag, [str(one) for one in listed(given)])


def _measure(flag: str, given: Any) -> str | None:
    if not isinstance(given, (str, type(None))):
        raise bad_option(f"{flag} {given!r} is not text")
    return None if given is None else next(iter(_measures(flag, given)))


def _by_model(flag: str, given: Any) -> dict[str, Sequence[float]]:
    """Return four numbers per model; UsageError for what is neither numbers nor such a mapping."""
    if given is None:
        return {}
    by_model = given if isinstance(given, Mapping) else {"model": given}
    for numbers in by_model.values():
        if isinstance(numbers, str) or not isinstance(numbers, Iterable):
            raise bad_option(
                f"{flag}: four numbers (TP, FP, FN, TN), or a mapping of models to four numbers"
            )
    tables = {str(model): tuple(listed(numbers)) for model, numbers in by_model.items()}
    return {model: table for model, table in tables.items() if table}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TuneOptions(Sure, Populations):
    """Targets, measures, stakes, and how sure the numbers are to be."""

    counts: Annotated[
        Mapping[str, Sequence[float]],
        Opt(
            "The four numbers of a published table; repeat.",
            NUMBERS, metavar="[MODEL=]TP,FP,FN,TN", parse=notation.counts, accept=_by_model,
            takes=Mapping[str, Sequence[float]] | Sequence[float] | None, common=True,
        ),
    ] = field(default_factory=dict)  # fmt: skip
    sensitivity: Annotated[
        float | None,
        Opt("A rate alone; no intervals.", NUMBERS, parse=notation.share, common=True),
    ] = None
    specificity: Annotated[
        float | None,
        Opt("The rate that goes with it.", NUMBERS, parse=notation.share, common=True),
    ] = None
    sweep: Annotated[
        str | None,
        Opt(
            "Also at odds between these, evenly in their logarithm.",
            POPULATIONS, metavar="P:N..P:N|none",
            parse=lambda _, texts: None if texts[-1] == "none" else texts[-1],
        ),
    ] = FULL_SWEEP  # fmt: skip
    points: Annotated[int, Opt("How many odds that is.", POPULATIONS, least=2, most=10_000)] = 31
    prevalence_range: Annotated[
        tuple[float, float] | None,
        Opt(
            "The lowest and highest value of every measure over it.",
            POPULATIONS, metavar="LOW..HIGH", parse=notation.two_numbers("..", "0.001..0.02"),
        ),
    ] = None  # fmt: skip
    prevalence_beta: Annotated[
        tuple[float, float] | None,
        Opt(
            "Every measure when the prevalence is Beta(A, B), by simulation.",
            POPULATIONS, metavar="A,B", parse=notation.two_numbers(",", "2,98"),
        ),
    ] = None  # fmt: skip
    population: Annotated[
        float | None,
        Opt(
            "How many of so many rows to expect in each cell, with intervals.",
            POPULATIONS, metavar="N", above=0, below=math.inf, outside="is not a number above 0",
            signed="per", stated=True,
        ),
    ] = None  # fmt: skip
    measure: Annotated[
        tuple[str, ...],
        Opt(
            "Only this one, such as ppv or mcc, with its parameters (f_beta:beta=2), or a set: "
            "default, hard; repeat.", MEASURED, metavar="MEASURE[:KEY=V]", common=True,
            also=("metric",), accept=_measures, signed="measures", completes="measure",
        ),
    ] = ()  # fmt: skip
    ratio: Annotated[
        Literal["matters", "confounds"] | None,
        Opt(
            "The measures for a problem where the class ratio matters (errors add up), or "
            "confounds (each row stands alone).",
            MEASURED, signed="ratio", stated=True,
        ),
    ] = None  # fmt: skip
    beta: Annotated[
        float,
        Opt(
            "In F, recall counts this many times as much.",
            MEASURED, least=1e-6, most=1e6, outside="is not between 1e-6 and 1e6",
            signed="beta", stated=True,
        ),
    ] = 1.0  # fmt: skip
    crossover: Annotated[
        str | None,
        Opt(
            "Compare models by it; default the first measure that moves (tar).",
            MEASURED, metavar="MEASURE", accept=_measure, completes="measure",
        ),
    ] = None  # fmt: skip
    cost: Annotated[
        tuple[float, float] | None,
        Opt(
            "What errors cost, for example 1:10: expected cost, net benefit, and thresholds.",
            MEASURED, common=True,
            metavar="FP:FN", parse=notation.two_numbers(":", "1:10"), least=0,
        ),
    ] = None  # fmt: skip
    benefit: Annotated[
        tuple[float, float] | None,
        Opt(
            "What right answers bring, in the same unit.",
            MEASURED, metavar="TP:TN", parse=notation.two_numbers(":", "5:0"), least=0,
        ),
    ] = None  # fmt: skip
    resamples: Annotated[
        int, Opt("Of the bootstrap.", INTERVALS, least=100, most=10**6, stated=True)
    ] = RESAMPLES
    seed: Annotated[
        int, Opt("Of all that is drawn.", INTERVALS, least=0, most=2**63, stated=True)
    ] = 0
    interval: Annotated[
        Literal["exact", "bootstrap", "none"],
        Opt(
            "By formula, by resampling positives and negatives apart, or none at all.",
            INTERVALS, stated=True,
        ),
    ] = "exact"  # fmt: skip
    level: Level = 0.95
    margin: Margin = None
    totals: Totals = "random"

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures shown, in the order of columns."""
        from clfeval.measures.odds import TUNABLE

        moving, fixed, staked = kinds()
        # sums over everybody, or what holds for each case by itself
        shown = {"matters": (*moving[:9], "mcc"), "confounds": ("mcc", "ic", *fixed)}
        chosen = self.measure or shown.get(str(self.ratio), (*moving, *fixed))
        asked = (*chosen, *staked) if self.stakes is not None else chosen
        return tuple(name for name in TUNABLE if name in asked)

    @property
    def tuned(self) -> tuple[str, ...]:
        """The measures that choose thresholds: those asked for, else a few that all know."""
        from clfeval.measures.catalog import CATALOG

        names = self.measures if self.measure else (*TUNED, *kinds()[2])
        best = (name for name in self.measures if CATALOG[name].sign and name not in BENT)
        return tuple(name for name in best if name in names)

    @property
    def compared(self) -> str | None:
        """The measure by which models are compared over the odds: that asked for, or the cost."""
        if self.crossover is not None:
            return self.crossover
        if self.stakes is not None:
            return "expected_cost"
        if self.ratio == "confounds":
            return "j_index"
        from clfeval.measures.catalog import CATALOG

        names = self.measure or self.measures
        better = (n for n in names if CATALOG[n].best != "zero" and not CATALOG[n].invariant)
        return next(better, None)

    @property
    def swept(self) -> tuple[Population, ...]:
        """The populations of the sweep; as far as the targets lie where nobody chose its ends."""
        return () if self.sweep is None else sweep(self.sweep, self.points, self.populations)

    @property
    def stakes(self) -> Stakes | None:
        """What errors cost and right answers bring; None where nobody says."""
        if self.cost is None:
            return None
        from clfeval.measures.odds import Stakes

        return Stakes(*self.cost, *(self.benefit or ()))

    def settled(self) -> TuneOptions:
        """Return the options with what parameters in names of measures stand for."""
        names = (*self.measure, self.crossover)
        if not any(name and ":" in name for name in names):
            return self
        from clfeval.methods.tune_jpt.asked import stood_for

        said = {"beta": None if self.beta == 1 else self.beta, "cost": self.cost,
                "benefit": self.benefit}  # fmt: skip
        ids = tuple(name.partition(":")[0] for name in self.measure)
        crossover = self.crossover and self.crossover.partition(":")[0]
        return replace(self, measure=ids, crossover=crossover, **stood_for(names, said))

    def check(self) -> None:
        """Raise UsageError for what no computation accepts, or does not go together."""
        self.settled()._check()

    def _check(self) -> None:
        from clfeval.measures.catalog import CATALOG

        _ = self.populations, self.swept
        if self.ratio is not None and self.measure:
            raise bad_option("--ratio chooses measures, and --measure names them: give one")
        if self.crossover is not None and CATALOG[self.crossover].best == "zero":
            raise bad_option(f"--crossover {self.crossover}: neither more nor less of it is better")
        self._check_stakes()
        for name in kinds()[2]:
            if self.cost is None and name in (*self.measure, self.crossover):
                hint = "--cost FP:FN, such as --cost 1:10 where a miss costs ten false alarms"
                what = f"{name} needs to know what errors cost"
                raise UsageError.of(what, "needs-cost", hint=hint)
        if self.prevalence_range is not None:
            low, high = self.prevalence_range
            for end in (low, high):
                Population.of_prevalence(end, "--prevalence-range")
            if low >= high:
                what = f"--prevalence-range {low:g}..{high:g} does not go from lower to higher"
                raise bad_option(what)
        prior = self.prevalence_beta
        if prior is not None and not all(0.001 <= x <= 1e18 for x in prior):
            given = ",".join(f"{x:g}" for x in prior)
            raise bad_option(f"--prevalence-beta {given}: two numbers from 0.001 to 1e18, as 2,98")

    def _check_stakes(self) -> None:
        """Raise UsageError for costs and benefits that decide nothing."""
        if self.cost is None:
            if self.benefit is not None:
                raise bad_option("--benefit adds to --cost FP:FN: give both")
            return
        (fp, fn), (tp, tn) = self.cost, self.benefit or (0.0, 0.0)
        for option, both in (("--cost", (fp, fn)), ("--benefit", (tp, tn))):
            if not all(0 <= one < math.inf for one in both):
                raise bad_option(f"{option} {both[0]:g}:{both[1]:g}: numbers from 0 up")
        if not (fp + tn > 0 and fn + tp > 0):
            raise bad_option(
                f"--cost {fp:g}:{fn:g}: where one kind of error is free, the best answer is "
                "always the other"
            )


TUNE_JPT = Command(
    "tune-jpt",
    (TuneOptions,),
    have="predictions or 2 x 2 tables",
    want="the same at another share of positives",
    help="Tell what 2 x 2 tables would look like at another share of positives.",
    examples="""clfeval tune-jpt --counts 67,5,33,95 --odds 1:100 --population 50000
clfeval tune-jpt --counts ccp=67,5,33,95 --counts rf=69,15,31,85 --odds 1:50
clfeval tune-jpt preds.csv --positive malignant --prevalence-range 0.001..0.02
clfeval tune-jpt preds.csv --positive malignant --crossover mcc
clfeval tune-jpt scores.parquet --odds 1:1000 --cost 1:50
clfeval tune-jpt scores.parquet -f csv --table cutoffs > cutoffs.csv
""",
    tables="Predictions or counts: CSV, TSV, Parquet, Arrow IPC or NDJSON (.gz and .zst too); - "
    "is standard input; several files of one schema, or a quoted glob; "
    "with --join NAME=FILE, one file per model.",
    optional=True,
)
