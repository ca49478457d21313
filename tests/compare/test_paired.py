"""Errors of differences on the same rows: against sums over rows, DeLong's and Agresti's forms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

import clfeval
from clfeval.compare.change import DifferenceErrors, errors_of_kinds, errors_of_rows
from clfeval.compare.paired_estimates import DELONG, NO_ROW, REACHING, PairedEstimates, PairLimits
from clfeval.counts.clusters_and_weights import (
    ClusterCounts,
    clusters_or_weights,
    squares_and_weights,
)
from clfeval.counts.rows import ScoredRows
from clfeval.measures.catalog import CATALOG
from clfeval.methods.measurement.label_measures import effective_class_sizes, label_estimates
from clfeval.methods.measurement.requested_measures import RequestedMeasure, parse_measures
from clfeval.methods.report.model_estimates import row_score_influence, score_estimates
from tests.compare import patterns_of
from tests.results import rows_by, value_of
from tests.samples import logistic
from tests.thoroughness import examples

BOTH = np.array([0]), np.array([1])  # the first model less the second


def written_out(f: Any, w: Any, owners: Any, sampling: bool) -> tuple[Any, Any, Any]:
    """Return V, s and df of every difference from its own values, row by row."""
    k, total = len(f), w.sum()
    if owners is not None:
        terms = np.array([[(one * w)[owners == c].sum() for c in np.unique(owners)] for one in f])
        q = np.ones(terms.shape[1])
        parts = float(len(q))
    elif sampling:
        terms, q = f * w, np.ones(len(w))
        parts = total**2 / (w**2).sum()
    else:
        terms, q, parts = f, w, total
    scale = parts / (parts - 1) / total**2
    v = np.array([[(q * one * other).sum() for other in terms] for one in terms]) * scale
    s, df = np.zeros((k, k)), np.full((k, k), np.nan)
    for i in range(k):
        for j in range(k):
            d = terms[i] - terms[j]
            if d.any():
                s[i, j] = np.sqrt((q * d**2).sum() * scale)
                kurtosis = q.sum() * (q * d**4).sum() / (q * d**2).sum() ** 2
                df[i, j] = 2 * parts / (kurtosis - 1)
    return v, s, df


def alike_influences(k: int = 4, m: int = 60, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return influence values of models ever more alike, whole weights, and owners of rows."""
    rng = np.random.default_rng(seed)
    f, w = rng.normal(size=(k, m)), rng.integers(1, 5, m)
    for i in range(1, k):
        f[i] = f[0] + f[i] * 10.0 ** (-2 * i + 1)
    f[-1, 5:] = f[-2, 5:]  # that differ in five rows
    return f - (f * w).sum(axis=1, keepdims=True) / w.sum(), w, rng.integers(0, 15, m)


@pytest.mark.parametrize("kinds", [False, True])
@pytest.mark.parametrize("how", ["rows", "repeated", "weights", "clusters", "weighted clusters"])
def test_errors_are_those_of_each_pair_written_out(how: str, kinds: bool) -> None:
    """Also of models of which one in a million of the variance differs: .1, .001, .00001 apart."""
    f, w, owners = alike_influences()
    weights = None if how in ("rows", "clusters") else w
    mine = owners if "clusters" in how else None
    sampling, n = how == "weights", np.ones(60, np.int64) if weights is None else w
    expected = written_out(f, n.astype(float), mine, sampling)
    if kinds:
        names = None if mine is None else [*map(str, mine)]
        owned = clusters_or_weights(
            squares_and_weights(n) if sampling else names, np.arange(60), n, 60
        )
        found = errors_of_kinds(f, n, owned)
    else:
        found = errors_of_rows([*f], weights, mine, sampling=sampling)
    assert found.covariance == pytest.approx(expected[0], rel=1e-8)
    assert found.errors == pytest.approx(expected[1], rel=1e-9)
    apart = ~np.eye(4, dtype=bool)
    assert found.df[apart] == pytest.approx(expected[2][apart], rel=1e-8)


