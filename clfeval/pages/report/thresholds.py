"""Chosen thresholds and abstention: tables, meanings of columns, the risk-coverage curve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clfeval.document import Cell, Document, Row, as_estimate, cell_value
from clfeval.formatting import format_percent
from clfeval.pages.formatting import INFINITE, REASONS, format_exact
from clfeval.pages.shared_columns import (
    CELLS,
    COUNT_MEANINGS,
    MAX_ROWS,
    MODEL,
    RATE_MEANINGS,
    SLICE,
    existing_tables,
    sort_by_column,
)
from clfeval.schema import Column, Source, Table, TableView, cols

RULES = ("score >= t", "never positive", "always positive")
COUNTS = tuple(Column(one.name, "weight?", one.title) for one in CELLS)
TABLES = (
    Table("cutoffs", (
        SLICE, MODEL, *cols("text", "chosen_by"),
        *cols("cut?", "threshold threshold_low threshold_high"),
        Column("rule", "text", among=(None, *RULES)), *COUNTS, *cols("text", "measure"),
        *cols("estimate", "value"), Column("corrected", "estimate", "value on new data"),
        Column("limited", "estimate?", "constrained measure on new data"),
        *cols("share", "sensitivity specificity precision npv flagged"),
    ), "best_threshold?"),
    Table("abstentions", (
        SLICE, MODEL, *cols("text", "chosen_by"), *cols("cut?", "threshold low high"),
        *cols("share", "coverage"), *COUNTS, *cols("share", "accuracy"),
        Column("accuracy_of_all", "share", "accuracy of all"),
        *cols("share", "sensitivity specificity precision npv"),
        *cols("number?", "cost cost_of_all aurc"),
    ), "abstain?"),
    Table("risk", (SLICE, MODEL, *cols("number", "distance"), *cols("part", "coverage risk")),
          "abstain?"),
)  # fmt: skip
MEANINGS: Mapping[str, str] = {
    "chosen_by": "rule: the measure that is optimized, or the constraint",
    "cutoffs.threshold": "scores at or above it are predicted positive; "
    "empty if no row is predicted positive or no threshold meets the rule",
    "threshold_low": "lower confidence limit of the threshold, by the bootstrap",
    "threshold_high": "upper confidence limit of the threshold, by the bootstrap",
    "rule": "how the threshold is applied",
    **{f"cutoffs.{name}": f"{words}, at the threshold" for name, words in COUNT_MEANINGS.items()},
    "cutoffs.measure": "measure that is maximized; with a constraint: specificity, or sensitivity "
    "if the constraint is on the negatives",
    "cutoffs.value": "value at the threshold on the same rows, which is optimistic",
    "corrected": "value expected on new data: corrected for optimism by the bootstrap",
    "limited": "constrained measure expected on new data, corrected for optimism",
    **{f"cutoffs.{name}": f"{words}, expected on new data" for name, words in (
        *RATE_MEANINGS.items(), ("flagged", "share of rows predicted positive"))},
    "abstentions.chosen_by": "share of rows without a prediction, or costs of the error types",
    "abstentions.threshold": "the threshold if every row has a prediction",
    "low": "lower bound of the abstention zone",
    "high": "upper bound of the abstention zone: scores at or above it are predicted positive",
    "coverage": "share of rows with a prediction, those farthest from the threshold",
    **{f"abstentions.{name}": f"{words}, among rows with a prediction" for name, words in (
        *COUNT_MEANINGS.items(), ("accuracy", "accuracy"), *RATE_MEANINGS.items())},
    "accuracy_of_all": "accuracy if every row has a prediction",
    "cost": "mean cost per row, abstentions included",
    "cost_of_all": "mean cost per row without abstention, at `threshold`",
    "aurc": "area under the risk-coverage curve: mean error rate over all coverages",
    "distance": "rows with scores closer than this to the threshold get no prediction",
    "risk.coverage": "share of rows with a prediction",
    "risk": "error rate among rows with a prediction",
    "bootstrap": "confidence interval of the threshold",
    "goal: same rows": "what the rule optimizes, on the rows that chose the threshold: optimistic",
    "goal: new data": "what the rule optimizes, expected on new data",
    "zone": "share: the rows nearest the threshold; cost: rows for which both predictions cost "
    "more than abstention (Chow)",
    "abstains at": "scores without a prediction: from the first number to below the second",
    "all rows": "accuracy if every row has a prediction",
}  # fmt: skip
HEADINGS: Mapping[str, str] = {
    "value on new data": "corrected", "constrained measure on new data": "limited",
    "accuracy of all": "accuracy_of_all",
}  # fmt: skip
RATES: Mapping[str, Source] = {
    "sens.": "sensitivity", "spec.": "specificity", "PPV": "precision", "NPV": "npv",
}  # fmt: skip


def threshold_tables(result: Document) -> Iterator[TableView]:
    """Yield tables of chosen thresholds, of abstention zones, and of the risk-coverage curve."""
    if rows := order_by_rule(result, result.whole("cutoffs"), "roc_auc"):
        columns: dict[str, Source] = {
            **_model_column(rows), "chosen by": _format_rule, "threshold": _format_threshold,
            "goal:\nnew data": "corrected", "goal:\nsame rows": "value", **RATES,
            "flagged": "flagged", "bootstrap": _bootstrap_interval,
        }  # fmt: skip
        title, rules = "Thresholds chosen on these rows", {_format_rule(row) for row in rows}
        if len(rules) == 1:
            title += f": {min(rules)}"
            del columns["chosen by"]
        note = "values are expected on new data, except same rows"
        best = dict.fromkeys(str(row["measure"]) for row in rows if row["limited"] is not None)
        note += f"; goal: {' or '.join(best)}, maximized under the constraint" if best else ""
        whys = dict.fromkeys(as_estimate(row["corrected"]).reason for row in rows)
        said = [REASONS.get(why, why) for why in whys if why is not None and why not in INFINITE]
        yield TableView(
            "cutoffs", title, columns, rows, MAX_ROWS, "; –: ".join((note, *said)), rank="asked",
            lead="corrected", right=("threshold",), places=(),
            legend=("goal: same rows", "bootstrap"),
        )  # fmt: skip
    if rows := order_by_rule(result, result.whole("abstentions"), "roc_auc"):
        costs = {text for row in rows if (text := str(row["chosen_by"])).startswith("cost")}
        columns = {
            **_model_column(rows), "zone": lambda row: "cost" if len(costs) == 1 and str(
                row["chosen_by"]) in costs else _format_rule(row),
            "abstains at": _format_zone, "coverage": "coverage", "accuracy": "accuracy",
            "all rows": "accuracy_of_all", **RATES,
            **({"cost": "cost", "cost of all": "cost_of_all"} if costs else {}),
        }  # fmt: skip
        note = "all rows: accuracy without abstention"
        if len(costs) == 1:
            note += f"; cost: {min(costs).partition(':')[2].replace(',', ', ')}"
        yield TableView("abstentions", "Abstention near the threshold", columns, rows, MAX_ROWS,
                        note, rank="asked", lead="accuracy", places=())  # fmt: skip
    rows = [*result.whole("risk")]
    first: dict[tuple[Cell, int], Row] = {}  # of each model in every twentieth of the coverage
    for row in rows:
        step = int(20 * (cell_value(row["coverage"]) or 0.0) + 1e-9)
        first.setdefault((row["model"], step), row)
    yield from existing_tables(result, TableView(
        "risk", "Risk-coverage curve: error rate among rows with a prediction",
        "model coverage risk distance", [*first.values()], 4 * MAX_ROWS, total=len(rows),
    ))  # fmt: skip


def order_by_rule(result: Document, rows: Sequence[Row], measure: str) -> list[Row]:
    """Return rows by rule, then in the order of the models by a measure."""
    models = sort_by_column(result.whole("models"), measure) if rows else ()
    names = [row["model"] for row in models]
    rules = list(dict.fromkeys(row["chosen_by"] for row in rows))
    return sorted(rows, key=lambda row: (rules.index(row["chosen_by"]), names.index(row["model"])))


def _model_column(rows: Sequence[Row]) -> dict[str, Source]:
    return {"model": "model"} if len({row["model"] for row in rows}) > 1 else {}


def _format_rule(row: Row) -> str:
    """Return a rule as it is typed, a share in percent."""
    text = str(row["chosen_by"])
    try:
        return f"{format_percent(float(text))}%"
    except ValueError:
        return text.replace("expected_cost:", "cost:")


def _format_threshold(row: Row) -> str:
    words = {RULES[1]: "none", RULES[2]: "all", None: "–"}
    return words.get(row["rule"]) or format_exact(row["threshold"])  # type: ignore[arg-type]


def _bootstrap_interval(row: Row) -> str:
    low, high = row["threshold_low"], row["threshold_high"]
    if low is None:
        return ""
    return f"{format_exact(low)} to {'none' if high is None else format_exact(high)}"


def _format_zone(row: Row) -> str:
    if row["low"] is None:
        return "–"
    low, high = format_exact(row["low"]), format_exact(row["high"])
    if row["high"] is None:
        return f"from {low} up"
    return "none" if row["low"] == row["high"] else f"{low} to {high}"
