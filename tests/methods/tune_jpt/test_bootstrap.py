"""Bootstrap intervals: positives and negatives resampled apart, one stream of numbers a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clfeval
from clfeval.api.result import Result
from tests.methods.tune_jpt.reference import MEASURES, Cells, four
from tests.results import limits_of, row_of, rows_of, value_and_limits, value_of

LARGE = Cells(26130, 5640, 7500, 21800)
SMALL = Cells(12, 3, 5, 30)


def tune(counts: Any, **options: Any) -> Result:
    options = {"interval": "bootstrap", "sweep": None, "prevalence": "1:20"} | options
    counts = four(counts) if isinstance(counts, Cells) else counts
    return clfeval.tune_jpt(counts=counts, **options)


def test_of_many_rows_they_are_those_of_the_formulas() -> None:
    """Of 2000 resamples the 2.5 % point is 4 % of the width off, seldom 15 %."""
    bootstrap, exact = (
        rows_of(tune(LARGE, interval=kind, measure="cost:fp=1,fn=9"), "models")
        for kind in ("bootstrap", "exact")
    )
    for row, exact_row in zip(bootstrap, exact, strict=True):
        for name in (*MEASURES, "expected_cost", "net_benefit"):
            assert value_of(row[name]) == value_of(exact_row[name])
            low, high = limits_of(exact_row[name])
            # all rows as one sample, as the exact TAR, PPV and NPV of counted rows: wider
            slack = (0.25 if row["population"] == "sample" else 0.15) * (high - low)
            limits = limits_of(row[name])
            assert limits == pytest.approx((low, high), abs=slack), (row["population"], name)


def test_each_class_is_resampled_by_itself() -> None:
    """A class that is answered without an error stays so: its rate has no width."""
    for row in rows_of(tune(Cells(10, 4, 0, 16)), "models"):
        assert limits_of(row["sensitivity"]) == (1, 1)
        low, high = limits_of(row["specificity"])
        assert low < 0.8 < high
    row = row_of(tune(SMALL, resamples=20_000), "models", population="1:1")
    rng = np.random.default_rng(1)
    x, y = rng.binomial(17, 12 / 17, 200_000) / 17, rng.binomial(33, 3 / 33, 200_000) / 33
    for name, values in (("tar", (x + 1 - y) / 2), ("j_index", x - y), ("phi", x + y - 1)):
        expected = np.quantile(values, [0.025, 0.975])
        assert limits_of(row[name]) == pytest.approx(expected, abs=0.02), name


def test_a_level_and_a_number_of_resamples() -> None:
    wide, narrow = (
        row_of(tune(SMALL, level=level), "models", population="1:1") for level in (0.99, 0.6)
    )
    for name in MEASURES:
        assert wide[name].low <= narrow[name].low, name
        assert narrow[name].high is None or narrow[name].high <= (wide[name].high or np.inf), name


def test_the_seed_is_all_that_matters() -> None:
    assert tune(SMALL).to_json() == tune(SMALL).to_json() == tune(SMALL, seed=0).to_json()
    rows, reseeded = (rows_of(tune(SMALL, seed=seed), "models") for seed in (0, 1))
    assert reseeded != rows
    for row, reseeded_row in zip(rows, reseeded, strict=True):
        for name in MEASURES:
            assert row[name].value == reseeded_row[name].value


def test_other_models_populations_and_measures_change_no_interval() -> None:
    expected = rows_of(tune({"a": four(SMALL)}), "models", model="a")
    models = {"z": four(LARGE), "a": four(SMALL), "b": four(SMALL)}
    of_three = rows_of(tune(models, prevalence=["5:1", "1:20"]), "models", model="a")
    assert [row for row in of_three if row["odds"] != "5:1"] == expected
    two_measures = tune({"a": four(SMALL)}, measure=["ppv", "mcc"])
    for row, full in zip(rows_of(two_measures, "models", model="a"), expected, strict=True):
        assert (row["ppv"], row["mcc"]) == (full["ppv"], full["mcc"])


def test_twins_of_other_names_draw_other_numbers() -> None:
    twins = tune({"a": four(SMALL), "b": four(SMALL)})
    a, b = (row_of(twins, "models", model=name, population="1:1")["mcc"] for name in "ab")
    assert value_of(a) == value_of(b)
    assert limits_of(a) != limits_of(b)


def test_replicates_without_a_value_are_left_out_and_told() -> None:
    """Of (1, 0, 9, 10) a third of the resamples never say positive: they have no PPV."""
    row = row_of(tune(Cells(1, 0, 9, 10)), "models", population="1:1")
    assert value_and_limits(row["ppv"]) == (1, 1, 1)
    assert row["tar"].low == 0.5