def test_rows_that_repeat_are_kinds_and_weights_have_no_scale() -> None:
    f, w, _ = alike_influences()
    long = np.repeat(f, w, axis=1)
    every, kinds = errors_of_rows([*long], None, None), errors_of_kinds(f, w, None)
    assert kinds.errors == pytest.approx(every.errors, rel=1e-9)
    assert kinds.df == pytest.approx(every.df, rel=1e-8, nan_ok=True)
    one, ten = (errors_of_rows([*f], c * w, None, sampling=True) for c in (1, 10))
    assert ten.errors == pytest.approx(one.errors, rel=1e-9)
    assert ten.df == pytest.approx(one.df, rel=1e-8, nan_ok=True)
    ones = np.ones(60, np.int64)
    many = ClusterCounts.from_entries(np.arange(60), np.arange(60), ones)
    alone, rows = (errors_of_kinds(f, ones, c) for c in (many, None))
    assert alone.errors == pytest.approx(rows.errors, rel=1e-9)


def test_few_rows_bound_the_degrees_of_freedom_and_one_leaves_none() -> None:
    f, w, _ = alike_influences(2)
    assert errors_of_kinds(f, w, None, fewest=5).df[0, 1] == 4
    found = estimates([0.3, 0.2], errors_of_kinds(f, w, None, fewest=1), "brier", fewest=1)
    assert np.isnan([*found.intervals(*BOTH, level=0.9)[1:3], found.p_values(*BOTH)]).all()
    assert np.isnan(errors_of_rows([*f[:, :1]], None, None).errors).all()  # of one row


def estimates(
    values: Any, known: DifferenceErrors, metric: str, *, fewest: float = 50, limits: Any = None
) -> PairedEstimates:
    models = tuple(f"m{i}" for i in range(len(values)))
    return PairedEstimates(
        metric,
        CATALOG[metric],
        models,
        np.array(values),
        known,
        fewest,
        np.zeros((len(values), 0)),
        np.zeros(0),
        limits,
    )


def paired_estimates(metric: str, truth: Any, *scores: Any, **options: Any) -> PairedEstimates:
    """Return models by a measure as the report has them, labels at .5."""
    (asked,) = parse_measures((metric,))
    owners, weights = options.get("owners"), options.get("weights")
    truth, scores = np.asarray(truth, bool), [np.asarray(one, np.float64) for one in scores]  # type: ignore[assignment]
    patterns = patterns_of(truth, np.array(scores) >= 0.5, owners=owners, weights=weights)
    if asked.needs == "confusion" and asked.name != "net_benefit":
        found: PairedEstimates | None = label_estimates(patterns, asked)
    else:
        places = tuple(range(len(scores)))
        every = ScoredRows(places, tuple(scores), truth, weights, {}, owners)
        moved = {f"m{j}": row_score_influence(asked, 0.5, *every.ranked(j), truth) for j in places}
        found = score_estimates(
            weights,
            owners,
            asked,
            moved,
            effective_class_sizes(patterns, 2),  # type: ignore[arg-type]
            sampling=False,
        )
    assert found is not None
    return found


def tied_scores(m: int = 80, k: int = 2, seed: int = 1) -> tuple[Any, list[Any]]:
    """Return truth and scores with ties of models that share half of their noise."""
    rng = np.random.default_rng(seed)
    truth = np.arange(m) % 4 == 0
    z = rng.normal(size=m) + rng.normal(size=(k, m)) + truth * np.linspace(1, 2, k)[:, None]
    return truth, [logistic(odds, 2) for odds in z]


def test_areas_vary_together_as_delongs_structural_components_do() -> None:
    """V = S10 / P + S01 / N, of the mean wins of each positive, and of each negative."""
    truth, scores = tied_scores(k=3)
    ten, one = [], []
    for x in scores:
        wins = (x[truth][:, None] > x[~truth]) + (x[truth][:, None] == x[~truth]) / 2
        ten.append(wins.mean(axis=1))
        one.append(wins.mean(axis=0))
    v = np.cov(ten) / truth.sum() + np.cov(one) / (~truth).sum()
    found = paired_estimates("roc_auc", truth, *scores)
    assert found.values == pytest.approx([each.mean() for each in ten])
    assert found.pair_errors.covariance == pytest.approx(v, rel=1e-8)
    s = np.sqrt(np.diag(v)[:, None] + np.diag(v) - 2 * v)
    assert found.pair_errors.errors == pytest.approx(s, rel=1e-8, abs=1e-12)
    t = abs(found.values[0] - found.values[2]) / s[0, 2]
    p = found.p_values(np.array([0]), np.array([2]))
    assert p == pytest.approx(2 * stats.t.sf(t, found.pair_errors.df[0, 2]))


