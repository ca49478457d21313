"""tune-jpt and report: one model and one threshold for one question, and prevalences by range."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.document import Answer
from clfeval.document.cells import Estimate
from tests.results import answers_of, row_of, rows_by

FOLDER = Path(__file__).parents[3] / "fixtures" / "breast-cancer"


def at_prevalence(result: Any) -> Answer:
    """Return the first sentence on predictive values."""
    return answers_of(result, "at-prevalence")[0]


@pytest.mark.parametrize("file", ["scores.csv", "labels.csv"])
@pytest.mark.parametrize("prevalence", [0.01, 0.3])
def test_both_name_the_same_model_and_threshold(file: str, prevalence: float) -> None:
    options: dict[str, Any] = {"positive": "malignant", "prevalence": prevalence}
    tuned, reported = (
        at_prevalence(command(FOLDER / file, **options))
        for command in (clfeval.tune_jpt, clfeval.report)
    )
    assert tuned.models == reported.models
    # up to the net benefit at the threshold, which tune-jpt has with costs only
    assert reported.text.startswith(tuned.text)
    assert tuned.value == reported.value


@pytest.mark.parametrize("file", ["scores.csv", "labels.csv"])
def test_both_mark_the_same_models_as_tied(file: str) -> None:
    tuned = clfeval.tune_jpt(FOLDER / file, positive="malignant", prevalence=0.01)
    reported = clfeval.report(FOLDER / file, positive="malignant")
    tuned_rows = rows_by(tuned, "at_prevalence", "model", population="target")
    rows = rows_by(reported, "models", "model")
    assert tuned_rows.keys() == rows.keys()
    for model, row in rows.items():
        assert tuned_rows[model]["tied"] == row["tied"]


def test_youdens_j_does_not_lead_at_a_prevalence() -> None:
    result = clfeval.tune_jpt(FOLDER / "scores.csv", positive="malignant", prevalence=0.01)
    assert not any("Youden" in answer.text for answer in result.answer)
    assert "ROC AUC" in answers_of(result, "leading-model")[0].text


def test_a_range_answers_at_its_ends_and_its_middle() -> None:
    """A test of 67 % sensitivity and 95 % specificity, by Bayes' rule."""
    result = clfeval.tune_jpt(counts=(67, 5, 33, 95), prevalence="0.001..0.02")
    middle = ((0.001 / 0.999) * (0.02 / 0.98)) ** 0.5  # odds, the geometric mean
    prevalences = [0.001, middle / (1 + middle), 0.02]
    answers = answers_of(result, "at-prevalence")
    assert len(answers) == 3
    for answer, pi in zip(answers, prevalences, strict=True):
        assert answer.value == pytest.approx(0.67 * pi / (0.67 * pi + 0.05 * (1 - pi)), rel=1e-9)
        assert answer.text.startswith("At prevalence ")
    low, high = answers[0].value, answers[2].value
    assert low == pytest.approx(0.0132, abs=5e-5)
    assert high == pytest.approx(0.2147, abs=5e-5)


def test_sentences_at_the_prevalence_of_the_rows_name_it() -> None:
    result = clfeval.tune_jpt(FOLDER / "labels.csv", positive="malignant")
    for answer in result.answer:
        if answer.code in ("best-at", "at-prevalence"):
            assert answer.text.startswith("At the prevalence of these rows (0.372)")


@pytest.mark.slow
def test_a_lead_in_j_of_equal_models_is_significant_in_at_most_five_percent() -> None:
    rng, false_winners, tables = np.random.default_rng(581), 0, 2000
    for _ in range(tables):
        truth = np.arange(200) < 60
        flip = rng.random((2, 200)) < 0.2
        table = pl.DataFrame(
            {"truth": truth * 1, "a": (truth ^ flip[0]) * 1, "b": (truth ^ flip[1]) * 1}
        )
        result = clfeval.tune_jpt(
            table, positive="1", kind="label", measure="j_index", prevalence=0.01, sweep=None
        )
        row = row_of(result, "winners", population="target")
        false_winners += row["winner"] is not None
    assert false_winners / tables <= 0.05 + 2 * (0.05 * 0.95 / tables) ** 0.5, false_winners


def test_undefined_values_stay_without_a_claim() -> None:
    assert Estimate(None).negative() == Estimate(None)
    assert Estimate(0.3, 0.1, 0.4).negative() == Estimate(-0.3, -0.4, -0.1)
