"""Curves, thresholds, decisions and bins against scikit-learn and counting row by row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import precision_recall_curve, roc_curve
from statsmodels.stats.proportion import proportion_confint

from clfeval.arrays import Bools, Floats
from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.inference.distributions import critical_value, simultaneous_level
from clfeval.inference.proportions import clopper_pearson
from clfeval.methods.curves import GRID, RocPoints, decision_rows, isotonic_rows, roc_points
from clfeval.methods.estimates import Design
from clfeval.methods.measurement.net_benefits import net_benefit
from clfeval.methods.report.calibration import (
    choose_points,
    choose_thresholds,
    curve_rows,
    distribution_rows,
    roc_band_rows,
    threshold_rows,
)
from clfeval.methods.score_groups import calibration_rows
from tests.benchmarks.coverage.acting import claims, undone
from tests.results import four_cells, limits_of, value_of
from tests.samples import logistic


def scores_and_truth(rows: int = 200, digits: int = 2, seed: int = 0) -> tuple[Floats, Bools]:
    rng = np.random.default_rng(seed)
    truth = rng.random(rows) < 0.3
    logits = rng.standard_normal(rows) + np.where(truth, 0.7, -1.0)
    return logistic(logits, digits), truth


def score_counts(x: Floats, truth: Bools) -> ScoreCounts:
    return ScoreCounts.from_rows(x, truth, None)


def test_points_are_those_of_scikit_learn() -> None:
    x, truth = scores_and_truth()
    rows = curve_rows(None, "m", score_counts(x, truth), "all")
    fpr, tpr, cuts = roc_curve(truth, x, drop_intermediate=False)
    assert [row["fpr"] for row in rows] == pytest.approx(fpr.tolist())
    assert [row["sensitivity"] for row in rows] == pytest.approx(tpr.tolist())
    assert [row["threshold"] for row in rows[1:]] == cuts[1:].tolist()
    precision, recall, _ = precision_recall_curve(truth, x)
    assert [row["precision"] for row in rows[1:]] == pytest.approx(precision[:-1][::-1].tolist())
    assert [row["sensitivity"] for row in rows[1:]] == pytest.approx(recall[:-1][::-1].tolist())
    assert rows[0]["precision"] is None
    assert rows[0]["threshold"] is None


def test_lift_and_share_of_rows_by_hand() -> None:
    """Two of ten rows are positive; the highest score is one of them: precision 1, lift 5."""
    x = np.arange(10) / 10
    truth = np.isin(np.arange(10), [9, 5])
    rows = curve_rows(None, "m", score_counts(x, truth), None)
    assert (rows[1]["precision"], rows[1]["lift"], rows[1]["flagged"]) == (1.0, 5.0, 0.1)
    assert rows[5]["lift"] == pytest.approx((2 / 5) / 0.2)
    assert (rows[-1]["lift"], rows[-1]["flagged"]) == (1.0, 1.0)


def test_a_thinned_curve_stays_within_a_pixel() -> None:
    x, truth = scores_and_truth(20_000, 9)
    counts = score_counts(x, truth)
    every = roc_points(counts)
    few = every.take(choose_points(counts, 200))
    p, n = every.tp[-1], every.fp[-1]
    assert (few.tp[0], few.fp[0], few.tp[-1], few.fp[-1]) == (0, 0, p, n)
    assert 190 <= len(few.thresholds) == len(curve_rows(None, "m", counts, None)) <= 200
    assert len(curve_rows(None, "m", counts, "all")) == len(every.thresholds)

    def deviation(points: RocPoints) -> float:
        """Return how far the whole curve lies from lines between some of its points, across."""
        (x, y), (along, across) = (
            (one.fp / n + one.tp / p, one.tp / p - one.fp / n) for one in (points, every)
        )
        return float(np.abs(np.interp(along, x, y) - across).max())

    assert deviation(few) < 0.01


def test_a_threshold_counts_rows_at_or_above_it() -> None:
    x, truth = scores_and_truth()
    rows = threshold_rows(
        None, "m", score_counts(x, truth), np.array([0.7, 0.3, 2.0]), 0.95, Design()
    )
    for row, cut in zip(rows, (0.7, 0.3, 2.0), strict=True):
        flagged = x >= cut
        tp, fp, fn, tn = four_cells(row)
        assert (tp, fp) == (int((flagged & truth).sum()), int((flagged & ~truth).sum()))
        assert (fn, tn) == (int((~flagged & truth).sum()), int((~flagged & ~truth).sum()))
        low, high = clopper_pearson(tp, tp + fn, level=0.95)
        assert limits_of(row["sensitivity"]) == pytest.approx((float(low), float(high)))
    last: Any = rows[-1]["precision"]
    assert (last.value, last.reason) == (None, "no_positive_prediction")


def test_which_thresholds() -> None:
    counts = score_counts(*scores_and_truth(500, 6))
    assert len(choose_thresholds(counts, 9)) == 9
    assert choose_thresholds(counts, "all").tolist() == sorted(counts.scores.tolist(), reverse=True)
    assert choose_thresholds(counts, (0.1, 0.7, 0.1)).tolist() == [0.7, 0.1]
    few = score_counts(np.array([0.2, 0.4]), np.array([True, False]))
    assert choose_thresholds(few, 19).tolist() == [0.4, 0.2]


@pytest.mark.parametrize("seed", range(3))
def test_net_benefit_is_counted_row_by_row(seed: int) -> None:
    """NB, and what it is more than treating all or none; its error is that of a mean over rows."""
    x, truth = scores_and_truth(150, 2, seed)
    rows = decision_rows(None, "m", score_counts(x, truth), 0.95)
    assert [row["threshold"] for row in rows] == GRID.tolist()
    for row in rows:
        t = float(str(row["threshold"]))
        odds = t / (1 - t)
        mine = [(float(y) - odds * (not y)) if s >= t else 0.0 for s, y in zip(x, truth)]  # noqa: B905
        everyone = [float(y) - odds * (not y) for y in truth]
        benefit: Any = row["net_benefit"]
        assert benefit.value == pytest.approx(np.mean(mine))
        assert row["treat_all"] == pytest.approx(np.mean(everyone))
        other = everyone if np.mean(everyone) > 0 else [0.0] * len(mine)
        apart = np.array(mine) - other
        gain: Any = row["gain"]
        assert gain.value == pytest.approx(apart.mean(), abs=1e-12)
        assert gain.low <= gain.value <= gain.high
        assert gain.low < gain.high
        assert row["helps"] <= (gain.low > 0)
        value, error = net_benefit(score_counts(x, truth), t, 0.95)
        assert value == benefit
        assert error == pytest.approx(np.std(mine) / math.sqrt(len(mine)))


def test_treating_by_a_worthless_score_helps_nowhere() -> None:
    x, truth = np.full(100, 0.3), np.arange(100) < 30
    rows = decision_rows(None, "m", score_counts(x, truth), 0.95)
    assert not any(row["helps"] for row in rows)


@pytest.mark.parametrize("owner", [None, np.arange(300) // 3])
def test_risks_at_which_acting_helps_hold_together(owner: Any) -> None:
    """A band over all thresholds: no narrower than the largest |t| of draws, row by row, allows."""
    x, truth = scores_and_truth(300, 2, 5)
    counts = score_counts(x, truth)
    if owner is not None:
        m, place = len(counts.scores), np.searchsorted(counts.scores, x)
        owned = ClusterCounts.from_entries(
            list(map(str, owner)), np.where(truth, place, place + m), np.ones(300, np.int64)
        )
        counts = ScoreCounts(counts.scores, counts.positives, counts.negatives, clusters=owned)
    odds = (GRID / (1 - GRID))[:, None]
    everyone = truth - odds * ~truth
    mine = (x >= GRID[:, None]) * everyone
    against = np.where(everyone.mean(axis=1, keepdims=True) > 0, everyone, 0)
    apart = mine - against - (mine - against).mean(axis=1, keepdims=True)
    if owner is not None:
        apart = np.array([np.bincount(owner, one) for one in apart])
    size = np.sqrt((apart**2).sum(axis=1))
    unit = apart[size > 1e-9] / size[size > 1e-9, None]
    draws = np.abs(np.random.default_rng(1).standard_normal((4000, unit.shape[1])) @ unit.T)
    most = np.quantile(draws.max(axis=1), 0.95)
    turn = np.arccos(np.clip((unit[1:] * unit[:-1]).sum(axis=1), -1, 1)).sum()
    level = simultaneous_level(0.95, turn=float(turn))
    assert most <= critical_value(level) < critical_value(1 - 0.05 / 99)
    rows = decision_rows(None, "m", counts, 0.95)
    wide = {row["threshold"]: row for row in decision_rows(None, "m", counts, level)}
    assert [row["helps"] for row in rows] == [
        min(wide[row["threshold"]]["gain"].low, wide[row["threshold"]]["net_benefit"].low) > 0
        for row in rows
    ]
    assert any(row["helps"] for row in rows)
    assert sum(row["helps"] for row in rows) < sum(row["gain"].low > 0 for row in rows)


def test_a_model_whose_use_is_undone_everywhere_is_hardly_said_to_help() -> None:
    """Of 200 tables at most 5 % by the band; by each threshold's own limits in more than 10 %."""
    told, alone = claims(undone, 200, 0.2, 200)
    assert told <= 0.05
    assert alone > 0.1


