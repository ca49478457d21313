"""The scale of a metric: its direction, the range mapped to 0..1, and values outside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite

import numpy as np

from clfeval.arrays import Floats
from clfeval.document import ResultNote
from clfeval.errors import DataError, Problem, UsageError, list_names, suggestion
from clfeval.formatting import format_count
from clfeval.measures.catalog import is_negated_loss, lower_is_better_by_name, measure_of_column
from clfeval.methods.mlcps.metric_values import MetricValues
from clfeval.methods.mlcps.options import Direction, MlcpsOptions
from clfeval.methods.mlcps.scale_hints import RAYS as RAYS
from clfeval.methods.mlcps.scale_hints import Unfit, looks_like_count, unscaled_metrics_error
from clfeval.records import dataclass, replace

NARROW = 0.05  # of the scale


def explain_unfit(metric: str) -> str:
    """Return why a measure cannot be a ray of the polygon; empty if it can."""
    measure = measure_of_column(metric)
    if measure is not None and (measure.aim is not None or measure.best == "none"):
        return "neither higher nor lower is better; set a goal with --desirability FILE.yaml"
    if measure is None or (isfinite(measure.low) and isfinite(measure.high)):
        return ""
    return "it has no finite range; give one with --rescale NAME=LOW:HIGH"


def make_scales(given: MetricValues, options: MlcpsOptions) -> tuple[list[Scale], list[ResultNote]]:
    """Return the scales of the polygon's metrics, in the order of the table, and notes.

    A metric of weight 0 is left out; so is, with a note, one that has no scale but a desirability.
    Errors: UsageError for options that name no metric; DataError naming every metric that is
    negative, above 1, outside its scale, or of unknown direction, and for fewer than three.
    """
    wished = {wish.metric: wish for wish in options.desirability}
    groups: Sequence[tuple[str, Iterable[str]]] = (
        ("--metric-weight", options.weight), ("--direction", options.direction),
        ("--rescale", options.rescale), ("--desirability", wished),
    )  # fmt: skip
    for option, name in ((option, name) for option, names in groups for name in names):
        if name not in given.metrics:
            hint = suggestion(name, given.metrics) or f"metrics: {list_names(given.metrics)}"
            raise UsageError.new(f"{option}: '{name}' is not a metric", "unknown-metric", hint=hint)
    scales: list[Scale] = []
    unfit: list[Unfit] = []
    for place, metric in enumerate(given.metrics):
        weight = options.weight.get(metric, 1.0)
        if weight == 0 and options.zero_weight == "drop":
            continue
        named = metric in options.direction or metric in options.rescale
        if metric in wished and not (named or measure_of_column(metric)):
            continue  # whatever its values are
        scale, problem = _make_scale(given, place, weight, options)
        if problem is None:
            scales.append(scale)
        # in a result of clfeval, unsuitable metrics are excluded, without an error
        elif metric not in wished and not (
            given.lenient and problem.code in ("above-one", "not-a-metric")
        ):
            unfit.append((metric, problem, scale.span))
    if unfit:
        raise unscaled_metrics_error(unfit, given, len(scales))
    if not any(scale.weight for scale in scales) and not wished:
        hint = "give at least one metric a weight above 0"
        raise UsageError.new("every metric has weight 0", "zero-weight", hint=hint)
    if len(scales) < RAYS and not wished:
        names = list_names([scale.metric for scale in scales])
        there = f"{format_count(len(scales), 'metric')} ({names})" if scales else "no metric"
        what = f"{there}, but a polygon needs at least {RAYS} metrics"
        hint = "add metrics, or rank by any number of them with --desirability FILE.yaml"
        raise DataError.new(what, "too-few-metrics", given.name, hint=hint)
    return scales, list(_scale_notes(given, options, scales))


def check_scales(metrics: Sequence[str], options: MlcpsOptions) -> None:
    """Raise, before predictions are read, the errors that do not depend on values."""
    make_scales(MetricValues(
        name="--metric", models=(), metrics=tuple(metrics), values=np.empty((0, len(metrics))),
        inputs=(), statistics="",
        problem=lambda _, place, what, code: Problem(what, code, None, None, metrics[place]),
    ), options)  # fmt: skip


def apply_scales(given: MetricValues, scales: Sequence[Scale]) -> list[Scale]:
    """Return the scales of another table for this one's columns.

    Errors: DataError naming every metric whose values have no ray on its scale.
    """
    alike = [replace(scale, place=given.metrics.index(scale.metric)) for scale in scales]
    unfit = [
        (scale.metric, problem, scale.span)
        for scale in alike
        if scale.weight and (problem := out_of_scale_problem(given, scale)) is not None
    ]
    if unfit:
        raise unscaled_metrics_error(unfit, given, len(scales))
    return alike


def _make_scale(
    given: MetricValues, place: int, weight: float, options: MlcpsOptions
) -> tuple[Scale, Problem | None]:
    metric, values = given.metrics[place], given.values[:, place]
    measure, said = measure_of_column(metric), options.direction.get(metric)
    span, what, code = options.rescale.get(metric), None, "no-direction"
    best: Direction = said or "max"
    # a column that no option names may be a count
    named = options.metric or metric in options.weight or not given.models
    if said is None and measure is not None:
        if measure.aim is not None:
            what = f"is best at {measure.aim}; neither higher nor lower is better"
        elif measure.best == "none":
            what = "does not rate a model; neither higher nor lower is better"
        elif measure.best == "min":
            best = "min"
            if span is None and not (isfinite(measure.low) and isfinite(measure.high)):
                what = "lower is better, and it has no upper bound for rescaling"
                code = "unbounded-metric"
            elif span is None and (measure.low, measure.high) != (0, 1):
                span = measure.low, measure.high
        elif given.lenient and span is None and measure.low < 0 and values.min() < 0:
            span = measure.low, measure.high
    elif said is None and span is None and not named and looks_like_count(metric, values):
        what, code = "looks like a count, a row number or a setting, not a metric", "not-a-metric"
    elif said is None and lower_is_better_by_name(metric) and not is_negated_loss(metric):
        what, code = "is not a known measure; is higher or lower better?", "unknown-direction"
    scale = Scale(metric, place, best, span, weight)
    if what is not None:
        return scale, given.problem(0, place, what, code)
    # a metric of weight 0 has a ray of length 0 for any values
    return scale, out_of_scale_problem(given, scale) if weight else None


def _scale_notes(
    given: MetricValues, options: MlcpsOptions, scales: Sequence[Scale]
) -> Iterator[ResultNote]:
    dropped, scaled = options.zero_weight == "drop", {scale.metric for scale in scales}
    removed = [m for m in given.metrics if options.weight.get(m) == 0 and dropped]
    assumed = (m for m in given.metrics if m in scaled and m not in options.direction)
    wished = {wish.metric for wish in options.desirability}
    one, in_d = len(removed) == 1, [name for name in removed if name in wished]
    has, are = ("has", "is") if one else ("have", "are")
    zero = f"{{}} {has} weight 0 and {are} excluded from MLcps"
    if in_d:
        who = ("it" if one else "they") if len(in_d) == len(removed) else list_names(in_d)
        zero += f", but {who} enter{'s' * (len(in_d) == 1)} D"
    for code, names, text in (
        ("zero-weight", removed, zero),
        ("left-out", [m for m in given.metrics if m not in scaled and m not in removed],
         "not in MLcps, as a range (--rescale) is missing: {}"),
        ("flipped", [scale.metric for scale in scales if scale.best == "min"],
         "lower is better, so 1 - value is used: {}"),
        ("assumed-direction",
         [m for m in assumed if not (measure_of_column(m) or is_negated_loss(m))],
         "not a known measure, higher is assumed to be better: {}"),
    ):  # fmt: skip
        if names:
            yield ResultNote(code, text.format(list_names(names)))
    if options.weight and options.desirability:
        text = "--metric-weight affects only MLcps; set the weights of D in the file of"
        yield ResultNote("weights", f"{text} --desirability")
    for scale in scales:
        if scale.metric in options.rescale and scale.span and given.models:
            d = scale.transform(given.values[:, scale.place])
            if d.max() < NARROW or d.min() > 1 - NARROW:
                text = f"'{scale.metric}': all values are close to one bound of "
                text += "{:g}:{:g}, so it hardly affects the ranking".format(*scale.span)
                yield ResultNote("narrow", text)
        measure = measure_of_column(scale.metric)
        if measure is not None and scale.span is None and scale.best == "max" and measure.low < 0:
            low = f"{measure.low:g}" if isfinite(measure.low) else "minus infinity"
            text = f"'{scale.metric}' can be as low as {low} and is not rescaled"
            if low == "-1":
                text += f"; --rescale {scale.metric}=-1:1 maps chance to 0.5"
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
            outside = (d < -ROUNDING) | (d > 1 + ROUNDING)
        d = np.clip(np.where(outside & bool(self.weight), np.nan, d), 0.0, 1.0)
        return d if self.best == "max" else 1.0 - d


def compute_rays(scales: Sequence[Scale], values: Floats) -> Floats:
    """Return d (..., k, n) of raw values (..., k, all metrics)."""
    if not scales:
        return np.empty((*values.shape[:-1], 0))
    return np.stack([scale.transform(values[..., scale.place]) for scale in scales], axis=-1)


def out_of_scale_problem(given: MetricValues, scale: Scale) -> Problem | None:
    """Return the problem of a metric's values, with the first one and their number."""
    values = given.values[:, scale.place]
    low, high = scale.span or (0.0, 1.0)
    room = ROUNDING * (high - low)
    below, above = values < low - room, values > high + room
    wrong, what, code = above, "is above 1, but the other metrics are 0 to 1", "above-one"
    if scale.span is not None:
        wrong, code = below | above, "outside-scale"
        what = f"is outside its range {low:g}:{high:g}"
    elif below.any():
        wrong, code = below, "negative-metric"
        what = "is negative, so it cannot be the length of a ray"
    elif all((column > 1).any() for column in given.values.T):
        what = "is above 1; is it a percentage?"
    found = np.flatnonzero(wrong)
    if not len(found):
        return None
    first = int(found[0])
    more = f" ({len(found) - 1:,} more such values)" if len(found) > 1 else ""
    percent = scale.metric in given.percent
    shown = f"{100 * values[first]:.10g}%" if percent else f"{values[first]:.10g}"
    return given.problem(first, scale.place, f"{shown} {what}{more}", code)
