"""Calibration slopes by site, and how much they differ."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from statsmodels.stats.meta_analysis import combine_effects

import clfeval
from tests.results import limits_of, rows_by
from tests.samples import logistic


def sites(spread: float) -> pl.DataFrame:
    """Return eight sites of 300 rows whose calibration slopes are 1 times e to a normal number."""
    rng = np.random.default_rng(4)
    parts = []
    for site in range(8):
        x = rng.normal(-0.5, 1.3, 300)
        slope = np.exp(rng.normal(0, spread))
        truth = (rng.random(300) < logistic(slope * x)).astype(int)
        parts.append(pl.DataFrame({"truth": truth, "m": logistic(x), "site": f"s{site}"}))
    return pl.concat(parts)


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_slopes_differ_by_cochrans_q_of_statsmodels(spread: float) -> None:
    """Slopes, with robust errors, by site; Q and I² of their fixed-effect weights."""
    table = sites(spread)
    result = clfeval.report(table, positive="1", by="site", measure=["calibration_slope"])
    slopes, variances = [], []
    for (_,), rows in table.group_by("site", maintain_order=True):
        scores = rows["m"].to_numpy()
        design = sm.add_constant(np.log(scores / (1 - scores)))
        fit = sm.Logit(rows["truth"].to_numpy(), design).fit(disp=0, cov_type="HC0", tol=1e-12)
        slopes.append(fit.params[1])
        variances.append(fit.bse[1] ** 2 * 300 / 299)
    by_measure = rows_by(result, "heterogeneity", "measure")
    row = by_measure["calibration_slope"]
    expected = combine_effects(np.array(slopes), np.array(variances), method_re="dl")
    assert row["slices"] == 8
    assert row["statistic"] == pytest.approx(expected.q, rel=1e-6)
    assert row["i2"] == pytest.approx(max(expected.i2, 0), abs=1e-6)
    assert (row["p"] < 0.01) == (spread > 0)
    low, high = limits_of(row["mean"])
    assert low < np.average(slopes) < high
    assert row["prediction"].low <= low
    assert {"roc_auc", "oe_ratio", "calibration_slope"} == {*by_measure}