def test_sensitivities_differ_as_agresti_and_min_have_it() -> None:
    """Half a row more in each of the four cells of 20 pairs of answers to positives: b 6, c 2.

    Of 60 rows n, P = 20: f = (n / P) (answer - sensitivity), and one row that changes sides moves
    62 / 21, of a table with half a row more in each cell.
    """
    first, second = np.zeros((2, 60))
    first[:16], second[:10], second[16:18] = 1, 1, 1  # both 10, the first alone 6, the second 2
    first[20:25] = 1  # false alarms move no sensitivity
    b, c, found = 6, 2, paired_estimates("sensitivity", TRUTH, first, second)
    squares = (60 / 20) ** 2 * (b + c - (b - c) ** 2 / 20) + (62 / 21) ** 2
    s, d = np.sqrt(squares / (60 * 59)), (b - c) / 20
    assert found.pair_errors.errors[0, 1] == pytest.approx(s, rel=1e-6)
    df = min(19, found.pair_errors.df[0, 1])
    t = stats.t.ppf(0.975, df)
    low, high = (end.item() for end in found.intervals(*BOTH, level=0.95)[1:3])
    assert (low, high) == pytest.approx((d - t * s, d + t * s), rel=1e-6)
    assert found.p_values(*BOTH).item() == pytest.approx(2 * stats.t.sf(d / s, df), rel=1e-6)


TRUTH = np.arange(60) < 20
SCORES = np.random.default_rng(4).random(60)


def zero_of(n: float, tail: float = 0.025) -> float:
    return float(1 - tail ** (1 / n))


@pytest.mark.parametrize(
    ("metric", "reach"),
    [
        ("sensitivity", zero_of(20)),
        ("specificity", zero_of(40)),
        ("accuracy", zero_of(60)),
        ("balanced_accuracy", zero_of(20) / 2),
        ("roc_auc", zero_of(20)),
        ("brier", zero_of(60)),
        ("net_benefit@t:t=0.2", max(zero_of(20) / 3, zero_of(40) / 6)),
        ("log_loss", None),
        ("calibration_slope", None),
    ],
)
def test_models_of_the_same_rows_differ_by_0_with_the_limit_of_none_of_n(
    metric: str, reach: float | None
) -> None:
    """0 of n rows change: at most 1 - .025^(1 / n) do; of net benefit a hit is 1, an alarm 1/4."""
    found = paired_estimates(metric, TRUTH, SCORES, SCORES)
    d, low, high, _ = (end.item() for end in found.intervals(*BOTH, level=0.95))
    assert (d, found.p_values(*BOTH).item()) == (0, 1)
    assert found.method(0, 1, wide=False) == NO_ROW
    ends = (np.nan, np.nan) if reach is None else (-reach, reach)
    assert (low, high) == pytest.approx(ends, rel=1e-3, nan_ok=True)
    if metric == "brier":  # of as many clusters
        owners = np.arange(60) // 3
        found = paired_estimates("brier", TRUTH, SCORES, SCORES, owners=owners)
        assert found.intervals(*BOTH, level=0.9)[2].item() == pytest.approx(zero_of(20, 0.05))


