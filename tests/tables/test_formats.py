"""Formats of tools: a small table as each writes it, with numbers of scikit-learn or by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, recall_score, roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import OneHotEncoder

import clfeval
from clfeval.errors import ClfevalError, DataError
from tests.process.program import clfeval as program
from tests.results import estimate_of, limits_of, rows_by, rows_of, value_and_limits
from tests.tables.asking import proposals
from tests.tables.door import encoded, write
from tests.test_schema import VALIDATOR

Columns = Mapping[str, Any]
KINDS = ["cat", "dog", "owl"]
WORDS = ["neg", "pos"]
ROWS = 90


@dataclass(frozen=True)
class Sample:
    """Truth as numbers of classes, and probabilities (m, C) of four digits that sum to 1."""

    truth: Any
    p: Any

    @property
    def labels(self) -> Any:
        return self.p.argmax(axis=1)

    @property
    def accuracy(self) -> float:
        return float(accuracy_score(self.truth, self.labels))

    @property
    def area(self) -> float:
        return float(roc_auc_score(self.truth, self.p[:, 1]))

    def names(self, of: Any, classes: list[str]) -> list[str]:
        return [classes[i] for i in of]


def sample(classes: int, seed: int = 3) -> Sample:
    dice = np.random.default_rng(seed)
    truth = dice.integers(0, classes, ROWS)
    weights = dice.random((ROWS, classes)) + 0.7 * np.eye(classes)[truth]
    p = np.round(weights / weights.sum(axis=1, keepdims=True), 4)
    p[:, 0] = np.round(1 - p[:, 1:].sum(axis=1), 4)
    return Sample(truth, p)


TWO, THREE = sample(2), sample(3)
BOTH = {"accuracy": TWO.accuracy, "roc_auc": TWO.area}
ALL = {"accuracy": THREE.accuracy}
TRUTH, LABELS = TWO.names(TWO.truth, WORDS), TWO.names(TWO.labels, WORDS)
TRUTH3, LABELS3 = THREE.names(THREE.truth, KINDS), THREE.names(THREE.labels, KINDS)
NUMBERS = list(range(1, ROWS + 1))
FOLDS = [f"Fold{i % 5 + 1}" for i in NUMBERS]


def weka(columns: Columns, classes: list[str]) -> dict[str, Any]:
    """Number the classes of labels as Weka does: `2:pos`."""
    place = {name: f"{i}:{name}" for i, name in enumerate(classes, 1)}
    return {name: [place.get(cell, cell) for cell in cells] for name, cells in columns.items()}


def probabilities(of: Sample, names: list[str]) -> dict[str, Any]:
    return {name: of.p[:, i] for i, name in enumerate(names)}


def one_hot(truth: Any, names: list[str]) -> dict[str, Any]:
    """Return a 0/1 column per class, as scikit-learn writes it."""
    table = OneHotEncoder(sparse_output=False).fit_transform(np.reshape(truth, (-1, 1)))
    return {name: table[:, i].astype(int) for i, name in enumerate(names)}


def logits(of: Sample, names: list[str]) -> dict[str, Any]:
    """Return logarithms of probabilities, moved by a number of each row."""
    moved = np.log(of.p) + np.random.default_rng(8).normal(0, 2, (ROWS, 1))
    return {name: moved[:, i] for i, name in enumerate(names)}


def structs(p: Any) -> list[dict[str, Any]]:
    """Return dense vectors as Spark writes them into Parquet."""
    return [{"type": 1, "size": None, "indices": None, "values": list(row)} for row in p]


def vectors(p: Any) -> list[str]:
    """Return dense vectors as Spark's vector_to_string writes them."""
    return ["[" + ",".join(map(str, row)) + "]" for row in p]


