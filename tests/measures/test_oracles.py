"""Measures of scores and probabilities against scikit-learn, statsmodels and rows one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import sklearn.metrics as sk
import statsmodels.api as sm

from clfeval.measures.catalog import CATALOG
from clfeval.measures.logistic import log_odds
from tests.measures.values import measure_value
from tests.samples import logistic

pytestmark = pytest.mark.filterwarnings("error")
# seed, digits of the probabilities (few: ties), prevalence
SETTINGS = [
    (seed, digits, share) for seed in range(3) for digits in (1, 2, 12) for share in (0.5, 0.15)
]


def weighted_rows(
    seed: int, digits: int, share: float, *, ends: bool = True
) -> tuple[Any, Any, Any]:
    """Return probabilities, truth and whole weights; with `ends` some are exactly 0 and 1."""
    rng = np.random.default_rng([seed, digits, int(100 * share)])
    truth = rng.random(150) < share
    p = logistic(rng.normal(2 * truth - 1, 1.5), digits)
    p = p if ends else np.clip(p, 0.01, 0.99)
    p[:2] = (0, 1) if ends else p[:2]
    return p, truth, rng.integers(1, 5, 150)


def counts_by_score(p: Any, truth: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Return distinct scores with the weight of each class."""
    values, place = np.unique(p, return_inverse=True)
    pos, neg = (
        np.bincount(place, weight * which, len(values)).astype(int) for which in (truth, ~truth)
    )
    return values, pos, neg


@pytest.mark.parametrize("setting", SETTINGS)
def test_scikit_learn(setting: tuple[int, int, float]) -> None:
    p, truth, weight = weighted_rows(*setting)
    table = counts_by_score(p, truth, weight)
    w = {"sample_weight": weight}
    clipped = np.clip(p, 2.0**-52, 1 - 2.0**-52)
    precision, recall, _ = sk.precision_recall_curve(truth, p, **w)
    expected = {
        "brier": sk.brier_score_loss(truth, p, **w),
        "brier_sum": 2 * sk.brier_score_loss(truth, p, **w),
        "brier_skill": sk.d2_brier_score(truth, p, **w),
        "log_loss": sk.log_loss(truth, clipped, **w),
        "log_loss_skill": sk.d2_log_loss_score(truth, clipped, **w),
        "roc_auc": sk.roc_auc_score(truth, p, **w),
        "gini": 2 * sk.roc_auc_score(truth, p, **w) - 1,
        "average_precision": sk.average_precision_score(truth, p, **w),
        "pr_auc": sk.auc(recall, precision),
    }
    for name, wanted in expected.items():
        assert measure_value(name, *table) == pytest.approx(wanted, abs=1e-12), name
    for most in (0.05, 0.1, 0.37, 0.9):
        wanted = sk.roc_auc_score(truth, p, max_fpr=most, **w)
        assert measure_value("partial_auc", *table, fpr=(0, most)) == pytest.approx(
            wanted, abs=1e-12
        )
    whole = measure_value("partial_auc", *table, fpr=(0, 1))
    assert whole == pytest.approx(expected["roc_auc"], abs=1e-12)


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("setting", SETTINGS)
def test_statsmodels(setting: tuple[int, int, float], ends: bool) -> None:
    """Scores of exactly 0 and 1 have no log odds: their rows are not in the line."""
    p, truth, weight = weighted_rows(*setting, ends=ends)
    table, inner = counts_by_score(p, truth, weight), (p > 0) & (p < 1)
    p, truth, weight = p[inner], truth[inner], weight[inner]
    x = log_odds(p)
    options: dict[str, Any] = {"family": sm.families.Binomial(), "freq_weights": weight}
    fit = {"tol": 1e-15, "tol_criterion": "params", "maxiter": 100}
    both = sm.GLM(truth * 1.0, sm.add_constant(x), **options).fit(**fit).params
    alone = sm.GLM(truth * 1.0, np.ones((len(x), 1)), offset=x, **options).fit(**fit).params
    assert measure_value("calibration_intercept", *table) == pytest.approx(both[0], abs=1e-12)
    assert measure_value("calibration_slope", *table) == pytest.approx(both[1], abs=1e-12)
    assert measure_value("calibration_in_the_large", *table) == pytest.approx(alone[0], abs=1e-12)


@pytest.mark.parametrize("setting", SETTINGS)
def test_row_by_row(setting: tuple[int, int, float]) -> None:
    """Plain scripts over repeated rows: net benefit, top k, bins, groups, sums."""
    p, truth, weight = weighted_rows(*setting)
    table = counts_by_score(p, truth, weight)
    p, truth = np.repeat(p, weight), np.repeat(truth, weight)
    data = list(zip(p.tolist(), truth.tolist(), strict=True))
    m, share = len(data), float(truth.mean())
    for t in (0.0, 0.1, 0.5, 0.8):
        tp = sum(y for s, y in data if s >= t)
        fp = sum(not y for s, y in data if s >= t)
        benefit = tp / m - fp / m * t / (1 - t)
        everyone = share - (1 - share) * t / (1 - t)
        assert measure_value("net_benefit@t", *table, t=t) == pytest.approx(benefit, abs=1e-12)
        found = measure_value("net_benefit_standardised", *table, t=t)
        assert found == pytest.approx(benefit / share, abs=1e-12)
        if t:
            found = measure_value("interventions_avoided", *table, t=t)
            avoided = 100 * (benefit - everyone) * (1 - t) / t
            assert found == pytest.approx(avoided, abs=1e-11)
    for bins in (5, 10, 15):
        groups: dict[int, list[tuple[float, bool]]] = {}
        for s, y in data:
            inside = max(i for i in range(bins) if s >= i / bins)
            groups.setdefault(inside, []).append((s, y))
        gaps = [
            (len(g), abs(math.fsum(y for _, y in g) - math.fsum(s for s, _ in g)) / len(g))
            for g in groups.values()
        ]
        found = measure_value("ece", *table, bins=bins)
        assert found == pytest.approx(sum(n * gap for n, gap in gaps) / m, abs=1e-12)
        assert measure_value("mce", *table, bins=bins) == pytest.approx(
            max(g for _, g in gaps), abs=1e-12
        )
    assert measure_value("oe_ratio", *table) == pytest.approx(truth.sum() / math.fsum(p), abs=1e-12)
    z = math.fsum((y - s) * (1 - 2 * s) for s, y in data)
    z /= math.sqrt(math.fsum((1 - 2 * s) ** 2 * s * (1 - s) for s, _ in data))
    assert measure_value("spiegelhalter_z", *table) == pytest.approx(z, abs=1e-11)


