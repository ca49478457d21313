"""What phidelta is asked for, checked before any table is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from clfeval.counts.features.cuts import Cut
from clfeval.errors import Problem, UsageError, bad_option, suggestion
from clfeval.measures.population import Population
from clfeval.methods.estimates import check_level

Interval = Literal["exact", "none"]
ISOMETRICS = {
    "sensitivity": (0.0, 1.0),
    "specificity": (0.0, 1.0),
    "accuracy": (0.0, 1.0),
    "precision": (0.0, 1.0),
    "npv": (0.0, 1.0),
    "mutual_information": (0.0, 1.0),
}
CUTS = ("median", "mean", "best", "soft")
PHI_MAX, DELTA_MIN = 0.95, 0.1  # of --select, where the user gives none


@dataclass(frozen=True, slots=True)
class PlaneOptions:
    """What classifiers and features share: intervals, populations, lines of equal measure."""

    level: float = 0.95
    interval: Interval = "exact"
    populations: tuple[Population, ...] = ()
    isometrics: tuple[tuple[str, tuple[float, ...]], ...] = ()

    @property
    def confidence(self) -> float | None:
        """The level, None where no intervals are wanted."""
        return self.level if self.interval == "exact" else None

    def check(self) -> None:
        """Raise UsageError for values no computation accepts."""
        check_level(self.level)
        if self.interval not in ("exact", "none"):
            raise bad_option(f"--interval is one of exact, none, not '{self.interval}'")
        for name, values in self.isometrics:
            if name not in ISOMETRICS:
                raise UsageError(
                    Problem(f"--isometrics: no line for '{name}'", "bad-option"),
                    hint=suggestion(name, ISOMETRICS) or f"one of {', '.join(ISOMETRICS)}",
                )
            low, high = ISOMETRICS[name]
            for value in values:
                if not low <= value <= high:
                    raise bad_option(f"--isometrics {name}={value:g} is not in {low:g}..{high:g}")


@dataclass(frozen=True, slots=True)
class ClassifierOptions:
    """What is asked of classifiers beside the plane."""

    reference: str | None = None
    curve: bool = False
    points: int | Literal["all"] | None = None
    run: str | None = None
    run_files: bool = False
    train_fraction: float | None = None

    @property
    def runs(self) -> bool:
        """True when the table holds several runs."""
        return self.run is not None or self.run_files

    def check(self) -> None:
        """Raise UsageError for options that do not go together."""
        if self.points is not None and not self.curve:
            raise bad_option("--points says how many points a curve lists: add --curve")
        if self.points not in (None, "all") and (
            not isinstance(self.points, int) or self.points < 2
        ):
            raise bad_option(f"--points '{self.points}' is not a whole number from 2 up")
        if self.run is not None and self.run_files:
            raise bad_option("--run and --run-files both say what a run is: give one")
        if self.train_fraction is not None:
            if not self.runs:
                raise bad_option("--train-fraction is for comparing runs: add --run COLUMN")
            if not 0 < self.train_fraction < 1:
                raise bad_option(f"--train-fraction {self.train_fraction:g} is not between 0 and 1")


@dataclass(frozen=True, slots=True)
class FeatureOptions:
    """What is asked of features beside the plane."""

    cut: Cut | None = None
    wanted: tuple[str, ...] = ()
    select: bool = False
    phi_max: float | None = None
    delta_min: float | None = None
    top: int | None = None

    def check(self) -> None:
        """Raise UsageError for values out of range and options that do nothing."""
        if isinstance(self.cut, str) and self.cut not in CUTS:
            raise UsageError(
                Problem(
                    f"--cut '{self.cut}' is no number and none of {', '.join(CUTS)}", "bad-cut"
                ),
                hint=suggestion(self.cut, CUTS),
            )
        if isinstance(self.cut, float) and not math.isfinite(self.cut):
            raise bad_option(f"--cut {self.cut} is no finite number")
        limits = {"phi-max": self.phi_max, "delta-min": self.delta_min}
        for name, value in limits.items():
            if value is not None and not 0 < value <= 1:
                raise bad_option(f"--{name} {value:g} is not above 0 and up to 1")
        if self.top is not None and (not isinstance(self.top, int) or self.top < 1):
            raise bad_option(f"--top '{self.top}' is not a whole number of features from 1 up")
        given = [name for name, value in (*limits.items(), ("top", self.top)) if value is not None]
        if given and not self.select:
            raise bad_option(f"--{given[0]} limits a selection: add --select")
