"""Results of clfeval as metric tables: JSON and CSV alike, whole tables, one population."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from clfeval.api.commands import mars, phidelta, tune_jpt
from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from clfeval.errors import DataError
from clfeval.tables.metric.table import MetricTable
from clfeval.views.documents import csv_lines
from tests.tables.door import spots
from tests.tables.metric_door import metric_content, metric_table_of, places, read_metrics, told
from tests.texts import check_text, numbers_in

# rf: TP 2 FN 1 FP 0 TN 2; svm: TP 1 FN 2 FP 1 TN 1; one row of each truth is of group b
FRAME = pl.DataFrame(
    {
        "truth": [1, 1, 1, 0, 0],
        "rf": [1, 1, 0, 0, 0],
        "svm": [0, 1, 0, 1, 0],
        "group": ["a", "a", "b", "a", "b"],
    }
)


def as_json(result: Result, **options: Any) -> MetricTable:
    return metric_table_of(result.to_json(), "r.json", **options)


def as_csv(result: Result, **options: Any) -> MetricTable:
    return metric_table_of("".join(csv_lines(result, next(iter(result.tables)))), **options)


BOTH = pytest.mark.parametrize("read_as", [as_json, as_csv])


@BOTH
def test_what_mars_computed(read_as: Any) -> None:
    table = read_as(mars(FRAME.drop("group")))
    assert table.layout == "result"
    assert (table.models, table.ignored) == (("rf", "svm"), ())
    assert table.metrics == ("accuracy", "precision", "recall", "shine_through", "occlusion")
    # some model finds rows 1 and 2; row 1 is found by rf alone, and so missed by svm alone
    rf, svm = [4 / 5, 2 / 2, 2 / 3, 1 / 2, 0 / 2], [2 / 5, 1 / 2, 1 / 3, 0 / 2, 1 / 2]
    assert table.values.tolist() == [pytest.approx(rf), pytest.approx(svm)]


@BOTH
def test_rows_of_slices_are_left_out(read_as: Any) -> None:
    whole = read_as(phidelta(FRAME.drop("group")), wanted=["f1", "mcc"])
    sliced = read_as(phidelta(FRAME, by=["group"]), wanted=["f1", "mcc"])
    assert metric_content(sliced) == metric_content(whole)
    check_text(sliced.described())
    assert sliced.values[0].tolist() == pytest.approx([4 / 5, (2 * 2 - 0) / (2 * 3 * 2 * 3) ** 0.5])


@BOTH
def test_nothing_but_slices(read_as: Any) -> None:
    result = phidelta(FRAME, by=["group"])
    rows = [row for row in result.tables["models"] if row["slice"] is not None]
    only = Result("phidelta", "", (), {}, {}, {"models": rows})
    with pytest.raises(DataError) as caught:
        read_as(only)
    assert spots(caught.value).endswith("empty-table")
    check_text(caught.value.hint or "")


@BOTH
@pytest.mark.parametrize(
    ("options", "models", "ppv"),
    [
        # rf never errs on negatives: PPV 1 everywhere; svm: TPR 1/3, FPR 1/2
        ({}, ("rf", "svm"), 1 / 2),  # the sample
        ({"prevalence": [0.5]}, ("rf", "svm"), (1 / 3) / (1 / 3 + 1 / 2)),
        (
            {"prevalence": [0.5, 0.25]},
            ("rf at 1:1", "rf at 1:3", "svm at 1:1", "svm at 1:3"),
            (1 / 3) / (1 / 3 + 1 / 2),
        ),
    ],
)
def test_of_tuned_models_the_target_population_counts(
    read_as: Any, options: Any, models: tuple[str, ...], ppv: float
) -> None:
    table = read_as(tune_jpt(FRAME.drop("group"), **options), wanted=["ppv"])
    assert table.models == models
    assert table.values[len(models) // 2, 0] == pytest.approx(ppv)
    assert set(table.values[: len(models) // 2, 0]) == {1.0}


def result_with_rows(rows: list[dict[str, Any]], name: str = "models") -> Result:
    return Result("mars", "", (), {}, {}, {name: rows})


UNDEFINED = result_with_rows(
    [
        {"model": "rf", "n": 3, "a": Estimate(0.5), "b": Estimate(1.0, 0.5, 1.0), "t": None},
        {
            "model": "svm",
            "n": 4,
            "a": Estimate(None, reason="no_positive_truth"),
            "b": Estimate(None, reason="infinite"),
            "t": "x",
        },
        {"model": "nb", "n": 4, "a": Estimate(1.0), "b": Estimate(None, 0.5, reason=None), "t": 1},
    ]
)


@BOTH
def test_undefined_values_say_why(read_as: Any) -> None:
    a, b = ("r.json:2", "r.json:3") if read_as is as_json else ("3", "4")
    with pytest.raises(DataError) as caught:
        read_as(UNDEFINED)
    assert spots(caught.value) == f"{a}:a missing-value, {b}:b missing-value"
    check_text(str(caught.value))
    kept = read_as(UNDEFINED, wanted=["a"], missing="drop")
    assert metric_content(kept) == (("rf", "nb"), ("a",), [[0.5], [1.0]])


@BOTH
def test_counts_are_no_measures_until_they_are_asked_for(read_as: Any) -> None:
    table = read_as(UNDEFINED, wanted=["n", "a"], model=["rf"])
    assert metric_content(table) == (("rf",), ("n", "a"), [[3.0, 0.5]])
    document = UNDEFINED.to_json()
    assert places(document, exit_code=2, name="t.json", wanted=["m*"]) == "unknown-metric"


TIDY = [
    {
        "model": model,
        "metric": metric,
        "estimator": estimator,
        "class": label,
        "slice": None,
        "value": value,
        "low": None,
        "high": None,
        "reason": None,
    }
    for model in ("rf", "svm")
    for metric, estimator, label, value in (
        ("f1", "macro", None, 0.5),
        ("f1", "micro", None, 0.75),
        ("accuracy", None, None, 1.0),
        ("f1", None, "cat", 0.25),
    )
]


@pytest.mark.parametrize("estimates", [False, True])
@BOTH
def test_a_tidy_table_of_metrics(read_as: Any, estimates: bool) -> None:
    rows = [dict(row) for row in TIDY]
    for row in rows if estimates else ():
        row["value"] = Estimate(row["value"])
        del row["low"], row["high"], row["reason"]
    result = Result("report", "", (), {}, {}, {"metrics": rows, "models": []})
    table = read_as(result)
    metrics = ("f1_macro", "f1_micro", "accuracy")
    assert metric_content(table) == (("rf", "svm"), metrics, [[0.5, 0.75, 1.0]] * 2)
    assert table.layout == ("result" if estimates else "long")
    assert numbers_in(table.notes[0]) == [2]


def test_metrics_without_values_are_not_the_tidy_table() -> None:
    result = Result(
        "mlcps",
        "",
        (),
        {},
        {},
        {
            "metrics": [{"metric": "f1", "weight": 1.0}],
            "models": [{"model": "rf", "mlcps": Estimate(1.5)}],
        },
    )
    assert metric_content(as_json(result)) == (("rf",), ("mlcps",), [[1.5]])


def test_the_table_of_models_cut_out_of_a_result() -> None:
    rows = json.loads(mars(FRAME.drop("group")).to_json())["tables"]["models"]
    whole = metric_content(as_json(mars(FRAME.drop("group"))))
    assert metric_content(metric_table_of(json.dumps(rows), "m.json")) == whole
    assert (
        metric_content(metric_table_of("\n".join(json.dumps(row) for row in rows), "m.ndjson"))
        == whole
    )
    assert (
        metric_content(
            metric_table_of("\n".join(json.dumps(row, indent=1) for row in rows), "m.json")
        )
        == whole
    )
    assert metric_content(read_metrics(pl.DataFrame(rows))) == whole


def test_a_result_without_models() -> None:
    result = result_with_rows([{"pair": "a"}], "pairs")
    assert told(result.to_json(), "t.json") == "no-models"
    assert told('{"schema": "clfeval.result/1"}', "t.json") == "no-models"
    assert places(result_with_rows([]).to_json(), "t.json") == "empty-table"
