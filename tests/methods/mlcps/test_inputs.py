"""Tables as people have them: pandas' forms, searches, results of other commands, from a shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import clfeval
from tests.results import problem_codes, row_of, rows_of, value_of, warning_codes, warning_messages
from tests.shell import at_shell
from tests.texts import check_text

FIXTURES = Path(__file__).parent.parent.parent.parent / "fixtures"
FRAME = pd.DataFrame(
    {
        "model": ["rf", "svm", "lr"],
        "f1": [0.8, 0.7, 0.6],
        "recall": [0.9, 0.8, 0.75],
        "precision": [0.72, 0.7, 0.9],
    }
)


def score_by_model(result: clfeval.Result) -> dict[str, float]:
    return {row["model"]: value_of(row["mlcps"]) for row in rows_of(result, "models")}


EXPECTED = score_by_model(clfeval.mlcps(FRAME))


@pytest.mark.parametrize("orient", ["records", "split", "table", "columns", "index"])
@pytest.mark.parametrize("indexed", [False, True], ids=["column", "index"])
def test_json_of_pandas_in_every_form(orient: Any, indexed: bool, tmp_path: Path) -> None:
    frame = FRAME.set_index("model") if indexed else FRAME
    if indexed and orient in ("records", "columns"):
        frame = FRAME  # records have no index; columns of an index are read with --transpose
    path = tmp_path / "metrics.json"
    frame.to_json(path, orient=orient)
    assert score_by_model(clfeval.mlcps(path)) == EXPECTED


def test_columns_by_model_need_transpose(tmp_path: Path) -> None:
    path = tmp_path / "metrics.json"
    FRAME.set_index("model").to_json(path)
    with pytest.raises(clfeval.DataError) as caught:
        at_shell(clfeval.mlcps)(path)
    assert caught.value.hint == "add --transpose"
    assert score_by_model(clfeval.mlcps(path, transpose=True)) == EXPECTED


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({"clf__C": [1, 10], "clf__penalty": ["l2", "l2"]}, ["C=1", "C=10"]),
        ({"pca__n": [1, 2], "knn__n": [3, 5]}, ["pca__n=1, knn__n=3", "pca__n=2, knn__n=5"]),
    ],
)
def test_candidates_are_named_by_what_differs(
    parameters: dict[str, list[Any]], names: list[str], tmp_path: Path
) -> None:
    columns = {f"param_{name}": values for name, values in parameters.items()}
    means = {f"mean_test_{name}": [0.8, 0.7] for name in ("f1", "auc", "mcc")}
    pd.DataFrame({**columns, **means}).to_csv(tmp_path / "cv.csv")
    assert list(score_by_model(clfeval.mlcps(tmp_path / "cv.csv"))) == names


def test_results_of_other_commands_need_no_list_of_metrics(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    cancer = FIXTURES / "breast-cancer" / "labels.csv"
    path.write_text(clfeval.phidelta(cancer, positive="malignant").to_json(), encoding="utf-8")
    ranked = clfeval.mlcps(path)
    metrics = ranked.parameters["metrics"]
    assert "phi" not in metrics
    assert {"sensitivity", "specificity", "precision", "mcc"} <= set(metrics)
    assert "left-out" in warning_codes(ranked)
    with pytest.raises(clfeval.DataError) as caught:
        at_shell(clfeval.mlcps)(path, metric=["phi", "precision", "mcc", "sensitivity"])
    assert problem_codes(caught.value) == ["no-direction"]


def test_of_populations_the_target_is_ranked_and_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "tuned.json"
    counts = {"rf": (69, 15, 31, 85), "ccp": (67, 5, 33, 95)}
    tuned = clfeval.tune_jpt(counts=counts, prevalence="1:100", sweep=None)
    path.write_text(tuned.to_json(), encoding="utf-8")
    ranked = clfeval.mlcps(path, metric=["ppv", "npv", "sensitivity"])
    notes = warning_messages(ranked, "partly-read")
    assert len(notes) == 1
    check_text(notes)
    ppv = row_of(tuned, "models", population="target", model="rf")["ppv"]
    profile = row_of(ranked, "profile", model="rf", metric="ppv")
    assert value_of(profile["value"]) == value_of(ppv)


def test_what_predictions_cannot_bear_is_said_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "not there.csv"
    for options in (
        {"metric": "roc_auc"},
        {"metric": ["f1", "mcc", "log_loss"]},
        {"metric_weight": {"f2": 1}},
        {"metric_weight": {"npv": 0, "precision": 0}},
    ):
        with pytest.raises(clfeval.ClfevalError) as caught:
            at_shell(clfeval.mlcps)(path, source="predictions", **options)  # type: ignore[arg-type]
        assert caught.value.problems[0].code != "no-such-file", options


def test_more_draws_of_nothing_are_refused() -> None:
    with pytest.raises(clfeval.UsageError, match="--weight-sensitivity"):
        at_shell(clfeval.mlcps)(FRAME, draws=500)
    result = clfeval.mlcps(FRAME, draws=500, weight_sensitivity=True)
    assert result.parameters["draws"] == 500


def test_a_result_shows_itself_in_a_line() -> None:
    line = repr(clfeval.mlcps(FRAME))
    assert "\n" not in line
    check_text(line)
