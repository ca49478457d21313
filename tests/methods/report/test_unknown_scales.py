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
from tests.test_schema import wrong_with
from tests.texts import check_text

NONE = Estimate(None, reason="needs_threshold")
HARD = ("sensitivity", "specificity", "precision", "npv", "mcc", "f1", "accuracy")


def drawn() -> pl.DataFrame:
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 2, 90)
    said = {name: np.clip(truth + rng.integers(1, 5, 90), 1, 5) for name in "ab"}
    return pl.DataFrame({"truth": truth, "site": ["x", "y"] * 45, **said})


def rows_of(result: Result) -> list[tuple[object, ...]]:
    return [
        tuple(row[name] for name in ("threshold", "tp", "fp", "fn", "tn"))
        for row in result.tables["models"]
    ]


def test_what_is_of_the_truth_alone_needs_no_threshold() -> None:
    names = ["prevalence", "no_information_rate", "detection_prevalence"]
    result = clfeval.report(drawn(), measure=names, interval="none", ignore="site")
    share = float(drawn()["truth"].cast(pl.Float64).mean() or 0.0)  # type: ignore[arg-type]
    known = [Estimate(share), Estimate(max(share, 1 - share)), NONE]
    found = {str(row["measure"]): row["value"] for row in result.tables["measures"]}
    assert [found[name] for name in names] == known


def test_ratings_are_ranked_by_and_not_cut() -> None:
    frame = drawn()
    result = clfeval.report(frame, by="site", measure=["ks", "f_beta:beta=2"])
    for row in result.tables["models"]:
        here = pl.lit(row["slice"] is None) | (pl.col("site") == str(row["slice"])[-1])
        mine = frame.filter(here)
        area: object = row["roc_auc"]
        assert isinstance(area, Estimate)
        assert area.value == pytest.approx(roc_auc_score(mine["truth"], mine[str(row["model"])]))
        assert area.low is not None
        assert all(row[name] == NONE for name in HARD)
    assert rows_of(result) == [(None,) * 5] * 6
    assert result.tables["confusion"] == []
    assert {row["measure"] for row in result.tables["measures"] if row["value"] == NONE} > {*HARD}
    assert result.warnings[0].code == "no-threshold"
    assert wrong_with(json.loads(result.to_json())) == []
    check_text(as_text(result, width=80))


def test_with_a_threshold_they_are_cut() -> None:
    frame = drawn().drop("site")
    result = clfeval.report(frame, threshold=4)
    sides = [frame.filter(truth=truth) for truth in (1, 0)]
    for name, row in zip("ab", rows_of(result), strict=True):
        (tp, fn), (fp, tn) = (
            (int((one[name] >= 4).sum()), int((one[name] < 4).sum())) for one in sides
        )
        assert row == (4, tp, fp, fn, tn)
    assert "no-threshold" not in [note.code for note in result.warnings]


def test_numbers_next_to_scores_of_0_to_1_are_asked_about() -> None:
    frame = drawn().drop("site")
    with pytest.raises(DataError, match="which-role"):
        clfeval.report(frame.with_columns(c=pl.col("b") / 10))
    with pytest.raises(DataError, match="needs-threshold"):
        clfeval.mars(frame)


def test_a_gate_on_what_needs_a_threshold_is_missed() -> None:
    result = clfeval.report(drawn().drop("site"))
    assert not result.check(fail_under={"a:sensitivity": 0.1}).passed
    assert result.check(fail_under={"a:roc_auc": 0.1}).passed
