"""Models compared: DeLong, McNemar, means of rows, and what is said of differences."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import cochrans_q, mcnemar

import clfeval
from clfeval.document.cells import Estimate
from tests.language import long_sentences
from tests.methods.report.bleeding import patients
from tests.results import (
    Line,
    answer_codes,
    answers_of,
    limits_of,
    row_of,
    rows_by,
    rows_of,
    value_of,
    warning_codes,
)
from tests.samples import informed_scores, labels_right_at, logistic
from tests.shell import at_shell
from tests.texts import check_text, numbers_in

CANCER = Path(__file__).parents[3] / "fixtures" / "breast-cancer" / "scores.csv"


def models_sharing_noise(m: int = 120, models: int = 3, seed: int = 0) -> pl.DataFrame:
    """Return m rows with the scores of models m0, m1, ..., each better than the one before."""
    rng = np.random.default_rng(seed)
    truth = np.concatenate([[0, 1], rng.integers(0, 2, m - 2)])
    shared = rng.normal(size=m)
    columns: dict[str, Any] = {"truth": truth}
    for i in range(models):
        z = truth * (0.8 + 0.5 * i) + shared + rng.normal(size=m)
        columns[f"m{i}"] = logistic(z - 0.7, 2)
    return pl.DataFrame(columns)


def test_areas_differ_as_r_prints_it() -> None:
    """roc.test of pROC: Z = 2.209, p = 0.02718, difference 0.8236789 - 0.7313686.

    It takes the normal distribution where we take Student's t: the same error, a larger p.
    """
    cuts = {"wfns": 4, "s100b": 0.25, "ndka": 15}
    result = clfeval.report(patients(), positive="1", reference="s100b", threshold=cuts)
    row = row_of(result, "comparisons", measure="roc_auc", model="wfns")
    difference = value_of(row["difference"])
    assert difference == pytest.approx(0.8236789 - 0.7313686, abs=1e-7)
    assert row["se"] == pytest.approx(0.041788584787, rel=1e-9)
    assert difference / row["se"] == pytest.approx(2.2089835914, rel=1e-9)
    assert 2 * stats.norm.sf(difference / row["se"]) == pytest.approx(0.0271757822, rel=1e-8)
    assert 0.02718 < row["p"] < 0.05
    assert row["method"] == "DeLong, t"
    result = clfeval.report(patients(), positive="1", reference="ndka", threshold=cuts)
    row = row_of(result, "comparisons", measure="roc_auc", model="wfns")
    assert value_of(row["difference"]) / row["se"] == pytest.approx(2.7977759187, rel=1e-9)


def test_scores_without_a_threshold_are_compared_by_rank_alone() -> None:
    table = patients().select("truth", "wfns", twin=pl.col("wfns") + 1)
    result = clfeval.report(table, positive="1", reference="wfns")
    assert {row["measure"] for row in result.tables["comparisons"]} == {"roc_auc"}
    assert "mcnemar" not in result.tables


def test_the_error_of_areas_is_that_of_all_pairs_of_rows() -> None:
    """DeLong's variance of a difference, from every pair of a positive and a negative."""
    table = models_sharing_noise()
    result = clfeval.report(table, positive="1", reference="m0")
    y = table["truth"].to_numpy() == 1
    placed = {}
    for name in ("m0", "m1", "m2"):
        x = table[name].to_numpy()
        wins = (x[y][:, None] > x[~y]) + (x[y][:, None] == x[~y]) / 2
        placed[name] = wins.mean(axis=1), wins.mean(axis=0)
    for name in ("m1", "m2"):
        ten, one = (a - b for a, b in zip(placed[name], placed["m0"], strict=True))
        variance = ten.var(ddof=1) / len(ten) + one.var(ddof=1) / len(one)
        row = row_of(result, "comparisons", measure="roc_auc", model=name)
        assert row["se"] == pytest.approx(np.sqrt(variance), rel=1e-9)
        assert value_of(row["difference"]) == pytest.approx(ten.mean(), abs=1e-12)


