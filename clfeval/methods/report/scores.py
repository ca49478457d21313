"""Results from scores, one model at a time: measures, curves, influence, and slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial

import numpy as np

from clfeval.arrays import Floats, Ints
from clfeval.compare.paired_estimates import PairedEstimates
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.rows import ScoredRows, StoredScores, read_scored_rows
from clfeval.counts.sample import Sample
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Row, Rows, cell_value
from clfeval.document.rows import LazyRows, RowsBySlice, stack_rows
from clfeval.methods.curves import decision_rows, isotonic_rows
from clfeval.methods.estimates import Design
from clfeval.methods.measurement.joint_sums import group_influence
from clfeval.methods.measurement.label_measures import effective_class_sizes
from clfeval.methods.measurement.measure_rows import score_measure_rows, takes_scores
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.report.baselines import measures_with_baselines, score_baselines
from clfeval.methods.report.calibration import (
    adjust_calibration_tests,
    calibration_test_rows,
    choose_thresholds,
    curve_rows,
    distribution_rows,
    roc_band_rows,
    threshold_rows,
)
from clfeval.methods.report.calibration_band import calibration_band_rows
from clfeval.methods.report.comparisons import (
    observed_values,
    slice_compared_measures,
    slice_score_estimates,
)
from clfeval.methods.report.complement_scores import ComplementScores, ComplementsOfModels
from clfeval.methods.report.matched_operating_point import (
    label_reference_pairs,
    same_specificity_table,
)
from clfeval.methods.report.model_estimates import (
    bootstrap_estimates,
    group_estimates,
    identical_columns,
    row_score_influence,
    score_estimates,
)
from clfeval.methods.report.options import ReportOptions
from clfeval.methods.report.slice_tests import (
    Complement,
    Key,
    Retest,
    slice_test_measures,
    use_default_intervals,
)
from clfeval.methods.score_groups import calibration_rows
from clfeval.records import dataclass, field, replace

Tables = list[tuple[str, str | None, str, Rows]]  # names, slices, models and their rows
RowInfluence = tuple[float, Floats]  # a measure, and the influence of each row
CUTS = ("cutoffs", "at_prevalence", "abstentions", "risk")
UNSLICED = (*CUTS, "calibration_band")  # no further rows of slices
TABLES = (
    *CUTS,
    "calibration",
    "calibration_curve",
    "calibration_band",
    "thresholds",
    "decision",
    "distribution",
    "curves",
    "roc_band",
)


@dataclass(frozen=True, slots=True, eq=False)
class ScoreQuestion:
    """The measures that are computed from scores.

    requested: all; compared: those that compare models; tested: those that test slices;
    compared_inside: those that compare models inside slices.
    """

    requested: Sequence[RequestedMeasure]
    compared: Sequence[RequestedMeasure]
    tested: Sequence[RequestedMeasure]
    compared_inside: Sequence[RequestedMeasure]

    @classmethod
    def from_measures(
        cls,
        requested: Sequence[RequestedMeasure],
        compared: Sequence[RequestedMeasure],
        lead_measure: str,
        options: ReportOptions,
    ) -> ScoreQuestion:
        """Build from the requested measures, those that compare models, and the leading one."""
        compared_inside = slice_compared_measures(compared, lead_measure, options)
        score_measures = [measure for measure in compared_inside if takes_scores(measure)]
        return cls(requested, compared, slice_test_measures(requested), score_measures)

    @property
    def untested(self) -> list[RequestedMeasure]:
        """The requested measures that test no slices."""
        tested_names = {measure.name for measure in self.tested}
        return [measure for measure in self.requested if measure.name not in tested_names]


@dataclass(frozen=True, slots=True, eq=False)
class ScoreResults:
    """Results from the scores of all models.

    lost: rows whose class had probability 0, by model. equal_models: groups with equal scores.
    complements: measures of the rows outside each slice. in_slices: estimates of each slice, by
    measure. untested: measures and curves of slices that are not used in tests. retest: see
    `SliceEstimates.adjusted_changes`.
    """

    measures: Sequence[Row] = ()
    estimates: Mapping[str, PairedEstimates] = field(default_factory=dict)  # by measure
    digests: Sequence[str] = ()  # of the scores
    lost: Mapping[str, float] = field(default_factory=dict)
    equal_models: Sequence[Sequence[str]] = ()
    complements: Mapping[Key, Complement] = field(default_factory=dict)
    tables: Mapping[str, Rows] = field(default_factory=dict)
    baselines: Sequence[Row] = ()
    in_slices: Mapping[str, Mapping[str, PairedEstimates]] = field(default_factory=dict)
    untested: Callable[[], tuple[Sequence[Row], Mapping[str, Rows]]] = lambda: ((), {})
    retest: Retest = lambda *_: {}


def compute_score_results(
    sample: Sample, predictions: PredictionCounts, question: ScoreQuestion, options: ReportOptions
) -> ScoreResults:
    """Return the results from scores, computed one model at a time."""
    pairs = label_reference_pairs(predictions, options)
    scored_rows = read_scored_rows(predictions, {reference for _, reference in pairs})
    model_names = [predictions.models[i].name for i in scored_rows.models]
    by_group = isinstance(scored_rows, StoredScores)  # influence of groups of rows, not of each
    if by_group:
        question = replace(question, compared_inside=())
    collected = _Collected.from_results(
        scored_rows.map_models(
            lambda j: _model_results(sample, scored_rows, j, model_names[j], question, options)
        ),
        question,
        model_names,
    )
    estimates_inside = {
        measure.name: slice_score_estimates(
            scored_rows, sample.patterns, measure, collected.influence_inside[measure.name]
        )
        for measure in question.compared_inside
    }
    estimates = _paired_estimates(predictions, scored_rows, question.compared, collected)
    if options.reference is not None and not by_group:
        estimates |= bootstrap_estimates(
            scored_rows,
            model_names,
            question.compared,
            observed_values(collected.measures),
            sample.patterns[None],
            options.reference,
            options.interval_settings,
        )
    measure_untested = cache(
        partial(_measure_slices, sample, scored_rows, model_names, question.untested, options)
    )
    complements = ComplementsOfModels(
        scored_rows,
        model_names,
        sample.thresholds,
        question.tested,
        use_default_intervals(options.interval_settings),
    )
    return ScoreResults(
        collected.measures,
        estimates,
        collected.digests,
        collected.lost,
        identical_columns(dict(zip(model_names, scored_rows.scores, strict=True))),
        collected.complements,
        {
            **same_specificity_table(predictions, sample.slices[None], scored_rows, options),
            **_tables_with_slices(collected, measure_untested),
        },
        collected.baselines,
        estimates_inside,
        measure_untested,
        complements.measure,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Collected:
    """The results of all models; influence: of rows, by measure (inside: and slice), then model."""

    measures: list[Row]
    baselines: list[Row]
    calibration_tests: list[Row]
    tables: Tables
    digests: list[str]
    complements: dict[Key, Complement]
    lost: dict[str, float]
    influence: dict[str, dict[str, RowInfluence]]
    influence_inside: dict[str, dict[str, dict[str, RowInfluence]]]

    @classmethod
    def from_results(
        cls,
        results: Iterable[_ModelScoreResults],
        question: ScoreQuestion,
        model_names: Sequence[str],
    ) -> _Collected:
        """Collect the results of models, in their order."""
        collected = cls(
            [],
            [],
            [],
            [],
            [],
            {},
            dict.fromkeys(model_names, 0.0),
            {measure.name: {} for measure in question.compared},
            {measure.name: {} for measure in question.compared_inside},
        )
        for model_results in results:
            collected._add(model_results)
        return collected

    def _add(self, model_results: _ModelScoreResults) -> None:
        self.measures.extend(model_results.measures)
        self.baselines.extend(model_results.baselines)
        self.calibration_tests.extend(model_results.calibration_tests)
        self.tables.extend(model_results.tables)
        self.digests.append(f"{model_results.model}{model_results.digest}")
        self.complements.update(model_results.complements)
        for row in model_results.calibration_tests:
            self.lost[row["model"]] = cell_value(row["contradicted"]) or 0.0
        for measure, influence in model_results.influence.items():
            self.influence[measure][model_results.model] = influence
        for (measure, slice_name), influence in model_results.influence_inside.items():
            self.influence_inside[measure].setdefault(slice_name, {})[model_results.model] = (
                influence
            )


def _paired_estimates(
    predictions: PredictionCounts,
    scored_rows: ScoredRows,
    measures: Sequence[RequestedMeasure],
    collected: _Collected,
) -> dict[str, PairedEstimates]:
    """Return paired estimates of models by each measure that has influence values."""
    sizes = effective_class_sizes(predictions.patterns, 2)
    if isinstance(scored_rows, StoredScores):
        return group_estimates(
            predictions, scored_rows, measures, collected.influence, collected.measures, sizes
        )
    estimates = dict[str, PairedEstimates]()
    for measure in measures:
        measure_estimates = score_estimates(
            scored_rows.weights,
            scored_rows.owners,
            measure,
            collected.influence.pop(measure.name),  # as long as the rows
            sizes,
            sampling=scored_rows.weighed,
        )
        if measure_estimates:
            estimates[measure.name] = measure_estimates
    return estimates


def _measure_slices(
    sample: Sample,
    scored_rows: ScoredRows,
    model_names: Sequence[str],
    measures: Sequence[RequestedMeasure],
    options: ReportOptions,
) -> tuple[list[Row], dict[str, LazyRows]]:
    """Return measures and curves of the scores of all models in each slice."""
    rows = list[Row]()
    tables = Tables()
    if scored_rows.slices:
        results_by_model = scored_rows.map_models(
            lambda j: _in_slices(sample, scored_rows, j, model_names[j], measures, options)
        )
        for model_rows, model_tables in results_by_model:
            rows += model_rows
            tables += model_tables
    return rows, _stack_tables(tables)


def _tables_with_slices(
    collected: _Collected, measure_untested: Callable[[], tuple[Sequence[Row], Mapping[str, Rows]]]
) -> dict[str, Rows]:
    """Return the tables by name; curves of slices are computed on demand."""
    tables: dict[str, Rows] = {}
    if collected.calibration_tests:
        tables["calibration_tests"] = adjust_calibration_tests(collected.calibration_tests)

    def list_slice_rows(name: str) -> Rows:
        _, tables_of_slices = measure_untested()
        return tables_of_slices.get(name, ())

    for name, rows in _stack_tables(collected.tables).items():
        tables[name] = (
            rows if name in UNSLICED else RowsBySlice(rows, partial(list_slice_rows, name))
        )
    return tables


def _stack_tables(tables: Tables) -> dict[str, LazyRows]:
    """Concatenate the tables of the same name, in the order of `TABLES`."""
    slices_by_table: dict[str, list[tuple[str | None, str, Rows]]] = {name: [] for name in TABLES}
    for table, slice_name, model, slice_rows in tables:
        slices_by_table[table].append((slice_name, model, slice_rows))
    return {
        name: stack_rows(slice_rows) for name, slice_rows in slices_by_table.items() if slice_rows
    }


@dataclass(frozen=True, slots=True, eq=False)
class _ModelScoreResults:
    """Results of one model; influence of rows by measure, influence_inside: and slice."""

    model: str
    digest: str
    measures: list[Row]
    tables: Tables
    calibration_tests: list[Row]
    influence: dict[str, RowInfluence]
    complements: dict[Key, Complement]
    baselines: Sequence[Row]
    influence_inside: dict[tuple[str, str], RowInfluence]


def _model_results(
    sample: Sample,
    scored_rows: ScoredRows,
    j: int,
    model: str,
    question: ScoreQuestion,
    options: ReportOptions,
) -> _ModelScoreResults:
    """Return the results of the scores of model j."""
    all_scores, score_indices = scored_rows.ranked(j)
    model_scores = _ModelScores(
        sample, scored_rows, model, all_scores, score_indices, question, options
    )
    measures, calibration_tests = model_scores.measures_and_tests()
    tables = [*_curve_tables(None, model, all_scores.frozen(), options, sample)]
    tables += model_scores.threshold_tables(None, all_scores.frozen())
    baselines = model_scores.baselines(measures)
    complements = dict[Key, Complement]()
    influence_inside = dict[tuple[str, str], RowInfluence]()
    complement_scores = ComplementScores(
        model,
        all_scores,
        model_scores.threshold,
        question.tested,
        use_default_intervals(options.interval_settings),
    )
    for slice_name in (slice_name for slice_name in sample.slices if slice_name is not None):
        slice_scores, slice_indices = scored_rows.slice_scores(
            all_scores, score_indices, slice_name
        )
        slice_counts = slice_scores.frozen()
        measures += model_scores.slice_measures(slice_name, slice_counts)
        complements |= complement_scores.complement_measures(
            slice_name, slice_counts, slice_indices
        )
        influence_inside |= model_scores.influence_inside(slice_name, slice_counts, slice_indices)
        tables += model_scores.threshold_tables(slice_name, slice_counts)
    return _ModelScoreResults(
        model,
        all_scores.digest(),
        measures,
        tables,
        calibration_tests,
        model_scores.influence(),
        complements,
        baselines,
        influence_inside,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _ModelScores:
    """The scores of one model and what is asked of them; positions: of each row's score."""

    sample: Sample
    rows: ScoredRows
    model: str
    all_scores: ScoreCounts
    positions: Ints
    question: ScoreQuestion
    options: ReportOptions

    @property
    def threshold(self) -> float | None:
        """The threshold in force."""
        return self.sample.thresholds.get(self.model)

    def measures_and_tests(self) -> tuple[list[Row], list[Row]]:
        """Return the requested measures of all rows, and the tests of calibration.

        No tests where scores are no probabilities, or hidden.
        """
        all_scores, options = self.all_scores, self.options
        # cached log odds of this view are freed with it
        counts = replace(all_scores.frozen(), scores=all_scores.scores[:])
        calibration_tests = list[Row]()
        is_hidden = self.sample.predictions is not None and self.sample.predictions.min_cell
        if (
            len(all_scores.scores)
            and all_scores.scores[0] >= 0
            and all_scores.highest[-1] <= 1
            and not is_hidden
        ):
            probabilities = counts.probabilities
            calibration_tests = calibration_test_rows(
                self.model, probabilities, options.level, options.seed
            )
        measures = score_measure_rows(
            None,
            self.model,
            counts,
            self.threshold,
            self.question.requested,
            options.interval_settings,
        )
        return measures, calibration_tests

    def slice_measures(self, slice_name: str, counts: ScoreCounts) -> list[Row]:
        """Return the measures of a slice that test it."""
        return score_measure_rows(
            slice_name,
            self.model,
            counts,
            self.threshold,
            self.question.tested,
            self.options.interval_settings,
        )

    def threshold_tables(self, slice_name: str | None, counts: ScoreCounts) -> Tables:
        """Return the tables of chosen thresholds and of abstention, if requested."""
        if not self.options.uses_thresholds:
            return []
        from clfeval.methods.report.thresholds import threshold_tables

        return [
            (table, slice_name, self.model, rows)
            for table, rows in threshold_tables(
                slice_name, self.model, counts, self.sample, self.options
            )
        ]

    def baselines(self, measures: Sequence[Row]) -> Sequence[Row]:
        """Return the baselines of the measures of all rows, if requested."""
        if not self.options.dummies:
            return []
        all_scores = self.all_scores
        row_counts = np.maximum(all_scores.positives + all_scores.negatives, 1)
        counts_at_means = (
            all_scores
            if all_scores.buckets is None
            else replace(all_scores, scores=all_scores.sums() / row_counts)
        )
        return [
            *score_baselines(
                self.model,
                counts_at_means,
                measures_with_baselines(self.question.requested),
                observed_values(measures),
                self.threshold,
                self.options.seed,
                is_exchangeable=self.rows.independent_rows,
            )
        ]

    def influence(self) -> dict[str, RowInfluence]:
        """Return the value of each compared measure, and the influence of rows or groups."""
        influence = dict[str, RowInfluence]()
        for measure in self.question.compared:
            if isinstance(self.rows, StoredScores):
                value_and_influence = group_influence(measure, self.threshold, self.all_scores)
            else:
                value_and_influence = row_score_influence(
                    measure, self.threshold, self.all_scores, self.positions, self.rows.truth
                )
            if value_and_influence:
                influence[measure.name] = value_and_influence
        return influence

    def influence_inside(
        self, slice_name: str, counts: ScoreCounts, scores_in_slice: Ints
    ) -> dict[tuple[str, str], RowInfluence]:
        """Return the value and the influence of rows in a slice, by measure and slice.

        scores_in_slice: the indices of its scores among all scores.
        """
        influence = dict[tuple[str, str], RowInfluence]()
        if not self.question.compared_inside:
            return influence
        slice_rows = self.rows.slices[slice_name]
        slice_indices = np.empty(len(self.all_scores.scores), np.int64)
        slice_indices[scores_in_slice] = np.arange(len(scores_in_slice))
        slice_score_indices = slice_indices.take(self.positions.take(slice_rows))
        slice_truth = self.rows.truth.take(slice_rows)
        for measure in self.question.compared_inside:
            value_and_influence = row_score_influence(
                measure, self.threshold, counts, slice_score_indices, slice_truth
            )
            if value_and_influence is not None:
                influence[measure.name, slice_name] = value_and_influence
        return influence


