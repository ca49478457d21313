"""Tables as tools write them: every base adds truth, ids and predictions to a draft.

A table of a tool has its columns in the order of the tool; what they mean follows from the draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tests.tables import column_name_samples as samples
from tests.tables.table_drafts import (
    Array,
    Cells,
    Columns,
    Dice,
    Draft,
    Heading,
    Meaning,
    Model,
    class_probabilities,
    latent_scores,
    noisy_labels,
    pick,
    pick_several,
    scaled,
)


def probability_cells(dice: Dice, matrix: Array) -> list[Cells]:
    """Return the cells of each column of probabilities, in one spelling."""
    spell = pick(dice, [lambda p: str(round(p, 4)), lambda p: f"{p:.3f}", lambda p: f"{p:.6f}"])
    return [[spell(float(p)) for p in column] for column in matrix.T]


def draw_probabilities(draft: Draft, dice: Dice) -> Array:
    """Return probabilities of all classes without ties of the largest."""
    matrix = class_probabilities(dice, draft.truth, len(draft.classes))
    if len(draft.classes) == 2:
        matrix[matrix[:, 0] == 0.5] = 0.51, 0.49
    return matrix


def model_of_probabilities(name: str, matrix: Array, label: Array | None = None) -> Model:
    """Return a model whose labels are the classes of the largest probability, or others."""
    two = matrix.shape[1] == 2
    return Model(
        name,
        label=matrix.argmax(axis=1) if label is None else label,
        score=matrix[:, 1] if two else None,
        probabilities=None if two else matrix,
    )


def model_of_confidences(name: str, matrix: Array) -> Model:
    """Return a model of labels with the probability of the predicted class."""
    label = matrix.argmax(axis=1)
    if matrix.shape[1] > 2:
        return Model(name, label=label)
    return Model(name, label=label, score=matrix[:, 1], unranked=True)


def confidences(matrix: Array) -> Cells:
    """Return the cells of the largest probability."""
    return [f"{p:.3f}" for p in matrix.max(axis=1)]


def name_classes(draft: Draft, dice: Dice, texts: bool) -> None:
    """Give a draft classes that are texts, or the numbers from 0 on."""
    count = len(draft.classes)
    if not texts:
        draft.classes = tuple(map(str, range(count)))
        return
    two = [c[:2] for c in samples.TWO_CLASSES if not c[0].lstrip("-")[:1].isdigit()]
    many = [c for c in samples.MANY_CLASSES if len(c) == count and not c[0].isdigit()]
    if count > 2 and not many:
        draft.classes = tuple("abcdefg"[:count])
    elif not all(name[:1].isalpha() for name in draft.classes):
        draft.classes = tuple(pick(dice, two if count == 2 else many))


def add_truth(draft: Draft, name: str, cells: Cells | None = None) -> None:
    """Add the column of truth of a tool, with a name that says so."""
    written = draft.written(draft.truth) if cells is None else cells
    draft.truth_name = draft.add(name, "truth", written)


def row_numbers(draft: Draft) -> Cells:
    """Return the numbers of the rows."""
    return [str(row + 1) for row in range(len(draft.truth))]


def add_columns(draft: Draft, parts: Sequence[Callable[[], object]], dice: Dice) -> None:
    """Add groups of columns in an order that is drawn."""
    for position in dice.permutation(len(parts)):
        parts[int(position)]()


# tools with a row per observation


def add_weka(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add Weka's predictions: of the predicted class, or the distribution of all classes."""
    name_classes(draft, names, texts=names.random() < 0.8)
    matrix = draw_probabilities(draft, dice)
    label = matrix.argmax(axis=1)
    numbered = [f"{code + 1}:{name}" for code, name in enumerate(draft.classes)]
    role = "restarting id" if names.random() < 0.3 else "counting id"
    draft.add("inst#", role, row_numbers(draft))
    add_truth(draft, "actual", [numbered[code] for code in draft.truth])
    draft.add("predicted", "label", [numbered[code] for code in label])
    wrong = ["+" if error else "" for error in label != draft.truth]
    draft.add("error", "unused", wrong)
    if names.random() < 0.5:
        draft.add("prediction", "confidence", confidences(matrix))
        draft.models.append(model_of_confidences("predicted", matrix))
        return
    titles: dict[str, tuple[str, ...]] = {}
    short = names.random() < 0.4
    for code, cells in enumerate(probability_cells(dice, matrix)):
        marked = ["*" * int(code == best) + cell for best, cell in zip(label, cells, strict=True)]
        name = draft.add(f"distribution#{code}", "probability", marked)
        blank: tuple[str, ...] = () if short else ("",)
        titles[name] = blank if code else ("distribution",)
    draft.heading = Heading(titles=titles)
    draft.models.append(model_of_probabilities("predicted", matrix))


