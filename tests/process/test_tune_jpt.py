"""tune-jpt at the shell: exit codes, gates, streams, saved files, the same bytes twice."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.methods.tune_jpt.requests.door import command
from tests.process.program import (
    NEEDS_BASH,
    NEEDS_FULL,
    Done,
    check_unwritable,
    on_terminal,
    shell,
)
from tests.process.program import (
    clfeval_in_lines as clfeval,
)
from tests.process.program import (
    piped_in_lines as piped,
)
from tests.thoroughness import thinned

SCORES = Path(__file__).parents[2] / "fixtures" / "breast-cancer" / "scores.csv"
CANCER = [str(SCORES), "--positive", "malignant"]
CCP, RF = "67,5,33,95", "69,15,31,85"
BOTH = ["--counts", f"ccp={CCP}", "--counts", f"rf={RF}"]


def tune(*words: str) -> Done:
    return clfeval("tune-jpt", *words)


def document(done: Done) -> dict[str, Any]:
    assert done.code in (0, 1)
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_four_numbers_are_enough() -> None:
    done = tune("--counts", CCP, "--prevalence", "1:100")
    assert (done.code, done.err) == (0, "")
    assert "1:100" in done.out
    assert "0.0099" in done.out, "the prevalence stands beside the odds"
    assert "positives:negatives" in done.out
    assert "0.118" in done.out  # PPV: 67 / (67 + 5 x 100) of every 567 answers


ERRORS: dict[str, tuple[list[str], int, str]] = {
    "nothing to tune": ([], 2, "nothing to tune"),
    "a prevalence above 1": (["--counts", CCP, "--prevalence", "100"], 2, "--prevalence 0.01"),
    "prevalence 0": (["--counts", CCP, "--prevalence", "0"], 2, "no positives"),
    "fractions": (["--counts", "67.5,5,33,95"], 2, "not a whole number"),
    "one class": (["--counts", "0,5,0,95"], 3, "no positive row"),
    "no such file": (["gone.csv"], 3, "gone.csv: no such file"),
    "a bad cell": (["bad.csv"], 3, "bad.csv:3: column 'tp': 'x' is not a count"),
    "counts and a table": (["t.csv", "--counts", CCP], 2, "give one"),
    "no such option": (["--count", CCP], 2, "--count"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_have_their_code_and_nothing_on_stdout(name: str) -> None:
    Path("bad.csv").write_text("model,tp,fp,fn,tn\na,1,1,1,1\nb,x,1,1,1\n", encoding="utf-8")
    words, code, part = ERRORS[name]
    done = tune(*words, "-q", "--save", "r.json")
    assert (done.code, done.out) == (code, "")
    assert part in done.err
    assert "Traceback" not in done.err
    assert not [path.name for path in Path().iterdir() if "r.json" in path.name]


@pytest.mark.parametrize("words", [[], ["--prevalence", "1:100"]])
def test_no_table_on_a_terminal_does_not_wait_for_one(words: list[str]) -> None:
    done = on_terminal("tune-jpt", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("nothing to tune [no-input]\nhint: ")


def test_a_terminal_gets_plots_and_a_pipe_does_not() -> None:
    seen = on_terminal("tune-jpt", *BOTH, "--prevalence", "1:100", "-q")
    assert seen.code == 0
    assert len(seen.out.splitlines()) > len(
        tune(*BOTH, "--prevalence", "1:100", "-q").out.splitlines()
    )


def test_gates_at_one_target_have_the_models_names() -> None:
    done = tune(*BOTH, "--prevalence", "1:100", "-q", "--fail-under", "ppv=0.1")
    # rf: 0.69 / (0.69 + 0.15 x 100)
    assert done.code == 1
    (line,) = done.err.splitlines()
    assert line.startswith("gate missed: rf at 1:100: ppv is 0.044,")
    assert line.endswith(", fail-under 0.1")


def test_gates_at_two_targets_have_their_odds_too() -> None:
    words = [*BOTH, "--prevalence", "1:100", "--prevalence", "1:10", "-q", "-f", "json"]
    done = tune(*words, "--fail-under", "ppv=0.1", "--fail-over", "rf:fp=140")
    assert done.code == 1
    said = [line.split(" is ")[0] for line in done.err.splitlines()]
    assert said == ["gate missed: rf at 1:100: ppv", "gate missed: rf at 1:100: fp"]
    gates = document(done)["gates"]
    assert [gate["model"] for gate in gates] == [
        "ccp at 1:100", "ccp at 1:10", "rf at 1:100", "rf at 1:10", "rf at 1:100", "rf at 1:10",
    ]  # fmt: skip
    assert document(done)["passed"] is False


@pytest.mark.parametrize(("counts", "gate", "code", "said"), [
    ("67,0,33,100", ["--fail-under", "epa=1e9"], 0, ""),
    ("67,0,33,100", ["--fail-over", "epa=1e9"], 1, "epa is infinite, fail-over 1000000000.0"),
    ("0,0,9,9", ["--fail-under", "ppv=0"], 1, "ppv is undefined (no_positive_prediction), fail-"),
    ("0,0,9,9", ["--fail-over", "ppv=1"], 1, "ppv is undefined (no_positive_prediction), fail-"),
    ("9,9,0,0", ["--fail-under", "mcc=-1"], 1, "mcc is undefined (zero_margin), fail-under -1.0"),
])  # fmt: skip
def test_infinite_and_undefined_values_at_gates(
    counts: str, gate: list[str], code: int, said: str
) -> None:
    done = tune("--counts", counts, "--prevalence", "1:100", "-q", *gate)
    assert done.code == code
    assert said in done.err
    assert len(done.err.splitlines()) == code


def test_a_baseline_of_the_same_settings() -> None:
    words = ["--prevalence", "1:100", "-q"]
    assert tune("--counts", CCP, *words, "--save", "old.json").code == 0
    drop = ["--baseline", "old.json", "--max-drop"]
    worse = tune("--counts", RF, *words, *drop, "ppv=0.05")
    assert worse.code == 1
    assert worse.err.startswith(
        "gate missed: model at 1:100: ppv is worse than the baseline by 0.07"
    )
    assert tune("--counts", RF, *words, *drop, "ppv=0.075").code == 0
    assert tune("--counts", CCP, *words, *drop, "ppv=0").code == 0
    other = tune("--counts", CCP, "--prevalence", "1:10", "-q", *drop, "ppv=0")
    assert (other.code, other.out) == (2, "")
    assert "odds 1:100 there, 1:10 here" in other.err


@pytest.mark.slow
@NEEDS_BASH
@pytest.mark.parametrize("form", thinned(["csv", "json", "markdown", "table"], ["csv"]))
def test_a_reader_that_leaves_early_ends_us_quietly(form: str) -> None:
    command = f"clfeval tune-jpt --counts {CCP} --interval none -q -f {form}"
    done = shell(f"{command} | head -1; exit ${{PIPESTATUS[0]}}")
    assert done.code in (0, 141)
    assert (len(done.out.splitlines()), done.err) == (1, "")


@pytest.mark.slow  # three processes; those of mars and of mlcps are in the gate
@NEEDS_BASH
@NEEDS_FULL
def test_streams_that_cannot_be_written() -> None:
    command = f"clfeval tune-jpt --counts {CCP} -q --fail-under ppv=1"
    check_unwritable(command)


SAVED = ["r.json", "r.csv", "r.md", "r.html", "r.xml"]
EVERYTHING = [
    *CANCER, "--model", "tree", "--model", "svm", "--prevalence", "1:100", "--population", "5000",
    "--measure", "cost:fp=1,fn=10",
    "--prevalence", "0.001..0.02", "--interval", "wilson", "--measure", "ppv", "--measure", "mcc",
    "--measure", "expected_cost",
]  # fmt: skip
TABLES = {
    "models", "expected", "crossovers", "winners", "at_prevalence", "thresholds", "cutoffs",
    "ranges", "sweep",
}  # fmt: skip


def everything(**changes: str) -> dict[str, bytes]:
    """Run with every kind of table and file, and return every byte written."""
    words = [word for name in SAVED for word in ("--save", name)]
    gate = ["--fail-under", "ppv=0.01"]
    done = clfeval("tune-jpt", *EVERYTHING, *gate, "--show", "plots", *words, **changes)
    assert done.code == 0, done.err
    assert done.err.splitlines()[-len(SAVED) :] == [f"wrote {name}" for name in SAVED]
    return {"stdout": done.out.encode(), **{name: Path(name).read_bytes() for name in SAVED}}


def test_every_file_is_saved_whole_and_the_same_bytes_come_twice() -> None:
    first = everything()
    again = everything(PYTHONHASHSEED="2", POLARS_MAX_THREADS="1", TZ="Asia/Tokyo")
    assert {name for name in first if first[name] != again[name]} == set()
    saved = json.loads(first["r.json"])
    assert saved["command"] == "tune-jpt"
    assert set(saved["tables"]) == TABLES
    rows = list(csv.DictReader(io.StringIO(first["r.csv"].decode())))
    assert [row["model"] for row in rows] == [row["model"] for row in saved["tables"]["models"]]
    assert first["r.md"].startswith(b"<!-- clfeval:tune-jpt ")
    assert first["r.html"].startswith(b"<!DOCTYPE html>\n")
    suites = ElementTree.fromstring(first["r.xml"])
    assert suites.tag == "testsuites"
    assert len(list(suites.iter("testcase"))) == len(saved["gates"]) > 1
    for name in SAVED:
        assert str(SCORES.parent).encode() not in first[name]


def test_every_table_comes_as_csv() -> None:
    saved = json.loads(command(*EVERYTHING, "-f", "json")[1])["tables"]
    assert set(saved) == TABLES
    for name, rows in saved.items():
        code, out = command(*EVERYTHING, "-f", "csv", "--show", name)
        assert code == 0
        found = list(csv.DictReader(io.StringIO(out)))
        assert len(found) == len(rows) > 0
        for cells, row in zip(found, rows, strict=True):
            for column, cell in row.items():
                wanted = cell["value"] if isinstance(cell, dict) else cell
                if isinstance(wanted, float):
                    assert float(cells[column]) == wanted
                elif not isinstance(wanted, list):
                    assert cells[column] == ("" if wanted is None else str(wanted))
    code, message = command(*EVERYTHING, "-f", "csv", "--show", "sweeep")
    assert code == 2
    assert "did you mean 'sweep'?" in message


def test_cutoffs_are_ready_to_use() -> None:
    done = tune(*CANCER, "-q", "-f", "csv", "--show", "cutoffs", "--measure", "tar")
    assert done.code == 0
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert list(rows[0]) == ["model", "measure", "odds", "threshold", "rule"]
    assert {"1:1000", "1:1", "1000:1"} <= {row["odds"] for row in rows}


def test_a_table_comes_through_a_pipe() -> None:
    content = b"model,tp,fp,fn,tn\nccp,67,5,33,95\nrf,69,15,31,85\n"
    done = piped(content, "tune-jpt", "-", "--prevalence", "1:100", "-q", "-f", "json")
    found = document(done)
    assert [item["name"] for item in found["inputs"]] == ["<stdin>"]
    assert (
        found["tables"]
        == document(tune(*BOTH, "--prevalence", "1:100", "-q", "-f", "json"))["tables"]
    )
    empty = piped(b"", "tune-jpt", "-", "-q")
    assert (empty.code, empty.out) == (3, "")


def test_notes_go_to_stderr_and_can_be_silenced() -> None:
    loud = tune(*CANCER, "-f", "csv", "--measure", "ppv")
    assert loud.code == 0
    lines = loud.err.splitlines()
    assert "scores.csv: wide; truth 'truth'" in lines[0]
    assert all(line.startswith("note: ") for line in lines[1:])
    assert [line for line in lines if line.endswith("[advice]")]
    assert [line for line in lines if line.endswith("[chosen-threshold]")]
    quiet = tune(*CANCER, "-f", "csv", "--measure", "ppv", "-q")
    assert (quiet.out, quiet.err) == (loud.out, "")
