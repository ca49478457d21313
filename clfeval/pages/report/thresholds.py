"""Chosen thresholds and abstention: tables, meanings of columns, the risk-coverage curve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clfeval.document import Document, Row, as_estimate, cell_value
from clfeval.formatting import format_percent
from clfeval.pages.formatting import INFINITE, REASONS, format_exact
from clfeval.pages.report.model_order import MAX_ROWS, sort_models
from clfeval.pages.shared_columns import CELLS, MODEL, SLICE
from clfeval.schema import Axis, Chart, Column, Point, Series, Source, Table, TableView, cols

RULES = ("score >= t", "never positive", "always positive")
TABLES = (
    Table("cutoffs", (
        SLICE, MODEL, *cols("text", "chosen_by"), *cols("cut?", "threshold"),
        Column("threshold_low", "cut?"), Column("threshold_high", "cut?"),
        Column("rule", "text", among=(None, *RULES)), *(Column(one.name, "weight?", one.title)
                                                       for one in CELLS),
        *cols("text", "measure"), *cols("estimate", "value"),
        Column("corrected", "estimate", "value on new data"),
        Column("limited", "estimate?", "constrained measure on new data"),
        *cols("share", "sensitivity specificity precision npv flagged"),
    ), "best_threshold?"),
    Table("abstentions", (
        SLICE, MODEL, *cols("text", "chosen_by"),
        *cols("cut?", "threshold low high"),
        *cols("share", "coverage"),
        *(Column(one.name, "weight?", one.title) for one in CELLS),
        *cols("share", "accuracy"),
        Column("accuracy_of_all", "share", "accuracy of all"),
        *cols("share", "sensitivity specificity precision npv"),
        *cols("number?", "cost cost_of_all aurc"),
    ), "abstain?"),
    Table("risk", (
        SLICE, MODEL, *cols("number", "distance"),
        *cols("part", "coverage risk"),
    ), "abstain?"),
)  # fmt: skip
OF_RATES: Mapping[str, str] = {
    "sensitivity": "share of positives predicted positive",
    "specificity": "share of negatives predicted negative",
    "precision": "share of predicted positives that are positive",
    "npv": "share of predicted negatives that are negative",
}
MEANINGS: Mapping[str, str] = {
    "chosen_by": "rule: the measure that is optimized, or the constraint",
    "cutoffs.threshold": "scores at or above it are predicted positive; "
    "empty if no row is predicted positive or no threshold meets the rule",
    "threshold_low": "lower confidence limit of the threshold, by the bootstrap",
    "threshold_high": "upper confidence limit of the threshold, by the bootstrap",
    "rule": "how the threshold is applied",
    **{f"cutoffs.{name}": f"{words}, at the threshold" for name, words in (
        ("tp", "true positives"),
        ("fp", "false positives"),
        ("fn", "false negatives"),
        ("tn", "true negatives"))},
    "cutoffs.measure": "measure that is maximized; with a constraint: specificity, or sensitivity "
    "if the constraint is on the negatives",
    "cutoffs.value": "value at the threshold on the same rows, which is optimistic",
    "corrected": "value expected on new data: corrected for optimism by the bootstrap",
    "limited": "constrained measure expected on new data, corrected for optimism",
    **{f"cutoffs.{name}": f"{words}, expected on new data" for name, words in (
        *OF_RATES.items(), ("flagged", "share of rows predicted positive"))},
    "abstentions.chosen_by": "share of rows without a prediction, or costs of the error types",
    "abstentions.threshold": "the threshold if every row has a prediction",
    "low": "lower bound of the abstention zone",
    "high": "upper bound of the abstention zone: scores at or above it are predicted positive",
    "coverage": "share of rows with a prediction, those farthest from the threshold",
    **{f"abstentions.{name}": f"{words}, among rows with a prediction" for name, words in (
        ("tp", "true positives"), ("fp", "false positives"),
        ("fn", "false negatives"), ("tn", "true negatives"),
        ("accuracy", "accuracy"), *OF_RATES.items())},
    "accuracy_of_all": "accuracy if every row has a prediction",
    "cost": "mean cost per row, abstentions included",
    "cost_of_all": "mean cost per row without abstention, at `threshold`",
    "aurc": "area under the risk-coverage curve: mean error rate over all coverages",
    "distance": "rows with scores closer than this to the threshold get no prediction",
    "risk.coverage": "share of rows with a prediction",
    "risk": "error rate among rows with a prediction",
    "bootstrap": "confidence interval of the threshold",
    "goal: same rows": "what the rule optimizes, on the rows that chose the threshold: "
    "optimistic",
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
    rows = _ordered_rows(result, "cutoffs")
    if rows:
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
        note += _undefined_note(rows)
        yield TableView(
            "cutoffs", title, columns, rows, MAX_ROWS, note,
            rank="asked", lead="corrected", right=("threshold",), total=len(rows),
            places=[""] * len(rows), legend=("goal: same rows", "bootstrap"),
        )  # fmt: skip
    rows = _ordered_rows(result, "abstentions")
    chosen = dict.fromkeys(str(row["chosen_by"]) for row in rows)
    costs = [name for name in chosen if name.startswith("cost")]
    if rows:
        columns = {
            **_model_column(rows), "zone": _zone_kind if len(costs) == 1 else _format_rule,
            "abstains at": _format_zone,
            "coverage": "coverage", "accuracy": "accuracy", "all rows": "accuracy_of_all", **RATES,
        }  # fmt: skip
        note = "all rows: accuracy without abstention"
        if costs:
            columns |= {"cost": "cost", "cost of all": "cost_of_all"}
        if len(costs) == 1:
            note += f"; cost: {costs[0].partition(':')[2].replace(',', ', ')}"
        yield TableView(
            "abstentions", "Abstention near the threshold", columns, rows, MAX_ROWS,
            note, rank="asked", lead="accuracy", total=len(rows), places=[""] * len(rows),
        )  # fmt: skip
    if "risk" in result.tables:
        rows = [*result.whole("risk")]
        yield TableView("risk", "Risk-coverage curve: error rate among rows with a prediction",
                    "model coverage risk distance", [*_sampled_steps(rows)], 4 * MAX_ROWS,
                    total=len(rows))  # fmt: skip


def risk_chart(result: Document, names: Sequence[str]) -> Iterator[Chart]:
    """Yield the chart of risk-coverage curves, the best model first."""
    points: dict[str, list[Point]] = {}
    for row in result.whole("risk"):
        x, y = cell_value(row["coverage"]), cell_value(row["risk"])
        if x is not None and y is not None:
            points.setdefault(str(row["model"]), []).append((x, y))
    series = tuple(Series(name, (tuple(points[name]),)) for name in names
                   if len(points.get(name, ())) > 1)  # fmt: skip
    if series:
        title = "Risk-coverage curve: error rate among rows with a prediction"
        yield Chart("lines", title, Axis("coverage", ends=(0.0, 1.0)), Axis(),
                    series, name="risk")  # fmt: skip


def _ordered_rows(result: Document, table: str) -> list[Row]:
    """Return the rows of the whole table by rule, then in the order of the models."""
    rows = result.whole(table)
    if not rows:
        return []
    names = [row["model"] for row in sort_models(result.whole("models"), "roc_auc")]
    rules = list(dict.fromkeys(row["chosen_by"] for row in rows))
    return sorted(rows, key=lambda row: (rules.index(row["chosen_by"]), names.index(row["model"])))


def _sampled_steps(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the first point of each model in every twentieth of the coverage."""
    last: tuple[object, int] = ("", -1)
    for row in rows:
        here = row["model"], int(20 * (cell_value(row["coverage"]) or 0.0) + 1e-9)
        if here != last:
            yield row
        last = here


def _undefined_note(rows: Sequence[Row]) -> str:
    """Return the note on why values on new data are undefined."""
    whys = dict.fromkeys(as_estimate(row["corrected"]).reason for row in rows)
    said = [REASONS.get(why, why) for why in whys if why is not None and why not in INFINITE]
    return "".join(f"; –: {why}" for why in said)


def _model_column(rows: Sequence[Row]) -> dict[str, Source]:
    return {"model": "model"} if len({row["model"] for row in rows}) > 1 else {}


def _format_rule(row: Row) -> str:
    """Return a rule as it is typed, a share in percent."""
    text = str(row["chosen_by"])
    try:
        return f"{format_percent(float(text))}%"
    except ValueError:
        return text.replace("expected_cost:", "cost:")


def _zone_kind(row: Row) -> str:
    """Return the kind of a zone: cost, or its rule."""
    return "cost" if str(row["chosen_by"]).startswith("cost") else _format_rule(row)


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
    if row["high"] is None:
        return f"from {format_exact(row['low'])} up"
    return (
        "none"
        if row["low"] == row["high"]
        else f"{format_exact(row['low'])} to {format_exact(row['high'])}"
    )
