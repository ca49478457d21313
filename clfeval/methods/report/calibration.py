"""Whether what is given 20 % happens in 20 % of the rows: shares in bins of scores, and tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clfeval.arrays import Floats, Ints, divide
from clfeval.compare.change import number_or_none
from clfeval.counts.scores import ScoreCounts
from clfeval.counts.units import from_units
from clfeval.counts.weights import RowWeights
from clfeval.document import Row, Rows
from clfeval.inference.calibration_tests import ScoreTests, clustered_score_tests, score_tests
from clfeval.inference.resampling import random_stream
from clfeval.inference.shares import holm
from clfeval.inference.special import critical_value
from clfeval.lazy import deferred_rows
from clfeval.measures.logistic import has_log_odds, log_odds
from clfeval.methods.estimates import (
    Cells,
    Design,
    estimate_column,
    exact_limits,
    rows_from_columns,
)
from clfeval.methods.measured.decisions import confusions_between
from clfeval.methods.report.curves import first_reaching

BINS = 10
TESTS = ("intercept and slope", "groups by score")
MOST = 2**17  # scores of rows in clusters, or with weights, that are tested one by one
SHARE = "precision"  # of a 2 x 2 table that calls the rows of one bin positive


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

    def tenth(i: Ints) -> Floats:
        return np.asarray(BINS * (below[i] + below[i + 1]) / (2 * total))

    starts = np.append(0, first_reaching(tenth, np.arange(1.0, BINS), m))
    starts = starts[np.diff(below[starts], append=total) > 0]
    first = np.searchsorted(below, below[starts], side="right") - 1  # the first with rows
    last = np.searchsorted(below, np.append(below[starts[1:]], total)) - 1
    found = confusions_between(counts, first, last + 1)
    cells, share = Cells.at_prevalence(found), counts.positives + counts.negatives
    share = share * counts.scores
    rows = found.tp + found.fp
    columns = {
        "bin": range(1, len(first) + 1), "from": counts.scores[first].tolist(),
        "to": counts.scores[last].tolist(), "rows": from_units(rows, counts.unit).tolist(),
        "mean_score": (np.add.reduceat(share, starts) / rows).tolist(),
    }  # fmt: skip

    def made() -> list[Row]:
        bounds = None if level is None else exact_limits(SHARE, cells, level=level, design=design)
        observed = estimate_column(divide(found.tp, rows), bounds, cells, ())
        return rows_from_columns({**columns, "observed": observed}, slice=label, model=model)

    return deferred_rows(len(first), made)


def calibration_test_rows(model: str, counts: ScoreCounts, level: float, seed: int) -> list[Row]:
    """Return both score tests of the probabilities of a model, of scores other than 0 and 1.

    p_adjusted: twice the smaller p. contradicted: rows whose class had probability 0. groups_off:
    groups with a significant difference, unadjusted.
    """
    inner = has_log_odds(counts.scores)
    lost = counts.positives[: inner.start].sum() + counts.negatives[inner.stop :].sum()
    none = np.full(2, np.nan)  # where every score is 0 or 1
    found = ScoreTests(none, none, none, "none", np.zeros(0), np.zeros(0))
    if inner.start < inner.stop:
        found = _run_score_tests(counts, inner, random_stream(seed, f"{model}\0calibration"))
    off = np.abs(found.gaps) > critical_value(level) * found.errors
    gaps = {"groups_off": int(off.sum()), "largest_gap": np.abs(found.gaps).max(initial=0).item()}
    smaller = float(np.minimum(2 * found.p.min(), 1))
    return [
        {
            "model": model, "test": name,
            **{key: number_or_none(getattr(found, key)[i]) for key in ("statistic", "df", "p")},
            "p_adjusted": number_or_none(smaller), "method": found.method,
            "contradicted": from_units(lost, counts.unit).item(),
            **(gaps if i and len(found.gaps) else dict.fromkeys(gaps)),
        }
        for i, name in enumerate(TESTS)
    ]  # fmt: skip


def adjust_calibration_tests(rows: Sequence[Row]) -> list[Row]:
    """Return tests of several models with p_adjusted by Holm's rule over the models."""
    p = np.array([row["p_adjusted"] for row in rows[:: len(TESTS)]], np.float64)  # None is NaN
    adjusted = np.where(np.isnan(p), np.nan, holm(np.where(np.isnan(p), 1.0, p).tolist()))
    each = np.repeat(adjusted, len(TESTS)).tolist()
    return [{**row, "p_adjusted": number_or_none(one)} for row, one in zip(rows, each, strict=True)]


def _run_score_tests(counts: ScoreCounts, inner: slice, rng: np.random.Generator) -> ScoreTests:
    """Return the tests of scores that have log odds; of parts, of neighbours among very many."""
    if counts.clusters is None:
        rows, x = counts.positives[inner] + counts.negatives[inner], log_odds(counts.scores)[inner]
        return score_tests(counts.scores[inner], x, counts.positives[inner], rows, rng)
    few, heavy = counts.coarser(MOST), np.ones(2)
    owned, both = few.clusters, np.array([few.positives, few.negatives])
    if isinstance(owned, RowWeights):
        halves = (one.reshape(2, -1).sum(axis=1) for one in (owned.squares, owned.n))
        heavy = np.nan_to_num(divide(*halves), nan=owned.weight)
    assert owned is not None
    x, inner = log_odds(few.scores), has_log_odds(few.scores)
    return clustered_score_tests(few.scores, x, both, inner, owned, heavy)
