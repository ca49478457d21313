"""Scores on other scales: percentages, reversed ones, and those that a calibrator changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase

import numpy as np

from clfeval.errors import bad_option, list_names, quote_name
from clfeval.measures.logistic_regression import inverse_logit
from clfeval.placeholders import END, OPTION
from clfeval.records import replace
from clfeval.tables.columns import Columns, ModelColumns
from clfeval.tables.frames import Frame, nw, with_shortest_decimals
from clfeval.tables.input import InputOptions
from clfeval.tables.profiles import ColumnProfile
from clfeval.tables.readings.calibrated_scores import (
    calibrated_profiles,
    logistic_expression,
    with_calibrated_models,
    with_calibrated_numbers,
)
from clfeval.tables.readings.candidate_columns import scale_of
from clfeval.tables.readings.names import Tag, is_probability_name, tags_of
from clfeval.tables.readings.pair_facts import PairFacts

HUNDRED = 100.0
FEWEST_ROWS = 5  # fewer may sum to 100 by chance
ROUNDED = 0.05  # of numbers with one decimal place
_NO_SCORES: frozenset[Tag] = frozenset({"weight", "count", "id", "index", "run", "cluster", "date"})
FINE = 3  # different numbers, so that percentages are no labels


def percent_columns(
    profiles: Mapping[str, ColumnProfile], input_options: InputOptions
) -> list[str]:
    """Return the columns of percentages: by --model NAME:percent, else by their names and values.

    Not those that have a threshold.
    """
    columns = _columns_of_sum_100(profiles, input_options)
    for name, profile in profiles.items():
        is_given = any(fnmatchcase(name, pattern) for pattern in input_options.percents)
        has_named_scale = is_probability_name(name) and scale_of(profile) == "percent"
        is_percent = has_named_scale and profile.all_numbers and len(profile.texts) > FINE
        if name in columns or tags_of(name) & _NO_SCORES:
            continue
        if any(fnmatchcase(name, pattern) for pattern in input_options.log_odds):
            continue
        if is_given or (is_percent and not input_options.has_threshold(name)):
            columns.append(name)
    return columns


def _columns_of_sum_100(
    profiles: Mapping[str, ColumnProfile], input_options: InputOptions
) -> list[str]:
    """Return the columns of percentages that sum to 100 in every row: those of all classes."""
    names = [
        name
        for name, profile in profiles.items()
        if scale_of(profile) in ("percent", "whole", "real")
        and profile.all_numbers
        and len(profile.texts) > FINE
        and all(0 <= number <= HUNDRED for number in profile.numbers)
        and not input_options.has_threshold(name)
    ]
    facts = PairFacts(profiles)
    if len(names) < 2 or len(profiles[names[0]].sample) < FEWEST_ROWS:
        return []
    row_sums = np.sum([facts.numbers(name) for name in names], axis=0)
    return names if bool((np.abs(row_sums - HUNDRED) <= ROUNDED * len(names)).all()) else []


def divided_profile(profile: ColumnProfile) -> ColumnProfile:
    """Return the profile of a column of percentages as of numbers in 0 to 1."""
    return _with_numbers(profile, 0.0, HUNDRED)


def with_scales(
    columns: Columns,
    profiles: Mapping[str, ColumnProfile],
    input_options: InputOptions,
    percents: Collection[str],
) -> Columns:
    """Return columns with the scales of their scores; profiles: percentages are divided already.

    With the models that are read through a calibrator. Raises UsageError for a reversed model that
    has no scores, and as `with_calibrated_models`.
    """
    scaled: dict[str, tuple[float, float]] = {}
    names = [name for model in columns.models for name in model.columns] + [columns.answer]
    scaled |= {name: (0.0, HUNDRED) for name in names if name in percents}
    log_odds = frozenset(
        model.columns[0]
        for pattern in input_options.log_odds
        for model in _models_of_scale(columns, pattern, "logit")
    )
    _refuse_percent_log_odds(log_odds, input_options)
    for pattern in input_options.turned:
        for model in _models_of_scale(columns, pattern, "reversed"):
            column = model.columns[0]
            _, divisor = scaled.get(column, (0.0, 1.0))
            offset = 0.0 if column in log_odds else _offset_of_reversed(model, profiles)
            scaled[column] = (offset, -divisor)
    columns = replace(columns, scaled=scaled, log_odds=log_odds)
    is_long = columns.answer != "" and not columns.models  # its models are found in the rows
    return columns if is_long else with_calibrated_models(columns, profiles, input_options)


def _refuse_percent_log_odds(columns: Collection[str], input_options: InputOptions) -> None:
    """Raise UsageError for a column that is to be read as log odds and as percentages."""
    for name in columns:
        if any(fnmatchcase(name, pattern) for pattern in input_options.percents):
            message = f"{OPTION}--model {name}:logit{END} and {OPTION}--model {name}:percent{END} "
            raise bad_option(f"{message}cannot be combined", "keep one of them")


def _models_of_scale(columns: Columns, pattern: str, scale: str) -> list[ModelColumns]:
    """Return the models of a pattern that are read on a scale; UsageError if they have no scores.

    scale: as the option has it.
    """
    models = [model for model in columns.models if fnmatchcase(model.name, pattern)]
    if not models or any(model.kind != "score" or model.confidence for model in models):
        model_names = list_names([model.name for model in columns.models])
        message = f"{OPTION}--model {pattern}:{scale}{END} needs a model with one score per row"
        raise bad_option(message, f"models: {model_names}")
    return models


def _offset_of_reversed(model: ModelColumns, profiles: Mapping[str, ColumnProfile]) -> float:
    """Return 1 for scores in 0 to 1, which become 1 minus them, else 0."""
    return 1.0 if scale_of(profiles[model.columns[0]]) == "unit" else 0.0


def threshold_of_log_odds(model: str, threshold: float) -> float:
    """Return the threshold of scores that are read as log odds: a probability; UsageError else."""
    if 0 < threshold <= 1:
        return threshold
    message = f"the threshold of {quote_name(model)} is {threshold:g}, but its log odds are read "
    message += "as probabilities"
    probability = float(inverse_logit(np.array(threshold)))
    hint = f"give a probability: log odds of {threshold:g} are "
    raise bad_option(message, f"{hint}{OPTION}--threshold {probability:.6g}{END}")


def scaled_profiles(
    columns: Columns, profiles: Mapping[str, ColumnProfile]
) -> dict[str, ColumnProfile]:
    """Return the profiles of the columns with another scale, as their numbers are evaluated."""
    scaled = {
        name: _with_numbers(profiles[name], *columns.scale(name), log_odds=name in columns.log_odds)
        for name in (*columns.scaled, *columns.log_odds)
    }
    return scaled | calibrated_profiles(columns, {**profiles, **scaled})


def with_scaled_numbers(frame: Frame, columns: Columns) -> Frame:
    """Return a frame with the scores as they are evaluated."""
    columns_of_frame = {*frame.collect_schema().names()}
    for name in dict.fromkeys((*columns.scaled, *columns.log_odds)):
        if name in columns_of_frame:
            frame = with_shortest_decimals(frame, [name])
            frame = frame.with_columns(evaluated_score(nw.col(name), name, columns).alias(name))
    return with_calibrated_numbers(frame, columns)


def evaluated_score(score: nw.Expr, column: str, columns: Columns) -> nw.Expr:
    """Return the expression of the scores of a column as they are evaluated, from its numbers."""
    offset, divisor = columns.scale(column)
    number = score.cast(nw.Float64) / divisor
    number = number + offset if offset else number
    return logistic_expression(number) if column in columns.log_odds else number


def _with_numbers(
    profile: ColumnProfile, offset: float, divisor: float, *, log_odds: bool = False
) -> ColumnProfile:
    """Return a profile with its numbers divided, an offset added, and probabilities of log odds."""
    numbers = np.array([*profile.number_of_text.values()], np.float64) / divisor
    numbers = numbers + offset if offset else numbers
    numbers = inverse_logit(numbers) if log_odds else numbers
    spelling = dict(zip(profile.number_of_text, map(repr, numbers.tolist()), strict=True))
    scaled = replace(profile.with_spelling(spelling), pointed=True)
    return scaled if profile.counts else replace(scaled, counts={}, all_numbers=profile.all_numbers)
