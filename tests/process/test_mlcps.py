"""mlcps at the shell: exit codes, streams, saved files, the same bytes twice."""

from __future__ import annotations

import csv
import io
import json
import os
from math import cos, pi, sin
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.process.program import (
    NEEDS_BASH,
    NEEDS_FULL,
    Done,
    check_unwritable,
    clfeval,
    on_terminal,
    shell,
)
from tests.thoroughness import thinned

FIXTURES = Path(__file__).parents[2] / "fixtures"
TEST = FIXTURES / "metrics" / "test.csv"
SCORES = FIXTURES / "breast-cancer" / "scores.csv"
VALUES = {"rf": (0.9, 0.8, 0.7), "svm": (0.8, 0.85, 0.75), "lr": (0.7, 0.6, 0.9)}
TABLE = "model,recall,precision,specificity\n" + "".join(
    f"{name},{','.join(map(str, row))}\n" for name, row in VALUES.items()
)
FILES = {
    "m.csv": TABLE,
    "bad.csv": "model,recall,precision,f1\na,.5,x,.5\nb,,.5,.5\n",
    "below.csv": "model,recall,precision,mcc\na,.5,.6,-.5\nb,.6,.5,.5\n",
    "two.csv": "model,recall,precision\na,.5,.6\n",
    "other.csv": "model,recall,precision,specificity\nknn,.5,.6,.7\n",
    "bad.yaml": "recall: 2\nprecison: 3\n",
}


@pytest.fixture(autouse=True)
def tables(folder: Path) -> None:
    for name, content in FILES.items():
        (folder / name).write_text(content, encoding="utf-8")


def area(rays: tuple[float, ...]) -> float:
    """Return the area of the polygon of these rays, from its corners (the shoelace formula)."""
    angles = [2 * pi * i / len(rays) for i in range(len(rays))]
    corners = [(r * cos(a), r * sin(a)) for r, a in zip(rays, angles, strict=True)]
    pairs = zip(corners, corners[1:] + corners[:1], strict=True)
    return sum(x * v - u * y for (x, y), (u, v) in pairs) / 2


def rank(*words: str, **changes: str) -> Done:
    return clfeval("mlcps", *words, **changes)


def document(done: Done) -> dict[str, Any]:
    assert done.code in (0, 1), done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def scores(done: Done, score: str = "mlcps") -> dict[str, float]:
    """Return one score of every model, in the order of the table."""
    return {row["model"]: row[score]["value"] for row in document(done)["tables"]["models"]}


def in_folder() -> set[str]:
    """Return what is in the folder, hidden files too, beside the tables of these tests."""
    return set(os.listdir()) - {"t.csv", *FILES}


def test_a_table_is_enough() -> None:
    done = rank("m.csv")
    assert done.code == 0
    assert done.err.startswith("m.csv: wide metrics; models in 'model'; 3 metrics: 'recall', ")
    assert done.out.startswith("MLcps of m.csv: 3 models, 3 metrics\n")
    for name, row in VALUES.items():
        (line,) = (line for line in done.out.splitlines() if line.startswith(f"{name} "))
        assert f"{area(row):.3f}" in line.split(), name
    found = scores(rank("m.csv", "-q", "-f", "json"))
    assert found == pytest.approx({name: area(row) for name, row in VALUES.items()}, rel=1e-12)


