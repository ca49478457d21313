"""What the tables of rankings hold, and what parameters and summary say beside them."""

from __future__ import annotations

from typing import Any

from clfeval.pages.mars import MODEL
from clfeval.schema import Column, Json, Table, of

BOOT, BY_D = "interval=bootstrap", "ranked_by=desirability"
AREAS = ("mlcps", "normalised", "order_free", "lowest", "highest", "mean", "sd")
VALUE: Json = {"properties": {"value": {"type": "number"}}}
SD = Column("sd", "mlcps_share", "SD", best="min")


def says(text: str) -> Json:
    """Return a description."""
    return {"description": text}


def estimate(*reasons: str, base: str = "bare", words: str = "", **value: float) -> Json:
    """Return a kind of estimate: its reasons, and the limits of its value."""
    of_parts: dict[str, Any] = {"reason": {"enum": [None, *reasons]}} if reasons else {}
    of_parts |= {"value": value} if value else {}
    kind = {"allOf": [{"$ref": f"#/$defs/{base}"}, {"properties": of_parts}]}
    return {**says(words), **kind} if words else kind


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
KINDS: Json = {
    "whole": {"type": "integer"},
    "correlation": {**says("null: a metric is constant, or there are two models at most"),
                    "type": "number", "minimum": -1, "maximum": 1},
    "mlcps_area": estimate("too_few_metrics", base="amount"),
    "mlcps_share": estimate("too_few_metrics", "zero_weight", base="share",
                            words="zero_weight: no metric in the polygon has a weight above 0"),
    "mlcps_split": estimate(
        "outside_scale", "too_few_splits", minimum=0,
        words="outside_scale: in this split, or in one of them, a metric is outside its scale or"
        " missing",
    ),
    "mlcps_place": {"allOf": [{"$ref": "#/$defs/bare"}, {
        "properties": {"value": {"type": "number", "minimum": 0}}}]},
    "mlcps_agreement": {"allOf": [{"$ref": "#/$defs/signed"},
                                  estimate("too_few_metrics", "constant")]},
    "mlcps_crossing": estimate("never", minimum=0,
                               words="never: no other model passes on this side"),
    "mlcps_factor": estimate(
        "winner", "never", minimum=1,
        words="winner: it is first already; never: no weights make it pass the first",
    ),
    "mlcps_won": {"$ref": "#/$defs/share",
                  "properties": {part: {"type": "number"} for part in ("value", "low", "high")}},
    "mlcps_wish": {
        "type": "object", "required": ["goal", "weight"], "additionalProperties": False,
        "properties": {
            "goal": {"enum": ["maximize", "minimize", "target", "box", "custom"]},
            **{end: {"type": "number"} for end in ("low", "target", "high", "above", "below")},
            "gamma": {
                **says("of a target two: below it and above it"),
                "oneOf": [{"$ref": "#/$defs/positive"},
                          {"type": "array", "items": {"$ref": "#/$defs/positive"},
                           "minItems": 2, "maxItems": 2}],
            },
            "points": {
                **says("raw value, and what it is worth from 0 to 1"), "type": "array",
                "minItems": 2,
                "items": {"type": "array", "minItems": 2, "items": False,
                          "prefixItems": [{"type": "number"}, {"$ref": "#/$defs/part"}]},
            },
            "weight": {"$ref": "#/$defs/weight"},
        },
    },
}  # fmt: skip


def each(kind: Json) -> Json:
    """Return the schema of a mapping from metrics to something."""
    return {"type": "object", "additionalProperties": kind}


ATLEAST_1 = {"minimum": 1}
PARAMETERS = (
    Column("from", "text", among=("metrics", "predictions")),
    Column("metrics", "text*", more={**says("of the polygon, in the order of its rays"),
                                     "uniqueItems": True}),
    Column("weights", "any", more=each({"$ref": "#/$defs/weight"})),
    Column("directions", "any", more=each({"enum": ["max", "min"]})),
    Column("scales", "any", more={
        **says("what becomes 0 and 1; null: scored as it is"),
        **each({"type": ["array", "null"], "items": {"type": "number"},
                "minItems": 2, "maxItems": 2}),
    }),
    Column("zero_weight", "text", among=("drop", "ray")),
    Column("ranked_by", "text", among=("mlcps", "desirability")),
    Column("orders", "any", more={
        **says("null: no polygon"), "type": ["object", "null"], "required": ["looked_at", "all"],
        "additionalProperties": False,
        "properties": {"looked_at": {"type": "integer", **ATLEAST_1}, "all": {"type": "boolean"}},
    }),
    Column("draws", "count?", more={**says("of weights; null: none asked for"), **ATLEAST_1}),
    Column("desirability", "any", more={"type": ["object", "null"], "minProperties": 1,
           "additionalProperties": {"$ref": "#/$defs/mlcps_wish"}}),
    Column("compare", "text?", more=says("the other table")),
    Column("missing", "text", among=("error", "drop")),
    Column("interval", "text", among=("bootstrap", "none")), *of("level", "level"),
    Column("resamples", "count?", more=ATLEAST_1), *of("count", "seed"), *of("text?", "positive"),
)  # fmt: skip
SUMMARY = (
    Column("models", "count", more=ATLEAST_1), *of("count", "metrics"), *of("text+", "best"),
    Column("pareto_front", "count", more=ATLEAST_1),
    Column("order_dependent", "count?", more=says(
        "models whose rank depends on the order of the metrics; null: no polygon")),
    Column("winners", "text*", more=says("models that are first in some order")),
)  # fmt: skip


def _if(name: str, value: Any, then: Json, otherwise: Json | None = None) -> Json:
    """Return a rule: where a parameter has this value other parameters, or tables, are so."""
    met = {"properties": {"parameters": {"properties": {name: {"const": value}}}}}
    rule = {"if": met, "then": {"properties": then}}
    return rule if otherwise is None else {**rule, "else": {"properties": otherwise}}


def _given(**parameters: Json) -> Json:
    return {"parameters": {"properties": parameters}}


BARE = {"$ref": "#/$defs/bare"}
NO_INTERVALS = {
    "models": {"items": {"properties": dict.fromkeys((*AREAS, "desirability"), BARE)}},
    "profile": {"items": {"properties": {"value": BARE}}},
}
RULES = (
    _if("interval", "bootstrap",
        _given(**{"from": {"const": "predictions"}, "resamples": {"type": "integer"}}),
        {**_given(resamples={"type": "null"}), "tables": {"properties": NO_INTERVALS}}),
    _if("from", "predictions", _given(positive={"type": "string"}),
        _given(positive={"type": "null"})),
    _if("ranked_by", "desirability", _given(desirability={"type": "object"}),
        _given(metrics={"minItems": 3}, orders={"type": "object"}, desirability={"type": "null"})),
)  # fmt: skip
