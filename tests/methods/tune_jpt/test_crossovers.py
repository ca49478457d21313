"""Where one model passes another: closed forms in fractions, and a look on either side."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import clfeval
from clfeval.measures.catalog import CATALOG
from tests.methods.tune_jpt.reference import Cells, four
from tests.results import Line, rows_of
from tests.texts import check_text
from tests.thoroughness import examples, thinned

LOW, HIGH = Fraction(1, 1000), Fraction(1000)  # the sweep unless asked otherwise
SWEPT = np.exp(np.linspace(math.log(1e-3), math.log(1e3), 60))

rate = st.integers(0, 100) | st.integers(0, 1000).map(lambda k: Fraction(k, 10))
classifiers = st.builds(
    lambda x, y: Cells(int(10 * x), int(10 * y), 1000 - int(10 * x), 1000 - int(10 * y)), rate, rate
)


def crossings(a: Cells, b: Cells, measure: str, **options: Any) -> list[Line]:
    options = {"interval": "none", "measure": [measure, "cost:fp=1,fn=7"], "points": 2} | options
    result = clfeval.tune_jpt(counts={"a": four(a), "b": four(b)}, **options)
    return rows_of(result, "crossovers")


def rates(cells: Cells) -> tuple[Fraction, Fraction]:
    return cells.tp / cells.positives, cells.fp / cells.negatives


def spread(cells: Cells) -> tuple[Fraction, Fraction]:
    """Return x(1-x)/J² and y(1-y)/J²: MCC² = r / (r + 1) / (r times the first + the second)."""
    x, y = rates(cells)
    return x * (1 - x) / (x - y) ** 2, y * (1 - y) / (x - y) ** 2


def by_accuracy(a: Cells, b: Cells) -> Fraction | None:
    """Return p* = dtnr / (dtnr - dtpr)."""
    (x1, y1), (x2, y2) = rates(a), rates(b)
    dtpr, dtnr = x1 - x2, y2 - y1
    if dtnr == dtpr:
        return None
    p = dtnr / (dtnr - dtpr)
    return p / (1 - p) if 0 < p < 1 else None


def by_cost(a: Cells, b: Cells) -> Fraction | None:
    """Return the r where r 7 (x1 - x2) = y1 - y2."""
    (x1, y1), (x2, y2) = rates(a), rates(b)
    return _over(y1 - y2, 7 * (x1 - x2))


def by_f(a: Cells, b: Cells) -> Fraction | None:
    """Return the r where x1 (r (1 - x2) + y2) = x2 (r (1 - x1) + y1)."""
    (x1, y1), (x2, y2) = rates(a), rates(b)
    return _over(x2 * y1 - x1 * y2, x1 - x2)


def by_mcc(a: Cells, b: Cells) -> Fraction | None:
    """Return the r where r u1 + v1 = r u2 + v2, for models that are both right or both wrong."""
    (u1, v1), (u2, v2) = spread(a), spread(b)
    same_side = (a.tp * a.tn > a.fp * a.fn) == (b.tp * b.tn > b.fp * b.fn)
    return _over(v2 - v1, u1 - u2) if same_side else None


def _over(part: Fraction, whole: Fraction) -> Fraction | None:
    return part / whole if part * whole > 0 else None


CLOSED: dict[str, Callable[[Cells, Cells], Fraction | None]] = {
    "tar": by_accuracy,
    "tor": by_accuracy,
    "expected_cost": by_cost,
    "net_benefit": by_cost,
    "f_beta": by_f,
    "f_odds": by_f,
    "mcc": by_mcc,
}


def at(cells: Cells, measure: str, ratio: Fraction) -> Fraction | None:
    """Return a measure, high being good."""
    tuned = cells.tuned(ratio)
    value = (tuned.values() | tuned.stakes(1, 7))[measure]
    if isinstance(value, str):
        return None
    return Fraction(value) * (-1 if CATALOG[measure].best == "min" else 1)


def leader(a: Cells, b: Cells, measure: str, ratio: Fraction) -> str | None:
    first, second = at(a, measure, ratio), at(b, measure, ratio)
    assert first is not None
    assert second is not None
    return None if first == second else "a" if first > second else "b"


@pytest.mark.parametrize("measure", CLOSED)
@examples(25)
@given(a=classifiers, b=classifiers)
def test_closed_forms(measure: str, a: Cells, b: Cells) -> None:
    errors = all(c.fp or c.fn for c in (a, b))
    assume(errors if measure in ("tor", "f_odds") else True)
    if measure == "mcc":
        margins = all(0 < c.tp + c.fp < 2000 and c.tp * c.tn != c.fp * c.fn for c in (a, b))
        assume(margins)
    expected = CLOSED[measure](a, b)
    (row,) = crossings(a, b, measure)
    assert (row["first"], row["second"], row["measure"]) == ("a", "b", measure)
    crossing = row["crossing"]
    if expected is not None and abs(math.log(expected)) == pytest.approx(math.log(1000), abs=1e-6):
        return  # whether the end of the sweep belongs to it is nobody's question
    if expected is not None and LOW < expected < HIGH:
        p = float(expected / (1 + expected))
        assert crossing.value == pytest.approx(p, rel=1e-8, abs=0)
        assert 1 - crossing.value == pytest.approx(1 - p, rel=1e-8, abs=0)
        below, above = (leader(a, b, measure, expected * step) for step in (LOW, HIGH))
        assert (row["leads_below"], row["leads_above"]) == (below, above)
    else:
        throughout = leader(a, b, measure, Fraction(1))
        assert (crossing.value, row["odds"]) == (None, None)
        assert crossing.reason == ("identical" if throughout is None else "none")
        assert (row["leads_below"], row["leads_above"]) == (throughout, throughout)


@pytest.mark.parametrize(
    "measure", thinned(["ic", "epa", "ppv", "npv", "ppv_odds", "npv_odds"], ["ic", "epa", "npv"])
)
@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Cells(670, 50, 330, 950), Cells(690, 150, 310, 850)),
        (Cells(500, 1, 500, 999), Cells(900, 100, 100, 900)),
        (Cells(999, 500, 1, 500), Cells(900, 100, 100, 900)),
        (Cells(950, 300, 50, 700), Cells(700, 50, 300, 950)),
        (Cells(4, 1, 16, 19), Cells(9, 8, 11, 12)),
        (Cells(30, 2, 70, 98), Cells(60, 12, 40, 88)),
    ],
    ids=str,
)
def test_a_dense_search_finds_no_other(measure: str, a: Cells, b: Cells) -> None:
    leaders = [leader(a, b, measure, Fraction(float(r))) for r in SWEPT]
    changes = [i for i in range(1, len(leaders)) if leaders[i] != leaders[i - 1]]
    rows = [row for row in crossings(a, b, measure) if row["crossing"].value is not None]
    assert len(rows) == len(changes)
    for row, i in zip(rows, changes, strict=True):
        p = row["crossing"].value
        assert SWEPT[i - 1] <= p / (1 - p) <= SWEPT[i]
        r = Fraction(p) / (1 - Fraction(p))
        below, above = (
            leader(a, b, measure, r * (1 + step))
            for step in (-Fraction(1, 10**7), Fraction(1, 10**7))
        )
        assert (below, above) == (row["leads_below"], row["leads_above"])
        assert (below, above) == (leaders[i - 1], leaders[i])
    if not changes:
        (row,) = crossings(a, b, measure)
        assert row["leads_below"] == row["leads_above"] == leaders[0]
    if measure in ("ppv", "npv", "ppv_odds", "npv_odds"):
        assert not changes  # their order is that of LR+ and LR-


WORSE, BETTER, CCP, RF = (
    Cells(60, 10, 40, 90),
    Cells(80, 5, 20, 95),
    Cells(67, 5, 33, 95),
    Cells(69, 15, 31, 85),
)
LEADS: list[tuple[Cells, Cells, str, list[str], str | None]] = [
    (WORSE, BETTER, "none", ["tar", "mcc", "f_beta", "ic", "epa", "net_benefit", "ppv"], "b"),
    (CCP, RF, "invariant", ["sensitivity"], "b"),
    # LR- is better low
    (CCP, RF, "invariant", ["specificity", "j_index", "lr_pos", "lr_neg", "dor", "dp"], "a"),
    (Cells(0, 0, 10, 10), Cells(8, 2, 2, 8), "undefined", ["ppv"], None),
    # ten times the rows at the same rates are no other classifier
    (
        CCP,
        Cells(670, 50, 330, 950),
        "identical",
        ["tar", "mcc", "f_beta", "epa", "ppv", "j_index"],
        None,
    ),
]


@pytest.mark.parametrize(("a", "b", "reason", "measures", "leads"), LEADS)
def test_models_that_do_not_cross(
    a: Cells, b: Cells, reason: str, measures: list[str], leads: str | None
) -> None:
    for measure in measures:
        (row,) = crossings(a, b, measure)
        assert row["crossing"].reason == reason
        assert row["leads_below"] == row["leads_above"] == leads


def test_verdicts() -> None:
    """A crossing, a lead throughout, of an invariant measure, and two without a leader."""
    never = Cells(0, 0, 10, 10)
    pairs = [
        (CCP, RF, "tar"),
        (WORSE, BETTER, "tar"),
        (CCP, RF, "dor"),
        (CCP, CCP, "tar"),
        (never, CCP, "ppv"),
    ]
    check_text(
        row["verdict"]
        for interval in ("none", "exact")
        for a, b, measure in pairs
        for row in crossings(a, b, measure, interval=interval)
    )


def test_one_model_crosses_nobody() -> None:
    result = clfeval.tune_jpt(counts=(67, 5, 33, 95))
    assert not {"crossovers", "winners"} & set(result.tables)
    assert result.parameters["compared_by"] is None