@pytest.mark.parametrize("setting", SETTINGS)
def test_ties_at_the_cut_in_expectation(setting: tuple[int, int, float]) -> None:
    """The mean over many orders of rows that ascend, tied ones shuffled, is what is expected."""
    p, truth, weight = weighted_rows(*setting)
    table = counts_by_score(p, truth, weight)
    p, truth = np.repeat(p, weight), np.repeat(truth, weight)
    m, share = len(p), truth.mean()
    for k in (1.5, 7.0, 60.0, 0.1, 1.0):
        many = k if k > 1 else k * m
        above, tied = 0.0, 0.0
        cut = np.sort(p)[::-1][min(math.ceil(many), m) - 1]
        above, tied = truth[p > cut].sum(), truth[p == cut].mean()
        hits = above + (many - (p > cut).sum()) * tied
        expected = {"precision@k": hits / many, "recall@k": hits / truth.sum()}
        expected |= {"gain@k": hits / truth.sum(), "lift@k": hits / many / share}
        for name, wanted in expected.items():
            assert measure_value(name, *table, k=k) == pytest.approx(wanted, abs=1e-12), (name, k)
    if setting[1] == 1:  # by shuffling, whose standard error is below .5 / sqrt(4000) = .008
        rng = np.random.default_rng(1)
        orders = (np.lexsort((rng.random(m), -p))[:20] for _ in range(4000))
        shuffled = np.mean([truth[order].mean() for order in orders])
        assert measure_value("precision@k", *table, k=20) == pytest.approx(shuffled, abs=0.012)


@pytest.mark.parametrize("setting", SETTINGS)
def test_gains_by_straight_lines_cut_fine(setting: tuple[int, int, float]) -> None:
    """Precision and recall gain along the lines of the ROC curve, in 20,000 steps."""
    p, truth, weight = weighted_rows(*setting)
    values, pos, neg = counts_by_score(p, truth, weight)
    tp, fp = (np.append(0, part[::-1].cumsum()) for part in (pos, neg))
    share = tp[-1] / (tp[-1] + fp[-1])
    along = np.linspace(tp[-1] * share, tp[-1], 20001)
    odds = tp[-1] / fp[-1]
    area = 0.0
    for i in range(1, len(tp)):
        u = along[(along > tp[i - 1]) & (along < tp[i])]
        low = max(tp[i - 1], tp[-1] * share)
        if tp[i] <= low:
            continue
        u = np.concatenate([[low], u, [tp[i]]])
        false = fp[i - 1] + (u - tp[i - 1]) / (tp[i] - tp[i - 1]) * (fp[i] - fp[i - 1])
        gain, width = 1 - odds * false / u, 1 - odds * (tp[-1] - u) / u
        area += float(((gain[1:] + gain[:-1]) / 2 * np.diff(width)).sum())
    assert measure_value("auprg", values, pos, neg) == pytest.approx(area, abs=1e-12)


DISTANCES = ("ici", "e50", "e90")
ALL = [
    m for m in CATALOG.values() if m.needs in ("scores", "probabilities") and m.compute is not None
]


@pytest.mark.parametrize("measure", ALL, ids=lambda m: m.id)
def test_replicates_are_measured_one_by_one(measure: Any) -> None:
    measure = measure.with_settings(t=0.3, k=0.2)
    p, pos, neg = counts_by_score(*weighted_rows(0, 2, 0.5))
    rng = np.random.default_rng(9)
    positives, negatives = (rng.poisson(part, (3, 4, len(p))) for part in (pos, neg))
    positives[1, 2], negatives[2, 3], positives[0, 0], negatives[0, 0] = 0, 0, 0, 0
    found = measure.function(p, positives, negatives)
    assert found.shape == (3, 4)
    alone = [
        [measure.function(p, positives[i, j], negatives[i, j]) for j in range(4)] for i in range(3)
    ]
    np.testing.assert_allclose(found, alone, rtol=0, atol=1e-11)
    assert np.isnan(found[0, 0])  # no rows
    assert found[1, 1] == measure.function(np.sort(p), positives[1, 1] * 1.0, negatives[1, 1])
    # weights are repeated rows: all twice is the same, but for tests' statistics and for knots,
    # which depend on the number of rows
    if measure.id not in ("hosmer_lemeshow", "spiegelhalter_z", "ece_debiased", *DISTANCES):
        twice = measure.function(p, 2 * positives, 2 * negatives)
        np.testing.assert_allclose(found, twice, rtol=0, atol=1e-11)
