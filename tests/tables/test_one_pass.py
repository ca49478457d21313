"""All problems of a table come at once: in row order, the first five shown, the totals right."""

from __future__ import annotations

from collections import Counter

import pytest

from clfeval.errors import KEPT, SHOWN
from tests.tables.door import data_message, refusal, write

FILL = "hint: fill the cells, or add --missing drop to leave such rows out"


def test_four_kinds_of_wrong_cells_are_told_together_in_row_order() -> None:
    body = "1,0.9,y,1\n0,0.2,n,1\n" * 3000  # long enough that the guess of kinds is settled
    content = (
        f"truth,scored,labelled,w\n{body}".replace("\n1,", "\ny,").replace("\n0,", "\nn,")
        + "y,0.9,maybe,1\n"  # row 6002
        + "y,x,,1\n"
        + "n,NaN,n,-1\n"
        + ",0.1,n,1\n"
        + "y,0.3,perhaps,1\n"
        + "n,z,n,two\n"
    )
    error = refusal(write("t.csv", content), positive="y", weight="w", model="*ed")
    assert error.lines(verbose=True) == [
        "t.csv:6002: column 'labelled': 'maybe' is not among truth's labels 'n', 'y' "
        "[unknown-label]",
        "t.csv:6003: column 'scored': 'x' is not a number [bad-number]",
        "t.csv:6003: column 'labelled': missing [missing-value]",
        "t.csv:6004: column 'scored': missing [missing-value]",
        "t.csv:6004: column 'w': '-1' is not a weight (a finite number, not negative) [bad-weight]",
        "t.csv:6005: column 'truth': missing [missing-value]",
        "t.csv:6006: column 'labelled': 'perhaps' is not among truth's labels 'n', 'y' "
        "[unknown-label]",
        "t.csv:6007: column 'scored': 'z' is not a number [bad-number]",
        "t.csv:6007: column 'w': 'two' is not a weight (a finite number, not negative) "
        "[bad-weight]",
        error.lines()[-1],
    ]
    assert error.lines()[:-1] == [
        *error.lines(verbose=True)[:SHOWN],
        "  ... 1 more [bad-number], 1 more [bad-weight], 1 more [missing-value], "
        "1 more [unknown-label]; --verbose lists them",
    ]
    assert error.lines()[-1].startswith("hint: ")
    assert error.totals == Counter(
        {"unknown-label": 2, "bad-number": 2, "missing-value": 3, "bad-weight": 2}
    )


def test_an_id_given_twice_is_told_with_the_wrong_cells() -> None:
    content = "id,truth,a,w\n1,1,0.9,1\n2,0,0.2,1\n2,0,x,1\n4,,0.1,-1\n"
    error = refusal(write("t.csv", content), kind="score", weight="w")
    assert error.totals == Counter(
        {"duplicate-id": 1, "bad-number": 1, "missing-value": 1, "bad-weight": 1}
    )
    assert [problem.row for problem in error.problems] == [4, 4, 5, 5]


def test_four_kinds_of_contradictions_of_a_long_table_are_told_together() -> None:
    content = (
        "id,model,prediction,truth\n"
        "1,A,1,1\n2,A,0,0\n3,A,0,0\n"
        "1,B,,1\n2,B,1,1\n1,A,1,1\n"
    )  # fmt: skip
    assert data_message(content) == (
        "t.csv:4: column 'model': id '3' has no row of model 'B' [unequal-ids]\n"
        "t.csv:5: column 'prediction': missing [missing-value]\n"
        "t.csv:6: column 'truth': '1' where an earlier row of this id has '0' "
        "[conflicting-truth]\n"
        "t.csv:7: column 'model': 'A' answered this id in t.csv:2 already [duplicate-row]\n"
        "hint: each id needs one line per model"
    )


