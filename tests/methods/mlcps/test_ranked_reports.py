"""A report is ranked as it comes, whatever its values: `clfeval report ... | clfeval mlcps -`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import cast

import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.views.documents import csv_lines
from tests.results import problem_codes, row_of, rows_by, warning_messages

# `poor` ranks the wrong way round; `sure` parts the classes, and has no logistic regression
TABLE = pl.DataFrame(
    {
        "truth": [1, 1, 1, 1, 0, 0, 0, 0, 0, 0],
        "sure": [0.9, 0.8, 0.8, 0.7, 0.3, 0.2, 0.2, 0.1, 0.1, 0.1],
        "fair": [0.9, 0.6, 0.3, 0.7, 0.3, 0.6, 0.2, 0.4, 0.1, 0.2],
        "poor": [0.1, 0.2, 0.6, 0.1, 0.7, 0.8, 0.3, 0.9, 0.9, 0.6],
    }
)
GONE = {
    "brier_skill",
    "log_loss",
    "calibration_slope",
    "calibration_intercept",
    "calibration_in_the_large",
    "net_benefit",
}


Table = Path | pl.DataFrame


@pytest.fixture(scope="module", params=["json", "models", "measures", "frame"])
def report_table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Table:
    result, form = clfeval.report(TABLE, positive="1"), request.param
    if form == "frame":
        return cast(pl.DataFrame, result.frame("measures"))
    path = tmp_path_factory.mktemp("report") / f"report.{'json' if form == 'json' else 'csv'}"
    text = result.to_json() if form == "json" else "".join(csv_lines(result, form))
    path.write_text(text, "utf-8")
    return path


def left_out(result: Result) -> str:
    """Return what is said of the columns that are left out."""
    return " ".join(warning_messages(result, "left-out"))


def test_what_has_no_range_is_left_out_by_name_and_the_rest_is_scored(report_table: Table) -> None:
    """MCC of `poor` is (1·1 - 5·3) / sqrt(6·4·6·4): 14/24 below 0, 5/24 on the scale -1..1."""
    ranked = clfeval.mlcps(report_table)
    assert GONE.isdisjoint(ranked.parameters["metrics"])
    for name in GONE:
        assert f"'{name}'" in left_out(ranked)
    assert "rescale={'NAME': (LOW, HIGH)}" in left_out(ranked)
    assert "desirability='FILE.yaml'" in left_out(ranked)
    rays = rows_by(ranked, "profile", "model", "metric")
    assert rays["poor", "mcc"]["d"] == pytest.approx(
        ((1 * 1 - 5 * 3) / math.sqrt(6 * 4 * 6 * 4) + 1) / 2
    )
    assert rays["sure", "mcc"]["d"] == 1
    assert rays["poor", "sensitivity"]["d"] == 1 / 4


def test_what_is_named_is_taken_in(report_table: Table) -> None:
    """Net benefit of `fair` at 0.5: 3/10 - 1/10, on the scale -1..1 it is 0.6."""
    ranked = clfeval.mlcps(report_table, rescale={"net_benefit": (-1, 1)})
    assert "net_benefit" in ranked.parameters["metrics"]
    assert "'net_benefit'" not in left_out(ranked)
    row = row_of(ranked, "profile", model="fair", metric="net_benefit")
    assert row["d"] == pytest.approx((3 / 10 - 1 / 10 + 1) / 2)
    with pytest.raises(clfeval.DataError) as caught:
        clfeval.mlcps(report_table, metric=["net_benefit", "mcc", "f1"])
    assert {*problem_codes(caught.value)} == {"negative-metric"}
