"""MLcps, its orders and wishes by definition, one number at a time: the slow way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, permutations
from math import cos, pi, sin, sqrt
from typing import Any

import polars as pl

Rays = Sequence[Any]  # Fractions, ints or floats


def shoelace(rays: Rays) -> float:
    """Area of the polygon whose corners lie on rays at equal angles, from their coordinates."""
    n = len(rays)
    corners = [
        (float(r) * cos(2 * pi * i / n), float(r) * sin(2 * pi * i / n)) for i, r in enumerate(rays)
    ]
    closed = pairwise([*corners, corners[0]])
    return sum(x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in closed) / 2


def around(rays: Rays) -> Any:
    """Sum of the products of neighbours, exact if the rays are; areas compare as these do."""
    return sum(a * b for a, b in pairwise([*rays, rays[0]]))


def area(total: Any, n: int) -> float:
    """Turn a sum of products of neighbours into an area."""
    return sin(2 * pi / n) / 2 * float(total)


def orders(n: int) -> Iterator[tuple[int, ...]]:
    """Every order of n rays around a circle, each with its mirror image: (n - 1)! of them."""
    for rest in permutations(range(1, n)):
        yield (0, *rest)


def sums_over_orders(rays: Rays) -> list[Any]:
    """Return the sum of products of neighbours in every order."""
    return [around([rays[i] for i in order]) for order in orders(len(rays))]


def extremes(rays: Rays) -> tuple[Any, Any]:
    """Least and greatest sum over all orders: Held and Karp's tours over subsets, exact."""
    n = len(rays)
    last = n - 1  # the tour starts and ends at the last ray
    paths = {(1 << i, i): (rays[last] * rays[i],) * 2 for i in range(last)}
    for _ in range(n - 2):
        longer: dict[tuple[int, int], tuple[Any, Any]] = {}
        for (visited, i), (least, most) in paths.items():
            for j in range(last):
                if visited >> j & 1:
                    continue
                step = rays[i] * rays[j]
                key, low, high = (visited | 1 << j, j), least + step, most + step
                best = longer.get(key)
                longer[key] = (min(low, best[0]), max(high, best[1])) if best else (low, high)
        paths = longer
    tours = [
        (least + rays[i] * rays[last], most + rays[i] * rays[last])
        for (_, i), (least, most) in paths.items()
    ]
    return min(low for low, _ in tours), max(high for _, high in tours)


def dense(scores: Sequence[Any]) -> list[int]:
    """Rank descending, 1 the greatest; the next level has the next number."""
    levels = sorted(set(scores), reverse=True)
    return [levels.index(score) + 1 for score in scores]


def ranks_over_orders(models: Sequence[Rays]) -> tuple[list[set[int]], set[int]]:
    """All ranks each model has in some order, and the models that are first in some."""
    ranks: list[set[int]] = [set() for _ in models]
    for order in orders(len(models[0])):
        for seen, rank in zip(
            ranks, dense([around([rays[i] for i in order]) for rays in models]), strict=True
        ):
            seen.add(rank)
    return ranks, {i for i, seen in enumerate(ranks) if 1 in seen}


def mean(values: Rays) -> Any:
    """Arithmetic mean."""
    return sum(values) / len(values)


def variance(values: Rays) -> Any:
    """Sum of squares about the mean over n - 1."""
    return sum((v - mean(values)) ** 2 for v in values) / (len(values) - 1)


def sd(values: Rays) -> float:
    """Root of the variance."""
    return sqrt(variance(values))


def dominates(rays: Rays, rival: Rays) -> bool:
    """Nowhere worse, and better somewhere."""
    pairs = list(zip(rays, rival, strict=True))
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


def sign(x: Any) -> int:
    """-1, 0 or 1."""
    return int(x > 0) - int(x < 0)


def pearson(x: Rays, y: Rays) -> float:
    """Covariance over the root of the variances."""
    mx, my = mean(x), mean(y)
    products = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    return float(products) / sqrt(sum((a - mx) ** 2 for a in x) * sum((b - my) ** 2 for b in y))


def clipped(share: float) -> float:
    """Into 0..1."""
    return min(1.0, max(0.0, share))


def maximize(x: float, low: float, high: float, gamma: float = 1) -> float:
    """0 to low, 1 from high (AML4TD 15.28)."""
    return float(clipped((x - low) / (high - low)) ** gamma)


def minimize(x: float, low: float, high: float, gamma: float = 1) -> float:
    """1 to low, 0 from high."""
    return float(clipped((x - high) / (low - high)) ** gamma)


def overall(ds: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """Geometric mean, weighted."""
    weights = weights or [1.0] * len(ds)
    product = 1.0
    for d, w in zip(ds, weights, strict=True):
        product *= d ** (w / sum(weights))
    return product


def column(rows: Sequence[Any], name: str) -> list[Any]:
    """One column of a result's table, the values of estimates."""
    return [getattr(row[name], "value", row[name]) for row in rows]


def metric_frame(models: Sequence[Sequence[Any]], scale: int = 1) -> pl.DataFrame:
    """Return a metric table of models m0, m1, ... whose values are parts of `scale`."""
    return named_metric_frame({f"m{i}": values for i, values in enumerate(models)}, scale)


def named_metric_frame(
    models: Mapping[str, Sequence[Any]], scale: int = 1, metrics: Sequence[str] | None = None
) -> pl.DataFrame:
    """Return a metric table of models by name, of metrics x0, x1, ... unless they have names."""
    columns = list(zip(*models.values(), strict=True))
    names = [f"x{i}" for i in range(len(columns))] if metrics is None else metrics
    values = {name: [v / scale for v in c] for name, c in zip(names, columns, strict=True)}
    return pl.DataFrame({"model": list(models), **values})
