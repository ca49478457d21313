"""How a report reads: the first screen, curves, thresholds, decisions, every measure."""

from __future__ import annotations

from dataclasses import replace

from clfeval.document import Document
from clfeval.pages import prevalence
from clfeval.pages.asked import MEASURED
from clfeval.pages.columns import CELLS, MODEL, SLICE
from clfeval.pages.glossary import REPORT, REPORT_HEADINGS
from clfeval.pages.report import compared, cutting
from clfeval.pages.report.charts import charts
from clfeval.pages.report.sections import shown
from clfeval.pages.write import class_counts, joined
from clfeval.schema import Column, Page, Table, of
from clfeval.words import many

THRESHOLD = Column("threshold", "cut?")
BEYOND = "for other commands on these rows, add --with mars, or --with all"
# of one class against the rest; else, without a positive one, of all classes alike
_TWO, _MANY = "positive", "classes"
OF_SCORES = (
    *of("share", "roc_auc brier", when="?"), *of("estimate", "brier_skill", when="+curves"),
    *of("amount", "log_loss", when="?"), *of("signed", "overconfidence", when=f"{_MANY}?"),
    *of("share", "top_k_accuracy", when=f"{_MANY}?"),
    *of("estimate", "calibration_slope calibration_intercept calibration_in_the_large oe_ratio "
        "net_benefit",
        when="+curves"),
)  # fmt: skip
HARD = (*of("share", "sensitivity specificity precision npv", when=_TWO),
        *of("share", "balanced_accuracy"), *of("signed", "mcc"), *of("share", "f1"),
        *of("signed", "kappa"), *of("share", "accuracy"),
        *of("signed", "kappa_quadratic", when=f"{_MANY}?"),
        *of("amount", "ordinal_mae", when=f"{_MANY}?"))  # fmt: skip
TABLES = (
    Table("models", (
        SLICE, MODEL, replace(THRESHOLD, when=_TWO),
        *(replace(one, kind="weight?", when=_TWO) for one in CELLS), *OF_SCORES, *HARD,
        Column("tied", "flag?"),
    ), "", 1),
    replace(MEASURED, when="", least=1),
    Table("confusion", (SLICE, MODEL, *of("text", "truth predicted"), *of("weight", "rows"),
                        Column("share", "part?", "share of true class")), ""),
    Table("calibration", (
        SLICE, MODEL, *of("count", "bin"), *of("part", "from to"), *of("weight", "rows"),
        Column("mean_score", "part", "mean score"), *of("share", "observed"),
    )),
    Table("calibration_tests", (
        MODEL, *of("text", "test"), *of("number?", "statistic df"), *of("p?", "p p_adjusted"),
        *of("text", "method"), *of("weight", "contradicted"), *of("count?", "groups_off"),
        *of("part?", "largest_gap"),
    )),
    Table("curves", (SLICE, MODEL, THRESHOLD, *of("weight", "tp fp"),
                     *of("part?", "sensitivity fpr precision flagged"), *of("weight?", "lift"))),
    Table("thresholds", (
        SLICE, MODEL, *of("cut", "threshold"), *CELLS, *of("part", "flagged"),
        *of("share", "sensitivity specificity precision npv f1"), *of("signed", "mcc"),
    )),
    Table("decision", (SLICE, MODEL, *of("part", "threshold"), *of("estimate", "net_benefit"),
                       Column("treat_all", "number", "treat all"),
                       Column("gain", "estimate", "gain over treat-all and treat-none"),
                       Column("helps", "flag?"))),
    *cutting.TABLES,
    prevalence.TABLE,
    *compared.TABLES,
    Table("distribution", (SLICE, MODEL, *of("text", "class"), *of("number", "from to"),
                           *of("weight", "rows"), *of("part?", "share"))),
)  # fmt: skip


def headline(result: Document) -> list[str]:
    """Say what was read and what is positive."""
    names = joined([item.name for item in result.inputs])
    runs = f", {many(result.summary['runs'], 'run')}" if result.summary.get("runs") else ""
    if (classes := result.summary.get("classes")) is not None:
        models = many(result.summary["models"], "model")
        rows = many(result.summary["rows"], "row")
        return [f"Report of {names}: {rows} of {classes} classes, {models}{runs}"]
    return [f"Report of {names}: {class_counts(result)}{runs}"]


def beyond(result: Document) -> str:
    """Name what other commands would tell of several models, where predictions are cut."""
    cut = [row for row in result.whole("models") if row.get("tp") is not None]
    told = result.methods or {"classes", "runs"} & {*result.summary} or len(cut) < 2 or result.again
    return "" if told else BEYOND


PAGE = Page(
    "report", TABLES, headline, shown, charts, beyond=beyond,
    parts=("probabilities", "errors", "classes", "confusions", "matrix", "gaps", "spread"),
    plots=("calibration", "roc", "pr", "gain", "lift", "benefit", "risk"),
    glossary={**prevalence.MEANINGS, **REPORT, **compared.MEANINGS, **cutting.MEANINGS},
    headings={**REPORT_HEADINGS, **prevalence.HEADINGS, **cutting.HEADINGS},
)  # fmt: skip
