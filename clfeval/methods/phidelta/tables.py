"""Tables of phidelta: models, populations, runs, and lines on which a measure keeps its value."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from clfeval.arrays import Floats, divide, safe_for_products
from clfeval.counts.patterns import CELLS, ConfusionCounts, PatternCounts
from clfeval.document.cells import Estimate, Row, as_row
from clfeval.document.rows import CellColumns
from clfeval.inference.distributions import bisect
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion, mutual_information
from clfeval.measures.odds import (
    BOUNDARIES,
    CORNERS,
    LEAN,
    phi_delta,
    phi_delta_at_prevalence,
    phi_delta_of_counts,
)
from clfeval.measures.record import Population
from clfeval.methods.confidence_limits import exact_limits, measure_limits, search_ranges
from clfeval.methods.estimates import (
    RANDOM,
    Cells,
    Design,
    Estimates,
    Limits,
    concatenate_counts,
    estimate_column,
    rows_from_columns,
)
from clfeval.methods.label_comparisons import SEED
from clfeval.methods.measurement.label_measures import TableResampler
from clfeval.methods.measurement.run_means import RunMean, RunValues
from clfeval.methods.measurement.score_measures import bootstrap_limits
from clfeval.methods.options import RESAMPLES, IntervalSettings
from clfeval.methods.phidelta.options import COMPARED
from clfeval.records import dataclass, field

STEPS = 64  # points of a curved line

Line = tuple[Floats, Floats]  # tp and fp of its points


def corner_rows(populations: Sequence[Population]) -> list[Row]:
    """Return the four corners at each prevalence: (0, 1), and three that depend on it."""
    return [
        as_row(
            {
                "prevalence": population.prevalence,
                "odds": population.odds,
                "corner": name,
                "phi_b": float(phi),
                "delta_b": float(delta),
            }
        )
        for population in populations
        for name, rates in CORNERS.items()
        for phi, delta in [phi_delta_at_prevalence(*rates, population.prevalence)]
    ]


def isometric_rows(
    isometrics: Sequence[tuple[str, tuple[float, ...]]], populations: Sequence[Population]
) -> list[Row]:
    """Return the points of every line at each prevalence: phi, delta, and phi_b, delta_b.

    isometrics: the measures, and the values of each that have a line.
    """
    return [
        row
        for population in populations
        for measure, values in isometrics
        for value in values
        for row in _line_rows(measure, value, population)
    ]


def _line_rows(measure: str, value: float, population: Population) -> Iterator[Row]:
    """Yield the points of the lines of a value at a prevalence."""
    prevalence = population.prevalence
    for branch_number, (tp, fp) in enumerate(isometric_lines(measure, value, prevalence)):
        points = np.stack(
            [*phi_delta(tp, fp), *phi_delta_at_prevalence(tp, fp, prevalence)], axis=1
        )
        for point_number, (phi, delta, phi_b, delta_b) in enumerate(points.tolist()):
            yield as_row(
                {
                    "measure": measure,
                    "value": value,
                    "prevalence": prevalence,
                    "odds": population.odds,
                    "branch": branch_number,
                    "point": point_number,
                    "phi": phi,
                    "delta": delta,
                    "phi_b": phi_b,
                    "delta_b": delta_b,
                }
            )


def isometric_lines(measure: str, value: float, p: float) -> Iterator[Line]:
    """Yield the lines (tp, fp) inside the unit square on which the measure has the value.

    All but mutual information are straight: a tp + b fp = c.
        sensitivity v   tp = v               specificity v   fp = 1 - v
        accuracy v      p tp - n fp = v - n
        precision v     p (1 - v) tp - n v fp = 0
        npv v           p v (1 - tp) - n (1 - v) (1 - fp) = 0
    """
    n = 1 - p
    if measure == "mutual_information":
        yield from _information_lines(value, p)
        return
    a, b, c = {
        "sensitivity": (1.0, 0.0, value),
        "specificity": (0.0, 1.0, 1 - value),
        "accuracy": (p, -n, value - n),
        "precision": (p * (1 - value), -n * value, 0.0),
        "npv": (-p * value, n * (1 - value), n * (1 - value) - p * value),
    }[measure]
    # where a x + b y = c enters and leaves the unit square, but for rounding
    crossings = [(x, (c - a * x) / b) for x in (0.0, 1.0) if b]
    crossings += [((c - b * y) / a, y) for y in (0.0, 1.0) if a]
    square_points = {
        (round(min(max(x, 0.0), 1.0), 12), round(min(max(y, 0.0), 1.0), 12))
        for x, y in crossings
        if -1e-12 <= x <= 1 + 1e-12 and -1e-12 <= y <= 1 + 1e-12
    }
    if len(square_points) > 1:
        tp_ends, fp_ends = np.array([min(square_points), max(square_points)]).T
        yield tp_ends, fp_ends


def _information_lines(value: float, p: float) -> Iterator[Line]:
    """Yield the lines above and below the phi axis: information grows with distance from it."""

    def information(phi: Floats, delta: Floats) -> Floats:
        rates = (phi + delta + 1) / 2, (phi - delta + 1) / 2
        return mutual_information(Confusion.from_prevalence(*rates, p))

    def curve(sign: float) -> Line:
        # on the borders from the (anti-)oracle to both side corners
        oracles = np.zeros(2)
        corners = np.array([-1.0, 1.0])
        end_points, _ = bisect(
            lambda x: information(x, sign * (1 - np.abs(x))) > value, oracles, corners
        )
        left_end, right_end = end_points
        phi = left_end + (right_end - left_end) * (1 - np.cos(np.linspace(0, np.pi, STEPS + 1))) / 2
        greatest_heights = 1 - np.abs(phi)
        _, heights = bisect(
            lambda height: information(phi, sign * height) < value,
            np.zeros_like(phi),
            greatest_heights,
        )
        heights[[0, -1]] = greatest_heights[[0, -1]]
        return (phi + sign * heights + 1) / 2, (phi - sign * heights + 1) / 2

    if value == 0:
        yield np.array([0.0, 1.0]), np.array([0.0, 1.0])
        return
    for sign in (1.0, -1.0):
        (largest_information,) = information(np.zeros(1), np.array([sign]))
        if largest_information > value:  # else no point has more information
            yield curve(sign)


PRIOR = ("phi_b", "delta_b")
NON_SHARE_MEASURES = ("f1", "mcc", "mutual_information")  # not shares of rows
WORDS = ("worse than chance", "no better than chance", "informative", "near oracle")
BIAS = 0.05  # a mean |phi| up to here is low bias
LOW_VARIANCE = 0.05  # a distance of runs from their mean point up to here is low variance


def interpret_position(phi: Estimate, delta: Estimate) -> tuple[str | None, str | None]:
    """Return the interpretation of phi and delta, or None and the reason without one."""
    if delta.value is None:
        return None, f"δ is undefined ({delta.reason})"
    if delta.low is None or delta.high is None:
        return None, "δ has no confidence interval"
    covered_edges = [f"{edge:g}" for edge in BOUNDARIES if delta.low <= edge <= delta.high]
    if covered_edges:
        return None, f"the CI of δ includes {' and '.join(covered_edges)}"
    reading = WORDS[bisect_right(BOUNDARIES, delta.value)]
    if phi.value in (-1, 1):
        return f"{reading}: always {_class_side(phi.value)}", None
    phi_low, phi_high = phi.low, phi.high
    if reading != "informative" or phi_low is None or phi_high is None:
        return reading, None
    if any(phi_low <= edge <= phi_high for edge in (-LEAN, LEAN)):
        return reading, None
    is_biased = abs(phi.value or 0.0) > LEAN
    bias = f"biased towards {_class_side(phi_low)}" if is_biased else "balanced"
    return f"{reading}, {bias}", None


@dataclass(frozen=True, slots=True)
class PlaneCounts:
    """Confusion counts of the models of all slices, or runs; level None: no intervals.

    labels: the slice or run of each model. patterns: of slices, for the bootstrap.
    """

    labels: tuple[str | None, ...]
    counts: ConfusionCounts
    level: float | None
    design: Design = RANDOM
    patterns: Mapping[str | None, PatternCounts] = field(default_factory=dict)

    @classmethod
    def from_slices(
        cls,
        counts_by_label: Mapping[Any, ConfusionCounts],
        level: float | None,
        design: Design = RANDOM,
        patterns: Mapping[str | None, PatternCounts] | None = None,
    ) -> PlaneCounts:
        """Concatenate the models of all slices or runs."""
        return cls(*concatenate_counts(counts_by_label), level, design, patterns or {})

    def share(self, measure_id: str, *, level: float | None = None) -> Estimates:
        """Return a share of the rows with its exact interval."""
        measure = CATALOG[measure_id]
        cells = Cells.at_prevalence(self.counts)
        level = level or self.level
        values = divide(*measure.share(cells)) if measure.share else measure.function(cells)
        design = Design(method=self.design.method)
        limits = (
            None if level is None else exact_limits(measure_id, cells, level=level, design=design)
        )
        return estimate_column(values, limits, cells, measure.undefined)

    def measure_at(
        self,
        measure_id: str,
        prevalence: float | None = None,
        *,
        values: Floats | None = None,
        ranges: Mapping[str, Limits] | None = None,
    ) -> Estimates:
        """Return a measure of the two rates at a prevalence, by default that of the rows.

        ranges: its limits, from `ranges_at`; computed if None.
        """
        measure = CATALOG[measure_id]
        cells = Cells.at_prevalence(self.counts, prevalence)
        if measure.interval == "linear":
            tpr_weight, fpr_weight, shift = measure.terms(cells.p, cells.n)
            linear_values = tpr_weight * cells.rates[0] + fpr_weight * cells.rates[1] + shift
            values = (
                linear_values
                if values is None
                else np.where(np.isnan(linear_values), np.nan, values)
            )
        if values is None:
            values = measure.function(cells.at_rates(*cells.rates))
            if prevalence is None:  # F1 needs no row of each class
                values = np.where(np.isnan(values), measure.function(cells.observed), values)
        limits = self._limits_at(measure_id, cells, ranges)
        return estimate_column(
            values,
            limits,
            cells,
            measure.undefined if prevalence is None else measure.undefined_at_odds,
        )

    def _limits_at(
        self, measure_id: str, cells: Cells, ranges: Mapping[str, Limits] | None
    ) -> Limits | None:
        """Return the limits of a measure of the two rates; ranges: those computed already."""
        measure = CATALOG[measure_id]
        if self.level is None:
            return None
        if self.design.method != "bootstrap":
            limits_method = "linear" if measure.interval == "linear" else "region"
            return measure_limits(
                measure_id,
                cells,
                level=self.level,
                design=self.design,
                by=limits_method,
                computed=ranges,
            )
        models = self.counts.models
        limits, _ = bootstrap_limits(
            {measure_id: measure.function},
            cells,
            np.arange(len(models)),
            models,
            IntervalSettings(self.level, "bootstrap", self.design.totals, RESAMPLES, SEED),
            lambda model_index: TableResampler.from_patterns(
                self.patterns.get(self.labels[model_index]), models[model_index]
            ),
        )
        return limits[measure_id]

    def ranges_at(self, prevalence: float | None, measure_ids: Sequence[str]) -> dict[str, Limits]:
        """Return the limits of measures that are ranges over a score region, computed jointly."""
        if self.level is None or self.design.method == "bootstrap":
            return {}
        cells = Cells.at_prevalence(self.counts, prevalence)
        return search_ranges(measure_ids, cells, level=self.level, design=self.design, by="region")

    def position(self) -> tuple[Estimates, Estimates]:
        """Return the estimates of phi and delta."""
        phi, delta = self.quotient(lambda *table: np.stack(phi_delta_of_counts(*table)))
        return self.measure_at("phi", values=phi), self.measure_at("delta", values=delta)

    def accuracy_u(self) -> Estimates:
        """Return the unbiased accuracy, (1 + delta) / 2, by a single division."""
        return self.measure_at(
            "accuracy_u",
            values=self.quotient(lambda tp, fp, p, n: divide(tp * n + (n - fp) * p, 2 * p * n)),
        )

    def quotient(self, formula: Callable[..., Floats]) -> Floats:
        """Return a quotient of products of TP, FP, positives and negatives, by one division."""
        counts = self.counts
        count_arrays = (counts.tp, counts.fp, counts.positives, counts.negatives)
        products = safe_for_products(*count_arrays)
        quotients = formula(*products)
        if products[0] is not counts.tp:  # the small ones fit as they are
            larger_class = np.maximum(counts.positives, counts.negatives)
            is_small = larger_class.astype(np.float64) ** 2 < 2.0**61
            quotients[..., is_small] = formula(
                *(count_array[is_small] for count_array in count_arrays)
            )
        return quotients

    def rates(self, thresholds: Mapping[str, float | None]) -> CellColumns:
        """Return the columns of threshold, counts, sensitivity and specificity."""
        counts = self.counts
        return {
            "threshold": [thresholds.get(model) for model in counts.models],
            **{name: counts.display_units(name).tolist() for name in CELLS},
            **{name: self.share(name) for name in ("sensitivity", "specificity")},
        }


def model_rows(plane: PlaneCounts, thresholds: Mapping[str, float | None]) -> list[Row]:
    """Return one row per model: counts, position, reading, measures at equal and sample classes.

    Measures ending in _u are at equal classes; phi_b, delta_b and others at the sample's
    prevalence. `region_*`: simultaneous intervals of phi and delta.
    """
    phi, delta = plane.position()
    interpretations = [
        interpret_position(*phi_and_delta) for phi_and_delta in zip(phi, delta, strict=True)
    ]
    # the two are independent: intervals at the square root of the level cover both at the level
    rate_level = None if plane.level is None else math.sqrt(plane.level)
    cells = Cells.at_prevalence(plane.counts)
    balanced_measures = ("precision", "npv", *NON_SHARE_MEASURES)
    balanced_ranges = plane.ranges_at(0.5, balanced_measures)
    sample_ranges = plane.ranges_at(None, (*NON_SHARE_MEASURES, *PRIOR))
    error_values = plane.quotient(lambda tp, fp, p, n: divide((p - tp) * n + fp * p, 2 * p * n))
    return rows_from_columns(
        {
            "slice": plane.labels,
            "model": plane.counts.models,
            **plane.rates(thresholds),
            "phi": phi,
            "delta": delta,
            "reading": [reading for reading, _ in interpretations],
            "reading_withheld": [reason for _, reason in interpretations],
            "accuracy_u": plane.accuracy_u(),
            "error_u": plane.measure_at("error_u", values=error_values),
            **{
                f"{measure}_u": plane.measure_at(measure, 0.5, ranges=balanced_ranges)
                for measure in balanced_measures
            },
            **{
                measure: plane.share(measure)
                for measure in ("accuracy", "error_rate", "precision", "npv")
            },
            **{
                measure: plane.measure_at(measure, ranges=sample_ranges)
                for measure in NON_SHARE_MEASURES
            },
            **{
                measure: plane.measure_at(
                    measure, values=CATALOG[measure].function(cells), ranges=sample_ranges
                )
                for measure in PRIOR
            },
            **{
                f"region_{measure}": plane.share(measure, level=rate_level)
                for measure in ("sensitivity", "specificity")
            },
        }
    )


def population_rows(plane: PlaneCounts, populations: Sequence[Population]) -> list[Row]:
    """Return, per slice, population and model, phi_b, delta_b and the measures there."""
    measures = (*PRIOR, "accuracy", "precision", "npv", "mutual_information")
    slice_order: dict[Any, int] = {
        slice_name: i for i, slice_name in enumerate(dict.fromkeys(plane.labels))
    }
    rows = [
        row
        for population in populations
        for row in rows_from_columns(
            {
                "slice": plane.labels,
                "model": plane.counts.models,
                "prevalence": [population.prevalence] * len(plane.labels),
                "odds": [population.odds] * len(plane.labels),
                **{
                    measure: plane.measure_at(measure, population.prevalence)
                    for measure in measures
                },
            }
        )
    ]
    return sorted(rows, key=lambda row: slice_order[row["slice"]])


def run_rows(plane: PlaneCounts, thresholds: Mapping[str, float | None]) -> list[Row]:
    """Return one row per model and run: counts, position, unbiased accuracy."""
    phi, delta = plane.position()
    return rows_from_columns(
        {
            "model": plane.counts.models,
            "run": plane.labels,
            **plane.rates(thresholds),
            "phi": phi,
            "delta": delta,
            "accuracy_u": plane.accuracy_u(),
        }
    )


def run_values(plane: PlaneCounts) -> RunValues:
    """Return delta and phi by measure and model, then by run, in the format of a report."""
    values_by_model: dict[tuple[str, str], dict[str, Estimate]] = {}
    observed_tables = Cells.at_prevalence(plane.counts).observed
    for measure in COMPARED:
        estimates = plane.measure_at(measure, values=CATALOG[measure].function(observed_tables))
        for model, run, estimate in zip(plane.counts.models, plane.labels, estimates, strict=True):
            values_by_model.setdefault((measure, model), {})[str(run)] = estimate
    return values_by_model


def spread_rows(values: RunValues, means: Sequence[RunMean]) -> list[Row]:
    """Return, per model, mean, SD and covariance over runs, and Armano's bias and variance.

    SD and covariance divide by runs - 1; spread: the root of the sum of both variances.
    """
    means_by_measure = {(mean.metric, mean.model): mean for mean in means}
    rows: list[Row] = []
    for model in dict.fromkeys(mean.model for mean in means):
        delta, phi = (means_by_measure[metric, model] for metric in COMPARED)
        mean = delta.mean
        value, low, high = (
            None if limit is None else (1 + limit) / 2
            for limit in (mean.value, mean.low, mean.high)
        )
        covariance = bias = variance = None
        if phi.sd is not None and delta.sd is not None:
            covariance = _covariance(values, model)
            mean_phi = phi.mean.value or 0.0
            bias = "low" if abs(mean_phi) <= BIAS else f"towards {_class_side(mean_phi)}"
            variance = "low" if math.hypot(phi.sd, delta.sd) <= LOW_VARIANCE else "high"
        rows.append(
            as_row(
                {
                    "model": model,
                    "runs": delta.runs,
                    "phi_mean": phi.mean,
                    "phi_sd": phi.sd,
                    "delta_mean": mean,
                    "delta_sd": delta.sd,
                    "covariance": covariance,
                    "accuracy_u_mean": Estimate(value, low, high, mean.reason),
                    "accuracy_u_sd": None if delta.sd is None else delta.sd / 2,
                    "bias": bias,
                    "variance": variance,
                    "method": delta.method,
                }
            )
        )
    return rows


def _covariance(values: RunValues, model: str) -> float:
    """Return the covariance over runs of the two measures of a model, where they are defined."""
    values_by_measure = [
        [
            estimate.value
            for estimate in values[measure, model].values()
            if estimate.value is not None
        ]
        for measure in COMPARED
    ]
    return float(np.cov(np.array(values_by_measure), ddof=1)[0, 1])


def _class_side(phi: float) -> str:
    """Return the class that a sign of phi favours."""
    return "positive" if phi > 0 else "negative"