def test_means_of_rows_differ_as_a_paired_t_test_has_it() -> None:
    """Of the Brier score the difference of the squared errors of each row: a mean of 120 rows."""
    table = models_sharing_noise()
    result = clfeval.report(table, positive="1", reference="m0")
    row = row_of(result, "comparisons", measure="brier", model="m2")
    y = table["truth"].to_numpy()
    d = (table["m2"].to_numpy() - y) ** 2 - (table["m0"].to_numpy() - y) ** 2
    assert value_of(row["difference"]) == pytest.approx(d.mean())
    assert row["se"] == pytest.approx(stats.sem(d), rel=1e-9)
    centred = d - d.mean()
    kurtosis = len(d) * (centred**4).sum() / (centred**2).sum() ** 2
    df = min(2 * len(d) / (kurtosis - 1), min(y.sum(), (1 - y).sum()) - 1)
    p = 2 * stats.t.sf(abs(d.mean()) / stats.sem(d), df)
    assert row["p"] == pytest.approx(p, rel=1e-9)
    low, high = stats.t.interval(0.95, df, d.mean(), stats.sem(d))
    assert limits_of(row["difference"]) == pytest.approx((low, high))
    assert row["verdict"] == ("better" if high < 0 else "undecided")  # less is better


def test_labels_that_change_are_those_of_a_join_and_mcnemar_tests_them() -> None:
    """Differences of rates are of discordant rows: b less c of n; mcnemar has b, c and mid-p."""
    table = models_sharing_noise(200)
    result = clfeval.report(table, positive="1", reference="m0")
    each = table.select(
        "truth",
        **{name: (pl.col(name) >= 0.5).cast(pl.Int64) == pl.col("truth") for name in ("m0", "m1")},
    )
    for metric, some in (
        ("sensitivity", each.filter(truth=1)),
        ("specificity", each.filter(truth=0)),
        ("accuracy", each),
    ):
        b = some.filter(pl.col("m1") & ~pl.col("m0")).height
        c = some.filter(~pl.col("m1") & pl.col("m0")).height
        row = row_of(result, "comparisons", measure=metric, model="m1")
        assert value_of(row["difference"]) == pytest.approx((b - c) / some.height)
    row = row_of(result, "mcnemar", model="m1")
    assert (row["newly_right"], row["newly_wrong"]) == (b, c)
    exact = mcnemar([[0, b], [c, 0]], exact=True).pvalue
    mid = exact - stats.binom.pmf(min(b, c), b + c, 0.5)  # half of each of its two tails
    assert row["p"] == pytest.approx(min(mid, 1), rel=1e-9)


@pytest.mark.parametrize("metric", ["mcc", "f1", "precision", "net_benefit", "balanced_accuracy"])
def test_the_error_is_that_of_rows_drawn_again(metric: str) -> None:
    """A bootstrap of rows of 400, 2,000 times: the standard deviation of the difference."""
    table = models_sharing_noise(400, 2)
    result = clfeval.report(table, positive="1", reference="m0")
    row = row_of(result, "comparisons", measure=metric, model="m1")
    y = table["truth"].to_numpy() == 1
    said = [table[name].to_numpy() >= 0.5 for name in ("m1", "m0")]
    rng, drawn = np.random.default_rng(5), []
    for _ in range(2000):
        at = rng.integers(0, len(y), len(y))
        values = []
        for one in said:
            tp, fp = (one & y)[at].sum(), (one & ~y)[at].sum()
            fn, tn = (~one & y)[at].sum(), (~one & ~y)[at].sum()
            values.append(
                {
                    "mcc": (tp * tn - fp * fn)
                    / np.sqrt(float((tp + fp) * (tp + fn)) * float((tn + fp) * (tn + fn))),
                    "f1": 2 * tp / (2 * tp + fp + fn),
                    "precision": tp / (tp + fp),
                    "net_benefit": (tp - fp) / len(y),
                    "balanced_accuracy": (tp / (tp + fn) + tn / (tn + fp)) / 2,
                }[metric]
            )
        drawn.append(values[0] - values[1])
    assert row["se"] == pytest.approx(np.std(drawn), rel=0.06)


