"""Labels that a tool spells otherwise than truth: `LABEL_1` of 1, `POSITIVE` of positive."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from clfeval.errors import DataError, list_names, quote_name
from clfeval.tables.formats.frames import numbered_frame, with_frame
from clfeval.tables.formats.record import Converted, FormatTable
from clfeval.tables.frames import pl
from clfeval.tables.readings.labels import spelling_as_truth
from clfeval.tables.readings.names import tags_of
from clfeval.tables.readings.truths import has_classes, named_truth

MOST_CLASSES = 20
_NUMBERED = r"LABEL_(\d+)"
_PIPELINE = ("NEGATIVE", "NEUTRAL", "POSITIVE")
FEWEST_ROWS = 10  # fewer confidences may be probabilities of a class by chance
_WORDS = {"negative": "0", "positive": "1", "neg": "0", "pos": "1"}


def convert_spelling(table: FormatTable, columns: Mapping[str, Sequence[str]]) -> Converted | None:
    """Return the table with predicted labels as truth spells them; DataError where none follows."""
    labels, scores = (names[0] for names in columns.values())
    if table.options.truth in (labels, scores) or table.joined:
        return None
    truth = _truth_of_labels(table, labels, scores)
    texts = table.profiles[labels].texts
    if truth is None:
        _refuse_lone_predictions(table, labels, scores)
        return None
    classes = table.profiles[truth].texts
    spelling = _spelling(texts, classes)
    if spelling is None:
        if not _are_of_pipeline(texts) or not has_classes(table.profiles[truth], MOST_CLASSES):
            return None
        message = f"{list_names(sorted(texts), 3)} are other names of classes than those of "
        message += f"{quote_name(truth)}: {list_names(sorted(classes), 3)}"
        hint = "write the names of the model's id2label into the column"
        raise DataError.new(message, "numbered-classes", table.file.name, None, labels, hint=hint)
    options = {"truth": truth}
    if all(text == label for text, label in spelling.items()):
        return Converted(table.file, options)
    text = pl.col(labels).cast(pl.String)
    frame = numbered_frame(table.file).with_columns(
        text.replace_strict(spelling, default=text).alias(labels)
    )
    return Converted(with_frame(table.file, frame, table.file.columns), options)


def _refuse_lone_predictions(table: FormatTable, labels: str, scores: str) -> None:
    """Raise for labels and their confidences without a column of truth."""
    profile = table.profiles[labels]
    named_so = _are_of_pipeline(profile.texts)
    lowest = min(table.profiles[scores].numbers, default=0.0)
    if named_so and lowest >= 1 / len(profile.texts) and profile.rows >= FEWEST_ROWS:
        message = f"'{labels}' and '{scores}' are predictions of a pipeline, without true classes"
        hint = f"add a column of true classes; if '{labels}' has them, name it truth"
        raise DataError.new(message, "no-truth", table.file.name, hint=hint)


def _are_of_pipeline(texts: Collection[str]) -> bool:
    """Return whether all labels are called as pipelines call them: `LABEL_1`, `POSITIVE`."""
    return all(re.fullmatch(_NUMBERED, text) or text in _PIPELINE for text in texts)


def _truth_of_labels(table: FormatTable, labels: str, scores: str) -> str | None:
    """Return the column of truth: named so, or the only other one of classes; None if unknown."""
    others = [
        name
        for name in table.names
        if name not in (labels, scores) and "prediction" not in tags_of(name)
    ]
    profiles = {name: table.profiles[name] for name in others}
    truth = named_truth(profiles, table.options)
    if truth in profiles:
        return truth
    texts = table.profiles[labels].texts
    likely = [
        name
        for name in others
        if has_classes(profiles[name], MOST_CLASSES)
        and _spelling(texts, profiles[name].texts) is not None
    ]
    return likely[0] if len(likely) == 1 else None


def _spelling(texts: Collection[str], classes: Collection[str]) -> dict[str, str] | None:
    """Return truth's spelling of each label; None if a label is none of truth's."""
    spelled = spelling_as_truth(texts, classes)
    folded = {name.strip().casefold(): name for name in classes}
    if len(folded) < len(classes) or not 1 < len(classes) <= MOST_CLASSES:
        return None
    numbers = spelling_as_truth({"0", "1"}, classes)
    for text in texts:
        plain = text.strip().casefold()
        numbered = re.fullmatch(_NUMBERED, text)
        if text in spelled:
            continue
        if plain in folded:
            spelled[text] = folded[plain]
        elif numbered:
            as_number = spelling_as_truth({numbered[1]}, classes)
            spelled.update((text, label) for label in as_number.values())
        elif plain in _WORDS and len(numbers) == len(classes) == 2:
            spelled[text] = numbers[_WORDS[plain]]
    if {*texts} - spelled.keys() or len({*spelled.values()}) < len(spelled):
        return None
    return {text: spelled[text] for text in texts}
