"""The catalogue of measures: sound records, and everything phidelta answers stands in it."""

from __future__ import annotations

import polars as pl
import pytest

import clfeval
from clfeval.measures.catalog import CATALOG, find_measure, same_measure
from clfeval.measures.measure import Measure
from clfeval.measures.table import PLAIN, Stakes, measures
from clfeval.result import Estimate
from tests.methods.phidelta.byhand import EVERY

REASONS = {  # METHODS section 0, and what MARS adds
    "no_positive_truth", "no_negative_truth", "no_positive_prediction", "no_negative_prediction",
    "zero_margin", "single_class", "expected_agreement_one", "nothing_found", "zero_weight",
    "too_few_rows", "too_few_metrics", "negative_metric", "infinite", "no_other_model",
}  # fmt: skip


@pytest.mark.parametrize("measure", CATALOG.values(), ids=lambda measure: measure.id)
def test_a_record_is_sound(measure: Measure) -> None:
    assert CATALOG[measure.id] is measure
    assert measure.low < measure.high
    assert measure.title
    assert measure.formula
    assert measure.source
    assert measure.id not in measure.aliases
    named = {word for word in measure.undefined.replace(",", " ").split() if "_" in word}
    assert named
    assert named <= REASONS
    if measure.best == "zero":
        assert measure.low < 0 < measure.high


def test_best_values_point_the_right_way() -> None:
    smallest = {name for name, measure in CATALOG.items() if measure.best == "min"}
    assert smallest == {
        "error_rate", "error_u", "occlusion", "lr_neg", "expected_cost", "fpr", "fnr", "fdr", "for",
        "log_loss", "brier", "brier_sum", "ece", "mce", "ece_debiased", "rps", "ordinal_mae",
        "ordinal_mse", "ordinal_rmse",
    }  # fmt: skip
    assert {name for name, m in CATALOG.items() if m.best == "zero"} == {"phi", "phi_b"}
    assert (CATALOG["phi"].arrow, CATALOG["delta"].arrow) == ("→0", "↑")


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("acc", "accuracy"), ("ppv", "ppv"), ("spec", "specificity"),
        ("youden", "delta"), ("J_index", "j_index"), ("informedness", "delta"),
        ("balanced_accuracy", "accuracy_u"), ("mcc_normalised", "mcc_u"),
        ("gain_capture", "gini"), ("c_statistic", "roc_auc"), ("delta", "delta"),
        ("cohen_kappa", "kappa"), ("ap", "average_precision"), ("cross_entropy", "log_loss"),
    ],
)  # fmt: skip
def test_names_of_the_field_find_their_measure(alias: str, name: str) -> None:
    found = find_measure(alias)
    assert found is CATALOG[name]
    assert name in same_measure(alias)


def test_what_the_class_ratio_leaves_alone() -> None:
    """METHODS section 3: everything else moves, MCC and the information coefficient included."""
    tuned = set(PLAIN) - {name for name in PLAIN if CATALOG[name].invariant}
    assert tuned == {
        "tar", "tor", "ppv", "npv", "ppv_odds", "npv_odds", "epa", "f_beta", "f_odds", "mcc", "ic",
    }  # fmt: skip
    assert CATALOG["roc_auc"].invariant
    assert set(measures(stakes=Stakes(1, 1))) <= set(CATALOG)


def test_sensitivity_and_recall_are_one_measure_under_two_ids() -> None:
    assert {"sensitivity", "recall"} <= set(same_measure("tpr"))
    assert find_measure("nonsense") is None


def test_everything_phidelta_answers_is_in_the_catalogue() -> None:
    frame = pl.DataFrame({"truth": [1, 1, 0, 0], "s": [0.9, 0.2, 0.7, 0.1]})
    result = clfeval.phidelta(frame, curve=True, prevalence=0.1)
    for table in ("models", "populations", "curves"):
        columns = result.tables[table][0]
        measures = {name for name, cell in columns.items() if isinstance(cell, Estimate)}
        assert {name.removeprefix("region_") for name in measures} <= set(CATALOG)
    assert set(EVERY) <= set(CATALOG)
