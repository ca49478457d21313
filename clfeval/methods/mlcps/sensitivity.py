"""The tables of weight sensitivity: who wins on how much of the simplex, and what dethrones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clfeval.inference.bootstrap import stream
from clfeval.methods.mlcps.dethroning import alone, dethroner, factors
from clfeval.methods.mlcps.ranking import Ranking
from clfeval.methods.mlcps.weights import winner_shares
from clfeval.methods.proportions import proportions
from clfeval.result import Estimate, Row

Floats = NDArray[np.float64]


def weight_rows(ranking: Ranking, needed: Floats, draws: int) -> list[Row]:
    """Return per model the share of all weights that make it first, and the factor needed."""
    options = ranking.options
    wins, free = winner_shares(ranking.rays, draws=draws, rng=stream(options.seed, "weights"))
    shares = [
        proportions(part, np.full(len(part), draws), "no_draws", level=options.level)
        for part in (wins, free)
    ]
    return [
        {
            "model": model,
            "share": share,
            "share_order_free": order_free,
            "factor": Estimate(factor)
            if np.isfinite(factor)
            else Estimate(None, reason="winner" if factor != factor else "never"),
        }
        for model, share, order_free, factor in zip(
            ranking.given.models, *shares, needed.tolist(), strict=True
        )
    ]


def factors_of(ranking: Ranking) -> Floats:
    """Return the factor by which weights must change for each model to pass; NaN for the first.

    Models that tie for the first place are first, all of them.
    """
    needed = factors(ranking.d, ranking.weights, _winner(ranking))
    needed[ranking.ranks["mlcps"] == 1] = np.nan
    return needed


def dethroning_rows(ranking: Ranking, needed: Floats) -> list[Row]:
    """Return per metric the weight at which the winner loses, all moving, and each alone."""
    winner, names = _winner(ranking), ranking.given.models
    nearest = dethroner(ranking.d, ranking.weights, winner, known=needed)
    lower, lower_by, upper, upper_by = alone(ranking.d, ranking.weights, winner)

    def crossing(value: float) -> Estimate:
        return Estimate(value) if value == value else Estimate(None, reason="never")

    rows: list[Row] = []
    for i, scale in enumerate(ranking.scales):
        there = nearest.rival >= 0
        rows.append(
            {
                "metric": scale.metric,
                "weight": scale.weight,
                "joint": float(nearest.weights[i]) if there else None,
                "joint_winner": names[nearest.rival] if there else None,
                "lower": crossing(float(lower[i])),
                "lower_winner": names[lower_by[i]] if lower_by[i] >= 0 else None,
                "upper": crossing(float(upper[i])),
                "upper_winner": names[upper_by[i]] if upper_by[i] >= 0 else None,
            }
        )
    return rows


def _winner(ranking: Ranking) -> int:
    """Return who is first by MLcps; of several that tie, the first in the table."""
    return int(np.flatnonzero(ranking.ranks["mlcps"] == 1)[0])