def test_calibration_by_hand() -> None:
    """Twenty rows, half of them with .1: 2 of 10 positive there; .9 and .7 by fours and sixes."""
    x = np.array([0.1] * 10 + [0.7] * 4 + [0.9] * 6)
    truth = np.array([1, 1] + [0] * 8 + [1, 1, 1, 0] + [1] * 6, bool)
    rows: list[Any] = calibration_rows(None, "m", score_counts(x, truth), 0.95, Design())
    told = [(r["bin"], r["from"], r["to"], r["rows"], r["observed"].value) for r in rows]
    assert told == [(1, 0.1, 0.1, 10, 0.2), (2, 0.7, 0.7, 4, 0.75), (3, 0.9, 0.9, 6, 1.0)]
    assert [row["mean_score"] for row in rows] == pytest.approx([0.1, 0.7, 0.9])
    for row, hits in zip(rows, (2, 3, 6), strict=True):
        low, high = proportion_confint(hits, row["rows"], 0.05, "beta")
        assert limits_of(row["observed"]) == pytest.approx((low, high), abs=1e-9)
    # every row twice, in a cluster with its twin: no surer than once
    m, place = 3, np.searchsorted([0.1, 0.7, 0.9], x)
    at = np.repeat(np.where(truth, place, place + m), 2)
    owned = ClusterCounts.from_entries([str(i // 2) for i in range(40)], at, np.ones(40, np.int64))
    once = score_counts(x, truth)
    both = ScoreCounts(once.scores, 2 * once.positives, 2 * once.negatives, clusters=owned)
    for row, twin in zip(rows, calibration_rows(None, "m", both, 0.95, Design()), strict=True):
        share: Any = twin["observed"]
        assert (twin["rows"], share.value) == (2 * row["rows"], row["observed"].value)
        assert share.low <= row["observed"].low <= row["observed"].high <= share.high
    (top,) = threshold_rows(None, "m", both, np.array([0.9]), 0.95, Design())
    assert top["precision"] == share  # the rows of the last bin are those from its least score on


def test_calibration_is_that_of_scikit_learn() -> None:
    """Of scores without a tie, tenths are those of its quantiles."""
    x, truth = scores_and_truth(300, 17, 4)
    rows: list[Any] = calibration_rows(None, "m", score_counts(x, truth), None, Design())
    share, mean = calibration_curve(truth, x, n_bins=10, strategy="quantile")
    assert [row["observed"].value for row in rows] == pytest.approx(share.tolist())
    assert [row["mean_score"] for row in rows] == pytest.approx(mean.tolist())
    assert [row["rows"] for row in rows] == [30] * 10


@pytest.mark.parametrize("sizes", [[5] * 12, [12, 1, 12, 1, 12, 1, 12, 1, 2, 2, 2, 2]])
def test_clusters_are_what_is_independent(sizes: list[int]) -> None:
    """Error of a mean over clusters: sqrt(g / (g - 1) sum of (sum of deviations)²) / M."""
    x, truth = scores_and_truth(60, 1)
    owner, g = np.repeat(np.arange(12), sizes), 60**2 / sum(m * m for m in sizes)
    counts = score_counts(x, truth)
    m = len(counts.scores)
    place = np.searchsorted(counts.scores, x) + np.where(truth, 0, m)
    clustered = ScoreCounts(
        counts.scores,
        counts.positives,
        counts.negatives,
        clusters=ClusterCounts.from_entries(
            [str(one) for one in owner], place, np.ones(60, np.int64)
        ),
    )
    value, error = net_benefit(clustered, 0.3, 0.95)
    each = np.where(x >= 0.3, np.where(truth, 1.0, -0.3 / 0.7), 0.0)
    sums = np.bincount(owner, each - each.mean())
    expected = math.sqrt(g / (g - 1) * (sums**2).sum()) / 60
    assert error == pytest.approx(expected)
    # Wilson's limits, with t, of TP and FP of so many rows as tell as much
    effect = max(expected**2 / (((each - each.mean()) ** 2).sum() / 60**2), 1.0)
    assert effect > 1
    called, odds = x >= 0.3, 0.3 / 0.7
    tp, fp = (called & truth).sum(), (called & ~truth).sum()
    alpha = 2 * stats.norm.sf(stats.t.ppf(0.975, g - 1))
    (a, b), (c, d) = (
        proportion_confint(k / effect, 60 / effect, alpha=alpha, method="wilson") for k in (tp, fp)
    )
    p, q = tp / 60, fp / 60
    rho = -math.sqrt(p * q / ((1 - p) * (1 - q)))
    parts = (((p - a), odds * (d - q)), ((b - p), odds * (q - c)))
    down, up = (math.sqrt(i * i + j * j - 2 * rho * i * j) for i, j in parts)
    assert limits_of(value) == pytest.approx((p - odds * q - down, p - odds * q + up))


@pytest.mark.parametrize(("names", "has_limits"), [("abcdabcd", False), ("abcdeabc", True)])
def test_net_benefit_has_limits_from_five_clusters_on(names: str, *, has_limits: bool) -> None:
    """Student's t of 4 degrees of freedom is 2.8."""
    owned = ClusterCounts.from_entries([*names], np.arange(8) % 4, np.ones(8, np.int64))
    twos = np.array([2, 2])
    counts = ScoreCounts(np.array([0.2, 0.8]), twos, twos, clusters=owned)
    value, _ = net_benefit(counts, 0.5, 0.95)
    assert (value.low is not None) == (value.high is not None) == has_limits
    if value.low is not None and value.high is not None:
        assert value.low < 0 < value.high


def test_bins_hold_every_row_once() -> None:
    x, truth = scores_and_truth(500, 2)
    x[:2] = 0.0, 1.0
    rows = distribution_rows(None, "m", score_counts(x, truth), ("yes", "no"))
    for name, wanted in (("yes", truth), ("no", ~truth)):
        mine = [row for row in rows if row["class"] == name]
        assert sum(int(str(row["rows"])) for row in mine) == wanted.sum()
        assert sum(float(str(row["share"])) for row in mine) == pytest.approx(1)
        found, _ = np.histogram(x[wanted], np.arange(21) / 20)
        assert [row["rows"] for row in mine] == found.tolist()


def test_scores_beyond_probabilities_have_bins_of_their_range() -> None:
    x, truth = np.array([-3.0, 1.0, 5.0]), np.array([False, True, True])
    rows = distribution_rows(None, "m", score_counts(x, truth), ("yes", "no"))
    assert (rows[0]["from"], rows[-1]["to"]) == (-3.0, 5.0)


def test_isotonic_calibration_by_hand() -> None:
    """Positives of four scores are 1 of 2, 0 of 1, 1 of 1, 1 of 2: two pairs out of order pool."""
    x = np.array([0.1, 0.1, 0.2, 0.6, 0.8, 0.8])
    truth = np.array([True, False, False, True, True, False])
    rows = isotonic_rows(None, "m", score_counts(x, truth))
    found = [(row["from"], row["to"], row["rows"], row["isotonic"]) for row in rows]
    assert found == [(0.1, 0.2, 3, pytest.approx(1 / 3)), (0.6, 0.8, 3, pytest.approx(2 / 3))]


@pytest.mark.parametrize("seed", range(5))
def test_isotonic_calibration_is_that_of_scikit_learn(seed: int) -> None:
    x, truth = scores_and_truth(300, 2, seed)
    rows = list(isotonic_rows(None, "m", score_counts(x, truth)))
    fitted = IsotonicRegression().fit_transform(x, truth)
    for score, value in zip(x, fitted, strict=True):
        (mine,) = [row["isotonic"] for row in rows if row["from"] <= score <= row["to"]]
        assert mine == pytest.approx(value, abs=1e-12)
    assert sum(row["rows"] for row in rows) == len(x)


def test_the_band_of_a_roc_curve_has_both_rates_jointly() -> None:
    """Each rate has the exact interval at the root of the level: .95 = root x root."""
    x, truth = scores_and_truth(120, 2, 3)
    rows = roc_band_rows(None, "m", score_counts(x, truth), 0.95, Design("random"))
    assert 10 <= len(rows) <= 30
    for row in rows:
        above = x >= row["threshold"]
        for name, side in (("sensitivity", truth), ("fpr", ~truth)):
            hits, size = int((above & side).sum()), int(side.sum())
            low, high = proportion_confint(hits, size, 1 - math.sqrt(0.95), "beta")
            assert value_of(row[name]) == pytest.approx(hits / size)
            assert limits_of(row[name]) == (pytest.approx(low), pytest.approx(high))
