"""Models by a measure of their true and false positive rates, at any class ratio."""

from __future__ import annotations

import numpy as np

from clfeval.arrays import Bools, Floats, Ints, divide
from clfeval.compare.paired_estimates import (
    DifferenceErrors,
    PairedEstimates,
    no_differing_row_limit,
    t_limits,
    t_p_values,
)
from clfeval.counts.patterns import ConfusionCounts
from clfeval.inference.region_intervals import partial_derivatives
from clfeval.measures.confusion import Confusion
from clfeval.measures.record import Measure
from clfeval.records import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class RateCovariance:
    """True and false positive rates of k models in each of s parts, and their covariance.

    counts: of all s k models, part by part. covariance (s, 2k, 2k): true positive rates first; or
    variances (2, s k), of models on independent rows. differ (2, s k, k): whether a model and each
    of its part differ in any positive, in any negative; None for independent rows. sizes (2, s k):
    (effective) rows or clusters of each class. weight, parts (s k,): weight of a row, and number of
    sampling units.
    """

    counts: ConfusionCounts
    covariance: Floats
    differ: Bools | None
    sizes: Floats
    weight: Floats
    parts: Floats

    @property
    def crossed(self) -> bool:
        """Whether rates of the two classes are correlated, as they may be over clusters."""
        k = self.covariance.shape[-1] // 2
        return self.differ is not None and bool(self.covariance[:, :k, k:].any())

    def measures_at_odds(self, measure: Measure, models: Ints, ratios: Floats) -> RateEstimates:
        """Return models by a measure at ratios of positives to negatives, (e,) each.

        Slopes are those at the observed rates; steps those with half a row more of each kind.
        """
        c, row = self.counts, self.weight[models]
        cells = [part[models] for part in (c.tp, c.fp, c.fn, c.tn)]
        values = np.asarray(measure.function(Confusion(*cells).tuned(ratios)), np.float64)
        tp, fp, fn, tn = (np.concatenate([cell, cell + row / 2]) for cell in cells)
        both = np.concatenate([ratios, ratios])
        p, n = tp + fn, fp + tn
        found = partial_derivatives(
            lambda x, y: measure.function(Confusion.from_rates(x, y, both)),
            np.minimum(divide(tp, p), 1.0), np.minimum(divide(fp, n), 1.0),
        )  # fmt: skip
        along, smooth = np.moveaxis(np.reshape(found, (2, 2, -1)), 1, 0)
        total, parts = (p + n)[: len(row)], self.parts[models]
        with np.errstate(invalid="ignore"):  # a class without rows has no error
            grown = divide(total + 2 * row, total) * np.sqrt(divide(parts, parts - 1))
            jumps = smooth * divide(row, np.stack([p, n])[:, len(row) :]) * grown
        values = np.where(np.isfinite(values), values, np.nan)
        return RateEstimates(self, measure, models, values, along, np.abs(smooth), np.abs(jumps))


@dataclass(frozen=True, slots=True, eq=False)
class RateEstimates:
    """Estimates of models by a measure, each at a class ratio, and errors of differences.

    values (e,), NaN unless finite; slopes (2, e): along the true and the false positive rate;
    steps (2, e): the same with half a row more; jumps (2, e): change of an estimate by one row that
    changes sides.
    """

    rates: RateCovariance
    measure: Measure
    models: Ints
    values: Floats
    slopes: Floats
    steps: Floats
    jumps: Floats

    def errors(self, first: Ints, second: Ints) -> tuple[Floats, Floats]:
        """Return the standard errors and degrees of freedom of differences of pairs, (q,) each.

        s² = w' V w + sum over classes of (J_i² + J_j²) / 2

        V are the covariances of the four rates, w the slopes along them. J, half a row more of each
        class and direction, is added where two models differ in any row that affects the measure. 0
        where they differ in none.
        Source: the delta method; half a row: Agresti and Min 2005, Statistics in Medicine 24:729.
        """
        i, j, rates = self.models[first], self.models[second], self.rates
        w = np.concatenate([self.slopes[:, first], -self.slopes[:, second]])  # tp, fp; tp, fp
        jumps = (self.jumps[:, first] ** 2 + self.jumps[:, second] ** 2) / 2
        if rates.differ is None:
            v = np.concatenate([rates.covariance[:, i], rates.covariance[:, j]])
            squares, differ = (w**2 * v).sum(axis=0), np.ones((2, len(i)), bool)
        else:
            k = rates.differ.shape[-1]
            at = np.stack([i % k, i % k + k, j % k, j % k + k])
            v = rates.covariance[i // k, at[:, None], at]
            squares = np.maximum(np.einsum("am,abm,bm->m", w, v, w), 0.0)
            differ = rates.differ[:, i, j % k]
        sizes = np.minimum(rates.sizes[:, i], rates.sizes[:, j]).min(axis=0)
        moves = (differ & (jumps > 0)).any(axis=0)
        return np.where(moves, np.sqrt(squares + jumps.sum(axis=0)), 0.0), sizes - 1

    def intervals(
        self, first: Ints, second: Ints, *, level: float
    ) -> tuple[Floats, Floats, Floats]:
        """Return differences of pairs with limits as of `PairedEstimates.intervals`, (q,) each."""
        d, span = self.values[first] - self.values[second], self.measure.high - self.measure.low
        sizes = self.rates.sizes[:, self.models[first]].T
        most = no_differing_row_limit(self.steps[:, first].T, sizes, level)
        low, high = t_limits(d, *self.errors(first, second), most, level)
        return d, np.maximum(low, -span), np.minimum(high, span)

    def p_values(self, first: Ints, second: Ints) -> Floats:
        """Return the two-sided p-values of differences of pairs, (q,)."""
        return t_p_values(self.values[first] - self.values[second], *self.errors(first, second))

    def paired(self, name: str, places: Ints) -> PairedEstimates:
        """Return the estimates of the k models at `places`: of one part, at one class ratio."""
        models, names, a = self.models[places], self.rates.counts.models, self.slopes[:, places]
        k, v = len(models), self.rates.covariance
        s, df = self.errors(np.repeat(places, k), np.tile(places, k))
        if self.rates.differ is None:
            covariance = np.diag((a**2 * v[:, models]).sum(axis=0))
        else:
            w = np.hstack([np.diag(a[0]), np.diag(a[1])])
            covariance = w @ v[models[0] // k] @ w.T
        sizes = self.rates.sizes[:, models].T
        return PairedEstimates(
            name, self.measure, tuple(names[i] for i in models.tolist()), self.values[places],
            DifferenceErrors(s.reshape(k, k), df.reshape(k, k), covariance), float(sizes.min()),
            self.steps[:, places].T, sizes,
        )  # fmt: skip
