"""Same input, same bytes: nothing in a result depends on the run, the machine or the place."""

from __future__ import annotations

import csv
import getpass
import io
import json
import os
import re
import shlex
import socket
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.conftest import ROOT
from tests.process.program import clfeval, json_document, write_files
from tests.thoroughness import full

SCORES = "id,truth,site,a,b,c\n" + "".join(
    f"{i},{i * 7 % 3 % 2},{'xyz'[i % 3]},{i * 37 % 100 / 100},{i * 53 % 100 / 100},0.{i % 9}\n"
    for i in range(60)
)
FIXTURES = shlex.quote(str(ROOT / "fixtures"))
CANCER = f"{FIXTURES}/breast-cancer/scores.csv --positive malignant"
CALIBRATED = f"{FIXTURES}/breast-cancer/scores.parquet"
SAVED = ["r.json", "r.md", "r.html", "r.csv", "r.xml"]
MARS = (
    "--by site --subsets 2 --best 2 --max-effort 30 --list found --list missed --show plots "
    "--fail-under recall=0.1"
)
# kind of result -> what is typed, the tables of the result
KINDS: dict[str, tuple[str, str]] = {
    "mars": (
        f"mars t.csv {MARS}",
        "models exclusive pairs subsets best max_effort slices lead_tests",
    ),
    "mlcps predictions": (
        f"mlcps {CANCER} --from predictions --metric f1 --metric mcc --metric roc_auc "
        "--metric brier --weight-sensitivity --desirability wishes.yaml --show plots "
        f"--compare {CALIBRATED} --fail-under mlcps=0.1",
        "models ranks metrics profile redundant dominance weights desirability agreement compared",
    ),
    "mlcps search": (
        f"mlcps {FIXTURES}/metrics/cv_results.csv --show plots --fail-under mlcps=0.1",
        "models ranks metrics profile redundant dominance splits",
    ),
    "tune-jpt": (
        f"tune-jpt {CANCER} --model tree --model knn --prevalence 1:100 --population 5000 "
        "--prevalence 0.001..0.02 --measure cost:fp=1,fn=10 --interval wilson --measure ppv "
        "--measure mcc --measure expected_cost --show plots --fail-under ppv=0.01",
        "models expected crossovers winners at_prevalence thresholds cutoffs ranges sweep",
    ),
}


@pytest.fixture(autouse=True)
def input_files(folder: Path) -> None:
    wishes = "f1: maximize\nbrier: {goal: minimize, high: 0.2}\n"
    write_files(folder, {"t.csv": SCORES, "wishes.yaml": wishes})


def everything(command: str, **changes: str) -> dict[str, bytes]:
    """Run with every kind of table and file, and return every byte written."""
    saves = [word for name in SAVED for word in ("--save", name)]
    done = clfeval(*shlex.split(command), *saves, **changes)
    assert done.code == 0, done.err
    told = done.err.splitlines()[-len(SAVED) :]
    assert [line.split()[-1] for line in told] == SAVED
    return {"stdout": done.out.encode(), **{name: Path(name).read_bytes() for name in SAVED}}


@pytest.mark.parametrize("kind", KINDS)
def test_two_runs_write_the_same_bytes_and_every_file_is_whole(kind: str) -> None:
    words, tables = KINDS[kind]
    first = everything(words)
    again = everything(words, PYTHONHASHSEED="2", POLARS_MAX_THREADS="1", TZ="Asia/Tokyo")
    assert {name for name in first if first[name] != again[name]} == set()
    assert {*os.listdir()} == {"t.csv", "wishes.yaml", *SAVED}
    saved = json.loads(first["r.json"])
    assert saved["command"] == words.split()[0]
    assert {*saved["tables"]} == {*tables.split()}
    rows = list(csv.DictReader(io.StringIO(first["r.csv"].decode())))
    assert [row["model"] for row in rows] == [row["model"] for row in saved["tables"]["models"]]
    assert first["r.md"].startswith(f"<!-- clfeval:{saved['command']} ".encode())
    assert first["r.html"].startswith(b"<!DOCTYPE html>\n")
    suites = ElementTree.fromstring(first["r.xml"])
    assert suites.tag == "testsuites"
    assert len(list(suites.iter("testcase"))) == len(saved["gates"]) > 1
    assert [name for name in first if str(ROOT / "fixtures").encode() in first[name]] == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_table_comes_as_csv(kind: str) -> None:
    words = shlex.split(KINDS[kind][0].replace("--show plots", ""))
    tables = json_document(clfeval(*words, "-q", "-f", "json"))["tables"]
    for name, rows in [*tables.items()][:: 1 if full() else 3]:
        done = clfeval(*words, "-q", "-f", "csv", "--show", name)
        found = list(csv.DictReader(io.StringIO(done.out)))
        assert (done.code, len(found)) == (0, len(rows)), name
        for cells, row in zip(found, rows, strict=True):
            assert {column: cells[column] for column in row} == csv_cells(row), name


def csv_cells(row: dict[str, Any]) -> dict[str, str]:
    """Return a row as CSV has it: a value beside its limits, lists joined, nothing for null."""
    values = {k: cell["value"] if isinstance(cell, dict) else cell for k, cell in row.items()}
    return {k: text(value) for k, value in values.items()}


def text(value: object) -> str:
    if isinstance(value, list):
        return " + ".join(map(str, value))
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def test_no_file_or_variable_of_the_place_changes_a_result(folder: Path) -> None:
    before = clfeval("mars", "t.csv", "-f", "json")
    for name in ("clfeval.toml", "pyproject.toml", ".clfeval.yaml", "setup.cfg", ".env"):
        Path(name).write_text("[tool.clfeval]\npositive = '0'\nmissing = 'drop'\n")
    changes = {"CLFEVAL_POSITIVE": "0", "CLFEVAL_MISSING": "drop", "CLFEVAL_FORMAT": "csv"}
    assert clfeval("mars", "t.csv", "-f", "json", **changes) == before


def test_the_order_of_rows_changes_only_the_hash_of_the_data() -> None:
    lines = SCORES.splitlines()
    results = []
    for body in (lines[1:], lines[:0:-1]):
        Path("t.csv").write_text("\n".join([lines[0], *body, ""]), encoding="utf-8")
        out = clfeval("mars", "t.csv", "-q", "-f", "json", "--by", "site", "--subsets", "2").out
        results.append(re.sub(r'data:\w{8}|"sha256": "\w+"', "", out))
    assert results[0] == results[1]


def test_nothing_names_the_machine(folder: Path) -> None:
    home = folder / "somewhere"
    home.mkdir()
    table = home / "preds.csv"
    table.write_text(SCORES, encoding="utf-8")
    files = everything(f"mars {table} {MARS}")
    private = {
        str(folder),
        "somewhere",
        str(Path.home()),
        os.getcwd(),
        "/tmp",
        socket.gethostname(),
    }
    private |= {getpass.getuser()} if len(getpass.getuser()) > 4 else set()
    for name, content in files.items():
        text = content.decode()
        assert "preds.csv" in text or name in ("r.csv", "r.xml")
        assert {word for word in private if len(word) > 1 and word in text} == set()
        assert not re.search(r"\b20\d\d-\d\d-\d\d|\b\d\d:\d\d:\d\d", text)
