"""Tables while they are made: bases (how models are laid out) and further columns.

Every function adds columns to a draft and writes down what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tests.samples import logistic
from tests.tables import column_name_samples as samples

CONSTANT_ROWS = 10_000
Array = np.ndarray[Any, Any]
Dice = np.random.Generator
Cells = list[str]
Columns = dict[str, Cells]
Facts = dict[str, float | None]


@dataclass(frozen=True)
class Heading:
    """The header rows of a file: rows, the cells of columns not called by their name, delimiter.

    titles: one cell per header row; a column without a cell has none in the header.
    """

    rows: int = 1
    titles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    delimiter: str = ","

    def lines(self, names: Sequence[str]) -> list[Cells]:
        """Return the header rows of columns."""
        titles = [self.titles.get(name, (name,)) for name in names]
        return [
            [cell for title in titles for cell in title[row : row + 1]] for row in range(self.rows)
        ]


@dataclass(frozen=True)
class Model:
    """Predictions: codes of classes, scores of the positive class, probabilities of all classes.

    unranked: the program may leave the scores of this model out (a confidence in its label).
    cut: the score from which on rows may be counted as positive; None if nobody can know it.
    facts: the numbers themselves, where there are no rows. foreign_labels: it predicts what is no
    class of truth.
    """

    name: str
    label: Array | None = None
    score: Array | None = None
    probabilities: Array | None = None
    unranked: bool = False
    cut: float | None = 0.5
    facts: Facts | None = None
    foreign_labels: bool = False


@dataclass(frozen=True)
class Meaning:
    """One reading of a table; of two classes, code 1 is positive. Order of rows is no part of it.

    runs: the numbers are means over the groups of rows with equal values. sampling: whether weights
    are those of a sample. noted: a word that the result must have, such as one on reversed scores.
    """

    words: str
    truth: Array
    models: tuple[Model, ...]
    classes: tuple[str, ...]
    weight: Array | None = None
    runs: Array | None = None
    sampling: bool | None = None
    noted: str = ""

    @property
    def binary(self) -> bool:
        """Tell whether there are two classes."""
        return len(self.classes) == 2


@dataclass
class Draft:
    """A table while it is made: columns by name with their roles, models, doubts of an expert.

    truth_name: of a table whose base adds truth. ready_files, words: of a base that writes several
    files. in_order: the order of rows says which belong together. closed: every true reading is
    listed. last_rows: cells by column of rows below the observations.
    """

    truth: Array
    classes: tuple[str, ...]
    scale: str
    columns: dict[str, Cells] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    models: list[Model] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    accepted: list[Meaning] | None = None
    offered: list[Meaning] | None = None
    coding: str = "same"
    one_scale: bool = False
    refusable: bool = False
    unsayable: bool = False
    truth_name: str | None = None
    heading: Heading = field(default_factory=Heading)
    ready_files: dict[str, Columns] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    in_order: bool = False
    closed: bool = False
    last_rows: list[dict[str, str]] = field(default_factory=list)

    def add(self, name: str, role: str, cells: Sequence[str]) -> str:
        """Add a column and return the name it got, which no other column has."""
        while name in self.columns:
            name += "_b"
        self.columns[name] = list(cells)
        self.roles[name] = role
        return name

    def meaning(self, words: str, models: Sequence[Model] | None = None, **options: Any) -> Meaning:
        """Return the reading with these models, by default those of the table."""
        return Meaning(words, self.truth, tuple(models or self.models), self.classes, **options)

    def written(self, codes: Array, coding: str = "same") -> Cells:
        """Return the cells of a column of labels."""
        names = {
            "same": self.classes,
            "float": [f"{float(c):.1f}" if is_number(c) else c for c in self.classes],
            "bool": ["False", "True"],
            "from one": [str(code + 1) for code in range(len(self.classes))],
            "digits": [str(code) for code in range(len(self.classes))],
            "words": ["well", "ill"],
        }[coding]
        return [names[code] for code in codes]


def is_number(text: str) -> bool:
    """Tell whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def pick(dice: Dice, choices: Sequence[Any]) -> Any:
    """Return one of the choices."""
    return choices[int(dice.integers(len(choices)))]


def pick_several(dice: Dice, choices: Sequence[str], count: int) -> list[str]:
    """Return different choices."""
    return [choices[i] for i in dice.permutation(len(choices))[:count]]


