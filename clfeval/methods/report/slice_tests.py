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


def slice_values(metrics: Sequence[Row]) -> dict[tuple[str, str], dict[str, Estimate]]:
    """Return the estimates of slices by model and measure, then by slice."""
    values: dict[tuple[str, str], dict[str, Estimate]] = {}
    for row in metrics:
        name = _tested_name(row)
        if row["slice"] is not None and name:
            key = row["model"], name
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
    names = dict.fromkeys(
        name
        for pair in sizes.values()
        for name in pair[0].names
        if all(size.enough_for(f"{RECALL}{name}") for size in pair)
    )
    return [RequestedMeasure(f"{RECALL}{name}", CATALOG["recall"], {}, "default") for name in names]


@dataclass(frozen=True, slots=True)
class Complement:
    """A measure of the rows outside a slice; rho: its correlation with that of the slice."""

    value: Estimate
    rho: float = 0.0


Retest = Callable[[str, Sequence[str], Sequence[str]], Mapping[Key, Complement]]


def slice_test_measures(
    requested: Sequence[RequestedMeasure], *, several: bool = False
) -> list[RequestedMeasure]:
    """Return the measures that slices are tested by, and those that were named."""
    usual = OF_MORE if several else OF_TWO
    tested = {
        measure.name: measure
        for measure in requested
        if measure.by == "name" or measure.name in usual
    }
    return sorted(
        tested.values(),
        key=lambda measure: usual.index(measure.name) if measure.name in usual else len(usual),
    )


def use_default_intervals(settings: IntervalSettings) -> IntervalSettings:
    """Return the interval settings of other rows: the default instead of a bootstrap."""
    return replace(settings, method="exact") if settings.method == "bootstrap" else settings


def complement_estimates(
    rows: Iterable[Row], rho: Mapping[Key, float]
) -> Iterator[tuple[Key, Complement]]:
    """Yield measures of the rows outside a slice, from rows named by `slice`."""
    for row in rows:
        if name := _tested_name(row):
            key = cell_text(row["slice"]), row["model"], name
            yield key, Complement(as_estimate(row["value"]), rho.get(key, 0.0))


def shared_cluster_correlation(
    first_clusters: ClusterCounts,
    second_clusters: ClusterCounts,
    places: tuple[Ints, Ints],
    f: Floats | Influence,
    g: Floats | Influence,
) -> Floats:
    """Return the correlations of k measures of two parts with clusters in common, (k,).

    rho = sum F_c G_c / sqrt(sum F_c² sum G_c²), F and G the sums of f and g over a cluster's rows.
    f and g (k, m): the influence of each pattern; places: which clusters have rows in both.
    """
    first = first_clusters.totals(np.atleast_2d(np.asarray(f)))
    second = second_clusters.totals(np.atleast_2d(np.asarray(g)))
    products = (first[:, places[0]] * second[:, places[1]]).sum(axis=1)
    scale = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    rho = np.divide(products, scale, out=np.zeros_like(products), where=scale > 0)
    return np.asarray(np.clip(rho, -1, 1))


def slice_complements(
    sample: Sample, labels: Sequence[str] | None = None, excluded: Sequence[str] = ()
) -> Sample:
    """Return the complement of each slice by its name; excluded: further slices left out."""
    predictions = sample.predictions
    all_rows = sample.slices[None]
    names = [label for label in sample.slices if label is not None] if labels is None else labels
    every = sample.patterns
    if predictions is not None and None in every:
        complement_patterns: dict[str | None, PatternCounts] = {}
        for label in names:
            part = reduce(add, [every[name] for name in (label, *excluded)])
            complement_patterns[label] = subtract_part(every[None], part, "truth", "votes")
        counts = {
            label: ConfusionCounts.from_patterns(patterns)
            for label, patterns in complement_patterns.items()
        }
        return replace(
            sample,
            slices=counts,
            predictions=replace(predictions, slices=complement_patterns, _known={}),
        )
    complements: dict[str | None, ConfusionCounts] = {
        label: subtract_counts(
            all_rows, reduce(add, [sample.slices[name] for name in (label, *excluded)])
        )
        for label in names
    }
    return replace(sample, slices=complements)


def subtract_counts(all_rows: ConfusionCounts, part: ConfusionCounts) -> ConfusionCounts:
    """Return the 2 x 2 tables of the rows that are not in a part."""
    cells = [
        sign * np.array([getattr(counts, name) for name in CELLS])
        for sign, counts in ((1, all_rows), (-1, part))
    ]
    models = [*all_rows.models, *part.models]
    return ConfusionCounts.from_cells(models, np.concatenate(cells, axis=1).T.tolist())


