"""Real results of mlcps, of every kind of table and input, validate against the JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import clfeval
from clfeval.pages.schema import CHANGES, COMPARISONS
from tests.test_schema import FIXTURES, SCHEMA, VALIDATOR, changed, wrong_with

TEST, TRAIN, CV = "metrics/test.csv", "metrics/train.csv", "metrics/cv_results.csv"
SCORES = "breast-cancer/scores.csv"
WISHES, WEIGHTS = FIXTURES / "metrics" / "wishes.yaml", FIXTURES / "metrics" / "weights.yaml"
EVERY_GOAL = {
    "recall": {"goal": "maximize", "low": 0.7, "high": 0.9, "gamma": 2},
    "brier": {"goal": "minimize", "weight": 0},
    "precision": {"goal": "target", "low": 0.5, "target": 0.95, "high": 1, "gamma": [1, 2]},
    "specificity": {"goal": "box", "above": 0.97, "high": 1},
    "lines": {"goal": "custom", "points": [[10, 1], [200, 0.5], [400, 0]]},
}
PREDICTED: dict[str, Any] = {"source": "predictions", "positive": "malignant", "resamples": 100}
OF_SCORES = {"metric": ["f1", "roc_auc", "brier", "mcc"], "rescale": {"mcc": (-1, 1)}}

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": (TEST, {}),
    "one model": (TEST, {"model": "svm"}),
    "600 models": ("many.csv", {}),
    "weights and rescale": (
        TEST,
        {
            "metric_weight": {"recall": 2, "f1": 0},
            "rescale": {"mcc": (-1, 1)},
            "direction": {"f1": "max"},
        },
    ),
    "weights in a file": ("metrics/train.parquet", {"metric_weight": WEIGHTS}),
    "zero weight as ray": (
        TEST,
        {"metric_weight": {"f1": 0}, "zero_weight": "ray", "weight_sensitivity": True},
    ),
    "one weight above 0": (
        "flat.csv",
        {"metric_weight": {"f1": 0, "mcc": 0}, "zero_weight": "ray"},
    ),
    "wishes": (TEST, {"desirability": WISHES}),
    "every goal": ("lines.csv", {"desirability": EVERY_GOAL}),
    "two metrics in the polygon": (
        TEST,
        {"metric": ["recall", "roc_auc"], "desirability": {"recall": "maximize"}, "compare": TRAIN},
    ),
    "no metric in the polygon": (
        "lines.csv",
        {"metric": "lines", "desirability": {"lines": EVERY_GOAL["lines"]}},
    ),
    "splits": (CV, {"weight_sensitivity": True, "draws": 100}),
    "splits and wishes": (CV, {"desirability": {"recall": "maximize"}}),
    "one split": ("one_split.csv", {}),
    "a split outside the scale": ("below.csv", {}),
    "weight sensitivity": (TEST, {"weight_sensitivity": True, "draws": 200, "level": 0.9}),
    "compare": (TEST, {"compare": TRAIN}),
    "compare what is constant": ("flat.csv", {"compare": "flat.csv"}),
    "predictions": (SCORES, PREDICTED),
    "predictions without bootstrap": (SCORES, {**PREDICTED, "resamples": None, "interval": "none"}),
    "predictions with scores": (SCORES, {**PREDICTED, **OF_SCORES}),
    "all of predictions": (
        SCORES,
        {
            **PREDICTED,
            **OF_SCORES,
            "weight_sensitivity": True,
            "draws": 100,
            "compare": SCORES,
            "desirability": {"f1": "maximize", "brier": "minimize"},
        },
    ),
    "tidy": ("tidy.csv", {"missing": "drop"}),
    "JSON": ("models.json", {}),
    "transposed": ("across.csv", {"transpose": True}),
    "what another command printed": ("phidelta.json", {"metric": ["f1", "precision", "npv"]}),
}

Documents = Callable[[str], dict[str, Any]]
REASONS = {"constant", "outside_scale", "too_few_splits"}
REASONS |= {"too_few_metrics", "zero_weight"}


def tables_made(folder: Path) -> None:
    """Write the tables that are no fixtures."""
    names = ("recall", "precision", "specificity", "brier", "lines")
    files = {
        "many.csv": [
            "model,accuracy,recall,precision",
            *(f"m{i},{i % 7 / 7},{i * 3 % 11 / 11},{i * 5 % 13 / 13}" for i in range(600)),
        ],
        "lines.csv": [f"model,{','.join(names)}", "a,.8,.9,.98,.05,20", "b,.9,.7,.99,.04,300"],
        "one_split.csv": [
            ",".join(
                [
                    "params",
                    *(f"{part}_test_{name}" for name in names[:3] for part in ("mean", "split0")),
                ]
            ),
            "a,.5,.5,.6,.6,.7,.7",
            "b,.4,.4,.6,.6,.5,.5",
        ],
        "below.csv": [
            "params,mean_test_f1,mean_test_mcc,mean_test_recall,split0_test_f1,split1_test_f1,"
            "split0_test_mcc,split1_test_mcc,split0_test_recall,split1_test_recall",
            "a,.5,.4,.3,.5,.5,-.1,.9,.3,.3",
            "b,.6,.5,.4,.6,.6,.5,.5,.4,.4",
        ],
        "flat.csv": ["model,f1,mcc,recall", "a,.5,.4,.3", "b,.5,.3,.4"],
        "tidy.csv": [
            "model,metric,value,low,high,reason",
            *(f"{m},{x},0.{len(m + x)},,," for m in ("rf", "svm") for x in names[:3]),
            "knn,recall,.5,,,",
            "knn,precision,,,,no_positive_prediction",
            "knn,specificity,1,,,",
        ],
        "models.json": [json.dumps({m: {"f1": 0.5, "mcc": 0.2, "auc": 0.7} for m in "ab"})],
        "across.csv": ["metric,a,b", "f1,.5,.6", "mcc,.4,.3", "recall,.3,.4"],
        "phidelta.json": [clfeval.phidelta(FIXTURES / SCORES, positive="malignant").to_json()],
    }
    for name, lines in files.items():
        (folder / name).write_text("\n".join([*lines, ""]), encoding="utf-8")


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Documents:
    """A function that returns the document of a case, each computed once."""
    folder = tmp_path_factory.mktemp("tables")
    tables_made(folder)

    def place(name: str) -> Path:
        return FIXTURES / name if (FIXTURES / name).exists() else folder / name

    @cache
    def text_of(case: str) -> str:
        name, options = CASES[case]
        other = {"compare": place(options["compare"])} if "compare" in options else {}
        return clfeval.mlcps(place(name), **(options | other)).to_json()

    return lambda case: json.loads(text_of(case))


@pytest.mark.parametrize("case", CASES)
def test_a_ranking_is_valid(case: str, documents: Documents) -> None:
    assert wrong_with(documents(case)) == []


def test_every_table_is_among_the_cases(documents: Documents) -> None:
    described = SCHEMA["$defs"]["mlcps_tables"]["properties"]["tables"]
    found = [set(documents(case)["tables"]) for case in CASES]
    assert set.union(*found) == set(described["properties"]) - {COMPARISONS, CHANGES}
    assert set.intersection(*found) == set(described["required"])
    absent = [case for case, names in zip(CASES, found, strict=True) if "dominance" not in names]
    assert absent == ["600 models"]


def test_every_column_is_among_the_cases(documents: Documents) -> None:
    described = SCHEMA["$defs"]["mlcps_tables"]["properties"]["tables"]["properties"]
    found: dict[str, set[str]] = {name: set() for name in described}
    for case in CASES:
        for name, rows in documents(case)["tables"].items():
            found[name].update(column for row in rows for column in row)
    del found[COMPARISONS], found[CHANGES]  # of every command, and other tests ask for them
    assert found == {name: set(described[name]["items"]["properties"]) for name in found}


def test_every_reason_of_ours_is_among_the_cases(documents: Documents) -> None:
    reasons = {one["reason"] for case in CASES for one in estimates(documents(case)["tables"])}
    assert reasons - {None} == REASONS
    assert set(SCHEMA["$defs"]["estimate"]["properties"]["reason"]["enum"]) >= reasons


def estimates(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every estimate of a document."""
    if isinstance(node, dict) and set(node) == {"value", "low", "high", "reason"}:
        yield node
    elif isinstance(node, (dict, list)):
        for part in node.values() if isinstance(node, dict) else node:
            yield from estimates(part)


