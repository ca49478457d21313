"""From raw metrics to rays: which way is better, which range becomes 0..1, what each weighs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clfeval.errors import DataError, Problem, UsageError, listing, suggestion
from clfeval.measures.metric_names import measure_of, negated, sounds_like_less
from clfeval.methods.mlcps.given import Given
from clfeval.methods.mlcps.options import Direction, MlcpsOptions
from clfeval.result import Warn

Floats = NDArray[np.float64]

ROUNDING = 1e-9  # a sum of shares may pass 1 by less
RAYS = 3  # of a polygon, at least

_HINTS = {
    "negative-metric": "--rescale {metric}={low}:1 maps its range to 0..1",
    "above-one": "--rescale {metric}=0:{high} maps its range to 0..1",
    "outside-scale": "--rescale takes the range a metric can have, not the one it happens to have",
    "unknown-direction": "--direction {metric}=min where less is better, --direction {metric}=max "
    "where more is",
    "no-direction": "name the other metrics with --metric, or say what is wanted of it with "
    "--desirability FILE.yaml",
    "unbounded-metric": "--rescale {metric}=0:X, with X what a useless model gets",
}


@dataclass(frozen=True, slots=True)
class Scale:
    """How one metric becomes a ray of length 0..1, higher better; `place` is its column."""

    metric: str
    place: int
    best: Direction
    low: float | None
    high: float | None
    weight: float

    def of(self, values: Floats) -> Floats:
        """Return (x - low) / (high - low), or 1 minus it; NaN outside 0..1, where no ray is."""
        if self.low is None or self.high is None:
            d = values
        else:
            d = (values - self.low) / (self.high - self.low)
        if self.weight:  # a ray of length 0 has no say in its scale
            with np.errstate(invalid="ignore"):
                d = np.where((d < -ROUNDING) | (d > 1 + ROUNDING), np.nan, d)
        d = np.clip(d, 0.0, 1.0)
        return d if self.best == "max" else 1.0 - d


def rays_of(scales: Sequence[Scale], values: Floats) -> Floats:
    """Return d (..., k, n) of raw values (..., k, all metrics)."""
    if not scales:
        return np.empty((*values.shape[:-1], 0))
    return np.stack([scale.of(values[..., scale.place]) for scale in scales], axis=-1)


def scales_of(given: Given, options: MlcpsOptions) -> tuple[tuple[Scale, ...], list[Warn]]:
    """Return the scales of the polygon's metrics, in the order of the table, and what to note.

    A metric of weight 0 is left out; so is, with a note, one that has no scale but a desirability.
    Errors: UsageError for options that name no metric; DataError naming every metric that is
    negative, above 1, outside its scale, or of unknown direction, and for fewer than three.
    """
    _check_names(given.metrics, options)
    wished = {wish.metric for wish in options.wishes}
    scales: list[Scale] = []
    problems: list[Problem] = []
    left_out: list[str] = []
    assumed: list[str] = []
    for place, metric in enumerate(given.metrics):
        weight = options.weights.get(metric, 1.0)
        if weight == 0 and options.zero_weight == "drop":
            continue
        scale, problem = _scale(given, place, weight, options)
        if problem is None:
            scales.append(scale)
            if metric not in options.directions and measure_of(metric) is None:
                assumed.append(metric)
        elif metric in wished:
            left_out.append(metric)
        else:
            problems.append(problem)
    if problems:
        raise DataError(problems, hint=_hint(problems, given))
    if not any(scale.weight for scale in scales) and not wished:
        raise UsageError(
            Problem("every metric has weight 0", "zero-weight"), hint="give some a weight above 0"
        )
    if len(scales) < RAYS and not wished:
        raise _too_few(given, [scale.metric for scale in scales])
    return tuple(scales), _notes(given.metrics, options, scales, left_out, assumed)


def scaled_alike(given: Given, scales: Sequence[Scale]) -> tuple[Scale, ...]:
    """Return the scales of another table for this one's columns.

    Errors: DataError naming every metric whose values have no ray on its scale.
    """
    alike = [replace(scale, place=given.metrics.index(scale.metric)) for scale in scales]
    found = (_outside(given, scale) for scale in alike if scale.weight)
    problems = [problem for problem in found if problem is not None]
    if problems:
        raise DataError(problems, hint=_hint(problems, given))
    return tuple(alike)


def _check_names(metrics: Sequence[str], options: MlcpsOptions) -> None:
    groups: Iterable[tuple[str, Mapping[str, Any] | Sequence[str]]] = (
        ("--weight", options.weights),
        ("--direction", options.directions),
        ("--rescale", options.rescale),
        ("--desirability", [wish.metric for wish in options.wishes]),
    )
    for option, names in groups:
        for name in names:
            if name not in metrics:
                raise UsageError(
                    Problem(f"{option} names no metric: '{name}'", "unknown-metric"),
                    hint=suggestion(name, metrics) or f"metrics: {listing(metrics)}",
                )


def _scale(
    given: Given, place: int, weight: float, options: MlcpsOptions
) -> tuple[Scale, Problem | None]:
    """Return one metric's scale, and what is wrong with it."""
    metric = given.metrics[place]
    measure = measure_of(metric)
    said = options.directions.get(metric)
    span = options.rescale.get(metric)
    what = code = None
    best: Direction = said or "max"
    if said is None and measure is not None and measure.best == "zero":
        what, code = "is best at 0: neither more nor less of it is better", "no-direction"
    elif said is None and measure is not None:
        best = "min" if measure.best == "min" else "max"
        if best == "min" and span is None:
            if not (math.isfinite(measure.low) and math.isfinite(measure.high)):
                what = "less is better and it has no upper end: nothing to take it from"
                code = "unbounded-metric"
            elif (measure.low, measure.high) != (0, 1):
                span = measure.low, measure.high
    elif said is None and sounds_like_less(metric) and not negated(metric):
        what, code = "is no measure known here: is more of it better, or less?", "unknown-direction"
    low, high = span or (None, None)
    scale = Scale(metric, place, best, low, high, weight)
    if what is not None and code is not None:
        return scale, given.problem(0, place, what, code)
    if not weight:
        return scale, None  # whatever it holds, its ray has length 0
    return scale, _outside(given, scale)


