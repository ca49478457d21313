"""Names of columns: which measure is meant, which way is better, what says the same."""

from __future__ import annotations

import pytest

from clfeval.measures.catalog import (
    CATALOG,
    SAME,
    folded,
    measure_of,
    negated,
    same_thing,
    sounds_like_less,
)
from tests.texts import check_text


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("accuracy", "accuracy"), ("Accuracy", "accuracy"), (" ACC ", "accuracy"),
        ("ROC AUC", "roc_auc"), ("roc-auc", "roc_auc"), ("AUC", "roc_auc"),
        ("F1-score", "f1"), ("f1_macro", "f1"), ("F1 weighted", "f1"), ("test_f1", "f1"),
        ("mean_test_f1", "f1"), ("matthews_corrcoef", "mcc"), ("brier_score", "brier"),
        ("brier_score_loss", "brier"), ("balanced_accuracy", "balanced_accuracy"),
        ("roc_auc_ovr_weighted", "roc_auc_ovr"), ("roc_auc_ovo", "roc_auc"),
        ("d2_log_loss_score", "log_loss_skill"), ("Cohen Kappa", "kappa"), ("FPR", "fpr"),
    ],
)  # fmt: skip
def test_a_column_finds_its_measure(name: str, measure: str) -> None:
    assert measure_of(name) is CATALOG[measure]


@pytest.mark.parametrize(
    "name", ["my_metric", "score", "predictors", "test", "macro", "", "f", "_"]
)
def test_other_columns_find_none(name: str) -> None:
    assert measure_of(name) is None


@pytest.mark.parametrize(
    "name", ["val_loss", "Test Error", "rmse", "fit_time", "hinge loss", "neg_log_loss", "latency"]
)
def test_names_that_speak_of_less(name: str) -> None:
    assert sounds_like_less(name)


@pytest.mark.parametrize("name", ["glossary", "timeliness", "score", "erring", "lossless"])
def test_words_within_words_say_nothing(name: str) -> None:
    assert not sounds_like_less(name)


def test_scikit_learns_losses_turned_round() -> None:
    assert negated("neg_log_loss")
    assert negated("mean_test_neg_brier_score")
    assert not negated("negative_share")


def test_folding() -> None:
    assert folded("  Average   Precision/ap ") == "average_precision_ap"


@pytest.mark.parametrize(
    ("first", "second"),
    [("Recall", "tpr"), ("gain_capture", "roc_auc"), ("f1", "jaccard"),
     ("recall_weighted", "accuracy"), ("youden", "balanced_accuracy")],
)  # fmt: skip
def test_one_thing_in_two_forms(first: str, second: str) -> None:
    check_text(str(same_thing(first, second)))
    assert same_thing(first, second) is not None
    assert same_thing(second, first) is not None


@pytest.mark.parametrize(
    ("first", "second"),
    [("recall", "precision"), ("recall_macro", "recall_weighted"), ("f1", "f1_macro"), ("x", "x1")],
)
def test_two_things(first: str, second: str) -> None:
    assert same_thing(first, second) is None


def test_every_name_of_a_line_is_known_or_an_average() -> None:
    names = [name for line in SAME for name in line]
    assert len(names) == len(set(names))
    averages = {name for name in names if name not in CATALOG}
    assert averages == {
        "recall_weighted", "recall_micro", "precision_micro", "f1_micro", "recall_macro",
    }  # fmt: skip
