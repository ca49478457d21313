"""Models with scores at the specificity of a reference that has labels only.

Methods: intervals are square-and-add, through the ROC curve, of the paired difference in
sensitivity and of the difference in false positive rates; tables of coverage and of false claims
are the slow tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.special import ndtr, ndtri

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from tests.methods.report.matched_tables import Setting, SimulatedTable, settings, tally
from tests.results import Line, answer_codes, estimate_of, limits_of, row_of, rows_by, value_of
from tests.samples import logistic
from tests.texts import check_text

SPECIFICITY = 0.9
FRAUD = {"truth": "fraud", "positive": "1", "reference": "rule"}


def rare_table(rows: int = 4000, positives: int = 64, seed: int = 11) -> pl.DataFrame:
    """Return a table of 1.6 % positives, a rule of high specificity, and two models of scores."""
    rng = np.random.default_rng(seed)
    fraud = np.arange(rows) < positives
    shared = rng.standard_normal(rows)
    latent = 0.55 * shared + 0.83 * rng.standard_normal((3, rows)) + fraud * [[1.75], [2.8], [2.0]]
    return pl.DataFrame(
        {
            "fraud": fraud.astype(int),
            "rule": (latent[0] > 2.05).astype(int),
            "gbm": logistic(1.6 * latent[1] - 6.2, 4),
            "logreg": logistic(1.6 * latent[2] - 5.7, 4),
        }
    )


def matched_rows(result: Result) -> dict[str, Line]:
    """Return the rows at the specificity of the reference by model."""
    return rows_by(result, "same_specificity", "model")


def roc_of(truth: Any, score: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Return rates and thresholds of every score, from (0, 0) on, as sklearn's roc_curve has."""
    thresholds = np.concatenate([[np.inf], np.unique(score)[::-1]])
    flagged = score[None] >= thresholds[:, None]
    fpr = (flagged * weights * ~truth).sum(axis=1) / weights[~truth].sum()
    tpr = (flagged * weights * truth).sum(axis=1) / weights[truth].sum()
    return fpr, tpr, thresholds


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("digits", [4, 1])
def test_the_sensitivity_is_that_of_the_interpolated_roc_curve(weighted: bool, digits: int) -> None:
    table = rare_table().with_columns(pl.col("gbm", "logreg").round(digits))
    weights = np.ones(len(table))
    if weighted:
        weights = np.random.default_rng(2).integers(1, 40, len(table)) / 10
    table = table.with_columns(w=weights)
    result = clfeval.report(
        table, **FRAUD, weight="w" if weighted else None, ignore=["w"][weighted:]
    )
    truth, rule = (table[name].to_numpy() == 1 for name in ("fraud", "rule"))
    rule_fpr = weights[rule & ~truth].sum() / weights[~truth].sum()
    rule_sensitivity = weights[rule & truth].sum() / weights[truth].sum()
    flagged = weights[rule].sum()
    for model, row in matched_rows(result).items():
        fpr, tpr, thresholds = roc_of(truth, table[model].to_numpy(), weights)
        sensitivity = np.interp(rule_fpr, fpr, tpr)
        assert row["specificity"] == pytest.approx(1 - rule_fpr)
        assert row["sensitivity"] == pytest.approx(sensitivity)
        assert row["reference_sensitivity"] == pytest.approx(rule_sensitivity)
        assert value_of(row["difference"]) == pytest.approx(sensitivity - rule_sensitivity)
        place = np.flatnonzero(fpr <= rule_fpr + 1e-12)[-1]
        assert row["threshold"] == (thresholds[place] if place else None)
        assert row["threshold_sensitivity"] == pytest.approx(tpr[place])
        assert row["threshold_specificity"] == pytest.approx(1 - fpr[place])
        rows = fpr * weights[~truth].sum() + tpr * weights[truth].sum()
        assert row["flagged"] == pytest.approx(flagged / weights.mean())
        assert row["flagged_sensitivity"] == pytest.approx(np.interp(flagged, rows, tpr))
        difference = row["flagged_sensitivity"] - row["reference_sensitivity"]
        assert row["flagged_difference"] == pytest.approx(difference)


