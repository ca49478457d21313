"""Rows outside a part from sums: against these rows counted anew, and by loops over pairs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from clfeval.counts.scores import ScoreCounts
from clfeval.inference.complement_sums import PowerSums, RankedPairs
from clfeval.inference.influence_and_clusters import influence_covariance
from clfeval.inference.rank_statistics import delong_auc

Table = tuple[np.ndarray, np.ndarray, np.ndarray]  # scores, truth, which rows are in the part


def scores_and_part(seed: int, rows: int | None = None) -> Table:
    rng = np.random.default_rng(seed)
    n = rows or int(rng.integers(12, 300))
    x, y = np.round(rng.random(n), int(rng.integers(0, 4))), rng.random(n) < 0.4
    return x, y, rng.random(n) < rng.uniform(0, 0.45)


def score_counts(x: np.ndarray, y: np.ndarray) -> ScoreCounts:
    return ScoreCounts.from_rows(x, y, None)


def areas_outside(x: np.ndarray, y: np.ndarray, part: np.ndarray, level: float = 0.95) -> Any:
    """Return the area outside from sums, None where there is none, and that of the rows."""
    whole, inside, left = (score_counts(x[one], y[one]) for one in (slice(None), part, ~part))
    pairs = RankedPairs.from_counts(whole.positives, whole.negatives)
    if pairs is None:
        return None, None
    at = np.searchsorted(whole.scores, inside.scores)
    found = pairs.complement(at, inside.positives, inside.negatives, level=level)
    if found is None:
        return None, None
    return found, delong_auc(left.positives, left.negatives, level=level)


def halves(y: np.ndarray, part: np.ndarray) -> bool:
    """Whether at least half of each class lies outside."""
    return all(0 < (y == one).sum() <= 2 * ((y == one) & ~part).sum() for one in (True, False))


@pytest.mark.parametrize("seed", range(150))
def test_the_area_outside_is_that_of_its_rows(seed: int) -> None:
    x, y, part = scores_and_part(seed)
    found, direct = areas_outside(x, y, part)
    assert (found is not None) == halves(y, part)
    if found is None:
        return
    assert found.method == direct.method
    for name in ("value", "low", "high", "variance"):
        assert getattr(found, name) == pytest.approx(getattr(direct, name), 1e-11, 1e-15, True)
    assert found.value == pytest.approx(roc_auc_score(y[~part], x[~part]), abs=1e-12)


def test_a_part_without_a_class_and_a_part_without_a_row() -> None:
    x, y, _ = scores_and_part(3, 60)
    for part in (y & (np.arange(60) % 3 == 0), np.zeros(60, bool)):
        found, direct = areas_outside(x, y, part)
        assert [found.value, found.variance] == pytest.approx([direct.value, direct.variance])


def test_perfect_and_tied_scores_outside_have_the_bounds_of_the_border() -> None:
    y = np.tile([True, False], 20)
    part = np.arange(40) < 6
    for x in (np.where(part, 0.5, y * 1.0), np.where(part, y * 1.0, 0.5)):
        found, direct = areas_outside(x, y, part)
        assert (found.value, found.low, found.high, found.variance, found.method) == (
            direct.value,
            direct.low,
            direct.high,
            0.0,
            direct.method,
        )


def power_sums(x: np.ndarray, times: np.ndarray) -> PowerSums:
    return PowerSums(np.array([(times * x**k).sum() for k in range(5)]))


@pytest.mark.parametrize("seed", range(40))
def test_the_mean_outside_is_that_of_its_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 200))
    x, times, part = rng.random(n) ** 3, rng.integers(1, 4, n), rng.random(n) < 0.3
    every, mine = (power_sums(x[some] - 0.2, times[some]) for some in (slice(None), part))
    found = every.complement(mine, fewest=5)
    if times[part].sum() * 2 > times.sum():
        assert found is None
        return
    assert found is not None
    values = np.repeat(x[~part], times[~part])
    mean = values.mean()
    direct = influence_covariance(x[~part] - mean, times[~part], fewest=5)
    assert found[0] + 0.2 == pytest.approx(mean, abs=1e-13)
    assert found[1].errors == pytest.approx([values.std(ddof=1) / math.sqrt(len(values))], 1e-11)
    assert found[1].df == pytest.approx(direct.df, rel=1e-9)


def test_losses_that_are_all_one_have_no_error() -> None:
    x, part = np.full(50, 0.25), np.arange(50) < 10
    x[:5] = 0.9  # only inside
    every, mine = (power_sums(x[some] - 0.3, np.ones(some.sum())) for some in (part | True, part))
    found = every.complement(mine, fewest=5)
    assert found is not None
    assert (found[0] + 0.3, found[1].errors.tolist()) == (pytest.approx(0.25), [0.0])


@pytest.mark.parametrize("sign", [1, -1])
def test_an_area_near_the_border_keeps_the_digits_of_its_variance(sign: int) -> None:
    rng = np.random.default_rng(11)
    y, part = rng.random(20_000) < 0.3, rng.random(20_000) < 0.05
    x = sign * (rng.normal(size=20_000) + 5.5 * y)  # an area of .99995, or one less that
    found, direct = areas_outside(x, y, part)
    assert found.value == direct.value
    assert found.variance == pytest.approx(direct.variance, rel=1e-10)
