"""Every line of the example broken in turn: refused with a line number, or still a batch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from clfeval.cli.output import Output
from clfeval.errors import ExitCode, UsageError
from clfeval.pages.batches import LEFT_OUT
from clfeval.suite.plan import build_plan
from clfeval.suite.running import execute_runs
from tests.suite.mutants import mutated, text

PLACE = re.compile(r".*suite\.yaml:\d+:\d+")
SOME, ALL = 120, 5000


def still_batches(path: Path, numbers: Sequence[int]) -> list[int]:
    """Return the mutants that are batches still; the others are refused with a place."""
    fine = []
    for number in numbers:
        path.write_text(mutated(number), encoding="utf-8")
        try:
            build_plan([str(path)], Output)
            fine.append(number)
        except UsageError as error:
            unplaced = [str(one) for one in error.problems if not PLACE.fullmatch(one.file or "")]
            assert unplaced == [], number
    return fine


def test_a_broken_line_is_refused_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(text(), encoding="utf-8")
    assert len(build_plan([str(path)], Output).runs) == 9
    fine = still_batches(path, range(SOME))
    assert 0 < len(fine) < SOME / 2
    lines = len(text().splitlines())
    assert {number % lines for number in {*range(SOME)} - {*fine}} >= {*range(1, lines)} - {3}


@pytest.mark.parametrize(
    ("inputs", "names"),
    [
        ("/, ., a.csv", ["r[/]", "r[.]", "r[a]"]),
        ("/, /a.csv, /b/a.csv", ["r[.]", "r[a]", "r[b/a]"]),
    ],
)
def test_folders_without_a_name_are_labelled_by_their_path(
    inputs: str, names: list[str], folder: Path
) -> None:
    run = f"command: report, inputs: [{inputs}], positive: x"
    Path("suite.yaml").write_text(f"version: 1\nruns: {{r: {{{run}}}}}", encoding="utf-8")
    assert [run.name for run in build_plan(["suite.yaml"], Output).runs] == names


@pytest.mark.slow
@pytest.mark.usefixtures("quoted_words")  # of broken lines
def test_five_thousand_broken_lines_are_refused_with_their_number(tmp_path: Path) -> None:
    fine = still_batches(tmp_path / "suite.yaml", range(ALL))
    assert 0 < len(fine) < ALL / 2


@pytest.mark.slow
@pytest.mark.usefixtures("quoted_words")  # of broken lines
def test_what_is_still_a_batch_runs_or_says_where_it_does_not(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    done: set[str] = set()
    for number in still_batches(path, range(ALL)):
        mutant = mutated(number)
        if mutant in done:
            continue
        done.add(mutant)
        path.write_text(mutant, encoding="utf-8")
        for one in execute_runs(build_plan([str(path)], Output).runs):
            assert one.code != ExitCode.BUG, (number, one.lines)
            if one.code == ExitCode.USAGE and one.state != LEFT_OUT:
                assert any(PLACE.match(line) for line in one.lines), (number, one.lines)
