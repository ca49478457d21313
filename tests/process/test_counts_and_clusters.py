"""Clusters and counts: what is proposed ends in a result, for one file and for two."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import polars as pl
import pytest

from tests.methods.recalibrate.test_cross_fitting import random_table
from tests.process.program import clfeval, json_document


@pytest.fixture(autouse=True)
def input_files(folder: Path) -> None:
    """Write two tables of rows with patients, and their counts."""
    for number, name in enumerate("ab"):
        table = random_table(number, 300).with_columns(pl.col("id") + 1000 * number)
        table.select("id", "truth", "gbm", patient=pl.col("id") % 40).write_csv(f"{name}.csv")
        words = ["count", f"{name}.csv", "--model", "gbm", "--save", f"{name}.counts.parquet"]
        assert clfeval(*words, "-q").code == 0


def proposed_command(message: str) -> list[str]:
    """Return the words of the command that an error proposes."""
    line = next(line for line in message.splitlines() if line.startswith("hint: clfeval "))
    return shlex.split(line.removeprefix("hint: clfeval "))


@pytest.mark.parametrize("names", [["a"], ["a", "b"]])
@pytest.mark.parametrize("command", ["recalibrate", "report"])
def test_clusters_of_counts_are_asked_of_the_rows(command: str, names: list[str]) -> None:
    counts = [f"{name}.counts.parquet" for name in names]
    refused = clfeval(command, *counts, "--cluster", "patient")
    assert (refused.code, "[needs-predictions]" in refused.err) == (2, True)
    assert "hint: give the table of rows in place of a.counts.parquet, or leave" in refused.err
    rows = [f"{name}.csv" for name in names]
    given = clfeval(command, *rows, "--model", "gbm", "--cluster", "patient")
    assert (given.code, "independent clusters of 'patient'" in given.out) == (0, True)
    left_out = clfeval(command, *counts)
    assert (left_out.code, "assumes independent rows" in left_out.out) == (0, True)


@pytest.mark.parametrize("files", [["a.csv"], ["a.csv", "b.csv"]])
@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--min-cell", "5"],
        ["--min-cell=5", "--save=x.counts.parquet"],
        ["--save", "x.counts.parquet", "--save", "x.json"],
    ],
)
def test_a_count_of_clusters_proposes_a_command_that_runs(
    options: list[str], files: list[str]
) -> None:
    words = [*files, "--model", "gbm", "--cluster", "patient", *options]
    refused = clfeval("count", *words)
    assert (refused.code, "count has no --cluster" in refused.err) == (2, True)
    command = proposed_command(refused.err)
    saved = ["--save", "x.json"] if "x.json" in options else []
    assert command == ["report", *files, "--model", "gbm", "--cluster", "patient", *saved]
    done = clfeval(*command)
    assert (done.code, "independent clusters of 'patient'" in done.out) == (0, True)
    assert not Path("x.counts.parquet").exists()


def test_files_that_only_one_command_writes_are_not_proposed_to_another() -> None:
    words = ["a.csv", "--reference", "gbm", "--save", "x.calibrator.json", "--save", "x.md"]
    refused = clfeval("recalibrate", *words)
    expected = ["report", "a.csv", "--reference", "gbm", "--save", "x.md"]
    assert proposed_command(refused.err) == expected


def test_a_note_of_count_sends_clusters_to_the_rows() -> None:
    done = clfeval("count", "a.csv", "--model", "gbm", "-f", "json", "-q")
    (note,) = (
        note["message"] for note in json_document(done)["warnings"] if note["code"] == "may-share"
    )
    assert re.search(r"'patient' repeats, and counts have no clusters", note)
    assert note.endswith("evaluate the rows with --cluster patient")
