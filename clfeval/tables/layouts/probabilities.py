"""Tables of probabilities: wide, with a column per class for at least one of the models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from clfeval.tables.columns import Columns, Layout, ModelColumns, guess_kind, select_models
from clfeval.tables.input import Input, Kind
from clfeval.tables.layouts import wide
from clfeval.tables.peek import Peek


def recognise(file: str, peeks: Mapping[str, Peek], roles: Input) -> Columns | None:
    """Fold columns of class probabilities into models; None if there are none."""
    columns, free, classes = wide.shared(file, peeks, roles)
    models = [_ordered(model, roles.labels) for model in _models(free, peeks, classes, roles.kind)]
    if all(model.kind != "classes" for model in models):
        return None
    # tidymodels writes the hard label beside the probabilities it comes from
    ignored = tuple(model.name for model in models if model.name == ".pred_class")
    models = [m for m in models if m.name not in ignored or m.name in roles.model]
    chosen = select_models(file, list(peeks), models, roles.model)
    return Columns(*columns, chosen, ignored=ignored)


def _models(
    free: list[str], peeks: Mapping[str, Peek], classes: frozenset[str], kind: Kind | None
) -> list[ModelColumns]:
    """Fold probability columns into models; every other column is a model of its own."""
    sets: dict[str, list[tuple[str, str]]] = {}
    for name in free:
        split = _probability_name(name, classes) if peeks[name].mostly_numeric else None
        if split:
            sets.setdefault(split[0], []).append((name, split[1]))
    folded = {
        column: model
        for model, pairs in sets.items()
        if any(label in classes for _, label in pairs)
        for column, _ in pairs
    }
    models: dict[str, ModelColumns] = {}
    for name in free:
        if name in folded:
            model = folded[name]
            columns, labels = zip(*sets[model], strict=True)
            models[model] = ModelColumns(model, "classes", columns, labels)
        else:
            models[name] = ModelColumns(name, kind or guess_kind(peeks[name], classes), (name,))
    return list(models.values())


def _ordered(model: ModelColumns, labels: Sequence[str]) -> ModelColumns:
    """Put the class columns in the declared order: the first of equal probabilities wins."""
    if model.kind != "classes" or not labels:
        return model
    pairs = sorted(
        zip(model.columns, model.classes, strict=True),
        key=lambda pair: labels.index(pair[1]) if pair[1] in labels else len(labels),
    )
    columns, classes = zip(*pairs, strict=True)
    return ModelColumns(model.name, "classes", columns, classes)


def _probability_name(name: str, classes: Iterable[str]) -> tuple[str, str] | None:
    """Split `.pred_<class>`, `prob_<class>` or `<model>:<class>` into model and class."""
    for prefix in (".pred_", "prob_"):
        if name.startswith(prefix):
            return prefix.strip("._"), name.removeprefix(prefix)
    for label in sorted(classes, key=len, reverse=True):
        if name.endswith(f":{label}") and name != f":{label}":
            return name.removesuffix(f":{label}"), label
    model, colon, label = name.rpartition(":")
    return (model, label) if colon and model and label else None


LAYOUT = Layout(
    name="probabilities",
    needs="rf:cat, .pred_cat or prob_cat for truth's classes",
    lacking="no class probabilities",
    recognise=recognise,
    rows=wide.rows,
    checks=wide.checks,
    asked=("wide",),
)