WEKA = {"inst#": NUMBERS, "actual": TRUTH, "predicted": LABELS, "error": [""] * ROWS}
WEKA3 = {**WEKA, "actual": TRUTH3, "predicted": LABELS3}
CARET = {"mtry": 2, "rowIndex": NUMBERS, "Resample": FOLDS}
TIDY = {"id": FOLDS, ".row": NUMBERS, ".config": "Preprocessor1_Model1"}
PIPELINE = {"text": [f"text {i}" for i in NUMBERS], "score": TWO.p.max(axis=1)}
TABLES: list[tuple[str, Columns, Mapping[str, float]]] = [
    ("Weka", weka({**WEKA, "prediction": TWO.p.max(axis=1)}, WORDS), BOTH),
    ("Weka", weka({**WEKA3, "prediction": THREE.p.max(axis=1)}, KINDS), ALL),
    ("caret", {"pred": LABELS, "obs": TRUTH, **probabilities(TWO, WORDS), **CARET}, BOTH),
    ("caret", {"pred": LABELS3, "obs": TRUTH3, **probabilities(THREE, KINDS), **CARET}, ALL),
    (
        "tidymodels",
        {
            ".pred_class": LABELS,
            **probabilities(TWO, [".pred_neg", ".pred_pos"]),
            **TIDY,
            "penalty": 0.01,
            "disease": TRUTH,
        },
        BOTH,
    ),
    (
        "tidymodels",
        {
            **TIDY,
            "id2": FOLDS,
            ".pred_class": LABELS3,
            "Species": TRUTH3,
            **probabilities(THREE, [f".pred_{kind}" for kind in KINDS]),
        },
        ALL,
    ),
    (
        "H2O",
        {"predict": TWO.labels, **probabilities(TWO, ["p0", "p1"]), "bad_loan": TWO.truth},
        BOTH,
    ),
    (
        "KNIME",
        {
            "RowID": [f"Row{i}" for i in NUMBERS],
            "ill": TRUTH,
            **probabilities(TWO, ["P (ill=neg)", "P (ill=pos)"]),
            "Prediction (ill)": LABELS,
        },
        BOTH,
    ),
    (
        "KNIME",
        {
            "kind": TRUTH3,
            **probabilities(THREE, [f"P (kind={kind}) (rf)" for kind in KINDS]),
            "Prediction (kind) (rf)": LABELS3,
            "Prediction (kind) (Confidence)": THREE.p.max(axis=1),
        },
        ALL,
    ),
    ("Hugging Face", {**PIPELINE, "gold": TRUTH, "label": [x.upper() for x in LABELS]}, BOTH),
    (
        "Hugging Face",
        {**PIPELINE, "y": TWO.truth, "label": [f"LABEL_{i}" for i in TWO.labels]},
        BOTH,
    ),
    ("Hugging Face", {"pred_label": LABELS, "pred_score": TWO.p.max(axis=1), "label": TRUTH}, BOTH),
    ("logits", {"labels": TWO.truth, **logits(TWO, ["logit_0", "logit_1"])}, BOTH),
    ("logits", {"label": TRUTH3, **logits(THREE, [f"logits_{k}" for k in KINDS])}, ALL),
    (
        "Spark ML",
        {
            "label": TWO.truth * 1.0,
            "rawPrediction": vectors(np.log(TWO.p)),
            "probability": vectors(TWO.p),
            "prediction": TWO.labels * 1.0,
        },
        BOTH,
    ),
    (
        "Spark ML",
        {
            "label": THREE.truth * 1.0,
            "probability": vectors(THREE.p),
            "prediction": THREE.labels * 1.0,
        },
        ALL,
    ),
    (
        "one-hot",
        {
            **one_hot(THREE.truth, [f"{kind}_true" for kind in KINDS]),
            **probabilities(THREE, [f"{kind}_pred" for kind in KINDS]),
        },
        ALL,
    ),
    (
        "one-hot",
        {**one_hot(TWO.truth, WORDS), **probabilities(TWO, ["prob_neg", "prob_pos"])},
        BOTH,
    ),
    (
        "one-hot",
        {
            **one_hot(THREE.truth, [f"true_{kind}" for kind in KINDS]),
            **one_hot(THREE.labels, [f"pred_{kind}" for kind in KINDS]),
        },
        ALL,
    ),
]


