"""The functions of prediction tables in Python: report, mars, phidelta and tune_jpt."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from clfeval.api.public_functions import public_function
from clfeval.api.questions import OnOpen, PreparedResult
from clfeval.compare.baseline.read import read_result
from clfeval.compare.gates.limits import LIMITED, Gates
from clfeval.counts.count import count_predictions, refuse_multilabel
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.rows import truth_digest
from clfeval.counts.sample import Sample, read_sample
from clfeval.document import Document, ResultNote
from clfeval.errors import UsageError, bad_option, format_command_line
from clfeval.measures.catalog import equivalent_names, find_measure, requested_measure
from clfeval.options.declaration import Command, as_list, changed_options
from clfeval.placeholders import END, OPTION
from clfeval.tables.input import InputOptions, split_path, table_paths
from clfeval.tables.layouts.counts_file import COUNTS_FILE
from clfeval.tables.prediction_files import open_predictions
from clfeval.tables.source import holds_result, refuse_count_summary

if TYPE_CHECKING:
    from clfeval.methods.count.options import CountOptions
    from clfeval.methods.mars.options import MarsOptions
    from clfeval.methods.phidelta.options import ClassifierOptions, FeatureOptions, PlaneOptions
    from clfeval.methods.recalibrate.options import RecalibrateOptions
    from clfeval.methods.report.options import ReportOptions
    from clfeval.methods.tune_jpt.options import TuneOptions


def saved_result(table: object) -> Document | None:
    """Return the saved result, None for tables; UsageError for several results."""
    if isinstance(table, Document):
        return replace(table, gates=(), again=True)
    result_files = saved_files(table)
    if not result_files:
        return None
    paths = _paths_of(table)
    if len(paths) > 1:
        for result_file in result_files:
            refuse_count_summary(result_file, Path(result_file))
        hint = format_command_line(["clfeval", "report", paths[0], "--baseline", paths[1]])
        raise bad_option(
            f"report takes one saved result; use {OPTION}--baseline{END} to compare two", hint
        )
    hint = f"give a file written by {OPTION}--save NAME.json{END}"
    result = read_result(fspath(result_files[0]), hint)
    return replace(result, gates=(), again=True, python=False)


def saved_files(table: object) -> list[str]:
    """Return the files that hold a saved result."""
    paths = _paths_of(table)
    return [path for path in paths if os.path.isfile(path) and holds_result(Path(path))]


def _paths_of(table: object) -> list[str]:
    """Return the paths of a table's files, without the labels that a caller gives them."""
    labelled_paths = map(split_path, table_paths(table))
    return [path for _, path in labelled_paths]


def add_gate_measures(
    command: Command, table: object, options: Mapping[str, Any], gates: Gates
) -> dict[str, Any]:
    """Return the options of a report, with the measures of its gates added."""
    if command.name != "report" or saved_files(table):  # a saved result has fixed measures
        return dict(options)
    from clfeval.methods.measurement.requested_measures import DEFAULT

    gate_measures = []
    for limit in gates.limits:
        measure_name, _, _ = limit.metric.partition(":")
        measure = requested_measure(measure_name)
        is_default = not {*equivalent_names(limit.metric)}.isdisjoint(DEFAULT)  # by any name
        if measure is not None and measure.needs in LIMITED and not is_default:
            gate_measures.append(
                limit.metric if find_measure(measure_name) is measure else measure.id
            )
    if not gate_measures:
        return dict(options)
    requested = (*as_list(options.get("measure")), *gate_measures)
    return {**options, "measure": tuple(dict.fromkeys(requested))}


G = TypeVar("G")
SHARED = ("level", "seed", "totals", "prevalence")  # also `interval` if it is none


def _mars(sample: Sample, report_options: ReportOptions) -> Document:
    from clfeval.methods.mars.options import MarsOptions
    from clfeval.methods.mars.result import mars_result

    options = _options_like_report(MarsOptions, report_options)
    return mars_result(_need_predictions(sample, "mars"), options)


def _phidelta(sample: Sample, report_options: ReportOptions) -> Document:
    from clfeval.methods.phidelta.options import ClassifierOptions, PlaneOptions
    from clfeval.methods.phidelta.result import classifier_result

    plane_options = _options_like_report(PlaneOptions, report_options)
    classifier_options = _options_like_report(ClassifierOptions, report_options)
    return classifier_result(sample, plane_options, classifier_options)


