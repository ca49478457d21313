"""Patterns counted by cluster: the same pass, whatever the order of rows, models and names."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.prediction_counts import PredictionCounts
from tests.counts.counting import count_table
from tests.engines import ENGINES


def patients_at_sites(n: int = 200, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "truth": rng.integers(0, 2, n).astype(str),
            "a": rng.integers(0, 2, n).astype(str),
            "patient": [f"p{i}" for i in rng.integers(0, 30, n)],
            "b": rng.integers(0, 2, n).astype(str),
            "site": rng.choice(["x", "y"], n),
        }
    )


def counts_by_patient(frame: object, **options: object) -> PredictionCounts:
    return count_table(frame, cluster="patient", by=("site",), **options)


def rows_by_patient(frame: pl.DataFrame, pattern: tuple[str, str, str]) -> dict[str, int]:
    """Count the rows of one pattern (truth, a, b) in each cluster, row by row."""
    counts: dict[str, int] = {}
    for row in frame.iter_rows(named=True):
        has_pattern = (row["truth"], row["a"], row["b"]) == pattern
        counts[row["patient"]] = counts.get(row["patient"], 0) + has_pattern
    return counts


def pattern_by_patient(patterns: PatternCounts, pattern: tuple[str, str, str]) -> dict[str, int]:
    assert patterns.clusters is not None
    t, *votes = (one == "1" for one in pattern)
    mine = ((patterns.truth == t) & (patterns.votes == votes).all(axis=1)).astype(float)
    totals = patterns.clusters.totals(mine[None])[0]
    return dict(zip(patterns.clusters.names, totals.astype(int).tolist(), strict=True))


@pytest.mark.parametrize("engine", ENGINES)
def test_every_pattern_in_every_cluster(engine: str) -> None:
    frame = patients_at_sites()
    found = counts_by_patient(ENGINES[engine](frame))
    assert [model.name for model in found.models] == ["a", "b"]
    for pattern in (("1", "1", "0"), ("0", "0", "0"), ("1", "0", "0")):
        assert pattern_by_patient(found.patterns, pattern) == rows_by_patient(frame, pattern)
        part = frame.filter(pl.col("site") == "x")
        assert pattern_by_patient(found.slices["site=x"], pattern) == rows_by_patient(part, pattern)


def test_the_patterns_are_those_without_clusters() -> None:
    frame = patients_at_sites()
    plain = count_table(frame.drop("patient", "site")).patterns
    mine = counts_by_patient(frame).patterns
    assert (mine.n == plain.n).all()
    assert (mine.votes == plain.votes).all()
    assert plain.clusters is None
    assert mine.digest() != plain.digest()


def test_the_digest_knows_no_order_and_no_names() -> None:
    frame = patients_at_sites()
    names = {f"p{i}": f"q{i * 7 % 30}" for i in range(30)}
    renamed = frame.with_columns(pl.col("patient").replace_strict(names))
    others = frame.with_columns(pl.col("patient").shift(1).fill_null("p0"))
    digest = counts_by_patient(frame).patterns.digest()
    assert (
        counts_by_patient(frame.sample(fraction=1, shuffle=True, seed=2)).patterns.digest()
        == digest
    )
    assert (
        counts_by_patient(frame.select("b", "patient", "a", "truth", "site")).patterns.digest()
        == digest
    )
    assert counts_by_patient(renamed).patterns.digest() == digest
    assert counts_by_patient(others).patterns.digest() != digest


def test_a_weight_counts_as_so_many_rows() -> None:
    frame = patients_at_sites().with_columns(w=pl.int_range(200) % 3 + 1)
    repeated = frame.select(pl.exclude("w").repeat_by("w").explode())
    assert (
        counts_by_patient(frame, weight="w").patterns.digest()
        == counts_by_patient(repeated).patterns.digest()
    )


def test_tables_add_up_also_where_they_share_clusters() -> None:
    frame = patients_at_sites()
    parts = [counts_by_patient(part).patterns for part in (frame[:70], frame[70:])]
    assert (parts[0] + parts[1]).digest() == counts_by_patient(frame).patterns.digest()
    plain = count_table(frame.drop("patient", "site")).patterns
    with pytest.raises(ValueError, match=r"\w"):
        plain + parts[0]


def test_equal_entries_are_one() -> None:
    made = ClusterCounts.from_entries(["b", "a", "b"], np.array([1, 0, 1]), np.array([2, 5, 3]))
    assert made.names == ("a", "b")
    assert made.n.tolist() == [5, 5]
    assert made.totals(np.array([[1.0, 10.0]])).tolist() == [[5.0, 50.0]]
    assert made.renumber(np.array([1, 0])).totals(np.array([[1.0, 10.0]])).tolist() == [[50.0, 5.0]]


@pytest.mark.parametrize("seed", range(25))
def test_ranges_of_scores_are_added_up_in_every_cluster(seed: int) -> None:
    """Sums over clusters of products of TP, FP, P and N, entry by entry."""
    rng = np.random.default_rng(seed)
    m, entries, t = (int(rng.integers(1, most)) for most in (30, 200, 8))
    names = [str(one) for one in rng.integers(0, 11, entries)]
    place, n = rng.integers(0, 2 * m, entries), rng.integers(0, 4, entries)
    ends = np.sort(rng.integers(0, m + 1, (2, t)), axis=0)
    found = ClusterCounts.from_entries(names, place, n).ranges(m, *ends)
    for i, (first, last) in enumerate(ends.T.tolist()):
        rows: dict[str, list[int]] = {name: [0, 0, 0, 0] for name in names}
        for name, at, many in zip(names, place.tolist(), n.tolist(), strict=True):
            side = int(at >= m)
            rows[name][2 + side] += many
            rows[name][side] += many * (first <= at - side * m < last)
        for j in range(4):
            for k in range(4):
                assert found[i, j, k] == sum(one[j] * one[k] for one in rows.values())
