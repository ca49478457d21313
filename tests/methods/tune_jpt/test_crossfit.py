"""Cross-fitted thresholds: by hand with given folds, by simulation, and where there are none."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from clfeval.counts.scores import ScoreCounts
from clfeval.measures.odds import Stakes
from clfeval.methods.roc import candidates
from clfeval.methods.tune_jpt import crossfit
from clfeval.methods.tune_jpt.best import best_points, candidates_of
from clfeval.methods.tune_jpt.crossfit import deal, grouped, honest_estimates
from clfeval.methods.tune_jpt.tables import formulas
from clfeval.result import Estimate
from tests.methods.tune_jpt import brute
from tests.thoroughness import examples

KNOWN = formulas(1.0, Stakes(brute.COST_FP, brute.COST_FN))
ODDS = [0.001, 0.1, 1.0, 5.0, 1000.0]
Rows = list[tuple[float, int]]  # score, truth


def honest(
    counts: ScoreCounts, names: Sequence[str], odds: Sequence[float] = (1.0,), *,
    folds: int = 10, repeats: int = 5, seed: int = 0,
) -> dict[str, list[Estimate]]:  # fmt: skip
    chosen = {name: KNOWN[name] for name in names}
    rngs, ratios = [np.random.default_rng(seed)], np.array(odds)[:, None]
    return honest_estimates([counts], ratios, chosen, folds=folds, repeats=repeats, rngs=rngs)[0]


def in_turn(counts: np.ndarray, folds: int, rng: object) -> np.ndarray:
    """Deal the rows of a class in turn, the highest score first."""
    group = np.repeat(np.arange(len(counts)), counts)
    return np.array([np.bincount(group[i::folds], minlength=len(counts)) for i in range(folds)])


def by_hand(rows: Rows, name: str, odds: float, folds: int) -> float:
    """Choose on the other folds by asking every threshold, judge on the fold, add up, measure."""
    ranked = sorted(rows, reverse=True)
    fold_of = []
    seen = [0, 0]
    for _, truth in ranked:
        turn = seen[truth] % folds
        fold_of.append(turn if truth else folds - 1 - turn)
        seen[truth] += 1
    tp = fp = 0
    for fold in range(folds):
        training = [row for row, mine in zip(ranked, fold_of, strict=True) if mine != fold]
        held = [row for row, mine in zip(ranked, fold_of, strict=True) if mine == fold]
        _, cut = brute.best_point(brute.every_point(training), name, odds)
        if cut is None:
            return math.nan
        tp += sum(truth for score, truth in held if score >= cut)
        fp += sum(1 - truth for score, truth in held if score >= cut)
    positives = sum(truth for _, truth in rows)
    return brute.measured(name, tp, fp, positives, len(rows) - positives, odds)


@pytest.mark.parametrize(
    ("column", "decimals", "folds"),
    [("svm", None, 5), ("naive_bayes", 1, 10), ("tree", None, 3), ("knn", None, 2)],
)
def test_real_scores_in_given_folds(
    column: str, decimals: int | None, folds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crossfit, "deal", in_turn)
    rows = brute.fixture("breast-cancer/scores.csv", column, "malignant", decimals)
    names = ("tar", "npv", "f_beta", "mcc", "ic", "j_index", "expected_cost", "epa", "lr_neg")
    found = honest(brute.score_counts(rows), names, ODDS, folds=folds, repeats=2)
    for name in names:
        for odds, one in zip(ODDS, found[name], strict=True):
            value = math.inf if one.reason == "infinite" else one.value
            assert value == pytest.approx(by_hand(rows, name, odds, folds), rel=1e-12, abs=1e-15)


def test_scores_no_better_than_chance_in_given_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training parts whose curve never rises above the chance line, and others that do."""
    monkeypatch.setattr(crossfit, "deal", in_turn)
    rows = [(8.0, 0), (7.0, 0), (6.0, 1), (5.0, 0), (4.0, 1), (3.0, 0), (2.0, 1), (1.0, 1)]
    for folds in (2, 3, 4):
        for name in ("mcc", "epa", "tar", "ppv", "j_index"):
            found = honest(brute.score_counts(rows), [name], ODDS, folds=folds, repeats=1)[name]
            expected = [by_hand(rows, name, odds, folds) for odds in ODDS]
            values = [math.nan if one.value is None else one.value for one in found]
            assert values == pytest.approx(expected, rel=1e-12, nan_ok=True), (folds, name)


