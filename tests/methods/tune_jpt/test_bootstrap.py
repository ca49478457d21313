"""Bootstrap intervals: positives and negatives resampled apart, one stream of numbers a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clfeval
from clfeval.api.result import Result
from tests.methods.tune_jpt.reference import MEASURES, Cells, Line, four, row_of, rows_of

LARGE = Cells(26130, 5640, 7500, 21800)
SMALL = Cells(12, 3, 5, 30)


def tune(counts: Any, **options: Any) -> Result:
    given = four(counts) if isinstance(counts, Cells) else counts
    options = {"interval": "bootstrap", "sweep": None, "prevalence": "1:20"} | options
    return clfeval.tune_jpt(counts=given, **options)


def model(result: Result, name: str) -> list[Line]:
    return rows_of(result, model=name)


def test_of_many_rows_they_are_those_of_the_formulas() -> None:
    """Of 2000 resamples the 2.5 % point is 4 % of the width off, seldom 15 %."""
    drawn, exact = (
        tune(LARGE, interval=kind, measure="cost:fp=1,fn=9") for kind in ("bootstrap", "exact")
    )
    for mine, theirs in zip(rows_of(drawn), rows_of(exact), strict=True):
        for name in (*MEASURES, "expected_cost", "net_benefit"):
            a, b = mine[name], theirs[name]
            assert a.value == b.value
            # all rows as one sample, as the exact TAR, PPV and NPV of counted rows: wider
            slack = 0.25 if mine["population"] == "sample" else 0.15
            width = b.high - b.low
            assert a.low == pytest.approx(b.low, abs=slack * width), (mine["population"], name)
            assert a.high == pytest.approx(b.high, abs=slack * width), (mine["population"], name)


def test_each_class_is_resampled_by_itself() -> None:
    """A class that is answered without an error stays so: its rate has no width."""
    for row in rows_of(tune(Cells(10, 4, 0, 16))):
        assert (row["sensitivity"].low, row["sensitivity"].high) == (1, 1)
        assert row["specificity"].low < 0.8 < row["specificity"].high
    found = row_of(tune(SMALL, resamples=20_000), population="1:1")
    rng = np.random.default_rng(1)
    x, y = rng.binomial(17, 12 / 17, 200_000) / 17, rng.binomial(33, 3 / 33, 200_000) / 33
    for name, values in (("tar", (x + 1 - y) / 2), ("j_index", x - y), ("phi", x + y - 1)):
        low, high = np.quantile(values, [0.025, 0.975])
        assert found[name].low == pytest.approx(low, abs=0.02), name
        assert found[name].high == pytest.approx(high, abs=0.02), name


def test_a_level_and_a_number_of_resamples() -> None:
    wide, narrow = (row_of(tune(SMALL, level=level), population="1:1") for level in (0.99, 0.6))
    for name in MEASURES:
        assert wide[name].low <= narrow[name].low, name
        assert narrow[name].high is None or narrow[name].high <= (wide[name].high or np.inf), name


def test_the_seed_is_all_that_matters() -> None:
    assert tune(SMALL).to_json() == tune(SMALL).to_json() == tune(SMALL, seed=0).to_json()
    other = rows_of(tune(SMALL, seed=1))
    assert other != rows_of(tune(SMALL))
    for mine, theirs in zip(rows_of(tune(SMALL)), other, strict=True):
        for name in MEASURES:
            assert mine[name].value == theirs[name].value


def test_other_models_populations_and_measures_change_no_interval() -> None:
    alone = tune({"a": four(SMALL)})
    more = tune({"z": four(LARGE), "a": four(SMALL), "b": four(SMALL)}, prevalence=["5:1", "1:20"])
    found = [row for row in model(more, "a") if row["odds"] != "5:1"]
    assert found == model(alone, "a")
    few = model(tune({"a": four(SMALL)}, measure=["ppv", "mcc"]), "a")
    for row, whole in zip(few, model(alone, "a"), strict=True):
        assert (row["ppv"], row["mcc"]) == (whole["ppv"], whole["mcc"])


def test_twins_of_other_names_draw_other_numbers() -> None:
    twins = tune({"a": four(SMALL), "b": four(SMALL)})
    a, b = (row_of(twins, model=name, population="1:1") for name in "ab")
    assert a["mcc"].value == b["mcc"].value
    assert (a["mcc"].low, a["mcc"].high) != (b["mcc"].low, b["mcc"].high)


def test_replicates_without_a_value_are_left_out_and_told() -> None:
    """Of (1, 0, 9, 10) a third of the resamples never say positive: they have no PPV."""
    row = row_of(tune(Cells(1, 0, 9, 10)), population="1:1")
    assert (row["ppv"].value, row["ppv"].low, row["ppv"].high) == (1, 1, 1)
    assert row["tar"].low == 0.5
