"""The observations behind the counts: which ids one model alone finds or misses."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clfeval
from tests import reference as ref
from tests.engines import ENGINES
from tests.example import SAYS, TRUE
from tests.reference import Row
from tests.strategies import frame_of, tables
from tests.thoroughness import examples

BOTH = ["found", "missed"]


def exclusive_rows(
    table: Any, kinds: list[str] = BOTH, **options: Any
) -> list[tuple[str, str, Any]]:
    """Return (model, kind, id or row) in the order of the table `exclusive`."""
    rows = clfeval.mars(table, list=kinds, interval="none", **options).tables["exclusive"]
    return [(row["model"], row["list"], row.get("id", row.get("row"))) for row in rows]


def by_hand(
    rows: list[Row], groups: list[list[int]], target: str, rule: str
) -> list[tuple[str, str, str]]:
    """Ask every row by itself: its exclusive count as a table of one row is 1 or 0."""
    columns, merged = ref.merged(rows, groups, target)
    named = ["g" if len(column) > 1 else f"m{column[0]}" for column in columns]
    return [
        (name, kind, f"i{i}")
        for j, name in enumerate(named)
        for kind in BOTH
        for i, row in enumerate(merged)
        if (ref.etp([row], [j], target) if kind == "found" else ref.efn([row], [j], rule, target))
    ]


@examples(40)
@given(
    tables(weights=(1, 1)),
    st.sampled_from(["positive", "negative"]),
    st.sampled_from(["all", "any"]),
    st.booleans(),
)
def test_lists_against_brute_force(rows: list[Row], target: str, rule: str, grouped: bool) -> None:
    frame = frame_of(rows, weight=False).insert_column(
        0, pl.Series("id", [f"i{i}" for i in range(len(rows))])
    )
    grouped = grouped and len(rows[0].votes) > 2
    options: dict[str, Any] = {"group": {"g": ["m0", "m2"]}} if grouped else {}
    options |= {"kind": "label", "classes": ["0", "1"], "positive": "1"}
    found = exclusive_rows(frame, target=target, occlusion=rule, **options)
    assert found == by_hand(rows, [[0, 2]] if grouped else [], target, rule)


@pytest.mark.parametrize("name", ["wide.csv", "wide.parquet", "scores.csv", "long.csv"])
def test_the_example(paper: Path, name: str) -> None:
    expected = [
        (model, "found", str(i))
        for model, said in SAYS.items()
        for i in sorted(TRUE & said)
        if not any(i in other for key, other in SAYS.items() if key != model)
    ]
    assert expected == [("C1", "found", "6"), ("C1", "found", "8"), ("C4", "found", "10")]
    assert sorted(exclusive_rows(paper / name, ["found"])) == sorted(expected)
    assert exclusive_rows(paper / name, ["missed"]) == [("C1", "missed", "2")]
    kinds = [kind for _, kind, _ in exclusive_rows(paper / name, ["missed", "found"])]
    assert kinds == ["missed", "found", "found", "found"]


def test_without_id_the_row_counts_from_the_header(tmp_path: Path) -> None:
    frame = pl.DataFrame({"truth": [0, 1, 1], "a": [1, 1, 0], "b": [0, 0, 1]})
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    # the header is row 1, so the second observation stands in row 3
    assert exclusive_rows(tmp_path / "t.csv", ["found"]) == [("a", "found", 3), ("b", "found", 4)]
    # a typed table has no header: rows count from 1
    for table in (tmp_path / "t.parquet", frame):
        assert exclusive_rows(table, ["found"]) == [("a", "found", 2), ("b", "found", 3)]


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_lack_a_value_are_not_listed(engine: str) -> None:
    frame = pl.DataFrame(
        {
            "id": ["p", "q", "r", "s", "t"],
            "truth": ["1", "1", "1", None, "1"],
            "a": ["1", "1", None, "1", "0"],
            "b": ["0", None, "1", "0", "1"],
        }
    )
    table = ENGINES[engine](frame)
    found = exclusive_rows(table, missing="drop")
    assert found == [
        ("a", "found", "p"),
        ("a", "missed", "t"),
        ("b", "found", "t"),
        ("b", "missed", "p"),
    ]


def test_rows_of_weight_zero_are_not_listed() -> None:
    """They count nothing, so they are no exclusive find either."""
    frame = pl.DataFrame({"id": ["p", "q"], "truth": [1, 1], "a": [1, 0], "b": [0, 1], "n": [0, 1]})
    result = clfeval.mars(frame, weight="n", list=["found"])
    assert [row["exclusive_tp"] for row in result.tables["models"]] == [0, 1]
    assert [row["id"] for row in result.tables["exclusive"]] == ["q"]


def test_the_file_of_every_row_is_named(tmp_path: Path) -> None:
    for name in ("one", "two"):
        pl.DataFrame({"truth": [1], "a": [1], "b": [0]}).write_csv(tmp_path / f"{name}.csv")
    paths = [tmp_path / "one.csv", tmp_path / "two.csv"]
    rows = clfeval.mars(paths, list=["found"], kind="label").tables["exclusive"]
    assert [(row["file"], row["row"]) for row in rows] == [("one.csv", 2), ("two.csv", 2)]


def test_a_long_table_lists_in_the_same_order_every_time(tmp_path: Path) -> None:
    """Same input, same bytes; and the order of the table, as for a wide one."""
    chance = random.Random(5)
    lines = ["id,model,prediction,truth"]
    for i in range(2000):
        truth = chance.randint(0, 1)
        lines += [f"i{i},{model},{chance.randint(0, 1)},{truth}" for model in ("a", "b")]
    path = tmp_path / "long.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    first = exclusive_rows(path)
    assert len(first) > 500
    for _ in range(3):
        assert exclusive_rows(path) == first
    ids = [int(name[1:]) for model, kind, name in first if (model, kind) == ("a", "found")]
    assert ids == sorted(ids)
