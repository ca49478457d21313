"""Tables of comparisons: models tied with the best, corrected best values, differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from clfeval.document import Document, Estimate, Row, as_estimate
from clfeval.formatting import (
    NAMESAKES,
    describe_reference,
    format_count,
    format_number,
    quote_if_ambiguous,
)
from clfeval.measures.catalog import find_measure
from clfeval.pages.formatting import column_heading, format_exact
from clfeval.pages.schema import Column, Source, Table, TableView, cols, comparison_rows
from clfeval.pages.shared_columns import MODEL, existing_tables

FEW = 15  # comparisons, or slices, shown where an option asks for them
FAIRNESS = (
    "fairness criteria, by the measure that is equal: equal opportunity (sensitivity), predictive "
    "equality (specificity), predictive parity (precision), demographic parity "
    "(detection_prevalence)"
)
METRIC = cols("text", "measure")
TABLES = (
    Table("best", (
        *METRIC, MODEL, *cols("flag", "tied"), Column("p_first", "part", "P(first)"),
        *cols("rank", "rank_low rank_high"),
    )),
    Table("winner", (*METRIC, MODEL, *cols("estimate", "value"), *cols("number", "optimism"),
                     *cols("estimate", "corrected"))),
    Table("mcnemar", (
        MODEL, *cols("text", "reference"), Column("newly_right", "weight", "newly right"),
        Column("newly_wrong", "weight", "newly wrong"), Column("p", "p?"), *cols("text", "method"),
    ), "reference?"),
    Table("together", (
        *METRIC, *cols("count", "models"), Column("differ", "weight", "rows that differ"),
        *cols("number?", "statistic"), Column("p", "p?"), *cols("text", "method"),
    ), "reference?"),
    Table("runs", (*METRIC, MODEL, *cols("text", "run"), *cols("estimate", "value"),
                   Column("se", "number?", "standard error"))),
    Table("run_spread", (
        *METRIC, MODEL, *cols("count", "runs"), *cols("estimate", "mean"), *cols("number?", "sd"),
        *cols("text", "method"),
    )),
    Table("slices", (
        *cols("text", "slice"), MODEL, *cols("weight", "rows"),
        Column("positives", "weight", when="?"),
        *cols("estimate", "roc_auc oe_ratio sensitivity specificity accuracy overconfidence",
              when="?"),
        Column("q", "p?"), Column("worse", "text*"),
    )),
    Table("extremes", (
        *METRIC, MODEL, *cols("text", "largest smallest"), *cols("estimate", "gap"),
        *cols("count", "slices"),
    )),
    Table("baselines", (
        *METRIC, MODEL, *cols("number?", "value"), *cols("number", "observed"), Column("p", "p?"),
        *cols("text", "method"),
    )),
    Table("resolution", (
        *METRIC, MODEL, *cols("text", "reference"), *cols("number", "detectable wanted"),
        Column("rows_needed", "count", "rows needed"),
    ), "reference?"),
    Table("changes", (
        MODEL, *cols("text", "reference file"), Column("id", "text", when="one"),
        Column("row", "count", when="one"), *cols("text", "truth before after"),
    ), "reference?"),
)  # fmt: skip
MEANINGS: Mapping[str, str] = {
    "reference": "the model compared with",
    "p_first": "estimated probability that it is best in a new table like this one",
    "rank_low": "lower confidence limit of its rank (1 is best)",
    "rank_high": "upper confidence limit of its rank",
    "optimism": "selection bias: the mean excess of the best value over its true value",
    "corrected": "the value minus the selection bias",
    "newly_right": "rows that only the model predicts correctly, not the reference",
    "newly_wrong": "rows that only the reference predicts correctly, not the model",
    "together.models": "number of models with a threshold or labels",
    "differ": "rows that some models predict correctly and others do not",
    "statistic": "Cochran's Q, approximately chi-square with (models - 1) degrees of freedom",
    "together.method": "method of the test, or why it is missing",
    "together.p": "p-value of Q under equal accuracy of all models",
    "runs": "runs in which the measure is defined (in comparisons, for both models)",
    "run": "one repetition, such as a fold or a seed (--run)",
    "mean": "unweighted mean over runs, with its confidence interval",
    "run_spread.sd": "standard deviation between runs",
    "run_spread.method": "folds: corrected t (Nadeau-Bengio); repeats on the same rows: variance "
    "of runs and rows",
    "mcnemar.p": "McNemar's mid-p under equal accuracy of both models",
    "mcnemar.method": "method of the test, or why it is missing",
    "runs.value": "the measure in this run",
    "gap": "value in the slice minus value outside the slice",
    "extremes.gap": "largest minus smallest value of the slices, with an interval adjusted "
    "for all pairs of slices",
    "largest": "tested slice with the largest value",
    "smallest": "tested slice with the smallest value",
    "extremes.slices": "number of slices tested",
    "q": "smallest p of the slice, adjusted (Benjamini-Hochberg) over slices and measures",
    "worse": "measures by which the slice is significantly worse than outside the slice",
    "equal opportunity": "sensitivity is equal in the slice and outside it",
    "predictive equality": "specificity (and FPR) is equal in the slice and outside it",
    "demographic parity": "detection prevalence is equal in the slice and outside it",
    "predictive parity": "precision (PPV) is equal in the slice and outside it",
    "baselines.value": "expected value of an uninformative model: mean over permutations of the "
    "truth",
    "baselines.observed": "value of the measure on the observed truth",
    "baselines.p": "permutation p-value: share of permutations at least as good as observed",
    "baselines.method": "hypergeometric, expectation: exact; permutations: Monte Carlo; constant: "
    "one prediction for all rows",
    "wanted": "difference to detect (--resolution)",
    "rows_needed": "sample size that detects it with power 0.8",
    "before": "prediction of the reference",
    "after": "prediction of the model",
    "changes.id": "id of the row (--id)",
    "changes.row": "row number in the file; the header is row 1",
    "file": "file of the row",
}
SLICE_HEADS = {
    "oe_ratio": "O:E →1", "roc_auc": "AUC ↑", "sensitivity": "sens. ↑", "specificity": "spec. ↑",
}  # fmt: skip
SHORT: Mapping[str, Source] = {
    "difference": "difference_adjusted", "p, adjusted": "p_adjusted", "verdict": "verdict",
}  # fmt: skip


def comparison_tables(result: Document) -> Iterator[TableView]:
    """Yield the differences requested by an option, the leading measures first."""
    rows, given = comparison_rows(result, "reference"), str(result.parameters.get("reference"))
    yield from run_tables(result)
    if rows:
        pairs = {(row["model"], row["reference"]): row for row in rows}
        references = {str(reference) for _, reference in pairs}
        columns: dict[str, Source] = {"measure": "measure", "model": "model", **SHORT}
        title, note = "Differences between models", ""
        if len(pairs) > 1:
            note = "intervals and p: adjusted for all comparisons of a measure, not across measures"
        if len(references) == 1 or given.endswith(NAMESAKES):
            title = f"Differences from {describe_reference(min(references), given)}"
        else:
            columns = {"measure": "measure", "model": "model", "minus": "reference", **SHORT}
        if len(pairs) == 1:
            names = str(rows[0]["model"]), *references
            model, reference = map(quote_if_ambiguous, names)
            title = f"{model} minus {reference}"
            columns.pop("model")
            note = "intervals and p: adjusted only for sensitivity and specificity together"
        for row in result.tables.get("together", ()):
            if row["p"] is not None:
                note += f"; Cochran's Q (equal accuracy of {row['models']} models): p "
                note += format_exact(float(str(row["p"])))
        yield TableView("comparisons", f"{title} on the same rows", columns,
                        sort_requested_first(result, rows), max(FEW, len(pairs)), note,
                        rank="asked", lead="difference_adjusted", whole=True)  # fmt: skip
    constant = "(constant): predicts the prevalence; (majority): predicts the majority class"
    majority = any(row["model"] == "(majority)" for row in result.tables.get("baselines", ()))
    yield from existing_tables(
        result,
        TableView("mcnemar", "McNemar tests: rows that one of two models predicts correctly",
                  "model reference newly_right newly_wrong p?", rank="asked"),
        TableView("baselines", "Baselines: permuted truth and constant models",
                  "measure model value observed p?", note=constant * majority, rank="asked"),
        TableView("resolution", "Sample size to detect a difference (power 0.8)",
                  "measure model reference wanted rows_needed detectable", rank="asked"),
        TableView("changes", "Changed predictions",
                  "model reference id? row? truth before after", rank="asked"),
    )  # fmt: skip


def sort_requested_first(result: Document, rows: Sequence[Row]) -> list[Row]:
    """Return rows sorted: the leading measure, then those that options name, then others."""
    asked = result.parameters
    names = [*asked.get("measure", ()), *asked.get("margin", ()), *asked.get("resolution", ())]
    ids = {one.id for name in names if (one := find_measure(name.partition(":")[0])) is not None}
    lead = rows[0]["measure"]

    def later(row: Row) -> bool:
        return row["measure"] != lead and str(row["measure"]).partition(":")[0] not in ids

    return sorted(rows, key=later)


def run_tables(result: Document) -> Iterator[TableView]:
    """Yield tables of means over runs, of their differences, and of each run."""
    yield from existing_tables(
        result,
        TableView("run_spread", "Means over runs", "measure model mean sd runs method"),
        TableView("runs", "Each run", "measure model run value"),
    )
    if rows := comparison_rows(result, "run"):
        references = {str(row["reference"]) for row in rows}
        title = "Differences of means over runs, all pairs"
        less: dict[str, Source] = {"minus": "reference"}
        if len(references) == 1:
            title, less = f"Differences from {quote_if_ambiguous(*references)}, means over runs", {}
        columns: dict[str, Source] = {"measure": "measure", "model": "model", **less, **SHORT}
        note = "intervals and p: adjusted for all comparisons of a measure"
        if any(row["p"] is None for row in rows) and any(row["p"] is not None for row in rows):
            note += "; runs of the same rows have them only for the leading measure and --measure"
        yield TableView("comparisons", title, columns, sort_requested_first(result, rows), FEW,
                        note, rank="asked", lead="difference_adjusted", whole=True,
                        name="runs_compared")  # fmt: skip


def slice_tables(result: Document) -> Iterator[TableView]:
    """Yield the slices of the leading model, significantly worse ones first and marked."""
    every = result.tables.get("slices", ())
    if not every:
        return
    best = str(every[0]["model"])
    mine = [row for row in every if row["model"] == best]
    rows = [row for row in mine if row["q"] is not None] or list(mine)
    few = sum(row["q"] is None for row in mine)
    note = "▼ significantly worse than outside the slice; q: p adjusted for all tests"
    if few:
        note += f"; {format_count(few, 'slice')} too small to test"
        note += "; for all, add --format csv --show slices"
    columns: dict[str, Source] = {"slice": "slice", "rows": "rows"}
    if "positives" in rows[0]:
        columns["positives"] = "positives"
    columns |= {
        SLICE_HEADS.get(name, column_heading(name)): partial(_format_marked, name=name)
        for name in rows[0] if isinstance(rows[0][name], Estimate)
    }  # fmt: skip
    yield TableView("slices", f"Slices of {quote_if_ambiguous(best)}",
                    {**columns, "q": "q"}, rows, FEW,
                    note, rank="asked", whole=True, places=())  # fmt: skip
    if inside := comparison_rows(result, "reference", inside=True):
        to = describe_reference(str(inside[0]["reference"]), str(result.parameters["reference"]))
        of = {str(row["measure"]) for row in inside}
        also: dict[str, Source] = {"measure": "measure"} if len(of) > 1 else {}
        by = "" if also else f", by {column_heading(*of)}"
        yield TableView("comparisons", f"Differences from {to} in each slice{by}",
                    {"slice": "slice", **also, "model": "model", **SHORT}, inside, FEW,
                    "intervals: unadjusted; p: adjusted (Benjamini-Hochberg)",
                    rank="asked", lead="difference_adjusted", whole=True,
                    name="within")  # fmt: skip
    gaps = [row for row in comparison_rows(result, "slice", inside=True) if row["model"] == best]
    yield TableView(
        "comparisons", f"Slices of {quote_if_ambiguous(best)}: inside compared with outside",
        {"measure": "measure", "slice": "slice", "in slice": "new", "outside": "old",
         "difference": "difference", "q": "p_adjusted", "verdict": "verdict"},
        gaps, 60, FAIRNESS, name="gaps",
    )  # fmt: skip
    yield from existing_tables(result, TableView(
        "extremes", "Largest differences between slices",
        "measure model largest smallest gap slices",
    ))  # fmt: skip


def _format_marked(row: Row, *, name: str) -> str:
    """Return a measure of a slice as text, marked where it is significantly worse."""
    value, worse = as_estimate(row[name]).value, row["worse"]
    mark = "▼" if isinstance(worse, list) and name in worse else " "
    return "" if value is None else f"{format_number(value)}{mark}"


def best_model_tables(result: Document) -> Iterator[TableView]:
    """Yield tables of the models tied with the best by each measure, and corrected best values."""
    yield from existing_tables(
        result,
        TableView("best", "Models tied with the best, with confidence intervals of ranks",
                  "measure model tied p_first rank_low rank_high"),
        TableView("winner", "Value of the best model, corrected for selection bias",
                  "measure model value optimism corrected"),
        TableView("together", "Cochran's Q test of equal accuracy",
                  "measure models differ statistic? p? method"),
    )  # fmt: skip
