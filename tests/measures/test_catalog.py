"""The catalogue of measures: sound records, and everything phidelta answers stands in it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.counts.patterns import ConfusionCounts
from clfeval.document.cells import Estimate
from clfeval.measures.catalog import (
    CATALOG,
    equivalent_names,
    find_measure,
    match_measure,
    measure_functions,
)
from clfeval.measures.odds import JPT, OutcomeCosts
from clfeval.measures.record import Measure
from clfeval.methods.confidence_limits import measure_limits, search_ranges
from clfeval.methods.estimates import Cells
from clfeval.methods.mlcps.answer import MEASURED
from tests.methods.phidelta.byhand import EVERY

REASONS = {  # METHODS section 0, and what MARS adds
    "no_positive_truth",
    "no_negative_truth",
    "no_positive_prediction",
    "no_negative_prediction",
    "zero_margin",
    "single_class",
    "expected_agreement_one",
    "nothing_found",
    "zero_weight",
    "too_few_rows",
    "too_few_metrics",
    "negative_metric",
    "infinite",
    "no_other_model",
    "missing_component",
    "separation",
    "nothing_expected",
    "no_uncertainty",
    "certain_threshold",
    "class_absent",
    "nothing_positive",
}


@pytest.mark.parametrize("measure", CATALOG.values(), ids=lambda measure: measure.id)
def test_a_record_is_sound(measure: Measure) -> None:
    assert CATALOG[measure.id] is measure
    assert measure.low < measure.high
    assert measure.title
    assert measure.formula
    assert measure.source
    assert measure.id not in measure.aliases
    assert measure.undefined
    assert {*measure.undefined} <= REASONS
    if measure.aim is not None:
        assert measure.low < measure.aim < measure.high


@pytest.mark.parametrize("measure", CATALOG.values(), ids=lambda measure: measure.id)
def test_a_record_of_classes_is_sound(measure: Measure) -> None:
    form = measure.classes
    if form is None:
        assert measure.needs != "classes"
        return
    assert {*form.undefined} <= REASONS
    assert (form.compute is None) == (form.parts is not None)
    if measure.needs == "classes":
        assert measure.compute is form.compute


def test_best_values_point_the_right_way() -> None:
    smallest = {name for name, measure in CATALOG.items() if measure.best == "min"}
    assert smallest == {
        "error_rate",
        "error_u",
        "occlusion",
        "lr_neg",
        "expected_cost",
        "fpr",
        "fnr",
        "fdr",
        "for",
        "aurc",
        "log_loss",
        "brier",
        "brier_sum",
        "ici",
        "e50",
        "e90",
        "ece",
        "mce",
        "ece_debiased",
        "rps",
        "ordinal_mae",
        "ordinal_mse",
        "ordinal_rmse",
        "brier_per_class",
        "brier_miscalibration",
        "brier_uncertainty",
        "log_loss_miscalibration",
        "log_loss_uncertainty",
        "hosmer_lemeshow",
    }
    aims = {name: m.aim for name, m in CATALOG.items() if m.aim is not None}
    assert aims == {
        "phi": 0,
        "phi_b": 0,
        "calibration_intercept": 0,
        "calibration_in_the_large": 0,
        "spiegelhalter_z": 0,
        "overconfidence": 0,
        "calibration_slope": 1,
        "oe_ratio": 1,
    }
    of_rows = {name for name, measure in CATALOG.items() if measure.best == "none"}
    assert of_rows == {"prevalence", "detection_prevalence", "no_information_rate", "mean_score"}
    assert (CATALOG["phi"].arrow, CATALOG["delta"].arrow) == ("→0", "↑")


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("acc", "accuracy"),
        ("ppv", "ppv"),
        ("spec", "specificity"),
        ("youden", "delta"),
        ("J_index", "j_index"),
        ("informedness", "delta"),
        ("balanced_accuracy", "balanced_accuracy"),
        ("mcc_normalised", "mcc_u"),
        ("gain_capture", "gini"),
        ("c_statistic", "roc_auc"),
        ("delta", "delta"),
        ("cohen_kappa", "kappa"),
        ("ap", "average_precision"),
        ("cross_entropy", "log_loss"),
        ("precision@k", "precision@k"),
        ("citl", "calibration_in_the_large"),
        ("net_benefit", "net_benefit"),
        ("net_benefit@t", "net_benefit@t"),
    ],
)
def test_names_of_the_field_find_their_measure(alias: str, name: str) -> None:
    found = find_measure(alias)
    assert found is CATALOG[name]
    assert name in equivalent_names(alias)


def test_what_the_class_ratio_leaves_alone() -> None:
    """METHODS section 3: everything else moves, MCC and the information coefficient included."""
    tuned = {
        name
        for name in JPT
        if name in measure_functions("confusion", beta=1.0) and not CATALOG[name].invariant
    }
    assert tuned == {
        "tar",
        "tor",
        "ppv",
        "npv",
        "ppv_odds",
        "npv_odds",
        "epa",
        "f_beta",
        "f_odds",
        "mcc",
        "ic",
    }
    assert CATALOG["roc_auc"].invariant
    assert set(measure_functions("confusion", beta=1.0, stakes=OutcomeCosts(1, 1))) <= set(CATALOG)


def test_twins_are_one_function_under_another_id() -> None:
    twins = {measure.id: measure.twin for measure in CATALOG.values() if measure.twin}
    assert twins == {
        "recall": "sensitivity",
        "ppv": "precision",
        "tar": "accuracy",
        "j_index": "delta",
        "balanced_accuracy": "accuracy_u",
        "gain@k": "recall@k",
    }
    for name, other in twins.items():
        one, two = CATALOG[name], CATALOG[other]
        assert (one.compute, one.low, one.high, one.best) == (
            two.compute,
            two.low,
            two.high,
            two.best,
        )
        assert name in equivalent_names(other)
        assert other in equivalent_names(name)


@pytest.mark.parametrize("measure", CATALOG.values(), ids=lambda measure: measure.id)
def test_what_is_typed_shown_or_stored_finds_it(measure: Measure) -> None:
    for name in (measure.id, measure.id.upper(), measure.title, measure.title.upper()):
        assert find_measure(name) is measure, name
    for alias in measure.aliases:
        assert measure.id in equivalent_names(alias), alias


@pytest.mark.parametrize(
    ("name", "tuned", "ranked"),
    [
        ("LR+", "lr_pos", "lr_pos"),
        ("LR-", "lr_neg", "lr_neg"),
        ("J", "j_index", "j_index"),
        ("δ", "delta", "delta"),
        ("φ", "phi", None),
        ("f1", "f_beta", "f1"),
        ("F", "f_beta", "f1"),
        ("PPV odds", "ppv_odds", "ppv_odds"),
        ("tpr", "sensitivity", "sensitivity"),
        ("acc", "tar", "accuracy"),
        ("bal_accuracy", None, "balanced_accuracy"),
        ("youden", "j_index", "j_index"),
        ("auc", None, "roc_auc"),
        ("ROC AUC", None, "roc_auc"),
        ("unbiased accuracy", None, "accuracy_u"),
        ("nonsense", None, None),
    ],
)
def test_every_name_is_looked_up_in_one_place(
    name: str, tuned: str | None, ranked: str | None
) -> None:
    assert (match_measure(name, JPT), match_measure(name, MEASURED)) == (tuned, ranked)


def test_records_that_nothing_computes_yet() -> None:
    assert [measure.id for measure in CATALOG.values() if measure.compute is None] == [
        "roc_auc_ovr",
        "brier_per_class",
        "rps",
        "top_k_accuracy",
    ]
    with pytest.raises(KeyError, match="rps"):
        _ = CATALOG["rps"].function


def test_every_measure_of_a_table_has_an_interval_by_its_record() -> None:
    """At another class ratio too: from the record alone, whoever asks."""
    counts = ConfusionCounts.from_cells(["m"], [(7, 2, 3, 8)])
    cells, stakes = Cells.at_odds(counts, [0], np.array([0.1])), OutcomeCosts(1, 10)
    given = measure_functions("confusion", beta=1.0, stakes=stakes)
    for name in ("prevalence", "no_information_rate"):  # of the rows, whatever the population
        del given[name]
    for name, of in given.items():
        low, high = measure_limits(name, cells, level=0.95, stakes=stakes)
        assert low[0] < of(cells.tuned)[0] < high[0], name


@pytest.mark.parametrize(
    ("p", "by"), [(None, None), (None, "region"), (0.3, "region"), (0.3, None)]
)
def test_limits_found_together_are_those_of_each_measure(p: float | None, by: str | None) -> None:
    """To the last bit, in tables with empty cells and with equal ones, kinked measures too."""
    cells = [(7, 2, 3, 8), (10, 0, 0, 10), (5, 5, 5, 5), (0, 3, 4, 9), (7, 2, 3, 8), (90, 1, 2, 7)]
    tables = ConfusionCounts.from_cells([f"m{i}" for i in range(len(cells))], cells)
    there = Cells.at_prevalence(tables, p)
    names = [name for name, one in CATALOG.items() if one.needs == "confusion" and not one.takes]
    found = search_ranges(names, there, level=0.9, by=by)
    assert len(found) > 3
    assert any(CATALOG[name].kinked for name in found)
    for name, both in found.items():
        np.testing.assert_array_equal(both, measure_limits(name, there, level=0.9, by=by), name)


def test_everything_phidelta_answers_is_in_the_catalogue() -> None:
    frame = pl.DataFrame({"truth": [1, 1, 0, 0], "s": [0.9, 0.2, 0.7, 0.1]})
    result = clfeval.phidelta(frame, curve=True, prevalence=0.1)
    for table in ("models", "populations", "curves"):
        columns = result.tables[table][0]
        measures = {name for name, cell in columns.items() if isinstance(cell, Estimate)}
        assert {name.removeprefix("region_") for name in measures} <= set(CATALOG)
    assert set(EVERY) <= set(CATALOG)
