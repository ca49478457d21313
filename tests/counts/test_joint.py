"""Joint counts of truth, votes and scores: against a plain count of rows, in every layout."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given

from clfeval.counts import evaluated_rows as kept
from clfeval.counts.evaluated_rows import JointCounts
from clfeval.counts.patterns import PatternCounts
from tests.counts.counting import open_counts
from tests.engines import ENGINES
from tests.reference import ScoredRow
from tests.strategies import frame_of, scored_tables
from tests.thoroughness import examples

FIXTURES = Path(__file__).parents[2] / "fixtures"
CANCER = FIXTURES / "breast-cancer"


def joint_and_patterns(table: Any, **options: Any) -> tuple[JointCounts, PatternCounts]:
    with open_counts(table, **options) as predictions:
        return predictions.joint(scores=True), predictions.patterns


def joint_rows(counts: JointCounts) -> dict[tuple[Any, ...], float]:
    """Return (truth, votes, scores) -> n; a dictionary, so that two equal rows would be missed."""
    scores = counts.scores if counts.scores is not None else np.zeros((len(counts.n), 0))
    rows = [
        (bool(t), tuple(v), tuple(s))
        for t, v, s in zip(counts.truth, counts.votes.tolist(), scores.tolist(), strict=True)
    ]
    assert len(set(rows)) == len(rows)
    return dict(zip(rows, counts.n.tolist(), strict=True))


def assert_votes_are(counts: JointCounts, patterns: PatternCounts) -> None:
    """Merged over scores, joint counts are the pattern counts."""
    merged = PatternCounts.from_votes(counts.models, counts.truth, counts.votes, counts.n)
    assert merged.models == patterns.models
    np.testing.assert_array_equal(merged.truth, patterns.truth)
    np.testing.assert_array_equal(merged.votes, patterns.votes)
    np.testing.assert_array_equal(merged.n, patterns.n)
    assert merged.n.dtype == patterns.n.dtype


def assert_same(found: JointCounts, other: JointCounts) -> None:
    assert found.models == other.models
    for name in ("truth", "votes", "scores", "n"):
        np.testing.assert_array_equal(getattr(found, name), getattr(other, name))
    assert found.digest() == other.digest()


@examples(40)
@given(scored_tables(models=(1, 3), rows=(1, 14)))
def test_a_plain_count_of_rows(rows: list[ScoredRow]) -> None:
    found, patterns = joint_and_patterns(frame_of(rows), weight="n", kind="score")
    expected = Counter[tuple[Any, ...]]()
    for row in rows:
        votes = tuple(score >= 0.5 for score in row.scores)
        expected[row.truth == 1, votes, row.scores] += row.n
    assert joint_rows(found) == expected
    assert list(joint_rows(found)) == sorted(expected)  # truth, votes, scores: m0, m1, m2
    assert_votes_are(found, patterns)


def test_labels_alone_take_no_second_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept.EvaluatedRows, "frames", None)
    found, patterns = joint_and_patterns([CANCER / "labels.csv"], positive="malignant")
    assert found.scores is None
    assert_votes_are(found, patterns)


def test_the_layouts_of_one_table() -> None:
    """Wide, Parquet, two class columns per model: 285 rows, and the scores are the file's."""
    wide, patterns = joint_and_patterns([CANCER / "scores.csv"], positive="malignant")
    assert_votes_are(wide, patterns)
    frame = pl.read_csv(CANCER / "scores.csv")
    rows = Counter(
        (r[1] == "malignant", tuple(s >= 0.5 for s in r[2:]), r[2:]) for r in frame.rows()
    )
    assert joint_rows(wide) == rows
    for name in ("scores.parquet", "probabilities.csv", "probabilities.parquet"):
        other, patterns = joint_and_patterns([CANCER / name], positive="malignant")
        assert_same(other, wide)
        assert_votes_are(other, patterns)
    names = frame.columns[2:]
    long = frame.unpivot(on=names, index=["id", "truth"], variable_name="model", value_name="score")
    other, patterns = joint_and_patterns(long, positive="malignant", model=tuple(names))
    assert_same(other, wide)
    assert_votes_are(other, patterns)


