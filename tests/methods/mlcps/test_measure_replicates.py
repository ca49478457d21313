"""Replicates of measures: against a bootstrap of rows, paired, and the same whatever the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from clfeval.errors import UsageError
from clfeval.inference import resampling
from clfeval.methods.mlcps import metric_values as module
from clfeval.methods.mlcps.metric_values import MetricValues
from tests.methods.mlcps.test_predicted_measures import measures, weighted_scores
from tests.texts import check_text

pytestmark = pytest.mark.filterwarnings("error")

NAMES = (
    "sensitivity",
    "precision",
    "f1",
    "mcc",
    "roc_auc",
    "average_precision",
    "ks",
    "brier",
    "log_loss",
)


def replicates(table: Any, *names: str, **options: Any) -> NDArray[np.float64]:
    values = measures(table, *(names or NAMES), **{"resamples": 40, "kind": "score", **options})
    assert values.replicates is not None
    return values.replicates


def measures_of_rows(truth: NDArray[np.bool_], scores: NDArray[np.float64]) -> list[float]:
    """Measure one model on rows, pair by pair and cut by cut, in the order of NAMES."""
    votes = scores >= 0.5
    hits = (truth & votes).sum()
    positives, negatives = scores[truth], scores[~truth]
    distances = positives[:, None] - negatives
    cuts = np.unique(scores)[::-1]
    recall, false_alarms = ((part[:, None] >= cuts).mean(axis=0) for part in (positives, negatives))
    claimed = (scores[:, None] >= cuts).sum(axis=0)
    right = np.where(truth, scores, 1 - scores)
    return [
        hits / truth.sum(),
        hits / votes.sum(),
        2 * hits / (truth.sum() + votes.sum()),
        np.corrcoef(truth, votes)[0, 1],
        (distances > 0).mean() + (distances == 0).mean() / 2,
        (np.diff(recall, prepend=0) * recall * len(positives) / claimed).sum(),
        np.abs(recall - false_alarms).max(),
        ((truth - scores) ** 2).mean(),
        -np.log(np.maximum(right, 2.0**-52)).mean(),
    ]


@pytest.mark.parametrize("repeats", [1, 9])
def test_a_plain_bootstrap_of_rows(repeats: int) -> None:
    """Means and spreads agree within the errors of both, for differences of models as well.

    Nine times the table is drawn by binomials, the table itself row by row.
    """
    frame = pl.concat([weighted_scores(90).drop("n")] * repeats)
    truth, scores = frame["truth"].to_numpy() == 1, frame.select("a", "b").to_numpy()
    rng, by_row = np.random.default_rng(1), []
    for _ in range(300):
        rows = rng.integers(0, len(frame), len(frame))
        by_row.append([measures_of_rows(truth[rows], scores[rows, i]) for i in (0, 1)])
    plain, values = np.array(by_row), replicates(frame, resamples=2000, where="copy >= 1")
    for expected, x in ((plain, values), (np.diff(plain, axis=1), np.diff(values, axis=1))):
        error = x.std(axis=0) * np.sqrt(1 / len(expected) + 1 / len(x))
        assert (np.abs(expected.mean(axis=0) - x.mean(axis=0)) < 4.5 * error).all()
        ratio = expected.std(axis=0) / x.std(axis=0)
        assert (np.abs(np.log(ratio)) < 0.25).all()


@pytest.fixture
def always_resampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw rows again, also where they cannot show an error."""
    monkeypatch.setattr(module, "sparse_data_reasons", lambda *_, **__: [])


@pytest.mark.usefixtures("always_resampled")
def test_all_models_are_measured_on_the_same_rows_in_each_replicate() -> None:
    """Accuracy is p sensitivity + (1 - p) specificity; the precision of always yes is p."""
    frame = weighted_scores(60).drop("n").with_columns(yes=pl.Series([0.8] + [0.9] * 59))
    names = ("accuracy", "sensitivity", "specificity", "precision")
    accuracy, sensitivity, specificity, precision = replicates(frame, *names).transpose(2, 0, 1)
    p = precision[:, 2:]
    np.testing.assert_allclose(accuracy, p * sensitivity + (1 - p) * specificity, atol=1e-14)
    np.testing.assert_allclose(accuracy * 60, np.round(accuracy * 60), atol=1e-10)
    assert len(np.unique(np.round(p * 60))) > 5


