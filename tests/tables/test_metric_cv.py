"""Cross-validation results of scikit-learn's searches, as pandas writes them."""

from __future__ import annotations

import json
import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from clfeval.tables.metric.table import MetricTable
from tests.tables.metric_door import metric_table_of, read_metrics, told
from tests.texts import check_text

SCORING = ["accuracy", "f1", "roc_auc"]
NAMES = ("C=1, kernel=linear", "C=10, kernel=linear", "C=1, kernel=rbf", "C=10, kernel=rbf")


@cache
def searched(scoring: str) -> dict[str, Any]:
    """Run a small search with one scorer or several; the results as scikit-learn gives them."""
    columns, truth = load_breast_cancer(return_X_y=True)
    grid = {"kernel": ["linear", "rbf"], "C": [1, 10]}
    several = scoring == "several"
    search = GridSearchCV(SVC(), grid, scoring=SCORING if several else None, refit=False, cv=4)
    return dict(search.fit(columns[:90, :3], truth[:90]).cv_results_)


def search_frame(scoring: str = "several") -> pd.DataFrame:
    return pd.DataFrame(searched(scoring))


WRITTEN = {
    "csv with index": lambda table: metric_table_of(table.to_csv()),
    "csv": lambda table: metric_table_of(table.to_csv(index=False)),
    "records": lambda table: metric_table_of(_json(table, "records"), "t.json"),
    "columns": lambda table: metric_table_of(_json(table, "columns"), "t.json"),
    "lines": lambda table: metric_table_of(_json(table, "records", lines=True), "t.ndjson"),
    "frame": read_metrics,
}


def _json(table: pd.DataFrame, orient: Any, **options: Any) -> str:
    return str(table.to_json(orient=orient, double_precision=15, **options))


@pytest.mark.parametrize("how", WRITTEN)
def test_a_search_with_several_scorers(how: str) -> None:
    table: MetricTable = WRITTEN[how](search_frame())
    results = searched("several")
    order = [f"C={p['C']}, kernel={p['kernel']}" for p in results["params"]]
    assert table.layout == "cv"
    assert sorted(order) == sorted(NAMES)
    assert (table.models, table.metrics) == (tuple(order), tuple(SCORING))
    assert table.splits == ("split0", "split1", "split2", "split3")
    assert table.sds is not None
    assert table.by_split is not None
    assert table.by_split.shape == (4, 4, 3)
    for j, metric in enumerate(SCORING):
        for found, key in ((table.values, "mean"), (table.sds, "std")):
            np.testing.assert_allclose(found[:, j], results[f"{key}_test_{metric}"], atol=1e-14)
        for i, split in enumerate(table.splits):
            expected = results[f"{split}_test_{metric}"]
            np.testing.assert_allclose(table.by_split[i, :, j], expected, atol=1e-14)
    np.testing.assert_allclose(table.by_split.mean(axis=0), table.values, atol=1e-12)
    assert table.ignored == ()


def test_a_note_says_what_was_read() -> None:
    check_text(metric_table_of(search_frame().to_csv()).described())


def test_a_search_with_one_scorer_has_the_metric_score() -> None:
    table = metric_table_of(search_frame("one").to_csv())
    assert table.metrics == ("score",)
    np.testing.assert_array_equal(table.values[:, 0], searched("one")["mean_test_score"])


def test_chosen_metrics_and_models_keep_their_splits() -> None:
    whole = metric_table_of(search_frame().to_csv())
    part = metric_table_of(
        search_frame().to_csv(), wanted=["roc_auc", "accuracy"], model=["*linear"]
    )
    kept = [i for i, name in enumerate(whole.models) if name.endswith("linear")]
    assert len(kept) == 2
    assert part.metrics == ("roc_auc", "accuracy")
    assert part.by_split is not None
    assert whole.by_split is not None
    assert part.sds is not None
    assert whole.sds is not None
    np.testing.assert_array_equal(part.values, whole.values[kept][:, [2, 0]])
    np.testing.assert_array_equal(part.sds, whole.sds[kept][:, [2, 0]])
    np.testing.assert_array_equal(part.by_split, whole.by_split[:, kept][:, :, [2, 0]])


