"""What a chosen threshold is expected to give on other rows: as report says, and by plain loops."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.inference.resampling import random_stream
from clfeval.methods.measurement.score_measures import resample_rows
from clfeval.methods.threshold_optimism import DRAWS
from tests.methods.tune_jpt import brute
from tests.results import estimate_of, rows_by, rows_of, value_of

ODDS = 1 / 19


def normal_scores(n: int, seed: int, prevalence: float = 0.3) -> pl.DataFrame:
    """Scores are normal in each class, 1.3 apart; five rows in a row are of one patient."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < prevalence).astype(int)
    score = np.round(rng.standard_normal(n) + 1.3 * truth, 2)
    return pl.DataFrame(
        {
            "truth": truth,
            "m": score,
            "patient": [f"p{i // 5}" for i in range(n)],
            "w": np.where(rng.random(n) < 0.5, 0.7, 2.4),
            "site": rng.choice(["a", "b"], n),
        }
    )


KINDS: dict[str, dict[str, Any]] = {
    "rows": {},
    "clusters": {"cluster": "patient"},
    "weights": {"weight": "w"},
    "slices": {"by": "site"},
    "no intervals": {"interval": "none"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_at_the_odds_of_the_rows_it_is_what_report_says(kind: str) -> None:
    """To the last digit: threshold, value here, corrected value and interval."""
    options = {"positive": "1", "model": ["m"], "threshold": 0.6, "seed": 4, **KINDS[kind]}
    ignored = {"patient", "w", "site"} - {*KINDS[kind].values()}
    frame = normal_scores(240, 7).drop(ignored)
    rules = {
        "mcc": "mcc",
        "f_beta": "f1",
        "tar": "accuracy",
        "j_index": "j_index",
        "expected_cost": "cost:fp=1,fn=5",
    }
    measures = ["mcc", "f_beta", "tar", "j_index", "cost:fp=1,fn=5"]
    tuned = clfeval.tune_jpt(frame, measure=measures, prevalence=0.05, **options)
    report = clfeval.report(frame, measure="mcc", best_threshold=[*rules.values()], **options)
    cutoffs = rows_by(report, "cutoffs", "slice", "chosen_by")
    names = dict(zip(rules, dict.fromkeys(name for _, name in cutoffs), strict=True))
    thresholds = rows_of(tuned, "thresholds", population="sample")
    rows = [row for row in thresholds if row["measure"] in names]
    assert len(rows) == len(cutoffs) == len(rules) * (3 if kind == "slices" else 1)
    for row in rows:
        cutoff = cutoffs[row["slice"], names[row["measure"]]]
        for key in ("threshold", "rule", "value", "corrected"):
            assert row[key] == cutoff[key], (row["measure"], key)
        assert (estimate_of(row["corrected"]).low is None) == (kind == "no intervals")


@pytest.mark.parametrize("cluster", [False, True])
def test_the_optimism_at_other_odds_is_that_of_draws_judged_row_by_row(cluster: bool) -> None:
    frame = normal_scores(60, 3)
    scores, truth = frame["m"].to_numpy(), frame["truth"].to_numpy() == 1
    counts = ScoreCounts.from_rows(scores, truth, None)
    if cluster:
        place = np.searchsorted(counts.scores, scores) + len(counts.scores) * ~truth
        patients, ones = frame["patient"].to_list(), np.ones(60, np.int64)
        counts = replace(counts, clusters=ClusterCounts.from_entries(patients, place, ones))
    options: dict[str, Any] = {"cluster": "patient"} if cluster else {}
    frame = frame.select("truth", "m", *options.values())
    result = clfeval.tune_jpt(
        frame,
        positive="1",
        model=["m"],
        threshold=0.6,
        prevalence="1:19",
        measure="cost:fp=1,fn=5",
        **options,
    )
    every = brute.every_point(zip(scores.tolist(), truth.tolist(), strict=True))
    p, n = every[-1][1:]
    gaps: dict[str, list[tuple[float, float]]] = {
        name: [] for name in ("tar", "mcc", "f_beta", "expected_cost")
    }
    rows, rng = np.concatenate([counts.positives, counts.negatives]), random_stream(0, "cut\0m\0")
    for block in resample_rows(rows, counts.clusters, DRAWS, rng):
        for times in block.astype(int).tolist():
            hits, alarms = times[: len(times) // 2][::-1], times[len(times) // 2 :][::-1]
            if not (sum(hits) and sum(alarms)):
                continue
            cells = zip(np.cumsum(hits).tolist(), np.cumsum(alarms).tolist(), strict=True)
            points = [(cut, *pair) for (cut, *_), pair in zip(every, [(0, 0), *cells], strict=True)]
            for name, differences in gaps.items():
                _, cut = brute.best_point(points, name, ODDS)
                (_, tp, fp), (_, tp_all, fp_all) = (
                    next(point for point in candidates if point[0] == cut)
                    for candidates in (points, every)
                )
                differences.append((tp / sum(hits) - tp_all / p, fp / sum(alarms) - fp_all / n))
    for row in rows_of(result, "thresholds", population="target"):
        name = row["measure"]
        if name not in gaps:
            continue
        value, cut = brute.best_point(every, name, ODDS)
        tp, fp = next(x[1:] for x in every if x[0] == cut)
        less = np.mean(gaps[name], axis=0) / (1 - 1 / math.e)
        tp_, fp_ = np.clip(tp - less[0] * p, 0, p), np.clip(fp - less[1] * n, 0, n)
        expected = brute.measure_value(name, tp_, fp_, p, n, ODDS)
        worse = expected > value if name == "expected_cost" else expected < value
        assert cut != math.inf
        corrected = value_of(row["corrected"])
        assert corrected == pytest.approx(expected if worse else value), name


def test_calling_all_rows_alike_has_the_same_value_on_any_rows() -> None:
    """Scores the wrong way round: at 1:99 calling no row positive is right in 99 of 100 rows."""
    frame = pl.DataFrame({"truth": [0, 1] * 20, "m": [1 - i % 2 + i / 100 for i in range(40)]})
    result = clfeval.tune_jpt(frame, positive="1", threshold=0.5, prevalence=["1:99", "99:1"])
    rows = rows_of(result, "thresholds", population="target", measure="tar")
    assert [row["rule"] for row in rows] == ["never positive", "always positive"]
    assert [value_of(row["corrected"]) for row in rows] == pytest.approx([0.99, 0.99])


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([(0.9, 1), (0.2, 0), (0.1, 0)], "too_few_rows"),
        ([(0.5, 1), (0.5, 1), (0.5, 0), (0.5, 0)], "zero_margin"),  # MCC where there is one score
        ([(0.9, 1), (0.8, 1), (0.2, 0), (0.1, 0)], None),
    ],
)
def test_what_cannot_be_known_has_a_reason(rows: list[tuple[float, int]], reason: Any) -> None:
    frame = pl.DataFrame(rows, schema=["m", "truth"], orient="row")
    thresholds = rows_of(clfeval.tune_jpt(frame, positive="1"), "thresholds", measure="mcc")
    assert {estimate_of(row["corrected"]).reason for row in thresholds} == {reason}
