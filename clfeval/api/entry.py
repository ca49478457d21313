"""The door for Python: a function of groups becomes one of keywords, each with its type."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, Signature
from types import NoneType
from typing import Any, Protocol, get_args, get_origin

from clfeval.dialect import PYTHON, retell
from clfeval.errors import ClfevalError, UsageError
from clfeval.options import Command, Option
from clfeval.result import Result
from clfeval.tables.input import with_input


class Described(Protocol):
    """A table that says in one line how it was read."""

    def described(self) -> str:
        """Say it."""


OnOpen = Callable[[Described], None] | None


def entry(command: Command) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Return what makes a function of a table, groups and `on_open` one of a table and keywords."""
    command = with_input(command)
    options, shape = command.options(), signature_of(command)
    shown = {name: option.name for option in options for name in option.names}

    def made(answer: Callable[..., Result]) -> Callable[..., Result]:
        @wraps(answer)
        def called(*table: Any, on_open: OnOpen = None, **given: Any) -> Result:
            try:
                bound = shape.bind(
                    *table, on_open=on_open, **{shown.get(n, n): v for n, v in given.items()}
                )
            except TypeError as error:
                raise TypeError(f"{answer.__name__}() {error}") from None
            try:
                return answer(bound.arguments.pop("table", None), *command.taken(given), on_open)
            except ClfevalError as error:
                retell(error, options, PYTHON)
                raise

        called.__signature__ = shape  # type: ignore[attr-defined]
        called.command = command  # type: ignore[attr-defined]
        return called

    return made


def signature_of(command: Command) -> Signature:
    """Return the signature of a command's public function."""
    default = None if command.optional else Parameter.empty
    table = Parameter("table", Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=Any)
    on_open = Parameter("on_open", Parameter.KEYWORD_ONLY, default=None, annotation=OnOpen)
    return Signature(
        [table, *map(_parameter, command.options()), on_open], return_annotation=Result
    )


def _parameter(option: Option) -> Parameter:
    takes = option.type if option.opt.takes is None else option.opt.takes
    arguments = get_args(takes)
    if get_origin(takes) is tuple:
        several: Any = Sequence[arguments[0]]  # type: ignore[valid-type]
        takes = arguments[0] | several if arguments[-1] is Ellipsis else several
    default = None if NoneType in get_args(takes) and not option.default else option.default
    return Parameter(option.name, Parameter.KEYWORD_ONLY, default=default, annotation=takes)


def tables_of(table: Any) -> Any:
    """Return a list of paths, or the data frame as it is; UsageError for an empty list."""
    if isinstance(table, (str, os.PathLike)):
        table = [table]
    if isinstance(table, (list, tuple)) and not table:
        raise UsageError.of("no table given", "no-input")
    return table


def named(table: Any) -> list[Any]:
    """Return the paths that a table is named by; none for a frame."""
    if isinstance(table, (list, tuple)):
        return list(table)
    return [table] if isinstance(table, str) else []
