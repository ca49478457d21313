"""The tables of a ranking that an option asks for; what is no arithmetic is invented."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from clfeval.result import Estimate, Row, Rows

Array = npt.NDArray[np.float64]
Ranks = Sequence[int | None]


def moved_weights(
    names: Sequence[str], ranks: Ranks, metrics: Sequence[str], weights: Sequence[float]
) -> dict[str, Rows]:
    """Return the tables of --weight-sensitivity."""
    rival = next((name for name, rank in zip(names, ranks, strict=True) if rank == 2), None)
    never = Estimate(None, reason="never")
    factors = {1: Estimate(None, reason="winner"), 2: Estimate(1.25)}
    shares = {1: Estimate(0.8125, 0.78, 0.84), 2: Estimate(0.1875, 0.16, 0.22)}
    nothing = Estimate(0.0, 0.0, 0.003)
    shown: list[Row] = [
        {
            "model": name,
            "share": shares.get(rank or 0, nothing),
            "share_order_free": shares.get(rank or 0, nothing),
            "factor": factors.get(rank or 0, never),
        }
        for name, rank in zip(names, ranks, strict=True)
    ]
    dethroning: list[Row] = [
        {
            "metric": metric,
            "weight": weight,
            "joint": weight * (1.25 if i % 2 else 0.8) if rival else None,
            "joint_winner": rival,
            "lower": Estimate(0.375) if i == 0 and rival else never,
            "lower_winner": rival if i == 0 else None,
            "upper": Estimate(2.625) if i == 1 and rival else never,
            "upper_winner": rival if i == 1 else None,
        }
        for i, (metric, weight) in enumerate(zip(metrics, weights, strict=True))
    ]
    return {"weights": shown, "dethroning": dethroning}


def desired(
    names: Sequence[str],
    metrics: Sequence[str],
    raw: Array,
    wished: Array,
    goals: Mapping[str, tuple[float, float]],
) -> list[Row]:
    """Return the table of --desirability."""
    return [
        {
            "model": name,
            "metric": metric,
            "goal": "maximize from {:g} to {:g}".format(*goals[metric]),
            "value": float(raw[i, j]),
            "d": Estimate(float(wished[i, j])),
            "weight": 1.0,
            "dealbreaker": bool(wished[i, j] == 0),
        }
        for i, name in enumerate(names)
        for j, metric in enumerate(metrics)
    ]


def agreed(
    names: Sequence[str],
    here: Array,
    there: Array,
    ranks: tuple[Ranks, Ranks],
    metrics: Sequence[str],
) -> dict[str, Rows]:
    """Return the tables of --compare; every score agrees as MLcps does."""
    tops = [[name for name, r in zip(names, side, strict=True) if r == 1] for side in ranks]
    pairs = [(i, j) for i in range(len(names)) for j in range(i)]
    alike = [float(np.sign((here[i] - here[j]) * (there[i] - there[j]))) for i, j in pairs]
    tau = Estimate(sum(alike) / len(alike)) if any(alike) else Estimate(None, reason="constant")
    shared: dict[str, Any] = {
        "models": len(names), "kendall": tau, "spearman": tau, "top_here": tops[0],
        "top_there": tops[1], "same_top": tops[0] == tops[1],
    }  # fmt: skip
    compared: list[Row] = [
        {
            "model": name,
            "here": Estimate(float(here[i])),
            "there": Estimate(float(there[i])),
            "rank_here": a,
            "rank_there": b,
            "moved": b - a if a and b else None,
        }
        for i, (name, a, b) in enumerate(zip(names, *ranks, strict=True))
    ]
    measures = ("mlcps", "order_free", "mean", *metrics)
    return {"agreement": [{"measure": m, **shared} for m in measures], "compared": compared}
