"""Verdicts on differences: what an interval says where so small a difference does not matter."""

from __future__ import annotations

BETTER, WORSE, EQUIVALENT = "better", "worse", "equivalent"
NOT_WORSE, UNDECIDED = "not worse", "undecided"


def verdict(low: float, high: float, told: int, margin: float | None) -> str:
    """Name what is known of a difference: more is better.

    low, high: its interval, at a level at which all differences of a table hold together. told: 1
    or -1 where a test of them all together finds it above or below 0, else 0. margin: the smallest
    difference that matters, None where nobody says.

    equivalent: the interval lies inside -+ margin, whichever side of 0. better, worse: as told. not
    worse: the interval lies above -margin. undecided: none of these.
    Source: Schuirmann 1987, Journal of Pharmacokinetics and Biopharmaceutics 15:657 (equivalence).
    """
    if margin is not None and -margin < low and high < margin:
        return EQUIVALENT
    if told:
        return BETTER if told > 0 else WORSE
    return NOT_WORSE if margin is not None and low > -margin else UNDECIDED
