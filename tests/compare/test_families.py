"""Families of pairs: against Tukey's and Dunnett's distributions, and what a family may not do."""

from __future__ import annotations

from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from clfeval.compare import families
from clfeval.compare.change import DifferenceErrors
from clfeval.compare.families import (
    ALL_PAIRS,
    BEST,
    PairFamily,
    adjusted_family,
    best_set,
    detectable_difference,
    family_pairs,
    joint_maximum_p_values,
)
from clfeval.compare.paired_estimates import PairedEstimates
from clfeval.inference.distributions import critical_value
from clfeval.measures.catalog import CATALOG
from tests.thoroughness import examples

DRAWS = 60_000  # of a joint maximum: its p errs by .0009 at .05


def of_normals(
    values: Any, v: Any, *, metric: str = "mcc", df: float = np.inf, names: Any = None
) -> PairedEstimates:
    """Return estimates of this covariance, without steps."""
    v, k = np.asarray(v, np.float64), len(values)
    own = np.diag(v)
    errors = np.sqrt(np.maximum(own[:, None] + own - 2 * v, 0))
    known, models = (
        DifferenceErrors(errors, np.full((k, k), df), v),
        names or [f"m{i}" for i in range(k)],
    )
    return PairedEstimates(
        metric,
        CATALOG[metric],
        tuple(models),
        np.array(values, np.float64),
        known,
        1000,
        np.zeros((k, 0)),
        np.zeros(0),
    )


def in_family(
    one: PairedEstimates, reference: str | None = None, level: float = 0.95
) -> PairFamily:
    family = adjusted_family(one, family_pairs(reference, one.models), level=level, seed=0)
    assert family is not None
    return family


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (None, [(0, 1), (0, 2), (1, 2)]),
        (BEST, [(0, 1), (0, 2), (1, 2)]),
        (ALL_PAIRS, [(0, 1), (0, 2), (1, 2)]),
        ("b", [(0, 1), (2, 1)]),
        ("nobody", []),
    ],
)
def test_pairs_are_any_two_or_those_with_the_reference(
    reference: str | None, expected: list[tuple[int, int]]
) -> None:
    assert [*family_pairs(reference, ["a", "b", "c"])] == expected
    joined = ["old:a", "old:b", "new:b", "new:a", "new:c"]
    assert [*family_pairs("old:*", joined)] == [(2, 1), (3, 0)]


def joint(p: Any, pairs: Any, v: Any, level: float = 0.95) -> tuple[Any, float]:
    first, second = np.array(pairs).T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(families, "DRAWS", DRAWS)
        patch.setattr(families, "_MOST", 10**9)
        return joint_maximum_p_values(
            np.array(p), first, second, np.asarray(v), level=level, rng=np.random.default_rng(7)
        )


@pytest.mark.parametrize("k", [3, 10, 30])
def test_of_independent_estimates_it_is_tukeys_studentized_range(k: int) -> None:
    """q / sqrt(2): 2.34, 3.16 and 3.74 for 3, 10 and 30 models at .95."""
    pairs = [*combinations(range(k), 2)]
    z = np.linspace(2, 4, len(pairs))
    found, level = joint(2 * stats.norm.sf(z), pairs, np.eye(k))
    expected = stats.studentized_range.sf(z * sqrt(2), k, np.inf)
    assert found == pytest.approx(expected, abs=3 * sqrt(0.1 / DRAWS))
    reach = stats.studentized_range.ppf(0.95, k, np.inf) / sqrt(2)
    assert critical_value(level) == pytest.approx(reach, abs=0.02)
    if k == 10:
        assert reach == pytest.approx(3.16, abs=0.005)


@pytest.mark.parametrize("errors", [(1, 1, 1, 1), (1, 2, 0.5, 1.5, 0.1), (3, 1, 1)])
def test_with_a_reference_it_is_dunnetts_distribution(errors: tuple[float, ...]) -> None:
    """P(all |Z_i - Z_0| / s_i < c) = the mean over Z_0 of the product of P(|..| < c)."""
    pairs, s0 = [(i, 0) for i in range(1, len(errors))], errors[0]

    def inside(z: float, c: float) -> float:
        reach = [c * np.hypot(s, s0) for s in errors[1:]]
        shares = [
            stats.norm.cdf((s0 * z + r) / s) - stats.norm.cdf((s0 * z - r) / s)
            for s, r in zip(errors[1:], reach, strict=True)
        ]
        return float(stats.norm.pdf(z) * np.prod(shares))

    z = np.linspace(1.5, 3, len(pairs))
    found, _ = joint(2 * stats.norm.sf(z), pairs, np.diag(np.square(errors)))
    expected = [1 - integrate.quad(inside, -9, 9, args=(c,))[0] for c in z]
    assert found == pytest.approx(expected, abs=3 * sqrt(0.1 / DRAWS))


