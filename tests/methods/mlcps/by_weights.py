"""MLcps under weights, one model and one weighting at a time: the slow way, for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def around(rays: Sequence[float] | np.ndarray) -> float:
    """Sum of products of neighbouring rays, closed."""
    return sum(float(rays[i - 1]) * float(rays[i]) for i in range(len(rays)))


def all_pairs(rays: Sequence[float]) -> float:
    """Sum of products of every two rays."""
    return sum(rays[i] * sum(rays[:i]) for i in range(len(rays)))


def plain_wins(d: np.ndarray, weightings: np.ndarray) -> tuple[list[int], list[int]]:
    """Count for every weighting all models within one part in 10**12 of the greatest."""
    wins = [[0] * len(d), [0] * len(d)]
    for w in weightings:
        models = (d * w).tolist()
        for kind, score in enumerate((around, all_pairs)):
            scores = [score(rays) for rays in models]
            for model, value in enumerate(scores):
                wins[kind][model] += value >= max(scores) * (1 - 1e-12)
    return wins[0], wins[1]
