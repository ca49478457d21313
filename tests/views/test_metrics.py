"""Numbers alone: what a gate can name, nested by model, and nothing that is no number."""

from __future__ import annotations

import json
import math
from pathlib import Path

import polars as pl
import pytest

import clfeval
from clfeval.views.documents import as_metrics

OF_TWO: dict[str, object] = {"positive": "malignant", "model": ["svm", "tree"]}
FIXTURES = Path(__file__).parent.parent.parent / "fixtures"


def test_each_model_has_its_numbers() -> None:
    # of 2 positive rows `a` finds both, of 2 negative ones it calls one; `b` never says positive
    table = pl.DataFrame({"truth": [1, 1, 0, 0], "a": [1, 1, 1, 0], "b": [0, 0, 0, 0]})
    found = json.loads(as_metrics(clfeval.mars(table)))
    assert [*found] == ["a", "b"]
    assert found["a"]["recall"] == 1
    assert found["a"]["precision"] == 2 / 3
    assert (found["a"]["tp"], found["a"]["fp"], found["a"]["fn"], found["a"]["tn"]) == (2, 1, 0, 1)
    assert "precision" not in found["b"]  # undefined
    assert found["b"]["accuracy"] == 1 / 2


@pytest.mark.parametrize(
    ("command", "table", "options"),
    [
        ("mars", "breast-cancer/scores.csv", {"positive": "malignant", "by": "svm:2"}),
        ("phidelta", "breast-cancer/scores.csv", {"positive": "malignant", "curve": True}),
        ("tune_jpt", "breast-cancer/scores.csv", {**OF_TWO, "prevalence": [0.01, 0.1]}),
        ("mlcps", "metrics/test.csv", {}),
        ("report", "breast-cancer/scores.csv", OF_TWO),
        ("report", "digits/probabilities.csv", {}),
    ],
)
def test_all_are_finite_numbers_that_a_gate_may_name(
    command: str, table: str, options: dict[str, object]
) -> None:
    result = getattr(clfeval, command)(FIXTURES / table, **options)
    text = as_metrics(result)
    assert text == as_metrics(clfeval.Result.from_json(result.to_json()))
    found = json.loads(text)
    assert found
    for label, measures in found.items():
        assert measures
        for name, value in measures.items():
            assert type(value) in (int, float), (label, name)
            assert math.isfinite(value)
    label, measures = next(iter(found.items()))
    limits = {f"{label}:{name}": value for name, value in measures.items()}
    gates = result.check(fail_under=limits, fail_over=limits).gates
    assert len(gates) == 2 * len(limits)
    assert all(gate.passed for gate in gates)  # each is what a gate sees, to the last digit


def test_a_slice_is_no_model(tmp_path: Path) -> None:
    table = pl.DataFrame({"truth": [1, 1, 0, 0], "a": [1, 0, 1, 0], "site": ["x", "y", "x", "y"]})
    file = tmp_path / "r.metrics.json"
    clfeval.mars(table, by="site").save(file)
    found = json.loads(file.read_text())
    assert [*found] == ["a"]
    assert found["a"]["recall"] == 1 / 2


def test_the_longest_suffix_tells_the_form(tmp_path: Path) -> None:
    result = clfeval.mars(pl.DataFrame({"truth": [1, 0], "a": [1, 0]}))
    names = ["r.json", "r.metrics.json", "metrics.json", "R.METRICS.JSON"]
    result.save(*(tmp_path / name for name in names))
    keys = {name: next(iter(json.loads((tmp_path / name).read_text()))) for name in names}
    assert keys == {
        "r.json": "schema",
        "r.metrics.json": "a",
        "metrics.json": "schema",
        "R.METRICS.JSON": "a",
    }
