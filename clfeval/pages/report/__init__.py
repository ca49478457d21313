"""The page of report: its tables with the meanings of their columns, headline and charts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from clfeval.document import Document
from clfeval.document.cells import Row, cell_value
from clfeval.document.rows import column_values, rows_where
from clfeval.formatting import format_count
from clfeval.pages.chart import Axis, Chart, Note, Point, Series, row_point
from clfeval.pages.report.calibration_tables import CALIBRATION_MEANINGS, CALIBRATION_TABLES
from clfeval.pages.report.operating_point_tables import (
    SAME_SPECIFICITY,
    SAME_SPECIFICITY_HEADINGS,
    SAME_SPECIFICITY_MEANINGS,
)
from clfeval.pages.report.requested_tables import MEANINGS, RATE_MEANINGS
from clfeval.pages.report.sections import curve_prevalence, page_tables
from clfeval.pages.report.threshold_tables import RULES
from clfeval.pages.schema import SHARED, Column, Page, Table, cols
from clfeval.pages.table_parts import (
    BEST_TABLE,
    CELLS,
    MEASURED,
    MEASURED_MEANINGS,
    MODEL,
    PREVALENCE_HEADINGS,
    PREVALENCE_MEANINGS,
    PREVALENCE_TABLE,
    SLICE,
    format_class_counts,
    join_names,
    sort_by_column,
)
from clfeval.placeholders import END, OPTION

THRESHOLD = Column("threshold", "cut?")
BEYOND = (
    f"for other commands on these rows, add {OPTION}--with mars{END}, or {OPTION}--with all{END}"
)
# measures of one class against the rest; else, without a positive class, of all classes
_TWO, _MULTICLASS = "positive", "classes"
OF_SCORES = (
    *cols("share", "roc_auc brier", when="?"),
    *cols("estimate", "brier_skill", when="+curves"),
    *cols("amount", "log_loss", when="?"),
    *cols("signed", "overconfidence", when=f"{_MULTICLASS}?"),
    *cols("share", "top_k_accuracy", when=f"{_MULTICLASS}?"),
    *cols(
        "estimate",
        "calibration_slope calibration_intercept calibration_in_the_large oe_ratio net_benefit",
        when="+curves",
    ),
)
HARD = (
    *cols("share", "sensitivity specificity precision npv", when=_TWO),
    *cols("share", "balanced_accuracy"),
    *cols("signed", "mcc"),
    *cols("share", "f1"),
    *cols("signed", "kappa"),
    *cols("share", "accuracy"),
    *cols("signed", "kappa_quadratic", when=f"{_MULTICLASS}?"),
    *cols("amount", "ordinal_mae", when=f"{_MULTICLASS}?"),
)
METRIC = cols("text", "measure")
COUNTS = tuple(Column(cell.name, "weight?", cell.title) for cell in CELLS)
TABLES = (
    Table(
        "models",
        (
            SLICE,
            MODEL,
            replace(THRESHOLD, when=_TWO),
            *(replace(cell, kind="weight?", when=_TWO) for cell in CELLS),
            Column("lowest_recall", "share", "lowest recall", when=f"{_MULTICLASS}?"),
            Column("lowest_recall_class", "text?", "class", when=f"{_MULTICLASS}?"),
            *OF_SCORES,
            *HARD,
            Column("tied", "flag?"),
            Column("well_calibrated", "count?", "well calibrated", when=f"{_TWO}?"),
        ),
        "",
        1,
    ),
    replace(MEASURED, when="", min_rows=1),
    Table(
        "confusion",
        (
            SLICE,
            MODEL,
            *cols("text", "truth predicted"),
            *cols("weight", "rows"),
            Column("share", "part?", "share of true class"),
        ),
        "",
    ),
    *CALIBRATION_TABLES,
    Table(
        "curves",
        (
            SLICE,
            MODEL,
            THRESHOLD,
            *cols("weight", "tp fp"),
            *cols("part?", "sensitivity fpr precision flagged"),
            *cols("weight?", "lift"),
        ),
    ),
    Table(
        "roc_band", (SLICE, MODEL, *cols("cut?", "threshold"), *cols("share", "sensitivity fpr"))
    ),
    Table(
        "thresholds",
        (
            SLICE,
            MODEL,
            *cols("cut?", "threshold"),
            *CELLS,
            *cols("part", "flagged"),
            *cols("share", "sensitivity specificity precision npv f1"),
            *cols("signed", "mcc"),
        ),
    ),
    Table(
        "decision",
        (
            SLICE,
            MODEL,
            Column("prevalence", "prevalence", when="?"),
            *cols("part", "threshold"),
            *cols("part?", "flagged"),
            *cols("estimate", "net_benefit"),
            Column("treat_all", "number", "treat all"),
            Column("gain", "estimate", "gain over treat-all and treat-none"),
            Column("helps", "flag?"),
        ),
    ),
    Table(
        "cutoffs",
        (
            SLICE,
            MODEL,
            *cols("text", "chosen_by"),
            Column("population", "text", among=("sample", "target")),
            *cols("prevalence?", "prevalence"),
            *cols("odds?", "odds"),
            *cols("cut?", "threshold threshold_low threshold_high"),
            Column("rule", "text", among=(None, *RULES)),
            *COUNTS,
            *cols("text", "measure"),
            *cols("estimate", "value"),
            Column("corrected", "estimate", "value on new data"),
            Column("limited", "estimate?", "constrained measure on new data"),
            Column("misses_limit", "flag?"),
            *cols("share", "sensitivity specificity precision npv flagged"),
        ),
        "best_threshold?",
    ),
    Table(
        "abstentions",
        (
            SLICE,
            MODEL,
            *cols("text", "chosen_by"),
            *cols("cut?", "threshold low high"),
            *cols("share", "coverage"),
            *COUNTS,
            *cols("share", "accuracy"),
            Column("accuracy_of_all", "share", "accuracy of all"),
            *cols("share", "sensitivity specificity precision npv"),
            *cols("number?", "cost cost_of_all aurc"),
        ),
        "abstain?",
    ),
    Table(
        "risk",
        (SLICE, MODEL, *cols("number", "distance"), *cols("part", "coverage risk")),
        "abstain?",
    ),
    PREVALENCE_TABLE,
    BEST_TABLE,
    Table(
        "winner",
        (
            *METRIC,
            MODEL,
            *cols("estimate", "value"),
            *cols("number", "optimism"),
            *cols("estimate", "corrected"),
        ),
    ),
    SAME_SPECIFICITY,
    Table(
        "mcnemar",
        (
            MODEL,
            *cols("text", "reference"),
            Column("newly_right", "weight", "newly right"),
            Column("newly_wrong", "weight", "newly wrong"),
            Column("p", "p?"),
            *cols("text", "method"),
        ),
        "reference?",
    ),
    Table(
        "together",
        (
            *METRIC,
            *cols("count", "models"),
            Column("differ", "weight", "rows that differ"),
            *cols("number?", "statistic"),
            Column("p", "p?"),
            *cols("text", "method"),
        ),
        "reference?",
    ),
    Table(
        "runs",
        (
            *METRIC,
            MODEL,
            *cols("text", "run"),
            *cols("estimate", "value"),
            Column("se", "number?", "standard error"),
        ),
    ),
    Table(
        "run_spread",
        (
            *METRIC,
            MODEL,
            *cols("count", "runs"),
            *cols("estimate", "mean"),
            *cols("number?", "sd"),
            *cols("text", "method"),
        ),
    ),
    Table(
        "slices",
        (
            *cols("text", "slice"),
            MODEL,
            *cols("weight", "rows"),
            Column("positives", "weight", when="?"),
            *cols(
                "estimate",
                "roc_auc oe_ratio sensitivity specificity accuracy overconfidence",
                when="?",
            ),
            Column("q", "p?"),
            Column("worse", "text*"),
        ),
    ),
    Table(
        "extremes",
        (
            *METRIC,
            MODEL,
            *cols("text", "largest smallest"),
            *cols("estimate", "gap"),
            *cols("count", "slices"),
        ),
    ),
    Table(
        "heterogeneity",
        (
            *cols("text", "by"),
            *METRIC,
            MODEL,
            *cols("count", "slices"),
            *cols("estimate", "mean prediction tau"),
            *cols("part?", "i2"),
            *cols("number", "statistic"),
            Column("p", "p"),
        ),
    ),
    Table(
        "baselines",
        (
            *METRIC,
            MODEL,
            *cols("number?", "value"),
            *cols("number", "observed"),
            Column("p", "p?"),
            *cols("text", "method"),
        ),
    ),
    Table(
        "resolution",
        (
            *METRIC,
            MODEL,
            *cols("text", "reference"),
            *cols("number?", "detectable"),
            *cols("number", "wanted"),
            Column("rows_needed", "count?", "rows needed"),
        ),
        "reference?",
    ),
    Table(
        "changes",
        (
            MODEL,
            *cols("text", "reference file"),
            Column("id", "text", when="one"),
            Column("row", "count", when="one"),
            *cols("text", "truth before after"),
        ),
        "reference?",
    ),
    Table(
        "distribution",
        (
            SLICE,
            MODEL,
            *cols("text", "class"),
            *cols("number", "from to"),
            *cols("weight", "rows"),
            *cols("part?", "share"),
        ),
    ),
)
GLOSSARY: Mapping[str, str] = {
    **PREVALENCE_MEANINGS,
    **SHARED,
    **MEASURED_MEANINGS,
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
    "balanced_accuracy": "mean of sensitivity and specificity",
    "tied": "not significantly different from the best by the leading measure",
    "truth": "the true class",
    "predicted": "the predicted class",
    "share": "share of the rows of the true class",
    "flagged": "share of rows predicted positive",
    "fpr": "share of negatives predicted positive",
    "lift": "precision / prevalence",
    "treat_all": "net benefit of treat-all",
    "gain": "net benefit minus that of treat-all or treat-none, whichever is larger",
    "decision.flagged": "share of these rows predicted positive at the threshold",
    "decision.prevalence": "the requested prevalence, at which net benefit holds",
    "helps": "whether net benefit is significantly higher than treat-all and treat-none, adjusted "
    "for all thresholds",
    "decision.threshold": "threshold probability: rows with this risk or more are treated",
    "thresholds.threshold": "rows with this score or more are predicted positive",
    "from": "lower bound of the bin",
    "to": "upper bound of the bin",
    "bin": "group of about a tenth of the rows by score; equal scores share a group",
    "roc_band.sensitivity": "share of positives predicted positive; its interval and that of fpr "
    "hold jointly",
    **CALIBRATION_MEANINGS,
    **SAME_SPECIFICITY_MEANINGS,
    **MEANINGS,
}
HEADINGS: Mapping[str, str] = {
    "p, adjusted": "p_adjusted",
    "AUC": "roc_auc",
    "Brier": "brier",
    "slope": "calibration_slope",
    "CITL": "calibration_in_the_large",
    "net benefit": "net_benefit",
    "sens.": "sensitivity",
    "recall": "sensitivity",
    "spec.": "specificity",
    "PPV": "precision",
    "balanced accuracy": "balanced_accuracy",
    "quadratic kappa": "kappa_quadratic",
    "places off": "ordinal_mae",
    "lowest recall": "lowest_recall",
    "of class": "lowest_recall_class",
    "overconf.": "overconfidence",
    "treat all": "treat_all",
    "gain over treat-all and treat-none": "gain",
    "standard error": "se",
    "NPV": "npv",
    **SAME_SPECIFICITY_HEADINGS,
    "share of true class": "share",
    "TP": "tp",
    "FP": "fp",
    "FN": "fn",
    "TN": "tn",
    **PREVALENCE_HEADINGS,
    "value on new data": "corrected",
    "constrained measure on new data": "limited",
    "accuracy of all": "accuracy_of_all",
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
