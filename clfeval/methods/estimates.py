"""Proportions as estimates: the value k / n with its exact interval, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clfeval.arrays import Counts, Floats
from clfeval.counts.patterns import ConfusionCounts, for_products
from clfeval.errors import Problem, UsageError
from clfeval.inference.proportions import clopper_pearson
from clfeval.inference.score_region import range_over_region
from clfeval.inference.shares import combination
from clfeval.measures import binary
from clfeval.result import Estimate, Row


def proportions(
    k: Counts, n: Counts | int | float, reason: str, *, level: float | None
) -> list[Estimate]:
    """Return k / n with exact intervals, without where level is None; undefined where n is 0."""
    hits, trials = np.broadcast_arrays(k, np.asarray(n))
    bounds: list[Any] = [[None] * len(hits)] * 2
    if level is not None:
        bounds = [side.tolist() for side in clopper_pearson(hits, trials, level=level)]
    return [
        Estimate(h / t, low, high) if t else Estimate(None, reason=reason)
        for h, t, low, high in zip(hits.tolist(), trials.tolist(), *bounds, strict=True)
    ]


def check_level(level: float) -> None:
    """Raise UsageError unless a confidence level lies between 0 and 1, up to 0.999999999."""
    if not 0 < level <= 1 - 1e-9:
        hint = f"{level / 100:g} for {level:g} %" if 1 < level < 100 else None
        what = f"--level {level} is not between 0 and 1 (at most 0.999999999)"
        raise UsageError(Problem(what, "bad-option"), hint=hint)


def undrawable_weights() -> UsageError:
    """Build the error for weights that no bootstrap of counts can take."""
    return UsageError(
        Problem(
            "weights are not whole numbers: no part of a row can be drawn again",
            "fractional-weights",
        ),
        hint="--interval none computes the values without intervals",
    )


def fractional_weights() -> UsageError:
    """Build the error for weights that exact intervals cannot take."""
    return UsageError(
        Problem(
            "weights are not whole numbers: exact binomial intervals count rows, and only a "
            "bootstrap could give others",
            "fractional-weights",
        ),
        hint="--interval none computes the values without intervals",
    )


Column = list[Estimate]
Measure = Callable[[Any, Any, Any], Floats]


@dataclass(frozen=True, slots=True)
class Plane:
    """Confusion counts of k models, ready to be measured; `level` None means no intervals."""

    counts: ConfusionCounts
    level: float | None
    tp: Floats = field(init=False)  # sensitivity (k,), NaN without positives
    fp: Floats = field(init=False)  # 1 - specificity (k,), NaN without negatives

    def __post_init__(self) -> None:
        """Take the two rates from the counts."""
        # sums of fractions may pass their total by the last digit
        tp, fp = (
            np.minimum(rate(part, whole), 1.0)
            for part, whole in (
                (self.counts.tp, self.counts.positives),
                (self.counts.fp, self.counts.negatives),
            )
        )
        object.__setattr__(self, "tp", tp)
        object.__setattr__(self, "fp", fp)

    @property
    def prevalence(self) -> Floats:
        """The share of positives in each model's rows, (k,)."""
        return rate(self.counts.positives, self.counts.positives + self.counts.negatives)

    def share(self, k: Counts, n: Counts, reason: str, *, level: float | None = None) -> Column:
        """Return a proportion of rows with its exact interval."""
        return proportions(k, n, reason, level=level or self.level)

    def phi(self) -> Column:
        """Return phi, divided once, so that round numbers come out round."""
        tp, fp, p, n = self.whole()
        return self.linear(1, 1, -1, value=rate(tp * n + fp * p - p * n, p * n))

    def delta(self) -> Column:
        """Return delta, divided once."""
        tp, fp, p, n = self.whole()
        return self.linear(1, -1, value=rate(tp * n - fp * p, p * n))

    def accuracy_u(self) -> Column:
        """Return the unbiased accuracy, (1 + delta) / 2, divided once."""
        tp, fp, p, n = self.whole()
        return self.linear(1, -1, 1, factor=0.5, value=rate(tp * n + (n - fp) * p, 2 * p * n))

    def whole(self) -> list[Counts]:
        """Return TP, FP, positives and negatives, whose products are to be divided once."""
        counts = self.counts
        return for_products(counts.tp, counts.fp, counts.positives, counts.negatives)

    def linear(
        self, a: Any, b: Any, shift: Any = 0.0, *, factor: float = 1.0, value: Floats | None = None
    ) -> Column:
        """Return factor (a tp + b fp + shift); `value` is that number where it is had better."""
        counts = self.counts
        if value is None:
            value = factor * (a * self.tp + b * self.fp + shift)
        low = high = np.full(len(value), np.nan)
        if self.level is not None:
            _, low, high = combination(
                factor * a, factor * b, counts.tp, counts.positives, counts.fp, counts.negatives,
                level=self.level,
            )  # fmt: skip
            low, high = low + factor * shift, high + factor * shift
        return self._column(value, low, high, "zero_margin")

    def ranged(
        self,
        measure: Measure,
        p: Any,
        reason: str,
        *,
        single: str | None = None,
        zero_at_chance: bool = False,
    ) -> Column:
        """Return measure(tp, fp, p); `zero_at_chance` when it is least on the line tp = fp.

        `reason` is why it may be undefined, `single` why without positives or negatives.
        """
        counts, low = self.counts, np.full(len(self.tp), np.nan)
        value, high = measure(self.tp, self.fp, p), low
        if self.level is not None:
            low, high = range_over_region(
                lambda tp, fp: measure(tp, fp, p),
                counts.tp, counts.positives, counts.fp, counts.negatives, level=self.level,
                kink=(lambda tp, fp: tp - fp) if zero_at_chance else None,
            )  # fmt: skip
        return self._column(value, low, high, reason, single)

    def information(self, p: Any) -> Column:
        """Return the mutual information at prevalence p."""
        single = "single_class"
        return self.ranged(binary.mutual_information, p, single, single=single, zero_at_chance=True)

    def _column(
        self, value: Floats, low: Floats, high: Floats, reason: str, single: str | None = None
    ) -> Column:
        column = []
        lists = (value.tolist(), low.tolist(), high.tolist())
        classes = zip(self.counts.positives.tolist(), self.counts.negatives.tolist(), strict=True)
        for v, lower, upper, (p, n) in zip(*lists, classes, strict=True):
            if v != v:
                lacking = "no_positive_truth" if not p else "no_negative_truth" if not n else None
                column.append(Estimate(None, reason=(lacking and single) or lacking or reason))
            elif self.level is None or lower != lower:
                column.append(Estimate(v))
            else:
                column.append(Estimate(v, min(lower, v), max(upper, v)))
        return column


def rate(part: Counts, whole: Counts) -> Floats:
    """Return part / whole, NaN where whole is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.asarray(part / whole, np.float64)
    return np.where(np.asarray(whole > 0), share, np.nan)


def rows_of(columns: Mapping[str, Sequence[Any]]) -> list[Row]:
    """Turn columns of equal length into rows."""
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
