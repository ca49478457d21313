"""Cuts chosen on the rows: judged by the other half; and roles of many features together."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import ks_2samp, kstwobign
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from clfeval.arrays import Counts
from clfeval.counts.features.cuts import UNDEALT, cross_fitted_counts
from tests.methods.features.door import features, rows_by_feature
from tests.results import (
    estimate_of,
    limits_of,
    row_of,
    rows_of,
    sentences_by_code,
    value_and_limits,
    value_of,
)
from tests.texts import check_text, numbers_in


def by_hand(positives: Counts, negatives: Counts) -> tuple[float, float]:
    """Deal rows of each class, and look through all cuts of one half for the other, five times."""
    rng = np.random.default_rng(0)
    tp = fp = 0
    values = range(len(positives))
    for _ in range(5):
        half = [
            rng.multivariate_hypergeometric(n, n.sum() // 2, method="marginals")
            for n in (positives, negatives)
        ]
        rest = [n - part for n, part in zip((positives, negatives), half, strict=True)]
        for (a, b), (c, d) in ((half, rest), (rest, half)):

            def place(cut: int, a: Any = a, b: Any = b) -> tuple[float, float, int]:
                x, y = a[cut:].sum() / a.sum(), b[cut:].sum() / b.sum()
                return -round(abs(x - y), 12), round(abs(x + y - 1), 12), cut

            best = min(values, key=place)
            tp, fp = tp + c[best:].sum(), fp + d[best:].sum()
    return tp / 5, fp / 5


@pytest.mark.parametrize("seed", range(6))
def test_each_half_is_judged_by_the_cut_of_the_other(seed: int) -> None:
    rng = np.random.default_rng([9, seed])
    positives, negatives = rng.integers(0, 6, (2, 12))
    assert cross_fitted_counts(positives, negatives) == pytest.approx(by_hand(positives, negatives))


def test_too_few_rows_have_no_halves() -> None:
    assert cross_fitted_counts(np.array([0, 1]), np.array([2, 3])) == UNDEALT
    weights = {"truth": [1, 1, 0, 0], "x": [1.5, 2.5, 0.5, 2.0], "w": [0.5, 1.5, 2.0, 3.5]}
    result = features(pl.DataFrame(weights), cut="best", weight="w", interval="none")
    assert estimate_of(row_of(result, "features")["corrected_delta"]).value is None


def noise(columns: int, rows: int, seed: int, **distances: float) -> pl.DataFrame:
    """Return columns that know nothing of the class, and others of so distant classes."""
    rng = np.random.default_rng(seed)
    truth = np.arange(rows) % 5 < 2
    values = {f"x{i:03}": rng.standard_normal(rows) for i in range(columns)}
    values |= {name: rng.standard_normal(rows) + far * truth for name, far in distances.items()}
    return pl.DataFrame({"truth": truth * 1, **values})


def test_the_cross_fitted_place_has_the_interval_and_the_role() -> None:
    frame = noise(0, 200, 1, far=1.5, near=0.0)
    frame = frame.with_columns(bit=pl.Series([1, 0] * 100))
    rows = rows_by_feature(frame, cut="best")
    for name in ("far", "near"):
        row = rows[name]
        truth, x = frame["truth"].to_numpy() == 1, frame[name].to_numpy()
        values = np.unique(x)
        counts = [np.array([(x[side] == v).sum() for v in values]) for side in (truth, ~truth)]
        tp, fp = cross_fitted_counts(*counts) or (0, 0)
        low1, high1 = proportion_confint(tp, 80, 0.05, "wilson")
        low2, high2 = proportion_confint(fp, 120, 0.05, "wilson")
        d = tp / 80 - fp / 120
        corrected = value_of(row["corrected_delta"])
        assert corrected == pytest.approx(d)
        low, high = limits_of(row["corrected_delta"])
        assert low == pytest.approx(d - np.hypot(tp / 80 - low1, high2 - fp / 120))
        assert high == pytest.approx(d + np.hypot(high1 - tp / 80, fp / 120 - low2))
        assert abs(corrected) < abs(row["delta"].value)
        assert (row["delta"].low, row["phi"].low) == (None, None)
    assert (rows["far"]["role"], rows["near"]["role"]) == ("covariant", None)
    # what is not chosen keeps its interval, and has nothing to be cross-fitted
    bit = rows["bit"]
    assert bit["corrected_delta"] == bit["delta"]
    assert bit["delta"].low is not None
    assert "corrected_delta" not in rows_by_feature(frame, cut="median")["far"]


def test_the_sentence_says_that_the_cut_was_chosen() -> None:
    result = features(noise(3, 200, 1, far=1.5), cut="best")
    corrected = rows_of(result, "features")[0]["corrected_delta"]
    answer = result.answer[0]
    assert answer.code == "strongest-feature"
    check_text(answer.text)
    assert (answer.value, answer.low, answer.high) == value_and_limits(corrected)
    check_text(features(noise(3, 200, 1, far=1.5)).answer[0].text)


def test_roles_are_given_to_many_features_together() -> None:
    """By the p values at which Newcombe's intervals exclude 0, and statsmodels' rule for many."""
    frame = noise(60, 300, 4, a=0.3, b=0.6, c=1.0)
    rows = rows_by_feature(frame)

    def p_value(row: Any) -> float:
        low, high = 1e-12, 1.0
        for _ in range(60):
            middle = (low * high) ** 0.5
            below, above = confint_proportions_2indep(
                row["tp"], 120, row["fp"], 180, method="newcomb", compare="diff", alpha=middle
            )
            low, high = (middle, high) if below <= 0 <= above else (low, middle)
        return high

    rejected = multipletests([p_value(row) for row in rows.values()], method="fdr_bh")[0]
    assert [row["role"] is not None for row in rows.values()] == rejected.tolist()
    by_itself = [row for row in rows.values() if not row["delta"].low <= 0 <= row["delta"].high]
    assert len(by_itself) > rejected.sum() >= 2
    text = sentences_by_code(features(frame))["useless-features"].text
    # 5 % of 63 features
    assert {63 - rejected.sum(), 63, 3} <= {*numbers_in(text)}
    check_text(text)


@pytest.mark.parametrize("cut", ["median", "best"])
def test_noise_has_no_role(cut: str) -> None:
    """In 5 % of tables at most any of 60 features has one, where one by one three would."""
    tables_with_roles = 0
    for seed in range(12):
        rows = rows_by_feature(noise(60, 100, 100 + seed), cut=cut)
        tables_with_roles += any(row["role"] for row in rows.values())
    assert tables_with_roles <= 2


@pytest.mark.parametrize("seed", [6, 16, 67])
def test_few_positives_give_no_role_to_noise(seed: int) -> None:
    """Six halves of three positives happened to agree; no cut is beyond what chance does.

    p of the largest δ, greater than by scipy's count of paths; statsmodels judges all together.
    """
    x, truth = np.random.default_rng(seed).standard_normal((60, 60)), np.arange(60) < 6
    frame = pl.DataFrame({"truth": truth * 1, **{f"x{i:02}": row for i, row in enumerate(x)}})
    rows = rows_by_feature(frame, cut="best")
    corrected = [estimate_of(row["corrected_delta"]) for row in rows.values()]
    assert any((cell.low or 0) > 0 or (cell.high or 0) < 0 for cell in corrected)
    tests = [ks_2samp(values[truth], values[~truth], method="exact") for values in x]
    p_values = kstwobign.sf([test.statistic * (6 * 54 / 60) ** 0.5 for test in tests])
    assert (p_values > [test.pvalue for test in tests]).all()
    assert not multipletests(p_values, method="fdr_bh")[0].any()
    assert {row["role"] for row in rows.values()} <= {None, "pervasive", "rare"}


def test_a_strong_feature_keeps_its_role_with_six_positives() -> None:
    rng = np.random.default_rng(6)
    x, truth = rng.standard_normal((60, 60)), np.arange(60) < 6
    frame = pl.DataFrame({"truth": truth * 1, "far": x[0] + 6 * truth, "x": x[1]})
    rows = rows_by_feature(frame, cut="best")
    assert (rows["far"]["role"], rows["x"]["role"]) == ("covariant", None)


def test_implications_of_a_chosen_cut_have_no_bound() -> None:
    frame = pl.DataFrame({"truth": [1] * 4 + [0] * 4, "x": [5.5, 6, 7, 8, 1, 2, 3, 4]})
    for cut, low in (("best", False), (5.5, True)):
        for row in features(frame, cut=cut).tables["implications"]:
            confidence = estimate_of(row["confidence"])
            assert confidence.value == 1
            assert (confidence.low is not None) == low
