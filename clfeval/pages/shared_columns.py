"""Columns and tables that pages share: comparisons, requested measures, prevalence, baselines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clfeval.document import Cell, Document, Row, as_estimate, cell_value, sort_value
from clfeval.formatting import format_class_ratio, format_close, format_share, quote_if_ambiguous
from clfeval.measures.catalog import find_measure
from clfeval.pages.formatting import INFINITE, REASONS
from clfeval.pages.schema import (
    BASELINE,
    CHANGES,
    MOST_CHANGES,
    Column,
    Rank,
    Sign,
    Source,
    Table,
    TableView,
    cols,
    comparison_rows,
)

MAX_COMPARISON_ROWS, PAIRED = 20, 20  # rows shown; differences between models shown by default

SLICE, MODEL = cols("slice", "slice") + cols("text", "model")
CELLS = tuple(
    Column(name, "weight", name.upper(), best="min" if name in ("fp", "fn") else None)
    for name in ("tp", "fp", "fn", "tn")
)
COUNT_MEANINGS = {"tp": "true positives", "fp": "false positives", "fn": "false negatives",
                  "tn": "true negatives"}  # fmt: skip
RATE_MEANINGS = {
    "sensitivity": "share of positives predicted positive",
    "specificity": "share of negatives predicted negative",
    "precision": "share of predicted positives that are positive",
    "npv": "share of predicted negatives that are negative",
}
SHARED: Mapping[str, str] = {
    "slice": "the rows with one value of the --by columns; without it the whole table",
    "model": "the name of the classifier",
    "threshold": "score at or above which a row is predicted positive; empty for models that "
    "have labels only",
    **COUNT_MEANINGS,
    "rows": "number of rows; repeated rows count each time",
    "positives": "rows of the positive class",
    "negatives": "rows of all other classes",
    "prevalence": "share of positives in the population",
    "odds": "positives : negatives in the population",
    "measure": "the measure of this row of the table",
    "interval": "confidence interval, at the level of --level",
    "comparisons.against": "what the model is compared with: a reference on the same rows, the "
    "rows outside a slice, runs, a baseline, or a label of a history",
    "comparisons.measure": "the measure compared",
    "comparisons.reference": "the other side: a model, the rows outside, a baseline or a label",
    "old": "the value of the other side",
    "new": "the value of the model",
    "difference": "new - old, with its confidence interval",
    "p": "two-sided p-value of no difference; it agrees with the interval",
    "p_adjusted": "p adjusted for multiple comparisons: joint maximum for pairs of models, "
    "Benjamini-Hochberg for slices and changes",
    "difference_adjusted": "the difference with a simultaneous confidence interval",
    "verdict": "better, worse: significant after adjustment; changed: significant without a "
    "direction; equivalent, not worse: within --margin",
    "paired": "whether both sides have the same rows",
    "comparisons.rows": "number of rows compared, or of runs",
    "se": "standard error of the difference",
    "detectable": "the smallest difference that is detected with power 0.8",
    "comparisons.method": "method of the interval and p",
    "baseline_changes.id": "the id of the row",
    "baseline_changes.truth": "the true class of the row",
    "baseline_changes.before": "the prediction in the baseline, which was correct",
    "baseline_changes.after": "the prediction now, which is wrong",
}


def sort_by_column(rows: Sequence[Row], column: str) -> list[Row]:
    """Return rows sorted by value within each slice and prevalence, those without a value last."""

    def part(row: Row) -> tuple[Cell, Cell]:
        return row.get("slice"), row.get("prevalence")

    place = {here: i for i, here in enumerate(dict.fromkeys(map(part, rows)))}

    def key(row: Row) -> tuple[int, bool, float]:
        value = cell_value(row.get(column))
        return place[part(row)], value is None, -(value or 0.0)

    return sorted(rows, key=key)


def best_and_tied_signs(rows: Sequence[Row]) -> list[Sign]:
    """Return the signs of the best of several models and those tied with it, where tested."""
    may = [row["tied"] for row in rows]
    if len(may) < 2 or all(one is None for one in may):
        return []
    first = next((i for i, one in enumerate(may) if one), 0)
    return ["best" if i == first else "equal" if one else "" for i, one in enumerate(may)]


def existing_tables(result: Document, *views: TableView) -> Iterator[TableView]:
    """Yield the views of those tables that the result has."""
    yield from (view for view in views if view.table in result.tables)


def difference_tables(result: Document) -> Iterator[TableView]:
    """Yield the table of differences from a reference, or of any two models over runs."""
    runs, reference = comparison_rows(result, "run"), result.parameters.get("reference")
    rows = comparison_rows(result, "reference") + comparison_rows(result, "reference", inside=True)
    if not (rows := rows or runs):
        return
    title = f"from {quote_if_ambiguous(reference)}" if reference else "between models"
    where = " in means over runs" if runs else " on the same rows" * bool(reference)
    columns: dict[str, Source] = {
        **({"slice": "slice"} if any(row["slice"] is not None for row in rows) else {}),
        "measure": "measure", "model": "model", **({} if reference else {"minus": "reference"}),
        "difference": "difference_adjusted",
    }  # fmt: skip
    note = ""
    if any(row["p"] is not None for row in rows):
        columns |= {"p, adjusted": "p_adjusted", "verdict": "verdict"}
        note = "intervals, p and verdict are adjusted for all models"
    yield TableView(
        "comparisons", f"Differences {title}{where}", columns, rows, MAX_COMPARISON_ROWS, note,
        lead="difference_adjusted",
        rank="asked" if reference is not None or len(rows) <= PAIRED else "detail",
    )  # fmt: skip


MAX_ROWS = 30  # rows of a table shown to a person; files get them all
MEASURED = Table("measures", (
    SLICE, MODEL, *cols("text", "measure estimator"), *cols("text?", "class"),
    *cols("estimate", "value"), Column("se", "number?", "standard error"), *cols("text", "method"),
    *cols("number?", "calibrated_mean calibrated_high", when="?"), Column("p", "p?", when="?"),
))  # fmt: skip
MEANINGS: Mapping[str, str] = {
    "class": "the class of the measure; empty if it is about all classes",
    "measure": "the measure, with its parameters",
    "estimator": "binary; for more classes multiclass, macro, weighted, micro, or class (one "
    "against the rest)",
    "value": "value of the measure",
    "se": "standard error of the value",
    "measures.method": "method of the interval or p",
    "calibrated_mean": "mean of the measure if the probabilities were calibrated",
    "calibrated_high": "upper --level quantile of the measure if they were calibrated",
    "measures.p": "p-value against calibrated probabilities",
}


def requested_rows(result: Document) -> list[Row]:
    """Return measures of a report, not of single classes, requested by name or only by a set."""
    known = result.tables["models"][0]
    found = [find_measure(name.partition(":")[0]) for name in result.parameters.get("measure", ())]
    ids = {measure.id for measure in found if measure is not None}
    rows = [row for row in result.whole("measures") if row["estimator"] != "class"]
    other = {row["measure"] for row in rows if None in found and row["measure"] not in known}
    return [r for r in rows if r["measure"] in other or str(r["measure"]).partition(":")[0] in ids]


def measure_tables(
    result: Document, rows: Sequence[Row] | None = None, *, name: str = ""
) -> Iterator[TableView]:
    """Yield the table of requested measures, with those of slices; rows: only these."""
    mine = result.tables.get(MEASURED.name, ()) if rows is None else rows
    if not mine:
        return
    columns = "slice " * any(row["slice"] is not None for row in mine) + "model measure "
    columns += "estimator " * (len({row["estimator"] for row in mine}) > 1) + "value "
    columns += "calibrated_mean? calibrated_high? p? " * any("p" in row for row in mine) + "method"
    whys: dict[str, dict[str, None]] = {}
    for row in mine[:MAX_ROWS]:
        reason = as_estimate(row["value"]).reason
        if reason is not None and reason not in INFINITE:
            whys.setdefault(reason, {})[str(row["measure"])] = None
    said = [f"– {', '.join(names)}: {REASONS.get(reason, reason.replace('_', ' '))}"
            if reason != "needs_scores" else "–: the model has labels only"
            for reason, names in whys.items()]  # fmt: skip
    yield TableView(MEASURED.name, "Requested measures", columns, mine, MAX_ROWS, rank="asked",
                    name=name, note="; ".join(said))  # fmt: skip


AT_PREVALENCE = "at_prevalence"
PREVALENCE_TABLE = Table(AT_PREVALENCE, (
    MODEL, Column("chosen_by", "text?"), Column("threshold", "cut?"),
    Column("population", "text", among=("sample", "1:1", "target")),
    *cols("prevalence", "prevalence"), *cols("odds", "odds"),
    *cols("share", "sensitivity specificity ppv npv"), *cols("amount", "alarms alarms_per_case"),
    *cols("estimate", "net_benefit"),
))  # fmt: skip
PREVALENCE_MEANINGS: Mapping[str, str] = {
    "at_prevalence.chosen_by": "the rule that chose the threshold; values are expected on new data",
    "alarms": "rows predicted positive per 1,000 rows",
    "alarms_per_case": "rows predicted positive per true positive, 1 / PPV",
    "ppv": "share of predicted positives that are positive",
    "population": "the sample as counted, balanced classes (1:1), a target, or one of the sweep",
}
PREVALENCE_HEADINGS = {"alarms / 1,000": "alarms", "alarms / case": "alarms_per_case"}
PREVALENCE_COLUMNS: Mapping[str, Source] = {
    "PPV ↑": "ppv", "NPV ↑": "npv", "alarms\n/ case": "alarms_per_case",
    "alarms\n/ 1,000": "alarms", "net\nbenefit ↑": "net_benefit", "sens. ↑": "sensitivity",
    "spec. ↑": "specificity",
}  # fmt: skip


def prevalence_table(rows: Sequence[Row], rank: Rank) -> TableView:
    """Return the table of PPV, NPV and alarms at each prevalence."""
    rows = sorted(rows, key=lambda row: float(str(row["prevalence"])))
    order = list(dict.fromkeys(row["odds"] for row in rows))
    every = {row["chosen_by"] for row in rows}
    columns: dict[str, Source] = {
        "model": "model",
        **({"chosen by": "chosen_by"} if len(every) > 1 else {}),
        **({"prevalence": "prevalence"} if len(order) > 1 else {}),
        **({"threshold": "threshold"} if any(row["threshold"] is not None for row in rows) else {}),
        **PREVALENCE_COLUMNS,
    }
    if all(sort_value(row["net_benefit"]) is None for row in rows):
        del columns["net\nbenefit ↑"]
    title = "Predictive values"
    if len(order) == 1:
        share = format_share(float(str(rows[0]["prevalence"])))
        title += f" at prevalence {share} ({format_class_ratio(order[0])})"
    named = {"j_index": "largest J", "expected_cost": "lowest expected cost"}
    note = named.get(str(min(every, key=str)), "") if len(every) == 1 else ""
    note = f"threshold of the {note}; values expected on new data" if note else ""
    return TableView(
        AT_PREVALENCE, title, columns, rows, rank=rank, lead="ppv", write=format_close, note=note,
        legend=("alarms", "alarms_per_case"), places=(),
    )  # fmt: skip


def baseline_tables(result: Document, *, every: bool) -> list[TableView]:
    """Return tables of changes tested together or limited, worst first; none without baseline.

    every: all of them, else the first.
    """
    found = comparison_rows(result, BASELINE)
    if not found:
        return []
    limited = {gate.measure for gate in result.gates}
    rows = [row for row in found if row["p_adjusted"] is not None or row["measure"] in limited]
    paired = {bool(row["paired"]) for row in rows}
    pairing = "" if False not in paired else " or, where not paired, on independent samples"
    shown = [
        TableView(
            "comparisons", "Change since the baseline", {
                "model": "model", "measure": "measure", "old": "old", "new": "new",
                "change": "difference", "p, adjusted": "p_adjusted", "verdict": "verdict",
            }, rows or found, None if every else 15,
            "p: adjusted (Benjamini-Hochberg) over these measures and models; –: not adjusted",
            rank="asked", lead="difference", whole=True, name=BASELINE, total=len(found),
            more="--show baseline; all measures: --format csv --show comparisons",
            words={"change": f"new - old, on the same rows{pairing}"} if True in paired else {},
        )
    ]  # fmt: skip
    if result.tables.get(CHANGES):
        shown.append(TableView(
            CHANGES, "Rows predicted correctly before, incorrectly now",
            "model id truth before after", most=10, rank="asked", lead="model",
            note=f"at most {MOST_CHANGES} rows per model",
        ))  # fmt: skip
    return shown
