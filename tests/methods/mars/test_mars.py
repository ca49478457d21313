"""MARS from table to Result: the worked example in every layout, and degenerate tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

import clfeval
from clfeval.result import Estimate, Result
from tests.example import ROWS, SAYS, TRUE

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


def run(layout: tuple[Path, dict[str, Any]], **options: Any) -> Result:
    path, needed = layout
    return clfeval.mars(path, **needed, **options)


def by_models(rows: Any) -> dict[tuple[str, ...], Mapping[str, Any]]:
    return {tuple(row["models"]): row for row in rows}


def value(cell: Any) -> float | None:
    assert isinstance(cell, Estimate)
    return cell.value


def exact(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the Clopper-Pearson interval as scipy's inversion of the binomial test finds it."""
    low, high = binomtest(k, n).proportion_ci(level, method="exact")
    return float(low), float(high)


def check_share(cell: Any, k: int, n: int) -> None:
    assert value(cell) == k / n
    assert (cell.low, cell.high) == pytest.approx(exact(k, n), abs=1e-10)
    assert cell.reason is None


def test_table_of_models(layout: tuple[Path, dict[str, Any]]) -> None:
    result = run(layout)
    assert result.summary == {
        "rows": 10, "positives": 6, "negatives": 4, "found": 6, "missed_by_all": 0,
        "rule": "all", "target": "positive",
    }  # fmt: skip
    table = {row["model"]: row for row in result.tables["models"]}
    assert list(table) == ["C1", "C2", "C3", "C4"]
    #        tp fp fn tn  etp efn
    expected = {
        "C1": (3, 2, 3, 2, 2, 1),  # finds 6 7 8 (6 and 8 alone), misses 2 4 10; C2-C4 all find 2
        "C2": (2, 3, 4, 1, 0, 0),
        "C3": (1, 2, 5, 2, 0, 0),
        "C4": (4, 1, 2, 3, 1, 0),  # 10 is its own
    }
    for model, (tp, fp, fn, tn, etp, efn) in expected.items():
        row = table[model]
        assert (row["tp"], row["fp"], row["fn"], row["tn"]) == (tp, fp, fn, tn)
        check_share(row["accuracy"], tp + tn, 10)
        check_share(row["precision"], tp, tp + fp)
        check_share(row["recall"], tp, 6)
        assert (row["exclusive_tp"], row["exclusive_fn"]) == (etp, efn)
        check_share(row["shine_through"], etp, 6)
        check_share(row["occlusion"], efn, 6)


def test_table_of_models_under_the_rule_any(layout: tuple[Path, dict[str, Any]]) -> None:
    rows = run(layout, occlusion="any").tables["models"]
    assert [row["exclusive_fn"] for row in rows] == [6 - 3, 6 - 2, 6 - 1, 6 - 4]  # TTP - TP
    for row, missed in zip(rows, [3, 4, 5, 2], strict=True):
        check_share(row["occlusion"], missed, 6)


@pytest.mark.parametrize("rule", ["all", "any"])
def test_pairs(layout: tuple[Path, dict[str, Any]], rule: str) -> None:
    pairs = by_models(run(layout, occlusion=rule).tables["pairs"])
    #                       ETP, EFN all, EFN any
    expected = {
        ("C1", "C2"): (2, 0, 1), ("C1", "C3"): (2, 1, 2), ("C1", "C4"): (4, 0, 0),
        ("C2", "C3"): (0, 1, 4), ("C2", "C4"): (2, 0, 2), ("C3", "C4"): (1, 0, 2),
    }  # fmt: skip
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
    pairs = by_models(clfeval.mars(paper / "wide.csv").tables["pairs"])
    # ETP 2 against 0: 2 * (1/2)**2; 2 against 1: 2 * (1 + 3) / 8 = 1; 0 against 0: 1
    assert pairs["C1", "C2"]["p_value"] == 0.5
    assert pairs["C1", "C4"]["p_value"] == 1.0
    assert pairs["C2", "C3"]["p_value"] == 1.0
    assert pairs["C3", "C4"]["p_value"] == 1.0


def test_misprint_table_4_c2_accuracy_is_0_30_where_0_20_is_printed(paper: Path) -> None:
    row = clfeval.mars(paper / "wide.csv").tables["models"][1]
    agree = {i for i in ROWS if (i in SAYS["C2"]) == (i in TRUE)}
    assert agree == {2, 4, 5}
    assert value(row["accuracy"]) == len(agree) / 10 == 0.3