# values


def latent_scores(dice: Dice, truth: Array) -> Array:
    """Return numbers that rank the positive class (code 1) above the other, with errors."""
    return dice.normal(0, 1, len(truth)) + dice.uniform(0.6, 2) * truth


def scaled(latent: Array, scale: str) -> tuple[Array, Cells]:
    """Return scores on a scale, and their cells."""
    unit = np.clip(logistic(latent - 0.8), 0.001, 0.999)
    if scale == "percent":
        values = np.round(100 * unit, 1)
    elif scale == "log-odds":
        values = np.round(1.5 * latent - 1.2, 3)
    elif scale == "ratings":
        values = np.clip(np.round(1.2 * latent + 2.5), 1, 5)
    elif scale == "wide":
        values = np.round(575 + 70 * latent)
    else:
        values = np.round(unit, 4)
        values[values == 0.5] = 0.51  # at the threshold programs differ
    whole_numbers = scale in ("ratings", "wide")
    return values, [str(int(value)) if whole_numbers else str(value) for value in values]


def noisy_labels(dice: Dice, truth: Array, classes: int) -> Array:
    """Return codes that equal truth in 60 to 90 of 100 rows."""
    errors = dice.random(len(truth)) > dice.uniform(0.6, 0.9)
    codes = np.where(errors, dice.integers(0, classes, len(truth)), truth)
    if len(truth) > CONSTANT_ROWS and dice.random() < 0.5:
        codes[:CONSTANT_ROWS] = truth[:CONSTANT_ROWS]
    codes[-classes:] = np.arange(classes)  # every class is predicted
    return codes


def class_probabilities(dice: Dice, truth: Array, classes: int) -> Array:
    """Return probabilities in thousandths that sum to 1, without ties of the largest."""
    logits = dice.normal(0, 1, (len(truth), classes))
    logits[np.arange(len(truth)), truth] += dice.uniform(0.8, 2)
    share = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    parts = np.floor(share * 994).astype(int)
    parts[np.arange(len(truth)), share.argmax(axis=1)] += 1000 - parts.sum(axis=1)
    return parts / 1000


# bases: names come from `names`, which is the same for every setting; values from `dice`


