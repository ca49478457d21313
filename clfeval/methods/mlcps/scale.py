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
    goals = {wish.metric: wish for wish in options.desirability}
    groups: Sequence[tuple[str, Iterable[str]]] = (
        ("--metric-weight", options.weight),
        ("--direction", options.direction),
        ("--rescale", options.rescale),
        ("--desirability", goals),
    )
    for option, names in groups:
        for name in names:
            if name not in table.metrics:
                hint = suggestion(name, table.metrics) or f"metrics: {list_names(table.metrics)}"
                message = f"{OPTION}{option}{END}: '{name}' is not a metric"
                raise UsageError.new(message, "unknown-metric", hint=hint)
    scales: list[Scale] = []
    unfit: list[Unfit] = []
    for place, metric in enumerate(table.metrics):
        weight = options.weight.get(metric, 1.0)
        if weight == 0 and options.zero_weight == "drop":
            continue
        has_settings = metric in options.direction or metric in options.rescale
        if metric in goals and not (has_settings or measure_of_column(metric)):
            continue  # whatever its values are
        scale, problem = _make_scale(table, place, weight, options)
        if problem is None:
            scales.append(scale)
        # in a result of clfeval, unsuitable metrics are excluded, without an error
        elif metric not in goals and not (
            table.lenient and problem.code in ("above-one", "not-a-metric")
        ):
            unfit.append((metric, problem, scale.span))
    if unfit:
        raise unscaled_metrics_error(unfit, table, len(scales))
    if not any(scale.weight for scale in scales) and not goals:
        hint = "give at least one metric a weight above 0"
        raise UsageError.new("every metric has weight 0", "zero-weight", hint=hint)
    if len(scales) < RAYS and not goals:
        raise _too_few_metrics_error(table, scales)
    return scales, list(_scale_notes(table, options, scales))


def _too_few_metrics_error(table: MetricValues, scales: Sequence[Scale]) -> DataError:
    """Build the error of fewer metrics than a polygon needs."""
    names = list_names([scale.metric for scale in scales])
    count = f"{format_count(len(scales), 'metric')} ({names})" if scales else "no metric"
    message = f"{count}, but a polygon needs at least {RAYS} metrics"
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
            problem=lambda _, place, message, code: Problem(
                message, code, None, None, metrics[place]
            ),
        ),
        options,
    )


def apply_scales(table: MetricValues, scales: Sequence[Scale]) -> list[Scale]:
    """Return the scales of another table for this one's columns.

    Errors: DataError naming every metric whose values have no ray on its scale.
    """
    table_scales = [replace(scale, place=table.metrics.index(scale.metric)) for scale in scales]
    unfit = [
        (scale.metric, problem, scale.span)
        for scale in table_scales
        if scale.weight and (problem := out_of_scale_problem(table, scale)) is not None
    ]
    if unfit:
        raise unscaled_metrics_error(unfit, table, len(scales))
    return table_scales


def _make_scale(
    table: MetricValues, place: int, weight: float, options: MlcpsOptions
) -> tuple[Scale, Problem | None]:
    """Return the scale of a metric, and what is wrong with it; weight 0 makes any values right."""
    metric = table.metrics[place]
    direction = options.direction.get(metric)
    scale = Scale(metric, place, direction or "max", options.rescale.get(metric), weight)
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
        message, code = fault
        return scale, table.problem(0, place, message, code)
    # a metric of weight 0 has a ray of length 0 for any values
    return scale, out_of_scale_problem(table, scale) if weight else None


def _scale_of_measure(
    table: MetricValues, scale: Scale, measure: Measure
) -> tuple[Scale, Fault | None]:
    """Return the scale of a known measure without declared direction, and its fault."""
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
        lowest = table.values[:, scale.place].min()
        scale = replace(scale, span=span) if measure.low < 0 and lowest < 0 else scale
    return scale, None


def _scale_of_unknown_metric(
    table: MetricValues, scale: Scale, *, is_named: bool
) -> tuple[Scale, Fault | None]:
    """Return the scale of another metric without declared direction, and its fault."""
    if is_minimised(scale.metric, table.metrics):
        return replace(scale, best="min"), _UNBOUNDED if scale.span is None else None
    values = table.values[:, scale.place]
    if scale.span is None and not is_named and looks_like_count(scale.metric, values):
        message = "looks like a count, a row number or a setting, not a metric"
        return scale, (message, "not-a-metric")
    is_free = not (scale.span or is_named or table.lenient)
    if _has_unknown_direction(table, scale.place, is_free=is_free):
        return scale, (_ASKED, "unknown-direction")
    return scale, None


