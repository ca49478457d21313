"""Groups of rows by score: tenths, with the observed share of positives."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from clfeval.arrays import Floats, Ints, divide
from clfeval.counts.patterns import from_units
from clfeval.counts.scores import ScoreCounts
from clfeval.document import Row, Rows
from clfeval.document.rows import deferred_rows
from clfeval.methods.confidence_limits import exact_limits
from clfeval.methods.estimates import Cells, Design, estimate_column, rows_from_columns
from clfeval.methods.measurement.net_benefits import confusions_between

BINS = 10


def calibration_rows(
    label: str | None, model: str, counts: ScoreCounts, level: float | None, design: Design
) -> Rows:
    """Return the bins of the reliability diagram: about a tenth of the rows each, by score.

    Equal scores are in one bin. observed: the share of positives, with Clopper-Pearson limits, in
    clusters of counts divided by the design effect.
    Scores must be probabilities. Source: Murphy and Winkler 1977, Applied Statistics 26:41.
    """
    below = counts.running.sum(axis=0)
    m, total = len(counts.scores), below[-1]
    tenths = first_reaching(
        lambda i: np.asarray(BINS * (below[i] + below[i + 1]) / (2 * total)),
        np.arange(1.0, BINS),
        m,
    )
    starts = np.append(0, tenths)
    starts = starts[np.diff(below[starts], append=total) > 0]
    first = np.searchsorted(below, below[starts], side="right") - 1  # the first with rows
    last = np.searchsorted(below, np.append(below[starts[1:]], total)) - 1
    confusions = confusions_between(counts, first, last + 1)
    bins = [slice(start, stop) for start, stop in pairwise([*starts.tolist(), m])]
    sums = [counts.sums(scores_of_bin).sum() for scores_of_bin in bins]
    cells = Cells.at_prevalence(confusions)
    rows = confusions.tp + confusions.fp
    columns = {
        "bin": range(1, len(first) + 1),
        "from": counts.scores[first].tolist(),
        "to": counts.highest[last].tolist(),
        "rows": from_units(rows, counts.unit).tolist(),
        "mean_score": (sums / rows).tolist(),
    }

    def made() -> list[Row]:
        bounds = None
        if level is not None:  # of the precision, where the rows of a bin are predicted positive
            bounds = exact_limits("precision", cells, level=level, design=design)
        observed = estimate_column(divide(confusions.tp, rows), bounds, cells, ())
        return rows_from_columns({**columns, "observed": observed}, slice=label, model=model)

    return deferred_rows(len(first), made)


def first_reaching(rising: Callable[[Ints], Floats], targets: Floats, m: int) -> Ints:
    """Return the first of m indices at which a rising function reaches each target, else m."""
    low, high = np.zeros(len(targets), np.int64), np.full(len(targets), m)
    while (is_open := low < high).any():
        middle = (low + high) // 2
        is_below = rising(np.minimum(middle, m - 1)) < targets
        low = np.where(is_open & is_below, middle + 1, low)
        high = np.where(is_open & ~is_below, middle, high)
    return low
