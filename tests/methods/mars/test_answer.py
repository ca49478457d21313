"""Each sentence of MARS's answer where it is true, and where it must not be said."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

import clfeval
from clfeval.api.result import Result
from clfeval.document import Answer
from clfeval.views.terminal import as_text
from tests.limits import clopper_pearson
from tests.results import answer_codes, sentences_by_code
from tests.texts import check_text, numbers_in

Patterns = Mapping[str, int]


def evaluated(
    models: str, positives: Patterns, negatives: Patterns | None = None, **options: Any
) -> Result:
    """Evaluate rows given as patterns: `ab` are rows that the models a and b call positive."""
    rows = [
        {"truth": truth, **{model: int(model in pattern) for model in models}}
        for truth, patterns in ((1, positives), (0, {"": 5} if negatives is None else negatives))
        for pattern, count in patterns.items()
        for _ in range(count)
    ]
    return clfeval.mars(pl.DataFrame(rows), **options)


def sentences(models: str, *patterns: Patterns, **options: Any) -> dict[str, Answer]:
    """Return the sentences on such rows by code."""
    return sentences_by_code(evaluated(models, *patterns, **options))


def share_with_limits(k: int, n: int) -> tuple[float, float, float]:
    return k / n, *clopper_pearson(k, n)


MOST, SPARED = "detects-most", "could-be-left-out"
ALIKE, WORSE = "not-significantly-different", "significantly-worse"
# of 12 models the last finds everything that the others find, each a row of its own
CROWD = {f"{model}l": 1 for model in "abcdefghijk"}


@pytest.mark.parametrize(
    ("given", "codes", "numbers"),
    [
        # a finds 10 + 5 = 15 of 20, and calls one negative row too; b finds 5 + 2
        (("ab", {"a": 10, "ab": 5, "b": 2, "": 3}, {"a": 1, "": 4}), {MOST: "a"}, {15, 20, 16}),
        (("a", {"a": 15, "": 5}), {MOST: "a"}, {15, 20}),
        # of models that find as many the one that calls fewest leads
        (("abc", {"abc": 6, "": 4}, {"a": 2, "c": 1, "": 7}), {MOST: "b"}, {6, 10}),
        (("ab", {"ab": 6, "": 4}), {MOST: "a"}, {6, 10}),
        (("abc", {"a": 2, "b": 2, "c": 2, "": 1}), {MOST: "a", ALIKE: "bc"}, {2, 7}),
        # 13 of the best pair, 3 more than a alone
        (("abc", {"a": 10, "b": 3, "c": 2, "": 5}), {MOST: "a", "best-pair": "ab"}, {10, 13}),
        # b + c find 11, a alone 10; 6 rows to 5: a + b find 13 and call as many as a + c
        (("abc", {"a": 5, "ab": 3, "ac": 2, "b": 3, "c": 3}), {"best-pair": "ab"}, {10, 13}),
        # where b and c together find all that a finds, nothing is lost by taking them
        (("abc", {"ab": 5, "ac": 5, "b": 1, "c": 1}), {"best-pair": "bc"}, {12, 2}),
        (("abc", {"abc": 4, "ab": 3, "": 3}), {"no-better-pair": "ab"}, {7}),
        (("abc", {"a": 4, "ab": 3, "bc": 2, "": 1}), {SPARED: "c"}, {9}),
        # of sets that find all the one that calls fewest is kept
        (("abc", {"a": 4, "ab": 3, "bc": 2}, {"b": 1, "": 3}), {SPARED: "b"}, {9}),
        (("ab", {"a": 4, "ab": 3}), {SPARED: "b"}, {7}),
        (("abc", {"a": 1, "b": 1, "c": 1, "abc": 5}), {"all-needed": "abc"}, set()),
        (("abcdefghijkl", CROWD), {SPARED: "abcdefghijk"}, {11}),
        (("ab", {"": 4}, {"a": 1, "": 3}), {"detects-none": ""}, {4}),
        # a says positive to all 10 rows; b finds 5 of 8, c 3
        (
            ("abc", {"abc": 3, "ab": 2, "a": 3}, {"a": 2}),
            {MOST: "b", SPARED: "c", "flags-everything": "a"},
            {5},
        ),
        (("ab", {"ab": 3, "a": 2}, {"a": 1, "": 1}), {MOST: "a"}, {5}),  # a leaves one row out
        (("ab", {"ab": 3}, {"ab": 2}), {MOST: "a"}, {3}),  # where all call everything
    ],
)
def test_who_finds_most_and_which_models_are_needed(
    given: Any, codes: dict[str, str], numbers: set[float]
) -> None:
    by_code = sentences(*given)
    for code, models in codes.items():
        assert "".join(by_code[code].models) == models, code
    for pair in (("best-pair", "no-better-pair"), (SPARED, "all-needed"), (ALIKE, WORSE)):
        assert not {*pair} <= {*by_code}
    assert ("flags-everything" in by_code) == ("flags-everything" in codes)
    texts = [sentence.text for sentence in by_code.values()]
    assert numbers <= {x for text in texts for x in numbers_in(text)}
    check_text(texts)


def test_the_numbers_of_the_first_sentence() -> None:
    most = sentences("ab", {"a": 10, "ab": 5, "b": 2, "": 3}, {"a": 1, "": 4})[MOST]
    assert most.measure == "recall"
    assert (most.value, most.low, most.high) == pytest.approx(share_with_limits(15, 20))
    pair = sentences("abc", {"a": 10, "b": 3, "c": 2, "": 5})["best-pair"]
    assert (pair.value, pair.low, pair.high) == pytest.approx(share_with_limits(13, 20))
    # target rows are the negatives: a finds 8 of 10, and calls 8 + 1 rows negative
    negative = sentences("ab", {"b": 1, "ab": 4}, {"": 8, "a": 2}, target="negative")[MOST]
    assert (negative.models, negative.measure) == (("b",), "specificity")
    assert (negative.value, negative.low, negative.high) == pytest.approx(share_with_limits(10, 10))
    check_text(negative.text)


def test_chance_is_ruled_out_by_the_rows_that_only_one_finds() -> None:
    # 10 rows only a finds and 2 only b: p = 2 (1 + 12 + 66) / 4096 = 0.0386
    assert binomtest(2, 12).pvalue == pytest.approx(2 * 79 / 4096)
    by_code = sentences("ab", {"a": 10, "ab": 5, "b": 2})
    assert ALIKE not in by_code
    check_text(by_code[WORSE].text)
    # 9 and 2: p = 2 (1 + 11 + 55) / 2048 = 0.0654
    assert binomtest(2, 11).pvalue == pytest.approx(2 * 67 / 2048)
    by_code = sentences("ab", {"a": 9, "ab": 5, "b": 2})
    assert by_code[ALIKE].models == ("b",)
    assert WORSE not in by_code
    assert WORSE in sentences("ab", {"a": 9, "ab": 5, "b": 2}, level=0.9)


def test_several_comparisons_need_stronger_evidence_together() -> None:
    # against b and against c 10 rows to 2: each p is 0.0386, and twice that is above 0.05
    by_code = sentences("abc", {"a": 10, "abc": 5, "bc": 2})
    assert by_code[ALIKE].models == ("b", "c")
    # against b still 0.0386, but c finds nothing of its own: p = 2 / 2**17; the larger one is then
    # compared with 0.05 itself
    assert WORSE in sentences("abc", {"a": 10, "ab": 5, "b": 2})


def test_without_intervals_nothing_is_claimed_about_chance() -> None:
    by_code = sentences("ab", {"a": 10, "ab": 5, "b": 2, "": 3}, interval="none")
    assert not {WORSE, ALIKE} & set(by_code)
    most = by_code[MOST]
    assert (most.value, most.low, most.high) == (0.75, None, None)


def test_fractional_weights_are_no_rows_that_could_be_tested() -> None:
    frame = pl.DataFrame(
        {"truth": [1, 1, 0], "w": [0.5, 0.25, 1.0], "a": [1, 0, 0], "b": [0, 1, 0]}
    )
    result = clfeval.mars(frame, weight="w", interval="none")
    assert answer_codes(result) == [MOST, "all-needed"]
    assert result.answer[0].value == pytest.approx(0.5 / 0.75)
    # .5 and .75 of a mean weight of 1.75 / 3
    assert {0.86, 1.3, 0.667} <= {*numbers_in(result.answer[0].text)}


def test_sentences_that_need_more_models_or_rows() -> None:
    assert not {"best-pair", "no-better-pair"} & set(sentences("ab", {"a": 3, "b": 3}))
    assert "flags-everything" not in sentences("ab", {"ab": 3, "a": 2}, {}, classes=("0", "1"))
    by_code = sentences("ab", {}, {"a": 1, "": 3}, positive="1", classes=("0", "1"))
    assert list(by_code) == ["no-target"]
    check_text(by_code["no-target"].text)


def test_slices_have_no_say_and_groups_are_one_model() -> None:
    frame = pl.DataFrame(
        {"truth": [1, 1, 1, 0], "s": ["x", "y", "y", "x"], "a": [1, 0, 0, 0], "b": [0, 1, 1, 0]}
    )
    assert clfeval.mars(frame, by="s").answer == clfeval.mars(frame, model=("a", "b")).answer
    grouped = clfeval.mars(frame, model=("a", "b"), group={"both, together": ("a", "b")})
    assert grouped.answer[0].models == ("both, together",)
    named = frame.rename({"a": "o or p", "b": "m and n"})
    spared = clfeval.mars(named, model=("o or p", "m and n")).answer
    check_text(sentence.text for sentence in (*grouped.answer, *spared))


@given(st.dictionaries(st.integers(0, 15), st.integers(1, 3), min_size=1, max_size=8))
def test_what_is_kept_finds_all_and_no_smaller_set_does(counts: dict[int, int]) -> None:
    models = "abcd"
    patterns = {
        "".join(m for i, m in enumerate(models) if mask >> i & 1): n for mask, n in counts.items()
    }
    by_code = sentences(models, patterns)
    if "detects-none" in by_code:
        assert set(patterns) == {""}
        return
    spared = by_code[SPARED].models if SPARED in by_code else ()
    required = set(models) - set(spared)
    detected = [set(pattern) for pattern in patterns if pattern]
    assert all(pattern & required for pattern in detected)
    for members in combinations(models, len(required) - 1):
        assert not all(pattern & set(members) for pattern in detected)


def test_sums_of_weights_that_differ_by_rounding_are_equal() -> None:
    # .1 + .2 is a hair above .3 in binary: a and b find as much, and b calls less
    frame = pl.DataFrame(
        {
            "truth": [1, 1, 1, 0, 0],
            "w": [0.1, 0.2, 0.3, 0.5, 1.0],
            "a": [1, 1, 0, 1, 0],
            "b": [0, 0, 1, 0, 0],
            "c": [0, 0, 0, 0, 1],
        }
    )
    result = clfeval.mars(frame, weight="w", interval="none")
    assert (result.answer[0].models, result.answer[0].value) == (("b",), pytest.approx(0.5))
    words = [line.split()[:2] for line in as_text(result).splitlines()]
    # the table in the same order: .3 of a mean weight of 2.1 / 5
    assert words.index(["b", "*"]) < words.index(["a", "0.714"])


def test_what_the_effort_allows_is_said_instead_of_the_best_pair() -> None:
    # b + c call 6 rows and find 5; a alone calls 9
    rows = ("abc", {"a": 6, "ab": 2, "c": 1, "bc": 2, "": 1}, {"a": 1, "": 4})
    by_code = sentences(*rows, max_effort=6)
    allowed = by_code["within-effort"]
    assert (allowed.models, allowed.value) == (("b", "c"), 5 / 12)
    assert {6, 5} <= {*numbers_in(allowed.text)}
    check_text(allowed.text)
    assert "best-pair" not in by_code
    assert "within-effort" not in sentences(*rows)
    assert "within-effort" not in sentences(*rows, max_effort=1)


def test_the_threshold_at_which_it_holds_comes_first_if_it_is_one() -> None:
    scores = pl.DataFrame(
        {"truth": [1, 1, 0, 0], "a": [0.9, 0.2, 0.4, 0.1], "b": [0.8, 0.7, 0.6, 0.1]}
    )
    labels = scores.with_columns(pl.col("a", "b").round(0).cast(pl.Int64))
    for command in (clfeval.mars, clfeval.phidelta):
        of_scores, of_labels = (command(frame).answer[0].text for frame in (scores, labels))
        assert numbers_in(of_scores) == [0.5, *numbers_in(of_labels)]
        check_text([of_scores, command(scores, threshold={"a": 0.3, None: 0.5}).answer[0].text])
