"""The exact test of two models on few differing rows: their predictions of these rows, swapped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.counts.patterns import PatternCounts
from clfeval.inference.scipy_special import special
from clfeval.measures.confusion import Confusion
from clfeval.measures.record import Measure
from clfeval.records import dataclass

MOST_SWAPPED = 20  # differing rows of a class; of more, standard errors are reliable
_PAIRS_AT_ONCE = 10_000
_ROUNDING = 1e-9  # of two differences that are equal


@dataclass(frozen=True, slots=True, eq=False)
class PairCells:
    """Rows of one class that q pairs of models predict positive, (q,) each.

    common: that both models do; first_only, second_only: that one of them does.
    """

    common: Floats
    first_only: Floats
    second_only: Floats

    @property
    def differing(self) -> Floats:
        """The rows that the two models predict differently."""
        return self.first_only + self.second_only

    def subset(self, pairs: Ints) -> PairCells:
        """Return the counts of some pairs."""
        return PairCells(self.common[pairs], self.first_only[pairs], self.second_only[pairs])

    def swapped(self) -> tuple[Floats, Floats, Floats]:
        """Return the rows of the first and of the second model after swaps, and probabilities.

        (q, x + 1) each: x of the differing rows are then the first model's, x up to the largest
        number of such rows; a pair with fewer rows has probability 0 for the others.
        """
        rows = self.differing[:, None]
        x = np.arange(rows.max(initial=0) + 1)[None]
        of_first = self.common[:, None] + np.minimum(x, rows)
        of_second = self.common[:, None] + np.maximum(rows - x, 0)
        probabilities: Floats = special().binom(rows, x) / 2**rows
        return of_first, of_second, probabilities


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
        rows = np.array([negatives.differing, positives.differing])
        tested = np.flatnonzero((rows.max(axis=0) > 0) & (rows.max(axis=0) <= MOST_SWAPPED))
        p = np.zeros(len(first))
        for start in range(0, len(tested), _PAIRS_AT_ONCE):
            pairs = tested[start : start + _PAIRS_AT_ONCE]
            p[pairs] = self._p_values_of_few(positives.subset(pairs), negatives.subset(pairs))
        return p

    def _pair_cells(self, place: int, first: Ints, second: Ints) -> PairCells:
        """Return the rows of one class that pairs of models predict positive."""
        votes = self.votes[place].astype(np.float64)
        weighted = votes * self.n[place][:, None]
        first_models, first_places = np.unique(first, return_inverse=True)
        second_models, second_places = np.unique(second, return_inverse=True)
        products = weighted[:, first_models].T @ votes[:, second_models]
        common = products[first_places, second_places]
        predicted_positive = weighted.sum(axis=0)
        return PairCells(
            common, predicted_positive[first] - common, predicted_positive[second] - common
        )

    def _p_values_of_few(self, positives: PairCells, negatives: PairCells) -> Floats:
        """Return the p-values of pairs that differ in few rows."""
        first_tp, second_tp, tp_probability = (part[:, :, None] for part in positives.swapped())
        first_fp, second_fp, fp_probability = (part[:, None, :] for part in negatives.swapped())
        swapped = self._values(first_tp, first_fp) - self._values(second_tp, second_fp)
        observed = self._observed_differences(positives, negatives)[:, None, None]
        is_smaller = np.abs(swapped) < observed * (1 - _ROUNDING)
        is_equal = np.isclose(np.abs(swapped), observed, rtol=_ROUNDING, atol=0.0)
        extremeness = np.where(is_smaller, 0.0, np.where(is_equal, 0.5, 1.0))
        return np.asarray((tp_probability * fp_probability * extremeness).sum(axis=(1, 2)))

    def _observed_differences(self, positives: PairCells, negatives: PairCells) -> Floats:
        """Return the differences of pairs, without their sign, (q,)."""
        first = self._values(
            positives.common + positives.first_only, negatives.common + negatives.first_only
        )
        second = self._values(
            positives.common + positives.second_only, negatives.common + negatives.second_only
        )
        return np.asarray(np.abs(first - second))

    def _values(self, tp: Floats, fp: Floats) -> Floats:
        """Return the measure of tables with these true and false positives."""
        negatives, positives = self.class_rows
        tp, fp = np.broadcast_arrays(tp, fp)
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
