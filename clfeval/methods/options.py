"""Options that methods share: how sure the numbers are to be, and for which populations."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from clfeval.errors import bad_option, not_a_table
from clfeval.options.declaration import Opt, as_list, to_float, to_mapping
from clfeval.options.values import parse_count_or_all, parse_margins, parse_one_column, parse_words

if TYPE_CHECKING:
    from clfeval.measures.population import Population

INTERVALS, POPULATIONS, RUNS, COMPARING = "Intervals", "Populations", "Runs", "Comparing"  # panels
RESAMPLES = 2000  # unless another number is asked for


def accept_table(flag: str, given: Any) -> Any:
    """Take what is read elsewhere: a frame, or the names of files; UsageError for other things."""
    several = given if isinstance(given, (list, tuple)) else [given]
    named = several and all(isinstance(one, (str, os.PathLike)) and str(one) for one in several)
    if given is None or named or hasattr(type(given), "columns"):
        return given
    raise not_a_table(given, flag)


def accept_level(flag: str, given: Any) -> float:
    """Return a confidence level; UsageError unless it lies between 0 and 1, up to 0.999999999."""
    level = to_float(flag, given)
    if not 0 < level <= 1 - 1e-9:
        hint = f"{level / 100:g} for {level:g} %" if 1 < level < 100 else None
        raise bad_option(f"{flag} {given} is not between 0 and 1 (at most 0.999999999)", hint)
    return level


Interval = Annotated[
    Literal["exact", "wilson", "jeffreys", "agresti-coull", "bootstrap", "none"],
    Opt(
        "Interval method: exact, wilson, jeffreys, bootstrap, none, ...",
        INTERVALS, signed="ci", stated=True, metavar="METHOD",
    ),
]  # fmt: skip
Level = Annotated[
    float,
    Opt(
        "Confidence level of intervals and tests; default 0.95.",
        INTERVALS,
        accept=accept_level,
        above=0,
        most=1 - 1e-9,
        stated=True,
    ),
]
Seed = Annotated[
    int,
    Opt("Seed of the random numbers.", INTERVALS, least=0, most=2**63, stated=True, shell=False),
]
Totals = Annotated[
    Literal["random", "fixed"],
    Opt(
        "Class totals: random, or fixed by design (case-control sampling).",
        INTERVALS, signed="totals", stated=True, shell=False,
    ),
]  # fmt: skip


def _accept_margins(flag: str, given: Any) -> dict[str, float]:
    """Return the smallest difference that matters of each measure; UsageError for others."""
    named = to_mapping(flag, given, "measures to differences")
    found = {name: to_float(flag, value) for name, value in named.items()}
    for name, value in found.items():
        if not 0 < value < math.inf:
            raise bad_option(f"{flag} {name}={value:g} is not a number above 0")
    return found


def margin_option(
    text: str = "Smallest difference of a measure that matters; repeat.", key: str = "margin",
    *, needs: str | None = "applies to differences from a reference", shell: bool = True,
) -> Opt:  # fmt: skip
    """Return an option of differences by measure; needs: why a reference has to be given."""
    return Opt(
        text, COMPARING, metavar="MEASURE=DELTA", parse=parse_margins, accept=_accept_margins,
        takes=Mapping[str, float] | None, signed=key, stated=True, shell=shell,
        needs=None if needs is None else ("reference", needs),
    )  # fmt: skip


def reference_option(text: str = "Compare the other models with this one.") -> Opt:
    """Return the option of a reference."""
    return Opt(text, COMPARING, metavar="MODEL", signed="ref", stated=True, completes="model")


def measure_option(panel: str) -> Opt:
    """Return the option of measures beside those of a command, by name, in a panel of it."""
    return Opt(
        "Add a measure or set (hard, ranking, all); repeat.",
        panel, metavar="MEASURE", completes="measure", stated=True,
    )  # fmt: skip


def check_reference(
    reference: str | None, level: float | None, margin: Mapping[str, float],
    known: Sequence[str],
) -> None:  # fmt: skip
    """Raise UsageError for comparisons without intervals, and margins of measures not compared."""
    if reference is not None and level is None:
        raise bad_option("--reference compares by intervals: leave --interval none out")
    if unknown := margin.keys() - {*known}:
        what = f"--margin {min(unknown)}: models are compared by {', '.join(known)}"
        raise bad_option(what, "for other measures run clfeval report with --reference MODEL")


def check_measures(names: Sequence[str]) -> None:
    """Raise UsageError for what is no measure of two classes, before anything is counted."""
    if names:
        from clfeval.methods.measurement.requested_measures import parse_measures

        parse_measures(names)


def curve_points_option(panel: str) -> Opt:
    """Return the option of how many points of a curve are listed, in a panel of a command."""
    return Opt(
        "Number of points listed per curve; default at most 200.",
        panel, metavar="N|all", parse=parse_count_or_all, least=2, shell=False,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class IntervalSettings:
    """How sure numbers are to be, and how that is found out; level None for no intervals."""

    level: float | None
    how: str = "exact"
    totals: str = "random"
    resamples: int = RESAMPLES
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RunOptions:
    """What tells runs of models apart."""

    run: Annotated[
        str | None,
        Opt(
            "Column of runs (folds, seeds) to average over.",
            RUNS, metavar="COLUMN", parse=parse_one_column, many=True, stated=True, signed="run",
            completes="column",
        ),
    ] = None  # fmt: skip
    run_files: Annotated[
        bool, Opt("Treat each file as one run.", RUNS, stated=True, shell=False)
    ] = False

    @property
    def runs(self) -> bool:
        """True when the table holds several runs."""
        return self.run is not None or self.run_files

    def check_runs(self) -> None:
        """Raise UsageError where both say what a run is."""
        if self.run is not None and self.run_files:
            raise bad_option("--run and --run-files exclude each other: give one")


class IntervalOptions:
    """Options that say how sure the numbers are to be."""

    __slots__ = ()
    interval: str
    level: float

    @property
    def confidence(self) -> float | None:
        """The level, None where no intervals are wanted."""
        return None if self.interval == "none" else self.level

    @property
    def sure(self) -> dict[str, Any]:
        """The level and the method, as intervals of shares take them."""
        exact = self.interval in ("none", "exact")
        return {"level": self.confidence, "how": "exact" if exact else self.interval}

    @property
    def signed(self) -> str:
        """How sure the numbers are, as a signature says it."""
        how = "" if self.interval == "exact" else f"{self.interval}-"
        return "none" if self.confidence is None else f"{how}{self.level!r}"


def _accept_populations(flag: str, given: Any) -> tuple[str | float, ...]:
    """Return shares of positives, odds and ranges of either, texts or numbers."""
    found = tuple(
        one.strip() if isinstance(one, str) else to_float(flag, one) for one in as_list(given)
    )
    for one in found:
        _parse_population_range(flag, one)
    return found


def _parse_population_range(flag: str, given: str | float) -> tuple[Population, ...]:
    """Return one population, or both ends of a range; UsageError for what is neither."""
    from clfeval.measures.population import Population

    if not isinstance(given, str):
        return (Population.from_prevalence(given, flag),)
    left, dots, right = given.partition("..")
    if not dots:
        return (Population.from_text(given, flag),)
    ends = Population.from_text(left, flag), Population.from_text(right, flag)
    if ends[0].ratio >= ends[1].ratio:
        raise bad_option(f"{flag} {given} is not in the order lower, higher")
    return ends


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)  # beside a group that has slots
class PopulationOptions:
    """Which other class ratios to look at."""

    prevalence: Annotated[
        tuple[str | float, ...],
        Opt(
            "Evaluate at this prevalence: 0.02, 1/50, 1:49.",
            POPULATIONS, metavar="P", parse=parse_words, accept=_accept_populations,
            takes=str | float | Sequence[str | float] | None,
        ),
    ] = ()  # fmt: skip

    @property
    def spans(self) -> Iterator[tuple[Population, ...]]:
        """What was given, one by one: a population, or both ends of a range."""
        return (_parse_population_range("--prevalence", one) for one in self.prevalence)

    @property
    def populations(self) -> tuple[Population, ...]:
        """The populations in the order given, each once; of a range its ends and its middle."""
        from clfeval.measures.population import Population

        found: list[Population] = []
        for low, *high in self.spans:
            middle = (Population.from_ratio((low.ratio * one.ratio) ** 0.5) for one in high)
            found += (low, *middle, *high)
        return distinct_populations(found)


def distinct_populations(populations: Iterable[Population]) -> tuple[Population, ...]:
    """Return populations in their order, each once; rows tell them apart by odds as written."""
    found: list[Population] = []
    for one in populations:
        if not any(one.ratio == other.ratio or one.odds == other.odds for other in found):
            found.append(one)
    return tuple(found)
