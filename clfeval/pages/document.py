"""The JSON Schema of results: what every document has, and per command what its page declares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clfeval.pages import PAGES, page_of
from clfeval.pages.write import INFINITE, REASONS
from clfeval.result import SCHEMA
from clfeval.schema import Column, Json, Page, Table

NUMBER, NULL = {"type": "number"}, {"type": "null"}
PARTS = ("value", "low", "high")
OTHERS = ("expected_agreement_one", "negative_metric", "constant_feature", "winner", "never")


def within(low: float, high: float | None = None) -> Json:
    """Return the schema of an estimate whose value and interval have such limits."""
    limits = {"minimum": low} if high is None else {"minimum": low, "maximum": high}
    of_parts = {"properties": dict.fromkeys(PARTS, limits)}
    return {"allOf": [{"$ref": "#/$defs/estimate"}, of_parts]}


def _if(condition: Json, then: Json, otherwise: Json) -> Json:
    return {"if": {"properties": condition}, "then": {"properties": then},
            "else": {"properties": otherwise}}  # fmt: skip


KINDS: Json = {
    "any": {},
    "text": {"type": "string"},
    "flag": {"type": "boolean"},
    "number": NUMBER,
    "cut": NUMBER,
    "p": {**NUMBER, "minimum": 0, "maximum": 1},
    "part": {**NUMBER, "minimum": 0, "maximum": 1},
    "level": {**NUMBER, "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "prevalence": {**NUMBER, "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "positive": {**NUMBER, "exclusiveMinimum": 0},
    "count": {"type": "integer", "minimum": 0},
    "weight": {"description": "a count, or a sum of fractional weights", **NUMBER, "minimum": 0},
    "rank": {"description": "1 the best, and models that tie share one; null where the score is"
             " undefined", "type": ["integer", "null"], "minimum": 1},
    "slice": {"description": "null for the whole table", "type": ["string", "null"]},
    "odds": {"description": "positives:negatives", "type": "string", "pattern": "^[^:]+:[^:]+$"},
    "estimate": {
        "description": "value null: undefined, reason says why, or infinite, reason says to which"
        " side, and then the other side may have a limit; low and high null: no interval; one of"
        " them null: no limit on that side; a feature that never varies has a value and the reason"
        " constant_feature",
        "type": "object",
        "required": [*PARTS, "reason"],
        "additionalProperties": False,
        "properties": {**{part: {"type": ["number", "null"]} for part in PARTS},
                       "reason": {"enum": [None, *REASONS, *INFINITE, *OTHERS]}},
        "if": {"properties": {"value": NULL}},
        "then": {"properties": {"reason": {"type": "string"}},
                 **_if({"reason": {"const": "infinite"}}, {"high": NULL}, {"low": NULL}),
                 "allOf": [_if({"reason": {"enum": list(INFINITE)}}, {}, {"high": NULL})]},
        "else": {"properties": {"reason": {"enum": [None, "constant_feature"]}}},
    },
    "share": within(0, 1),
    "signed": within(-1, 1),
    "doubled": within(-2, 2),
    "amount": within(0),
    "bare": {"description": "an estimate without an interval", "$ref": "#/$defs/estimate",
             "properties": {"low": NULL, "high": NULL}},
}  # fmt: skip

COUNT, TEXT = ({"$ref": f"#/$defs/{kind}"} for kind in ("count", "text"))
GATE = {
    "kind": {"enum": ["fail-under", "fail-over", "max-drop"]}, "metric": TEXT,
    "model": {"type": ["string", "null"]}, "limit": NUMBER,
    "value": {"description": "for max-drop: how much worse than the baseline",
              "type": ["number", "null"]},
    "passed": {"type": "boolean"}, "reason": {"type": ["string", "null"]},
}  # fmt: skip
INPUT = {
    "name": {"type": "string", "not": {"pattern": "/"}},
    "sha256": {"description": "of the bytes as given; null for a data frame",
               "type": ["string", "null"], "pattern": "^[0-9a-f]{64}$"},
    "rows": {"description": "observations counted", **COUNT},
    "dropped": {"description": "observations left out for a missing value", **COUNT},
}  # fmt: skip


def json_schema() -> dict[str, Any]:
    """Return the schema of the results of all commands."""
    pages = [page_of(command) for command in PAGES]
    names = {page.command: page.command.replace("-", "_") for page in pages}
    kinds = {name: kind for page in pages for name, kind in (page.kinds or {}).items()}
    head = {
        "schema": {"const": SCHEMA},
        "command": {"enum": list(PAGES)},
        "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+"},
        "signature": {
            "description": "key:value pairs in a fixed order: what changes numbers, then hashes of"
            " the input and of its sufficient statistics",
            "type": "string",
            "pattern": r"^cmd:[a-z -]+\|.*\|data:[0-9a-f+-]+\|stats:[0-9a-f]{8}\|clfeval:[^|]+$",
        },
        "inputs": {**_several(_closed(INPUT)), "minItems": 1},
        **{part: {"type": "object"} for part in ("parameters", "summary", "tables")},
        "gates": _several(_closed(GATE)),
        "passed": {"type": "boolean"},
        "warnings": _several(
            _closed({"code": {"type": "string", "pattern": "^[a-z-]+$"}, "message": TEXT})
        ),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": "Result of a clfeval command",
        **_closed(head),
        "allOf": [
            {"if": {"properties": {"command": {"const": command}}},
             "then": {"$ref": f"#/$defs/{name}"}} for command, name in names.items()
        ],
        "$defs": {**KINDS, **kinds, **{names[page.command]: _of_page(page) for page in pages}},
    }  # fmt: skip


def _several(item: Json) -> dict[str, Any]:
    return {"type": "array", "items": item}


def _closed(properties: Json) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "additionalProperties": False,
            "properties": dict(properties)}  # fmt: skip


def _of_page(page: Page) -> Json:
    """Return what holds of a command's documents: columns, and what they depend on."""
    tables = {table.name: _of_table(table) for table in page.tables}
    parts = {
        "parameters": _object(page.parameters, closed=page.closed),
        "summary": _object(page.summary, closed=page.closed),
        "tables": {"required": [table.name for table in page.tables if not table.when],
                   "additionalProperties": False, "properties": tables},
    }  # fmt: skip
    rules = [*_conditions(page), *page.rules]
    return {"properties": parts, **({"allOf": rules} if rules else {})}


