"""What weights of whole numbers are: counts of equal rows, or sampling weights of single rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from clfeval.errors import quote_name
from clfeval.records import replace
from clfeval.tables.input import InputOptions
from clfeval.tables.profiles import ColumnProfile
from clfeval.tables.readings.names import is_sampling_weight, tags_of
from clfeval.tables.readings.pair_facts import PairFacts
from clfeval.tables.readings.reading import Question, Reading

WeightKind = Literal["counts", "sampling"]
FEWEST = 10  # rows; of fewer nothing is known
FINE = 0.7  # different scores, as a share of the rows: rows with the same score were not merged


def with_weight_kind(reading: Reading, facts: PairFacts, options: InputOptions) -> list[Reading]:
    """Return a reading with each possible meaning of its weights; options: as they are given."""
    name = reading.roles.weight
    if name is None or name not in facts.profiles:
        return [reading]
    kinds = _kinds(reading, facts, options)
    if kinds == ["counts"]:
        return [reading]
    if kinds == ["sampling"]:
        return [replace(reading, roles=replace(reading.roles, sampling_weights=True))]
    example = f"{max(facts.profiles[name].numbers):g}"
    quoted_name = quote_name(name)
    meanings = {
        "counts": f"{quoted_name} counts equal rows: {example} are {example} rows",
        "sampling": f"{quoted_name} has sampling weights: a row with {example} is one row",
    }
    question = Question("which-role", "does it count equal rows, or weight sampled ones?", name)
    other_words = [text for text in reading.words if not text.startswith(f"{quoted_name} ")]
    return [
        replace(
            reading,
            roles=replace(
                reading.roles, sampling_weights=kind == "sampling", repeats=kind == "counts"
            ),
            options={**reading.options, "weight": f"{name}:{kind}"},
            words=[*other_words, meanings[kind]],
            questions=[*reading.questions, question],
        )
        for kind in kinds
    ]


def _kinds(reading: Reading, facts: PairFacts, options: InputOptions) -> list[WeightKind]:
    """Return what the weights of a reading may be."""
    name = str(reading.roles.weight)
    profile, input_options = facts.profiles[name], reading.roles
    if input_options.sampling_weights or input_options.repeats or not profile.is_integer:
        return ["counts"]  # as it is said; fractions are sampling weights anyway
    if is_sampling_weight(name):
        return ["sampling"]
    if "count" in tags_of(name) or max(profile.numbers, default=0) <= 1:
        return ["counts"]
    if profile.rows < FEWEST:
        return ["counts"]
    follows_truth = _is_constant_per_class(name, reading.columns.truth, facts)
    if follows_truth or (options.weight is None and not _are_merged_rows(name, facts)):
        return ["counts", "sampling"]
    return ["counts"]


def _is_constant_per_class(weight: str, truth: str, facts: PairFacts) -> bool:
    """Return whether all rows of a class have one weight, and the classes different ones."""
    cells = zip(facts.profiles[truth].sample, facts.profiles[weight].sample, strict=True)
    pairs = {(label, weight_text) for label, weight_text in cells if label and weight_text}
    labels = {label for label, _ in pairs}
    return len(pairs) == len(labels) > 1 and len({weight_text for _, weight_text in pairs}) > 1


def _are_merged_rows(weight: str, facts: PairFacts) -> bool:
    """Return whether equal rows were merged: all rows differ, but many have the same score."""
    other_columns = [name for name in facts.profiles if name != weight]
    if not facts.are_unique(other_columns) or any(
        facts.profiles[name].distinct for name in other_columns
    ):
        return False
    return not any(_is_fine(facts.profiles[name]) for name in other_columns)


def _is_fine(profile: ColumnProfile) -> bool:
    """Return whether a column of scores has another number in most rows."""
    cells: Sequence[str | None] = profile.sample
    return profile.mostly_numeric and len({*cells}) > FINE * len(cells)
