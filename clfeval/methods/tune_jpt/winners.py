"""Who leads in each population, and where models change places, in numbers and in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from clfeval.arrays import Bools
from clfeval.measures.catalog import CATALOG
from clfeval.measures.population import Population
from clfeval.methods.estimates import estimate
from clfeval.methods.tune_jpt.contest import Contest, Crossing, Field, settled
from clfeval.result import Estimate, Row

Place = tuple[str, Population]  # sample, target or sweep; and the population


def winner_rows(label: str | None, contest: Contest, places: Sequence[Place]) -> list[Row]:
    """Return, per population, the model with the best value; a winner only if it beats every other.

    `winner` is that model where the interval of each difference, paired on the rows the models
    share, excludes 0; else None, and `undecided` names the models it does not beat for sure.
    """
    names = contest.counts.models
    ratios = np.array([population.ratio for _, population in places])
    values = contest.values(ratios)
    ranked = np.where(np.isnan(values), -np.inf, contest.sign * values)
    leaders = ranked.argmax(axis=1)
    k = len(names)
    every = np.tile(np.arange(k), len(places))
    standing = contest.standing(every, np.repeat(ratios, k))
    first = np.repeat(leaders, k)
    ahead = standing.at(np.repeat(np.arange(len(places)) * k + leaders, k))
    _, low, _ = contest.compare(first, every, ahead, standing)
    sure = (low > 0).reshape(len(places), k)
    rows: list[Row] = []
    for g, (kind, population) in enumerate(places):
        leader = int(leaders[g])
        others = [j for j in range(k) if j != leader and not np.isnan(values[g, j])]
        undecided = [names[j] for j in others if not sure[g, j]]
        defined = not np.isnan(values[g, leader])
        called = defined and not undecided and bool(others) and contest.level is not None
        rows.append(
            {
                "slice": label,
                "measure": contest.name,
                "population": kind,
                "prevalence": population.prevalence,
                "odds": population.odds,
                "ratio": population.ratio,
                "leader": names[leader] if defined else None,
                "value": estimate(
                    float(values[g, leader]),
                    undefined=CATALOG[contest.name].tuned,
                    table=contest.table(leader),
                ),
                "winner": names[leader] if called else None,
                "undecided": undecided if defined else [],
            }
        )
    return rows


_LOOKS = 13  # odds at which a lead without crossing is tested


def crossover_rows(label: str | None, contest: Contest, ends: tuple[float, float]) -> list[Row]:
    """Return a row for every crossing of every pair of models, and one for a pair without any.

    The limits of a crossing are the prevalences, on either side of it, from which on the interval
    of the difference excludes 0; None where it covers 0 up to the end of the range. `ends` are
    odds, the lower first. The value is a prevalence inside them, or None and the reason: `none`,
    `identical`, `invariant` or `undefined`.
    Source: Eiland and Liebrock 2013 for TAR; the limits invert the interval of the difference.
    """
    names = contest.counts.models
    pairs = list(combinations(range(len(names)), 2))
    field = Field.over(contest, ends)
    found = {pair: field.crossings(*pair) for pair in pairs}
    judged = iter(settled(contest, [one for pair in pairs for one in found[pair]], ends))
    certain = _certainty(field)
    rows: list[Row] = []
    for i, j in pairs:
        head = {
            "slice": label, "measure": contest.name, "first": names[i], "second": names[j],
        }  # fmt: skip
        rows += [{**head, **_crossed(contest, next(judged))} for _ in found[i, j]]
        if not found[i, j]:
            rows.append({**head, **_uncrossed(field, i, j, certain)})
    return rows


def _crossed(contest: Contest, one: Crossing) -> dict[str, Any]:
    names, at = contest.counts.models, Population.of_ratio(one.ratio)
    low, high = (None if r is None else r / (1 + r) for r in (one.low, one.high))
    below, above = names[one.below], names[one.above]
    verdict = f"{below} leads below prevalence {at.prevalence:.3g} ({at.rough}), {above} above"
    if contest.level is not None and None in (low, high):
        sure = below if low is not None else above
        verdict += (
            "; no lead is certain" if low is high else f"; only the lead of {sure} is certain"
        )
    return {
        "crossing": Estimate(at.prevalence, low, high),
        "odds": at.odds,
        "leads_below": below,
        "leads_above": above,
        "verdict": verdict,
    }


def _uncrossed(
    field: Field, i: int, j: int, certain: np.ndarray[Any, Any] | None
) -> dict[str, Any]:
    """Say why there is no crossing, who leads throughout, and how surely."""
    contest, signs = field.contest, field.signs(i, j)
    ends = [Population.of_ratio(field.ratios[end].item()).rough for end in (0, -1)]
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
        words += f"{leader} leads from {ends[0]} to {ends[1]}"
        if certain is not None:
            sure = certain[:, ahead, behind]
            how = "for certain" if sure.all() else "in part for certain" if sure.any() else ""
            words += f", {how or 'nowhere for certain'}"
    return {
        "crossing": Estimate(None, reason=reason),
        "odds": None,
        "leads_below": leader,
        "leads_above": leader,
        "verdict": f"none: {words}",
    }


def _certainty(field: Field) -> Bools | None:
    """Return at a few odds which model's lead over which excludes 0: (looks, k, k)."""
    contest, k = field.contest, len(field.contest.counts.models)
    if contest.level is None:
        return None
    every = np.arange(k)
    first, second = np.repeat(every, k), np.tile(every, k)
    sure = np.empty((_LOOKS, k, k), bool)
    for place, ratio in enumerate(np.geomspace(field.ratios[0], field.ratios[-1], _LOOKS)):
        here = contest.standing(every, np.full(k, ratio))
        low = contest.compare(first, second, here.at(first), here.at(second))[1]
        sure[place] = (low > 0).reshape(k, k)
    return sure
