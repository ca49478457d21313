"""Tables that are easily misread: what is asked of them, and what the answers lead to."""

from __future__ import annotations

import re
import shlex
from typing import Any

import clfeval
from tests.process.program import clfeval as program
from tests.tables.door import confusion, write
from tests.texts import check_text, problem_places

START = "try: clfeval "
_PARTS = re.compile(r"(?:t\.csv:)?([^ ]*?):? ?(?:column '(.*)': )?\[(.*)\]")


def spots_in(message: str) -> str:
    """Return where a printed error names which problems: `3:a bad-number`, as door.spots does."""
    found = []
    for place in problem_places(message):
        match = _PARTS.fullmatch(place)
        assert match, place
        at = ":".join(part for part in match.groups()[:2] if part)
        found.append(f"{at} {match[3]}".strip())
    return ", ".join(found)


def refused(*words: str, kept: bool = True) -> tuple[str, str]:
    """See a command refused for its data; return what is wrong where, and what is proposed."""
    done = program(*words, "-q")
    assert (done.code, done.out) == (3, ""), done
    if kept:
        check_text(done.err)
    last = done.err.splitlines()[-1]
    return spots_in(done.err), last.rpartition(START)[2] if START in last else ""


def asked(content: str | bytes, *words: str, command: str = "mars") -> tuple[str, str]:
    """Write a table, see it refused, run what is proposed.

    Return what is wrong where, and what is proposed beyond what was said.
    """
    write("t.csv", content)
    spots, proposed = refused(command, "t.csv", *words)
    assert proposed
    again = program(*shlex.split(proposed))
    assert again.code == 0, again.err
    said = " ".join([command, "t.csv", *map(shlex.quote, words), "-q"])
    assert proposed.startswith(f"{said} "), proposed
    return spots, proposed.removeprefix(f"{said} ")


def found(name: str = "t.csv", **options: Any) -> dict[str, tuple[int, int, int, int]]:
    """Return the 2 x 2 tables of models."""
    return confusion(clfeval.mars(name, interval="none", **options))
