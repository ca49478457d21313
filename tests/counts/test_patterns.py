"""Pattern counts: merging, order, digest, and the same from every format."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clfeval
from clfeval.counts.count import count_predictions
from clfeval.counts.patterns import PatternCounts
from clfeval.tables.input import InputOptions
from clfeval.tables.prediction_files import open_predictions
from tests.reference import Row
from tests.strategies import counts_of, tables
from tests.thoroughness import examples

TABLES = [
    ("breast-cancer/labels", InputOptions(positive="malignant")),
    ("breast-cancer/long", InputOptions(positive="malignant")),
    ("breast-cancer/scores", InputOptions(positive="malignant")),
    ("breast-cancer/probabilities", InputOptions(positive="malignant")),
    ("wine/labels", InputOptions(positive="class_1")),
    ("wine/probabilities", InputOptions(positive="class_1")),
    ("digits/labels", InputOptions(positive="8")),
    ("digits/probabilities", InputOptions(positive="8")),
    ("mars-paper/wide", InputOptions()),
    ("mars-paper/long", InputOptions()),
]


def as_counter(counts: PatternCounts) -> Counter[tuple[int, ...]]:
    return Counter(
        {
            (int(truth), *map(int, votes)): int(n)
            for truth, votes, n in zip(counts.truth, counts.votes, counts.n, strict=True)
        }
    )


def are_equal(a: PatternCounts, b: PatternCounts) -> bool:
    """Tell whether two are equal arrays, order included."""
    return (
        a.models == b.models
        and a.truth.tolist() == b.truth.tolist()
        and a.votes.tolist() == b.votes.tolist()
        and a.n.tolist() == b.n.tolist()
        and a.n.dtype == b.n.dtype
    )


def patterns_of(table: object, options: InputOptions) -> PatternCounts:
    with open_predictions(table, options) as predictions:
        return count_predictions(predictions).patterns


@examples(60)
@given(tables(models=(1, 9), rows=(0, 14)))
def test_equal_rows_become_one_pattern(rows: list[Row]) -> None:
    counts = counts_of(rows)
    expected: Counter[tuple[int, ...]] = Counter()
    for row in rows:
        expected[row.truth, *row.votes] += row.n
    assert as_counter(counts) == expected
    assert len(counts.n) == len(expected), "patterns are distinct"
    assert counts.rows == sum(row.n for row in rows)
    assert counts.n.dtype == np.int64


@examples(60)
@given(tables(), st.randoms(use_true_random=False))
def test_digest_knows_no_order_of_rows_or_columns(rows: list[Row], chance: random.Random) -> None:
    k = len(rows[0].votes)
    order = chance.sample(range(k), k)
    moved = [Row(row.truth, tuple(row.votes[j] for j in order), row.n) for row in rows]
    chance.shuffle(moved)
    shuffled = counts_of(moved, [f"m{j}" for j in order])
    assert shuffled.digest() == counts_of(rows).digest()


@examples(60)
@given(tables(models=(2, 3)), tables(models=(2, 3)))
def test_digest_differs_exactly_when_the_counts_do(a: list[Row], b: list[Row]) -> None:
    one, two = counts_of(a), counts_of(b)
    equal = one.models == two.models and as_counter(one) == as_counter(two)
    assert (one.digest() == two.digest()) == equal


def test_digest_depends_on_names_truth_votes_and_counts() -> None:
    base = [Row(1, (1, 0), 2), Row(0, (0, 1), 1)]
    different = [
        counts_of(base, ["a", "b"]),
        counts_of(base, ["a", "c"]),
        counts_of(base, ["b", "a"]),  # the same names, but each with the other's votes
        counts_of([Row(1, (1, 0), 3), Row(0, (0, 1), 1)], ["a", "b"]),
        counts_of([Row(0, (1, 0), 2), Row(0, (0, 1), 1)], ["a", "b"]),
        counts_of([Row(1, (1, 1), 2), Row(0, (0, 1), 1)], ["a", "b"]),
        counts_of([Row(1, (1,), 2), Row(0, (0,), 1)], ["a"]),
    ]
    assert len({counts.digest() for counts in different}) == len(different)


def test_other_models_cannot_be_added() -> None:
    with pytest.raises(ValueError, match="'a', 'b'"):
        counts_of([Row(1, (1, 0))], ["a", "b"]) + counts_of([Row(1, (1, 0))], ["b", "a"])


def test_patterns_of_no_weight_are_dropped() -> None:
    truth, votes = np.array([True, False]), np.array([[True], [True]])
    counts = PatternCounts.from_votes(["a"], truth, votes, np.array([0, 2], np.int64))
    assert as_counter(counts) == {(0, 1): 2}
    none = PatternCounts.from_votes(["a"], truth, votes, np.zeros(2, np.int64))
    assert (none.rows, none.votes.shape) == (0, (0, 1))
    assert are_equal(none + counts, counts)


def test_fractional_weights_are_whole_numbers_of_units() -> None:
    truth, votes = np.array([True, True]), np.array([[True], [True]])
    counts = PatternCounts.from_votes(["a"], truth, votes, np.array([50, 25]), 100)
    assert (counts.rows, counts.n.tolist()) == (0.75, [50 + 25])
    assert are_equal(
        counts + counts, PatternCounts.from_votes(["a"], truth, votes, np.array([100, 50]), 100)
    )
    with pytest.raises(ValueError, match=r"100\b.*\b1\b"):
        counts + PatternCounts.from_votes(["a"], truth, votes, np.array([1, 1]))


def test_sums_beyond_what_floats_hold_are_exact() -> None:
    truth, votes = np.array([True, True]), np.array([[True], [True]])
    counts = PatternCounts.from_votes(["a"], truth, votes, np.array([2**53, 1]))
    assert counts.n.tolist() == [2**53 + 1]


def test_targets_exchange_everything() -> None:
    rows = [Row(1, (1, 0), 2), Row(0, (0, 1), 3), Row(0, (1, 1), 1)]
    negative = counts_of(rows).targets("negative")
    # the found rows of class 0: the first model finds the three it calls 0, nobody the last
    found = dict(zip(map(tuple, negative.hits.tolist()), negative.hit_n.tolist(), strict=True))
    assert found == {(True, False): 3, (False, False): 1}
    assert (negative.alarms.tolist(), negative.alarm_n.tolist()) == ([[False, True]], [2])


@pytest.mark.parametrize(("stem", "said"), TABLES, ids=[stem for stem, _ in TABLES])
def test_csv_parquet_and_frame_give_one_digest_whatever_the_row_order(
    stem: str, said: InputOptions, fixtures: Path, tmp_path: Path
) -> None:
    folder, name = stem.split("/")
    paths = [fixtures / folder / f"{name}.{suffix}" for suffix in ("csv", "parquet")]
    frame = pl.read_parquet(paths[1])
    upside_down = tmp_path / "reversed.csv"
    # the order of class probabilities decides ties for the largest, so it stays
    columns = frame.columns if name == "probabilities" else frame.columns[::-1]
    frame.reverse().select(columns).write_csv(upside_down)
    found = [patterns_of([path], said).digest() for path in (*paths, upside_down)]
    found.append(patterns_of(frame.sample(fraction=1.0, shuffle=True, seed=5), said).digest())
    assert len(set(found)) == 1


def test_wide_long_and_weighted_forms_of_the_example_give_one_digest(paper: Path) -> None:
    files = ["wide.csv", "long.csv", "long-readme.csv", "scores.csv", "long.parquet"]
    digests = {patterns_of([paper / name], InputOptions()).digest() for name in files}
    digests.add(patterns_of([paper / "weighted.csv"], InputOptions(weight="n")).digest())
    assert len(digests) == 1


def test_the_signature_names_the_counts_not_the_bytes(paper: Path, tmp_path: Path) -> None:
    def parts(path: Path) -> dict[str, str]:
        signature = clfeval.mars(path).signature
        return {key: text for key, _, text in (p.partition(":") for p in signature.split("|"))}

    moved = tmp_path / "moved.csv"
    pl.read_csv(paper / "wide.csv").reverse().write_csv(moved)
    one, two = parts(paper / "wide.csv"), parts(moved)
    assert one["data"] != two["data"]
    assert {**one, "data": ""} == {**two, "data": ""}
