"""Venn-Abers prediction agrees with isotonic regressions of rows with one more, and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from clfeval.counts.scores import ScoreCounts
from clfeval.measures.calibrators import shift_log_odds
from clfeval.measures.venn_abers import VennAbersCalibrator, fit_venn_abers, new_row_shares
from tests.measures.test_calibrators import svm

PUBLISHED_PAIRS = {  # p0 and p1 of column svm of the breast-cancer table
    0.1: (0.153846, 0.230769),
    0.5: (0.5, 0.666667),
    0.9: (0.916667, 1),
}
PLACES_BY_HAND = {  # positives and negatives at each score; p0 and p1 at each place
    "a negative, then a positive": (
        [0, 1],
        [1, 0],
        [0, 0, 0, 1 / 2, 1 / 2],
        [1 / 2, 1 / 2, 1, 1, 1],
    ),
    "a positive, then a negative": (
        [1, 0],
        [0, 1],
        [0, 1 / 3, 1 / 3, 1 / 3, 1 / 3],
        [2 / 3, 2 / 3, 2 / 3, 2 / 3, 1],
    ),
    "two of five tied": ([2], [3], [0, 2 / 6, 2 / 6], [3 / 6, 3 / 6, 1]),
    "positives only": ([3], [0], [0, 3 / 4, 3 / 4], [1, 1, 1]),
    "negatives only": ([0], [3], [0, 0, 0], [1 / 4, 1 / 4, 1]),
}


def random_counts(seed: int) -> tuple[Any, Any, Any, float]:
    """Return scores, positives, negatives and the weight of a row; weighted for odd seeds."""
    dice = np.random.default_rng([7, seed])
    m = dice.integers(1, 25)
    scores = np.sort(dice.choice(1000, m, replace=False)) / 1000
    positives, negatives = dice.integers(0, 4, (2, m))
    negatives[0] += 1
    if seed % 2:
        return scores, positives * dice.random(m), negatives * dice.random(m), 0.7
    return scores, positives, negatives, 1.0


def refitted(counts: tuple[Any, Any, Any, float], place: float, label: int) -> float:
    """Return the isotonic share at a place from rows and one more of a label there."""
    scores, positives, negatives, weight = counts
    x = np.concatenate([scores, scores, [place]])
    y = np.repeat([1, 0, label], [len(scores), len(scores), 1])
    weights = np.concatenate([positives, negatives, [weight]])
    model = IsotonicRegression().fit(x[weights > 0], y[weights > 0], weights[weights > 0])
    return float(model.predict([place])[0])


def test_limits_are_the_published_ones() -> None:
    counts = ScoreCounts.from_rows(*svm(), None)
    calibrator = fit_venn_abers(counts.scores, counts.positives, counts.negatives)
    low, high = calibrator.limits([*PUBLISHED_PAIRS])
    pairs = np.array([*PUBLISHED_PAIRS.values()])
    assert np.column_stack([low, high]) == pytest.approx(pairs, abs=6e-7)
    assert calibrator.calibrate([0.5]) == pytest.approx([(2 / 3) / (1 - 1 / 2 + 2 / 3)], abs=1e-12)


@pytest.mark.parametrize("case", PLACES_BY_HAND)
def test_each_place_has_the_shares_by_hand(case: str) -> None:
    positives, negatives, low, high = PLACES_BY_HAND[case]
    found = new_row_shares(np.array(positives), np.array(negatives))
    assert np.array(found) == pytest.approx(np.array([low, high]), abs=1e-15)


@pytest.mark.parametrize("seed", range(24))
def test_limits_are_isotonic_regressions_with_one_more_row(seed: int) -> None:
    """At every score, in every gap, and at both ends."""
    counts = random_counts(seed)
    calibrator = fit_venn_abers(*counts[:3], row_weight=counts[3])
    middles = (counts[0][1:] + counts[0][:-1]) / 2
    places = np.unique(np.concatenate([counts[0], middles, [0, 1]]))
    low, high = calibrator.limits(places)
    for label, limit in enumerate((low, high)):
        expected = [refitted(counts, place, label) for place in places.tolist()]
        assert limit == pytest.approx(expected, abs=1e-12)
        assert (np.diff(limit) >= 0).all()
    combined = calibrator.calibrate(places)
    assert combined == pytest.approx(high / (1 - low + high), abs=1e-15)
    assert (low <= combined).all()
    assert (combined <= high).all()


@pytest.mark.parametrize("seed", range(6))
def test_limits_do_not_depend_on_the_form_of_the_counts(seed: int) -> None:
    """Units of weights, ties that are not added up, scores without rows, classes exchanged."""
    *counts, weight = random_counts(seed)
    scores, positives, negatives = counts
    places = np.linspace(0, 1, 2001)
    limits = np.array(fit_venn_abers(*counts, row_weight=weight).limits(places))
    zeros = np.zeros(len(scores))
    forms = {
        "units": (scores, 8 * positives, 8 * negatives, 8 * weight),
        "ties": (
            np.repeat(scores, 2),
            np.column_stack([positives, zeros]).ravel(),
            np.column_stack([zeros, negatives]).ravel(),
            weight,
        ),
        "no rows": (
            np.column_stack([scores, scores + 1e-4]).ravel(),
            np.column_stack([positives, zeros]).ravel(),
            np.column_stack([negatives, zeros]).ravel(),
            weight,
        ),
    }
    for name, (*form, row_weight) in forms.items():
        found = np.array(fit_venn_abers(*form, row_weight=row_weight).limits(places))
        assert found == pytest.approx(limits, abs=1e-12), name


@pytest.mark.parametrize("seed", range(6))
def test_exchanged_classes_exchange_the_limits(seed: int) -> None:
    _, positives, negatives, weight = random_counts(seed)
    low, high = new_row_shares(positives + 1, negatives, row_weight=weight)
    exchanged = new_row_shares(negatives[::-1], (positives + 1)[::-1], row_weight=weight)
    expected = np.array([1 - high[::-1], 1 - low[::-1]])
    assert np.array(exchanged) == pytest.approx(expected, abs=1e-12)


def test_scores_at_which_nothing_changes_are_left_out() -> None:
    """Two positives below two negatives are one block of 2 in 4 rows; one more makes 2 or 3 in 5.

    A new negative below the block, or a new positive above it, is a block of its own.
    """
    scores = np.array([0.2, 0.4, 0.6, 0.8])
    calibrator = fit_venn_abers(scores, np.array([1, 1, 0, 0]), np.array([0, 0, 1, 1]))
    assert calibrator.scores.tolist() == [0.2, 0.8]
    assert calibrator.low == pytest.approx([0, 2 / 5, 2 / 5, 2 / 5, 2 / 5])
    assert calibrator.high == pytest.approx([3 / 5, 3 / 5, 3 / 5, 3 / 5, 1])


def test_another_prevalence_shifts_both_limits_before_they_are_combined() -> None:
    """At odds three times as high 1/3 is 3/5, and 1/2 is 3/4; 0 and 1 stay."""
    low, high = np.array([0, 1 / 3, 1 / 3]), np.array([1 / 2, 1 / 2, 1])
    moved = shift_log_odds(VennAbersCalibrator(np.array([0.4]), low, high), np.log(3))
    assert isinstance(moved, VennAbersCalibrator)
    places = [0.1, 0.4, 0.9]
    expected = np.array([[0, 3 / 5, 3 / 5], [3 / 4, 3 / 4, 1]])
    assert np.array(moved.limits(places)) == pytest.approx(expected)
    combined = [0.75 / 1.75, 0.75 / 1.15, 1 / 1.4]
    assert moved.calibrate(places) == pytest.approx(combined)


REFUSED = {  # scores, positives, negatives, words
    "no rows": ([0.1, 0.2], [0, 0], [0, 0], "needs rows"),
    "falling scores": ([0.2, 0.1], [1, 0], [0, 1], "ascending"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_counts_that_have_no_calibrator_are_refused(case: str) -> None:
    *counts, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        fit_venn_abers(*map(np.array, counts))


def test_the_limits_approach_each_other_and_the_truth_with_more_rows() -> None:
    widths = []
    for rows in (100, 10_000):
        dice = np.random.default_rng(rows)
        p = np.sort(expit(dice.normal(0, 1.5, rows)))
        positives = (dice.random(rows) < expit(0.5 * logit(p))) * 1
        calibrator = fit_venn_abers(p, positives, 1 - positives)
        low, high = calibrator.limits(p)
        widths.append(float((high - low).mean()))
    assert widths[1] < widths[0] / 5
    errors = calibrator.calibrate(p) - expit(0.5 * logit(p))
    assert np.abs(errors).mean() < 0.03
