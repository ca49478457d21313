"""clfeval: evaluate classifiers from a table of predictions (data frame or path in, Result out)."""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers set it to True; importing `typing` would slow the start
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"
# each has a folder of methods, whose options.py declares it, a page, and a function of api
COMMANDS = ("report", "mars", "phidelta", "tune-jpt", "mlcps", "recalibrate", "count")
FUNCTIONS = tuple(name.replace("-", "_") for name in COMMANDS)  # typed in the stub
_HOMES = {
    **dict.fromkeys(FUNCTIONS, "clfeval.api.commands"),
    "mlcps": "clfeval.api.mlcps",
    "Result": "clfeval.api.result",
    "Estimate": "clfeval.document.cells",
    **dict.fromkeys(("ClfevalError", "DataError", "UsageError"), "clfeval.errors"),
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    """Import a public name on first use: `import clfeval` itself stays free of heavy libraries."""
    if name not in _HOMES:
        raise AttributeError(f"module 'clfeval' has no attribute '{name}'")
    from importlib import import_module

    public = getattr(import_module(_HOMES[name]), name)
    return public.describe() if name in FUNCTIONS else public


def __dir__() -> list[str]:
    """List the public names, the lazily imported ones included."""
    return sorted({*globals(), *_HOMES})
