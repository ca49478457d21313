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
    names = [part.name for part in fields(record) if part.compare]
    if eq:
        values = attrgetter("__class__", *names)

        def equals(self: object, second: object) -> bool:
            return type(self) is type(second) and values(self) == values(second)

        def hash_value(self: object) -> int:
            return hash(values(self))

        record.__eq__ = equals
        record.__hash__ = hash_value if frozen else None
    if has_repr:
        record.__repr__ = _representation
    return record


def _representation(record: Record) -> str:
    names = (part.name for part in fields(record) if part.repr)
    values = ", ".join(f"{name}={getattr(record, name)!r}" for name in names)
    return f"{type(record).__qualname__}({values})"


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
    return tuple(part.name for part in fields(record))


KINDS: Mapping[str, Any] = {
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
    types = {attribute.name: str(attribute.type) for attribute in fields(record)}
    return {
        name: (KINDS[re.split(r"\W", text)[0]], text.endswith("| None"))
        for name, text in types.items()
    }


def read_record(record: type[T], content: Mapping[str, Any]) -> T:
    """Build a record from the keys known to this version, ignoring others of later versions.

    Raises TypeError for a value that is not of the type its field declares.
    """
    kinds = _field_types(record)  # type: ignore[arg-type]
    values = {name: value for name, value in content.items() if name in kinds}
    for name, value in values.items():
        kind, none = kinds[name]
        if value is None and none:
            continue
        flag = isinstance(value, bool) and kind is not bool
        large = isinstance(value, (int, float)) and not abs(value) <= float_info.max
        if flag or large or not isinstance(value, kind):
            raise TypeError(f"'{name}' is {value!r:.40}")
    return record(**values)
