"""The one pass over rows, run unchanged on polars, pandas, Arrow and DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

import clfeval
from clfeval.counts.group_rows import MISSING, RawPatterns, group_frame
from clfeval.counts.invalid_rows import check_patterns, patterns_by_slice
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.settings import CountSettings
from clfeval.tables.columns import Columns, ModelColumns
from clfeval.tables.input import InputOptions
from clfeval.tables.layouts import wide
from tests.engines import ENGINES
from tests.reference import Row
from tests.strategies import counts_of

Native = Callable[[pl.DataFrame], Any]
NAN = float("nan")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Native:
    """A way to hand the same rows to another engine."""
    return ENGINES[request.param]


def label_columns(*names: str) -> tuple[ModelColumns, ...]:
    return tuple(ModelColumns(name, "label", (name,)) for name in names)


def score_columns(*names: str) -> tuple[ModelColumns, ...]:
    return tuple(ModelColumns(name, "score", (name,)) for name in names)


def plan(
    models: tuple[ModelColumns, ...],
    cut: float = 0.5,
    positive: str = "1",
    cuts: dict[str, float] | None = None,
    **more: Any,
) -> CountSettings:
    thresholds = {model.name: cut for model in models} | (cuts or {})
    columns = Columns("truth", models=models, **more)
    return CountSettings(columns, positive, thresholds, InputOptions(), wide.LAYOUT, (), (), {})


def count(native: Any, what: CountSettings) -> RawPatterns:
    return RawPatterns.from_frames(
        [group_frame(nw.from_native(native).lazy(), what)], what, "plain"
    )


def patterns(raw: RawPatterns, what: CountSettings) -> PatternCounts:
    """Drop the patterns with a missing value and count the rest."""
    return patterns_by_slice(check_patterns(raw, what), what)[None]


def check(ours: PatternCounts, rows: list[Row], models: list[str]) -> None:
    expected = counts_of(rows, models)
    assert ours.models == expected.models
    for name in ("truth", "votes", "n"):
        assert getattr(ours, name).tolist() == getattr(expected, name).tolist()


def test_labels_as_text_with_missing_ones(engine: Native) -> None:
    frame = pl.DataFrame(
        {
            "truth": ["1", "0", "1", None, "1", "0", "1"],
            "a": ["1", "0", "1", "1", None, "1", "1"],
            "b": ["0", "0", "0", "1", "1", None, "1"],
        }
    )
    what = plan(label_columns("a", "b"))
    raw = count(engine(frame), what)
    assert raw.rows.sum() == 7
    assert sum(n for truth, n in zip(raw.truth, raw.rows, strict=True) if pd.isna(truth)) == 1
    check(patterns(raw, what), [Row(1, (1, 0), 2), Row(0, (0, 0)), Row(1, (1, 1))], ["a", "b"])


def test_labels_are_not_numbers(engine: Native) -> None:
    """`01` is not `1`, `NA` is a label."""
    frame = pl.DataFrame({"truth": ["1", "01", "NA", "1"], "a": ["1", "1", "1", "01"]})
    what = plan(label_columns("a"))
    raw = count(engine(frame), what)
    judged = check_patterns(raw, what)
    assert set(judged.classes) == {"1", "01", "NA"}
    assert not judged.missing.any()
    check(patterns(raw, what), [Row(1, (1,)), Row(0, (1,), 2), Row(1, (0,))], ["a"])


def test_scores_at_the_threshold_and_missing_ones(engine: Native) -> None:
    below = float(np.nextafter(0.5, 0))
    frame = pl.DataFrame(
        {
            "truth": ["1", "1", "0", "1", "0", "1"],
            "a": [0.5, below, 0.7, NAN, None, 0.9],
            "b": [0.1, 0.6, 0.5, 0.8, 0.2, 1.5],
        }
    )
    what = plan(score_columns("a", "b"))
    raw = count(engine(frame), what)
    rows = [Row(1, (1, 0)), Row(1, (0, 1)), Row(0, (1, 1)), Row(1, (1, 1))]
    check(patterns(raw, what), rows, ["a", "b"])
    missing = [n for vote, n in zip(raw.votes[0], raw.rows, strict=True) if vote == MISSING]
    assert sum(missing) == 2  # NaN and null are missing
    assert raw.ranges == {"a": (below, 0.9), "b": (0.1, 1.5)}


@pytest.mark.parametrize("cut", [-1.0, 0.0, 0.25, 2.0])
def test_each_model_has_its_own_threshold(engine: Native, cut: float) -> None:
    values = [-1.5, -1.0, -0.5, 0.0, 0.25, 2.0, 2.5]
    frame = pl.DataFrame({"truth": ["1"] * 7, "a": values, "b": values})
    what = plan(score_columns("a", "b"), cuts={"a": cut, "b": 0.0})
    rows = [Row(1, (int(v >= cut), int(v >= 0.0))) for v in values]
    check(patterns(count(engine(frame), what), what), rows, ["a", "b"])


def test_fractional_and_unusable_weights(engine: Native) -> None:
    weights = [0.5, 0.25, None, NAN, -1.0, float("inf"), 2.0]
    frame = pl.DataFrame({"truth": ["1"] * 7, "a": ["1"] * 6 + ["0"], "n": weights})
    what = plan(label_columns("a"), weight="n")
    raw = count(engine(frame), what)
    assert raw.bad_weights == 4  # null, NaN, negative, infinite
    counts = patterns(raw, what)
    assert dict(zip(counts.votes[:, 0].tolist(), counts.n.tolist(), strict=True)) == {
        True: 0.5 + 0.25,
        False: 2.0,
    }


def test_largest_probability_ties_to_the_first_class(engine: Native) -> None:
    frame = pl.DataFrame(
        {
            "truth": ["p", "q", "r", "q", "p", "q"],
            "m:p": [0.6, 0.2, 0.1, 0.4, 0.3, NAN],
            "m:q": [0.3, 0.5, 0.2, 0.4, 0.35, 0.5],
            "m:r": [0.1, 0.3, 0.7, 0.2, 0.35, 0.5],
        }
    )
    model = ModelColumns("m", "classes", ("m:p", "m:q", "m:r"), ("p", "q", "r"))
    for positive, votes in {"p": "10010", "q": "01001", "r": "00100"}.items():
        # the largest: p q r, then p of p and q, then q of q and r; the last row lacks a value
        what = plan((model,), NAN, positive=positive)
        raw = count(engine(frame), what)
        truth = [int(label == positive) for label in "pqrqp"]
        rows = [Row(t, (int(v),)) for t, v in zip(truth, votes, strict=True)]
        check(patterns(raw, what), rows, ["m"])
        assert raw.ties["m"] >= 2


@pytest.mark.parametrize("options", [{}, {"weight": "n"}, {"by": "site"}, {"missing": "drop"}])
def test_the_whole_road_on_every_engine(engine: Native, options: dict[str, Any]) -> None:
    chance = np.random.default_rng(4)
    frame = pl.DataFrame(
        {
            "truth": chance.choice(["yes", "no"], 60),
            "a": chance.random(60).round(1),
            "b": chance.choice(["yes", "no"], 60),
            "n": chance.integers(1, 5, 60),
            "site": chance.choice(["x", "y"], 60),
        }
    )
    if "missing" in options:
        frame = frame.with_columns(pl.when(pl.col("n") > 1).then("a"))
    options = {"positive": "yes", "model": ["a", "b"], "subsets": "all", **options}
    ours, theirs = clfeval.mars(engine(frame), **options), clfeval.mars(frame, **options)
    assert ours.signature == theirs.signature
    assert ours.tables == theirs.tables