def _has_known_side(metric: str) -> bool:
    """Return whether the name of a metric says whether higher or lower is better."""
    name_tests = (higher_is_better_by_name, lower_is_better_by_name, is_negated_loss)
    return any(is_side_of(metric) for is_side_of in name_tests)


def _has_unknown_direction(table: MetricValues, place: int, *, is_free: bool) -> bool:
    """Return whether it has to be said if higher or lower is better; is_free: no option names it.

    Of costs by their names, and of unknown metrics next to known measures. Of a scorer of
    scikit-learn the greatest value is the best.
    """
    metric = table.metrics[place]
    if lower_is_better_by_name(metric):
        return not is_negated_loss(metric)
    column = table.problem(0, place, _ASKED, "unknown-direction").column or ""
    if not is_free or column.startswith("mean_test_") or _has_known_side(metric):
        return False
    return any(measure_of_column(name) or _has_known_side(name) for name in table.metrics)


def _scale_notes(
    table: MetricValues, options: MlcpsOptions, scales: Sequence[Scale]
) -> Iterator[ResultNote]:
    """Yield notes on metrics that are left out, reversed, assumed to rise, or badly scaled."""
    dropped = options.zero_weight == "drop"
    scaled = {scale.metric for scale in scales}
    removed = [m for m in table.metrics if options.weight.get(m) == 0 and dropped]
    assumed = (m for m in table.metrics if m in scaled and m not in options.direction)
    for code, names, text in (
        ("zero-weight", removed, _zero_weight_text(removed, options)),
        (
            "left-out",
            [m for m in table.metrics if m not in scaled and m not in removed],
            f"not in MLcps, as a range ({OPTION}--rescale{END}) is missing: {{}}",
        ),
        (
            "flipped",
            [scale.metric for scale in scales if scale.best == "min"],
            "lower is better, so 1 - value is used: {}",
        ),
        (
            "assumed-direction",
            [m for m in assumed if not (measure_of_column(m) or is_negated_loss(m))],
            "not a known measure, higher is assumed to be better: {}",
        ),
    ):
        if names:
            yield ResultNote(code, text.format(list_names(names)))
    if options.weight and options.desirability:
        text = (
            f"{OPTION}--metric-weight{END} affects only MLcps; set the weights of D in the file of"
        )
        yield ResultNote("weights", f"{text} {OPTION}--desirability{END}")
    for scale in scales:
        if scale.metric in options.rescale and table.models:
            yield from _narrow_notes(scale, table.values[:, scale.place])
        yield from _other_scale_notes(scale)


def _zero_weight_text(removed: Sequence[str], options: MlcpsOptions) -> str:
    """Return the text on metrics of weight 0, with a place for their names."""
    goals = {wish.metric for wish in options.desirability}
    in_d = [name for name in removed if name in goals]
    is_single = len(removed) == 1
    has, are = ("has", "is") if is_single else ("have", "are")
    text = f"{{}} {has} weight 0 and {are} excluded from MLcps"
    if in_d:
        pronoun = "it" if is_single else "they"
        subject = pronoun if len(in_d) == len(removed) else list_names(in_d)
        text += f", but {subject} enter{'s' * (len(in_d) == 1)} D"
    return text


def _narrow_notes(scale: Scale, values: Floats) -> Iterator[ResultNote]:
    """Yield a note where all values of a metric are close to one bound of its range."""
    if not scale.span:
        return
    d = scale.transform(values)
    if d.max() < NARROW or d.min() > 1 - NARROW:
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
    """How one metric becomes a ray of length 0..1, higher better; `place` is its column.

    span: the range mapped to 0..1; None where it is 0..1 already.
    """

    metric: str
    place: int
    best: Direction
    span: tuple[float, float] | None
    weight: float

    def transform(self, values: Floats) -> Floats:
        """Return (x - low) / (high - low), or 1 minus it; NaN outside 0..1, which has no ray."""
        low, high = self.span or (0.0, 1.0)
        d = values if self.span is None else (values - low) / (high - low)
        if not self.weight:  # a ray of length 0 has no effect on its scale
            d = np.nan_to_num(d)
        with np.errstate(invalid="ignore"):
            is_outside = (d < -ROUNDING) | (d > 1 + ROUNDING)
        d = np.clip(np.where(is_outside & bool(self.weight), np.nan, d), 0.0, 1.0)
        return d if self.best == "max" else 1.0 - d


