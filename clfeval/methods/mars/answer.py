"""What MARS answers in sentences: who finds most, who cannot be told from it, whom nobody needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from clfeval.arrays import Bools, Counts
from clfeval.counts.patterns import TargetCounts
from clfeval.counts.units import shown
from clfeval.inference.shares import holm
from clfeval.methods.estimates import shares
from clfeval.methods.mars.clustered import claimed, divisors, on_target, sign_p
from clfeval.methods.mars.options import MarsOptions
from clfeval.result import Answer, Estimate, Row, Rows, value_of, whole
from clfeval.words import between, listed, named, number, quoted

MEASURE = {"positive": "recall", "negative": "specificity"}
EXACT = 10  # models up to which the smallest set that finds all is looked for among all sets
NAMED = 5  # models that cannot be told from the best


def answer(
    counts: TargetCounts, tables: Mapping[str, Rows], options: MarsOptions
) -> tuple[Answer, ...]:
    """Say which model and which pair find most target rows, and which models nobody needs.

    The best model finds most; of equals, the one that claims fewest rows, then the first. Another
    one cannot be told from it where chance explains the difference: by the exact sign test of the
    rows that only one of the two finds, under Holm's rule over all others. A model that claims
    every row is left out where others do not. tables: those of the whole table are read.
    """
    rows, target = counts.hit_n.sum().item(), options.target
    if not rows:
        return (Answer("no-target", f"No row is {target}: there is nothing to find."),)
    if not counts.hits[counts.hit_n > 0].any():
        text = f"No model finds any of the {_written(rows, counts)} {target} rows."
        return (Answer("detects-none", text),)
    if spared := _undiscerning(counts):
        kept = [j for j, name in enumerate(counts.models) if name not in spared]
        names = tuple(counts.models[j] for j in kept)
        others = replace(
            counts, models=names, hits=counts.hits[:, kept], alarms=counts.alarms[:, kept]
        )
        calls, it = ("call", "they are") if len(spared) > 1 else ("calls", "it is")
        text = f"{named(spared)} {calls} every row {target}: {it} left out of what is said here."
        return (*answer(others, tables, options), Answer("flags-everything", text, spared))
    covered = counts.hit_n @ counts.hits
    effort = covered + counts.alarm_n @ counts.alarms
    order = np.lexsort((effort, -covered)).tolist()
    testable = options.confidence is not None
    said = [_most(counts, options, order, covered, effort)]
    if "comparisons" in tables:
        from clfeval.methods.comparison_answer import comparison_answer

        lead, to = MEASURE[target], str(options.reference)
        rows_of_all = tables["comparisons"]
        said += comparison_answer(rows_of_all, lead, to, options.margin.get(lead), options.level)
    elif testable and len(order) > 1:
        said.append(_equals(counts, options, order, covered))
    if options.max_effort is not None:
        said += _within(counts, whole(tables["max_effort"]), options)
    elif len(order) > 2:
        members = {*counts.models}
        pairs = [row for row in whole(tables["pairs"]) if members.issuperset(row["models"])]  # type: ignore[arg-type]
        best = whole(tables.get("best", ()))
        said.append(_pair(counts, options, order[0], pairs, best, testable=testable))
    if len(order) > 1:
        said.append(_needless(counts, covered))
    return tuple(said)


def _undiscerning(counts: TargetCounts) -> tuple[str, ...]:
    """Name the models that claim every row, where there are rows of both classes and others."""
    if not counts.alarm_n.any():
        return ()
    every = counts.hits[counts.hit_n > 0].all(axis=0) & counts.alarms[counts.alarm_n > 0].all(
        axis=0
    )
    return tuple(counts.models[j] for j in np.flatnonzero(every)) if not every.all() else ()


def _within(counts: TargetCounts, chosen: Sequence[Row], options: MarsOptions) -> list[Answer]:
    """Name the set that finds most within the effort."""
    if not chosen:
        return []
    names = tuple(str(name) for name in chosen[0]["models"])  # type: ignore[union-attr]
    covered, effort = (float(str(chosen[0][name])) for name in ("covered", "effort"))
    measure, share = MEASURE[options.target], _share(counts, covered, names, options)
    text = (
        f"Within {options.max_effort:,.10g} rows called, {' + '.join(map(quoted, names))} finds "
        f"most: {covered:,.10g} ({measure} "
        f"{between(share.value or 0.0, share.low, share.high)}), calling {effort:,.10g}; "
        f"{_elsewhere(chosen[0], counts)}."
    )
    return [Answer("within-effort", text, names, measure, share.value, share.low, share.high)]


def _share(
    counts: TargetCounts, found: float, names: Sequence[str], options: MarsOptions
) -> Estimate:
    """Return the share of the target rows that some models together find.

    found: rows, or weight as a table has it. A model that is left out claims every row.
    """
    among = np.array([[name in names for name in counts.models]])
    claims = claimed(counts, among) | (not {*counts.models}.issuperset(names))
    target, level = on_target(counts)[None], options.confidence
    by = divisors(counts, claims & target, target, level=level)
    units, rows = np.rint(np.array([found]) * counts.unit), counts.hit_n.sum().item()
    return shares(MEASURE[options.target], units, rows, **options.sure, divided=by)[0]


def _written(n: Counts | float, counts: TargetCounts) -> str:
    """Write a number of units as rows, or as weight."""
    return f"{shown(n, counts.unit):,.10g}"


def _elsewhere(row: Row, counts: TargetCounts) -> str:
    """Say what a set chosen so finds on rows that it was not chosen on."""
    found = value_of(row["corrected"])
    if found is None:
        return "expect less on other rows"
    share = found / counts.hit_n.sum().item()
    return f"a set chosen so finds {number(share)} of rows it was not chosen on"


def _most(
    counts: TargetCounts, options: MarsOptions, order: Sequence[int], covered: Counts,
    effort: Counts,
) -> Answer:  # fmt: skip
    best, models, target = order[0], counts.models, options.target
    measure, rows = MEASURE[target], counts.hit_n.sum()
    share = _share(counts, shown(covered[best], counts.unit), [models[best]], options)
    as_many = [models[j] for j in order[1:] if covered[j] == covered[best]]
    most = " most:" if len(order) > 1 else ""
    if as_many:
        do = "do" if len(as_many) > 1 else "does"
        most = f" most, as {named(as_many)} {do}:"
    text = (
        f"{quoted(models[best])} finds{most} {_written(covered[best], counts)} of the "
        f"{_written(rows, counts)} {target} "
        f"rows ({measure} {between(share.value or 0.0, share.low, share.high)}), and calls "
        f"{_written(effort[best], counts)} {target}."
    )
    return Answer(
        "detects-most", text, (models[best],), measure, share.value, share.low, share.high
    )


def _equals(
    counts: TargetCounts, options: MarsOptions, order: Sequence[int], covered: Counts
) -> Answer:
    best, *others = order
    hits, mine = counts.hits, counts.hits[:, best]
    chance = holm([sign_p(counts, mine & ~hits[:, j], hits[:, j] & ~mine) for j in others])
    equal = [j for j, p in zip(others, chance, strict=True) if p > 1 - options.level]
    if not equal:
        text = "Each other model finds fewer, and chance does not explain it."
        return Answer("significantly-worse", text, (counts.models[best],))
    told = [f"{quoted(counts.models[j])} ({_written(covered[j], counts)})" for j in equal]
    text = f"On these rows it cannot be told from {listed(told, most=NAMED, word='or')}."
    return Answer("not-significantly-different", text, tuple(counts.models[j] for j in equal))


def _pair(
    counts: TargetCounts, options: MarsOptions, best: int, pairs: Sequence[Row],
    judged: Sequence[Row], *, testable: bool,
) -> Answer:  # fmt: skip
    """Name the best pair and what it gains; one without the best model may do so by chance.

    judged: the sets of --best, which say what such a pair finds elsewhere. Its p-value is that of
    the rows only one of the two finds, times the pairs it was chosen from.
    """

    covered, effort = (
        np.array([float(str(row[name])) for row in pairs]) for name in ("covered", "effort")
    )
    row = pairs[np.lexsort((effort, -covered))[0]]
    names, alone = tuple(row["models"]), quoted(counts.models[best])
    members = [counts.models.index(name) for name in names]
    n, together, mine = counts.hit_n, counts.hits[:, members].any(axis=1), counts.hits[:, best]
    gained, lost = (n[one].sum().item() for one in (together & ~mine, mine & ~together))
    if gained <= lost:
        return Answer("no-better-pair", f"No pair finds more than {alone} alone.", names)
    chance = ""
    if testable and lost:
        p = sign_p(counts, together & ~mine, mine & ~together)
        chance = ", which may be chance" if len(pairs) * p > 1 - options.level else ""
    found, called = (float(str(row[name])) for name in ("covered", "effort"))
    measure, share = MEASURE[options.target], _share(counts, found, names, options)
    text = (
        f"The best pair, {' + '.join(map(quoted, names))}, finds {found:,.10g} ({measure} "
        f"{between(share.value or 0.0, share.low, share.high)}), "
        f"{_written(gained - lost, counts)} more than "
        f"{alone} alone{chance}, and calls {called:,.10g} {options.target}"
    )
    same = [one for one in judged if one["models"] == row["models"]]
    text += f"; {_elsewhere(same[0], counts)}." if same else ", chosen on these rows."
    return Answer("best-pair", text, names, measure, share.value, share.low, share.high)


def _needless(counts: TargetCounts, covered: Counts) -> Answer:
    models, k = counts.models, len(counts.models)
    hits = counts.hits[counts.hit_n > 0]
    some = counts.hit_n[counts.hits.any(axis=1)].sum()
    kept = _smallest(hits, counts) if k <= EXACT else _without_needless(hits, covered)
    left = tuple(models[j] for j in range(k) if j not in kept)
    if not left:
        text = "No model can be left out: each finds rows that no other finds."
        return Answer("all-needed", text, models)
    together = "together find" if len(kept) > 1 else "finds"
    text = (
        f"{named([models[j] for j in kept], most=k)} {together} all "
        f"{_written(some, counts)} rows that any model finds; {named(left)} could be left out."
    )
    return Answer("could-be-left-out", text, left)


def _smallest(hits: Bools, counts: TargetCounts) -> tuple[int, ...]:
    """Return the fewest models that find all; of equal sets the one that claims fewest rows."""
    every, k = hits.any(axis=1), hits.shape[1]
    whole: list[tuple[int, ...]] = []
    for size in range(1, k + 1):
        whole = whole or [
            few for few in combinations(range(k), size)
            if (hits[:, few].any(axis=1) == every).all()
        ]  # fmt: skip
    return min(whole, key=lambda few: counts.alarm_n[counts.alarms[:, few].any(axis=1)].sum())


def _without_needless(hits: Bools, covered: Counts) -> tuple[int, ...]:
    """Return models that find all: those that find least go first, where nothing is lost."""
    finders, kept = hits.sum(axis=1), set(range(hits.shape[1]))
    for j in np.argsort(covered, kind="stable").tolist():
        if not (finders[hits[:, j]] == 1).any():
            finders = finders - hits[:, j]
            kept.remove(j)
    return tuple(sorted(kept))
