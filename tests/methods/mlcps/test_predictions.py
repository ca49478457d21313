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


def drawn(m: int, seed: int, **noise: float) -> pl.DataFrame:
    """Draw scores of models, the truth plus noise, on a coarse grid so that scores tie."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, m)
    scores = {
        name: np.clip((truth + rng.normal(0, much, m) + 0.5) / 2, 0, 1).round(2)
        for name, much in noise.items()
    }
    return pl.DataFrame({"truth": truth, **scores})


def ranked(table: pl.DataFrame, **options: Any) -> Result:
    options.setdefault("metric", ["f1", "roc_auc", "specificity", "sensitivity"])
    return clfeval.mlcps(table, source="predictions", truth="truth", **options)


def measured(table: pl.DataFrame, **options: Any) -> Result:
    """Measure with scikit-learn, and rank the table of metrics."""
    t, names = table["truth"].to_numpy(), [n for n in table.columns if n != "truth"]
    columns = {m: [of(t, table[n].to_numpy()) for n in names] for m, of in MEASURES.items()}
    return clfeval.mlcps(pl.DataFrame({"model": names, **columns}), **options)


@pytest.mark.parametrize(
    "options", [{}, {"metric_weight": {"f1": 3, "brier": 0.5, "precision": 0}}]
)
def test_the_same_as_a_table_of_scikit_learn(options: dict[str, Any]) -> None:
    table = drawn(150, 1, good=0.5, fair=0.8, poor=1.4)
    one = ranked(table, metric=list(MEASURES), interval="none", **options)
    other = measured(table, **options)
    for name in SCORES:
        values = ref.column(other.tables["models"], name)
        assert ref.column(one.tables["models"], name) == pytest.approx(values, rel=1e-12)
    for name in ("rank", "pareto", "dominated_by"):
        assert ref.column(one.tables["models"], name) == ref.column(other.tables["models"], name)
    assert list(one.tables["ranks"]) == list(other.tables["ranks"])
    assert one.parameters["directions"] == other.parameters["directions"]


def test_without_intervals() -> None:
    table = drawn(80, 3, a=0.6, b=0.9)
    bare, full = ranked(table, interval="none"), ranked(table, resamples=100)
    rows = bare.tables["models"]
    assert all(getattr(row[name], "low", 0) is None for row in rows for name in SCORES)
    assert all(getattr(row[name], "high", 0) is None for row in rows for name in SCORES)
    assert "first" not in rows[0]
    for name in SCORES:
        assert ref.column(rows, name) == ref.column(full.tables["models"], name)


def test_intervals_are_those_of_resampled_rows() -> None:
    """Ends and the probability to be first against plain resampling of rows, one after another."""
    table, b = drawn(100, 5, a=0.8, b=0.9), 1500
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
    for j, row in enumerate(result.tables["models"]):
        e: Any = row["mlcps"]
        spread = areas[:, j].std()
        low, high = np.quantile(areas[:, j], [0.025, 0.975])
        # a quantile at 2.5 % of 1500 draws has a standard error of some .07 spreads
        assert abs(e.low - low) < 0.3 * spread
        assert abs(e.high - high) < 0.3 * spread
    share = np.mean(areas[:, 0] >= areas[:, 1])
    assert 0.1 < share < 0.99
    first: Any = result.tables["models"][0]["first"]
    assert abs(first.value - share) < 5 * np.sqrt(0.25 / b)


def test_a_clearly_better_model_is_first_in_nearly_all_resamples() -> None:
    """Good and hardly worse on the very same rows: only paired draws tell them apart."""
    table = drawn(400, 6, good=0.9)
    good = table["good"].to_numpy()
    worse = good.copy()
    right = np.flatnonzero((good >= 0.5) == (table["truth"].to_numpy() == 1))[::20]
    worse[right] = 1 - worse[right]
    result = ranked(table.with_columns(worse=worse), resamples=500)
    one, other = result.tables["models"]
    best, second = ref.column([one, other], "first")
    assert best > 0.99
    assert second < 0.01
    low, high = (getattr(row["mlcps"], end) for row, end in ((one, "low"), (other, "high")))
    assert low < high  # separate intervals overlap all the same


def test_identical_models_are_both_first_in_all_resamples() -> None:
    table = drawn(120, 7, a=0.7, low=2.5).with_columns(b=pl.col("a"))
    rows = {str(row["model"]): row for row in ranked(table, resamples=300).tables["models"]}
    assert ref.column([rows["a"], rows["b"]], "first") == [1, 1]
    assert ref.column([rows["low"]], "first") == [0]
    for name in SCORES:
        assert rows["a"][name] == rows["b"][name]


def test_the_same_seed_has_the_same_bytes_and_another_has_not() -> None:
    table = drawn(100, 8, a=0.7, b=0.8)
    texts = [ranked(table, resamples=200, seed=seed).to_json() for seed in (3, 3, 4)]
    assert texts[0] == texts[1]
    one, other = (ranked(table, resamples=200, seed=seed).tables["models"] for seed in (3, 4))
    assert [row["mlcps"] for row in one] != [row["mlcps"] for row in other]
    assert ref.column(one, "mlcps") == ref.column(other, "mlcps")
