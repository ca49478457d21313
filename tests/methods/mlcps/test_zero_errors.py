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
from clfeval.inference.rank_statistics import delong_auc
from clfeval.methods.mlcps import ranking
from clfeval.methods.mlcps.metric_values import add_unseen_rows, sparse_data_reasons
from tests.methods.mlcps.test_predicted_measures import measures
from tests.texts import check_text, numbers_in


def labels(positives: int, negatives: int, **wrong: tuple[int, int]) -> pl.DataFrame:
    """Make models that are wrong in so many positives and negatives, not all in the same rows."""
    truth = np.repeat([1, 0], [positives, negatives])
    columns = {}
    for shift, (name, (missed, alarms)) in enumerate(wrong.items()):
        errs = np.zeros(len(truth), bool)
        errs[shift : shift + missed] = True
        errs[positives + shift : positives + shift + alarms] = True
        columns[name] = np.where(errs, 1 - truth, truth)
    return pl.DataFrame({"truth": truth, **columns})


def ranked(table: pl.DataFrame, *metrics: str, **options: Any) -> Result:
    return clfeval.mlcps(table, source="predictions", metric=metrics, **options)


def estimates(result: Result, model: str) -> dict[str, Any]:
    return {
        str(row["metric"]): row["value"]
        for row in result.tables["profile"]
        if row["model"] == model
    }


FEW = labels(9, 51, none=(0, 0), one=(1, 2), two=(2, 3))


def test_a_model_without_an_error_is_not_certain() -> None:
    """Nine positives and 51 negatives: it had 1.299 [1.299, 1.299] and 100 % of the resamples."""
    result = ranked(FEW, "sensitivity", "specificity", "precision")
    row = result.tables["models"][0]
    mlcps: Any = row["mlcps"]
    assert mlcps.value == mlcps.high == pytest.approx(3 * np.sqrt(3) / 4)
    # one draw in forty: sensitivity and precision about Beta(9.5, .5), whose 2.5 % point is .76
    assert 0.9 < mlcps.low < 1.15
    first: Any = row["first"]
    assert 0.8 < first.value < 0.99
    (note,) = [one.message for one in result.warnings if one.code == "unseen-errors"]
    assert numbers_in(note)[0] == 9
    check_text(note)


def test_single_metrics_have_exact_limits() -> None:
    """9 of 9: from .025 ** (1/9) = .664 up; 8 of 9 and the others as statsmodels has them."""
    result = ranked(FEW, "sensitivity", "specificity", "precision", "npv", "accuracy")
    found = estimates(result, "none")
    assert found["sensitivity"].low == pytest.approx(0.025 ** (1 / 9))
    assert found["sensitivity"].high == 1
    assert found["specificity"].low == pytest.approx(0.025 ** (1 / 51))
    for name, k, n in (
        ("sensitivity", 8, 9),
        ("specificity", 49, 51),
        ("precision", 8, 10),
        ("npv", 49, 50),
        ("accuracy", 57, 60),
    ):
        one = estimates(result, "one")[name]
        assert one.value == pytest.approx(k / n)
        limits = proportion_confint(k, n, alpha=0.05, method="beta")
        assert (one.low, one.high) == pytest.approx(limits)


def test_measures_of_the_two_rates_alone_have_the_limits_of_phidelta() -> None:
    table = labels(40, 60, a=(4, 9), b=(7, 3))
    found = estimates(
        ranked(
            table, "j_index", "balanced_accuracy", "f1", rescale={"j_index": (-1, 1)}, level=0.9
        ),
        "a",
    )
    delta: Any = clfeval.phidelta(table, level=0.9).tables["models"][0]["delta"]
    both = (delta.low, delta.high)
    assert (found["j_index"].low, found["j_index"].high) == pytest.approx(both)
    halves = [(1 + end) / 2 for end in both]
    balanced = found["balanced_accuracy"]
    assert (balanced.low, balanced.high) == pytest.approx(halves)
    assert found["f1"].low < 72 / (72 + 4 + 9) < found["f1"].high


