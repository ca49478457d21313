"""What the tables of tuned results hold."""

from __future__ import annotations

from clfeval.pages.mars import CELLS, MODEL, SLICE
from clfeval.schema import Column, Json, Table, of

POPULATIONS = ("sample", "1:1", "target", "sweep")
RULES = ("score >= t", "never positive", "always positive")
MEASURES = tuple(
    Column(name, kind, when="?")
    for kind, names in (
        ("share", "tar"), ("amount", "tor"), ("share", "ppv npv"),
        ("amount", "ppv_odds npv_odds epa"), ("share", "f_beta"), ("amount", "f_odds"),
        ("signed", "mcc"), ("share", "ic sensitivity specificity"), ("signed", "j_index phi delta"),
        ("amount", "lr_pos lr_neg dor"), ("estimate", "dp expected_cost net_benefit"),
    )
    for name in names.split()
)  # fmt: skip


def populations(*kinds: str) -> Column:
    """Declare which kinds of population a table has rows of."""
    return Column("population", "text", among=kinds)


WHO = (SLICE, MODEL)
MEASURE = Column("measure", "measure")
AT = (*of("prevalence", "prevalence"), *of("odds", "odds"))
MAYBE_AT = (*of("prevalence?", "prevalence"), *of("odds?", "odds"))
HERE = (*AT, *of("positive", "ratio"))
# the cells are null where a class is absent, but for the sample, of which they are the counts
SAMPLE: Json = {
    "if": {"properties": {"population": {"const": "sample"}}},
    "then": {"properties": {column.name: {"type": "number"} for column in CELLS}},
    "else": {"properties": {"prevalence": {"type": "number"}, "odds": {"type": "string"}}},
}
TABLES = (
    Table("models", (
        *WHO, populations(*POPULATIONS[:3]), *MAYBE_AT, *of("weight", "rows"),
        *(Column(cell.name, "weight?", cell.title, best=cell.best) for cell in CELLS),
        Column("threshold", "cut?"), *MEASURES,
    ), "", 1, SAMPLE),
    Table("expected", (
        *WHO, populations(*POPULATIONS[:3]), *AT, *of("positive", "rows"),
        *of("weight", "positives negatives"), *of("amount", "tp fp fn tn called"),
    )),
    Table("sweep", (*WHO, *HERE, *MEASURES), least=2),
    Table("crossovers", (
        SLICE, MEASURE, *of("text", "first second"), *of("crossing", "crossing"),
        *of("odds?", "odds"), *of("text?", "leads_below leads_above"), *of("text", "verdict"),
    )),
    Table("winners", (
        SLICE, MEASURE, populations("sample", "target", "sweep"), *HERE, *of("text?", "leader"),
        *of("estimate", "value"), *of("text?", "winner"), *of("text*", "undecided"),
    )),
    Table("thresholds", (
        *WHO, MEASURE, populations(*POPULATIONS), *HERE,
        Column("threshold", "cut?", more={"description": "null: above every score"}),
        Column("rule", "text", among=(None, *RULES)), *of("part?", "sensitivity specificity"),
        *of("estimate", "value"),
        Column("fixed_threshold", "cut?", more={"description": "null: the largest class"}),
        Column("fixed_value", "estimate", "value at the fixed threshold"), *of("amount", "loss"),
        Column("honest", "estimate", "cross-fitted value"),
        Column("honest_gain", "estimate", "gain from moving"),
    )),
    Table("cutoffs", (
        MODEL, MEASURE, *of("odds", "odds"), *of("cut?", "threshold"),
        Column("rule", "text", among=RULES),
    )),
    Table("ranges", (
        *WHO, MEASURE, *of("estimate", "lowest"), *of("prevalence", "lowest_at"),
        *of("estimate", "highest"), *of("prevalence", "highest_at"),
    )),
    Table("simulated", (
        *WHO, MEASURE, *of("number?", "mean median low high"),
        Column("failed", "count", more={"description": "draws for which it is undefined"}),
    )),
)  # fmt: skip
