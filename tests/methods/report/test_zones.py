"""Rows without an answer: which they are, and what the other answers are worth, row by row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Row
from clfeval.errors import UsageError
from clfeval.methods.report.threshold_rules import parse_zones
from tests.reference import ScoredRow
from tests.results import estimate_of, four_cells, row_of, rows_of, value_of
from tests.strategies import scored_tables
from tests.texts import check_text
from tests.thoroughness import examples

ScoreAndTruth = tuple[float, int]


def scores_and_truth(table: Sequence[ScoredRow]) -> list[ScoreAndTruth]:
    """Return each row as often as it counts."""
    return [(row.scores[0], row.truth) for row in table for _ in range(row.n)]


def report_of_rows(rows: Sequence[ScoreAndTruth], **options: Any) -> Result:
    frame = pl.DataFrame({"truth": [y for _, y in rows], "m": [float(s) for s, _ in rows]})
    return clfeval.report(frame, positive="1", kind="score", **options)


def zone_counts(rows: Sequence[ScoreAndTruth], row: Row) -> dict[str, int]:
    """Answer one row after the other, by the two thresholds of a zone."""
    found = dict.fromkeys(("tp", "fp", "fn", "tn", "none"), 0)
    low = float(str(row["low"]))
    high = math.inf if row["high"] is None else float(str(row["high"]))
    for score, truth in rows:
        if low <= score < high:
            found["none"] += 1
        else:
            found[("t" if truth == (score >= high) else "f") + ("p" if score >= high else "n")] += 1
    return found


@examples(40)
@given(scored_tables(models=(1, 1), rows=(2, 12)), st.sampled_from([0.05, 0.2, 0.5, 0.9]))
def test_those_nearest_the_threshold_have_no_answer(table: list[ScoredRow], share: float) -> None:
    rows = scores_and_truth(table)
    if {y for _, y in rows} != {0, 1}:
        return
    result = report_of_rows(rows, abstain=f"{100 * share:g}%", threshold=0.5)
    row = row_of(result, "abstentions")
    away = sorted({round(abs(score - 0.5), 12) for score, _ in rows})
    sizes = [0, *[sum(round(abs(s - 0.5), 12) <= d for s, _ in rows) for d in away]]
    wanted = min(sizes, key=lambda size: (round(abs(size - share * len(rows)), 9), size))
    counts = zone_counts(rows, row)
    assert counts["none"] == wanted
    assert four_cells(row) == four_cells(counts)
    answered = len(rows) - wanted
    assert value_of(row["coverage"]) == pytest.approx(answered / len(rows))
    right = counts["tp"] + counts["tn"]
    expected = pytest.approx(right / answered) if answered else None
    assert estimate_of(row["accuracy"]).value == expected
    outside = [abs(s - 0.5) for s, _ in rows if not low_to_high(row, s)]
    inside = [abs(s - 0.5) for s, _ in rows if low_to_high(row, s)]
    if inside and outside:
        assert max(inside) < min(outside) + 1e-12


def low_to_high(row: Row, score: float) -> bool:
    low = float(str(row["low"]))
    return low <= score < (math.inf if row["high"] is None else float(str(row["high"])))


@examples(30)
@given(
    scored_tables(models=(1, 1), rows=(2, 12)),
    st.sampled_from([(1.0, 1.0, 0.3), (1.0, 5.0, 0.5), (2.0, 1.0, 0.25), (1.0, 1.0, 0.8)]),
)
def test_by_costs_each_row_has_the_cheapest_answer(
    table: list[ScoredRow], costs: tuple[float, float, float]
) -> None:
    """What each answer is expected to cost, by the probability, row by row (Chow 1970)."""
    rows = scores_and_truth(table)
    if {y for _, y in rows} != {0, 1}:
        return
    fp, fn, none = costs
    abstain = f"cost:fp={fp},fn={fn},abstain={none}"
    result = report_of_rows(rows, abstain=abstain, interval="none")
    row = row_of(result, "abstentions")
    spent = before = 0.0
    for p, truth in rows:
        answers = {"yes": (1 - p) * fp, "no": p * fn, "none": none}
        least = min(answers.values())
        said = "none" if low_to_high(row, p) else "yes" if p >= cut_of(row) else "no"
        assert answers[said] <= least + 1e-12, (p, said)
        spent += {"yes": fp * (1 - truth), "no": fn * truth, "none": none}[said]
        before += fp * (1 - truth) if p >= fp / (fp + fn) else fn * truth
    assert row["cost"] == pytest.approx(spent / len(rows))
    assert row["cost_of_all"] == pytest.approx(before / len(rows))


def cut_of(row: Row) -> float:
    return math.inf if row["high"] is None else float(str(row["high"]))


def calibrated_rows(n: int = 400) -> list[ScoreAndTruth]:
    rng = np.random.default_rng(7)
    p = np.round(rng.beta(0.8, 1.2, n), 3)
    return [*zip(p.tolist(), (rng.random(n) < p).astype(int).tolist(), strict=True)]


def test_the_area_is_that_of_the_measure_and_the_curve_ends_at_all_errors() -> None:
    rows = calibrated_rows()
    result = report_of_rows(rows, abstain=["5%", "20%"], measure="aurc", points="all")
    first, second = rows_of(result, "abstentions")
    area = value_of(row_of(result, "measures", measure="aurc")["value"])
    assert first["aurc"] == pytest.approx(area)
    curve = rows_of(result, "risk")
    wrong = sum((p >= 0.5) != y for p, y in rows) / len(rows)
    assert (curve[-1]["coverage"], curve[-1]["risk"]) == (1.0, pytest.approx(wrong))
    mean = float(np.mean([row["risk"] for row in curve]))
    assert first["aurc"] == pytest.approx(mean)
    for zone in (first, second):
        point = row_of(result, "risk", coverage=value_of(zone["coverage"]))
        assert value_of(zone["accuracy"]) == pytest.approx(1 - point["risk"])


def test_the_threshold_in_force_is_the_middle() -> None:
    rows = [(round(i / 20, 2), int(i > 5)) for i in range(20)]
    row = row_of(report_of_rows(rows, abstain="20%", threshold=0.3), "abstentions")
    # at .3 itself and .05, .1 away: five rows are farther from a fifth of 20 than three
    assert (row["threshold"], row["low"], row["high"]) == (0.3, 0.25, 0.4)


def test_scores_without_a_threshold_have_no_zone_and_costs_need_probabilities() -> None:
    rows = [(float(i) - 10, int(i % 2)) for i in range(20)]
    row = row_of(report_of_rows(rows, abstain="cost:fp=1,fn=1,abstain=.2"), "abstentions")
    assert estimate_of(row["accuracy"]).reason == "not_probabilities"
    with pytest.raises(UsageError) as caught:
        report_of_rows(rows, abstain=["10%", "cost:fp=1,fn=1,abstain=.2"])
    check_text(str(caught.value))
    row = row_of(report_of_rows(rows, abstain="10%", threshold=0), "abstentions")
    assert (row["low"], row["high"]) in [(-1.0, 1.0), (0.0, 1.0), (0.0, 2.0), (-1.0, 2.0)]
    assert zone_counts(rows, row)["none"] in (1, 3)


def test_what_is_no_zone_is_refused() -> None:
    for text in (
        "5",
        "0",
        "nan",
        "x",
        "cost",
        "cost:fp=1,fn=2",
        "cost:fp=1,fn=2,abstain=0",
        "cost:fp=1,fn=2,abstain=x",
        "cost:fp=1,fn=2,abstain=1,tp=3",
        "cost:fp=1,fp=2,fn=2,abstain=1",
    ):
        with pytest.raises(UsageError) as caught:
            parse_zones([text])
        check_text(str(caught.value))
    assert parse_zones(["5%", "0.05"]) == parse_zones(["0.05"])