def test_a_time_is_a_metric_when_it_is_asked_for_and_has_no_splits() -> None:
    table = metric_table_of(search_frame().to_csv(), wanted=["f1", "mean_fit_time"])
    assert table.metrics == ("f1", "mean_fit_time")
    assert (table.splits, table.by_split) == ((), None)
    assert table.sds is not None
    assert np.isfinite(table.sds[:, 0]).all()
    assert np.isnan(table.sds[:, 1]).all()


def test_a_failed_fit_is_a_missing_value() -> None:
    columns, truth = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(SVC(), {"C": [1, -1]}, scoring=SCORING, refit=False, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitFailedWarning)
        warnings.simplefilter("ignore", UserWarning)
        table = pd.DataFrame(search.fit(columns[:80, :2], truth[:80]).cv_results_)
    gaps = [f"3:mean_test_{name} missing-value" for name in SCORING]
    assert told(table.to_csv()) == ", ".join(gaps)
    kept = metric_table_of(table.to_csv(), missing="drop")
    assert (kept.models, kept.dropped, kept.splits) == (("C=1",), 1, ("split0", "split1"))
    assert kept.by_split is not None
    assert np.isfinite(kept.by_split).all()


def test_parameters_of_other_grids_are_left_out_of_a_name_and_none_is_not() -> None:
    params = [{"k": 1, "g": None}, {"k": 1, "g": 0.1}, {"k": 2}]
    table = pd.DataFrame(
        {
            "param_k": pd.Series([1, 1, 2], dtype=object),
            "param_g": pd.Series([None, 0.1, np.nan], dtype=object),
            "params": params,
            "mean_test_f1": [0.1, 0.2, 0.3],
        }
    )
    names = ("k=1, g=None", "k=1, g=0.1", "k=2")
    assert read_metrics(table).models == names
    assert metric_table_of(table.to_csv()).models == names
    assert metric_table_of(table.to_json(orient="records"), "t.json").models == names


def test_without_parameters_a_candidate_is_its_row() -> None:
    table = metric_table_of("params,mean_test_f1\n,.5\n{'a': 1},.25\n")
    assert table.models == ("row 2", "{'a': 1}")
    assert metric_table_of("mean_test_f1\n.5\n\n.25\n").models == ("row 2", "row 4")


def test_candidates_that_have_one_name_are_refused() -> None:
    assert told("param_C,mean_test_f1\n1,.5\n1,.25\n") == "3 duplicate-model"


@pytest.mark.parametrize(
    "content",
    [
        "param_C,mean_test_f1\n1,.5\n",
        "param_C,split0_test_f1,mean_test_f1,mean_test_acc\n1,.5,.5,1\n",
        "param_C,split0_test_f1,split1_test_acc,mean_test_f1,mean_test_acc\n1,.5,1,.5,1\n",
        "param_C,split0_test_f1,mean_test_f1\n1,,.5\n",
        "param_C,split0_test_f1,mean_test_f1\n1,x,.5\n",
    ],
)
def test_splits_are_there_only_when_every_metric_has_them_all(content: str) -> None:
    table = metric_table_of(content)
    assert (table.splits, table.by_split, table.sds) == ((), None, None)


def test_splits_are_in_the_order_of_their_numbers() -> None:
    cells = ",".join(f"split{i}_test_f1" for i in (10, 9, 0))
    table = metric_table_of(f"param_C,{cells},mean_test_f1\n1,.1,.9,.5,.5\n")
    assert table.splits == ("split0", "split9", "split10")
    assert table.by_split is not None
    assert table.by_split.ravel().tolist() == [0.5, 0.9, 0.1]


def test_a_mapping_of_candidates_is_read_by_its_names() -> None:
    document = {"a": {"mean_test_f1": 0.5}, "b": {"mean_test_f1": 0.25}}
    table = metric_table_of(json.dumps(document), "t.json")
    assert (table.models, table.layout) == (("a", "b"), "cv")
    assert table.values.tolist() == [[0.5], [0.25]]
