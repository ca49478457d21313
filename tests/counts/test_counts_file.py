"""Counts files: what they hold, that they add up, and that results from them are those of rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import clfeval
from clfeval.counts.files import exact_keys
from clfeval.tables.layouts.counts_file import METADATA
from tests.thoroughness import examples

ROWS = """id,truth,a,b,site
1,1,0.9,1,x
2,1,0.9,0,x
3,0,0.2,0,y
4,0,0.9,0,y
5,1,0.5,1,y
"""
# what a result has only where rows are known: who is tied with the best, by comparisons of scores
OF_ROWS = ("best", "winner", "comparisons")
ABOUT = ("signature", "inputs", "answer", "truth")


def table_of(dice: np.random.Generator, rows: int) -> pl.DataFrame:
    truth = dice.random(rows) < 0.4
    return pl.DataFrame({
        "truth": np.where(truth, "yes", "no"),
        "few": np.round(np.clip(0.4 * truth + dice.random(rows) * 0.6, 0, 1), 1),
        "many": np.clip(0.3 * truth + dice.random(rows) * 0.7, 0, 1),
        "rule": np.where(dice.random(rows) < 0.8, np.where(truth, "yes", "no"), "no"),
        "site": dice.choice(["a", "b b", "c"], rows),
    })  # fmt: skip


def counts_of(table: Any, place: Path, **options: Any) -> Path:
    if isinstance(table, pl.DataFrame) and not options.get("by"):
        table = table.drop("site")
    clfeval.count(table, **options).save(place)
    return place


def content(place: Path) -> tuple[list[tuple[Any, ...]], dict[str, Any]]:
    about = json.loads(pl.read_parquet_metadata(place)[METADATA])
    return pl.read_parquet(place).rows(), about


def test_a_small_table_by_hand(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(ROWS)
    place = counts_of(tmp_path / "t.csv", tmp_path / "t.counts.parquet", by="site",
                      model=("a", "b"))  # fmt: skip
    rows, about = content(place)
    assert pl.read_parquet(place).columns == [
        "block", "b0", "model", "truth", "pattern", "key", "n", "lo", "hi",
    ]  # fmt: skip
    assert {row[1:7] for row in rows if row[0] == "patterns"} == {
        ("x", None, True, "11", None, 1), ("x", None, True, "10", None, 1),
        ("y", None, False, "00", None, 1), ("y", None, False, "10", None, 1),
        ("y", None, True, "11", None, 1),
    }  # fmt: skip
    of_a = {(b, truth, n, lo, hi) for what, b, model, truth, _, _, n, lo, hi in rows if model}
    assert of_a == {("x", True, 2, 0.9, 0.9), ("y", False, 1, 0.2, 0.2), ("y", False, 1, 0.9, 0.9),
                    ("y", True, 1, 0.5, 0.5)}  # fmt: skip
    assert about["positive"] == "1"
    assert about["classes"] == ["0", "1"]
    assert about["thresholds"] == {"a": 0.5, "b": None}
    assert about["by"] == [["site"]]
    assert about["rows"] == 5
    assert "id" not in str(rows)


@examples(30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.integers(1, 50), st.booleans())
def test_shards_in_any_order_give_the_counts_of_the_table(
    tmp_path: Path, seed: int, shards: int, by: bool
) -> None:
    """Addition of counts is associative and commutative: also of sums of some with the others."""
    dice = np.random.default_rng(seed)
    table = table_of(dice, int(dice.integers(shards, 200)))
    said: dict[str, Any] = {"positive": "yes", "by": "site" if by else (), "classes": ["yes", "no"]}
    whole = counts_of(table, tmp_path / "whole.counts.parquet", **said)
    part = dice.permutation(np.arange(len(table)) % shards)
    places = [
        counts_of(table.filter(part == k), tmp_path / f"{k}.counts.parquet", **said)
        for k in dice.permutation(shards).tolist()
    ]
    together = counts_of([*map(str, places)], tmp_path / "together.counts.parquet")
    first = int(dice.integers(0, shards))
    groups = [some for some in (places[:first], places[first:]) if some]
    sums = [counts_of([*map(str, some)], tmp_path / f"sum{i}.counts.parquet")
            for i, some in enumerate(groups)]  # fmt: skip
    again = counts_of([*map(str, sums)], tmp_path / "again.counts.parquet")
    rows, about = content(whole)
    for place in (together, again):
        found, said_of = content(place)
        assert found == rows
        assert {**said_of, "parts": 0} == {**about, "parts": 0}
    assert together.read_bytes() == again.read_bytes()
    for place in tmp_path.iterdir():
        place.unlink()


@pytest.mark.parametrize("command", ["report", "mars", "phidelta", "tune_jpt"])
@pytest.mark.parametrize("by", [(), "site"])
def test_results_are_those_of_the_rows(command: str, by: Any, tmp_path: Path) -> None:
    table = table_of(np.random.default_rng(3), 400)
    half = len(table) // 2
    said: dict[str, Any] = {"positive": "yes", "by": by}
    places = [str(counts_of(some, tmp_path / f"{name}.counts.parquet", **said))
              for name, some in (("a", table[:half]), ("b", table[half:]))]  # fmt: skip
    function = getattr(clfeval, command)
    table = table if by else table.drop("site")
    of_rows, of_counts = function(table, **said).to_dict(), function(places).to_dict()
    scored = command == "report"
    assert {*of_rows["tables"]} - {*of_counts["tables"]} <= {*OF_ROWS} if scored else True
    for key in of_rows.keys() - {*ABOUT, "tables", "warnings"}:
        assert of_rows[key] == of_counts[key], key
    for name, rows in of_counts["tables"].items():
        if scored and name == "comparisons":
            continue
        for row, other in zip(of_rows["tables"][name], rows, strict=True):
            assert {**row, "tied": 0} == {**other, "tied": 0}
    if not scored:
        assert of_rows["answer"] == of_counts["answer"]


def test_scores_are_not_compared_and_it_is_said(tmp_path: Path) -> None:
    place = counts_of(table_of(np.random.default_rng(5), 300), tmp_path / "t.counts.parquet",
                      positive="yes")  # fmt: skip
    result = clfeval.report(place, reference="few")
    assert "counts do not show which rows the scores share" in str(result.answer)
    compared = {row["measure"] for row in result.tables["comparisons"]}
    assert "sensitivity" in compared
    assert "roc_auc" not in compared


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "positive": ({"positive": "no"}, "its positive class: 'no'; in .*a.counts.parquet: 'yes'"),
    "slices": ({"by": "site"}, "its slices"),
    "threshold": ({"threshold": 0.3}, "its thresholds: "),
    "models": ({"ignore": "many"}, "its models: 'few', 'rule'; in .*a.counts.parquet"),
}


@pytest.mark.parametrize("name", CASES)
def test_files_that_do_not_fit_are_refused_by_name(name: str, tmp_path: Path) -> None:
    table = table_of(np.random.default_rng(1), 60)
    first = counts_of(table[:30], tmp_path / "a.counts.parquet", positive="yes")
    said, text = CASES[name]
    second = counts_of(table[30:], tmp_path / "b.counts.parquet", **{"positive": "yes", **said})
    with pytest.raises(clfeval.DataError, match="b.counts.parquet: " + text):
        clfeval.report([str(first), str(second)])


def test_the_same_rows_are_not_counted_twice(tmp_path: Path) -> None:
    table = table_of(np.random.default_rng(1), 60)
    places = [str(counts_of(table, tmp_path / f"{name}.counts.parquet", positive="yes"))
              for name in "ab"]  # fmt: skip
    with pytest.raises(clfeval.DataError, match=r"b\.counts.* counts the same rows as .*a\.counts"):
        clfeval.mars(places)
    other = counts_of(table[:20], tmp_path / "c.counts.parquet", positive="yes")
    both = counts_of([places[0], str(other)], tmp_path / "both.counts.parquet")
    with pytest.raises(clfeval.DataError, match="counts the same rows"):
        clfeval.count([str(both), str(other)])


def test_what_needs_rows_is_refused(tmp_path: Path) -> None:
    table = table_of(np.random.default_rng(1), 60).drop("site")
    clfeval.count(table, positive="yes").save(place := tmp_path / "t.counts.parquet")
    table.write_csv(tmp_path / "t.csv")
    for call, text in (
        (lambda: clfeval.report(place, by="site"), "by needs rows, but .*t.counts.parquet holds"),
        (lambda: clfeval.report(place, threshold=0.2), "threshold needs rows"),
        (lambda: clfeval.mars(place, top="5%"), "top needs rows"),
        (lambda: clfeval.mars(place, list="found"), "this needs rows"),
        (lambda: clfeval.report(place, positive="no"), "its positive class is 'yes', not 'no'"),
        (lambda: clfeval.report([str(place), str(tmp_path / "t.csv")]), "is a table of rows, but"),
        (lambda: clfeval.report(table, positive="yes").save(tmp_path / "r.counts.parquet"),
         "only `count` writes counts"),
    ):  # fmt: skip
        with pytest.raises(clfeval.ClfevalError, match=text):
            call()
    assert not (tmp_path / "r.counts.parquet").exists()


@examples(200)
@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=20, unique=True))
def test_keys_have_the_order_of_the_scores(values: list[float]) -> None:
    scores = np.array(sorted({value + 0.0 for value in values}))
    keys = exact_keys(scores)
    assert (np.diff(keys.astype(object)) > 0).all()
