"""Wide tables: one row per observation, a truth column, and the models of the other columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from clfeval.errors import DataError, Problem, format_option, list_names
from clfeval.tables import column_guesses as guesses
from clfeval.tables import invalid_cells as checks
from clfeval.tables.columns import (
    KEY,
    Also,
    ColumnPeek,
    Columns,
    Layout,
    Mode,
    ModelColumns,
    guess_kind,
    is_score,
)
from clfeval.tables.frames import Frame, in_polars, natural_sort_key, nw, pl
from clfeval.tables.input import ColumnNames, Input, find_column, match_names
from clfeval.tables.scan import TableFile, scan

PREFIXES = (".pred_", "prob_", "proba_", "probability_", "pred_prob_", "pred_proba_", "p_", "P_")
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


def models_of_columns(
    free: Mapping[str, ColumnPeek], classes: frozenset[str], roles: Input
) -> list[ModelColumns]:
    """Return the models of columns, one per set of class probabilities; classes: known labels."""
    sets: dict[str, list[tuple[str, str]]] = {}
    for name, peek in free.items():
        split = _split(name, classes) if peek.mostly_numeric else None
        if split:
            sets.setdefault(split[0], []).append((name, split[1]))
    numeric = [name for name in free if free[name].mostly_numeric and name not in roles.model]
    if len(classes) > 1 and classes <= {_folded(name, roles) for name in numeric}:
        named = [name for name in numeric if _folded(name, roles) in classes]
        sets.setdefault(ONLY_MODEL, []).extend((name, name) for name in named)
    for model, held in sets.items():
        folded = [(name, _folded(label, roles)) for name, label in held]
        if len({label for _, label in folded}) == len(held):  # else two would share a class
            sets[model] = folded
    known = [model for model, pairs in sets.items() if any(one in classes for _, one in pairs)]
    of = {column: model for model in known for column, _ in sets[model]}
    left = {name: free[name] for name in free if name not in of and name not in roles.model}
    more = {} if roles.kind else columns_by_class(left, classes, ONLY_MODEL)
    for called, pairs in more.items():
        model = f"{called}_2" if called in known else called
        sets[model] = pairs
        of |= {column: model for column, _ in pairs}
    if roles.several and roles.positive is None and len(classes) > 2:  # other class names
        for model, pairs in sets.items():
            if len(pairs) == len(classes) and not of.keys() & dict(pairs).keys():
                of |= {column: model for column, _ in pairs}
    models: list[ModelColumns] = []
    for name in free:
        if name not in of:
            kind = roles.kind or guess_kind(free[name], classes)
            models.append(ModelColumns(name, kind, (name,)))
            continue
        model = of[name]
        if all(one.name != model or one.kind != "classes" for one in models):
            # ties go to the first class, so the order of the classes is the declared one
            order = list(dict.fromkeys([*roles.classes, *(label for _, label in sets[model])]))
            pairs = sorted(sets[model], key=lambda pair: order.index(pair[1]))
            names, labels = zip(*pairs, strict=True)
            models.append(ModelColumns(model, "classes", names, labels, shares=roles.renormalize))
    if roles.several and roles.positive is None and len(classes) > 2:
        classes_apart = [model for model in models if model.kind == "classes"]
        if not classes_apart:  # then a score is not the probability of one class
            return models
    return models if roles.kind else merge_labels_with_scores(models, roles)


def refuse_confidence(
    file: str,
    models: Sequence[ModelColumns],
    peeks: Mapping[str, ColumnPeek],
    classes: Collection[str],
    roles: Input,
) -> None:
    """Raise for single scores next to labels of 3+ classes: confidences of the predicted class."""
    scores = [model.columns[0] for model in models if model.kind == "score"]
    asked = roles.several and not (roles.positive or roles.kind or roles.model)
    if not asked or len(classes) < 3 or not scores or all(m.kind != "label" for m in models):
        return
    one, two = sorted(classes, key=natural_sort_key)[:2]
    if not all(peeks[name].shares for name in scores):
        what = f"its numbers are neither probabilities nor the {len(classes)} classes of truth"
        hint = f"round predictions to classes ('{one}', '{two}', ...), or add "
        hint += f"{format_option('--ignore', scores[0])} if it is not a model"
        fixes = {}
    else:
        what = f"one score per row, but truth has {len(classes)} classes: is it the probability of "
        what += "the predicted class?"
        hint = f"add {format_option('--ignore', scores[0])} to evaluate the predicted classes; to "
        hint += (
            f"evaluate probabilities, give one column per class, such as 'p_{one}' and 'p_{two}'"
        )
        fixes = {"ignore": tuple(scores)}
    problems = [Problem(what, "stray-confidence", file, None, name) for name in scores]
    raise DataError(problems, hint=hint, fixes=fixes)


def refuse_second_scores(file: str, models: Sequence[ModelColumns]) -> None:
    """Raise for a column of numbers with the name of a model that has class probabilities."""
    names = {model.name for model in models if model.kind == "classes"}
    columns = tuple(model.columns[0] for model in models if model.kind == "score")
    seconds = tuple(name for name in columns if name in names)
    if seconds:
        message = "a model of this name has class probabilities, and this column is a second model"
        hint = f"add {format_option('--ignore', seconds[0])}, or rename the column"
        problems = [Problem(message, "stray-confidence", file, None, name) for name in seconds]
        raise DataError(problems, hint=hint, fixes={"ignore": seconds})


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
    """Merge labels and scores of one model (`rf_label` and `rf_score`), unless a model is named.

    The model has the scores, or class probabilities, and the column of labels as `beside`.
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
    """Return the model's name within a column name, "" if that has none; None if unrecognised."""
    found = re.fullmatch(_LABELS if model.kind == "label" else _SCORES, model.name)
    if found:
        stem = found[1] if found[1] is not None else found[2]
        return "" if stem.casefold().strip("_. -") in ("", "y") else stem
    if model.kind == "classes":
        return "" if model.name == ONLY_MODEL or model.name in _BARE else model.name
    return model.name if model.name in folded else None


