"""Differences of predictive values with few flagged rows, by square-and-add written out."""

from __future__ import annotations

from math import comb, erfc, sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, norm

import clfeval
from clfeval.counts.patterns import PatternCounts
from clfeval.methods.measurement.label_measures import label_estimates
from clfeval.methods.measurement.requested_measures import parse_measures
from tests.limits import clopper_pearson, wilson
from tests.results import Line, row_of, value_and_limits

Z = float(norm.ppf(0.975))


def few_flags() -> pl.DataFrame:
    """100 rows, 10 positive; a flags 7 rows and b 6, both flag 3 positives and a negative."""
    truth = np.array([1] * 10 + [0] * 90)
    first, second = np.zeros(100, int), np.zeros(100, int)
    first[[0, 1, 2, 3, 4, 10, 11]] = 1
    second[[0, 1, 2, 10, 12, 13]] = 1
    return pl.DataFrame({"truth": truth, "a": first, "b": second})


def flagging(*counts: tuple[int, int], rows: int = 200, positives: int = 60) -> pl.DataFrame:
    """Return a table whose models a and b flag (positives, negatives), no row in common."""
    frame: dict[str, Any] = {"truth": np.arange(rows) < positives}
    hits, alarms = 0, positives
    for name, (tp, fp) in zip("ab", counts, strict=True):
        flagged = np.zeros(rows, int)
        flagged[hits : hits + tp] = flagged[alarms : alarms + fp] = 1
        hits, alarms = hits + tp, alarms + fp
        frame[name] = flagged
    return pl.DataFrame(frame).with_columns(pl.col("truth").cast(int))


def comparison_row(frame: pl.DataFrame, name: str, model: str = "a") -> Line:
    """Return the row of a measure and a model in the report of a table with reference b."""
    result = clfeval.report(frame, truth="truth", positive="1", reference="b", measure=name)
    return row_of(result, "comparisons", measure=name, model=model)


def difference(
    first: tuple[float, float, float], second: tuple[float, float, float], rho: float
) -> tuple[float, float, float]:
    (x, low, high), (y, under, above) = first, second
    d1, e1, d2, e2 = x - low, high - x, y - under, above - y
    down = sqrt(d1**2 + e2**2 - 2 * rho * d1 * e2)
    up = sqrt(e1**2 + d2**2 - 2 * rho * e1 * d2)
    return x - y, x - y - down, x - y + up


def test_a_difference_of_precisions_adds_exact_limits_with_their_correlation() -> None:
    frame = few_flags()
    y = frame["truth"].to_numpy()
    influence = []
    for name in "ab":
        flagged = frame[name].to_numpy()
        share = (y * flagged).sum() / flagged.sum()
        influence.append(flagged * (y - share))
    rho = (
        influence[0]
        @ influence[1]
        / sqrt((influence[0] @ influence[0]) * (influence[1] @ influence[1]))
    )
    value, low, high = difference(
        (5 / 7, *clopper_pearson(5, 7)), (3 / 6, *clopper_pearson(3, 6)), float(rho)
    )
    row = comparison_row(frame, "precision")
    assert value_and_limits(row["difference"]) == pytest.approx((value, low, high), abs=1e-9)
    assert row["method"] == "square-and-add of the limits of both"
    # by the interval, whose limit towards 0 lies so many quantiles away, .28094; but the exact test
    # of the five differing rows, two positives and three negatives, has a larger p
    by_limits = erfc(Z * value / (value - low) / sqrt(2))
    exact_p = 0.0
    for x, z in np.ndindex(3, 4):
        swapped = (3 + x) / (4 + x + z) - (5 - x) / (9 - x - z)
        chance = comb(2, x) * comb(3, z) / 2**5
        larger = abs(swapped) - value
        exact_p += chance * (0.5 if abs(larger) < 1e-12 else larger > 0)
    assert exact_p > by_limits
    assert row["p"] == pytest.approx(exact_p, rel=1e-9)


def test_from_30_flagged_rows_on_a_difference_of_precisions_adds_wilsons_limits() -> None:
    """Of 24 of 30 rows against 15 of 29, of which no row is flagged by both."""
    expected = difference((0.8, *wilson(24, 30)), (15 / 29, *clopper_pearson(15, 29)), 0.0)
    row = comparison_row(flagging((24, 6), (15, 14)), "precision")
    assert value_and_limits(row["difference"]) == pytest.approx(expected, abs=1e-9)


