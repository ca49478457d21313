"""What the answer says beside who is best: twins, net benefit, correction at the edge."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.document import Answer
from tests.results import answers_of
from tests.texts import check_text, numbers_in

TRUTH = [1, 0, 1, 0, 1, 0] * 4


def answer_of(code: str, *, options: Any = None, **columns: Any) -> Answer | None:
    """Return the first sentence with this code in the report of these columns, if any."""
    result = clfeval.report(pl.DataFrame({"truth": TRUTH, **columns}), **(options or {}))
    return next(iter(answers_of(result, code)), None)


def sentence_of(code: str, *, options: Any = None, **columns: Any) -> str:
    """Return the text of the sentence of this code, empty if there is none."""
    answer = answer_of(code, options=options, **columns)
    return "" if answer is None else answer.text


def test_models_of_the_same_scores_are_named() -> None:
    one, other = [0.9, 0.2, 0.8, 0.3, 0.4, 0.6] * 4, [0.9, 0.1, 0.7, 0.3, 0.6, 0.5] * 4
    twins = sentence_of("same-predictions", a=one, b=other, c=one)
    check_text([twins, sentence_of("same-predictions", a=one, b=other, c=one, d=other)])
    assert not sentence_of("same-predictions", a=one, b=other)
    halved = [x / 2 for x in one]  # ranks alike, and is another model
    assert not sentence_of("same-predictions", a=one, b=halved)
    # the same scores in another order of rows of one class
    assert not sentence_of("same-predictions", a=one, b=[*one[4:], *one[:4]])


def test_models_of_the_same_labels_are_named() -> None:
    one = [1, 0, 1, 0, 0, 1] * 4
    twins = sentence_of("same-predictions", a=one, b=TRUTH, c=one)
    check_text(twins)
    classes = {"truth": list("abc") * 8}
    apart = {"a": list("abb") * 8, "b": list("abc") * 8}
    assert sentence_of("same-predictions", **classes, **apart, c=apart["a"]) == twins
    assert not sentence_of("same-predictions", **classes, **apart)


def test_many_classes_with_a_significantly_lower_log_loss_say_so() -> None:
    """a ranks all 90 rows right at probability 0.4; b gives 81 of them 0.9, and 9 of them 0.05."""
    truth = ["x"] * 30 + ["y"] * 30 + ["z"] * 30
    of_truth = {"a": [0.4] * 90, "b": ([0.9] * 27 + [0.05] * 3) * 3}

    def columns_of(models: dict[str, list[float]]) -> dict[str, object]:
        columns: dict[str, object] = {"truth": truth}
        for model, shares in models.items():
            for label in "xyz":
                columns[f"{model}_{label}"] = [
                    share if actual == label else (1 - share) / 2
                    for actual, share in zip(truth, shares, strict=True)
                ]
        return columns

    found = answer_of("lower-log-loss", **columns_of(of_truth))
    assert found is not None
    assert (found.models, found.measure) == (("b",), "log_loss")
    assert found.value == pytest.approx(-(81 * np.log(0.9) + 9 * np.log(0.05)) / 90)
    check_text(found.text)
    same_order = {"a": [0.95] * 90, "b": of_truth["b"]}
    assert not sentence_of("lower-log-loss", **columns_of(same_order))
    assert not sentence_of("lower-log-loss", **columns_of(of_truth), options={"interval": "none"})


def test_a_significantly_higher_net_benefit_at_the_threshold_is_said() -> None:
    """Of 200 rows, half positive, a ranks all right and calls none, b calls 90 positives."""
    truth = [1] * 100 + [0] * 100
    low = [0.4] * 100 + [0.1] * 100
    high = [0.05] * 10 + [0.9] * 90 + [0.1] * 100
    found = answer_of("worth", truth=truth, a=low, b=high)
    assert found is not None
    assert (found.models, found.value) == (("b",), pytest.approx(90 / 200))
    assert {0.5, 0.45, 0} <= {*numbers_in(found.text)}
    check_text(found.text)
    at = {"threshold": 0.3}  # there a calls all 100
    assert not sentence_of("worth", truth=truth, a=low, b=high, options=at)
    own = {"threshold": {"a": 0.6}}  # and at several nothing is compared
    assert not sentence_of("worth", truth=truth, a=low, b=high, options=own)
    assert not sentence_of("worth", truth=truth, a=low, b=high, options={"interval": "none"})


@pytest.mark.parametrize(("missed", "told"), [(14, False), (40, True)])
def test_four_rows_of_two_hundred_make_no_net_benefit_significantly_higher(
    missed: int, told: bool
) -> None:
    """The area of a is 1; it calls 4 positives fewer than b, or 30."""
    truth = [1] * 100 + [0] * 100
    right = [0.9] * 90 + [0.05] * 10 + [0.1] * 100
    mine = [0.45] * missed + [0.9] * (100 - missed) + [0.1] * 100
    best = answer_of("best", truth=truth, a=mine, b=right)
    assert best is not None
    assert best.models == ("a",)
    assert bool(sentence_of("worth", truth=truth, a=mine, b=right)) is told


def test_without_an_error_there_is_room_above_what_is_left_of_the_value() -> None:
    """The limit of an area of 1 is 1: corrected for selection that would be the value itself."""
    one = [0.9, 0.1, 0.8, 0.2, 0.7, 0.3] * 4
    some = [[*one[:4], 0.35 - i / 10, 0.4, *one[6:]] for i in range(2)]
    found = answer_of("corrected", a=one, b=some[0], c=some[1])
    assert found is not None
    assert found.value is not None
    assert found.high == 1
    assert found.value < 1
    assert found.low is not None
    assert 0 <= found.low < found.value


def test_one_row_of_a_class_tells_no_model_to_be_worse() -> None:
    """One degree of freedom less than one row is none: no test tells a from b."""
    columns = {"truth": [1, 0, 1], "a": [0.9, 0.1, 0.1], "b": [0.9, 0.2, 0.4]}
    check_text(sentence_of("best", **columns))
    assert not sentence_of("worth", **columns)
