"""Percentile limits of rows, weights or clusters drawn again: for what has no influence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import nan

import numpy as np

from clfeval.arrays import Counts, Floats
from clfeval.counts.weights import Owned
from clfeval.inference.resampling import percentiles, resampled_counts, stream
from clfeval.measures.record import Measure
from clfeval.methods.measured.hard import BOOTSTRAP, NONE
from clfeval.methods.options import Certainty

MOST_DRAWN = 2**29  # numbers drawn in all: of more, fewer resamples
LEAST = 100  # resamples that are drawn of however many
LEAST_WIDTH = 1e-12  # of resampled limits, as a share of them

DrawnLimits = tuple[tuple[float, float], str]


def drawn_limits(
    measures: Sequence[tuple[Measure, Callable[[Counts], Floats]]], n: Counts,
    clusters: Owned | None, wanted: Certainty, name: str, *, each: int = 1,
) -> list[DrawnLimits]:  # fmt: skip
    """Return percentile limits of measures, and the method of each; NaN where nothing moves.

    n (m,): how often each kind of row occurs, of `each` numbers; every measure goes with what it
    is of counts (..., m), all on the same draws. Replicates that are undefined are left out, and
    the method says how many. name: of the stream of random numbers.
    """
    if wanted.level is None:
        return [((nan, nan), NONE)] * len(measures)
    often = max(LEAST, min(wanted.resamples, MOST_DRAWN // max(1, len(n) * each)))
    rng = stream(wanted.seed, f"report\0{name}")
    draws = _of_rows(n, often, rng)
    if clusters is not None:
        draws = clusters.redraws(len(n), resamples=often, rng=rng)
    values = np.concatenate(
        [np.array([np.atleast_1d(of(counts)) for _, of in measures]) for counts in draws], axis=1
    )
    fewer = [f"{often:,} resamples"] if often < wanted.resamples else []
    return [
        _limits(measure, mine, fewer, wanted.level)
        for (measure, _), mine in zip(measures, values, strict=True)
    ]


def _limits(measure: Measure, values: Floats, fewer: list[str], level: float) -> DrawnLimits:
    low, high, failed = (float(one) for one in percentiles(values, level=level))
    # what no resample moves, but by a last digit, is not known for certain
    if not low < high or low + LEAST_WIDTH * abs(low) >= high:
        return (nan, nan), NONE
    lost = [f"undefined in {failed:,.0f} of {len(values):,}"] if failed else []
    return (max(low, measure.low), min(high, measure.high)), ", ".join([BOOTSTRAP, *fewer, *lost])


def _of_rows(n: Counts, often: int, rng: np.random.Generator) -> Iterator[Counts]:
    some = n > 0
    for block in resampled_counts(n[some], resamples=often, rng=rng):
        drawn = np.zeros((len(block), len(n)), np.int64)
        drawn[:, some] = block
        yield drawn
