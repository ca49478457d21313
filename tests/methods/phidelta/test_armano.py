"""Armano 2015, Table 3: two classifiers, four runs each, given by specificity and sensitivity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clfeval
from clfeval.api.result import Result
from tests.results import Line, four_cells, rows_by, value_of

# classifier, run: specificity, sensitivity -> accuracy in %, bias (sensitivity - specificity)
TABLE_3 = {
    ("C21", "1"): (0.716, 0.756, 73.60, 0.040),
    ("C21", "2"): (0.782, 0.729, 75.55, -0.053),
    ("C21", "3"): (0.762, 0.691, 72.65, -0.071),
    ("C21", "4"): (0.718, 0.677, 69.75, -0.041),
    ("E11", "1"): (0.818, 0.793, 80.55, -0.025),
    ("E11", "2"): (0.834, 0.796, 81.50, -0.038),  # the paper prints -0.082: .796 - .834 is -.038
    ("E11", "3"): (0.776, 0.731, 75.35, -0.045),
    ("E11", "4"): (0.741, 0.684, 71.25, -0.057),
}


def per_thousand() -> list[tuple[Any, ...]]:
    """Write each row as counts of 1000 positives and 1000 negatives."""
    lines = []
    for (model, run), (spec, sens, _, _) in TABLE_3.items():
        tp, tn = round(1000 * sens), round(1000 * spec)
        lines.append((model, run, tp, 1000 - tn, 1000 - tp, tn))
    return lines


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    path = tmp_path_factory.mktemp("armano") / "table3.csv"
    lines = [",".join(map(str, line)) for line in per_thousand()]
    path.write_text("\n".join(["model,run,tp,fp,fn,tn", *lines]) + "\n")
    return clfeval.phidelta(path, run="run")


@pytest.fixture(scope="module")
def runs(result: Result) -> dict[tuple[str, str], Line]:
    return rows_by(result, "runs", "model", "run")


@pytest.mark.parametrize("key", TABLE_3, ids=" run ".join)
def test_position_and_unbiased_accuracy(
    key: tuple[str, str], runs: dict[tuple[str, str], Line]
) -> None:
    spec, sens, accuracy, bias = TABLE_3[key]
    row = runs[key]
    assert value_of(row["specificity"]) == spec
    assert value_of(row["sensitivity"]) == sens
    assert value_of(row["phi"]) == pytest.approx(bias, abs=1e-15)
    assert value_of(row["delta"]) == pytest.approx(sens + spec - 1, abs=1e-15)
    assert 100 * value_of(row["accuracy_u"]) == pytest.approx(accuracy, abs=1e-12)


def test_the_spread_of_unbiased_accuracy_is_the_papers_s_dev(result: Result) -> None:
    spread = rows_by(result, "run_spread", "model")
    for model in ("C21", "E11"):
        accuracy = [acc / 100 for (name, _), (_, _, acc, _) in TABLE_3.items() if name == model]
        bias = [phi for (name, _), (_, _, _, phi) in TABLE_3.items() if name == model]
        row = spread[model]
        assert row["runs"] == 4
        assert row["accuracy_u_sd"] == pytest.approx(np.std(accuracy, ddof=1), rel=1e-12)
        assert value_of(row["accuracy_u_mean"]) == pytest.approx(np.mean(accuracy), rel=1e-12)
        assert value_of(row["phi_mean"]) == pytest.approx(np.mean(bias), rel=1e-12)


def test_the_whole_table_is_the_sum_of_the_runs(result: Result) -> None:
    totals = rows_by(result, "models", "model")
    for model in ("C21", "E11"):
        runs = [line[2:] for line in per_thousand() if line[0] == model]
        expected = [sum(cells) for cells in zip(*runs, strict=True)]
        assert [*four_cells(totals[model])] == expected
    assert result.summary["runs"] == 4
    assert (result.summary["positives"], result.summary["negatives"]) == (4000, 4000)


def test_the_fixture_is_the_same_table(fixtures: Path, result: Result) -> None:
    stored = clfeval.phidelta(fixtures / "armano" / "runs.csv", run="run")
    assert stored.to_dict()["tables"] == result.to_dict()["tables"]


def test_without_run_the_repeated_models_are_refused_and_run_is_offered(fixtures: Path) -> None:
    with pytest.raises(clfeval.DataError) as caught:
        clfeval.phidelta(fixtures / "armano" / "runs.csv")
    assert (caught.value.problems[0].code, caught.value.problems[0].row) == ("duplicate-row", 3)
    assert "'C21'" in caught.value.problems[0].message
    assert "run=COLUMN" in str(caught.value.hint)
