"""Hints and guessed options for a metric that has no scale, from its name and values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import floor, inf, isfinite, log10
from typing import Any

import numpy as np

from clfeval.arrays import Floats
from clfeval.errors import DataError, Problem, quote_word
from clfeval.measures.catalog import (
    is_negated_loss,
    lower_is_better_by_name,
    measure_of_column,
    normalize_name,
)
from clfeval.methods.mlcps.metric_values import MetricValues
from clfeval.options.syntax import format_range

RAYS = 3  # of a polygon, at least
_LEFT_OUT = ("no-direction", "not-a-metric")
NEARLY = 1.5  # a share above 1 and up to here is no percentage
# whole numbers that are a count of rows, a run number, or a setting
_COUNT_NAMES = re.compile(
    r"(?:n|nr|no|num|number|idx|index|id|row|rows|seed|random_state|fold|folds|repeat|run|trial|"
    r"epochs?|steps?|iterations?|rank|support|samples|instances|observations|counts?|year|"
    r"version|batch_size|tp|fp|fn|tn|n_\w+|num_\w+|\w+_(?:count|id|seed|index|rank))"
)

_HINTS = {
    "negative-metric": "add --rescale {metric}={ends} to rescale it to 0 to 1",
    "above-one": "{percent}add --rescale {metric}=0:X; X is its largest possible value",
    "outside-scale": "give --rescale the possible range of the metric, not the observed one",
    "unknown-direction": "add --direction {metric}=min if lower is better, else --direction "
    "{metric}=max",
    "no-direction": "choose the other metrics with --metric, or set a goal for it with "
    "--desirability FILE.yaml",
    "unbounded-metric": "add --rescale {metric}=0:X; X is the value of a useless model",
    "not-a-metric": "add --ignore {metric}; if it is a metric, --direction {metric}=max or "
    "{metric}=min",
}


def looks_like_count(metric: str, values: Floats) -> bool:
    """Tell whether a column looks like a count, a number of the row or a setting, by name."""
    name = normalize_name(metric)
    costs = lower_is_better_by_name(name) and "rank" not in name
    return not costs and bool(_COUNT_NAMES.fullmatch(name)) and bool((values % 1 == 0).all())


def round_up(value: float) -> float:
    """Return the least of 1, 2, 5, 10, 20, 50 ... and their tenths at or above a positive value."""
    if not 0 < value < inf:
        return 1.0
    unit = floor(log10(value))
    for power in (unit, unit + 1):
        for digit in (1, 2, 5):
            found = float(f"{digit}e{power}")
            if found >= value:
                return found
    return value


def round_range(values: Floats) -> tuple[float, float]:
    """Return round ends of a range with the values, one of them 0 where all have one sign."""
    low, high = float(values.min()), float(values.max())
    if low < 0 < high:
        most = max(round_up(-low), round_up(high))
        return -most, most
    return (-round_up(-low), 0.0) if low < 0 else (0.0, round_up(high))


def scale_hint(code: str, metric: str, values: Floats, fixes: Mapping[str, Any]) -> str:
    """Return the hint for a metric, with its possible range; fixes: the guessed options."""
    measure = measure_of_column(metric)
    low = measure.low if measure is not None and isfinite(measure.low) else -1.0
    ends, hint, name = format_range((low, 1.0)), _HINTS[code], quote_word(metric)
    if code == "negative-metric" and measure is not None and measure.low == 0:
        what = "a share" if measure.high == 1 else "this measure"
        hint = f"{what} cannot be negative; correct the value"
    elif code == "negative-metric" and measure is None and values.max() > 1:
        hint = "add --rescale {metric}=LOW:HIGH with its possible range"
    elif code == "negative-metric" and (span := _guess_range(code, metric, values)):
        ends = format_range(span)
    elif code == "above-one" and measure is not None and measure.high == 1:
        hint = "add --rescale {metric}=0:100 to read percentages"
        if values.max() <= NEARLY:
            hint = "a share cannot exceed 1; correct the value"
        elif (span := _guess_range(code, metric, values)) and span[0]:
            hint = f"add --rescale {{metric}}={format_range(span)} to read percentages"
    percent = f"percentages: --rescale {name}=0:100; else " if NEARLY < values.max() <= 100 else ""
    said = hint.format(metric=name, ends=ends, percent=percent if measure is None else "")
    guess = format_range(fixes["rescale"][metric]) if "rescale" in fixes else ""
    return said if guess in said else f"{said}; guessed: {guess}"


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
    found = None if span is not None else _guess_range(code, metric, values)
    fixes: dict[str, Any] = {"rescale": {metric: found}} if found else {}
    return {"direction": {metric: "min"}, **fixes} if code == "unknown-direction" else fixes


def _guess_range(code: str, metric: str, values: Floats) -> tuple[float, float] | None:
    """Return the range to map to 0..1; None where a value is wrong, or no range is needed."""
    measure, least, most = measure_of_column(metric), float(values.min()), float(values.max())
    if code == "unknown-direction" and least >= 0 and most <= 1:
        return None
    if measure is None or code == "unbounded-metric":
        if code == "negative-metric" and (is_negated_loss(metric) or most <= 0):
            return (-1.0, 0.0) if least >= -1 else (-round_up(-least), 0.0)
        if code == "negative-metric" and least >= -1 and most <= 1:
            return -1.0, 1.0
        if code == "above-one" and NEARLY < most <= 100:
            return 0.0, 100.0
        return round_range(values)
    if isfinite(measure.low) and isfinite(measure.high):
        if least < measure.low or most > measure.high:  # percentages, or wrong
            low = 100 * measure.low
            return (low, 100 * measure.high) if NEARLY < most <= 100 and least >= low else None
        return measure.low, measure.high
    if least < measure.low:
        return None
    return (-round_up(-least) if least < 0 else 0.0, round_up(most) if most > 1 else 1.0)


Unfit = tuple[str, Problem, tuple[float, float] | None]


def unscaled_metrics_error(unfit: Sequence[Unfit], given: MetricValues, scaled: int) -> DataError:
    """Build the error of metrics without a scale, with hints for each and for all.

    unfit: metrics, their problem, and the range they are scaled from. scaled: number of others.
    """
    # zero where predictions are not measured yet
    values = given.values if len(given.values) else np.zeros((1, len(given.metrics)))
    columns = {metric: values[:, i] for i, metric in enumerate(given.metrics)}
    hundred = (_guess_range(one.code, name, columns[name]) == (0, 100) for name, one, _ in unfit)
    if 1 < len(unfit) == len(given.metrics) and not scaled and all(hundred):
        hint = "add --rescale '*=0:100' to read percentages"
        whole = {"rescale": {"*": (0.0, 100.0)}}
        return DataError([problem for _, problem, _ in unfit], hint=hint, fixes=whole)
    spared = scaled + sum(problem.code not in _LEFT_OUT for _, problem, _ in unfit)
    grouped: dict[Any, list[tuple[str, Problem, dict[str, Any]]]] = {}
    for metric, problem, span in unfit:
        fixes = guess_scale_options(problem.code, metric, columns[metric], span, spared)
        # percentages share one hint
        key: Any = fixes == {"rescale": {metric: (0.0, 100.0)}} and problem.code == "above-one"
        key = key or (problem.code, scale_hint(problem.code, metric, columns[metric], fixes))
        grouped.setdefault(key, []).append((metric, problem, fixes))
    parts = []
    for found in grouped.values():
        metric, problem, fixes = found[0]
        hint = scale_hint(problem.code, metric, columns[metric], fixes)
        both: dict[str, Any] = {}
        for _, _, fixes in found:
            for name, value in fixes.items():
                before = both.get(name)
                both[name] = {**before, **value} if isinstance(before, dict) else value
                if isinstance(before, tuple):
                    both[name] = (*before, *value)
        parts.append(DataError([problem for _, problem, _ in found], hint=hint, fixes=both))
    return DataError.from_errors_with_fixes(parts)
