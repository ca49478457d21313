"""The rows of scored models: the same counts as one model at a time, and where each row stands."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.rows import read_scored_rows
from tests.counts.counting import count_table


def labels_and_scores(rows: int = 300, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    truth = (rng.random(rows) < 0.4).astype(int)
    return pl.DataFrame(
        {
            "truth": truth,
            "a": np.round(rng.random(rows), 2),
            "said": rng.integers(0, 2, rows),
            "b": rng.random(rows),
            "site": rng.choice(["x", "y"], rows),
            "patient": rng.integers(0, 40, rows),
            "n": rng.integers(0, 4, rows),
        }
    )


def counts_of(frame: pl.DataFrame, **roles: object) -> PredictionCounts:
    return count_table(frame, model=("a", "said", "b"), **roles)


@pytest.mark.parametrize(
    "roles",
    [
        {},
        {"by": ("site",)},
        {"cluster": "patient"},
        {"weight": "n"},
        {"by": ("site",), "cluster": "patient", "weight": "n"},
    ],
)
def test_counts_are_those_of_one_model_at_a_time(roles: dict[str, object]) -> None:
    found = counts_of(labels_and_scores(), **roles)
    every = read_scored_rows(found)
    assert every.models == (0, 2)
    for j, i in enumerate(every.models):
        alone = found.scores(i)
        whole, place = every.ranked(j)
        assert whole.digest() == alone[None].digest()
        assert whole.scores[place].tolist() == every.scores[j].tolist()
        assert set(every.slices) == set(alone) - {None}
        for label in every.slices:
            part, there = every.slice_scores(whole, place, label)
            assert part.digest() == alone[label].digest()
            assert whole.scores[there].tolist() == part.scores.tolist()


def test_rows_that_lack_a_value_are_left_out() -> None:
    frame = labels_and_scores(50).with_columns(
        b=pl.when(pl.int_range(50) < 5).then(None).otherwise("b")
    )
    found = counts_of(frame, missing="drop")
    assert len(read_scored_rows(found).truth) == 45
