"""Reports on more than two classes: whole tables against scikit-learn, brute force, arithmetic."""

from __future__ import annotations

import json
import math
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest
from scipy.stats import norm
from sklearn import metrics as sk

import clfeval
from clfeval import Result, UsageError
from clfeval.document.cells import Estimate
from clfeval.views.terminal import as_text
from tests.results import Line, answers_of, estimate_of, row_of, rows_by, rows_of, warning_codes
from tests.test_schema import SCHEMA, wrong_with
from tests.texts import check_text

NAMES = ("a b", "[red]c[/red]", "d\ne", "9", "never true")


def random_labels(seed: int, rows: int = 120, classes: int = 4, models: int = 3) -> pl.DataFrame:
    """Labels of models of different skill; the last class of five is never true."""
    rng = np.random.default_rng(seed)
    names = np.array(NAMES[:classes])
    there = min(classes, 4)
    truth = np.concatenate([np.arange(there), rng.choice(there, rows - there, p=None)])
    columns = {"truth": names[truth]}
    for i in range(models):
        said = np.where(rng.random(rows) < 0.5 + 0.15 * i, truth, rng.integers(0, classes, rows))
        columns[f"m{i}"] = names[said]
    return pl.DataFrame({name: column.tolist() for name, column in columns.items()})


def class_probabilities(
    seed: int, rows: int = 90, decimals: int = 2
) -> tuple[pl.DataFrame, Any, Any]:
    """Class probabilities of one model with ties, truth as places, probabilities."""
    rng = np.random.default_rng(seed)
    truth = np.concatenate([np.arange(4), rng.integers(0, 4, rows - 4)])
    raw = rng.gamma(0.7, size=(rows, 4))
    raw[np.arange(rows), truth] += 1
    p = np.round(raw / raw.sum(axis=1, keepdims=True), decimals)
    p[:, 3] = 1 - p[:, :3].sum(axis=1)
    p = np.clip(p, 0, 1)
    columns = {"truth": [f"k{i}" for i in truth]}
    table = pl.DataFrame({**columns, **{f"m:k{k}": p[:, k] for k in range(4)}})
    return table, truth, p


def measure_row(result: Result, metric: str, estimator: str = "multiclass", **where: Any) -> Line:
    """Return the row of a measure: of all rows and classes, unless a slice or a class is named."""
    columns = {"measure": metric, "estimator": estimator, "slice": None, "class": None, **where}
    return row_of(result, "measures", **columns)


def estimate(result: Result, metric: str, estimator: str = "multiclass", **where: Any) -> Estimate:
    return estimate_of(measure_row(result, metric, estimator, **where)["value"])


def test_confusions_are_counted_row_by_row() -> None:
    table = random_labels(5, classes=5).with_columns(site=pl.Series(["x", "y", "y"] * 40))
    result = clfeval.report(table, by="site", classes=NAMES)
    for part in (None, "x", "y"):
        rows = table if part is None else table.filter(pl.col("site") == part)
        for model in ("m0", "m1", "m2"):
            brute: dict[tuple[str, str], int] = {}
            for truth, said in zip(rows["truth"], rows[model], strict=True):
                brute[truth, said] = brute.get((truth, said), 0) + 1
            name = None if part is None else f"site={part}"
            cells = rows_by(result, "confusion", "truth", "predicted", slice=name, model=model)
            totals = {truth: (rows["truth"] == truth).sum() for truth, _ in brute}
            assert {key: (cell["rows"], cell["share"]) for key, cell in cells.items()} == {
                key: (n, pytest.approx(n / totals[key[0]], abs=1e-15)) for key, n in brute.items()
            }


# rows are the truth: recalls 8/10, 15/20, 5/5; columns 12, 17, 6
HAND = ((8, 2, 0), (4, 15, 1), (0, 0, 5))


def of_table(table: Any) -> pl.DataFrame:
    cells = [(i, j, n) for i, line in enumerate(table) for j, n in enumerate(line) if n]
    truth, said, n = (list(column) for column in zip(*cells, strict=True))
    return pl.DataFrame({"truth": [f"k{i}" for i in truth], "m": [f"k{j}" for j in said], "n": n})