def compute_rays(scales: Sequence[Scale], values: Floats) -> Floats:
    """Return d (..., k, n) of raw values (..., k, all metrics)."""
    if not scales:
        return np.empty((*values.shape[:-1], 0))
    return np.stack([scale.transform(values[..., scale.place]) for scale in scales], axis=-1)


def out_of_scale_problem(table: MetricValues, scale: Scale) -> Problem | None:
    """Return the problem of a metric's values, with the first one and their number."""
    values = table.values[:, scale.place]
    low, high = scale.span or (0.0, 1.0)
    room = ROUNDING * (high - low)
    below = values < low - room
    above = values > high + room
    is_wrong = above
    message = "is above 1, but the other metrics are 0 to 1"
    code = "above-one"
    if scale.span is not None:
        is_wrong = below | above
        code = "outside-scale"
        message = f"is outside its range {low:g}:{high:g}"
    elif below.any():
        is_wrong = below
        code = "negative-metric"
        message = "is negative, so it cannot be the length of a ray"
    elif all((column > 1).any() for column in table.values.T):
        message = "is above 1; is it a percentage?"
    places = np.flatnonzero(is_wrong)
    if not len(places):
        return None
    first = int(places[0])
    further = f" ({len(places) - 1:,} more such values)" if len(places) > 1 else ""
    percent = scale.metric in table.percent
    value_text = f"{100 * values[first]:.10g}%" if percent else f"{values[first]:.10g}"
    return table.problem(first, scale.place, f"{value_text} {message}{further}", code)


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
    costs = lower_is_better_by_name(name) and "rank" not in name
    return not costs and bool(re.fullmatch(_COUNT_NAMES, name)) and bool((values % 1 == 0).all())


def round_up(value: float) -> float:
    """Return the least of 1, 2, 5, 10, 20, 50 ... and their tenths at or above a positive value."""
    if not 0 < value < inf:
        return 1.0
    unit = floor(log10(value))
    for power in (unit, unit + 1):
        for digit in (1, 2, 5):
            rounded = float(f"{digit}e{power}")
            if rounded >= value:
                return rounded
    return value


def round_range(values: Floats) -> tuple[float, float]:
    """Return round ends of a range with the values, one of them 0 where all have one sign."""
    low = float(values.min())
    high = float(values.max())
    if low < 0 < high:
        most = max(round_up(-low), round_up(high))
        return -most, most
    return (-round_up(-low), 0.0) if low < 0 else (0.0, round_up(high))


def scale_hint(code: str, metric: str, values: Floats, fixes: Mapping[str, Any]) -> str:
    """Return the hint for a metric, with its possible range; fixes: the guessed options."""
    measure = measure_of_column(metric)
    low = measure.low if measure is not None and isfinite(measure.low) else -1.0
    range_text = format_range((low, 1.0))
    hint = _HINTS[code]
    name = quote_word(metric)
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
    percent = (
        f"percentages: {OPTION}--rescale {name}=0:100{END}; else "
        if NEARLY < values.max() <= 100
        else ""
    )
    text = hint.format(metric=name, ends=range_text, percent=percent if measure is None else "")
    guess = format_range(fixes["rescale"][metric]) if "rescale" in fixes else ""
    return text if guess in text else f"{text}; guessed: {guess}"


def guess_scale_options(
    code: str, metric: str, values: Floats, span: tuple[float, float] | None, spared: int
) -> dict[str, Any]:
    """Return the guessed options that give a metric a scale, by name.

    span: the range it is scaled from, or None. spared: number of metrics kept in any case.
    """
    if code in _LEFT_OUT:
        return {"ignore": (metric,)} if spared >= RAYS else {}
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


Unfit = tuple[str, Problem, tuple[float, float] | None]


