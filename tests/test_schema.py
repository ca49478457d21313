"""Real outputs of every table kind validate against the JSON Schema kept in fixtures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import clfeval

FIXTURES = Path(__file__).parent.parent / "fixtures"
SCHEMA = json.loads((FIXTURES / "schema" / "result-1.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("mars-paper/wide.csv", {}),
    "everything asked for": (
        "mars-paper/wide.parquet",
        {"subsets": "all", "best": 4, "max_effort": 5, "lists": ["found", "missed"]},
    ),
    "negative target, any": (
        "mars-paper/long.csv",
        {"target": "negative", "occlusion": "any", "subsets": 2},
    ),
    "one model": ("mars-paper/scores.csv", {"model": "C1", "sweep": "threshold"}),
    "slices": ("breast-cancer/scores.csv", {"positive": "malignant", "by": "truth", "best": 2}),
    "sweep of ranks": ("breast-cancer/scores.parquet", {"positive": "malignant", "sweep": "top"}),
    "no intervals": ("mars-paper/weighted.csv", {"weight": "n", "interval": "none"}),
    "nobody is found": ("mars-paper/scores.csv", {"threshold": 0.999}),
    "many classes": ("digits/probabilities.csv", {"positive": "8"}),
}

CANCER = "breast-cancer/scores.csv"
POSITIVE = {"positive": "malignant"}
TERMS = {"features": True, "truth_table": FIXTURES / "manual-pages" / "classes.csv"}
PHIDELTA: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("mars-paper/wide.csv", {}),
    "everything asked for": (
        CANCER,
        {**POSITIVE, "curve": True, "reference": "svm", "odds": "1:100", "prevalence": 0.3,
         "isometrics": {"precision": [0.5], "mutual_information": [0.2], "accuracy": [0.9]}},
    ),
    "slices": (CANCER, {**POSITIVE, "by": "truth", "curve": True, "odds": "1:2"}),
    "runs": ("armano/runs.csv", {"run": "run", "train_fraction": 0.9}),
    "no intervals": ("mars-paper/weighted.csv", {"weight": "n", "interval": "none"}),
    "many classes": ("digits/probabilities.csv", {"positive": "8"}),
    "text": ("manual-pages/terms.parquet", {**TERMS, "positive": "function", "select": True}),
    "values": ("manual-pages/terms.parquet", {**TERMS, "positive": "command", "cut": "soft"}),
    "numbers": (CANCER, {**POSITIVE, "features": True, "cut": "best", "odds": "2:1"}),
}  # fmt: skip


def test_the_schema_is_itself_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert (
        SCHEMA["properties"]["schema"]["const"]
        == clfeval.mars(FIXTURES / "mars-paper" / "wide.csv").to_dict()["schema"]
    )


@pytest.mark.parametrize("case", CASES)
def test_an_output_is_valid(case: str) -> None:
    name, options = CASES[case]
    document = json.loads(clfeval.mars(FIXTURES / name, **options).to_json())
    errors = [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(document)]
    assert errors == []


@pytest.mark.parametrize("case", PHIDELTA)
def test_a_place_in_the_diamond_is_valid(case: str) -> None:
    name, options = PHIDELTA[case]
    document = json.loads(clfeval.phidelta(FIXTURES / name, **options).to_json())
    errors = [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(document)]
    assert errors == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "clfeval.result/2"),
        (("inputs", 0, "name"), "/a/path.csv"),
        (("tables", "models", 0, "tp"), -1),
        (("tables", "models", 0, "recall"), 0.5),
        (("tables", "models", 0, "recall", "value"), 1.5),
        (("tables", "models", 0, "occlusion", "reason"), "because"),
        (("tables", "pairs", 0, "models"), []),
    ],
)
def test_the_schema_refuses_what_is_wrong(path: tuple[Any, ...], value: object) -> None:
    document = json.loads(clfeval.mars(FIXTURES / "mars-paper" / "wide.csv").to_json())
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert not VALIDATOR.is_valid(document)
