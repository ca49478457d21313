"""Lines in the diamond on which a measure keeps its value, at a prevalence; and the corners."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from clfeval.arrays import Bools, Floats
from clfeval.inference.special import halved
from clfeval.measures.confusion import Confusion, mutual_information
from clfeval.measures.plane import position, tilted
from clfeval.measures.population import Population
from clfeval.result import Row

STEPS = 64  # points of a curved line

Line = tuple[Floats, Floats]  # tp and fp of its points

CORNERS = {
    "oracle": (1, 0), "always positive": (1, 1), "anti-oracle": (0, 1), "always negative": (0, 0),
}  # fmt: skip


def corner_rows(populations: Sequence[Population]) -> list[Row]:
    """Return where the four corners lie at each prevalence: (0, 1) and the three that move."""
    return [
        {
            "prevalence": population.prevalence, "odds": population.odds, "corner": name,
            "phi_b": float(phi), "delta_b": float(delta),
        }
        for population in populations
        for name, rates in CORNERS.items()
        for phi, delta in [tilted(*rates, population.prevalence)]
    ]  # fmt: skip


def isometric_rows(
    wanted: Sequence[tuple[str, tuple[float, ...]]], populations: Sequence[Population]
) -> list[Row]:
    """Return the points of every line wanted, at each prevalence, to be joined by straight lines.

    phi, delta: in the diamond; phi_b, delta_b: in the one of that prevalence.
    """
    rows: list[Row] = []
    for population in populations:
        p = population.prevalence
        for measure, values in wanted:
            for value in values:
                for branch, (tp, fp) in enumerate(lines(measure, value, p)):
                    columns = (*position(tp, fp), *tilted(tp, fp, p))
                    for point, place in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
                        names = ("phi", "delta", "phi_b", "delta_b")
                        rows.append(
                            {
                                "measure": measure, "value": value, "prevalence": p,
                                "odds": population.odds, "branch": branch, "point": point,
                                **dict(zip(names, place, strict=True)),
                            }
                        )  # fmt: skip
    return rows


def lines(measure: str, value: float, p: float) -> Iterator[Line]:
    """Yield the lines (tp, fp) inside the unit square on which the measure has the value.

    All but mutual information are straight: a tp + b fp = c.
        sensitivity v   tp = v               specificity v   fp = 1 - v
        accuracy v      p tp - n fp = v - n
        precision v     p (1 - v) tp - n v fp = 0
        npv v           p v (1 - tp) - n (1 - v) (1 - fp) = 0
    """
    n = 1 - p
    if measure == "mutual_information":
        yield from _information(value, p)
        return
    a, b, c = {
        "sensitivity": (1.0, 0.0, value), "specificity": (0.0, 1.0, 1 - value),
        "accuracy": (p, -n, value - n), "precision": (p * (1 - value), -n * value, 0.0),
        "npv": (-p * value, n * (1 - value), n * (1 - value) - p * value),
    }[measure]  # fmt: skip
    ends = _inside(a, b, c)
    if len(ends) == 2:
        yield np.array([x for x, _ in ends]), np.array([y for _, y in ends])


def _inside(a: float, b: float, c: float) -> list[tuple[float, float]]:
    """Return the two points where a x + b y = c enters and leaves the unit square."""
    found = []
    for edge in (0.0, 1.0):
        if b:
            found.append((edge, (c - a * edge) / b))
        if a:
            found.append(((c - b * edge) / a, edge))
    ends = {
        (round(min(max(x, 0.0), 1.0), 12), round(min(max(y, 0.0), 1.0), 12))
        for x, y in found
        if -1e-12 <= x <= 1 + 1e-12 and -1e-12 <= y <= 1 + 1e-12
    }
    ordered = sorted(ends)
    return [ordered[0], ordered[-1]] if len(ordered) > 1 else []


def _information(value: float, p: float) -> Iterator[Line]:
    """Yield the lines above and below the phi axis: information grows with distance from it."""
    if value == 0:
        yield np.array([0.0, 1.0]), np.array([0.0, 1.0])
        return
    for sign in (1.0, -1.0):
        if _bits(np.zeros(1), np.array([sign]), p)[0] <= value:
            continue  # the (anti-)oracle tells no more than that
        left, right = (_end(side, sign, value, p) for side in (-1.0, 1.0))
        phi = left + (right - left) * (1 - np.cos(np.linspace(0, np.pi, STEPS + 1))) / 2
        highest = 1 - np.abs(phi)
        _, high = halved(partial(_tells_less, phi, sign, value, p), np.zeros_like(phi), highest)
        delta = sign * high
        delta[[0, -1]] = sign * (1 - np.abs(phi[[0, -1]]))
        yield (phi + delta + 1) / 2, (phi - delta + 1) / 2


def _end(side: float, sign: float, value: float, p: float) -> float:
    """Return phi where the border from the (anti-)oracle to a side corner has the value."""
    near, _ = halved(
        lambda phi: _bits(phi, sign * (1 - np.abs(phi)), p) > value, np.zeros(1), np.array([side])
    )
    return float(near[0])


def _tells_less(phi: Floats, sign: float, value: float, p: float, height: Floats) -> Bools:
    """Tell where the information that far from the phi axis is below the value."""
    return np.asarray(_bits(phi, sign * height, p) < value)


def _bits(phi: Floats, delta: Floats, p: float) -> Floats:
    rates = (phi + delta + 1) / 2, (phi - delta + 1) / 2
    return mutual_information(Confusion.of_prevalence(*rates, p))
