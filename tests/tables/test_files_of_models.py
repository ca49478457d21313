"""Files of models of the same rows: found by their values, and joined by the options offered."""

from __future__ import annotations

import random
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from clfeval.api.commands import mars
from clfeval.errors import DataError
from tests.process.program import clfeval as program
from tests.results import problem_codes, row_of
from tests.tables.door import MARS, confusion, opened, write

ROWS = 40
TRUTH = [int(row % 3 == 0) for row in range(ROWS)]
NEW = [int(row % 4 < 2) for row in range(ROWS)]
OLD = [int(row % 5 == 0) for row in range(ROWS)]


def write_model(
    file: str, labels: list[int], column: str, ids: str | None = None, *, shuffled: bool = False
) -> None:
    """Write a file of ids, truth and labels of a model."""
    numbers = list(range(ROWS))
    if shuffled:
        random.Random(5).shuffle(numbers)
    name = "" if ids is None else f"{ids},"
    lines = [f"{name}y_true,{column}"]
    for row in numbers:
        key = "" if ids is None else f"{500 + row},"
        lines.append(f"{key}{TRUTH[row]},{labels[row]}")
    write(file, "\n".join(lines) + "\n")


def cells_by_hand(labels: list[int]) -> tuple[int, int, int, int]:
    """Return tp, fp, fn, tn of a model, counted by hand."""
    pairs = list(zip(TRUTH, labels, strict=True))
    return pairs.count((1, 1)), pairs.count((0, 1)), pairs.count((1, 0)), pairs.count((0, 0))


# ids of new.csv, columns of the models, ids of old.csv: the options of what is offered
FILES: Mapping[str, tuple[str | None, str, str, str | None, list[str]]] = {
    "no ids, equal columns": (None, "pred", "pred", None, ["--join row", "--join none"]),
    "no ids, other columns": (None, "new", "old", None, ["--join row"]),
    "one name of ids": ("case_id", "new", "old", "case_id", ["--join case_id"]),
    "two names of ids": ("case_id", "pred", "pred", "patient_id", ["--join case_id+patient_id"]),
    "two names, other columns": ("case_id", "new", "old", "row", ["--join case_id+row"]),
}


@pytest.mark.parametrize("case", FILES)
def test_files_of_the_same_rows_are_offered_to_be_joined(case: str) -> None:
    ids, new_column, old_column, other_ids, expected = FILES[case]
    write_model("new.csv", NEW, new_column, ids)
    write_model("old.csv", OLD, old_column, other_ids, shuffled=other_ids is not None)
    done = program("mars", "new.csv", "old.csv", "-q")
    assert done.code == 3
    commands = re.findall(r"^    (clfeval .*)$", done.err, re.MULTILINE)
    assert commands == [f"clfeval mars new.csv old.csv -q {option}" for option in expected]
    assert program(*shlex.split(commands[0])[1:]).code == 0
    join = expected[0].removeprefix("--join ")
    joined = confusion(mars(["new.csv", "old.csv"], join=join))
    assert joined == {"new": cells_by_hand(NEW), "old": cells_by_hand(OLD)}


@pytest.mark.parametrize("option", ["--id case_id", "--by site"])
def test_options_on_rows_leave_the_question(option: str) -> None:
    """Ids that are named, and slices, do not say whether the rows are the same."""
    for file, labels in (("new.csv", NEW), ("old.csv", OLD)):
        write_model(file, labels, "pred", "case_id")
        header, *rows = Path(file).read_text(encoding="utf-8").split()
        write(file, "\n".join([f"{header},site", *(f"{row},north" for row in rows)]) + "\n")
    done = program("mars", "new.csv", "old.csv", "-q", *option.split())
    assert done.code == 3
    commands = re.findall(r"^    (clfeval .*)$", done.err, re.MULTILINE)
    assert commands[0].endswith("--join case_id")
    assert program(*shlex.split(commands[0])[1:]).code == 0


def test_a_truth_that_no_file_has_is_named() -> None:
    """Files of other columns, which the search for equal truth reads."""
    write_model("new.csv", NEW, "new")
    write_model("old.csv", OLD, "old")
    done = program("mars", "new.csv", "old.csv", "-q", "--truth", "0.5")
    assert done.code == 3
    assert "has no column 'new'" in done.err
    assert "Traceback" not in done.err


