"""Small languages of option values."""

from __future__ import annotations

import pytest

from clfeval.cli.parsing import counts_of, pair_of, shares_of
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
