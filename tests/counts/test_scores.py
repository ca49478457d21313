"""Scores of rows: top counts, each model's cut for its top rows, ranks, groups, reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clfeval
from clfeval.counts.scores import (
    ScoreTable,
    merge_group_scores,
    parse_top_count,
    rank_scores,
    read_scores,
    top_thresholds,
)
from tests import reference as ref
from tests.counts.counting import open_counts
from tests.engines import ENGINES
from tests.reference import ScoredRow
from tests.results import four_cells, warning_codes
from tests.strategies import frame_of, names, scored_tables
from tests.texts import check_text, problem_places
from tests.thoroughness import examples


def table_of(rows: list[ScoredRow]) -> ScoreTable:
    columns = zip(*[row.scores for row in rows], strict=True)
    n = np.array([row.n for row in rows], np.int64)
    return ScoreTable(names(len(rows[0].scores)), tuple(map(np.array, columns)), n)


@pytest.mark.parametrize(
    ("text", "rows", "count"),
    [
        ("200", 1000, 200),
        ("1", 1000, 1),
        ("2000", 1000, 2000),  # more than there are: all of them
        ("1e3", 5000, 1000),
        ("0.05", 1000, 50),
        ("5%", 1000, 50),
        ("0.5%", 1000, 5),
        ("1.0", 1000, 1000),
        ("100%", 1000, 1000),
        ("0.29", 100, 29),  # 0.29 * 100 is 28.999999999999996 in floating point
        ("0.57", 100, 57),  # and this one 56.99999999999999
        ("0.1", 19, 1),  # 1.9, rounded down
        ("33.3%", 10, 3),
    ],
)
def test_top_count(text: str, rows: int, count: int) -> None:
    assert parse_top_count(text, rows) == count


@pytest.mark.parametrize("text", ["0", "-3", "0.0", "1.5", "101%", "5.5.5", "x", "", "%", "1/0"])
def test_top_that_is_neither_count_nor_fraction(text: str) -> None:
    with pytest.raises(clfeval.UsageError, match="bad-top") as caught:
        parse_top_count(text, 1000)
    assert problem_places(str(caught.value)) == ["[bad-top]"]


def test_top_of_less_than_a_row() -> None:
    with pytest.raises(clfeval.UsageError, match="bad-top") as caught:
        parse_top_count("0.01", 99)
    check_text(str(caught.value))


@examples(60)
@given(scored_tables(), st.integers(1, 30))
def test_top_cuts_and_ranks_take_the_same_rows(rows: list[ScoredRow], count: int) -> None:
    table = table_of(rows)
    cuts, taken = top_thresholds(table, count)
    ranked = rank_scores(table, table)
    voted = ref.voted_top(rows, count)
    for j, name in enumerate(table.models):
        claimed = [row.votes[j] == 1 for row in voted]
        assert (table.scores[j] >= cuts[name]).tolist() == claimed
        assert (ranked.scores[j] >= -count).tolist() == claimed
        assert taken[name] == sum(row.n for row, mine in zip(rows, claimed, strict=True) if mine)


def test_ranks_are_among_all_rows_not_the_target_alone() -> None:
    everything = ScoreTable(("a",), (np.array([0.9, 0.5, 0.5, 0.1]),), np.array([1, 1, 2, 1]))
    target = everything.select(np.array([False, True, False, True]))
    # .5 has one row above it, .1 has 1 + 1 + 2
    assert [column.tolist() for column in rank_scores(everything, target).scores] == [[-2, -5]]


def test_grouped_scores_take_the_best_for_the_target() -> None:
    columns = (np.array([0.1, 0.9]), np.array([0.5, 0.5]), np.array([0.3, 0.2]))
    table = ScoreTable(("a", "b", "c"), columns, np.array([1, 1]))
    groups = {"g": ("a", "c")}
    found = merge_group_scores(table, groups, "positive")
    assert found.models == ("g", "b")
    assert [column.tolist() for column in found.scores] == [[0.3, 0.9], [0.5, 0.5]]
    negative = merge_group_scores(table, groups, "negative")
    assert [column.tolist() for column in negative.scores] == [[0.1, 0.2], [0.5, 0.5]]
    assert merge_group_scores(table, {}, "positive").models == table.models


@examples(25)
@given(scored_tables(rows=(2, 9)), st.integers(1, 12), st.sampled_from(["positive", "negative"]))
def test_top_rows_as_votes_of_the_whole_command(
    rows: list[ScoredRow], count: int, target: str
) -> None:
    frame = frame_of(rows)
    options: dict[str, Any] = {"weight": "n", "kind": "score", "interval": "none"}
    result = clfeval.mars(frame, top=count, target=target, **options)
    voted = ref.voted_top(rows, count)
    tied = False
    for j, row in enumerate(result.tables["models"]):
        assert four_cells(row) == ref.confusion(voted, j)
        found = row["exclusive_tp"] if target == "positive" else row["exclusive_tn"]
        assert found == ref.etp(voted, [j], target)
        tied = tied or row["tp"] + row["fp"] > count
    assert ("ties-at-cut" in warning_codes(result)) == tied


@pytest.mark.parametrize("engine", ENGINES)
def test_reading_leaves_out_rows_that_lack_a_value(engine: str) -> None:
    frame = pl.DataFrame(
        {
            "truth": ["1", "1", "0", "1", None, "0"],
            "a": [0.5, None, 0.25, float("nan"), 0.75, 1.0],
            "b": [0.125, 0.5, 0.75, 0.5, 0.25, 0.0],
            "site": ["x", "x", None, "y", "y", "y"],
            "n": [1, 2, 3, 4, 5, 6],
        }
    )
    options = {"weight": "n", "by": ("site",), "missing": "drop", "positive": "1"}
    with open_counts(ENGINES[engine](frame), **options) as counts:
        found = {
            kind: read_scores(counts.evaluated, kind) for kind in ("positive", "negative", "all")
        }
    rows = {
        kind: sorted(zip(*map(np.ndarray.tolist, (*table.scores, table.n)), strict=True))
        for kind, (table, _) in found.items()
    }
    assert rows["positive"] == [(0.5, 0.125, 1)]
    assert rows["negative"] == [(0.25, 0.75, 3), (1.0, 0.0, 6)]
    assert rows["all"] == sorted(rows["positive"] + rows["negative"])
    everything, masks = found["all"]
    assert {name: everything.n[mask].tolist() for name, mask in masks.items()} == {
        "site=x": [1],
        "site=y": [6],
        "site=(missing)": [3],
    }


def test_several_files_are_one_table(tmp_path: Path) -> None:
    paths = []
    for number, part in enumerate([{"a": [0.9, 0.2]}, {"a": [0.4]}]):
        paths.append(tmp_path / f"{number}.csv")
        pl.DataFrame({"truth": [1, 0][: len(part["a"])], **part}).write_csv(paths[-1])
    with open_counts(paths, kind="score") as counts:
        table, masks = read_scores(counts.evaluated, "all")
    assert (table.scores[0].tolist(), table.n.tolist(), masks) == ([0.9, 0.2, 0.4], [1, 1, 1], {})


def test_labels_cannot_be_swept(paper: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(paper)
    for asked in ({"sweep": "threshold"}, {"top": 2}):
        with pytest.raises(clfeval.UsageError) as caught:
            clfeval.mars("wide.csv", **asked)
        check_text(str(caught.value))


def test_top_and_threshold_exclude_each_other(paper: Path) -> None:
    with pytest.raises(clfeval.UsageError, match="bad-option") as caught:
        clfeval.mars(paper / "scores.csv", top=2, threshold=0.5)
    check_text(str(caught.value))
