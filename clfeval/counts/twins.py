"""Labels that are doubtful: nearly the same as others, or words for missing values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from clfeval.errors import DataError, Problem, bad_option, join_texts, list_names
from clfeval.shell import format_option, quote_word
from clfeval.tables.cells import missing_word_hint
from clfeval.tables.input import Input
from clfeval.tables.peek import is_score
from clfeval.tables.prediction import ModelColumns

MAX_LABELS_IN_HINT = 4  # labels in a hint


def refuse_missing_words(
    file: str,
    truth: str,
    classes: Mapping[str, int],
    roles: Input,
    models: Iterable[ModelColumns],
    predicted: Collection[str],
) -> None:
    """Raise for a word of missing values that would be a third class.

    Not if declared, positive, with a column of probabilities, or predicted among text labels.
    """
    named = {name for name in classes if not missing_word_hint(name) and not is_score(name)}
    said = {*roles.classes, roles.positive, *(predicted if named else ())}.union(
        *(model.classes for model in models)
    )
    words = [name for name in classes if missing_word_hint(name) and name not in said]
    if words and len(classes) - len(words) > 1:
        rows = join_texts([f"'{word}' ({classes[word]:,})" for word in words])
        what = f"is this a class or a missing value: {rows}?"
        flags = " ".join(format_option("--classes", word) for word in words)
        gap = format_option("--null-value", words[0])
        hint = f"add {gap} if it is missing, or {flags} if it is a class"
        fixes = {"null_value": tuple(words)}
        raise DataError.new(what, "missing-word", file, None, truth, hint=hint, fixes=fixes)


def refuse_comma_joined_classes(classes: Collection[str], roles: Input) -> None:
    """Raise UsageError for `--classes a,b,c` where several of these are classes, and it is none."""
    for label in roles.classes:
        parts = [part.strip() for part in label.split(",")]
        if label not in classes and len({*parts} & {*classes}) > 1:
            hint = "name each one: " + " ".join(format_option("--classes", part) for part in parts)
            raise bad_option(
                f"--classes {quote_word(label)} names one class, which truth does not have", hint
            )


def refuse_similar_labels(
    file: str, truth: str, classes: Mapping[str, int], roles: Input,
    models: Iterable[ModelColumns] = (), others: Mapping[str, Collection[str]] | None = None,
    predicted: Collection[str] = (),
) -> None:  # fmt: skip
    """Raise for labels that differ only by capitals or by spaces around them.

    Not if all are declared. classes: rows of each label of truth; others: further labels by column.
    predicted: labels that some model predicts.
    """
    refuse_comma_joined_classes(classes, roles)
    refuse_missing_words(file, truth, classes, roles, models, predicted)

    def twins(labels: Iterable[str]) -> list[list[str]]:
        alike: dict[str, list[str]] = {}
        for label in labels:
            alike.setdefault(label.strip().lower(), []).append(label)
        return [
            same for same in alike.values() if len(same) > 1 and not {*same} <= {*roles.classes}
        ]

    found = [
        (truth, join_texts([f"'{label}' ({classes[label]:,})" for label in same]), same)
        for same in twins(classes)
    ]
    for column, strange in (others or {}).items():
        found += [
            (column, list_names(same), same)
            for same in twins([*classes, *sorted(strange)])
            if {*same} & {*strange}
        ]
    if not found:
        return
    what = "labels differ only in case or outer spaces: "
    problems = [Problem(what + text, "label-twins", file, None, at) for at, text, _ in found]
    every = list(dict.fromkeys(label for _, _, same in found for label in same))
    keep = " ".join(format_option("--classes", label) for label in every[:MAX_LABELS_IN_HINT])
    hint = f"add --fold-labels to merge them, or {keep} to keep them separate"
    raise DataError(problems, hint=hint, fixes={"fold_labels": True})
