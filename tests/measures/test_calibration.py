"""Calibration, decisions and the top of a ranking: by hand, at the ends, where undefined."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.logistic import fit_intercept, fit_line, log_odds
from clfeval.measures.record import undefined_reason
from tests.measures.values import measure_value
from tests.texts import check_text

pytestmark = pytest.mark.filterwarnings("error")

# ten rows at .2, of which 4 are positive, and ten at .8, of which 9 are
P, POS, NEG = np.array([0.2, 0.8]), np.array([4, 9]), np.array([6, 1])


def value_at_points(
    name: str, p: Any = P, pos: Any = POS, neg: Any = NEG, **settings: Any
) -> float:
    """Return a measure of these scores, by default of the twenty rows above."""
    counts = np.asarray(p, float), np.asarray(pos), np.asarray(neg)
    return measure_value(name, *counts, **settings)


def test_a_line_through_two_points() -> None:
    """Two probabilities: the line meets ln(4/6) at ln(1/4) and ln(9/1) at ln 4."""
    slope = (math.log(9) - math.log(4 / 6)) / (2 * math.log(4))
    assert value_at_points("calibration_slope") == pytest.approx(slope, abs=1e-14)
    middle = (math.log(9) + math.log(4 / 6)) / 2
    assert value_at_points("calibration_intercept") == pytest.approx(middle, abs=1e-14)


def test_in_the_large_of_one_probability() -> None:
    """All rows at .2, half of them positive: a + ln(1/4) = ln 1."""
    found = value_at_points("calibration_in_the_large", [0.2], [3], [3])
    assert found == pytest.approx(math.log(4), abs=1e-14)
    assert math.isnan(value_at_points("calibration_slope", [0.2], [3], [3]))


def test_observed_to_expected() -> None:
    assert value_at_points("oe_ratio") == pytest.approx(13 / (10 * 0.2 + 10 * 0.8), abs=1e-15)
    assert value_at_points("oe_ratio", [0, 0.5], [1, 0], [3, 0]) == math.inf
    assert math.isnan(value_at_points("oe_ratio", [0, 0.5], [0, 0], [3, 0]))


def test_bins_hold_their_left_edge_and_the_last_one_both() -> None:
    p = [0.29, 0.3, 0.7, 1.0]  # 0.7 x 10 is 7.000000000000001 in binary, .29 x 100 below 29
    one = np.ones(4, int)
    # .29 alone, .3 alone, .7 alone, 1 alone
    expected = (0.29 + 0.3 + 0.7 + 0) / 4
    assert value_at_points("ece", p, [0, 0, 0, 1], one - [0, 0, 0, 1]) == pytest.approx(
        expected, abs=1e-15
    )
    # with bins of .01, .29 and .295 share one; truth 1 and 0 meet .585
    assert value_at_points("ece", [0.29, 0.295], [1, 0], [0, 1], bins=100) == pytest.approx(
        0.415 / 2
    )
    # .95 and 1 share the last
    assert value_at_points("mce", [0.95, 1.0], [0, 1], [1, 0]) == pytest.approx((1.95 - 1) / 2)


def test_what_chance_adds_is_taken_off() -> None:
    """By the draws that the closed form stands for: o ~ N(o_b, o_b (1 - o_b) / n_b)."""
    share, n, p = np.array([0.4, 0.9]), np.array([10, 10]), np.array([0.2, 0.8])
    rng = np.random.default_rng(1)
    drawn = rng.normal(share, np.sqrt(share * (1 - share) / n), (400_000, 2))
    plain = (n * abs(share - p)).sum() / 20
    chance = (n * abs(drawn - p)).sum(axis=1).mean() / 20
    assert value_at_points("ece_debiased") == pytest.approx(2 * plain - chance, abs=5e-4)
    assert value_at_points("ece_debiased", [0.5], [50], [50]) == 0  # it would be below
    assert value_at_points("ece_debiased", [0, 1], [0, 3], [3, 0]) == 0


def test_hosmer_and_lemeshow_by_hand() -> None:
    """Twenty rows in tenths of two: ten groups, each of probabilities a/40 and (a + 1)/40."""
    p = np.arange(1, 21) / 40
    truth = np.arange(20) % 3 == 0
    expected = 0.0
    for g in range(10):
        pair, seen = p[2 * g : 2 * g + 2], truth[2 * g : 2 * g + 2].sum()
        e = pair.sum()
        expected += (seen - e) ** 2 / (e * (1 - e / 2))
    assert value_at_points("hosmer_lemeshow", p, truth * 1, ~truth * 1) == pytest.approx(
        expected, abs=1e-12
    )
    assert value_at_points("hosmer_lemeshow", [0, 1], [0, 3], [3, 0]) == 0
    assert value_at_points("hosmer_lemeshow", [0, 1], [1, 3], [3, 0]) == math.inf


def test_the_uncertainty_of_the_brier_score_by_hand() -> None:
    """Of 20 rows .65 are positive."""
    assert value_at_points("brier_uncertainty") == pytest.approx(0.65 * 0.35, abs=1e-15)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("ece", {"bins": 0}),
        ("net_benefit@t", {"t": 1.5}),
        ("precision@k", {"k": 0}),
        ("net_benefit@t", {"t": 0.5, "p": [0.2, 1.8]}),
    ],
)
def test_settings_out_of_range_are_refused(name: str, settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\d") as caught:
        value_at_points(name, **settings)
    check_text(str(caught.value))


def test_a_score_at_the_threshold_counts_and_too_few_rows_have_no_top() -> None:
    assert value_at_points("net_benefit@t", t=0.8) == pytest.approx(9 / 20 - 1 / 20 * 4, abs=1e-15)
    assert value_at_points("net_benefit@t", t=0.81) == 0
    assert math.isnan(value_at_points("precision@k", k=21))


UNDEFINED = [  # p, positives, negatives, settings, the measures and why
    (
        [0.1, 0.9],
        [0, 0],
        [3, 4],
        {"t": 0.5, "k": 0.5},
        {
            "roc_auc": "single_class",
            "gini": "single_class",
            "ks": "single_class",
            "partial_auc": "single_class",
            "auprg": "single_class",
            "average_precision": "no_positive_truth",
            "pr_auc": "no_positive_truth",
            "brier_skill": "single_class",
            "log_loss_skill": "single_class",
            "calibration_slope": "single_class",
            "calibration_intercept": "single_class",
            "calibration_in_the_large": "single_class",
            **dict.fromkeys(("ici", "e50", "e90"), "single_class"),
            "recall@k": "no_positive_truth",
            "gain@k": "no_positive_truth",
            "lift@k": "no_positive_truth",
            "net_benefit_standardised": "no_positive_truth",
        },
    ),
    (
        [0.1, 0.9],
        [3, 4],
        [0, 0],
        {"t": 0.5, "k": 0.5},
        {
            "roc_auc": "single_class",
            "gini": "single_class",
            "ks": "single_class",
            "partial_auc": "single_class",
            "auprg": "single_class",
            "brier_skill": "single_class",
            "log_loss_skill": "single_class",
            "calibration_slope": "single_class",
            "calibration_intercept": "single_class",
            "calibration_in_the_large": "single_class",
            **dict.fromkeys(("ici", "e50", "e90"), "single_class"),
        },
    ),
    (
        [0.1, 0.5, 0.9],
        [0, 1, 2],
        [3, 1, 0],
        {"t": 0.5, "k": 0.5},
        {"calibration_slope": "separation", "calibration_intercept": "separation"},
    ),
    (
        [0.1, 0.9],
        [3, 0],
        [0, 3],
        {"t": 0.5, "k": 0.5},
        {"calibration_slope": "separation", "calibration_intercept": "separation"},
    ),
    (
        [0.5],
        [3],
        [3],
        {"t": 1, "k": 7},
        {
            "calibration_slope": "separation",
            "calibration_intercept": "separation",
            "spiegelhalter_z": "no_uncertainty",
            "net_benefit@t": "certain_threshold",
            "net_benefit_standardised": "certain_threshold",
            "interventions_avoided": "certain_threshold",
            "precision@k": "too_few_rows",
            "recall@k": "too_few_rows",
            "gain@k": "too_few_rows",
            "lift@k": "too_few_rows",
        },
    ),
]


@pytest.mark.parametrize(("p", "pos", "neg", "settings", "expected"), UNDEFINED)
def test_what_is_undefined_says_why(
    p: Any, pos: Any, neg: Any, settings: Any, expected: dict[str, str]
) -> None:
    every = [m for m in CATALOG.values() if m.needs in ("scores", "probabilities") and m.compute]
    table = Confusion(sum(pos), sum(neg), 0, 0)
    found = {
        measure.id: undefined_reason(measure.undefined, table)
        for measure in every
        if math.isnan(value_at_points(measure.id, p, pos, neg, **settings))
    }
    assert found == expected


def test_almost_separated_classes_have_a_line() -> None:
    """One row of each class out of order among 10,000: found, and where the residuals are 0."""
    p = np.linspace(0.001, 0.999, 10_000)
    truth = p > 0.5
    truth[[4999, 5000]] = truth[[5000, 4999]]
    x, pos, neg = log_odds(p), truth * 1.0, ~truth * 1.0
    a, b = fit_line(x, pos, neg)
    assert b > 100
    rest = truth - 1 / (1 + np.exp(-np.clip(a + b * x, -700, 700)))
    assert abs(rest.sum()) < 1e-8
    assert abs((x * rest).sum()) < 1e-8


def test_lines_from_far_off() -> None:
    """Probabilities at both clips, and one that is confidently wrong: steps are halved."""
    p = np.array([0.0, 1e-9, 0.5, 1 - 1e-9, 1.0])
    pos, neg = np.array([50, 0, 1, 1, 1]), np.array([1, 1, 2, 0, 40])
    x = log_odds(p)
    a, b = fit_line(x, pos, neg)
    assert b < 0
    rest = pos - (pos + neg) / (1 + np.exp(-a - b * x))
    assert abs(rest.sum()) < 1e-10
    assert abs((x * rest).sum()) < 1e-9
    shifted = fit_intercept(x, np.array([0, 0, 0, 0, 1]), np.array([0, 0, 0, 0, 10**6]))
    assert shifted == pytest.approx(-math.log(10**6) - x[-1], abs=1e-9)


@pytest.mark.parametrize("rows", [4095, 4097, 50_000])
def test_a_first_fit_of_blocks_changes_nothing(rows: int) -> None:
    rng = np.random.default_rng(rows)
    p = np.sort(rng.beta(0.5, 0.5, rows))
    truth = rng.random(rows) < p**1.3
    x = log_odds(p)
    a, b = fit_line(x, truth * 1, ~truth * 1)
    rest = truth - 1 / (1 + np.exp(-a - b * x))
    assert abs(rest.sum()) < 1e-9 * rows
    assert abs((x * rest).sum()) < 1e-9 * rows
