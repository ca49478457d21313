"""The peers of feature mode, as script texts: the same sums written as the same kind of table.

Those that say so print CSV: a line for each feature with tp, fp, phi and delta, by |delta|.
"""

from __future__ import annotations

import csv

PLANE = """
def write(names, tp, fp, p, n):
    phi, delta = tp / p + fp / n - 1, tp / p - fp / n
    table = pd.DataFrame({"feature": names, "tp": tp, "fp": fp, "phi": phi, "delta": delta})
    order = np.argsort(-np.abs(delta), kind="stable")
    table.iloc[order].to_csv(sys.stdout, index=False)
"""

# path: a table of 0/1 whose first column is truth; prints CSV
NUMPY = f"""
import sys
import numpy as np, pandas as pd
{PLANE}
path = sys.argv[1]
if path.endswith("parquet"):
    frame = pd.read_parquet(path)
    names, columns = frame.columns, frame.to_numpy().T
else:
    with open(path) as stream:
        names = stream.readline().rstrip().split(",")
    columns = np.asfortranarray(np.loadtxt(path, np.int8, delimiter=",", skiprows=1)).T
truth, *features = columns
tp = np.array([np.count_nonzero(column & truth) for column in features])
every = np.array([np.count_nonzero(column) for column in features])
p = int(truth.sum())
write(names[1:], tp, every - tp, p, len(truth) - p)
"""

# paths of the entries and of the classes; prints CSV
NUMPY_SPARSE = f"""
import sys
import numpy as np, pandas as pd
{PLANE}
entries, classes = map(pd.read_parquet, sys.argv[1:])
truth = classes.set_index("doc")["truth"].reindex(entries["doc"]).to_numpy() == 1
codes, names = pd.factorize(entries["feature"])
tp = np.bincount(codes[truth], minlength=len(names))
every = np.bincount(codes, minlength=len(names))
p = int(classes["truth"].sum())
write(names, tp, every - tp, p, len(classes) - p)
"""

# chi2 makes numbers of four or eight bytes of whatever it gets
CHI2 = """
import sys
import numpy as np, pandas as pd
from sklearn.feature_selection import chi2
frame = pd.read_parquet(sys.argv[1])
truth = frame.pop("truth").to_numpy()
values, p = chi2(frame.to_numpy(np.float32), truth)
table = pd.DataFrame({"feature": frame.columns, "chi2": values, "p": p})
table.sort_values("chi2", ascending=False).to_csv(sys.stdout, index=False)
"""

CHI2_SPARSE = """
import sys
import numpy as np, pandas as pd
from scipy.sparse import csr_array
from sklearn.feature_selection import chi2
entries, classes = map(pd.read_parquet, sys.argv[1:])
codes, names = pd.factorize(entries["feature"])
docs = pd.Index(classes["doc"]).get_indexer(entries["doc"])
shape = len(classes), len(names)
counts = csr_array((np.ones(len(codes), np.float32), (docs, codes)), shape)
values, p = chi2(counts, classes["truth"].to_numpy())
table = pd.DataFrame({"feature": names, "chi2": values, "p": p})
table.sort_values("chi2", ascending=False).to_csv(sys.stdout, index=False)
"""

Plane = dict[str, tuple[int, int]]


def plane_of(output: str) -> Plane:
    """Read tp and fp of every feature from a table of CSV, a peer's or clfeval's."""
    rows = csv.DictReader(output.splitlines())
    return {row["feature"]: (int(row["tp"]), int(row["fp"])) for row in rows}


def deltas_of(output: str) -> dict[str, float]:
    """Read delta of every feature, in the order of the table."""
    return {row["feature"]: float(row["delta"]) for row in csv.DictReader(output.splitlines())}
