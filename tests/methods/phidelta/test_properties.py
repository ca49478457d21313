"""What must hold for any predictions: the diamond, its symmetries, and what changes nothing."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clfeval
from clfeval.document.cells import Estimate
from clfeval.measures.catalog import CATALOG
from tests import reference as ref
from tests.methods.phidelta.byhand import EVERY, Cells, Line, counts_frame, models, whole
from tests.reference import Row
from tests.strategies import frame_of, tables
from tests.thoroughness import examples

ALL = {str(cells): cells for cells in (Cells(*c) for c in product(range(4), repeat=4))}
BOTH = {name: cells for name, cells in ALL.items() if cells.positives and cells.negatives}
rows_of_both = tables(models=(1, 4), rows=(2, 14)).filter(lambda t: len({r.truth for r in t}) == 2)


def same(one: Any, other: Any) -> bool:
    """Tell whether two estimates agree to rounding, ends and reasons included."""
    pairs = zip((one.value, one.low, one.high), (other.value, other.low, other.high), strict=True)
    return one.reason == other.reason and all(
        (a is None and b is None) or a == pytest.approx(b, abs=1e-9) for a, b in pairs
    )


def mirrored(cell: Estimate) -> Estimate:
    """Return the negative of an estimate."""
    if cell.value is None or cell.low is None or cell.high is None:
        return cell if cell.value is None else Estimate(-cell.value)
    return Estimate(-cell.value, -cell.high, -cell.low)


@pytest.fixture(scope="module")
def rows() -> dict[str, Line]:
    """Return all small tables with both classes, with intervals."""
    return models(counts_frame(BOTH))


def test_exchanging_the_classes_mirrors_phi_and_keeps_delta(rows: dict[str, Line]) -> None:
    other = models(counts_frame({name: cells.exchanged() for name, cells in BOTH.items()}))
    for name, row in rows.items():
        assert same(other[name]["phi"], mirrored(row["phi"]))
        for column in ("delta", "accuracy_u", "mcc_u", "mutual_information_u", "mcc"):
            assert same(other[name][column], row[column]), (name, column)
        assert same(other[name]["phi_b"], mirrored(row["phi_b"]))
        assert same(other[name]["sensitivity"], row["specificity"])
        if row["npv_u"].value is not None:
            assert same(other[name]["precision_u"], row["npv_u"])


def test_at_prevalence_one_half_the_prior_aware_pair_is_phi_and_delta() -> None:
    for options in ({"prevalence": 0.5}, {"prevalence": "1:1"}, {"prevalence": "7:7"}):
        result = clfeval.phidelta(counts_frame(BOTH), **options)  # type: ignore[arg-type]
        plain, even = whole(result), whole(result, "populations")
        for name, row in plain.items():
            assert same(even[name]["phi_b"], row["phi"])
            assert same(even[name]["delta_b"], row["delta"])
            for column in ("accuracy", "precision", "npv", "mutual_information"):
                assert same(even[name][column], row[f"{column}_u"]), (name, column)


@examples(10)
@given(rows_of_both, st.randoms(use_true_random=False))
def test_order_of_rows_and_of_models_is_irrelevant(table: list[Row], chance: random.Random) -> None:
    frame = frame_of(table)
    moved = list(table)
    chance.shuffle(moved)
    columns = frame.columns
    chance.shuffle(columns)
    one = clfeval.phidelta(frame, weight="n")
    other = clfeval.phidelta(frame_of(moved).select(columns), weight="n")
    assert whole(one) == whole(other)
    assert one.signature == other.signature


@examples(10)
@given(tables(models=(1, 3), rows=(1, 10)))
def test_a_weight_is_so_many_rows(table: list[Row]) -> None:
    """Values, intervals, readings, comparisons: all equal to those of the repeated rows."""
    options: dict[str, Any] = {"prevalence": 0.1}
    if len(table[0].votes) > 1:
        options["reference"] = "m1"
    weighed = clfeval.phidelta(frame_of(table), weight="n", **options)
    repeated = clfeval.phidelta(frame_of(ref.repeated(table), weight=False), **options)
    assert weighed.tables == repeated.tables
    assert weighed.summary == repeated.summary


def test_every_interval_holds_its_value_and_stays_in_the_measure_s_range() -> None:
    """All tables of up to 3 in a cell, those without a class included, at several prevalences."""
    every = counts_frame(ALL)
    result = clfeval.phidelta(every, prevalence=[0.5, 0.001, 1 / 3, 0.7, 0.999])
    seen = 0
    for table in ("models", "populations"):
        for row in result.tables[table]:
            for column, cell in row.items():
                if not isinstance(cell, Estimate) or cell.value is None:
                    continue
                measure = CATALOG[column.removeprefix("region_")]
                assert measure.low <= cell.value <= measure.high, (row["model"], column)
                if cell.low is not None and cell.high is not None:
                    seen += 1
                    assert measure.low <= cell.low <= cell.value <= cell.high <= measure.high, (
                        row["model"],
                        column,
                        cell,
                    )
    assert seen > 225 * (len(EVERY) - 4)


@examples(10)
@given(rows_of_both)
def test_counts_and_predictions_say_the_same(table: list[Row]) -> None:
    frame = frame_of(table)
    predictions = clfeval.phidelta(frame, weight="n").to_dict()
    cells = {name: Cells(*ref.confusion(table, j)) for j, name in enumerate(frame.columns[1:-1])}
    counts = clfeval.phidelta(counts_frame(cells)).to_dict()
    assert counts["tables"]["models"] == predictions["tables"]["models"]
    assert counts["summary"] == predictions["summary"]
