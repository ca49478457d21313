"""Tables that were once read wrongly, by families: what each means is computed with scikit-learn.

A reading is taken at once, or one of those that are offered has the numbers that are meant.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, recall_score, roc_auc_score

from tests.computed import computed
from tests.process.program import clfeval as program
from tests.samples import logistic
from tests.tables.asking import proposals
from tests.tables.door import write
from tests.thoroughness import full

WITHOUT_LIMITS = () if full() else ("--interval", "none")  # which no test here looks at
Values = dict[str, dict[str, float]]  # by model, then by measure


@dataclass(frozen=True)
class Meaning:
    """Columns of a table, and the measures of its models; no values: refused by name."""

    columns: dict[str, Any]
    values: Values
    at_once: bool = True


def sample(seed: int, rows: int = 160) -> tuple[Any, Any]:
    """Return a truth of 0 and 1, and probabilities of four digits."""
    dice = np.random.default_rng(seed)
    truth = (dice.random(rows) < 0.4).astype(int)
    logits = dice.normal(0, 1, rows) + 1.2 * (2 * truth - 1)
    return truth, logistic(logits, 4)


def area(truth: Any, scores: Any) -> float:
    return float(roc_auc_score(truth, scores))


def labels_cut_elsewhere() -> Meaning:
    truth, scores = sample(1)
    labels = (scores >= 0.3).astype(int)
    columns = {"target": truth, "pred_label": labels, "prediction": scores}
    meant = {"roc_auc": area(truth, scores), "sensitivity": float(recall_score(truth, labels))}
    return Meaning(columns, {"prediction": meant})


def labels_cut_beside_both_probabilities() -> Meaning:
    truth, scores = sample(2)
    labels = (scores >= 0.28).astype(int)
    complement = np.round(1 - scores, 4)
    columns = {"actual": truth, "predict": labels, "p0": complement, "p1": scores}
    meant = {"roc_auc": area(truth, scores), "sensitivity": float(recall_score(truth, labels))}
    return Meaning(columns, {"model": meant})


def a_finding_beside_a_text_of_two_values() -> Meaning:
    truth, scores = sample(3)
    columns = {"sex": np.where(np.arange(160) % 2, "F", "M"), "effusion": truth, "out": scores}
    return Meaning(columns, {"out": {"roc_auc": area(truth, scores)}}, at_once=False)


def predictions_in_other_words() -> Meaning:
    truth, scores = sample(4)
    words = np.where(scores >= 0.5, "occupied", "unoccupied")
    return Meaning({"occupancy": truth, "prediction": words}, {})


def predictions_in_other_numbers() -> Meaning:
    truth, scores = sample(5)
    return Meaning({"y_true": truth, "y_pred": 1 + (scores >= 0.5)}, {})


def classes_as_whole_numbers_with_a_point() -> Meaning:
    dice = np.random.default_rng(6)
    truth = dice.integers(0, 3, 150)
    labels = np.where(dice.random(150) < 0.75, truth, dice.integers(0, 3, 150))
    columns = {"y_true": truth, "y_pred": labels.astype(float)}
    return Meaning(columns, {"y_pred": {"accuracy": float(accuracy_score(truth, labels))}})


def scores_of_other_scales() -> Meaning:
    truth, scores = sample(7)
    logits = np.log(scores / (1 - scores))
    grade = np.clip(np.round(3 + logits), 1, 5).astype(int)
    low = np.round(np.exp(-1.5 + 0.7 * logits), 2)
    high = np.round(np.exp(2.5 + 0.5 * logits), 2)
    columns = {"outcome": np.where(truth, "Poor", "Good"), "grade": grade, "low": low, "high": high}
    values = {name: {"roc_auc": area(truth, columns[name])} for name in ("grade", "low", "high")}
    return Meaning(columns, values, at_once=False)


def counts_of_equal_rows() -> Meaning:
    columns = {
        "Prediction": ["yes", "no", "yes", "no"],
        "Reference": ["yes", "yes", "no", "no"],
        "Freq": [40, 10, 5, 45],
    }
    return Meaning(columns, {"Prediction": {"sensitivity": 0.8, "specificity": 0.9}})


def scores_that_begin_as_labels() -> Meaning:
    truth, scores = sample(8, 12_000)
    values = np.where(np.arange(12_000) < 9_000, scores >= 0.5, scores)
    return Meaning({"y": truth, "s": values}, {"s": {"roc_auc": area(truth, values)}})


def one_class_first() -> Meaning:
    truth, scores = sample(9, 12_000)
    order = np.argsort(truth, kind="stable")
    columns = {"tx": np.arange(12_000), "is_fraud": truth[order], "score": scores[order]}
    return Meaning(columns, {"score": {"roc_auc": area(truth, scores)}})


def probabilities_of_three_classes_sorted_by_class() -> Meaning:
    dice = np.random.default_rng(10)
    truth = np.repeat([0, 1, 2], [5_200, 300, 300])
    raw = dice.random((len(truth), 3)) + np.eye(3)[truth]
    shares = np.round(raw / raw.sum(axis=1, keepdims=True), 5)
    columns = {"label": truth} | {str(k): shares[:, k] for k in range(3)}
    meant = float(accuracy_score(truth, shares.argmax(axis=1)))
    return Meaning(columns, {"model": {"accuracy": meant}})


def thousands() -> Meaning:
    truth, scores = sample(11)
    cells = [f"{int(3000 * score):,}" for score in scores]
    return Meaning({"y": truth, "score": cells}, {})


FAMILIES = [
    labels_cut_elsewhere,
    labels_cut_beside_both_probabilities,
    a_finding_beside_a_text_of_two_values,
    predictions_in_other_words,
    predictions_in_other_numbers,
    classes_as_whole_numbers_with_a_point,
    scores_of_other_scales,
    counts_of_equal_rows,
    scores_that_begin_as_labels,
    one_class_first,
    probabilities_of_three_classes_sorted_by_class,
    thousands,
]


def measures_by_model(result: dict[str, Any]) -> Values:
    """Return the measures of the models of a result, for all rows."""
    values: Values = {}
    for row in result["tables"]["measures"]:
        if row["slice"] is None and row["class"] is None and row["value"]["value"] is not None:
            values.setdefault(row["model"], {})[row["measure"]] = row["value"]["value"]
    return values


def has_values(result: dict[str, Any], expected: Values) -> bool:
    """Return whether a result has just some models, with these values."""
    values = measures_by_model(result)
    return values.keys() == expected.keys() and all(
        values[model].get(measure) == pytest.approx(value, abs=1e-9)
        for model, measures in expected.items()
        for measure, value in measures.items()
    )


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_a_table_is_read_as_it_is_meant_or_offered_so(family: Callable[[], Meaning]) -> None:
    meaning = family()
    write("t.csv", pl.DataFrame(meaning.columns).write_csv())
    done = program("report", "t.csv", "-q")
    if not meaning.values:
        assert done.code == 3
        assert proposals(done.err) == []
        return
    assert (done.code == 0) == meaning.at_once, done.err
    lines = ["report t.csv"] if done.code == 0 else proposals(done.err)
    assert 1 <= len(lines) <= 4
    results = []
    for line in lines:
        again, result = computed(*shlex.split(line), *WITHOUT_LIMITS, "-q", "-f", "json")
        assert again.code == 0, again.err
        assert result is not None
        results.append(result)
    assert any(has_values(result, meaning.values) for result in results), list(
        map(measures_by_model, results)
    )
