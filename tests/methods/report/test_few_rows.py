"""What a report says of few rows: no plan from them, and no tie of models that they cannot test."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

import clfeval
from clfeval.views.terminal import as_text
from tests.results import answers_of, row_of, rows_by, rows_of
from tests.samples import logistic
from tests.texts import check_text


def two_models(positives: int, negatives: int) -> pl.DataFrame:
    """Return a table of two models, each of which ranks some rows wrongly."""
    rng = np.random.default_rng(5)
    truth = np.repeat([1, 0], [positives, negatives])
    noise = rng.normal(size=(2, len(truth)))
    columns = {name: logistic(1.6 * truth - 0.8 + noise[i], 3) for i, name in enumerate("ab")}
    return pl.DataFrame({"truth": truth, **columns})


@pytest.mark.parametrize(
    ("positives", "negatives", "is_planned"),
    [(9, 200, False), (200, 9, False), (10, 200, True), (200, 10, True)],
)
def test_a_detectable_difference_needs_ten_rows_of_each_class(
    positives: int, negatives: int, is_planned: bool
) -> None:
    table = two_models(positives, negatives)
    labels = table.with_columns(pl.col("a", "b").ge(0.3).cast(int))
    assert bool(answers_of(clfeval.report(labels), "resolution")) == is_planned
    result = clfeval.report(table, reference="a", resolution={"roc_auc": 0.1})
    (compared,) = answers_of(result, "compared")
    assert ("power" in compared.text) == is_planned
    comparisons = rows_of(result, "comparisons")
    assert any(row["detectable"] is not None for row in comparisons) == is_planned
    needed = row_of(result, "resolution")
    assert (needed["rows_needed"] is not None) == is_planned
    if not is_planned:
        assert needed["detectable"] is None
        return
    error = row_of(result, "comparisons", measure="roc_auc")["se"]
    normal = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    assert needed["detectable"] == pytest.approx(normal * error, rel=1e-6)


# of two rows a class, Student's t has one degree of freedom: (12.7 + 1.4) standard errors
OPPOSITE = pl.DataFrame({"truth": [1, 0, 1, 0], "a": [1, 0, 1, 0], "b": [0, 1, 0, 1]})
# p of areas at both ends of their range, of three rows: 2 (1 - sqrt(1/2))³ = 0.0503
SEPARATED = pl.DataFrame(
    {"truth": [1] * 3 + [0] * 300, "a": [0.9] * 3 + [0.2] * 300, "b": [0.1] * 3 + [0.8] * 300}
)
TWICE = OPPOSITE.with_columns(c="b")
EQUAL = OPPOSITE.with_columns(b="a", c="b")


@pytest.mark.parametrize(
    ("table", "ties"),
    [
        (OPPOSITE, {"a": True, "b": None}),
        (SEPARATED, {"a": True, "b": None}),
        (TWICE, {"a": True, "b": None, "c": None}),
        (EQUAL, {"a": True, "b": True, "c": None}),
        (pl.concat([OPPOSITE] * 10), {"a": True, "b": False}),
        (pl.concat([SEPARATED] * 2), {"a": True, "b": False}),
    ],
)
def test_models_that_the_rows_cannot_compare_are_not_tied(
    table: pl.DataFrame, ties: dict[str, bool | None]
) -> None:
    result = clfeval.report(table)
    lead = result.tables["best"][0]["measure"]
    for rows in (
        rows_by(result, "best", "model", measure=lead),
        rows_by(result, "models", "model"),
    ):
        assert {model: row["tied"] for model, row in rows.items()} == ties
    check_text([answer.text for answer in result.answer[:1]])
    statements = " ".join(answer.text for answer in result.answer)
    assert statements.count("too few rows") == (None in ties.values())
    models = [line.split() for line in as_text(result, width=100).splitlines()]
    marks = {line[0]: line[1] for line in models if len(line) > 2 and line[0] in ties}
    for model, is_tied in ties.items():
        if is_tied is None:
            assert "not significantly different" not in statements.partition(model)[2][:40]
            assert marks[model] not in "*≈"


def test_a_gate_on_a_model_that_cannot_be_compared_fails_as_undefined() -> None:
    (gate,) = clfeval.report(OPPOSITE).check(still_best="b").gates
    assert (gate.passed, gate.reason) == (False, "undefined")
