"""The format of counts files: the columns of the table, and the schema of its description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from clfeval.errors import DataError
from clfeval.json_schema import JsonSchema, Violation

SCHEMA_KIND = "clfeval.counts"
SCHEMA = f"{SCHEMA_KIND}/2"
# the columns of every counts file and their types in polars; columns b0, b1.. are slices
COLUMN_TYPES = {
    "block": "String",
    "model": "String",
    "truth": "Boolean",
    "pattern": "String",
    "key": "Int64",
    "n": "Int64",
    "m1": "Int64",
    "m2": "Int64",
    "lo": "Float64",
    "hi": "Float64",
}
TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}
NUMBER = {"type": "number"}
DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
MATRIX = {"type": "array", "items": {"type": "array", "items": NUMBER}}
JOINT_SUMS = {
    "type": "object",
    "required": ["models", "mass", "products", "apart", "powers"],
    "properties": {
        "models": TEXTS,
        "mass": NUMBER,
        "products": MATRIX,
        "apart": MATRIX,
        "powers": MATRIX,
    },
}
PROPERTIES: Mapping[str, Any] = {
    "schema": {"const": SCHEMA},
    "positive": TEXT,
    "classes": {**TEXTS, "minItems": 1, "uniqueItems": True},
    "models": {
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "required": ["name", "kind"],
            "properties": {"name": TEXT, "kind": {"enum": ["label", "score"]}},
        },
    },
    "thresholds": {"type": "object", "additionalProperties": {"type": ["number", "null"]}},
    "uncut": {
        "type": "object",
        "additionalProperties": {
            "type": "array",
            "items": {"type": "extended number"},
            "minItems": 2,
            "maxItems": 2,
        },
    },
    "facets": {"type": "array", "items": {**TEXTS, "minItems": 1}},
    "by": TEXTS,
    "edges": {"type": "object", "additionalProperties": {"type": "array", "items": NUMBER}},
    "missing": {"enum": ["error", "drop"]},
    "threshold": {
        "type": "array",
        "items": {
            "type": "array",
            "prefixItems": [{"type": ["string", "null"]}, NUMBER],
            "minItems": 2,
            "maxItems": 2,
        },
    },
    "scores": {"type": "string", "pattern": r"^(exact|runs|buckets:([4-9]|1[0-9]|20))$"},
    "rows": {"type": "integer", "minimum": 1, "maximum": 2**53},
    "dropped": {"type": "integer", "minimum": 0, "maximum": 2**53},
    "joint": {
        "anyOf": [
            {
                "type": "object",
                "required": ["against", "sums"],
                "properties": {
                    "against": DIGEST,
                    "sums": {
                        "type": "array",
                        "items": {"type": "object", "additionalProperties": JOINT_SUMS},
                    },
                },
            },
            {"const": {}},
        ]
    },
    "min_cell": {"type": "integer", "minimum": 0},
    "parts": {"type": "array", "items": DIGEST},
    "digest": DIGEST,
}
DESCRIPTION = {"type": "object", "required": [*PROPERTIES], "properties": PROPERTIES}


@cache
def _description_schema() -> JsonSchema:
    return JsonSchema(DESCRIPTION)


def description_problem(description: object, columns: Sequence[str]) -> str:
    """Return what is wrong with the description of a file with these columns; "" if nothing."""
    violation: Violation | None = _description_schema().violation(description)
    if violation:
        return str(violation)
    return _contradiction(cast("Mapping[str, Any]", description), columns)


def _contradiction(description: Mapping[str, Any], columns: Sequence[str]) -> str:
    """Return what of a description does not fit its other parts, or the columns; "" if nothing."""
    models = [model["name"] for model in description["models"]]
    slice_columns = {name for facet_columns in description["facets"] for name in facet_columns}
    expected_columns = [*COLUMN_TYPES, *(f"b{j}" for j in range(len(slice_columns)))]
    missing_columns = [name for name in expected_columns if name not in columns]
    contradictions = {
        "'models' names a model twice": len({*models}) < len(models),
        "'thresholds' is not of the models": {*description["thresholds"]} != {*models},
        "'uncut' is not of the models": not {*description["uncut"]} <= {*models},
        f"column '{''.join(missing_columns[:1])}' is missing": bool(missing_columns),
        "'scores' is not 'runs', but 'min_cell' hides counts": (
            (description["scores"] == "runs") != (description["min_cell"] > 0)
        ),
    }
    return next(
        (problem for problem, is_contradicted in contradictions.items() if is_contradicted), ""
    )


def damaged_counts(
    problem: str, name: str, row: int | None = None, column: str | None = None
) -> DataError:
    """Return the error of a counts file that is incomplete, or was changed."""
    message = f"is not a complete file of counts: {problem}"
    return DataError.new(message, "damaged-file", name, row, column, hint="count the table again")
