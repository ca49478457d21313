"""MARS from table to Result: the worked example in every layout, and degenerate tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

import clfeval
from clfeval.api.result import Result
from tests.example import SAYS, TRUE
from tests.results import Line, four_cells, limits_of, rows_by, rows_of, value_of

LAYOUTS: dict[str, dict[str, Any]] = {
    "wide.csv": {},
    "wide.parquet": {},
    "long.csv": {},
    "long.parquet": {},
    "long-readme.csv": {},
    "weighted.csv": {"weight": "n"},
    "scores.csv": {},
    "scores.csv at .5": {"threshold": 0.5},
}


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest, paper: Path) -> tuple[Path, dict[str, Any]]:
    """Each way the worked example is written, with the options it needs."""
    return paper / request.param.split(" ")[0], LAYOUTS[request.param]


def result_of(layout: tuple[Path, dict[str, Any]], **options: Any) -> Result:
    path, layout_options = layout
    return clfeval.mars(path, **layout_options, **options)


def rows_by_pair(result: Result) -> dict[tuple[str, ...], Line]:
    return {tuple(row["models"]): row for row in rows_of(result, "pairs")}


def exact(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the Clopper-Pearson interval as scipy's inversion of the binomial test finds it."""
    low, high = binomtest(k, n).proportion_ci(level, method="exact")
    return float(low), float(high)


def check_share(cell: Any, k: int, n: int) -> None:
    assert value_of(cell) == k / n
    assert limits_of(cell) == pytest.approx(exact(k, n), abs=1e-10)
    assert cell.reason is None


def test_table_of_models(layout: tuple[Path, dict[str, Any]]) -> None:
    result = result_of(layout)
    assert result.summary == {
        "rows": 10,
        "positives": 6,
        "negatives": 4,
        "found": 6,
        "missed_by_all": 0,
        "rule": "all",
        "target": "positive",
    }
    rows = rows_by(result, "models", "model")
    assert list(rows) == ["C1", "C2", "C3", "C4"]
    #        tp fp fn tn  etp efn
    expected = {
        "C1": (3, 2, 3, 2, 2, 1),  # finds 6 7 8 (6 and 8 alone), misses 2 4 10; C2-C4 all find 2
        "C2": (2, 3, 4, 1, 0, 0),  # accuracy .30, where Table 4 prints .20
        "C3": (1, 2, 5, 2, 0, 0),
        "C4": (4, 1, 2, 3, 1, 0),  # 10 is its own
    }
    for model, (tp, fp, fn, tn, etp, efn) in expected.items():
        row = rows[model]
        assert four_cells(row) == (tp, fp, fn, tn)
        check_share(row["accuracy"], tp + tn, 10)
        check_share(row["precision"], tp, tp + fp)
        check_share(row["recall"], tp, 6)
        assert (row["exclusive_tp"], row["exclusive_fn"]) == (etp, efn)
        check_share(row["shine_through"], etp, 6)
        check_share(row["occlusion"], efn, 6)


@pytest.mark.parametrize("rule", ["all", "any"])
def test_pairs(layout: tuple[Path, dict[str, Any]], rule: str) -> None:
    pairs = rows_by_pair(result_of(layout, occlusion=rule))
    #                       ETP, EFN all, EFN any
    expected = {
        ("C1", "C2"): (2, 0, 1),
        ("C1", "C3"): (2, 1, 2),
        ("C1", "C4"): (4, 0, 0),
        ("C2", "C3"): (0, 1, 4),
        ("C2", "C4"): (2, 0, 2),
        ("C3", "C4"): (1, 0, 2),
    }
    # "Occlusion of C3,4 is one third" holds only under any: left over from version 1 of the paper
    assert list(pairs) == list(expected)
    for pair, (etp, efn_all, efn_any) in expected.items():
        row, efn = pairs[pair], efn_all if rule == "all" else efn_any
        union = SAYS[pair[0]] | SAYS[pair[1]]
        assert (row["covered"], row["effort"]) == (len(union & TRUE), len(union))
        check_share(row["yield"], len(union & TRUE), len(union))
        assert (row["exclusive_tp"], row["exclusive_fn"]) == (etp, efn)
        check_share(row["shine_through"], etp, 6)
        check_share(row["occlusion"], efn, 6)


def test_sign_test_between_the_two_of_a_pair(paper: Path) -> None:
    pairs = rows_by_pair(clfeval.mars(paper / "wide.csv"))
    # ETP 2 against 0: 2 * (1/2)**2; 2 against 1: 2 * (1 + 3) / 8 = 1; 0 against 0: 1
    assert pairs["C1", "C2"]["p_value"] == 0.5
    assert pairs["C1", "C4"]["p_value"] == 1.0
    assert pairs["C2", "C3"]["p_value"] == 1.0
    assert pairs["C3", "C4"]["p_value"] == 1.0