def _tune_jpt(sample: Sample, report_options: ReportOptions) -> Document:
    from clfeval.methods.tune_jpt.options import TuneOptions
    from clfeval.methods.tune_jpt.result import sample_from_table

    options = _options_like_report(TuneOptions, report_options).settled()
    return _tuned_result(sample_from_table(sample), options)


def _tuned_result(sample: Sample, options: TuneOptions) -> Document:
    """Return the result of tune-jpt, with the models in the order of a report."""
    from clfeval.methods.report.leading_model import rank_models
    from clfeval.methods.tune_jpt.result import tune_result

    return tune_result(sample, options, rank_models(sample, options.confidence, options.seed))


def _mlcps(sample: Sample, report_options: ReportOptions) -> Document:
    """Return the result of mlcps on the sample of a report, with notes on what it leaves out."""
    from clfeval.methods.mlcps.answer import DEFAULT
    from clfeval.methods.mlcps.metric_values import measure_predictions
    from clfeval.methods.mlcps.options import MlcpsOptions
    from clfeval.methods.mlcps.result import mlcps_result

    counts = _need_predictions(sample, "mlcps")
    notes: list[ResultNote] = []
    options = _options_like_report(MlcpsOptions, report_options, source="predictions")
    if sample.roles.cluster is not None:
        options = replace(options, interval="none")
        text = "MLcps has no intervals here: its bootstrap assumes rows without clusters"
        notes.append(ResultNote("no-cluster-bootstrap", text))
    if sample.roles.by:
        notes.append(ResultNote("whole-table", "MLcps is computed on all rows, not by slice"))
    options = options.expand_globs(DEFAULT)
    metric_values = measure_predictions(counts, DEFAULT, options)
    result = mlcps_result(metric_values, options, sample.roles, second=None)
    return replace(result, warnings=(*result.warnings, *notes))


_RESULTS = {"mars": _mars, "phidelta": _phidelta, "tune-jpt": _tune_jpt, "mlcps": _mlcps}


def _need_predictions(sample: Sample, method_name: str) -> PredictionCounts:
    """Return the counts of predictions of a sample; UsageError for 2 x 2 tables without these."""
    if sample.predictions is None:
        message = f"{OPTION}--with{END} {method_name} needs rows, but the table holds counts"
        hint = f"for counts use {OPTION}--with phidelta,tune-jpt{END}"
        raise UsageError.new(message, "needs-predictions", hint=hint)
    return sample.predictions


def _options_like_report(
    option_group: type[G], report_options: ReportOptions, **values: object
) -> G:
    """Return a group of options with these values, and those that it shares with the report."""
    field_names: Sequence[str] = [field.name for field in fields(option_group)]  # type: ignore[arg-type]
    shared_values = {
        field_name: getattr(report_options, field_name)
        for field_name in SHARED
        if field_name in field_names
    }
    if report_options.interval == "none" and "interval" in field_names:
        shared_values["interval"] = "none"
    return option_group(**shared_values, **values)


def _prepared_result(sample: Sample, compute: Callable[[], Document]) -> PreparedResult:
    """Return the result that `compute` returns, with the facts and the truth of a sample."""
    return PreparedResult(compute, sample.facts, partial(truth_digest, sample))