def test_a_threshold_between_the_held_out_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folds {.9+ .2-} and {.6+ .3-}: each chooses its own positive's score for the other.

    Chosen on fold 2 the cut .6 takes the held-out .9; chosen on fold 1 the cut .9 misses .6: one
    of two positives, no negative, J = 1/2.
    """
    monkeypatch.setattr(crossfit, "deal", in_turn)
    counts = brute.score_counts([(0.9, 1), (0.6, 1), (0.3, 0), (0.2, 0)])
    assert honest(counts, ["j_index"], folds=2, repeats=1)["j_index"] == [Estimate(0.5)]


def normal_scores(rng: np.random.Generator, n: int, gap: float) -> ScoreCounts:
    truth = (np.arange(n) < n // 2).astype(int)
    rows = zip((rng.normal(size=n) + gap * truth).tolist(), truth.tolist(), strict=True)
    return brute.score_counts(rows)


@pytest.mark.parametrize("gap", [0.0, 1.5])
def test_the_best_threshold_flatters_and_cross_fitting_does_not(gap: float) -> None:
    """Scores are normal, the positives' higher by `gap`: the truth at a threshold is known.

    J of 60 tables of 100 rows: its standard error is about .09 / sqrt(60) = .012.
    """
    rng = np.random.default_rng(3)
    apparent, fitted, true = [], [], []
    for seed in range(60):
        counts = normal_scores(rng, 100, gap)
        points = candidates(counts)
        measures = {"j_index": KNOWN["j_index"]}
        place, value = best_points([points], np.ones((1, 1)), measures)["j_index"]
        cut = points.thresholds[place[0, 0]]
        apparent.append(value[0, 0])
        true.append(norm.sf(cut - gap) - norm.sf(cut))
        fitted.append(honest(counts, ["j_index"], repeats=2, seed=seed)["j_index"][0].value)
    means = [float(np.mean(x)) for x in (apparent, fitted, true)]
    assert means[0] > means[2] + 0.04
    assert means[1] == pytest.approx(means[2], abs=0.03)


def test_dealing_is_even_and_complete() -> None:
    rng = np.random.default_rng(1)
    counts = np.array([5, 0, 17, 1, 80])
    dealt = deal(counts, 10, rng)
    assert dealt.sum(axis=0).tolist() == counts.tolist()
    assert dealt.sum(axis=1).tolist() == [10] * 7 + [11] * 3  # of 103 rows
    mean = np.mean([deal(counts, 10, rng) for _ in range(2000)], axis=0)
    assert np.abs(mean - np.outer([10] * 7 + [11] * 3, counts / 103)).max() < 0.1
    # more rows than numpy deals exactly
    many = deal(np.array([10**9, 3 * 10**9]), 4, rng)
    assert many.sum(axis=0).tolist() == [10**9, 3 * 10**9]
    assert many.sum(axis=1) == pytest.approx([10**9] * 4, rel=1e-3)


def test_the_stream_decides_and_odds_do_not() -> None:
    counts = normal_scores(np.random.default_rng(2), 80, 1.0)
    names = ("mcc", "j_index", "dor")
    once = honest(counts, names, ODDS)
    assert honest(counts, names, ODDS) == once
    assert honest(counts, names, ODDS, seed=1) != once
    assert honest(counts, names, ODDS[2:3])["mcc"] == once["mcc"][2:3]
    for name in ("j_index", "dor"):
        assert len(set(once[name])) == 1
    # a measure asked for besides changes no other
    assert honest(counts, ("tar", *names), ODDS)["mcc"] == once["mcc"]


def test_frequency_weights_are_repeated_rows() -> None:
    counts = ScoreCounts(np.array([0.2, 0.8]), np.array([2, 6]), np.array([6, 2]))
    # every training part finds .8 the best: 6/8 - 2/8
    assert honest(counts, ["j_index"])["j_index"] == [Estimate(0.5)]


def test_groups_of_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many scores, the rows stay, the ends are fine, and the estimate hardly moves."""
    rng = np.random.default_rng(4)
    n = 50_000
    score = np.arange(n) / n
    hit = (rng.random(n) < score**2).astype(np.int64)
    counts = ScoreCounts(score, hit, 1 - hit)
    positives, negatives, _ = grouped(counts, 1024)
    sizes = positives + negatives
    assert (positives.sum(), negatives.sum()) == (hit.sum(), n - hit.sum())
    assert len(sizes) <= 1024
    assert sizes[:20].tolist() == sizes[-20:].tolist() == [1] * 20
    assert sizes.max() <= math.ceil(n / 511)
    assert grouped(counts, n)[0].tolist() == hit[::-1].tolist()
    names = ("tar", "mcc", "f_beta")
    monkeypatch.setattr(crossfit, "deal", in_turn)
    coarse = honest(counts, names, ODDS, repeats=1)
    monkeypatch.setattr(crossfit, "_GROUPS", n)
    fine = honest(counts, names, ODDS, repeats=1)
    for name in names:
        for a, b in zip(fine[name], coarse[name], strict=True):
            assert a.value == pytest.approx(b.value, rel=0.01)


