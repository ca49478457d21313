"""Miscalibration, discrimination and uncertainty of Brier score and log loss."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss

import clfeval
from clfeval.arrays import Floats
from clfeval.measures.catalog import CATALOG
from tests.results import rows_by, value_of

SCORES = Path(__file__).parents[2] / "fixtures/breast-cancer/scores.csv"
PARTS = ("miscalibration", "discrimination", "uncertainty")


def parts(loss: str, scores: Floats, truth: Floats) -> list[float]:
    """Return the three parts of a loss, of rows; counts of equal scores need not be summed."""
    order = np.argsort(scores, kind="stable")
    counts = scores[order], truth[order], 1 - truth[order]
    return [float(CATALOG[f"{loss}_{part}"].function(*counts)) for part in PARTS]


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("brier", (0.005030671412871952, 0.19911654666371834, 0.23359803016312708)),
        ("log_loss", (0.02876088015108612, 0.5463216643943012, 0.6599747830006707)),
    ],
)
def test_parts_are_those_of_model_diagnostics(loss: str, expected: tuple[float, ...]) -> None:
    """Values of `decompose` of the package model-diagnostics 1.5."""
    rows = pl.read_csv(SCORES)
    truth = (rows["truth"] == "malignant").to_numpy().astype(float)
    assert parts(loss, rows["svm"].to_numpy(), truth) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("seed", range(6))
def test_parts_follow_from_scikit_learn_and_add_up(seed: int) -> None:
    """S - C, U - C and U, of the scores, of isotonic ones, and of the share of positives."""
    rng = np.random.default_rng(seed)
    scores = rng.beta(0.6, 0.9, 400) if seed % 2 else rng.integers(1, 8, 400) / 8
    truth = (rng.random(400) < scores ** (1 + seed / 3)).astype(float)
    recalibrated = IsotonicRegression(y_min=0, y_max=1).fit_transform(scores, truth)
    constant = np.full(400, truth.mean())
    for loss, mean_loss in (("brier", brier_score_loss), ("log_loss", log_loss)):
        given, isotonic, share = (mean_loss(truth, p) for p in (scores, recalibrated, constant))
        found = parts(loss, scores, truth)
        assert found == pytest.approx([given - isotonic, share - isotonic, share], abs=1e-12)
        assert found[0] - found[1] + found[2] == pytest.approx(given, abs=1e-12)
        assert min(found) >= 0


def test_a_contradicted_score_of_one_has_the_clipped_log_loss() -> None:
    """One negative of four rows at score 1: its loss is -ln 2**-52, that of the rest about 0."""
    found = parts("log_loss", np.array([0.0, 1, 1, 1]), np.array([0.0, 1, 1, 0]))
    isotonic = -(2 * math.log(2 / 3) + math.log(1 / 3)) / 4
    assert found[0] == pytest.approx(52 * math.log(2) / 4 - isotonic)
    assert found[1:] == pytest.approx([math.log(2) - isotonic, math.log(2)])


def test_rows_and_their_counts_have_the_same_parts(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    scores = rng.random(700)
    table = pl.DataFrame({"truth": (rng.random(700) < scores**2).astype(int), "m": scores})
    names = [f"{loss}_{part}" for loss in ("brier", "log_loss") for part in PARTS]
    clfeval.count(table, positive="1").save(tmp_path / "m.counts.parquet")
    from_rows, from_counts = (
        {
            name: value_of(row["value"])
            for name, row in rows_by(
                clfeval.report(source, measure=names, **settings), "measures", "measure"
            ).items()
            if name in names
        }
        for source, settings in ((table, {"positive": "1"}), (tmp_path / "m.counts.parquet", {}))
    )
    assert from_rows == pytest.approx(from_counts, abs=1e-12)
    assert len(from_rows) == len(names)


def test_only_the_uncertainty_has_an_interval() -> None:
    """The value under perfect calibration stands in its place; discrimination has neither."""
    names = [f"brier_{part}" for part in PARTS]
    result = clfeval.report(SCORES, positive="malignant", measure=names, model=["svm"])
    rows = rows_by(result, "measures", "measure")
    miscalibration, discrimination, uncertainty = (rows[name] for name in names)
    assert miscalibration["value"].low is None
    # Broecker and Smith's simulation, of 40,000 draws with scikit-learn: .00671 and .00988
    assert miscalibration["calibrated_mean"] == pytest.approx(0.0067, abs=2e-4)
    assert miscalibration["calibrated_high"] == pytest.approx(0.0099, abs=4e-4)
    assert discrimination["value"].low is discrimination["p"] is None
    assert uncertainty["value"].low < uncertainty["value"].value < uncertainty["value"].high
