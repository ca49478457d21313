"""Differences at any class ratio against estimates of labels there, and sums over rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from clfeval.compare.paired_estimates import RateEstimates
from clfeval.counts.clusters_and_weights import squares_and_weights
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.measures.catalog import CATALOG
from clfeval.measures.odds import OutcomeCosts
from clfeval.measures.record import Measure
from clfeval.methods.measurement.label_measures import label_estimates
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.tune_jpt.leading_models import rate_covariance
from tests.compare import patterns_of

K = 5
TRUTH = np.repeat([True, False], [40, 90])


def votes(seed: int) -> np.ndarray:
    """Return five models, the third without a miss; the last two differ from it in negatives."""
    rng = np.random.default_rng(seed)
    found = rng.random((K, 130)) < np.where(TRUTH, 0.75, 0.2)
    found[2] |= TRUTH
    found[3:] = found[2] ^ (~TRUTH & (rng.random(130) < 0.1))
    return found


def patterns_of_kind(kind: str, seed: int) -> PatternCounts:
    rng, found = np.random.default_rng([1, seed]), votes(seed)
    if kind == "clusters":
        return patterns_of(TRUTH, found, owners=rng.integers(0, 25, 130))
    if kind == "weights":  # of sampling, with their squares
        w = rng.integers(1, 6, 130)
        names = [f"m{i}" for i in range(K)]
        return PatternCounts.from_votes(names, TRUTH, found.T, w, owners=squares_and_weights(w))
    return patterns_of(TRUTH, found)


def rates_at(patterns: PatternCounts, measure: Measure, ratio: float) -> RateEstimates:
    known = rate_covariance(ConfusionCounts.from_patterns(patterns), [patterns])
    return known.measures_at_odds(measure, np.arange(K), np.full(K, ratio))


PAIRS = np.array([(i, j) for i in range(K) for j in range(K)]).T


@pytest.mark.parametrize("kind", ["rows", "clusters", "weights"])
@pytest.mark.parametrize("ratio", [0.01, 0.7, 20.0])
@pytest.mark.parametrize(
    "name", ["tar", "mcc", "f_beta", "ppv", "npv", "ic", "sensitivity", "expected_cost"]
)
def test_they_are_those_of_labels_in_that_population(name: str, ratio: float, kind: str) -> None:
    """Differences, errors, V and 0-of-n limits are; degrees of freedom are fewest - 1, no less."""
    patterns = patterns_of_kind(kind, 3)
    measure = CATALOG[name].with_settings(beta=1.0, stakes=OutcomeCosts(1.0, 7.0))
    there = replace(measure, compute=lambda table: measure.function(table.tuned(ratio)))
    theirs = label_estimates(patterns, RequestedMeasure(name, there, {}))
    assert theirs is not None
    mine = rates_at(patterns, measure, ratio)
    one = mine.paired(name, np.arange(K))
    assert one.models == theirs.models
    assert one.values == pytest.approx(theirs.values, rel=1e-12)
    assert one.pair_errors.errors == pytest.approx(theirs.pair_errors.errors, rel=1e-6, abs=1e-12)
    assert (one.pair_errors.errors == 0).tolist() == (theirs.pair_errors.errors == 0).tolist()
    assert one.pair_errors.covariance == pytest.approx(
        theirs.pair_errors.covariance, rel=1e-6, abs=1e-9
    )
    df = one.pair_errors.df
    assert (df == theirs.fewest - 1).all()
    most = (theirs.fewest - 1) * (1 + 1e-9)  # rounding
    assert (theirs.pair_errors.df[theirs.pair_errors.errors > 0] <= most).all()
    # pairs by place, and the same estimates as those of k models
    d, low, high = mine.intervals(*PAIRS, level=0.9)
    for ours, its in zip((d, low, high), one.intervals(*PAIRS, level=0.9), strict=False):
        assert ours.tolist() == its.tolist()
    p = mine.p_values(*PAIRS)
    assert p.tolist() == one.p_values(*PAIRS).tolist()
    assert ((p < 0.1) == ((low > 0) | (high < 0))).all()
    alike = (one.pair_errors.errors == 0)[PAIRS[0], PAIRS[1]]
    assert (p[alike] == 1).all()
    expected = theirs.intervals(*PAIRS, level=0.9)
    for ours, its in zip((low, high), expected[1:], strict=False):
        assert ours[alike] == pytest.approx(its[alike], rel=1e-6)


def test_models_of_rows_of_their_own_by_hand() -> None:
    """Sensitivity and specificity of each vary by themselves; the smaller class of both counts."""
    cells = {"a": (30, 5, 10, 60), "b": (14, 12, 6, 88)}
    counts = ConfusionCounts.from_cells([*cells], [*cells.values()])
    known = rate_covariance(counts, [])
    r, squares, value = 0.25, 0.0, []
    for tp, fp, fn, tn in cells.values():
        p, n, total = tp + fn, fp + tn, tp + fp + fn + tn
        scale, w = total / (total - 1), (r / (1 + r), 1 / (1 + r))
        squares += scale * (w[0] ** 2 * tp * fn / p**3 + w[1] ** 2 * fp * tn / n**3)
        row = ((total + 2) / total) ** 2 * scale / 2
        squares += row * ((w[0] / (p + 1)) ** 2 + (w[1] / (n + 1)) ** 2)
        value.append(w[0] * tp / p + w[1] * tn / n)
    found = known.measures_at_odds(CATALOG["tar"], np.arange(2), np.full(2, r))
    d, low, high = found.intervals(np.array([0]), np.array([1]), level=0.95)
    reach = stats.t.isf(0.025, 20 - 1) * np.sqrt(squares)
    assert d == pytest.approx(value[0] - value[1])
    assert (low, high) == (pytest.approx(d - reach, rel=1e-9), pytest.approx(d + reach, rel=1e-9))
    one = found.paired("tar", np.arange(2))
    assert one.pair_errors.covariance is not None
    assert one.pair_errors.covariance[0, 1] == 0


@pytest.mark.parametrize(("name", "cells"), [("ppv_odds", (20, 0, 5, 60)), ("ppv", (0, 0, 9, 9))])
def test_what_is_infinite_or_undefined_is_not_compared(name: str, cells: Any) -> None:
    counts = ConfusionCounts.from_cells(["a", "b"], [cells, (14, 12, 6, 88)])
    found = rate_covariance(counts, []).measures_at_odds(CATALOG[name], np.arange(2), np.ones(2))
    assert np.isnan(found.p_values(np.array([0]), np.array([1]))).all()
    assert np.isnan(found.intervals(np.array([0]), np.array([1]), level=0.95)).all()


def test_a_class_in_which_no_row_differs_is_not_known_for_certain() -> None:
    """Two models without a false positive among 50 negatives; TAR where 1 in 100 is positive.

    Half a row more of each direction and class: s is 1 / 51 times 100 / 101 at least.
    """
    truth = np.repeat([True, False], 50)
    patterns = patterns_of(truth, np.array([np.arange(100) < 45, np.arange(100) < 25]))
    known = rate_covariance(ConfusionCounts.from_patterns(patterns), [patterns])
    found = known.measures_at_odds(CATALOG["tar"], np.arange(2), np.full(2, 0.01))
    s, _ = found.errors(np.array([0]), np.array([1]))
    assert s > 100 / 101 / 51
