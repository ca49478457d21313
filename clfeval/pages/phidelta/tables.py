"""The tables of phi-delta, of classifiers and of features, with what their columns mean."""

from __future__ import annotations

from clfeval.measures import odds
from clfeval.measures.odds import CHANCE, LEAN, ORACLE
from clfeval.pages.schema import MODEL, SLICE, Column, Table, cols
from clfeval.pages.shared_tables import (
    BEST_TABLE,
    BOUND,
    CELLS,
    MEASURED,
    ODDS,
    PREVALENCE,
    RUN_METHOD,
    THRESHOLD,
)
from clfeval.placeholders import END, OPTION
from clfeval.records import replace

IMPLICATIONS = ("f → c", "¬f → ¬c", "f → ¬c", "¬f → c")
CORNERS = tuple(odds.CORNERS)
CLASSIFIERS, FEATURES = "mode=classifiers", "mode=features"
PLACE = cols("signed", "phi delta")
RATES = cols("share", "sensitivity specificity")
POPULATION_COLUMNS = (PREVALENCE, replace(ODDS, title="positives:negatives", headings=("P:N",)))
BOUNDS = {"minimum": -1, "maximum": 1}
TILTED_COLUMNS = (Column("phi_b", "doubled"), Column("delta_b", "signed"))
TILTED_NUMBERS = (
    *cols("number", "phi_b", json_schema={"minimum": -2, "maximum": 2}),
    *cols("number", "delta_b", json_schema=BOUNDS),
)
FEATURE_NAME = Column("feature", "text", meaning="a binary feature that is made of a column")
FEATURE = (
    FEATURE_NAME,
    Column("column", "text", meaning="the column from which the feature is made"),
    Column(
        "kind",
        "text",
        among=("binary", "numeric", "category", "term"),
        meaning="binary, numeric, category (a text column), or term (a sparse table)",
    ),
    Column("cut", "cut?", meaning="the threshold of a numeric column"),
    Column(
        "rule",
        "text",
        among=(None, ">=", ">", "soft"),
        meaning="true for values >= or > the threshold; soft: true to a degree between 0 and 1",
    ),
    *cols(
        "weight",
        {
            "rows": "rows in which the column has a value",
            "missing": "rows in which the column has no value",
        },
    ),
    *cols(
        "weight?",
        {
            "support": "rows in which the feature is true",
            "tp": "positive rows in which the feature is true",
            "fp": "negative rows in which the feature is true",
            "fn": "positive rows in which the feature is not true",
            "tn": "negative rows in which the feature is not true",
            "sensitivity": "share of the positive rows in which the feature is true",
        },
    ),
    Column(
        "fpr",
        "weight?",
        "share of negatives",
        meaning="share of the negative rows in which the feature is true",
    ),
    *cols(
        "signed",
        {
            "phi": "sum of these shares - 1: 1 always true, -1 never true",
            "delta": "share of positive rows with the feature - share of negative rows with it",
        },
    ),
    Column(
        "corrected_delta",
        "signed",
        "corrected δ",
        when="cut=best",
        meaning="δ expected on new data: two-fold cross-validation of the threshold",
    ),
    Column(
        "role",
        "text",
        among=(None, "covariant", "contravariant", "pervasive", "rare"),
        meaning="covariant or contravariant: δ significant (BH-adjusted); pervasive or rare: "
        "|φ| >= 0.8",
    ),
    Column(
        "implications",
        "text*",
        json_schema={"items": {"enum": list(IMPLICATIONS)}},
        meaning="rules without exception in these rows: f feature, c positive class, ¬ not",
    ),
    Column(
        "selected",
        "flag",
        when="+selected",
        meaning=f"whether {OPTION}--select{END} keeps the feature",
    ),
)
TABLES = (
    Table(
        "models",
        (
            SLICE,
            MODEL,
            THRESHOLD,
            *CELLS,
            *RATES,
            *PLACE,
            *cols(
                "text?",
                {
                    "reading": f"CI of δ: no better than chance within ±{CHANCE}, near oracle from "
                    f"{ORACLE}; biased: CI of φ beyond ±{LEAN}",
                    "reading_withheld": "why there is no reading; for example, the interval "
                    "includes a boundary",
                },
            ),
            *cols("share", "accuracy_u error_u precision_u npv_u f1_u"),
            *cols("signed", "mcc_u"),
            *cols("share", "mutual_information_u accuracy error_rate"),
            Column("precision", "share", "PPV ↑"),
            *cols("share", "npv f1"),
            *cols("signed", "mcc"),
            *cols("share", "mutual_information"),
            *TILTED_COLUMNS,
            Column(
                "region_sensitivity",
                "share",
                "sensitivity",
                meaning="sensitivity with its side of the joint confidence region",
            ),
            Column(
                "region_specificity",
                "share",
                "specificity",
                meaning="specificity with its side of the joint confidence region",
            ),
        ),
        CLASSIFIERS,
        1,
    ),
    Table(
        "run_spread",
        (
            MODEL,
            Column(
                "runs",
                "count",
                meaning="runs with rows of both classes; in a comparison, runs of both models",
            ),
            Column(
                "phi_mean",
                "signed",
                "mean φ",
                meaning="mean of φ = sensitivity - specificity: 0 unbiased",
            ),
            Column("phi_sd", "number?", "SD of φ", meaning="standard deviation of φ over runs"),
            Column(
                "delta_mean",
                "signed",
                "mean δ",
                meaning="mean of δ = sensitivity + specificity - 1: 1 perfect, 0 chance",
            ),
            Column("delta_sd", "number?", "SD of δ", meaning="standard deviation of δ over runs"),
            Column("covariance", "number?", meaning="covariance of φ and δ over runs"),
            Column(
                "accuracy_u_mean",
                "share",
                "mean unbiased accuracy",
                meaning="mean over runs of (1 + δ) / 2, the balanced accuracy",
            ),
            Column(
                "accuracy_u_sd",
                "number?",
                "SD of unbiased accuracy",
                meaning="standard deviation over runs of (1 + δ) / 2",
            ),
            Column(
                "bias",
                "text",
                among=(None, "low", "towards positive", "towards negative"),
                meaning="low if the mean of φ is within 0.05 of 0",
            ),
            Column(
                "variance",
                "text",
                among=(None, "low", "high"),
                meaning="low if the standard deviation of the runs is at most 0.05",
            ),
            RUN_METHOD,
        ),
        f"{CLASSIFIERS}?",
    ),
    Table(
        "runs",
        (
            MODEL,
            Column(
                "run",
                "text",
                meaning=f"one repetition, such as a fold or a seed, named by {OPTION}--run{END} or "
                f"{OPTION}--run-files{END}",
            ),
            THRESHOLD,
            *CELLS,
            *RATES,
            *PLACE,
            *cols("share", "accuracy_u"),
        ),
        f"{CLASSIFIERS}?",
    ),
    Table(
        "curves",
        (
            SLICE,
            MODEL,
            *cols("signed", "gini"),
            *cols("share", "roc_auc"),
            Column(
                "best_threshold", "cut?", "at threshold", meaning="threshold at which δ is largest"
            ),
            Column("best_phi", "number?", "its φ", meaning="φ at the threshold of the largest δ"),
            Column(
                "best_delta",
                "number?",
                "largest δ",
                meaning="largest δ over all thresholds on these rows; expect less on new data",
            ),
            Column(
                "break_even_threshold",
                "cut?",
                "threshold at φ = 0",
                meaning="threshold of the curve's point nearest to φ = 0",
            ),
            Column(
                "break_even_delta",
                "number?",
                "δ at φ = 0",
                meaning="δ at φ = 0, interpolated between two points of the curve",
            ),
            Column(
                "points",
                "count",
                meaning="number of points of the curve: one per distinct score, and the point "
                "(0, 0)",
            ),
            BOUND,
        ),
        f"{CLASSIFIERS}?",
    ),
    Table(
        "curve",
        (
            SLICE,
            MODEL,
            THRESHOLD,
            *CELLS[:2],
            *cols("part", "sensitivity specificity"),
            *cols("number", "phi delta", json_schema=BOUNDS),
        ),
        f"{CLASSIFIERS}?",
    ),
    Table(
        "populations",
        (
            SLICE,
            MODEL,
            *POPULATION_COLUMNS,
            *TILTED_COLUMNS,
            *cols("share", "accuracy"),
            Column("precision", "share", "PPV ↑"),
            *cols("share", "npv mutual_information"),
        ),
        f"{CLASSIFIERS}?",
    ),
    replace(BEST_TABLE, when=f"{CLASSIFIERS}?"),
    replace(MEASURED, when=f"{CLASSIFIERS}?"),
    Table("features", FEATURE, FEATURES),
    Table("selected", FEATURE, f"{FEATURES}?"),
    Table(
        "implications",
        (
            FEATURE_NAME,
            Column(
                "implication",
                "text",
                among=IMPLICATIONS,
                meaning="rule without exception in these rows: f feature, c positive class, ¬ not",
            ),
            Column("support", "weight", meaning="rows in which the left side of the rule is true"),
            Column(
                "confidence",
                "share",
                meaning="share of the rows with a true left side whose right side is true",
            ),
        ),
        FEATURES,
    ),
    Table(
        "corners",
        (
            *POPULATION_COLUMNS,
            Column(
                "corner",
                "text",
                among=CORNERS,
                meaning="corner of the diamond: oracle, anti-oracle, always positive or always "
                "negative",
            ),
            *TILTED_NUMBERS,
        ),
        "",
        4,
    ),
    Table(
        "isometrics",
        (
            Column(
                "measure",
                "text",
                among=(
                    "sensitivity",
                    "specificity",
                    "accuracy",
                    "precision",
                    "npv",
                    "mutual_information",
                ),
                meaning="the measure, with its parameters",
            ),
            Column("value", "part", meaning="the value of the measure on the line"),
            *POPULATION_COLUMNS,
            Column(
                "branch", "count", meaning="index of the line, from 0, if a value has several lines"
            ),
            Column("point", "count", meaning="index of the point on the line, from 0"),
            *cols("number", "phi delta", json_schema=BOUNDS),
            *TILTED_NUMBERS,
        ),
    ),
)
