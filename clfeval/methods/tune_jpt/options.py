"""What tune-jpt is asked for, checked before any table is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from clfeval.errors import Problem, UsageError, bad_option, suggestion
from clfeval.measures.catalog import CATALOG, one_of, spellings
from clfeval.measures.odds import Stakes
from clfeval.measures.population import Population
from clfeval.methods.estimates import check_level

Interval = Literal["exact", "bootstrap", "none"]
Ratio = Literal["matters", "confounds"]

# the order of columns
MEASURES = (
    "tar", "tor", "ppv", "npv", "ppv_odds", "npv_odds", "epa", "f_beta", "f_odds", "mcc", "ic",
    "sensitivity", "specificity", "j_index", "phi", "delta", "lr_pos", "lr_neg", "dor", "dp",
    "expected_cost", "net_benefit",
)  # fmt: skip
STAKED = tuple(name for name in MEASURES if "stakes" in CATALOG[name].takes)
FIXED = tuple(name for name in MEASURES if CATALOG[name].invariant)
MOVING = tuple(name for name in MEASURES if name not in (*FIXED, *STAKED))
TUNED = ("tar", "f_beta", "mcc", "ic", "j_index")  # measures that choose a threshold, unless asked
# what `--ratio` shows: sums over everybody, or what holds for each case by itself
SHOWN: dict[str, tuple[str, ...]] = {
    "matters": (*MOVING[:9], "mcc"),
    "confounds": ("mcc", "ic", *FIXED),
}
FULL_SWEEP = "1:1000..1000:1"
REPEATS = 5  # of cross-fitting; a large table is the same however it is dealt
LARGE = 100_000
MOST_POINTS = 10_000
ROWS = 1000  # of the tables shown


@dataclass(frozen=True, slots=True)
class Sweep:
    """Populations at evenly spaced logarithms of their odds, both ends among them."""

    first: Population
    last: Population
    points: int

    @classmethod
    def parse(cls, text: str, points: int) -> Sweep:
        """Parse `P:N..P:N`; UsageError for anything else, and for fewer than two points."""
        left, dots, right = text.partition("..")
        if not dots or right.startswith("."):
            raise UsageError(
                Problem(f"--sweep '{text}' is not two odds with .. between", "bad-odds"),
                hint=f"for example --sweep {FULL_SWEEP}",
            )
        first, last = (Population.of_odds(end, "--sweep") for end in (left, right))
        if first.ratio > last.ratio:
            first, last = last, first
        if first.ratio == last.ratio:
            raise bad_option(f"--sweep '{text}' starts where it ends")
        check_points(points)
        return cls(first, last, points)

    def covering(self, targets: Sequence[Population]) -> Sweep:
        """Return the sweep stretched as far as the targets lie."""
        every = sorted((self.first, self.last, *targets), key=lambda one: one.ratio)
        return Sweep(every[0], every[-1], self.points)

    @property
    def populations(self) -> tuple[Population, ...]:
        """The populations from few positives to many."""
        low, high = math.log10(self.first.ratio), math.log10(self.last.ratio)
        step = (high - low) / (self.points - 1)
        inner = (float(f"{10 ** (low + i * step):.12g}") for i in range(1, self.points - 1))
        return (self.first, *map(Population.of_ratio, inner), self.last)


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """Targets, measures, stakes, and how sure the numbers are to be."""

    level: float = 0.95
    interval: Interval = "exact"
    targets: tuple[Population, ...] = ()
    sweep: Sweep | None = None
    prevalence_range: tuple[float, float] | None = None
    beta_prior: tuple[float, float] | None = None
    wanted: tuple[str, ...] = ()
    beta: float = 1.0
    crossover: str | None = None
    stakes: Stakes | None = None
    ratio: Ratio | None = None
    population: float | None = None
    folds: int = 10
    resamples: int = 2000
    seed: int = 0

    @property
    def confidence(self) -> float | None:
        """The level, None where no intervals are wanted."""
        return None if self.interval == "none" else self.level

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures shown, in the order of columns."""
        chosen = self.wanted or SHOWN.get(str(self.ratio), (*MOVING, *FIXED))
        staked = STAKED if self.stakes is not None else ()
        return tuple(n for n in (*MOVING, *FIXED, *staked) if n in (*chosen, *staked))

    @property
    def tuned(self) -> tuple[str, ...]:
        """The measures that choose thresholds: those asked for, else a few that all know."""
        names = self.measures if self.wanted else (*TUNED, *STAKED)
        return tuple(name for name in self.measures if name in names)

    @property
    def compared(self) -> str | None:
        """The measure by which models are compared over the odds: that asked for, or the cost."""
        if self.crossover is not None:
            return self.crossover
        if self.stakes is not None:
            return "expected_cost"
        if self.ratio == "confounds":
            return "j_index"
        moving = (n for n in self.wanted or self.measures if not CATALOG[n].invariant)
        return next(moving, None)

    def check(self) -> None:
        """Raise UsageError for values no computation accepts."""
        for option, value, known in (
            ("--interval", self.interval, get_args(Interval)),
            ("--ratio", self.ratio, (None, *get_args(Ratio))),
        ):
            if value not in known:
                words = ", ".join(word for word in known if word)
                raise bad_option(f"{option} is one of {words}, not '{value}'")
        if self.ratio is not None and self.wanted:
            raise bad_option("--ratio chooses measures, and --measure names them: give one")
        check_level(self.level)
        if not 1e-6 <= self.beta <= 1e6:
            raise bad_option(f"--beta {self.beta:g} is not between 1e-6 and 1e6")
        if self.population is not None and not 0 < self.population < math.inf:
            raise bad_option(f"--population {self.population:g} is not a number above 0")
        for option, count, least, most in (
            ("--folds", self.folds, 2, 1000),
            ("--resamples", self.resamples, 100, 10**6),
            ("--seed", self.seed, 0, 2**63),
        ):
            if not least <= count <= most:
                raise bad_option(f"{option} {count} is not a whole number from {least} to {most:,}")
        if self.crossover is not None and CATALOG[self.crossover].best == "zero":
            raise bad_option(f"--crossover {self.crossover}: neither more nor less of it is better")
        for name in STAKED:
            if self.stakes is None and name in (*self.wanted, self.crossover):
                raise UsageError(
                    Problem(f"{name} needs to know what errors cost", "needs-cost"),
                    hint="--cost FP:FN, such as --cost 1:10 where a miss costs ten false alarms",
                )
        if self.prevalence_range is not None:
            low, high = self.prevalence_range
            for end in (low, high):
                Population.of_prevalence(end, "--prevalence-range")
            if low >= high:
                what = f"--prevalence-range {low:g}..{high:g} does not go from lower to higher"
                raise bad_option(what)
        if self.beta_prior is not None and not all(0.001 <= x <= 1e18 for x in self.beta_prior):
            given = ",".join(f"{x:g}" for x in self.beta_prior)
            raise bad_option(f"--prevalence-beta {given}: two numbers from 0.001 to 1e18, as 2,98")


def check_points(points: int) -> None:
    """Raise UsageError for a number of swept odds that makes no sweep, or one of no use."""
    if not 2 <= points <= MOST_POINTS:
        raise bad_option(f"--points {points} is not a whole number from 2 to {MOST_POINTS:,}")


def measure_ids(names: Sequence[str], option: str = "--measure") -> tuple[str, ...]:
    """Return the measures of tune-jpt by id or alias; UsageError for names it has not."""
    found = []
    for name in names:
        one = one_of(name, MEASURES)
        if one is None:
            raise UsageError(
                Problem(f"{option}: no measure '{name}'", "unknown-measure"),
                hint=_hint(option, name),
            )
        found.append(one)
    return tuple(dict.fromkeys(found))


def _hint(option: str, name: str) -> str:
    """Suggest a measure by id or alias, or to repeat the option."""
    if "," in name:
        return f"one at a time: {' '.join(f'{option} {part.strip()}' for part in name.split(','))}"
    return suggestion(name, spellings(MEASURES)) or f"one of {', '.join(MEASURES)}"
