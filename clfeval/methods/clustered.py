"""What results say of rows that share clusters: design effects, and the notes on few of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from clfeval.arrays import Bools, Floats
from clfeval.counts.clusters import ClusterCounts
from clfeval.counts.count import Counted
from clfeval.counts.patterns import PatternCounts
from clfeval.inference.clusters import design
from clfeval.result import Warn

ENOUGH = 20  # clusters
_CELLS = 1 << 22  # shares x clusters, or patterns, handled at once


def independence(column: str | None) -> str:
    """Say what intervals take as independent."""
    if column is None:
        return "rows taken as independent"
    return f"clusters of '{column}' taken as independent"


def share_design(clusters: ClusterCounts, part: Bools, whole: Bools) -> tuple[Floats, Floats]:
    """Return the design effects of s shares, and how many clusters tell as much: (s,) each.

    part, whole (s, m): which of the m patterns; whole may be (1, m).
    """
    sums = np.empty((5, len(part)))
    step = max(1, _CELLS // max(1, len(clusters), part.shape[1]))
    among = None if len(whole) > 1 else clusters.totals(whole.astype(np.float64))
    for start in range(0, len(part), step):
        some = slice(start, start + step)
        k = clusters.totals(part[some].astype(np.float64))
        n = clusters.totals(whole[some].astype(np.float64)) if among is None else among
        n = np.broadcast_to(n, k.shape)
        sums[:, some] = [one.sum(axis=1) for one in (k, n, k * k, k * n, n * n)]
    return design(*sums)


def cluster_totals(patterns: PatternCounts | None) -> dict[str, Any]:
    """Return the number of clusters and the largest design effect of sensitivity or specificity.

    Of the models whose rate is neither 0 nor 1, which alone show it; None where there is none.
    """
    if patterns is None or patterns.clusters is None:
        return {}
    truth, votes = patterns.truth[:, None], patterns.votes
    found = [
        share_design(patterns.clusters, (mine & right).T, mine.T)[0]
        for mine, right in ((truth, votes), (~truth, ~votes))
    ]
    moves = [
        ((patterns.n @ (mine & right)) > 0) & ((patterns.n @ (mine & ~right)) > 0)
        for mine, right in ((truth, votes), (~truth, ~votes))
    ]
    effects = np.concatenate(found)[np.concatenate(moves)]
    effects = effects[np.isfinite(effects)]
    most = float(effects.max()) if len(effects) else None
    return {"clusters": len(patterns.clusters), "design_effect": most}


def cluster_notes(counted: Counted) -> list[Warn]:
    """Say that there are few clusters, or that a column looks as if it named some."""
    clusters = counted.patterns.clusters
    if clusters is not None:
        if len(clusters) < 2:
            text = "all rows are one cluster: nothing tells how others differ, so no intervals"
            return [Warn("few-clusters", text)]
        if len(clusters) < ENOUGH:
            text = f"{len(clusters)} clusters tell little of how others differ: intervals are wide"
            return [Warn("few-clusters", text)]
        return []
    name = counted.kept.shared()
    if name is None:
        return []
    text = (
        f"'{name}' repeats: if rows of one {name} tend to be alike, intervals of independent rows "
        f"are too narrow; --cluster '{name}'"
    )
    return [Warn("may-share", text)]
