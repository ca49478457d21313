"""JSON Schema: whether a document from a file has the keys, types and ranges that its format has.

Only the keywords in `KEYWORDS` are known. Keys that a schema does not name, or forbids, are
allowed, as later versions add some. Numbers have to be finite, whole numbers below 2**63. Of our
own are the keyword `ascending`, the numbers at these keys do not fall where they are numbers, and
the type `extended number`, which may be infinite.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from math import inf
from operator import getitem
from sys import float_info
from typing import Any, NamedTuple

Schema = Mapping[str, Any] | bool
MAX_INTEGER = 2**63 - 1  # of a whole number
FEW_CHOICES = 6  # named in a message


class Violation(NamedTuple):
    """What a document breaks: the keys that lead to the value, and what is wrong with it."""

    path: tuple[str | int, ...]
    problem: str

    def __str__(self) -> str:
        """Return the place and the problem: `tables.models[0].tp is missing`."""
        path_text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.path)
        return (
            f"'{path_text.removeprefix('.')}' {self.problem}" if path_text else f"it {self.problem}"
        )


ValueCheck = Callable[[Any], Violation | None]


class JsonSchema:
    """A schema that documents are checked against; its parts are prepared when first needed."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """Take the schema, which may refer to its own parts."""
        self._schema = schema
        self._checks: dict[str, ValueCheck] = {}

    def violation(self, document: object) -> Violation | None:
        """Return the first thing that the document breaks; None if there is nothing."""
        return self.referred("#")(document)

    def referred(self, name: str) -> ValueCheck:
        """Return the check of a part such as `#/$defs/text`."""
        if name not in self._checks:
            schema = reduce(getitem, name.split("/")[1:], self._schema)
            self._checks[name] = self.check_of(schema)
        return self._checks[name]

    def check_of(self, schema: Schema) -> ValueCheck:
        """Return the check of a schema: of all its keywords, one after the other."""
        if isinstance(schema, bool):
            return _accept
        checks = [
            KEYWORDS[key](self, schema, schema[key])
            for key in schema
            if key not in UNCHECKED_KEYWORDS
        ]
        if len(checks) < 2:
            return checks[0] if checks else _accept

        def check_all(value: object) -> Violation | None:
            for check in checks:
                if violation := check(value):
                    return violation
            return None

        return check_all


def _accept(_: object) -> Violation | None:
    return None


def _prefixed(key: str | int, violation: Violation) -> Violation:
    return Violation((key, *violation.path), violation.problem)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) <= float_info.max


TYPES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "null": ("null", lambda value: value is None),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "number": ("a finite number", _is_number),
    "extended number": ("a number", lambda value: _is_number(value) or value in (inf, -inf)),
    "integer": ("a whole number", lambda value: type(value) is int and abs(value) <= MAX_INTEGER),
    "string": ("text", lambda value: isinstance(value, str)),
    "array": ("a list", lambda value: isinstance(value, (list, tuple))),
    "object": ("an object", lambda value: isinstance(value, dict)),
}


def _format_value(value: object) -> str:
    """Return a value as a message names it, of at most 40 characters."""
    for type_name in ("object", "array"):
        description, holds_type = TYPES[type_name]
        if holds_type(value):
            return description
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"{value!r:.40}"


def _type_check(_: JsonSchema, __: Schema, names: str | Sequence[str]) -> ValueCheck:
    """Return the check that a value has one of the named types."""
    types = [TYPES[name] for name in ([names] if isinstance(names, str) else names)]
    types_text = " or ".join(description for description, _ in types)
    type_tests = [type_test for _, type_test in types]

    def check(value: object) -> Violation | None:
        for type_test in type_tests:
            if type_test(value):
                return None
        return Violation((), f"is {_format_value(value)}, not {types_text}")

    return check


def _enum_check(_: JsonSchema, __: Schema, choices: Sequence[Any]) -> ValueCheck:
    """Return the check that a value is one of the choices."""

    def is_same(value: object, choice: object) -> bool:
        return isinstance(value, bool) == isinstance(choice, bool) and bool(value == choice)

    def check(value: object) -> Violation | None:
        for choice in choices:
            if is_same(value, choice):
                return None
        choices_text = ", ".join(_format_value(choice) for choice in choices[:FEW_CHOICES])
        more_clause = " or another known one" if len(choices) > FEW_CHOICES else ""
        return Violation((), f"is {_format_value(value)}, not {choices_text}{more_clause}")

    return check


def _const_check(owner: JsonSchema, schema: Schema, value: object) -> ValueCheck:
    return _enum_check(owner, schema, [value])


def _properties_check(owner: JsonSchema, _: Schema, parts: Mapping[str, Schema]) -> ValueCheck:
    """Return the check of the values at the keys that the schema names."""
    checks = [(key, owner.check_of(part)) for key, part in parts.items()]

    def check(value: object) -> Violation | None:
        if not isinstance(value, dict):
            return None
        for key, check_value in checks:
            if key in value and (violation := check_value(value[key])):
                return _prefixed(key, violation)
        return None

    return check


def _required_check(_: JsonSchema, __: Schema, keys: Sequence[str]) -> ValueCheck:
    def check(value: object) -> Violation | None:
        missing = [key for key in keys if key not in value] if isinstance(value, dict) else []
        return Violation((missing[0],), "is missing") if missing else None

    return check


def _additional_check(
    owner: JsonSchema, part: Mapping[str, Any], values_schema: Schema
) -> ValueCheck:
    """Return the check of keys that are not named; they are allowed where the schema forbids them.

    Later versions add keys.
    """
    if isinstance(values_schema, bool):
        return _accept
    declared_keys = frozenset(part.get("properties", ()))
    check_value = owner.check_of(values_schema)

    def check(value: object) -> Violation | None:
        if not isinstance(value, dict):
            return None
        for key in value:
            if key not in declared_keys and (violation := check_value(value[key])):
                return _prefixed(key, violation)
        return None

    return check


def _property_names_check(owner: JsonSchema, _: Schema, part: Schema) -> ValueCheck:
    """Return the check of all keys of an object."""
    check_name = owner.check_of(part)

    def check(value: object) -> Violation | None:
        for key in value if isinstance(value, dict) else ():
            if violation := check_name(key):
                return _prefixed(key, violation)
        return None

    return check


def _items_check(owner: JsonSchema, part: Mapping[str, Any], entries: Schema) -> ValueCheck:
    """Return the check of the elements of a list after those of `prefixItems`."""
    check_element = owner.check_of(entries)
    first_index = len(part.get("prefixItems", ()))

    def check(value: object) -> Violation | None:
        if not isinstance(value, (list, tuple)):
            return None
        for index, element in enumerate(value):
            if index >= first_index and (violation := check_element(element)):
                return _prefixed(index, violation)
        return None

    return check


def _prefix_items_check(owner: JsonSchema, _: Schema, parts: Sequence[Schema]) -> ValueCheck:
    """Return the check of the first elements of a list, each by its own schema."""
    checks = [owner.check_of(part) for part in parts]

    def check(value: object) -> Violation | None:
        elements = value if isinstance(value, (list, tuple)) else ()
        for index, (check_element, element) in enumerate(zip(checks, elements, strict=False)):
            if violation := check_element(element):
                return _prefixed(index, violation)
        return None

    return check


def _unique_check(_: JsonSchema, __: Schema, must_be_unique: bool) -> ValueCheck:
    def check(value: object) -> Violation | None:
        element_texts = [*map(repr, value)] if isinstance(value, (list, tuple)) else []
        has_repetition = must_be_unique and len({*element_texts}) < len(element_texts)
        return Violation((), "has an entry twice") if has_repetition else None

    return check


def _size_check(types: tuple[type[Any], ...], compare: str) -> Callable[..., ValueCheck]:
    """Return the keyword that limits how many entries a list, or an object, has."""

    def keyword(_: JsonSchema, __: Schema, limit: int) -> ValueCheck:
        def check(value: object) -> Violation | None:
            if not isinstance(value, types):
                return None
            is_allowed = len(value) >= limit if compare == "fewer" else len(value) <= limit
            return None if is_allowed else Violation((), f"has {compare} entries than {limit}")

        return check

    return keyword


def _limit_check(holds: Callable[[float, float], bool], words: str) -> Callable[..., ValueCheck]:
    """Return the keyword that limits numbers."""

    def keyword(_: JsonSchema, __: Schema, limit: float) -> ValueCheck:
        def check(value: object) -> Violation | None:
            if (
                not isinstance(value, (int, float))
                or isinstance(value, bool)
                or holds(value, limit)
            ):
                return None
            return Violation((), f"is {_format_value(value)}, {words} {limit}")

        return check

    return keyword


def _pattern_check(_: JsonSchema, __: Schema, pattern: str) -> ValueCheck:
    regex = re.compile(pattern)

    def check(value: object) -> Violation | None:
        if not isinstance(value, str) or regex.search(value):
            return None
        return Violation((), f"is {_format_value(value)}, which does not match {pattern}")

    return check


def _all_of_check(owner: JsonSchema, _: Schema, parts: Sequence[Schema]) -> ValueCheck:
    """Return the check that a value fits all schemas."""
    checks = [owner.check_of(part) for part in parts]

    def check(value: object) -> Violation | None:
        for check_part in checks:
            if violation := check_part(value):
                return violation
        return None

    return check


def _any_of_check(owner: JsonSchema, _: Schema, parts: Sequence[Schema]) -> ValueCheck:
    """Return the check of alternatives; what breaks all of them is told of the first."""
    checks = [owner.check_of(part) for part in parts]

    def check(value: object) -> Violation | None:
        violations = list[Violation]()
        for check_part in checks:
            violation = check_part(value)
            if violation is None:
                return None
            violations.append(violation)
        return violations[0]

    return check


def _one_of_check(owner: JsonSchema, _: Schema, parts: Sequence[Schema]) -> ValueCheck:
    """Return the check that a value fits exactly one schema."""
    checks = [owner.check_of(part) for part in parts]

    def check(value: object) -> Violation | None:
        violations = [violation for part in checks if (violation := part(value))]
        if len(violations) == len(checks) - 1:
            return None
        return violations[0] if violations else Violation((), "fits more than one alternative")

    return check


def _not_check(owner: JsonSchema, _: Schema, part: Schema) -> ValueCheck:
    check_part = owner.check_of(part)

    def check(value: object) -> Violation | None:
        return None if check_part(value) else Violation((), "has a value that is not allowed")

    return check


def _condition_check(owner: JsonSchema, part: Mapping[str, Any], condition: Schema) -> ValueCheck:
    condition_check, then_check, else_check = map(
        owner.check_of, (condition, part.get("then", True), part.get("else", True))
    )

    def check(value: object) -> Violation | None:
        return else_check(value) if condition_check(value) else then_check(value)

    return check


def _ascending_check(_: JsonSchema, __: Schema, keys: Sequence[str]) -> ValueCheck:
    """Return the check that the numbers at these keys do not fall."""

    def check(value: object) -> Violation | None:
        if not isinstance(value, dict):
            return None
        numbers = [(key, value[key]) for key in keys if _is_number(value.get(key))]
        for (key, number), (next_key, next_number) in pairwise(numbers):
            if number > next_number:
                return Violation((key,), f"is {number!r}, above '{next_key}', {next_number!r}")
        return None

    return check


# check nothing
UNCHECKED_KEYWORDS = ("$schema", "$id", "$defs", "title", "description", "then", "else")
KEYWORDS: Mapping[str, Callable[[JsonSchema, Any, Any], ValueCheck]] = {
    "$ref": lambda owner, _, name: lambda value: owner.referred(name)(value),
    "type": _type_check,
    "enum": _enum_check,
    "const": _const_check,
    "properties": _properties_check,
    "required": _required_check,
    "additionalProperties": _additional_check,
    "propertyNames": _property_names_check,
    "minProperties": _size_check((dict,), "fewer"),
    "items": _items_check,
    "prefixItems": _prefix_items_check,
    "uniqueItems": _unique_check,
    "minItems": _size_check((list, tuple), "fewer"),
    "maxItems": _size_check((list, tuple), "more"),
    "minimum": _limit_check(lambda value, limit: value >= limit, "below"),
    "maximum": _limit_check(lambda value, limit: value <= limit, "above"),
    "exclusiveMinimum": _limit_check(lambda value, limit: value > limit, "not above"),
    "exclusiveMaximum": _limit_check(lambda value, limit: value < limit, "not below"),
    "pattern": _pattern_check,
    "allOf": _all_of_check,
    "anyOf": _any_of_check,
    "oneOf": _one_of_check,
    "not": _not_check,
    "if": _condition_check,
    "ascending": _ascending_check,
}