def test_the_interval_is_square_and_add_through_the_roc_curve() -> None:
    """Of untied scores, by arithmetic: discordant rows of both classes, and the ROC curve."""
    rng = np.random.default_rng(5)
    p, n = 60, 400
    truth = np.arange(p + n) < p
    score = rng.permutation(p + n) / (p + n) / 2 + truth * 0.3 * rng.random(p + n)
    rule = score + rng.normal(size=p + n) * 0.2 > 0.55
    table = pl.DataFrame({"truth": truth * 1, "rule": rule * 1, "m": score})
    row = matched_rows(clfeval.report(table, positive="1", reference="rule"))["m"]
    k = int((rule & ~truth).sum())
    negatives = np.sort(score[~truth])[::-1]
    flagged = score > negatives[k]  # as many false positives as the rule
    newly, no_longer = (int((truth & pair).sum()) for pair in (flagged & ~rule, rule & ~flagged))
    d = (newly - no_longer) / p
    total, squares = p + n, newly + no_longer - p * d**2
    error = np.sqrt(squares / p**2 * total / (total - 1) + 1 / p**2)
    apart = int((~truth & (flagged != rule)).sum())
    shift = np.sqrt(apart / n**2 * total / (total - 1) + 1 / n**2)

    def sensitivity(fpr: float) -> float:
        return float((score[truth] > negatives[int(np.floor(fpr * n + 1e-9))]).mean())

    at = k / n
    slope = (sensitivity(at + shift) - sensitivity(at - shift)) / (2 * shift)
    fourth = newly * (1 - d) ** 4 + no_longer * (1 + d) ** 4 + (p - newly - no_longer) * d**4
    sum2 = squares / p**2 + slope**2 * apart / n**2
    kurtosis = total * (fourth / p**4 + slope**4 * apart / n**4) / sum2**2
    t = stats.t.ppf(0.975, min(2 * total / (kurtosis - 1), p - 1))
    fall = sensitivity(at) - sensitivity(at - t * shift)
    rise = sensitivity(at + t * shift) - sensitivity(at)
    difference = row["difference"]
    low, high = limits_of(difference)
    assert value_of(difference) == pytest.approx(d)
    assert low == pytest.approx(d - np.hypot(t * error, fall), rel=1e-6)
    assert high == pytest.approx(d + np.hypot(t * error, rise), rel=1e-6)
    assert row["method"] == "square-and-add through the ROC curve, t"
    assert row["difference_adjusted"] == difference  # of one model
    assert row["p"] == row["p_adjusted"]


def test_models_with_scores_are_one_family() -> None:
    result = clfeval.report(rare_table(), **FRAUD)
    for row in matched_rows(result).values():
        own, joint = row["difference"], row["difference_adjusted"]
        assert joint.low < own.low < own.value == joint.value < own.high < joint.high
        assert row["p"] <= row["p_adjusted"] <= 2 * row["p"] + 1e-12
        assert (row["p_adjusted"] < 0.05) == (row["verdict"] != "undecided")
        assert (joint.low > 0) == (row["verdict"] == "better")


def test_the_comparison_at_the_specificity_of_the_rule_comes_first() -> None:
    """At 0.5 both models are worse than the rule; at its specificity gbm detects twice as many."""
    table = rare_table()
    result = clfeval.report(table, **FRAUD, model=["logreg", "gbm", "rule"])
    rows = matched_rows(result)
    assert rows["gbm"]["specificity"] == pytest.approx(0.98, abs=0.005)
    assert rows["gbm"]["verdict"] == "better"
    first, second, *_ = result.answer
    assert (first.code, first.models, first.measure) == (
        "same-specificity",
        ("gbm",),
        "sensitivity",
    )
    assert first.value == rows["gbm"]["difference"].value
    assert second.code == "compared"
    assert "miscalibrated" in answer_codes(result)  # a harm
    assert "best" in [part.code for part in result.answer[-1].left_out]
    check_text(answer.text for answer in result.answer)


def test_three_harms_are_named_and_the_others_counted() -> None:
    table = rare_table()
    rng = np.random.default_rng(1)
    noise = {f"noise{i}": np.round(rng.random(len(table)) / 2, 3) for i in range(8)}
    result = clfeval.report(table.with_columns(**noise), **FRAUD)
    first, compared, at_threshold, *_ = result.answer
    assert {*noise} == {
        model for model, row in matched_rows(result).items() if row["verdict"] == "worse"
    }
    detected = sorted(noise, key=lambda name: matched_rows(result)[name]["difference"].value)
    assert f", {detected[0]} detects significantly fewer positives: " in first.text
    assert "and 3 more also detect significantly fewer positives" in first.text  # 1 + 4 + 3 = 8
    assert all(name in compared.text for name in noise) or "every other model" in compared.text
    rates = [
        row
        for row in result.tables["comparisons"]
        if row["measure"] in ("sensitivity", "specificity")
    ]
    worse = [row for row in rates if row["verdict"] == "worse"]
    significant = len(worse) + sum(row["verdict"] == "better" for row in rates)
    assert at_threshold.code == "operating-point"
    named = [
        row for row in worse if f"{row['model']} has lower {row['measure']}" in at_threshold.text
    ]
    assert len(named) == 1
    assert f"Another {significant - 1} differences are listed below" in at_threshold.text