def add_labels(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add one or several columns of labels, in the classes of truth or in another coding."""
    count = int(pick(names, [1, 2, 2, 3, 3, 4, 6]))
    chosen_names = pick_several(names, samples.MODELS, count)
    if count == 1:
        chosen_names = [pick(names, samples.LABEL_ALONE)]
    share = 0.55 if draft.classes == ("0", "1") else 0.25
    if names.random() < share:
        draft.coding = foreign_coding(draft, names)
    for name in chosen_names:
        codes = noisy_labels(dice, draft.truth, len(draft.classes))
        name = draft.add(name, "label", draft.written(codes, draft.coding))
        draft.models.append(Model(name, label=codes))


def foreign_coding(draft: Draft, names: Dice) -> str:
    """Return a coding of predictions that is not truth's; some cannot be said by options."""
    numeric = all(map(is_number, draft.classes))
    if draft.classes == ("0", "1"):
        coding = str(pick(names, ["float", "bool", "from one", "words"]))
    elif numeric and len(draft.classes) > 2:
        coding = "float"
    elif numeric or len(draft.classes) > 2:
        return "same"
    else:
        coding = str(pick(names, ["same", "digits"]))
        if {name.casefold() for name in draft.classes} == {"true", "false"}:
            return coding  # the same classes
    draft.refusable = coding in ("from one", "words", "digits")
    draft.unsayable = coding in ("from one", "words")
    if draft.refusable:
        draft.doubts.append("labels in another coding")
    return coding


def score_names(scale: str) -> tuple[str, ...]:
    """Return names of a lone score on a scale."""
    if scale == "percent":
        return samples.PERCENTAGE_ALONE
    return samples.PROBABILITY_ALONE if scale == "unit" else samples.SCORE_ALONE


def cut_of(scale: str) -> float | None:
    """Return the score from which on programs count a row as positive; None if none is known."""
    return {"unit": 0.5, "percent": 50.0}.get(scale)


def add_score(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add one column of scores."""
    values, cells = scaled(latent_scores(dice, draft.truth), draft.scale)
    name = draft.add(pick(names, score_names(draft.scale)), "score", cells)
    draft.models.append(Model(name, score=values, cut=cut_of(draft.scale)))


def add_scores(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add several columns of scores, of one scale or (markers) of several."""
    count = int(names.integers(2, 6))
    scales = [draft.scale] * count
    chosen_names = pick_several(names, samples.MODELS, count)
    if names.random() < 0.1 and not draft.one_scale:
        scales = [str(pick(names, ["unit", "ratings", "wide", "log-odds"])) for _ in scales]
        chosen_names = pick_several(names, samples.MARKERS, count)
        draft.scale = "several"
        draft.doubts.append("scores on several scales")
    for name, scale in zip(chosen_names, scales, strict=True):
        values, cells = scaled(latent_scores(dice, draft.truth), scale)
        name = draft.add(name, "score", cells)
        draft.models.append(Model(name, score=values, cut=cut_of(scale)))


def add_labels_with_scores(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add labels with the score they are a cut of, of one or two models, or with a confidence."""
    if names.random() < 0.12:
        add_label_with_confidence(draft, names, dice)
        return
    probable = draft.scale in ("unit", "percent")
    named_pairs = samples.LABEL_WITH_SCORE if probable else samples.LABEL_WITH_ANY_SCORE
    pairs = [pick(names, named_pairs)]
    if names.random() < 0.25:
        pairs = [("rf_label", "rf_score"), ("svm_label", "svm_score")]
    quantile = float(pick(names, [0.4, 0.6, 0.75]))
    cut_at_half = names.random() < 0.4
    for label_name, score_name in pairs:
        values, cells = scaled(latent_scores(dice, draft.truth), draft.scale)
        cut = 0.5 if cut_at_half and draft.scale == "unit" else np.quantile(values, quantile)
        codes = (values >= cut).astype(int)
        positive_name = draft.classes[1].removesuffix(".0")
        draft.add(label_name, "label", draft.written(codes))
        name = draft.add(score_name.format(positive_name), "score", cells)
        draft.models.append(Model(name, label=codes, score=values))


def add_label_with_confidence(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add a label and the probability of the predicted class."""
    draft.scale = "unit"
    label_name, confidence_name = pick(names, samples.LABEL_WITH_CONFIDENCE)
    values, _ = scaled(latent_scores(dice, draft.truth), "unit")
    codes = (values >= 0.5).astype(int)
    confidence = np.round(np.maximum(values, 1 - values), 4)
    name = draft.add(label_name, "label", draft.written(codes))
    draft.add(confidence_name, "confidence", [str(value) for value in confidence])
    draft.models.append(Model(name, label=codes, score=values, unranked=True))
    draft.doubts.append("confidence of the predicted class")


def add_probabilities(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add one column per class with its probability, of one or two models."""
    draft.scale = "unit"
    stems = [str(pick(names, samples.PROBABILITY_STEMS))]
    if names.random() < 0.2:
        stems = ["rf_", "svm_"]
    classes = [name.removesuffix(".0") for name in draft.classes]
    for stem in stems:
        matrix = class_probabilities(dice, draft.truth, len(classes))
        two = len(classes) == 2
        if two:
            tie = matrix[:, 0] == 0.5
            matrix[tie] = 0.51, 0.49
        for code, name in enumerate(classes):
            cells = [str(round(value, 4)) for value in matrix[:, code]]
            draft.add(f"{stem}{name}" + ")" * ("(" in stem), "probability", cells)
        draft.models.append(
            Model(
                stem.strip("_."),
                label=matrix.argmax(axis=1),
                score=matrix[:, 1] if two else None,
                probabilities=None if two else matrix,
            )
        )
    if len(stems) == 1 and names.random() < 0.35:
        codes = draft.models[0].label
        assert codes is not None
        name = pick(names, samples.PREDICTED_WITH_PROBABILITIES)
        draft.add(name, "label", draft.written(codes))


# further columns


def add_id(draft: Draft, dice: Dice) -> None:
    """Add ids that count rows, or texts."""
    rows = len(draft.truth)
    role, cells = "counting id", [str(row + 1) for row in range(rows)]
    if dice.random() < 0.5:
        role, cells = "id", [f"k{row:06}" for row in dice.permutation(rows)]
    draft.add(pick(dice, samples.IDS), role, cells)


def add_account(draft: Draft, dice: Dice) -> None:
    """Add whole numbers, all different, of no order."""
    numbers = dice.choice(900_000, len(draft.truth), replace=False) + 100_000
    draft.add(pick(dice, samples.ACCOUNTS), "id", [str(number) for number in numbers])
    draft.doubts.append("account number")


def add_date(draft: Draft, dice: Dice) -> None:
    """Add days."""
    days = np.datetime64("2022-01-01") + dice.integers(0, 700, len(draft.truth))
    draft.add(pick(dice, samples.DATES), "date", [str(day) for day in days])


def covariate_cells(dice: Dice, content: tuple[Any, ...], rows: int) -> tuple[Array, Cells]:
    """Return values and cells of a property of rows."""
    if content[0] == "whole":
        values = dice.integers(content[1], content[2], rows)
    elif content[0] == "real":
        values = np.round(dice.uniform(content[1], content[2], rows), 1)
    else:
        values = dice.choice(content, rows)
    return values, [str(value) for value in values]


def add_covariate(draft: Draft, dice: Dice) -> None:
    """Add a property of rows that nobody takes for a model (age, sex, site)."""
    name = pick(dice, [*samples.COVARIATES])
    _, cells = covariate_cells(dice, samples.COVARIATES[name], len(draft.truth))
    draft.add(name, "covariate", cells)


def add_blood_value(draft: Draft, dice: Dice) -> None:
    """Add a number that may be a marker, hence a model, or a property."""
    name = pick(dice, [*samples.BLOOD_VALUES])
    values, cells = covariate_cells(dice, samples.BLOOD_VALUES[name], len(draft.truth))
    if len(draft.classes) > 2:  # beside more classes a number ranks nothing
        draft.add(name, "covariate", cells)
        draft.doubts.append("number beside classes")
        return
    name = draft.add(name, "possible model", cells)
    complete = draft.meaning(
        "with the marker", [*draft.models, Model(name, score=values, cut=None)]
    )
    draft.accepted = [complete]
    draft.offered = [complete, draft.meaning("without the marker")]
    draft.doubts.append("marker or property")
    if not any(model.score is not None for model in draft.models):
        draft.accepted.append(draft.offered[1])  # beside labels only it ranks against nothing


def add_flag(draft: Draft, dice: Dice) -> None:
    """Add a covariate of two values: beside labels of these values it is a model, and stated."""
    codes = (dice.random(len(draft.truth)) < 0.4).astype(int)
    binary_codings = {
        ("0", "1"),
        ("0.0", "1.0"),
        ("no", "yes"),
        ("False", "True"),
        ("false", "true"),
    }
    cells = (
        draft.written(codes) if draft.classes in binary_codings else [str(code) for code in codes]
    )
    is_label = draft.classes in binary_codings or draft.classes[:2] == ("0", "1")
    name = draft.add(pick(dice, samples.FLAGS), "flag", cells)
    draft.doubts.append("flag")
    if not is_label:
        return
    draft.roles[name] = "possible model"
    complete = draft.meaning("with the flag", [*draft.models, Model(name, label=codes)])
    rest = draft.meaning("without the flag")
    draft.offered = [complete, rest]
    kinds = {(model.label is not None, model.score is not None) for model in draft.models}
    if draft.coding != "same" or len(kinds) > 1 or len(draft.classes) > 2:
        draft.accepted = [complete, rest]
    elif kinds == {(True, False)}:
        draft.accepted = [complete]
    else:
        draft.accepted = [rest] if kinds == {(False, True)} else [complete, rest]


def add_counts(draft: Draft, dice: Dice) -> None:
    """Add numbers of equal rows; a table of labels becomes one row per combination."""
    weight = dice.integers(1, 9, len(draft.truth))
    labels = [model.label for model in draft.models if model.score is None]
    if len(labels) == len(draft.models) and draft.models[0].probabilities is None:
        matrix = np.column_stack([draft.truth, *(codes for codes in labels if codes is not None)])
        _, rows, weight = np.unique(matrix, axis=0, return_index=True, return_counts=True)
        draft.truth = draft.truth[rows]
        for name, cells in draft.columns.items():
            draft.columns[name] = [cells[row] for row in rows]
        kept_labels = [codes[rows] for codes in labels if codes is not None]
        draft.models = [
            Model(model.name, label=codes)
            for model, codes in zip(draft.models, kept_labels, strict=True)
        ]
    draft.add(pick(dice, samples.COUNTS), "count", [str(number) for number in weight])
    draft.accepted = [draft.meaning("counts are numbers of rows", weight=weight)]
    draft.offered = draft.accepted
    draft.doubts.append("counts")


def add_weight(draft: Draft, dice: Dice) -> None:
    """Add weights: fractions, or (sampled 1 in k) whole numbers."""
    weight = np.round(dice.uniform(0.4, 8, len(draft.truth)), 2)
    if dice.random() < 0.3:
        weight = np.where(draft.truth == 0, 20, 1)
        draft.doubts.append("whole weights")
    draft.add(pick(dice, samples.WEIGHTS), "weight", [str(number) for number in weight])
    draft.accepted = [draft.meaning("weighted", weight=weight)]


def add_run(draft: Draft, dice: Dice) -> None:
    """Add folds of a cross-validation, in each of which every class occurs."""
    folds = int(dice.integers(2, 6))
    runs = np.zeros(len(draft.truth), int)
    for code in range(len(draft.classes)):
        rows = np.flatnonzero(draft.truth == code)
        runs[rows] = dice.permutation(len(rows)) % folds
    name = pick(dice, samples.RUNS)
    word = "Fold" if name == "Resample" else ""
    draft.add(name, "run", [f"{word}{number + 1}" for number in runs])
    draft.accepted = [draft.meaning("pooled"), draft.meaning("mean of runs", runs=runs)]
    draft.doubts.append("runs")


def add_total(draft: Draft, dice: Dice) -> None:
    """Add the sum of all columns of models: a score too, on a scale of its own."""
    numbers = [model.score if model.score is not None else model.label for model in draft.models]
    values = np.round(np.sum(numbers, axis=0), 3)
    whole_numbers = all(model.score is None for model in draft.models)
    cells = [str(int(value)) if whole_numbers else str(value) for value in values]
    name = draft.add(pick(dice, samples.TOTALS), "possible model", cells)
    complete = draft.meaning("with the total", [*draft.models, Model(name, score=values, cut=None)])
    draft.accepted = [complete]
    draft.offered = [complete, draft.meaning("without the total")]
    if whole_numbers:  # beside labels only it ranks against nothing
        draft.accepted = draft.offered
    draft.doubts.append("total")


def add_copy(draft: Draft, dice: Dice) -> None:
    """Add a copy of a model's column, or of truth (which is then called like truth)."""
    draft.doubts.append("copy")
    model = draft.models[-1]
    rest = draft.meaning("without the copy")
    if model.name in draft.columns and dice.random() < 0.6:
        name = pick(dice, samples.COPIES).format(model.name)
        role = draft.roles[model.name]
        name = draft.add(name, role, draft.columns[model.name])
        content = replace(model, name=name) if role == "score" else Model(name, model.label)
        complete = draft.meaning("with the copy", [*draft.models, content])
        draft.accepted = draft.offered = [complete, rest]
        return
    draft.add(str(pick(dice, samples.COPIES)), "copy of truth", draft.written(draft.truth))
    draft.accepted = [rest]
    if draft.refusable or len(draft.classes) > 2:
        draft.offered = [rest]
        return
    copied = Model("copy of truth", label=draft.truth)
    draft.offered = [rest, draft.meaning("with a copy of truth", [*draft.models, copied])]


BASES: dict[str, Callable[[Draft, Dice, Dice], None]] = {
    "labels": add_labels,
    "score": add_score,
    "scores": add_scores,
    "labels with scores": add_labels_with_scores,
    "probabilities": add_probabilities,
    "many classes": add_labels,
    "probabilities of many classes": add_probabilities,
    "long": add_labels,
    "long scores": add_scores,
    "joined": add_score,
    "joined labels": add_labels,
}
BASE_SHARES = (17, 15, 17, 14, 6, 10, 6, 5, 3, 4, 3)
EXTRAS: dict[str, Callable[[Draft, Dice], None]] = {
    "id": add_id,
    "account": add_account,
    "date": add_date,
    "covariate": add_covariate,
    "marker": add_blood_value,
    "flag": add_flag,
    "counts": add_counts,
    "weight": add_weight,
    "run": add_run,
    "total": add_total,
    "copy": add_copy,
}
