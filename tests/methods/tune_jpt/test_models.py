"""The table of models against fractions: cells and every measure, as counted, at 1:1 and tuned."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from clfeval.measures.odds import TUNABLE
from tests.methods.tune_jpt.reference import (
    INVARIANT,
    MEASURES,
    Cells,
    Value,
    four,
    ratio_of,
    without_limits,
)
from tests.results import (
    Line,
    four_cells,
    limits_of,
    row_of,
    rows_of,
    value_and_limits,
    value_of,
    warning_codes,
)
from tests.thoroughness import examples

CELLS = ("tp", "fp", "fn", "tn")
ANTI_CCP, RF = Cells(67, 5, 33, 95), Cells(69, 15, 31, 85)
count = st.one_of(st.just(0), st.just(1), st.integers(0, 40), st.integers(0, 10**6))
tables = st.builds(Cells, count, count, count, count).filter(
    lambda cells: cells.positives and cells.negatives
)
some = st.sampled_from([1, 3, 10, 1000, 10**6]) | st.integers(1, 10**6)
ratios = st.builds("{}:{}".format, some, some)


def tune(counts: Any, **options: Any) -> Result:
    return clfeval.tune_jpt(
        counts=four(counts) if isinstance(counts, Cells) else counts,
        **{"sweep": None, "interval": "none"} | options,
    )


def agree(row: Line, expected: dict[str, Value]) -> None:
    """Hold a row against exact values; a text says why there is no number."""
    for name, value in expected.items():
        cell = row[name]
        if isinstance(value, str):
            assert cell == Estimate(None, reason=value), name
        else:
            assert cell.reason is None, name
            # sums of cells of both signs, and IC at rare classes, lose digits beside 1
            assert cell.value == pytest.approx(float(value), rel=1e-9, abs=1e-10), name


@examples(150)
@given(cells=tables, odds=ratios, beta=st.sampled_from([1, 2, Fraction(1, 2)]))
def test_every_measure_in_every_population(cells: Cells, odds: str, beta: Fraction) -> None:
    """Zeros included: each undefined value has its reason, and infinity is not one of them."""
    assume(ratio_of(odds) != 1)
    result = tune(
        cells, prevalence=odds, measure=["cost:fp=2,fn=7,tp=1,tn=3", f"f_beta:beta={float(beta)}"]
    )
    ratio = {"sample": cells.ratio, "1:1": Fraction(1), "target": ratio_of(odds)}
    assert [row["population"] for row in rows_of(result, "models")] == list(ratio)
    for population, r in ratio.items():
        row, expected = row_of(result, "models", population=population), cells.tuned(r)
        agree(row, expected.values(beta) | expected.stakes(2, 7, 1, 3))
        assert row["prevalence"] == pytest.approx(float(r / (1 + r)), rel=1e-14)
        assert float(ratio_of(row["odds"])) == pytest.approx(float(r), rel=1e-9)


@examples(60)
@given(cells=tables, odds=ratios, rows=st.sampled_from([1, 50000, 0.5, 10**9]))
def test_cells_add_up(cells: Cells, odds: str, rows: float) -> None:
    """The sample to what was counted, other populations to 1000, and to any number wanted."""
    result = tune(cells, prevalence=odds, population=rows, measure="tar")
    sample = row_of(result, "models", population="sample")
    assert four_cells(sample) == four(cells)
    assert sample["rows"] == sum(four(cells))
    for population, r in (("1:1", Fraction(1)), ("target", ratio_of(odds))):
        row, exact = row_of(result, "models", population=population), cells.tuned(r, 1000)
        assert row["rows"] == 1000
        for name in CELLS:
            assert row[name] == pytest.approx(float(getattr(exact, name)), rel=1e-12, abs=0), name
    row, exact = (
        row_of(result, "expected", population="target"),
        cells.tuned(ratio_of(odds), Fraction(rows)),
    )
    assert (row["population"], row["rows"]) == ("target", rows)
    totals = {"positives": exact.positives, "negatives": exact.negatives}
    for name, value in totals.items():
        assert row[name] == pytest.approx(float(value), rel=1e-12, abs=0)
    for name, value in (
        *((name, getattr(exact, name)) for name in CELLS),
        ("flagged", exact.tp + exact.fp),
    ):
        assert row[name] == Estimate(pytest.approx(float(value), rel=1e-9, abs=0)), name


def test_a_clinic_of_fifty_thousand() -> None:
    """At 1:99, .01 x 50000 positives: .67 x 500 hits; 49500 negatives: .05 x 49500 false alarms."""
    result = tune(ANTI_CCP, prevalence="1:99", population=50_000, interval="exact")
    row, model = (
        row_of(result, "expected", population="target"),
        row_of(result, "models", population="target"),
    )
    cells = [value_of(row[name]) for name in CELLS]
    assert cells == pytest.approx([335, 2475, 165, 47025], rel=1e-14)
    assert value_of(row["flagged"]) == pytest.approx(335 + 2475)
    sens, spec = model["sensitivity"], model["specificity"]
    limits = {
        "tp": (500 * sens.low, 500 * sens.high),
        "fn": (500 * (1 - sens.high), 500 * (1 - sens.low)),
        "fp": (49500 * (1 - spec.high), 49500 * (1 - spec.low)),
        "tn": (49500 * spec.low, 49500 * spec.high),
    }
    for name, expected in limits.items():
        assert limits_of(row[name]) == pytest.approx(expected, rel=1e-12), name


@pytest.mark.parametrize("cells", [Cells(7, 0, 3, 12), Cells(0, 4, 9, 6), Cells(67, 5, 33, 95)])
@pytest.mark.parametrize("odds", ["1:1000000", "7:5", "1000000:1"])
def test_invariant_measures_are_the_same_everywhere(cells: Cells, odds: str) -> None:
    rows = rows_of(tune(cells, prevalence=odds, interval="exact", measure=INVARIANT), "models")
    assert len(rows) == 3
    for row in rows:
        for name in INVARIANT:
            parts = value_and_limits(rows[0][name])
            expected = [p if p is None else pytest.approx(p, rel=1e-9, abs=1e-12) for p in parts]
            assert [*value_and_limits(row[name])] == expected, name


@examples(40)
@given(tables=st.lists(tables, min_size=2, max_size=4), odds=ratios)
def test_models_of_other_class_totals_are_tuned_one_by_one(tables: list[Cells], odds: str) -> None:
    together = tune({f"m{i}": four(cells) for i, cells in enumerate(tables)}, prevalence=odds)
    for i, cells in enumerate(tables):
        alone = rows_of(tune({f"m{i}": four(cells)}, prevalence=odds), "models")
        assert rows_of(together, "models", model=f"m{i}") == alone
    are_equal = len({(cells.positives, cells.negatives) for cells in tables}) == 1
    assert together.summary["positives"] == (int(tables[0].positives) if are_equal else None)
    assert (together.summary["prevalence"] is None) == (not are_equal)
    assert "unpaired" in warning_codes(together)


@pytest.mark.parametrize("odds", ["1:1000000", "3:2", "1000000:1"])
@pytest.mark.parametrize(("tp", "fp"), [(0, 0), (0, 9), (64, 0), (64, 64), (50, 3), (1, 64)])
def test_rates_alone_are_counts_without_intervals(tp: int, fp: int, odds: str) -> None:
    """Sixty-fourths are exact floats."""
    by_counts = tune(Cells(tp, fp, 64 - tp, 64 - fp), prevalence=odds)
    by_rates = clfeval.tune_jpt(
        sensitivity=tp / 64, specificity=(64 - fp) / 64, prevalence=odds, sweep="1:9..9:1", points=3
    )
    assert not rows_of(by_rates, "models", population="sample")
    assert set(by_rates.summary.values()) == {None}
    assert len(rows_of(by_rates, "models")) == 2
    for row in rows_of(by_rates, "models"):
        assert row == row_of(by_counts, "models", population=row["population"])
    for row in rows_of(by_rates, "sweep"):
        assert row == without_limits(row)


@pytest.mark.parametrize(
    ("cells", "printed"),
    [
        # PPV odds, NPV odds, EPA at 1:1, 100:1, 1:100, TOR at the same, MCC, IC, J, DOR, DP
        (
            ANTI_CCP,
            "13.4 2.87879 8.13939 670.0144 144.0064 4.26316 2.0560 17.9493 .64583 .34202"
            " .62 38.57576 2.01380",
        ),
        (
            RF,
            "4.6 2.74194 3.67097 230.0137 137.1198 3.34783 2.2424 5.5970 .54705 .22995"
            " .54 12.6129 1.39746",
        ),
    ],
)
def test_the_table_of_the_paper(cells: Cells, printed: str) -> None:
    result = tune(cells, prevalence=["100:1", "1:100"])
    even = row_of(result, "models", population="1:1")
    common, rare = row_of(result, "models", odds="100:1"), row_of(result, "models", odds="1:100")
    places = [(even, "ppv_odds"), (even, "npv_odds")]
    places += [(row, name) for name in ("epa", "tor") for row in (even, common, rare)]
    places += [(even, name) for name in ("mcc", "ic", "j_index", "dor", "dp")]
    for (row, name), text in zip(places, printed.split(), strict=True):
        digits = len(text.partition(".")[2])
        assert f"{row[name].value:.{digits}f}" == f"{float(text):.{digits}f}", name


def test_swept_odds_are_even_in_the_logarithm() -> None:
    result = tune({"a": four(ANTI_CCP), "b": four(RF)}, sweep="1:1000000..1000000:1", points=13)
    for name, cells in (("a", ANTI_CCP), ("b", RF)):
        rows = rows_of(result, "sweep", model=name)
        assert [row["ratio"] for row in rows] == pytest.approx([10.0**k for k in range(-6, 7)])
        for k, row in zip(range(-6, 7), rows, strict=True):
            agree(row, cells.tuned(Fraction(10) ** k).values())
            assert row["prevalence"] == pytest.approx(10.0**k / (1 + 10.0**k), rel=1e-9)


def test_measures_asked_for_follow_the_others_in_the_order_of_the_table() -> None:
    """And an alias is as good as the id."""
    row = rows_of(tune(RF, measure=["kappa", "precision", "g_mean"]), "models")[0]
    columns = [key for key in row if isinstance(row[key], Estimate)]
    assert columns == [name for name in TUNABLE if name in (*MEASURES, "kappa", "g_mean")]
    everything = rows_of(tune(RF, measure="cost:fp=1,fn=2"), "models")[0]
    columns = [key for key in everything if isinstance(everything[key], Estimate)]
    assert columns == [*MEASURES, "expected_cost", "net_benefit"]
