"""Scores on other scales: percentages, reversed ones, and those that a calibrator changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase

import numpy as np

from clfeval.errors import bad_option, list_names
from clfeval.placeholders import END, OPTION
from clfeval.records import replace
from clfeval.tables.columns import Columns, ModelColumns
from clfeval.tables.frames import Frame, nw
from clfeval.tables.input import Input
from clfeval.tables.profiles import ColumnProfile
from clfeval.tables.readings.calibrated_scores import (
    calibrated_profiles,
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


def percent_columns(profiles: Mapping[str, ColumnProfile], roles: Input) -> list[str]:
    """Return the columns of percentages: by --model NAME:percent, else by their names and values.

    Not those that have a threshold.
    """
    columns = _columns_of_sum_100(profiles, roles)
    for name, profile in profiles.items():
        is_said = any(fnmatchcase(name, pattern) for pattern in roles.percents)
        is_called_so = is_probability_name(name) and scale_of(profile) == "percent"
        is_called_so = is_called_so and profile.all_numbers and len(profile.texts) > FINE
        if name in columns or tags_of(name) & _NO_SCORES:
            continue
        if is_said or (is_called_so and not roles.has_threshold(name)):
            columns.append(name)
    return columns


def _columns_of_sum_100(profiles: Mapping[str, ColumnProfile], roles: Input) -> list[str]:
    """Return the columns of percentages that sum to 100 in every row: those of all classes."""
    names = [
        name
        for name, profile in profiles.items()
        if scale_of(profile) in ("percent", "whole", "real")
        and profile.all_numbers
        and len(profile.texts) > FINE
        and all(0 <= number <= HUNDRED for number in profile.numbers)
        and not roles.has_threshold(name)
    ]
    facts = PairFacts(profiles)
    if len(names) < 2 or len(profiles[names[0]].sample) < FEWEST_ROWS:
        return []
    total = np.sum([facts.numbers(name) for name in names], axis=0)
    return names if bool((np.abs(total - HUNDRED) <= ROUNDED * len(names)).all()) else []


def divided_profile(profile: ColumnProfile) -> ColumnProfile:
    """Return the profile of a column of percentages as of numbers in 0 to 1."""
    return _with_numbers(profile, 0.0, HUNDRED)


def with_scales(
    columns: Columns, profiles: Mapping[str, ColumnProfile], roles: Input, percents: Collection[str]
) -> Columns:
    """Return columns with the scales of their scores; profiles: percentages are divided already.

    With the models that are read through a calibrator. Raises UsageError for a reversed model that
    has no scores, and as `with_calibrated_models`.
    """
    scaled: dict[str, tuple[float, float]] = {}
    names = [name for model in columns.models for name in model.columns] + [columns.answer]
    scaled |= {name: (0.0, HUNDRED) for name in names if name in percents}
    for pattern in roles.turned:
        models = [model for model in columns.models if fnmatchcase(model.name, pattern)]
        if not models or any(model.kind != "score" or model.confidence for model in models):
            model_names = list_names([model.name for model in columns.models])
            message = (
                f"{OPTION}--model {pattern}:reversed{END} needs a model with one score per row"
            )
            raise bad_option(message, f"models: {model_names}")
        for model in models:
            _, divisor = scaled.get(model.columns[0], (0.0, 1.0))
            scaled[model.columns[0]] = (_offset_of_reversed(model, profiles), -divisor)
    columns = replace(columns, scaled=scaled)
    is_long = columns.answer != "" and not columns.models  # its models are found in the rows
    return columns if is_long else with_calibrated_models(columns, profiles, roles)


def _offset_of_reversed(model: ModelColumns, profiles: Mapping[str, ColumnProfile]) -> float:
    """Return 1 for scores in 0 to 1, which become 1 minus them, else 0."""
    return 1.0 if scale_of(profiles[model.columns[0]]) == "unit" else 0.0


def scaled_profiles(
    columns: Columns, profiles: Mapping[str, ColumnProfile]
) -> dict[str, ColumnProfile]:
    """Return the profiles of the columns with another scale, as their numbers are evaluated."""
    scaled = {
        name: _with_numbers(profiles[name], offset, divisor)
        for name, (offset, divisor) in columns.scaled.items()
    }
    return scaled | calibrated_profiles(columns, {**profiles, **scaled})


def with_scaled_numbers(frame: Frame, columns: Columns) -> Frame:
    """Return a frame with the scores as they are evaluated."""
    columns_of_frame = {*frame.collect_schema().names()}
    for name, (offset, divisor) in columns.scaled.items():
        if name in columns_of_frame:
            number = nw.col(name).cast(nw.Float64) / divisor
            frame = frame.with_columns((number + offset if offset else number).alias(name))
    return with_calibrated_numbers(frame, columns)


def _with_numbers(profile: ColumnProfile, offset: float, divisor: float) -> ColumnProfile:
    """Return a profile with its numbers divided, and an offset added."""
    spelling = {
        text: repr(offset + number / divisor if offset else number / divisor)
        for text, number in profile.number_of_text.items()
    }
    scaled = replace(profile.with_spelling(spelling), pointed=True)
    return scaled if profile.counts else replace(scaled, counts={}, all_numbers=profile.all_numbers)