def test_two_models_have_their_own_p_and_a_margin_of_1_96_errors() -> None:
    family = in_family(of_normals([0.8, 0.7], np.eye(2) * 0.05**2))
    assert family.adjusted.tolist() == family.p.tolist()
    assert (family.level, family.each_level) == (0.95, 0.95)
    (change,) = family.changes()
    assert change.simultaneous == change.difference
    assert change.difference.high == pytest.approx(0.1 + 1.959964 * 0.05 * sqrt(2))


def test_an_adjusted_p_is_at_least_its_own_at_most_bonferronis_and_never_0() -> None:
    """Of 45 pairs one in a million is no p of 0 though no draw lies beyond."""
    for reference in (None, "m0"):
        family = in_family(of_normals([0.9, *np.linspace(0, 0.5, 9)], np.eye(10) * 0.01))
        assert (family.adjusted >= family.p).all()
        assert (family.adjusted <= np.minimum(len(family.p) * family.p, 1) * (1 + 1e-12)).all()
        assert (family.adjusted > family.p)[family.p < 1].all(), reference


@examples(200)
@given(
    st.integers(0, 10**6),
    st.integers(2, 6),
    st.sampled_from([0.5, 0.8, 0.95, 0.999]),
    st.sampled_from([np.inf, 4.0, 30.0]),
    st.booleans(),
    st.integers(1, 2),
    st.booleans(),
)
def test_an_adjusted_p_is_below_where_the_simultaneous_interval_excludes_0(
    seed: int, k: int, level: float, df: float, dunnett: bool, measures: int, twins: bool
) -> None:
    """Of any covariance, also singular ones; the tied are those not significantly worse."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(k, k)) * rng.choice([0.01, 0.1, 1], k)[:, None]
    root[-1] = root[0] if twins else root[-1]
    values = rng.normal(size=k) * 0.3
    values[-1] = values[0] if twins else values[-1]
    one = of_normals(values, root @ root.T, df=df)
    pairs = family_pairs("m0" if dunnett else None, one.models)
    family = adjusted_family(one, pairs, level=level, seed=seed, measures=measures)
    assert family is not None
    for change in family.changes():
        together, own = change.simultaneous, change.difference
        assert together is not None
        assert change.p is not None
        assert change.adjusted is not None
        if together.low is None or own.low is None or together.high is None or own.high is None:
            assert change.p == 1  # twins, of which nothing is known
            continue
        assert together.low <= own.low <= own.high <= together.high
        assert (own.low > 0 or own.high < 0) == (change.p < 1 - level)
        significant = together.low > 0 or together.high < 0
        assert significant == (change.adjusted < 1 - level) == change.significant(level)
    found = best_set(None if dunnett else family, one, level=0.95, seed=seed)
    assert found is not None
    assert found.tied[found.leader]
    assert (found.low_rank <= found.high_rank).all()
    if not dunnett:
        worse = {
            min(pair, key=lambda i: values[i])
            for pair, told in zip(family.pairs, family.significant, strict=True)
            if told and found.leader in pair
        }
        assert found.tied.tolist() == [i not in worse for i in range(k)]


def test_neither_order_nor_other_models_move_what_is_a_pairs_own() -> None:
    """Draws go by the names of models: in another order they are the same to the last digit."""
    rng = np.random.default_rng(5)
    root = rng.normal(size=(5, 5)) * 0.1
    v, values = root @ root.T, rng.normal(size=5) * 0.2
    one, names = of_normals(values, v), [f"m{i}" for i in range(5)]
    order = [3, 0, 4, 2, 1]
    other = of_normals(values[order], v[np.ix_(order, order)], names=[names[i] for i in order])
    by_pair = []
    for some in (one, other):
        changes = zip(in_family(some).pairs, in_family(some).changes(), strict=True)
        by_pair.append(
            {
                frozenset(some.models[i] for i in pair): (change.p, change.adjusted)
                for pair, change in changes
            }
        )
    assert by_pair[0] == by_pair[1]
    sets = [best_set(in_family(some), some, level=0.95, seed=0) for some in (one, other)]
    assert sets[0] is not None
    assert sets[1] is not None
    assert sets[0].ties == sets[1].ties
    assert sets[1].first.tolist() == sets[0].first[order].tolist()
    few = of_normals(values[:3], v[:3, :3])
    own = dict(zip(in_family(one).pairs, in_family(one).changes(), strict=True))
    for pair, change in zip(in_family(few).pairs, in_family(few).changes(), strict=True):
        assert (change.difference, change.p) == (own[pair].difference, own[pair].p)
        assert change.adjusted is not None
        assert change.adjusted <= (own[pair].adjusted or 0) + 0.02


def test_unknown_errors_and_identical_models_are_tested_with_nobody() -> None:
    """A model without an error stays tied; the others are a family of their own."""
    v = np.eye(3) * 0.01**2
    one = of_normals([0.9, 0.5, 0.6], v)
    one.pair_errors.errors[1], one.pair_errors.errors[:, 1] = np.nan, np.nan
    family, alone = in_family(one), in_family(of_normals([0.9, 0.6], v[:2, :2]))
    assert np.isnan(family.p).tolist() == [True, False, True]
    assert family.adjusted[1] == alone.adjusted[0]
    found = best_set(family, one, level=0.95, seed=0)
    assert found is not None
    assert found.tied.tolist() == [True, True, False]
    assert family.changes()[0].verdict("mcc", 0.95) == "undecided"
    twins = of_normals([0.9, 0.9, 0.6], [[1e-4, 1e-4, 0], [1e-4, 1e-4, 0], [0, 0, 1e-4]])
    assert in_family(twins).p[0] == in_family(twins).adjusted[0] == 1
    found = best_set(in_family(twins), twins, level=0.95, seed=0)
    assert found is not None
    assert (found.ties, found.first.tolist()) == (
        {"m0": True, "m1": True, "m2": False},
        [0.5, 0.5, 0],
    )


def test_a_measure_without_a_direction_has_no_best() -> None:
    one = of_normals([1.0, 1.2], np.eye(2), metric="calibration_slope")
    assert best_set(in_family(one), one, level=0.95, seed=0) is None
    less = of_normals([0.2, 0.1], np.eye(2) * 1e-6, metric="brier")
    found = best_set(in_family(less), less, level=0.95, seed=0)
    assert found is not None
    assert (found.leader, found.tied.tolist()) == (1, [False, True])


def test_the_best_of_equal_models_is_too_good_by_the_mean_of_the_largest_normal() -> None:
    """s / sqrt(pi) of two, 3 s / (2 sqrt(pi)) of three; of two .6 s apart P(first) is known."""
    s = 0.05
    for k, expected in ((2, s / sqrt(np.pi)), (3, 1.5 * s / sqrt(np.pi))):
        one = of_normals([0.8] * k, np.eye(k) * s**2)
        found = best_set(in_family(one), one, level=0.95, seed=0)
        assert found is not None
        assert found.optimism == pytest.approx(expected, rel=0.05)
        assert found.first == pytest.approx([1 / k] * k, abs=0.02)
    one = of_normals([0.8, 0.8 - 0.6 * s], np.eye(2) * s**2)
    found = best_set(in_family(one), one, level=0.95, seed=0)
    assert found is not None
    assert found.first[0] == pytest.approx(stats.norm.cdf(0.6 / sqrt(2)), abs=0.02)
    power = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    detectable = pytest.approx(power * s * sqrt(2))
    assert (found.leader, found.second, found.detectable) == (0, 1, detectable)
    alone = of_normals([0.8], [[s**2]])
    found = best_set(None, alone, level=0.95, seed=0)
    assert found is not None
    assert (found.optimism, found.tied.tolist()) == (0, [True])


def test_the_smallest_difference_that_is_seen_has_that_power() -> None:
    least = detectable_difference(0.02, level=0.95)
    assert least == pytest.approx((1.959964 + 0.841621) * 0.02, rel=1e-6)
    few = stats.t(4).ppf([0.975, 0.8]).sum() * 0.02
    assert detectable_difference(0.02, level=0.95, df=4) == pytest.approx(few)
