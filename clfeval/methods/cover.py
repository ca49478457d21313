"""Choosing models: the subset of each size that finds most, and the best within an effort."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clfeval.counts.patterns import Bools, TargetCounts
from clfeval.methods.coverage import EXACT_MODELS, SubsetScores, score_all_subsets, score_subsets

ENUMERATED = "exact: all subsets"
PROGRAM = "exact: integer program"
GREEDY = "greedy"
SECONDS = 60.0  # the integer program's limit; beyond it the answer is called a bound


@dataclass(frozen=True, slots=True)
class Choice:
    """A chosen subset with its scores (one row) and how it was found."""

    scores: SubsetScores
    method: str


def best_subsets(counts: TargetCounts, sizes: int) -> list[Choice]:
    """Return, for each size 1..sizes, the subset that covers most target rows.

    Ties go to less effort, then to the models that come first. Exact: all subsets up to 20
    models, beyond that maximum coverage as an integer program, with the greedy choice beside it
    (each step adds the model that covers most of what is left) wherever the two differ.
    """
    k = len(counts.models)
    sizes = min(sizes, k)
    if k <= EXACT_MODELS:
        every = score_all_subsets(counts)
        size = every.members.sum(axis=1)
        return [
            Choice(_best(every.take(np.flatnonzero(size == wanted))), ENUMERATED)
            for wanted in range(1, sizes + 1)
        ]
    greedy = score_subsets(counts, _greedy(counts, sizes))
    choices = []
    for wanted in range(1, sizes + 1):
        step = greedy.take(np.array([wanted - 1]))
        exact, method = _program(counts, size=wanted)
        if exact is not None:
            choices.append(Choice(exact, method))
        if exact is None or exact.covered[0] > step.covered[0]:
            choices.append(Choice(step, GREEDY))
    return choices


def best_within_effort(counts: TargetCounts, effort: float) -> Choice | None:
    """Return the subset that covers most with at most `effort` rows claimed; None if none fits."""
    if len(counts.models) <= EXACT_MODELS:
        every = score_all_subsets(counts)
        index = np.flatnonzero((every.effort <= effort) & every.members.any(axis=1))
        return Choice(_best(every.take(index)), ENUMERATED) if len(index) else None
    scores, method = _program(counts, effort=effort)
    return None if scores is None or not scores.members.any() else Choice(scores, method)


def _best(scores: SubsetScores) -> SubsetScores:
    """Most covered, then least effort, then fewest models, then the models that come first."""
    size = scores.members.sum(axis=1)
    first = [~scores.members[:, i] for i in reversed(range(scores.members.shape[1]))]
    order = np.lexsort((*first, size, scores.effort, -scores.covered))
    return scores.take(order[:1])


def _greedy(counts: TargetCounts, sizes: int) -> Bools:
    chosen = np.zeros((sizes, len(counts.models)), bool)
    left = counts.hit_n.astype(np.float64)
    members = np.zeros(len(counts.models), bool)
    for step in range(sizes):
        gains = left @ counts.hits
        gains[members] = -1.0
        best = int(np.argmax(gains))
        members[best] = True
        left = np.where(counts.hits[:, best], 0.0, left)
        chosen[step] = members
    return chosen


def _program(
    counts: TargetCounts, *, size: int | None = None, effort: float | None = None
) -> tuple[SubsetScores | None, str]:
    """Solve maximum coverage by branch and bound.

    Variables: x_j, model j is in; u_p in 0..1, pattern p is claimed. u_p <= sum of x_j over the
    models that claim p, and under an effort limit also u_p >= x_j for each of them. Maximise the
    covered rows, with sum x <= size or claimed rows <= effort.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array, hstack, identity

    k = len(counts.models)
    patterns, weight, gain = counts.hits, counts.hit_n, counts.hit_n.astype(float)
    if effort is not None:
        patterns = np.vstack([counts.hits, counts.alarms])
        weight = np.concatenate([counts.hit_n, counts.alarm_n])
        gain = np.concatenate([gain, np.zeros(len(counts.alarm_n))])
    claimed = patterns.any(axis=1)
    patterns, weight, gain = patterns[claimed], weight[claimed], gain[claimed]
    m = len(patterns)
    who = coo_array(patterns.astype(float))
    constraints = [LinearConstraint(hstack([who, -identity(m)]), lb=0.0)]
    if size is not None:
        constraints.append(LinearConstraint(np.r_[np.ones(k), np.zeros(m)], ub=size))
    if effort is not None:
        row, model = np.nonzero(patterns)
        each = np.arange(len(row))
        both = coo_array(
            (
                np.r_[np.ones(len(row)), -np.ones(len(row))],
                (np.r_[each, each], np.r_[row + k, model]),
            ),
            shape=(len(row), k + m),
        )
        constraints.append(LinearConstraint(both, lb=0.0))
        constraints.append(LinearConstraint(np.r_[np.zeros(k), weight], ub=effort))
    answer = milp(
        np.r_[np.zeros(k), -gain],
        integrality=np.r_[np.ones(k), np.zeros(m)],
        bounds=Bounds(0, 1),
        constraints=constraints,
        options={"time_limit": SECONDS, "mip_rel_gap": 0.0},
    )
    if answer.x is None:
        return None, PROGRAM
    members: NDArray[np.bool_] = answer.x[:k] > 0.5
    method = PROGRAM if answer.status == 0 else f"best found in {SECONDS:g} s, not proved best"
    return score_subsets(counts, members[None, :]), method
