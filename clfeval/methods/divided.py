"""Counts of rows that share clusters, divided to be those of independent rows that tell as much."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clfeval.arrays import Counts
from clfeval.inference.clusters import rate_divisors, share_divisor
from clfeval.inference.paired_measures import partial_derivatives
from clfeval.measures.confusion import Confusion
from clfeval.measures.record import Measure

if TYPE_CHECKING:
    from clfeval.methods.estimates import Cells

_UNIT = np.eye(4)
_COUNTS = Confusion(_UNIT[0], _UNIT[1], _UNIT[2] - _UNIT[0], _UNIT[3] - _UNIT[1])


def effective_share_counts(measure: Measure, cells: Cells, level: float) -> tuple[Counts, Counts]:
    """Return which part of which rows a share is."""
    assert measure.share is not None
    part, whole = measure.share(cells)
    if cells.sums is None:
        return part, whole
    # the same share of unit counts says what its two counts are sums of
    made = (one[None] for one in measure.share(_COUNTS))
    by = share_divisor(cells.sums, cells.totals, *made, level=level)
    return part / by, whole / by


def effective_rate_counts(measure: Measure, cells: Cells, level: float) -> Cells:
    """Return the counts for a measure of the two rates in populations of known class ratio."""
    if cells.sums is None:
        return cells
    along = partial_derivatives(
        lambda tp, fp: measure.function(cells.at_rates(tp, fp)), *cells.rates
    )
    return cells.divided(rate_divisors(cells.sums, cells.totals, np.stack(along), level=level))


def effective_sample_counts(measure: Measure, cells: Cells, level: float) -> Cells:
    """Return the counts for a measure of the two rates and of the class ratio of the rows."""
    if cells.sums is None:
        return cells
    tp, fp, ratio = (*cells.rates, cells.p)
    over_p, _ = partial_derivatives(
        lambda p, _: measure.function(Confusion.from_prevalence(tp, fp, p)), ratio, 0.5
    )
    rates = partial_derivatives(
        lambda x, y: measure.function(Confusion.from_prevalence(x, y, ratio)), tp, fp
    )
    along = np.stack([*rates, over_p])
    return cells.divided(rate_divisors(cells.sums, cells.totals, along, level=level))
