"""Lines in the diamond on which a measure keeps its value, at a prevalence; and the corners."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from clfeval.arrays import Floats
from clfeval.document import Row
from clfeval.inference.distributions import bisect
from clfeval.measures.confusion import Confusion, mutual_information
from clfeval.measures.odds import CORNERS, phi_delta, phi_delta_at_prevalence
from clfeval.measures.record import Population

STEPS = 64  # points of a curved line

Line = tuple[Floats, Floats]  # tp and fp of its points


def corner_rows(populations: Sequence[Population]) -> list[Row]:
    """Return where the four corners lie at each prevalence: (0, 1) and the three that move."""
    return [
        {
            "prevalence": population.prevalence, "odds": population.odds, "corner": name,
            "phi_b": float(phi), "delta_b": float(delta),
        }
        for population in populations
        for name, rates in CORNERS.items()
        for phi, delta in [phi_delta_at_prevalence(*rates, population.prevalence)]
    ]  # fmt: skip


def isometric_rows(
    wanted: Sequence[tuple[str, tuple[float, ...]]], populations: Sequence[Population]
) -> list[Row]:
    """Return the points of every line at each prevalence: phi, delta, and phi_b, delta_b."""
    rows: list[Row] = []
    for one in populations:
        for measure, value in ((name, value) for name, values in wanted for value in values):
            for branch, (tp, fp) in enumerate(isometric_lines(measure, value, one.prevalence)):
                places = np.stack(
                    [*phi_delta(tp, fp), *phi_delta_at_prevalence(tp, fp, one.prevalence)], axis=1
                )
                rows += [
                    {
                        "measure": measure, "value": value, "prevalence": one.prevalence,
                        "odds": one.odds, "branch": branch, "point": point,
                        "phi": phi, "delta": delta, "phi_b": phi_b, "delta_b": delta_b,
                    }
                    for point, (phi, delta, phi_b, delta_b) in enumerate(places.tolist())
                ]  # fmt: skip
    return rows


def isometric_lines(measure: str, value: float, p: float) -> Iterator[Line]:
    """Yield the lines (tp, fp) inside the unit square on which the measure has the value.

    All but mutual information are straight: a tp + b fp = c.
        sensitivity v   tp = v               specificity v   fp = 1 - v
        accuracy v      p tp - n fp = v - n
        precision v     p (1 - v) tp - n v fp = 0
        npv v           p v (1 - tp) - n (1 - v) (1 - fp) = 0
    """
    n = 1 - p
    if measure == "mutual_information":
        yield from _information_lines(value, p)
        return
    a, b, c = {
        "sensitivity": (1.0, 0.0, value), "specificity": (0.0, 1.0, 1 - value),
        "accuracy": (p, -n, value - n), "precision": (p * (1 - value), -n * value, 0.0),
        "npv": (-p * value, n * (1 - value), n * (1 - value) - p * value),
    }[measure]  # fmt: skip
    # where a x + b y = c enters and leaves the unit square, but for rounding
    met = [(x, (c - a * x) / b) for x in (0.0, 1.0) if b]
    met += [((c - b * y) / a, y) for y in (0.0, 1.0) if a]
    inside = [at for at in met if all(-1e-12 <= part <= 1 + 1e-12 for part in at)]
    ends = sorted({tuple(round(min(max(part, 0.0), 1.0), 12) for part in at) for at in inside})
    if len(ends) > 1:
        first, last = np.array([ends[0], ends[-1]]).T
        yield first, last


def _information_lines(value: float, p: float) -> Iterator[Line]:
    """Yield the lines above and below the phi axis: information grows with distance from it."""
    if value == 0:
        yield np.array([0.0, 1.0]), np.array([0.0, 1.0])
        return
    for sign in (1.0, -1.0):
        if (
            _information_bits(np.zeros(1), np.array([sign]), p)[0] > value
        ):  # else no point tells more
            yield _information_branch(sign, value, p)


def _information_branch(sign: float, value: float, p: float) -> Line:
    def bits(phi: Floats, height: Floats) -> Floats:
        return _information_bits(phi, sign * height, p)

    # on the borders from the (anti-)oracle to both side corners
    ends, _ = bisect(lambda x: bits(x, 1 - np.abs(x)) > value, np.zeros(2), np.array([-1.0, 1.0]))
    phi = ends[0] + (ends[1] - ends[0]) * (1 - np.cos(np.linspace(0, np.pi, STEPS + 1))) / 2
    highest = 1 - np.abs(phi)
    _, high = bisect(lambda y: bits(phi, y) < value, np.zeros_like(phi), highest)
    high[[0, -1]] = highest[[0, -1]]
    delta = sign * high
    return (phi + delta + 1) / 2, (phi - delta + 1) / 2


def _information_bits(phi: Floats, delta: Floats, p: float) -> Floats:
    rates = (phi + delta + 1) / 2, (phi - delta + 1) / 2
    return mutual_information(Confusion.from_prevalence(*rates, p))
