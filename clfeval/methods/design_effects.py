"""Design effects: counts of clustered or weighted rows scaled to the effective sample size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Bools, Counts, Floats
from clfeval.counts.classes import ClassPatterns
from clfeval.counts.clusters_and_weights import ClusterCounts, Owned, RowWeights
from clfeval.counts.count import PredictionCounts
from clfeval.counts.patterns import PatternCounts
from clfeval.document import ResultNote
from clfeval.errors import format_option
from clfeval.inference.standard_errors import design_effect, influence_covariance, share_divisor
from clfeval.measures.confusion import Confusion
from clfeval.measures.multiclass_table import accuracy_influence
from clfeval.measures.record import Measure
from clfeval.records import dataclass

if TYPE_CHECKING:
    from clfeval.methods.estimates import Cells

_UNIT = np.eye(4)
_COUNTS = Confusion(_UNIT[0], _UNIT[1], _UNIT[2] - _UNIT[0], _UNIT[3] - _UNIT[1])


def effective_share_counts(measure: Measure, cells: Cells, level: float) -> tuple[Counts, Counts]:
    """Return the effective numerator and denominator of a share of rows."""
    assert measure.share is not None
    part, whole = measure.share(cells)
    if cells.sums is None:
        return part, whole
    # the share of unit counts shows which counts its two parts add up
    made = (one[None] for one in measure.share(_COUNTS))
    by = share_divisor(cells.sums, cells.totals, *made, level=level)
    return part / by, whole / by


ENOUGH = 20  # clusters
ROWS, OF_A_CLASS = 30, 5  # minimum of a slice that is tested
CLUSTERED = {  # in addition to the methods of independent rows
    "rows that share clusters": "counts divided by the design effect and (t/z)² (Korn and Graubard "
    "1998), DeLong by clusters (Obuchowski 1997), bootstrap of clusters; p-values by sign tests of "
    "clusters"
}
WEIGHED = {
    "rows with sampling weights": "influence values with squared weights (Binder 1983); counts "
    "scaled to the effective sample size (Kish 1965) and divided by (t/z)²; Bayesian bootstrap "
    "(Rubin 1981)"
}
_CELLS = 1 << 22  # shares x clusters, or patterns, handled at once


def share_design(
    clusters: Owned, part: Bools, whole: Bools, *, cautious: bool = True, heavy: ArrayLike = 0.0
) -> tuple[Floats, Floats]:
    """Return the design effects and effective numbers of clusters of s shares, (s,) each.

    part (s, m), whole (s, m) or (1, m): counts among the m patterns. heavy: as `design_effect`.
    """
    sums = np.empty((5, len(part)))
    step = max(1, _CELLS // max(1, int(clusters.size), part.shape[1]))
    for start in range(0, len(part), step):
        some = slice(start, start + step)
        sums[:, some] = clusters.shares(part[some], whole if len(whole) == 1 else whole[some])
    k, n, kk, kn, nn = sums
    return design_effect(k, n, kk, kn, nn, cautious=cautious, heavy=heavy)


@dataclass(frozen=True, slots=True, eq=False)
class TableResampler:
    """Bootstrap of a model's table by clusters; cells (4, m): 1 for patterns TP, FP, FN, TN."""

    clusters: Owned
    cells: Floats

    @classmethod
    def from_patterns(cls, patterns: PatternCounts | None, model: str) -> TableResampler | None:
        """Build the resampler of a model; None for independent, unweighted rows."""
        if patterns is None or patterns.clusters is None:
            return None
        says = patterns.votes[:, patterns.models.index(model)]
        return cls.from_labels(patterns.clusters, patterns.truth, says)

    @classmethod
    def from_labels(cls, clusters: Owned, truth: Bools, says: Bools) -> TableResampler:
        """Build the resampler of labels and predictions of the patterns, (m,) each."""
        which = [truth & says, ~truth & says, truth & ~says, ~truth & ~says]
        return cls(clusters, np.array(which, np.float64))

    def tables(self, resamples: int, rng: np.random.Generator) -> Floats:
        """Return TP, FP, FN and TN of bootstrap tables, (4, r)."""
        return self.clusters.resample(self.cells, resamples=resamples, rng=rng)


def class_sizes(patterns: PatternCounts | ClassPatterns, classes: int) -> Floats:
    """Return the effective rows, or clusters n² / sum n_c², of each class, (classes,)."""
    places = np.array([patterns.truth == k for k in range(classes)])
    if isinstance(patterns.clusters, RowWeights):
        return np.array([patterns.clusters.among(mine).size for mine in places])
    n = places @ patterns.n.astype(np.float64)
    if patterns.clusters is None or not patterns.fractional:
        return np.asarray(n / patterns.unit)
    squares = patterns.clusters.shares(places, places)[-1]
    return np.asarray(np.divide(n**2, squares, out=np.zeros_like(n), where=squares > 0))


