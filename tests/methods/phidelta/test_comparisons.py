"""Differences of delta and phi between models on the same rows, against influence row by row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from tests.results import Line, answers_of, limits_of, row_of, rows_by, value_of
from tests.samples import labels_right_at
from tests.texts import check_text


def comparisons_of(result: Result, part: str | None = None) -> dict[tuple[str, str], Line]:
    """Return the comparisons with a reference in a slice, by measure and model."""
    rows = rows_by(result, "comparisons", "measure", "model", slice=part)
    assert {row["against"] for row in rows.values()} <= {"reference"}
    return rows


def comparisons_with(reference: str, table: Any, **options: Any) -> dict[tuple[str, str], Line]:
    """Compare the models of a table with a reference; return the rows by measure and model."""
    return comparisons_of(clfeval.phidelta(table, reference=reference, **options))


def labels_of_three_models(rows: int, seed: int = 1) -> pl.DataFrame:
    dice = np.random.default_rng(seed)
    truth = (dice.random(rows) < 0.4).astype(int)
    rates = {"a": 0.85, "b": 0.8, "c": 0.6}
    labels = {name: labels_right_at(dice, truth, rate) for name, rate in rates.items()}
    return pl.DataFrame({"truth": truth, **labels})


@pytest.mark.parametrize("seed", range(4))
def test_the_interval_is_that_of_influence_values_and_half_a_row_in_each_class(seed: int) -> None:
    """delta = TP/P - FP/N: a row of P moves it by 1/P, a change of sides by about 1/P or 1/N.

    Var = n/(n-1) sum (f_i - f_j)² / n², and half a row more in each class and direction in which
    the two differ: (J_i² + J_j²) / 2, J the step of a changed row of a table with half a row more
    in each cell. t with 2 n / (kurtosis - 1) degrees of freedom, at most rows of the class - 1.
    """
    frame = labels_of_three_models(150, seed)
    rows = comparisons_with("a", frame, level=0.9)
    truth, n = frame["truth"].to_numpy() == 1, len(frame)
    positives, negatives = truth.sum(), (~truth).sum()
    for name in ("b", "c"):
        for metric, sign in (("delta", -1), ("phi", 1)):
            votes = {who: frame[who].to_numpy() for who in ("a", name)}
            rate = {who: (v[truth].mean(), v[~truth].mean()) for who, v in votes.items()}
            f = {
                who: np.where(
                    truth,
                    (v - rate[who][0]) * n / positives,
                    sign * (v - rate[who][1]) * n / negatives,
                )
                for who, v in votes.items()
            }
            d = f[name] - f["a"]
            steps = [(n + 2) / (size + 1) for size in (positives, negatives)]
            flips = sum(
                step**2
                for step, is_class in zip(steps, (truth, ~truth), strict=True)
                if (votes["a"] != votes[name])[is_class].any()
            )
            se = math.sqrt((d @ d + flips) * n / (n - 1)) / n
            kurtosis = n * (d**4).sum() / (d @ d) ** 2
            df = min(2 * n / (kurtosis - 1), min(positives, negatives) - 1)
            change = sum((rate[name][k] - rate["a"][k]) * (1, sign)[k] for k in (0, 1))
            reach = stats.t.ppf(0.95, df) * se
            row = rows[metric, name]
            assert value_of(row["difference"]) == pytest.approx(change, abs=1e-12)
            assert row["se"] == pytest.approx(se, rel=1e-9)
            assert limits_of(row["difference"]) == pytest.approx(
                (change - reach, change + reach), rel=1e-9
            )
            assert row["p"] == pytest.approx(2 * stats.t.sf(abs(change) / se, df), rel=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_a_twin_differs_by_nothing_within_the_limit_of_no_row_of_a_class(seed: int) -> None:
    """None of n rows of a class changes: at most 1 - .025**(1/n) of them do, which move delta by 1.

    Where both classes have as many rows, these are alike, and all move it by 2.
    """
    dice = np.random.default_rng(seed)
    truth, says = dice.integers(0, 2, 30), dice.integers(0, 2, 30)
    rows = comparisons_with("a", pl.DataFrame({"truth": truth, "a": says, "twin": says}))
    fewest, step = min(truth.sum(), 30 - truth.sum()), 1
    if fewest == 15:
        fewest, step = 30, 2
    for row in rows.values():
        low, high = limits_of(row["difference"])
        assert (value_of(row["difference"]), row["p"], row["verdict"]) == (0, 1, "undecided")
        assert high == pytest.approx(step * (1 - 0.025 ** (1 / fewest)))
        assert low == -high


def test_p_values_of_several_models_are_adjusted_together_and_sentences_follow_them() -> None:
    """16 of 200 positives differ one way, 3 the other: significant alone, not among four."""
    truth = np.repeat([1, 0], [200, 200])
    ref = np.zeros(400, int)
    ref[:180] = 1
    columns: dict[str, Any] = {"truth": truth, "ref": ref}
    for name, (gained, lost) in {
        "best": (20, 0),
        "more": (13, 3),
        "same": (6, 6),
        "less": (4, 12),
    }.items():
        votes = ref.copy()
        votes[180 : 180 + gained] = 1
        votes[:lost] = 0
        columns[name] = votes
    frame = pl.DataFrame(columns)
    result = clfeval.phidelta(frame, reference="ref", margin={"delta": 0.07})
    rows = rows_by(result, "comparisons", "model", measure="delta")
    assert {row["against"] for row in rows.values()} == {"reference"}
    assert rows["more"]["p"] < 0.05 < rows["more"]["p_adjusted"]
    assert rows["same"]["p"] == rows["same"]["p_adjusted"] == 1
    for row in rows.values():
        assert row["p"] <= row["p_adjusted"] <= 4 * row["p"] + 1e-12
        low, high = limits_of(row["difference"])
        wide = limits_of(row["difference_adjusted"])
        assert wide[0] < low < high < wide[1]
        assert (row["p_adjusted"] < 0.05) == (wide[0] > 0 or wide[1] < 0)
        within_margin = wide[0] > -0.07 and wide[1] < 0.07
        assert (row["verdict"] == "equivalent") == within_margin
    verdicts = {name: row["verdict"] for name, row in rows.items()}
    assert verdicts == {
        "best": "better",
        "more": "not worse",
        "same": "equivalent",
        "less": "undecided",
    }
    check_text(sentence.text for sentence in answers_of(result, "compared"))
    assert result.parameters["margin"] == {"delta": 0.07}
    assert "|margin:delta=0.07|" in result.signature
    of_two_models = clfeval.phidelta(frame.select("truth", "ref", "more"), reference="ref")
    row = row_of(of_two_models, "comparisons", measure="delta")
    assert row["p"] == row["p_adjusted"] == pytest.approx(rows["more"]["p"])
    assert row["difference"] == row["difference_adjusted"]


def test_each_slice_that_is_large_enough_is_compared_on_its_own_rows() -> None:
    """30 rows, 5 of each class; p by Benjamini and Hochberg over slices and models."""
    frame = labels_of_three_models(200).with_columns(
        site=pl.Series(["A"] * 90 + ["B"] * 90 + ["C"] * 20)
    )
    result = clfeval.phidelta(frame, by="site", reference="a")
    assert not comparisons_of(result, "site=C")
    parts = {site: comparisons_of(result, f"site={site}") for site in "AB"}
    for site, rows in parts.items():
        expected = comparisons_with("a", frame.filter(pl.col("site") == site).drop("site"))
        assert {*rows} == {*expected}
        for key, row in rows.items():
            assert row["difference"] == expected[key]["difference"]
            assert row["p"] == expected[key]["p"]
    p = [parts[site]["delta", name]["p"] for site in "AB" for name in "bc"]
    q = [parts[site]["delta", name]["p_adjusted"] for site in "AB" for name in "bc"]
    assert q == pytest.approx(stats.false_discovery_control(p))


def test_without_intervals_fractional_weights_compare_too() -> None:
    frame = pl.DataFrame(
        {"truth": [1, 1, 0, 0], "a": [1, 0, 1, 0], "b": [1, 1, 0, 0], "n": [0.5, 1.5, 0.25, 0.75]}
    )
    rows = comparisons_with("b", frame, weight="n", interval="none")
    # a misses 1.5 of 2 positives and says positive on .25 of 1 negatives; b errs nowhere
    assert rows["delta", "a"]["difference"] == Estimate(pytest.approx(-1.5 / 2 - 0.25 / 1))
    assert rows["phi", "a"]["difference"] == Estimate(pytest.approx(-1.5 / 2 + 0.25 / 1))


@pytest.mark.parametrize(
    "options",
    [
        {"margin": {"delta": 0.1}},
        {"margin": {"delta": 0}, "reference": "a"},
        {"margin": {"delta": -1}, "reference": "a"},
    ],
)
def test_a_margin_that_judges_nothing_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(clfeval.UsageError, match=r"margin.*\[bad-option\]"):
        clfeval.phidelta(labels_of_three_models(40), **options)
