"""Influence functions: against numerical differentiation in the counts, and the jackknife."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clfeval.inference.rank_statistics import delong_auc
from clfeval.measures.catalog import CATALOG
from clfeval.measures.record import Measure

pytestmark = pytest.mark.filterwarnings("error")

SMOOTH = [m for m in CATALOG.values() if m.influence is not None]
TAKEN = {"t": 0.4}


def random_counts(seed: int, digits: int, rows: int = 40) -> tuple[Any, Any, Any]:
    """Return distinct probabilities, at few of which scores are tied, and whole counts."""
    rng = np.random.default_rng([seed, digits])
    p = np.unique(np.round(rng.beta(1, 2, rows), digits))
    counts = rng.integers(0, 4, (2, len(p)))
    counts[:, 0] += 1
    counts[:, -1] += 1
    return p, *counts


def derivatives(measure: Measure, p: Any, positives: Any, negatives: Any) -> Any:
    """Return M d measure / d count of each cell, by central differences, centred."""
    counts = np.concatenate([positives, negatives]).astype(float)
    step = 1e-4
    moved = counts + step * np.concatenate([np.eye(len(counts)), -np.eye(len(counts))])
    found = measure.function(p, *np.split(moved, 2, axis=1))
    slope = (found[: len(counts)] - found[len(counts) :]) / (2 * step) * counts.sum()
    return slope - (slope @ counts) / counts.sum()


@pytest.mark.parametrize("measure", SMOOTH, ids=lambda m: m.id)
@pytest.mark.parametrize(("seed", "digits"), [(0, 1), (1, 2), (2, 8)])
def test_influence_is_the_derivative_in_the_counts(
    measure: Measure, seed: int, digits: int
) -> None:
    p, positives, negatives = random_counts(seed, digits)
    measure = measure.with_settings(**TAKEN)
    assert measure.influence is not None
    f = np.asarray(measure.influence(p, positives, negatives))
    counts = np.concatenate([positives, negatives])
    assert f.shape == (2 * len(p),)
    scale = np.abs(f).max()
    assert abs(counts @ f) <= 1e-11 * counts.sum() * scale
    # where no row is, a step of the counts to either side would leave some below 0
    np.testing.assert_allclose(
        f[counts > 0],
        derivatives(measure, p, positives, negatives)[counts > 0],
        rtol=0,
        atol=2e-6 * scale,
    )


def test_the_area_has_the_components_of_delong() -> None:
    measure = CATALOG["roc_auc"]
    assert measure.influence is not None
    p, pos, neg = random_counts(4, 2, rows=60)
    f = np.asarray(measure.influence(p, pos, neg))
    rows, others = pos.sum(), neg.sum()
    m = rows + others
    # DeLong divides each class's squares by (P - 1) P and (N - 1) N, the influence by P² and N²
    parts = [
        (n * f[half] ** 2).sum() / m**2
        for n, half in ((pos, slice(len(p))), (neg, slice(len(p), None)))
    ]
    expected = parts[0] * rows / (rows - 1) + parts[1] * others / (others - 1)
    assert delong_auc(pos, neg, level=0.95).variance == pytest.approx(expected, rel=1e-12)


def test_undefined_measures_have_no_influence() -> None:
    p = np.array([0.2, 0.7])
    for pos, neg in (([1, 2], [0, 0]), ([0, 0], [1, 2])):
        for measure in (one.with_settings(**TAKEN) for one in SMOOTH):
            assert measure.influence is not None
            value = measure.function(p, np.array(pos), np.array(neg))
            f = np.asarray(measure.influence(p, np.array(pos), np.array(neg)))
            assert np.isnan(f).all() == np.isnan(value), measure.id
