"""The sentence on the ranges in which a miscalibrated model is off."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.methods.report.calibration_ranges import (
    CODE,
    calibration_ranges_answer,
    miscalibrated_ranges,
)
from tests.samples import logistic


def row(score: float, low: float | None, high: float | None, rows: int = 10) -> dict[str, Any]:
    return {"model": "m", "score": score, "rows": rows, "low_all": low, "high_all": high}


GRID = [round(0.01 + 0.04 * i, 2) for i in range(24)]


def curve(*faults: tuple[float, float, float]) -> list[dict[str, Any]]:
    """Return a band .1 wide around the diagonal, moved by the shift of each range of scores."""
    rows = []
    for score in GRID:
        shift = sum(step for low, high, step in faults if low <= score <= high)
        rows.append(row(score, score + shift - 0.1, score + shift + 0.1))
    return rows


@pytest.mark.parametrize(
    ("faults", "text"),
    [
        ([], ""),
        ([(0.3, 0.52, 0.09)], ""),  # inside the band
        (
            [(0.3, 0.52, 0.2), (0.8, 1, -0.2)],
            "Probabilities of m between 0.33 and 0.49 are too low, between 0.81 and 0.93 too high.",
        ),
        (
            [(0.1, 0.2, 0.2), (0.4, 0.5, 0.2)],
            "Probabilities of m between 0.13 and 0.17 and between 0.41 and 0.49 are too low.",
        ),
        ([(0.32, 0.34, -0.2)], "Probabilities of m near 0.33 are too high."),
        ([(0, 1, 0.2)], "Probabilities of m between 0.01 and 0.93 are too low."),
    ],
)
def test_ranges_are_where_the_joint_band_excludes_the_diagonal(
    faults: list[tuple[float, float, float]], text: str
) -> None:
    answers = calibration_ranges_answer(["m"], curve(*faults))
    assert "".join(answer.text for answer in answers) == text


def test_levels_are_named_and_unknown_limits_say_nothing() -> None:
    rows = [row(0.8, 0.85, 0.95), row(0.9, None, None), row(0.95, 0.7, 0.9)]
    (answer,) = calibration_ranges_answer(["m"], rows)
    assert answer.text == "Probabilities of m at 0.8 are too low, at 0.95 too high."


def test_the_three_ranges_with_the_most_rows_are_named() -> None:
    pattern = [(0.2, 5), (-0.2, 9), (0.2, 40), (-0.2, 30), (0.2, 20)]
    rows = [
        row(0.1 + i / 10, 0.1 + i / 10 + shift - 0.1, 0.1 + i / 10 + shift + 0.1, n)
        for i, (shift, n) in enumerate(pattern)
    ]
    assert [low for low, _, _ in miscalibrated_ranges(rows)] == pytest.approx([0.3, 0.4, 0.5])


def texts_by_code(table: pl.DataFrame) -> dict[str, str]:
    """Return the texts of the answer to a table by code, the last of each."""
    return {answer.code: answer.text for answer in clfeval.report(table, positive="1").answer}


def test_only_a_model_that_the_tests_call_miscalibrated_has_ranges() -> None:
    """Too extreme by 1.8: too low below 0.5 and too high above; the same rows, calibrated: none."""
    rng = np.random.default_rng(5)
    x = rng.normal(0, 1.5, 3000)
    truth = (rng.random(3000) < logistic(x)).astype(int)
    extreme, right = (
        texts_by_code(pl.DataFrame({"truth": truth, "m": logistic(factor * x)}))
        for factor in (1.8, 1.0)
    )
    assert CODE not in right
    assert "miscalibrated" in extreme
    first, second = extreme[CODE].split(", ")
    assert first.startswith("Probabilities of m between")
    assert first.endswith("are too low")
    assert second.endswith("too high.")
