"""What the tables of rankings hold."""

from __future__ import annotations

from clfeval.pages.mars import MODEL
from clfeval.schema import Column, Json, Table, of

BOOT, BY_D = "interval=bootstrap", "ranked_by=desirability"
VALUE: Json = {"properties": {"value": {"type": "number"}}}
SD = Column("sd", "mlcps_share", "SD", best="min")


def says(text: str) -> Json:
    """Return a description."""
    return {"description": text}


TABLES = (
    Table("models", (
        MODEL, *of("mlcps_area", "mlcps"), Column("rank", "rank", best="min"),
        *of("mlcps_share", "normalised"), *of("mlcps_area", "order_free lowest highest"),
        *of("mlcps_share", "mean"), SD, *of("flag", "pareto"), *of("text?", "dominated_by"),
        Column("desirability", "share", when=BY_D, more=VALUE),
        Column("dealbreakers", "text*", when=BY_D),
        Column("first", "bare", when=BOOT, more={
            **says("share of resamples"), "properties": {"value": {"$ref": "#/$defs/part"}},
        }),
        Column("split_mean", "mlcps_split", "mean over splits", "+splits"),
        Column("split_sd", "mlcps_split", "SD over splits", "+splits", best="min"),
        Column("split_wins", "count", when="+splits"),
    ), "", 1, {
        "if": {"properties": {"pareto": {"const": True}}},
        "then": {"properties": {"dominated_by": {"type": "null"}}},
        "else": {"properties": {"dominated_by": {"type": "string"}}},
    }),
    Table("ranks", (
        MODEL, *of("rank", "mlcps order_free lowest highest mean"), Column("sd", "rank", "SD"),
        Column("desirability", "rank", when=BY_D),
        *of("rank", "best_over_orders worst_over_orders"),
        *of("flag?", "order_dependent weight_dependent"),
    ), "", 1),
    Table("metrics", (
        *of("text", "metric"), Column("direction", "text", among=("max", "min")),
        *of("number?", "low high"), *of("weight", "weight"), *of("number", "least average most"),
        Column("winner_without", "text?", more=says("null: no polygon without it")),
        *of("count?", "moved_without"), *of("text?", "winner_doubled"),
        *of("count?", "moved_doubled"),
    ), ""),
    Table("profile", (
        MODEL, *of("text", "metric"), Column("value", "estimate", more=VALUE),
        Column("d", "part", more=says("the ray before weighting")),
        Column("sd", "weight?", "SD", "?",
               more=says("of the value over splits, as the table gives it")),
    ), ""),
    Table("redundant", (
        *of("text", "first second"),
        Column("why", "text", among=("identical", "same measure", "correlated", "opposite")),
        Column("r", "correlation?"), *of("text", "note"),
    ), ""),
    Table("dominance", (MODEL, *of("text+", "dominated_by"))),
    Table("splits", (
        Column("split", "text", more={"pattern": r"^split\d+$"}), MODEL,
        *of("mlcps_split", "mlcps"),
        Column("normalised", "mlcps_split", more={"properties": {"value": {"maximum": 1}}}),
        *of("rank", "rank"),
    ), least=1),
    Table("weights", (MODEL, *of("mlcps_won", "share share_order_free"),
                      *of("mlcps_factor", "factor")), "draws", 1),
    Table("dethroning", (
        *of("text", "metric"), *of("weight", "weight"),
        Column("joint", "weight?", more=says("null: no weights dethrone")),
        *of("text?", "joint_winner"), *of("mlcps_crossing", "lower"), *of("text?", "lower_winner"),
        *of("mlcps_crossing", "upper"), *of("text?", "upper_winner"),
    ), "draws", 3),
    Table("desirability", (
        MODEL, *of("text", "metric goal"), *of("number", "value"),
        Column("d", "mlcps_place", more={"properties": {"value": {"maximum": 1}}}),
        *of("weight", "weight"), *of("flag", "dealbreaker"),
    ), BY_D, 1),
    Table("agreement", (
        *of("text", "measure"), Column("models", "count", more={"minimum": 2}),
        Column("kendall", "mlcps_agreement", "Kendall's τ"),
        Column("spearman", "mlcps_agreement", "Spearman's ρ"),
        *of("text*", "top_here top_there"), *of("flag", "same_top"),
    ), "compare", 1),
    Table("compared", (MODEL, *of("mlcps_place", "here there"), *of("rank", "rank_here rank_there"),
                       Column("moved", "whole?")), "compare", 2),
)  # fmt: skip
