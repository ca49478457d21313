"""Small languages of option values."""

from __future__ import annotations

import pytest

from clfeval.cli.parsing import (
    counts_of,
    directions_of,
    pair_of,
    ranges_of,
    shares_of,
    weights_of,
)
from clfeval.errors import UsageError


@pytest.mark.parametrize(
    ("text", "share"),
    [("0.005", 0.005), ("0.5%", 0.005), ("1/200", 0.005), ("1e-3", 0.001), ("50 %", 0.5)],
)
def test_a_share_of_positives(text: str, share: float) -> None:
    assert shares_of("--prevalence", [text]) == pytest.approx([share], rel=1e-15)


@pytest.mark.parametrize("text", ["", "1/0", "a", "1:200", "0,005", "%", "1/2/3"])
def test_no_share(text: str) -> None:
    with pytest.raises(UsageError, match="is not a share of positives") as caught:
        shares_of("--prevalence", [text])
    assert "--prevalence 0.005, 0.5% or 1/200" in str(caught.value.hint)


def test_counts_of_models() -> None:
    assert counts_of([]) is None
    assert counts_of(["a=b=1,2,3,4", "5,6,7,8"]) == {"a=b": [1, 2, 3, 4], "model": [5, 6, 7, 8]}
    large = counts_of(["9007199254740993,5,33,95"])
    assert large is not None
    assert large["model"][0] == 2**53 + 1  # a float would lose the last digit
    with pytest.raises(UsageError, match="names 'a' twice"):
        counts_of(["a=1,2,3,4", "a=1,2,3,4"])


def test_pairs() -> None:
    assert pair_of("--cost", None, ":", "1:10") is None
    assert pair_of("--cost", "1:10", ":", "1:10") == (1, 10)
    assert pair_of("--prevalence-range", "0.001..0.02", "..", "") == (0.001, 0.02)
    with pytest.raises(UsageError, match="is not two numbers with : between"):
        pair_of("--cost", "1", ":", "1:10")


def test_weights() -> None:
    assert weights_of([]) is None
    assert weights_of(["f1=2", "a=b=0.5", "no=0"]) == {"f1": 2.0, "a=b": 0.5, "no": 0.0}
    assert weights_of(["all weights.yaml"]) == "all weights.yaml"
    assert weights_of(["x.yml"]) == "x.yml"


@pytest.mark.parametrize(
    "texts", [["f1"], ["f1="], ["=2"], ["f1=two"], ["w.yaml", "f1=2"], ["w.txt"]]
)
def test_no_weights(texts: list[str]) -> None:
    with pytest.raises(UsageError, match="is not METRIC=NUMBER") as caught:
        weights_of(texts)
    assert "--weight recall=2" in str(caught.value.hint)


def test_directions_and_ranges() -> None:
    assert directions_of(["loss=min", "a=b=max"]) == {"loss": "min", "a=b": "max"}
    assert ranges_of(["mcc=-1:1", "a=b=0:1e2"]) == {"mcc": (-1.0, 1.0), "a=b": (0.0, 100.0)}


@pytest.mark.parametrize("text", ["loss", "loss=down", "=min", "loss=MIN"])
def test_no_direction(text: str) -> None:
    with pytest.raises(UsageError, match="is not METRIC=max or METRIC=min"):
        directions_of([text])


@pytest.mark.parametrize("text", ["mcc", "mcc=1", "mcc=-1..1", "=0:1", "mcc=a:b"])
def test_no_range(text: str) -> None:
    with pytest.raises(UsageError, match="is not METRIC=LOW:HIGH"):
        ranges_of([text])


def test_nothing_is_said_twice() -> None:
    with pytest.raises(UsageError, match="--weight names 'f1' twice"):
        weights_of(["f1=1", "f1=2"])
    with pytest.raises(UsageError, match="--direction names 'f1' twice"):
        directions_of(["f1=min", "f1=min"])
    with pytest.raises(UsageError, match="--rescale names 'f1' twice"):
        ranges_of(["f1=0:1", "f1=0:2"])
