"""Rankings of predictions with few rows or without an error: no certainty out of zero errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm
from sklearn import metrics as sk
from statsmodels.stats.proportion import proportion_confint

import clfeval
from clfeval.api.result import Result
from clfeval.arrays import Floats
from clfeval.document.cells import Estimate
from clfeval.inference.rank_statistics import delong_auc
from clfeval.methods.mlcps import ranking
from clfeval.methods.mlcps.metric_values import add_unseen_rows, sparse_data_reasons
from tests.methods.mlcps.test_predicted_measures import measures
from tests.results import (
    estimate_of,
    limits_of,
    row_of,
    rows_by,
    rows_of,
    value_of,
    warning_messages,
)
from tests.texts import check_text, numbers_in


def labels_with_errors(positives: int, negatives: int, **errors: tuple[int, int]) -> pl.DataFrame:
    """Return models that are wrong in so many positives and negatives, not all in the same rows."""
    truth = np.repeat([1, 0], [positives, negatives])
    columns = {}
    for shift, (name, (misses, alarms)) in enumerate(errors.items()):
        is_error = np.zeros(len(truth), bool)
        is_error[shift : shift + misses] = True
        is_error[positives + shift : positives + shift + alarms] = True
        columns[name] = np.where(is_error, 1 - truth, truth)
    return pl.DataFrame({"truth": truth, **columns})


def ranked(table: pl.DataFrame, *metrics: str, **options: Any) -> Result:
    """Return the ranking of the models of predictions."""
    return clfeval.mlcps(table, source="predictions", metric=metrics, **options)


def estimate_by_metric(result: Result, model: str) -> dict[str, Estimate]:
    rows = rows_by(result, "profile", "metric", model=model)
    return {metric: estimate_of(row["value"]) for metric, row in rows.items()}


FEW = labels_with_errors(9, 51, none=(0, 0), one=(1, 2), two=(2, 3))


def test_a_model_without_an_error_is_not_certain() -> None:
    """Nine positives and 51 negatives: it had 1.299 [1.299, 1.299] and 100 % of the resamples."""
    result = ranked(FEW, "sensitivity", "specificity", "precision")
    row = rows_of(result, "models")[0]
    low, high = limits_of(row["mlcps"])
    assert value_of(row["mlcps"]) == high == pytest.approx(3 * np.sqrt(3) / 4)
    # one draw in forty: sensitivity and precision about Beta(9.5, .5), whose 2.5 % point is .76
    assert 0.9 < low < 1.15
    assert 0.8 < value_of(row["first"]) < 0.99
    (note,) = warning_messages(result, "unseen-errors")
    assert numbers_in(note)[0] == 9
    check_text(note)


def test_single_metrics_have_exact_limits() -> None:
    """9 of 9: from .025 ** (1/9) = .664 up; 8 of 9 and the others as statsmodels has them."""
    result = ranked(FEW, "sensitivity", "specificity", "precision", "npv", "accuracy")
    perfect = estimate_by_metric(result, "none")
    assert limits_of(perfect["sensitivity"]) == (pytest.approx(0.025 ** (1 / 9)), 1)
    assert perfect["specificity"].low == pytest.approx(0.025 ** (1 / 51))
    for name, k, n in (
        ("sensitivity", 8, 9),
        ("specificity", 49, 51),
        ("precision", 8, 10),
        ("npv", 49, 50),
        ("accuracy", 57, 60),
    ):
        estimate = estimate_by_metric(result, "one")[name]
        assert estimate.value == pytest.approx(k / n)
        limits = proportion_confint(k, n, alpha=0.05, method="beta")
        assert limits_of(estimate) == pytest.approx(limits)


def test_measures_of_the_two_rates_alone_have_the_limits_of_phidelta() -> None:
    table = labels_with_errors(40, 60, a=(4, 9), b=(7, 3))
    result = ranked(
        table, "j_index", "balanced_accuracy", "f1", rescale={"j_index": (-1, 1)}, level=0.9
    )
    of_a = estimate_by_metric(result, "a")
    row = row_of(clfeval.phidelta(table, level=0.9), "models", model="a")
    low, high = limits_of(row["delta"])
    assert limits_of(of_a["j_index"]) == pytest.approx((low, high))
    balanced = limits_of(of_a["balanced_accuracy"])
    assert balanced == pytest.approx(((1 + low) / 2, (1 + high) / 2))
    low, high = limits_of(of_a["f1"])
    assert low < 72 / (72 + 4 + 9) < high


def normal_scores(positives: int, negatives: int, distance: float, seed: int = 1) -> pl.DataFrame:
    """Return two models of normal scores, whose means in the classes are `distance` apart."""
    rng = np.random.default_rng(seed)
    truth = np.repeat([1, 0], [positives, negatives])
    noise = rng.normal(size=(len(truth), 2))
    columns = {name: noise[:, i] + truth * distance for i, name in enumerate(("a", "b"))}
    return pl.DataFrame({"truth": truth, **columns})


AREA: dict[str, Any] = {"kind": "score", "any_range": True}


def test_areas_have_the_limits_that_curves_have() -> None:
    """Those of the draws with one row of a class alone, which has no variance."""
    names = ("roc_auc", "gini", "sensitivity")
    for table, closed in (
        (normal_scores(50, 70, 1), True),
        (normal_scores(12, 70, 1), True),
        (normal_scores(50, 70, 3), True),
        (normal_scores(1, 70, 1), False),
    ):
        values = measures(table, *names, resamples=200, **AREA)
        assert values.limits is not None
        truth, score = table["truth"].to_numpy() == 1, table["a"].to_numpy()
        order = np.argsort(score)
        area = delong_auc(truth[order], ~truth[order], level=0.95)
        assert area.value == pytest.approx(sk.roc_auc_score(truth, score))
        low, high = (side[0] for side in values.limits)
        if closed:
            assert (low[0], high[0]) == pytest.approx((area.low, area.high))
            assert (low[1], high[1]) == pytest.approx((2 * area.low - 1, 2 * area.high - 1))
        else:
            assert np.isnan([low[:2], high[:2]]).all()
        assert not np.isnan(low[2])


def test_scores_that_part_the_classes_have_the_exact_bound_and_draws_that_move() -> None:
    table = labels_with_errors(9, 51, a=(0, 0), b=(1, 1)).with_columns(
        pl.col("a") * 2.0 + pl.int_range(60) / 60, pl.col("b") * 2.0 + pl.int_range(60) / 60
    )
    values = measures(table, "roc_auc", "gini", "ks", resamples=400, kind="score", any_range=True)
    assert values.values[0].tolist() == [1, 1, 1]
    low, high = (side[0] for side in values.limits or ())
    # nine pairs without a row in common are all in order with probability A ** 9
    assert (low[0], high[0]) == pytest.approx((0.025 ** (1 / 9), 1))
    assert low[1] == pytest.approx(2 * 0.025 ** (1 / 9) - 1)
    replicates = values.replicates
    assert replicates is not None
    assert (replicates[:, 0].std(axis=0) > 0.005).all()
    assert replicates[:, 0].max() <= 1


def test_unseen_rows_have_the_scores_of_the_class_they_are_taken_for() -> None:
    joint = joint_of(normal_scores(9, 51, 30).with_columns(pl.col("a", "b") - 15))
    wider = add_unseen_rows(joint, np.random.default_rng(0))
    assert wider.n.sum() == pytest.approx(60 + 2)
    assert wider.n[wider.truth].sum() == pytest.approx(9 + 1)
    wrong = wider.votes != wider.truth[:, None]
    assert (wider.n @ wrong).tolist() == pytest.approx([1, 1])  # none of the rows, half in a class
    assert wider.scores is not None
    assert (wider.votes == (wider.scores >= 0.5))[wrong].mean() > 0.5
    assert set(wider.scores[:, 0]) <= set(joint.scores[:, 0])  # type: ignore[index]


def joint_of(table: pl.DataFrame) -> Any:
    from clfeval.counts.count import count_predictions
    from clfeval.tables.input import InputOptions
    from clfeval.tables.prediction_files import open_predictions

    with open_predictions(table, InputOptions(kind="score")) as predictions:
        return count_predictions(predictions, any_range=True).joint(scores=True)


@pytest.mark.parametrize(
    ("table", "reasons"),
    [
        (labels_with_errors(30, 30, a=(1, 1), b=(29, 2)), 0),
        (labels_with_errors(29, 30, a=(1, 1), b=(2, 2)), 1),
        (labels_with_errors(40, 1, a=(1, 0)), 2),
        (labels_with_errors(40, 40, a=(40, 1), b=(0, 3)), 2),
    ],
)
def test_few_rows_and_empty_cells_make_predictions_thin(table: pl.DataFrame, reasons: int) -> None:
    texts = sparse_data_reasons(joint_of(table.cast({"a": pl.Float64})), votes=True, ranks=False)
    assert len(texts) == reasons
    check_text(texts)


def test_where_only_ranks_matter_the_cells_of_a_threshold_do_not() -> None:
    table = normal_scores(40, 50, 1).with_columns(pl.col("a", "b") + 10)
    assert sparse_data_reasons(joint_of(table), votes=False, ranks=True) == []
    separated = normal_scores(40, 50, 30)
    assert len(sparse_data_reasons(joint_of(separated), votes=False, ranks=True)) == 1


def test_a_model_that_always_says_yes_may_be_wrong_about_it() -> None:
    """Its precision is the share of positives, and what is drawn of it never undefined."""
    table = labels_with_errors(9, 51, yes=(0, 51), good=(1, 1))
    values = measures(table, "sensitivity", "specificity", "precision", resamples=300)
    replicates = values.replicates
    assert replicates is not None
    assert np.isfinite(replicates).all()
    assert replicates[:, 0, 0].mean() == pytest.approx(9.5 / 10, abs=0.02)  # Beta(9.5, .5)
    assert replicates[:, 0, 1].mean() == pytest.approx(0.5 / 52, abs=0.005)  # Beta(.5, 51.5)


@pytest.mark.parametrize(("behind", "told"), [(5, True), (10, False)])
def test_who_came_first_by_chance_is_allowed_for(behind: int, told: bool) -> None:
    """Three pairs at 95 %: 1 - .05 / 3, so .83 % on a side, 8 of 1,000; two would take 12."""
    replicates = np.full((1000, 3), 0.5)
    replicates[:, 1] = replicates[:, 2] = 0.4
    replicates[:behind, 1] = 0.6
    assert tied_with_best([0.5, 0.4, 0.4], replicates, 5000) == ([] if told else [1])


def tied_with_best(scores: list[float], replicates: Floats, fewest: int) -> list[int]:
    """Return the models that are not significantly different from the best, in 95 % intervals."""
    ranks = ranking.dense_ranks(np.array(scores))
    return ranking._tied_with_first(np.array(scores), replicates, ranks, fewest, 0.95)


@pytest.mark.parametrize(("fewest", "told"), [(20, []), (30, [1]), (10_000, [1])])
def test_few_rows_tell_less_than_their_percentiles_do(fewest: int, told: list[int]) -> None:
    """t at .83 % on a side: 2.625 with 19 degrees of freedom, 2.541 with 29, 2.394 with many.

    With sqrt(m / (m-1)) 2.693, 2.584 and 2.394 standard errors; the difference has 2.6. Percentile
    limits of normal replicates are at 2.39 whatever the rows are.
    """
    replicates = np.zeros((1000, 3))
    replicates[:, 0] = 0.026 + 0.01 * norm.ppf((np.arange(1000) + 0.5) / 1000)
    replicates[:, 0] *= 0.01 / replicates[:, 0].std(ddof=1)
    replicates[:, 2] = replicates[:, 0]  # a twin of the first
    tied = tied_with_best([0.026, 0.0, 0.025], replicates, fewest)
    assert [i for i in (1,) if i not in tied] == told
