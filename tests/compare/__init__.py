"""Tables of predictions as `clfeval.compare` takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from clfeval.counts.patterns import PatternCounts


def patterns_of(
    truth: Any, votes: Any, *, owners: Any = None, weights: Any = None
) -> PatternCounts:
    """Count rows: truth (n,), votes (k, n), owners and whole weights (n,)."""
    n = np.ones(len(truth), np.int64) if weights is None else weights
    names = None if owners is None else [*map(str, owners)]
    models = [f"m{i}" for i in range(len(votes))]
    return PatternCounts.from_votes(models, truth, votes.T, n, owners=names)
