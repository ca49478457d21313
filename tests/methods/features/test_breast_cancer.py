"""scikit-learn's breast-cancer data: cuts against scipy's Kolmogorov-Smirnov and numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer

from tests.methods.features.door import rows_by_feature
from tests.results import Line, four_cells, value_of

DATA = load_breast_cancer()
X, MALIGNANT = DATA.data, DATA.target == 0
NAMES = [str(name) for name in DATA.feature_names]
FRAME = pl.DataFrame(X, schema=NAMES).with_columns(
    truth=pl.Series(np.where(MALIGNANT, "malignant", "benign"))
)
P, N = 212, 357


def malignant_features(**options: Any) -> dict[str, Line]:
    return rows_by_feature(FRAME, positive="malignant", **options)


@pytest.fixture(scope="module")
def best() -> dict[str, Line]:
    """Every feature cut where it discriminates most."""
    return malignant_features(cut="best")


def cells_by_hand(flags: np.ndarray) -> tuple[int, int, int, int]:
    """Count a column of booleans against the class: tp, fp, fn, tn."""
    hits, alarms = int((flags & MALIGNANT).sum()), int((flags & ~MALIGNANT).sum())
    return hits, alarms, P - hits, N - alarms


@pytest.mark.parametrize("name", NAMES)
def test_the_best_cut_reaches_the_kolmogorov_smirnov_distance(
    best: dict[str, Line], name: str
) -> None:
    x = X[:, NAMES.index(name)]
    distance = stats.ks_2samp(x[MALIGNANT], x[~MALIGNANT]).statistic
    assert abs(value_of(best[name]["delta"])) == pytest.approx(distance, abs=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_the_cut_that_is_reported_gives_the_same_counts_again(
    best: dict[str, Line], name: str
) -> None:
    row = best[name]
    assert row["rule"] == ">="
    again = malignant_features(feature=[name], cut=row["cut"])
    assert list(again) == [name]
    assert four_cells(again[name]) == four_cells(row)
    for coordinate in ("phi", "delta"):
        estimate = row[coordinate]
        assert value_of(again[name][coordinate]) == value_of(estimate)
        # chosen on the rows it is judged on: no interval by these
        assert (estimate.low, estimate.high) == (None, None)
    assert four_cells(row) == cells_by_hand(X[:, NAMES.index(name)] >= row["cut"])


@pytest.mark.parametrize("cut", ["median", None])
def test_the_median_is_the_default(cut: str | None) -> None:
    rows = malignant_features(cut=cut)
    for j, name in enumerate(NAMES):
        x = X[:, j]
        assert (rows[name]["cut"], rows[name]["rule"]) == (float(np.median(x)), ">")
        assert four_cells(rows[name]) == cells_by_hand(x > np.median(x))


def test_soft_votes() -> None:
    rows = malignant_features(cut="soft")
    for j, name in enumerate(NAMES):
        votes = (X[:, j] - X[:, j].min()) / (X[:, j].max() - X[:, j].min())
        tp, fp = votes[MALIGNANT].mean(), votes[~MALIGNANT].mean()
        row = rows[name]
        assert (row["cut"], row["rule"], row["implications"]) == (None, "soft", [])
        assert row["tp"] == pytest.approx(votes[MALIGNANT].sum(), rel=1e-12)
        assert row["tn"] == pytest.approx((1 - votes[~MALIGNANT]).sum(), rel=1e-12)
        assert row["support"] == pytest.approx(votes.sum(), rel=1e-12)
        assert (row["sensitivity"], row["fpr"]) == (pytest.approx(tp), pytest.approx(fp))
        assert value_of(row["phi"]) == pytest.approx(tp + fp - 1, abs=1e-13)
        assert value_of(row["delta"]) == pytest.approx(tp - fp, abs=1e-13)
        assert (row["delta"].low, row["delta"].high) == (None, None)
