"""Columns that tables of several pages have, and what they mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clfeval.result import Result
from clfeval.schema import Column, Shown, Source, comparisons, of
from clfeval.words import quoted

LISTED, PAIRED = 20, 20  # rows shown; differences between models shown unasked

SLICE, MODEL = of("slice", "slice") + of("text", "model")
CELLS = tuple(
    Column(name, "weight", name.upper(), best="min" if name in ("fp", "fn") else None)
    for name in ("tp", "fp", "fn", "tn")
)
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
    "comparisons.against": "what the model is compared with: a reference on the same rows, the "
    "other rows (slice), runs, a baseline, a label of a history",
    "comparisons.measure": "the measure that is compared",
    "comparisons.reference": "the other side: a model, the rest of the rows, a baseline or a label",
    "old": "the value on the other side",
    "new": "the value of the model",
    "difference": "new - old with its own confidence interval",
    "p": "two-sided p-value of no difference; it inverts the interval",
    "p_adjusted": "p adjusted for the family: joint maximum for pairs of models, Benjamini and "
    "Hochberg for slices and changes",
    "difference_adjusted": "the difference with an interval of a level at which all of the family "
    "hold",
    "verdict": "better, worse: significant in the family, changed: the same without a direction; "
    "equivalent, not worse: by the margin",
    "paired": "whether both sides are of the same rows",
    "comparisons.rows": "rows compared; of runs, how many runs",
    "se": "standard error of the difference",
    "detectable": "the smallest difference that is detected with power 0.8",
    "comparisons.method": "how the interval and p were found",
    "baseline_changes.id": "the row, as the column of ids calls it",
    "baseline_changes.truth": "the true class of the row",
    "baseline_changes.before": "what the model said in the baseline, which was right",
    "baseline_changes.after": "what it says now, which is wrong",
}


def shown_differences(result: Result) -> Iterator[Shown]:
    """Yield how models differ from a reference, or over runs any two."""
    runs, reference = comparisons(result, "run"), result.parameters.get("reference")
    rows = [*comparisons(result, "reference"), *comparisons(result, "reference", inside=True)]
    if not (rows := rows or runs):
        return
    title = f"Differences from {quoted(reference)} on the same rows" if reference else (
        "Differences between models")  # fmt: skip
    title = f"{title.removesuffix(' on the same rows')} of means over runs" if runs else title
    columns: dict[str, Source] = (
        {"slice": "slice"} if any(row["slice"] is not None for row in rows) else {}
    )
    columns |= {"measure": "measure", "model": "model"} | ({} if reference else {
        "less": "reference"}) | {"difference": "difference_adjusted"}  # fmt: skip
    note = ""
    if any(row["p"] is not None for row in rows):
        columns |= {"p, adjusted": "p_adjusted", "verdict": "verdict"}
        note = "intervals, p and verdict: adjusted for all models by a measure"
    yield Shown(
        "comparisons", title, columns, rows, LISTED, note, lead="difference_adjusted",
        rank="asked" if reference is not None or len(rows) <= PAIRED else "detail",
    )  # fmt: skip
