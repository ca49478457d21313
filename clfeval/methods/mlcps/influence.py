"""What each metric does to the ranking: who is first without it, and with twice its weight."""

from __future__ import annotations

from collections.abc import Callable

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
    areas = _areas(rays) if n >= RAYS else None
    for i, scale in enumerate(ranking.scales):
        raw = ranking.given.values[:, scale.place]
        row: dict[str, object] = {
            "metric": scale.metric,
            "direction": scale.best,
            "low": scale.low,
            "high": scale.high,
            "weight": scale.weight,
            "least": float(raw.min()),
            "average": float(np.sort(raw).mean()),  # the order of models is no matter
            "most": float(raw.max()),
        }
        without, doubled = (None, None) if areas is None else areas(i)
        for key, area in (("without", without), ("doubled", doubled)):
            moved = None if area is None else dense_ranks(area)
            row[f"winner_{key}"] = None if moved is None else _named(names, moved)
            row[f"moved_{key}"] = None if moved is None else int((moved != ranks).sum())
        rows.append(row)  # type: ignore[arg-type]
    return rows


def _areas(rays: Floats) -> Callable[[int], tuple[Floats | None, Floats]]:
    """Return the function from a ray to the areas without it, and with twice its length.

    Up to the factor that all models share; without it only where three rays are left. Products
    are added up, never taken away again: that would leave their rounding.
    """
    n = rays.shape[1]
    products = rays * np.roll(rays, -1, axis=1)
    up_to = np.cumsum(products, axis=1)
    onward = np.cumsum(products[:, ::-1], axis=1)[:, ::-1]

    def areas(i: int) -> tuple[Floats | None, Floats]:
        doubled = up_to[:, -1] + products[:, i] + products[:, i - 1]
        if n <= RAYS:
            return None, doubled
        if i == 0:
            rest = products[:, 1:-1].sum(axis=1)
        else:
            rest = (up_to[:, i - 2] if i > 1 else 0.0) + (onward[:, i + 1] if i < n - 1 else 0.0)
        return rest + rays[:, i - 1] * rays[:, (i + 1) % n], doubled

    return areas


def _named(names: tuple[str, ...], ranks: NDArray[np.int64]) -> str:
    """Name who is first; of several that tie, the first and how many more."""
    first, *others = firsts(ranks)
    return names[first] + (f" (and {len(others)} more)" if others else "")
