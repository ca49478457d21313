"""What tune-jpt refuses, and that it says why and what to type instead."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.errors import ClfevalError, DataError, UsageError
from tests.shell import at_shell

TABLE = (67, 5, 33, 95)


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"prevalence": 0}, "no positives"),
        ({"prevalence": 1}, "no negatives"),
        ({"prevalence": -0.1}, "between 0 and 1"),
        ({"prevalence": float("nan")}, "between 0 and 1"),
        ({"prevalence": [0.1, 1.5]}, "1.5"),
        ({"prevalence": "100"}, "between 0 and 1"),
        ({"prevalence": "1:0"}, "above 0"),
        ({"prevalence": "0:1"}, "above 0"),
        ({"prevalence": "1:-3"}, "above 0"),
        ({"prevalence": "1:inf"}, "above 0"),
        ({"prevalence": "1:2:3"}, "positives:negatives"),
        ({"prevalence": ["1:2", "x:1"]}, "x:1"),
        ({"measure": "f_beta:beta=-1"}, "beta"),
        ({"measure": "f_beta:beta=nan"}, "beta"),
        ({"population": 0}, "population"),
        ({"population": -5}, "population"),
        ({"population": float("inf")}, "population"),
        ({"level": 0}, "level"),
        ({"level": 1}, "level"),
        ({"measure": "ppw"}, "ppw"),
        ({"sweep": "1:10"}, "sweep"),
        ({"sweep": "1:10..x"}, "x"),
        ({"sweep": "1:10..10:1", "points": 1}, "points"),
        ({"measure": "cost:fp=1"}, "cost"),
        ({"measure": "cost:fp=-1,fn=2"}, "cost"),
        ({"measure": "cost:fp=0,fn=0"}, "cost"),
        ({"measure": "cost:fp=nan,fn=1"}, "cost"),
        ({"measure": "cost:tp=1,tn=2"}, "cost"),
        ({"measure": "auc"}, "auc"),
        ({"measure": "expected_cost"}, "cost:fp=1,fn=10"),
        ({"prevalence": "0.5..0.1"}, "lower to higher"),
        ({"prevalence": "0..0.1"}, "no positives"),
        ({"prevalence": "0.1..1"}, "no negatives"),
        ({"prevalence": "0.1.."}, "share of positives"),
        ({"prevalence_beta": (0, 1)}, "beta"),
        ({"prevalence_beta": (1, float("inf"))}, "beta"),
        ({"interval": "bootstrap", "resamples": 0}, "resamples"),
        ({"counts": (1, 2, 3)}, "four"),
        ({"truth": "t"}, "truth"),
        ({"sensitivity": 0.5, "specificity": 0.5}, "one"),
    ],
    ids=str,
)
def test_a_wrong_word_is_a_usage_error(wrong: dict[str, Any], word: str) -> None:
    with pytest.raises(UsageError) as caught:
        at_shell(clfeval.tune_jpt)(**{"counts": TABLE, "sweep": None} | wrong)
    assert word in str(caught.value)


@pytest.mark.parametrize(
    "rates",
    [
        {"sensitivity": 0.5}, {"specificity": 0.5}, {"sensitivity": 1.2, "specificity": 0.5},
        {"sensitivity": 67, "specificity": 95}, {"sensitivity": 0.5, "specificity": -0.1},
        {"sensitivity": float("nan"), "specificity": 0.5},
    ],
    ids=str,
)  # fmt: skip
def test_rates_come_in_two_and_are_shares(rates: dict[str, float]) -> None:
    with pytest.raises(UsageError) as caught:
        at_shell(clfeval.tune_jpt)(**rates)
    assert any(name in str(caught.value) for name in ("sensitivity", "specificity"))


@pytest.mark.parametrize(
    ("counts", "word"),
    [
        ((1, 2, 3, -4), "-4"),
        ((1, 2, 3, float("nan")), ""),
        ((1, 2, 3, float("inf")), ""),
        ((0, 3, 0, 4), "no positive"),
        ((3, 0, 4, 0), "no negative"),
        ((0, 0, 0, 0), ""),
        ({"a": (1, 2, 3, 4), "b": (1, 2, 3, -4)}, "b"),
    ],
    ids=str,
)
def test_counts_that_are_none(counts: Any, word: str) -> None:
    with pytest.raises(ClfevalError) as caught:
        at_shell(clfeval.tune_jpt)(counts=counts)
    assert word in str(caught.value)


def test_fractions_are_no_counts() -> None:
    """Who has rates is told how to give them; a counts table names the cell."""
    with pytest.raises(UsageError) as caught:
        at_shell(clfeval.tune_jpt)(counts=(0.67, 0.05, 0.33, 0.95))
    assert "--sensitivity 0.67 --specificity 0.95" in str(caught.value)
    frame = pl.DataFrame({"model": ["m"], "tp": [6], "fp": [1], "fn": [3], "tn": [0.5]})
    with pytest.raises(DataError) as wrong:
        at_shell(clfeval.tune_jpt)(frame)
    assert "column 'tn': '0.5' is not a count" in str(wrong.value)


@pytest.mark.parametrize("lacking", [0, 1])
def test_predictions_of_one_class_cannot_be_tuned(lacking: int) -> None:
    frame = pl.DataFrame({"truth": [1 - lacking] * 4, "m": [0, 1, 1, 0]})
    with pytest.raises(DataError) as caught:
        at_shell(clfeval.tune_jpt)(frame, classes=[0, 1])
    assert ("negative" if lacking == 0 else "positive") in str(caught.value)


def test_nothing_or_two_things_to_tune() -> None:
    with pytest.raises(UsageError, match=r"^nothing to tune "):
        at_shell(clfeval.tune_jpt)()
    with pytest.raises(UsageError, match=r"^a table and --counts each say what to tune"):
        at_shell(clfeval.tune_jpt)(pl.DataFrame({"truth": [1, 0], "m": [1, 0]}), counts=TABLE)
