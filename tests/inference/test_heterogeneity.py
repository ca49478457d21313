"""Random effects: a published meta-analysis, and the restricted likelihood written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.special import chdtrc
from scipy.stats import chi2, norm, t

import clfeval
from clfeval.inference.heterogeneity import _uniform_points, random_effects
from tests.results import rows_by, value_of
from tests.samples import informed_scores, logistic
from tests.thoroughness import examples

# Thirteen trials of the BCG vaccine: with and without tuberculosis, vaccinated and not (Colditz and
# others 1994, Journal of the American Medical Association 271:698).
BCG = np.array(
    [
        (4, 119, 11, 128),
        (6, 300, 29, 274),
        (3, 228, 11, 209),
        (62, 13536, 248, 12619),
        (33, 5036, 47, 5761),
        (180, 1361, 372, 1079),
        (8, 2537, 10, 619),
        (505, 87886, 499, 87892),
        (29, 7470, 45, 7232),
        (17, 1699, 65, 1600),
        (186, 50448, 141, 27197),
        (5, 2493, 3, 2338),
        (27, 16886, 29, 17825),
    ],
    float,
)


def test_the_published_analysis_of_a_vaccine() -> None:
    """The manual of metafor prints tau² 0.3132, mean -0.7145, Q 152.2330 on 12 degrees of freedom.

    With the estimate of DerSimonian and Laird it prints I² 92.12 %, which depends on Q alone.
    """
    a, b, c, d = BCG.T
    values = np.log(a / (a + b)) - np.log(c / (c + d))
    errors = np.sqrt(1 / a - 1 / (a + b) + 1 / c - 1 / (c + d))
    found = random_effects(values, errors, level=0.95)
    assert found.tau**2 == pytest.approx(0.3132, abs=5e-5)
    assert found.mean == pytest.approx(-0.7145, abs=5e-5)
    assert found.q == pytest.approx(152.2330, abs=5e-5)
    assert found.i2 == pytest.approx(0.9212, abs=5e-5)
    assert found.groups == 13


def by_hand(values: Any, errors: Any, level: float) -> dict[str, float]:
    """The formulas once more, with quantiles and a search of the likelihood by scipy."""
    k = len(values)

    def loss(tau2: float) -> float:
        v = errors**2 + tau2
        mean = np.average(values, weights=1 / v)
        return 0.5 * float(
            np.log(v).sum() + np.log((1 / v).sum()) + ((values - mean) ** 2 / v).sum()
        )

    top = 10 * (np.ptp(values) ** 2 + errors.max() ** 2)
    grid = np.concatenate([[0.0], np.geomspace(top * 1e-9, top, 4000)])
    i = int(np.argmin([loss(x) for x in grid]))
    ends = grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)]
    best = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-14}).x
    tau2 = 0.0 if loss(0.0) <= loss(best) else float(best)
    w = 1 / (errors**2 + tau2)
    mean = np.average(values, weights=w)
    s2 = max(1.0, (w * (values - mean) ** 2).sum() / (k - 1)) / w.sum()
    w0 = errors**-2
    q = (w0 * (values - np.average(values, weights=w0)) ** 2).sum()
    quantile = t.ppf((1 + level) / 2, k - 1)
    half = quantile * np.sqrt(s2)
    center, other_half = np.mean(values), quantile * np.std(values, ddof=1) / np.sqrt(k)
    return {
        "loss": loss(tau2),
        "mean": mean,
        "low": min(mean - half, center - other_half),
        "high": max(mean + half, center + other_half),
        "q": q,
        "p": chi2.sf(q, k - 1),
        "of": loss,
    }


def q_sum(tau2: float, values: Any, errors: Any) -> tuple[float, float, float]:
    """The weighted mean, sum of squares and sum of weights for a variance between groups."""
    w = 1 / (errors**2 + tau2)
    mean = float(np.average(values, weights=w))
    return mean, float((w * (values - mean) ** 2).sum()), float(w.sum())


def tau2_at(probability: float, values: Any, errors: Any) -> float:
    """The tau² with P(chi² > Q(tau²)) = probability, by a root of scipy; 0 if there is none."""
    df = len(values) - 1

    def excess(tau2: float) -> float:
        return float(chdtrc(df, q_sum(tau2, values, errors)[1])) - probability

    if excess(0.0) >= 0:
        return 0.0
    return float(brentq(excess, 0.0, 1e6, xtol=1e-12))


def tau2_quantiles(values: Any, errors: Any) -> list[float]:
    """Return tau² at the middles of 200 equal shares of probability."""
    return [tau2_at(share, values, errors) for share in (np.arange(200) + 0.5) / 200]


def new_below(x: float, values: Any, errors: Any, quantiles: list[float]) -> float:
    """P(mean + tau Z - s T <= x), by a mean over quantiles of tau² and of Z and the tail of T."""
    df = len(values) - 1
    normal = norm.ppf((np.arange(200) + 0.5) / 200)
    parts = []
    for tau2 in quantiles:
        mean, q, weights = q_sum(tau2, values, errors)
        error = np.sqrt(max(1.0, q / df) / weights)
        parts.append(t.sf((mean + np.sqrt(tau2) * normal - x) / error, df).mean())
    return float(np.mean(parts))


@pytest.mark.parametrize(("k", "spread", "level"), [(5, 0.0, 0.95), (7, 0.5, 0.95), (12, 1, 0.8)])
def test_limits_of_tau_and_of_a_new_group(k: int, spread: float, level: float) -> None:
    dice = np.random.default_rng(k)
    errors = dice.uniform(0.05, 0.5, k)
    values = 1 + dice.normal(0, spread, k) + dice.normal(0, errors)
    found = random_effects(values, errors, level=level)
    tail = (1 - level) / 2
    for limit, probability in ((found.tau_low, tail), (found.tau_high, 1 - tail)):
        expected = tau2_at(probability, values, errors) ** 0.5
        assert limit == pytest.approx(expected, abs=1e-6) or expected <= found.tau == limit
    quantiles = tau2_quantiles(values, errors)
    assert found.new_low is not None
    assert found.new_high is not None
    below_low, below_high = (
        new_below(limit, values, errors, quantiles) for limit in (found.new_low, found.new_high)
    )
    assert below_low == pytest.approx(tail, abs=0.004)
    assert below_high == pytest.approx(1 - tail, abs=0.004)


def test_limits_of_tau_of_the_published_analysis() -> None:
    """The manual of metafor (confint) prints tau² 0.3132 with limits 0.1197 and 1.1115."""
    a, b, c, d = BCG.T
    values = np.log(a / (a + b)) - np.log(c / (c + d))
    errors = np.sqrt(1 / a - 1 / (a + b) + 1 / c - 1 / (c + d))
    found = random_effects(values, errors, level=0.95)
    assert found.tau_low**2 == pytest.approx(0.1197, abs=5e-5)
    assert found.tau_high**2 == pytest.approx(1.1115, abs=5e-5)


def test_the_points_are_those_of_halton() -> None:
    """1/2, 1/4, 3/4, 1/8 and 1/3, 2/3, 1/9, 4/9: the digits of 1, 2, 3, 4 mirrored."""
    halves, thirds = _uniform_points(4)
    assert halves.tolist() == pytest.approx([1 / 2, 1 / 4, 3 / 4, 1 / 8])
    assert thirds.tolist() == pytest.approx([1 / 3, 2 / 3, 1 / 9, 4 / 9])


@examples(100)
@given(
    st.integers(3, 20),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.sampled_from([0.8, 0.95]),
)
def test_the_formulas_written_out(k: int, seed: int, spread: float, level: float) -> None:
    dice = np.random.default_rng(seed)
    errors = dice.uniform(0.05, 0.5, k)
    values = 1 + dice.normal(0, spread, k) + dice.normal(0, errors)
    found, other = random_effects(values, errors, level=level), by_hand(values, errors, level)
    likely: Any = other["of"]
    assert likely(found.tau**2) <= other["loss"] + 1e-9
    for name in ("mean", "low", "high", "q", "p"):
        assert getattr(found, name) == pytest.approx(other[name], rel=1e-4, abs=1e-5)
    assert found.tau_low <= found.tau <= found.tau_high
    assert (found.new_low is None) == (found.new_high is None) == (k < 5)
    if found.new_low is not None and found.new_high is not None:
        assert found.new_low < found.mean < found.new_high
    assert 0 <= found.i2 <= 1


def test_groups_that_agree_have_the_interval_of_sampling_alone() -> None:
    found = random_effects(np.full(4, 0.3), np.full(4, 0.2), level=0.95)
    assert found.tau == pytest.approx(0, abs=1e-6)
    assert found.p == 1
    assert found.high - found.mean == pytest.approx(t.ppf(0.975, 3) * 0.1)


def test_report_has_it_for_each_column_of_slices() -> None:
    """Of AUC on the logit scale: the error of logit A is that of A, divided by A (1 - A)."""
    dice = np.random.default_rng(7)
    truth = dice.random(800) < 0.4
    scores = informed_scores(dice, truth, 0.3)
    site = dice.integers(0, 5, 800)
    result = clfeval.report(truth, {"m": scores}, by={"site": site})
    rows = rows_by(result, "heterogeneity", "measure")
    assert {*rows} == {"roc_auc", "oe_ratio"}
    by_slice = rows_by(result, "measures", "slice", measure="roc_auc")
    slices = [row for label, row in by_slice.items() if label is not None]
    areas = np.array([value_of(row["value"]) for row in slices])
    errors = np.array([row["se"] for row in slices]) / (areas * (1 - areas))
    other = by_hand(np.log(areas / (1 - areas)), errors, 0.95)
    found = rows["roc_auc"]
    for name in ("low", "high"):
        expected = logistic(other[name])
        assert getattr(found["mean"], name) == pytest.approx(expected, abs=1e-5)
    prediction = found["prediction"]
    values = np.log(areas / (1 - areas))
    quantiles = tau2_quantiles(values, errors)
    for end, probability in ((prediction.low, 0.025), (prediction.high, 0.975)):
        logit = np.log(end / (1 - end))
        assert new_below(logit, values, errors, quantiles) == pytest.approx(probability, abs=0.004)
    assert found["slices"] == 5
    assert found["by"] == "site"
    assert "heterogeneity" not in clfeval.report(truth, {"m": scores}, by={"half": site % 2}).tables
