"""Libraries that take long to start, imported when something of them is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["nw", "pl"]


class LazyModule:
    """Stands for a module until it is needed."""

    def __init__(self, name: str) -> None:
        """Remember which module."""
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        """Return what the module has under this name."""
        return getattr(import_module(self._name), attribute)


if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl
else:
    nw, pl = LazyModule("narwhals"), LazyModule("polars")