def test_half_a_row_more_of_each_class_changes_sides_each_way() -> None:
    """At .5 a hit of a net benefit is worth 1, a false alarm -1: one row more of each class."""
    table = models_sharing_noise(200, 2)
    result = clfeval.report(table, positive="1", reference="m0")
    row = row_of(result, "comparisons", measure="net_benefit", model="m1")
    y = table["truth"].to_numpy() * 2 - 1
    one, other = (y * (table[name].to_numpy() >= 0.5) for name in ("m1", "m0"))
    d = one - other - (one - other).mean()
    assert row["se"] == pytest.approx(np.sqrt(((d**2).sum() + 1 + 1) / (200 * 199)), rel=1e-9)


def test_a_row_that_changes_sides_moves_the_mcc_by_its_slope() -> None:
    """Slopes as differences of the MCC of tables with a little more in a cell.

    Those of a row that changes sides are of tables with half a row more in each cell.
    """
    table, step = models_sharing_noise(200, 2), 1e-5
    result = clfeval.report(table, positive="1", reference="m0")
    row = row_of(result, "comparisons", measure="mcc", model="m1")
    y = table["truth"].to_numpy() == 1

    def mcc(cells: Any) -> float:
        tp, fp, fn, tn = cells
        return float((tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))

    each, flips = [], 0.0
    for name in ("m1", "m0"):
        said = table[name].to_numpy() >= 0.5
        which = np.array([said & y, said & ~y, ~said & y, ~said & ~y])
        cells = which.sum(axis=1)
        f, g = (
            [
                some.sum() * (mcc(some + one) - mcc(some - one)) / 2 / step
                for one in step * np.eye(4)
            ]
            for some in (cells, cells + 0.5)
        )
        each.append(f @ which)
        flips += (g[0] - g[2]) ** 2 + (g[1] - g[3]) ** 2
    d = each[0] - each[1]
    assert row["se"] == pytest.approx(np.sqrt(((d**2).sum() + flips / 2) / (200 * 199)), rel=1e-5)


def test_rare_positives_in_few_clusters_leave_few_degrees_of_freedom() -> None:
    """Of 5, 3, 2 and 2 positives 12² / (25 + 9 + 4 + 4) = 3.43 clusters alike tell as much."""
    truth = np.zeros((20, 10), int)
    for at, many in enumerate((5, 3, 2, 2)):
        truth[at, :many] = 1
    rng, y = np.random.default_rng(3), truth.ravel()
    table = pl.DataFrame(
        {
            "truth": y,
            "patient": np.repeat(np.arange(20), 10),
            **{f"m{i}": rng.random(200) / 2 + y / 4 for i in range(2)},
        }
    )
    result = clfeval.report(table, positive="1", reference="m0", cluster="patient")
    row = row_of(result, "comparisons", measure="brier", model="m1")
    low, high = limits_of(row["difference"])
    assert (high - low) / 2 / row["se"] >= stats.t.ppf(0.975, 144 / 42 - 1) * (1 - 1e-9)


def test_a_model_more_moves_no_other_models_own_numbers() -> None:
    """Byte by byte; only who is tied, the winner and what holds together may change."""
    table = models_sharing_noise(150, 4)
    joint = {"tied", "p_adjusted", "difference_adjusted", "verdict"}
    few, more = (
        json.loads(
            clfeval.report(
                table.select("truth", *names),
                positive="1",
                reference="m0",
                measure=["ks", "log_loss"],
            ).to_json()
        )["tables"]
        for names in (["m0", "m1", "m2"], ["m0", "m1", "m2", "m3"])
    )
    assert few.keys() == more.keys()
    for name in few.keys() - {"best", "winner", "comparisons", "together"}:
        kept = [
            [
                {key: value for key, value in one.items() if key not in joint}
                for one in tables[name]
                if one.get("model") != "m3"
            ]
            for tables in (few, more)
        ]
        assert kept[0] == kept[1], name
        assert kept[0], name
    for one, same in zip(
        few["comparisons"],
        (row for row in more["comparisons"] if row["model"] != "m3"),
        strict=True,
    ):
        ends = [
            [each["difference"][end] for end in ("value", "low", "high")] for each in (one, same)
        ]
        assert ends[0] == pytest.approx(ends[1], rel=1e-9)
        assert one["p"] == pytest.approx(same["p"], rel=1e-9)
    changed = [
        [one["p_adjusted"] for one in tables["comparisons"] if one["model"] == "m1"]
        for tables in (few, more)
    ]
    assert all(a <= b * (1 + 1e-9) for a, b in zip(*changed, strict=True))