def unscaled_metrics_error(unfit: Sequence[Unfit], table: MetricValues, scaled: int) -> DataError:
    """Build the error of metrics without a scale, with hints for each and for all.

    unfit: metrics, their problem, and the range they are scaled from. scaled: number of others.
    """
    # zero where predictions are not measured yet
    values = table.values if len(table.values) else np.zeros((1, len(table.metrics)))
    columns = {metric: values[:, i] for i, metric in enumerate(table.metrics)}
    are_percentages = (
        _guess_range(problem.code, name, columns[name]) == (0, 100) for name, problem, _ in unfit
    )
    if 1 < len(unfit) == len(table.metrics) and not scaled and all(are_percentages):
        hint = f"add {OPTION}--rescale '*=0:100'{END} to read percentages"
        fixes = {"rescale": {"*": (0.0, 100.0)}}
        return DataError([problem for _, problem, _ in unfit], hint=hint, fixes=fixes)
    spared = scaled + sum(problem.code not in _LEFT_OUT for _, problem, _ in unfit)
    errors = [
        _error_with_hint(metrics, columns) for metrics in _group_by_hint(unfit, columns, spared)
    ]
    unknown = [
        metric
        for metric, problem, _ in unfit
        if problem.code == "unknown-direction" and not _has_known_side(metric)
    ]
    error = DataError.from_errors_with_fixes(errors)
    return _with_directions(error, errors, unknown, columns, spared) if unknown else error


_Fixable = tuple[str, Problem, dict[str, Any]]  # a metric, its problem, and the guessed options


def _group_by_hint(
    unfit: Sequence[Unfit], columns: Mapping[str, Floats], spared: int
) -> Iterable[list[_Fixable]]:
    """Return the metrics in groups that share one hint, each with the options guessed for it."""
    groups: dict[Any, list[_Fixable]] = {}
    for metric, problem, span in unfit:
        fixes = guess_scale_options(problem.code, metric, columns[metric], span, spared)
        # percentages share one hint
        key: Any = fixes == {"rescale": {metric: (0.0, 100.0)}} and problem.code == "above-one"
        key = key or (problem.code, scale_hint(problem.code, metric, columns[metric], fixes))
        groups.setdefault(key, []).append((metric, problem, fixes))
    return groups.values()


def _error_with_hint(metrics: Sequence[_Fixable], columns: Mapping[str, Floats]) -> DataError:
    """Build the error of metrics that share a hint, with the guessed options of all."""
    metric, problem, fixes = metrics[0]
    hint = scale_hint(problem.code, metric, columns[metric], fixes)
    merged: dict[str, Any] = {}
    for _, _, fixes in metrics:
        for name, value in fixes.items():
            earlier = merged.get(name)
            merged[name] = {**earlier, **value} if isinstance(earlier, dict) else value
            if isinstance(earlier, tuple):
                merged[name] = (*earlier, *value)
    return DataError([problem for _, problem, _ in metrics], hint=hint, fixes=merged)


def _with_directions(
    error: DataError,
    errors: Sequence[DataError],
    unknown: Sequence[str],
    columns: Mapping[str, Floats],
    spared: int,
) -> DataError:
    """Return an error that offers to leave metrics of unknown direction out, or each direction."""
    are_bounded = all(
        columns[metric].min() >= 0 and columns[metric].max() <= 1 for metric in unknown
    )
    may_be_ignored = spared - len(unknown) >= RAYS
    readings = [
        *(_reading_without(error.fixes, unknown) if may_be_ignored else ()),
        *(_readings_by_direction(error.fixes, unknown) if are_bounded else ()),
    ]
    are_fixed = all(single.fixes or {*unknown} & _metrics_of(single) for single in errors)
    if not (readings and are_fixed):
        return DataError.from_errors(errors)
    problems = [problem for single in errors for problem in single.problems]
    hint = next(single.hint for single in errors if {*unknown} & _metrics_of(single))
    return DataError(problems, hint=hint, readings=readings)


def _reading_without(fixes: Mapping[str, Any], unknown: Sequence[str]) -> Iterator[OfferedReading]:
    """Yield the reading without metrics of unknown direction."""
    left_out = (*fixes.get("ignore", ()), *unknown)
    words = f"without {list_names(unknown)}, whose direction is unknown"
    yield OfferedReading(words, {**fixes, "ignore": left_out})


def _readings_by_direction(
    fixes: Mapping[str, Any], unknown: Sequence[str]
) -> Iterator[OfferedReading]:
    """Yield the readings in which higher, and in which lower is better in all these metrics."""
    for best, word in (("max", "higher"), ("min", "lower")):
        directions = {**fixes.get("direction", {}), **dict.fromkeys(unknown, best)}
        words = f"{word} is better in {list_names(unknown)}"
        yield OfferedReading(words, {**fixes, "direction": directions})


def _metrics_of(error: DataError) -> set[str | None]:
    """Return the columns of the problems of an error."""
    return {problem.column for problem in error.problems}
