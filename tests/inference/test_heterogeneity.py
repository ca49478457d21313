"""Random effects: a published meta-analysis, and the restricted likelihood written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import chi2, t

import clfeval
from clfeval.inference.heterogeneity import random_effects
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
    assert found.tau2 == pytest.approx(0.3132, abs=5e-5)
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
    half, new = t.ppf((1 + level) / 2, [k - 1, k - 2]) * np.sqrt([s2, s2 + tau2])
    return {
        "loss": loss(tau2),
        "mean": mean,
        "low": mean - half,
        "high": mean + half,
        "new_low": mean - new,
        "new_high": mean + new,
        "q": q,
        "p": chi2.sf(q, k - 1),
        "of": loss,
    }


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
    assert likely(found.tau2) <= other["loss"] + 1e-9
    for name in ("mean", "low", "high", "new_low", "new_high", "q", "p"):
        assert getattr(found, name) == pytest.approx(other[name], rel=1e-4, abs=1e-5)
    assert found.new_low <= found.low <= found.mean <= found.high <= found.new_high
    assert 0 <= found.i2 <= 1


def test_groups_that_agree_have_the_interval_of_sampling_alone() -> None:
    found = random_effects(np.full(4, 0.3), np.full(4, 0.2), level=0.95)
    assert found.tau2 == pytest.approx(0, abs=1e-12)
    assert found.p == 1
    assert found.high - found.mean == pytest.approx(t.ppf(0.975, 3) * 0.1)


def test_report_has_it_for_each_column_of_slices() -> None:
    """Of AUC on the logit scale: the error of logit A is that of A, divided by A (1 - A)."""
    dice = np.random.default_rng(7)
    truth = dice.random(800) < 0.4
    scores = np.clip(0.3 * truth + dice.random(800) * 0.7, 0, 1)
    site = dice.integers(0, 5, 800)
    result = clfeval.report(truth, {"m": scores}, by={"site": site})
    rows = {row["measure"]: row for row in result.tables["heterogeneity"]}
    assert {*rows} == {"roc_auc", "oe_ratio"}
    of = [
        row
        for row in result.tables["measures"]
        if row["slice"] is not None and row["measure"] == "roc_auc"
    ]
    areas = np.array([row["value"].value for row in of])
    errors = np.array([row["se"] for row in of]) / (areas * (1 - areas))
    other = by_hand(np.log(areas / (1 - areas)), errors, 0.95)
    found = rows["roc_auc"]
    for cell, ends in ((found["mean"], "low high"), (found["prediction"], "new_low new_high")):
        for end, name in zip((cell.low, cell.high), ends.split(), strict=True):
            assert end == pytest.approx(1 / (1 + np.exp(-other[name])), abs=1e-5)
    assert found["slices"] == 5
    assert found["by"] == "site"
    assert "heterogeneity" not in clfeval.report(truth, {"m": scores}, by={"half": site % 2}).tables
