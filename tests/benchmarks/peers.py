"""The peers, as script texts: each does in its own process the least that gives the same counts.

Called with a path and the columns, all but the last two print the patterns: one list per distinct
row, its count at the end.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

# per model: true negatives, false positives, false negatives, true positives
Confusion = dict[str, tuple[int, int, int, int]]
POSITIVE = (1, "malignant")

POLARS = """
import json, sys
import polars as pl
path, *columns = sys.argv[1:]
frame = pl.scan_parquet(path) if path.endswith("parquet") else pl.scan_csv(path)
print(json.dumps(frame.group_by(columns).len().collect(engine="streaming").rows()))
"""

DUCKDB = """
import json, sys
import duckdb
path, *columns = sys.argv[1:]
query = f"SELECT {', '.join(columns)}, count(*) FROM '{path}' GROUP BY ALL"
connection = duckdb.connect(config={"threads": 2})
connection.execute("SET enable_progress_bar = false")  # it would go to stdout after two seconds
print(json.dumps(connection.sql(query).fetchall()))
"""

SKLEARN = """
import json, sys
import polars as pl
from sklearn.metrics import confusion_matrix
path, truth, *models = sys.argv[1:]
frame = pl.read_parquet(path) if path.endswith("parquet") else pl.read_csv(path)
answer = frame[truth].to_numpy()
tables = {name: confusion_matrix(answer, frame[name].to_numpy()) for name in models}
print(json.dumps({name: table.ravel().tolist() for name, table in tables.items()}))
"""

# every number of `--sweep threshold`, by comparing all scores with each of the same cuts
SWEEP = """
import json, sys
import numpy as np, polars as pl
path, points = sys.argv[1], int(sys.argv[2])
table = pl.read_csv(path).to_numpy()
scores = table[table[:, 0] == 1, 1:]
cuts = np.unique(scores)
cuts = cuts[np.unique(np.linspace(0, len(cuts) - 1, points).round().astype(int))]
rows = []
for cut in cuts:
    votes = scores >= cut
    count = votes.sum(axis=1)
    found = int((count > 0).sum())
    alone = votes[count == 1].sum(axis=0)
    missed = (~votes[count == votes.shape[1] - 1]).sum(axis=0)
    rows += [[found, int(h), int(a), int(m)] for h, a, m in zip(votes.sum(axis=0), alone, missed)]
print(json.dumps(rows))
"""


def confusion_of_patterns(output: str, models: Sequence[str]) -> Confusion:
    """Add up the patterns a peer printed."""
    cells = {name: [0, 0, 0, 0] for name in models}
    for truth, *votes, count in json.loads(output):
        for name, vote in zip(models, votes, strict=True):
            cells[name][2 * (truth in POSITIVE) + (vote in POSITIVE)] += count
    return {name: (tn, fp, fn, tp) for name, (tn, fp, fn, tp) in cells.items()}


def confusion_of_sklearn(output: str) -> Confusion:
    """Read the matrices scikit-learn printed."""
    return {name: (tn, fp, fn, tp) for name, (tn, fp, fn, tp) in json.loads(output).items()}


def confusion_of_clfeval(output: str) -> Confusion:
    """Read the models table of a result."""
    rows = json.loads(output)["tables"]["models"]
    return {row["model"]: (row["tn"], row["fp"], row["fn"], row["tp"]) for row in rows}


def sweep_of_clfeval(output: str) -> list[list[int]]:
    """Read the sweep table of a result, in the order the numpy script prints."""
    rows = json.loads(output)["tables"]["sweep"]
    return [[row[n] for n in ("found", "hits", "exclusive_tp", "exclusive_fn")] for row in rows]
