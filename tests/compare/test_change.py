"""Changes: verdicts as one table of cases, MOVER by hand, p of limits, and false discoveries."""

from __future__ import annotations

from math import hypot, inf, isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from clfeval.compare.change import (
    MISSING,
    Change,
    change_of_independent,
    comparison_row,
    p_from_limits,
)
from clfeval.compare.families import adjusted_fdr
from clfeval.document.cells import Estimate
from tests.thoroughness import examples

LEVEL = 0.95
MAX, MIN, ONE, ZERO, NONE = "roc_auc", "brier", "oe_ratio", "calibration_intercept", "prevalence"


def change(
    old: float,
    low: float,
    d: float,
    high: float,
    *,
    p: float | None = None,
    adjusted: float | None = None,
    together: tuple[float, float] | None = None,
) -> Change:
    """Return a change by d with an interval, and p as it inverts that."""
    p = (0.01 if low > 0 or high < 0 else 0.4) if p is None else p
    wider = None if together is None else Estimate(d, *together)
    return Change(Estimate(old), Estimate(old + d), Estimate(d, low, high), p, adjusted, wider)


@pytest.mark.parametrize(
    ("metric", "found", "margin", "expected"),
    [
        # more is better; less is better; neither
        (MAX, change(0.8, 0.01, 0.05, 0.09), None, "better"),
        (MAX, change(0.8, -0.09, -0.05, -0.01), None, "worse"),
        (MAX, change(0.8, -0.01, 0.05, 0.11), None, "undecided"),
        (MAX, change(0.8, 0, 0, 0, p=0.01), None, "undecided"),
        (MIN, change(0.2, 0.01, 0.05, 0.09), None, "worse"),
        (MIN, change(0.2, -0.09, -0.05, -0.01), None, "better"),
        (NONE, change(0.2, 0.01, 0.05, 0.09), None, "changed"),
        (NONE, change(0.2, -0.01, 0.05, 0.09), None, "undecided"),
        # the family decides, not the difference by itself
        (MAX, change(0.8, 0.01, 0.05, 0.09, adjusted=0.06), None, "undecided"),
        (MAX, change(0.8, 0.01, 0.05, 0.09, adjusted=0.04), None, "better"),
        # a margin: the simultaneous interval decides
        (MAX, change(0.8, -0.01, 0.01, 0.03), 0.05, "equivalent"),
        (MAX, change(0.8, -0.01, 0.01, 0.03, together=(-0.06, 0.08)), 0.05, "undecided"),
        (MAX, change(0.8, -0.01, 0.03, 0.07), 0.05, "not worse"),
        (MAX, change(0.8, -0.07, -0.03, 0.01), 0.05, "undecided"),
        (MIN, change(0.2, -0.07, -0.03, 0.01), 0.05, "not worse"),
        (MIN, change(0.2, -0.01, 0.03, 0.07), 0.05, "undecided"),
        (MAX, change(0.8, 0.01, 0.02, 0.03), 0.05, "equivalent"),  # and better, by little
        (MAX, change(0.8, 0.01, 0.06, 0.11), 0.05, "better"),
        (MAX, change(0.8, -0.11, -0.06, -0.01), 0.05, "worse"),
        (NONE, change(0.2, -0.01, 0.01, 0.03), 0.05, "undecided"),
        # a target of 1: farther, nearer, on one side; the same by about as much on two sides
        (ONE, change(1.1, 0.1, 0.3, 0.5), None, "worse"),
        (ONE, change(1.5, -0.4, -0.3, -0.2), None, "better"),
        (ONE, change(0.9, -0.4, -0.3, -0.2), None, "worse"),
        (ONE, change(0.5, 0.2, 0.3, 0.4), None, "better"),
        (ONE, change(0.9, 0.1, 0.3, 0.5), None, "changed"),  # .1 below to .2 above, +- .2
        (ONE, change(0.9, 0.9, 1.0, 1.1), None, "worse"),  # .1 below to .9 above, +- .1
        (ONE, change(0.2, 0.7, 0.9, 1.1), None, "better"),  # .8 below to .1 above, +- .2
        (ONE, change(0.9, -0.1, 0.3, 0.5), None, "undecided"),
        (ZERO, change(-0.1, 0.1, 0.2, 0.3), None, "changed"),
        (ZERO, change(-0.1, -0.5, -0.4, -0.3), None, "worse"),
        (ZERO, change(0.4, -0.5, -0.4, -0.3), None, "better"),
        (ONE, change(1.1, -0.01, 0.01, 0.03), 0.05, "undecided"),
        # unknown: no p, no difference
        (MAX, Change(Estimate(0.8), Estimate(0.9), Estimate(0.1)), None, "undecided"),
        (MAX, Change(Estimate(0.8), Estimate(0.9), Estimate(0.1)), 0.5, "undecided"),
        (MAX, Change(Estimate(None), Estimate(0.9), Estimate(None, reason="one_class")), 1, None),
    ],
)
def test_a_verdict_is_of_the_direction_the_family_and_the_margin(
    metric: str, found: Change, margin: float | None, expected: str | None
) -> None:
    assert found.verdict(metric, LEVEL, margin=margin) == expected
    turned = found.turned()
    assert (turned.old, turned.new) == (found.new, found.old)
    assert turned.turned() == found
    opposite = {"better": "worse", "worse": "better"}
    if margin is None and expected is not None:
        assert turned.verdict(metric, LEVEL) == opposite.get(expected, expected)