def assert_equal(values: MetricValues, expected: MetricValues) -> None:
    np.testing.assert_array_equal(values.values, expected.values)
    np.testing.assert_array_equal(values.replicates, expected.replicates)
    assert values.statistics == expected.statistics


@pytest.mark.parametrize("names", [NAMES, ("sensitivity", "f1")])
def test_how_the_table_is_written_changes_nothing(names: tuple[str, ...], tmp_path: Path) -> None:
    frame = weighted_scores()
    options: dict[str, Any] = {"kind": "score", "resamples": 30}
    weighted = measures(frame, *names, weight="n", **options)
    expanded = frame.select(pl.all().exclude("n").repeat_by("n")).explode("a", "b", "truth")
    assert len(expanded) == frame["n"].sum()
    assert_equal(measures(expanded, *names, **options), weighted)
    shuffled = expanded.sample(fraction=1, shuffle=True, seed=3)
    shuffled.write_csv(tmp_path / "rows.csv")
    shuffled[100:].write_parquet(tmp_path / "0.parquet")
    shuffled[:100].write_parquet(tmp_path / "1.parquet")
    for files in (["rows.csv"], ["0.parquet", "1.parquet"]):
        assert_equal(measures([tmp_path / name for name in files], *names, **options), weighted)
    turned = measures(frame.select("b", "truth", "a", "n"), *names, weight="n", **options)
    np.testing.assert_array_equal(turned.replicates, weighted.replicates[:, ::-1])  # type: ignore[index]
    assert turned.statistics == weighted.statistics


def test_seeds_chunks_and_further_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = weighted_scores().drop("n")
    expected = replicates(frame)
    np.testing.assert_array_equal(replicates(frame), expected)
    assert (replicates(frame, seed=1) != expected).any(axis=(0, 1)).all()
    np.testing.assert_array_equal(replicates(frame, resamples=15), expected[:15])
    np.testing.assert_array_equal(replicates(frame, "brier", "f1"), expected[..., [7, 2]])
    for cells in (1, 7 * len(frame)):
        monkeypatch.setattr(resampling, "CELLS", cells)
        np.testing.assert_array_equal(replicates(frame), expected)


@pytest.mark.usefixtures("always_resampled")
def test_a_replicate_without_a_class_is_undefined() -> None:
    frame = pl.DataFrame({"truth": [1, 0, 0, 0], "a": [0.9, 0.2, 0.7, 0.1]})
    names = ("sensitivity", "specificity", "roc_auc", "average_precision", "accuracy", "brier")
    undefined = np.isnan(replicates(frame, *names, resamples=2000)[:, 0])
    # all of the four draws miss the positive; all hit it
    assert undefined[:, 0].mean() == pytest.approx(0.75**4, abs=0.05)
    assert undefined[:, 1].mean() == pytest.approx(0.25**4, abs=0.01)
    np.testing.assert_array_equal(undefined[:, 2], undefined[:, 0] | undefined[:, 1])
    np.testing.assert_array_equal(undefined[:, 3], undefined[:, 0])
    assert not undefined[:, 4:].any()


@pytest.mark.parametrize(("most", "drawn"), [(90 * 250, 250), (90 * 99, 100), (10**9, 1000)])
def test_how_many_replicates_there_are_unless_asked(
    most: int, drawn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = weighted_scores().with_columns(a=pl.int_range(90) / 90).drop("n")
    monkeypatch.setattr(module, "MOST_DRAWN", most)
    assert len(replicates(frame, "roc_auc", resamples=None)) == drawn
    assert len(replicates(frame, "roc_auc", resamples=120)) == 120


def test_fractional_weights_have_values_and_no_replicates() -> None:
    frame = weighted_scores().with_columns(w=pl.col("n") / 4)
    names = ("f1", "roc_auc", "ks", "average_precision", "brier", "log_loss")
    options: dict[str, Any] = {"kind": "score", "model": ("a", "b")}
    fractional = measures(frame, *names, weight="w", **options)
    whole = measures(frame, *names, weight="n", **options)
    np.testing.assert_allclose(fractional.values, whole.values, atol=1e-13)
    unresampled = measures(frame, *names, weight="w", resamples=None, **options)
    assert (unresampled.replicates, unresampled.limits) == (None, None)
    with pytest.raises(UsageError) as caught:
        measures(frame, *names, weight="w", resamples=100, **options)
    assert caught.value.problems[0].code == "fractional-weights"
    check_text([unresampled.notes[0].message, str(caught.value)])
