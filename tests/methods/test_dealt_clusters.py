"""Folds of whole clusters: what is chosen on some patients is judged on others, row by row."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

from clfeval.api.commands import mars, tune_jpt
from clfeval.api.result import Result
from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.document import Estimate, whole_table_rows

Deals = list[dict[str, int]]
MODELS = ("a", "b", "c")


def patients(n: int, rows: int, seed: int, *, noise: float = 0.7) -> pl.DataFrame:
    """Rows of a patient share the error of their scores; every fourth patient is all negative."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((n, rows)) < 0.5) & (np.arange(n) % 4 != 0)[:, None]
    error = rng.random((n, 1, 3)).repeat(rows, axis=1)
    scores = ((1 - noise) * truth[..., None] + noise * error).round(2)
    names = [f"p{i:03}" for i in range(n) for _ in range(rows)]
    columns: dict[str, Any] = {"patient": names, "truth": truth.ravel().astype(int)}
    return pl.DataFrame(columns | {name: scores[..., j].ravel() for j, name in enumerate(MODELS)})


@pytest.fixture
def deals(monkeypatch: pytest.MonkeyPatch) -> Deals:
    """The fold of each patient, deal by deal."""
    kept: Deals = []
    original = ClusterCounts.fold_of

    def recorded(self: ClusterCounts, folds: int, which: Any, rng: np.random.Generator) -> Any:
        found = original(self, folds, which, rng)
        kept.append(dict(zip(self.names, found.tolist(), strict=True)))
        return found

    monkeypatch.setattr(ClusterCounts, "fold_of", recorded)
    return kept


Said = list[tuple[str, int, list[bool]]]


def tally(members: tuple[int, ...], rows: Said) -> tuple[int, int]:
    """Return the positives that the models find, and the rows they call."""
    called = [truth for _, truth, votes in rows if any(votes[j] for j in members)]
    return sum(called), len(called)


def chosen(rows: Said, sizes: list[int], effort: float) -> tuple[int, ...]:
    """Most covered, least effort, fewest models, the first."""
    best = []
    for members in (one for size in sizes for one in combinations(range(3), size)):
        covered, called = tally(members, rows)
        if called <= effort:
            best.append((-covered, called, len(members), members))
    return min(best)[-1] if best else ()


def test_each_class_is_dealt_evenly() -> None:
    """Of 12 patients 5 have positives: 5 folds get one each, and two or three patients."""
    names = [f"p{i}" for i in range(12)] + ["p0", "p1"]
    place = np.array([0] * 5 + [1] * 7 + [1, 1])
    clusters = ClusterCounts.from_entries(names, place, np.ones(14, np.int64))
    which = np.array([True, False])
    assert (clusters.having(which), clusters.having(~which)) == (5, 9)
    for seed in range(20):
        dealt = clusters.fold_counts(5, which, np.random.default_rng(seed))
        assert dealt[:, 0].tolist() == [1] * 5
        assert dealt.sum(axis=0).tolist() == [5, 9]
        fold = clusters.fold_of(5, which, np.random.default_rng(seed))
        assert sorted(np.bincount(fold, minlength=5).tolist()) == [2, 2, 2, 3, 3]


def honest_of(result: Result, table: str) -> list[Estimate]:
    return [row["corrected"] for row in whole_table_rows(result.tables[table])]  # type: ignore[misc]


def test_a_class_of_one_patient_has_no_honest_value() -> None:
    frame = pl.DataFrame(
        {
            "patient": ["x", "x", "x", "y", "y", "z"],
            "truth": [1, 1, 1, 0, 0, 0],
            "a": [0.9, 0.8, 0.2, 0.1, 0.6, 0.3],
            "b": [0.7, 0.1, 0.6, 0.3, 0.2, 0.9],
        }
    )
    found = honest_of(mars(frame, cluster="patient", best=2), "best")
    assert found == [Estimate(None, reason="too_few_clusters")] * 2
    found = honest_of(tune_jpt(frame, cluster="patient", measure="j_index"), "thresholds")
    assert {one.reason for one in found} == {"too_few_clusters"}
    # as rows there are enough
    assert {one.reason for one in honest_of(mars(frame.drop("patient"), best=2), "best")} == {None}
