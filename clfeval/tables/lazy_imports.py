"""Libraries that are slow to import, loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["nw", "pl"]


class LazyModule:
    """A stand-in for a module, which is imported on first use."""

    def __init__(self, name: str) -> None:
        """Keep the name of the module."""
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        """Return an attribute of the module."""
        return getattr(import_module(self._name), attribute)


if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl
else:
    nw, pl = LazyModule("narwhals"), LazyModule("polars")