def _outside(given: Given, scale: Scale) -> Problem | None:
    """Return what is wrong with a metric's values, naming the first and how many there are."""
    values = given.values[:, scale.place]
    if scale.low is not None and scale.high is not None:
        room = ROUNDING * (scale.high - scale.low)
        wrong = (values < scale.low - room) | (values > scale.high + room)
        what, code = f"is outside its scale {scale.low:g}:{scale.high:g}", "outside-scale"
    elif (values < -ROUNDING).any():
        wrong = values < -ROUNDING
        what = "is negative: two negative neighbours would span a positive area"
        code = "negative-metric"
    else:
        wrong = values > 1 + ROUNDING
        what, code = "is above 1, and the other metrics are on 0..1", "above-one"
        if all((column > 1).any() for column in given.values.T):
            what = "is above 1: a percentage?"
    found = np.flatnonzero(wrong)
    if not len(found):
        return None
    first = int(found[0])
    more = f" ({len(found) - 1:,} more such values)" if len(found) > 1 else ""
    return given.problem(first, scale.place, f"{values[first]:.10g} {what}{more}", code)


def _hint(problems: Sequence[Problem], given: Given) -> str:
    """Say what to type about the first problem."""
    first = problems[0]
    metric = str(first.column)
    measure = measure_of(metric)
    values = given.values[:, given.metrics.index(metric)]
    low = -1.0
    if measure is not None and math.isfinite(measure.low):
        low = measure.low
    high = 100.0 if 1 < values.max() <= 100 else math.ceil(values.max())
    hint = _HINTS[first.code]
    if first.code == "negative-metric" and (negated(metric) or values.max() <= 0):
        hint, low = "--rescale {metric}={low}:0 maps its range to 0..1", math.floor(values.min())
    elif first.code == "above-one" and measure is not None and measure.high == math.inf:
        hint += ", {high} being as good as it gets"
    return hint.format(metric=metric, low=f"{low:g}", high=f"{high:g}")


def _too_few(given: Given, metrics: Sequence[str]) -> DataError:
    there = f"{len(metrics)} metric{'s' * (len(metrics) != 1)} ({listing(metrics)})"
    return DataError(
        Problem(
            f"{there if metrics else 'no metric'}: a polygon has at least {RAYS} corners",
            "too-few-metrics",
            given.name,
        ),
        hint="take in more metrics; --desirability FILE.yaml ranks by any number of them",
    )


def _notes(
    metrics: Sequence[str],
    options: MlcpsOptions,
    scales: Sequence[Scale],
    left_out: Sequence[str],
    assumed: Sequence[str],
) -> list[Warn]:
    """Say what was removed, flipped, assumed, and what is on a scale of its own."""
    said: list[tuple[str, str]] = []
    removed = [m for m in metrics if options.weights.get(m) == 0 and options.zero_weight == "drop"]
    if removed:
        said.append(("zero-weight", f"weight 0 leaves out {listing(removed)}"))
    if left_out:
        text = f"{listing(left_out)}: no ray of the polygon, for want of a scale (--rescale)"
        said.append(("left-out", text))
    flipped = [s.metric for s in scales if s.best == "min"]
    if flipped:
        said.append(("flipped", f"less is better, so 1 minus it is scored: {listing(flipped)}"))
    if assumed:
        text = f"no measures known here, taken as better the higher: {listing(assumed)}"
        said.append(("assumed-direction", text))
    for scale in scales:
        measure = measure_of(scale.metric)
        if measure is not None and scale.low is None and scale.best == "max" and measure.low < 0:
            low = f"{measure.low:g}" if math.isfinite(measure.low) else "minus infinity"
            text = f"'{scale.metric}' goes down to {low} and is scored as it is"
            if low == "-1":
                text += f"; --rescale {scale.metric}=-1:1 puts chance at 0.5"
            said.append(("other-scale", text))
    return [Warn(code, text) for code, text in said]
