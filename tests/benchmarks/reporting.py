"""Topic N: the report of eight scored models, beside scikit-learn, without intervals, larger."""

from __future__ import annotations

import json
import math
from importlib.util import find_spec
from typing import Any

from tests.benchmarks.measure import clfeval, interleave, python
from tests.benchmarks.report import Check, below, peak, print_table, ratio
from tests.benchmarks.tables import built, table

MODELS, SMALL = 8, 10_000
ROUNDS = 3
SKLEARN, LABELS = "scikit-learn, points only", "clfeval mars, labels"
SLICES, COMPARED = 20, "clfeval report, compared, 20 slices"
AREAS, RAPIDSTATS = "areas alone", "rapidstats, areas alone"
LIMIT, SURE, HARD = 0.2, 2.0, 1.5  # of the time of the script, without intervals, of mars
ASKED = 2.0  # of the first screen
GROWTH = 13.0  # of ten times the rows: n log n from 10^6 to 10^7 is 11.7
MOST_SECONDS, MOST_MIB = 60.0, 4096

# logistic scores in one order of the models, each a little better than the one before
BUILD = """
import sys
import numpy as np, polars as pl
path, rows, models, sites = sys.argv[1], *map(int, sys.argv[2:])
rng = np.random.default_rng(20261122)
truth = rng.random(rows) < 0.3
columns = {"truth": truth.astype(np.int8)}
for i in range(models):
    x = rng.normal(size=rows) + (1 + 0.1 * i) * (truth - 0.5) - 0.8
    columns[f"m{i}"] = 1 / (1 + np.exp(-x))
if sites:
    columns["site"] = [f"s{i:02}" for i in rng.integers(0, sites, rows)]
frame = pl.DataFrame(columns)
frame.write_csv(path) if path.endswith(".csv") else frame.write_parquet(path)
"""

# the points of the default screen, as one writes them by hand; no interval, nobody compared
SCRIPT = """
import json, sys
import numpy as np, polars as pl
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (balanced_accuracy_score, brier_score_loss, cohen_kappa_score,
    confusion_matrix, f1_score, log_loss, matthews_corrcoef, precision_recall_curve, roc_auc_score,
    roc_curve)
path = sys.argv[1]
frame = pl.read_csv(path) if path.endswith(".csv") else pl.read_parquet(path)
y = frame["truth"].to_numpy()
found = {}
for name in frame.columns[1:]:
    p = frame[name].to_numpy()
    logit = np.log(p / (1 - p))
    line = LogisticRegression(C=np.inf).fit(logit[:, None], y)
    votes = p >= 0.5
    tn, fp, fn, tp = confusion_matrix(y, votes).ravel().tolist()
    found[name] = {"roc_auc": roc_auc_score(y, p), "brier": brier_score_loss(y, p),
        "log_loss": log_loss(y, p), "mcc": matthews_corrcoef(y, votes), "f1": f1_score(y, votes),
        "kappa": cohen_kappa_score(y, votes),
        "balanced_accuracy": balanced_accuracy_score(y, votes),
        "tp": tp, "fp": fp, "fn": fn, "tn": tn}
    roc_curve(y, p), precision_recall_curve(y, p), line.coef_
print(json.dumps(found))
"""

# the areas under the ROC curve and nothing else, of scores in memory
AREA = """
import sys
import polars as pl
frame = pl.read_parquet(sys.argv[1])
truth = frame["truth"].cast(pl.Boolean)
"""
AREA_HERE = f"""{AREA}
from clfeval.counts.scores import ScoreCounts
from clfeval.measures.ranking import roc_auc
for name in frame.columns[1:]:
    counts = ScoreCounts.from_rows(frame[name].to_numpy(), truth.to_numpy(), None)
    print(float(roc_auc(counts.scores, counts.positives, counts.negatives)))
"""
AREA_PEER = f"""{AREA}
from rapidstats.metrics import roc_auc
for name in frame.columns[1:]:
    print(roc_auc(truth, frame[name]))
"""


