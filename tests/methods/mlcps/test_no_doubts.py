"""Ordinary metric tables, as programs and people write them: none lets doubt, all read alike."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import clfeval
from clfeval import Result
from tests.results import rows_by, value_of

FIXTURES = Path(__file__).parents[3] / "fixtures"
HEADS = {
    "scikit-learn": "accuracy balanced_accuracy f1 precision recall roc_auc matthews_corrcoef",
    "cross_validate": "test_accuracy test_f1_macro test_roc_auc_ovr test_precision_weighted",
    "a paper": "Accuracy|F1 Score|Precision|Recall|ROC AUC|Specificity|MCC",
    "caret": "Accuracy Kappa Sensitivity Specificity ROC",
    "mlr3": "classif.acc classif.bacc classif.auc classif.fbeta",
    "yardstick": "accuracy kap roc_auc j_index bal_accuracy",
    "h2o": "auc aucpr accuracy mean_per_class_accuracy",
    "losses on 0..1": "accuracy brier ece roc_auc fpr",
    "short": "acc f1 auc mcc npv ppv",
    "nobody's": "score_a score_b score_c gain",
    "another language": "Genauigkeit Trefferquote F1",
    "retrieval": "precision@1 precision@5 recall@10 ndcg",
}


def random_metrics(head: str) -> pd.DataFrame:
    """Return shares of a few models under some names."""
    words = HEADS[head]
    names = words.split("|") if "|" in words else words.split()
    dice = np.random.default_rng(sum(map(ord, head)))
    values = dice.uniform(0.05, 0.98, (5, len(names))).round(4)
    frame = pd.DataFrame(values, columns=names)
    frame.insert(0, "model", ["k-NN, k=5", "Random Forest [n=200]", "svm", "10", "Ridge (α=1)"])
    return frame


def as_csv(frame: pd.DataFrame, **options: Any) -> str:
    """Return a frame as pandas writes it to text."""
    out = io.StringIO()
    frame.to_csv(out, **options)
    return out.getvalue()


def as_long(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame as yardstick's metric sets are bound together."""
    tidy = frame.melt("model", var_name=".metric", value_name=".estimate")
    tidy.insert(2, ".estimator", "binary")
    return tidy


WAYS: dict[str, tuple[str, Callable[[pd.DataFrame], str], dict[str, Any]]] = {
    "plain": ("t.csv", lambda f: as_csv(f, index=False), {}),
    "numbered": ("t.csv", lambda f: as_csv(f), {}),
    "named by the index": ("t.csv", lambda f: as_csv(f.set_index("model")), {}),
    "semicolons": ("t.csv", lambda f: as_csv(f, index=False, sep=";"), {"delimiter": ";"}),
    "tabs": ("t.tsv", lambda f: as_csv(f, index=False, sep="\t"), {}),
    "turned": ("t.csv", lambda f: as_csv(f.set_index("model").T), {"transpose": True}),
    "long": ("t.csv", lambda f: as_csv(as_long(f), index=False), {}),
    "records": ("t.json", lambda f: f.to_json(orient="records"), {}),
    "by model": ("t.json", lambda f: f.set_index("model").to_json(orient="index"), {}),
    "with notes": (
        "t.csv",
        lambda f: as_csv(f.assign(note="ok", date="2026-01-01"), index=False),
        {},
    ),
}


def raw_values(result: Result) -> dict[tuple[str, str], float]:
    """Return the raw value of every model and metric."""
    rows = rows_by(result, "profile", "model", "metric")
    return {key: value_of(row["value"]) for key, row in rows.items()}


@pytest.mark.parametrize("head", HEADS)
def test_ordinary_tables_raise_no_doubt(head: str, tmp_path: Path) -> None:
    frame = random_metrics(head)
    values = {
        (model, name): value
        for name in frame.columns[1:]
        for model, value in zip(frame["model"], frame[name], strict=True)
    }
    for name, write, options in WAYS.values():
        path = tmp_path / name
        path.write_text(write(frame), encoding="utf-8")
        assert raw_values(clfeval.mlcps(path, **options)) == values
    assert raw_values(clfeval.mlcps(frame)) == values


@pytest.mark.parametrize("name", ["test.csv", "test.parquet", "train.csv", "cv_results.csv"])
def test_tables_of_the_fixtures_raise_no_doubt(name: str) -> None:
    assert clfeval.mlcps(FIXTURES / "metrics" / name).passed


@pytest.mark.parametrize("command", ["mars", "phidelta", "tune_jpt"])
def test_results_raise_no_doubt(command: str, tmp_path: Path) -> None:
    scores = FIXTURES / "breast-cancer" / "scores.csv"
    options: dict[str, Any] = {"sweep": None} if command == "tune_jpt" else {}
    result = getattr(clfeval, command)(scores, positive="malignant", **options)
    path = tmp_path / "result.json"
    path.write_text(result.to_json(), encoding="utf-8")
    assert clfeval.mlcps(path).passed
