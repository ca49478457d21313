"""Columns of class probabilities, one per class, and columns of labels with the scores of a model.

Both are recognised by their names, with the classes of truth in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

from clfeval.records import replace
from clfeval.tables.columns import ModelColumns
from clfeval.tables.input import InputOptions
from clfeval.tables.profiles import NEAR_ONE, ColumnProfile
from clfeval.tables.readings.labels import PAIRS, guess_positive
from clfeval.tables.readings.names import words_of
from clfeval.tables.readings.pair_facts import PairFacts

PREFIXES = (".pred_", "prob_", "proba_", "probability_", "pred_prob_", "pred_proba_", "p_", "P_")
_KNIME = r"P ?\(.+?=(.*?)\)(?: \((.+)\))?"  # P (species=cat) (rf)
HARD = ".pred_class"  # tidymodels writes the label next to the probabilities it comes from
_BARE = {prefix.strip("._") for prefix in PREFIXES}
ONLY_MODEL = "model"  # name of the only model if its columns do not name it
_SAID = r"(?:y?[ _.-]?pred|predicted)[ _.-]?"
_LABEL = (
    rf"(?:{_SAID}(?:class|label|y)|y?preds?|predictions?|predicted|labels?|class|y[ _.-]?hat|hard)"
)
_SCORE = rf"(?:(?:{_SAID})?(?:y?probs?|probas?|probability|scores?|confidence|conf)(?:[ _.-]?1)?)"
# `rf_pred`, else `pred_rf` and `y_pred_rf`
_LABELS, _SCORES = (
    rf"(?i)(.*?)[ _.-]*{word}|(?:y[ _.-])?{word}[ _.-]+(.+)" for word in (_LABEL, _SCORE)
)


def probability_models(
    free: Mapping[str, ColumnProfile],
    classes: frozenset[str],
    input_options: InputOptions,
    facts: PairFacts,
) -> list[ModelColumns]:
    """Return the models of class probabilities, in the order of their first columns.

    free: profiles of the columns without a role. classes: known labels of truth.
    """
    pairs_of_model = _sets_by_separator(free, classes, input_options)
    models_with_classes = [
        model
        for model, pairs in pairs_of_model.items()
        if any(label in classes for _, label in pairs)
    ]
    model_of = {
        column: model for model in models_with_classes for column, _ in pairs_of_model[model]
    }
    other_profiles = {
        name: profile
        for name, profile in free.items()
        if name not in model_of and name not in input_options.model
    }
    pairs_of_stem = (
        {} if input_options.kind else columns_by_class(other_profiles, classes, ONLY_MODEL, facts)
    )
    for stem, pairs in pairs_of_stem.items():
        model = f"{stem}_2" if stem in models_with_classes else stem
        pairs_of_model[model] = pairs
        model_of |= {column: model for column, _ in pairs}
    if (
        input_options.several and input_options.positive is None and len(classes) > 2
    ):  # columns may name the classes otherwise
        for model, pairs in pairs_of_model.items():
            if len(pairs) == len(classes) and not model_of.keys() & dict(pairs).keys():
                model_of |= {column: model for column, _ in pairs}
    model_names = dict.fromkeys(model_of[column] for column in free if column in model_of)
    models = [_model_of_pairs(model, pairs_of_model[model], input_options) for model in model_names]
    return [model for model in models if not _is_one_other_score(model, free)]


def _is_one_other_score(model: ModelColumns, profiles: Mapping[str, ColumnProfile]) -> bool:
    """Return whether a model has one column only, of numbers that are no probabilities."""
    if len(model.columns) > 1:
        return False
    numbers = profiles[model.columns[0]].numbers
    return bool(numbers) and (min(numbers) < 0 or max(numbers) > NEAR_ONE)


def _sets_by_separator(
    free: Mapping[str, ColumnProfile], classes: frozenset[str], input_options: InputOptions
) -> dict[str, list[tuple[str, str]]]:
    """Return columns with the text of a class in their names, such as `rf:cat`, by model."""
    pairs_of_model: dict[str, list[tuple[str, str]]] = {}
    for name, profile in free.items():
        model_and_label = _split(name, classes) if profile.mostly_numeric else None
        if model_and_label:
            model, label = model_and_label
            pairs_of_model.setdefault(model, []).append((name, label))
    numeric_columns = [
        name for name in free if free[name].mostly_numeric and name not in input_options.model
    ]
    if len(classes) > 1 and classes <= {_folded(name, input_options) for name in numeric_columns}:
        class_columns = [
            name for name in numeric_columns if _folded(name, input_options) in classes
        ]
        pairs_of_model.setdefault(ONLY_MODEL, []).extend((name, name) for name in class_columns)
    for model, pairs in pairs_of_model.items():
        labels = {label for _, label in pairs}
        shortest_pairs = [(name, label) for name, label in pairs if not _is_longer(label, labels)]
        pairs[:] = shortest_pairs
        folded_pairs = [(name, _folded(label, input_options)) for name, label in pairs]
        if len({label for _, label in folded_pairs}) == len(pairs):  # else two would share a class
            pairs_of_model[model] = folded_pairs
    return pairs_of_model


def _is_longer(label: str, labels: Collection[str]) -> bool:
    """Return whether a text is another label and more, as `1_copy` is `1`."""
    return any(
        label != other_label and re.match(rf"{re.escape(other_label)}[ _.-]", label)
        for other_label in labels
    )


def _model_of_pairs(model: str, pairs: Pairs, input_options: InputOptions) -> ModelColumns:
    """Return a model of columns and their classes; ties go to the first of the declared classes."""
    class_order = list(dict.fromkeys([*input_options.classes, *(label for _, label in pairs)]))
    names, labels = zip(*sorted(pairs, key=lambda pair: class_order.index(pair[1])), strict=True)
    return ModelColumns(model, "classes", names, labels, shares=input_options.renormalize)


def _folded(label: str, input_options: InputOptions) -> str:
    return label.strip().lower() if input_options.fold_labels else label


def _split(name: str, classes: Collection[str]) -> tuple[str, str] | None:
    """Split `.pred_<class>`, `p_<class>`, `<model>:<class>` and their like into model and class."""
    if name == HARD and "class" not in classes:
        return None
    if match := re.fullmatch(_KNIME, name):
        return match[2] or ONLY_MODEL, match[1]
    for prefix in PREFIXES:
        if name.startswith(prefix):
            model = prefix.strip("._")
            return model if len(model) > 1 else ONLY_MODEL, name.removeprefix(prefix)
    for label in sorted(classes, key=len, reverse=True):
        if name.endswith(f":{label}") and name != f":{label}":
            return name.removesuffix(f":{label}"), label
    model, colon, label = name.rpartition(":")
    return (model, label) if colon and model and label else None


def merge_labels_with_scores(
    models: Sequence[ModelColumns], input_options: InputOptions, *, separate: Collection[str] = ()
) -> list[ModelColumns]:
    """Merge labels and scores of one model (`rf_label` and `rf_score`), unless a model is named.

    The model has the scores, or class probabilities, and the column of labels as `label_column`.
    separate: columns of labels that belong to no scores.
    """
    merged_models = list(models)
    unpaired_models = [
        model for model in models if model.label_column is None and model.name not in separate
    ]
    for stem, labels, scores in pairs_of_one_name(unpaired_models, input_options):
        name = scores.name if scores.kind == "classes" else stem or ONLY_MODEL
        merged_models[merged_models.index(labels)] = replace(
            scores, name=name, label_column=labels.name
        )
        merged_models.remove(scores)
    return merged_models


def pairs_of_one_name(
    models: Sequence[ModelColumns], input_options: InputOptions
) -> list[tuple[str, ModelColumns, ModelColumns]]:
    """Return the models of labels and of scores that have one name in common, with that name."""
    # by stem in lower case, then by whether a model has labels: each stem with its model
    models_by_stem: dict[str, dict[bool, list[tuple[str, ModelColumns]]]] = {}
    set_names = {model.name for model in models if model.kind == "classes"}
    for model in models:
        stem = _stem(model, set_names)
        if stem is not None and not {*model.columns} & {*input_options.model}:
            models_by_kind = models_by_stem.setdefault(stem.casefold(), {})
            models_by_kind.setdefault(model.kind == "label", []).append((stem, model))
    pairs = []
    for models_by_kind in models_by_stem.values():
        labels = models_by_kind.get(True, [])
        scores = models_by_kind.get(False, [])
        if len(labels) == len(scores) == 1:
            (_, label_model), (stem, score_model) = labels[0], scores[0]
            pairs.append((stem, label_model, score_model))
    return pairs


def _stem(model: ModelColumns, set_names: Collection[str]) -> str | None:
    """Return the model's name within a column name, "" if that has none; None if unrecognised.

    set_names: of the models of class probabilities.
    """
    match = re.fullmatch(_LABELS if model.kind == "label" else _SCORES, model.name)
    if match:
        stem = match[1] if match[1] is not None else match[2]
        return "" if stem.casefold().strip("_. -") in ("", "y") else stem
    if model.kind == "classes":
        return "" if model.name == ONLY_MODEL or model.name in _BARE else model.name
    return model.name if model.name in set_names else None


ROUNDED = 0.005  # of the last of two decimal places
_WORD = (
    r"(?:y|p|probs?|probas?|probability|probabilities|preds?|predicted|scores?|logits?|class|of)"
)
_MODEL = rf"(?i)[\W_]*(?:{_WORD}(?![^\W_])[\W_]*)*(.*?)(?:[\W_]+{_WORD})*[\W_]*"

Pairs = list[tuple[str, str]]  # column name and class


def columns_by_class(
    free: Mapping[str, ColumnProfile], classes: Collection[str], default_name: str, facts: PairFacts
) -> dict[str, Pairs]:
    """Return columns with their classes, by model, from column names that contain a class.

    The rows must sum to 1, or names have all of three or more classes with a separator. A
    model's name is separated from the class: `rf0` and `rf1` are two models, `p0` and `p1` one.
    Case is ignored. default_name: the name of a model without one in its columns.
    """
    numeric_columns = [name for name in free if free[name].mostly_numeric]
    name_of_folded = {name.casefold(): name for name in numeric_columns}
    class_of_folded = {label.casefold(): label for label in classes}
    if len(class_of_folded) < len(classes) or len(name_of_folded) < len(numeric_columns):
        return {}
    adds_up = partial(_add_up, profiles=free, classes=classes, facts=facts)
    by_model = _columns_by_model(name_of_folded, class_of_folded, default_name, adds_up)
    pair = next((pair for pair in PAIRS[1:] if {*classes} == {*pair}), None)
    if by_model or pair is None:
        return by_model
    class_of_bit = dict(zip(PAIRS[0], pair, strict=True))  # `p0` and `p1` of true and false
    pairs_of_bits = columns_by_class(free, PAIRS[0], default_name, facts)
    return {
        model: [(name, class_of_bit.get(bit, bit)) for name, bit in pairs]
        for model, pairs in pairs_of_bits.items()
    }


def _columns_by_model(
    columns: Mapping[str, str],
    class_of_folded: Mapping[str, str],
    default_name: str,
    adds_up: Callable[[Pairs], bool],
) -> dict[str, Pairs]:
    """Return columns with their classes, by model.

    columns, class_of_folded: names of columns and classes by their lower case.
    """
    unassigned = dict(columns)
    longest_class = max(sorted(class_of_folded), key=len, default="")
    by_model: dict[str, Pairs] = {}
    for folded, name in columns.items():
        if folded not in unassigned or not longest_class:
            continue
        for prefix, suffix in _split_around_label(name, longest_class):
            model_match = re.fullmatch(_MODEL, f"{prefix}_{suffix}")
            model = model_match[1] if model_match else ""
            is_separated = bool(re.search(r"[\W_]$", prefix) or re.match(r"[\W_]", suffix))
            if model and not is_separated:
                continue
            pairs = _columns_around(
                prefix, suffix, unassigned, class_of_folded, adds_up, is_separated=is_separated
            )
            if pairs:
                model = model or default_name
                by_model[model if model not in by_model else f"{prefix}{suffix}"] = pairs
                for column, _ in pairs:
                    del unassigned[column.casefold()]
                break
    return by_model


def _columns_around(
    prefix: str,
    suffix: str,
    columns: Mapping[str, str],
    class_of_folded: Mapping[str, str],
    adds_up: Callable[[Pairs], bool],
    *,
    is_separated: bool,
) -> Pairs | None:
    """Return the columns named by a prefix, a class and a suffix; None if they are no model.

    That is where a class has no such column, or their rows do not sum to 1. These may be further
    columns of that form, of classes that truth lacks.
    """
    start = prefix.casefold()
    end = suffix.casefold()
    label_of = {f"{start}{folded}{end}": label for folded, label in class_of_folded.items()}
    if not label_of.keys() <= columns.keys():
        return None
    pairs = [(name, label_of[folded]) for folded, name in columns.items() if folded in label_of]
    similar_pairs = [
        (name, name[len(prefix) : len(name) - len(suffix)])
        for folded, name in columns.items()
        if folded.startswith(start)
        and folded.endswith(end)
        and len(name) > len(prefix) + len(suffix)
    ]
    pair_lists = [pairs, similar_pairs] if len(similar_pairs) > len(pairs) else [pairs]
    model_pairs = next((candidate for candidate in pair_lists if adds_up(candidate)), None)
    if model_pairs is None and is_separated and len(pairs) > 2:
        return pairs
    return model_pairs


def _split_around_label(name: str, label: str) -> Iterator[tuple[str, str]]:
    """Yield the texts before and after each occurrence of a label in a name."""
    position = name.casefold().rfind(label)
    while position >= 0:
        yield name[:position], name[position + len(label) :]
        position = name.casefold().rfind(label, 0, position + len(label) - 1)


def _add_up(
    pairs: Pairs, profiles: Mapping[str, ColumnProfile], classes: Collection[str], facts: PairFacts
) -> bool:
    """Return whether columns sum to 1 in each row, and are not classes themselves."""
    if len(pairs) < 2 or all(profiles[name].texts <= {*classes} for name, _ in pairs):
        return False
    return facts.sum_to_one([name for name, _ in pairs])


def spare_complement(first: str, second: str) -> str | None:
    """Return the one of two columns that is named like the negative class; None if neither is."""
    last_words = {first: _last_word(first), second: _last_word(second)}
    if last_words[first] == last_words[second]:
        return None
    positive_word, is_known = guess_positive(dict.fromkeys(last_words.values(), 1))
    if not is_known:
        return None
    positive = first if last_words[first] == positive_word else second
    return second if positive == first else first


def _last_word(name: str) -> str:
    words = [word for word in words_of(name) if name.casefold().endswith(word)]
    return max(words, key=len, default=name.casefold())
