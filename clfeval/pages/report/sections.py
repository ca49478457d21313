"""The tables of a report in reading order: the leading ones first, the rest by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from clfeval.document import Document, Row, as_estimate, cell_value
from clfeval.formatting import quoted_name
from clfeval.lazy_rows import rows_where
from clfeval.pages.formatting import (
    evenly_spaced,
    format_exact,
    majority_class_note,
    threshold_note,
)
from clfeval.pages.report.classes import CALIBRATION_TESTS, class_tables
from clfeval.pages.report.comparisons import best_model_tables, comparison_tables, slice_tables
from clfeval.pages.report.thresholds import order_by_rule, threshold_tables
from clfeval.pages.shared_columns import (
    AT_PREVALENCE,
    CELLS,
    MAX_ROWS,
    best_and_tied_signs,
    measure_tables,
    prevalence_table,
    requested_rows,
    sort_by_column,
)
from clfeval.schema import Source, TableView

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
        "distribution", f"Score distribution by class ({quoted_name(model)})",
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
