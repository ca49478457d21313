"""The tables of mlcps, with what their columns mean."""

from __future__ import annotations

from clfeval.pages.schema import MODEL, Column, Json, Table, cols
from clfeval.placeholders import END, OPTION
from clfeval.records import replace

BOOT, BY_D = "resamples", "ranked_by=desirability"
AT_MOST_1: Json = {"properties": {"value": {"maximum": 1}}}
VALUE: Json = {"properties": {"value": {"type": "number"}}}
METRIC = Column("metric", "text", meaning="metric of the table, or measure of its predictions")
DOMINATED_BY = Column(
    "dominated_by",
    "text+",
    meaning="models at least as good in every metric and goal, and better in one",
)
SD = Column("sd", "mlcps_share", "SD", meaning="unweighted standard deviation of the metrics")
NORMALISED = Column("normalised", "mlcps_share", meaning="MLcps / MLcps of a perfect model")
WEIGHT = Column("weight", "weight", meaning="weight of the metric, 1 by default")
TABLES = (
    Table(
        "models",
        (
            MODEL,
            *cols("mlcps_area", "mlcps"),
            Column(
                "rank",
                "rank",
                best="min",
                meaning="rank by MLcps or D, 1 the best; equal scores share a rank",
            ),
            NORMALISED,
            *cols("mlcps_area", "order_free"),
            *cols(
                "mlcps_area",
                {
                    "lowest": "smallest area over all orders of the metrics",
                    "highest": "largest area over all orders of the metrics",
                },
            ),
            Column("mean", "mlcps_share", meaning="unweighted mean of the metrics"),
            replace(SD, best="min"),
            Column(
                "pareto",
                "flag",
                meaning="whether no model is at least as good in every metric and goal and better "
                "in one",
                headings=("Pareto front",),
            ),
            replace(DOMINATED_BY, kind="text?"),
            Column("desirability", "share", when=BY_D, json_schema=VALUE),
            Column(
                "dealbreakers",
                "text*",
                when=BY_D,
                meaning="metrics with desirability 0, which makes D 0",
            ),
            Column(
                "first",
                "bare",
                when=BOOT,
                json_schema={
                    "description": "share of bootstrap samples in which it is first",
                    "properties": {"value": {"$ref": "#/$defs/part"}},
                },
                meaning="share of bootstrap samples in which the model is first (alone or tied)",
                headings=("first in bootstrap",),
            ),
            Column(
                "split_mean",
                "mlcps_split",
                "mean over splits",
                "+splits",
                meaning="mean of MLcps over the splits",
                headings=("mean MLcps",),
            ),
            Column(
                "split_sd",
                "mlcps_split",
                "SD over splits",
                "+splits",
                best="min",
                meaning="standard deviation of MLcps over the splits",
            ),
            Column(
                "split_wins",
                "count",
                when="+splits",
                meaning="number of splits in which the model is first",
                headings=("splits won",),
            ),
        ),
        "",
        1,
        {
            "if": {"properties": {"pareto": {"const": True}}},
            "then": {"properties": {"dominated_by": {"type": "null"}}},
            "else": {"properties": {"dominated_by": {"type": "string"}}},
        },
    ),
    Table(
        "ranks",
        (
            MODEL,
            *cols(
                "rank",
                {
                    "mlcps": "rank by MLcps, largest first",
                    "order_free": "rank by the order-free score, largest first",
                    "lowest": "rank by the lowest score, largest first",
                    "highest": "rank by the highest score, largest first",
                    "mean": "rank by the mean of the metrics, largest first",
                },
            ),
            Column("sd", "rank", "SD", meaning="rank by the SD of the metrics, smallest first"),
            Column("desirability", "rank", when=BY_D, meaning="rank by D, largest first"),
            *cols(
                "rank",
                {
                    "best_over_orders": "best rank by MLcps over all orders of the metrics",
                    "worst_over_orders": "worst rank by MLcps over all orders of the metrics",
                },
            ),
            Column(
                "order_dependent",
                "flag?",
                meaning="whether the rank by MLcps depends on the order of the metrics",
                headings=("depends on order",),
            ),
            Column(
                "weight_dependent",
                "flag?",
                meaning="whether the rank by MLcps depends on the weights",
                headings=("depends on weights",),
            ),
        ),
        "",
        1,
    ),
    Table(
        "metrics",
        (
            METRIC,
            Column(
                "direction",
                "text",
                among=("max", "min"),
                meaning="max if higher is better, min if lower is better",
            ),
            *cols(
                "number?",
                {
                    "low": "lower bound of the rescaled range; none if values are unchanged",
                    "high": "upper bound of the rescaled range; none if values are unchanged",
                },
            ),
            WEIGHT,
            Column("least", "number", meaning="smallest value of any model", headings=("minimum",)),
            Column("average", "number", meaning="mean of the values of all models"),
            Column("most", "number", meaning="largest value of any model", headings=("maximum",)),
            Column(
                "winner_without",
                "text?",
                json_schema={"description": "null: no polygon without it"},
                meaning="first model by MLcps without the metric",
                headings=("first without it",),
            ),
            Column(
                "moved_without",
                "count?",
                meaning="number of models whose rank changes without the metric",
            ),
            Column(
                "winner_doubled",
                "text?",
                meaning="first model by MLcps with double weight of the metric",
                headings=("first at double weight",),
            ),
            Column(
                "moved_doubled",
                "count?",
                meaning="number of models whose rank changes with double weight",
            ),
        ),
        "",
    ),
    Table(
        "profile",
        (
            MODEL,
            METRIC,
            Column(
                "value",
                "estimate",
                json_schema=VALUE,
                meaning="value of the metric; its interval is closed-form (as DeLong) if there is "
                "one, else bootstrap",
            ),
            Column(
                "d",
                "part",
                json_schema={"description": "the ray before weighting"},
                meaning="rescaled value before weighting, 0 to 1, higher is better",
            ),
            Column(
                "sd",
                "weight?",
                "SD",
                "?",
                json_schema={"description": "of the value over splits, as the table gives it"},
                meaning="standard deviation over splits, as given in the table",
            ),
        ),
        "",
    ),
    Table(
        "redundant",
        (
            Column("first", "text", meaning="first metric of the pair"),
            Column("second", "text", meaning="second metric of the pair"),
            Column(
                "why",
                "text",
                among=("identical", "same measure", "correlated", "opposite"),
                meaning="identical values, the same measure, or a correlation near 1 or -1",
            ),
            Column("r", "correlation?", meaning="correlation of the two metrics over the models"),
            Column(
                "note", "text", meaning="why the two metrics are redundant", headings=("reason",)
            ),
        ),
        "",
    ),
    Table("dominance", (MODEL, DOMINATED_BY)),
    Table(
        "splits",
        (
            Column(
                "split",
                "text",
                json_schema={"pattern": r"^split\d+$"},
                meaning="cross-validation split, numbered as in the table",
            ),
            MODEL,
            *cols("mlcps_split", "mlcps"),
            replace(NORMALISED, kind="mlcps_split", json_schema=AT_MOST_1),
            Column("rank", "rank", meaning="rank by MLcps in this split, 1 the best"),
        ),
        min_rows=1,
    ),
    Table(
        "weights",
        (
            MODEL,
            Column(
                "share",
                "mlcps_won",
                meaning="share of random weights with which the model is first by MLcps; the "
                "interval is the simulation error",
            ),
            Column(
                "share_order_free",
                "mlcps_won",
                meaning="share of random weights with which it is first by the order-free score",
                headings=("order-free share",),
            ),
        ),
        "draws",
        1,
    ),
    Table(
        "desirability",
        (
            MODEL,
            METRIC,
            Column(
                "goal",
                "text",
                meaning=f"goal for the metric in the file of {OPTION}--desirability{END}",
            ),
            Column("value", "number", meaning="value of the metric, given or measured"),
            Column(
                "d",
                "mlcps_place",
                json_schema=AT_MOST_1,
                meaning="desirability of the value, 0 to 1",
                headings=("d of …",),
            ),
            WEIGHT,
            Column("dealbreaker", "flag", meaning="whether the desirability is 0, which makes D 0"),
        ),
        BY_D,
        1,
    ),
    Table(
        "agreement",
        (
            Column(
                "measure",
                "text",
                meaning="the measure of this row of the table",
                headings=("score",),
            ),
            Column(
                "models",
                "count",
                json_schema={"minimum": 2},
                meaning="number of models in both tables",
            ),
            Column(
                "kendall",
                "mlcps_agreement",
                "Kendall's τ",
                meaning="Kendall's τ-b of the ranks in both tables: 1 same order, -1 reversed",
                headings=("Kendall τ",),
            ),
            Column(
                "spearman",
                "mlcps_agreement",
                "Spearman's ρ",
                meaning="Spearman's ρ of the ranks in both tables: 1 same order, -1 reversed",
                headings=("Spearman ρ",),
            ),
            Column(
                "top_here",
                "text*",
                meaning="first model in this table, among those in both",
                headings=("first here",),
            ),
            Column(
                "top_there",
                "text*",
                meaning="first model in the other table, among those in both",
                headings=("first there",),
            ),
            Column("same_top", "flag", meaning="whether the same models are first in both tables"),
        ),
        "compare",
        1,
    ),
    Table(
        "compared",
        (
            MODEL,
            *cols(
                "mlcps_place",
                {"here": "the score in this table", "there": "the score in the other table"},
            ),
            *cols(
                "rank",
                {
                    "rank_here": "rank in this table, among the models in both",
                    "rank_there": "rank in the other table, among the models in both",
                },
            ),
            Column(
                "moved",
                "whole?",
                meaning="rank in the other table - rank here",
                headings=("rank change",),
            ),
        ),
        "compare",
        2,
    ),
)
