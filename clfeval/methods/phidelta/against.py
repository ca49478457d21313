"""Models against one of them on the same rows: differences, p values together, and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Floats
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.units import shown
from clfeval.inference.chance import paired_chance
from clfeval.inference.shares import Fourfold, holm, paired_combination
from clfeval.methods.clustered import Paired
from clfeval.methods.estimates import rows_of
from clfeval.methods.verdict import verdict
from clfeval.result import Estimate, Row

TOGETHER = 10_000  # models compared at a time


@dataclass(frozen=True, slots=True, eq=False)
class Against:
    """k models against a reference: in rows of each class, how often who says positive.

    positives, negatives: both, the model, the reference, neither; (k,) each, in units of which
    `unit` are one row. shared: what clusters say of them, None where rows are taken as independent.
    """

    models: tuple[str, ...]
    positives: Fourfold
    negatives: Fourfold
    unit: float
    shared: Paired | None = None

    @classmethod
    def of(cls, patterns: PatternCounts, reference: str) -> Against:
        """Compare every other model with the reference, row by row."""
        place = patterns.models.index(reference)
        theirs = patterns.votes[:, place]
        others = np.array([i for i in range(len(patterns.models)) if i != place], int)
        sides = []
        for rows in (patterns.truth, ~patterns.truth):
            parts = [
                _fourfold(patterns.n[rows], patterns.votes[np.ix_(rows, some)], theirs[rows])
                for some in np.split(others, range(TOGETHER, len(others), TOGETHER))
            ]
            both, one, other, neither = map(np.concatenate, zip(*parts, strict=True))
            sides.append((both, one, other, neither))
        names = tuple(patterns.models[i] for i in others.tolist())
        first, second = sides
        shared = Paired.of(patterns, others.tolist(), place)
        return cls(names, first, second, patterns.unit, shared)

    def tables(self, sign: int, level: float) -> tuple[Fourfold, Fourfold]:
        """Return the counts of independent rows that tell as much of a difference."""
        if self.shared is None:
            return self.positives, self.negatives
        return self.shared.divided(self.positives, self.negatives, sign, level)

    def differences(self, sign: int, level: float | None) -> tuple[Floats, Floats, Floats]:
        """Return how much more phi (sign 1) or delta (-1) models have, with limits: (k,) each."""
        if level is not None:
            value, *_ = paired_combination(sign, self.positives, self.negatives, level=level)
            _, low, high = paired_combination(sign, *self.tables(sign, level), level=level)
            return value, low, high
        with np.errstate(invalid="ignore"):
            first, second = (
                np.subtract(t[1], t[2]) / _rows(t) for t in (self.positives, self.negatives)
            )
        nowhere = np.full(len(self.models), np.nan)
        return first + sign * second, nowhere, nowhere

    def chances(self, sign: int) -> tuple[list[float], list[float]]:
        """Return the p values that models have as much as the reference, alone and by Holm's rule.

        NaN where a class has no row. Of clusters the t is that of a level of 95 % of all together.
        """
        tables = self.tables(sign, 1 - 0.05 / self.together)
        alone = paired_chance(sign, *tables).tolist()
        return alone, holm(alone) if not np.isnan(alone).any() else alone

    def told(self, level: float) -> list[int]:
        """Return 1 for models of more delta than the reference, -1 of less, 0: none can tell.

        By Holm's rule, so that with probability `level` nobody is told apart who is not.
        """
        value, _, _ = self.differences(-1, None)
        _, adjusted = self.chances(-1)
        return [
            int(np.sign(apart)) if p < 1 - level else 0
            for apart, p in zip(value.tolist(), adjusted, strict=True)
        ]

    @property
    def together(self) -> int:
        """How many comparisons have to hold together."""
        return max(len(self.models), 1)


def comparison_rows(
    label: str | None, patterns: PatternCounts, reference: str, level: float | None,
    margin: float | None = None,
) -> list[Row]:  # fmt: skip
    """Return how far the phi and delta of each other model lie from the reference's, row by row.

    A positive difference means the model has more than the reference. Intervals are paired:
    Newcombe's method 10 in each class, the two classes put together by squares; each holds by
    itself. `delta_adjusted` is that of delta at 1 - (1 - level) / models, so that all hold
    together. p values are those at which the intervals exclude 0, adjusted by Holm's rule; the
    verdict on delta is by them and, with a margin, by the adjusted interval.
    """
    given = Against.of(patterns, reference)
    k, columns = len(given.models), dict[str, Sequence[Any]]()
    each = None if level is None else 1 - (1 - level) / given.together
    for name, sign, at in (
        ("phi_difference", 1, level), ("delta_difference", -1, level), ("delta_adjusted", -1, each),
    ):  # fmt: skip
        columns[name] = _estimates(given, *given.differences(sign, at))
    nothing: list[None] = [None] * k
    verdicts: Sequence[str | None] = nothing
    chances: Sequence[Sequence[float | None]] = (nothing,) * 4
    if level is not None:
        chances = [*map(_known, (*given.chances(-1), *given.chances(1)))]
        _, low, high = given.differences(-1, each)
        known = zip(low.tolist(), high.tolist(), given.told(level), strict=True)
        verdicts = [verdict(*one, margin) for one in known]
        if all(p is None for p in chances[0]):
            verdicts = nothing
    return rows_of({
        "slice": [label] * k, "model": given.models, "reference": [reference] * k,
        "phi_difference": columns["phi_difference"],
        "delta_difference": columns["delta_difference"],
        "p_value": chances[0], "p_adjusted": chances[1],
        "delta_adjusted": columns["delta_adjusted"], "verdict": verdicts,
        "phi_p_value": chances[2], "phi_p_adjusted": chances[3],
        "differing_positives": _differing(given.positives, given.unit),
        "differing_negatives": _differing(given.negatives, given.unit),
    })  # fmt: skip


def _differing(table: Fourfold, unit: float) -> list[Any]:
    differing: list[Any] = np.asarray(shown(np.add(table[1], table[2]), unit)).tolist()
    return differing


def _rows(table: Fourfold) -> Floats:
    both, one, other, neither = (np.asarray(cell, np.float64) for cell in table)
    return both + one + other + neither


def _known(chances: Sequence[float]) -> list[float | None]:
    return [None if p != p else p for p in chances]


def _estimates(given: Against, *parts: Floats) -> list[Estimate]:
    for table, reason in (
        (given.positives, "no_positive_truth"), (given.negatives, "no_negative_truth"),
    ):  # fmt: skip
        if given.models and not _rows(table).any():
            return [Estimate(None, reason=reason)] * len(given.models)
    numbers = ([None if x != x else x for x in np.asarray(part).tolist()] for part in parts)
    return [Estimate(*one) for one in zip(*numbers, strict=True)]


def _fourfold(n: Any, mine: Bools, theirs: Bools) -> tuple[Any, Any, Any, Any]:
    """Return, for each model, how often both say positive, it, the other one, neither."""
    both, one = (n * theirs) @ mine, (n * ~theirs) @ mine
    return both, one, (n * theirs).sum() - both, (n * ~theirs).sum() - one
