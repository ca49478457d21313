"""Gains are those of rows that no calibrator saw, whatever the order or the form of the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit

import clfeval
from clfeval.counts.clusters_and_weights import ClusterCounts, RowWeights
from clfeval.counts.scores import ScoreCounts
from clfeval.measures.calibrators import LogOddsCalibrator
from clfeval.methods.recalibration.assessment import assess_methods
from clfeval.methods.recalibration.cross_fitting import (
    CrossFittedGains,
    ScoreJudge,
    class_rows,
    cross_fit,
    design_effect,
)
from clfeval.methods.recalibration.gain import Gain
from clfeval.methods.recalibration.method_fits import MethodFitter, closed_test
from clfeval.methods.recalibration.row_kinds import FOLDS, RowKinds
from clfeval.records import replace
from tests.methods.recalibrate.forms import write_forms
from tests.results import row_of, value_of


def random_table(seed: int, rows: int = 300, slope: float = 0.6) -> pl.DataFrame:
    """Return ids, truth, scores with ties, and clusters."""
    dice = np.random.default_rng([11, seed])
    p = np.round(expit(dice.normal(-0.5, 1.6, rows)), 2).clip(0.01, 0.99)
    truth = dice.random(rows) < expit(slope * logit(p))
    clusters = dice.integers(0, 25, rows)
    return pl.DataFrame({"id": range(rows), "truth": truth * 1, "gbm": p, "patient": clusters})


def counts_of(table: pl.DataFrame, units: str = "") -> ScoreCounts:
    """Return the counts of scores, with clusters or weights."""
    p = table["gbm"].to_numpy()
    y = table["truth"].to_numpy() == 1
    counts = ScoreCounts.from_rows(p, y, None)
    m = len(counts.scores)
    position = np.searchsorted(counts.scores, p) + m * ~y
    ones = np.ones(len(p), np.int64)
    if units == "clusters":
        row_units: Any = ClusterCounts.from_entries(table["patient"].to_list(), position, ones)
    elif units == "weights":
        row_units = RowWeights.from_entries(np.ones((len(p), 2)), position, ones, 2 * m)
    else:
        return counts
    return replace(counts, clusters=row_units)


def held_out_folds(counts: ScoreCounts, repeats: int, rng: Any) -> list[Any]:
    """Return the folds of each repeat, positives and negatives apart: (2, folds, m)."""
    dealt = RowKinds.from_scores(counts).deal_folds(repeats, rng)
    return [held.reshape(len(held), 2, -1).transpose(1, 0, 2) for held in dealt]


def gains_of(counts: ScoreCounts, fitter: MethodFitter, method: Any, rng: Any) -> CrossFittedGains:
    """Return the cross-fitted gains of one method."""
    judge = ScoreJudge(counts, fitter)
    return cross_fit(RowKinds.from_scores(counts), judge, [method], rng)[method]


def by_hand(table: pl.DataFrame, folds: Any) -> float:
    """Return the cross-fitted gain in log loss of a shift, row by row."""
    p = table["gbm"].to_numpy()
    y = table["truth"].to_numpy() == 1
    gains = np.zeros(len(p))
    for fold in range(folds.max() + 1):
        training = folds != fold
        counts = ScoreCounts.from_rows(p[training], y[training], None)
        fitter = MethodFitter(counts.scores, training.sum())
        fits = fitter.fit_all(["shift"], counts.positives[None], counts.negatives[None])
        calibrator = fits["shift"].calibrators[0]
        assert calibrator is not None
        q = calibrator.calibrate(p[~training])
        truth = y[~training]
        gains[~training] = np.log(np.where(truth, q, 1 - q)) - np.log(
            np.where(truth, p[~training], 1 - p[~training])
        )
    return float(gains.mean())


def test_gains_are_those_of_folds_of_rows() -> None:
    """Scores without ties, so that folds of counts are folds of rows."""
    table = random_table(1).with_columns(gbm=pl.col("gbm") + pl.col("id") * 1e-7).sort("gbm")
    counts = counts_of(table)
    stream = np.random.default_rng(5)
    held = held_out_folds(counts, 4, np.random.default_rng(5))
    fitter = MethodFitter(counts.scores, 300)
    gains = gains_of(counts, fitter, "shift", stream)
    total = (class_rows(counts).ravel() * gains.held_out["log_loss"]).sum() / 300
    expected = np.mean([by_hand(table, part.sum(axis=0).argmax(axis=0)) for part in held])
    assert total == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("units", ["", "clusters", "weights"])
def test_folds_add_up_to_the_rows(units: str) -> None:
    counts = counts_of(random_table(2), units)
    for held in held_out_folds(counts, 3, np.random.default_rng(0)):
        assert held.shape == (2, FOLDS, len(counts.scores))
        assert held.sum(axis=1) == pytest.approx(class_rows(counts), abs=1e-9)
        assert (held >= 0).all()
        if not units:
            assert {*held.sum(axis=(0, 2)).tolist()} == {30}


@pytest.mark.parametrize("seed", range(20))
def test_no_cluster_is_in_two_folds(seed: int) -> None:
    """The clusters have scores of their own here, so that a fold shows its clusters."""
    dice = np.random.default_rng(seed)
    clusters = np.sort(dice.integers(0, 17, 200))
    p = (clusters + dice.random(200)) / 17
    table = pl.DataFrame({"truth": dice.integers(0, 2, 200), "gbm": p, "patient": clusters})
    counts = counts_of(table, "clusters")
    cluster_of_score = (counts.scores * 17).astype(int)
    for held in held_out_folds(counts, 2, dice):
        folds = [{*cluster_of_score[fold > 0].tolist()} for fold in held.sum(axis=0)]
        assert sum(map(len, folds)) == len({*clusters.tolist()})


def test_fewer_clusters_than_folds_make_as_many_folds() -> None:
    table = random_table(3).with_columns(patient=pl.col("patient") % 6)
    (held,) = held_out_folds(counts_of(table, "clusters"), 1, np.random.default_rng(0))
    assert held.shape[1] == 6


def test_a_leak_would_be_seen() -> None:
    """Isotonic steps gain on the rows they were fitted to, and lose on new rows."""
    losses = []
    for seed in range(12):
        counts = counts_of(random_table(seed, 1000, slope=1.0))
        fitter = MethodFitter(counts.scores, 1000)
        stream = np.random.default_rng(seed)
        gains = gains_of(counts, fitter, "isotonic", stream)
        held_out = (class_rows(counts).ravel() * gains.held_out["log_loss"]).sum() / 1000
        assert gains.apparent["log_loss"] > 0
        losses.append(held_out)
    assert np.mean(losses) < 0


def test_equal_weights_have_no_design_effect_and_copies_of_rows_have_one() -> None:
    table = random_table(4)
    assert design_effect(counts_of(table)) == 1
    assert design_effect(counts_of(table, "weights")) == pytest.approx(1, abs=0.2)
    copies = pl.concat([table.with_columns(patient=pl.col("id"))] * 3)
    assert design_effect(counts_of(copies, "clusters")) == pytest.approx(
        3 * design_effect(counts_of(table, "weights")), rel=1e-9
    )


def test_the_closed_test_takes_the_simplest_method_that_is_not_rejected() -> None:
    """95 % points of chi-square: 3 degrees 7.815, 2 degrees 5.991, 1 degree 3.841."""
    methods = ("none", "shift", "logistic", "beta")
    cases = {  # twice the likelihood ratios against beta
        (7.81, 5.98, 3.83, 0): 0,
        (7.82, 5.98, 3.83, 0): 1,
        (7.82, 6.00, 3.83, 0): 2,
        (7.82, 6.00, 3.85, 0): 3,
        (7.80, 6.00, 3.85, 0): 0,
    }
    likelihoods = -np.array([*cases]).T / 2
    has_fit = np.ones(likelihoods.shape, bool)
    assert closed_test(likelihoods, has_fit, methods).tolist() == [*cases.values()]
    # without beta, against logistic: 2 degrees 5.991, 1 degree 3.841
    has_fit[3] = False
    without_beta = np.array([[6.00, 3.83, 0, 0], [6.00, 3.85, 0, 0], [5.98, 9, 0, 0]]).T / -2
    assert closed_test(without_beta, has_fit[:, :3], methods).tolist() == [1, 2, 0]


def test_limits_solve_their_equations() -> None:
    """(g - e)^2 = q^2 v (g + o) / (e + 2 o) of the upper limit, before 1/9 of the optimism."""
    gain = Gain(estimate=0.01, error=0.004, optimism=0.002, floor=1e-6)
    quantile = 1.96
    low, high = gain.limits(quantile)
    variance = 0.004**2 + 1e-6
    raised = high - 0.002 / 9
    ratio = variance * (raised + 0.002) / (0.01 + 0.004)
    assert (raised - 0.01) ** 2 == pytest.approx(quantile**2 * ratio, rel=1e-12)
    solved = 2 * low - (0.01 - quantile * variance**0.5)
    ratio = variance * (solved + 0.002) / (0.01 + 0.004)
    assert solved < 0.01
    assert (solved - 0.01) ** 2 == pytest.approx(quantile**2 * ratio, rel=1e-12)
    assert low < 0.01 < high


def test_a_gain_without_variance_is_its_own_limits() -> None:
    assert Gain(0.0, 0.0, 0.0, 0.0).limits(1.96) == (0, 0)


def test_methods_that_cannot_be_fitted_have_no_gain() -> None:
    p = np.array([0.1, 0.2, 0.3, 0.7, 0.8, 0.9] * 5) + np.arange(30) * 1e-4
    counts = ScoreCounts.from_rows(np.sort(p), np.sort(p) > 0.5, None)
    stream = np.random.default_rng(0)
    for assessment in assess_methods(counts, ["temperature", "logistic"], 0.95, stream):
        assert assessment.calibrator is None
        assert assessment.gains == {}


@pytest.mark.parametrize("rows", [300, 900, 1000, 5000])
def test_few_distinct_scores_have_the_most_flexible_method_that_fits(rows: int) -> None:
    """Two scores have no beta calibration: auto takes logistic where these are far off."""
    dice = np.random.default_rng([5, rows])
    p = dice.choice([0.1, 0.9], rows)
    y = dice.random(rows) < np.where(p < 0.5, 0.3, 0.7)
    counts = ScoreCounts.from_rows(p, y, None)
    auto, logistic = assess_methods(counts, ["auto", "logistic"], 0.95, dice)
    assert auto.selected == "logistic"
    assert auto.calibrator == logistic.calibrator
    assert auto.gains["log_loss"].low > 0
    shares = [y[p == score].mean() for score in (0.1, 0.9)]
    assert auto.calibrator is not None
    assert auto.calibrator.calibrate([0.1, 0.9]) == pytest.approx(shares, abs=1e-9)


FORMS = ("permuted", "split", "weighted", "counted")


@pytest.mark.parametrize("form", FORMS)
def test_the_same_rows_in_any_form_give_the_same_tables(form: str, folder: Path) -> None:
    """Permuted, in two files, with whole-number weights for copies, or as a file of counts."""
    files, options = write_forms(random_table(6).drop("patient"), 100, form)
    if form == "counted":
        clfeval.count("rows.csv", positive="1").save("other.counts.parquet")
        files = "other.counts.parquet"
    first = clfeval.recalibrate("rows.csv", positive="1")
    second = clfeval.recalibrate(
        files, **(options | ({} if form == "counted" else {"positive": "1"}))
    )
    for name in ("models", "methods", "mapping"):
        assert [*first.tables[name]] == [*second.tables[name]]
    assert first.answer == second.answer


@pytest.mark.parametrize("method", ["isotonic", "venn-abers"])
def test_steps_do_not_depend_on_the_scale_of_sampling_weights(method: Any) -> None:
    """The prior row of a step and the new row have the mean weight; equal weights have none."""
    table = random_table(9, 1500).drop("patient")
    dice = np.random.default_rng(9)
    weights = dice.integers(2, 30, 1500) / 10
    values = []
    for columns in (weights, weights / 8, np.full(1500, 0.25), np.ones(1500)):
        weighted = table.with_columns(w=pl.Series(columns))
        result = clfeval.recalibrate(
            weighted, positive="1", weight="w", sampling_weights=True, method=method
        )
        values.append(result.calibrators["gbm"].calibrate([0.02, 0.3, 0.5, 0.98]))
    result = clfeval.recalibrate(table, positive="1", method=method)
    values.append(result.calibrators["gbm"].calibrate([0.02, 0.3, 0.5, 0.98]))
    assert values[1] == pytest.approx(values[0], abs=1e-9)
    assert values[2] == pytest.approx(values[4], abs=1e-9)
    assert values[3] == pytest.approx(values[4], abs=1e-9)


def test_the_seed_moves_the_gain_a_little_and_nothing_else() -> None:
    table = random_table(7, 1000)
    results = [clfeval.recalibrate(table, positive="1", model="gbm", seed=s) for s in range(3)]
    gains = [value_of(row_of(result, "models")["gain"]) for result in results]
    assert max(gains) - min(gains) < 0.0015
    assert len({str([*result.tables["mapping"]]) for result in results}) == 1


def test_two_levels_have_two_intervals() -> None:
    table = random_table(8)
    wide, narrow = (
        row_of(clfeval.recalibrate(table, positive="1", model="gbm", level=level), "models")["gain"]
        for level in (0.99, 0.8)
    )
    assert value_of(wide) == value_of(narrow)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_a_reversed_fit_does_not_rise() -> None:
    assert not LogOddsCalibrator(0.1, -0.5, -0.5).rises
    assert not LogOddsCalibrator(0.1, 0, 0).rises
