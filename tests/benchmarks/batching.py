"""Topic P: a thousand runs over a thousand small files, beside the same computations alone."""

from __future__ import annotations

import random

from tests.benchmarks.measure import MIB, clfeval, interleave, python
from tests.benchmarks.report import Check, print_table, ratio
from tests.benchmarks.tables import FOLDER

RUNS, ROWS, FEW, ROUNDS = 1000, 100, 100, 1
LIMIT = 4.0  # times the pure computation
GROWTH = 48  # MiB more for ten times the runs
ALONE = """
import sys
from pathlib import Path
import clfeval
for path in sorted(Path(sys.argv[1]).glob("*.csv"))[: int(sys.argv[2])]:
    clfeval.report(path, positive="1")
"""
SUITE = """\
version: 1
defaults: {{positive: "1", command: report}}
runs:
  each: {{inputs: "{glob}", fail-under: {{roc_auc: 0.01}}, save: "out/{{name}}.json"}}
"""


def _suite(glob: str, name: str) -> str:
    path = FOLDER / "batch" / name
    path.write_text(SUITE.format(glob=glob))
    return str(path)


def _tables() -> None:
    """Write small tables of two scored models, each of a seed of its own."""
    folder = FOLDER / "batch" / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(RUNS):
        dice = random.Random(number)
        lines = ["truth,a,b"]
        for _ in range(ROWS):
            truth = dice.randint(0, 1)
            lines.append(f"{truth},{(truth + dice.random()) / 2:.3f},{dice.random():.3f}")
        (folder / f"t{number:04}.csv").write_text("\n".join(lines) + "\n")


def batches() -> bool:
    """P: at most four times the pure computation; memory does not grow with the runs."""
    _tables()
    whole, part = _suite("tables/*.csv", "all.yaml"), _suite("tables/t00*.csv", "few.yaml")
    folder = str(FOLDER / "batch" / "tables")
    alone, batch = f"clfeval.report, {RUNS:,} times", f"clfeval batch, {RUNS:,} runs, saved"
    few = f"clfeval batch, {FEW} runs, saved"
    done = interleave(
        {
            alone: (python(ALONE, folder, str(RUNS)), ROUNDS),
            batch: (clfeval("batch", whole, "-q"), ROUNDS),
            few: (clfeval("batch", part, "-q"), ROUNDS),
        }
    )
    more = (done[batch].peak - done[few].peak) / MIB
    flat = Check(f"{more:+.0f} MiB on {few}", f"<= +{GROWTH} MiB", more <= GROWTH)
    checks = {batch: [ratio(done[batch], done[alone], LIMIT), flat]}
    return print_table(f"P  batches: {RUNS:,} files of {ROWS} rows", done, checks)