ROUNDED = 0.005  # of the last of two decimal places
_WORD = (
    r"(?:y|p|probs?|probas?|probability|probabilities|preds?|predicted|scores?|logits?|class|of)"
)
_MODEL = rf"(?i)[\W_]*(?:{_WORD}(?![^\W_])[\W_]*)*(.*?)(?:[\W_]+{_WORD})*[\W_]*"

Pairs = list[tuple[str, str]]  # column name and class


def columns_by_class(
    free: Mapping[str, ColumnPeek], classes: Collection[str], alone: str
) -> dict[str, Pairs]:
    """Return columns with their classes, by model, from column names that contain a class.

    The first rows must sum to 1, or names have all of three or more classes with a separator. A
    model's name is separated from the class: `rf0` and `rf1` are two models, `p0` and `p1` one.
    Case is ignored. alone: the name of a model without one in its columns.
    """
    found: dict[str, Pairs] = {}
    left = {name: name.casefold() for name in free if free[name].mostly_numeric}
    spelt = {label.casefold(): label for label in classes}
    key = max(sorted(spelt), key=len, default="")
    if len(spelt) < len(classes) or len({*left.values()}) < len(left):
        return found
    there = {*left.values()}
    for name in list(left):
        for before, after in _split_around_label(name, key) if name in left and key else ():
            word = re.fullmatch(_MODEL, f"{before}_{after}")
            model = word[1] if word else ""
            apart = re.search(r"[\W_]$", before) or re.match(r"[\W_]", after)
            ends = before.casefold(), after.casefold()
            named = {f"{label}".join(ends): spelt[label] for label in spelt}
            if not named.keys() <= there or (model and not apart):
                continue
            pairs = [(one, named[folded]) for one, folded in left.items() if folded in named]
            like = [
                (other, other[len(before) : len(other) - len(after)])
                for other, folded in left.items()
                if folded.startswith(ends[0])
                and folded.endswith(ends[1])
                and len(other) > len(before) + len(after)
            ]
            sets = [pairs, like] if len(like) > len(pairs) else [pairs]
            whole = next((one for one in sets if _add_up(one, free, classes)), None)
            if whole is None and apart and len(pairs) > 2:
                whole = pairs
            if whole:
                called = model or alone
                found[called if called not in found else f"{before}{after}"] = whole
                for one, _ in whole:
                    del left[one]
                there = {*left.values()}
                break
    pair = next((one for one in guesses.PAIRS[1:] if {*classes} == {*one}), None)
    if found or pair is None:
        return found
    meant = dict(zip(guesses.PAIRS[0], pair, strict=True))  # `p0` and `p1` of true and false
    bits = columns_by_class(free, guesses.PAIRS[0], alone)
    return {
        model: [(name, meant.get(bit, bit)) for name, bit in one] for model, one in bits.items()
    }


def _split_around_label(name: str, label: str) -> Iterator[tuple[str, str]]:
    """Yield the texts before and after each occurrence of a label in a name."""
    at = name.casefold().rfind(label)
    while at >= 0:
        yield name[:at], name[at + len(label) :]
        at = name.casefold().rfind(label, 0, at + len(label) - 1)


def _add_up(pairs: Pairs, peeks: Mapping[str, ColumnPeek], classes: Collection[str]) -> bool:
    """Return whether columns sum to 1 in each of the first rows, and are not classes themselves."""
    if len(pairs) < 2 or all(peeks[name].texts <= {*classes} for name, _ in pairs):
        return False
    rows = zip(*(peeks[name].first for name, _ in pairs), strict=True)
    sums = [sum(map(float, row)) for row in rows if all(text and is_score(text) for text in row)]
    return bool(sums) and max(abs(one - 1) for one in sums) <= ROUNDED * len(pairs) + 1e-9