def test_only_resampled_scores_and_drawn_shares_have_limits(documents: Documents) -> None:
    for case in ("plain", "splits and wishes", "compare", "predictions without bootstrap"):
        found = list(estimates(documents(case)["tables"]))
        assert found, case
        assert {(one["low"], one["high"]) for one in found} == {(None, None)}, case
    for row in documents("predictions")["tables"]["models"]:
        for name in ("mlcps", "normalised", "order_free", "lowest", "highest", "mean", "sd"):
            assert row[name]["low"] <= row[name]["value"] <= row[name]["high"], name


FIRST = ("tables", "models", 0)
LIMITED = {"value": 0.5, "low": 0.4, "high": 0.6, "reason": None}
UNKNOWN = {"value": None, "low": None, "high": None, "reason": "zero_weight"}


# of each kind of rule one: lengths, numbers and their range, choices, what goes with what
@pytest.mark.parametrize(
    ("case", "path", "value"),
    [
        ("plain", ("parameters", "weights", "recall"), -1),
        ("plain", ("parameters", "directions", "recall"), "up"),
        ("plain", ("parameters", "scales", "recall"), [0, 1, 2]),
        ("plain", ("parameters", "orders"), None),
        ("plain", ("parameters", "draws"), 100),
        ("plain", ("parameters", "ranked_by"), "desirability"),
        ("plain", ("parameters", "from"), "predictions"),
        ("plain", ("parameters", "folds"), 5),
        ("wishes", ("parameters", "desirability", "recall", "goal"), "maximise"),
        ("wishes", ("parameters", "desirability", "recall", "gamma"), [1]),
        ("plain", ("summary", "best"), []),
        ("plain", ("summary", "pareto_front"), 0),
        ("plain", (*FIRST, "rank"), 1.5),
        ("plain", (*FIRST, "mlcps"), 1.2),
        ("plain", (*FIRST, "mlcps", "value"), None),
        ("plain", (*FIRST, "mlcps"), UNKNOWN),
        ("plain", (*FIRST, "mlcps"), LIMITED),
        ("plain", (*FIRST, "normalised", "value"), 1.01),
        ("plain", ("tables", "models", 1, "dominated_by"), None),
        ("plain", (*FIRST, "split_wins"), 1),
        ("plain", ("tables", "ranks", 0, "sd"), 0),
        ("plain", ("tables", "redundant", 0, "why"), "alike"),
        ("plain", ("tables", "metric"), []),
        ("splits", (*FIRST, "split_sd", "reason"), "outside_scale"),
        ("weight sensitivity", ("tables", "weights", 0, "share", "low"), None),
        ("compare", ("tables", "agreement", 0, "kendall", "value"), 1.1),
        ("compare", ("tables", "agreement", 0, "models"), 1),
        ("predictions", ("parameters", "resamples"), None),
        ("predictions", (*FIRST, "first", "value"), None),
    ],
)
def test_the_schema_refuses_what_is_no_ranking(
    case: str, path: tuple[Any, ...], value: object, documents: Documents
) -> None:
    document = documents(case)
    assert VALIDATOR.is_valid(document)
    assert not VALIDATOR.is_valid(changed(document, path, value))
