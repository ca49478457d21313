"""Runs of models: means over folds and seeds against plain scripts, and what they do not claim."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn import metrics as sk

import clfeval
from clfeval import DataError, UsageError
from clfeval.api.result import Result
from tests.results import (
    Line,
    four_cells,
    limits_of,
    row_of,
    rows_by,
    value_and_limits,
    value_of,
    warning_messages,
)
from tests.samples import logistic
from tests.texts import check_text, numbers_in


def random_columns(rows: int, seed: int, models: int = 2) -> dict[str, Any]:
    """Return the truth of rows, and the scores of models that share a part of their noise."""
    rng = np.random.default_rng(seed)
    truth = np.concatenate([[0, 1], rng.integers(0, 2, rows - 2)])
    shared, columns = rng.normal(size=rows), {"truth": truth}
    for i in range(models):
        z = truth * (0.9 + 0.4 * i) + shared + 0.6 * rng.normal(size=rows)
        columns[f"m{i}"] = logistic(z - 0.7, 3)
    return columns


def folds(*sizes: int, models: int = 2) -> pl.DataFrame:
    """Every row in one fold."""
    parts = [
        pl.DataFrame({"fold": f"f{i}", **random_columns(size, i, models)})
        for i, size in enumerate(sizes)
    ]
    return pl.concat(parts).with_row_index("id")


def seeds(runs: int = 6, rows: int = 80) -> pl.DataFrame:
    """The same rows in every run."""
    rng, base = np.random.default_rng(5), random_columns(rows, 1)
    noise = [
        {name: np.clip(base[name] + rng.normal(0, 0.08, rows), 0, 1) for name in ("m0", "m1")}
        for _ in range(runs)
    ]
    return pl.concat(
        [
            pl.DataFrame({"id": np.arange(rows), "seed": i, "truth": base["truth"], **one})
            for i, one in enumerate(noise)
        ]
    )


def spread_row(result: Result, metric: str, model: str = "m0") -> Line:
    return row_of(result, "run_spread", measure=metric, model=model)


def comparison_row(result: Result, metric: str, model: str = "m1") -> Line:
    return row_of(result, "comparisons", measure=metric, model=model)


def by_run(table: pl.DataFrame, run: str, of: Any, model: str = "m0") -> Any:
    parts = table.partition_by(run, maintain_order=True)
    return np.array([of(part["truth"].to_numpy(), part[model].to_numpy()) for part in parts])


OF: dict[str, Any] = {
    "roc_auc": sk.roc_auc_score,
    "brier": sk.brier_score_loss,
    "accuracy": lambda y, x: sk.accuracy_score(y, x >= 0.5),
    "mcc": lambda y, x: sk.matthews_corrcoef(y, x >= 0.5),
}


@pytest.mark.parametrize("metric", OF)
def test_folds_have_the_corrected_variance(metric: str) -> None:
    """(1/5 + 1/4) S² with 4 degrees of freedom: of five folds 1/5 is test, 4/5 training rows."""
    table = folds(60, 60, 60, 60, 60)
    result = clfeval.report(table, run="fold", reference="m0")
    values = by_run(table, "fold", OF[metric])
    row = spread_row(result, metric)
    assert row["mean"].value == pytest.approx(values.mean())
    assert row["sd"] == pytest.approx(values.std(ddof=1))
    reach = stats.t.ppf(0.975, 4) * np.sqrt((1 / 5 + 1 / 4) * values.var(ddof=1))
    expected = values.mean() - reach, values.mean() + reach
    assert limits_of(row["mean"]) == pytest.approx(expected)
    d = by_run(table, "fold", OF[metric], "m1") - values
    comparison = comparison_row(result, metric)
    t = d.mean() / np.sqrt((1 / 5 + 1 / 4) * d.var(ddof=1))
    assert value_of(comparison["difference"]) == pytest.approx(d.mean())
    assert comparison["p"] == pytest.approx(2 * stats.t.sf(abs(t), 4))
    assert comparison["p_adjusted"] == comparison["p"]
    if metric == "roc_auc":  # without a reference with the best
        (worse, best) = clfeval.report(table, run="fold").tables["models"][:2]
        assert (d.mean() > 0, best["tied"], worse["tied"]) == (True, True, comparison["p"] >= 0.05)


def test_unequal_folds_count_alike_and_the_ratio_is_of_their_mean_size() -> None:
    """30, 60, 90 and 20 rows: 50 on average, beside 150 others: 1/3, not counting by size."""
    table = folds(30, 60, 90, 20)
    values = by_run(table, "fold", OF["roc_auc"])
    row = spread_row(clfeval.report(table, run="fold"), "roc_auc")
    assert row["mean"].value == pytest.approx(values.mean())
    reach = stats.t.ppf(0.975, 3) * np.sqrt((1 / 4 + 1 / 3) * values.var(ddof=1))
    assert row["mean"].low == pytest.approx(values.mean() - reach)


def reaching(values: Any, each: list[Any], way: int) -> float:
    """Return how far limits of a mean over runs of the same rows reach: square-and-add."""
    between = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    rows = np.mean([abs((one.low, one.high)[way] - one.value) for one in each])
    return float(np.hypot(between, rows))


def test_seeds_add_the_error_of_rows_to_that_between_runs() -> None:
    """t S / sqrt(6), and how far on average the limits of one seed alone reach: both squared."""
    table = seeds()
    result = clfeval.report(table, run="seed", reference="m0")
    alone = [
        clfeval.report(part, ignore="seed", reference="m0", margin={"roc_auc": 0.01})
        for part in table.partition_by("seed", maintain_order=True)
    ]
    for metric in ("brier", "roc_auc"):
        values, row = by_run(table, "seed", OF[metric]), spread_row(result, metric)
        each = [one.tables["models"][0][metric] for one in alone]
        for way, end in enumerate(limits_of(row["mean"])):
            off = (1, -1)[way] * reaching(values, each, way)
            assert end == pytest.approx(values.mean() - off, rel=1e-9)
    check_text(row["method"])
    row, d = comparison_row(result, "roc_auc"), by_run(table, "seed", OF["roc_auc"], "m1") - values
    pairs = [comparison_row(one, "roc_auc")["difference"] for one in alone]
    low, high = limits_of(row["difference"])
    expected = d.mean() - reaching(d, pairs, 0), d.mean() + reaching(d, pairs, 1)
    assert (low, high) == pytest.approx(expected, rel=1e-9)
    towards = d.mean() - low if d.mean() > 0 else high - d.mean()  # the limit towards 0
    t = abs(d.mean()) / towards * stats.t.ppf(0.975, 5)
    assert row["p"] == pytest.approx(2 * stats.t.sf(t, 5), rel=1e-9)
    assert (row["p"] < 0.05) == (low > 0 or high < 0)
    assert comparison_row(result, "brier")["p"] is None  # is not compared within runs
    named = clfeval.report(table, run="seed", reference="m0", measure="brier")
    assert comparison_row(named, "brier")["p"] is not None
    assert 80 in numbers_in(result.answer[-1].text)
    check_text(result.answer[-1].text)


def test_near_an_end_the_mean_is_no_surer_than_the_rows_of_a_run() -> None:
    """Areas of 1 have no error, but exact limits; those of the mean reach as far."""
    truth, runs = np.arange(40) % 2, []
    for seed in range(4):
        score = truth + 0.3 * np.random.default_rng(seed).random(40)
        runs.append(pl.DataFrame({"id": range(40), "seed": seed, "truth": truth, "m": score / 2}))
    result = clfeval.report(pl.concat(runs), run="seed", id="id")
    mean = spread_row(result, "roc_auc", "m")["mean"]
    each = clfeval.report(runs[0], id="id", ignore="seed").tables["models"][0]["roc_auc"]
    assert value_and_limits(mean) == (1.0, each.low, 1.0)
    assert mean.low < 0.95


def test_equal_models_are_both_the_largest_and_what_is_not_known_is_counted() -> None:
    table = folds(40, 40, 40, 40).with_columns(twin=pl.col("m1"), all_one=pl.lit(0.5))
    result = clfeval.report(table, run="fold", reference="m1")
    assert result.answer[0].models == ("m1", "twin")
    rows = rows_by(result, "comparisons", "model", measure="roc_auc")
    assert rows["twin"]["p"] == 1.0
    for row in rows.values():  # the joint maximum lies between the own p and Bonferroni's
        assert row["p"] <= row["p_adjusted"] <= min(1, 3 * row["p"]) + 1e-12
        wide, own = row["difference_adjusted"], row["difference"]
        assert wide.low <= own.low <= own.high <= wide.high
        assert (row["p_adjusted"] < 0.05) == (wide.low > 0 or wide.high < 0)
    verdicts = {row["verdict"] for row in rows.values()}
    assert verdicts <= {"better", "worse", "undecided", None}


def test_one_truth_an_id() -> None:
    table = seeds().with_columns(
        truth=pl.when((pl.col("id") == 3) & (pl.col("seed") == 1))
        .then(1 - pl.col("truth"))
        .otherwise(pl.col("truth"))
    )
    with pytest.raises(DataError) as caught:
        clfeval.report(table, run="seed")
    assert caught.value.problems[0].column == "id"
    assert "'3'" in caught.value.problems[0].message
    check_text(str(caught.value))


def test_runs_that_share_most_rows_are_no_folds_and_those_that_share_few_are() -> None:
    """Six seeds, one without a row; and each row in two of six folds: 26.7 of 80 rows, 1/3."""
    table = seeds()
    lacking = clfeval.report(table.filter((pl.col("seed") > 0) | (pl.col("id") > 0)), run="seed")
    assert 80 in numbers_in(lacking.answer[-1].text)
    twice = clfeval.report(table.filter((pl.col("id") - pl.col("seed")) % 3 == 0), run="seed")
    some = table.filter((pl.col("id") - pl.col("seed")) % 3 == 0)
    values = by_run(some, "seed", OF["brier"])
    size = len(some) / 6
    reach = stats.t.ppf(0.975, 5) * np.sqrt((1 / 6 + size / (80 - size)) * values.var(ddof=1))
    mean = spread_row(twice, "brier")["mean"]
    assert mean.high == pytest.approx(values.mean() + reach)
    methods = [spread_row(one, "brier")["method"] for one in (lacking, twice)]
    check_text([*methods, lacking.answer[-1].text, twice.answer[-1].text])


def test_the_first_screen_has_means_and_no_pooled_rows() -> None:
    """A row in six runs is one row; what counts rows together is left out."""
    result = clfeval.report(seeds(), run="seed")
    whole = row_of(result, "models", slice=None, model="m0")
    assert whole["roc_auc"] == spread_row(result, "roc_auc")["mean"]
    assert sum(four_cells(whole)) == pytest.approx(80)
    assert {row["slice"] for row in result.tables["confusion"]} == {f"seed={i}" for i in range(6)}
    assert not {"best", "winner", "calibration", "decision", "curves", "thresholds"} & {
        *result.tables
    }
    assert {row["run"] for row in result.tables["runs"]} == {f"{i}" for i in range(6)}
    assert result.answer[0].value == spread_row(result, "roc_auc", "m1")["mean"].value


def test_without_an_id_nobody_guesses() -> None:
    result = clfeval.report(seeds().drop("id"), run="seed")
    row = spread_row(result, "roc_auc")
    assert (*value_and_limits(row["mean"])[1:], row["method"]) == (None, None, "none")
    assert row["sd"] is not None
    (note,) = warning_messages(result, "runs-dependent")
    assert note.endswith("id=COLUMN")


def test_one_run_tells_nothing_of_others() -> None:
    result = clfeval.report(folds(60), run="fold", reference="m0")
    assert spread_row(result, "roc_auc")["sd"] is None
    assert spread_row(result, "roc_auc")["mean"].low is None
    assert comparison_row(result, "roc_auc")["p"] is None
    check_text(result.answer[1].text)


def test_a_run_of_one_class_is_not_in_the_mean_of_areas() -> None:
    table = folds(40, 40, 40).with_columns(
        truth=pl.when(fold="f2").then(0).otherwise(pl.col("truth"))
    )
    result = clfeval.report(table, run="fold")
    values = by_run(table.filter(pl.col("fold") != "f2"), "fold", OF["roc_auc"])
    assert spread_row(result, "roc_auc")["runs"] == 2
    assert spread_row(result, "roc_auc")["mean"].value == pytest.approx(values.mean())
    assert spread_row(result, "brier")["runs"] == 3
    assert any("f2" in one.message for one in result.warnings)


def test_equal_models_never_differ_and_equal_runs_have_the_limits_of_their_rows() -> None:
    table = folds(40, 40, 40).with_columns(twin=pl.col("m0"))
    result = clfeval.report(table, run="fold", reference="m0")
    row = comparison_row(result, "roc_auc", "twin")
    assert (row["difference"].value, row["p"]) == (0, 1)
    assert row["difference"].low == -row["difference"].high < 0
    perfect = table.with_columns(m0=pl.col("truth") * 0.8 + 0.1).drop("m1", "twin")
    result = clfeval.report(perfect, run="fold")
    mean = spread_row(result, "roc_auc")["mean"]
    each = [row["roc_auc"].low for row in result.tables["models"] if row["slice"] is not None]
    assert value_and_limits(mean) == (1, pytest.approx(np.mean(each)), 1)


def test_of_several_classes_and_of_labels() -> None:
    rng = np.random.default_rng(4)
    truth = rng.choice(["a", "b", "c"], 150)
    table = pl.DataFrame(
        {
            "id": np.arange(150),
            "fold": np.arange(150) % 3,
            "truth": truth,
            **{f"m{i}": np.where(rng.random(150) < 0.6 + i / 10, truth, "a") for i in range(3)},
        }
    )
    result = clfeval.report(table, run="fold", reference="all-pairs")
    values = [
        sk.balanced_accuracy_score(part["truth"], part["m0"]) for part in table.partition_by("fold")
    ]
    assert spread_row(result, "balanced_accuracy")["mean"].value == pytest.approx(np.mean(values))
    assert result.answer[0].measure == "balanced_accuracy"
    assert 3 in numbers_in(result.answer[1].text)
    check_text(result.answer[1].text)
    assert str(result)
    two = clfeval.report(
        table.filter(pl.col("truth") != "c"),
        run="fold",
        positive="a",
        classes=["a", "b", "c"],
        kind="label",
    )
    assert two.answer[0].measure == "balanced_accuracy"
    assert str(two)


def test_what_is_about_rows_together_is_refused() -> None:
    table = folds(40, 40)
    options: list[dict[str, Any]] = [
        {"by": "fold"},
        {"methods": "mars"},
        {"dummies": True},
        {"reference": "best"},
        {"reference": "nobody"},
        {"reference": "m0", "margin": {"roc_auc": 0.1}},
        {"reference": "m0", "list_changes": 1},
    ]
    for more in options:
        with pytest.raises(UsageError):
            clfeval.report(table, run="fold", **more)
    with pytest.raises(DataError, match=r"\[duplicate"):
        clfeval.report(pl.concat([table, table]), run="fold")
    with pytest.raises(DataError) as found:
        clfeval.report(seeds().drop("seed"))
    assert "run=COLUMN" in str(found.value.hint)