@pytest.mark.parametrize(
    ("metric", "truth", "scores", "told"),
    [
        # a row of each class: no degree of freedom
        *((name, [1, 0], ([0.9, 0.2], [0.3, 0.8]), None) for name in ("roc_auc", "accuracy")),
        # all right against all wrong: of four labels limits by half a row more, and 1 df
        ("accuracy", [1, 0, 1, 0], ([1, 0, 1, 0], [0, 1, 0, 1]), False),
        ("balanced_accuracy", [1, 0, 1, 0], ([1, 0, 1, 0], [0, 1, 0, 1]), False),
        # all pairs of rows in order against none, and against a constant: 1 - tail^(1 / 2) each
        ("roc_auc", [1, 0, 1, 0], ([0.9, 0.2, 0.8, 0.1], [0.2, 0.9, 0.1, 0.8]), False),
        ("roc_auc", [1, 0, 1, 0], ([0.9, 0.2, 0.8, 0.1], [0.5] * 4), False),
        ("roc_auc", [1, 0] * 10, ([0.9, 0.2] * 10, [0.2, 0.9] * 10), True),
        ("roc_auc", [1, 0] * 10, ([0.9, 0.2] * 10, [0.5] * 20), True),
        ("brier", [1, 0] * 10, ([0.9, 0.1] * 10, [0.5] * 20), None),
    ],
)
def test_a_variance_of_0_with_different_values_is_never_certainty(
    metric: str, truth: Any, scores: Any, told: bool | None
) -> None:
    """Unknown (None), or limits of so few rows: told where they exclude 0."""
    found = paired_estimates(metric, truth, *scores)
    d, low, high, _ = (end.item() for end in found.intervals(*BOTH, level=0.95))
    p = found.p_values(*BOTH).item()
    assert d != 0
    if told is None:
        assert np.isnan([low, high, p]).all()
    else:
        assert low < d
        assert (low > 0) == (p < 0.05) == told
        assert p > 0


def test_limits_of_areas_without_an_error_are_those_of_none_of_n_pairs() -> None:
    """Of ten rows a class, 1 less 0: both lie 1 - tail^(1/10) off at most; 1 less .5 one of them.

    p is the tail, twice, at which the limit is 0: 2 (1 - |d| / sqrt(how many lie at an end))^10.
    """
    perfect, turned, constant = [0.9, 0.2] * 10, [0.2, 0.9] * 10, [0.5] * 20
    for other, d, ends in ((turned, 1.0, 2), (constant, 0.5, 1)):
        one = paired_estimates("roc_auc", [1, 0] * 10, perfect, other)
        expected = 2 * (1 - d / np.sqrt(ends)) ** 10
        assert one.p_values(*BOTH).item() == pytest.approx(expected)
        lows = [one.intervals(*BOTH, level=at)[1].item() for at in (0.9, 1 - expected)]
        assert lows == pytest.approx([d - np.sqrt(ends) * zero_of(10, 0.05), 0], abs=1e-9)


def areas(values: Any, errors: Any = (0.02, 0.06), both: float = 0.0006) -> PairedEstimates:
    """Return two areas of these errors and covariance."""
    v = np.array([[errors[0] ** 2, both], [both, errors[1] ** 2]])
    s = np.sqrt(v[0, 0] + v[1, 1] - 2 * both)
    known = DifferenceErrors(np.array([[0, s], [s, 0]]), np.full((2, 2), 11.0), v)
    return estimates(values, known, "roc_auc", fewest=12)


def logit_limits(value: float, error: float, t: float) -> tuple[float, float]:
    middle, reach = np.log(value / (1 - value)), t * error / (value * (1 - value))
    return float(logistic(middle - reach)), float(logistic(middle + reach))


def test_limits_of_areas_reach_farther_away_from_0_and_stay_towards_it() -> None:
    """Few rows: .95 and .8 on the logit scale, joined with rho = .0006 / (.02 .06) = .5."""
    t, s = stats.t.ppf(0.975, 11), np.sqrt(0.0028)
    (_, u1), (l2, _) = logit_limits(0.95, 0.02, t), logit_limits(0.8, 0.06, t)
    e, f = u1 - 0.95, 0.8 - l2
    high = 0.15 + np.sqrt(e**2 - e * f + f**2)
    assert high > 0.15 + t * s
    few = areas([0.95, 0.8])
    _, low, up, wide = few.intervals(*BOTH, level=0.95)
    assert (low[0], up[0], wide[0]) == (pytest.approx(0.15 - t * s), pytest.approx(high), True)
    assert few.method(0, 1, wide=True) == f"{DELONG}{REACHING}"
    _, low, up, _ = few.intervals(*BOTH[::-1], level=0.95)
    assert (low[0], up[0]) == pytest.approx((-high, t * s - 0.15))
    many = replace(areas([0.9, 0.75]), fewest=1000)
    _, _, up, wide = many.intervals(*BOTH, level=0.95)
    assert (up[0], wide[0]) == (pytest.approx(0.15 + t * s), False)
    assert many.method(0, 1, wide=False) == DELONG


