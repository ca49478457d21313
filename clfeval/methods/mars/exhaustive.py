"""Of all subsets of one size the one that finds most: those that cannot are not looked at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.counts.patterns import TargetCounts

_CELLS = 1 << 22  # sets of models x patterns looked at together
_LIMB = 30  # bits of a count that are added up as one float

Sets = NDArray[np.int16]  # (s, size): models of each set, in the order they are tried in


def best_covering_subsets(counts: TargetCounts, size: int, known: int) -> Bools:
    """Return the subsets of `size` models that cover most target rows, (s, k), all that tie.

    Branch and bound: gains are submodular, so a set whose coverage and largest remaining gains sum
    to less than `known`, a coverage attained, is pruned.
    """
    k = len(counts.models)
    order = np.argsort(-(counts.hit_n @ counts.hits), kind="stable")
    hits = np.ascontiguousarray(counts.hits[:, order].T)
    parts, kind = _split_counts(counts.hit_n)
    weights, table = [part.astype(kind) for part in parts], hits.T.astype(kind)
    grown: Sets = np.empty((1, 0), np.int16)
    step = max(1, _CELLS // max(1, len(counts.hit_n)))
    for left in range(size, 0, -1):
        found: list[Sets] = []
        for start in range(0, len(grown), step):
            sets = grown[start : start + step]
            rest = ~np.logical_or.reduce([hits[member] for member in sets.T], axis=0, initial=False)
            rest = np.broadcast_to(rest, (len(sets), hits.shape[1]))
            covered, gains = _coverage_and_gains(rest, weights, table)
            last = sets[:, -1:] if sets.shape[1] else np.full((1, 1), -1, np.int16)
            gains[np.arange(k) <= last] = -1
            bound = covered[:, None] + gains
            if left > 1:
                bound += _largest_beyond(gains, left - 1)
            bound[gains < 0] = -1
            if left == 1 and bound.max() > known:
                known, found = int(bound.max()), []
            row, model = np.nonzero(bound >= known)
            found.append(np.column_stack([sets[row], model.astype(np.int16)]))
        grown = np.concatenate(found)
    members = np.zeros((len(grown), k), bool)
    np.put_along_axis(members, order[grown], values=True, axis=1)
    return members


def _largest_beyond(gains: Ints, many: int) -> Ints:
    """Return for each model the sum of the `many` largest gains of those after it, (s, k)."""
    beyond = np.zeros_like(gains)
    largest = np.zeros((len(gains), many), np.int64)
    for model in range(gains.shape[1] - 1, -1, -1):
        beyond[:, model] = largest.sum(axis=1)
        largest[:, 0] = np.maximum(largest[:, 0], gains[:, model])
        largest.sort(axis=1)
    return beyond


def _split_counts(n: Counts) -> tuple[list[Ints], type[np.floating]]:
    """Return counts in parts whose sums floats hold, the highest first, and which floats do."""
    total = int(n.sum())
    if total < 2**53:
        return [n], np.float32 if total < 2**24 else np.float64
    return [n >> _LIMB, n & (2**_LIMB - 1)], np.float64


def _coverage_and_gains(rest: Bools, weights: list[Floats], table: Floats) -> tuple[Ints, Ints]:
    """Return what is covered, (s,), and what each model finds of the rest, (s, k)."""
    covered, gains = np.zeros(len(rest), np.int64), np.zeros((len(rest), table.shape[1]), np.int64)
    for part in weights:
        left = rest * part
        covered = (covered << _LIMB) + (~rest @ part).astype(np.int64)
        gains = (gains << _LIMB) + (left @ table).astype(np.int64)
    return covered, gains
