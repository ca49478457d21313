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
from tests.texts import check_text, numbers_in


def drawn(rows: int, seed: int, models: int = 2) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    truth = np.concatenate([[0, 1], rng.integers(0, 2, rows - 2)])
    shared, columns = rng.normal(size=rows), {"truth": truth}
    for i in range(models):
        z = truth * (0.9 + 0.4 * i) + shared + 0.6 * rng.normal(size=rows)
        columns[f"m{i}"] = np.round(1 / (1 + np.exp(0.7 - z)), 3)
    return columns


def folds(*sizes: int, models: int = 2) -> pl.DataFrame:
    """Every row in one fold."""
    parts = [
        pl.DataFrame({"fold": f"f{i}", **drawn(size, i, models)}) for i, size in enumerate(sizes)
    ]
    return pl.concat(parts).with_row_index("id")


def seeds(runs: int = 6, rows: int = 80) -> pl.DataFrame:
    """The same rows in every run."""
    rng, base = np.random.default_rng(5), drawn(rows, 1)
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


def spread(result: Result, metric: str, model: str = "m0") -> Any:
    (row,) = [
        one
        for one in result.tables["run_spread"]
        if (one["measure"], one["model"]) == (metric, model)
    ]
    return row


def against(result: Result, metric: str, model: str = "m1") -> Any:
    (row,) = [
        one
        for one in result.tables["comparisons"]
        if (one["measure"], one["model"]) == (metric, model)
    ]
    return row


def by_run(data: pl.DataFrame, run: str, of: Any, model: str = "m0") -> Any:
    parts = data.partition_by(run, maintain_order=True)
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
    data = folds(60, 60, 60, 60, 60)
    result = clfeval.report(data, run="fold", reference="m0")
    values = by_run(data, "fold", OF[metric])
    row = spread(result, metric)
    assert row["mean"].value == pytest.approx(values.mean())
    assert row["sd"] == pytest.approx(values.std(ddof=1))
    reach = stats.t.ppf(0.975, 4) * np.sqrt((1 / 5 + 1 / 4) * values.var(ddof=1))
    measure = (row["mean"].low, row["mean"].high)
    assert measure == pytest.approx((values.mean() - reach, values.mean() + reach))
    d = by_run(data, "fold", OF[metric], "m1") - values
    found = against(result, metric)
    t = d.mean() / np.sqrt((1 / 5 + 1 / 4) * d.var(ddof=1))
    assert found["difference"].value == pytest.approx(d.mean())
    assert found["p"] == pytest.approx(2 * stats.t.sf(abs(t), 4))
    assert found["p_adjusted"] == found["p"]
    if metric == "roc_auc":  # without a reference with the best
        (worse, best) = clfeval.report(data, run="fold").tables["models"][:2]
        assert (d.mean() > 0, best["tied"], worse["tied"]) == (True, True, found["p"] >= 0.05)


def test_unequal_folds_count_alike_and_the_ratio_is_of_their_mean_size() -> None:
    """30, 60, 90 and 20 rows: 50 on average, beside 150 others: 1/3, not counting by size."""
    data = folds(30, 60, 90, 20)
    values = by_run(data, "fold", OF["roc_auc"])
    row = spread(clfeval.report(data, run="fold"), "roc_auc")
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
    data = seeds()
    result = clfeval.report(data, run="seed", reference="m0")
    alone = [
        clfeval.report(part, ignore="seed", reference="m0", margin={"roc_auc": 0.01})
        for part in data.partition_by("seed", maintain_order=True)
    ]
    for metric in ("brier", "roc_auc"):
        values, row = by_run(data, "seed", OF[metric]), spread(result, metric)
        each = [one.tables["models"][0][metric] for one in alone]
        for way, end in enumerate((row["mean"].low, row["mean"].high)):
            off = (1, -1)[way] * reaching(values, each, way)
            assert end == pytest.approx(values.mean() - off, rel=1e-9)
    check_text(row["method"])
    found, d = against(result, "roc_auc"), by_run(data, "seed", OF["roc_auc"], "m1") - values
    pairs = [
        next(row["difference"] for row in one.tables["comparisons"] if row["measure"] == "roc_auc")
        for one in alone
    ]
    ends = found["difference"].low, found["difference"].high
    expected = [d.mean() - reaching(d, pairs, 0), d.mean() + reaching(d, pairs, 1)]
    assert ends == pytest.approx(expected, rel=1e-9)
    towards = d.mean() - ends[0] if d.mean() > 0 else ends[1] - d.mean()  # the limit towards 0
    t = abs(d.mean()) / towards * stats.t.ppf(0.975, 5)
    assert found["p"] == pytest.approx(2 * stats.t.sf(t, 5), rel=1e-9)
    assert (found["p"] < 0.05) == (ends[0] > 0 or ends[1] < 0)
    assert against(result, "brier")["p"] is None  # is not compared within runs
    named = clfeval.report(data, run="seed", reference="m0", measure="brier")
    assert against(named, "brier")["p"] is not None
    assert 80 in numbers_in(result.answer[-1].text)
    check_text(result.answer[-1].text)


