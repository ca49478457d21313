"""Columns that tables of several pages have, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping

from clfeval.schema import Column, of

SLICE, MODEL = of("slice", "slice") + of("text", "model")
CELLS = tuple(
    Column(name, "weight", name.upper(), best="min" if name in ("fp", "fn") else None)
    for name in ("tp", "fp", "fn", "tn")
)
VERDICTS = ("better", "worse", "equivalent", "not worse", "undecided")  # on differences
SHARED: Mapping[str, str] = {
    "slice": "the rows that share their values in the columns of --by, else the whole table",
    "model": "the classifier, as its column or the table calls it",
    "threshold": "score from which on a row is called positive; none where the model gives labels, "
    "or nobody knows it",
    "tp": "positive rows that are called positive",
    "fp": "negative rows that are called positive",
    "fn": "positive rows that are called negative",
    "tn": "negative rows that are called negative",
    "rows": "how many rows there are, repeated ones counted each time",
    "positives": "rows of the positive class",
    "negatives": "rows of all other classes",
    "prevalence": "share of the rows of a population that are positive",
    "odds": "positives : negatives in the population",
    "measure": "the measure or score that the row of this table is about",
    "interval": "range that covers the true value, with the confidence that --level says",
    "baseline.old": "the value in the baseline, saved earlier",
    "baseline.new": "the value in this result",
    "baseline.change": "new - old; its interval is of independent rows, too wide where they are "
    "the same",
    "baseline.verdict": "better or worse where that interval excludes 0",
    "paired": "whether the interval is of the same rows in both",
    "baseline_changes.id": "the row, as the column of ids calls it",
    "baseline_changes.truth": "the true class of the row",
    "baseline_changes.before": "what the model said in the baseline, which was right",
    "baseline_changes.after": "what it says now, which is wrong",
}
