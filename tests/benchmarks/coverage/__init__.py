"""How often intervals hold the truth and claims are false: simulations, too long for a test.

A module of this package is a topic. It has `lines(replicates: int) -> list[Line]`, which calls the
functions of `inference` and `methods` on arrays. `python -m tests.benchmarks.coverage` runs them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt


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
