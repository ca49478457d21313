"""The page of report: headline, charts, words of its screens."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from clfeval.document import Document
from clfeval.document.cells import Row, cell_value
from clfeval.document.rows import column_values, rows_where
from clfeval.formatting import format_count
from clfeval.pages.chart import Axis, Chart, Note, Point, Series, row_point
from clfeval.pages.report.sections import curve_prevalence, page_tables
from clfeval.pages.report.tables import TABLES
from clfeval.pages.schema import SHARED_WORDS, Page
from clfeval.pages.shared_tables import PPV_MEANINGS, RATE_MEANINGS
from clfeval.pages.table_parts import format_class_counts, join_names, sort_by_column
from clfeval.placeholders import END, OPTION

BEYOND = (
    f"for other commands on these rows, add {OPTION}--with mars{END}, or {OPTION}--with all{END}"
)
GLOSSARY: Mapping[str, str] = {
    **SHARED_WORDS,
    "roc_auc": "probability that a random positive has a higher score than a random negative",
    "brier": "mean squared error of the probabilities; 0 is perfect",
    "overconfidence": "mean probability of the predicted class, minus accuracy; 0 is ideal",
    "brier_skill": "1 - Brier score / Brier score of predicting the prevalence for every row",
    "log_loss": "mean negative log probability of the observed class; 0 is perfect",
    "calibration_slope": "below 1 probabilities are too extreme, above 1 not extreme enough",
    "calibration_intercept": "intercept of the recalibration model that includes the slope; 0 if "
    "well calibrated",
    "oe_ratio": "observed / expected positives; above 1 probabilities are too low on average",
    "calibration_in_the_large": "intercept at slope 1; above 0 probabilities are too low",
    "net_benefit": "(TP - FP × t / (1 - t)) / rows, at threshold t",
    **RATE_MEANINGS,
    **PPV_MEANINGS,
    "balanced_accuracy": "mean of sensitivity and specificity",
    "fpr": "share of negatives predicted positive",
    "kappa_quadratic": "chance-corrected agreement, errors weighted by squared distance",
    "ordinal_mae": "mean distance of predicted and true class in the declared order",
    "macro F1": "unweighted mean F1 of the classes",
    "top-2 accuracy": "share of rows whose true class is among the two most probable",
    "class predicted as another": "true class, predicted class, and rows of the true class",
    "recall ▼": "classes whose recall is significantly lower than outside the slice",
    "equal opportunity": "sensitivity is equal in the slice and outside it",
    "predictive equality": "specificity (and FPR) is equal in the slice and outside it",
    "demographic parity": "detection prevalence is equal in the slice and outside it",
    "predictive parity": "precision (PPV) is equal in the slice and outside it",
    "bootstrap": "confidence interval of the threshold",
    "apparent goal": "what the rule optimizes, on the rows that chose the threshold: optimistic",
    "corrected goal": "what the rule optimizes, expected on new data",
    "zone": "share: the rows nearest the threshold; cost: rows for which both predictions cost "
    "more than abstention (Chow)",
    "abstains at": "scores without a prediction: from the first number to below the second",
    "all rows": "accuracy if every row has a prediction",
}
HEADINGS: Mapping[str, str] = {
    "AUC": "roc_auc",
    "Brier": "brier",
    "slope": "calibration_slope",
    "CITL": "calibration_in_the_large",
    "net benefit": "net_benefit",
    "sens.": "sensitivity",
    "recall": "sensitivity",
    "spec.": "specificity",
    "PPV": "precision",
    "NPV": "npv",
    "balanced accuracy": "balanced_accuracy",
    "quadratic kappa": "kappa_quadratic",
    "places off": "ordinal_mae",
    "overconf.": "overconfidence",
}


def headline(result: Document) -> list[str]:
    """Return the headline: inputs, rows of each class, and runs."""
    file_names = join_names([file.name for file in result.inputs])
    summary = result.summary
    runs_clause = f", {format_count(summary['runs'], 'run')}" if summary.get("runs") else ""
    return [f"Report of {file_names}: {format_class_counts(result)}{runs_clause}"]


def other_commands_hint(result: Document) -> str:
    """Return the hint on other commands for several models with thresholded predictions."""
    labelled_rows = [row for row in result.unsliced_rows("models") if row.get("tp") is not None]
    has_other_rows = not {"classes", "runs", "min_cell"}.isdisjoint(result.summary)
    return (
        "" if result.methods or has_other_rows or len(labelled_rows) < 2 or result.again else BEYOND
    )


CURVES = (
    ("roc", "ROC curve: sensitivity by 1 - specificity", "fpr", "sensitivity", "1 - specificity"),
    ("pr", "Precision-recall curve", "sensitivity", "precision", "sensitivity"),
    (
        "gain",
        "Cumulative gain: sensitivity by share of rows flagged",
        "flagged",
        "sensitivity",
        "share of rows flagged",
    ),
    (
        "lift",
        "Lift: precision / prevalence by share of rows flagged",
        "flagged",
        "lift",
        "share of rows flagged",
    ),
)
MAX_CURVES = 26  # models; there are as many letters
SHARE_RANGE = (0.0, 1.0)  # of a share
REFERENCE_MARKER = ":"  # the marker of reference lines


def page_charts(result: Document) -> Iterator[Chart]:
    """Yield the curves that a result has, the best model first, of at most 26 models."""
    if "curves" not in result.tables:
        return
    models = [row["model"] for row in sort_by_column(result.unsliced_rows("models"), "roc_auc")]
    unshown_count = len(models) - MAX_CURVES
    notes = (Note(format_count(unshown_count, "more model")),) if unshown_count > 0 else ()
    for chart in _all_charts(result, models[:MAX_CURVES]):
        yield replace(chart, key=(*chart.key, *notes))


def _all_charts(result: Document, models: Sequence[str]) -> Iterator[Chart]:
    rows_by_model = _rows_by_model(result.unsliced_rows("curves"), models)
    chance_heights = {"roc": SHARE_RANGE, "gain": SHARE_RANGE, "lift": (1.0, 1.0)}
    if (prevalence := cell_value(result.summary["prevalence"])) is not None:
        chance_heights["pr"] = prevalence, prevalence
    for name, title, x_column, y_column, x_title in CURVES:
        if series := _curves(rows_by_model, models, x_column, y_column):
            reference_lines = (
                [_reference_line("chance", *chance_heights[name])] if name in chance_heights else []
            )
            has_pr_chance = name == "pr" and "pr" in chance_heights
            note = Note("chance: precision equal to the prevalence")
            yield Chart(
                "lines",
                title,
                Axis(x_title, range=SHARE_RANGE),
                Axis(range=None if name == "lift" else SHARE_RANGE),
                (*series, *reference_lines),
                key=(note,) if has_pr_chance else (),
                name=name,
            )
    if "calibration" in result.tables:
        bins_by_model = _rows_by_model(result.unsliced_rows("calibration"), models)
        calibration_curves = [
            Series(name, (_points(bins_by_model[name], "mean_score", "observed"),))
            for name in models
            if name in bins_by_model
        ]
        calibration_curves.append(_reference_line("calibrated", *SHARE_RANGE))
        title = "Calibration curve: observed share of positives by mean score, in deciles"
        yield Chart(
            "lines",
            title,
            Axis("mean score", range=SHARE_RANGE),
            Axis(range=SHARE_RANGE),
            tuple(calibration_curves),
            name="calibration",
        )
    if "decision" in result.tables:
        yield _net_benefit_chart(result, models)
    risks = _rows_by_model(result.unsliced_rows("risk"), models)
    if series := _curves(risks, models, "coverage", "risk"):
        title = "Risk-coverage curve: error rate among rows with a prediction"
        yield Chart("lines", title, Axis("coverage", range=SHARE_RANGE), series=series, name="risk")


def _curves(
    rows_by_model: Mapping[str, Sequence[Row]], models: Sequence[str], x_column: str, y_column: str
) -> tuple[Series, ...]:
    """Return the curves of the models that have at least two points."""
    curves = (
        (model, _points(rows_by_model.get(model, ()), x_column, y_column)) for model in models
    )
    return tuple(Series(model, (points,)) for model, points in curves if len(points) > 1)


def _reference_line(
    name: str, left_height: float, right_height: float, letter: str = REFERENCE_MARKER
) -> Series:
    """Return a line over the whole width with which models are compared."""
    return Series(name, (((0.0, left_height), (1.0, right_height)),), letter=letter)


def _rows_by_model(rows: Sequence[Row], models: Collection[str]) -> dict[str, list[Row]]:
    rows_by_model: dict[str, list[Row]] = {}
    for i, model in enumerate(column_values(rows, "model")):
        if str(model) in models:
            rows_by_model.setdefault(str(model), []).append(rows[i])
    return rows_by_model


def _points(rows: Sequence[Row], x_column: str, y_column: str) -> tuple[Point, ...]:
    points = (row_point(row, x_column, y_column) for row in rows)
    return tuple(point for point in points if point)


def _net_benefit_chart(result: Document, models: Sequence[str]) -> Chart:
    """Return the net benefit of models, treat-all and treat-none, without deep negative points."""
    table = result.unsliced_rows("decision")
    rows_by_model = _rows_by_model(table, models)
    first_rows = rows_where(table, "model", table[0]["model"])
    highest = max(cell_value(row["treat_all"]) or 0.0 for row in first_rows)
    lowest_drawn = -0.05 * max(1e-9, highest)

    def curve(rows: Sequence[Row], column: str) -> tuple[Point, ...]:
        points = _points(rows, "threshold", column)
        return tuple((x, y) for x, y in points if y >= lowest_drawn)

    series = [
        Series(model, (curve(rows_by_model[model], "net_benefit"),))
        for model in models
        if model in rows_by_model
    ]
    treat_all = _falling_curve(_points(first_rows, "threshold", "treat_all"), lowest_drawn)
    if treat_all:
        series.append(Series("treat all", (treat_all,), letter=REFERENCE_MARKER))
    series.append(_reference_line("treat none", 0.0, 0.0, "-"))
    title = f"Decision curve: net benefit by threshold probability{curve_prevalence(table)}"
    axis = Axis("threshold probability", range=SHARE_RANGE)
    return Chart("lines", title, axis, series=tuple(series), name="benefit")


def _falling_curve(points: Sequence[Point], lowest_height: float) -> tuple[Point, ...]:
    """Return the points of a falling curve from a height up: at least two, or none.

    Where one is left the curve ends where it falls to that height, between this point and the next.
    """
    high_points = [(x, y) for x, y in points if y >= lowest_height]
    if len(high_points) != 1 or len(points) == 1:
        return tuple(high_points) if len(points) > 1 else ()
    (x, y), (next_x, next_y) = points[:2]
    step_share = (y - lowest_height) / (y - next_y)
    return (x, y), (x + step_share * (next_x - x), lowest_height)


PAGE = Page(
    "report",
    TABLES,
    headline,
    page_tables,
    page_charts,
    beyond=other_commands_hint,
    parts=(
        "probabilities",
        "errors",
        "classes",
        "confusions",
        "matrix",
        "gaps",
        "spread",
        "operating_points",
        "equally_flagged",
    ),
    plots=("calibration", "roc", "pr", "gain", "lift", "benefit", "risk"),
    pictures=("forest", "differences", "pairs", "scores", "confusion", "slices"),
    glossary=GLOSSARY,
    headings=HEADINGS,
)
