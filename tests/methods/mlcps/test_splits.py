"""Cross-validation results: means are scored, and every split is a polygon of its own."""

from __future__ import annotations

import random
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import clfeval
from tests.methods.mlcps import reference as ref

Splits = list[list[list[int]]]  # splits, models, metrics: eighths


def random_splits(splits: int, k: int, n: int, seed: int, top: int = 8) -> Splits:
    rng = random.Random(seed)
    return [[[rng.randint(0, top) for _ in range(n)] for _ in range(k)] for _ in range(splits)]


def cv_results(values: Splits, names: list[str], scale: float = 8) -> pl.DataFrame:
    """Return the columns that scikit-learn's `cv_results_` would have, params as text."""
    k, columns = len(values[0]), dict[str, list[Any]]()
    columns["mean_fit_time"] = [0.5] * k
    columns["std_fit_time"] = [0.1] * k
    columns["param_C"] = list(range(k))
    columns["params"] = [f"{{'C': {i}}}" for i in range(k)]
    for j, name in enumerate(names):
        by_split = [[row[j] / scale for row in models] for models in values]
        for i, column in enumerate(by_split):
            columns[f"split{i}_test_{name}"] = list(column)
        columns[f"mean_test_{name}"] = [ref.mean(v) for v in zip(*by_split, strict=True)]
        columns[f"std_test_{name}"] = [0.0] * k
        columns[f"rank_test_{name}"] = [1] * k
    return pl.DataFrame(columns)


NAMES = ["accuracy", "f1", "recall", "precision", "roc_auc"]


@pytest.mark.parametrize(("splits", "k", "n", "top"), [(3, 4, 5, 8), (5, 6, 4, 3), (2, 3, 3, 8)])
def test_splits_by_raw_arithmetic(splits: int, k: int, n: int, top: int) -> None:
    values = random_splits(splits, k, n, seed=splits + k, top=top)
    result = clfeval.mlcps(cv_results(values, NAMES[:n]))
    areas = [[ref.shoelace([v / 8 for v in row]) for row in models] for models in values]
    ranks = [ref.dense([ref.around(row) for row in models]) for models in values]
    rows = result.tables["splits"]
    models = ref.column(result.tables["models"], "model")
    assert [(row["split"], row["model"]) for row in rows] == [
        (f"split{i}", model) for i in range(splits) for model in models
    ]
    assert ref.column(rows, "mlcps") == pytest.approx(list(chain(*areas)), rel=1e-12)
    perfect = ref.shoelace([1] * n)
    assert ref.column(rows, "normalised") == pytest.approx([a / perfect for a in chain(*areas)])
    assert ref.column(rows, "rank") == list(chain(*ranks))
    # of each model over splits, and of the means of its metrics
    over = list(zip(*areas, strict=True))
    table = result.tables["models"]
    assert ref.column(table, "split_mean") == pytest.approx([ref.mean(a) for a in over], rel=1e-12)
    assert ref.column(table, "split_sd") == pytest.approx([ref.sd(a) for a in over], rel=1e-9)
    wins = [sum(rank == 1 for rank in row) for row in zip(*ranks, strict=True)]
    assert ref.column(table, "split_wins") == wins
    means = [
        [ref.mean(cell) / 8 for cell in zip(*row, strict=True)] for row in zip(*values, strict=True)
    ]
    assert ref.column(table, "mlcps") == pytest.approx([ref.shoelace(m) for m in means], rel=1e-12)


def test_weights_directions_and_ranges_hold_for_every_split() -> None:
    values = random_splits(4, 5, 3, seed=3)
    table = cv_results(values, ["recall", "fpr", "mcc"])
    result = clfeval.mlcps(table, metric_weight={"recall": 2}, rescale={"mcc": (-1, 1)})
    rays = [[[a / 4, 1 - b / 8, (c / 8 + 1) / 2] for a, b, c in models] for models in values]
    areas = [[ref.shoelace(row) for row in models] for models in rays]
    assert ref.column(result.tables["splits"], "mlcps") == pytest.approx(
        list(chain(*areas)), rel=1e-12
    )
    perfect = ref.shoelace([2, 1, 1])
    normalised = [a / perfect for a in chain(*areas)]
    assert ref.column(result.tables["splits"], "normalised") == pytest.approx(normalised, rel=1e-12)


def test_one_split_has_no_spread() -> None:
    values = random_splits(1, 4, 4, seed=5)
    result = clfeval.mlcps(cv_results(values, NAMES[:4]))
    rows = result.tables["models"]
    assert ref.column(rows, "split_sd") == [None] * 4
    assert ref.column(rows, "split_mean") == ref.column(rows, "mlcps")


def test_more_than_nine_splits_keep_their_order() -> None:
    values = random_splits(11, 2, 3, seed=6)
    rows = clfeval.mlcps(cv_results(values, NAMES[:3])).tables["splits"]
    assert [row["split"] for row in rows[::2]] == [f"split{i}" for i in range(11)]
    areas = [ref.shoelace([v / 8 for v in row]) for models in values for row in models]
    assert ref.column(rows, "mlcps") == pytest.approx(areas, rel=1e-12)


def test_a_search_of_scikit_learn_from_pandas_and_its_csv(tmp_path: Path) -> None:
    import pandas as pd

    x, y = make_classification(120, random_state=0, flip_y=0.2)
    search = GridSearchCV(
        LogisticRegression(),
        {"C": [0.01, 0.1, 10]},
        cv=3,
        refit=False,
        scoring=["f1", "roc_auc", "balanced_accuracy", "precision"],
    ).fit(x, y)
    cv = pd.DataFrame(search.cv_results_)
    cv.to_csv(tmp_path / "cv.csv", index=False)
    names = ["f1", "roc_auc", "balanced_accuracy", "precision"]
    for table in (cv, tmp_path / "cv.csv"):
        result = clfeval.mlcps(table)
        means = [ref.shoelace(row) for row in cv[[f"mean_test_{n}" for n in names]].to_numpy()]
        assert ref.column(result.tables["models"], "mlcps") == pytest.approx(means, rel=1e-12)
        areas = [
            ref.shoelace(row)
            for i in range(3)
            for row in cv[[f"split{i}_test_{n}" for n in names]].to_numpy()
        ]
        assert ref.column(result.tables["splits"], "mlcps") == pytest.approx(areas, rel=1e-12)
        spread = [ref.sd(areas[model::3]) for model in range(3)]
        assert ref.column(result.tables["models"], "split_sd") == pytest.approx(spread, rel=1e-9)