def test_near_an_end_the_mean_is_no_surer_than_the_rows_of_a_run() -> None:
    """Areas of 1 have no error, but exact limits; those of the mean reach as far."""
    truth, runs = np.arange(40) % 2, []
    for seed in range(4):
        score = truth + 0.3 * np.random.default_rng(seed).random(40)
        runs.append(pl.DataFrame({"id": range(40), "seed": seed, "truth": truth, "m": score / 2}))
    result = clfeval.report(pl.concat(runs), run="seed", id="id")
    mean = spread(result, "roc_auc", "m")["mean"]
    each = clfeval.report(runs[0], id="id", ignore="seed").tables["models"][0]["roc_auc"]
    assert (mean.value, mean.low, mean.high) == (1.0, each.low, 1.0)
    assert mean.low < 0.95


def test_equal_models_are_both_the_largest_and_what_is_not_known_is_counted() -> None:
    data = folds(40, 40, 40, 40).with_columns(twin=pl.col("m1"), all_one=pl.lit(0.5))
    result = clfeval.report(data, run="fold", reference="m1")
    assert result.answer[0].models == ("m1", "twin")
    rows = [row for row in result.tables["comparisons"] if row["measure"] == "roc_auc"]
    p = {str(row["model"]): row["p"] for row in rows}
    assert p["twin"] == 1.0
    for row in rows:  # the joint maximum lies between the own p and Bonferroni's
        assert row["p"] <= row["p_adjusted"] <= min(1, 3 * row["p"]) + 1e-12
        wide, own = row["difference_adjusted"], row["difference"]
        assert wide.low <= own.low <= own.high <= wide.high
        assert (row["p_adjusted"] < 0.05) == (wide.low > 0 or wide.high < 0)
    assert {row["verdict"] for row in rows} <= {"better", "worse", "undecided", None}


def test_one_truth_an_id() -> None:
    data = seeds().with_columns(
        truth=pl.when((pl.col("id") == 3) & (pl.col("seed") == 1))
        .then(1 - pl.col("truth"))
        .otherwise(pl.col("truth"))
    )
    with pytest.raises(DataError) as caught:
        clfeval.report(data, run="seed")
    assert caught.value.problems[0].column == "id"
    assert "'3'" in caught.value.problems[0].message
    check_text(str(caught.value))


def test_runs_that_share_most_rows_are_no_folds_and_those_that_share_few_are() -> None:
    """Six seeds, one without a row; and each row in two of six folds: 26.7 of 80 rows, 1/3."""
    data = seeds()
    lacking = clfeval.report(data.filter((pl.col("seed") > 0) | (pl.col("id") > 0)), run="seed")
    assert 80 in numbers_in(lacking.answer[-1].text)
    twice = clfeval.report(data.filter((pl.col("id") - pl.col("seed")) % 3 == 0), run="seed")
    some = data.filter((pl.col("id") - pl.col("seed")) % 3 == 0)
    values = by_run(some, "seed", OF["brier"])
    size = len(some) / 6
    reach = stats.t.ppf(0.975, 5) * np.sqrt((1 / 6 + size / (80 - size)) * values.var(ddof=1))
    mean = spread(twice, "brier")["mean"]
    assert mean.high == pytest.approx(values.mean() + reach)
    methods = [spread(one, "brier")["method"] for one in (lacking, twice)]
    check_text([*methods, lacking.answer[-1].text, twice.answer[-1].text])


