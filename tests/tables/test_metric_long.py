"""Long metric tables: one row per model and metric, in any order, with or without estimators."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tables.metric_door import metric_content, metric_table_of, places, problem_rows, told
from tests.texts import check_text

EXPECTED = (("rf", "svm"), ("f1", "acc"), [[0.5, 1.0], [0.25, 0.0]])
ROWS = [("rf", "f1", ".5"), ("rf", "acc", "1"), ("svm", "f1", ".25"), ("svm", "acc", "0")]


def long(header: str = "model,metric,value", rows: list[tuple[str, ...]] = ROWS) -> str:
    return "\n".join([header, *map(",".join, rows)]) + "\n"


@pytest.mark.parametrize(
    "header",
    [
        "model,metric,value",
        "classifier,measure,score",
        "model,.metric,.estimate",
        "system,Metric,mean",
        "wflow_id,.metric,estimate",
    ],
)
def test_the_columns_go_by_name(header: str) -> None:
    table = metric_table_of(long(header))
    assert metric_content(table) == EXPECTED
    assert table.layout == "long"
    assert problem_rows(table) == (2, 4)


def test_columns_stand_in_any_order_and_id_names_the_models() -> None:
    rows = [(value, "x", metric, model) for model, metric, value in ROWS]
    assert (
        metric_content(metric_table_of(long("value,model,metric,who", rows), id="who")) == EXPECTED
    )


def test_models_and_metrics_are_in_the_order_they_first_appear() -> None:
    table = metric_table_of(long(rows=[ROWS[3], ROWS[0], ROWS[1], ROWS[2]]))
    assert metric_content(table) == (("svm", "rf"), ("acc", "f1"), [[0.0, 0.25], [1.0, 0.5]])
    assert problem_rows(table) == (2, 4)  # of their accuracy


def test_rows_of_slices_and_classes_are_left_out_and_counted() -> None:
    rows = [(*row, "", "") for row in ROWS]
    rows += [("rf", "f1", ".9", "old", ""), ("rf", "f1", ".8", "", "cat")]
    table = metric_table_of(long("model,metric,value,slice,class", rows))
    assert metric_content(table) == EXPECTED
    check_text(table.described())


@pytest.mark.parametrize("name", ["estimator", ".estimator"])
def test_estimators_are_part_of_the_name_only_where_there_are_several(name: str) -> None:
    rows = [
        ("rf", "f1", ".5", "macro"),
        ("rf", "f1", ".6", "weighted"),
        ("rf", "f1", ".7", ""),
        ("rf", "acc", "1", "binary"),
    ]
    table = metric_table_of(long(f"model,metric,value,{name}", rows))
    assert metric_content(table) == (
        ("rf",),
        ("f1_macro", "f1_weighted", "f1", "acc"),
        [[0.5, 0.6, 0.7, 1.0]],
    )


SVM_F1, RF_ACC = ("svm", "f1"), ("rf", "acc")
REASONS = [(*row, "") for row in ROWS[:2]] + [(*SVM_F1, "", "no_positive_truth")]
INFINITE = ("svm", "acc", "", "infinite")
REASON = long("model,metric,value,reason", [*REASONS, INFINITE])
INFINITE_VALUE = long("model,metric,value,reason", [*REASONS[:2], (*SVM_F1, "1", ""), INFINITE])
TEXTS_FOR_METRICS = long(rows=[(f"m{i}", f"comment {i}", "1") for i in range(3000)])
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "slices alone": (long("model,metric,value,slice", [(*SVM_F1, "1", "old")]), {}, "empty-table"),
    "an absent pair": (long(rows=ROWS[:3]), {}, "missing-value"),
    "an empty and a bad value": (
        long(rows=[*ROWS[:2], (*SVM_F1, ""), ("svm", "acc", "x")]),
        {},
        "5:value bad-number, 4:value missing-value",
    ),
    "a reason": (REASON, {}, "4:value missing-value"),
    "an infinite value": (INFINITE_VALUE, {}, "5:value infinite-value"),
    "pairs given again": (
        long(rows=[*ROWS, (*SVM_F1, ".3"), (*SVM_F1, ".25"), (*RF_ACC, "1")]),
        {},
        "6:metric duplicate-cell, 7:metric duplicate-cell, 8:metric duplicate-cell",
    ),
    "rows without a name": (
        long(rows=[*ROWS, ("", "f1", "1"), ("nb", "", "1")]),
        {},
        "6:model missing-value, 7:metric missing-value",
    ),
    "wide": ("model,f1\nrf,1\n", {"layout": "long"}, "wrong-layout"),
    "no models": ("metric,value\nf1,.5\nacc,1\n", {}, "no-models"),
    "texts for metrics": (TEXTS_FOR_METRICS, {}, "missing-value"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_long_tables_that_cannot_be_read_are_refused(case: str) -> None:
    content, options, expected = REFUSED[case]
    assert told(content, **options) == expected


def test_pairs_that_are_absent_or_nameless_can_be_dropped() -> None:
    table = metric_table_of(long(rows=ROWS[:3]), missing="drop")
    assert (table.models, table.dropped) == (("rf",), 1)
    content = long(rows=[*ROWS, ("", "f1", "1"), ("nb", "", "1")])
    assert metric_content(metric_table_of(content, missing="drop")) == EXPECTED
    assert "missing-value" in places(long(rows=[("", "f1", "1")]), missing="drop")


def test_metrics_that_were_not_asked_for_may_be_wrong() -> None:
    rows = [*ROWS, ("svm", "acc", "1"), ("rf", "mcc", "x")]
    assert metric_content(metric_table_of(long(rows=rows), wanted=["f1"])) == (
        ("rf", "svm"),
        ("f1",),
        [[0.5], [0.25]],
    )


def test_a_metric_without_a_number_is_ignored() -> None:
    table = metric_table_of(long(rows=[*ROWS, ("rf", "date", "monday"), ("svm", "date", "")]))
    assert metric_content(table) == EXPECTED
    assert table.ignored == ("date",)


def test_a_table_of_one_model_without_its_name_may_be_turned() -> None:
    table = metric_table_of("metric,value\nf1,.5\nacc,1\n", transpose=True)
    assert metric_content(table) == (("value",), ("f1", "acc"), [[0.5, 1.0]])
