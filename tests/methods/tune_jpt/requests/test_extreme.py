"""Extreme tables and extreme populations: each value by its own arithmetic, or why it has none."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from clfeval.measures.catalog import CATALOG
from clfeval.result import Estimate, Result
from tests.methods.tune_jpt.requests.door import CCP, codes, one, rows_of, tuned

INFINITE, NEVER, ALWAYS, MARGIN = (
    "infinite", "no_positive_prediction", "no_negative_prediction", "zero_margin",
)  # fmt: skip

# tp, fp, fn, tn of 100 and 100 rows -> measures at 1:1, or their reasons
TABLES: dict[str, tuple[tuple[int, int, int, int], dict[str, Any]]] = {
    "no false alarm": ((67, 0, 33, 100), {
        "tar": 167 / 200, "tor": 167 / 33, "ppv": 1, "npv": 100 / 133, "ppv_odds": INFINITE,
        "npv_odds": 100 / 33, "epa": INFINITE, "f_beta": 134 / 167, "f_odds": 134 / 33,
        "mcc": 67 * 100 / math.sqrt(67 * 133 * 100 * 100), "sensitivity": 0.67, "specificity": 1,
        "j_index": 0.67, "delta": 0.67, "phi": -0.33, "lr_pos": INFINITE, "lr_neg": 0.33,
        "dor": INFINITE, "dp": INFINITE, "expected_cost": 33 * 10 / 200, "net_benefit": 67 / 200,
    }),
    "no miss": ((100, 5, 0, 95), {
        "tar": 195 / 200, "tor": 195 / 5, "ppv": 100 / 105, "npv": 1, "ppv_odds": 20,
        "npv_odds": INFINITE, "epa": INFINITE, "f_beta": 200 / 205, "f_odds": 40,
        "mcc": 100 * 95 / math.sqrt(105 * 95 * 100 * 100), "sensitivity": 1, "specificity": 0.95,
        "j_index": 0.95, "phi": 0.05, "lr_pos": 20, "lr_neg": 0, "dor": INFINITE, "dp": INFINITE,
        "expected_cost": 5 / 200, "net_benefit": 100 / 200 - 0.1 * 5 / 200,
    }),
    "all right": ((100, 0, 0, 100), {
        "tar": 1, "tor": INFINITE, "ppv": 1, "npv": 1, "ppv_odds": INFINITE, "npv_odds": INFINITE,
        "epa": INFINITE, "f_beta": 1, "f_odds": INFINITE, "mcc": 1, "ic": 1, "j_index": 1,
        "phi": 0, "lr_pos": INFINITE, "lr_neg": 0, "dor": INFINITE, "dp": INFINITE,
        "expected_cost": 0, "net_benefit": 0.5,
    }),
    "all wrong": ((0, 100, 100, 0), {
        "tar": 0, "tor": 0, "ppv": 0, "npv": 0, "ppv_odds": 0, "npv_odds": 0, "epa": 0,
        "f_beta": 0, "f_odds": 0, "mcc": -1, "ic": 1, "j_index": -1, "phi": 0, "lr_pos": 0,
        "lr_neg": INFINITE, "dor": 0, "dp": "minus_infinite", "expected_cost": 11 / 2,
        "net_benefit": -0.1 * 100 / 200,
    }),
    "never positive": ((0, 0, 100, 100), {
        "tar": 0.5, "tor": 1, "ppv": NEVER, "npv": 0.5, "ppv_odds": NEVER, "npv_odds": 1,
        "epa": NEVER, "f_beta": 0, "f_odds": 0, "mcc": MARGIN, "ic": 0, "sensitivity": 0,
        "specificity": 1, "j_index": 0, "phi": -1, "lr_pos": NEVER, "lr_neg": 1, "dor": MARGIN,
        "dp": MARGIN, "expected_cost": 5, "net_benefit": 0,
    }),
    "always positive": ((100, 100, 0, 0), {
        "tar": 0.5, "tor": 1, "ppv": 0.5, "npv": ALWAYS, "ppv_odds": 1, "npv_odds": ALWAYS,
        "epa": ALWAYS, "f_beta": 2 / 3, "f_odds": 2, "mcc": MARGIN, "ic": 0, "sensitivity": 1,
        "specificity": 0, "j_index": 0, "phi": 1, "lr_pos": 1, "lr_neg": ALWAYS, "dor": MARGIN,
        "dp": MARGIN, "expected_cost": 0.5, "net_benefit": 0.5 - 0.1 * 0.5,
    }),
}  # fmt: skip


@pytest.mark.parametrize("interval", ["exact", "none"])
@pytest.mark.parametrize("name", TABLES)
def test_a_table_with_empty_cells(name: str, interval: str) -> None:
    counts, expected = TABLES[name]
    result = tuned(counts=counts, measure="cost:fp=1,fn=10", interval=interval)
    for population in ("sample", "1:1"):  # of 100 and 100 rows both are the same
        for measure, wanted in expected.items():
            found = one(result, measure, population)
            if isinstance(wanted, str):
                assert (measure, found.value, found.reason) == (measure, None, wanted)
            else:
                assert found.value == pytest.approx(wanted, rel=1e-12, abs=1e-15), measure
                assert found.reason is None


@pytest.mark.parametrize("name", TABLES)
def test_reasons_are_the_same_at_every_class_ratio(name: str) -> None:
    counts, _ = TABLES[name]
    result = tuned(counts=counts, prevalence=["1:1000000", "1000000:1", "1:7"])
    per_row = [
        {key: cell.reason for key, cell in row.items() if isinstance(cell, Estimate)}
        for row in result.tables["models"]
    ]
    assert len(per_row) == 2 + 3
    assert all(reasons == per_row[0] for reasons in per_row)


@pytest.mark.parametrize("odds", ["1:1000000", "1000000:1", "1:1e300", "1e15:1", "1e-9:1e9"])
def test_extreme_odds(odds: str) -> None:
    """Exact fractions: TP 67 r, FN 33 r, FP 5, TN 95."""
    result = tuned(counts=CCP, prevalence=odds)
    left, right = odds.split(":")
    r = Fraction(float(left)) / Fraction(float(right))
    tp, fn, fp, tn = 67 * r, 33 * r, Fraction(5), Fraction(95)
    expected = {
        "tar": (tp + tn) / (tp + tn + fp + fn),
        "tor": (tp + tn) / (fp + fn),
        "ppv": tp / (tp + fp),
        "npv": tn / (tn + fn),
        "ppv_odds": tp / fp,
        "npv_odds": tn / fn,
        "epa": (tp / fp + tn / fn) / 2,
        "f_beta": 2 * tp / (2 * tp + fn + fp),
        "f_odds": 2 * tp / (fn + fp),
        "sensitivity": Fraction(67, 100),
        "dor": Fraction(67 * 95, 5 * 33),
    }
    for measure, exact in expected.items():
        found = one(result, measure)
        assert found.value is not None
        assert Fraction(found.value) == pytest.approx(exact, rel=1e-12), measure
    (row,) = rows_of(result, "target").values()
    assert row["odds"] == odds
    assert row["prevalence"] == pytest.approx(float(r / (1 + r)), rel=1e-15)
    assert row["tp"] == pytest.approx(float(1000 * Fraction(67, 100) * r / (1 + r)), rel=1e-12)
    assert sum(row[cell] for cell in ("tp", "fp", "fn", "tn")) == pytest.approx(1000, rel=1e-12)


def test_one_odds_that_hides_the_other_is_said() -> None:
    result = tuned(counts=CCP, prevalence=["1:1", "1:1000000"])
    (said,) = [warning.message for warning in result.warnings if warning.code == "epa-one-sided"]
    assert "1:1000000" in said
    assert "epa-one-sided" not in codes(tuned(counts=CCP, prevalence="1:1", measure="ppv"))


def estimates(result: Result) -> list[tuple[str, Estimate]]:
    """Return every estimate with the measure it is of."""
    return [
        (str(row.get("measure", name)), cell)
        for table in ("models", "sweep", "ranges")
        for row in result.tables.get(table, ())
        for name, cell in row.items()
        if isinstance(cell, Estimate)
    ]


SMALL = [
    cells for cells in product((0, 60), repeat=4) if cells[0] + cells[2] and cells[1] + cells[3]
]


@pytest.mark.parametrize("counts", [*SMALL, (1, 1, 1, 1), (1, 0, 60, 1), (60, 1, 1, 0)])
def test_values_lie_inside_their_limits_and_ranges(counts: Any) -> None:
    wanted = ["1:1000000", *(["1e-6..0.9"] if 1 in counts else [])]
    result = tuned(
        counts=counts, prevalence=wanted, sweep="1:1000..1000:1", points=3,
        measure="cost:fp=1,fn=10",
    )  # fmt: skip
    for name, cell in estimates(result):
        least, most = CATALOG[name].low, CATALOG[name].high
        bounds = [x for x in (cell.low, cell.value, cell.high) if x is not None]
        assert bounds == sorted(bounds), name
        assert all(least - 1e-12 <= x <= most + 1e-12 for x in bounds), name
        assert (cell.value is None) == (cell.reason is not None), name
        if cell.value is not None:
            assert cell.low is not None, name
        elif cell.reason not in ("infinite", "minus_infinite"):
            assert bounds == [], name


def test_a_range_of_prevalences_has_its_extremes_where_they_are() -> None:
    """PPV rises and NPV falls with the prevalence; MCC is highest in between."""
    ends = (0.001, 0.9)
    result = tuned(counts=CCP, prevalence="{}..{}".format(*ends))
    found = {str(row["measure"]): row for row in result.tables["ranges"]}
    ppv, npv, mcc = (found[name] for name in ("ppv", "npv", "mcc"))
    assert (ppv["lowest_at"], ppv["highest_at"]) == ends
    assert (npv["highest_at"], npv["lowest_at"]) == ends
    assert ppv["lowest"].value == pytest.approx(0.67 / (0.67 + 0.05 * 999), rel=1e-12)
    shares = [(i / 10_000, 1 - i / 10_000) for i in range(10, 9001)]
    best = max(
        math.sqrt(p * q / ((0.67 * p + 0.05 * q) * (0.33 * p + 0.95 * q))) for p, q in shares
    ) * (0.67 * 0.95 - 0.33 * 0.05)
    assert mcc["highest"].value == pytest.approx(best, rel=1e-6)
    assert ends[0] < mcc["highest_at"] < ends[1]


def test_a_slice_without_a_class_is_said_and_left_untuned() -> None:
    import polars as pl

    frame = pl.DataFrame(
        {"truth": [1, 0, 1, 1, 0], "a": [1, 0, 0, 1, 1], "site": ["x", "x", "y", "y", "z"]}
    )
    result = tuned(frame, by="site", prevalence="1:3")
    said = [warning.message for warning in result.warnings if warning.code == "single-class"]
    assert said == [
        "site=y: no negative row, so nothing is tuned",
        "site=z: no positive row, so nothing is tuned",
    ]
    rows = {(row["slice"], row["population"]): row for row in result.tables["models"]}
    assert rows["site=x", "target"]["tar"].value == 1
    for label, reason in (("site=y", "no_negative_truth"), ("site=z", "no_positive_truth")):
        assert rows[label, "sample"]["odds"] is None
        for measure in ("tar", "ppv", "mcc", "epa", "dor"):
            assert rows[label, "target"][measure] == Estimate(None, reason=reason)
    # sensitivity needs no negatives
    assert rows["site=y", "target"]["sensitivity"].value == 1 / 2
    assert rows["site=z", "target"]["specificity"].value == 0 / 1
