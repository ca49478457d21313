"""Topic J: the ROC curve of every model in the diamond beside scikit-learn's."""

from __future__ import annotations

import json

from clfeval.counts.buckets import MOST_DISTINCT
from tests.benchmarks.feature_tables import CURVES
from tests.benchmarks.measure import clfeval, interleave, python
from tests.benchmarks.report import faster, print_table
from tests.benchmarks.tables import size, table

ROUNDS = 3
ROUNDING = 1e-12
IN_BUCKETS = 1e-4  # twice the bound of a ROC AUC by buckets of 1,024 for each halving
CLFEVAL, SKLEARN = "clfeval phidelta --curve", "scikit-learn roc_curve, roc_auc_score"

# per model: the area, the largest distance from chance and its threshold
SCRIPT = """
import json, sys
import polars as pl
from sklearn.metrics import roc_auc_score, roc_curve
frame = pl.read_parquet(sys.argv[1])
truth = frame["truth"].to_numpy()
rows = []
for name in frame.columns[1:]:
    scores = frame[name].to_numpy()
    fpr, tpr, thresholds = roc_curve(truth, scores)
    best = (tpr - fpr).argmax()
    rows.append([name, roc_auc_score(truth, scores), tpr[best] - fpr[best], thresholds[best]])
print(json.dumps(rows))
"""


def roc_curves(rows: int) -> bool:
    """J: less time than scikit-learn takes, intervals by DeLong included."""
    path = table("curves", rows)
    done = interleave(
        {
            SKLEARN: (python(SCRIPT, str(path)), ROUNDS),
            CLFEVAL: (clfeval("phidelta", str(path), "--curve", "-f", "json"), ROUNDS),
        }
    )
    curves = json.loads(done[CLFEVAL].output)["tables"]["curves"]
    tolerance = IN_BUCKETS if rows > MOST_DISTINCT else ROUNDING
    for row, (name, area, delta, threshold) in zip(
        curves, json.loads(done[SKLEARN].output), strict=True
    ):
        differences = (
            row["roc_auc"]["value"] - area,
            row["best_delta"] - delta,
            row["best_threshold"] - threshold if tolerance == ROUNDING else 0.0,
        )
        if row["model"] != name or any(abs(x) > tolerance for x in differences):
            raise SystemExit(f"clfeval and {SKLEARN} draw the curve of {name} differently")
    title = f"J  {rows:,} rows, {CURVES} scored models, Parquet ({size(path)} on disk)"
    return print_table(title, done, {CLFEVAL: [faster(done[CLFEVAL], done[SKLEARN])]})
