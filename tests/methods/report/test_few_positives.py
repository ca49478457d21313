"""Limits of measures of scores with few positives or weights, against the bootstrap written out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from clfeval.counts.clusters_and_weights import RowWeights, squares_and_weights
from clfeval.counts.scores import ScoreCounts
from clfeval.measures.catalog import CATALOG
from clfeval.methods.measurement.score_measures import draw_resamples, estimate_score_measure
from clfeval.methods.options import IntervalSettings


def few_positives(seed: int, rows: int = 120) -> ScoreCounts:
    """Return the counts of calibrated scores of which a tenth are positive."""
    rng = np.random.default_rng(seed)
    scores = np.unique(rng.beta(1, 9, rows))
    truth = rng.random(len(scores)) < scores
    return ScoreCounts.from_scores(scores, truth * 1, ~truth * 1)


@pytest.mark.parametrize("name", ["aurc", "partial_auc"])
@pytest.mark.parametrize("seed", [1, 2])
def test_bootstrap_limits_reach_as_far_as_those_of_t(name: str, seed: int) -> None:
    """value -+ t s on the scale of the range, s = sqrt(m / (m - 1)) the deviation of the draws."""
    measure, counts = CATALOG[name], few_positives(seed)
    found = estimate_score_measure(measure, counts, IntervalSettings(0.95), "m").value
    n = np.concatenate([counts.positives, counts.negatives])
    m, size = int(counts.positives.sum()), len(counts.scores)
    stream = f"{measure.id}\0m"
    draws = np.concatenate(
        [
            np.atleast_1d(measure.function(counts.scores, drawn[:, :size], drawn[:, size:]))
            for drawn in draw_resamples(n, None, IntervalSettings(0.95), stream)
        ]
    )
    low, high = np.nanquantile(draws, [0.025, 0.975])
    error = np.nanstd(draws, ddof=1) * np.sqrt(m / (m - 1)) * stats.t.ppf(0.975, m - 1)
    value = float(found.value or 0.0)
    reach = error / (value * (1 - value))
    odds = value / (1 - value) * np.exp([-reach, reach])
    ends = odds / (1 + odds)
    assert found.low == pytest.approx(min(low, ends[0]))
    assert found.high == pytest.approx(max(high, ends[1]))


def test_aurc_of_sampling_weights_has_no_interval() -> None:
    """Each distinct score is one coverage, whatever its weight: rows drawn by score are others."""
    counts = few_positives(3)
    weights = np.concatenate([counts.positives, counts.negatives]) * 3
    units = RowWeights.from_entries(
        squares_and_weights(weights), np.arange(len(weights)), weights, len(weights)
    )
    weighted = replace(counts, clusters=units)
    found = estimate_score_measure(CATALOG["aurc"], weighted, IntervalSettings(0.95), "m").value
    assert (found.low, found.high, found.reason) == (None, None, "fractional_weights")


def test_pr_auc_of_weights_has_a_wider_error() -> None:
    """By (m / (m - 1))^1.5, m effective positives: it covered 91.2% in 2,500 tables, so 93.4%."""
    counts = few_positives(4)
    ones = np.concatenate([counts.positives, counts.negatives])
    units = RowWeights.from_entries(
        squares_and_weights(ones), np.arange(len(ones)), ones, len(ones)
    )
    settings = IntervalSettings(0.95)
    plain = estimate_score_measure(CATALOG["pr_auc"], counts, settings, "m")
    wider = estimate_score_measure(
        CATALOG["pr_auc"], replace(counts, clusters=units), settings, "m"
    )
    m = int(counts.positives.sum())
    assert wider.error == pytest.approx(plain.error * (m / (m - 1)) ** 1.5)
