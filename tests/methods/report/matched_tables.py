"""Simulated tables of a rule with labels and of models with scores, at known sensitivities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri

from clfeval.arrays import Bools, Floats, Ints
from clfeval.compare.families import PairFamily, adjusted_family
from clfeval.counts.scores import ScoreCounts
from clfeval.methods.report.matched_operating_point import (
    EvaluatedClasses,
    LabelCounts,
    MatchedCurve,
    matched_estimates,
)

RULE, LEVEL = "rule", 0.95
CLUSTERS = 40
SHARED = 0.5  # correlation of the noise of any two models, and of the rule
OF_CLUSTER = 0.1  # share of the variance of scores that is that of clusters
UNIT = 100.0


@dataclass(frozen=True)
class Setting:
    """A population, and how its rows are sampled.

    gains: mean of the positives of each model, in standard deviations, above that of the rule,
    whose own is 1. specificity: of the rule.
    """

    rows: int
    prevalence: float
    specificity: float
    gains: Sequence[float]
    clustered: bool = False
    weighted: bool = False

    @property
    def differences(self) -> Floats:
        """The true differences in sensitivity at the specificity of the rule."""
        threshold = ndtri(self.specificity)
        return np.array([ndtr(1 + gain - threshold) - ndtr(1 - threshold) for gain in self.gains])


@dataclass(frozen=True)
class SimulatedTable:
    """Rows of a table: truth, labels of the rule, scores (k, n), clusters and weights."""

    truth: Bools
    labels: Bools
    scores: Floats
    owners: Ints | None
    weights: Ints | None

    @classmethod
    def draw(cls, setting: Setting, rng: np.random.Generator) -> SimulatedTable:
        """Draw a table of a setting."""
        n, k = setting.rows, len(setting.gains)
        truth = np.arange(n) < round(n * setting.prevalence)
        noise = np.sqrt(SHARED) * rng.standard_normal(n)
        noise = noise + np.sqrt(1 - SHARED) * rng.standard_normal((k + 1, n))
        owners = None
        if setting.clustered:
            owners = rng.integers(0, CLUSTERS, n)
            _, owners = np.unique(owners, return_inverse=True)
            effects = rng.standard_normal((k + 1, CLUSTERS))[:, owners]
            noise = np.sqrt(OF_CLUSTER) * effects + np.sqrt(1 - OF_CLUSTER) * noise
        latent = noise + truth * (1 + np.array([*setting.gains, 0.0]))[:, None]
        weights = None
        if setting.weighted:
            weights = np.round(UNIT * rng.uniform(0.5, 2.0, n)).astype(np.int64)
        labels = latent[-1] > ndtri(setting.specificity)
        return cls(truth, labels, latent[:-1], owners, weights)

    def family(self, rows: EvaluatedClasses | None = None) -> PairFamily:
        """Return the differences of the models from the rule at its specificity."""
        rows = self.classes() if rows is None else rows
        n = np.ones(len(self.truth), np.int64) if self.weights is None else self.weights
        cells = [n[self.labels & self.truth], n[self.labels & ~self.truth]]
        cells += [n[self.truth], n[~self.truth]]
        rule = LabelCounts(RULE, *(float(cell.sum()) for cell in cells))
        scores = {f"m{j}": column for j, column in enumerate(self.scores)}
        curves = [
            MatchedCurve.from_counts(
                name, ScoreCounts.from_rows(column, self.truth, self.weights), rule
            )
            for name, column in scores.items()
        ]
        estimates = matched_estimates(curves, rows, scores, {RULE: self.labels}, LEVEL)
        pairs = [(j, len(scores)) for j in range(len(scores))]
        family = adjusted_family(estimates, pairs, level=LEVEL, seed=0)
        assert family is not None
        return family

    def classes(self) -> EvaluatedClasses:
        """Return the rows as the comparison takes them."""
        n = np.ones(len(self.truth)) if self.weights is None else self.weights / UNIT
        sizes = []
        for side in (~self.truth, self.truth):
            totals = n[side]
            if self.owners is not None:
                totals = np.bincount(self.owners[side], totals)
            sizes.append(totals.sum() ** 2 / (totals**2).sum())
        sampling = self.weights is not None and self.owners is None
        return EvaluatedClasses(self.truth, self.weights, self.owners, sampling, np.array(sizes))


@dataclass(frozen=True)
class Tally:
    """Shares of the tables with an interval: covered, claims of more and of fewer positives."""

    tables: int
    covered: float
    more: float
    fewer: float


def tally(setting: Setting, tables: int, seed: int) -> Tally:
    """Return how often intervals hold the true difference, and how often models are claimed."""
    rng = np.random.default_rng(seed)
    counts = np.array([_table_counts(setting, rng) for _ in range(tables)])
    defined = counts[:, 0] > 0
    if not defined.any():
        return Tally(0, np.nan, np.nan, np.nan)
    shares = counts[defined].mean(axis=0)
    return Tally(int(defined.sum()), *shares[1:].tolist())


def _table_counts(setting: Setting, rng: np.random.Generator) -> list[float]:
    """Return whether a table has intervals, the share that holds the truth, and both claims."""
    family = SimulatedTable.draw(setting, rng).family()
    claimed = family.significant
    values = [change.difference for change in family.changes()]
    if any(value.low is None for value in values):
        return [0.0, 0.0, 0.0, 0.0]
    low = np.array([value.low for value in values])
    high = np.array([value.high for value in values])
    held = (low <= setting.differences) & (setting.differences <= high)
    gained = np.array([value.value for value in values]) > 0
    more, fewer = (claimed & gained).any(), (claimed & ~gained).any()
    return [1.0, float(held.mean()), float(more), float(fewer)]


def settings(
    gains: Sequence[float], *, clustered: bool = False, weighted: bool = False
) -> Iterator[Setting]:
    """Yield the settings of the tables of coverage and of claims."""
    for rows in (300, 2000):
        for prevalence in (0.05, 0.3):
            for specificity in (0.7, 0.9, 0.98):
                setting = Setting(rows, prevalence, specificity, gains)
                yield replace(setting, clustered=clustered, weighted=weighted)
