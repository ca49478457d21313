"""Digits of tuned tables: nothing is shown as 0 or 1 that is not, and large odds can be read."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clfeval.document.cells import Estimate, Row
from clfeval.formatting import format_close, format_number
from clfeval.pages.table_parts import column_title, format_cell, format_exact, format_interval
from clfeval.views.documents import csv_lines
from clfeval.views.table_layout import sort_tables, undefined_reasons
from tests.texts import check_text
from tests.views.tuned import tuned


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.0131926, 3, "0.013"),  # PPV where 1 in 1000 is positive
        (0.0013384, 3, "0.0013"),
        (0.9996528, 3, "0.99965"),  # NPV there
        (0.9996528, 2, "0.9997"),
        (0.95, 2, "0.95"),
        (0.5, 1, "0.5"),
        (0.04, 0, "0"),
        (0.0, 3, "0.000"),
        (1.0, 3, "1.000"),
        (1 - 2e-16, 3, "1.000"),  # the rounding of a computer
        (-1 + 2e-16, 3, "-1.000"),
        (1e-12, 3, "<0.000000001"),
        (-0.00033, 3, "-0.00033"),
        (-1e-12, 3, ">-0.000000001"),
        (13.4, 3, "13.400"),
        (670.0144, 3, "670.01"),
        (670.0144, 5, "670.0144"),
        (13400.123, 3, "13,400"),
        (13400.123, 6, "13,400.123"),
        (-2878787.879, 3, "-2,878,788"),
        (1.34e15, 3, "1.340e+15"),
    ],
)
def test_a_measure_keeps_the_digits_that_tell(value: float, digits: int, text: str) -> None:
    assert format_close(value, digits) == text


@given(st.floats(-1e9, 1e9).filter(lambda x: abs(x) > 1e-8 and abs(abs(x) - 1) > 1e-8))
def test_what_is_shown_is_the_number_rounded(value: float) -> None:
    text = format_close(value, 3)
    places = len(text.partition(".")[2])
    shown = float(text.replace(",", ""))
    assert abs(shown - value) <= 0.5 * 10.0**-places * (1 + 1e-6)
    assert abs(shown - value) <= 0.05 * abs(value)  # two digits
    assert abs(shown - value) <= 0.05 * abs(1 - abs(value))


@pytest.mark.parametrize(
    ("value", "text"),
    [(-0.0004, ">-0.001"), (-0.9999, "<-0.999"), (-0.0, "0.000"), (-1.0, "-1.000")],
)
def test_negative_numbers_are_as_careful_as_positive_ones(value: float, text: str) -> None:
    assert format_number(value, 3) == text


def test_a_threshold_or_prevalence_next_to_1_is_not_1() -> None:
    assert format_exact(0.99997) == "0.999970"
    assert format_exact(1e6 / (1e6 + 1)) == "0.99999900"
    assert format_exact(1.0) == "1"
    assert format_exact(0.0099009901) == "0.009901"


def test_infinite_values_and_ends() -> None:
    assert format_cell(Estimate(None, reason="minus_infinite")) == "-∞"
    assert format_cell(Estimate(None, 12.3, None, "infinite")) == "∞"
    assert format_interval(Estimate(None, 12.3, None, "infinite"), 1) == "[12.3, ∞]"
    assert format_interval(Estimate(4.0, 1.5, None), 1) == "[1.5, ∞]"
    assert format_interval(Estimate(None, None, 0.25, "minus_infinite"), 2) == "[-∞, 0.25]"
    assert format_interval(Estimate(None, None, None, "infinite")) == ""
    assert format_interval(Estimate(None, None, None, "zero_margin")) == ""


def test_dashes_are_explained_once_for_each_reason() -> None:
    # the first never says positive: no PPV, PPV odds, EPA; its table has an empty margin
    result = tuned({"silent": (0, 0, 5, 5), "loud": (5, 5, 0, 0)}, targets=("1:9",))
    said = undefined_reasons(result, sort_tables(result, ("all",)).opened)
    assert len(said) == len(set(said)) <= 4
    check_text(said)


def test_one_or_two_undefined_measures_have_a_line_each() -> None:
    result = tuned({"silent": (0, 0, 5, 5)}, scores=False, uncertain=False, sweep=None)
    nothing = Estimate(None, reason="zero_margin")
    rows = [
        {name: Estimate(0.5) if isinstance(cell, Estimate) else cell for name, cell in row.items()}
        | {"mcc": nothing, "ppv": row["ppv"]}
        for row in result.tables["models"]
    ]
    said = undefined_reasons(
        replace(result, tables={"models": rows}), sort_tables(result, ("moving",)).opened
    )
    assert len(said) == 2
    check_text(said)


def test_an_infinite_value_is_no_undefined_one() -> None:
    result = tuned({"perfect": (5, 0, 0, 5)}, sweep=None)
    assert undefined_reasons(result, sort_tables(result, ("all",)).opened) == []


def test_f_is_named_by_the_weight_of_recall() -> None:
    assert column_title("f_beta", 1.0) == "F1"
    assert column_title("f_beta", 0.5) == "F0.5"
    assert column_title("f_odds", 2.0) == "F2 odds"
    assert column_title("f_beta") == "F"


@pytest.mark.parametrize(
    "name", ["crossovers", "winners", "thresholds", "cutoffs", "ranges", "simulated"]
)
def test_a_table_without_rows_has_the_columns_of_one_with_rows(name: str) -> None:
    result = tuned()
    full = next(iter(csv_lines(result, name)))
    empty = list(csv_lines(replace(result, tables={name: []}), name))
    assert empty == [full]


@pytest.mark.parametrize(
    "name",
    ["models", "sweep", "crossovers", "winners", "thresholds", "cutoffs", "ranges", "simulated"],
)
def test_csv_has_a_line_for_every_row_and_every_digit(name: str) -> None:
    result = tuned()
    head, *lines = csv_lines(result, name)
    assert len(lines) == len(result.tables[name])
    assert not re.search(r"Estimate|None|nan|inf", "".join(lines).replace("infinite", ""))
    for column, cell in first_numbers(result.tables[name][0]).items():
        at = head.rstrip("\n").split(",").index(column)
        # a verdict in quotes holds a comma, but stands last
        assert float(lines[0].split(",")[at]) == cell


def first_numbers(row: Row) -> dict[str, float]:
    found = {}
    for column, cell in row.items():
        value = cell.value if isinstance(cell, Estimate) else cell
        if isinstance(value, float) and math.isfinite(value):
            found[column] = value
    return found
