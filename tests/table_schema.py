"""The JSON Schema of a page's tables, written from what the page declares."""

from __future__ import annotations

from typing import Any

from clfeval.pages.schema import COMMON, Column, Json, Page, Table


def json_schema(page: Page) -> dict[str, Any]:
    """Return the JSON Schema of a page's tables; what a kind is stands in `$defs`, by hand."""
    tables = {
        "required": [table.name for table in page.tables if not table.when],
        "additionalProperties": False,
        "properties": {table.name: _of_table(table) for table in (*page.tables, *COMMON)},
    }
    conditions = _conditions(page)
    return {"properties": {"tables": tables}, **({"allOf": conditions} if conditions else {})}


def _of_table(table: Table) -> Json:
    """Return the schema of a table's rows."""
    columns = table.columns
    row = {
        "type": "object",
        "required": [column.name for column in columns if not column.when],
        "properties": {column.name: _of_column(column) for column in columns},
        "additionalProperties": False,
    }
    one = [column.name for column in columns if column.when == "one"]
    row |= {"oneOf": [{"required": [name]} for name in one]} if one else {}
    least = {"minItems": table.min_rows} if table.min_rows else {}
    return {"type": "array", "items": {**row, **(table.rule or {})}, **least}


def _of_column(column: Column) -> Json:
    kind = column.kind.rstrip("?*+")
    one: Json = {"enum": list(column.among)} if column.among else {"$ref": f"#/$defs/{kind}"}
    for sign in column.kind.removeprefix(kind):
        one = {"anyOf": [one, {"type": "null"}]} if sign == "?" else {"type": "array", "items": one}
        one = {**one, "minItems": 1} if sign == "+" else one
    return {**one, **(column.json_schema or {})}


def _conditions(page: Page) -> list[Json]:
    """Return what is there, or not, as a parameter or another table has it."""
    found: dict[str, dict[str, Any]] = {}
    whole = [(table.when, ("tables", table.name)) for table in page.tables]
    of_rows = [
        (column.when, ("tables", table.name, column.name))
        for table in page.tables
        for column in table.columns
    ]
    for when, path in (*whole, *of_rows):
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
    wanted = {"const": value} if value else {"not": {"enum": [None, {}]}}
    return {"properties": {"parameters": {"properties": {key: wanted}}}}
