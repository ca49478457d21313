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
from tests.methods.phidelta.byhand import EVERY, Cells, counts_frame, model_rows, rows_by_model
from tests.reference import Row
from tests.results import Line, value_and_limits
from tests.strategies import frame_of, tables
from tests.thoroughness import examples

ALL = {str(cells): cells for cells in (Cells(*c) for c in product(range(4), repeat=4))}
BOTH = {name: cells for name, cells in ALL.items() if cells.positives and cells.negatives}
rows_of_both = tables(models=(1, 4), rows=(2, 14)).filter(lambda t: len({r.truth for r in t}) == 2)


def agree(cell: Estimate, expected: Estimate) -> bool:
    """Tell whether two estimates agree to rounding, limits and reasons included."""
    pairs = zip(value_and_limits(cell), value_and_limits(expected), strict=True)
    return cell.reason == expected.reason and all(
        (a is None and b is None) or a == pytest.approx(b, abs=1e-9) for a, b in pairs
    )


def mirrored(cell: Estimate) -> Estimate:
    """Return the negative of an estimate."""
    if cell.value is None or cell.low is None or cell.high is None:
        return cell if cell.value is None else Estimate(-cell.value)
    return Estimate(-cell.value, -cell.high, -cell.low)


@pytest.fixture(scope="module")
def small_tables() -> dict[str, Line]:
    """Return all small tables with both classes, with intervals."""
    return model_rows(counts_frame(BOTH))


def test_exchanging_the_classes_mirrors_phi_and_keeps_delta(small_tables: dict[str, Line]) -> None:
    exchanged = model_rows(counts_frame({name: cells.exchanged() for name, cells in BOTH.items()}))
    for name, row in small_tables.items():
        assert agree(exchanged[name]["phi"], mirrored(row["phi"]))
        for column in ("delta", "accuracy_u", "mcc_u", "mutual_information_u", "mcc"):
            assert agree(exchanged[name][column], row[column]), (name, column)
        assert agree(exchanged[name]["phi_b"], mirrored(row["phi_b"]))
        assert agree(exchanged[name]["sensitivity"], row["specificity"])
        if row["npv_u"].value is not None:
            assert agree(exchanged[name]["precision_u"], row["npv_u"])


def test_at_prevalence_one_half_the_prior_aware_pair_is_phi_and_delta() -> None:
    for options in ({"prevalence": 0.5}, {"prevalence": "1:1"}, {"prevalence": "7:7"}):
        result = clfeval.phidelta(counts_frame(BOTH), **options)  # type: ignore[arg-type]
        plain, even = rows_by_model(result), rows_by_model(result, "populations")
        for name, row in plain.items():
            assert agree(even[name]["phi_b"], row["phi"])
            assert agree(even[name]["delta_b"], row["delta"])
            for column in ("accuracy", "precision", "npv", "mutual_information"):
                assert agree(even[name][column], row[f"{column}_u"]), (name, column)


@examples(10)
@given(rows_of_both, st.randoms(use_true_random=False))
def test_order_of_rows_and_of_models_is_irrelevant(table: list[Row], chance: random.Random) -> None:
    frame = frame_of(table)
    shuffled = list(table)
    chance.shuffle(shuffled)
    columns = frame.columns
    chance.shuffle(columns)
    result = clfeval.phidelta(frame, weight="n")
    again = clfeval.phidelta(frame_of(shuffled).select(columns), weight="n")
    assert rows_by_model(result) == rows_by_model(again)
    assert result.signature == again.signature


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
    intervals = 0
    for table in ("models", "populations"):
        for row in result.tables[table]:
            for column, cell in row.items():
                if not isinstance(cell, Estimate) or cell.value is None:
                    continue
                measure = CATALOG[column.removeprefix("region_")]
                assert measure.low <= cell.value <= measure.high, (row["model"], column)
                if cell.low is not None and cell.high is not None:
                    intervals += 1
                    assert measure.low <= cell.low <= cell.value <= cell.high <= measure.high, (
                        row["model"],
                        column,
                        cell,
                    )
    assert intervals > 225 * (len(EVERY) - 4)


@examples(10)
@given(rows_of_both)
def test_counts_and_predictions_say_the_same(table: list[Row]) -> None:
    frame = frame_of(table)
    predictions = clfeval.phidelta(frame, weight="n").to_dict()
    cells = {name: Cells(*ref.confusion(table, j)) for j, name in enumerate(frame.columns[1:-1])}
    counts = clfeval.phidelta(counts_frame(cells)).to_dict()
    assert counts["tables"]["models"] == predictions["tables"]["models"]
    assert counts["summary"] == predictions["summary"]
