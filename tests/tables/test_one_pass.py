"""All problems of a table come at once: in row order, the first five shown, the totals right."""

from __future__ import annotations

from collections import Counter

import pytest

from clfeval.errors import MAX_PRINTED_PROBLEMS, MAX_PROBLEMS
from tests.tables.door import places, refusal, spots, told, write
from tests.texts import check_text, problem_places


def test_four_kinds_of_wrong_cells_come_together_in_row_order() -> None:
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
    assert spots(error).split(", ") == [
        "6002:labelled unknown-label",
        "6003:scored bad-number",
        "6003:labelled missing-value",
        "6004:scored missing-value",
        "6004:w bad-weight",
        "6005:truth missing-value",
        "6006:labelled unknown-label",
        "6007:scored bad-number",
        "6007:w bad-weight",
    ]
    check_text(error.lines())
    check_text(error.lines(verbose=True))
    assert len(problem_places(error.lines(verbose=True))) == 9
    assert error.totals == Counter(
        {"unknown-label": 2, "bad-number": 2, "missing-value": 3, "bad-weight": 2}
    )


def test_an_id_given_twice_comes_with_the_wrong_cells() -> None:
    content = "id,truth,a,w\n1,1,0.9,1\n2,0,0.2,1\n2,0,x,1\n4,,0.1,-1\n"
    error = refusal(write("t.csv", content), kind="score", weight="w")
    assert error.totals == Counter(
        {"duplicate-id": 1, "bad-number": 1, "missing-value": 1, "bad-weight": 1}
    )
    assert [problem.row for problem in error.problems] == [4, 4, 5, 5]


def test_four_kinds_of_contradictions_of_a_long_table_come_together() -> None:
    content = "id,model,prediction,truth\n1,A,1,1\n2,A,0,0\n3,A,0,0\n1,B,,1\n2,B,1,1\n1,A,1,1\n"
    assert places(content).split(", ") == [
        "4:model unequal-ids",
        "5:prediction missing-value",
        "6:truth conflicting-truth",
        "7:model duplicate-row",
    ]


def test_problems_of_several_files_come_together() -> None:
    write("a.csv", "truth,m\ny,y\nn,q\n")
    write("b.csv", "truth,m\ny,r\n,n\nn,n\n")
    assert spots(refusal(["a.csv", "b.csv"], positive="y")).split(", ") == [
        "a.csv:3:m unknown-label",
        "b.csv:2:m unknown-label",
        "b.csv:3:truth missing-value",
    ]


def test_problems_of_structure_come_together() -> None:
    content = b"truth,a,note\n1,1\n0,0,x,y\n1,1,caf\xe9\n0,0,n\0\n1,1,fine\n"
    expected = "2:note short-row, 3 long-row, 4:note not-utf8, 5:note nul-byte"
    assert places(content) == expected


def test_beyond_five_only_totals_are_shown() -> None:
    content = "truth,a\n" + "y,y\nn,n\n" * 10 + "y,z\n" * 20 + "n,\n" * 3
    error = refusal(write("t.csv", content), positive="y")
    lines = [f"t.csv:{row}: column 'a': [unknown-label]" for row in range(22, 27)]
    assert problem_places(error.lines()) == lines
    assert error.totals == Counter({"unknown-label": 20, "missing-value": 3})
    assert told(content, positive="y").startswith("22:a unknown-label, 23:a")


@pytest.mark.parametrize("models", [1, 3])
def test_totals_are_right_beyond_what_is_carried_along(models: int) -> None:
    names = [f"m{i}" for i in range(models)]
    bad = MAX_PROBLEMS + 500
    content = f"truth,{','.join(names)}\n" + f"y{',y' * models}\nn{',' * models}\n" * bad
    error = refusal(write("t.csv", content), positive="y")
    assert error.totals == Counter({"missing-value": bad * models})
    assert len(error.problems) == MAX_PROBLEMS
    rows = [problem.row for problem in error.problems]
    assert rows == sorted(2 * i + 3 for i in range(bad) for _ in names)[:MAX_PROBLEMS]
    assert f"... {bad * models - MAX_PRINTED_PROBLEMS} " in error.lines()[MAX_PRINTED_PROBLEMS]
    shown = error.lines(verbose=True)
    assert len(shown) == MAX_PROBLEMS + 2
    assert f"... {bad * models - MAX_PROBLEMS} " in shown[MAX_PROBLEMS]


def test_five_problems_need_no_totals() -> None:
    error = refusal(write("t.csv", "truth,a\n" + "1,\n" * 5))
    assert len(error.lines()) == 6
    assert "..." not in str(error)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("truth,a\ny,y\nn,n\ny,z\n", "4:a unknown-label"),
        ("truth,a\ny,y\nn,n\ny,z", "4:a unknown-label"),
        # a line break in quotes makes no new row
        ('x,truth,a\n"two\nlines",y,y\n"and\n\nmore",n,n\nx,n,q\n', "4:a unknown-label"),
        # blank lines count as rows, the one above the header too, as a spreadsheet shows it
        ("\ntruth,a\ny,y\n\nn\n", "5:a short-row"),
        ("\ntruth,a\ny,y\n\nn,q\n", "5:a unknown-label"),
    ],
)
def test_rows_are_numbered_as_a_spreadsheet_does(content: str, expected: str) -> None:
    assert places(content, positive="y", model="a") == expected
