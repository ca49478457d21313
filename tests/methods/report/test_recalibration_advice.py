"""A model that is called miscalibrated is followed by what recalibrating it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import clfeval
from tests.methods.recalibrate.test_cross_fitting import random_table
from tests.results import answers_of

DIGITS = "fixtures/digits/calibration_scores.csv"
CANCER = "fixtures/breast-cancer/scores.csv"
SAID = {  # table, model, words of the advice
    "helps": (DIGITS, "yes", "forest", "Recalibrate forest by p' = logit⁻¹(1.141 + 3.624 logit p)"),
    "undecided": (DIGITS, "yes", "boosted", "Whether recalibrating boosted lowers the log loss"),
    "infinite": (CANCER, "malignant", "naive_bayes", "it lowers the Brier score of new rows by"),
}


def advice(result: Any) -> list[str]:
    """Return the sentences of advice."""
    return [answer.text for answer in answers_of(result, "recalibrate")]


@pytest.mark.parametrize("case", SAID)
def test_the_advice_is_that_of_recalibrate(case: str) -> None:
    table, positive, model, words = SAID[case]
    (text,) = advice(clfeval.report(table, positive=positive, model=model))
    assert words in text
    row = clfeval.recalibrate(table, positive=positive, model=model).tables["models"][0]
    gain = row["gain"]
    number = gain.value if row["verdict"] == "helps" else gain.high
    assert f"{number:.3f}" in text


SILENT: dict[str, dict[str, Any]] = {
    "no miscalibration": {"table": CANCER, "positive": "malignant", "model": "logreg"},
    "labels": {"table": "fixtures/breast-cancer/labels.csv", "positive": "malignant"},
    "no intervals": {"table": DIGITS, "positive": "yes", "model": "forest", "interval": "none"},
}


@pytest.mark.parametrize("case", SILENT)
def test_there_is_no_advice_without_the_verdict(case: str) -> None:
    assert advice(clfeval.report(**SILENT[case])) == []


def test_hidden_counts_give_no_advice_and_counts_give_that_of_rows(folder: Path) -> None:
    table = random_table(1, 600, slope=0.3)
    for name, options in (("plain", {}), ("hidden", {"min_cell": 5})):
        counts = clfeval.count(table.select("truth", "gbm"), positive="1", **options)
        counts.save(f"{name}.counts.parquet")
    rows = clfeval.report(table, positive="1", model="gbm")
    assert len(advice(rows)) == 1
    assert advice(clfeval.report("plain.counts.parquet")) == advice(rows)
    assert advice(clfeval.report("hidden.counts.parquet")) == []
