"""Small languages of option values."""

from __future__ import annotations

import pytest

from clfeval.errors import UsageError
from clfeval.measures.record import Population
from clfeval.options import syntax as notation


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("0.005", 0.005),
        ("0.5%", 0.005),
        ("1/200", 0.005),
        ("1e-3", 0.001),
        ("50 %", 0.5),
        ("1:199", 0.005),
    ],
)
def test_a_share_of_positives(text: str, share: float) -> None:
    assert Population.from_text(text).prevalence == pytest.approx(share, rel=1e-15)


@pytest.mark.parametrize("text", ["", "1/0", "a", "0,005", "%", "1/2/3", "1:2:3"])
def test_no_share(text: str) -> None:
    with pytest.raises(UsageError, match="--prevalence"):
        Population.from_text(text)


def test_counts_of_models() -> None:
    assert notation.parse_counts("--counts", []) is None
    assert notation.parse_counts("--counts", ["a=b=1,2,3,4", "5,6,7,8"]) == {
        "a=b": [1, 2, 3, 4],
        "model": [5, 6, 7, 8],
    }
    large = notation.parse_counts("--counts", ["9007199254740993,5,33,95"])
    assert large is not None
    assert large["model"][0] == 2**53 + 1  # a float would lose the last digit
    with pytest.raises(UsageError, match="'a'"):
        notation.parse_counts("--counts", ["a=1,2,3,4", "a=1,2,3,4"])


def test_weights() -> None:
    assert notation.parse_weights("--metric-weight", []) is None
    assert notation.parse_weights("--metric-weight", ["f1=2", "a=b=0.5", "no=0"]) == {
        "f1": 2.0,
        "a=b": 0.5,
        "no": 0.0,
    }
    assert notation.parse_weights("--metric-weight", ["all weights.yaml"]) == "all weights.yaml"
    assert notation.parse_weights("--metric-weight", ["x.yml"]) == "x.yml"


@pytest.mark.parametrize(
    "texts", [["f1"], ["f1="], ["=2"], ["f1=two"], ["w.yaml", "f1=2"], ["w.txt"]]
)
def test_no_weights(texts: list[str]) -> None:
    with pytest.raises(UsageError, match="METRIC=NUMBER"):
        notation.parse_weights("--metric-weight", texts)


def test_directions_and_ranges() -> None:
    assert notation.parse_directions("--direction", ["loss=min", "a=b=max"]) == {
        "loss": "min",
        "a=b": "max",
    }
    assert notation.parse_ranges("--rescale", ["mcc=-1:1", "a=b=0:1e2"]) == {
        "mcc": (-1.0, 1.0),
        "a=b": (0.0, 100.0),
    }


@pytest.mark.parametrize("text", ["loss", "loss=down", "=min", "loss=MIN"])
def test_no_direction(text: str) -> None:
    with pytest.raises(UsageError, match="METRIC=max"):
        notation.parse_directions("--direction", [text])


@pytest.mark.parametrize("text", ["mcc", "mcc=1", "mcc=-1..1", "=0:1", "mcc=a:b"])
def test_no_range(text: str) -> None:
    with pytest.raises(UsageError, match="METRIC=LOW:HIGH"):
        notation.parse_ranges("--rescale", [text])


def test_nothing_is_said_twice() -> None:
    with pytest.raises(UsageError, match=r"--metric-weight .*'f1'"):
        notation.parse_weights("--metric-weight", ["f1=1", "f1=2"])
    with pytest.raises(UsageError, match=r"--direction .*'f1'"):
        notation.parse_directions("--direction", ["f1=min", "f1=min"])
    with pytest.raises(UsageError, match=r"--rescale .*'f1'"):
        notation.parse_ranges("--rescale", ["f1=0:1", "f1=0:2"])


def test_a_threshold_is_named_once() -> None:
    assert notation.parse_thresholds("--threshold", ["0.3", "a=0.5", "0.3"]) == {
        None: 0.3,
        "a": 0.5,
    }
    for texts in (["0.3", "0.5"], ["a=0.3", "a=0.5"]):
        with pytest.raises(UsageError, match="--threshold"):
            notation.parse_thresholds("--threshold", texts)
