"""The page of a report: first screen, curves, thresholds, decisions, all measures."""

from __future__ import annotations

from dataclasses import replace

from clfeval.document import Document
from clfeval.formatting import format_count
from clfeval.pages import shared_columns
from clfeval.pages.formatting import format_class_counts, join_names
from clfeval.pages.glossary import REPORT, REPORT_HEADINGS
from clfeval.pages.report import comparisons, thresholds
from clfeval.pages.report.charts import page_charts
from clfeval.pages.report.sections import page_tables
from clfeval.pages.shared_columns import CELLS, MEASURED, MODEL, SLICE
from clfeval.schema import Column, Page, Table, columns_of_kind

THRESHOLD = Column("threshold", "cut?")
BEYOND = "for other commands on these rows, add --with mars, or --with all"
# measures of one class against the rest; else, without a positive class, of all classes
_TWO, _MULTICLASS = "positive", "classes"
OF_SCORES = (
    *columns_of_kind("share", "roc_auc brier", when="?"),
    *columns_of_kind("estimate", "brier_skill", when="+curves"),
    *columns_of_kind("amount", "log_loss", when="?"),
    *columns_of_kind("signed", "overconfidence", when=f"{_MULTICLASS}?"),
    *columns_of_kind("share", "top_k_accuracy", when=f"{_MULTICLASS}?"),
    *columns_of_kind("estimate",
                     "calibration_slope calibration_intercept calibration_in_the_large oe_ratio "
        "net_benefit",
        when="+curves"),
)  # fmt: skip
HARD = (*columns_of_kind("share", "sensitivity specificity precision npv", when=_TWO),
        *columns_of_kind("share", "balanced_accuracy"), *columns_of_kind("signed", "mcc"),
        *columns_of_kind("share", "f1"),
        *columns_of_kind("signed", "kappa"), *columns_of_kind("share", "accuracy"),
        *columns_of_kind("signed", "kappa_quadratic", when=f"{_MULTICLASS}?"),
        *columns_of_kind("amount", "ordinal_mae", when=f"{_MULTICLASS}?"))  # fmt: skip
TABLES = (
    Table("models", (
        SLICE, MODEL, replace(THRESHOLD, when=_TWO),
        *(replace(one, kind="weight?", when=_TWO) for one in CELLS), *OF_SCORES, *HARD,
        Column("tied", "flag?"),
    ), "", 1),
    replace(MEASURED, when="", least=1),
    Table("confusion",
          (SLICE, MODEL, *columns_of_kind("text", "truth predicted"),
           *columns_of_kind("weight", "rows"),
                        Column("share", "part?", "share of true class")), ""),
    Table("calibration", (
        SLICE, MODEL, *columns_of_kind("count", "bin"), *columns_of_kind("part", "from to"),
        *columns_of_kind("weight", "rows"),
        Column("mean_score", "part", "mean score"), *columns_of_kind("share", "observed"),
    )),
    Table("calibration_tests", (
        MODEL, *columns_of_kind("text", "test"), *columns_of_kind("number?", "statistic df"),
        *columns_of_kind("p?", "p p_adjusted"),
        *columns_of_kind("text", "method"), *columns_of_kind("weight", "contradicted"),
        *columns_of_kind("count?", "groups_off"),
        *columns_of_kind("part?", "largest_gap"),
    )),
    Table("curves", (SLICE, MODEL, THRESHOLD, *columns_of_kind("weight", "tp fp"),
                     *columns_of_kind("part?", "sensitivity fpr precision flagged"),
                     *columns_of_kind("weight?", "lift"))),
    Table("thresholds", (
        SLICE, MODEL, *columns_of_kind("cut", "threshold"), *CELLS,
        *columns_of_kind("part", "flagged"),
        *columns_of_kind("share", "sensitivity specificity precision npv f1"),
        *columns_of_kind("signed", "mcc"),
    )),
    Table("decision",
          (SLICE, MODEL, *columns_of_kind("part", "threshold"),
           *columns_of_kind("estimate", "net_benefit"),
                       Column("treat_all", "number", "treat all"),
                       Column("gain", "estimate", "gain over treat-all and treat-none"),
                       Column("helps", "flag?"))),
    *thresholds.TABLES,
    shared_columns.PREVALENCE_TABLE,
    *comparisons.TABLES,
    Table("distribution",
          (SLICE, MODEL, *columns_of_kind("text", "class"), *columns_of_kind("number", "from to"),
                           *columns_of_kind("weight", "rows"), *columns_of_kind("part?", "share"))),
)  # fmt: skip


def headline(result: Document) -> list[str]:
    """Return the headline: inputs, rows of each class, and runs."""
    names = join_names([item.name for item in result.inputs])
    runs = f", {format_count(result.summary['runs'], 'run')}" if result.summary.get("runs") else ""
    if (classes := result.summary.get("classes")) is not None:
        models = format_count(result.summary["models"], "model")
        rows = format_count(result.summary["rows"], "row")
        return [f"Report of {names}: {rows} of {classes} classes, {models}{runs}"]
    return [f"Report of {names}: {format_class_counts(result)}{runs}"]


def other_commands_hint(result: Document) -> str:
    """Return the hint on other commands for several models with thresholded predictions."""
    cut = [row for row in result.whole("models") if row.get("tp") is not None]
    told = result.methods or {"classes", "runs"} & {*result.summary} or len(cut) < 2 or result.again
    return "" if told else BEYOND


PAGE = Page(
    "report", TABLES, headline, page_tables, page_charts, beyond=other_commands_hint,
    parts=("probabilities", "errors", "classes", "confusions", "matrix", "gaps", "spread"),
    plots=("calibration", "roc", "pr", "gain", "lift", "benefit", "risk"),
    glossary={**shared_columns.PREVALENCE_MEANINGS, **REPORT, **comparisons.MEANINGS,
              **thresholds.MEANINGS},
    headings={**REPORT_HEADINGS, **shared_columns.PREVALENCE_HEADINGS, **thresholds.HEADINGS},
)  # fmt: skip
