"""What phidelta says of classifiers: every sentence where it is true, and where it must not be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.counts.patterns import PatternCounts
from clfeval.methods.phidelta.answer import MOST, classifier_answer
from clfeval.result import Answer, Estimate, Result, estimate

LABELS = "fixtures/breast-cancer/labels.csv"
SCORES = "fixtures/breast-cancer/scores.csv"
Z = 1.959963984540054


def table(**models: tuple[int, int]) -> pl.DataFrame:
    """Return 100 positives and 100 negatives; each model calls the first so many of each."""
    columns: dict[str, list[int]] = {"truth": [1] * 100 + [0] * 100}
    for name, (tp, fp) in models.items():
        columns[name] = [1] * tp + [0] * (100 - tp) + [1] * fp + [0] * (100 - fp)
    return pl.DataFrame(columns)


def said(result: Result, code: str) -> str | None:
    """Return the sentence of a code, which there is once at the most."""
    assert 1 <= len(result.answer) <= MOST
    texts = [sentence.text for sentence in result.answer if sentence.code == code]
    assert len(texts) <= 1
    return texts[0] if texts else None


def named(result: Result, code: str) -> tuple[str, ...]:
    (found,) = (sentence for sentence in result.answer if sentence.code == code)
    return found.models


def phidelta(rows: Any, **options: Any) -> Result:
    return clfeval.phidelta(rows, **{"positive": 1, "truth": "truth", **options})


def wilson(hits: int, rows: int) -> tuple[float, float]:
    share, part = hits / rows, Z * Z / rows
    middle = share + part / 2
    half = Z * math.sqrt(share * (1 - share) / rows + Z * Z / (4 * rows * rows))
    return (middle - half) / (1 + part), (middle + half) / (1 + part)


def newcombe(tp: int, fp: int) -> str:
    """Write the difference of two shares of 100 rows each with its interval."""
    (low1, high1), (low2, high2) = wilson(tp, 100), wilson(fp, 100)
    a, b = tp / 100, fp / 100
    low = a - b - math.hypot(a - low1, high2 - b)
    high = a - b + math.hypot(high1 - a, b - low2)
    return f"{a - b:.3f} (95% CI {low:.3f} to {high:.3f})"


def test_the_best_is_named_with_its_interval_and_its_rates() -> None:
    result = phidelta(table(bad=(60, 40), good=(90, 20)))
    text = f"good discriminates best: δ {newcombe(90, 20)}, sensitivity 0.900, specificity 0.800."
    assert said(result, "best-delta") == text
    first = result.answer[0]
    assert (first.code, first.models, first.measure) == ("best-delta", ("good",), "delta")
    assert first.value == pytest.approx(0.7)


def test_a_single_model_is_compared_with_none() -> None:
    result = phidelta(table(only=(90, 20)))
    assert [sentence.code for sentence in result.answer] == ["best-delta"]
    assert result.answer[0].text.startswith(f"only has δ {newcombe(90, 20)}, ")


def test_nothing_discriminates_best_that_may_be_no_better_than_chance() -> None:
    result = phidelta(table(a=(52, 50), b=(51, 50)))
    assert str(said(result, "best-delta")).startswith("a has the largest δ: 0.020 (95% CI -")
    assert said(result, "like-chance") == "No model is significantly different from chance (δ 0)."


def test_all_tied_none_is_better() -> None:
    result = phidelta(table(a=(90, 20), b=(90, 20), c=(90, 20)))
    text = f"All models have the same δ: {newcombe(90, 20)}."
    assert [sentence.text for sentence in result.answer] == [text]
    assert result.answer[0].models == ("a", "b", "c")


def test_two_tied_are_both_the_best_and_the_third_is_compared_with_the_first() -> None:
    result = phidelta(table(z=(60, 40), a=(90, 20), b=(80, 10)))
    assert said(result, "best-delta") == "a and b discriminate best: δ 0.700."
    assert result.answer[0].low is None  # they have intervals of their own
    assert said(result, "significantly-worse") is not None
    near = phidelta(table(z=(89, 20), a=(90, 20), b=(80, 10)))
    assert said(near, "not-significantly-different") == "z is not significantly different."


def test_of_two_tied_both_must_be_better_than_chance() -> None:
    # both have δ .1; the interval of a is that of rates near 1, that of b covers 0
    result = phidelta(table(z=(40, 60), a=(100, 90), b=(55, 45)))
    assert said(result, "best-delta") == "a and b have the largest δ: 0.100."
    assert named(result, "like-chance") == ("b",)


def test_who_is_worse_for_certain_and_who_is_not() -> None:
    result = phidelta(table(far=(60, 40), best=(90, 20), near=(89, 21)))
    text = "near is not significantly different; far is significantly worse."
    assert said(result, "not-significantly-different") == text
    assert named(result, "not-significantly-different") == ("near",)
    assert said(result, "significantly-worse") is None
    clear = phidelta(table(far=(60, 40), best=(90, 20)))
    assert said(clear, "significantly-worse") == "far is significantly worse."
    assert said(clear, "not-significantly-different") is None


def test_of_many_that_are_tied_those_that_are_worse_are_named() -> None:
    near = {f"m{i}": (89, 21) for i in range(7)}
    every = phidelta(table(best=(90, 20), **near))
    assert (
        said(every, "not-significantly-different")
        == "The other models are not significantly different."
    )
    assert len(named(every, "not-significantly-different")) == 7
    most = str(
        said(phidelta(table(best=(90, 20), bad=(50, 40), **near)), "not-significantly-different")
    )
    assert most == "bad is significantly worse; the other models are not significantly different."


@pytest.mark.parametrize(
    ("rows", "why"), [([1, 1, 1], "no row is negative"), ([0, 0, 0], "no row is positive")]
)
def test_without_a_class_nobody_is_the_best(rows: Sequence[int], why: str) -> None:
    frame = pl.DataFrame({"truth": rows, "a": [1, 0, 1], "b": [0, 0, 1]})
    result = phidelta(frame, classes=("0", "1"))
    assert [sentence.text for sentence in result.answer] == [
        f"δ is undefined for every model: {why}."
    ]
    assert result.answer[0].code == "no-position"
    assert result.answer[0].models == ()


def test_where_nothing_is_tested_that_is_said() -> None:
    frame = table(a=(90, 20), b=(60, 40))
    result = phidelta(frame, interval="none")
    assert said(result, "best-delta") == (
        "a discriminates best: δ 0.700, sensitivity 0.900, specificity 0.800."
    )
    assert said(result, "untested") == "No significance test: no intervals are computed."
    assert said(phidelta(frame), "untested") is None
    counts = pl.DataFrame({"model": ["a", "b"], "tp": [90, 60], "fp": [20, 40], "fn": [10, 40],
                           "tn": [80, 60]})  # fmt: skip
    result = clfeval.phidelta(counts)
    assert said(result, "untested") == "No significance test: the models' rows may differ."
    assert said(result, "significantly-worse") is None


def test_fractional_weights_are_answered_without_a_test() -> None:
    frame = table(a=(90, 20), b=(60, 40)).with_columns(w=pl.lit(0.5))
    result = phidelta(frame, weight="w", interval="none")
    assert str(said(result, "best-delta")).startswith("a discriminates best: δ 0.700, ")
    assert said(result, "untested") is not None


def test_who_is_not_significantly_different_from_chance() -> None:
    result = phidelta(table(good=(90, 20), poor=(52, 50)))
    assert said(result, "like-chance") == "poor is not significantly different from chance (δ 0)."
    assert said(phidelta(table(good=(90, 20), fair=(70, 50))), "like-chance") is None


def test_who_is_better_inverted() -> None:
    result = phidelta(table(good=(90, 20), wrong=(20, 90)))
    text = "wrong is significantly worse than chance (δ 0): invert its predictions."
    assert said(result, "better-inverted") == text
    assert said(phidelta(table(good=(90, 20), poor=(48, 50))), "better-inverted") is None
    alone = phidelta(table(wrong=(20, 90)))
    assert alone.answer[0].text.startswith("wrong has δ -0.700 (95% CI -")


def test_who_is_biased() -> None:
    result = phidelta(table(eager=(95, 60), shy=(40, 5), even=(90, 10)))
    assert said(result, "biased-positive") == (
        "eager is biased towards positive: at equal classes more false positives than false "
        "negatives."
    )
    assert said(result, "biased-negative") == (
        "shy is biased towards negative: at equal classes more false negatives than false "
        "positives."
    )
    # phi is 0.1: no more than a tenth, and its interval covers that
    unsure = phidelta(table(a=(90, 20)))
    assert {sentence.code for sentence in unsure.answer} == {"best-delta"}


def test_compared_with_the_reference() -> None:
    frame = table(ref=(80, 30), more=(99, 5), less=(55, 45), same=(80, 31))
    assert said(phidelta(frame, reference="ref"), "compared") == (
        "Compared with ref by δ, more is significantly better; less is significantly worse; same "
        "is not significantly different."
    )
    assert said(phidelta(frame), "compared") is None
    # of 200 rows one differs, 1 / 100 of δ
    few = phidelta(table(ref=(80, 30), a=(81, 30)), reference="ref")
    assert str(said(few, "compared")).startswith(
        "a is not significantly different from ref in δ: +0.010, 95% CI -"
    )
    near = phidelta(table(ref=(80, 30), a=(81, 30)), reference="ref", margin={"delta": 0.2})
    assert str(said(near, "compared")).startswith("a is equivalent to ref within 0.2 in δ: +0.010")


def test_sentences_agree_where_an_interval_by_itself_excludes_0() -> None:
    result = clfeval.phidelta(LABELS, positive="malignant", reference="tree")
    (bayes,) = (row for row in result.tables["comparisons"]
                if (row["model"], row["measure"]) == ("naive_bayes", "delta"))  # fmt: skip
    assert (estimate(bayes["difference"]).high or 0.0) < 0
    assert (bayes["verdict"], float(str(bayes["p_adjusted"])) > 0.05) == ("undecided", True)
    assert said(result, "compared") == (
        "Compared with tree by δ, every other model is not significantly different."
    )


def test_how_many_positive_answers_are_right_where_that_is_asked_for() -> None:
    frame = table(good=(90, 20), bad=(60, 40))
    # of 1000 rows 100 are positive: 90 found, and 180 of 900 called too; 90 / 270 is a third
    text = str(said(phidelta(frame, prevalence=(0.1,)), "right"))
    assert text.startswith("At prevalence 0.1 (1:9) of 100 positive answers of good 33.3 are right")
    assert said(phidelta(frame), "right") is None
    # of 999 positives all are found, and of 1 negative a tenth: 999 / 999.1 is 99.98999 %
    text = str(said(phidelta(table(near=(100, 10)), prevalence=(0.999,)), "right"))
    assert " of near 99.990 are right (" in text
    # 1 of 100: 1 positive found, 99 of 99 negatives called
    text = str(said(phidelta(table(all=(100, 100)), prevalence=(0.01,)), "right"))
    assert " of all 1 is right (" in text
    silent = phidelta(table(silent=(0, 0)), prevalence=(0.1,))
    assert said(silent, "right") is None  # it never says positive


def test_who_separates_best_over_all_thresholds() -> None:
    # of 2 x 2 pairs a puts all in order, b three of them: Gini 1 and 2 * 3/4 - 1
    frame = pl.DataFrame({"truth": [1, 1, 0, 0], "a": [0.9, 0.8, 0.6, 0.2],
                          "b": [0.9, 0.3, 0.6, 0.2]})  # fmt: skip
    options: dict[str, Any] = {"curve": True, "interval": "none"}
    text = "Over all thresholds a has the largest Gini, 1.000."
    assert said(phidelta(frame, **options), "best-curve") == text
    assert said(phidelta(frame, interval="none"), "best-curve") is None
    tied = phidelta(frame.with_columns(b="a"), **options)
    assert (
        said(tied, "best-curve") == "Over all thresholds a and b have the largest Gini, 1.000 each."
    )
    assert said(phidelta(frame.drop("b"), **options), "best-curve") == (
        "Over all thresholds a has Gini 1.000."
    )


def test_names_with_commas_are_quoted() -> None:
    result = phidelta(table(**{"k-NN, k=5": (90, 20), "a + b": (89, 20)}))
    assert result.answer[0].text.startswith("'k-NN, k=5' discriminates best")
    assert said(result, "not-significantly-different") == "'a + b' is not significantly different."


def test_of_slices_the_whole_table_is_answered() -> None:
    frame = table(a=(90, 20), b=(60, 40))
    parts = frame.with_columns(part=pl.Series(["x", "y"] * 100))
    assert phidelta(parts, by=("part",)).answer == phidelta(frame).answer


def test_twenty_thousand_models_are_answered_at_once() -> None:
    draw = np.random.default_rng(6)
    votes, truth = draw.random((50, 20_000)) < 0.5, np.arange(50) < 25
    names = tuple(f"m{i}" for i in range(20_000))
    patterns = PatternCounts.of(names, truth, votes, np.ones(50, np.int64))
    delta = votes[truth].mean(axis=0) - votes[~truth].mean(axis=0)
    rows = [{"slice": None, "model": name, "delta": Estimate(float(d), d - 0.5, d + 0.5),
             "phi": Estimate(0.0), "sensitivity": Estimate(0.5), "specificity": Estimate(0.5)}
            for name, d in zip(names, delta.tolist(), strict=True)]  # fmt: skip
    answer = classifier_answer({"models": rows}, patterns, 0.95)
    assert isinstance(answer[0], Answer)
    best = max(delta.tolist())
    assert answer[0].value == best
    assert set(answer[0].models) == {n for n, d in zip(names, delta, strict=True) if d == best}
    assert "too many for all pairs" in answer[1].text
