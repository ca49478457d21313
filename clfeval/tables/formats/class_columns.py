"""Columns of several classes: logits, probabilities by number, and one 0/1 column per class."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain

from clfeval.errors import DataError, join_texts, list_names, quote_name
from clfeval.tables.formats.frames import replaced_columns
from clfeval.tables.formats.record import Converted, FormatTable
from clfeval.tables.frames import pl
from clfeval.tables.profiles import NEAR_ONE
from clfeval.tables.readings.labels import positive_of_words, spelling_as_truth
from clfeval.tables.readings.pair_facts import PairFacts
from clfeval.tables.readings.truths import truth_candidates

LOGITS = r"(?i)(.*?[\W_])?logits?[\W_]*(\w.*)"  # rf_logit_1: a model and a class
NUMBERS = r"\d+"
DIGITS = 10  # of a difference of logits: more are errors of binary numbers


def _classes_of_truth(
    table: FormatTable, model_columns: Sequence[str]
) -> tuple[str, list[str]] | None:
    """Return the column of truth and its classes in order; None if nothing says which it is."""
    profiles = {name: table.profiles[name] for name in table.names if name not in model_columns}
    truth_columns = [table.options.truth] if table.options.truth is not None else []
    if not truth_columns:
        candidates = truth_candidates(profiles, table.options, PairFacts(profiles))
        truth_columns = [candidate.name for candidate in candidates]
    if len(truth_columns) != 1 or truth_columns[0] not in profiles:
        return None
    return truth_columns[0], sorted(profiles[truth_columns[0]].texts)


def convert_logits(
    table: FormatTable, columns_by_pattern: Mapping[str, Sequence[str]]
) -> Converted | None:
    """Return the table with the softmax of the logits of each model in their columns.

    The softmax of two logits is the logistic function of their difference, and ranks as it does.
    """
    logit_columns = list(chain(*columns_by_pattern.values()))
    columns_of_model: dict[str, list[str]] = {}
    for name in logit_columns:
        match = re.fullmatch(LOGITS, name)
        assert match is not None
        columns_of_model.setdefault(match[1] or "", []).append(name)
    column_sets = [column_set for column_set in columns_of_model.values() if len(column_set) > 1]
    numbers = [number for name in chain(*column_sets) for number in table.profiles[name].numbers]
    if all(0 <= number <= NEAR_ONE for number in numbers):  # no logits, or none of several classes
        return None
    softmax_names = list(chain(*column_sets))
    _refuse_numbered_classes(table, softmax_names, LOGITS)
    if not all(_are_named_by_class(table, column_set) for column_set in column_sets):
        return None
    expressions = list(chain(*map(_softmax, column_sets)))
    converted = replaced_columns(table.file, softmax_names, expressions, softmax_names)
    remark = f"class probabilities are the softmax of {list_names(softmax_names, 4)}"
    return Converted(converted, {}, remark)


def _are_named_by_class(table: FormatTable, names: Sequence[str]) -> bool:
    """Return whether logits are named by the classes of truth; DataError for other words of these.

    Else they may be those of several models.
    """
    name_classes = [name_class.casefold() for name_class in _classes_in(names, LOGITS)]
    truth_and_classes = _classes_of_truth(table, names)
    if truth_and_classes is None:
        return name_classes == [str(number) for number in range(len(name_classes))]
    truth_column, labels = truth_and_classes
    classes = {label.casefold() for label in labels}
    spelled_classes = {
        name_class for name_class in name_classes if spelling_as_truth({name_class}, labels)
    }
    if classes <= {*name_classes} or len(spelled_classes) == len(name_classes) >= len(classes):
        return True
    if positive_of_words(name_classes) is None:
        return False
    message = f"{list_names(names, 3)} name the classes otherwise than {quote_name(truth_column)}"
    hint = f"name the columns by class, such as logit_{labels[0]}"
    raise DataError.new(message, "numbered-classes", table.file.name, 1, names[0], hint=hint)


def _classes_in(names: Sequence[str], pattern: str) -> list[str]:
    """Return the class in the name of each column, the second group of a pattern."""
    matches = [re.fullmatch(pattern, name) for name in names]
    return [match[2] for match in matches if match is not None]


def _softmax(names: Sequence[str]) -> list[pl.Expr]:
    """Return exp(x) over the sum of all exp(x) for each of some columns, missing where one is.

    Differences are rounded, so that those equal in decimal numbers remain ties.
    """
    numbers = [pl.col(name).cast(pl.Float64, strict=False) for name in names]
    largest = pl.max_horizontal(numbers)
    exponentials = [(number - largest).round(DIGITS).exp() for number in numbers]
    sum_of_exponentials = pl.sum_horizontal(exponentials, ignore_nulls=False)
    return [
        (exponential / sum_of_exponentials).alias(name)
        for name, exponential in zip(names, exponentials, strict=True)
    ]


def convert_numbered(
    table: FormatTable, columns_by_pattern: Mapping[str, Sequence[str]]
) -> Converted | None:
    """Raise for probabilities in columns of numbers if the classes of truth have names."""
    names = list(chain(*columns_by_pattern.values()))
    class_numbers = sorted(map(int, names))
    facts = PairFacts(table.profiles)
    if len(names) > 1 and class_numbers == list(range(len(names))) and facts.sum_to_one(names):
        _refuse_numbered_classes(table, names, f"()({NUMBERS})")
    return None


def _refuse_numbered_classes(table: FormatTable, names: Sequence[str], pattern: str) -> None:
    """Raise where columns number the classes, but truth names them: which number is which class?

    pattern: of their names; its second group is the class.
    """
    name_classes = _classes_in(names, pattern)
    truth_and_classes = _classes_of_truth(table, names)
    if truth_and_classes is None or not all(class_text.isdecimal() for class_text in name_classes):
        return
    truth_column, classes = truth_and_classes
    profile = table.profiles[truth_column]
    if profile.all_numbers or {*profile.texts} & {*name_classes}:
        return
    if {label.casefold() for label in classes} <= {"false", "true"}:
        return
    message = (
        f"{list_names(names, 3)} number the classes, but {quote_name(truth_column)} names them"
    )
    examples = [
        f"'{name}' may be that of {quote_name(label)}"
        for name, label in zip(names, classes, strict=False)
    ]
    hint = f"name the columns by class, such as prob_{classes[0]}; sorted by name, as scikit-learn "
    hint += f"does, {join_texts(examples[:2])}"
    raise DataError.new(message, "numbered-classes", table.file.name, 1, names[0], hint=hint)
