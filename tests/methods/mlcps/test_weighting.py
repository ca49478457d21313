"""Weights from a YAML file, and what they do to the polygon."""

from __future__ import annotations

from math import pi, sin
from pathlib import Path

import polars as pl
import pytest

import clfeval
from clfeval import UsageError
from clfeval.methods.mlcps.wishes import read_weights

FRAME = pl.DataFrame({"model": ["a"], "f1": [0.5], "no": [0.8], "auc": [0.9], "mcc": [0.4]})


def written(folder: Path, text: str) -> Path:
    path = folder / "weights.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_weights(tmp_path: Path) -> None:
    path = written(tmp_path, "f1: 2  # twice\nno: 0.5\nauc: 1e-1\n")
    assert read_weights(path) == {"f1": 2.0, "no": 0.5, "auc": 0.1}
    result = clfeval.mlcps(FRAME, metric_weight=path)
    assert result.parameters["weights"] == {"f1": 2.0, "no": 0.5, "auc": 0.1, "mcc": 1.0}
    rays = [0.5 * 2, 0.8 * 0.5, 0.9 * 0.1, 0.4]
    area = (
        0.5
        * sin(2 * pi / 4)
        * (rays[0] * rays[1] + rays[1] * rays[2] + rays[2] * rays[3] + rays[3] * rays[0])
    )
    assert result.tables["models"][0]["mlcps"].value == pytest.approx(area)
    most = 0.5 * (2 * 0.5 + 0.5 * 0.1 + 0.1 * 1 + 1 * 2)
    assert result.tables["models"][0]["normalised"].value == pytest.approx(area / most)


def test_the_mapping_says_the_same_as_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "{f1: 2, mcc: 0}")
    both = [clfeval.mlcps(FRAME, metric_weight=weight) for weight in (path, {"f1": 2, "mcc": 0})]
    assert both[0].to_json() == both[1].to_json()
    assert [row["metric"] for row in both[0].tables["metrics"]] == ["f1", "no", "auc"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f1: yes", "weights.yaml:1:1: the weight of 'f1' is 'yes', not a number [configuration]"),
        ("f1: true", "weights.yaml:1:1: the weight of 'f1' is true, not a number [configuration]"),
        ("a: 1\nf1: -2", "weights.yaml:2:1: the weight of 'f1' -2 is negative [configuration]"),
        ("- f1\n- auc", "weights.yaml:1:1: weights are a mapping of metrics to numbers"),
        ("{}", "weights.yaml:1:1: weights are a mapping of metrics to numbers"),
        ("f1: 1\nf1: 2", "weights.yaml:2:1"),
        ("f1: .inf", "weights.yaml:1:1"),
    ],
)
def test_files_that_hold_no_weights(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_weights(written(tmp_path, text))
    assert message in str(caught.value).replace(f"{tmp_path}/", "")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        clfeval.mlcps(FRAME, metric_weight=tmp_path / "weights.yml")


def test_a_ray_of_length_zero_costs_its_neighbours_their_area() -> None:
    """METHODS section 4: dropped, f1-no-auc remain; kept, no and f1 (mcc's neighbours) lose."""
    dropped = clfeval.mlcps(FRAME, metric_weight={"mcc": 0})
    ray = clfeval.mlcps(FRAME, metric_weight={"mcc": 0}, zero_weight="ray")
    triangle = 0.5 * sin(2 * pi / 3) * (0.5 * 0.8 + 0.8 * 0.9 + 0.9 * 0.5)
    assert dropped.tables["models"][0]["mlcps"].value == pytest.approx(triangle)
    assert ray.tables["models"][0]["mlcps"].value == pytest.approx(0.5 * (0.5 * 0.8 + 0.8 * 0.9))
    assert ray.tables["models"][0]["mean"].value == pytest.approx((0.5 + 0.8 + 0.9) / 3)