def test_the_first_screen_has_means_and_no_pooled_rows() -> None:
    """A row in six runs is one row; what counts rows together is left out."""
    result = clfeval.report(seeds(), run="seed")
    (whole,) = [
        row for row in result.tables["models"] if row["slice"] is None and row["model"] == "m0"
    ]
    assert whole["roc_auc"] == spread(result, "roc_auc")["mean"]
    cells = [float(str(whole[name])) for name in ("tp", "fp", "fn", "tn")]
    assert sum(cells) == pytest.approx(80)
    assert {row["slice"] for row in result.tables["confusion"]} == {f"seed={i}" for i in range(6)}
    assert not {"best", "winner", "calibration", "decision", "curves", "thresholds"} & {
        *result.tables
    }
    assert {row["run"] for row in result.tables["runs"]} == {f"{i}" for i in range(6)}
    assert result.answer[0].value == spread(result, "roc_auc", "m1")["mean"].value


def test_without_an_id_nobody_guesses() -> None:
    result = clfeval.report(seeds().drop("id"), run="seed")
    row = spread(result, "roc_auc")
    assert (row["mean"].low, row["mean"].high, row["method"]) == (None, None, "none")
    assert row["sd"] is not None
    (note,) = [one.message for one in result.warnings if one.code == "runs-dependent"]
    assert note.endswith("id=COLUMN")


def test_one_run_tells_nothing_of_others() -> None:
    result = clfeval.report(folds(60), run="fold", reference="m0")
    assert spread(result, "roc_auc")["sd"] is None
    assert spread(result, "roc_auc")["mean"].low is None
    assert against(result, "roc_auc")["p"] is None
    check_text(result.answer[1].text)


def test_a_run_of_one_class_is_not_in_the_mean_of_areas() -> None:
    data = folds(40, 40, 40).with_columns(
        truth=pl.when(fold="f2").then(0).otherwise(pl.col("truth"))
    )
    result = clfeval.report(data, run="fold")
    values = by_run(data.filter(pl.col("fold") != "f2"), "fold", OF["roc_auc"])
    assert spread(result, "roc_auc")["runs"] == 2
    assert spread(result, "roc_auc")["mean"].value == pytest.approx(values.mean())
    assert spread(result, "brier")["runs"] == 3
    assert any("f2" in one.message for one in result.warnings)


def test_equal_models_never_differ_and_equal_runs_have_the_limits_of_their_rows() -> None:
    data = folds(40, 40, 40).with_columns(twin=pl.col("m0"))
    result = clfeval.report(data, run="fold", reference="m0")
    row = against(result, "roc_auc", "twin")
    assert (row["difference"].value, row["p"]) == (0, 1)
    assert row["difference"].low == -row["difference"].high < 0
    perfect = data.with_columns(m0=pl.col("truth") * 0.8 + 0.1).drop("m1", "twin")
    result = clfeval.report(perfect, run="fold")
    mean = spread(result, "roc_auc")["mean"]
    each = [row["roc_auc"].low for row in result.tables["models"] if row["slice"] is not None]
    assert (mean.value, mean.low, mean.high) == (1, pytest.approx(np.mean(each)), 1)


def test_of_several_classes_and_of_labels() -> None:
    rng = np.random.default_rng(4)
    truth = rng.choice(["a", "b", "c"], 150)
    data = pl.DataFrame(
        {
            "id": np.arange(150),
            "fold": np.arange(150) % 3,
            "truth": truth,
            **{f"m{i}": np.where(rng.random(150) < 0.6 + i / 10, truth, "a") for i in range(3)},
        }
    )
    result = clfeval.report(data, run="fold", reference="all-pairs")
    values = [
        sk.balanced_accuracy_score(part["truth"], part["m0"]) for part in data.partition_by("fold")
    ]
    assert spread(result, "balanced_accuracy")["mean"].value == pytest.approx(np.mean(values))
    assert result.answer[0].measure == "balanced_accuracy"
    assert 3 in numbers_in(result.answer[1].text)
    check_text(result.answer[1].text)
    assert str(result)
    two = clfeval.report(
        data.filter(pl.col("truth") != "c"),
        run="fold",
        positive="a",
        classes=["a", "b", "c"],
        kind="label",
    )
    assert two.answer[0].measure == "balanced_accuracy"
    assert str(two)


def test_what_is_about_rows_together_is_refused() -> None:
    data = folds(40, 40)
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
            clfeval.report(data, run="fold", **more)
    with pytest.raises(DataError, match=r"\[duplicate"):
        clfeval.report(pl.concat([data, data]), run="fold")
    with pytest.raises(DataError) as found:
        clfeval.report(seeds().drop("seed"))
    assert "run=COLUMN" in str(found.value.hint)
