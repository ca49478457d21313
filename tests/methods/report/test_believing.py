"""What the report says of the probabilities of the best model."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

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
