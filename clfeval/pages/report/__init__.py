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
from clfeval.schema import Column, Page, Table, cols

THRESHOLD = Column("threshold", "cut?")
BEYOND = "for other commands on these rows, add --with mars, or --with all"
# measures of one class against the rest; else, without a positive class, of all classes
_TWO, _MULTICLASS = "positive", "classes"
OF_SCORES = (
    *cols("share", "roc_auc brier", when="?"),
    *cols("estimate", "brier_skill", when="+curves"),
    *cols("amount", "log_loss", when="?"),
    *cols("signed", "overconfidence", when=f"{_MULTICLASS}?"),
    *cols("share", "top_k_accuracy", when=f"{_MULTICLASS}?"),
    *cols("estimate", "calibration_slope calibration_intercept calibration_in_the_large oe_ratio "
          "net_benefit", when="+curves"),
)  # fmt: skip
HARD = (*cols("share", "sensitivity specificity precision npv", when=_TWO),
        *cols("share", "balanced_accuracy"), *cols("signed", "mcc"), *cols("share", "f1"),
        *cols("signed", "kappa"), *cols("share", "accuracy"),
        *cols("signed", "kappa_quadratic", when=f"{_MULTICLASS}?"),
        *cols("amount", "ordinal_mae", when=f"{_MULTICLASS}?"))  # fmt: skip
TABLES = (
    Table("models", (
        SLICE, MODEL, replace(THRESHOLD, when=_TWO),
        *(replace(one, kind="weight?", when=_TWO) for one in CELLS), *OF_SCORES, *HARD,
        Column("tied", "flag?"),
    ), "", 1),
    replace(MEASURED, when="", least=1),
    Table("confusion", (SLICE, MODEL, *cols("text", "truth predicted"), *cols("weight", "rows"),
                        Column("share", "part?", "share of true class")), ""),
    Table("calibration", (
        SLICE, MODEL, *cols("count", "bin"), *cols("part", "from to"), *cols("weight", "rows"),
        Column("mean_score", "part", "mean score"), *cols("share", "observed"),
    )),
    Table("calibration_tests", (
        MODEL, *cols("text", "test"), *cols("number?", "statistic df"), *cols("p?", "p p_adjusted"),
        *cols("text", "method"), *cols("weight", "contradicted"), *cols("count?", "groups_off"),
        *cols("part?", "largest_gap"),
    )),
    Table("curves", (SLICE, MODEL, THRESHOLD, *cols("weight", "tp fp"),
                     *cols("part?", "sensitivity fpr precision flagged"),
                     *cols("weight?", "lift"))),
    Table("thresholds", (
        SLICE, MODEL, *cols("cut", "threshold"), *CELLS, *cols("part", "flagged"),
        *cols("share", "sensitivity specificity precision npv f1"), *cols("signed", "mcc"),
    )),
    Table("decision", (SLICE, MODEL, *cols("part", "threshold"), *cols("estimate", "net_benefit"),
                       Column("treat_all", "number", "treat all"),
                       Column("gain", "estimate", "gain over treat-all and treat-none"),
                       Column("helps", "flag?"))),
    *thresholds.TABLES,
    shared_columns.PREVALENCE_TABLE,
    *comparisons.TABLES,
    Table("distribution", (SLICE, MODEL, *cols("text", "class"), *cols("number", "from to"),
                           *cols("weight", "rows"), *cols("part?", "share"))),
)  # fmt: skip


def headline(result: Document) -> list[str]:
    """Return the headline: inputs, rows of each class, and runs."""
    names = join_names([item.name for item in result.inputs])
    summary = result.summary
    runs = f", {format_count(summary['runs'], 'run')}" if summary.get("runs") else ""
    if summary.get("classes") is None:
        return [f"Report of {names}: {format_class_counts(result)}{runs}"]
    rows, models = (format_count(summary[f"{of}s"], of) for of in ("row", "model"))
    return [f"Report of {names}: {rows} of {summary['classes']} classes, {models}{runs}"]


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