def add_orange(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add Orange's predictions below three header rows: names, types, roles."""
    name_classes(draft, names, texts=names.random() < 0.8)
    long_types = names.random() < 0.5
    number, discrete = ("continuous", "discrete") if long_types else ("c", "d")
    if names.random() < 0.4:
        discrete = " ".join(draft.classes)
    titles: dict[str, tuple[str, ...]] = {}
    for feature in pick_several(names, ("petal length", "glucose", "width", "f1"), 2):
        cells = [str(x) for x in np.round(dice.uniform(0, 9, len(draft.truth)), 1)]
        titles[draft.add(feature, "feature", cells)] = (number, "")
    unlisted = len(draft.classes) > 2 or names.random() < 0.5
    pool = samples.TRUTH_UNLISTED_OF_MANY_CLASSES if unlisted else samples.TRUTH_LIKELY
    add_truth(draft, str(pick(names, pool)))
    titles[str(draft.truth_name)] = (discrete, "class")
    with_labels = names.random() < 0.8
    for model in pick_several(names, samples.ORANGE_MODELS, int(names.integers(1, 4))):
        matrix = draw_probabilities(draft, dice)
        if with_labels:
            written = draft.written(matrix.argmax(axis=1))
            titles[draft.add(model, "label", written)] = (discrete, "meta")
        for code, cells in enumerate(probability_cells(dice, matrix)):
            name = draft.add(f"{model} ({draft.classes[code]})", "probability", cells)
            titles[name] = (number, "meta")
        draft.models.append(model_of_probabilities(model, matrix))
    titles = {name: (name, *types) for name, types in titles.items()}
    draft.heading = Heading(3, titles, str(pick(names, ["\t", ","])))


def add_caret(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add what caret saves: pred, obs, class probabilities, rowIndex, settings, Resample."""
    name_classes(draft, names, texts=True)
    matrix = draw_probabilities(draft, dice)
    with_probabilities = names.random() < 0.7
    label = matrix.argmax(axis=1)
    draft.add("pred", "label", draft.written(label))
    add_truth(draft, "obs")
    if with_probabilities:
        for name, cells in zip(draft.classes, probability_cells(dice, matrix), strict=True):
            draft.add(name, "probability", cells)
    draft.add("rowIndex", "counting id", row_numbers(draft))
    setting = str(pick(names, ["mtry", "C", "k", "cp", "parameter"]))
    draft.add(setting, "constant", [str(pick(names, ["2", "0.5", "none"]))] * len(draft.truth))
    folds = [f"Fold{number:02}" for number in dice.integers(1, 11, len(draft.truth))]
    draft.add("Resample", "unused", folds)
    model = model_of_probabilities("pred", matrix)
    draft.models.append(model if with_probabilities else Model("pred", label=label))


def add_tidymodels(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add what collect_predictions of tidymodels returns."""
    name_classes(draft, names, texts=True)
    matrix = draw_probabilities(draft, dice)
    pool = samples.TRUTH_UNLISTED_OF_MANY_CLASSES if len(draft.classes) > 2 else None
    truth = str(pick(names, pool or samples.TRUTH_UNLISTED))
    cells = probability_cells(dice, matrix)

    def add_class() -> object:
        return draft.add(".pred_class", "label", draft.written(matrix.argmax(axis=1)))

    def add_shares() -> None:
        for name, column in zip(draft.classes, cells, strict=True):
            draft.add(f".pred_{name}", "probability", column)

    folds = [f"Fold{number}" for number in dice.integers(1, 6, len(draft.truth))]
    split = folds if names.random() < 0.6 else ["train/test split"] * len(draft.truth)
    parts = [
        add_class,
        add_shares,
        lambda: add_truth(draft, truth),
        lambda: draft.add("id", "unused", split),
        lambda: draft.add(".row", "counting id", row_numbers(draft)),
        lambda: draft.add(".config", "constant", ["Preprocessor1_Model1"] * len(split)),
    ]
    add_columns(draft, parts, names)
    draft.models.append(model_of_probabilities(".pred", matrix))


def best_f1_cut(truth: Array, score: Array) -> float:
    """Return the score at which the F1 of the labels is highest."""
    cuts = np.unique(score)

    def f1(cut: float) -> float:
        label = score >= cut
        return float(2 * (label & (truth == 1)).sum() / (label.sum() + (truth == 1).sum()))

    return float(max(cuts, key=f1))


def add_h2o(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add H2O's predictions: its labels of two classes are cut where F1 is highest."""
    name_classes(draft, names, texts=names.random() < 0.3)
    matrix = draw_probabilities(draft, dice)
    label = matrix.argmax(axis=1)
    if len(draft.classes) == 2:
        label = (matrix[:, 1] >= best_f1_cut(draft.truth, matrix[:, 1])).astype(int)
    stem = "p" if draft.classes[0] == "0" else ""

    def add_predictions() -> None:
        draft.add("predict", "label", draft.written(label))
        for name, cells in zip(draft.classes, probability_cells(dice, matrix), strict=True):
            draft.add(f"{stem}{name}", "probability", cells)
        if names.random() < 0.15 and stem:
            draft.add("StdErr", "unused", [str(x) for x in np.round(dice.random(len(label)), 4)])

    many = len(draft.classes) > 2
    pool = samples.TRUTH_UNLISTED_OF_MANY_CLASSES if many else samples.TRUTH_UNLISTED
    listed = names.random() < 0.5
    if not listed and not stem:  # no column is called as only H2O calls it
        draft.doubts.append("truth of no listed name")
    truth = str(pick(names, samples.TRUTH_CERTAIN if listed else pool))
    add_columns(draft, [add_predictions, lambda: add_truth(draft, truth)], names)
    model = model_of_probabilities("predict", matrix, label)
    draft.models.append(model)
    shares = model_of_probabilities("p", matrix)
    draft.accepted = [
        draft.meaning("labels of F1 with their scores", [model]),
        draft.meaning("labels and probabilities", [Model("predict", label=label), shares]),
    ]
    draft.offered = [*draft.accepted, draft.meaning("probabilities", [shares])]
    draft.offered.append(draft.meaning("labels", [Model("predict", label=label)]))


def add_knime(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add the predictions of KNIME, which name truth and class."""
    many = len(draft.classes) > 2
    pool = samples.TRUTH_UNLISTED_OF_MANY_CLASSES if many else samples.TRUTH_UNLISTED
    truth = str(pick(names, pool if names.random() < 0.6 else samples.TRUTH_CERTAIN))
    draft.add(
        str(pick(names, ["RowID", "Row ID", "row ID"])),
        "id",
        [f"Row{row}" for row in dice.permutation(len(draft.truth))],
    )
    add_truth(draft, truth)
    suffixes = [""] if names.random() < 0.7 else [" (rf)", " (svm)"]
    for suffix in suffixes:
        matrix = draw_probabilities(draft, dice)
        for name, cells in zip(draft.classes, probability_cells(dice, matrix), strict=True):
            draft.add(f"P ({truth}={name}){suffix}", "probability", cells)
        written = draft.written(matrix.argmax(axis=1))
        draft.add(f"Prediction ({truth}){suffix}", "label", written)
        if not suffix and names.random() < 0.3:
            draft.add(f"Prediction ({truth}) (Confidence)", "unused", confidences(matrix))
        draft.models.append(model_of_probabilities(f"P{suffix}", matrix))


def add_autogluon(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add AutoGluon's probabilities, called by classes only, with or without pandas' index."""
    matrix = draw_probabilities(draft, dice)
    if names.random() < 0.3:
        draft.add(str(pick(names, ["Unnamed: 0", "index"])), "counting id", row_numbers(draft))
    listed = names.random() < 0.6
    many = len(draft.classes) > 2
    pool = samples.TRUTH_UNLISTED_OF_MANY_CLASSES if many else samples.TRUTH_UNLISTED
    if not listed:
        draft.doubts.append("truth of no listed name")
    truth = str(pick(names, samples.TRUTH_CERTAIN if listed else pool))
    stem = str(pick(names, ["", "", "proba_"]))

    def add_shares() -> None:
        for name, cells in zip(draft.classes, probability_cells(dice, matrix), strict=True):
            draft.add(f"{stem}{name}", "probability", cells)

    add_columns(draft, [add_shares, lambda: add_truth(draft, truth)], names)
    draft.models.append(model_of_probabilities(stem, matrix))


def add_pipeline(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add label and score of a pipeline of Hugging Face, next to the text."""
    spelling = str(pick(names, ["same", "upper", "LABEL", "LABEL", "LABEL of words"]))
    name_classes(draft, names, texts=spelling != "LABEL")
    matrix = draw_probabilities(draft, dice)
    written = draft.written(matrix.argmax(axis=1))
    if spelling == "upper":
        written = [cell.upper() for cell in written]
    elif spelling != "same":
        written = [f"LABEL_{code}" for code in matrix.argmax(axis=1)]
    is_logical = {name.casefold() for name in draft.classes} == {"false", "true"}
    if spelling == "LABEL of words" and not is_logical:
        draft.refusable = draft.unsayable = True
        draft.doubts.append("labels in another coding")
    prefix = str(pick(names, ["", "", "pred_", "predicted_", "hf_"]))
    truths = samples.PIPELINE_TRUTH if not prefix else ("label", *samples.PIPELINE_TRUTH)
    draft.add(
        str(pick(names, ["text", "sentence", "review"])),
        "text",
        [f"sentence {row}, of some words" for row in dice.permutation(len(written))],
    )

    def add_answer() -> None:
        draft.add(f"{prefix}label", "label", written)
        draft.add(f"{prefix}score", "confidence", confidences(matrix))

    add_columns(draft, [add_answer, lambda: add_truth(draft, str(pick(names, truths)))], names)
    draft.models.append(model_of_confidences("label", matrix))


def add_logits(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add one logit per class, which a constant of each row moves."""
    by_number = names.random() < 0.6
    name_classes(draft, names, texts=not by_number)
    matrix = np.log(draw_probabilities(draft, dice) + 1e-4)
    matrix = np.round(matrix + dice.normal(0, 2, (len(matrix), 1)), 4)
    if len(draft.classes) == 2:
        matrix[matrix[:, 0] == matrix[:, 1], 1] += 0.01
    stem = str(pick(names, ["logit_", "logits_"]))

    def add_shares() -> None:
        for code, name in enumerate(draft.classes):
            draft.add(f"{stem}{name}", "probability", [str(x) for x in matrix[:, code]])

    truth = str(pick(names, samples.TRUTH_CERTAIN))
    add_columns(draft, [add_shares, lambda: add_truth(draft, truth)], names)
    shares = np.exp(matrix) / np.exp(matrix).sum(axis=1, keepdims=True)
    model = model_of_probabilities("logit", shares)
    difference = matrix[:, 1] - matrix[:, 0]
    if len(draft.classes) == 2:
        model = Model("logit", label=model.label, score=np.round(difference, 6))
    draft.models.append(model)


def vector_cells(dice: Dice, matrix: Array, sparse: bool) -> Cells:
    """Return vectors as Spark writes them as text."""
    columns = probability_cells(dice, matrix)
    cells = ["[" + ",".join(row) + "]" for row in zip(*columns, strict=True)]
    best = matrix.argmax(axis=1)
    if sparse:
        for row in np.flatnonzero(matrix.max(axis=1) == 1):
            cells[row] = f"({matrix.shape[1]},[{best[row]}],[1.0])"
    return cells


def add_spark(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add the vectors of Spark ML as text."""
    name_classes(draft, names, texts=False)
    matrix = draw_probabilities(draft, dice)
    sparse = names.random() < 0.4
    if sparse:
        rows = np.flatnonzero(matrix.max(axis=1) > 0.9)
        matrix[rows] = np.eye(matrix.shape[1])[matrix[rows].argmax(axis=1)]
    number = str(pick(names, ["{:.1f}", "{}"]))
    truth = [number.format(float(code) if "f" in number else code) for code in draft.truth]
    add_truth(draft, str(pick(names, ["label", "label", "target", "indexedLabel"])), truth)
    if draft.truth_name == "indexedLabel":
        draft.doubts.append("truth of no listed name")
    if names.random() < 0.5:
        features = np.round(dice.normal(0, 1, (len(matrix), 3)), 2)
        texts = ["[" + ",".join(map(str, row)) + "]" for row in features]
        draft.add("features", "feature", texts)
    if names.random() < 0.6:
        raw = vector_cells(dice, np.log(matrix + 0.001), False)
        draft.add("rawPrediction", "raw", raw)
    draft.add("probability", "probability", vector_cells(dice, matrix, sparse))
    if names.random() < 0.7:
        labels = [number.format(float(c) if "f" in number else c) for c in matrix.argmax(axis=1)]
        draft.add("prediction", "label", labels)
    draft.models.append(model_of_probabilities("probability", matrix))


def add_one_hot(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add truth as one 0/1 column per class, with probabilities or 0/1 columns of predictions."""
    name_classes(draft, names, texts=names.random() < 0.8)
    matrix = draw_probabilities(draft, dice)
    truths, predictions = pick(names, samples.ONE_HOT)
    if truths == "{}" and draft.classes[0].isdigit():
        truths = "true_{}"
    label = matrix.argmax(axis=1)
    hard = names.random() < 0.3
    cells = probability_cells(dice, matrix)
    if hard:
        cells = [[str(int(code == best)) for best in label] for code in range(len(cells))]
    pairs = names.random() < 0.3
    for code, name in enumerate(draft.classes):
        truth_cells = [str(int(code == actual)) for actual in draft.truth]
        draft.add(truths.format(name), "truth", truth_cells)
        if pairs:
            draft.add(predictions.format(name), "probability", cells[code])
    for code, name in enumerate(() if pairs else draft.classes):
        draft.add(predictions.format(name), "probability", cells[code])
    draft.truth_name = ""
    model = model_of_probabilities("pred", matrix)
    draft.models.append(Model("pred", label=label) if hard else model)


# tables of other rows


def add_submissions(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add a truth file of Kaggle and submissions to it, which have one column name."""
    if not all(name.isdigit() for name in draft.classes):
        name_classes(draft, names, texts=False)
    id_name, target = pick(names, samples.SUBMISSIONS)
    many = len(draft.classes) > 2
    labels = many or names.random() < 0.3
    ids = [
        f"{number}" for number in dice.permutation(len(draft.truth)) + int(pick(names, [1, 892]))
    ]
    if names.random() < 0.3:
        ids = [f"img_{number}" for number in ids]
    truth: Columns = {id_name: ids, target: draft.written(draft.truth)}
    if names.random() < 0.7:
        usage = dice.choice(["Public", "Private"], len(ids), p=[0.3, 0.7])
        truth["Usage"] = usage.tolist()
    solution, submissions = pick(names, samples.SUBMISSION_FILES)
    draft.ready_files = {solution: truth}
    for file in submissions:
        if labels:
            codes = noisy_labels(dice, draft.truth, len(draft.classes))
            cells = draft.written(codes)
            draft.models.append(Model(file, label=codes))
        else:
            values, cells = scaled(latent_scores(dice, draft.truth), "unit")
            draft.models.append(Model(file, score=values))
        index = dice.permutation(len(ids))
        columns = {id_name: ids, target: cells}
        draft.ready_files[file] = {
            name: [column[row] for row in index] for name, column in columns.items()
        }
    draft.roles = {id_name: "id", target: "truth", "Usage": "unused"}
    draft.truth_name, draft.words = target, ("--join", id_name)


def add_reader_study(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add the rows of iMRMC: a score of each reader, case and modality; truth has rows too."""
    readers, modalities = int(names.integers(2, 6)), int(names.integers(1, 4))
    cases = int(names.integers(24, 70))
    draft.classes = ("0", "1")
    truth = (dice.random(cases) < dice.uniform(0.3, 0.6)).astype(int)
    truth[:10] = [0, 1] * 5
    header = pick(names, samples.READER_STUDY)
    mark = str(pick(names, ["-1", "truth"]))
    kinds = pick_several(names, ("ct", "mri", "unaided", "aided", "A", "B"), modalities)
    rows = [(mark, f"c{case}", "truth", str(truth[case])) for case in range(cases)]
    step = float(pick(names, [0.001, 1.0]))
    draft.truth = np.tile(truth, readers)
    for kind in kinds:
        latent = np.concatenate([latent_scores(dice, truth) for _ in range(readers)])
        values = np.round(np.round(20 * latent / step) * step, 3)
        draft.models.append(Model(kind, score=values, cut=None))
        rows += [
            (f"r{place // cases + 1}", f"c{place % cases}", kind, f"{values[place]:g}")
            for place in range(len(values))
        ]
    order = dice.permutation(len(rows)) if names.random() < 0.5 else np.arange(len(rows))
    rows = [rows[place] for place in order]
    columns: Columns = {
        name: [*cells] for name, cells in zip(header, zip(*rows, strict=True), strict=True)
    }
    draft.ready_files = {"study.imrmc.csv": columns}
    draft.roles = dict(zip(header, ("reader", "case", "model", "truth"), strict=True))
    draft.truth_name = header[3]
    readers_of = np.repeat(np.arange(readers), cases)
    draft.accepted = [
        draft.meaning("pooled over readers"),
        draft.meaning("mean of readers", runs=readers_of),
    ]


def add_r_counts(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add R's table of counts: each pair of true and predicted class with its number."""
    codes = noisy_labels(dice, draft.truth, len(draft.classes))
    truth_name, prediction, count = pick(names, samples.R_COUNTS)
    size = len(draft.classes)
    counts = np.zeros((size, size), int)
    np.add.at(counts, (draft.truth, codes), 1)
    actual, predicted = (part.ravel() for part in np.indices((size, size)))
    weight = counts.ravel()
    if names.random() < 0.5:  # dplyr::count leaves empty pairs out
        actual, predicted, weight = (part[weight > 0] for part in (actual, predicted, weight))
    draft.truth = actual
    row_names = draft.add("row names", "id", row_numbers(draft)) if names.random() < 0.3 else None
    first = names.random() < 0.5
    if first:
        add_truth(draft, truth_name)
    draft.add(prediction, "label", draft.written(predicted))
    if not first:
        add_truth(draft, truth_name)
    draft.add(count, "count", [str(number) for number in weight])
    if row_names:
        draft.heading = Heading(titles={row_names: ("",)})
    draft.models.append(Model(prediction, label=predicted))
    draft.accepted = [draft.meaning("counts", weight=weight.astype(float))]


def add_detections(draft: Draft, names: Dice, dice: Dice) -> None:
    """Add true positives, false positives and false negatives of several models."""
    titles = pick(names, samples.DETECTION_COUNTS)
    model_names = pick_several(names, samples.MODELS, int(names.integers(1, 5)))
    positives = int(dice.integers(30, 400))
    draft.classes = ("0", "1")
    true = dice.integers(5, positives - 5, len(model_names))
    false = dice.integers(1, 200, len(model_names))
    draft.add(str(pick(names, ["model", "detector", "Model", "name"])), "model", model_names)
    for name, numbers in zip(titles, (true, false, positives - true), strict=True):
        draft.add(name, "count", [str(number) for number in numbers])
    if names.random() < 0.3:
        shares = np.round(true / (true + false), 3)
        draft.add("precision", "covariate", [str(share) for share in shares])
    draft.truth, draft.truth_name = np.zeros(len(model_names), int), ""
    for name, tp, fp in zip(model_names, true.tolist(), false.tolist(), strict=True):
        fn = positives - tp
        facts = {"tp": tp, "fp": fp, "fn": fn, "tn": None, "sensitivity": tp / positives}
        facts |= {"precision": tp / (tp + fp), "specificity": None, "accuracy": None}
        facts["f1"] = 2 * tp / (2 * tp + fp + fn)
        draft.models.append(Model(name, facts=facts))


TOOLS: dict[str, Callable[[Draft, Dice, Dice], None]] = {
    "Weka": add_weka,
    "Orange": add_orange,
    "caret": add_caret,
    "tidymodels": add_tidymodels,
    "H2O": add_h2o,
    "KNIME": add_knime,
    "AutoGluon": add_autogluon,
    "pipeline": add_pipeline,
    "logits": add_logits,
    "Spark": add_spark,
    "one-hot": add_one_hot,
    "submissions": add_submissions,
    "reader study": add_reader_study,
    "R counts": add_r_counts,
    "detections": add_detections,
}
# tools whose tables have a row per observation and one header row, and so may have more columns
EXTENDABLE = ("caret", "tidymodels", "H2O", "KNIME", "AutoGluon", "pipeline", "logits", "Spark")


def swapped(meaning: Meaning) -> Meaning:
    """Return a reading of two classes with the other one as positive."""
    models = tuple(
        Model(
            model.name,
            label=None if model.label is None else 1 - model.label,
            score=None if model.score is None else -model.score,
            unranked=model.unranked,
            cut=None,
        )
        for model in meaning.models
    )
    words = f"{meaning.words}, the other class positive"
    return Meaning(
        words, 1 - meaning.truth, models, meaning.classes[::-1], meaning.weight, meaning.runs
    )