def test_parts_of_one_sample_are_pooled_where_it_is_said() -> None:
    write_model("new.csv", NEW, "pred")
    write_model("old.csv", OLD, "pred")
    both = tuple(a + b for a, b in zip(cells_by_hand(NEW), cells_by_hand(OLD), strict=True))
    assert confusion(mars(["new.csv", "old.csv"], join="none")) == {"pred": both}


@pytest.mark.parametrize("other", ["rows in another order", "ids of other rows", "few rows"])
def test_files_of_other_rows_are_one_sample(other: str) -> None:
    ids = "case_id" if other == "ids of other rows" else None
    write_model("new.csv", NEW, "pred", ids)
    write_model("old.csv", NEW, "pred", ids, shuffled=other == "rows in another order")
    tables = ["new.csv", "old.csv"]
    if other == "ids of other rows":
        write(
            "old.csv",
            re.sub("^5", "7", Path("old.csv").read_text(encoding="utf-8"), flags=re.MULTILINE),
        )
    if other == "few rows":
        write("new.csv", "y_true,pred\n1,1\n0,0\n")
        write("old.csv", "y_true,pred\n1,0\n0,0\n")
    assert opened(tables).layout.name == "wide"


@pytest.mark.parametrize(
    ("join", "code", "text"),
    [
        ("row", "unequal-ids", "39 rows, but new.csv has 40"),
        ("a+b", "unknown-column", "no column 'a+b'"),
        ("y_true+pred", "bad-option", "names two columns of new.csv"),
    ],
)
def test_rows_that_cannot_be_joined_are_refused(join: str, code: str, text: str) -> None:
    write_model("new.csv", NEW, "pred")
    write_model("old.csv", OLD, "pred")
    write("old.csv", "\n".join(Path("old.csv").read_text(encoding="utf-8").split("\n")[:-2]) + "\n")
    error = MARS.refusal(["new.csv", "old.csv"], join=join)
    assert {*problem_codes(error)} == {code}
    assert text in str(error)


def test_the_question_has_to_be_answered_in_python_too() -> None:
    write_model("new.csv", NEW, "pred")
    write_model("old.csv", OLD, "pred")
    with pytest.raises(DataError) as caught:
        mars(["new.csv", "old.csv"])
    assert [dict(reading.options) for reading in caught.value.readings] == [
        {"join": "row"},
        {"join": "none"},
    ]


def write_rows(file: str, first_id: int) -> None:
    """Write ten rows in the format of the file's name; ids are integers where it has types."""
    rows = pl.DataFrame(
        {
            "case_id": range(first_id, first_id + 10),
            "y_true": [1, 0] * 5,
            "score": [(first_id * 7 + 3 * row) % 20 / 20 + 0.01 for row in range(10)],
        }
    )
    {".csv": rows.write_csv, ".parquet": rows.write_parquet, ".ndjson": rows.write_ndjson}[
        Path(file).suffix
    ](file)


@pytest.mark.parametrize("second", [".csv", ".parquet", ".ndjson"])
@pytest.mark.parametrize("first", [".csv", ".parquet", ".ndjson"])
def test_files_of_different_formats_are_one_sample(first: str, second: str) -> None:
    """Whose ids are texts in one and integers in the other; with the same ids it asks."""
    write_rows(f"a{first}", 0)
    write_rows(f"b{second}", 10)
    write_rows(f"same{second}", 0)
    row = row_of(mars([f"a{first}", f"b{second}"], threshold=0.5), "models")
    scores = [(7 * start + 3 * row) % 20 / 20 + 0.01 for start in (0, 10) for row in range(10)]
    flagged = [score >= 0.5 for score in scores]
    detected = sum(flag for number, flag in enumerate(flagged) if number % 2 == 0)
    assert (row["tp"], row["fp"]) == (detected, sum(flagged) - detected)
    with pytest.raises(DataError, match="occur in more than one file"):
        mars([f"a{first}", f"same{second}"], threshold=0.5)
