"""Statistics of two halves of the rows, added, are those of the whole: files, shards, machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clfeval.counts.features.count import CountedFeatures, count_features
from clfeval.counts.patterns import ConfusionCounts
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.tables.feature import open_features
from clfeval.tables.input import InputOptions
from tests.counts.counting import open_counts
from tests.reference import ScoredRow
from tests.strategies import frame_of, scored_tables
from tests.thoroughness import examples

# of what is counted, everything that says how two of it are added
STATISTICS: dict[str, Callable[[PredictionCounts], Any]] = {
    "patterns": lambda counted: counted.patterns,
    "confusions": lambda counted: counted.confusions[None],
    "joint votes": lambda counted: counted.joint(scores=False),
    "joint scores": lambda counted: counted.joint(scores=True),
    "scores": lambda counted: counted.scores(0)[None],
}


def counts_of(frame: pl.DataFrame) -> PredictionCounts:
    """Return the counts of a table, all of whose statistics are read."""
    options = {"positive": "1", "classes": ("0",), "weight": "n", "kind": "score"}
    with open_counts(frame, **options) as counts:
        for statistic in STATISTICS.values():  # while there are rows to look at
            statistic(counts)
        return counts


def assert_equal(found: Any, expected: Any) -> None:
    """Compare all fields, arrays by value and type."""
    assert found.digest() == expected.digest()
    for name in type(expected).__dataclass_fields__:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for name in ("n", "tp", "positives"):
        if hasattr(expected, name):
            assert getattr(found, name).dtype == getattr(expected, name).dtype


@pytest.mark.parametrize("name", STATISTICS)
@examples(30)
@given(st.data(), scored_tables(models=(1, 3), rows=(2, 14)))
def test_two_halves_are_the_whole(name: str, data: st.DataObject, rows: list[ScoredRow]) -> None:
    cut = data.draw(st.integers(1, len(rows) - 1))
    statistic = STATISTICS[name]
    one, two = (statistic(counts_of(frame_of(part))) for part in (rows[:cut], rows[cut:]))
    assert_equal(one + two, statistic(counts_of(frame_of(rows))))


def test_models_that_one_half_lacks_keep_their_counts() -> None:
    one = ConfusionCounts.from_cells(["a", "b"], [(1, 2, 3, 4), (5, 6, 7, 8)])
    two = ConfusionCounts.from_cells(["c", "a"], [(1, 1, 1, 1), (10, 20, 30, 40)])
    both = one + two
    assert both.models == ("a", "b", "c")
    assert both.tp.tolist() == [1 + 10, 5, 1]
    assert both.negatives.tolist() == [2 + 20 + 4 + 40, 6 + 8, 1 + 1]


def test_what_is_not_alike_cannot_be_added() -> None:
    frame = pl.DataFrame({"truth": [1, 0], "a": [0.5, 0.25], "b": [0.5, 0.75], "n": [1, 1]})
    both, one = counts_of(frame), counts_of(frame.drop("b"))
    with pytest.raises(ValueError, match=r"\w"):
        both.joint(scores=True) + one.joint(scores=True)
    with pytest.raises(ValueError, match=r"\w"):
        both.joint(scores=True) + both.joint(scores=False)


FEATURES = pl.DataFrame(
    {
        "truth": ["y", "n", "y", "n", "y", "n"],
        "bit": [1, 0, 1, 1, 0, 0],
        "size": [0.5, 2.5, 3.5, 1.5, 2.5, 0.5],
        "hue": ["red", "blue", "red", "blue", "blue", "red"],
    }
)


def feature_counts(frame: pl.DataFrame, cut: Any) -> CountedFeatures:
    with open_features(frame, InputOptions(positive="y")) as opened:
        return count_features(opened, cut)


def test_features_of_two_halves_are_those_of_the_whole() -> None:
    whole = feature_counts(FEATURES, 2.0)
    one, two = feature_counts(FEATURES[:2], 2.0), feature_counts(FEATURES[2:], 2.0)
    # rows of one half may lack a text: only features of both can be added
    names = [name for name in one.counts.names if name in two.counts.names]
    parts = [
        found.counts.take(np.array([found.counts.names.index(name) for name in names]))
        for found in (one, two, whole)
    ]
    assert {"bit", "size"} <= set(names)
    assert_equal(parts[0] + parts[1], parts[2])
    classes = one.classes + two.classes
    assert (classes.classes, classes.positive) == (whole.classes.classes, "y")
    assert (classes.positives, classes.negatives) == (3, 3)
    assert classes.rows == (2, 4)  # of each file


def test_features_cut_elsewhere_cannot_be_added() -> None:
    one, two = (feature_counts(part, None).counts for part in (FEATURES[:2], FEATURES[2:]))
    with pytest.raises(ValueError, match=r"\w"):
        one + two
