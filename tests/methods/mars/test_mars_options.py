"""Options of MARS: subsets, best, effort, groups, slices, weights, level."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

import clfeval
from clfeval.document.cells import Estimate
from tests import reference as ref
from tests.example import PAPER, SAYS, TRUE
from tests.reference import Row
from tests.results import estimate_of, four_cells, limits_of, row_of, rows_of, value_of
from tests.strategies import frame_of, tables
from tests.thoroughness import examples


def test_subsets_best_and_effort_of_the_example(paper: Path) -> None:
    result = clfeval.mars(paper / "wide.csv", subsets=2, best=4, max_effort=6)
    assert len(result.tables["subsets"]) == 4 + 6
    best = result.tables["best"]
    # one: C4 finds 2 4 7 10; two: with C1 also 6 8, that is all, at 9 claims (1-8 and 10);
    # three: C2 or C3 each add claim 9 and no other, so the tie goes to the one that comes first
    assert (SAYS["C2"] | SAYS["C3"]) - (SAYS["C1"] | SAYS["C4"]) == {9}
    assert 9 in SAYS["C2"] & SAYS["C3"]
    expected = [["C4"], ["C1", "C4"], ["C1", "C2", "C4"], ["C1", "C2", "C3", "C4"]]
    assert [row["models"] for row in best] == expected
    assert [(row["size"], row["covered"], row["gain"]) for row in best] == [
        (1, 4, 4),
        (2, 6, 2),
        (3, 6, 0),
        (4, 6, 0),
    ]
    # with at most 6 claims: C4 (5 claims, 4 found); C3 and C4 claim 2 3 4 5 7 9 10
    allowed = row_of(result, "max_effort")
    assert (allowed["models"], allowed["covered"], allowed["effort"]) == (["C4"], 4, 5)
    assert clfeval.mars(paper / "wide.csv", max_effort=2).tables["max_effort"] == []


def test_slices_are_their_own_tables() -> None:
    frame = pl.DataFrame(
        {
            "site": ["x", "x", "y", "y", "y"],
            "truth": [1, 1, 1, 1, 0],
            "a": [1, 0, 1, 0, 1],
            "b": [0, 0, 1, 1, 0],
        }
    )
    options: dict[str, Any] = {"subsets": "all", "kind": "label"}
    whole = clfeval.mars(frame, by="site", **options)
    assert [row["slice"] for row in whole.tables["slices"]] == ["site=x", "site=y"]
    for site in ("x", "y"):
        part = clfeval.mars(frame.filter(pl.col("site") == site).drop("site"), **options)
        for name in ("models", "pairs", "subsets"):
            slice_rows = rows_of(whole, name, slice=f"site={site}")
            assert [{**row, "slice": None} for row in slice_rows] == rows_of(part, name)


def test_weights_equal_repetition_intervals_included(paper: Path) -> None:
    weighted = pl.read_csv(paper / "weighted.csv").with_columns(pl.col("n") * 3)
    long = weighted.select(pl.exclude("n").repeat_by("n")).explode(pl.all())
    assert long.height == 30
    options: dict[str, Any] = {"subsets": "all", "best": 3, "max_effort": 20}
    by_weight = clfeval.mars(weighted, weight="n", **options)
    by_row = clfeval.mars(long, **options)
    assert by_weight.tables == by_row.tables
    assert by_weight.summary == by_row.summary


def test_level_and_interval_none(paper: Path) -> None:
    row = rows_of(clfeval.mars(paper / "wide.csv", level=0.5), "models")[0]
    expected = binomtest(2, 6).proportion_ci(0.5, method="exact")
    limits = limits_of(row["shine_through"])
    assert limits == pytest.approx((expected.low, expected.high), abs=1e-10)
    for row in clfeval.mars(paper / "wide.csv", interval="none").tables["models"]:
        assert row["recall"] == Estimate(row["tp"] / 6)


def test_fractional_weights_are_counted_as_floats() -> None:
    frame = pl.DataFrame({"truth": [1, 1, 0], "a": [1, 0, 1], "b": [1, 1, 0], "w": [0.5, 0.25, 2]})
    result = clfeval.mars(frame, weight="w", interval="none")
    mean = (0.5 + 0.25 + 2) / 3
    assert result.summary["found"] == pytest.approx((0.5 + 0.25) / mean)
    a, b = rows_of(result, "models")
    assert four_cells(a) == pytest.approx((0.5 / mean, 2 / mean, 0.25 / mean, 0))
    assert value_of(b["shine_through"]) == 0.25 / 0.75
    # one row that b alone finds, and none of a
    assert row_of(result, "pairs")["p_value"] == pytest.approx(1)


def test_fractional_weights_that_add_up_are_fractional_still() -> None:
    """Two rows of weight one half are not one row."""
    frame = pl.DataFrame(
        {"truth": [1, 1, 0, 0], "a": [1, 1, 0, 0], "b": [1, 1, 1, 1], "w": [0.5, 0.5, 1.5, 0.5]}
    )
    summary = clfeval.mars(frame, weight="w").summary
    assert summary["effective_rows"] == pytest.approx((0.5 + 0.5 + 1.5 + 0.5) ** 2 / 3)


def test_the_example_is_the_same_as_sets_and_as_bit_strings() -> None:
    for i, row in enumerate(PAPER, start=1):
        assert row.truth == (i in TRUE)
        assert list(row.votes) == [i in SAYS[name] for name in SAYS]


@examples(25)
@given(
    tables(models=(1, 5), rows=(1, 10)),
    st.sampled_from(["positive", "negative"]),
    st.sampled_from(["all", "any"]),
)
def test_every_table_of_the_result_against_brute_force(
    rows: list[Row], target: str, rule: str
) -> None:
    k = len(rows[0].votes)
    result = clfeval.mars(
        frame_of(rows),
        weight="n",
        kind="label",
        classes=["0", "1"],
        positive="1",
        target=target,
        occlusion=rule,
        subsets="all",
        best=k,
        interval="none",
    )
    hit, miss = ("tp", "fn") if target == "positive" else ("tn", "fp")
    ttp = ref.ttp(rows, target)
    assert (result.summary["found"], result.summary["rows"]) == (ttp, sum(row.n for row in rows))
    assert result.summary["missed_by_all"] == ref.targets(rows, target) - ttp
    for j, model_row in enumerate(rows_of(result, "models")):
        assert four_cells(model_row) == ref.confusion(rows, j)
    subsets = {tuple(row["models"]): row for row in rows_of(result, "subsets")}
    assert len(subsets) == 2**k - 1
    for subset in ref.subsets_of(k):
        if not subset:
            continue
        row = subsets[tuple(f"m{j}" for j in subset)]
        covered, claimed = ref.covered(rows, subset, target), ref.effort(rows, subset, target)
        etp, efn = ref.etp(rows, subset, target), ref.efn(rows, subset, rule, target)
        assert (row["covered"], row["effort"]) == (covered, claimed)
        assert estimate_of(row["yield"]).value == (covered / claimed if claimed else None)
        assert (row[f"exclusive_{hit}"], row[f"exclusive_{miss}"]) == (etp, efn)
        assert estimate_of(row["shine_through"]).value == (etp / ttp if ttp else None)
        hidden = efn / ttp if ttp and len(subset) < k else None
        assert estimate_of(row["occlusion"]).value == hidden
    for row in (*rows_of(result, "pairs"), *rows_of(result, "best")):
        expected = subsets[tuple(row["models"])]
        assert {key: row[key] for key in expected} == expected