def test_p_is_adjusted_over_the_pairs_of_a_measure_and_over_sensitivity_and_specificity() -> None:
    """Of two models a measure is one pair, and its p the adjusted one; of the rates twice that."""
    for models, pairs in ((2, 1), (5, 10)):
        result = clfeval.report(
            models_sharing_noise(150, models), positive="1", reference="all-pairs"
        )
        for metric in ("roc_auc", "mcc", "accuracy", "sensitivity", "specificity"):
            rows = rows_of(result, "comparisons", measure=metric)
            pairs_of_rows = [(row["model"], row["reference"]) for row in rows]
            assert pairs_of_rows == [*combinations([f"m{i}" for i in range(models)], 2)]
            shared = 2 if metric in ("sensitivity", "specificity") else 1
            for row in rows:
                p, adjusted = row["p"], row["p_adjusted"]
                assert adjusted <= min(shared * pairs * p, 1) * (1 + 1e-9)
                assert adjusted >= min(shared * p, 1)
                low, high = limits_of(row["difference_adjusted"])
                assert (adjusted < 0.05) == (low > 0 or high < 0)


def test_the_best_of_these_rows_is_compared_as_one_of_all_pairs() -> None:
    """It is chosen on the rows: its p-values are those of all ten pairs together."""
    table = models_sharing_noise(150, 5)
    all_pairs, best = (
        rows_of(
            clfeval.report(table, positive="1", reference=name), "comparisons", measure="roc_auc"
        )
        for name in ("all-pairs", "best")
    )
    models = rows_by(clfeval.report(table, positive="1"), "models", "model")
    areas = {model: value_of(row["roc_auc"]) for model, row in models.items()}
    first = max(areas, key=areas.__getitem__)
    assert {row["reference"] for row in best} == {first}
    assert {row["model"] for row in best} == {*areas} - {first}
    for row in best:
        names = {row["model"], first}
        (pair,) = [pair for pair in all_pairs if {pair["model"], pair["reference"]} == names]
        assert row["p_adjusted"] == pair["p_adjusted"]
        difference = value_of(row["difference"])
        assert abs(difference) == pytest.approx(abs(value_of(pair["difference"])))
        assert difference <= 0


def test_p_is_that_of_students_t_with_the_degrees_of_freedom_of_the_row() -> None:
    """At most the rows of the smaller class less 1; p in McNemar's table is another one."""
    result = clfeval.report(
        models_sharing_noise(), positive="1", reference="m0", model=["m0", "m2"]
    )
    fewest = min(models_sharing_noise()["truth"].sum(), 120 - models_sharing_noise()["truth"].sum())
    for measure in ("roc_auc", "brier", "accuracy", "mcc"):
        row = row_of(result, "comparisons", measure=measure)
        t = abs(value_of(row["difference"])) / row["se"]
        assert row["p"] == pytest.approx(2 * stats.t.sf(t, row["df"]), rel=1e-6)
        assert 0 < row["df"] <= fewest - 1
    text = str(result)
    leading, _, others = text.partition(": other measures")
    assert [heading in leading for heading in ("p, adjusted", "p (this measure)")] == [True, False]
    assert [heading in others for heading in ("p, adjusted", "p (this measure)")] == [False, True]
    degrees = row_of(result, "comparisons", measure="roc_auc")["df"]
    assert f"{degrees:.4g}" in leading.splitlines()[-3]
    assert "given the rows that only one model predicts correctly" in " ".join(others.split())