def test_values_and_errors_by_hand() -> None:
    result = clfeval.report(of_table(HAND), weight="n")
    assert estimate(result, "accuracy").value == 28 / 35
    assert estimate(result, "balanced_accuracy").value == pytest.approx((0.8 + 0.75 + 1) / 3)
    each = [2 * 8 / (10 + 12), 2 * 15 / (20 + 17), 2 * 5 / (5 + 6)]
    assert estimate(result, "f1", "macro").value == pytest.approx(sum(each) / 3)
    assert estimate(result, "f1", "weighted").value == pytest.approx(
        (10 * each[0] + 20 * each[1] + 5 * each[2]) / 35
    )
    # no class is sure of another's rows: variances of recalls add up, each / n - 1 as of a mean
    variance = (0.8 * 0.2 / 9 + 0.75 * 0.25 / 19) / 9
    assert measure_row(result, "balanced_accuracy")["se"] == pytest.approx(math.sqrt(variance))
    assert measure_row(result, "accuracy")["se"] == pytest.approx(math.sqrt(0.8 * 0.2 / 34))
    # every row of k2 is right, 5 of 5
    sure = estimate(result, "sensitivity", "class", **{"class": "k2"})
    assert (sure.value, sure.high) == (1.0, 1.0)
    assert sure.low == pytest.approx(0.025 ** (1 / 5))


def test_each_class_counts_the_clusters_it_is_in() -> None:
    """Residuals of recalls by cluster, times sqrt(g / (g - 1)) of the class, g = P² / sum P_c²."""
    table = random_labels(4)
    owner = np.sort(np.random.default_rng(9).integers(0, 15, 120))
    result = clfeval.report(
        table.with_columns(patient=pl.Series([f"p{i}" for i in owner])), cluster="patient"
    )
    truth, right = table["truth"].to_numpy(), (table["truth"] == table["m0"]).to_numpy()
    each = np.zeros(15)
    for name in np.unique(truth):
        mine = truth == name
        sizes = np.bincount(owner[mine], minlength=15)
        g = sizes.sum() ** 2 / (sizes**2).sum()
        residual = np.bincount(owner[mine], right[mine] - right[mine].mean(), 15) / mine.sum()
        each += math.sqrt(g / (g - 1)) * residual / 4
    error = measure_row(result, "balanced_accuracy", model="m0")["se"]
    assert error == pytest.approx(math.sqrt((each**2).sum()))


def test_clusters_of_one_row_each_are_rows_and_twins_tell_half_as_much() -> None:
    table = random_labels(2)
    one = table.with_columns(patient=pl.Series([f"p{i}" for i in range(120)]))
    alone, rows = clfeval.report(one, cluster="patient"), clfeval.report(table)
    twice = clfeval.report(pl.concat([one, one]), cluster="patient")
    for metric, by in (("kappa", "multiclass"), ("mcc", "multiclass"), ("f1", "macro")):
        error = measure_row(rows, metric, by, model="m0")["se"]
        assert measure_row(alone, metric, by, model="m0")["se"] == pytest.approx(error)
        assert measure_row(twice, metric, by, model="m0")["se"] == pytest.approx(error)
    assert twice.summary["clusters"] == 120
    assert twice.summary["design_effect"] == pytest.approx(2 * 239 / 240 * 120 / 119)


def test_limits_of_what_is_all_right_are_those_of_one_more_row_by_chance() -> None:
    result = clfeval.report(of_table(((10, 0, 0), (0, 10, 0), (0, 0, 10))), weight="n")
    # the row more is 1/9 of one in each cell: observed agreement 91/93, expected 1/3
    observed, m = 91 / 93, 31
    kappa = (observed - 1 / 3) / (2 / 3)
    error = math.sqrt(observed * (1 - observed) / (m - 1)) / (2 / 3)
    reach = norm.ppf(0.975) * error / (1 - kappa**2)
    interval = estimate(result, "kappa")
    assert (interval.value, interval.high) == (1.0, 1.0)
    assert interval.low == pytest.approx(math.tanh(math.atanh(kappa) - reach), abs=1e-9)
    check_text(str(measure_row(result, "kappa")["method"]))
    assert estimate(result, "accuracy").low == pytest.approx(0.025 ** (1 / 30))