def test_both_limits_of_areas_reach_farther_around_0_and_stay_within_the_range() -> None:
    """Of .95 and .9 alike the t limits hold 0, and so do those that reach farther."""
    t = stats.t.ppf(0.975, 11)
    (l1, u1), (l2, u2) = logit_limits(0.95, 0.02, t), logit_limits(0.9, 0.06, t)
    d, e, f, g = 0.95 - l1, u1 - 0.95, 0.9 - l2, u2 - 0.9
    low = 0.05 - np.sqrt(d**2 - d * g + g**2)
    high = 0.05 + np.sqrt(e**2 - e * f + f**2)
    _, under, above, _ = areas([0.95, 0.9]).intervals(*BOTH, level=0.95)
    s = t * np.sqrt(0.0028)
    assert (under[0], above[0]) == pytest.approx((min(low, 0.05 - s), max(high, 0.05 + s)))
    _, under, above, _ = areas([0.95, 0.9], (30.0, 40.0), 0).intervals(*BOTH, level=0.95)
    assert (under[0], above[0]) == (-1, 1)


def test_an_area_of_1_has_the_bound_of_pairs_in_order() -> None:
    """12 pairs all in order: A**12 = .025; the other area's own limits, and nothing in common."""
    t = stats.t.ppf(0.975, 11)
    low2, high2 = logit_limits(0.9, 0.06, t)
    low = 0.1 - np.hypot(1 - 0.025 ** (1 / 12), high2 - 0.9)
    for values, sign in (([1.0, 0.9], 1), ([0.0, 0.1], -1)):
        _, *ends, _ = areas(values, (0.0, 0.06), 0.0).intervals(*BOTH, level=0.95)
        found = sorted(sign * end.item() for end in ends)
        assert found == pytest.approx([low, 0.1 + max(0.9 - low2, 0.06 * t)])


def test_a_bootstrap_has_its_limits_at_their_level_and_narrower_ones_by_t() -> None:
    """The limit towards 0 lies .1 off at 95 %: at a level of 1 - p it is the difference itself."""
    t = stats.t.ppf(0.975, 9)
    known = DifferenceErrors(np.full((2, 2), 0.05), np.full((2, 2), 9.0))
    limits = PairLimits(np.full((2, 2), 0.05), np.full((2, 2), 0.5), 0.95)
    found = estimates([0.45, 0.3], known, "ks", limits=limits)
    assert found.p_values(*BOTH)[0] == pytest.approx(2 * stats.t.sf(1.5 * t, 9))
    _, low, high, _ = found.intervals(*BOTH, level=1 - found.p_values(*BOTH)[0])
    assert low[0] == pytest.approx(0, abs=1e-9)
    _, low, high, _ = found.intervals(*BOTH, level=0.8)
    narrower = stats.t.ppf(0.9, 9) / t
    assert (low[0], high[0]) == pytest.approx((0.15 - 0.1 * narrower, 0.15 + 0.35 * narrower))


METRICS = (
    "roc_auc",
    "brier",
    "log_loss",
    "average_precision",
    "net_benefit",
    "mcc",
    "f1",
    "precision",
    "sensitivity",
    "accuracy",
)


