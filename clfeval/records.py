"""Dataclasses that are quick to define, as their methods took a third of a start; and read back."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import MISSING, asdict, field, fields, replace
from functools import cache, partial
from operator import attrgetter
from sys import float_info
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

__all__ = [
    "MISSING",
    "asdict",
    "dataclass",
    "field",
    "field_values",
    "fields",
    "read_record",
    "replace",
]

T = TypeVar("T")


class Record(Protocol):
    """An instance of a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


def _define(cls: type, *, frozen: bool = False, eq: bool = True, **options: bool) -> Any:
    """Return a dataclass that shares methods with all others; only mypy checks `frozen`."""
    has_repr = options.pop("repr", True)
    record: Any = dataclasses.dataclass(cls, eq=False, repr=False, **options)
    compared_names = [attribute.name for attribute in fields(record) if attribute.compare]
    if eq:
        compared_values = attrgetter("__class__", *compared_names)

        def equals(self: object, second: object) -> bool:
            return type(self) is type(second) and compared_values(self) == compared_values(second)

        def hash_value(self: object) -> int:
            return hash(compared_values(self))

        record.__eq__ = equals
        record.__hash__ = hash_value if frozen else None
    if has_repr:
        record.__repr__ = _representation
    return record


def _representation(record: Record) -> str:
    names = (attribute.name for attribute in fields(record) if attribute.repr)
    field_texts = ", ".join(f"{name}={getattr(record, name)!r}" for name in names)
    return f"{type(record).__qualname__}({field_texts})"


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, **options: object) -> Any:
        """Return what `dataclasses.dataclass` does, see `_define`."""
        return partial(_define, **options) if cls is None else _define(cls, **options)


def field_values(record: Record) -> dict[str, Any]:
    """Return a record by its fields, without the deep copies of `asdict`, which take ten times."""
    return {name: getattr(record, name) for name in _field_names(record.__class__)}


@cache
def _field_names(record: type[Record]) -> tuple[str, ...]:
    return tuple(attribute.name for attribute in fields(record))


TYPE_OF_NAME: Mapping[str, Any] = {
    "str": str,
    "bool": bool,
    "int": int,
    "float": (int, float),
    "tuple": tuple,
    "Mapping": Mapping,
    "Severity": str,
}


@cache
def _field_types(record: type) -> Mapping[str, tuple[Any, bool]]:
    """Return the type of each field of a record, and whether it may be None."""
    annotation_of_field = {attribute.name: str(attribute.type) for attribute in fields(record)}
    return {
        name: (TYPE_OF_NAME[re.split(r"\W", annotation)[0]], annotation.endswith("| None"))
        for name, annotation in annotation_of_field.items()
    }


def read_record(record: type[T], content: Mapping[str, Any]) -> T:
    """Build a record from the keys known to this version, ignoring others of later versions.

    Raises TypeError for a value that is not of the type its field declares.
    """
    field_types = _field_types(record)  # type: ignore[arg-type]
    values = {name: value for name, value in content.items() if name in field_types}
    for name, value in values.items():
        field_type, may_be_none = field_types[name]
        if value is None and may_be_none:
            continue
        is_wrong_bool = isinstance(value, bool) and field_type is not bool
        is_not_finite = isinstance(value, (int, float)) and not abs(value) <= float_info.max
        if is_wrong_bool or is_not_finite or not isinstance(value, field_type):
            raise TypeError(f"'{name}' is {value!r:.40}")
    return record(**values)
