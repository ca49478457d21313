"""Rows that contradict each other: ids or answers given twice, differing truths, ids that lack."""

from __future__ import annotations

from typing import Any

import pytest

from clfeval.api.commands import mars
from tests.tables.door import mars_confusion, places, refusal, spots, told, write

LONG = "id,model,prediction,truth\n"
TWO_A = LONG + "1,A,1,1\n2,A,0,0\n"
COUNTS = "model,tp,fp,fn,tn\n"
SLICED = "id,model,prediction,truth,s\n1,A,1,1,2\n1,B,1,1,3\n2,A,0,0,1\n2,B,0,0,1\n"
ANSWERS = LONG + "1,A,y,y\n2,A,n,n\n1,B,m,y\n2,B,y,n\n"

IDS_TWICE = "id,truth,a\np1,1,1\np2,0,0\np1,1,0\np2,0,0\np1,0,0\n"
OTHER_IDS = TWO_A + "3,A,0,0\n1,B,0,1\n2,B,1,0\n4,B,1,1\n"
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "ids twice": (IDS_TWICE, {}, "4:id duplicate-id, 5:id duplicate-id, 6:id duplicate-id"),
    "NA as an id": ("id,truth,a\nNA,1,1\nNA,0,0\nx,1,1\n", {}, "3:id duplicate-id"),
    "another truth": (TWO_A + "1,B,0,0\n2,B,1,0\n", {}, "4:truth conflicting-truth"),
    "no truth": (TWO_A + "1,B,1,\n2,B,1,0\n", {}, "4:truth missing-value"),
    "two answers": (TWO_A + "1,B,0,1\n2,B,1,0\n1,A,1,1\n", {}, "6:model duplicate-row"),
    "other ids": (OTHER_IDS, {}, "4:model unequal-ids, 7:model unequal-ids"),
    "no model": (TWO_A + "1,B,1,1\n2,,1,0\n", {}, "3:model unequal-ids, 5:model missing-value"),
    "no answer": (TWO_A + "1,B,,1\n2,B,1,0\n", {}, "4:prediction missing-value"),
    "no label": (ANSWERS, {"positive": "y"}, "4:prediction unknown-label"),
    "no number": (LONG + "1,A,.9,1\n2,A,.2,0\n1,B,x,1\n2,B,.4,0\n", {}, "4:prediction bad-number"),
    "slices": (SLICED, {"by": "s"}, "3:s conflicting-value"),
    "weights": (SLICED, {"weight": "s"}, "3:s conflicting-value"),
    "no count": (COUNTS + "a,1,x,3,4\n", {}, "2:fp bad-count"),
    "a missing count": (COUNTS + "a,1,,3,4\n", {}, "2:fp missing-value"),
    "counts twice": (COUNTS + "a,1,2,3,4\na,1,2,3,4\n", {}, "3:model duplicate-row"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_rows_that_contradict_each_other_are_refused(case: str) -> None:
    content, options, expected = REFUSED[case]
    assert told(content, **options) == expected


@pytest.mark.parametrize("cell", ["-2", "1.5", "²"])
def test_counts_must_be_counts(cell: str) -> None:
    assert places(f"{COUNTS}a,1,{cell},3,4\n") == "2:fp bad-count"


FILES = {
    "id": ("id,truth,m\n1,1,1\n2,0,0\n", "id,truth,m\n3,1,1\n2,0,0\n", "b.csv:3:id duplicate-id"),
    "truth": (TWO_A, LONG + "1,B,1,1\n2,B,0,1\n", "b.csv:3:truth conflicting-truth"),
    "rows": (
        TWO_A,
        LONG + "1,B,1,1\n3,B,0,0\n",
        "a.csv:3:model unequal-ids, b.csv:3:model unequal-ids",
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_contradictions_between_files_name_the_file(case: str) -> None:
    first, second, expected = FILES[case]
    assert spots(refusal([write("a.csv", first), write("b.csv", second)])) == expected


def test_a_row_that_lacks_its_id() -> None:
    error = refusal(write("t.csv", TWO_A + "1,B,1,1\n,B,1,0\n"))
    assert "5:id missing-value" in spots(error)
    assert "'None'" not in str(error)


IDS_THAT_MEAN_MISSING = "id,truth,a\nNA,1,1\nNA,0,0\nx,1,1\n"
BLANK_LINES = LONG + "1,A,1,1\n\n2,A,0,0\n1,B,0,1\n2,B,1,0\n\n"
WIDE = "\ntruth,a\ny,y\n\nn,y\n\n\ny,n\n\n"
ACCEPTED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "blank lines of a wide table": (WIDE, {"positive": "y"}, {"a": (1, 1, 1, 0)}),
    "ids are text": ("id,truth,a\n1,1,1\n01,0,0\n1.0,1,1\n", {}, {"a": (2, 0, 0, 1)}),
    "ids that mean missing": (IDS_THAT_MEAN_MISSING, {"null_value": ("NA",)}, {"a": (2, 0, 0, 1)}),
    "rows without an id": ("truth,a\n1,1\n1,1\n", {}, {"a": (2, 0, 0, 0)}),
    "a missing answer dropped": (
        TWO_A + "1,B,,1\n2,B,1,0\n",
        {"missing": "drop"},
        {"A": (0, 0, 0, 1), "B": (0, 1, 0, 0)},
    ),
    "blank lines": (BLANK_LINES, {}, {"A": (1, 0, 0, 1), "B": (0, 1, 1, 0)}),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_rows_that_are_counted(case: str) -> None:
    content, options, expected = ACCEPTED[case]
    assert mars_confusion(write("t.csv", content), **options) == expected


def test_a_slice_column_called_none_is_no_run() -> None:
    found = mars(write("t.csv", "truth,m,None\n1,1,a\n0,0,\n1,1,a\n"), model="m", by="None")
    slices = [row["slice"] for row in found.tables["models"]]
    assert slices == [None, "None=(missing)", "None=a"]


def test_each_file_may_hold_one_model() -> None:
    write("a.csv", TWO_A)
    write("b.csv", LONG + "2,B,1,0\n1,B,1,1\n")
    assert mars_confusion(["a.csv", "b.csv"]) == {"A": (1, 0, 0, 1), "B": (1, 1, 0, 0)}