def measures_of(result: Any, model: str | None = None) -> dict[str, float]:
    """Return the measures of the only model, or of a named one."""
    rows = [row for row in result.tables["measures"] if row["slice"] is row["class"] is None]
    names = {row["model"] for row in rows}
    chosen = model or next(iter(names))
    assert model is not None or len(names) == 1, names
    found = [row for row in rows if row["model"] == chosen and row["estimator"] != "macro"]
    return {row["measure"]: row["value"].value for row in found}


def has_values(result: Any, expected: Mapping[str, float], model: str | None = None) -> bool:
    values = measures_of(result, model)
    return {name: values.get(name) for name in expected} == pytest.approx(dict(expected), abs=1e-9)


@pytest.mark.parametrize("how", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("columns", "values"), [table[1:] for table in TABLES], ids=[table[0] for table in TABLES]
)
def test_a_table_of_a_tool_is_read_at_once(
    columns: Columns, values: Mapping[str, float], how: str
) -> None:
    write(f"t.{how}", encoded(pl.DataFrame(columns), how))
    assert has_values(clfeval.report(f"t.{how}", interval="none"), values)


def text_of(rows: list[list[Any]], delimiter: str = ",") -> str:
    return "".join(delimiter.join(map(str, row)) + "\n" for row in rows)


def weka_distribution(of: Sample, classes: list[str], header: list[str]) -> str:
    """Write Weka's distribution, with `*` at the predicted class, below a header of our choice."""
    rows: list[list[Any]] = [["inst#", "actual", "predicted", "error", *header]]
    for i, (truth, label, p) in enumerate(zip(of.truth, of.labels, of.p, strict=True), 1):
        names = [f"{k + 1}:{classes[k]}" for k in (truth, label)]
        marked = [f"{'*' if k == label else ''}{share}" for k, share in enumerate(p)]
        rows.append([i, *names, "+" if truth != label else "", *marked])
    return text_of(rows)


def orange(delimiter: str, types: list[str]) -> str:
    """Write Orange's three header rows above truth, labels, and class probabilities."""
    rows: list[list[Any]] = [
        ["kind", "rf", *(f"rf ({kind})" for kind in KINDS), "petal"],
        types,
        ["class", "meta", "meta", "meta", "meta", ""],
    ]
    cells = zip(TRUTH3, LABELS3, THREE.p, strict=True)
    return text_of([*rows, *([truth, label, *p, 5.1] for truth, label, p in cells)], delimiter)


def r_table(delimiter: str) -> str:
    """Write row names without a field in the header, as R's write.table does."""
    cells = zip(TWO.truth, TWO.p[:, 1], strict=True)
    rows = [[f'"{i}"', truth, p] for i, (truth, p) in enumerate(cells, 1)]
    return text_of([['"truth"', '"score"'], *rows], delimiter)


