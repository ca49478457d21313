"""Options that methods share: how sure the numbers are to be, and for which populations."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from clfeval.errors import bad_option, no_table
from clfeval.notation import count_or_all, one_column, shares
from clfeval.options import Opt, listed, number

if TYPE_CHECKING:
    from clfeval.measures.population import Population

INTERVALS, POPULATIONS, RUNS = "Intervals", "Populations", "Runs"  # panels
RESAMPLES = 2000  # unless another number is asked for


def table(flag: str, given: Any) -> Any:
    """Take what is read elsewhere: a frame, or the names of files; UsageError for other things."""
    several = given if isinstance(given, (list, tuple)) else [given]
    named = several and all(isinstance(one, (str, os.PathLike)) and str(one) for one in several)
    if given is None or named or hasattr(type(given), "columns"):
        return given
    raise no_table(given, flag)


def level_of(flag: str, given: Any) -> float:
    """Return a confidence level; UsageError unless it lies between 0 and 1, up to 0.999999999."""
    level = number(flag, given)
    if not 0 < level <= 1 - 1e-9:
        hint = f"{level / 100:g} for {level:g} %" if 1 < level < 100 else None
        raise bad_option(f"{flag} {given} is not between 0 and 1 (at most 0.999999999)", hint)
    return level


Interval = Annotated[
    Literal["exact", "none"],
    Opt("Exact (Clopper-Pearson) for shares of rows, or none at all.", INTERVALS, stated=True),
]
Level = Annotated[
    float,
    Opt("Their confidence level.", INTERVALS, accept=level_of, above=0, most=1 - 1e-9, stated=True),
]
Totals = Annotated[
    Literal["random", "fixed"],
    Opt(
        "Class totals of the rows: random, as in a sample, or fixed, as many of each as wanted; "
        "for intervals at the sample's class ratio.",
        INTERVALS, signed="totals", stated=True,
    ),
]  # fmt: skip


Margin = Annotated[
    float | None,
    Opt(
        "The smallest difference that matters, of the measure that decides: verdicts by it.",
        INTERVALS, metavar="DELTA", above=0, below=math.inf, outside="is not a number above 0",
        signed="margin", stated=True,
    ),
]  # fmt: skip


def also_measured(panel: str) -> Opt:
    """Return the option of measures beside those of a command, by name, in a panel of it."""
    return Opt(
        "Also this measure, by id or alias, with its parameters (f_beta:beta=2), or a set: "
        "default, hard, probability, ranking, ordinal, all; repeat.",
        panel, metavar="MEASURE[:KEY=V]", completes="measure", stated=True, common=True,
    )  # fmt: skip


def check_measures(names: Sequence[str]) -> None:
    """Raise UsageError for what is no measure of two classes, before anything is counted."""
    if names:
        from clfeval.methods.measured.asked import asked_of

        asked_of(names)


def curve_points(panel: str) -> Opt:
    """Return the option of how many points of a curve are listed, in a panel of a command."""
    return Opt(
        "How many points of a curve are listed; default up to 200.",
        panel, metavar="N|all", parse=count_or_all, least=2,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Certainty:
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
            "Rows are of several runs, told apart by this column: means over runs.",
            RUNS, metavar="COLUMN", parse=one_column, many=True, stated=True, signed="run",
            completes="column", common=True,
        ),
    ] = None  # fmt: skip
    run_files: Annotated[bool, Opt("Every file is a run.", RUNS, stated=True)] = False

    @property
    def runs(self) -> bool:
        """True when the table holds several runs."""
        return self.run is not None or self.run_files

    def check_runs(self) -> None:
        """Raise UsageError where both say what a run is."""
        if self.run is not None and self.run_files:
            raise bad_option("--run and --run-files both say what a run is: give one")


class Sure:
    """Options that say how sure the numbers are to be."""

    __slots__ = ()
    interval: str
    level: float

    @property
    def confidence(self) -> float | None:
        """The level, None where no intervals are wanted."""
        return None if self.interval == "none" else self.level


def _odds(_: str, given: Any) -> tuple[str, ...]:
    return tuple(map(str, listed(given)))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)  # beside a group that has slots
class Populations:
    """Which other class ratios to look at."""

    prevalence: Annotated[
        tuple[float, ...],
        Opt(
            "At this share of positives: 0.005, 0.5% or 1/200; repeat.",
            POPULATIONS, metavar="SHARE", parse=shares, above=0, below=1, common=True,
        ),
    ] = ()  # fmt: skip
    odds: Annotated[
        tuple[str, ...],
        Opt(
            "The same as positives:negatives, for example 1:100; repeat.",
            POPULATIONS, metavar="P:N", accept=_odds, common=True,
        ),
    ] = ()  # fmt: skip

    @property
    def populations(self) -> tuple[Population, ...]:
        """The populations in the order given, each once; UsageError for what is none."""
        from clfeval.measures.population import Population

        found = [
            *map(Population.of_prevalence, self.prevalence),
            *map(Population.of_odds, self.odds),
        ]
        out: list[Population] = []
        for one in found:
            # rows are told apart by their odds as written
            if not any(one.ratio == other.ratio or one.odds == other.odds for other in out):
                out.append(one)
        return tuple(out)

    def check(self) -> None:
        """Raise UsageError for what is no population."""
        _ = self.populations
