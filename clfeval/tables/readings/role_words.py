"""What roles of columns mean in words, and the options that say them at the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clfeval.errors import quote_name
from clfeval.records import dataclass, field
from clfeval.tables.columns import ModelColumns
from clfeval.tables.readings.reading import Question
from clfeval.tables.readings.requirements import CandidateColumn, Role


@dataclass(frozen=True, slots=True)
class Assignment:
    """A role for each free column, and which of them were asked about."""

    roles: Mapping[str, Role]
    asked: frozenset[str] = frozenset()
    apart: frozenset[str] = field(default_factory=frozenset)  # labels of no score


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
    words, questions, declined, has_models = list[str](), list[Question](), list[str](), False
    confidence_of: dict[str, str] = {}
    for name in sorted(assignment.asked, key=list(columns).index):
        column, role = columns[name], assignment.roles[name]
        questions.append(_question(column))
        labels = [model.name for model in models if model.kind == "label"]
        if role == "confidence" and two_classes and len(labels) == 1:
            options["kind"] = "confidence"
            confidence_of[labels[0]] = name
            words.append(f"{quote_name(name)} is the probability of the class that is predicted")
            has_models = True
            continue
        words.append(_words_of_role(column, role))
        if role in ("weight", "run", "cluster"):
            options[role] = name
        elif role in ("unused", "confidence"):
            declined.append(name)
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
            if (role == "confidence" and name not in assignment.asked) or role == "labels":
                words.append(_words_of_role(columns[name], role))
    elif declined:
        options["ignore"] = tuple(declined)
    return options, words, questions


def _pinned_name(model: ModelColumns) -> str:
    """Return the name of a model for --model, that of two columns if one is named like it."""
    if model.beside is not None and model.kind == "score" and model.name == model.columns[0]:
        return f"{model.beside}+{model.columns[0]}"
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


def _words_of_role(column: CandidateColumn, role: Role) -> str:
    """Return what a role of a column means, with what is lost without it."""
    name = quote_name(column.name)
    meanings = {
        "model": f"{name} is a model",
        "labels": f"{name} has the labels of a score",
        "confidence": f"{name} is the confidence of the predicted class, which is not evaluated",
        "weight": f"{name} weights the rows",
        "run": f"each value of {name} is a run",
        "cluster": f"rows with the same {name} are one cluster",
        "id": f"{name} identifies the rows",
    }
    if role in meanings:
        if role == "weight" and "count" in column.tags:
            return f"{name} counts equal rows"
        return meanings[role]
    lost = "labels" if column.kind == "label" else "scores"
    if {"weight", "count"} & column.tags:
        lost = "counts" if "count" in column.tags else "weights"
    elif "run" in column.tags:
        return f"all rows together, without the runs of {name}"
    elif "cluster" in column.tags:
        return f"independent rows, without the clusters of {name}"
    return f"without the {lost} of {name}"
