"""Each sentence of MARS's answer where it is true, and where it must not be said."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binomtest

import clfeval
from clfeval.result import Answer, Result
from clfeval.views.terminal import as_text

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


def answered(*given: Any, **options: Any) -> dict[str, Answer]:
    return {one.code: one for one in evaluated(*given, **options).answer}


def exact(k: int, n: int) -> str:
    """Write k / n with its interval as the sentences do, by the beta quantiles of scipy."""
    low = beta.ppf(0.025, k, n - k + 1) if k else 0.0
    high = beta.ppf(0.975, k + 1, n - k) if k < n else 1.0
    return f"{k / n:.3f} [{low:.3f}, {high:.3f}]"


def test_who_finds_most_comes_first() -> None:
    # a finds 10 + 5 = 15 of 20, and calls one negative row too; b finds 5 + 2
    said = answered("ab", {"a": 10, "ab": 5, "b": 2, "": 3}, {"a": 1, "": 4})
    assert said["detects-most"].text == (
        f"a finds most: 15 of the 20 positive rows (recall {exact(15, 20)}), and calls 16 positive."
    )
    assert (said["detects-most"].models, said["detects-most"].measure) == (("a",), "recall")
    assert said["detects-most"].value == 15 / 20
    assert said["detects-most"].low == pytest.approx(beta.ppf(0.025, 15, 6))
    assert said["detects-most"].high == pytest.approx(beta.ppf(0.975, 16, 5))


def test_one_model_finds_what_it_finds_and_is_compared_with_nobody() -> None:
    said = answered("a", {"a": 15, "": 5})
    assert list(said) == ["detects-most"]
    assert said["detects-most"].text.startswith("a finds 15 of the 20 positive rows")


def test_of_models_that_find_as_many_the_one_that_calls_fewest_leads() -> None:
    said = answered("abc", {"abc": 6, "": 4}, {"a": 2, "c": 1, "": 7})
    assert said["detects-most"].text.startswith("b finds most, as c and a do: 6 of the 10")
    assert answered("ab", {"ab": 6, "": 4})["detects-most"].text.startswith(
        "a finds most, as b does: 6 of the 10"
    )


def test_three_that_are_tied_cannot_be_told_apart() -> None:
    said = answered("abc", {"a": 2, "b": 2, "c": 2, "": 1})
    assert said["not-significantly-different"].text == (
        "On these rows it cannot be told from b (2) or c (2)."
    )
    assert said["not-significantly-different"].models == ("b", "c")
    assert "significantly-worse" not in said


def test_the_negative_class_has_its_own_words() -> None:
    # target rows are the negatives: a finds 8 of 10, and calls 8 + 1 rows negative
    said = answered("ab", {"b": 1, "ab": 4}, {"": 8, "a": 2}, target="negative")
    assert said["detects-most"].text == (
        f"b finds most: 10 of the 10 negative rows (specificity {exact(10, 10)}), and calls 10 "
        "negative."
    )


def test_chance_is_ruled_out_by_the_rows_that_only_one_finds() -> None:
    # 10 rows only a finds and 2 only b: p = 2 (1 + 12 + 66) / 4096 = 0.0386
    assert binomtest(2, 12).pvalue == pytest.approx(2 * 79 / 4096)
    said = answered("ab", {"a": 10, "ab": 5, "b": 2})
    assert (
        said["significantly-worse"].text
        == "Each other model finds fewer, and chance does not explain it."
    )
    assert "not-significantly-different" not in said
    # 9 and 2: p = 2 (1 + 11 + 55) / 2048 = 0.0654
    assert binomtest(2, 11).pvalue == pytest.approx(2 * 67 / 2048)
    said = answered("ab", {"a": 9, "ab": 5, "b": 2})
    assert said["not-significantly-different"].text == "On these rows it cannot be told from b (7)."
    assert "significantly-worse" not in said
    assert "significantly-worse" in answered("ab", {"a": 9, "ab": 5, "b": 2}, level=0.9)


def test_several_comparisons_need_stronger_evidence_together() -> None:
    # against b and against c 10 rows to 2: each p is 0.0386, and twice that is above 0.05
    said = answered("abc", {"a": 10, "abc": 5, "bc": 2})
    assert said["not-significantly-different"].models == ("b", "c")
    # against b still 0.0386, but c finds nothing of its own: p = 2 / 2**17; the larger one is then
    # compared with 0.05 itself
    said = answered("abc", {"a": 10, "ab": 5, "b": 2})
    assert "significantly-worse" in said


def test_without_intervals_nothing_is_claimed_about_chance() -> None:
    said = answered("ab", {"a": 10, "ab": 5, "b": 2, "": 3}, interval="none")
    assert not {"significantly-worse", "not-significantly-different"} & set(said)
    assert "(recall 0.750)" in said["detects-most"].text
    assert (said["detects-most"].low, said["detects-most"].high) == (None, None)


def test_fractional_weights_are_no_rows_that_could_be_tested() -> None:
    frame = pl.DataFrame(
        {"truth": [1, 1, 0], "w": [0.5, 0.25, 1.0], "a": [1, 0, 0], "b": [0, 1, 0]}
    )
    result = clfeval.mars(frame, weight="w", interval="none")
    assert [one.code for one in result.answer] == ["detects-most", "all-needed"]
    assert result.answer[0].text == (
        "a finds most: 0.5 of the 0.75 positive rows (recall 0.667), and calls 0.5 positive."
    )


def test_the_best_pair_gains_what_the_second_adds() -> None:
    said = answered("abc", {"a": 10, "b": 3, "c": 2, "": 5})
    assert said["best-pair"].text == (
        f"The best pair, a + b, finds 13 (recall {exact(13, 20)}), 3 more than a alone, and calls "
        "13 positive, chosen on these rows."
    )
    assert (said["best-pair"].models, said["best-pair"].value) == (("a", "b"), 13 / 20)


def test_a_pair_without_the_best_may_find_more_by_chance() -> None:
    # b + c find 11, a alone 10; 6 rows to 5
    some = {"a": 5, "ab": 3, "ac": 2, "b": 3, "c": 3}
    said = answered("abc", some)
    assert said["best-pair"].models == ("a", "b")  # 13 and calls as many as a + c, named first
    # where b and c together find all that a finds, and more, nothing is lost by taking them
    said = answered("abc", {"ab": 5, "ac": 5, "b": 1, "c": 1})
    assert said["best-pair"].text.startswith("The best pair, b + c, finds 12")
    assert ", 2 more than a alone, and calls" in said["best-pair"].text


def test_no_pair_is_praised_that_finds_no_more() -> None:
    said = answered("abc", {"abc": 4, "ab": 3, "": 3})
    assert said["no-better-pair"].text == "No pair finds more than a alone."
    assert "best-pair" not in said


def test_of_two_models_no_pair_is_named() -> None:
    assert not {"best-pair", "no-better-pair"} & set(answered("ab", {"a": 3, "b": 3}))


def test_who_finds_nothing_of_its_own_could_be_left_out() -> None:
    said = answered("abc", {"a": 4, "ab": 3, "bc": 2, "": 1})
    assert said["could-be-left-out"].text == (
        "a and b together find all 9 rows that any model finds; c could be left out."
    )
    assert said["could-be-left-out"].models == ("c",)
    assert "all-needed" not in said


def test_of_sets_that_find_all_the_one_that_calls_fewest_is_kept() -> None:
    said = answered("abc", {"a": 4, "ab": 3, "bc": 2}, {"b": 1, "": 3})
    assert said["could-be-left-out"].models == ("b",)


def test_one_model_that_finds_all_needs_no_other() -> None:
    said = answered("ab", {"a": 4, "ab": 3})
    assert said["could-be-left-out"].text == (
        "a finds all 7 rows that any model finds; b could be left out."
    )


def test_no_model_can_be_left_out_where_each_finds_rows_alone() -> None:
    said = answered("abc", {"a": 1, "b": 1, "c": 1, "abc": 5})
    assert said["all-needed"].text == (
        "No model can be left out: each finds rows that no other finds."
    )
    assert "could-be-left-out" not in said


def test_nothing_to_find_and_nothing_found() -> None:
    said = answered("ab", {}, {"a": 1, "": 3}, positive="1", classes=("0", "1"))
    assert [one.text for one in said.values()] == ["No row is positive: there is nothing to find."]
    assert list(said) == ["no-target"]
    said = answered("ab", {"": 4}, {"a": 1, "": 3})
    assert [one.text for one in said.values()] == ["No model finds any of the 4 positive rows."]
    assert list(said) == ["detects-none"]


def test_slices_have_no_say_and_groups_are_one_model() -> None:
    frame = pl.DataFrame(
        {"truth": [1, 1, 1, 0], "s": ["x", "y", "y", "x"], "a": [1, 0, 0, 0], "b": [0, 1, 1, 0]}
    )
    assert clfeval.mars(frame, by="s").answer == clfeval.mars(frame, model=("a", "b")).answer
    grouped = clfeval.mars(frame, model=("a", "b"), group={"both, together": ("a", "b")})
    assert grouped.answer[0].text.startswith("'both, together' finds 3 of the 3 positive rows")


@given(st.dictionaries(st.integers(0, 15), st.integers(1, 3), min_size=1, max_size=8))
def test_what_is_kept_finds_all_and_no_smaller_set_does(counts: dict[int, int]) -> None:
    models = "abcd"
    patterns = {
        "".join(m for i, m in enumerate(models) if mask >> i & 1): n for mask, n in counts.items()
    }
    said = answered(models, patterns)
    if "detects-none" in said:
        assert set(patterns) == {""}
        return
    spared = said["could-be-left-out"].models if "could-be-left-out" in said else ()
    kept = set(models) - set(spared)
    needed = [set(pattern) for pattern in patterns if pattern]
    assert all(pattern & kept for pattern in needed)
    for few in combinations(models, len(kept) - 1):
        assert not all(pattern & set(few) for pattern in needed)


def test_of_many_models_those_that_are_left_find_all() -> None:
    # of 12 models the last finds everything that the others find, each a row of its own
    models = "abcdefghijkl"
    said = answered(models, {f"{one}l": 1 for one in models[:-1]})
    assert said["could-be-left-out"].text == (
        "l finds all 11 rows that any model finds; a, b, c, d and 7 more could be left out."
    )


def test_names_of_several_words_are_not_taken_for_several_names() -> None:
    frame = pl.DataFrame({"truth": [1, 1, 0], "o or p": [1, 1, 0], "m and n": [1, 0, 0]})
    said = {one.code: one.text for one in clfeval.mars(frame, truth="truth", positive=1).answer}
    assert said["could-be-left-out"] == (
        "'o or p' finds all 2 rows that any model finds; 'm and n' could be left out."
    )


def test_sums_of_weights_that_differ_by_rounding_are_equal() -> None:
    # .1 + .2 is a hair above .3 in binary: a and b find as much, and b calls less
    frame = pl.DataFrame(
        {
            "truth": [1, 1, 1, 0, 0], "w": [0.1, 0.2, 0.3, 0.5, 1.0], "a": [1, 1, 0, 1, 0],
            "b": [0, 0, 1, 0, 0], "c": [0, 0, 0, 0, 1],
        }
    )  # fmt: skip
    result = clfeval.mars(frame, weight="w", interval="none")
    assert result.answer[0].text == (
        "b finds most, as a does: 0.3 of the 0.6 positive rows (recall 0.500), and calls 0.3 "
        "positive."
    )
    shown = [line.split()[:2] for line in as_text(result).splitlines()]
    assert shown.index(["b", "*"]) < shown.index(["a", "0.300"])  # the table in the same order


def test_who_calls_everything_is_left_out_where_others_do_not() -> None:
    # a says positive to all 10 rows; b finds 5 of 8, c 3
    said = answered("abc", {"abc": 3, "ab": 2, "a": 3}, {"a": 2})
    assert said["detects-most"].models == ("b",)
    assert said["could-be-left-out"].text == (
        "b finds all 5 rows that any model finds; c could be left out."
    )
    assert said["flags-everything"].text == (
        "a calls every row positive: it is left out of what is said here."
    )
    assert said["flags-everything"].models == ("a",)
    said = answered("ab", {"ab": 3, "a": 2}, {"a": 1, "": 1})  # a leaves one row out
    assert "flags-everything" not in said
    assert said["detects-most"].models == ("a",)


def test_where_all_call_everything_or_nothing_is_negative_nobody_is_left_out() -> None:
    assert "flags-everything" not in answered("ab", {"ab": 3}, {"ab": 2})
    assert "flags-everything" not in answered("ab", {"ab": 3, "a": 2}, {}, classes=("0", "1"))


def test_what_the_effort_allows_is_said_instead_of_the_best_pair() -> None:
    # b + c call 6 rows and find 5; a alone calls 9
    some = {"a": 6, "ab": 2, "c": 1, "bc": 2, "": 1}
    said = answered("abc", some, {"a": 1, "": 4}, max_effort=6)
    assert said["within-effort"].text.startswith(
        f"Within 6 rows called, b + c finds most: 5 (recall {exact(5, 12)}), calling 5; a set "
        "chosen so finds 0."
    )
    assert said["within-effort"].models == ("b", "c")
    assert "best-pair" not in said
    assert "within-effort" not in answered("abc", some, {"a": 1, "": 4})
    assert "within-effort" not in answered("abc", some, {"a": 1, "": 4}, max_effort=1)


def test_the_threshold_at_which_it_holds_comes_first_if_it_is_one() -> None:
    scores = pl.DataFrame(
        {"truth": [1, 1, 0, 0], "a": [0.9, 0.2, 0.4, 0.1], "b": [0.8, 0.7, 0.6, 0.1]}
    )
    assert (
        clfeval.mars(scores).answer[0].text.startswith("At threshold 0.5 b finds most: 2 of the 2")
    )
    apart = clfeval.mars(scores, threshold={"a": 0.3, None: 0.5})
    assert apart.answer[0].text.startswith("b finds most")
    assert clfeval.phidelta(scores).answer[0].text.startswith("At threshold 0.5 ")
    labels = scores.with_columns(pl.col("a", "b").round(0).cast(pl.Int64))
    for command in (clfeval.mars, clfeval.phidelta):
        assert "threshold" not in command(labels).answer[0].text