def test_mean_recalls_have_the_covariance_of_the_rows() -> None:
    from clfeval.counts.count import count_predictions
    from clfeval.measures.catalog import CATALOG
    from clfeval.methods.measurement.requested_measures import RequestedMeasure
    from clfeval.methods.report.model_estimates import class_label_estimates
    from clfeval.tables.input import InputOptions
    from clfeval.tables.prediction_files import open_predictions

    table = random_labels(7)
    with open_predictions(table, InputOptions(several=True)) as opened:
        patterns = count_predictions(opened).labels()[None]
    measure = CATALOG["balanced_accuracy"]
    found = class_label_estimates(patterns, RequestedMeasure(measure.id, measure, {}))
    assert found is not None
    values, covariance = found.values, found.pair_errors.covariance
    truth = table["truth"].to_numpy()
    each = []
    for i, model in enumerate(("m0", "m1", "m2")):
        right = table[model].to_numpy() == truth
        f = np.zeros(len(truth))
        for name in np.unique(truth):
            mine = truth == name
            f[mine] = len(truth) / mine.sum() / 4 * (right[mine] - right[mine].mean())
            # the variance within a class is divided by its rows less 1
            f[mine] *= np.sqrt(mine.sum() / (mine.sum() - 1) * (len(truth) - 1) / len(truth))
        each.append(f)
        assert values[i] == pytest.approx(sk.balanced_accuracy_score(truth, table[model]))
    moved = np.array(each)
    m = len(truth)
    assert covariance == pytest.approx(moved @ moved.T / m / (m - 1), rel=1e-8)


def test_a_class_that_is_never_said_and_one_that_is_never_true() -> None:
    table = of_table(((5, 0, 0), (5, 0, 0), (0, 0, 5)))
    never = clfeval.report(table, weight="n")
    said = estimate(never, "precision", "class", **{"class": "k1"})
    assert (said.value, said.reason) == (None, "no_positive_prediction")
    assert estimate(never, "precision", "macro").value == pytest.approx((0.5 + 1) / 2)
    (dead,) = answers_of(never, "never-predicted")
    assert "0 of 5 rows" in dead.text
    absent = clfeval.report(table.filter(pl.col("truth") != "k2"), weight="n", classes=["k2"])
    assert estimate(absent, "balanced_accuracy") == Estimate(None, reason="class_absent")
    assert absent.answer[0].measure == "accuracy"
    assert estimate(absent, "sensitivity", "macro").value == pytest.approx(0.5)
    assert "class-absent" in warning_codes(absent)


def test_ordinal_measures_take_the_declared_order_and_ask_for_it() -> None:
    table, truth, p = class_probabilities(3)
    order = ["k2", "k0", "k1", "k3"]
    place = {name: i for i, name in enumerate(order)}
    result = clfeval.report(table, classes=order)
    t = np.array([place[f"k{i}"] for i in truth])
    q = p[:, [int(name[1]) for name in order]]
    said = np.array([place[f"k{k}"] for k in p.argmax(axis=1)])  # the first column of equal ones
    first = result.tables["models"][0]
    assert first["ordinal_mae"] == estimate(result, "ordinal_mae")
    assert "ordinal_mae" not in clfeval.report(table).tables["models"][0]
    assert estimate(result, "ordinal_mae").value == pytest.approx(np.abs(t - said).mean())
    assert estimate(result, "accuracy_within_1").value == pytest.approx(
        (np.abs(t - said) < 2).mean()
    )
    assert estimate(result, "kappa_quadratic").value == pytest.approx(
        sk.cohen_kappa_score(t, said, weights="quadratic")
    )
    apart = (q.cumsum(axis=1) - (np.arange(4) >= t[:, None]))[:, :3]
    assert estimate(result, "rps").value == pytest.approx((apart**2).sum(axis=1).mean() / 3)
    for name in ("rps", "kappa_linear", "ordinal"):
        with pytest.raises(UsageError) as refused:
            clfeval.report(table, measure=name)
        assert [one.code for one in refused.value.problems] == ["needs-order"]
        assert refused.value.fixes == {}  # of these names nobody can guess the order
    plain = {str(one["measure"]) for one in clfeval.report(table, measure="all").tables["measures"]}
    assert not plain & {"rps", "kappa_linear", "ordinal_mae"}


