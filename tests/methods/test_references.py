"""One option --reference: every command compares models on the same rows, by one mechanism."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.document.cells import Estimate
from clfeval.methods.mlcps.options import MlcpsOptions
from clfeval.methods.mlcps.ranking import _reference_differences
from tests.results import answers_of, limits_of
from tests.texts import check_text, numbers_in

BC = "fixtures/breast-cancer/labels.csv"
SCORES = "fixtures/breast-cancer/scores.csv"
COLUMNS = ("difference", "difference_low", "difference_high", "p", "p_adjusted", "verdict")


def comparisons_of(result: clfeval.Result, measure: str) -> dict[str, dict[str, Any]]:
    """Return the comparisons by a measure, by model, as rows of a frame."""
    frame = result.frame("comparisons").filter(measure=measure)
    return {row["model"]: row for row in frame.iter_rows(named=True)}


@pytest.mark.parametrize(
    ("call", "measure", "asked"),
    [
        (clfeval.mars, "recall", "recall"),
        (clfeval.mars, "specificity", "specificity"),
        (clfeval.mars, "precision", "precision"),
        (clfeval.phidelta, "delta", "delta"),
        (clfeval.phidelta, "phi", "phi"),
    ],
)
def test_a_measure_is_compared_as_report_compares_it(call: Any, measure: str, asked: str) -> None:
    """Families of sensitivity and specificity are adjusted for both in report, and not here."""
    options: dict[str, Any] = {"positive": "malignant", "reference": "svm"}
    compared = comparisons_of(call(BC, **options), measure)
    reported = comparisons_of(clfeval.report(BC, **options, measure=asked), asked)
    assert compared.keys() == reported.keys()
    names = COLUMNS[:4] if measure == "specificity" else COLUMNS
    for model, row in compared.items():
        assert [row[name] for name in names] == [reported[model][name] for name in names]


def test_models_are_compared_at_the_target_prevalence() -> None:
    """PPV = sens p / (sens p + (1 - spec) (1 - p)), of 106 positives and 179 negatives."""
    tuned = clfeval.tune_jpt(
        BC, positive="malignant", prevalence=0.02, measure="ppv", reference="svm"
    )
    row = comparisons_of(tuned, "ppv:prevalence=0.02")["tree"]

    def ppv(tp: int, fp: int) -> float:
        return tp / 106 * 0.02 / (tp / 106 * 0.02 + fp / 179 * 0.98)

    assert row["old"] == pytest.approx(ppv(93, 2))
    assert row["new"] == pytest.approx(ppv(92, 8))
    assert row["difference"] == pytest.approx(ppv(92, 8) - ppv(93, 2))
    assert row["difference_low"] < row["difference"] < row["difference_high"]
    (answer,) = answers_of(tuned, "compared")
    assert 0.02 in numbers_in(answer.text)
    check_text(answer.text)


def test_without_a_target_models_are_compared_on_these_rows() -> None:
    options: dict[str, Any] = {"positive": "malignant", "reference": "svm"}
    tuned = clfeval.tune_jpt(BC, **options)
    plain = comparisons_of(clfeval.report(BC, **options), "accuracy")
    for model, row in comparisons_of(tuned, "tar").items():
        assert row["difference"] == pytest.approx(plain[model]["difference"])
        assert row["verdict"] == plain[model]["verdict"]
    crossed = tuned.frame("crossovers")
    assert crossed.filter((pl.col("first") != "svm") & (pl.col("second") != "svm")).is_empty()


def test_scores_of_mlcps_are_compared_over_the_same_resamples() -> None:
    result = clfeval.mlcps(SCORES, positive="malignant", source="predictions", reference="svm")
    compared, models = comparisons_of(result, "mlcps"), result.frame("models")
    score = dict(zip(models["model"], models["mlcps"], strict=True))
    comparisons = len(score) - 1
    for model, row in compared.items():
        assert row["difference"] == pytest.approx(score[model] - score["svm"])
        assert row["p_adjusted"] == pytest.approx(min(1, row["p"] * comparisons))
        low, high = row["difference_adjusted_low"], row["difference_adjusted_high"]
        assert (row["verdict"] == "undecided") == (low <= 0 <= high)
    assert compared["naive_bayes"]["verdict"] == "worse"


def test_differences_of_scores_by_hand() -> None:
    """Of 199 resamples in a row of steps of .01, 20 lie at or below 0 and 180 at or above it."""
    steps = 0.01 * (np.arange(199) - 19)
    replicates = np.stack([steps, -steps, np.zeros(199)], axis=1)
    metrics: Any = SimpleNamespace(models=("up", "down", "base"))
    options = MlcpsOptions(reference="base", margin={"mlcps": 0.2})
    scores = np.array([0.7, 0.5, 0.6])
    up, down = _reference_differences(metrics, "mlcps", scores, replicates, options)
    assert up["p"] == down["p"] == pytest.approx(2 * (20 + 1) / (199 + 1))
    assert up["p_adjusted"] == pytest.approx(2 * 2 * 21 / 200)  # of two models
    # place h = 198 * .025 = 4.95 from either end; of two models 198 * .0125 = 2.475
    low, high = 0.01 * (4.95 - 19), 0.01 * (198 - 4.95 - 19)
    assert up["difference"] == Estimate(pytest.approx(0.1), pytest.approx(low), pytest.approx(high))
    assert down["difference"] == Estimate(
        pytest.approx(-0.1), pytest.approx(-high), pytest.approx(-low)
    )
    assert limits_of(up["difference_adjusted"]) == (
        pytest.approx(0.01 * (2.475 - 19)),
        pytest.approx(0.01 * (198 - 2.475 - 19)),
    )


def test_models_that_are_equal_are_not_significantly_different() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 200)
    score = np.clip(0.5 + 0.3 * (y - 0.5) + rng.normal(0, 0.2, 200), 0, 1)
    result = clfeval.mlcps(y, {"one": score, "twin": score}, reference="one")
    twin = comparisons_of(result, "mlcps")["twin"]
    assert (twin["verdict"], twin["difference"]) == ("undecided", 0)


REFUSED: list[tuple[Any, dict[str, Any]]] = [
    (clfeval.mars, {"reference": "nobody"}),
    (clfeval.mars, {"reference": "svm", "interval": "none"}),
    (clfeval.mars, {"margin": {"mcc": 0.1}, "reference": "svm"}),
    (clfeval.tune_jpt, {"reference": "nobody"}),
    (clfeval.tune_jpt, {"margin": {"mcc": 0.1}}),
    (clfeval.phidelta, {"margin": {"mcc": 0.1}, "reference": "svm"}),
    (clfeval.phidelta, {"margin": {"delta": 0.1}}),
]


def test_what_cannot_be_compared_is_refused() -> None:
    for call, options in REFUSED:
        with pytest.raises(clfeval.UsageError) as caught:
            call(BC, positive="malignant", **options)
        check_text(str(caught.value))
    with pytest.raises(clfeval.UsageError) as caught:
        clfeval.mlcps("fixtures/metrics/test.csv", reference="svm")
    check_text(str(caught.value))