@pytest.mark.parametrize(
    ("models", "reference", "opening"),
    [
        (["logreg", "svm"], "logreg", "svm is neither significantly different from logreg nor"),
        (["logreg", "svm", "forest"], "logreg", "No other model differs significantly from"),
        (["logreg", "svm", "knn", "tree"], "svm", "Compared with svm by ROC AUC, tree is"),
        (["logreg", "svm", "knn", "tree"], "all-pairs", ""),
    ],
)
def test_equivalence_that_is_undecided_is_said(
    models: list[str], reference: str, opening: str
) -> None:
    """Undecided: the adjusted interval includes 0, and ends outside the margin on both sides."""
    margin = 0.004
    options: dict[str, Any] = {"model": models, "reference": reference}
    result = clfeval.report(
        CANCER, positive="malignant", **options, margin={"roc_auc": margin}, ignore="id"
    )
    rows = rows_of(result, "comparisons", measure="roc_auc")
    intervals = [limits_of(row["difference_adjusted"]) for row in rows]
    if reference == "all-pairs":
        equivalent = sum(-margin < low and high < margin for low, high in intervals)
        different = sum(low > 0 or high < 0 for low, high in intervals)
        opening = f"{different} of {len(intervals)} pairs of models differ"
        others = len(intervals) - equivalent - different
        counts = f"; {equivalent} are equivalent within 0.004, {others} are neither."
        assert result.answer[0].text.endswith(counts)
    assert any(low < -margin < 0 < margin < high for low, high in intervals)
    assert result.answer[0].text.startswith(opening)
    assert "equivalent within 0.004" in result.answer[0].text
    check_text(result.answer[0].text)
    without = clfeval.report(CANCER, positive="malignant", **options, ignore="id")
    assert "equivalent" not in without.answer[0].text


def test_models_that_say_the_same_never_differ() -> None:
    """No row of 60 differs: fewer than 1 - .025^(1/60) of them may, 6 %."""
    table = models_sharing_noise(60, 1).with_columns(twin=pl.col("m0"))
    result = clfeval.report(table, positive="1", reference="m0", margin={"accuracy": 0.07})
    accuracy, area = (
        row_of(result, "comparisons", measure=measure, model="twin")
        for measure in ("accuracy", "roc_auc")
    )
    most = 1 - 0.025 ** (1 / 60)
    assert (accuracy["p"], *limits_of(accuracy["difference"])) == pytest.approx((1, -most, most))
    assert accuracy["verdict"] == "equivalent"
    y = table["truth"].to_numpy()
    most = 1 - 0.025 ** (1 / min(y.sum(), (1 - y).sum()))  # of the smaller class
    assert area["p"] == 1
    assert area["difference"] == Estimate(0.0, pytest.approx(-most), pytest.approx(most))
    assert area["verdict"] == "undecided"
    assert (result.answer[0].code, result.answer[0].models) == ("compared", ("twin",))


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (pl.col("m0") ** 2, "b ranks every row as m0 does: both have ROC AUC "),
        ((pl.col("m0") >= 0.5).cast(int), "b predicts every row as m0 does: both have balanced"),
    ],
)
def test_models_that_differ_in_no_row_have_the_same_value_without_an_interval(
    transform: pl.Expr, text: str
) -> None:
    table = models_sharing_noise(60, 1).with_columns(b=transform)
    if "predicts" in text:
        table = table.with_columns(m0=pl.col("b"))
    result = clfeval.report(table, positive="1", reference="m0")
    (compared,) = answers_of(result, "compared")
    assert compared.text.startswith(text)
    assert "CI" not in compared.text
    check_text(compared.text)
    # with a margin, rows that do not differ show how many in the population may
    judged = clfeval.report(table, positive="1", reference="m0", margin={"accuracy": 0.5})
    row = row_of(judged, "comparisons", measure="accuracy", model="b")
    assert row["verdict"] == "equivalent"


def joint_test_row(table: pl.DataFrame, **options: Any) -> Line:
    """Return the row on all models together in the report with reference m0."""
    result = clfeval.report(table, **{"positive": "1", "reference": "m0"} | options)
    return row_of(result, "together")


def test_all_models_together_are_tested_by_cochrans_q() -> None:
    table = models_sharing_noise(200, 4)
    right = np.array(
        [(table[f"m{i}"].to_numpy() >= 0.5) == (table["truth"] == 1).to_numpy() for i in range(4)]
    )
    expected, differ = cochrans_q(right.T.astype(int)), (right.any(0) & ~right.all(0)).sum()
    row = joint_test_row(table)
    assert (row["statistic"], row["p"]) == pytest.approx((expected.statistic, expected.pvalue))
    assert (row["measure"], row["models"], row["differ"]) == ("accuracy", 4, differ)
    assert row["method"] == "Cochran's Q, chi²"
    doubled = joint_test_row(table.with_columns(n=pl.lit(2)), weight="n")
    assert doubled["statistic"] == pytest.approx(2 * expected.statistic)  # of each row two
    assert doubled["differ"] == 2 * differ


