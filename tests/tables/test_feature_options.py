"""Requests refused for features: options of the other mode, options that do nothing, bad cuts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.errors import UsageError
from tests.methods.features.door import cells_of, data_message, features, rows_of, usage_message
from tests.shell import at_shell
from tests.tables.door import write

FRAME = pl.DataFrame({"truth": [1, 1, 0, 0], "x": [0.5, 1.5, 2.5, 1.0], "f": [1, 0, 0, 1]})
BITS = FRAME.drop("x")


def test_a_cut_that_is_no_word_and_no_number() -> None:
    assert usage_message(FRAME, cut="medain") == (
        "--cut 'medain' is no number and none of median, mean, best, soft [bad-cut]\n"
        "hint: did you mean 'median'?"
    )
    assert "bad-cut" in usage_message(FRAME, cut="")
    assert "did you mean 'best'?" in usage_message(FRAME, cut="Best")


@pytest.mark.parametrize("cut", [float("nan"), float("inf"), float("-inf")])
def test_a_cut_that_is_no_finite_number(cut: float) -> None:
    assert "--cut" in usage_message(FRAME, cut=cut)


@pytest.mark.parametrize("cut", [np.float64(1.2), np.float32(1.25), np.int64(1), 1, Decimal(1)])
def test_a_cut_may_be_any_kind_of_number(cut: Any) -> None:
    """Neither 1, 1.2 nor 1.25 is the median, 1.5: at or above 1 are 1.5, 2.5 and 1."""
    frame = FRAME.with_columns(y=pl.Series([0.5, 2.0, 2.5, 1.0]))
    plain = features(frame, cut=float(cut))
    assert rows_of(frame, cut=cut) == rows_of(frame, cut=float(cut))
    assert features(frame, cut=cut).to_json() == plain.to_json()


@pytest.mark.parametrize("cut", [["best"], {"x": 1.0}, 1j])
def test_a_cut_that_is_neither_a_word_nor_a_number(cut: Any) -> None:
    assert "--cut" in usage_message(FRAME, cut=cut)


def test_top_may_be_any_kind_of_whole_number() -> None:
    one, other = (features(FRAME, select=n) for n in (1, np.int64(1)))
    assert one.to_json() == other.to_json()


def test_a_cut_without_numbers_to_act_on() -> None:
    assert usage_message(BITS, cut="best") == (
        "--cut has nothing to act on: no feature is numeric [needs-numbers]\nhint: leave it out"
    )
    assert "needs-numbers" in usage_message(FRAME, cut=2, feature="f")


def test_a_cut_without_values_in_a_sparse_table() -> None:
    sparse = pl.DataFrame({"row": [1, 2], "feature": ["a", "b"], "truth": [1, 0]})
    assert usage_message(sparse, cut="best") == (
        "--cut has nothing to act on: no column of values [needs-numbers]\n"
        "hint: a sparse table may have a third column named value"
    )


@pytest.mark.parametrize("cut", [0, -1, 0.0])
def test_a_cut_that_rows_without_an_entry_would_meet(cut: float) -> None:
    sparse = pl.DataFrame({"row": [1, 2], "feature": ["a", "b"], "value": [1, 2], "truth": [1, 0]})
    assert usage_message(sparse, cut=cut).startswith(
        f"--cut {cut:g} would be met by every row without an entry [bad-option]"
    )


LIMITS: dict[str, tuple[str, list[Any]]] = {
    "phi_max": ("--phi-max", [0, -0.1, 1.5, float("nan")]),
    "delta_min": ("--delta-min", [0, -0.1, 1.5, float("nan")]),
    "select": ("--select", [0, -3, 1.5]),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits_out_of_range(name: str) -> None:
    option, values = LIMITS[name]
    for value in values:
        message = usage_message(FRAME, **{"select": "all", name: value})
        assert message.startswith(option)
        assert message.endswith("[bad-option]")


@pytest.mark.parametrize(("name", "value"), [("phi_max", 0.5), ("delta_min", 0.5)])
def test_limits_without_a_selection(name: str, value: Any) -> None:
    option = LIMITS[name][0]
    assert usage_message(FRAME, **{name: value}) == (
        f"{option} limits a selection: add --select [bad-option]"
    )


CLASSIFIERS: dict[str, Any] = {
    "reference": "f", "curve": True, "points": 10, "run": "f", "run_files": True,
    "model": "f", "kind": "score", "threshold": 0.3, "by": "f",
}  # fmt: skip


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_options_of_classifiers_are_refused(name: str) -> None:
    option = f"--{name.replace('_', '-')}"
    assert usage_message(FRAME, **{name: CLASSIFIERS[name]}) == (
        f"{option} is for classifiers, not with --features [bad-option]"
    )


@pytest.mark.parametrize("layout", ["probabilities", "counts"])
def test_layouts_of_classifiers_are_refused(layout: str) -> None:
    assert "--layout" in usage_message(FRAME, layout=layout)


FEATURES: dict[str, Any] = {
    "feature": "f", "truth_table": "c.csv", "cut": "best", "select": 3, "phi_max": 0.5,
    "delta_min": 0.5,
}  # fmt: skip


@pytest.mark.parametrize("name", FEATURES)
def test_options_of_features_need_features(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        at_shell(clfeval.phidelta)(FRAME, **{name: FEATURES[name]})
    option = f"--{name.replace('_', '-')}"
    assert str(caught.value) == f"{option} is for features: add --features [bad-option]"


def test_weights_need_a_wide_table() -> None:
    sparse = pl.DataFrame({"row": [1, 2], "feature": ["a", "b"], "value": [1, 2], "truth": [1, 0]})
    assert "--weight" in usage_message(sparse, weight="value")


def test_fractional_weights_have_no_exact_interval() -> None:
    frame = FRAME.with_columns(n=pl.Series([0.5, 1.0, 1.0, 2.0]))
    message = usage_message(frame, weight="n")
    assert "fractional-weights" in message
    assert "--interval none" in message


@pytest.mark.parametrize("level", [0, 1, 95])
def test_a_level_beyond_0_and_1(level: float) -> None:
    assert usage_message(FRAME, level=level).startswith("--level")


def test_nothing_is_read_before_the_request_is_checked() -> None:
    message = usage_message("", "empty.csv", cut="medain")
    assert "bad-cut" in message


@pytest.mark.parametrize("role", ["truth", "id", "weight"])
def test_a_column_that_is_not_there(role: str) -> None:
    frame = FRAME.with_columns(name=pl.Series(list("abcd")), n=pl.Series([1, 2, 1, 1]))
    name = {"truth": "truht", "id": "nam", "weight": "N"}[role]
    near = {"truth": "truth", "id": "name", "weight": "n"}[role]
    assert data_message(frame, **{role: name}) == (
        f"<frame>: no column '{name}'; columns: 'truth', 'x', 'f', 'name', 'n' [unknown-column]\n"
        f"hint: did you mean '{near}'?"
    )


def test_a_class_column_that_has_no_usual_name() -> None:
    content = "outcome,f\n1,1\n0,0\n"
    assert data_message(content) == (
        "t.csv: no class column; columns: 'outcome', 'f' [no-truth]\n"
        "hint: --truth 'outcome': its name"
    )
    assert cells_of(write("t.csv", content), truth="outcome") == {"f": (1, 0, 0, 1)}


def test_the_layout_may_be_said() -> None:
    """`word` and `id` are columns of a wide table too, if somebody says so."""
    content = "id,word,truth\n1,a,1\n2,b,0\n3,a,0\n"
    assert set(cells_of(write("t.csv", content))) == {"a", "b"}
    assert set(cells_of("t.csv", layout="wide")) == {"word=a", "word=b"}
    message = data_message("truth,f\n1,1\n0,0\n", layout="long")
    assert message.startswith("t.csv: no sparse table: columns 'truth', 'f' [wrong-layout]")


def test_parameters_tell_what_was_asked() -> None:
    told = features(FRAME, cut="best", select=1, level=0.9).parameters
    assert {name: told[name] for name in ("mode", "cut", "select", "level", "positive")} == {
        "mode": "features", "cut": "best", "select": 1, "level": 0.9, "positive": "1",
    }  # fmt: skip
