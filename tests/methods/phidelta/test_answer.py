"""What phidelta answers for classifiers: which sentences there are, of which models and numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.document import Answer
from clfeval.document.cells import Estimate
from clfeval.methods.phidelta.answer import MOST, classifier_answer
from tests.limits import wilson
from tests.results import limits_of, row_of, rows_by, sentences_by_code
from tests.texts import check_text, numbers_in

LABELS = "fixtures/breast-cancer/labels.csv"


def models_flagging(**models: tuple[int, int]) -> pl.DataFrame:
    """Return 100 positives and 100 negatives; each model flags the first so many of each."""
    columns: dict[str, list[int]] = {"truth": [1] * 100 + [0] * 100}
    for name, (tp, fp) in models.items():
        columns[name] = [1] * tp + [0] * (100 - tp) + [1] * fp + [0] * (100 - fp)
    return pl.DataFrame(columns)


def sentences(result: Result) -> dict[str, Answer]:
    """Return the sentences by code, of which an answer may have no more than MOST."""
    assert 1 <= len(result.answer) <= MOST
    return sentences_by_code(result)


def phidelta(rows: Any, **options: Any) -> Result:
    return clfeval.phidelta(rows, **{"positive": 1, "truth": "truth", **options})


def newcombe(tp: int, fp: int) -> tuple[float, float, float]:
    """Return the difference of two shares of 100 rows each, and its limits."""
    (low1, high1), (low2, high2) = wilson(tp, 100), wilson(fp, 100)
    a, b = tp / 100, fp / 100
    low = a - b - math.hypot(a - low1, high2 - b)
    return a - b, low, a - b + math.hypot(high1 - a, b - low2)


NEAR = {f"m{i}": (89, 21) for i in range(7)}
BEST = "best-delta"
ALIKE, WORSE = "not-significantly-different", "significantly-worse"
Models = dict[str, tuple[int, int]]


@pytest.mark.parametrize(
    ("models", "codes"),
    [
        ({"bad": (60, 40), "good": (90, 20)}, {BEST: ["good"], WORSE: ["good"]}),
        ({"only": (90, 20)}, {BEST: ["only"]}),
        # one that may be no better than chance does not discriminate best
        ({"a": (52, 50), "b": (51, 50)}, {BEST: ["a"], ALIKE: ["b"], "like-chance": ["a", "b"]}),
        ({"a": (90, 20), "b": (90, 20), "c": (90, 20)}, {BEST: ["a", "b", "c"]}),
        # of two that tie both are the best, and the third is compared with the first
        ({"z": (60, 40), "a": (90, 20), "b": (80, 10)}, {BEST: ["a", "b"], WORSE: ["a"]}),
        ({"z": (89, 20), "a": (90, 20), "b": (80, 10)}, {BEST: ["a", "b"], ALIKE: ["z"]}),
        # both have δ .1; the interval of a is that of rates near 1, that of b covers 0
        (
            {"z": (40, 60), "a": (100, 90), "b": (55, 45)},
            {
                BEST: ["a", "b"],
                "like-chance": ["b"],
                "better-inverted": ["z"],
                "biased-positive": ["a"],
            },
        ),
        ({"far": (60, 40), "best": (90, 20), "near": (89, 21)}, {BEST: ["best"], ALIKE: ["near"]}),
        ({"best": (90, 20), **NEAR}, {BEST: ["best"], ALIKE: [*NEAR]}),
        (
            {"best": (90, 20), "bad": (50, 40), **NEAR},
            {BEST: ["best"], ALIKE: [*NEAR], "like-chance": ["bad"]},
        ),
        ({"good": (90, 20), "poor": (52, 50)}, {BEST: ["good"], "like-chance": ["poor"]}),
        ({"good": (90, 20), "wrong": (20, 90)}, {BEST: ["good"], "better-inverted": ["wrong"]}),
        ({"wrong": (20, 90)}, {BEST: ["wrong"], "better-inverted": ["wrong"]}),
        (
            {"eager": (95, 60), "shy": (40, 5), "even": (90, 10)},
            {BEST: ["even"], "biased-positive": ["eager"], "biased-negative": ["shy"]},
        ),
        ({"k-NN, k=5": (90, 20), "a + b": (89, 20)}, {BEST: ["k-NN, k=5"], ALIKE: ["a + b"]}),
    ],
    ids=lambda case: " ".join(case)[:40],
)
def test_who_is_best_and_how_the_others_compare(
    models: Models, codes: dict[str, list[str]]
) -> None:
    result = phidelta(models_flagging(**models))
    by_code = sentences(result)
    for code in (BEST, ALIKE, "like-chance", "better-inverted", "biased-positive"):
        assert (code in by_code) == (code in codes), code
    for code, names in codes.items():
        assert sorted(by_code[code].models) == sorted(names), code
    best, ties = by_code[BEST], codes[BEST]
    value, low, high = newcombe(*models[ties[0]])
    assert (best.measure, best.value) == ("delta", pytest.approx(value))
    if len({models[name] for name in ties}) == 1:
        assert (best.low, best.high) == (pytest.approx(low), pytest.approx(high))
        assert {round(x, 3) for x in (value, low, high)} <= {*numbers_in(best.text)}
    else:
        assert (best.low, best.high) == (None, None)  # they have intervals of their own
    check_text(sentence.text for sentence in result.answer)


def test_what_is_true_of_no_model_is_not_said() -> None:
    fair = sentences(phidelta(models_flagging(good=(90, 20), fair=(70, 50))))
    poor = sentences(phidelta(models_flagging(good=(90, 20), poor=(48, 50))))
    assert "like-chance" not in fair
    assert "better-inverted" not in poor
    # phi is 0.1: no more than a tenth, and its interval covers that
    assert [*sentences(phidelta(models_flagging(a=(90, 20))))] == [BEST]


@pytest.mark.parametrize("rows", [[1, 1, 1], [0, 0, 0]])
def test_without_a_class_nobody_is_the_best(rows: list[int]) -> None:
    frame = pl.DataFrame({"truth": rows, "a": [1, 0, 1], "b": [0, 0, 1]})
    (answer,) = phidelta(frame, classes=("0", "1")).answer
    assert (answer.code, answer.models) == ("no-position", ())
    check_text(answer.text)


def test_untested_models_are_answered_as_untested() -> None:
    frame = models_flagging(a=(90, 20), b=(60, 40))
    parts = frame.with_columns(w=pl.lit(0.5))
    counts = pl.DataFrame(
        {"model": ["a", "b"], "tp": [90, 60], "fp": [20, 40], "fn": [10, 40], "tn": [80, 60]}
    )
    for result in (
        phidelta(frame, interval="none"),
        phidelta(parts, weight="w", interval="none"),
        clfeval.phidelta(counts),
    ):
        by_code = sentences(result)
        assert (by_code[BEST].models, by_code[BEST].value) == (("a",), pytest.approx(0.7))
        assert "untested" in by_code
        assert WORSE not in by_code
        check_text(sentence.text for sentence in result.answer)
    assert "untested" not in sentences(phidelta(frame))


def test_compared_with_the_reference() -> None:
    frame = models_flagging(ref=(80, 30), more=(99, 5), less=(55, 45), same=(80, 31))
    check_text(sentences(phidelta(frame, reference="ref"))["compared"].text)
    assert "compared" not in sentences(phidelta(frame))
    # of 200 rows one differs, 1 / 100 of δ
    for options in ({}, {"margin": {"delta": 0.2}}):
        result = phidelta(models_flagging(ref=(80, 30), a=(81, 30)), reference="ref", **options)
        compared = sentences(result)["compared"]
        assert 0.01 in numbers_in(compared.text)
        check_text(compared.text)


def test_sentences_agree_where_an_interval_by_itself_excludes_0() -> None:
    result = clfeval.phidelta(LABELS, positive="malignant", reference="tree")
    bayes = row_of(result, "comparisons", model="naive_bayes", measure="delta")
    assert limits_of(bayes["difference"])[1] < 0
    assert (bayes["verdict"], bayes["p_adjusted"] > 0.05) == ("undecided", True)
    check_text(sentences(result)["compared"].text)


@pytest.mark.parametrize(
    ("models", "prevalence", "right"),
    [
        # of 1000 rows 100 are positive: 90 found, and 180 of 900 called too; 90 / 270 is a third
        ({"good": (90, 20), "bad": (60, 40)}, 0.1, 0.333),
        # of 999 positives all are found, and of 1 negative a tenth: 999 / 999.1 is 99.98999 %
        ({"near": (100, 10)}, 0.999, 0.9999),
        ({"all": (100, 100)}, 0.01, 0.01),  # 1 positive found, 99 of 99 negatives called
        ({"silent": (0, 0)}, 0.1, None),  # it never says positive
    ],
)
def test_how_many_positive_answers_are_right_where_that_is_asked_for(
    models: Models, prevalence: float, right: float | None
) -> None:
    by_code = sentences(phidelta(models_flagging(**models), prevalence=(prevalence,)))
    assert ("right" in by_code) == (right is not None)
    if right is not None:
        assert {prevalence, right} <= {*numbers_in(by_code["right"].text)}
        check_text(by_code["right"].text)
    assert "right" not in sentences(phidelta(models_flagging(**models)))


def test_who_separates_best_over_all_thresholds() -> None:
    # of 2 x 2 pairs a puts all in order, b three of them: Gini 1 and 2 * 3/4 - 1
    frame = pl.DataFrame(
        {"truth": [1, 1, 0, 0], "a": [0.9, 0.8, 0.6, 0.2], "b": [0.9, 0.3, 0.6, 0.2]}
    )
    for scores in (frame, frame.with_columns(b="a"), frame.drop("b")):
        sentence = sentences(phidelta(scores, curve=True, interval="none"))["best-curve"]
        assert 1 in numbers_in(sentence.text)
        check_text(sentence.text)
    assert "best-curve" not in sentences(phidelta(frame, interval="none"))


def test_of_slices_the_whole_table_is_answered() -> None:
    frame = models_flagging(a=(90, 20), b=(60, 40))
    parts = frame.with_columns(part=pl.Series(["x", "y"] * 100))
    assert phidelta(parts, by=("part",)).answer == phidelta(frame).answer


def test_twenty_thousand_models_are_answered_at_once() -> None:
    dice = np.random.default_rng(6)
    votes, truth = dice.random((50, 20_000)) < 0.5, np.arange(50) < 25
    names = tuple(f"m{i}" for i in range(20_000))
    delta = votes[truth].mean(axis=0) - votes[~truth].mean(axis=0)
    rows = [
        {
            "slice": None,
            "model": name,
            "delta": Estimate(float(d), d - 0.5, d + 0.5),
            "phi": Estimate(0.0),
            "sensitivity": Estimate(0.5),
            "specificity": Estimate(0.5),
        }
        for name, d in zip(names, delta.tolist(), strict=True)
    ]
    answer = classifier_answer(
        {"models": rows}, 0.95, "more than 300 models are too many for all pairs"
    )
    assert isinstance(answer[0], Answer)
    best = max(delta.tolist())
    assert answer[0].value == best
    assert set(answer[0].models) == {n for n, d in zip(names, delta, strict=True) if d == best}
    check_text(answer[1].text)


def test_the_table_of_tied_models_is_what_the_sentence_says() -> None:
    result = phidelta(models_flagging(a=(90, 20), b=(60, 40), c=(88, 20)))
    tied = {model: row["tied"] for model, row in rows_by(result, "best", "model").items()}
    assert tied == {"a": True, "b": False, "c": True}
    assert sentences(result)[ALIKE].models == ("c",)
    # a reference has its own table
    assert "best" not in phidelta(models_flagging(a=(90, 20), b=(60, 40)), reference="a").tables