def test_a_metric_the_catalogue_does_not_know_has_the_direction_that_is_given() -> None:
    found = change(0.8, 0.01, 0.05, 0.09)
    verdicts = [found.verdict("mine", LEVEL, best=best) for best in ("max", "min", "none", None)]
    assert verdicts == ["better", "worse", "changed", "changed"]
    assert found.verdict("sensitivity:at=.5", LEVEL) == "better"  # with parameters


def test_independent_samples_differ_by_square_and_add() -> None:
    """.9 [.8, .95] less .7 [.6, .78]; the limit towards 0 lies hypot(.1, .08) off."""
    new, old = Estimate(0.9, 0.8, 0.95), Estimate(0.7, 0.6, 0.78)
    found = change_of_independent(old, new)
    assert not found.paired
    low, high = 0.2 - hypot(0.1, 0.08), 0.2 + hypot(0.05, 0.1)
    d = found.difference
    assert (d.value, d.low, d.high) == pytest.approx((0.2, low, high))
    z = 0.2 / hypot(0.1, 0.08) * 1.959964
    assert found.p == pytest.approx(2 * stats.norm.sf(z), rel=1e-5)
    assert change_of_independent(new, old).difference == found.turned().difference
    for level in (0.8, 0.99):  # limits are those of the level they were asked for at
        z = 0.2 / hypot(0.1, 0.08) * stats.norm.isf((1 - level) / 2)
        assert change_of_independent(old, new, level=level).p == pytest.approx(2 * stats.norm.sf(z))


@pytest.mark.parametrize(
    ("old", "new", "value", "reason"),
    [
        (Estimate(0.7), Estimate(0.9, 0.8, 1), pytest.approx(0.2), None),
        (0.7, 0.9, pytest.approx(0.2), None),
        (None, 0.9, None, MISSING),
        (Estimate(None, reason="one_class"), Estimate(0.9), None, "one_class"),
        (Estimate(2.0), Estimate(None, reason="infinite"), None, "infinite"),
        (Estimate(None, reason="infinite"), Estimate(2.0), None, "minus_infinite"),
        (Estimate(None, reason="infinite"), Estimate(None, reason="infinite"), None, "undefined"),
        (
            Estimate(None, reason="minus_infinite"),
            Estimate(None, reason="infinite"),
            None,
            "infinite",
        ),
    ],
)
def test_without_limits_there_is_a_difference_alone_and_without_values_a_reason(
    old: Any, new: Any, value: Any, reason: str | None
) -> None:
    found = change_of_independent(old, new)
    assert (found.difference.value, found.difference.reason) == (value, reason)
    assert (found.difference.low, found.difference.high, found.p) == (None, None, None)


@examples(100)
@given(
    st.floats(-1, 1),
    st.floats(1e-6, 1),
    st.floats(1e-6, 1),
    st.sampled_from([1.0, 3.0, inf]),
    st.sampled_from([0.5, 0.95, 0.999]),
)
def test_p_is_below_1_less_the_level_where_limits_exclude_0(
    d: float, down: float, up: float, df: float, level: float
) -> None:
    (p,) = p_from_limits([d], [d - down], [d + up], [df], level=level)
    touches = abs(p - (1 - level)) < 1e-12
    assert touches or (p < 1 - level) == (d - down > 0 or d + up < 0)
    (turned,) = p_from_limits([-d], [-d - up], [-d + down], [df], level=level)
    assert turned == p
    if d == 0:
        assert p == 1


def test_limits_that_are_unknown_have_no_p_and_one_that_is_the_difference_has_none_to_spare() -> (
    None
):
    p = p_from_limits([0.1, 0.1, 0.0], [nan, 0.1, -0.1], [nan, 0.3, 0.1], [5, 5, 5], level=0.95)
    assert isnan(p[0])
    assert p[1:].tolist() == [0, 1]


def test_false_discoveries_are_adjusted_as_benjamini_and_hochberg_have_it() -> None:
    rng = np.random.default_rng(1)
    p = [*(rng.random(20) ** 3).tolist(), None]
    changes = [Change(Estimate(0.5), Estimate(0.6), Estimate(0.1), one) for one in p]
    found = [one.adjusted for one in adjusted_fdr(changes)]
    assert found[-1] is None
    assert found[:-1] == pytest.approx(multipletests(p[:-1], method="fdr_bh")[1].tolist())


def test_a_row_of_comparisons_holds_both_sides_and_what_the_family_says() -> None:
    found = change(0.8, 0.01, 0.05, 0.09, adjusted=0.06, together=(-0.01, 0.11))
    row = comparison_row("run", "roc_auc", "b", "a", found, LEVEL, label="site=x")
    assert (row["against"], row["slice"], row["verdict"]) == ("run", "site=x", "undecided")
    assert (row["difference"], row["difference_adjusted"]) == (found.difference, found.simultaneous)
    alone = comparison_row("run", "roc_auc", "b", "a", change(0.8, 0.01, 0.05, 0.09), LEVEL)
    assert alone["difference_adjusted"] == alone["difference"]
