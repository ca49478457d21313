"""clfeval: evaluate classifiers from a table of predictions (data frame or path in, Result out)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "ClfevalError", "DataError", "Estimate", "Result", "UsageError",
    "mars", "mlcps", "phidelta", "tune_jpt",
]  # fmt: skip

if TYPE_CHECKING:
    from clfeval.api.mars import mars
    from clfeval.api.mlcps import mlcps
    from clfeval.api.phidelta import phidelta
    from clfeval.api.tune_jpt import tune_jpt
    from clfeval.errors import ClfevalError, DataError, UsageError
    from clfeval.result import Estimate, Result

_HOMES = {
    "mars": "clfeval.api.mars",
    "mlcps": "clfeval.api.mlcps",
    "phidelta": "clfeval.api.phidelta",
    "tune_jpt": "clfeval.api.tune_jpt",
    "Result": "clfeval.result",
    "Estimate": "clfeval.result",
    "ClfevalError": "clfeval.errors",
    "DataError": "clfeval.errors",
    "UsageError": "clfeval.errors",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use: `import clfeval` itself stays free of heavy libraries."""
    if name not in _HOMES:
        raise AttributeError(f"module 'clfeval' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """List the public names, the lazily imported ones included."""
    return sorted({*globals(), *__all__})
