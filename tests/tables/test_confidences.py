"""Confidences of the predicted class: read as probabilities of the positive class."""

from __future__ import annotations

import json
import random
import re
import shlex
from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.errors import ClfevalError, DataError
from tests.process.program import clfeval as program
from tests.results import problem_codes, row_of
from tests.tables.door import opened, write

ROWS = 60


CODINGS: Mapping[str, Any] = {"integers": pl.Int64, "floats": pl.Float64, "booleans": pl.Boolean}


def labels_and_confidences(coding: str = "integers") -> pl.DataFrame:
    """Return truth, labels, confidences, and the probability of the positive class by hand."""
    numbers = random.Random(7)
    rows = []
    for row in range(ROWS):
        truth = int(row % 3 == 0)
        probability = round(min(0.99, 0.2 + 0.5 * numbers.random() + 0.2 * truth), 3)
        label = int(probability > 0.5)
        confidence = probability if label else round(1 - probability, 3)
        rows.append((f"r{row}", truth, label, confidence, probability))
    columns = ["id", "truth", "pred", "confidence", "p"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    classes = pl.col("truth", "pred")
    if coding == "words":
        return frame.with_columns(classes.replace_strict({0: "no", 1: "yes"}))
    return frame.with_columns(classes.cast(CODINGS[coding]))


def numbers_of(result: Any) -> dict[str, Any]:
    """Return the estimates of the only model."""
    row = row_of(result, "models")
    return {name: getattr(value, "value", value) for name, value in row.items() if name != "model"}


@pytest.mark.parametrize("coding", ["words", "integers", "floats", "booleans"])
@pytest.mark.parametrize("options", [{}, {"model": "pred+confidence"}])
def test_a_confidence_is_the_probability_of_its_label(options: Any, coding: str) -> None:
    frame = labels_and_confidences(coding)
    result = clfeval.report(frame.drop("p"), kind="confidence", **options)
    plain = clfeval.report(frame.select("id", "truth", "p"))
    expected = numbers_of(plain)
    numbers = numbers_of(result)
    assert numbers.keys() == expected.keys()
    for name, value in expected.items():
        assert numbers[name] == (pytest.approx(value) if isinstance(value, float) else value)
    is_positive = frame["truth"].cast(pl.String).is_in(["1", "1.0", "true", "yes"])
    wins = [
        (high > low) + (high == low) / 2
        for high in frame.filter(is_positive)["p"]
        for low in frame.filter(~is_positive)["p"]
    ]
    assert numbers["roc_auc"] == pytest.approx(sum(wins) / len(wins))


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_every_engine_and_a_join_read_the_same(engine: str) -> None:
    frame = labels_and_confidences()
    frame.drop("p").write_parquet("t.parquet")
    expected = numbers_of(clfeval.report(frame.select("id", "truth", "p")))["brier"]
    result = clfeval.report("t.parquet", kind="confidence", engine=engine)
    assert numbers_of(result)["brier"] == pytest.approx(expected)
    frame.select("id", "truth").write_csv("truth.csv")
    frame.select("id", "pred", "confidence").write_csv("rf.csv")
    joined = clfeval.report(["truth.csv", "rf.csv"], kind="confidence", join="id")
    assert numbers_of(joined)["brier"] == pytest.approx(expected)


def test_counts_of_confidences_are_those_of_probabilities() -> None:
    frame = labels_and_confidences()
    clfeval.count(frame.drop("p"), kind="confidence").save("c.counts.parquet")
    expected = numbers_of(clfeval.report(frame.select("id", "truth", "p")))["roc_auc"]
    assert numbers_of(clfeval.report("c.counts.parquet"))["roc_auc"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        (r"^(r4,\d),\d", r"\1,ys", "unknown-label"),
        (r"^(r4,\d),\d", r"\1,", "missing-value"),
        (r"^(r4,.*),[\d.]+$", r"\1,", "missing-value"),
        (r"^(r4,.*),[\d.]+$", r"\1,0.3", "bad-option"),
        (r"^(r4,.*),[\d.]+$", r"\1,97", "bad-option bad-probability"),
        (r"^(r4),\d", r"\1,2", "bad-option"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"model": ("pred+confidence",)}])
def test_no_other_cell_is_taken_for_a_confidence(
    old: str, new: str, codes: str, options: Any
) -> None:
    text = re.sub(old, new, labels_and_confidences().drop("p").write_csv(), flags=re.MULTILINE)
    write("t.csv", text)
    with pytest.raises(ClfevalError) as caught:
        clfeval.report("t.csv", kind="confidence", **options)
    assert {*problem_codes(caught.value)} <= {*codes.split()}


def test_the_first_line_and_a_dry_run_name_confidences() -> None:
    write("t.csv", labels_and_confidences().drop("p").write_csv())
    assert "confidences of 'pred'" in opened("t.csv", kind="confidence").described()
    rows = clfeval.report("t.csv", kind="confidence", dry_run=True).tables["reading"]
    assert {row["column"]: row["taken"] for row in rows} == {
        "id": "id",
        "truth": "truth",
        "pred": "labels of 'pred'",
        "confidence": "confidences of 'pred'",
    }
    without = clfeval.report("t.csv", dry_run=True).tables["reading"]
    assert without[-1]["why"] == "it is the confidence of the predicted class"


def test_how_sure_a_model_is_says_not_which_class_is_positive() -> None:
    """The rows of one label have the higher confidences; the positive class is asked for."""
    rows = []
    for row in range(40):
        predicted = row // 2 % 2
        rows.append(f"{'ab'[row % 2]},{'ab'[predicted]},{0.9 - 0.3 * predicted}")
    write("t.csv", "truth,pred,confidence\n" + "\n".join(rows) + "\n")
    with pytest.raises(DataError) as caught:
        clfeval.report("t.csv", kind="confidence")
    assert {reading.options["positive"] for reading in caught.value.readings} == {"a", "b"}


def test_a_column_of_three_values_is_no_truth_of_confidences() -> None:
    frame = labels_and_confidences().drop("id", "p").rename({"truth": "sickk"})
    site = pl.Series("site", ["A", "B", "C"] * (ROWS // 3))
    write("t.csv", frame.insert_column(0, site).write_csv())
    with pytest.raises(DataError) as caught:
        clfeval.report("t.csv", kind="confidence")
    assert [reading.options["truth"] for reading in caught.value.readings] == ["sickk"]


def test_numbers_that_may_be_confidences_are_offered_as_such() -> None:
    write("t.csv", labels_and_confidences().drop("p").rename({"confidence": "p_hat"}).write_csv())
    done = program("report", "t.csv", "-q")
    assert done.code == 3
    commands = re.findall(r"^    clfeval (.*)$", done.err, re.MULTILINE)
    assert commands == ["report t.csv -q --kind confidence --model pred+p_hat"]
    done = program(*shlex.split(commands[0]), "--format", "json")
    assert done.code == 0
    expected = numbers_of(clfeval.report(labels_and_confidences().select("id", "truth", "p")))[
        "brier"
    ]
    assert json.loads(done.out)["tables"]["models"][0]["brier"]["value"] == pytest.approx(expected)
