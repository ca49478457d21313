"""From counts of joint rows, as they are or resampled, to every measure of every model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from clfeval.arrays import Counts, Floats
from clfeval.counts.kept import JointCounts
from clfeval.measures.catalog import computed
from clfeval.measures.confusion import Confusion
from clfeval.measures.probability import mean_loss

# a bias is neither better high nor low; the others tell what stands there by another name
_LEFT_OUT = ("phi", "phi_b", "delta_b", "f_beta", "mutual_information_u")
OF_TABLE = {
    name: of for name, of in computed("confusion", beta=1.0).items() if name not in _LEFT_OUT
}
OF_RANKING = computed("scores")
OF_PROBABILITIES = computed("probabilities")  # the loss of each row, whose mean they are

Evaluator = Callable[[Counts], Floats]


def evaluator(joint: JointCounts, names: Sequence[str]) -> Evaluator:
    """Return the function from counts of the joint rows (b, m) to measures (b, k, n)."""
    cells = _cells(joint)
    orders = _orders(joint) if any(name in OF_RANKING for name in names) else []
    losses = {
        name: [OF_PROBABILITIES[name](p, joint.truth) for p in _columns(joint)]
        for name in names
        if name in OF_PROBABILITIES
    }

    def evaluate(counts: Counts) -> Floats:
        found = np.empty((len(counts), len(joint.models), len(names)))
        if counts.dtype.kind != "f" and counts.max() <= np.iinfo(np.uint8).max:
            counts = counts.astype(np.uint8)  # a big table's counts in the order of its scores
        tables = cells(counts)
        for j, name in enumerate(names):
            if name in OF_TABLE:
                found[:, :, j] = OF_TABLE[name](tables)
            for i, loss in enumerate(losses.get(name, ())):
                found[:, i, j] = mean_loss(loss, counts)
        for i, (order, ranks, truth) in enumerate(orders):
            rows = counts[:, order]
            positives = rows * truth
            rows -= positives
            for j, name in enumerate(names):
                if name in OF_RANKING:
                    found[:, i, j] = OF_RANKING[name](ranks, positives, rows)
        return found

    return evaluate


def cells_of(joint: JointCounts) -> Confusion:
    """Return the 2 x 2 tables of the models as they were counted, (k,) each."""
    found = _cells(joint)(joint.n[None])
    return Confusion(found.tp[0], found.fp[0], found.fn[0], found.tn[0])


def _cells(joint: JointCounts) -> Callable[[Counts], Confusion]:
    """Return the function from counts (b, m) to 2 x 2 tables, (b, k) each.

    Rows of the same truth and votes are neighbours: they are added up first.
    """
    rows = np.column_stack([joint.truth, joint.votes])
    first = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)]))
    truth = joint.truth[first]
    votes = joint.votes[first].astype(np.float64)

    def tables(counts: Counts) -> Confusion:
        # floats, for their products are fast, and they are exact up to 2**53 rows
        patterns = np.add.reduceat(counts, first, axis=1, dtype=np.float64)
        hits, misses = (patterns[:, truth] @ part[truth] for part in (votes, 1 - votes))
        alarms, passes = (patterns[:, ~truth] @ part[~truth] for part in (votes, 1 - votes))
        return Confusion(hits, alarms, misses, passes)

    return tables


def _orders(joint: JointCounts) -> list[tuple[Counts, Counts, Counts]]:
    """Return, per model, the rows in the order of its scores: places, ranks, truth."""
    found = []
    for scores in _columns(joint):
        order = np.argsort(scores, kind="stable")
        ordered = scores[order]
        # ranks of equal scores are equal, and take half the memory
        ranks = np.zeros(len(order), np.int32)
        np.cumsum(ordered[1:] > ordered[:-1], out=ranks[1:])
        found.append((order, ranks, joint.truth[order]))
    return found


def _columns(joint: JointCounts) -> Sequence[Floats]:
    """Return the scores of each model; ValueError where they were not counted."""
    if joint.scores is None:
        raise ValueError("no scores were counted")
    return list(joint.scores.T)
