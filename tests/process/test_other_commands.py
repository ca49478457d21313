"""Files that are no tables and words that another command has: one error, and the line to type."""

from __future__ import annotations

from pathlib import Path

import pytest

from clfeval import UsageError, mars
from tests.process.program import WIDE, clfeval

BATCH = "# weekly\n\nx-own: 1\nruns:\n  a: {command: report, input: t.csv}\nversion: 1\n"


@pytest.fixture(name="files")
def _files() -> None:
    for command in ("report", "mars"):
        save = ["--save", f"{command}.json", "--append", f"{command}.jsonl", "--label", "w1"]
        assert clfeval(command, "t.csv", "-q", *save).code == 0
    for name in ("report.json", "report.jsonl"):
        Path(f"odd {name}.csv").write_bytes(Path(name).read_bytes())
        Path(f"plain-{name.rpartition('.')[2]}").write_bytes(Path(name).read_bytes())
    Path("suite.yaml").write_text(BATCH, encoding="utf-8")
    Path("no-suite.csv").write_text(f"version: 1,{WIDE}", encoding="utf-8")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("command", "file", "what", "hint"),
    [
        ("report", "suite.yaml", "a batch of runs", "batch suite.yaml"),
        ("mlcps", "suite.yaml", "a batch of runs", "batch suite.yaml"),
        ("tune-jpt", "report.jsonl", "a history of clfeval", "history report.jsonl"),
        ("report", "mars.jsonl", "a history of clfeval", "history mars.jsonl"),
        (
            "mlcps",
            "odd report.jsonl.csv",
            "a history of clfeval",
            "history 'odd report.jsonl.csv'",
        ),
        ("mars", "plain-jsonl", "a history of clfeval", "history plain-jsonl"),
        ("mars", "report.json", "a saved result of clfeval", "report report.json"),
        ("phidelta", "plain-json", "a saved result of clfeval", "report plain-json"),
    ],
)
def test_a_file_of_ours_is_known_by_what_it_holds(
    command: str, file: str, what: str, hint: str
) -> None:
    done = clfeval(command, file)
    said = f"{file}: this is {what}, no table [wrong-format]\nhint: clfeval {hint}\n"
    assert (done.code, done.out, done.err) == (2, "", said)
    if "'" not in hint:  # what is proposed runs
        assert clfeval(*hint.split()).code == 0


@pytest.mark.usefixtures("files")
def test_a_table_with_a_key_of_batches_as_header_is_one_and_python_hears_the_same() -> None:
    assert "no-suite.csv: no truth column" not in clfeval("mars", "no-suite.csv").err
    assert "batch of runs" not in clfeval("mars", "no-suite.csv").err
    with pytest.raises(UsageError, match=r"hint: clfeval report report\.json"):
        mars("report.json")


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        (
            "mars --best-threshold f1",
            "mars has no --best-threshold: report has it",
            "report --best-threshold f1",
        ),
        ("report t.csv --best=3", "report has no --best: mars has it", "mars t.csv --best=3"),
        ("suite s.yaml", "clfeval has no command 'suite'", "batch s.yaml"),
        ("t.csv --id id", "'t.csv' is a file, no command", "report t.csv --id id"),
    ],
)
def test_words_of_another_command_name_it(words: str, what: str, hint: str) -> None:
    done = clfeval(*words.split())
    assert (done.code, done.err) == (2, f"{what} [command-line]\nhint: clfeval {hint}\n")


@pytest.mark.parametrize("words", ["mars t.csv --tresh 1", "marz t.csv", "--histroy h.jsonl"])
def test_words_of_no_command_are_refused_as_before(words: str) -> None:
    done = clfeval(*words.split())
    assert (done.code, "No such" in done.err) == (2, True)


def test_an_option_of_python_is_named_as_such_and_one_without_its_value_is_not() -> None:
    done = clfeval("report", "t.csv", "--run-files", "x")
    assert (done.code, done.err) == (
        2,
        "--run-files is an option of Python and of batches, not of a shell [command-line]\n"
        "hint: in Python clfeval.report(run_files=...), in a batch run-files: ...\n",
    )
    bare = clfeval("mars", "t.csv", "--reference")
    assert (bare.code, "'--reference' requires an argument" in bare.err) == (2, True)
