"""The peers, as script texts: each does in its own process the least that gives the same counts.

Called with a path and the columns, all but the last print the patterns: one list per distinct row,
its count at the end.
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
