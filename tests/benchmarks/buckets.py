"""Topic Q: scores counted in buckets, beside the same group-bys written by hand in polars."""

from __future__ import annotations

from hashlib import sha256

from tests.benchmarks.measure import clfeval, interleave, python
from tests.benchmarks.report import below, peak, print_table, ratio
from tests.benchmarks.tables import FOLDER, built

MODELS = 3
ROUNDS = 3
LIMIT, MOST_MIB, MORE_SECONDS = 1.3, 1536, 0.5
HAND, COUNT, REPORT, FEW = "polars", "clfeval count", "clfeval report of counts", "of 10 rows"

TABLE = """
import sys
import numpy as np, polars as pl, pyarrow.parquet as pq
path, rows, models = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
writer = None
for start in range(0, rows, 1_000_000):
    rng, n = np.random.default_rng([34, start]), min(1_000_000, rows - start)
    z = rng.normal(size=n)
    frame = {"truth": (rng.random(n) < 1 / (1 + np.exp(3 - 1.5 * z))).astype(np.int8)}
    for i in range(models):
        frame[f"m{i}"] = 1 / (1 + np.exp(3 - 1.5 * (z + rng.normal(size=n) * (0.2 + 0.3 * i))))
    table = pl.DataFrame(frame).to_arrow()
    writer = writer or pq.ParquetWriter(path, table.schema)
    writer.write_table(table)
writer.close()
"""

BY_HAND = """
import sys
import polars as pl
path, models, threshold = sys.argv[1], int(sys.argv[2]), 0.5
for i in range(models):
    s = pl.col(f"m{i}")
    frame = pl.scan_parquet(path).select("truth", s)
    frame = frame.with_columns(d=pl.when(s >= 0.5).then(1 - s).otherwise(s), o=pl.lit(63))
    for k in (32, 16, 8, 4, 2, 1):
        small = pl.col("d") < 2.0**-k
        frame = frame.with_columns(
            d=pl.when(small).then(pl.col("d") * 2.0**k).otherwise("d"),
            o=pl.when(small).then(pl.col("o") - k).otherwise("o"))
    near = (s * 100).round()
    cell = (near - (s < near / (near * 0 + 100))).cast(pl.Int64) + (s >= threshold)
    place = pl.col("o") * 1024 + ((pl.col("d") - 0.5) * 2048).floor().cast(pl.Int64)
    frame = frame.select(
        "truth", s, key=pl.when(s >= 0.5).then(-place).otherwise(place) * 256 + cell,
        x1=(pl.col("d") * 2.0**31).floor().cast(pl.Int64),
        x2=(pl.col("d") ** 2 * 2.0**31).floor().cast(pl.Int64))
    found = frame.group_by("truth", "key").agg(
        n=pl.len(), x1=pl.col("x1").sum(), x2=pl.col("x2").sum(), lo=s.min(), hi=s.max())
    print(found.collect(engine="streaming").select("truth", "n", "x1", "x2", "lo", "hi")
          .sort("truth", "lo").rows())
"""

SAVED = """
import sys
import polars as pl
scores = pl.read_parquet(sys.argv[1]).filter(block="scores")
for (_,), mine in sorted(scores.partition_by("model", as_dict=True).items()):
    print(mine.select(pl.col("truth").cast(pl.Int8), "n", "m1", "m2", "lo", "hi")
          .sort("truth", "lo").rows())
"""


def count_buckets(rows: int) -> bool:
    """Q: counts of a table too large to sort, and the report of the file."""
    path = str(built(f"buckets-{rows}.parquet", TABLE, rows, MODELS))
    counts, few = str(FOLDER / "q.counts.parquet"), "fixtures/mars-paper/wide.csv"
    done = interleave(
        {
            HAND: (python(BY_HAND, path, str(MODELS)), ROUNDS),
            COUNT: (clfeval("count", path, "--scores", "buckets", "--save", counts), ROUNDS),
        }
    )
    done |= interleave(
        {
            REPORT: (clfeval("report", counts), ROUNDS),
            FEW: (clfeval("report", few), ROUNDS),
            "saved": (python(SAVED, counts), 1),
        }
    )
    digests = {sha256(done[name].output.encode()).hexdigest() for name in (HAND, "saved")}
    if len(digests) > 1:
        raise SystemExit(f"clfeval and polars count the buckets of {path} differently")
    checks = {
        COUNT: [ratio(done[COUNT], done[HAND], LIMIT), peak(done[COUNT], MOST_MIB)],
        REPORT: [below(done[REPORT].seconds - done[FEW].seconds, MORE_SECONDS)],
    }
    del done["saved"]
    return print_table(f"Q  {rows:,} rows, {MODELS} models in buckets of scores", done, checks)
