"""A command takes groups of options, typer reads a flat list: from the one to the other."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def flattened(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the fields of its dataclasses as parameters of their own.

    A plain parameter named as a field stands in the field's place, with its own help and default,
    and its value goes to both. Raises ValueError when two groups have a field of the same name,
    and when something required follows something optional.
    """
    hints = get_type_hints(command, include_extras=True)
    given = signature(command).parameters
    groups = {name: _options(hints[name]) for name in given if is_dataclass(hints[name])}
    plain = {
        name: _parameter(name, hints[name], given[name].default)
        for name in given
        if name not in groups
    }
    grouped = {option.name for options in groups.values() for option in options}

    flat: list[Parameter] = []
    for name in given:
        if name in groups:
            flat += [plain.get(option.name, option) for option in groups[name]]
        elif name not in grouped:
            flat.append(plain[name])
    shape = Signature(flat)

    @wraps(command)
    def called(**options: Any) -> None:
        bound = shape.bind(**options)
        bound.apply_defaults()
        # copied, so that no call finds in a default list what another left there
        values = {name: copy(value) for name, value in bound.arguments.items()}
        arguments = {name: values[name] for name in plain}
        for name, group in groups.items():
            arguments[name] = hints[name](**{option.name: values[option.name] for option in group})
        command(**arguments)

    called.__signature__ = shape  # type: ignore[attr-defined]
    called.__annotations__ = {option.name: option.annotation for option in flat}
    return called


@cache  # every command has the same groups
def _options(group: type) -> tuple[Parameter, ...]:
    """Return the fields of a dataclass as parameters."""
    hints = get_type_hints(group, include_extras=True)
    options = []
    for field in fields(group):
        default: Any = Parameter.empty if field.default is MISSING else field.default
        if field.default_factory is not MISSING:
            default = field.default_factory()
        options.append(_parameter(field.name, hints[field.name], default))
    return tuple(options)


def _parameter(name: str, annotation: Any, default: Any) -> Parameter:
    # of this kind, Signature refuses a required one after an optional one
    kind = Parameter.POSITIONAL_OR_KEYWORD
    return Parameter(name, kind, default=default, annotation=annotation)
