"""Intervals at the sample's own class ratio, which is as random as the answers, or was fixed."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta, binom, binomtest

import clfeval
from clfeval.errors import UsageError
from tests.methods.phidelta.byhand import Cells, counts_frame, model_row, model_rows
from tests.methods.phidelta.test_intervals import LEVELS, MEASURES, TABLES
from tests.results import limits_of, value_of
from tests.texts import check_text

FUNCTIONS = {**MEASURES, "phi_b": lambda p, x, y: 2 * ((1 - p) * y - p * (1 - x))}


@pytest.mark.parametrize("level", LEVELS)
def test_f1_has_the_exact_limits_of_a_share_of_rows(level: float) -> None:
    """With j = TP / (TP + FP + FN), a share of the rows that are not TN, F1 = 2 j / (1 + j)."""
    rows = model_rows(counts_frame(TABLES), level=level)
    for name, c in TABLES.items():
        n = c.tp + c.fp + c.fn
        low = beta.ppf((1 - level) / 2, c.tp, n - c.tp + 1) if c.tp else 0.0
        high = beta.ppf((1 + level) / 2, c.tp + 1, n - c.tp) if c.tp < n else 1.0
        expected = (2 * low / (1 + low), 2 * high / (1 + high))
        assert limits_of(rows[name]["f1"]) == pytest.approx(expected, abs=1e-9)


def test_f1_of_ten_rows_by_hand() -> None:
    """2 hits, no error, 8 right negatives: j is 2 of 2, so from sqrt(.025) on."""
    j = math.sqrt(0.025)  # .1581
    assert limits_of(model_row(Cells(2, 0, 0, 8))["f1"]) == pytest.approx((2 * j / (1 + j), 1.0))


@pytest.mark.parametrize("totals", ["random", "fixed"])
def test_delta_b_has_the_interval_of_accuracy(totals: str) -> None:
    rows = model_rows(counts_frame(TABLES), totals=totals)
    for name, c in TABLES.items():
        exact = binomtest(c.tp + c.tn, c.tp + c.fp + c.fn + c.tn).proportion_ci(method="exact")
        expected = (2 * exact.low - 1, 2 * exact.high - 1)
        assert limits_of(rows[name]["delta_b"]) == pytest.approx(expected, abs=1e-9)
        low, high = limits_of(rows[name]["accuracy"])
        assert limits_of(rows[name]["delta_b"]) == pytest.approx((2 * low - 1, 2 * high - 1))


def searched(measure: str, c: Cells) -> tuple[float, float]:
    """Return the range over a fine grid of the rates and prevalences that fit the counts.

    They fit when z(x)² + z(y)² + z(p)² <= 1.96², z(x) = (TP/P - x) / sqrt(x (1-x) / P).
    """
    pairs = ((c.tp, c.positives), (c.fp, c.negatives), (c.positives, c.positives + c.negatives))
    axes = []
    for k, n in pairs:
        s = (1 - np.cos(np.pi * (np.arange(120) + 0.5) / 120)) / 2
        exact = binomtest(k, n).proportion_ci(method="wilson")
        axes.append(exact.low + (exact.high - exact.low) * s)
    x, y, p = np.meshgrid(*axes)
    distance = sum(
        (k / n - q) ** 2 / (q * (1 - q) / n) for q, (k, n) in zip((x, y, p), pairs, strict=True)
    )
    fits = distance <= 1.959963984540054**2
    values = FUNCTIONS[measure](p[fits], x[fits], y[fits])
    return float(values.min()), float(values.max())


@pytest.mark.parametrize("measure", ["mcc", "mutual_information", "phi_b"])
def test_others_have_their_range_over_the_rates_and_the_prevalence(measure: str) -> None:
    rows = model_rows(counts_frame(TABLES))
    for name, c in TABLES.items():
        low, high = limits_of(rows[name][measure])
        least, most = searched(measure, c)
        assert low <= least + 1e-9 <= most <= high + 1e-9, name
        assert (low, high) == pytest.approx((least, most), abs=0.03 * (high - low)), name


def test_nothing_but_the_intervals_at_the_sample_moves_with_the_totals() -> None:
    frame = counts_frame(TABLES)
    random, fixed = (
        clfeval.phidelta(frame, prevalence=0.02, totals=totals) for totals in ("random", "fixed")
    )
    changed = ("f1", "mcc", "mutual_information", "phi_b")
    assert random.tables["populations"] == fixed.tables["populations"]
    for a, b in zip(random.tables["models"], fixed.tables["models"], strict=True):
        assert {key for key in a if a[key] != b[key]} == set(changed)
        assert all(value_of(a[key]) == value_of(b[key]) for key in changed)


def test_fixed_totals_are_said() -> None:
    frame = counts_frame({"m": Cells(30, 10, 20, 40)})
    random, fixed = clfeval.phidelta(frame), clfeval.phidelta(frame, totals="fixed")
    assert (random.parameters["totals"], fixed.parameters["totals"]) == ("random", "fixed")
    assert "|totals:fixed|" in fixed.signature
    assert "totals" not in random.signature
    methods = [result.parameters["interval_methods"] for result in (random, fixed)]
    assert methods[0] != methods[1]
    check_text(line for method in methods for line in method.values())
    with pytest.raises(UsageError, match=r"totals.*random.*fixed"):
        clfeval.phidelta(frame, totals="known")


@pytest.mark.slow
def test_f1_covers_where_a_known_ratio_did_not() -> None:
    """60 rows, prevalence .1, rates .6 and .7: every table (TP, FP, FN) with its probability.

    The true F1 is 2 · .06 / (2 · .06 + .27 + .04) = .2791. With the ratio taken as known the
    interval held it in 81 % of samples.
    """
    truth, coverage = 0.12 / 0.43, {"random": 0.0, "fixed": 0.0}
    tables, chances = [], []
    for p in range(1, 14):
        for tp in range(p + 1):
            chance = binom.pmf(p, 60, 0.1) * binom.pmf(tp, p, 0.6)
            for fp in range(6, 27):
                tables.append((tp, fp, p - tp, 60 - p - fp))
                chances.append(chance * binom.pmf(fp, 60 - p, 0.3))
    cells = np.array(tables)
    frame = pl.DataFrame({"model": [f"m{i}" for i in range(len(cells))]}).with_columns(
        pl.Series(name, cells[:, i]) for i, name in enumerate(("tp", "fp", "fn", "tn"))
    )
    total = sum(chances)
    for totals in coverage:
        rows = clfeval.phidelta(frame, totals=totals).tables["models"]
        for row, chance in zip(rows, chances, strict=True):
            low, high = limits_of(row["f1"])
            coverage[totals] += chance * (low <= truth <= high)
    assert total > 0.98
    assert coverage["random"] / total > 0.95
    assert coverage["fixed"] / total < 0.86