def test_what_two_classes_alone_take_is_refused_with_a_way() -> None:
    for name in ("net_benefit", "nri"):
        with pytest.raises(UsageError) as refused:
            clfeval.report(random_labels(1), measure=name)
        check_text(str(refused.value))
    with pytest.raises(UsageError, match="positive="):
        clfeval.report(class_probabilities(1)[0], threshold=0.3)


def test_a_named_class_is_reported_against_the_rest_as_ever() -> None:
    result = clfeval.report(random_labels(1), positive="9")
    assert result.parameters["positive"] == "9"
    assert {one["estimator"] for one in result.tables["measures"]} == {"binary"}


def test_fractional_weights_are_of_fewer_rows() -> None:
    """A row for each cell, of unlike weights: the values of the table, and errors of nine rows."""
    table = of_table(HAND).with_columns(n=pl.col("n") / 4)
    result = clfeval.report(table, weight="n")
    whole = clfeval.report(of_table(HAND), weight="n")
    quarters = rows_of(result, "measures")
    for quarter, row in zip(quarters, rows_of(whole, "measures"), strict=True):
        value = estimate_of(row["value"]).value
        assert estimate_of(quarter["value"]).value == pytest.approx(value, abs=1e-12)
        assert quarter["se"] is None or quarter["se"] >= row["se"] - 1e-12


def test_the_order_of_rows_and_the_layout_change_no_digit() -> None:
    table = random_labels(9, models=2).with_columns(id=pl.Series(range(120)))
    long = table.unpivot(index=["id", "truth"], variable_name="model", value_name="prediction")
    first = clfeval.report(table)
    for other in (table.sample(fraction=1, shuffle=True, seed=1), long):
        assert clfeval.report(other).tables["models"] == first.tables["models"]
        assert clfeval.report(other).tables["measures"] == first.tables["measures"]


def test_awkward_names_stand_on_the_screen_as_they_are_written() -> None:
    text = as_text(clfeval.report(random_labels(4)), width=200)
    assert "d\\ne" in text
    assert "[red]c[/red]" in text


def test_of_many_classes_nobody_reads_a_matrix() -> None:
    rng = np.random.default_rng(0)
    truth = np.concatenate([np.arange(200), rng.integers(0, 200, 800)])
    said = np.where(rng.random(1000) < 0.7, truth, rng.integers(0, 200, 1000))
    table = pl.DataFrame({"truth": [f"c{i}" for i in truth], "m": [f"c{i}" for i in said]})
    result = clfeval.report(table)
    text = as_text(result, width=80)
    assert len(text.splitlines()) <= 45
    assert (
        len(as_text(clfeval.report(random_labels(4)), width=200).splitlines()) > 20
    )  # with a matrix
    assert len({one["class"] for one in result.tables["measures"]}) == 201


@pytest.mark.parametrize("labels", [(), ("k0", "k1", "k2", "k3")])
@pytest.mark.parametrize("scored", [True, False])
def test_tables_hold_what_the_page_declares(scored: bool, labels: tuple[str, ...]) -> None:
    table = class_probabilities(1)[0]
    if not scored:
        table = table.select("truth", m="truth")
    document = json.loads(clfeval.report(table, classes=labels).to_json())
    schema = {"$defs": SCHEMA["$defs"], "$ref": "#/$defs/report_tables"}
    errors = jsonschema.Draft202012Validator(schema).iter_errors(document)
    assert [error.message for error in errors] == []
    assert [fault for fault in wrong_with(document) if not fault.startswith("$.command")] == []
