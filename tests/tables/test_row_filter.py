"""`--where`: which rows a condition takes, checked against rows chosen one by one in Python."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable

import polars as pl
import pytest

import clfeval
from clfeval.errors import ClfevalError, DataError, UsageError
from clfeval.tables.frames import collect
from clfeval.tables.row_selection import filtered_rows
from clfeval.tables.scan import file_of_frame
from tests.engines import duck
from tests.process.program import clfeval as program
from tests.tables.asking import proposals, refused
from tests.tables.door import places, write
from tests.texts import check_text, problem_places

ROWS = [
    {
        "id": i,
        "truth": i % 2,
        "m": (i * 7 % 10) / 10,
        "age": 15 + i * 3 % 50,
        "part of": ("train", "test", "dev")[i % 3],
        "site": ("A", "B ", None, "01")[i % 4],
    }
    for i in range(60)
]
FRAME = pl.DataFrame(ROWS)
Row = dict[str, object]
CONDITIONS: list[tuple[str, Callable[[Row], bool]]] = [
    ("age >= 18", lambda r: r["age"] >= 18),  # type: ignore[operator]
    ("age<18 or age>60", lambda r: not 18 <= r["age"] <= 60),  # type: ignore[operator]
    ("\"part of\" = 'test'", lambda r: r["part of"] == "test"),
    (
        "\"part of\" in ('test', 'dev') and age != 18.0",
        lambda r: r["part of"] != "train" and r["age"] != 18,
    ),
    ("not (age >= 18 and m <= .5)", lambda r: not (r["age"] >= 18 and r["m"] <= 0.5)),  # type: ignore[operator]
    ("site = 'B '", lambda r: r["site"] == "B "),
    ("site <> 'A'", lambda r: r["site"] not in ("A", None)),  # a missing value meets nothing
    ("site not in ('A', 'B ')", lambda r: r["site"] == "01"),
    ("site = 1", lambda r: r["site"] == "01"),  # a number is compared as a number
    ("site = '1' or id == 7 or id=9", lambda r: r["id"] in (7, 9)),
    ("age > 20 and age < 40 or id = 0", lambda r: 20 < r["age"] < 40 or r["id"] == 0),  # type: ignore[operator]
]


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
@pytest.mark.parametrize(("condition", "wanted"), CONDITIONS)
def test_rows_that_meet_a_condition_are_the_table(
    condition: str, wanted: Callable[[Row], bool], kind: str
) -> None:
    chosen = pl.DataFrame([row for row in ROWS if wanted(row)], schema=FRAME.schema)
    asked: dict[str, object] = {"ignore": ("age", "part of", "site"), "interval": "none"}
    alone = clfeval.mars(chosen, **asked)  # type: ignore[arg-type]
    table: object = FRAME
    if kind == "csv":
        table = write("t.csv", FRAME.write_csv())
    elif kind == "parquet":
        FRAME.write_parquet("t.parquet")
        table = "t.parquet"
    found = clfeval.mars(table, where=condition, **asked)  # type: ignore[arg-type]
    assert found.tables["models"] == alone.tables["models"]


MANY: list[tuple[str, Callable[[int], bool]]] = [
    (" and ".join(["age > 20"] * 1000), lambda age: age > 20),
    (" or ".join(f"age = {k}" for k in range(1000)), lambda age: True),
    (f"age not in ({', '.join(map(str, range(1, 1001)))})", lambda age: False),
    (" and ".join(f"(age > {k} or age = 64)" for k in range(500)), lambda age: age == 64),
    ("not " * 49 + "age > 20", lambda age: age <= 20),
    ("(" * 49 + "age > 20" + ")" * 49, lambda age: age > 20),
]


@pytest.mark.parametrize("engine", ["polars", "duckdb", "arrow"])
@pytest.mark.parametrize(("condition", "wanted"), MANY, ids=range(len(MANY)))
def test_a_thousand_comparisons_are_fast(
    condition: str, wanted: Callable[[int], bool], engine: str
) -> None:
    table = {"polars": FRAME, "duckdb": duck(FRAME), "arrow": FRAME.to_arrow()}[engine]
    rows = sum(wanted(age) for age in FRAME["age"].to_list())
    began = time.process_time()
    if rows:
        file = filtered_rows(file_of_frame(table, "t"), condition)
        assert file.native is not None
        assert len(collect(file.native)) == rows
    else:
        with pytest.raises(DataError, match="no row matches"):
            filtered_rows(file_of_frame(table, "t"), condition)
    assert time.process_time() - began < 20  # by the square of their number it takes minutes


TOO_MUCH = {
    "comparisons": " and ".join(["age > 20"] * 1001),
    "values": f"age in ({', '.join(map(str, range(1001)))})",
    "negations": "not " * 5000 + "age > 20",
    "parentheses": "(" * 5000 + "age > 20" + ")" * 5000,
    "both": "not (" * 26 + "age > 20" + ")" * 26,
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_condition_beyond_bounds_is_refused(name: str) -> None:
    FRAME.write_csv("t.csv")
    words = ("mars", "t.csv", "--ignore", "site", "--ignore", "part of")
    done = program(*words, "--where", TOO_MUCH[name])
    assert (done.code, problem_places(done.err)) == (2, ["--where: [bad-option]"])
    text = f'version: 1\nruns: {{r: {{command: mars, input: t.csv, where: "{TOO_MUCH[name]}"}}}}\n'
    write("s.yaml", text)
    assert program("batch", "s.yaml", "-q").code == 2


def test_two_quotes_stand_for_one() -> None:
    name, value = "it\"s 'x'", "a'b\"c''"
    table = {"truth": [1, 0, 1, 0], "m": [1, 0, 0, 1], name: [value, value, "a'b", ""]}
    for condition, rows in (
        ("\"it\"\"s 'x'\" = 'a''b\"c'''''", 2),
        ("\"it\"\"s 'x'\" in ('a''b', '')", 2),
        ("\"it\"\"s 'x'\" != ''", 3),
    ):
        result = clfeval.count(table, where=condition, ignore=name)
        assert result.summary["rows"] == rows
    with pytest.raises(UsageError, match="syntax error"):
        clfeval.count(table, where="m = 'a''", ignore=name)


WRONG = ["age >", "age = x", "age ~ 3", "(age = 3", "age = 3 id = 4", "", "sit = 'A'", "age = 1000"]


@pytest.mark.parametrize("condition", WRONG)
def test_what_is_no_condition_is_refused(condition: str) -> None:
    with pytest.raises(ClfevalError) as caught:
        clfeval.mars(FRAME, where=condition, ignore=("part of", "site"))
    check_text(str(caught.value))


def test_rows_keep_their_numbers_in_messages() -> None:
    content = "id,truth,m,part\na,1,.9,train\nb,0,x,test\nb,1,.8,test\nc,0,.1,test\n"
    assert places(content, where="part = 'test'") == "3:m bad-number, 4:id duplicate-id"


def test_every_command_takes_a_condition() -> None:
    write("p.csv", "truth,m,part\n1,.9,x\n0,.2,x\n1,.8,x\n0,.6,x\n1,.1,y\n0,.7,y\n")
    for command in ("mars", "phidelta", "tune-jpt", "report"):
        done = program(command, "p.csv", "--where", "part = 'x'", "-q", "-f", "json")
        assert done.code == 0, done.err
        assert json.loads(done.out)["inputs"][0]["rows"] == 4
    write(
        "m.csv", "model,acc,f1,auc,part\na,.9,.8,.7,x\nb,.8,.7,.9,x\na,.1,.1,.1,y\nb,.2,.2,.2,y\n"
    )
    done = program("mlcps", "m.csv", "--where", "part = 'x'", "-q", "-f", "json")
    assert done.code == 0, done.err


# a table, what is asked first, and what is read: the number of classes, and the models
TRAPS = {
    "confidence": ("label,prediction,confidence", "", 3, ["prediction"]),
    "cohort": ("outcome,risk_score,age,sex", "", 2, ["risk_score"]),
    "split": ("y,split,pred_proba,bmi", "split train-and-test", 2, ["pred_proba"]),
}


@pytest.mark.parametrize("name", TRAPS)
def test_a_table_with_other_columns_is_read_rightly(name: str) -> None:
    header, asked, classes, models = TRAPS[name]
    cells = {
        "label": lambda i: ("cat", "dog", "bird")[i % 3],
        "prediction": lambda i: ("cat", "dog", "bird")[(i + (i % 7 == 0)) % 3],
        "confidence": lambda i: f"{0.4 + i % 6 / 10:.2f}",
        "outcome": lambda i: str(i % 2),
        "risk_score": lambda i: f"{i * 7 % 20 / 20}",
        "age": lambda i: str(20 + i * 3 % 70),
        "sex": lambda i: "mf"[i % 3 % 2],
        "y": lambda i: str(i % 2),
        "split": lambda i: ("train", "train", "test")[i % 3],
        "pred_proba": lambda i: f"{i * 7 % 20 / 20}",
        "bmi": lambda i: f"{20 + i * 3 % 70 / 5}",
    }
    names = header.split(",")
    rows = [",".join(cells[column](i) for column in names) for i in range(60)]
    write("t.csv", "\n".join([header, *rows]) + "\n")
    words = ["report", "t.csv"]
    if asked:
        spots, proposed = refused(*words, kept=False)
        assert spots == asked
        words = shlex.split(proposed.split(" | ")[0])
    result = json.loads(program(*words, "-f", "json").out)
    rows_read = 20 if name == "split" else 60
    assert result["inputs"][0]["rows"] == rows_read
    assert result["summary"].get("classes", 2) == classes
    assert sorted({row["model"] for row in result["tables"]["models"]}) == models


def test_truth_in_one_file_and_predictions_in_others() -> None:
    write("truth.csv", "id,target\na,1\nb,0\nc,1\nd,0\n")
    write("sub1.csv", "id,target\nd,.4\nc,.6\nb,.7\na,.9\n")  # called as truth is
    write("sub2.csv", "id,score\na,.2\nb,.1\nc,.3\nd,.9\n")
    files = ("truth.csv", "one=sub1.csv", "two=sub2.csv")
    done = program("report", *files, "--join", "id", "-q", "-f", "json")
    assert done.code == 0, done.err
    aucs = {
        row["model"]: row["value"]["value"]
        for row in json.loads(done.out)["tables"]["measures"]
        if row["measure"] == "roc_auc"
    }
    # one: .9 and .6 before .4, .6 not before .7; two: .2 and .3 before .1 alone
    assert aucs == {"one": 3 / 4, "two": 2 / 4}
    _, proposed = refused("report", "truth.csv", "sub2.csv", kept=False)
    assert proposed == "report truth.csv sub2.csv -q --join id"


def test_a_truth_of_numbers_is_no_class() -> None:
    rows = "".join(f"{i / 7},{i / 9}\n" for i in range(300))
    write("t.csv", f"truth,m\n{rows}")
    assert refused("report", "t.csv")[1] == ""
    write("b.csv", "truth,m,k\n" + "".join(f"{i % 2},{i / 60},{i / 70}\n" for i in range(60)))
    for by in ("m", "truth"):
        done = program("report", "b.csv", "-q", "--by", by)
        assert (done.code, problem_places(done.err)) == (2, ["[bad-option]"])
        check_text(done.err)


def test_a_baseline_has_the_same_rows() -> None:
    """Rows that --where leaves out, here those that are better now, are left out of both sides."""
    header, parts = "id,truth,m,part\n", ("train", "test")
    for name, wrong in (("then", {1, 2}), ("now", {1, 3, 5, 7, 9})):
        rows = (
            f"{i},{i // 2 % 2},{(i // 2 % 2) ^ (i in wrong)},{parts[i % 2]}\n" for i in range(60)
        )
        write(f"{name}.csv", header + "".join(rows))
    words = (
        "report",
        "now.csv",
        "--where",
        "part = 'test'",
        "--baseline",
        "then.csv",
        "-f",
        "json",
    )
    found = json.loads(program(*words, "--max-drop", "accuracy=.5").out)
    (row,) = [one for one in found["tables"]["comparisons"] if one["measure"] == "accuracy"]
    assert (row["paired"], row["rows"], row["difference"]["value"]) == (
        True,
        30,
        pytest.approx(-4 / 30),
    )


def test_a_model_named_like_a_mark_gets_no_proposed_rows() -> None:
    """A flag named exactly so selects rows; of another 0/1 column only a person can know."""
    rows = "\n".join(f"{i % 2},{i * 5 % 7 % 2},{i * 3 % 5 % 2}" for i in range(40))
    write("m.csv", f"truth,a/b test,other\n{rows}\n")
    done = program("report", "m.csv", "-q")
    assert done.code == 3
    assert "may mark training and test rows" in done.err
    first = proposals(done.err)[0]
    assert shlex.split(first)[-2:] == ["--model", "*"]
    assert program(*shlex.split(first)).code == 0
    assert program("report", "m.csv", "--model", "*", "-q").code == 0
