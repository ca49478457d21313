"""Random small tables for hypothesis, and the ways into clfeval's own structures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from hypothesis import strategies as st

from clfeval.arrays import Bools
from clfeval.counts.patterns import PatternCounts
from tests.reference import Row, ScoredRow

SCORES = (0.0, 0.1, 0.25, 0.5, 0.5000000000000001, 0.75, 0.9, 1.0)  # few, so that many tie


@st.composite
def tables(
    draw: st.DrawFn,
    *,
    models: tuple[int, int] = (1, 6),
    rows: tuple[int, int] = (1, 14),
    weights: tuple[int, int] = (1, 5),
) -> list[Row]:
    """Draw rows of labels; all have the same number of models, each row an integer weight."""
    k = draw(st.integers(*models))
    bit = st.integers(0, 1)
    row = st.builds(Row, bit, st.tuples(*[bit] * k), st.integers(*weights))
    return draw(st.lists(row, min_size=rows[0], max_size=rows[1]))


@st.composite
def scored_tables(
    draw: st.DrawFn,
    *,
    models: tuple[int, int] = (1, 6),
    rows: tuple[int, int] = (1, 12),
    weights: tuple[int, int] = (1, 4),
) -> list[ScoredRow]:
    """Draw rows of scores from a handful of values, so that ties within and across models occur."""
    k = draw(st.integers(*models))
    score = st.sampled_from(SCORES)
    row = st.builds(ScoredRow, st.integers(0, 1), st.tuples(*[score] * k), st.integers(*weights))
    return draw(st.lists(row, min_size=rows[0], max_size=rows[1]))


def names(k: int) -> tuple[str, ...]:
    """Name k models m0, m1, ..."""
    return tuple(f"m{j}" for j in range(k))


def counts_of(rows: Sequence[Row], models: Sequence[str] | None = None) -> PatternCounts:
    """Put rows into PatternCounts without any of clfeval's reading."""
    chosen = tuple(models) if models is not None else names(len(rows[0].votes) if rows else 1)
    return PatternCounts.from_votes(
        chosen,
        np.array([row.truth == 1 for row in rows], bool),
        np.array([row.votes for row in rows], bool).reshape(len(rows), len(chosen)),
        np.array([row.n for row in rows], np.int64),
    )


def frame_of(rows: Sequence[Row] | Sequence[ScoredRow], *, weight: bool = True) -> pl.DataFrame:
    """Write rows as a wide table: truth, m0, m1, ... and, unless unwanted, n."""
    cells = [row.votes if isinstance(row, Row) else row.scores for row in rows]
    columns: dict[str, list[float]] = {"truth": [row.truth for row in rows]}
    columns |= {name: [cell[j] for cell in cells] for j, name in enumerate(names(len(cells[0])))}
    return pl.DataFrame(columns | ({"n": [row.n for row in rows]} if weight else {}))


def members_matrix(subsets: Sequence[Sequence[int]], k: int) -> Bools:
    """Write subsets of k models as rows of booleans."""
    return np.array([[j in subset for j in range(k)] for subset in subsets], bool).reshape(-1, k)
