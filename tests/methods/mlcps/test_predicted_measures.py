"""Measures of models from predictions: values against scikit-learn, reasons, refusals, names."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk

from clfeval.counts.count import count_predictions
from clfeval.errors import DataError, UsageError
from clfeval.measures.catalog import find_measure
from clfeval.methods.mlcps.answer import DEFAULT, MEASURED, measures_needing, parse_measure_names
from clfeval.methods.mlcps.metric_values import MetricValues, measure_models
from clfeval.tables.input import InputOptions
from clfeval.tables.prediction_files import open_predictions
from tests.results import problem_codes
from tests.texts import check_text, numbers_in

pytestmark = pytest.mark.filterwarnings("error")

CANCER = Path(__file__).parents[3] / "fixtures" / "breast-cancer"


def measures(
    table: Any, *names: str, resamples: int | None = 0, seed: int = 0, **options: Any
) -> MetricValues:
    """Return the measures of the models of a table, and their replicates."""
    scale = {"any_range": True} if options.pop("any_range", False) else {}
    with open_predictions(table, InputOptions(**options)) as predictions:
        counts = count_predictions(predictions, **scale)
        return measure_models(counts, names, resamples=resamples, seed=seed)


def weighted_scores(m: int = 90) -> pl.DataFrame:
    """Return scores of two models with ties, and weights of 1 to 4 rows."""
    rng = np.random.default_rng(11)
    truth = rng.integers(0, 2, m)
    columns = {
        n: np.round((truth + rng.random(m) * r) / (1 + r), 2) for n, r in (("a", 3), ("b", 9))
    }
    return pl.DataFrame({"truth": truth, **columns, "n": rng.integers(1, 5, m)})


def of_scikit_learn(t: Any, s: Any, w: Any) -> dict[str, float]:
    """Return what scikit-learn computes of one model, truth, scores and weights given."""
    v, options = s >= 0.5, {"sample_weight": w}
    fpr, tpr, _ = sk.roc_curve(t, s, drop_intermediate=False, **options)
    positive, negative = sk.class_likelihood_ratios(t, v, **options)
    sensitivity, specificity = (sk.recall_score(t, v, pos_label=k, **options) for k in (1, 0))
    precision, npv = (sk.precision_score(t, v, pos_label=k, **options) for k in (1, 0))
    auc = sk.roc_auc_score(t, s, **options)
    accuracy = sk.accuracy_score(t, v, **options)
    return {
        "accuracy": accuracy,
        "error_rate": sk.zero_one_loss(t, v, **options),
        "balanced_accuracy": sk.balanced_accuracy_score(t, v, **options),
        "sensitivity": sensitivity,
        "recall": sensitivity,
        "specificity": specificity,
        "precision": precision,
        "npv": npv,
        "fpr": 1 - specificity,
        "fnr": 1 - sensitivity,
        "fdr": 1 - precision,
        "for": 1 - npv,
        "f1": sk.f1_score(t, v, **options),
        "jaccard": sk.jaccard_score(t, v, **options),
        "j_index": sensitivity + specificity - 1,
        "mcc": sk.matthews_corrcoef(t, v, **options),
        "kappa": sk.cohen_kappa_score(t, v, **options),
        "g_mean": math.sqrt(sensitivity * specificity),
        "fowlkes_mallows": math.sqrt(precision * sensitivity),
        "markedness": precision + npv - 1,
        "lr_pos": positive,
        "lr_neg": negative,
        "dor": positive / negative,
        "dp": math.sqrt(3) / math.pi * math.log(positive / negative),
        "tor": accuracy / (1 - accuracy),
        "mutual_information": sk.mutual_info_score(t.repeat(w), v.repeat(w)) / math.log(2),
        "roc_auc": auc,
        "gini": 2 * auc - 1,
        "average_precision": sk.average_precision_score(t, s, **options),
        "ks": np.abs(tpr - fpr).max(),
        "brier": sk.brier_score_loss(t, s, **options),
        "log_loss": sk.log_loss(t, s, **options),
    }


def test_scikit_learn() -> None:
    frame = weighted_scores()
    truth, weight = frame["truth"].to_numpy(), frame["n"].to_numpy()
    expected = [of_scikit_learn(truth, frame[m].to_numpy(), weight) for m in ("a", "b")]
    names = tuple(expected[0])
    values = measures(frame, *names, weight="n", kind="score")
    assert (values.models, values.metrics, values.reasons) == (("a", "b"), names, {})
    assert values.replicates is None
    for row, model in zip(values.values.tolist(), expected, strict=True):
        assert dict(zip(names, row, strict=True)) == pytest.approx(model, abs=1e-12)
    whole = measures_needing(names, "confusion")
    labels = frame.with_columns((pl.col("a", "b") >= 0.5).cast(pl.Int64))
    of_labels = measures(labels, *whole, weight="n")
    places = [of_labels.metrics.index(name) for name in names if name in whole]
    np.testing.assert_array_equal(
        of_labels.values[:, places], values.values[:, [names.index(n) for n in names if n in whole]]
    )


def test_every_measure_has_a_value_inside_its_range() -> None:
    values = measures([CANCER / "scores.csv"], *MEASURED, positive="malignant", resamples=100)
    assert values.metrics == MEASURED
    assert values.replicates is not None
    assert values.replicates.shape == (100, 6, len(MEASURED))
    for j, name in enumerate(MEASURED):
        measure = find_measure(name)
        assert measure is not None, name
        for numbers in (values.values[:, j], values.replicates[:, :, j]):
            assert (numbers >= measure.low).all(), name
            assert (numbers <= measure.high).all(), name


def test_without_names_there_are_four() -> None:
    frame = pl.DataFrame({"truth": [1, 1, 1, 0, 0, 0, 0], "a": [1, 1, 0, 1, 0, 0, 0]})
    values = measures(frame)
    assert values.metrics == DEFAULT
    # TP 2, FN 1, FP 1, TN 3
    assert values.values.tolist() == [[2 / 3, 3 / 4, 2 / 3, 3 / 4]]


def test_class_probabilities_are_measured_as_the_positives_scores() -> None:
    names = ("f1", "roc_auc", "brier")
    wide = measures([CANCER / "scores.csv"], *names, positive="malignant", resamples=20)
    classes = measures([CANCER / "probabilities.csv"], *names, positive="malignant", resamples=20)
    np.testing.assert_array_equal(classes.values, wide.values)
    np.testing.assert_array_equal(classes.replicates, wide.replicates)
    assert classes.statistics == wide.statistics


UNDEFINED = {  # TP, FP, FN, TN and the reason why measures are undefined
    (0, 0, 2, 3): {
        "precision": "no_positive_prediction",
        "npv": None,
        "mcc": "zero_margin",
        "f1": None,
        "lr_pos": "no_positive_prediction",
        "kappa": None,
        "markedness": "no_positive_prediction",
        "fdr": "no_positive_prediction",
        "fowlkes_mallows": "no_positive_prediction",
        "dor": "zero_margin",
    },
    (2, 3, 0, 0): {
        "npv": "no_negative_prediction",
        "for": "no_negative_prediction",
        "lr_neg": "no_negative_prediction",
        "precision": None,
    },
    (0, 0, 0, 5): {
        "sensitivity": "no_positive_truth",
        "recall": "no_positive_truth",
        "fnr": "no_positive_truth",
        "f1": "nothing_positive",
        "jaccard": "nothing_positive",
        "kappa": "expected_agreement_one",
        "j_index": "no_positive_truth",
        "balanced_accuracy": "no_positive_truth",
        "g_mean": "no_positive_truth",
        "accuracy": None,
        "specificity": None,
        "mutual_information": "single_class",
    },
    (5, 0, 0, 0): {
        "specificity": "no_negative_truth",
        "fpr": "no_negative_truth",
        "kappa": "expected_agreement_one",
        "ic": "no_negative_truth",
    },
    (2, 0, 1, 3): {"lr_pos": "infinite", "dor": "infinite", "ppv_odds": "infinite", "lr_neg": None},
    (0, 2, 1, 3): {"dp": "minus_infinite", "dor": None},
}


@pytest.mark.parametrize("cells", UNDEFINED)
def test_what_is_undefined_says_why(cells: tuple[int, int, int, int]) -> None:
    expected = UNDEFINED[cells]
    pairs = [(1, 1), (0, 1), (1, 0), (0, 0)]
    rows = [pair for pair, count in zip(pairs, cells, strict=True) for _ in range(count)]
    frame = pl.DataFrame(rows, schema=["truth", "a"], orient="row")
    values = measures(frame, *expected, positive="1", classes=("0", "1"))
    reasons = {name: values.reasons.get((0, j)) for j, name in enumerate(values.metrics)}
    assert reasons == expected
    for j, reason in enumerate(expected.values()):
        value = values.values[0, j]
        assert math.isnan(value) == (reason is not None and "infinite" not in reason)
        assert math.isinf(value) == (reason is not None and "infinite" in reason)


def test_one_class_has_no_ranking() -> None:
    frame = pl.DataFrame({"truth": [0, 0, 0], "a": [0.1, 0.2, 0.75]})
    names = ("roc_auc", "gini", "ks", "average_precision", "brier")
    values = measures(frame, *names, positive="1", classes=("0", "1"))
    single = dict.fromkeys([(0, 0), (0, 1), (0, 2)], "single_class")
    assert values.reasons == {**single, (0, 3): "no_positive_truth"}
    assert values.values[0, 4] == pytest.approx((0.1**2 + 0.2**2 + 0.75**2) / 3)


def test_clipped_probabilities_are_counted() -> None:
    frame = pl.DataFrame(
        {"truth": [1, 1, 0], "a": [0.0, 0.5, 1.0], "b": [0.5, 0.6, 0.0], "n": [1, 4, 2]}
    )
    values = measures(frame, "log_loss", weight="n", kind="score")
    (note,) = (note.message for note in values.notes if note.code == "clipped")
    assert numbers_in(note)[0] == 1 + 2
    check_text(note)
    assert values.values[0, 0] == pytest.approx((3 * 52 + 4) * math.log(2) / 7)
    notes = measures(frame, "brier", weight="n", kind="score").notes
    assert "clipped" not in [note.code for note in notes]


@pytest.mark.parametrize("name", ["roc_auc", "brier"])
def test_labels_have_no_scores(name: str) -> None:
    frame = weighted_scores().drop("n").with_columns(c=pl.col("truth"))
    with pytest.raises(UsageError) as caught:
        measures(frame, "f1", name, model=("a", "c"))
    assert caught.value.problems[0].code == "needs-scores"
    check_text(str(caught.value))


def test_scores_that_are_no_probabilities() -> None:
    frame = weighted_scores().with_columns(c=pl.col("a") * 3, d=pl.col("a") - 1)
    options: dict[str, Any] = {"any_range": True, "model": ("a", "c", "d")}
    with pytest.raises(DataError) as caught:
        measures(frame, "brier", "roc_auc", "log_loss", **options)
    assert [(p.code, p.column) for p in caught.value.problems] == [
        ("bad-probability", "c"),
        ("bad-probability", "d"),
    ]
    values = measures(frame, "roc_auc", **options)
    assert values.values[1:] == pytest.approx(values.values[0, 0])


def test_names() -> None:
    assert parse_measure_names(
        ["recall", "Sensitivity", "youden", "ROC AUC", "auc", "bal_accuracy"]
    ) == ("recall", "sensitivity", "j_index", "roc_auc", "balanced_accuracy")
    assert parse_measure_names(["ppv", "acc", "delta", "gain_capture", "mcc_normalised", "ap"]) == (
        "ppv",
        "accuracy",
        "delta",
        "gini",
        "mcc_u",
        "average_precision",
    )
    assert parse_measure_names(MEASURED) == MEASURED
    assert parse_measure_names([]) == ()


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("sensitivty", "'sensitivity'"),
        ("f1,roc_auc", "--metric f1 --metric roc_auc"),
        ("occlusion", ""),
        ("xyzzy", "clfeval mlcps --explain measures"),
    ],
)
def test_unknown_names(name: str, offered: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_measure_names(["f1", name])
    assert offered in str(caught.value)
    assert problem_codes(caught.value) == ["unknown-measure"]
    check_text(str(caught.value))
