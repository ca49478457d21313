"""mlcps of what others computed: a report of clfeval, and a grid search of scikit-learn."""

from __future__ import annotations

import csv
import io
import json
from itertools import combinations
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from tests.process.program import clfeval_in_lines as clfeval
from tests.process.program import json_document
from tests.process.test_mlcps import VALUES, area, scores_by_model
from tests.process.test_mlcps_pipes import NAMES, rank
from tests.texts import check_text


def metric_rows() -> list[dict[str, Any]]:
    """Return rows as the table `metrics` of a report has them, those of slices and classes too."""
    rows: list[dict[str, Any]] = []
    for model, values in VALUES.items():
        for name, value in zip(NAMES, values, strict=True):
            for part, kind in ((None, None), ("site=a", None), (None, "malignant")):
                whole = part is None and kind is None
                rows.append(
                    {
                        "model": model,
                        "metric": name,
                        "estimator": "binary",
                        "class": kind,
                        "slice": part,
                        "value": value if whole else value / 2,
                        "low": value / 4,
                        "high": 1.0,
                        "reason": None,
                    }
                )
    return rows


def report_bytes(rows: list[dict[str, Any]], form: str) -> bytes:
    """Return the rows in a document as `clfeval report` writes it, or as its CSV."""
    if form == "csv":
        out = io.StringIO()
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue().encode()
    head = {
        "schema": "clfeval.result/1",
        "command": "report",
        "version": "0.1.0",
        "signature": "cmd:report|data:0|stats:00000000|clfeval:0.1.0",
        "inputs": [],
        "parameters": {},
        "summary": {"rows": 285},
    }
    tables: dict[str, Any] = {"metrics": rows, "comparisons": [], "confusion": [{"model": "rf"}]}
    tail: dict[str, Any] = {"gates": [], "passed": True, "warnings": []}
    return json.dumps({**head, "tables": tables, **tail}).encode()


def test_the_pipe_from_report_works() -> None:
    """What mlcps ranks is what the report says, to the last digit, whatever it was written as."""
    table = str(Path(__file__).parents[2] / "fixtures" / "breast-cancer" / "scores.csv")
    written = {
        form: clfeval("report", table, "--positive", "malignant", "-q", "-f", form)
        for form in ("json", "csv")
    }
    ranked = {form: json_document(rank(done.out.encode())) for form, done in written.items()}
    assert ranked["json"]["tables"] == ranked["csv"]["tables"]
    models = json_document(written["json"])["tables"]["models"]
    known = {row["model"]: row for row in models}
    metrics = ranked["json"]["parameters"]["metrics"]
    assert {"roc_auc", "brier", "mcc"} <= {*metrics}
    for row in ranked["json"]["tables"]["profile"]:
        assert row["value"]["value"] == known[row["model"]][row["metric"]]["value"]


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_report_with_two_averages_and_an_undefined_measure(form: str) -> None:
    rows = [row for row in metric_rows() if row["slice"] is None and row["class"] is None]
    macro = {"estimator": "macro", "value": 0.5}
    rows += [{**row, **macro} for row in rows if row["metric"] == "recall"]
    done = rank(report_bytes(rows, form))
    assert json_document(done)["parameters"]["metrics"] == [
        "recall_binary",
        *NAMES[1:],
        "recall_macro",
    ]
    areas = {model: area((*values, 0.5)) for model, values in VALUES.items()}
    assert scores_by_model(done) == pytest.approx(areas, rel=1e-12)
    reason = "no_positive_prediction"
    rows[1] = {**rows[1], "value": None, "low": None, "high": None, "reason": reason}
    refused = rank(report_bytes(rows, form))
    assert (refused.code, refused.out) == (3, "")
    assert (reason in refused.err, "[missing-value]" in refused.err) == (True, True)
    del areas[rows[1]["model"]]
    left = rank(report_bytes(rows, form), "--missing", "drop")
    assert scores_by_model(left) == pytest.approx(areas, rel=1e-12)
    assert json_document(left)["inputs"][0]["dropped"] == 1


SCORERS = ("f1", "roc_auc", "balanced_accuracy", "precision")


def searched() -> pd.DataFrame:
    """Search a small grid of trees on real data; return its cv_results_."""
    x, y = load_breast_cancer(return_X_y=True)
    grid = {"max_depth": [1, 3, None], "criterion": ["gini", "entropy"]}
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0), grid, scoring=list(SCORERS), refit=False, cv=3
    )
    return pd.DataFrame(search.fit(x, y).cv_results_)


@pytest.mark.parametrize("index", [True, False])
def test_a_grid_search_written_by_pandas(index: bool) -> None:
    table = searched()
    table.to_csv("cv.csv", index=index)
    done = clfeval("mlcps", "cv.csv", "-f", "json")
    check_text(done.err.splitlines()[0])
    names = [f"criterion={p['criterion']}, max_depth={p['max_depth']}" for p in table["params"]]
    means = table[[f"mean_test_{name}" for name in SCORERS]].values.tolist()
    areas = {name: area(tuple(row)) for name, row in zip(names, means, strict=True)}
    assert scores_by_model(done) == pytest.approx(areas, rel=1e-12)
    best = max(areas, key=areas.__getitem__)
    assert json_document(done)["summary"]["best"] == [best]
    by_split = [
        [area(tuple(row)) for row in table[[f"split{s}_test_{n}" for n in SCORERS]].values.tolist()]
        for s in range(3)
    ]
    rows = json_document(done)["tables"]["models"]
    for i, row in enumerate(rows):
        spread = [split[i] for split in by_split]
        assert row["split_mean"]["value"] == pytest.approx(mean(spread), rel=1e-12)
        assert row["split_sd"]["value"] == pytest.approx(stdev(spread), rel=1e-9)
        assert row["split_wins"] == sum(split[i] == max(split) for split in by_split)
        products = [d * e for d, e in combinations(means[i], 2)]
        assert row["order_free"]["value"] == pytest.approx(2 * mean(products), rel=1e-12)
    assert [row["rank"] for row in rows] == [
        1 + sum(other > areas[name] * (1 + 1e-12) for other in set(areas.values()))
        for name in names
    ]
