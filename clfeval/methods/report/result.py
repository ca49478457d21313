"""From counts to the Result of the report."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from clfeval.compare.families import BestSet
from clfeval.compare.paired_estimates import PairedEstimates
from clfeval.counts.patterns import PatternCounts, from_units
from clfeval.counts.sample import Sample
from clfeval.document import Answer, Document, ResultNote, whole_table_rows
from clfeval.document.cells import Estimate, Row, Rows, as_estimate, as_row
from clfeval.document.rows import RowsBySlice
from clfeval.errors import UsageError
from clfeval.methods import provenance
from clfeval.methods.comparison_answer import OperatingPoint, comparison_answers, explain_untested
from clfeval.methods.few_clusters import confidence_level, explain_missing_limits, has_few_clusters
from clfeval.methods.measurement.label_measures import label_estimates
from clfeval.methods.measurement.measure_rows import (
    has_scored_model,
    label_measure_rows,
    leading_measure,
    sort_measure_rows,
    takes_scores,
    unscored_model_rows,
)
from clfeval.methods.measurement.requested_measures import (
    NET_BENEFIT,
    RequestedMeasure,
    parse_measures,
    set_row_units,
)
from clfeval.methods.model_order import LEAD_OF_LABELS, LEAD_OF_SCORES
from clfeval.methods.report import comparisons
from clfeval.methods.report.answer import (
    EqualModels,
    ModelRanking,
    SecondRanking,
    choose_tested_models,
    report_answer,
    sample_notes,
)
from clfeval.methods.report.answer_order import two_class_answer
from clfeval.methods.report.baselines import two_class_baselines
from clfeval.methods.report.calibration_answer import (
    MISCALIBRATED_CODE,
    with_calibration_verdicts,
    with_well_calibrated,
)
from clfeval.methods.report.complement_scores import measure_complements
from clfeval.methods.report.heterogeneity import heterogeneity_answer, heterogeneity_rows
from clfeval.methods.report.matched_answer import put_same_specificity_first
from clfeval.methods.report.matched_operating_point import TABLE
from clfeval.methods.report.measure_notes import (
    bounds_of_lead,
    contradiction_notes,
    measure_notes,
    net_benefit_notes,
    smallest_count,
)
from clfeval.methods.report.model_estimates import (
    best_by_net_benefit,
    identical_columns,
    net_benefit_estimates,
    thresholds_differ,
)
from clfeval.methods.report.model_table import two_class_confusion_rows, two_class_model_rows
from clfeval.methods.report.multiclass_result import multiclass_result
from clfeval.methods.report.options import ReportOptions
from clfeval.methods.report.prevalence_names import sample_size
from clfeval.methods.report.question import ReportQuestion
from clfeval.methods.report.scores import ScoreQuestion, ScoreResults, compute_score_results
from clfeval.methods.report.slice_answer import SliceModels
from clfeval.methods.report.slice_sizes import positives_by_slice, slice_sizes
from clfeval.methods.report.slice_tests import (
    Complement,
    Key,
    SliceEstimates,
    SlicesTested,
    label_complement_estimates,
    slice_complements,
    slice_test_measures,
    slice_values,
)
from clfeval.methods.report.unpredicted_classes import UnpredictedClasses
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace


def report_result(sample: Sample, options: ReportOptions) -> Document:
    """Return the result of the report with every table."""
    if options.runs:
        from clfeval.methods.measurement.run_means import Runs

        runs = Runs.from_sample(sample)
        run_slices = comparisons.runs_as_slices(options, sample)
        options_of_runs = replace(options, reference=runs.reference(options.reference))
        result = _report(run_slices, options_of_runs)
        return comparisons.average_over_runs(run_slices, result, runs, options)
    document = _report(sample, options)
    is_multiclass = sample.predictions is not None and sample.predictions.multiclass
    slices = (
        sample.predictions.labels() if sample.predictions and is_multiclass else sample.patterns
    )
    return explain_missing_limits(document, slices, options.confidence)


@dataclass(frozen=True, slots=True, eq=False)
class SampleMeasures:
    """The measures of a sample.

    rows: of the whole table, and of slices by the measures that test these; table: all of them,
    those of slices on demand. estimates: paired estimates of models, by measure. equal_models:
    groups of models with equal predictions. digests: of labels, then of scores.
    """

    rows: Sequence[Row]
    table: RowsBySlice
    estimates: Mapping[str, PairedEstimates]
    scores: ScoreResults
    equal_models: Sequence[Sequence[str]]
    digests: Sequence[str]

    @property
    def of_all_rows(self) -> Sequence[Row]:
        """The measures of the whole table."""
        return whole_table_rows(self.rows)


@dataclass(frozen=True, slots=True, eq=False)
class TwoClassComparisons:
    """The comparisons of models.

    lead: the measure that the sentences on a reference name; by_labels: the reference has labels
    only. best_set: by the leading measure. tables: without comparisons.
    """

    lead: str
    by_labels: bool
    best_set: BestSet | None
    rows: Sequence[Row]
    tables: Mapping[str, list[Row]]
    net_benefit: Mapping[str, float]  # of labels by model, as the reference has it


def _report(sample: Sample, options: ReportOptions) -> Document:
    if sample.predictions is not None and sample.predictions.multiclass:
        return multiclass_result(sample, sample.predictions, options)
    _refuse_unanswerable(sample, options)
    question = _question(sample, options)
    measured = _measure(sample, question, options)
    comparison = _compare(sample, question, measured, options)
    model_rows = _first_screen(sample, measured.of_all_rows, comparison)
    ranking = ModelRanking(
        model_rows,
        question.lead,
        comparison.best_set,
        confidence_level(sample.patterns, options.confidence),
        reference=options.reference,
        sample_size=sample_size(sample),
    )
    slices_tested = _test_slices(
        sample, question, measured, choose_tested_models(ranking, sample.roles.model), options
    )
    comparison_rows = [*comparison.rows, *slices_tested.comparisons]
    tables = _own_tables(sample, question, measured, model_rows, options)
    tables.update(slices_tested.tables)
    optional_tables = {
        "at_prevalence": _prevalence_rows(sample, tables, model_rows, options),
        "comparisons": comparison_rows,
    }
    tables |= {name: rows for name, rows in optional_tables.items() if rows}
    unpredicted = UnpredictedClasses.from_labels(sample)
    sentences = _comparison_sentences(sample, comparison, comparison_rows, tables, options)
    answer = two_class_answer(
        sample,
        [*sentences, *slices_tested.sentences],
        _leader_answers(sample, question, measured, ranking, tables, options),
        unpredicted.answers(ranking.named_models),
        tables,
        options,
    )
    is_weighted = sample.slices[None].fractional
    return Document(
        **provenance.report_provenance(sample, options, measured.digests, weighed=is_weighted),
        summary=_summary(sample),
        tables={
            "models": RowsBySlice(
                with_well_calibrated(model_rows, tables.get("calibration_tests", ())),
                partial(_slice_model_rows, sample, measured),
            ),
            **tables,
            **comparison.tables,
            "confusion": two_class_confusion_rows(sample),
        },
        answer=answer,
        warnings=(
            *sample_notes(sample),
            *unpredicted.notes(answer),
            *measure_notes(sample, question, measured.of_all_rows, options),
            *contradiction_notes(sample, question.requested, measured.scores.lost, model_rows),
            *_threshold_notes(sample, options),
            *net_benefit_notes(sample, question, options),
        ),
    )


def _threshold_notes(sample: Sample, options: ReportOptions) -> list[ResultNote]:
    """Return the note on chosen thresholds of counts files; what chooses them is imported then."""
    if not options.best_threshold:
        return []
    from clfeval.methods.report.thresholds_in_force import stored_threshold_notes

    return stored_threshold_notes(sample, options)


def _comparison_sentences(
    sample: Sample,
    comparison: TwoClassComparisons,
    comparison_rows: Sequence[Row],
    tables: Mapping[str, Rows],
    options: ReportOptions,
) -> list[Answer]:
    """Return the sentences on the reference, that at its specificity first."""
    sentences = comparison_answers(
        comparison_rows,
        comparison.lead,
        options,
        _measure_table_names,
        _make_operating_point(sample),
        by_labels=comparison.by_labels,
    )
    return put_same_specificity_first(
        [*sentences], tables.get(TABLE, ()), options.reference, options.level
    )


def _refuse_unanswerable(sample: Sample, options: ReportOptions) -> None:
    """Raise UsageError for options that need what the sample does not have."""
    flags = {
        "--best-threshold": options.best_threshold,
        "--abstain": options.abstain,
        "--prevalence": options.populations,
        "--reference": options.reference,
    }
    if smallest_count(sample):
        for flag in [flag for flag, option_value in flags.items() if option_value]:
            message = f"{OPTION}{flag}{END} needs all counts, but small ones are hidden"
            hint = f"leave it out, or count the tables without {OPTION}--min-cell{END}"
            raise UsageError.new(message, "needs-predictions", hint=hint)
    if options.populations and not sample.counts_negatives:
        message = f"{OPTION}--prevalence{END} needs true negatives, which were not counted"
        raise UsageError.new(message, "no-tn", hint="leave it out, or add the column tn")
    has_patterns = None in sample.patterns
    comparisons.check_reference(sample.slices[None].models, options, same_rows=has_patterns)
    if options.uses_thresholds:
        from clfeval.methods.report.threshold_rules import check_scores_available

        check_scores_available(
            options.best_threshold,
            options.zones,
            sample.thresholds,
            scored=has_scored_model(sample),
            single=sample.predictions is None or sample.predictions.bits is None,
        )


def _question(sample: Sample, options: ReportOptions) -> ReportQuestion:
    """Return the requested measures, those that compare models, and the leading one."""
    predictions = sample.predictions
    measure_names = ("default", *options.measure, *options.compared)
    requested = set_row_units(parse_measures(measure_names), predictions)
    lead_measure = leading_measure(sample)
    compared_measures = [
        measure
        for measure in comparisons.compared_measures(requested, lead_measure, options)
        if not takes_scores(measure) or predictions is None or predictions.compares_scores
    ]
    return ReportQuestion(requested, compared_measures, lead_measure)


def _thresholdless(sample: Sample) -> Collection[str]:
    """Return the models with scores but without a threshold."""
    return () if sample.predictions is None else sample.predictions.uncut


def _measure(sample: Sample, question: ReportQuestion, options: ReportOptions) -> SampleMeasures:
    """Return the measures of labels and of scores."""
    patterns, predictions = sample.patterns.get(None), sample.predictions
    requested = question.requested
    measure_rows = label_measure_rows(sample, requested, options.interval_settings)
    measure_rows += unscored_model_rows(sample, requested)
    digests = [sample.slices[None].digest()]
    estimates = _label_estimates(patterns, question.compared, _thresholdless(sample))
    scores = ScoreResults()
    if predictions is not None and has_scored_model(sample):
        score_question = ScoreQuestion.from_measures(
            requested, question.compared, question.lead, options
        )
        scores = compute_score_results(sample, predictions, score_question, options)
        measure_rows += scores.measures
        estimates |= scores.estimates
        digests += scores.digests
    tested_rows = sort_measure_rows(measure_rows, sample, requested)

    def list_slice_rows() -> list[Row]:
        untested_rows, _ = scores.untested()
        return _of_slices(sort_measure_rows([*measure_rows, *untested_rows], sample, requested))

    measure_table = RowsBySlice(whole_table_rows(tested_rows), list_slice_rows)
    equal_models = [*scores.equal_models, *_equal_labels(patterns, scores.lost)]
    return SampleMeasures(tested_rows, measure_table, estimates, scores, equal_models, digests)


def _label_estimates(
    patterns: PatternCounts | None, measures: Sequence[RequestedMeasure], excluded: Collection[str]
) -> dict[str, PairedEstimates]:
    """Return paired estimates of models by measures of labels; none if rows may differ."""
    estimates = dict[str, PairedEstimates]()
    for measure in measures:
        if patterns is None or takes_scores(measure):
            continue
        measure_estimates = label_estimates(patterns, measure, excluded)
        if measure_estimates is not None:
            estimates[measure.name] = measure_estimates
    return estimates


def _equal_labels(
    patterns: PatternCounts | None, scored_models: Collection[str]
) -> list[list[str]]:
    """Return the groups of models without scores whose labels are equal."""
    if patterns is None:
        return []
    models_and_votes = zip(patterns.models, patterns.votes.T, strict=True)
    return identical_columns(
        {model: votes for model, votes in models_and_votes if model not in scored_models}
    )


def _scores_are_stored(sample: Sample, scores: ScoreResults) -> bool:
    """Return whether there are scores which counts files do not let compare."""
    predictions = sample.predictions
    return predictions is not None and not predictions.compares_scores and bool(scores.measures)


def _compare(
    sample: Sample, question: ReportQuestion, measured: SampleMeasures, options: ReportOptions
) -> TwoClassComparisons:
    """Return the comparisons of models; of labels where the reference has no scores."""
    patterns = sample.patterns.get(None)
    predictions = sample.predictions
    reference = options.reference
    models = sample.slices[None].models
    estimates = dict(measured.estimates)
    if thresholds_differ(sample):
        estimates.pop(NET_BENEFIT, None)
    lead_measure = question.lead
    if _scores_are_stored(sample, measured.scores):
        lead_measure = LEAD_OF_LABELS
    scored_models = estimates[question.lead].models if question.lead in estimates else models
    by_labels = reference in models and reference not in scored_models
    if by_labels:
        lead_measure = LEAD_OF_LABELS
        estimates |= net_benefit_estimates(sample)
    paired = [estimates[measure.name] for measure in question.compared if measure.name in estimates]
    model_comparisons = comparisons.compare_models(
        paired,
        comparisons.observed_values(measured.rows),
        None if patterns is None else float(from_units(patterns.n.sum(), patterns.unit)),
        comparisons.ComparisonSettings.from_options(options, _measure_table_names),
    )
    tables = dict(model_comparisons.tables)
    if reference is not None and patterns is not None and predictions is not None and paired:
        tables |= comparisons.compare_rows(
            patterns,
            predictions,
            model_comparisons.rows,
            _thresholdless(sample),
            options,
            _measure_table_names,
        )
    rows = comparisons.with_bounds(tables.pop("comparisons", []), estimates)
    best_set = model_comparisons.best_sets.get(question.lead)
    net_benefit = _net_benefit_of_labels(estimates) if by_labels else {}
    return TwoClassComparisons(lead_measure, by_labels, best_set, rows, tables, net_benefit)


def _net_benefit_of_labels(estimates: Mapping[str, PairedEstimates]) -> dict[str, float]:
    """Return the net benefit of the labels of each model, if it compares them."""
    benefit = estimates.get(NET_BENEFIT)
    if benefit is None:
        return {}
    return dict(zip(benefit.models, benefit.values.tolist(), strict=True))


def _first_screen(
    sample: Sample, measure_rows: Sequence[Row], comparison: TwoClassComparisons
) -> list[Row]:
    """Return the rows of models, with net benefits of labels where the reference has those."""
    rows = two_class_model_rows(sample, measure_rows, comparison.best_set)
    if not comparison.net_benefit:
        return rows
    return [
        row
        if as_estimate(row[NET_BENEFIT]).value is not None
        else as_row({**row, NET_BENEFIT: Estimate(comparison.net_benefit.get(row["model"]))})
        for row in rows
    ]


def _own_tables(
    sample: Sample,
    question: ReportQuestion,
    measured: SampleMeasures,
    model_rows: Sequence[Row],
    options: ReportOptions,
) -> dict[str, Rows]:
    """Return the tables of measures, of scores, and of baselines if these are requested.

    model_rows: of the first screen.
    """
    tables: dict[str, Rows] = {"measures": measured.table, **measured.scores.tables}
    if "calibration_tests" in tables:
        tables["calibration_tests"] = with_calibration_verdicts(
            tables["calibration_tests"], model_rows, options.confidence
        )
    if options.dummies:
        tables["baselines"] = two_class_baselines(
            sample,
            question.requested,
            comparisons.observed_values(measured.rows),
            measured.scores.baselines,
        )
    return tables


def _test_slices(
    sample: Sample,
    question: ReportQuestion,
    measured: SampleMeasures,
    tested_models: SliceModels,
    options: ReportOptions,
) -> SlicesTested:
    """Return the tests of each slice against the other rows, and of models inside slices."""
    if len(sample.slices) == 1:
        return SlicesTested()
    has_hidden_counts = smallest_count(sample) > 0
    measures = slice_test_measures(question.requested)
    complements = slice_complements(sample)
    outside_measures: dict[Key, Complement] = {}
    # bounds of the rows inside and outside a slice add up: hidden counts are not compared
    if not has_hidden_counts:
        label_complements = label_complement_estimates(
            sample, complements, measures, options.interval_settings
        )
        outside_measures = {**measured.scores.complements, **dict(label_complements)}
    slice_estimates = SliceEstimates(
        slice_values(measured.rows),
        measures,
        slice_sizes(sample, complements),
        options.confidence,
        sample.facets,
    )
    slices_tested = slice_estimates.tested(
        tested_models,
        outside_measures,
        partial(
            measure_complements, sample, measures, options.interval_settings, measured.scores.retest
        ),
        positives_by_slice(sample),
    )
    label_estimates_inside = comparisons.slice_label_estimates(
        sample.patterns,
        question.compared,
        question.lead,
        options,
        partial(label_estimates, excluded=_thresholdless(sample)),
    )
    estimates_inside = {**label_estimates_inside, **measured.scores.in_slices}
    settings = comparisons.ComparisonSettings.from_options(options, _measure_table_names)
    reference_rows = slice_estimates.reference_rows(measured.estimates, estimates_inside, settings)
    tables = {
        name: rows
        for name, rows in slices_tested.tables.items()
        if name == "slices" or not has_hidden_counts
    }
    sentences = [*slices_tested.sentences]
    # no cluster is in two groups
    if not any(size.spans for size, _ in slice_estimates.sizes.values()):
        heterogeneity = heterogeneity_rows(measured.rows, sample.facets, options.confidence)
        tables |= {"heterogeneity": heterogeneity} if heterogeneity else {}
        sentences += heterogeneity_answer(heterogeneity, tested_models.names, options.level)
    return SlicesTested(tables, [*slices_tested.comparisons, *reference_rows], sentences)


def _prevalence_rows(
    sample: Sample, tables: Mapping[str, Rows], model_rows: Sequence[Row], options: ReportOptions
) -> Sequence[Row]:
    """Return the rows of predictive values at each prevalence, the requested ones first."""
    rows = tables.get("at_prevalence", ())
    if not options.populations:
        return rows
    from clfeval.methods.report.thresholds import prevalence_table

    rule_thresholds = {(row["model"], row["threshold"]) for row in rows}
    rows_in_force = prevalence_table(sample, options, model_rows)
    return [
        *(row for row in rows_in_force if (row["model"], row["threshold"]) not in rule_thresholds),
        *rows,
    ]


def _leader_answers(
    sample: Sample,
    question: ReportQuestion,
    measured: SampleMeasures,
    ranking: ModelRanking,
    tables: Mapping[str, Rows],
    options: ReportOptions,
) -> list[Answer]:
    """Return the sentence on the leading model, and those on its value and calibration."""
    untested_sentence = "No comparison: small counts are hidden."
    if not smallest_count(sample):
        untested_sentence = explain_untested(
            options,
            same_rows=None in sample.patterns,
            stored=_scores_are_stored(sample, measured.scores),
            few_clusters=has_few_clusters(sample.patterns.get(None)),
        )
    equal_noun = "predictions"
    if question.lead != LEAD_OF_SCORES:
        equal_noun = "labels"
    elif measured.equal_models == measured.scores.equal_models:
        equal_noun = "scores"
    bounds = {}
    if ranking.best_set is None:
        bounds = bounds_of_lead(measured.of_all_rows, question.lead)
    leader_answer, *quality_answers = report_answer(
        replace(ranking, untested=untested_sentence, bounds=bounds),
        whole_table_rows(tables.get("decision", ())),
        tables.get("calibration_tests", ()),
        EqualModels(measured.equal_models, equal_noun),
        SecondRanking(NET_BENEFIT, best_by_net_benefit(sample, ranking.models, options)),
        tables.get("calibration_band", ()),
    )
    if question.lead != LEAD_OF_SCORES:
        leader_answer = provenance.prefix_threshold(leader_answer, sample.thresholds)
    advice = list[Answer]()
    if any(answer.code == MISCALIBRATED_CODE for answer in quality_answers) and options.confidence:
        from clfeval.methods.report.recalibration_advice import recalibration_advice

        model = ranking.candidates[0]["model"]
        calibration_tests = tables.get("calibration_tests", ())
        advice = recalibration_advice(
            sample, calibration_tests, model, options.confidence, options.seed
        )
    return [leader_answer, *quality_answers, *advice]


def _summary(sample: Sample) -> dict[str, Any]:
    """Return the totals of classes and models, and below which counts are hidden."""
    min_cell = smallest_count(sample)
    return {
        **provenance.class_totals(sample),
        "models": len(sample.slices[None].models),
        **({"min_cell": min_cell} if min_cell else {}),
    }


def _of_slices(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["slice"] is not None]


def _slice_model_rows(sample: Sample, measured: SampleMeasures) -> list[Row]:
    """Return the rows of models in slices."""
    return with_well_calibrated(_of_slices(two_class_model_rows(sample, measured.table)), ())


def _measure_table_names(requested_name: str) -> Iterator[str]:
    """Yield the names in tables of the measures that a name requests."""
    yield from (measure.name for measure in parse_measures((requested_name,)))


def _make_operating_point(sample: Sample) -> OperatingPoint:
    """Return the threshold in force of all models, and the class totals."""
    class_totals = provenance.class_totals(sample)
    distinct_thresholds = {*sample.thresholds.values()} - {None}
    point_clause = "At the thresholds in force" if distinct_thresholds else "By their labels"
    if len(distinct_thresholds) == 1:
        point_clause = f"At threshold {next(iter(distinct_thresholds)):g}"
    return OperatingPoint(point_clause, class_totals["positives"], class_totals["negatives"])
