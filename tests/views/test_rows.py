"""Rounding and wording of cells, the only place where numbers lose digits."""

from __future__ import annotations

import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Cell, Estimate, as_row
from clfeval.formatting import format_number
from clfeval.pages.schema import Column, TableView
from clfeval.pages.table_parts import column_heading, format_cell, format_exact, format_interval
from clfeval.views.table_layout import layout_table
from tests.methods.phidelta.byhand import Cells, counts_frame
from tests.texts import check_text, numbers_in
from tests.views.page import named_sections, section_of
from tests.views.ranked import ranked


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (1 / 3, 3, "0.333"),
        (1.0, 3, "1.000"),
        (0.9999, 3, ">0.999"),
        (0.0001, 3, "<0.001"),
        (0.0, 3, "0.000"),
        (0.9999, 4, "0.9999"),
        (0.4, 0, "0"),
        (12.3456, 2, "12.35"),
    ],
)
def test_what_is_not_quite_one_or_zero_is_not_shown_so(
    value: float, digits: int, text: str
) -> None:
    assert format_number(value, digits) == text


def test_cells() -> None:
    assert format_cell(None) == "–"
    assert format_cell(True) == "yes"
    assert format_cell(7) == "7"
    assert format_cell("[red]x[/red]") == "[red]x[/red]"
    assert format_cell(["a", "b"]) == "a + b"
    assert format_cell(Estimate(0.5, 0.1, 0.9), 2) == "0.50"
    assert format_cell(Estimate(None, reason="nothing_found")) == "–"
    assert format_cell(Estimate(None, reason="infinite")) == "∞"
    assert format_exact(0.123456) == "0.1235"
    assert format_exact(200) == "200"


def test_intervals() -> None:
    assert format_interval(Estimate(0.5, 0.118117, 0.881883)) == "[0.118, 0.882]"
    assert format_interval(Estimate(0.5)) == ""
    assert format_interval(3) == ""


def test_headings_point_towards_better() -> None:
    assert column_heading("shine_through") == "ShineThrough ↑"
    assert column_heading("occlusion") == "Occlusion ↓"
    assert column_heading(Column("tp", "weight", "TP")) == "TP"
    assert column_heading("some_column") == "some column"


def test_a_section_puts_the_interval_beside_its_value() -> None:
    rows = [
        {"model": "a", "recall": Estimate(0.5, 0.1, 0.9)},
        {"model": "b", "recall": Estimate(None)},
    ]
    result = Result("mars", "", (), {"level": 0.9}, {}, {})
    part = layout_table(
        TableView("models", "t", "model recall", rows, rest_hint="", total=5), result
    )
    assert [column.heading[-1:] for column in part.columns][1] == "↑"
    assert part.rows == (("a", "0.500", "[0.100, 0.900]"), ("b", "–", ""))
    assert tuple(column.numeric for column in part.columns) == (False, True, True)
    assert {3} <= {*numbers_in(part.note)}


def test_a_view_that_names_no_columns_shows_all_and_none_that_may_be_absent_and_is() -> None:
    row: dict[str, Cell] = {"model": "a", "list": "found", "file": "t.csv", "id": None, "row": 3}
    result = Result("mars", "", (), {}, {}, {})
    part = layout_table(TableView("exclusive", "t", rows=[as_row(row)]), result)
    assert part.headings == ("model", "list", "file", "row")
    assert part.rows == (("a", "found", "t.csv", "3"),)
    both = layout_table(
        TableView("exclusive", "t", rows=[as_row(row), as_row({**row, "id": "x"})]), result
    )
    assert both.headings == ("model", "list", "file", "id", "row")


def test_a_table_without_intervals_needs_no_level() -> None:
    result = Result("other", "", (), {}, {}, {"models": [{"model": "a", "hits": 2}]})
    assert layout_table(TableView("models", "t", "model hits"), result).rows == (("a", "2"),)


def test_long_tables_of_metrics_say_what_they_leave_out() -> None:
    metrics = [f"metric {i}" for i in range(63)]
    values = {"rf": [0.9] * 63, "svm": [0.8] * 62 + [0.95], "lda": [0.7] * 63}
    goals = dict.fromkeys(metrics, (0.5, 1.0))
    parts = [
        *named_sections(ranked(values, metrics, goals=goals)),
        *named_sections(ranked(values, metrics, compare=values)),
    ]
    # of 63 metrics 60 are shown; MLcps, order-free and mean agree or not besides them
    for name, left in (("goals", 3), ("agreement", 6)):
        (part,) = (part for found, part in parts if found == name)
        assert (len(part.rows), numbers_in(part.note)[0]) == (60, left)
        assert "result.frame('" in part.note


def test_long_tables_of_the_diamond_say_what_they_leave_out() -> None:
    result = clfeval.phidelta(counts_frame({f"m{i}": Cells(8, 3, 2, 7) for i in range(64)}))
    for name in ("readings", "rates", "regions"):
        part = section_of(result, name)
        assert (len(part.rows), numbers_in(part.note)[0]) == (60, 4)
        check_text(part.note)
