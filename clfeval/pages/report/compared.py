"""Who is tied with the best by each measure, the corrected winner, differences of models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from clfeval.measures.catalog import find_measure
from clfeval.pages.columns import MODEL
from clfeval.pages.write import exact, heading
from clfeval.result import Estimate, Result, Row, estimate
from clfeval.schema import Column, Shown, Source, Table, comparisons, of
from clfeval.words import NAMESAKES, many, number, quoted, reference_of

FEW = 15  # comparisons, or slices, shown where an option asks for them
FAIRNESS = (
    "no gap of sensitivity is called equal opportunity, of specificity predictive equality, of "
    "precision predictive parity, of detection_prevalence demographic parity"
)
METRIC = of("text", "measure")
TABLES = (
    Table("best", (
        *METRIC, MODEL, *of("flag", "tied"), Column("p_first", "part", "P(first)"),
        *of("rank", "rank_low rank_high"),
    )),
    Table("winner", (*METRIC, MODEL, *of("estimate", "value"), *of("number", "optimism"),
                     *of("estimate", "corrected"))),
    Table("mcnemar", (
        MODEL, *of("text", "reference"), Column("newly_right", "weight", "newly right"),
        Column("newly_wrong", "weight", "newly wrong"), Column("p", "p?"), *of("text", "method"),
    ), "reference?"),
    Table("together", (
        *METRIC, *of("count", "models"), Column("differ", "weight", "rows that differ"),
        *of("number?", "statistic"), Column("p", "p?"), *of("text", "method"),
    ), "reference?"),
    Table("runs", (*METRIC, MODEL, *of("text", "run"), *of("estimate", "value"),
                   Column("se", "number?", "standard error"))),
    Table("run_spread", (
        *METRIC, MODEL, *of("count", "runs"), *of("estimate", "mean"), *of("number?", "sd"),
        *of("text", "method"),
    )),
    Table("slices", (
        *of("text", "slice"), MODEL, *of("weight", "rows"), Column("positives", "weight", when="?"),
        *of("estimate", "roc_auc oe_ratio sensitivity specificity accuracy overconfidence",
            when="?"),
        Column("q", "p?"), Column("worse", "text*"),
    )),
    Table("extremes", (
        *METRIC, MODEL, *of("text", "largest smallest"), *of("estimate", "gap"),
        *of("count", "slices"),
    )),
    Table("baselines", (
        *METRIC, MODEL, *of("number?", "value"), *of("number", "observed"), Column("p", "p?"),
        *of("text", "method"),
    )),
    Table("resolution", (
        *METRIC, MODEL, *of("text", "reference"), *of("number", "detectable wanted"),
        Column("rows_needed", "count", "rows needed"),
    ), "reference?"),
    Table("changes", (
        MODEL, *of("text", "reference file"), Column("id", "text", when="one"),
        Column("row", "count", when="one"), *of("text", "truth before after"),
    ), "reference?"),
)  # fmt: skip
MEANINGS: Mapping[str, str] = {
    "reference": "the model that it is compared with",
    "p_first": "how often it would be the first, of tables like this one",
    "rank_low": "the best place it may have, by the confidence of --level",
    "rank_high": "the last place it may have, by the confidence of --level",
    "optimism": "by how much the best of so many looks better than it is, on average",
    "corrected": "the value less the optimism, and its limits",
    "newly_right": "rows that the model has right and the reference wrong",
    "newly_wrong": "rows that the model has wrong and the reference right",
    "together.models": "how many models there are, less those without a threshold",
    "differ": "rows that some models have right and others wrong",
    "statistic": "Cochran's Q, about chi² with a degree of freedom less than models",
    "together.method": "how Q was found, or why it was not",
    "together.p": "chance of a Q as large, were all models right as often",
    "runs": "runs in which the measure is defined; of a comparison, of both models",
    "run": "one repetition, such as a fold or a seed, as --run tells them apart",
    "mean": "the mean over runs, each counted alike, with limits of it",
    "run_spread.sd": "the standard deviation between runs",
    "run_spread.method": "corrected t of runs with rows of their own, as of folds; runs and rows "
    "where all have the same rows",
    "mcnemar.p": "McNemar's mid-p that both are right as often",
    "mcnemar.method": "how p was found, or why it was not",
    "runs.value": "the measure in the run, by itself",
    "gap": "the value in the slice less that in all other rows",
    "extremes.gap": "the largest value of a slice less the smallest, with limits that hold for "
    "every two slices",
    "largest": "the slice with the largest value of those judged",
    "smallest": "the slice with the smallest",
    "extremes.slices": "how many slices were judged",
    "q": "the least p of a slice, adjusted by Benjamini and Hochberg over slices and measures",
    "worse": "the measures by which the slice is significantly worse than the other rows",
    "equal opportunity": "the gap of `sensitivity` is 0: positives are found alike in the "
    "slice and outside",
    "predictive equality": "the gap of `specificity`, or of `fpr`, is 0: negatives are called "
    "positive alike",
    "demographic parity": "the gap of `detection_prevalence` is 0: rows are called positive alike, "
    "whatever they are",
    "predictive parity": "the gap of `precision` is 0: positive answers are right alike",
    "baselines.value": "what the measure is worth without information: the mean over all ways to "
    "deal the truth anew to the same answers",
    "observed": "what the model has",
    "baselines.p": "how often truth dealt anew is as good as observed",
    "baselines.method": "hypergeometric, and expectation: exactly; permutations: the mean of "
    "draws; constant: one answer for all rows",
    "wanted": "the difference that --resolution asks about",
    "rows_needed": "rows like these at which it is seen with a power of 0.8",
    "before": "what the reference says",
    "after": "what the model says",
    "changes.id": "the row, as the column of --id calls it",
    "changes.row": "its row in the file; the header is row 1",
    "file": "the file it stands in",
}
SLICE_HEADS = {
    "oe_ratio": "O:E →1", "roc_auc": "AUC ↑", "sensitivity": "sens. ↑", "specificity": "spec. ↑",
}  # fmt: skip
SHORT: Mapping[str, Source] = {
    "difference": "difference_adjusted", "p, adjusted": "p_adjusted", "verdict": "verdict",
}  # fmt: skip


def shown_comparisons(result: Result) -> Iterator[Shown]:
    """Yield the differences that an option asks for, by the measures that decide first."""
    rows, given = comparisons(result, "reference"), str(result.parameters.get("reference"))
    yield from shown_runs(result)
    if rows:
        pairs = {(row["model"], row["reference"]): row for row in rows}
        references = {str(reference) for _, reference in pairs}
        columns: dict[str, Source] = {"measure": "measure", "model": "model", **SHORT}
        title, note = "Differences between models on the same rows", ""
        if len(pairs) > 1:
            note = (
                "intervals, p and verdict: adjusted for all comparisons by a measure, not across "
            )
            note += "measures"
        if len(references) == 1 or given.endswith(NAMESAKES):
            title = f"Differences from {reference_of(min(references), given)} on the same rows"
        else:
            columns = {"measure": "measure", "model": "model", "less": "reference", **SHORT}
        if len(pairs) == 1:
            title = f"{quoted(str(rows[0]['model']))} less {quoted(*references)} on the same rows"
            columns.pop("model")
            note = "intervals, p and verdict: sensitivity and specificity adjusted for both, other "
            note += "measures not"
        for row in result.tables.get("together", ()):
            if row["p"] is not None:
                note += f"; Cochran's Q, all {row['models']} models equally accurate: p "
                note += exact(float(str(row["p"])))
        yield Shown("comparisons", title, columns, named_first(result, rows), max(FEW, len(pairs)),
                    note, rank="asked", lead="difference_adjusted", whole=True)  # fmt: skip
    if "mcnemar" in result.tables:
        yield Shown("mcnemar", "Rows that one of two models alone has right",
                    "model reference newly_right newly_wrong p?", rank="asked")  # fmt: skip
    yield from _asked(result)


def named_first(result: Result, rows: Sequence[Row]) -> list[Row]:
    """Put the measures that options name behind the one that leads, before all others."""
    asked = result.parameters
    names = [*asked.get("measure", ()), *asked.get("margin", ()), *asked.get("resolution", ())]
    ids = {one.id for name in names if (one := find_measure(name.partition(":")[0])) is not None}
    lead = rows[0]["measure"]

    def later(row: Row) -> bool:
        return row["measure"] != lead and str(row["measure"]).partition(":")[0] not in ids

    return sorted(rows, key=later)


def shown_runs(result: Result) -> Iterator[Shown]:
    """Yield means over runs, differences of them, and each run."""
    for name, title, holds in (
        ("run_spread", "Means over runs", "measure model mean sd runs method"),
        ("runs", "Each run", "measure model run value"),
    ):
        if name in result.tables:
            yield Shown(name, title, holds)
    if rows := comparisons(result, "run"):
        references = {str(row["reference"]) for row in rows}
        title = "Differences of means over runs, of any two models"
        less: dict[str, Source] = {"less": "reference"}
        if len(references) == 1:
            title, less = f"Differences from {quoted(*references)} of means over runs", {}
        columns: dict[str, Source] = {"measure": "measure", "model": "model", **less, **SHORT}
        note = "intervals, p and verdict: adjusted for all comparisons by a measure"
        if any(row["p"] is None for row in rows) and any(row["p"] is not None for row in rows):
            note += (
                "; runs of the same rows have intervals by the leading measure, and by --measure"
            )
        yield Shown("comparisons", title, columns, named_first(result, rows), FEW, note,
                    rank="asked", lead="difference_adjusted", whole=True,
                    name="runs_compared")  # fmt: skip


def _asked(result: Result) -> Iterator[Shown]:
    """Yield what further options ask of comparisons."""
    if "baselines" in result.tables:
        yield Shown("baselines", "Without information: truth dealt anew to the same answers",
                    "measure model value observed p?", rank="asked",
                    note="(constant): the share of positives for every row; (majority): the "
                    "larger class" * ("(majority)" in {row["model"] for row in
                                      result.tables["baselines"]}))  # fmt: skip
    for name, title, columns in (
        ("resolution", "Rows it takes to see a difference (power 0.8)",
         "measure model reference wanted rows_needed detectable"),
        ("changes", "Answers that change", "model reference id? row? truth before after"),
    ):  # fmt: skip
        if name in result.tables:
            yield Shown(name, title, columns, rank="asked")


def shown_slices(result: Result) -> Iterator[Shown]:
    """Yield the slices of the leader, those that are significantly worse first and marked."""
    every = result.tables.get("slices", ())
    if not every:
        return
    best = str(every[0]["model"])
    mine = [row for row in every if row["model"] == best]
    rows = [row for row in mine if row["q"] is not None] or list(mine)
    few = sum(row["q"] is None for row in mine)
    note = (
        "▼ significantly worse than the other rows; q: by Benjamini and Hochberg over slices and "
    )
    note += "measures"
    if few:
        note += f"; {many(few, 'slice')} too small to judge: -f csv --show slices"
    columns: dict[str, Source] = {"slice": "slice", "rows": "rows"}
    if "positives" in rows[0]:
        columns["positives"] = "positives"
    columns |= {
        SLICE_HEADS.get(name, heading(name)): partial(_marked, name=name)
        for name in rows[0] if isinstance(rows[0][name], Estimate)
    }  # fmt: skip
    yield Shown("slices", f"Slices of {quoted(best)}", {**columns, "q": "q"}, rows, FEW, note,
                rank="asked", whole=True, places=[""] * len(rows))  # fmt: skip
    if inside := comparisons(result, "reference", inside=True):
        to = reference_of(str(inside[0]["reference"]), str(result.parameters["reference"]))
        of = {str(row["measure"]) for row in inside}
        also: dict[str, Source] = {"measure": "measure"} if len(of) > 1 else {}
        by = "" if also else f", by {heading(*of)}"
        yield Shown("comparisons", f"Differences from {to} in each slice{by}",
                    {"slice": "slice", **also, "model": "model", **SHORT}, inside, FEW,
                    "intervals: each by itself; p: adjusted by Benjamini and Hochberg",
                    rank="asked", lead="difference_adjusted", whole=True,
                    name="within")  # fmt: skip
    gaps = [row for row in comparisons(result, "slice", inside=True) if row["model"] == best]
    yield Shown("comparisons", f"Slices of {quoted(best)} compared with the other rows",
                {"measure": "measure", "slice": "slice", "there": "new", "elsewhere": "old",
                 "difference": "difference", "q": "p_adjusted", "verdict": "verdict"},
                gaps, 60, FAIRNESS, name="gaps")  # fmt: skip
    if "extremes" in result.tables:
        yield Shown("extremes", "Slices: the largest value less the smallest",
                    "measure model largest smallest gap slices")  # fmt: skip


def _marked(row: Row, *, name: str) -> str:
    """Write a measure of a slice, marked where it is significantly worse."""
    value, worse = estimate(row[name]).value, row["worse"]
    mark = "▼" if isinstance(worse, list) and name in worse else " "
    return "" if value is None else f"{number(value)}{mark}"


def shown_best(result: Result) -> Iterator[Shown]:
    """Yield who is tied with the best by each measure, and the corrected winners."""
    for name, title, columns in (
        ("best", "Models tied with the best, and their ranks",
         "measure model tied p_first rank_low rank_high"),
        ("winner", "The best model's value, corrected for its selection",
         "measure model value optimism corrected"),
        ("together", "All models together: are they right as often?",
         "measure models differ statistic? p? method"),
    ):  # fmt: skip
        if name in result.tables:
            yield Shown(name, title, columns)
