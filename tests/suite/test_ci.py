"""What a CI server hears of a batch: a case for each run and gate, marks where a run went wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped

from clfeval.api.commands import mars
from tests.process.program import clfeval
from tests.suite.door import write_batch
from tests.texts import check_text, numbers_in, problem_places

BATCH = """\
version: 1
runs:
  fine: {command: mars, input: t.csv}
  gone: {command: mars, input: nowhere.csv}
  torn: {command: mars, input: torn.csv}
  strict: {command: report, input: t.csv, fail-under: {"b:roc_auc": 0.9}, warn-under: {"b:f1": 1}}
  after: {command: mlcps, input: {run: gone}}
"""
# of b's pairs .2 of a positive lies above one of three negatives, the others above all: 7/9
MISSED = [0.778, 0.9]


@pytest.fixture
def batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "torn.csv").write_text("truth,a\n1,1\n0,x\n,0\n")
    return Path(write_batch(tmp_path, BATCH)).name


def test_junit_has_a_case_for_each_run_that_says_whether_it_was_computed(batch: str) -> None:
    assert clfeval("batch", batch, "-q", "--save", "gates.xml").code == 3
    document = JUnitXml.fromfile("gates.xml")
    assert (document.tests, document.failures, document.errors, document.skipped) == (7, 1, 2, 1)
    suites = {suite.name: list(suite) for suite in document}
    assert list(suites) == [f"clfeval {one}" for one in ("fine", "gone", "torn", "strict", "after")]
    assert {cases[0].name for cases in suites.values()} == {"computed"}
    assert suites["clfeval fine"][0].is_passed
    (gone,) = suites["clfeval gone"][0].result
    assert isinstance(gone, Error)
    assert (gone.type, problem_places(gone.message)) == (
        "exit code 3",
        ["nowhere.csv: [no-such-file]"],
    )
    (torn,) = suites["clfeval torn"][0].result
    assert "torn.csv:3: column 'a'" in torn.text
    assert "torn.csv:4: column 'truth'" in torn.text
    computed, missed, warned = suites["clfeval strict"]
    assert computed.is_passed
    assert isinstance(missed.result[0], Failure)
    assert numbers_in(missed.result[0].message) == MISSED
    check_text(missed.result[0].message)
    assert warned.is_passed
    (left,) = suites["clfeval after"][0].result
    assert isinstance(left, Skipped)
    check_text(left.message)


def test_marks_stand_at_the_file_and_row_of_each_run(batch: str) -> None:
    done = clfeval("batch", batch, "-q", "--annotate", "github")
    marks = [line for line in done.err.splitlines() if line.startswith("::")]
    assert [mark.partition("::")[2].partition("::")[0] for mark in marks] == [
        "error file=nowhere.csv,title=clfeval [no-such-file]",
        "error file=torn.csv,line=3,title=clfeval [unknown-label]",
        "error file=torn.csv,line=4,title=clfeval [missing-value]",
        "error file=t.csv,title=clfeval [fail-under]",
        "warning file=t.csv,title=clfeval [warn-under]",
    ]
    assert numbers_in(marks[3]) == MISSED
    assert clfeval("batch", batch, "-q", "--annotate", "gitlab").code == 3
    found: list[dict[str, Any]] = json.loads(Path("gl-code-quality-report.json").read_text())
    assert [(one["location"]["path"], one["location"]["lines"]["begin"]) for one in found] == [
        ("nowhere.csv", 1),
        ("torn.csv", 3),
        ("torn.csv", 4),
        ("t.csv", 1),
        ("t.csv", 1),
    ]


LINKED = """\
version: 1
runs:
  a: {command: report, input: t.csv}
  b: {command: mlcps, input: {run: a, table: measures}, fail-under: {normalised: 1}}
"""
PATTERN = """\
version: 1
runs:
  a: {command: mars, input: "sub/*.csv", fail-under: {"b:recall": 1}}
"""


@pytest.mark.parametrize(("text", "count"), [(LINKED, 2), (PATTERN, 1)])
def test_gates_of_links_and_patterns_are_marked_at_the_batch(
    text: str, count: int, batch: str
) -> None:
    Path("sub").mkdir()
    Path("sub/p.csv").write_text("truth,b\n1,0\n0,0\n")
    write_batch(Path(), text, batch)
    done = clfeval("batch", batch, "-q", "--annotate", "github")
    assert done.code == 1
    marks = [line for line in done.err.splitlines() if line.startswith("::")]
    assert len(marks) == count
    start = "::error file=suite.yaml,title=clfeval [fail-under]::"
    assert all(mark.startswith(start) for mark in marks)


def test_programs_get_what_is_wrong_as_lines_of_json_each_with_its_run(batch: str) -> None:
    done = clfeval("batch", batch, "-q", "-f", "json")
    lines = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
    problems = [
        (one["run"], one["code"], one["file"], one["row"]) for one in lines if "what" in one
    ]
    assert problems == [
        ("gone", "no-such-file", "nowhere.csv", None),
        ("torn", "unknown-label", "torn.csv", 3),
        ("torn", "missing-value", "torn.csv", 4),
        ("strict", "gate-missed", None, None),
        ("strict", "gate-missed", None, None),
    ]
    assert [one["exit_code"] for one in lines if one.get("code") == "gate-missed"] == [1, 0]
    assert [one["totals"] for one in lines if "totals" in one and one["run"] == "torn"] == [
        {"missing-value": 1, "unknown-label": 1}
    ]


def test_a_bug_in_a_run_is_said_to_be_one(batch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr(mars, "compute", broken)
    done = clfeval("batch", batch, "-q", "--only", "fine", "--annotate", "github")
    assert done.code == 70
    assert "fine: RuntimeError: out of order" in done.err
    (mark,) = [line for line in done.err.splitlines() if line.startswith("::error ")]
    assert "[bug]::" in mark
    assert mark.endswith("RuntimeError: out of order")
    done = clfeval("batch", batch, "-q", "--only", "fine", "-f", "json")
    (line,) = (json.loads(line) for line in done.err.splitlines() if line.startswith("{"))
    assert (line["run"], line["code"], line["exit_code"]) == ("fine", "bug", 70)
    assert line["what"] == line["traceback"][-1] == "RuntimeError: out of order"
    check_text(line["hint"])
