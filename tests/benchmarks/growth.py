"""Topic M: growth in slices, models, subsets of models and cuts of scores."""

from __future__ import annotations

from tests.benchmarks.measure import called, clfeval, interleave
from tests.benchmarks.report import Check, below, print_table
from tests.benchmarks.tables import built

SLICES, MODELS, MANY, SUBSETS = 1000, 6, 300, 60
ROWS, LABELLED = 100_000, 2000
CUTS = 1_000_000  # rows of a sweep of ranks, and ten times as many
LIMIT, AT_ONCE, GROWTH = 10.0, 1.0, 12.0

# labels that are right more often than not, in slices where asked for
BUILD = """
import sys
import numpy as np, polars as pl
path, rows, models, slices, scores = sys.argv[1], *map(int, sys.argv[2:])
rng = np.random.default_rng(20261122)
truth = rng.random(rows) < 0.3
columns = {"truth": truth.astype(np.int8)}
for i in range(models):
    noise, gap = rng.normal(0, 0.25, rows), 0.2 + 0.4 * rng.random()
    score = np.clip(0.5 + (truth - 0.5) * gap + noise, 0, 1)
    columns[f"m{i}"] = score if scores else (score > 0.5).astype(np.int8)
if slices:
    columns["g"] = rng.integers(0, slices, rows)
pl.DataFrame(columns).write_parquet(path)
"""


def _table(name: str, rows: int, models: int, slices: int = 0, *, scores: bool = False) -> str:
    name = f"growth-{name}-{rows}-{models}-{slices}.parquet"
    return str(built(name, BUILD, rows, models, slices, int(scores)))


def growth() -> bool:
    """M: what grows with slices, models and subsets stays within seconds."""
    sliced = _table("slices", ROWS, MODELS, SLICES)
    scored = _table("scores", ROWS, MODELS, SLICES, scores=True)
    many = _table("models", LABELLED, MANY)
    subsets = _table("subsets", LABELLED, SUBSETS)
    small, large = (_table("cuts", rows, 3, scores=True) for rows in (CUTS, 10 * CUTS))
    by = ("--by", "g", "-f", "csv", "-q")
    runs = interleave(
        {
            f"phidelta, {SLICES:,} slices x {MODELS} models": (clfeval("phidelta", sliced, *by), 1),
            f"tune-jpt, {SLICES:,} slices x {MODELS} models": (clfeval("tune-jpt", sliced, *by), 1),
            f"tune-jpt, scores, {SLICES:,} slices x {MODELS} models": (
                clfeval("tune-jpt", scored, *by),
                1,
            ),
            f"tune-jpt, {MANY} models": (clfeval("tune-jpt", many, "-f", "csv", "-q"), 1),
            f"tune-jpt --measure mcc, {MANY} models": (
                clfeval("tune-jpt", many, "--measure", "mcc", "-f", "csv", "-q"),
                1,
            ),
            f"mars --best 3, {SUBSETS} models": (
                clfeval("mars", subsets, "--best", "3", "-f", "csv", "--show", "best", "-q"),
                1,
            ),
            f"mars, {SUBSETS} models": (
                clfeval("mars", subsets, "-f", "csv", "--show", "models", "-q"),
                1,
            ),
            f"mars sweep='top', {CUTS:,} rows": (called("mars", small, sweep="top"), 1),
            f"mars sweep='top', {10 * CUTS:,} rows": (called("mars", large, sweep="top"), 1),
        }
    )
    *first, best, without, some, more = runs.values()
    grown = more.seconds / some.seconds
    extra = best.seconds - without.seconds
    checks = {one.name: [below(one.seconds, LIMIT)] for one in first}
    checks[best.name] = [Check(f"{extra:+.2f} s", f"<= +{AT_ONCE:.2f} s", extra <= AT_ONCE)]
    checks[more.name] = [Check(f"{grown:.1f} x", f"<= {GROWTH:.0f} x", grown <= GROWTH)]
    return print_table("M  growth in slices, models, subsets and cuts", runs, checks)
