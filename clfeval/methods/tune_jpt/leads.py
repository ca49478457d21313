"""Who leads where: the tables of winners, and of where two models change places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Floats
from clfeval.counts.count import Sample
from clfeval.counts.patterns import PatternCounts
from clfeval.measures.catalog import CATALOG
from clfeval.measures.population import Population
from clfeval.methods.estimates import Cells, column
from clfeval.methods.tune_jpt.contest import Contest, Crossing, crossings, settled
from clfeval.methods.tune_jpt.options import FULL_SWEEP, TuneOptions, sweep
from clfeval.methods.tune_jpt.tables import Place, places_of
from clfeval.methods.verdict import EQUIVALENT, NOT_WORSE, UNDECIDED, verdict
from clfeval.result import Estimate, Row, Rows

MOST_PAIRED = 30  # models of which every two are compared unasked
_GRID = 2001  # odds at which signs are compared, evenly in the logarithm
_LOOKS = 13  # odds at which a lead without crossing is tested


def contest_tables(given: Sample, options: TuneOptions) -> dict[str, Rows]:
    """Return which model leads where, over the swept odds or else over the full range."""
    populations = (*(options.swept or sweep(FULL_SWEEP, 2)), *options.populations)
    looked_at = [one.ratio for one in populations]
    crossovers: list[Row] = []
    winners: list[Row] = []
    for label, counts in given.slices.items():
        both = _shared_answers(given.patterns.get(label))
        level = options.confidence if given.sampled else None
        name, rest = str(options.compared), (options.beta, options.stakes)
        contest = Contest(name, counts, both, level, *rest)
        if options.crossover is not None or len(counts.models) <= MOST_PAIRED:
            crossovers += crossover_rows(label, contest, (min(looked_at), max(looked_at)))
        places = places_of(given, label, options)
        for kinds in (("sample", "target"), ("sweep",)):
            winners += winner_rows(
                label, contest, [one for one in places if one[0] in kinds], options.margin
            )
    tables: dict[str, Rows] = {"crossovers": crossovers} if crossovers else {}
    return tables | {"winners": winners}


def _shared_answers(patterns: PatternCounts | None) -> tuple[Floats, Floats] | None:
    """Return how many positives, and negatives, each two models both call positive: (k, k) each."""
    if patterns is None:
        return None
    sides = []
    for rows in (patterns.truth, ~patterns.truth):
        votes = patterns.votes[rows].astype(np.float64)
        sides.append((votes.T * patterns.n[rows]) @ votes)
    return sides[0], sides[1]


def winner_rows(
    label: str | None, contest: Contest, places: Sequence[Place], margin: float | None = None
) -> list[Row]:
    """Return, per population, the model with the best value; a winner only if it beats every other.

    `winner` is that model where the interval of each difference, paired on the rows the models
    share, excludes 0; else None, and `undecided` names the models it does not beat for sure. The
    intervals of a row hold together, those of swept rows over the whole sweep. With a margin also
    the verdict on the leader against all others, those that are `equivalent` to it, and those that
    `may_be_better` by as much as matters.
    """
    if not places:
        return []
    names = contest.counts.models
    contest = contest.together(len(names) - 1, everywhere=places[0][0] == "sweep")
    ratios = np.array([population.ratio for _, population in places])
    values = contest.values(ratios)
    ranked = np.where(np.isnan(values), -np.inf, contest.sign * values)
    leaders = ranked.argmax(axis=1)
    k = len(names)
    every = np.tile(np.arange(k), len(places))
    standing, at = contest.standing(every, np.repeat(ratios, k)), np.arange(len(places))
    ahead = standing[:, np.repeat(at * k + leaders, k)]
    _, low, high = contest.compare(np.repeat(leaders, k), every, ahead, standing)
    low, high = (end.reshape(len(places), k) for end in (low, high))
    sure = low > 0
    cells = Cells.picked(contest.counts, leaders, ratios)
    best = column(values[at, leaders], None, cells, CATALOG[contest.name].tuned)
    rows: list[dict[str, Any]] = []
    for g, (kind, population) in enumerate(places):
        leader = int(leaders[g])
        others = [j for j in range(k) if j != leader and not np.isnan(values[g, j])]
        undecided = [names[j] for j in others if not sure[g, j]]
        defined = not np.isnan(values[g, leader])
        called = defined and not undecided and bool(others) and contest.level is not None
        rows.append(
            {
                "slice": label, "measure": contest.name, "population": kind,
                "prevalence": population.prevalence, "odds": population.odds,
                "ratio": population.ratio, "leader": names[leader] if defined else None,
                "value": best[g], "winner": names[leader] if called else None,
                "undecided": undecided if defined else [],
            }
        )  # fmt: skip
        if margin is not None:
            ends = {names[j]: (low[g, j].item(), high[g, j].item()) for j in others if defined}
            rows[-1] |= _that_matters(ends, margin)
    return list(rows)


def _that_matters(ends: Mapping[str, tuple[float, float]], margin: float) -> dict[str, Any]:
    """Say how the leader compares with the others, by the intervals of how much better it is."""
    known = {
        name: verdict(low, high, int(low > 0), margin)
        for name, (low, high) in ends.items() if low == low
    }  # fmt: skip
    found, together = {*known.values()}, None
    if known and len(known) == len(ends):
        mixed = UNDECIDED if UNDECIDED in found else NOT_WORSE
        together = found.pop() if len(found) == 1 else mixed
    least = min((low for low, _ in ends.values()), default=np.nan)
    return {
        "verdict": together,
        "least_lead": least if np.isfinite(least) else None,
        "equivalent": [name for name, one in known.items() if one == EQUIVALENT],
        "may_be_better": [name for name, one in known.items() if one == UNDECIDED],
    }


def crossover_rows(label: str | None, contest: Contest, ends: tuple[float, float]) -> list[Row]:
    """Return a row for every crossing of every pair of models, and one for a pair without any.

    The limits of a crossing are the prevalences, on either side of it, from which on the interval
    of the difference excludes 0; None where it covers 0 up to the end of the range. `ends` are
    odds, the lower first. The value is a prevalence inside them, or None and the reason: `none`,
    `identical`, `invariant` or `undefined`. All intervals hold together, over every class ratio
    and every pair: with probability `level` no lead at all is called certain that is none.
    Source: Eiland and Liebrock 2013 for TAR; the limits invert the interval of the difference.
    """
    names = contest.counts.models
    pairs = list(combinations(range(len(names)), 2))
    contest = contest.together(len(pairs), everywhere=True)
    ratios = np.geomspace(*ends, _GRID)
    values = contest.values(ratios)
    found = crossings(contest, ratios, values, pairs)
    judged = iter(settled(contest, [one for pair in pairs for one in found[pair]], ends))
    certain = _certainty(contest, ends)
    rows: list[Row] = []
    for i, j in pairs:
        head = {"slice": label, "measure": contest.name, "first": names[i], "second": names[j]}
        rows += [{**head, **_crossed(contest, next(judged))} for _ in found[i, j]]
        if not found[i, j]:
            rows.append({**head, **_uncrossed(contest, ends, values, i, j, certain)})
    return rows


def _crossed(contest: Contest, one: Crossing) -> dict[str, Any]:
    low, high = (None if r is None else r / (1 + r) for r in (one.low, one.high))
    below, above = (contest.counts.models[i] for i in (one.below, one.above))
    at = Population.of_ratio(one.ratio)
    verdict = f"{below} leads below prevalence {at.prevalence:.3g} ({at.rough}), {above} above"
    if contest.level is not None and None in (low, high):
        sure = f"only the lead of {below if low is not None else above}"
        verdict += f"; {'no lead' if low is high else sure} is certain"
    return {
        "crossing": Estimate(at.prevalence, low, high), "odds": at.odds, "leads_below": below,
        "leads_above": above, "verdict": verdict,
    }  # fmt: skip


def _uncrossed(
    contest: Contest, ends: tuple[float, float], values: Floats, i: int, j: int,
    certain: Bools | None,
) -> dict[str, Any]:  # fmt: skip
    """Say why there is no crossing, who leads throughout, and how surely."""
    signs = contest.signs(values[:, i], values[:, j])
    low, high = (Population.of_ratio(end).rough for end in ends)
    reason, leader, words = "none", None, ""
    if np.isnan(signs).all():
        reason, words = "undefined", "undefined for one of them at least"
    elif not signs[~np.isnan(signs)].any():
        reason, words = "identical", "equal at every class ratio"
    else:
        ahead, behind = (i, j) if np.nansum(signs) > 0 else (j, i)
        leader = contest.counts.models[ahead]
        if CATALOG[contest.name].invariant:
            reason, words = "invariant", "does not move with the class ratio; "
        words += f"{leader} leads from {low} to {high}"
        if certain is not None:
            sure = certain[:, ahead, behind]
            how = "for certain" if sure.all() else "in part for certain" if sure.any() else ""
            words += f", {how or 'nowhere for certain'}"
    return {
        "crossing": Estimate(None, reason=reason), "odds": None, "leads_below": leader,
        "leads_above": leader, "verdict": f"none: {words}",
    }  # fmt: skip


def _certainty(contest: Contest, ends: tuple[float, float]) -> Bools | None:
    """Return at a few odds which model's lead over which excludes 0: (looks, k, k)."""
    k = len(contest.counts.models)
    if contest.level is None:
        return None
    every = np.arange(k)
    first, second = np.repeat(every, k), np.tile(every, k)
    sure = np.empty((_LOOKS, k, k), bool)
    for place, ratio in enumerate(np.geomspace(*ends, _LOOKS)):
        here = contest.standing(every, np.full(k, ratio))
        low = contest.compare(first, second, here[:, first], here[:, second])[1]
        sure[place] = (low > 0).reshape(k, k)
    return sure
