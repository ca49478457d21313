"""What the report says of the probabilities of the best model."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.measures.logistic import chances

X = np.linspace(-4, 4, 4001)


def said(p: Any, truth: Any) -> str:
    result = clfeval.report(pl.DataFrame({"truth": truth.astype(int), "m": p}), threshold=0.5)
    return next(one.text for one in result.answer if one.code == "probabilities")


def drawn(slope: float, level: float = 0.0, times: int = 1) -> Any:
    """Return classes whose log odds are a line of those given."""
    x = np.tile(X, times)
    return np.random.default_rng(5).random(len(x)) < chances(x, level, slope)


def test_what_ranks_the_wrong_way_round_is_not_called_too_extreme() -> None:
    text = said(chances(X, 0, 1), drawn(-1))
    assert text.startswith("m ranks the wrong way round: higher scores are positive less often")


def test_what_is_surely_but_hardly_off_is_called_close() -> None:
    """400,100 rows tell a slope of .97 from 1, which changes no decision."""
    text = said(np.tile(chances(X, 0, 1), 100), drawn(0.97, times=100))
    assert text.startswith("The probabilities of m are close to what came, if slightly too extreme")
    assert "cannot be taken as they are: too extreme" in said(chances(X, 0, 1), drawn(0.6))


def test_what_was_impossible_and_came_speaks_against_them() -> None:
    p, truth = chances(X, 0, 1), drawn(1)
    p[:10], truth[:10] = 0, [True, True, *[False] * 8]
    assert "cannot be taken as they are: 2 rows had probability 0 for what came true" in said(
        p, truth
    )


def test_where_there_is_no_slope_the_answer_says_why() -> None:
    truth = np.tile([True, False], 30)
    told = "No slope tells whether to believe the probabilities of m: they part the classes"
    assert said(np.where(truth, 0.9, 0.1), truth) == f"{told}."
    assert said(np.where(truth, 0.1, 0.9), truth) == f"{told}, the wrong way round."
    ties = np.where(truth, 0.9, 0.1)
    ties[:20] = 0.5
    assert said(ties, truth) == f"{told}, ties aside, or hardly differ."
    same = "m gives every row the same score: no slope tells whether to believe its probabilities"
    assert said(np.full(60, 0.5), truth) == f"{same}."
    # half of 60 rows came where 2 % were expected
    assert said(np.full(60, 0.02), truth) == f"{same}; they are too low on average."


def of_three(sure: float, right: float, rows: int) -> Any:
    """Return what is said of rows of three classes that are given their answer with one share."""
    answer = np.arange(rows) % 3
    hits = np.arange(rows) * 37 % 100 < 100 * right  # of each hundred so many
    truth = np.where(hits, answer, (answer + 1) % 3)
    shares = {
        f"prob_{k}": np.where(answer == k, sure, (1 - sure) / 2) for k in range(3)
    }  # fmt: skip
    result = clfeval.report(pl.DataFrame({"truth": truth.astype(str), **shares}))
    return next(one for one in result.answer if one.code == "probabilities")


def test_of_several_classes_being_sure_is_held_against_being_right() -> None:
    over = of_three(0.9, 0.8, 3000)
    assert "cannot be taken as they are: it is too sure of its answers" in over.text
    assert over.value == pytest.approx(0.9 - 0.8, abs=1e-12)
    # the mean of rows that are all as sure: the error of a share, p (1 - p) / (n - 1)
    reach = 1.96 * (0.8 * 0.2 / 2999) ** 0.5
    assert (over.low, over.high) == pytest.approx((0.1 - reach, 0.1 + reach), abs=2e-4)
    assert "not sure enough" in of_three(0.7, 0.8, 3000).text
    assert of_three(0.81, 0.8, 300).text.startswith("Nothing here speaks against how sure")
    assert "about as sure of its answers as it is right" in of_three(0.81, 0.8, 60_000).text
    assert of_three(0.81, 0.8, 30).text.startswith("So few rows cannot tell whether")
