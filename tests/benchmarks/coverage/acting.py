"""Whether acting is said to help at a risk where it does not: models that are of no use anywhere.

Idle: scores without any tie to the truth. Undone: scores too extreme by just so much that at every
threshold probability acting on them gains nothing over treating all, or none. Rows below t have a
risk of t on average where t is below the prevalence, and rows above it where it is above: of a
density that grows as s^(1/k - 1) up to the prevalence, s (1 + 1/k), and so from the other end.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clfeval.arrays import Bools, Floats
from clfeval.counts.scores import ScoreCounts
from clfeval.methods.curves import decision_rows
from tests.benchmarks.coverage import Line

LEVEL, SIZES, PREVALENCES = 0.95, (50, 200, 1000), (0.05, 0.2, 0.5)


def lines(replicates: int) -> list[Line]:
    """Return how often any risk is named at which acting would help, of both kinds of models."""
    return [
        Line(
            f"acting said to help, {drawn.__name__}",
            f"n {rows}, prevalence {prevalence:g}",
            replicates,
            claims(drawn, rows, prevalence, replicates)[0],
            most=1 - LEVEL,
        )
        for drawn in (idle, undone)
        for rows in SIZES
        for prevalence in PREVALENCES
    ]


def claims(
    drawn: Callable[[np.random.Generator, int, float], tuple[Floats, Bools]],
    rows: int,
    prevalence: float,
    replicates: int,
) -> tuple[float, float]:
    """Return the share of tables in which acting is said to help; by each risk's own limits."""
    rng = np.random.default_rng([14, rows, round(100 * prevalence)])
    told = alone = 0
    for _ in range(replicates):
        counts = ScoreCounts.from_rows(*drawn(rng, rows, prevalence), None)
        found = decision_rows(None, "m", counts, LEVEL)
        told += any(row["helps"] for row in found)
        alone += any((getattr(row["gain"], "low", None) or 0) > 0 for row in found)
    return told / replicates, alone / replicates


def idle(rng: np.random.Generator, rows: int, prevalence: float) -> tuple[Floats, Bools]:
    """Draw scores around the prevalence."""
    scores = rng.beta(10 * prevalence, 10 * (1 - prevalence), rows)
    return scores, rng.random(rows) < prevalence


def undone(rng: np.random.Generator, rows: int, prevalence: float) -> tuple[Floats, Bools]:
    """Draw half of the scores below the prevalence, half above, and truth by what undoes them."""
    odds = prevalence / (1 - prevalence)
    k = np.where(rng.random(rows) < 0.5, max(1.0, odds), -max(1.0, 1 / odds))
    part = rng.random(rows) ** (1 / np.abs(k))
    scores = np.where(k > 0, prevalence * part, 1 - (1 - prevalence) * part)
    beyond = 1 + 1 / np.abs(k)
    risk = np.where(k > 0, scores * beyond, 1 - (1 - scores) * beyond)
    return scores, rng.random(rows) < risk