def test_a_rule_with_four_false_positives_defines_no_operating_point() -> None:
    table = rare_table()
    alarms = (pl.col("fraud") == 0) & (pl.col("rule") == 1)
    for most, defined in ((5, True), (4, False)):
        rule = pl.when(alarms & (alarms.cum_sum() > most)).then(0).otherwise(pl.col("rule"))
        result = clfeval.report(table.with_columns(rule=rule), **FRAUD)
        assert matched_rows(result)["gbm"]["specificity"] == pytest.approx(1 - most / 3936)
        for row in matched_rows(result).values():
            assert (row["sensitivity"] is not None) == defined
            assert (row["p"] is not None) == defined
            assert (row["verdict"] is not None) == defined
            assert estimate_of(row["difference"]).reason == (None if defined else "too_few_rows")
        check_text(result.answer[0].text)


def test_predictions_equal_to_the_rule_differ_by_nothing() -> None:
    table = rare_table().select("fraud", "rule", copy=pl.col("rule") / 2 + 0.2)
    row = matched_rows(clfeval.report(table, **FRAUD))["copy"]
    most = 1 - 0.025 ** (1 / 64)
    assert row["difference"] == Estimate(0.0, pytest.approx(-most), pytest.approx(most))
    assert (row["p"], row["threshold"]) == (1, 0.7)


def test_clusters_are_what_varies() -> None:
    """Each row twice, in clusters of its copies: the interval of the single rows, nearly."""
    table = rare_table().with_columns(patient=pl.int_range(pl.len()))
    single = matched_rows(clfeval.report(table.drop("patient"), **FRAUD))
    twice = matched_rows(clfeval.report(pl.concat([table, table]), **FRAUD, cluster="patient"))
    for model, row in single.items():
        difference, of_copies = row["difference"], twice[model]["difference"]
        assert value_of(difference) == value_of(of_copies)
        assert limits_of(of_copies) == pytest.approx(limits_of(difference), abs=0.02)
    few = table.with_columns(patient=pl.int_range(pl.len()) % 4)
    for row in matched_rows(clfeval.report(few, **FRAUD, cluster="patient")).values():
        assert row["difference"].low is None
        assert row["method"] == "none: a class has fewer than 5 clusters"


def test_a_scale_of_sampling_weights_changes_nothing() -> None:
    weights = np.round(np.random.default_rng(4).uniform(0.5, 2, 4000), 2)
    found = [
        matched_rows(clfeval.report(rare_table().with_columns(w=weights * by), **FRAUD, weight="w"))
        for by in (1, 3)
    ]
    plain = matched_rows(clfeval.report(rare_table(), **FRAUD))
    for model, row in found[0].items():
        scaled = found[1][model]
        for name in ("difference", "difference_adjusted"):
            assert limits_of(row[name]) == pytest.approx(limits_of(scaled[name]))
        widths = [cell["difference"].high - cell["difference"].low for cell in (row, plain[model])]
        assert widths[0] > widths[1]


def test_counts_have_values_and_the_reason_why_there_is_no_test(folder: Path) -> None:
    rare_table().write_csv("rare.csv")
    clfeval.count("rare.csv", truth="fraud", positive="1").save("rare.counts.parquet")
    rows = matched_rows(clfeval.report("rare.csv", **FRAUD))
    for source, more in (("rare.counts.parquet", {}), ("rare.csv", {**FRAUD, "scores": "buckets"})):
        result = clfeval.report(source, **{"reference": "rule", **more})
        for model, row in matched_rows(result).items():
            assert row["sensitivity"] == pytest.approx(rows[model]["sensitivity"], abs=0.02)
            assert (row["p"], row["verdict"]) == (None, "undecided")
            assert row["difference"].low is None
            assert row["method"].startswith("none: ")
        check_text(result.answer[0].text)


@pytest.mark.parametrize("reference", ["best", "all-pairs", "gbm"])
def test_only_a_named_reference_with_labels_has_an_operating_point(reference: str) -> None:
    result = clfeval.report(rare_table(), **{**FRAUD, "reference": reference})
    assert "same_specificity" not in result.tables
    assert "same-specificity" not in answer_codes(result)


def test_each_model_is_compared_with_its_namesake() -> None:
    table = rare_table().rename({"gbm": "new:a", "logreg": "new:b", "rule": "old:a"})
    table = table.with_columns(**{"old:b": pl.col("old:a") * (pl.int_range(pl.len()) % 7 > 0)})
    models = ["new:a", "new:b", "old:a", "old:b"]
    result = clfeval.report(table, truth="fraud", positive="1", model=models, reference="old:*")
    rows = matched_rows(result)
    assert {model: row["reference"] for model, row in rows.items()} == {
        "new:a": "old:a",
        "new:b": "old:b",
    }
    assert rows["new:a"]["specificity"] < rows["new:b"]["specificity"]
    check_text(result.answer[0].text)


