"""Every line of the example broken in turn: refused with a line number, or still a batch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from clfeval.cli.output import Output
from clfeval.document import Document
from clfeval.errors import ExitCode, UsageError
from clfeval.pages.batches import LEFT_OUT
from clfeval.suite import plan
from clfeval.suite.plan import build_plan
from clfeval.suite.run_options import RunLink
from clfeval.suite.running import execute_runs
from clfeval.suite.runs import Run
from tests.suite.mutants import mutated, text

PLACE = re.compile(r".*suite\.yaml:\d+:\d+")
SOME, ALL, PARTS = 120, 5000, 20


@pytest.fixture
def kept_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep how tables are read from one broken batch to the next: no table changes."""
    documents: dict[str, Document] = {}
    read_anew = plan.read_run_table
    monkeypatch.setattr(plan, "read_run_table", lambda run, _: read_anew(run, documents))


def still_batches(path: Path, numbers: Sequence[int]) -> list[int]:
    """Return the numbers of mutants that are still batches; others are refused with a place."""
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


@pytest.mark.usefixtures("kept_readings")
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


def descriptions(runs: Sequence[Run]) -> dict[str, str]:
    """Return by name what a run computes, what it saves, and of which other run's table."""
    described: dict[str, str] = {}
    for run in runs:
        source = run.input
        if isinstance(source, RunLink):
            source = (described.get(source.run, source.run), str(source.table))
        described[run.name] = repr((run.name, run.command, source, run.options, run.save))
    return described


@pytest.mark.slow
@pytest.mark.usefixtures("kept_readings", "quoted_words")  # of broken lines
@pytest.mark.parametrize("part", range(PARTS))
def test_five_thousand_broken_lines_are_refused_or_run(part: int, tmp_path: Path) -> None:
    """What is still a batch runs, or says where it does not; what ran before is not run again."""
    path = tmp_path / "suite.yaml"
    numbers = range(part * ALL // PARTS, (part + 1) * ALL // PARTS)
    batches = still_batches(path, numbers)
    assert 0 < len(batches) < len(numbers) / 2
    known: set[str] = set()
    for mutant in dict.fromkeys(map(mutated, batches)):
        path.write_text(mutant, encoding="utf-8")
        runs = build_plan([str(path)], Output).runs
        described = descriptions(runs)
        needed = {run.name for run in runs if described[run.name] not in known}
        for run in reversed(runs):
            if run.name in needed and run.required is not None:
                needed.add(run.required)
        for outcome in execute_runs([run for run in runs if run.name in needed]):
            assert outcome.code != ExitCode.BUG, (mutant, outcome.lines)
            if outcome.code == ExitCode.USAGE and outcome.state != LEFT_OUT:
                assert any(PLACE.match(line) for line in outcome.lines), (mutant, outcome.lines)
        known.update(described.values())
