"""The first screen of awkward tables: its length, its sentences, and what it must not miss."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.formatting import describe_ties
from clfeval.views.terminal import as_text
from tests.methods.report.calibration_sentences import calibration_answer
from tests.results import answer_codes, answers_of, warning_codes
from tests.samples import logistic
from tests.texts import check_text, numbers_in
from tests.thoroughness import thinned


def six(rows: int = 400, *, name: str = "model {}") -> pl.DataFrame:
    """Two twins, one that never says positive and ranks best, and three others."""
    rng = np.random.default_rng(3)
    truth = (rng.random(rows) < 0.4).astype(int)
    shared = rng.normal(size=rows)
    z = [1.6 * truth + 0.6 * shared + rng.normal(size=rows) * (0.6 + i / 8) - 1 for i in range(5)]
    scores = [logistic(z[0] * 2) * 0.49, *map(logistic, z[1:]), logistic(z[1])]
    return pl.DataFrame({"truth": truth, **{name.format(i): x for i, x in enumerate(scores)}})


def screen(result: Result) -> list[str]:
    return as_text(result, width=80).splitlines()


@pytest.mark.parametrize(
    "name", ["m{}", "model {}", "a rather long name of model {}", "gradient boosting, depth {}"]
)
@pytest.mark.parametrize("rows", thinned([60, 400, 2000], [400]))
def test_six_models_have_one_screen_and_five_sentences(rows: int, name: str) -> None:
    result = clfeval.report(six(rows, name=name), positive="1")
    # sentences of longer lines, and that on the model that never says positive
    assert len(screen(result)) <= (41 if len(name) < 10 else 46)
    assert len(result.answer) <= 5
    assert answer_codes(result)[0] == "best"


def test_six_models_without_a_planted_fault_fit_40_lines_with_the_command_and_the_prompt() -> None:
    rng = np.random.default_rng(5)
    truth = (rng.random(1000) < 0.3).astype(int)
    shifts = {f"m{i}": rng.normal(size=1000) + truth * (1 + 0.15 * i) - 1.2 for i in range(6)}
    scores = {model: logistic(shift) for model, shift in shifts.items()}
    result = clfeval.report(pl.DataFrame({"truth": truth, **scores}), positive="1")
    assert len(screen(result)) + 2 <= 40


def test_after_a_comparison_and_slices_the_best_model_falls_and_a_harm_stays() -> None:
    table = six(2000).with_columns(site=pl.Series(["a", "b"] * 1000))
    result = clfeval.report(table, positive="1", by="site", reference="model 1")
    harms = ["compared", "operating-point", "never-predicted", "miscalibrated"]
    assert answer_codes(result) == [*harms, "slices", "more-results"]
    assert result.answer[-1].text.startswith("Also worse: differences in slices.")


def test_harms_are_worth_more_than_net_benefit_and_twins_more_than_the_power() -> None:
    result = clfeval.report(six(2000), positive="1")
    harms = ["never-predicted", "miscalibrated"]
    assert answer_codes(result) == ["best", *harms, "same-predictions", "more-results"]
    assert "worth" in [answer.code for answer in result.answer[-1].left_out]
    few = clfeval.report(six(60), positive="1")
    few_codes = ["best", "never-predicted", "same-predictions", "probabilities", "helps"]
    assert answer_codes(few) == few_codes


def test_probabilities_that_are_off_in_their_tenths_are_miscalibrated() -> None:
    """The chance that comes swings around the one given, by up to .2; slope and level fit."""
    p = np.repeat(np.arange(0.05, 1, 0.1), 400)
    swing = np.where(np.arange(10) % 2, 0.15, -0.15)[np.repeat(np.arange(10), 400)]
    came = np.clip(p + swing, 0, 1)
    place = np.tile(np.arange(400), 10) / 400
    result = clfeval.report(pl.DataFrame({"truth": (place < came).astype(int), "m": p}))
    swinging = calibration_answer(result).text
    assert 10 in numbers_in(swinging)  # tenths of the rows
    calibrated = clfeval.report(pl.DataFrame({"truth": (place < p).astype(int), "m": p}))
    check_text([swinging, calibration_answer(calibrated).text])


def test_it_says_whose_probabilities_may_be_taken_instead() -> None:
    """Two that see as much of the truth, the first three times too extreme."""
    rng = np.random.default_rng(5)
    seen = [rng.normal(size=5000) for _ in range(2)]
    truth = (rng.random(5000) < logistic(sum(seen))).astype(int)
    less = 1 / np.sqrt(1 + 1 / 1.7**2)  # of the slope, for what the other sees
    table = pl.DataFrame(
        {"truth": truth, "steep": logistic(3 * less * seen[0]), "good": logistic(less * seen[1])}
    )
    answer = calibration_answer(clfeval.report(table))
    assert answer.models == ("steep",)
    assert "good" in answer.text
    check_text(answer.text)


def test_ranking_backwards_and_the_impossible_are_noted() -> None:
    rng = np.random.default_rng(2)
    z = rng.normal(size=400)
    truth = rng.random(400) < logistic(2 * z)
    wrong = np.where(truth & (np.cumsum(truth) <= 3), 0.0, logistic(2 * z))  # three hits
    table = pl.DataFrame(
        {
            "truth": truth.astype(int),
            "good": logistic(2 * z),
            "turned": logistic(-1.9 * z),
            "never": wrong,
        }
    )
    notes = {one.code: one.message for one in clfeval.report(table).warnings}
    assert "turned" in notes["backwards"]
    assert "never" in notes["impossible"]
    check_text([notes["backwards"], notes["impossible"]])
    codes = warning_codes(clfeval.report(table.select("truth", "good")))
    assert not {"backwards", "impossible"} & {*codes}


def test_labels_say_what_they_cannot_tell() -> None:
    table = pl.DataFrame({"truth": [0, 1] * 20, "a": [0, 1, 1, 1] * 10, "b": [0, 1] * 20})
    assert "labels-only" in answer_codes(clfeval.report(table))
    chances = table.select("truth", c=pl.Series(np.linspace(0, 1, 40)))
    assert "labels-only" not in answer_codes(clfeval.report(chances))


def test_what_is_asked_of_many_classes_is_shown_with_its_caveat() -> None:
    table = pl.DataFrame({"truth": list("abc") * 10, "m": list("abcabbacc") * 3 + list("abc")})
    result = clfeval.report(table, measure=["jaccard", "accuracy"])
    lines = screen(result)
    first = next(i for i, line in enumerate(lines) if line.split()[1:3] == ["jaccard", "macro"])
    shown = [line.split()[1:3] for line in lines[first - 1 : first + 3]]
    assert shown == [
        ["accuracy", "multiclass"],
        ["jaccard", "macro"],
        ["jaccard", "weighted"],
        ["jaccard", "micro"],
    ]
    assert "caveat" in warning_codes(result)
    assert not any("jaccard" in line for line in screen(clfeval.report(table)))


def test_labels_beside_scores_are_named_where_they_are_the_same() -> None:
    rng = np.random.default_rng(5)
    truth = rng.random(60) < 0.5
    labels = (rng.random(60) < 0.5).astype(int)
    table = pl.DataFrame(
        {"truth": truth.astype(int), "s": np.round(rng.random(60), 3), "a": labels, "b": labels}
    )
    result = clfeval.report(table, model=["s", "a", "b"])
    (answer,) = answers_of(result, "same-predictions")
    check_text(answer.text)


def test_the_models_beside_the_best_are_named_by_kind() -> None:
    """Who is not named of seven and two is of the other kind."""
    counts = [(1, 0), (0, 1), (0, 2), (2, 2), (7, 2)]
    texts = [
        describe_ties([f"t{i}" for i in range(k)], [f"w{i}" for i in range(n)]) for k, n in counts
    ]
    assert ["t0" in text for text in texts] == [True, False, False, True, False]
    assert ["w0" in text for text in texts] == [False, True, False, False, True]
    assert describe_ties([], []) == ""
    check_text(texts)
