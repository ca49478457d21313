"""The source of the package as the house rules read it: every file parsed once for all tests."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "clfeval"
FILES = sorted(PACKAGE.rglob("*.py"))


@cache
def _nodes_of_files() -> dict[Path, tuple[ast.AST, ...]]:
    """Return every part of every file: most of a million, which stay to the end.

    Looks for garbage among them would cost five times as much as the parsing itself.
    """
    gc.disable()
    try:
        texts = {path: path.read_text(encoding="utf-8") for path in FILES}
        nodes = {path: tuple(ast.walk(ast.parse(text))) for path, text in texts.items()}
        gc.freeze()
    finally:
        gc.enable()
    return nodes


def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return every part of a file, as `ast.walk` yields them."""
    return _nodes_of_files()[path]


def tree_of(path: Path) -> ast.Module:
    """Return a file as a tree."""
    module = nodes_of(path)[0]
    assert isinstance(module, ast.Module)
    return module
