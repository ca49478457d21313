"""What a ranking is asked for: settings are signed, names mean one column, odd words refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import clfeval
from clfeval import Result, UsageError
from tests.results import problem_codes, rows_of, value_of, warning_messages
from tests.shell import at_shell
from tests.texts import numbers_in

FIXTURES = Path(__file__).parent.parent.parent.parent / "fixtures"
FRAME = pl.DataFrame(
    {
        "model": ["a", "b", "c"],
        "f1": [0.8, 0.7, 0.6],
        "recall": [0.6, 0.7, 0.8],
        "precision": [0.5, 0.9, 0.7],
        "auc": [0.9, 0.6, 0.8],
    }
)


def settings(result: Result) -> str:
    return "|".join(p for p in result.signature.split("|") if not p.startswith(("data:", "stats:")))


@pytest.mark.parametrize(
    "options",
    [
        {"metric_weight": {"f1": 0}},
        {"metric_weight": {"f1": 2}},
        {"metric": ["f1", "recall", "auc"]},
        {"direction": {"f1": "min"}},
        {"rescale": {"f1": (0, 2)}},
        {"weight_sensitivity": True},
        {"metric_weight": {"f1": 0}, "zero_weight": "ray"},
        {"desirability": {"f1": "maximize"}},
        {"desirability": {"f1": {"goal": "maximize", "gamma": 2}}},
        {"compare": FRAME},
        {"weight_sensitivity": True, "seed": 1},
        {"weight_sensitivity": True, "level": 0.9},
    ],
    ids=str,
)
def test_what_changes_a_number_is_signed(options: dict[str, Any]) -> None:
    assert settings(clfeval.mlcps(FRAME, **options)) != settings(clfeval.mlcps(FRAME))


@pytest.mark.parametrize(
    "options", [{"seed": 7}, {"zero_weight": "ray"}, {"metric_weight": {"f1": 1}}]
)
def test_what_changes_none_is_not(options: dict[str, Any]) -> None:
    result, plain = clfeval.mlcps(FRAME, **options), clfeval.mlcps(FRAME)
    assert result.tables == plain.tables
    assert result.signature == plain.signature


def test_a_name_with_a_star_is_a_name_in_the_other_table_too() -> None:
    # polars itself refuses no such name, the reader of predictions would
    here = pd.DataFrame({"model": ["a", "b"], "m?": [0.1, 0.2], "x": [0.3, 0.4], "y": [0.5, 0.6]})
    there = here.rename(columns={"m?": "m1"})
    with pytest.raises(clfeval.DataError, match=r"'m\?'"):
        at_shell(clfeval.mlcps)(here, compare=there)


def test_other_names_of_a_measure_mean_its_column(tmp_path: Path) -> None:
    result = clfeval.mlcps(
        FRAME, metric_weight={"sensitivity": 2, "roc_auc": 3}, rescale={"tpr": (0, 2)}
    )
    assert result.parameters["weights"] == {"f1": 1, "recall": 2, "precision": 1, "auc": 3}
    assert result.parameters["scales"]["recall"] == [0, 2]
    wished = clfeval.mlcps(FRAME, desirability={"sens": "maximize"})
    assert wished.tables["desirability"][0]["metric"] == "recall"


def test_weights_of_predictions_by_the_name_that_was_asked_for() -> None:
    result = clfeval.mlcps(
        FIXTURES / "breast-cancer" / "labels.csv",
        source="predictions",
        positive="malignant",
        metric=["acc", "f1", "mcc"],
        metric_weight={"acc": 2},
        interval="none",
    )
    assert result.parameters["weights"] == {"accuracy": 2, "f1": 1, "mcc": 1}


def never(tmp_path: Path) -> Path:
    rows = ["1,1,0", "1,1,0", "1,0,0", "0,0,0", "0,1,0", "0,0,0"]
    path = tmp_path / "preds.csv"
    path.write_text("\n".join(["truth,some,never", *rows, ""]), encoding="utf-8")
    return path


def check_refusal(path: Path, **options: Any) -> None:
    """See that the precision of `never` is no ray."""
    with pytest.raises(clfeval.DataError) as caught:
        at_shell(clfeval.mlcps)(path, **options)
    assert problem_codes(caught.value) == ["undefined-metric"]
    assert {"precision", "'never'"} <= {*caught.value.problems[0].message.split()}


def test_a_measure_of_weight_zero_may_be_undefined(tmp_path: Path) -> None:
    path = never(tmp_path)
    options: dict[str, Any] = {"source": "predictions", "interval": "none"}
    check_refusal(path, **options)
    dropped = clfeval.mlcps(path, metric_weight={"precision": 0}, **options)
    assert dropped.parameters["metrics"] == ["sensitivity", "specificity", "npv"]
    assert json.loads(dropped.to_json())["summary"]["models"] == 2
    aliased = clfeval.mlcps(path, metric_weight={"ppv": 0}, **options)
    assert aliased.tables == dropped.tables
    # it is something still as a ray, and as a wish
    for role in ({"zero_weight": "ray"}, {"desirability": {"precision": "maximize"}}):
        check_refusal(path, metric_weight={"precision": 0}, **role, **options)


def test_of_many_classes_one_is_held_against_the_rest() -> None:
    result = clfeval.mlcps(
        FIXTURES / "digits" / "labels.csv",
        source="predictions",
        positive="8",
        interval="none",
        metric=["accuracy", "f1", "mcc"],
    )
    (note,) = warning_messages(result, "merged-classes")
    assert {8, 9} <= {*numbers_in(note)}


@pytest.mark.parametrize(
    "options",
    [
        {"weight": 2.0},
        {"desirability": 1},
        {"direction": ["f1"]},
        {"rescale": ["f1"]},
        {"id": 3},
        {"metric": [1]},
        {"metric": 5},
        {"metric_weight": {"f1": 10**400}},
        {"level": 10**400},
        {"transpose": True, "layout": "long"},
        {"resamples": 500, "source": "predictions", "interval": "none"},
    ],
    ids=lambda options: str(options)[:40],
)
def test_odd_arguments_are_refused_by_the_name_of_the_option(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"^--{next(iter(options)).replace('_', '-')} "):
        at_shell(clfeval.mlcps)(FRAME, **options)


def test_the_wish_decides_nothing_about_the_direction_of_a_ray() -> None:
    x = [0.1, 0.3, 0.5, 0.7]
    frame = pl.DataFrame({"model": [*"abcd"], "f1": x, "auc": x, "mcc": [0.4, 0.1, 0.3, 0.2]})
    wishes = {"f1": {"goal": "minimize", "low": 0, "high": 1, "weight": 0}, "mcc": "maximize"}
    rows = clfeval.mlcps(frame, desirability=wishes).tables["redundant"]
    assert [(row["first"], row["second"], row["why"]) for row in rows] == [
        ("f1", "auc", "identical")
    ]


def test_one_metric_has_a_mean_and_no_spread() -> None:
    frame = FRAME.select("model", "f1")
    result = clfeval.mlcps(frame, desirability={"f1": "maximize"})
    row = rows_of(result, "models")[0]
    assert value_of(row["mean"]) == 0.8
    assert (row["sd"].value, row["sd"].reason) == (None, "too_few_metrics")


def test_spread_over_splits_as_the_search_gives_it() -> None:
    path = FIXTURES / "metrics" / "cv_results.csv"
    raw = pd.read_csv(path)
    rows = clfeval.mlcps(path).tables["profile"]
    for row in rows[:6]:
        assert row["sd"] == raw[f"std_test_{row['metric']}"][0]


def test_the_order_of_models_moves_no_digit() -> None:
    values = [0.1, 0.7, 0.2, 0.31, 0.77, 0.123456789]
    frame = pl.DataFrame({"model": [*"abcdef"], "f1": values, "auc": values[::-1], "mcc": values})
    turned = frame.reverse()
    assert clfeval.mlcps(frame).tables["metrics"] == clfeval.mlcps(turned).tables["metrics"]
