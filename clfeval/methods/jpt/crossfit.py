"""The honest worth of a chosen threshold: chosen on some folds, judged on the one left out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from clfeval.counts.score_counts import ScoreCounts
from clfeval.measures.jpt import Floats
from clfeval.measures.table import Measure
from clfeval.result import Estimate


def honest_estimates(
    counts: ScoreCounts,
    ratios: Floats,
    measures: Mapping[str, Measure],
    *,
    folds: int,
    repeats: int,
    rng: np.random.Generator,
) -> dict[str, list[Estimate]]:
    """Return, by measure, the cross-fitted value at each of g odds."""
    raise NotImplementedError
