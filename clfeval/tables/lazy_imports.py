"""Libraries that are slow to import, loaded on first use."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import LazyLoader, find_spec, module_from_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

__all__ = ["defer_parts_of_numpy", "nw", "pl"]

_UNUSED_PARTS = ("f2py", "testing", "ma", "ctypeslib", "polynomial")  # that scipy imports


class LazyModule:
    """A stand-in for a module, which is imported on first use."""

    def __init__(self, name: str) -> None:
        """Keep the name of the module."""
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        """Return an attribute of the module."""
        return getattr(import_module(self._name), attribute)


def defer_parts_of_numpy() -> None:
    """Load parts of numpy on first use that scipy imports and does not use: they take 0.2 s."""
    import numpy as np

    for part in _UNUSED_PARTS:
        spec = find_spec(f"numpy.{part}")
        if spec is not None and spec.loader is not None and spec.name not in sys.modules:
            spec.loader = LazyLoader(spec.loader)
            sys.modules[spec.name] = module = module_from_spec(spec)
            setattr(np, part, module)
            spec.loader.exec_module(module)


if not TYPE_CHECKING:
    nw, pl = LazyModule("narwhals"), LazyModule("polars")
