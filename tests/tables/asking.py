"""Tables that are easily misread: what is asked of them, and what the answers lead to."""

from __future__ import annotations

import re
import shlex

from tests.process.program import clfeval as program
from tests.tables.door import write
from tests.texts import check_text, problem_places

START = "try: clfeval "
COMMAND = "    clfeval "  # of a reading, below its meaning
_PARTS = re.compile(r"(?:t\.csv:)?([^ ]*?):? ?(?:column '(.*)': )?\[(.*)\]")


def spots_in(message: str) -> str:
    """Return where a printed error names which problems: `3:a bad-number`, as door.spots does."""
    spots = []
    for place in problem_places(message):
        match = _PARTS.fullmatch(place)
        assert match, place
        position = ":".join(part for part in match.groups()[:2] if part)
        spots.append(f"{position} {match[3]}".strip())
    return ", ".join(spots)


def proposals(message: str) -> list[str]:
    """Return the command that an error says to try, or those of its readings."""
    lines = message.splitlines()
    readings = [line.removeprefix(COMMAND) for line in lines if line.startswith(COMMAND)]
    return readings or [lines[-1].rpartition(START)[2]] * (START in lines[-1])


def refused(*words: str, kept: bool = True) -> tuple[str, str]:
    """See a command refused for its data; return what is wrong where, and what is proposed.

    Commands of several readings are separated by ` | `.
    """
    run = program(*words, "-q")
    assert (run.code, run.out) == (3, ""), run
    if kept:
        check_text(run.err)
    return spots_in(run.err), " | ".join(proposals(run.err))


def refusal_and_options(
    content: str | bytes, *words: str, command: str = "mars"
) -> tuple[str, str]:
    """Write a table, see it refused, run everything that is proposed.

    Return what is wrong where, and what is proposed beyond what was said, separated by ` | `.
    """
    write("t.csv", content)
    spots, proposed = refused(command, "t.csv", *words)
    assert proposed
    command_text = " ".join([command, "t.csv", *map(shlex.quote, words), "-q"])
    options = []
    for line in proposed.split(" | "):
        again = program(*shlex.split(line))
        assert again.code == 0, again.err
        assert line.startswith(f"{command_text} "), line
        options.append(line.removeprefix(f"{command_text} "))
    return spots, " | ".join(options)
