"""Draws of clusters, draws that go together, and how two rates go together over clusters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from clfeval.inference.influence_and_clusters import rate_correlation
from clfeval.inference.resampling import correlate_draws, resampled_clusters


def test_drawn_clusters_keep_their_rows_together() -> None:
    each = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    drawn = resampled_clusters(each, resamples=4000, rng=np.random.default_rng(1))
    assert drawn.shape == (4000, 2)
    assert (drawn[:, 1] == 10 * drawn[:, 0]).all()
    # three draws of 1, 2, 4: mean 7, variance 3 (21/3 - 49/9) = 14/3
    assert drawn[:, 0].mean() == pytest.approx(7, abs=4 * np.sqrt(14 / 3 / 4000))
    assert drawn[:, 0].var() == pytest.approx(14 / 3, rel=0.1)


def test_draws_in_another_order() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.beta(5, 2, 4000), rng.beta(2, 9, 4000)
    one, other = correlate_draws(x, y, 0.7, rng)
    assert sorted(one) == sorted(x)
    assert sorted(other) == sorted(y)
    # the rank correlation of normal variables of correlation .7: 6 / pi asin(.35)
    expected = 6 / np.pi * np.arcsin(0.35)
    assert stats.spearmanr(one, other)[0] == pytest.approx(expected, abs=0.04)
    same = correlate_draws(x, y, 0.0, rng)
    assert same[0] is x
    assert same[1] is y


def counts(seed: int) -> np.ndarray:
    """Return TP of two models, FP of both, P and N of 60 clusters."""
    rng = np.random.default_rng(seed)
    p, n = rng.integers(1, 6, (2, 60))
    right = rng.random(60)
    hits = [rng.binomial(p, np.clip(right + d, 0, 1)) for d in (0.1, -0.05)]
    alarms = [rng.binomial(n, np.clip(0.6 - right / 2 + d, 0, 1)) for d in (0.0, 0.1)]
    return np.column_stack([*hits, *alarms, p, n]).astype(float)


def test_how_two_rates_of_a_model_go_together() -> None:
    x = counts(5)[:, [0, 2, 4, 5]]
    tp, fp, p, n = x.T
    a, b = tp - tp.sum() / p.sum() * p, fp - fp.sum() / n.sum() * n
    found = rate_correlation((x.T @ x)[None], x.sum(axis=0)[None])
    assert found == pytest.approx([(a @ b) / np.sqrt((a @ a) * (b @ b))])
