"""Scores of no known scale rank rows without a threshold; what needs one is undefined."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from clfeval.errors import DataError
from clfeval.views.terminal import as_text
from tests.results import estimate_of, four_cells, rows_by, rows_of, value_of, warning_codes
from tests.test_schema import wrong_with
from tests.texts import check_text

NONE = Estimate(None, reason="needs_threshold")
HARD = ("sensitivity", "specificity", "precision", "npv", "mcc", "f1", "accuracy")


def ratings_of_two_models() -> pl.DataFrame:
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 2, 90)
    said = {name: np.clip(truth + rng.integers(1, 5, 90), 1, 5) for name in "ab"}
    return pl.DataFrame({"truth": truth, "site": ["x", "y"] * 45, **said})


def thresholds_and_cells(result: Result) -> list[tuple[object, ...]]:
    """Return threshold, tp, fp, fn and tn of each model."""
    return [(row["threshold"], *four_cells(row)) for row in rows_of(result, "models")]


def test_what_is_of_the_truth_alone_needs_no_threshold() -> None:
    names = ["prevalence", "no_information_rate", "detection_prevalence"]
    result = clfeval.report(ratings_of_two_models(), measure=names, interval="none", ignore="site")
    share = float(ratings_of_two_models()["truth"].cast(pl.Float64).mean() or 0.0)  # type: ignore[arg-type]
    known = [Estimate(share), Estimate(max(share, 1 - share)), NONE]
    for model in "ab":
        rows = rows_by(result, "measures", "measure", model=model)
        assert [rows[name]["value"] for name in names] == known


def test_ratings_are_ranked_by_and_not_cut() -> None:
    frame = ratings_of_two_models()
    result = clfeval.report(frame, by="site", measure=["ks", "f_beta:beta=2"])
    for row in result.tables["models"]:
        here = pl.lit(row["slice"] is None) | (pl.col("site") == str(row["slice"])[-1])
        mine = frame.filter(here)
        area = roc_auc_score(mine["truth"], mine[row["model"]])
        assert value_of(row["roc_auc"]) == pytest.approx(area)
        assert estimate_of(row["roc_auc"]).low is not None
        assert all(row[name] == NONE for name in HARD)
    assert thresholds_and_cells(result) == [(None,) * 5] * 6
    assert result.tables["confusion"] == []
    assert {row["measure"] for row in result.tables["measures"] if row["value"] == NONE} > {*HARD}
    assert result.warnings[0].code == "no-threshold"
    assert wrong_with(json.loads(result.to_json())) == []
    check_text(as_text(result, width=80))


def test_with_a_threshold_they_are_cut() -> None:
    frame = ratings_of_two_models().drop("site")
    result = clfeval.report(frame, threshold=4)
    sides = [frame.filter(truth=truth) for truth in (1, 0)]
    for name, row in zip("ab", thresholds_and_cells(result), strict=True):
        (tp, fn), (fp, tn) = (
            (int((one[name] >= 4).sum()), int((one[name] < 4).sum())) for one in sides
        )
        assert row == (4, tp, fp, fn, tn)
    assert "no-threshold" not in warning_codes(result)


def test_numbers_next_to_scores_of_0_to_1_are_asked_about() -> None:
    frame = ratings_of_two_models().drop("site")
    with pytest.raises(DataError, match="which-role"):
        clfeval.report(frame.with_columns(c=pl.col("b") / 10))
    with pytest.raises(DataError, match="needs-threshold"):
        clfeval.mars(frame)


def test_a_gate_on_what_needs_a_threshold_is_missed() -> None:
    result = clfeval.report(ratings_of_two_models().drop("site"))
    assert not result.check(fail_under={"a:sensitivity": 0.1}).passed
    assert result.check(fail_under={"a:roc_auc": 0.1}).passed
