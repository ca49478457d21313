"""The choice of a reading: the only one is taken, several are offered, none is an error."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import product

from clfeval.errors import (
    DataError,
    OfferedReading,
    Problem,
    format_option,
    join_texts,
    list_names,
    quote_name,
)
from clfeval.placeholders import END, OPTION
from clfeval.records import replace
from clfeval.tables.input import ColumnNames, find_column
from clfeval.tables.profiles import ColumnProfiles
from clfeval.tables.readings.labels import PAIRS
from clfeval.tables.readings.names import tags_of
from clfeval.tables.readings.reading import MOST_OFFERED, Reading

METRICS = {"accuracy", "precision", "recall", "f1", "auc", "roc_auc", "mcc", "log_loss", "brier"}
# names of truth in a multilabel table, with one truth column per label
_TRUE = rf"(?:{'|'.join(ColumnNames.TRUTH)}|true|gt|gold)"
_LABEL_OF_MODEL = r"(?i)(.*\S)[_ .:-]+label"
_OF_LABEL = rf"(?i)\s*{_TRUE}[_ .:-]+\S.*|.*\S[_ .:-]+{_TRUE}\s*"


def distinct_readings(readings: Iterable[Reading]) -> list[Reading]:
    """Return the readings without those that give the same numbers as an earlier one."""
    # a dict keeps the last of equal readings: in reverse order, that is the first one
    last_to_first = {reading.numbers: reading for reading in reversed(list(readings))}
    return list(last_to_first.values())[::-1]


def choose_reading(file: str, profiles: ColumnProfiles, readings: Sequence[Reading]) -> Reading:
    """Return the only reading of a table whose truth is known; else raise DataError.

    The error offers the readings that are left, at most four, each with its options.
    """
    distinct = distinct_readings(readings)
    if len(distinct) == 1 and distinct[0].is_sure and not distinct[0].options:
        return distinct[0]
    if not distinct:
        raise no_truth_error(file, profiles)
    raise several_readings_error(file, profiles, distinct)


def several_readings_error(
    file: str, profiles: ColumnProfiles, readings: Sequence[Reading]
) -> DataError:
    """Build the error with the readings that are offered."""
    truths = list(dict.fromkeys(reading.columns.truth for reading in readings))
    is_by_values = not readings[0].is_sure
    if is_by_values or len(truths) > 1:
        readings = [_with_truth(reading) for reading in readings]
    problems = _problems(file, profiles, readings, truths)
    offered_readings = [
        OfferedReading(reading.meaning, reading.options) for reading in readings[:MOST_OFFERED]
    ]
    return DataError(problems, readings=offered_readings, further=_further_readings(readings))


def _with_truth(reading: Reading) -> Reading:
    """Return a reading that says its column of truth."""
    truth = reading.columns.truth
    if "truth" in reading.options:
        return reading
    return replace(
        reading,
        options={"truth": truth, **reading.options},
        words=[f"{quote_name(truth)} is truth", *reading.words],
    )


def _problems(
    file: str, profiles: ColumnProfiles, readings: Sequence[Reading], truths: Sequence[str]
) -> list[Problem]:
    """Return the questions of all readings as problems."""
    problems = []
    if not readings[0].is_sure:
        message = f"no truth column; columns: {list_names(profiles)}"
        problems.append(Problem(message, "no-truth", file))
    elif len(truths) > 1:
        message = f"which column is truth: {list_names(truths)}?"
        problems.append(Problem(message, "which-truth", file))
    for reading in readings:
        for question in reading.questions:
            problems.append(Problem(question.text, question.code, file, None, question.column))
    return list(dict.fromkeys(problems))


def _further_readings(readings: Sequence[Reading]) -> str | None:
    """Return the options and values of the readings that are not offered; None if all are."""
    other_readings = readings[MOST_OFFERED:]
    if not other_readings:
        return None
    offered_readings = readings[:MOST_OFFERED]
    option_phrases = []
    for name in ("truth", "positive", "weight"):
        values = [
            str(reading.options[name]) for reading in other_readings if name in reading.options
        ]
        offered_values = {str(reading.options.get(name)) for reading in offered_readings}
        other_values = [value for value in dict.fromkeys(values) if value not in offered_values]
        if other_values:
            quoted_values = [quote_name(value) for value in other_values]
            option_phrases.append(f"{OPTION}--{name}{END} with {join_texts(quoted_values, 5)}")
    option_phrases = option_phrases or [
        f"name each model with {OPTION}--model{END}, or leave columns out with "
        f"{OPTION}--ignore{END}"
    ]
    return f"{len(other_readings)} more: " + ", or ".join(option_phrases)


def no_truth_error(file: str, profiles: ColumnProfiles) -> DataError:
    """Build the error of a table in which no column can be truth."""
    message = f"no truth column; columns: {list_names(profiles)}"
    hint = f"add {OPTION}--truth COLUMN{END} to name it"
    label_truths = [name for name in profiles if re.fullmatch(_OF_LABEL, name)]
    label_truths = label_truths or columns_of_labels(profiles)
    if all(find_column(profiles, (name,)) for name in ("sensitivity", "specificity")):
        hint = (
            "if these are rates, run clfeval tune-jpt with counts (columns model, tp, fp, fn, "
            f"tn), or with {OPTION}--sensitivity 0.9{END} {OPTION}--specificity 0.8{END}; clfeval "
            "mlcps ranks models by rates"
        )
    elif is_table_of_metrics(profiles):
        hint = (
            "if this is a table of metrics, run clfeval mlcps; otherwise add "
            f"{OPTION}--truth COLUMN{END}"
        )
    elif len(label_truths) > 1:
        hint = (
            f"if {list_names(label_truths, 3)} are labels, write one row per label, with columns "
            f"row, label, truth and prediction, then add {OPTION}--by label{END} "
            f"{OPTION}--cluster row{END} {OPTION}--positive 1{END}; otherwise add "
            f"{OPTION}--truth COLUMN{END}"
        )
        return DataError.new(message, "multi-label", file, 1, label_truths[1], hint=hint)
    return DataError.new(message, "no-truth", file, hint=hint)


def no_models_error(file: str, columns: Collection[str]) -> DataError:
    """Build the error of a wide table without a column that can be a model."""
    message = f"no model columns; columns: {list_names(columns)}"
    hint = "a wide table has a truth column and one column per model"
    if row_id := find_column(columns, ColumnNames.ID):
        join_flag = format_option("--join", row_id)
        hint += f"; if predictions are in another file, name both files and add {join_flag}"
    return DataError.new(message, "no-models", file, hint=hint)


def is_table_of_metrics(names: Iterable[str]) -> bool:
    """Return whether several columns have names of measures, or both rates are there."""
    columns = list(names)
    has_rates = all(find_column(columns, (name,)) for name in ("sensitivity", "specificity"))
    return has_rates or sum(name.strip().casefold() in METRICS for name in columns) > 1


def has_columns_of_labels(profiles: ColumnProfiles) -> bool:
    """Return whether a table has one column of truth for each of several labels."""
    label_columns = [name for name in profiles if re.fullmatch(_OF_LABEL, name)]
    if len(label_columns) > 1:
        return not _are_predicted(label_columns, profiles)
    return len(columns_of_labels(profiles)) > 1


def _are_predicted(label_columns: Sequence[str], profiles: ColumnProfiles) -> bool:
    """Return whether labels such as `rf_label` are predicted: with a score each, and a truth.

    Another column, which may be their truth, has the same values.
    """
    stem_matches = [re.fullmatch(_LABEL_OF_MODEL, name) for name in label_columns]
    if not all(
        stem_match and any(_is_score_of(stem_match[1], name) for name in profiles)
        for stem_match in stem_matches
    ):
        return False
    predicted_labels = frozenset().union(*(profiles[name].texts for name in label_columns))
    other_columns = [name for name in profiles if name not in label_columns]
    return any(predicted_labels <= profiles[name].texts for name in other_columns)


def _is_score_of(stem: str, name: str) -> bool:
    """Return whether a column is called like the scores of a model, such as `rf_prob` of `rf`."""
    return name.startswith(stem) and "prediction" in tags_of(name) and "label" not in name


def columns_of_labels(profiles: ColumnProfiles) -> list[str]:
    """Return 0/1 columns whose names end those of others, as `sun` in `m_sun`: multilabel."""
    bit_columns = [
        name for name, column in profiles.items() if name and column.texts <= {*PAIRS[0]}
    ]
    labels_of_model: dict[str, list[str]] = {}
    for label, name in product(bit_columns, bit_columns):
        match = re.fullmatch(rf"(.*\S)[_ .:-]{re.escape(label)}", name)
        if match:
            labels_of_model.setdefault(match[1], []).append(label)
    return max(labels_of_model.values(), key=len, default=[])
