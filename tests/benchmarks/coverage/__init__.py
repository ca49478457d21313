"""How often intervals hold the truth and claims are false: simulations, too long for a test.

A module of this package is a topic. It has `lines(replicates: int) -> list[Line]`, which calls the
functions of `inference` and `methods` on arrays. `python -m tests.benchmarks.coverage` runs them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Line:
    """One interval in one setting: the share of replicates, 0..1, in which it held the truth.

    Of a claim it is the share of replicates in which it was false, which its name says.
    `least` and `most` are what is promised of it, up to `slack` Monte-Carlo standard errors;
    `width` is the mean width, where that tells.
    """

    interval: str
    setting: str
    replicates: int
    covered: float
    least: float | None = None
    most: float | None = None
    width: float | None = None
    slack: float = 2.0

    @classmethod
    def of(
        cls, interval: str, setting: str, ends: Any, true: Any, least: float | None = None
    ) -> Line:
        """Return the share of intervals, (n, 2), that hold the truth, and their median width.

        Those with an unknown end are left out. Raises AssertionError where one has no width.
        """
        both = np.asarray(ends, np.float64).reshape(-1, 2)
        known = ~np.isnan(both).any(axis=1)
        low, high = both[known].T
        truth = np.broadcast_to(true, known.shape)[known]
        wide = high - low
        if least is not None and not (wide > 0).all():
            raise AssertionError(f"no width: {interval}, {setting}")
        held = ((low <= truth) & (truth <= high)).mean().item()
        width = np.median(wide[wide < inf]).item()
        return cls(interval, setting, int(known.sum()), held, least, width=width)

    @property
    def error(self) -> float:
        """The Monte-Carlo standard error of the share."""
        return sqrt(self.covered * (1 - self.covered) / self.replicates)

    @property
    def met(self) -> bool:
        """Whether it is what is promised."""
        slack = self.slack * self.error
        low = self.least is None or self.covered >= self.least - slack
        return low and (self.most is None or self.covered <= self.most + slack)
