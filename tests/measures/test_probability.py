"""Brier score and log loss: by hand, against scikit-learn, at the ends, of many replicates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from clfeval.measures.catalog import CATALOG
from clfeval.measures.probability import (
    MIN_PROBABILITY,
    clipped_weight,
    log_complement,
    log_losses,
    mean_loss,
    squared_errors,
)

pytestmark = pytest.mark.filterwarnings("error")

P, TRUTH, N = np.array([0.75, 0.5, 0.25]), np.array([True, True, False]), np.array([2, 1, 1])


def brier(p: Any, truth: Any, n: Any) -> Any:
    return mean_loss(squared_errors(p, truth), n)


def log_loss(p: Any, truth: Any, n: Any) -> Any:
    return mean_loss(log_losses(p, truth), n)


def test_by_hand() -> None:
    assert brier(P, TRUTH, N) == (2 * 0.25**2 + 0.5**2 + 0.25**2) / 4
    expected = -(2 * math.log(0.75) + math.log(0.5) + math.log(1 - 0.25)) / 4
    assert log_loss(P, TRUTH, N) == pytest.approx(expected, abs=1e-15)
    assert clipped_weight(P, TRUTH, N) == 0


def test_certainty_that_is_wrong_costs_no_more_than_the_clip() -> None:
    p, truth, n = np.array([0.0, 1.0, 2.0**-53, 1 - 2.0**-53]), np.array([1, 0, 1, 0]), np.ones(4)
    assert log_loss(p, truth, n) == -math.log(2.0**-52)
    assert clipped_weight(p, truth, np.array([1, 2, 4, 8])) == 1 + 2 + 4 + 8
    assert brier(p[:2], truth[:2], n[:2]) == 1
    # 2**-52 itself is no smaller than itself
    p = np.array([MIN_PROBABILITY, 1 - MIN_PROBABILITY])
    assert clipped_weight(p, np.array([1, 0]), np.ones(2)) == 0
    assert log_loss(p, np.array([1, 0]), np.ones(2)) == pytest.approx(52 * math.log(2), abs=1e-13)


def test_certainty_that_is_right_costs_nothing() -> None:
    p, truth = np.array([1.0, 0.0]), np.array([True, False])
    for found in (brier(p, truth, np.ones(2)), log_loss(p, truth, np.ones(2))):
        assert found == 0
        assert not np.signbit(found)
    assert clipped_weight(p, truth, np.ones(2)) == 0


def test_small_probabilities_keep_their_digits() -> None:
    assert log_loss(np.array([1e-20]), np.array([False]), np.ones(1)) == 1e-20


@pytest.mark.parametrize("bad", [-1e-9, 1.0000001, np.inf, np.nan])
def test_what_is_no_probability_is_refused(bad: float) -> None:
    for function in (squared_errors, log_losses):
        with pytest.raises(ValueError, match=r"\b0\b.*\b1\b"):
            function([0.5, bad], [True, False])


def test_the_logarithm_of_the_complement_has_all_its_digits() -> None:
    p = np.concatenate([10.0 ** -np.arange(18), np.linspace(0, 1, 999)[:-1], [1 - 2.0**-52]])[1:]
    assert log_complement(p) == pytest.approx(np.log1p(-p), rel=4e-16, abs=0)


@pytest.mark.parametrize(
    "name",
    [
        "brier",
        "brier_skill",
        "log_loss",
        "mean_score",
        "oe_ratio",
        "calibration_slope",
        "calibration_intercept",
        "calibration_in_the_large",
    ],
)
@pytest.mark.parametrize("rows", [40, 70_000])
def test_the_powers_of_an_influence_are_those_of_its_values(name: str, rows: int) -> None:
    rng = np.random.default_rng(rows)
    p = np.unique(np.concatenate([[0.0, 1.0], rng.random(rows)]))
    counts = rng.integers(0, 3, (2, len(p)))
    influence = CATALOG[name].influence
    assert influence is not None
    found = influence(p, *counts)
    f, n = np.asarray(found), counts.ravel()
    assert found.powers is not None
    assert list(found.powers()) == pytest.approx([(n * f**k).sum() for k in (2, 4)], rel=1e-11)