def test_of_more_than_two_classes_there_is_no_operating_point() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    table = pl.DataFrame({"truth": truth, "rule": (truth + (rng.random(300) < 0.2)) % 3})
    table = table.with_columns(other=pl.Series((truth + (rng.random(300) < 0.3)) % 3))
    assert "same_specificity" not in clfeval.report(table, reference="rule").tables


SETTINGS = [pytest.param({}, id="rows"), pytest.param({"clustered": True}, id="clusters")]
SETTINGS += [pytest.param({"weighted": True}, id="weights")]
BETTER_BY = 0.5  # standard deviations of the mean of positives


@pytest.mark.parametrize("kind", SETTINGS)
def test_intervals_hold_the_truth_in_a_few_tables(kind: dict[str, bool]) -> None:
    setting = Setting(300, 0.3, SPECIFICITY, (BETTER_BY, 0.0), **kind)
    found = tally(setting, tables=60, seed=1)
    assert found.tables == 60
    assert found.covered >= 0.88


@pytest.mark.slow
@pytest.mark.parametrize("kind", SETTINGS)
def test_intervals_hold_the_truth(kind: dict[str, bool]) -> None:
    """In 1,000 tables a cell, 95% intervals: at least 93%, of the tables that have an interval."""
    for seed, setting in enumerate(settings((BETTER_BY,), **kind)):
        found = tally(setting, tables=1000, seed=seed)
        print(kind, setting, found)
        assert found.covered >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("kind", SETTINGS)
def test_equal_models_are_seldom_called_better_or_worse(kind: dict[str, bool]) -> None:
    """Of three models as good as the rule, in 2,000 tables a cell: any claim in 5% at most."""
    for seed, setting in enumerate(settings((0.0, 0.0, 0.0), **kind)):
        found = tally(setting, tables=2000, seed=seed)
        print(kind, setting, found)
        chance = 2 * np.sqrt(0.05 * 0.95 / max(found.tables, 1))
        assert found.more + found.fewer <= 0.05 + chance


AT_HALF = 3.5  # the latent score that is a probability of 0.5


def planted_setting(rows: int) -> Setting:
    """Return tables of a model that detects 0.1 more at the specificity of the rule."""
    threshold = ndtri(SPECIFICITY)
    gain = ndtri(ndtr(1 - threshold) + 0.1) + threshold - 1
    setting = Setting(rows, 0.3, SPECIFICITY, (gain,))
    assert setting.differences[0] == pytest.approx(0.1)
    return setting


def planted_claims(rows: int, tables: int, seed: int) -> tuple[float, float]:
    """Return how often a better model is named, and how often it detects fewer at 0.5."""
    rng = np.random.default_rng(seed)
    named = worse = 0
    for _ in range(tables):
        drawn = SimulatedTable.draw(planted_setting(rows), rng)
        family = drawn.family()
        named += bool(family.significant[0] and family.changes()[0].difference.value > 0)
        flagged = drawn.scores[0] >= AT_HALF
        worse += (flagged & drawn.truth).sum() < (drawn.labels & drawn.truth).sum()
    return named / tables, worse / tables


def test_a_better_model_that_is_worse_at_its_threshold_is_named_first() -> None:
    drawn = SimulatedTable.draw(planted_setting(4000), np.random.default_rng(3))
    table = pl.DataFrame(
        {
            "truth": drawn.truth * 1,
            "rule": drawn.labels * 1,
            "model": logistic(drawn.scores[0] - AT_HALF),
        }
    )
    result = clfeval.report(table, positive="1", reference="rule")
    assert matched_rows(result)["model"]["verdict"] == "better"
    first = result.answer[0]
    assert (first.code, first.models) == ("same-specificity", ("model",))
    assert "model detects significantly more positives" in first.text
    assert row_of(result, "comparisons", measure="sensitivity")["verdict"] == "worse"
    change = drawn.family().changes()[0]
    assert matched_rows(result)["model"]["difference"] == change.difference


@pytest.mark.slow
def test_a_model_better_at_the_specificity_of_the_rule_is_named() -> None:
    """In 90% of 200 tables of 16,000 rows; the rate of 1,600 rows is printed."""
    named, worse = planted_claims(16_000, tables=200, seed=4)
    few_named, few_worse = planted_claims(1600, tables=200, seed=5)
    print(f"16,000 rows: {named:.3f} (fewer at 0.5: {worse:.3f})")
    print(f"1,600 rows: {few_named:.3f} (fewer at 0.5: {few_worse:.3f})")
    assert named >= 0.9
    assert worse >= 0.9
