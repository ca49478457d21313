"""The check of stored documents by a JSON Schema: as of a validator of others, with the place."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from clfeval.json_schema import KEYWORDS, JsonSchema
from tests.test_schema import SCHEMA

LIMITS = {"type": "object", "required": ["low", "high"], "ascending": ["low", "high"]}
# schema, document, and the violation; None: it fits
CASES: dict[str, tuple[dict[str, Any], Any, str | None]] = {
    "a type": ({"type": "string"}, 3, "it is 3, not text"),
    "one of two types": ({"type": ["number", "null"]}, None, None),
    "a flag is no number": ({"type": "number"}, True, "it is true, not a finite number"),
    "an infinite number": ({"type": "number"}, float("inf"), "it is inf, not a finite number"),
    "a number of any size": ({"type": "extended number"}, float("inf"), None),
    "no number": ({"type": "extended number"}, float("nan"), "it is nan, not a number"),
    "a fraction": ({"type": "integer"}, 1.5, "it is 1.5, not a whole number"),
    "more than int64": ({"type": "integer"}, 2**63, f"it is {2**63}, not a whole number"),
    "a key that is missing": (LIMITS, {"low": 1}, "'high' is missing"),
    "limits in order": (LIMITS, {"low": 1, "high": 1}, None),
    "limits exchanged": (LIMITS, {"low": 2, "high": 1}, "'low' is 2, above 'high', 1"),
    "a limit that is null": (LIMITS, {"low": 2, "high": None}, None),
    "no choice": ({"enum": ["a", "b"]}, "c", "it is 'c', not 'a', 'b'"),
    "1 is not true": ({"enum": [1]}, True, "it is true, not 1"),
    "an element": (
        {"properties": {"x": {"items": {"minimum": 0}}}},
        {"x": [1, -1]},
        "'x[1]' is -1, below 0",
    ),
    "a key of a later version": ({"additionalProperties": False}, {"x": 1}, None),
    "any key": (
        {"additionalProperties": {"type": "boolean"}},
        {"x": 1},
        "'x' is 1, not true or false",
    ),
    "a pattern": ({"pattern": "^a+$"}, "ab", "it is 'ab', which does not match ^a+$"),
    "too few": ({"minItems": 1}, [], "it has fewer entries than 1"),
    "one alternative": (
        {"oneOf": [{"required": ["x"]}, {"required": ["y"]}]},
        {"x": 1, "y": 2},
        "it fits more than one alternative",
    ),
    "a condition": (
        {"if": {"properties": {"x": {"const": 1}}}, "then": {"required": ["y"]}},
        {"x": 1},
        "'y' is missing",
    ),
    "a part": (
        {
            "$ref": "#/$defs/x",
            "$defs": {"x": {"properties": {"y": {"$ref": "#/$defs/z"}}}, "z": {"type": "null"}},
        },
        {"y": 1},
        "'y' is 1, not null",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_document_is_checked(name: str) -> None:
    schema, document, expected = CASES[name]
    violation = JsonSchema(schema).violation(document)
    assert (violation and str(violation)) == expected


def test_every_keyword_of_the_schema_of_results_is_known() -> None:
    """Reading the whole schema raises KeyError for a keyword that is not checked."""
    schema = JsonSchema(SCHEMA)
    for name in SCHEMA["$defs"]:
        schema.referred(f"#/$defs/{name}")
    assert {*KEYWORDS} - {"ascending"} <= {*jsonschema.Draft202012Validator.VALIDATORS, "if"}