@examples(150)
@given(
    st.integers(0, 10**6),
    st.sampled_from(METRICS),
    st.sampled_from([0.5, 0.9, 0.95, 0.999]),
    st.sampled_from([6, 20, 200]),
    st.sampled_from([0.0, 1.0, 4.0]),
    st.booleans(),
)
def test_every_p_inverts_its_interval_and_every_limit_lies_in_the_range(
    seed: int, metric: str, level: float, rows: int, apart: float, owned: bool
) -> None:
    """p < 1 - level where the interval at that level excludes 0; the turned pair is the same."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(rows) < max(1, rows // 3))
    shift = np.array([[apart], [1.0], [-apart]])
    scores = [*logistic(rng.normal(size=(3, rows)) + shift * truth, 2)]
    owners = np.unique(rng.integers(0, rows // 2, rows), return_inverse=True)[1] if owned else None
    assume(owners is None or owners.max() >= 4)  # fewer than five clusters have no limits
    found = paired_estimates(metric, truth, *scores, scores[0], owners=owners)
    first, second = np.triu_indices(len(found.models), 1)
    d, low, high, _ = found.intervals(first, second, level=level)
    p, known = found.p_values(first, second), ~np.isnan(low)
    assert (np.isnan(p) == np.isnan(low))[d != 0].all()
    assert ((low > 0) | (high < 0))[known].tolist() == (p < 1 - level)[known].tolist()
    assert ((low <= d) & (d <= high))[known].all()
    span = found.measure.high - found.measure.low
    assert ((low >= -span) & (high <= span))[known].all()
    assert ((low < high) | (p == 1))[known].all()
    turned = found.intervals(second, first, level=level)[:3]
    assert [*turned] == [pytest.approx(-one, nan_ok=True) for one in (d, high, low)]
    assert found.p_values(second, first) == pytest.approx(p, rel=1e-9, nan_ok=True)


@pytest.mark.parametrize("metric", ["roc_auc", "brier", "mcc", "balanced_accuracy", "accuracy"])
def test_neither_the_order_of_rows_nor_other_models_nor_the_name_of_a_class_matters(
    metric: str,
) -> None:
    truth, scores = tied_scores(120, 4)
    place = np.random.default_rng(0).permutation(120)
    whole = paired_estimates(metric, truth, *scores)
    pair = np.array([1]), np.array([2])
    for other, at in (
        (paired_estimates(metric, truth[place], *(one[place] for one in scores)), pair),
        (paired_estimates(metric, truth, *scores[::-1]), pair[::-1]),
        (paired_estimates(metric, truth, scores[1], scores[2]), BOTH),
        # scores of .5 are positive, and 1 - .5 too
        (
            paired_estimates(
                metric, ~truth, *(1 - one + 1e-9 * (one == 0.5) * -1 for one in scores)
            ),
            pair,
        ),
    ):
        assert [*other.intervals(*at, level=0.9), other.p_values(*at)] == [
            pytest.approx(one, rel=1e-6)
            for one in (*whole.intervals(*pair, level=0.9), whole.p_values(*pair))
        ]
    # a swap of the classes turns sensitivity into specificity
    labels = [(one >= 0.5) * 1.0 for one in scores]
    one = paired_estimates("sensitivity", truth, *labels)
    other = paired_estimates("specificity", ~truth, *(1 - each for each in labels))
    assert one.intervals(*BOTH, level=0.95) == other.intervals(*BOTH, level=0.95)
    assert one.p_values(*BOTH) == other.p_values(*BOTH)


def test_a_measure_without_both_classes_has_no_estimates() -> None:
    patterns = patterns_of(np.ones(9, bool), np.ones((2, 9), bool))
    assert label_estimates(patterns, RequestedMeasure("mcc", CATALOG["mcc"], {})) is None


@pytest.mark.parametrize("weights", [None, [1.5, 2.25] * 8])
def test_gini_has_the_p_value_of_the_area_of_which_it_is_twice_less_one(
    weights: list[float] | None,
) -> None:
    """Also where one model orders all rows rightly, and the other one none."""
    table: dict[str, Any] = {"y": [1] * 8 + [0] * 8, "a": [0.9] * 8 + [0.2] * 8}
    table["b"] = [1 - score for score in table["a"]]
    options: dict[str, Any] = {}
    if weights:
        table["w"] = weights
        options = {"weight": "w"}
    found = clfeval.report(
        table, truth="y", model=("a", "b"), measure=["gini"], reference="b", **options
    )
    rows = rows_by(found, "comparisons", "measure")
    assert value_of(rows["gini"]["difference"]) == 2
    assert 0 < rows["gini"]["p"] < 0.001
    assert rows["gini"]["p"] == rows["roc_auc"]["p"]
