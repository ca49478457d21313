"""Every text of the source that a user can meet: `python -m tests.inventory` counts and judges.

Without an argument one line per folder: texts, words, and how many break the dictionary. With
paths it lists the texts there that break it or have a sentence of more than 25 words, each with
its place; with --list and paths all texts.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.language import forbidden, long_sentences

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "clfeval"
_PROSE = re.compile(r"[A-Za-z]{2,} .*[A-Za-z]{2,}", re.DOTALL)
CODE = (
    "<",
    "\n#",
    "# ",
    "cmd ",
    "{} model ",
    "clfeval ",
    "found ",
    "could not find",
)  # also what PyYAML complains of
_ID = re.compile(r"[\w:=?*+|./ -]*")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of each string that reads like prose; of docstrings the public ones."""
    if path.suffix == ".md":
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if line.strip():
                yield number, line
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            private = isinstance(node, ast.Module) or node.name.startswith("_")
            inner = path.relative_to(SOURCE).parts[0] != "api" or private
            if inner and isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                skipped.add(id(first.value))
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in ast.walk(node) if isinstance(part, ast.Constant)}
            pieces = [p.value if isinstance(p, ast.Constant) else "{}" for p in node.values]
            text = "".join(map(str, pieces))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = "" if id(node) in skipped else node.value
        else:
            continue
        code = text.startswith(CODE) or (_ID.fullmatch(text) and "_" in text)
        if _PROSE.search(text) and not code:
            yield node.lineno, text


def main(*paths: str) -> None:
    """Print the inventory, or what is to be rewritten in the given files and folders."""
    counts: dict[str, Counter[str]] = {}
    listing = "--list" in paths
    given = [Path(path).resolve() for path in paths if path != "--list"] or [SOURCE]
    files = sorted(f for p in given for f in (p.rglob("*.*") if p.is_dir() else [p]))
    for file in files:
        if file.suffix not in (".py", ".md") or file.stem == "words":
            continue
        for line, text in texts(file):
            wrong = forbidden(text)
            wrong += [f"long: {one!r}" for one in long_sentences(text.replace("{}", ""))]
            room = counts.setdefault(str(file.parent.relative_to(ROOT)), Counter())
            room.update(texts=1, words=len(text.split()), hits=len(wrong))
            if listing or (paths and wrong):
                print(f"{file.relative_to(ROOT)}:{line}: {text!r}")
                print(*(f"    {one}\n" for one in wrong), sep="", end="")
    print(f"{'texts':>6} {'words':>6} {'hits':>6}")
    for room, count in [*sorted(counts.items()), ("all", sum(counts.values(), Counter()))]:
        print(f"{count['texts']:6} {count['words']:6} {count['hits']:6} {room}")


if __name__ == "__main__":
    main(*sys.argv[1:])
