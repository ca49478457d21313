"""From the counts of more than two classes to the Result of the report."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from operator import add

from clfeval.compare.families import BestSet
from clfeval.compare.paired_estimates import PairedEstimates
from clfeval.counts.classes import ClassPatterns, ClassScores
from clfeval.counts.clusters_and_weights import subtract_part
from clfeval.counts.patterns import from_units
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.sample import Sample
from clfeval.document import Answer, Document, ResultNote, whole_table_rows
from clfeval.document.cells import Row
from clfeval.errors import UsageError, format_option
from clfeval.formatting import printable
from clfeval.measures.catalog import CATALOG
from clfeval.measures.multiclass_scores import clipped_weight
from clfeval.methods.comparison_answer import comparison_answers, explain_untested
from clfeval.methods.few_clusters import confidence_level, has_few_clusters
from clfeval.methods.measurement.label_measures import class_sizes
from clfeval.methods.measurement.measure_rows import (
    caveat_notes,
    fill_optional_columns,
    takes_scores,
)
from clfeval.methods.measurement.requested_measures import (
    RequestedMeasure,
    guess_class_order,
    parse_multiclass_measures,
    set_row_units,
)
from clfeval.methods.options import IntervalSettings
from clfeval.methods.provenance import (
    clipped_note,
    counting_notes,
    multiclass_summary,
    report_provenance,
)
from clfeval.methods.report import comparisons, slice_sizes, slice_tests
from clfeval.methods.report.answer import (
    EqualModels,
    ModelRanking,
    SecondRanking,
    choose_tested_models,
    report_answer,
)
from clfeval.methods.report.answer_order import order_answers
from clfeval.methods.report.baselines import class_baselines, measures_with_baselines
from clfeval.methods.report.calibration import adjust_calibration_tests, calibration_test_rows
from clfeval.methods.report.calibration_answer import MISCALIBRATED_CODE, with_calibration_verdicts
from clfeval.methods.report.model_estimates import (
    best_of_all_pairs,
    class_bootstrap_estimates,
    class_label_estimates,
    identical_columns,
    probability_estimates,
)
from clfeval.methods.report.model_table import confusion_rows, model_rows
from clfeval.methods.report.multiclass_estimates import (
    multiclass_label_rows,
    multiclass_probability_rows,
)
from clfeval.methods.report.options import ReportOptions
from clfeval.methods.report.question import ReportQuestion
from clfeval.methods.report.slice_answer import SliceModels
from clfeval.methods.report.unpredicted_classes import (
    UNKNOWN,
    UnpredictedClasses,
    lowest_recall_cells,
)
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace

# as the table `models` has them: of probabilities, of labels; f1 is the mean over classes
OF_PROBABILITIES = ("roc_auc", "brier", "log_loss", "overconfidence", "top_k_accuracy")
OF_LABELS = ("balanced_accuracy", "mcc", "f1", "kappa", "accuracy")
OF_ORDER = ("kappa_quadratic", "ordinal_mae")
LOG_LOSS = "log_loss"  # which judges probabilities, and may rank models otherwise
RARE = 10  # rows of a class below which estimates are imprecise
MAX_LISTED = 3  # such classes by name


@dataclass(frozen=True, slots=True, eq=False)
class ClassMeasures:
    """The measures of a sample of more than two classes.

    estimates: paired estimates of models, by measure. digests: of labels, then of probabilities.
    clipped_rows: the rows whose class had probability 0, in units, by model. scores: probabilities
    by model and slice, where slices are tested.
    """

    rows: Sequence[Row]
    estimates: Mapping[str, PairedEstimates]
    digests: Sequence[str]
    calibration_tests: Sequence[Row]
    clipped_rows: Mapping[str, float]
    scores: Mapping[str, Mapping[str | None, ClassScores]]


def multiclass_result(
    sample: Sample, predictions: PredictionCounts, options: ReportOptions
) -> Document:
    """Return the result of a report on more than two classes, none of them positive."""
    question = _question(predictions, options)
    slices = predictions.labels()
    all_rows = slices[None]
    measured = _measure(predictions, slices, question, options)
    measure_names = partial(_named_measures, predictions)
    settings = comparisons.ComparisonSettings.from_options(options, measure_names)
    comparison = _compare(predictions, all_rows, question, measured, settings, options)
    model_table = _model_table(measured.rows, comparison.best_sets.get(question.lead), predictions)
    ranking = _model_ranking(model_table, comparison, question, slices, options)
    slices_tested = _test_slices(
        sample,
        slices,
        question,
        measured,
        choose_tested_models(ranking, sample.roles.model),
        settings,
        options,
    )
    comparison_rows = [*comparison.rows, *slices_tested.comparisons]
    tables: dict[str, Sequence[Row]] = {
        "models": model_table,
        "measures": measured.rows,
        "calibration_tests": _calibration_test_table(measured, model_table, options),
        **comparison.tables,
        "confusion": _confusion_table(slices),
        **({**slices_tested.tables, "comparisons": comparison_rows} if len(slices) > 1 else {}),
        "baselines": _baseline_table(all_rows, question, measured.rows, options),
    }
    leader_answers = _leader_answers(sample, ranking, tables, all_rows, measured, options)
    unpredicted = UnpredictedClasses.from_tables(
        all_rows.models, all_rows.classes, all_rows.tables, all_rows.unit
    )
    answer = order_answers(
        [
            *_class_order_answers(predictions),
            *comparison_answers(comparison_rows, question.lead, options, measure_names),
            *slices_tested.sentences,
            leader_answers[0],
            *unpredicted.answers(ranking.named_models),
            *leader_answers[1:],  # on the value and the calibration of the best model
        ],
        comparison_rows,
    )
    return Document(
        **report_provenance(sample, options, measured.digests, weighed=all_rows.fractional),
        summary=multiclass_summary(all_rows),
        tables={name: rows for name, rows in tables.items() if rows or name == "confusion"},
        answer=tuple(answer),
        warnings=(
            *_class_notes(all_rows),
            *unpredicted.notes(answer),
            *_measure_notes(all_rows.unit, predictions, question.requested, measured.clipped_rows),
        ),
    )


def _model_ranking(
    model_table: Sequence[Row],
    comparison: comparisons.ModelComparisons,
    question: ReportQuestion,
    slices: Mapping[str | None, ClassPatterns],
    options: ReportOptions,
) -> ModelRanking:
    """Return the models of the whole table, the best first."""
    few_clusters = has_few_clusters(slices[None])
    return ModelRanking(
        whole_table_rows(model_table),
        question.lead,
        comparison.best_sets.get(question.lead),
        confidence_level(slices, options.confidence),
        explain_untested(options, same_rows=True, few_clusters=few_clusters),
        reference=options.reference,
    )


def _calibration_test_table(
    measured: ClassMeasures, model_table: Sequence[Row], options: ReportOptions
) -> list[Row]:
    """Return the tests of the calibration of all models, adjusted for these, with verdicts."""
    adjusted_tests = adjust_calibration_tests(measured.calibration_tests)
    return with_calibration_verdicts(adjusted_tests, model_table, options.confidence)


def _question(predictions: PredictionCounts, options: ReportOptions) -> ReportQuestion:
    """Return the requested measures, those that compare models, and the leading one."""
    names = (*options.measure, *options.compared)
    measures = parse_multiclass_measures(names, predictions.order, ordered=predictions.ordered)
    requested = set_row_units(measures, predictions)
    _refuse_two_class_options(predictions, options)
    all_rows = predictions.labels()[None]
    comparisons.check_reference(all_rows.models, options, same_rows=True)
    lead_measure = _lead_measure(all_rows, predictions)
    compared_measures = comparisons.compared_measures(requested, lead_measure, options)
    return ReportQuestion(requested, compared_measures, lead_measure)


def _equal_labels(all_rows: ClassPatterns) -> EqualModels:
    """Return the groups of models with equal labels."""
    models_and_votes = zip(all_rows.models, all_rows.votes.T, strict=True)
    return EqualModels(identical_columns(dict(models_and_votes)))


def _leader_answers(
    sample: Sample,
    ranking: ModelRanking,
    tables: Mapping[str, Sequence[Row]],
    all_rows: ClassPatterns,
    measured: ClassMeasures,
    options: ReportOptions,
) -> tuple[Answer, ...]:
    """Return the sentences on the best model, its calibration and recalibration, and log loss."""
    by_log_loss = _ranking_by_log_loss(measured, options)
    calibration_tests = tables["calibration_tests"]
    leader_answers = report_answer(
        ranking, (), calibration_tests, _equal_labels(all_rows), by_log_loss
    )
    advice = _recalibration_advice(sample, leader_answers[1:], ranking, calibration_tests, options)
    return (*leader_answers, *advice)


def _recalibration_advice(
    sample: Sample,
    calibration_answers: Sequence[Answer],
    ranking: ModelRanking,
    calibration_tests: Sequence[Row],
    options: ReportOptions,
) -> list[Answer]:
    """Return what to do with the probabilities of the best model, if they are miscalibrated."""
    is_miscalibrated = any(answer.code == MISCALIBRATED_CODE for answer in calibration_answers)
    if not is_miscalibrated or not options.confidence:
        return []
    from clfeval.methods.report.recalibration_advice import recalibration_advice

    model = ranking.candidates[0]["model"]
    return recalibration_advice(sample, calibration_tests, model, options.confidence, options.seed)


def _ranking_by_log_loss(measured: ClassMeasures, options: ReportOptions) -> SecondRanking:
    """Return the ranking of models with class probabilities by log loss."""
    estimates = measured.estimates.get(LOG_LOSS)
    best_set = None if estimates is None else best_of_all_pairs(estimates, options)
    return SecondRanking(LOG_LOSS, best_set)


def _measure_notes(
    unit: float,
    predictions: PredictionCounts,
    requested: Sequence[RequestedMeasure],
    clipped_rows: Mapping[str, float],
) -> tuple[ResultNote, ...]:
    """Return the warnings on measures; clipped_rows: as in `ClassMeasures`, in units."""
    clipped_notes = clipped_note(clipped_rows, unit)
    return (*clipped_notes, *counting_notes(predictions), *caveat_notes(requested))


def _named_measures(predictions: PredictionCounts, name: str) -> list[str]:
    """Return the names in tables of the measures that a name requests."""
    measures = parse_multiclass_measures((name,), predictions.order, ordered=predictions.ordered)
    return [measure.name for measure in measures if measure.by == "name"]


def _measure(
    predictions: PredictionCounts,
    slices: Mapping[str | None, ClassPatterns],
    question: ReportQuestion,
    options: ReportOptions,
) -> ClassMeasures:
    """Return the measures of labels and of class probabilities."""
    all_rows = slices[None]
    settings = options.interval_settings
    rows_by_model = _label_rows_by_model(slices, question.requested, settings)
    digests = [all_rows.digest()]
    calibration_tests = list[Row]()
    clipped_rows = dict[str, float]()
    scores_by_model = dict[str, Mapping[str | None, ClassScores]]()
    for model_index, model in enumerate(predictions.models):
        if model.kind != "classes":
            continue
        scores_by_slice = predictions.class_scores(model_index)
        _add_probability_rows(
            rows_by_model, model.name, scores_by_slice, question.requested, settings
        )
        all_scores = scores_by_slice[None]
        digests.append(f"{model.name}{all_scores.digest()}")
        weight = clipped_weight(all_scores.truth, all_scores.p, all_scores.n)
        clipped_rows[model.name] = weight.item()
        calibration_tests += calibration_test_rows(
            model.name, all_scores.most_probable(), options.level, options.seed
        )
        if len(slices) > 1:
            scores_by_model[model.name] = scores_by_slice
    rows = _sort_measures(rows_by_model, slices, question.requested)
    estimates = _paired_estimates(predictions, all_rows, question.compared, rows, options)
    return ClassMeasures(rows, estimates, digests, calibration_tests, clipped_rows, scores_by_model)


RowsByModel = dict[tuple[str | None, str], list[Row]]  # by slice and model


def _label_rows_by_model(
    slices: Mapping[str | None, ClassPatterns],
    measures: Sequence[RequestedMeasure],
    settings: IntervalSettings,
) -> RowsByModel:
    """Return the measures of the labels of all models, of all rows and of each slice."""
    rows_by_model: RowsByModel = {}
    for slice_name, patterns in slices.items():
        for row in multiclass_label_rows(slice_name, patterns, measures, settings):
            rows_by_model.setdefault((slice_name, row["model"]), []).append(row)
    return rows_by_model


def _add_probability_rows(
    rows_by_model: RowsByModel,
    model: str,
    scores_by_slice: Mapping[str | None, ClassScores],
    measures: Sequence[RequestedMeasure],
    settings: IntervalSettings,
) -> None:
    """Add the measures of the class probabilities of a model, of all rows and of each slice."""
    for slice_name, scores_of_slice in scores_by_slice.items():
        rows_by_model[slice_name, model] += multiclass_probability_rows(
            slice_name, model, scores_of_slice, measures, settings
        )


def _sort_measures(
    rows_by_model: RowsByModel,
    slices: Mapping[str | None, ClassPatterns],
    measures: Sequence[RequestedMeasure],
) -> list[Row]:
    """Return the rows of all slices and models in the order of measures."""
    positions = {measure.name: index for index, measure in enumerate(measures)}
    sorted_rows = list[Row]()
    for slice_name in slices:
        for model in slices[None].models:
            sorted_rows += sorted(
                rows_by_model[slice_name, model], key=lambda row: positions[row["measure"]]
            )
    return fill_optional_columns(sorted_rows)


def _paired_estimates(
    predictions: PredictionCounts,
    all_rows: ClassPatterns,
    measures: Sequence[RequestedMeasure],
    measure_rows: Sequence[Row],
    options: ReportOptions,
) -> dict[str, PairedEstimates]:
    """Return paired estimates of models by each measure, by bootstrap where there is no other."""
    estimates = dict[str, PairedEstimates]()
    for measure in measures:
        paired = None if takes_scores(measure) else class_label_estimates(all_rows, measure)
        if paired:
            estimates[measure.name] = paired
    score_measures = {measure.name: measure for measure in measures if takes_scores(measure)}
    if options.confidence is not None:
        score_measures.setdefault(LOG_LOSS, RequestedMeasure(LOG_LOSS, CATALOG[LOG_LOSS], {}))
    estimates |= probability_estimates(predictions, all_rows, [*score_measures.values()])
    if options.reference is not None:
        estimates |= class_bootstrap_estimates(
            predictions,
            measures,
            comparisons.observed_values(measure_rows),
            all_rows,
            options.reference,
            options.interval_settings,
        )
    return estimates


def _compare(
    predictions: PredictionCounts,
    all_rows: ClassPatterns,
    question: ReportQuestion,
    measured: ClassMeasures,
    settings: comparisons.ComparisonSettings,
    options: ReportOptions,
) -> comparisons.ModelComparisons:
    """Return the comparisons of models, and of the rows that they predict differently."""
    paired_estimates = [
        measured.estimates[measure.name]
        for measure in question.compared
        if measure.name in measured.estimates
    ]
    comparison = comparisons.compare_models(
        paired_estimates,
        comparisons.observed_values(measured.rows),
        float(from_units(all_rows.n.sum(), all_rows.unit)),
        settings,
    )
    if options.reference is None or not paired_estimates:
        return comparison
    measure_names = partial(_named_measures, predictions)
    row_tables = comparisons.compare_rows(
        all_rows, predictions, comparison.rows, (), options, measure_names
    )
    return replace(comparison, tables={**comparison.tables, **row_tables})


def _model_table(
    measure_rows: Sequence[Row], best_set: BestSet | None, predictions: PredictionCounts
) -> list[Row]:
    """Return the rows of the first screen."""
    has_areas = any(row["measure"] == "roc_auc" for row in measure_rows)
    probability_measures = OF_PROBABILITIES if has_areas else ()
    order_measures = OF_ORDER if predictions.ordered else ()
    lowest_recalls = lowest_recall_cells(measure_rows)
    return model_rows(
        measure_rows,
        (*probability_measures, *OF_LABELS, *order_measures),
        best_set,
        lambda slice_name, model: lowest_recalls.get((slice_name, model), UNKNOWN),
    )


def _confusion_table(slices: Mapping[str | None, ClassPatterns]) -> list[Row]:
    """Return the cells of the confusion matrices of all rows and of each slice."""
    return [
        row
        for slice_name, patterns in slices.items()
        for row in confusion_rows(
            slice_name, patterns.models, patterns.classes, patterns.tables, patterns.unit
        )
    ]


@dataclass(frozen=True, slots=True, eq=False)
class ClassComplements:
    """Measures of the rows outside slices; spans_slices: some cluster is in several slices."""

    slices: Mapping[str | None, ClassPatterns]
    scores_by_model: Mapping[str, Mapping[str | None, ClassScores]]
    measures: Sequence[RequestedMeasure]
    settings: IntervalSettings
    spans_slices: bool

    def measure(
        self, models: Collection[str], slice_names: Iterable[str], excluded: Sequence[str]
    ) -> dict[slice_tests.Key, slice_tests.Complement]:
        """Measure the rows outside each slice and outside the `excluded` slices."""
        rows = list[Row]()
        for slice_name in slice_names:
            names_inside = (slice_name, *excluded)
            rows_inside = reduce(add, [self.slices[name] for name in names_inside])
            rows_outside = subtract_part(self.slices[None], rows_inside, "truth", "votes")
            rows += multiclass_label_rows(slice_name, rows_outside, self.measures, self.settings)
            for model, scores in self.scores_by_model.items():
                if model in models:
                    scores_inside = reduce(add, [scores[name] for name in names_inside])
                    scores_outside = subtract_part(scores[None], scores_inside, "truth", "p")
                    rows += multiclass_probability_rows(
                        slice_name, model, scores_outside, self.measures, self.settings
                    )
        # the worst case of correlation where clusters are in several slices
        rho = -1.0 if self.spans_slices else 0.0
        return {
            key: replace(complement, rho=rho)
            for key, complement in slice_tests.complement_estimates(rows, {})
        }

    def retest(
        self, model: str, slice_names: Sequence[str], excluded: Sequence[str]
    ) -> dict[slice_tests.Key, slice_tests.Complement]:
        """Measure one model in the rows outside each slice and outside the `excluded` slices."""
        return self.measure([model], slice_names, excluded)


def _with_recall(measures: Sequence[RequestedMeasure]) -> list[RequestedMeasure]:
    """Return measures with sensitivity, of which the recall of each class is measured."""
    if any(measure.name == "sensitivity" for measure in measures):
        return [*measures]
    recall = RequestedMeasure("sensitivity", CATALOG["sensitivity"], {}, "default")
    return [*measures, recall]


def _test_slices(
    sample: Sample,
    slices: Mapping[str | None, ClassPatterns],
    question: ReportQuestion,
    measured: ClassMeasures,
    tested_models: SliceModels,
    settings: comparisons.ComparisonSettings,
    options: ReportOptions,
) -> slice_tests.SlicesTested:
    """Return the tests of each slice against the other rows, and of models inside slices."""
    all_rows = slices[None]
    sizes = {
        slice_name: slice_sizes.multiclass_slice_sizes(
            all_rows, patterns, subtract_part(all_rows, patterns, "truth", "votes")
        )
        for slice_name, patterns in slices.items()
        if slice_name is not None
    }
    if not sizes:
        return slice_tests.SlicesTested()
    measures = slice_tests.slice_test_measures(question.requested, several=True)
    recalls = slice_tests.class_recalls(sizes)
    complements = ClassComplements(
        slices,
        measured.scores,
        _with_recall(measures),
        slice_tests.use_default_intervals(options.interval_settings),
        spans_slices=any(size.spans for size, _ in sizes.values()),
    )
    slice_estimates = slice_tests.SliceEstimates(
        slice_tests.slice_values(measured.rows),
        [*measures, *recalls],
        sizes,
        options.confidence,
        sample.facets,
    )
    slices_tested = slice_estimates.tested(
        tested_models, complements.measure(all_rows.models, sizes, ()), complements.retest, {}
    )
    estimates_inside = comparisons.slice_label_estimates(
        slices, question.compared, question.lead, options, class_label_estimates
    )
    reference_rows = slice_estimates.reference_rows(measured.estimates, estimates_inside, settings)
    return replace(slices_tested, comparisons=[*slices_tested.comparisons, *reference_rows])


def _baseline_table(
    all_rows: ClassPatterns,
    question: ReportQuestion,
    measure_rows: Sequence[Row],
    options: ReportOptions,
) -> list[Row]:
    """Return the rows of baselines in the order of measures, if these are requested."""
    if not options.dummies:
        return []
    measures = measures_with_baselines(question.requested)
    order = [measure.name for measure in measures]
    observed = comparisons.observed_values(measure_rows)
    baselines = class_baselines(all_rows, measures, observed, options.seed)
    return sorted(baselines, key=lambda row: order.index(row["measure"]))


def _class_order_answers(predictions: PredictionCounts) -> list[Answer]:
    """Return the hint on ordered classes, if labels are numbered or graded."""
    has_labels_only = all(model.kind != "classes" for model in predictions.models)
    ordered_names = guess_class_order(predictions.order)
    if predictions.ordered or not has_labels_only or ordered_names is None:
        return []
    flags = " ".join(format_option("--classes", name, bare=True) for name in ordered_names)
    text = f"If {ordered_names[0]} to {ordered_names[-1]} are ordered, add {flags} "
    text += "to compare models by quadratic kappa."
    return [Answer("unordered-classes", text)]


def _refuse_two_class_options(predictions: PredictionCounts, options: ReportOptions) -> None:
    """Raise UsageError for options that need two classes."""
    flags = {
        "--threshold": predictions.roles.threshold,
        "--best-threshold": options.best_threshold,
        "--abstain": options.abstain,
        "--prevalence": options.prevalence,
    }
    for flag, option_value in flags.items():
        if option_value:
            message = f"{OPTION}{flag}{END} needs a positive class, but none is named"
            hint = f"add {OPTION}--positive CLASS{END} to evaluate one class against the rest"
            raise UsageError.new(message, "positive-needed", hint=hint)


def _lead_measure(patterns: ClassPatterns, predictions: PredictionCounts) -> str:
    """Return accuracy with an empty class, else Hand and Till's AUC, kappa or balanced accuracy."""
    is_scored = all(model.kind == "classes" for model in predictions.models)
    has_absent_class = not patterns.tables[0].sum(axis=1).all()
    if has_absent_class or is_scored:
        return "accuracy" if has_absent_class else "roc_auc"
    return "kappa_quadratic" if predictions.ordered else "balanced_accuracy"


def _class_notes(patterns: ClassPatterns) -> Iterator[ResultNote]:
    """Yield warnings on classes without rows or with few rows."""
    class_rows = class_sizes(patterns, len(patterns.classes))
    for code, is_noted, message in (
        ("class-absent", class_rows == 0, "truth has no row of {}: balanced accuracy is undefined"),
        (
            "small-class",
            (class_rows > 0) & (class_rows < RARE),
            f"fewer than {RARE} rows of {{}}: estimates for it are imprecise",
        ),
    ):
        names_and_flags = zip(patterns.classes, is_noted.tolist(), strict=True)
        if noted_names := [name for name, flag in names_and_flags if flag]:
            listed_text = ", ".join(f"'{printable(name)}'" for name in noted_names[:MAX_LISTED])
            unlisted_count = len(noted_names) - MAX_LISTED
            listed_text += f" and {unlisted_count:,} more" if unlisted_count > 0 else ""
            yield ResultNote(code, message.format(listed_text))
