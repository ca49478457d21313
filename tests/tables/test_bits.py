"""The fast road for columns of 0 and 1 gives what the slow road gives, cell by odd cell."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from clfeval.api.commands import mars
from clfeval.errors import ClfevalError
from tests.process.program import clfeval as program
from tests.tables.door import Confusion, confusion, mars_confusion, opened, refusal, spots, write
from tests.texts import check_text, numbers_in
from tests.thoroughness import thinned

ROWS = 6000  # the guess is made from the first 5000
BODY = [(str(i % 2), str(i % 2), str(i % 3 % 2)) for i in range(ROWS)]
BASE = {"a": (3000, 0, 0, 3000), "b": (1000, 1000, 2000, 2000)}
CELLS = ["01", " 1", "1 ", "+1", '"1"', "", "0.3", "2", "00", "-0", "1.0", "NaN", "1e0", "x", "é"]
WAYS = [(True, "error"), (False, "drop")]  # with ids or not, what becomes of missing values
EVERY_CELL = pytest.mark.parametrize(
    ("cell", "with_id", "missing"),
    thinned(
        ((cell, *way) for cell in CELLS for way in product([True, False], ["error", "drop"])),
        [(cell, *WAYS[i % 2]) for i, cell in enumerate(CELLS)],
    ),
)
ALIKE = "truth,a,b\n{yes},1,0\n{yes},1,1\n{no},0,1\n{no},1,0\n{no},0,0\n"
SAME = {"a": (2, 1, 0, 2), "b": (1, 1, 1, 2)}  # of it, counted by hand
PAIRS = [("False", "True"), ("false", "true"), ("FALSE", "TRUE")]
WITH_ID = pytest.mark.parametrize("with_id", [True, False], ids=["id", "no id"])


def write_bits(rows: list[tuple[str, str, str]], *, with_id: bool, early: bool = False) -> str:
    """Write the base table with some rows after it, or before: then no fast road is tried."""
    rows = [*rows, *BODY] if early else [*BODY, *rows]
    lines = [",".join(([f"r{i}"] if with_id else []) + list(row)) for i, row in enumerate(rows)]
    header = "id,truth,a,b" if with_id else "truth,a,b"
    return write("t.csv", "\n".join([header, *lines, ""]))


def outcome(name: str, **options: object) -> dict[str, Confusion] | str:
    """Return the counts, or the refusal without its rows."""
    try:
        return confusion(mars(name, **options))  # type: ignore[arg-type]
    except ClfevalError as error:
        return str([(p.column, p.message, p.code) for p in error.problems])


@WITH_ID
def test_the_fast_road_counts(with_id: bool) -> None:
    assert mars_confusion(write_bits([], with_id=with_id)) == BASE


@EVERY_CELL
def test_an_odd_cell_late_is_what_it_is_early(cell: str, with_id: bool, missing: str) -> None:
    for row in (("1", cell, "1"), (cell, "1", "1")):  # a vote, a truth
        late = outcome(write_bits([row], with_id=with_id), missing=missing)
        assert late == outcome(write_bits([row], with_id=with_id, early=True), missing=missing)


@WITH_ID
@pytest.mark.parametrize("cell", ["01", " 1", "1 ", "+1", "2", "00", "-0", "0.3", "1.0"])
def test_an_odd_truth_is_a_class_of_its_own(cell: str, with_id: bool) -> None:
    name = write_bits([(cell, "1", "1")], with_id=with_id)
    refusal_text = str(outcome(name))
    assert refusal_text.count(f"'{cell}'") == 1
    twin = cell.strip() == "1"
    assert ("label-twins" if twin else "positive-needed") in refusal_text
    assert mars_confusion(name, positive="1", classes=["1", cell] if twin else ()) == {
        "a": (3000, 1, 0, 3000),
        "b": (1000, 1001, 2000, 2000),
    }


@WITH_ID
def test_a_quoted_1_is_1(with_id: bool) -> None:
    assert mars_confusion(write_bits([('"1"', '"1"', '"0"')], with_id=with_id)) == {
        "a": (3001, 0, 0, 3000),
        "b": (1000, 1000, 2001, 2000),
    }


@WITH_ID
def test_scores_that_begin_as_0_and_1_are_scores(with_id: bool) -> None:
    rows = [("1", "0.3", "1"), ("1", "0.5", "1")]
    assert mars_confusion(write_bits(rows, with_id=with_id), model="*")["a"] == (3001, 0, 1, 3000)


@WITH_ID
def test_an_empty_cell_does_not_pay_for_a_long_one(with_id: bool) -> None:
    """A missing cell has a byte too few, 01 one too many: together they look like bare bits."""
    rows = [("01", "1", "1"), ("1", "", "1")]
    name = write_bits(rows, with_id=with_id)
    assert "positive-needed" in str(outcome(name, missing="drop"))
    early = outcome(write_bits(rows, with_id=with_id, early=True), missing="drop")
    assert outcome(write_bits(rows, with_id=with_id), missing="drop") == early


def test_a_blank_line_does_not_pay_for_long_cells() -> None:
    """A blank line has three bytes too few, three times 01 three too many."""
    rows = [("01", "1", "01"), ("01", "1", "1")]
    content = Path(write_bits(rows, with_id=False)).read_text() + "\n"
    error = refusal(write("t.csv", content))
    assert spots(error) == "positive-needed"
    assert numbers_in(error.problems[0].message) == [0, 3000, 1, 2, 1, 3000]


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_marks_change_no_count(ending: str, last: bool, mark: str) -> None:
    lines = ["truth,a,b", *map(",".join, BODY)]
    assert (
        mars_confusion(write("t.csv", mark + ending.join(lines) + (ending if last else ""))) == BASE
    )


def test_two_files_do_not_pay_for_each_other() -> None:
    lines = "\n".join(map(",".join, BODY))
    first = write("a.csv", f"truth,a,b\n{lines}\n01,1,1\n")
    second = write("b.csv", f"truth,a,b\n{lines}\n1,,1\n")
    assert "positive-needed" in str(outcome([first, second], missing="drop"))  # type: ignore[arg-type]


@pytest.mark.parametrize(("no", "yes"), PAIRS)
def test_bits_are_the_booleans_of_truth(no: str, yes: str) -> None:
    name = write("t.csv", ALIKE.format(no=no, yes=yes))
    for command in "mars", "phidelta", "tune-jpt", "report":
        done = program(command, name)
        assert done.code == 0, done.err
        check_text(done.err.splitlines()[0])
    assert mars_confusion(name) == SAME


@pytest.mark.parametrize(("no", "yes"), PAIRS)
def test_booleans_are_the_bits_of_truth(no: str, yes: str) -> None:
    rows = [line.split(",") for line in ALIKE.format(no=0, yes=1).splitlines()[1:]]
    said = {"0": no, "1": yes}
    one = "".join(f"{y},{said[a]},{b}\n" for y, a, b in rows)  # beside a column of bits
    both = "".join(f"{y},{said[a]},{said[b]}\n" for y, a, b in rows)
    long = "".join(
        f"{i},a,{said[a]},{y}\n{i},b,{said[b]},{y}\n" for i, (y, a, b) in enumerate(rows)
    )
    assert mars_confusion(write("t.csv", f"truth,a,b\n{one}")) == SAME
    assert mars_confusion(write("t.csv", f"truth,a,b\n{both}")) == SAME
    assert mars_confusion(write("t.csv", f"id,model,prediction,truth\n{long}")) == SAME


def test_booleans_of_frames_are_bits_with_gaps_and_late_cells() -> None:
    truth, bits = [True, True, False, False], [1, 0, 1, 0]
    for make in pl.DataFrame, pd.DataFrame:
        assert confusion(mars(make({"truth": truth, "a": bits}))) == {"a": (1, 1, 1, 1)}
        numbers = make({"truth": list(map(int, truth)), "a": list(map(bool, bits))})
        assert confusion(mars(numbers)) == {"a": (1, 1, 1, 1)}
    name = write("t.csv", "truth,a\nTrue,1\nTrue,\nFalse,1\nFalse,0\n")
    assert mars_confusion(name, missing="drop") == {"a": (1, 1, 0, 1)}
    late = "True,1\nFalse,0\n" * (ROWS // 2)
    assert spots(refusal(write("t.csv", f"truth,a\n{late}True,x\n"))) == (
        f"{ROWS + 2}:a unknown-label"
    )
    # no bits at all, past the first rows
    assert mars_confusion(write("t.csv", f"truth,a\n{late}True,0.3\n")) == {"a": (3000, 0, 1, 3000)}


def test_labels_of_bits_with_scores_and_truth_of_booleans() -> None:
    name = write("t.csv", "truth,y_pred,y_prob\nTrue,1,.9\nTrue,0,.3\nFalse,1,.6\nFalse,0,.1\n")
    assert mars_confusion(name) == {"model": (1, 1, 1, 1)}
    # numbers of a sure tree stay scores
    columns = opened(write("t.csv", "truth,a\nTrue,1\nFalse,0\n"), kind="score").columns
    assert [one.kind for one in columns.models] == ["score"]
