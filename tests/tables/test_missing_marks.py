"""Marks of missing values: all are named in one hint, whatever program wrote them."""

from __future__ import annotations

import shlex

import pytest

import clfeval
from tests.process.program import clfeval as program
from tests.process.program import json_document
from tests.results import row_of, value_of
from tests.tables.asking import refused
from tests.tables.door import write

MARKS = ["NA", "N/A", "NULL", "null", "#N/A", "None", "-", ".", "?", "<NA>", "n.a.", "#DIV/0!"]
ROWS = 40  # of which the first ones have a mark, and the last one an empty cell


def text_with_marks(marks: list[str], *, in_truth: bool, labels: bool = False) -> str:
    """Return a table of 0/1 or yes/no truth, half of them each, with marks in one column."""
    lines = ["truth,model"]
    for row in range(ROWS):
        truth = ("yes" if row % 2 else "no") if labels else str(row % 2)
        model = truth if labels else f"0.{row + 10}"
        mark = [*marks, *[None] * (ROWS - len(marks) - 1), ""][row]
        if mark is not None:
            truth, model = (mark, model) if in_truth else (truth, mark)
        lines.append(f"{truth},{model}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("labels", [False, True], ids=["scores", "labels"])
@pytest.mark.parametrize("in_truth", [False, True], ids=["model", "truth"])
@pytest.mark.parametrize("marks", [["NA"], ["NaN", "nan", "NA", "NULL", "#N/A"], MARKS], ids=len)
def test_one_proposal_drops_the_rows_of_all_marks(
    marks: list[str], in_truth: bool, labels: bool
) -> None:
    write("t.csv", text_with_marks(marks, in_truth=in_truth, labels=labels))
    _, proposed = refused("report", "t.csv", "--missing", "drop", kept=False)
    first = proposed.split(" | ")[0]
    run = program(*shlex.split(first), "--interval", "none", "-f", "json")
    assert run.code == 0, run.err
    (used,) = json_document(run)["inputs"]
    assert (used["rows"], used["dropped"]) == (ROWS - len(marks) - 1, len(marks) + 1)


def test_the_hint_names_all_marks_and_the_option_that_drops_their_rows() -> None:
    write("t.csv", text_with_marks(["NULL", "?", "x"], in_truth=False))
    error = program("report", "t.csv", "-q").err
    assert (
        "hint: if '?', 'NULL' mean missing, add --null-value '?' --null-value 'NULL' --missing drop"
    ) in error
    assert "'x' is not a number" in error
    assert "after fixing the rest, try: clfeval report t.csv -q --null-value '?'" in error


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        ("mild none severe", ["'none': missing values", "'none': classes"]),
        ("+ - weak", None),  # a sign of its own next to +
        ("mild NA severe", ["'mild' is positive", "'severe' is positive"]),
    ],
)
def test_words_that_may_be_classes_are_offered_as_both(
    classes: str, words: list[str] | None
) -> None:
    rows = "".join(f"{label},{classes.split()[0]}\n" * 2 for label in classes.split())
    write("t.csv", f"truth,model\n{rows}")
    run = program("report", "t.csv", "-q")
    if words is None:
        assert run.code == 0
        return
    assert "[missing-word]" in run.err
    meanings = [line.removeprefix("- ") for line in run.err.splitlines() if line[:2] == "- "]
    assert {meaning.partition(";")[0] for meaning in meanings} == {*words}


def test_nan_among_whole_numbers_leaves_them_classes() -> None:
    write("t.csv", "label,score\n" + "1,.9\n0,.2\nNaN,.3\n1,.4\n0,.6\n" * 3)
    assert (
        "column 'label': is this a class or a missing value: 'NaN' (3)?"
        in program("report", "t.csv", "-q").err
    )
    result = clfeval.report("t.csv", null_value="NaN", missing="drop", interval="none")
    assert value_of(row_of(result, "models")["roc_auc"]) == 0.75  # (.9, .4) against (.2, .6)
