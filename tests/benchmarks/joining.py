"""Topic O: two files of one model each, five million ids, shuffled, joined and counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.benchmarks.measure import clfeval, interleave, python
from tests.benchmarks.report import below, peak, print_table, ratio
from tests.benchmarks.tables import built

ROUNDS = 3
MOST_SECONDS, MOST_MIB = 10.0, 2048
POLARS, CLFEVAL = "polars, a join", "clfeval mars --join"

# ids and truth of each file are the same, orders are not; truth is known of an id, scores err
BUILD = """
import sys
import numpy as np, polars as pl
path, kind, rows, seed = sys.argv[1:]
n = int(rows)
truth = np.random.default_rng(20261122).random(n) < 0.3
rng = np.random.default_rng(int(seed))
number = pl.Series(np.arange(n))
ids = number if kind == "numbers" else "case-" + number.cast(pl.String).str.zfill(9).rename("x")
p = np.round(np.clip(rng.normal(size=n) * 0.25 + 0.3 + 0.4 * truth, 0, 1), 6)
frame = pl.DataFrame({"id": ids, "truth": truth.astype(np.int8), "p": p})
frame[rng.permutation(n)].write_csv(path)
"""

# counts of the pairs of answers, in one lazy query
JOIN = """
import json, sys
import polars as pl
new, old = (pl.scan_csv(path, schema_overrides={"id": pl.String}) for path in sys.argv[1:])
both = new.join(old.select("id", q="p"), on="id")
votes = both.select("truth", a=pl.col("p") >= 0.5, b=pl.col("q") >= 0.5)
found = votes.group_by("truth", "a", "b").len().collect(engine="streaming")
print(json.dumps([[int(cell) for cell in row] for row in found.rows()]))
"""


def joins(rows: int) -> bool:
    """O: ids that are whole numbers, and ids of text; whole processes beside polars' own join."""
    met = [_joined(kind, rows) for kind in ("numbers", "texts")]
    return all(met)


def _joined(kind: str, rows: int) -> bool:
    paths = [
        built(f"join-{kind}-{name}-{rows}.csv", BUILD, kind, rows, seed)
        for seed, name in enumerate(("new", "old"))
    ]
    tables = [f"{name}={path}" for name, path in zip(("new", "old"), paths, strict=True)]
    done = interleave(
        {
            POLARS: (python(JOIN, *map(str, paths)), ROUNDS),
            CLFEVAL: (clfeval("mars", *tables, "--join", "id", "-f", "json"), ROUNDS),
        }
    )
    _same(json.loads(done[CLFEVAL].output), json.loads(done[POLARS].output), paths)
    mine = done[CLFEVAL]
    checks = [below(mine.seconds, MOST_SECONDS), peak(mine, MOST_MIB), ratio(mine, done[POLARS])]
    title = f"O  two files of {rows:,} ids, {kind}, in two orders, CSV"
    return print_table(title, done, {CLFEVAL: checks})


def _same(result: Any, counts: list[list[int]], paths: list[Path]) -> None:
    """Make sure that both count the same 2 x 2 tables."""
    for place, row in enumerate(result["tables"]["models"], start=1):
        cells = {(t, v): 0 for t in (0, 1) for v in (0, 1)}
        for one in counts:
            cells[one[0], one[place]] += one[3]
        if [row["tp"], row["fp"], row["fn"], row["tn"]] != [
            cells[1, 1],
            cells[0, 1],
            cells[1, 0],
            cells[0, 0],
        ]:
            raise SystemExit(f"clfeval and polars count {paths} differently")
