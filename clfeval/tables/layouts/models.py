"""Which columns of a wide table are models: labels, scores, both of one, or class probabilities."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from clfeval.errors import DataError, Problem
from clfeval.shell import format_option
from clfeval.tables.cells import natural_sort_key
from clfeval.tables.input import Input
from clfeval.tables.layouts.by_class import columns_by_class
from clfeval.tables.peek import ColumnPeek
from clfeval.tables.prediction import ModelColumns, guess_kind

PREFIXES = (
    ".pred_", "prob_", "proba_", "probability_", "pred_prob_", "pred_proba_", "p_", "P_",
)  # fmt: skip
HARD = ".pred_class"  # tidymodels writes the label beside the probabilities it comes from
_BARE = {prefix.strip("._") for prefix in PREFIXES}
ONLY_MODEL = "model"  # what the only model is called whose columns do not name it
_SAID = r"(?:y?[ _.-]?pred|predicted)[ _.-]?"
_LABEL = (
    rf"(?:{_SAID}(?:class|label|y)|y?preds?|predictions?|predicted|labels?|class|y[ _.-]?hat|hard)"
)
_SCORE = rf"(?:(?:{_SAID})?(?:y?probs?|probas?|probability|scores?|confidence|conf)(?:[ _.-]?1)?)"
# `rf_pred`, else `pred_rf` and `y_pred_rf`
_LABELS, _SCORES = (
    re.compile(rf"(.*?)[ _.-]*{word}|(?:y[ _.-])?{word}[ _.-]+(.+)", re.IGNORECASE)
    for word in (_LABEL, _SCORE)
)


def models_of_columns(
    free: Sequence[str], peeks: Mapping[str, ColumnPeek], classes: frozenset[str], roles: Input
) -> list[ModelColumns]:
    """Return models from columns, one per set of class probabilities; classes: of first rows."""
    sets: dict[str, list[tuple[str, str]]] = {}
    for name in free:
        split = _split(name, classes) if peeks[name].mostly_numeric else None
        if split:
            sets.setdefault(split[0], []).append((name, split[1]))
    numeric = [name for name in free if peeks[name].mostly_numeric and name not in roles.model]
    if len(classes) > 1 and classes <= {_folded(name, roles) for name in numeric}:
        named = [name for name in numeric if _folded(name, roles) in classes]
        sets.setdefault(ONLY_MODEL, []).extend((name, name) for name in named)
    for model, held in sets.items():
        folded = [(name, _folded(label, roles)) for name, label in held]
        if len({label for _, label in folded}) == len(held):  # else two would be of one class
            sets[model] = folded
    known = [model for model, pairs in sets.items() if any(one in classes for _, one in pairs)]
    of = {column: model for model in known for column, _ in sets[model]}
    left = [name for name in free if name not in of and name not in roles.model]
    more = {} if roles.kind else columns_by_class(left, peeks, classes, ONLY_MODEL)
    for called, pairs in more.items():
        model = f"{called}_2" if called in known else called
        sets[model] = pairs
        of |= {column: model for column, _ in pairs}
    if roles.several and roles.positive is None and len(classes) > 2:  # classes named otherwise
        for model, pairs in sets.items():
            if len(pairs) == len(classes) and not of.keys() & dict(pairs).keys():
                of |= {column: model for column, _ in pairs}
    models: list[ModelColumns] = []
    for name in free:
        if name not in of:
            kind = roles.kind or guess_kind(peeks[name], classes)
            models.append(ModelColumns(name, kind, (name,)))
            continue
        model = of[name]
        if all(one.name != model or one.kind != "classes" for one in models):
            # the first of equal probabilities wins: classes stand in the declared order
            order = list(dict.fromkeys([*roles.classes, *(label for _, label in sets[model])]))
            pairs = sorted(sets[model], key=lambda pair: order.index(pair[1]))
            names, labels = zip(*pairs, strict=True)
            models.append(ModelColumns(model, "classes", names, labels, shares=roles.renormalize))
    if roles.several and roles.positive is None and len(classes) > 2:
        classes_apart = [model for model in models if model.kind == "classes"]
        if not classes_apart:  # a score is no probability of one class then
            return models
    return models if roles.kind else merge_labels_with_scores(models, roles)


def refuse_confidence(
    file: str, models: Sequence[ModelColumns], peeks: Mapping[str, ColumnPeek],
    classes: Collection[str], roles: Input,
) -> None:  # fmt: skip
    """Raise for one score a row beside labels of more than two classes: of the predicted class."""
    scores = [model.columns[0] for model in models if model.kind == "score"]
    asked = roles.several and not (roles.positive or roles.kind or roles.model)
    if not asked or len(classes) < 3 or not scores or all(m.kind != "label" for m in models):
        return
    one, two = sorted(classes, key=natural_sort_key)[:2]
    if not all(peeks[name].shares for name in scores):
        what = f"its numbers are neither probabilities nor the {len(classes)} classes of truth"
        hint = f"round predictions to classes ('{one}', '{two}', ...), or add "
        hint += f"{format_option('--ignore', scores[0])} if it is not a model"
        raise DataError([Problem(what, "stray-confidence", file, None, name) for name in scores],
                        hint=hint)  # fmt: skip
    what = (
        f"one score per row, but truth has {len(classes)} classes: is it the probability of "
        "the predicted class?"
    )
    raise DataError(
        [Problem(what, "stray-confidence", file, None, name) for name in scores],
        hint=f"add {format_option('--ignore', scores[0])} to evaluate the predicted classes; to "
        f"evaluate probabilities, give one column per class, such as 'p_{one}' and 'p_{two}'",
        fixes={"ignore": tuple(scores)},
    )


def _folded(label: str, roles: Input) -> str:
    return label.strip().lower() if roles.fold_labels else label


def _split(name: str, classes: Collection[str]) -> tuple[str, str] | None:
    """Split `.pred_<class>`, `p_<class>`, `<model>:<class>` and their like into model and class."""
    if name == HARD and "class" not in classes:
        return None
    for prefix in PREFIXES:
        if name.startswith(prefix):
            model = prefix.strip("._")
            return model if len(model) > 1 else ONLY_MODEL, name.removeprefix(prefix)
    for label in sorted(classes, key=len, reverse=True):
        if name.endswith(f":{label}") and name != f":{label}":
            return name.removesuffix(f":{label}"), label
    model, colon, label = name.rpartition(":")
    return (model, label) if colon and model and label else None


def merge_labels_with_scores(models: Sequence[ModelColumns], roles: Input) -> list[ModelColumns]:
    """Make one model of `y_pred` and `y_prob`, of `rf_label` and `rf_score`, unless one is named.

    It has the scores, or the class probabilities, and the column of its labels `beside` them.
    """
    stems: dict[str, dict[bool, list[tuple[str, ModelColumns]]]] = {}
    folded = {model.name for model in models if model.kind == "classes"}
    for model in models:
        stem = _stem(model, folded)
        if stem is not None and not {*model.columns} & {*roles.model}:
            kinds = stems.setdefault(stem.casefold(), {})
            kinds.setdefault(model.kind == "label", []).append((stem, model))
    merged = list(models)
    for kinds in stems.values():
        labels, answers = kinds.get(True, []), kinds.get(False, [])
        if len(labels) == len(answers) == 1:
            (_, label), (stem, said) = labels[0], answers[0]
            name = said.name if said.kind == "classes" else stem or ONLY_MODEL
            merged[merged.index(label)] = replace(said, name=name, beside=label.name)
            merged.remove(said)
    return merged


def _stem(model: ModelColumns, folded: Collection[str]) -> str | None:
    """Return the model that a name of labels or scores tells, nothing if it tells none; or None."""
    found = (_LABELS if model.kind == "label" else _SCORES).fullmatch(model.name)
    if found:
        stem = found[1] if found[1] is not None else found[2]
        return "" if stem.casefold().strip("_. -") in ("", "y") else stem
    if model.kind == "classes":
        return "" if model.name == ONLY_MODEL or model.name in _BARE else model.name
    return model.name if model.name in folded else None