@public_function
def report(
    table: object, reading_options: InputOptions, options: ReportOptions, on_open: OnOpen
) -> Iterator[PreparedResult]:
    """Evaluate predictions: discrimination, calibration, net benefit, errors.

    Table `measures` has a confidence interval and its method for every measure: exact for
    proportions, DeLong's for ROC AUC, influence functions for means, a bootstrap elsewhere. Table
    `models` has one row per model, `decision` the net benefit at each threshold probability. Three
    tables describe the scores: `curves`, `thresholds` and `distribution`. Keyword `best_threshold`
    chooses a threshold, `reference` compares with a model, `by` evaluates slices. A saved result in
    place of a table is shown again. Tables are never changed. Raises UsageError and DataError.
    Source: Van Calster et al. 2025, arXiv 2412.10288.
    """
    saved_document = saved_result(table)
    if saved_document is not None:
        for option in (*changed_options(options), *changed_options(reading_options)):
            if option.name != "dry_run":
                message = f"{OPTION}{option.flag}{END} does not apply to a saved result"
                raise bad_option(message, "remove it, or give the table")
        yield PreparedResult(lambda: saved_document, {})
        return
    is_report_alone = not options.methods  # other methods need two classes and a threshold
    input_options = replace(
        reading_options,
        several=is_report_alone,
        ranks=is_report_alone,
        runs=is_report_alone,
        reference=options.reference,
    )
    input_options = input_options.with_runs(options.run, files=options.run_files)
    if options.runs and options.methods:
        raise bad_option(f"{OPTION}--with{END} cannot be used with runs, which may repeat rows")
    with open_predictions(table, input_options, keep_counts=True) as opened_table:
        predictions = opened_table.announced(on_open)
        sample = read_sample(predictions)
        counts = sample.predictions
        if counts is not None:
            refuse_multilabel(counts)
            if counts.multiclass:
                from clfeval.methods.measurement.requested_measures import parse_multiclass_measures

                parse_multiclass_measures(
                    options.measure, counts.order, ordered=counts.ordered, file=counts.name
                )

        def compute() -> Document:
            from clfeval.methods.report.result import report_result

            evaluated_sample = sample
            if options.best_threshold:
                from clfeval.methods.report.thresholds_in_force import apply_chosen_thresholds

                evaluated_sample = apply_chosen_thresholds(sample, options)
            result = report_result(evaluated_sample, options)
            methods = {
                method: _RESULTS[method](evaluated_sample, options) for method in options.methods
            }
            return replace(result, methods=methods)

        yield _prepared_result(sample, compute)


@public_function
def mars(
    table: object, reading_options: InputOptions, options: MarsOptions, on_open: OnOpen
) -> Iterator[PreparedResult]:
    """Compute ShineThrough and Occlusion of every model and pair, and of subsets on request.

    TTP is the number of target rows (the positives) that at least one model detects.
    ShineThrough(S) = ETP(S) / TTP: the share of these that S alone detects. Occlusion(S) =
    EFN(S) / TTP: the share that S misses and every model outside S detects (`occlusion="any"`:
    some model outside S). Both lie in 0 to 1, or are undefined with a reason.

    `threshold` is a number, or a mapping of models to numbers; the key None means all other models.
    `on_open` is called with the recognised columns before rows are counted. Tables are never
    changed. Raises UsageError and DataError.
    Source: Restrepo et al. 2022, F1000Research 11:391 v2.
    """
    from clfeval.methods.mars.result import mars_result

    with open_predictions(
        table, replace(reading_options, reference=options.reference)
    ) as opened_table:
        predictions = opened_table.announced(on_open)
        counts = count_predictions(predictions, top=options.top, labels=True)
        sample = Sample.from_predictions(counts)
        yield _prepared_result(sample, lambda: mars_result(counts, options))


@public_function
def phidelta(
    table: object,
    reading_options: InputOptions,
    plane_options: PlaneOptions,
    classifier_options: ClassifierOptions,
    feature_options: FeatureOptions,
    on_open: OnOpen,
) -> Iterator[PreparedResult]:
    """Measure discrimination (delta) and bias towards a class (phi) of classifiers or features.

    delta = tp - fp = sensitivity + specificity - 1, phi = tp + fp - 1 = sensitivity - specificity;
    |phi| + |delta| <= 1. delta is 1 for perfect predictions, 0 for chance and -1 if all are wrong.
    phi is 1 if every row is predicted positive, -1 if none is. Both do not depend on prevalence.
    The pair at a given prevalence is phi_b = 2 (n fp - p fn), delta_b = 2 accuracy - 1. All are
    undefined, with a reason, without rows of both classes.

    With `features` the columns of the table are features, or its rows are entries of a sparse
    table; `truth_table` is a path or frame. Keyword `isometrics` maps a measure to values. Tables
    are never changed. Raises UsageError and DataError.
    Source: Armano 2015, Information Sciences 325:466.
    """
    if feature_options.features:
        _refuse_options_of_classifiers(reading_options, plane_options, classifier_options)
        if "-" in table_paths(table) and "-" in table_paths(feature_options.truth_table):
            raise bad_option(
                f"the table and {OPTION}--truth-table{END} cannot both be standard input"
            )
        from clfeval.counts.features.count import count_features
        from clfeval.methods.phidelta.features import feature_result
        from clfeval.tables.feature import open_features

        with open_features(
            table,
            reading_options,
            features=feature_options.feature,
            truth_table=feature_options.truth_table,
        ) as opened_features:
            on_open(opened_features)
            counted_features = count_features(opened_features, feature_options.cut)
            yield PreparedResult(
                lambda: feature_result(counted_features, plane_options, feature_options),
                counted_features.facts,
            )
        return
    from clfeval.methods.phidelta.result import classifier_result

    classifier_options.check_together()
    input_options = replace(reading_options, runs=True, reference=classifier_options.reference)
    input_options = input_options.with_runs(
        classifier_options.run, files=classifier_options.run_files
    )
    with open_predictions(table, input_options, keep_counts=True) as opened_table:
        predictions = opened_table.announced(on_open)
        sample = read_sample(predictions)
        yield _prepared_result(
            sample, lambda: classifier_result(sample, plane_options, classifier_options)
        )


