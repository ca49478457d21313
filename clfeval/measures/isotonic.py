"""Isotonic regression of truth on scores: pool adjacent violators over counts of scores."""

from __future__ import annotations

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints, divide
from clfeval.measures.convex_hull import upper_hull_vertices
from clfeval.measures.probability import distinct_starts
from clfeval.records import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class IsotonicBlocks:
    """The blocks of equal fitted share, (b,) each, in the order of the scores.

    A block holds the scores from index `starts` up to, but without, `stops`. shares: positives /
    rows, ascending, 0..1. rows: of the block, in the units of the counts.
    """

    starts: Ints
    stops: Ints
    shares: Floats
    rows: Counts

    @property
    def values(self) -> Floats:
        """The fitted share at each score, (m,)."""
        return np.repeat(self.shares, self.stops - self.starts)


def isotonic_shares(scores: Counts, positives: Counts, negatives: Counts) -> IsotonicBlocks:
    """Return the isotonic regression of truth on the score.

    The shares rise with the score, and have the least squared error and the largest likelihood of
    all that do. They are the slopes of the lower convex hull of running positives against rows.

    Shapes: all (m,), scores ascending; equal ones are in one block. A score without rows belongs to
    the block before it. No blocks without rows; ValueError unless scores ascend.
    Sources: Ayer et al. 1955, Annals of Mathematical Statistics 26:641; Fawcett and
    Niculescu-Mizil 2007, Machine Learning 68:97.
    """
    score_starts = distinct_starts(scores)
    count_columns = [
        np.add.reduceat(counts, score_starts) if len(score_starts) else counts
        for counts in (positives, negatives)
    ]
    starts, shares, rows = _pool_violators(*(column[None] for column in count_columns))
    block_starts = np.append(score_starts, len(scores))[starts]
    if not rows.any():
        block_starts, shares, rows = block_starts[:0], shares[:0], rows[:0]
    stops = np.append(block_starts[1:], len(scores))[: len(block_starts)]
    return IsotonicBlocks(block_starts, stops, shares, rows)


def isotonic_values(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the fitted share of `isotonic_shares` at each score, for each table: (..., m).

    Shapes: scores (m,); positives and negatives (..., m). NaN for a table without rows.
    """
    shape = np.shape(positives)
    score_starts = distinct_starts(scores)
    if not positives.size:
        return np.zeros(shape)
    count_tables = [
        np.add.reduceat(counts.reshape(-1, shape[-1]), score_starts, axis=-1)
        for counts in (positives, negatives)
    ]
    starts, shares, _ = _pool_violators(*count_tables)
    score_values = np.repeat(shares, np.diff(starts, append=count_tables[0].size)).reshape(
        count_tables[0].shape
    )
    values = np.repeat(score_values, np.diff(score_starts, append=shape[-1]), axis=-1)
    return np.asarray(values.reshape(shape))


def _pool_violators(positives: Counts, negatives: Counts) -> tuple[Ints, Floats, Counts]:
    """Return start, share and rows of the blocks of tables (r, d), one after the other.

    start: the index in the flattened table. A table without rows is one block, whose share is NaN.
    """
    running = _running_counts(positives, negatives)
    is_table_start = np.zeros(running.shape[1:], bool)
    is_table_start[:, 0] = True
    running_positives, running_negatives = running.reshape(2, -1)
    vertices = upper_hull_vertices(running_negatives, running_positives, is_table_start.ravel())
    table_of_vertex = vertices // running.shape[-1]
    start_vertices, is_empty = _block_vertices(table_of_vertex)
    next_vertices = np.minimum(start_vertices + 1, len(vertices) - 1)
    positive_rows, negative_rows = (
        np.where(
            is_empty,
            0,
            running_counts[vertices[next_vertices]] - running_counts[vertices[start_vertices]],
        )
        for running_counts in (running_positives, running_negatives)
    )
    rows = positive_rows + negative_rows
    # a running table has one column more than a table, the 0 before it
    starts = vertices[start_vertices] - table_of_vertex[start_vertices]
    return starts, divide(positive_rows, rows), rows


def _block_vertices(table_of_vertex: Ints) -> tuple[Ints, Bools]:
    """Return the vertices at which blocks start, and whether the table of each has no rows.

    table_of_vertex: the table of each vertex, ascending. The last vertex of a table starts no
    block, but where it is the only one.
    """
    is_new = table_of_vertex[1:] != table_of_vertex[:-1]
    is_last = np.append(is_new, True)
    is_only = np.append(True, is_new) & is_last
    start_vertices = np.flatnonzero(~is_last | is_only)
    return start_vertices, is_only[start_vertices]


def _running_counts(positives: Counts, negatives: Counts) -> Counts:
    """Return running positives and negatives of tables (r, d), each from 0: (2, r, d + 1)."""
    table_count, width = positives.shape
    running = np.zeros((2, table_count, width + 1), np.result_type(np.int64, positives, negatives))
    for class_running, class_counts in zip(running, (positives, negatives), strict=True):
        np.cumsum(class_counts, axis=-1, out=class_running[:, 1:])
    return running
