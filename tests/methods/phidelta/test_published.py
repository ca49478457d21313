"""Published numbers: MARS Table 2, AML4TD Table 15.1, the corners of the generalised diamond."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

import clfeval
from tests.example import PAPER
from tests.methods.phidelta.byhand import (
    Cells,
    cells_of,
    cells_shown,
    counts_frame,
    model_row,
    model_rows,
    rows_by_model,
)
from tests.results import limits_of, rows_of, value_of

# MARS Table 2: phi, delta, and the prior-aware pair at the sample's prevalence of 6/10
MARS = {
    "C1": (0.0, 0.0, -0.2, 0.0),
    "C2": (1 / 12, -5 / 12, -0.2, -0.4),  # .083333, -.416667
    "C3": (-1 / 3, -1 / 3, -0.6, -0.4),
    "C4": (-1 / 12, 5 / 12, -0.2, 0.4),
}
WAYS: dict[str, dict[str, Any]] = {
    "wide.csv": {},
    "wide.parquet": {},
    "long.csv": {},
    "long.parquet": {},
    "long-readme.csv": {},
    "weighted.csv": {"weight": "n"},
    "scores.csv": {},
}


@pytest.mark.parametrize("way", WAYS)
def test_mars_table_2_in_every_layout(way: str, paper: Path) -> None:
    rows = model_rows(paper / way, **WAYS[way])
    assert list(rows) == list(MARS)
    for i, (model, expected) in enumerate(MARS.items()):
        row = rows[model]
        assert cells_shown(row) == cells_of(PAPER, i)
        position = [value_of(row[name]) for name in ("phi", "delta", "phi_b", "delta_b")]
        assert position == pytest.approx(expected, abs=1e-15)


KUHN = Cells(tp=2613, fp=564, fn=750, tn=2180)  # AML4TD Table 15.1


def test_aml4td_table_15_1() -> None:
    row = model_row(KUHN, level=0.9)
    published = {
        "accuracy": 0.7848371,
        "sensitivity": 0.7769848,
        "specificity": 0.7944606,
        "precision": 0.8224740,  # 74.4 % is printed, which is the NPV
        "npv": 0.7440273,
        "f1": 0.7990826,
        "mcc": 0.5689680,
        "mcc_u": 0.5715328,  # "MCC normalised"
        "delta": 0.5714455,  # Youden's J
    }
    for name, number in published.items():
        assert value_of(row[name]) == pytest.approx(number, abs=5.1e-8), name
    low, high = limits_of(row["accuracy"])
    assert (low, high) == pytest.approx((0.7760059, 0.7934665), abs=5.1e-8)
    exact = binomtest(2613 + 2180, 6107).proportion_ci(0.9, method="exact")
    assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-10)


@pytest.mark.parametrize(
    ("prevalence", "ppv", "npv"),
    [
        (0.555, 0.8250115, 0.7406846),
        # the sample's own: 3363 / 6107; there PPV is the precision, .8224740
        (3363 / 6107, 0.8224740, 0.7440273),
    ],
)
def test_aml4td_predictive_values_at_a_prevalence(
    prevalence: float, ppv: float, npv: float
) -> None:
    result = clfeval.phidelta(counts_frame({"m": KUHN}), prevalence=prevalence)
    row = rows_by_model(result, "populations")["m"]
    assert value_of(row["precision"]) == pytest.approx(ppv, abs=5.1e-8)
    assert value_of(row["npv"]) == pytest.approx(npv, abs=5.1e-8)


# METHODS: oracle (0, 1), always positive (2n, p-n), anti-oracle (2(n-p), -1), always negative
# (-2p, n-p), with p = 1/3 at odds 1:2 and p = 2/3 at odds 2:1
CORNERS = {
    "1:1": (0.5, [(0, 1), (1, 0), (0, -1), (-1, 0)]),
    "1:2": (1 / 3, [(0, 1), (4 / 3, -1 / 3), (2 / 3, -1), (-2 / 3, 1 / 3)]),
    "2:1": (2 / 3, [(0, 1), (2 / 3, 1 / 3), (-2 / 3, -1), (-4 / 3, -1 / 3)]),
}
# the classifiers that stand there, of 5 positives and 7 negatives
EXTREMES = {
    "oracle": Cells(5, 0, 0, 7),
    "always positive": Cells(5, 7, 0, 0),
    "anti-oracle": Cells(0, 7, 5, 0),
    "always negative": Cells(0, 0, 5, 7),
}


def test_corners_at_odds_1_to_2_and_2_to_1() -> None:
    result = clfeval.phidelta(counts_frame(EXTREMES), prevalence=["1:2", "2:1"])
    blocks = dict.fromkeys(row["odds"] for row in rows_of(result, "corners"))
    assert list(blocks) == ["1:1", "1:2", "2:1"]
    for odds, (prevalence, places) in CORNERS.items():
        rows = rows_of(result, "corners", odds=odds)
        assert [row["corner"] for row in rows] == list(EXTREMES)
        assert [row["prevalence"] for row in rows] == pytest.approx([prevalence] * 4)
        corners = [(row["phi_b"], row["delta_b"]) for row in rows]
        assert corners == [pytest.approx(place, abs=1e-15) for place in places]


@pytest.mark.parametrize("odds", ["1:2", "2:1"])
def test_the_extreme_classifiers_stand_in_the_corners(odds: str) -> None:
    result = clfeval.phidelta(counts_frame(EXTREMES), prevalence=odds)
    rows = rows_by_model(result, "populations")
    for corner in rows_of(result, "corners", odds=odds):
        row = rows[corner["corner"]]
        place = value_of(row["phi_b"]), value_of(row["delta_b"])
        assert place == pytest.approx((corner["phi_b"], corner["delta_b"]), abs=1e-15)


def test_a_population_of_equal_classes_does_not_repeat_the_first_diamond() -> None:
    result = clfeval.phidelta(counts_frame(EXTREMES), prevalence=[0.5, "3:3", "1:2"])
    assert [row["odds"] for row in result.tables["corners"]] == ["1:1"] * 4 + ["1:2"] * 4