ERRORS: dict[str, tuple[list[str], int, str]] = {
    "no table": ([], 2, "Missing argument 'TABLE...'"),
    "several tables": (["m.csv", "other.csv"], 2, "one metric table at a time [several-tables]"),
    "a glob of several": (["*.csv"], 2, "one metric table at a time [several-tables]"),
    "one table twice": (["m.csv", "m.csv"], 2, "m.csv: named twice"),
    "no such file": (["gone.csv"], 3, "gone.csv: no such file [no-such-file]"),
    "no such file to compare": (["m.csv", "--compare", "gone.csv"], 3, "gone.csv: no such file"),
    "other models to compare": (["m.csv", "--compare", "other.csv"], 3, "[different-models]"),
    "other metrics to compare": (["m.csv", "--compare", "two.csv"], 3, "two.csv: no metric"),
    "a text": (["bad.csv"], 3, "bad.csv:2: column 'precision': 'x' is not a number [bad-number]"),
    "a gap": (["bad.csv"], 3, "bad.csv:3: column 'recall': missing [missing-value]"),
    "a negative metric": (["below.csv"], 3, "hint: --rescale mcc=-1:1 maps its range to 0..1"),
    "two metrics": (["two.csv"], 3, "a polygon has at least 3 corners [too-few-metrics]"),
    "predictions": (["t.csv"], 3, "add --from predictions"),
    "an unknown weight": (
        ["m.csv", "--metric-weight", "recal=2"],
        2,
        "hint: did you mean 'recall'?",
    ),
    "no weight": (["m.csv", "--metric-weight", "recall"], 2, "'recall' is not METRIC=NUMBER"),
    "a negative weight": (
        ["m.csv", "--metric-weight", "recall=-1"],
        2,
        "--metric-weight recall=-1",
    ),
    "no direction": (["m.csv", "--direction", "recall=up"], 2, "METRIC=max or METRIC=min"),
    "no range": (["m.csv", "--rescale", "recall=1"], 2, "'recall=1' is not METRIC=LOW:HIGH"),
    "an unknown metric": (["m.csv", "--metric", "recal"], 2, "[unknown-metric]"),
    "an unknown model": (["m.csv", "--model", "knn"], 2, "[unknown-model]"),
    "no such wishes": (["m.csv", "--desirability", "gone.yaml"], 2, "gone.yaml: no such file"),
    "weights of others": (["m.csv", "--metric-weight", "bad.yaml"], 2, "did you mean 'precision'?"),
    "for predictions": (["m.csv", "--truth", "model"], 2, "--from predictions"),
    "no measure": (["t.csv", "--from", "predictions", "--metric", "f2"], 2, "[unknown-measure]"),
    "an unknown option": (["m.csv", "--weigth", "recall=2"], 2, "--metric-weight"),
    "an unknown table": (["m.csv", "--show", "weights"], 2, "no table 'weights'"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_have_their_code_and_nothing_on_stdout(name: str) -> None:
    words, code, part = ERRORS[name]
    done = rank(*words, "-q", "--save", "r.json", "--save", "r.html")
    assert (done.code, done.out) == (code, "")
    assert part in done.err
    assert "Traceback" not in done.err
    assert in_folder() == set()


def test_all_problems_of_a_table_are_said_at_once() -> None:
    lines = rank("bad.csv", "-q").err.splitlines()
    heads = ["bad.csv:2", "hint", "bad.csv:3", "hint"]  # a cell is named once
    assert [line.split(": ")[0] for line in lines] == [*heads, "when the rest is mended, try"]


def test_a_terminal_is_no_table_and_gets_plots() -> None:
    none = on_terminal("mlcps", "-")
    assert (none.code, none.out) == (2, "")
    assert none.err.startswith("<stdin>: standard input is a terminal, no table is coming")
    seen = on_terminal("mlcps", "m.csv", "-q")
    assert seen.code == 0
    assert len(seen.out.splitlines()) > len(rank("m.csv", "-q").out.splitlines())


def test_notes_go_to_stderr_and_can_be_silenced() -> None:
    loud = rank(str(TEST), "--rescale", "mcc=-1:1", "-f", "csv")
    first, *notes = loud.err.splitlines()
    assert first.startswith(f"{TEST}: wide metrics; ")
    assert all(line.startswith("note: ") for line in notes)
    assert [line for line in notes if line.endswith("[flipped]") and "brier" in line]
    quiet = rank(str(TEST), "--rescale", "mcc=-1:1", "-f", "csv", "-q")
    assert (quiet.code, quiet.out, quiet.err) == (0, loud.out, "")


def many() -> str:
    """Return a table whose result fills every pipe."""
    rows = (f"m{i},{i % 7 / 7},{i * 3 % 11 / 11},{i * 5 % 13 / 13}" for i in range(3000))
    return "\n".join(["model,a,b,c", *rows, ""])


@NEEDS_BASH
@pytest.mark.parametrize("form", thinned(["csv", "json"], ["json"]))
def test_a_reader_that_leaves_early_ends_us_quietly(form: str) -> None:
    Path("many.csv").write_text(many(), encoding="utf-8")
    command = f"clfeval mlcps many.csv -q -f {form}"
    done = shell(f"{command} | head -1; exit ${{PIPESTATUS[0]}}")
    assert (done.code, len(done.out.splitlines()), done.err) == (141, 1, "")


@pytest.mark.slow
@NEEDS_BASH
@NEEDS_FULL
def test_streams_that_cannot_be_used() -> None:
    command = "clfeval mlcps m.csv -q --fail-under mlcps=1"
    check_unwritable(command)
    blind = shell("clfeval mlcps - <&-")
    assert (blind.code, blind.out) == (3, "")
    assert blind.err == "<stdin>: standard input is closed [not-readable]\n"
    assert shell("clfeval mlcps m.csv -q <&-").out == rank("m.csv", "-q").out


SAVED = ["r.json", "r.csv", "r.md", "r.html", "r.xml"]
SAVES = [word for name in SAVED for word in ("--save", name)]
PREDICTED = [
    str(SCORES), "--from", "predictions", "--positive", "malignant",
    "--metric", "f1", "--metric", "mcc", "--metric", "roc_auc", "--metric", "brier",
    "--weight-sensitivity", "--desirability", "wishes.yaml", "--show", "plots",
    "--compare", str(SCORES.with_suffix(".parquet")), "--fail-under", "mlcps=0.1",
]  # fmt: skip
SEARCHED = [
    str(FIXTURES / "metrics" / "cv_results.csv"),
    "--show",
    "plots",
    "--fail-under",
    "mlcps=0.1",
]
KINDS = {
    "predictions": (PREDICTED, {"weights", "desirability", "agreement", "compared"}),
    "a search": (SEARCHED, {"splits"}),
}
ALWAYS = {"models", "ranks", "metrics", "profile", "redundant", "dominance"}


def everything(kind: str, **changes: str) -> dict[str, bytes]:
    """Run with every kind of table and file, and return every byte written."""
    Path("wishes.yaml").write_text("f1: maximize\nbrier: {goal: minimize, high: 0.2}\n")
    done = rank(*KINDS[kind][0], *SAVES, **changes)
    assert done.code == 0, done.err
    said = done.err.splitlines()
    assert [line for line in said if line.startswith("wrote ")] == [f"wrote {n}" for n in SAVED]
    return {"stdout": done.out.encode(), **{name: Path(name).read_bytes() for name in SAVED}}


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_is_saved_whole_and_the_same_bytes_come_twice(kind: str) -> None:
    first = everything(kind)
    again = everything(kind, PYTHONHASHSEED="2", POLARS_MAX_THREADS="1", TZ="Asia/Tokyo")
    assert {name for name in first if first[name] != again[name]} == set()
    assert in_folder() == {*SAVED, "wishes.yaml"}
    saved = json.loads(first["r.json"])
    assert saved["command"] == "mlcps"
    assert set(saved["tables"]) == ALWAYS | KINDS[kind][1]
    rows = list(csv.DictReader(io.StringIO(first["r.csv"].decode())))
    assert [row["model"] for row in rows] == [row["model"] for row in saved["tables"]["models"]]
    assert first["r.md"].startswith(b"<!-- clfeval:mlcps ")
    assert first["r.html"].startswith(b"<!DOCTYPE html>\n")
    suites = ElementTree.fromstring(first["r.xml"])
    assert suites.tag == "testsuites"
    assert len(list(suites.iter("testcase"))) == len(saved["gates"]) == 6
    for name in first:
        assert str(FIXTURES).encode() not in first[name]


def test_a_saved_file_is_what_stdout_gets() -> None:
    done = rank("m.csv", "-q", "-f", "json", "--save", "r.json")
    assert done.out == Path("r.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(("words", "code"), [
    (["bad.csv", "--save", "r.json"], 3),
    (["m.csv", "--save", "r.json", "--compare", "other.csv"], 3),
    (["m.csv", "--save", "r.json", "--desirability", "bad.yaml"], 2),
    (["m.csv", "--save", "r.json", "--show", "splits"], 2),
    (["m.csv", "--save", "r.json", "--fail-under", "auc=1"], 2),
    (["m.csv", "--save", "r.json", "--save", "nowhere/r.csv"], 2),
    (["m.csv", "--save", "r.json", "--save", "r.xml"], 2),
    (["m.csv", "--save", "r.json", "--save", "m.csv"], 2),
    (["m.csv", "--save", "r.json", "--compare", "other.csv", "--save", "other.csv"], 2),
])  # fmt: skip
def test_what_is_refused_leaves_the_old_result(words: list[str], code: int) -> None:
    Path("r.json").write_text("old", encoding="utf-8")
    done = rank(*words, "-q")
    assert (done.code, done.out) == (code, "")
    assert Path("r.json").read_text(encoding="utf-8") == "old"
    assert {name: Path(name).read_text(encoding="utf-8") for name in FILES} == FILES
    assert in_folder() == {"r.json"}
