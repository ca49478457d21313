"""Where a condition ends: bisection of many brackets at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clfeval.arrays import Bools, Floats

_HALVINGS = 60  # after as many a bracket is as narrow as its numbers allow


def halved(
    holds: Callable[[Floats], Bools], near: Floats, far: Floats, *, times: int = _HALVINGS
) -> tuple[Floats, Floats]:
    """Return the brackets around where `holds`, true at `near`, comes to be false before `far`.

    Shapes: near and far broadcast, and `holds` treats every element by itself.
    """
    for _ in range(times):
        middle = (near + far) / 2
        yes = holds(middle)
        near, far = np.where(yes, middle, near), np.where(yes, far, middle)
    return near, far
