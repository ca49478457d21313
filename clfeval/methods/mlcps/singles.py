"""Limits of single measures of each model, where there is a closed form for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clfeval.counts.kept import JointCounts
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.inference.delong import delong_auc
from clfeval.measures.catalog import CATALOG
from clfeval.methods.estimates import Cells, Limits, exact_limits, measure_limits


def closed_form_limits(joint: JointCounts, names: Sequence[str], *, level: float) -> Limits:
    """Return lower and upper limits of measures (k, n), NaN where a bootstrap is needed.

    Shares of rows: exact (Clopper and Pearson). Measures invariant to the class ratio: from the two
    rates. ROC AUC and Gini: `delong_auc`, NaN with one row of a class. Others: NaN.

    Source: each method's own, see `inference`.
    """
    k = len(joint.models)
    low, high = np.full((k, len(names)), np.nan), np.full((k, len(names)), np.nan)
    patterns = PatternCounts(joint.models, joint.truth, joint.votes, joint.n)
    counts = ConfusionCounts.from_patterns(patterns)
    rows = counts.positives + counts.negatives
    cells = Cells.at_prevalence(counts, counts.positives / rows)
    areas = _area_limits(joint, level) if {*names} & {"roc_auc", "gini"} else None
    for j, name in enumerate(names):
        found: Limits | None = None
        if name in ("roc_auc", "gini") and areas is not None:
            found = areas if name == "roc_auc" else (2 * areas[0] - 1, 2 * areas[1] - 1)
        elif name in CATALOG and CATALOG[name].needs == "confusion":  # without parameters
            found = exact_limits(name, cells, level=level)
            if found is None and CATALOG[name].invariant:
                found = measure_limits(name, cells, level=level)
        if found is not None:
            low[:, j], high[:, j] = found
    return low, high


def _area_limits(joint: JointCounts, level: float) -> Limits:
    """Return the confidence limits of each model's area, NaN where unknown."""
    ends = np.full((2, len(joint.models)), np.nan)
    positives, negatives = (np.where(one, joint.n, 0) for one in (joint.truth, ~joint.truth))
    if joint.scores is None or not positives.any() or not negatives.any():
        return ends[0], ends[1]
    for i, scores in enumerate(joint.scores.T):
        _, place = np.unique(scores, return_inverse=True)
        sides = (np.bincount(place, weights=one) for one in (positives, negatives))
        area = delong_auc(*sides, level=level)
        ends[:, i] = area.low, area.high
    return ends[0], ends[1]
