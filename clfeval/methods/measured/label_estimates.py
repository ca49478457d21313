"""Paired estimates of models by measures of their labels."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import isfinite

import numpy as np

from clfeval.arrays import Bools, Floats, Ints
from clfeval.compare.paired import DifferenceErrors, PairedEstimates, errors_of_kinds
from clfeval.counts.patterns import PatternCounts
from clfeval.measures.confusion import Confusion
from clfeval.measures.record import Measure
from clfeval.methods.clustered import class_sizes, effective_class_sizes, smallest_class_size
from clfeval.methods.measured.asked import RequestedMeasure
from clfeval.methods.measured.hard import cell_influence

NOTHING = np.zeros((0, 0)), np.zeros(0)  # steps and sizes of what nobody can bound
_DUST = 1e-12  # of a value: what rounding leaves of an error of 0


def label_influence(patterns: PatternCounts, measure: Measure) -> tuple[Floats, Floats]:
    """Return a measure of the 2 x 2 tables of k models, (k,), and f of the patterns, (k, m)."""
    truth, votes, table = patterns.truth[:, None], patterns.votes, _tables(patterns)
    each = cell_influence(measure.function, table)
    cell = np.where(truth, np.where(votes, 0, 2), np.where(votes, 1, 3))
    values = np.asarray(measure.function(table), np.float64)
    return values, np.asarray(each[cell, np.arange(votes.shape[1])].T)


def label_estimates(
    patterns: PatternCounts, asked: RequestedMeasure, without: Collection[str] = ()
) -> PairedEstimates | None:
    """Return models by a measure of 2 x 2 tables; None where a class has no row.

    A row that changes sides counts J = |f(TP) - f(FN)| or |f(FP) - f(TN)|, of the table with half a
    row more in each cell: see `flip_correction`. without: models left out.
    """
    if patterns.truth.all() or not patterns.truth.any():
        return None
    values, moved = label_influence(patterns, asked.measure)
    some = [
        i for i, model in enumerate(patterns.models) if model not in without and isfinite(values[i])
    ]
    if not some:
        return None
    row = float(patterns.n.sum() / class_sizes(patterns, 2).sum())  # what one weighs
    table = _tables(patterns)
    cells = [cell[some] + row / 2 for cell in (table.tp, table.fp, table.fn, table.tn)]
    f = cell_influence(asked.measure.function, Confusion(*cells))
    jumps = np.abs([f[1] - f[3], f[0] - f[2]])  # of negatives, of positives
    there = (patterns.n > 0) & (jumps.max(axis=1) > 0)[patterns.truth.astype(int)]
    flips = flip_correction(patterns.votes[there][:, some], jumps * row)
    least = smallest_class_size(patterns)
    known = errors_of_kinds(moved[some], patterns.n, patterns.clusters, fewest=least, flips=flips)
    shares = np.array([cells[1] + cells[3], cells[0] + cells[2]]) / sum(cells)
    steps, sizes = (jumps * shares).T, effective_class_sizes(patterns, 2)
    if np.allclose(jumps[0], jumps[1], rtol=1e-9):  # of a row of either class alike
        steps, sizes = jumps[:1].T, effective_class_sizes(patterns, 1)
    names = [patterns.models[i] for i in some]
    return make_paired_estimates(asked, names, values[some], known, least, (steps, sizes))


def flip_correction(votes: Ints | Bools, jumps: Floats) -> Floats:
    """Return the half-row correction of the squares of differences of k models, (k, k).

    sum over classes of (J_i² + J_j²) / 2 where i and j differ in any row.

    votes (m, k): of the rows that affect the measure; jumps (classes, k): J.
    Source: Agresti and Min 2005, Statistics in Medicine 24:729, of shares.
    """
    differ = np.array([(votes[:, [i]] != votes).any(axis=0) for i in range(votes.shape[1])])
    squares = (jumps**2).sum(axis=0)
    return np.where(differ, (squares[:, None] + squares) / 2, 0.0)


def make_paired_estimates(
    asked: RequestedMeasure, models: Sequence[str], values: Floats, known: DifferenceErrors,
    least: float,
    steps: tuple[Floats, Floats] = NOTHING,
) -> PairedEstimates | None:  # fmt: skip
    """Return paired estimates by a measure; None where their errors are unknown.

    steps: changes of estimates when all rows of a kind change, (k, c), and its rows, (c,).
    """
    v = known.covariance
    if not models or (v is not None and not np.isfinite(v).all()):
        return None
    size = np.maximum(np.abs(values)[:, None], np.abs(values))
    known = replace(known, errors=np.where(known.errors <= _DUST * size, 0.0, known.errors))
    each, sizes = steps
    each = each if len(sizes) else np.zeros((len(models), 0))
    return PairedEstimates(
        asked.name, asked.measure, tuple(models), values, known, least, each, sizes
    )


def _tables(patterns: PatternCounts) -> Confusion:
    truth, votes, n = patterns.truth[:, None], patterns.votes, patterns.n
    cells = (truth & votes, ~truth & votes, truth & ~votes, ~truth & ~votes)
    return Confusion(*((n @ one).astype(np.float64) for one in cells))