def _table(rows: int, suffix: str, sites: int = 0) -> str:
    name = f"report-{rows}-{MODELS}{f'-{sites}' * bool(sites)}.{suffix}"
    return str(built(name, BUILD, rows, MODELS, sites))


def full_report(rows: int) -> bool:
    """N: a fifth of the time of the script, twice that without intervals, and n log n.

    Twice the time of the first screen with models compared and in slices.
    """
    parquet, csv = _table(rows, "parquet"), _table(rows, "csv")
    more = {n: _table(n, "parquet") for n in (SMALL, 10 * SMALL, 10 * rows)}
    labels, sliced = str(table("bits", 10 * rows)), _table(rows, "parquet", SLICES)
    asked = "--by", "site", "--reference", "best", "--margin", "roc_auc=.01"
    names = {n: f"clfeval report, {n:,} rows" for n in (*more, rows)}
    quiet = ("-f", "json", "-q")
    areas = {AREAS: (python(AREA_HERE, parquet), ROUNDS)}
    if find_spec("rapidstats"):
        areas[RAPIDSTATS] = python(AREA_PEER, parquet), ROUNDS
    done = interleave(
        {
            f"{SKLEARN}, Parquet": (python(SCRIPT, parquet), 1),
            f"{SKLEARN}, CSV": (python(SCRIPT, csv), 1),
            names[rows]: (clfeval("report", parquet), ROUNDS),
            "clfeval report, CSV": (clfeval("report", csv), ROUNDS),
            "clfeval report --interval none": (
                clfeval("report", parquet, "--interval", "none"),
                ROUNDS,
            ),
            COMPARED: (clfeval("report", sliced, *asked), ROUNDS),
            "clfeval report, JSON": (clfeval("report", parquet, *quiet), 1),
            **{names[n]: (clfeval("report", path), 1) for n, path in more.items()},
            LABELS: (clfeval("mars", labels), ROUNDS),
            "clfeval report, labels": (clfeval("report", labels), ROUNDS),
            **areas,
        }
    )
    first, large = done[names[rows]], done[names[10 * rows]]
    _compare(done["clfeval report, JSON"].output, done[f"{SKLEARN}, Parquet"].output)
    grown = large.seconds / first.seconds
    checks: dict[str, list[Check]] = {
        names[rows]: [
            ratio(first, done[f"{SKLEARN}, Parquet"], limit=LIMIT),
            ratio(first, done["clfeval report --interval none"], limit=SURE),
        ],
        COMPARED: [ratio(done[COMPARED], first, limit=ASKED)],
        "clfeval report, CSV": [
            ratio(done["clfeval report, CSV"], done[f"{SKLEARN}, CSV"], limit=LIMIT)
        ],
        names[10 * rows]: [
            Check(f"{grown:.1f} x {names[rows]}", f"<= {GROWTH:.0f} x", grown <= GROWTH),
            below(large.seconds, MOST_SECONDS),
            peak(large, limit_mib=MOST_MIB),
        ],
        "clfeval report, labels": [ratio(done["clfeval report, labels"], done[LABELS], limit=HARD)],
    }
    if RAPIDSTATS in done:
        checks[AREAS] = [ratio(done[AREAS], done[RAPIDSTATS], limit=1.0)]
        both = (list(map(float, done[who].output.split())) for who in (AREAS, RAPIDSTATS))
        if not all(math.isclose(*two, rel_tol=1e-12) for two in zip(*both, strict=True)):
            raise SystemExit("clfeval and rapidstats find other areas")
    title = f"N  the report of {MODELS} models, {rows:,} rows where nothing else is said"
    return print_table(title, done, checks)


def _compare(mine: str, peer: str) -> None:
    """Refuse unless both print the same points."""
    result: Any = json.loads(mine)
    for row in result["tables"]["models"]:
        for name, value in json.loads(peer)[row["model"]].items():
            own = row[name]["value"] if isinstance(row[name], dict) else row[name]
            if not math.isclose(own, value, rel_tol=1e-9):
                raise SystemExit(f"clfeval and scikit-learn find another {name} of {row['model']}")
