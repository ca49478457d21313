"""Python signatures from declared options."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter
from types import NoneType
from typing import Any, get_args, get_origin

from clfeval.options.declaration import Option


def keyword_parameter(option: Option, value_type: Any = None) -> Parameter:
    """Return the keyword of an option; value_type: of its values, by default the declared type."""
    if value_type is None:
        value_type = option.type if option.opt.takes is None else option.opt.takes
    type_arguments = get_args(value_type)
    if get_origin(value_type) is tuple:
        sequence_type: Any = Sequence[type_arguments[0]]  # type: ignore[valid-type]
        value_type = (
            type_arguments[0] | sequence_type if type_arguments[-1] is Ellipsis else sequence_type
        )
    default = None if NoneType in get_args(value_type) and not option.default else option.default
    return Parameter(option.name, Parameter.KEYWORD_ONLY, default=default, annotation=value_type)
