"""Groups of rows by score: tenths, with the observed share of positives."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from clfeval.arrays import Counts, Floats, Ints, divide
from clfeval.counts.patterns import ConfusionCounts, from_units
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Row, Rows
from clfeval.document.rows import deferred_rows
from clfeval.methods.confidence_limits import exact_limits
from clfeval.methods.estimates import Cells, Design, Estimates, estimate_column, rows_from_columns
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
    starts = _bin_starts(below)
    first = np.searchsorted(below, below[starts], side="right") - 1  # the first with rows
    last = np.searchsorted(below, np.append(below[starts[1:]], below[-1])) - 1
    confusions = confusions_between(counts, first, last + 1)
    rows = confusions.tp + confusions.fp
    columns = {
        "bin": range(1, len(first) + 1),
        "from": counts.scores[first].tolist(),
        "to": counts.highest[last].tolist(),
        "rows": from_units(rows, counts.unit).tolist(),
        "mean_score": (_score_sums(counts, starts) / rows).tolist(),
    }

    def build_rows() -> list[Row]:
        observed = _observed_shares(confusions, level, design)
        return rows_from_columns({**columns, "observed": observed}, slice=label, model=model)

    return deferred_rows(len(first), build_rows)


def _bin_starts(below: Counts) -> Ints:
    """Return the first score of each tenth of the rows, without tenths that have none.

    A score is in the tenth of its middle row. below: rows below each score, and all, (m + 1,).
    """
    total = below[-1]
    tenths = first_reaching(
        lambda i: np.asarray(BINS * (below[i] + below[i + 1]) / (2 * total)),
        np.arange(1.0, BINS),
        len(below) - 1,
    )
    starts = np.append(0, tenths)
    return np.asarray(starts[np.diff(below[starts], append=total) > 0])


def _score_sums(counts: ScoreCounts, starts: Ints) -> Floats:
    """Return the sum of the scores of all rows of each bin, which begin at these scores."""
    bins = pairwise([*starts.tolist(), len(counts.scores)])
    return np.array([counts.sums(slice(start, stop)).sum() for start, stop in bins])


def _observed_shares(confusions: ConfusionCounts, level: float | None, design: Design) -> Estimates:
    """Return the share of positives of each bin: the precision where its rows are flagged."""
    cells = Cells.at_prevalence(confusions)
    bounds = None
    if level is not None:
        bounds = exact_limits("precision", cells, level=level, design=design)
    shares = divide(confusions.tp, confusions.tp + confusions.fp)
    return estimate_column(shares, bounds, cells, ())


def first_reaching(rising: Callable[[Ints], Floats], targets: Floats, m: int) -> Ints:
    """Return the first of m indices at which a rising function reaches each target, else m."""
    low = np.zeros(len(targets), np.int64)
    high = np.full(len(targets), m)
    while (is_open := low < high).any():
        middle = (low + high) // 2
        is_below = rising(np.minimum(middle, m - 1)) < targets
        low = np.where(is_open & is_below, middle + 1, low)
        high = np.where(is_open & ~is_below, middle, high)
    return low
