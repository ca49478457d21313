"""The tables of a report in reading order: what decides first, the rest by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from clfeval.document import Document, Row, estimate, value_of
from clfeval.lazy import where
from clfeval.pages.asked import named_rows, shown_measures
from clfeval.pages.prevalence import NAME, shown_prevalence
from clfeval.pages.report.classes import shown_classes
from clfeval.pages.report.compared import shown_best, shown_comparisons, shown_slices
from clfeval.pages.report.cutting import shown_cuts
from clfeval.pages.report.order import CALIBRATION_TESTS, LISTED, places, ranked
from clfeval.pages.write import at_cut, evenly, exact, without_model
from clfeval.schema import Shown, Source
from clfeval.words import quoted

OTHER = " (change it with --threshold T)"
BLOCKS = " ▁▂▃▄▅▆▇█"
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


def shown(result: Document, _digits: int) -> Iterator[Shown]:
    """Yield the tables in reading order."""
    if result.parameters["positive"] is None:
        yield from shown_comparisons(result)
        yield from shown_classes(result)
        yield from shown_slices(result)
        yield from shown_best(result)
        return
    yield from shown_cuts(result)
    if values := result.whole(NAME):
        names = [row["model"] for row in ranked(result.whole("models"), "balanced_accuracy")]
        rules = list(dict.fromkeys(row["chosen_by"] for row in values))
        yield shown_prevalence(sorted(values, key=lambda row: (
            rules.index(row["chosen_by"]), names.index(row["model"]))), "asked")  # fmt: skip
    yield from shown_comparisons(result)
    models = result.whole("models")
    scored = [
        row
        for row in models
        if "roc_auc" in row and estimate(row["roc_auc"]).reason != "needs_scores"
    ]
    if scored:
        yield from _of_scores(result, ranked(models, "roc_auc"))
    else:
        rows = ranked(models, "balanced_accuracy")
        yield Shown(
            "models", "Models by balanced accuracy", OF_LABELS, rows[:LISTED],
            total=len(rows), rank="main", lead="balanced_accuracy",
            more="--format csv", places=places(rows[:LISTED]),
        )  # fmt: skip
        yield _confusion(result, rows)
    yield from shown_slices(result)
    yield from _details(result)


def _of_scores(result: Document, rows: Sequence[Row]) -> Iterator[Shown]:
    at, errors, words = at_cut(rows), RATES, dict[str, str]()
    scored = [row for row in rows if row["threshold"] is not None]
    if not at and at_cut(scored):
        at = f"{at_cut(scored)}, or by given labels"
    elif not at and scored:
        at = ", each model at its own threshold"
        errors = {"model": "model", "threshold": "threshold", **RATES}
        words["net_benefit"] = "at each model's threshold; for common ones, add --show decision"
    if at.startswith(" at "):
        words["net_benefit"] = at.strip()
    columns, note = PROBABLE, CALIBRATED
    if all(estimate(row["brier"]).reason == "not_probabilities" for row in rows):
        columns = {"model": "model", "AUC ↑": "roc_auc"}
        note = "scores are outside 0 to 1: no Brier score, calibration or net benefit"
    yield Shown(
        "models", "Models by ROC AUC", columns, rows[:LISTED],
        total=len(rows), rank="main", lead="roc_auc", more="--format csv",
        name="probabilities", places=places(rows[:LISTED]), words=words,
        note=note,
    )  # fmt: skip
    if any(row["tp"] is not None for row in rows):  # else no threshold is known
        other = OTHER if at == at_cut(rows) and not result.again else ""
        yield Shown(
            "models", f"Classification{at}{other}", errors, rows[:LISTED],
            total=len(rows), rank="main", name="errors", more="--format csv", lead="model",
            places=[""] * len(rows[:LISTED]),
        )  # fmt: skip
    drawn = {str(row["model"]) for row in result.whole("distribution")}
    first = next((str(row["model"]) for row in rows if row["model"] in drawn), None)
    if first is not None:  # of models with labels there are no scores
        yield _spread(result, first)


def _spread(result: Document, model: str) -> Shown:
    """Draw the scores of each class of the best model: a block a bin, its height the share."""
    mine = [row for row in result.whole("distribution") if row["model"] == model]
    classes = list(dict.fromkeys(str(row["class"]) for row in mine))
    low, high = mine[0]["from"], mine[-1]["to"]
    lines: list[Row] = []
    for name in classes:
        shares = [value_of(row["share"]) or 0.0 for row in mine if row["class"] == name]
        most = max(shares, default=0.0)
        blocks = "".join(_block(share, most) for share in shares)
        lines.append({"class": name, "scores": f"{exact(low)} {blocks} {exact(high)}"})
    columns: dict[str, Source] = {"": "class", " ": "scores"}
    return Shown(
        "distribution", f"Score distribution by class ({quoted(model)})",
        columns, lines, rank="main", more="", whole=True,
    )  # fmt: skip


def _block(share: float, most: float) -> str:
    """Return a block as high as the share of the largest; the lowest for all but none."""
    if not share or not most:
        return "·"
    return BLOCKS[max(1, round(share / most * (len(BLOCKS) - 1)))]


def _confusion(result: Document, rows: Sequence[Row]) -> Shown:
    """Show the 2 x 2 tables side by side."""
    columns: dict[str, Source] = {"model": "model", "TP": "tp", "FP": "fp", "FN": "fn", "TN": "tn"}
    note = without_model([result.summary.get("prevalence")])
    return Shown("models", "Confusion matrices", columns, rows[:LISTED], total=len(rows),
                 rank="main", note=note, more="--format csv", name="errors", whole=True,
                 places=[""] * len(rows[:LISTED]))  # fmt: skip


def _details(result: Document) -> Iterator[Shown]:
    tables = result.tables
    columns = "model measure value method"
    yield from shown_measures(result, named_rows(result), name="asked")
    yield from shown_best(result)
    yield Shown("measures", "All measures", columns, result.whole("measures"), LISTED * 4)
    if result.whole("confusion"):
        yield Shown("confusion", "Confusion counts", "model truth predicted rows share",
                    result.whole("confusion"), LISTED)  # fmt: skip
    for name, title, columns, most in (
        ("calibration", "Calibration by score group",
         "model bin from to rows mean_score observed", 2 * LISTED),
        (*CALIBRATION_TESTS, 2 * LISTED),
        ("thresholds", "Results by threshold",
         "model threshold flagged sensitivity specificity precision npv", 2 * LISTED),
        ("decision", "Decision curve: net benefit by threshold probability",
         "model threshold net_benefit gain helps?", 2 * LISTED),
        ("curves", "Curve points", "model threshold sensitivity fpr precision flagged lift",
         LISTED),
        ("distribution", "Score distribution by class", "model class from to rows share",
         2 * LISTED),
    ):  # fmt: skip
        if name in tables:
            rows = result.whole(name)
            if name == "decision":  # every fifth hundredth; all models have the same
                first = where(rows, "model", rows[0]["model"])
                kept = evenly(sorted({float(str(row["threshold"])) for row in first}), 21)
                rows = list(islice((row for row in rows if row["threshold"] in kept), most))
            yield Shown(name, title, columns, rows, most, total=len(result.whole(name)),
                        name="spread" if name == "distribution" else name)  # fmt: skip
