"""Files that are no tables and words that another command has: one error, and the line to type."""

from __future__ import annotations

from pathlib import Path

import pytest

from clfeval import UsageError, mars
from tests.process.program import WIDE, clfeval
from tests.texts import check_text, problem_places

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
    ("command", "file", "hint"),
    [
        ("report", "suite.yaml", "batch suite.yaml"),
        ("tune-jpt", "report.jsonl", "history report.jsonl"),
        ("report", "mars.jsonl", "history mars.jsonl"),
        ("mlcps", "odd report.jsonl.csv", "history 'odd report.jsonl.csv'"),
        ("mars", "plain-jsonl", "history plain-jsonl"),
        ("mars", "report.json", "report report.json"),
        ("phidelta", "plain-json", "report plain-json"),
    ],
)
def test_a_file_of_ours_is_known_by_what_it_holds(command: str, file: str, hint: str) -> None:
    done = clfeval(command, file)
    assert (done.code, done.out) == (2, "")
    assert problem_places(done.err) == [f"{file}: [wrong-format]"] or " " in file
    assert done.err.endswith(f"clfeval {hint}\n")
    check_text(done.err)
    if "'" not in hint:  # what is proposed runs
        assert clfeval(*hint.split()).code == 0


@pytest.mark.usefixtures("files")
def test_a_table_with_a_key_of_batches_as_header_is_one_and_python_hears_the_same() -> None:
    assert "[wrong-format]" not in clfeval("mars", "no-suite.csv").err
    with pytest.raises(UsageError, match=r"clfeval report report\.json"):
        mars("report.json")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("mars --best-threshold f1", "report --best-threshold f1"),
        ("report t.csv --best=3", "mars t.csv --best=3"),
        ("suite s.yaml", "batch s.yaml"),
        ("t.csv --id id", "report t.csv --id id"),
    ],
)
def test_words_of_another_command_name_it(words: str, hint: str) -> None:
    done = clfeval(*words.split())
    assert (done.code, problem_places(done.err)) == (2, ["[command-line]"])
    assert done.err.endswith(f"clfeval {hint}\n")
    check_text(done.err)


@pytest.mark.parametrize("words", ["mars t.csv --tresh 1", "marz t.csv", "--histroy h.jsonl"])
def test_words_of_no_command_are_refused_as_before(words: str) -> None:
    done = clfeval(*words.split())
    assert (done.code, problem_places(done.err)) == (2, [])  # as typer says it
    check_text(done.err)


def test_an_option_of_python_is_named_as_such_and_one_without_its_value_is_not() -> None:
    done = clfeval("report", "t.csv", "--run-files", "x")
    bare = clfeval("mars", "t.csv", "--reference")
    assert (done.code, bare.code, "run_files=" in done.err) == (2, 2, True)
    check_text([done.err, bare.err])
