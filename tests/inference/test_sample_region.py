"""Ranges over the region of two rates and a prevalence, against a search without directions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize

from clfeval.inference.region_intervals import range_over_region, range_over_sample

Function = Callable[..., np.ndarray]
Z = 1.959963984540054  # scipy.stats.norm.ppf(0.975)


def f2(tp: np.ndarray, fp: np.ndarray, p: np.ndarray) -> np.ndarray:
    return 5 * p * tp / (p * tp + 4 * p + (1 - p) * fp)


def mcc(tp: np.ndarray, fp: np.ndarray, p: np.ndarray) -> np.ndarray:
    said = p * tp + (1 - p) * fp
    return (tp - fp) * np.sqrt(p * (1 - p) / (said * (1 - said)))


def bias(tp: np.ndarray, fp: np.ndarray, p: np.ndarray) -> np.ndarray:
    return 2 * ((1 - p) * fp - p * (1 - tp))


def entropy(p: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(-p * np.log2(p)) + np.nan_to_num(-(1 - p) * np.log2(1 - p))


def information(tp: np.ndarray, fp: np.ndarray, p: np.ndarray) -> np.ndarray:
    return entropy(p * tp + (1 - p) * fp) - p * entropy(tp) - (1 - p) * entropy(fp)


# TP, P, FP, N
TABLES = [
    (8, 10, 5, 50),
    (30, 40, 3, 60),
    (5, 5, 2, 55),
    (9, 9, 0, 51),
    (0, 6, 1, 30),
    (3, 9, 17, 21),
]


def wilson(k: float, n: float, z: np.ndarray) -> np.ndarray:
    """Return the root p of (k/n - p)² = z² p (1-p) / n on the side of z, by the school formula."""
    a, b, c = n + z * z, -(2 * k + z * z), k * k / n
    root = np.sqrt(np.maximum(b * b - 4 * a * c, 0))
    return np.clip((-b + np.sign(z) * root) / (2 * a), 0, 1)


def searched(measure: Function, table: tuple[int, ...]) -> tuple[float, float]:
    """Return the range by a dense scan of the boundary, polished by a simplex."""
    tp, p, fp, n = table
    pairs = ((tp, p), (fp, n), (p, p + n))

    def at(angles: np.ndarray) -> np.ndarray:
        up, turn = angles
        directions = (np.cos(up) * np.cos(turn), np.cos(up) * np.sin(turn), np.sin(up))
        points = (wilson(*pair, Z * d) for pair, d in zip(pairs, directions, strict=True))
        with np.errstate(divide="ignore", invalid="ignore"):
            return measure(*points)

    grid = np.stack(np.meshgrid(np.linspace(-np.pi / 2, np.pi / 2, 241), np.linspace(0, 6.28, 480)))
    values, ends = at(grid), []
    for sign in (-1, 1):
        best = np.unravel_index(np.nanargmax(sign * values), values.shape)
        start = grid[:, best[0], best[1]]
        around = start + np.array([[0, 0], [0.01, 0], [0, 0.01]])
        found = minimize(
            lambda x, s=sign: np.nan_to_num(-s * at(x), nan=9.0),
            start,
            method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-15, "initial_simplex": around},
        )
        ends.append(sign * max(-found.fun, np.nanmax(sign * values)))
    return ends[0], ends[1]


@pytest.mark.parametrize("measure", [f2, mcc, bias])
@pytest.mark.parametrize("table", TABLES)
def test_ends_are_those_of_a_search(measure: Function, table: tuple[int, ...]) -> None:
    low, high = range_over_sample(measure, *table, level=0.95)
    assert (float(low), float(high)) == pytest.approx(searched(measure, table), abs=1e-9)


@pytest.mark.parametrize("table", TABLES)
def test_information_is_least_where_the_rates_are_equal(table: tuple[int, ...]) -> None:
    low, high = range_over_sample(information, *table, level=0.95, kink=np.subtract)
    least, most = searched(information, table)
    assert float(high) == pytest.approx(most, abs=1e-8)
    # 3 of 9 and 17 of 21 are hardly apart, 0 of 6 and 1 of 30 not at all
    assert float(low) == pytest.approx(0 if least < 1e-3 else least, abs=1e-8)


def test_what_the_prevalence_does_not_move_has_the_region_of_the_two_rates() -> None:
    tables = np.array(TABLES, np.float64).T
    both = range_over_sample(lambda tp, fp, _: tp - fp, *tables, level=0.9)
    rates = range_over_region(lambda tp, fp: tp - fp, *tables, level=0.9)
    np.testing.assert_allclose(both, rates, atol=1e-10)


def test_of_the_prevalence_alone_it_is_the_score_interval() -> None:
    low, high = range_over_sample(lambda tp, fp, p: p, 8, 10, 5, 50, level=0.95)
    # Wilson for 10 of 60: (10 + z²/2 -+ z sqrt(10 · 50 / 60 + z²/4)) / (60 + z²)
    middle, reach = 10 + Z**2 / 2, Z * np.sqrt(10 * 50 / 60 + Z**2 / 4)
    assert float(low) == pytest.approx((middle - reach) / (60 + Z**2), abs=1e-10)
    assert float(high) == pytest.approx((middle + reach) / (60 + Z**2), abs=1e-10)


def test_it_is_never_narrower_than_with_a_known_ratio_and_never_of_width_zero() -> None:
    rng = np.random.default_rng(4)
    p, n = rng.integers(1, 30, 200), rng.integers(1, 60, 200)
    tp, fp = rng.binomial(p, 0.9), rng.binomial(n, 0.05)
    share = p / (p + n)
    low, high = range_over_sample(mcc, tp, p, fp, n, level=0.95)
    least, most = range_over_region(lambda x, y: mcc(x, y, share), tp, p, fp, n, level=0.95)
    assert (low <= least + 1e-9).all()
    assert (high >= most - 1e-9).all()
    assert (high - low > 0.01).all()


def test_without_a_class_there_is_none() -> None:
    low, high = range_over_sample(mcc, [0, 3], [0, 5], [2, 0], [9, 0], level=0.95)
    assert np.isnan([low, high]).all()
