"""The chunks of the tables of features and of curves, as polars frames.

Truth is positive in 30 % of the rows; every feature has a share of its own, in 2 % to 62 % of the
negatives, and up to a tenth more or less in the positives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

SEED = 20150921
FEATURES, CURVES = 500, 4
TERMS, PER_DOC = 20_000, 100  # of the sparse table, PER_DOC on average
CHUNK = 250_000  # rows, which is a row group of Parquet


def chunks(kind: str, rows: int) -> Iterator[Any]:
    """Yield the table chunk by chunk; every chunk has a seed of its own, so tables nest.

    Kinds: `dense` 500 features of 0/1; `curves` four scores of full precision, the first without an
    error; `normal` four whose classes overlap everywhere; `classes` doc and truth; `entries` doc
    and feature, 100 on average for each doc of `classes`.
    """
    import numpy as np
    import polars as pl

    size = CHUNK // 10 if kind == "entries" else CHUNK
    for start in range(0, rows, size):
        length = min(size, rows - start)
        rng = np.random.default_rng([SEED, start])
        truth = rng.integers(0, 10, length, np.uint8) < 3
        if kind == "entries":
            yield _entries(rng, length, start)
        elif kind == "classes":
            docs = np.arange(start, start + length)
            yield pl.DataFrame({"doc": docs, "truth": truth.astype(np.int8)})
        else:
            columns = {"truth": truth.astype(np.int8), **dict(_columns(kind, rng, truth))}
            yield pl.DataFrame(columns)


def _columns(kind: str, rng: Any, truth: Any) -> Iterator[tuple[str, Any]]:
    import numpy as np

    if kind == "curves":
        for j in range(CURVES):
            yield f"m{j}", (truth + (j + 1) * rng.random(len(truth))) / (j + 2)
    elif kind == "normal":
        for j in range(CURVES):  # areas under the curve from .64 to .92
            yield f"m{j}", 1 / (1 + np.exp(-rng.standard_normal(len(truth)) - truth * (j + 1) / 2))
    else:
        for j in range(FEATURES):
            share, more = _shares(j)
            limits = np.where(truth, share + more, share) * 2**16
            draws = rng.integers(0, 2**16, len(truth), np.uint16)
            yield f"f{j}", (draws < limits.astype(np.uint16)).astype(np.int8)


def _shares(j: int) -> tuple[float, float]:
    """Return the share of negatives with feature j and how many more of the positives have it."""
    import numpy as np

    share, more = np.random.default_rng([SEED, 1, j]).random(2)
    return 0.02 + 0.6 * share, max(0.2 * more - 0.1, -0.02)


def _entries(rng: Any, docs: int, start: int) -> Any:
    """Draw terms as texts have them: the k-th most frequent in proportion to k ** -0.8."""
    import numpy as np
    import polars as pl

    weights = np.arange(1, TERMS + 1) ** -0.8
    drawn = PER_DOC * docs * 13 // 10  # some are drawn twice
    terms = np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random(drawn))
    pairs = np.sort(rng.integers(0, docs, drawn) * TERMS + terms)
    pairs = pairs[np.concatenate([[True], pairs[1:] != pairs[:-1]])]
    kept = np.sort(rng.permutation(pairs)[: PER_DOC * docs])
    names = pl.Series([f"term_{i}" for i in range(TERMS)])
    return pl.DataFrame({"doc": kept // TERMS + start, "feature": names[kept % TERMS]})
