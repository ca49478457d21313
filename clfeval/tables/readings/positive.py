"""Which class is positive: what follows from its words, and what is offered where nothing does."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from clfeval.errors import join_texts, quote_name
from clfeval.records import dataclass, field, replace
from clfeval.tables.columns import ModelColumns
from clfeval.tables.frames import natural_sort_key
from clfeval.tables.input import InputOptions
from clfeval.tables.profiles import count_rows
from clfeval.tables.readings.labels import default_positive, guess_positive
from clfeval.tables.readings.notations import means_missing
from clfeval.tables.readings.pair_facts import PairFacts
from clfeval.tables.readings.reading import Question, Reading

MOST_CLASSES = 20  # of more none is asked about


@dataclass(frozen=True, slots=True)
class PositiveChoice:
    """An answer to the question which class is positive: options, and what it means."""

    options: Mapping[str, Any] = field(default_factory=dict)
    words: str = ""


def is_multiclass(
    classes: Iterable[str], input_options: InputOptions, models: Iterable[ModelColumns] = ()
) -> bool:
    """Return whether truth, --classes and probability columns have more than two classes in all.

    False if a positive class is declared, or a model has one score per row.
    """
    if not input_options.several or input_options.positive is not None:
        return False
    models = list(models)
    if any(model.kind == "score" for model in models):
        return False
    labels = {*classes, *input_options.classes}
    return len(labels.union(*(model.classes for model in models if model.kind == "classes"))) > 2


def positive_choices(
    truth: str,
    counts: Mapping[str, int],
    input_options: InputOptions,
    models: Sequence[ModelColumns],
    predicted: Collection[str] = (),
) -> list[PositiveChoice]:
    """Return the possible positive classes, the likeliest first; one without options if known.

    counts: rows of each class of truth; predicted: labels that models predict. A class is not asked
    for where a word for missing values, or two spellings of a class, has to be settled first.
    """
    no_choice = [PositiveChoice()]
    if (
        input_options.positive is not None
        or is_multiclass(counts, input_options, models)
        or len(counts) < 1
    ):
        return no_choice
    if default_positive(counts) is not None or _is_unsettled(counts, input_options):
        return no_choice
    if len(counts) > MOST_CLASSES or (input_options.several and len({*counts, *predicted}) > 2):
        return no_choice  # refused as numbers, or of many classes where the others are declared
    class_of_number = {_whole_number(name): name for name in counts}
    if class_of_number.keys() == {-1, 0, 1}:
        return _choices_of_three_values(
            truth, class_of_number[-1], class_of_number[0], class_of_number[1]
        )
    guess, _ = guess_positive(counts)
    ordered_classes = [guess, *sorted({*counts} - {guess}, key=lambda name: (counts[name], name))]
    return [_positive(name, counts) for name in ordered_classes]


def _positive(name: str, counts: Mapping[str, int]) -> PositiveChoice:
    """Return the choice of a class; all others are negative."""
    meaning = f"{quote_name(name)} is positive"
    if len(counts) > 2:
        meaning += f", the {len(counts) - 1} other classes are negative"
    return PositiveChoice({"positive": name}, meaning)


def _choices_of_three_values(truth: str, minus: str, no: str, yes: str) -> list[PositiveChoice]:
    """Return the choices of -1, 0 and 1: -1 may be unknown, or one more negative class."""
    escaped_truth = truth.replace('"', '""')
    condition = f"\"{escaped_truth}\" = '{no}' or \"{escaped_truth}\" = '{yes}'"
    quoted_minus = quote_name(minus)
    return [
        PositiveChoice({"where": condition, "positive": yes}, f"only the rows with {no} or {yes}"),
        PositiveChoice(
            {"positive": yes}, f"{quote_name(yes)} is positive, {quoted_minus} is negative"
        ),
    ]


def _whole_number(text: str) -> int | None:
    """Return the whole number that a text is; None for other texts."""
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if number.is_integer() else None


def _is_unsettled(counts: Mapping[str, int], input_options: InputOptions) -> bool:
    """Return whether classes have to be merged, or a word for missing values to be declared."""
    declared = {*input_options.classes}
    folded = {name.strip().lower() for name in counts}
    missing_words = [name for name in counts if means_missing(name) and name not in declared]
    return len(folded) < len(counts) or (
        bool(missing_words) and len(counts) - len(missing_words) > 1
    )


def positive_question(counts: Mapping[str, int]) -> Question:
    """Return the question which class is positive, with the rows of each."""
    classes = sorted(counts, key=natural_sort_key)
    class_phrases = [f"{quote_name(name)} ({count_rows(counts[name])})" for name in classes]
    return Question(
        "positive-needed", f"which class is positive? truth has {join_texts(class_phrases)}"
    )


def with_upper_label(reading: Reading, counts: Mapping[str, int], facts: PairFacts) -> Reading:
    """Return a reading with the label of high scores as positive, if nothing else says which is."""
    input_options = reading.roles
    if (
        input_options.positive is not None
        or default_positive(counts) is not None
        or len(counts) != 2
    ):
        return reading
    top_labels = {
        facts.upper_label(model.label_column, model.columns[0])
        for model in reading.columns.models
        if model.label_column is not None and model.kind == "score" and not model.confidence
    }
    top_labels |= {model.classes[0] for model in reading.columns.models if len(model.classes) == 1}
    upper_classes = top_labels & {*counts}
    if len(upper_classes) != 1:
        return reading
    return replace(reading, roles=replace(input_options, positive=upper_classes.pop()))
