"""Estimates: values of measures with intervals, or why undefined; 2 x 2 tables in populations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite, nan
from typing import Any, TypeVar

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints, divide
from clfeval.counts.patterns import CELLS, ConfusionCounts
from clfeval.document.cells import Cell, Estimate, Row, as_row
from clfeval.errors import UsageError
from clfeval.inference.proportions import SHARE_LIMITS
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.record import undefined_reason
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, fields, replace

Estimates = list[Estimate]
Limits = tuple[Floats, Floats]  # lower and upper confidence limits
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Design:
    """The sampling design, as far as intervals depend on it."""

    totals: str = "random"  # class totals as in a sample of rows, or "fixed" by design
    method: str = "exact"  # the method for proportions of rows, of `SHARE_LIMITS`


RANDOM = Design()


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """m tables of counts, and the population of each; the arrays are (m,)."""

    tp: Counts
    fp: Counts
    fn: Counts
    tn: Counts
    positives: Counts
    negatives: Counts
    ratio: Floats  # p / n
    p: Floats  # share of positives
    n: Floats  # share of negatives
    sampled: Bools  # true where the population is the one sampled: p is estimated, elsewhere known
    sums: Floats | None = None  # (m, 4, 4), as in `ConfusionCounts`; None for independent rows
    ratio_rows: Floats | None = (
        None  # effective rows of the class ratio, if not those of both classes
    )
    largest: Floats | None = None  # (m,), as in `ConfusionCounts`

    @classmethod
    def picked(
        cls,
        counts: ConfusionCounts,
        models: Ints | Sequence[int],
        ratio: Floats,
        sampled: Bools | bool = False,
    ) -> Cells:
        """Return the tables of some models at the given odds, (m,) each."""
        arrays = (counts.tp, counts.fp, counts.positives, counts.negatives)
        tp, fp, positives, negatives = (array[np.asarray(models)] for array in arrays)
        # each share without overflow or loss, whichever class is rare
        with np.errstate(divide="ignore"):
            p = 1 / (1 + 1 / ratio)
            n = 1 / (1 + ratio)
        sampled = np.broadcast_to(sampled, tp.shape)
        sums = None if counts.sums is None else counts.sums[np.asarray(models)]
        largest = None if counts.largest is None else counts.largest[np.asarray(models)]
        cells = (tp, fp, positives - tp, negatives - fp, positives, negatives)
        return cls(*cells, ratio, p, n, sampled, sums, largest=largest)

    @classmethod
    def at_odds(cls, counts: ConfusionCounts, models: Ints | Sequence[int], ratio: Floats) -> Cells:
        """Return the tables of some models at given odds, NaN for the class ratio of their rows."""
        observed = divide(counts.positives, counts.negatives)[np.asarray(models)]
        sampled = np.isnan(ratio)
        return cls.picked(counts, models, np.where(sampled, observed, ratio), sampled)

    @classmethod
    def at_prevalence(cls, counts: ConfusionCounts, p: Floats | float | None = None) -> Cells:
        """Return the tables of k models at a prevalence, None for that of their rows."""
        sampled = np.full(counts.tp.shape, p is None)
        p = divide(counts.positives, counts.positives + counts.negatives) if p is None else p
        p = np.broadcast_to(p, counts.tp.shape)
        cells = (counts.tp, counts.fp, counts.fn, counts.tn, counts.positives, counts.negatives)
        ratio = divide(p, 1 - p)
        return cls(*cells, ratio, p, 1 - p, sampled, counts.sums, largest=counts.largest)

    @property
    def observed(self) -> Confusion:
        """The tables as they were counted."""
        return Confusion(self.tp, self.fp, self.fn, self.tn)

    @property
    def tuned(self) -> Confusion:
        """The tables at their odds, total 1."""
        return self.observed.tuned(self.ratio)

    @property
    def rates(self) -> tuple[Floats, Floats]:
        """The true and the false positive rate, NaN without the class."""
        # sums of fractions may pass their total by the last digit
        pairs = ((self.tp, self.positives), (self.fp, self.negatives))
        tp, fp = (np.minimum(divide(*pair), 1.0) for pair in pairs)
        return tp, fp

    def at_rates(self, tp: Floats, fp: Floats) -> Confusion:
        """Return tables of other rates in these populations, total 1."""
        return Confusion(self.p * tp, self.n * fp, self.p * (1 - tp), self.n * (1 - fp))

    def select(self, index: Ints | Bools | slice) -> Cells:
        """Return some of the tables."""
        arrays: list[Any] = [getattr(self, field.name) for field in fields(self)]
        selected: list[Any] = [None if array is None else array[index] for array in arrays]
        return Cells(*selected)

    def divided(self, divisors: Floats) -> Cells:
        """Return effective counts; divisors (2, m) or (3, m): of positives, negatives, both."""
        row_counts = self.positives + self.negatives
        of_positives, of_negatives = divisors[:2]
        return replace(
            self,
            tp=self.tp / of_positives,
            fn=self.fn / of_positives,
            positives=self.positives / of_positives,
            fp=self.fp / of_negatives,
            tn=self.tn / of_negatives,
            negatives=self.negatives / of_negatives,
            sums=None,
            largest=None,
            ratio_rows=row_counts / divisors[2] if len(divisors) > 2 else None,
        )

    @property
    def totals(self) -> Floats:
        """TP, FP, positives and negatives, (m, 4)."""
        return np.stack([self.tp, self.fp, self.positives, self.negatives], axis=1).astype(float)


def estimate_column(
    values: Floats, limits: Limits | None, cells: Cells | Confusion, undefined: Sequence[str]
) -> Estimates:
    """Return estimates, with the reason where a value is undefined or infinite."""
    low, high = limits or (np.full(len(values), np.nan),) * 2
    columns = (np.asarray(column).tolist() for column in (values, low, high))
    tables = (cells.tp, cells.fp, cells.fn, cells.tn)
    estimates = [
        make_estimate(*value_and_limits) for value_and_limits in zip(*columns, strict=True)
    ]
    for table_index in np.flatnonzero(np.isnan(values)).tolist():
        table = Confusion(*(cell[table_index] for cell in tables))
        estimates[table_index] = Estimate(None, reason=undefined_reason(undefined, table))
    return estimates


def make_estimate(
    value: float,
    low: float = nan,
    high: float = nan,
    undefined: Sequence[str] = ("zero_margin",),
    table: Confusion | None = None,
) -> Estimate:
    """Return one estimate; NaN is undefined, with the first reason that applies to the table."""
    if value != value:  # NaN
        return Estimate(None, reason=undefined_reason(undefined, table))
    lower = upper = None
    if low == low and high == high:  # no NaN; the value lies within its limits despite rounding
        lower = (low if low < value else value) if low > -inf else None
        upper = (high if high > value else value) if high < inf else None
    if -inf < value < inf:
        return Estimate(value, lower, upper)
    # an infinite limit becomes None
    lower, upper = (limit if limit is None or isfinite(limit) else None for limit in (lower, upper))
    return Estimate(None, lower, upper, "infinite" if value > 0 else "minus_infinite")


def proportion_estimates(
    k: Counts,
    n: Counts | int | float,
    reason: str,
    *,
    level: float | None,
    divided: Floats | None = None,
    method: str = "exact",
) -> Estimates:
    """Return k / n with intervals by `method`; undefined for n = 0.

    divided: the design effects by which counts are divided for limits.
    """
    numerators, denominators = np.broadcast_arrays(k, np.asarray(n))
    limits: list[Any] = [[nan] * len(numerators)] * 2
    if level is not None:
        counts = (
            (numerators, denominators)
            if divided is None
            else (numerators / divided, denominators / divided)
        )
        limits = [limit.tolist() for limit in SHARE_LIMITS[method](*counts, level=level)]
    return [
        make_estimate(numerator / denominator, low, high)
        if denominator
        else Estimate(None, reason=reason)
        for numerator, denominator, low, high in zip(
            numerators.tolist(), denominators.tolist(), *limits, strict=True
        )
    ]


def share_estimates(
    name: str,
    k: Counts,
    n: Counts | int | float,
    *,
    level: float | None,
    divided: Floats | None = None,
    method: str = "exact",
) -> Estimates:
    """Return a measure that is a share k / n, with intervals, as `proportion_estimates` does."""
    reason = CATALOG[name].undefined[0]
    return proportion_estimates(k, n, reason, level=level, divided=divided, method=method)


def fractional_weights_error(*, bootstrap: bool = False) -> UsageError:
    """Build the error on fractional weights, for features or a bootstrap of rows."""
    reason = "exact intervals of features need whole rows"
    if bootstrap:
        reason = "a bootstrap needs whole rows"
    hint = f"add {OPTION}--interval none{END} to compute the values without intervals"
    message = f"weights are not whole numbers: {reason}"
    return UsageError.new(message, "fractional-weights", hint=hint)


def concatenate_counts(parts: Mapping[K, ConfusionCounts]) -> tuple[tuple[K, ...], ConfusionCounts]:
    """Return the key of the part of each model, and the counts of all parts concatenated."""
    names = [*CELLS, "positives", "negatives"]
    for name in ("sums", "largest"):
        if all(getattr(counts, name) is not None for counts in parts.values()):
            names.append(name)
    arrays = {
        name: np.concatenate([getattr(counts, name) for counts in parts.values()]) for name in names
    }
    models = tuple(model for counts in parts.values() for model in counts.models)
    part_names = tuple(part_name for part_name, counts in parts.items() for _ in counts.models)
    unit = next((counts.unit for counts in parts.values()), 1)
    return part_names, ConfusionCounts(models, **arrays, unit=unit)


def rows_from_columns(columns: Mapping[str, Sequence[Any]], **names: Cell) -> list[Row]:
    """Turn columns of equal length into rows, each beginning with `names`."""
    return [
        as_row({**names, **dict(zip(columns, row_values, strict=True))})
        for row_values in zip(*columns.values(), strict=True)
    ]
