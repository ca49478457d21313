"""Batches near their limits are planned and refused within seconds of processor time."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest

from clfeval.suite.running import execute_runs
from tests.suite.door import plan_of, problems

# the most values a file of 999 KB can hold, in short texts; and few long ones before them
FILES = {
    "list": f"x-a: [{'1, ' * 332_000}1]",
    "keys": "x-a:\n" + "".join(f"  k{i:06}: aaaa\n" for i in range(58_000)),
    "aliases": f"x-a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9]\nx-b: [{'*a , ' * 190_000}1]",
    "late": f"x-a: '{'x ' * 380_000}'\nx-b: [{'1,' * 110_000}1]",
}


@pytest.mark.slow  # by a clock: a machine may be slower
def test_a_matrix_of_9900_runs_is_planned_in_five_seconds(tmp_path: Path) -> None:
    cuts, levels = ([f"0.{i:04}" for i in range(1, n)] for n in (100, 101))
    text = f"""\
    version: 1
    runs:
      a:
        command: report
        input: t.csv
        matrix: {{threshold: [{", ".join(cuts)}], level: [{", ".join(levels)}]}}
    """
    start = process_time()
    found = [one.state for one in execute_runs(plan_of(tmp_path, text).runs, dry=True)]
    assert process_time() - start < 5
    assert found == ["ready"] * 99 * 100


@pytest.mark.parametrize("name", FILES)
def test_too_many_values_are_refused_in_three_seconds(name: str, tmp_path: Path) -> None:
    text = f"version: 1\n{FILES[name]}\n"
    assert len(text) < 999_424
    start = process_time()
    (place,) = problems(tmp_path, text)
    assert process_time() - start < 3
    assert place.endswith(" configuration")
