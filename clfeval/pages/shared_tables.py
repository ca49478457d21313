"""Columns and whole tables that several pages declare, with what they mean."""

from __future__ import annotations

from clfeval.pages.schema import MODEL, SLICE, Column, Table, cols
from clfeval.placeholders import END, OPTION
from clfeval.records import replace

COUNT_MEANINGS = {
    "tp": "true positives",
    "fp": "false positives",
    "fn": "false negatives",
    "tn": "true negatives",
}
RATE_MEANINGS = {
    "sensitivity": "share of positives predicted positive",
    "specificity": "share of negatives predicted negative",
    "precision": "share of predicted positives that are positive",
    "npv": "share of predicted negatives that are negative",
}
PPV_MEANINGS = {"ppv": RATE_MEANINGS["precision"]}
CELLS = tuple(
    Column(
        name, "weight", name.upper(), best="min" if name in ("fp", "fn") else None, meaning=meaning
    )
    for name, meaning in COUNT_MEANINGS.items()
)
THRESHOLD = Column(
    "threshold",
    "cut?",
    meaning="score at or above which a row is predicted positive; empty for models that have "
    "labels only",
)
ROWS = Column("rows", "weight", meaning="number of rows; repeated rows count each time")
POSITIVES = Column("positives", "weight", meaning="rows of the positive class")
RULES = ("score >= t", "never positive", "always positive")  # how a threshold is applied
PREVALENCE = Column("prevalence", "prevalence", meaning="share of positives in the population")
ODDS = Column("odds", "odds", meaning="positives : negatives in the population")
POPULATION = Column(
    "population",
    "text",
    meaning="the sample as counted, balanced classes (1:1), a target, or one of the sweep",
)
MEASURE = Column("measure", "text", meaning="the measure, with its parameters")
VALUE = Column("value", "estimate", meaning="value of the measure")
STANDARD_ERROR = Column("se", "number?", "standard error", meaning="standard error of the value")
RUN_METHOD = Column(
    "method",
    "text",
    meaning="folds: corrected t (Nadeau-Bengio); repeats on the same rows: variance of runs and "
    "rows",
)
BOUND = Column(
    "bound",
    "number?",
    when="?",
    meaning="how far off the value can be, from score buckets or hidden counts",
)
MEASURED = Table(
    "measures",
    (
        SLICE,
        MODEL,
        MEASURE,
        Column(
            "estimator",
            "text",
            meaning="binary; for more classes multiclass, macro, weighted, micro, or class (one "
            "against the rest)",
        ),
        Column(
            "class", "text?", meaning="the class of the measure; empty if it is about all classes"
        ),
        VALUE,
        STANDARD_ERROR,
        Column("method", "text", meaning="method of the interval or p"),
        BOUND,
        Column(
            "calibrated_mean",
            "number?",
            when="?",
            meaning="mean of the measure if the probabilities were calibrated",
        ),
        Column(
            "calibrated_high",
            "number?",
            when="?",
            meaning=f"upper {OPTION}--level{END} quantile of the measure if they were calibrated",
        ),
        Column(
            "p",
            "p?",
            when="?",
            meaning="p-value against calibrated probabilities; of KS, against permuted classes",
        ),
    ),
)
BEST_TABLE = Table(
    "best",
    (
        MEASURE,
        MODEL,
        Column(
            "tied",
            "flag?",
            meaning="not significantly different from the best; empty where there are too few rows "
            "to compare them",
        ),
        Column(
            "p_first",
            "part",
            "P(first)",
            meaning="estimated probability that it is best in a new table like this one",
        ),
        *cols(
            "rank",
            {
                "rank_low": "lower confidence limit of its rank (1 is best)",
                "rank_high": "upper confidence limit of its rank",
            },
        ),
    ),
)
GAIN = Column(
    "gain",
    "estimate",
    "gain over treat-all and treat-none",
    meaning="net benefit minus that of treat-all or treat-none, whichever is larger",
)
ALARMS_PER_CASE = Column(
    "alarms_per_case",
    "amount",
    meaning="rows predicted positive per true positive, 1 / PPV",
    headings=("alarms / case",),
)
AT_PREVALENCE = "at_prevalence"
PREVALENCE_TABLE = Table(
    AT_PREVALENCE,
    (
        MODEL,
        Column(
            "chosen_by",
            "text?",
            meaning="the rule that chose the threshold; values are expected on new data",
        ),
        THRESHOLD,
        replace(POPULATION, among=("sample", "1:1", "target")),
        PREVALENCE,
        ODDS,
        *cols("share", "sensitivity specificity ppv npv"),
        Column(
            "alarms",
            "amount",
            meaning="rows predicted positive per 1,000 rows",
            headings=("alarms / 1,000",),
        ),
        ALARMS_PER_CASE,
        *cols("estimate", "net_benefit"),
        GAIN,
        Column(
            "tied",
            "flag?",
            when="?",
            meaning="not significantly different from the best model of a report, by ROC AUC, or "
            "of labels by balanced accuracy",
        ),
    ),
)