@pytest.mark.parametrize("threshold", [None, 0.25, 0.5])
@pytest.mark.parametrize(
    ("table", "positive", "columns"),
    [("digits", "8", ["logreg:8", "knn:8", "forest:8"]), ("wine", "class_1", [".pred_class_1"])],
)
def test_more_than_two_classes(
    table: str, positive: str, columns: list[str], threshold: float | None
) -> None:
    """The largest probability votes unless there is a threshold; the score is the positive's."""
    path = FIXTURES / table / "probabilities.csv"
    thresholds = {} if threshold is None else {None: threshold}
    found, patterns = joint_and_patterns([path], positive=positive, threshold=thresholds)
    assert_votes_are(found, patterns)
    assert found.scores is not None
    frame = pl.read_csv(path, infer_schema_length=None)
    for name, column in zip(columns, found.scores.T, strict=True):
        assert np.repeat(np.sort(column), found.n[np.argsort(column)]).tolist() == sorted(
            frame[name]
        )


MIXED = pl.DataFrame(
    {
        "truth": ["y", "n", "y", "n", "y", "n", "y"],
        "b": [0.5, 0.25, 0.75, 0.5, None, 0.5, 0.5],
        "a": ["y", "n", "n", "y", "y", "y", "y"],
        "w": [1, 2, 3, 4, 5, 6, 0],
    }
)


@pytest.mark.parametrize("engine", ENGINES)
def test_scores_beside_labels_on_every_engine(engine: str) -> None:
    table = ENGINES[engine](MIXED)
    found, patterns = joint_and_patterns(table, positive="y", weight="w", missing="drop")
    assert_votes_are(found, patterns)
    assert found.scores is not None
    assert np.isnan(found.scores[:, 1]).all()
    # of the models by name: a's vote, b's vote, b's score; the row of weight 0 is none
    rows = zip(
        found.truth.tolist(),
        found.votes[:, 1].tolist(),
        found.scores[:, 0].tolist(),
        found.n.tolist(),
        strict=True,
    )
    assert list(rows) == [
        (False, False, 0.25, 2),
        (False, True, 0.5, 4 + 6),
        (True, False, 0.75, 3),
        (True, True, 0.5, 1),
    ]


def scored(m: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    columns = {name: rng.integers(0, 4, m) / 4 for name in ("c", "a", "b")}
    return pl.DataFrame({"truth": rng.integers(0, 2, m), **columns})


def test_the_order_of_rows_files_and_repetition_change_nothing(tmp_path: Path) -> None:
    frame = scored()
    found, _ = joint_and_patterns(frame, kind="score")
    assert len(found.n) < len(frame)
    assert_same(
        joint_and_patterns(frame.sample(fraction=1, shuffle=True, seed=1), kind="score")[0], found
    )
    weighted = frame.group_by(frame.columns).agg(n=pl.len())
    assert_same(joint_and_patterns(weighted, kind="score", weight="n")[0], found)
    frame.write_csv(tmp_path / "whole.csv")
    frame.write_parquet(tmp_path / "whole.parquet")
    frame[40:].write_csv(tmp_path / "0.csv")
    frame[:40].write_csv(tmp_path / "1.csv")
    for names in (["whole.csv"], ["whole.parquet"], ["0.csv", "1.csv"]):
        assert_same(joint_and_patterns([tmp_path / name for name in names], kind="score")[0], found)


def test_whatever_is_counted_is_in_the_digest() -> None:
    frame = scored().with_columns(n=1)
    variants = [
        frame,
        frame.rename({"a": "d"}),
        frame.with_columns(a=pl.col("a") / 2),
        frame.with_columns(truth=1 - pl.col("truth")),
        frame.with_columns(n=2),
        frame.with_columns(n=0.5),
    ]
    digests = [joint_and_patterns(f, kind="score", weight="n")[0].digest() for f in variants]
    digests.append(
        joint_and_patterns(frame, kind="score", weight="n", threshold={None: 0.6})[0].digest()
    )
    whole = joint_and_patterns(frame, kind="score", weight="n")[1]
    labels = JointCounts.from_rows(whole.models, whole.truth, whole.votes, None, whole.n)
    digests.append(labels.digest())
    assert len(set(digests)) == len(digests)


def test_zero_and_minus_zero_are_one_score() -> None:
    frame = pl.DataFrame({"truth": [1, 1, 1], "a": [0.0, -0.0, 0.5], "b": [0.75, 0.75, 0.25]})
    found, _ = joint_and_patterns(frame, kind="score")
    assert found.n.tolist() == [2, 1]
    assert found.scores is not None
    assert not np.signbit(found.scores).any()
