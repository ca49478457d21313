"""Topic L: a hundred thousand models ranked by their metrics, beside pandas and numpy."""

from __future__ import annotations

import csv
import io

from tests.benchmarks.measure import clfeval, interleave, python
from tests.benchmarks.report import below, print_table, ratio
from tests.benchmarks.tables import built, size

ROUNDS = 5
MODELS = 100_000
FEW, MANY = 5, 10
LIMIT = 3.5  # of the peer's time: it checks no cell, names no dominator, tries no other weights
LIMIT_SECONDS = 3.0
CLFEVAL, PEER = "clfeval mlcps (5 metrics)", "pandas and numpy (5 metrics)"
WIDE = "clfeval mlcps (10 metrics)"

BUILD = """
import sys
import numpy as np
rng = np.random.default_rng(20230101)
values = rng.random((int(sys.argv[2]), int(sys.argv[3]))).round(6)
names = "accuracy precision recall specificity npv roc_auc pr_auc ks g_mean average_precision"
with open(sys.argv[1], "w") as file:
    file.write("model," + ",".join(names.split()[: values.shape[1]]) + "\\n")
    for i, row in enumerate(values.tolist()):
        file.write(f"m{i}," + ",".join(map(str, row)) + "\\n")
"""
# the area, its mean over orders, mean and SD, ranks in every order, the Pareto front by the usual
# loop that throws out what the next best point dominates
SCRIPT = """
import sys
from itertools import permutations
import numpy as np, pandas as pd
frame = pd.read_csv(sys.argv[1])
d = frame.iloc[:, 1:].to_numpy()
n = d.shape[1]
half = np.sin(2 * np.pi / n) / 2
frame["mlcps"] = half * (d * np.roll(d, -1, axis=1)).sum(axis=1)
frame["order_free"] = half * (d.sum(axis=1) ** 2 - (d**2).sum(axis=1)) / (n - 1)
frame["mean"], frame["sd"] = d.mean(axis=1), d.std(axis=1, ddof=1)
ranks = []
for order in permutations(range(1, n)):
    if order[0] < order[-1]:
        turned = d[:, [0, *order]]
        areas = pd.Series((turned * np.roll(turned, -1, axis=1)).sum(axis=1).round(12))
        ranks.append(areas.rank(method="dense", ascending=False))
frame["best"], frame["worst"] = np.min(ranks, axis=0), np.max(ranks, axis=0)
left = np.argsort(-d.sum(axis=1))
points, front = d[left], []
while len(points):
    front.append(left[0])
    keep = (points > points[0]).any(axis=1)
    points, left = points[keep], left[keep]
frame["pareto"] = False
frame.loc[front, "pareto"] = True
best = frame.sort_values("mlcps", ascending=False).head(20)
best[["model", "mlcps", "pareto"]].to_csv(sys.stdout, index=False)
"""


def rank_models() -> bool:
    """L: at most so many times a bare script, and below three seconds with ten metrics."""
    paths = {
        metrics: built(f"metrics-{MODELS}-{metrics}.csv", BUILD, MODELS, metrics)
        for metrics in (FEW, MANY)
    }
    done = interleave(
        {
            PEER: (python(SCRIPT, str(paths[FEW])), ROUNDS),
            CLFEVAL: (clfeval("mlcps", str(paths[FEW]), "-q"), ROUNDS),
            WIDE: (clfeval("mlcps", str(paths[MANY]), "-q"), ROUNDS),
        }
    )
    _compare(done[CLFEVAL].output, done[PEER].output)
    title = f"L  {MODELS:,} models, CSV ({size(paths[FEW])} and {size(paths[MANY])} on disk)"
    checks = {
        CLFEVAL: [ratio(done[CLFEVAL], done[PEER], LIMIT)],
        WIDE: [below(done[WIDE].seconds, LIMIT_SECONDS)],
    }
    return print_table(title, done, checks)


def _compare(page: str, peer: str) -> None:
    """Check that both name the same best models, in the same order, with the same scores."""
    rows = list(csv.DictReader(io.StringIO(peer)))
    names = {row["model"] for row in rows}
    lines = [
        words for line in page.splitlines() if (words := line.split())[:1] and words[0] in names
    ]
    for words, row in zip(lines[-len(rows) :], rows, strict=True):
        score = next(word for word in words if "." in word)
        if words[0] != row["model"] or abs(float(score) - float(row["mlcps"])) > 6e-4:
            raise SystemExit(f"{words} is not {row}")