def _refuse_options_of_classifiers(
    reading_options: InputOptions,
    plane_options: PlaneOptions,
    classifier_options: ClassifierOptions,
) -> None:
    """Raise UsageError for options that apply to classifiers, where features are given."""
    if reading_options.engine not in (None, "polars"):
        raise bad_option(
            f"{OPTION}--engine{END} does not apply to {OPTION}--features{END}", "leave it out"
        )
    classifier_fields = ("model", "kind", "threshold", "by", "cluster", "join")
    changed_reading_options = [
        option for option in changed_options(reading_options) if option.field in classifier_fields
    ]
    if refused_options := [*changed_options(classifier_options), *changed_reading_options]:
        flag = refused_options[0].flag
        hint = f"remove {OPTION}{flag}{END}"
        if flag == "--threshold":
            hint += f"; use {OPTION}--cut{END} for features"
        raise bad_option(
            f"{OPTION}{flag}{END} applies to classifiers, not to {OPTION}--features{END}", hint
        )
    if plane_options.interval not in ("exact", "none"):
        raise bad_option(
            f"{OPTION}--interval{END} {plane_options.interval} does not apply to "
            f"{OPTION}--features{END}"
        )
    if reading_options.layout not in (None, "wide", "long"):
        raise bad_option(
            f"{OPTION}--layout{END} {reading_options.layout} does not apply to "
            f"{OPTION}--features{END}"
        )


@public_function
def recalibrate(
    table: object, reading_options: InputOptions, options: RecalibrateOptions, on_open: OnOpen
) -> Iterator[PreparedResult]:
    """Recalibrate probabilities, and test whether that helps on new rows.

    logit q = a + b ln p - c ln(1 - p): shift (b = c = 1), temperature (a = 0, b = c), logistic
    (b = c), beta; isotonic and venn-abers fit steps. Of more than two classes, without `positive`:
    temperature, each probability to one power, divided by their sum; one-vs-rest, a logistic
    recalibration of each class, divided by their sum. A gain is the fall of the log loss or the
    Brier score on new rows, cross-fitted over ten random folds of rows or clusters.

    It is undefined, with a reason, for labels, for scores outside 0 to 1, without rows of both
    classes and where scores separate them. With `calibrator`, a saved file, the result has the
    columns that its calibrators add to a table. Such a table needs no truth, and `save` writes it
    as .parquet, .csv or .ndjson. Tables are never changed. Raises UsageError and DataError.
    Sources: Cox 1958, Biometrika 45:562; Vergouwe et al. 2017, Statistics in Medicine 36:4529;
    Nadeau and Bengio 2003, Machine Learning 52:239.
    """
    from clfeval.methods.recalibrate.result import recalibration_result

    if options.calibrator is not None:
        yield from _recalibrated_columns(table, reading_options, options, on_open)
        return
    with open_predictions(
        table, replace(reading_options, ranks=True, several=True)
    ) as opened_table:
        counts = count_predictions(opened_table.announced(on_open))
        sample = Sample.from_predictions(counts)
        yield _prepared_result(sample, lambda: recalibration_result(counts, options))


def _recalibrated_columns(
    table: object, reading_options: InputOptions, options: RecalibrateOptions, on_open: OnOpen
) -> Iterator[PreparedResult]:
    """Yield the result of adding the columns of stored calibrators to a table."""
    from clfeval.methods.recalibrate.stored_result import check_options, stored_result
    from clfeval.tables.recalibrated_table import open_recalibrated

    check_options(reading_options, options)
    with open_recalibrated(table, reading_options, str(options.calibrator)) as opened_table:
        on_open(opened_table)
        yield PreparedResult(lambda: stored_result(opened_table, reading_options, options), {})


