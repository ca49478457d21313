"""The tables of tune-jpt, with what their columns mean."""

from __future__ import annotations

from math import inf

from clfeval.measures.catalog import CATALOG
from clfeval.measures.odds import TUNABLE
from clfeval.pages.schema import MODEL, SLICE, Column, Json, Table, cols
from clfeval.pages.shared_tables import (
    CELLS,
    COUNT_MEANINGS,
    ODDS,
    POPULATION,
    PREVALENCE,
    PREVALENCE_TABLE,
    RULES,
    THRESHOLD,
)
from clfeval.placeholders import END, OPTION
from clfeval.records import replace

POPULATIONS = ("sample", "1:1", "target", "sweep")
VERDICTS = ("better", "equivalent", "not worse", "undecided")
KIND_OF_RANGE = {(0.0, 1.0): "share", (0.0, inf): "amount", (-1.0, 1.0): "signed"}  # by range
MEASURES = tuple(
    Column(name, KIND_OF_RANGE.get((CATALOG[name].low, CATALOG[name].high), "estimate"), when="?")
    for name in TUNABLE
)
KEY_COLUMNS = (SLICE, MODEL)
MEASURE = Column("measure", "measure", meaning="the measure of this row of the table")
POPULATION_COLUMNS = (
    replace(PREVALENCE, headings=("prevalences",)),
    replace(
        ODDS,
        headings=(
            "positives: negatives",
            "positives:negatives",
            "positives: negatives (prevalence)",
        ),
    ),
)
POPULATION_KIND = replace(POPULATION, among=POPULATIONS[:3])
RATIO_COLUMNS = (
    *POPULATION_COLUMNS,
    Column("ratio", "positive", meaning="positives / negatives as one number"),
)
RULE = Column(
    "rule",
    "text",
    meaning="score >= t: rows at or above the threshold are predicted positive; else all or none",
)
# the cells are null where a class is absent, except in the sample, whose counts they are
SAMPLE: Json = {
    "if": {"properties": {"population": {"const": "sample"}}},
    "then": {"properties": {column.name: {"type": "number"} for column in CELLS}},
    "else": {"properties": {"prevalence": {"type": "number"}, "odds": {"type": "string"}}},
}
TABLES = (
    Table(
        "models",
        (
            *KEY_COLUMNS,
            POPULATION_KIND,
            *(replace(column, kind=f"{column.kind}?") for column in POPULATION_COLUMNS),
            Column("rows", "weight", meaning="total of the 2 x 2 table: counted rows, else 1,000"),
            *(
                replace(cell, kind="weight?", meaning=f"{cell.meaning} among the number in `rows`")
                for cell in CELLS
            ),
            THRESHOLD,
            *MEASURES,
        ),
        "",
        1,
        SAMPLE,
    ),
    Table(
        "expected",
        (
            *KEY_COLUMNS,
            POPULATION_KIND,
            *POPULATION_COLUMNS,
            Column(
                "rows",
                "positive",
                meaning=f"size of the population, given by {OPTION}--population{END}",
            ),
            Column("positives", "weight", meaning="positives in that population"),
            Column("negatives", "weight", meaning="negatives in that population"),
            *cols(
                "amount",
                {
                    name: f"expected {meaning} in the population"
                    for name, meaning in COUNT_MEANINGS.items()
                },
            ),
            Column("flagged", "amount", meaning="expected number of rows predicted positive"),
        ),
    ),
    Table("sweep", (*KEY_COLUMNS, *RATIO_COLUMNS, *MEASURES), min_rows=2),
    Table(
        "crossovers",
        (
            SLICE,
            MEASURE,
            Column("first", "text", meaning="first model of the pair"),
            Column("second", "text", meaning="second model of the pair"),
            Column(
                "crossing",
                "crossing",
                meaning="prevalence at which both are equal; outside its interval one is better",
                headings=("prevalence of crossing",),
            ),
            replace(ODDS, kind="odds?"),
            Column("leads_below", "text?", meaning="the better model at smaller prevalences"),
            Column("leads_above", "text?", meaning="the better model at larger prevalences"),
            Column(
                "verdict",
                "text",
                meaning="leading models; tests are simultaneous for all ratios and pairs",
                headings=("leading model",),
            ),
        ),
    ),
    Table(
        "winners",
        (
            SLICE,
            MEASURE,
            replace(POPULATION, among=("sample", "target", "sweep")),
            *RATIO_COLUMNS,
            Column(
                "leader", "text?", meaning="the model with the best value", headings=("best model",)
            ),
            Column("value", "estimate", meaning="value of the best model"),
            Column(
                "winner",
                "text?",
                meaning="the leader, if every other model is significantly worse (adjusted for all "
                "pairs)",
            ),
            Column(
                "tied",
                "text*",
                meaning="models that are not significantly worse than the leader",
                headings=("tied with the best",),
            ),
            Column(
                "verdict",
                "text",
                among=(None, *VERDICTS),
                when="margin",
                meaning="leader compared with the other models, for the margin of "
                f"{OPTION}--margin{END}",
            ),
            Column(
                "least_lead",
                "number?",
                when="margin",
                meaning="smallest lower confidence limit of the leader's differences to other "
                "models",
            ),
            *cols(
                "text*",
                {
                    "equivalent": "models equivalent to the leader within "
                    f"{OPTION}--margin{END} (adjusted)",
                    "possibly_better": f"models for which a lead by {OPTION}--margin{END} or more "
                    "is not excluded",
                },
                when="margin",
            ),
        ),
    ),
    Table(
        "thresholds",
        (
            *KEY_COLUMNS,
            MEASURE,
            replace(POPULATION, among=POPULATIONS),
            *RATIO_COLUMNS,
            Column(
                "threshold",
                "cut?",
                json_schema={"description": "null: above every score"},
                meaning="the best threshold for the measure in this population",
                headings=("best threshold",),
            ),
            replace(RULE, among=(None, *RULES)),
            Column(
                "sensitivity",
                "part?",
                meaning="sensitivity at the best threshold",
                headings=("sens. at best",),
            ),
            Column(
                "specificity",
                "part?",
                meaning="specificity at the best threshold",
                headings=("spec. at best",),
            ),
            Column(
                "value",
                "estimate",
                meaning="value at the best threshold, on the rows that chose it",
                headings=("best value",),
            ),
            Column(
                "fixed_threshold",
                "cut?",
                json_schema={"description": "null: the largest class"},
                meaning="the threshold in use; none: each row gets its most probable class",
            ),
            Column(
                "fixed_value",
                "estimate",
                "value at the fixed threshold",
                meaning="value of the measure at the threshold in use",
                headings=("value at fixed",),
            ),
            Column(
                "corrected",
                "estimate",
                "corrected value",
                meaning="value expected on new data: the optimism of the choice is subtracted "
                "(bootstrap)",
            ),
        ),
    ),
    PREVALENCE_TABLE,
    Table(
        "cutoffs",
        (
            MODEL,
            MEASURE,
            ODDS,
            Column(
                "threshold",
                "cut?",
                meaning="the best threshold for the measure at this class ratio",
            ),
            replace(RULE, among=RULES),
        ),
    ),
    Table(
        "ranges",
        (
            *KEY_COLUMNS,
            MEASURE,
            Column("lowest", "estimate", meaning="smallest value over the range of prevalences"),
            Column("lowest_at", "prevalence", meaning="prevalence of the smallest value"),
            Column("highest", "estimate", meaning="largest value over the range of prevalences"),
            Column("highest_at", "prevalence", meaning="prevalence of the largest value"),
        ),
    ),
    Table(
        "simulated",
        (
            *KEY_COLUMNS,
            MEASURE,
            Column("mean", "number?", meaning="mean of the measure over the simulations"),
            Column("median", "number?", meaning="median of the measure over the simulations"),
            Column(
                "low",
                "number?",
                meaning="lower quantile of the simulations, at the level",
                headings=("lower",),
            ),
            Column(
                "high",
                "number?",
                meaning="upper quantile of the simulations, at the level",
                headings=("upper",),
            ),
            Column(
                "failed",
                "count",
                json_schema={"description": "simulations in which it is undefined"},
                meaning="simulations in which the measure is undefined",
                headings=("undefined",),
            ),
        ),
    ),
)
