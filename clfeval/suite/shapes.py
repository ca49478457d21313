"""The JSON Schema of what options take, made of their declarations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from clfeval.options import Opt, Option, union_types


def options_schema(options: Iterable[Option]) -> dict[str, Any]:
    """Return the JSON Schema of a mapping of these options, as a batch holds it."""
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
    """Return the JSON Schema of values of a type."""
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