@public_function
def count(
    table: object, reading_options: InputOptions, options: CountOptions, on_open: OnOpen
) -> Iterator[PreparedResult]:
    """Count predictions of two classes; `save("NAME.counts.parquet")` writes the counts.

    The file says how many rows have each combination of slice, truth and predicted labels, and each
    score of a model; it has no ids. Other functions take it in place of a table, also several
    files, whose counts are added. Scores of models are compared then if all files were counted with
    `joint=` the file of their sum. Table `models` says how many counts each model has. Tables
    are never changed. Raises UsageError and DataError.
    """
    from clfeval.methods.count.result import count_result

    with open_predictions(table, replace(reading_options, ranks=True)) as opened_table:
        predictions = opened_table.announced(on_open)
        sample = read_sample(predictions)
        counts = _need_predictions(sample, "count")
        merged_counts = None
        if options.counts_of_all is not None:
            with open_predictions(options.counts_of_all, InputOptions(ranks=True)) as opened_counts:
                if opened_counts.layout is not COUNTS_FILE:
                    message = f"{OPTION}--joint{END} needs added counts, a file of clfeval count"
                    raise UsageError.new(message, "needs-predictions", opened_counts.files[0].name)
                merged_counts = _need_predictions(read_sample(opened_counts), "count")
        yield _prepared_result(sample, lambda: count_result(counts, options, merged_counts))


@public_function
def tune_jpt(
    table: object, reading_options: InputOptions, options: TuneOptions, on_open: OnOpen
) -> Iterator[PreparedResult]:
    """Compute measures of 2 x 2 tables at other prevalences of the positive class.

    A table is normalised by dividing its positives by P and its negatives by N. Odds r give
    TP = r TP/P, FN = r FN/P, FP = FP/N, TN = TN/N, up to a factor; prevalence is r / (1 + r).
    Every measure is given in the sample, at odds 1:1 and at each target, or undefined with a
    reason. Intervals assume independent samples of positives and negatives.

    A table holds predictions or counts. Without a table, give `counts`: (TP, FP, FN, TN), or a
    mapping of models to these. Or give the two rates `sensitivity` and `specificity`. Each
    `prevalence` is a number, odds ("1:100") or a range ("0.001..0.02"). Two numbers in
    `prevalence_beta` are those of a Beta distribution. Raises UsageError and DataError.
    Source: Eiland and Liebrock 2013, Advances in Artificial Intelligence 2013:427958.
    """
    from clfeval.methods.tune_jpt.result import (
        sample_from_counts,
        sample_from_rates,
        sample_from_table,
    )

    options = options.settled()
    has_rates = options.sensitivity is not None or options.specificity is not None
    is_given_by_source = {
        "a table": table is not None,
        f"{OPTION}--counts{END}": options.counts,
        f"{OPTION}--sensitivity{END} and {OPTION}--specificity{END}": has_rates,
    }
    given_sources = [source for source, is_given in is_given_by_source.items() if is_given]
    if not given_sources:
        hint = (
            f"give a table, or {OPTION}--counts TP,FP,FN,TN{END}, or {OPTION}--sensitivity{END} "
            f"and {OPTION}--specificity{END}"
        )
        raise UsageError.new("there is no table and there are no counts", "no-input", hint=hint)
    if len(given_sources) > 1:
        hint = "give one"
        # counts with blanks between them are read as tables
        if options.counts and all(path.isdecimal() for path in table_paths(table)):
            first_counts = next(iter(options.counts.values()))
            counts_text = ",".join([*(f"{n:g}" for n in first_counts), *table_paths(table)])
            hint = f"separate counts by commas: {OPTION}--counts {counts_text}{END}"
        raise bad_option(f"{' and '.join(given_sources)} exclude each other", hint)
    if table is None:
        for option in changed_options(reading_options):
            if option.field not in ("positive", "dry_run"):
                raise bad_option(f"{OPTION}{option.flag}{END} needs a table")
        if has_rates:
            sample = sample_from_rates(options.sensitivity, options.specificity, reading_options)
        else:
            sample = sample_from_counts(options.counts, reading_options)
        yield PreparedResult(lambda: _tuned_result(sample, options), sample.facts)
        return
    with open_predictions(table, reading_options, keep_counts=True) as opened_table:
        predictions = opened_table.announced(on_open)
        sample = sample_from_table(read_sample(predictions))
        yield _prepared_result(sample, lambda: _tuned_result(sample, options))