def test_two_right_flags_are_not_significantly_better_than_two_wrong_ones() -> None:
    """The exact lower limit of 2 of 2 is sqrt(.025) = .158, the upper one of 0 of 2 is .842.

    The limit of the difference 1 is 1 - sqrt(2) (1 - .158) = -.191, by which p is .0997. Of 16 ways
    to swap the four rows two have the same difference, and in two a model flags no row: exact p is
    (2 + 2 / 2) / 16.
    """
    reach = sqrt(2) * (1 - sqrt(0.025))
    row = comparison_row(flagging((2, 0), (0, 2)), "precision")
    assert value_and_limits(row["difference"]) == pytest.approx((1.0, 1 - reach, 1.0), abs=1e-9)
    assert row["p"] == pytest.approx(3 / 16, rel=1e-9)
    assert (row["p"] > 0.05, row["verdict"]) == (True, "undecided")


@pytest.mark.parametrize("name", ["precision", "fdr", "precision_u", "ppv_at:prevalence=0.1"])
def test_equal_predictive_values_of_two_to_five_flags_rarely_differ(name: str) -> None:
    """The chance of a significant difference, over all tables of two models that flag 2 to 5 rows.

    Each flag is right with the same chance, so that the models have the same predictive value.
    """
    (measure,) = parse_measures((name,))
    one = np.ones(200, np.int64)
    chances = np.array([0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95])
    for first, second in ((2, 2), (2, 5), (3, 3), (4, 4), (5, 5)):
        claimed = np.zeros(len(chances))
        for right, other in np.ndindex(first + 1, second + 1):
            frame = flagging((right, first - right), (other, second - other))
            votes = frame.select("a", "b").to_numpy().astype(bool)
            truth = frame["truth"].to_numpy().astype(bool)
            estimates = label_estimates(PatternCounts.from_votes("ab", truth, votes, one), measure)
            assert estimates is not None
            pair = (np.array([0]), np.array([1]))
            (p,) = estimates.p_values(*pair)
            _, low, high, _ = estimates.intervals(*pair, level=0.95)
            assert (p < 0.05) == (low[0] > 0 or high[0] < 0)
            chance = binom.pmf(right, first, chances) * binom.pmf(other, second, chances)
            claimed += chance * (p < 0.05)
        assert (claimed <= 0.05).all()


def influence_at_prevalence(frame: pl.DataFrame, name: str, prevalence: float) -> Any:
    """Return the influence of each row on p tpr / (p tpr + (1 - p) fpr), by its derivatives."""
    truth, flagged = frame["truth"].to_numpy(), frame[name].to_numpy()
    tpr, fpr = flagged[truth == 1].mean(), flagged[truth == 0].mean()
    odds = prevalence / (1 - prevalence)
    size = (odds * tpr + fpr) ** 2
    of_positive = odds * fpr / size * (flagged - tpr) / (truth == 1).sum()
    of_negative = -odds * tpr / size * (flagged - fpr) / (truth == 0).sum()
    return np.where(truth == 1, of_positive, of_negative)


@pytest.mark.parametrize(
    ("name", "prevalence"), [("precision_u", 0.5), ("ppv_at:prevalence=0.2", 0.2)]
)
def test_at_other_prevalences_few_flags_have_the_outer_of_exact_and_own_limits(
    name: str, prevalence: float
) -> None:
    """The exact limits of 5 of 7 and 3 of 6 have their odds times 90 / 10 p / (1 - p)."""
    frame, sides = few_flags(), []
    row = comparison_row(frame, name)
    for own, share in ((row["new"], (5, 7)), (row["old"], (3, 6))):
        odds = [x / (1 - x) * 9 * prevalence / (1 - prevalence) for x in clopper_pearson(*share)]
        low, high = (x / (1 + x) for x in odds)
        sides.append((own.value, min(low, own.low), max(high, own.high)))
    x, y = (influence_at_prevalence(frame, model, prevalence) for model in "ab")
    expected = difference(*sides, float(x @ y / sqrt((x @ x) * (y @ y))))
    assert value_and_limits(row["difference"]) == pytest.approx(expected, abs=1e-6)
    assert row["method"] == "square-and-add of the limits of both"


def test_equal_predictions_differ_by_nothing() -> None:
    frame = few_flags().with_columns(twin=pl.col("b"))
    row = comparison_row(frame, "precision", "twin")
    assert (row["difference"].value, row["p"]) == (0.0, 1.0)
    assert row["method"] == "exact 0-of-n limit: no row differs"
