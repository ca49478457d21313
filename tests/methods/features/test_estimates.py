"""Places of features: intervals, constants with a reason, order, and sums beyond 64 bits."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep

from tests.methods.features.door import cells, features, rows_of, value
from tests.texts import numbers_in

TABLES = [(30, 40, 5, 60), (1, 3, 0, 7), (17, 17, 4, 9), (0, 12, 9, 20), (250, 300, 100, 700)]


def frame(tp: int, p: int, fp: int, n: int) -> pl.DataFrame:
    bits = [(1, 1)] * tp + [(1, 0)] * (p - tp) + [(0, 1)] * fp + [(0, 0)] * (n - fp)
    return pl.DataFrame(bits, schema=["truth", "f"], orient="row")


@pytest.mark.parametrize("level", [0.95, 0.9])
@pytest.mark.parametrize(("tp", "p", "fp", "n"), TABLES)
def test_intervals_are_newcombe_s(tp: int, p: int, fp: int, n: int, level: float) -> None:
    """delta = tp - fp is a difference of two shares, and so is phi = tp - (1 - fp)."""
    row = rows_of(frame(tp, p, fp, n), level=level)["f"]
    for name, count in (("delta", fp), ("phi", n - fp)):
        expected = confint_proportions_2indep(
            tp, p, count, n, method="newcomb", compare="diff", alpha=1 - level
        )
        estimate = row[name]
        assert (estimate.low, estimate.high) == pytest.approx(expected, abs=1e-9)
        assert estimate.low <= estimate.value <= estimate.high


def test_without_intervals() -> None:
    row = rows_of(frame(30, 40, 5, 60), interval="none")["f"]
    for name, number in (("delta", 30 / 40 - 5 / 60), ("phi", 30 / 40 + 5 / 60 - 1)):
        assert row[name].value == pytest.approx(number, abs=1e-15)
        assert (row[name].low, row[name].high, row[name].reason) == (None, None, None)


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
    for row in result.tables["features"]:
        phi, delta = row["phi"], row["delta"]
        assert (phi.reason, delta.reason) == ("constant_feature",) * 2  # type: ignore[union-attr]
        assert row["implications"] == []
        if row["feature"] in ("ones", "yes", "word=x"):
            assert (phi.value, delta.value) == (1.0, 0.0)  # type: ignore[union-attr]
        elif row["feature"] in ("zeros", "no"):
            assert (phi.value, delta.value) == (-1.0, 0.0)  # type: ignore[union-attr]
    assert (result.summary["features"], result.summary["constant"]) == (7, 7)
    (warning,) = [w.message for w in result.warnings if w.code == "constant-features"]
    assert numbers_in(warning)[-1] == 7 - 5
    assert sum(f"'{row['feature']}'" in warning for row in result.tables["features"]) == 5


def test_a_feature_that_varies_but_not_at_this_cut_is_constant_there() -> None:
    """Every vote is the same, so the place tells nothing of the numbers behind it."""
    table = pl.DataFrame({"truth": [1, 0, 0], "x": [1.0, 2.0, 3.0]})
    row = rows_of(table, cut=10)["x"]
    assert cells(row) == (0, 0, 1, 2)
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
    assert list(rows_of(table)) == ["first", "a", "b", "late", "none"]


@pytest.mark.parametrize("cut", [None, "best"])
def test_weights_too_large_for_the_product_of_both_classes(cut: Any) -> None:
    """P N = 2e10 * 2e10 has no place in 64 bits; the shares are those of the plain table."""
    table = {"truth": [1, 1, 0, 0], "f": [1, 0, 1, 1], "x": [0.5, 2.0, 3.0, 1.0]}
    plain = rows_of(pl.DataFrame(table), cut=cut)
    heavy = rows_of(pl.DataFrame(table | {"n": [10**10] * 4}), weight="n", cut=cut)
    for name in ("f", "x"):
        assert cells(heavy[name]) == tuple(10**10 * cell for cell in cells(plain[name]))
        assert heavy[name]["delta"].value == plain[name]["delta"].value
        assert heavy[name]["phi"].value == plain[name]["phi"].value


def test_fractional_weights() -> None:
    table = pl.DataFrame({"truth": [1, 1, 0], "f": [1, 0, 1], "n": [0.5, 1.0, 2.0]})
    row = rows_of(table, weight="n", interval="none")["f"]
    mean = 3.5 / 3
    assert cells(row) == pytest.approx((0.5 / mean, 2 / mean, 1 / mean, 0))
    assert value(row, "phi") == pytest.approx(0.5 / 1.5 + 2 / 2 - 1, abs=1e-15)
    assert value(row, "delta") == pytest.approx(0.5 / 1.5 - 2 / 2, abs=1e-15)
