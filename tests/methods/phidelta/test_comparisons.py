"""Differences between models on the same rows, with paired intervals, by brute force over rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

import clfeval
from clfeval.methods.phidelta.against import comparison_rows
from clfeval.result import Estimate
from tests.methods.phidelta.byhand import Cells, Line, bounds, counts_frame, value
from tests.reference import Row
from tests.shell import at_shell
from tests.strategies import counts_of, frame_of, tables
from tests.thoroughness import examples

both_classes = tables(models=(2, 4), rows=(2, 14)).filter(
    lambda table: len({row.truth for row in table}) == 2
)


def compare(table: Any, reference: str, **options: Any) -> dict[str, Line]:
    result = clfeval.phidelta(table, reference=reference, **options)
    rows = [dict(row) for row in result.tables["comparisons"] if row["slice"] is None]
    assert {row["reference"] for row in rows} <= {reference}
    return {str(row["model"]): row for row in rows}


def of_rows(rows: list[Row], reference: str, level: float) -> dict[str, Line]:
    """Compare models of rows without any reading."""
    found = comparison_rows(None, counts_of(rows), reference, level)
    return {str(row["model"]): dict(row) for row in found}


def pairs(rows: list[Row], j: int, r: int, truth: int) -> tuple[int, int, int, int]:
    """Count both, only j, only r, neither says positive, among the rows of one class."""
    cells = {(1, 1): 0, (1, 0): 0, (0, 1): 0, (0, 0): 0}
    for row in rows:
        if row.truth == truth:
            cells[row.votes[j], row.votes[r]] += row.n
    return cells[1, 1], cells[1, 0], cells[0, 1], cells[0, 0]


def newcombe(table: tuple[int, int, int, int], level: float) -> tuple[float, float, float]:
    """Return a paired difference and how far below and above it its limits lie.

    Newcombe 1998, Statistics in Medicine 17:2635, method 10: Wilson limits of both proportions,
    their distances combined with phi hat, in which a positive numerator loses n / 2.
    """
    e, f, g, h = table
    n = e + f + g + h
    p1, p2 = (e + f) / n, (e + g) / n
    (l1, u1), (l2, u2) = (
        proportion_confint(k, n, alpha=1 - level, method="wilson") for k in (e + f, e + g)
    )
    top = e * h - f * g
    if top > 0:
        top = max(top - n / 2, 0)
    margins = (e + f) * (g + h) * (e + g) * (f + h)
    rho = top / math.sqrt(margins) if margins else 0.0
    below = (p1 - l1) ** 2 - 2 * rho * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2
    above = (u1 - p1) ** 2 - 2 * rho * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2
    return p1 - p2, math.sqrt(max(below, 0)), math.sqrt(max(above, 0))


@examples(60)
@given(both_classes)
def test_values_and_intervals_by_brute_force(rows: list[Row]) -> None:
    """delta = TP/P - FP/N: the ends of the FP difference change sides; phi = TP/P + FP/N - 1."""
    found = of_rows(rows, "m1", 0.9)
    assert list(found) == [f"m{j}" for j in range(len(rows[0].votes)) if j != 1]
    for j in range(len(rows[0].votes)):
        if j == 1:
            continue
        row = found[f"m{j}"]
        positives, negatives = (pairs(rows, j, 1, truth) for truth in (1, 0))
        assert row["differing_positives"] == positives[1] + positives[2]
        assert row["differing_negatives"] == negatives[1] + negatives[2]
        d1, down1, up1 = newcombe(positives, 0.9)
        d2, down2, up2 = newcombe(negatives, 0.9)
        assert value(row, "phi_difference") == pytest.approx(d1 + d2, abs=1e-12)
        assert value(row, "delta_difference") == pytest.approx(d1 - d2, abs=1e-12)
        phi = d1 + d2 - math.hypot(down1, down2), d1 + d2 + math.hypot(up1, up2)
        delta = d1 - d2 - math.hypot(down1, up2), d1 - d2 + math.hypot(up1, down2)
        assert bounds(row, "phi_difference") == pytest.approx(phi, abs=1e-9)
        assert bounds(row, "delta_difference") == pytest.approx(delta, abs=1e-9)


def test_the_door_gives_what_the_counts_give() -> None:
    rows = [Row(1, (1, 0, 1), 3), Row(1, (0, 1, 1), 2), Row(0, (1, 0, 0), 4), Row(0, (0, 0, 1), 5)]
    expected = of_rows(rows, "m2", 0.8)
    assert compare(frame_of(rows), "m2", weight="n", level=0.8) == expected


@examples(25)
@given(both_classes)
def test_a_difference_is_that_of_the_two_rows_of_models(rows: list[Row]) -> None:
    result = clfeval.phidelta(frame_of(rows), weight="n", reference="m0", interval="none")
    placed = {row["model"]: dict(row) for row in result.tables["models"]}
    for row in result.tables["comparisons"]:
        for name in ("phi", "delta"):
            mine, theirs = (value(placed[row[who]], name) for who in ("model", "reference"))
            difference = value(dict(row), f"{name}_difference")
            assert difference == pytest.approx((mine or 0) - (theirs or 0), abs=1e-12)


@examples(60)
@given(both_classes)
def test_the_other_way_round_negates_and_swaps_the_ends(rows: list[Row]) -> None:
    there = of_rows(rows, "m0", 0.95)["m1"]
    back = of_rows(rows, "m1", 0.95)["m0"]
    for name in ("phi_difference", "delta_difference"):
        low, high = bounds(back, name)
        assert bounds(there, name) == pytest.approx((-high, -low), abs=1e-12)
        assert value(there, name) == pytest.approx(-(value(back, name) or 0), abs=1e-12)
    assert there["differing_positives"] == back["differing_positives"]
    assert there["differing_negatives"] == back["differing_negatives"]


@pytest.mark.parametrize("seed", range(5))
def test_a_twin_differs_by_nothing_within_an_interval_around_nothing(seed: int) -> None:
    dice = np.random.default_rng(seed)
    truth, says = dice.integers(0, 2, 30), dice.integers(0, 2, 30)
    frame = pl.DataFrame({"truth": truth, "a": says, "twin": says})
    row = compare(frame, "a")["twin"]
    assert (row["differing_positives"], row["differing_negatives"]) == (0, 0)
    for name in ("phi_difference", "delta_difference"):
        low, high = bounds(row, name)
        assert value(row, name) == 0
        assert low < 0 < high
        assert -low == pytest.approx(high)


def test_pairing_tells_more_than_two_separate_intervals() -> None:
    """Two models that err on nearly the same rows: the paired interval is the narrower one."""
    truth = np.repeat([1, 0], 100)
    a = np.concatenate([np.repeat([1, 0], [80, 20]), np.repeat([1, 0], [30, 70])])
    b = a.copy()
    b[:6] = 0  # six hits fewer
    frame = pl.DataFrame({"truth": truth, "a": a, "b": b})
    row = compare(frame, "a")["b"]
    assert value(row, "delta_difference") == pytest.approx(-6 / 100)
    low, high = bounds(row, "delta_difference")
    # apart: variances .74 .26, .8 .2, .3 .7, .3 .7 over 100 rows each
    apart = norm.ppf(0.975) * math.sqrt((0.74 * 0.26 + 0.8 * 0.2 + 2 * 0.3 * 0.7) / 100)
    assert high - low < apart
    assert high < 0


def test_each_slice_is_compared_on_its_own_rows() -> None:
    rows = [Row(1, (1, 0), 3), Row(1, (1, 1), 5), Row(0, (1, 0), 2), Row(0, (0, 0), 4)]
    other = [Row(1, (0, 1), 2), Row(1, (1, 1), 3), Row(0, (0, 1), 1), Row(0, (1, 1), 2)]
    frame = pl.concat(
        [
            frame_of(rows).with_columns(site=pl.lit("A")),
            frame_of(other).with_columns(site=pl.lit("B")),
        ]
    )
    result = clfeval.phidelta(frame, weight="n", by="site", reference="m1")
    found = {row["slice"]: dict(row) for row in result.tables["comparisons"]}
    assert list(found) == [None, "site=A", "site=B"]
    for label, part in (("site=A", rows), ("site=B", other)):
        alone = compare(frame_of(part), "m1", weight="n")["m0"]
        assert found[label] == alone | {"slice": label}
    # positives: 3 against 2 of 13; negatives: 2 against 1 of 9
    assert value(found[None], "delta_difference") == pytest.approx((3 - 2) / 13 - (2 - 1) / 9)
    assert value(found[None], "phi_difference") == pytest.approx((3 - 2) / 13 + (2 - 1) / 9)


def test_without_intervals_fractional_weights_compare_too() -> None:
    frame = pl.DataFrame(
        {"truth": [1, 1, 0, 0], "a": [1, 0, 1, 0], "b": [1, 1, 0, 0], "n": [0.5, 1.5, 0.25, 0.75]}
    )
    row = compare(frame, "b", weight="n", interval="none")["a"]
    # a misses 1.5 of 2 positives and says positive on .25 of 1 negatives; b errs nowhere
    assert row["delta_difference"] == Estimate(pytest.approx(-1.5 / 2 - 0.25 / 1))
    assert row["phi_difference"] == Estimate(pytest.approx(-1.5 / 2 + 0.25 / 1))
    assert (row["differing_positives"], row["differing_negatives"]) == (1.5, 0.25)


def test_counts_tables_do_not_say_which_rows_models_share() -> None:
    frame = counts_frame({"a": Cells(3, 1, 2, 4), "b": Cells(4, 2, 1, 3)})
    with pytest.raises(clfeval.UsageError, match="needs-predictions") as caught:
        at_shell(clfeval.phidelta)(frame, reference="a")
    assert "on the same rows" in str(caught.value)
    assert "predictions themselves" in str(caught.value.hint)
    assert "--run" in str(caught.value.hint)
