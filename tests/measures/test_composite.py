"""Composite measures of a 2 x 2 table: a grid in fractions, scikit-learn, published numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from clfeval.measures import confusion
from clfeval.measures.catalog import CATALOG, find_measure
from clfeval.measures.confusion import Confusion

pytestmark = pytest.mark.filterwarnings("error")

Exact = Fraction | float | None
FUNCTIONS: dict[str, Callable[[Confusion], NDArray[np.float64]]] = {
    "error_rate": confusion.error_rate,
    **{
        name: CATALOG[name].function
        for name in ("fpr", "fnr", "fdr", "for", "g_mean", "fowlkes_mallows", "markedness")
    },
    "balanced_accuracy": confusion.balanced_accuracy,
    "jaccard": confusion.jaccard,
    "kappa": confusion.kappa,
}
GRID = list(product(range(4), repeat=4))


def share(part: int, whole: int) -> Fraction | None:
    return Fraction(part, whole) if whole else None


def less(x: Fraction | None, y: Fraction | None = Fraction(1)) -> Fraction | None:
    return None if x is None or y is None else y - x


def mean(x: Fraction | None, y: Fraction | None) -> Fraction | None:
    return None if x is None or y is None else (x + y) / 2


def root(x: Fraction | None, y: Fraction | None) -> float | None:
    return None if x is None or y is None else math.sqrt(x * y)


def chance_corrected(tp: int, fp: int, fn: int, tn: int) -> Fraction | None:
    m = tp + fp + fn + tn
    if not m:
        return None
    said, true = Fraction(tp + fp, m), Fraction(tp + fn, m)
    agreed, expected = Fraction(tp + tn, m), said * true + (1 - said) * (1 - true)
    return (agreed - expected) / (1 - expected) if expected != 1 else None


def by_hand(tp: int, fp: int, fn: int, tn: int) -> dict[str, Exact]:
    sensitivity, specificity = share(tp, tp + fn), share(tn, fp + tn)
    precision, npv = share(tp, tp + fp), share(tn, fn + tn)
    return {
        "error_rate": share(fp + fn, tp + fp + fn + tn),
        "fpr": less(specificity),
        "fnr": less(sensitivity),
        "fdr": less(precision),
        "for": less(npv),
        "balanced_accuracy": mean(sensitivity, specificity),
        "g_mean": root(sensitivity, specificity),
        "fowlkes_mallows": root(precision, sensitivity),
        "markedness": less(less(npv), precision),
        "jaccard": share(tp, tp + fp + fn),
        "kappa": chance_corrected(tp, fp, fn, tn),
    }


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_grid_of_tables_in_fractions(name: str) -> None:
    cells = np.array(GRID).T
    found = FUNCTIONS[name](Confusion(*cells))
    assert found.shape == (len(GRID),)
    assert found.dtype == np.float64
    for value, table in zip(found.tolist(), GRID, strict=True):
        expected = by_hand(*table)[name]
        if expected is None:
            assert math.isnan(value), table
        else:
            assert value == pytest.approx(float(expected), abs=1e-15), table


@pytest.mark.parametrize("name", FUNCTIONS)
def test_cells_may_have_a_factor_and_are_taken_one_by_one(name: str) -> None:
    cells = np.array(GRID[1:]).T
    whole = FUNCTIONS[name](Confusion(*cells))
    for factor in (1 / 7, 10**12):
        scaled = FUNCTIONS[name](Confusion(*(cells * factor)))
        np.testing.assert_allclose(scaled, whole, rtol=1e-12, atol=1e-12)
    square = FUNCTIONS[name](Confusion(*(part[:250].reshape(10, 25) for part in cells)))
    np.testing.assert_array_equal(square.ravel(), whole[:250])
    for i in range(0, 250, 50):
        alone = FUNCTIONS[name](Confusion(*(part.item() for part in cells[:, i])))
        np.testing.assert_array_equal(alone, whole[i])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_range_and_best_are_those_of_the_catalogue(name: str) -> None:
    measure = find_measure(name)
    assert measure is not None
    values = FUNCTIONS[name](Confusion(*np.array(GRID).T))
    assert np.nanmin(values) == measure.low
    assert np.nanmax(values) == measure.high
    perfect = FUNCTIONS[name](Confusion(7, 0, 0, 3))
    assert perfect == (measure.high if measure.best == "max" else measure.low)


def nats(cells: tuple[Decimal, ...]) -> Decimal:
    """Return I(truth; prediction) of shares tp, fp, fn, tn by its definition, digit by digit."""
    tp, fp, fn, tn = cells
    m, total = sum(cells), Decimal(0)
    for q, row, column in (
        (tp, tp + fn, tp + fp),
        (fp, fp + tn, tp + fp),
        (fn, tp + fn, fn + tn),
        (tn, fp + tn, fn + tn),
    ):
        if q:
            total += q / m * (q * m / (row * column)).ln()
    return total


@pytest.mark.parametrize("rare", [1e-300, 1e-200, 1e-160, 1e-120, 1e-50, 0.25])
@pytest.mark.parametrize(("sensitivity", "false_alarms"), [(0.5, 0.0), (0.5, 0.25), (0.25, 0.5)])
def test_information_holds_however_rare_the_positives(
    rare: float, sensitivity: float, false_alarms: float
) -> None:
    """1e-300 x 1e-300 is below all numbers, and what is expected by chance with it."""
    with localcontext() as context:
        context.prec = 700  # the shares differ by hundreds of digits
        positives, negatives = Decimal(rare), 1 - Decimal(rare)
        tpr, fpr = Decimal(sensitivity), Decimal(false_alarms)
        cells = (positives * tpr, negatives * fpr, positives * (1 - tpr), negatives * (1 - fpr))
        expected = float(nats(cells))
    found = confusion.mutual_information_nats(Confusion(*map(float, cells)))
    assert float(found) == pytest.approx(expected, rel=1e-9)
