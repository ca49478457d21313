"""Whether what is given 20 % happens in 20 % of the rows: shares of positives in bins of scores."""

from __future__ import annotations

import numpy as np

from clfeval.arrays import over
from clfeval.counts.scores import ScoreCounts
from clfeval.counts.units import shown
from clfeval.lazy import later
from clfeval.methods.estimates import Cells, Design, column, exact_limits, rows_of
from clfeval.methods.measured.decisions import confusions_between
from clfeval.result import Row, Rows

BINS = 10
SHARE = "precision"  # of a 2 x 2 table that calls the rows of one bin positive


def calibration_rows(
    label: str | None, model: str, counts: ScoreCounts, level: float | None, design: Design
) -> Rows:
    """Return the bins of the reliability diagram: about a tenth of the rows each, by score.

    Equal scores stay together: one is of the tenth in which the middle of its rows lies, so that
    there may be fewer bins. mean_score: what the rows are given on average; observed: the share of
    positives, with Clopper-Pearson limits, in clusters of counts divided by the design effect.

    Scores must be probabilities. Source: Murphy and Winkler 1977, Applied Statistics 26:41.
    """
    n = np.asarray(counts.positives + counts.negatives, np.float64)
    places = np.flatnonzero(n > 0)
    n = n[places]
    group = np.minimum((BINS * (n.cumsum() - n / 2) / n.sum()).astype(np.int64), BINS - 1)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    first, last = places[starts], places[np.append(starts[1:], len(places)) - 1]
    found = confusions_between(counts, first, last + 1)
    cells, share = Cells.at_prevalence(found), n * counts.scores[places]
    rows = found.tp + found.fp
    columns = {
        "bin": range(1, len(first) + 1), "from": counts.scores[first].tolist(),
        "to": counts.scores[last].tolist(), "rows": shown(rows, counts.unit).tolist(),
        "mean_score": (np.add.reduceat(share, starts) / np.add.reduceat(n, starts)).tolist(),
    }  # fmt: skip

    def made() -> list[Row]:
        bounds = None if level is None else exact_limits(SHARE, cells, level=level, design=design)
        observed = column(over(found.tp, rows), bounds, cells, ())
        return rows_of({**columns, "observed": observed}, slice=label, model=model)

    return later(len(first), made)
