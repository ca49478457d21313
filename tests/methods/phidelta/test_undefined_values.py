"""One class only, one answer only, all right, all wrong: what has no value, and why."""

from __future__ import annotations

import warnings
from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.measures.catalog import CATALOG
from tests.methods.phidelta.byhand import (
    UNBIASED,
    Cells,
    counts_frame,
    model_row,
    reasons,
    rows_by_model,
)
from tests.results import Line, limits_of, row_of, rows_of, value_of, warning_codes
from tests.texts import check_text

NO_POSITIVES = Cells(tp=0, fp=3, fn=0, tn=4)
NO_NEGATIVES = Cells(tp=3, fp=0, fn=4, tn=0)
NEVER = Cells(tp=0, fp=0, fn=4, tn=5)  # never says positive
ALWAYS = Cells(tp=4, fp=5, fn=0, tn=0)  # never says negative
PERFECT = Cells(tp=4, fp=0, fn=0, tn=5)
WRONG = Cells(tp=0, fp=5, fn=4, tn=0)


@pytest.fixture(autouse=True)
def _no_numerical_warning() -> Any:
    """Undefined values are told with a reason, not by a warning of numpy on standard error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


BOTH_NEEDED = {"phi", "delta", "phi_b", "delta_b", *UNBIASED} - {"mutual_information_u"}


@pytest.mark.parametrize(
    ("cells", "lacking", "there", "found"),
    [
        # F1 is 0 / (0 + 3 + 0): only TP = FP = FN = 0 leaves it undefined
        (NO_POSITIVES, "positive", "specificity", (4 / 7, 4 / 7, 0 / 3, 4 / 4, 3 / 7, 0)),
        (NO_NEGATIVES, "negative", "sensitivity", (3 / 7, 3 / 7, 3 / 3, 0 / 4, 4 / 7, 6 / 10)),
    ],
)
def test_without_one_class_what_counts_rows_is_there(
    cells: Cells, lacking: str, there: str, found: tuple[float, ...]
) -> None:
    row, reason = model_row(cells), f"no_{lacking}_truth"
    rate = {"specificity": "sensitivity", "sensitivity": "specificity"}[there]
    expected = dict.fromkeys({*BOTH_NEEDED, rate, f"region_{rate}"}, reason)
    undefined = reasons(row)
    assert undefined.pop("mutual_information_u") in ("single_class", reason)
    assert undefined.pop("mutual_information") == "single_class"
    assert undefined == {**expected, "mcc": "zero_margin"}
    names = (there, "accuracy", "precision", "npv", "error_rate", "f1")
    assert tuple(value_of(row[name]) for name in names) == found


def test_the_only_class_without_an_error() -> None:
    """No positive and none claimed: TP = FP = FN = 0."""
    row = model_row(Cells(0, 0, 0, 6))
    undefined = reasons(row)
    assert undefined["f1"] == "nothing_positive"
    assert undefined["precision"] == "no_positive_prediction"
    assert value_of(row["npv"]) == 1.0
    assert value_of(row["accuracy"]) == 1.0


def test_never_says_positive() -> None:
    """(phi, delta) = (-1, 0), the corner `always negative`; a precision would be 0 / 0."""
    row = model_row(NEVER)
    assert reasons(row) == {
        "precision": "no_positive_prediction",
        "precision_u": "no_positive_prediction",
        "mcc": "zero_margin",
        "mcc_u": "zero_margin",
    }
    assert (value_of(row["phi"]), value_of(row["delta"])) == (-1, 0)
    assert value_of(row["npv_u"]) == 0.5
    assert value_of(row["npv"]) == 5 / 9
    assert (value_of(row["f1"]), value_of(row["f1_u"])) == (0, 0)
    assert value_of(row["mutual_information"]) == value_of(row["mutual_information_u"]) == 0
    assert value_of(row["phi_b"]) == 2 * (0 - 4) / 9
    assert limits_of(row["phi"])[0] == -1


def test_never_says_negative() -> None:
    row = model_row(ALWAYS)
    assert reasons(row) == {
        "npv": "no_negative_prediction",
        "npv_u": "no_negative_prediction",
        "mcc": "zero_margin",
        "mcc_u": "zero_margin",
    }
    assert (value_of(row["phi"]), value_of(row["delta"])) == (1, 0)
    assert value_of(row["precision_u"]) == 0.5
    assert value_of(row["f1_u"]) == 2 / 3  # precision 1/2, recall 1
    assert value_of(row["mutual_information"]) == 0
    assert limits_of(row["phi"])[1] == 1


@pytest.mark.parametrize(
    ("cells", "delta", "best", "worst"),
    [(PERFECT, 1, 1, 0), (WRONG, -1, 0, 1)],
    ids=["right", "wrong"],
)
def test_perfect_and_perfectly_wrong_are_defined_throughout(
    cells: Cells, delta: float, best: float, worst: float
) -> None:
    row = model_row(cells)
    assert not reasons(row)
    assert (value_of(row["phi"]), value_of(row["delta"])) == (0, delta)
    assert value_of(row["mcc"]) == value_of(row["mcc_u"]) == delta
    for column in ("sensitivity", "precision", "npv", "f1", "accuracy", "accuracy_u", "f1_u"):
        assert value_of(row[column]) == best, column
    assert value_of(row["error_u"]) == value_of(row["error_rate"]) == worst
    # the answer tells the class in either case: all of one bit
    assert value_of(row["mutual_information_u"]) == pytest.approx(1, abs=1e-15)
    assert value_of(row["mutual_information_u"]) <= 1
    low, high = limits_of(row["delta"])
    assert (high if delta > 0 else low) == delta
    assert low < high  # nine rows prove no perfection


@pytest.mark.parametrize("cells", [NO_POSITIVES, NO_NEGATIVES, NEVER, ALWAYS, Cells(0, 0, 0, 6)])
def test_the_catalogue_announces_every_reason(cells: Cells) -> None:
    for column, reason in reasons(model_row(cells)).items():
        measure = CATALOG[column.removeprefix("region_")]
        assert reason in measure.undefined, f"{column}: {reason} is not in '{measure.undefined}'"


@pytest.mark.parametrize("cells", [NO_POSITIVES, NO_NEGATIVES, NEVER, ALWAYS])
def test_populations_know_the_same_reasons(cells: Cells) -> None:
    result = clfeval.phidelta(counts_frame({"m": cells}), prevalence=0.1)
    row, plain = rows_by_model(result, "populations")["m"], model_row(cells)
    undefined = reasons(row)
    for column, twin in (
        ("precision", "precision_u"),
        ("npv", "npv_u"),
        ("phi_b", "phi"),
        ("accuracy", "accuracy_u"),
    ):
        assert undefined.get(column) == reasons(plain).get(twin), column


def by_site(**options: Any) -> dict[tuple[Any, str], Line]:
    """Site A has both classes, site B positives only; the model is right on three rows of four."""
    frame = pl.DataFrame(
        {
            "truth": [1, 1, 0, 0, 1, 1],
            "m": [0.9, 0.2, 0.1, 0.3, 0.8, 0.4],
            "n": [0.6, 0.7, 0.2, 0.1, 0.3, 0.9],
            "site": list("AAAABB"),
        }
    )
    result = clfeval.phidelta(frame, by="site", curve=True, reference="m", **options)
    names = ("models", "comparisons", "curves")
    return {
        (row["slice"], f"{name} {row['model']}"): row
        for name in names
        for row in rows_of(result, name)
    }


def test_a_slice_with_one_class_has_reasons_and_the_others_their_values() -> None:
    rows = by_site()
    assert value_of(rows["site=A", "models m"]["delta"]) == 1 / 2 - 0 / 2
    undefined = reasons(rows["site=B", "models m"])
    assert {undefined[name] for name in ("specificity", "phi", "delta", "mcc_u")} == {
        "no_negative_truth"
    }
    assert value_of(rows["site=B", "models m"]["sensitivity"]) == 1 / 2
    assert rows["site=B", "models m"]["reading"] is None
    assert "no_negative_truth" in rows["site=B", "models m"]["reading_withheld"]
    assert not reasons(rows[None, "comparisons n"])
    assert ("site=B", "comparisons n") not in rows
    curve = rows["site=B", "curves m"]
    assert reasons(curve) == dict.fromkeys(["gini", "roc_auc"], "single_class")
    assert curve["best_threshold"] is curve["best_delta"] is curve["break_even_delta"] is None
    assert curve["points"] == 0


def test_a_whole_table_of_one_class_is_said() -> None:
    result = clfeval.phidelta(pl.DataFrame({"truth": [1, 1], "m": [1, 0]}))
    assert warning_codes(result) == ["single-class"]
    check_text(result.warnings[0].message)
    assert result.summary["prevalence"] is None
    assert result.summary["odds"] is None
    assert (result.summary["positives"], result.summary["negatives"]) == (2, 0)
    assert {"phi", "delta"} <= set(reasons(row_of(result, "models")))


def test_nothing_at_all_in_a_counts_table_is_no_table() -> None:
    """Predictions without a row are refused as empty; four zeros are the same."""
    with pytest.raises(clfeval.DataError, match=r"\[empty-table\]"):
        clfeval.phidelta(counts_frame({"m": Cells(0, 0, 0, 0)}))
