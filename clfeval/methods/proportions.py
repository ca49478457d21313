"""Proportions as estimates: the value k / n with its exact interval, or why there is none."""

from __future__ import annotations

from typing import Any

import numpy as np

from clfeval.counts.patterns import Counts
from clfeval.errors import Problem, UsageError
from clfeval.inference.proportions import clopper_pearson
from clfeval.result import Estimate


def proportions(
    k: Counts, n: Counts | int | float, reason: str, *, level: float | None
) -> list[Estimate]:
    """Return k / n with exact intervals, without where level is None; undefined where n is 0."""
    hits, trials = np.broadcast_arrays(k, np.asarray(n))
    bounds: list[Any] = [[None] * len(hits)] * 2
    if level is not None:
        bounds = [side.tolist() for side in clopper_pearson(hits, trials, level=level)]
    return [
        Estimate(h / t, low, high) if t else Estimate(None, reason=reason)
        for h, t, low, high in zip(hits.tolist(), trials.tolist(), *bounds, strict=True)
    ]


def check_level(level: float) -> None:
    """Raise UsageError unless a confidence level lies between 0 and 1, up to 0.999999999."""
    if not 0 < level <= 1 - 1e-9:
        hint = f"{level / 100:g} for {level:g} %" if 1 < level < 100 else None
        what = f"--level {level} is not between 0 and 1 (at most 0.999999999)"
        raise UsageError(Problem(what, "bad-option"), hint=hint)


def undrawable_weights() -> UsageError:
    """Build the error for weights that no bootstrap of counts can take."""
    return UsageError(
        Problem(
            "weights are not whole numbers: no part of a row can be drawn again",
            "fractional-weights",
        ),
        hint="--interval none computes the values without intervals",
    )


def fractional_weights() -> UsageError:
    """Build the error for weights that exact intervals cannot take."""
    return UsageError(
        Problem(
            "weights are not whole numbers: exact binomial intervals count rows, and only a "
            "bootstrap could give others",
            "fractional-weights",
        ),
        hint="--interval none computes the values without intervals",
    )
