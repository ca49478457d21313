"""Topic K: the best threshold of every model for six measures at 41 odds, beside numpy's loops."""

from __future__ import annotations

import json
import math
from typing import Any

from clfeval.counts.buckets import MOST_DISTINCT
from tests.benchmarks.feature_tables import CURVES
from tests.benchmarks.measure import called, interleave, python
from tests.benchmarks.report import peak, print_table, ratio
from tests.benchmarks.tables import size, table

ROUNDS = 3
ODDS = 41
MEASURES = ("tar", "ppv", "npv", "f_beta", "mcc", "ic")
CLFEVAL, SKLEARN = "clfeval tune-jpt", "scikit-learn roc_curve and loops"
LIMIT = 0.2  # of the peer's time
LIMIT_MIB = 2048
ROUNDING = 1e-9  # relative
IN_BUCKETS = 1e-3  # of the best value among thresholds at which buckets of scores start

# per model: odds by odds and measure by measure over all thresholds that roc_curve returns; those
# between two others on a straight line are left out (drop_intermediate=True), which keeps the best
SCRIPT = """
import json, sys
import numpy as np, polars as pl
from sklearn.metrics import roc_curve
frame = pl.read_parquet(sys.argv[1])
truth = frame["truth"].to_numpy()
odds = np.geomspace(1e-3, 1e3, int(sys.argv[2]))

def log_term(x, y):
    return np.where(x > 0, x * np.log(x / y), 0)

def values(tp, fp, r):
    p, n = r / (1 + r), 1 / (1 + r)
    a, b, c, d = p * tp, n * fp, p * (1 - tp), n * (1 - fp)
    yield a + d
    yield a / (a + b)
    yield d / (c + d)
    yield 2 * a / (2 * a + b + c)
    yield (a * d - b * c) / np.sqrt((a + b) * (c + d) * p * n)
    shared = sum(log_term(x, y * z) for x, y, z in (
        (a, p, a + b), (b, n, a + b), (c, p, c + d), (d, n, c + d)))
    yield shared / -(p * np.log(p) + n * np.log(n))

rows = []
np.seterr(all="ignore")
for name in frame.columns[1:]:
    fpr, tpr, thresholds = roc_curve(truth, frame[name].to_numpy(), drop_intermediate=True)
    for r in odds:
        for value in values(tpr, fpr, r):
            best = np.nanargmax(value)
            rows.append([name, value[best], thresholds[best]])
print(json.dumps(rows))
"""


def best_thresholds(rows: int) -> bool:
    """K: a fifth of the time of scikit-learn and numpy at most, cross-fitted values included."""
    path = table("normal", rows)
    asked = {"measure": list(MEASURES), "sweep": "1:1000..1000:1", "points": ODDS}
    done = interleave(
        {
            SKLEARN: (python(SCRIPT, str(path), str(ODDS)), 1),
            CLFEVAL: (called("tune_jpt", str(path), **asked), ROUNDS),
        }
    )
    _compare(json.loads(done[CLFEVAL].output), json.loads(done[SKLEARN].output), rows)
    title = (
        f"K  {rows:,} rows, {CURVES} scored models, the best threshold for {len(MEASURES)} measures"
        f" at {ODDS} odds, Parquet ({size(path)} on disk)"
    )
    checks = [
        ratio(done[CLFEVAL], done[SKLEARN], limit=LIMIT),
        peak(done[CLFEVAL], limit_mib=LIMIT_MIB),
    ]
    return print_table(title, done, {CLFEVAL: checks})


def _compare(result: Any, peer: list[list[Any]], rows: int) -> None:
    """Refuse unless both find the same best values, or nearly so where scores are in buckets."""
    tolerance = IN_BUCKETS if rows > MOST_DISTINCT else ROUNDING
    order = {name: place for place, name in enumerate(MEASURES)}
    thresholds = [
        row
        for row in result["tables"]["thresholds"]
        if row["population"] == "sweep" and row["measure"] in order
    ]
    thresholds.sort(key=lambda row: (row["model"], row["ratio"], order[row["measure"]]))
    for row, (name, value, _) in zip(thresholds, peer, strict=True):
        same = math.isclose(row["value"]["value"], value, rel_tol=tolerance)
        if row["model"] != name or not same:
            best = f"{row['measure']} of {name} at {row['odds']}"
            raise SystemExit(f"clfeval and {SKLEARN} find another best {best}")
