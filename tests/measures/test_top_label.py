"""Measures of the most probable class and of the surest rows, of two classes and of more."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from clfeval.measures.catalog import CATALOG
from tests.measures.test_class_scores import random_class_rows
from tests.measures.values import multiclass_value


def repeated_rows(c: int, seed: int) -> tuple[Any, Any, Any]:
    """Return confidence and whether it is right of each row, and the rows as counted."""
    truth, p, n = random_class_rows(c, seed)
    sure, right = p.max(axis=1), p.argmax(axis=1) == truth
    return np.repeat(sure, n), np.repeat(right, n), (truth, p, n)


def share_right(sure: Any, right: Any, coverage: float) -> float:
    """Take confidences one by one, the last of them in part."""
    room = Fraction(coverage) * len(sure)
    left, hits = room, Fraction(0)
    for value in sorted({*sure.tolist()}, reverse=True):
        there = right[sure == value]
        taken = min(left, Fraction(len(there)))
        hits += taken * int(there.sum()) / len(there)
        left -= taken
    return float(hits / room)


@pytest.mark.parametrize("c", [2, 3, 7, 12])
def test_row_by_row(c: int) -> None:
    sure, right, rows = repeated_rows(c, 5)
    m = len(sure)
    for bins in (7, 10):
        inside = np.array([max(i for i in range(bins) if s >= i / bins) for s in sure.tolist()])
        gaps = {i: abs(sum(right[inside == i]) - sum(sure[inside == i])) for i in {*inside}}
        most = max(gap / (inside == i).sum() for i, gap in gaps.items())
        assert multiclass_value("ece", *rows, bins=bins) == pytest.approx(
            sum(gaps.values()) / m, abs=1e-12
        )
        assert multiclass_value("mce", *rows, bins=bins) == pytest.approx(most, abs=1e-12)
    surer = sum(sure.tolist()) / m - sum(right.tolist()) / m
    assert multiclass_value("overconfidence", *rows) == pytest.approx(surer, abs=1e-12)
    risks = [1 - right[sure >= s].mean() for s in {*sure.tolist()}]
    assert multiclass_value("aurc", *rows) == pytest.approx(float(np.mean(risks)), abs=1e-12)
    for coverage in (0.01, 0.25, 0.8, 1.0):
        found = multiclass_value("selective_accuracy", *rows, coverage=coverage)
        assert found == pytest.approx(share_right(sure, right, coverage), abs=1e-12)
    assert multiclass_value("selective_accuracy", *rows, coverage=1.0) == pytest.approx(
        right.mean()
    )
    with pytest.raises(ValueError, match="0"):
        multiclass_value("selective_accuracy", *rows, coverage=0.0)


@pytest.mark.parametrize("seed", range(3))
def test_of_two_classes_the_likelier_is_the_most_probable(seed: int) -> None:
    truth, p, n = random_class_rows(2, seed, tied=False)
    order = np.argsort(p[:, 1])
    truth, p, n = truth[order], p[order], n[order]
    for name in ("aurc", "selective_accuracy", "overconfidence"):
        two = CATALOG[name].function(p[:, 1], n * truth, n * (1 - truth))
        assert multiclass_value(name, truth, p, n) == pytest.approx(float(two), abs=1e-12), name


def test_overconfidence_by_hand() -> None:
    """Of four rows given .9, .8, .6 and .9 (for class 0) three are right: .8 - .75 = .05."""
    scores, hits, others = np.array([0.1, 0.6, 0.8, 0.9]), [0, 1, 1, 0], [1, 0, 0, 1]
    of = CATALOG["overconfidence"].function
    assert float(of(scores, np.array(hits), np.array(others))) == pytest.approx(0.05, abs=1e-12)
