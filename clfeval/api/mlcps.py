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
    read = _read_metric_table
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
        read = _metrics_from_predictions
        metrics = parse_measure_names(metrics) or DEFAULT
        options = options.expand_globs(metrics)
        check_scales(metrics, options)
    else:
        _refuse_prediction_options(reading_options, options)
    values = read(table, reading_options, metrics, options, on_open)
    compared = None
    if options.compare is not None:
        compared = _read_compared_table(read, values, reading_options, options, on_open)
    scales, _ = make_scales(values, options.expand_globs(values.metrics))
    if compared is not None:
        apply_scales(compared, scales)
    facts = {"models": len(values.models), "metrics": len(values.metrics)}
    yield PreparedResult(
        lambda: mlcps_result(values, options, reading_options, second=compared), facts
    )


ReadMetrics = Callable[[object, InputOptions, Sequence[str], MlcpsOptions, OnOpen], MetricValues]


def _read_compared_table(
    read: ReadMetrics,
    values: MetricValues,
    reading_options: InputOptions,
    options: MlcpsOptions,
    on_open: OnOpen,
) -> MetricValues:
    """Return the table to compare with; DataError if it lacks a metric of the first one, `values`.

    It may be of another format, and its intervals are not shown.
    """
    reading_options = replace(reading_options, input_format=None)
    options_without_interval = replace(options, interval="none")
    try:
        compared = read(
            options.compare, reading_options, values.metrics, options_without_interval, on_open
        )
        if lacking := [name for name in values.metrics if name not in compared.metrics]:
            message = f"no metric {list_names(lacking)}; metrics: {list_names(compared.metrics)}"
            raise UsageError.new(message, "unknown-metric", compared.name)
    except UsageError as error:
        if error.problems[0].code != "unknown-metric":
            raise
        hint = f"select metrics that both tables have: {OPTION}--metric NAME{END}"
        raise DataError(error.problems, hint=hint) from error
    return compared


def _refuse_prediction_options(reading_options: InputOptions, options: MlcpsOptions) -> None:
    """Raise for options that apply to predictions only, and for --transpose of a long table."""
    changed = changed_options(reading_options, with_input(MLCPS))
    flags = [option.flag for option in changed if option.field in PREDICTED]
    flags += ["--resamples"] if options.resamples is not None else []
    if flags:
        message = f"{OPTION}{flags[0]}{END} applies to predictions, but this is a metric table"
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
    check = partial(_check_sides, turned=options.transpose, are_requested=bool(metrics))
    requested = {*options.weight, *options.direction, *options.rescale}
    requested |= {scale.metric for scale in options.desirability}
    requested_measures = requested | {*map(measure_of_column, requested)}

    def is_left_out(metric: str) -> bool:
        return bool(explain_unfit(metric)) and requested_measures.isdisjoint(
            (metric, measure_of_column(metric))
        )

    metric_table = read_metrics(
        table,
        reading_options,
        requested=metrics,
        transpose=options.transpose,
        check=check,
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


def _reading_notes(table: MetricTable) -> Iterator[ResultNote]:
    """Yield the notes on what a metric table leaves out, and on its splits."""
    yield from (ResultNote("partly-read", note) for note in table.notes)
    if table.dropped:
        models = f"{table.dropped} model{'s' * (table.dropped > 1)}"
        yield ResultNote("dropped", f"{models} with missing values left out")
    for reason in dict.fromkeys(map(explain_unfit, table.unfit)):
        names = [name for name in table.unfit if explain_unfit(name) == reason]
        text = f"metrics left out of the polygon: {list_names(names)}: {reason}"
        yield ResultNote("left-out", text)
    if table.splits:
        text = (
            f"the scores use means over {len(table.splits)} splits; splits share training rows, so "
            "their spread is not a confidence interval"
        )
        yield ResultNote("splits", text)


def _metrics_from_predictions(
    table: object,
    reading_options: InputOptions,
    metrics: Sequence[str],
    options: MlcpsOptions,
    on_open: OnOpen,
) -> MetricValues:
    with open_predictions(table, reading_options) as opened:
        predictions = opened.announced(on_open)
        counts = count_predictions(predictions, any_range=needs_only_ranks(metrics))
        return measure_predictions(counts, metrics, options)


def _check_sides(name: str, sheet: Sheet, *, turned: bool, are_requested: bool) -> None:
    """Raise DataError for a table that is probably not models x metrics.

    are_requested: the metrics are requested by name, and not checked.
    """
    if sheet.layout != "wide" or are_requested:
        return
    models = [model for model in sheet.models if model is not None]
    if _are_measures(models) and not any(map(measure_of_column, sheet.metrics)):
        rows = list_names(models, 3)
        columns = list_names(sheet.metrics, 3)
        if turned:
            message = f"its columns are already metrics ({rows}), its rows are models ({columns})"
            raise not_transposed_error(name, message)
        message = f"its rows are metrics ({rows}) and its columns are models"
        fixes = {"transpose": True}
        raise DataError.new(
            message, "turned-table", name, hint=f"add {SWITCH}--transpose{END}", fixes=fixes
        )
    measures = [name for name in sheet.ignored if measure_of_column(name) is not None]
    if measures:
        others_suffice = len(sheet.metrics) >= RAYS
        hint = "write plain numbers"
        hint += f", or leave {'them' if len(measures) > 1 else 'it'} out" * others_suffice
        raise DataError(
            [
                Problem("holds text instead of numbers", "bad-number", name, None, n)
                for n in measures
            ],
            hint=hint,
            fixes={"ignore": tuple(measures)} if others_suffice else {},
        )
    if all(map(_is_number, sheet.metrics)) and not all(map(str.isdigit, sheet.metrics)):
        message = f"the column names are {list_names(sheet.metrics, 4)}: is the header missing?"
        hint = "add a header line, such as model,f1,recall,roc_auc"
        raise DataError.new(message, "no-header", name, 1, hint=hint)


def _are_measures(names: Sequence[str]) -> bool:
    """Return whether most names (of many, the first) are those of measures."""
    examined = names[:FEW]
    measures = sum(measure_of_column(name) is not None for name in examined)
    return measures == len(examined) or 2 < 2 * measures > len(examined)


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _digest(table: MetricTable) -> str:
    """Return the sha256 of the values, independent of the order of models, not of metrics."""
    order = sorted(range(len(table.models)), key=table.models.__getitem__)
    names = repr([list(table.metrics), [table.models[i] for i in order], list(table.splits)])
    digest = sha256(names.encode("utf-8", "surrogatepass"))
    digest.update(table.values[order].astype("<f8").tobytes())
    if table.by_split is not None:
        digest.update(table.by_split[:, order].astype("<f8").tobytes())
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
