"""What roles of columns mean in words, and the options that say them at the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clfeval.errors import join_texts, quote_name
from clfeval.records import dataclass, field
from clfeval.tables.columns import ModelColumns
from clfeval.tables.readings.candidate_columns import CandidateColumn
from clfeval.tables.readings.reading import Question
from clfeval.tables.readings.requirements import Role


@dataclass(frozen=True, slots=True)
class Assignment:
    """A role for each free column, and which of them were asked about."""

    roles: Mapping[str, Role]
    questioned: frozenset[str] = frozenset()
    separate: frozenset[str] = field(default_factory=frozenset)  # labels of no score


def answers(
    columns: Mapping[str, CandidateColumn],
    assignment: Assignment,
    models: Sequence[ModelColumns],
    *,
    two_classes: bool = False,
) -> tuple[dict[str, Any], list[str], list[Question]]:
    """Return the options, words and questions of the columns that were asked about.

    two_classes: of which a confidence gives the probability of the positive one.
    """
    options: dict[str, Any] = {}
    names_by_phrase: dict[Phrase, list[str]] = {}
    questions = list[Question]()
    declined_columns = list[str]()
    has_models = False
    confidence_of: dict[str, str] = {}
    for name in sorted(assignment.questioned, key=list(columns).index):
        column, role = columns[name], assignment.roles[name]
        questions.append(_question(column))
        label_models = [model.name for model in models if model.kind == "label"]
        is_evaluated = role == "confidence" and column.scale == "unit"
        if is_evaluated and two_classes and len(label_models) == 1:
            options["kind"] = "confidence"
            confidence_of[label_models[0]] = name
            names_by_phrase.setdefault(PROBABILITY, []).append(name)
            has_models = True
            continue
        names_by_phrase.setdefault(_phrase_of_role(column, role), []).append(name)
        if role in ("weight", "run", "cluster"):
            options[role] = name
        elif role in ("unused", "confidence"):
            declined_columns.append(name)
        else:
            has_models = True
    if has_models:
        options["model"] = tuple(
            f"{model.name}+{confidence_of[model.name]}"
            if model.name in confidence_of
            else _pinned_name(model)
            for model in models
        )
        for name, role in assignment.roles.items():
            is_fixed = name not in assignment.questioned
            if role == "weight" and is_fixed:
                options["weight"] = name  # --model leaves other columns out
            if (role in ("confidence", "weight") and is_fixed) or role == "labels":
                names_by_phrase.setdefault(_phrase_of_role(columns[name], role), []).append(name)
    elif declined_columns:
        options["ignore"] = tuple(declined_columns)
    phrases = [_write_phrase(phrase, names) for phrase, names in names_by_phrase.items()]
    return options, phrases, questions


Phrase = tuple[str, str]  # of one column, and of several, with {} in place of the names
PROBABILITY = (
    "{} is the probability of the class that is predicted",
    "{} are probabilities of the class that is predicted",
)
MOST_MODELS_NAMED = 4


def _write_phrase(phrase: Phrase, names: Sequence[str]) -> str:
    """Return what columns mean; columns that are left out are all named."""
    of_one, of_several = phrase
    quoted = [quote_name(name) for name in names]
    if len(names) == 1:
        return of_one.format(*quoted)
    if of_several == ARE_MODELS and len(names) > MOST_MODELS_NAMED:
        return of_several.format(join_texts(quoted, MOST_MODELS_NAMED - 1))
    return of_several.format(f"{', '.join(quoted[:-1])} and {quoted[-1]}")


def _pinned_name(model: ModelColumns) -> str:
    """Return the name of a model for --model, that of two columns if one is named like it."""
    if model.label_column is not None and model.kind == "score" and model.name == model.columns[0]:
        return f"{model.label_column}+{model.columns[0]}"
    return model.name


def _question(column: CandidateColumn) -> Question:
    """Return the question about a column."""
    if column.tags & {"weight", "count"} and column.kind != "label" and not column.predicts:
        return Question("which-role", "does it weight the rows?", column.name)
    if "run" in column.tags and not column.predicts:
        return Question("which-role", "is each of its values a run (fold, seed)?", column.name)
    if "cluster" in column.tags and not column.predicts:
        return Question("which-role", "are its values clusters of rows?", column.name)
    return Question("which-role", "is it a model?", column.name)


ARE_MODELS = "{} are models"


def _phrase_of_role(column: CandidateColumn, role: Role) -> Phrase:
    """Return what a role of a column means, with what is lost without it."""
    phrases: dict[str, Phrase] = {
        "model": ("{} is a model", ARE_MODELS),
        "labels": ("{} has the labels of a score", "{} have the labels of scores"),
        "confidence": (
            "{} is the confidence of the predicted class, which is not evaluated",
            "{} are confidences of the predicted class, which are not evaluated",
        ),
        "weight": ("{} weights the rows", "{} weight the rows"),
        "run": ("each value of {} is a run", "each value of {} is a run"),
        "cluster": ("rows with the same {} are one cluster", "rows with the same {} are a cluster"),
        "id": ("{} identifies the rows", "{} identify the rows"),
    }
    if role == "weight" and "count" in column.tags:
        return "{} counts equal rows", "{} count equal rows"
    if role in phrases:
        return phrases[role]
    kind_phrase = "labels" if column.kind == "label" else "scores"
    if {"weight", "count"} & column.tags:
        kind_phrase = "counts" if "count" in column.tags else "weights"
    elif "run" in column.tags:
        phrase = "all rows together, without the runs of {}"
        return phrase, phrase
    elif "cluster" in column.tags:
        phrase = "independent rows, without the clusters of {}"
        return phrase, phrase
    phrase = f"without the {kind_phrase} of {{}}"
    return phrase, phrase
