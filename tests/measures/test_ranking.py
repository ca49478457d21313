"""Measures of rankings: against every pair, every threshold, scikit-learn and scipy."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from clfeval.measures.catalog import CATALOG
from clfeval.measures.ranking import average_precision, ks, roc_auc

pytestmark = pytest.mark.filterwarnings("error")

Function = Callable[..., NDArray[np.float64]]
FUNCTIONS: dict[str, Function] = {
    "roc_auc": roc_auc,
    "gini": CATALOG["gini"].function,
    "average_precision": average_precision,
    "ks": ks,
}
# a row: score, positives, negatives; rows of equal score stay apart, some rows count nothing
tables = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.integers(0, 4), st.integers(0, 4)),
    min_size=1,
    max_size=9,
).map(lambda rows: sorted(rows, key=lambda row: row[0]))


def arrays(rows: list[tuple[float, int, int]]) -> tuple[NDArray[np.float64], ...]:
    scores, positives, negatives = zip(*rows, strict=True)
    return np.array(scores, float), np.array(positives), np.array(negatives)


def pairs(rows: list[tuple[float, int, int]]) -> Fraction | None:
    """Ask every positive and every negative who scores higher."""
    won = Fraction(0)
    total = 0
    for score, p, _ in rows:
        for other, _, n in rows:
            won += p * n * (Fraction(score > other) + Fraction(score == other) / 2)
            total += p * n
    return won / total if total else None


def claimed(rows: list[tuple[float, int, int]]) -> list[tuple[int, int]]:
    """Return TP and FP at every distinct threshold from the highest down."""
    cuts = sorted({score for score, _, _ in rows}, reverse=True)
    return [
        (sum(p for s, p, _ in rows if s >= cut), sum(n for s, _, n in rows if s >= cut))
        for cut in cuts
    ]


@given(tables)
def test_against_every_pair_and_every_threshold(rows: list[tuple[float, int, int]]) -> None:
    auc, points = pairs(rows), claimed(rows)
    p, n = points[-1]
    steps = Fraction(0)
    before = 0
    for tp, fp in points:
        steps += Fraction(tp - before, p or 1) * Fraction(tp, (tp + fp) or 1)
        before = tp
    apart = [abs(Fraction(tp, p or 1) - Fraction(fp, n or 1)) for tp, fp in points]
    expected = {
        "roc_auc": auc,
        "gini": None if auc is None else 2 * auc - 1,
        "average_precision": steps if p else None,
        "ks": max(apart) if p and n else None,
    }
    for name, function in FUNCTIONS.items():
        found = function(*arrays(rows))
        assert found.shape == ()
        if expected[name] is None:
            assert np.isnan(found), name
        else:
            assert found == pytest.approx(float(expected[name]), abs=1e-15), name


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float64])
@pytest.mark.parametrize("distinct", [True, False])
def test_replicates_are_measured_one_by_one(name: str, kind: type, distinct: bool) -> None:
    rng = np.random.default_rng(3)
    scores = np.sort(rng.random(30)) if distinct else np.sort(rng.integers(0, 6, 30) / 6)
    positives, negatives = rng.integers(0, 200, (2, 4, 5, 30)).astype(kind)
    positives[0, 0], negatives[1, 1], positives[2, 2] = 0, 0, 0
    negatives[2, 2] = 0
    found = FUNCTIONS[name](scores, positives, negatives)
    assert found.shape == (4, 5)
    alone = [
        [FUNCTIONS[name](scores, positives[i, j], negatives[i, j]) for j in range(5)]
        for i in range(4)
    ]
    np.testing.assert_array_equal(found, alone)
    undefined = {(0, 0), (2, 2)} if name == "average_precision" else {(0, 0), (1, 1), (2, 2)}
    assert set(map(tuple, np.argwhere(np.isnan(found)).tolist())) == undefined
    wide = FUNCTIONS[name](scores, positives.astype(np.int64), negatives.astype(np.int64))
    np.testing.assert_allclose(found, wide, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_perfect_and_a_perfectly_wrong_ranking(name: str) -> None:
    scores = np.array([-np.inf, 0.1, 0.2, np.inf])
    low, high = np.array([2, 1, 0, 0]), np.array([0, 0, 3, 1])
    measure = CATALOG[name]
    for weight in (1, 0.1, 1 / 3):
        assert FUNCTIONS[name](scores, weight * high, weight * low) == measure.high
    # upside down, three of the four positives are found at 3 of 6 and the last at 4 of 7
    average = 3 / 4 * 3 / 6 + 1 / 4 * 4 / 7
    wrong = {"roc_auc": 0, "gini": -1, "ks": 1, "average_precision": average}
    found = FUNCTIONS[name](scores, high[::-1], low[::-1])
    assert found == pytest.approx(wrong[name], abs=1e-15)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_scores_out_of_order_are_refused(name: str) -> None:
    for scores in ([0.2, 0.1], [0.1, np.nan]):
        with pytest.raises(ValueError, match="ascending"):
            FUNCTIONS[name](np.array(scores), np.array([1, 0]), np.array([0, 1]))


@pytest.mark.parametrize("seed", range(20))
def test_perfect_is_perfect_however_large_the_counts(seed: int) -> None:
    """Counts whose products fit no 64 bits, as those of fractional weights are."""
    dice = np.random.default_rng(seed)
    positives, negatives = np.zeros((2, 20), np.int64)
    positives[12:] = dice.integers(2**50, 2**56, 8)
    negatives[:12] = dice.integers(2**50, 2**56, 12)
    scores = np.arange(20)
    for measure in (roc_auc, average_precision, ks):
        assert measure(scores, positives, negatives) == 1.0
    assert roc_auc(scores, negatives, positives) == 0.0
    assert roc_auc(np.zeros(20), positives, negatives) == 0.5
