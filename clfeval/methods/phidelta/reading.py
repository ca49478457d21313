"""A position in the diamond in plain words, said only where the interval leaves no doubt.

    delta >= 0.8               near oracle
    0.1 < delta < 0.8          informative
    -0.1 <= delta <= 0.1       no better than chance
    delta < -0.1               better inverted

An informative model also leans towards positive (phi > 0.1) or negative (phi < -0.1), or is
balanced. A reading is withheld when the interval of delta covers one of its boundaries, the lean
when that of phi does.
"""

from __future__ import annotations

from bisect import bisect_right

from clfeval.result import Estimate

ORACLE, CHANCE, LEAN = 0.8, 0.1, 0.1
BOUNDARIES = (-CHANCE, CHANCE, ORACLE)
WORDS = ("better inverted", "no better than chance", "informative", "near oracle")


def read_position(phi: Estimate, delta: Estimate) -> tuple[str | None, str | None]:
    """Return the reading, or None and why it is withheld."""
    if delta.value is None:
        return None, f"δ is undefined ({delta.reason})"
    if delta.low is None or delta.high is None:
        return None, "there is no interval of δ"
    covered = [f"{edge:g}" for edge in BOUNDARIES if delta.low <= edge <= delta.high]
    if covered:
        return None, f"the interval of δ covers {' and '.join(covered)}"
    words = WORDS[bisect_right(BOUNDARIES, delta.value)]
    if phi.value in (-1, 1):
        side = "positive" if phi.value > 0 else "negative"
        return f"{words}: always says {side}", None
    if words != "informative" or phi.low is None or phi.high is None:
        return words, None
    if any(phi.low <= edge <= phi.high for edge in (-LEAN, LEAN)):
        return words, None
    lean = "balanced"
    if abs(phi.value or 0.0) > LEAN:
        lean = f"leans towards {'positive' if phi.low > 0 else 'negative'}"
    return f"{words}, {lean}", None
