"""Scales of metrics to 0..1, and hints for metrics that no scale fits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import floor, inf, isfinite, log10
from typing import Any

import numpy as np

from clfeval.arrays import Floats
from clfeval.document import ResultNote
from clfeval.errors import (
    DataError,
    OfferedReading,
    Problem,
    UsageError,
    list_names,
    quote_word,
    suggestion,
)
from clfeval.formatting import format_count
from clfeval.measures.catalog import (
    higher_is_better_by_name,
    is_negated_loss,
    lower_is_better_by_name,
    measure_of_column,
    normalize_name,
)
from clfeval.measures.record import Measure
from clfeval.methods.mlcps.metric_values import MetricValues
from clfeval.methods.mlcps.options import Direction, MlcpsOptions
from clfeval.options.syntax import format_range
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace
from clfeval.tables.formats.metrics import is_minimised

NARROW = 0.05  # of the scale
Fault = tuple[str, str]  # of a metric that has no scale: a message, and its code


def make_scales(table: MetricValues, options: MlcpsOptions) -> tuple[list[Scale], list[ResultNote]]:
    """Return the scales of the polygon's metrics, in the order of the table, and notes.

    A metric of weight 0 is left out; so is, with a note, one that has no scale but a desirability.
    Errors: UsageError for options that name no metric; DataError naming every metric that is
    negative, above 1, outside its scale, or of unknown direction, and for fewer than three.
    """
    goal_metrics = [wish.metric for wish in options.desirability]
    metrics_by_flag: Sequence[tuple[str, Iterable[str]]] = (
        ("--metric-weight", options.weight),
        ("--direction", options.direction),
        ("--rescale", options.rescale),
        ("--desirability", goal_metrics),
    )
    for flag, metrics in metrics_by_flag:
        for metric in metrics:
            if metric not in table.metrics:
                hint = suggestion(metric, table.metrics) or f"metrics: {list_names(table.metrics)}"
                message = f"{OPTION}{flag}{END}: '{metric}' is not a metric"
                raise UsageError.new(message, "unknown-metric", hint=hint)
    scales: list[Scale] = []
    failures: list[ScaleFailure] = []
    for column_index, metric in enumerate(table.metrics):
        weight = options.weight.get(metric, 1.0)
        if weight == 0 and options.zero_weight == "drop":
            continue
        has_scale_option = metric in options.direction or metric in options.rescale
        if metric in goal_metrics and not (has_scale_option or measure_of_column(metric)):
            continue  # it enters D only, so it needs no scale, whatever its values are
        scale, problem = _make_scale(table, column_index, weight, options)
        if problem is None:
            scales.append(scale)
        # in a result of clfeval, unsuitable metrics are excluded, without an error
        elif metric not in goal_metrics and not (
            table.lenient and problem.code in ("above-one", "not-a-metric")
        ):
            failures.append((metric, problem, scale.span))
    if failures:
        raise unscaled_metrics_error(failures, table, len(scales))
    if not any(scale.weight for scale in scales) and not goal_metrics:
        hint = "give at least one metric a weight above 0"
        raise UsageError.new("every metric has weight 0", "zero-weight", hint=hint)
    if len(scales) < RAYS and not goal_metrics:
        raise _too_few_metrics_error(table, scales)
    return scales, list(_scale_notes(table, options, scales))


def _too_few_metrics_error(table: MetricValues, scales: Sequence[Scale]) -> DataError:
    """Build the error of fewer metrics than a polygon needs."""
    names = list_names([scale.metric for scale in scales])
    count_phrase = f"{format_count(len(scales), 'metric')} ({names})" if scales else "no metric"
    message = f"{count_phrase}, but a polygon needs at least {RAYS} metrics"
    hint = f"add metrics, or rank by any number of them with {OPTION}--desirability FILE.yaml{END}"
    return DataError.new(message, "too-few-metrics", table.name, hint=hint)


def check_scales(metrics: Sequence[str], options: MlcpsOptions) -> None:
    """Raise, before predictions are read, the errors that do not depend on values."""
    make_scales(
        MetricValues(
            name="--metric",
            models=(),
            metrics=tuple(metrics),
            values=np.empty((0, len(metrics))),
            inputs=(),
            statistics="",
            problem=lambda _, column_index, message, code: Problem(
                message, code, None, None, metrics[column_index]
            ),
        ),
        options,
    )


def apply_scales(table: MetricValues, scales: Sequence[Scale]) -> list[Scale]:
    """Return scales made for another table, with the column numbers of this table.

    Errors: DataError naming every metric whose values have no ray on its scale.
    """
    table_scales = [
        replace(scale, column_index=table.metrics.index(scale.metric)) for scale in scales
    ]
    failures = [
        (scale.metric, problem, scale.span)
        for scale in table_scales
        if scale.weight and (problem := out_of_scale_problem(table, scale)) is not None
    ]
    if failures:
        raise unscaled_metrics_error(failures, table, len(scales))
    return table_scales


def _make_scale(
    table: MetricValues, column_index: int, weight: float, options: MlcpsOptions
) -> tuple[Scale, Problem | None]:
    """Return the scale of a metric, and its problem or None; weight 0 allows any values."""
    metric = table.metrics[column_index]
    direction = options.direction.get(metric)
    span = options.rescale.get(metric)
    scale = Scale(metric, column_index, direction or "max", span, weight)
    fault = None
    if direction is None:
        measure = measure_of_column(metric)
        if measure is None:
            # a column that no option names may be a count
            is_named = bool(options.metric or metric in options.weight or not table.models)
            scale, fault = _scale_of_unknown_metric(table, scale, is_named=is_named)
        else:
            scale, fault = _scale_of_measure(table, scale, measure)
    if fault is not None:
        return scale, table.problem(0, column_index, *fault)  # the same in all models
    # a metric of weight 0 has a ray of length 0 for any values
    return scale, out_of_scale_problem(table, scale) if weight else None


def _scale_of_measure(
    table: MetricValues, scale: Scale, measure: Measure
) -> tuple[Scale, Fault | None]:
    """Return the scale of a known measure without declared direction, and its fault or None."""
    if measure.aim is not None:
        message = f"is best at {measure.aim}; neither higher nor lower is better"
        return scale, (message, "no-direction")
    if measure.best == "none":
        message = "does not rate a model; neither higher nor lower is better"
        return scale, (message, "no-direction")
    span = measure.low, measure.high
    if measure.best == "min":
        scale = replace(scale, best="min")
        if scale.span is None and not all(map(isfinite, span)):
            return scale, _UNBOUNDED
        if scale.span is None and span != (0, 1):
            scale = replace(scale, span=span)
    elif table.lenient and scale.span is None:
        lowest = table.values[:, scale.column_index].min()
        if measure.low < 0 and lowest < 0:
            scale = replace(scale, span=span)
    return scale, None


def _scale_of_unknown_metric(
    table: MetricValues, scale: Scale, *, is_named: bool
) -> tuple[Scale, Fault | None]:
    """Return the scale of an unknown metric without declared direction, and its fault or None."""
    if is_minimised(scale.metric, table.metrics):
        return replace(scale, best="min"), _UNBOUNDED if scale.span is None else None
    values = table.values[:, scale.column_index]
    if scale.span is None and not is_named and looks_like_count(scale.metric, values):
        message = "looks like a count, a row number or a setting, not a metric"
        return scale, (message, "not-a-metric")
    has_no_option = not (scale.span or is_named or table.lenient)
    if _has_unknown_direction(table, scale.column_index, has_no_option=has_no_option):
        return scale, (_ASKED, "unknown-direction")
    return scale, None


def _has_known_side(metric: str) -> bool:
    """Return whether the name of a metric says whether higher or lower is better."""
    name_tests = (higher_is_better_by_name, lower_is_better_by_name, is_negated_loss)
    return any(names_direction(metric) for names_direction in name_tests)


def _has_unknown_direction(table: MetricValues, column_index: int, *, has_no_option: bool) -> bool:
    """Return whether the user has to say if higher or lower is better.

    True of costs by their names, and of unknown metrics next to known measures; false of a scorer
    of scikit-learn, whose greatest value is the best. has_no_option: no option names the metric.
    """
    metric = table.metrics[column_index]
    if lower_is_better_by_name(metric):
        return not is_negated_loss(metric)
    heading = table.problem(0, column_index, _ASKED, "unknown-direction").column or ""
    if not has_no_option or heading.startswith("mean_test_") or _has_known_side(metric):
        return False
    return any(measure_of_column(name) or _has_known_side(name) for name in table.metrics)


def _scale_notes(
    table: MetricValues, options: MlcpsOptions, scales: Sequence[Scale]
) -> Iterator[ResultNote]:
    """Yield notes on metrics that are left out, reversed, assumed to rise, or badly scaled."""
    drops_zeros = options.zero_weight == "drop"
    scaled_metrics = {scale.metric for scale in scales}
    zero_metrics = [m for m in table.metrics if options.weight.get(m) == 0 and drops_zeros]
    undirected = (m for m in table.metrics if m in scaled_metrics and m not in options.direction)
    for code, metrics, template in (
        ("zero-weight", zero_metrics, _zero_weight_text(zero_metrics, options)),
        (
            "left-out",
            [m for m in table.metrics if m not in scaled_metrics and m not in zero_metrics],
            f"not in MLcps, as a range ({OPTION}--rescale{END}) is missing: {{}}",
        ),
        (
            "flipped",
            [scale.metric for scale in scales if scale.best == "min"],
            "lower is better, so 1 - value is used: {}",
        ),
        (
            "assumed-direction",
            [m for m in undirected if not (measure_of_column(m) or is_negated_loss(m))],
            "not a known measure, higher is assumed to be better: {}",
        ),
    ):
        if metrics:
            yield ResultNote(code, template.format(list_names(metrics)))
    if options.weight and options.desirability:
        text = (
            f"{OPTION}--metric-weight{END} affects only MLcps; set the weights of D in the file of"
        )
        yield ResultNote("weights", f"{text} {OPTION}--desirability{END}")
    for scale in scales:
        if scale.metric in options.rescale and table.models:
            yield from _narrow_notes(scale, table.values[:, scale.column_index])
        yield from _other_scale_notes(scale)


def _zero_weight_text(zero_metrics: Sequence[str], options: MlcpsOptions) -> str:
    """Return the template of the note on metrics of weight 0, with {} for their names."""
    goal_metrics = {wish.metric for wish in options.desirability}
    names_in_d = [name for name in zero_metrics if name in goal_metrics]
    is_single = len(zero_metrics) == 1
    has, are = ("has", "is") if is_single else ("have", "are")
    text = f"{{}} {has} weight 0 and {are} excluded from MLcps"
    if names_in_d:
        pronoun = "it" if is_single else "they"
        subject = pronoun if len(names_in_d) == len(zero_metrics) else list_names(names_in_d)
        enter = "enters" if len(names_in_d) == 1 else "enter"
        text += f", but {subject} {enter} D"
    return text


def _narrow_notes(scale: Scale, values: Floats) -> Iterator[ResultNote]:
    """Yield a note where all values of a metric are close to one bound of its range."""
    if not scale.span:
        return
    rays = scale.transform(values)
    if rays.max() < NARROW or rays.min() > 1 - NARROW:
        text = f"'{scale.metric}': all values are close to one bound of "
        text += "{:g}:{:g}, so it hardly affects the ranking".format(*scale.span)
        yield ResultNote("narrow", text)


def _other_scale_notes(scale: Scale) -> Iterator[ResultNote]:
    """Yield a note on a measure that may be negative and is not rescaled."""
    measure = measure_of_column(scale.metric)
    if measure is not None and scale.span is None and scale.best == "max" and measure.low < 0:
        low = f"{measure.low:g}" if isfinite(measure.low) else "minus infinity"
        text = f"'{scale.metric}' can be as low as {low} and is not rescaled"
        if low == "-1":
            text += f"; {OPTION}--rescale {scale.metric}=-1:1{END} maps chance to 0.5"
        yield ResultNote("other-scale", text)


ROUNDING = 1e-9  # a sum of shares may pass 1 by less


@dataclass(frozen=True, slots=True)
class Scale:
    """How one metric becomes a ray of length 0..1, higher is better; column_index is its column.

    span: the range mapped to 0..1; None where it is 0..1 already.
    """

    metric: str
    column_index: int
    best: Direction
    span: tuple[float, float] | None
    weight: float

    def transform(self, values: Floats) -> Floats:
        """Return (x - low) / (high - low), or 1 minus it; NaN where that is outside 0..1."""
        low, high = self.span or (0.0, 1.0)
        rays = values if self.span is None else (values - low) / (high - low)
        if not self.weight:  # a ray of length 0 has no effect on its scale
            rays = np.nan_to_num(rays)
        with np.errstate(invalid="ignore"):
            is_outside = (rays < -ROUNDING) | (rays > 1 + ROUNDING)
        rays = np.clip(np.where(is_outside & bool(self.weight), np.nan, rays), 0.0, 1.0)
        return rays if self.best == "max" else 1.0 - rays


def compute_rays(scales: Sequence[Scale], values: Floats) -> Floats:
    """Return d (..., k, n) of raw values (..., k, all metrics)."""
    if not scales:
        return np.empty((*values.shape[:-1], 0))
    return np.stack([scale.transform(values[..., scale.column_index]) for scale in scales], axis=-1)


def out_of_scale_problem(table: MetricValues, scale: Scale) -> Problem | None:
    """Return the problem of the first value outside the scale, with their number; None without."""
    values = table.values[:, scale.column_index]
    low, high = scale.span or (0.0, 1.0)
    tolerance = ROUNDING * (high - low)
    is_below = values < low - tolerance
    is_above = values > high + tolerance
    is_outside = is_above
    message = "is above 1, but the other metrics are 0 to 1"
    code = "above-one"
    if scale.span is not None:
        is_outside = is_below | is_above
        code = "outside-scale"
        message = f"is outside its range {low:g}:{high:g}"
    elif is_below.any():
        is_outside = is_below
        code = "negative-metric"
        message = "is negative, so it cannot be the length of a ray"
    elif all((column > 1).any() for column in table.values.T):
        message = "is above 1; is it a percentage?"
    indices = np.flatnonzero(is_outside)
    if not len(indices):
        return None
    index = int(indices[0])
    more_phrase = f" ({len(indices) - 1:,} more such values)" if len(indices) > 1 else ""
    is_percent = scale.metric in table.percent
    value_text = f"{100 * values[index]:.10g}%" if is_percent else f"{values[index]:.10g}"
    return table.problem(index, scale.column_index, f"{value_text} {message}{more_phrase}", code)


RAYS = 3  # of a polygon, at least
_ASKED = "is not a known measure; is higher or lower better?"
_UNBOUNDED = ("lower is better, and it has no upper bound for rescaling", "unbounded-metric")
_LEFT_OUT = ("no-direction", "not-a-metric")
NEARLY = 1.5  # a share above 1 and up to here is no percentage
# whole numbers that are a count of rows, a run number, or a setting
_COUNT_NAMES = (
    r"(?:n|nr|no|num|number|idx|index|id|row|rows|seed|random_state|fold|folds|repeat|run|trial|"
    r"epochs?|steps?|iterations?|rank|support|samples|instances|observations|counts?|year|"
    r"version|batch_size|tp|fp|fn|tn|n_\w+|num_\w+|\w+_(?:count|id|seed|index|rank))"
)

_HINTS = {
    "negative-metric": f"add {OPTION}--rescale {{metric}}={{ends}}{END} to rescale it to 0 to 1",
    "above-one": f"{{percent}}add {OPTION}--rescale {{metric}}=0:X{END}; X is its largest possible "
    "value",
    "outside-scale": f"give {OPTION}--rescale{END} the possible range of the metric, not the "
    "observed one",
    "unknown-direction": f"add {OPTION}--direction {{metric}}=min{END} if lower is better, else "
    f"{OPTION}--direction {{metric}}=max{END}",
    "no-direction": f"choose the other metrics with {OPTION}--metric{END}, or set a goal for it "
    f"with {OPTION}--desirability FILE.yaml{END}",
    "unbounded-metric": f"add {OPTION}--rescale {{metric}}=0:X{END}; X is the value of a useless "
    "model",
    "not-a-metric": f"leave it out; if it is a metric, add {OPTION}--direction {{metric}}=max{END} "
    "or {metric}=min",
}


def looks_like_count(metric: str, values: Floats) -> bool:
    """Tell whether a column looks like a count, a number of the row or a setting, by name."""
    name = normalize_name(metric)
    is_cost = lower_is_better_by_name(name) and "rank" not in name
    return not is_cost and bool(re.fullmatch(_COUNT_NAMES, name)) and bool((values % 1 == 0).all())


def round_up(value: float) -> float:
    """Return the least of 1, 2, 5, 10, 20, 50 ... and their tenths at or above a positive value."""
    if not 0 < value < inf:
        return 1.0
    exponent = floor(log10(value))
    for power in (exponent, exponent + 1):
        for digit in (1, 2, 5):
            round_value = float(f"{digit}e{power}")
            if round_value >= value:
                return round_value
    return value


def round_range(values: Floats) -> tuple[float, float]:
    """Return round ends of a range with the values, one of them 0 where all have one sign."""
    low = float(values.min())
    high = float(values.max())
    if low < 0 < high:
        bound = max(round_up(-low), round_up(high))
        return -bound, bound
    return (-round_up(-low), 0.0) if low < 0 else (0.0, round_up(high))


def scale_hint(code: str, metric: str, values: Floats, fixes: Mapping[str, Any]) -> str:
    """Return the hint for a metric, with its possible range; fixes: the guessed options."""
    measure = measure_of_column(metric)
    low = measure.low if measure is not None and isfinite(measure.low) else -1.0
    range_text = format_range((low, 1.0))
    hint = _HINTS[code]
    quoted_metric = quote_word(metric)
    if code == "negative-metric" and measure is not None and measure.low == 0:
        noun = "a share" if measure.high == 1 else "this measure"
        hint = f"{noun} cannot be negative; correct the value"
    elif code == "negative-metric" and measure is None and values.max() > 1:
        hint = f"add {OPTION}--rescale {{metric}}=LOW:HIGH{END} with its possible range"
    elif code == "negative-metric" and (span := _guess_range(code, metric, values)):
        range_text = format_range(span)
    elif code == "above-one" and measure is not None and measure.high == 1:
        hint = f"add {OPTION}--rescale {{metric}}=0:100{END} to read percentages"
        if values.max() <= NEARLY:
            hint = "a share cannot exceed 1; correct the value"
        elif (span := _guess_range(code, metric, values)) and span[0]:
            hint = f"add {OPTION}--rescale {{metric}}={format_range(span)}{END} to read percentages"
    percent_clause = (
        f"percentages: {OPTION}--rescale {quoted_metric}=0:100{END}; else "
        if measure is None and NEARLY < values.max() <= 100
        else ""
    )
    filled_hint = hint.format(metric=quoted_metric, ends=range_text, percent=percent_clause)
    guess_text = format_range(fixes["rescale"][metric]) if "rescale" in fixes else ""
    return filled_hint if guess_text in filled_hint else f"{filled_hint}; guessed: {guess_text}"


def guess_scale_options(
    code: str, metric: str, values: Floats, span: tuple[float, float] | None, kept_count: int
) -> dict[str, Any]:
    """Return the guessed options that give a metric a scale, by name.

    span: the range it is scaled from, or None. kept_count: number of metrics kept in any case.
    """
    if code in _LEFT_OUT:
        return {"ignore": (metric,)} if kept_count >= RAYS else {}
    if code == "outside-scale" and span is not None:
        low, high = round_range(values)
        return {"rescale": {metric: (min(span[0], low), max(span[1], high))}}
    guess = None if span is not None else _guess_range(code, metric, values)
    fixes: dict[str, Any] = {"rescale": {metric: guess}} if guess else {}
    if code == "unknown-direction" and not _has_known_side(metric):
        return {}
    return {"direction": {metric: "min"}, **fixes} if code == "unknown-direction" else fixes


def _guess_range(code: str, metric: str, values: Floats) -> tuple[float, float] | None:
    """Return the range to map to 0..1; None where a value is wrong, or no range is needed."""
    measure = measure_of_column(metric)
    lowest = float(values.min())
    highest = float(values.max())
    if code == "unknown-direction" and lowest >= 0 and highest <= 1:
        return None
    if measure is None or code == "unbounded-metric":
        if code == "negative-metric" and (is_negated_loss(metric) or highest <= 0):
            return (-1.0, 0.0) if lowest >= -1 else (-round_up(-lowest), 0.0)
        if code == "negative-metric" and lowest >= -1 and highest <= 1:
            return -1.0, 1.0
        if code == "above-one" and NEARLY < highest <= 100:
            return 0.0, 100.0
        return round_range(values)
    if isfinite(measure.low) and isfinite(measure.high):
        if lowest < measure.low or highest > measure.high:  # percentages, or wrong
            low = 100 * measure.low
            return (low, 100 * measure.high) if NEARLY < highest <= 100 and lowest >= low else None
        return measure.low, measure.high
    if lowest < measure.low:
        return None
    return (-round_up(-lowest) if lowest < 0 else 0.0, round_up(highest) if highest > 1 else 1.0)


ScaleFailure = tuple[str, Problem, tuple[float, float] | None]


def unscaled_metrics_error(
    failures: Sequence[ScaleFailure], table: MetricValues, scaled_count: int
) -> DataError:
    """Build the error of metrics without a scale, with hints for each and for all.

    failures: metrics, problems and ranges they are scaled from. scaled_count: of other metrics.
    """
    # zero where predictions are not measured yet
    values = table.values if len(table.values) else np.zeros((1, len(table.metrics)))
    columns = {metric: values[:, i] for i, metric in enumerate(table.metrics)}
    are_percentages = (
        _guess_range(problem.code, name, columns[name]) == (0, 100) for name, problem, _ in failures
    )
    if 1 < len(failures) == len(table.metrics) and not scaled_count and all(are_percentages):
        hint = f"add {OPTION}--rescale '*=0:100'{END} to read percentages"
        fixes = {"rescale": {"*": (0.0, 100.0)}}
        return DataError([problem for _, problem, _ in failures], hint=hint, fixes=fixes)
    kept_count = scaled_count + sum(problem.code not in _LEFT_OUT for _, problem, _ in failures)
    errors = [
        _error_with_hint(group, columns) for group in _group_by_hint(failures, columns, kept_count)
    ]
    undirected = [
        metric
        for metric, problem, _ in failures
        if problem.code == "unknown-direction" and not _has_known_side(metric)
    ]
    error = DataError.from_errors_with_fixes(errors)
    return _with_directions(error, errors, undirected, columns, kept_count) if undirected else error


_Fixable = tuple[str, Problem, dict[str, Any]]  # a metric, its problem, and the guessed options


def _group_by_hint(
    failures: Sequence[ScaleFailure], columns: Mapping[str, Floats], kept_count: int
) -> Iterable[list[_Fixable]]:
    """Return the metrics in groups that share one hint, each with the options guessed for it."""
    groups: dict[Any, list[_Fixable]] = {}
    for metric, problem, span in failures:
        fixes = guess_scale_options(problem.code, metric, columns[metric], span, kept_count)
        # percentages share one hint
        key: Any = fixes == {"rescale": {metric: (0.0, 100.0)}} and problem.code == "above-one"
        key = key or (problem.code, scale_hint(problem.code, metric, columns[metric], fixes))
        groups.setdefault(key, []).append((metric, problem, fixes))
    return groups.values()


def _error_with_hint(group: Sequence[_Fixable], columns: Mapping[str, Floats]) -> DataError:
    """Build the error of metrics that share a hint, with the guessed options of all."""
    metric, problem, fixes = group[0]
    hint = scale_hint(problem.code, metric, columns[metric], fixes)
    merged: dict[str, Any] = {}
    for _, _, fixes in group:
        for option, value in fixes.items():
            previous = merged.get(option)
            merged[option] = {**previous, **value} if isinstance(previous, dict) else value
            if isinstance(previous, tuple):
                merged[option] = (*previous, *value)
    return DataError([problem for _, problem, _ in group], hint=hint, fixes=merged)


def _with_directions(
    merged_error: DataError,
    errors: Sequence[DataError],
    undirected: Sequence[str],
    columns: Mapping[str, Floats],
    kept_count: int,
) -> DataError:
    """Return an error that offers to leave metrics of unknown direction out, or each direction."""
    are_bounded = all(
        columns[metric].min() >= 0 and columns[metric].max() <= 1 for metric in undirected
    )
    can_be_ignored = kept_count - len(undirected) >= RAYS
    readings = [
        *(_reading_without(merged_error.fixes, undirected) if can_be_ignored else ()),
        *(_readings_by_direction(merged_error.fixes, undirected) if are_bounded else ()),
    ]
    have_fixes = all(error.fixes or {*undirected} & _metrics_of(error) for error in errors)
    if not (readings and have_fixes):
        return DataError.from_errors(errors)
    problems = [problem for error in errors for problem in error.problems]
    hint = next(error.hint for error in errors if {*undirected} & _metrics_of(error))
    return DataError(problems, hint=hint, readings=readings)


def _reading_without(fixes: Mapping[str, Any], metrics: Sequence[str]) -> Iterator[OfferedReading]:
    """Yield the reading without these metrics of unknown direction."""
    ignored_metrics = (*fixes.get("ignore", ()), *metrics)
    phrase = f"without {list_names(metrics)}, whose direction is unknown"
    yield OfferedReading(phrase, {**fixes, "ignore": ignored_metrics})


def _readings_by_direction(
    fixes: Mapping[str, Any], metrics: Sequence[str]
) -> Iterator[OfferedReading]:
    """Yield the readings in which higher, and in which lower is better in all these metrics."""
    for best, comparative in (("max", "higher"), ("min", "lower")):
        directions = {**fixes.get("direction", {}), **dict.fromkeys(metrics, best)}
        phrase = f"{comparative} is better in {list_names(metrics)}"
        yield OfferedReading(phrase, {**fixes, "direction": directions})


def _metrics_of(error: DataError) -> set[str | None]:
    """Return the columns of the problems of an error."""
    return {problem.column for problem in error.problems}
