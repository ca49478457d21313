"""The exact test of two models on few differing rows: their predictions of these rows, swapped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.counts.patterns import PatternCounts
from clfeval.inference.scipy_special import special
from clfeval.measures.confusion import Confusion
from clfeval.measures.record import Measure
from clfeval.records import dataclass

MOST_SWAPPED = 20  # differing rows of a class; of more, standard errors are reliable
_NUMBERS_AT_ONCE = 2**20
_ROUNDING = 1e-9  # of two differences that are equal


@dataclass(frozen=True, slots=True, eq=False)
class PairCells:
    """Rows of one class that q pairs of models predict positive, (q,) each.

    common: that both models do; first_only, second_only: that one of them does.
    """

    common: Ints
    first_only: Ints
    second_only: Ints

    @property
    def differing(self) -> Ints:
        """The rows that the two models predict differently."""
        return self.first_only + self.second_only


@dataclass(frozen=True, slots=True, eq=False)
class LabelSwaps:
    """Labels of k models on patterns of independent rows without weights, and a measure of them.

    votes (m, k), n (m,): of the patterns that affect the measure, by class: negatives, positives.
    class_rows: all rows of both classes, in this order.
    """

    measure: Measure
    votes: tuple[Bools, Bools]
    n: tuple[Counts, Counts]
    class_rows: tuple[float, float]

    def p_values(self, first: Ints, second: Ints) -> Floats:
        """Return the mid-p-values of pairs of models by the exact permutation test, (q,).

        p = P(D > d) + P(D = d) / 2, D = |f(A) - f(B)|, A and B the predictions a and b with those
        of each differing row swapped with probability 1/2, as equal models would have given them; d
        without swaps. A difference that is undefined after swaps counts as larger. Of sensitivity
        it is McNemar's mid-p of the positives. 0 for pairs that differ in no row, or in more than
        20 of a class.
        Sources: Pitman 1937, Supplement to the Journal of the Royal Statistical Society 4:119;
        mid-p: Fagerland, Lydersen and Laake 2013, BMC Medical Research Methodology 13:91.
        """
        negatives = self._pair_cells(0, first, second)
        positives = self._pair_cells(1, first, second)
        p = np.zeros(len(first))
        for pairs in _pairs_of_equal_size(positives.differing, negatives.differing):
            p[pairs] = self._p_values_of_size(positives, negatives, pairs)
        return p

    def _pair_cells(self, side: int, first: Ints, second: Ints) -> PairCells:
        """Return the rows of one class that pairs of models predict positive.

        side: 0 for negatives, 1 for positives.
        """
        votes = self.votes[side].astype(np.float64)  # whose product is quick
        weighted = votes * self.n[side][:, None]
        first_models, first_positions = np.unique(first, return_inverse=True)
        second_models, second_positions = np.unique(second, return_inverse=True)
        products = weighted[:, first_models].T @ votes[:, second_models]
        common = products[first_positions, second_positions].astype(np.int64)
        predicted_positive = weighted.sum(axis=0).astype(np.int64)
        return PairCells(
            common, predicted_positive[first] - common, predicted_positive[second] - common
        )

    def _p_values_of_size(self, positives: PairCells, negatives: PairCells, pairs: Ints) -> Floats:
        """Return the p-values of some pairs that differ in equally many rows of each class.

        After swaps x of the c differing positives are those of the first model and c - x those of
        the second one, and so of the e negatives.
        """
        x = np.arange(positives.differing[pairs[0]] + 1)
        z = np.arange(negatives.differing[pairs[0]] + 1)
        tp = positives.common[pairs, None, None] + x[:, None]
        fp = negatives.common[pairs, None, None] + z
        values = self._values(tp, fp)
        with np.errstate(invalid="ignore"):  # of an infinite ratio less another one
            swapped = np.abs(values - values[:, ::-1, ::-1])
        unswapped = np.arange(len(pairs)), positives.first_only[pairs], negatives.first_only[pairs]
        observed = swapped[unswapped][:, None, None]
        is_smaller = swapped < observed * (1 - _ROUNDING)
        is_equal = np.isclose(swapped, observed, rtol=_ROUNDING, atol=0.0)
        extremeness = np.where(is_smaller, 0.0, np.where(is_equal, 0.5, 1.0))
        return extremeness.reshape(len(pairs), -1) @ np.outer(_coin(x), _coin(z)).ravel()

    def _values(self, tp: Ints, fp: Ints) -> Floats:
        """Return the measure of tables with these true and false positives."""
        negatives, positives = self.class_rows
        tp, fp = np.broadcast_arrays(tp.astype(np.float64), fp.astype(np.float64))
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self.measure.function(Confusion(tp, fp, positives - tp, negatives - fp))
        return np.asarray(values, np.float64)


def label_swaps(
    patterns: PatternCounts, measure: Measure, models: Sequence[int], affects: Bools
) -> LabelSwaps | None:
    """Return the labels of some models for the exact test; None of clusters or sampling weights.

    models: their indices; affects (2,): whether negatives, and positives, affect the measure.
    """
    if patterns.clusters is not None or patterns.unit != 1:
        return None
    is_negative = ~patterns.truth
    class_rows = float(patterns.n[is_negative].sum()), float(patterns.n[patterns.truth].sum())
    negatives = is_negative & affects[0]
    positives = patterns.truth & affects[1]
    votes = patterns.votes[:, models]
    return LabelSwaps(
        measure,
        (votes[negatives], votes[positives]),
        (patterns.n[negatives], patterns.n[positives]),
        class_rows,
    )


def _pairs_of_equal_size(positives: Ints, negatives: Ints) -> Iterator[Ints]:
    """Yield the pairs that differ in few rows, those with equally many of each class together.

    positives, negatives (q,): the differing rows of each pair.
    """
    rows = np.column_stack([positives, negatives])
    most = rows.max(axis=1)
    tested = np.flatnonzero((most > 0) & (most <= MOST_SWAPPED))
    sizes, group = np.unique(rows[tested], axis=0, return_inverse=True)
    for number, (c, e) in enumerate(sizes.tolist()):
        pairs = tested[group.ravel() == number]
        step = max(1, _NUMBERS_AT_ONCE // ((c + 1) * (e + 1)))
        for start in range(0, len(pairs), step):
            yield pairs[start : start + step]


def _coin(x: Ints) -> Floats:
    """Return the probabilities of x heads in as many tosses as the last x says."""
    tosses = float(x[-1])
    return np.asarray(special().binom(tosses, x) / 2**tosses)
