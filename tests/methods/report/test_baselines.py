"""What measures are worth without information: every order of truth of tiny tables, and by hand."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn import metrics as sk

import clfeval
from clfeval.inference.hypothesis_tests import random_average_precision, random_true_positives
from tests.results import Line, rows_by

TRUTH = [1, 0, 1, 0, 1, 0, 0]
SCORES = [0.9, 0.8, 0.8, 0.3, 0.7, 0.2, 0.6]


def baselines_of_seven_rows() -> dict[Any, Line]:
    """Return the rows of the table by measure and model."""
    frame = pl.DataFrame({"truth": TRUTH, "m": SCORES})
    measures = ["log_loss", "average_precision", "brier_skill", "expected_cost:fp=1,fn=3"]
    result = clfeval.report(frame, positive="1", dummies=True, measure=measures)
    return rows_by(result, "baselines", "measure", "model")


def test_values_are_means_over_every_order_of_truth() -> None:
    """5,040 orders of 7 rows, each measured by another program."""
    baselines = baselines_of_seven_rows()
    x = np.array(SCORES)
    says = (x >= 0.5).astype(int)
    orders = [np.array(one) for one in sorted(set(permutations(TRUTH)))]  # each as often as others
    prior = 3 / 7
    by: dict[str, Any] = {
        "roc_auc": lambda y: sk.roc_auc_score(y, x),
        "brier": lambda y: sk.brier_score_loss(y, x),
        "brier_skill": lambda y: 1 - np.mean((y - x) ** 2) / (prior * (1 - prior)),
        "log_loss": lambda y: sk.log_loss(y, x),
        "average_precision": lambda y: sk.average_precision_score(y, x),
        "net_benefit": lambda y: np.mean(says * y) - np.mean(says * (1 - y)),
        "accuracy": lambda y: sk.accuracy_score(y, says),
        "sensitivity": lambda y: sk.recall_score(y, says),
        "specificity": lambda y: sk.recall_score(1 - y, 1 - says),
        "precision": lambda y: sk.precision_score(y, says),
        "f1": lambda y: sk.f1_score(y, says),
        "mcc": lambda y: sk.matthews_corrcoef(y, says),
        "balanced_accuracy": lambda y: sk.balanced_accuracy_score(y, says),
        "expected_cost:fn=3,fp=1": lambda y: np.mean(says * (1 - y) + 3 * (1 - says) * y),
    }
    for metric, measure in by.items():
        every = np.array([measure(y) for y in orders])
        row = baselines[metric, "m"]
        assert row["value"] == pytest.approx(every.mean(), abs=1e-9), metric
        observed = measure(np.array(TRUTH))
        assert row["observed"] == pytest.approx(observed, abs=1e-9), metric
        less = metric in ("brier", "log_loss", "expected_cost:fn=3,fp=1")
        good = every <= observed + 1e-9 if less else every >= observed - 1e-9
        if row["method"] == "hypergeometric":
            assert row["p"] == pytest.approx(good.mean()), metric
        else:  # 999 draws: within 5 standard errors
            p = good.mean()
            assert abs(row["p"] - p) < 5 * np.sqrt(p * (1 - p) / 999) + 0.002, metric


def test_a_count_is_hypergeometric() -> None:
    t, shares = random_true_positives(30, 50, 20)
    assert t.tolist() == list(range(21))
    assert shares == pytest.approx(stats.hypergeom.pmf(t, 80, 30, 20), rel=1e-9)
    t, shares = random_true_positives(300_000, 700_000, 400_000)
    assert len(t) < 50_000  # of 300,001
    middle = abs(t - 120_000) < 1000
    assert shares[middle] == pytest.approx(
        stats.hypergeom.pmf(t[middle], 1_000_000, 300_000, 400_000), rel=1e-6
    )


@pytest.mark.parametrize(("positives", "rows_"), [(1, 5), (3, 10), (7, 8), (4, 4)])
def test_average_precision_by_chance(positives: int, rows_: int) -> None:
    """Without ties (P - 1) / (M - 1) + H_M (M - P) / (M (M - 1)); of one score P / M."""
    p, m = positives, rows_
    harmonic = sum(1 / k for k in range(1, m + 1))
    expected = (p - 1) / (m - 1) + harmonic * (m - p) / (m * (m - 1))
    assert random_average_precision(np.ones(m, np.int64), p) == pytest.approx(expected)
    assert random_average_precision(np.array([m]), p) == pytest.approx(p / m)


def test_dummies_answer_alike() -> None:
    """3 of 7 positive: the constant 3/7 has Brier 3/7 4/7; naming the negatives accuracy 4/7."""
    baselines = baselines_of_seven_rows()
    assert baselines["brier", "(constant)"]["observed"] == pytest.approx(12 / 49)
    assert baselines["roc_auc", "(constant)"]["value"] == 0.5
    assert baselines["average_precision", "(constant)"]["value"] == pytest.approx(3 / 7)
    assert baselines["net_benefit", "(constant)"]["value"] == 0  # below .5: treats nobody
    assert baselines["accuracy", "(majority)"]["value"] == pytest.approx(4 / 7)
    assert baselines["sensitivity", "(majority)"]["value"] == 0
    assert baselines["accuracy", "(majority)"]["p"] is None
    assert ("precision", "(majority)") not in baselines  # undefined: nobody is called positive


def test_clusters_and_weights_have_no_p() -> None:
    """Truth of rows in a patient is not dealt one by one; .5 TP + ... as the expected table has."""
    rng = np.random.default_rng(2)
    truth, w = rng.integers(0, 2, 60), rng.integers(1, 9, 60) + 0.5
    p = np.round(rng.random(60), 2)
    frame = pl.DataFrame({"truth": truth, "m": p, "w": w, "patient": np.arange(60) // 3})
    for options in ({"weight": "w", "ignore": "patient"}, {"cluster": "patient", "ignore": "w"}):
        result = clfeval.report(frame, positive="1", dummies=True, **options)
        baselines = rows_by(result, "baselines", "measure", "model")
        assert all(row["p"] is None for row in baselines.values())
        n = w if "weight" in options else np.ones(60)
        share, called = (n @ truth) / n.sum(), (n @ (p >= 0.5)) / n.sum()
        expected = share * called + (1 - share) * (1 - called)
        assert baselines["accuracy", "m"]["value"] == pytest.approx(expected)
        loss = share * (1 - p) ** 2 + (1 - share) * p**2
        assert baselines["brier", "m"]["value"] == pytest.approx((n @ loss) / n.sum())


def test_several_classes_by_every_order_of_truth() -> None:
    truth, said = [*"aabbcc"], [*"aababc"]
    result = clfeval.report(pl.DataFrame({"truth": truth, "m": said}), dummies=True)
    baselines = rows_by(result, "baselines", "measure", "model")
    orders = sorted(set(permutations(truth)))
    for metric, measure in (
        ("accuracy", sk.accuracy_score),
        ("mcc", sk.matthews_corrcoef),
        ("balanced_accuracy", sk.balanced_accuracy_score),
    ):
        every = np.array([measure(one, said) for one in orders])
        row = baselines[metric, "m"]
        assert row["value"] == pytest.approx(every.mean(), abs=1e-9)
        good = (every >= measure(truth, said) - 1e-9).mean()
        assert abs(row["p"] - good) < 5 * np.sqrt(good * (1 - good) / 999) + 0.002


def test_nothing_is_dealt_unasked() -> None:
    assert "baselines" not in clfeval.report(pl.DataFrame({"truth": TRUTH, "m": SCORES})).tables
