"""Sections of report: measures, calibration, slices, thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from clfeval.document import Cell, Document, Row, as_estimate, cell_value
from clfeval.document.rows import rows_where
from clfeval.formatting import format_percent, quote_if_ambiguous
from clfeval.pages.formatting import (
    INFINITE,
    REASONS,
    evenly_spaced,
    format_exact,
    majority_class_note,
    threshold_note,
)
from clfeval.pages.report.classes import CALIBRATION_TESTS, class_tables
from clfeval.pages.report.comparisons import best_model_tables, comparison_tables, slice_tables
from clfeval.pages.schema import Column, Source, Table, TableView, cols
from clfeval.pages.shared_columns import (
    AT_PREVALENCE,
    CELLS,
    COUNT_MEANINGS,
    MAX_ROWS,
    MODEL,
    RATE_MEANINGS,
    SLICE,
    best_and_tied_signs,
    existing_tables,
    measure_tables,
    prevalence_table,
    requested_rows,
    sort_by_column,
)

THRESHOLD_HINT = " (change it with --threshold T)"
BLOCKS = "·▁▂▃▄▅▆▇█"
CALIBRATED = "slope < 1: probabilities too extreme; CITL > 0: too low on average"
PROBABLE: Mapping[str, Source] = {
    "model": "model", "AUC ↑": "roc_auc", "Brier ↓": "brier", "slope\n→ 1": "calibration_slope",
    "CITL\n→ 0": "calibration_in_the_large", "net\nbenefit ↑": "net_benefit",
}  # fmt: skip
RATES: Mapping[str, Source] = {
    "model": "model", "sens. ↑": "sensitivity", "spec. ↑": "specificity", "PPV ↑": "precision",
    "NPV ↑": "npv", "MCC ↑": "mcc",
}  # fmt: skip
OF_LABELS: Mapping[str, Source] = {
    "model": "model", "balanced\naccuracy ↑": "balanced_accuracy", "sens. ↑": "sensitivity",
    "spec. ↑": "specificity", "PPV ↑": "precision", "NPV ↑": "npv", "MCC ↑": "mcc", "F1 ↑": "f1",
    "kappa ↑": "kappa",
}  # fmt: skip


def page_tables(result: Document, _digits: int) -> Iterator[TableView]:
    """Yield the tables in reading order."""
    if result.parameters["positive"] is None:
        yield from comparison_tables(result)
        yield from class_tables(result)
        yield from slice_tables(result)
        yield from best_model_tables(result)
        return
    yield from threshold_tables(result)
    if values := result.whole(AT_PREVALENCE):
        yield prevalence_table(order_by_rule(result, values, "balanced_accuracy"), "asked")
    yield from comparison_tables(result)
    models = result.whole("models")
    aucs = [as_estimate(row["roc_auc"]) for row in models if "roc_auc" in row]
    if any(auc.reason != "needs_scores" for auc in aucs):
        yield from _of_scores(result, sort_by_column(models, "roc_auc"))
    else:
        rows = sort_by_column(models, "balanced_accuracy")
        yield TableView(
            "models", "Models by balanced accuracy", OF_LABELS, rows[:MAX_ROWS],
            total=len(rows), rank="main", lead="balanced_accuracy",
            more="--format csv", places=best_and_tied_signs(rows[:MAX_ROWS]),
        )  # fmt: skip
        counts: dict[str, Source] = {
            "model": "model",
            **{cell.name.upper(): cell.name for cell in CELLS},
        }
        note = majority_class_note([result.summary.get("prevalence")])
        yield TableView("models", "Confusion matrices", counts, rows[:MAX_ROWS], total=len(rows),
                        rank="main", note=note, more="--format csv", name="errors", whole=True,
                        places=())  # fmt: skip
    yield from slice_tables(result)
    yield from _detail_tables(result)


def _of_scores(result: Document, rows: Sequence[Row]) -> Iterator[TableView]:
    at, errors, words = threshold_note(rows), RATES, dict[str, str]()
    scored = [row for row in rows if row["threshold"] is not None]
    if not at and threshold_note(scored):
        at = f"{threshold_note(scored)}, or by given labels"
    elif not at and scored:
        at = ", each model at its own threshold"
        errors = {"model": "model", "threshold": "threshold", **RATES}
        words["net_benefit"] = "at each model's threshold; for common ones, add --show decision"
    if at.startswith(" at "):
        words["net_benefit"] = at.strip()
    columns, note = PROBABLE, CALIBRATED
    if all(as_estimate(row["brier"]).reason == "not_probabilities" for row in rows):
        columns = {"model": "model", "AUC ↑": "roc_auc"}
        note = "scores are outside 0 to 1: no Brier score, calibration or net benefit"
    yield TableView(
        "models", "Models by ROC AUC", columns, rows[:MAX_ROWS],
        total=len(rows), rank="main", lead="roc_auc", more="--format csv",
        name="probabilities", places=best_and_tied_signs(rows[:MAX_ROWS]), words=words,
        note=note,
    )  # fmt: skip
    if any(row["tp"] is not None for row in rows):  # else no threshold is known
        other = THRESHOLD_HINT if at == threshold_note(rows) and not result.again else ""
        yield TableView(
            "models", f"Classification{at}{other}", errors, rows[:MAX_ROWS],
            total=len(rows), rank="main", name="errors", more="--format csv", lead="model",
            places=(),
        )  # fmt: skip
    drawn = {str(row["model"]) for row in result.whole("distribution")}
    first = next((str(row["model"]) for row in rows if row["model"] in drawn), None)
    if first is not None:  # of models with labels there are no scores
        yield _score_distribution(result, first)


def _score_distribution(result: Document, model: str) -> TableView:
    """Return the histogram of scores of the best model by class: one block per bin."""
    mine = [row for row in result.whole("distribution") if row["model"] == model]
    low, high = format_exact(mine[0]["from"]), format_exact(mine[-1]["to"])
    lines: list[Row] = []
    for name in dict.fromkeys(str(row["class"]) for row in mine):
        shares = [cell_value(row["share"]) or 0.0 for row in mine if row["class"] == name]
        # at least the lowest block, unless the share is 0
        steps = [max(1, round(s / max(shares) * (len(BLOCKS) - 1))) if s else 0 for s in shares]
        blocks = "".join(BLOCKS[step] for step in steps)
        lines.append({"class": name, "scores": f"{low} {blocks} {high}"})
    columns: dict[str, Source] = {"": "class", " ": "scores"}
    return TableView(
        "distribution", f"Score distribution by class ({quote_if_ambiguous(model)})",
        columns, lines, rank="main", more="", whole=True,
    )  # fmt: skip


def _detail_tables(result: Document) -> Iterator[TableView]:
    yield from measure_tables(result, requested_rows(result), name="asked")
    yield from best_model_tables(result)
    yield TableView("measures", "All measures", "model measure value method",
                    result.whole("measures"), MAX_ROWS * 4)  # fmt: skip
    if confusion := result.whole("confusion"):
        yield TableView(
            "confusion", "Confusion counts", "model truth predicted rows share", confusion, MAX_ROWS
        )
    for name, title, columns, most in (
        ("calibration", "Calibration by score group",
         "model bin from to rows mean_score observed", 2 * MAX_ROWS),
        (*CALIBRATION_TESTS, 2 * MAX_ROWS),
        ("thresholds", "Results by threshold",
         "model threshold flagged sensitivity specificity precision npv", 2 * MAX_ROWS),
        ("decision", "Decision curve: net benefit by threshold probability",
         "model threshold net_benefit gain helps?", 2 * MAX_ROWS),
        ("curves", "Curve points", "model threshold sensitivity fpr precision flagged lift",
         MAX_ROWS),
        ("distribution", "Score distribution by class", "model class from to rows share",
         2 * MAX_ROWS),
    ):  # fmt: skip
        if name in result.tables:
            rows = result.whole(name)
            if name == "decision":  # every fifth hundredth; all models have the same
                first = rows_where(rows, "model", rows[0]["model"])
                kept = evenly_spaced(sorted({float(str(row["threshold"])) for row in first}), 21)
                rows = list(islice((row for row in rows if row["threshold"] in kept), most))
            yield TableView(name, title, columns, rows, most, total=len(result.whole(name)),
                        name="spread" if name == "distribution" else name)  # fmt: skip


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
CUTOFF_RATES: Mapping[str, Source] = {
    "sens.": "sensitivity", "spec.": "specificity", "PPV": "precision", "NPV": "npv",
}  # fmt: skip


def threshold_tables(result: Document) -> Iterator[TableView]:
    """Yield tables of chosen thresholds, of abstention zones, and of the risk-coverage curve."""
    if rows := order_by_rule(result, result.whole("cutoffs"), "roc_auc"):
        columns: dict[str, Source] = {
            **_model_column(rows), "chosen by": _format_rule, "threshold": _format_threshold,
            "goal:\nnew data": "corrected", "goal:\nsame rows": "value", **CUTOFF_RATES,
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
            "all rows": "accuracy_of_all", **CUTOFF_RATES,
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