def test_where_cochrans_q_says_nothing_it_is_not_given() -> None:
    table = models_sharing_noise(60, 1).with_columns(m1=pl.col("m0"), m2=pl.col("m0"))
    row = joint_test_row(table)
    assert (row["statistic"], row["p"]) == (None, 1)
    check_text(row["method"])
    table = models_sharing_noise(60).with_columns(patient=pl.int_range(60) // 3, w=pl.lit(1.5))
    for options in ({"cluster": "patient"}, {"weight": "w"}):
        row = joint_test_row(table.drop({"w", "patient"} - {*options.values()}), **options)
        assert (row["statistic"], row["p"]) == (None, None)
        check_text(row["method"])
    two = clfeval.report(models_sharing_noise(60, 2), positive="1", reference="m0")
    assert "together" not in two.tables
    assert "together" not in clfeval.report(models_sharing_noise(60), positive="1").tables


def test_few_rows_that_differ_make_cochrans_q_rough() -> None:
    """Of ten rows one is wrong for each of three models: 3 x 3 answers in rows that differ."""
    answers = {f"m{i}": [1, 0] * 5 for i in range(3)}
    for i in range(3):
        answers[f"m{i}"][i] = 1 - answers[f"m{i}"][i]
    table = pl.DataFrame({"truth": [1, 0] * 5, **answers})
    row = joint_test_row(table, kind="label")
    check_text(row["method"])
    assert row["statistic"] == 0  # each is wrong once


def test_of_several_classes_cochrans_q_is_of_right_and_wrong() -> None:
    rng = np.random.default_rng(2)
    truth = rng.choice(["a", "b", "c"], 90)
    said = {f"m{i}": np.where(rng.random(90) < 0.5 + i / 10, truth, "a") for i in range(3)}
    expected = cochrans_q(np.array([one == truth for one in said.values()]).T.astype(int))
    row = joint_test_row(pl.DataFrame({"truth": truth, **said}), positive=None)
    assert (row["statistic"], row["p"]) == pytest.approx((expected.statistic, expected.pvalue))


def test_a_difference_at_the_threshold_comes_first() -> None:
    # equal ranking: the new scores are the old ones moved up, so that more of them are above .5
    truth, old = (
        [i % 2 for i in range(400)],
        [(0.3 * (i % 2) + (i * 7919 % 400) / 800) for i in range(400)],
    )
    table = pl.DataFrame({"truth": truth, "old": old, "new": [min(x + 0.15, 1.0) for x in old]})
    result = clfeval.report(table, positive="1", reference="old")
    assert answer_codes(result)[:2] == ["operating-point", "compared"]
    assert result.answer[1].value == 0
    check_text(answer.text for answer in result.answer[:2])


def test_a_sentence_on_both_rates_of_labels_names_the_reference_once() -> None:
    # of 200 positives and 200 negatives the reference flags 150 and 30, the model 100 and 60
    truth = [1] * 200 + [0] * 200
    labels = {
        name: [int(i < tp or 200 <= i < 200 + fp) for i in range(400)]
        for name, tp, fp in (("m0", 150, 30), ("m1", 100, 60))
    }
    table = pl.DataFrame({"truth": truth, **labels})
    result = clfeval.report(table, positive="1", reference="m0", kind="label")
    (answer,) = answers_of(result, "operating-point")
    sentence = answer.text
    assert sentence.startswith("By their labels, m1 ")
    assert "50 fewer of 200 positives" in sentence
    assert "30 more of 200 negatives" in sentence
    assert sentence.count("m0") == 1
    assert long_sentences(sentence) == []


def test_of_a_rule_that_flags_more_rows_a_model_is_described_with_as_many() -> None:
    truth = [int(i < 40) for i in range(400)]
    rule = [int(i < 20 or i >= 340) for i in range(400)]  # 80 of 400 rows: 20 %
    scores = [0.6 if i < 10 else 0.1 + (400 - i) / 4000 for i in range(400)]  # 10 of 400: 2.5 %
    table = pl.DataFrame({"truth": truth, "rule": rule, "new": scores})
    result = clfeval.report(table, positive="1", model=["rule", "new"], reference="rule")
    row = row_of(result, "same_specificity")
    assert (row["flagged"], row["specificity"]) == (80, pytest.approx(1 - 60 / 360))
    first = result.answer[0]
    assert (first.code, first.value) == ("same-specificity", row["difference"].value)
    assert 80 in numbers_in(first.text)
    check_text(first.text)


@pytest.mark.parametrize(
    ("classes", "order"),
    [
        ("012", "012"),
        ("1234", "1234"),
        (("severe", "none", "mild"), ("none", "mild", "severe")),
        (("II", "I", "III"), ("I", "II", "III")),
        (("mid", "medium", "low"), None),
        ("013", None),
        ("abc", None),
        ("01234567", None),
    ],
)
def test_labels_that_are_numbered_or_graded_may_be_in_order(
    classes: Sequence[str], order: Sequence[str] | None
) -> None:
    table = pl.DataFrame({"truth": [*classes] * 20, "m": [*classes, *classes[::-1]] * 10})
    answers = answers_of(at_shell(clfeval.report)(table), "unordered-classes")
    assert len(answers) == (order is not None)
    if order is not None:
        assert " ".join(f"--classes {label}" for label in order) in answers[0].text
        check_text([answers[0].text])
    ordered = clfeval.report(table, classes=[*classes])
    assert "unordered-classes" not in answer_codes(ordered)


def test_a_reference_of_labels_beside_scores_is_compared() -> None:
    dice = np.random.default_rng(3)
    truth = dice.random(300) < 0.4
    scores = {f"m{i}": informed_scores(dice, truth, 0.3) for i in range(2)}
    rule = labels_right_at(dice, truth, 0.9)
    table = pl.DataFrame(
        {"truth": np.where(truth, "yes", "no"), **scores, "rule": np.where(rule, "yes", "no")}
    )
    result = clfeval.report(table, positive="yes", reference="rule")
    compared = {(row["model"], row["measure"]) for row in result.tables["comparisons"]}
    assert {("m0", "balanced_accuracy"), ("m1", "net_benefit")} <= compared
    winner = row_of(result, "winner", measure="balanced_accuracy")
    rows = rows_of(result, "measures", measure="balanced_accuracy")
    assert value_of(winner["value"]) == max(value_of(row["value"]) for row in rows)


@pytest.mark.parametrize(
    ("columns", "start"),
    [
        ("truth,a,b", "There are too few rows to compare b with a in balanced accuracy: -1.000,"),
        ("truth,a,b,c", "There are too few rows to compare the other models with a in balanced"),
    ],
)
def test_models_that_four_rows_cannot_compare_are_not_called_tied(columns: str, start: str) -> None:
    """The interval holds every difference that is possible, from -1 to 1."""
    rows = ["1,1,0,0", "0,0,1,1", "1,1,0,0", "0,0,1,1"]
    names = columns.split(",")
    cells = [dict(zip(names, map(int, row.split(",")), strict=False)) for row in rows]
    result = clfeval.report(pl.DataFrame(cells), reference="a")
    assert result.answer[0].text.startswith(start)
    assert not any("not significantly" in sentence.text for sentence in result.answer)


@pytest.mark.parametrize("threshold", ["", "j"])
def test_net_benefits_at_different_thresholds_are_not_compared(threshold: str) -> None:
    rng = np.random.default_rng(4)
    truth = np.arange(300) % 3 == 0
    shared = rng.normal(size=300) + truth
    scores = {name: logistic(shared + rng.normal(size=300)) for name in ("lab", "new")}
    scores["new"] **= 2
    options: dict[str, Any] = {"best_threshold": threshold} if threshold else {"threshold": 0.5}
    result = clfeval.report(truth, scores, reference="lab", **options)
    measures = {row["measure"] for row in result.tables["comparisons"]}
    assert ("net_benefit" in measures) is not bool(threshold)
    assert ("own-thresholds" in warning_codes(result)) is bool(threshold)
