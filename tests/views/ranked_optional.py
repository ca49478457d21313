"""The tables of a ranking that an option asks for; what is no arithmetic is invented."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from clfeval.result import Estimate, Row, Rows

Array = npt.NDArray[np.float64]
Ranks = Sequence[int | None]


def moved_weights(names: Sequence[str], ranks: Ranks) -> list[Row]:
    """Return the table of --weight-sensitivity."""
    shares = {1: Estimate(0.8125, 0.78, 0.84), 2: Estimate(0.1875, 0.16, 0.22)}
    nothing = Estimate(0.0, 0.0, 0.003)
    found = [shares.get(rank or 0, nothing) for rank in ranks]
    return [
        {"model": name, "share": one, "share_order_free": one}
        for name, one in zip(names, found, strict=True)
    ]


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
