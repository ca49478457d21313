"""Score counts: positives and negatives at each distinct score, against a plain count of rows."""

from __future__ import annotations

import struct
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given

from clfeval.counts import scores as score_counts
from clfeval.counts.scores import ScoreCounts, read_scores
from tests.counts.counting import open_counts
from tests.engines import ENGINES
from tests.reference import ScoredRow
from tests.strategies import frame_of, scored_tables
from tests.thoroughness import examples

Table = list[tuple[float, float, float]]  # score, positives, negatives


def scores_by_slice(table: Any, **options: Any) -> dict[str | None, dict[str, Table]]:
    """Return the counts of each score, by slice and model."""
    tables: dict[str | None, dict[str, Table]] = {None: {}}
    with open_counts(table, **options) as predictions:
        for i, model in enumerate(predictions.models):
            if model.kind != "label":
                for label, counts in predictions.scores(i).items():
                    tables.setdefault(label, {})[model.name] = score_rows(counts)
    return tables


def score_rows(counts: ScoreCounts) -> Table:
    columns = (counts.scores, counts.positives, counts.negatives)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def by_hand(rows: list[ScoredRow], model: int) -> Table:
    hits, misses = Counter[float](), Counter[float]()
    for row in rows:
        (hits if row.truth else misses)[row.scores[model]] += row.n
    return [(score, hits[score], misses[score]) for score in sorted({*hits, *misses})]


@examples(40)
@given(scored_tables(models=(1, 3), rows=(1, 14)))
def test_a_plain_count_of_rows(rows: list[ScoredRow]) -> None:
    found = scores_by_slice(frame_of(rows), weight="n")
    expected = {f"m{j}": by_hand(rows, j) for j in range(len(rows[0].scores))}
    # a column of nothing but 0 and 1 holds labels as far as one can see
    assert found[None] == {name: expected[name] for name in found[None]}
    for name in set(expected) - set(found[None]):
        assert {score for score, _, _ in expected[name]} <= {0.0, 1.0}


FRAME = pl.DataFrame(
    {
        "truth": ["y", "n", "y", "n", "y", "n"],
        "a": [0.1, 0.1, 0.7, 0.7, 0.7, 0.2],
        "b": [0.25, 0.5, 0.5, 0.25, 0.75, 0.125],
        "site": ["A", "A", "B", "B", "A", "B"],
    }
)
WHOLE = {
    "a": [(0.1, 1, 1), (0.2, 0, 1), (0.7, 2, 1)],
    "b": [(0.125, 0, 1), (0.25, 1, 1), (0.5, 1, 1), (0.75, 1, 0)],
}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_counts_alike(engine: str) -> None:
    assert scores_by_slice(ENGINES[engine](FRAME.drop("site")), positive="y") == {None: WHOLE}


@pytest.mark.parametrize("suffix", ["csv", "parquet", "ndjson"])
def test_files_and_shards(suffix: str, tmp_path: Path) -> None:
    paths = []
    for i, part in enumerate((FRAME[:2], FRAME[2:])):
        paths.append(str(tmp_path / f"{i}.{suffix}"))
        getattr(part, f"write_{suffix}")(paths[-1])
    found = scores_by_slice(paths, positive="y", by=("site",))
    assert found[None] == WHOLE
    assert list(found) == [None, "site=A", "site=B"]
    assert found["site=A"]["a"] == [(0.1, 1, 1), (0.7, 1, 0)]
    assert found["site=B"]["b"] == [(0.125, 0, 1), (0.25, 0, 1), (0.5, 1, 0)]


def test_long_tables_and_class_probabilities() -> None:
    wide = FRAME.drop("site").with_row_index("id")
    long = wide.unpivot(index=["id", "truth"], variable_name="model", value_name="score")
    assert scores_by_slice(long, positive="y") == {None: WHOLE}
    columns = {f"{m}:y": m for m in "ab"} | {f"{m}:n": 1 - pl.col(m) for m in "ab"}
    probabilities = wide.select("truth", **columns)
    assert scores_by_slice(probabilities, positive="y") == {None: WHOLE}


def test_rows_without_a_value_and_of_no_weight_are_out() -> None:
    frame = FRAME.drop("site").with_columns(
        b=pl.Series([0.25, None, 0.5, float("nan"), 0.75, 0.125]), n=pl.Series([1, 1, 1, 1, 0, 2])
    )
    found = scores_by_slice(frame, positive="y", missing="drop", weight="n")
    # left: rows 1, 3 and 6, the last twice; row 5 counts nothing
    assert found[None]["a"] == [(0.1, 1, 0), (0.2, 0, 2), (0.7, 1, 0)]
    assert found[None]["b"] == [(0.125, 0, 2), (0.25, 1, 0), (0.5, 1, 0)]


def test_zero_and_minus_zero_are_one_score() -> None:
    frame = pl.DataFrame({"truth": [1, 0, 1], "a": [0.0, -0.0, 0.5]})
    assert scores_by_slice(frame)[None]["a"] == [(0.0, 1, 1), (0.5, 1, 0)]


def test_a_slice_that_is_no_number_is_missing() -> None:
    nan = float("nan")
    frame = pl.DataFrame({"truth": [1, 0, 1], "a": [0.25, 0.5, 0.75], "site": [nan, nan, 2.0]})
    found = scores_by_slice(frame, by=("site",))
    assert found["site=(missing)"]["a"] == [(0.25, 1, 0), (0.5, 0, 1)]
    with open_counts(frame, by=("site",)) as predictions:
        table, masks = read_scores(predictions.evaluated, "all")
    assert table.scores[0][masks["site=(missing)"]].tolist() == [0.25, 0.5]


@pytest.mark.parametrize("kept", [1.0, 0.3])
def test_tables_without_and_with_many_ties(kept: float) -> None:
    n = 6000
    score = [(i * 7919 % n) % (kept * n) / n for i in range(n)]
    truth = [int(i % 3 == 0) for i in range(n)]
    found = scores_by_slice(pl.DataFrame({"truth": truth, "a": score}))[None]["a"]
    rows = [ScoredRow(t, (s,), 1) for t, s in zip(truth, score, strict=True)]
    assert found == by_hand(rows, 0)


def test_the_digest_is_of_the_columns_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = ScoreCounts(np.array([0.25, 0.5]), np.array([1, 0]), np.array([2, 3]))
    plain = sha256(struct.pack("<6d", 0.25, 0.5, 1, 0, 2, 3)).hexdigest()
    assert counts.digest() == plain
    monkeypatch.setattr(score_counts, "_PIECE", 1)
    assert counts.digest() == plain


def test_merging_keeps_whole_numbers_whole() -> None:
    counts = ScoreCounts.from_scores(
        np.array([0.5, 0.1, 0.5]), np.array([1, 2, 3]), np.array([4, 0, 6])
    )
    assert score_rows(counts) == [(0.1, 2, 0), (0.5, 4, 10)]
    assert counts.positives.dtype == np.int64
