"""Errors for programs: JSON lines with `--format json`, annotations of CI servers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import clfeval as package
from clfeval.errors import MAX_PROBLEMS
from clfeval.pages.codes import ERRORS
from tests.process.program import (
    ESCAPE,
    NEEDS_BASH,
    NEEDS_FULL,
    clfeval,
    json_document,
    on_terminal,
    piped,
    shell,
)
from tests.process.test_boundary import broken
from tests.texts import check_text, numbers_in, problem_places

KEYS = ["code", "what", "file", "row", "column", "hint", "exit_code"]
BAD = "id,truth,a,b\n1,1,1,0\n2,0,x,\n3,1,0,1\n"


def objects(said: str) -> list[dict[str, Any]]:
    """Read standard error: every line of it is an object."""
    return [json.loads(line) for line in said.splitlines()]


@pytest.mark.parametrize(
    "asked", [["-f", "json"], ["-fjson"], ["--format", "json"], ["--format=json"]], ids=" ".join
)
def test_problems_of_a_table_are_lines_of_json_and_the_last_has_the_totals(
    asked: list[str],
) -> None:
    Path("t.csv").write_text(BAD)
    done = clfeval("mars", "t.csv", "-q", *asked)
    assert (done.code, done.out) == (3, "")
    *problems, totals = objects(done.err)
    assert [list(one) for one in problems] == [KEYS] * 2
    found = [(one["code"], one["file"], one["row"], one["column"]) for one in problems]
    # the header is row 1
    assert found == [("unknown-label", "t.csv", 3, "a"), ("missing-value", "t.csv", 3, "b")]
    assert {one["exit_code"] for one in (*problems, totals)} == {3}
    assert totals["totals"] == {"unknown-label": 1, "missing-value": 1}
    assert "--classes" in problems[0]["hint"]


def test_all_problems_carried_along_are_lines_and_all_are_counted() -> None:
    rows = MAX_PROBLEMS + 20
    cells = "".join(f"{i},{i % 2},x{i % 2}\n" for i in range(rows))
    Path("t.csv").write_text(f"id,truth,a\n1a,1,1\n2a,0,0\n{cells}", encoding="utf-8")
    *problems, totals = objects(clfeval("mars", "t.csv", "-q", "-f", "json").err)
    assert 5 < len(problems) <= MAX_PROBLEMS  # more than people get
    assert sum(totals["totals"].values()) >= len(problems)


def test_what_is_to_be_typed_next_stands_with_the_totals() -> None:
    Path("t.csv").write_text("truth,a\na,a\nb,b\na,b\n")
    done = clfeval("mars", "t.csv", "-q", "-f", "json")
    *_, totals = objects(done.err)
    assert done.code == totals["exit_code"] == 3
    assert totals["try"] is None
    commands = [reading["command"] for reading in totals["readings"]]
    assert commands == [f"clfeval mars t.csv -q -f json --positive {name}" for name in "ba"]


USAGE = {
    "an unknown option": ["mars", "t.csv", "--positiv", "1", "-f", "json"],
    "an unknown command": ["mras", "-f", "json"],
    "no table": ["mars", "--format=json"],
    "an unknown choice": ["mars", "t.csv", "-f", "json", "--missing", "keep"],
    "no number": ["mars", "t.csv", "-f", "json", "--level", "high"],
    "an option of the program": ["-f", "json"],
    "a number that is none": ["mars", "t.csv", "-f", "json", "--level", "high"],
    "no value": ["mars", "t.csv", "-fjson", "--level"],
}


@pytest.mark.parametrize("words", USAGE.values(), ids=USAGE.keys())
def test_what_the_command_line_cannot_be_read_for_is_json_too(words: list[str]) -> None:
    done = clfeval(*words)
    assert (done.code, done.out) == (2, "")
    problem, totals = objects(done.err)
    assert list(problem) == KEYS
    assert (problem["code"], problem["exit_code"]) == ("command-line", 2)
    assert totals == {"totals": {"command-line": 1}, "try": None, "exit_code": 2}
    assert ESCAPE not in done.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["mars", "gone.csv"], "no-such-file"),
        (["mars", "t.csv", "--level", "95"], "bad-option"),
        (["mars", "t.csv", "--fail-under", "recal=.5"], "unknown-metric"),
        (["mars", "t.csv", "--save", "t.txt"], "bad-suffix"),
        (["mars", "t.csv", "--save", "gone/r.json"], "output"),
    ],
)
def test_our_own_usage_errors_have_their_codes(words: list[str], code: str) -> None:
    done = clfeval(*words, "-q", "-f", "json")
    problem, totals = objects(done.err)
    assert problem["code"] == code
    assert code in ERRORS
    assert done.code == problem["exit_code"] == totals["exit_code"]


def test_a_bug_is_an_object_with_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clfeval.api.commands.mars.compute", broken(RuntimeError("out of order")))
    done = clfeval("mars", "t.csv", "-f", "json")
    assert (done.code, done.out) == (70, "")
    (bug,) = objects(done.err)
    assert list(bug) == [*KEYS, "traceback"]
    assert (bug["code"], bug["exit_code"]) == ("bug", 70)
    assert bug["what"] == bug["traceback"][-1] == "RuntimeError: out of order"
    assert f"(clfeval {package.__version__})" in bug["hint"]


def test_missed_gates_are_objects_and_the_result_is_there() -> None:
    done = clfeval("mars", "t.csv", "-q", "-f", "json", "--fail-under", "recall=0.9")
    assert done.code == 1
    assert json_document(done)["passed"] is False
    said = objects(done.err)
    assert [(one["code"], one["exit_code"]) for one in said] == [("gate-missed", 1)] * 2
    check_text(one["what"] for one in said)


@NEEDS_BASH
@NEEDS_FULL
def test_a_full_disk_is_an_object() -> None:
    problem, _ = objects(shell("clfeval mars t.csv -q -f json > /dev/full").err)
    assert problem["code"] == "output"
    check_text(problem["what"])


def test_people_are_told_in_lines_as_ever() -> None:
    for words in (
        ["mars", "gone.csv"],
        ["mars", "gone.csv", "-f", "csv"],
        ["mars", "gone.csv", "--", "-f", "json"],
    ):
        assert "{" not in clfeval(*words).err


def test_no_name_breaks_a_line_of_json() -> None:
    name = 'a"b\\c\x1b[31m\n\u2028{'
    done = piped(
        f'truth,"{name.replace(chr(34), 2 * chr(34))}"\n1,1\n0,x\n'.encode(),
        "mars",
        "-",
        "-q",
        "-f",
        "json",
    )
    problem, _ = objects(done.err)
    assert problem["column"] == name
    assert done.err.isascii()


def test_a_terminal_does_not_fold_what_a_program_reads() -> None:
    Path("t.csv").write_text(BAD)
    done = on_terminal("mars", "t.csv", "-q", "-f", "json", COLUMNS="40")
    assert len(objects(done.err)) == 3


def annotations(said: str) -> list[str]:
    return [line for line in said.splitlines() if line.startswith("::")]


def test_github_is_told_of_data_by_file_and_row() -> None:
    Path("sub").mkdir()
    Path("sub/t.csv").write_text(BAD)
    done = clfeval("mars", "sub/t.csv", "-q", "--annotate", "github")
    assert done.code == 3
    first, second = annotations(done.err)
    assert first.startswith("::error file=sub/t.csv,line=3,title=clfeval [unknown-label]::")
    assert "%0A" in first
    assert second.startswith("::error file=sub/t.csv,line=3,title=clfeval [missing-value]::")
    assert "sub/t.csv:3: column 'a': [unknown-label]" in problem_places(done.err)
    absolute = clfeval("mars", f"{os.getcwd()}/sub/t.csv", "-q", "--annotate=github")
    assert annotations(absolute.err) == [first, second]


def test_github_is_told_of_missed_gates_at_the_input_and_not_of_met_ones() -> None:
    words = ["--fail-under", "a:recall=0.9", "--fail-under", "b:recall=0.1", "-f", "json"]
    done = clfeval("mars", "t.csv", "-q", "--annotate", "github", *words)
    assert done.code == 1
    assert json_document(done)["command"] == "mars"  # stdout is the result's
    (line,) = annotations(done.err)
    assert line.startswith("::error file=t.csv,title=clfeval [fail-under]::a: recall ")
    pattern = clfeval("mars", "*.csv", "-q", "--annotate", "github", *words)
    assert "file=t.csv," in annotations(pattern.err)[0]
    stdin = piped(Path("t.csv").read_bytes(), "mars", "-", "-q", "--annotate", "github", *words)
    assert annotations(stdin.err)[0].startswith("::error title=")


def test_github_is_told_of_a_mistyped_option() -> None:
    done = clfeval("mars", "t.csv", "--annotate", "github", "--fo")
    assert done.code == 2
    (line,) = annotations(done.err)
    assert line.startswith("::error title=clfeval [command-line]::")


def test_no_name_begins_a_command_of_its_own() -> None:
    name = "50%\n::add-mask::x,y:z"
    table = f'truth,"{name}"\n1,0\n0,0\n'
    words = ["--fail-under", "recall=0.9", "-q", "-f", "csv"]
    done = piped(table.encode(), "mars", "-", "--annotate", "github", *words)
    # a line end in a name is written as two letters, as everywhere; % as GitHub has it
    (line,) = annotations(done.err)
    assert line.startswith(r"::error title=clfeval [fail-under]::50%25\n::add-mask::x,y:z: ")
    odd = "a,b:c%.csv"
    Path(odd).write_text("truth,a\n1,x\n0,0\n")
    (line,) = annotations(clfeval("mars", odd, "-q", "--annotate", "github").err)
    assert line.startswith("::error file=a%2Cb%3Ac%25.csv,line=2,title=")


def test_of_more_than_github_shows_the_last_says_how_many() -> None:
    names = [f"m{i}" for i in range(25)]
    Path("t.csv").write_text(f"truth,{','.join(names)}\n1{',0' * 25}\n0{',0' * 25}\n")
    done = clfeval("mars", "t.csv", "-q", "--annotate", "github", "--fail-under", "recall=0.5")
    lines = annotations(done.err)
    assert len(lines) == 10
    assert {16} <= {*numbers_in(lines[-1])}  # 25 - 9


REPORT = "gl-code-quality-report.json"


def code_quality_report() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(Path(REPORT).read_text())
    for one in found:
        assert set(one) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert one["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert one["location"]["lines"]["begin"] >= 1
        assert not one["location"]["path"].startswith(("./", "/"))
    prints = [one["fingerprint"] for one in found]
    assert len(set(prints)) == len(prints)
    return found


def test_gitlab_gets_a_report_of_gates_which_is_empty_when_all_are_met() -> None:
    words = ["mars", "./t.csv", "-q", "--annotate", "gitlab", "--fail-under"]
    done = clfeval(*words, "recall=0.9")
    assert done.code == 1
    found = [(one["check_name"], one["severity"]) for one in code_quality_report()]
    assert found == [("clfeval/fail-under", "major")] * 2
    assert {one["location"]["path"] for one in code_quality_report()} == {"t.csv"}
    before = {one["fingerprint"] for one in code_quality_report()}
    # the same gate missed by another value is the same finding
    Path("t.csv").write_text("id,truth,a,b\n1,1,0,0\n2,0,0,0\n3,1,0,1\n4,0,1,0\n")
    assert clfeval(*words, "recall=0.9").code == 1
    assert {one["fingerprint"] for one in code_quality_report()} == before
    assert clfeval(*words, "recall=0").code == 0
    assert code_quality_report() == []


def test_gitlab_gets_a_report_of_errors_too() -> None:
    Path("t.csv").write_text(BAD)
    assert clfeval("mars", "t.csv", "-q", "--annotate=gitlab").code == 3
    assert [
        (one["check_name"], one["severity"], one["location"]["lines"])
        for one in code_quality_report()
    ] == [
        ("clfeval/unknown-label", "critical", {"begin": 3}),
        ("clfeval/missing-value", "critical", {"begin": 3}),
    ]
    assert clfeval("mars", "t.csv", "--annotate=gitlab", "--fo").code == 2
    (one,) = code_quality_report()
    assert one["severity"] == "blocker"
    assert one["location"]["path"] == ".gitlab-ci.yml"  # where the command line stands


def test_the_same_problem_twice_is_two_findings() -> None:
    Path("t.csv").write_text("truth,a\n1,x\n0,x\n1,1\n")
    assert clfeval("mars", "t.csv", "-q", "--annotate=gitlab").code == 3
    assert [one["location"]["lines"]["begin"] for one in code_quality_report()] == [2, 3]


def test_a_report_that_cannot_be_written_is_said_and_a_dry_run_writes_none() -> None:
    words = ["mars", "t.csv", "-q", "--annotate", "gitlab"]
    assert clfeval(*words, "--dry-run").code == 0
    assert not Path(REPORT).exists()
    Path(REPORT).mkdir()
    done = clfeval(*words)
    assert (done.code, problem_places(done.err)) == (2, ["[output]"])
    Path("t.csv").write_text(BAD)
    both = clfeval(*words)
    assert (both.code, "unknown-label" in both.err, REPORT in both.err) == (3, True, True)


def test_a_place_in_a_configuration_is_a_file_and_a_line() -> None:
    Path("m.csv").write_text("model,recall,precision\na,.5,.6\nb,.7,.4\n")
    Path("w.yaml").write_text("recall: {maximize: [0, 1]}\nrecal: {maximize: [0, 1]}\nrecall: 1\n")
    words = ["mlcps", "m.csv", "-q", "--desirability", "w.yaml"]
    lines = clfeval(*words).err
    assert lines.startswith("w.yaml:3:1: ")
    problem, _ = objects(clfeval(*words, "-f", "json").err)
    assert (problem["file"], problem["row"]) == ("w.yaml", 3)
    (line,) = annotations(clfeval(*words, "--annotate", "github").err)
    assert line.startswith("::error file=w.yaml,line=3,title=")
