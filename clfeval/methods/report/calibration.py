"""Whether what is given 20 % happens in 20 % of the rows: shares of positives in bins of scores."""

from __future__ import annotations

import numpy as np

from clfeval.arrays import Floats, Ints, over
from clfeval.counts.scores import ScoreCounts
from clfeval.counts.units import shown
from clfeval.methods.estimates import Cells, Design, column, exact_limits
from clfeval.methods.measured.decisions import confusions_between
from clfeval.methods.report.curves import reached
from clfeval.result import Row

BINS = 10
SHARE = "precision"  # of a 2 x 2 table that calls the rows of one bin positive


def calibration_rows(
    label: str | None, model: str, counts: ScoreCounts, level: float | None, design: Design
) -> list[Row]:
    """Return the bins of the reliability diagram: about a tenth of the rows each, by score.

    Equal scores stay together: one is of the tenth in which the middle of its rows lies, so that
    there may be fewer bins. mean_score: what the rows are given on average; observed: the share of
    positives, with Clopper-Pearson limits, in clusters of counts divided by the design effect.

    Scores must be probabilities. Source: Murphy and Winkler 1977, Applied Statistics 26:41.
    """
    below = counts.running.sum(axis=0)
    m, total = len(counts.scores), below[-1]

    def tenth(i: Ints) -> Floats:
        return np.asarray(BINS * (below[i] + below[i + 1]) / (2 * total))

    starts = np.append(0, reached(tenth, np.arange(1.0, BINS), m))
    starts = starts[np.diff(below[starts], append=total) > 0]
    first = np.searchsorted(below, below[starts], side="right") - 1  # the first with rows
    last = np.searchsorted(below, np.append(below[starts[1:]], total)) - 1
    found = confusions_between(counts, first, last + 1)
    cells, share = Cells.at_prevalence(found), counts.positives + counts.negatives
    share = share * counts.scores
    bounds = None if level is None else exact_limits(SHARE, cells, level=level, design=design)
    rows = found.tp + found.fp
    columns = {
        "bin": range(1, len(first) + 1), "from": counts.scores[first].tolist(),
        "to": counts.scores[last].tolist(), "rows": shown(rows, counts.unit).tolist(),
        "mean_score": (np.add.reduceat(share, starts) / rows).tolist(),
        "observed": column(over(found.tp, rows), bounds, cells, ()),
    }  # fmt: skip
    who = {"slice": label, "model": model}
    return [
        {**who, **dict(zip(columns, one, strict=True))}
        for one in zip(*columns.values(), strict=True)
    ]