def recognise(
    file: str, peeks: Mapping[str, ColumnPeek], roles: Input, *, probabilities: bool = False
) -> Columns | None:
    """Recognise a wide table: every column without another role is a model.

    probabilities: only a table with columns of class probabilities, which are one model.
    """
    truth = guesses.find_truth(peeks, roles)
    if truth is None:
        raise guesses.no_truth_error(file, peeks)
    spare = {name: peek for name, peek in peeks.items() if name != roles.cluster}
    row_id = roles.id or guesses.likely_id(spare, truth)
    taken = {truth, row_id, roles.weight, *roles.by, roles.cluster, ""}
    free = {name: peek for name, peek in peeks.items() if name not in taken}
    guesses.refuse_two_truths(file, free, truth, roles)
    classes = frozenset(guesses.known_labels(peeks[truth].texts, roles))
    guesses.refuse_weight_columns(file, free, classes, roles)
    guesses.refuse_run_columns(file, free, roles)
    models = models_of_columns(free, classes, roles)
    refuse_confidence(file, models, peeks, classes, roles)
    refuse_second_scores(file, models)
    alone = {model.columns[0] for model in models if len(model.columns) == 1 and not model.beside}
    guesses.refuse_covariates(file, {name: free[name] for name in free if name in alone}, roles)
    if probabilities and all(model.kind != "classes" for model in models):
        return None
    return Columns(truth, row_id, _select_models(file, peeks, models, roles))


def _select_models(
    file: str, columns: Iterable[str], models: Sequence[ModelColumns], roles: Input
) -> tuple[ModelColumns, ...]:
    """Return the models named exactly or by glob, in the requested order; all if none is named."""
    if roles.model:
        known = {model.name: model for model in models}
        return tuple(known[name] for name in match_names(file, list(known), roles.model))
    if not models:
        what = f"no model columns; columns: {list_names(columns)}"
        hint = "a wide table has a truth column and one column per model"
        if row_id := find_column(columns, ColumnNames.ID):
            way = format_option("--join", row_id)
            hint += f"; if predictions are in another file, name both files and add {way}"
        raise DataError.new(what, "no-models", file, hint=hint)
    return tuple(models)


def scan_rows(files: Sequence[TableFile], columns: Columns, mode: Mode, also: Also) -> list[Frame]:
    """Scan the files, one row per observation."""
    chosen, watch = columns.readings(mode), also == "watch"
    if also == "key" and columns.id is not None:
        chosen.setdefault(columns.id, "text")
    frames = [scan(file, chosen, null_values=columns.null_values, watch=watch) for file in files]
    if also != "key":
        return frames
    if columns.id is not None:
        return [frame.with_columns(nw.col(columns.id).alias(KEY)) for frame in frames]
    return [
        # header is row 1
        nw.from_native(in_polars(frame).with_row_index(KEY, offset=2 if file.head else 1))
        if not file.numbered
        else scan(file, {**chosen, checks.ROW: "integer"}, null_values=columns.null_values).rename(
            {checks.ROW: KEY}
        )
        for frame, file in zip(frames, files, strict=True)
    ]


def row_checks(
    columns: Columns, suspicion: checks.Suspicion, frames: Sequence[pl.LazyFrame]
) -> list[tuple[pl.LazyFrame, list[checks.Check]]]:
    """Return the checks of truth, models, runs, clusters, ids and weights."""
    wanted = [checks.missing_value(columns.truth)] if suspicion.strict else []
    for model in columns.models:
        for column in model.columns:
            number, unknown = model.kind != "label", model.name in suspicion.unknown
            wanted += checks.prediction_checks(
                column, columns, suspicion, number=number, unknown=unknown
            )
        if model.shares and suspicion.strict:
            wanted.append(checks.zero_probabilities(model.name, model.columns, columns.written))
    if columns.run is not None:
        wanted.append(checks.missing_value(columns.run))
    if columns.cluster is not None:
        wanted.append(checks.missing_cell(columns.cluster, frames[0]))
    if columns.id is not None:
        wanted.append(checks.duplicate_id(*columns.row))
    if suspicion.weights and columns.weight:
        wanted.append(checks.bad_weight(columns.weight, columns.written))
    return [(frame, wanted) for frame in frames]


LAYOUT = Layout(
    name="wide",
    needs="truth and one for each model",
    recognise=recognise,
    rows=scan_rows,
    checks=row_checks,
)

PROBABILITIES = replace(
    LAYOUT,
    name="probabilities",
    needs="rf:cat, .pred_cat or prob_cat for truth's classes",
    recognise=partial(recognise, probabilities=True),
    asked=("wide",),
)
