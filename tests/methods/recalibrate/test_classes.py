"""Recalibration of more than two classes: gains of rows that no calibrator saw, and its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression

import clfeval
from clfeval.counts.classes import ClassScores
from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.errors import ClfevalError, DataError, UsageError
from clfeval.measures.class_calibrators import RelativeLogs, fit_temperatures
from clfeval.methods.recalibration.class_assessment import (
    ClassJudge,
    assess_class_methods,
    class_design_effect,
)
from clfeval.methods.recalibration.class_fits import ClassFitter, forward_choice
from clfeval.methods.recalibration.cross_fitting import cross_fit
from clfeval.methods.recalibration.row_kinds import RowKinds
from tests.measures.test_class_calibrators import random_rows
from tests.methods.recalibrate.forms import write_forms
from tests.results import (
    answer_codes,
    answers_of,
    limits_of,
    row_of,
    rows_by,
    rows_of,
    value_of,
    warning_messages,
)
from tests.test_schema import VALIDATOR

NAMES = ("ape", "bee", "cat", "dog")
EVERY_COPY = "copy >= 1"  # equal rows are different observations


def random_table(seed: int, rows: int = 400, power: float = 1.0, digits: int = 4) -> pl.DataFrame:
    """Return ids, truth, and the probabilities of model m."""
    truth, p = random_rows(seed, rows, power=power)
    columns = {f"m:{name}": np.round(p[:, k], digits) for k, name in enumerate(NAMES)}
    return pl.DataFrame({"id": range(rows), "truth": [NAMES[k] for k in truth], **columns})


def arrays_of(table: pl.DataFrame) -> Any:
    """Return the indices of truth, and the probabilities."""
    truth = np.array([NAMES.index(name) for name in table["truth"].to_list()])
    return truth, table.select(f"m:{name}" for name in NAMES).to_numpy()


def scores_of(table: pl.DataFrame) -> ClassScores:
    """Return the class probabilities of a table."""
    truth, p = arrays_of(table)
    return ClassScores.from_probabilities(NAMES, truth, p, np.ones(len(p), np.int64))


def fitter_of(scores: ClassScores) -> ClassFitter:
    logs = RelativeLogs.from_probabilities(scores.truth, scores.p)
    return ClassFitter.from_scores(scores, float(scores.n.sum()), logs, 1.0)


def test_gains_are_those_of_folds_of_rows() -> None:
    """Rows that all differ, so that folds of counts are folds of rows."""
    scores = scores_of(random_table(1, power=0.5, digits=12))
    rows = RowKinds.from_classes(scores)
    fitted = cross_fit(
        rows, ClassJudge(fitter_of(scores)), ["temperature"], np.random.default_rng(5)
    )
    expected = []
    for held_out in rows.deal_folds(4, np.random.default_rng(5)):
        assert held_out.sum(axis=0).tolist() == scores.n.tolist()
        for fold in held_out.astype(bool):
            logs = RelativeLogs.from_probabilities(scores.truth[~fold], scores.p[~fold])
            (power,) = fit_temperatures(logs, np.ones((1, (~fold).sum())))
            q = scores.p[fold] ** power
            q /= q.sum(axis=1, keepdims=True)
            places = (np.arange(fold.sum()), scores.truth[fold])
            expected += (np.log(q[places]) - np.log(scores.p[fold][places])).tolist()
    gains = fitted["temperature"].held_out["log_loss"]
    assert (gains @ scores.n) / scores.n.sum() == pytest.approx(np.mean(expected), abs=1e-9)


def test_one_against_the_rest_is_a_logistic_regression_of_each_class() -> None:
    table = random_table(2, 900, power=0.6)
    result = clfeval.recalibrate(table, method="one-vs-rest", model="m")
    truth, p = arrays_of(table)
    lines = rows_by(result, "classes", "class")
    for k, name in enumerate(NAMES):
        inner = (p[:, k] > 0) & (p[:, k] < 1)
        x = np.log(p[inner, k] / (1 - p[inner, k]))[:, None]
        oracle = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(x, truth[inner] == k)
        assert lines[name]["intercept"] == pytest.approx(oracle.intercept_[0], abs=1e-4)
        assert lines[name]["power"] == pytest.approx(oracle.coef_[0, 0], abs=1e-4)


def test_classes_with_few_rows_have_the_line_of_all_classes() -> None:
    """Nine rows of class dog; the common line is that of every row and class."""
    table = random_table(2, 900, power=0.6)
    dogs = table.filter(pl.col("truth") == "dog").head(9)
    table = pl.concat([table.filter(pl.col("truth") != "dog"), dogs])
    result = clfeval.recalibrate(table, method="one-vs-rest", model="m")
    lines = rows_by(result, "classes", "class")
    truth, p = arrays_of(table)
    inner = (p > 0) & (p < 1)
    x = np.log(p[inner] / (1 - p[inner]))[:, None]
    y = (truth[:, None] == np.arange(4))[inner]
    oracle = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(x, y)
    assert lines["dog"]["intercept"] == pytest.approx(oracle.intercept_[0], abs=1e-4)
    assert lines["dog"]["power"] == pytest.approx(oracle.coef_[0, 0], abs=1e-4)
    assert lines["cat"]["power"] != lines["dog"]["power"]


@pytest.mark.parametrize("power", [0.8, 0.9, 1.0, 1.1])
@pytest.mark.parametrize("seed", range(3))
def test_auto_takes_the_temperature_that_a_likelihood_ratio_needs(seed: int, power: float) -> None:
    scores = scores_of(random_table(seed, power=power))
    truth, n = scores.truth, scores.n
    logs = RelativeLogs.from_probabilities(truth, scores.p)
    (fitted,) = fit_temperatures(logs, n[None])

    def log_likelihood(b: float) -> float:
        q = scores.p**b
        q /= q.sum(axis=1, keepdims=True)
        own = q[np.arange(len(truth)), truth]
        return float(n[own > 0] @ np.log(own[own > 0]))

    ratio = 2 * (log_likelihood(fitted) - log_likelihood(1.0))
    (auto,) = assess_class_methods(scores, ["auto"], 0.95, np.random.default_rng(0))
    assert auto.selected == ("temperature" if ratio > chi2.ppf(0.95, 1) else "none")


def test_one_against_the_rest_is_chosen_from_1000_rows_where_classes_are_shifted() -> None:
    truth, p = random_rows(8, 1500)
    shifted = p * np.array([1.0, 0.3, 2.0, 0.5])
    shifted /= shifted.sum(axis=1, keepdims=True)
    chosen = {}
    for rows in (900, 1500):
        scores = ClassScores.from_probabilities(
            NAMES, truth[:rows], shifted[:rows], np.ones(rows, np.int64)
        )
        auto, lines = assess_class_methods(
            scores, ["auto", "one-vs-rest"], 0.95, np.random.default_rng(0)
        )
        chosen[rows] = auto.selected
        assert lines.gains["log_loss"].low > 0
    assert chosen[900] != "one-vs-rest"
    assert chosen[1500] == "one-vs-rest"


def test_auto_goes_forward_by_likelihood_ratios() -> None:
    """95 % points of chi-square: 1 degree 3.841, 7 degrees 14.067, 8 degrees 15.507."""
    cases = {  # twice the log likelihoods of none, temperature and one-vs-rest
        (0, 3.84, 15.50): 0,
        (0, 3.85, 17.91): 1,
        (0, 3.85, 17.93): 2,
        (0, 3.83, 15.52): 2,
        (0, 50.0, 10.0): 1,
    }
    likelihoods = np.array([*cases]).T / 2
    has_fit = np.ones(likelihoods.shape, bool)
    assert forward_choice(likelihoods, has_fit, (0, 1, 8)) == [*cases.values()]
    has_fit[1] = False
    assert forward_choice(likelihoods, has_fit, (0, 1, 8)) == [0, 2, 2, 2, 0]


def test_temperatures_that_are_needed_help_and_others_do_not() -> None:
    helped = clfeval.recalibrate(random_table(4, 600, power=0.4), model="m")
    row = row_of(helped, "models")
    assert (row["method"], row["verdict"], row["loss"]) == ("temperature", "helps", "log_loss")
    assert row["power"] == pytest.approx(0.4, abs=0.1)
    assert row["gain"].low > 0
    assert "p_k' proportional to p_k^" in helped.answer[0].text
    kept = row_of(clfeval.recalibrate(random_table(4, 600), model="m"), "models")
    assert kept["verdict"] == "undecided"
    assert kept["gain"].low <= 0 <= kept["gain"].high


def test_losses_before_are_those_of_the_report() -> None:
    table = random_table(5)
    row = row_of(clfeval.recalibrate(table, model="m"), "models")
    report = clfeval.report(table, model="m", measure=["log_loss", "brier"])
    log_loss = value_of(row_of(report, "measures", measure="log_loss")["value"])
    assert row["before"] == pytest.approx(log_loss, rel=1e-12)


def test_an_infinite_log_loss_is_decided_by_the_brier_score() -> None:
    table = random_table(6, 500, power=0.4)
    wrong = (pl.col("truth") == "ape") & (pl.col("m:ape") < 0.02)
    table = table.with_columns(pl.when(wrong).then(0.0).otherwise(pl.col("m:ape")).alias("m:ape"))
    result = clfeval.recalibrate(table, model="m", missing="error")
    row = row_of(result, "models")
    assert (row["loss"], row["log_loss_gain"].reason) == ("brier", "contradicted")
    assert row["gain"] == row["brier_gain"]
    (contradicted,) = warning_messages(result, "contradicted")
    assert f"m {table.filter(wrong).height} row" in contradicted
    (at_ends,) = warning_messages(result, "scores-at-ends")
    assert "stay 0" in at_ends


@pytest.mark.parametrize("form", ["permuted", "split", "weighted", "classes reordered"])
def test_the_same_rows_in_any_form_give_the_same_tables(form: str, folder: Path) -> None:
    files, options = write_forms(random_table(7, 200, power=0.5), 60, form)
    if form != "weighted":
        options["where"] = EVERY_COPY
    if form == "classes reordered":
        rows = pl.read_csv("rows.csv")
        rows.select("id", "truth", *(f"m:{name}" for name in reversed(NAMES))).write_csv(files)
    first = clfeval.recalibrate("rows.csv", method="one-vs-rest", where=EVERY_COPY)
    second = clfeval.recalibrate(files, method="one-vs-rest", **options)
    for name in ("models", "methods", "groups", "classes"):
        assert [*first.tables[name]] == [*second.tables[name]]
    assert first.answer == second.answer


def test_copies_of_rows_in_clusters_have_wider_limits_and_the_same_gain() -> None:
    """Three copies of each row, of one patient: their design effect is three times as large."""
    table = random_table(8, 300, power=0.5).with_columns(patient=pl.col("id"))
    copies = pl.concat([table] * 3).with_columns(id=pl.int_range(900))
    plain = clfeval.recalibrate(table, model="m", method="temperature")
    clustered = clfeval.recalibrate(
        copies, model="m", method="temperature", cluster="patient", where=EVERY_COPY
    )
    naive = clfeval.recalibrate(
        copies, model="m", method="temperature", ignore="patient", where=EVERY_COPY
    )
    limits = [limits_of(row_of(result, "models")["gain"]) for result in (plain, clustered, naive)]
    width = [high - low for low, high in limits]
    assert width[1] == pytest.approx(width[0], rel=0.1)
    assert width[2] < 0.7 * width[1]
    assert row_of(clustered, "models")["power"] == pytest.approx(
        row_of(plain, "models")["power"], rel=1e-7
    )


def test_no_cluster_is_in_two_folds() -> None:
    table = random_table(9, 300, digits=12)
    truth, p = arrays_of(table)
    owners = [f"{row % 23:02}" for row in range(300)]
    scores = ClassScores.from_probabilities(NAMES, truth, p, np.ones(300, np.int64), owners=owners)
    assert isinstance(scores.clusters, ClusterCounts)
    cluster_of_row = np.empty(300, int)
    cluster_of_row[scores.clusters.place] = [int(name) for name in scores.clusters.owners]
    for held_out in RowKinds.from_classes(scores).deal_folds(3, np.random.default_rng(0)):
        folds = [{*cluster_of_row[fold > 0].tolist()} for fold in held_out]
        assert sum(map(len, folds)) == len({*owners})


def test_sampling_weights_fit_as_copies_do() -> None:
    table = random_table(10, 300, power=0.5)
    weights = 1 + np.arange(300) % 3
    weighted = table.with_columns(w=pl.Series(weights * 0.5))
    copies = pl.concat([table.filter(weights > k) for k in range(3)])
    copies = copies.with_columns(id=pl.int_range(len(copies)))
    first = clfeval.recalibrate(
        weighted, model="m", weight="w", sampling_weights=True, method="temperature"
    )
    second = clfeval.recalibrate(copies, model="m", method="temperature")
    assert row_of(first, "models")["power"] == pytest.approx(
        row_of(second, "models")["power"], rel=1e-7
    )
    assert row_of(first, "models")["before"] == pytest.approx(row_of(second, "models")["before"])


def awkward(case: str) -> pl.DataFrame:
    """Return a table whose model has no gain."""
    table = random_table(11)
    _, p = arrays_of(table)
    if case == "separation":
        names = [NAMES[k] for k in p.argmax(axis=1)]
    elif case == "reversed_scores":
        names = [NAMES[k] for k in p.argmin(axis=1)]
    elif case == "too_few_rows":
        names = ["ape"] * 385 + ["bee"] * 15
    else:
        return table.with_columns(patient=pl.col("id") % 4)
    return table.with_columns(truth=pl.Series(names))


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("separation", "the most probable class is always true, and is not recalibrated"),
        ("reversed_scores", "gives true classes no more than an equal share"),
        ("too_few_rows", "fewer than 16 rows outside the most frequent class"),
        ("few_clusters", "clusters are too few, as limits of a gain need 5"),
    ],
)
def test_what_has_no_gain_has_a_reason(case: str, words: str) -> None:
    cluster = "patient" if case == "few_clusters" else None
    result = clfeval.recalibrate(awkward(case), model="m", cluster=cluster, method="temperature")
    row = row_of(result, "models")
    assert (row["gain"].value, row["gain"].reason, row["verdict"]) == (None, case, None)
    assert any(words in sentence.text for sentence in result.answer)
    has_calibrator = case in ("few_clusters", "too_few_rows")
    assert ("m" in result.calibrators) == has_calibrator


def test_a_class_without_rows_is_recalibrated_too() -> None:
    table = random_table(12, 600, power=0.5).filter(pl.col("truth") != "dog")
    result = clfeval.recalibrate(table, model="m", method="one-vs-rest")
    assert [row["class"] for row in result.tables["classes"]] == [*NAMES]
    q = result.calibrators["m"].calibrate([0.1, 0.2, 0.3, 0.4])
    assert q.sum() == pytest.approx(1)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a method of two classes": ({"method": "logistic"}, "is for two classes, but there are 4"),
    "none": ({"method": "none"}, "fits nothing"),
    "a prevalence": ({"prevalence": 0.1}, "needs a positive class"),
    "one class": ({"where": "truth = 'ape'", "truth": "truth"}, "rows of two classes or more"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_apply_is_refused(case: str) -> None:
    options, words = REFUSED[case]
    with pytest.raises(ClfevalError, match=words):
        clfeval.recalibrate(random_table(1), model="m", **options)


def test_one_against_the_rest_needs_more_than_two_classes() -> None:
    with pytest.raises(UsageError, match="more than two classes"):
        clfeval.recalibrate(random_table(1), positive="ape", method="one-vs-rest")


def test_tables_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clfeval.methods.recalibrate.result.MOST_NUMBERS", 1000)
    with pytest.raises(DataError, match="rows times classes are 1,600") as caught:
        clfeval.recalibrate(random_table(1), model="m")
    assert "250 rows" in str(caught.value.hint)


def test_merged_neighbours_give_nearly_the_same_gain() -> None:
    """As of more than 4,096 different probabilities of a class."""
    scores = scores_of(random_table(13, 3000, power=0.5, digits=9))
    fitter = fitter_of(scores)
    gains = [
        cross_fit(
            RowKinds.from_classes(scores),
            ClassJudge(each),
            ["one-vs-rest"],
            np.random.default_rng(0),
        )["one-vs-rest"]
        .held_out["log_loss"]
        .mean()
        for each in (fitter, fitter.with_groups(256))
    ]
    assert gains[1] == pytest.approx(gains[0], abs=2e-3)


def test_groups_are_of_the_most_probable_class() -> None:
    table = random_table(14, 500, power=0.5)
    result = clfeval.recalibrate(table, model="m", method="temperature")
    truth, p = arrays_of(table)
    groups = rows_of(result, "groups")
    assert sum(row["rows"] for row in groups) == 500
    total = sum(row["rows"] * row["mean_score"] for row in groups) / 500
    assert total == pytest.approx(p.max(axis=1).mean())
    q = result.calibrators["m"].calibrate(p)
    after = sum(row["rows"] * row["mean_recalibrated"] for row in groups) / 500
    assert after == pytest.approx(q[np.arange(500), p.argmax(axis=1)].mean())
    correct = sum(row["rows"] * value_of(row["observed"]) for row in groups) / 500
    assert correct == pytest.approx((p.argmax(axis=1) == truth).mean())


@pytest.mark.parametrize("method", ["temperature", "one-vs-rest"])
def test_results_have_the_form_of_the_schema(method: Any) -> None:
    result = clfeval.recalibrate(random_table(15), model="m", method=method)
    VALIDATOR.validate(json.loads(result.to_json()))


def test_report_says_what_to_do_with_a_miscalibrated_model() -> None:
    table = random_table(16, 600, power=0.4)
    row = row_of(clfeval.recalibrate(table, model="m"), "models")
    (answer,) = answers_of(clfeval.report(table, model="m"), "recalibrate")
    assert f"p_k' proportional to p_k^{row['power']:.4g}" in answer.text
    assert f"by {value_of(row['gain']):.3f}" in answer.text
    assert "clfeval recalibrate" in answer.text
    calibrated = clfeval.report(random_table(16, 600), model="m")
    assert "recalibrate" not in answer_codes(calibrated)


def test_report_names_the_command_where_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clfeval.methods.report.recalibration_advice.MOST_AT_HAND", 1000)
    result = clfeval.report(random_table(16, 600, power=0.4), model="m")
    (answer,) = answers_of(result, "recalibrate")
    assert "is what" in answer.text
    assert "clfeval recalibrate" in answer.text


def test_the_design_effect_is_that_of_squared_scores_of_clusters() -> None:
    """Of a temperature: sum of squared cluster totals of the slopes, over the information."""
    table = random_table(17, 400, power=0.6, digits=12)
    truth, p = arrays_of(table)
    owners = [f"{row // 4:03}" for row in range(400)]
    copied = np.repeat(np.arange(100), 4)  # four copies of a row in each cluster
    scores = ClassScores.from_probabilities(
        NAMES, truth[copied], p[copied], np.ones(400, np.int64), owners=owners
    )
    logs = RelativeLogs.from_probabilities(scores.truth, scores.p)
    (power,) = fit_temperatures(logs, scores.n[None])
    q = p[:100] ** power
    q /= q.sum(axis=1, keepdims=True)
    x = np.log(p[:100])
    mean = (q * x).sum(axis=1)
    slopes = x[np.arange(100), truth[:100]] - mean
    information = 4 * ((q * x**2).sum(axis=1) - mean**2).sum()
    expected = ((4 * slopes) ** 2).sum() / information
    effect = class_design_effect(RowKinds.from_classes(scores), logs)
    assert effect == pytest.approx(expected, rel=1e-9)
    assert effect > 2
