"""Tables that are easily misread: what is asked of them, and what the answers lead to."""

from __future__ import annotations

import shlex
from typing import Any

import clfeval
from tests.process.program import clfeval as program
from tests.tables.door import confusion, write

START = "try: clfeval "


def asked(content: str | bytes, *words: str, name: str = "t.csv") -> list[str]:
    """Write a table, see it refused, run what is proposed; return the lines of the refusal."""
    write(name, content)
    done = program("mars", name, *words, "-q")
    assert done.code == 3, done
    assert not done.out
    *lines, last = done.err.splitlines()
    assert last.startswith(START), done.err
    again = program(*shlex.split(last.removeprefix(START)))
    assert again.code == 0, again.err
    return [*lines, last]


def found(name: str = "t.csv", **options: Any) -> dict[str, tuple[int, int, int, int]]:
    """Return the 2 x 2 tables of models."""
    return confusion(clfeval.mars(name, interval="none", **options))
