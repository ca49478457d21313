"""The tables that come with the program: written out, never over another file, and usable."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from clfeval.cli.run import TABLES
from tests.process.program import clfeval

SAME = {
    "scores": "breast-cancer/scores",
    "labels": "breast-cancer/labels",
    "metrics": "metrics/test",
}
FILES = [f"{name}.csv" for name in sorted(SAME)]


def test_the_example_is_a_copy_of_tables_whose_origin_is_documented(fixtures: Path) -> None:
    for name, file in SAME.items():
        assert (TABLES / f"{name}.csv").read_bytes() == (fixtures / f"{file}.csv").read_bytes()


@pytest.mark.parametrize("place", [["tables"], ["my tables/of models"]])
def test_every_command_that_is_proposed_runs_on_the_tables(folder: Path, place: list[str]) -> None:
    done = clfeval("example", *place)
    assert done.code == 0
    assert sorted(path.name for path in Path(folder, *place).glob("*")) == FILES
    commands = [line.strip() for line in done.out.splitlines() if line.startswith("  clfeval ")]
    assert {shlex.split(line)[1] for line in commands} >= {"report", "mars", "tune-jpt", "mlcps"}
    for line in commands:
        again = clfeval(*shlex.split(line)[1:], "-q")
        assert (again.code, again.err) == (0, ""), line


def test_another_file_is_never_replaced_and_nothing_is_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder := tmp_path)
    for path in folder.iterdir():
        path.unlink()
    Path("scores.csv").write_text("mine\n")
    done = clfeval("example")
    assert (done.code, done.out) == (2, "")
    assert "scores.csv: " in done.err
    assert [path.name for path in folder.glob("*")] == ["scores.csv"]
    assert Path("scores.csv").read_text() == "mine\n"
    assert clfeval("example", "a").code == clfeval("example", "a").code == 0


@pytest.mark.parametrize("words", [["scores.csv"], ["a", "b"]])
def test_what_is_no_folder_is_refused(folder: Path, words: list[str]) -> None:
    Path("scores.csv").write_text("mine\n")
    assert clfeval("example", *words).code == 2
