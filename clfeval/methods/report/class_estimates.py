"""Measures of each class against the rest, and the limits of their mean over the classes."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan

import numpy as np

from clfeval.arrays import Counts, Floats, Ints, divide
from clfeval.compare.change import values_and_limits
from clfeval.counts.classes import ClassPatterns
from clfeval.counts.clusters_and_weights import (
    ClusterCounts,
    Owned,
    RowWeights,
    largest_weights,
    table_products,
)
from clfeval.counts.patterns import ConfusionCounts
from clfeval.inference.distributions import critical_value, student_quantile
from clfeval.inference.influence_and_clusters import mean_limits
from clfeval.inference.proportions import weighted_count_limits
from clfeval.measures.catalog import CATALOG
from clfeval.measures.multiclass_table import (
    class_biases,
    class_covariance,
    class_influence,
    mean_error_weights,
    one_vs_rest_tables,
)
from clfeval.measures.record import Measure
from clfeval.methods.confidence_limits import effective_share_counts, share_degrees_of_freedom
from clfeval.methods.estimates import Cells
from clfeval.methods.measurement import label_measures
from clfeval.methods.measurement.label_measures import MeasureEstimate, TableResampler
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.options import IntervalSettings
from clfeval.records import dataclass

MEAN = "square-and-add of classes"
_CELLS = 1 << 22  # classes x patterns handled at once


@dataclass(frozen=True, slots=True, eq=False)
class ClassSizes:
    """Rows in the denominator of each class, (C,), and effective ones; ratios of t to normal."""

    rows: Floats
    effective: Floats
    quantiles: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ClassTables:
    """The 2 x 2 tables of each class against the rest, of one model in a slice.

    table (C, C): rows by true and predicted class; model: index of the model in the patterns.
    """

    patterns: ClassPatterns
    model: int
    table: Counts
    counts: ConfusionCounts
    settings: label_measures.LabelLimitSettings

    @classmethod
    def from_model(
        cls,
        patterns: ClassPatterns,
        model: int,
        table: Counts,
        intervals: IntervalSettings,
        name: str,
    ) -> ClassTables:
        """Build the tables of a model; name: of its random streams."""
        classes, clusters = patterns.classes, patterns.clusters
        tables = one_vs_rest_tables(table)
        sums, units = None, 0.0
        resamplers: list[TableResampler | None] = [None] * len(classes)
        if clusters is not None:
            votes = patterns.votes[:, model]
            by_class = [
                TableResampler.from_labels(clusters, patterns.truth == k, votes == k)
                for k in range(len(classes))
            ]
            units, resamplers = clusters.size, [*by_class]
            sums = np.array([_cluster_sums(clusters, cells.cells) for cells in by_class])
        totals = (tables.tp + tables.fn, tables.fp + tables.tn)
        largest = largest_weights(clusters, len(classes))
        counts = ConfusionCounts(classes, *tables.cells, *totals, patterns.unit, sums, largest)
        names = [f"{name}\0{label}" for label in classes]
        settings = label_measures.LabelLimitSettings(
            intervals, names, resamplers, [units] * len(classes)
        )
        return cls(patterns, model, table, counts, settings)

    def estimates(self, requested: RequestedMeasure) -> list[MeasureEstimate]:
        """Return a measure of each class against the rest."""
        return label_measures.estimate_label_measure(requested, self.counts, self.settings)

    def mean_limits(
        self, measure: Measure, estimates: Sequence[MeasureEstimate], level: float, df: float
    ) -> tuple[float, float]:
        """Return limits of the mean of a measure over the classes where it is defined.

        Each side is longer by the bias of the mean, if it is to that side: see `class_biases`.
        Of independent rows they are the nearer ones of these and of `_limits_of_errors`.
        With clusters or weights the quantile of each class, Student's t, is replaced by that of
        the mean, with df degrees of freedom. NaN where a class with a value has no limits.
        """
        values, lower, upper = values_and_limits([estimate.value for estimate in estimates])
        defined = np.flatnonzero(~np.isnan(values))
        values, lower, upper = values[defined], lower[defined], upper[defined]
        if not len(defined) or np.isnan(lower).any():
            return nan, nan
        sizes = self._sizes(measure, level)
        shrinkage = 1 / sizes.quantiles[defined]
        lower = values - (values - lower) * shrinkage
        upper = values + (upper - values) * shrinkage
        factors = divide(sizes.rows, np.maximum(sizes.effective - 1, sizes.effective / 2))
        covariance = self._covariance(measure, factors)[np.ix_(defined, defined)]
        low, high = mean_limits(values, lower, upper, covariance, level=level)
        if self.patterns.clusters is None:
            lowest, highest = self._limits_of_errors(measure, level)
            low = max(low, lowest)
            high = min(high, highest)
        biases = self._mean_biases(measure, factors, sizes.effective, defined)
        mean = float(values.mean())
        widening = self._quantile_ratio(df, level)
        low = mean - (mean - low) * widening - max(0.0, *biases)
        high = mean + (high - mean) * widening - min(0.0, *biases)
        return max(low, measure.low), min(high, measure.high)

    def _limits_of_errors(self, measure: Measure, level: float) -> tuple[float, float]:
        """Return limits of the mean from the weighted sum of all errors as Poisson counts.

        They are the shorter ones where errors are few, as the limits of many classes without any
        error add up.
        """
        weights = mean_error_weights(measure, self.table)
        loss = float((weights * self.table).sum())
        variance = float((weights**2 * self.table).sum())
        low, high = weighted_count_limits(loss, variance, float(weights.max()), level=level)
        return (low, high) if measure.sign < 0 else (1 - high, 1 - low)

    def _mean_biases(
        self, measure: Measure, factors: Floats, effective: Floats, defined: Ints
    ) -> list[float]:
        """Return the biases of the mean over some classes, of random and of fixed class totals.

        That of a class with a row or two is unknown; it is that of the others by 1 / rows.
        """
        several = effective > 2
        biases = (class_biases(measure, self.table) * factors * effective)[:, several]
        inverse = float((1 / np.maximum(effective[defined], 1)).mean())
        random, fixed = (biases.sum(axis=1) / max(1, biases.shape[1]) * inverse).tolist()
        return [random, fixed]

    def _quantile_ratio(self, df: float, level: float) -> float:
        """Return Student's t of a mean over the normal quantile; 1 for independent rows."""
        clusters = self.patterns.clusters
        if clusters is None:
            return 1.0
        # without an error, as where all rows are right, those of the clusters
        freedom = clusters.size - 1 if isnan(df) else df
        return float(student_quantile(freedom, level=level)) / critical_value(level)

    def _sizes(self, measure: Measure, level: float) -> ClassSizes:
        """Return the sizes of the denominators of a measure of each class."""
        base = measure if measure.share is not None else CATALOG["jaccard"]
        cells = Cells.at_prevalence(self.counts)
        assert base.share is not None
        rows = np.asarray(base.share(cells)[1], np.float64)
        effective = np.asarray(effective_share_counts(base, cells, level)[1], np.float64)
        df = share_degrees_of_freedom(base, cells)
        t = student_quantile(np.where(df > 0, df, np.nan), level=level)
        quantiles = np.maximum(t / critical_value(level), 1.0)
        return ClassSizes(rows, effective * quantiles**2, quantiles)

    def _covariance(self, measure: Measure, factors: Floats) -> Floats:
        """Return covariances of the classes, (C, C), with the variances of few rows.

        The variance of a class is that of independent rows times its factor, so that it is
        p (1 - p) / (m - 1) of a share of m effective rows. The correlations are those of rows,
        weights or clusters.
        """
        n, clusters = self.table.astype(np.float64), self.patterns.clusters
        independent = class_covariance(measure, n, n)
        variances = np.diag(independent) * factors
        if clusters is None:
            designed = independent
        elif isinstance(clusters, RowWeights):
            cell = self.patterns.cells(self.model)
            squares = np.bincount(cell, clusters.squares, n.size).reshape(n.shape)
            designed = class_covariance(measure, n, squares)
        else:
            designed = self._cluster_products(measure, clusters)
        errors = np.sqrt(divide(variances, np.diag(designed)))
        errors = np.where(np.isfinite(errors), errors, 0.0)
        covariance = np.asarray(designed * errors[:, None] * errors)
        np.fill_diagonal(covariance, np.where(np.isfinite(variances), variances, 0.0))
        return covariance

    def _cluster_products(self, measure: Measure, clusters: ClusterCounts) -> Floats:
        """Return the sums over clusters of products of the influence on two classes, (C, C)."""
        tp, fp, fn, tn = class_influence(measure, self.table)
        truth, votes = self.patterns.truth, self.patterns.votes[:, self.model]
        totals = np.empty((len(tn), len(clusters)))
        step = max(1, _CELLS // max(1, len(truth)))
        for start in range(0, len(tn), step):
            block = np.arange(start, min(start + step, len(tn)))[:, None]
            predicted = votes == block
            of_positives = np.where(predicted, tp[block], fn[block])
            of_negatives = np.where(predicted, fp[block], tn[block])
            influence = np.where(truth == block, of_positives, of_negatives)
            totals[block.ravel()] = clusters.totals(influence)
        return np.asarray(totals @ totals.T)


def _cluster_sums(clusters: Owned, cells: Floats) -> Floats:
    """Return the sums over clusters of products of TP, FP, P and N, (4, 4)."""
    tp, fp, fn, tn = cells
    return table_products(clusters, np.array([tp, fp, tp + fn, fp + tn]))
