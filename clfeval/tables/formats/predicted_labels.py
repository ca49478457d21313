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


def convert_spelling(
    table: FormatTable, columns_by_pattern: Mapping[str, Sequence[str]]
) -> Converted | None:
    """Return the table with predicted labels as truth spells them; DataError where none follows."""
    label_column, score_column = (names[0] for names in columns_by_pattern.values())
    if table.options.truth in (label_column, score_column) or table.joined:
        return None
    truth_column = _truth_of_labels(table, label_column, score_column)
    label_texts = table.profiles[label_column].texts
    if truth_column is None:
        _refuse_lone_predictions(table, label_column, score_column)
        return None
    classes = table.profiles[truth_column].texts
    spelling = _spelling(label_texts, classes)
    if spelling is None:
        if not _are_of_pipeline(label_texts) or not has_classes(
            table.profiles[truth_column], MOST_CLASSES
        ):
            return None
        message = f"{list_names(sorted(label_texts), 3)} are other names of classes than those of "
        message += f"{quote_name(truth_column)}: {list_names(sorted(classes), 3)}"
        hint = "write the names of the model's id2label into the column"
        raise DataError.new(
            message, "numbered-classes", table.file.name, None, label_column, hint=hint
        )
    options = {"truth": truth_column}
    if all(text == label for text, label in spelling.items()):
        return Converted(table.file, options)
    label_expr = pl.col(label_column).cast(pl.String)
    frame = numbered_frame(table.file).with_columns(
        label_expr.replace_strict(spelling, default=label_expr).alias(label_column)
    )
    return Converted(with_frame(table.file, frame, table.file.columns), options)


def _refuse_lone_predictions(table: FormatTable, label_column: str, score_column: str) -> None:
    """Raise for labels and their confidences without a column of truth."""
    profile = table.profiles[label_column]
    has_pipeline_names = _are_of_pipeline(profile.texts)
    lowest_score = min(table.profiles[score_column].numbers, default=0.0)
    if (
        has_pipeline_names
        and lowest_score >= 1 / len(profile.texts)
        and profile.rows >= FEWEST_ROWS
    ):
        message = f"'{label_column}' and '{score_column}' are predictions of a pipeline, "
        message += "without true classes"
        hint = f"add a column of true classes; if '{label_column}' has them, name it truth"
        raise DataError.new(message, "no-truth", table.file.name, hint=hint)


def _are_of_pipeline(texts: Collection[str]) -> bool:
    """Return whether all labels are called as pipelines call them: `LABEL_1`, `POSITIVE`."""
    return all(re.fullmatch(_NUMBERED, text) or text in _PIPELINE for text in texts)


def _truth_of_labels(table: FormatTable, label_column: str, score_column: str) -> str | None:
    """Return the column of truth: named so, or the only other one of classes; None if unknown."""
    other_columns = [
        name
        for name in table.names
        if name not in (label_column, score_column) and "prediction" not in tags_of(name)
    ]
    profiles = {name: table.profiles[name] for name in other_columns}
    truth_column = named_truth(profiles, table.options)
    if truth_column in profiles:
        return truth_column
    label_texts = table.profiles[label_column].texts
    likely_columns = [
        name
        for name in other_columns
        if has_classes(profiles[name], MOST_CLASSES)
        and _spelling(label_texts, profiles[name].texts) is not None
    ]
    return likely_columns[0] if len(likely_columns) == 1 else None


def _spelling(texts: Collection[str], classes: Collection[str]) -> dict[str, str] | None:
    """Return truth's spelling of each label; None if a label is none of truth's."""
    label_of_text = spelling_as_truth(texts, classes)
    label_of_folded = {name.strip().casefold(): name for name in classes}
    if len(label_of_folded) < len(classes) or not 1 < len(classes) <= MOST_CLASSES:
        return None
    label_of_bit = spelling_as_truth({"0", "1"}, classes)
    for text in texts:
        folded_text = text.strip().casefold()
        number_match = re.fullmatch(_NUMBERED, text)
        if text in label_of_text:
            continue
        if folded_text in label_of_folded:
            label_of_text[text] = label_of_folded[folded_text]
        elif number_match:
            labels_of_number = spelling_as_truth({number_match[1]}, classes)
            label_of_text.update((text, label) for label in labels_of_number.values())
        elif folded_text in _WORDS and len(label_of_bit) == len(classes) == 2:
            label_of_text[text] = label_of_bit[_WORDS[folded_text]]
    if {*texts} - label_of_text.keys() or len({*label_of_text.values()}) < len(label_of_text):
        return None
    return {text: label_of_text[text] for text in texts}