def smallest_class_size(patterns: PatternCounts | ClassPatterns, classes: int = 2) -> float:
    """Return the effective rows, or clusters, of the smallest class that occurs."""
    sizes = effective_class_sizes(patterns, classes)
    return float(sizes[sizes > 0].min())


def enough_rows(patterns: PatternCounts) -> tuple[float, bool]:
    """Return the rows of a slice, and whether they suffice to compare models: 30, 5 a class."""
    enough = class_sizes(patterns, 2).sum() >= ROWS and smallest_class_size(patterns) >= OF_A_CLASS
    return float(patterns.rows), bool(enough)


def effective_class_sizes(patterns: PatternCounts | ClassPatterns, classes: int) -> Floats:
    """Return the rows, or effective clusters n² / sum n_c², of each class, (classes,)."""
    if not isinstance(patterns.clusters, ClusterCounts):
        sizes = class_sizes(patterns, max(classes, int(patterns.truth.max(initial=0)) + 1))
        return sizes if classes > 1 else sizes.sum(keepdims=True)
    places = np.array([(patterns.truth == k) | (classes == 1) for k in range(classes)])
    n, squares = places @ patterns.n.astype(np.float64), patterns.clusters.shares(places, places)
    return np.asarray(np.divide(n**2, squares[-1], out=np.zeros_like(n), where=n > 0))


def cluster_summary(patterns: PatternCounts | ClassPatterns | None) -> dict[str, Any]:
    """Return the number of clusters and the largest design effect of a model's rates.

    The design effect is that of sensitivity or specificity, of more classes accuracy, or None. With
    sampling weights Kish's effective number (sum w)² / sum w².
    """
    if patterns is None or patterns.clusters is None:
        return {}
    if isinstance(patterns.clusters, RowWeights):
        return {"effective_rows": patterns.clusters.size}
    if patterns.fractional:
        every = np.ones((1, len(patterns.n)), bool)
        size = float(share_design(patterns.clusters, every, every)[1][0])
        many = len(patterns.clusters)
        return {"clusters": many, "design_effect": None, "effective_clusters": size}
    if isinstance(patterns, ClassPatterns):
        each = accuracy_influence(patterns.tables)
        moved = np.array([one[patterns.cells(i)] for i, one in enumerate(each)])
        effects = influence_covariance(moved, patterns.n, clusters=patterns.clusters).effect
    else:
        effects = _of_rates(patterns, patterns.clusters)
    effects = effects[np.isfinite(effects)]
    most = float(effects.max()) if len(effects) else None
    return {"clusters": len(patterns.clusters), "design_effect": most}


def _of_rates(patterns: PatternCounts, clusters: Owned) -> Floats:
    """Return the design effects of sensitivities and specificities."""
    truth, votes, found = patterns.truth[:, None], patterns.votes, list[Floats]()
    for mine, right in ((truth, votes), (~truth, ~votes)):
        each = share_design(clusters, (mine & right).T, mine.T, cautious=False)[0]
        moves = ((patterns.n @ (mine & right)) > 0) & ((patterns.n @ (mine & ~right)) > 0)
        found.append(each[moves])
    return np.concatenate(found)


def cluster_notes(counted: PredictionCounts) -> list[ResultNote]:
    """Return warnings on few clusters, or on a column that may identify clusters."""
    clusters = counted.patterns.clusters
    if isinstance(clusters, ClusterCounts):
        many, n = len(clusters), counted.patterns.n.astype(np.float64)
        alike = n.sum() ** 2 / clusters.products(np.ones((1, len(n)))).item() if many > 1 else 1
        if alike >= ENOUGH:
            return []
        text = f"only {many} clusters: intervals are approximate"
        if many < 2:
            text = "all rows are in one cluster: intervals cannot be computed"
        elif many >= ENOUGH:
            size = "weight" if counted.patterns.fractional else "size"
            text = f"{many} clusters of unequal {size} are equivalent to {alike:.0f} equal ones: "
            text += "intervals are approximate"
        return [ResultNote("few-clusters", text)]
    name = counted.kept.likely_cluster()
    text = f"'{name}' repeats: if rows with the same value are correlated, intervals are too "
    text += f"narrow; add {format_option('--cluster', str(name))}"
    return [] if name is None else [ResultNote("may-share", text)]
