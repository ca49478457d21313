"""What MARS answers in sentences: who finds most, who cannot be told from it, whom nobody needs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from clfeval.arrays import Bools, Counts
from clfeval.counts.patterns import TargetCounts
from clfeval.inference.shares import holm, sign_test
from clfeval.methods.estimates import shares
from clfeval.methods.mars.coverage import combinations_of, score_subsets
from clfeval.methods.mars.options import MarsOptions
from clfeval.result import Answer
from clfeval.words import between, listed, named, quoted

MEASURE = {"positive": "recall", "negative": "specificity"}
EXACT = 10  # models up to which the smallest set that finds all is looked for among all sets


def answer(counts: TargetCounts, options: MarsOptions) -> tuple[Answer, ...]:
    """Say which model and which pair find most target rows, and which models nobody needs.

    The best model finds most; of equals, the one that claims fewest rows, then the first. Another
    one cannot be told from it where chance, by the exact sign test of the rows that only one of the
    two finds and Holm's rule over all others, explains the difference.
    """
    rows, target = counts.hit_n.sum().item(), options.target
    some = _covered(counts, range(len(counts.models)))
    if not rows:
        return (Answer("no-target", f"No row is {target}: there is nothing to find."),)
    if not some:
        return (Answer("finds-none", f"No model finds any of the {rows:,.10g} {target} rows."),)
    every = range(len(counts.models))
    best = min(every, key=lambda j: _place(counts, [j]))
    return (
        _most(counts, options, best, rows),
        *_equals(counts, options, best),
        *_pair(counts, options, best),
        *_needless(counts, some),
    )


def _most(counts: TargetCounts, options: MarsOptions, best: int, rows: float) -> Answer:
    name, target = counts.models[best], options.target
    covered, effort = _covered(counts, [best]), _effort(counts, [best])
    measure = MEASURE[target]
    (share,) = shares(measure, np.array([covered]), rows, level=options.confidence)
    most = "most: " if len(counts.models) > 1 else ""
    text = (
        f"{quoted(name)} finds {most}{covered:,.10g} of the {rows:,.10g} {target} rows ({measure} "
        f"{between(covered / rows, share.low, share.high)}), and calls {effort:,.10g} {target}."
    )
    return Answer("finds-most", text, (name,), measure, share.value, share.low, share.high)


def _equals(counts: TargetCounts, options: MarsOptions, best: int) -> list[Answer]:
    others = [j for j in range(len(counts.models)) if j != best]
    if not others or not _testable(counts, options):
        return []
    chance = holm([_chance(counts, [best], [j]) for j in others])
    equal = [j for j, p in zip(others, chance, strict=True) if p > 1 - options.level]
    if not equal:
        text = "Each other model finds fewer, and chance does not explain it."
        return [Answer("told-apart", text, (counts.models[best],))]
    equal.sort(key=lambda j: _place(counts, [j]))
    told = [f"{quoted(counts.models[j])} ({_covered(counts, [j]):,.10g})" for j in equal]
    text = f"On these rows it cannot be told from {listed(told, most=6, word='or')}."
    return [Answer("not-told-apart", text, tuple(counts.models[j] for j in equal))]


def _pair(counts: TargetCounts, options: MarsOptions, best: int) -> list[Answer]:
    if len(counts.models) < 3:
        return []
    pairs = score_subsets(counts, combinations_of(len(counts.models), 2))
    pair = np.flatnonzero(pairs.members[np.lexsort((pairs.effort, -pairs.covered))[0]]).tolist()
    names, alone = tuple(counts.models[j] for j in pair), quoted(counts.models[best])
    covered = _covered(counts, pair)
    gain = covered - _covered(counts, [best])
    if gain <= 0:
        return [Answer("no-better-pair", f"No pair finds more than {alone} alone.", names)]
    chance = ", which may be chance"
    if not _testable(counts, options) or _chance(counts, pair, [best]) <= 1 - options.level:
        chance = ""
    called = f"{_effort(counts, pair):,.10g} {options.target}"
    text = (
        f"The best pair, {' + '.join(map(quoted, names))}, finds {covered:,.10g}, {gain:,.10g} "
        f"more than {alone} alone{chance}, and calls {called}."
    )
    return [Answer("best-pair", text, names, "covered", covered)]


def _needless(counts: TargetCounts, some: float) -> list[Answer]:
    k = len(counts.models)
    if k < 2:
        return []
    kept = _smallest(counts, some) if k <= EXACT else _without_needless(counts, some)
    left = [counts.models[j] for j in range(k) if j not in kept]
    names = [counts.models[j] for j in kept]
    if not left:
        text = "No model can be left out: each finds rows that no other finds."
        return [Answer("all-needed", text, counts.models)]
    all_rows = f"all {some:,.10g} rows that any model finds"
    text = (
        f"{named(names, most=k)} {'together find' if len(kept) > 1 else 'finds'} {all_rows}; "
        f"{named(left)} could be left out."
    )
    return [Answer("could-be-left-out", text, tuple(left))]


def _smallest(counts: TargetCounts, some: float) -> tuple[int, ...]:
    """Return the fewest models that find all; of equal sets the one that claims least."""
    for size in range(1, len(counts.models) + 1):
        whole = [
            few for few in combinations(range(len(counts.models)), size)
            if _covered(counts, few) >= some
        ]  # fmt: skip
        if whole:
            return min(whole, key=lambda few: _effort(counts, few))
    raise AssertionError("all models together find all")


def _without_needless(counts: TargetCounts, some: float) -> tuple[int, ...]:
    """Return models that find all: those that find least go first, where nothing is lost."""
    kept = list(range(len(counts.models)))
    for j in sorted(kept, key=lambda j: _covered(counts, [j])):
        fewer = [i for i in kept if i != j]
        if _covered(counts, fewer) >= some:
            kept = fewer
    return tuple(kept)


def _testable(counts: TargetCounts, options: MarsOptions) -> bool:
    return options.confidence is not None and counts.hit_n.dtype.kind != "f"


def _covered(counts: TargetCounts, models: Sequence[int]) -> float:
    return _total(counts.hits, counts.hit_n, models)


def _effort(counts: TargetCounts, models: Sequence[int]) -> float:
    return _covered(counts, models) + _total(counts.alarms, counts.alarm_n, models)


def _total(votes: Bools, n: Counts, models: Sequence[int]) -> float:
    total: float = n[votes[:, list(models)].any(axis=1)].sum().item()
    return total


def _place(counts: TargetCounts, models: Sequence[int]) -> tuple[float, float]:
    return -_covered(counts, models), _effort(counts, models)


def _chance(counts: TargetCounts, some: Sequence[int], others: Sequence[int]) -> float:
    """Return the p-value of the rows that only one of two sets finds."""
    first, second = (counts.hits[:, list(models)].any(axis=1) for models in (some, others))
    n = counts.hit_n
    return sign_test(n[first & ~second].sum().item(), n[second & ~first].sum().item())