def test_misprint_table_4_truncates_one_sixth_to_0_16(paper: Path) -> None:
    rows = clfeval.mars(paper / "wide.csv").tables["models"]
    assert value(rows[3]["shine_through"]) == 1 / 6  # C4: row 10
    assert value(rows[0]["occlusion"]) == 1 / 6  # C1: row 2
    assert value(rows[2]["recall"]) == 1 / 6  # C3


def test_misprint_occlusion_of_c3_c4_is_one_third_only_under_any(paper: Path) -> None:
    """The sentence "Occlusion of C3,4 is one third" is left over from version 1."""
    by_all = by_models(clfeval.mars(paper / "wide.csv").tables["pairs"])
    by_any = by_models(clfeval.mars(paper / "wide.csv", occlusion="any").tables["pairs"])
    # C3 and C4 miss 6 and 8, which C1 finds and C2 does not
    assert value(by_all["C3", "C4"]["occlusion"]) == 0
    assert value(by_any["C3", "C4"]["occlusion"]) == 2 / 6
    # and "Occlusion of C1,3 = 1/6" is right only under all
    assert value(by_all["C1", "C3"]["occlusion"]) == 1 / 6
    assert value(by_any["C1", "C3"]["occlusion"]) == 2 / 6


@pytest.mark.parametrize("rule", ["all", "any"])
def test_target_negative(layout: tuple[Path, dict[str, Any]], rule: str) -> None:
    result = run(layout, target="negative", occlusion=rule)
    # The negatives 1 3 5 9 are found, that is called 0: 1 by C3 C4, 3 by C1 C3, 5 by C2 C4,
    # 9 by C1 C4. All four are found, none by one model alone, and none is missed by one alone.
    assert result.summary["found"] == 4
    assert result.summary["missed_by_all"] == 0
    missed_any = {"C1": 4 - 2, "C2": 4 - 1, "C3": 4 - 2, "C4": 4 - 3}
    for row in result.tables["models"]:
        tn = len((ROWS - TRUE) - SAYS[row["model"]])
        assert row["tn"] == tn
        # the four cells stay those of the positive class
        assert row["tp"] == len(TRUE & SAYS[row["model"]])
        assert row["fp"] == len(SAYS[row["model"]] - TRUE)
        assert row["fn"] == len(TRUE - SAYS[row["model"]])
        assert row["exclusive_tn"] == 0
        check_share(row["shine_through"], 0, 4)
        efp = missed_any[row["model"]] if rule == "any" else 0
        assert row["exclusive_fp"] == efp
        check_share(row["occlusion"], efp, 4)
    pairs = by_models(result.tables["pairs"])
    #          ETN, EFP all, EFP any: row 1 is all C3 and C4's, and C1 and C2 alone miss it, ...
    expected = {
        ("C1", "C2"): (0, 1, 1), ("C1", "C3"): (1, 1, 1), ("C1", "C4"): (1, 0, 0),
        ("C2", "C3"): (0, 1, 1), ("C2", "C4"): (1, 1, 1), ("C3", "C4"): (1, 0, 0),
    }  # fmt: skip
    for pair, (etn, efp_all, efp_any) in expected.items():
        row = pairs[pair]
        says_0 = ROWS - (SAYS[pair[0]] & SAYS[pair[1]])
        assert (row["covered"], row["effort"]) == (len(says_0 - TRUE), len(says_0))
        assert (row["exclusive_tn"], row["exclusive_fp"]) == (
            etn, efp_all if rule == "all" else efp_any,
        )  # fmt: skip


def test_all_subsets_of_the_example(layout: tuple[Path, dict[str, Any]]) -> None:
    subsets = run(layout, subsets="all").tables["subsets"]
    assert len(subsets) == 2**4 - 1
    for row in subsets:
        inside = set().union(*(SAYS[name] for name in row["models"]))
        outside = [SAYS[name] for name in SAYS if name not in row["models"]]
        found = inside & TRUE
        assert (row["covered"], row["effort"]) == (len(found), len(inside))
        assert row["exclusive_tp"] == len(found - set().union(*outside))
        missed = (TRUE - inside).intersection(*outside) if outside else set()
        assert row["exclusive_fn"] == len(missed)
    sizes = [len(row["models"]) for row in subsets]
    assert sizes == sorted(sizes)
    everyone = subsets[-1]
    check_share(everyone["shine_through"], 6, 6)
    assert everyone["occlusion"] == Estimate(None, reason="no_other_model")
