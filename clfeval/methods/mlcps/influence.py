"""What each metric does to the ranking: who is first without it, and with twice its weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clfeval.methods.mlcps.ranking import Ranking
from clfeval.methods.mlcps.ranks import dense_ranks, firsts
from clfeval.methods.mlcps.scale import RAYS
from clfeval.result import Row

Floats = NDArray[np.float64]


def metric_rows(ranking: Ranking) -> list[Row]:
    """Return a row per ray: its scale, its values, and what it changes by MLcps in this order."""
    rows: list[Row] = []
    rays = ranking.d * ranking.weights
    ranks = ranking.ranks["mlcps"]
    names = ranking.given.models
    n = len(ranking.scales)
    products = rays * np.roll(rays, -1, axis=1) if n >= RAYS else rays
    total = products.sum(axis=1)
    for i, scale in enumerate(ranking.scales):
        raw = ranking.given.values[:, scale.place]
        row: dict[str, object] = {
            "metric": scale.metric,
            "direction": scale.best,
            "low": scale.low,
            "high": scale.high,
            "weight": scale.weight,
            "least": float(raw.min()),
            "average": float(raw.mean()),
            "most": float(raw.max()),
        }
        before, after = rays[:, i - 1], rays[:, (i + 1) % n]
        around = products[:, i] + products[:, i - 1]
        without = total - around + before * after if n > RAYS else None
        doubled = total + around if n >= RAYS else None
        for key, areas in (("without", without), ("doubled", doubled)):
            moved = None if areas is None else dense_ranks(np.maximum(areas, 0.0))
            row[f"winner_{key}"] = None if moved is None else _named(names, moved)
            row[f"moved_{key}"] = None if moved is None else int((moved != ranks).sum())
        rows.append(row)  # type: ignore[arg-type]
    return rows


def _named(names: tuple[str, ...], ranks: NDArray[np.int64]) -> str:
    """Name who is first; of several that tie, the first and how many more."""
    first, *others = firsts(ranks)
    return names[first] + (f" (and {len(others)} more)" if others else "")