def test_problems_of_several_files_are_told_together() -> None:
    write("a.csv", "truth,m\ny,y\nn,q\n")
    write("b.csv", "truth,m\ny,r\n,n\nn,n\n")
    error = refusal(["a.csv", "b.csv"], positive="y")
    assert error.lines()[:-1] == [
        "a.csv:3: column 'm': 'q' is not among truth's labels 'n', 'y' [unknown-label]",
        "b.csv:2: column 'm': 'r' is not among truth's labels 'n', 'y' [unknown-label]",
        "b.csv:3: column 'truth': missing [missing-value]",
    ]


def test_structure_is_told_together_too() -> None:
    content = b"truth,a,note\n1,1\n0,0,x,y\n1,1,caf\xe9\n0,0,n\0\n1,1,fine\n"
    assert data_message(content) == (
        "t.csv:2: column 'note': 2 fields where the header has 3 [short-row]\n"
        "t.csv:3: 4 fields where the header has 3 [long-row]\n"
        "t.csv:4: column 'note': not UTF-8 (as Latin-1 it reads 'café') [not-utf8]\n"
        "t.csv:5: column 'note': holds a NUL byte [nul-byte]\n"
        "hint: every row needs as many fields as the header; quote fields that hold a delimiter"
    )


def test_beyond_five_only_totals_are_shown() -> None:
    content = "truth,a\n" + "y,y\nn,n\n" * 10 + "y,z\n" * 20 + "n,\n" * 3
    assert data_message(content, positive="y").splitlines() == [
        *(
            f"t.csv:{row}: column 'a': 'z' is not among truth's labels 'n', 'y' [unknown-label]"
            for row in range(22, 27)
        ),
        "  ... 3 more [missing-value], 15 more [unknown-label]; --verbose lists them",
        "hint: a class truth happens to lack is declared with --classes 'z'; "
        "a column that is no model is left out by naming the others with --model",
    ]


@pytest.mark.parametrize("models", [1, 3])
def test_totals_are_right_beyond_what_is_carried_along(models: int) -> None:
    names = [f"m{i}" for i in range(models)]
    bad = KEPT + 500
    content = f"truth,{','.join(names)}\n" + f"y{',y' * models}\nn{',' * models}\n" * bad
    error = refusal(write("t.csv", content), positive="y")
    assert error.totals == Counter({"missing-value": bad * models})
    assert len(error.problems) == KEPT
    rows = [problem.row for problem in error.problems]
    assert rows == sorted(2 * i + 3 for i in range(bad) for _ in names)[:KEPT]
    assert error.lines()[SHOWN:] == [
        f"  ... {bad * models - SHOWN} more [missing-value]; --verbose lists them",
        FILL,
    ]
    shown = error.lines(verbose=True)
    assert len(shown) == KEPT + 2
    assert shown[KEPT] == f"  ... {bad * models - KEPT} more [missing-value]"


def test_five_problems_need_no_totals() -> None:
    message = data_message("truth,a\n" + "1,\n" * 5)
    assert "..." not in message
    assert len(message.splitlines()) == 6


def test_the_last_row_counts_like_any_other() -> None:
    for end in ("\n", ""):
        assert data_message("truth,a\ny,y\nn,n\ny,z" + end, positive="y").startswith("t.csv:4: ")


def test_a_quoted_line_break_makes_no_new_row() -> None:
    content = 'note,truth,a\n"two\nlines",y,y\n"and\n\nmore",n,n\nx,n,q\n'
    message = data_message(content, positive="y", model="a")
    assert message.startswith("t.csv:4: column 'a': 'q' is not among truth's labels")


def test_rows_are_numbered_alike_for_cells_and_for_structure() -> None:
    """Blank lines count as rows, the one above the header too, as a spreadsheet shows it."""
    blank = "\ntruth,a\ny,y\n\n"
    assert data_message(blank + "n\n", positive="y").startswith("t.csv:5: column 'a': 1 fields")
    assert data_message(blank + "n,q\n", positive="y").startswith("t.csv:5: column 'a': 'q'")
