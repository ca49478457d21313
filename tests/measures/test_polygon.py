"""The polygon of metrics: against its vertices, over all orders, and to the last bit."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clfeval.measures import composite_scores as polygon
from clfeval.measures.composite_scores import (
    area_range,
    areas_by_order,
    cyclic_orders,
    mean_area,
    sampled_orders,
)

metric = st.floats(0, 1)
rays = st.lists(metric, min_size=3, max_size=12)


def shoelace(d: np.ndarray) -> float:
    """The area from the polygon's vertices: ray i ends at angle 2 pi i / n."""
    angles = 2 * np.pi * np.arange(len(d)) / len(d)
    x, y = d * np.cos(angles), d * np.sin(angles)
    return 0.5 * float(sum(x[i - 1] * y[i] - x[i] * y[i - 1] for i in range(len(d))))


def all_areas(d: np.ndarray) -> np.ndarray:
    """The areas of all orders that keep the first ray first: turns add nothing."""
    tails = np.array(list(itertools.permutations(range(1, len(d)))))
    x = d[np.column_stack([np.zeros(len(tails), int), tails])]
    products = sum(x[:, i - 1] * x[:, i] for i in range(len(d)))
    return 0.5 * math.sin(2 * math.pi / len(d)) * np.asarray(products)


@pytest.mark.parametrize("n", range(3, 13))
def test_the_area_is_that_of_the_vertices(n: int) -> None:
    rng = np.random.default_rng(n)
    tables = [rng.random((50, n)), rng.integers(0, 2, (50, n)), 3 * rng.random((50, n)) ** 4]
    table = np.concatenate([*tables, np.zeros((1, n)), np.ones((1, n))])
    expected = [shoelace(d) for d in table]
    np.testing.assert_allclose(polygon.polygon_area(table), expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("n", range(3, 10))
def test_all_orders(n: int) -> None:
    """The mean, the least and the greatest area by enumeration, with ties and zeros."""
    rng = np.random.default_rng(n)
    count = 3 if n == 9 else 25
    tables = [rng.random((count, n)), rng.integers(0, 4, (count, n)) / 3, rng.random((1, n)) ** 9]
    table = np.concatenate([*tables, np.eye(n)[:1], np.ones((1, n))])
    areas = np.array([all_areas(d) for d in table])
    lowest, highest = area_range(table)
    np.testing.assert_allclose(lowest, areas.min(axis=1), rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(highest, areas.max(axis=1), rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(mean_area(table), areas.mean(axis=1), rtol=1e-12, atol=1e-16)


@given(rays, st.integers(0, 11), st.randoms(use_true_random=False))
def test_the_same_bits(d: list[float], turn: int, random: object) -> None:
    here = polygon.polygon_area(d)
    turned = d[turn % len(d) :] + d[: turn % len(d)]
    assert polygon.polygon_area(turned) == here
    assert polygon.polygon_area(turned[::-1]) == here
    assert polygon.polygon_area([[0.5] * len(d), turned])[1] == here
    shuffled = list(d)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert mean_area(shuffled) == mean_area(d)
    lowest, highest = area_range(d)
    assert lowest <= here <= highest
    assert lowest >= 0


@pytest.mark.parametrize("n", range(3, 9))
def test_the_area_lies_between_the_extremes_where_only_roundings_part_them(n: int) -> None:
    rng = np.random.default_rng(n)
    d = rng.random((3000, 1)) + rng.integers(0, 4, (3000, n)) * 2.0**-53
    lowest, highest = area_range(d)
    assert (lowest <= polygon.polygon_area(d)).all()
    assert (polygon.polygon_area(d) <= highest).all()


@given(st.lists(st.tuples(metric, metric), min_size=3, max_size=12))
def test_a_model_that_is_at_least_as_good_everywhere_never_has_less(
    pairs: list[tuple[float, float]],
) -> None:
    worse, better = np.sort(np.array(pairs), axis=1).T
    assert (
        polygon.polygon_area(worse)
        <= polygon.polygon_area(better)
        <= polygon.polygon_area(np.ones(len(pairs)))
    )
    assert mean_area(worse) <= mean_area(better)
    for less, more in zip(area_range(worse), area_range(better), strict=True):
        assert less <= more


@pytest.mark.parametrize("n", [0, 1, 2])
def test_too_few_rays(n: int) -> None:
    for shape in ((n,), (4, n)):
        d = np.ones(shape)
        results = [polygon.polygon_area(d), mean_area(d), *area_range(d)]
        assert all(result.shape == shape[:-1] and np.isnan(result).all() for result in results)
    assert np.isnan(areas_by_order(np.ones((4, n)), [range(n)])).all()


@pytest.mark.parametrize("bad", [-0.1, -1e-300, math.nan, math.inf, 1e151])
def test_rays_that_cannot_be_used(bad: float) -> None:
    """Two negative neighbours would give a positive area."""
    d = np.array([[bad, bad, 0.5, 0.5], [0.5, 0.5, 0.5, 0.5]])
    for result in (polygon.polygon_area(d), mean_area(d), *area_range(d)):
        assert np.isnan(result).tolist() == [True, False]
    for count in (1, 500):
        result = areas_by_order(d, np.tile(np.arange(4), (count, 1)))
        assert np.isnan(result).tolist() == [[True] * count, [False] * count]
    assert polygon.polygon_area([1e150] * 4) == pytest.approx(2e300)


@pytest.mark.parametrize("n", range(3, 10))
def test_the_orders_differ_in_their_neighbours(n: int) -> None:
    orders = cyclic_orders(n)
    assert orders.shape == (math.factorial(n - 1) // 2, n)
    assert orders[0].tolist() == list(range(n))
    assert (np.sort(orders, axis=1) == np.arange(n)).all()
    ends = np.sort(np.stack([orders, np.roll(orders, 1, axis=1)], axis=-1), axis=-1)
    neighbours = np.sort(n * ends[..., 0] + ends[..., 1], axis=1)
    assert len(np.unique(neighbours, axis=0)) == len(orders)


def test_sampled_orders() -> None:
    orders = sampled_orders(5, 6001, np.random.default_rng(1))
    assert orders.shape == (6001, 5)
    assert orders[0].tolist() == [0, 1, 2, 3, 4]
    assert (np.sort(orders, axis=1) == np.arange(5)).all()
    # each index in each place 1200 times, give or take 31 (binomial): five times that
    counts = (orders[1:, :, None] == np.arange(5)).sum(axis=0)
    assert (np.abs(counts - 1200) < 155).all()
    again = sampled_orders(5, 6001, np.random.default_rng(1))
    assert np.array_equal(orders, again)
    assert sampled_orders(3, 1, np.random.default_rng(1)).tolist() == [[0, 1, 2]]


@pytest.mark.parametrize(("n", "count"), [(3, 1), (4, 900), (7, 360), (9, 2000), (12, 3000)])
def test_areas_over_orders_are_the_areas_to_the_last_bit(n: int, count: int) -> None:
    """On either side of 100 n orders, where the way of counting changes; with ties and a NaN."""
    rng = np.random.default_rng(n)
    table = np.concatenate(
        [rng.random((4, n)), rng.integers(0, 3, (3, n)) / 2, np.full((1, n), -1)]
    )
    for orders in (sampled_orders(n, count, rng), sampled_orders(n, 3, rng)):
        expected = np.column_stack([polygon.polygon_area(table[:, order]) for order in orders])
        assert np.array_equal(areas_by_order(table, orders), expected, equal_nan=True)


def test_orders_that_cannot_be() -> None:
    for n in (0, 2, 10):
        with pytest.raises(ValueError, match=r"3.*9"):
            cyclic_orders(n)
    for n, count in ((2, 5), (5, 0)):
        with pytest.raises(ValueError, match=r"\w"):
            sampled_orders(n, count, np.random.default_rng(0))
    for orders in ([[0, 1, 1]], [[0, 1]], [[0, 1, 3]], [0, 1, 2]):
        with pytest.raises(ValueError, match=r"\w"):
            areas_by_order(np.ones((2, 3)), orders)
