"""Models ranked from predictions: scikit-learn's metrics as a table, and joint resampling."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk

import clfeval
from clfeval.api.result import Result
from tests.methods.mlcps import reference as ref
from tests.results import limits_of, row_of, rows_by, rows_of, value_of

SCORES = ("mlcps", "normalised", "order_free", "lowest", "highest", "mean", "sd")
MEASURES = {
    "f1": lambda t, s: sk.f1_score(t, s >= 0.5),
    "sensitivity": lambda t, s: sk.recall_score(t, s >= 0.5),
    "specificity": lambda t, s: sk.recall_score(t, s >= 0.5, pos_label=0),
    "precision": lambda t, s: sk.precision_score(t, s >= 0.5),
    "balanced_accuracy": lambda t, s: sk.balanced_accuracy_score(t, s >= 0.5),
    "roc_auc": sk.roc_auc_score,
    "average_precision": sk.average_precision_score,
    "brier": sk.brier_score_loss,
}


def noisy_scores(m: int, seed: int, **noise: float) -> pl.DataFrame:
    """Draw scores of models, the truth plus noise, on a coarse grid so that scores tie."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, m)
    scores = {
        name: np.clip((truth + rng.normal(0, much, m) + 0.5) / 2, 0, 1).round(2)
        for name, much in noise.items()
    }
    return pl.DataFrame({"truth": truth, **scores})


def ranked(table: pl.DataFrame, **options: Any) -> Result:
    """Return the ranking of the models of predictions."""
    options.setdefault("metric", ["f1", "roc_auc", "specificity", "sensitivity"])
    return clfeval.mlcps(table, source="predictions", truth="truth", **options)


def ranked_by_scikit_learn(table: pl.DataFrame, **options: Any) -> Result:
    """Measure with scikit-learn, and rank the table of metrics."""
    t, names = table["truth"].to_numpy(), [n for n in table.columns if n != "truth"]
    columns = {
        metric: [measure(t, table[name].to_numpy()) for name in names]
        for metric, measure in MEASURES.items()
    }
    return clfeval.mlcps(pl.DataFrame({"model": names, **columns}), **options)


@pytest.mark.parametrize(
    "options", [{}, {"metric_weight": {"f1": 3, "brier": 0.5, "precision": 0}}]
)
def test_the_same_as_a_table_of_scikit_learn(options: dict[str, Any]) -> None:
    table = noisy_scores(150, 1, good=0.5, fair=0.8, poor=1.4)
    result = ranked(table, metric=list(MEASURES), interval="none", **options)
    expected = ranked_by_scikit_learn(table, **options)
    rows, expected_rows = result.tables["models"], expected.tables["models"]
    for name in SCORES:
        values = ref.column(expected_rows, name)
        assert ref.column(rows, name) == pytest.approx(values, rel=1e-12)
    for name in ("rank", "pareto", "dominated_by"):
        assert ref.column(rows, name) == ref.column(expected_rows, name)
    assert list(result.tables["ranks"]) == list(expected.tables["ranks"])
    assert result.parameters["directions"] == expected.parameters["directions"]


def test_without_intervals() -> None:
    table = noisy_scores(80, 3, a=0.6, b=0.9)
    bare, full = ranked(table, interval="none"), ranked(table, resamples=100)
    rows = bare.tables["models"]
    assert all(getattr(row[name], "low", 0) is None for row in rows for name in SCORES)
    assert all(getattr(row[name], "high", 0) is None for row in rows for name in SCORES)
    assert "first" not in rows[0]
    for name in SCORES:
        assert ref.column(rows, name) == ref.column(full.tables["models"], name)


def test_intervals_are_those_of_resampled_rows() -> None:
    """Ends and the probability to be first against plain resampling of rows, one after another."""
    table, b = noisy_scores(100, 5, a=0.8, b=0.9), 1500
    result = ranked(table, metric=["f1", "specificity", "balanced_accuracy"], resamples=4000)
    t, rng = table["truth"].to_numpy(), np.random.default_rng(9)
    votes = [table[name].to_numpy() >= 0.5 for name in ("a", "b")]
    areas = np.empty((b, 2))
    for r in range(b):
        rows = rng.integers(0, 100, 100)
        positive = t[rows] == 1
        for j, vote in enumerate(votes):
            v = vote[rows]
            tp, fp = np.sum(v & positive), np.sum(v & ~positive)
            sens, spec = tp / positive.sum(), 1 - fp / (~positive).sum()
            f1 = 2 * tp / (positive.sum() + v.sum())
            areas[r, j] = ref.shoelace([f1, spec, (sens + spec) / 2])
    for j, row in enumerate(rows_of(result, "models")):
        spread = areas[:, j].std()
        expected = np.quantile(areas[:, j], [0.025, 0.975])
        # a quantile at 2.5 % of 1500 draws has a standard error of some .07 spreads
        assert (np.abs(np.array(limits_of(row["mlcps"])) - expected) < 0.3 * spread).all()
    share = np.mean(areas[:, 0] >= areas[:, 1])
    assert 0.1 < share < 0.99
    row = row_of(result, "models", model="a")
    assert abs(value_of(row["first"]) - share) < 5 * np.sqrt(0.25 / b)


def test_a_clearly_better_model_is_first_in_nearly_all_resamples() -> None:
    """Good and hardly worse on the very same rows: only paired draws tell them apart."""
    table = noisy_scores(400, 6, good=0.9)
    good = table["good"].to_numpy()
    worse = good.copy()
    right = np.flatnonzero((good >= 0.5) == (table["truth"].to_numpy() == 1))[::20]
    worse[right] = 1 - worse[right]
    result = ranked(table.with_columns(worse=worse), resamples=500)
    better, worse_row = rows_of(result, "models")
    assert value_of(better["first"]) > 0.99
    assert value_of(worse_row["first"]) < 0.01
    low, _ = limits_of(better["mlcps"])
    _, high = limits_of(worse_row["mlcps"])
    assert low < high  # separate intervals overlap all the same


def test_identical_models_are_both_first_in_all_resamples() -> None:
    table = noisy_scores(120, 7, a=0.7, low=2.5).with_columns(b=pl.col("a"))
    rows = rows_by(ranked(table, resamples=300), "models", "model")
    shares = {model: value_of(row["first"]) for model, row in rows.items()}
    assert shares == {"a": 1, "b": 1, "low": 0}
    for name in SCORES:
        assert rows["a"][name] == rows["b"][name]


def test_the_same_seed_has_the_same_bytes_and_another_has_not() -> None:
    table = noisy_scores(100, 8, a=0.7, b=0.8)
    texts = [ranked(table, resamples=200, seed=seed).to_json() for seed in (3, 3, 4)]
    assert texts[0] == texts[1]
    rows, reseeded = (ranked(table, resamples=200, seed=seed).tables["models"] for seed in (3, 4))
    assert [row["mlcps"] for row in rows] != [row["mlcps"] for row in reseeded]
    assert ref.column(rows, "mlcps") == ref.column(reseeded, "mlcps")
