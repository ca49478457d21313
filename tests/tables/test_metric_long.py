"""Long metric tables: one row per model and metric, in any order, with or without estimators."""

from __future__ import annotations

import pytest

from tests.tables.metric_door import data_message, read, rows_of, shown

EXPECTED = (("rf", "svm"), ("f1", "acc"), [[0.5, 1.0], [0.25, 0.0]])
ROWS = [("rf", "f1", ".5"), ("rf", "acc", "1"), ("svm", "f1", ".25"), ("svm", "acc", "0")]


def long(header: str = "model,metric,value", rows: list[tuple[str, ...]] = ROWS) -> str:
    return "\n".join([header, *map(",".join, rows)]) + "\n"


@pytest.mark.parametrize(
    "header",
    [
        "model,metric,value", "classifier,measure,score", "model,.metric,.estimate",
        "system,Metric,mean", "wflow_id,.metric,estimate",
    ],
)  # fmt: skip
def test_the_columns_go_by_name(header: str) -> None:
    table = read(long(header))
    assert shown(table) == EXPECTED
    assert table.layout == "long"
    assert rows_of(table) == (2, 4)


def test_columns_stand_in_any_order_and_id_names_the_models() -> None:
    rows = [(value, "x", metric, model) for model, metric, value in ROWS]
    assert shown(read(long("value,model,metric,who", rows), id="who")) == EXPECTED


def test_models_and_metrics_are_in_the_order_they_first_appear() -> None:
    table = read(long(rows=[ROWS[3], ROWS[0], ROWS[1], ROWS[2]]))
    assert shown(table) == (("svm", "rf"), ("acc", "f1"), [[0.0, 0.25], [1.0, 0.5]])
    assert rows_of(table) == (2, 4)  # of their accuracy


def test_a_value_is_found_in_its_own_row() -> None:
    table = read(long(rows=[ROWS[3], ROWS[0], ROWS[1], ROWS[2]]))
    assert str(table.problem(0, 1, "low", "x")) == "t.csv:5: column 'value': low [x]"
    assert str(table.problem(1, 0, "low", "x")) == "t.csv:4: column 'value': low [x]"


def test_rows_of_slices_and_classes_are_left_out_and_counted() -> None:
    rows = [(*row, "", "") for row in ROWS]
    rows += [("rf", "f1", ".9", "old", ""), ("rf", "f1", ".8", "", "cat")]
    table = read(long("model,metric,value,slice,class", rows))
    assert shown(table) == EXPECTED
    assert table.described() == (
        "t.csv: long metrics; models in 'model'; 2 metrics: 'f1', 'acc'; "
        "2 rows of slices or classes left out"
    )


def test_nothing_but_slices() -> None:
    assert data_message(long("model,metric,value,slice", [("rf", "f1", "1", "old")])) == (
        "t.csv: no rows to evaluate [empty-table]\nhint: every row belongs to a slice or a class: "
        "drop that column, or choose rows"
    )


@pytest.mark.parametrize("name", ["estimator", ".estimator"])
def test_estimators_are_part_of_the_name_only_where_there_are_several(name: str) -> None:
    rows = [
        ("rf", "f1", ".5", "macro"), ("rf", "f1", ".6", "weighted"), ("rf", "f1", ".7", ""),
        ("rf", "acc", "1", "binary"),
    ]  # fmt: skip
    table = read(long(f"model,metric,value,{name}", rows))
    assert shown(table) == (
        ("rf",), ("f1_macro", "f1_weighted", "f1", "acc"), [[0.5, 0.6, 0.7, 1.0]],
    )  # fmt: skip


def test_an_absent_pair_is_named_by_model_and_metric() -> None:
    content = long(rows=ROWS[:3])
    assert data_message(content) == (
        "t.csv: model 'svm' has no 'acc' [missing-value]\n"
        "hint: fill the cells, or add --missing drop to leave out 1 of 2 models"
    )
    table = read(content, missing="drop")
    assert (table.models, table.dropped) == (("rf",), 1)


