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
        model_index: int,
        table: Counts,
        intervals: IntervalSettings,
        stream_prefix: str,
    ) -> ClassTables:
        """Build the tables of a model; stream_prefix: of the names of its random streams."""
        classes, clusters = patterns.classes, patterns.clusters
        confusions = one_vs_rest_tables(table)
        cluster_sums = None
        cluster_count = 0.0
        resamplers: list[TableResampler | None] = [None] * len(classes)
        if clusters is not None:
            votes = patterns.votes[:, model_index]
            class_resamplers = [
                TableResampler.from_labels(
                    clusters, patterns.truth == class_index, votes == class_index
                )
                for class_index in range(len(classes))
            ]
            cluster_count = clusters.size
            resamplers = [*class_resamplers]
            cluster_sums = np.array(
                [_cluster_sums(clusters, resampler.cells) for resampler in class_resamplers]
            )
        class_totals = (confusions.tp + confusions.fn, confusions.fp + confusions.tn)
        largest_class_weights = largest_weights(clusters, len(classes))
        counts = ConfusionCounts(
            classes,
            *confusions.cells,
            *class_totals,
            patterns.unit,
            cluster_sums,
            largest_class_weights,
        )
        stream_names = [f"{stream_prefix}\0{class_name}" for class_name in classes]
        settings = label_measures.LabelLimitSettings(
            intervals, stream_names, resamplers, [cluster_count] * len(classes)
        )
        return cls(patterns, model_index, table, counts, settings)

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
        defined_indices = np.flatnonzero(~np.isnan(values))
        values, lower, upper = (array[defined_indices] for array in (values, lower, upper))
        if not len(defined_indices) or np.isnan(lower).any():
            return nan, nan
        sizes = self._sizes(measure, level)
        quantile_shrinkage = 1 / sizes.quantiles[defined_indices]
        lower = values - (values - lower) * quantile_shrinkage
        upper = values + (upper - values) * quantile_shrinkage
        factors = divide(sizes.rows, np.maximum(sizes.effective - 1, sizes.effective / 2))
        covariance = self._covariance(measure, factors)[np.ix_(defined_indices, defined_indices)]
        low, high = mean_limits(values, lower, upper, covariance, level=level)
        if self.patterns.clusters is None:
            error_low, error_high = self._limits_of_errors(measure, level)
            low = max(low, error_low)
            high = min(high, error_high)
        biases = self._mean_biases(measure, factors, sizes.effective, defined_indices)
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
        weighted_errors = float((weights * self.table).sum())
        variance = float((weights**2 * self.table).sum())
        low, high = weighted_count_limits(
            weighted_errors, variance, float(weights.max()), level=level
        )
        return (low, high) if measure.sign < 0 else (1 - high, 1 - low)

    def _mean_biases(
        self, measure: Measure, factors: Floats, effective_rows: Floats, defined_indices: Ints
    ) -> list[float]:
        """Return the biases of the mean over some classes, of random and of fixed class totals.

        That of a class with a row or two is unknown; it is that of the others by 1 / rows.
        factors: of the variance of each class, as in `_covariance`; effective_rows: of each class.
        """
        has_several_rows = effective_rows > 2
        biases = (class_biases(measure, self.table) * factors * effective_rows)[:, has_several_rows]
        mean_inverse_rows = float((1 / np.maximum(effective_rows[defined_indices], 1)).mean())
        mean_biases = biases.sum(axis=1) / max(1, biases.shape[1]) * mean_inverse_rows
        random_totals_bias, fixed_totals_bias = mean_biases.tolist()
        return [random_totals_bias, fixed_totals_bias]

    def _quantile_ratio(self, df: float, level: float) -> float:
        """Return Student's t of a mean over the normal quantile; 1 for independent rows."""
        clusters = self.patterns.clusters
        if clusters is None:
            return 1.0
        # NaN without an error, as where all rows are right: then those of the clusters
        degrees = clusters.size - 1 if isnan(df) else df
        return float(student_quantile(degrees, level=level)) / critical_value(level)

    def _sizes(self, measure: Measure, level: float) -> ClassSizes:
        """Return the sizes of the denominators of a measure of each class."""
        share_measure = measure if measure.share is not None else CATALOG["jaccard"]
        cells = Cells.at_prevalence(self.counts)
        assert share_measure.share is not None
        _, denominators = share_measure.share(cells)
        _, effective_denominators = effective_share_counts(share_measure, cells, level)
        rows = np.asarray(denominators, np.float64)
        effective = np.asarray(effective_denominators, np.float64)
        df = share_degrees_of_freedom(share_measure, cells)
        t = student_quantile(np.where(df > 0, df, np.nan), level=level)
        quantiles = np.maximum(t / critical_value(level), 1.0)
        return ClassSizes(rows, effective * quantiles**2, quantiles)

    def _covariance(self, measure: Measure, factors: Floats) -> Floats:
        """Return covariances of the classes, (C, C), with the variances of few rows.

        The variance of a class is that of independent rows times its factor, so that it is
        p (1 - p) / (m - 1) of a share of m effective rows. The correlations are those of rows,
        weights or clusters. factors (C,): of each class.
        """
        n, clusters = self.table.astype(np.float64), self.patterns.clusters
        independent_covariance = class_covariance(measure, n, n)
        variances = np.diag(independent_covariance) * factors
        if clusters is None:
            design_covariance = independent_covariance
        elif isinstance(clusters, RowWeights):
            cell_of_pattern = self.patterns.cells(self.model)
            squared_weights = np.bincount(cell_of_pattern, clusters.squares, n.size).reshape(
                n.shape
            )
            design_covariance = class_covariance(measure, n, squared_weights)
        else:
            design_covariance = self._cluster_products(measure, clusters)
        scaling = np.sqrt(divide(variances, np.diag(design_covariance)))
        scaling = np.where(np.isfinite(scaling), scaling, 0.0)
        covariance = np.asarray(design_covariance * scaling[:, None] * scaling)
        np.fill_diagonal(covariance, np.where(np.isfinite(variances), variances, 0.0))
        return covariance

    def _cluster_products(self, measure: Measure, clusters: ClusterCounts) -> Floats:
        """Return the sums over clusters of products of the influence on two classes, (C, C)."""
        tp, fp, fn, tn = class_influence(measure, self.table)
        true_classes, predicted_classes = self.patterns.truth, self.patterns.votes[:, self.model]
        cluster_totals = np.empty((len(tn), len(clusters)))
        block_size = max(1, _CELLS // max(1, len(true_classes)))
        for start in range(0, len(tn), block_size):
            classes = np.arange(start, min(start + block_size, len(tn)))[:, None]
            is_predicted = predicted_classes == classes
            positive_influence = np.where(is_predicted, tp[classes], fn[classes])
            negative_influence = np.where(is_predicted, fp[classes], tn[classes])
            influence = np.where(true_classes == classes, positive_influence, negative_influence)
            cluster_totals[classes.ravel()] = clusters.totals(influence)
        return np.asarray(cluster_totals @ cluster_totals.T)


def _cluster_sums(clusters: Owned, cells: Floats) -> Floats:
    """Return the sums over clusters of products of TP, FP, P and N, (4, 4)."""
    tp, fp, fn, tn = cells
    return table_products(clusters, np.array([tp, fp, tp + fn, fp + tn]))
