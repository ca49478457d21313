"""The tables of report, with what their columns mean."""

from __future__ import annotations

from clfeval.pages.report.calibration_tables import CALIBRATION_TABLES
from clfeval.pages.report.cutoff_tables import CORRECTED, CUTOFF_TABLES
from clfeval.pages.report.operating_point_tables import SAME_SPECIFICITY
from clfeval.pages.schema import DETECTABLE, MODEL, SLICE, Column, Table, cols
from clfeval.pages.shared_tables import (
    BEST_TABLE,
    CELLS,
    MEASURE,
    MEASURED,
    POSITIVES,
    PREVALENCE_TABLE,
    ROWS,
    RUN_METHOD,
    STANDARD_ERROR,
    THRESHOLD,
    VALUE,
)
from clfeval.placeholders import END, OPTION
from clfeval.records import replace

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
REFERENCE = Column("reference", "text", meaning="the model compared with")
TRUTH = Column("truth", "text", meaning="the true class")
TEST_METHOD = Column("method", "text", meaning="method of the test, or why it is missing")
TABLES = (
    Table(
        "models",
        (
            SLICE,
            MODEL,
            replace(THRESHOLD, when=_TWO),
            *(replace(cell, kind="weight?", when=_TWO) for cell in CELLS),
            Column(
                "lowest_recall",
                "share",
                "lowest recall",
                when=f"{_MULTICLASS}?",
                meaning="lowest recall of the classes",
            ),
            Column(
                "lowest_recall_class",
                "text?",
                "class",
                when=f"{_MULTICLASS}?",
                meaning="the class with the lowest recall",
                headings=("of class",),
            ),
            *OF_SCORES,
            *HARD,
            Column(
                "tied",
                "flag?",
                meaning="not significantly different from the best by the leading measure",
            ),
            Column(
                "well_calibrated",
                "count?",
                "well calibrated",
                when=f"{_TWO}?",
                meaning="1 if the model is called well calibrated by its tests and intervals, else "
                "0; a gate may require it",
            ),
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
            TRUTH,
            Column("predicted", "text", meaning="the predicted class"),
            ROWS,
            Column(
                "share",
                "part?",
                "share of true class",
                meaning="share of the rows of the true class",
            ),
        ),
        "",
    ),
    *CALIBRATION_TABLES,
    *CUTOFF_TABLES,
    PREVALENCE_TABLE,
    BEST_TABLE,
    Table(
        "winner",
        (
            MEASURE,
            MODEL,
            VALUE,
            Column(
                "optimism",
                "number",
                meaning="selection bias: the mean excess of the best value over its true value",
            ),
            CORRECTED,
        ),
    ),
    SAME_SPECIFICITY,
    Table(
        "mcnemar",
        (
            MODEL,
            REFERENCE,
            Column(
                "newly_right",
                "weight",
                "newly right",
                meaning="rows that only the model predicts correctly, not the reference",
            ),
            Column(
                "newly_wrong",
                "weight",
                "newly wrong",
                meaning="rows that only the reference predicts correctly, not the model",
            ),
            Column("p", "p?", meaning="McNemar's mid-p under equal accuracy of both models"),
            TEST_METHOD,
        ),
        "reference?",
    ),
    Table(
        "together",
        (
            MEASURE,
            Column("models", "count", meaning="number of models with a threshold or labels"),
            Column(
                "differ",
                "weight",
                "rows that differ",
                meaning="rows that some models predict correctly and others do not",
            ),
            Column(
                "statistic",
                "number?",
                meaning="Cochran's Q, approximately chi-square with (models - 1) degrees of "
                "freedom",
            ),
            Column("p", "p?", meaning="p-value of Q under equal accuracy of all models"),
            TEST_METHOD,
        ),
        "reference?",
    ),
    Table(
        "runs",
        (
            MEASURE,
            MODEL,
            Column(
                "run",
                "text",
                meaning=f"one repetition, such as a fold or a seed ({OPTION}--run{END})",
            ),
            replace(VALUE, meaning="the measure in this run"),
            STANDARD_ERROR,
        ),
    ),
    Table(
        "run_spread",
        (
            MEASURE,
            MODEL,
            Column(
                "runs",
                "count",
                meaning="runs in which the measure is defined (in comparisons, for both models)",
            ),
            Column(
                "mean",
                "estimate",
                meaning="unweighted mean over runs, with its confidence interval",
            ),
            Column("sd", "number?", meaning="standard deviation between runs"),
            RUN_METHOD,
        ),
    ),
    Table(
        "slices",
        (
            replace(SLICE, kind="text"),
            MODEL,
            ROWS,
            replace(POSITIVES, when="?"),
            *cols(
                "estimate",
                "roc_auc oe_ratio sensitivity specificity accuracy overconfidence",
                when="?",
            ),
            Column(
                "q",
                "p?",
                meaning="smallest p of the slice, adjusted (Benjamini-Hochberg) over models, "
                "slices and measures; empty for models that are not tested",
            ),
            Column(
                "worse",
                "text*",
                meaning="measures by which the slice is significantly worse than outside the "
                "slice; recall:class=NAME is the recall of a class",
            ),
        ),
    ),
    Table(
        "extremes",
        (
            MEASURE,
            MODEL,
            Column("largest", "text", meaning="tested slice with the largest value"),
            Column("smallest", "text", meaning="tested slice with the smallest value"),
            Column(
                "gap",
                "estimate",
                meaning="largest minus smallest value of the slices, with an interval adjusted for "
                "all pairs of slices",
            ),
            Column("slices", "count", meaning="number of slices tested"),
        ),
    ),
    Table(
        "heterogeneity",
        (
            Column("by", "text", meaning="the columns whose values are the slices"),
            MEASURE,
            MODEL,
            Column("slices", "count", meaning="number of slices with a value and a standard error"),
            *cols(
                "estimate",
                {
                    "mean": "mean of the slices: of logit ROC AUC, log O:E ratio or slope "
                    "(Hartung-Knapp)",
                    "prediction": "prediction interval of a new slice, with tau from its "
                    "confidence distribution; none with fewer than five slices",
                    "tau": "standard deviation between slices on that scale, by restricted maximum "
                    "likelihood; limits by the Q-profile method",
                },
            ),
            Column(
                "i2",
                "part?",
                meaning="share of the variance between values that sampling does not explain, from "
                "Cochran's Q",
            ),
            Column(
                "statistic",
                "number",
                meaning="Cochran's Q of the hypothesis that all slices have one value",
            ),
            Column("p", "p", meaning="p-value of that hypothesis"),
        ),
    ),
    Table(
        "baselines",
        (
            MEASURE,
            MODEL,
            Column(
                "value",
                "number?",
                meaning="expected value of an uninformative model: mean over permutations of the "
                "truth",
            ),
            Column("observed", "number", meaning="value of the measure on the observed truth"),
            Column(
                "p",
                "p?",
                meaning="permutation p-value: share of permutations at least as good as observed",
            ),
            Column(
                "method",
                "text",
                meaning="hypergeometric, expectation: exact; permutations: Monte Carlo; constant: "
                "one prediction for all rows",
            ),
        ),
    ),
    Table(
        "resolution",
        (
            MEASURE,
            MODEL,
            REFERENCE,
            DETECTABLE,
            Column("wanted", "number", meaning=f"difference to detect ({OPTION}--resolution{END})"),
            Column(
                "rows_needed",
                "count?",
                "rows needed",
                meaning="sample size that detects it with power 0.8; unknown below 10 rows of a "
                "class",
            ),
        ),
        "reference?",
    ),
    Table(
        "changes",
        (
            MODEL,
            REFERENCE,
            Column("file", "text", meaning="file of the row"),
            Column("id", "text", when="one", meaning=f"id of the row ({OPTION}--id{END})"),
            Column(
                "row", "count", when="one", meaning="row number in the file; the header is row 1"
            ),
            TRUTH,
            Column("before", "text", meaning="prediction of the reference"),
            Column("after", "text", meaning="prediction of the model"),
        ),
        "reference?",
    ),
    Table(
        "distribution",
        (
            SLICE,
            MODEL,
            Column("class", "text", meaning="the true class of the rows"),
            *cols("number", {"from": "lower bound of the bin", "to": "upper bound of the bin"}),
            ROWS,
            Column("share", "part?", meaning="share of the rows of the true class"),
        ),
    ),
)
