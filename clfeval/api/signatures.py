"""Python signatures from declared options."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter
from types import NoneType
from typing import Any, get_args, get_origin

from clfeval.options.declaration import Option


def keyword_parameter(option: Option, takes: Any = None) -> Parameter:
    """Return the keyword of an option; takes: the type of its values, else the declared one."""
    if takes is None:
        takes = option.type if option.opt.takes is None else option.opt.takes
    arguments = get_args(takes)
    if get_origin(takes) is tuple:
        several: Any = Sequence[arguments[0]]  # type: ignore[valid-type]
        takes = arguments[0] | several if arguments[-1] is Ellipsis else several
    default = None if NoneType in get_args(takes) and not option.default else option.default
    return Parameter(option.name, Parameter.KEYWORD_ONLY, default=default, annotation=takes)
