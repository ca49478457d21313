"""Confidence limits from buckets and hidden counts contain those of the rows, at either end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.counts.min_cell import hide_small_cells
from clfeval.counts.read_files import score_counts_by_slice
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Estimate
from clfeval.errors import DataError
from clfeval.methods.measurement.score_measures import estimate_score_measure
from clfeval.methods.options import IntervalSettings
from tests.counts.test_buckets import MEASURES, adversarial_table, in_buckets
from tests.results import rows_by
from tests.samples import logistic
from tests.thoroughness import full, thinned

LIMITS = IntervalSettings(0.95, "exact", "random", 200, 0)
TABLES = 100 if full() else 12  # of each seed: 2,000 in all, in the gate one of each kind
KINDS: Any = {
    "block": pl.String,
    "model": pl.String,
    "truth": pl.Boolean,
    "pattern": pl.String,
    "key": pl.Int64,
    "n": pl.Int64,
    "m1": pl.Int64,
    "m2": pl.Int64,
    "lo": pl.Float64,
    "hi": pl.Float64,
}
ABOUT: dict[str, Any] = {
    "facets": [],
    "by": [],
    "edges": {},
    "models": [{"name": "a", "kind": "score"}],
    "thresholds": {"a": 0.5},
    "uncut": {},
    "classes": ["n", "p"],
    "positive": "p",
    "dropped": 0,
}


def hidden_scores(scores: np.ndarray, truth: np.ndarray, least: int) -> ScoreCounts:
    """Return what a file of hidden counts tells of scores."""
    counts = pl.DataFrame({"lo": scores, "truth": truth}).group_by("lo", "truth").len("n")
    rows = counts.with_columns(block=pl.lit("scores"), model=pl.lit("a"), hi=pl.col("lo"))
    sizes = [int(truth.sum()), int((~truth).sum())]
    patterns = pl.DataFrame({"truth": [True, False], "n": sizes}).with_columns(
        block=pl.lit("patterns"), pattern=pl.lit("0")
    )
    empty = pl.DataFrame(schema=KINDS)
    table = pl.concat([empty, rows, patterns], how="diagonal_relaxed").cast(KINDS)
    hidden, _ = hide_small_cells(table, {**ABOUT, "rows": len(scores)}, least, "t")
    return score_counts_by_slice(hidden, (), {})[None]


def forms_of(scores: np.ndarray, truth: np.ndarray) -> dict[str, ScoreCounts]:
    """Return a table in buckets of two sizes, and hidden where it has enough rows."""
    forms = {f"buckets:{bits}": in_buckets([(scores, truth)], bits)[0] for bits in (4, 10)}
    try:
        forms["hidden"] = hidden_scores(scores, truth, 5)
    except DataError:
        return forms
    return forms


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of ratios of 1e-300
@pytest.mark.parametrize("seed", thinned(range(20), (0,)))
def test_no_limit_is_nearer_than_that_of_the_rows(seed: int) -> None:
    """Scores that tie, crowd at 0 and 1, or lie a unit of the last place apart; every measure."""
    limited: set[tuple[str, str]] = set()
    for number in range(100 * seed, 100 * seed + TABLES):
        rng = np.random.default_rng([9, number])
        scores, truth = adversarial_table(rng, number)
        rows = ScoreCounts.from_rows(scores, truth, np.ones(len(truth), int))
        exact_estimates: dict[str, Estimate] = {}  # by measure, each where a form has limits
        for form, counts in forms_of(scores, truth).items():
            for measure in MEASURES:
                estimate = estimate_score_measure(measure, counts, LIMITS, "")
                known, bound = estimate.value, estimate.bound or 0.0
                if None in (known.low, known.high):
                    continue
                if measure.id not in exact_estimates:
                    exact_estimates[measure.id] = estimate_score_measure(
                        measure, rows, LIMITS, ""
                    ).value
                exact = exact_estimates[measure.id]
                if None in (exact.low, exact.high):
                    continue
                rounding = 1e-9 * max(1.0, abs(exact.low), abs(exact.high))
                place = (measure.id, form, number)
                assert known.low <= exact.low + rounding, place
                assert known.high >= exact.high - rounding, place
                if known.value is not None:  # a gate between limit and value is not judged
                    assert exact.low <= known.value + bound + rounding, place
                    assert exact.high >= known.value - bound - rounding, place
                limited.add((measure.id, form))
    assert {measure for measure, form in limited if form == "hidden"} >= {
        "roc_auc",
        "gini",
        "brier",
        "log_loss",
        "oe_ratio",
    }
    assert {measure for measure, form in limited if form == "buckets:10"} >= {
        "roc_auc",
        "average_precision",
        "brier",
        "log_loss",
        "calibration_slope",
        "oe_ratio",
    }


@pytest.mark.parametrize("seed", thinned(range(40), (0, 1)))
def test_no_limit_of_a_report_is_nearer_than_that_of_the_rows(seed: int, tmp_path: Path) -> None:
    """Measures of labels and scores, of the whole table and of sites, from hidden counts."""
    dice = np.random.default_rng([10, seed])
    rows = int(dice.choice([120, 300, 900]))
    signal = dice.normal(size=rows)
    chance = logistic(1.5 * signal - dice.choice([0.0, 1.5]))
    table = pl.DataFrame(
        {
            "truth": np.where(dice.random(rows) < chance, "yes", "no"),
            "site": dice.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1]),
            "rf": logistic(1.5 * (signal + dice.normal(size=rows)) - 1, 3),
            "second": dice.random(rows),
            "rule": np.where(signal + dice.normal(size=rows) > 0.5, "yes", "no"),
        }
    )
    by = {"by": "site"} if seed % 2 else {}
    table = table if by else table.drop("site")
    hidden = clfeval.count(table, positive="yes", min_cell=5, **by)
    hidden.save(place := tmp_path / "hidden.counts.parquet")
    sites = {str(site) for site in hidden.extras["table"]["b0"]} if by else set()
    kept = table.filter(pl.col("site").is_in(sites)) if by else table
    draws: dict[str, Any] = {} if full() else {"resamples": 200}
    limited_rows = [
        row
        for row in clfeval.report(place, measure="all", **draws).tables["measures"]
        if None not in (row["value"].low, row["value"].high)
    ]
    limited_measures = sorted({str(row["measure"]) for row in limited_rows})
    exact = clfeval.report(kept, positive="yes", measure=limited_measures, **draws, **by)
    exact_rows = rows_by(exact, "measures", "slice", "model", "measure")
    compared: set[str] = set()
    for row in limited_rows:
        known = row["value"]
        rows_value = exact_rows[row["slice"], row["model"], row["measure"]]["value"]
        if None in (rows_value.low, rows_value.high):
            continue
        rounding = 1e-9 * max(1.0, abs(rows_value.low), abs(rows_value.high))
        assert known.low <= rows_value.low + rounding, (row, rows_value)
        assert known.high >= rows_value.high - rounding, (row, rows_value)
        compared.add(str(row["measure"]))
    assert compared >= {"sensitivity", "specificity", "accuracy", "balanced_accuracy"}
