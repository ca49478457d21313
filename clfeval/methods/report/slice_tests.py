"""Tests of each slice against the rows outside it: their sizes, measures, and which are worse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from math import comb, inf, nan
from operator import add
from typing import Any

import numpy as np

from clfeval.arrays import Floats, Influence, Ints
from clfeval.compare import change
from clfeval.compare.families import slice_reference_rows
from clfeval.compare.paired_estimates import PairedEstimates
from clfeval.counts.clusters_and_weights import ClusterCounts, subtract_part
from clfeval.counts.evaluated_rows import Facets, facet_of
from clfeval.counts.patterns import CELLS, ConfusionCounts, PatternCounts
from clfeval.counts.sample import Sample
from clfeval.document import Answer
from clfeval.document.cells import Estimate, Row, as_estimate, as_row, cell_text
from clfeval.inference.distributions import student_quantile
from clfeval.measures.catalog import CATALOG
from clfeval.methods.measurement.label_measures import label_influence
from clfeval.methods.measurement.measure_rows import label_measure_rows, takes_scores
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.options import IntervalSettings
from clfeval.methods.report.comparisons import ESTIMATORS, ComparisonSettings
from clfeval.methods.report.slice_answer import SliceModels, harm_size, slice_answer
from clfeval.methods.report.slice_family import Changes, SliceFamily, with_simultaneous_intervals
from clfeval.methods.report.slice_sizes import RECALL, Sizes, shared_clusters
from clfeval.records import dataclass, field, replace

# measures that test slices: of two classes, of more; ranking, calibration, operating point
OF_TWO = ("roc_auc", "oe_ratio", "sensitivity", "specificity")
OF_MORE = ("accuracy", "overconfidence", "roc_auc")
REST = "(other rows)"
Key = tuple[str, str, str]  # slice, model, measure


def slice_values(metric_rows: Sequence[Row]) -> dict[tuple[str, str], dict[str, Estimate]]:
    """Return the estimates of slices by model and measure, then by slice.

    metric_rows: of the table `measures`.
    """
    values: dict[tuple[str, str], dict[str, Estimate]] = {}
    for row in metric_rows:
        measure_name = _tested_name(row)
        if row["slice"] is not None and measure_name:
            key = row["model"], measure_name
            values.setdefault(key, {})[cell_text(row["slice"])] = as_estimate(row["value"])
    return values


def _tested_name(row: Row) -> str:
    """Return the measure of a row as slices are tested by it; empty for one of no test."""
    if row["estimator"] in ESTIMATORS:
        return row["measure"]
    is_recall = row["estimator"] == "class" and row["measure"] == "sensitivity"
    return f"{RECALL}{row['class']}" if is_recall else ""


def class_recalls(sizes: Sizes) -> list[RequestedMeasure]:
    """Return the recall of each class with enough rows in a slice and outside it."""
    class_names = dict.fromkeys(
        class_name
        for slice_size, other_size in sizes.values()
        for class_name in slice_size.names
        if all(size.enough_for(f"{RECALL}{class_name}") for size in (slice_size, other_size))
    )
    return [
        RequestedMeasure(f"{RECALL}{class_name}", CATALOG["recall"], {}, "default")
        for class_name in class_names
    ]


@dataclass(frozen=True, slots=True)
class Complement:
    """A measure of the rows outside a slice; rho: its correlation with that of the slice."""

    value: Estimate
    rho: float = 0.0


Retest = Callable[[str, Sequence[str], Sequence[str]], Mapping[Key, Complement]]


def slice_test_measures(
    requested: Sequence[RequestedMeasure], *, several: bool = False
) -> list[RequestedMeasure]:
    """Return the measures that slices are tested by, and those that were named.

    several: there are more than two classes.
    """
    default_names = OF_MORE if several else OF_TWO
    tested_measures = {
        measure.name: measure
        for measure in requested
        if measure.by == "name" or measure.name in default_names
    }
    return sorted(
        tested_measures.values(),
        key=lambda measure: (
            default_names.index(measure.name)
            if measure.name in default_names
            else len(default_names)
        ),
    )


def use_default_intervals(settings: IntervalSettings) -> IntervalSettings:
    """Return the interval settings of other rows: the default instead of a bootstrap."""
    return replace(settings, method="exact") if settings.method == "bootstrap" else settings


def complement_estimates(
    rows: Iterable[Row], correlations: Mapping[Key, float]
) -> Iterator[tuple[Key, Complement]]:
    """Yield measures of the rows outside a slice, from rows named by `slice`."""
    for row in rows:
        if measure_name := _tested_name(row):
            key = cell_text(row["slice"]), row["model"], measure_name
            yield key, Complement(as_estimate(row["value"]), correlations.get(key, 0.0))


def shared_cluster_correlation(
    first_clusters: ClusterCounts,
    second_clusters: ClusterCounts,
    shared_indices: tuple[Ints, Ints],
    f: Floats | Influence,
    g: Floats | Influence,
) -> Floats:
    """Return the correlations of k measures of two parts with clusters in common, (k,).

    rho = sum F_c G_c / sqrt(sum F_c² sum G_c²), F and G the sums of f and g over a cluster's rows.
    f and g (k, m): the influence of each pattern; shared_indices: of the clusters with rows in
    both, among the first and among the second clusters.
    """
    first_totals = first_clusters.totals(np.atleast_2d(np.asarray(f)))
    second_totals = second_clusters.totals(np.atleast_2d(np.asarray(g)))
    first_indices, second_indices = shared_indices
    products = (first_totals[:, first_indices] * second_totals[:, second_indices]).sum(axis=1)
    norms = np.sqrt((first_totals**2).sum(axis=1) * (second_totals**2).sum(axis=1))
    rho = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
    return np.asarray(np.clip(rho, -1, 1))


def slice_complements(
    sample: Sample, slice_names: Sequence[str] | None = None, excluded: Sequence[str] = ()
) -> Sample:
    """Return the complement of each slice by its name; excluded: further slices left out."""
    predictions = sample.predictions
    all_rows = sample.slices[None]
    if slice_names is None:
        slice_names = [name for name in sample.slices if name is not None]
    patterns_by_slice = sample.patterns
    if predictions is not None and None in patterns_by_slice:
        complement_patterns: dict[str | None, PatternCounts] = {}
        for slice_name in slice_names:
            inside_patterns = reduce(
                add, [patterns_by_slice[name] for name in (slice_name, *excluded)]
            )
            complement_patterns[slice_name] = subtract_part(
                patterns_by_slice[None], inside_patterns, "truth", "votes"
            )
        counts = {
            slice_name: ConfusionCounts.from_patterns(patterns)
            for slice_name, patterns in complement_patterns.items()
        }
        return replace(
            sample,
            slices=counts,
            predictions=replace(predictions, slices=complement_patterns, _known={}),
        )
    complements: dict[str | None, ConfusionCounts] = {
        slice_name: subtract_counts(
            all_rows, reduce(add, [sample.slices[name] for name in (slice_name, *excluded)])
        )
        for slice_name in slice_names
    }
    return replace(sample, slices=complements)


def subtract_counts(all_rows: ConfusionCounts, part_rows: ConfusionCounts) -> ConfusionCounts:
    """Return the 2 x 2 tables of the rows that are not in a part."""
    cells = [
        sign * np.array([getattr(counts, cell_name) for cell_name in CELLS])
        for sign, counts in ((1, all_rows), (-1, part_rows))
    ]
    models = [*all_rows.models, *part_rows.models]
    return ConfusionCounts.from_cells(models, np.concatenate(cells, axis=1).T.tolist())


def label_complement_estimates(
    sample: Sample,
    complements: Sample,
    measures: Sequence[RequestedMeasure],
    settings: IntervalSettings,
) -> Iterator[tuple[Key, Complement]]:
    """Yield the measures of the labels of rows outside a slice."""
    rho_by_key = dict[Key, float]()
    for slice_name, outside_patterns in complements.patterns.items():
        inside_patterns = sample.patterns[slice_name]
        clusters_in_common = shared_clusters(inside_patterns.clusters, outside_patterns.clusters)
        if slice_name is None or clusters_in_common is None:
            continue
        for measure in measures:
            if not takes_scores(measure):
                _, f = label_influence(inside_patterns, measure.measure)
                _, g = label_influence(outside_patterns, measure.measure)
                correlations = shared_cluster_correlation(*clusters_in_common, f, g)
                for model, correlation in zip(
                    inside_patterns.models, correlations.tolist(), strict=True
                ):
                    rho_by_key[slice_name, model, measure.name] = correlation
    rows = label_measure_rows(complements, measures, use_default_intervals(settings))
    yield from complement_estimates(rows, rho_by_key)


@dataclass(frozen=True, slots=True, eq=False)
class SlicesTested:
    """What the tests of slices give: tables by name, rows of `comparisons`, and sentences."""

    tables: Mapping[str, list[Row]] = field(default_factory=dict)
    comparisons: Sequence[Row] = ()
    sentences: Sequence[Answer] = ()


@dataclass(frozen=True, slots=True, eq=False)
class SliceEstimates:
    """Measures of slices by model and measure, then slice; facets: the columns of slices."""

    values: Mapping[tuple[str, str], Mapping[str, Estimate]]
    measures: Sequence[RequestedMeasure]
    sizes: Sizes
    level: float | None
    facets: Facets

    def tested(
        self,
        tested_models: SliceModels,
        complements: Mapping[Key, Complement],
        retest: Retest,
        positive_counts: Mapping[str, Any],
    ) -> SlicesTested:
        """Return what the tests give: tables, rows of `comparisons`, and the sentence."""
        changes = self.family_changes(tested_models.names, complements, retest)
        tables, comparisons = self.tables(changes, complements, positive_counts)
        has_clusters = any(size.clusters < inf for sizes in self.sizes.values() for size in sizes)
        sentences = slice_answer(
            tables.get("slices", ()), comparisons, tested_models, self.level, clustered=has_clusters
        )
        return SlicesTested(tables, comparisons, [*sentences])

    def reference_rows(
        self,
        estimates: Mapping[str, PairedEstimates],
        estimates_inside: Mapping[str, Mapping[str, PairedEstimates]],
        settings: ComparisonSettings,
    ) -> list[Row]:
        """Return the comparisons of models with a reference in each slice.

        estimates, estimates_inside: paired estimates of all rows, and of each slice, by measure.
        """
        rows_and_enough = {
            slice_name: (float(size.rows), size.enough)
            for slice_name, (size, _) in self.sizes.items()
        }
        rows = slice_reference_rows(
            estimates_inside,
            estimates,
            rows_and_enough,
            str(settings.reference),
            level=settings.level,
            seed=settings.seed,
            margins=settings.margins,
        )
        return [*rows]

    def changes(self, model: str, complements: Mapping[Key, Complement]) -> Changes:
        """Return differences slice - complement, by square-and-add; p with enough rows."""
        changes = Changes()
        for measure in self.measures:
            values_inside = {
                slice_name: estimate
                for slice_name, estimate in self.values.get((model, measure.name), {}).items()
                if (slice_name, model, measure.name) in complements
                and (
                    not measure.name.startswith(RECALL)
                    or self._is_large_enough(slice_name, measure.name)
                )
            }
            if values_inside:
                values_outside = [
                    complements[slice_name, model, measure.name] for slice_name in values_inside
                ]
                changes.update(self._changes_by_measure(measure, values_inside, values_outside))
        return changes

    def _changes_by_measure(
        self,
        measure: RequestedMeasure,
        estimates_inside: Mapping[str, Estimate],
        complements: Sequence[Complement],
    ) -> Changes:
        """Return the differences of slices by a measure, inside minus outside (complements)."""
        slice_names = [*estimates_inside]
        inside_values = [*estimates_inside.values()]
        outside_values = [complement.value for complement in complements]
        d, low, high = change.square_and_add(
            change.values_and_limits(inside_values),
            change.values_and_limits(outside_values),
            np.array([complement.rho for complement in complements]),
        )
        p = np.full(len(d), nan)
        if self.level is not None:
            p = change.p_from_limits(
                d, low, high, self._degrees_of_freedom(measure, slice_names), level=self.level
            )
        changes = Changes()
        for i, slice_name in enumerate(slice_names):
            d_i, low_i, high_i, p_i = (x[i].item() for x in (d, low, high, p))
            if not self._is_large_enough(slice_name, measure.name):
                p_i = nan
            reason = inside_values[i].reason or outside_values[i].reason or "too_few_rows"
            changes[slice_name, measure.name] = change.Change(
                outside_values[i],
                inside_values[i],
                change.estimate_or_none(d_i, low_i, high_i, reason if np.isnan(d_i) else None),
                change.number_or_none(p_i),
                rows=self.sizes[slice_name][0].rows,
            )
        return changes

    def family_changes(
        self, models: Sequence[str], complements: Mapping[Key, Complement], retest: Retest | None
    ) -> dict[str, Changes]:
        """Return the changes of the tested models, adjusted as one family, with joint limits.

        retest: measures the rows outside slices and outside those already named.
        """
        level = self.level or 0.95

        def remeasure(model: str, slice_names: Sequence[str], excluded: Sequence[str]) -> Changes:
            return (
                {} if retest is None else self.changes(model, retest(model, slice_names, excluded))
            )

        family = SliceFamily(
            {model: self.changes(model, complements) for model in models},
            [*self.sizes],
            self.facets,
            level,
            None if retest is None else remeasure,
        )
        measures = {measure.name: measure for measure in self.measures}

        def metric_df(metric: str, slice_names: Sequence[str]) -> Floats:
            return self._degrees_of_freedom(measures[metric], slice_names)

        return with_simultaneous_intervals(family.adjusted_changes(), metric_df, level)

    def tables(
        self,
        changes_by_model: Mapping[str, Changes],
        complements: Mapping[Key, Complement],
        positive_counts: Mapping[str, Any],
    ) -> tuple[dict[str, list[Row]], list[Row]]:
        """Return tables, and rows of `comparisons`; models that are not tested have no p.

        Slices in which a model is significantly worse come first, the worst of all models first.
        """
        slice_rows = list[Row]()
        comparison_rows = list[Row]()
        extreme_rows = list[Row]()
        for model in dict.fromkeys([*changes_by_model, *(model for model, _ in self.values)]):
            changes = changes_by_model.get(model)
            if changes is None:
                untested_changes = self.changes(model, complements).items()
                changes = {key: replace(difference, p=None) for key, difference in untested_changes}
            slice_rows += [
                self._row(model, slice_name, changes, positive_counts) for slice_name in self.sizes
            ]
            comparison_rows += self._comparison_rows(model, changes)
            extreme_rows += self._extremes(model)
        harm_sizes = _harm_sizes(comparison_rows, slice_rows)
        slice_rows.sort(
            key=lambda row: (
                not row["worse"],
                -harm_sizes.get((row["model"], cell_text(row["slice"])), 0.0),
            )
        )
        tables = {"slices": slice_rows, "extremes": extreme_rows}
        return {
            name: table_rows for name, table_rows in tables.items() if table_rows
        }, comparison_rows

    def _comparison_rows(self, model: str, changes: Changes) -> list[Row]:
        """Return the rows of `comparisons` of a model, the smallest q first."""
        sorted_keys = sorted(
            changes, key=lambda key: (changes[key].adjusted is None, changes[key].adjusted or 0.0)
        )
        return [
            change.comparison_row(
                "slice",
                metric,
                model,
                REST,
                changes[slice_name, metric],
                self.level or 0.95,
                label=slice_name,
            )
            for slice_name, metric in sorted_keys
        ]

    def _row(
        self, model: str, slice_name: str, changes: Changes, positive_counts: Mapping[str, Any]
    ) -> Row:
        """Return the row of a slice: each measure, the least q, and measures it is worse by."""
        level = self.level or 0.95
        slice_changes = {
            metric: difference
            for (changed_slice, metric), difference in changes.items()
            if changed_slice == slice_name
        }
        column_measures = [
            measure.name
            for measure in self.measures
            if measure.name in (*OF_TWO, *OF_MORE)
            and any(metric == measure.name for _, metric in self.values)
        ]
        worse_measures = [
            name
            for name, difference in slice_changes.items()
            if difference.verdict(name, level) == change.WORSE
        ]
        positives_cell = (
            {"positives": positive_counts[slice_name]} if slice_name in positive_counts else {}
        )
        return as_row(
            {
                "slice": slice_name,
                "model": model,
                "rows": self.sizes[slice_name][0].rows,
                **positives_cell,
                **{
                    name: self.values.get((model, name), {}).get(
                        slice_name, Estimate(None, reason="needs_scores")
                    )
                    for name in column_measures
                },
                "q": min(
                    (
                        difference.adjusted
                        for difference in slice_changes.values()
                        if difference.adjusted is not None
                    ),
                    default=None,
                ),
                "worse": worse_measures,
            }
        )

    def _is_large_enough(self, slice_name: str, metric: str) -> bool:
        """Return whether a slice and the other rows have enough rows to test a measure."""
        return all(size.enough_for(metric) for size in self.sizes[slice_name])

    def _degrees_of_freedom(self, measure: RequestedMeasure, slice_names: Sequence[str]) -> Floats:
        """Return the degrees of freedom of each difference: infinite for shares of plain rows."""
        is_share = measure.measure.share is not None
        df = list[float]()
        for slice_name in slice_names:
            sizes = [size.fewest or sum(size.classes) for size in self.sizes[slice_name]]
            if measure.name.startswith(RECALL):
                sizes = [size.class_size(measure.name) for size in self.sizes[slice_name]]
            is_independent = is_share and self.sizes[slice_name][0].has_plain_rows
            df.append(inf if is_independent else max(1.0, min(sizes) - 1))
        return np.array(df)

    def _extremes(self, model: str) -> Iterator[Row]:
        """Yield the largest value less the smallest by each measure and column of slices.

        Limits at 1 - (1 - level) / pairs (Bonferroni); with common clusters the worst correlation.
        """
        for measure in self.measures:
            if measure.name.startswith(RECALL):
                continue
            slice_estimates = self.values.get((model, measure.name), {})
            slices_by_facet: dict[tuple[str, ...], list[str]] = {}
            for slice_name, estimate in slice_estimates.items():
                if estimate.value is not None and self.sizes[slice_name][0].enough_for(
                    measure.name
                ):
                    slices_by_facet.setdefault(facet_of(slice_name, self.facets), []).append(
                        slice_name
                    )
            for slice_names in slices_by_facet.values():
                if len(slice_names) > 1:
                    estimates = {
                        slice_name: slice_estimates[slice_name] for slice_name in slice_names
                    }
                    yield self._extremes_of_measure(model, measure, estimates)

    def _extremes_of_measure(
        self, model: str, measure: RequestedMeasure, estimates: Mapping[str, Estimate]
    ) -> Row:
        """Return the row of the largest value less the smallest of slices, by a measure."""
        slice_names = [*estimates]
        limits = change.values_and_limits([*estimates.values()])
        largest_index = int(limits[0].argmax())
        smallest_index = int(limits[0].argmin())
        quantile_ratio = 1.0
        if self.level is not None:
            df = self._degrees_of_freedom(
                measure, [slice_names[largest_index], slice_names[smallest_index]]
            ).min()
            pair_level = 1 - (1 - self.level) / comb(len(slice_names), 2)
            quantile = student_quantile(df, level=pair_level)
            quantile_ratio = float(quantile / student_quantile(df, level=self.level))
        rho = -1.0 if any(self.sizes[slice_name][0].spans for slice_name in slice_names) else 0.0
        d, low, high = map(
            float, change.square_and_add(limits[:, largest_index], limits[:, smallest_index], rho)
        )
        return as_row(
            {
                "measure": measure.name,
                "model": model,
                "largest": slice_names[largest_index],
                "smallest": slice_names[smallest_index],
                "gap": change.estimate_or_none(
                    d, d - quantile_ratio * (d - low), d + quantile_ratio * (high - d)
                ),
                "slices": len(slice_names),
            }
        )


def _harm_sizes(
    comparison_rows: Sequence[Row], slice_rows: Sequence[Row]
) -> dict[tuple[str, str], float]:
    """Return the size of the largest harm of each model and slice.

    comparison_rows, slice_rows: of the tables `comparisons` and `slices`.
    """
    row_by_slice = {(row["model"], cell_text(row["slice"])): row for row in slice_rows}
    harm_sizes = dict[tuple[str, str], float]()
    for row in comparison_rows:
        if row["verdict"] == change.WORSE:
            key = row["model"], cell_text(row["slice"])
            harm_sizes[key] = max(harm_sizes.get(key, 0.0), harm_size(row, row_by_slice[key]))
    return harm_sizes
