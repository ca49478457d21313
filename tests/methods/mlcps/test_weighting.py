"""Weights from a YAML file, and what they do to the polygon."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import clfeval
from clfeval import UsageError
from clfeval.methods.mlcps.desirability_goals import read_weights
from tests.texts import check_text, problem_places

FRAME = pl.DataFrame({"model": ["a"], "f1": [0.5], "no": [0.8], "auc": [0.9], "mcc": [0.4]})


def weights_file(folder: Path, text: str) -> Path:
    path = folder / "weights.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_weights(tmp_path: Path) -> None:
    path = weights_file(tmp_path, "f1: 2  # twice\nno: 0.5\nauc: 1e-1\n")
    assert read_weights(path) == {"f1": 2.0, "no": 0.5, "auc": 0.1}
    result = clfeval.mlcps(FRAME, metric_weight=path)
    assert result.parameters["weights"] == {"f1": 2.0, "no": 0.5, "auc": 0.1, "mcc": 1.0}


def test_the_mapping_says_the_same_as_the_file(tmp_path: Path) -> None:
    path = weights_file(tmp_path, "{f1: 2, mcc: 0}")
    results = [
        clfeval.mlcps(FRAME, metric_weight=weight, direction={"no": "max"})
        for weight in (path, {"f1": 2, "mcc": 0})
    ]
    assert results[0].to_json() == results[1].to_json()
    assert [row["metric"] for row in results[0].tables["metrics"]] == ["f1", "no", "auc"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("f1: yes", 1),
        ("f1: true", 1),
        ("a: 1\nf1: -2", 2),
        ("- f1\n- auc", 1),
        ("{}", 1),
        ("f1: 1\nf1: 2", 2),
        ("f1: .inf", 1),
    ],
)
def test_files_that_hold_no_weights(text: str, line: int, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_weights(weights_file(tmp_path, text))
    message = str(caught.value).replace(f"{tmp_path}/", "")
    assert problem_places(message) == [f"weights.yaml:{line}:1: [configuration]"]
    check_text(message)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        clfeval.mlcps(FRAME, metric_weight=tmp_path / "weights.yml")
    assert caught.value.problems[0].code == "no-such-file"
