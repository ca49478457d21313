"""Fractional weights in all commands: nothing is left of a count that no row is behind."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.result import Estimate, Result
from tests.thoroughness import full, thinned

Cell = dict[str, Any]


def table(text: str) -> pl.DataFrame:
    return pl.read_csv(StringIO("\n".join(text.split())))


def models(result: Result) -> dict[str, Cell]:
    return {str(row["model"]): dict(row) for row in result.tables["models"]}


NEVER = table("""
truth,a,b,c,d,w
1,0,0,0,0,.683
1,0,1,1,0,2.348
0,0,0,0,0,2.658
1,0,1,0,0,2.605
1,0,1,0,1,1.849
""")
ALWAYS = table("""
truth,always,perfect,x,y,w
0,1,0,1,0,.66
0,1,0,1,1,.93
0,1,0,0,1,.53
0,1,0,0,0,1.8
1,1,1,0,1,.59
1,1,1,1,1,.1
1,1,1,1,1,.2
""")


def test_a_model_that_never_says_positive_has_no_precision() -> None:
    result = clfeval.mars(NEVER, weight="w", interval="none", target="negative")
    row = models(result)["a"]
    assert (row["tp"], row["fp"]) == (0, 0)
    assert row["fn"] == 7.485  # .683 + 2.348 + 2.605 + 1.849
    assert row["precision"] == Estimate(None, reason="no_positive_prediction")
    assert "-" not in json.dumps(row["exclusive_fp"])


def test_what_no_row_shows_is_undefined_and_misses_gates() -> None:
    result = clfeval.tune_jpt(ALWAYS, weight="w", interval="none")
    result = result.check(fail_under={"always:npv": 0.99}, fail_over={"always:lr_neg": 0.1})
    row = models(result)["always"]
    assert (row["fn"], row["tn"]) == (0, 0)
    for name in ("npv", "lr_neg"):
        assert row[name] == Estimate(None, reason="no_negative_prediction"), name
    assert not any(gate.passed for gate in result.gates)
    plane = models(clfeval.phidelta(ALWAYS, weight="w", interval="none"))["always"]
    assert plane["npv_u"].reason == "no_negative_prediction"


def test_perfect_is_perfect() -> None:
    result = clfeval.mars(ALWAYS, weight="w", interval="none")
    result = result.check(fail_under={"perfect:recall": 1})
    assert models(result)["perfect"]["recall"].value == 1
    assert models(result)["perfect"]["accuracy"].value == 1
    assert all(gate.passed for gate in result.gates)
    row = models(clfeval.tune_jpt(ALWAYS, weight="w", interval="none"))["perfect"]
    assert row["tor"] == Estimate(None, reason="infinite")
    assert row["sensitivity"].value == row["tar"].value == 1


def test_an_effort_of_a_tenth_and_two_tenths_is_three_tenths() -> None:
    frame = table("truth,a,b,w 1,1,0,.1 1,1,0,.2 0,0,1,.3")
    result = clfeval.mars(frame, weight="w", interval="none", max_effort=0.3)
    (row,) = result.tables["max_effort"]
    assert (row["models"], row["covered"], row["effort"]) == (["a"], 0.3, 0.3)
    (row,) = clfeval.mars(frame, weight="w", interval="none", best=1).tables["best"]
    assert (row["covered"], row["gain"]) == (0.3, 0.3)


def test_equal_coverage_is_a_tie_that_effort_decides() -> None:
    """a finds .1 + .2 and calls .8, b finds .3 and calls no more."""
    frame = table("truth,a,b,w 1,1,0,.1 1,1,0,.2 1,0,1,.3 0,1,0,.5")
    (row,) = clfeval.mars(frame, weight="w", interval="none", best=1).tables["best"]
    assert (row["models"], row["covered"], row["effort"]) == (["b"], 0.3, 0.3)


def test_a_gate_at_the_value_itself_is_met() -> None:
    """Recall is (.1 + .2) / 1, and .1 + .2 is above .3 in floats."""
    frame = table("truth,a,b,w 1,1,0,.1 1,1,0,.2 1,0,1,.7 0,1,0,.5")
    result = clfeval.mars(frame, weight="w", interval="none")
    assert result.check(fail_over={"a:recall": 0.3}).passed
    assert result.check(fail_under={"a:recall": 0.3}).passed


@pytest.mark.parametrize("places", thinned([2, None], [None]))
def test_no_order_of_rows_changes_a_byte(places: int | None) -> None:
    dice = np.random.default_rng(5)
    truth = dice.integers(0, 2, 4000)
    scores = {f"m{j}": (truth + dice.normal(0, 1, 4000)).round(2) for j in range(3)}
    weights = dice.gamma(2, 1, 4000) + 0.01
    frame = pl.DataFrame({"truth": truth, **scores}).with_columns(
        w=weights if places is None else weights.round(places),
        site=dice.integers(0, 3, 4000),
    )
    options: dict[str, Any] = {
        "weight": "w", "interval": "none", "threshold": 0.5, "model": ["m0", "m1", "m2"],
    }  # fmt: skip

    def documents(rows: pl.DataFrame) -> list[str]:
        found = [
            clfeval.mars(rows, **options, by="site", sweep="threshold", best=2, subsets=2),
            clfeval.mars(rows, **{**options, "threshold": None}, top="5%", sweep="top"),
            clfeval.phidelta(rows, **options, by="site", curve=True),
            clfeval.tune_jpt(rows, **options, by="site", prevalence=0.01),
            clfeval.phidelta(rows, weight="w", interval="none", features=True, cut="best"),
            clfeval.mlcps(
                rows, source="predictions", weight="w", interval="none", threshold=0.5,
                model=["m0", "m1", "m2"], metric=["roc_auc", "average_precision", "f1", "npv"],
            ),
        ]  # fmt: skip
        return [result.to_json() for result in found]

    first = documents(frame)
    for seed in range(3 if full() else 1):
        assert documents(frame.sample(fraction=1.0, shuffle=True, seed=seed)) == first


def test_the_best_within_an_effort_may_be_one_that_calls_everything() -> None:
    frame = table("truth,all,some,w 1,1,1,.1 1,1,0,.2 0,1,0,.3")
    result = clfeval.mars(frame, weight="w", interval="none", max_effort=0.6)
    (said,) = (one for one in result.answer if one.code == "within-effort")
    text = "Within 0.6 rows called, all finds most: 0.3 (recall 1.000), calling 0.6; "
    assert said.text == f"{text}expect less on other rows."
    assert said.value == 1
