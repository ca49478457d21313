"""Names that other programs have for measures: accepted, or refused with what to use."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

import clfeval
from clfeval.errors import UsageError
from clfeval.measures.catalog import CATALOG, find_measure, suggest_name
from clfeval.measures.other_names import MISSING, OTHER_NAMES, typing_error_of
from clfeval.methods.measurement.requested_measures import OF_TWO_CLASSES
from tests.results import row_of, value_of

Y = np.array([1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1])
P = np.array([0.9, 0.2, 0.7, 0.4, 0.6, 0.1, 0.8, 0.3, 0.95, 0.45, 0.55, 0.85])
H = (P >= 0.5).astype(int)
TP, FP, FN, TN = (int(((y == Y) & (h == H)).sum()) for y, h in ((1, 1), (0, 1), (1, 0), (0, 0)))

# values by scikit-learn, or by the formula of the field that has the name
EXPECTED = {
    "roc_auc": metrics.roc_auc_score(Y, P),
    "roc_auc_ovo": metrics.roc_auc_score(Y, P),
    "average_precision": metrics.average_precision_score(Y, P),
    "balanced_accuracy": metrics.balanced_accuracy_score(Y, H),
    "recall_macro": metrics.recall_score(Y, H, average="macro"),
    "f1_micro": metrics.f1_score(Y, H, average="micro"),
    "recall_weighted": metrics.recall_score(Y, H, average="weighted"),
    "matthews_corrcoef": metrics.matthews_corrcoef(Y, H),
    "d2_log_loss_score": metrics.d2_log_loss_score(Y, np.column_stack([1 - P, P])),
    "positive_likelihood_ratio": metrics.class_likelihood_ratios(Y, H)[0],
    "hamming_loss": metrics.hamming_loss(Y, H),
    "MatthewsCorrCoef": metrics.matthews_corrcoef(Y, H),
    "BinaryF1Score": metrics.f1_score(Y, H),
    "BinaryAUROC": metrics.roc_auc_score(Y, P),
    "CohenKappa": metrics.cohen_kappa_score(Y, H),
    "bal_accuracy": metrics.balanced_accuracy_score(Y, H),
    "kap": metrics.cohen_kappa_score(Y, H),
    "mn_log_loss": metrics.log_loss(Y, P),
    "brier_class": metrics.brier_score_loss(Y, P),
    "detection_prevalence": H.mean(),
    "Gini": 2 * metrics.roc_auc_score(Y, P) - 1,
    "somers_d": 2 * metrics.roc_auc_score(Y, P) - 1,
    "POD": TP / (TP + FN),
    "POFD": FP / (FP + TN),
    "false_alarm_ratio": FP / (TP + FP),
    "success_ratio": TP / (TP + FP),
    "CSI": TP / (TP + FP + FN),
    "HSS": 2 * (TP * TN - FP * FN) / ((TP + FN) * (FN + TN) + (TP + FP) * (FP + TN)),
    "TSS": TP / (TP + FN) - FP / (FP + TN),
    "BSS": 1 - metrics.brier_score_loss(Y, P) / (Y.mean() * (1 - Y.mean())),
    "sens.": TP / (TP + FN),
    "spec. ↑": TN / (TN + FP),
    "O:E": Y.sum() / P.sum(),
    "AUC ↑": metrics.roc_auc_score(Y, P),
    "Brier ↓": metrics.brier_score_loss(Y, P),
    "PPV": TP / (TP + FP),
    "net benefit": TP / 12 - FP / 12,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_names_of_other_programs_and_headings_are_accepted(name: str) -> None:
    result = clfeval.report(Y, P, measure=name, interval="none")
    measure = find_measure(name)
    assert measure is not None
    ids = {measure.id, measure.twin}
    values = [row["value"] for row in result.tables["measures"] if row["measure"] in ids]
    assert value_of(values[0]) == pytest.approx(EXPECTED[name], abs=1e-12)
    # the same name in a gate has the same number
    value = EXPECTED[name]
    gate = {name: value + (1e-9 if measure.best == "min" else -1e-9)}
    option = "fail_over" if measure.best == "min" else "fail_under"
    if measure.best in ("min", "max"):
        assert result.check(**{option: gate})


def test_every_other_name_means_one_measure_and_hides_none() -> None:
    for name, key in OTHER_NAMES.items():
        assert find_measure(name) is CATALOG[key], name
    names = {alias for measure in CATALOG.values() for alias in (measure.id, *measure.aliases)}
    assert not names & {*OTHER_NAMES}
    assert not names & {*MISSING}
    assert not {*OTHER_NAMES} & {*MISSING}


REFUSED = {
    "neg_log_loss": "minus log_loss",
    "neg_brier_score": "minus brier_score",
    "neg_root_mean_squared_error": "clfeval evaluates classes",
    "far": "use fdr for the ratio",
    "FAR": "or fpr for the rate",
    "ETS": "jaccard",
    "HingeLoss": "log_loss",
    "BinaryCalibrationError": "ece:bins=15",
    "roc_aunp": "roc_auc_ovr",
    "f1_weighted": "lists the averages",
    "f1_macro": "with more than two classes f1 is the macro average",
    "auc_pr": "average_precision",
    "r2": "clfeval evaluates classes",
}


@pytest.mark.parametrize("name", REFUSED)
def test_names_without_a_measure_say_so_in_options_and_gates(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        clfeval.report(Y, P, measure=name)
    assert REFUSED[name] in str(caught.value)
    assert "did you mean" not in str(caught.value)
    result = clfeval.report(Y, P, interval="none")
    with pytest.raises(UsageError) as caught:
        result.check(fail_under={name: -0.5})
    assert "did you mean" not in str(caught.value)


def test_a_negated_gate_proposes_the_other_side_with_the_sign_turned() -> None:
    result = clfeval.report(Y, {"rf": P}, interval="none")
    with pytest.raises(UsageError, match=r"fail_over.*rf:log_loss.*0\.6"):
        result.check(fail_under={"rf:neg_log_loss": -0.6})


def test_macro_averages_are_those_of_more_than_two_classes() -> None:
    dice = np.random.default_rng(3)
    truth = dice.integers(0, 3, 60)
    predicted = np.where(dice.random(60) < 0.7, truth, dice.integers(0, 3, 60))
    result = clfeval.report(truth, predicted, measure=["jaccard_macro", "f1_macro"])
    expected = metrics.f1_score(truth, predicted, average="macro")
    row = row_of(result, "measures", measure="f1", estimator="macro")
    assert value_of(row["value"]) == pytest.approx(expected)
    assert result.check(fail_under={"f1_macro": expected - 1e-9})
    assert not result.check(fail_under={"f1_macro": expected + 1e-9})
    jaccard = metrics.jaccard_score(truth, predicted, average="macro")
    assert result.check(fail_under={"jaccard_macro": jaccard - 1e-9})
    assert not result.check(fail_under={"jaccard_macro": jaccard + 1e-9})


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("acuracy", "accuracy"),
        ("specifity", "specificity"),
        ("sensitivty", "sensitivity"),
        ("kapa", "kappa"),
        ("jacard", "jaccard"),
        ("precison", "precision"),
        ("brier_scor", "brier_score"),
        ("far", None),
        ("fnrr", None),
        ("spc", None),
        ("pvv", None),
        ("max_error", None),
        ("roc_aunp", None),
        ("recall_x", None),
        ("hinge_loss", None),
    ],
)
def test_only_typing_errors_are_proposed(name: str, meant: str | None) -> None:
    proposed = suggest_name(name, OF_TWO_CLASSES.names)
    assert proposed == (None if meant is None else f"did you mean '{meant}'?")


def test_names_of_measures_are_no_typing_errors_of_each_other() -> None:
    names = [measure.id for measure in CATALOG.values() if not measure.id.endswith("_u")]
    confused = {
        name: other
        for name in names
        if (other := typing_error_of(name, [one for one in names if one != name])) is not None
    }
    allowed = {"ordinal_mae", "ordinal_mse", "ordinal_rmse", "auprg"}  # known names win anyway
    assert {*confused} <= allowed


@pytest.mark.parametrize(
    ("rule", "meant"),
    [("sens.>=.9", "sensitivity>=0.9"), ("POD>=.9", "sensitivity>=0.9"), ("HSS", "kappa")],
)
def test_threshold_rules_take_the_same_names(rule: str, meant: str) -> None:
    chosen = clfeval.report(Y, P, best_threshold=rule, interval="none").tables["cutoffs"]
    assert {row["chosen_by"] for row in chosen} == {meant}


def test_the_heading_of_net_benefit_needs_its_parameter_too() -> None:
    with pytest.raises(UsageError, match="threshold probability is missing"):
        clfeval.report(Y, P, best_threshold="net benefit")
