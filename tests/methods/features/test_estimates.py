"""Places of features: intervals, constants with a reason, order, and sums beyond 64 bits."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep

from clfeval.document.cells import Estimate
from tests.methods.features.door import features, rows_by_feature
from tests.results import four_cells, limits_of, rows_of, value_of, warning_messages
from tests.texts import numbers_in

TABLES = [(30, 40, 5, 60), (1, 3, 0, 7), (17, 17, 4, 9), (0, 12, 9, 20), (250, 300, 100, 700)]


def one_feature(tp: int, p: int, fp: int, n: int) -> pl.DataFrame:
    """Return p positives, tp of them with the feature f, and n negatives, fp with it."""
    bits = [(1, 1)] * tp + [(1, 0)] * (p - tp) + [(0, 1)] * fp + [(0, 0)] * (n - fp)
    return pl.DataFrame(bits, schema=["truth", "f"], orient="row")


@pytest.mark.parametrize("level", [0.95, 0.9])
@pytest.mark.parametrize(("tp", "p", "fp", "n"), TABLES)
def test_intervals_are_newcombe_s(tp: int, p: int, fp: int, n: int, level: float) -> None:
    """delta = tp - fp is a difference of two shares, and so is phi = tp - (1 - fp)."""
    row = rows_by_feature(one_feature(tp, p, fp, n), level=level)["f"]
    for name, count in (("delta", fp), ("phi", n - fp)):
        expected = confint_proportions_2indep(
            tp, p, count, n, method="newcomb", compare="diff", alpha=1 - level
        )
        low, high = limits_of(row[name])
        assert (low, high) == pytest.approx(expected, abs=1e-9)
        assert low <= value_of(row[name]) <= high


def test_without_intervals() -> None:
    row = rows_by_feature(one_feature(30, 40, 5, 60), interval="none")["f"]
    for name, number in (("delta", 30 / 40 - 5 / 60), ("phi", 30 / 40 + 5 / 60 - 1)):
        assert row[name] == Estimate(pytest.approx(number, abs=1e-15))


CONSTANT = pl.DataFrame(
    {
        "truth": [1, 1, 0],
        "ones": [1, 1, 1],
        "zeros": [0, 0, 0],
        "yes": [True] * 3,
        "no": [False] * 3,
        "seven": [7, 7, 7],
        "half": [0.5] * 3,
        "word": ["x"] * 3,
    }
)


@pytest.mark.parametrize("cut", [None, "median", "mean", "best", "soft", 0.5])
def test_what_never_varies_has_a_reason_and_is_named(cut: Any) -> None:
    result = features(CONSTANT, cut=cut)
    rows = rows_of(result, "features")
    for row in rows:
        phi, delta = row["phi"], row["delta"]
        assert (phi.reason, delta.reason) == ("constant_feature",) * 2
        assert row["implications"] == []
        if row["feature"] in ("ones", "yes", "word=x"):
            assert (phi.value, delta.value) == (1.0, 0.0)
        elif row["feature"] in ("zeros", "no"):
            assert (phi.value, delta.value) == (-1.0, 0.0)
    assert (result.summary["features"], result.summary["constant"]) == (7, 7)
    (message,) = warning_messages(result, "constant-features")
    assert numbers_in(message)[-1] == 7 - 5
    assert sum(f"'{row['feature']}'" in message for row in rows) == 5


def test_a_feature_that_varies_but_not_at_this_cut_is_constant_there() -> None:
    """Every vote is the same, so the place tells nothing of the numbers behind it."""
    table = pl.DataFrame({"truth": [1, 0, 0], "x": [1.0, 2.0, 3.0]})
    row = rows_by_feature(table, cut=10)["x"]
    assert four_cells(row) == (0, 0, 1, 2)
    assert row["phi"].reason == "constant_feature"


def test_the_order_is_by_delta_then_phi_then_name() -> None:
    table = pl.DataFrame(
        {
            "truth": [1, 1, 1, 1, 0, 0, 0, 0],
            "late": [1, 1, 0, 0, 0, 0, 0, 0],  # delta 2/4, phi -2/4
            "b": [1, 1, 1, 0, 1, 0, 0, 0],  # delta 2/4, phi 0
            "a": [0, 0, 0, 1, 0, 1, 1, 1],  # delta -2/4, phi 0
            "first": [1, 1, 1, 0, 0, 0, 0, 0],  # delta 3/4
            "none": [1, 0, 0, 0, 1, 0, 0, 0],  # delta 0
        }
    )
    assert list(rows_by_feature(table)) == ["first", "a", "b", "late", "none"]


@pytest.mark.parametrize("cut", [None, "best"])
def test_weights_too_large_for_the_product_of_both_classes(cut: Any) -> None:
    """P N = 2e10 * 2e10 has no place in 64 bits; the shares are those of the plain table."""
    table = {"truth": [1, 1, 0, 0], "f": [1, 0, 1, 1], "x": [0.5, 2.0, 3.0, 1.0]}
    plain = rows_by_feature(pl.DataFrame(table), cut=cut)
    heavy = rows_by_feature(pl.DataFrame(table | {"n": [10**10] * 4}), weight="n", cut=cut)
    for name in ("f", "x"):
        assert four_cells(heavy[name]) == tuple(10**10 * cell for cell in four_cells(plain[name]))
        assert heavy[name]["delta"].value == plain[name]["delta"].value
        assert heavy[name]["phi"].value == plain[name]["phi"].value


def test_fractional_weights() -> None:
    table = pl.DataFrame({"truth": [1, 1, 0], "f": [1, 0, 1], "n": [0.5, 1.0, 2.0]})
    row = rows_by_feature(table, weight="n", interval="none")["f"]
    mean = 3.5 / 3
    assert four_cells(row) == pytest.approx((0.5 / mean, 2 / mean, 1 / mean, 0))
    assert value_of(row["phi"]) == pytest.approx(0.5 / 1.5 + 2 / 2 - 1, abs=1e-15)
    assert value_of(row["delta"]) == pytest.approx(0.5 / 1.5 - 2 / 2, abs=1e-15)