def _in_slices(
    sample: Sample,
    scored_rows: ScoredRows,
    j: int,
    model: str,
    measures: Sequence[RequestedMeasure],
    options: ReportOptions,
) -> tuple[list[Row], Tables]:
    """Return measures and curves of the scores of one model in each slice."""
    all_scores, score_indices = scored_rows.ranked(j)
    threshold = sample.thresholds.get(model)
    rows = list[Row]()
    tables = Tables()
    for slice_name in scored_rows.slices:
        slice_scores, _ = scored_rows.slice_scores(all_scores, score_indices, slice_name)
        counts = slice_scores.frozen()
        rows += score_measure_rows(
            slice_name, model, counts, threshold, measures, options.interval_settings
        )
        tables += _curve_tables(slice_name, model, counts, options, sample)
    return rows, tables


def _curve_tables(
    slice_name: str | None, model: str, counts: ScoreCounts, options: ReportOptions, sample: Sample
) -> Iterator[tuple[str, str | None, str, Rows]]:
    """Yield the curves of one model in one slice, with the names of their tables and the slice."""
    if not len(counts.scores) or (sample.predictions is not None and sample.predictions.min_cell):
        return
    level, design = options.confidence, Design(options.totals)
    class_names = sample.positive, negative_name(sample)
    yield (
        "distribution",
        slice_name,
        model,
        distribution_rows(slice_name, model, counts, class_names),
    )
    yield "curves", slice_name, model, curve_rows(slice_name, model, counts, options.points)
    thresholds = choose_thresholds(counts, options.thresholds)
    yield (
        "thresholds",
        slice_name,
        model,
        threshold_rows(slice_name, model, counts, thresholds, level, design),
    )
    if counts.scores[0] >= 0 and counts.scores[-1] <= 1:
        yield (
            "calibration",
            slice_name,
            model,
            calibration_rows(slice_name, model, counts, level, design),
        )
        rows = decision_rows(slice_name, model, counts, level, options.single_population)
        yield "decision", slice_name, model, rows
        if slice_name is None:
            yield "calibration_curve", slice_name, model, isotonic_rows(slice_name, model, counts)
            band_rows = calibration_band_rows(
                model, counts.probabilities, level, design, options.seed
            )
            yield "calibration_band", slice_name, model, band_rows
    if slice_name is None:
        yield "roc_band", slice_name, model, roc_band_rows(slice_name, model, counts, level, design)


def negative_name(sample: Sample) -> str:
    """Return the name of the negative class, or `not` and the positive one."""
    return sample.negative[0] if len(sample.negative) == 1 else f"not {sample.positive}"