def test_an_empty_value_and_a_bad_one_are_named_by_row() -> None:
    rows = [*ROWS[:2], ("svm", "f1", ""), ("svm", "acc", "x")]
    assert data_message(long(rows=rows)).splitlines()[::2] == [
        "t.csv:5: column 'value': 'x' is not a number [bad-number]",
        "t.csv:4: column 'value': missing [missing-value]",
    ]


def test_a_reason_says_why_a_value_is_absent() -> None:
    rows = [(*row, "") for row in ROWS[:2]]
    rows += [("svm", "f1", "", "no_positive_truth"), ("svm", "acc", "", "infinite")]
    assert data_message(long("model,metric,value,reason", rows)).splitlines()[:2] == [
        "t.csv:4: column 'value': undefined (no_positive_truth) [missing-value]",
        "hint: fill the cells, or add --missing drop to leave out 1 of 2 models",
    ]
    given = long("model,metric,value,reason", [*rows[:2], ("svm", "f1", "1", ""), rows[3]])
    assert data_message(given).splitlines()[0] == (
        "t.csv:5: column 'value': is infinite [infinite-value]"
    )


def test_a_pair_given_again_is_named_with_both_rows() -> None:
    rows = [*ROWS, ("svm", "f1", ".3"), ("svm", "f1", ".25"), ("rf", "acc", "1")]
    assert data_message(long(rows=rows)) == (
        "t.csv:6: column 'metric': 'f1' of model 'svm' stands in row 4 already [duplicate-cell]\n"
        "t.csv:7: column 'metric': 'f1' of model 'svm' stands in row 4 already [duplicate-cell]\n"
        "t.csv:8: column 'metric': 'acc' of model 'rf' stands in row 3 already [duplicate-cell]\n"
        "hint: each model needs one row per metric; rows of slices, classes or runs belong in "
        "tables of their own"
    )


def test_metrics_that_were_not_asked_for_may_be_wrong() -> None:
    rows = [*ROWS, ("svm", "acc", "1"), ("rf", "mcc", "x")]
    assert shown(read(long(rows=rows), wanted=["f1"])) == (
        ("rf", "svm"), ("f1",), [[0.5], [0.25]],
    )  # fmt: skip


def test_rows_without_a_name() -> None:
    content = long(rows=[*ROWS, ("", "f1", "1"), ("nb", "", "1")])
    assert data_message(content) == (
        "t.csv:6: column 'model': missing [missing-value]\n"
        "t.csv:7: column 'metric': missing [missing-value]\n"
        "hint: every row names its model and its metric; --missing drop leaves such rows out"
    )
    assert shown(read(content, missing="drop")) == EXPECTED
    assert "[missing-value]" in data_message(long(rows=[("", "f1", "1")]), missing="drop")


def test_a_metric_without_a_number_is_ignored_and_said() -> None:
    table = read(long(rows=[*ROWS, ("rf", "date", "monday"), ("svm", "date", "")]))
    assert shown(table) == EXPECTED
    assert table.ignored == ("date",)


def test_layout_long_needs_its_columns() -> None:
    assert data_message("model,f1\nrf,1\n", layout="long") == (
        "t.csv: no long table: columns 'model', 'f1' [wrong-layout]\n"
        "hint: that layout needs columns like model, metric, value"
    )


def test_a_table_of_one_model_without_its_name_is_not_turned_by_guess() -> None:
    content = "metric,value\nf1,.5\nacc,1\n"
    assert data_message(content) == (
        "t.csv: no column names the models; columns: 'metric', 'value' [no-models]\n"
        "hint: its rows are metrics: add --transpose"
    )
    assert shown(read(content, transpose=True)) == (("value",), ("f1", "acc"), [[0.5, 1.0]])


def test_texts_that_are_no_metrics_do_not_fill_the_memory() -> None:
    rows = [(f"m{i}", f"comment {i}", "1") for i in range(3000)]
    assert data_message(long(rows=rows)) == (
        "t.csv: 3,000 rows for 3,000 models and 3,000 metrics: most values are missing "
        "[missing-value]\n"
        "hint: if 'metric' does not name a metric, add --layout wide"
    )
