"""Degenerate tables: every number and every reason of MARS where something is empty."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Estimate, Row
from tests.results import limits_of, row_of, rows_of, warning_codes

NOTHING_FOUND = Estimate(None, reason="nothing_found")
NO_OTHER_MODEL = Estimate(None, reason="no_other_model")
NO_PREDICTION = Estimate(None, reason="no_positive_prediction")
NO_TRUTH = Estimate(None, reason="no_positive_truth")


def mars(truth: str, *votes: str, **options: Any) -> Result:
    """Run on votes written as bit strings, one per model, named a, b, ..."""
    columns = dict(zip("abcdef", votes, strict=False))
    frame = {name: list(map(int, bits)) for name, bits in {"truth": truth, **columns}.items()}
    return clfeval.mars(pl.DataFrame(frame), interval="none", **options)


def values_or_reasons(row: Row, *names: str) -> tuple[Any, ...]:
    """Return cells, an estimate as its value, or as itself when undefined."""
    cells = (row[name] for name in names)
    return tuple(
        cell.value if isinstance(cell, Estimate) and cell.value is not None else cell
        for cell in cells
    )


MEASURES = ("accuracy", "precision", "recall", "shine_through", "occlusion")


def test_no_positives() -> None:
    result = mars("0000", "0100", "0000")
    assert (result.summary["positives"], result.summary["found"]) == (0, 0)
    a, b = result.tables["models"]
    assert values_or_reasons(a, "tp", "fp", "fn", "tn", "exclusive_tp", "exclusive_fn") == (
        0,
        1,
        0,
        3,
        0,
        0,
    )
    assert values_or_reasons(a, *MEASURES) == (3 / 4, 0 / 1, NO_TRUTH, NOTHING_FOUND, NOTHING_FOUND)
    assert values_or_reasons(b, *MEASURES) == (
        4 / 4,
        NO_PREDICTION,
        NO_TRUTH,
        NOTHING_FOUND,
        NOTHING_FOUND,
    )
    pair = row_of(result, "pairs")
    assert values_or_reasons(pair, "covered", "effort", "yield") == (0, 1, 0.0)
    # both models together: nothing found is the first thing wrong, not the lack of others
    assert values_or_reasons(pair, "shine_through", "occlusion") == (NOTHING_FOUND, NOTHING_FOUND)
    assert warning_codes(result) == ["no-target"]


def test_no_negatives_as_target() -> None:
    result = mars("11", "10", "01", target="negative")
    assert (result.summary["negatives"], result.summary["found"]) == (0, 0)
    for row in result.tables["models"]:
        assert values_or_reasons(row, "shine_through", "occlusion") == (
            NOTHING_FOUND,
            NOTHING_FOUND,
        )
        assert values_or_reasons(row, "recall") == (1 / 2,)
    assert warning_codes(result) == ["no-target"]


def test_nothing_found_by_anyone() -> None:
    result = mars("1100", "0010", "0000")
    assert (result.summary["found"], result.summary["missed_by_all"]) == (0, 2)
    a, b = result.tables["models"]
    assert values_or_reasons(a, *MEASURES) == (1 / 4, 0 / 1, 0 / 2, NOTHING_FOUND, NOTHING_FOUND)
    assert values_or_reasons(b, *MEASURES) == (
        2 / 4,
        NO_PREDICTION,
        0 / 2,
        NOTHING_FOUND,
        NOTHING_FOUND,
    )
    assert warning_codes(result) == ["nothing-detected"]
    subsets = mars("1100", "0010", "0000", subsets="all").tables["subsets"]
    assert [row["models"] for row in subsets] == [["b"], ["a"], ["a", "b"]]  # least effort first
    assert subsets[0]["yield"] == Estimate(None, reason="zero_margin")  # nothing claimed


@pytest.mark.parametrize("rule", ["all", "any"])
def test_one_model(rule: str) -> None:
    result = mars("1100", "1010", occlusion=rule)
    row = row_of(result, "models")
    assert values_or_reasons(row, "exclusive_tp", "exclusive_fn") == (1, 0)
    assert values_or_reasons(row, *MEASURES) == (2 / 4, 1 / 2, 1 / 2, 1.0, NO_OTHER_MODEL)
    assert result.tables["pairs"] == []
    assert warning_codes(result) == ["one-model"]


@pytest.mark.parametrize(
    ("truth", "vote", "expected"),
    [
        ("1", "1", (1 / 1, 1 / 1, 1 / 1, 1 / 1, NO_OTHER_MODEL)),
        ("1", "0", (0 / 1, NO_PREDICTION, 0 / 1, NOTHING_FOUND, NOTHING_FOUND)),
        ("0", "1", (0 / 1, 0 / 1, NO_TRUTH, NOTHING_FOUND, NOTHING_FOUND)),
        ("0", "0", (1 / 1, NO_PREDICTION, NO_TRUTH, NOTHING_FOUND, NOTHING_FOUND)),
    ],
)
def test_a_single_row_and_model(truth: str, vote: str, expected: tuple[Any, ...]) -> None:
    row = row_of(mars(truth, vote), "models")
    assert values_or_reasons(row, *MEASURES) == expected


def test_a_single_row_with_intervals() -> None:
    frame = pl.DataFrame({"truth": [1], "a": [1], "b": [0]})
    a, b = rows_of(clfeval.mars(frame, level=0.9), "models")
    # one of one: low solves p = .05; none of one: high solves 1 - p = .05
    assert limits_of(a["shine_through"]) == (pytest.approx(0.05), 1.0)
    assert limits_of(a["occlusion"]) == (0.0, pytest.approx(0.95))
    assert (b["shine_through"].value, b["occlusion"].value) == (0.0, 1.0)
    assert b["precision"] == NO_PREDICTION


@pytest.mark.parametrize("truth", ["1", "0"])
def test_labels_stay_labels_where_truth_has_one_class(truth: str) -> None:
    """0 belongs to 1 (known_labels says so), so a column of both holds labels, not scores.

    Read as scores the signature says cut:0.5, and a gate refuses the baseline of a fuller table.
    """
    result = mars(truth * 2, "10")
    assert result.tables["models"][0]["threshold"] is None
    assert result.signature.split("|")[4] == mars("10", "10").signature.split("|")[4] == "cut:none"


@pytest.mark.parametrize("frame", [{"truth": [], "a": []}, {"truth": [1], "a": [1], "n": [0]}])
def test_a_table_without_rows_is_an_error(frame: dict[str, list[int]]) -> None:
    table = pl.DataFrame(frame, schema=dict.fromkeys(frame, pl.Int64))
    with pytest.raises(clfeval.DataError, match=r"\[empty-table\]"):
        clfeval.mars(table, weight="n" if "n" in frame else None)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_a_threshold_that_is_no_number_is_refused(wrong: float) -> None:
    """It must not end in a traceback, nor in a document that JSON cannot hold."""
    frame = pl.DataFrame({"truth": [1, 0], "a": [0.7, 0.2]})
    with pytest.raises(clfeval.UsageError, match=f"^threshold {wrong} "):
        clfeval.mars(frame, threshold=wrong)


def test_infinite_scores_can_be_swept_and_saved() -> None:
    """Log-odds of 0 and 1: with a threshold given they are ordinary scores.

    Minus infinity is no threshold anybody can give; every number is above it, so the lowest cut
    listed is 2.
    """
    frame = pl.DataFrame({"truth": [1, 1, 0], "a": [float("-inf"), 2.0, float("inf")]})
    result = clfeval.mars(frame, threshold=0, sweep="threshold")
    assert [row["found"] for row in result.tables["sweep"]] == [1]
    assert Result.from_json(result.to_json()).summary == result.summary


@pytest.mark.parametrize("top", [0.00005, "0.00005", "0.005%"])
def test_a_small_top_fraction_may_be_a_number(top: float | str) -> None:
    """`str(0.00005)` is 5e-05: a fraction all the same."""
    frame = pl.DataFrame({"truth": [1, 0, 0], "a": [0.9, 0.4, 0.1], "n": [10, 100_000, 99_990]})
    row = row_of(clfeval.mars(frame, weight="n", top=top), "models")
    # 200 000 * .00005 = 10 rows
    assert (row["tp"], row["fp"], row["threshold"]) == (10, 0, 0.9)
