"""The JSON Schema of options and of batches, built from the declared options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from clfeval import COMMANDS
from clfeval.options.declaration import Opt, Option, union_types
from clfeval.suite.keys import run_keys
from clfeval.suite.reading import VERSION


def options_schema(options: Iterable[Option]) -> dict[str, Any]:
    """Return the JSON Schema of a mapping of options, as in a batch."""
    properties: dict[str, Any] = {}
    for option in options:
        takes = option.type if option.opt.takes is None else option.opt.takes
        shape = _schema(takes, option.opt)
        if option.holds == "several" and option.opt.takes is None:
            shape = {"anyOf": [shape["items"], shape]}
        if NoneType in get_args(option.type) and shape:
            shape = {"anyOf": [shape, {"type": "null"}]}
        properties[option.key.replace("-", "_")] = {**shape, "description": option.opt.help}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _schema(kind: Any, opt: Opt) -> dict[str, Any]:
    """Return the JSON Schema of the values of a type."""
    kinds, origin = union_types(kind), get_origin(kind)
    if len(kinds) != 1:
        return {"anyOf": [_schema(one, opt) for one in kinds]}
    if kinds != (kind,):
        return _schema(kinds[0], opt)
    if origin is Literal:
        return {"enum": list(get_args(kind))}
    if kind in (int, float):
        bounds = {
            "minimum": opt.least, "maximum": opt.most,
            "exclusiveMinimum": opt.above, "exclusiveMaximum": opt.below,
        }  # fmt: skip
        limits = {key: bound for key, bound in bounds.items() if bound is not None}
        return {"type": "integer" if kind is int else "number", **limits}
    if kind in (str, bool):
        return {"type": "string" if kind is str else "boolean"}
    arguments = get_args(kind)
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(arguments[1], opt)}
    if origin is tuple and arguments[-1] is not Ellipsis:
        size = len(arguments)
        items = _schema(arguments[0], opt)
        return {"type": "array", "items": items, "minItems": size, "maxItems": size}
    if origin is not None:
        return {"type": "array", "items": _schema(arguments[0], opt)}
    return {}


ID = f"clfeval.suite/{VERSION}"
TEXT = {"type": "string"}
TEXTS = {"anyOf": [TEXT, {"type": "array", "items": TEXT, "minItems": 1}]}
VARIABLE = {"type": "string", "pattern": r"^\$\{[A-Za-z_][A-Za-z0-9_-]*\}$"}
CUSTOM_KEYS = {"^x-": True}  # keys for anchors


def suite_schema(output: type) -> dict[str, Any]:
    """Return the JSON Schema of a batch; output: the group of options on saving."""
    named = {name: f"{name.replace('-', '_')}_keys" for name in COMMANDS}
    keys = {named[name]: _keys(name, output) for name in COMMANDS}
    every: dict[str, Any] = {}
    for one in keys.values():
        for key in one["properties"]:
            every.setdefault(key, []).append(one["properties"][key])
    defaults = {
        key: kinds[0]
        if all(kind == kinds[0] for kind in kinds)
        else {"anyOf": _unique_schemas(kinds)}
        for key, kinds in every.items()
        if key not in ("inputs", "matrix", "exclude")
    }
    command = {"enum": [*COMMANDS, *(n.replace("-", "_") for n in COMMANDS if "-" in n)]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "Batch file, run by: clfeval batch suite.yaml",
        "type": "object",
        "required": ["version"],
        "properties": {
            "version": {"const": VERSION},
            "set": {
                "description": "Variables, used as ${name} in values.",
                "type": "object",
                "additionalProperties": {"type": ["string", "number", "boolean"]},
            },
            "defaults": {"$ref": "#/$defs/defaults"},
            "history": {
                "description": "File to which every run appends its lines.",
                "anyOf": [
                    TEXT,
                    {
                        "type": "object",
                        "required": ["file"],
                        "properties": {"file": TEXT, "label": TEXT, "accept": {"type": "boolean"}},
                        "additionalProperties": False,
                    },
                ],
            },
            "runs": {
                "description": "Runs, by name.",
                "type": "object",
                "additionalProperties": {"$ref": "#/$defs/run"},
            },
        },
        "patternProperties": CUSTOM_KEYS,
        "additionalProperties": False,
        "$defs": {
            "defaults": {
                "description": "Defaults for every run whose command has the option.",
                "type": "object",
                "properties": {**defaults, "command": command},
                "patternProperties": CUSTOM_KEYS,
                "additionalProperties": False,
            },
            "run": {
                "type": "object",
                "properties": {"command": command},
                "allOf": [
                    {
                        "if": {
                            "properties": {"command": {"enum": [*{n: 0, n.replace("-", "_"): 0}]}},
                            "required": ["command"],
                        },
                        "then": {"$ref": f"#/$defs/{named[n]}"},
                    }
                    for n in COMMANDS
                ],
            },
            "input": {
                "anyOf": [
                    *TEXTS["anyOf"],
                    {
                        "description": "A table of another run's result; by default the first.",
                        "type": "object",
                        "required": ["run"],
                        "properties": {"run": TEXT, "table": TEXT},
                        "additionalProperties": False,
                    },
                ]
            },
            **keys,
        },
    }


def _unique_schemas(kinds: list[Any]) -> list[Any]:
    found: list[Any] = []
    for one in kinds:
        if one not in found:
            found.append(one)
    return found


def _keys(command: str, output: type) -> dict[str, Any]:
    """Return the JSON Schema of a run of a command, with options spelt with - and with _."""
    keys = run_keys(command, output)
    shapes = options_schema(keys.options)["properties"]
    options = {
        name: _allow_variables(shapes[one.key.replace("-", "_")])
        for name, one in keys.known.items()
    }
    matrix = {name: {"type": "array", "minItems": 1} for name in (*options, "input")}
    gates = {one.name: options[one.name] for one in keys.gates if one.field != "baseline"}
    gates |= {
        name.removeprefix("baseline_"): shape
        for name, shape in gates.items()
        if name.startswith("baseline_")
    }
    own = {
        "command": True,
        "input": {"description": "One table, in one or several files.", "$ref": "#/$defs/input"},
        "inputs": {"description": "Files, or a pattern; one run per file.", **TEXTS},
        "matrix": {
            "description": "Lists of values; one run per combination.",
            "type": "object",
            "properties": _both_spellings(matrix),
            "additionalProperties": False,
        },
        "exclude": {
            "description": "Combinations of the matrix to leave out.",
            "type": "array",
            "items": {"type": "object"},
        },
        "baseline": {
            "description": "Baseline to compare with, and limits on the change.",
            "anyOf": [
                TEXT,
                {
                    "type": "object",
                    "required": ["input"],
                    "properties": {"input": TEXT, **_both_spellings(gates)},
                    "additionalProperties": False,
                },
            ],
        },
    }
    return {
        "type": "object",
        "properties": {**own, **_both_spellings(options)},
        "patternProperties": CUSTOM_KEYS,
        "additionalProperties": False,
    }


def _allow_variables(shape: dict[str, Any]) -> dict[str, Any]:
    """Allow a variable in place of a number or boolean."""
    description = shape.get("description", "")
    bare = {key: value for key, value in shape.items() if key != "description"}
    if not bare or bare == TEXT:
        return shape
    return {"description": description, "anyOf": [bare, VARIABLE]}


def _both_spellings(options: dict[str, Any]) -> dict[str, Any]:
    return {
        spelt: shape
        for name, shape in options.items()
        for spelt in dict.fromkeys((name.replace("_", "-"), name))
    }
