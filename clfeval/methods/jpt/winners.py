"""Which model leads in each population, and whether that is beyond doubt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clfeval.measures.population import Population
from clfeval.methods.jpt.contest import Contest
from clfeval.methods.jpt.tables import estimate
from clfeval.result import Row

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
                "value": estimate(contest.name, float(values[g, leader]), np.nan, np.nan),
                "winner": names[leader] if called else None,
                "undecided": undecided if defined else [],
            }
        )
    return rows
