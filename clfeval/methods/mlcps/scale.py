"""One metric's scale: which way is better, which range becomes 0..1, and what lies outside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote

import numpy as np
from numpy.typing import NDArray

from clfeval.errors import Problem
from clfeval.measures.metric_names import measure_of, negated
from clfeval.methods.mlcps.given import Given
from clfeval.methods.mlcps.options import Direction

Floats = NDArray[np.float64]

ROUNDING = 1e-9  # a sum of shares may pass 1 by less
RAYS = 3  # of a polygon, at least
NEARLY = 1.5  # a share above 1 and up to here is no percentage

_HINTS = {
    "negative-metric": "--rescale {metric}={low}:1 maps its range to 0..1",
    "above-one": "{percent}--rescale {metric}=0:X, with X as much as it can be, maps it to 0..1",
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
        if not self.weight:  # a ray of length 0 has no say in its scale
            d = np.nan_to_num(d)
        with np.errstate(invalid="ignore"):
            outside = (d < -ROUNDING) | (d > 1 + ROUNDING)
        d = np.where(outside & bool(self.weight), np.nan, d)
        d = np.clip(d, 0.0, 1.0)
        return d if self.best == "max" else 1.0 - d


def rays_of(scales: Sequence[Scale], values: Floats) -> Floats:
    """Return d (..., k, n) of raw values (..., k, all metrics)."""
    if not scales:
        return np.empty((*values.shape[:-1], 0))
    return np.stack([scale.of(values[..., scale.place]) for scale in scales], axis=-1)


def outside(given: Given, scale: Scale) -> Problem | None:
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


def hint_for(code: str, metric: str, given: Given) -> str:
    """Say what to type about a metric; its range is the one it can have, not what it happens to."""
    measure = measure_of(metric)
    values = given.values[:, given.metrics.index(metric)]
    values = values if len(values) else np.zeros(1)  # not measured yet
    low = -1.0
    if measure is not None and math.isfinite(measure.low):
        low = measure.low
    hint, name = _HINTS[code], quote(metric)
    unknown = measure is None and values.max() <= 0
    if code == "negative-metric" and measure is not None and measure.low == 0:
        hint = "a share cannot be negative: mend the value"
        if measure.high != 1:
            hint = "this measure cannot be negative: mend the value"
    elif code == "negative-metric" and measure is None and values.max() > 1:
        hint = "--rescale {metric}=LOW:HIGH, with the least and the most it can be"
    elif code == "negative-metric" and (negated(metric) or unknown):
        hint, low = "--rescale {metric}={low}:0 maps its range to 0..1", math.floor(values.min())
    elif code == "above-one" and measure is not None and measure.high == 1:
        hint = "--rescale {metric}=0:100 maps percentages to 0..1"
        if values.max() <= NEARLY:
            hint = "a share cannot pass 1: mend the value"
    percent = f"percentages: --rescale {name}=0:100; else " if NEARLY < values.max() <= 100 else ""
    return hint.format(metric=name, low=f"{low:g}", percent=percent if measure is None else "")
