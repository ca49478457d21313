"""Which columns of a wide table are models: labels, scores, both of one, or class probabilities."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from clfeval.tables.input import Input
from clfeval.tables.peek import Peek
from clfeval.tables.prediction import ModelColumns, guess_kind

PREFIXES = (
    ".pred_", "prob_", "proba_", "probability_", "pred_prob_", "pred_proba_", "p_", "P_",
)  # fmt: skip
HARD = ".pred_class"  # tidymodels writes the label beside the probabilities it comes from
ONE = "model"  # what the only model is called whose columns do not name it
_LABELS = re.compile(r"(.*?)[ _.-]*(?:y?preds?|predictions?|predicted|labels?|class|yhat|hard)")
_SCORES = re.compile(r"(.*?)[ _.-]*(?:y?probs?|probas?|probability|scores?|confidence|conf)")


def found_models(
    free: Sequence[str], peeks: Mapping[str, Peek], classes: frozenset[str], roles: Input
) -> dict[str, ModelColumns]:
    """Return the models that columns hold; those of class probabilities are folded into one each.

    classes: truth's labels, as far as the first rows show them.
    """
    sets: dict[str, list[tuple[str, str]]] = {}
    for name in free:
        split = _split(name, classes) if peeks[name].mostly_numeric else None
        if split:
            sets.setdefault(split[0], []).append((name, split[1]))
    numeric = [name for name in free if peeks[name].mostly_numeric and name not in roles.model]
    if len(classes) > 1 and classes <= {_folded(name, roles) for name in numeric}:
        named = [name for name in numeric if _folded(name, roles) in classes]
        sets.setdefault(ONE, []).extend((name, name) for name in named)
    for model, held in sets.items():
        folded = [(name, _folded(label, roles)) for name, label in held]
        if len({label for _, label in folded}) == len(held):  # else two would be of one class
            sets[model] = folded
    of = {
        column: model
        for model, pairs in sets.items()
        if any(label in classes for _, label in pairs) or _of_others(pairs, classes, roles)
        for column, _ in pairs
    }
    models: dict[str, ModelColumns] = {}
    for name in free:
        if name in of:
            model = of[name]
            # the first of equal probabilities wins: classes stand in the declared order
            order = list(dict.fromkeys([*roles.labels, *(label for _, label in sets[model])]))
            pairs = sorted(sets[model], key=lambda pair: order.index(pair[1]))
            names, labels = zip(*pairs, strict=True)
            models[model] = ModelColumns(model, "classes", names, labels, shares=roles.renormalize)
        else:
            kind = roles.kind or guess_kind(peeks[name], classes)
            models[name] = ModelColumns(name, kind, (name,))
    return models if roles.kind else with_both(models, roles)


def _of_others(pairs: Collection[tuple[str, str]], classes: Collection[str], roles: Input) -> bool:
    """Tell whether columns are as many as the classes, though named otherwise; see `several`."""
    return roles.several and roles.positive is None and len(pairs) == len(classes) > 2


def _folded(label: str, roles: Input) -> str:
    return label.strip().lower() if roles.fold_labels else label


def _split(name: str, classes: Collection[str]) -> tuple[str, str] | None:
    """Split `.pred_<class>`, `p_<class>`, `<model>:<class>` and their like into model and class."""
    if name == HARD and "class" not in classes:
        return None
    for prefix in PREFIXES:
        if name.startswith(prefix):
            model = prefix.strip("._")
            return model if len(model) > 1 else ONE, name.removeprefix(prefix)
    for label in sorted(classes, key=len, reverse=True):
        if name.endswith(f":{label}") and name != f":{label}":
            return name.removesuffix(f":{label}"), label
    model, colon, label = name.rpartition(":")
    return (model, label) if colon and model and label else None


def with_both(models: Mapping[str, ModelColumns], roles: Input) -> dict[str, ModelColumns]:
    """Make one model of `y_pred` and `y_prob`, of `rf_label` and `rf_score`, unless one is named.

    It has the scores, and the column of its labels `beside` them.
    """
    stems: dict[str, dict[str, list[str]]] = {}
    for model in models.values():
        written = {"label": _LABELS, "score": _SCORES}.get(model.kind)
        found = written and written.fullmatch(model.name.casefold())
        if found and not {*model.columns} & {*roles.model}:
            stems.setdefault(found[1], {}).setdefault(model.kind, []).append(model.name)
    merged = dict(models)
    for stem, kinds in stems.items():
        labels, scores = kinds.get("label", []), kinds.get("score", [])
        if len(labels) == len(scores) == 1:
            name = scores[0][: len(stem)] if stem.strip("_. -") not in ("", "y") else ONE
            both = replace(merged.pop(scores[0]), name=name, beside=labels[0])
            merged = {
                (name if one == labels[0] else one): (both if one == labels[0] else model)
                for one, model in merged.items()
            }
    return merged
