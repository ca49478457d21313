"""Populations: a prevalence, the same as odds of positives to negatives, and what is neither."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clfeval.errors import UsageError
from clfeval.measures.record import BALANCED, Population


@pytest.mark.parametrize(
    ("prevalence", "odds"),
    [
        (0.5, "1:1"),
        (0.01, "1:99"),
        (0.2, "1:4"),
        (1 / 3, "1:2"),
        (2 / 3, "2:1"),
        (0.99, "99:1"),
        (0.3, "1:2.33333"),
        (1e-6, "1:999999"),
    ],
)
def test_a_prevalence_says_its_odds(prevalence: float, odds: str) -> None:
    assert Population.from_prevalence(prevalence) == Population(
        prevalence, odds, prevalence / (1 - prevalence)
    )


@pytest.mark.parametrize(
    ("text", "prevalence", "odds"),
    [
        ("1:100", 1 / 101, "1:100"),
        ("2:1", 2 / 3, "2:1"),
        (" 3 : 1 ", 3 / 4, "3:1"),
        ("0.5:1.5", 1 / 4, "0.5:1.5"),
        ("1e-3:1", 0.001 / 1.001, "1e-3:1"),
    ],
)
def test_odds_are_positives_to_negatives(text: str, prevalence: float, odds: str) -> None:
    found = Population.from_odds(text)
    assert found.prevalence == pytest.approx(prevalence, rel=1e-15)
    assert found.odds == odds


def test_counts_of_a_sample() -> None:
    assert Population.from_counts(6, 4) == Population(0.6, "6:4", 1.5)
    assert Population.from_counts(10**9, 3 * 10**9).odds == "1000000000:3000000000"
    assert Population.from_counts(0.5, 1.5) == Population(0.25, "0.5:1.5", 1 / 3)


@pytest.mark.parametrize(
    ("ratio", "odds"),
    [(1e-3, "1:1000"), (0.25, "1:4"), (1.0, "1:1"), (2.5, "2.5:1"), (1e6, "1000000:1")],
)
def test_a_ratio_is_kept_where_negatives_are_rare(ratio: float, odds: str) -> None:
    found = Population.from_ratio(ratio)
    assert (found.ratio, found.odds) == (ratio, odds)
    assert found.prevalence == pytest.approx(ratio / (1 + ratio), rel=1e-15)
    assert Population.from_odds("1000000:1").ratio == 1e6  # p / (1 - p) would be off by 1e-11


def test_equal_classes() -> None:
    assert Population.from_prevalence(0.5) == BALANCED == Population.from_odds("1:1")


@given(st.floats(1e-9, 1 - 1e-9))
def test_the_odds_of_a_prevalence_lead_back_to_it(prevalence: float) -> None:
    """The text keeps six digits of the larger side."""
    back = Population.from_odds(Population.from_prevalence(prevalence).odds)
    assert back.prevalence == pytest.approx(prevalence, rel=1e-5)
    assert 1 - back.prevalence == pytest.approx(1 - prevalence, rel=1e-5)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_odds_of_whole_numbers(positives: int, negatives: int) -> None:
    found = Population.from_odds(f"{positives}:{negatives}").prevalence
    assert found == positives / (positives + negatives)


@pytest.mark.parametrize("prevalence", [0, 1, -0.1, 2, 1.0000001, float("nan"), float("inf")])
def test_no_prevalence(prevalence: float) -> None:
    with pytest.raises(UsageError, match="bad-prevalence") as caught:
        Population.from_prevalence(prevalence)
    percent = 1 <= prevalence < 100 and f"{prevalence / 100:g} for {prevalence:g}%"
    assert (percent or "--prevalence 0.01") in str(caught.value.hint)


@pytest.mark.parametrize(
    "text",
    ["100", "1:0", "0:1", "a:b", "1:", ":1", ":", "", "-1:2", "1:2:3", "nan:1", "inf:1", "1/100"],
)
def test_no_odds(text: str) -> None:
    with pytest.raises(UsageError, match="bad-odds") as caught:
        Population.from_odds(text)
    assert "--prevalence 1:100" in str(caught.value.hint)


@pytest.mark.parametrize("text", ["1e17:1", "1:1e400", "1e-320:1e300"])
def test_odds_that_round_to_certainty_are_none(text: str) -> None:
    """As --prevalence 1 is refused: there a class would have no share at all."""
    with pytest.raises(UsageError, match="bad-odds"):
        Population.from_odds(text)
