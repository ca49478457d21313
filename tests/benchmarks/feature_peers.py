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

# the first rows only: path, how many
MUTUAL = """
import sys
import pandas as pd
from sklearn.feature_selection import mutual_info_classif
frame = pd.read_parquet(sys.argv[1]).iloc[: int(sys.argv[2])]
truth = frame.pop("truth").to_numpy()
values = mutual_info_classif(frame.to_numpy(), truth, discrete_features=True)
table = pd.DataFrame({"feature": frame.columns, "bits": values})
table.sort_values("bits", ascending=False).to_csv(sys.stdout, index=False)
"""

# every column cut at its median; prints CSV
MEDIAN = f"""
import sys
import numpy as np, pandas as pd
{PLANE}
frame = pd.read_parquet(sys.argv[1])
truth = frame.pop("truth").to_numpy() == 1
columns = frame.to_numpy().T
above = [column > np.median(column) for column in columns]
tp = np.array([np.count_nonzero(one & truth) for one in above])
every = np.array([np.count_nonzero(one) for one in above])
p = int(truth.sum())
write(frame.columns, tp, every - tp, p, len(truth) - p)
"""

# every column cut where the classes differ most, ties together; prints CSV
BEST = f"""
import sys
import numpy as np, pandas as pd
{PLANE}
frame = pd.read_parquet(sys.argv[1])
truth = frame.pop("truth").to_numpy() == 1
p, n = int(truth.sum()), int((~truth).sum())
tp, fp = [], []
for column in frame.to_numpy().T:
    order = np.argsort(column)
    values, hits = column[order], truth[order]
    first = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    below = np.concatenate([[0], hits.cumsum()])[first]
    here_tp, here_fp = p - below, n - (first - below)
    best = np.abs(here_tp / p - here_fp / n).argmax()
    tp.append(here_tp[best])
    fp.append(here_fp[best])
write(frame.columns, np.array(tp), np.array(fp), p, n)
"""

# the same distance with a p-value beside it: path, columns
KS_2SAMP = """
import sys
import pandas as pd
from scipy.stats import ks_2samp
path, *columns = sys.argv[1:]
frame = pd.read_parquet(path, columns=["truth", *columns])
truth = frame.pop("truth").to_numpy() == 1
print("feature,distance")
for name in columns:
    x = frame[name].to_numpy()
    print(name, ks_2samp(x[truth], x[~truth], method="asymp").statistic, sep=",")
"""

# binary columns summed, columns of text counted by class; prints CSV
MIXED = f"""
import sys
import numpy as np, pandas as pd
{PLANE}
frame = pd.read_csv(sys.argv[1], engine="pyarrow")
truth = frame.pop("truth").to_numpy()
p = int(truth.sum())
names, tp, every = [], [], []
for name, column in frame.items():
    if column.dtype.kind == "i":
        bits = column.to_numpy()
        names.append(name)
        tp.append(np.count_nonzero(bits & truth))
        every.append(np.count_nonzero(bits))
    else:
        codes, texts = pd.factorize(column)
        names += [f"{{name}}={{text}}" for text in texts]
        tp += np.bincount(codes[truth == 1], minlength=len(texts)).tolist()
        every += np.bincount(codes, minlength=len(texts)).tolist()
tp = np.array(tp)
write(names, tp, np.array(every) - tp, p, len(truth) - p)
"""

Plane = dict[str, tuple[int, int]]


def plane_of(output: str) -> Plane:
    """Read tp and fp of every feature from a table of CSV, a peer's or clfeval's."""
    rows = csv.DictReader(output.splitlines())
    return {row["feature"]: (int(row["tp"]), int(row["fp"])) for row in rows}


def deltas_of(output: str) -> dict[str, float]:
    """Read delta of every feature, in the order of the table."""
    return {row["feature"]: float(row["delta"]) for row in csv.DictReader(output.splitlines())}


def distances_of(output: str) -> dict[str, float]:
    """Read what `KS_2SAMP` printed."""
    return {row["feature"]: float(row["distance"]) for row in csv.DictReader(output.splitlines())}
