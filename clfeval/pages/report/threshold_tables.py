"""Tables of report on thresholds: those chosen, abstention zones, the risk-coverage curve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clfeval.document import Document
from clfeval.document.cells import Cell, Row, as_estimate, cell_number, cell_text, cell_value
from clfeval.formatting import format_percent, format_share
from clfeval.pages.schema import Source, TableView
from clfeval.pages.shared_tables import RULES
from clfeval.pages.table_parts import (
    INFINITE,
    MAX_ROWS,
    REASONS,
    existing_tables,
    format_exact,
    sort_by_column,
)

MISSED = "!"  # after a threshold whose constraint is missed on new data
CUTOFF_RATES: Mapping[str, Source] = {
    "sens.": "sensitivity",
    "spec.": "specificity",
    "PPV": "precision",
    "NPV": "npv",
}


def threshold_tables(result: Document) -> Iterator[TableView]:
    """Yield tables of chosen thresholds, of abstention zones, and of the risk-coverage curve."""
    if rows := order_by_rule(result, result.unsliced_rows("cutoffs"), "roc_auc"):
        yield _cutoff_table(rows)
    if rows := order_by_rule(result, result.unsliced_rows("abstentions"), "roc_auc"):
        yield _abstention_table(rows)
    yield from existing_tables(result, _risk_table(result.unsliced_rows("risk")))


def _cutoff_table(rows: Sequence[Row]) -> TableView:
    """Return the table of chosen thresholds; a rule that chose them all is in the title."""
    columns: dict[str, Source] = {
        **_model_column(rows),
        "chosen by": format_rule,
        "threshold": _format_marked if any(map(_misses_limit, rows)) else _format_threshold,
        "corrected\ngoal": "corrected",
        "apparent\ngoal": "value",
        **CUTOFF_RATES,
        "flagged": "flagged",
        "bootstrap": _bootstrap_interval,
    }
    title = "Thresholds chosen on these rows"
    rules = {format_rule(row) for row in rows}
    if len(rules) == 1:
        title += f": {min(rules)}"
        del columns["chosen by"]
    return TableView(
        "cutoffs",
        title,
        columns,
        rows,
        MAX_ROWS,
        _cutoff_note(rows),
        rank="asked",
        lead="corrected",
        right=("threshold",),
        places=(),
        legend=("apparent goal", "bootstrap"),
    )


def _misses_limit(row: Row) -> bool:
    """Return whether the constrained measure, expected on new data, is beyond its limit."""
    return row.get("misses_limit") is True


def _format_marked(row: Row) -> str:
    """Write a threshold with the mark of a missed limit."""
    return f"{_format_threshold(row)}{f' {MISSED}' if _misses_limit(row) else '  '}"


def _cutoff_note(rows: Sequence[Row]) -> str:
    """Return on what data the values are, what is maximized, and why values are undefined."""
    note = "apparent goal: on these rows; else on new data"
    if rows[0]["population"] == "target":
        prevalence_text = format_share(cell_number(rows[0]["prevalence"]))
        note += f"; PPV, NPV and flagged at prevalence {prevalence_text}"
    goal_measures = dict.fromkeys(row["measure"] for row in rows if row["limited"] is not None)
    if goal_measures:
        note += f"; goal: {' or '.join(goal_measures)}, maximized"
    if any(map(_misses_limit, rows)):
        note += f"; {MISSED}: misses its limit"
    reasons = dict.fromkeys(as_estimate(row["corrected"]).reason for row in rows)
    undefined_reasons = [
        reason for reason in reasons if reason is not None and reason not in INFINITE
    ]
    return "; –: ".join((note, *(REASONS.get(reason, reason) for reason in undefined_reasons)))


def _abstention_table(rows: Sequence[Row]) -> TableView:
    """Return the table of abstention zones; the costs that chose them are in the note."""
    rules = {cell_text(row["chosen_by"]) for row in rows}
    cost_rules = {rule for rule in rules if rule.startswith("cost")}
    note = "all rows: accuracy without abstention"
    if len(cost_rules) == 1:
        note += f"; cost: {min(cost_rules).partition(':')[2].replace(',', ', ')}"

    def format_zone_rule(row: Row) -> str:
        return "cost" if cost_rules == {cell_text(row["chosen_by"])} else format_rule(row)

    columns: dict[str, Source] = {
        **_model_column(rows),
        "zone": format_zone_rule,
        "abstains at": _format_zone,
        "coverage": "coverage",
        "accuracy": "accuracy",
        "all rows": "accuracy_of_all",
        **CUTOFF_RATES,
    }
    if cost_rules:
        columns |= {"cost": "cost", "cost of all": "cost_of_all"}
    return TableView(
        "abstentions",
        "Abstention near the threshold",
        columns,
        rows,
        MAX_ROWS,
        note,
        rank="asked",
        lead="accuracy",
        places=(),
    )


def _risk_table(rows: Sequence[Row]) -> TableView:
    """Return the risk-coverage curve: of each model one row in every twentieth of the coverage."""
    first_rows: dict[tuple[Cell, int], Row] = {}
    for row in rows:
        coverage_step = int(20 * (cell_value(row["coverage"]) or 0.0) + 1e-9)
        first_rows.setdefault((row["model"], coverage_step), row)
    return TableView(
        "risk",
        "Risk-coverage curve: error rate among rows with a prediction",
        "model coverage risk distance",
        [*first_rows.values()],
        4 * MAX_ROWS,
        total=len(rows),
    )


def order_by_rule(result: Document, rows: Sequence[Row], measure: str) -> list[Row]:
    """Return rows by rule, then in the order of the models by a measure."""
    model_rows = sort_by_column(result.unsliced_rows("models"), measure) if rows else ()
    model_names = [row["model"] for row in model_rows]
    rules = list(dict.fromkeys(row["chosen_by"] for row in rows))
    return sorted(
        rows, key=lambda row: (rules.index(row["chosen_by"]), model_names.index(row["model"]))
    )


def _model_column(rows: Sequence[Row]) -> dict[str, Source]:
    return {"model": "model"} if len({row["model"] for row in rows}) > 1 else {}


def format_rule(row: Row) -> str:
    """Return a rule as it is typed, a share in percent."""
    rule_text = cell_text(row["chosen_by"])
    try:
        return f"{format_percent(float(rule_text))}%"
    except ValueError:
        return rule_text.replace("expected_cost:", "cost:")


def _format_threshold(row: Row) -> str:
    text_by_rule = {RULES[1]: "none", RULES[2]: "all", None: "–"}
    return text_by_rule.get(row["rule"]) or format_exact(row["threshold"])  # type: ignore[arg-type]


def _bootstrap_interval(row: Row) -> str:
    low = row["threshold_low"]
    high = row["threshold_high"]
    if low is None:
        return ""
    return f"{format_exact(low)} to {'none' if high is None else format_exact(high)}"


def _format_zone(row: Row) -> str:
    if row["low"] is None:
        return "–"
    low = format_exact(row["low"])
    high = format_exact(row["high"])
    if row["high"] is None:
        return f"from {low} up"
    return "none" if row["low"] == row["high"] else f"{low} to {high}"