TEXTS = {
    "weka of two": ("t.csv", weka_distribution(TWO, WORDS, ["distribution", ""]), BOTH),
    "weka of three": ("t.csv", weka_distribution(THREE, KINDS, ["distribution", "", ""]), ALL),
    "weka short": ("t.csv", weka_distribution(THREE, KINDS, ["distribution"]), ALL),
    "orange tab": ("t.tab", orange("\t", ["d", "d", "c", "c", "c", "c"]), ALL),
    "orange csv": ("t.csv", orange(",", ["cat dog owl", "cat dog owl", *["continuous"] * 4]), ALL),
    "r csv": ("t.csv", r_table(","), BOTH),
    "r blanks": ("t.txt", r_table(" "), BOTH),
    "r tabs": ("t.tsv", r_table("\t"), BOTH),
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_text_with_the_header_of_a_tool_is_read_at_once(case: str) -> None:
    name, content, values = TEXTS[case]
    write(name, content)
    assert has_values(clfeval.report(name, interval="none"), values)


def test_errors_below_three_header_rows_name_the_row_of_the_file() -> None:
    lines = orange(",", ["d", "d", "c", "c", "c", "c"]).splitlines()
    lines[6] = lines[6].replace(str(THREE.p[3, 2]), "high")
    write("t.csv", "\n".join(lines))
    with pytest.raises(DataError) as raised:
        clfeval.report("t.csv")
    assert (raised.value.problems[0].row, raised.value.problems[0].column) == (7, "rf (owl)")


@pytest.mark.parametrize("of", [TWO, THREE])
@pytest.mark.parametrize("write_cells", [structs, lambda p: p.tolist()])
def test_vectors_in_parquet_are_class_probabilities(of: Sample, write_cells: Any) -> None:
    columns = {"label": of.truth * 1.0, "probability": write_cells(of.p)}
    write("t.parquet", encoded(pl.DataFrame(columns), "parquet"))
    assert measures_of(clfeval.report("t.parquet"))["accuracy"] == pytest.approx(of.accuracy)


def test_a_sparse_vector_has_zeros_where_it_says_nothing() -> None:
    cells = ["(2,[1],[1.0])", "[0.3,0.7]", "(2,[0],[1.0])", "[0.6,0.4]"]
    write("t.csv", encoded(pl.DataFrame({"label": [1, 0, 0, 1], "probability": cells}), "csv"))
    result = clfeval.report("t.csv", measure="brier")
    assert measures_of(result)["brier"] == pytest.approx((0 + 0.49 + 0 + 0.36) / 4)


def test_probabilities_of_scikit_learn_are_read_by_the_numbers_of_their_columns() -> None:
    x, y = load_iris(return_X_y=True)
    p = cross_val_predict(LogisticRegression(max_iter=500), x, y, method="predict_proba")
    columns = {"y_true": y, **{str(i): p[:, i] for i in range(3)}}
    write("t.csv", encoded(pl.DataFrame(columns), "csv"))
    values = {"accuracy": accuracy_score(y, p.argmax(axis=1))}
    assert has_values(clfeval.report("t.csv", interval="none"), values)


def reader_study(mark: str) -> tuple[str, Any, dict[str, Any]]:
    """Write a file of iMRMC: 30 cases, 3 readers, 2 modalities; return truth and scores too."""
    dice = np.random.default_rng(4)
    truth = np.array([case < 12 for case in range(30)], int)
    rows: list[list[Any]] = [["readerID", "caseID", "modalityID", "score"]]
    rows += [[mark, f"c{case}", "truth", truth[case]] for case in range(30)]
    scores: dict[str, Any] = {}
    for modality in ("ct", "mri"):
        scores[modality] = np.round(dice.normal(0, 1, (3, 30)) + truth, 3)
        rows += [
            [f"r{reader}", f"c{case}", modality, scores[modality][reader, case]]
            for reader in range(3)
            for case in range(30)
        ]
    return text_of(rows), np.tile(truth, 3), {m: s.ravel() for m, s in scores.items()}


@pytest.mark.parametrize("mark", ["-1", "truth"])
def test_a_reader_study_has_truth_in_rows_of_its_own(mark: str) -> None:
    content, truth, scores = reader_study(mark)
    write("t.csv", content)
    result = clfeval.report("t.csv")
    for modality, values in scores.items():
        area = float(roc_auc_score(truth, values))
        assert measures_of(result, modality)["roc_auc"] == pytest.approx(area)
    assert result.summary["clusters"] == 30


def test_truth_in_a_file_of_0_1_columns_is_joined_to_scores_of_the_same_names() -> None:
    ids = [f"i{i}" for i in NUMBERS]
    truth = {"image": ids, **one_hot(THREE.truth, KINDS)}
    write("truth.csv", encoded(pl.DataFrame(truth), "csv"))
    scores = pl.DataFrame({"image": ids, **probabilities(THREE, KINDS)}).sample(
        fraction=1, shuffle=True, seed=1
    )
    write("s.csv", encoded(scores, "csv"))
    assert has_values(clfeval.report(["truth.csv", "s.csv"], join="image"), ALL)


@pytest.mark.parametrize("n", ["Freq", "n"])
@pytest.mark.parametrize(("of", "names"), [(TWO, WORDS), (THREE, KINDS)])
def test_a_table_of_counts_of_r_has_no_other_reading(of: Sample, names: list[str], n: str) -> None:
    pairs = pl.DataFrame({"truth": of.names(of.truth, names), "pred": of.names(of.labels, names)})
    write("t.csv", encoded(pairs.group_by("truth", "pred").agg(pl.len().alias(n)), "csv"))
    assert has_values(clfeval.report("t.csv", interval="none"), {"accuracy": of.accuracy})


def test_counts_of_unnamed_classes_ask_only_which_is_truth() -> None:
    write("t.csv", "Var1,Var2,Freq\nno,no,45\nyes,no,10\nno,yes,5\nyes,yes,40\n")
    run = program("report", "t.csv", "-q")
    expected = ["report t.csv -q --truth Var1", "report t.csv -q --truth Var2"]
    assert (run.code, proposals(run.err)) == (3, expected)


COUNTS = {
    "t.csv": "model,tp,fp,fn\na,8,4,9\nb,7,1,10\n",
    "t.tsv": "Detector\tTrue Positives\tFalse Positives\tfn\na\t8\t4\t9\nb\t7\t1\t10\n",
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_without_true_negatives_have_measures_of_detections(name: str) -> None:
    write(name, COUNTS[name])
    result = clfeval.report(name, measure=["jaccard", "fdr"])
    cells = {"sensitivity": (8, 17), "precision": (8, 12), "fdr": (4, 12), "jaccard": (8, 21)}
    rows = rows_by(result, "measures", "measure", model="a")
    estimates = {measure: estimate_of(row["value"]) for measure, row in rows.items()}
    for measure, (k, n) in cells.items():
        exact = (beta.ppf(0.025, k, n - k + 1), beta.ppf(0.975, k + 1, n - k))
        assert value_and_limits(estimates[measure]) == pytest.approx((k / n, *exact)), measure
    jaccard = (8 / 21, *limits_of(estimates["jaccard"]))
    of_jaccard = tuple(2 * x / (1 + x) for x in jaccard)
    assert value_and_limits(estimates["f1"]) == pytest.approx(of_jaccard)
    reasons = {name: cell.reason for name, cell in estimates.items() if cell.value is None}
    unknown = ("specificity", "npv", "accuracy", "balanced_accuracy", "mcc", "kappa", "prevalence")
    assert reasons == dict.fromkeys(unknown, "no_tn")
    assert result.answer[0].text.startswith("b has the highest F1: 0.560 (")
    cells_of_a = rows_of(result, "confusion", model="a")
    assert [row["rows"] for row in cells_of_a] == [8, 9, 4]
    assert result.tables["models"][0]["tn"] is None
    VALIDATOR.validate(json.loads(result.to_json()))


def test_columns_that_a_conversion_removes_may_be_ignored() -> None:
    write("t.csv", "class,TP,FP,FN,note\na,8,4,9,x\nb,7,1,10,y\n")
    result = clfeval.report("t.csv", ignore="note")
    assert [row["model"] for row in result.tables["models"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        *((command, ()) for command in ("mars", "phidelta", "tune-jpt", "count")),
        ("report", ("--prevalence", "0.1")),
        ("report", ("--by", "site")),
    ],
)
def test_what_needs_true_negatives_is_refused_without_them(
    command: str, words: tuple[str, ...]
) -> None:
    write("t.csv", "model,site,tp,fp,fn\na,x,8,4,9\n")
    run = program(command, "t.csv", "-q", *words)
    assert run.code in (2, 3)
    assert "[no-tn]" in run.err
    assert proposals(run.err) == []


LONE = text_of([["text", "label", "score"], *([i, f"LABEL_{i % 2}", 0.9] for i in range(20))])
REFUSED: dict[str, str | bytes] = {
    "numbered-classes": encoded(
        pl.DataFrame({"y_true": TRUTH3, **probabilities(THREE, ["0", "1", "2"])}), "csv"
    ),
    "no-truth": LONE,
    "long-row": "id,truth,rf\n" + "".join(f"{i},{i % 2},0,{i % 10}\n" for i in range(1, 30)),
    "one-hot": "true_a,true_b,p_a,p_b\n" + "1,0,.7,.3\n0,1,.2,.8\n" * 3000 + "1,1,.5,.5\n",
    "no-tn": "Type,TRUTH.TP,TRUTH.FN,QUERY.FP\nSNP,90,10,5\n",
}


OTHER_CLASSES = {
    "words of a pipeline": {
        "text": [f"text {i}" for i in NUMBERS],
        "y": THREE.truth,
        "label": [["NEGATIVE", "NEUTRAL", "POSITIVE"][i] for i in THREE.labels],
        "score": THREE.p.max(axis=1),
    },
    "words of logits": {"label": TWO.truth, **logits(TWO, ["logit_no", "logit_yes"])},
    "numbers of logits": {"label": TRUTH3, **logits(THREE, ["logit_0", "logit_1", "logit_2"])},
    "columns of two": {"y_true": TRUTH, **probabilities(TWO, ["0", "1"])},
}


@pytest.mark.parametrize("case", OTHER_CLASSES)
def test_classes_in_other_words_than_those_of_truth_are_refused(case: str) -> None:
    write("t.csv", encoded(pl.DataFrame(OTHER_CLASSES[case]), "csv"))
    run = program("report", "t.csv", "-q")
    assert (run.code, proposals(run.err)) == (3, [])
    assert "[numbered-classes]" in run.err


def test_logits_of_two_models_stay_two_models() -> None:
    of_models = {"label": TWO.truth, **logits(TWO, ["logit_rf", "logit_svm"])}
    write("t.csv", encoded(pl.DataFrame(of_models), "csv"))
    result = clfeval.report("t.csv", interval="none")
    area = float(roc_auc_score(TWO.truth, of_models["logit_svm"]))
    assert measures_of(result, "logit_svm")["roc_auc"] == pytest.approx(area)


def test_equal_differences_of_logits_are_ties() -> None:
    """2.3 - 2.1 and 1.4 - 1.2 differ as binary numbers."""
    write("t.csv", "truth,logit_0,logit_1\n" + "1,2.1,2.3\n0,1.2,1.4\n" * 5)
    assert measures_of(clfeval.report("t.csv"))["roc_auc"] == 0.5


@pytest.mark.parametrize("negative", ["0", "-1", "False"])
def test_the_class_1_of_weka_is_positive(negative: str) -> None:
    classes = [negative, "True" if negative == "False" else "1"]
    columns = {**WEKA, "actual": TWO.names(TWO.truth, classes)}
    columns |= {"predicted": TWO.names(TWO.labels, classes), "prediction": TWO.p.max(axis=1)}
    write("t.csv", encoded(pl.DataFrame(weka(columns, classes)), "csv"))
    sensitivity = float(recall_score(TWO.truth, TWO.labels))
    assert has_values(clfeval.report("t.csv", interval="none"), {"sensitivity": sensitivity})


def test_a_format_is_recognised_by_all_rows() -> None:
    """Truth has one class in the first 10,000 rows."""
    truth = ["neg"] * 10_000 + TRUTH
    labels = (["NEG", "POS"] * 5000) + [label.upper() for label in LABELS]
    surest = np.concatenate([np.full(10_000, 0.6), TWO.p.max(axis=1)])
    write("t.csv", encoded(pl.DataFrame({"truth": truth, "label": labels, "score": surest}), "csv"))
    expected = float(accuracy_score(truth, [label.lower() for label in labels]))
    assert has_values(clfeval.report("t.csv", interval="none"), {"accuracy": expected})


def test_a_truth_of_no_listed_name_is_offered_beside_vectors() -> None:
    columns = {"indexedLabel": TWO.truth * 1.0, "probability": vectors(TWO.p)}
    write("t.csv", encoded(pl.DataFrame(columns), "csv"))
    assert proposals(program("report", "t.csv", "-q").err) == [
        "report t.csv -q --truth indexedLabel"
    ]


@pytest.mark.parametrize("settings", [1, 2])
def test_repeated_cross_validation_has_clusters_and_settings_are_asked_about(settings: int) -> None:
    rows = [
        pl.DataFrame(
            {"pred": LABELS, "obs": TRUTH, **probabilities(TWO, WORDS), "rowIndex": NUMBERS}
        ).with_columns(mtry=pl.lit(setting), Resample=pl.lit(f"Fold1.Rep{repeat}"))
        for setting in range(settings)
        for repeat in range(3 if settings == 1 else 1)
    ]
    write("t.csv", encoded(pl.concat(rows), "csv"))
    run = program("report", "t.csv", "-q")
    if settings == 2:
        assert all("mtry" in line or "--layout long" in line for line in proposals(run.err))
        assert run.code == 3
        return
    result = clfeval.report("t.csv")
    assert measures_of(result)["roc_auc"] == pytest.approx(TWO.area)
    assert result.summary["clusters"] == ROWS


@pytest.mark.parametrize("code", REFUSED)
def test_a_format_that_lacks_something_is_refused_by_name(code: str) -> None:
    write("t.csv", REFUSED[code])
    run = program("report", "t.csv", "-q")
    assert (run.code, proposals(run.err)) == (3, [])
    assert f"[{code}]" in run.err


@pytest.mark.parametrize("options", [{"kind": "label", "model": "predicted"}, {"truth": "actual"}])
def test_options_come_before_what_a_format_says(options: dict[str, Any]) -> None:
    write("t.csv", encoded(pl.DataFrame(TABLES[0][1]), "csv"))
    result = clfeval.report("t.csv", **options)
    expected = recall_score(TWO.truth, TWO.labels)
    assert measures_of(result)["sensitivity"] == pytest.approx(expected)
    assert ("roc_auc" in measures_of(result)) == ("kind" not in options)


def test_a_leaderboard_of_autogluon_has_times_and_no_settings() -> None:
    write(
        "t.csv",
        "model,score_test,score_val,eval_metric,pred_time_val,fit_time,stack_level,can_infer,fit_order\n"
        "a,0.8,0.7,roc_auc,0.1,4,1,True,1\nb,0.9,0.6,roc_auc,0.2,2,2,True,2\n",
    )
    with pytest.raises(ClfevalError) as raised:
        clfeval.mlcps("t.csv")
    problems = {(problem.column, problem.code) for problem in raised.value.problems}
    assert problems == {(name, "unbounded-metric") for name in ("pred_time_val", "fit_time")}
    result = clfeval.mlcps("t.csv", rescale={"pred_time_val": (0, 0.5), "fit_time": (0, 10)})
    best = {row["metric"]: row["direction"] for row in result.tables["metrics"]}
    assert best == {
        "score_test": "max",
        "score_val": "max",
        "pred_time_val": "min",
        "fit_time": "min",
    }


def test_counts_without_the_name_model_say_that_slices_have_no_column() -> None:
    write("m.csv", "mo,site,tp,fp,fn,tn\na,x,5,1,3,9\na,y,6,2,2,8\n")
    with pytest.raises(DataError, match="no column 'id'"):
        clfeval.mars("m.csv", by="id")
