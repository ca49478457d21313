"""Requests refused for features: options of the other mode, options that do nothing, bad cuts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.errors import UsageError
from tests.methods.features.door import FEATURES, cells_of, features, rows_by_feature
from tests.shell import at_shell
from tests.tables.door import spots, write

places, told = FEATURES.places, FEATURES.told
FRAME = pl.DataFrame({"truth": [1, 1, 0, 0], "x": [0.5, 1.5, 2.5, 1.0], "f": [1, 0, 0, 1]})
BITS = FRAME.drop("x")


def test_a_cut_that_is_no_word_and_no_number() -> None:
    assert told(FRAME, exit_code=2, cut="medain") == "bad-cut"
    for cut in ("", "Best", float("nan"), float("inf"), float("-inf"), ["best"], {"x": 1.0}, 1j):
        assert places(FRAME, exit_code=2, cut=cut) in ("bad-cut", "bad-option")


@pytest.mark.parametrize("cut", [np.float64(1.2), np.float32(1.25), np.int64(1), 1, Decimal(1)])
def test_a_cut_may_be_any_kind_of_number(cut: Any) -> None:
    """Neither 1, 1.2 nor 1.25 is the median, 1.5: at or above 1 are 1.5, 2.5 and 1."""
    frame = FRAME.with_columns(y=pl.Series([0.5, 2.0, 2.5, 1.0]))
    plain = features(frame, cut=float(cut))
    assert rows_by_feature(frame, cut=cut) == rows_by_feature(frame, cut=float(cut))
    assert features(frame, cut=cut).to_json() == plain.to_json()
    assert features(FRAME, select=np.int64(1)).to_json() == features(FRAME, select=1).to_json()


SPARSE = pl.DataFrame({"row": [1, 2], "feature": ["a", "b"], "value": [1, 2], "truth": [1, 0]})
NOTES = FRAME.with_columns(n=pl.Series([0.5, 1.0, 1.0, 2.0]))
CLASSIFIERS: dict[str, Any] = {
    "reference": "f",
    "curve": True,
    "points": 10,
    "run": "f",
    "run_files": True,
    "model": "f",
    "kind": "score",
    "threshold": 0.3,
    "by": "f",
}
REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "a cut of bits": (BITS, {"cut": "best"}, "needs-numbers"),
    "a cut of a bit": (FRAME, {"cut": 2, "feature": "f"}, "needs-numbers"),
    "a cut without values": (SPARSE.drop("value"), {"cut": "best"}, "needs-numbers"),
    "a cut at 0": (SPARSE, {"cut": 0}, "bad-option"),
    "a cut below 0": (SPARSE, {"cut": -1}, "bad-option"),
    "phi_max without select": (FRAME, {"phi_max": 0.5}, "bad-option"),
    "delta_min without select": (FRAME, {"delta_min": 0.5}, "bad-option"),
    "weights of entries": (SPARSE, {"weight": "value"}, "bad-option"),
    "fractional weights": (NOTES, {"weight": "n"}, "fractional-weights"),
    "level 0": (FRAME, {"level": 0}, "bad-option"),
    "level 1": (FRAME, {"level": 1}, "bad-option"),
    "level 95": (FRAME, {"level": 95}, "bad-option"),
    "probabilities": (FRAME, {"layout": "probabilities"}, "bad-option"),
    "counts": (FRAME, {"layout": "counts"}, "bad-option"),
    "before anything is read": ("", {"cut": "medain"}, "bad-cut"),
    **{name: (FRAME, {name: CLASSIFIERS[name]}, "bad-option") for name in CLASSIFIERS},
}


@pytest.mark.parametrize("case", REFUSED)
def test_requests_that_make_no_sense_for_features_are_refused(case: str) -> None:
    table, options, expected = REFUSED[case]
    assert told(table, exit_code=2, **options) == expected


LIMITS: dict[str, tuple[str, list[Any]]] = {
    "phi_max": ("--phi-max", [0, -0.1, 1.5, float("nan")]),
    "delta_min": ("--delta-min", [0, -0.1, 1.5, float("nan")]),
    "select": ("--select", [0, -3, 1.5]),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits_out_of_range(name: str) -> None:
    option, values = LIMITS[name]
    for value in values:
        message = FEATURES.usage_message(FRAME, **{"select": "all", name: value})
        assert message.startswith(option)
        assert message.partition("\n")[0].endswith("[bad-option]")


OWN: dict[str, Any] = {
    "feature": "f",
    "truth_table": "c.csv",
    "cut": "best",
    "select": 3,
    "phi_max": 0.5,
    "delta_min": 0.5,
}


@pytest.mark.parametrize("name", OWN)
def test_options_of_features_need_features(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        at_shell(clfeval.phidelta)(FRAME, **{name: OWN[name]})
    assert spots(caught.value) == "bad-option"
    assert f"--{name.replace('_', '-')} " in str(caught.value)


@pytest.mark.parametrize("role", ["truth", "id", "weight"])
def test_a_column_that_is_not_there(role: str) -> None:
    frame = FRAME.with_columns(name=pl.Series(list("abcd")), n=pl.Series([1, 2, 1, 1]))
    name = {"truth": "truht", "id": "nam", "weight": "N"}[role]
    near = {"truth": "truth", "id": "name", "weight": "n"}[role]
    error = FEATURES.refusal(frame, **{role: name})
    assert spots(error) == "unknown-column"
    assert f"'{near}'" in (error.hint or "")


def test_a_class_column_that_has_no_usual_name() -> None:
    content = "outcome,f\n1,1\n0,0\n"
    assert cells_of(write("t.csv", content)) == cells_of("t.csv", truth="outcome")
    assert cells_of("t.csv") == {"f": (1, 0, 0, 1)}
    assert told("sick,f\n1,1\n0,0\n1,1\n") == "no-truth"


def test_the_layout_may_be_said() -> None:
    """`word` and `id` are columns of a wide table too, if somebody says so."""
    content = "id,word,truth\n1,a,1\n2,b,0\n3,a,0\n"
    assert set(cells_of(write("t.csv", content))) == {"a", "b"}
    assert set(cells_of("t.csv", layout="wide")) == {"word=a", "word=b"}
    assert told("truth,f\n1,1\n0,0\n", layout="long") == "wrong-layout"


def test_parameters_tell_what_was_asked() -> None:
    told = features(FRAME, cut="best", select=1, level=0.9).parameters
    assert {name: told[name] for name in ("mode", "cut", "select", "level", "positive")} == {
        "mode": "features",
        "cut": "best",
        "select": 1,
        "level": 0.9,
        "positive": "1",
    }
