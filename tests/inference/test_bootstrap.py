"""Streams, resampled rates, percentile limits and beta odds against rows, numpy and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import beta, betaprime, binom, chisquare, kstest

from clfeval.inference.resampling import (
    beta_odds,
    percentile_limits,
    random_stream,
    resampled_rates,
)

pytestmark = pytest.mark.filterwarnings("error")

INF, NAN = math.inf, math.nan


# streams


def test_a_stream_depends_on_seed_and_name_alone() -> None:
    alone = random_stream(0, "forest").random(5)
    random_stream(0, "another model").random(1000)
    np.testing.assert_array_equal(random_stream(0, "forest").random(5), alone)
    np.testing.assert_array_equal(random_stream(np.int64(0), "forest").random(5), alone)


def test_every_seed_and_name_has_a_stream_of_its_own() -> None:
    seeds = [0, 1, 11, -1, 2**32, 2**32 + 1, 2**64, 2**300]
    names = [
        "",
        "a",
        "A",
        "a ",
        "1:a",
        ":a",
        "1",
        "0",
        "\x00",
        "é",
        "e\u0301",
        "模型",
        "?",
        "\udcfe",
        "\udcff",
    ]
    drawn = [
        tuple(random_stream(s, n).integers(0, 2**63, 4).tolist()) for s in seeds for n in names
    ]
    assert len(set(drawn)) == len(seeds) * len(names)


def test_a_seed_is_a_whole_number() -> None:
    with pytest.raises(ValueError, match="format code 'd'"):
        random_stream(1.5, "a")


# resampled rates


def test_rates_have_the_distribution_of_resampled_rows() -> None:
    """7 of 10 and 2 of 8: binomial, as 40000 draws of whole rows with replacement are."""
    tp, fp = resampled_rates(7, 10, 2, 8, resamples=40_000, rng=random_stream(0, "rates"))
    rng = np.random.default_rng(1)
    for rates, k, n in ((tp, 7, 10), (fp, 2, 8)):
        rows = np.repeat([1, 0], [k, n - k])
        by_rows = rng.choice(rows, (40_000, n)).sum(axis=1)
        for hits in (np.rint(rates * n).astype(int), by_rows):
            expected = 40_000 * binom.pmf(np.arange(n + 1), n, k / n)
            large = expected > 5
            seen = np.bincount(hits, minlength=n + 1)
            pooled = np.append(seen[large], seen[~large].sum())
            assert (
                chisquare(pooled, np.append(expected[large], expected[~large].sum())).pvalue > 0.01
            )
        np.testing.assert_array_equal(rates, np.rint(rates * n) / n)
    assert abs(np.corrcoef(tp, fp)[0, 1]) < 4 / math.sqrt(40_000)


def test_rates_at_the_ends_and_without_rows() -> None:
    tp, fp = resampled_rates(5, 5, 0, 9, resamples=50, rng=random_stream(0, "ends"))
    assert (tp == 1).all()
    assert (fp == 0).all()
    tp, fp = resampled_rates(0, 0, 3, 9, resamples=50, rng=random_stream(0, "none"))
    assert tp.shape == fp.shape == (50,)
    assert np.isnan(tp).all()
    assert not np.isnan(fp).any()


def test_rates_of_a_great_many_rows() -> None:
    n = 10**15
    tp, _ = resampled_rates(3 * n // 10, n, 0, 0, resamples=2000, rng=random_stream(0, "many"))
    error = math.sqrt(0.21 / n)
    assert abs(tp.mean() - 0.3) < 4 * error / math.sqrt(2000)
    assert tp.std() == pytest.approx(error, rel=0.07)


def test_rates_of_whole_floats_and_nothing_else() -> None:
    whole = resampled_rates(7.0, 10.0, 2.0, 8.0, resamples=9, rng=random_stream(0, "x"))
    np.testing.assert_array_equal(
        whole, resampled_rates(7, 10, 2, 8, resamples=9, rng=random_stream(0, "x"))
    )
    rng = random_stream(0, "x")
    for bad in ((0.5, 10, 2, 8), (7, 10.5, 2, 8), (7, 10, NAN, 8), (7, 10, 2, INF)):
        with pytest.raises(ValueError, match="whole"):
            resampled_rates(*bad, resamples=9, rng=rng)
    for bad in ((11, 10, 2, 8), (-1, 10, 2, 8), (7, 10, 9, 8), (7, 10, 0, -8)):
        with pytest.raises(ValueError, match=r"\b0\b.*\bn\b"):
            resampled_rates(*bad, resamples=9, rng=rng)


# percentiles


def limits_and_failures(values: object, level: float) -> tuple[float, float, int]:
    low, high, failed = percentile_limits(values, level=level)
    return float(low), float(high), int(failed)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300),
    st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]),
)
def test_finite_percentiles_against_numpy(values: list[float], level: float) -> None:
    expected = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    scale = max(map(abs, values))
    low, high, failed = limits_and_failures(values, level)
    assert (low, high) == pytest.approx(tuple(expected), rel=1e-9, abs=1e-8 * scale + 1e-300)
    assert failed == 0
    assert min(values) <= low <= high <= max(values) or high == pytest.approx(low)
    low, high, _ = limits_and_failures([-v for v in values], level)
    assert (-high, -low) == limits_and_failures(values, level)[:2]


def test_percentiles_by_hand() -> None:
    assert limits_and_failures(np.arange(101)[::-1], 0.9) == (5, 95, 0)
    # of 1 2 3 4 5 at 50 %: h = 4/4 = 1; of 1 2 3 4: h = 3/4
    assert limits_and_failures([5, 4, 1, 2, 3], 0.5) == (2, 4, 0)
    assert limits_and_failures([4, 1, 2, 3], 0.5) == (1.75, 3.25, 0)
    assert limits_and_failures([0.1] * 7, 0.9) == (0.1, 0.1, 0)
    assert str(limits_and_failures([0, 0.0], 0.9)) == "(0.0, 0.0, 0)"
    assert limits_and_failures([3], 0.95) == (3, 3, 0)


def test_a_whole_place_takes_no_neighbour() -> None:
    """0.025 of 40 steps is a whole place, though (1 - .95) / 2 is a rounding above it."""
    values = np.array([-INF, *range(39), INF])
    assert limits_and_failures(values, 0.95) == (0, 38, 0)


def test_undefined_replicates_are_left_out_and_counted() -> None:
    assert limits_and_failures([NAN, 5, 4, 1, NAN, 2, 3, NAN], 0.5) == (2, 4, 3)
    assert limits_and_failures([NAN, 7], 0.9) == (7, 7, 1)
    low, high, failed = limits_and_failures([NAN, 7, NAN], 0.9)
    assert (math.isnan(low), math.isnan(high), failed) == (True, True, 2)
    low, high, failed = limits_and_failures([NAN] * 3, 0.9)
    assert (math.isnan(low), math.isnan(high), failed) == (True, True, 3)
    low, high, failed = limits_and_failures([], 0.9)
    assert (math.isnan(low), math.isnan(high), failed) == (True, True, 0)


@given(st.lists(st.sampled_from([-INF, -1.5, 0.0, 2.0, INF, NAN]), min_size=1, max_size=40))
def test_percentiles_without_lines_between_infinities(values: list[float]) -> None:
    """Sorted by hand: the outer neighbour wherever one of the two is infinite."""
    defined = sorted(v for v in values if not math.isnan(v))
    assume(2 * len(defined) >= len(values))
    h = (len(defined) - 1) / 4
    expected = []
    for row, sign in ((defined, 1), ([-v for v in reversed(defined)], -1)):
        a, b = row[math.floor(h)], row[math.ceil(h)]
        line = h % 1 and math.isfinite(a) and math.isfinite(b)
        expected.append(sign * (a + (h % 1) * (b - a) if line else a))
    assert limits_and_failures(values, 0.5) == (*expected, len(values) - len(defined))


def test_percentiles_of_many_columns() -> None:
    values = np.random.default_rng(0).normal(size=(200, 3, 2))
    values[:150, 1, 0] = NAN
    values[:30, 2, 1] = INF
    low, high, failed = percentile_limits(values, level=0.9)
    assert low.shape == high.shape == failed.shape == (3, 2)
    for i, j in np.ndindex(3, 2):
        alone = limits_and_failures(values[:, i, j], 0.9)
        np.testing.assert_array_equal((low[i, j], high[i, j], failed[i, j]), alone)
    assert failed.tolist() == [[0, 0], [150, 0], [0, 0]]
    assert [part.shape for part in percentile_limits(np.zeros((0, 4)), level=0.9)] == [(4,)] * 3
    assert [part.shape for part in percentile_limits(np.zeros((5, 0)), level=0.9)] == [(0,)] * 3


def test_percentiles_that_are_refused() -> None:
    for level in (0, 1, 95, NAN):
        with pytest.raises(ValueError, match="level"):
            percentile_limits([1, 2], level=level)


# odds of a beta distribution


@pytest.mark.parametrize(
    ("a", "b"), [(0.5, 0.5), (3, 7), (10.5, 990.5), (1e6, 2), (0.05, 4), (0.5, 1e9)]
)
def test_beta_odds_against_scipy(a: float, b: float) -> None:
    odds = beta_odds(a, b, draws=20_000, rng=random_stream(0, f"{a} {b}"))
    assert kstest(odds / (1 + odds), beta(a, b).cdf).pvalue > 0.01
    assert kstest(1 / odds, betaprime(b, a).cdf).pvalue > 0.01


@pytest.mark.parametrize(("a", "b"), [(0.001, 0.001), (0.002, 5), (0.001, 1e18)])
def test_odds_that_would_not_fit_a_float_are_drawn_again(a: float, b: float) -> None:
    """The distribution is cut off at 2**-1022, and at its inverse."""
    whole = betaprime(a, b).cdf
    least, most = whole(2.0**-1022), whole(1.0 if a == b else 2.0**1022)

    def cut(x: np.ndarray) -> np.ndarray:
        return (whole(x) - least) / (most - least)

    for odds in (
        beta_odds(a, b, draws=5000, rng=random_stream(0, "small")),
        1 / beta_odds(b, a, draws=5000, rng=random_stream(0, "great")),
    ):
        assert np.isfinite(odds).all()
        assert np.isfinite(1 / odds).all()
        if a == b:
            assert 0.47 < (odds < 1).mean() < 0.53
            odds = np.minimum(odds, 1 / odds)
        assert kstest(odds, cut).pvalue > 0.01


def test_beta_odds_are_reproducible_and_refuse_what_they_cannot() -> None:
    first, again = (beta_odds(2, 3, draws=5, rng=random_stream(0, "x")) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    rng = random_stream(0, "x")
    assert beta_odds(2, 3, draws=0, rng=rng).shape == (0,)
    for a, b in ((0, 1), (1, -1), (1e-4, 1), (1, 1e19), (1, INF), (NAN, 1)):
        with pytest.raises(ValueError, match="a and b"):
            beta_odds(a, b, draws=5, rng=rng)
