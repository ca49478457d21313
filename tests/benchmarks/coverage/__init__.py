"""How often intervals cover, and how often claims are false: simulations kept as a script."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """What was simulated: `covered` is a share of the replicates, or of false claims."""

    interval: str
    setting: str
    replicates: int
    covered: float
