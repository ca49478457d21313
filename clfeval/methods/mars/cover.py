"""Choosing models: the subset of each size that finds most, and the best within an effort."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from clfeval.arrays import Bools
from clfeval.counts.patterns import TargetCounts
from clfeval.methods.mars.coverage import (
    EXACT_MODELS,
    SubsetScores,
    score_all_subsets,
    score_subsets,
)

ENUMERATED = "exact: all subsets"
PROGRAM = "exact: integer program"
GREEDY = "greedy"
FINE = 1_000_000  # rows up to which the solver's tolerance is less than one row
ATTEMPTS = 50
SECONDS = 60.0  # the integer program's limit; beyond it the answer is called a bound


@dataclass(frozen=True, slots=True)
class Choice:
    """A chosen subset with its scores (one row) and how it was found."""

    scores: SubsetScores
    method: str


def best_subsets(
    counts: TargetCounts, sizes: int, *, exact_models: int = EXACT_MODELS
) -> list[Choice]:
    """Return, for each size 1..sizes, the subset that covers most target rows.

    Ties go to less effort, then to the models that come first. Exact: all subsets of up to
    `exact_models`, of more models maximum coverage as an integer program, with the greedy choice
    beside it (each step adds the model that covers most of what is left) wherever the two differ.
    """
    k = len(counts.models)
    sizes = min(sizes, k)
    if k <= exact_models:
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
        if exact is None or exact.covered[0] != step.covered[0]:
            choices.append(Choice(step, GREEDY))
    return choices


def best_within_effort(
    counts: TargetCounts, effort: float, *, exact_models: int = EXACT_MODELS
) -> Choice | None:
    """Return the subset that covers most with at most `effort` rows claimed; None if none fits."""
    if len(counts.models) <= exact_models:
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
    """Solve maximum coverage by branch and bound; answers are checked in whole numbers.

    Variables: x_j, model j is in; u_p in 0..1, pattern p is claimed. u_p <= sum of x_j over the
    models that claim p, and under an effort limit also u_p >= x_j for each of them. Maximise the
    covered rows, with sum x = size or claimed rows <= effort. The solver allows a limit to be
    passed by one part in a million; such an answer is cut off and the next one asked for.
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
        constraints.append(LinearConstraint(np.r_[np.ones(k), np.zeros(m)], lb=size, ub=size))
    if effort is not None:
        row, model = np.nonzero(patterns)
        each = np.arange(len(row))
        signs = np.r_[np.ones(len(row)), -np.ones(len(row))]
        places = (np.r_[each, each], np.r_[row + k, model])
        both = coo_array((signs, places), shape=(len(row), k + m))
        constraints.append(LinearConstraint(both, lb=0.0))
        unit = max(effort, 1.0)
        constraints.append(LinearConstraint(np.r_[np.zeros(k), weight / unit], ub=effort / unit))
    allowed = np.ones(k)
    if effort is not None:
        # a model that claims too much alone is in no answer; the solver's tolerance may differ
        allowed = (weight @ patterns <= effort).astype(float)
    unproved = f"integer program, not proved best in {SECONDS:g} s"
    for attempt in range(ATTEMPTS):
        with _quiet_stdout():
            answer = milp(
                np.r_[np.zeros(k), -gain], integrality=np.r_[np.ones(k), np.zeros(m)],
                bounds=Bounds(0, np.r_[allowed, np.ones(m)]), constraints=constraints,
                options={"time_limit": SECONDS, "mip_rel_gap": 0.0},
            )  # fmt: skip
        if answer.x is None:
            return None, PROGRAM
        members: Bools = answer.x[:k] > 0.5
        scores = score_subsets(counts, members[None, :])
        if effort is None or scores.effort[0] <= effort:
            fine = answer.status == 0 and attempt == 0 and gain.sum() <= FINE
            rounded = PROGRAM if fine else f"{PROGRAM}, to one row in a million"
            return scores, rounded if answer.status == 0 else unproved
        other = np.r_[np.where(members, -1.0, 1.0), np.zeros(m)]
        constraints.append(LinearConstraint(other, lb=1.0 - members.sum()))
    return None, f"integer program, gave up after {ATTEMPTS} answers above the limit"


@contextmanager
def _quiet_stdout() -> Iterator[None]:
    """Keep the solver's own chatter, written past Python, out of standard output."""
    try:
        sys.stdout.flush()
        kept = os.dup(1)
    except (OSError, ValueError, AttributeError):
        yield  # closed: nothing to keep clean
        return
    sink = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(sink, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(sink)