def _of_table(table: Table) -> Json:
    """Return the schema of a table's rows."""
    row = _object(table.columns, closed=True)
    one = [column.name for column in table.columns if column.when == "one"]
    row |= {"oneOf": [{"required": [name]} for name in one]} if one else {}
    least = {"minItems": table.least} if table.least else {}
    return {**_several({**row, **(table.rule or {})}), **least}


def _object(columns: Iterable[Column], *, closed: bool) -> dict[str, Any]:
    return {
        "type": "object",
        "required": [column.name for column in columns if not column.when],
        "properties": {column.name: _of_column(column) for column in columns},
        "additionalProperties": not closed,
    }


def _of_column(column: Column) -> Json:
    kind = column.kind.rstrip("?*+")
    one: Json = {"enum": list(column.among)} if column.among else {"$ref": f"#/$defs/{kind}"}
    for sign in column.kind.removeprefix(kind):
        one = {"anyOf": [one, NULL]} if sign == "?" else _several(one)
        one = {**one, "minItems": 1} if sign == "+" else one
    return {**one, **(column.more or {})}


def _conditions(page: Page) -> list[Json]:
    """Return what is there, or not, as a parameter or another table has it."""
    found: dict[str, dict[str, Any]] = {}
    whole = [(table.when, ("tables", table.name)) for table in page.tables]
    of_rows = [(column.when, ("tables", table.name, column.name))
               for table in page.tables for column in table.columns]  # fmt: skip
    summary = [(column.when, ("summary", column.name)) for column in page.summary]
    for when, path in (*summary, *whole, *of_rows):
        if when not in ("", "?", "one"):
            there, gone = found.setdefault(
                when.removesuffix("?"), {"then": {}, "else": {}}
            ).values()
            if not when.endswith("?"):
                _put(there, path, there=True)
            _put(gone, path, there=False)
    return [{"if": _condition(when), **branches} for when, branches in found.items()]


def _put(schema: dict[str, Any], path: tuple[str, ...], *, there: bool) -> None:
    """Require or forbid a table, or a column of it."""
    *outer, name = path
    for depth, step in enumerate(outer):
        schema = schema.setdefault("properties", {}).setdefault(step, {})
        schema = schema.setdefault("items", {}) if depth else schema
    if there:
        schema.setdefault("required", []).append(name)
    else:
        schema.setdefault("properties", {})[name] = False


def _condition(when: str) -> Json:
    key, _, value = when.partition("=")
    if key.startswith("+"):
        return {"properties": {"tables": {"required": [key[1:]]}}}
    wanted = {"const": value} if value else {"not": NULL}
    return {"properties": {"parameters": {"properties": {key: wanted}}}}
