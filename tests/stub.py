"""The stub of the package, from the declared options: `python -m tests.stub` writes it.

By it editors and type checkers know every keyword of the public functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import clfeval
from clfeval import FUNCTIONS
from clfeval.api.public_functions import signature_of
from clfeval.api.result import Result
from clfeval.methods.command_lookup import command_of
from clfeval.options.declaration import Command

STUB = Path(clfeval.__file__).with_suffix(".pyi")
WIDTH = 100  # of a line
HEAD = '''"""Made by `make stub` from the declared options: change those, not this file."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

from clfeval.api.result import Result as Result
from clfeval.document import Document
from clfeval.document.cells import Estimate as Estimate
from clfeval.errors import ClfevalError as ClfevalError
from clfeval.errors import DataError as DataError
from clfeval.errors import UsageError as UsageError
from clfeval.tables.columns import OpenedTable

__version__: str
COMMANDS: tuple[str, ...]
FUNCTIONS: tuple[str, ...]

'''


def stub_of(commands: Sequence[Command]) -> str:
    """Return the text of the stub."""
    return HEAD + _gate_options() + "".join(map(_function, commands))


def _gate_options() -> str:
    """Return the keywords of `Result.check`."""
    _, *keywords = signature(Result.check).parameters.values()
    lines = [f"    {one.name}: {_spelled(one.annotation)}" for one in keywords]
    return "\n".join(["class _GateOptions(TypedDict, total=False):", *lines, "", ""])


def _function(command: Command) -> str:
    table, _, *others = signature_of(command).parameters.values()
    lines = [f"    {table.name}: Any{' = None' if command.optional else ''},"]
    lines += ["    predictions: Any = None,", "    *,"]
    lines += [_line(one.name, _spelled(one.annotation)) for one in others[:-1]]
    lines.append("    on_open: Callable[[OpenedTable], None] | None = ...,")
    name = command.name.replace("-", "_")
    return "\n".join([f"def {name}(", *lines, ") -> Result: ...\n"])


def _line(name: str, kind: str) -> str:
    """Write a keyword; what is too long for a line as the formatter would."""
    line = f"    {name}: {kind} = ...,"
    if len(line) <= WIDTH:
        return line
    outer, _, inner = kind.removesuffix("]").partition("[")
    if len(inner) + 8 > WIDTH:
        inner = inner.replace(", ", ",\n        ") + ","
    return f"    {name}: {outer}[\n        {inner}\n    ] = ...,"


def _spelled(kind: Any) -> str:
    """Write a type as source code does."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " | ".join(map(_spelled, arguments))
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, arguments)).replace(chr(39), chr(34))}]"
    name = "None" if kind is NoneType else getattr(origin or kind, "__name__", str(kind))
    return f"{name}[{', '.join(map(_spelled, arguments))}]" if arguments else name


def main() -> None:
    """Write the stub anew."""
    commands = [command_of(name) for name in FUNCTIONS]
    STUB.write_text(stub_of(commands), encoding="utf-8")


if __name__ == "__main__":
    main()
