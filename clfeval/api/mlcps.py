"""`clfeval.mlcps`: many metrics combined into one score, and how stable its ranking is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from math import isfinite

from clfeval.api.public_functions import public_function
from clfeval.api.questions import OnOpen, PreparedResult
from clfeval.counts.count import count_predictions
from clfeval.document import InputFile, ResultNote
from clfeval.errors import DataError, Problem, UsageError, bad_option, list_names
from clfeval.measures.catalog import measure_of_column
from clfeval.methods.command_lookup import with_input
from clfeval.methods.mlcps.answer import DEFAULT, needs_only_ranks, parse_measure_names
from clfeval.methods.mlcps.metric_values import MetricValues, measure_predictions
from clfeval.methods.mlcps.options import MLCPS, MlcpsOptions
from clfeval.methods.mlcps.result import mlcps_result
from clfeval.methods.mlcps.scale import RAYS, apply_scales, check_scales, make_scales
from clfeval.options.declaration import changed_options
from clfeval.placeholders import END, OPTION, SWITCH
from clfeval.tables.input import InputOptions, table_paths
from clfeval.tables.metric.grid import Sheet, not_transposed_error
from clfeval.tables.metric.table import MetricTable, read_metrics
from clfeval.tables.prediction_files import open_predictions

FEW = 1000  # names examined, at most
# options of predictions, which do not apply to metric tables
PREDICTED = ("truth", "join", "positive", "classes", "kind", "threshold", "weight")


@public_function
def mlcps(
    table: object, reading_options: InputOptions, options: MlcpsOptions, on_open: OnOpen
) -> Iterator[PreparedResult]:
    """Rank models by the area of the polygon of their metrics, and test whether that is stable.

    MLcps = ½ sin(2π/n) sum d_i d_(i+1). The n metrics d, in 0 to 1, are rays at equal angles, each
    multiplied by its weight. The area depends on the order of the metrics, so its mean, minimum
    and maximum over all orders are given too. MLcps lies in 0 to n/2 sin(2π/n), and `normalised`
    in 0 to 1. It is undefined for fewer than three metrics.

    A table holds metrics, one row per model. With `source="predictions"`, or with arrays, the
    measures in `metric` are computed from predictions. Mappings of metrics are `metric_weight` (to
    weights), `direction` (to "max" or "min") and `rescale` (to the two values that become 0 and 1).
    YAML files may hold `metric_weight` and `desirability`. A second table of the same models may
    be given as `compare`. Tables are never changed. Raises UsageError and DataError.
    Source: Akshay et al. 2023, GigaScience 12: giad108; Derringer and Suich 1980, Journal of
    Quality Technology 12:214.
    """
    if [*table_paths(table), *table_paths(options.compare)].count("-") > 1:
        raise UsageError.new("standard input can be read once only", "repeated-file", "-")
    read_values = _read_metric_table
    metrics = options.metric
    if options.source == "predictions":
        if options.transpose:
            raise bad_option(
                f"{OPTION}--transpose{END} applies to metric tables, not to predictions"
            )
        if options.interval == "none" and options.resamples is not None:
            raise bad_option(
                f"{OPTION}--resamples{END} needs the bootstrap, which {OPTION}--interval none{END} "
                "switches off"
            )
        read_values = _metrics_from_predictions
        metrics = parse_measure_names(metrics) or DEFAULT
        options = options.expand_globs(metrics)
        check_scales(metrics, options)
    else:
        _refuse_prediction_options(reading_options, options)
    metric_values = read_values(table, reading_options, metrics, options, on_open)
    compared_values = None
    if options.compare is not None:
        compared_values = _read_compared_table(
            read_values, metric_values, reading_options, options, on_open
        )
    scales, _ = make_scales(metric_values, options.expand_globs(metric_values.metrics))
    if compared_values is not None:
        apply_scales(compared_values, scales)
    facts = {"models": len(metric_values.models), "metrics": len(metric_values.metrics)}
    yield PreparedResult(
        lambda: mlcps_result(metric_values, options, reading_options, second=compared_values), facts
    )


ReadMetrics = Callable[[object, InputOptions, Sequence[str], MlcpsOptions, OnOpen], MetricValues]


def _read_compared_table(
    read_values: ReadMetrics,
    metric_values: MetricValues,
    reading_options: InputOptions,
    options: MlcpsOptions,
    on_open: OnOpen,
) -> MetricValues:
    """Return the table to compare with; DataError if it lacks a metric of the first one.

    It may be of another format, and its intervals are not shown.
    """
    reading_options = replace(reading_options, input_format=None)
    options_without_interval = replace(options, interval="none")
    try:
        compared_values = read_values(
            options.compare,
            reading_options,
            metric_values.metrics,
            options_without_interval,
            on_open,
        )
        if missing_metrics := [
            name for name in metric_values.metrics if name not in compared_values.metrics
        ]:
            metrics_text = list_names(compared_values.metrics)
            message = f"no metric {list_names(missing_metrics)}; metrics: {metrics_text}"
            raise UsageError.new(message, "unknown-metric", compared_values.name)
    except UsageError as error:
        if error.problems[0].code != "unknown-metric":
            raise
        hint = f"select metrics that both tables have: {OPTION}--metric NAME{END}"
        raise DataError(error.problems, hint=hint) from error
    return compared_values


def _refuse_prediction_options(reading_options: InputOptions, options: MlcpsOptions) -> None:
    """Raise for options that apply to predictions only, and for --transpose of a long table."""
    changed_reading_options = changed_options(reading_options, with_input(MLCPS))
    refused_flags = [option.flag for option in changed_reading_options if option.field in PREDICTED]
    if options.resamples is not None:
        refused_flags.append("--resamples")
    if refused_flags:
        message = (
            f"{OPTION}{refused_flags[0]}{END} applies to predictions, but this is a metric table"
        )
        raise bad_option(
            message, f"add {OPTION}--from predictions{END} if the table holds predictions"
        )
    if options.transpose and reading_options.layout == "long":
        raise bad_option(
            f"{OPTION}--transpose{END} applies to wide tables, not to {OPTION}--layout long{END}"
        )


def _read_metric_table(
    table: object,
    reading_options: InputOptions,
    metrics: Sequence[str],
    options: MlcpsOptions,
    on_open: OnOpen,
) -> MetricValues:
    """Read a metric table; DataError if it seems transposed, without header, or has text."""
    check_table = partial(
        _check_sides, is_transposed=options.transpose, are_requested=bool(metrics)
    )
    named_metrics = {*options.weight, *options.direction, *options.rescale}
    named_metrics |= {goal.metric for goal in options.desirability}
    named_metrics_and_measures = named_metrics | {*map(measure_of_column, named_metrics)}

    def is_left_out(metric: str) -> bool:
        return bool(explain_unfit(metric)) and named_metrics_and_measures.isdisjoint(
            (metric, measure_of_column(metric))
        )

    metric_table = read_metrics(
        table,
        reading_options,
        requested=metrics,
        transpose=options.transpose,
        check=check_table,
        unfit=is_left_out,
    )
    on_open(metric_table)
    return MetricValues(
        name=metric_table.name,
        models=metric_table.models,
        metrics=metric_table.metrics,
        values=metric_table.values,
        inputs=(
            InputFile(
                metric_table.display,
                metric_table.sha256,
                len(metric_table.models),
                metric_table.dropped,
            ),
        ),
        statistics=_digest(metric_table),
        problem=metric_table.problem,
        percent=metric_table.percent,
        splits=metric_table.splits,
        by_split=metric_table.by_split,
        sds=metric_table.sds,
        lenient=metric_table.layout == "result" and not metrics,
        notes=tuple(_reading_notes(metric_table)),
    )


def _reading_notes(metric_table: MetricTable) -> Iterator[ResultNote]:
    """Yield the notes on what a metric table leaves out, and on its splits."""
    yield from (ResultNote("partly-read", note) for note in metric_table.notes)
    if metric_table.dropped:
        plural = "s" if metric_table.dropped > 1 else ""
        models_phrase = f"{metric_table.dropped} model{plural}"
        yield ResultNote("dropped", f"{models_phrase} with missing values left out")
    for reason in dict.fromkeys(map(explain_unfit, metric_table.unfit)):
        metric_names = [metric for metric in metric_table.unfit if explain_unfit(metric) == reason]
        text = f"metrics left out of the polygon: {list_names(metric_names)}: {reason}"
        yield ResultNote("left-out", text)
    if metric_table.splits:
        text = (
            f"the scores use means over {len(metric_table.splits)} splits; splits share training "
            "rows, so their spread is not a confidence interval"
        )
        yield ResultNote("splits", text)


def _metrics_from_predictions(
    table: object,
    reading_options: InputOptions,
    metrics: Sequence[str],
    options: MlcpsOptions,
    on_open: OnOpen,
) -> MetricValues:
    """Return the values of measures, which are computed from a table of predictions."""
    with open_predictions(table, reading_options) as opened_table:
        predictions = opened_table.announced(on_open)
        counts = count_predictions(predictions, any_range=needs_only_ranks(metrics))
        return measure_predictions(counts, metrics, options)


def _check_sides(
    table_name: str, sheet: Sheet, *, is_transposed: bool, are_requested: bool
) -> None:
    """Raise DataError for a table that is probably not models x metrics.

    is_transposed: its rows and columns were exchanged, as the caller requests.
    are_requested: the metrics are requested by name, and not checked.
    """
    if sheet.layout != "wide" or are_requested:
        return
    row_names = [row_name for row_name in sheet.models if row_name is not None]
    if _are_measures(row_names) and not any(map(measure_of_column, sheet.metrics)):
        rows_text = list_names(row_names, 3)
        columns_text = list_names(sheet.metrics, 3)
        if is_transposed:
            message = f"its columns are already metrics ({rows_text}), "
            message += f"its rows are models ({columns_text})"
            raise not_transposed_error(table_name, message)
        message = f"its rows are metrics ({rows_text}) and its columns are models"
        fixes = {"transpose": True}
        raise DataError.new(
            message, "turned-table", table_name, hint=f"add {SWITCH}--transpose{END}", fixes=fixes
        )
    measures_of_text = [column for column in sheet.ignored if measure_of_column(column) is not None]
    if measures_of_text:
        others_suffice = len(sheet.metrics) >= RAYS
        hint = "write plain numbers"
        if others_suffice:
            hint += f", or leave {'them' if len(measures_of_text) > 1 else 'it'} out"
        raise DataError(
            [
                Problem("holds text instead of numbers", "bad-number", table_name, column=column)
                for column in measures_of_text
            ],
            hint=hint,
            fixes={"ignore": tuple(measures_of_text)} if others_suffice else {},
        )
    if all(map(_is_number, sheet.metrics)) and not all(map(str.isdigit, sheet.metrics)):
        message = f"the column names are {list_names(sheet.metrics, 4)}: is the header missing?"
        hint = "add a header line, such as model,f1,recall,roc_auc"
        raise DataError.new(message, "no-header", table_name, row=1, hint=hint)


def _are_measures(names: Sequence[str]) -> bool:
    """Return whether most names (of many, the first) are those of measures."""
    examined_names = names[:FEW]
    measure_count = sum(measure_of_column(name) is not None for name in examined_names)
    is_majority = 2 * measure_count > len(examined_names) and measure_count > 1
    return measure_count == len(examined_names) or is_majority


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _digest(metric_table: MetricTable) -> str:
    """Return the sha256 of the values, independent of the order of models, not of metrics."""
    sorted_indices = sorted(range(len(metric_table.models)), key=metric_table.models.__getitem__)
    sorted_models = [metric_table.models[i] for i in sorted_indices]
    names_text = repr([list(metric_table.metrics), sorted_models, list(metric_table.splits)])
    digest = sha256(names_text.encode("utf-8", "surrogatepass"))
    digest.update(metric_table.values[sorted_indices].astype("<f8").tobytes())
    if metric_table.by_split is not None:
        digest.update(metric_table.by_split[:, sorted_indices].astype("<f8").tobytes())
    return digest.hexdigest()


def explain_unfit(metric: str) -> str:
    """Return why a measure cannot be a ray of the polygon; empty if it can."""
    measure = measure_of_column(metric)
    if measure is not None and (measure.aim is not None or measure.best == "none"):
        return (
            "neither higher nor lower is better; set a goal with "
            f"{OPTION}--desirability FILE.yaml{END}"
        )
    if measure is None or (isfinite(measure.low) and isfinite(measure.high)):
        return ""
    return f"it has no finite range; give one with {OPTION}--rescale NAME=LOW:HIGH{END}"