def label_complement_estimates(
    sample: Sample,
    complements: Sample,
    measures: Sequence[RequestedMeasure],
    settings: IntervalSettings,
) -> Iterator[tuple[Key, Complement]]:
    """Yield the measures of the labels of rows outside a slice."""
    rho = dict[Key, float]()
    for label, complement in complements.patterns.items():
        part = sample.patterns[label]
        shared = shared_clusters(part.clusters, complement.clusters)
        if label is None or shared is None:
            continue
        for measure in measures:
            if not takes_scores(measure):
                f = label_influence(part, measure.measure)[1]
                g = label_influence(complement, measure.measure)[1]
                correlations = shared_cluster_correlation(*shared, f, g)
                for model, correlation in zip(part.models, correlations.tolist(), strict=True):
                    rho[label, model, measure.name] = correlation
    rows = label_measure_rows(complements, measures, use_default_intervals(settings))
    yield from complement_estimates(rows, rho)


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
        rest: Mapping[Key, Complement],
        retest: Retest,
        positives: Mapping[str, Any],
    ) -> SlicesTested:
        """Return what the tests give: tables, rows of `comparisons`, and the sentence."""
        changes = self.family_changes(tested_models.names, rest, retest)
        tables, comparisons = self.tables(changes, rest, positives)
        clustered = any(size.clusters < inf for sizes in self.sizes.values() for size in sizes)
        sentences = slice_answer(
            tables.get("slices", ()), comparisons, tested_models, self.level, clustered=clustered
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
        enough = {label: (float(size.rows), size.enough) for label, (size, _) in self.sizes.items()}
        rows = slice_reference_rows(
            estimates_inside,
            estimates,
            enough,
            str(settings.reference),
            level=settings.level,
            seed=settings.seed,
            margins=settings.margins,
        )
        return [*rows]

    def changes(self, model: str, rest: Mapping[Key, Complement]) -> Changes:
        """Return differences slice - complement, by square-and-add; p with enough rows."""
        changes = Changes()
        for measure in self.measures:
            values = {
                label: value
                for label, value in self.values.get((model, measure.name), {}).items()
                if (label, model, measure.name) in rest
                and (not measure.name.startswith(RECALL) or self._enough(label, measure.name))
            }
            if values:
                complements = [rest[label, model, measure.name] for label in values]
                changes.update(self._changes_by_measure(measure, values, complements))
        return changes

    def _changes_by_measure(
        self,
        measure: RequestedMeasure,
        values: Mapping[str, Estimate],
        complements: Sequence[Complement],
    ) -> Changes:
        """Return the differences of slices by a measure; values: of slices."""
        labels = [*values]
        news = [*values.values()]
        olds = [complement.value for complement in complements]
        d, low, high = change.square_and_add(
            change.values_and_limits(news),
            change.values_and_limits(olds),
            np.array([complement.rho for complement in complements]),
        )
        p = np.full(len(d), nan)
        if self.level is not None:
            p = change.p_from_limits(d, low, high, self._freedom(measure, labels), level=self.level)
        changes = Changes()
        numbers = zip(*(x.tolist() for x in (d, low, high, p)), strict=True)
        for i, (label, row) in enumerate(zip(labels, numbers, strict=True)):
            enough = self._enough(label, measure.name)
            reason = news[i].reason or olds[i].reason or "too_few_rows"
            changes[label, measure.name] = change.Change(
                olds[i],
                news[i],
                change.estimate_or_none(
                    row[0], row[1], row[2], reason if np.isnan(row[0]) else None
                ),
                change.number_or_none(row[3]) if enough else None,
                rows=self.sizes[label][0].rows,
            )
        return changes

    def family_changes(
        self, models: Sequence[str], rest: Mapping[Key, Complement], retest: Retest | None
    ) -> dict[str, Changes]:
        """Return the changes of the tested models, adjusted as one family, with joint limits.

        retest: measures the rows outside slices and outside those already named.
        """
        level = self.level or 0.95

        def remeasure(model: str, labels: Sequence[str], excluded: Sequence[str]) -> Changes:
            return {} if retest is None else self.changes(model, retest(model, labels, excluded))

        family = SliceFamily(
            {model: self.changes(model, rest) for model in models},
            [*self.sizes],
            self.facets,
            level,
            None if retest is None else remeasure,
        )
        measures = {measure.name: measure for measure in self.measures}

        def freedom(metric: str, labels: Sequence[str]) -> Floats:
            return self._freedom(measures[metric], labels)

        return with_simultaneous_intervals(family.adjusted_changes(), freedom, level)

    def tables(
        self,
        changes_by_model: Mapping[str, Changes],
        complements: Mapping[Key, Complement],
        positives: Mapping[str, Any],
    ) -> tuple[dict[str, list[Row]], list[Row]]:
        """Return tables, and rows of `comparisons`; models that are not tested have no p.

        Slices in which a model is significantly worse come first, the worst of all models first.
        """
        rows = list[Row]()
        compared = list[Row]()
        extremes = list[Row]()
        for model in dict.fromkeys([*changes_by_model, *(model for model, _ in self.values)]):
            changes = changes_by_model.get(model)
            if changes is None:
                untested = self.changes(model, complements).items()
                changes = {key: replace(difference, p=None) for key, difference in untested}
            rows += [self._row(model, label, changes, positives) for label in self.sizes]
            compared += self._comparison_rows(model, changes)
            extremes += self._extremes(model)
        sizes = _harm_sizes(compared, rows)
        rows.sort(
            key=lambda row: (
                not row["worse"],
                -sizes.get((row["model"], cell_text(row["slice"])), 0.0),
            )
        )
        tables = {"slices": rows, "extremes": extremes}
        return {name: table_rows for name, table_rows in tables.items() if table_rows}, compared

    def _comparison_rows(self, model: str, changes: Changes) -> list[Row]:
        """Return the rows of `comparisons` of a model, the smallest q first."""
        ordered = sorted(
            changes, key=lambda key: (changes[key].adjusted is None, changes[key].adjusted or 0.0)
        )
        return [
            change.comparison_row(
                "slice",
                metric,
                model,
                REST,
                changes[label, metric],
                self.level or 0.95,
                label=label,
            )
            for label, metric in ordered
        ]

    def _row(self, model: str, label: str, changes: Changes, positives: Mapping[str, Any]) -> Row:
        """Return the row of a slice: each measure, the least q, and measures it is worse by."""
        level = self.level or 0.95
        slice_changes = {
            metric: difference for (part, metric), difference in changes.items() if part == label
        }
        usual = [
            measure.name
            for measure in self.measures
            if measure.name in (*OF_TWO, *OF_MORE)
            and any(metric == measure.name for _, metric in self.values)
        ]
        worse = [
            name
            for name, difference in slice_changes.items()
            if difference.verdict(name, level) == change.WORSE
        ]
        positives_cell = {"positives": positives[label]} if label in positives else {}
        return as_row(
            {
                "slice": label,
                "model": model,
                "rows": self.sizes[label][0].rows,
                **positives_cell,
                **{
                    name: self.values.get((model, name), {}).get(
                        label, Estimate(None, reason="needs_scores")
                    )
                    for name in usual
                },
                "q": min(
                    (
                        difference.adjusted
                        for difference in slice_changes.values()
                        if difference.adjusted is not None
                    ),
                    default=None,
                ),
                "worse": worse,
            }
        )

    def _enough(self, label: str, metric: str) -> bool:
        """Return whether a slice and the other rows have enough rows to test a measure."""
        return all(size.enough_for(metric) for size in self.sizes[label])

    def _freedom(self, measure: RequestedMeasure, labels: Sequence[str]) -> Floats:
        """Return the degrees of freedom of each difference: infinite for shares of plain rows."""
        share = measure.measure.share is not None
        freedom = list[float]()
        for label in labels:
            sizes = [size.fewest or sum(size.classes) for size in self.sizes[label]]
            if measure.name.startswith(RECALL):
                sizes = [size.class_size(measure.name) for size in self.sizes[label]]
            independent = share and self.sizes[label][0].has_plain_rows
            freedom.append(inf if independent else max(1.0, min(sizes) - 1))
        return np.array(freedom)

    def _extremes(self, model: str) -> Iterator[Row]:
        """Yield the largest value less the smallest by each measure and column of slices.

        Limits at 1 - (1 - level) / pairs (Bonferroni); with common clusters the worst correlation.
        """
        for measure in self.measures:
            if measure.name.startswith(RECALL):
                continue
            values = self.values.get((model, measure.name), {})
            labels_by_facet: dict[tuple[str, ...], list[str]] = {}
            for label, value in values.items():
                if value.value is not None and self.sizes[label][0].enough_for(measure.name):
                    labels_by_facet.setdefault(facet_of(label, self.facets), []).append(label)
            for labels in labels_by_facet.values():
                if len(labels) > 1:
                    estimates = {label: values[label] for label in labels}
                    yield self._extremes_of_measure(model, measure, estimates)

    def _extremes_of_measure(
        self, model: str, measure: RequestedMeasure, estimates: Mapping[str, Estimate]
    ) -> Row:
        """Return the row of the largest value less the smallest of slices, by a measure."""
        labels = [*estimates]
        limits = change.values_and_limits([*estimates.values()])
        top = int(limits[0].argmax())
        last = int(limits[0].argmin())
        wider = 1.0
        if self.level is not None:
            df = self._freedom(measure, [labels[top], labels[last]]).min()
            pair_level = 1 - (1 - self.level) / comb(len(labels), 2)
            quantile = student_quantile(df, level=pair_level)
            wider = float(quantile / student_quantile(df, level=self.level))
        rho = -1.0 if any(self.sizes[label][0].spans for label in labels) else 0.0
        d, low, high = map(float, change.square_and_add(limits[:, top], limits[:, last], rho))
        return as_row(
            {
                "measure": measure.name,
                "model": model,
                "largest": labels[top],
                "smallest": labels[last],
                "gap": change.estimate_or_none(d, d - wider * (d - low), d + wider * (high - d)),
                "slices": len(labels),
            }
        )


def _harm_sizes(compared: Sequence[Row], slices: Sequence[Row]) -> dict[tuple[str, str], float]:
    """Return the size of the largest harm of each model and slice; slices: their table."""
    rows = {(row["model"], cell_text(row["slice"])): row for row in slices}
    sizes = dict[tuple[str, str], float]()
    for row in compared:
        if row["verdict"] == change.WORSE:
            key = row["model"], cell_text(row["slice"])
            sizes[key] = max(sizes.get(key, 0.0), harm_size(row, rows[key]))
    return sizes
