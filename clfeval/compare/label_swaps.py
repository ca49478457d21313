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

    def p_values(self, first_models: Ints, second_models: Ints) -> Floats:
        """Return the mid-p-values of pairs of models by the exact permutation test, (q,).

        first_models, second_models (q,): indices of the models of each pair.

        p = P(D > d) + P(D = d) / 2, D = |f(A) - f(B)|, A and B the predictions a and b with those
        of each differing row swapped with probability 1/2, as equal models would have given them; d
        without swaps. A difference that is undefined after swaps counts as larger. Of sensitivity
        it is McNemar's mid-p of the positives. 0 for pairs that differ in no row, or in more than
        20 of a class.
        Sources: Pitman 1937, Supplement to the Journal of the Royal Statistical Society 4:119;
        mid-p: Fagerland, Lydersen and Laake 2013, BMC Medical Research Methodology 13:91.
        """
        negatives = self._pair_cells(0, first_models, second_models)
        positives = self._pair_cells(1, first_models, second_models)
        p = np.zeros(len(first_models))
        for pair_indices in _pairs_of_equal_size(positives.differing, negatives.differing):
            p[pair_indices] = self._p_values_of_size(positives, negatives, pair_indices)
        return p

    def _pair_cells(self, class_index: int, first_indices: Ints, second_indices: Ints) -> PairCells:
        """Return the rows of one class that pairs of models predict positive.

        class_index: 0 for negatives, 1 for positives.
        """
        votes = self.votes[class_index].astype(np.float64)  # of which matrix products are quick
        weighted_votes = votes * self.n[class_index][:, None]
        first_models, first_positions = np.unique(first_indices, return_inverse=True)
        second_models, second_positions = np.unique(second_indices, return_inverse=True)
        products = weighted_votes[:, first_models].T @ votes[:, second_models]
        common = products[first_positions, second_positions].astype(np.int64)
        predicted_positive = weighted_votes.sum(axis=0).astype(np.int64)
        return PairCells(
            common,
            predicted_positive[first_indices] - common,
            predicted_positive[second_indices] - common,
        )

    def _p_values_of_size(self, positives: PairCells, negatives: PairCells, pairs: Ints) -> Floats:
        """Return the p-values of some pairs that differ in equally many rows of each class.

        After swaps the first model predicts "positive" for 0 to c of the c differing positives, and
        the second one for the others; likewise for the differing negatives. pairs: their indices.
        """
        first_positives = np.arange(positives.differing[pairs[0]] + 1)
        first_negatives = np.arange(negatives.differing[pairs[0]] + 1)
        tp = positives.common[pairs, None, None] + first_positives[:, None]
        fp = negatives.common[pairs, None, None] + first_negatives
        measure_values = self._values(tp, fp)
        with np.errstate(invalid="ignore"):  # of an infinite ratio less another one
            differences = np.abs(measure_values - measure_values[:, ::-1, ::-1])
        unswapped_indices = (
            np.arange(len(pairs)),
            positives.first_only[pairs],
            negatives.first_only[pairs],
        )
        observed_differences = differences[unswapped_indices][:, None, None]
        is_smaller = differences < observed_differences * (1 - _ROUNDING)
        is_equal = np.isclose(differences, observed_differences, rtol=_ROUNDING, atol=0.0)
        extremeness = np.where(is_smaller, 0.0, np.where(is_equal, 0.5, 1.0))
        return (
            extremeness.reshape(len(pairs), -1)
            @ np.outer(_coin(first_positives), _coin(first_negatives)).ravel()
        )

    def _values(self, tp: Ints, fp: Ints) -> Floats:
        """Return the measure of tables with these true and false positives."""
        negatives, positives = self.class_rows
        tp, fp = np.broadcast_arrays(tp.astype(np.float64), fp.astype(np.float64))
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self.measure.function(Confusion(tp, fp, positives - tp, negatives - fp))
        return np.asarray(values, np.float64)


def label_swaps(
    patterns: PatternCounts, measure: Measure, models: Sequence[int], affects_measure: Bools
) -> LabelSwaps | None:
    """Return the labels of some models for the exact test; None of clusters or sampling weights.

    models: their indices; affects_measure (2,): whether negatives, and positives, affect it.
    """
    if patterns.clusters is not None or patterns.unit != 1:
        return None
    is_negative = ~patterns.truth
    class_rows = float(patterns.n[is_negative].sum()), float(patterns.n[patterns.truth].sum())
    negatives = is_negative & affects_measure[0]
    positives = patterns.truth & affects_measure[1]
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
    differing_counts = np.column_stack([positives, negatives])
    larger_count = differing_counts.max(axis=1)
    tested_pairs = np.flatnonzero((larger_count > 0) & (larger_count <= MOST_SWAPPED))
    distinct_counts, group_indices = np.unique(
        differing_counts[tested_pairs], axis=0, return_inverse=True
    )
    for group_index, (differing_positives, differing_negatives) in enumerate(
        distinct_counts.tolist()
    ):
        pairs = tested_pairs[group_indices.ravel() == group_index]
        block_size = max(
            1, _NUMBERS_AT_ONCE // ((differing_positives + 1) * (differing_negatives + 1))
        )
        for first_pair in range(0, len(pairs), block_size):
            yield pairs[first_pair : first_pair + block_size]


def _coin(x: Ints) -> Floats:
    """Return the probabilities of x = 0, 1, ... heads, in as many tosses as the last of x."""
    toss_count = float(x[-1])
    return np.asarray(special().binom(toss_count, x) / 2**toss_count)
