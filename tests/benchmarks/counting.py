"""Topics A and B: tables of ten and a hundred million rows, whole processes side by side."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.benchmarks import peers
from tests.benchmarks.measure import ROOT, Runs, clfeval, interleave, python
from tests.benchmarks.report import Check, extra, faster, peak, print_table, ratio
from tests.benchmarks.tables import COLUMNS, FOLDER, size, table

ROWS = 10_000_000
ROUNDS = 5
FREE_BYTES = 3_000_000_000  # asked for before a hundred million rows are written

POLARS, DUCKDB, SKLEARN, CLFEVAL = "polars", "DuckDB", "scikit-learn", "clfeval mars"


def millions(rows: int) -> bool:
    """A: CSV and Parquet of 0/1 with targets; text labels and an id column for information."""
    met = [_bits(rows), _parquet(rows)]
    _information("text", f"{rows:,} rows, labels benign / malignant, CSV", rows)
    _information("id", f"{rows:,} rows, 0/1 with an id column, CSV", rows)
    return all(met)


def _bits(rows: int) -> bool:
    path = table("bits", rows)
    done = _measure(path, sklearn=2)
    mine = done[CLFEVAL]
    checks = [ratio(mine, done[POLARS], 1.6), ratio(mine, done[DUCKDB], 1.0)]
    checks += [faster(mine, done[SKLEARN]), peak(mine, 1024)]
    return _print(f"A  {rows:,} rows, 8 models of 0/1, CSV", path, done, checks)


def _parquet(rows: int) -> bool:
    path = table("rows", rows)
    done = _measure(path, sklearn=2)
    mine = done[CLFEVAL]
    checks = [extra(mine, done[POLARS], 0.6), faster(mine, done[SKLEARN])]
    checks.append(ratio(mine, done[DUCKDB]))
    return _print(f"A  {rows:,} rows, the same as Parquet", path, done, checks)


def _information(kind: str, title: str, rows: int) -> None:
    path = table(kind, rows)
    done = _measure(path, *(("--positive", "malignant") if kind == "text" else ()))
    checks = [ratio(done[CLFEVAL], done[POLARS]), ratio(done[CLFEVAL], done[DUCKDB])]
    _print(f"A  {title}", path, done, checks)


def hundred_millions(rows: int) -> bool:
    """B: the program finishes and its memory stays bounded."""
    absent = not (FOLDER / f"rows-{rows}.parquet").exists()
    free = shutil.disk_usage(ROOT).free
    if absent and free < FREE_BYTES:
        print(f"\nB  skipped: {free / 1e9:.1f} GB of disk are free, {FREE_BYTES / 1e9:.0f} needed")
        return True
    path = table("rows", rows)
    done = _measure(path, rounds=1)
    checks = [peak(done[CLFEVAL], 1536), ratio(done[CLFEVAL], done[POLARS])]
    checks.append(ratio(done[CLFEVAL], done[DUCKDB]))
    return _print(f"B  {rows:,} rows, 8 models of 0/1, Parquet", path, done, checks)


def _measure(path: Path, *options: str, rounds: int = ROUNDS, sklearn: int = 0) -> dict[str, Runs]:
    """Run clfeval and its peers on one table, and make sure that they count the same."""
    name = str(path)
    commands = {
        POLARS: (python(peers.POLARS, name, *COLUMNS), rounds),
        CLFEVAL: (clfeval("mars", name, "-f", "json", *options), rounds),
        DUCKDB: (python(peers.DUCKDB, name, *COLUMNS), rounds),
        SKLEARN: (python(peers.SKLEARN, name, *COLUMNS), sklearn),
    }
    done = interleave({who: asked for who, asked in commands.items() if asked[1]})
    expected = peers.confusion_of_clfeval(done[CLFEVAL].output)
    for who in (POLARS, DUCKDB):
        if peers.confusion_of_patterns(done[who].output, COLUMNS[1:]) != expected:
            raise SystemExit(f"clfeval and {who} count {name} differently")
    if sklearn and peers.confusion_of_sklearn(done[SKLEARN].output) != expected:
        raise SystemExit(f"clfeval and {SKLEARN} count {name} differently")
    return done


def _print(title: str, path: Path, done: dict[str, Runs], checks: list[Check]) -> bool:
    return print_table(f"{title} ({size(path)} on disk)", done, {CLFEVAL: checks})