def test_where_there_is_none() -> None:
    def only(rows: Rows, **options: int) -> Estimate:
        return honest(brute.score_counts(rows), ["mcc"], **options)["mcc"][0]

    assert only([(0.9, 1), (0.2, 0), (0.1, 0)]).reason == "too_few_rows"
    assert only([(0.9, 1), (0.2, 1)]).reason == "no_negative_truth"
    assert only([(0.9, 0)]).reason == "no_positive_truth"
    # one score: MCC is 0/0 at both thresholds there are
    assert only([(0.5, 1), (0.5, 1), (0.5, 0), (0.5, 0)]).reason == "zero_margin"
    # two of each and leave-one-out, asked for as more folds than rows
    assert only([(0.9, 1), (0.8, 1), (0.2, 0), (0.1, 0)], folds=99).value is not None
    thirds = ScoreCounts(np.array([0.1, 0.9]), np.array([1, 15]), np.array([12, 3]), unit=3)
    for name, found in honest(thirds, ["mcc", "tar"], ODDS).items():
        assert found == [Estimate(None, reason="fractional_weights")] * len(ODDS), name
    for folds, repeats in ((1, 5), (10, 0)):
        with pytest.raises(ValueError, match="two folds"):
            honest(thirds, ["mcc"], folds=folds, repeats=repeats)


def test_infinite_where_no_judged_answer_was_wrong() -> None:
    rows = [(0.9, 1), (0.8, 1), (0.7, 1), (0.3, 0), (0.2, 0), (0.1, 0)]
    counts = ScoreCounts.of(
        np.array([score for score, _ in rows]),
        np.array([20 * truth for _, truth in rows]),
        np.array([20 * (1 - truth) for _, truth in rows]),
    )
    found = honest(counts, ["ppv_odds", "tar"])
    assert found["ppv_odds"] == [Estimate(None, reason="infinite")]
    assert found["tar"] == [Estimate(1.0)]


curves = st.lists(
    st.lists(st.tuples(st.integers(0, 9).map(float), st.integers(0, 1)), max_size=14).map(
        lambda rows: [*rows, (3.0, 1), (4.0, 0)]
    ),
    min_size=2, max_size=5,
)  # fmt: skip


@examples(60)
@given(curves, st.sampled_from([2, 3, 10]), st.integers(1, 2))
def test_curves_are_looked_at_together_and_say_what_each_says_alone(
    tables: list[Rows], folds: int, repeats: int
) -> None:
    """Of other sizes, above and below the chance line, with folds that lack a class or a row."""
    parts = [brute.score_counts(rows) for rows in tables]
    ratios = np.geomspace(0.01, 50, 2 * len(parts)).reshape(2, -1)
    found = honest_estimates(
        parts, ratios, KNOWN, folds=folds, repeats=repeats,
        rngs=[np.random.default_rng(i) for i in range(len(parts))],
    )  # fmt: skip
    points = candidates_of(parts)
    best = best_points(points, ratios, KNOWN)
    for i, counts in enumerate(parts):
        odds = ratios[:, i].tolist()
        assert found[i] == honest(counts, list(KNOWN), odds, folds=folds, repeats=repeats, seed=i)
        alone = candidates(counts)
        for name in ("thresholds", "tp", "fp"):
            assert getattr(points[i], name).tolist() == getattr(alone, name).tolist()
        for name, its in best_points([alone], ratios[:, [i]], KNOWN).items():
            for one, all_of_them in zip(its, best[name], strict=True):
                np.testing.assert_array_equal(one[:, 0], all_of_them[:, i], err_msg=name)
