"""One option --interval: the same methods for shares of rows in every command."""

from __future__ import annotations

from itertools import accumulate
from math import comb, sqrt

import numpy as np
import polars as pl
import pytest
from scipy import stats

import clfeval
from clfeval import COMMANDS
from clfeval.methods.command_lookup import command_of
from tests.limits import wilson
from tests.texts import check_text

K, N = 31, 40  # positives that are detected; of 60 negatives 6 are flagged
Y = [1] * 40 + [0] * 60
A = [1] * 31 + [0] * 9 + [1] * 6 + [0] * 54
TABLE = pl.DataFrame({"truth": Y, "a": A, "b": [1] * 30 + [0] * 10 + [0] * 60})
Z = 1.959963984540054


def textbook_limits(how: str, k: int = K, n: int = N) -> tuple[float, float]:
    """Return the limits by the textbook's formula, or by scipy's distribution."""
    p = k / n
    if how == "exact":
        return stats.beta.ppf(0.025, k, n - k + 1), stats.beta.ppf(0.975, k + 1, n - k)
    if how == "wilson":
        return wilson(k, n)
    if how == "jeffreys":
        low, high = stats.beta.ppf([0.025, 0.975], k + 0.5, n - k + 0.5)
        return float(low), float(high)
    if how == "agresti-coull":
        m = n + Z**2
        q = (k + Z**2 / 2) / m
        return q - Z * sqrt(q * (1 - q) / m), q + Z * sqrt(q * (1 - q) / m)
    of_each = [comb(n, hits) * p**hits * (1 - p) ** (n - hits) for hits in range(n + 1)]
    shares = list(accumulate(of_each))  # the first number of hits to reach a share of all samples
    least, most = (next(j for j, share in enumerate(shares) if share >= q) for q in (0.025, 0.975))
    return least / n, most / n


HOW = ("exact", "wilson", "jeffreys", "agresti-coull", "bootstrap")


@pytest.mark.parametrize("how", HOW)
def test_shares_have_these_limits_in_every_command(how: str) -> None:
    """tune-jpt and report draw their bootstrap: within one row of the quantiles they estimate."""
    low, high = textbook_limits(how)
    slack = 1 / N if how == "bootstrap" else 1e-9
    for call, name in (
        (clfeval.mars, "recall"),
        (clfeval.phidelta, "sensitivity"),
        (clfeval.tune_jpt, "sensitivity"),
        (clfeval.report, "sensitivity"),
    ):
        row = call(TABLE, interval=how).frame("models").row(0, named=True)
        exact = slack if call in (clfeval.tune_jpt, clfeval.report) else 1e-9
        assert row[name] == K / N
        assert row[f"{name}_low"] == pytest.approx(low, abs=exact), call
        assert row[f"{name}_high"] == pytest.approx(high, abs=exact), call


def test_a_bootstrap_knows_nothing_of_shares_without_a_miss() -> None:
    perfect = clfeval.mars(TABLE.with_columns(a=pl.col("truth")), interval="bootstrap")
    row = perfect.frame("models").row(0, named=True)
    assert (row["recall_low"], row["recall_high"]) == (pytest.approx(0.025 ** (1 / 40)), 1)


def test_the_bootstrap_of_delta_is_that_of_both_rates() -> None:
    rng = np.random.default_rng(1)
    draws = rng.binomial(40, K / N, 200_000) / 40 - rng.binomial(60, 0.1, 200_000) / 60
    row = clfeval.phidelta(TABLE, interval="bootstrap").frame("models").row(0, named=True)
    assert row["delta"] == pytest.approx(K / N - 0.1)
    for end, q in (("delta_low", 2.5), ("delta_high", 97.5)):
        assert row[end] == pytest.approx(np.percentile(draws, q), abs=0.02)


def test_every_command_knows_the_same_methods() -> None:
    choices = {
        option.choices
        for name in COMMANDS
        for option in command_of(name).options()
        if option.name == "interval"
    }
    assert choices == {(*HOW, "none")}


def test_the_method_stands_in_signature_and_parameters() -> None:
    for call in (clfeval.mars, clfeval.phidelta, clfeval.tune_jpt, clfeval.report):
        plain, named = call(TABLE), call(TABLE, interval="jeffreys")
        assert named.parameters["interval"] == "jeffreys"
        assert "jeffreys" in named.signature
        assert "jeffreys" not in plain.signature
    methods = clfeval.tune_jpt(TABLE, interval="jeffreys").parameters["interval_methods"]
    assert "Jeffreys" in str(methods)
    assert "Clopper" not in str(methods)


def test_features_have_limits_by_formula_alone() -> None:
    with pytest.raises(clfeval.UsageError) as caught:
        clfeval.phidelta(TABLE, features=True, interval="bootstrap")
    check_text(str(caught.value))
