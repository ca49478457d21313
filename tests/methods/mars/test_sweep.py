"""Sweeps over thresholds and over top rows: every cut equals voting anew at that cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clfeval
from clfeval.counts.scores import ScoreTable, rank_scores
from clfeval.methods.mars.tables import (
    SweepCounts,
    choose_thresholds,
    distinct_thresholds,
    sweep_thresholds,
)
from tests import reference as ref
from tests.reference import Row, ScoredRow
from tests.results import Line, row_of, rows_of, warning_codes
from tests.strategies import frame_of, names, scored_tables
from tests.thoroughness import examples

TARGETS = st.sampled_from(["positive", "negative"])
CLASS = {"positive": 1, "negative": 0}


def columns_of(rows: Sequence[ScoredRow]) -> tuple[np.ndarray, ...]:
    return tuple(np.array(column) for column in zip(*[row.scores for row in rows], strict=True))


def table_of(rows: Sequence[ScoredRow]) -> ScoreTable:
    n = np.array([row.n for row in rows], np.int64)
    return ScoreTable(names(len(rows[0].scores)), columns_of(rows), n)


def check_every_cut(
    steps: SweepCounts, rows: Callable[[float], list[Row]], target: str, k: int
) -> None:
    """Hold every count at every cut against rows voted anew."""
    for c, cut in enumerate(steps.cuts.tolist()):
        voted = rows(cut)
        assert steps.detected[c] == ref.ttp(voted, target)
        for j in range(k):
            assert steps.hits[j, c] == ref.covered(voted, [j], target)
            assert steps.exclusive[j, c] == ref.etp(voted, [j], target)
            assert steps.missed_all[j, c] == ref.efn(voted, [j], "all", target)
            if k > 1:
                assert steps.missed_any[j, c] == ref.efn(voted, [j], "any", target)


@examples(60)
@given(scored_tables(), TARGETS)
def test_thresholds_equal_voting_anew(rows: list[ScoredRow], target: str) -> None:
    target_rows = [row for row in rows if row.truth == CLASS[target]]
    if not target_rows:
        return
    table = table_of(target_rows)
    cuts = distinct_thresholds(table.scores)
    assert cuts.tolist() == sorted({score for row in target_rows for score in row.scores})
    # also between, below and above the scores, and at those of the other class
    further = np.union1d(cuts, [-1.0, 0.05, 0.1, 0.3, 0.5, 0.6, 0.95, 1.0, 2.0])
    for thresholds in (cuts, further):
        steps = sweep_thresholds(table.scores, table.n, target, thresholds)
        check_every_cut(steps, lambda cut: ref.voted(rows, cut), target, len(table.models))


@examples(60)
@given(scored_tables(), TARGETS)
def test_top_rows_equal_voting_anew(rows: list[ScoredRow], target: str) -> None:
    target_rows = [row for row in rows if row.truth == CLASS[target]]
    if not target_rows:
        return
    ranked = rank_scores(table_of(rows), table_of(target_rows))
    steps = sweep_thresholds(ranked.scores, ranked.n, target, distinct_thresholds(ranked.scores))
    check_every_cut(steps, lambda cut: ref.voted_top(rows, -cut), target, len(ranked.models))


@pytest.mark.parametrize(("lowest", "highest"), [(-np.inf, np.inf), (-3.0, 4.0)])
@pytest.mark.parametrize("target", ["positive", "negative"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_ends_of_the_scale(lowest: float, highest: float, target: str, k: int) -> None:
    """Scores given with a threshold may be infinite: log-odds of 0 and 1."""
    values = [lowest, 0.0, highest]
    rows = [
        ScoredRow(CLASS[target], tuple(values[(i * (j + 1)) % 3] for j in range(k)))
        for i in range(3)
    ]
    table = table_of(rows)
    steps = sweep_thresholds(table.scores, table.n, target, distinct_thresholds(table.scores))
    check_every_cut(steps, lambda cut: ref.voted(rows, cut), target, k)


def test_by_hand() -> None:
    # positives x (a .9, b .4) and y (a .2, b .7); at .4 both models find their own and b finds x
    table = ScoreTable(
        ("a", "b"), (np.array([0.9, 0.2]), np.array([0.4, 0.7])), np.array([1, 1], np.int64)
    )
    steps = sweep_thresholds(table.scores, table.n, "positive", distinct_thresholds(table.scores))
    assert steps.cuts.tolist() == [0.2, 0.4, 0.7, 0.9]
    assert steps.detected.tolist() == [2, 2, 2, 1]
    assert steps.hits.tolist() == [[2, 1, 1, 1], [2, 2, 1, 0]]
    assert steps.exclusive.tolist() == [[0, 0, 1, 1], [0, 1, 1, 0]]
    assert steps.missed_all.tolist() == [[0, 1, 1, 0], [0, 0, 1, 1]]


def sweep_rows(rows: list[ScoredRow], **options: Any) -> list[Line]:
    frame = frame_of(rows)
    result = clfeval.mars(frame, weight="n", kind="score", interval="none", **options)
    return rows_of(result, "sweep")


@examples(25)
@given(scored_tables(rows=(2, 8)), TARGETS, st.sampled_from(["all", "any"]), st.booleans())
def test_the_table_of_the_result(rows: list[ScoredRow], target: str, rule: str, top: bool) -> None:
    k = len(rows[0].scores)
    option = "top" if top else "threshold"
    found_name = "exclusive_tp" if target == "positive" else "exclusive_tn"
    missed_name = "exclusive_fn" if target == "positive" else "exclusive_fp"
    swept = sweep_rows(rows, target=target, occlusion=rule, sweep=option)
    cuts = sorted({row[option] for row in swept})
    assert [(row[option], row["model"]) for row in swept] == [
        (cut, name) for cut in cuts for name in names(k)
    ]
    for row in swept:
        voted = ref.voted_top(rows, row["top"]) if top else ref.voted(rows, row["threshold"])
        j = int(row["model"][1:])
        ttp = ref.ttp(voted, target)
        etp, efn = ref.etp(voted, [j], target), ref.efn(voted, [j], rule, target)
        assert row["found"] == ttp
        assert row["hits"] == ref.covered(voted, [j], target)
        assert (row[found_name], row[missed_name]) == (etp, efn)
        assert row["shine_through"].value == (etp / ttp if ttp else None)
        if k > 1 and ttp:
            assert row["occlusion"].value == efn / ttp
        else:
            assert row["occlusion"].value is None
            assert row["occlusion"].reason == ("no_other_model" if ttp else "nothing_found")


@examples(25)
@given(scored_tables(models=(3, 5), rows=(2, 8)), TARGETS, st.booleans())
def test_groups_find_what_any_member_finds(rows: list[ScoredRow], target: str, top: bool) -> None:
    option = "top" if top else "threshold"
    swept = sweep_rows(rows, target=target, sweep=option, group={"g": ["m0", "m2"]})
    found_name = "exclusive_tp" if target == "positive" else "exclusive_tn"
    for row in swept:
        voted = ref.voted_top(rows, row["top"]) if top else ref.voted(rows, row["threshold"])
        members = [0, 2] if row["model"] == "g" else [int(row["model"][1:])]
        assert row["found"] == ref.ttp(voted, target)
        assert row["hits"] == ref.covered(voted, members, target)
        assert row[found_name] == ref.etp(voted, members, target)


def test_slices_are_swept_at_the_cuts_of_the_whole() -> None:
    frame = pl.DataFrame(
        {
            "truth": [1, 1, 1, 0],
            "site": ["x", "x", "y", "y"],
            "a": [0.9, 0.2, 0.4, 0.1],
            "b": [0.3, 0.6, 0.4, 0.8],
        }
    )
    result = clfeval.mars(frame, by="site", sweep="threshold", kind="score")
    cuts = [0.2, 0.3, 0.4, 0.6, 0.9]
    for label in (None, "site=x", "site=y"):
        rows = rows_of(result, "sweep", slice=label, model="a")
        assert [row["threshold"] for row in rows] == cuts
    y_at_4 = row_of(result, "sweep", slice="site=y", threshold=0.4, model="a")
    assert (y_at_4["found"], y_at_4["hits"], y_at_4["exclusive_tp"]) == (1, 1, 0)
    y_at_6 = row_of(result, "sweep", slice="site=y", threshold=0.6, model="a")
    assert y_at_6["found"] == 0
    assert y_at_6["shine_through"].reason == "nothing_found"


def test_fractional_weights_leave_no_rounding_residue() -> None:
    """Where nothing is found the measures are undefined, not 1e-17 divided by 1e-17."""
    weights = [0.1 * (i + 1) for i in range(12)]
    frame = pl.DataFrame(
        {
            "truth": [1] * 13,
            "a": [0.2] * 12 + [0.9],
            "b": [0.3] * 12 + [0.8],
            "site": ["x"] * 12 + ["y"],
            "w": [*weights, 0.5],
        }
    )
    result = clfeval.mars(
        frame, weight="w", by="site", sweep="threshold", kind="score", interval="none"
    )
    at_9 = rows_of(result, "sweep", slice="site=x", threshold=0.9)
    assert len(at_9) == 2
    for row in at_9:
        assert row["found"] == 0
        assert row["shine_through"].reason == "nothing_found"


def test_thinning_keeps_the_ends_and_spreads_the_rest() -> None:
    cuts = np.arange(101) / 100
    assert choose_thresholds(cuts, None).tolist() == cuts.tolist()
    assert choose_thresholds(cuts, 101).tolist() == cuts.tolist()
    assert choose_thresholds(cuts, 5).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert choose_thresholds(cuts, 2).tolist() == [0.0, 1.0]
    thinned = choose_thresholds(np.arange(5000.0), None)
    assert len(thinned) == 2000
    assert (thinned[0], thinned[-1]) == (0.0, 4999.0)


def test_thinned_cuts_are_announced() -> None:
    frame = pl.DataFrame({"truth": [1] * 10, "a": [i / 10 for i in range(10)]})
    result = clfeval.mars(frame, sweep="threshold", points=4, kind="score")
    assert [row["threshold"] for row in result.tables["sweep"]] == [0.0, 0.3, 0.6, 0.9]
    assert warning_codes(result) == ["cuts-thinned", "one-model"]
    whole = clfeval.mars(frame, sweep="threshold", points="all", kind="score")
    assert len(whole.tables["sweep"]) == 10
