"""The row of the sample itself: its class ratio is random or fixed, one number has one interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta

import clfeval
from tests.results import Line, limits_of, row_of, rows_by, value_of

TP, FP, FN, TN = 40, 12, 8, 90  # 48 positives, 102 negatives
MOVING = {
    "tar",
    "tor",
    "ppv",
    "npv",
    "ppv_odds",
    "npv_odds",
    "f_beta",
    "f_odds",
    "mcc",
    "ic",
    "epa",
}


def rows_by_population(**options: Any) -> dict[str, Line]:
    """Return the rows of the sample and of equal classes."""
    result = clfeval.tune_jpt(counts=(TP, FP, FN, TN), sweep=None, **options)
    return rows_by(result, "models", "population")


def test_f1_is_exact_and_its_odds_follow() -> None:
    """Of the 60 rows that are not TN, 40 are TP: F1 = 2 j / (1 + j), odds F1 / (1 - F1)."""
    j = np.array([beta.ppf(0.025, 40, 21), beta.ppf(0.975, 41, 20)])
    sample = rows_by_population()["sample"]
    assert limits_of(sample["f_beta"]) == pytest.approx(tuple(2 * j / (1 + j)), abs=1e-9)
    assert limits_of(sample["f_odds"]) == pytest.approx(tuple(2 * j / (1 - j)), abs=1e-8)


def test_a_quantity_has_one_interval_in_both_commands() -> None:
    cells = {"model": ["m"], "tp": [TP], "fp": [FP], "fn": [FN], "tn": [TN]}
    sample = rows_by_population()["sample"]
    row = row_of(clfeval.phidelta(pl.DataFrame(cells)), "models")
    names = {"f_beta": "f1", "mcc": "mcc", "tar": "accuracy", "ppv": "precision", "npv": "npv"}
    for name, name_there in names.items():
        assert limits_of(sample[name]) == pytest.approx(limits_of(row[name_there]), rel=1e-9)


def test_only_what_moves_at_the_sample_hangs_on_the_totals() -> None:
    random, fixed = rows_by_population(), rows_by_population(totals="fixed")
    assert random["1:1"] == fixed["1:1"]
    changed = {key for key in random["sample"] if random["sample"][key] != fixed["sample"][key]}
    assert changed == {"f_beta", "f_odds", "mcc", "ic", "epa"}  # the others were exact, and are
    for key in changed:
        assert value_of(random["sample"][key]) == value_of(fixed["sample"][key])


@pytest.mark.parametrize(
    ("measure", "names"),
    [("f_beta:beta=2", ["f_beta"]), ("cost:fp=1,fn=10", ["expected_cost", "net_benefit"])],
)
def test_limits_are_wider_where_the_ratio_is_random(measure: str, names: list[str]) -> None:
    narrow, wide = (
        rows_by_population(measure=measure, totals=t)["sample"] for t in ("fixed", "random")
    )
    for name in names:
        assert wide[name].low < narrow[name].low < narrow[name].high < wide[name].high


def test_the_bootstrap_draws_all_rows_together() -> None:
    """Of 20,000 resamples the 2.5 % point is seldom 5 % of the width off."""
    rng = np.random.default_rng(8)
    tp, fp, fn, _ = rng.multinomial(150, np.array([TP, FP, FN, TN]) / 150, 20_000).T
    low, high = np.quantile(2 * tp / (2 * tp + fp + fn), [0.025, 0.975])
    options: dict[str, Any] = {"interval": "bootstrap", "resamples": 20_000}
    random, fixed = (rows_by_population(totals=totals, **options) for totals in ("random", "fixed"))
    slack = 0.05 * (high - low)
    assert limits_of(random["sample"]["f_beta"]) == pytest.approx((low, high), abs=slack)
    assert random["1:1"] == fixed["1:1"]
    for name in set(random["sample"]) - MOVING:
        assert random["sample"][name] == fixed["sample"][name]
