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
    slice_name: str | None, model: str, counts: ScoreCounts, level: float | None, design: Design
) -> Rows:
    """Return the bins of the reliability diagram: about a tenth of the rows each, by score.

    Equal scores are in one bin. observed: the share of positives, with Clopper-Pearson limits, in
    clusters of counts divided by the design effect.
    Scores must be probabilities. Source: Murphy and Winkler 1977, Applied Statistics 26:41.
    """
    rows_below = counts.running.sum(axis=0)
    bin_starts = _bin_starts(rows_below)
    # the first with rows
    first_indices = np.searchsorted(rows_below, rows_below[bin_starts], side="right") - 1
    last_indices = (
        np.searchsorted(rows_below, np.append(rows_below[bin_starts[1:]], rows_below[-1])) - 1
    )
    confusions = confusions_between(counts, first_indices, last_indices + 1)
    row_counts = confusions.tp + confusions.fp
    columns = {
        "bin": range(1, len(first_indices) + 1),
        "from": counts.scores[first_indices].tolist(),
        "to": counts.highest[last_indices].tolist(),
        "rows": from_units(row_counts, counts.unit).tolist(),
        "mean_score": (_score_sums(counts, bin_starts) / row_counts).tolist(),
    }

    def build_rows() -> list[Row]:
        observed = _observed_shares(confusions, level, design)
        return rows_from_columns({**columns, "observed": observed}, slice=slice_name, model=model)

    return deferred_rows(len(first_indices), build_rows)


def _bin_starts(rows_below: Counts) -> Ints:
    """Return the first score of each tenth of the rows, without tenths that have none.

    A score is in the tenth of its middle row. rows_below: rows below each score, and all, (m + 1,).
    """
    row_count = rows_below[-1]
    tenth_starts = first_reaching(
        lambda score_indices: np.asarray(
            BINS * (rows_below[score_indices] + rows_below[score_indices + 1]) / (2 * row_count)
        ),
        np.arange(1.0, BINS),
        len(rows_below) - 1,
    )
    bin_starts = np.append(0, tenth_starts)
    return np.asarray(bin_starts[np.diff(rows_below[bin_starts], append=row_count) > 0])


def _score_sums(counts: ScoreCounts, bin_starts: Ints) -> Floats:
    """Return the sum of the scores of all rows of each bin, which begin at these scores."""
    bin_ends = pairwise([*bin_starts.tolist(), len(counts.scores)])
    return np.array([counts.sums(slice(start, end)).sum() for start, end in bin_ends])


def _observed_shares(confusions: ConfusionCounts, level: float | None, design: Design) -> Estimates:
    """Return the share of positives of each bin: the precision where its rows are flagged."""
    cells = Cells.at_prevalence(confusions)
    limits = None
    if level is not None:
        limits = exact_limits("precision", cells, level=level, design=design)
    shares = divide(confusions.tp, confusions.tp + confusions.fp)
    return estimate_column(shares, limits, cells, ())


def first_reaching(rising: Callable[[Ints], Floats], targets: Floats, index_count: int) -> Ints:
    """Return the first index at which a rising function reaches each target, else `index_count`."""
    low = np.zeros(len(targets), np.int64)
    high = np.full(len(targets), index_count)
    while (is_open := low < high).any():
        middle = (low + high) // 2
        is_below = rising(np.minimum(middle, index_count - 1)) < targets
        low = np.where(is_open & is_below, middle + 1, low)
        high = np.where(is_open & ~is_below, middle, high)
    return low
