"""All problems of a feature table come at once, in row order, as for predictions (DESIGN 4)."""

from __future__ import annotations

from collections import Counter

from tests.methods.features.door import refusal
from tests.tables.door import write


def test_gaps_of_all_kinds_of_columns_are_told_together() -> None:
    content = (
        "id,truth,bit,number,word\n1,1,1,0.5,a\n2,0,,1.5,b\n3,1,0,,a\n4,0,1,2.5,\n5,1,1,NaN,b\n"
    )
    error = refusal(write("t.csv", content))
    assert [(problem.row, problem.column) for problem in error.problems] == [
        (3, "bit"), (4, "number"), (5, "word"), (6, "number"),
    ]  # fmt: skip
    assert {problem.code for problem in error.problems} == {"missing-value"}


def test_a_missing_class_is_told_with_missing_values() -> None:
    error = refusal(write("t.csv", "truth,f\n1,1\n0,\n,1\n0,0\n"))
    assert [(p.row, p.column) for p in error.problems] == [(3, "f"), (4, "truth")]


def test_bad_numbers_are_told_with_missing_values() -> None:
    error = refusal(write("t.csv", "truth,f,g\n1,1.5,0.5\n0,x,2.5\n1,2.5,\n0,3.5,4\n"))
    assert [(p.row, p.column, p.code) for p in error.problems] == [
        (3, "f", "bad-number"), (4, "g", "missing-value"),
    ]  # fmt: skip


def test_a_bad_weight_is_told_with_the_rest() -> None:
    error = refusal(write("t.csv", "truth,f,n\n1,1.5,1\n0,x,1\n1,2.5,-1\n0,3.5,4\n"), weight="n")
    assert error.totals == Counter({"bad-number": 1, "bad-weight": 1})


def test_an_id_given_twice_is_told_with_wrong_cells() -> None:
    error = refusal(write("t.csv", "id,truth,f\n1,1,1\n2,0,\n2,0,1\n"))
    assert error.totals == Counter({"missing-value": 1, "duplicate-id": 1})


def test_all_that_is_wrong_with_entries_is_told_together() -> None:
    content = (
        "row,feature,value,truth\n1,a,2,1\n1,a,3,1\n2,b,,0\n,c,1,0\n"
        "3,,1,0\n1,d,1,0\n4,e,x,0\n4,f,1,\n"
    )
    error = refusal(write("t.csv", content))
    assert [(p.row, p.column, p.code) for p in error.problems] == [
        (3, "feature", "duplicate-row"), (4, "value", "missing-value"),
        (5, "row", "missing-value"), (6, "feature", "missing-value"),
        (7, "truth", "conflicting-truth"), (8, "value", "bad-number"),
        (9, "truth", "missing-value"),
    ]  # fmt: skip


def test_all_that_is_wrong_with_entries_without_bad_numbers() -> None:
    content = "row,feature,truth\n1,a,1\n1,a,1\n2,,0\n,c,0\n1,d,0\n4,f,\n"
    error = refusal(write("t.csv", content))
    assert [(p.row, p.column, p.code) for p in error.problems] == [
        (3, "feature", "duplicate-row"), (4, "feature", "missing-value"),
        (5, "row", "missing-value"), (6, "truth", "conflicting-truth"),
        (7, "truth", "missing-value"),
    ]  # fmt: skip
