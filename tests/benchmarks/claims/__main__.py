"""Print how often sentences are right and false; exit 1 where that is not what is promised."""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.claims import (
    SEED,
    Cell,
    equal_models,
    no_faults,
    planted_faults,
    run,
    tied_models,
)
from tests.benchmarks.coverage.__main__ import table

HEADER = ("claim", "cell", "tables", "percent", "+-", "said", "promised", "met")


def cells() -> list[Cell]:
    """Return every cell: planted faults, none, equal models, faults of tied models."""
    return [
        *planted_faults.cells(),
        *no_faults.cells(),
        *equal_models.cells(),
        *tied_models.cells(),
    ]


def main() -> int:
    known = cells()
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.claims", description=__doc__)
    parser.add_argument("--only", metavar="CELL,CELL", help="cells that begin so; * for anything")
    parser.add_argument("--tables", type=int, metavar="N", help="of each cell; default the issue's")
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help=f"default {SEED}")
    help_ = "also print the answers of so many tables of a cell that break a promise"
    parser.add_argument("--examples", type=int, default=0, metavar="N", help=help_)
    parser.add_argument("--list", action="store_true", help="print the cells and no more")
    asked = parser.parse_args()
    wanted = asked.only.split(",") if asked.only else [""]
    chosen = [one for one in known if any(fnmatchcase(one.name, f"{each}*") for each in wanted)]
    if not chosen:
        parser.error(f"no cell begins with {asked.only}; see --list")
    if asked.list:
        print("\n".join(f"{one.name}  {one.tables:,} tables" for one in chosen))
        return 0
    missed = 0
    with TemporaryDirectory() as folder:
        for cell in chosen:
            found = run(cell, asked.tables or cell.tables, asked.seed, Path(folder), asked.examples)
            used = f"{found.processor:.2f} s of processor time"
            print(f"{cell.name}: {found.seconds:.2f} s a table, {used}")
            for number, event, text in found.examples:
                print(f"  table {number}, {event}:\n{text}")
            print(f"{table(found.lines, HEADER)}\n", flush=True)
            missed += sum(not line.met for line in found.lines)
    print(f"{missed} not as promised" if missed else "all as promised")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
