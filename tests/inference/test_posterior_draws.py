"""Draws with room for what was not seen: their distribution, and the rows that stand for it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, stats

from clfeval.inference import resampling as unseen
from clfeval.inference.resampling import dirichlet_counts, prior_error_patterns


@pytest.mark.parametrize("models", [1, 3, 63])
def test_the_columns_are_those_of_a_hadamard_matrix(models: int) -> None:
    ours, theirs = prior_error_patterns(models), linalg.hadamard(64) < 0
    np.testing.assert_array_equal(ours, theirs[:, 1 : models + 1])


@pytest.mark.parametrize(("models", "rows"), [(1, 64), (63, 64), (64, 128), (200, 256)])
def test_every_model_errs_in_half_and_every_two_agree_in_half(models: int, rows: int) -> None:
    errs = prior_error_patterns(models).astype(int)
    assert errs.shape == (rows, models)
    together = errs.T @ errs  # both err in a quarter of the rows, one alone in another
    assert (np.diag(together) == rows // 2).all()
    assert (together[~np.eye(models, dtype=bool)] == rows // 4).all()


def posterior_weights(counts: list[list[int]], n: int = 20_000) -> np.ndarray:
    """Return drawn weights of tables (class, right or wrong) of one model: (n, 2, 2)."""
    shapes = np.array(counts) + 0.5
    truth = np.array([[True, True], [False, False]])
    rng = np.random.default_rng(1)
    parts = dirichlet_counts(shapes.ravel(), truth.ravel(), resamples=n, rng=rng)
    return np.concatenate(list(parts)).reshape(n, 2, 2)


def test_rates_are_of_jeffreys_distribution_and_the_class_ratio_too() -> None:
    """9 of 9 right: Beta(9.5, .5), mean .95; 48 of 51: Beta(48.5, 3.5); Beta(9.5, 51.5)."""
    weights = posterior_weights([[9, 0], [48, 3]])
    np.testing.assert_allclose(weights.sum(axis=(1, 2)), 60)
    classes = weights.sum(axis=2)
    right = weights[:, :, 0] / classes
    assert right[:, 0].mean() == pytest.approx((9 + 0.5) / (9 + 1), abs=4 * 0.066 / 20_000**0.5)
    for column, a, b in (
        (right[:, 0], 9.5, 0.5),
        (right[:, 1], 48.5, 3.5),
        (classes[:, 0] / 60, 9.5, 51.5),
    ):
        assert stats.kstest(column, stats.beta(a, b).cdf).pvalue > 1e-3
    three = np.corrcoef([right[:, 0], right[:, 1], classes[:, 0]])
    assert np.abs(three[~np.eye(3, dtype=bool)]).max() < 0.03  # independent of each other


def test_a_pair_of_models_is_perks_distribution() -> None:
    """Of 9 rows both right in 7, one alone in 2 and 0: Dirichlet(7.25, 2.25, .25, .25)."""
    errs = prior_error_patterns(2)
    patterns = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], bool)
    shares = [(errs == one).all(axis=1).sum() / len(errs) for one in patterns]
    assert shares == [0.25] * 4
    shapes = np.array([7, 2, 0, 0]) + shares
    rng = np.random.default_rng(2)
    (weights,) = dirichlet_counts(shapes, np.ones(4, bool), resamples=20_000, rng=rng)
    reference = stats.dirichlet([7.25, 2.25, 0.25, 0.25])
    np.testing.assert_allclose(weights.mean(axis=0) / 9, reference.mean(), atol=0.004)
    np.testing.assert_allclose(weights.var(axis=0) / 81, reference.var(), rtol=0.05)


def test_draws_do_not_depend_on_how_many_are_made_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = posterior_weights([[9, 0], [48, 3]], 50)
    monkeypatch.setattr(unseen, "CELLS", 12)
    np.testing.assert_array_equal(posterior_weights([[9, 0], [48, 3]], 50), one)
    np.testing.assert_array_equal(posterior_weights([[9, 0], [48, 3]], 20), one[:20])


def test_one_class_alone_has_all_the_rows() -> None:
    rng = np.random.default_rng(3)
    (weights,) = dirichlet_counts([4.5, 1.5], [False, False], resamples=10, rng=rng)
    np.testing.assert_allclose(weights.sum(axis=1), 5)


@pytest.mark.parametrize("shapes", [[], [[1.0]], [1.0, 0.0], [1.0, np.inf], [np.nan]])
def test_shapes_that_are_none(shapes: list[float]) -> None:
    with pytest.raises(ValueError, match="shapes"):
        next(
            dirichlet_counts(
                shapes, np.ones(len(shapes)), resamples=1, rng=np.random.default_rng(0)
            )
        )
