"""scipy.special, imported in a third of its usual time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import LazyLoader, find_spec, module_from_spec
from threading import Lock
from types import ModuleType
from typing import Any

import numpy as np

# parts of numpy that the import loads, and no function of scipy.special uses
_UNUSED_PARTS = ("f2py", "testing", "ma", "ctypeslib", "polynomial", "random", "strings", "char")

_ONE_AT_A_TIME = Lock()


@cache
def special() -> Any:
    """Return scipy.special.

    Of the 0.4 s of its import, 0.3 s are parts of numpy and notes that scipy adds to the
    documentation of each function. Numpy loads the parts on first use, as it does without scipy,
    and the functions keep the documentation without the notes.
    """
    with _ONE_AT_A_TIME, _lazy_parts_of_numpy(), _documentation_as_it_is():
        import scipy.special
    return scipy.special


@contextmanager
def _lazy_parts_of_numpy() -> Iterator[None]:
    """Let nothing load a part of numpy unless it uses what is inside."""
    lazy_modules: dict[str, ModuleType] = {}
    for part_name in _UNUSED_PARTS:
        spec = find_spec(f"numpy.{part_name}")
        if spec is not None and spec.loader is not None and spec.name not in sys.modules:
            spec.loader = LazyLoader(spec.loader)
            sys.modules[spec.name] = lazy_modules[part_name] = module_from_spec(spec)
            setattr(np, part_name, lazy_modules[part_name])
            spec.loader.exec_module(lazy_modules[part_name])
    try:
        yield
    finally:
        for part_name, module in lazy_modules.items():
            if type(module) is not ModuleType:  # not used: numpy itself imports it on first use
                del sys.modules[f"numpy.{part_name}"]
                delattr(np, part_name)


@contextmanager
def _documentation_as_it_is() -> Iterator[None]:
    """Keep the documentation of functions to which scipy would add notes on array libraries."""
    from scipy._lib import _array_api

    parse = getattr(_array_api, "FunctionDoc", None)
    if parse is None:
        yield
        return
    documented_functions: list[tuple[Callable[..., Any], str | None]] = []

    def parse_nothing(function: Callable[..., Any]) -> Any:
        """Note a function and its docstring, and parse none of it."""
        documented_functions.append((function, function.__doc__))
        return parse(function, doc="...")

    _array_api.FunctionDoc = parse_nothing
    try:
        yield
    finally:
        _array_api.FunctionDoc = parse
        for function, docstring in documented_functions:
            with suppress(AttributeError):  # as scipy does: some numpy versions do not let it
                function.__doc__ = docstring
