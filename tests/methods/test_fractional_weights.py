"""Fractional weights in all commands: nothing is left of a count that no row is behind."""

from __future__ import annotations

from io import StringIO
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from tests.results import answers_of
from tests.texts import check_text, numbers_in
from tests.thoroughness import full, thinned


def frame_of_words(text: str) -> pl.DataFrame:
    """Return a table whose lines of CSV are written one after the other."""
    return pl.read_csv(StringIO("\n".join(text.split())))


@pytest.mark.parametrize("places", thinned([2, None], [None]))
def test_no_order_of_rows_changes_a_byte(places: int | None) -> None:
    dice = np.random.default_rng(5)
    truth = dice.integers(0, 2, 4000)
    scores = {f"m{j}": (truth + dice.normal(0, 1, 4000)).round(2) for j in range(3)}
    weights = dice.gamma(2, 1, 4000) + 0.01
    sites = dice.integers(0, 3 if full() else 2, 4000)
    frame = pl.DataFrame({"truth": truth, **scores}).with_columns(
        w=weights if places is None else weights.round(places), site=sites
    )
    options: dict[str, Any] = {
        "weight": "w",
        "interval": "none",
        "threshold": 0.5,
        "model": ["m0", "m1", "m2"],
    }
    tuned = {} if full() else {"model": ["m0", "m1"]}

    def documents(rows: pl.DataFrame) -> list[str]:
        results = [
            clfeval.mars(rows, **options, by="site", sweep="threshold", best=2, subsets=2),
            clfeval.mars(rows, **{**options, "threshold": None}, top="5%", sweep="top"),
            clfeval.phidelta(rows, **options, by="site", curve=True),
            clfeval.tune_jpt(rows, **{**options, **tuned}, by="site", prevalence=0.01),
            clfeval.phidelta(rows, weight="w", interval="none", features=True, cut="best"),
            clfeval.mlcps(
                rows,
                source="predictions",
                weight="w",
                interval="none",
                threshold=0.5,
                model=["m0", "m1", "m2"],
                metric=["roc_auc", "average_precision", "f1", "npv"],
            ),
        ]
        return [result.to_json() for result in results]

    expected = documents(frame)
    for seed in range(3 if full() else 1):
        assert documents(frame.sample(fraction=1.0, shuffle=True, seed=seed)) == expected


def test_the_best_within_an_effort_may_be_one_that_calls_everything() -> None:
    frame = frame_of_words("truth,all,some,w 1,1,1,.1 1,1,0,.2 0,1,0,.3")
    result = clfeval.mars(frame, weight="w", interval="none", max_effort=3)
    (answer,) = answers_of(result, "within-effort")
    assert (answer.models, answer.value) == (("all",), 1)
    # all three rows, of which the weights of the positives are half
    assert {3, 1.5, 1} <= {*numbers_in(answer.text)}
    check_text(answer.text)
