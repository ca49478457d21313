"""Rows of a table by kind, as gains by recalibration need them: numbers, sampling units, folds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clfeval.arrays import Counts, Floats
from clfeval.counts.classes import ClassScores
from clfeval.counts.clusters_and_weights import ClusterCounts, Owned, RowWeights
from clfeval.counts.scores import ScoreCounts
from clfeval.inference.influence_and_clusters import mean_covariance
from clfeval.inference.resampling import split_into_folds
from clfeval.records import dataclass

FOLDS = 10


@dataclass(frozen=True, slots=True, eq=False)
class RowKinds:
    """Rows of k kinds that are alike to every calibrator.

    n (k,): rows of each kind, or their weight in units of 1 / `unit`; clusters: sampling units
    other than equal rows.
    """

    n: Counts
    unit: float = 1
    clusters: Owned | None = None

    @classmethod
    def from_scores(cls, counts: ScoreCounts) -> RowKinds:
        """Return the positives at each score, then the negatives: k is 2 m."""
        n = np.concatenate([counts.positives, counts.negatives])
        return cls(n, counts.unit, counts.clusters)

    @classmethod
    def from_classes(cls, scores: ClassScores) -> RowKinds:
        """Return the distinct rows of class probabilities."""
        return cls(scores.n, scores.unit, scores.clusters)

    @property
    def in_effect(self) -> float:
        """The number of rows, of weighted ones the effective number."""
        if isinstance(self.clusters, RowWeights):
            return self.clusters.size
        return float(self.n.sum() / self.unit)

    @property
    def has_few_clusters(self) -> bool:
        """Whether there are too few clusters for a variance between them."""
        return self.clusters is not None and self.clusters.too_few

    def deal_folds(self, repeats: int, rng: np.random.Generator) -> Iterator[Counts]:
        """Yield the rows held out of each fold, (folds, k), for each repeat.

        There are `FOLDS` folds, or as many as clusters if these are fewer.
        """
        clusters = self.clusters
        fold_count = min(FOLDS, len(clusters)) if isinstance(clusters, ClusterCounts) else FOLDS
        for _ in range(repeats):
            if clusters is None:
                yield split_into_folds(self.n, fold_count, rng)
            else:
                yield clusters.split_into_folds(len(self.n), fold_count, rng)

    def mean_variance(self, deviations: Floats) -> float:
        """Return the variance of a mean over rows from deviations (k,)."""
        rows = self.n.astype(np.float64)
        row_total = rows.sum()
        if self.clusters is None:
            squares = np.array([[rows @ deviations**2]])
            return float(mean_covariance(squares, row_total, row_total)[0, 0])
        squares = self.clusters.products(deviations[None])
        return float(mean_covariance(squares, row_total, self.clusters.size)[0, 0])

    def design_effect(self, residuals: Floats, weight: Floats) -> float:
        """Return the mean design effect of a fit with q parameters, at least 1 with clusters.

        trace(A^-1 B) / q: A the information, B the sum over sampling units of squared scores of the
        likelihood. 1 for rows without clusters or weights.

        Shapes: residuals (q, k), the score of a row; weight (q, q), A.
        Source: Rao and Scott 1984, Annals of Statistics 12:46.
        """
        if self.clusters is None:
            return 1.0
        products = self.clusters.products(residuals)
        effect = float(np.trace(np.linalg.solve(weight, products))) / len(residuals)
        return max(effect, 1.0) if isinstance(self.clusters, ClusterCounts) else effect
