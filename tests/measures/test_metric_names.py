"""Names of columns: which measure is meant, which way is better, what says the same."""

from __future__ import annotations

import pytest

from clfeval.measures.catalog import (
    CATALOG,
    EQUIVALENCES,
    equivalence_formula,
    is_negated_loss,
    lower_is_better_by_name,
    measure_of_column,
    normalize_name,
)
from tests.texts import check_text


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("accuracy", "accuracy"),
        ("Accuracy", "accuracy"),
        (" ACC ", "accuracy"),
        ("ROC AUC", "roc_auc"),
        ("roc-auc", "roc_auc"),
        ("AUC", "roc_auc"),
        ("F1-score", "f1"),
        ("f1_macro", "f1"),
        ("F1 weighted", "f1"),
        ("test_f1", "f1"),
        ("mean_test_f1", "f1"),
        ("matthews_corrcoef", "mcc"),
        ("brier_score", "brier"),
        ("brier_score_loss", "brier"),
        ("balanced_accuracy", "balanced_accuracy"),
        ("roc_auc_ovr_weighted", "roc_auc_ovr"),
        ("roc_auc_ovo", "roc_auc"),
        ("d2_log_loss_score", "log_loss_skill"),
        ("Cohen Kappa", "kappa"),
        ("FPR", "fpr"),
    ],
)
def test_a_column_finds_its_measure(name: str, measure: str) -> None:
    assert measure_of_column(name) is CATALOG[measure]


@pytest.mark.parametrize(
    "name", ["my_metric", "score", "predictors", "test", "macro", "", "f", "_"]
)
def test_other_columns_find_none(name: str) -> None:
    assert measure_of_column(name) is None


@pytest.mark.parametrize(
    "name", ["val_loss", "Test Error", "rmse", "fit_time", "hinge loss", "neg_log_loss", "latency"]
)
def test_names_that_speak_of_less(name: str) -> None:
    assert lower_is_better_by_name(name)


@pytest.mark.parametrize("name", ["glossary", "timeliness", "score", "erring", "lossless"])
def test_words_within_words_say_nothing(name: str) -> None:
    assert not lower_is_better_by_name(name)


def test_scikit_learns_losses_turned_round() -> None:
    assert is_negated_loss("neg_log_loss")
    assert is_negated_loss("mean_test_neg_brier_score")
    assert not is_negated_loss("negative_share")


def test_folding() -> None:
    assert normalize_name("  Average   Precision/ap ") == "average_precision_ap"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Recall", "tpr"),
        ("gain_capture", "roc_auc"),
        ("f1", "jaccard"),
        ("recall_weighted", "accuracy"),
        ("youden", "balanced_accuracy"),
    ],
)
def test_one_thing_in_two_forms(first: str, second: str) -> None:
    check_text(str(equivalence_formula(first, second)))
    assert equivalence_formula(first, second) is not None
    assert equivalence_formula(second, first) is not None


@pytest.mark.parametrize(
    ("first", "second"),
    [("recall", "precision"), ("recall_macro", "recall_weighted"), ("f1", "f1_macro"), ("x", "x1")],
)
def test_two_things(first: str, second: str) -> None:
    assert equivalence_formula(first, second) is None


def test_every_name_of_a_line_is_known_or_an_average() -> None:
    names = [name for line in EQUIVALENCES for name in line]
    assert len(names) == len(set(names))
    averages = {name for name in names if name not in CATALOG}
    assert averages == {
        "recall_weighted",
        "recall_micro",
        "precision_micro",
        "f1_micro",
        "recall_macro",
    }