def scores(positives: int, negatives: int, apart: float, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    truth = np.repeat([1, 0], [positives, negatives])
    noise = rng.normal(size=(len(truth), 2))
    columns = {name: noise[:, i] + truth * apart for i, name in enumerate(("a", "b"))}
    return pl.DataFrame({"truth": truth, **columns})


AREA: dict[str, Any] = {"kind": "score", "any_range": True}


def test_areas_have_the_limits_that_curves_have() -> None:
    """Those of the draws with one row of a class alone, which has no variance."""
    names = ("roc_auc", "gini", "sensitivity")
    for table, closed in (
        (scores(50, 70, 1), True),
        (scores(12, 70, 1), True),
        (scores(50, 70, 3), True),
        (scores(1, 70, 1), False),
    ):
        given = measures(table, *names, resamples=200, **AREA)
        assert given.limits is not None
        truth, one = table["truth"].to_numpy() == 1, table["a"].to_numpy()
        order = np.argsort(one)
        area = delong_auc(truth[order], ~truth[order], level=0.95)
        assert area.value == pytest.approx(sk.roc_auc_score(truth, one))
        (low, high) = (side[0] for side in given.limits)
        if closed:
            assert (low[0], high[0]) == pytest.approx((area.low, area.high))
            assert (low[1], high[1]) == pytest.approx((2 * area.low - 1, 2 * area.high - 1))
        else:
            assert np.isnan([low[:2], high[:2]]).all()
        assert not np.isnan(low[2])


def test_scores_that_part_the_classes_have_the_exact_bound_and_draws_that_move() -> None:
    table = labels(9, 51, a=(0, 0), b=(1, 1)).with_columns(
        pl.col("a") * 2.0 + pl.int_range(60) / 60, pl.col("b") * 2.0 + pl.int_range(60) / 60
    )
    given = measures(table, "roc_auc", "gini", "ks", resamples=400, kind="score", any_range=True)
    assert given.values[0].tolist() == [1, 1, 1]
    low, high = (side[0] for side in given.limits or ())
    # nine pairs without a row in common are all in order with probability A ** 9
    assert (low[0], high[0]) == pytest.approx((0.025 ** (1 / 9), 1))
    assert low[1] == pytest.approx(2 * 0.025 ** (1 / 9) - 1)
    drawn = given.replicates
    assert drawn is not None
    assert (drawn[:, 0].std(axis=0) > 0.005).all()
    assert drawn[:, 0].max() <= 1


def test_unseen_rows_have_the_scores_of_the_class_they_are_taken_for() -> None:
    joint = joint_of(scores(9, 51, 30).with_columns(pl.col("a", "b") - 15))
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
        (labels(30, 30, a=(1, 1), b=(29, 2)), 0),
        (labels(29, 30, a=(1, 1), b=(2, 2)), 1),
        (labels(40, 1, a=(1, 0)), 2),
        (labels(40, 40, a=(40, 1), b=(0, 3)), 2),
    ],
)
def test_few_rows_and_empty_cells_make_predictions_thin(table: pl.DataFrame, reasons: int) -> None:
    found = sparse_data_reasons(joint_of(table.cast({"a": pl.Float64})), votes=True, ranks=False)
    assert len(found) == reasons
    check_text(found)


def test_where_only_ranks_matter_the_cells_of_a_threshold_do_not() -> None:
    table = scores(40, 50, 1).with_columns(pl.col("a", "b") + 10)
    assert sparse_data_reasons(joint_of(table), votes=False, ranks=True) == []
    apart = scores(40, 50, 30)
    assert len(sparse_data_reasons(joint_of(apart), votes=False, ranks=True)) == 1


def test_a_model_that_always_says_yes_may_be_wrong_about_it() -> None:
    """Its precision is the share of positives, and what is drawn of it never undefined."""
    table = labels(9, 51, yes=(0, 51), good=(1, 1))
    given = measures(table, "sensitivity", "specificity", "precision", resamples=300)
    drawn = given.replicates
    assert drawn is not None
    assert np.isfinite(drawn).all()
    sensitivity = drawn[:, 0, 0]
    assert sensitivity.mean() == pytest.approx(9.5 / 10, abs=0.02)  # Beta(9.5, .5)
    assert drawn[:, 0, 1].mean() == pytest.approx(0.5 / 52, abs=0.005)  # Beta(.5, 51.5)


@pytest.mark.parametrize(("behind", "told"), [(5, True), (10, False)])
def test_who_came_first_by_chance_is_allowed_for(behind: int, told: bool) -> None:
    """Three pairs at 95 %: 1 - .05 / 3, so .83 % on a side, 8 of 1,000; two would take 12."""
    drawn = np.full((1000, 3), 0.5)
    drawn[:, 1] = drawn[:, 2] = 0.4
    drawn[:behind, 1] = 0.6
    assert not_told_apart([0.5, 0.4, 0.4], drawn, 5000) == ([] if told else [1])


def not_told_apart(scores: list[float], drawn: Floats, fewest: int) -> list[int]:
    ranks = ranking.dense_ranks(np.array(scores))
    return ranking._tied_with_first(np.array(scores), drawn, ranks, fewest, 0.95)


@pytest.mark.parametrize(("fewest", "told"), [(20, []), (30, [1]), (10_000, [1])])
def test_few_rows_tell_less_than_their_percentiles_do(fewest: int, told: list[int]) -> None:
    """t at .83 % on a side: 2.625 with 19 degrees of freedom, 2.541 with 29, 2.394 with many.

    With sqrt(m / (m-1)) 2.693, 2.584 and 2.394 standard errors; the difference has 2.6. Percentile
    limits of normal replicates are at 2.39 whatever the rows are.
    """
    drawn = np.zeros((1000, 3))
    drawn[:, 0] = 0.026 + 0.01 * norm.ppf((np.arange(1000) + 0.5) / 1000)
    drawn[:, 0] *= 0.01 / drawn[:, 0].std(ddof=1)
    drawn[:, 2] = drawn[:, 0]  # a twin of the first
    told_apart = [i for i in (1,) if i not in not_told_apart([0.026, 0.0, 0.025], drawn, fewest)]
    assert told_apart == told
