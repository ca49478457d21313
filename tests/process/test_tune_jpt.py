"""tune-jpt at the shell: exit codes, gates, streams, saved files, the same bytes twice."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.process.program import Done, json_document, on_terminal
from tests.process.program import clfeval_in_lines as clfeval
from tests.process.program import piped_in_lines as piped
from tests.texts import check_text, problem_places

SCORES = Path(__file__).parents[2] / "fixtures" / "breast-cancer" / "scores.csv"
CANCER = [str(SCORES), "--positive", "malignant"]
CCP, RF = "67,5,33,95", "69,15,31,85"
BOTH = ["--counts", f"ccp={CCP}", "--counts", f"rf={RF}"]


def tune(*words: str) -> Done:
    return clfeval("tune-jpt", *words)


def test_four_numbers_are_enough() -> None:
    done = tune("--counts", CCP, "--prevalence", "1:100")
    assert (done.code, done.err) == (0, "")
    assert "1:100" in done.out
    assert "0.0099" in done.out, "the prevalence stands beside the odds"
    assert "(1:100)" in done.out
    assert "0.118" in done.out  # PPV: 67 / (67 + 5 x 100) of every 567 answers


ERRORS: dict[str, tuple[list[str], int, str]] = {
    "nothing to tune": ([], 2, "[no-input]"),
    "a prevalence above 1": (["--counts", CCP, "--prevalence", "100"], 2, "--prevalence 0.01"),
    "prevalence 0": (["--counts", CCP, "--prevalence", "0"], 2, "--prevalence"),
    "fractions": (["--counts", "67.5,5,33,95"], 2, "67.5"),
    "one class": (["--counts", "0,5,0,95"], 3, "--counts"),
    "no such file": (["gone.csv"], 3, "gone.csv: "),
    "a bad cell": (["bad.csv"], 3, "bad.csv:3: column 'tp': "),
    "counts and a table": (["t.csv", "--counts", CCP], 2, "--counts"),
    "no such option": (["--count", CCP], 2, "--count"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_have_their_code_and_nothing_on_stdout(name: str) -> None:
    Path("bad.csv").write_text("model,tp,fp,fn,tn\na,1,1,1,1\nb,x,1,1,1\n", encoding="utf-8")
    words, code, part = ERRORS[name]
    done = tune(*words, "-q", "--save", "r.json")
    assert (done.code, done.out) == (code, "")
    assert part in done.err
    check_text(done.err)
    assert not [path.name for path in Path().iterdir() if "r.json" in path.name]


@pytest.mark.parametrize("words", [[], ["--prevalence", "1:100"]])
def test_no_table_on_a_terminal_does_not_wait_for_one(words: list[str]) -> None:
    done = on_terminal("tune-jpt", *words)
    assert (done.code, done.out) == (2, "")
    assert problem_places(done.err) == ["[no-input]"]


def test_a_terminal_gets_plots_and_a_pipe_does_not() -> None:
    seen = on_terminal("tune-jpt", *BOTH, "--prevalence", "1:100", "-q")
    assert seen.code == 0
    assert len(seen.out.splitlines()) > len(
        tune(*BOTH, "--prevalence", "1:100", "-q").out.splitlines()
    )


def test_gates_at_two_targets_have_their_odds_too() -> None:
    words = [*BOTH, "--prevalence", "1:100", "--prevalence", "1:10", "-q", "-f", "json"]
    done = tune(*words, "--fail-under", "ppv=0.1", "--fail-over", "rf:fp=140")
    assert (done.code, len(done.err.splitlines())) == (1, 2)
    gates = json_document(done)["gates"]
    assert [gate["model"] for gate in gates] == [
        "ccp at 1:100",
        "ccp at 1:10",
        "rf at 1:100",
        "rf at 1:10",
        "rf at 1:100",
        "rf at 1:10",
    ]
    assert json_document(done)["passed"] is False


def test_cutoffs_are_ready_to_use() -> None:
    words = ("--show", "cutoffs", "--measure", "tar", "--interval", "none")
    done = tune(*CANCER, "-q", "-f", "csv", *words)
    assert done.code == 0
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert list(rows[0]) == ["model", "measure", "odds", "threshold", "rule"]
    assert {"1:1000", "1:1", "1000:1"} <= {row["odds"] for row in rows}


def test_a_table_comes_through_a_pipe() -> None:
    content = b"model,tp,fp,fn,tn\nccp,67,5,33,95\nrf,69,15,31,85\n"
    done = piped(content, "tune-jpt", "-", "--prevalence", "1:100", "-q", "-f", "json")
    found = json_document(done)
    assert [item["name"] for item in found["inputs"]] == ["<stdin>"]
    assert (
        found["tables"]
        == json_document(tune(*BOTH, "--prevalence", "1:100", "-q", "-f", "json"))["tables"]
    )
    empty = piped(b"", "tune-jpt", "-", "-q")
    assert (empty.code, empty.out) == (3, "")
