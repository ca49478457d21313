"""Resampled counts: multinomial by chi-square, moments and rows; the same whatever the chunk."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare, multinomial

from clfeval.inference import resampling
from clfeval.inference.resampling import resampled_counts, stream

pytestmark = pytest.mark.filterwarnings("error")

RARE, OFTEN, MIXED = [1] * 40, [30, 10, 60], [1, 5, 1, 2, 9, 1, 1]


def drawn(n: list[int], resamples: int, seed: int = 0) -> NDArray[np.int64]:
    rng = stream(seed, "test")
    return np.concatenate(list(resampled_counts(n, resamples=resamples, rng=rng)))


@given(st.lists(st.integers(1, 60), min_size=1, max_size=12), st.integers(1, 20))
def test_every_replicate_holds_as_many_rows(n: list[int], resamples: int) -> None:
    found = drawn(n, resamples)
    assert found.shape == (resamples, len(n))
    assert found.dtype == np.int64
    assert (found >= 0).all()
    assert (found.sum(axis=1) == sum(n)).all()


@pytest.mark.parametrize("n", [RARE, OFTEN, MIXED])
def test_mean_and_covariance_are_multinomial(n: list[int]) -> None:
    resamples = 20_000
    found = drawn(n, resamples)
    law = multinomial(sum(n), np.array(n) / sum(n))
    errors = np.sqrt(np.diag(law.cov()) / resamples)
    assert (np.abs(found.mean(axis=0) - n) < 4.5 * errors).all()
    spread = np.abs(np.cov(found.T) - law.cov())
    assert spread.max() < 6 * np.diag(law.cov()).max() / np.sqrt(resamples)


@pytest.mark.parametrize("n", [[1, 2, 1], [12, 24, 12]])
def test_the_whole_distribution_of_a_small_table(n: list[int]) -> None:
    """Rows drawn one by one, and binomials: both fit the multinomial's probabilities."""
    found = drawn(n, 20_000)
    kinds, seen = np.unique(found, axis=0, return_counts=True)
    expected = multinomial.pmf(kinds, sum(n), np.array(n) / sum(n)) * len(found)
    common = expected >= 10
    seen, expected = (
        np.append(part[common], len(found) - part[common].sum()) for part in (seen, expected)
    )
    assert common.sum() > 10
    assert chisquare(seen, expected).pvalue > 0.001


@pytest.mark.parametrize("n", [RARE, OFTEN, MIXED])
def test_neither_chunks_nor_further_replicates_change_a_draw(
    n: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = drawn(n, 50)
    for cells in (len(n) * 49, len(n) * 7, 1):
        monkeypatch.setattr(resampling, "CELLS", cells)
        np.testing.assert_array_equal(drawn(n, 50), found)
    np.testing.assert_array_equal(drawn(n, 20), found[:20])
    assert (drawn(n, 50, seed=1) != found).any()
    sizes = [len(part) for part in resampled_counts(n, resamples=50, rng=stream(0, ""))]
    assert sizes == [1] * 50


def test_no_replicates() -> None:
    assert list(resampled_counts([1, 2], resamples=0, rng=stream(0, ""))) == []


def test_one_distinct_row() -> None:
    assert (drawn([5], 3) == 5).all()
    assert (drawn([5000], 3) == 5000).all()


@pytest.mark.parametrize("n", [[0.5, 1], [1, 0], [-1, 2], [], [[1]], [np.nan, 1], [np.inf, 1]])
def test_counts_that_cannot_be_drawn(n: list[float]) -> None:
    with pytest.raises(ValueError, match="whole numbers above 0"):
        resampled_counts(n, resamples=2, rng=stream(0, ""))


@pytest.mark.parametrize("resamples", [-1, 1.5])
def test_resamples_are_a_whole_number(resamples: float) -> None:
    with pytest.raises(ValueError, match="resamples"):
        resampled_counts([1], resamples=resamples, rng=stream(0, ""))  # type: ignore[arg-type]
