"""Options that methods share: intervals, comparisons, measures, runs and populations."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from clfeval.errors import bad_option, not_a_table_error
from clfeval.options.declaration import Opt, as_list, to_float, to_mapping
from clfeval.options.syntax import parse_count_or_all, parse_margins, parse_one_column, parse_words
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass

if TYPE_CHECKING:
    from clfeval.measures.record import Population

INTERVALS, POPULATIONS, RUNS, COMPARING = "Intervals", "Populations", "Runs", "Comparing"  # panels
RESAMPLES = 2000  # default number


def accept_table(flag: str, value: object) -> Any:
    """Return a frame or file names unchanged; UsageError for other values."""
    tables = value if isinstance(value, (list, tuple)) else [value]
    are_names = tables and all(
        isinstance(name, (str, os.PathLike)) and str(name) for name in tables
    )
    if value is None or are_names or hasattr(type(value), "columns"):
        return value
    raise not_a_table_error(value, flag)


def accept_level(flag: str, value: object) -> float:
    """Return a confidence level; UsageError unless it lies between 0 and 1, up to 0.999999999."""
    level = to_float(flag, value)
    if not 0 < level <= 1 - 1e-9:
        hint = f"{level / 100:g} for {level:g} %" if 1 < level < 100 else None
        raise bad_option(
            f"{OPTION}{flag}{END} {value} is not between 0 and 1 (at most 0.999999999)", hint
        )
    return level


Interval = Annotated[
    Literal["exact", "wilson", "jeffreys", "agresti-coull", "bootstrap", "none"],
    Opt(
        "Interval method: exact, wilson, jeffreys, bootstrap, none, ...",
        INTERVALS,
        signed="ci",
        is_parameter=True,
        metavar="METHOD",
    ),
]
Level = Annotated[
    float,
    Opt(
        "Confidence level of intervals and tests; default 0.95.",
        INTERVALS,
        accept=accept_level,
        above=0,
        maximum=1 - 1e-9,
        is_parameter=True,
    ),
]
Seed = Annotated[
    int,
    Opt(
        "Seed of the random numbers.",
        INTERVALS,
        minimum=0,
        maximum=2**63,
        is_parameter=True,
        shell=False,
    ),
]
Totals = Annotated[
    Literal["random", "fixed"],
    Opt(
        "Class totals: random, or fixed by design (case-control sampling).",
        INTERVALS,
        signed="totals",
        is_parameter=True,
        shell=False,
    ),
]


def _accept_margins(flag: str, value: object) -> dict[str, float]:
    """Return the smallest relevant difference of each measure; UsageError unless above 0."""
    mapping = to_mapping(flag, value, "measures to differences")
    margins = {name: to_float(flag, margin) for name, margin in mapping.items()}
    for name, margin in margins.items():
        if not 0 < margin < math.inf:
            raise bad_option(f"{OPTION}{flag}{END} {name}={margin:g} is not a number above 0")
    return margins


def margin_option(
    text: str = "Smallest difference of a measure that matters; repeat.",
    key: str = "margin",
    *,
    needs: str | None = "applies to differences from a reference",
    shell: bool = True,
) -> Opt:
    """Return the option of smallest relevant differences by measure.

    text: the help. key: the name in signatures. needs: why it takes a reference.
    """
    return Opt(
        text,
        COMPARING,
        metavar="MEASURE=DELTA",
        parse=parse_margins,
        accept=_accept_margins,
        takes=Mapping[str, float] | None,
        signed=key,
        is_parameter=True,
        shell=shell,
        needs=None if needs is None else ("reference", needs),
    )


def reference_option(text: str = "Compare the other models with this one.") -> Opt:
    """Return the option of a reference model."""
    return Opt(text, COMPARING, metavar="MODEL", signed="ref", is_parameter=True, completes="model")


def measure_option(panel: str) -> Opt:
    """Return the option of additional measures by name, in a panel of a command."""
    return Opt(
        "Add a measure or set (hard, ranking, all); repeat.",
        panel,
        metavar="MEASURE",
        completes="measure",
        is_parameter=True,
    )


def check_reference(
    reference: str | None, level: float | None, margin: Mapping[str, float], compared: Sequence[str]
) -> None:
    """Raise UsageError for a reference without intervals, and margins of measures not compared."""
    if reference is not None and level is None:
        raise bad_option(
            f"{OPTION}--reference{END} compares by intervals: leave {OPTION}--interval none{END} "
            "out"
        )
    if unknown_measures := margin.keys() - {*compared}:
        message = f"{OPTION}--margin{END} {min(unknown_measures)}: models are compared by "
        message += ", ".join(compared)
        raise bad_option(
            message, f"for other measures run clfeval report with {OPTION}--reference MODEL{END}"
        )


def check_measures(names: Sequence[str]) -> None:
    """Raise UsageError for unknown measures of two classes, before anything is counted."""
    if names:
        from clfeval.methods.measurement.requested_measures import parse_measures

        parse_measures(names)


def curve_points_option(panel: str) -> Opt:
    """Return the option of the number of curve points listed, in a panel of a command."""
    return Opt(
        "Number of points listed per curve; default at most 200.",
        panel,
        metavar="N|all",
        parse=parse_count_or_all,
        minimum=2,
        shell=False,
    )


@dataclass(frozen=True, slots=True)
class IntervalSettings:
    """Settings of confidence intervals; level None for no intervals."""

    level: float | None
    method: str = "exact"
    totals: str = "random"
    resamples: int = RESAMPLES
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RunOptions:
    """Options that identify the runs of models."""

    run: Annotated[
        str | None,
        Opt(
            "Column of runs (folds, seeds) to average over.",
            RUNS,
            metavar="COLUMN",
            parse=parse_one_column,
            repeatable=True,
            is_parameter=True,
            signed="run",
            completes="column",
        ),
    ] = None
    run_files: Annotated[
        bool, Opt("Treat each file as one run.", RUNS, is_parameter=True, shell=False)
    ] = False

    @property
    def runs(self) -> bool:
        """True when the table holds several runs."""
        return self.run is not None or self.run_files

    def check_runs(self) -> None:
        """Raise UsageError where both options are given."""
        if self.run is not None and self.run_files:
            raise bad_option(
                f"{OPTION}--run{END} and {OPTION}--run-files{END} exclude each other: give one"
            )


class IntervalOptions:
    """Options of confidence intervals."""

    __slots__ = ()
    interval: str
    level: float

    @property
    def confidence(self) -> float | None:
        """The confidence level, None without intervals."""
        return None if self.interval == "none" else self.level

    @property
    def interval_arguments(self) -> dict[str, Any]:
        """The level and the method, as arguments of the intervals of shares."""
        is_exact = self.interval in ("none", "exact")
        return {"level": self.confidence, "method": "exact" if is_exact else self.interval}

    @property
    def signed(self) -> str:
        """The interval settings as text, for a signature."""
        method = "" if self.interval == "exact" else f"{self.interval}-"
        return "none" if self.confidence is None else f"{method}{self.level!r}"


def _accept_populations(flag: str, value: object) -> tuple[str | float, ...]:
    """Return shares of positives, odds and ranges of either, texts or numbers."""
    populations = tuple(
        population.strip() if isinstance(population, str) else to_float(flag, population)
        for population in as_list(value)
    )
    for population in populations:
        _parse_population_range(flag, population)
    return populations


def _parse_population_range(flag: str, value: str | float) -> tuple[Population, ...]:
    """Return one population, or both ends of a range; UsageError for other values."""
    from clfeval.measures.record import Population

    if not isinstance(value, str):
        return (Population.from_prevalence(value, flag),)
    low_text, separator, high_text = value.partition("..")
    if not separator:
        return (Population.from_text(value, flag),)
    low = Population.from_text(low_text, flag)
    high = Population.from_text(high_text, flag)
    if low.ratio >= high.ratio:
        raise bad_option(f"{OPTION}{flag}{END} {value} is not in the order lower, higher")
    return low, high


def prevalence_option(text: str) -> Opt:
    """Return the option of other prevalences, with its help."""
    return Opt(
        text,
        POPULATIONS,
        metavar="P",
        parse=parse_words,
        accept=_accept_populations,
        takes=str | float | Sequence[str | float] | None,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)  # combined with a group that has slots
class PopulationOptions:
    """Options of other class ratios to evaluate."""

    prevalence: Annotated[
        tuple[str | float, ...], prevalence_option("Evaluate at this prevalence: 0.02, 1/50, 1:49.")
    ] = ()

    @property
    def spans(self) -> Iterator[tuple[Population, ...]]:
        """The populations as given: one population, or both ends of a range, each."""
        return (_parse_population_range("--prevalence", text) for text in self.prevalence)

    @property
    def populations(self) -> tuple[Population, ...]:
        """The populations in the order given, each once; of a range its ends and its middle."""
        from clfeval.measures.record import Population

        populations: list[Population] = []
        for low, *high in self.spans:
            middle = (Population.from_ratio((low.ratio * upper.ratio) ** 0.5) for upper in high)
            populations += (low, *middle, *high)
        return distinct_populations(populations)


def distinct_populations(populations: Iterable[Population]) -> tuple[Population, ...]:
    """Return populations in order without duplicates, by ratio or odds as written."""
    distinct: list[Population] = []
    for population in populations:
        if not any(
            population.ratio == earlier.ratio or population.odds == earlier.odds
            for earlier in distinct
        ):
            distinct.append(population)
    return tuple(distinct)
