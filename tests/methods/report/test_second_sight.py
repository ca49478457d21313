"""What the answer says beside who is best: twins, a larger net benefit, luck at the edge."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.counts.patterns import PatternCounts
from clfeval.methods.report.together import by_worth
from clfeval.result import Answer

TRUTH = [1, 0, 1, 0, 1, 0] * 4


def said(code: str, *, given: Any = None, **columns: Any) -> Answer | None:
    result = clfeval.report(pl.DataFrame({"truth": TRUTH, **columns}), **(given or {}))
    return next((one for one in result.answer if one.code == code), None)


def text(code: str, *, given: Any = None, **columns: Any) -> str:
    found = said(code, given=given, **columns)
    return "" if found is None else found.text


def test_models_of_the_same_scores_are_named() -> None:
    one, other = [0.9, 0.2, 0.8, 0.3, 0.4, 0.6] * 4, [0.9, 0.1, 0.7, 0.3, 0.6, 0.5] * 4
    twins = text("same-answers", a=one, b=other, c=one)
    assert twins == "a and c give the same scores in every row."
    pairs = text("same-answers", a=one, b=other, c=one, d=other)
    assert pairs == "a and c give the same scores in every row, as do b and d among themselves."
    assert not text("same-answers", a=one, b=other)
    halved = [x / 2 for x in one]  # ranks alike, and is another model
    assert not text("same-answers", a=one, b=halved)
    # the same scores in another order of rows of one class
    assert not text("same-answers", a=one, b=[*one[4:], *one[:4]])


def test_models_of_the_same_labels_are_named() -> None:
    one = [1, 0, 1, 0, 0, 1] * 4
    twins = text("same-answers", a=one, b=TRUTH, c=one)
    assert twins == "a and c give the same labels in every row."
    classes = {"truth": list("abc") * 8}
    apart = {"a": list("abb") * 8, "b": list("abc") * 8}
    assert text("same-answers", **classes, **apart, c=apart["a"]) == twins
    assert not text("same-answers", **classes, **apart)


def test_a_larger_net_benefit_at_the_threshold_is_said_where_it_is_sure() -> None:
    """Of 200 rows, half positive, a ranks all right and calls none, b calls 90 positives."""
    truth = [1] * 100 + [0] * 100
    low = [0.4] * 100 + [0.1] * 100
    high = [0.05] * 10 + [0.9] * 90 + [0.1] * 100
    found = said("worth", truth=truth, a=low, b=high)
    assert found is not None
    assert (found.models, found.value) == (("b",), pytest.approx(90 / 200))
    first = "At threshold 0.5 the net benefit of a, 0.000, surely is not the largest: b has 0.450 ["
    assert found.text.startswith(first)
    at = {"threshold": 0.3}  # there a calls all 100
    assert not text("worth", truth=truth, a=low, b=high, given=at)
    own = {"threshold": {"a": 0.6}}  # and at several there is no contest
    assert not text("worth", truth=truth, a=low, b=high, given=own)
    assert not text("worth", truth=truth, a=low, b=high, given={"interval": "none"})


def test_four_rows_of_two_hundred_make_no_net_benefit_surely_larger() -> None:
    truth = [1] * 100 + [0] * 100
    right = [0.9] * 90 + [0.05] * 10 + [0.1] * 100
    for missed, told in ((14, False), (40, True)):  # 4 rows fewer than b, or 30
        mine = [0.45] * missed + [0.9] * (100 - missed) + [0.1] * 100
        best = said("best", truth=truth, a=mine, b=right)
        assert best is not None
        assert best.models == ("a",)
        assert bool(text("worth", truth=truth, a=mine, b=right)) is told


def test_net_benefits_vary_together_as_their_rows_do() -> None:
    """Against rows: 1 a hit, -t / (1 - t) a false alarm; and half a row of each in the variance."""
    rng, t = np.random.default_rng(11), 0.2
    truth, votes = rng.random(150) < 0.3, rng.random((150, 3)) < 0.5
    added = np.where(truth[:, None], votes * 1.0, votes * -0.25)
    more = (1 + 0.25**2) / 2 / 150**2 * np.eye(3)
    ones = np.ones(150, np.int64)
    found = by_worth(PatternCounts.of(list("abc"), truth, votes, ones), t, "abc")
    assert found is not None
    values, covariance = found.values, found.shared.covariance
    assert values == pytest.approx(added.mean(axis=0))
    assert covariance == pytest.approx(np.cov(added.T, bias=False) / 150 + more, rel=1e-8)
    sites = np.arange(150) // 5
    owned = PatternCounts.of(list("abc"), truth, votes, ones, owners=list(map(str, sites)))
    sums = np.array([(added - added.mean(axis=0))[sites == i].sum(axis=0) for i in range(30)])
    more = (1 + 0.25**2) / 2 / 30**2 * np.eye(3)
    found = by_worth(owned, t, "abc")
    assert found is not None
    covariance = found.shared.covariance
    assert covariance == pytest.approx(sums.T @ sums / 150**2 * 30 / 29 + more, rel=1e-8)


def test_without_an_error_there_is_room_above_what_is_left_of_the_value() -> None:
    """The limit of an area of 1 is 1: less its luck that would be the value itself."""
    one = [0.9, 0.1, 0.8, 0.2, 0.7, 0.3] * 4
    some = [[*one[:4], 0.35 - i / 10, 0.4, *one[6:]] for i in range(2)]
    found = said("luck", a=one, b=some[0], c=some[1])
    assert found is not None
    assert found.value is not None
    assert found.high == 1
    assert found.value < 1
    assert found.low is not None
    assert 0 <= found.low < found.value


def test_one_row_of_a_class_tells_no_model_to_be_worse() -> None:
    """One degree of freedom less than one row is none: no test tells a from b."""
    given = {"truth": [1, 0, 1], "a": [0.9, 0.1, 0.1], "b": [0.9, 0.2, 0.4]}
    assert text("best", **given).endswith("; a may be the best as well.")
    assert not text("worth", **given)
